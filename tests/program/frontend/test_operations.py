"""Statements, regions, functions and modules; each pretty form against its generic form."""

from pathlib import Path

import pytest

from nimblehlo.errors import ParseError, UnsupportedError
from nimblehlo.program.frontend import parse, split
from nimblehlo.program.ir import Module, Operation, StringAttribute
from nimblehlo.program.ir.fingerprint import fingerprint
from nimblehlo.program.ir.sharding import Mesh, MeshAxis
from tests.program.frontend.sources import operation, operations

ARGUMENTS = """%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %p: tensor<2x3xi1>, %s: tensor<f32>, %i: tensor<i32>,
 %m: tensor<3x2xf32>, %x: tensor<1x4x4x1xf32>, %k: tensor<2x2x1x1xf32>, %u: tensor<2xui64>, %n: tensor<2xi64>,
 %t: !stablehlo.token, %c: tensor<2xcomplex<f32>>"""

FORMS = (Path(__file__).parent / "pretty_forms.mlir").read_text()
"""A name, a pretty form, ``// generic`` and the generic form that is the same, for each."""


def program(body: str) -> Module:
    """A function with this body."""
    return parse(f"func.func @main({ARGUMENTS}) {{\n{body}\nreturn\n}}")


@pytest.mark.parametrize(
    "forms", [part for _, part in split(FORMS)], ids=lambda part: part.splitlines()[0][3:]
)
def test_pretty_and_generic_form_are_the_same(forms: str) -> None:
    pretty, _, generic = forms.partition("// generic\n")
    assert fingerprint(program(pretty)) == fingerprint(program(generic))


def test_what_follows_a_vector_type_is_not_part_of_it() -> None:
    vector = "vector<[4]x2xi8>"
    module = parse(f"""
      func.func private @f(%a: {vector}) -> {vector} attributes {{x = {vector}}} {{
        %0 = "a.b"(%a) : ({vector}) -> {vector}
        "a.c"(%0) {{t = {vector}}} : ({vector}) -> ()
        func.return %0 : {vector}
      }}
      func.func private @g() -> {vector}""")
    body = module.functions["f"].body
    assert body is not None
    assert [each.name for each in body.block.operations] == ["a.b", "a.c", "func.return"]
    assert str(module.functions["g"].type) == f"() -> {vector}"


def test_types_beyond_the_usual_ones() -> None:
    tuple_type = "tuple<tensor<f32>, tuple<>>"
    bounded = "tensor<?xf32, #stablehlo.bounds<3>>"
    quantized = "tensor<2x!quant.uniform<i8:f32:0, {1.0:0, 2.0:1}>>"
    arguments = f"%t: {tuple_type}, %b: {bounded}, %q: {quantized}, %o: !foo.bar<1>"
    found = operations(
        f"""%0 = stablehlo.add %q, %q : {quantized}
            %1 = stablehlo.abs %b : {bounded}
            %2 = stablehlo.add %q, %q : {quantized}
            %3 = call @f(%t, %o) : ({tuple_type}, !foo.bar<1>) -> {tuple_type}
            %4 = call @f(%t, %o) : ({tuple_type}, !foo.bar<1>) -> {tuple_type}
            return %t, %o, %4 : {tuple_type}, !foo.bar<1>, {tuple_type}""",
        arguments,
    )
    assert [str(each.result.type) for each in found[:5]] == [
        quantized,
        bounded,
        quantized,
        tuple_type,
        tuple_type,
    ]
    assert len(found[5].operands) == 3


def test_several_results() -> None:
    found = operations(
        """%0:2, %x = "test.three"() : () -> (tensor<i1>, tensor<i2>, tensor<i4>)
           "test.use"(%0, %0#0, %0#1, %x, %x#0)
             : (tensor<i1>, tensor<i1>, tensor<i2>, tensor<i4>, tensor<i4>) -> ()"""
    )
    results = found[0].results
    assert found[1].operands == (results[0], results[0], results[1], results[2], results[2])


def test_regions_see_values_from_outside_and_reuse_names() -> None:
    found = operations(
        """%0 = "test.value"() : () -> tensor<i1>
           "test.regions"() ({
             %1 = "test.inner"(%0) : (tensor<i1>) -> tensor<i2>
             "test.end"(%1) : (tensor<i2>) -> ()
           }, {
             %1 = "test.inner"(%0) : (tensor<i1>) -> tensor<i4>
             "test.end"(%1) : (tensor<i4>) -> ()
           }, {
           }) : () -> ()
           %1 = "test.after"() : () -> tensor<i8>"""
    )
    first, second, empty = found[1].regions
    assert first.block.operations[0].operands == second.block.operations[0].operands == (found[0].result,)
    assert empty.blocks == []


def test_functions() -> None:
    module = parse(
        """func.func public @f(%a: tensor<f32> {x.a = 1}, %b: tensor<2xf32>)
             -> (tensor<f32> {x.r}, tensor<f32>) attributes {x.f = "g"} {
             return %a, %a : tensor<f32>, tensor<f32>
           }
           func.func private @declared(tensor<f32>, i32 {x.y}) -> tensor<f32>
           func.func nested @"odd name"() { return }
           "func.func"() <{function_type = (tensor<f32>) -> (), sym_name = "generic",
              sym_visibility = "private", arg_attrs = [{x.y}]}> ({
             ^bb0(%a: tensor<f32>):
               "func.return"() : () -> ()
           }) : () -> ()"""
    )
    f, declared, odd, generic = module.functions.values()
    assert [list(each) for each in f.argument_attributes] == [["x.a"], []]
    assert [list(each) for each in f.result_attributes] == [["x.r"], []]
    assert (f.visibility, list(f.attributes)) == ("public", ["x.f"])
    assert (declared.body, declared.visibility, len(declared.type.inputs)) == (None, "private", 2)
    assert (odd.name, odd.visibility, odd.type.results) == ("odd name", "nested", ())
    assert (generic.name, generic.visibility, generic.argument_attributes) == (
        "generic",
        "private",
        parse("func.func @f(%a: tensor<f32> {x.y}) { return }").functions["f"].argument_attributes,
    )


