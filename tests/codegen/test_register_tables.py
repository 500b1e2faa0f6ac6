"""Tables in registers: each entry, whatever the number of lanes, and one instruction for a vector of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from nimblehlo.codegen import machine, register_tables
from nimblehlo.codegen.values import I64
from nimblehlo.kernels.processor import permutes_two_registers
from nimblehlo.types import ELEMENT_TYPES
from tests.codegen.loops import looped, module_of

TABLE = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, register_tables.ENTRIES)
TYPE = ELEMENT_TYPES["i64"]

pytestmark = pytest.mark.skipif(
    not permutes_two_registers(), reason="this processor has no instruction for it"
)


def emit(builder: ir.IRBuilder, index: tuple[Any, ...]) -> tuple[Any, ...]:
    type = ir.ArrayType(I64, len(TABLE))
    table = ir.GlobalVariable(builder.module, type, "numbers")
    table.linkage, table.global_constant, table.align = "internal", True, 64
    table.initializer = ir.Constant(type, [I64(int(number)) for number in TABLE])
    return (register_tables.entry(builder, table, index[0]),)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 64, 1001])
def test_only_the_lowest_bits_of_an_index_count(count: int) -> None:
    index = np.random.default_rng(count).integers(-(2**63), 2**63 - 1, count)
    assert (looped(emit, [TYPE], TYPE)(index) == TABLE[index & (register_tables.ENTRIES - 1)]).all()


def test_a_loop_of_vectors_picks_all_lanes_at_once() -> None:
    text = str(module_of(lambda *arguments: [emit(*arguments)], [TYPE], [TYPE]))
    module = machine._machine().optimised(text)
    loop = str(module.get_function("loop"))
    assert "@llvm.x86.avx512.vpermi2var.q.512(" in loop
    assert "@entry" not in loop


def test_modules_without_tables_stay_as_they_are() -> None:
    module = machine._machine().optimised(str(module_of(lambda _, value: [value], [TYPE], [TYPE])))
    assert "entry_of" not in str(module)
