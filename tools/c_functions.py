"""Print functions of `loops/mathematics` as C: `kernels/math/elementary_functions.h`.

They are those of f64, of f32 in the arithmetic of f64 (`f64/singles.py`), and of f32 in that of f32 (`f32/`).

    python tools/c_functions.py            # print the header
    python tools/c_functions.py --write    # write it

Each function is emitted as LLVM IR without branches, as for generated loops, and each instruction of it is an
operation of C. An expression that is used once and not long stands where it is used.
"""

from __future__ import annotations

import argparse
import collections
import inspect
import math
import sys
import textwrap
import typing
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from llvmlite import ir

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nimblehlo.compiler.loops.llvm.values import BIT, F32, F64, I32, I64
from nimblehlo.compiler.loops.mathematics import exponential as exponential_of_f32
from nimblehlo.compiler.loops.mathematics import reals, roots
from nimblehlo.compiler.loops.mathematics.coefficients import HALF_PI, SHORT_LOG_OF_2
from nimblehlo.compiler.loops.mathematics.f32 import error_functions as fast_error_functions
from nimblehlo.compiler.loops.mathematics.f32 import exponential as fast_exponential
from nimblehlo.compiler.loops.mathematics.f32 import inverse_trigonometry as fast_inverse_trigonometry
from nimblehlo.compiler.loops.mathematics.f32 import logarithm as fast_logarithm
from nimblehlo.compiler.loops.mathematics.f32 import roots as fast_roots
from nimblehlo.compiler.loops.mathematics.f32 import trigonometry as fast_trigonometry
from nimblehlo.compiler.loops.mathematics.f64 import (
    arithmetic,
    error_functions,
    exponential,
    logarithm,
    singles,
    trigonometry,
)
from nimblehlo.compiler.loops.mathematics.reals import DoubleDouble, Real

TARGET = Path(__file__).resolve().parent.parent / "kernels" / "math" / "elementary_functions.h"
LINE_LENGTH, EXPRESSION_LENGTH = 118, 70
"""Characters of a line of C, and of an expression that gets no name of its own."""

HEADER = """\
/* Functions of f64, and of f32 in the arithmetic of f64 and of f32. Written by tools/c_functions.py from the
   functions of these names in runtime/compiler/loops/mathematics, which say how they are computed. Each
   operation is rounded as written, a fused multiply-add once: results have the same bits on every processor
   and for every vector width. */

#ifndef NIMBLEHLO_ELEMENTARY_FUNCTIONS_H
#define NIMBLEHLO_ELEMENTARY_FUNCTIONS_H

#include "real_arithmetic.h"
"""

NUMBERS = {
    "LOG_OF_2": SHORT_LOG_OF_2[0],
    "LOG_OF_2_REST": SHORT_LOG_OF_2[1],
    "HALF_PI": HALF_PI[0],
    "HALF_PI_NEXT": HALF_PI[1],
    "NORMAL_EXPONENTS": exponential.NORMAL_EXPONENTS,
    "TINY_HYPERBOLIC": exponential.TINY_HYPERBOLIC,
    "TINY_EXCESS": logarithm.TINY_EXCESS,
    "ERF_INV_NEAR_END": error_functions.NEAR_END,
    "MAX_REDUCED": trigonometry.MAX_REDUCED,
    "MAX_SINGLE_EXP": exponential_of_f32.REACH,
}
"""Numbers that loops over arrays and functions of complex numbers need."""

STRUCTURES = {
    DoubleDouble: F64,
    exponential.ScaledPower: F64,
    trigonometry.Reduced: F64,
    fast_trigonometry.ReducedAngle: F32,
}
"""The structures that functions return or take, and the type of their numbers."""

