"""Loops of scalar work as native code: the same bits as by the regions' plans, whatever they carry."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options
from nimblehlo.compiler import cost_model
from nimblehlo.compiler.plan import all_steps
from nimblehlo.compiler.plan.implementations import native_loops
from nimblehlo.compiler.plan.tiering.background import Job
from nimblehlo.compiler.specialize import specialize
from nimblehlo.program.ops.framework.declaration import Op
from tests.support.interrupts import interrupt
from tests.support.running import run_every_way

COUNTED = """
  func.func @main({arguments}) -> ({results}) {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %limit = stablehlo.constant dense<{steps}> : tensor<i32>
    {before}
    %all:{count} = stablehlo.while(%i = %zero, {carried}) : tensor<i32>, {types}
    cond {{
      %go = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{
      {body}
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, {handed_on} : tensor<i32>, {types}
    }}
    return {returned} : {results}
  }}
"""


def counted(
    steps: int,
    body: str,
    carried: dict[str, tuple[str, str]],
    handed_on: str,
    before: str = "",
    more: str = "",
) -> str:
    """A loop that counts to `steps`; `carried` maps names to their initial values and types."""
    types = ", ".join(type for _, type in carried.values())
    arguments = [f"%{initial} : {type}" for initial, type in carried.values()]
    return COUNTED.format(
        arguments=", ".join(arguments + ([more] if more else [])),
        results=types,
        steps=steps,
        before=before,
        count=1 + len(carried),
        carried=", ".join(f"%{name} = %{initial}" for name, (initial, _) in carried.items()),
        types=types,
        body=body,
        handed_on=handed_on,
        returned=", ".join(f"%all#{k + 1}" for k in range(len(carried))),
    )


def loop_to_compile_of(text: str, threads: int | None = None) -> native_loops.LoopToCompile | str:
    """What becomes native code of the only loop of a program, or why nothing does."""
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    (loop,) = [other for other in function.body.block.operations if other.name == "stablehlo.while"]
    view: Any = Op.of(loop)
    return native_loops.loop_to_compile(view, threads)


def reason_of(text: str) -> str | None:
    """Why the only loop of a program does not become native."""
    loop = loop_to_compile_of(text)
    return loop if isinstance(loop, str) else None


def check(text: str, *inputs: Any) -> list[Any]:
    """The program's loop becomes native and gives the same bits in every way of running."""
    assert reason_of(text) is None
    return run_every_way(text, *inputs)


def test_scalars() -> None:
    body = """%a = stablehlo.multiply %x, %k : tensor<f32>
      %b = stablehlo.add %a, %n : tensor<f32>
      %c = stablehlo.xor %m, %i : tensor<i32>"""
    before = """%k = stablehlo.constant dense<1.0001> : tensor<f32>
    %n = stablehlo.constant dense<0.5> : tensor<f32>"""
    text = counted(5000, body, {"x": ("x0", "tensor<f32>"), "m": ("m0", "tensor<i32>")}, "%b, %c", before)
    (x, m) = check(text, np.float32(1.5), np.int32(7))
    expected = np.float32(1.5)
    for _ in range(5000):
        expected = expected * np.float32(1.0001) + np.float32(0.5)
    assert x == expected
    assert m == np.bitwise_xor.reduce(np.arange(5000)) ^ 7


@pytest.mark.parametrize("element", ["i1", "i4", "ui8", "i64", "bf16", "f8E4M3FN", "f64", "complex<f32>"])
def test_element_types(element: str) -> None:
    operation = "xor" if element == "i1" else "add"
    body = f"%y = stablehlo.{operation} %x, %k : tensor<2x{element}>"
    text = counted(
        2500,
        body,
        {"x": ("x0", f"tensor<2x{element}>")},
        "%y",
        f"%k = stablehlo.constant dense<1{'.0' if element[0] not in 'iu' else ''}> : tensor<2x{element}>"
        if element[0] != "c"
        else f"%k = stablehlo.constant dense<(1.0, 0.5)> : tensor<2x{element}>",
    )
    dtype = nimblehlo.types.element_type(element).dtype
    check(text, np.array([1, 0]).astype(dtype))


SCAN = """%s = stablehlo.dynamic_slice %xs, %i, sizes = [1] : (tensor<3000xf32>, tensor<i32>) -> tensor<1xf32>
      %v = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
      %t = stablehlo.add %c, %v : tensor<f32>
      %m = stablehlo.maximum %t, %v : tensor<f32>
      %u = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<f32>) -> tensor<1xf32>
      %ys2 = stablehlo.dynamic_update_slice %ys, %u, %i
          : (tensor<3000xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3000xf32>"""


