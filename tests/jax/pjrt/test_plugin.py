"""The plugin under JAX: programs run, arrays cross without a copy, donated arrays are gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nimblehlo.errors import UnsupportedError
from nimblehlo.jax.pjrt import plugin
from nimblehlo.jax.pjrt.client import device_count
from nimblehlo.jax.pjrt.program import compile_program

pytest.importorskip("jax")

FOLDER = Path(__file__).parent
ENVIRONMENT = {**os.environ, "JAX_PLATFORMS": "nimblehlo,cpu", "NIMBLEHLO_JAX_DEVICES": "8"}


def run(script: str, *arguments: str | Path, **variables: str) -> None:
    """Run a script of this folder in a process of its own, with more variables."""
    command = [sys.executable, "-X", "faulthandler", FOLDER / script, *arguments]
    environment = ENVIRONMENT | variables
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_programs_run_under_jax() -> None:
    run("checks.py")


def test_programs_without_shardy_run_under_jax() -> None:
    run(
        "gspmd_checks.py",
        XLA_FLAGS="--xla_force_host_platform_device_count=8",
        PYTHONPATH=os.pathsep.join(filter(None, sys.path)),
    )


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
    with pytest.raises(UnsupportedError, match=r"StableHLO 9\.9\.9, but jaxlib reads versions up to 1\."):
        compile_program(newer, "mlir", xla_client.CompileOptions().SerializeAsString(), 1)


def test_the_number_of_devices_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIMBLEHLO_JAX_DEVICES", "1024")
    assert device_count() == 1024
    for text in ("1025", "0", "-1", "two"):
        monkeypatch.setenv("NIMBLEHLO_JAX_DEVICES", text)
        with pytest.raises(UnsupportedError, match="from 1 to 1024"):
            device_count()
