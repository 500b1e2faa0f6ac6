"""The registry from operation names to the modules that declare them, for imports on demand.

A test compares the table with what the modules declare.
"""

from __future__ import annotations

from typing import Final

COMPONENT_SCATTER: Final = "nimblehlo.component_scatter"
ARG_REDUCE: Final = "nimblehlo.arg_reduce"
ARG_SORT: Final = "nimblehlo.arg_sort"

_NAMES: Final = {
    "elementwise.arithmetic": {
        "stablehlo": (
            "abs add atan2 ceil complex divide floor imag real multiply negate power remainder "
            "round_nearest_afz round_nearest_even rsqrt sign sqrt subtract"
        )
    },
    "elementwise.functions": {
        "stablehlo": (
            "cbrt cosine exponential exponential_minus_one log log_plus_one logistic sine tan tanh"
        )
    },
    "elementwise.bitwise": {
        "stablehlo": (
            "and count_leading_zeros not or popcnt shift_left shift_right_logical shift_right_arithmetic xor"
        )
    },
    "elementwise.comparison": {"stablehlo": "compare is_finite maximum minimum clamp select"},
    "elementwise.conversion": {
        "stablehlo": "convert uniform_quantize uniform_dequantize reduce_precision bitcast_convert"
    },
    "shape.creation": {"stablehlo": "constant iota"},
    "shape.layout": {"stablehlo": "concatenate reshape reverse transpose"},
    "shape.slicing": {"stablehlo": "pad slice"},
    "shape.broadcasting": {"stablehlo": "broadcast_in_dim broadcast"},
    "shape.dynamic_shapes": {
        "stablehlo": (
            "dynamic_broadcast_in_dim dynamic_reshape dynamic_iota dynamic_pad real_dynamic_slice "
            "get_dimension_size set_dimension_size"
        )
    },
    "shape.shape_dialects": {
        "arith": "constant addi subi muli maxsi minsi divsi remsi cmpi select index_cast",
        "tensor": "dim from_elements extract cast",
        "shape": "shape_of const_shape broadcast num_elements",
    },
    "indexing.dynamic_slice": {"stablehlo": "dynamic_slice dynamic_update_slice torch_index_select"},
    "indexing.gather": {"stablehlo": "gather dynamic_gather"},
    "intermediate.component_scatter": {"nimblehlo": "component_scatter"},
    "indexing.scatter": {"stablehlo": "scatter"},
    "intermediate.partial_windows": {"nimblehlo": "exclude_partial_windows"},
    "reduction.reduce": {"stablehlo": "reduce map"},
    "intermediate.arg_reduce": {"nimblehlo": "arg_reduce"},
    "reduction.reduce_window": {"stablehlo": "reduce_window select_and_scatter"},
    "sorting.sort": {"stablehlo": "sort"},
    "sorting.top_k": {"chlo": "top_k"},
    "intermediate.arg_sort": {"nimblehlo": "arg_sort"},
    "contraction.dot_general": {"stablehlo": "dot_general dot einsum unary_einsum"},
    "contraction.convolution": {"stablehlo": "convolution dynamic_conv"},
    "fft.fft": {"stablehlo": "fft", "nimblehlo": "fft_of_real"},
    "linalg.linalg": {"stablehlo": "cholesky triangular_solve"},
    "random.random": {"stablehlo": "rng_bit_generator rng"},
    "control.control": {
        "stablehlo": "while if case return optimization_barrier after_all create_token",
        "func": "call return",
    },
    "intermediate.fusion": {"nimblehlo": "fusion row_fusion reduction_fusion step_fusion launched"},
    "control.composite": {"stablehlo": "composite"},
    "shape.tuples": {"stablehlo": "tuple get_tuple_element"},
    "batch_norm.batch_norm": {"stablehlo": "batch_norm_inference batch_norm_training batch_norm_grad"},
    "custom_calls.sized_by_operands": {
        "nimblehlo": "dynamic_reduce_window dynamic_top_k dynamic_rng_bit_generator"
    },
    "custom_calls.approx_top_k": {"nimblehlo": "approx_top_k dynamic_approx_top_k"},
    "custom_calls.compared_top_k": {"nimblehlo": "compared_top_k"},
    "custom_calls.custom_call": {"stablehlo": "custom_call"},
    "chlo.elementwise": {
        "chlo": (
            "is_inf is_neg_inf is_pos_inf _asin_acos_kernel conj next_after polygamma zeta mulhi constant "
            "constant_like"
        )
    },
    "chlo.functions": {
        "chlo": (
            "acos acosh asin asinh atan atanh bessel_i1e cosh sinh square tan digamma erf erf_inv erfc lgamma"
        )
    },
    "chlo.broadcast": {
        "chlo": (
            "broadcast_add broadcast_and broadcast_atan2 broadcast_complex broadcast_divide "
            "broadcast_maximum broadcast_minimum broadcast_multiply broadcast_next_after broadcast_or "
            "broadcast_polygamma broadcast_power broadcast_remainder broadcast_shift_left "
            "broadcast_shift_right_arithmetic broadcast_shift_right_logical broadcast_subtract "
            "broadcast_xor broadcast_zeta broadcast_compare broadcast_select"
        )
    },
    "chlo.scan": {"chlo": "scan"},
    "chlo.ragged_dot": {"chlo": "ragged_dot"},
    "sharding.operations": {
        "sdy": (
            "mesh sharding_constraint reshard sharding_group propagation_barrier constant data_flow_edge "
            "func_data_flow_edge return named_computation manual_computation"
        )
    },
    "sharding.collectives": {
        "sdy": (
            "all_gather all_slice all_to_all collective_permute all_reduce reduce_scatter "
            "sharded_to_unreduced replicated_to_unreduced"
        )
    },
    "collectives.movement": {"stablehlo": "all_gather all_to_all collective_broadcast collective_permute"},
    "collectives.reduction": {"stablehlo": "all_reduce reduce_scatter collective_reduce"},
    "collectives.channels": {"stablehlo": "replica_id partition_id send recv infeed outfeed"},
    "collectives.asynchronous": {"stablehlo": "async_start async_done"},
    "collectives.parallel": {"interpreter": "run_parallel"},
    "collectives.manual": {"nimblehlo": "manual_computation"},
    "collectives.ragged": {"nimblehlo": "ragged_all_to_all"},
    "test_dialects.interpreter": {"interpreter": "print probe"},
    "test_dialects.check": {
        "check": (
            "expect_eq expect_eq_const expect_almost_eq expect_almost_eq_const expect_close "
            "expect_serialized_eq"
        )
    },
}
"""For each module and dialect, the names of the operations that the module declares."""

