"""Upgrade the operations of VHLO to those of StableHLO.

An operation of VHLO has a version in its name, no attribute with a default, and no attribute with fields:
each field is an attribute of its own. Earlier versions of an operation lack attributes whose default is their
meaning, so that all versions of one are upgraded alike.

Source: StableHLO, ``VhloOps.td`` for the attributes, ``VhloLegalizeToStablehlo.cpp`` and
``VhloToVersionPatterns.td`` for the meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from ....errors import UnsupportedError
from ....types import element_type
from ...ir import (
    ArrayAttribute,
    Attribute,
    BoolAttribute,
    DenseArrayAttribute,
    DenseElementsAttribute,
    DictionaryAttribute,
    EnumAttribute,
    IntegerAttribute,
    StringAttribute,
    StructAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from ...ir.attributes import FieldValue
from ...ops.framework.declaration import lookup
from .vhlo import ENUMS, NONE, struct

_VERSIONED: Final = re.compile(r"vhlo\.([\w-]+)_v(\d+)")
_I32: Final = element_type("i32")

_FUNC_NAMES: Final = {"func": "func.func", "call": "func.call"}
"""The operations that are not StableHLO's."""

_GATHER_V1: Final = "offset_dims collapsed_slice_dims start_index_map index_vector_dim"
_GATHER: Final = (
    "offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims start_index_map "
    "index_vector_dim"
)
_SCATTER_V1: Final = "update_window_dims inserted_window_dims scatter_dims_to_operand_dims index_vector_dim"
_SCATTER: Final = (
    "update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims "
    "scatter_dims_to_operand_dims index_vector_dim"
)
_CONVOLUTION: Final = (
    "input_batch_dimension input_feature_dimension input_spatial_dimensions kernel_input_feature_dimension "
    "kernel_output_feature_dimension kernel_spatial_dimensions output_batch_dimension "
    "output_feature_dimension output_spatial_dimensions"
)
_DOT: Final = (
    "lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions rhs_contracting_dimensions"
)
_DOT_ALGORITHM: Final = (
    "lhs_precision_type rhs_precision_type accumulation_type lhs_component_count rhs_component_count "
    "num_primitive_operations allow_imprecise_accumulation"
)
_WINDOW: Final = (
    "window_strides lhs_dilation rhs_dilation window_reversal feature_group_count batch_group_count "
    f"precision_config {_CONVOLUTION}"
)
_CUSTOM_CALL: Final = (
    "call_target_name has_side_effect backend_config api_version called_computations operand_layouts "
    "result_layouts output_operand_aliases"
)
_ACCURATE: Final = (
    "cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh"
)

