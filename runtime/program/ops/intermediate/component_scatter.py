"""The specialized form of `scatter` that takes the components of index vectors as separate operands.

Only the specializer creates it: no text and no bytecode may name it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....types import INTEGER, PLAIN, Array
from ..framework.attribute_kinds import BOOL, DIMENSIONS
from ..framework.declaration import AnyOperand, Attribute, Operand, Region, Result
from ..framework.op_registry import COMPONENT_SCATTER
from ..indexing.index_space import stacked_components
from ..indexing.scatter_rules import ScatterRules


class ComponentScatter(ScatterRules, name=COMPONENT_SCATTER):
    """`scatter` whose index vectors are the index components, stacked along a last dimension.

    All components have one type, with the shape of the batch; there is at least one. `added_to_negative[c]`
    is first added to each negative index of component c.
    """

    kernel = "body_kernels.scatter_kernel"
    region_loop = "regions.scatter_code.ScatterCode"
    block_rule = "scalars.indexing.COMPONENT_SCATTER"

    is_internal = True

    inputs = Operand(PLAIN, variadic=True)
    index_components = Operand(INTEGER, variadic=True)
    updates = Operand(PLAIN, variadic=True)
    update_window_dims = Attribute(DIMENSIONS)
    inserted_window_dims = Attribute(DIMENSIONS)
    input_batching_dims = Attribute(DIMENSIONS)
    scatter_indices_batching_dims = Attribute(DIMENSIONS)
    scatter_dims_to_operand_dims = Attribute(DIMENSIONS)
    added_to_negative = Attribute(DIMENSIONS)
    indices_are_sorted = Attribute(BOOL, False)
    unique_indices = Attribute(BOOL, False)
    update_computation = Region()
    results = Result(PLAIN, variadic=True)

    def segment_sizes(self, what: str, declared: Sequence[AnyOperand], total: int) -> list[int]:
        """Inputs, updates and results are equal in number; the other operands are index components."""
        if what == "result":
            return super().segment_sizes(what, declared, total)
        count = len(self.operation.results)
        return [count, total - 2 * count, count]

    @property
    def index_vector_dim(self) -> int:
        """The dimension of scatter_indices along which the components would be stacked."""
        return len(self.index_components[0].shape)

    def index_vectors(self, indices: Sequence[Array]) -> Array:
        return stacked_components(indices, self.added_to_negative)

    @property
    def indices_shape(self) -> Sequence[int]:
        return (*self.index_components[0].shape, len(self.index_components))
