"""Malformed and absurd programs: each ends in a `NimbleError` soon, and none ends the process.

The mutants are a sample of what ``python -m tests.robustness`` tries.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, NimbleError, Options
from nimblehlo.execution.verification import verification_level
from nimblehlo.execution.verification.steps import InvalidStep
from nimblehlo.program.ops.fft.fft import FftOfReal
from tests.conftest import ROOT
from tests.robustness import comparison
from tests.robustness.comparison import compare
from tests.robustness.mutation import Mutator, cut
from tests.robustness.seeds import TARGETS, seeds
from tests.robustness.trial import Outcome, Phase

pytest.importorskip("resource", reason="this system does not limit the memory of a process")

AT_ONCE = 5.0
"""Processor seconds within which programs are rejected: imports take some tenths of a second, and what the
programs ask for would take minutes."""

MUTANTS = 6000
REPLACEMENTS = 400

PROGRAM = """func.func @main(%a: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}"""


def test_mutants() -> None:
    """In a process of their own: fork must not meet the threads of a test run."""
    command = [sys.executable, "-m", "tests.robustness", "--own", "--jobs", "2", "--count", str(MUTANTS)]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert f"{MUTANTS} mutants of" in finished.stdout, finished.stdout
    found = re.search(r"rejected when loaded: (\d+).* fine: (\d+)", finished.stdout)
    assert found is not None and all(int(number) > MUTANTS // 100 for number in found.groups())


def test_mutants_of_replacements() -> None:
    """Each mutant of a custom call or the like is rejected, or gives the declared results in all modes."""
    command = [sys.executable, "-m", "tests.robustness", "--own", "--jobs", "2", "--target", *TARGETS]
    command += ["--count", str(REPLACEMENTS)]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    found = re.search(r"rejected when loaded: (\d+).* fine: (\d+)", finished.stdout)
    assert found is not None and all(int(number) > REPLACEMENTS // 100 for number in found.groups())


def test_a_wrong_replacement_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An accepted program whose result is of another shape than declared, or differs between modes."""
    text = seeds("internal")[3]
    assert compare(text, lambda phase: None).phase == Phase.DONE
    monkeypatch.setattr(FftOfReal, "bind", lambda self: lambda operand: self.reference(operand)[:1])
    with pytest.raises(InvalidStep, match=r"fft_of_real .* has shape"):
        compare(text, lambda phase: None)
    with monkeypatch.context() as patched:
        patched.setattr(comparison, "verification_level", lambda level: verification_level("off"))
        with pytest.raises(comparison.WrongResult, match="result 0 has shape"):
            compare(text, lambda phase: None)
    monkeypatch.undo()
    monkeypatch.setattr(comparison, "MODES", {"never": Options(compile="never"), "window": Options(seed=1)})
    draws = program(
        """  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %o = stablehlo.constant dense<1.0> : tensor<f32>
  %n = stablehlo.constant dense<3> : tensor<1xi64>
  %r = stablehlo.rng %z, %o, %n, distribution = UNIFORM
    : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>""",
        "tensor<3xf32>",
    )
    with pytest.raises(comparison.WrongResult, match="differs between never and window"):
        compare(draws, lambda phase: None)


def test_a_program_is_compared_once() -> None:
    """A mutant that means the same as an earlier one counts, but does not run again."""
    outcomes: dict[bytes, Outcome] = {}
    text = seeds("internal")[3]
    assert compare(text, lambda phase: None, outcomes) == Outcome(Phase.DONE)
    renamed = text.replace("%a", "%operand") + "// the same\n"
    assert compare(renamed, lambda phase: None, outcomes) == Outcome(Phase.DONE, is_repeated=True)
    other = text.replace("type = FFT", "type = IFFT")
    assert compare(other, lambda phase: None, outcomes) == Outcome(Phase.DONE)
    assert len(outcomes) == 2


