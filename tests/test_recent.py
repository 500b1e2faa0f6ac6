"""Keeping what was used last."""

from nimblehlo.recent import Recent


def test_the_values_used_last_are_kept() -> None:
    recent: Recent[int, str] = Recent(2)
    recent.keep(1, "one")
    recent.keep(2, "two")
    assert recent.get(1) == "one"
    recent.keep(3, "three")
    assert recent.get(2) is None
    assert recent.values() == ["one", "three"]


def test_a_value_that_is_entered_again_is_replaced() -> None:
    recent: Recent[int, str] = Recent(2)
    for value in ("a", "b"):
        recent.keep(1, value)
        recent.keep(2, value)
    assert recent.values() == ["b", "b"]
