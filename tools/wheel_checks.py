"""Check an installed wheel where there is neither a compiler nor the project's checkout.

Each check runs in a folder of its own, with no variables but those named here, and with the environment's own
programs in PATH only. The examples run on each level of x86-64 that the machine has, and in emulation as on
Nehalem, a processor without AVX, if QEMU's user mode is there: the bits must be those of all instructions.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tools.comparison import Array
from tools.run_examples import EXAMPLES, arrays, disagreement

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
# Debian's packages qemu-user and qemu-user-static name it so.
EMULATORS = ("qemu-x86_64", "qemu-x86_64-static")
EMULATED_PROCESSOR = "Nehalem"
# The example with the least work: emulated code takes 10 to 50 times as long.
EMULATED_EXAMPLE = "kmeans"

JAX_PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
assert jax.devices()[0].platform == "nimblehlo", jax.devices()
x = jnp.arange(12.0).reshape(3, 4)
value, gradient = jax.jit(jax.value_and_grad(lambda x: jnp.sum(jnp.sin(x @ x.T))))(x)
assert np.isfinite(value) and gradient.shape == (3, 4)
"""

TEST_PROGRAM = """
func.func @main() {
  %0 = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %1 = stablehlo.add %0, %0 : tensor<3xi32>
  check.expect_eq_const %1, dense<[2, 4, 6]> : tensor<3xi32>
  return
}
"""
TEST_SETTINGS = '[pytest]\nnimblehlo_programs = "*.mlir"\n'

IMPORT_EXTENSIONS = """
import importlib, importlib.machinery, pathlib, nimblehlo
folder = pathlib.Path(nimblehlo.__file__).parent
assert not {root!r} in str(folder), folder
suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
files = (file.relative_to(folder).as_posix() for file in folder.rglob(f"*{{suffix}}"))
names = [file.removesuffix(suffix).replace("/", ".") for file in files]
# jaxlib itself needs AVX.
names = sorted(name for name in names if not name.startswith("jax."))
for name in names:
    importlib.import_module(f"nimblehlo.{{name}}")
print(len(names))
"""


class Installation:
    """An environment in which a wheel is installed.

    Args:
        python: the environment's Python.
        folder: where the checks run; it is emptied.
    """

    def __init__(self, python: Path, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.python, self.folder = python, folder

    def run(self, *arguments: str, emulator: Sequence[str] = (), **variables: str) -> str:
        """What this Python prints, given these arguments; raises an error if it fails."""
        environment = {"PATH": str(self.python.parent), "HOME": str(self.folder), **variables}
        command = [*emulator, str(self.python), *arguments]
        finished = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=1800
        )
        if finished.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{finished.stdout}{finished.stderr}")
        return finished.stdout

    def run_example(self, name: str, emulator: Sequence[str] = (), **variables: str) -> list[Array]:
        """The results of an example, which only its files serve."""
        paths = sorted(path for path in EXAMPLES.glob(f"{name}.*") if path.suffix in (".mlir", ".npy"))
        copies = [shutil.copy(path, self.folder) for path in paths]
        inputs = [word for path in copies if path.endswith(".npy") for word in ("--input", path)]
        output = self.folder / "results.npz"
        program = ["-m", "nimblehlo", "run", f"{name}.mlir", *inputs, "--output", str(output)]
        self.run(*program, emulator=emulator, **variables)
        return arrays(output)

    def has_level(self, level: str) -> bool:
        """Whether this machine has the instructions of a level of x86-64."""
        code = "import nimblehlo.kernels.launch.processor as p; print(all(map(p.has, p.LEVELS[{!r}])))"
        return self.run("-c", code.format(level)).strip() == "True"


def assert_same_bits(results: list[Array], expected: list[Array], name: str) -> None:
    """Raise an error where results have other bits than those of this machine's own level."""
    for one, other in zip(results, expected, strict=True):
        if np.asarray(one).tobytes() != np.asarray(other).tobytes():
            raise SystemExit(f"{name}: other bits than with all instructions of this machine")


def check_examples(installation: Installation) -> None:
    """Run the examples with all instructions, on each level, and one of them in emulation."""
    levels = [level for level in LEVELS if installation.has_level(level)]
    programs = sorted(EXAMPLES.glob("*.mlir"))
    for program in programs:
        results = installation.run_example(program.stem)
        reason = disagreement(results, arrays(program.with_suffix(".expected.npz")))
        if reason is not None:
            raise SystemExit(f"{program.stem}: {reason}")
        for level in levels:
            limited = installation.run_example(program.stem, NIMBLEHLO_CPU=level)
            assert_same_bits(limited, results, f"{program.stem} on {level}")
    print(f"  nimblehlo run: {len(programs)} examples, also on {', '.join(levels)}", flush=True)
    emulator = next(filter(None, map(shutil.which, EMULATORS)), None)
    if emulator is None:
        print(f"  not run without AVX: there is no {' or '.join(EMULATORS)}", flush=True)
        return
    expected = installation.run_example(EMULATED_EXAMPLE)
    emulated = installation.run_example(EMULATED_EXAMPLE, emulator=(emulator, "-cpu", EMULATED_PROCESSOR))
    assert_same_bits(emulated, expected, EMULATED_PROCESSOR)
    count = installation.run(
        "-c",
        IMPORT_EXTENSIONS.format(root=str(EXAMPLES.parent / "runtime")),
        emulator=(emulator, "-cpu", EMULATED_PROCESSOR),
    )
    print(f"  emulated {EMULATED_PROCESSOR}: {EMULATED_EXAMPLE}; {count.strip()} extensions load", flush=True)


def check_wheel(python: Path, folder: Path) -> None:
    """Check the command line, the JAX platform and the plugin of pytest; raises an error if one fails."""
    installation = Installation(python, folder)
    check_examples(installation)
    installation.run("-c", JAX_PROGRAM, JAX_PLATFORMS="nimblehlo")
    print("  JAX platform: value and gradient of a function", flush=True)
    (folder / "tests").mkdir()
    (folder / "tests" / "doubled.mlir").write_text(TEST_PROGRAM)
    (folder / "tests" / "pytest.ini").write_text(TEST_SETTINGS)
    printed = installation.run("-m", "pytest", "-q", "tests")
    if "1 passed" not in printed:
        raise SystemExit(f"the plugin of pytest did not run the program:\n{printed}")
    print("  plugin of pytest: 1 program passed", flush=True)
