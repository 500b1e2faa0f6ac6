"""What this package writes as bytecode and as artifacts is read by jaxlib, and says what jaxlib's says."""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nimblehlo import Module, NimbleError, UnsupportedError, load
from nimblehlo.checks.fuzzing.programs import random_program
from nimblehlo.program.frontend import jaxlib_modules
from nimblehlo.program.frontend.bytecode import read_bytecode, write_artifact, write_bytecode
from nimblehlo.program.frontend.bytecode.byte_writer import ByteWriter
from nimblehlo.program.frontend.bytecode.container import Container
from nimblehlo.program.frontend.bytecode.program_reader import ByteCursor
from nimblehlo.program.frontend.bytecode.vhlo_versions import OPERATIONS
from nimblehlo.program.ir.printer import print_module
from nimblehlo.program.ops.framework.op_registry import MODULE_OF_OPERATION

stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")
interchange = pytest.importorskip("tests.program.frontend.bytecode.interchange")

EXAMPLES, VERSIONS = interchange.EXAMPLES, interchange.VERSIONS
FOLDER = Path(__file__).parent
SAMPLED_VERSIONS = [*VERSIONS[:-1:5], VERSIONS[-1]]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.mlir")), ids=lambda path: path.stem)
def test_programs_with_all_kinds_of_attributes_and_types_are_exchanged(path: Path) -> None:
    assert exchanged(path.read_bytes(), VERSIONS) == []


def test_convolutions_without_spatial_dimensions_are_exchanged() -> None:
    convolution = """%0 = stablehlo.convolution(%x, %y) dim_numbers = [b, f]x[i, o]->[b, f], window = {}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
      : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    return %0 : tensor<2x4xf32>"""
    text = function(convolution, "%x: tensor<2x3xf32>, %y: tensor<3x4xf32>", "tensor<2x4xf32>")
    assert exchanged(text.encode(), ["1.0.0", VERSIONS[-1]]) == []


@pytest.mark.parametrize("value", ["true", "false", "[true, false]"])
@pytest.mark.parametrize("size", [1, 2, 8, 9])
def test_booleans_are_exchanged(value: str, size: int) -> None:
    elements = value if "[" not in value else "[" + ", ".join(["true", *["false"] * (size - 1)]) + "]"
    assert exchanged(constant(elements, f"tensor<{size}xi1>").encode(), ["1.0.0"]) == []


def test_buffers_are_exchanged() -> None:
    text = b"func.func private @f(memref<2x3xf32>, memref<f32>, memref<4xi1>)"
    assert exchanged(text, ["1.13.0", VERSIONS[-1]]) == []
    with pytest.raises(UnsupportedError, match=r"the type buffer needs StableHLO 1\.13\.0"):
        load(text, verify=False).serialize("1.12.0")


def test_operations_of_former_versions_are_what_they_stand_for() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.cross-replica-sum"(%x) {replica_groups = dense<0> : tensor<1x1xi64>}
        : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    theirs = jaxlib_modules.read_module(text.encode())
    written = io.BytesIO()
    theirs.operation.write_bytecode(written)
    artifact = stablehlo.serialize_portable_artifact(theirs, "1.0.0")
    for content in (written.getvalue(), artifact):
        assert print_module(load(content, verify=False)) == print_module(load(text))


ATTRIBUTES = """func.func @main(%x: tensor<f32> {a.a = @name, a.b = @outer::@inner, a.c = 3 : index,
  a.d = 1.5 : f8E5M2, a.e = array<i32: 1, -2>, a.f = array<f32: 1.0>, a.g = "x\\FF",
  a.h = dense<2> : tensor<2xindex>, a.i = loc("x":1:2), a.j = dense<(1.0, 2.0)> : tensor<complex<f32>>,
  a.k = [], a.m = i32,
  a.l = {b = 1 : i8, a = unit},
  a.n = tensor<?xf32, #stablehlo.bounds<4>>, a.o = -1 : i64, a.p = 3 : ui4, a.q = dense<> : tensor<0xi32>,
  a.r = true, a.s = #sdy.sharding<@mesh, [{"x"}]>, a.t = (i1) -> f64, a.u = -1 : i4, a.v = 0xFF800000 : f32})
  -> tensor<f32> {
  "unregistered"() : () -> ()
  "other.unregistered"() {index = 1 : i32} : () -> ()
  return %x : tensor<f32>
}"""


@pytest.mark.parametrize("write", [write_artifact, write_bytecode])
def test_attributes_of_any_kind_are_kept(write: Callable[[Module], bytes]) -> None:
    module = load(ATTRIBUTES, verify=False)
    written = write(module)
    assert print_module(load(written, verify=False)) == print_module(module)
    assert str(jaxlib_modules.read_module(written)) == str(jaxlib_modules.read_module(ATTRIBUTES.encode()))


@pytest.mark.parametrize("width", [2, 4])
def test_elements_of_less_than_a_byte_are_exchanged(width: int) -> None:
    text = constant("[-1, 1, 0, -2]", f"tensor<4xi{width}>")
    assert exchanged(text.encode(), ["1.2.0", VERSIONS[-1]]) == []


