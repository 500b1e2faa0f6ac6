"""Settings of JAX's programs: `Options`, and whether their open orders are explored.

They come from, each overriding what stands before it: the environment variable ``NIMBLEHLO_JAX_OPTIONS``,
`configure` (the process), context managers (a thread), and `compiler_options` of `jax.jit` (a program).
JAX's caches distinguish them, so that a function is compiled again where they differ.

JAX compiles on threads of its own, so a program gets its settings with its compile options, as pairs of
names and values. As text they look the same everywhere: ``sanitize=non_finite,shift_amount
reduction_tree=random:3``.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from ..options import Options
from ..program.frontend import jax_names as compatibility

VARIABLE: Final = "NIMBLEHLO_JAX_OPTIONS"
"""The environment variable."""

_NOT_FOR_JAX: Final = {"donate": "jax.jit(donate_argnums=...) says what a program may consume"}
_PATHS: Final = frozenset({"probe_directory"})
"""Settings whose text is the value itself."""

NAMES: Final = frozenset(
    {*(field.name for field in fields(Options)), "explore", "explore_seed"} - _NOT_FOR_JAX.keys()
)
"""The names of all settings."""


@dataclass(frozen=True)
class Settings:
    """The settings with which a program of JAX is compiled and run.

    Attributes:
        options: see `nimblehlo.Options`.
        explore: under how many schedules each call of a program is repeated, from 2 on; 0: it is not.
        explore_seed: of these schedules.

    Raises:
        ValueError: a value is not allowed.
    """

    options: Options = Options()  # noqa: RUF009 (frozen)
    explore: int = 0
    explore_seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.explore, int) or self.explore < 0 or self.explore == 1:
            raise ValueError(f"explore is {self.explore!r}, but must be 0 or a number of schedules from 2 on")
        if not isinstance(self.explore_seed, int) or self.explore_seed < 0:
            raise ValueError(f"explore_seed is {self.explore_seed!r}, but must be an integer from 0 on")

    @property
    def synchronous(self) -> bool:
        """Whether a program must run on the thread that calls it, whose contexts get what is found."""
        return bool(self.options.sanitize) or self.explore > 0

    def changed(self, values: Mapping[str, Any]) -> Settings:
        """A copy with other values for some settings.

        Raises:
            ValueError: a name is not a setting, or a value is not allowed.
        """
        for name in values:
            if name in _NOT_FOR_JAX:
                raise ValueError(f"{name} is not a setting of JAX's programs: {_NOT_FOR_JAX[name]}")
            if name not in NAMES:
                raise ValueError(f"{name} is not a setting; settings are {', '.join(sorted(NAMES))}")
        own = {name: value for name, value in values.items() if name.startswith("explore")}
        others = {name: value for name, value in values.items() if name not in own}
        return replace(self, options=replace(self.options, **others), **own)

    def overrides(self) -> dict[str, str]:
        """The settings that are not the default, as text by name."""
        pairs, defaults = _values(self), _values(Settings())
        return {name: value_text(value) for name, value in pairs.items() if value != defaults[name]}

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.overrides().items())


def _values(settings: Settings) -> dict[str, Any]:
    """All settings by name, those of `Options` first."""
    return {**vars(settings.options), "explore": settings.explore, "explore_seed": settings.explore_seed}


def value_text(value: object) -> str:
    """A setting's value as text; `parse_value` reads it."""
    if isinstance(value, (frozenset, set)):
        return ",".join(sorted(value))
    if isinstance(value, tuple):
        if len(value) == 2 and isinstance(value[0], str):
            return f"{value[0]}:{value[1]}"
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def parse_value(name: str, text: str) -> Any:
    """Parse the text of a setting.

    ``true``, ``false``, ``none``, numbers, names; ``name:seed`` is a pair, commas separate the members of a
    tuple. ``sanitize=all`` is True.
    """
    if name in _PATHS:
        return text
    if name == "sanitize":
        named = {"all": True, "true": True, "none": False, "false": False, "": False}
        return named.get(text, tuple(text.split(",")))
    if "," in text:
        return tuple(_atom(one) for one in text.split(","))
    kind, colon, seed = text.partition(":")
    return (kind, _atom(seed)) if colon else _atom(text)


def _atom(text: str) -> Any:
    constants = {"true": True, "false": False, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def of_overrides(overrides: Iterable[tuple[str, Any]]) -> Settings:
    """The settings that a program's compile options hold.

    Raises:
        ValueError: a name is not a setting, or a value is not allowed.
    """
    pairs = {name: parse_value(name, value) if isinstance(value, str) else value for name, value in overrides}
    return Settings().changed(pairs) if pairs else Settings()


def parse(text: str) -> Settings:
    """The settings of a text such as ``sanitize=all timeout=5``.

    Raises:
        ValueError: the text is malformed, or names an unknown setting.
    """
    pairs = []
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"{word!r} in {text!r} must be like name=value")
        pairs.append((name, value))
    return of_overrides(pairs)


def of_environment() -> Settings:
    """The settings of the environment variable.

    Raises:
        ValueError: see `parse`; the message names the variable.
    """
    try:
        return parse(os.environ.get(VARIABLE, ""))
    except ValueError as error:
        raise ValueError(f"{VARIABLE}: {error}") from None


_LOCK: Final = threading.Lock()


def _context() -> Any:
    """JAX's own state for the settings of a process and of its threads, which JAX's caches know."""
    with _LOCK:
        return _new_context()


@functools.cache
def _new_context() -> Any:
    return compatibility.StateContext(of_environment())


def current() -> Settings:
    """The settings that hold for what this thread compiles and calls through JAX."""
    value = _context().value
    assert isinstance(value, Settings)
    return value


def configure(**settings: object) -> Settings:
    """Change settings of all programs of this process, in all threads, from their next call on.

    Args:
        settings: those of `nimblehlo.Options` but `donate`; ``explore``: under how many schedules each call
            of a program is repeated, 0 for none; ``explore_seed``. Others stay.

    Returns:
        What holds for the process now.

    Raises:
        ValueError: a name is not a setting, or a value is not allowed.
    """
    state = _context()
    changed: Settings = state.get_global().changed(settings)
    state.set_global(changed)
    return changed


@contextmanager
def configured(**settings: object) -> Iterator[Settings]:
    """Change settings for what this thread calls through JAX within a `with` statement.

    Args:
        settings: see `configure`.

    Raises:
        ValueError: see `configure`.
    """
    changed = current().changed(settings)
    with _context()(changed):
        yield changed


def install(platform: str) -> None:
    """Have JAX pass the settings on to programs that it compiles for a platform.

    Raises:
        UnsupportedError: the installed JAX lacks a name that this needs.
        ValueError: the environment variable names an unknown setting.
    """
    _context()

    def passing_settings(get_compile_options: Callable[..., object]) -> Callable[..., Any]:
        def get(*arguments: Any, **keywords: Any) -> Any:
            if getattr(keywords.get("backend"), "platform", None) == platform:
                overrides = {**current().overrides(), **(keywords.get("env_options_overrides") or {})}
                keywords["env_options_overrides"] = overrides
            return get_compile_options(*arguments, **keywords)

        return get

    compatibility.wrap(compatibility.COMPILE_OPTIONS, passing_settings)
