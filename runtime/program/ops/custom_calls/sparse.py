"""The custom call ``cpu_csr_sparse_dense_ffi``: a sparse matrix in compressed rows times a dense one.

JAX emits it on a CPU for `jax.experimental.sparse.CSR` and for BCSR matrices (jax 0.7 to 0.12).

Source: JAX, `csr_matvec` and `csr_matmat`; R. Barrett et al., "Templates for the Solution of Linear Systems"
(SIAM 1994), section 4.3.1, for the storage.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....types import Array, TensorType
from ..framework import rules
from .view import CustomCallView

TARGET: Final = "cpu_csr_sparse_dense_ffi"
_ELEMENTS: Final = ("i32", "i64", "f32", "f64", "complex<f32>", "complex<f64>")
_INDICES: Final = ("i32", "i64")


def verify(view: CustomCallView) -> None:
    """Check operands (data [nse], row pointers [m + 1], columns [nse], rhs [n] or [n, k]) and result.

    Raises:
        VerifyError: their types do not fit.
    """
    if len(view.inputs) != 4 or len(view.results) != 1:
        raise view.verify_error(f"@{TARGET} must have four inputs and one result", "I1")
    data, pointers, columns, rhs = view.inputs
    reason = _violation(data, pointers, columns, rhs, view.results[0])
    if reason is not None:
        raise view.verify_error(f"@{TARGET}: {reason}", "I1")


def _violation(data: Any, pointers: Any, columns: Any, rhs: Any, result: Any) -> str | None:
    types = {"data": data, "row pointers": pointers, "columns": columns, "rhs": rhs, "result": result}
    for name, type in types.items():
        ranks = (1, 2) if name in ("rhs", "result") else (1,)
        if not isinstance(type, TensorType) or type.rank not in ranks:
            return f"{name} is {type}, but must be a tensor of rank {' or '.join(map(str, ranks))}"
    if str(data.element_type) not in _ELEMENTS:
        return f"data has elements {data.element_type}, but must have one of {', '.join(_ELEMENTS)}"
    if str(pointers.element_type) not in _INDICES:
        return f"row pointers are {pointers.element_type}, but must be i32 or i64"
    rows = pointers.shape[0] - 1 if pointers.is_static else pointers.shape[0]
    shape = (result.shape[0], *rhs.shape[1:])
    return rules.first(
        rules.same_element_type("columns", columns, "row pointers", pointers),
        rules.same_element_type("rhs", rhs, "data", data),
        rules.same_element_type("result", result, "data", data),
        rules.same_shape("columns", columns, "shape(data)", data.shape),
        rules.same_shape("result", result, "[rows] and the columns of rhs", shape),
        None
        if rules.sizes_agree(rows, result.shape[0])
        else f"there are {pointers.shape[0]} row pointers, but must be {result.shape[0] + 1}",
    )


def run(view: CustomCallView, data: Array, pointers: Array, columns: Array, rhs: Array) -> tuple[Array, ...]:
    """The product: the terms of each element are added in the order of the row's entries.

    Args:
        view: the custom call.
        data: the entries that are stored, row after row.
        pointers: for each row where its entries begin, and where those of the last one end.
        columns: of each entry its column.
        rhs: a vector or a matrix.

    Raises:
        UndefinedBehaviorError: row pointers descend or leave the entries, or a column index is out of range.
    """
    reason = _undefined(pointers, columns, rhs.shape[0])
    if reason is not None:
        raise view.undefined(f"@{TARGET}: {reason}")
    from scipy import sparse

    first, last = int(pointers[0]), int(pointers[-1])
    entries = slice(first, last)
    shape = len(pointers) - 1, rhs.shape[0]
    matrix = sparse.csr_array((data[entries], columns[entries], pointers - pointers[0]), shape, copy=False)
    return (np.ascontiguousarray(matrix @ rhs),)


def _undefined(pointers: Array, columns: Array, size: int) -> str | None:
    """The reason why the arrays do not describe a matrix with `size` columns."""
    if pointers[0] < 0 or pointers[-1] > len(columns) or (pointers[1:] < pointers[:-1]).any():
        return f"row pointers do not ascend from 0 to at most {len(columns)}"
    used = columns[int(pointers[0]) : int(pointers[-1])]
    if used.size and not 0 <= int(used.min()) <= int(used.max()) < size:
        return f"columns range from {used.min()} to {used.max()}, but must be in [0, {size})"
    return None
