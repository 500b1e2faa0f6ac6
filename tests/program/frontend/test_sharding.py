"""The sdy dialect in text and bytecode: what is read, printed, and read by MLIR again."""

import io
from typing import Any

import pytest

from nimblehlo.errors import NimbleError, ParseError
from nimblehlo.program.frontend import parse
from nimblehlo.program.frontend.loader import load_ir
from nimblehlo.program.ir import Module
from nimblehlo.program.ir.fingerprint import fingerprint
from nimblehlo.program.ir.printer import print_module
from nimblehlo.program.ir.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, SubAxis, TensorSharding
from nimblehlo.program.ir.sharding_rules import ShardingRule, TensorMapping
from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.framework.fields import REQUIRED
from tests.program.frontend.sources import attribute
from tests.program.ir.jaxlib_parser import mlir_context, mlir_parse
from tests.program.ops.sharding.test_sharding import ACCEPTED, ATTRIBUTES, OTHERS, REJECTED, rule

X, Y = AxisRef("x"), AxisRef("y", SubAxis(2, 4))
ATTRIBUTE_TEXTS = [
    "#sdy.mesh<[]>",
    "#sdy.mesh<[], device_ids=[3]>",
    '#sdy.mesh<["x"=2, "a b\\22"=1], device_ids=[1, 0]>',
    '#sdy.sharding<@"a b", [{"x", ?}p12, {?}, {}], replicated={"y":(1)2}, unreduced={"z"}>',
    '#sdy.sharding<mesh<["x"=2]>, []>',
    "#sdy.sharding_per_value<[]>",
    "#sdy.sharding_per_value<[<@m, []>, <mesh<[]>, [{}]>]>",
    "#sdy<manual_axes{}>",
    '#sdy<manual_axes{"x", "y"}>',
    "#sdy<list_of_axis_ref_lists[]>",
    '#sdy<list_of_axis_ref_lists[{"x":(1)2}, {}]>',
    '#sdy<axis_ref_list{"x", "y":(1)2}>',
    '#sdy<all_to_all_param_list[{"x"}: 0->2, {"y", "z"}: -1->3]>',
    "#sdy.op_sharding_rule<([i, jk], [])->([z_12]) {i=2, j=3, k=4} reduction={i, j}, custom>",
    "#sdy.op_sharding_rule<([])->([]) permutation={i} blocked_propagation={j}>",
    '#sdy.propagation_edges<[{step-0 = [{"x":(1)2 = operand-0 -> [result-0, operand-1]}]}]>',
]


@pytest.mark.parametrize("text", ATTRIBUTE_TEXTS)
def test_attributes_are_printed_as_they_are_read(text: str) -> None:
    read = attribute(text)
    assert str(read) == text
    assert attribute(str(read)) == read
    mlir = mlir_parse(f"module attributes {{a.b = {text}}} {{}}", mlir_context())
    assert str(mlir.operation.attributes["a.b"]) == text


def test_attributes_are_data() -> None:
    assert attribute('#sdy.sharding<@m, [{"x", ?}p1], unreduced=min{"y":(2)4}>') == TensorSharding(
        "m", (DimensionSharding((X,), False, 1),), (), (Y,), "min"
    )
    assert attribute('#sdy<mesh<["x" = 2], device_ids = [0, 1]>>') == Mesh((MeshAxis("x", 2),))
    assert attribute("#sdy.op_sharding_rule<([i, k],[k, j])->([i, j]) {i=8, j=16, k=4} reduction={k}>") == (
        ShardingRule(
            (8, 16, 4),
            (TensorMapping(((0,), (2,))), TensorMapping(((2,), (1,)))),
            (TensorMapping(((0,), (1,))),),
            (2,),
        )
    )


def test_attributes_in_full_within_others() -> None:
    definitions = (
        '#mesh = #sdy.mesh<["x"=2]>\n#axis = #sdy<axis_ref"x">\n#s = #sdy.sharding<mesh#mesh, [{#axis}]>'
    )
    expected = TensorSharding(Mesh((MeshAxis("x", 2),)), (DimensionSharding((X,)),))
    assert attribute("#s", definitions) == expected
    with pytest.raises(ParseError, match=r"expected an attribute #sdy\.mesh"):
        attribute("#sdy.sharding<mesh#axis, []>", definitions)


