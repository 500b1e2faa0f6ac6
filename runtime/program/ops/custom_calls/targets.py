"""The targets of `custom_call` that the runtime has itself.

They are checks, assertions, annotations, ends of asynchronous collectives, buffers, functions of the host,
bitcasts, operations on sparse matrices, tridiagonal systems, LAPACK's routines, and targets that operations
replace.

Source: the checks of the StableHLO project's test data; what JAX, XLA and PyTorch/XLA emit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ....types import BOOLEAN, INTEGER, Array, TensorType, TokenType
from ...ir import FunctionAttribute, Operation, StringAttribute
from ...ir.record import Record
from ..framework.rules import all_types_agree
from ..numerics.decompositions import PreparedCall
from ..numerics.fortran import Call
from ..test_dialects.check import (
    Disagreement,
    are_real_or_complex,
    close_rule,
    not_almost_equal,
    not_close,
    require_agreement,
    unequal,
)
from . import bitcast, buffers, host_functions, sparse, tridiagonal
from .collective_calls import ASYNC_COLLECTIVES
from .lapack import ROUTINES, Routine
from .replaced_targets import REPLACED_TARGETS, ReplacedTarget
from .untyped_lapack import SCALED_ROUTINES, UNTYPED_ROUTINES, ScaledRoutine
from .view import CustomCallView

ALMOST_EQ_TOLERANCE: Final = 1e-3
"""The tolerance of ``check.expect_almost_eq`` as a custom call."""
EQ_TOLERANCE: Final = 1e-4
"""The tolerance of ``check.eq`` for elements that are not integers."""
CLOSE_ULP_DIFFERENCES: Final = (0, 3)
"""The bounds in ulps of ``check.expect_close`` as a custom call."""


HANDLER: Final = "nimblehlo.handler"
"""The attribute of a call that brings its target along: a FunctionAttribute of `Target.bind`."""


class Target(Record):
    """The implementation of a custom call target.

    Attributes:
        run: called with the operation's view and its inputs; returns a tuple of results.
        verify: raises a VerifyError or an UnsupportedError for a view that it cannot run.
        pure: whether it has no effect beyond its results.
        bind: gives, for a view, a function of the inputs alone that does the same; None: there is none.
        on_threads: as `bind`, for a view and the maximum number of threads to use; None: it has no threads.
        native_call: returns, for a view, a function that prepares a routine which native code calls instead
            of `run`; None if there is none.
        replaced: the operation that replaces such calls; None: they stay.
    """

    run: Callable[..., tuple[Any, ...]]
    verify: Callable[[CustomCallView], None] | None = None
    pure: bool = True
    bind: Callable[[CustomCallView], Callable[..., tuple[Any, ...]]] | None = None
    on_threads: Callable[[CustomCallView, int | None], Callable[..., tuple[Any, ...]]] | None = None
    native_call: Callable[[CustomCallView], Callable[[], PreparedCall | Call] | None] | None = None
    replaced: ReplacedTarget | None = None


def attached_target(operation: Operation) -> Target | None:
    """The target that a call brings along; None if it brings none."""
    attribute = operation.attributes.get(HANDLER)
    if not isinstance(attribute, FunctionAttribute):
        return None
    bind = attribute.function
    return Target(lambda view, *inputs: bind(view)(*inputs), bind=bind)


def _verify_two_inputs(view: CustomCallView) -> None:
    if len(view.inputs) != 2 or not all_types_agree(view.inputs[:1], view.inputs[1:]):
        raise view.verify_error(f"@{view.call_target_name} must have two inputs of the same type", "I1")


def _verify_no_results(view: CustomCallView) -> None:
    if view.results:
        raise view.verify_error(f"@{view.call_target_name} must have no results")


def _verify_pair(view: CustomCallView) -> None:
    """Two inputs of the same type, no results."""
    _verify_two_inputs(view)
    _verify_no_results(view)


def _verify_real_or_complex_pair(view: CustomCallView) -> None:
    _verify_pair(view)
    if not are_real_or_complex(*view.inputs):
        raise view.verify_error(f"@{view.call_target_name} takes floating-point or complex inputs", "I1")


def _expect(disagreement: Disagreement, rule: str) -> Callable[..., tuple[Any, ...]]:
    """A check that raises where its inputs disagree."""

    def run(view: CustomCallView, actual: Array, expected: Array) -> tuple[Any, ...]:
        require_agreement(view, actual, expected, disagreement, rule)
        return ()

    return run


def _verify_eq(view: CustomCallView) -> None:
    """Two inputs of the same type and a result of type tensor<i1>."""
    _verify_two_inputs(view)
    if [str(type) for type in view.results] != ["tensor<i1>"]:
        raise view.verify_error(f"@{view.call_target_name} must have the result tensor<i1>")


def _eq(view: CustomCallView, actual: Array, expected: Array) -> tuple[Any, ...]:
    """Check the expectation like the check dialect; returns True."""
    if are_real_or_complex(*view.inputs):
        rule = f"values must differ by at most {EQ_TOLERANCE}"
        require_agreement(view, actual, expected, not_almost_equal(EQ_TOLERANCE), rule)
    else:
        require_agreement(view, actual, expected, unequal, "values must be equal")
    return (np.True_,)


def _verify_identity(view: CustomCallView) -> None:
    """Results must have the types of the inputs, as annotations do nothing on one device.

    A call with a sharding of GSPMD that makes shards of a value, or a value of shards, becomes part of a
    manual computation (`specialize.gspmd`).
    """
    if view.call_target_name in SHARD_BOUNDARIES and "mhlo.sharding" in view.operation.attributes:
        return
    if not all_types_agree(view.inputs, view.results):
        raise view.unsupported(
            f"@{view.call_target_name} changes the type of a value, which only several devices can do"
        )


def _verify_done(view: CustomCallView) -> None:
    """The end of a collective returns what the call that started it gave."""
    if len(view.inputs) != 1 or not all_types_agree(view.inputs, view.results):
        raise view.verify_error(
            f"@{view.call_target_name} must have one input, and a result of its type", "I1"
        )


def _identity(view: CustomCallView, *inputs: object) -> tuple[Any, ...]:
    return inputs


def _verify_ordered(view: CustomCallView) -> None:
    """A value and a token, and a result of the value's type."""
    is_ordered = len(view.inputs) == 2 and isinstance(view.inputs[1], TokenType)
    if not is_ordered or not all_types_agree(view.inputs[:1], view.results):
        raise view.verify_error(
            f"@{view.call_target_name} must have a value, a token, and a result of the value's type", "I1"
        )


