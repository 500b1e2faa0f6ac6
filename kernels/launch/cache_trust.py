"""Whether compiled code on disk may be loaded: nobody but this user and root can have written it.

The rule is the one that ssh applies to keys. A folder or file must belong to this user or to root, and
neither its group nor others may write to it. The same holds for each folder above, with two exceptions:
others may write to those with the sticky bit, such as /tmp, where only the owner of an entry can replace
it, and the group may write to those whose group is the owner's own and has no other members, as many
systems make them. A symbolic link on the way to the folder must belong to this user or to root. What breaks
the rule is named in one `CacheWarning` a process, and is not used.

On Windows, access lists decide who may write, and the user's own folders are closed to others: nothing is
judged.
"""

import os
import pathlib
import stat
import warnings

_MAX_LINKS = 40
"""Most symbolic links on the way to a folder, as in Linux."""

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH

_IS_JUDGED = hasattr(os, "geteuid")


class CacheWarning(UserWarning):
    """Why compiled code on disk is not used, or a setting of it is not."""


def refusal_of_folder(folder: pathlib.Path) -> str | None:
    """Why files in the folder of a version must not be used; None where they may.

    The folder and its parent, which holds all versions, must be closed to others even if they are sticky.
    Of a path that does not exist yet, the folders that do are judged. The answer for one that exists is
    kept.
    """
    key = os.fspath(folder)
    if not os.path.isabs(key):
        key = os.path.abspath(key)
    if key in _judged:
        return _judged[key]
    try:
        reason, exists = _judge(key) if _IS_JUDGED else (None, os.path.isdir(key))
    except OSError:
        # The folder cannot be used; whoever tries meets the same error.
        return None
    if exists or reason:
        _judged[key] = reason
    return reason


def refusal_of_file(path: pathlib.Path, status: os.stat_result) -> str | None:
    """Why an open file must not be used; None where it may."""
    if not stat.S_ISREG(status.st_mode):
        return f"{path} is no regular file"
    return _refusal(str(path), status, is_strict=True) if _IS_JUDGED else None


def warn_once(message: str) -> None:
    """Give a `CacheWarning`, once a process for each message."""
    this = object()
    if _told.setdefault(message, this) is this:
        warnings.warn(message, CacheWarning, stacklevel=3)


_told: dict[str, object] = {}
_judged: dict[str, str | None] = {}


def _judge(folder: str) -> tuple[str | None, bool]:
    """(why a folder must not be used, or None; whether it exists).

    Raises OSError where that cannot be found out.
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
        # What the link names is judged as the link's own name would be, what lies above as any other folder.
        pending += [(part, is_strict and last == 0) for last, part in enumerate(_names(target)[::-1])]
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
    """Whether a group is the primary one of a user, bears the user's name and has no other members."""
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
