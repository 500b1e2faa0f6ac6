"""Every public conformance program: parsed, printed, parsed again, and read by MLIR's own parser."""

from pathlib import Path

import pytest

from nimblehlo.errors import NimbleError
from nimblehlo.program.frontend import parse, split
from nimblehlo.program.ir.fingerprint import fingerprint
from nimblehlo.program.ir.printer import print_module
from tests.program.ir.jaxlib_parser import mlir_context, mlir_parse

SHARES = 8


def programs(folder: Path, share: int) -> list[tuple[str, str]]:
    """Name and text of each program of one share of the files."""
    files = sorted(folder.rglob("*.mlir"))[share::SHARES]
    parts = [(f"{path.name}:{line + 1}", part) for path in files for line, part in split(path.read_text())]
    return [(name, part) for name, part in parts if part.strip()]


@pytest.mark.conformance
@pytest.mark.parametrize("share", range(SHARES))
def test_print_parses_to_the_same(conformance_dir: Path, share: int) -> None:
    failures = []
    for name, text in programs(conformance_dir, share):
        try:
            module = parse(text, name)
            if fingerprint(parse(print_module(module))) != fingerprint(module):
                failures.append(f"{name}: another fingerprint")
        except NimbleError as error:
            failures.append(str(error))
    assert not failures, "\n".join(failures[:20])


@pytest.mark.conformance
@pytest.mark.parametrize("share", range(SHARES))
def test_mlir_reads_what_is_printed(conformance_dir: Path, share: int) -> None:
    context = mlir_context()
    failures = []
    for name, text in programs(conformance_dir, share):
        module = parse(text, name)
        try:
            read = mlir_parse(print_module(module), context)
        except Exception as error:
            failures.append(f"{name}: {error}")
            continue
        generic = read.operation.get_asm(print_generic_op_form=True)
        if fingerprint(parse(generic)) != fingerprint(module):
            failures.append(f"{name}: MLIR reads another program")
    assert not failures, "\n".join(failures[:20])
