"""Custom calls in the forms of XLA and PyTorch/XLA, and the page that lists all targets."""

from __future__ import annotations

import json
import re
from fnmatch import fnmatchcase

import numpy as np
import pytest

from nimblehlo import UnsupportedError, VerifyError, execute, load
from nimblehlo.program.ops.custom_calls.producers import PRODUCERS, producers_of
from nimblehlo.program.ops.custom_calls.targets import BUILT_IN
from nimblehlo.program.ops.custom_calls.unsupported_targets import UNSUPPORTED
from tests.support.running import assert_same_bits, run_every_way
from tools.custom_call_targets import DOCUMENT, document, served

MARKED = """
module @IrToHlo.1 attributes {mhlo.cross_program_prefetches = [], mhlo.is_dynamic = false} {
  func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.custom_call @xla_mark_tensor(%arg0) {backend_config =
      "{\\22name\\22: \\22sample\\22, \\22pos\\22: 0, \\22id\\22: \\220\\22, \\22is_input\\22: true}"
    } : (tensor<3xf32>) -> tensor<3xf32>
    %1 = stablehlo.add %0, %0 : tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}
"""


def test_a_mark_of_pytorch_xla_is_its_operand() -> None:
    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(execute(MARKED, [x])[0], x + x)


@pytest.mark.parametrize(
    "target", ["AssumeGatherIndicesInBound", "PinToDevice", "PinToDeviceSram", "mark_tensor"]
)
def test_marks_are_their_operand(target: str) -> None:
    text = f"""
    func.func @main(%x: tensor<2x3xi32>) -> tensor<2x3xi32> {{
      %0 = stablehlo.custom_call @{target}(%x) : (tensor<2x3xi32>) -> tensor<2x3xi32>
      return %0 : tensor<2x3xi32>
    }}
    """
    x = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(execute(text, [x])[0], x)
    other = text.replace("-> tensor<2x3xi32>", "-> tensor<3x2xi32>").replace(
        "%0 : tensor<2x3", "%0 : tensor<3x2"
    )
    with pytest.raises(UnsupportedError, match="changes the type of a value"):
        load(other)


@pytest.mark.parametrize(
    "target",
    [
        *("SparseDenseMatmulWithMinibatchingOp", "X64Combine", "PadToStatic"),
        *("odml_torch.uniform_quantize", "quant.fake_quant", "argmax_float_1d_xla_impl"),
    ],
)
def test_what_other_platforms_and_passes_need_is_told(target: str) -> None:
    text = f"""
    func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {{
      %0 = stablehlo.custom_call @{target}(%x) : (tensor<2xi32>) -> tensor<2xi32>
      return %0 : tensor<2xi32>
    }}
    """
    with pytest.raises(UnsupportedError, match=f"no target @{target}: it "):
        execute(text, [np.zeros(2, np.int32)])


def test_the_page_lists_every_target_once() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(), "run python tools/custom_call_targets.py"
    names = [name for group in served().values() for name in group]
    assert sorted(names) == sorted(BUILT_IN)
    assert not set(names) & set(UNSUPPORTED)


def test_each_pattern_of_a_producer_is_the_first_of_a_target() -> None:
    first = {
        next(each for each in PRODUCERS if fnmatchcase(name, each)) for name in (*BUILT_IN, *UNSUPPORTED)
    }
    assert first == set(PRODUCERS)
    assert producers_of("mhlo.dynamic_reshape") == "PyTorch/XLA"
    assert producers_of("lapack_sgesdd") == "JAX"


ROWS = "tensor<?x2xf32>"
SIZES = """
  %d = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
  %n = stablehlo.reshape %d : (tensor<i32>) -> tensor<1xi32>
"""


def sized(body: str, result: str) -> str:
    return f"func.func @main(%x: {ROWS}) -> {result} {{{SIZES}{body}\nreturn %r : {result}\n}}"


def broadcast(configuration: str) -> str:
    """The call by which PyTorch/XLA broadcasts to sizes that are not known, as its lowering writes it."""
    return sized(
        f"""
  %c = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %s = stablehlo.concatenate %n, %c, dim = 0 : (tensor<1xi32>, tensor<2xi32>) -> tensor<3xi32>
  %r = stablehlo.custom_call @mhlo.dynamic_broadcast_in_dim(%x, %s) {{backend_config = {configuration}}}
    : ({ROWS}, tensor<3xi32>) -> tensor<?x2x3xf32>""",
        "tensor<?x2x3xf32>",
    )


