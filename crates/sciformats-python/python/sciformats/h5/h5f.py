"""The low-level calls for files."""

from __future__ import annotations

import builtins
import os
from typing import Any

from sciformats.h5._create import UNLIMITED
from sciformats.h5._identifiers import FileID

__all__ = ["ACC_EXCL", "ACC_RDONLY", "ACC_RDWR", "ACC_TRUNC", "FileID", "UNLIMITED", "create", "flush", "get_name", "is_hdf5", "open", "open_file_image"]

#: The file is only read.
ACC_RDONLY = 0
#: The file is also changed.
ACC_RDWR = 1
#: A new file replaces one that exists, or must not.
ACC_TRUNC, ACC_EXCL = 2, 4
ACC_SWMR_WRITE, ACC_SWMR_READ = 32, 64
CLOSE_DEFAULT, CLOSE_WEAK, CLOSE_SEMI, CLOSE_STRONG = range(4)
FILE_IMAGE_OPEN_RW = 1
FSPACE_STRATEGY_FSM_AGGR, FSPACE_STRATEGY_PAGE, FSPACE_STRATEGY_AGGR, FSPACE_STRATEGY_NONE = range(4)
LIBVER_EARLIEST, LIBVER_V18, LIBVER_V110, LIBVER_V112, LIBVER_V114, LIBVER_V200 = range(6)
LIBVER_LATEST = LIBVER_V200
OBJ_FILE, OBJ_DATASET, OBJ_GROUP, OBJ_DATATYPE, OBJ_ATTR = (1 << bit for bit in range(5))
OBJ_ALL, OBJ_LOCAL = 31, 32
SCOPE_LOCAL, SCOPE_GLOBAL = range(2)


def open(name: bytes, flags: int = ACC_RDWR, fapl: Any = None) -> Any:
    """Open a file, and return its identifier. ``fapl`` is a property list of :mod:`sciformats.h5.h5p`.

    Raises
    ------
    ValueError
        If there are flags other than ``ACC_RDONLY`` and ``ACC_RDWR``.
    OSError
        If the property list has the bytes of a file, and there is a file at the path.
    """
    from sciformats.h5._file import File

    if flags not in (ACC_RDONLY, ACC_RDWR):
        raise ValueError(f"{flags} is neither ACC_RDONLY nor ACC_RDWR")
    image = None if fapl is None else fapl.image
    if fapl is not None and image is not None:
        if os.path.exists(name):
            raise FileExistsError("Unable to synchronously open file (file already exists)")
        if flags == ACC_RDONLY or not fapl.is_stored:
            return open_file_image(image, flags)
        with builtins.open(name, "xb") as file:
            file.write(image)
    arguments = {} if fapl is None else fapl.arguments()
    return File(os.fsdecode(name), "r" if flags == ACC_RDONLY else "r+", **arguments).id


def open_file_image(image: bytes, flags: int = ACC_RDONLY) -> Any:
    """Open a file that is in memory, and return its identifier. Changes are lost when it is closed."""
    from sciformats.h5._file import File

    return (File(bytes(image), "r") if flags == ACC_RDONLY else File.in_memory(bytes(image))).id


def create(name: bytes, flags: int = ACC_TRUNC, fcpl: Any = None, fapl: Any = None) -> FileID:
    """Create a file, and return its identifier. ``fcpl`` and ``fapl`` are property lists of :mod:`sciformats.h5.h5p`.

    Raises
    ------
    ValueError
        If there are flags other than ``ACC_TRUNC`` and ``ACC_EXCL``.
    """
    from sciformats.h5._file import File

    arguments = {**({} if fcpl is None else fcpl.arguments()), **({} if fapl is None else fapl.arguments())}
    if flags not in (ACC_TRUNC, ACC_EXCL):
        raise ValueError(f"{flags} is neither ACC_TRUNC nor ACC_EXCL")
    found = File(os.fsdecode(name), "w" if flags == ACC_TRUNC else "x", **arguments).id
    assert isinstance(found, FileID)
    return found


def is_hdf5(name: bytes) -> bool:
    """Return whether there is an HDF5 file at a path.

    Raises
    ------
    OSError
        If there is no file, or it cannot be opened.
    """
    import sciformats.h5

    with builtins.open(name, "rb"):
        return sciformats.h5.is_hdf5(name)


def flush(obj: Any, scope: int = SCOPE_LOCAL) -> None:
    """Write all changes to the file of an object."""
    obj._object._file_of.flush()


def get_name(obj: Any) -> bytes:
    """Return the path by which the file of an object was opened."""
    return os.fsencode(obj._object.file.filename)
