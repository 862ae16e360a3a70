"""What can go wrong, by who is to blame.

Each exception has ``path`` (the file, or ``None``) and ``offset`` (the absolute position of the first byte that is wrong, or
``None``). All of them are also one of Python's own, so that programs which catch ``OSError`` from h5py still do.
"""

from __future__ import annotations

import errno as _errno
import os
from typing import Any

__all__ = [
    "Conflict",
    "Error",
    "FileDamaged",
    "Forbidden",
    "LimitExceeded",
    "Misfit",
    "MissingFile",
    "NotSupported",
]


class Error(Exception):
    """An error of this package.

    Attributes
    ----------
    path : str or None
        The file it happened with.
    offset : int or None
        The absolute position in that file, in bytes, of what is wrong.
    """

    path: str | None
    offset: int | None

    def __init__(self, message: str, path: str | None = None, offset: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.path, self.offset)


class FileDamaged(Error, OSError):
    """The bytes of a file break the rules of its format."""


class NotSupported(Error, NotImplementedError):
    """The file, or what is asked of it, is valid, and this package cannot do it."""


class LimitExceeded(Error, MemoryError):
    """A file declares more than the options of :func:`sciformats.open` allow."""


class Conflict(Error, OSError):
    """Another program changed the file, or has it locked; nothing was written."""


class Forbidden(Error, PermissionError):
    """The file names another file, which may not be opened; see ``external`` of :func:`sciformats.open`."""


class MissingFile(Error, FileNotFoundError):
    """The file names another one, which is not there or is no such file."""


class Misfit(Error, ValueError):
    """A value does not fit the type that was asked for."""


_CLASSES: dict[str, type[Error]] = {
    "damaged": FileDamaged,
    "unsupported": NotSupported,
    "limit": LimitExceeded,
    "conflict": Conflict,
    "forbidden": Forbidden,
    "missing": MissingFile,
    "misfit": Misfit,
}


def _of(word: str, message: str, path: str | None, offset: int | None, number: int | None) -> Exception:
    """The exception for an error of the Rust part."""
    if word == "io":
        # With a number, Python makes it a FileNotFoundError, a PermissionError and so on by itself.
        number = _errno.EIO if number is None else number
        return OSError(number, os.strerror(number), path) if path else OSError(number, message)
    if word == "absent":
        return KeyError(message if path is None else f"{path}: {message}")
    if word == "usage":
        return ValueError(message)
    if word == "internal":
        return RuntimeError(message)
    return _CLASSES[word](message, path, offset)