def test_modules() -> None:
    module = parse(
        """module @outer attributes {x.y = 1} {
             module @inner { func.func private @f() }
             module {}
           }"""
    )
    assert (module.name, list(module.attributes)) == ("outer", ["x.y"])
    inner, unnamed = module.body
    assert isinstance(inner, Module)
    assert isinstance(unnamed, Module)
    assert list(inner.functions) == ["f"]
    assert unnamed.name is None
    generic = parse(
        """"builtin.module"() <{sym_name = "outer"}> ({
             "builtin.module"() <{sym_name = "inner"}> ({
               "func.func"() <{function_type = () -> (), sym_name = "f", sym_visibility = "private"}> ({
               }) : () -> ()
             }) : () -> ()
             "builtin.module"() ({
             }) : () -> ()
           }) {x.y = 1} : () -> ()"""
    )
    assert fingerprint(generic) == fingerprint(module)
    assert parse("").body == []
    assert [type(item) for item in parse("module {} module {}").body] == [Module, Module]


def test_operations_of_other_dialects_are_kept() -> None:
    module = parse('module { sdy.mesh @mesh = <["x"=2, "y"=4]> }')
    (mesh,) = module.body
    assert isinstance(mesh, Operation)
    assert mesh.attributes == {
        "sym_name": StringAttribute("mesh"),
        "mesh": Mesh((MeshAxis("x", 2), MeshAxis("y", 4))),
    }
    assert operation('%0 = "foo.bar"() {a = #foo<b>} : () -> !foo.t').name == "foo.bar"
    with pytest.raises(UnsupportedError, match=r"foo\.bar: .*not supported, at <text>:2:6"):
        operation("%0 = foo.bar %1 : i32")


def test_comments_and_white_space() -> None:
    statement = "// one\n %0\t= // two\n\r\n stablehlo.abs // three\n %a : tensor<f32> // four"
    assert operation(statement, "%a: tensor<f32>").name == "stablehlo.abs"


def test_split() -> None:
    text = "module {}\n// -----\nmodule @b {} // -----\r\n\n// ----- not the end\nmodule @c {}\n"
    parts = split(text)
    assert [line for line, _ in parts] == [0, 2, 3]
    assert [parse(part).name for _, part in parts] == [None, "b", "c"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("%0 = stablehlo.abs %zz : tensor<2x3xf32>", "defined before its use; %zz is not"),
        ("%0 = stablehlo.abs %a#1 : tensor<2x3xf32>", "no result number 1"),
        ("%a = stablehlo.abs %a : tensor<2x3xf32>", "%a is defined twice"),
        (
            "%0 = stablehlo.abs %a : tensor<2x4xf32>",
            "found one of type tensor<2x3xf32>",
        ),
        ('%0 = "stablehlo.abs"(%a) : () -> tensor<2x3xf32>', "1 operand type, found 0"),
        ('%0:3 = "test.two"() : () -> (tensor<f32>, tensor<f32>)', "names for 2 results"),
        ('%0 = "test.two"() : () -> (tensor<f32>, tensor<f32>)', "names for 2 results"),
        ('%0:99999999999 = "test.one"() : () -> tensor<f32>', "names for 1 result "),
        ('%0 = "test.none"() : () -> ()', "names for 0 results"),
        ('"test.twice"() <{a}> {a} : () -> ()', "attribute a is given twice"),
        ("%0 = stablehlo.iota dim = x : tensor<2xi8>", "expected an integer"),
        ("%0 = stablehlo.transpose %a dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>", "expected ','"),
        ("%0 = stablehlo.slice %a [0-1] : (tensor<2x3xf32>) -> tensor<2x3xf32>", "expected ':'"),
        ("%0 = stablehlo.constant 3 : tensor<i8>", "type of a number"),
        ("stablehlo.while(%q = %a) : tensor<2x3xf32> cond {}", "expected 'do'"),
        ('"test.branch"()[^bb1] : () -> ()', "successors"),
        ("}", "expected an operation"),
        ("%0 = ;", "expected an operation or '}'"),
        ("stablehlo.return %a : tensor<2x3xf32>, tensor<f32>", "1 operand types, found 2|an operation"),
    ],
)
def test_malformed(body: str, reason: str) -> None:
    with pytest.raises((ParseError, UnsupportedError), match=reason):
        program(body)


def test_cross_replica_sum_is_an_all_reduce_that_adds() -> None:
    groups = "replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>"
    legacy = f'%0 = "stablehlo.cross-replica-sum"(%a) {{{groups}}} : (tensor<2x3xf32>) -> tensor<2x3xf32>'
    current = f"""%0 = "stablehlo.all_reduce"(%a) ({{
      ^bb0(%v: tensor<f32>, %w: tensor<f32>):
        %1 = stablehlo.add %v, %w : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }}) {{{groups}}} : (tensor<2x3xf32>) -> tensor<2x3xf32>"""
    assert fingerprint(program(legacy)) == fingerprint(program(current))
    for malformed in (
        '"stablehlo.cross-replica-sum"() : () -> ()',
        '"stablehlo.cross-replica-sum"(%t) : (!stablehlo.token) -> !stablehlo.token',
    ):
        with pytest.raises(ParseError, match="one tensor"):
            program(malformed)
