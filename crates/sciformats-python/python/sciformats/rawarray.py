"""RawArray files as arrays that the operating system maps into memory.

Examples
--------
>>> import sciformats.rawarray
>>> image = sciformats.rawarray.memmap("image.ra")
>>> image.shape, image[1].tolist()
((2, 3), [4, 5, 6])
"""

from __future__ import annotations

import os
import struct
from typing import Any, BinaryIO, Literal

import numpy as np

from sciformats import _open
from sciformats.errors import NotSupported

#: The number of bytes before the dimensions.
_HEADER = 48

#: The flag of elements whose first byte is the most significant one.
_BIG_ENDIAN = 1

#: How the last sector of a file begins while it is changed, and the number of bytes of a sector.
_JOURNAL, _SECTOR = b"\x89SFJRNL\n", 512


def memmap(path: str | os.PathLike[str], mode: Literal["r", "r+", "c"] = "r") -> np.memmap[Any, np.dtype[Any]]:
    """Map the elements of a file into memory.

    Parameters
    ----------
    path : str or path
        The file.
    mode : str
        As for ``numpy.memmap``: ``"r"`` for an array that cannot be written to, ``"r+"`` to change the file, and ``"c"`` to change
        the array and not the file.

    Raises
    ------
    ValueError
        If there is no such mode.
    NotThisFormat
        If it is not a RawArray file.
    NotSupported
        If the elements are compressed, so that the file does not contain them as they are in memory, or if a change of the file was
        interrupted.
    """
    if mode not in ("r", "r+", "c"):
        # The modes of NumPy that create a file would empty this one.
        raise ValueError(f"mode is {mode!r}; it must be one of 'r', 'r+' and 'c'")
    with _open.only(path, "rawarray", "a RawArray file", {}) as file:
        dtype, shape = file.root.dtype, file.root.shape
        filters = file.root.filters
    with open(path, "rb") as stream:
        _, flags, _, width, size, rank = struct.unpack("<6Q", stream.read(_HEADER))
        stored = struct.unpack(f"<{rank}Q", stream.read(8 * rank))
        interrupted = _is_interrupted(stream, _HEADER + 8 * rank + size)
    opaque = dtype.kind == "V" and dtype.names is None and width > 1 and flags & _BIG_ENDIAN
    if filters or opaque or width != dtype.itemsize:
        raise NotSupported("the elements are not stored as they are in memory, and cannot be mapped", os.fspath(path))
    if interrupted or stored not in (shape, shape[::-1]):
        raise NotSupported("the file has changes that were not completed; the next program that writes it does so", os.fspath(path))
    if 0 in shape:
        raise NotSupported("the array has no elements, and nothing can be mapped", os.fspath(path))
    dtype = dtype.newbyteorder(">" if flags & _BIG_ENDIAN else "<")
    return np.memmap(path, dtype=dtype, mode=mode, offset=_HEADER + 8 * rank, shape=shape)


def _is_interrupted(stream: BinaryIO, end: int) -> bool:
    """Return whether a file, whose elements end at ``end``, ends with the journal of a change that was interrupted."""
    length = stream.seek(0, os.SEEK_END)
    if length % _SECTOR or length - _SECTOR < end:
        return False
    stream.seek(length - _SECTOR)
    return stream.read(len(_JOURNAL)) == _JOURNAL
