"""The set-up of the environment: which inputs cause which work, and what repairs an interruption."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tools import build_folder, set_up

SUFFIX = ".so"


def install(site: Path, name: str, version: str) -> None:
    """Pretend that a distribution is installed in a folder, in place of another version."""
    for path in site.glob(f"{name}-*.dist-info"):
        (path / "METADATA").unlink()
        path.rmdir()
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


class Project:
    """A project of one source whose installations only leave files; `work` lists what was done."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.work = root, list[str]()
        self.interrupt: str | None = None
        self.source = root / "kernels" / "sums.pyx"
        self.extension = root / "kernels" / f"sums{SUFFIX}"
        self.source.parent.mkdir()
        self.source.write_text("cdef int x")
        for name in ("pyproject.toml", "setup.py"):
            (root / name).write_text("")
        monkeypatch.setattr(set_up, "ROOT", root)
        monkeypatch.setattr(set_up, "ENVIRONMENT", root / ".venv")
        monkeypatch.setattr(set_up, "STAMP", root / ".venv" / "stamp.json")
        monkeypatch.setattr(set_up, "make_environment", self.make_environment)
        monkeypatch.setattr(set_up, "install_project", self.install_project)
        monkeypatch.setattr(set_up, "building_extensions", self.building_extensions)
        monkeypatch.setattr(set_up.sysconfig, "get_config_var", lambda name: SUFFIX)
        monkeypatch.setattr(build_folder, "compiler_version", lambda: self.compiler)
        self.compiler = "gcc 12"

    @property
    def site(self) -> Path:
        """Where the packages of the environment are."""
        return Path(set_up.site_packages())

    def do(self, action: str) -> None:
        """Note an action, or be interrupted in it."""
        self.work.append(action)
        if self.interrupt == action:
            raise KeyboardInterrupt

    def make_environment(self, extras: tuple[str, ...]) -> None:
        python = set_up.environment_python()
        python.parent.mkdir(parents=True, exist_ok=True)
        python.touch()
        version = set_up.python_version()
        settings = f"version = {version}\ncommand = python -m venv {set_up.ENVIRONMENT}\n"
        (set_up.ENVIRONMENT / "pyvenv.cfg").write_text(settings)
        self.do("environment")
        for name in build_folder.PACKAGES:
            install(self.site, name, "1.0")

    def install_project(self, extras: tuple[str, ...]) -> None:
        self.do("project")
        self.extension.write_text(self.source.read_text())

    @contextmanager
    def building_extensions(self) -> Iterator[None]:
        yield
        self.do("extensions")
        self.extension.write_text(self.source.read_text())

    def set_up(self, *extras: str) -> list[str]:
        """What a set-up with extras does."""
        self.work.clear()
        set_up.set_up(extras)
        return list(self.work)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project that is set up."""
    made = Project(tmp_path, monkeypatch)
    assert made.set_up("dev") == ["environment", "project"]
    return made


def test_a_second_set_up_does_nothing(project: Project) -> None:
    assert project.set_up("dev") == []
    assert project.set_up() == []


def test_another_extra_or_pyproject_installs_the_project_again(project: Project) -> None:
    assert project.set_up("docs") == ["project"]
    assert project.set_up("dev") == []
    (project.root / "pyproject.toml").write_text("[project]")
    assert project.set_up() == ["project"]


@pytest.mark.parametrize("name", build_folder.PACKAGES)
def test_another_version_of_a_build_package_builds_the_extensions(project: Project, name: str) -> None:
    install(project.site, name, "1.1")
    assert project.set_up() == ["extensions"]
    assert project.set_up() == []


def test_another_compiler_or_argument_builds_the_extensions(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.compiler = "gcc 13"
    assert project.set_up() == ["extensions"]
    monkeypatch.setenv("CFLAGS", "-O1")
    assert project.set_up() == ["extensions"]
    assert project.set_up() == []


@pytest.mark.parametrize("damage", ["changed source", "truncated", "removed"])
def test_a_changed_source_or_a_damaged_extension_builds_the_extensions(project: Project, damage: str) -> None:
    if damage == "changed source":
        project.source.write_text("cdef long x")
    elif damage == "truncated":
        project.extension.write_text("cdef")
    else:
        project.extension.unlink()
    assert project.set_up() == ["extensions"]
    assert project.extension.read_text() == project.source.read_text()
    assert project.set_up() == []


def test_an_interrupted_build_is_repeated(project: Project) -> None:
    project.source.write_text("cdef long x")
    project.interrupt = "extensions"
    with pytest.raises(KeyboardInterrupt):
        project.set_up()
    project.interrupt = None
    # Also where the source is again what it was at the last set-up that ended.
    project.source.write_text("cdef int x")
    assert project.set_up() == ["extensions"]
    assert project.set_up() == []


@pytest.mark.parametrize("action", ["environment", "project"])
def test_an_interrupted_installation_makes_the_environment_anew(project: Project, action: str) -> None:
    project.interrupt = action
    if action == "environment":
        set_up.STAMP.unlink()
    with pytest.raises(KeyboardInterrupt):
        project.set_up("docs")
    project.interrupt = None
    assert project.set_up("docs") == ["environment", "project"]


@pytest.mark.parametrize("lost", ["pyvenv.cfg", "NumPy", "stamp", "broken stamp"])
def test_a_half_made_environment_is_made_anew(project: Project, lost: str) -> None:
    if lost == "pyvenv.cfg":
        (set_up.ENVIRONMENT / "pyvenv.cfg").unlink()
    elif lost == "NumPy":
        (project.site / "numpy-1.0.dist-info" / "METADATA").unlink()
        (project.site / "numpy-1.0.dist-info").rmdir()
    elif lost == "stamp":
        set_up.STAMP.unlink()
    else:
        set_up.STAMP.write_text(set_up.STAMP.read_text()[:20])
    assert project.set_up("dev") == ["environment", "project"]


def test_each_input_of_the_build_names_another_folder() -> None:
    inputs = build_folder.build_inputs()
    assert inputs["Python"] == sys.version
    assert all(inputs[name] for name in build_folder.PACKAGES)
    folders = {build_folder.build_folder(inputs)}
    folders |= {build_folder.build_folder({**inputs, name: "other"}) for name in inputs}
    assert len(folders) == 1 + len(inputs)
    assert build_folder.build_folder(build_folder.build_inputs()) in folders


BUILD = """
import os, signal, sys
from pathlib import Path
from tools.build_folder import building
with building(Path(sys.argv[1])):
    (Path(sys.argv[1]) / "object").write_text("part")
    {end}
