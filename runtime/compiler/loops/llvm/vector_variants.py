"""Functions of floats and 64-bit integers that have variants for vectors.

Code calls such a function for one lane. It is only declared while loops become loops of vectors: there LLVM
calls its variant for as many lanes, which the function's attribute names. Some are instructions of which LLVM
makes no use by itself: `define` defines them all, to be inlined. The others are functions of `kernels/math`,
which are called at their addresses.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ....kernels.launch.processor import (
    has_conversions_of_i64,
    has_fast_memory_operands,
    has_full_speed_avx512,
    has_range,
    has_rsqrt14,
    has_scalef,
    has_two_register_permute,
)
from ....kernels.named_tuples import NamedTuple
from ....kernels.simd.narrow_floats import constant_like
from .base import F32, F64, I8, I32, I64, POINTER, call, rarely
from .lanes import shuffle_lanes, splat

ENTRIES = 16
"""The number of entries of a table in two registers."""

SHORT_ENTRIES = 32
"""The number of entries of 32 bits of a table in two registers."""

_LANES = 8
_COMPILER_USED = "llvm.compiler.used"
_PURE = ("nounwind", "willreturn", "memory(none)")
_LIBRARY = "nimblehlo_f64_"
"""Prefix of the names of the functions of `kernels/math`."""

_CURRENT_ROUNDING = I32(4)
"""The operand of instructions that take a rounding mode, for that of the thread."""

Emit = Callable[[ir.IRBuilder, Sequence[ir.Value]], ir.Value]


class _Declaration(NamedTuple):
    """A function and its variants.

    Attributes:
        name: of the function of one lane.
        result: its type.
        parameters: their types; a pointer is the same for all lanes.
        variants: for how many other lanes.
    """

    name: str
    result: ir.Type
    parameters: tuple[ir.Type, ...]
    variants: tuple[int, ...]

    def type(self, lanes: int) -> ir.FunctionType:
        """The type of the function's variant for `lanes` lanes."""
        result, *parameters = [_of_lanes(type, lanes) for type in (self.result, *self.parameters)]
        return ir.FunctionType(result, parameters)

    def variant(self, lanes: int) -> str:
        """The name of the variant for some lanes, of which 1 is the function itself."""
        return self.name if lanes == 1 else f"{self.name}_of_{lanes}_lanes"

    @property
    def names(self) -> list[str]:
        """The names of the function and its variants."""
        return [self.variant(lanes) for lanes in (1, *self.variants)]

    def declare(self, module: ir.Module) -> list[ir.Function]:
        """The variants, which the function names."""
        parameter_kinds = "".join("u" if type == POINTER else "v" for type in self.parameters)
        names = [
            f"_ZGV_LLVM_N{lanes}{parameter_kinds}_{self.name}({self.variant(lanes)})"
            for lanes in self.variants
        ]
        function = ir.Function(module, self.type(1), self.name)
        _add(function, *_PURE)
        if names:
            _add(function, f'"vector-function-abi-variant"="{",".join(names)}"')
        return [ir.Function(module, self.type(lanes), self.variant(lanes)) for lanes in self.variants]


class _Instruction(NamedTuple):
    """A function that is defined later.

    Attributes:
        declaration: its name and types.
        emit: emits the code for one lane, or for vectors of operands.
        is_available: whether this processor has the instruction.
    """

    declaration: _Declaration
    emit: Emit
    is_available: Callable[[], bool]

    def define(self, module: ir.Module) -> None:
        """The function and its variants."""
        declaration = self.declaration
        for lanes in (1, *declaration.variants):
            function = ir.Function(module, declaration.type(lanes), declaration.variant(lanes))
            _add(function, "alwaysinline", *_PURE)
            builder = ir.IRBuilder(function.append_basic_block("entry"))
            builder.ret(self.emit(builder, function.args))


def entry(builder: ir.IRBuilder, table: ir.Value, index: ir.Value) -> ir.Value:
    """The entry of a constant table whose number is in the lowest bits of an i64."""
    return _called(builder, "entry", table, index)


