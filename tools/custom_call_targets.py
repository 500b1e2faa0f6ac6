"""Write docs/custom_calls.md from the declarations: the targets that are served, and what the others need.

python tools/custom_call_targets.py
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nimblehlo.program.ops.custom_calls.encoded_operations import LAPACK_ROUTINES
from nimblehlo.program.ops.custom_calls.lapack import ROUTINES
from nimblehlo.program.ops.custom_calls.producers import producers_of
from nimblehlo.program.ops.custom_calls.replaced_targets import REPLACED_TARGETS
from nimblehlo.program.ops.custom_calls.targets import ANNOTATIONS, BUILT_IN, PLACEMENTS, SHARDING_ANNOTATIONS
from nimblehlo.program.ops.custom_calls.unsupported_targets import UNSUPPORTED
from nimblehlo.program.ops.custom_calls.untyped_lapack import SCALED_ROUTINES, UNTYPED_ROUTINES
from nimblehlo.program.ops.framework.declaration import lookup

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "custom_calls.md"

HEAD = """# Custom calls

The names that JAX, XLA, PyTorch/XLA, TensorFlow and compilers around them write as the target of a
`custom_call`; torchax and torch-mlir write none of their own. `tools/producer_targets.py` finds the names in
their sources and fails for one that is missing here. `register_custom_call` adds functions of your own.
Written by `tools/custom_call_targets.py` from the declarations in `runtime/program/ops/custom_calls/`.

## Served
"""

UNSERVED = """
## Not served

These raise an `UnsupportedError` with the reason; `*` stands for any text.
"""


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def meaning(name: str) -> str:
    """What a target that an operation replaces stands for."""
    operation = REPLACED_TARGETS[name].operation
    declaration = lookup(operation)
    if name in LAPACK_ROUTINES:
        return "the routine of LAPACK"
    if operation == "stablehlo.custom_call":
        return "the call that its attributes hold"
    if operation.startswith("nimblehlo."):
        text = (declaration.__doc__ or "").partition("\n\n")[0]
        return " ".join(text.split())
    return f"`{operation}`"


def served() -> Mapping[str, list[str]]:
    """The targets by what they do."""
    groups: dict[str, list[str]] = defaultdict(list)
    lapack = {*ROUTINES, *SCALED_ROUTINES, *UNTYPED_ROUTINES}
    for name in BUILT_IN:
        if name in REPLACED_TARGETS:
            groups[meaning(name)].append(name)
        elif name in lapack:
            groups["routines of LAPACK, in the forms of several versions of JAX"].append(name)
        elif name in SHARDING_ANNOTATIONS:
            groups["a sharding: the operand on one device, shards in a manual computation"].append(name)
        elif name in PLACEMENTS:
            groups["a place or a layout of a value: the operand"].append(name)
        elif name in ANNOTATIONS:
            groups["a mark for a compiler: the operand"].append(name)
        else:
            groups["a function of the runtime"].append(name)
    return groups


def by_producer(groups: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The rows of a table: for each group of targets one for each of their producers."""
    for text, names in sorted(groups.items()):
        written: dict[str, list[str]] = defaultdict(list)
        for name in names:
            written[producers_of(name)].append(name)
        yield from (row(listed(of_these), producers, text) for producers, of_these in sorted(written.items()))


def document() -> str:
    """The whole text of docs/custom_calls.md."""
    lines = [HEAD, row("targets", "written by", "what they are"), row("---", "---", "---")]
    lines += by_producer(served())
    reasons: dict[str, list[str]] = defaultdict(list)
    for name, reason in UNSUPPORTED.items():
        reasons[reason].append(name)
    lines += [UNSERVED, row("targets", "written by", "reason"), row("---", "---", "---")]
    lines += by_producer(reasons)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