"""


def build(root: Path, folder: Path, end: str) -> int:
    """The exit status of a process that builds an object in a folder and then runs `end`."""
    command = [sys.executable, "-c", BUILD.format(end=end), str(folder)]
    return subprocess.run(command, cwd=root, capture_output=True, timeout=300).returncode


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")
def test_what_a_killed_build_leaves_is_not_used(project_root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "build"
    assert build(project_root, folder, "os.kill(os.getpid(), signal.SIGKILL)") == -signal.SIGKILL
    with build_folder.building(folder):
        assert not (folder / "object").exists()


@pytest.mark.parametrize("end", ["pass", "sys.exit('error: a compiler failed')"])
def test_what_a_build_leaves_that_ends_is_used_again(project_root: Path, tmp_path: Path, end: str) -> None:
    folder = tmp_path / "build"
    assert build(project_root, folder, end) == (end != "pass")
    with build_folder.building(folder):
        assert (folder / "object").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no lock")
def test_a_child_holds_the_lock_of_a_parent_that_is_killed(project_root: Path, tmp_path: Path) -> None:
    code = f"""
import os, signal, subprocess, sys
from pathlib import Path
from tools.build_folder import locked
with locked(Path({str(tmp_path / "lock")!r})):
    subprocess.Popen([sys.executable, "-c", "input(); print('done')"], close_fds=False)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    waiting = f"""
from pathlib import Path
from tools.build_folder import locked
with locked(Path({str(tmp_path / "lock")!r})):
    print("entered")
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=project_root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.wait(60) == -signal.SIGKILL
        second = subprocess.Popen(
            [sys.executable, "-c", waiting], cwd=project_root, stdout=subprocess.PIPE, text=True
        )
        assert second.stdout and "waiting for another process" in second.stdout.readline()
        assert second.poll() is None
        assert parent.stdin
        parent.stdin.write(b"\n")
        parent.stdin.close()
        assert second.communicate(timeout=300)[0] == "entered\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a script of a shell")
class TestFindPython:
    """tools/find_python.sh, which names the Python of a new environment."""

    def find(self, root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """What the script prints, in an environment that has but these variables."""
        command = ["/bin/sh", str(root / "tools" / "find_python.sh"), *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)

    def pretend(self, path: Path, version: str) -> str:
        """Make a file that acts as a Python of a version which can build the project; returns its path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        answer = f'test -n "$3" -a "$3" != {version} || echo {path}'
        path.write_text(f"#!/bin/sh\n{answer}\n")
        path.chmod(0o755)
        return str(path)

    def test_the_newest_is_preferred_wherever_it_is(self, project_root: Path, tmp_path: Path) -> None:
        versions = tmp_path / "pyenv" / "versions"
        old = self.pretend(tmp_path / "bin" / "python3.12", "3.12")
        self.pretend(versions / "3.14.2" / "bin" / "python", "3.14")
        newest = self.pretend(versions / "3.14.10" / "bin" / "python", "3.14")
        self.pretend(versions / "3.15.0" / "bin" / "python", "3.15")
        nameless = self.pretend(tmp_path / "bin" / "python3", "3.11")
        for name in ("ls", "sort"):
            (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
        variables = {"PATH": str(tmp_path / "bin"), "PYENV_ROOT": str(tmp_path / "pyenv")}
        (tmp_path / "bin" / "python3.13").write_text("#!/bin/sh\nexit 127\n")
        (tmp_path / "bin" / "python3.13").chmod(0o755)
        assert self.find(project_root, **variables).stdout == f"{newest}\n"
        listed = self.find(project_root, "--all", **variables).stdout.splitlines()
        assert listed == [f"3.14 {newest}", f"3.12 {old}", f"3.11 {nameless}"]

    def test_only_a_named_python_is_looked_at(self, project_root: Path, tmp_path: Path) -> None:
        variables = {"PATH": os.environ["PATH"]}
        assert self.find(project_root, sys.executable, **variables).stdout == f"{sys.executable}\n"
        missing = self.find(project_root, str(tmp_path / "python3.12"), **variables)
        assert (missing.returncode, missing.stdout) == (1, "")
        assert f"No usable Python: {tmp_path / 'python3.12'}" in missing.stderr
