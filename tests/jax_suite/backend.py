"""Command: run JAX's own test files with NimbleHLO as JAX's platform, and with JAX's CPU backend.

    python -m tests.jax_suite.backend --jax FOLDER lax_test nn_test

FOLDER is a checkout of JAX at the version that is installed; the variable NIMBLEHLO_JAX_DIR names it as
well. JAX's tests need absl-py, hypothesis and mpmath. A campaign that is stopped goes on where it was.
`--table` writes what all campaigns so far have found to docs/jax_tests.md; nothing is run then. What the page
says of a file stays where the file has no journals of both platforms. `--devices 8` does the same with the
test files for several devices and that many virtual ones on both platforms.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from .campaign import CRASHED, TIMED_OUT, run_file
from .journal import Journal
from .worker import Plan

PLATFORMS = ("nimblehlo", "cpu")
FILES = (
    "api_test",
    "lax_test",
    "lax_numpy_test",
    "lax_numpy_indexing_test",
    "lax_numpy_operators_test",
    "lax_numpy_reducers_test",
    "lax_control_flow_test",
    "lax_autodiff_test",
    "lax_vmap_test",
    "lax_vmap_op_test",
    "nn_test",
    "random_lax_test",
    "random_test",
    "linalg_test",
    "fft_test",
    "lax_scipy_test",
    "lax_scipy_special_functions_test",
    "lax_scipy_spectral_dac_test",
    "scipy_stats_test",
    "scipy_fft_test",
    "scipy_interpolate_test",
    "scipy_ndimage_test",
    "scipy_optimize_test",
    "scipy_signal_test",
    "scipy_spatial_test",
    "image_test",
    "ode_test",
    "sparse_test",
    "sparse_bcoo_bcsr_test",
    "array_test",
    "jaxpr_effects_test",
    "debugging_primitives_test",
    "python_callback_test",
    "ffi_test",
    "export_test",
    "aot_test",
    "layout_test",
    "dtypes_test",
    "x64_context_test",
)
DEVICE_FILES = (
    "array_test",
    "multi_device_test",
    "pjit_test",
    "pmap_test",
    "ragged_collective_test",
    "shard_map_test",
)
DEVICES_HEADING = "## Several devices"
"""Where the section of `--devices` begins, the last one of the page."""

_ROW_MAJOR = "`Layout.AUTO` is row-major here; XLA lets a transposed result keep the layout of its operand"

REASONS: Mapping[str, str] = {
    "test_auto_layout": _ROW_MAJOR,
    "test_concrete_layout_in_shardings": _ROW_MAJOR,
    "test_default_layout": _ROW_MAJOR,
    "test_in_layouts_out_layouts": _ROW_MAJOR,
    "test_layout_propagation_host": "the program has no text: it runs whole, as devices would repeat work",
    "test_check_rep_false_grads": "finite differences, whose sums are added in another order",
    "test_vmap_vectorized_callback_errors": "the error comes with the results; the test waits for effects",
    "test_callback_with_wrong": "the error comes with the results; the test waits for effects",
    "test_default_export_platform": "the platform's name is nimblehlo",
    "test_near_singular_inverse": "subnormal numbers are kept; XLA flushes them to zero",
    "test_effects_hlo": "LAPACK's call without operands is refused when it is compiled, not when it runs",
    "testSchur": "a Schur form is unique up to rotations of its 2 x 2 blocks, which rounding decides",
    "testSuccessOnComplexPlane_sign": "a quotient of infinities, as in C's annex G; the test wants nan + 0j",
    "testSuccessOnComplexPlane": "infinite operands give what C's annex G says, not mpmath's NaN",
}
"""What is known of tests that pass on JAX's CPU backend alone, by the beginning of their names."""

TABLE = Path("docs/jax_tests.md")
NOTES = """
Tests that fail on both platforms are not counted: where the sources are of another version than the installed
one, some expect what that version does. Tests that need a name which the installed version lacks are skipped.
"""
"""The end of the part of the page on one device."""

