"""The fields of a declaration: operands, results, attributes, regions and constraints."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, overload

from .... import types
from ....types import TensorType, Type
from ...ir import Operation, StructAttribute
from ...ir import Region as IrRegion
from .attribute_kinds import AttributeKind

REQUIRED: Final[Any] = object()
DERIVED: Final[Any] = None
"""The default of an attribute whose value the view derives from other fields where it is absent."""


Value = TypeVar("Value")
Scalar = TensorType | types.ElementType
"""The type of a scalar operand: a tensor or a bare element type."""


class Field(Generic[Value]):
    """A declared part of an operation: its name and its label in the specification's table of inputs.

    A view of an operation holds a `Value` under that name.
    """

    name: str
    label: str

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    if TYPE_CHECKING:

        def __get__(self, view: object, owner: type | None = None) -> Value:
            """The type, the value or the region that the view holds under the declared name."""


class Operand(Field[Value]):
    """An operand.

    The view holds its type. That is a TensorType, or a list of them, unless the declaration is annotated
    otherwise.

    Args:
        categories: the categories of type that it may have (`nimblehlo.types`).
        rank: the rank that it must have, or None for any.
        variadic: stands for any number of operands; the view holds a list of types.
        optional: may be absent (the last ones only, or by `operandSegmentSizes`).
        scalar: takes values of bare element types (``index``), arrays of rank 0, as well as tensors of them.
    """

    if TYPE_CHECKING:

        @overload
        def __init__(self: Operand[TensorType], categories: int, *, rank: int | None = None) -> None: ...
        @overload
        def __init__(self: Operand[Scalar], categories: int, *, scalar: Literal[True]) -> None: ...
        @overload
        def __init__(
            self: Operand[list[TensorType]],
            categories: int,
            *,
            variadic: Literal[True],
            rank: int | None = None,
        ) -> None: ...
        @overload
        def __init__(
            self: Operand[list[Scalar]], categories: int, *, variadic: Literal[True], scalar: Literal[True]
        ) -> None: ...
        @overload
        def __init__(
            self: Operand[TensorType | None], categories: int, *, optional: Literal[True]
        ) -> None: ...

    def __init__(
        self,
        categories: int,
        *,
        rank: int | None = None,
        variadic: bool = False,
        optional: bool = False,
        scalar: bool = False,
    ) -> None:
        self.categories = categories
        self.rank = rank
        self.variadic = variadic
        self.optional = optional
        self.scalar = scalar or categories == types.ANY

    def violation(self, type: Type, index: int = 0) -> str | None:
        """Why `type` is not allowed here, or None; `index` is its position in a variadic operand."""
        is_other_scalar = not self.scalar and isinstance(type, (types.ElementType, types.QuantizedType))
        if is_other_scalar or not type.category & self.categories:
            return f"{self._name_of(index)} must be {types.describe_values(self.categories)}, but is {type}"
        if self.rank is not None and isinstance(type, TensorType) and type.rank != self.rank:
            return f"{self._name_of(index)} must have rank {self.rank}, but is {type}"
        return None

    def _name_of(self, index: int) -> str:
        return f"{self.name}[{index}]" if self.variadic else self.name


if TYPE_CHECKING:
    Result = Operand  # the overloads of a subclass would differ by the type of `self` only
else:

    class Result(Operand):
        """A result; has the same parameters as `Operand`."""


class Attribute(Field[Value]):
    """An attribute: its decoded value.

    Args:
        kind: decodes it.
        default: the value where it is absent; REQUIRED: it must be there.
        of: the struct attribute that holds it as a field (gather's ``dimension_numbers``), or None.
        key: its name in the ir where that differs from the specification's.
        field: its name within the struct where that differs.
    """

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: Attribute[Value | None],
            kind: AttributeKind[Value],
            default: None,
            *,
            of: str | None = None,
            key: str | None = None,
            field: str | None = None,
        ) -> None: ...
        @overload
        def __init__(
            self,
            kind: AttributeKind[Value],
            default: Value = ...,
            *,
            of: str | None = None,
            key: str | None = None,
            field: str | None = None,
        ) -> None: ...

    def __init__(
        self,
        kind: AttributeKind[Value],
        default: Any = REQUIRED,
        *,
        of: str | None = None,
        key: str | None = None,
        field: str | None = None,
    ) -> None:
        self.kind = kind
        self.default = default
        self.of = of
        self.key = key
        self.field = field

    def read(self, operation: Operation) -> Value | None:
        """The decoded value; ValueError where it is missing or of the wrong kind."""
        if self.of is not None:
            return self._read_field(operation.attributes.get(self.of))
        attribute = operation.attributes.get(self.key or self.name)
        if attribute is None:
            return self._default()
        return self.kind.decode(attribute)

    def _read_field(self, struct: object) -> Value | None:
        """The value of a field; a struct may be absent where its fields' defaults are None."""
        if struct is None and self.default is not None:
            raise ValueError(f"is missing: there is no {self.of}")
        if not isinstance(struct, StructAttribute):
            if struct is None:
                return None
            raise ValueError(f"must be in a struct attribute {self.of}")
        value = struct.fields.get(self.field or self.name, REQUIRED)
        if value is REQUIRED:
            return self._default()
        return self.kind.from_field(value)

    def _default(self) -> Value | None:
        if self.default is REQUIRED:
            raise ValueError("is missing")
        default: Value | None = self.default
        return default


class Region(Field[Value]):
    """A region.

    Args:
        variadic: stands for any number of regions; the view holds a list.
    """

    if TYPE_CHECKING:

        @overload
        def __init__(self: Region[IrRegion]) -> None: ...
        @overload
        def __init__(self: Region[list[IrRegion]], *, variadic: Literal[True]) -> None: ...

    def __init__(self, *, variadic: bool = False) -> None:
        self.variadic = variadic


class Constraint:
    """One constraint of the specification; the name under which a class declares it is its label.

    A label such as ``C3_C4`` stands for a rule that the specification lists under two labels.

    Args:
        check: returns None if the rule holds for a view, or cannot be judged yet because a size is
            unknown, and otherwise the reason with the offending values.
        rule: the rule in words; None: the docstring of `check` states it.
    """

    label: str

    def __init__(self, check: Callable[[Any], str | None], rule: str | None = None) -> None:
        self.check = check
        self._rule = rule

    def __set_name__(self, owner: type, name: str) -> None:
        self.label = name

    @property
    def rule(self) -> str:
        return " ".join((self._rule or _docstring(self.check)).split())


def _docstring(function: Callable[..., object]) -> str:
    """The docstring of a function, read from its source if Python dropped it (`python -OO`)."""
    if function.__doc__ is not None or sys.flags.optimize < 2:
        return function.__doc__ or ""
    import ast
    import inspect

    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, SyntaxError):
        return ""
    return (isinstance(definition, ast.FunctionDef) and ast.get_docstring(definition)) or ""


def constraint(check: Callable[[Any], str | None]) -> Any:
    """Declare a method as the constraint whose label is its name and whose rule is its docstring."""
    return Constraint(check)