_ATTRIBUTES: Final = {
    "all_gather_v1 all_gather_v2": "all_gather_dim replica_groups channel_id use_global_device_ids",
    "all_reduce_v1 all_reduce_v2": "replica_groups channel_id use_global_device_ids",
    "all_to_all_v1 all_to_all_v2": "split_dimension concat_dimension split_count replica_groups channel_id",
    "batch_norm_grad_v1 batch_norm_inference_v1 batch_norm_training_v1": "epsilon feature_index",
    "broadcast_in_dim_v1": "broadcast_dimensions",
    "broadcast_v1": "broadcast_sizes",
    "call_v1": "callee",
    "cholesky_v1": "lower",
    "collective_broadcast_v1": "replica_groups channel_id",
    "collective_broadcast_v2": "replica_groups channel_id has_dynamic_root",
    "collective_reduce_v1": "replica_groups channel_id use_global_device_ids has_dynamic_root",
    "collective_permute_v1": "source_target_pairs channel_id",
    "compare_v1": "comparison_direction compare_type",
    "composite_v1 composite_v2": "name composite_attributes decomposition version",
    "concatenate_v1 get_dimension_size_v1 set_dimension_size_v1": "dimension",
    "constant_v1": "value",
    "convolution_v1 dynamic_conv_v1": f"padding {_WINDOW}",
    "dynamic_conv_v2": _WINDOW,
    "cross-replica-sum_v1": "replica_groups",
    "custom_call_v1": _CUSTOM_CALL,
    "custom_call_v2": f"{_CUSTOM_CALL} result_tilings",
    "dot_general_v1": f"{_DOT} precision_config",
    "dot_general_v2": f"{_DOT} precision_config {_DOT_ALGORITHM}",
    "dot_v1": "precision_config",
    "dynamic_broadcast_in_dim_v1": (
        "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"
    ),
    "dynamic_gather_v1": f"{_GATHER_V1} indices_are_sorted",
    "dynamic_gather_v2": f"{_GATHER} indices_are_sorted",
    "iota_v1 dynamic_iota_v1": "iota_dimension",
    "dynamic_slice_v1": "slice_sizes",
    "einsum_v1 unary_einsum_v1": "einsum_config",
    "fft_v1": "fft_type fft_length",
    "func_v1": "sym_name function_type sym_visibility arg_attrs res_attrs",
    "gather_v1": f"{_GATHER_V1} slice_sizes indices_are_sorted",
    "gather_v2": f"{_GATHER} slice_sizes indices_are_sorted",
    "get_tuple_element_v1": "index",
    "infeed_v1": "infeed_config layout",
    "map_v1 reduce_v1 reverse_v1": "dimensions",
    "outfeed_v1": "outfeed_config",
    "pad_v1": "edge_padding_low edge_padding_high interior_padding",
    "recv_v1 send_v1": "channel_id channel_type is_host_transfer",
    "recv_v2 send_v2": "channel_id channel_type is_host_transfer source_target_pairs",
    "reduce_precision_v1": "exponent_bits mantissa_bits",
    "reduce_scatter_v1": "scatter_dimension replica_groups channel_id use_global_device_ids",
    "reduce_window_v1": "window_dimensions window_strides base_dilations window_dilations padding",
    "rng_bit_generator_v1": "rng_algorithm",
    "rng_v1": "rng_distribution",
    "scatter_v1": f"{_SCATTER_V1} indices_are_sorted unique_indices",
    "scatter_v2": f"{_SCATTER} indices_are_sorted unique_indices",
    "select_and_scatter_v1": "window_dimensions window_strides padding",
    "slice_v1": "start_indices limit_indices strides",
    "sort_v1": "dimension is_stable",
    "torch_index_select_v1": "dim batch_dims",
    "transpose_v1": "permutation",
    "triangular_solve_v1": "left_side lower unit_diagonal transpose_a",
    " ".join(f"{name}_v2" for name in _ACCURATE.split()): "result_accuracy",
}

PROPERTIES: Final = {
    f"vhlo.{name}": attributes for names, attributes in _ATTRIBUTES.items() for name in names.split()
}
"""The attributes of each operation of VHLO that has some."""

_STRUCTS: Final = {
    "convolution": (("dimension_numbers", "conv", _CONVOLUTION),),
    "dynamic_conv": (("dimension_numbers", "conv", _CONVOLUTION),),
    "dot_general": (
        ("dot_dimension_numbers", "dot", _DOT),
        ("algorithm", "dot_algorithm", _DOT_ALGORITHM),
    ),
    "gather": (("dimension_numbers", "gather", _GATHER),),
    "dynamic_gather": (("dimension_numbers", "gather", _GATHER),),
    "scatter": (("scatter_dimension_numbers", "scatter", _SCATTER),),
}
"""The attributes that are fields of a struct attribute in StableHLO: its name, its mnemonic, its fields."""

