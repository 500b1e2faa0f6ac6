"""Parses and verifies programs in any form."""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import thread_time

from ..errors import VerifyError
from ..kernels.launch.garbage import gc_paused
from .frontend.loader import ProgramText, load_ir, load_text, text_of
from .ir import Module
from .ops.framework.memory_limit import typed_shortage
from .ops.framework.verify import verify as verify_module


@gc_paused
def load(module: object, *, verify: bool = True) -> Module:
    """Parse and verify a program.

    Args:
        module: text in any form that MLIR prints, a path, MLIR bytecode or a VHLO portable artifact as
            bytes, a jaxlib ``ir.Module``, a ``jax.stages.Lowered``, a ``jax.export.Exported`` or a
            ``torch.export.ExportedProgram`` of static sizes. A `Module` that `load` returned is returned as
            it is, verified if it was not yet.
        verify: whether to check the constraints of the specification now. A program that was loaded without
            can be printed, compared, serialized and converted; whatever runs or transforms it verifies it
            first, and raises the errors that are missing here.

    Returns:
        The program; ``str()`` prints it as generic MLIR.

    Raises:
        ParseError: the text or bytecode is malformed.
        VerifyError: a constraint of the specification does not hold.
        UnsupportedError: the program uses something that is not supported.
        ExecutionError: there is too little memory.
    """
    with typed_shortage("the module cannot be loaded"):
        if not isinstance(module, Module):
            module = load_text(module) if isinstance(module, ProgramText) else load_ir(module)
            module.is_unverified = True
        if verify and module.is_unverified:
            _verify(module)
    return module


class GivenProgram:
    """A program as it was given, which is parsed and verified when its module is first asked for.

    Args:
        load: parses and verifies it.
        text: its text or bytecode; None: other programs may have it.

    Attributes:
        text: see above; None from when it is parsed.
        seconds: the processor time that parsing and verification took.
        means_the_same: whether another process makes the same program of the text.
    """

    def __init__(self, load: Callable[[], Module], text: ProgramText | None = None) -> None:
        self.text = text
        self.seconds = 0.0
        self.means_the_same = True
        self._load = load
        self._module: Module | None = None

    @property
    def module(self) -> Module:
        """The verified module.

        Raises:
            NimbleError: as by `load`.
        """
        if self._module is None:
            started = thread_time()
            self._module = self._load()
            self.seconds = thread_time() - started
            self.text, self._load = None, _is_loaded
        return self._module


def _is_loaded() -> Module:
    raise AssertionError("the module is there")


def given_program(module: object) -> GivenProgram:
    """A program whose module is loaded when it is asked for, if it is text or bytecode, and else at once.

    Args:
        module: see `load`; a program that was given before is returned as it is.

    Raises:
        NimbleError: as by `load`, of what is loaded at once, or the file cannot be read.
    """
    if isinstance(module, GivenProgram):
        return module
    with typed_shortage("the module cannot be loaded"):
        text = None if isinstance(module, Module) else text_of(module)
    if text is not None:
        return GivenProgram(functools.partial(load, text), text)
    loaded = load(module)
    return GivenProgram(lambda: loaded)


def _verify(module: Module) -> None:
    try:
        verify_module(module)
    except RecursionError:
        raise VerifyError("regions or types are nested too deeply") from None
    module.is_unverified = False
