"""A sample of the campaign `python -m tests.native_inputs`, and comparisons with JAX."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from tests.native_inputs import campaign, cases, inputs, worker
from tests.support.running import MODES, assert_same_bits

Array = np.ndarray[Any, Any]

BUSY_DELAY = 30.0
"""As `worker.DELAY`, beside other tests and other programs."""


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's checks of memory")
def test_a_sample_of_the_campaign(tmp_path: Path) -> None:
    families = [name for name in cases.FAMILIES if name != "huge"]
    tally = campaign.run(families, 97, "malloc", tmp_path, delay=BUSY_DELAY)
    assert tally.findings == []
    assert tally.cases >= 20 and tally.calls >= 600 and len(tally.types) >= 8


def test_a_case_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    tally = campaign.run(["huge"], 100, "inherited", tmp_path, delay=BUSY_DELAY)
    assert tally.findings == [] and tally.calls == 2


def test_each_finding_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that damages memory, one that is late, and one that fails."""
    damage = "import ctypes; ctypes.CDLL(None).abort()"
    script = f"""
import sys
start = int(sys.argv[3])
for number in range(start, 3):
    print(number, "begin case", number, flush=True)
    if number == 0:
        {damage}
    print(number, "late" if number == 1 else "wrong", "the finding", flush=True)
    print(number, "done 1 2 f32,i8", flush=True)
"""
    (tmp_path / "tests" / "native_inputs").mkdir(parents=True)
    for package in ("tests", "tests/native_inputs"):
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "tests" / "native_inputs" / "worker.py").write_text(script)
    monkeypatch.setattr(campaign, "ROOT", tmp_path)
    tally = campaign.run(["lapack"], 1, "inherited", tmp_path)
    assert dict(tally.kinds) == {"ended": 1, "late": 1, "wrong": 1}
    assert (tally.cases, tally.calls, tally.operands, tally.types) == (3, 2, 4, {"f32", "i8"})
    assert [line.split()[0] for line in tally.findings] == ["ENDED", "LATE", "WRONG"]


def test_a_difference_between_modes_is_a_finding(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    case = next(cases.functions())
    monkeypatch.setattr(worker, "agree", lambda *_: False)
    worker.run(0, case, 60.0, BUSY_DELAY)
    lines = capsys.readouterr().out.splitlines()
    assert sum(" wrong " in line for line in lines) == len(inputs.operand_lists(case.operands))


MATRICES = np.stack(
    [
        np.full((3, 3), np.inf),
        np.diag([np.inf, 1, 1]),
        np.where(np.indices((3, 3)).sum(0) % 2, np.inf, -np.inf),
        np.full((3, 3), np.nan),
    ]
)
"""All infinite, with one infinity, of infinities in turn, NaN."""


def _decompositions() -> dict[str, Callable[[Any], Any]]:
    import jax.numpy as jnp
    from jax import lax

    return {
        "eig": jnp.linalg.eig,
        "eigvals": jnp.linalg.eigvals,
        "svd": lax.linalg.svd,
        "svdvals": lambda a: jnp.linalg.svd(a, compute_uv=False),
        "eigh": jnp.linalg.eigh,
        "schur": lambda a: lax.linalg.schur(a)[0],
    }


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_decompositions_give_nan_as_jax_does(dtype: Any) -> None:
    """XLA:CPU itself may not end for svd with vectors, and returns parts of eigenvectors in eigh."""
    import jax

    a = MATRICES.astype(dtype)
    with jax.enable_x64(True):
        for name, function in _decompositions().items():
            lowered = jax.jit(function).lower(a)
            first = nimblehlo.execute(lowered, [a], options=Options(timeout=60))
            assert all(np.isnan(result).all() for result in first), name
            if name in ("eig", "eigvals", "svdvals"):
                want = [np.asarray(value) for value in jax.tree.leaves(lowered.compile()(a))]
                assert all(np.isnan(value).all() for value in want), name
            for options in MODES.values():
                for got, one in zip(nimblehlo.execute(lowered, [a], options=options), first, strict=True):
                    assert_same_bits(got, one)
