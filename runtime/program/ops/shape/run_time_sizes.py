"""Operations whose operands give sizes, which are known while running.

Source: specification, section "Dynamism".
"""

from __future__ import annotations

from typing import Any, Self

from ....types import Array, TensorType
from ..framework import constraints, rules
from ..framework.declaration import Constraint, Op
from ..framework.memory_limit import require_free_memory


class RunTimeShaped(Op):
    """Base of operations with operands for sizes.

    Their values are known while verifying where a constant defines them, and always while running.
    Constraints read them with `sizes` and hold as long as they are not known.
    """

    def sizes(self, name: str) -> tuple[int, ...] | None:
        """The value of a one-dimensional operand of integers, or None if it is not known yet."""
        cached = self.__dict__.get("known_values")
        if cached is None:
            cached = self.__dict__["known_values"] = self._constants()
        return cached.get(name)

    def _constants(self) -> dict[str, tuple[int, ...]]:
        """The values of operands that constants define, by name."""
        values = {}
        for position, field in enumerate(self.declared_operands):
            array = rules.constant_operand(self.operation, position)
            if field.rank == 1 and array is not None:
                values[field.name] = integers_of(array)
        return values

    def length(self, name: str) -> int:
        """The size of a one-dimensional operand, DYNAMIC if it is unknown."""
        (size,) = getattr(self, name).shape
        return int(size)

    def at_run_time(self, *operands: Array) -> Self:
        """This operation with the types and sizes of the actual operands, after its constraints were checked.

        Raises:
            ExecutionError: a constraint does not hold; the specification leaves the behaviour undefined.
        """
        view = rules.with_actual_shapes(self, operands)
        view.__dict__["known_values"] = {
            field.name: integers_of(array)
            for field, array in zip(self.declared_operands, operands, strict=True)
            if field.rank == 1
        }
        rules.check_constraints(view)
        require_free_memory(self.operation, *(view.infer() or ()))
        return view

    def integers(self, name: str) -> tuple[int, ...] | None:
        """The values of an attribute or of an operand for sizes; None if they are unknown."""
        is_operand = isinstance(getattr(self, name), TensorType)
        return self.sizes(name) if is_operand else super().integers(name)


def integers_of(array: Array) -> tuple[int, ...]:
    """The elements of an array of integers, in row-major order, as Python's integers."""
    return tuple(map(int, array.ravel().tolist()))


def is_result_shape(name: str, result: str = "result") -> Constraint:
    """An operand for a result's shape must have its rank, and its sizes if they are known."""
    has_rank = constraints.size_is_rank(name, of=result)

    def check(view: Any) -> str | None:
        values, type = view.sizes(name), getattr(view, result)
        reason = has_rank.check(view)
        if reason is not None or values is None:
            return reason
        return rules.first(
            rules.at_least(0, name, values),
            rules.same_shape(result, type, name, values),
            rules.at_most(name, values, f"bounds of {result}", type.bounds or ()),
        )

    return Constraint(check, f"{has_rank.rule}, and {name} is the shape of {result}")
