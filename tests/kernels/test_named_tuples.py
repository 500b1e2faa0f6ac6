"""Named tuples are those of `typing.NamedTuple`."""

from __future__ import annotations

import copy
import pickle
import re
import typing
from pathlib import Path
from typing import Any

import pytest

from nimblehlo.kernels.named_tuples import NamedTuple


class Ours(NamedTuple):
    """A size by name."""

    name: str
    sizes: tuple[int, ...]
    step: int = 2

    @property
    def product(self) -> int:
        return self.step * len(self.sizes)


class WithMethod(Ours):
    def doubled(self) -> int:
        return 2 * self.product


class Theirs(typing.NamedTuple):
    name: str
    sizes: tuple[int, ...]
    step: int = 2


def test_the_constructor_takes_what_that_of_typing_takes() -> None:
    calls = (("a", (3,), 4), {}), (("a",), {"sizes": (3,)}), ((), {"sizes": (), "name": "b"})
    for positional, named in calls:
        ours: Any = Ours(*positional, **named)  # type: ignore[arg-type]
        theirs: Any = Theirs(*positional, **named)  # type: ignore[arg-type]
        assert ours == theirs == tuple(theirs) and hash(ours) == hash(theirs)
        assert (ours.name, ours.sizes, ours.step) == (theirs.name, theirs.sizes, theirs.step)
        assert ours._asdict() == theirs._asdict()
    for arguments in ((), ("a",), ("a", (), 1, 2)):
        with pytest.raises(TypeError):
            Ours(*arguments)
    with pytest.raises(TypeError):
        Ours("a", (), size=3)  # type: ignore[call-arg]


def test_the_class_has_what_that_of_typing_has() -> None:
    for name in ("_fields", "_field_defaults", "__match_args__", "__slots__"):
        assert getattr(Ours, name) == getattr(Theirs, name)
    assert Ours.__doc__ == "A size by name."
    assert repr(Ours("a", (3, 4))) == "Ours(name='a', sizes=(3, 4), step=2)"
    assert Ours._make(["a", (), 5])._replace(step=6) == ("a", (), 6)
    assert Ours("a", (3, 4)).product == 4


def test_fields_do_not_change() -> None:
    with pytest.raises(AttributeError):
        Ours("a", ()).step = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Ours("a", ()).other = 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [Ours, WithMethod])
def test_copies_have_the_class(kind: type[Ours]) -> None:
    value = kind("a", (3,))
    copies = [copy.copy(value), copy.deepcopy(value)]
    copies += [pickle.loads(pickle.dumps(value, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    assert all(type(each) is kind and each == value for each in copies)


def test_a_class_of_methods_keeps_the_fields() -> None:
    assert WithMethod._fields == Ours._fields
    assert WithMethod("a", (3,)).doubled() == 4


def test_fields_with_defaults_come_last() -> None:
    with pytest.raises(TypeError, match="without a default"):

        class Wrong(NamedTuple):
            step: int = 2
            name: str  # type: ignore[misc]


def test_a_class_without_fields_is_an_error() -> None:
    with pytest.raises(TypeError, match="no fields"):

        class Empty(NamedTuple):
            pass


def test_modules_with_named_tuples_have_annotations_as_strings(project_root: Path) -> None:
    """Python 3.14 creates other annotations after the class."""
    for folder in ("kernels", "runtime"):
        for path in (project_root / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if re.search(r"^class \w+\((NamedTuple|Record|IdentityRecord)\)", text, re.MULTILINE):
                assert "\nfrom __future__ import annotations\n" in text, path
