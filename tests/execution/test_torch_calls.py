"""Tensors in, tensors out: what is shared and what is copied. Skipped without the extra ``torch``."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.errors import UnsupportedError
from nimblehlo.execution import torch_calls
from nimblehlo.execution.torch_calls import arrays_of, tensors_of
from nimblehlo.program.frontend.torch.element_types import array_of
from nimblehlo.types import ELEMENT_TYPES, TensorType

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

TYPES = {
    "bool": "i1",
    "int8": "i8",
    "int64": "i64",
    "uint8": "ui8",
    "uint16": "ui16",
    "uint64": "ui64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "complex<f32>",
    "complex128": "complex<f64>",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2fnuz": "f8E5M2FNUZ",
}
"""The specification's names by PyTorch's."""


@pytest.fixture(params=["functions in C", "capsules"], autouse=True)
def exchange(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the functions that PyTorch's tensors offer since its version 2.10, and without them."""
    if request.param == "capsules":
        monkeypatch.setattr(torch_calls, "_exchange", lambda: None)
    elif not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this version of PyTorch has no such functions")


def result_of(name: str, shape: tuple[int, ...]) -> Any:
    """The result of a program: the sum of two tensors of ones."""
    type = TensorType(shape, ELEMENT_TYPES[name])
    operation = "or" if name == "i1" else "add"
    text = (
        f"func.func @main(%x: {type}) -> {type} {{\n"
        f"  %0 = stablehlo.{operation} %x, %x : {type}\n  return %0 : {type}\n}}"
    )
    (result,) = nimblehlo.execute(text, [np.ones(shape).astype(type.dtype)])
    return result


@pytest.mark.parametrize("shape", [(), (0, 3), (5, 3), (200, 70)])
@pytest.mark.parametrize("torch_name", TYPES)
def test_results_become_tensors_that_share_their_memory(torch_name: str, shape: tuple[int, ...]) -> None:
    array = np.asarray(result_of(TYPES[torch_name], shape))
    for tensor in (*tensors_of([array]), torch.from_dlpack(nimblehlo.to_dlpack(array))):
        assert tensor.dtype == getattr(torch, torch_name)
        assert (tuple(tensor.shape), tensor.is_contiguous()) == (shape, True)
        assert not array.size or tensor.data_ptr() == array.ctypes.data
        assert tensor.data_ptr() % 16 == 0  # as NumPy's arrays and PyTorch's instructions have it
        np.testing.assert_array_equal(array_of(tensor), array)
        assert not array.size or np.shares_memory(array_of(tensor), array)


@pytest.mark.parametrize("type", [np.float32, ELEMENT_TYPES["bf16"].dtype])
def test_strides_are_kept_by_export_and_import(type: Any) -> None:
    array = np.arange(24).astype(type).reshape(4, 6)
    for view in (array.T, array[::2, 1:], np.broadcast_to(array[0], (3, 6)).copy()[:, ::3], array[1:1]):
        (tensor,) = tensors_of([view])
        assert tensor.stride() == tuple(stride // view.itemsize for stride in view.strides)
        np.testing.assert_array_equal(array_of(tensor), view)
        assert not view.size or array_of(tensor).strides == view.strides


def test_the_memory_lives_as_long_as_the_tensor() -> None:
    result = result_of("bf16", (100, 100))
    alive = weakref.ref(result)
    (tensor,) = tensors_of([result])
    del result
    view = tensor[1:].t()
    del tensor
    gc.collect()
    assert alive() is not None
    assert (view == 2).all()
    del view
    gc.collect()
    assert alive() is None


def test_an_array_that_does_not_become_a_tensor_is_let_go() -> None:
    array = result_of("f8E3M4", (3, 5))
    alive = weakref.ref(array)
    with pytest.raises((BufferError, RuntimeError)):
        tensors_of([array])
    del array
    gc.collect()
    assert alive() is None


def test_elements_of_lazy_and_strided_tensors() -> None:
    """PyTorch conjugates and negates when elements are read, not in the memory that it lends."""
    z = torch.tensor([[1 + 2j, 3 - 4j]])
    x = torch.arange(6.0, requires_grad=True).reshape(2, 3)
    tensors = [z.conj(), z.conj().imag, x.T, x[:, ::2], x.expand(4, 2, 3), x[:0], torch.nn.Parameter(x)]
    for array, tensor in zip(arrays_of(tensors), tensors, strict=True):
        expected = tensor.detach().resolve_conj().resolve_neg().clone().numpy()
        np.testing.assert_array_equal(array, expected)
    array, number, lent = arrays_of([np.ones(2), 3, x])
    assert (type(array), number) == (np.ndarray, 3)
    assert lent.ctypes.data == x.data_ptr()
    lent[0, 0] = 7
    assert x[0, 0].item() == 7


@pytest.mark.parametrize("make", ["sparse", "meta"])
def test_tensors_without_memory_of_their_own_are_refused(make: str) -> None:
    tensor = torch.eye(3).to_sparse() if make == "sparse" else torch.ones(3, device="meta")
    with pytest.raises(UnsupportedError, match="strided and on the CPU"):
        arrays_of([tensor])


def test_a_tensor_lives_as_long_as_its_array() -> None:
    tensor = torch.ones(1000)
    (array,) = arrays_of([tensor])
    alive = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert array.base is not None or alive() is not None
    assert array.sum() == 1000


def test_results_of_a_call_are_not_written_by_the_next() -> None:
    compiled = torch.compile(lambda x: (x + 1).to(torch.bfloat16), backend="nimblehlo", fullgraph=True)
    first = compiled(torch.zeros(100, 100))
    before = first.clone()
    for number in range(3):
        compiled(torch.full((100, 100), float(number)))
    assert torch.equal(first, before)


def test_parameters_that_gradients_need_are_not_copied() -> None:
    saved = []

    def pack(tensor: Any) -> Any:
        saved.append(tensor.data_ptr())
        return tensor

    layer = torch.nn.Linear(8, 8)
    x = torch.randn(4, 8, requires_grad=True)
    compiled = torch.compile(layer, backend="nimblehlo", fullgraph=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = compiled(x)
    (gradient,) = torch.autograd.grad(result.sum(), x)
    torch.testing.assert_close(gradient, layer.weight.sum(0).expand(4, 8))
    assert {layer.weight.data_ptr(), x.data_ptr()} <= set(saved)


def test_inputs_that_a_model_returns_are_results_of_its_module() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x, x + 1

    x = torch.zeros(2)
    exported = torch.export.export(Model(), (x,))
    assert nimblehlo.compile(exported)(x)[0] is x
    results = nimblehlo.execute(nimblehlo.load(exported), [x.numpy()])
    np.testing.assert_array_equal(results, [[0, 0], [1, 1]])


def test_programs_of_the_sizes_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_calls, "MAX_CONVERSIONS", 2)

    class Doubled(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x + x

    sizes = {"x": {0: torch.export.Dim("n", min=2, max=99)}}
    model = nimblehlo.compile(torch.export.export(Doubled(), (torch.ones(4),), dynamic_shapes=sizes))
    for size in (3, 4, 5, 4):
        assert model(torch.ones(size)).tolist() == [2.0] * size
    assert list(model.graph._programs._values) == [(5,), (4,)]