MODULE_OF_OPERATION: Final = {
    f"{dialect}.{name}": module
    for module, dialects in _NAMES.items()
    for dialect, names in dialects.items()
    for name in names.split()
}
"""The module that declares an operation, by the operation's name with its dialect."""

PROCESS_IDS: Final = ("stablehlo.replica_id", "stablehlo.partition_id")
"""Operations whose results differ between the processes of a grid that run one program."""

RUN_PARALLEL: Final = "interpreter.run_parallel"
MANUAL_COMPUTATION: Final = "nimblehlo.manual_computation"
PROGRAM_PER_PROCESS: Final = frozenset({*PROCESS_IDS, RUN_PARALLEL, MANUAL_COMPUTATION})
"""Operations for which programs get the ids of their process as arguments (`specialize.process_ids`)."""

COMMUNICATING: Final = frozenset(
    name for name, module in MODULE_OF_OPERATION.items() if module.startswith("collectives.")
).difference(PROCESS_IDS)
"""Operations that communicate with other processes or the host: they run on a grid."""

VERIFY_SHARDINGS: Final = "sharding.verify"
"""The module whose `verify_shardings` checks the sharding annotations of a program."""

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
"""Attributes of the sdy dialect that any operation may have; `sharding/verify.py` checks them."""

LEGACY: Final = frozenset(
    {
        "stablehlo.compute_reshape_shape",
        "stablehlo.cstr_reshapable",
        *(
            f"{dialect}.{name}"
            for dialect in ("chlo", "chlo_legacy")
            for name in (
                "dynamic_reshape",
                "minimum_broadcast_shapes",
                "rank_specialization_cluster",
                "rank_specialization_cluster_yield",
            )
        ),
    }
)
"""Operations that StableHLO has removed: the RFC on dynamism, P1, gives the reason."""
