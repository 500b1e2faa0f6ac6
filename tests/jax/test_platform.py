"""NimbleHLO as JAX's platform: lowering rules, callbacks, settings, and the names of JAX that they need."""

from __future__ import annotations

from pathlib import Path

import pytest

from nimblehlo import UnsupportedError
from tests.jax.children import run_on_platform

pytest.importorskip("jax")

from nimblehlo.program.frontend import jax_names as compatibility
from nimblehlo.program.frontend.jax_names import PRIMITIVES, JaxName


def test_lowering_callbacks_and_settings() -> None:
    done = run_on_platform(Path(__file__).with_name("platform_checks.py"))
    assert done.returncode == 0, done.stdout + done.stderr


SCRIPT = """
import jax, jax.numpy as jnp
jax.block_until_ready(jax.jit(lambda x: jnp.log(x))(jnp.float32(0)))
"""


def test_settings_of_the_environment() -> None:
    done = run_on_platform("-c", SCRIPT, NIMBLEHLO_JAX_OPTIONS="sanitize=non_finite")
    assert done.returncode and "(non_finite) makes -inf out of finite numbers" in done.stderr
    done = run_on_platform("-c", SCRIPT, NIMBLEHLO_JAX_OPTIONS="sanitize=all sanitize_action=warn")
    assert done.returncode == 0 and "SanitizerWarning: stablehlo.log: (non_finite)" in done.stderr
    done = run_on_platform("-c", SCRIPT, NIMBLEHLO_JAX_OPTIONS="sanitise=all")
    assert "NIMBLEHLO_JAX_OPTIONS: sanitise is not a setting" in done.stderr


CACHE_SCRIPT = """
from jax import monitoring
monitoring.register_event_listener(lambda event, **_: "cache_hits" in event and print("found in the cache"))
"""


def test_the_compilation_cache_lasts_longer_than_a_process(tmp_path: Path) -> None:
    """Settings are part of its keys: what the sanitizer looks at is another program."""
    variables = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    for hits in (0, 1):
        done = run_on_platform("-c", CACHE_SCRIPT + SCRIPT, **variables)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("found in the cache") >= hits == bool(done.stdout)
    done = run_on_platform(
        "-c", CACHE_SCRIPT + SCRIPT, NIMBLEHLO_JAX_OPTIONS="sanitize=non_finite", **variables
    )
    assert done.returncode and "(non_finite) makes -inf out of finite numbers" in done.stderr


REQUIRED = [
    private
    for private in (*vars(compatibility).values(), *PRIMITIVES.values())
    if isinstance(private, JaxName) and private.is_required
]


@pytest.mark.parametrize("private", REQUIRED, ids=lambda one: f"{one.module}.{one.name}")
def test_jax_has_the_private_names(private: JaxName) -> None:
    private.get()


MISSING_SCRIPT = """
import jax
from jax._src import dlpack
del dlpack._place_array
assert float(jax.jit(lambda x: x + 1)(1.0)) == 2 and jax.default_backend() == "cpu"
jax.devices("nimblehlo")
"""


def test_other_backends_stay_usable_where_a_name_is_missing() -> None:
    done = run_on_platform("-c", MISSING_SCRIPT, platforms="")
    told = "has no jax._src.dlpack._place_array, which is needed for importing arrays by DLPack"
    assert told in done.stderr
    assert done.stderr.splitlines()[-1].startswith("RuntimeError: Unknown backend")


EACH_MISSING_SCRIPT = """
import nimblehlo.jax
from nimblehlo import UnsupportedError
from nimblehlo.program.frontend import jax_names as compatibility

names = [one for one in (*vars(compatibility).values(), *compatibility.PRIMITIVES.values())
         if isinstance(one, compatibility.JaxName) and one.is_required]
find = compatibility.JaxName.get


def get(private):
    if private == absent:
        private = compatibility.JaxName(private.module, "absent." + private.name, private.purpose)
    return (lambda *_, **__: None) if private == compatibility.REGISTER_PLUGIN else find(private)


compatibility.JaxName.get = get
told = 0
for absent in names:
    try:
        nimblehlo.jax.initialize()
    except UnsupportedError as error:
        told += 1
        text = str(error)
        assert f"{absent.module}.absent.{absent.name}, which is needed for {absent.purpose};" in text, text
        assert "\\n" not in text
print(told)
"""


def test_each_missing_name_is_an_error_of_one_line() -> None:
    """As in a version of JAX that nobody has seen: whatever the start lacks, it says so."""
    done = run_on_platform("-c", EACH_MISSING_SCRIPT, platforms="cpu")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 10


def test_a_missing_name_is_named() -> None:
    missing = JaxName("jax._src.xla_bridge", "no_such_name", "a test")
    with pytest.raises(UnsupportedError, match=r"has no jax\._src\.xla_bridge\.no_such_name, .*for a test"):
        missing.get()
