"""Settings of JAX's programs: their text, and who overrides whom."""

from __future__ import annotations

import pytest

from nimblehlo import Options
from nimblehlo.jax import Settings, configure, configured, current
from nimblehlo.jax.settings import VARIABLE, of_environment, of_overrides, parse
from tests.support.threads import on_threads


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Settings()),
        ("sanitize=all timeout=0.5", Settings(Options(sanitize=True, timeout=0.5))),
        ("sanitize=non_finite,shift_amount", Settings(Options(sanitize=("shift_amount", "non_finite")))),
        ("reduction_tree=random:3", Settings(Options(reduction_tree=("random", 3)))),
        ("scatter_schedule=2,0,1 explore=4", Settings(Options(scatter_schedule=(2, 0, 1)), explore=4)),
        ("threads=none explore_seed=7", Settings(explore_seed=7)),
        ("probe_directory=/tmp/a:1,b", Settings(Options(probe_directory="/tmp/a:1,b"))),
    ],
)
def test_text_stands_for_settings(text: str, expected: Settings) -> None:
    assert parse(text) == expected
    assert parse(str(expected)) == expected
    assert of_overrides(expected.overrides().items()) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sanitise=all", "sanitise is not a setting"),
        ("sanitize", "must be like name=value"),
        ("threads=many", "threads is 'many'"),
        ("explore=1", "explore is 1"),
        ("explore_seed=-1", "explore_seed is -1"),
        ("donate=all", "donate_argnums"),
    ],
)
def test_other_text_is_refused(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=message):
        parse(text)
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ValueError, match=f"{VARIABLE}: .*{message}"):
        of_environment()


def test_values_of_python_are_taken_as_they_are() -> None:
    assert of_overrides([("threads", 2), ("sanitize", False)]) == Settings(Options(threads=2))


def test_contexts_hold_for_their_thread_and_within_the_process() -> None:
    seen: list[Settings] = []
    before = configure()
    try:
        configure(max_steps=9)
        with configured(threads=3), configured(seed=5):
            inside = current()
            on_threads(1, lambda _: seen.append(current()))
        assert inside.options == Options(max_steps=9, threads=3, seed=5)
        assert seen == [current()] == [Settings(Options(max_steps=9))]
    finally:
        configure(max_steps=None)
    assert current() == before
