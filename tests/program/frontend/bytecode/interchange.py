"""Command: exchange programs with jaxlib as bytecode and as artifacts of every version, in both directions.

The programs are the models of the tests, the examples, random programs, and the given files. For each of them
jaxlib's bytecode and artifacts must be read here, ours must be read by jaxlib, and both must mean the same.
What one side refuses to write, the other must refuse too, apart from what `_outcome` explains.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from nimblehlo.checks.fuzzing.programs import random_program
from nimblehlo.errors import NimbleError, UnsupportedError
from nimblehlo.program.frontend import jaxlib_modules
from nimblehlo.program.frontend.bytecode import read_bytecode, write_artifact, write_bytecode
from nimblehlo.program.frontend.bytecode.vhlo_versions import LATEST_VERSION
from nimblehlo.program.frontend.loader import load_ir
from nimblehlo.program.frontend.parser import parse
from nimblehlo.program.ir.printer import print_module
from tests.models import MODELS

EXAMPLES: Final = Path(__file__).parents[4] / "examples"
_JAXLIB_MINOR: Final = int(stablehlo.get_current_version().split(".")[1])
VERSIONS: Final = [f"1.{minor}.0" for minor in range(min(LATEST_VERSION[1], _JAXLIB_MINOR) + 1)]
"""The versions that both sides write; an older jaxlib does not know the newest ones."""
_RANGE_END: Final = re.compile(r" to (\d+)?:\d+")
_NOT_UPGRADED: Final = re.compile(r"'vhlo\.[\w-]+_v1' that was explicitly marked illegal")
"""jaxlib leaves operations as they are in the regions of operations whose upgrade it writes by hand."""
_DEFAULT_CONFIG: Final = re.compile(r' \{(in|out)feed_config = ""\}')
"""jaxlib prints this default of a property."""
_EMPTY: Final = stablehlo.serialize_portable_artifact_str("module {}", "1.0.0")
SEPARATOR: Final = "// -----"
PROGRESS_EVERY: Final = 50
"""Programs between two lines of progress."""


class Exchange:
    """Exchanges one program.

    Args:
        text: the program as text, bytecode or artifact.

    Attributes:
        faults: what differs.
        outcomes: how many artifacts were written by both sides, refused by both, and explained otherwise.
    """

    def __init__(self, text: bytes) -> None:
        self.faults: list[str] = []
        self.outcomes: Counter[str] = Counter()
        self._context = jaxlib_modules.read_module(b"module {}").context
        # This loads the dialects of what artifacts may have, such as quant.
        stablehlo.deserialize_portable_artifact(self._context, _EMPTY)
        self._theirs = ir.Module.parse(text, self._context)
        if any(each.operation.name.startswith("vhlo.") for each in self._theirs.body.operations):
            self._theirs = stablehlo.deserialize_portable_artifact(self._context, text)
        self._diagnostics: list[str] = []
        self._handler = self._context.attach_diagnostic_handler(self._note)
        self._ours = load_ir(self._theirs)

    def _note(self, diagnostic: Any) -> bool:
        self._diagnostics.append(str(diagnostic))
        return True

    def run(self, versions: Sequence[str]) -> None:
        """Exchange the program as bytecode, and as an artifact of each version."""
        self._exchange_bytecode()
        for version in versions:
            self._exchange_artifact(version)
        self._handler.detach()

    def _compare(self, what: str, actual: str, expected: str) -> None:
        if actual != expected:
            pairs = zip(actual.splitlines(), expected.splitlines(), strict=False)
            first = next(
                ((ours, theirs) for ours, theirs in pairs if ours != theirs), ("", "a different length")
            )
            self.faults.append(f"{what}: {first[0].strip()[:300]}\n    instead of {first[1].strip()[:300]}")

    def _exchange_bytecode(self) -> None:
        original = print_module(self._ours, locations=True)
        written = io.BytesIO()
        self._theirs.operation.write_bytecode(written)
        self._bytecode = written.getvalue()
        read = read_bytecode(self._bytecode, "theirs")
        self._compare("jaxlib's bytecode read here", print_module(read, locations=True), original)
        ours = write_bytecode(self._ours)
        if ours != write_bytecode(self._ours):
            self.faults.append("bytecode differs between two calls")
        self._compare(
            "our bytecode read here", print_module(read_bytecode(ours, "ours"), locations=True), original
        )
        module = ir.Module.parse(ours, self._context)
        self._compare("our bytecode read by jaxlib", str(module), str(self._theirs))
        self._compare("locations read by jaxlib", _locations(module), _locations(self._theirs))

    def _exchange_artifact(self, version: str) -> None:
        theirs, ours = self._their_artifact(version), self._our_artifact(version)
        if isinstance(theirs, str) or isinstance(ours, str):
            outcome = _outcome(theirs, ours)
            self.outcomes[outcome] += 1
            if outcome.startswith("only"):
                self.faults.append(f"{version}: {outcome}: {theirs if isinstance(theirs, str) else ours}")
            if isinstance(ours, str):
                return
        else:
            self.outcomes["written by both"] += 1
        assert isinstance(ours, bytes)
        ours_read = print_module(read_bytecode(ours, "ours"), locations=True)
        if isinstance(theirs, bytes):
            expected = stablehlo.deserialize_portable_artifact(self._context, theirs)
            theirs_read = print_module(read_bytecode(theirs, "theirs"), locations=True)
            self._compare(f"{version} of jaxlib read here", theirs_read, _printed(expected))
            # jaxlib writes ranges of files for versions whose readers do not know them, too.
            self._compare(f"{version} of ours read here", _starts(ours_read), _starts(theirs_read))
        else:
            expected = None
        module = self._read_by_jaxlib(ours, version)
        if module is None:
            return
        self._compare(f"{version} of ours read by both", ours_read, _printed(module))
        if expected is not None:
            self._compare(f"{version} of ours read by jaxlib", str(module), str(expected))
            self._compare(
                f"{version} of ours: locations", _starts(_locations(module)), _starts(_locations(expected))
            )

    def _read_by_jaxlib(self, artifact: bytes, version: str) -> Any:
        """jaxlib's module of an artifact; None if it cannot read it for a reason that is known."""
        self._diagnostics.clear()
        try:
            return stablehlo.deserialize_portable_artifact(self._context, artifact)
        except ValueError:
            if any(_NOT_UPGRADED.search(message) for message in self._diagnostics):
                self.outcomes["bodies of scatter_v1 and all_reduce_v1, which jaxlib does not upgrade"] += 1
            else:
                self.faults.append(f"{version} of ours is not read by jaxlib: {self._diagnostics[-2:]}")
        return None

    def _their_artifact(self, version: str) -> bytes | str:
        # The module becomes one of VHLO, even if it is refused.
        module = ir.Module.parse(self._bytecode, self._context)
        try:
            artifact: bytes = stablehlo.serialize_portable_artifact(module, version, True)
        except ValueError as error:
            return str(error)
        return artifact

    def _our_artifact(self, version: str) -> bytes | str:
        try:
            artifact = self._ours.serialize(version)
        except UnsupportedError as error:
            return str(error)
        if artifact != write_artifact(self._ours, version):
            self.faults.append(f"{version} differs between two calls")
        return artifact


