"""Runs PyTorch's sample inputs of its operators, and compares the results with PyTorch's on the CPU.

    python -m tests.program.frontend.torch.operations [NAME ...] [--samples N] [--dtypes float32 int64]
        [--journal FILE] [--reference]

Each sample becomes a graph as torch.compile makes it, which is converted and run. An operator passes if all
its samples do. What is random is compared by type and shape. Results that are not within the tolerances of
PyTorch's are judged by PyTorch's in double precision (`comparison.is_as_near`): an operator that passes by
these has the status "nearer". Operators that the journal has are not run again, unless they failed.
Needs the extra ``torch``.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import inspect
import itertools
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import nimblehlo
from nimblehlo.errors import NimbleError, UnsupportedError
from nimblehlo.execution.torch_calls import GraphExecutable
from nimblehlo.program.frontend.torch.decompositions import graph_decompositions, without_onednn
from nimblehlo.program.ir import Module
from nimblehlo.program.loading import load
from tests.program.frontend.torch.comparison import NEARER, difference, in_double_precision

CHOICES = {"topk": 1, "kthvalue": 1, "median": 1, "mode": 1, "nanmedian": 1}
"""Operators that may give the index of any of equal elements, and the number of results that are compared."""

UNSTABLE = ("sort", "argsort")
"""Operators that keep the order of equal elements only where a sample's `stable` says so."""


