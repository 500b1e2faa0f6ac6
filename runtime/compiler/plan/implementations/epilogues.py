"""A matrix product or a convolution and the fusion that uses its result, as one step.

A thread applies the fusion to each block of the product while the block is in its caches, so that the product
is not read from memory, and two steps take one launch.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from ....program.ir import Block, Operation, Region, Value, use_counts
from ....program.ops.framework.declaration import Op, declaration_of
from ....program.ops.framework.memory_limit import bytes_of
from ....program.ops.framework.traits import Product
from ....program.ops.intermediate.fusion import Fusion
from ...cost_model import estimate
from ...implementation import Implementation, NoCode, Replaceable, Runnable
from ...loops.nests.nest_code import may_overwrite
from ...specialize.framework.operation_classes import contraction
from ..tiering.time_limit import within_time_limit

_MIN_RESULT_BYTES: Final = 1 << 18
"""Minimum bytes of a product with an epilogue. Smaller ones stay in the L2 cache between two steps, and do
not pay for the code of blocks, which is compiled beside the fusion's own."""
_MAX_EPILOGUE_SECONDS: Final = 2e-9
"""Maximum seconds of the fusion for an element; a more expensive fusion is a separate loop."""


def find_epilogues(region: Region) -> dict[Operation, Operation]:
    """The products of a region's block that can have an epilogue, by the fusion that becomes the epilogue."""
    operations = region.block.operations
    if not any(map(_may_be_joined, operations)):
        return {}
    from ....program.ops.contraction.float_matmul import has_native_matmul

    if not has_native_matmul():
        return {}
    uses = use_counts(region)
    pairs = [(operation, _product_before(operation, uses)) for operation in operations]
    return {fusion: product for fusion, product in pairs if product is not None}


def _may_be_joined(operation: Operation) -> bool:
    """Whether an operation is a product or a convolution that can have an epilogue."""
    kind = declaration_of(operation).product
    if kind is None or bytes_of(operation.results[0].type) < _MIN_RESULT_BYTES:
        return False
    if kind is Product.CONVOLUTION:
        from .contraction_kernels import stores_rows

        return stores_rows(operation)
    return kind is Product.MATMUL and _is_matrix(operation)


def _is_matrix(operation: Operation) -> bool:
    """Whether an operation is a product by one matrix that the blocked kernel computes."""
    from ....program.ops.contraction.float_matmul import matmul

    view = contraction(operation)
    if view.multiply is not matmul or not all(type.is_static for type in (view.lhs, view.rhs)):
        return False
    if view.rhs.rank != 2 or view.lhs.rank != view.result.rank:
        return False
    # The other dimensions of lhs are the rows of one matrix.
    if view.lhs.rank > 2 and view.lhs_contracting_dimensions != (view.lhs.rank - 1,):
        return False
    rows, k, columns = view.matrix_sizes
    if min(rows, columns) < 2 or not k:
        return False
    # A matrix times its own transpose is symmetric, and takes half the time without an epilogue.
    return operation.operands[0] is not operation.operands[1]


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
        if uses[value] == 1 and isinstance(product, Operation) and _may_be_joined(product):
            return product if _has_matrix_code(body) else None
    return None


def _has_matrix_code(body: Block) -> bool:
    """Whether there is code for any rows and columns of what a block returns."""
    from ...loops.nests.matrix_code import matrix_nest

    try:
        matrix_nest(body)
    except NoCode:
        return False
    return True


class EpilogueFusion(Replaceable):
    """A product and its fusion: two calls, or one launch for both once the fusion has native code.

    Args:
        multiply: the implementation of the product.
        product: the view of the product.
        epilogue: the implementation of the fusion, which has native code or gets it.
        fusion: the fusion; its other operands follow those of the product.
        threads: maximum number of threads; None: all.
    """

    takes_regions = False

    def __init__(
        self,
        multiply: Implementation,
        product: Op,
        epilogue: Implementation,
        fusion: Operation,
        threads: int | None,
    ) -> None:
        super().__init__()
        self.kind = epilogue.kind
        self.product, self.absorbed = product, (product.operation,)
        self.reason = f"{epilogue.reason}, epilogue of {product.operation.name}, block by block"
        self.multiply, self.epilogue, self.fusion = multiply, epilogue, fusion
        self.multiply_function: Runnable | None = multiply.function
        self.apply_epilogue = epilogue.function
        self.position, self.threads = fusion.operands.index(product.operation.result), threads

    def constituents(self) -> tuple[Implementation, ...]:
        return self.multiply, self.epilogue

    def run(self, lhs: Any, rhs: Any, *others: Any) -> Any:
        if self.native is not None:
            return self.native(lhs, rhs, *others)
        result = self.in_two_steps(lhs, rhs, *others)
        if self.epilogue.is_settled:
            self.use(within_time_limit(self.prepare))
        return result

    def in_two_steps(self, lhs: Any, rhs: Any, *others: Any) -> Any:
        """The product, then the fusion."""
        multiply = self.multiply_function
        if multiply is None:
            multiply = self.multiply_function = self.multiply.function
        product = multiply(lhs, rhs)
        return self.apply_epilogue(*others[: self.position], product, *others[self.position :])

    def use(self, native: Runnable) -> None:
        super().use(native)
        # It may hold a packed copy of a constant, and the native code has one of its own.
        self.multiply_function = None

    def prepare(self) -> Runnable:
        """A product and its epilogue as one launch."""
        from ...loops.nests.matrix_code import block_code
        from .contraction_kernels import convolution_with_epilogue, matmul_with_epilogue

        code = block_code(self.fusion.regions[0].block)
        view: Any = self.product
        if declaration_of(view.operation).product is Product.CONVOLUTION:
            convolve = self.multiply_function or self.multiply.function
            arguments = code, self.position, self.threads, self.apply_epilogue, self.in_two_steps
            return convolution_with_epilogue(view, convolve, *arguments)
        return matmul_with_epilogue(view, code, self.position, self.threads)
