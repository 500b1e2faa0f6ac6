"""Find the targets of custom calls in the sources of programs that write StableHLO; say which are unknown.

    python tools/producer_targets.py REPOSITORY ...

Each REPOSITORY is a clone, bare or not, of XLA, TensorFlow, PyTorch/XLA, torchax, torch-mlir, StableHLO, JAX,
..., whose newest commit is read, or `--revision`. A name counts where a source writes it into a custom call,
compares a target with it, registers a function under it, or defines it as a constant of a target; names in
tests do not. Prints each name that is neither served nor told what it needs, with files that have it, and
ends with 1 if there is one. `--all` prints the others too, `--attributes` the attributes ``mhlo.*`` instead.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from nimblehlo.program.ops.custom_calls.targets import BUILT_IN
from nimblehlo.program.ops.custom_calls.unsupported_targets import unsupported_reason

SUFFIXES: Final = (".cc", ".cpp", ".cu", ".h", ".inc", ".py", ".rs", ".td")
"""Of files that may write programs."""
TESTS: Final = re.compile(r"(^|[/_.])(tests?|testdata|testing|testlib|examples?|benchmarks?|docs?)([/_.]|$)")
"""Paths whose names are made up."""

_NAME: Final = r"""["']([A-Za-z_][\w.$*-]*)["']"""
_TEXTS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # Text of HLO and of MLIR, as it stands or within a string.
        r"""custom_call_target\s*[=:]\s*\\?["']([A-Za-z_][\w.$-]*)""",
        r"""custom_call\s+@\\?"?([A-Za-z_][\w.$-]*)""",
        r"""call_target_name["']?\s*[=,]\s*(?:[\w.:]+\()?\\?["']([A-Za-z_][\w.$-]*)""",
        # Comparisons, and constants of such a name.
        r"(?:[cC]ustom_?[cC]all_?[tT]arget|[cC]all_?[tT]arget_?[nN]ame|set_custom_call_target|[cC]allTargetNameAttr)"
        rf"""\w*\(?\)?\s*(?:==|!=|=|\(|,)\s*(?:[\w.:]+\()?{_NAME}""",
        r"\b(?:target_name\s*[=!]=|call_target\s*[=!]?=)\s*" + _NAME,
        r"\b[kK]?\w*(?:Call|Target|CALL|TARGET)\w*(?:\[\])?\s*(?::\s*[\w.\[\]]+\s*)?[={]\s*\{?" + _NAME,
    )
)
_FUNCTIONS: Final = re.compile(
    r"\b(?:\w*(?:CustomCall|custom_call|ffi_call|ffi_lowering)\w*"
    r"|XLA_\w*REGISTER\w*|\w*_TARGET\w*)\s*(?:<\w+>)?\("
)
"""Functions that make, look for or register custom calls."""
_LITERAL: Final = re.compile(_NAME)
_MLIR_ATTRIBUTE: Final = re.compile(r"""["'%](mhlo\.[a-z_][\w.]*)""")

NO_TARGETS: Final = frozenset(
    [
        # Platforms, dialects, and names of attributes, which stand beside targets.
        *("CUDA", "Host", "ONEAPI", "ROCM", "SYCL", "cpu", "cuda", "gpu", "mhlo.", "platform", "rocm", "tpu"),
        *("_xla_buffer_placement", "api_version", "argv", "backend", "backend_config", "call_counter", "tt"),
        *("call_target_name", "called_computations", "lang", "mhlo.frontend_attributes", "mhlo.sharding"),
        *("opaque", "permutation", "recall_target", "replica_groups", "utf-8", "attr", "id", "is_input"),
        *("f32", "f64", "name", "pos", "shlo.custom_call", "_ffi", "allow_input_fusion", "collective_id"),
        *("compute_left", "compute_right", "cost_estimate", "device_type", "diag", "flags", "high", "low"),
        *("has_side_effects", "internal_scratch_in_bytes", "mode", "serialization_format", "side", "sort"),
        *("serialized_metadata", "target_name", "trans_x", "uplo", "vmem_limit_bytes"),
        # Places in memory, instructions and functions.
        *("device", "f", "fn", "main", "pin", "pinned_device", "pinned_host", "unpin", "unpinned_host"),
        *("up0", "vmem", "writer_1", "writer_2"),
        *("xla_call_marked_computation", "xla_call_marked_instruction_name"),
        # Examples in comments and tests, beginnings of names, and names that nothing writes.
        *("Resize", "SPMDShardShapeToFull", "a", "b", "bar", "fake_target", "foo", "my.custom.call"),
        *("not-valid-id", "rms_norm.", "sdy_testonly", "shape_refinement_operand_wrapper", "two_outs"),
        # Targets of BladeDISC's own operation.
        *("rng_uniform", "sparse_gemm", "topk"),
    ]
)
"""Texts in the places of targets that are none."""


