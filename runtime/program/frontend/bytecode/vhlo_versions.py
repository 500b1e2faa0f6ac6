"""What VHLO has in each version of StableHLO: operations, their attributes, attributes and types.

The reader upgrades by these tables and the writer downgrades by them: an attribute that a later version of an
operation adds has its default as meaning in earlier ones (`vhlo_defaults.py`).

Source: StableHLO, the version log of ``VhloDialect.td``; ``VhloOps.td``, ``VhloTypes.td``, ``VhloAttrs.td``
and ``VhloEnums.td`` for the first version of each; ``VhloOps.cpp`` for constraints that depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ....errors import UnsupportedError

Version = tuple[int, int, int]

FIRST_VERSION: Final[Version] = (0, 9, 0)
"""The first version of StableHLO that has portable artifacts."""
LATEST_VERSION: Final[Version] = (1, 22, 0)
"""The latest version of StableHLO whose portable artifacts are known; the writer's default."""
OTHER_DIALECTS_SINCE: Final[Version] = (1, 11, 0)
"""The first version whose artifacts may have operations, attributes and types of other dialects."""
FILE_RANGES_SINCE: Final[Version] = (1, 9, 0)
"""The first version whose readers know locations that are ranges of a file."""

_CONTAINER_VERSIONS: Final = (
    ((0, 9, 0), 0),
    ((0, 10, 0), 1),
    ((0, 12, 0), 3),
    ((0, 14, 0), 4),
    ((0, 15, 0), 6),
)
"""Since which version of StableHLO artifacts have which version of MLIR's bytecode."""
_NUMBERS: Final = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})")


def parse_version(text: str) -> Version:
    """A version from its text.

    Raises:
        UnsupportedError: the text is not of the form ``1.9.0``, or VHLO does not have this version.
    """
    match = _NUMBERS.fullmatch(text)
    if match is None:
        raise UnsupportedError(f"the version {text!r} of StableHLO does not have the form 1.9.0")
    version = (int(match[1]), int(match[2]), int(match[3]))
    if not FIRST_VERSION <= version <= LATEST_VERSION:
        raise UnsupportedError(
            f"artifacts of StableHLO {text} cannot be written; expected a version from "
            f"{version_text(FIRST_VERSION)} to {version_text(LATEST_VERSION)}"
        )
    return version


def version_text(version: Version) -> str:
    """``1.9.0``."""
    return ".".join(map(str, version))


def container_version(version: Version) -> int:
    """The version of MLIR's bytecode in which artifacts of a version are written."""
    return [container for since, container in _CONTAINER_VERSIONS if since <= version][-1]


@dataclass(frozen=True, slots=True)
class OperationVersion:
    """One version of an operation.

    Attributes:
        number: the number in its name, such as 2 in ``all_gather_v2``.
        since: the first version of StableHLO that has it.
        attributes: the names of its attributes.
        is_unary: whether it has one operand where later versions have any number.
        has_regions: whether it can have the regions that the operation has in StableHLO.
    """

    number: int
    since: Version
    attributes: tuple[str, ...] = ()
    is_unary: bool = False
    has_regions: bool = True


def _since(version: str, attributes: str = "", **limits: bool) -> OperationVersion:
    major, minor, patch = map(int, version.split("."))
    return OperationVersion(0, (major, minor, patch), tuple(attributes.split()), **limits)


GATHER_V1: Final = "offset_dims collapsed_slice_dims start_index_map index_vector_dim"
GATHER: Final = (
    "offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims start_index_map "
    "index_vector_dim"
)
SCATTER_V1: Final = "update_window_dims inserted_window_dims scatter_dims_to_operand_dims index_vector_dim"
SCATTER: Final = (
    "update_window_dims inserted_window_dims input_batching_dims scatter_indices_batching_dims "
    "scatter_dims_to_operand_dims index_vector_dim"
)
CONVOLUTION: Final = (
    "input_batch_dimension input_feature_dimension input_spatial_dimensions kernel_input_feature_dimension "
    "kernel_output_feature_dimension kernel_spatial_dimensions output_batch_dimension "
    "output_feature_dimension output_spatial_dimensions"
)
DOT: Final = (
    "lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions rhs_contracting_dimensions"
)
DOT_ALGORITHM: Final = (
    "lhs_precision_type rhs_precision_type accumulation_type lhs_component_count rhs_component_count "
    "num_primitive_operations allow_imprecise_accumulation"
)
_WINDOW: Final = (
    "window_strides lhs_dilation rhs_dilation window_reversal feature_group_count batch_group_count "
    f"precision_config {CONVOLUTION}"
)
_CUSTOM_CALL: Final = (
    "call_target_name has_side_effect backend_config api_version called_computations operand_layouts "
    "result_layouts output_operand_aliases"
)
_GROUPS: Final = "replica_groups channel_id use_global_device_ids"
_ALL_TO_ALL: Final = "split_dimension concat_dimension split_count replica_groups channel_id"
_COMPOSITE: Final = "name composite_attributes decomposition version"
_TRANSFER: Final = "channel_id channel_type is_host_transfer"

