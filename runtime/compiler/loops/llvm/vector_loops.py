"""Loops of vectors, made of loops whose iterations are independent.

LLVM makes vectors of a loop by passes that take most of its time, and quick code runs without them
(`quick_code`). The body of such a loop is emitted for one element, by rules that know no vectors. If it is
one block of arithmetic on elements at constant distances, its instructions are repeated here for vectors,
and give the same bits.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any, Final

from llvmlite import ir
from llvmlite.ir import instructions

from ....kernels.launch.processor import vector_bytes
from ....kernels.named_tuples import NamedTuple
from .base import BIT, F32, F64, I64, POINTER
from .lanes import shuffle_lanes, splat
from .loops import GuardedLoop, Loop, min_index
from .module_text import clear_block

_MIN_LANES: Final = 4
"""Minimum lanes of a vector; with fewer, a loop of vectors takes as long as one of elements."""
_MAX_STORED_STRIDE: Final = 4
"""Maximum distance of the elements that neighbouring lanes store: each vector is made of so many others."""
_MAX_LOADED_VECTORS: Final = 16
"""Maximum vectors that a body loads for lanes whose elements are not neighbours: each takes a shuffle."""

_INTRINSIC: Final = re.compile(
    r"(llvm\.(?:ceil|copysign|ctpop|fabs|floor|fma|roundeven|smax|smin|sqrt|trunc|umax|umin)\.)([a-z0-9]+)"
)
"""Functions with a variant for vectors, whose operands and result have one type."""

_ELEMENTWISE: Final = (
    instructions.Instruction,
    instructions.CastInstr,
    instructions.ICMPInstr,
    instructions.FCMPInstr,
    instructions.SelectInstr,
)

_IS_QUICK: Final = "is_quick"
"""A constant of a module: whether its code is not optimized, so that LLVM makes no vectors."""
_NOT_QUICK, _QUICK = [f'@"{_IS_QUICK}" = internal constant i1 {value}' for value in (0, 1)]


def quick_text(text: str) -> str:
    """The text of a module for code that is not optimized, in which `add_quick_vectors` has an effect."""
    return text.replace(_NOT_QUICK, _QUICK)


def add_vectors(loop: Loop, count: int) -> None:
    """Have vectors compute the first elements of a loop over [0, count), or all, if they can.

    Args:
        loop: one that has been closed, whose iterations may be computed together.
    """
    block, before = loop.body, loop.before
    body = _Body(block)
    lanes = body.lanes(count)
    if lanes == 1:
        return
    left = count % lanes
    # The last vector may compute elements again that the one before has computed.
    overlaps = left > 0 and body.may_repeat()
    has_rest = left > 0 and not overlaps
    if has_rest and count < 2 * lanes:
        # The body would be there twice for few elements.
        return
    vectors = ir.IRBuilder(_block_behind(before, "vectors"))
    index = vectors.phi(I64)
    body.emit(vectors, index, lanes, before, is_kept=has_rest)
    following = vectors.add(index, I64(lanes), flags=("nsw",))
    stop = I64(count - left if has_rest else count)
    continues = vectors.icmp_signed("<", following, stop)
    if overlaps:
        following = min_index(vectors, following, I64(count - lanes))
    index.add_incoming(I64(0), before)
    index.add_incoming(following, vectors.block)
    _, _, end = block.terminator.operands
    vectors.cbranch(continues, vectors.block, block if has_rest else end)
    before.terminator.operands = [vectors.block]
    if has_rest:
        loop.index.incomings[0] = (stop, vectors.block)
    else:
        block.function.blocks.remove(block)
        clear_block(block)


def add_quick_vectors(loop: Loop | GuardedLoop) -> None:
    """Have vectors compute the first elements of a loop in code that is not optimized, if they can.

    LLVM removes them elsewhere: it interleaves as many vectors as the loop's metadata say.

    Args:
        loop: one that has been closed, whose iterations may be computed together.
    """
    block, before, ((start, _), _) = loop.body, loop.before, loop.index.incomings
    body = _Body(block)
    lanes = body.lanes(vector_bytes())
    if lanes == 1:
        return
    stop, end = block.instructions[-2].operands[1], block.terminator.operands[2]
    guard = ir.IRBuilder(_block_behind(before, "guard"))
    vectors = ir.IRBuilder(_block_behind(guard.block, "vectors"))
    rest = ir.IRBuilder(_block_behind(vectors.block, "rest"))
    first_stop = guard.add(start, I64(lanes), flags=("nsw",))
    is_long = guard.icmp_signed("<=", first_stop, stop)
    is_quick = guard.load(_quick_constant(guard.module), typ=BIT)
    guard.cbranch(guard.and_(is_quick, is_long), vectors.block, block)
    index = vectors.phi(I64)
    body.emit(vectors, index, lanes, guard.block, is_kept=True)
    following = vectors.add(index, I64(lanes), flags=("nsw",))
    next_stop = vectors.add(following, I64(lanes), flags=("nsw",))
    vectors.cbranch(vectors.icmp_signed("<=", next_stop, stop), vectors.block, rest.block)
    index.add_incoming(start, guard.block)
    index.add_incoming(following, vectors.block)
    rest.cbranch(rest.icmp_signed("<", following, stop), block, end)
    entering = before.terminator.operands
    before.terminator.operands = [guard.block if value is block else value for value in entering]
    loop.index.incomings[0] = (start, guard.block)
    loop.index.add_incoming(following, rest.block)


class QuickVectorLoop(Loop):
    """A loop whose iterations may be computed together: see `add_quick_vectors`."""

    def __exit__(self, *error: object) -> None:
        is_one_block = self.builder.block is self.body
        super().__exit__(*error)
        if is_one_block:
            add_quick_vectors(self)


def _block_behind(block: ir.Block, name: str) -> ir.Block:
    """A new block of the function of another one, which follows it in the text."""
    function: ir.Function = block.function
    added: ir.Block = function.insert_basic_block(function.blocks.index(block) + 1, name)
    return added


def _quick_constant(module: ir.Module) -> ir.GlobalVariable:
    """The constant that tells whether the code is not optimized."""
    constant = module.globals.get(_IS_QUICK)
    if constant is None:
        constant = ir.GlobalVariable(module, BIT, _IS_QUICK)
        constant.linkage, constant.global_constant, constant.initializer = "internal", True, BIT(0)
    return constant


class _Unsupported(Exception):
    """The body cannot be made one of vectors."""


class _Repeated(ir.Constant):  # type: ignore[misc]
    """A vector with a constant in all lanes, in the short form of its text."""

    def __init__(self, value: ir.Constant, lanes: int) -> None:
        self.type, self.constant = ir.VectorType(value.type, lanes), value

    def _get_reference(self) -> str:
        return f"splat ({self.constant})"


class _Affine(NamedTuple):
    """An integer, or the offset of an address in elements.

    Attributes:
        stride: by which it grows in each iteration.
        terms: whose sum it has besides, in any order.
        constant: which it has besides.
    """

    stride: int
    terms: frozenset[Hashable]
    constant: int

    def plus(self, other: _Affine) -> _Affine | None:
        """The sum; None where a term would occur twice."""
        if self.terms & other.terms:
            return None
        return _Affine(self.stride + other.stride, self.terms | other.terms, self.constant + other.constant)

    def times(self, factor: int) -> _Affine:
        """The product with an integer."""
        terms = frozenset([(factor, term) for term in self.terms])
        return _Affine(self.stride * factor, terms, self.constant * factor)


class _Body:
    """The body of a loop. Values are told by their `id`: to hash a constant takes its text.

    Attributes:
        affine: values that grow by as much in each iteration, and integers that the others are made of.
        varying: other values that differ between iterations.
        bits: of the widest element.
        loaded_vectors: the number of vectors that are loaded for lanes whose elements are not neighbours.
        functions: the names of functions of which variants are called.
        addresses: those of elements: the pointer from which they are counted, and the type of an element.
        complex_addresses: those of complex elements; each counts as two.
        loaded, loaded_again: the pointers from which elements are loaded, before elements are stored there,
            and after that.
        stores: by the pointer from which their elements are counted.
    """

    def __init__(self, block: ir.Block) -> None:
        self.index, *self.instructions, _, _, _ = block.instructions
        self.block = block
        self.affine = {id(self.index): _Affine(1, frozenset(), 0)}
        self.varying: set[int] = set()
        self.bits, self.loaded_vectors = 8, 0
        self.functions: set[str] = set()
        self.addresses: dict[int, tuple[ir.Value, ir.Type]] = {}
        self.complex_addresses: set[int] = set()
        self.loaded: set[ir.Value] = set()
        self.loaded_again: set[ir.Value] = set()
        self.stores: dict[ir.Value, list[Any]] = {}
        self.copies: dict[int, Any] = {}
        self.wide: dict[int, Any] = {}

    def lanes(self, count: int) -> int:
        """The number of lanes of its vectors; 1 if it remains a body of scalars."""
        try:
            for instruction in self.instructions:
                self._classify(instruction)
            for pointer, stores in self.stores.items():
                self._require(self._store_neighbours(pointer, stores))
            self._require(bool(self.stores) and self.loaded_vectors <= _MAX_LOADED_VECTORS)
        except _Unsupported:
            return 1
        lanes = 8 * vector_bytes() // self.bits
        names = self.block.function.module.globals
        while lanes > count or any(f"{name}_of_{lanes}_lanes" not in names for name in self.functions):
            lanes //= 2
            if lanes < _MIN_LANES:
                return 1
        return lanes

    def _stride(self, value: ir.Value) -> int:
        """By how much a value grows in each iteration; 0 if it does not, or not by as much in each."""
        affine = self.affine.get(id(value))
        return 0 if affine is None else affine.stride

    def _classify(self, one: Any) -> None:
        """Note how an instruction's value differs between iterations.

        Raises:
            _Unsupported: vectors cannot compute it.
        """
        kind, operands = type(one), one.operands
        varying = not self.varying.isdisjoint(map(id, operands))
        if kind is instructions.StoreInstr:
            value, address = operands
            self._require(1 <= self._stride(address) <= _MAX_STORED_STRIDE)
            pointer, element = self.addresses[id(address)]
            self._require(element == value.type)
            self.stores.setdefault(pointer, []).append(one)
            self._note(value.type)
        elif varying:
            self._classify_varying(one)
        elif kind is instructions.GEPInstr:
            self._classify_address(one)
        elif kind is instructions.Instruction and (affine := self._affine_result(one)) is not None:
            self.affine[id(one)] = affine
        elif not any(map(self._stride, operands)):
            self._require(not isinstance(one.type, ir.VoidType))
        elif kind is instructions.LoadInstr:
            (address,) = operands
            stride = self._stride(address)
            self._require(stride >= 1)
            pointer, element = self.addresses[id(address)]
            self._require(element == one.type)
            (self.loaded_again if pointer in self.stores else self.loaded).add(pointer)
            self.loaded_vectors += stride if stride > 1 else 0
            self._vary(one)
        else:
            self._classify_varying(one)

    def _classify_address(self, one: Any) -> None:
        """Classify an address: of an element, or of a component of a complex element."""
        pointer, *indices = one.operands
        type = one.source_etype
        if id(pointer) in self.addresses:
            self._require(id(pointer) in self.complex_addresses and len(indices) == 2)
            offset, (_, component) = self.affine[id(pointer)], indices
            self.affine[id(one)] = offset._replace(constant=offset.constant + component.constant)
            self.addresses[id(one)] = self.addresses[id(pointer)]
            return
        self._require(not self._stride(pointer))
        if not any(map(self._stride, indices)):
            return
        self._require(len(indices) == 1)
        offset = self.affine[id(indices[0])]
        if isinstance(type, ir.LiteralStructType):
            self.complex_addresses.add(id(one))
            offset, type = offset.times(2), type.elements[0]
        self.affine[id(one)], self.addresses[id(one)] = offset, (pointer, type)

    def _classify_varying(self, one: Any) -> None:
        """Classify arithmetic on operands that differ between iterations."""
        if isinstance(one, instructions.CallInstr):
            if not _INTRINSIC.fullmatch(one.callee.name):
                self._require(not one.callee.name.startswith("llvm."))
                pointers = [value for value in one.args if isinstance(value.type, ir.PointerType)]
                self._require(not any(map(self._is_inside, pointers)))
                self.functions.add(one.callee.name)
        else:
            self._require(type(one) in _ELEMENTWISE)
            for operand in one.operands:
                self._note(operand.type)
        self._vary(one)

    def _is_inside(self, value: ir.Value) -> bool:
        """Whether the body computes a value."""
        return isinstance(value, ir.Instruction) and value.parent is self.block

    def _require(self, condition: bool) -> None:
        if not condition:
            raise _Unsupported

    def _vary(self, one: ir.Instruction) -> None:
        self._note(one.type)
        self.varying.add(id(one))

    def _note(self, type: ir.Type) -> None:
        """Take account of the type of a vector's elements."""
        self._require(isinstance(type, ir.IntType) or type in (F32, F64))
        self.bits = max(self.bits, {F32: 32, F64: 64}.get(type) or type.width)

    def _affine_result(self, one: Any) -> _Affine | None:
        """The sum, product or shift that an instruction computes; None if it computes others."""
        if one.type is not I64 or one.opname not in ("add", "mul", "shl"):
            return None
        first, second = map(self._affine_of, one.operands)
        if one.opname == "add":
            return first.plus(second)
        factor = one.operands[1]
        if not isinstance(factor, ir.Constant):
            return None
        return first.times(factor.constant if one.opname == "mul" else 1 << factor.constant)

    def _affine_of(self, value: ir.Value) -> _Affine:
        affine = self.affine.get(id(value))
        if affine is not None:
            return affine
        if isinstance(value, ir.Constant):
            return _Affine(0, frozenset(), value.constant)
        return _Affine(0, frozenset([id(value)]), 0)

    def _store_neighbours(self, pointer: ir.Value, stores: list[Any]) -> bool:
        """Whether the stores to a pointer write consecutive elements; they are then in that order."""
        offsets = {id(store): self.affine[id(store.operands[1])] for store in stores}
        stores.sort(key=lambda store: offsets[id(store)].constant)
        first, stride = offsets[id(stores[0])], len(stores)
        return (stride == 1 or pointer not in self.loaded_again) and all(
            offsets[id(store)] == _Affine(stride, first.terms, first.constant + number)
            for number, store in enumerate(stores)
        )

    def may_repeat(self) -> bool:
        """Whether an element may be computed twice: what is read is not what is written."""
        return not self.loaded_again and self.loaded.isdisjoint(self.stores) and all(
            isinstance(pointer, ir.Argument) and "noalias" in pointer.attributes for pointer in self.stores
        )

    def emit(
        self, builder: ir.IRBuilder, index: ir.Value, lanes: int, before: ir.Block, is_kept: bool
    ) -> None:
        """Emit the body for vectors of so many lanes.

        Args:
            builder, index: of another loop.
            before: the block before that loop, for what all iterations share.
            is_kept: whether the body stays, which has the names of its values.
        """
        self.builder, self.count, self.is_kept = builder, lanes, is_kept
        self.outside = ir.IRBuilder(before)
        self.outside.position_before(before.terminator)
        self.copies[id(self.index)] = index
        numbers = {id(one): number for number, one in enumerate(self.instructions)}
        groups = self.stores.values()
        last = {max([numbers[id(store)] for store in stores]): stores for stores in groups}
        for number, one in enumerate(self.instructions):
            if isinstance(one, instructions.StoreInstr):
                if number in last:
                    self._store(last[number])
            elif id(one) not in self.varying:
                operands = [self.copies.get(id(operand), operand) for operand in one.operands]
                self.copies[id(one)] = self._copied(one, operands)
            elif isinstance(one, instructions.LoadInstr):
                (address,) = one.operands
                self.wide[id(one)] = self._loaded(address, one.type)
            else:
                self.wide[id(one)] = self._widened(one)

    def _copied(self, one: Any, operands: Sequence[Any]) -> Any:
        """A copy of an instruction with other operands, appended to the block."""
        copied = object.__new__(type(one))
        vars(copied).update(
            vars(one), parent=self.builder.block, operands=list(operands), metadata={}
        )
        if isinstance(one, instructions.GEPInstr):
            copied.type, copied.pointer, copied.indices = POINTER, operands[0], operands[1:]
        if self.is_kept:
            copied.name = ""
        self.builder.block.instructions.append(copied)
        self.builder.position_at_end(self.builder.block)
        return copied

    def _widened(self, one: Any) -> Any:
        """The instruction on vectors, appended to the block."""
        operands = one.operands
        if isinstance(one, instructions.CallInstr):
            # A pointer is to a table, the same for all lanes.
            args = [arg if isinstance(arg.type, ir.PointerType) else self._vector(arg) for arg in one.args]
            operands = [self._variant(one.callee, [arg.type for arg in args]), *args]
        elif isinstance(one, instructions.SelectInstr) and id(operands[0]) not in self.varying:
            condition, *values = operands
            operands = [self.copies.get(id(condition), condition), *map(self._vector, values)]
        else:
            operands = [self._vector(operand) for operand in operands]
        widened = self._copied(one, operands)
        widened.type = ir.VectorType(one.type, self.count)
        return widened

    def _variant(self, function: Any, types: Sequence[ir.Type]) -> Any:
        """The function of vectors that computes what a function of scalars does for each lane."""
        module, matched = self.builder.module, _INTRINSIC.fullmatch(function.name)
        if matched is None:
            return module.globals[f"{function.name}_of_{self.count}_lanes"]
        type = ir.FunctionType(types[0], types)
        return module.declare_intrinsic(f"{matched[1]}v{self.count}{matched[2]}", (), type)

    def _store(self, stores: Sequence[Any]) -> None:
        """Store neighbouring elements, each of a store in each iteration."""
        vectors = [self._vector(store.operands[0]) for store in stores]
        address, stride, lanes = stores[0].operands[1], len(stores), self.count
        for first in range(0, stride * lanes, lanes):
            places = [divmod(element, stride) for element in range(first, first + lanes)]
            vector = vectors[0] if stride == 1 else self._selected(vectors, [place[::-1] for place in places])
            _, type = self.addresses[id(address)]
            self.builder.store(vector, self._later(address, first), align=_bytes(type))

    def _loaded(self, address: Any, type: ir.Type) -> ir.Value:
        """The elements at an address in each iteration."""
        stride, lanes = self._stride(address), self.count
        starts = [min(number * lanes, (lanes - 1) * (stride - 1)) for number in range(stride)]
        vector = ir.VectorType(type, lanes)
        loaded = [
            self.builder.load(self._later(address, start), typ=vector, align=_bytes(type)) for start in starts
        ]
        if stride == 1:
            return loaded[0]
        places = [(element // lanes, element) for element in range(0, stride * lanes, stride)]
        return self._selected(loaded, [(number, element - starts[number]) for number, element in places])

    def _selected(self, vectors: Sequence[ir.Value], lanes: Sequence[tuple[int, int]]) -> ir.Value:
        """A vector of lanes, each given by the number of its vector and that of its lane there."""
        first, *others = sorted({vector for vector, _ in lanes})
        selected, places = vectors[first], tuple([lane for _, lane in lanes])
        for number in others:
            mask = [
                self.count + lane if vector == number else place
                for place, (vector, lane) in zip(places, lanes, strict=True)
            ]
            selected = shuffle_lanes(self.builder, selected, mask, vectors[number])
            places = tuple(range(self.count))
        return selected if others else shuffle_lanes(self.builder, selected, places)

    def _later(self, address: Any, elements: int) -> ir.Value:
        """The address in a copy, or of an element behind that."""
        copied = self.copies[id(address)]
        if not elements:
            return copied
        _, type = self.addresses[id(address)]
        return self.builder.gep(copied, [I64(elements)], inbounds=True, source_etype=type)

    def _vector(self, value: ir.Value) -> ir.Value:
        """The vector of a value of each iteration."""
        wide = self.wide.get(id(value))
        if wide is None:
            wide = self.wide[id(value)] = self._splat(value)
        return wide

    def _splat(self, value: ir.Value) -> ir.Value:
        """The vector of a value that is the same in each iteration, or grows by as much."""
        if isinstance(value, ir.Constant):
            return _Repeated(value, self.count)
        copied = self.copies.get(id(value))
        builder = self.outside if copied is None else self.builder
        repeated = splat(builder, value if copied is None else copied, self.count)
        stride = self._stride(value)
        if not stride:
            return repeated
        steps = ir.Constant(repeated.type, [value.type(stride * lane) for lane in range(self.count)])
        return builder.add(repeated, steps)


def _bytes(type: ir.Type) -> int:
    """The bytes of an element, at whose multiples elements lie."""
    return {F32: 4, F64: 8}.get(type) or type.width // 8
