"""Named tuples that are created fast are as those of the standard library."""

from __future__ import annotations

import pickle
import re
import typing
from pathlib import Path
from typing import Any

import pytest

from nimblehlo.kernels.launch.named_tuples import NamedTuple


class Fast(NamedTuple):
    """A point."""

    x: int
    y: int = 3

    @property
    def sum(self) -> int:
        return self.x + self.y

    def text(self) -> str:
        return super().__repr__()


class Standard(typing.NamedTuple):
    x: int
    y: int = 3


def values_of(kind: Any) -> list[Any]:
    one = kind(1, y=2)
    x, y = one
    match kind(4):
        case kind(first, second):
            matched = first, second
    return [
        (tuple(one), one.x, one.y, one[1], len(one), x, y, one == (1, 2), hash(one) == hash((1, 2))),
        (kind(5).y, repr(one).partition("(")[2], one._replace(y=7), one._asdict(), kind._make([8, 9])),
        (one._fields, kind._field_defaults, one.__getnewargs__(), matched, sorted([kind(2), kind(1)])),
        isinstance(one, tuple),
    ]


def test_they_behave_as_the_standard_ones() -> None:
    assert values_of(Fast) == values_of(Standard)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda kind: kind(),
        lambda kind: kind(1, 2, 3),
        lambda kind: kind(1, z=2),
        lambda kind: kind._make([]),
        lambda kind: setattr(kind(1), "x", 2),
        lambda kind: setattr(kind(1), "z", 2),
    ],
)
def test_they_refuse_what_the_standard_ones_refuse(wrong: Any) -> None:
    for kind in (Fast, Standard):
        with pytest.raises((TypeError, AttributeError)):
            wrong(kind)


def test_unknown_elements_are_not_replaced() -> None:
    with pytest.raises(TypeError, match="Fast has no elements z"):
        Fast(1)._replace(z=2)  # type: ignore[call-arg]


def test_elements_with_defaults_come_last() -> None:
    with pytest.raises(TypeError, match="of Wrong without a default"):
        type(NamedTuple)(
            "Wrong", (NamedTuple,), {"__annotations__": {"x": "int", "y": "int"}, "__module__": "", "x": 1}
        )


def test_methods_and_derived_classes() -> None:
    class Derived(Fast):
        pass

    assert Fast(1).sum == 4
    assert Fast(1).text() == "Fast(x=1, y=3)"
    assert repr(Derived(2)) == "Derived(x=2, y=3)"
    assert type(Derived(2)._replace(x=1)) is Derived
    assert Fast.__doc__ == "A point."


def test_they_are_pickled() -> None:
    assert type(pickle.loads(pickle.dumps(Fast(1)))) is Fast
    assert pickle.loads(pickle.dumps(Fast(1))) == Fast(1)


@pytest.mark.parametrize("folder", ["kernels", "runtime/compiler", "runtime/program"])
def test_what_first_results_load_has_no_slow_ones(project_root: Path, folder: str) -> None:
    files = {file: file.read_text() for file in (project_root / folder).rglob("*.py")}
    slow = re.compile(r"^from typing import (?!NamedTuple as).*NamedTuple|typing\.NamedTuple\)", re.MULTILINE)
    assert [str(file) for file, text in files.items() if slow.search(text)] == []
