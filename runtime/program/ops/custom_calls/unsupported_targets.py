"""The custom calls of JAX, XLA and other producers that one process on a CPU cannot serve, and why.

`tests/program/ops/custom_calls/test_jax_targets.py` collects all targets that the installed JAX can emit, and
fails for one that is neither served (`targets.BUILT_IN`) nor listed here.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

DEVICES: Final = "it needs several devices"
GPU: Final = "it is a target of GPUs"
TPU: Final = "it is a target of TPUs"
DESCRIPTOR: Final = "jaxlib 0.4 alone reads its descriptor: export the program again"
BOUNDED: Final = "it is an operation on padded values of XLA's own passes: lower the program without them"
ROLES: Final = "it has dimensions without a role, which convolutions of StableHLO lack"
RANDOM_BITS: Final = "it rounds by random bits as XLA's own passes define: lower the program without it"
GENERATOR: Final = "it needs the state of XLA's random generator: pass the state as an argument"
QUANTIZED: Final = (
    "it has types as text, which PyTorch/XLA's export replaces: export the program to StableHLO"
)
LITERT: Final = "it is meant for LiteRT's converter: take the program from its source, such as PyTorch"
TENSORFLOW: Final = "it is a kernel of TensorFlow's runtime"
BYTEIR: Final = "it is an operation of ByteIR's runtime"
BLADEDISC: Final = "it is an operation of BladeDISC's runtime"
TENSTORRENT: Final = "it is an operation of Tenstorrent's processors"
PACKED: Final = "it has operands of two packed numbers an element, which products of StableHLO lack"
COMPILED: Final = "it is an instruction of XLA's compiled modules: take the program before XLA compiles it"
PROCESS: Final = "it calls a function of another process or framework"

UNSUPPORTED: Final[dict[str, str]] = {
    # Programs for one device do not contain these.
    "CustomSPMDPartitioning": DEVICES,
    "InspectSharding": DEVICES,
    "mhlo.all_to_all": DEVICES,
    # Lowering rules of GPUs; programs that are exported for several platforms contain them in branches.
    "__cub$*": GPU,
    "__cublas$*": GPU,
    "__cudnn$*": GPU,
    "__cusolver$*": GPU,
    "__gpu$*": GPU,
    "__op$*": GPU,
    "__xla_gpu_*": GPU,
    "cu_*": GPU,
    "cublas*": GPU,
    "cuda_*": GPU,
    "cudnn_*": GPU,
    "cusolver*": GPU,
    "cusparse*": GPU,
    "cutlass_*": GPU,
    "enzymejax_cublas_*": GPU,
    "fused": GPU,
    "hip_*": GPU,
    "hipblas*": GPU,
    "hipsolver*": GPU,
    "hipsparse*": GPU,
    "mgpu_*": GPU,
    "mosaic_gpu*": GPU,
    "thunky.*": GPU,
    "triton_kernel_call*": GPU,
    "xla.gpu.*": GPU,
    "xla_buffer_python_gpu_callback*": GPU,
    "xla_python_gpu_callback": GPU,
    "xla_ffi_python_gpu_callback": GPU,
    "xla_ffi_partitioned_python_gpu_callback": GPU,
    # Lowering rules of TPUs; XLA:CPU has no targets of these names either.
    "Cholesky": TPU,
    "CompactWyHelper": TPU,
    "Eigh": TPU,
    "InvertDiagBlocks*": TPU,
    "QrDecompositionBlock": TPU,
    "xla.debug.Log": TPU,
    "xla.megascale.*": TPU,
    "ResizeBilinear*": TPU,
    "ResizeNearest*": TPU,
    "LuDecomposition": TPU,
    "SparseActivationsUnstack*": TPU,
    "SparseDenseMatmul*": TPU,
    "SparseGradientsStack*": TPU,
    "X64Combine": TPU,
    "X64SplitHigh": TPU,
    "X64SplitLow": TPU,
    "tpu_custom_call": TPU,
    "xla_python_tpu_callback": TPU,
    "ducc_fft": DESCRIPTOR,
    "dynamic_ducc_fft": DESCRIPTOR,
    "DynamicConvolution*": BOUNDED,
    "DynamicReduceWindowSamePadding": BOUNDED,
    "DynamicSelectAndScatterSamePadding": BOUNDED,
    "PadToStatic": BOUNDED,
    "SetBound": BOUNDED,
    "SliceToDynamic": BOUNDED,
    # What XLA's passes and backends write while they compile.
    "ConcatBitcast": COMPILED,
    "DynamicGte": COMPILED,
    "DynamicTuple": COMPILED,
    "GatherScatterIndicesBitpacked": COMPILED,
    "HostExecute": COMPILED,
    "NopReturnToken": COMPILED,
    "PlaceHolder": COMPILED,
    "SliceId": COMPILED,
    "WindowPrefetch": COMPILED,
    "_SPMDInternalOp_*": COMPILED,
    "__nop": COMPILED,
    "__onednn$*": COMPILED,
    "__xla_internal_*": COMPILED,
    "_xla_multi_module_call": COMPILED,
    "GetRngSeed": GENERATOR,
    # Features of MHLO that StableHLO lacks.
    "mhlo.dot": PACKED,
    "mhlo.dot_general": PACKED,
    "mhlo.convolution": ROLES,
    "mhlo.stochastic_convert": RANDOM_BITS,
    "mhlo.xla.rng_get_and_update_state": GENERATOR,
    "mhlo.uniform_dequantize": QUANTIZED,
    "mhlo.uniform_quantize": QUANTIZED,
    # TensorFlow's graph is not part of the module, and operations that have no lowering stay calls.
    "tf.call_tf_function": PROCESS,
    "*_xla_impl": TENSORFLOW,
    "tf.*": TENSORFLOW,
    # What LiteRT (TensorFlow Lite) writes between its passes; the types of odml_torch's calls are texts.
    "custom_call.*": LITERT,
    "dummy_to_be_erased": LITERT,
    "odml_torch.*": LITERT,
    "quant.*": LITERT,
    "stablehlo.composite": LITERT,
    "tfl.*": LITERT,
    "byteir.*": BYTEIR,
    "enzymexla_*": PROCESS,
    "jaxzyme.*": PROCESS,
    "reactant_*": PROCESS,
    "CallTfKernel*": PROCESS,
    "GenericTfCallback*": PROCESS,
    "ral_*": BLADEDISC,
    "torch_blade.*": BLADEDISC,
    "tenstorrent.*": TENSTORRENT,
    "tt.*": TENSTORRENT,
    # JAX before 0.7: the descriptor is the address of a Python function.
    "xla_python_cpu_callback": PROCESS,
}
"""The requirement of a target, by its name or a pattern of names."""


OTHER_PLATFORMS: Final = frozenset({GPU, TPU})
"""Programs that JAX exports for several platforms have such calls in branches that do not run."""


def unsupported_reason(target: str) -> str | None:
    """Why a target is not served; None if it is not known."""
    return next((reason for pattern, reason in UNSUPPORTED.items() if fnmatchcase(target, pattern)), None)
