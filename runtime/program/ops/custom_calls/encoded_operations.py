"""Custom calls by which MHLO, PyTorch/XLA and JAX on TPUs write operations that StableHLO lacks.

``@mhlo.erf`` and ``@chlo.erf`` mean `chlo.erf`. The dictionary ``mhlo.attributes``, or the configuration of a
typed call, has its attributes, and ``mhlo.version`` is 1. ``@Qr`` and
``@ProductOfElementaryHouseholderReflectors`` are LAPACK's routines.

Source: XLA, the passes that write and read such calls (`ChloPreserveHighLevelOps`, `ChloRecomposeOps`);
JAX, `jax.lax.linalg`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ....errors import UnsupportedError, VerifyError
from ....types import ELEMENT_TYPES, INDEX, TensorType, TupleType, Type
from ...ir import (
    ArrayAttribute,
    Attribute,
    BoolAttribute,
    DenseElementsAttribute,
    DictionaryAttribute,
    IntegerAttribute,
    Operation,
    StringAttribute,
)
from ..framework.declaration import lookup
from ..framework.encoding import encode_attributes
from ..numerics.lapack_library import ELEMENTS
from .lapack import ROUTINES, Shape, routine_name
from .view import TYPED_FFI

ENCODED: Final[dict[str, str]] = {
    **{
        f"{dialect}.{name}": f"chlo.{name}"
        for dialect in ("mhlo", "chlo")
        for name in (
            *("acos", "acosh", "asin", "asinh", "atan", "atanh"),
            *("cosh", "erf", "erfc", "mulhi", "scan", "sinh", "tan"),
        )
    },
    "mhlo.custom_call": "stablehlo.custom_call",
    **{f"mhlo.{name}": f"stablehlo.{name}" for name in ("dynamic_reshape", "real_dynamic_slice")},
    "mhlo.topk": "chlo.top_k",
    "chlo.top_k": "chlo.top_k",
    "chlo.ragged_dot": "chlo.ragged_dot",
}
"""The operation that each target stands for."""

LAPACK_ROUTINES: Final = {"ProductOfElementaryHouseholderReflectors": "orgqr", "Qr": "geqrf"}
"""The LAPACK routine that each target of TPUs stands for."""

DEFAULT_FLAGS: Final = {"largest": True}
"""Attributes that the CHLO operation lacks, with the only value that it implements."""

ADVICE: Final = frozenset({"custom_call_schedule"})
"""Attributes that the operations lack, and that only advise a compiler."""

DICTIONARIES: Final = ("backend_config", "mhlo.backend_config", "mhlo.attributes")
"""The attributes of a custom call that hold attributes of the operation."""

SEGMENT_SIZES: Final = frozenset({"operandSegmentSizes", "resultSegmentSizes"})
"""Attributes of every operation with several variadic operands or results."""

VERSION: Final = 1
"""The version of such calls, and of the composites that XLA uses for CHLO operations."""


def without_default_flags(attributes: Mapping[str, Attribute]) -> dict[str, Attribute] | None:
    """The attributes without DEFAULT_FLAGS; None if one has another value than the default."""
    for flag, default in DEFAULT_FLAGS.items():
        if attributes.get(flag, BoolAttribute(default)) != BoolAttribute(default):
            return None
    return {name: value for name, value in attributes.items() if name not in DEFAULT_FLAGS}


def declared_names(name: str) -> set[str]:
    """The attributes that the operation `name` declares, those with several of its fields among them."""
    declaration = lookup(name)
    assert declaration is not None
    return {field.of or field.key or field.name for field in declaration.declared_attributes}


def with_attributes_of_chlo(name: str, attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """Attributes of the operation `name` of which some are written by those that every dialect has.

    An attribute with fields is an array of theirs, and a member of an enumeration its name as a string.

    Raises:
        VerifyError: an array has another number of fields, or there is no such member.
    """
    declaration = lookup(name)
    assert declaration is not None
    declared = declaration.declared_attributes
    values: dict[str, object] = {}
    read = set()
    for key, attribute in attributes.items():
        members = attribute.values if isinstance(attribute, ArrayAttribute) else ()
        fields = [one.name for one in declared if one.of == key]
        if fields and all(isinstance(one, DenseElementsAttribute) for one in members):
            arrays = [one.array for one in members if isinstance(one, DenseElementsAttribute)]
            if len(arrays) != len(fields) or any(one.ndim != 1 for one in arrays):
                raise VerifyError(f"{key} must be an array of {', '.join(fields)}")
            values.update(zip(fields, (tuple(map(int, one)) for one in arrays), strict=True))
            read.add(key)
        elif members and all(isinstance(one, StringAttribute) for one in members):
            values[key] = tuple(one.value for one in members if isinstance(one, StringAttribute))
            read.add(key)
    try:
        encoded = encode_attributes(name, values)
    except (KeyError, ValueError) as error:
        raise VerifyError(f"an attribute of {name} has no such value: {error}") from error
    return {**{key: value for key, value in attributes.items() if key not in read}, **encoded}


def encoded_attributes(call: Operation, name: str) -> dict[str, Attribute]:
    """The attributes of the operation `name` that a call stands for.

    Raises:
        VerifyError: one of DICTIONARIES is none, or has an attribute that the operation lacks.
        UnsupportedError: the call has another version, or a flag with a value that the operation does not
            implement.
    """
    entries: dict[str, Attribute] = {}
    for key in DICTIONARIES:
        dictionary = call.attributes.get(key, DictionaryAttribute({}))
        if isinstance(dictionary, DictionaryAttribute):
            entries.update(dictionary.values)
        elif dictionary != StringAttribute(""):
            raise VerifyError(f"{key} must be a dictionary", operation=call.name, location=call.location)
    version = call.attributes.get("mhlo.version")
    if version is not None and not (isinstance(version, IntegerAttribute) and version.value == VERSION):
        raise _unsupported(call, f"mhlo.version must be {VERSION}")
    attributes = without_default_flags(entries)
    if attributes is None:
        flags = ", ".join(f"{flag} = {str(value).lower()}" for flag, value in DEFAULT_FLAGS.items())
        raise _unsupported(call, f"{name} implements {flags} alone")
    # Names with a dialect are annotations, which change no result.
    attributes = {key: value for key, value in attributes.items() if "." not in key and key not in ADVICE}
    for key in attributes.keys() - declared_names(name) - SEGMENT_SIZES:
        reason = f"there is an attribute {key}, which {name} lacks"
        raise VerifyError(reason, operation=call.name, location=call.location)
    try:
        return with_attributes_of_chlo(name, attributes)
    except VerifyError as error:
        raise VerifyError(error.reason, operation=call.name, location=call.location) from error


def _unsupported(call: Operation, reason: str) -> UnsupportedError:
    return UnsupportedError(reason, operation=call.name, location=call.location)


def result_types(call: Operation) -> Sequence[Type]:
    """The types of a call's results, or of the components of the tuple that is its only result."""
    types = [result.type for result in call.results]
    return types[0].types if len(types) == 1 and isinstance(types[0], TupleType) else types