def sources(repository: Path, revision: str) -> Iterator[tuple[str, str]]:
    """The paths and texts of the files of a revision that mention custom calls or MHLO."""
    git = ["git", "-C", str(repository)]
    patterns = [f"*{suffix}" for suffix in SUFFIXES]
    command = [*git, "grep", "-lIiE", "custom_?call|call_target|ffi_call|mhlo\\.", revision, "--", *patterns]
    listed = subprocess.run(command, capture_output=True, text=True)
    if listed.returncode > 1:
        raise SystemExit(f"{repository}: {listed.stderr}")
    for line in listed.stdout.splitlines():
        path = line.partition(":")[2]
        if not TESTS.search(path):
            shown = subprocess.run([*git, "show", line], capture_output=True, check=True)
            yield path, shown.stdout.decode(errors="replace")


def targets(text: str) -> set[str]:
    """The names of targets in a source."""
    found = {match[1] for pattern in _TEXTS for match in pattern.finditer(text)}
    for match in _FUNCTIONS.finditer(text):
        found.update(literal[1] for literal in _LITERAL.finditer(_arguments(text, match.end())))
    return {name for name in found if name not in NO_TARGETS}


def _arguments(text: str, start: int) -> str:
    """The arguments of a call, whose parenthesis ends before `start`."""
    depth = 1
    for position in range(start, min(len(text), start + 2000)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if not depth:
            return text[start:position]
    return ""


def attributes(text: str) -> set[str]:
    """The attributes of MHLO that a source names in strings."""
    return {match[1].rstrip(".") for match in _MLIR_ATTRIBUTE.finditer(text)}


def is_known(target: str) -> bool:
    """Whether a target is served, or an error says what it needs."""
    return target in BUILT_IN or unsupported_reason(target) is not None


def collected(
    repositories: Sequence[Path], names_of: Callable[[str], set[str]], revision: str = "HEAD"
) -> dict[str, list[str]]:
    """For each name in sources the files that have it.

    Args:
        repositories: clones, bare or not.
        names_of: gives the names in a text.
        revision: of all of them.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for repository in repositories:
        for path, text in sources(repository, revision):
            for name in names_of(text):
                found[name].append(f"{repository.parent.name}/{path}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """1 if there is an unknown target."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("repositories", nargs="+", type=Path, metavar="REPOSITORY")
    parser.add_argument("--all", action="store_true", help="print known targets too")
    parser.add_argument("--attributes", action="store_true", help="print the attributes mhlo.*")
    parser.add_argument("--revision", default="HEAD", help="the commit or branch that is read")
    options = parser.parse_args(arguments)
    names_of = attributes if options.attributes else targets
    found = collected(options.repositories, names_of, options.revision)
    unknown = 0
    for name, paths in sorted(found.items()):
        known = not options.attributes and is_known(name)
        unknown += not known
        if options.all or not known:
            print(f"{name}{' (known)' if known else ''}: {', '.join(paths[:3])}")
    print(f"{len(found)} names, {unknown} unknown")
    return 0 if options.attributes else min(unknown, 1)


if __name__ == "__main__":
    sys.exit(main())
