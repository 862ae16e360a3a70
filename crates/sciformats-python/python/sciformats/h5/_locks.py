"""How files are locked: the argument ``locking=`` of ``File``."""

from __future__ import annotations

from typing import IO, Any

from sciformats.errors import Conflict, NotSupported

#: What ``locking=`` can be, and what it means.
_MEANINGS = {None: None, True: True, "true": True, False: False, "false": False, "best-effort": "best-effort"}

#: The words of the Rust part for the ways of locking.
WORDS: dict[Any, str | None] = {None: None, True: "always", False: "never", "best-effort": "best-effort"}

#: The two truth values of the C library for the ways of locking: whether files are locked, and whether failures are ignored where
#: locks do not exist. The default is the second best: the environment can change it.
PROPERTIES: dict[Any, tuple[int, int]] = {None: (1, 1), True: (1, 0), False: (0, 0), "best-effort": (1, 1)}


def meaning(locking: Any) -> Any:
    """Return ``None``, ``True``, ``False`` or ``"best-effort"`` for an argument.

    Raises
    ------
    ValueError
        If there is no such way of locking.
    """
    try:
        return _MEANINGS[locking]
    except (KeyError, TypeError):
        raise ValueError(f"Unsupported locking value: {locking!r}") from None


def check_same(locking: Any, other: Any, path: str) -> None:
    """Raise an exception if this process has a file open already and locks it in another way.

    Raises
    ------
    Conflict
        If both ways were chosen, and they differ.
    """
    if locking is not None and other is not None and locking != other:
        raise Conflict(f"this process has the file open with locking={other!r}, and not with locking={locking!r}", path)


def shared(path: str, locking: Any) -> IO[bytes] | None:
    """Return an open file that holds the lock of a reader if one was asked for. The lock ends when the file is closed.

    Raises
    ------
    Conflict
        If another program writes the file.
    OSError
        If the file system has no locks, and they are not optional.
    """
    if not locking:
        return None
    try:
        import fcntl
    except ImportError:
        if locking == "best-effort":
            return None
        raise NotSupported("readers take no locks on this system; open the file with locking='best-effort'", path) from None
    file = open(path, "rb")
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise Conflict("another program writes the file, and has locked it", path) from None
    except OSError:
        file.close()
        if locking == "best-effort":
            return None
        raise
    return file