def lapack_attributes(call: Operation, _: str) -> dict[str, Attribute]:
    """The attributes of the call of LAPACK that a call of a TPU stands for.

    Raises:
        VerifyError: the first operand's elements are not those of a LAPACK routine.
    """
    if not call.operands:
        raise VerifyError("has no operands", operation=call.name, location=call.location)
    type = call.operands[0].type
    element = str(type.element_type) if isinstance(type, TensorType) else ""
    prefix = next((prefix for prefix, elements in ELEMENTS.items() if elements["T"] == element), None)
    target = call.attributes["call_target_name"]
    assert isinstance(target, StringAttribute)
    if prefix is None:
        raise VerifyError(
            f"operand 0 is {type}, but must be a tensor of f32, f64, complex<f32> or complex<f64>",
            operation=call.name,
            location=call.location,
        )
    name = routine_name(prefix, LAPACK_ROUTINES[target.value])
    routine = ROUTINES[name]
    return {
        "call_target_name": StringAttribute(name),
        "api_version": IntegerAttribute(TYPED_FFI, ELEMENT_TYPES["i32"]),
        "operand_layouts": _layouts(routine.operands, [operand.type for operand in call.operands]),
        "result_layouts": _layouts(routine.results, result_types(call)),
    }


def _layouts(shapes: Sequence[Shape], types: Sequence[Type]) -> ArrayAttribute:
    """Layouts in which matrices are stored column by column, as LAPACK takes them."""
    layouts: list[Attribute] = []
    for position, type in enumerate(types):
        rank = type.rank if isinstance(type, TensorType) else 0
        order = list(range(rank))[::-1]
        if rank > 1 and position < len(shapes) and len(shapes[position].letters) > 1:
            order[:2] = order[1::-1]
        array = np.array(order, np.int64)
        layouts.append(DenseElementsAttribute(TensorType(array.shape, INDEX), array))
    return ArrayAttribute(tuple(layouts))
