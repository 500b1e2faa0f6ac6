"""The campaign over JAX's own tests: recorded computations, accepted differences, crashes."""

import json
import sys
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from nimblehlo.checks.error_bounds.wide_types import widened
from tests.jax_suite import backend, comparing, comparison
from tests.jax_suite.backend import FileOutcome, Row, devices_section, rows_of_page, table
from tests.jax_suite.backend_worker import import_with_stand_ins
from tests.jax_suite.campaign import CRASHED, Tally, _watched, printed, run_file
from tests.jax_suite.comparing import REFUSED, SEVERAL_DEVICES, Comparing, stored_arrays
from tests.jax_suite.comparison import DIFFERENCE, EXACT, WITHIN_BOUND, judge
from tests.jax_suite.interception import Computation, intercepted
from tests.jax_suite.journal import Journal
from tests.jax_suite.worker import Plan

pytestmark = pytest.mark.models


def elementwise(operation: str, dtype: str, size: int = 4) -> str:
    """A program of one operation on one vector."""
    kind = f"tensor<{size}x{dtype}>"
    return f"func.func @main(%a: {kind}) -> {kind} {{ %0 = {operation} %a : {kind} return %0 : {kind} }}"


def test_each_execution_is_seen_with_its_inputs_and_results() -> None:
    seen: list[tuple[Computation, Sequence[Any], Sequence[Any]]] = []
    with intercepted(lambda *execution: seen.append(execution)):
        double = jax.jit(lambda x: x * 2 + 1, donate_argnums=0)
        for number in range(3):
            double(jnp.full(5, number, jnp.float32)).block_until_ready()
        ahead = jax.jit(lambda x: x - 3).lower(np.float32(0)).compile()
        ahead(np.float32(5)), ahead(np.float32(6))
    doubled = [(inputs[0][0], results[0][0]) for text, inputs, results in seen if "multiply" in text.text]
    assert doubled == [(0, 1), (1, 3), (2, 5)]
    taken = [(inputs[0], results[0]) for text, inputs, results in seen if "subtract" in text.text]
    assert taken == [(5, 2), (6, 3)]
    count = len(seen)
    double(jnp.full(5, 7, jnp.float32))
    assert len(seen) == count


def test_what_jax_executes_agrees(tmp_path: Path) -> None:
    observer = Comparing(["auto", "eager"], tmp_path)
    with intercepted(observer):
        x = jnp.linspace(-2, 2, 24, dtype=jnp.float32).reshape(4, 6)
        jax.random.key_data(jax.random.split(jax.random.key(3), 4)), jax.random.normal(jax.random.key(3), 5)
        jax.nn.softmax(jnp.tanh(x @ x.T)), jnp.argsort(x, axis=1), jnp.linalg.inv(x @ x.T + jnp.eye(4))
    record = observer.record()
    assert record["faults"] == []
    assert record["counts"][EXACT] > 10 and len(record["programs"]) > 5


def test_a_wrong_result_is_counted_and_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observer = Comparing(["never"], tmp_path)
    compiled = comparing.compiled

    def compiled_wrongly(text: str, mode: str) -> Any:
        right = compiled(text, mode)
        return lambda *inputs: [np.asarray(result) + 1 for result in right(*inputs)]

    monkeypatch.setattr(comparing, "compiled", compiled_wrongly)
    with intercepted(observer):
        jax.jit(lambda x: x ^ 5)(np.arange(6, dtype=np.int8))
        jax.jit(lambda x: x * 5)(np.arange(6, dtype=np.float32))
    record = observer.record()
    assert record["counts"] == {DIFFERENCE: 2}
    digest = record["faults"][0]["program"]
    inputs, results = stored_arrays(tmp_path / f"{digest}_0.npz")
    assert (inputs[-1] == np.arange(6)).all() and (results[0] == np.arange(6) ^ 5).all()
    assert results[0].dtype == np.int8
    assert "xor" in (tmp_path / f"{digest}.mlir").read_text()
    total = Tally("some_test", faults=[{"test": "t", **fault} for fault in record["faults"]])
    assert "FAULT difference, 2 times" in printed([total], 1) and not total.is_clean


