"""Entries of bytecode that refer to others many times: read without what they stand for being written out."""

import io
import time
from collections.abc import Callable

import numpy as np
import pytest

from nimblehlo import ParseError, UnsupportedError
from nimblehlo.program.frontend import jaxlib_modules
from nimblehlo.program.frontend.bytecode import read_bytecode, vhlo_operations, write_bytecode
from nimblehlo.program.frontend.bytecode.byte_writer import ByteWriter
from nimblehlo.program.frontend.bytecode.container_format import MAX_VERSION, OperationMask
from nimblehlo.program.frontend.bytecode.container_writer import ContainerWriter
from nimblehlo.program.frontend.bytecode.encoder import AttributeCode, TypeCode
from nimblehlo.program.ir import (
    ArrayAttribute,
    DenseElementsAttribute,
    FusedLocation,
    LocationAttribute,
    Module,
    StringAttribute,
    StructAttribute,
    location,
    source_line,
)
from nimblehlo.program.ir.printer import print_module
from nimblehlo.types import TensorType, element_type

LEVELS = 60


def encoded(*integers: int) -> bytearray:
    writer = ByteWriter()
    for integer in integers:
        writer.varint(integer)
    return writer.content


class File:
    """Bytecode of a module with one attribute and a location."""

    def __init__(self) -> None:
        self.container = ContainerWriter(MAX_VERSION, "test")

    def attribute(self, code: int, *integers: int) -> int:
        return self.container.attribute("builtin", encoded(code, *integers))

    def type(self, code: int, *integers: int) -> int:
        return self.container.type("builtin", encoded(code, *integers))

    def string(self, text: str) -> int:
        return self.attribute(AttributeCode.STRING, self.container.string(text))

    def list(self, code: int, *numbers: int) -> int:
        return self.attribute(code, len(numbers), *numbers)

    def read(self, attribute: int, location: int | None = None) -> Module:
        unknown = self.attribute(AttributeCode.UNKNOWN)
        name = self.string("a")
        dictionary = self.attribute(AttributeCode.DICTIONARY, 1, name, attribute)
        program = ByteWriter()
        program.varint(1 << 1)
        program.varint(self.container.operation_name("builtin.module", has_properties=False))
        program.byte(OperationMask.ATTRIBUTES)
        program.varint(unknown if location is None else location)
        program.varint(dictionary)
        return read_bytecode(self.container.finish(program.content), "file")


def doubled_arrays(file: File) -> int:
    number = file.string("x")
    for _ in range(LEVELS):
        number = file.list(AttributeCode.ARRAY, number, number)
    return number


def doubled_types(file: File) -> int:
    number = file.type(TypeCode.F32)
    for _ in range(LEVELS):
        number = file.type(TypeCode.TUPLE, 2, number, number)
    return file.attribute(AttributeCode.TYPE, number)


def doubled_locations(file: File) -> int:
    number = file.attribute(AttributeCode.UNKNOWN)
    for _ in range(LEVELS):
        number = file.attribute(AttributeCode.CALL_SITE, number, number)
    return number


def chained_arrays(file: File) -> int:
    """Each is decoded before the next, so that no decoder is within another one."""
    numbers = [file.string("x")]
    for _ in range(1000):
        numbers.append(file.list(AttributeCode.ARRAY, numbers[-1]))
    return file.list(AttributeCode.ARRAY, *numbers)


def doubled_symbols(file: File) -> int:
    number = file.attribute(AttributeCode.SYMBOL, file.string("x"))
    for _ in range(LEVELS):
        number = file.attribute(AttributeCode.NESTED_SYMBOL, file.string("x"), 2, number, number)
    return number


def cyclic_arrays(file: File) -> int:
    own = file.string("x") + 1
    return file.list(AttributeCode.ARRAY, own, own)


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (doubled_arrays, r"an attribute stands for more than \d+ others, at byte"),
        (doubled_types, r"types would take more than \d+ bytes without references to others, at byte"),
        (doubled_locations, r"an attribute stands for more than \d+ others, at byte"),
        (chained_arrays, "attributes and types are nested deeper than 128 levels, at byte"),
        (doubled_symbols, "expected a symbol without nested ones, at byte"),
        (cyclic_arrays, "attributes and types are nested deeper than 128 levels, at byte"),
    ],
)
def test_what_would_be_too_large_written_out_is_refused(build: Callable[[File], int], reason: str) -> None:
    file = File()
    with pytest.raises(ParseError, match=reason):
        file.read(build(file))


