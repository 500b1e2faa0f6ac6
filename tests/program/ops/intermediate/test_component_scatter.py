"""`nimblehlo.component_scatter`: index components are combined chunk by chunk."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from nimblehlo import Options
from nimblehlo.execution.program import Program
from nimblehlo.program.ops.framework.op_registry import COMPONENT_SCATTER
from nimblehlo.program.ops.indexing import scatter_numpy
from tests.compiler.specialize.rewrites.test_gathers import by_components
from tests.compiler.specialize.rewrites.test_small_scatters import PROGRAM, inputs
from tests.support.running import run_every_way, same_bits


@pytest.mark.parametrize("piece", [1, 100, 7000])
def test_chunks_have_the_bits_of_the_whole(piece: int) -> None:
    text, arrays = PROGRAM.format(size=9, count=20_000), inputs(9, 20_000)
    (whole,) = run_every_way(text, *arrays)
    with mock.patch.object(scatter_numpy, "_UPDATES_PER_CHUNK", piece):
        (in_pieces,) = Program(by_components(text), Options(compile="never")).run(tuple(arrays))
    assert same_bits(np.asarray(in_pieces), np.asarray(whole))


def test_many_updates_take_no_more_memory_than_some() -> None:
    count = 8 * scatter_numpy._UPDATES_PER_CHUNK
    arrays = inputs(9, count)
    options = Options(compile="never", max_bytes=10 * 8 * scatter_numpy._UPDATES_PER_CHUNK)
    function = by_components(PROGRAM.format(size=9, count=count))
    assert function.body is not None
    assert COMPONENT_SCATTER in {operation.name for operation in function.body.walk()}
    (limited,) = Program(function, options).run(tuple(arrays))
    assert np.isfinite(limited).all()