def without_order(operator: Callable[..., Any]) -> Callable[..., Any]:
    """A sort whose indices are given by what is the same in all orders of equal elements.

    That is what they select, and that each of them occurs once.
    """
    import torch

    def run(x: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> list[Any]:
        results = operator(x, dim=dim, descending=descending, stable=stable)
        *values, indices = [results] if isinstance(results, torch.Tensor) else results
        return [*values, torch.take_along_dim(x, indices, dim), indices.sort(dim).values]

    return run


def _product(*factors: Any) -> Any:
    return functools.reduce(lambda x, y: x @ y, factors)


DETERMINED: dict[str, Callable[..., list[Any]]] = {
    "linalg.svd": lambda u, s, vh: [
        s,
        _product(u[..., : s.shape[-1]] * s[..., None, :], vh[..., : s.shape[-1], :]),
    ],
    "svd": lambda u, s, v: [s, _product(u[..., : s.shape[-1]] * s[..., None, :], v[..., : s.shape[-1]].mH)],
    "svd_lowrank": lambda u, s, v: [s, _product(u * s[..., None, :], v.mH)],
    "pca_lowrank": lambda u, s, v: [s, _product(u * s[..., None, :], v.mH)],
    "linalg.eigh": lambda w, v: [w, _product(v * w[..., None, :].to(v.dtype), v.mH)],
    "linalg.eig": lambda w, v: [w, (v * v.conj()).sum(-2)],
}
"""What is the same for all correct results of factorizations whose vectors have any phase.

The matrices of samples of `svd_lowrank` and `pca_lowrank` have the rank that is asked for, so that a random
subspace is their whole range (but see `RANDOM_PARAMETERS`).
"""

RANDOM = (
    "bernoulli",
    "dropout",
    "multinomial",
    "normal",
    "rand",
    "uniform",
    "cauchy",
    "exponential",
    "geometric",
    "log_normal",
    "rrelu",
    "fractional_max_pool",
)
"""Parts of the names of operators with random results."""

RANDOM_PARAMETERS = ("dropout_p", "M")
"""Parameters that make a sample's results random, unless they are 0 or None.

That is a probability of dropout; and the matrix that `svd_lowrank` subtracts, which raises the rank above
that of its random subspace.
"""

UNINITIALIZED = ("empty", "resize", "new_empty")
"""Parts of the names of operators with undefined elements."""


@dataclass(frozen=True)
class Outcome:
    """What became of an operator: the status of its worst sample, and the reason."""

    name: str
    status: str
    reason: str
    samples: int


def compiled(function: Callable[..., Any], options: nimblehlo.Options) -> Callable[..., Any]:
    """A function of tensors whose graph, and the graph of its gradients, this runtime runs."""
    from functorch.compile import aot_function, make_boxed_func

    def compile_module(module: Module) -> nimblehlo.Executable:
        return nimblehlo.Executable(load(module), "main", options)

    def compile_graph(graph: Any, inputs: Sequence[Any]) -> Any:
        executable = GraphExecutable(graph, compile_module)
        return make_boxed_func(lambda *arguments: executable(arguments))

    differentiated = aot_function(
        function, fw_compiler=compile_graph, bw_compiler=compile_graph, decompositions=graph_decompositions()
    )
    return differentiated  # type: ignore[no-any-return]


def traced(function: Callable[..., Any], options: nimblehlo.Options) -> Callable[..., Any]:
    """A function compiled as a graph: of operations, or where PyTorch cannot trace these, by TorchDynamo."""
    import torch

    def run(*inputs: Any) -> Any:
        try:
            return compiled(function, options)(*inputs)
        except NimbleError:
            raise
        except Exception:
            # Constant tensors in a function, and loops over numbers, are TorchDynamo's alone.
            torch._dynamo.reset()
            settings = {"compile": options.compile, "reference": options.reference}
            return torch.compile(function, backend="nimblehlo", fullgraph=True, options=settings)(*inputs)

    return run


def flat_function(
    operator: Any, sample: Any, limit: int | None, determined: Callable[..., list[Any]] | None = None
) -> tuple[Callable[..., Any], list[Any]]:
    """A sample as a function of its tensors alone, which returns its first `limit` results.

    `determined` gives what is compared in their place.
    """
    import torch
    from torch.utils._pytree import tree_flatten, tree_unflatten

    leaves, spec = tree_flatten(((sample.input, *sample.args), sample.kwargs))
    positions = [number for number, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*tensors: Any) -> Any:
        replaced = list(leaves)
        for position, tensor in zip(positions, tensors, strict=True):
            replaced[position] = tensor.clone()
        args, kwargs = tree_unflatten(replaced, spec)
        results, _ = tree_flatten(operator(*args, **kwargs))
        if determined is not None:
            results = determined(*results)
        return [result.clone() for result in results[:limit] if isinstance(result, torch.Tensor)]

    return function, [leaves[position] for position in positions]


def compare_sample(
    operator: Any,
    sample: Any,
    options: nimblehlo.Options,
    limit: int | None = None,
    *,
    determined: Callable[..., list[Any]] | None = None,
    values: bool = True,
    gradients: bool = False,
) -> str | None:
    """How a sample's results, or its gradients, differ from PyTorch's; None where they do not.

    Raises:
        UnsupportedError: an operation has no conversion.
    """
    function, inputs = flat_function(operator, sample, limit, determined)

    def results(run: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
        return gradients_of(run, inputs) if gradients else list(run(*inputs))

    with without_onednn():
        actual, expected = (results(run, inputs) for run in (traced(function, options), function))
        exact = functools.cache(lambda: in_double_precision(functools.partial(results, function), inputs))
        reasons = {
            difference(*pair, lambda number=number: exact().get(number), values=values)
            for number, pair in enumerate(zip(actual, expected, strict=True))
        }
    return min(reasons - {None}, key=NEARER.__eq__, default=None)


def gradients_of(function: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    """The results, and the gradients of a weighted sum of those that have some.

    Args:
        function: gives the results, from tensors.
        inputs: the tensors; gradients are of those that require them.
    """
    import torch

    leaves = [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in inputs]
    results = [result for result in function(*leaves) if isinstance(result, torch.Tensor)]
    differentiable = [result for result in results if result.requires_grad]
    weights = [torch.linspace(0.5, 1.5, result.numel()).reshape(result.shape) for result in differentiable]
    # Every type of floats has these weights.
    weights = [weight.bfloat16() for weight in weights]
    weights = [weight.to(result.dtype) for weight, result in zip(weights, differentiable, strict=True)]
    of = [tensor for tensor in leaves if tensor.requires_grad]
    found = torch.autograd.grad(differentiable, of, weights, allow_unused=True) if differentiable else ()
    return [*(result.detach() for result in results), *found]


def outcome_of(
    info: Any, dtype: Any, samples: int, options: nimblehlo.Options, *, gradients: bool = False
) -> Outcome:
    """The outcome of an operator for an element type."""
    defined = not any(part in info.full_name for part in (*RANDOM, *UNINITIALIZED))
    limit = CHOICES.get(info.name)
    count, status, reason = 0, "passed", ""
    for sample in itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=gradients), samples):
        count += 1
        known = defined and not has_random_results(info, sample)
        determined = DETERMINED.get(info.full_name)
        is_unstable = info.name in UNSTABLE and not sample.kwargs.get("stable")
        operator = without_order(info.op) if is_unstable else info.op
        outcome = _outcome_of_sample(
            operator, sample, options, limit, values=known, gradients=gradients, determined=determined
        )
        if outcome[0] != "passed":
            status, reason = outcome
        if status not in ("passed", "nearer"):
            break
    return Outcome(name_of(info, dtype), status, reason, count)


def has_random_results(info: Any, sample: Any) -> bool:
    """Whether a sample has a parameter, by its name or by its position, that makes its results random."""
    import torch

    arguments = sample.kwargs
    # Built-in functions have no known signature, and samples may be those of a function around an operator:
    # these samples name such parameters.
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        signature = inspect.signature(attrgetter(info.name)(torch))
        arguments = signature.bind(sample.input, *sample.args, **sample.kwargs).arguments
    given = [arguments.get(name) for name in RANDOM_PARAMETERS]
    return any(isinstance(value, torch.Tensor) or bool(value) for value in given)


def _outcome_of_sample(
    operator: Any, sample: Any, options: nimblehlo.Options, limit: int | None, **settings: Any
) -> tuple[str, str]:
    try:
        reason = compare_sample(operator, sample, options, limit, **settings)
    except UnsupportedError as error:
        return "unsupported", str(error)
    except NimbleError as error:
        return "failed", f"{type(error).__name__}: {error}"
    except Exception as error:  # PyTorch does not trace the operator, or does not run it
        cause = _nimble_cause(error)
        if cause is not None:
            return "unsupported" if isinstance(cause, UnsupportedError) else "failed", str(cause)
        return "untraced", f"{type(error).__name__}: {error}"
    if reason is None:
        return "passed", ""
    return "nearer" if reason == NEARER else "failed", reason


def _nimble_cause(error: BaseException | None) -> NimbleError | None:
    """The error of this runtime that TorchDynamo reports as its own."""
    while error is not None and not isinstance(error, NimbleError):
        error = error.__cause__ or getattr(error, "inner_exception", None) or error.__context__
    return error


def operators(
    names: Sequence[str], dtypes: Sequence[str], *, gradients: bool = False
) -> Iterator[tuple[Any, Any]]:
    """Pairs of an operator and an element type; of those with gradients, if these are asked for."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    for info in op_db:
        if names and info.full_name not in names and info.name not in names:
            continue
        if gradients and not info.supports_autograd:
            continue
        supported = (info.supported_backward_dtypes if gradients else info.supported_dtypes)("cpu")
        for dtype in (getattr(torch, name) for name in dtypes):
            if dtype in supported:
                yield info, dtype


def name_of(info: Any, dtype: Any) -> str:
    """The name of an operator with an element type."""
    return f"{info.full_name} {str(dtype).removeprefix('torch.')}"


def _last_outcomes(journal: Path) -> dict[str, Outcome]:
    """The last outcome of each operator in a journal."""
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    return {outcome.name: outcome for outcome in (Outcome(**json.loads(line)) for line in lines)}


def _tell(outcome: Outcome, journal: Path | None) -> None:
    """Print an outcome other than passed, and append it to the journal."""
    if outcome.status != "passed":
        print(f"{outcome.status:12} {outcome.name}: {outcome.reason[:300]}", flush=True)
    if journal:
        with journal.open("a", encoding="utf-8") as file:
            file.write(json.dumps(vars(outcome)) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """The number of operators that failed, at most 1."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--dtypes", nargs="*", default=["float32", "bfloat16", "int64", "bool"])
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--gradients", action="store_true", help="compare gradients too")
    parser.add_argument("--reference", action="store_true", help="run references instead of NumPy")
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    options = nimblehlo.Options(compile="never", reference=chosen.reference)
    outcomes = _last_outcomes(chosen.journal) if chosen.journal else {}
    statuses: Counter[str] = Counter()
    for info, dtype in operators(chosen.names, chosen.dtypes, gradients=chosen.gradients):
        outcome = outcomes.get(name_of(info, dtype))
        if outcome is None or outcome.status == "failed":
            outcome = outcome_of(info, dtype, chosen.samples, options, gradients=chosen.gradients)
            _tell(outcome, chosen.journal)
        statuses[outcome.status] += 1
    print(", ".join(f"{count} {status}" for status, count in sorted(statuses.items())))
    return int(statuses["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
