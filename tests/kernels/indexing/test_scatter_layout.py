"""The tables of update slices: the example that the module describes."""

from nimblehlo.kernels.indexing.scatter_layout import (
    ADDEND,
    BOUND,
    COMPONENT_INPUT_STRIDE,
    COMPONENT_STRIDES,
    INDEX_STRIDE,
    INPUT_STRIDE,
    NUMBER,
    SIZE,
    UPDATE_STRIDE,
    DimensionNumbers,
    cut_into_slices,
)


def test_the_gradient_of_an_embedding() -> None:
    numbers = DimensionNumbers(
        update_window_dims=(1,),
        inserted_window_dims=(0,),
        input_batching_dims=(),
        scatter_indices_batching_dims=(),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
    )
    layout = cut_into_slices((4, 3), (5, 1), (5, 3), numbers, scheduled=False, added_to_negative=(0,))
    (dimension,), (component,) = layout.slice_space.tolist(), layout.components.tolist()
    assert [dimension[column] for column in (SIZE, INDEX_STRIDE, UPDATE_STRIDE)] == [5, 1, 3]
    assert dimension[INPUT_STRIDE] == 0 and dimension[COMPONENT_STRIDES:] == [0]
    assert [component[column] for column in (NUMBER, BOUND, COMPONENT_INPUT_STRIDE, ADDEND)] == [0, 4, 1, 0]
    assert layout.clipped_component is None and layout.runs.tolist() == [[0, 0]]
    assert (layout.row_items, layout.chunk_count, layout.chunk_items) == (3, 1, 3)
