"""Records on which side of its threshold each decision falls while tests run.

`install` instruments the package's Python modules as they are imported: each comparison with a decision's
number becomes a call that compares and records the side. C code and functions that Numba compiles are left as
they are.
"""

from __future__ import annotations

import ast
import functools
import importlib.machinery
import operator
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from . import sources

BELOW, ABOVE = "below", "above"

sides: dict[str, set[str]] = {}
"""The sides that decisions have taken, by name, since this was cleared."""

_MODULE_NAME = "__decisions__"
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Eq": operator.eq, "NotEq": operator.ne, "Is": operator.is_, "IsNot": operator.is_not,
    "In": lambda a, b: a in b, "NotIn": lambda a, b: a not in b,
    "FloorDiv": operator.floordiv, "Mod": operator.mod,
}  # fmt: skip
_JITTED = {"kernel", "intrinsic", "njit", "overload", "numba.njit", "numba.extending.overload"}


def note(name: str, value: Any, threshold: Any, includes: bool) -> None:
    """Note a side: above, where the value exceeds the threshold, or equals it and `includes` says so."""
    seen = sides.setdefault(name, set())
    if len(seen) == 2 or isinstance(value, str):
        return
    try:
        is_above = value >= threshold if includes else value > threshold
    except TypeError:
        return
    if isinstance(is_above, bool):
        seen.add(ABOVE if is_above else BELOW)
    else:
        seen.update([ABOVE] * bool(is_above.any()) + [BELOW] * bool((~is_above).any()))


def compared(operators: Sequence[str], names: Sequence[str | None], *values: Any) -> Any:
    """A comparison of values, of which those with a name are decisions' numbers."""
    result: Any = True
    for place, code in enumerate(operators):
        a, b = values[place : place + 2]
        if names[place + 1] is not None and code in ("Lt", "LtE", "Gt", "GtE"):
            note(str(names[place + 1]), a, b, includes=code in ("Lt", "GtE"))
        elif names[place] is not None and code in ("Lt", "LtE", "Gt", "GtE"):
            note(str(names[place]), b, a, includes=code in ("LtE", "Gt"))
        result = _OPERATORS[code](a, b)
        if place + 1 < len(operators) and not result:
            return result
    return result


def divided(code: str, names: Sequence[str | None], a: Any, b: Any) -> Any:
    """A quotient or remainder with a decision's number: it decides whether one chunk is enough."""
    if names[0] is not None:
        note(names[0], b, a, includes=False)
    if names[1] is not None:
        note(names[1], a, b, includes=False)
    return _OPERATORS[code](a, b)


def min_or_max(function: Callable[..., Any], names: Sequence[str | None], *values: Any) -> Any:
    """`min` or `max` of values, of which those with a name are decisions' numbers."""
    for place, name in enumerate(names):
        for other, value in enumerate(values):
            if name is not None and other != place:
                note(name, value, values[place], includes=False)
    return function(*values)


def ranged(name: str, *values: int) -> range:
    """A `range` in steps of a decision's number."""
    note(name, values[1] - values[0], values[2], includes=False)
    return range(*values)


@functools.cache
def _module_file(folder: Path, level: int, module: str) -> Path | None:
    """The file of a module that is imported from a file in a folder, None if it is not the package's."""
    if level:
        base = folder
        for _ in range(level - 1):
            base = base.parent
        if base == sources.ROOT:
            return None
    else:
        parts = module.split(".")
        if parts[0] != "nimblehlo":
            return None
        base, module = sources.ROOT / "runtime", ".".join(parts[1:])
    path = base
    for part in module.split(".") if module else ():
        path = path / part
    if path.is_relative_to(sources.ROOT / "runtime" / "kernels"):
        path = sources.ROOT / "kernels" / path.relative_to(sources.ROOT / "runtime" / "kernels")
    for candidate in (path.with_suffix(".py"), path / "__init__.py", path.with_suffix(".pyx")):
        if candidate.is_file():
            return candidate
    return path if path.is_dir() else None


@functools.cache
def names_in(path: Path) -> dict[str, str]:
    """What names mean in a file: a decision's name for each constant, its own ones and those it imports."""
    found = _constants_of(path)
    if path.suffix != ".py":
        return found
    for node in ast.walk(sources.tree_of(path)):
        if not isinstance(node, ast.ImportFrom):
            continue
        origin = _module_file(path.parent, node.level, node.module or "")
        for alias in node.names:
            local = alias.asname or alias.name
            if origin is not None and origin.is_file() and alias.name == alias.name.upper():
                constants = names_in(origin) if origin != path else {}
                if alias.name in constants:
                    found[local] = constants[alias.name]
            else:
                module = ".".join(filter(None, (node.module, alias.name)))
                inner = _module_file(path.parent, node.level, module)
                if inner is not None and inner.is_file():
                    found |= {f"{local}.{name}": full for name, full in _constants_of(inner).items()}
    return found


