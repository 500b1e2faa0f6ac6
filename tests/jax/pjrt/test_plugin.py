"""The plugin under JAX: programs run, arrays cross without a copy, donated arrays are gone."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from nimblehlo.errors import UnsupportedError
from nimblehlo.jax.pjrt import plugin
from nimblehlo.jax.pjrt.client import device_count
from nimblehlo.jax.pjrt.compilation import compile_program
from tests.jax.children import run_on_platform

pytest.importorskip("jax")

FOLDER = Path(__file__).parent


def run(script: str, *arguments: str | Path, **variables: str) -> None:
    """Run a script of this folder in a process of its own, with more variables."""
    variables = {"NIMBLEHLO_JAX_DEVICES": "8", **variables}
    finished = run_on_platform(FOLDER / script, *arguments, platforms="nimblehlo,cpu", **variables)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_programs_run_under_jax() -> None:
    run("checks.py")


def test_programs_without_shardy_run_under_jax() -> None:
    run("gspmd_checks.py", XLA_FLAGS="--xla_force_host_platform_device_count=8")


def test_other_clients_load_the_library() -> None:
    pytest.importorskip("pypjrt")
    run("library_client.py", plugin.__file__)


def test_threads_call_and_compile() -> None:
    run("stress.py", "threads", "--threads", "4", "--calls", "200")


def test_threads_compile_at_once() -> None:
    run("stress.py", "compile", "--threads", "16")


def test_memory_stays_flat() -> None:
    run("stress.py", "memory", "--compiles", "50", "--calls", "10000")


def test_interrupts_reach_the_caller() -> None:
    run("stress.py", "interrupt")


def test_the_interpreter_ends_while_daemon_threads_call_and_compile() -> None:
    run("stress.py", "exit")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_of_a_fork_goes_on() -> None:
    run("stress.py", "fork")


def test_artifacts_of_later_versions_are_refused() -> None:
    from jaxlib import xla_client
    from jaxlib.mlir.dialects import stablehlo

    text = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    artifact = stablehlo.serialize_portable_artifact_str(text, "1.9.0")
    newer = artifact.replace(b"StableHLO_v1.9.0", b"StableHLO_v9.9.9")[:-3]
    with pytest.raises(UnsupportedError, match=r"StableHLO 9\.9\.9, but versions up to 1\."):
        compile_program(newer, "mlir", xla_client.CompileOptions().SerializeAsString(), 1)


def test_programs_of_replicas_run_on_a_grid() -> None:
    """As `jax.pmap` lowers them before jax 0.8."""
    from jaxlib import xla_client

    text = """
    func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<ui32>) {
      %0 = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) {replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>} : (tensor<2xf32>) -> tensor<2xf32>
      %2 = stablehlo.replica_id : tensor<ui32>
      return %0, %2 : tensor<2xf32>, tensor<ui32>
    }
    """
    options = xla_client.CompileOptions()
    options.num_replicas = 4
    program = compile_program(text.encode(), "mlir", options.SerializeAsString(), 4)
    results = program.run_partitioned([(np.float32([number, 1]),) for number in range(4)])
    assert [sum_of.tolist() for sum_of, _ in results] == [[1, 2], [1, 2], [5, 2], [5, 2]]
    assert [int(replica) for _, replica in results] == [0, 1, 2, 3]
    assert program.device_ids == (0, 1, 2, 3) and b"all_reduce" in program.text()
    options.num_partitions = 2
    with pytest.raises(UnsupportedError, match="replicas and partitions cannot be combined"):
        compile_program(text.encode(), "mlir", options.SerializeAsString(), 8)


def test_the_number_of_devices_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIMBLEHLO_JAX_DEVICES", "1024")
    assert device_count() == 1024
    for text in ("1025", "0", "-1", "two"):
        monkeypatch.setenv("NIMBLEHLO_JAX_DEVICES", text)
        with pytest.raises(UnsupportedError, match="from 1 to 1024"):
            device_count()