_FOLDERS = re.compile(r"(/[^\s/:]+)+/")
"""The folders of a file, which are another machine's."""

Entries = Mapping[str, Mapping[str, Any]]


def main() -> int:
    """Exit status 1 where a test fails on the platform that passes on JAX's CPU backend."""
    options = _options()
    if not options.table:
        for file in options.files:
            for platform in options.platforms.split(","):
                _run(options, platform, file)
    files = options.files
    page, heading, section = TABLE.read_text().partition(DEVICES_HEADING) if options.table else ("", "", "")
    by_file = rows_of_page(section if options.devices else page)
    outcomes = [FileOutcome.read(options.output, file) for file in files]
    by_file.update({one.file: one.row() for one in outcomes if one.is_complete})
    rows = [by_file[file] for file in files if file in by_file]
    if options.devices:
        text = "\n".join(devices_section(rows, options.cases, options.devices, options.commits)) + "\n"
    else:
        text = "\n".join(table(rows, options.cases, options.commits, options.sources)) + "\n"
    if options.table:
        TABLE.write_text(
            f"{page.rstrip()}\n\n{text}" if options.devices else f"{text}\n{heading}{section}".rstrip() + "\n"
        )
    print(text)
    return 1 if any(row.regressions for row in rows) else 0


def _run(options: argparse.Namespace, platform: str, file: str) -> None:
    """Run one test file on one platform to its end."""
    index, shards = (int(number) for number in options.shard.split("/"))
    folder = options.output / platform / file
    plan = Plan(
        jax=str(Path(options.jax).resolve()),
        file=file,
        shard=index - 1,
        shards=shards,
        count=options.count,
        pattern=options.tests,
        modes=[],
        journal=str(folder / f"journal_{index}_{shards}.jsonl"),
        output=str(folder),
        most=options.tests_per_process,
    )
    if options.again:
        Journal(Path(plan.journal)).forget_faults()
    environment = {
        "JAX_NUM_GENERATED_CASES": str(options.cases),
        "JAX_PLATFORMS": platform if platform == "cpu" else f"{platform},cpu",
        "PYTHONHASHSEED": "0",  # some cases are drawn from sets
        "NIMBLEHLO_JAX_DEVICES": str(device_count(Path(plan.jax), file)),
    }
    if options.devices:
        environment["NIMBLEHLO_JAX_DEVICES"] = str(options.devices)
        environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={options.devices}"
    total = run_file(plan, options.time_limit, environment, "tests.jax_suite.backend_worker")
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(total.tests.items()))
    print(f"{file} on {platform}: {counts} in {total.seconds:.0f} s", flush=True)


def device_count(checkout: Path, file: str) -> int:
    """The devices that a test file asks JAX's CPU backend for: 1 where it does not ask."""
    asked = re.findall(r"request_cpu_devices\((\d+)\)", (checkout / "tests" / f"{file}.py").read_text())
    return max(map(int, asked), default=1)


class Row(NamedTuple):
    """What the page says of one test file.

    Attributes:
        file: its name.
        cells: the cells of the table: the share, and the counts of outcomes here and on JAX's CPU backend.
        regressions: the tests that pass on JAX's CPU backend alone, each with the reason.
    """

    file: str
    cells: tuple[str, ...]
    regressions: tuple[tuple[str, str], ...]

    @property
    def passing(self) -> int:
        """How many tests pass on JAX's CPU backend."""
        return int(self.cells[5])


def rows_of_page(page: str) -> dict[str, Row]:
    """The rows of a page, or of a part of it, by their files."""
    regressions: dict[str, list[tuple[str, str]]] = {}
    current: list[tuple[str, str]] = []
    for line in page.splitlines():
        if heading := re.fullmatch(r"(\w+):", line):
            regressions[heading[1]] = current = []
        elif test := re.fullmatch(r"- `([^`]+)`: (.*)", line):
            current.append((test[1], test[2]))
    rows = re.findall(r"^\| (\w+_test) \| (.*) \|$", page, re.MULTILINE)
    return {
        file: Row(file, tuple(cells.split(" | ")), tuple(regressions.get(file, ()))) for file, cells in rows
    }


