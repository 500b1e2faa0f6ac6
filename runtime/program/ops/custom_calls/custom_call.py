"""`custom_call`, and the targets that users register.

Source: specification, section "custom_call"; rules that it lacks are those of the StableHLO dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ....errors import UnsupportedError, VerifyError, counted
from ....types import TensorType, TupleType, Type
from ...ir import Operation, Region
from ..framework.attribute_kinds import plain_value
from ..framework.declaration import Op, constraint
from ..framework.memory_limit import require_free_memory
from ..framework.rules import first, in_range, types_agree
from ..framework.traits import Memory
from ..framework.verify import verify_view
from ..numerics.decompositions import PreparedCall
from ..numerics.fortran import Call
from .buffers import aliases_violation
from .shape_operands import shape_operands, with_operand_sizes, with_shapes
from .targets import BUILT_IN, Target, attached_target
from .unsupported_targets import OTHER_PLATFORMS, unsupported_reason
from .user_functions import Registry, call_user
from .view import TYPED_FFI, CustomCallView

_REGISTERED: Final = Registry[Target]()


def register_custom_call(target: str, function: Callable[..., object], *, pure: bool = False) -> None:
    """Register `function` as the custom call `target`, for modules that are compiled from now on.

    Source: specification, section "custom_call".

    Args:
        target: the `call_target_name`; what was registered under it before is replaced.
        function: called with an array for each input, which it must not write to, and with the keyword
            argument `backend_config` where the operation has one that is not empty (a string, or a dictionary
            of Python values). Returns the result, or a tuple of results, of the types that are declared.
        pure: whether a call may be dropped when its results are not used, or made once instead of twice.

    Raises:
        ValueError: the runtime has a target of that name itself.
    """
    if target in BUILT_IN:
        raise ValueError(f"{target} is a target of the runtime itself")
    _REGISTERED.register(target, Target(partial(_call_user, function), pure=pure))


def unregister_custom_call(target: str) -> None:
    """Undo `register_custom_call`; KeyError if no function is registered."""
    _REGISTERED.unregister(target)


def has_target(target: str) -> bool:
    """Whether the runtime has a target of that name, or a user has registered one."""
    return target in BUILT_IN or _REGISTERED.find(target) is not None


def _call_user(function: Callable[..., object], view: CustomCallView, *inputs: object) -> tuple[Any, ...]:
    options = {"backend_config": view.configuration} if view.configuration else {}
    return call_user(view, view.call_target_name, function, inputs, options, view.results)


class CustomCall(
    CustomCallView,
    name="stablehlo.custom_call",
    assembly="custom(custom_call_target) ( $inputs ) attr-dict : functional-type",
):
    """Calls a function that is defined outside of StableHLO, by its name.

    Attributes:
        pure: whether this call has no effect beyond its results.
    """

    partition = "custom_call"
    kernel = "kernels.custom_call"
    memory = Memory.MAY_FORWARD
    may_be_folded = False
    may_be_hoisted = False
    block_rule = "arrays.library_calls.LIBRARY_CALL"

    is_pure_by_call = True

    def __init__(self, operation: Any) -> None:
        super().__init__(operation)
        name = self.call_target_name
        self.target = BUILT_IN.get(name) or _REGISTERED.find(name) or attached_target(operation)
        self.shape_operands = shape_operands(operation)
        if self.shape_operands:
            self.__dict__["inputs"] = self._without_shapes(self.inputs)
            if self.operand_layouts is not None:
                self.__dict__["operand_layouts"] = self._without_shapes(self.operand_layouts)
        attached = operation.attributes.get("mhlo.backend_config")
        self.configuration = self.backend_config if attached is None else plain_value(attached)
        self.__dict__["pure"] = self.target is not None and self.target.pure and not self.has_side_effect

    @constraint
    def I4(self) -> str | None:
        """backend_config is a dictionary where api_version is API_VERSION_TYPED_FFI, a string otherwise"""
        typed = self.api_version == TYPED_FFI
        if self.backend_config == "" or isinstance(self.backend_config, dict) == typed:
            return None
        expected = "a dictionary" if typed else "a string"
        return f"api_version is {self.api_version}, so backend_config must be {expected}"

    @constraint
    def I5(self) -> str | None:
        """0 <= api_version <= 4"""
        return in_range("api_version", [self.api_version], 0, TYPED_FFI + 1, "the number of API versions")

    @constraint
    def I7(self) -> str | None:
        """aliases name components of one type; a buffer operand has at most one, a buffer result one"""
        violations = (self._alias_violation(*alias) for alias in self.output_operand_aliases)
        return first(*violations) or aliases_violation(self)

    def _alias_violation(
        self, outputs: Sequence[int], operand: int, tuple_indices: Sequence[int]
    ) -> str | None:
        reason = in_range("operand_index", [operand], 0, len(self.inputs), "the number of inputs")
        if reason is not None:
            return reason
        source = _tuple_element(self.inputs[operand], tuple_indices)
        result = self.results[0] if len(self.results) == 1 else TupleType(self.results)
        target = _tuple_element(result, outputs)
        if source is None:
            return f"operand_tuple_indices = {list(tuple_indices)} is outside of {self.inputs[operand]}"
        if target is None:
            return f"output_tuple_indices = {list(outputs)} is outside of {result}"
        return None if types_agree(source, target) else f"an alias of {source} as {target}"

    @constraint
    def I8_I9(self) -> str | None:
        """layouts are given for all operands and results or for none, each a permutation of the dimensions"""
        if self.operand_layouts is None and self.result_layouts is None:
            return None
        if self.operand_layouts is None or self.result_layouts is None:
            return "layouts must be given for operands and results or for neither"
        return first(
            _layouts_violation("operand_layouts", self.operand_layouts, self.inputs),
            _layouts_violation("result_layouts", self.result_layouts, self._flat_results()),
        )

    @constraint
    def I10(self) -> str | None:
        """result_tilings has a list of tiles for each result, or none at all (StableHLO 1.18)"""
        count = len(self._flat_results())
        if len(self.result_tilings) in (0, count):
            return None
        return f"result_tilings has {len(self.result_tilings)} elements for {counted(count, 'result')}"

    def _flat_results(self) -> Sequence[Type]:
        """The results, those of a tuple each."""
        results: Sequence[Type] = self.results
        if len(results) == 1 and isinstance(results[0], TupleType):
            return results[0].types
        return results

    def verify(self) -> None:
        super().verify()
        if self.target is None:
            # The specializer reports calls of other platforms that can be reached.
            if unsupported_reason(self.call_target_name) not in OTHER_PLATFORMS:
                self.require_target()
        elif self.target.verify is not None:
            self.target.verify(self)

    def verify_calls(self, body_of: Callable[[str], Region]) -> None:
        """Check the operation that replaces the call, if there is one.

        Raises:
            VerifyError: its declaration rejects operands, attributes, computations or results.
        """
        if self.target is None or self.target.replaced is None:
            return
        regions = [body_of(symbol) for symbol in self.called_computations]
        operation = self.operation
        try:
            verify_view(Op.of(self.target.replaced.replacement(operation, operation.operands, regions)))
        except (VerifyError, UnsupportedError) as error:
            error_type = VerifyError if isinstance(error, VerifyError) else UnsupportedError
            raise self._error(error_type, f"@{self.call_target_name}: {error.reason}", error.label) from None

    def require_target(self) -> None:
        """Check that the target exists.

        Raises:
            UnsupportedError: there is none.
        """
        if self.target is None:
            reason = unsupported_reason(self.call_target_name)
            because = f": {reason}" if reason is not None else ""
            raise self.unsupported(f"there is no target @{self.call_target_name}{because}")

    def infer(self) -> list[Type] | None:
        return with_operand_sizes(self.results, self.operation)

    def reference(self, *inputs: Any) -> tuple[Any, ...]:
        self.require_target()
        assert self.target is not None
        view = self._with_actual_results(inputs) if self.shape_operands else self
        return self.target.run(view, *self._without_shapes(inputs))

    def bind(self) -> Callable[..., Any]:
        if self.target is None or self.target.bind is None or self.shape_operands:
            return self.reference
        return self.target.bind(self)

    @property
    def has_threads(self) -> bool:
        """Whether the target's function may be told how many threads it may use."""
        return self.target is not None and self.target.on_threads is not None and not self.shape_operands

    def on_threads(self, threads: int | None) -> Callable[..., Any]:
        if self.target is None or self.target.on_threads is None or self.shape_operands:
            return self.bind()
        return self.target.on_threads(self, threads)

    def native_call(self) -> Callable[[], PreparedCall | Call] | None:
        """A function that prepares the native call which replaces the reference; None without one."""
        if self.target is None or self.target.native_call is None or self.shape_operands:
            return None
        return self.target.native_call(self)

    def _with_actual_results(self, inputs: Sequence[Any]) -> CustomCall:
        """The view with the shapes of actual operands, and of the results that some of them say.

        Raises:
            ExecutionError: a size is negative or another than declared, or the target does not serve the
                shapes.
        """
        operation = self.operation
        operands = [
            operand.type.with_shape(np.shape(array)) if isinstance(operand.type, TensorType) else operand.type
            for operand, array in zip(operation.operands, inputs, strict=True)
        ]
        try:
            results = with_shapes(self.results, operation, [inputs[index] for index in self.shape_operands])
            reason = first(*(_type_violation(*pair) for pair in zip(self.results, results, strict=True)))
            if reason is not None:
                raise self.verify_error(reason)
            require_free_memory(operation, *results)
            values, attributes = Operation("", (), operands).results, operation.attributes
            view = CustomCall(Operation(operation.name, values, results, attributes, (), operation.location))
            view.verify()
        except VerifyError as error:
            raise self.execution_error(error.reason, error.label) from None
        return view

    def _without_shapes(self, values: Sequence[object]) -> Sequence[Any]:
        """The values that belong to operands other than result shapes."""
        if not self.shape_operands:
            return values
        return [value for position, value in enumerate(values) if position not in self.shape_operands]


def _type_violation(declared: Type, actual: Type) -> str | None:
    """Why a result of a shape that an operand says is not of the declared type."""
    return None if types_agree(declared, actual) else f"a result is declared as {declared}, but is {actual}"


def _tuple_element(type: Type, indices: Sequence[int]) -> Type | None:
    """The component of a nested tuple type at these indices; None if there is none."""
    for index in indices:
        if not isinstance(type, TupleType) or not 0 <= index < len(type.types):
            return None
        type = type.types[index]
    return type


def _layouts_violation(name: str, layouts: Sequence[Sequence[int]], types: Sequence[Type]) -> str | None:
    """Why `layouts` are not the layouts of values of these types."""
    if len(layouts) != len(types):
        return f"{name} has {counted(len(layouts), 'element')} for {counted(len(types), 'value')}"
    for index, (layout, type) in enumerate(zip(layouts, types, strict=True)):
        rank = type.rank if isinstance(type, TensorType) else 0
        if sorted(layout) != list(range(rank)):
            return f"{name}[{index}] is {list(layout)}, not a permutation of the dimensions of {type}"
    return None