def test_arrays_are_read_and_written_by_index() -> None:
    carried = {
        "xs": ("a", "tensor<3000xf32>"),
        "c": ("b", "tensor<f32>"),
        "ys": ("d", "tensor<3000xf32>"),
    }
    text = counted(3000, SCAN, carried, "%xs, %m, %ys2")
    xs = np.random.default_rng(0).standard_normal(3000).astype(np.float32)
    _, last, ys = check(text, xs, np.float32(0), np.zeros(3000, np.float32))
    c, expected = np.float32(0), []
    for x in xs:
        c = max(c + x, x)
        expected.append(c)
    assert (ys == np.array(expected)).all() and last == c


@pytest.mark.parametrize("start", [-5, 2, 97, 2**31 - 1])
def test_starts_of_windows_are_clamped(start: int) -> None:
    body = """%at = stablehlo.add %i, %s : tensor<i32>
      %w = stablehlo.dynamic_slice %x, %at, %i, sizes = [2, 3]
          : (tensor<90x4xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>
      %d = stablehlo.add %w, %w : tensor<2x3xi32>
      %y = stablehlo.dynamic_update_slice %x, %d, %i, %at
          : (tensor<90x4xi32>, tensor<2x3xi32>, tensor<i32>, tensor<i32>) -> tensor<90x4xi32>"""
    text = counted(200, body, {"x": ("x0", "tensor<90x4xi32>")}, "%y", more="%s : tensor<i32>")
    check(text, np.arange(360, dtype=np.int32).reshape(90, 4), np.int32(start))


@pytest.mark.parametrize("offset", [-4, 0, 3])
def test_scatter_leaves_out_what_is_outside(offset: int) -> None:
    body = """%at = stablehlo.add %i, %s : tensor<i32>
      %v = stablehlo.broadcast_in_dim %at, dims = [] : (tensor<i32>) -> tensor<1xi32>
      %u = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
      %w = stablehlo.broadcast_in_dim %u, dims = [] : (tensor<f32>) -> tensor<2xf32>
      %y = "stablehlo.scatter"(%x, %v, %w) <{
        scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0],
            scatter_dims_to_operand_dims = [0], index_vector_dim = 0>
      }> ({
      ^bb0(%old: tensor<f32>, %new: tensor<f32>):
        %sum = stablehlo.add %old, %new : tensor<f32>
        stablehlo.return %sum : tensor<f32>
      }) : (tensor<50xf32>, tensor<1xi32>, tensor<2xf32>) -> tensor<50xf32>"""
    text = counted(60, body, {"x": ("x0", "tensor<50xf32>")}, "%y", more="%s : tensor<i32>")
    check(text, np.ones(50, np.float32), np.int32(offset))


def test_branches_and_inner_loops() -> None:
    body = """%two = stablehlo.constant dense<2> : tensor<i32>
      %r = stablehlo.remainder %i, %two : tensor<i32>
      %odd = stablehlo.compare EQ, %r, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %e = "stablehlo.if"(%odd) ({
        %p = stablehlo.add %x, %i : tensor<i32>
        stablehlo.return %p : tensor<i32>
      }, {
        %q = stablehlo.subtract %x, %two : tensor<i32>
        stablehlo.return %q : tensor<i32>
      }) : (tensor<i1>) -> tensor<i32>
      %ten = stablehlo.constant dense<10> : tensor<i32>
      %in:2 = stablehlo.while(%j = %zero, %s = %e) : tensor<i32>, tensor<i32>
      cond {
        %more = stablehlo.compare LT, %j, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %f = stablehlo.multiply %s, %one : tensor<i32>
        %g = stablehlo.xor %f, %j : tensor<i32>
        %h = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %h, %g : tensor<i32>, tensor<i32>
      }
      %which = stablehlo.subtract %r, %one : tensor<i32>
      %c = "stablehlo.case"(%which) ({
        stablehlo.return %in#1 : tensor<i32>
      }, {
        %n = stablehlo.negate %in#1 : tensor<i32>
        stablehlo.return %n : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>"""
    check(counted(2100, body, {"x": ("x0", "tensor<i32>")}, "%c"), np.int32(3))


def test_small_tensors_are_moved() -> None:
    body = """%t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
      %r = stablehlo.reverse %t, dims = [0] : tensor<3x2xf32>
      %s = stablehlo.slice %r [0:3, 1:2] : (tensor<3x2xf32>) -> tensor<3x1xf32>
      %c = stablehlo.concatenate %s, %r, dim = 1 : (tensor<3x1xf32>, tensor<3x2xf32>) -> tensor<3x3xf32>
      %z = stablehlo.constant dense<0.25> : tensor<f32>
      %p = stablehlo.pad %c, %z, low = [-1, 0], high = [0, -1], interior = [0, 0]
          : (tensor<3x3xf32>, tensor<f32>) -> tensor<2x2xf32>
      %n = stablehlo.iota dim = 1 : tensor<2x3xf32>
      %q = stablehlo.pad %p, %z, low = [0, 1], high = [0, 0], interior = [0, 0]
          : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x3xf32>
      %y = stablehlo.add %q, %n : tensor<2x3xf32>"""
    text = counted(2100, body, {"x": ("x0", "tensor<2x3xf32>")}, "%y")
    check(text, np.arange(6, dtype=np.float32).reshape(2, 3))


