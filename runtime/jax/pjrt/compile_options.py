"""The caller's options of a compilation: PJRT's CompileOptionsProto.

Source: xla/pjrt/proto/compile_options.proto of openxla/xla (numbers of fields).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from ...errors import ExecutionError, ParseError
from ..settings import NAMES, Settings, of_overrides
from . import wire

_BUILD_OPTIONS, _OVERRIDES = 3, 7
_REPLICAS, _PARTITIONS, _DEVICE_ASSIGNMENT = 4, 5, 9
_COMPUTATION_DEVICES, _REPLICA_DEVICE_IDS = 3, 1
_TEXT, _BOOLEAN, _INTEGER, _DOUBLE = 1, 2, 3, 4

_XLA_OPTIONS: Final = {
    "xla_allow_excess_precision": bool,
    "xla_backend_optimization_level": int,
    "xla_cpu_copy_insertion_use_region_analysis": bool,
    "xla_cpu_enable_concurrency_optimized_scheduler": bool,
    "xla_cpu_enable_fast_math": bool,
    "xla_cpu_enable_fast_min_max": bool,
    "xla_cpu_fast_math_honor_division": bool,
    "xla_cpu_fast_math_honor_functions": bool,
    "xla_cpu_fast_math_honor_infs": bool,
    "xla_cpu_fast_math_honor_nans": bool,
    "xla_cpu_max_isa": str,
    "xla_cpu_multi_thread_eigen": bool,
    "xla_cpu_parallel_codegen_split_count": int,
    "xla_cpu_prefer_vector_width": int,
    "xla_cpu_use_onednn": bool,
    "xla_cpu_use_xnnpack": bool,
    "xla_detailed_logging": bool,
    "xla_disable_hlo_passes": str,
    "xla_dump_hlo_as_proto": bool,
    "xla_dump_hlo_as_text": bool,
    "xla_dump_hlo_module_re": str,
    "xla_dump_hlo_pass_re": str,
    "xla_dump_max_hlo_modules": int,
    "xla_dump_to": str,
    "xla_embed_ir_in_executable": bool,
    "xla_force_host_platform_device_count": int,
    "xla_gpu_all_gather_combine_threshold_bytes": int,
    "xla_gpu_all_reduce_combine_threshold_bytes": int,
    "xla_gpu_auto_spmd_partitioning_memory_budget_ratio": float,
    "xla_gpu_autotune_level": int,
    "xla_gpu_cublas_fallback": bool,
    "xla_gpu_cudnn_gemm_fusion_level": int,
    "xla_gpu_deterministic_ops": bool,
    "xla_gpu_enable_command_buffer": str,
    "xla_gpu_enable_cublaslt": bool,
    "xla_gpu_enable_highest_priority_async_stream": bool,
    "xla_gpu_enable_latency_hiding_scheduler": bool,
    "xla_gpu_enable_pipelined_all_gather": bool,
    "xla_gpu_enable_pipelined_all_reduce": bool,
    "xla_gpu_enable_pipelined_reduce_scatter": bool,
    "xla_gpu_enable_triton_gemm": bool,
    "xla_gpu_enable_while_loop_double_buffering": bool,
    "xla_gpu_exclude_nondeterministic_ops": bool,
    "xla_gpu_force_compilation_parallelism": int,
    "xla_gpu_graph_min_graph_size": int,
    "xla_gpu_kernel_cache_file": str,
    "xla_gpu_memory_limit_slop_factor": int,
    "xla_gpu_per_fusion_autotune_cache_dir": str,
    "xla_gpu_reduce_scatter_combine_threshold_bytes": int,
    "xla_gpu_triton_gemm_any": bool,
    "xla_hlo_profile": bool,
    "xla_llvm_disable_expensive_passes": bool,
}
"""Options of XLA that programs set. They control XLA's compilation, and have no effect here."""


@dataclass(frozen=True)
class CompileOptions:
    """The part of the options that this runtime reads.

    Attributes:
        replicas, partitions: how many devices run the program, in groups.
        device_ids: the devices, replica by replica.
        settings: how the program is compiled and run.
        serialized: the message itself.
    """

    replicas: int
    partitions: int
    device_ids: tuple[int, ...]
    settings: Settings
    serialized: bytes


def parse_compile_options(serialized: bytes, device_count: int) -> CompileOptions:
    """The options of a message.

    Args:
        serialized: a CompileOptionsProto; it may be empty.
        device_count: the number of devices of the client.

    Raises:
        ParseError: the message is malformed, or names an unknown option.
        ExecutionError: the program names devices that do not exist.
    """
    fields = wire.decode(serialized)
    build = wire.message(fields, _BUILD_OPTIONS)
    replicas = max(1, wire.integer(build, _REPLICAS, 1))
    partitions = max(1, wire.integer(build, _PARTITIONS, 1))
    assignment = wire.message(build, _DEVICE_ASSIGNMENT)
    computations = [
        wire.integers(one, _REPLICA_DEVICE_IDS) for one in wire.messages(assignment, _COMPUTATION_DEVICES)
    ]
    if computations:
        device_ids = tuple([devices[replica] for replica in range(replicas) for devices in computations])
    else:
        device_ids = tuple(range(replicas * partitions))
    if len(device_ids) != replicas * partitions or any(not 0 <= id < device_count for id in device_ids):
        raise ExecutionError(
            f"the program is to run on devices {list(device_ids)} as {replicas} replicas of {partitions} "
            f"partitions, but there are {device_count} devices"
        )
    return CompileOptions(replicas, partitions, device_ids, _settings(fields), serialized)


def _settings(fields: wire.Fields) -> Settings:
    """The settings in the overrides of compile options; options of XLA are checked and ignored."""
    settings = []
    for entry in wire.messages(fields, _OVERRIDES):
        name = wire.text(entry.get(1, [b""])[-1], 1).decode("utf-8", "replace")
        value = _override(wire.message(entry, 2))
        if name in NAMES:
            settings.append((name, value))
        elif name in _XLA_OPTIONS:
            _check_option_type(name, value)
        else:
            raise ParseError(f"No such compile option: '{name}'")
    try:
        return of_overrides(settings)
    except ValueError as error:
        raise ParseError(f"compile options: {error}") from None


def _override(fields: wire.Fields) -> str | bool | int | float:
    if _TEXT in fields:
        return wire.text(fields[_TEXT][-1], _TEXT).decode("utf-8", "replace")
    if _BOOLEAN in fields:
        return bool(wire.integer(fields, _BOOLEAN))
    if _DOUBLE in fields:
        return float(struct.unpack("<d", wire.text(fields[_DOUBLE][-1], _DOUBLE))[0])
    return wire.integer(fields, _INTEGER)


def _check_option_type(name: str, value: str | bool | int | float) -> None:
    """Reject a value that does not have the option's type."""
    type = _XLA_OPTIONS[name]
    is_fitting = isinstance(value, type)
    if isinstance(value, str) and type is bool:
        is_fitting = value.lower() in ("true", "false", "1", "0")
    elif isinstance(value, str) and type is int:
        is_fitting = value.removeprefix("-").isdecimal()
    if not is_fitting:
        raise ParseError(f"While setting option {name}, '{value}' is not a valid {type.__name__} value.")


def device_assignment(options: CompileOptions) -> bytes:
    fields: list[tuple[int, int | bytes]] = [(1, options.replicas), (2, options.partitions)]
    for partition in range(options.partitions):
        ids = options.device_ids[partition :: options.partitions]
        fields.append((_COMPUTATION_DEVICES, wire.encode([(_REPLICA_DEVICE_IDS, wire.pack(ids))])))
    return wire.encode(fields)
