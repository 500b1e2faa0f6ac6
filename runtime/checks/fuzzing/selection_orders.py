"""`select_and_scatter` with the elements of its windows compared in another order of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...api import load
from ...program.ir import (
    Builder,
    Module,
    Value,
    builder_like,
    copy_region,
    main_module,
)
from ...program.ops.framework.encoding import encode_attributes
from ...program.ops.reduction.reduce_window import SelectAndScatter
from ...types import TensorType
from ..differences.extraction import main_block


def transposed_selection(module: Module, order: Sequence[int]) -> Module:
    """A program that transposes operand and source, selects and scatters, and transposes back.

    Args:
        module: of one `select_and_scatter`, whose operands are its arguments.
        order: the permutation of the dimensions; the last one's elements are compared first.
    """
    old = main_block(module)
    operation = old.operations[0]
    view = SelectAndScatter(operation)
    values: dict[Value, Value] = {}
    builder = builder_like(old, values)
    operand, source, init_value = [values[one] for one in operation.operands]
    transposed = [_transposed(builder, one, order) for one in (operand, source)]
    attributes: dict[str, Any] = {
        name: tuple(np.asarray(value)[list(order)].tolist())
        for name in ("window_dimensions", "window_strides")
        if (value := getattr(view, name)) is not None
    }
    padding: Any = view.padding
    attributes["padding"] = None if padding is None else [padding[dimension] for dimension in order]
    created = builder.create(
        operation.name,
        [*transposed, init_value],
        [transposed[0].type],
        encode_attributes(operation.name, attributes),
        [copy_region(region, values) for region in operation.regions],
    )
    result = _transposed(builder, created.result, np.argsort(order).tolist())
    return load(str(main_module(builder, [result])))


def _transposed(builder: Builder, value: Value, order: Sequence[int]) -> Value:
    type = value.type
    assert isinstance(type, TensorType)
    transposed = type.with_shape([type.shape[dimension] for dimension in order])
    attributes = encode_attributes("stablehlo.transpose", {"permutation": tuple(order)})
    return builder.create("stablehlo.transpose", [value], [transposed], attributes).result
