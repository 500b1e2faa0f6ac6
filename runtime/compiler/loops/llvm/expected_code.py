"""Whether there is generated code, which programs ask before they need any.

`machine` and what it imports take a tenth of the time of a first call of a small program, which needs none.
"""

from __future__ import annotations

from ....kernels.launch.cache_files import has_folder
from ....kernels.launch.cache_limit import GENERATED_PREFIX

_has_loaded = False


def note_loaded_code() -> None:
    """Note that code is loaded, or will be."""
    global _has_loaded
    _has_loaded = True


def has_compiled_code() -> bool:
    """Whether any code is loaded or on disk. Loads nothing that compiles."""
    return _has_loaded or has_folder(GENERATED_PREFIX)


def expect_code() -> None:
    """Have the processes that will compile start, if there is no code yet, while this one makes a text."""
    if not has_compiled_code():
        from .compiler_processes import PROCESSES

        PROCESSES.start_for_caller()
