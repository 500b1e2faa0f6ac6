"""The inner loops of NumPy's ufuncs: `nimblehlo.kernels.launch.ufunc_loops`."""

import numpy as np
import pytest

import nimblehlo
from nimblehlo.kernels.launch import ufunc_loops

F32, F64, BOOL = (np.dtype(name) for name in ("float32", "float64", "bool"))

PROGRAM = """
func.func @main(%x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %0 = stablehlo.add %x, %y : tensor<5xf32>
  %1 = stablehlo.multiply %0, %y : tensor<5xf32>
  return %1 : tensor<5xf32>
}
"""


@pytest.mark.parametrize("name", sorted(name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)))
def test_every_ufunc_of_numpy_has_its_fields_where_they_are_read(name: str) -> None:
    function = getattr(np, name)
    assert ufunc_loops.has_known_fields(function)
    assert len(ufunc_loops.loops_of(function)) <= function.ntypes


def test_a_loop_is_found_by_the_types_of_all_operands_and_results() -> None:
    assert ufunc_loops.HAS_LOOPS
    loop = ufunc_loops.loop_of(np.add, (F32, F32, F32))
    assert loop is not None
    assert loop[0] != 0
    assert ufunc_loops.loop_for(np.add, (F32.num, F32.num)) == (*loop, (F32.num,))
    comparison = ufunc_loops.loop_for(np.less, (F32.num, F32.num))
    assert comparison is not None
    assert comparison[2] == (BOOL.num,)
    assert ufunc_loops.loop_of(np.add, (F32, F32, F64)) is None
    assert ufunc_loops.loop_for(np.add, (F32.num,)) is None


def test_what_is_no_ufunc_has_no_known_fields() -> None:
    assert not ufunc_loops.has_known_fields(len)
    assert not ufunc_loops.has_known_fields(np.zeros(3))


def test_the_probe_compares_the_fields_of_a_ufunc_with_what_it_was_made_of() -> None:
    assert ufunc_loops.has_fields_of_probe(ufunc_loops.probe())
    assert not ufunc_loops.has_fields_of_probe(np.add)
    assert not ufunc_loops.has_fields_of_probe(np.frompyfunc(max, 2, 1))


def test_loops_of_objects_are_those_of_their_ufunc() -> None:
    maximum = np.frompyfunc(max, 2, 1)
    assert ufunc_loops.has_known_fields(maximum)
    assert len(ufunc_loops.loops_of(maximum)) == 1


def test_no_ufunc_has_known_fields_where_the_probe_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ufunc_loops, "HAS_LOOPS", False)
    assert not ufunc_loops.has_known_fields(np.add)


@pytest.mark.parametrize("compile_mode", ["never", "auto"])
def test_programs_run_where_the_fields_are_elsewhere(
    monkeypatch: pytest.MonkeyPatch, compile_mode: str
) -> None:
    """As with a NumPy that declares other fields: each step calls the ufunc itself."""
    x, y = np.arange(5, dtype=np.float32), np.full(5, 2.5, np.float32)
    (expected,) = nimblehlo.compile(PROGRAM, options=nimblehlo.Options(compile=compile_mode))(x, y)
    monkeypatch.setattr(ufunc_loops, "HAS_LOOPS", False)
    assert ufunc_loops.loop_of(np.add, (F32, F32, F32)) is None
    executable = nimblehlo.compile(PROGRAM, options=nimblehlo.Options(compile=compile_mode))
    for _ in range(3):
        (result,) = executable(x, y)
        np.testing.assert_array_equal(result, expected)