_PLAIN: Final = (
    "abs add after_all and atan2 bitcast_convert case ceil clamp complex convert count_leading_zeros "
    "create_token divide dynamic_pad dynamic_reshape dynamic_update_slice floor if imag is_finite maximum "
    "minimum multiply negate not optimization_barrier or partition_id popcnt power real real_dynamic_slice "
    "remainder replica_id reshape return round_nearest_afz round_nearest_even select shift_left "
    "shift_right_arithmetic shift_right_logical sign subtract tuple uniform_dequantize uniform_quantize "
    "while xor"
)
"""The operations without attributes that have not changed since the first version."""

_UNCHANGED: Final = {
    "batch_norm_grad batch_norm_inference batch_norm_training": "epsilon feature_index",
    "broadcast": "broadcast_sizes",
    "broadcast_in_dim": "broadcast_dimensions",
    "call": "callee",
    "cholesky": "lower",
    "collective_permute": "source_target_pairs channel_id",
    "compare": "comparison_direction compare_type",
    "concatenate get_dimension_size set_dimension_size": "dimension",
    "constant": "value",
    "convolution": f"padding {_WINDOW}",
    "cross-replica-sum": "replica_groups",
    "dot": "precision_config",
    "dynamic_broadcast_in_dim": (
        "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"
    ),
    "dynamic_slice": "slice_sizes",
    "einsum unary_einsum": "einsum_config",
    "fft": "fft_type fft_length",
    "func": "sym_name function_type sym_visibility arg_attrs res_attrs",
    "get_tuple_element": "index",
    "infeed": "infeed_config layout",
    "iota dynamic_iota": "iota_dimension",
    "map reduce reverse": "dimensions",
    "outfeed": "outfeed_config",
    "pad": "edge_padding_low edge_padding_high interior_padding",
    "reduce_precision": "exponent_bits mantissa_bits",
    "reduce_scatter": f"scatter_dimension {_GROUPS}",
    "reduce_window": "window_dimensions window_strides base_dilations window_dilations padding",
    "rng": "rng_distribution",
    "rng_bit_generator": "rng_algorithm",
    "select_and_scatter": "window_dimensions window_strides padding",
    "slice": "start_indices limit_indices strides",
    "sort": "dimension is_stable",
    "torch_index_select": "dim batch_dims",
    "transpose": "permutation",
    "triangular_solve": "left_side lower unit_diagonal transpose_a",
}
"""The attributes of other operations that have not changed since the first version."""

