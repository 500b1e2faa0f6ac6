"""One grid over several ranks: the bits of one process, and errors on every rank."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import nimblehlo
from nimblehlo.errors import ExecutionError
from nimblehlo.execution.grid.transport import Rendezvous
from nimblehlo.execution.mpi import messages
from nimblehlo.execution.mpi.transport import MPITransport, _Exchange
from nimblehlo.kernels.launch.mpi_launcher import launched_ranks
from nimblehlo.program.ops.collectives.reduction import own_nodes
from tests.execution.mpi.programs import MANY_RANKS, PROGRAMS, inputs_of

pytest.importorskip("mpi4py", reason="the extra mpi is not installed")

MPIEXEC = Path(sys.executable).parent / "mpiexec"

PROMPT_SECONDS = 60.0
"""Seconds within which ranks end that would otherwise wait for others for ever, on the busiest machine."""


def environment() -> dict[str, str]:
    """Ranks share two cores."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def launch(ranks: int, *command: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(MPIEXEC), "-n", str(ranks), sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment(),
        check=False,
    )


def run_case(ranks: int, case: str, folder: Path) -> list[Any]:
    """What a case tells on each rank."""
    done = launch(ranks, "-m", "tests.execution.mpi.on_ranks", case, str(folder / "told"))
    assert done.returncode == 0, done.stderr
    return [pickle.loads((folder / f"told.{rank}").read_bytes()) for rank in range(ranks)]


def test_ranges_that_came_in_before_there_were_results_are_copied() -> None:
    """A rank may send its range of a result before this rank has combined its own."""
    rendezvous = SimpleNamespace(members={0: (None, (), None)})
    exchange = _Exchange(cast(Rendezvous, rendezvous), {0: [0], 1: [1], 2: [2]})
    exchange.results = [np.zeros((2, 6), np.float32)]
    own = exchange.ranges_of_results(0)
    own[0][...] = 1
    exchange.payloads[1] = {0: own, 1: (np.full(4, 2, np.float32),), 2: exchange.ranges_of_results(2)}
    exchange.store_ranges()
    np.testing.assert_array_equal(exchange.results[0].reshape(-1), [1] * 4 + [2] * 4 + [0] * 4)


@pytest.fixture(scope="module")
def on_one_rank() -> Mapping[str, list[Any]]:
    """The results of each program on a grid in this process."""
    told = {}
    for name, program in PROGRAMS.items():
        inputs = [inputs_of(program, process) for process in program.grid.processes]
        results = nimblehlo.execute(program.text, inputs, grid=program.grid)
        told[name] = [[(r.dtype.name, r.tobytes()) for r in of_process] for of_process in results]
    return told


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_bits_are_those_of_one_process(
    ranks: int, on_one_rank: Mapping[str, list[Any]], tmp_path: Path
) -> None:
    told = run_case(ranks, "every_program", tmp_path)
    share = 8 // ranks
    for name, expected in on_one_rank.items():
        for rank in range(ranks):
            own = expected[share * rank : share * (rank + 1)]
            assert told[rank][name] == own + own, (name, rank)


def test_many_ranks_halve_and_double_with_the_same_bits(tmp_path: Path) -> None:
    """16 ranks, oversubscribed: by direct messages, by halving, and in one process."""
    all_told = run_case(16, "halving", tmp_path)
    for name, program in MANY_RANKS.items():
        inputs = [inputs_of(program, process) for process in program.grid.processes]
        results = nimblehlo.execute(program.text, inputs, grid=program.grid)
        expected = [[r.tobytes() for r in of_process] for of_process in results]
        for way in (1000, 1):
            assert [one for told in all_told for one in told[f"{name} {way}"]] == expected, (name, way)
    for told in all_told:
        text, seconds = told["deadlock"]
        assert "deadlock" in text and seconds < PROMPT_SECONDS


def test_an_error_ends_the_run_on_every_rank(tmp_path: Path, on_one_rank: Mapping[str, list[Any]]) -> None:
    expected = {
        "deadlock": "process (0, 0) waits in stablehlo.all_reduce",
        "check": "check.expect_eq: process (1, 0): values must be equal",
        "unreceived": "process (0, 0) sent values that no process has received",
        "inputs": "input 0 has shape [4], but must have [5]",
        "mismatch": "is executed as",
        "full disk": "No space left on device",
    }
    for rank, told in enumerate(run_case(2, "failures", tmp_path)):
        for name, part in expected.items():
            text, seconds = told[name]
            assert part in text, (name, rank, text)
            assert seconds < PROMPT_SECONDS
        assert told["afterwards"][0] == on_one_rank["all_reduce"][4 * rank][0][1]


def test_an_interrupt_of_one_rank_ends_the_run_on_every_rank(tmp_path: Path) -> None:
    other, interrupted = run_case(2, "interrupted", tmp_path)
    assert other == ["ExecutionError: the run was stopped by KeyboardInterrupt", [2.0] * 5]
    assert interrupted == ["KeyboardInterrupt: ", [2.0] * 5]