def _outcome(theirs: bytes | str, ours: bytes | str) -> str:
    """Why an artifact was not written by both sides."""
    if isinstance(theirs, str) and isinstance(ours, str):
        return "refused by both"
    if isinstance(ours, str):
        # jaxlib writes other dialects for versions whose readers do not know them.
        return "only jaxlib writes" if "another dialect" not in ours else "other dialects before 1.11.0"
    return "only we write"


def _printed(module: Any) -> str:
    """What the text of a module of jaxlib gives here."""
    text = module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True, assume_verified=True)
    return _DEFAULT_CONFIG.sub("", print_module(parse(text, "text"), locations=True))


def _locations(module: Any) -> str:
    """The locations of the operations of a module of jaxlib; those of block arguments are not kept here."""
    lines: list[str] = []

    def visit(operation: Any) -> Any:
        lines.append(f"{operation.name} {operation.location}")
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return "\n".join(lines)


def _starts(locations: str) -> str:
    """Locations without the ends of ranges."""
    return _RANGE_END.sub("", locations)


def programs(random: int, seed: int, files: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    """The name and the text of each program."""
    for name, model in MODELS.items():
        yield name, model.lowered().as_text(debug_info=True).encode()
    for path in sorted(EXAMPLES.glob("*.mlir")):
        yield path.name, path.read_bytes()
    for number in range(seed, seed + random):
        module, _ = random_program(number).with_arguments()
        yield f"random {number}", str(module).encode()
    for path in files:
        for index, part in enumerate(path.read_text().split(SEPARATOR)):
            yield f"{path}[{index}]", part.encode()


def versions_in_turn(number: int, count: int) -> list[str]:
    """The first version, the last one, and others that depend on the number of the program."""
    if count >= len(VERSIONS):
        return VERSIONS
    between = VERSIONS[1:-1]
    chosen = {between[(number * (count - 2) + index) % len(between)] for index in range(count - 2)}
    return [version for version in VERSIONS if version in chosen or version in (VERSIONS[0], VERSIONS[-1])]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="more programs")
    parser.add_argument("--random", type=int, default=500, help="number of random programs (default: 500)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--versions",
        type=int,
        default=len(VERSIONS),
        metavar="N",
        help="versions for each program: the first, the last and others in turn (default: all)",
    )
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for number, (name, text) in enumerate(programs(options.random, options.seed, options.files)):
        try:
            exchange = Exchange(text)
        except (ir.MLIRError, NimbleError) as error:
            total["programs that one side does not read"] += 1
            print(f"{name}: not exchanged: {str(error)[:200]}", flush=True)
            continue
        exchange.run(versions_in_turn(number, options.versions))
        total["programs"] += 1
        total["faults"] += len(exchange.faults)
        total += exchange.outcomes
        for fault in exchange.faults[:4]:
            print(f"{name}: {fault}", flush=True)
        if total["programs"] % PROGRESS_EVERY == 0:
            print(f"{total['programs']} programs, the last {name}: {total['faults']} faults", flush=True)
    for what, count in sorted(total.items()):
        print(f"{count:8} {what}")
    return 1 if total["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