_ARRAYS: Final = {
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


def _is_false(value: Attribute) -> bool:
    return isinstance(value, BoolAttribute) and not value.value


def _is_integer(expected: int) -> Callable[[Attribute], bool]:
    return lambda value: isinstance(value, IntegerAttribute) and value.value == expected


def _is_empty(value: Attribute) -> bool:
    """Whether it is a string, a list, a dictionary or a tensor without elements."""
    if isinstance(value, StringAttribute):
        return not value.value
    if isinstance(value, (ArrayAttribute, DictionaryAttribute)):
        return not value.values
    return isinstance(value, DenseElementsAttribute) and not value.type.size


def _is_splat(expected: int) -> Callable[[Attribute], bool]:
    """Whether it is a tensor with elements, all of which are `expected`."""

    def holds(value: Attribute) -> bool:
        if not isinstance(value, DenseElementsAttribute) or not value.type.size:
            return False
        return bool(np.all(value.array == expected))

    return holds


def _is_enum(name: str) -> Callable[[Attribute], bool]:
    return lambda value: isinstance(value, EnumAttribute) and value.value == name


def _has_default_precision(value: Attribute) -> bool:
    return isinstance(value, ArrayAttribute) and all(map(_is_enum("DEFAULT"), value))


def _has_default_accuracy(value: Attribute) -> bool:
    if not isinstance(value, StructAttribute):
        return False
    fields = value.fields
    mode = fields.get("mode")
    is_default = isinstance(mode, EnumAttribute) and mode.value == "DEFAULT"
    return is_default and not any(fields.get(name) for name in ("atol", "rtol", "ulps"))


_CHANNEL: Final = {"channel_id": _is_integer(0)}
_GLOBAL_IDS: Final = {"use_global_device_ids": _is_false}
_DYNAMIC_ROOT: Final = {"has_dynamic_root": _is_false}
_PRECISION: Final = {"precision_config": _has_default_precision}
_CONVOLUTION_DEFAULTS: Final = {
    "window_strides": _is_splat(1),
    "padding": _is_splat(0),
    "lhs_dilation": _is_splat(1),
    "rhs_dilation": _is_splat(1),
    "window_reversal": _is_splat(0),
    **_PRECISION,
}

_DEFAULTS: Final[Mapping[str, Mapping[str, Callable[[Attribute], bool]]]] = {
    "all_gather": _CHANNEL | _GLOBAL_IDS,
    "all_reduce": _CHANNEL | _GLOBAL_IDS,
    "all_to_all": _CHANNEL,
    "cholesky": {"lower": _is_false},
    "collective_broadcast": _CHANNEL | _DYNAMIC_ROOT,
    "collective_permute": _CHANNEL,
    "collective_reduce": _CHANNEL | _GLOBAL_IDS | _DYNAMIC_ROOT,
    "compare": {"compare_type": _is_enum("NOTYPE")},
    "composite": {"version": _is_integer(0), "composite_attributes": _is_empty},
    "convolution": _CONVOLUTION_DEFAULTS,
    "custom_call": {
        "has_side_effect": _is_false,
        "backend_config": _is_empty,
        "api_version": _is_enum("API_VERSION_ORIGINAL"),
        "called_computations": _is_empty,
        "output_operand_aliases": _is_empty,
        "result_tilings": _is_empty,
    },
    "dot": _PRECISION,
    "dot_general": _PRECISION,
    "dynamic_broadcast_in_dim": {
        "known_expanding_dimensions": _is_empty,
        "known_nonexpanding_dimensions": _is_empty,
    },
    "dynamic_conv": _CONVOLUTION_DEFAULTS,
    "dynamic_gather": {"indices_are_sorted": _is_false},
    "func": {"sym_visibility": _is_empty, "arg_attrs": _is_empty, "res_attrs": _is_empty},
    "gather": {"indices_are_sorted": _is_false},
    "infeed": {"layout": _is_empty},
    "recv": {"is_host_transfer": _is_false, "source_target_pairs": _is_empty},
    "reduce_scatter": _CHANNEL | _GLOBAL_IDS,
    "reduce_window": {
        "window_strides": _is_splat(1),
        "base_dilations": _is_splat(1),
        "window_dilations": _is_splat(1),
        "padding": _is_splat(0),
    },
    "scatter": {"indices_are_sorted": _is_false, "unique_indices": _is_false},
    "select_and_scatter": {"window_strides": _is_splat(1), "padding": _is_splat(0)},
    "send": {"is_host_transfer": _is_false, "source_target_pairs": _is_empty},
    "sort": {"dimension": _is_integer(-1), "is_stable": _is_false},
    **{name: {"result_accuracy": _has_default_accuracy} for name in _ACCURATE.split()},
}
"""By operation, the attributes that StableHLO leaves out where they have this value."""

_COLLECTIVES: Final = frozenset(name for name, defaults in _DEFAULTS.items() if "channel_id" in defaults)


def require_known(name: str) -> str:
    """The name of an operation of VHLO without dialect and version.

    Raises:
        UnsupportedError: there is no such operation, or no such version of it.
    """
    match = _VERSIONED.fullmatch(name)
    if match is not None:
        kind, version = match.groups()
        # An operation without attributes has one version; functions have had an accuracy since the second.
        has_attributes = f"vhlo.{kind}_v1" in PROPERTIES
        is_first = (
            version == "1"
            and not has_attributes
            and (kind == "return" or lookup(f"stablehlo.{kind}") is not None)
        )
        if is_first or name in PROPERTIES:
            return kind
    raise UnsupportedError("this operation, or this version of it, is not known", operation=name)


def upgrade(name: str, attributes: Mapping[str, Attribute]) -> tuple[str, Mapping[str, Attribute]]:
    """The operation of StableHLO, or of the func dialect, that one of VHLO stands for.

    Args:
        name: the name in VHLO, such as ``"vhlo.add_v1"``.
        attributes: its attributes, of the builtin and StableHLO dialects.

    Raises:
        UnsupportedError: there is no such operation, or no such version of it.
    """
    kind = require_known(name)
    remaining = _without_defaults(kind, attributes)
    upgraded: dict[str, Attribute] = {}
    for attribute, mnemonic, fields in _STRUCTS.get(kind, ()):
        stated = {each: remaining.pop(each) for each in fields.split() if each in remaining}
        structured = _struct(mnemonic, stated)
        if structured is not None:
            upgraded[attribute] = structured
    if kind in ("send", "recv") or (kind in _COLLECTIVES and "channel_id" in remaining):
        upgraded["channel_handle"] = _channel(remaining)
    arrays = _ARRAYS.get(kind, "").split()
    for attribute, value in remaining.items():
        converted = _array(value) if attribute in arrays else _special(kind, attribute, value)
        if converted is not None:
            upgraded[attribute] = converted
    return _FUNC_NAMES.get(kind, f"stablehlo.{kind}"), upgraded


def _without_defaults(kind: str, attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The attributes that StableHLO states."""
    defaults = _DEFAULTS.get(kind, {})
    kept = {
        name: value for name, value in attributes.items() if name not in defaults or not defaults[name](value)
    }
    if kind == "custom_call" and all(
        _is_empty(kept.get(name, StringAttribute(""))) for name in ("operand_layouts", "result_layouts")
    ):
        kept.pop("operand_layouts", None)
        kept.pop("result_layouts", None)
    if kind == "dynamic_conv":
        # An operand gives the padding since version 0.20.0; before, the attribute stated the same or nothing.
        kept.pop("padding", None)
    return kept


def _struct(mnemonic: str, attributes: Mapping[str, Attribute]) -> StructAttribute | None:
    """A struct attribute of fields that are attributes in VHLO; None if they are absent."""
    if any(value == NONE for value in attributes.values()) or not attributes:
        return None
    return struct(mnemonic, **{name: _field(value) for name, value in attributes.items()})


def _field(value: Attribute) -> FieldValue:
    if isinstance(value, (BoolAttribute, IntegerAttribute)):
        return value.value
    if isinstance(value, TypeAttribute):
        return value.type
    if isinstance(value, DenseElementsAttribute):
        return tuple(value.array.ravel().tolist())
    return value


def _channel(remaining: dict[str, Attribute]) -> StructAttribute:
    """The handle of a channel; only host transfers state its type."""
    zero = IntegerAttribute(0, element_type("i64"))
    return StructAttribute(
        "stablehlo",
        "channel_handle",
        {
            "handle": _field(remaining.pop("channel_id", zero)),
            "type": _field(remaining.pop("channel_type", zero)),
        },
    )


def _array(value: Attribute) -> Attribute:
    """The array of a tensor of rank 1."""
    if not isinstance(value, DenseElementsAttribute):
        return value
    return DenseArrayAttribute(value.type.plain_element_type, tuple(value.array.ravel().tolist()))


def _special(kind: str, name: str, value: Attribute) -> Attribute | None:
    """An attribute that has another form in StableHLO; None where it is absent there."""
    if name in ("use_global_device_ids", "has_dynamic_root"):
        return UnitAttribute()
    if (kind, name) == ("custom_call", "api_version") and isinstance(value, EnumAttribute):
        number = ENUMS["custom_call_api_version"].index(value.value)
        return IntegerAttribute(number, _I32)
    if (kind, name) in (("call", "callee"), ("composite", "decomposition")):
        return _symbol(value)
    if (kind, name) == ("custom_call", "called_computations") and isinstance(value, ArrayAttribute):
        return ArrayAttribute(tuple(map(_symbol, value)))
    return value


def _symbol(value: Attribute) -> Attribute:
    return SymbolAttribute(value.value) if isinstance(value, StringAttribute) else value
