"""Tensors that no memory can hold end in an ExecutionError, however they come about."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options, ParseError, api
from nimblehlo.execution.memory import release_idle
from nimblehlo.execution.program import Program
from nimblehlo.kernels.launch import free_memory
from nimblehlo.kernels.launch.control_groups import MemoryLimit
from nimblehlo.kernels.launch.free_memory import MIN_CHECKED_BYTES
from nimblehlo.program import loading
from nimblehlo.program.ir import Function
from nimblehlo.program.ops.framework.memory_limit import MAX_ELEMENTS, is_addressable
from nimblehlo.types import TensorType, element_type

BODIES = {
    "broadcast_in_dim": "%c = stablehlo.constant dense<1.0> : tensor<f32>\n"
    "%r = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> TYPE",
    "iota": "%r = stablehlo.iota dim = 0 : TYPE",
    "dynamic_iota": "%s = stablehlo.constant dense<SIZES> : tensor<RANKxi64>\n"
    "%r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<RANKxi64>) -> TYPE",
    "argument": "%r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<RANKxi64>) -> DYNAMIC",
}
SHAPES = [(0, 2**62), (0, 2**63 - 1, 16), (2**62,), (2**61, 16), (2**63 - 1, 2**63 - 1), (MAX_ELEMENTS + 1,)]


@pytest.mark.parametrize("mode", ["never", "auto", "eager"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("body", BODIES)
def test_tensors_that_no_address_reaches_are_refused(body: str, shape: tuple[int, ...], mode: str) -> None:
    rank = str(len(shape))
    type = "?x" * len(shape) + "f32" if body == "argument" else "x".join(map(str, shape)) + "xf32"
    argument = f"%s: tensor<{rank}xi64>" if body == "argument" else ""
    text = f"func.func @main({argument}) -> tensor<{type}> {{ {BODIES[body]} return %r : tensor<{type}> }}"
    text = text.replace("TYPE", f"tensor<{type}>").replace("DYNAMIC", f"tensor<{type}>")
    text = text.replace("SIZES", str(list(shape))).replace("RANK", rank)
    inputs = [list(shape)] if body == "argument" else []
    with pytest.raises(ExecutionError, match="has more elements than can be addressed"):
        nimblehlo.execute(text, inputs, options=Options(compile=mode))  # type: ignore[arg-type]


def test_constants_that_no_address_reaches_are_refused() -> None:
    text = "func.func @main() { %c = stablehlo.constant dense<1> : tensor<0x4611686018427387904xi8> return }"
    with pytest.raises(ParseError, match="has more elements than can be addressed"):
        nimblehlo.load(text)


def test_sizes_of_zero_do_not_hide_others() -> None:
    kind = element_type("i8")
    assert is_addressable(TensorType((MAX_ELEMENTS,), kind))
    assert is_addressable(TensorType((0, MAX_ELEMENTS), kind))
    assert not is_addressable(TensorType((MAX_ELEMENTS + 1,), kind))
    assert not is_addressable(TensorType((0, MAX_ELEMENTS, 2), kind))


MODES = ["never", "auto", "eager"]

SORTED = """
func.func @main(%a: tensor<SIZExf32>) -> tensor<SIZExf32> {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<SIZExf32>
  %1 = stablehlo.add %0, %a : tensor<SIZExf32>
  return %1 : tensor<SIZExf32>
}
"""

IOTA = """
func.func @main(%s: tensor<1xi64>) -> tensor<?xi8> {
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<?xi8>
  return %0 : tensor<?xi8>
}
"""


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Sets what is left of the memory."""
    release_idle()
    found: list[MemoryLimit] = []
    monkeypatch.setattr(free_memory, "limits", lambda: found)
    yield lambda size: found.append(MemoryLimit(size, 1 << 30, "the control group /a"))
    release_idle()


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_needs_more_than_is_left_does_not_begin(mode: str, left: Callable[[int], None]) -> None:
    size = MIN_CHECKED_BYTES // 4
    operand = np.ones(size, np.float32)
    executable = nimblehlo.compile(SORTED.replace("SIZE", str(size)), options=Options(compile=mode))  # type: ignore[arg-type]
    assert executable(operand)[0][0] == 2
    release_idle()
    left(MIN_CHECKED_BYTES // 2)
    reason = f"a call takes {MIN_CHECKED_BYTES} bytes, but the control group /a has only "
    with pytest.raises(
        ExecutionError, match=reason + rf"{MIN_CHECKED_BYTES // 2} of its {1 << 30} bytes of memory left"
    ):
        executable(operand)


def test_a_call_may_use_the_memory_that_the_last_one_left(left: Callable[[int], None]) -> None:
    size = MIN_CHECKED_BYTES // 4
    operand = np.ones(size, np.float32)
    executable = nimblehlo.compile(SORTED.replace("SIZE", str(size)))
    executable(operand)
    left(0)
    result = executable(operand)
    with pytest.raises(ExecutionError, match="only 0 of its"):
        executable(operand)
    del result


def test_small_calls_do_not_ask_what_is_left(left: Callable[[int], None]) -> None:
    size = MIN_CHECKED_BYTES // 4 - 1
    left(0)
    (result,) = nimblehlo.execute(SORTED.replace("SIZE", str(size)), [np.ones(size, np.float32)])
    assert result[0] == 2


@pytest.mark.parametrize("mode", MODES)
def test_sizes_that_depend_on_data_are_compared_with_what_is_left(
    mode: str, left: Callable[[int], None]
) -> None:
    executable = nimblehlo.compile(IOTA, options=Options(compile=mode))  # type: ignore[arg-type]
    # The reference counts in 64 bits.
    size = MIN_CHECKED_BYTES
    left(8 * size)
    assert executable([size])[0].size == size
    release_idle()
    with pytest.raises(ExecutionError, match=r"dynamic_iota: not enough memory: Unable to allocate 512\."):
        executable([size + 1])
    with pytest.raises(
        ExecutionError, match=r"dynamic_iota: .*takes? 536870913 bytes, but the control group /a"
    ):
        executable([8 * size + 1])


ORDER = """
func.func @main(%a: tensor<SIZExf32>) -> tensor<SIZExf32> {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }) : (tensor<SIZExf32>) -> tensor<SIZExf32>
  return %0 : tensor<SIZExf32>
}
"""


def test_temporary_arrays_are_compared_with_what_is_left(left: Callable[[int], None]) -> None:
    """The order of the elements takes twice the memory of the result, and no value of the program has it."""
    size = MIN_CHECKED_BYTES // 4
    executable = nimblehlo.compile(ORDER.replace("SIZE", str(size)), options=Options(compile="never"))
    left(MIN_CHECKED_BYTES)
    reason = r"stablehlo\.sort: not enough memory: Unable to allocate 128\. MiB"
    with pytest.raises(ExecutionError, match=reason):
        executable(np.zeros(size, np.float32))


PADDED = """
func.func @main(%a: tensor<4xf32>, %z: tensor<f32>) -> tensor<2xf32> {
  %0 = "stablehlo.reduce_window"(%a, %z) <{
      window_dimensions = array<i64: 16777216>, padding = dense<[[0, 16777213]]> : tensor<1x2xi64>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""


def test_windows_in_the_padding_are_compared_with_what_is_left(left: Callable[[int], None]) -> None:
    """All values of the program take less than a page."""
    options = Options(compile="never", reduction_tree="balanced")
    executable = nimblehlo.compile(PADDED, options=options)
    left(MIN_CHECKED_BYTES)
    with pytest.raises(ExecutionError, match=r"stablehlo\.reduce_window: not enough memory: Unable to alloc"):
        executable(np.zeros(4, np.float32), np.float32(0))


def test_what_a_compilation_takes_is_compared_with_what_is_left(
    left: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    left(MIN_CHECKED_BYTES)
    lowered = api.Executable._lowered
    taken: list[int] = []

    def prepare(executable: api.Executable, function: Function) -> Program:
        taken.append(np.zeros(MIN_CHECKED_BYTES + 1, np.uint8).size)
        return lowered(executable, function)

    monkeypatch.setattr(api.Executable, "_lowered", prepare)
    with pytest.raises(ExecutionError, match=r"@main cannot be compiled: Unable to allocate 64\.0 MiB"):
        nimblehlo.compile(SORTED.replace("SIZE", "4"))
    assert not taken


@pytest.mark.parametrize("function", ["load_ir", "verify_module"])
def test_a_module_for_which_there_is_no_memory(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(loading, function, fail)
    with pytest.raises(ExecutionError, match="the module cannot be loaded: not enough memory"):
        nimblehlo.load(SORTED.replace("SIZE", "4"))