def test_long_attributes_are_shown_in_part() -> None:
    text = unary("abs", f"{{other = [unit, {'1, ' * 100} 2]}}")
    with pytest.raises(UnsupportedError, match=r"the attribute unit of another dialect"):
        load(text).serialize("1.0.0")
    text = unary("abs", f'{{other = dense<["{"a" * 100}"]> : tensor<1x!tf_type.string>}}')
    with pytest.raises(UnsupportedError, match=r'the attribute dense<"a{73}\.\.\. of another dialect'):
        load(text).serialize("1.0.0")


@pytest.mark.parametrize("seed", range(900, 906))
def test_random_programs_are_exchanged(seed: int) -> None:
    module, _ = random_program(seed).with_arguments()
    assert exchanged(str(module).encode(), SAMPLED_VERSIONS) == []


def test_an_example_is_exchanged() -> None:
    assert exchanged((EXAMPLES / "transformer.mlir").read_bytes(), VERSIONS[::11]) == []


def exchanged(text: bytes, versions: list[str]) -> list[str]:
    exchange = interchange.Exchange(text)
    exchange.run(versions)
    faults: list[str] = exchange.faults
    return faults


def function(body: str, arguments: str, results: str) -> str:
    return f"func.func @main({arguments}) -> {results} {{\n{body}\n}}"


def unary(name: str, attributes: str = "", type: str = "tensor<4xf32>") -> str:
    body = f'%0 = "stablehlo.{name}"(%x) {attributes} : ({type}) -> {type}\nreturn %0 : {type}'
    return function(body, f"%x: {type}", type)


ACCURACY = (
    "{result_accuracy = #stablehlo.result_accuracy<ulps = 2, "
    "mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}"
)
GATHER = """
%0 = "stablehlo.gather"(%x, %i) {
  dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0],
    start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>,
  slice_sizes = array<i64: 1, 1>} : (tensor<2x3xf32>, tensor<2x1xi64>) -> tensor<2xf32>
return %0 : tensor<2xf32>
"""
TWO_OPERANDS = """
%0:2 = "stablehlo.all_gather"(%x, %x) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}
  : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
return %0#0 : tensor<4xf32>
"""
DICTIONARY = "stablehlo.custom_call @nimblehlo.f(%x) {backend_config = {a = 1 : i32}, api_version = 4 : i32}"

INTRODUCED = [
    ("1.1.0", GATHER, "the attribute operand_batching_dims"),
    ("1.2.0", unary("abs", type="tensor<4xi2>"), "the type i2"),
    (
        "1.3.0",
        f"%0 = {DICTIONARY} : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>",
        "backend_config",
    ),
    ("1.4.0", unary("tan"), "the operation"),
    ("1.5.0", TWO_OPERANDS, "the operation with 2 operands"),
    ("1.7.0", unary("abs", type="tensor<4xf8E3M4>"), "the type f8E3M4"),
    ("1.8.0", unary("abs", type="tensor<4xf4E2M1FN>"), "the type f4E2M1FN"),
    ("1.9.0", unary("exponential", ACCURACY), "the attribute result_accuracy"),
    ("1.10.0", unary("sine", ACCURACY), "the attribute result_accuracy"),
    ("1.11.0", unary("abs", "{other = unit}"), "the attribute unit of another dialect"),
]


@pytest.mark.parametrize(("since", "program", "what"), INTRODUCED, ids=[each[0] for each in INTRODUCED])
def test_errors_name_what_a_version_does_not_have_and_when_it_was_introduced(
    since: str, program: str, what: str
) -> None:
    if not program.startswith("func"):
        arguments = "%x: tensor<2x3xf32>, %i: tensor<2x1xi64>" if program == GATHER else "%x: tensor<4xf32>"
        program = function(program, arguments, "tensor<2xf32>" if program == GATHER else "tensor<4xf32>")
    module = load(program, verify=False)
    read = load(module.serialize(since), verify=False)
    assert print_module(read) == print_module(module)
    before = VERSIONS[VERSIONS.index(since) - 1]
    pattern = (
        rf"{re.escape(what)}.* needs StableHLO {re.escape(since)}, but the artifact is to be of {before}"
    )
    with pytest.raises(UnsupportedError, match=pattern) as caught:
        module.serialize(before)
    assert caught.value.operation is not None
    assert caught.value.location is not None


def test_operations_have_the_version_of_the_artifact() -> None:
    module = load(unary("exponential"))
    for version, name in (
        ("1.8.0", b"exponential_v1"),
        ("1.9.0", b"exponential_v2"),
        ("1.9.7", b"exponential_v2"),
    ):
        artifact = module.serialize(version)
        assert name in artifact
        assert artifact.startswith(b"ML\xefR\x0dStableHLO_v" + version.encode() + b"\0")
        assert print_module(load(artifact)) == print_module(module)