def test_two_arrays_that_begin_as_one_stay_apart() -> None:
    body = """%w = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<1xi32>
      %y = stablehlo.dynamic_update_slice %a, %w, %i
          : (tensor<40xi32>, tensor<1xi32>, tensor<i32>) -> tensor<40xi32>"""
    text = counted(40, body, {"a": ("x0", "tensor<40xi32>"), "b": ("x1", "tensor<40xi32>")}, "%y, %b")
    text = text.replace("%b = %x1", "%b = %x0").replace(", %x1 : tensor<40xi32>)", ")")
    first, second = check(text, np.full(40, -1, np.int32))
    assert (first == np.arange(40)).all() and (second == -1).all()


READ_AFTER_UPDATE = """%w = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<1xi32>
      %y = stablehlo.dynamic_update_slice %a, %w, %i
          : (tensor<5000xi32>, tensor<1xi32>, tensor<i32>) -> tensor<5000xi32>
      %s = stablehlo.dynamic_slice %a, %i, sizes = [1] : (tensor<5000xi32>, tensor<i32>) -> tensor<1xi32>
      %z = stablehlo.dynamic_update_slice %y, %s, %zero
          : (tensor<5000xi32>, tensor<1xi32>, tensor<i32>) -> tensor<5000xi32>"""


@pytest.mark.parametrize(
    ("body", "carried", "handed_on", "told"),
    [
        (READ_AFTER_UPDATE, {"a": ("x0", "tensor<5000xi32>")}, "%z", "used after its update"),
        (
            "",
            {"a": ("x0", "tensor<70000xi32>"), "b": ("x1", "tensor<70000xi32>")},
            "%b, %a",
            "at another position",
        ),
        (
            "%y = stablehlo.add %a, %a : tensor<40000xi32>",
            {"a": ("x0", "tensor<40000xi32>")},
            "%y",
            "elements of large arrays",
        ),
        (
            "%y = stablehlo.add %a, %a : tensor<70000xi32>",
            {"a": ("x0", "tensor<70000xi32>")},
            "%y",
            "is not small",
        ),
    ],
)
def test_other_loops_keep_their_plans(
    body: str, carried: dict[str, tuple[str, str]], handed_on: str, told: str
) -> None:
    text = counted(30, body, carried, handed_on)
    assert told in str(reason_of(text))
    (size,) = {int(type[len("tensor<") : -len("xi32>")]) for _, type in carried.values()}
    inputs = [np.arange(size, dtype=np.int32) * (k + 1) for k in range(len(carried))]
    run_every_way(text, *inputs)


@pytest.mark.parametrize("size", [16384, 16385, 65536])
def test_a_loop_of_many_operations_makes_large_arrays(size: int) -> None:
    few = "\n".join(f"%s{k + 1} = stablehlo.xor %s{k}, %i : tensor<i32>" for k in range(20))
    body = f"""%s0 = stablehlo.add %s, %i : tensor<i32>
      {few}
      %w = stablehlo.broadcast_in_dim %s20, dims = [] : (tensor<i32>) -> tensor<{size}xi32>
      %y = stablehlo.add %a, %w : tensor<{size}xi32>"""
    carried = {"a": ("x0", f"tensor<{size}xi32>"), "s": ("x1", "tensor<i32>")}
    check(counted(30, body, carried, "%y, %s20"), np.arange(size, dtype=np.int32), np.int32(5))


def test_a_loop_without_steps() -> None:
    text = counted(0, "%y = stablehlo.add %x, %x : tensor<f32>", {"x": ("x0", "tensor<f32>")}, "%y")
    (x,) = run_every_way(text, np.float32(2.5))
    assert x == np.float32(2.5)


def test_native_code_goes_on_where_the_plans_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_model, "LOOP_COMPILE_SECONDS", 1e-4)
    monkeypatch.setattr(native_loops, "FIRST_CALL_ITERATIONS", 3)
    body = "%y = stablehlo.add %x, %i : tensor<i32>"
    text = counted(1999, body, {"x": ("x0", "tensor<i32>")}, "%y")
    executable = nimblehlo.compile(text)
    for _ in range(5):
        assert executable(np.int32(0))[0] == sum(range(1999))