def test_refusals_and_several_devices_are_counted(tmp_path: Path) -> None:
    observer = Comparing(["never"], tmp_path)
    call = 'stablehlo.custom_call @"a target of nobody"(%a) : (tensor<4xf32>) -> tensor<4xf32>'
    text = f"func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {{ %0 = {call} return %0 : tensor<4xf32> }}"
    values = [np.zeros(4, np.float32)]
    observer(Computation(text, 1, False), values, values)
    observer(Computation(text, 2, False), [], [])
    assert observer.record()["counts"] == {REFUSED: 1, SEVERAL_DEVICES: 1}


SINE = elementwise("stablehlo.sine", "f32")
X = np.array([0.5, 1.5, -3, 12], np.float32)


ROOT_MINUS_THREE = """func.func @main(%a: tensor<i64>) -> tensor<f64> {
  %0 = stablehlo.convert %a : (tensor<i64>) -> tensor<f64>
  %1 = stablehlo.sqrt %0 : tensor<f64>
  %2 = stablehlo.constant dense<3.0> : tensor<f64>
  %3 = stablehlo.subtract %1, %2 : tensor<f64>
  return %3 : tensor<f64>
}"""
SUMS_FROM_ONE = """func.func @main(%a: tensor<3xf32>, %init: tensor<f32>) -> tensor<5xf32> {
  %0 = "stablehlo.reduce_window"(%a, %init) <{padding = dense<[[2, 1]]> : tensor<1x2xi64>,
    window_dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %1 = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}"""


@pytest.mark.parametrize(
    ("text", "inputs", "ours", "theirs", "kind"),
    [
        (SINE, [X], np.sin(X), np.sin(X), EXACT),
        (SINE, [X], np.sin(X), np.sin(X) * np.float32(1 + 1e-6), WITHIN_BOUND),
        (SINE, [X], np.sin(X), np.sin(X) * np.float32(1 + 1e-4), comparison.TRUE_VALUE),
        (SINE, [X], np.sin(X) * np.float32(1 + 1e-4), np.sin(X), DIFFERENCE),
        (SINE, [X], np.where(X > 9, np.nan, np.sin(X)).astype(np.float32), np.sin(X), DIFFERENCE),
        (SINE, [X], np.sin(X).astype(np.float64), np.sin(X), DIFFERENCE),
        (
            elementwise("stablehlo.sine", "f64", 1),
            [np.array([1e17])],
            np.sin([1e17 + 16]),
            np.sin([1e17]),
            comparison.CONDITIONING,
        ),
        (
            elementwise("stablehlo.not", "i8"),
            [np.arange(4, dtype=np.int8)],
            *np.eye(2, 4, dtype=np.int8),
            DIFFERENCE,
        ),
        (
            elementwise("stablehlo.exponential_minus_one", "f64", 1),
            [np.array([1e-9])],
            np.expm1([1e-9]),
            np.exp([1e-9]) - 1,
            comparison.TRUE_DIGITS,
        ),
        (
            elementwise("stablehlo.exponential", "complex<f32>", 1),
            [np.array([complex(np.inf, np.inf)], np.complex64)],
            np.array([complex(np.inf, np.nan)], np.complex64),
            np.array([complex(np.nan, np.nan)], np.complex64),
            comparison.COMPLEX_NON_FINITE,
        ),
        *[
            (
                "func.func @main(%a: tensor<1xi1>) -> tensor<1xui8> {"
                " %0 = stablehlo.convert %a : (tensor<1xi1>) -> tensor<1xui8> return %0 : tensor<1xui8> }",
                [np.array([byte], np.uint8).view(np.bool_)],
                np.array([ours], np.uint8),
                np.array([96], np.uint8),
                kind,
            )
            for byte, ours, kind in [
                (96, 1, comparison.BOOLEAN_BYTES),
                (96, 2, DIFFERENCE),
                (1, 2, DIFFERENCE),
            ]
        ],
        (ROOT_MINUS_THREE, [np.array(9)], np.array(4.4e-16), np.array(0.0), comparison.CONDITIONING),
        (ROOT_MINUS_THREE, [np.array(9)], np.array(4.4e-13), np.array(0.0), DIFFERENCE),
        (
            SUMS_FROM_ONE,
            [np.arange(3, dtype=np.float32), np.array(1, np.float32)],
            np.array([3, 2, 2, 4, 4], np.float32),
            np.array([1, 1, 2, 4, 3], np.float32),
            comparison.INITIAL_VALUES,
        ),
        (
            SUMS_FROM_ONE,
            [np.arange(3, dtype=np.float32), np.array(1, np.float32)],
            np.array([3, 2, 2, 4, 4], np.float32),
            np.array([1, 1, 2, 4, 5], np.float32),
            DIFFERENCE,
        ),
        (
            SUMS_FROM_ONE,
            [np.arange(3, dtype=np.float32), np.array(0, np.float32)],
            np.array([0, 0, 1, 9, 2], np.float32),
            np.array([0, 0, 1, 3, 2], np.float32),
            DIFFERENCE,
        ),
        (
            SUMS_FROM_ONE,
            [np.arange(3, dtype=np.float32), np.array(1, np.float32)],
            np.array([9, 2, 2, 4, 4], np.float32),
            np.array([1, 1, 2, 4, 3], np.float32),
            DIFFERENCE,
        ),
        (
            "func.func @main(%a: tensor<4xf32>) -> tensor<4xi8> {"
            " %0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi8> return %0 : tensor<4xi8> }",
            [np.array([1, np.nan, 1e9, 3], np.float32)],
            np.array([1, 5, -1, 3], np.int8),
            np.array([1, 0, -1, 3], np.int8),
            comparison.UNSPECIFIED,
        ),
    ],
)
def test_the_rules(text: str, inputs: Any, ours: Any, theirs: Any, kind: str) -> None:
    verdict = judge(text, inputs, [ours], [theirs])
    assert verdict.kind.removeprefix(comparison.EXPLAINED) == kind, verdict.detail


