"""Replaces the composites of JAX by the operations that they stand for."""

from __future__ import annotations

from ...errors import NimbleError
from ...program.ir import (
    DictionaryAttribute,
    Operation,
)
from ...program.ops.control.composite import Composite
from ...program.ops.custom_calls.encoded_operations import (
    VERSION,
    declared_names,
    with_attributes_of_chlo,
    without_default_flags,
)
from ...program.ops.framework.declaration import Op
from ...program.ops.framework.op_registry import MODULE_OF_OPERATION
from ...program.ops.framework.verify import verify_view
from ...types import ELEMENT_TYPES

_I64 = ELEMENT_TYPES["i64"]


def recomposed(composite: Operation) -> Operation | None:
    """The CHLO operation that the name of a composite means, on the composite's operands.

    Source: the composites by which jaxlib replaces CHLO operations before it passes a program to a plugin.

    Returns:
        None, so that the decomposition is used, if the name is not that of an operation, a function is
        registered for it, or the operation does not have such operands, attributes and results.
    """
    view = Composite(composite)
    name = view.composite_name
    is_chlo = name.startswith("chlo.") and name in MODULE_OF_OPERATION
    if not is_chlo or view.registered is not None or view.version != VERSION or composite.regions:
        return None
    dictionary = composite.attributes.get("composite_attributes")
    entries = dictionary.values if isinstance(dictionary, DictionaryAttribute) else {}
    attributes = without_default_flags(entries)
    if attributes is None:
        return None
    types = [result.type for result in composite.results]
    try:
        attributes = with_attributes_of_chlo(name, attributes)
        operation = Operation(name, composite.operands, types, attributes, location=composite.location)
        verify_view(Op.of(operation))
    except NimbleError:
        return None
    return operation if attributes.keys() <= declared_names(name) else None