def _constants_of(path: Path) -> dict[str, str]:
    """The decisions' names by the names of a file's own constants."""
    read = sources.python_constants if path.suffix == ".py" else _native_constants
    return {name: decision.name for name, decision in read(path).items()}


_native_constants = functools.cache(sources.native_constants)


class _Instrumenter(ast.NodeTransformer):
    """Replaces the comparisons of one function."""

    def __init__(self, path: Path, function: str, names: dict[str, str]) -> None:
        self.path, self.function, self.names = path, function, names

    def _name(self, node: ast.expr) -> str | None:
        """The decision whose number an expression is, or is computed from."""
        if isinstance(node, ast.Name | ast.Attribute):
            return self.names.get(ast.unparse(node))
        if isinstance(node, ast.BinOp):
            return self._name(node.left) or self._name(node.right)
        return self._name(node.operand) if isinstance(node, ast.UnaryOp) else None

    def _call(self, function: str, node: ast.expr, *arguments: ast.expr) -> ast.expr:
        callee = ast.Attribute(ast.Name(_MODULE_NAME, ast.Load()), function, ast.Load())
        return ast.copy_location(ast.Call(callee, list(arguments), []), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        literals = sources.literals_compared(node)
        own = sources.comparison_name(self.path, self.function, node)
        operands = [node.left, *node.comparators]
        names = [self._name(operand) for operand in operands]
        if literals:
            for place, operand in enumerate(operands):
                if sources.number(operand) in literals and sources.number(operand) is not None:
                    names[place] = own
        self.generic_visit(node)
        if not any(names):
            return node
        codes = ast.Tuple([ast.Constant(type(code).__name__) for code in node.ops], ast.Load())
        known = ast.Tuple([ast.Constant(name) for name in names], ast.Load())
        return self._call("compared", node, codes, known, node.left, *node.comparators)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        below, above = self._name(node.right), self._name(node.left)
        self.generic_visit(node)
        if not (below or above) or not isinstance(node.op, ast.FloorDiv | ast.Mod):
            return node
        names = ast.Tuple([ast.Constant(above), ast.Constant(below)], ast.Load())
        return self._call("divided", node, ast.Constant(type(node.op).__name__), names, node.left, node.right)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        names = [self._name(argument) for argument in node.args]
        self.generic_visit(node)
        plain = not node.keywords and not any(isinstance(argument, ast.Starred) for argument in node.args)
        if not plain or not isinstance(node.func, ast.Name) or not any(names):
            return node
        if node.func.id in ("min", "max") and len(node.args) > 1:
            known = ast.Tuple([ast.Constant(name) for name in names], ast.Load())
            return self._call("min_or_max", node, node.func, known, *node.args)
        if node.func.id == "range" and len(node.args) == 3 and names[2] is not None:
            return self._call("ranged", node, ast.Constant(names[2]), *node.args)
        return node


def instrumented(path: Path) -> CodeType:
    """A file's code, which records the sides of its decisions."""
    tree = ast.parse(path.read_text())
    names = names_in(path)
    for function, definition in sources.functions(tree):
        decorators = {ast.unparse(one.func if isinstance(one, ast.Call) else one)
                      for one in definition.decorator_list}  # fmt: skip
        if decorators & _JITTED:
            continue
        inner = {ast.unparse(one.func if isinstance(one, ast.Call) else one)
                 for nested in ast.walk(definition) if isinstance(nested, ast.FunctionDef)
                 for one in nested.decorator_list}  # fmt: skip
        if inner & _JITTED:
            continue
        visitor = _Instrumenter(path, function, names)
        definition.body = [visitor.visit(statement) for statement in definition.body]
    place = max([number + 1 for number, one in enumerate(tree.body) if _is_future_import(one)], default=1)
    text = f"from tests.boundaries import recording as {_MODULE_NAME}"
    tree.body[place:place] = ast.parse(text).body
    return compile(ast.fix_missing_locations(tree), str(path), "exec")


def _is_future_import(statement: ast.stmt) -> bool:
    """Whether a statement imports features of the language."""
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def install() -> None:
    """Instrument the modules of the package that are imported from now on."""
    plain = importlib.machinery.SourceFileLoader.get_code
    folders = [sources.ROOT / folder for folder in sources.FOLDERS]

    def get_code(loader: Any, fullname: str) -> Any:
        path = Path(loader.get_filename(fullname)).resolve()
        if any(path.is_relative_to(folder) for folder in folders):
            return instrumented(path)
        return plain(loader, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
