"""Files of programs as tests of pytest, and the report in JSON."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ...errors import NimbleError
from ...execution.array_files import load_inputs, random_inputs
from ...program.frontend import parse, split
from ...program.ir import Module
from ...program.ops.framework.verify import verify
from ..checking import check_program, is_empty
from . import goldens
from .checks import judge
from .settings import REFERENCE_BACKEND, Settings

PROPERTY = "nimblehlo"
"""The name of the properties of a test, in pytest's reports and in JUnit's files."""


class Programs:
    """Collects the files that the setting `nimblehlo_programs` names, and stores outcomes as JSON.

    Args:
        config: pytest's.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.patterns = config.getini("nimblehlo_programs")
        # Under xdist the process that starts the workers is given all reports.
        self.report = None if hasattr(config, "workerinput") else config.getoption("--nimblehlo-json")
        self.outcomes: list[dict[str, Any]] = []

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """The collector of a file, if it is one of the programs'."""
        if file_path.suffix != ".mlir":
            return None
        path = file_path.as_posix()
        names = (file_path.name, path)
        if not any(
            fnmatch.fnmatch(name, f"*/{pattern}") or fnmatch.fnmatch(name, pattern)
            for pattern in self.patterns
            for name in names
        ):
            return None
        collector: pytest.Collector = ProgramFile.from_parent(parent, path=file_path)
        return collector

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of a test of a program."""
        properties = {name: value for name, value in report.user_properties if name.startswith(PROPERTY)}
        if self.report is None or not properties or (report.when != "call" and report.passed):
            return
        self.outcomes.append({
            "test": report.nodeid,
            "outcome": report.outcome,
            "seconds": report.duration,
            "message": report.longreprtext if report.failed else "",
            **{name.removeprefix(f"{PROPERTY}_"): value for name, value in properties.items()},
        })  # fmt: skip

    def pytest_sessionfinish(self) -> None:
        """Store the outcomes."""
        if self.report is not None:
            Path(self.report).write_text(json.dumps(self.outcomes, indent=1), encoding="utf-8")


class ProgramFile(pytest.File):
    """A file with programs, separated by ``// -----``."""

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each program and backend."""
        text = self.path.read_text(encoding="utf-8")
        settings = Settings.of(self.config)
        chunks = [(line, chunk) for line, chunk in split(text) if not is_empty(chunk)]
        for number, (line, chunk) in enumerate(chunks):
            name = f"chunk{number}" if len(chunks) > 1 else "program"
            for backend in settings.backends:
                suffix = f"[{backend}]" if len(settings.backends) > 1 or backend != REFERENCE_BACKEND else ""
                item: ProgramItem = ProgramItem.from_parent(self, name=f"{name}{suffix}")
                item.prepare(settings, backend, number if len(chunks) > 1 else None, line, chunk)
                yield item


class ProgramItem(pytest.Item):
    def prepare(self, settings: Settings, backend: str, number: int | None, line: int, text: str) -> None:
        """Say what is run.

        Args:
            settings: how.
            backend: on what.
            number: of the program in its file; None if it is the only one.
            line: of the file, where it begins, counted from 0.
            text: the program.
        """
        self.settings, self.backend, self.number = settings, backend, number
        self.line, self.text = line, text
        self.user_properties += [(f"{PROPERTY}_file", str(self.path)), (f"{PROPERTY}_backend", backend)]

    def runtest(self) -> None:
        """Run the program, and judge it by its own checks or by its golden."""
        module = parse("\n" * self.line + self.text, str(self.path))
        verify(module)
        if any(operation.name.startswith("check.") for operation in module.walk()):
            if self.backend != REFERENCE_BACKEND:
                pytest.skip(f"{self.backend} has no operations that check values")
            check_program(module, self.settings.options)
            return
        if "main" not in module.functions:
            raise NimbleError("the program has neither checks nor a function @main")
        suffix = "" if self.number is None else f".{self.number}"
        golden = self.path.with_suffix(f"{suffix}.golden.npz")
        judge(self.settings, self.backend, module, self.inputs(module, golden), golden)

    def inputs(self, module: Module, golden: Path) -> list[Any]:
        """Files ``NAME.input0.npy``, ... beside the program, the inputs of its golden, or random ones."""
        types = module.functions["main"].type.inputs
        files = [self.path.with_suffix(f".input{index}.npy") for index in range(len(types))]
        if types and self.number is None and all(file.exists() for file in files):
            return load_inputs([str(file) for file in files], types)
        if self.settings.updates or not types:
            return random_inputs(types, 0)
        return goldens.inputs_of(golden, module, types)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> Any:
        """The text of a failure: the error, without the frames of this package."""
        if excinfo.errisinstance((AssertionError, NimbleError)):
            error = excinfo.value
            return str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The path and line of the program."""
        return self.path, self.line, self.name
