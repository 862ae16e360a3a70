"""Opening files, and opening them again in the process that receives a pickle.

A process has one open file for each address (path, options, size and time of change), so a file to which several pickles refer is
opened once. A pickle contains the address and never the contents, unless the file was opened from bytes. The pickle of a remote file
contains no credentials, unless the caller permits it; the other process uses those of its own environment.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, NamedTuple, TypeVar

from sciformats import _remote, _sciformats
from sciformats.errors import Conflict, NotSupported, NotThisFormat

if TYPE_CHECKING:
    from sciformats._model import File

#: The number of files from pickles that a process keeps open at most. Those that are in use are not closed.
_MOST = 128

_lock = threading.Lock()


def _after_fork() -> None:
    """Replace the lock, which another thread of the first process may have held."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Address(NamedTuple):
    """The path or the URL of a file, the options, and the state of the file when it was opened."""

    path: str | None
    options: tuple[tuple[str, Any], ...]
    #: The size in bytes and the time of change in nanoseconds if the file has a path; its size, entity tag and date of change if it
    #: has a URL; and otherwise its bytes.
    state: Any
    #: How a remote file is opened; ``None`` for others.
    storage: _remote.Storage | None = None

    @property
    def shown(self) -> str | None:
        """The path, or the URL without its password and its query."""
        return self.path if self.storage is None or self.path is None else _remote.bare(self.path)

    @property
    def local(self) -> str | None:
        """The path of a file of this machine."""
        return self.path if self.storage is None else None

    def token(self) -> tuple[Any, ...]:
        """Return a value that is equal for equal contents, in all processes."""
        state = hashlib.sha256(self.state).hexdigest() if isinstance(self.state, bytes) else self.state
        place = self.path
        if place is not None and self.storage is not None:
            # A query may say which file it is, but a signature changes from day to day. What is secret is not in the value.
            place = _remote.bare(place) if _remote.is_secret(place) else hashlib.sha256(place.encode()).hexdigest()
        return (place, self.options, state)

    def __repr__(self) -> str:
        return f"<Address of {'a file in memory' if self.path is None else self.shown}>"

    def __reduce__(self) -> tuple[Any, ...]:
        storage = self.storage
        if storage is not None and not storage.told:
            if self.path is not None and _remote.is_secret(self.path):
                raise TypeError(
                    f"the URL of {self.shown} contains a password, a signature or a key, which would be in the pickle; "
                    "open it with storage_options={'pickle_credentials': True} to permit this"
                )
            storage = storage.without_secrets()
        return Address, (self.path, self.options, self.state, storage)


_Of = TypeVar("_Of")


class Recent(Generic[_Of]):
    """The files from pickles that were used last, by their addresses. The lock must be held."""

    def __init__(self) -> None:
        self._held: OrderedDict[Address, _Of] = OrderedDict()

    def get(self, address: Address) -> _Of | None:
        """Return a file, which then counts as used last."""
        found = self._held.get(address)
        if found is not None:
            self._held.move_to_end(address)
        return found

    def put(self, address: Address, file: _Of) -> _Of:
        """Add a file, in the place of the one that was not used for the longest time."""
        self._held[address] = file
        self._held.move_to_end(address)
        if len(self._held) > _MOST:
            self._held.popitem(last=False)
        return file

    def forget(self, file: _Of) -> None:
        """Remove a file."""
        for address in [address for address, held in self._held.items() if held is file]:
            del self._held[address]

    def forget_path(self, path: str) -> None:
        """Remove all files at a path, in which no link is followed any more."""
        for address in list(self._held):
            if address.local is not None and os.path.realpath(address.local) == path:
                del self._held[address]


_known: Recent[File] = Recent()


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
    storage_options: Mapping[str, Any] | None = None,
) -> File:
    """Open a file of any of the formats; the first bytes decide which format it has.

    Parameters
    ----------
    file : str, path, bytes-like or file object
        The path, the URL (``https://``, ``http://``, ``s3://``, ``gs://``, ``az://``) or the contents. ``bytes`` are read in place;
        other buffers and file objects are copied into memory.
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
    storage_options : dict, optional
        How a URL is opened. For all URLs: ``headers`` (sent to the host of the URL only), ``netrc`` (a path), ``connections``,
        ``timeout`` in seconds, ``retries``, ``certificates`` as PEM, and ``environment`` (whether settings of the environment count,
        which is the default). For object stores, the names of the environment in either case, such as ``aws_access_key_id``, and the
        short names of fsspec: ``key``, ``secret``, ``token``, ``endpoint_url``, ``region``, ``anon``; ``account_name``,
        ``account_key``, ``sas_token``. A login or an endpoint that is given replaces that of the environment as a whole. With
        ``pickle_credentials=True``, pickles contain these secrets.

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
    if _remote.is_url(file):
        return _opened(Address(str(file), fixed, None, _remote.storage_of(str(file), storage_options)))
    if storage_options:
        raise ValueError("storage_options are for URLs only")
    if isinstance(file, (str, os.PathLike)):
        path = os.path.abspath(os.fspath(file))
        return _opened(Address(path, fixed, state_of(path)))
    content: Any = file
    if hasattr(content, "read"):
        if hasattr(content, "seek"):
            content.seek(0)
        content = content.read()
    return _opened(Address(None, fixed, content if isinstance(content, bytes) else bytes(content)))


def only(path: Any, format: str, noun: str, options: Mapping[str, Any]) -> File:
    """Open a file of one format, which ``noun`` names in words.

    Raises
    ------
    NotThisFormat
        If it has another format.
    """
    file = open(path, **options)
    if file.format != format:
        found, shown = file.format, file.filename
        file.close()
        raise NotThisFormat(f"this is a file of the format {found}, and not {noun}", shown)
    return file


def _opened(address: Address) -> File:
    from sciformats._model import File

    options = dict(address.options)
    if address.path is None:
        return File(_sciformats.File.of_bytes(address.state, options), address)
    if address.storage is None:
        return File(_sciformats.File.open(address.path, options), address)
    raw = _sciformats.File.open_url(address.path, address.storage.arguments(), options)
    return File(raw, address._replace(state=checked(address, raw.state)))


def checked(address: Address, found: Any) -> Any:
    """Return the state of a file that was opened.

    Raises
    ------
    Conflict
        If it is another one than that of an address from a pickle.
    """
    if address.state is not None and found != address.state:
        raise Conflict("the file was changed since the object was pickled; open it again", address.shown)
    return found


def again(address: Address) -> File:
    """Return the file at an address from a pickle; each process opens it once.

    Raises
    ------
    Conflict
        If the file was changed since it was pickled.
    """
    if address.path is None:
        return _opened(address)
    if address.storage is None:
        checked(address, state_of(address.path))
    with _lock:
        file = _known.get(address)
        if file is None or file.closed:
            file = _known.put(address, _opened(address))
        return file


def member_of(file: File, path: str) -> Any:
    """Return the group or array of a file for a pickle."""
    return file.root if path == "/" else file[path]


def forget(file: File) -> None:
    """Remove a closed file, so that it is not returned again."""
    with _lock:
        _known.forget(file)
