"""Whether compiled code on disk may be loaded: nobody but this user and root can have written it.

The rule is the one that ssh applies to keys. A folder or file must belong to this user or to root, and
neither its group nor others may write to it. The same holds for each folder above, with two exceptions:
others may write to those with the sticky bit, such as /tmp, where only the owner of an entry can replace
it, and the group may write to those whose group is the owner's own and has no other members, as many
systems make them. A symbolic link on the way to the folder must belong to this user or to root. What breaks
the rule is named in one `CacheWarning` a process, and is not used.

On Windows, access control lists decide who may write, and the user's own folders are closed to others:
nothing is checked.
"""

import os
import pathlib
import stat
import warnings

_MAX_LINKS = 40
"""Maximum number of symbolic links in a path, as in Linux."""

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH

_HAS_OWNERS = hasattr(os, "geteuid")


class CacheWarning(UserWarning):
    """Compiled code on disk, or a setting of its cache, is not used; the message names the reason."""


def refusal_of_folder(folder: pathlib.Path) -> str | None:
    """Why files in the folder of a version must not be used; None if they may.

    Others must have no write access to the folder and its parent, which holds all versions, even if these
    are sticky. If the path does not exist yet, its existing parents are checked. The answer for an existing
    folder is cached.
    """
    path = os.fspath(folder)
    if not os.path.isabs(path):
        path = os.path.abspath(path)
    if path in _refusals:
        return _refusals[path]
    try:
        reason, exists = _examine(path) if _HAS_OWNERS else (None, os.path.isdir(path))
    except OSError:
        # The folder cannot be used; whoever tries meets the same error.
        return None
    if exists or reason:
        _refusals[path] = reason
    return reason


def refusal_of_file(path: pathlib.Path, status: os.stat_result) -> str | None:
    """Why an open file must not be used; None if it may."""
    if not stat.S_ISREG(status.st_mode):
        return f"{path} is no regular file"
    return _refusal(str(path), status, is_strict=True) if _HAS_OWNERS else None


def warn_once(message: str) -> None:
    """Issue a `CacheWarning`, once per process and message."""
    token = object()
    if _warned.setdefault(message, token) is token:
        warnings.warn(message, CacheWarning, stacklevel=3)


_warned: dict[str, object] = {}
_refusals: dict[str, str | None] = {}


def _examine(folder: str) -> tuple[str | None, bool]:
    """(why a folder must not be used, or None; whether it exists).

    Raises OSError if the path cannot be examined.
    """
    names = ["", *_names(folder)]
    pending = [(name, position >= len(names) - 2) for position, name in enumerate(names)][::-1]
    path, links = os.sep, 0
    while pending:
        name, is_strict = pending.pop()
        if name == "..":
            path = os.path.dirname(path)
            continue
        entry = os.path.join(path, name)
        try:
            status = os.lstat(entry)
        except FileNotFoundError:
            return None, False
        if not stat.S_ISLNK(status.st_mode):
            reason = _refusal(entry, status, is_strict)
            if reason:
                return reason, True
            path = entry
            continue
        links += 1
        if links > _MAX_LINKS:
            return f"{entry} is one of too many symbolic links", True
        if not _is_trusted(status.st_uid):
            return f"{entry} is a symbolic link that belongs to user {status.st_uid}", True
        target = os.readlink(entry)
        path = os.sep if target.startswith(os.sep) else path
        # The target is checked as strictly as the link itself, its parents like any other folder.
        pending += [(child, is_strict and last == 0) for last, child in enumerate(_names(target)[::-1])]
    return None, os.path.isdir(path)


def _names(path: str) -> list[str]:
    return [name for name in path.split(os.sep) if name not in ("", ".")]


def _refusal(path: str, status: os.stat_result, is_strict: bool) -> str | None:
    """Why a folder or file must not be used; `is_strict`: without the exceptions for folders above."""
    if not _is_trusted(status.st_uid):
        return f"{path} belongs to user {status.st_uid}"
    is_open = status.st_mode & _OTHERS_MAY_WRITE and (is_strict or not status.st_mode & stat.S_ISVTX)
    if not is_open:
        return None
    if status.st_mode & stat.S_IWOTH:
        writers = "everybody"
    elif not is_strict and _is_private(status.st_gid, status.st_uid):
        return None
    else:
        writers = f"group {status.st_gid}"
    return f"{path} may be written by {writers} (chmod go-w closes it)"


def _is_private(group: int, user: int) -> bool:
    """Whether a group is the primary group of a user, has the user's name and no other members."""
    import grp
    import pwd

    try:
        owner, members = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    is_own = owner.pw_gid == group and owner.pw_name == members.gr_name
    return is_own and not set(members.gr_mem) - {owner.pw_name}


def _is_trusted(user: int) -> bool:
    return user in (0, os.geteuid())
