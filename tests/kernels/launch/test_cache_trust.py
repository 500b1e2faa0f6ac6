"""Compiled code is used only where nobody but this user and root can have written it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from nimblehlo.kernels.launch import cache_files, cache_trust

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")

VERSION = "0" * 32


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins as a process does."""
    monkeypatch.setattr(cache_trust, "_refusals", {})
    monkeypatch.setattr(cache_trust, "_warned", {})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A version's folder with an entry."""
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path / "cache"))
    found = cache_files.folder(VERSION)
    assert found is not None
    cache_files.write_entry(found / "entry.o", b"code")
    assert cache_files.read_entry(found / "entry.o") == b"code"
    cache_trust._refusals.clear()
    return found


@pytest.fixture
def give_away(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes a path another user's, whose number is 54321."""

    def by_root(path: Path) -> None:
        os.chown(path, 54321, -1, follow_symlinks=False)

    def pretended(path: Path) -> None:
        given = os.lstat(path).st_ino
        for name in ("lstat", "fstat"):
            monkeypatch.setattr(cache_trust.os, name, _with_owner(getattr(os, name), given))
        monkeypatch.setattr(cache_files.os, "fstat", cache_trust.os.fstat)

    return by_root if os.geteuid() == 0 else pretended


def _with_owner(status_of: Callable[..., os.stat_result], number: int) -> Callable[..., os.stat_result]:
    def changed(path: object) -> os.stat_result:
        status = status_of(path)
        fields = list(status)
        if status.st_ino == number:
            fields[4] = 54321
        return os.stat_result(fields)

    return changed


def refusal(folder: Path) -> str:
    """What the one warning says with which a folder is refused."""
    with pytest.warns(cache_trust.CacheWarning) as told:
        assert cache_files.folder(folder.name) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_files.folder(folder.name) is None
    (one,) = told
    return str(one.message)


def test_cache_entries_are_private(folder: Path) -> None:
    before = os.umask(0)
    try:
        deeper = folder.parent / "a" / "b" / VERSION
        cache_files.write_entry(deeper / "entry.o", b"code")
    finally:
        os.umask(before)
    made = (deeper, deeper.parent, deeper.parent.parent)
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3
    assert (deeper / "entry.o").stat().st_mode & 0o777 == 0o600
    assert folder.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o777, 0o702, 0o1777])
@pytest.mark.parametrize("level", ["version", "all versions"])
def test_folders_that_others_may_write_to_are_refused(folder: Path, mode: int, level: str) -> None:
    opened = folder if level == "version" else folder.parent
    opened.chmod(mode)
    told = refusal(folder)
    assert f"{opened} may be written by {'everybody' if mode & 2 else 'group'}" in told
    cache_files.write_entry(folder / "other.o", b"code")
    assert not (folder / "other.o").exists()


@pytest.mark.parametrize("level", [0, 1])
def test_folders_of_other_users_are_refused(
    folder: Path, level: int, give_away: Callable[[Path], None]
) -> None:
    other = [folder, folder.parent][level]
    give_away(other)
    assert f"{other} belongs to user 54321" in refusal(folder)


def test_folders_above_may_be_open_where_they_are_sticky(folder: Path) -> None:
    above = folder.parent.parent
    above.chmod(0o1777)
    assert cache_files.folder(VERSION) == folder
    cache_trust._refusals.clear()
    above.chmod(0o777)
    assert f"{above} may be written by everybody" in refusal(folder)


@pytest.mark.parametrize(
    ("name", "members", "is_used"),
    [("me", [], True), ("me", ["me"], True), ("me", ["me", "you"], False), ("staff", [], False)],
)
def test_folders_above_may_be_open_to_the_users_own_group(
    folder: Path, name: str, members: list[str], is_used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = folder.parent.parent
    above.chmod(0o770)
    group = above.stat().st_gid
    monkeypatch.setattr("pwd.getpwuid", lambda user: SimpleNamespace(pw_name="me", pw_gid=group))
    monkeypatch.setattr("grp.getgrgid", lambda number: SimpleNamespace(gr_name=name, gr_mem=members))
    if is_used:
        assert cache_files.folder(VERSION) == folder
    else:
        assert f"{above} may be written by group {group}" in refusal(folder)


def test_folders_above_that_belong_to_others_are_refused(
    folder: Path, give_away: Callable[[Path], None]
) -> None:
    give_away(folder.parent.parent)
    assert f"{folder.parent.parent} belongs to user 54321" in refusal(folder)


def test_folders_that_only_the_user_writes_to_are_used(folder: Path) -> None:
    folder.chmod(0o755)
    folder.parent.chmod(0o755)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_files.folder(VERSION) == folder
        assert cache_files.read_entry(folder / "entry.o") == b"code"


def test_a_folder_that_appears_open_is_refused_when_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path / "cache"))
    folder = cache_files.folder(VERSION)
    assert folder is not None
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    cache_files.write_entry(folder / "entry.o", b"code")
    assert list(folder.iterdir()) == []


def test_links_of_the_user_are_followed_and_what_they_name_is_judged(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep").mkdir()
    for number, target in enumerate([folder.parent, Path("../cache"), Path(f"./..//deep/../{'cache'}")]):
        link = tmp_path / "deep" / str(number)
        link.symlink_to(target)
        monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(link))
        assert cache_files.folder(VERSION) == link / VERSION
        assert cache_files.read_entry(link / VERSION / "entry.o") == b"code"
    # A folder that holds all versions may not even be sticky, by whatever name it is reached.
    cache_trust._refusals.clear()
    folder.parent.chmod(0o1777)
    assert "may be written by everybody" in refusal(link / VERSION)


def test_links_of_others_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, give_away: Callable[[Path], None]
) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder.parent)
    give_away(link)
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(link))
    assert f"{link} is a symbolic link that belongs to user 54321" in refusal(link / VERSION)


def test_links_in_a_circle_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path / "a"))
    assert "too many symbolic links" in refusal(tmp_path / "a" / VERSION)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_files_that_others_may_write_to_are_not_read(folder: Path, mode: int) -> None:
    entry = folder / "entry.o"
    entry.chmod(mode)
    with pytest.warns(cache_trust.CacheWarning, match=f"{entry} may be written by"):
        assert cache_files.read_entry(entry) is None
    cache_files.write_entry(entry, b"code")
    assert cache_files.read_entry(entry) == b"code"


def test_files_of_other_users_are_not_read(folder: Path, give_away: Callable[[Path], None]) -> None:
    give_away(folder / "entry.o")
    with pytest.warns(cache_trust.CacheWarning, match=r"entry\.o belongs to user 54321"):
        assert cache_files.read_entry(folder / "entry.o") is None


def test_only_regular_files_are_read(folder: Path, tmp_path: Path) -> None:
    os.rename(folder / "entry.o", tmp_path / "entry.o")
    (folder / "entry.o").symlink_to(tmp_path / "entry.o")
    assert cache_files.read_entry(folder / "entry.o") is None
    os.unlink(folder / "entry.o")
    os.mkfifo(folder / "entry.o", 0o600)
    with pytest.warns(cache_trust.CacheWarning, match="no regular file"):
        assert cache_files.read_entry(folder / "entry.o") is None