_BUILDING_BLOCKS = (
    arithmetic.double_double_sum,
    arithmetic.double_double_product,
    arithmetic.quotient,
    arithmetic.square_root,
    exponential.exponential_in_range,
    exponential.half_hyperbolic,
    logarithm.double_double_logarithm,
    error_functions.minus_log,
    error_functions.erf_inv_center,
    trigonometry.reduced_pair,
    trigonometry.reduce_by_half_pi,
    trigonometry.sine_of_reduced,
    trigonometry.cosine_of_reduced,
    trigonometry.tangent_of_reduced,
    singles.single_exponential,
    singles.single_logistic,
    singles.single_erf,
    singles.single_erfc,
)
_FUNCTIONS_OF_F64 = (
    exponential.exponential,
    exponential.logistic,
    exponential.tanh,
    exponential.exponential_minus_one,
    exponential.sinh,
    exponential.cosh,
    logarithm.logarithm,
    logarithm.log_plus_one,
    logarithm.asinh,
    logarithm.acosh,
    logarithm.atanh,
    logarithm.power,
    error_functions.erf,
    error_functions.erfc,
    error_functions.erf_inv,
    trigonometry.asin,
    trigonometry.acos,
    trigonometry.atan,
    trigonometry.atan2,
)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "power_of_two": reals.integral_power_of_two,
    "exact_sum": reals.exact_sum,
    "ordered_sum": reals.exact_sum_ordered,
    **{function.__name__: function for function in _BUILDING_BLOCKS},
    "scaled_power": lambda x: exponential.scaled_power(x),
    **{f"{function.__name__}_of": function for function in _FUNCTIONS_OF_F64},
    "cbrt_of": lambda x: roots.cbrt(x, logarithm.MIN_NORMAL),
    "single_exp_without_table": exponential_of_f32.exp_without_table,
    "single_tanh": exponential_of_f32.tanh_by_quotient,
}
"""The functions that are printed, by their names in C."""

FAST_FUNCTIONS: dict[str, Callable[..., Real]] = {
    "fast_exponential": lambda x: fast_exponential.exp(x, reals.scaled_by_factors),
    "fast_exponential_minus_one": fast_exponential.expm1,
    "fast_tanh": fast_exponential.tanh,
    "fast_sinh": fast_exponential.sinh,
    "fast_cosh": fast_exponential.cosh,
    "fast_logarithm": fast_logarithm.log,
    "fast_log_plus_one": fast_logarithm.log1p,
    "fast_power": fast_logarithm.power,
    "fast_erf": fast_error_functions.erf,
    "fast_erfc": lambda x: fast_error_functions.erfc(x, reals.scaled_by_factors),
    "fast_erf_inv": fast_error_functions.erf_inv,
    "fast_sine": fast_trigonometry.sine_of_reduced,
    "fast_cosine": fast_trigonometry.cosine_of_reduced,
    "fast_tangent": fast_trigonometry.tangent_of_reduced,
    "fast_asin": fast_inverse_trigonometry.asin,
    "fast_acos": fast_inverse_trigonometry.acos,
    "fast_atan": fast_inverse_trigonometry.atan,
    "fast_atan2": fast_inverse_trigonometry.atan2,
    "fast_cbrt": fast_roots.cbrt,
}
"""The functions of f32 in the arithmetic of f32."""

_OPERATORS = {
    "fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/",
    "add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>",
}  # fmt: skip
_RELATIONS = {"oeq": "==", "olt": "<", "ole": "<=", "ogt": ">", "oge": ">=", "uno": "!="}
_FUNCTIONS_OF_C = {
    "llvm.fma.f64": "FUSED_MULTIPLY_ADD",
    "llvm.fabs.f64": "fabs",
    "llvm.sqrt.f64": "sqrt",
    "llvm.copysign.f64": "copysign",
    "llvm.fma.f32": "FUSED_MULTIPLY_ADD_FLOATS",
    "llvm.fabs.f32": "fabsf",
    "llvm.sqrt.f32": "sqrtf",
    "llvm.copysign.f32": "copysignf",
    # To even integers where there are two, in the rounding mode that everything is computed in.
    "llvm.roundeven.f32": "rintf",
    # Its addend is read from memory where LLVM compiles it, and a constant in C.
    "fma": "FUSED_MULTIPLY_ADD",
}
_TYPES = {F64: "double", I64: "uint64_t", F32: "float", I32: "uint32_t", BIT: "int"}
_INTEGERS = {F64: I64, F32: I32}
"""The integers that functions of numbers of a type have, too."""
_CASTS = {I64: "bits_of_double", F64: "double_from_bits", I32: "bits_of_float", F32: "float_from_bits"}
_BLENDS = {F64: "blend_doubles", F32: "blend_floats"}


def kind_of(annotation: Any) -> Any:
    """What an annotated value is: `Real`, one of `STRUCTURES`, or an integer."""
    kinds = set(typing.get_args(annotation) or (annotation,)) - {float, type(None)}
    (kind,) = kinds
    return kind