def test_a_loop_without_an_end_is_stopped_in_every_mode() -> None:
    text = seeds("loops")[0].replace("dense<3> : tensor<i32>", "dense<2147483647> : tensor<i32>")
    started = time.process_time()
    assert compare(text, lambda phase: None).phase == Phase.RUN
    assert time.process_time() - started < 3 * comparison.LONGEST_RUN / 2


def test_tokens_are_the_text() -> None:
    program = cut(PROGRAM)
    assert "".join(program.tokens) == PROGRAM
    assert program.types == [
        "tensor<2x3xf32>",
        "tensor<3x2xf32>",
        "tensor<2x3xf32>",
        "tensor<3x2xf32>",
        "tensor<3x2xf32>",
    ]
    assert [program.tokens[position] for position in program.kinds["size"][:2]] == ["2x", "3x"]


def test_mutants_follow_from_seed_and_number() -> None:
    first, second = Mutator([PROGRAM]), Mutator([PROGRAM])
    texts = [first.mutant(1, number) for number in range(100)]
    assert [second.mutant(1, number) for number in reversed(range(100))] == texts[::-1]
    assert len(set(texts)) > 60
    assert texts != [first.mutant(2, number) for number in range(100)]


def program(body: str, result: str) -> str:
    """A function without arguments that returns %r."""
    return f"func.func @main() -> {result} {{\n{body}\n  return %r : {result}\n}}"


ONE = "%one = stablehlo.constant dense<1.0> : tensor<f32>"
ADD = """^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>"""
LONG = "tensor<9223372036854775807xf32>"
WIDE = "tensor<9223372036854775807x9223372036854775807xf32>"
TERABYTES = "tensor<1000000x2000000xf32>"
LINE = "tensor<2000000000000xf32>"

ABSURD = {
    "iota": program(f"  %r = stablehlo.iota dim = 0 : {TERABYTES}", TERABYTES),
    "longest iota": program(f"  %r = stablehlo.iota dim = 0 : {LONG}", LONG),
    "widest iota": program(f"  %r = stablehlo.iota dim = 1 : {WIDE}", WIDE),
    "splat": program(f"  %r = stablehlo.constant dense<0.0> : {LINE}", LINE),
    "elementwise": program(
        f"  %c = stablehlo.constant dense<1.0> : {LINE}\n  %r = stablehlo.exponential %c : {LINE}", LINE
    ),
    "broadcast": program(
        f"  {ONE}\n  %r = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> {TERABYTES}",
        TERABYTES,
    ),
    "longest broadcast": program(
        f"  {ONE}\n  %r = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> {LONG}", LONG
    ),
    "pad": program(
        f"  {ONE}\n  %c = stablehlo.constant dense<1.0> : tensor<1xf32>\n"
        "  %r = stablehlo.pad %c, %one, low = [1000000000000], high = [0], interior = [0]\n"
        "    : (tensor<1xf32>, tensor<f32>) -> tensor<1000000000001xf32>",
        "tensor<1000000000001xf32>",
    ),
    "interior padding": program(
        f"  {ONE}\n  %c = stablehlo.constant dense<1.0> : tensor<3xf32>\n"
        "  %r = stablehlo.pad %c, %one, low = [0], high = [0], interior = [4611686018427387903]\n"
        f"    : (tensor<3xf32>, tensor<f32>) -> tensor<9223372036854775809xf32>",
        "tensor<9223372036854775809xf32>",
    ),
    "dot_general": program(
        "  %c = stablehlo.constant dense<1.0> : tensor<1000000x1xf32>\n"
        "  %d = stablehlo.constant dense<1.0> : tensor<1x2000000xf32>\n"
        "  %r = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0]\n"
        f"    : (tensor<1000000x1xf32>, tensor<1x2000000xf32>) -> {TERABYTES}",
        TERABYTES,
    ),
    "concatenate": program(
        f"  %c = stablehlo.constant dense<1.0> : {LINE}\n"
        f"  %r = stablehlo.concatenate %c, %c, dim = 0 : ({LINE}, {LINE}) -> tensor<4000000000000xf32>",
        "tensor<4000000000000xf32>",
    ),
    "sort": program(
        f"  %c = stablehlo.constant dense<1.0> : {LINE}\n"
        '  %r = "stablehlo.sort"(%c) ({\n  ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
        "    %s = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        f"    stablehlo.return %s : tensor<i1>\n  }}) : ({LINE}) -> {LINE}",
        LINE,
    ),
    "reduce": program(
        f"  {ONE}\n  %c = stablehlo.constant dense<1.0> : {LINE}\n"
        f"  %r = stablehlo.reduce(%c init: %one) applies stablehlo.add across dimensions = [0]\n"
        f"    : ({LINE}, tensor<f32>) -> tensor<f32>",
        "tensor<f32>",
    ),
    "reduce_window": program(
        f"  {ONE}\n  %c = stablehlo.constant dense<1.0> : tensor<2xf32>\n"
        f'  %r = "stablehlo.reduce_window"(%c, %one) ({{\n  {ADD}\n  }}) '
        "{window_dimensions = array<i64: 1000000000000>, "
        "padding = dense<[[999999999998, 0]]> : tensor<1x2xi64>}\n"
        "    : (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>",
        "tensor<1xf32>",
    ),
    "gather": program(
        f"  %c = stablehlo.constant dense<1.0> : {LINE}\n"
        "  %i = stablehlo.constant dense<0> : tensor<1xi64>\n"
        '  %r = "stablehlo.gather"(%c, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0],\n'
        "    start_index_map = [0]>, slice_sizes = array<i64: 1000000000000>}>\n"
        f"    : ({LINE}, tensor<1xi64>) -> tensor<1000000000000xf32>",
        "tensor<1000000000000xf32>",
    ),
}


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_sizes_fail_at_once(name: str) -> None:
    started = time.process_time()
    with pytest.raises(NimbleError):
        nimblehlo.execute(ABSURD[name], options=Options(compile="never"))
    assert time.process_time() - started < AT_ONCE


