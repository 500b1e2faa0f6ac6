"""How attributes of StableHLO and of VHLO correspond, for the reader and the writer.

VHLO has no attribute with a default and none with fields: each field is an attribute of its own.

Source: StableHLO, ``VhloLegalizeToStablehlo.cpp`` and ``StablehloLegalizeToVhlo.cpp``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeGuard

import numpy as np

from ....types import TensorType, element_type
from ...ir import (
    ArrayAttribute,
    Attribute,
    BoolAttribute,
    DenseArrayAttribute,
    DenseElementsAttribute,
    DictionaryAttribute,
    EnumAttribute,
    IntegerAttribute,
    Operation,
    StringAttribute,
    StructAttribute,
)
from ...ir.record import Record
from ..type_parser import MAX_RANK
from .values import integers_field
from .vhlo import ENUMS, NONE
from .vhlo_versions import CONVOLUTION, DOT, DOT_ALGORITHM, GATHER, OPERATIONS, SCATTER

I64: Final = element_type("i64")
_I1: Final = element_type("i1")

STRUCTS: Final[Mapping[str, tuple[tuple[str, str, str], ...]]] = {
    "convolution": (("dimension_numbers", "conv", CONVOLUTION),),
    "dynamic_conv": (("dimension_numbers", "conv", CONVOLUTION),),
    "dot_general": (
        ("dot_dimension_numbers", "dot", DOT),
        ("algorithm", "dot_algorithm", DOT_ALGORITHM),
    ),
    "gather": (("dimension_numbers", "gather", GATHER),),
    "dynamic_gather": (("dimension_numbers", "gather", GATHER),),
    "scatter": (("scatter_dimension_numbers", "scatter", SCATTER),),
}
"""The attributes that are fields of a struct attribute in StableHLO: its name, its mnemonic, its fields."""

ARRAYS: Final[Mapping[str, str]] = {
    "broadcast": "broadcast_sizes",
    "broadcast_in_dim": "broadcast_dimensions",
    "convolution": "lhs_dilation rhs_dilation window_strides window_reversal",
    "dynamic_broadcast_in_dim": (
        "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"
    ),
    "dynamic_conv": "lhs_dilation rhs_dilation window_strides window_reversal",
    "dynamic_slice": "slice_sizes",
    "fft": "fft_length",
    "gather": "slice_sizes",
    "map": "dimensions",
    "pad": "edge_padding_low edge_padding_high interior_padding",
    "reduce": "dimensions",
    "reduce_window": "window_dimensions window_strides base_dilations window_dilations",
    "reverse": "dimensions",
    "select_and_scatter": "window_dimensions window_strides",
    "slice": "start_indices limit_indices strides",
    "transpose": "permutation",
}
"""The attributes that are arrays in StableHLO, where VHLO has tensors."""

SYMBOLS: Final[Mapping[str, str]] = {
    "call": "callee",
    "composite": "decomposition",
    "custom_call": "called_computations",
}
"""The attributes that are symbols, or lists of them, in StableHLO, where VHLO has strings."""

FLAGS: Final = frozenset({"use_global_device_ids", "has_dynamic_root"})
"""The attributes whose presence is their value in StableHLO, where VHLO has booleans."""


class Default(Record):
    """The value of an attribute that StableHLO leaves out, and that earlier versions of VHLO do not have.

    Attributes:
        holds: whether an attribute has this value.
        make: the attribute of VHLO for an operation of StableHLO that leaves it out.
    """

    holds: Callable[[Attribute], bool]
    make: Callable[[Operation], Attribute]


def _constant(value: Attribute, holds: Callable[[Attribute], bool] | None = None) -> Default:
    return Default(holds or value.__eq__, lambda operation: value)


def is_empty(value: Attribute) -> bool:
    """Whether it is a string, a list, a dictionary or a tensor without elements."""
    if isinstance(value, StringAttribute):
        return not value.value
    if isinstance(value, (ArrayAttribute, DictionaryAttribute)):
        return not value.values
    return isinstance(value, DenseElementsAttribute) and not value.type.size


def is_list(value: Attribute) -> TypeGuard[DenseElementsAttribute]:
    """Whether it is a tensor that may have an element or a pair for each dimension.

    Larger ones stay tensors: many operations can share one, and a splat can have any size.
    """
    return isinstance(value, DenseElementsAttribute) and value.type.size <= 2 * MAX_RANK


def _is_integer(expected: int) -> Callable[[Attribute], bool]:
    return lambda value: isinstance(value, IntegerAttribute) and value.value == expected


def _is_splat(expected: int) -> Callable[[Attribute], bool]:
    """Whether it is a tensor with elements, all of which are `expected`."""

    def holds(value: Attribute) -> bool:
        return is_list(value) and value.type.size > 0 and bool(np.all(value.array == expected))

    return holds


def _enum(mnemonic: str, value: str) -> EnumAttribute:
    return EnumAttribute("stablehlo", mnemonic, value)


def tensor_of(values: object, is_boolean: bool = False) -> DenseElementsAttribute:
    """The tensor of VHLO for integers or booleans."""
    array = np.array(values, np.bool_ if is_boolean else np.int64)
    return DenseElementsAttribute(TensorType(array.shape, _I1 if is_boolean else I64), array)


def _window_rank(operation: Operation) -> int:
    """The number of dimensions that a window has."""
    dimensions = operation.attributes.get("window_dimensions")
    if isinstance(dimensions, DenseArrayAttribute):
        return len(dimensions.values)
    return dimensions.type.size if isinstance(dimensions, DenseElementsAttribute) else 0


def _spatial_rank(operation: Operation) -> int:
    """The number of spatial dimensions of a convolution."""
    numbers = operation.attributes.get("dimension_numbers")
    return (
        len(integers_field(numbers, "input_spatial_dimensions"))
        if isinstance(numbers, StructAttribute)
        else 0
    )


def _per_dimension(value: int, rank_of: Callable[[Operation], int], *, is_boolean: bool = False) -> Default:
    """The same integer or boolean for each dimension of a window."""
    return Default(
        _is_splat(value), lambda operation: tensor_of([value] * rank_of(operation), is_boolean=is_boolean)
    )


def _no_padding(rank_of: Callable[[Operation], int]) -> Default:
    return Default(_is_splat(0), lambda operation: tensor_of(np.zeros((rank_of(operation), 2), np.int64)))


def _has_default_precision(value: Attribute) -> bool:
    return isinstance(value, ArrayAttribute) and all(map(_DEFAULT_PRECISION.__eq__, value))


def _has_default_accuracy(value: Attribute) -> bool:
    if not isinstance(value, StructAttribute):
        return False
    fields = value.fields
    mode = fields.get("mode")
    is_default = isinstance(mode, EnumAttribute) and mode.value == "DEFAULT"
    return is_default and not any(fields.get(name) for name in ("atol", "rtol", "ulps"))


def _default_config(operation: Operation) -> Attribute:
    """The empty configuration of a custom call: a dictionary for the typed interface, else a string."""
    version = operation.attributes.get("api_version")
    typed = ENUMS["custom_call_api_version"].index("API_VERSION_TYPED_FFI")
    is_typed = isinstance(version, IntegerAttribute) and version.value == typed
    return DictionaryAttribute({}) if is_typed else StringAttribute("")


_DEFAULT_PRECISION: Final = _enum("precision", "DEFAULT")
_FALSE: Final = _constant(BoolAttribute(False))
_ZERO: Final = _constant(IntegerAttribute(0, I64), _is_integer(0))
_EMPTY_STRING: Final = _constant(StringAttribute(""), is_empty)
_EMPTY_ARRAY: Final = _constant(ArrayAttribute(()), is_empty)
_EMPTY_TENSOR: Final = _constant(tensor_of([]), is_empty)
_CHANNEL: Final = {"channel_id": _ZERO}
_GLOBAL_IDS: Final = {"use_global_device_ids": _FALSE}
_DYNAMIC_ROOT: Final = {"has_dynamic_root": _FALSE}
_PRECISION: Final = {
    "precision_config": _constant(ArrayAttribute((_DEFAULT_PRECISION,) * 2), _has_default_precision)
}
_ACCURACY: Final = _constant(
    StructAttribute("stablehlo", "result_accuracy", {"mode": _enum("result_accuracy_mode", "DEFAULT")}),
    _has_default_accuracy,
)
_CONVOLUTION_DEFAULTS: Final = {
    "window_strides": _per_dimension(1, _spatial_rank),
    "padding": _no_padding(_spatial_rank),
    "lhs_dilation": _per_dimension(1, _spatial_rank),
    "rhs_dilation": _per_dimension(1, _spatial_rank),
    "window_reversal": _per_dimension(0, _spatial_rank, is_boolean=True),
    **_PRECISION,
}
_GATHER_DEFAULTS: Final = {
    "indices_are_sorted": _FALSE,
    "operand_batching_dims": _EMPTY_TENSOR,
    "start_indices_batching_dims": _EMPTY_TENSOR,
}
_TRANSFER: Final = {"is_host_transfer": _FALSE, "source_target_pairs": _EMPTY_TENSOR}

DEFAULTS: Final[Mapping[str, Mapping[str, Default]]] = {
    "all_gather": _CHANNEL | _GLOBAL_IDS,
    "all_reduce": _CHANNEL | _GLOBAL_IDS,
    "all_to_all": _CHANNEL,
    "cholesky": {"lower": _FALSE},
    "collective_broadcast": _CHANNEL | _DYNAMIC_ROOT,
    "collective_permute": _CHANNEL,
    "collective_reduce": _CHANNEL | _GLOBAL_IDS | _DYNAMIC_ROOT,
    "compare": {"compare_type": _constant(_enum("comparison_type", "NOTYPE"))},
    "composite": {"version": _ZERO, "composite_attributes": _constant(DictionaryAttribute({}), is_empty)},
    "convolution": _CONVOLUTION_DEFAULTS,
    "custom_call": {
        "has_side_effect": _FALSE,
        "backend_config": Default(is_empty, _default_config),
        "api_version": _constant(_enum("custom_call_api_version", "API_VERSION_ORIGINAL")),
        "called_computations": _EMPTY_ARRAY,
        "operand_layouts": _EMPTY_ARRAY,
        "result_layouts": _EMPTY_ARRAY,
        "output_operand_aliases": _EMPTY_ARRAY,
        "result_tilings": _EMPTY_ARRAY,
    },
    "dot": _PRECISION,
    "dot_general": {**_PRECISION, **{name: _constant(NONE) for name in DOT_ALGORITHM.split()}},
    "dynamic_broadcast_in_dim": {
        "known_expanding_dimensions": _EMPTY_TENSOR,
        "known_nonexpanding_dimensions": _EMPTY_TENSOR,
    },
    "dynamic_conv": _CONVOLUTION_DEFAULTS,
    "dynamic_gather": _GATHER_DEFAULTS,
    "func": {"sym_visibility": _EMPTY_STRING, "arg_attrs": _EMPTY_ARRAY, "res_attrs": _EMPTY_ARRAY},
    "gather": _GATHER_DEFAULTS,
    "infeed": {"infeed_config": _EMPTY_STRING, "layout": _EMPTY_ARRAY},
    "outfeed": {"outfeed_config": _EMPTY_STRING},
    "recv": _TRANSFER,
    "reduce_scatter": _CHANNEL | _GLOBAL_IDS,
    "reduce_window": {
        "window_strides": _per_dimension(1, _window_rank),
        "base_dilations": _per_dimension(1, _window_rank),
        "window_dilations": _per_dimension(1, _window_rank),
        "padding": _no_padding(_window_rank),
    },
    "scatter": {
        "indices_are_sorted": _FALSE,
        "unique_indices": _FALSE,
        "input_batching_dims": _EMPTY_TENSOR,
        "scatter_indices_batching_dims": _EMPTY_TENSOR,
    },
    "select_and_scatter": {
        "window_strides": _per_dimension(1, _window_rank),
        "padding": _no_padding(_window_rank),
    },
    "send": _TRANSFER,
    "sort": {"dimension": _constant(IntegerAttribute(-1, I64), _is_integer(-1)), "is_stable": _FALSE},
    **{
        name: {"result_accuracy": _ACCURACY}
        for name, versions in OPERATIONS.items()
        if versions[-1].attributes == ("result_accuracy",)
    },
}
"""By operation, the attributes that StableHLO leaves out where they have this value."""

COLLECTIVES: Final = frozenset(name for name, defaults in DEFAULTS.items() if "channel_id" in defaults)
"""The operations whose channel has a handle, which they may leave out."""