def short_entry(builder: ir.IRBuilder, table: ir.Value, index: ir.Value) -> ir.Value:
    """The entry of a table of 32 bits that never changes, aligned to a register, by an i32 below its length.

    LLVM does not see that the table is read: the address comes from `settled`. The processor must have the
    instruction (`has_two_register_permute`).
    """
    return _called(builder, "short_entry", table, index)


def settled(builder: ir.IRBuilder, table: ir.Value) -> ir.Value:
    """The address of a table that is written before and never again."""
    type = ir.FunctionType(POINTER, [POINTER])
    return builder.asm(type, "", "=r,0,~{memory}", [table], side_effect=True)


def inverse_root(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """1 / sqrt of an f64, with a relative error of at most 2^-14, of zeros and infinity without."""
    return _called(builder, "inverse_root", value)


def fma(builder: ir.IRBuilder, value: ir.Value, factor: ir.Value, addend: float) -> ir.Value:
    """value * factor + addend of f64, rounded once.

    The addend is read where it is added: a constant would take a register, or an instruction to get there.
    """
    return _called(builder, "fma", value, factor, _repeated(builder.module, addend))


def extreme(builder: ir.IRBuilder, relation: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The operand that is greater (">") or less ("<") than the other; NaN where either is NaN.

    +0 is greater than -0. The processor must have the instruction (`has_range`).
    """
    return _called(builder, _extreme_name(relation, lhs.type), lhs, rhs)


def times_power(builder: ir.IRBuilder, value: ir.Value, exponent: ir.Value) -> ir.Value:
    """value * 2^exponent of f32, rounded once, where the exponent is an integer or NaN.

    `llvm.ldexp` takes an integer, which the instruction needs as a float. The processor must have the
    instruction (`has_scalef`).
    """
    return _called(builder, "times_power", value, exponent)


def nearest_integer(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The i32 nearest to an f32, of two the even one; any where there is none (`has_scalef`)."""
    return _called(builder, "nearest_integer", value)


def remainder(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """The exact remainder of floats, with the sign of the dividend: of quotients below 2^24 or 2^53 without a
    call of the C library.
    """
    return _called(builder, f"remainder_{_suffix(lhs.type)}", lhs, rhs)


def quotient(builder: ir.IRBuilder, lhs: ir.Value, rhs: ir.Value, is_signed: bool) -> ir.Value:
    """The quotient of i64 towards zero, by vectors in f64. The processor must have `has_conversions_of_i64`.

    The divisor must not be zero, and the quotient must fit.
    """
    return _called(builder, _quotient_name(is_signed), lhs, rhs)


def _quotient_name(is_signed: bool) -> str:
    return "signed_quotient" if is_signed else "unsigned_quotient"


def _suffix(type: ir.Type) -> str:
    return "f32" if type == F32 else "f64"


def _extreme_name(relation: str, type: ir.Type) -> str:
    return f"{'greater' if relation == '>' else 'lesser'}_{_suffix(type)}"


def call_library(builder: ir.IRBuilder, name: str, operands: Sequence[ir.Value]) -> ir.Value:
    """Call a function of `kernels/math/real_functions.pyx` for values of f64."""
    module = builder.module
    if _LIBRARY + name not in module.globals:
        lanes = tuple(lanes for lanes in _library()[name] if 1 < lanes <= _library_lanes())
        _keep(module, _Declaration(_LIBRARY + name, F64, (F64,) * len(operands), lanes).declare(module))
    return builder.call(module.globals[_LIBRARY + name], operands)


def library_symbols(code: bytes) -> dict[str, int]:
    """The addresses of the functions of `kernels/math` that machine code refers to, by their symbols."""
    if _LIBRARY.encode() not in code:
        return {}
    return {
        symbol: address
        for name, addresses in _library().items()
        for lanes, address in addresses.items()
        if (symbol := _Declaration(_LIBRARY + name, F64, (), ()).variant(lanes)).encode() in code
    }


def _library() -> dict[str, dict[int, int]]:
    """For each function of `kernels/math` the addresses of its variants by their lanes."""
    from ....kernels.math.real_functions import VECTOR_FUNCTIONS

    return VECTOR_FUNCTIONS


@functools.cache
def _library_lanes() -> int:
    """The maximum number of lanes of a vector in generated code; more would need two registers."""
    return 8 if has_full_speed_avx512() else 4


def _repeated(module: ir.Module, number: float) -> ir.Value:
    """The address of a number for each lane, which LLVM does not know to be constant."""
    name = f"number_{struct.pack('>d', number).hex()}"
    if name not in module.globals:
        type = ir.ArrayType(F64, _LANES)
        numbers = ir.GlobalVariable(module, type, name)
        numbers.linkage, numbers.align = "internal", _LANES * 8
        numbers.initializer = ir.Constant(type, [F64(number)] * _LANES)
    return module.globals[name]


def _emit_fma(builder: ir.IRBuilder, operands: Sequence[ir.Value]) -> ir.Value:
    value, factor, address = operands
    lanes = value.type.count if isinstance(value.type, ir.VectorType) else 1
    addend = builder.load(address, typ=value.type, align=8 * lanes)
    return call(builder, "llvm.fma", value, factor, addend)


def _emit_entry(builder: ir.IRBuilder, operands: Sequence[ir.Value]) -> ir.Value:
    table, index = operands
    if not isinstance(index.type, ir.VectorType):
        entry_index = builder.and_(index, I64(ENTRIES - 1))
        return builder.load(builder.gep(table, [entry_index], source_etype=I64), typ=I64)
    register = ir.VectorType(I64, _LANES)
    halves = [
        builder.load(builder.gep(table, [I64(half * _LANES)], source_etype=I64), typ=register, align=64)
        for half in range(ENTRIES // _LANES)
    ]
    pick = _instruction(builder, "vpermi2var.q.512", register, register, register, register)
    picked = builder.call(pick, [halves[0], _widened(builder, index), halves[1]])
    return _narrowed(builder, picked, index.type)


def _emit_short_entry(builder: ir.IRBuilder, operands: Sequence[ir.Value]) -> ir.Value:
    table, index = operands
    if not isinstance(index.type, ir.VectorType):
        return builder.load(builder.gep(table, [index], source_etype=I32), typ=I32)
    lanes = SHORT_ENTRIES // 2
    register = ir.VectorType(I32, lanes)
    halves = [
        builder.load(builder.gep(table, [I64(half * lanes)], source_etype=I32), typ=register, align=64)
        for half in range(2)
    ]
    pick = _instruction(builder, "vpermi2var.d.512", register, register, register, register)
    picked = builder.call(pick, [halves[0], _widened(builder, index, lanes), halves[1]])
    return _narrowed(builder, picked, index.type)


def _emit_inverse_root(builder: ir.IRBuilder, operands: Sequence[ir.Value]) -> ir.Value:
    (value,) = operands
    wide = _widened(builder, value)
    estimate = _instruction(builder, "rsqrt14.pd.512", wide.type, wide.type, wide.type, I8)
    return _narrowed(builder, builder.call(estimate, [wide, wide, I8(-1)]), value.type)


_EXTREMES = {"<": 0b0100, ">": 0b0101}
"""The operand of vrangeps for a relation: which value to select, with the sign that it has."""


def _emit_extreme(relation: str) -> Emit:
    def emit(builder: ir.IRBuilder, operands: Sequence[ir.Value]) -> ir.Value:
        lhs, rhs = operands
        if isinstance(lhs.type, ir.VectorType):
            chosen = _range_of_vectors(builder, _EXTREMES[relation], lhs, rhs)
        else:
            lhs, chosen = _after(builder, lhs, _range_of_scalars(builder, _EXTREMES[relation], lhs, rhs))
        return rarely(builder, builder.fcmp_unordered("uno", lhs, rhs), builder.fadd(lhs, rhs), chosen)

    return emit


def _range_of_vectors(builder: ir.IRBuilder, control: int, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    type = lhs.type
    bits = type.count * (32 if type.element == F32 else 64)
    mask = ir.IntType(max(type.count, 8))
    args = [lhs, rhs, I32(control), lhs, mask(-1)]
    if bits == 8 * 8 * _LANES:
        args.append(_CURRENT_ROUNDING)
    name = f"mask.range.{'ps' if type.element == F32 else 'pd'}.{bits}"
    return builder.call(_instruction(builder, name, type, *[arg.type for arg in args]), args)


def _range_of_scalars(builder: ir.IRBuilder, control: int, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    register, name = (ir.VectorType(F32, 4), "ss") if lhs.type == F32 else (ir.VectorType(F64, 2), "sd")
    first, second = [_in_register(builder, operand, register) for operand in (lhs, rhs)]
    args = [first, second, first, I8(-1), I32(control), _CURRENT_ROUNDING]
    range = _instruction(builder, f"mask.range.{name}", register, *[arg.type for arg in args])
    return builder.extract_element(builder.call(range, args), I32(0))


def _emit_times_power(builder: ir.IRBuilder, operands: Sequence[ir.Value]) -> ir.Value:
    value, exponent = operands
    if not isinstance(value.type, ir.VectorType):
        register = ir.VectorType(F32, 4)
        first, second = [_in_register(builder, operand, register) for operand in operands]
        args = [first, second, first, I8(-1), _CURRENT_ROUNDING]
        scale = _instruction(builder, "mask.scalef.ss", register, *[arg.type for arg in args])
        return builder.extract_element(builder.call(scale, args), I32(0))
    type = value.type
    args = [value, exponent, value, ir.IntType(max(type.count, 8))(-1)]
    if type.count == 2 * _LANES:
        args.append(_CURRENT_ROUNDING)
    name = f"mask.scalef.ps.{32 * type.count}"
    return builder.call(_instruction(builder, name, type, *[arg.type for arg in args]), args)


def _emit_nearest_integer(builder: ir.IRBuilder, operands: Sequence[ir.Value]) -> ir.Value:
    (value,) = operands
    if not isinstance(value.type, ir.VectorType):
        args = [_in_register(builder, value, ir.VectorType(F32, 4))]
        name, result = "sse.cvtss2si", I32
    else:
        lanes = value.type.count
        args, result = [value], ir.VectorType(I32, lanes)
        name = {4: "sse2.cvtps2dq", 8: "avx.cvt.ps2dq.256", 16: "avx512.mask.cvtps2dq.512"}[lanes]
        if lanes == 2 * _LANES:
            args += [ir.Constant(result, None), ir.IntType(lanes)(-1), _CURRENT_ROUNDING]
    type = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(builder.module.declare_intrinsic(f"llvm.x86.{name}", (), type), args)


_MAX_QUOTIENT = {F32: 2.0**24, F64: 2.0**53}
"""Integers up to it are floats of the type."""


def _emit_remainder(builder: ir.IRBuilder, operands: Sequence[ir.Value]) -> ir.Value:
    """a - q b of the magnitudes a and b is exact for the integer q below the quotient, and for the next one,
    which rounding may give: a multiple of the last digit of b, at most b. `fmod` serves larger quotients.
    """
    type = operands[0].type
    element, lanes = (type.element, type.count) if isinstance(type, ir.VectorType) else (type, 1)

    def constant(value: float) -> ir.Constant:
        return ir.Constant(type, value if lanes == 1 else [element(value)] * lanes)

    a, b = [call(builder, "llvm.fabs", operand) for operand in operands]
    quotient = call(builder, "llvm.trunc", builder.fdiv(a, b))
    rest = call(builder, "llvm.fma", builder.fneg(quotient), b, a)
    rest = builder.select(builder.fcmp_ordered("<", rest, constant(0.0)), builder.fadd(rest, b), rest)
    exact = call(builder, "llvm.copysign", rest, operands[0])
    is_exact = builder.and_(
        builder.fcmp_ordered("<", quotient, constant(_MAX_QUOTIENT[element])),
        builder.fcmp_ordered("<", b, constant(float("inf"))),
    )
    are_exact = is_exact if lanes == 1 else builder.bitcast(is_exact, ir.IntType(lanes))
    before = builder.block
    with builder.if_then(builder.icmp_unsigned("!=", are_exact, are_exact.type(-1)), likely=False):
        others = builder.frem(*operands)
        calling = builder.block
    result = builder.phi(type)
    result.add_incoming(exact, before)
    result.add_incoming(others, calling)
    return result


_REDUCED_ONE = 1 - 2.0**-50
"""The dividend of a reciprocal that is too small by more than the five roundings of an estimate."""


def _emit_quotient(is_signed: bool) -> Emit:
    def emit(builder: ir.IRBuilder, operands: Sequence[ir.Value]) -> ir.Value:
        if not isinstance(operands[0].type, ir.VectorType):
            return (builder.sdiv if is_signed else builder.udiv)(*operands)
        if not is_signed:
            return _unsigned_quotient(builder, *operands)
        no_bits = constant_like(operands[0].type, 0)
        unsigned = _unsigned_quotient(builder, *[_magnitude(builder, operand) for operand in operands])
        is_negative = builder.icmp_signed("<", builder.xor(*operands), no_bits)
        return builder.select(is_negative, builder.sub(no_bits, unsigned), unsigned)

    return emit


def _magnitude(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The absolute values of signed integers as unsigned ones."""
    zero = constant_like(value.type, 0)
    return builder.select(builder.icmp_signed("<", value, zero), builder.sub(zero, value), value)


def _unsigned_quotient(builder: ir.IRBuilder, rest: ir.Value, divisor: ir.Value) -> ir.Value:
    """The sum of two estimates in f64, neither of which exceeds the exact value, and of 1 where that is left.

    An estimate has at least 1 - 2^-49 of the exact quotient, before its fraction is discarded: the first one
    is less by at most 2^15 + 1, the second one by less than 2.
    """
    floats = ir.VectorType(F64, rest.type.count)
    reduced = constant_like(floats, _REDUCED_ONE)
    reciprocal = builder.fdiv(reduced, builder.uitofp(divisor, floats))
    quotient = constant_like(rest.type, 0)
    for _ in range(2):
        estimate = builder.fptoui(builder.fmul(builder.uitofp(rest, floats), reciprocal), rest.type)
        quotient = builder.add(quotient, estimate)
        rest = builder.sub(rest, builder.mul(estimate, divisor))
    return builder.add(quotient, builder.zext(builder.icmp_unsigned(">=", rest, divisor), rest.type))


def _in_register(builder: ir.IRBuilder, value: ir.Value, register: ir.VectorType) -> ir.Value:
    """A register whose first lane is a value; the others are undefined."""
    return builder.insert_element(ir.Constant(register, ir.Undefined), value, I32(0))


def _after(builder: ir.IRBuilder, operand: ir.Value, result: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The operand and the result behind a barrier: no use of the operand comes before the result.

    LLVM would otherwise schedule the comparison that only a branch needs first, which occupies the execution
    unit of a result for which the next iteration waits.
    """
    pair = ir.LiteralStructType([operand.type, result.type])
    type = ir.FunctionType(pair, [operand.type, result.type])
    both = builder.asm(type, "", "=v,=v,0,1", [operand, result], side_effect=True)
    return builder.extract_value(both, 0), builder.extract_value(both, 1)


@functools.cache
def _instructions() -> tuple[_Instruction, ...]:
    """The functions that are defined, those by vector instructions where this processor supports these."""
    all = (
        _Instruction(
            _Declaration("entry", I64, (POINTER, I64), (4, 8)), _emit_entry, has_two_register_permute
        ),
        _Instruction(
            _Declaration("short_entry", I32, (POINTER, I32), (4, 8, 16)),
            _emit_short_entry,
            has_two_register_permute,
        ),
        _Instruction(_Declaration("inverse_root", F64, (F64,), (4, 8)), _emit_inverse_root, has_rsqrt14),
        _Instruction(
            _Declaration("fma", F64, (F64, F64, POINTER), (4,)), _emit_fma, has_fast_memory_operands
        ),
        _Instruction(
            _Declaration("times_power", F32, (F32, F32), (4, 8, 16)), _emit_times_power, has_scalef
        ),
        _Instruction(
            _Declaration("nearest_integer", I32, (F32,), (4, 8, 16)), _emit_nearest_integer, has_scalef
        ),
        *[
            _Instruction(
                _Declaration(_quotient_name(is_signed), I64, (I64, I64), (4, 8)),
                _emit_quotient(is_signed),
                has_conversions_of_i64,
            )
            for is_signed in (False, True)
        ],
        *[
            _Instruction(
                _Declaration(f"remainder_{_suffix(type)}", type, (type, type), lanes),
                _emit_remainder,
                lambda: True,
            )
            for type, lanes in ((F32, (4, 8, 16)), (F64, (2, 4, 8)))
        ],
        *[
            _Instruction(
                _Declaration(_extreme_name(relation, type), type, (type, type), lanes),
                _emit_extreme(relation),
                has_range,
            )
            for relation in _EXTREMES
            for type, lanes in ((F32, (4, 8, 16)), (F64, (2, 4, 8)))
        ],
    )
    return tuple(instruction for instruction in all if instruction.is_available())


def define(llvm: Any, module: Any, pass_builder: Any, context: Any) -> None:
    """Define the functions of this Python module that an LLVM module calls, and inline the calls.

    Args:
        llvm: `llvmlite.binding`.
        module: the optimised LLVM module.
        pass_builder: the pass builder that optimised it.
        context: the module's LLVM context.
    """
    functions = {function.name for function in module.functions}
    called = tuple(
        instruction
        for instruction in _instructions()
        if not functions.isdisjoint(instruction.declaration.names)
    )
    if not called:
        return
    module.link_in(llvm.parse_assembly(_definitions(called), context))
    for instruction in called:
        for name in instruction.declaration.names:
            module.get_function(name).linkage = "internal"
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.run(module, pass_builder)


@functools.cache
def _definitions(instructions: Sequence[_Instruction]) -> str:
    """The module that defines functions and their variants."""
    module = ir.Module()
    for instruction in instructions:
        instruction.define(module)
    return str(module)


def _called(builder: ir.IRBuilder, name: str, *operands: ir.Value) -> ir.Value:
    module = builder.module
    if name not in module.globals:
        (instruction,) = [each for each in _instructions() if each.declaration.name == name]
        _keep(module, instruction.declaration.declare(module))
    return builder.call(module.globals[name], operands)


def _add(function: ir.Function, *attributes: str) -> None:
    """Add attributes to a function, including attributes that llvmlite does not know."""
    for attribute in attributes:
        set.add(function.attributes, attribute)


def _keep(module: ir.Module, functions: list[ir.Function]) -> None:
    """Keep LLVM from removing functions that nothing calls yet."""
    if not functions:
        return
    used = module.globals.get(_COMPILER_USED)
    if used is None:
        used = ir.GlobalVariable(module, ir.ArrayType(POINTER, 0), _COMPILER_USED)
        used.linkage, used.section = "appending", "llvm.metadata"
    all = [*(used.initializer.constant if used.initializer is not None else ()), *functions]
    used.value_type = ir.ArrayType(POINTER, len(all))
    used.initializer = ir.Constant(used.value_type, all)


def _of_lanes(type: ir.Type, lanes: int) -> ir.Type:
    """The type of a parameter for some lanes."""
    return type if lanes == 1 or type == POINTER else ir.VectorType(type, lanes)


def _instruction(builder: ir.IRBuilder, name: str, result: ir.Type, *operands: ir.Type) -> ir.Function:
    return builder.module.declare_intrinsic(f"llvm.x86.avx512.{name}", (), ir.FunctionType(result, operands))


def _widened(builder: ir.IRBuilder, value: ir.Value, count: int = _LANES) -> ir.Value:
    """A whole register of `count` lanes, which repeats a value's lanes."""
    if not isinstance(value.type, ir.VectorType):
        return splat(builder, value, count)
    lanes = value.type.count
    return shuffle_lanes(builder, value, [lane % lanes for lane in range(count)])


def _narrowed(builder: ir.IRBuilder, wide: ir.Value, type: ir.Type) -> ir.Value:
    """The first lanes, as many as a type has."""
    if not isinstance(type, ir.VectorType):
        return builder.extract_element(wide, I32(0))
    return shuffle_lanes(builder, wide, range(type.count))
