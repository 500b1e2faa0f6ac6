"""Which module of this package declares which operations, so that it is imported when one of them is met.

A test compares the table with what the modules declare.
"""

from __future__ import annotations

from typing import Final

COLUMN_GATHER: Final = "nimblehlo.gather"
FILLED_GATHER: Final = "nimblehlo.filled_gather"
COLUMN_SCATTER: Final = "nimblehlo.scatter"
POSITION_REDUCE: Final = "nimblehlo.position_reduce"
POSITION_SORT: Final = "nimblehlo.position_sort"

_NAMES: Final = {
    "elementwise": {
        "stablehlo": (
            "abs add atan2 cbrt ceil complex cosine divide exponential exponential_minus_one floor imag "
            "real log log_plus_one logistic multiply negate power remainder round_nearest_afz "
            "round_nearest_even rsqrt sign sine sqrt subtract tan tanh"
        ),
    },
    "bitwise": {
        "stablehlo": (
            "and count_leading_zeros not or popcnt shift_left shift_right_logical shift_right_arithmetic xor"
        ),
    },
    "comparison": {"stablehlo": "compare is_finite maximum minimum clamp select"},
    "conversion": {
        "stablehlo": "convert uniform_quantize uniform_dequantize reduce_precision bitcast_convert",
    },
    "creation": {"stablehlo": "constant iota"},
    "movement": {"stablehlo": "concatenate reshape reverse transpose"},
    "slicing": {"stablehlo": "pad slice"},
    "broadcasting": {"stablehlo": "broadcast_in_dim broadcast"},
    "dynamic_shapes": {
        "stablehlo": (
            "dynamic_broadcast_in_dim dynamic_reshape dynamic_iota dynamic_pad real_dynamic_slice "
            "get_dimension_size set_dimension_size"
        ),
    },
    "shape_dialects": {
        "arith": "constant addi subi muli maxsi minsi divsi remsi cmpi select index_cast",
        "tensor": "dim from_elements extract cast",
        "shape": "shape_of const_shape broadcast num_elements",
    },
    "indexing": {"stablehlo": "dynamic_slice dynamic_update_slice torch_index_select"},
    "gather": {"stablehlo": "gather dynamic_gather"},
    "column_gather": {"nimblehlo": "gather filled_gather"},
    "column_scatter": {"nimblehlo": "scatter"},
    "scatter": {"stablehlo": "scatter"},
    "whole_windows": {"nimblehlo": "whole_windows"},
    "reduction": {"stablehlo": "reduce map"},
    "position_reduction": {"nimblehlo": "position_reduce"},
    "window": {"stablehlo": "reduce_window select_and_scatter"},
    "sorting": {"stablehlo": "sort"},
    "position_sorting": {"nimblehlo": "position_sort"},
    "contraction": {"stablehlo": "dot_general dot einsum unary_einsum"},
    "convolution": {"stablehlo": "convolution dynamic_conv"},
    "fourier": {"stablehlo": "fft", "nimblehlo": "fft_of_real"},
    "linalg": {"stablehlo": "cholesky triangular_solve"},
    "random": {"stablehlo": "rng_bit_generator rng"},
    "control": {
        "stablehlo": "while if case return optimization_barrier after_all create_token",
        "func": "call return",
    },
    "cluster": {"nimblehlo": "cluster row_cluster reduction_cluster step_cluster"},
    "composite": {"stablehlo": "composite"},
    "tuples": {"stablehlo": "tuple get_tuple_element"},
    "batch_norm": {"stablehlo": "batch_norm_inference batch_norm_training batch_norm_grad"},
    "shape_custom_calls": {"nimblehlo": "dynamic_reduce_window dynamic_top_k dynamic_rng_bit_generator"},
    "custom_call": {"stablehlo": "custom_call"},
    "chlo": {
        "chlo": (
            "acos acosh asin asinh atan atanh _asin_acos_kernel bessel_i1e conj cosh sinh tan square "
            "digamma erf erf_inv erfc lgamma is_inf is_neg_inf is_pos_inf next_after polygamma zeta "
            "mulhi constant constant_like top_k"
        ),
    },
    "chlo_broadcast": {
        "chlo": (
            "broadcast_add broadcast_and broadcast_atan2 broadcast_complex broadcast_divide "
            "broadcast_maximum broadcast_minimum broadcast_multiply broadcast_next_after broadcast_or "
            "broadcast_polygamma broadcast_power broadcast_remainder broadcast_shift_left "
            "broadcast_shift_right_arithmetic broadcast_shift_right_logical broadcast_subtract "
            "broadcast_xor broadcast_zeta broadcast_compare broadcast_select"
        ),
    },
    "chlo_scan": {"chlo": "scan"},
    "chlo_ragged_dot": {"chlo": "ragged_dot"},
    "sharding": {
        "sdy": (
            "mesh sharding_constraint reshard sharding_group propagation_barrier constant data_flow_edge "
            "func_data_flow_edge return named_computation manual_computation"
        ),
    },
    "sharding_collectives": {
        "sdy": (
            "all_gather all_slice all_to_all collective_permute all_reduce reduce_scatter "
            "sharded_to_unreduced replicated_to_unreduced"
        ),
    },
    "interpreter": {"interpreter": "print probe"},
    "check": {
        "check": (
            "expect_eq expect_eq_const expect_almost_eq expect_almost_eq_const expect_close "
            "expect_serialized_eq"
        ),
    },
}
"""By the module: by the dialect, the names of the operations that it declares."""

FAMILY_OF: Final = {
    f"{dialect}.{name}": family
    for family, dialects in _NAMES.items()
    for dialect, names in dialects.items()
    for name in names.split()
}
"""The module that declares an operation, by the operation's name."""

MESH: Final = "sdy.mesh"
SHARDING_ATTRIBUTES: Final = frozenset(
    {
        "sdy.sharding",
        "sdy.sharding_rule",
        "sdy.propagation_edges",
        "sdy.result_propagation_edges",
        "sdy.block_arg_propagation_edges",
    }
)
"""Attributes of the sdy dialect that any operation may have; `sharding_verify` checks them."""