@pytest.mark.parametrize(
    "text",
    [
        "#sdy.mesh<>",
        '#sdy.mesh<["x"]>',
        '#sdy.mesh<["x"=99999999999999999999]>',
        "#sdy.mesh<[], device_ids=[]>",
        '#sdy.sharding<["x"]>',
        "#sdy.sharding<@m>",
        '#sdy.sharding<@m, [{"x" "y"}]>',
        '#sdy.sharding<@m, [{?, "x"}]>',
        '#sdy.sharding<@m, [{"x"}q1]>',
        '#sdy.sharding<@m, [{"x"}p01]>',
        '#sdy.sharding<@m, [{"x"}p99999999999999999999]>',
        "#sdy.sharding<@m, [], replicated={}>",
        '#sdy.sharding<@m, [], replicated={"x"}, replicated={"y"}>',
        '#sdy.sharding<@m, [], unreduced=mean{"x"}>',
        '#sdy.sharding<@m, [], other={"x"}>',
        '#sdy<axis_ref"x":(1)>',
        "#sdy<all_to_all_param_list[{}: 0->1]>",
        '#sdy<all_to_all_param_list[{"x"}: 0]>',
        "#sdy.op_sharding_rule<([i])->([i]) {j=2}>",
        "#sdy.op_sharding_rule<([h])->([i]) {i=2}>",
        "#sdy.op_sharding_rule<([z_0])->([i]) {i=2}>",
        "#sdy.op_sharding_rule<([z_])->([i]) {i=2}>",
        "#sdy.op_sharding_rule<([z_99999999999999999999])->([i]) {i=2}>",
        "#sdy.op_sharding_rule<([i])->([i]) {i=2} reduction={ij}>",
        "#sdy.op_sharding_rule<([i])->([i]) {i=2}, own>",
        "#sdy.propagation_edges<[]>",
        '#sdy.propagation_edges<[{step-0 = [{"x" = other-0 -> [result-0]}]}]>',
    ],
)
def test_malformed_attributes(text: str) -> None:
    with pytest.raises(ParseError):
        attribute(text)


@pytest.mark.parametrize(
    "statement",
    [
        "sdy.sharding_group %a group_id=99999999999999999999 : tensor<2xf32>",
        "%0 = sdy.propagation_barrier %a allowed_direction=SIDEWAYS : tensor<2xf32>",
        "%0 = sdy.all_gather [{}] %a : tensor<2xf32>",
        '%0 = sdy.named_computation<"f">(%a) (%b: tensor<2xf32>) { sdy.return %a : tensor<2xf32> } '
        ": (tensor<2xf32>) -> tensor<2xf32>",
        "%0 = sdy.unknown %a : tensor<2xf32>",
    ],
)
def test_malformed_operations(statement: str) -> None:
    with pytest.raises(NimbleError):
        parse(f"func.func @main(%a: tensor<2xf32>) {{ {statement} return }}")


TEXTS = [
    *ACCEPTED,
    *(text for programs in REJECTED.values() for text in programs.values()),
    *(text for text, _ in (*ATTRIBUTES.values(), *OTHERS.values())),
    rule("([i, jk], [i, jk])->([i, jk]) {i=8, j=4, k=2} need_replication={i, j}, custom"),
]


def test_mlir_agrees_about_each_program() -> None:
    """MLIR accepts and rejects the same programs, and reads what is printed as the same."""
    context = mlir_context()
    accepted = 0
    for text in TEXTS:
        # Reductions other than sums are newer than jaxlib's parser.
        if "=max{" in text or "=min{" in text:
            continue
        is_valid = _is_valid(text)
        try:
            mlir = mlir_parse(text, context)
        except Exception:
            assert not is_valid, text
            continue
        assert is_valid, text
        accepted += 1
        module = parse(text)
        replay = mlir_parse(print_module(module), context)
        for read in (mlir, replay):
            assert _structure(parse(read.operation.get_asm(print_generic_op_form=True))) == _structure(module)
    assert accepted > 4


def _structure(module: Module) -> str:
    """The fingerprint of a module without attributes that state defaults, some of which MLIR adds.

    Which ones depends on the version of jaxlib.
    """
    for operation in module.walk():
        declaration = lookup(operation.name)
        if declaration is not None:
            stated = {
                field.key or field.name: field.kind.encode(field.default)
                for field in declaration.declared_attributes
                if field.of is None and field.default not in (REQUIRED, None)
            }
            operation.attributes = {
                name: value for name, value in operation.attributes.items() if stated.get(name) != value
            }
    return fingerprint(module)


def _is_valid(text: str) -> bool:
    from nimblehlo.program.ops.framework.verify import verify

    try:
        verify(parse(text))
    except NimbleError:
        return False
    return True


@pytest.mark.parametrize("text", ACCEPTED)
def test_bytecode(text: str) -> None:
    module: Any = mlir_parse(text, mlir_context())
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    assert _structure(load_ir(bytecode.getvalue())) == _structure(parse(text))


@pytest.mark.parametrize("text", ACCEPTED[1:3])
def test_portable_artifacts(text: str) -> None:
    """The operations of sdy stay in artifacts; MLIR cannot serialize those that look at other operations."""
    stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")
    module = mlir_parse(text, mlir_context())
    artifact = stablehlo.serialize_portable_artifact(module, "1.9.0", allow_other_dialects=True)
    found = load_ir(artifact)
    assert [operation.name for operation in found.walk()] == [each.name for each in parse(text).walk()]
    assert found.functions["main"].argument_attributes == parse(text).functions["main"].argument_attributes
