"""Which rounds of the check of `benchmarks.scaling` count, and what they give."""

from __future__ import annotations

import math

import pytest

from benchmarks.simulation_check import Check, Round, agreement, summary, with_medians
from nimblehlo.inspection.profiling.machine import Machine
from nimblehlo.inspection.profiling.measuring import sharing_figures
from nimblehlo.inspection.profiling.thread_simulation import RecordedCall
from tests.inspection.profiling.test_thread_simulation import launch, machine

STEADY = (1.0, 1.0, 1.0)


def round_of(
    seconds: float, timed: float, speeds: tuple[float, ...] = STEADY, interruptions: int = 0
) -> Round:
    """A round with one launch of eight tasks, of so many seconds on one thread."""
    first, between, after = speeds
    call = RecordedCall((launch(*[seconds / 8] * 8),), 0.0)
    return Round([call], timed, (first, between, after), interruptions)


@pytest.mark.parametrize(
    ("speeds", "interruptions", "is_steady"),
    [
        (STEADY, 0, True),
        ((1.0, 1.04, 1.0), 0, True),
        (STEADY, 1, False),
        ((1.0, 1.0, 1.1), 0, False),
        ((1.0, 0.9, 1.0), 0, False),
        ((1.1, 1.0, 1.0), 0, False),
        ((1.0, math.nan, 1.0), 0, False),
        ((math.nan, 1.0, 1.0), 0, False),
    ],
)
def test_rounds_in_which_the_speed_changed_do_not_count(
    speeds: tuple[float, ...], interruptions: int, is_steady: bool
) -> None:
    assert round_of(1.0, 0.5, speeds, interruptions).is_steady == is_steady


def test_each_round_has_its_own_difference() -> None:
    """The second round runs at half of the speed, and the last one's halves at different speeds."""
    rounds = [round_of(8.0, 4.0), round_of(16.0, 8.0), round_of(8.0, 4.4)]
    rounds.append(round_of(8.0, 8.0, (1.0, 1.0, 2.0)))
    check = summary(rounds, machine())
    assert (check.steady, check.rejected) == (3, 1)
    assert check.timed == pytest.approx(4.4) and check.alone == pytest.approx(8.0)
    assert check.difference == pytest.approx(0.0, abs=1e-4)
    assert check.lower == pytest.approx((4.0 / 4.4 - 1) / 2, abs=1e-4)
    assert check.upper == pytest.approx(0.0, abs=1e-4)


def test_no_round_counts() -> None:
    check = summary([round_of(8.0, 4.0, interruptions=1)], machine())
    assert math.isnan(check.timed) and (check.steady, check.rejected) == (0, 1)
    assert agreement([check], 2) == (
        "no program had a steady round: 1 of 1 rounds were rejected, as the machine's speed changed in them"
    )


def test_the_programs_with_steady_rounds_agree_or_do_not() -> None:
    checks = [Check(2.0, 1.0, 1.0, share, 0.0, 0.0, 10, 5) for share in (-0.02, 0.04, -0.3)]
    assert agreement([*checks, Check(*[math.nan] * 6, 0, 15)], 2) == (
        "3 of 4 programs have steady rounds: the simulation of 2 threads differs from the time by 4.0 % in "
        "the median, by at most 5 % for 2; 30 of 60 rounds were rejected, as the machine's speed changed in "
        "them"
    )


def test_figures_of_the_machine_are_the_medians() -> None:
    """One that was not always measured stays."""
    wakes = [{"seconds wake 2": seconds, "copy L1 2": 1.0} for seconds in (3e-6, 1e-6, 2e-6)]
    del wakes[1]["copy L1 2"]
    changed = with_medians(machine(), wakes)
    assert changed.rate("seconds wake", 2) == 2e-6
    assert changed.rate("copy L1", 2) == machine().rate("copy L1", 2)
    assert changed.rate("seconds task", 1) == machine().rate("seconds task", 1)


def test_the_simulation_needs_no_other_figure_than_what_is_measured_again() -> None:
    """Threads that do not run at the same time leave a gap, which is filled here."""
    names = {"seconds launch 2", "seconds wake 2", "seconds task 1", "seconds steal 2"}
    names |= {f"copy {level} 2" for level in ("L1", "L2", "L3", "memory")}
    figures = sharing_figures(2, (1 << 12, 1 << 13, 1 << 14))
    assert set(figures) <= {*names, "seconds call 1"}
    alone = Machine(2, (1, 2), (1000, 10_000, 100_000), dict.fromkeys(names, 1.0))
    assert not math.isnan(summary([round_of(8.0, 4.0)], alone).simulated)
