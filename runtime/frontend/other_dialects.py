"""Pretty forms of operations of other dialects that exporters leave in programs, and that are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..ir import OpaqueAttribute
from .assembly import Signature, Step, compile_assembly
from .operation_types import OperationState

if TYPE_CHECKING:
    from .parser import Parser


def _mesh(parser: Parser, state: OperationState) -> None:
    """``@name = <["x"=2, "y"=4]>``."""
    state.attributes["sym_name"] = parser.symbol_name()
    parser.expect("=")
    state.attributes["mesh"] = OpaqueAttribute("#sdy.mesh<" + parser.angle_text() + ">")


def _sharding(parser: Parser, state: OperationState) -> None:
    """``<@mesh, [{"x"}, {}]>``."""
    state.attributes["sharding"] = OpaqueAttribute("#sdy.sharding<" + parser.angle_text() + ">")


def _steps(form: str, operands: dict[str, bool]) -> list[Step]:
    return compile_assembly(form, Signature(operands))


FORMS: Final[dict[str, list[Step]]] = {
    "sdy.mesh": [_mesh, *_steps("attr-dict", {})],
    "sdy.sharding_constraint": [
        *_steps("$input", {"input": False}),
        _sharding,
        *_steps("attr-dict : same-type", {}),
    ],
    "sdy.return": _steps("$results attr-dict ( : types($results) )?", {"results": True}),
}
