"""Programs that JAX passes to the plugin, and those that an earlier process has left on the disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.errors import UnsupportedError
from nimblehlo.execution import stored_programs
from nimblehlo.jax import running
from nimblehlo.jax.pjrt import compilation
from nimblehlo.jax.pjrt.compilation import LoadedProgram, compile_program
from nimblehlo.kernels.launch import cache_limit
from nimblehlo.program.ops.custom_calls.user_functions import Registry

pytest.importorskip("jax")

TEXT = """
module @jit_step {
  func.func public @main(%x: tensor<8x4xf32> {tf.aliasing_output = 0 : i32, mhlo.memory_kind = "device"},
      %y: tensor<4xf32>) -> (tensor<8x4xf32> {jax.result_info = "x"}) {
    %0 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.add %x, %0 : tensor<8x4xf32>
    %2 = stablehlo.exponential %1 : tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}
"""


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which programs of any size are stored."""
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(stored_programs.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(stored_programs, "MIN_TEXT_BYTES", 0)
    monkeypatch.setattr(stored_programs, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(cache_limit, "_limits", [])
    monkeypatch.setattr(Registry, "changes", 0)
    return tmp_path


def compiled(text: str = TEXT, devices: int = 1) -> LoadedProgram:
    from jaxlib import xla_client

    options = xla_client.CompileOptions()
    options.num_replicas = devices
    return compile_program(text.encode(), "mlir", options.SerializeAsString(), devices)


def described(program: LoadedProgram) -> dict[str, Any]:
    """What PJRT asks about a program."""
    return {name: value for name, value in vars(program).items() if name[0] != "_" and name != "run"}


def files(store: Path) -> int:
    return len(list(store.glob("programs-*/*.program")))


def test_a_stored_program_is_the_same(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = compiled()
    assert files(store) == 1
    loads: list[object] = []
    load = compilation._load

    def noted(*arguments: Any) -> Any:
        loads.append(arguments)
        return load(*arguments)

    monkeypatch.setattr(compilation, "_load", noted)
    second = compiled()
    assert described(first) == described(second)
    assert first.name == second.name == b"jit_step" and second.donated == (0,)
    inputs = np.float32([[1, 2, 3, 4]] * 8), np.float32([4, 3, 2, 1])
    assert all(map(np.array_equal, first.run(*inputs), second.run(*inputs)))
    assert first.memory() == second.memory()
    assert not loads
    assert (first.text(), first.cost()) == (second.text(), second.cost())
    assert len(loads) == 1


def test_jax_and_other_programs_differ(store: Path) -> None:
    # What scatters drop depends on it.
    compiled()
    nimblehlo.compile(TEXT.encode())
    compiled(TEXT.replace("add", "multiply"))
    assert files(store) == 3


def test_programs_that_call_python_are_not_stored(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The operation that calls it may be unused, so that the passes have removed it.
    monkeypatch.setattr(running.callbacks, "attach", lambda module: True)
    assert compiled().calls_python
    assert not files(store)


def test_programs_of_several_devices_are_not_stored(store: Path) -> None:
    compiled(devices=2)
    assert not files(store)


def test_errors_stay_the_same(store: Path) -> None:
    for _ in range(2):
        with pytest.raises(UnsupportedError, match="no function @main"):
            compiled(TEXT.replace("@main", "@other"))
    assert not files(store)
