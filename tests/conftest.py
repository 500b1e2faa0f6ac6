"""Fixtures and settings that all tests share."""

import faulthandler
import gc
import os
import signal
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support import sampling

# Every plan that a test makes is verified, and each call of its steps (`nimblehlo.execution.verification`).
os.environ.setdefault("NIMBLEHLO_VERIFY", "steps")

# Tests change how passes decide, which the key of a stored program does not have.
os.environ.setdefault("NIMBLEHLO_STORE_PROGRAMS", "0")

ROOT = Path(__file__).resolve().parent.parent

# A first call may compile a loop, which takes longer than Hypothesis grants an example, and a machine that is
# busy makes examples slowly.
settings.register_profile(
    "explore", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
# The outcome of a run depends on the code alone: `--hypothesis-profile=explore` tries other examples.
settings.register_profile("nimblehlo", parent=settings.get_profile("explore"), derandomize=True)
settings.load_profile("nimblehlo")

MAX_TEST_SECONDS = 600
"""Seconds after which a test hangs: the slowest ones take a tenth on two idle processors."""

STDERR = pytest.StashKey[int]()
"""The standard error of the run, which no test captures."""


def conformance_folder() -> Path | None:
    """The folder with the public conformance programs, or None if there is none.

    NIMBLEHLO_CONFORMANCE_DIR names it (the folder stablehlo/testdata of a StableHLO checkout will do); by
    default it is shared/conformance beside the project.
    """
    named = os.environ.get("NIMBLEHLO_CONFORMANCE_DIR")
    folder = Path(named) if named else ROOT.parent / "shared" / "conformance"
    return folder if folder.is_dir() else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option of campaigns."""
    parser.addoption(
        sampling.OPTION, action="store_true", help="run all cases of tests of which a sample is run otherwise"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that the samples of tests do not have."""
    sampling.select(items, config)


def pytest_configure(config: pytest.Config) -> None:
    """Collect garbage rarely, and take interrupts, which tests raise."""
    config.stash[STDERR] = os.dup(2)
    # Compilers create many long-lived objects: at Python's thresholds, collections take a tenth of the time.
    gc.set_threshold(50_000, 20, 20)
    # A shell has programs in the background ignore interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def leave_to_the_end() -> None:
    """Leave out of later garbage collections what exists now and lives to the end, as most of it does.

    The time of a collection grows with what it looks at: what Numba keeps of the kernels that tests compile
    makes it seconds, and many tests ask for one. Programs that `execute` keeps do not live to the end.
    """
    api = sys.modules.get("nimblehlo.api")
    if api is not None:
        api._executed._values.clear()
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """Leave modules and tests to the end."""
    leave_to_the_end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """End the process if a test hangs, with the stack of each thread; pytest-xdist then names the test.

    What a file of tests has left is left to the end.
    """
    faulthandler.dump_traceback_later(MAX_TEST_SECONDS, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        if nextitem is not None and nextitem.path != item.path:
            leave_to_the_end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Wait within each test for the code that it has compiled in the background.

    Later tests would otherwise have a queue that is not empty, and a thread that takes processor time and
    memory.
    """
    try:
        return (yield)
    finally:
        background = sys.modules.get("nimblehlo.compiler.plan.tiering.background")
        if background is not None:
            background.BACKGROUND.wait()
            while background.BACKGROUND.is_busy:
                time.sleep(1e-3)


@pytest.fixture(autouse=True)
def background_compilation_succeeds(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test whose background compilation failed; references would still give right results."""
    yield
    logger = "nimblehlo.compiler.plan.tiering.background"
    failed = [record for record in caplog.get_records("call") if record.name == logger]
    assert not failed, failed[0].getMessage()


@pytest.fixture(autouse=True, scope="session")
def storage_is_verified() -> Iterator[None]:
    """Verify code for small arrays as it is generated."""
    from tests.execution.verification.storage import verifying_storage

    with verifying_storage():
        yield


@pytest.fixture
def unverified(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Turn verification off, here and in child processes, for tests of what calls cost or import."""
    from nimblehlo.execution.verification import verification_level

    monkeypatch.setenv("NIMBLEHLO_VERIFY", "off")
    with verification_level("off"):
        yield


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give this process and its children an empty folder for compiled code; what is loaded stays loaded."""
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("NIMBLEHLO_CACHE_BYTES", raising=False)


@pytest.fixture(scope="session")
def is_campaign(request: pytest.FixtureRequest) -> bool:
    """Whether all cases are run of which `make test` runs a sample."""
    return bool(request.config.getoption(sampling.OPTION))


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The root of the project's checkout."""
    return ROOT


@pytest.fixture(scope="session")
def conformance_dir() -> Path:
    """The folder with the public conformance programs; skips where there is none."""
    folder = conformance_folder()
    if folder is None:
        pytest.skip("no conformance programs: set NIMBLEHLO_CONFORMANCE_DIR to a folder with them")
    return folder