def test_an_attribute_may_be_used_many_times() -> None:
    file = File()
    inner = file.list(AttributeCode.ARRAY, *[file.string("x")] * 100)
    module = file.read(file.list(AttributeCode.ARRAY, *[inner] * 100))
    array = module.attributes["a"]
    assert array == ArrayAttribute((ArrayAttribute((StringAttribute("x"),) * 100),) * 100)


def test_locations_that_share_others_are_shown_in_part() -> None:
    """Messages show the beginning of sixteen levels of two, and the search for a line visits each once."""
    file = File()
    number = file.attribute(AttributeCode.NAMED, file.string("here"), file.attribute(AttributeCode.UNKNOWN))
    for _ in range(16):
        number = file.list(AttributeCode.FUSED, number, number)
    shown = file.read(file.string("x"), number).location
    assert str(shown).startswith("here, here, ")
    assert str(shown).endswith("...")
    assert len(str(shown)) < location.MAX_SHOWN + 20
    started = time.thread_time()
    assert [source_line(shown) for _ in range(100)] == [None] * 100
    assert time.thread_time() - started < 5  # where each is visited as often as it is referred to: a minute


def test_a_location_may_be_nested_to_any_depth() -> None:
    file = File()
    numbers = [file.attribute(AttributeCode.UNKNOWN)]
    for level in range(1000):
        numbers.append(file.attribute(AttributeCode.NAMED, file.string(f"f{level}"), numbers[-1]))
    locations = file.read(file.list(AttributeCode.ARRAY, *numbers)).attributes["a"]
    assert isinstance(locations, ArrayAttribute)
    deepest = locations.values[-1]
    assert isinstance(deepest, LocationAttribute)
    assert str(deepest.location).startswith("f999 (f998 (f997 (")
    module = Module(location=deepest.location)
    assert print_module(module, locations=True).count('"f') == 1000
    with pytest.raises(UnsupportedError, match="nested too deeply for the depth of the calling code"):
        write_bytecode(module)


def test_the_metadata_of_a_location_is_an_attribute() -> None:
    file = File()
    unknown = file.attribute(AttributeCode.UNKNOWN)
    number = file.attribute(AttributeCode.FUSED_WITH_METADATA, 1, unknown, file.string("about"))
    fused = file.read(file.string("x"), number).location
    assert isinstance(fused, FusedLocation)
    assert fused.metadata == StringAttribute("about")


@pytest.mark.parametrize("type", ["tensor<4xi8>", "tensor<4xi1>", "tensor<4xi4>"])
def test_constants_of_a_resource_share_its_bytes(type: str) -> None:
    text = f"""
module attributes {{x.a = dense_resource<r> : {type}, x.b = dense_resource<r> : {type}}} {{}}
{{-# dialect_resources: {{builtin: {{r: "0x0400000001000101"}}}} #-}}
"""
    pytest.importorskip("jaxlib.mlir")
    written = io.BytesIO()
    jaxlib_modules.read_module(text.encode()).operation.write_bytecode(written)
    attributes = read_bytecode(written.getvalue(), "file").attributes
    first, second = attributes["x.a"], attributes["x.b"]
    assert isinstance(first, DenseElementsAttribute)
    assert isinstance(second, DenseElementsAttribute)
    assert first.array.tolist() == second.array.tolist()
    assert np.shares_memory(first.array, second.array)


def test_a_splat_of_any_size_does_not_become_a_list() -> None:
    """An artifact of a few bytes may state dimensions as a tensor of 10^12 elements."""
    type = TensorType((10**12,), element_type("i64"))
    splat = DenseElementsAttribute(type, np.broadcast_to(np.int64(1), type.shape))
    for name, attributes in {
        "vhlo.reverse_v1": {"dimensions": splat},
        "vhlo.convolution_v1": {"window_strides": splat, "padding": splat},
    }.items():
        assert vhlo_operations.upgrade(name, attributes)[1] == attributes
    numbers = vhlo_operations.upgrade("vhlo.gather_v1", {"offset_dims": splat})[1]["dimension_numbers"]
    assert isinstance(numbers, StructAttribute)
    assert numbers.fields["offset_dims"] is splat
