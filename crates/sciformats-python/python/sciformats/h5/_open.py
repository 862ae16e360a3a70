"""How files are opened in the modes of h5py."""

from __future__ import annotations

import errno
import gc
import io
import os
import tempfile
from typing import Any

from sciformats import _remote, _sciformats
from sciformats._open import Address, Recent, _lock, checked, state_of
from sciformats.errors import Conflict, NotSupported
from sciformats.h5 import _locks
from sciformats.h5._opened import Again, Opened, is_read, writer_of

#: The names of the modes: whether the file is created, and whether one may exist.
_CREATE = {"w": (True, True), "w-": (True, False), "x": (True, False), "r+": (False, True)}

#: The numbers of the strategies by which space in a file is allocated.
STRATEGIES = {"fsm": 0, "page": 1, "aggregate": 2, "none": 3}

#: The names of the releases of the C library whose structures a file can be limited to.
RELEASES = ("earliest", "v108", "v110", "v112", "v114", "v200")

#: The number of bytes that a file object is given at once.
_PIECE = 1 << 24

_DRIVERS = (None, "sec2", "core", "stdio", "split", "fileobj")


def opened(name: Any, mode: str, fixed: tuple[tuple[str, Any], ...], options: dict[str, Any]) -> Any:
    """Open a file.

    Raises
    ------
    ValueError
        If there is no such mode or driver.
    OSError
        As the system reports it, or if the file is not an HDF5 file.
    """
    driver = options["driver"]
    if driver not in _DRIVERS:
        raise ValueError(f"Unknown driver type {driver!r}")
    if driver not in (None, "fileobj") and hasattr(name, "read"):
        raise ValueError("a file object can only be opened with the driver 'fileobj'")
    if options["backing_store"] is not None and driver != "core":
        raise TypeError("backing_store= is for the driver 'core' only")
    if driver == "split":
        raise NotSupported("the driver 'split' is not supported")
    _check_driver_options(driver, options["driver_options"], name)
    if mode not in ("r", "r+", "w", "w-", "x", "a"):
        raise ValueError("Invalid mode; must be one of r, r+, w, w-, x, a")
    bounds = _bounds(options["libver"])
    _check_user_block(options["userblock_size"], mode)
    _check_space(options, name, mode)
    if isinstance(name, bytes) and not name.startswith(b"\x89HDF"):
        name = os.fsdecode(name)
    if isinstance(name, str) and _remote.is_url(name):
        if mode != "r":
            raise NotSupported(f"mode is {mode!r}: remote files are only read", _remote.bare(name))
        return again(Address(name, fixed, None, _remote.storage_of(name, options["storage_options"])))
    if options["storage_options"]:
        raise ValueError("storage_options are for URLs only")
    if isinstance(name, (str, os.PathLike)):
        if driver == "fileobj":
            raise ValueError("the driver 'fileobj' needs a file object and not a path")
        name = os.fspath(name)
        if isinstance(name, bytes):
            name = os.fsdecode(name)
        if "\0" in name:
            raise ValueError("embedded null byte")
        if mode == "r":
            path = os.path.abspath(name)
            # As with the C library, who reads a file that this process writes sees all changes so far.
            writer = writer_of(path)
            if writer is not None:
                # As with the C library, who reads a file that this process writes sees all changes, also later ones.
                _locks.check_same(options["locking"], writer.locking, path)
                found: Any = Again(writer)
            else:
                held = _locks.shared(path, options["locking"])
                address = Address(path, fixed, state_of(path))
                found = Opened(address, _sciformats.open_hdf5(path, None, dict(fixed)))
                found.held = held
                found.locking = options["locking"]
                found.libver = found.libver if bounds is None else bounds
                found.register_reader(path)
        elif driver == "core" and options["backing_store"] is False:
            found = _unsaved(os.path.abspath(name), mode, fixed, options)
        else:
            found = _changed(os.path.abspath(name), mode, fixed, options)
        found.shown = name
        found.driver = driver or "sec2"
        return found
    if mode == "r":
        if isinstance(name, (bytes, bytearray, memoryview)):
            content = bytes(name)
        elif hasattr(name, "read"):
            name.seek(0)
            content = bytes(name.read())
        else:
            # The bytes of a number would be as many zeros.
            raise TypeError(f"a file is a path, a file object, or the bytes of a file, and not {type(name)}")
        address = Address(None, fixed, content)
        reader = Opened(address, _sciformats.open_hdf5(None, content, dict(fixed)))
        if not isinstance(name, (bytes, bytearray, memoryview)):
            reader.shown = repr(name)
        return reader
    if not (hasattr(name, "write") and hasattr(name, "seek")):
        raise TypeError("a file that is to be written must be a path or a file object")
    found = _in_memory(name, mode, fixed, options)
    found.shown = repr(name)
    found.driver = "fileobj"
    return found