def _value(view: CustomCallView, value: object, token: object) -> tuple[Any, ...]:
    """A value that what gave the token precedes, as the order of the program says already."""
    return (value,)


def _nothing(view: CustomCallView, *inputs: object) -> tuple[Any, ...]:
    return ()


def _verify_shape_assertion(view: CustomCallView) -> None:
    """A condition and integers, all 0-dimensional, an error message, no results."""
    types = view.inputs
    scalars = all(isinstance(type, TensorType) and type.rank == 0 for type in types)
    if not types or not scalars or not types[0].category & (BOOLEAN | INTEGER):
        raise view.verify_error("@shape_assertion must have 0-dimensional inputs, a condition first", "I1")
    if not all(type.category & INTEGER for type in types[1:]):
        raise view.verify_error("@shape_assertion must have integers after its condition", "I1")
    if not isinstance(view.operation.attributes.get("error_message"), StringAttribute):
        raise view.verify_error("@shape_assertion must have an error_message")
    _verify_no_results(view)


def _shape_assertion(view: CustomCallView, condition: Array, *values: Array) -> tuple[Any, ...]:
    """Raises the error message, with the values at the marks ``{0}``, ``{1}``, ..., if the condition is
    false.
    """
    if condition:
        return ()
    message = view.operation.attributes["error_message"]
    assert isinstance(message, StringAttribute)

    def value_at(mark: re.Match[str]) -> str:
        index = int(mark[1])
        return str(int(values[index])) if index < len(values) else mark[0]

    raise view.execution_error(re.sub(r"\{(\d{1,9})\}", value_at, message.value))


def _replaced(view: CustomCallView, *inputs: object) -> tuple[Any, ...]:
    """Raises ExecutionError: the specializer replaces the call in every program that it has seen."""
    raise view.execution_error(f"@{view.call_target_name} runs only after the specializer has replaced it")


