"""Exported programs and the backend of torch.compile. Skipped without the extra ``torch``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.errors import ExecutionError, UnsupportedError

torch = pytest.importorskip("torch")

from tests.program.frontend.torch import models, operations, small_models  # noqa: E402
from tests.program.frontend.torch.drawn_numbers import SameNumbers  # noqa: E402
from tests.program.frontend.torch.judging import Judge  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

OPERATORS = (
    "addmm",
    "cumsum",
    "linalg.solve",
    "linalg.svd",
    "nn.functional.embedding_bag",
    "searchsorted",
    "index_put",
    "nn.functional.avg_pool2d",
    "nn.functional.conv_transpose2d",
    "nn.functional.layer_norm",
    "scatter_add",
    "sort",
    "where",
)
"""A sample of the operators of the campaign."""


@pytest.fixture(autouse=True)
def quiet() -> Any:
    torch.manual_seed(0)
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Scaled(torch.nn.Module):  # type: ignore[misc]
    """A parameter, a buffer that counts calls, and a structure of results."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([2.0, 3.0]))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Any, *, offset: Any) -> dict[str, Any]:
        self.calls += 1
        return {"sum": x * self.scale + offset, "size": x.shape[0]}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_the_results_of_pytorch(name: str) -> None:
    options = nimblehlo.Options(compile="never")
    for info, dtype in operations.operators([name], ["float32"]):
        outcome = operations.outcome_of(info, dtype, 4, options)
        assert outcome.status == "passed", outcome


def test_orders_of_equal_elements_are_compared_by_what_they_select() -> None:
    x = torch.tensor([2.0, 1.0, 2.0])

    def compared(order: list[int]) -> list[Any]:
        run = operations.without_order(lambda x, **settings: torch.tensor(order))
        return [result.tolist() for result in run(x)]

    assert compared([1, 0, 2]) == compared([1, 2, 0]) == [[1, 2, 2], [0, 1, 2]]
    assert compared([0, 1, 2]) != compared([1, 0, 2])
    assert compared([1, 0, 0]) != compared([1, 0, 2]), "an index that occurs twice"


@pytest.mark.parametrize("name", ["unet", "detr_head", "graph_convolution", "spectrogram"])
def test_models_give_the_results_of_pytorch(name: str) -> None:
    outcome = models.outcome_of(name, 2)
    assert outcome["passed"], outcome
    assert outcome["judged"] == 3


def test_random_numbers_are_the_same_in_graphs_and_outside() -> None:
    """Dropout, in attention too, and a depth that is random: PyTorch's draws are inputs of the graph."""

    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            attended = torch.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.25)
            depth = torch.empty(len(x), 1, 1, 1).bernoulli_(0.5)
            return torch.nn.functional.dropout(attended, 0.5) * depth + torch.rand_like(x)

    x = torch.randn(8, 2, 5, 4)
    judge = Judge(1)
    compiled = torch.compile(Model(), backend=judge, fullgraph=True)
    with SameNumbers():
        expected = Model()(x)
    torch.testing.assert_close(compiled(x), expected)
    assert (judge.judged, judge.violations) == (1, [])


@pytest.mark.parametrize("settings", [(), (0,), (-1, True)])
def test_sorts_are_judged_with_equal_elements_in_order(settings: tuple[Any, ...]) -> None:
    """PyTorch may sort integers in an order that is not kept where the processor has instructions for it."""
    x = torch.arange(64) % 3
    judge = Judge(1)
    _, order = torch.compile(lambda x: x.sort(*settings), backend=judge, fullgraph=True)(x)
    assert (judge.judged, judge.violations) == (1, [])
    assert order[:3].tolist() == ([2, 5, 8] if True in settings else [0, 3, 6])


def test_parameters_are_shared_and_buffers_written() -> None:
    model, x = Scaled(), torch.ones(4, 2)
    executable = nimblehlo.compile(torch.export.export(model, (x,), {"offset": torch.tensor(1.0)}))
    before = model.calls.item()
    result = executable(x, offset=torch.tensor(1.0))
    assert result["size"] == 4
    torch.testing.assert_close(result["sum"], torch.tensor([[3.0, 4.0]]).expand(4, 2))
    with torch.no_grad():
        model.scale[0] = 10
    torch.testing.assert_close(executable(x, offset=torch.tensor(0.0))["sum"][0], torch.tensor([10.0, 3.0]))
    assert executable.state["calls"].item() - before == 2


