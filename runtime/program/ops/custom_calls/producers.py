"""Which programs write a custom call target.

Source: the sources of JAX 0.4 to 0.12, XLA (its client library, its passes, and its conversions between HLO,
MHLO and StableHLO), PyTorch/XLA, torchax, torch-mlir, the files of TensorFlow that write such calls, LiteRT
and its converter of PyTorch's programs, Shardy, ByteIR, Enzyme-JAX, Reactant, BladeDISC, Tenstorrent's
compiler, and StableHLO with its tests.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

_JAX: Final = "JAX"
_JAX_AND_XLA: Final = "JAX, XLA"
_XLA: Final = "XLA"
_PYTORCH_XLA: Final = "PyTorch/XLA"
_LITERT: Final = "LiteRT"
_SHARDING: Final = "JAX, XLA, PyTorch/XLA, TensorFlow"
_MHLO: Final = "XLA, PyTorch/XLA, TensorFlow"

PRODUCERS: Final[dict[str, str]] = {
    "Sharding": _SHARDING,
    "SPMD*": _SHARDING,
    "tpu_custom_call": "JAX, PyTorch/XLA",
    "annotate_device_placement": "JAX, PyTorch/XLA",
    # What XLA's client library and passes write.
    "AllocateBuffer": _JAX_AND_XLA,
    "ApproxTopK": _JAX_AND_XLA,
    "AssumeGatherIndicesInBound": _XLA,
    "Cholesky": _XLA,
    "CompactWyHelper": _XLA,
    "ConcatBitcast": _XLA,
    "Dynamic*": _XLA,
    "GatherScatterIndicesBitpacked": _XLA,
    "GetRngSeed": _XLA,
    "HostExecute": _XLA,
    "InvertDiagBlocks*": _XLA,
    "NopReturnToken": _XLA,
    "PlaceHolder": _XLA,
    "QrDecompositionBlock": _XLA,
    "SliceId": _XLA,
    "WindowPrefetch": _XLA,
    "_SPMDInternalOp_*": _XLA,
    "_xla_multi_module_call": _XLA,
    "cutlass_*": _XLA,
    "stablehlo.shape_refinement_operand_wrapper": "StableHLO",
    "xla.debug.Log": _XLA,
    "xla.gpu.*": _XLA,
    "xla.megascale.*": _XLA,
    "CreateBuffer": _JAX_AND_XLA,
    "CustomSPMDPartitioning": _JAX_AND_XLA,
    "Eigh": _JAX_AND_XLA,
    "InspectSharding": _JAX_AND_XLA,
    "LayoutConstraint": _JAX_AND_XLA,
    "LuDecomposition": _JAX_AND_XLA,
    "MoveTo*": _XLA,
    "PadToStatic": _XLA,
    "PartialReduce": _XLA,
    "PinToDevice*": _XLA,
    "Pin": _JAX_AND_XLA,
    "ProductOfElementaryHouseholderReflectors": _JAX_AND_XLA,
    "Qr": _JAX_AND_XLA,
    "SetBound": "XLA, TensorFlow",
    "SliceToDynamic": _XLA,
    "Sparse*": "XLA, TensorFlow, embeddings of JAX on TPUs",
    "TopK": _XLA,
    "Unpin": _JAX_AND_XLA,
    "X64*": _XLA,
    "*-start": _XLA,
    "*-done": _XLA,
    "__*": _XLA,
    "chlo.*": _XLA,
    "fused": _XLA,
    "xla.sdy.*": _JAX_AND_XLA,
    # MHLO's operations; PyTorch/XLA writes them for programs of unknown sizes, and for quantized ones.
    "mhlo.dynamic_*": _PYTORCH_XLA,
    "mhlo.real_dynamic_slice": _PYTORCH_XLA,
    "mhlo.uniform_*": _PYTORCH_XLA,
    "mhlo.erf": _MHLO,
    "mhlo.topk": _MHLO,
    "mhlo.*": _XLA,
    "Resize*": "PyTorch/XLA, TensorFlow",
    "xla_mark_tensor": _PYTORCH_XLA,
    # What other projects write.
    "byteir.*": "ByteIR",
    "check.*": "tests of StableHLO",
    "CallTfKernel*": "TensorFlow",
    "GenericTfCallback*": "TensorFlow",
    "enzymejax_*": "Enzyme-JAX",
    "enzymexla_*": "Enzyme-JAX",
    "jaxzyme.*": "Enzyme-JAX",
    "ral_*": "BladeDISC",
    "reactant_*": "Reactant",
    "tenstorrent.*": "Tenstorrent's compiler",
    "torch_blade.*": "BladeDISC",
    "tt.*": "Tenstorrent's compiler",
    "tf.call_tf_function": "JAX",
    "tf.*": "TensorFlow, ByteIR",
    "*_xla_impl": "TensorFlow",
    "custom_call.*": _LITERT,
    "dummy_to_be_erased": _LITERT,
    "mark_tensor": _LITERT,
    "odml_torch.*": _LITERT,
    "quant.*": _LITERT,
    "stablehlo.composite": _LITERT,
    "tfl.*": _LITERT,
    # The rest is JAX's: LAPACK, callbacks, kernels of GPUs, sizes that are operands.
    "*": _JAX,
}
"""The producers of a target, by its name or a pattern of names; the first pattern that matches counts."""


def producers_of(target: str) -> str:
    """The programs that write a target, or the targets of a pattern."""
    return next(producers for pattern, producers in PRODUCERS.items() if fnmatchcase(target, pattern))