@pytest.mark.parametrize("name", ["svd", "eigh"])
def test_other_vectors_of_a_decomposition_are_explained(name: str) -> None:
    matrix = np.random.default_rng(0).normal(size=(6, 6)).astype(np.float32)
    function = getattr(jax.lax.linalg, name)
    text = jax.jit(function).lower(matrix).as_text()
    theirs = [np.array(each) for each in function(matrix)]
    ours = [each.copy() for each in theirs]
    ours[0][:, 2] *= -1
    if name == "svd":
        ours[2][2] *= -1
    assert judge(text, [matrix], ours, theirs).kind.endswith(comparison.OTHER_VECTORS)
    ours[0][:, 1] *= -1  # the factors of another matrix, or no orthogonal ones
    ours[0][0, 1] *= 2
    assert judge(text, [matrix], ours, theirs).kind == DIFFERENCE


def test_the_wide_program_keeps_bits_of_narrow_types() -> None:
    import nimblehlo

    text = """func.func @main(%a: tensor<2xui32>) -> tensor<2xf32> {
      %0 = stablehlo.bitcast_convert %a : (tensor<2xui32>) -> tensor<2xf32>
      %c = stablehlo.constant dense<[0.1, 2.0]> : tensor<2xf32>
      %1 = stablehlo.multiply %0, %c : tensor<2xf32>
      return %1 : tensor<2xf32>
    }"""
    bits = np.array([0.3, -7], np.float32).view(np.uint32)
    (result,) = nimblehlo.execute(str(widened(nimblehlo.load(text))), [bits])
    assert (result == np.float64(np.float32([0.3, -7])) * np.float64(np.float32([0.1, 2]))).all()


TINY = """
import os
import unittest
import numpy as np
import jax

class TinyTest(unittest.TestCase):
    def test_a(self):
        jax.numpy.sin(np.float32(1))

    def test_b(self):
        os._exit(7)

    def test_c(self):
        jax.numpy.cos(np.float32(1))
        assert 0, "for this reason"
"""


def test_a_campaign_goes_on_after_a_crash(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "tiny_test.py").write_text(TINY)
    journal = str(tmp_path / "journal.jsonl")
    plan = Plan(str(tmp_path), "tiny_test", 0, 1, None, "", ["never"], journal, str(tmp_path / "out"), 100)
    total = run_file(plan, 120, {"JAX_PLATFORMS": "cpu"})
    assert total.tests == {"passed": 1, "failed": 1, CRASHED: 1}
    assert "for this reason" in next(iter(total.failures.values()))
    assert "JAX's own test fails: tiny_test.TinyTest.test_c: AssertionError: for this" in printed([total], 1)
    assert total.computations >= 2 and set(total.counts) <= {EXACT, WITHIN_BOUND}
    assert json.loads(json.dumps(vars(total)))["tests"] == {"passed": 1, "failed": 1, CRASHED: 1}
    assert [fault["test"].rpartition(".")[2] for fault in total.faults] == ["test_b"]


