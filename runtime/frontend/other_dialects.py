"""Pretty forms of operations of other dialects that exporters leave in programs, and that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ..ir import OpaqueAttribute
from . import shape_forms
from .assembly import Form, Signature, Step, compile_assembly
from .operation_types import OperationState

if TYPE_CHECKING:
    from .operation_parser import OperationParser


def _mesh(parser: OperationParser, state: OperationState) -> None:
    """``@name = <["x"=2, "y"=4]>``."""
    state.attributes["sym_name"] = parser.symbol_name()
    parser.expect("=")
    state.attributes["mesh"] = OpaqueAttribute("#sdy.mesh<" + parser.angle_text() + ">")


def _sharding(parser: OperationParser, state: OperationState) -> None:
    """``<@mesh, [{"x"}, {}]>``."""
    state.attributes["sharding"] = OpaqueAttribute("#sdy.sharding<" + parser.angle_text() + ">")


def _steps(form: str, operands: dict[str, bool]) -> Sequence[Step]:
    return compile_assembly(form, Signature(operands)).steps


FORMS: Final = {
    "sdy.mesh": Form([_mesh, *_steps("attr-dict", {})]),
    "sdy.sharding_constraint": Form(
        [*_steps("$input", {"input": False}), _sharding, *_steps("attr-dict : same-type", {})]
    ),
    **shape_forms.FORMS,
    "sdy.return": Form(_steps("$results attr-dict ( : types($results) )?", {"results": True})),
}
"""The form of each operation by name."""
