"""Fixtures and settings that all tests share."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Every plan that a test makes is verified, and each call of its steps (`nimblehlo.execution.verification`).
os.environ.setdefault("NIMBLEHLO_VERIFY", "steps")

ROOT = Path(__file__).resolve().parent.parent

# A first call may compile a loop, which takes longer than Hypothesis grants an example.
settings.register_profile("nimblehlo", deadline=None, print_blob=True)
settings.register_profile("ci", parent=settings.get_profile("nimblehlo"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "nimblehlo")


def conformance_folder() -> Path | None:
    """The folder with the public conformance programs, or None if there is none.

    NIMBLEHLO_CONFORMANCE_DIR names it (the folder stablehlo/testdata of a StableHLO checkout will do); by
    default it is shared/conformance beside the project.
    """
    named = os.environ.get("NIMBLEHLO_CONFORMANCE_DIR")
    folder = Path(named) if named else ROOT.parent / "shared" / "conformance"
    return folder if folder.is_dir() else None


def pytest_configure() -> None:
    """Collect garbage rarely, and take interrupts, which tests raise."""
    # Compilers create many long-lived objects: at Python's thresholds, collections take a tenth of the time.
    gc.set_threshold(50_000, 20, 20)
    # A shell has programs in the background ignore interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave out of later garbage collections what exists now: modules and tests, which live to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def background_compilation_succeeds(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail a test during which a background compilation failed; references would still give right results."""
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