def test_a_campaign_whose_worker_begins_no_test_ends_in_an_error(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "slow_test.py").write_text("import time\ntime.sleep(60)\n")
    journal = str(tmp_path / "journal.jsonl")
    plan = Plan(str(tmp_path), "slow_test", 0, 1, None, "", ["never"], journal, str(tmp_path / "out"), 100)
    with pytest.raises(SystemExit, match="slow_test: the worker began no test within 1 s"):
        run_file(plan, 1, {"JAX_PLATFORMS": "cpu"})


def test_tests_with_faults_are_forgotten_alone(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.end("good", "passed", 1, {"faults": []})
    journal.end("differs", "passed", 1, {"faults": [{"kind": DIFFERENCE, "detail": "", "program": ""}]})
    journal.end("ended", CRASHED, 1, {"detail": ""})
    journal.forget_faults()
    assert list(journal.finished()) == ["good"]


def test_a_worker_that_hangs_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert _watched(command, Journal(tmp_path / "journal"), 1, {}) is None


OTHER_VERSION = """
from json import dumps, later_name
from json.decoder import another_name
import unittest

class VersionTest(unittest.TestCase):
    def test_a(self):
        dumps(1)

    def test_b(self):
        another_name(later_name)
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="ImportError does not say which name is lacking")
def test_tests_of_what_the_installed_version_lacks_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "version_test.py").write_text(OTHER_VERSION)
    monkeypatch.syspath_prepend(tmp_path)
    for module, name in ((json, "later_name"), (json.decoder, "another_name")):
        monkeypatch.setattr(module, name, None, raising=False)
        delattr(module, name)
    import_with_stand_ins("version_test")
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(sys.modules.pop("version_test")).run(result)
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])
    assert [reason for _, reason in result.skipped] == ["json.decoder has no another_name"]


def test_a_missing_module_has_no_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "module_test.py").write_text("import json.no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="no_such_module"):
        import_with_stand_ins("module_test")


def test_the_section_of_devices_names_each_failure_with_its_reason(tmp_path: Path) -> None:
    names = ["A.test_fine", "A.test_wrong", "B.test_check_rep_false_grads", "B.test_skipped"]
    outcomes = {"nimblehlo": ["passed", "failed", "failed", "skipped"], "cpu": ["passed"] * 3 + ["skipped"]}
    for platform, of_tests in outcomes.items():
        journal = Journal(tmp_path / platform / "pjit_test" / "journal_1_1.jsonl")
        for name, outcome in zip(names, of_tests, strict=True):
            journal.end(f"pjit_test.{name}", outcome, 0.1, {"failure": "one\nAssertionError: 1 != 2\n"})
    row = FileOutcome.read(tmp_path, "pjit_test").row()
    text = "\n".join(devices_section([row], 1, 8, "the commit abc"))
    assert "Run on the commit abc." in text
    assert "Of 3 tests that pass on JAX's CPU backend 1 pass here: 33.33 %." in text
    assert "| pjit_test | 100% | 1 | 2 | 1 | 0 | 3 | 0 | 1 | 0 |" in text
    assert "- `A.test_wrong`: `AssertionError: 1 != 2`" in text
    assert "- `B.test_check_rep_false_grads`: finite differences, whose sums" in text
    assert rows_of_page(text) == {"pjit_test": row}


def test_the_page_keeps_what_is_known_of_files_that_do_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    kept = Row("lax_test", ("50%", *"52007000"), (("A.test_c", "rounding"), ("A.test_d", "`E: 1`")))
    page.write_text("\n".join(table([kept, Row("nn_test", ("100%", *"10001000"), ())], 1, "")))
    monkeypatch.setattr(backend, "TABLE", page)
    for platform, outcome in (("nimblehlo", "failed"), ("cpu", "passed")):
        journal = Journal(tmp_path / platform / "nn_test" / "journal_1_1.jsonl")
        journal.end("nn_test.B.test_a", outcome, 0.1, {"failure": "E: 2\n"})
    command = ["backend", "--table", "--cases", "1", "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*command, "lax_test", "nn_test"])
    assert backend.main() == 1
    changed = Row("nn_test", ("100%", *"01001000"), (("B.test_a", "`E: 2`"),))
    assert rows_of_page(page.read_text()) == {"lax_test": kept, "nn_test": changed}
    assert "Of 8 tests that pass on JAX's CPU backend 5 pass here" in page.read_text()