def fields_of(structure: Any) -> dict[str, Any]:
    """What each field of a structure is."""
    return {name: kind_of(annotation) for name, annotation in typing.get_type_hints(structure).items()}


def c_type(kind: Any, real: ir.Type = F64) -> str:
    """The name of a type in C; `real` is that of a `Real`."""
    return str(kind.__name__) if kind in STRUCTURES else _TYPES[real if kind is Real else _INTEGERS[real]]


def components(kind: Any, name: str, real: ir.Type) -> Iterator[tuple[ir.Type, str]]:
    """The LLVM types of the numbers that a value consists of, and their names in C."""
    if kind in STRUCTURES:
        for field, kind_of_field in fields_of(kind).items():
            yield from components(kind_of_field, f"{name}.{field}", real)
    else:
        yield (real if kind is Real else _INTEGERS[real]), name


def assembled(kind: Any, values: Iterator[ir.Value], builder: ir.IRBuilder) -> Any:
    """A value of the operator language from the numbers that it consists of."""
    if kind in STRUCTURES:
        return kind(*[assembled(field, values, builder) for field in fields_of(kind).values()])
    return Real(builder, next(values)) if kind is Real else next(values)


def numbers_of(value: Any) -> list[ir.Value]:
    """The numbers that a value of the operator language consists of."""
    if isinstance(value, tuple):
        return [number for component in value for number in numbers_of(component)]
    return [value.value if isinstance(value, Real) else value]


def comment(text: str) -> str:
    """A comment of C."""
    words = " ".join(text.split())
    return textwrap.fill(words, LINE_LENGTH - 3, initial_indent="/* ", subsequent_indent="   ") + " */"


def structure_definition(structure: Any, real: ir.Type) -> str:
    """The definition of a structure of numbers of a type."""
    names = collections.defaultdict(list)
    for field, kind in fields_of(structure).items():
        names[c_type(kind, real)].append(field)
    members = " ".join(f"{type} {', '.join(fields)};" for type, fields in names.items())
    said = comment(inspect.getdoc(structure) or "")
    return f"{said}\ntypedef struct {{ {members} }} {structure.__name__};\n"


def constant(value: ir.Constant) -> str:
    """A number in C."""
    number = value.constant
    if value.type not in (F32, F64):
        width = value.type.width
        return f"UINT{width}_C({number % (1 << width):#x})" if number else "0"
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    return repr(number) + ("f" if value.type == F32 else "")


def bare(expression: str) -> str:
    """An expression without the parentheses around it."""
    depth = 0
    for place, character in enumerate(expression):
        depth += (character == "(") - (character == ")")
        if depth == 0 and place < len(expression) - 1:
            return expression
    return expression[1:-1] if expression.startswith("(") else expression


