"""LLVM's passes and code generator for this processor: LLVM IR to machine code, neither cached nor loaded.

LLVM may neither reorder nor contract floating-point arithmetic.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ....kernels.compiling.target import target_machine
from ....kernels.launch.processor import has_full_speed_avx512, llvm_target, prefers_scalar_gather

_OPTIMISATION_LEVEL = 3
_QUICK_LEVEL = 0

_USE_512_BIT_VECTORS = "-prefer-256-bit"
_LOAD_INSTEAD_OF_GATHER = "+prefer-no-gather"


def tuning() -> str:
    """LLVM's tuning options for this processor."""
    options = (
        (_USE_512_BIT_VECTORS, has_full_speed_avx512()),
        (_LOAD_INSTEAD_OF_GATHER, prefers_scalar_gather()),
    )
    return ",".join(option for option, applies in options if applies)


class CodeGenerator:
    """LLVM, set up for this processor."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        self.llvm = llvm
        cpu, features = llvm_target()
        features = ",".join(part for part in (features, tuning()) if part)
        self._target = cpu, features
        self.target_machine = target_machine(cpu, features, _OPTIMISATION_LEVEL)

    def compile(self, text: str, fast_compile: bool = False) -> bytes:
        """The machine code of a module.

        Args:
            text: the module in LLVM IR.
            fast_compile: optimize less and unroll no loop, since the code's loops are too short to repay it.
        """
        return self.emitted(self.optimised(text, fast_compile))

    def emitted(self, module: Any) -> bytes:
        """The machine code of a module after LLVM's passes."""
        code: bytes = self.target_machine.emit_object(module)
        return code

    def compile_quickly(self, text: str, names: Sequence[str]) -> bytes:
        """Machine code of a module until there is that of `compile`, which gives the same bits.

        It takes a tenth of the time to generate, and 1.3 to 2 times the time to run, several times where
        loops are neither vectorized nor made of vectors (`vector_loops`; Zen 4).

        Args:
            text: the module in LLVM IR.
            names: the functions that are replaced (`quick_code`).
        """
        from . import quick_code, vector_loops, vector_variants

        context = self.llvm.create_context()
        module = self._parsed(vector_loops.quick_text(text), context)
        builder = self.llvm.create_pass_builder(
            self._quick_target_machine, self.llvm.create_pipeline_tuning_options(speed_level=_QUICK_LEVEL)
        )
        passes = self.llvm.create_new_module_pass_manager()
        # They make the code 1.1 to 1.3 times as fast, and take a fifth of the time (Zen 4).
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.run(module, builder)
        vector_variants.define(self.llvm, module, builder, context)
        quick_code.make_replaceable(self.llvm, module, names, context)
        return self.emitted_quickly(module)

    def emitted_quickly(self, module: Any) -> bytes:
        """The machine code of a module that is not optimized."""
        code: bytes = self._quick_target_machine.emit_object(module)
        return code

    @functools.cached_property
    def _quick_target_machine(self) -> Any:
        return target_machine(*self._target, _QUICK_LEVEL)

    def _parsed(self, text: str, context: Any) -> Any:
        """LLVM's module of a text, verified.

        Args:
            text: the module in LLVM IR.
            context: of this module alone: LLVM frees the types, constants and notes of a context with it.
        """
        from .loops import with_distinct_nodes

        module = self.llvm.parse_assembly(with_distinct_nodes(text), context)
        module.verify()
        return module

    def optimised(self, text: str, fast_compile: bool = False) -> Any:
        """LLVM's module, after its passes; for the arguments see `compile`."""
        from . import vector_variants

        llvm = self.llvm
        context = llvm.create_context()
        module = self._parsed(text, context)
        options = llvm.create_pipeline_tuning_options(speed_level=1 if fast_compile else _OPTIMISATION_LEVEL)
        options.loop_vectorization = True
        options.slp_vectorization = True
        options.loop_interleaving = options.loop_unrolling = not fast_compile
        builder = llvm.create_pass_builder(self.target_machine, options)
        builder.getModulePassManager().run(module, builder)
        vector_variants.define(llvm, module, builder, context)
        return module