def test_a_rank_that_is_killed_ends_the_run(tmp_path: Path) -> None:
    done = launch(2, "-m", "tests.execution.mpi.on_ranks", "killed", str(tmp_path / "told"))
    assert done.returncode != 0


def run_case_with_a_death(case: str, folder: Path) -> list[Path]:
    """The files of the ranks 0 and 2 of a case that kills rank 1."""
    # Of MPICH's launchers `mpiexec.gforker` lets the others live for a while.
    command = [f"{MPIEXEC}.gforker", "-n", "3", sys.executable]
    command += ["-m", "tests.execution.mpi.on_ranks", case, str(folder / "told")]
    done = subprocess.run(command, capture_output=True, timeout=300, env=environment(), check=False)
    files = [folder / f"told.{rank}" for rank in (0, 2)]
    assert all(map(Path.exists, files)), done.stderr
    return files


def test_the_ranks_that_live_tell_of_one_that_is_killed(tmp_path: Path) -> None:
    for file in run_case_with_a_death("killed", tmp_path):
        texts, seconds = pickle.loads(file.read_bytes())
        assert seconds < PROMPT_SECONDS
        for text in texts:
            assert text.startswith("ExecutionError: ")
            assert "rank 1 has left: its process has died" in text


def test_a_rank_that_is_killed_while_the_others_end(tmp_path: Path) -> None:
    files = run_case_with_a_death("left_alone", tmp_path)
    assert [pickle.loads(file.read_bytes()) for file in files] == [0, 2]


@pytest.mark.parametrize("looks", [1, 60])
def test_the_last_message_of_a_rank_that_has_ended_comes_in(looks: int) -> None:
    """The end of a rank may be known before the message that it sent last has come in."""
    left = iter([False] * (50 + looks) + [True])

    def rank_has_ended() -> None:
        raise ExecutionError("rank 0 has left: its program has ended")

    transport = object.__new__(MPITransport)
    transport.messenger = cast(
        Any,
        SimpleNamespace(
            poll=lambda: next(left),
            monitor=SimpleNamespace(check=rank_has_ended),
            has_outgoing=False,
            is_transferring=False,
        ),
    )
    transport._has_finished = False
    transport._report_idle = lambda waits: None  # type: ignore[method-assign]
    transport._wait_for_message(None)
    left = iter([False] * 10_000)
    with pytest.raises(ExecutionError, match="rank 0 has left"):
        transport._wait_for_message(None)


def test_the_command_line(tmp_path: Path, on_one_rank: Mapping[str, list[Any]]) -> None:
    program = PROGRAMS["all_reduce"]
    (tmp_path / "program.mlir").write_text(program.text)
    for number, process in enumerate(program.grid.processes):
        np.save(tmp_path / f"x{number}.npy", inputs_of(program, process)[0])
    arguments = ["-m", "nimblehlo", "run", str(tmp_path / "program.mlir"), "--grid", "8"]
    files = ["--input", str(tmp_path / "x{process}.npy"), "--output", str(tmp_path / "y{replica}.npz")]
    done = launch(2, *arguments, *files)
    assert done.returncode == 0, done.stderr
    for number in range(8):
        assert f"process ({number}, 0):" in done.stdout
        with np.load(tmp_path / f"y{number}.npz") as stored:
            assert stored["result_0"].tobytes() == on_one_rank["all_reduce"][number][0][1]


@pytest.mark.parametrize(
    ("count", "positions", "expected"),
    [
        (8, [0, 1, 2, 3], {(2, 0): [0, 1, 2, 3]}),
        (8, [1, 2, 3], {(0, 1): [1], (1, 1): [2, 3]}),
        (5, [4], {(2, 1): [4]}),
        (5, [0, 4], {(0, 0): [0], (2, 1): [4]}),
        (3, [0, 1, 2], {(2, 0): [0, 1, 2]}),
        (1, [0], {(0, 0): [0]}),
    ],
)
def test_highest_nodes_of_the_tree(count: int, positions: list[int], expected: Any) -> None:
    assert own_nodes(count, positions) == expected


def test_scratch_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "MAX_SCRATCH_BYTES", 100)
    scratch, type = messages.Scratch(), (np.dtype(np.float32), (15,))
    first, second = scratch.take([type, type])
    scratch.release([first, second])
    again = scratch.take([type, type])
    assert again[0] is first
    assert again[1] is not second


def test_launchers_tell_the_number_of_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK"):
        monkeypatch.delenv(variable, raising=False)
    assert launched_ranks() == 1
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "5")
    assert launched_ranks() == 1, "processes that srun starts without PMIx are no ranks"
    monkeypatch.setenv("PMIX_RANK", "0")
    assert launched_ranks() == 5
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    assert launched_ranks() == 3