@dataclass(frozen=True)
class FileOutcome:
    """What came of one test file on both platforms.

    Attributes:
        file: its name.
        share: the part of its test methods that its shards are, those run here.
        here, cpu: the last entry of each test method that was run on both platforms.
    """

    file: str
    share: float
    here: Entries
    cpu: Entries

    @classmethod
    def read(cls, folder: Path, file: str) -> FileOutcome:
        """What the journals of a file hold, those of all shards together."""
        here, cpu = (_entries(folder / platform / file) for platform in PLATFORMS)
        common = here.keys() & cpu.keys()
        shards = {path.stem for path in (folder / PLATFORMS[0] / file).glob("journal_*.jsonl")}
        share = sum(1 / int(name.rpartition("_")[2]) for name in shards)
        both = ({test: one[test] for test in sorted(common)} for one in (here, cpu))
        return cls(file, min(1.0, share), *both)

    @property
    def is_complete(self) -> bool:
        """Whether there is something of both platforms."""
        return bool(self.here and self.cpu)

    @property
    def regressions(self) -> list[str]:
        """Tests that pass on JAX's CPU backend and neither pass nor are skipped here."""
        return sorted(
            test
            for test, entry in self.cpu.items()
            if entry["outcome"] == "passed"
            and test in self.here
            and self.here[test]["outcome"] not in ("passed", "skipped")
        )

    def row(self) -> Row:
        """What the page says of the file."""
        cells = [f"{self.share:.0%}", *map(str, (*self.counts(self.here), *self.counts(self.cpu)))]
        regressions = [(test.split(".", 1)[1], _reason(test, self.here[test])) for test in self.regressions]
        return Row(self.file, tuple(cells), tuple(regressions))

    def counts(self, entries: Entries) -> tuple[int, int, int, int]:
        """Tests passed, failed, skipped, and those that ended their process."""
        outcomes = Counter(entry["outcome"] for entry in entries.values())
        ended = outcomes[CRASHED] + outcomes[TIMED_OUT]
        return outcomes["passed"], outcomes["failed"], outcomes["skipped"], ended


def _entries(folder: Path) -> Entries:
    entries: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.glob("journal_*.jsonl")):
        entries.update(Journal(path).finished())
    return entries


def table(rows: Sequence[Row], cases: int, commits: str, sources: str | None = None) -> Iterator[str]:
    """The lines of docs/jax_tests.md.

    Args:
        rows: what came of each file.
        cases: the value of `JAX_NUM_GENERATED_CASES` of the campaign.
        commits: on which commits the campaign ran; nothing is said where it is empty.
        sources: which checkout has the test files; None: the one of the installed version.
    """
    import jax

    version = f"jax {jax.__version__}"

    yield "# JAX's own tests"
    yield ""
    yield f"The test files of {sources or version} with {version} on NimbleHLO"
    yield "(`JAX_PLATFORMS=nimblehlo,cpu`) and on JAX's CPU backend, both with `--jax_test_dut=cpu`, so"
    yield "that both run the same tests."
    yield "`python -m tests.jax_suite.backend` runs them, and `--table` writes this page."
    yield ""
    yield f"With `JAX_NUM_GENERATED_CASES={cases}`; `share` is the part of a file's tests that was run, and"
    yield "tests that did not run on both platforms are not counted."
    if commits:
        yield f"Run on {commits}."
    yield ""
    yield from _counts(rows)
    yield ""
    yield "## Tests that pass on JAX's CPU backend alone"
    yield from _regressions(rows)
    yield NOTES.rstrip()