RESHAPE = sized(
    f"""
  %c = stablehlo.constant dense<2> : tensor<1xi32>
  %s = stablehlo.multiply %n, %c : tensor<1xi32>
  %r = stablehlo.custom_call @mhlo.dynamic_reshape(%x, %s) : ({ROWS}, tensor<1xi32>) -> tensor<?xf32>""",
    "tensor<?xf32>",
)
SLICE = sized(
    f"""
  %b = stablehlo.constant dense<1> : tensor<1xi32>
  %l = stablehlo.concatenate %n, %b, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %f = stablehlo.constant dense<0> : tensor<2xi32>
  %t = stablehlo.constant dense<1> : tensor<2xi32>
  %r = stablehlo.custom_call @mhlo.real_dynamic_slice(%x, %f, %l, %t)
    : ({ROWS}, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x1xf32>""",
    "tensor<?x1xf32>",
)


def test_calls_of_pytorch_xla_with_sizes_that_are_operands() -> None:
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    (reshaped,) = run_every_way(RESHAPE, x)
    assert_same_bits(reshaped, x.ravel())
    (sliced,) = run_every_way(SLICE, x)
    assert_same_bits(sliced, x[:, :1])
    (broadcasted,) = run_every_way(broadcast('"{broadcast_dimensions=[0, 1]}"'), x)
    assert_same_bits(broadcasted, np.repeat(x[:, :, None], 3, 2))


CANDIDATES = """
func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>)
    -> tensor<i1> {{
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}}
func.func @main(%x: tensor<2x8xf32>, %i: tensor<2x8xi32>) -> (tensor<2x4xf32>, tensor<2x4xi32>) {{
  %a = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %b = stablehlo.constant dense<-1> : tensor<i32>
  %t = stablehlo.custom_call @PartialReduce(%x, %i, %a, %b) {{
    called_computations = [@greater], backend_config = {configuration}
  }} : (tensor<2x8xf32>, tensor<2x8xi32>, tensor<f32>, tensor<i32>) -> tuple<tensor<2x4xf32>, tensor<2x4xi32>>
  %0 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2x4xf32>, tensor<2x4xi32>>) -> tensor<2x4xf32>
  %1 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2x4xf32>, tensor<2x4xi32>>) -> tensor<2x4xi32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x4xi32>
}}
"""


def candidates(**changed: object) -> str:
    options = {"log2_reduction": 1, "reduction_dim": 1, "to_apply_type": "comparator", "top_k": 3}
    text = json.dumps({**options, "recall_target": 0.949218, **changed}).replace('"', "\\22")
    return CANDIDATES.format(configuration=f'"{text}"')