ENDLESS = """
  func.func @main(%x: tensor<i32>) -> tensor<i32> {
    %y = stablehlo.while(%i = %x) : tensor<i32>
    cond {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %go = stablehlo.compare NE, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %two = stablehlo.constant dense<2> : tensor<i32>
      %next = stablehlo.add %i, %two : tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
    return %y : tensor<i32>
  }
"""


def test_a_signal_stops_an_endless_loop() -> None:
    executable = nimblehlo.compile(ENDLESS, options=Options(compile="eager"))
    assert executable(np.int32(2))[0] == 0
    interrupt(lambda: executable(np.int32(1)))
    assert executable(np.int32(2))[0] == 0


FROM_BEFORE = """
      %before = stablehlo.subtract %i, %one : tensor<i32>
      %value = stablehlo.dynamic_slice %{source}, %before, sizes = [1]
        : (tensor<4000xf32>, tensor<i32>) -> tensor<1xf32>
      %more = stablehlo.constant dense<1.0> : tensor<1xf32>
      %sum = stablehlo.add %value, %more : tensor<1xf32>
      %y = stablehlo.dynamic_update_slice %x, %sum, %i
        : (tensor<4000xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4000xf32>
"""
NEGATED = "%initial = stablehlo.negate %x0 : tensor<4000xf32>"


@pytest.mark.parametrize("source", ["x", "initial", "x0"])
def test_an_array_that_dies_is_updated_in_place_unless_it_is_captured(source: str) -> None:
    text = counted(
        3500, FROM_BEFORE.format(source=source), {"x": ("initial", "tensor<4000xf32>")}, "%y", NEGATED
    )
    text = text.replace("@main(%initial", "@main(%x0")
    assert reason_of(text) is None
    operand = np.arange(4000, dtype=np.float32)
    operand.flags.writeable = False
    expected = -operand
    for i in range(3500):
        expected[i] = {"x": expected, "initial": -operand, "x0": operand}[source][max(i - 1, 0)] + 1
    run_every_way(text, operand)
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    assert "[generated: a native loop" in executable.explain("plan")
    for _ in range(3):
        (result,) = executable(operand)
        assert np.array_equal(result, expected)


def test_cached_code_is_used_before_compiling_would_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "%y = stablehlo.multiply %x, %x : tensor<i16>"
    text = counted(1500, body, {"x": ("x0", "tensor<i16>")}, "%y")
    nimblehlo.compile(text, options=Options(compile="eager"))(np.int16(3))
    monkeypatch.setattr(cost_model, "LOOP_COMPILE_SECONDS", 1e3)
    monkeypatch.setattr(cost_model, "CACHE_LOAD_SECONDS", 1e-5)
    executable = nimblehlo.compile(text)
    executable(np.int16(3))
    assert executable._static_program is not None
    (loop,) = [step for step in executable._static_program.plan.steps if step.operation == "stablehlo.while"]
    assert isinstance(loop.implementation, native_loops.NativeLoop)
    assert loop.implementation.native is not None


def test_more_values_than_fit_the_stack() -> None:
    names = [f"v{k}" for k in range(70)]
    body = "\n".join(
        f"%n{name} = stablehlo.add %{name}, %{other} : tensor<i32>"
        for name, other in zip(names, names[1:] + names[:1], strict=True)
    )
    carried = {name: (f"{name}_0", "tensor<i32>") for name in names}
    text = counted(2100, body, carried, ", ".join(f"%n{name}" for name in names))
    run_every_way(text, *[np.int32(k) for k in range(70)])


def test_a_loop_of_very_much_code_keeps_its_plan() -> None:
    body = "\n      ".join(f"%x{k + 1} = stablehlo.tanh %x{k} : tensor<16xf32>" for k in range(1, 4020))
    carried = {"x1": ("a", "tensor<16xf32>")}
    assert "has more than 4000 operations" in str(reason_of(counted(30, body, carried, "%x4020")))
    assert reason_of(counted(30, "\n".join(body.splitlines()[:3]), carried, "%x4")) is None


REDUCED = """
  func.func @main(%x0: tensor<3x5x{type}>, %v0: tensor<{type}>)
      -> (tensor<3x5x{type}>, tensor<{shape}{type}>) {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %limit = stablehlo.constant dense<29> : tensor<i32>
    %r0 = stablehlo.broadcast_in_dim %v0, dims = [] : (tensor<{type}>) -> tensor<{shape}{type}>
    %all:3 = stablehlo.while(%i = %zero, %x = %x0, %r = %r0)
        : tensor<i32>, tensor<3x5x{type}>, tensor<{shape}{type}>
    cond {{
      %go = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{
      %s = stablehlo.reduce(%x init: %v0) applies stablehlo.{name} across dimensions = {dimensions}
        : (tensor<3x5x{type}>, tensor<{type}>) -> tensor<{shape}{type}>
      %y = stablehlo.reverse %x, dims = [1] : tensor<3x5x{type}>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %y, %s : tensor<i32>, tensor<3x5x{type}>, tensor<{shape}{type}>
    }}
    return %all#1, %all#2 : tensor<3x5x{type}>, tensor<{shape}{type}>
  }}
"""