def devices_section(rows: Sequence[Row], cases: int, devices: int, commits: str = "") -> Iterator[str]:
    """The lines of the section of docs/jax_tests.md on several devices.

    Args:
        rows: what came of each file.
        cases: the value of `JAX_NUM_GENERATED_CASES` of the campaign.
        devices: the number of virtual devices of both platforms.
        commits: on which commits the campaign ran; nothing is said where it is empty.
    """
    yield DEVICES_HEADING
    yield ""
    yield f"The test files for several devices, {devices} virtual ones here (`NIMBLEHLO_JAX_DEVICES`) and"
    yield f"{devices} host devices of JAX's CPU backend, with `JAX_NUM_GENERATED_CASES={cases}`."
    yield f"`python -m tests.jax_suite.backend --devices {devices}` runs them; `--table` writes this section."
    if commits:
        yield f"Run on {commits}."
    yield ""
    yield from _counts(rows)
    if any(row.regressions for row in rows):
        yield ""
        yield "Those that pass on JAX's CPU backend alone:"
        yield from _regressions(rows)


def _counts(rows: Sequence[Row]) -> Iterator[str]:
    """How many tests of each file passed on both platforms."""
    passing = sum(row.passing for row in rows)
    failing = sum(len(row.regressions) for row in rows)
    share = 100 * (1 - failing / max(1, passing))
    yield f"Of {passing} tests that pass on JAX's CPU backend {passing - failing} pass here: {share:.2f} %."
    yield ""
    yield "| file | share | passed | failed | skipped | aborted | CPU: passed | failed | skipped | aborted |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        yield f"| {row.file} | {' | '.join(row.cells)} |"


def _regressions(rows: Sequence[Row]) -> Iterator[str]:
    """The tests that pass on JAX's CPU backend alone, and why."""
    for row in rows:
        if row.regressions:
            yield ""
            yield f"{row.file}:"
            yield ""
            for test, reason in row.regressions:
                yield f"- `{test}`: {reason}"


def _reason(test: str, entry: Mapping[str, Any]) -> str:
    """What is known of a failure, else what the test says of it, in a line."""
    name = test.rpartition(".")[2]
    known = next((reason for start, reason in REASONS.items() if name.startswith(start)), None)
    if known is not None and entry["outcome"] == "failed":
        return known
    if entry["outcome"] in (CRASHED, TIMED_OUT):
        return f"{entry['outcome']}, {entry.get('detail', '')}"
    lines = [line.strip() for line in entry["failure"].splitlines() if line.strip()]
    return f"`{re.sub(_FOLDERS, '', lines[-1])[:160]}`" if lines else "failed"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.jax_suite.backend", description=__doc__)
    parser.add_argument("files", nargs="*", help="test files, without .py; all that the table has by default")
    parser.add_argument(
        "--devices", type=int, default=0, help="virtual devices: the files for several devices"
    )
    parser.add_argument("--jax", default=os.environ.get("NIMBLEHLO_JAX_DIR"), help="folder of a JAX checkout")
    parser.add_argument("--platforms", default=",".join(PLATFORMS), help="nimblehlo, cpu, or both")
    parser.add_argument("--cases", type=int, default=10, help="JAX_NUM_GENERATED_CASES")
    parser.add_argument("--count", type=int, help="run at most so many test methods of each file")
    parser.add_argument("--tests", default="", help="run test methods alone whose name contains this")
    parser.add_argument("--shard", default="1/1", help="i/n: the i-th of n shards of each file")
    parser.add_argument("--time-limit", type=float, default=300, help="most seconds of one test method")
    parser.add_argument("--tests-per-process", type=int, default=300, help="test methods for each process")
    parser.add_argument("--commits", default="", help="with --table: on which commits the tests ran")
    parser.add_argument("--sources", help="with --table: what the checkout is, if not the installed version")
    parser.add_argument("--output", type=Path, help="folder of the journals: build/jax_backend or _devices")
    parser.add_argument("--again", action="store_true", help="run tests that failed again")
    parser.add_argument("--table", action="store_true", help=f"write {TABLE}")
    options = parser.parse_args()
    options.files = options.files or (DEVICE_FILES if options.devices else FILES)
    options.output = options.output or Path("build/jax_devices" if options.devices else "build/jax_backend")
    if not options.jax and not options.table:
        parser.error("--jax or NIMBLEHLO_JAX_DIR names the folder of a JAX checkout")
    return options


if __name__ == "__main__":
    sys.exit(main())
