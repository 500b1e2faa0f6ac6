"""Caches that versions share, and clocks that go back."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nimblehlo.kernels.launch import cache_limit

from .host import ROOT, Host, expect, expected, line

ADDED, SUBTRACTED = "return builder.fadd(lhs, rhs)", "return builder.fsub(lhs, rhs)"
"""What generated code of the second version does where a program adds floats."""


def _version(folder: Path, is_changed: bool) -> Host:
    """A host with a copy of the package, in which generated code subtracts if it is changed."""
    package = folder / "nimblehlo"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "runtime", package, ignore=ignored)
    shutil.copytree(ROOT / "kernels", package / "kernels", ignore=ignored)
    if is_changed:
        floats = package / "compiler" / "loops" / "elementwise" / "floats.py"
        text = floats.read_text(encoding="utf-8")
        expect(text.count(ADDED) == 1, f"{floats} has changed")
        floats.write_text(text.replace(ADDED, SUBTRACTED), encoding="utf-8")
        with (package / "kernels" / "__init__.py").open("a", encoding="utf-8") as source:
            source.write("# another version\n")
    variables = {
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
        "NIMBLEHLO_CACHE_DIR": str(folder.parent / "cache"),
    }
    return Host({**variables})


def _digests(host: Host) -> tuple[str, str]:
    """The digests of results by references and by compiled code."""
    digests = host.run("-m", "tests.hosts.workload").report["digests"]
    return digests["never"], digests["eager"]


def _contents(cache: Path) -> dict[str, bytes]:
    return {str(path.relative_to(cache)): path.read_bytes() for path in cache.rglob("*") if path.is_file()}


@line
def two_versions_share_a_cache(folder: Path) -> Iterator[str]:
    """Generated code of one version subtracts where it should add, so results would show a wrong hit."""
    first, second = (_version(folder / name, name == "second") for name in ("first", "second"))
    with ThreadPoolExecutor(2) as pool:
        (right, compiled), (reference, wrong) = pool.map(_digests, (first, second))
    expect(right == compiled == reference == expected() != wrong, f"{right} {compiled} {reference} {wrong}")
    files = _contents(folder / "cache")
    folders = {name.partition("/")[0] for name in files}
    yield f"at the same time, from an empty cache: {len(files)} files in {len(folders)} folders, own results"
    for name, host, results in (("first", first, (right, right)), ("second", second, (right, wrong))):
        expect(_digests(host) == results, f"the {name} version has other results")
    expect(_contents(folder / "cache") == files, "a version wrote files again")
    yield "again: each version finds its own code, and writes nothing"
    ended = first.run("-m", "nimblehlo", "cache", "info", "--json")
    yield f"nimblehlo cache info: {json.loads(ended.output)['files']} files"


@line
def clock_set_back(folder: Path) -> Iterator[str]:
    """Files of next year, from before the clock was set back, are found, and are the first to be removed."""
    host = Host({"NIMBLEHLO_CACHE_DIR": str(folder)})
    host.workload()
    files = [path for path in folder.rglob("*") if path.is_file()]
    next_year = time.time() + 365 * 86400
    for path in files:
        os.utime(path, (next_year, next_year))
    unused = files[0].parent / f"{'0' * 32}.o"
    unused.write_bytes(bytes(1 << 20))
    os.utime(unused, (next_year, next_year))
    host.workload()
    ahead = [path.name for path in files if path.stat().st_mtime > time.time() + 3600]
    expect(len(ahead) < len(files), "no file was used")
    yield f"{len(files) - len(ahead)} of {len(files)} files found, and their times set to now"
    left = cache_limit.evict(folder, sum(path.stat().st_size for path in files) + 1000)
    expect(not unused.exists(), "a file of the future outlived files in use")
    yield f"the cache was full: the unused file of next year went first, {left} bytes are left"
