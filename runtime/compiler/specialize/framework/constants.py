"""Evaluates operations whose operands are constants, within bounds of size."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ....errors import raised_by_signal_handler
from ....program.ir import DenseElementsAttribute, Operation, Value
from ....program.ops.framework.declaration import Op, declaration_of, lookup
from ....program.ops.framework.rules import as_tensor
from ....program.ops.framework.traits import Memory
from ....types import PLAIN, Array, TensorType
from .operation_classes import has_no_effect, is_view

MAX_ELEMENTS = 1 << 14
"""Maximum elements of an operand or result of a folded operation; a splat counts as one element."""

MAX_WORK = 1 << 24
"""Maximum work of folding in one pass: elements read and written, plus multiply-adds."""

ALWAYS_FOLDED = 256
"""Work up to which an operation is always folded, as it may compute sizes."""

_FOLDED_DIALECTS = ("stablehlo.", "arith.", "tensor.", "shape.")

ConstantMap = Mapping[Value, DenseElementsAttribute]
Evaluate = Callable[[Operation, Sequence[Array]], Any]


class Budget:
    """The work that is left for folding, which does not depend on the machine's speed.

    Args:
        work: the work in total.
        evaluate: returns an operation's result, or None if the operation must stay; it also gets operations
            with regions. None: the NumPy implementations are called.

    Attributes:
        folded: results by keys that contain identities, each with the objects of its key, to keep them alive.
    """

    def __init__(self, work: int = MAX_WORK, evaluate: Evaluate | None = None) -> None:
        self.remaining_work = work
        self.evaluate = evaluate
        self.folded: dict[tuple[Any, ...], tuple[object, DenseElementsAttribute | None]] = {}

    def take(self, work: int) -> bool:
        """Use up `work`, if that much is left; whether it was."""
        if work > self.remaining_work:
            return False
        self.remaining_work -= work
        return True


def fold(operation: Operation, known_constants: ConstantMap, budget: Budget) -> DenseElementsAttribute | None:
    """The constant that the operation computes, or None.

    Args:
        operation: any operation.
        known_constants: the constants among the visible values.
        budget: bounds the work; an operation that needs more stays.
    """
    declaration = lookup(operation.name)
    size_reader = declaration if declaration is not None and declaration.reads_sizes else None
    if size_reader is None:
        for operand in operation.operands:
            if operand not in known_constants:
                return None
    if len(operation.results) != 1 or not operation.name.startswith(_FOLDED_DIALECTS):
        return None
    if operation.regions and budget.evaluate is None:
        return None
    type = as_tensor(operation.result.type)
    if not isinstance(type, TensorType) or not type.is_static or not type.category & PLAIN:
        return None
    if size_reader is not None:
        return _constant_from_types(size_reader(operation), type)
    operands = [known_constants[operand] for operand in operation.operands]
    if operation.regions:
        return _computed(operation, type, operands, budget)
    inputs = (operation.attributes, type, *operands)
    key = (operation.name, *map(id, inputs))
    cached = budget.folded.get(key)
    if cached is None:
        cached = budget.folded[key] = inputs, _computed(operation, type, operands, budget)
    return cached[1]


def _computed(
    operation: Operation, type: TensorType, operands: Sequence[DenseElementsAttribute], budget: Budget
) -> DenseElementsAttribute | None:
    """The constant that an operation on constants computes, within bounds."""
    constants = [operand for operand in operands if _is_small(operand)]
    if len(constants) < len(operands) or not _is_small_result(operation, type, constants):
        return None
    if not declaration_of(operation).may_be_folded or not has_no_effect(operation):
        return None
    repeats = _repeats_splats(operation) and budget.evaluate is None
    if repeats and constants[0].has_one_value and type.size:
        return _splat(constants[0], type)
    work = _work(operation, type, constants)
    if work > ALWAYS_FOLDED and not budget.take(work):
        return None
    arrays = [constant.array for constant in constants]
    evaluate = budget.evaluate or _by_numpy
    return _evaluate(functools.partial(evaluate, operation), arrays, type)


def integers_by_reference(operation: Operation, arrays: Sequence[Array]) -> Any:
    """The result of an operation on integers by its reference, so that sizes are known; None for others."""
    if operation.regions or any(array.dtype.kind not in "biu" for array in arrays):
        return None
    return Op.of(operation).reference(*arrays)


def _by_numpy(operation: Operation, arrays: Sequence[Array]) -> Any:
    return Op.of(operation).bind()(*arrays)


def _repeats_splats(operation: Operation) -> bool:
    """Whether the result of a splat is a view of it; other operations would allocate a large array."""
    is_copied = declaration_of(operation).memory is Memory.MAY_FORWARD
    return is_view(operation) and not is_copied


def _work(operation: Operation, type: TensorType, constants: list[DenseElementsAttribute]) -> int:
    """Estimated work of the NumPy implementation; a call counts even without elements."""
    if _repeats_splats(operation):
        return 1
    sizes = [constant.array.size for constant in constants]
    is_product = declaration_of(operation).product is not None
    return 1 + type.size + (math.prod(sizes) if is_product else sum(sizes))


def _constant_from_types(view: Op, type: TensorType) -> DenseElementsAttribute | None:
    """The result if the operands' types determine it, so that the operands need not be constants."""
    value = view.value_of_types()
    return None if value is None else DenseElementsAttribute(type, value.astype(type.dtype))


def _is_small(constant: DenseElementsAttribute) -> bool:
    return constant.type.category & PLAIN != 0 and (constant.array.size <= MAX_ELEMENTS or constant.is_splat)


def _splat(constant: DenseElementsAttribute, type: TensorType) -> DenseElementsAttribute | None:
    """A constant of the type that repeats the only element of another; None if NumPy has no such array."""
    if constant.array.dtype != type.dtype:
        return None
    # As bytes: the elements of ml_dtypes have no buffers. This takes a tenth of the time of `broadcast_to`.
    element = np.array([constant.array[(0,) * constant.array.ndim]], type.dtype).view(np.uint8)
    try:
        return DenseElementsAttribute(type, np.ndarray(type.shape, type.dtype, element, 0, (0,) * type.rank))
    except (OverflowError, ValueError):  # NumPy has no such array: the run says so
        return None


def _is_small_result(
    operation: Operation, type: TensorType, constants: list[DenseElementsAttribute]
) -> bool:
    """Whether the result has few elements, or is a view of a splat, which costs no memory."""
    splats = all(constant.has_one_value for constant in constants)
    return type.size <= MAX_ELEMENTS or (splats and _repeats_splats(operation))


def _evaluate(
    function: Callable[[Sequence[Array]], Any], arrays: list[Array], type: TensorType
) -> DenseElementsAttribute | None:
    """Call a function of constants; None if it fails, as the run will, or returns a large array."""
    with np.errstate(all="ignore"):
        try:
            result = np.asarray(function(arrays))
        except Exception as error:
            if raised_by_signal_handler(error):
                raise
            # The run meets the same failure, and names the operation.
            return None
    if result.dtype != type.dtype or result.shape != type.shape:
        return None
    if result.size > 1 and not any(result.strides):
        value = result[(0,) * result.ndim]
        return DenseElementsAttribute(type, np.broadcast_to(np.asarray(value, type.dtype), type.shape))
    if result.size > MAX_ELEMENTS:
        return None
    return DenseElementsAttribute(type, np.array(result, order="C"))
