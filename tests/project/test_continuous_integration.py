"""What `.ci/run` runs, with programs that only note their arguments in place of make and nox.

And what becomes of tests that hang.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a script of a shell")

PYTHONS = ("3.13 /new/python", "3.12 /middle/python", "3.11 /old/python")
NOX = "-m nox --session"


class Machine:
    """A checkout on a machine with some Pythons, where `make` and the Python of .venv note their calls."""

    def __init__(self, root: Path, script: Path) -> None:
        self.root = root
        for folder in (".ci", "tools", "bin", ".venv/bin"):
            (root / folder).mkdir(parents=True)
        shutil.copy(script, root / ".ci" / "run")
        self.have(*PYTHONS)
        self.program("bin/make", "")
        self.program(".venv/bin/python", "")

    def have(self, *pythons: str) -> None:
        """Have these Pythons, each as `VERSION PATH`."""
        lines = "\n".join(f"echo {python}" for python in pythons)
        (self.root / "tools" / "find_python.sh").write_text(lines)

    def program(self, name: str, action: str) -> None:
        """Make a program that notes its arguments, reads its input, and then does something."""
        path = self.root / name
        path.write_text(f'#!/bin/sh\necho "$*" >> {self.root / "calls"}\ncat > /dev/null\n{action}\n')
        path.chmod(0o755)

    def run(self, **variables: str) -> tuple[int, list[str], str]:
        """The exit status of `.ci/run`, the arguments of the programs that it ran, and its output."""
        environment = {"PATH": f"{self.root / 'bin'}:/usr/bin:/bin", **variables}
        finished = subprocess.run(
            ["bash", str(self.root / ".ci" / "run")],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        calls = self.root / "calls"
        return finished.returncode, calls.read_text().splitlines() if calls.exists() else [], finished.stdout


@pytest.fixture
def machine(tmp_path: Path, project_root: Path) -> Machine:
    """A machine with three Pythons, on which everything passes."""
    return Machine(tmp_path, project_root / ".ci" / "run")


def test_the_newest_runs_all_and_the_oldest_all_with_the_oldest_dependencies(machine: Machine) -> None:
    status, calls, output = machine.run()
    assert status == 0
    assert calls == [
        "test PYTHON=/new/python",
        f"{NOX} first_command(3.12)",
        f"{NOX} tests(3.11-oldest)",
    ]
    assert all(python in output for python in PYTHONS)
    assert output.count("passed after") == 3


def test_two_pythons_are_enough_and_one_is_not(machine: Machine) -> None:
    machine.have(*PYTHONS[1:])
    assert machine.run()[:2] == (0, ["test PYTHON=/middle/python", f"{NOX} tests(3.11-oldest)"])
    (machine.root / "calls").unlink()
    for pythons in (PYTHONS[:1], ()):
        machine.have(*pythons)
        status, calls, output = machine.run()
        assert (status, calls) == (1, [])
        assert "at least two of them are needed" in output


@pytest.mark.parametrize("limit", ["CI_FIRST_SUITE_LIMIT", "CI_BUDGET"])
def test_after_a_long_suite_the_second_is_a_selection(machine: Machine, limit: str) -> None:
    machine.program("bin/make", "sleep 1.1")
    status, calls, output = machine.run(**{limit: "0"})
    assert (status, calls[-1]) == (0, f"{NOX} selection(3.11-oldest)")
    assert "a selection only, as the first suite took" in output


@pytest.mark.parametrize("failing", ["bin/make", ".venv/bin/python"])
def test_a_part_that_fails_fails_the_whole_after_the_others(machine: Machine, failing: str) -> None:
    machine.program(failing, "exit 3")
    status, calls, output = machine.run()
    assert status == 1
    assert len(calls) == 3
    assert output.count("FAILED after") == (1 if failing == "bin/make" else 2)


def test_the_reasons_of_failures_are_told_at_the_end(machine: Machine) -> None:
    machine.program("bin/make", "printf 'FAILED tests/a.py::test_b - reason\\n== 1 failed ==\\n'; exit 2")
    machine.program(".venv/bin/python", "case $* in *tests*) echo no network; exit 3;; esac")
    *_, first, reason, second, last, third, browser = machine.run()[2].splitlines()
    assert first.startswith("FAILED after") and reason == "    FAILED tests/a.py::test_b - reason"
    assert second.startswith("passed after")
    # Of what says nothing about tests, the last lines.
    assert browser.startswith("tests of pages")
    assert last.startswith("FAILED after") and third == "    no network"


@pytest.mark.skipif(shutil.which("timeout") is None, reason="needs the program timeout")
def test_a_part_that_hangs_is_ended(machine: Machine) -> None:
    machine.program("bin/make", "exec sleep 300")
    status, calls, output = machine.run(CI_PART_LIMIT="1")
    assert status == 1 and len(calls) == 3
    assert "it was ended, since it may take 1 s" in output


HANGING = """
import os
import pytest
from tests import conftest

def test_before():
    pass

def test_that_hangs():
    os.read(os.pipe()[0], 1)

if __name__ == "__main__":
    conftest.MAX_TEST_SECONDS = 3
    names = ("pytest_configure", "pytest_runtest_protocol")
    hooks = type("Hooks", (), {name: staticmethod(getattr(conftest, name)) for name in names})()
    pytest.main(["-p", "no:cacheprovider", "-p", "no:xdist", __file__], plugins=[hooks])
"""


def test_a_test_that_hangs_ends_the_run_with_its_stack(project_root: Path, tmp_path: Path) -> None:
    path = tmp_path / "test_hanging.py"
    path.write_text(HANGING)
    environment = {**os.environ, "PYTHONPATH": str(project_root)}
    command = [sys.executable, str(path)]
    ended = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 1 and "Timeout (0:00:03)!" in ended.stderr
    assert "in test_that_hangs" in ended.stderr


def test_whether_there_is_a_browser_is_told_at_the_end(machine: Machine) -> None:
    (machine.root / "browser").write_text("#!/bin/sh\n")
    (machine.root / "browser").chmod(0o755)
    found = str(machine.root / "browser")
    assert machine.run(NIMBLEHLO_BROWSER=found)[2].splitlines()[-1] == f"tests of pages: in {found}"
    status, _, output = machine.run(NIMBLEHLO_BROWSER="/no/browser")
    assert status == 0 and output.splitlines()[-1].startswith("tests of pages: SKIPPED where they need")


def test_a_service_installs_the_browser(machine: Machine) -> None:
    """Root only, and only where CI is set."""
    machine.program("bin/id", "echo 0")
    machine.program("bin/apt-get", "")
    installs = "-qq install --yes --no-install-recommends chromium"
    assert installs not in machine.run(NIMBLEHLO_BROWSER="/no/browser")[1]
    assert installs in machine.run(NIMBLEHLO_BROWSER="/no/browser", CI="true")[1]
    (machine.root / "calls").unlink()
    machine.program("bin/id", "echo 1000")
    assert installs not in machine.run(NIMBLEHLO_BROWSER="/no/browser", CI="true")[1]
