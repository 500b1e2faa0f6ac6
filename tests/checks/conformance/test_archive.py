"""The archive of the suite: what it stores is read back, and the checker of the examples judges by it."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nimblehlo import Options, execute
from nimblehlo.checks.backends import CallableBackend
from nimblehlo.checks.conformance import SUITE_VERSION, Judge, Program, Verdict, conformance, programs
from nimblehlo.checks.conformance.archive import Archive, bits, file_name, from_bits, write_archive
from nimblehlo.checks.conformance.page import page_data
from nimblehlo.checks.conformance.suite import legal_programs
from nimblehlo.checks.error_bounds.ulps import equal_elements
from nimblehlo.cli import main
from nimblehlo.errors import NimbleError, UnsupportedError
from nimblehlo.program.ir import Module
from nimblehlo.types import ELEMENT_TYPES

Array = np.ndarray[Any, Any]
OPERATIONS = ("stablehlo.sine", "stablehlo.reverse", "stablehlo.divide", "chlo.acosh", "stablehlo.reduce")
"""Functions, data movement, what the specification leaves open, complex numbers and orders of additions."""


@functools.cache
def sample() -> list[Program]:
    """The first program of each operation and element type, and those that must be refused."""
    chosen: dict[tuple[str, str], Program] = {}
    for operation in OPERATIONS:
        for one in legal_programs(operation):
            chosen.setdefault((operation, one.element_type), one)
    return [*chosen.values(), *[one for one in programs(["stablehlo.reverse"]) if one.label]]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("archive")
    assert write_archive(folder, sample()) == len(sample())
    return folder


def test_what_is_stored_is_read_back(archive: Path) -> None:
    stored = {one.id: one for one in Archive(archive).programs()}
    assert list(stored) == [one.id for one in sample()]
    types = {one.element_type for one in stored.values()}
    assert len(types) > 20 and {"f4E2M1FN", "bf16", "i2", "complex<f64>", "quantized"} <= types
    for program in sample():
        again = stored[program.id]
        assert (again.text, again.label, again.element_type) == (
            program.text,
            program.label,
            program.element_type,
        )
        assert again.has_signed_zeros == program.has_signed_zeros
        for one, other in zip(program.inputs, again.inputs, strict=True):
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
        allowed = Archive(archive).allowed(program.id)
        if program.label:
            assert allowed is None
            continue
        assert allowed is not None
        for bound, ours in zip(allowed.results, Judge(program).allowed.results, strict=True):
            assert bound.value.dtype == ours.value.dtype
            assert equal_elements(bound.value, ours.value).all()
            # The archive has the widest bounds, which are computed where a result exceeds the first ones.
            assert (bound.bound >= 0).all() and bound.bound.shape == ours.value.shape


def test_backends_are_judged_by_an_archive(archive: Path) -> None:
    def wrong(module: Module, inputs: Sequence[Array]) -> list[Array]:
        return [np.roll(one, 1, -1) for one in execute(module, inputs)]

    report = conformance(["nimblehlo", CallableBackend(wrong, "wrong")], archive=archive)
    assert report.programs == len(sample())
    assert report.counts("nimblehlo")[Verdict.WITHIN] == len(sample())
    assert report.counts("wrong")[Verdict.OUTSIDE] > len(sample()) // 2


def write_results(archive: Path, folder: Path, change: Any) -> None:
    """What a harness writes that runs the programs of an archive."""
    for program in Archive(archive).programs():
        path = folder / "programs" / file_name(program.id)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            results = execute(program.text, program.inputs, options=Options(compile="never"))
        except NimbleError as error:
            path.with_name(f"{path.name}.refused").write_text(str(error))
            continue
        arrays = {f"result_{index}": bits(change(np.asarray(one))) for index, one in enumerate(results)}
        np.savez(path.with_name(f"{path.name}.npz"), **arrays)


def check(archive: Path, folder: Path) -> tuple[int, str]:
    """The status and output of the checker, which imports nothing of this project."""
    command = [sys.executable, str(archive / "check.py"), str(archive), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def test_the_checker_agrees(archive: Path, tmp_path: Path) -> None:
    write_results(archive, tmp_path, lambda one: one)
    status, printed = check(archive, tmp_path)
    assert (status, printed) == (
        0,
        f"suite {SUITE_VERSION}: {len(sample())} within, 0 outside, 0 refused, 0 not run\n",
    )


def test_the_checker_finds_wrong_results(archive: Path, tmp_path: Path) -> None:
    """Numbers are wrong, zeros lost their sign, a type is wrong, and a result is missing."""
    names = {"sine": "stablehlo.sine/f64/edges", "sign": "stablehlo.reverse/bf16/3x4_dimensions_1"}
    entries = json.loads((archive / "archive.json").read_text())["programs"]
    files = {entry["id"]: tmp_path / f"{entry['file']}.npz" for entry in entries}
    write_results(archive, tmp_path, lambda one: one)
    with np.load(files[names["sine"]]) as file:
        np.savez(files[names["sine"]], result_0=file["result_0"] * (1 + 1e-12))
    with np.load(files[names["sign"]]) as file:
        result = file["result_0"]
        np.savez(files[names["sign"]], result_0=np.where(result == 0x8000, 0, result).astype(np.uint16))
    np.savez(files["chlo.acosh/f16/edges"], result_0=np.zeros(3, np.float32))
    np.savez(files["stablehlo.reverse/i2/3x4_dimensions_1"])
    files["stablehlo.divide/f32/edges"].unlink()
    status, printed = check(archive, tmp_path)
    assert status == 1
    assert f"outside: {names['sine']}: result 0: " in printed
    assert f"outside: {names['sign']}: result 0: 0.0 instead of -0.0 within 0 at " in printed
    assert "outside: chlo.acosh/f16/edges: result 0: float32[3] instead of float16" in printed
    assert "outside: stablehlo.reverse/i2/3x4_dimensions_1: 0 results instead of 1" in printed
    assert "4 outside, 0 refused, 1 not run" in printed


def test_the_checker_is_short(archive: Path) -> None:
    lines = (archive / "check.py").read_text().splitlines()
    assert len(lines) <= 200
    assert not any("nimblehlo" in line for line in lines if line.startswith(("import", "from")))


def test_every_element_type_survives() -> None:
    for element_type in ELEMENT_TYPES.values():
        array = np.arange(4).astype(element_type.dtype)
        stored = bits(array)
        assert stored.dtype.isbuiltin == 1
        again = from_bits(stored, array.dtype)
        assert again.dtype == array.dtype and again.tobytes() == array.tobytes()


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NimbleError, match="is no archive of the conformance suite"):
        Archive(tmp_path)
    (tmp_path / "archive.json").write_text('{"format": 3, "programs": []}')
    with pytest.raises(UnsupportedError, match="has format 3"):
        Archive(tmp_path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "archive")
    assert main(["conformance", "--operations", "floor", "--level", "smoke", "--archive", folder]) == 0
    assert capsys.readouterr().out == f"stored 2 programs in {folder}\n"
    assert main(["conformance", "--from", folder]) == 0
    assert "nimblehlo: 2 within" in capsys.readouterr().out


@pytest.fixture
def floors(tmp_path: Path) -> Path:
    """A small archive: a legal program, and one that must be refused."""
    folder = tmp_path / "floors"
    write_archive(folder, programs(["stablehlo.floor"], "smoke"))
    return folder


def change_index(archive: Path, change: Callable[[dict[str, Any]], object]) -> None:
    index = json.loads((archive / "archive.json").read_text())
    change(index)
    (archive / "archive.json").write_text(json.dumps(index))


def test_the_checker_allows_the_zeros_of_an_alternative(floors: Path, tmp_path: Path) -> None:
    file = floors / "programs/stablehlo.floor/f32/edges.npz"
    with np.load(file) as stored:
        arrays = dict(stored)
    other = np.where(arrays["result_0"] == 0, -arrays["result_0"], arrays["result_0"])
    results = tmp_path / "programs/stablehlo.floor/f32/edges.npz"
    results.parent.mkdir(parents=True)
    np.savez(results, result_0=other)
    assert check(floors, tmp_path)[0] == 1
    np.savez(file, **arrays, result_0_1=other)
    change_index(floors, lambda index: index["programs"][0]["results"][0].update(alternatives=1))
    assert check(floors, tmp_path)[0] == 0


def test_the_checker_fails_where_nothing_was_run(floors: Path, tmp_path: Path) -> None:
    status, printed = check(floors, tmp_path / "mistyped")
    assert status == 1 and "nothing was run" in printed


def test_the_checker_tells_of_results_that_it_cannot_read(floors: Path, tmp_path: Path) -> None:
    file = tmp_path / "programs/stablehlo.floor/f32/edges.npz"
    file.parent.mkdir(parents=True)
    np.savez(file, arr_0=np.zeros(3))
    assert "outside: stablehlo.floor/f32/edges: the arrays ['arr_0']" in check(floors, tmp_path)[1]
    np.savez(file, result_0=np.array([None]))
    assert "edges.npz cannot be read: Object arrays" in check(floors, tmp_path)[1]
    for content in (b"", b"PK", b"text"):
        file.write_bytes(content)
        status, printed = check(floors, tmp_path)
        assert status == 1 and "cannot be read" in printed


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("file", "../../x", "must lie below the archive"),
        ("file", "/x", "must lie below the archive"),
        ("file", 3, "must be of type str"),
        ("must_be_refused", "no", "must be of type bool"),
        ("results", [{"alternatives": -1}], "must not be negative"),
        ("results", [{}], "alternatives"),
    ],
)
def test_malformed_entries_are_refused(floors: Path, name: str, value: object, message: str) -> None:
    change_index(floors, lambda index: index["programs"][0].update({name: value}))
    with pytest.raises(NimbleError, match=f"is no archive of the conformance suite: .*{message}"):
        Archive(floors)


def test_a_version_must_be_named(floors: Path) -> None:
    change_index(floors, lambda index: index.pop("suite"))
    with pytest.raises(NimbleError, match="'suite'"):
        Archive(floors)


@pytest.mark.parametrize("content", [None, b"", b"PK", b"text"])
def test_files_that_cannot_be_read_are_named(floors: Path, content: bytes | None) -> None:
    file = floors / "programs/stablehlo.floor/f32/edges.npz"
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    stored = Archive(floors)
    with pytest.raises(NimbleError, match=r"program stablehlo\.floor/f32/edges: "):
        list(stored.programs())
    with pytest.raises(NimbleError, match=r"program stablehlo\.floor/f32/edges: "):
        stored.allowed("stablehlo.floor/f32/edges")
    with pytest.raises(NimbleError, match="has no program x"):
        stored.allowed("x")


def test_the_version_of_an_archive_is_told(floors: Path, tmp_path: Path) -> None:
    change_index(floors, lambda index: index.update(suite="1.5"))
    journal = tmp_path / "journal"
    backend = CallableBackend(lambda module, inputs: execute(module, inputs), "ours")
    report = conformance([backend], archive=floors, journal=journal)
    assert report.suite == report.as_dict()["suite"] == page_data(report)["suite"] == "1.5"
    assert "conformance suite 1.5: 2 programs" in report.as_text()
    with pytest.raises(UnsupportedError, match=r"version 1\.5 of the suite"):
        conformance([backend], operations=["stablehlo.floor"], level="smoke", journal=journal)
    assert conformance([backend], archive=floors, journal=journal).programs == 2


def test_an_archive_has_operations_but_no_level(floors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["conformance", "--from", str(floors)]
    assert main([*command, "--operations", "ceil"]) == 1
    assert "has no program of stablehlo.ceil" in capsys.readouterr().err
    assert main([*command, "--level", "smoke"]) == 1
    assert "--level does not go with --from" in capsys.readouterr().err
    change_index(floors, lambda index: index["programs"][1].update(operation="stablehlo.ceil"))
    assert main([*command, "--operations", "floor"]) == 0
    assert "nimblehlo: 1 within" in capsys.readouterr().out
