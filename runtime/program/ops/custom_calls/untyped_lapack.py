"""The LAPACK custom calls of JAX 0.4, which exported programs still contain.

``lapack_spotrf`` passes what are parameters of ``lapack_spotrf_ffi`` (see `lapack`) as operands before the
matrices: sizes, flags and, for TRSM, a factor alpha. The results, in JAX before 0.4.9 one tuple, include
LAPACK's workspace, partly before the others; it is zero here. At first ``lapack_strsm_ffi`` had alpha as its
last operand.

Source: the operands and results of JAX 0.4.7 to 0.4.38 (`jaxlib.lapack`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from ....errors import counted
from ....types import ELEMENT_TYPES, INTEGER, Array, TensorType, TupleType, TupleValue, Type
from ...ir import (
    ArrayAttribute,
    Attribute,
    DictionaryAttribute,
    IntegerAttribute,
    Operation,
    StringAttribute,
)
from ...ir.record import Record
from ..numerics.decompositions import PreparedCall
from ..numerics.fortran import Call
from ..numerics.lapack_library import ELEMENTS
from .encoded_operations import result_types
from .lapack import ROUTINES, Routine, routine_name
from .shape_operands import shape_operands
from .view import TYPED_FFI, CustomCallView

ALPHA: Final = "alpha"


def _character(code: int) -> str:
    """The character with an ASCII code; nothing for other numbers."""
    return chr(code) if 0 <= code < 128 else ""


_FLAGS: Final[Mapping[str, Callable[[int], str]]] = {
    "side": lambda value: "L" if value else "R",
    "uplo": lambda value: "L" if value else "U",
    "trans_x": lambda value: "NTC"[value] if 0 <= value < 3 else "",
    "diag": lambda value: "U" if value else "N",
    "compute_left": _character,
    "compute_right": _character,
    "sort": _character,
    "vectors": _character,
}
"""For each operand that is a flag the character that LAPACK takes."""


class UntypedRoutine(Record):
    """How a custom call without parameters passes them, and where its results are.

    Attributes:
        prefix: the letter of the element type.
        routine: the routine that it calls.
        scalars: the names of the operands before the matrices, ALPHA, flags, numbers and sizes among them.
        selected: for each result of the routine its position among the results of the call.
    """

    prefix: str
    routine: Routine
    scalars: tuple[str, ...]
    selected: tuple[int, ...]

    def verify(self, view: CustomCallView) -> None:
        """Check operands and results of a custom call.

        Raises:
            VerifyError: they are not the routine's.
        """
        name, expected = view.call_target_name, len(self.scalars) + len(self.routine.operands)
        if len(view.inputs) != expected:
            raise view.verify_error(
                f"@{name} has {counted(len(view.inputs), 'input')}, but must have {expected}", "I1"
            )
        found, least = len(result_types(view.operation)), max(self.selected) + 1
        if found < least:
            raise view.verify_error(f"@{name} has {counted(found, 'result')}, but must have {least} or more")
        for scalar, type in zip(self.scalars, view.inputs, strict=False):
            kind = f"a tensor<{ELEMENTS[self.prefix]['T']}>" if scalar == ALPHA else "an integer of rank 0"
            if not (isinstance(type, TensorType) and type.rank == 0 and self._fits(scalar, type)):
                raise view.verify_error(f"@{name}: {scalar} is {type}, but must be {kind}", "I1")
        defaults = {
            key: ord(allowed[0]) if allowed else 1 for key, allowed in self.routine.parameters.items()
        }
        self.routine.verify(self._typed(view, defaults))

    def _fits(self, scalar: str, type: TensorType) -> bool:
        if scalar == ALPHA:
            return str(type.element_type) == ELEMENTS[self.prefix]["T"]
        return type.category & INTEGER != 0

    def run(self, view: CustomCallView, *inputs: Array) -> tuple[Any, ...]:
        """Solve all problems of a batch.

        Raises:
            ExecutionError: a flag has a value that LAPACK lacks.
        """
        values = dict(zip(self.scalars, inputs, strict=False))
        matrices = list(inputs[len(self.scalars) :])
        if ALPHA in values:
            matrices[-1] = np.asarray(matrices[-1] * values[ALPHA], matrices[-1].dtype)
        parameters = self._parameters(view, {name: values[name] for name in values if name != ALPHA})
        solved = self.routine.run(self._typed(view, parameters), *matrices)
        results: list[Any] = [_zeros(type) for type in result_types(view.operation)]
        for position, array in zip(self.selected, solved, strict=True):
            results[position] = array
        is_tuple = isinstance(view.results[0], TupleType)
        return (TupleValue(results),) if is_tuple else tuple(results)

    def _parameters(self, view: CustomCallView, values: Mapping[str, Array]) -> dict[str, int]:
        """The routine's parameters, numbers or the codes of characters."""
        flags: dict[str, str] = {}
        for name, value in values.items():
            if name in _FLAGS:
                flags[name] = _FLAGS[name](int(value))
        if "full_matrices" in values:
            flags["mode"] = ("A" if values["full_matrices"] else "S") if values["compute_uv"] else "N"
        elif "mode" in self.routine.parameters:
            flags["mode"] = flags.get("vectors", "V")
        parameters: dict[str, int] = {}
        for name, allowed in self.routine.parameters.items():
            if allowed is None:
                parameters[name] = int(values[name])
            elif flags[name] and flags[name] in allowed:
                parameters[name] = ord(flags[name])
            else:
                raise view.execution_error(f"@{view.call_target_name}: {name} must be one of {allowed}")
        return parameters

    def _typed(self, view: CustomCallView, parameters: Mapping[str, int]) -> CustomCallView:
        """The call of the routine that has `parameters`, as JAX writes it now."""
        operation, first = view.operation, len(self.scalars)
        excluded = set(shape_operands(operation))
        operands = [value for index, value in enumerate(operation.operands) if index not in excluded]
        entries: dict[str, Attribute] = {
            name: IntegerAttribute(value, ELEMENT_TYPES["i64"]) for name, value in parameters.items()
        }
        attributes: dict[str, Attribute] = {
            "call_target_name": StringAttribute(view.call_target_name),
            "api_version": IntegerAttribute(TYPED_FFI, ELEMENT_TYPES["i32"]),
            "backend_config": DictionaryAttribute(entries),
        }
        layouts = operation.attributes.get("operand_layouts")
        if isinstance(layouts, ArrayAttribute):
            attributes["operand_layouts"] = ArrayAttribute(layouts.values[first:])
        layouts = operation.attributes.get("result_layouts")
        if isinstance(layouts, ArrayAttribute):
            selected = tuple(layouts.values[index] for index in self.selected)
            attributes["result_layouts"] = ArrayAttribute(selected)
        declared = result_types(operation)
        types = [declared[index] for index in self.selected]
        typed = Operation(operation.name, operands[first:], types, attributes, [], operation.location)
        return type(view)(typed)


