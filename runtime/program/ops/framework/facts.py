"""What the runtime knows of an operation beside its syntax, its constraints and its semantics.

Passes, emitters and tools ask the declaration and have no tables of operations of their own. Where a fact is
code, the declaration names the code instead of importing it, so that importing a declaration stays cheap: the
name is a key of a table that stands beside the code, which the description of each fact names.
"""

from __future__ import annotations

import enum
import functools
import importlib
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from . import costs
from .accuracy import Accuracy, Rounding
from .costs import Cost, Work
from .emitters import NO_CODE, Emit
from .traits import Memory, Movement, Product, RegionRole


class OpenOrder(enum.Enum):
    """What the specification leaves open in the order in which an operation is evaluated."""

    SCATTER_SCHEDULE = "scatter_schedule"
    """The order of updates, which an option of that name chooses."""
    REDUCTION_TREE = "reduction_tree"
    """The tree of a reduction, which an option of that name chooses."""
    SUMS = "sums"
    """The order of the terms of its sums, which no option chooses."""
    EQUAL_ELEMENTS = "equal elements"
    """The order of equal elements, unless it is stable, which no option chooses."""
    DRAWS = "draws"
    """Its random numbers, which no option chooses."""


ORDERS_WITH_OPTIONS: Final = (OpenOrder.SCATTER_SCHEDULE, OpenOrder.REDUCTION_TREE)


class Finiteness(enum.Enum):
    """Whether an operation can give NaN or infinity for finite operands."""

    COMPUTED = enum.auto()
    """It can, or its regions can."""
    KEPT = enum.auto()
    """It cannot, in the common types of real numbers."""
    MOVED = enum.auto()
    """It moves data, or the executor runs it itself: it computes no numbers."""


