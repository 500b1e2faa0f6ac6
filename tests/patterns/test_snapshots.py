"""When a function is traced again: whenever something that it reads may have changed, and only then."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nimblehlo import Options, VerifyError, patterns
from nimblehlo.patterns import sn_gather, sn_imm, sn_iteridx, sn_select, sn_zipmapreduce, snapshots
from nimblehlo.patterns.snapshots import snapshot

X = np.arange(4, dtype=np.float32)
scale: Any = 2.0


def helper(x: Any) -> Any:
    return x * scale


def doubled(attrs: Any, x: Any) -> Any:
    return helper(x) + 0


TWO = np.float32(2)


def has_key(*values: Any) -> bool:
    return snapshot(values) is not None


def same_key(a: Any, b: Any) -> bool:
    first, second = snapshot((a,)), snapshot((b,))
    return first is not None and second is not None and first.key == second.key


def test_functions_of_known_things_have_a_key() -> None:
    def uses(attrs: Any, x: Any, y: Any = 1, *, z: Any = TWO) -> Any:
        i = sn_iteridx(0, attrs, np.int32)
        parts = [np.exp(part) for part in (x, y)]
        inner = sn_zipmapreduce(lambda attrs, v: v * math.pi, [x], "sum", -1, keep_dims=True)
        chosen = sn_select(np.greater(i, len(parts)), x.astype(np.float16), sn_imm(1, "float16"))
        return chosen + inner + patterns.sn_gather(x, [[0]], [0], [1]) + max(1, 2) + z + x.shape[0]

    assert has_key(uses)
    assert has_key(doubled)
    assert has_key(lambda attrs, x: x + 1)


def test_what_may_change_unseen_has_no_key() -> None:
    class Held:
        shape = 3

    array, listed, held = np.ones(2), [1], Held()
    count = 0

    def counts(attrs: Any, x: Any) -> Any:
        nonlocal count
        count += 1
        return x

    def imports(attrs: Any, x: Any) -> Any:
        import time

        return x * time.time()

    def sets_global(attrs: Any, x: Any) -> Any:
        global unset
        unset = 1
        return x

    def keeps(attrs: Any, x: Any, kept: Any = []) -> Any:  # noqa: B006
        kept.append(x)
        return x

    def with_attribute(attrs: Any, x: Any) -> Any:
        return x

    with_attribute.size = 3  # type: ignore[attr-defined]

    @functools.wraps(np.exp)
    def named_exp(x: Any) -> Any:
        return x * listed[0]

    def recursive(attrs: Any, x: Any) -> Any:
        return recursive(attrs, x)

    for function in (
        *(counts, imports, sets_global, keeps, with_attribute, named_exp, recursive, held, Held.__init__),
        lambda attrs, x: x + array,
        lambda attrs, x: x + listed[0],
        lambda attrs, x: x + held.shape,
        lambda attrs, x: x + Held.shape,
        lambda attrs, x: x * np.random.rand(),
        lambda attrs, x: print(x) or x,
        lambda attrs, x: with_attribute(attrs, x),
        lambda attrs, x: named_exp(x),
        lambda attrs, x: x + not_there,  # noqa: F821
        lambda attrs, x: [counts(attrs, x) for _ in range(2)][-1],
        functools.partial(doubled),
    ):
        assert not has_key(function)


def test_equal_values_have_equal_keys() -> None:
    def of(value: Any) -> Callable[..., Any]:
        return lambda attrs, x: x * value

    assert same_key(of(0.1 + 0.2), of(0.3 + 0.0000000000000000400))
    assert same_key(of(math.nan), of(float("nan")))
    assert same_key(of(np.float32(3)), of(np.float32(3)))
    assert same_key(of((1, "a", None)), of((1, "a", None)))
    values = [0.0, -0.0, 0, False, np.float32(0), np.float32(-0.0), np.float64(0), np.int8(0), "0", b"0", 0j]
    keys = [snapshot((of(value),)) for value in values]
    assert len({key.key for key in keys if key is not None}) == len(values)
    assert not same_key(lambda attrs, x: x + 1, lambda attrs, x: x + 1.0)


def test_lists_count_by_what_they_hold_as_settings_alone() -> None:
    assert same_key([1, 2], [1, 2]) and not same_key([1, 2], [1, 3]) and not same_key([1], [True])
    assert not has_key([[1]]) and not has_key({1})


@pytest.fixture
def calls() -> list[int]:
    return []


def test_a_function_with_effects_is_called_each_time(calls: list[int]) -> None:
    for _ in range(3):
        sn_zipmapreduce(lambda attrs, x: calls.append(1) or x, [X])
    assert len(calls) == 3


def test_a_global_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sn_zipmapreduce(doubled, [X]).tolist() == (X * 2).tolist()
    monkeypatch.setitem(globals(), "scale", 3.0)
    assert sn_zipmapreduce(doubled, [X]).tolist() == (X * 3).tolist()
    monkeypatch.setitem(globals(), "scale", np.float32([1, 2, 3, 4]))
    assert sn_zipmapreduce(doubled, [X]).tolist() == (X * [1, 2, 3, 4]).tolist()
    monkeypatch.setitem(globals(), "helper", lambda x: x - 1)
    assert sn_zipmapreduce(doubled, [X]).tolist() == (X - 1).tolist()


def test_an_attribute_that_changes() -> None:
    class RepeatedSubgraph:
        size = 2.0

        def forward(self, x: Any) -> Any:
            return sn_zipmapreduce(lambda attrs, x: x * self.size, [x])

    layer = RepeatedSubgraph()
    assert layer.forward(X).tolist() == (X * 2).tolist()
    layer.size = 5.0
    assert layer.forward(X).tolist() == (X * 5).tolist()


def test_instructions_that_change() -> None:
    def changing(attrs: Any, x: Any) -> Any:
        return x + 1

    assert sn_zipmapreduce(changing, [X]).tolist() == (X + 1).tolist()
    changing.__code__ = (lambda attrs, x: x + 2).__code__
    assert sn_zipmapreduce(changing, [X]).tolist() == (X + 2).tolist()


def test_functions_that_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    # Instructions that are gone may leave their place to others.
    monkeypatch.setattr(snapshots, "_MAX_CACHED_CODES", 1)
    for number in range(300):
        function = eval(f"lambda attrs, x: x + {number}")
        assert sn_zipmapreduce(function, [X[:1]]).tolist() == [number]


def test_settings_and_types_are_told_apart() -> None:
    x = np.float32([[1, 2], [3, 4]])

    def same(attrs: Any, x: Any) -> Any:
        return x

    for _ in range(2):
        assert sn_zipmapreduce(same, [x], "sum", 0).tolist() == [4, 6]
        assert sn_zipmapreduce(same, [x], "sum", [1]).tolist() == [3, 7]
        assert sn_zipmapreduce(same, [x], "sum", [1], keep_dims=True).tolist() == [[3], [7]]
        assert sn_zipmapreduce(same, [x], "max").tolist() == 4
        assert sn_zipmapreduce(same, [x[0]], "max").tolist() == 2
        assert sn_zipmapreduce(same, [x.astype(int)], "max").dtype == int
        assert sn_zipmapreduce(lambda attrs, x, y: x * y, [x, 2]).tolist() == [[2, 4], [6, 8]]
        assert sn_zipmapreduce(lambda attrs, x, y: x * y, [x, 3]).tolist() == [[3, 6], [9, 12]]
        assert sn_gather(x, [[0]], [0], [1]).tolist() == [[[1, 2]]]
        assert sn_gather(x, [[0]], [1], [1]).tolist() == [[[1], [3]]]
        with pytest.raises(VerifyError, match="G5"):
            sn_gather(x, [[0]], [1], [3])
        with pytest.raises(VerifyError, match="G3"):
            sn_gather(x, [[0]], [1.0], [1])
        left = Options(reduction_tree="left", accumulate="declared")
        y = np.float32([1e8, 1, -1e8, 1])
        assert sn_zipmapreduce(same, [y], "sum", options=left) == 1
        assert sn_zipmapreduce(same, [y], "sum") == sn_zipmapreduce(same, [y], "sum", options=Options())