_CHANGED: Final = {
    "all_gather": (
        _since("0.9.0", f"all_gather_dim {_GROUPS}", is_unary=True),
        _since("1.5.0", f"all_gather_dim {_GROUPS}"),
    ),
    "all_reduce": (_since("0.9.0", _GROUPS, is_unary=True), _since("1.5.0", _GROUPS)),
    "all_to_all": (_since("0.9.0", _ALL_TO_ALL, is_unary=True), _since("1.5.0", _ALL_TO_ALL)),
    "async_done async_start": (_since("1.15.0"),),
    "cbrt cosine exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tanh": (
        _since("0.9.0"),
        _since("1.10.0", "result_accuracy"),
    ),
    "collective_broadcast": (
        _since("0.16.0", "replica_groups channel_id", is_unary=True),
        _since("1.20.0", "replica_groups channel_id has_dynamic_root"),
    ),
    "collective_reduce": (_since("1.19.0", f"{_GROUPS} has_dynamic_root"),),
    "composite": (_since("0.19.0", _COMPOSITE, has_regions=False), _since("1.14.0", _COMPOSITE)),
    "custom_call": (_since("0.9.0", _CUSTOM_CALL), _since("1.18.0", f"{_CUSTOM_CALL} result_tilings")),
    "dot_general": (
        _since("0.9.0", f"{DOT} precision_config"),
        _since("1.6.0", f"{DOT} precision_config {DOT_ALGORITHM}"),
    ),
    "dynamic_conv": (_since("0.9.0", f"padding {_WINDOW}"), _since("0.20.0", _WINDOW)),
    "dynamic_gather": (
        _since("0.9.0", f"{GATHER_V1} indices_are_sorted"),
        _since("1.1.0", f"{GATHER} indices_are_sorted"),
    ),
    "exponential": (_since("0.9.0"), _since("1.9.0", "result_accuracy")),
    "gather": (
        _since("0.9.0", f"{GATHER_V1} slice_sizes indices_are_sorted"),
        _since("1.1.0", f"{GATHER} slice_sizes indices_are_sorted"),
    ),
    "recv send": (_since("0.9.0", _TRANSFER), _since("1.12.0", f"{_TRANSFER} source_target_pairs")),
    "scatter": (
        _since("0.9.0", f"{SCATTER_V1} indices_are_sorted unique_indices"),
        _since("1.1.0", f"{SCATTER} indices_are_sorted unique_indices"),
    ),
    "tan": (_since("1.4.0"), _since("1.10.0", "result_accuracy")),
}
"""The versions of the operations that changed or were added."""

PROMOTING_SINCE: Final[Version] = (0, 17, 0)
PROMOTING: Final = frozenset(
    {"all_reduce", "reduce", "reduce_scatter", "reduce_window", "scatter", "select_and_scatter"}
)
"""The operations whose results may have other element types than operands since `PROMOTING_SINCE`."""
DICTIONARY_CONFIG_SINCE: Final[Version] = (1, 3, 0)
"""The first version in which the configuration of a custom call may be a dictionary."""
FUTURE_OPERANDS_SINCE: Final[Version] = (1, 17, 0)
"""The first version in which a custom call may take futures."""


def _numbered(versions: tuple[OperationVersion, ...]) -> tuple[OperationVersion, ...]:
    return tuple([replace(version, number=number) for number, version in enumerate(versions, 1)])


OPERATIONS: Final[Mapping[str, tuple[OperationVersion, ...]]] = {
    **{name: _numbered((_since("0.9.0"),)) for name in _PLAIN.split()},
    **{
        name: _numbered((_since("0.9.0", attributes),))
        for names, attributes in _UNCHANGED.items()
        for name in names.split()
    },
    **{name: _numbered(versions) for names, versions in _CHANGED.items() for name in names.split()},
}
"""The versions of each operation, by its name without dialect and version."""

_LATER_TYPES: Final[Mapping[str, Version]] = {
    "f8E4M3FNUZ": (0, 10, 0),
    "f8E5M2FNUZ": (0, 10, 0),
    "f8E4M3B11FNUZ": (0, 11, 0),
    "quantized per axis": (0, 18, 0),
    "i2": (1, 2, 0),
    "ui2": (1, 2, 0),
    "none": (1, 6, 0),
    "tf32": (1, 6, 0),
    "f8E4M3": (1, 7, 0),
    "f8E3M4": (1, 7, 0),
    "f4E2M1FN": (1, 8, 0),
    "f6E2M3FN": (1, 8, 0),
    "f6E3M2FN": (1, 8, 0),
    "f8E8M0FNU": (1, 8, 0),
    "buffer": (1, 13, 0),
    "future": (1, 15, 0),
}
"""The types that the first version does not have."""

_LATER_ATTRIBUTES: Final[Mapping[str, Version]] = {
    "result_accuracy": (1, 9, 0),
    "result_accuracy_mode": (1, 9, 0),
    "axis_ref": (1, 16, 0),
    "mesh": (1, 16, 0),
    "mesh_axis": (1, 16, 0),
    "replica_group_mesh_axes": (1, 16, 0),
    "sub_axis_info": (1, 16, 0),
}
"""The attributes that the first version does not have, by their mnemonics in StableHLO."""


def type_since(name: str) -> Version:
    """The first version that has a type."""
    return _LATER_TYPES.get(name, FIRST_VERSION)


def attribute_since(mnemonic: str) -> Version:
    """The first version that has an attribute."""
    return _LATER_ATTRIBUTES.get(mnemonic, FIRST_VERSION)
