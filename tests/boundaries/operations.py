"""Programs of one operation of chosen sizes, element types and operands' layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nimblehlo.types import ELEMENT_TYPES, FLOAT

from .products import Setting, differs, laid_out, tensor, values, viewed

Array = np.ndarray[Any, Any]


class Case(NamedTuple):
    """A program and its inputs.

    Attributes:
        name: the operation and its sizes.
        differs: why a result is not right by another computation, None if it is; None if there is none.
    """

    name: str
    text: str
    inputs: list[Array]
    differs: Callable[[Array], str | None] | None = None


class _Program:
    """Collects arguments and statements."""

    def __init__(self, layout: str, seed: int = 0) -> None:
        self.layout, self.random = layout, np.random.default_rng(seed)
        self.arguments: list[str] = []
        self.inputs: list[Array] = []
        self.lines: list[str] = []
        self.arrays: list[Array] = []

    def given(self, type: str, array: Array) -> str:
        """An argument as it is."""
        name = f"%a{len(self.inputs)}"
        self.arguments.append(f"{name}: {tensor(array.shape, type)}")
        self.inputs.append(array)
        return name

    def operand(self, type: str, shape: Sequence[int]) -> str:
        """An operand of random numbers, in the program's layout where it has enough dimensions."""
        layout = "plain" if len(shape) < 2 and self.layout in ("transposed", "broadcast") else self.layout
        source, operation = laid_out(layout, shape)
        name = self.given(type, values(self.random, type, source))
        self.arrays.append(viewed(layout, self.inputs[-1], shape))
        if not operation:
            return name
        operation = operation.replace("%X", name).replace("FROM", tensor(source, type))
        return self.line(operation.replace("TYPE", tensor(shape, type)))

    def line(self, text: str) -> str:
        """A statement's result."""
        self.lines.append(f"%v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def case(self, name: str, result: str, type: str) -> Case:
        """The whole program."""
        body = "\n  ".join([*self.lines, f"return {result} : {type}"])
        text = f"func.func @main({', '.join(self.arguments)}) -> {type} {{\n  {body}\n}}\n"
        return Case(name, text, self.inputs)


def _zero(type: str) -> str:
    category = ELEMENT_TYPES[type].category
    if type.startswith("complex"):
        return "(0.0, 0.0)"
    return "0.0" if category == FLOAT else "false" if type == "i1" else "0"


Builder = Callable[..., Case]


def dot(type: str, layout: str, batch: int, rows: int, terms: int, columns: int, *, result: str = "") -> Case:
    """A product of stacks of matrices."""
    program = _Program(layout)
    lhs, rhs = (program.operand(type, shape) for shape in ((batch, rows, terms), (batch, terms, columns)))
    types = [tensor(shape, type) for shape in ((batch, rows, terms), (batch, terms, columns))]
    to = tensor((batch, rows, columns), result or type)
    made = program.line(
        f"stablehlo.dot_general {lhs}, {rhs}, batching_dims = [0] x [0], contracting_dims = [2] x [1] "
        f": ({', '.join(types)}) -> {to}"
    )
    setting = Setting(type, result or type, 1, 0, batch, (layout, layout))
    case = program.case(f"dot {batch} x {rows} x {terms} x {columns} {type}", made, to)
    return case._replace(differs=lambda got: differs(setting, *program.arrays, got))


def minimize(type: str, layout: str, shape: Sequence[int], dims: Sequence[int], body: str = "add") -> Case:
    """A reduction by a known function."""
    program = _Program(layout)
    operand = program.operand(type, shape)
    scalar = tensor((), type)
    zero = program.line(f"stablehlo.constant dense<{_zero(type)}> : {scalar}")
    to = tensor([size for d, size in enumerate(shape) if d not in dims], type)
    made = program.line(
        f"stablehlo.reduce({operand} init: {zero}) applies stablehlo.{body} across dimensions = {list(dims)} "
        f": ({tensor(shape, type)}, {scalar}) -> {to}"
    )
    return program.case(f"reduce {body} {list(shape)} over {list(dims)} {type}", made, to)


def argmax(type: str, layout: str, shape: Sequence[int], dim: int) -> Case:
    """The largest value's index, as JAX lowers it."""
    program = _Program(layout)
    operand = program.operand(type, shape)
    given, index, scalar = tensor(shape, type), tensor(shape, "i32"), tensor((), type)
    numbers = program.line(f"stablehlo.iota dim = {dim} : {index}")
    zero = program.line(f"stablehlo.constant dense<{_zero(type)}> : {scalar}")
    start = program.line("stablehlo.constant dense<0> : tensor<i32>")
    rest = [size for d, size in enumerate(shape) if d != dim]
    results = f"({tensor(rest, type)}, {tensor(rest, 'i32')})"
    program.lines.append(
        f"%r:2 = stablehlo.reduce({operand} init: {zero}), ({numbers} init: {start}) "
        f"across dimensions = [{dim}] "
        f": ({given}, {index}, {scalar}, tensor<i32>) -> {results}\n"
        f"  reducer(%x: {scalar}, %y: {scalar}) (%i: tensor<i32>, %j: tensor<i32>) {{\n"
        f"    %gt = stablehlo.compare GT, %x, %y : ({scalar}, {scalar}) -> tensor<i1>\n"
        f"    %ne = stablehlo.compare NE, %x, %x : ({scalar}, {scalar}) -> tensor<i1>\n"
        f"    %or = stablehlo.or %gt, %ne : tensor<i1>\n"
        f"    %eq = stablehlo.compare EQ, %x, %y : ({scalar}, {scalar}) -> tensor<i1>\n"
        f"    %lt = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        f"    %tie = stablehlo.and %eq, %lt : tensor<i1>\n"
        f"    %first = stablehlo.or %or, %tie : tensor<i1>\n"
        f"    %value = stablehlo.select %or, %x, %y : tensor<i1>, {scalar}\n"
        f"    %place = stablehlo.select %first, %i, %j : tensor<i1>, tensor<i32>\n"
        f"    stablehlo.return %value, %place : {scalar}, tensor<i32>\n  }}"
    )
    case = program.case(f"argmax {list(shape)} along {dim} {type}", "%r#0, %r#1", results[1:-1])
    return case._replace(text=case.text.replace(f"-> {results[1:-1]} {{", f"-> {results} {{"))


def cumulative(type: str, layout: str, shape: Sequence[int], dim: int, reverse: bool = False) -> Case:
    """A cumulative sum, as JAX lowers it."""
    program = _Program(layout)
    operand, given, scalar = program.operand(type, shape), tensor(shape, type), tensor((), type)
    zero = program.line(f"stablehlo.constant dense<{_zero(type)}> : {scalar}")
    window = [shape[dim] if d == dim else 1 for d in range(len(shape))]
    before, after = ("0", str(shape[dim] - 1)) if reverse else (str(shape[dim] - 1), "0")
    padding = [f"[{before}, {after}]" if d == dim else "[0, 0]" for d in range(len(shape))]
    made = program.line(
        f'"stablehlo.reduce_window"({operand}, {zero}) ({{\n  ^bb0(%x: {scalar}, %y: {scalar}):\n'
        f"    %s = stablehlo.add %x, %y : {scalar}\n    stablehlo.return %s : {scalar}\n  }}) "
        f"{{window_dimensions = array<i64: {', '.join(map(str, window))}>, "
        f"padding = dense<[{', '.join(padding)}]> : tensor<{len(shape)}x2xi64>}} "
        f": ({given}, {scalar}) -> {given}"
    )
    return program.case(f"cumulative sum {list(shape)} along {dim} {type}", made, given)


def window(
    type: str,
    layout: str,
    shape: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    body: str = "maximum",
) -> Case:
    """A reduction of windows."""
    program = _Program(layout)
    operand, scalar = program.operand(type, shape), tensor((), type)
    zero = program.line(f"stablehlo.constant dense<{_zero(type)}> : {scalar}")
    to = tensor([(n - w) // s + 1 for n, w, s in zip(shape, sizes, strides, strict=True)], type)
    made = program.line(
        f'"stablehlo.reduce_window"({operand}, {zero}) ({{\n  ^bb0(%x: {scalar}, %y: {scalar}):\n'
        f"    %s = stablehlo.{body} %x, %y : {scalar}\n    stablehlo.return %s : {scalar}\n  }}) "
        f"{{window_dimensions = array<i64: {', '.join(map(str, sizes))}>, "
        f"window_strides = array<i64: {', '.join(map(str, strides))}>}} "
        f": ({tensor(shape, type)}, {scalar}) -> {to}"
    )
    return program.case(f"windows {list(sizes)} by {list(strides)} of {list(shape)} {type}", made, to)


def select_and_scatter(
    type: str, layout: str, shape: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
) -> Case:
    """The gradient of pooling."""
    program = _Program(layout)
    operand, scalar, given = program.operand(type, shape), tensor((), type), tensor(shape, type)
    counts = [(n - w) // s + 1 for n, w, s in zip(shape, sizes, strides, strict=True)]
    source = program.operand(type, counts)
    zero = program.line(f"stablehlo.constant dense<{_zero(type)}> : {scalar}")
    made = program.line(
        f'"stablehlo.select_and_scatter"({operand}, {source}, {zero}) ({{\n'
        f"  ^bb0(%x: {scalar}, %y: {scalar}):\n"
        f"    %s = stablehlo.compare GE, %x, %y : ({scalar}, {scalar}) -> tensor<i1>\n"
        f"    stablehlo.return %s : tensor<i1>\n  }}, {{\n  ^bb0(%x: {scalar}, %y: {scalar}):\n"
        f"    %s = stablehlo.add %x, %y : {scalar}\n    stablehlo.return %s : {scalar}\n  }}) "
        f"{{window_dimensions = array<i64: {', '.join(map(str, sizes))}>, "
        f"window_strides = array<i64: {', '.join(map(str, strides))}>}} "
        f": ({given}, {tensor(counts, type)}, {scalar}) -> {given}"
    )
    return program.case(
        f"select_and_scatter {list(sizes)} by {list(strides)} of {list(shape)} {type}", made, given
    )


def gather(type: str, layout: str, rows: int, width: int, count: int) -> Case:
    """Rows by their numbers, some of them out of range."""
    program = _Program(layout)
    operand = program.operand(type, (rows, width))
    index = program.given("i32", program.random.integers(-2, rows + 2, (count, 1)).astype(np.int32))
    to = tensor((count, width), type)
    made = program.line(
        f'"stablehlo.gather"({operand}, {index}) {{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
        f"slice_sizes = array<i64: 1, {width}>}} "
        f": ({tensor((rows, width), type)}, {tensor((count, 1), 'i32')}) -> {to}"
    )
    return program.case(f"gather {count} of {rows} rows of {width} {type}", made, to)


def scatter(
    type: str, layout: str, rows: int, width: int, count: int, body: str = "add", unique: bool = False
) -> Case:
    """Updates of rows by their numbers, some of them out of range, many of them the same."""
    program = _Program(layout)
    operand = program.operand(type, (rows, width))
    numbers = program.random.permutation(max(rows, count))[:count] if unique else program.random.integers(
        -2, rows + 2, count)  # fmt: skip
    index = program.given("i32", numbers.reshape(count, 1).astype(np.int32))
    updates, scalar = program.operand(type, (count, width)), tensor((), type)
    given = tensor((rows, width), type)
    made = program.line(
        f'"stablehlo.scatter"({operand}, {index}, {updates}) ({{\n  ^bb0(%x: {scalar}, %y: {scalar}):\n'
        + (f"    %s = stablehlo.{body} %x, %y : {scalar}\n" if body else "")
        + f"    stablehlo.return {'%s' if body else '%y'} : {scalar}\n  }}) "
        "{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
        "inserted_window_dims = [0], "
        f"scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, "
        f"unique_indices = {str(unique).lower()}}} "
        f": ({given}, {tensor((count, 1), 'i32')}, {tensor((count, width), type)}) -> {given}"
    )
    return program.case(f"scatter {body or 'set'} {count} to {rows} rows of {width} {type}", made, given)


def sort(
    type: str, layout: str, shape: Sequence[int], dim: int, direction: str = "LT", stable: bool = True
) -> Case:
    """One array sorted."""
    program = _Program(layout)
    operand, given, scalar = program.operand(type, shape), tensor(shape, type), tensor((), type)
    made = program.line(
        f'"stablehlo.sort"({operand}) ({{\n  ^bb0(%x: {scalar}, %y: {scalar}):\n'
        f"    %s = stablehlo.compare {direction}, %x, %y : ({scalar}, {scalar}) -> tensor<i1>\n"
        f"    stablehlo.return %s : tensor<i1>\n  }}) "
        f"{{dimension = {dim} : i64, is_stable = {str(stable).lower()}}} : ({given}) -> {given}"
    )
    return program.case(f"sort {list(shape)} along {dim} {type}", made, given)


def top_k(type: str, layout: str, shape: Sequence[int], k: int) -> Case:
    """The largest values and their indices."""
    program = _Program(layout)
    operand, first = program.operand(type, shape), tensor((*shape[:-1], k), type)
    second = tensor((*shape[:-1], k), "i32")
    program.lines.append(
        f"%r:2 = chlo.top_k({operand}, k = {k}) : {tensor(shape, type)} -> ({first}, {second})"
    )
    case = program.case(f"top {k} of {list(shape)} {type}", "%r#0, %r#1", f"{first}, {second}")
    return case._replace(text=case.text.replace(f"-> {first}, {second} {{", f"-> ({first}, {second}) {{"))


def transpose(type: str, layout: str, shape: Sequence[int], order: Sequence[int]) -> Case:
    """An array in another order, beside its sum with itself, so that it is written."""
    program = _Program(layout)
    operand, to = program.operand(type, shape), tensor([shape[d] for d in order], type)
    made = program.line(
        f"stablehlo.transpose {operand}, dims = {list(order)} : ({tensor(shape, type)}) -> {to}"
    )
    return program.case(f"transpose {list(shape)} as {list(order)} {type}", made, to)


def concatenate(type: str, layout: str, shapes: Sequence[Sequence[int]], dim: int) -> Case:
    """Arrays side by side."""
    program = _Program(layout)
    operands = [program.operand(type, shape) for shape in shapes]
    whole = list(shapes[0])
    whole[dim] = sum(shape[dim] for shape in shapes)
    types, to = ", ".join(tensor(shape, type) for shape in shapes), tensor(whole, type)
    made = program.line(f"stablehlo.concatenate {', '.join(operands)}, dim = {dim} : ({types}) -> {to}")
    return program.case(f"concatenate {list(map(list, shapes))} along {dim} {type}", made, to)


def elementwise(type: str, layout: str, shape: Sequence[int], names: Sequence[str]) -> Case:
    """A chain of functions of one operand."""
    program = _Program(layout)
    made, given = program.operand(type, shape), tensor(shape, type)
    for name in names:
        made = program.line(f"stablehlo.{name} {made}{f', {made}' if name in BINARY else ''} : {given}")
    return program.case(f"{' of '.join(reversed(names))} {list(shape)} {type}", made, given)


BINARY = frozenset({"add", "multiply", "maximum", "minimum", "subtract"})


def convolution(
    type: str, layout: str, batch: int, size: int, features: int, window: int, outputs: int, groups: int = 1
) -> Case:
    """A convolution along one dimension, features last."""
    program = _Program(layout)
    lhs_shape, rhs_shape = (batch, size, features), (window, features // groups, outputs)
    lhs, rhs = program.operand(type, lhs_shape), program.operand(type, rhs_shape)
    to = tensor((batch, size - window + 1, outputs), type)
    made = program.line(
        f"stablehlo.convolution({lhs}, {rhs}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {{}} "
        f"{{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} "
        f": ({tensor(lhs_shape, type)}, {tensor(rhs_shape, type)}) -> {to}"
    )
    case = program.case(f"convolution {lhs_shape} with {rhs_shape} in {groups} groups {type}", made, to)
    return case._replace(differs=lambda got: _convolution_differs(type, groups, *program.arrays, got))


def _convolution_differs(type: str, groups: int, lhs: Array, rhs: Array, got: Array) -> str | None:
    """Compare with products of windows."""
    window, features, outputs = rhs.shape
    windows = np.lib.stride_tricks.sliding_window_view(lhs, window, 1).swapaxes(-1, -2)
    setting = Setting(type, type, 1, 0, None, ("plain", "plain"))
    for group in range(groups):
        taken = windows[..., group * features : (group + 1) * features].reshape(-1, window * features)
        some = slice(group * outputs // groups, (group + 1) * outputs // groups)
        factors = rhs[..., some].reshape(window * features, -1)
        reason = differs(setting, taken, factors, got[..., some].reshape(len(taken), -1))
        if reason is not None:
            return f"group {group}: {reason}"
    return None


def fft(type: str, layout: str, shape: Sequence[int], kind: str = "FFT") -> Case:
    """A Fourier transform along the last dimension; `type` is that of the real numbers."""
    program = _Program(layout)
    complex_type, half = f"complex<{type}>", (*shape[:-1], shape[-1] // 2 + 1)
    source = (tensor(shape, type), type, shape) if kind == "RFFT" else (
        (tensor(half, complex_type), complex_type, half) if kind == "IRFFT"
        else (tensor(shape, complex_type), complex_type, shape))  # fmt: skip
    to = (
        tensor(half, complex_type)
        if kind == "RFFT"
        else tensor(shape, type if kind == "IRFFT" else complex_type)
    )
    operand = program.operand(source[1], source[2])
    made = program.line(
        f"stablehlo.fft {operand}, type = {kind}, length = [{shape[-1]}] : ({source[0]}) -> {to}"
    )
    case = program.case(f"{kind} {list(shape)} {type}", made, to)
    return case._replace(differs=lambda got: _transform_differs(kind, shape[-1], program.arrays[0], got))


def _transform_differs(kind: str, length: int, operand: Array, got: Array) -> str | None:
    """Compare with NumPy's transforms in f64."""
    if kind == "IRFFT":
        wanted = np.fft.irfft(operand.astype(np.complex128), length)
    else:
        wanted = (np.fft.rfft if kind == "RFFT" else np.fft.fft)(
            operand.astype(np.complex128 if kind == "FFT" else float)
        )
    bound = (
        8 * np.finfo(got.dtype).eps * (1 + np.log2(length)) * max(1.0, float(np.abs(wanted).max(initial=0)))
    )
    error = float(np.abs(got - wanted).max(initial=0))
    return None if error <= bound else f"differs by {error}, more than {bound}"