def test_a_run_without_memory_leaves_the_next_one_unharmed() -> None:
    executable = nimblehlo.compile(ABSURD["broadcast"])
    for _ in range(2):
        with pytest.raises(ExecutionError):
            executable()
    (result,) = nimblehlo.execute(PROGRAM, [np.ones((2, 3), np.float32)])
    assert result.shape == (3, 2)


ODD_ATTRIBUTES: Sequence[tuple[str, str]] = [
    ("permutation = dense<1> : tensor<1000000000xi64>", "elements"),
    ("permutation = dense<1> : tensor<1000000x1000000xi64>", "list"),
    ("permutation = array<i64: 9223372036854775807, -9223372036854775808>", "permutation"),
    ("permutation = {a = 1}", "list"),
    ("permutation = array<i1: true, false>", "list"),
]


@pytest.mark.parametrize(("attribute", "reason"), ODD_ATTRIBUTES)
def test_odd_attributes(attribute: str, reason: str) -> None:
    started = time.process_time()
    with pytest.raises(NimbleError, match=reason):
        nimblehlo.load(PROGRAM.replace("permutation = array<i64: 1, 0>", attribute))
    assert time.process_time() - started < AT_ONCE


@pytest.mark.parametrize("kind", ["f32", "index", "!quant.uniform<i8:f32, 0.5:1>"])
def test_values_that_are_no_tensors(kind: str) -> None:
    text = f"func.func @main(%a: {kind}) -> {kind} {{ %0 = stablehlo.abs %a : {kind} return %0 : {kind} }}"
    with pytest.raises(NimbleError, match="operand must be"):
        nimblehlo.load(text)


def test_programs_after_one_another_are_unharmed_by_broken_ones() -> None:
    mutator = Mutator([PROGRAM])
    for number in range(300):
        with contextlib.suppress(NimbleError):
            nimblehlo.load(mutator.mutant(7, number))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(nimblehlo.execute(PROGRAM, [x])[0], x.T)