def special(dtype: Any, *shape: int) -> Any:
    """Values among which are NaN, infinities, zeros of both signs and subnormal numbers."""
    generator = np.random.default_rng(5)
    array = generator.standard_normal(shape).astype(dtype)
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-42, 1e30], dtype)
    places = generator.random(shape) < 0.4
    array[places] = generator.choice(values, int(places.sum()))
    return array


@pytest.mark.sampled(pairs=True)
@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum"])
@pytest.mark.parametrize(("dimensions", "shape"), [("[0]", "5x"), ("[1]", "3x"), ("[0, 1]", "")])
@pytest.mark.parametrize("type", ["f32", "f64", "i32", "complex<f32>"])
def test_small_tensors_are_reduced(type: str, name: str, dimensions: str, shape: str) -> None:
    text = REDUCED.format(type=type, name=name, dimensions=dimensions, shape=shape)
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "complex<f32>": np.complex64}[type]
    if type == "i32":
        inputs = [(np.arange(15).reshape(3, 5) * 400_000_001).astype(dtype), np.array(-7, dtype)]
    elif type == "complex<f32>":
        parts = np.random.default_rng(3).standard_normal((16, 2)).astype(np.float32)
        numbers = parts.view(dtype)[:, 0]
        inputs = [numbers[:15].reshape(3, 5), numbers[15]]
    else:
        inputs = [special(dtype, 3, 5), special(dtype)]
    if type == "complex<f32>" and name in ("minimum", "maximum"):
        run_every_way(text, *inputs)
    else:
        check(text, *inputs)


@pytest.mark.parametrize("tree", ["left", "right", "balanced", ("random", 3)])
def test_a_loop_that_reduces_by_another_tree_keeps_its_plan(tree: Any) -> None:
    text = REDUCED.format(type="f32", name="add", dimensions="[1]", shape="3x")
    inputs = [np.random.default_rng(1).standard_normal((3, 5), np.float32), np.float32(0.1)]
    results = [
        nimblehlo.execute(text, inputs, options=Options(compile=way, reduction_tree=tree))  # type: ignore[arg-type]
        for way in ("never", "eager", "auto")
    ]
    first, *others = [[array.tobytes() for array in found] for found in results]
    assert all(other == first for other in others)
    options = Options(compile="eager", reduction_tree=tree)
    assert "reduces by the tree" in nimblehlo.compile(text, options=options).explain("plan")


def test_a_loop_that_accumulates_in_a_wider_type_keeps_its_plan() -> None:
    text = REDUCED.format(type="bf16", name="add", dimensions="[1]", shape="3x")
    assert "accumulates in a wider type" in str(reason_of(text))


def test_positions_of_extremes_are_found_in_loops() -> None:
    body = """
      %p = stablehlo.iota dim = 0 : tensor<7xi32>
      %best:2 = stablehlo.reduce(%x init: %low), (%p init: %zero) across dimensions = [0]
        : (tensor<7xf32>, tensor<7xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
        reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
          %greater = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %value = stablehlo.select %greater, %a, %b : tensor<i1>, tensor<f32>
          %place = stablehlo.select %greater, %j, %k : tensor<i1>, tensor<i32>
          stablehlo.return %value, %place : tensor<f32>, tensor<i32>
        }
      %spread = stablehlo.broadcast_in_dim %best#0, dims = [] : (tensor<f32>) -> tensor<7xf32>
      %y = stablehlo.subtract %spread, %x : tensor<7xf32>
      %sum = stablehlo.add %c, %best#1 : tensor<i32>"""
    carried = {"x": ("x0", "tensor<7xf32>"), "c": ("c0", "tensor<i32>")}
    before = "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>"
    text = counted(50, body, carried, "%y, %sum", before=before)
    check(text, np.array([3, 1, -2, 8, 8, -0.0, 4], np.float32), np.int32(0))


def test_short_loops_are_compiled_beside_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cost_model.THRESHOLDS, "loop", cost_model.Thresholds(0.0, 1.0))
    monkeypatch.setattr(cost_model, "LOOP_COMPILE_SECONDS", 1e3)
    monkeypatch.setattr(cost_model, "CACHE_LOAD_SECONDS", 1e3)  # kept code, too, is prepared
    compiled = threading.Event()
    prepare = native_loops.NativeLoop._compile

    def noted(loop: native_loops.NativeLoop) -> None:
        prepare(loop)
        compiled.set()

    monkeypatch.setattr(native_loops.NativeLoop, "_compile", noted)
    text = counted(30, "%y = stablehlo.cosine %x : tensor<45xf32>", {"x": ("x0", "tensor<45xf32>")}, "%y")
    x = np.arange(45, dtype=np.float32)
    executable = nimblehlo.compile(text)
    first = executable(x)[0]
    assert compiled.wait(120)
    assert executable(x)[0].tobytes() == first.tobytes()