class Facts:
    """Base of `Op`: facts with their defaults.

    A declaration states a fact in its class or as a keyword of it, and hands it down to derived classes.

    Class attributes:
        accuracy: how far results of other correct implementations of its function may be from its values
            (`accuracy.py`); None: it is no function of elements, or correctly rounded.
        any_order_on: the categories of real elements on which a reduction by it gives the same bits in every
            order.
        block_rule: the module and the rule in `compiler/loops/` by which blocks on scalars and on small
            arrays emit it.
        copies_strided_operands: whether implementations begin with a copy, on one thread and with long
            strides, of an operand that is not contiguous.
        cost: what it costs on one element (`costs.py`).
        depends_on_digits: whether its meaning depends on the digits of its types, so that it has none in
            wider types.
        emit: the code of an element of its result (`emitters.py`).
        finiteness: whether it can give NaN or infinity for finite operands.
        float_identity: the float that changes no bit of another one with which a sum or a product combines
            it. Reductions by such an operation may accumulate in a wider type and round once.
        gathers: whether its result consists of slices of the first operand at index vectors.
        interval: the rule by which bounds of integer operands imply bounds of its result
            (`compiler/specialize/framework/intervals.py`); empty: they imply none, unless it moves elements.
        is_iota: whether each element of its result is its own index in a dimension.
        is_slow_on_few: whether NumPy and kernels take long for few elements, so that native code pays for it
            alone.
        is_specified: whether the specification has a section on it, if it is StableHLO's. The constraints of
            others, and their labels, are NimbleHLO's own.
        is_terminator: whether it ends a block.
        kernel: the function in `compiler/plan/implementations/` that matches it with a hand-written kernel;
            empty: it has none.
        loop_sharding: the rule that gives the shards of its operands for a shard of its results
            (`compiler/specialize/loop_sharding/operand_sharding.py`); empty: its operands are needed whole.
        may_be_folded: whether it may run before the program does, on constants.
        may_be_hoisted: whether it may run where the program would not have run it: it does not fail.
        memory: the memory of its results.
        moved_operands: the operands of whose elements all results consist; None: it computes elements.
        movement: how its result moves the elements of operands; None: it does not, or not by static indices.
        numpy: the function in `program/ops/` that takes a view and returns its NumPy implementation, which
            `Op.bind` describes; empty: `bind` has it, or it is the reference.
        open_order: where the specification leaves the order of its evaluation open; None: it defines the
            order.
        partition: the rule that makes operations of one device of it (`compiler/partitioner/rules.py`).
        product: which sums of products it computes, if it does.
        reduces: whether it is a `reduce`: its region combines the elements of its inputs along some of their
            dimensions.
        region_loop: the module and the class in `compiler/loops/` of the generated loops around its regions;
            empty: it has none.
        region_role: what its regions are for.
        rounding: where rounding errors of its results come from (`accuracy.py`).
        shaped_like: pairs of the name of each result and of the operand whose shape it has; empty: they have
            other shapes, or `infer` tells.
        source_constraints: the labels of constraints on the program as written, which need not hold once the
            specializer has made implicit conversions explicit, or simplified a body.
        takes_modulus: whether it takes the modulus of complex operands, which is a square root.
        terms_depend_on_data: whether its operands tell which terms a result has, and in which order.
        unused_results: the rule that removes results that nothing uses
            (`compiler/specialize/framework/unused_results.py`); empty: they stay.
        whole_dimension: the attribute or property with the dimension along which results depend on all
            elements, where operands and results have one shape and are independent along all other
            dimensions; empty: the operation is not like that. The rules of that name of `partition` and
            `loop_sharding` need it.
        wider: the rule that evaluates it in wider arithmetic
            (`checks/error_bounds/double_double_program.py`), or ``mpmath.`` and the name of a function there;
            empty: there is none.
        work: the least arithmetic that it takes (`costs.py`).
    """

    accuracy: ClassVar[Accuracy | None] = None
    any_order_on: ClassVar[int] = 0
    block_rule: ClassVar[str] = "scalars.elementwise.ELEMENTWISE"
    copies_strided_operands: ClassVar[bool] = False
    cost: ClassVar[Cost] = costs.UNKNOWN
    depends_on_digits: ClassVar[bool] = False
    emit: ClassVar[Emit] = NO_CODE
    finiteness: ClassVar[Finiteness] = Finiteness.COMPUTED
    float_identity: ClassVar[float | None] = None
    gathers: ClassVar[bool] = False
    interval: ClassVar[str] = ""
    is_iota: ClassVar[bool] = False
    is_slow_on_few: ClassVar[bool] = False
    is_specified: ClassVar[bool] = True
    is_terminator: ClassVar[bool] = False
    kernel: ClassVar[str] = ""
    loop_sharding: ClassVar[str] = ""
    may_be_folded: ClassVar[bool] = True
    may_be_hoisted: ClassVar[bool] = True
    memory: ClassVar[Memory] = Memory.COPY
    moved_operands: ClassVar[slice | None] = None
    movement: ClassVar[Movement | None] = None
    numpy: ClassVar[str] = ""
    open_order: ClassVar[OpenOrder | None] = None
    partition: ClassVar[str] = "replicate"
    product: ClassVar[Product | None] = None
    reduces: ClassVar[bool] = False
    region_loop: ClassVar[str] = ""
    region_role: ClassVar[RegionRole] = RegionRole.COMPUTATION
    rounding: ClassVar[Rounding] = Rounding.LIBRARY
    shaped_like: ClassVar[Sequence[tuple[str, str]]] = ()
    source_constraints: ClassVar[tuple[str, ...]] = ()
    takes_modulus: ClassVar[bool] = False
    terms_depend_on_data: ClassVar[bool] = False
    unused_results: ClassVar[str] = ""
    whole_dimension: ClassVar[str] = ""
    wider: ClassVar[str] = ""
    work: ClassVar[Work] = Work.NONE

    def __init_subclass__(cls, **facts: Any) -> None:
        super().__init_subclass__()
        for name, value in facts.items():
            if name not in FACTS:
                raise TypeError(f"{cls.__name__} states {name}, which is no fact")
            setattr(cls, name, value)


FACTS: Final = frozenset(Facts.__annotations__)
"""The names of all facts."""


@functools.cache
def named_code(package: str, name: str) -> Any:
    """The code that a fact names; its module is imported when it is first asked for.

    Args:
        package: the package whose modules the fact names.
        name: the module there and the name of the function or class, with a dot between them.
    """
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(f".{module}", package), attribute)
