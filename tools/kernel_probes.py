"""Finds the element types on which a kernel serves an operation, by small programs of the operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import nimblehlo
from nimblehlo import NimbleError
from nimblehlo.compiler.plan.implementations import kernels
from nimblehlo.program.ops.custom_calls.custom_call import CustomCall
from nimblehlo.program.ops.framework.declaration import Op, declarations
from nimblehlo.types import ELEMENT_TYPES

MONOIDS = ("add", "multiply", "minimum", "maximum", "and", "or", "xor")


def _function(body: str, **arguments: str) -> str:
    listed = ", ".join(f"%{name}: {type}" for name, type in arguments.items())
    return f"func.func @main({listed}) {{\n{body}\n  return\n}}"


def _monoid(name: str, element: str) -> str:
    """A region that combines two scalars."""
    scalar = f"tensor<{element}>"
    return (
        f"({{ ^bb0(%p: {scalar}, %q: {scalar}):\n"
        f"    %s = stablehlo.{name} %p, %q : {scalar}\n"
        f"    stablehlo.return %s : {scalar} }})"
    )


def _comparison(direction: str, kind: str, element: str) -> str:
    """A region that compares two scalars."""
    scalar = f"tensor<{element}>"
    return (
        f"({{ ^bb0(%p: {scalar}, %q: {scalar}):\n"
        f"    %s = stablehlo.compare {direction}, %p, %q, {kind} : ({scalar}, {scalar}) -> tensor<i1>\n"
        f"    stablehlo.return %s : tensor<i1> }})"
    )


def _comparisons(direction: str, element: str) -> Iterator[str]:
    kinds = ("TOTALORDER", "FLOAT") if element.startswith(("f", "bf")) else ("SIGNED", "UNSIGNED", "FLOAT")
    for kind in kinds:
        yield _comparison(direction, kind, element)


def _convolution(element: str) -> Iterator[str]:
    operand, kernel = f"tensor<1x64x32x{element}>", f"tensor<3x32x32x{element}>"
    yield _function(
        "  %0 = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}"
        " {feature_group_count = 1 : i64, batch_group_count = 1 : i64}"
        f" : ({operand}, {kernel}) -> tensor<1x62x32x{element}>",
        x=operand,
        y=kernel,
    )


def _dot(element: str) -> Iterator[str]:
    matrix = f"tensor<128x128x{element}>"
    yield _function(f"  %0 = stablehlo.dot %x, %y : ({matrix}, {matrix}) -> {matrix}", x=matrix, y=matrix)


def _dot_general(element: str) -> Iterator[str]:
    stack = f"tensor<8x32x32x{element}>"
    yield _function(
        "  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1]"
        f" : ({stack}, {stack}) -> {stack}",
        x=stack,
        y=stack,
    )


def _reduce(element: str) -> Iterator[str]:
    """The maximum and its position."""
    yield _function(
        f"""  %z = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.iota dim = 0 : tensor<200xi32>
  %0:2 = "stablehlo.reduce"(%x, %p, %y, %z) <{{dimensions = array<i64: 0>}}> ({{
    ^bb0(%a: tensor<{element}>, %i: tensor<i32>, %b: tensor<{element}>, %j: tensor<i32>):
      %1 = stablehlo.compare GT, %a, %b : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
      %2 = stablehlo.compare NE, %a, %a : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
      %3 = stablehlo.or %1, %2 : tensor<i1>
      %4 = stablehlo.compare EQ, %a, %b : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
      %5 = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %6 = stablehlo.and %4, %5 : tensor<i1>
      %7 = stablehlo.or %3, %6 : tensor<i1>
      %8 = stablehlo.select %3, %a, %b : tensor<i1>, tensor<{element}>
      %9 = stablehlo.select %7, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %8, %9 : tensor<{element}>, tensor<i32>
  }}) : (tensor<200x{element}>, tensor<200xi32>, tensor<{element}>, tensor<i32>)
    -> (tensor<{element}>, tensor<i32>)""",
        x=f"tensor<200x{element}>",
        y=f"tensor<{element}>",
    )


def _cholesky(element: str) -> Iterator[str]:
    matrix = f"tensor<3x3x{element}>"
    yield _function(f"  %0 = stablehlo.cholesky %x, lower = true : {matrix}", x=matrix)


def _triangular_solve(element: str) -> Iterator[str]:
    matrix = f"tensor<3x3x{element}>"
    yield _function(
        '  %0 = "stablehlo.triangular_solve"(%x, %x) <{left_side = true, lower = true, unit_diagonal = false,'
        f" transpose_a = #stablehlo<transpose NO_TRANSPOSE>}}> : ({matrix}, {matrix}) -> {matrix}",
        x=matrix,
    )


def _fft(element: str) -> Iterator[str]:
    for kind, result in (("FFT", f"20000x{element}"), ("RFFT", f"10001xcomplex<{element}>")):
        yield _function(
            f'  %0 = "stablehlo.fft"(%x) <{{fft_type = #stablehlo<fft_type {kind}>,'
            f" fft_length = array<i64: 20000>}}> : (tensor<20000x{element}>) -> tensor<{result}>",
            x=f"tensor<20000x{element}>",
        )


def _reduce_window(element: str) -> Iterator[str]:
    for monoid in MONOIDS:
        yield _function(
            '  %0 = "stablehlo.reduce_window"(%x, %y) <{window_dimensions = array<i64: 3>}>'
            f" {_monoid(monoid, element)}"
            f" : (tensor<300x{element}>, tensor<{element}>) -> tensor<298x{element}>",
            x=f"tensor<300x{element}>",
            y=f"tensor<{element}>",
        )


def _rng_bit_generator(element: str) -> Iterator[str]:
    yield _function(
        "  %0:2 = stablehlo.rng_bit_generator %x, algorithm = THREE_FRY"
        f" : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x{element}>)",
        x="tensor<2xui64>",
    )


def _scatter(element: str) -> Iterator[str]:
    overwrite = (
        f"({{ ^bb0(%p: tensor<{element}>, %q: tensor<{element}>):\n"
        f"    stablehlo.return %q : tensor<{element}> }})"
    )
    for body in (overwrite, *(_monoid(monoid, element) for monoid in MONOIDS)):
        yield _function(
            '  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<'
            "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}>"
            f" {body} : (tensor<4x{element}>, tensor<2x1xi32>, tensor<2x{element}>) -> tensor<4x{element}>",
            x=f"tensor<4x{element}>",
            i="tensor<2x1xi32>",
            u=f"tensor<2x{element}>",
        )


def _select_and_scatter(element: str) -> Iterator[str]:
    for select, monoid in product(_comparisons("GE", element), MONOIDS):
        yield _function(
            f'  %0 = "stablehlo.select_and_scatter"(%x, %u, %y) <{{window_dimensions = array<i64: 2>,'
            f" window_strides = array<i64: 2>}}> {select[:-1]}, {_monoid(monoid, element)[1:]}"
            f" : (tensor<4x{element}>, tensor<2x{element}>, tensor<{element}>) -> tensor<4x{element}>",
            x=f"tensor<4x{element}>",
            u=f"tensor<2x{element}>",
            y=f"tensor<{element}>",
        )


def _sort(element: str) -> Iterator[str]:
    for comparator in _comparisons("LT", element):
        yield _function(
            f'  %0 = "stablehlo.sort"(%x) {comparator} : (tensor<4x{element}>) -> tensor<4x{element}>',
            x=f"tensor<4x{element}>",
        )


def _top_k(element: str) -> Iterator[str]:
    yield _function(
        f"  %0:2 = chlo.top_k(%x, k = 2) : tensor<4x{element}> -> (tensor<2x{element}>, tensor<2xi32>)",
        x=f"tensor<4x{element}>",
    )


PROBES: dict[str, Callable[[str], Iterator[str]]] = {
    "stablehlo.cholesky": _cholesky,
    "stablehlo.convolution": _convolution,
    "stablehlo.dot": _dot,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.fft": _fft,
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.rng_bit_generator": _rng_bit_generator,
    "stablehlo.scatter": _scatter,
    "stablehlo.select_and_scatter": _select_and_scatter,
    "stablehlo.sort": _sort,
    "stablehlo.triangular_solve": _triangular_solve,
    "chlo.top_k": _top_k,
}
"""Programs that hold the named operation on an element type, in each of the forms that a kernel may serve."""


def is_served(name: str, text: str) -> bool:
    """Whether a kernel serves the operation `name` in a program; False where the program is rejected."""
    try:
        module = nimblehlo.load(text)
    except NimbleError:
        return False
    (operation,) = (operation for operation in module.walk() if operation.name == name)
    return not isinstance(kernels.kernel_for(Op.of(operation), None), str)


def served_element_types(name: str) -> list[str]:
    """The element types on which a kernel serves some form of the operation."""
    return [
        element for element in ELEMENT_TYPES if any(is_served(name, text) for text in PROBES[name](element))
    ]


def operations_with_kernels() -> set[str]:
    """The names of the operations for which the runtime has kernels, and which programs may name."""
    names = {declaration.name for declaration in declarations() if declaration.kernel}
    # Kernels of custom calls belong to their targets.
    return {name for name in names if not name.startswith("nimblehlo.")} - {CustomCall.name}