def test_loops_of_many_steps_are_compiled_first_where_their_plan_would_take_longer() -> None:
    body = "\n      ".join(f"%x{k + 1} = stablehlo.cosine %x{k} : {{0}}" for k in range(12))
    for type, steps, expected in (("tensor<f32>", 1500, False), ("tensor<f32>", 3000, True)):
        function = specialize(
            nimblehlo.load(counted(steps, body.format(type), {"x0": ("a", type)}, "%x12")), "main"
        )
        assert function.body is not None
        (loop,) = [other for other in function.body.block.operations if other.name == "stablehlo.while"]
        view: Any = Op.of(loop)
        assert native_loops.is_long(view, native_loops.LoopToCompile(loop)) == expected
    arrays = "tensor<40xf32>"
    function = specialize(
        nimblehlo.load(counted(2100, body.format(arrays), {"x0": ("a", arrays)}, "%x12")), "main"
    )
    assert function.body is not None
    (loop,) = [other for other in function.body.block.operations if other.name == "stablehlo.while"]
    wait = native_loops.blocking_wait_seconds(native_loops.LoopToCompile(loop))
    assert wait > cost_model.LOOP_COMPILE_SECONDS


INNER = """
  func.func @main(%a: tensor<{size}xf32>, %n: tensor<i32>) -> (tensor<{size}xf32>, tensor<i32>) {{
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %limit = stablehlo.constant dense<20> : tensor<i32>
    %outer:3 = stablehlo.while(%i = %zero, %x = %a, %total = %zero)
      : tensor<i32>, tensor<{size}xf32>, tensor<i32>
    cond {{
      %go = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    }} do {{
      %inner:3 = stablehlo.while(%k = %n, %y = %x, %t = %total)
        : tensor<i32>, tensor<{size}xf32>, tensor<i32>
      cond {{
        %more = stablehlo.compare NE, %k, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      }} do {{
        %less = stablehlo.subtract %k, %one : tensor<i32>
        %z = stablehlo.sine %y : tensor<{size}xf32>
        %u = stablehlo.add %t, %one : tensor<i32>
        stablehlo.return %less, %z, %u : tensor<i32>, tensor<{size}xf32>, tensor<i32>
      }}
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %inner#1, %inner#2 : tensor<i32>, tensor<{size}xf32>, tensor<i32>
    }}
    return %outer#1, %outer#2 : tensor<{size}xf32>, tensor<i32>
  }}
"""
"""An inner loop that takes as many iterations as an operand says; for a negative one, billions."""


@pytest.mark.parametrize("size", [3, 40])
def test_inner_loops_of_unknown_length(size: int) -> None:
    text = INNER.format(size=size)
    assert reason_of(text) is None
    values = np.linspace(-2, 2, size, dtype=np.float32)
    for count in (0, 1, 300):
        (_, total) = run_every_way(text, values, np.int32(count))
        assert total == 20 * count


@pytest.mark.parametrize("size", [3, 40])
def test_a_signal_or_a_limit_stops_an_endless_inner_loop(size: int) -> None:
    values, text = np.ones(size, np.float32), INNER.format(size=size)
    executable = nimblehlo.compile(text, options=Options(compile="eager"))
    interrupt(lambda: executable(values, np.int32(-1)))
    assert executable(values, np.int32(2))[1] == 40
    for options in (Options(compile="eager", max_steps=100_000), Options(compile="eager", timeout=0.3)):
        with pytest.raises(ExecutionError, match=r"max_steps|timeout"):
            nimblehlo.compile(text, options=options)(values, np.int32(-1))


def test_a_loop_of_more_code_than_llvm_unrolls() -> None:
    body = "\n      ".join(f"%x{k + 1} = stablehlo.negate %x{k} : tensor<20xf32>" for k in range(1, 421))
    text = counted(30, body, {"x1": ("a", "tensor<20xf32>")}, "%x421")
    assert reason_of(text) is None
    values = np.linspace(-1, 1, 20, dtype=np.float32)
    (result,) = nimblehlo.compile(text, options=Options(compile="eager"))(values)
    assert result.tobytes() == values.tobytes()


