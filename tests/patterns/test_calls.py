"""Which calls are recognised as alike without a snapshot, and that nothing which changes is overlooked."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nimblehlo import Options
from nimblehlo.patterns import programs, sn_gather, sn_scatter, sn_select, sn_zipmapreduce
from nimblehlo.patterns.snapshots import snapshot

X = np.arange(6, dtype=np.float32).reshape(2, 3)
offset: Any = 1000


def shifted(x: Any) -> Any:
    return x + offset


def outer(attrs: Any, x: Any) -> Any:
    return shifted(x) * 2


@pytest.fixture(autouse=True)
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts the calls that took a snapshot."""
    found: list[int] = []

    def counting(values: tuple[Any, ...]) -> Any:
        found.append(1)
        return snapshot(values)

    monkeypatch.setattr(programs, "snapshot", counting)
    monkeypatch.setattr(programs, "_of_calls", programs.Calls(12))
    return found


def map_of(function: Callable[..., Any], x: Any = X, **settings: Any) -> Any:
    return sn_zipmapreduce(function, [x], **settings)


def test_functions_that_are_made_anew_are_recognised(taken: list[int]) -> None:
    def made(factor: Any, sign: str = "+") -> Callable[..., Any]:
        def inner(attrs: Any, x: Any, of: Any = (1, 2)) -> Any:
            return x * factor + of[1]

        def whole(attrs: Any, x: Any) -> Any:
            return inner(attrs, x) if sign == "+" else -inner(attrs, x)

        return whole

    for _ in range(3):
        for factor, sign in itertools.product((300, 400, 4.5), "+-"):
            wanted = X * factor + 2 if sign == "+" else -(X * factor + 2)
            assert map_of(made(factor, sign)).tolist() == wanted.tolist()
        assert map_of(outer).tolist() == ((X + 1000) * 2).tolist()
    assert len(taken) == 7
    # Equal numbers that are other objects take a snapshot, unless they are integers.
    map_of(made(int("300")))
    assert len(taken) == 7
    map_of(made(float("4.5")))
    assert len(taken) == 8


def test_settings_operands_and_options(taken: list[int]) -> None:
    def same(attrs: Any, x: Any) -> Any:
        return x

    for _ in range(3):
        assert map_of(same, reduce_op="sum", reduce_dims=[0]).tolist() == [3, 5, 7]
        assert map_of(same, reduce_op="sum", reduce_dims=[1]).tolist() == [3, 12]
        assert map_of(same, reduce_op="max", reduce_dims=(0, 1), keep_dims=True).tolist() == [[5]]
        assert map_of(same, X[0], reduce_op="max").tolist() == 2
        assert map_of(same, X.astype(int)).dtype == int
        assert map_of(same, options=Options(compile="never")).tolist() == X.tolist()
        assert sn_select(X > 2, X, -X).tolist() == np.where(X > 2, X, -X).tolist()
        assert sn_gather(X, np.array([[1]]), [0], [1]).tolist() == [[[3, 4, 5]]]
        assert sn_scatter(X, X[:1] + 9, np.array([1]), [0]).tolist() == [[0, 1, 2], [9, 10, 11]]
    assert len(taken) == 9
    # What becomes an array is like the array; with numbers among the operands each call takes a snapshot.
    for value, known in ((X.tolist(), 10), (X.astype(">f4"), 11), (X.view(np.recarray), 11)):
        for _ in range(2):
            assert map_of(same, value).tolist() == X.tolist()
        assert len(taken) == known
    for _ in range(2):
        assert sn_zipmapreduce(lambda attrs, x, y: x * y, [X, 2]).tolist() == (X * 2).tolist()
    assert len(taken) == 13


def changes(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], Any]]:
    def other(x: Any) -> Any:
        return x + 8

    return [
        lambda: monkeypatch.setitem(globals(), "offset", 5),
        lambda: monkeypatch.setitem(globals(), "offset", True),
        lambda: monkeypatch.setitem(globals(), "offset", -0.0),
        lambda: monkeypatch.setitem(globals(), "offset", np.float32(3)),
        lambda: monkeypatch.setitem(globals(), "offset", X[0]),
        lambda: monkeypatch.setitem(globals(), "shifted", other),
        lambda: monkeypatch.setattr(shifted, "__code__", other.__code__),
    ]


@pytest.mark.parametrize("which", range(7))
def test_what_functions_within_read_may_change(monkeypatch: pytest.MonkeyPatch, which: int) -> None:
    for _ in range(2):
        assert map_of(outer).tolist() == ((X + 1000) * 2).tolist()
    changes(monkeypatch)[which]()
    wanted = shifted(X) * 2
    for _ in range(2):
        assert map_of(outer).tolist() == wanted.tolist()
    monkeypatch.undo()
    assert map_of(outer).tolist() == ((X + 1000) * 2).tolist()


def test_a_global_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    map_of(outer)
    monkeypatch.delitem(globals(), "offset")
    with pytest.raises(NameError):
        map_of(outer)


def test_variables_defaults_and_attributes_that_change(taken: list[int]) -> None:
    factor: Any = 2

    def scaled(attrs: Any, x: Any, by: Any = 1, *, last: Any = 0) -> Any:
        return x * factor * by + last

    def plain(attrs: Any, x: Any, by: Any = 1) -> Any:
        return x * by

    for function in (scaled, plain):
        for _ in range(2):
            map_of(function)
    # Defaults of keywords may change in their dictionary.
    assert len(taken) == 3
    factor = 5
    assert map_of(scaled).tolist() == (X * 5).tolist()
    factor = X[0]
    assert map_of(scaled).tolist() == (X * X[0]).tolist()
    factor, scaled.__kwdefaults__ = 1, {"last": 7}
    assert map_of(scaled).tolist() == (X + 7).tolist()
    plain.__defaults__ = (3,)
    assert map_of(plain).tolist() == (X * 3).tolist()
    plain.__defaults__ = (-0.0,)
    assert np.signbit(map_of(plain)[1]).all()
    plain.__defaults__ = (0.0,)
    assert not np.signbit(map_of(plain)).any()
    plain.note = 1  # type: ignore[attr-defined]
    taken.clear()
    for _ in range(2):
        map_of(plain)
    assert len(taken) == 2


def test_the_cache_size_is_bounded(taken: list[int]) -> None:
    functions = [eval(f"lambda attrs, x: x + {number}") for number in range(13)]
    for function in functions[:12] * 2:
        map_of(function)
    assert len(taken) == 12
    map_of(functions[12])
    for number, function in enumerate(functions):
        assert map_of(function).tolist() == (X + number).tolist()
    assert len(taken) > 13
    taken.clear()
    sizes = [*range(1, 9), 1, 9, 2]
    for size in sizes:
        assert map_of(functions[0], X[0, :1].repeat(size)).shape == (size,)
    # Of one function the last eight kinds of operands are kept: the ninth took the place of the first.
    assert len(taken) == 9
