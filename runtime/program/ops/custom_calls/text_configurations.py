"""The attributes of custom calls whose configuration is text.

Source: XLA, `ApproxTopK` of its client library, which writes @PartialReduce; PyTorch/XLA, the calls of
programs of unknown sizes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from ....errors import VerifyError
from ....types import ELEMENT_TYPES
from ...ir import (
    Attribute,
    BoolAttribute,
    DenseArrayAttribute,
    FloatAttribute,
    IntegerAttribute,
    Operation,
    StringAttribute,
)
from .encoded_operations import encoded_attributes

_I64: Final = ELEMENT_TYPES["i64"]
_BROADCAST_DIMENSIONS: Final = re.compile(r"\{broadcast_dimensions=\[(?:(\d{1,9}(?:, ?\d{1,9})*))?\]\}")


def partial_reduce_attributes(call: Operation, _: str) -> dict[str, Attribute]:
    """The attributes of the `nimblehlo.approx_top_k` that a call of @PartialReduce stands for.

    The call gives candidates for the first `top_k` elements, more than these: as many as its results have.

    Raises:
        VerifyError: the configuration is no JSON object with these members.
    """
    configuration = _json(call)
    integers = {name: configuration.get(name) for name in ("reduction_dim", "top_k")}
    recall = configuration.get("recall_target", 1.0)
    for name, value in integers.items():
        if type(value) is not int:
            raise _malformed(call, f"{name} must be an integer")
    if type(recall) not in (int, float) or not 0 < recall <= 1:
        raise _malformed(call, "recall_target must be a number in (0, 1]")
    attributes: dict[str, Attribute] = {
        name: IntegerAttribute(value, _I64) for name, value in integers.items() if value is not None
    }
    attributes["recall_target"] = FloatAttribute(float(recall), ELEMENT_TYPES["f32"])
    attributes["aggregate_to_topk"] = BoolAttribute(False)
    return attributes


def broadcast_attributes(call: Operation, name: str) -> dict[str, Attribute]:
    """The attributes of the operation `name`; ``{broadcast_dimensions=[0, 1]}`` is the text of one.

    Raises:
        VerifyError: the configuration is another text.
    """
    if not isinstance(call.attributes.get("backend_config"), StringAttribute):
        return encoded_attributes(call, name)
    match = _BROADCAST_DIMENSIONS.fullmatch(_text(call))
    if match is None:
        raise _malformed(call, "the text must be {broadcast_dimensions=[...]}")
    dimensions = tuple([int(each) for each in match[1].split(",")] if match[1] else ())
    return {"broadcast_dimensions": DenseArrayAttribute(_I64, dimensions)}


def _json(call: Operation) -> Mapping[str, Any]:
    try:
        configuration = json.loads(_text(call))
    except (ValueError, RecursionError):
        configuration = None
    if not isinstance(configuration, dict):
        raise _malformed(call, "the text must be a JSON object")
    return configuration


def _text(call: Operation) -> str:
    configuration = call.attributes.get("backend_config")
    return configuration.value if isinstance(configuration, StringAttribute) else ""


def _malformed(call: Operation, reason: str) -> VerifyError:
    return VerifyError(f"backend_config: {reason}", operation=call.name, location=call.location)