def again(address: Address) -> Opened:
    """Open the file at an address for reading.

    Raises
    ------
    Conflict
        If the address has a state, and the file has another one.
    """
    fixed = dict(address.options)
    if address.path is None:
        return Opened(address, _sciformats.open_hdf5(None, address.state, fixed))
    if address.storage is None:
        checked(address, state_of(address.path))
        reader = Opened(address, _sciformats.open_hdf5(address.path, None, fixed))
        reader.register_reader(address.path)
        return reader
    root, state = _sciformats.open_hdf5_url(address.path, address.storage.arguments(), fixed)
    found = Opened(address._replace(state=checked(address, state)), root)
    found.shown = address.shown or ""
    found.driver = "ros3"
    return found


def reopened(opened: Any) -> Any:
    """Return another opening of a file, which shows the same changes and is closed by itself."""
    opened.check_open()
    if opened.editor is not None:
        return Again(opened._first if isinstance(opened, Again) else opened)
    found = again(opened.address)
    found.shown, found.driver = opened.shown, opened.driver
    return found


def _check_driver_options(driver: str | None, given: dict[str, Any], name: Any) -> None:
    """Raise an exception for keywords that a driver does not have."""
    is_object = hasattr(name, "read")
    known = "block_size" if driver == "core" else "fileobj" if is_object or driver == "fileobj" else None
    for word in given:
        if word != known:
            raise TypeError(f"{word!r} is an invalid keyword argument for this function")
    if is_object and given.get("fileobj", name) != name:
        raise ValueError("Invalid value of 'fileobj' argument; must equal to file-like object if specified.")


def _check_user_block(size: Any, mode: str) -> None:
    try:
        size = int(size or 0)
    except (TypeError, ValueError):
        raise ValueError("User block size must be an integer") from None
    if size == 0:
        return
    if mode == "r":
        raise ValueError("User block may only be specified when creating a file")
    if size < 512 or size & (size - 1):
        raise ValueError("User block size must be a power of 2 and at least 512")


def _check_space(options: dict[str, Any], name: Any, mode: str) -> None:
    strategy = options["fs_strategy"]
    if strategy is None:
        return
    if strategy not in STRATEGIES:
        raise ValueError(f"Invalid file space strategy type: {strategy!r}")
    exists = mode == "a" and isinstance(name, (str, os.PathLike)) and os.path.exists(name)
    if mode in ("r", "r+") or exists:
        raise ValueError("Unable to set file space strategy of an existing file")


def _changed(path: str, mode: str, fixed: tuple[tuple[str, Any], ...], options: dict[str, Any]) -> Any:
    if mode == "a":
        mode = "r+" if os.path.exists(path) else "x"
    writer = writer_of(path) if mode == "r+" else None
    if writer is not None:
        _locks.check_same(options["locking"], writer.locking, path)
        return Again(writer)
    if mode == "r+" and os.path.isfile(path) and not os.path.getsize(path):
        # As with the C library, a file without a byte is a new one.
        mode = "w"
    if mode == "r+" and _has_readers(path):
        # The changes could take the place of what is read, also later.
        raise Conflict("Unable to synchronously open file (file is already open for read-only)", path)
    create, overwrite = _CREATE[mode]
    if mode == "w":
        check_unused(path)
    bounds = _bounds(options["libver"])
    user_block = int(options["userblock_size"] or 0)
    editor = _sciformats.edit_hdf5(
        path,
        {
            "create": create,
            "overwrite": overwrite,
            "user_block": user_block,
            "tracked": options["track_order"],
            "time": options["time"],
            # By default, any release reads a new file, as with h5py; what is added to a file follows from its structures.
            "bound": ("earliest" if create else None) if bounds is None else bounds[0],
            "locking": _locks.WORDS[options["locking"]],
            "space": None
            if options["fs_strategy"] is None
            else (
                options["fs_strategy"],
                bool(options["fs_persist"]),
                int(options["fs_threshold"]),
                int(options["fs_page_size"] or 4096),
            ),
        },
    )
    found = Opened(Address(path, fixed, state_of(path)), None, editor, "r+")
    found.register(path)
    if bounds is not None:
        found.libver = bounds
    found.track_order = options["track_order"]
    found.locking = options["locking"]
    if user_block and not create and found.root.file_facts()[1] != user_block:
        found.close()
        raise ValueError(f"Requested userblock size ({user_block}) does not match that of existing file")
    return found


