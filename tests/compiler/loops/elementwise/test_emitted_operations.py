"""What is generated is known without the code generator, and each function that is named is there."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from nimblehlo.compiler.loops.elementwise import complex64, complex128, floats, integers, rules
from nimblehlo.compiler.loops.elementwise.emitted_operations import CONDITIONS
from nimblehlo.compiler.loops.mathematics import function_of
from nimblehlo.program.ops.framework.declaration import declarations
from tests.project import followed

MODULES: dict[str, ModuleType] = {
    "integers": integers,
    "floats": floats,
    "predicate": floats,
    "complex_numbers": floats,
    "complex64": complex64,
    "complex128": complex128,
}
"""For each attribute of `Emit` that names a function the module that has it."""

SOFTMAX = followed.SOFTMAX.replace("LOWEST", "0xFF800000")


def named(attribute: str) -> set[str]:
    """The names that declarations state for an attribute of `Emit`."""
    names = {getattr(declaration.emit, attribute) for declaration in declarations()} - {""}
    assert names
    return names


@pytest.mark.parametrize("attribute", MODULES)
def test_functions_are_there(attribute: str) -> None:
    missing = [name for name in named(attribute) if not callable(getattr(MODULES[attribute], name, None))]
    assert not missing


@pytest.mark.parametrize("attribute", ["function", "narrow_function", "half_function", "f64_function"])
def test_mathematics_is_there(attribute: str) -> None:
    for name in named(attribute):
        assert callable(function_of(name))


def test_rules_by_attributes_are_there_and_have_a_condition() -> None:
    assert named("by_attributes") == set(CONDITIONS) == set(rules.BY_ATTRIBUTES)


def test_floats_have_one_emitter() -> None:
    for declaration in declarations():
        emit = declaration.emit
        chosen = [emit.floats, emit.predicate, emit.function, emit.by_attributes]
        assert len([name for name in chosen if name]) <= 1, declaration.name
        assert emit.function or not (emit.narrow_function or emit.f64_function), declaration.name


@pytest.mark.usefixtures("unverified")
def test_planning_fusions_loads_no_code_generator() -> None:
    """What follows from a program is told before any of its code is made; a first run may need none."""
    script = (
        "import sys, nimblehlo\n"
        f"executable = nimblehlo.compile({SOFTMAX!r})\n"
        "assert 'row_fusion' in executable.explain('plan')\n"
        "assert 'llvmlite' not in sys.modules, 'llvmlite'\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
