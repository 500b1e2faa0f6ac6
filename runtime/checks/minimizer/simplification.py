"""Simplifies programs: smaller sizes, common element types, simple constants, fewer attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np

from ...program.frontend import parse
from ...program.ir import Attribute, DenseElementsAttribute, Module, Operation, Region
from ...program.ir.builder import copy_region
from .removal import with_entry

_SIZE: Final = re.compile(r"(?<=[<x])(\d+)(?=x)")
_ELEMENT_TYPE: Final = re.compile(r"(?<=[<x])(complex<f\d+>|bf16|f8\w+|f\d+|u?i\d+)(?=>)")
_ARRAY: Final = re.compile(r"array<i64: [^>]*>")
_PLAIN_TYPES: Final = {"f": "f32", "b": "f32", "c": "f32", "u": "i32", "i": "i32"}
"""The type that is tried in place of others, by the first letter of their names."""


def smaller_sizes(module: Module) -> Iterator[Callable[[], Module]]:
    """The program with a smaller size in place of each one, in types alone and in attributes too."""
    text = str(module)
    for size in sorted({int(digits) for digits in _SIZE.findall(text)}, reverse=True):
        for smaller in dict.fromkeys([1, 2, 3, size // 2]):
            if 0 < smaller < size:
                resized = _replaced(_SIZE, text, str(size), str(smaller))
                yield _parsed(resized)
                yield _parsed(_replaced_in_arrays(resized, size, smaller))


def _replaced(pattern: re.Pattern[str], text: str, old: str, new: str) -> str:
    """Replace `old` by `new` wherever a pattern matches it."""
    return pattern.sub(lambda match: new if match[1] == old else match[1], text)


def _replaced_in_arrays(text: str, size: int, smaller: int) -> str:
    return _ARRAY.sub(lambda match: re.sub(rf"\b{size}\b", str(smaller), match[0]), text)


def common_types(module: Module) -> Iterator[Callable[[], Module]]:
    """The program with f32 or i32 in place of each other element type."""
    text = str(module)
    for name in sorted(set(_ELEMENT_TYPE.findall(text)) - {"f32", "i32", "i1"}):
        yield _parsed(_replaced(_ELEMENT_TYPE, text, name, _PLAIN_TYPES[name[0]]))


def _parsed(text: str) -> Callable[[], Module]:
    return lambda: parse(text, "<text>")


def plain_constants(module: Module, entry: str) -> Iterator[Callable[[], Module]]:
    """The program with zeros, ones, or the first element everywhere, in place of each constant."""
    for target in _body(module, entry).walk():
        attribute = target.constant_value
        if attribute is None:
            continue
        array = attribute.array
        for value in (0, 1, array.flat[0]) if array.size else ():
            plain = np.broadcast_to(np.asarray(value).astype(array.dtype), array.shape)
            if plain.tobytes() == array.tobytes():
                break
            attributes = {"value": DenseElementsAttribute(attribute.type, plain.view())}
            yield partial(_with_attributes, module, entry, target, attributes)


def fewer_attributes(module: Module, entry: str) -> Iterator[Callable[[], Module]]:
    """Candidates without one attribute of one operation; they are invalid if the attribute is required."""
    for operation in _body(module, entry).walk():
        for name in operation.attributes if not operation.is_constant else ():
            attributes = {key: value for key, value in operation.attributes.items() if key != name}
            yield partial(_with_attributes, module, entry, operation, attributes)


def _body(module: Module, entry: str) -> Region:
    body = module.functions[entry].body
    assert body is not None
    return body


def _with_attributes(
    module: Module, entry: str, target: Operation, attributes: Mapping[str, Attribute]
) -> Module:
    """The program with other attributes of one operation."""
    body = _body(module, entry)
    copied = copy_region(body, {})
    for operation, copy in zip(body.walk(), copied.walk(), strict=True):
        if operation is target:
            copy.attributes = attributes
    return with_entry(module, entry, copied.block)
