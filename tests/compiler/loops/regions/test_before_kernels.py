"""Operations of known forms on many elements: the loops that run until Numba has compiled a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.loops.regions.region_code import region_loop_code
from nimblehlo.compiler.plan import choice
from nimblehlo.program.ops.framework.declaration import Op
from tests.compiler.loops.regions.test_few_elements import DTYPES, values
from tests.support.running import same_bits

Array = np.ndarray[Any, Any]


def check(text: str, name: str, inputs: list[Array], monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel serves the operation of that name, and the loop that runs before gives the bits of NumPy."""
    results = nimblehlo.execute(text, inputs, options=Options(compile="never"))
    plan = nimblehlo.compile(text, options=Options(compile="eager")).explain("plan")
    assert f"{name} " in plan and "[kernel: " in plan
    monkeypatch.setattr(choice, "kernel_for", lambda view, threads: "the test has none")
    for threads in (1, 2):
        generated = nimblehlo.compile(text, options=Options(compile="eager", threads=threads))
        assert "[generated: one loop around" in generated.explain("plan")
        for got, want in zip(generated(*inputs), results, strict=True):
            assert same_bits(np.asarray(got), np.asarray(want))


def scatter(
    operand: str, indices: str, updates: str, numbers: str, body: str, more: str = "", count: int = 1
) -> str:
    """The scatter %r of %u into %a at %i, and the results of the program."""
    element = operand.rpartition("x")[2]
    names = [f"%{name}{k}: tensor<{element}>" for name in "xy" for k in range(count)]
    combined = [
        f"%z{k} = stablehlo.{body} %x{k}, %y{k} : tensor<{element}>" for k in range(count) if body != "set"
    ]
    given = ", ".join(f"%{'y' if body == 'set' else 'z'}{k}" for k in range(count))
    operands = [*[f"%a{k}" for k in range(count)], "%i", *[f"%u{k}" for k in range(count)]]
    types = [*[f"tensor<{operand}>"] * count, f"tensor<{indices}>", *[f"tensor<{updates}>"] * count]
    results = ", ".join([f"tensor<{operand}>"] * count)
    lines = "\n".join(combined)
    return f"""{more}
      %r:{count} = "stablehlo.scatter"({", ".join(operands)}) <{{
        scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{
        ^bb0({", ".join(names)}):
          {lines}
          stablehlo.return {given} : {", ".join([f"tensor<{element}>"] * count)}
      }}) : ({", ".join(types)}) -> ({results})
      return {", ".join(f"%r#{k}" for k in range(count))} : {results}"""


ROWS = (
    "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
    "index_vector_dim = 1"
)


