"""The frame in which each operation is declared once: operands, attributes, regions, results, constraints.

A declaration is a class::

    class Reverse(Op, name="stablehlo.reverse", assembly="..."):
        operand = Operand(TENSOR)
        dimensions = Attribute(DIMENSIONS)
        result = Result(TENSOR)

        @constraint
        def C2(self) -> str | None:
            '''is_unique(dimensions)'''
            ...

        def infer(self) -> list[Type]: ...
        def reference(self, operand): ...

`reference` is the text of the specification. What computes the same bits faster with NumPy is named by
`numpy`, and lies in a module of its own.

An instance is a view of one ir operation: ``self.operand`` is the operand's type (a list of types where it
is variadic, None if it is optional and absent), ``self.dimensions`` the decoded attribute, ``self.result``
the declared result type, ``self.body`` the ir Region of a declared region.

Labels ``I1``, ``I2``, ... of the specification's table of inputs follow from the order of the declarations.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import new_class
from typing import Any, ClassVar, Final, Self, TypeVar

from ....errors import (
    ExecutionError,
    NimbleError,
    UndefinedBehaviorError,
    UnsupportedError,
    VerifyError,
    counted,
    failure_reason,
    raised_by_signal_handler,
)
from ....options import Ordering
from ....types import Array as Array
from ....types import Type
from ...ir import DenseElementsAttribute, Operation
from ...ir import Region as IrRegion
from .attribute_kinds import SEGMENT_SIZES
from .derived_fields import DERIVED_FIELDS
from .facts import Facts, named_code
from .fields import DERIVED as DERIVED
from .fields import Attribute as Attribute
from .fields import Constraint as Constraint
from .fields import Field
from .fields import Operand as Operand
from .fields import Region as Region
from .fields import Result as Result
from .fields import constraint as constraint
from .op_registry import LEGACY, MODULE_OF_OPERATION

AnyError = TypeVar("AnyError", bound=NimbleError)
AnyField = Field[Any]
AnyOperand = Operand[Any]
Evaluate = Callable[..., tuple[Any, ...]]
"""A region as `reference` sees it: arrays in, a tuple of arrays out."""

_REMOVED: Final = "is a legacy operation of TensorFlow, which StableHLO no longer has (RFC on dynamism, P1)"

_OPS: Final = __name__.rsplit(".", 2)[0]
"""The package of all declarations."""

MAX_CACHED_VIEWS: Final = 1024
"""Maximum number of operations whose decoded fields are cached."""


class Op(Facts):
    """Base of all declarations.

    Class attributes, besides those of `Facts`:
        name: the operation's name with its dialect.
        assembly: its assembly format (`nimblehlo.program.frontend.assembly`); None: it has the generic form
            only.
        pure: False if the operation has side effects.
        is_pure_by_call: whether `pure` depends on the operation, so that a view overrides the class's.
        reads_sizes: whether the result depends only on sizes, so that `value_of_types` may compute it.
        binds_by_types: whether `bind` depends only on types and attributes, not on location or constants.
        is_decomposed: whether the specializer replaces it by what `decompose` returns.
        is_internal: whether only the specializer makes it, so that no text and no bytecode may name it.
        takes_stored_values: whether `reference` works on the stored integers of quantized tensors; otherwise
            it is given their expressed values.
        source_name: what programs write for an operation that only the specializer makes; errors name it.
        declared_operands and so on: the declared fields, in order.
    """

    name: ClassVar[str] = ""
    assembly: ClassVar[str | None] = None
    pure: ClassVar[bool] = True
    is_pure_by_call: ClassVar[bool] = False
    reads_sizes: ClassVar[bool] = False
    binds_by_types: ClassVar[bool] = False
    is_decomposed: ClassVar[bool] = False
    is_internal: ClassVar[bool] = False
    takes_stored_values: ClassVar[bool] = False
    source_name: ClassVar[str] = ""
    declared_fields: ClassVar[tuple[AnyField | Constraint, ...]] = ()
    declared_operands: ClassVar[tuple[AnyOperand, ...]] = ()
    declared_results: ClassVar[tuple[Result[Any], ...]] = ()
    declared_attributes: ClassVar[tuple[Attribute[Any], ...]] = ()
    declared_regions: ClassVar[tuple[Region[Any], ...]] = ()
    declared_constraints: ClassVar[tuple[Constraint, ...]] = ()
    input_labels: ClassVar[dict[str, str]] = {}
    struct_fields: ClassVar[dict[str, frozenset[str]]] = {}
    variadic_kinds: ClassVar[frozenset[str]] = frozenset()

    operation: Operation

    ordering: Ordering = Ordering()
    """The evaluation order where the specification leaves it open; a plan sets it from its options."""

    constant_arguments: Collection[int] = ()
    """The operands that are arguments of an outlined function for which each call has a constant of its own;
    a plan sets it."""

    def __init_subclass__(
        cls, *, name: str | None = None, assembly: str | None = None, pure: bool | None = None, **rest: Any
    ) -> None:
        super().__init_subclass__(**rest)
        for derived in DERIVED_FIELDS:
            setattr(cls, derived.name, derived)
        if assembly is not None:
            cls.assembly = assembly
        if pure is not None:
            cls.pure = pure
        if name is not None:
            cls.name = name
            register(cls)

    def __init__(self, operation: Operation) -> None:
        """View `operation`.

        Raises:
            VerifyError: operands, attributes, regions or results are not as declared.
        """
        self.operation = operation
        view = self.__dict__
        if not operation.operands:
            self._read(operation, view)
            return
        # Types and attributes are compared by identity, which is faster; the cache keeps them alive.
        types = [value.type for value in (*operation.operands, *operation.results)]
        attributes = operation.attributes
        values = attributes.values()
        key = (type(self), len(operation.operands), *attributes, *map(id, types), *map(id, values))
        cached = _field_cache.get(key)
        if cached is None:
            self._read(operation, view)
            if len(_field_cache) >= MAX_CACHED_VIEWS:
                _field_cache.clear()
            if DenseElementsAttribute not in map(type, values):
                fields = view.copy()
                del fields["operation"]
                for region in self.declared_regions:
                    del fields[region.name]
                _field_cache[key] = fields, (types, *values)
            return
        view.update(cached[0])
        for kind in self.variadic_kinds:
            for field in self.declared_operands if kind == "operand" else self.declared_results:
                if field.variadic:
                    view[field.name] = list(view[field.name])
        if self.declared_regions or operation.regions:
            self._assign_regions(operation.regions, view)

    def scratch_elements(self) -> int:
        """About how many elements, or processes, the reference handles by attributes alone, such as those of
        a window that lies in the padding: the operation's values may be much smaller.
        """
        return 0

    @classmethod
    def of(cls, operation: Operation) -> Self:
        """The view of an operation by its declaration, which is this class or derives from it.

        A view is what MLIR calls an OpView: the operation with accessors for what its declaration names.

        `rules.with_actual_shapes` makes the view of an operation whose operands have the shapes of some
        arrays, and `quantized_operation.expressed_view` that of the operation on expressed values.

        Raises:
            UnsupportedError: there is no such operation here.
            VerifyError: it is not as declared.
        """
        declaration = lookup(operation.name)
        if declaration is None:
            reason = _REMOVED if operation.name in LEGACY else "is not supported"
            raise UnsupportedError(reason, operation=operation.name, location=operation.location)
        try:
            view = declaration(operation)
        except NimbleError:
            raise
        except Exception as error:  # a defect of a declaration
            if raised_by_signal_handler(error):
                raise
            raise malformed(operation, error) from error
        assert isinstance(view, cls)
        return view

    def _read(self, operation: Operation, view: dict[str, Any]) -> None:
        """Store the declared fields under their names."""
        operand_types = [operand.type for operand in operation.operands]
        self._assign(self.declared_operands, operand_types, "operand", view)
        for attribute in self.declared_attributes:
            try:
                view[attribute.name] = attribute.read(operation)
            except ValueError as error:
                raise self.verify_error(
                    f"{attribute.name} {error}", self.input_labels[attribute.name]
                ) from None
        for struct, fields in self.struct_fields.items():
            unknown = getattr(operation.attributes.get(struct), "fields", {}).keys() - fields
            if unknown:
                raise self.verify_error(f"{struct} has no field {min(unknown)}")
        if self.declared_regions or operation.regions:
            self._assign_regions(operation.regions, view)
        result_types = [result.type for result in operation.results]
        self._assign(self.declared_results, result_types, "result", view)

    def _assign(
        self, declared: Sequence[AnyOperand], actual: list[Type], what: str, view: dict[str, Any]
    ) -> None:
        """Store the types of operands or results under their declared names."""
        if len(declared) == len(actual) and what not in self.variadic_kinds:
            for field, type in zip(declared, actual, strict=True):
                reason = field.violation(type)
                if reason is not None:
                    raise self.verify_error(reason, self.input_labels.get(field.name))
                view[field.name] = type
            return
        for field, group in zip(declared, self._groups(declared, actual, what), strict=True):
            for index, type in enumerate(group):
                reason = field.violation(type, index)
                if reason is not None:
                    raise self.verify_error(reason, self.input_labels.get(field.name))
            if field.variadic:
                view[field.name] = group
            else:
                view[field.name] = group[0] if group else None

    def _groups(self, declared: Sequence[AnyOperand], actual: list[Type], what: str) -> list[list[Type]]:
        """Split operand or result types among the declared fields."""
        counts = self.segment_sizes(what, declared, len(actual))
        if sum(counts) != len(actual):
            raise self.verify_error(f"has {counted(len(actual), what)}, but must have {sum(counts)}")
        for field, count in zip(declared, counts, strict=True):
            if not field.variadic and count != 1 and not (field.optional and count == 0):
                raise self.verify_error(f"there must be one {what} {field.name}, but there are {count}")
        groups, start = [], 0
        for count in counts:
            groups.append(actual[start : start + count])
            start += count
        return groups

    def segment_sizes(self, what: str, declared: Sequence[AnyOperand], total: int) -> list[int]:
        """The number of operands or results that belong to each declared field, out of `total`.

        Several variadic fields share equally, unless the attribute ``operandSegmentSizes`` has the numbers.
        """
        attributes = self.operation.attributes
        attribute = attributes.get(f"{what}SegmentSizes", attributes.get(f"{what}_segment_sizes"))
        if attribute is not None:
            try:
                values = SEGMENT_SIZES.decode(attribute)
            except ValueError as error:
                raise self.verify_error(f"{what}SegmentSizes {error}") from None
            if len(values) != len(declared) or min(values, default=0) < 0:
                raise self.verify_error(
                    f"{what}SegmentSizes must have {counted(len(declared), 'size')} that are not negative"
                )
            return list(values)
        variadic = sum(field.variadic for field in declared)
        optional = [field for field in declared if field.optional]
        fixed = len(declared) - variadic - len(optional)
        if not variadic:
            present = min(max(total - fixed, 0), len(optional))
            absent = optional[present:]
            return [0 if field in absent else 1 for field in declared]
        share, rest = divmod(total - fixed - len(optional), variadic)
        if share < 0 or rest:
            raise self.verify_error(
                f"has {counted(total, what)}, which its variadic {what}s cannot share equally"
            )
        return [share if field.variadic else 1 for field in declared]

    def _assign_regions(self, regions: Sequence[IrRegion], view: dict[str, Any]) -> None:
        declared = self.declared_regions
        if len(declared) == 1 and declared[0].variadic:
            view[declared[0].name] = list(regions)
        elif len(declared) != len(regions):
            raise self.verify_error(f"has {counted(len(regions), 'region')}, but must have {len(declared)}")
        else:
            for field, region in zip(declared, regions, strict=True):
                view[field.name] = region
        for region in regions:
            if len(region.blocks) != 1 or not region.block.operations:
                raise self.verify_error("each region must be one block that ends with a terminator")

    def verify_error(self, reason: str, label: str | None = None) -> VerifyError:
        """A `VerifyError` that names this operation and its location."""
        return self._error(VerifyError, reason, label)

    def unsupported(self, reason: str) -> UnsupportedError:
        """An `UnsupportedError` that names this operation and its location."""
        return self._error(UnsupportedError, reason)

    def execution_error(self, reason: str, label: str | None = None) -> ExecutionError:
        """An `ExecutionError` that names this operation and its location."""
        return self._error(ExecutionError, reason, label)

    def undefined(self, reason: str) -> UndefinedBehaviorError:
        """An `UndefinedBehaviorError` that names this operation and its location."""
        return self._error(UndefinedBehaviorError, reason)

    def _error(self, kind: type[AnyError], reason: str, label: str | None = None) -> AnyError:
        name = self.source_name or self.name or self.operation.name
        return kind(reason, operation=name, label=label, location=self.operation.location)

    def constraints(self) -> Iterator[tuple[str, str, str | None]]:
        """Each constraint as (label, rule, reason why it is violated or None)."""
        for declared in self.declared_constraints:
            yield declared.label, declared.rule, declared.check(self)

    def verify(self) -> None:
        """Check all constraints.

        Raises:
            VerifyError: naming the first that does not hold.
            UnsupportedError: where the operation is legal, but not supported.
        """
        if self.is_internal:
            raise self.unsupported("is an internal operation, which programs cannot contain")
        for declared in self.declared_constraints:
            reason = declared.check(self)
            if reason is not None:
                raise self.verify_error(reason, declared.label)

    def verify_calls(self, body_of: Callable[[str], IrRegion]) -> None:
        """Check the constraints that depend on the functions which the operation calls.

        Args:
            body_of: gives the body of the function of that name, or raises a VerifyError.

        Raises:
            VerifyError, UnsupportedError: as `verify`.
        """

    def decompose(self) -> list[Operation]:
        """The operations that compute it; the last ones have its results."""
        raise NotImplementedError

    def applied_operands(self, region: IrRegion) -> Sequence[int]:
        """For each argument of a region the number of the operand whose elements it is given; empty if the
        region is not applied to elements.
        """
        return ()

    def integers(self, name: str) -> tuple[int, ...] | None:
        """The values of an attribute of integers or of a single one; None if it is absent."""
        value = getattr(self, name)
        return value if value is None or isinstance(value, tuple) else (value,)

    def required_integers(self, name: str) -> tuple[int, ...]:
        """The values of `integers`.

        Raises:
            ExecutionError: the values are unknown.
        """
        values = self.integers(name)
        if values is None:
            raise self.execution_error(f"{name} is unknown")
        return values

    def infer(self) -> list[Type] | None:
        """The result types that follow from operands and attributes; None if they do not follow."""
        return None

    def value_of_types(self) -> Array | None:
        """The result, if the types of the operands determine it; else None."""
        return None

    def reference(self, *operands: Any, **regions: Any) -> Any:
        """The specification's text in Python, in its order and with its names: element by element, where the
        specification defines elements. `Options(reference=True)` runs it.

        Args:
            operands: an array for each ir operand (a TupleValue for tuples, TOKEN_VALUE for tokens), sizes
                all known.
            regions: under their declared names functions from arrays to a tuple of arrays; a list of
                functions where the region is variadic.

        Returns:
            The result, or a tuple of results where there are none, several, or the result is variadic.
        """
        raise NotImplementedError

    def bind(self) -> Callable[..., Any]:
        """The NumPy implementation for this view's types: a function with the arguments and the bits of
        `reference`, or that itself. Plans run it until code is compiled.
        """
        if not self.numpy:
            return self.reference
        function: Callable[..., Any] = named_code(_OPS, self.numpy)(self)
        return function

    def on_threads(self, threads: int | None) -> Callable[..., Any]:
        """The function of `bind` for plans that may use threads: it has the same bits, and takes at most
        `threads` threads; None: all. References, and `bind`'s function, take one.
        """
        return self.bind()

    def may_overwrite(self) -> tuple[tuple[int, int], ...]:
        """Pairs of an operand and a result: the function of `bind` takes `out`, for each result the array of
        an operand that dies with the call, or None, and may write the result there."""
        return ()


_field_cache: Final[dict[tuple[object, ...], tuple[dict[str, Any], tuple[object, ...]]]] = {}
"""The fields of views by the types and attributes of their operations. Each entry also holds the objects
whose identities are in its key, so that no other object gets the same identity."""

_REGISTRY: Final[dict[str, type[Op]]] = {}


def register(declaration: type[Op]) -> None:
    """Enter a declaration under its name."""
    if declaration.name in _REGISTRY:
        raise ValueError(f"{declaration.name} is declared twice")
    _REGISTRY[declaration.name] = declaration


def declare(
    base: type[Op], module: str, operations: Mapping[str, Mapping[str, Any]], **settings: object
) -> None:
    """Declare operations that differ from a base class only in the keywords of its subclasses.

    Args:
        base: the class that they derive from.
        module: the module that declares them.
        operations: the keywords of each, by the operation's name with its dialect.
        settings: keywords that are the same for all.
    """
    for name, keywords in operations.items():
        all_keywords = {"name": name, **settings, **keywords}
        new_class(name, (base,), all_keywords, lambda body: body.update(__module__=module))


def lookup(name: str) -> type[Op] | None:
    """The declaration of the operation of that name, or None."""
    declaration = _REGISTRY.get(name)
    if declaration is None and name in MODULE_OF_OPERATION:
        importlib.import_module(f"..{MODULE_OF_OPERATION[name]}", __package__)
        declaration = _REGISTRY[name]
    return declaration


def malformed(operation: Operation, error: Exception) -> VerifyError:
    """The error for an operation on which a declaration fails unexpectedly."""
    return VerifyError(failure_reason(error), operation=operation.name, location=operation.location)


def declaration_of(operation: Operation) -> type[Op]:
    """The declaration of an operation; `Op`, which states nothing, if there is none."""
    # Asked some hundred times for each operation of a program: without another call where it is loaded.
    try:
        return _REGISTRY[operation.name]
    except KeyError:
        return lookup(operation.name) or Op


def source_name(operation: Operation) -> str:
    """The name of an operation in errors: what programs write for it."""
    return declaration_of(operation).source_name or operation.name


def declarations() -> Iterable[type[Op]]:
    for name in MODULE_OF_OPERATION:
        lookup(name)
    return [_REGISTRY[name] for name in dict.fromkeys([*MODULE_OF_OPERATION, *_REGISTRY])]