def test_partial_reduce_gives_the_first_elements() -> None:
    x = np.random.default_rng(0).permutation(16).reshape(2, 8).astype(np.float32)
    indices = np.broadcast_to(np.arange(8, dtype=np.int32), (2, 8)).copy()
    values, positions = run_every_way(candidates(), x, indices)
    order = np.argsort(-x, axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(positions, order)
    assert_same_bits(values, np.take_along_axis(x, order, 1))


HELD = """
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {{
  %t = stablehlo.after_all : !stablehlo.token
  %0 = stablehlo.custom_call @mhlo.add_dependency(%x, %t) : (tensor<3xf32>, !stablehlo.token) -> {ordered}
  %1 = stablehlo.custom_call @mhlo.domain(%0) {{
    mhlo.attributes = {{kind = #mhlo<kind sharding>, entry_metadata = "\\08", exit_metadata = "\\08\\02"}},
    mhlo.version = 1 : i64
  }} : ({ordered}) -> {ordered}
  %2 = stablehlo.custom_call @mhlo.custom_call(%1) {{
    mhlo.attributes = {{{target}custom_call_schedule = #mhlo<custom_call_schedule EARLIEST>}},
    mhlo.version = 1 : i64
  }} : ({ordered}) -> tensor<3xf32>
  return %2 : tensor<3xf32>
}}
"""


def held(target: str = 'call_target_name = "mhlo.erf", ', ordered: str = "tensor<3xf32>") -> str:
    return HELD.format(target=target, ordered=ordered)


def test_features_of_mhlo() -> None:
    x = np.array([-1, 0, 2], np.float32)
    (result,) = run_every_way(held(), x)
    np.testing.assert_allclose(result, [-0.8427008, 0, 0.9953223], rtol=1e-6)


REFUSED = {
    "no JSON": (CANDIDATES.format(configuration='"{"'), VerifyError, "the text must be a JSON object"),
    "deep JSON": (CANDIDATES.format(configuration=f'"{"[" * 100000}"'), VerifyError, "a JSON object"),
    "no size": (candidates(top_k=None), VerifyError, "backend_config: top_k must be an integer"),
    "a recall that is a text": (candidates(recall_target="1"), VerifyError, "recall_target must be a number"),
    "a recall beyond floats": (candidates(recall_target=10**400), VerifyError, "a number in (0, 1]"),
    "too many": (candidates(top_k=5), VerifyError, "(C8) @PartialReduce"),
    "no dimensions": (broadcast('"{}"'), VerifyError, "the text must be {broadcast_dimensions=[...]}"),
    "a held call without a target": (held(""), VerifyError, "call_target_name is missing"),
    "a held call of no target": (held('call_target_name = "f", '), UnsupportedError, "there is no target @f"),
    "another type": (held(ordered="tensor<4xf32>"), VerifyError, "must have a value, a token, and a result"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, error, message = REFUSED[name]
    with pytest.raises(error, match=re.escape(message)):
        load(text)


def test_a_barrier_of_shardy_is_its_operand() -> None:
    text = """func.func @main(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
      %0 = stablehlo.custom_call @xla.sdy.PropagationBarrier(%x) {
        mhlo.frontend_attributes = {xla.sdy.allowed_direction = "FORWARD"}
      } : (tensor<8x4xf32>) -> tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    }"""
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    assert_same_bits(run_every_way(text, x)[0], x)


def test_an_argument_whose_sizes_have_become_known() -> None:
    """As StableHLO's pass writes it: the rest of the program still has the unknown size."""
    text = """func.func @main(%x: tensor<2x3xf32>) -> tensor<?x3xf32> {
      %c = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
      %0 = stablehlo.custom_call @stablehlo.shape_refinement_operand_wrapper(%x, %c) {
        indices_of_shape_operands = dense<1> : tensor<1xi64>
      } : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
      %1 = stablehlo.add %0, %0 : tensor<?x3xf32>
      return %1 : tensor<?x3xf32>
    }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert_same_bits(run_every_way(text, x)[0], x + x)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("DynamicConvolutionInputGrad", "padded values"),
        ("GetRngSeed", "random generator"),
        ("GenericTfCallbackGPU", "another process or framework"),
        ("QrDecompositionBlock", "TPUs"),
        ("__cublas$lt$groupedMatmul", "GPUs"),
        ("__onednn$matmul", "compiled modules"),
        ("_SPMDInternalOp_RotateRight", "compiled modules"),
        ("mhlo.dot", "packed numbers"),
        ("tt.paged_update_cache", "Tenstorrent"),
    ],
)
def test_what_other_targets_need_is_told(target: str, reason: str) -> None:
    text = f"""func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {{
      %0 = "stablehlo.custom_call"(%x) {{call_target_name = "{target}"}} : (tensor<2xi32>) -> tensor<2xi32>
      return %0 : tensor<2xi32>
    }}"""
    with pytest.raises(UnsupportedError, match=f"no target @{re.escape(target)}: it .*{reason}"):
        execute(text, [np.zeros(2, np.int32)])


MHLO_ATTRIBUTES = """
module @m attributes {
  mhlo.cross_program_prefetches = [], mhlo.frontend_attributes = {a = "b"}, mhlo.input_output_alias = [],
  mhlo.is_dynamic = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32,
  mhlo.spmd_output_sharding = "{replicated}", mhlo.spmd_parameters_shardings = ["{replicated}"],
  mhlo.use_auto_spmd_partitioning = false,
  mhlo.xla_entry_computation_parameter_layouts = [dense<0> : tensor<1xindex>],
  mhlo.xla_entry_computation_parameter_tiles = [[]],
  mhlo.xla_entry_computation_result_layout = [dense<0> : tensor<1xindex>],
  mhlo.xla_entry_computation_result_tiles = [[]]
} {
  func.func @main(%x: tensor<3xf32> {
    mhlo.is_same_data_across_replicas = true, mhlo.layout_mode = "default", mhlo.memory_kind = "device",
    mhlo.parameter_replication = [true], mhlo.sharding = "{replicated}"
  }) -> (tensor<3xf32> {
    mhlo.layout_mode = "default", mhlo.memory_kind = "device", mhlo.sharding = "{replicated}"
  })
      attributes {mhlo.operand_memory_spaces = [0], mhlo.result_memory_spaces = [0]} {
    %0 = stablehlo.add %x, %x {
      mhlo.cpu_features = "+avx", mhlo.frontend_attributes = {a = "b"}, mhlo.literal = "x",
      mhlo.original_value = "{{}}", mhlo.sharding = "{replicated}", mhlo.unknown = 1 : i32
    } : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
"""


def test_every_attribute_of_mhlo_that_xla_writes_is_taken() -> None:
    x = np.array([1, 2, 3], np.float32)
    assert_same_bits(run_every_way(MHLO_ATTRIBUTES, x)[0], x + x)
