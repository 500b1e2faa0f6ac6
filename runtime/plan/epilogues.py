"""A product of two matrices and the cluster that follows on it, as one step.

What follows is done to each block of the product as soon as that is made, by the same thread: the block lies
in its cache. That pays for large products with a small contracted size and little to follow: to write them
takes as long as to compute them.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from typing import Any, Final

from ..ir import Block, Operation, Value
from ..ops.framework.verify import view_of
from ..ops.internal.fusion import Fusion
from ..types import TensorType
from .implementation import Implementation, Replaceable, Runnable
from .implementations.elementwise_fusion import Code, may_overwrite
from .plan import Step
from .tiering.cost_model import estimate

_MIN_MULTIPLICATIONS: Final = 1 << 21
"""Multiplications of a product whose result is written to memory before it is read again."""
_MAX_K: Final = 256
"""Contracted size of a product that takes no longer to compute than to write."""
_MAX_EPILOGUE_SECONDS: Final = 2e-9
"""Seconds of what follows, for an element: more are worth a loop of their own."""
_BLOCK: Final = (256, 1 << 11)
"""Rows of a block, and bytes of its rows: fewer rows would copy the columns anew too often."""
_MAX_BLOCKS: Final = 96


def fuse_epilogues(
    block: Block, steps: dict[Operation, Step], threads: int | None
) -> dict[Operation, Step]:
    """The steps of a block's operations, in order, products joined with the clusters that follow on them.

    Args:
        block: the block.
        steps: those of its operations that have one, in order.
        threads: most threads that they may use; None: all.
    """
    if not any(_is_product(operation) for operation in steps):
        return steps
    from ..ops.contraction.float_matmul import have_threads

    if not have_threads():
        return steps
    uses = Counter(
        value for operation in block.operations for inner in operation.walk() for value in inner.operands
    )
    joined = dict(steps)
    for operation, step in steps.items():
        found = _product_before(operation, step, uses)
        if found is not None:
            product = found.owner
            assert isinstance(product, Operation)
            joined[operation] = _joined(joined.pop(product), product, operation, step, threads)
    return joined


def _is_product(operation: Operation) -> bool:
    """Whether an operation is a product of matrices of a size for which this pays: of several blocks, no more
    than are worth preparing."""
    if operation.name not in ("stablehlo.dot", "stablehlo.dot_general"):
        return False
    from ..ops.contraction.float_matmul import contracted

    view: Any = view_of(operation)
    if view.multiply is not contracted or 1 in view.result.shape:
        return False
    if not view.lhs.rank == view.rhs.rank == view.result.rank == 2 or not view.lhs_contracting_dimensions:
        return False
    if not view.result.is_static:
        return False
    k = view.lhs.shape[view.lhs_contracting_dimensions[0]]
    if k > _MAX_K or view.result.size * k <= _MIN_MULTIPLICATIONS:
        return False
    # A matrix by its own transpose is symmetric, and takes half the time alone.
    is_symmetric = operation.operands[0] is operation.operands[1]
    sizes = zip(view.result.shape, _block(view.result), strict=True)
    return not is_symmetric and 1 < math.prod(-(-size // extent) for size, extent in sizes) <= _MAX_BLOCKS


def _block(type: TensorType) -> tuple[int, int]:
    """The rows and columns of a result's blocks, the last ones apart."""
    rows, columns = type.shape
    return min(rows, _BLOCK[0]), min(columns, _BLOCK[1] // type.dtype.itemsize)


def _product_before(operation: Operation, step: Step, uses: Counter[Value]) -> Value | None:
    """The product on which a cluster follows that may write its result where the product stands."""
    is_native = step.implementation.kind in ("generated", "tiered")
    if operation.name != Fusion.name or not is_native or len(operation.results) != 1:
        return None
    body = operation.regions[0].block
    if estimate(body).native_seconds_per_element > _MAX_EPILOGUE_SECONDS:
        return None
    for number, _ in may_overwrite(body):
        value = operation.operands[number]
        product = value.owner
        if uses[value] == 1 and isinstance(product, Operation) and _is_product(product):
            return value
    return None


def _joined(
    product_step: Step, product: Operation, cluster: Operation, cluster_step: Step, threads: int | None
) -> Step:
    """The step of both; it has the product's operands and then the cluster's other ones."""
    position = cluster.operands.index(product.result)
    others = [number for number in range(len(cluster.operands)) if number != position]
    joined = copy.copy(cluster_step)
    joined.implementation = EpilogueFusion(
        product_step.implementation, product, cluster_step.implementation, cluster, position, threads
    )
    joined.operands = (*product_step.operands, *[cluster_step.operands[number] for number in others])
    types, result_types = cluster_step.types
    joined.types = [*product_step.types[0], *[types[number] for number in others]], result_types
    joined.overwrites = ()
    return joined


class EpilogueFusion(Replaceable):
    """Both implementations one after the other, and one launch for both once the cluster has native code."""

    takes_regions = False

    def __init__(
        self,
        multiply: Implementation,
        product: Operation,
        following: Implementation,
        cluster: Operation,
        position: int,
        threads: int | None,
    ) -> None:
        super().__init__()
        self.kind = following.kind
        self.reason = f"{following.reason}, following on stablehlo.dot_general block by block"
        self.multiply, self.absorbed, self.following, self.cluster = multiply, product, following, cluster
        self.product = product
        self.functions = multiply.function, following.function
        self.position, self.threads = position, threads

    def constituents(self) -> tuple[Implementation, ...]:
        return self.multiply, self.following

    def run(self, lhs: Any, rhs: Any, *others: Any) -> Any:
        if self.native is not None:
            return self.native(lhs, rhs, *others)
        multiply, follow = self.functions
        result = follow(*others[: self.position], multiply(lhs, rhs), *others[self.position :])
        if self.following.is_settled:
            self.use(self.prepare())
        return result

    def prepare(self) -> Runnable:
        """Both by one launch."""
        from ..kernels.launch.native import BlockEpilogue
        from ..kernels.matmul.matmul import MatmulWithEpilogue

        body, type = self.cluster.regions[0].block, self.product.result.type
        assert isinstance(type, TensorType)
        block = _block(type)
        bounds = [
            [(first, min(first + step, size)) for first in range(0, size, step)]
            for size, step in zip(type.shape, block, strict=True)
        ]
        launches = [Code(body, self.threads, box).launches() for box in itertools.product(*bounds)]
        view: Any = view_of(self.product)
        turned = (view.lhs_contracting_dimensions == (0,), view.rhs_contracting_dimensions == (1,))
        return MatmulWithEpilogue(block, BlockEpilogue(launches, self.threads), self.position, turned)
