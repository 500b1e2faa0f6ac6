"""Hosts without a home, a name, a terminal, shared or temporary memory, or with unusual settings."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from .host import Ended, Failed, Host, Skipped, expect, line

NOBODY = 54321
"""The number of a user without a name."""

CHECKED = """
func.func @main() {
  %0 = stablehlo.constant dense<NUMBER> : tensor<2xf32>
  check.expect_eq_const %0, dense<1.0> : tensor<2xf32>
  return
}
"""


REVERSE = """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""


def _without_variables(*names: str) -> dict[str, str | None]:
    return dict.fromkeys(["NIMBLEHLO_CACHE_DIR", "XDG_CACHE_HOME", *names])


def _cache(report: dict[str, object]) -> str:
    use = f"not used: {report['refusal']}" if report["refusal"] else f"{report['files']} files"
    return f"same results; the cache is {report['cache']}, {use}"


def _as_nobody() -> list[str]:
    """The command that runs another as a user without a name, who may read, but not write to, all files."""
    if not hasattr(os, "geteuid") or os.geteuid():
        raise Skipped("only root may run processes as another user")
    may_read = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *may_read]


@line
def home_unset(folder: Path) -> Iterator[str]:
    """The user database names the home."""
    report = Host(_without_variables("HOME")).workload()
    expect("~" not in report["cache"], report["cache"])
    yield _cache(report)


@line
def home_read_only(folder: Path) -> Iterator[str]:
    """Nothing can be cached, and that is no error."""
    before = f"mount -t tmpfs -o ro none {shlex.quote(str(folder))}"
    variables = {**_without_variables(), "HOME": str(folder)}
    report = Host(variables, before).workload()
    expect(report["refusal"] is not None and report["files"] == 0, _cache(report))
    yield _cache(report)


@line
def user_without_a_name(folder: Path) -> Iterator[str]:
    """A number that the user database lacks, without a home, and with one that belongs to root."""
    folder.chmod(0o777)
    variables = {**_without_variables("HOME", "LOGNAME", "USER"), "TMPDIR": str(folder)}
    folder.chmod(0o1777)
    report = Host(variables, command=_as_nobody()).workload(cwd=folder)
    expect(report["cache"] == f"{folder}/nimblehlo-{NOBODY}" and report["files"] > 0, _cache(report))
    expect(os.listdir(folder) == [f"nimblehlo-{NOBODY}"], f"wrote {os.listdir(folder)}")
    yield f"without a home: {_cache(report)}"
    report = Host({**variables, "HOME": "/"}, command=_as_nobody()).workload(cwd=folder)
    expect(report["refusal"] is not None, _cache(report))
    yield f"HOME=/: {_cache(report)}"


@line
def temporary_folder_full_and_noexec(folder: Path) -> Iterator[str]:
    """Both at once; the cache is in the same folder."""
    path = shlex.quote(str(folder))
    fill = f"head -c 70000 /dev/zero > {path}/full 2>/dev/null || true"
    before = f"mount -t tmpfs -o size=64k,noexec none {path}\n{fill}"
    variables = {**_without_variables(), "TMPDIR": str(folder), "HOME": str(folder)}
    yield f"full: {_cache(Host(variables, before).workload())}"
    noexec = f"mount -t tmpfs -o noexec none {path}"
    report = Host(variables, noexec).workload()
    expect(report["files"] > 0, _cache(report))
    yield f"noexec: {_cache(report)}"


@line
def no_shared_memory(folder: Path) -> Iterator[str]:
    """`/dev/shm` is missing: processes share no semaphores, so one process checks all programs."""
    files = [folder / f"{number}.mlir" for number in (1, 2)]
    for file in files:
        file.write_text(CHECKED.replace("NUMBER", f"{file.stem}.0"))
    before = "mount -t tmpfs -o ro,size=4k none /dev/shm"
    yield f"programs: {_cache(Host(before=before).workload())}"
    ended = Host(before=before).run("-m", "nimblehlo", "check", "-j", "2", *map(str, files))
    expect(ended.status == 1 and "1 passed, 1 failed" in ended.output, ended.errors)
    expect("one process runs all programs" in ended.errors, ended.errors)
    warning = ended.errors.splitlines()[0].partition("Warning: ")[2]
    yield f"nimblehlo check -j 2: {ended.output.splitlines()[-1]}; {warning}"


def _run_command(host: Host, folder: Path, **options: object) -> Ended:
    """`nimblehlo profile` of a program whose file has a name that is not ASCII."""
    file = folder / "grösse.mlir"
    file.write_text(REVERSE, encoding="utf-8")
    return host.run("-m", "nimblehlo", "profile", str(file), "--random", "1", **options)


@line
def no_terminal(folder: Path) -> Iterator[str]:
    """No controlling terminal, no TERM, and closed standard files."""
    host = Host({"TERM": None, "COLUMNS": None}, command=["setsid"])
    yield f"without a terminal: {_cache(host.workload())}"
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        shell = Host(command=["sh", "-c", f'exec "$@" {closed}', "sh"])
        ended = _run_command(shell, folder)
        expect(ended.status == 0 and not ended.errors, f"{closed}: {ended}")
        yield f"nimblehlo profile {closed}: status {ended.status}, {len(ended.output)} characters, no error"


@line
def locale_c(folder: Path) -> Iterator[str]:
    """The locale C without Python's UTF-8 mode: output has only ASCII, other characters as escapes."""
    ascii_only: dict[str, str | None] = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    yield f"LC_ALL=C: {_cache(Host(ascii_only).workload())}"
    for variables in (ascii_only, {**ascii_only, "PYTHONIOENCODING": "ascii:strict"}):
        ended = _run_command(Host(variables), folder)
        expect(ended.status == 0 and ended.output.isascii() and "gr\\" in ended.output, ended.errors)
        where = next(text for text in ended.output.splitlines() if "gr\\" in text)
        yield f"nimblehlo profile: ... {where.rpartition('] ')[2]}"


@line
def time_zones(folder: Path) -> Iterator[str]:
    """Time zones that do not exist, are malformed, or are far away."""
    for zone in ("", "Nowhere/Land", ":/dev/null", "ABC+99:99:99,J400", "Pacific/Kiritimati"):
        yield f"TZ={zone!r}: {_cache(Host({'TZ': zone}).workload())}"


@line
def hash_seeds(folder: Path) -> Iterator[str]:
    """The keys of compiled code depend on no hash: later seeds find the code of the first."""
    files = set()
    for seed in ("0", "1", "4294967295", "random"):
        report = Host({"PYTHONHASHSEED": seed, "NIMBLEHLO_CACHE_DIR": str(folder)}).workload()
        files.add(report["files"])
        yield f"PYTHONHASHSEED={seed}: {_cache(report)}"
    expect(len(files) == 1, f"{files} files")


@line
def python_cannot_write_bytecode(folder: Path) -> Iterator[str]:
    """The package's folder is read-only, as in an image."""
    before = "".join([f"mount --bind -o ro {path} {path}\n" for path in map(shlex.quote, _package_folders())])
    yield _cache(Host(before=before).workload())


def _package_folders() -> list[str]:
    import nimblehlo
    from nimblehlo import kernels

    folders = [module.__file__ for module in (nimblehlo, kernels) if module.__file__]
    if not folders or not sys.platform.startswith("linux"):
        raise Failed("the package has no folder")
    return [str(Path(folder).parent) for folder in folders]