def _zeros(type: Type) -> Array:
    assert isinstance(type, TensorType)
    return np.zeros(type.shape, type.dtype)


class ScaledRoutine(Record):
    """TRSM, whose call may have the factor alpha of the right-hand side as its last operand.

    Attributes:
        routine: TRSM for one element type.
    """

    routine: Routine

    def verify(self, view: CustomCallView) -> None:
        """Check operands, results and parameters of a custom call.

        Raises:
            VerifyError: they are not the routine's.
        """
        if self._is_scaled(view):
            alpha, right = view.inputs[-1], view.inputs[-2]
            if alpha.rank != 0 or alpha.element_type != right.element_type:
                reason = f"alpha is {alpha}, but must be of rank 0 and have the elements of {right}"
                raise view.verify_error(f"@{view.call_target_name}: {reason}", "I1")
            view = self._unscaled(view)
        self.routine.verify(view)

    def run(self, view: CustomCallView, *operands: Array) -> tuple[Any, ...]:
        """Solve all problems of a batch."""
        return self.bind(view)(*operands)

    def bind(self, view: CustomCallView, threads: int | None = 1) -> Callable[..., tuple[Any, ...]]:
        """The function that solves all problems of a batch; see `Routine.bind`."""
        if not self._is_scaled(view):
            return self.routine.bind(view, threads)
        solve = self.routine.bind(self._unscaled(view), threads)
        return lambda x, y, alpha: solve(x, np.asarray(y * alpha, y.dtype))

    def native_call(self, view: CustomCallView) -> Callable[[], PreparedCall | Call] | None:
        """See `Routine.native_call`; there is none with alpha."""
        return None if self._is_scaled(view) else self.routine.native_call(view)

    def _is_scaled(self, view: CustomCallView) -> bool:
        return len(view.inputs) == len(self.routine.operands) + 1

    def _unscaled(self, view: CustomCallView) -> CustomCallView:
        operation = view.operation
        attributes = dict(operation.attributes)
        layouts = attributes.get("operand_layouts")
        if isinstance(layouts, ArrayAttribute):
            attributes["operand_layouts"] = ArrayAttribute(layouts.values[:-1])
        types = [result.type for result in operation.results]
        unscaled = Operation(
            operation.name, operation.operands[:-1], types, attributes, [], operation.location
        )
        return type(view)(unscaled)


_SCALARS: Final[Mapping[str, str]] = {
    "trsm": f"side uplo trans_x diag m n batch {ALPHA}",
    "getrf": "batch m n",
    "geqrf": "batch m n lwork",
    "orgqr": "batch m n k lwork",
    "potrf": "uplo batch n",
    "gesdd": "full_matrices compute_uv batch m n lwork",
    "syevd": "uplo batch n",
    "geev": "batch n compute_left compute_right",
    "gees": "batch n vectors sort",
    "gehrd": "n low high lda batch lwork",
    "sytrd": "n uplo lda batch lwork",
}
"""The operands of each routine before its matrices."""

_SELECTED: Final[Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "geev": ((3, 4, 5, 6, 7), (2, 3, 4, 5)),
    "gees": ((0, 3, 1, 2, 4, 5), (0, 3, 2, 4, 5)),
}
"""The positions of results for real and for complex elements, where workspace comes before them."""


def _untyped() -> Iterator[tuple[str, UntypedRoutine]]:
    for prefix in ELEMENTS:
        for name, scalars in _SCALARS.items():
            typed = routine_name(prefix, name)
            routine = ROUTINES[typed]
            selected = _SELECTED.get(name, (tuple(range(len(routine.results))),) * 2)[prefix in "cz"]
            target = typed.removesuffix("_ffi")
            if name == "trsm":
                target = target.replace("lapack_", "blas_")
            yield target, UntypedRoutine(prefix, routine, tuple(scalars.split()), selected)


UNTYPED_ROUTINES: Final = dict(_untyped())
"""The routines by the name of their custom call."""
SCALED_ROUTINES: Final = {
    name: ScaledRoutine(ROUTINES[name]) for name in (routine_name(prefix, "trsm") for prefix in ELEMENTS)
}
"""The routines whose call may have alpha, by the name of their custom call."""
