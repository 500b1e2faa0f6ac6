"""Bytecode and portable artifacts that jaxlib wrote give what their text gives."""

import io
import itertools
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ParseError, UnsupportedError
from nimblehlo.program.frontend import jaxlib_modules
from nimblehlo.program.frontend.bytecode import ir_section_writer, read_bytecode, values, write_bytecode
from nimblehlo.program.frontend.bytecode.program_reader import ByteCursor
from nimblehlo.program.frontend.loader import load_ir
from nimblehlo.program.frontend.parser import parse
from nimblehlo.program.ir import Block, FileLocation, FusedLocation, Value
from nimblehlo.program.ir.printer import print_module
from nimblehlo.types import DYNAMIC, element_type

stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")

FOLDER = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.mlir"))
CONTAINER_VERSIONS = [1, 2, 3, 4, 6]
ARTIFACT_VERSIONS = ["1.0.0", "1.5.0", "1.10.0", "1.16.0", None]


def module_of(name: str) -> Any:
    return jaxlib_modules.read_module((FOLDER / f"{name}.mlir").read_bytes())


def printed(module: Any) -> str:
    """What the text of a module of jaxlib gives."""
    text = module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True, assume_verified=True)
    return print_module(parse(text), locations=True)


@pytest.mark.parametrize("version", CONTAINER_VERSIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_bytecode_of_every_version_gives_what_its_text_gives(name: str, version: int) -> None:
    module = module_of(name)
    written = io.BytesIO()
    module.operation.write_bytecode(written, desired_version=version)
    assert print_module(read_bytecode(written.getvalue(), "file"), locations=True) == printed(module)


@pytest.mark.parametrize("version", ARTIFACT_VERSIONS)
@pytest.mark.parametrize("name", ["regions", "constants", "attributes"])
def test_artifacts_give_what_jaxlib_makes_of_them(name: str, version: str | None) -> None:
    module = module_of(name)
    try:
        artifact = stablehlo.serialize_portable_artifact(module, version or stablehlo.get_current_version())
    except ValueError:
        pytest.skip("the program uses what this version does not have")
    expected = stablehlo.deserialize_portable_artifact(module.context, artifact)
    assert print_module(read_bytecode(artifact, "file"), locations=True) == printed(expected)


def test_bytecode_needs_no_jaxlib() -> None:
    text = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {return %x : tensor<2xf32>}"
    artifact = stablehlo.serialize_portable_artifact_str(text, "1.0.0")
    script = (
        "import sys\n"
        "sys.modules['jaxlib'] = sys.modules['jax'] = None\n"
        "import numpy, nimblehlo\n"
        "print(nimblehlo.execute(sys.stdin.buffer.read(), [numpy.ones(2, numpy.float32)])[0].tolist())\n"
    )
    finished = subprocess.run([sys.executable, "-c", script], input=artifact, capture_output=True, check=True)
    assert finished.stdout.strip() == b"[1.0, 1.0]"


def test_resources_are_read_and_absent_ones_are_named() -> None:
    text = """
module {
  func.func @main() -> tensor<2xf32> {
    %0 = stablehlo.constant dense_resource<weights> : tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
{-# dialect_resources: {builtin: {weights: "0x040000000000803F00000040"}} #-}
"""
    written = io.BytesIO()
    jaxlib_modules.read_module(text.encode()).operation.write_bytecode(written)
    (result,) = nimblehlo.execute(written.getvalue(), [])
    np.testing.assert_array_equal(result, np.array([1.0, 2.0], np.float32))


def test_versions_of_later_containers_and_artifacts_are_refused() -> None:
    written = io.BytesIO()
    module_of("constants").operation.write_bytecode(written)
    content = bytearray(written.getvalue())
    content[4] = 2 * 99 + 1
    with pytest.raises(UnsupportedError, match="bytecode of version 99, but versions up to 6 are supported"):
        load_ir(bytes(content))
    artifact = stablehlo.serialize_portable_artifact(module_of("constants"), "1.9.0")
    later = artifact.replace(b"constant_v1", b"constant_v8").replace(b"StableHLO_v1.9.0", b"StableHLO_v9.9.9")
    with pytest.raises(
        UnsupportedError, match=r"the artifact is of StableHLO 9\.9\.9, but versions up to 1\."
    ):
        load_ir(later)
    with pytest.raises(UnsupportedError, match=r"vhlo.constant_v8: this operation, or this version"):
        load_ir(artifact.replace(b"constant_v1", b"constant_v8"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_damaged_bytecode_is_an_error_that_names_a_byte_or_a_program(name: str) -> None:
    written = io.BytesIO()
    module_of(name).operation.write_bytecode(written)
    content = written.getvalue()
    generator = np.random.default_rng(sum(name.encode()))
    messages = set()
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(int(generator.integers(1, 4))):
            damaged[int(generator.integers(5, len(damaged)))] = int(generator.integers(256))
        if generator.random() < 0.2:
            del damaged[int(generator.integers(5, len(damaged))) :]
        try:
            load_ir(bytes(damaged))
        except (ParseError, UnsupportedError) as error:
            messages.add(str(error))
    assert any("malformed bytecode" in message and "at byte" in message for message in messages)


def test_numbers_of_items_are_checked_before_anything_is_made_of_them() -> None:
    # A list of 2^62 strings, in a section of a few bytes.
    content = b"ML\xefR\x0dx\0" + bytes([0, 2 * 9 + 1]) + b"\0" + (1 << 62).to_bytes(8, "little")
    with pytest.raises(ParseError, match=r"4611686018427387904 items do not fit into 0 bytes"):
        load_ir(content + b"".join(bytes([section, 1]) for section in (1, 2, 3, 4)))


def test_values_that_a_region_states_take_no_memory_before_they_are_defined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of 60 nested regions states 40,000 values more than it defines: lists of them take 19 MB."""
    depth, stated, used = 60, 40_000, 100_000
    branch = "stablehlo.return %x : tensor<2xf32>"
    for level in range(depth):
        branch = (
            f'%{level} = "stablehlo.case"(%i) ({{\n{branch}\n}}) : (tensor<i32>) -> tensor<2xf32>\n'
            f"stablehlo.return %{level} : tensor<2xf32>"
        )
    operands, types = ", ".join(["%x"] * used), ", ".join(["tensor<2xf32>"] * used)
    body = branch[: branch.rindex("\n")]
    module = parse(
        f"func.func @main(%x: tensor<2xf32>, %i: tensor<i32>) -> tensor<2xf32> {{\n{body}\n"
        f'"stablehlo.custom_call"({operands}) {{call_target_name = "f"}} : ({types}) -> ()\n'
        f"return %{depth - 1} : tensor<2xf32>\n}}"
    )
    values_of = ir_section_writer._values_of

    def with_undefined_values(block: Block) -> Iterator[Value | None]:
        return itertools.chain(values_of(block), itertools.repeat(None, stated))

    monkeypatch.setattr(ir_section_writer, "_values_of", with_undefined_values)
    written = write_bytecode(module)
    tracemalloc.start()
    try:
        result = read_bytecode(written, "file")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    assert print_module(result) == print_module(module)


def test_a_value_that_its_region_only_states_is_refused() -> None:
    """The last operation uses the value that the branch before it defines, which is out of scope."""
    module = parse(
        "func.func @main(%x: tensor<2xf32>, %i: tensor<i32>) -> tensor<2xf32> {\n"
        '%0 = "stablehlo.case"(%i) ({\n%y = stablehlo.negate %x : tensor<2xf32>\n'
        "stablehlo.return %y : tensor<2xf32>\n}) : (tensor<i32>) -> tensor<2xf32>\n"
        "return %0 : tensor<2xf32>\n}"
    )
    function = module.functions["main"].body
    assert function is not None
    case, last = function.block.operations
    (operation, _) = case.regions[0].block.operations
    last.operands = operation.results
    with pytest.raises(ParseError, match="value 3 is used before it is defined, at byte"):
        read_bytecode(write_bytecode(module), "file")


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [([4], "1 bounds for 2 dimensions"), ([4, 5], "a bound for a dimension of known size")],
)
def test_bounds_fit_the_dimensions(bounds: list[int], reason: str) -> None:
    cursor = ByteCursor(b"", 0, 0, "file")
    encoding = values.bounds_encoding(bounds)
    with pytest.raises(ParseError, match=reason):
        values.ranked_tensor(cursor, (DYNAMIC, 3), element_type("f32"), encoding)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 4), (4, 4)])
def test_a_range_outside_of_the_bytes_is_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match=f"bytes {start} to {end} of 3"):
        ByteCursor(b"abc", start, end, "file")


@pytest.mark.parametrize(
    "content", [b"", *[bytes([1 << extra, *[0] * (extra - 1)]) for extra in range(1, 8)]]
)
def test_an_integer_does_not_reach_beyond_its_range(content: bytes) -> None:
    cursor = ByteCursor(content + b"\1", 0, len(content), "file")
    with pytest.raises(ParseError, match=r"expected an integer, but .*, at byte 0"):
        cursor.varint()
    assert ByteCursor(content + b"\1", 0, len(content) + 1, "file").varint() >= 0


def test_reads_end_with_their_range() -> None:
    cursor = ByteCursor(b"\3abc\0", 1, 4, "file")
    with pytest.raises(ParseError, match="expected 4 bytes, but 3 are left, at byte 1"):
        cursor.bytes(4)
    with pytest.raises(ParseError, match="expected a zero that ends a text"):
        cursor.text()
    with pytest.raises(ParseError, match="expected 18446744073709551615 bytes"):
        cursor.skip((1 << 64) - 1)
    assert cursor.range(2).bytes(2) == b"ab"
    assert cursor.byte() == ord("c")
    with pytest.raises(ParseError, match="expected a byte, but none is left, at byte 4"):
        cursor.byte()


def test_a_location_is_read_alike_for_an_operation_and_within_another() -> None:
    """The location of an operation is decoded natively; a file within a fused location is an attribute."""
    text = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.negate %x : tensor<2xf32> loc("a.py":3:7)
  %1 = stablehlo.negate %0 : tensor<2xf32> loc(fused["a.py":3:7, "b.py":300:70000])
  return %1 : tensor<2xf32> loc("b.py":300:70000)
}
"""
    written = io.BytesIO()
    jaxlib_modules.read_module(text.encode()).operation.write_bytecode(written)
    body = load_ir(written.getvalue()).functions["main"].body
    assert body is not None
    first, second, last = [operation.location for operation in body.block.operations]
    assert first == FileLocation("a.py", 3, 7)
    assert last == FileLocation("b.py", 300, 70000)
    assert second == FusedLocation((first, last))