def test_a_loop_goes_on_in_native_code_as_soon_as_that_is_there() -> None:
    """It is compiled beside its first call, which takes long enough."""
    body = "%y = stablehlo.sine %x : tensor<40xf32>"
    text = counted(10**6, body, {"x": ("a", "tensor<40xf32>")}, "%y").replace("dense<1000000>", "dense<%n>")
    text = text.replace("%limit = stablehlo.constant dense<%n> : tensor<i32>", "").replace("%limit", "%n")
    text = text.replace("@main(", "@main(%n: tensor<i32>, ")
    values = np.ones(40, np.float32)
    executable = nimblehlo.compile(text)
    (result,) = executable(np.int32(300_000), values)
    (expected,) = nimblehlo.compile(text, options=Options(compile="eager"))(np.int32(300_000), values)
    assert result.tobytes() == expected.tobytes()
    (step,) = [
        one for one in executable._cached_programs()[0].plan.steps if one.operation == "stablehlo.while"
    ]
    assert step.implementation.native is not None


@pytest.mark.parametrize(("iterations", "waits"), [(60, False), (1000, True)])
def test_a_call_waits_for_a_loop_whose_plan_would_take_longer(
    iterations: int, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the time of the first iterations, and the limit to which it counts."""
    body = "%y = stablehlo.sine %x : tensor<40xf32>"
    text = counted(iterations, body, {"x": ("a", "tensor<40xf32>")}, "%y")
    (loop,) = _native_loops_of(nimblehlo.compile(text))
    loop.blocking_wait = loop.seconds_left = 60.0
    loop.compile_seconds, loop.background_start = 0.2, 0.01
    seconds = [0.0]

    def advance(values: list[int]) -> list[int]:
        seconds[0] += 0.001
        return [values[0] + 1]

    def begin() -> None:
        loop.job = Job(list, has_priority=True)

    monkeypatch.setattr(native_loops, "perf_counter", lambda: seconds[0])
    monkeypatch.setattr(cost_model, "compiler_load_seconds", lambda: 0.0)
    monkeypatch.setattr(loop, "begin", begin)
    monkeypatch.setattr(loop, "is_compiled", lambda quickly: False)
    (ran,), finished = loop._run_plans(
        [0], lambda count: (count < iterations,), SimpleNamespace(advance=advance)
    )
    assert loop.job is not None and finished is not waits
    assert (ran < iterations) is waits


@pytest.mark.parametrize(("iterations", "waits"), [(10, False), (1000, True)])
def test_a_call_waits_at_once_for_a_loop_whose_baselines_would_take_longer(
    iterations: int, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their estimated time; but not again where it has waited in vain."""
    body = "%y = stablehlo.sine %x : tensor<200x200xf32>"
    (loop,) = _native_loops_of(
        nimblehlo.compile(counted(iterations, body, {"x": ("a", "tensor<200x200xf32>")}, "%y"))
    )
    monkeypatch.setattr(loop, "begin", lambda: None)
    monkeypatch.setattr(loop, "is_compiled", lambda quickly: False)
    loop.seconds_left = 60.0
    for loop.is_overdue in (False, True):
        (ran,), finished = loop._run_plans(
            [0], lambda count: (count < 1,), SimpleNamespace(advance=lambda values: [values[0] + 1])
        )
        expected = (0, False) if waits and not loop.is_overdue else (1, True)
        assert (ran, finished) == expected
        loop.counted_seconds = 0.0


@pytest.mark.parametrize(("of_baselines", "begins"), [(0.0, False), (0.5, False), (0.9, True)])
def test_time_in_baselines_counts_in_full(
    monkeypatch: pytest.MonkeyPatch, of_baselines: float, begins: bool
) -> None:
    """A loop whose plan spends its time in steps that are not compiled yet is compiled while it runs."""
    type = "tensor<128x128xf32>"
    body = f"%y = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({type}, {type}) -> {type}"
    (loop,) = _native_loops_of(nimblehlo.compile(counted(20, body, {"x": ("x0", type)}, "%y")))
    begun = list[float]()
    monkeypatch.setattr(loop, "begin", lambda: begun.append(loop.counted_seconds))
    loop.background_start = 0.8
    loop._count(1.0, of_baselines)
    loop._compile_early(loop.counted_seconds)
    assert begun == ([0.91] if begins else [])
    assert loop.profile.seconds == 1.0 and loop.counted_seconds == of_baselines + (1 - of_baselines) / 10


@pytest.mark.parametrize("is_compiled_first", [False, True])
def test_a_call_goes_on_by_the_plan_where_native_code_is_overdue(
    is_compiled_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a busy machine. After as many seconds of the plan it waits twice as long, and has the code."""
    limit = 100_000 if is_compiled_first else 400
    text = counted(limit, "%y = stablehlo.sine %x : tensor<40xf32>", {"x": ("a", "tensor<40xf32>")}, "%y")
    monkeypatch.setattr(cost_model, "compiler_load_seconds", lambda: 0.0)
    (loop,) = _native_loops_of(nimblehlo.compile(text))
    assert loop.patience == native_loops._PATIENCE * loop.compile_seconds
    monkeypatch.setattr(loop, "is_compiled", lambda quickly: False)
    assert loop.is_native_at_once is is_compiled_first
    if not is_compiled_first:
        loop.blocking_wait = loop.seconds_left = 0.01
    loop.background_start, loop.patience = 0.0, 0.02
    may_end, native = threading.Event(), lambda values, *_: [f"native from {values[0]}"]
    iterations, waits = [0], list[tuple[int, float | None]]()
    finish = native_loops.BACKGROUND.finish

    def compile() -> Any:
        # Not for ever, so that the test fails where a call waits for it.
        may_end.wait(5)
        loop.native = native
        return native

    def noted(job: Job, seconds: float | None = None) -> None:
        waits.append((iterations[0], seconds))
        if len(waits) == 3:
            may_end.set()
            seconds = 60.0
        finish(job, seconds)

    def advance(values: list[int]) -> list[int]:
        time.sleep(0.001)
        iterations[0] += 1
        return [values[0] + 1]

    monkeypatch.setattr(loop, "_compile", compile)
    monkeypatch.setattr(native_loops.BACKGROUND, "finish", noted)
    body = SimpleNamespace(advance=advance, captures=(), count_steps=None)
    (result,) = loop.run(0, cond=lambda count: (count < limit,), body=body)
    assert [seconds for _, seconds in waits] == [0.02, 0.04, 0.08]
    ran = [count for count, _ in waits]
    assert ran[0] < ran[1] < ran[2] < 400 and result == f"native from {ran[2]}"
    assert (ran[0] == 0) is is_compiled_first and loop.is_overdue


def test_loops_that_are_known_to_run_long_begin_with_another_one() -> None:
    def begins(iterations: int) -> bool:
        body = "%y = stablehlo.sine %x : tensor<40xf32>"
        text = counted(iterations, body, {"x": ("a", "tensor<40xf32>")}, "%y")
        (loop,) = _native_loops_of(nimblehlo.compile(text))
        assert loop.program is not None
        return loop.is_expected_to_begin

    assert [begins(10), begins(1500)] == [False, True]


def _native_loops_of(executable: nimblehlo.Executable) -> list[native_loops.NativeLoop]:
    assert executable._static_program is not None
    implementations = [step.implementation for step in all_steps(executable._static_program.plan)]
    return [one for one in implementations if isinstance(one, native_loops.NativeLoop)]


def test_inner_loops_leave_it_to_the_outer_one_to_be_compiled() -> None:
    executable = nimblehlo.compile(INNER.format(size=40))
    outer, inner = sorted(_native_loops_of(executable), key=lambda loop: loop.background_start)
    assert outer.blocking_wait == outer.seconds_left == native_loops.blocking_wait_seconds(outer.loop)
    expected = cost_model.INNER_LOOP_WAIT_FACTOR * native_loops.blocking_wait_seconds(inner.loop)
    assert inner.blocking_wait == inner.seconds_left == expected
    assert inner.background_start > 5 * outer.background_start


def test_the_job_of_a_loop_counts_the_time_of_optimizing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_model, "MIN_QUICK_OPERATIONS", 1)
    executable = nimblehlo.compile(INNER.format(size=40))
    assert executable._static_program is not None
    loop = next(
        step.implementation
        for step in executable._static_program.plan.steps
        if isinstance(step.implementation, native_loops.NativeLoop)
    )
    jobs: list[Job] = []
    monkeypatch.setattr(native_loops.BACKGROUND, "submit", lambda job: (jobs.append(job), job)[1])
    loop.begin()
    assert [job.seconds for job in jobs] == [native_loops._compile_seconds(loop.loop)]
    assert jobs[0].seconds > loop.compile_seconds


def test_steps_before_native_code_update_the_arrays_of_a_loop() -> None:
    """An iteration by the plan takes the arrays of the one before, not copies: a run needs one array."""
    type = "tensor<64x1000xf32>"
    body = f"""%row = stablehlo.constant dense<2.0> : tensor<1x1000xf32>
      %y = stablehlo.dynamic_update_slice %x, %row, %i, %zero
        : ({type}, tensor<1x1000xf32>, tensor<i32>, tensor<i32>) -> {type}"""
    text = counted(20, body, {"x": ("x0", type)}, "%y")
    x = np.ones((64, 1000), np.float32)
    (result,) = nimblehlo.compile(text, options=Options(max_bytes=int(1.5 * x.nbytes)))(x)
    assert np.array_equal(result, np.concatenate([np.full((20, 1000), 2, np.float32), x[20:]]))