def test_sizes_that_are_symbols_make_a_program_each() -> None:
    model = small_models.UNet()
    sizes = {0: torch.export.Dim("batch", min=2, max=64)}
    exported = torch.export.export(model, (torch.randn(2, 3, 8, 8),), dynamic_shapes=(sizes,))
    executable = nimblehlo.compile(exported)
    for batch in (2, 5, 2):
        x = torch.randn(batch, 3, 8, 8)
        torch.testing.assert_close(executable(x), model(x), rtol=1e-4, atol=1e-5)
    with pytest.raises(UnsupportedError, match="sizes that are symbols"):
        nimblehlo.load(exported)


def test_an_operation_without_conversion_names_the_line_of_the_model() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return torch.special.airy_ai(x)

    exported = torch.export.export(Model(), (torch.eye(3),))
    with pytest.raises(
        UnsupportedError, match=r"aten\.special_airy_ai.*has no conversion.*test_programs\.py:\d+"
    ):
        nimblehlo.compile(exported)


def test_arguments_of_another_structure_are_told() -> None:
    model, x = Scaled(), torch.ones(4, 2)
    executable = nimblehlo.compile(torch.export.export(model, (x,), {"offset": torch.tensor(1.0)}))
    with pytest.raises(ExecutionError, match="the model takes 2 inputs"):
        executable(x)
    with pytest.raises(ExecutionError, match="input"):
        executable(torch.ones(5, 2), offset=torch.tensor(1.0))


def test_a_module_has_the_parameters_as_arguments() -> None:
    model, x = Scaled(), torch.ones(4, 2)
    module = nimblehlo.load(torch.export.export(model, (x,), {"offset": torch.tensor(1.0)}))
    types = [str(type) for type in module.functions["main"].type.inputs]
    assert types == ["tensor<2xf32>", "tensor<i64>", "tensor<4x2xf32>", "tensor<f32>"]
    results = nimblehlo.execute(
        module, [np.array([1, 2], np.float32), np.array(5), np.ones((4, 2), np.float32), np.float32(0.5)]
    )
    np.testing.assert_array_equal(results[0], 6)
    np.testing.assert_array_equal(results[1][0], [1.5, 2.5])


def test_dropout_follows_the_seed() -> None:
    dropout = torch.compile(torch.nn.Dropout(0.25), backend="nimblehlo", fullgraph=True)
    x = torch.ones(1000, requires_grad=True)
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(dropout(x))
    torch.testing.assert_close(results[0], results[1])
    assert not torch.equal(results[0], results[2])
    assert 700 < int((results[0] != 0).sum()) < 800
    (gradient,) = torch.autograd.grad(results[2].sum(), x)
    torch.testing.assert_close(gradient, results[2].detach())


def test_narrow_floats_and_integers_pass_without_conversion() -> None:
    def function(x: Any, y: Any) -> Any:
        return x + 1, y * 2, y > 1

    compiled = torch.compile(function, backend="nimblehlo", fullgraph=True)
    x, y = torch.arange(3).to(torch.bfloat16), torch.arange(3, dtype=torch.int8)
    for actual, expected in zip(compiled(x, y), function(x, y), strict=True):
        torch.testing.assert_close(actual, expected)


def test_control_flow_is_that_of_the_program() -> None:
    from torch._higher_order_ops.while_loop import while_loop

    def function(x: Any) -> Any:
        chosen = torch.cond(x.sum() > 0, lambda x: (x + 1, x.sum()), lambda x: (x * 2, x.mean()), (x,))
        start = torch.zeros((), dtype=torch.int64)
        return *chosen, *while_loop(lambda i, y: i.sum() < 3, lambda i, y: (i + 1, y * x), (start, x + 1))

    compiled = torch.compile(function, backend="nimblehlo", fullgraph=True)
    for x in (torch.tensor([1.0, 2.0]), torch.tensor([-1.0, -2.0])):
        for actual, expected in zip(compiled(x), function(x), strict=True):
            torch.testing.assert_close(actual, expected)


