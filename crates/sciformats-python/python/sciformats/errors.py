"""The exceptions of this package, by the cause of the error.

Each exception has ``path`` (the file, or ``None``) and ``offset`` (the absolute position of the first wrong byte, or ``None``). Each class
is also a subclass of one of Python's own exceptions, so programs that catch ``OSError`` from h5py continue to work.
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
    "NotThisFormat",
    "TooManyLinks",
]


class Error(Exception):
    """An error of this package.

    Attributes
    ----------
    path : str or None
        The file that the error is about.
    offset : int or None
        The absolute position of the fault in that file, in bytes.
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


class NotThisFormat(Error, OSError):
    """The file does not have the requested format, or none that this package knows."""


class NotSupported(Error, NotImplementedError):
    """The file and the request are valid, but this package does not support them."""


class LimitExceeded(Error, MemoryError):
    """A file declares more than the options of :func:`sciformats.open` permit."""


class TooManyLinks(LimitExceeded, RuntimeError):
    """So many soft links follow each other that they probably go in a circle, for which h5py raises ``RuntimeError``."""


class Conflict(Error, OSError):
    """Another program changed the file, or has it locked; nothing was written."""


class Forbidden(Error, PermissionError):
    """The file names another file that may not be opened; see ``external`` of :func:`sciformats.open`."""


class MissingFile(Error, FileNotFoundError):
    """The file names another file that does not exist or has other contents than expected."""


class Misfit(Error, ValueError):
    """A value does not fit the requested type."""


_CLASSES: dict[str, type[Error]] = {
    "damaged": FileDamaged,
    "unsupported": NotSupported,
    "format": NotThisFormat,
    "limit": LimitExceeded,
    "links": TooManyLinks,
    "conflict": Conflict,
    "forbidden": Forbidden,
    "missing": MissingFile,
    "misfit": Misfit,
}


def _of(word: str, message: str, path: str | None, offset: int | None, number: int | None) -> Exception:
    """Return the exception for an error of the Rust part."""
    if word == "io":
        # Given a number, Python itself selects FileNotFoundError, PermissionError and so on.
        remote = path is not None and "://" in path
        # The system's words say nothing of what a server answered, or of an error that the system did not report.
        said = message if number is None or remote else os.strerror(number)
        number = _errno.EIO if number is None else number
        return OSError(number, said, path) if path else OSError(number, message)
    if word == "absent":
        return KeyError(message if path is None else f"{path}: {message}")
    if word == "usage":
        return ValueError(message)
    if word == "internal":
        return RuntimeError(message)
    return _CLASSES[word](message, path, offset)