class Statements:
    """The statements of a function, each of which gives an expression a name.

    Attributes:
        lines: the statements.
    """

    def __init__(self, parameters: dict[ir.Value, str], results: Sequence[ir.Value], block: ir.Block) -> None:
        """
        Args:
            parameters: the names of the numbers that the function takes.
            results: the numbers that it returns.
            block: the instructions that compute these.
        """
        self.lines: list[str] = []
        self._expressions = dict(parameters)
        self._uses = collections.Counter(results)
        needed = []
        for instruction in reversed(block.instructions):
            if self._uses[instruction]:
                needed.append(instruction)
                self._uses.update(instruction.operands)
        for instruction in reversed(needed):
            self._add(instruction)

    def expression(self, value: ir.Value) -> str:
        """A number that the statements know, as an operand."""
        if isinstance(value, ir.GlobalVariable):
            return constant(value.initializer.constant[0])
        return constant(value) if isinstance(value, ir.Constant) else self._expressions[value]

    def _add(self, instruction: ir.Instruction) -> None:
        expression = self._operation(instruction)
        if self._uses[instruction] > 1 or len(expression) > EXPRESSION_LENGTH:
            name = f"v{len(self.lines)}"
            self.lines.append(f"{_TYPES[instruction.type]} {name} = {bare(expression)};")
            expression = name
        self._expressions[instruction] = expression

    def _operation(self, instruction: ir.Instruction) -> str:
        """What an instruction computes; KeyError for what C code is not to do."""
        opname, values = instruction.opname, instruction.operands
        if opname == "call":
            arguments = ", ".join(bare(self.expression(argument)) for argument in instruction.args)
            return f"{_FUNCTIONS_OF_C[instruction.callee.name]}({arguments})"
        operands = [self.expression(value) for value in values]
        if opname == "fneg":
            return f"-{operands[0]}"
        if opname == "bitcast":
            return f"{_CASTS[instruction.type]}({bare(operands[0])})"
        if opname == "trunc" and instruction.type == BIT:
            return f"(int)({operands[0]} & 1)"
        if opname == "fptosi":
            return f"(uint32_t)(int32_t){operands[0]}"
        if opname in ("fpext", "fptrunc", "trunc"):
            return f"({_TYPES[instruction.type]}){operands[0]}"
        if opname == "select":
            return f"{_BLENDS[instruction.type]}({', '.join(map(bare, operands))})"
        if opname == "fcmp":
            # A number differs from itself if it is NaN.
            assert instruction.op != "uno" or values[0] is values[1]
            return f"({operands[0]} {_RELATIONS[instruction.op]} {operands[1]})"
        if opname in ("shl", "lshr", "ashr"):
            operands[1] = str(values[1].constant)
        if opname == "ashr":
            # A negative number keeps its sign; C leaves that to the compiler, and every compiler does it.
            return f"(uint32_t)((int32_t){operands[0]} >> {operands[1]})"
        if opname == "xor" and instruction.type == BIT and isinstance(values[1], ir.Constant):
            return f"!{operands[0]}"
        return f"({operands[0]} {_OPERATORS[opname]} {operands[1]})"


def function_definition(name: str, function: Callable[..., Any], real: ir.Type = F64) -> str:
    """The definition of a function of numbers of a type, with the first paragraph of its text."""
    hints = typing.get_type_hints(function)
    kinds = {each: kind_of(hints.get(each, Real)) for each in inspect.signature(function).parameters}
    numbers = [number for each, kind in kinds.items() for number in components(kind, each, real)]
    llvm = ir.Function(ir.Module(), ir.FunctionType(real, [type for type, _ in numbers]), name)
    builder = ir.IRBuilder(llvm.append_basic_block())
    arguments = iter(llvm.args)
    result = function(*[assembled(kind, arguments, builder) for kind in kinds.values()])
    names = {value: text for value, (_, text) in zip(llvm.args, numbers, strict=True)}
    statements = Statements(names, numbers_of(result), builder.block)
    returned = _returned(result, statements)
    if isinstance(result, tuple):
        returned = f"({type(result).__name__}){returned}"
    lines = [_folded(line) for line in (*statements.lines, f"return {returned};")]
    said = (inspect.getdoc(function) or "").partition("\n\n")[0]
    parameters = ", ".join(f"{c_type(kind, real)} {each}" for each, kind in kinds.items())
    head = f"REAL_INLINE {c_type(type(result), real)} {name}({parameters}) {{"
    return "\n".join([*([comment(said)] if said else []), head, *lines, "}\n"])


def _returned(result: Any, statements: Statements) -> str:
    """A result as an expression, or as what initializes a structure."""
    if isinstance(result, tuple):
        return f"{{{', '.join(_returned(component, statements) for component in result)}}}"
    return bare(statements.expression(numbers_of(result)[0]))


def _folded(statement: str) -> str:
    return textwrap.fill(
        statement, LINE_LENGTH, initial_indent="    ", subsequent_indent="        ", break_long_words=False
    )


def header() -> str:
    """The text of the header."""
    numbers = "\n".join(f"#define {name} {value!r}" for name, value in NUMBERS.items())
    structures = [structure_definition(structure, real) for structure, real in STRUCTURES.items()]
    functions = [function_definition(name, function) for name, function in FUNCTIONS.items()]
    fast_functions = {"fast_reduced": fast_trigonometry.reduced} | FAST_FUNCTIONS
    functions += [function_definition(name, function, F32) for name, function in fast_functions.items()]
    return "\n".join([HEADER, f"{numbers}\n", *structures, *functions, "#endif\n"])


def main() -> None:
    """Print or write the header."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the file")
    if parser.parse_args().write:
        TARGET.write_text(header(), encoding="utf-8")
    else:
        print(header(), end="")


if __name__ == "__main__":
    main()