def test_scans_and_maps_are_loops_over_slices() -> None:
    from torch._higher_order_ops.map import map as torch_map
    from torch._higher_order_ops.scan import scan

    def function(start: Any, x: Any, weight: Any) -> Any:
        last, states = scan(lambda c, row: ((c * 0.5 + row).sin(), (c * row).cos()), start, x)
        return last, states, *torch_map(lambda row, w: (row @ w, row.sum()), x, weight)

    inputs = torch.randn(4), torch.randn(6, 4), torch.randn(4, 3)
    compiled = torch.compile(function, backend="nimblehlo", fullgraph=True)
    torch.testing.assert_close(compiled(*inputs), function(*inputs))


@pytest.mark.skipif(
    not hasattr(torch.compiler, "nested_compile_region"), reason="PyTorch has no such regions"
)
def test_regions_that_are_compiled_once_are_part_of_the_graph() -> None:
    region = torch.compiler.nested_compile_region(lambda x, y: (x * y).sin())

    def function(x: Any, y: Any) -> Any:
        return region(x, y) + region(y, x + 1)

    x, y = torch.randn(3), torch.randn(3)
    compiled = torch.compile(function, backend="nimblehlo", fullgraph=True)
    torch.testing.assert_close(compiled(x, y), function(x, y))


@pytest.mark.parametrize("is_contiguous", [True, False])
def test_gradients_use_the_factors_of_the_same_matrix(is_contiguous: bool) -> None:
    """PyTorch factorizes a transposed matrix or not, by its strides, for the results and for gradients."""

    def function(x: Any, b: Any) -> Any:
        sign, logarithm = torch.linalg.slogdet(x)
        return torch.linalg.det(x), logarithm * sign, torch.linalg.solve(x, b)

    x = torch.randn(2, 4, 4)
    inputs = [(x if is_contiguous else x.mT).requires_grad_(), torch.randn(2, 4, 3, requires_grad=True)]
    compiled = torch.compile(function, backend="nimblehlo", fullgraph=True)
    gradients = [
        torch.autograd.grad([result.sum() for result in run(*inputs)], inputs) for run in (compiled, function)
    ]
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-4)


def test_checks_with_effects_take_no_input_of_an_exported_model() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return torch.linalg.cholesky(x @ x.mT + torch.eye(3))

    x = torch.randn(2, 3, 3)
    executable = nimblehlo.compile(torch.export.export(Model(), (x,)))
    torch.testing.assert_close(torch.as_tensor(executable(x)), Model()(x))


def test_constant_tensors_in_functions() -> None:
    def function(x: Any) -> Any:
        return x * torch.tensor([0.5, 2.0]) + torch.tensor(3)

    x = torch.ones(4, 2)
    compiled = torch.compile(function, backend="nimblehlo", fullgraph=True)
    torch.testing.assert_close(compiled(x), function(x))


@pytest.mark.parametrize("norm_first", [True, False])
def test_layers_that_pytorch_runs_on_a_fast_path(norm_first: bool) -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first)
    encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x, padding = torch.randn(2, 4, 8), torch.tensor([[False] * 4, [False, False, True, True]])
    with torch.no_grad():
        compiled = torch.compile(encoder, backend="nimblehlo", fullgraph=True)
        actual = compiled(x, src_key_padding_mask=padding)
        expected = encoder(x, src_key_padding_mask=padding)
    torch.testing.assert_close(actual[~padding], expected[~padding], rtol=1e-4, atol=1e-5)


def test_gradients_of_functions() -> None:
    """A training step by torch.func, as one graph."""
    model = small_models.GraphConvolution()
    parameters = dict(model.named_parameters())
    x, edges = torch.randn(12, 8), torch.randint(0, 12, (2, 40))

    def loss(parameters: Any) -> Any:
        return torch.func.functional_call(model, parameters, (x, edges)).square().mean()

    step = torch.compile(torch.func.grad(loss), backend="nimblehlo", fullgraph=True)
    for name, gradient in torch.func.grad(loss)(parameters).items():
        torch.testing.assert_close(step(parameters)[name], gradient, rtol=1e-4, atol=1e-6)
