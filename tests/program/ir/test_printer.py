"""Printed text: the same program to this project's parser and to MLIR's."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.program.frontend import parse, split
from nimblehlo.program.ir import (
    BoolAttribute,
    Builder,
    DenseElementsAttribute,
    FloatAttribute,
    Module,
    NameLocation,
    Operation,
    StringAttribute,
)
from nimblehlo.program.ir.fingerprint import fingerprint
from nimblehlo.program.ir.printer import Printer, print_module
from nimblehlo.types import ELEMENT_TYPES, TensorType, element_type
from tests.program.ir.jaxlib_parser import mlir_context, mlir_parse

WHOLE = """module @"odd name" attributes {a.b = "\\22 \\\\ \\FF é", a.m = 1.0e-300,
    a.c = [unit, true, -1 : i8, 0xFF800000 : f32],
    a.d = {x, "y z" = @"a b"::@c}, a.e = array<i64>, a.f = array<i1: true>, a.g = array<f32: 1.5, 0x7FC00000>,
    a.h = (i32) -> (), a.i = #stablehlo<precision HIGH>, a.j = #stablehlo.result_accuracy_mode<DEFAULT>,
    a.k = #stablehlo.conv<[b, 0, f]x[0, i, o]->[f, 0, b]>,
    a.l = loc(fused<"m">["n", "f":1:2 to 3:4, callsite("a" at "b")])} {
  module @inner {
    func.func private @declared(tensor<f32> {x.y}, i32) -> (tensor<f32> {x.z = 1})
  }
  func.func public @main(%arg0: tensor<2x?xf32, #stablehlo.bounds<?, 4>> {x.y}, %arg1: !stablehlo.token)
      -> (tensor<f32>, tensor<2x!quant.uniform<u8<1:254>:f32:0, {0.5:1, 1.0e-3:2}>>) attributes {x.y} {
    %c = stablehlo.constant dense<1.0> : tensor<f32>
    %0:2 = "test.two"(%c, %arg0) ({
    ^bb0(%a: tensor<f32>):
      %1 = "test.inner"(%a, %c) : (tensor<f32>, tensor<f32>) -> (() -> ())
      "test.end"() : () -> ()
    }, {
      "test.end"() : () -> ()
    }) {a} : (tensor<f32>, tensor<2x?xf32, #stablehlo.bounds<?, 4>>)
        -> (tensor<f32>, tensor<2x!quant.uniform<u8<1:254>:f32:0, {0.5:1, 1.0e-3:2}>>)
    return %0#0, %0#1 : tensor<f32>, tensor<2x!quant.uniform<u8<1:254>:f32:0, {0.5:1, 1.0e-3:2}>>
  }
  sdy.mesh @mesh = <["x"=2]>
}"""


def test_everything_parses_to_the_same() -> None:
    module = parse(WHOLE)
    printed = print_module(module)
    assert print_module(parse(printed)) == printed
    assert fingerprint(parse(printed)) == fingerprint(module)


def test_printed_text() -> None:
    module = parse(
        """func.func private @f(%x: tensor<2xf32>) -> tensor<2xf32> {
             %y = stablehlo.abs %x : tensor<2xf32>
             return %y : tensor<2xf32>
           }"""
    )
    assert print_module(module) == (
        "module {\n"
        "  func.func private @f(%arg0: tensor<2xf32>) -> tensor<2xf32> {\n"
        '    %0 = "stablehlo.abs"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>\n'
        '    "func.return"(%0) : (tensor<2xf32>) -> ()\n'
        "  }\n"
        "}\n"
    )
    assert str(module) == print_module(module)


def test_locations_are_printed_where_wanted() -> None:
    text = """module {
      func.func @f() {
        %0 = "a.b"() : () -> i32 loc(callsite("x"("f.py":1:2 to 3:4) at fused<{a = 1}>["y", unknown]))
        return loc("z\\22")
      } loc("g")
    } loc(unknown)"""
    module = parse(text)
    again = parse(print_module(module, locations=True))
    assert [each.location for each in again.walk()] == [each.location for each in module.walk()]
    assert again.functions["f"].location == NameLocation("g")
    plain = parse("func.func @f() {\n  return\n}", "m.mlir")
    assert 'loc("m.mlir":2:3)' in print_module(plain, locations=True)


def print_operation(operation: Operation) -> str:
    """The text of one operation outside of a module."""
    printer = Printer()
    printer.operation(operation)
    return "\n".join(printer.lines)


def test_print_operation_alone() -> None:
    module = parse("func.func @f(%x: tensor<f32>) {\n %0 = stablehlo.add %x, %x : tensor<f32>\n return\n}")
    operation = next(module.walk())
    assert print_operation(operation) == (
        '%0 = "stablehlo.add"(%arg0, %arg0) : (tensor<f32>, tensor<f32>) -> tensor<f32>'
    )


@given(st.sampled_from(sorted(ELEMENT_TYPES)), st.data())
def test_constants_keep_their_bits(name: str, data: st.DataObject) -> None:
    declared = ELEMENT_TYPES[name]
    shape = data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 40]), max_size=3))
    size = int(np.prod(shape)) * declared.dtype.itemsize
    seed = data.draw(st.integers(0, 2**32 - 1))
    raw = np.random.default_rng(seed).integers(0, 256, size, np.uint8)
    if name == "i1":
        raw &= 1
    elif declared.width < 8:
        raw &= (1 << declared.width) - 1
    type = TensorType(shape, declared)
    value = DenseElementsAttribute(type, raw.view(declared.dtype).reshape(shape))
    again = parse(print_module(Module(attributes={"a.b": value}))).attributes["a.b"]
    assert isinstance(again, DenseElementsAttribute)
    assert again == value


@given(st.floats(), st.sampled_from(["f64", "f32", "f16", "bf16", "f8E5M2"]))
def test_floats_keep_their_value(value: float, name: str) -> None:
    declared = element_type(name)
    with np.errstate(all="ignore"):
        kept = float(np.array(value).astype(declared.dtype))
    again = parse(print_module(Module(attributes={"a.b": FloatAttribute(kept, declared)}))).attributes["a.b"]
    assert isinstance(again, FloatAttribute)
    both_nan = np.isnan(kept) and np.isnan(again.value)
    assert both_nan or np.array(again.value).tobytes() == np.array(kept).tobytes()


@given(st.text())
def test_strings_keep_their_characters(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return
    module = Module(attributes={"a.b": StringAttribute(text), "a." + text: BoolAttribute(True)}, name=text)
    again = parse(print_module(module))
    assert (again.attributes, again.name) == (module.attributes, text)


def test_bytes_that_are_no_utf_8() -> None:
    module = parse('module attributes {a.b = "\\FF\\00\\C3\\A9"} {}')
    assert module.attributes["a.b"] == StringAttribute("\udcff\0é")
    assert '"\\FF\\00\\C3\\A9"' in print_module(module)


def test_mlir_reads_the_pretty_forms(project_root: Path) -> None:
    context = mlir_context()
    forms = (project_root / "tests" / "program" / "frontend" / "pretty_forms.mlir").read_text()
    arguments = (
        "%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %p: tensor<2x3xi1>, %s: tensor<f32>, %i: tensor<i32>,"
        " %m: tensor<3x2xf32>, %x: tensor<1x4x4x1xf32>, %k: tensor<2x2x1x1xf32>, %u: tensor<2xui64>,"
        " %n: tensor<2xi64>, %t: !stablehlo.token, %c: tensor<2xcomplex<f32>>"
    )
    read = 0
    for _, part in split(forms):
        name = part.splitlines()[0]
        if "sdy" in name or "composite" in name or "cholesky" in name or "call" in name:
            continue
        text = part.partition("// generic")[0]
        module = parse(f"func.func @main({arguments}) {{\n{text}\nreturn\n}}")
        again = mlir_parse(print_module(module), context)
        assert fingerprint(parse(again.operation.get_asm(print_generic_op_form=True))) == fingerprint(module)
        read += 1
    assert read > 30


def test_a_value_from_outside_gets_a_name() -> None:
    outer = Operation("a.b", result_types=[element_type("i32")])
    module = Module()
    builder = Builder(parse("func.func @f() { return }").functions["f"].body.block)  # type: ignore[union-attr]
    used = builder.create("c.d", outer.results)
    assert print_operation(used) == '"c.d"(%arg0) : (i32) -> ()'
    assert print_module(module) == "module {\n}\n"