def check_unused(path: str) -> None:
    """Raise an exception if this process has the file at a path open, so that it cannot be replaced.

    Raises
    ------
    Conflict
        If this is so: what is read of it, also later, would be that of another file, or of none.
    """
    if _has_readers(path) or writer_of(path) is not None:
        raise Conflict("Unable to synchronously create file (unable to truncate a file which is already open)", path)


def _has_readers(path: str) -> bool:
    """Return whether the program has the file at a path open for reading."""
    if not is_read(path):
        return False
    # What was only kept for pickles, or waits for Python to find that nobody needs it, is closed now.
    with _lock:
        _kept.forget_path(os.path.realpath(path))
    gc.collect()
    return is_read(path)


#: The open files to which pickles referred.
_kept: Recent[Opened] = Recent()


def kept(address: Address) -> Opened:
    """Return the file at an address for a pickle, which is opened once."""
    with _lock:
        known = _kept.get(address)
        if known is None or known.is_closed:
            known = _kept.put(address, again(address))
    return known


def _bounds(libver: Any) -> tuple[str, str] | None:
    """Return the oldest and the newest release for the argument ``libver``."""
    if libver is None:
        return None
    given = (libver, "latest") if isinstance(libver, str) else tuple(libver)
    if len(given) != 2 or not all(isinstance(each, str) for each in given):
        raise ValueError(f"libver is {libver!r}, and not the name of a release or a pair of them")
    for each in given:
        if each != "latest" and each not in RELEASES:
            raise ValueError(f"Invalid library version bound: {each!r} is none of {', '.join(RELEASES)}, latest")
    first, last = (RELEASES[-1] if each == "latest" else each for each in given)
    if RELEASES.index(first) > RELEASES.index(last):
        raise ValueError(f"libver is {libver!r}: the first release is newer than the second")
    return first, last


def _unsaved(path: str, mode: str, fixed: tuple[tuple[str, Any], ...], options: dict[str, Any]) -> Any:
    """Open a file whose changes are never written: in the modes that need one, it starts as the file at the path, which stays as it is."""
    if mode == "r+" or (mode == "a" and os.path.exists(path)):
        writer = writer_of(path)
        if writer is not None:
            writer.commit()
        with open(path, "rb") as file:
            return _in_memory(None, "r+", fixed, options, file.read())
    return _in_memory(None, "w", fixed, options)


def _in_memory(target: Any, mode: str, fixed: tuple[tuple[str, Any], ...], options: dict[str, Any], content: bytes = b"") -> Any:
    """Open a file that is written to a file object when it is flushed or closed, or nowhere.

    It starts with the content, or with that of the object.
    """
    if target is not None and mode in ("w-", "x") and target.seek(0, os.SEEK_END):
        raise FileExistsError("Unable to synchronously create file (the file object is not empty)")
    handle, path = tempfile.mkstemp(suffix=".h5")
    with os.fdopen(handle, "wb") as copy:
        if target is not None and mode in ("r+", "a"):
            target.seek(0)
            content = target.read()
        copy.write(content)
    if mode in ("w", "w-", "x") or (mode == "a" and not content):
        mode = "w"
    try:
        found = _changed(path, mode, fixed, options)
    except BaseException:
        os.unlink(path)
        raise

    def put() -> None:
        if target is not None:
            _put(path, target)

    def after() -> None:
        try:
            put()
        except Exception as error:
            # The copy is all that is left of the changes, and perhaps of the file.
            number = getattr(error, "errno", None) or errno.EIO
            raise OSError(number, f"the file object cannot be written ({error}); the file is kept as {path}") from error
        os.unlink(path)

    found.after, found.put = after, put
    return found


def _put(path: str, target: Any) -> None:
    """Replace the content of a file object by that of the file at a path.

    Raises
    ------
    OSError
        If the object does not take all bytes.
    """
    with open(path, "rb") as copy:
        target.seek(0)
        while piece := copy.read(_PIECE):
            while piece:
                done = target.write(piece)
                # Objects without a buffer may take a part only; those of some libraries do not say that they took everything.
                if done is None and not isinstance(target, io.RawIOBase):
                    break
                if not done:
                    raise OSError(errno.EIO, f"{target!r} takes no more bytes")
                piece = piece[done:]
        target.truncate()
        if hasattr(target, "flush"):
            # An error shows itself here, and not when the caller closes the object.
            target.flush()