@pytest.mark.parametrize(
    ("version", "container"), [("0.9.0", 0), ("0.11.0", 1), ("0.13.0", 3), ("0.14.0", 4), ("0.15.0", 6)]
)
def test_artifacts_before_1_0_have_the_container_of_their_time(version: str, container: int) -> None:
    module = load(load(EXAMPLES / "kmeans.mlir").serialize())
    artifact = module.serialize(version)
    assert Container(artifact, "file", lambda name: None).version == container
    assert print_module(read_bytecode(artifact, "file")) == print_module(module)
    exchange = interchange.Exchange((EXAMPLES / "kmeans.mlir").read_bytes())
    exchange.run([version])
    assert exchange.faults == []


@pytest.mark.parametrize("version", ["", "1.9", "v1.9.0", "1.9.0.0", "0.8.0", "1.23.0", "99.0.0"])
def test_versions_that_cannot_be_written_are_refused(version: str) -> None:
    with pytest.raises(UnsupportedError, match=r"StableHLO"):
        load(unary("abs")).serialize(version)


def test_ranges_of_files_become_their_starts_for_readers_that_do_not_know_them() -> None:
    text = unary("abs").replace("\nreturn", ' loc("a.py":3:4 to 5:6)\nreturn')
    module = load(text)
    assert 'loc("a.py":3:4 to 5:6)' in print_module(load(module.serialize("1.9.0")), locations=True)
    assert 'loc("a.py":3:4)' in print_module(load(module.serialize("1.8.0")), locations=True)


def test_attributes_that_vhlo_cannot_represent_are_refused() -> None:
    text = unary("abs").replace('"stablehlo.abs"(%x) ', '"stablehlo.broadcast"(%x) ')
    with pytest.raises(UnsupportedError, match=r"stablehlo\.broadcast: has no attribute broadcast_sizes"):
        load(text, verify=False).serialize()
    text = unary("sort", "{dimension = 0}").replace("stablehlo.sort", "stablehlo.gather")
    with pytest.raises(UnsupportedError, match=r"stablehlo\.gather: has no attribute"):
        load(text, verify=False).serialize()


def test_every_operation_of_stablehlo_is_one_of_vhlo() -> None:
    declared = {
        name.removeprefix("stablehlo.") for name in MODULE_OF_OPERATION if name.startswith("stablehlo.")
    }
    assert declared - OPERATIONS.keys() == set()


def test_bytes_do_not_depend_on_the_process_or_on_how_the_program_was_loaded() -> None:
    path = EXAMPLES / "kmeans.mlir"
    module = load(path)
    artifact = write_artifact(module)
    script = "import sys, nimblehlo\nsys.stdout.buffer.write(nimblehlo.load(sys.argv[1]).serialize())\n"
    written = subprocess.run([sys.executable, "-c", script, path], capture_output=True, check=True).stdout
    assert written == artifact
    assert write_artifact(load(artifact)) == write_artifact(load(write_bytecode(module)))


def test_integers_of_every_length_are_read_as_they_were_written() -> None:
    values = [0, 1, 2**64 - 1, *[2**bits + step for bits in range(1, 64) for step in (-1, 0)]]
    signed = [value - 2**63 for value in values if value < 2**63] + [2**63 - 1, -(2**63), -1]
    writer = ByteWriter()
    for value in values:
        writer.varint(value)
    for value in signed:
        writer.signed(value)
    cursor = ByteCursor(bytes(writer.content), 0, len(writer.content), "file")
    assert [cursor.varint() for _ in values] == values
    assert [cursor.signed() for _ in signed] == signed
    assert cursor.is_empty


def constant(value: str, type: str) -> str:
    return (
        f"func.func @main() -> {type} {{%0 = stablehlo.constant dense<{value}> : {type} return %0 : {type}}}"
    )


def test_large_constants_and_splats_are_kept() -> None:
    digits = np.arange(70, dtype=np.int32).tobytes().hex()
    module = load(constant(f'"0x{digits}"', "tensor<70xi32>"))
    assert print_module(load(module.serialize())) == print_module(module)
    splat = load(constant("true", "tensor<1000000xi1>"))
    artifact = splat.serialize()
    assert len(artifact) < 1000
    assert print_module(load(artifact)) == print_module(splat)


def test_fields_that_are_malformed_are_refused() -> None:
    attributes = "{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, "
    attributes += (
        "input_spatial_dimensions = i32>, batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
    )
    body = f'%0 = "stablehlo.convolution"(%x, %x) {attributes} : (tensor<1x1xf32>, tensor<1x1xf32>)'
    text = function(
        f"{body} -> tensor<1x1xf32>\nreturn %0 : tensor<1x1xf32>", "%x: tensor<1x1xf32>", "tensor<1x1xf32>"
    )
    with pytest.raises(NimbleError, match=r"input_spatial_dimensions"):
        load(text, verify=False).serialize()


def test_enumerations_of_other_kinds_are_read_as_they_are() -> None:
    call = 'stablehlo.custom_call"(%x) {call_target_name = "f", api_version = #stablehlo<fft_type FFT>}'
    body = f'%0 = "{call} : (tensor<4xf32>) -> tensor<4xf32>\nreturn %0 : tensor<4xf32>'
    module = load(function(body, "%x: tensor<4xf32>", "tensor<4xf32>"), verify=False)
    assert print_module(load(module.serialize(), verify=False)) == print_module(module)
