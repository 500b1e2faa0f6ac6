"""LLVM's code generator for code that `object_code` loads. Compiler processes load no more than this."""

from __future__ import annotations

import sys
from typing import Any

USES_JIT_LINK = sys.platform != "win32"
"""Whether LLVM's newer linker loads code (`object_code`)."""
CODE_MODEL = "small" if USES_JIT_LINK else "large"


def target_machine(cpu: str, features: str, level: int) -> Any:
    """LLVM's code generator for code that `load` links.

    Args:
        cpu, features: the processor, as LLVM names it.
        level: how far it optimizes, from 0 to 3.
    """
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=cpu, features=features, opt=level, reloc="pic", codemodel=CODE_MODEL
    )
