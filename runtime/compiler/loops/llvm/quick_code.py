"""Functions whose code gives way to better code while they are in use.

LLVM takes seconds to optimize the code of a large program, and a tenth of that to generate code that it does
not optimize (`codegen.CodeGenerator.compile_quickly`). Each function of such quick code is a jump to the
address in a variable, at first that of the function's own code. Once optimized code is loaded, its address
is stored there: callers keep the addresses that they have, and a call that runs goes on in the quick code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....kernels.named_tuples import NamedTuple


class QuickCode(NamedTuple):
    """Quick code that is loaded.

    Attributes:
        text: returns its module in LLVM IR.
        size: bytes of the text, or of the quick code where that was on disk.
        fast_compile: how the code is optimized (`codegen.CodeGenerator.compile`).
        symbols: the addresses of external symbols that it refers to.
        targets: the addresses of the variables that its functions jump by, by the functions' names.
        unrolls_late: whether it is optimized without unrolling first (`machine.function_addresses`).
        is_rough: whether code that is so optimized was on disk, and its functions jump to that.
    """

    text: Callable[[], str]
    size: int
    fast_compile: bool
    symbols: Mapping[str, int]
    targets: dict[str, int]
    unrolls_late: bool = False
    is_rough: bool = False

    def replace(self, addresses: Mapping[str, int]) -> None:
        """Let the functions jump to the code at other addresses, by the functions' names."""
        for name, target in self.targets.items():
            # Processors write an aligned address as a whole: a call meanwhile finds the old or the new one.
            ctypes.c_void_p.from_address(target).value = addresses[name]


def target_symbol(name: str) -> str:
    """The symbol of the variable that a function jumps by."""
    return f"{name}.target"


def make_replaceable(llvm: Any, module: Any, names: Sequence[str], context: Any) -> None:
    """Make functions of a module jumps by variables.

    Args:
        llvm: `llvmlite.binding`.
        module: the LLVM module.
        names: the functions, of external linkage.
        context: the module's LLVM context.
    """
    jumps = []
    for name in names:
        function = module.get_function(name)
        result = str(function.global_value_type).partition(" (")[0]
        types = [str(argument.type) for argument in function.arguments]
        function.name = f"{name}.quick"
        jumps.append(_jump(name, function.name, result, types))
    module.link_in(llvm.parse_assembly("\n".join(jumps), context))


def _jump(name: str, first: str, result: str, types: Sequence[str]) -> str:
    """A module with a function that jumps to `first` until its variable is changed."""
    parameters = ", ".join(f"{type} %a{number}" for number, type in enumerate(types))
    returned = "ret void" if result == "void" else f"ret {result} %r"
    assigned = "" if result == "void" else "%r = "
    return f"""
declare {result} @"{first}"({", ".join(types)})
@"{target_symbol(name)}" = global ptr @"{first}", align 8
define {result} @"{name}"({parameters}) {{
  %target = load atomic ptr, ptr @"{target_symbol(name)}" monotonic, align 8
  {assigned}musttail call {result} %target({parameters})
  {returned}
}}
"""
