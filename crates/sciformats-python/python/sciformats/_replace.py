"""A file that is written beside another one and takes its place when it is complete."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from sciformats import _remote
from sciformats.errors import NotSupported
from sciformats.h5 import _locks
from sciformats.h5._open import check_unused

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

#: How hidden folders end. Where there are locks, this is the name by which the Rust part, too, finds what killed processes have left.
_ENDING = "new" if fcntl is None else "partial"


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """Return where a file is to be written, in a ``with`` statement at whose end it takes the place of ``path``.

    If an exception ends the statement, what was at ``path`` stays as it is.

    Raises
    ------
    Conflict
        If this process has the file open, or another program writes it.
    FileExistsError
        If there was no file, and somebody else has created one in the meantime.
    OSError
        If there is something other than a file, or the folder cannot be written to.
    """
    given = os.fspath(path)
    if _remote.is_url(given):
        raise NotSupported("remote files are only read", _remote.bare(given))
    target = os.path.realpath(given)
    check_unused(target)
    old = os.stat(target) if os.path.lexists(target) else None
    if old is not None and not stat.S_ISREG(old.st_mode):
        number = errno.EISDIR if stat.S_ISDIR(old.st_mode) else errno.EINVAL
        raise OSError(number, "only a file can be replaced by a file", target)
    held = None
    if old is not None and os.access(target, os.R_OK):
        held = _locks.shared(target, "best-effort")
    try:
        folder, lock = _folder(target)
        try:
            new = os.path.join(folder, os.path.basename(target))
            yield new
            _move(new, target, old)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock.close()
    finally:
        if held is not None:
            held.close()


def _folder(target: str) -> tuple[str, IO[bytes]]:
    """Create a hidden folder beside a file, and return it with the lock that shows that it is in use."""
    before, name = os.path.split(target)
    for number in itertools.count():
        folder = os.path.join(before, f".{name}.{number}.{_ENDING}")
        try:
            if _is_left(folder):
                shutil.rmtree(folder, ignore_errors=True)
            os.mkdir(folder)
        except FileExistsError:
            continue
        try:
            lock = open(os.path.join(folder, "lock"), "xb")
        except (FileExistsError, FileNotFoundError):
            # Another process took the folder for an abandoned one.
            continue
        if _lock(lock):
            return folder, lock
        lock.close()
    raise AssertionError


def _is_left(folder: str) -> bool:
    """Return whether a killed process has left a folder: then nobody holds its lock."""
    try:
        with open(os.path.join(folder, "lock"), "rb") as lock:
            return fcntl is not None and _lock(lock)
    except OSError:
        return False


def _lock(file: IO[bytes]) -> bool:
    """Lock a file, and return whether nobody else has. Without locks, nobody takes anything for abandoned either."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return file.writable()
    return True


def _move(new: str, target: str, old: os.stat_result | None) -> None:
    """Give a complete file its name, and the owner and the permissions of the one that it replaces."""
    if old is None:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "somebody else has created the file in the meantime", target)
    else:
        # Otherwise a loss of power could leave neither the old bytes nor the new ones.
        with open(new, "rb+") as file:
            os.fsync(file.fileno())
        if hasattr(os, "chown"):
            try:
                os.chown(new, old.st_uid, old.st_gid)
            except OSError:
                pass
        os.chmod(new, stat.S_IMODE(old.st_mode))
    os.replace(new, target)
