"""A matrix product and the fusion that uses its result, as one step.

A thread applies the fusion to each block of the product while the block is in its cache. That pays for large
products with a small contracted size and a cheap fusion, since writing such a product takes as long as
computing it.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any, Final

from ....program.ir import Operation, Region, Value, use_counts
from ....program.ops.intermediate.fusion import Fusion
from ....types import TensorType
from ...cost_model import estimate
from ...implementation import Implementation, Replaceable, Runnable
from ...loops.nests.nest_code import NestCode, may_overwrite
from ...specialize.framework.operation_classes import contraction, is_matmul
from ..tiering.time_limit import within_time_limit

_MIN_MULTIPLICATIONS: Final = 1 << 21
"""Minimum multiplications of a product with an epilogue: smaller results stay in the cache anyway."""
_MAX_K: Final = 256
"""Maximum contracted size of a product that takes no longer than writing its result."""
_MAX_EPILOGUE_SECONDS: Final = 2e-9
"""Maximum seconds of the fusion for an element; a more expensive fusion is a separate loop."""
_BLOCK: Final = (256, 1 << 11)
"""Rows of a block, and bytes of its rows; with fewer rows, the columns of rhs are packed too often."""
_MAX_BLOCKS: Final = 96
"""Maximum blocks of a result: each has launches of its own, which take time to prepare."""


def find_epilogues(region: Region) -> dict[Operation, Operation]:
    """The products of a region's block that can have an epilogue, by the fusion that becomes the epilogue."""
    operations = region.block.operations
    if not any(map(_is_product, operations)):
        return {}
    from ....program.ops.contraction.float_matmul import has_native_matmul

    if not has_native_matmul():
        return {}
    uses = use_counts(region)
    pairs = [(operation, _product_before(operation, uses)) for operation in operations]
    return {fusion: product for fusion, product in pairs if product is not None}


def _is_product(operation: Operation) -> bool:
    """Whether an operation is a product of matrices for whose size an epilogue pays."""
    if not is_matmul(operation):
        return False
    from ....program.ops.contraction.float_matmul import matmul

    view = contraction(operation)
    if view.multiply is not matmul or 1 in view.result.shape:
        return False
    if not view.lhs.rank == view.rhs.rank == view.result.rank == 2 or not view.lhs_contracting_dimensions:
        return False
    if not view.result.is_static:
        return False
    k = view.lhs.shape[view.lhs_contracting_dimensions[0]]
    if k > _MAX_K or view.result.size * k <= _MIN_MULTIPLICATIONS:
        return False
    # A matrix times its own transpose is symmetric, and takes half the time without an epilogue.
    is_symmetric = operation.operands[0] is operation.operands[1]
    sizes = zip(view.result.shape, _block(view.result), strict=True)
    return not is_symmetric and 1 < math.prod(-(-size // extent) for size, extent in sizes) <= _MAX_BLOCKS


def _block(type: TensorType) -> tuple[int, int]:
    """The rows and columns of a result's blocks; the last blocks may be smaller."""
    rows, columns = type.shape
    return min(rows, _BLOCK[0]), min(columns, _BLOCK[1] // type.dtype.itemsize)


def _product_before(operation: Operation, uses: Counter[Value]) -> Operation | None:
    """The product that a fusion uses, if the fusion may write its result into the product's memory."""
    if operation.name != Fusion.name or len(operation.results) != 1:
        return None
    body = operation.regions[0].block
    if estimate(body).native_seconds_per_element > _MAX_EPILOGUE_SECONDS:
        return None
    for number, _ in may_overwrite(body):
        value = operation.operands[number]
        product = value.owner
        if uses[value] == 1 and isinstance(product, Operation) and _is_product(product):
            return product
    return None


class EpilogueFusion(Replaceable):
    """A product and its fusion: two calls, or one launch for both once the fusion has native code.

    Args:
        multiply: the implementation of the product.
        product: the product.
        epilogue: the implementation of the fusion, which has native code or gets it.
        fusion: the fusion; its other operands follow those of the product.
        threads: maximum number of threads; None: all.
    """

    takes_regions = False

    def __init__(
        self,
        multiply: Implementation,
        product: Operation,
        epilogue: Implementation,
        fusion: Operation,
        threads: int | None,
    ) -> None:
        super().__init__()
        self.kind = epilogue.kind
        self.reason = f"{epilogue.reason}, epilogue of {product.name}, block by block"
        self.multiply, self.product, self.epilogue, self.fusion = multiply, product, epilogue, fusion
        self.absorbed = (product,)
        self.functions = multiply.function, epilogue.function
        self.position, self.threads = fusion.operands.index(product.result), threads

    def constituents(self) -> tuple[Implementation, ...]:
        return self.multiply, self.epilogue

    def run(self, lhs: Any, rhs: Any, *others: Any) -> Any:
        if self.native is not None:
            return self.native(lhs, rhs, *others)
        multiply, apply_epilogue = self.functions
        result = apply_epilogue(*others[: self.position], multiply(lhs, rhs), *others[self.position :])
        if self.epilogue.is_settled:
            self.use(within_time_limit(self.prepare))
        return result

    def prepare(self) -> Runnable:
        """A product and its epilogue as one launch."""
        from ....kernels.launch.native import BlockEpilogue
        from ....kernels.matmul.matmul import MatmulWithEpilogue

        body, type = self.fusion.regions[0].block, self.product.result.type
        assert isinstance(type, TensorType)
        block = _block(type)
        bounds = [
            [(first, min(first + step, size)) for first in range(0, size, step)]
            for size, step in zip(type.shape, block, strict=True)
        ]
        launches = [NestCode(body, self.threads, box).launches() for box in itertools.product(*bounds)]
        view = contraction(self.product)
        transposed = (view.lhs_contracting_dimensions == (0,), view.rhs_contracting_dimensions == (1,))
        return MatmulWithEpilogue(block, BlockEpilogue(launches, self.threads), self.position, transposed)