SHARD_BOUNDARIES: Final = ("SPMDFullToShardShape", "SPMDShardToFullShape")
"""Targets that make the shard of a device of a value, and the other way round."""

SHARDING_ANNOTATIONS: Final = (
    "Sharding",
    *SHARD_BOUNDARIES,
    "xla.sdy.FuncResultSharding",
    "xla.sdy.GlobalToLocalShape",
    "xla.sdy.LocalToGlobalShape",
    "xla.sdy.PropagationBarrier",
)
"""Targets that say how values are sharded over devices, and return their operands on one device."""

PLACEMENTS: Final = (
    "LayoutConstraint",
    "annotate_device_placement",
    "MoveToHost",
    "MoveToDevice",
    "PinToDevice",
    "PinToDeviceSram",
    "mhlo.copy",
)
"""Targets that say where or how a value is stored, and return their operands."""

ANNOTATIONS: Final = (
    "AssumeGatherIndicesInBound",
    "mark_tensor",
    "mhlo.domain",
    "stablehlo.shape_refinement_operand_wrapper",
    "xla_mark_tensor",
)
"""Targets that tell a compiler something of a value, and return their operands: XLA's marks of indices and of
the boundary of a sharding, StableHLO's of arguments whose sizes have become known, and PyTorch/XLA's and
LiteRT's of the boundary of a pattern."""

_LAPACK: Final[Mapping[str, Routine | ScaledRoutine]] = {**ROUTINES, **SCALED_ROUTINES}

BUILT_IN: Final[dict[str, Target]] = {
    "check.expect_eq": Target(_expect(unequal, "values must be equal"), _verify_pair, pure=False),
    "check.expect_almost_eq": Target(
        _expect(
            not_almost_equal(ALMOST_EQ_TOLERANCE), f"values must differ by at most {ALMOST_EQ_TOLERANCE}"
        ),
        _verify_real_or_complex_pair,
        pure=False,
    ),
    "check.expect_close": Target(
        _expect(not_close(*CLOSE_ULP_DIFFERENCES), close_rule(*CLOSE_ULP_DIFFERENCES)),
        _verify_real_or_complex_pair,
        pure=False,
    ),
    "check.eq": Target(_eq, _verify_eq, pure=False),
    "shape_assertion": Target(_shape_assertion, _verify_shape_assertion, pure=False),
    **{
        name: Target(_identity, _verify_identity)
        for name in (*SHARDING_ANNOTATIONS, *PLACEMENTS, *ANNOTATIONS)
    },
    **{f"{name}-done": Target(_identity, _verify_done) for name in ASYNC_COLLECTIVES},
    "mhlo.add_dependency": Target(_value, _verify_ordered),
    "xla.sdy.ShardingGroup": Target(_nothing, _verify_no_results),
    "CreateBuffer": Target(buffers.create, buffers.verify_create),
    "AllocateBuffer": Target(buffers.create, buffers.verify_create),
    "Pin": Target(_identity, buffers.verify_pin),
    "Unpin": Target(_identity, buffers.verify_pin),
    **{name: Target(host_functions.run, host_functions.verify) for name in host_functions.TARGETS},
    host_functions.BUFFER_TARGET: Target(host_functions.run_on_buffers, host_functions.verify),
    # JAX uses these to keep values during compilation, or to order them.
    **{name: Target(_nothing, _verify_no_results) for name in ("control_dep", "dce_sink")},
    bitcast.TARGET: Target(bitcast.run, bitcast.verify),
    sparse.TARGET: Target(sparse.run, sparse.verify),
    tridiagonal.TARGET: Target(tridiagonal.run, tridiagonal.verify),
    **{
        name: Target(
            routine.run,
            routine.verify,
            bind=routine.bind,
            # The same function; without a second argument, the number of threads, it takes one.
            on_threads=routine.bind,
            native_call=routine.native_call,
        )
        for name, routine in _LAPACK.items()
    },
    **{name: Target(routine.run, routine.verify) for name, routine in UNTYPED_ROUTINES.items()},
    **{name: Target(_replaced, replaced=target) for name, target in REPLACED_TARGETS.items()},
}
"""The targets of the runtime by name."""