@pytest.mark.parametrize("type", ["f32", "bf16", "f64", "i8"])
@pytest.mark.parametrize("body", ["add", "maximum", "multiply", "set"])
def test_scatters_of_rows(type: str, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operand, updates = f"900x40x{type}", f"2500x40x{type}"
    text = f"""func.func @main(%a0: tensor<{operand}>, %i: tensor<2500x1xi32>, %u0: tensor<{updates}>)
      -> tensor<{operand}> {{ {scatter(operand, "2500x1xi32", updates, ROWS, body)} }}"""
    indices = np.random.default_rng(1).integers(-20, 920, (2500, 1)).astype(np.int32)
    inputs = [values(type, 900, 40), indices, values(type, 2500, 40, seed=2)]
    check(text, "stablehlo.scatter", inputs, monkeypatch)


def test_scatters_of_several_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    operand, updates = "900x40xf32", "2500x40xf32"
    arguments = [f"%a{k}: tensor<{operand}>" for k in range(2)] + ["%i: tensor<2500x1xi32>"]
    arguments += [f"%u{k}: tensor<{updates}>" for k in range(2)]
    text = f"""func.func @main({", ".join(arguments)}) -> (tensor<{operand}>, tensor<{operand}>) {{
      {scatter(operand, "2500x1xi32", updates, ROWS, "set", count=2)} }}"""
    indices = np.random.default_rng(1).integers(-20, 920, (2500, 1)).astype(np.int32)
    arrays = [values("f32", *shape, seed=k) for k, shape in enumerate([(900, 40)] * 2 + [(2500, 40)] * 2)]
    check(text, "stablehlo.scatter", [*arrays[:2], indices, *arrays[2:]], monkeypatch)


# The shapes of the input, of the updates and of a component of the indices, and the dimension numbers.
COMPONENTS = {
    "elements": (
        "300x200",
        "6000",
        "6000",
        "inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1]",
    ),
    "rows": (
        "60x30x50",
        "2000x50",
        "2000",
        "update_window_dims = [1], inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0]",
    ),
    "windows": (
        "90x500",
        "700x2x3",
        "700",
        "update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0, 1]",
    ),
    "batches": (
        "20x40x90",
        "20x70",
        "20x70",
        "inserted_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], "
        "scatter_dims_to_operand_dims = [1, 2]",
    ),
}


def sizes(shape: str) -> tuple[int, ...]:
    return tuple(map(int, shape.split("x")))


@pytest.mark.parametrize("case", COMPONENTS)
@pytest.mark.parametrize("index", ["i32", "ui32", "i16"])
@pytest.mark.parametrize("body", ["add", "set"])
def test_scatters_of_components(case: str, index: str, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Index vectors whose components are wrapped and concatenated, as JAX indexes with several arrays."""
    shape, updates, batch, numbers = COMPONENTS[case]
    vector, column, logical = f"tensor<{batch}x{index}>", f"tensor<{batch}x1x{index}>", f"tensor<{batch}xi1>"
    order = {"rows": (1, 0), "batches": (1, 2)}.get(case, (0, 1))
    rank = len(sizes(batch))
    lines = []
    for k, d in enumerate(order):
        extent = sizes(shape)[d]
        wrapped = f"""%zero{k} = stablehlo.constant dense<0> : {vector}
          %size{k} = stablehlo.constant dense<{extent}> : {vector}
          %negative{k} = stablehlo.compare LT, %c{k}, %zero{k} : ({vector}, {vector}) -> {logical}
          %sum{k} = stablehlo.add %c{k}, %size{k} : {vector}
          %w{k} = stablehlo.select %negative{k}, %sum{k}, %c{k} : {logical}, {vector}"""
        lines += [wrapped, f"%v{k} = stablehlo.reshape %w{k} : ({vector}) -> {column}"]
    pairs = f"{batch}x2x{index}"
    lines.append(
        f"%i = stablehlo.concatenate %v0, %v1, dim = {rank} : ({column}, {column}) -> tensor<{pairs}>"
    )
    operand, updated = f"{shape}xf32", f"{updates}xf32"
    operation = scatter(
        operand, pairs, updated, f"{numbers}, index_vector_dim = {rank}", body, more="\n".join(lines)
    )
    text = f"""func.func @main(%a0: tensor<{operand}>, %c0: {vector}, %c1: {vector}, %u0: tensor<{updated}>)
      -> tensor<{operand}> {{ {operation} }}"""
    generator, dtype = np.random.default_rng(3), {"i32": np.int32, "ui32": np.uint32, "i16": np.int16}[index]
    columns = []
    for d in order:
        extent = sizes(shape)[d]
        column_values = generator.integers(0 if index == "ui32" else -extent - 2, extent + 2, sizes(batch))
        columns.append(column_values.astype(dtype))
    inputs = [values("f32", *sizes(shape)), *columns, values("f32", *sizes(updates), seed=4)]
    check(text, "nimblehlo.component_scatter", inputs, monkeypatch)


@pytest.mark.parametrize("type", ["f32", "bf16", "i32"])
@pytest.mark.parametrize(("rows", "length"), [(200, 300), (3, 20000)])
def test_positions_of_extremes(type: str, rows: int, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sign = "SIGNED" if type == "i32" else "FLOAT"
    text = f"""func.func @main(%a: tensor<{rows}x{length}x{type}>, %m: tensor<{type}>)
      -> (tensor<{rows}x{type}>, tensor<{rows}xi32>) {{
      %i = stablehlo.iota dim = 1 : tensor<{rows}x{length}xi32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.reduce(%a init: %m), (%i init: %z) across dimensions = [1]
        : (tensor<{rows}x{length}x{type}>, tensor<{rows}x{length}xi32>, tensor<{type}>, tensor<i32>)
        -> (tensor<{rows}x{type}>, tensor<{rows}xi32>)
        reducer(%x: tensor<{type}>, %y: tensor<{type}>) (%p: tensor<i32>, %q: tensor<i32>) {{
          %g = stablehlo.compare GT, %x, %y, {sign} : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
          %n = stablehlo.compare NE, %x, %x, {sign} : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
          %o = stablehlo.or %g, %n : tensor<i1>
          %e = stablehlo.compare EQ, %x, %y, {sign} : (tensor<{type}>, tensor<{type}>) -> tensor<i1>
          %l = stablehlo.compare LT, %p, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %b = stablehlo.and %e, %l : tensor<i1>
          %s = stablehlo.or %o, %b : tensor<i1>
          %v = stablehlo.select %o, %x, %y : tensor<i1>, tensor<{type}>
          %w = stablehlo.select %s, %p, %q : tensor<i1>, tensor<i32>
          stablehlo.return %v, %w : tensor<{type}>, tensor<i32>
        }}
      return %r#0, %r#1 : tensor<{rows}x{type}>, tensor<{rows}xi32> }}"""
    lowest = np.array(np.iinfo(np.int32).min if type == "i32" else -np.inf).astype(DTYPES[type])
    check(text, "nimblehlo.arg_reduce", [values(type, rows, length), lowest], monkeypatch)


# Sums of narrow floats accumulate in f32, which no generated loop does.
@pytest.mark.parametrize(
    ("type", "body"), [("f32", "add"), ("f32", "maximum"), ("bf16", "maximum"), ("i32", "add")]
)
@pytest.mark.parametrize(
    ("shape", "windows", "strides", "padding", "result"),
    [
        ("8x40x40x16", "1, 3, 3, 1", "1, 2, 2, 1", "[[0, 0], [1, 0], [0, 1], [0, 0]]", "8x20x20x16"),
        ("8x40x40x16", "1, 2, 2, 1", "1, 2, 2, 1", "0", "8x20x20x16"),
        ("100x700", "1, 700", "1, 1", "[[0, 0], [699, 0]]", "100x700"),
    ],
)
def test_windows(
    type: str, body: str, shape: str, windows: str, strides: str, padding: str, result: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    rank = shape.count("x") + 1
    text = f"""func.func @main(%a: tensor<{shape}x{type}>, %z: tensor<{type}>) -> tensor<{result}x{type}> {{
      %r = "stablehlo.reduce_window"(%a, %z) <{{window_dimensions = array<i64: {windows}>,
        window_strides = array<i64: {strides}>, padding = dense<{padding}> : tensor<{rank}x2xi64>}}> ({{
        ^bb0(%x: tensor<{type}>, %y: tensor<{type}>):
          %s = stablehlo.{body} %x, %y : tensor<{type}>
          stablehlo.return %s : tensor<{type}>
      }}) : (tensor<{shape}x{type}>, tensor<{type}>) -> tensor<{result}x{type}>
      return %r : tensor<{result}x{type}> }}"""
    (operation,) = nimblehlo.load(text).functions["main"].body.block.operations[:-1]
    code = region_loop_code(Op.of(operation), None, has_kernel=True, precedes_kernel=True)
    assert not isinstance(code, str)
    # That of a scan is optimized for longer (_SCAN_COMPILE_SECONDS).
    assert (code.cost().compile_seconds > 0.1) == (rank == 2)
    inputs = [values(type, *sizes(shape)), np.zeros((), DTYPES[type])]
    check(text, "stablehlo.reduce_window", inputs, monkeypatch)


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_selected_windows(type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operand, source, scalar = f"tensor<8x40x40x16x{type}>", f"tensor<8x20x20x16x{type}>", f"tensor<{type}>"
    text = f"""func.func @main(%a: {operand}, %b: {source}, %z: {scalar}) -> {operand} {{
      %r = "stablehlo.select_and_scatter"(%a, %b, %z) <{{window_dimensions = array<i64: 1, 3, 3, 1>,
        window_strides = array<i64: 1, 2, 2, 1>,
        padding = dense<[[0, 0], [1, 0], [0, 1], [0, 0]]> : tensor<4x2xi64>}}> ({{
        ^bb0(%x: {scalar}, %y: {scalar}):
          %s = stablehlo.compare GE, %x, %y, FLOAT : ({scalar}, {scalar}) -> tensor<i1>
          stablehlo.return %s : tensor<i1>
      }}, {{
        ^bb0(%x: {scalar}, %y: {scalar}):
          %s = stablehlo.add %x, %y : {scalar}
          stablehlo.return %s : {scalar}
      }}) : ({operand}, {source}, {scalar}) -> {operand}
      return %r : {operand} }}"""
    inputs = [values(type, 8, 40, 40, 16), values(type, 8, 20, 20, 16, seed=1), np.zeros((), DTYPES[type])]
    check(text, "stablehlo.select_and_scatter", inputs, monkeypatch)


def test_loops_before_kernels_follow_numpy() -> None:
    """No first call waits for them. NumPy takes less time than code without vectors, so they are optimized at
    once; other loops replace what calls the region."""
    operand, updates = "900x40xf32", "2500x40xf32"
    text = f"""func.func @main(%a0: tensor<{operand}>, %i: tensor<2500x1xi32>, %u0: tensor<{updates}>)
      -> tensor<{operand}> {{ {scatter(operand, "2500x1xi32", updates, ROWS, "add")} }}"""
    function = nimblehlo.load(text).functions["main"]
    assert function.body is not None
    view = Op.of(function.body.block.operations[0])
    assert region_loop_code(view, None, has_kernel=True) == ""
    before = region_loop_code(view, None, has_kernel=True, precedes_kernel=True)
    alone = region_loop_code(view, None, has_kernel=False)
    assert not isinstance(before, str) and not isinstance(alone, str)
    assert not before.has_quick_code and alone.has_quick_code
    assert before.cost().baseline_seconds == 0.0 < alone.cost().baseline_seconds
