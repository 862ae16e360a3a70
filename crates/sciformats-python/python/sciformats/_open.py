"""Opening files, and opening them again in the process that receives a pickle.

A process has one open file for each address (path, options, size and time of change), so a file to which several pickles refer is
opened once. A pickle contains the address and never the contents, unless the file was opened from bytes.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from sciformats import _sciformats
from sciformats.errors import Conflict, NotSupported

if TYPE_CHECKING:
    from sciformats._model import File

_known: weakref.WeakValueDictionary[Address, File] = weakref.WeakValueDictionary()
_lock = threading.Lock()


class Address(NamedTuple):
    """The path of a file, the options, and the state of the file when it was opened."""

    path: str | None
    options: tuple[tuple[str, Any], ...]
    #: The size in bytes and the time of change in nanoseconds if the file has a path, and otherwise its bytes.
    state: Any

    def token(self) -> tuple[Any, ...]:
        """Return a value that is equal for equal contents, in all processes."""
        return (self.path, self.options, self.state)


def state_of(path: str) -> tuple[int, int] | None:
    """Return a value that changes when the file does, or ``None`` for a folder."""
    status = os.stat(path)
    return None if os.path.isdir(path) else (status.st_size, status.st_mtime_ns)


def open(
    file: str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO,
    mode: str = "r",
    *,
    threads: int = 0,
    memory: int | None = None,
    external: str = "same folder",
    cut: bool = False,
    changing: bool = False,
) -> File:
    """Open a file of any of the formats; the first bytes decide which format it has.

    Parameters
    ----------
    file : str, path, bytes-like or file object
        The path or the contents. ``bytes`` are read in place; other buffers and file objects are copied into memory.
    mode : str
        Only ``"r"`` is possible.
    threads : int
        The number of threads that decode chunks; 0 means one per processor.
    memory : int, optional
        The number of bytes that one call may allocate because of the file; the default is 16 GiB.
    external : str
        Which other files may be opened when a file names them: ``"never"``, ``"same folder"`` or ``"anywhere"``.
    cut : bool
        Whether a file that was cut short is opened, to read the remaining part.
    changing : bool
        Whether another program may change the file meanwhile. If so, nothing of the file is kept in memory.

    Returns
    -------
    File
        The open file. It is a context manager.

    Raises
    ------
    FileNotFoundError, PermissionError
        In the same cases as Python's ``open``.
    FileDamaged
        If its first structures break the rules of the format.
    NotThisFormat
        If it has none of the supported formats.

    Examples
    --------
    >>> import numpy, io, sciformats
    >>> buffer = io.BytesIO()
    >>> numpy.save(buffer, numpy.arange(6).reshape(2, 3))
    >>> sciformats.open(buffer).root[1, ::-1]
    array([5, 4, 3])
    """
    if mode != "r":
        raise NotSupported(f"mode is {mode!r}: files can only be opened with mode 'r'")
    options: dict[str, Any] = {"threads": threads, "external": external, "cut": cut, "changing": changing}
    if memory is not None:
        options["memory"] = memory
    fixed = tuple(sorted(options.items()))
    if isinstance(file, (str, os.PathLike)):
        path = os.path.abspath(os.fspath(file))
        return _opened(Address(path, fixed, state_of(path)))
    if hasattr(file, "read"):
        if hasattr(file, "seek"):
            file.seek(0)
        file = file.read()
    return _opened(Address(None, fixed, file if isinstance(file, bytes) else bytes(file)))


def _opened(address: Address) -> File:
    from sciformats._model import File

    options = dict(address.options)
    if address.path is None:
        return File(_sciformats.File.of_bytes(address.state, options), address)
    return File(_sciformats.File.open(address.path, options), address)


def again(address: Address) -> File:
    """Return the file at an address from a pickle; each process opens it once.

    Raises
    ------
    Conflict
        If the file was changed since it was pickled.
    """
    if address.path is None:
        return _opened(address)
    found = state_of(address.path)
    if found != address.state:
        raise Conflict("the file was changed since the object was pickled; open it again", address.path)
    with _lock:
        file = _known.get(address)
        if file is None or file.closed:
            file = _opened(address)
            _known[address] = file
        return file


def member_of(file: File, path: str) -> Any:
    """Return the group or array of a file for a pickle."""
    return file.root if path == "/" else file[path]


def forget(file: File) -> None:
    """Remove a closed file, so that it is not returned again."""
    with _lock:
        if _known.get(file._address) is file:
            del _known[file._address]
