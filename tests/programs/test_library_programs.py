"""The benchmarks of public libraries: their declarations, and that wrong results are reported."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from benchmarks.libraries import declaration, haiku_models, measurement, other_runtimes, steps
from benchmarks.libraries.__main__ import row, summary
from benchmarks.libraries.declaration import LibraryProgram, Workload, library_program, library_programs


def program(function: Callable[..., Any], *arguments: Any) -> LibraryProgram:
    """A program of no library."""

    def build() -> Workload:
        return function, arguments

    return LibraryProgram("program", "library", build, bound=1e-5, x64=False)


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warm up for a moment only."""
    monkeypatch.setattr(measurement, "WARM_UP_SECONDS", 0.0)
    monkeypatch.setattr(steps, "WARM_UP_SECONDS", 0.0)


def test_many_programs_of_many_libraries_are_declared_without_importing_one() -> None:
    code = (
        "import sys; from benchmarks.libraries.declaration import library_programs as all;"
        "found = all().values(); print(len(found), len({one.library for one in found}));"
        "print([name for name in ('flax', 'keras', 'optax', 'diffrax') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    counts, imported = said.stdout.splitlines()
    programs, libraries = map(int, counts.split())
    assert programs >= 240 and libraries >= 33 and imported == "[]"


def test_arguments_may_be_trees_and_random_keys() -> None:
    def function(values: Any, key: Any) -> Any:
        return values["x"] + values["y"], {"keys": jax.random.split(key), "draw": jax.random.normal(key)}

    one = program(function, {"x": np.float32(1), "y": np.ones(3, np.float32)}, jax.random.key(1))
    measured = measurement.measure(one)
    assert measured.disagreement is None and measured.operations > 5
    assert min(measured.first, measured.xla_first, measured.warm, measured.xla_warm, measured.ratio) > 0


def test_a_wrong_result_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one = program(lambda x: jnp.sin(x), np.linspace(0, 1, 8, dtype=np.float32))
    compile = measurement.nimblehlo.compile

    def wrong(module: Any) -> Any:
        executable = compile(module)

        class Wrong:
            memory = executable.memory
            bound = executable.bound

            def __call__(self, *inputs: Any) -> Any:
                return [1.001 * result for result in executable(*inputs)]

        return Wrong()

    monkeypatch.setattr(measurement.nimblehlo, "compile", wrong)
    measured = measurement.measure(one)
    assert measured.disagreement is not None and "result 0" in measured.disagreement
    assert "DISAGREES" in row(one, measured)
    assert "1 disagree, 0 failed" in summary({one.name: measured})


def test_failures_are_counted() -> None:
    one = library_programs()["optax_many_parameters"]
    assert "FAILED it broke" in row(one, "it broke")
    assert summary({one.name: "it broke"}) == "0 programs measured, 1 failed"


def test_results_that_could_not_differ_are_told() -> None:
    one = program(lambda x: 0 * x, np.linspace(0, 1, 8, dtype=np.float32))
    measured = measurement.measure(one)
    assert "no result could tell a wrong program" in (measured.disagreement or "")


def test_a_program_of_several_sizes_is_several_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    programs: dict[str, LibraryProgram] = {}
    monkeypatch.setattr(declaration, "_PROGRAMS", programs)

    @library_program("library", sizes=(3, 5))
    def ones(size: int) -> Workload:
        return jnp.sum, (np.ones(size, np.float32),)

    assert list(programs) == ["ones_3", "ones_5"]
    for name, one in programs.items():
        (argument,) = one.lowered()[1]
        assert argument.shape == (int(name[-1]),)


def test_loops_that_run_as_steps_and_long_steps_are_listed() -> None:
    """A loop that exchanges two arrays which are too large to be copied."""

    def function(a: Any, b: Any) -> Any:
        return jax.lax.fori_loop(0, 40, lambda _, pair: (pair[1], pair[0]), (a, b))

    loop, *long_steps = steps.remaining_steps(program(function, *2 * [np.ones(70_000, np.float32)]))
    assert " loop " in loop and "returns an array at another position" in loop
    assert all(" %  step " in line for line in long_steps)
    native = steps.remaining_steps(program(function, *2 * [np.ones(70, np.float32)]))
    assert not any(" loop " in line for line in native)
    assert len(native) == 1 and "stablehlo.while" in native[0]


def test_constant_results_of_other_runtimes_tell_nothing() -> None:
    logits = np.linspace(-1, 1, 1000, dtype=np.float32)[None]
    assert other_runtimes.disagreement(logits, logits) is None
    for wrong in (logits[:, ::-1], logits * np.float32(1 + 2 * other_runtimes.BOUND), 0 * logits):
        assert "differs" in (other_runtimes.disagreement(wrong, logits) or "")
    for constant in (0 * logits, 0 * logits + 3, 3 + other_runtimes.BOUND * logits):
        assert "no result could tell" in (other_runtimes.disagreement(constant, constant) or "")


def test_a_runtime_that_fails_has_no_ratio_and_is_named() -> None:
    outcome = {
        "milliseconds": {"NimbleHLO": 2.0, "XLA:CPU": 3.0, "OpenVINO": 1.0},
        "ratios": {"NimbleHLO": 1.0, "XLA:CPU": 1.5, "OpenVINO": 0.5},
        "failures": {"torch.compile": "ModuleNotFoundError: No module named 'torch'"},
    }
    figures, reason = other_runtimes.row("network", outcome).splitlines()
    assert figures.split() == ["network", "2.000", "3.000", "1.50", "-", "1.000", "0.50", "-"]
    assert reason.strip().startswith("torch.compile: ModuleNotFoundError")


def test_calls_are_timed_by_the_clock_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that is called more than once, by a clock that advances by a second at each reading."""
    calls = {"NimbleHLO": lambda: np.arange(4.0), "XLA:CPU": lambda: np.arange(4.0)}
    monkeypatch.setattr(other_runtimes, "_own_calls", lambda *_: tuple(calls.values()))
    monkeypatch.setattr(other_runtimes, "library_programs", lambda: {"network": program(jnp.sum, np.ones(4))})
    monkeypatch.setitem(other_runtimes.NETWORKS, "network", (1, lambda *_: None))
    for name in ("WARM_UP_SECONDS", "PAUSE_SECONDS"):
        monkeypatch.setattr(other_runtimes, name, 0.0)
    readings = itertools.count()
    outcome = other_runtimes.measured("network", 1, [*other_runtimes.RUNTIMES], lambda: next(readings))
    assert outcome["milliseconds"] == {"NimbleHLO": 1000.0, "XLA:CPU": 1000.0}
    assert outcome["ratios"] == {"NimbleHLO": 1.0, "XLA:CPU": 1.0} and not outcome["failures"]


def test_the_networks_are_programs_of_the_suite() -> None:
    assert set(other_runtimes.NETWORKS) <= set(library_programs())


def test_keras_models_are_the_same_network_as_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small network of all kinds of layers, whose graph PyTorch or ONNX Runtime runs."""
    for name in ("keras", "onnx", "onnxruntime"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    from benchmarks.libraries import keras_models, onnx_images

    model = keras_models.diffusion_network((32, 32), 1)
    inputs = declaration.normal(1, 64, 64, 4), declaration.normal(1, 128, seed=1)
    expected = np.asarray(model(list(inputs)))
    result = other_runtimes.onnx_runtime(onnx_images.keras_graph(model, *inputs), 1)()
    assert other_runtimes.disagreement(result.transpose(0, 2, 3, 1), expected) is None


def test_the_last_layer_of_haikus_networks_is_not_zero() -> None:
    hk = pytest.importorskip("haiku", reason="dm-haiku is not installed")
    config = haiku_models.logits_of_random_parameters()
    model = hk.transform(lambda x: hk.Linear(4, **config)(x))
    parameters = model.init(jax.random.key(0), jnp.ones((1, 16)))
    assert np.asarray(parameters["linear"]["w"]).std() > 0
