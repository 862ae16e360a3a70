"""Arrays of Blosc2, with the interface of ``blosc2.NDArray`` for reading.

Examples
--------
>>> import sciformats.blosc2
>>> array = sciformats.blosc2.open("array.b2nd")
>>> array.shape, array.chunks, array.blocks
((6, 4), (3, 4), (2, 2))
>>> array[4:, ::3]
array([[16, 19],
       [20, 23]])
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sciformats import _model, _open
from sciformats.errors import NotSupported


def open(path: str | os.PathLike[str] | bytes, **options: Any) -> NDArray:
    """Open an array.

    Parameters
    ----------
    path
        The path of the file or of the folder of a sparse frame, or the bytes of a file.
    options
        Those of :func:`sciformats.open`.

    Raises
    ------
    NotThisFormat
        If it is not a frame of Blosc2.
    NotSupported
        If the frame holds no array with a shape, but bytes.
    """
    file = _open.only(path, "blosc2", "a frame of Blosc2", options)
    if "chunk shape" not in file.facts:
        shown = file.filename
        file.close()
        raise NotSupported("the frame has no shape; open it with sciformats.open to read its bytes", shown)
    return NDArray(file)


class NDArray(_model.Holder):
    """An array of a frame, which is read when it is indexed. Any number of threads can read it at the same time."""

    def __init__(self, file: _model.File) -> None:
        self._file = file
        self._array: _model.Array = file.root

    @property
    def file(self) -> _model.File:
        """The file in the model that all formats share."""
        return self._file

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each dimension."""
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._array.size

    @property
    def nbytes(self) -> int:
        """The number of bytes of the elements in memory."""
        return self._array.nbytes

    @property
    def chunks(self) -> tuple[int, ...]:
        """The shape of a chunk."""
        return tuple(self._file.facts["chunk shape"])

    @property
    def blocks(self) -> tuple[int, ...]:
        """The shape of a block, of which a chunk consists."""
        return tuple(self._file.facts["block shape"])

    @property
    def cbytes(self) -> int:
        """The number of bytes of the file, or of all files of a sparse frame."""
        path, state = self._file._address.local, self._file._address.state
        if path is None:
            return int(state[0]) if isinstance(state, tuple) else len(state)
        if os.path.isdir(path):
            return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
        return os.path.getsize(path)

    @property
    def cratio(self) -> float:
        """The number of bytes of the elements divided by that of the file."""
        return self.nbytes / self.cbytes

    @property
    def info(self) -> dict[str, Any]:
        """Facts about the frame: codec, level, filters and so on."""
        return self._file.facts

    @property
    def meta(self) -> dict[str, bytes]:
        """The contents of the metalayers by their names, as they are stored."""
        return self._layers("meta:")

    @property
    def vlmeta(self) -> dict[str, bytes]:
        """The contents of the metalayers of variable length by their names, as they are stored."""
        return self._layers("vlmeta:")

    def _layers(self, before: str) -> dict[str, bytes]:
        found = self._array.attrs
        return {name[len(before) :]: np.asarray(found[name]).tobytes() for name in found if name.startswith(before)}

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        return self._array[key]

    def oindex(self, key: Any) -> Any:
        """Read the selected elements; lists of indices and masks each select along their own dimension, and ``None`` raises ``IndexError``."""
        return self._array.oindex(key)

    def iter_chunks(self) -> Iterator[tuple[slice, ...]]:
        """Return the slices of each chunk."""
        return self._array.iter_chunks()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("elements of a file are always copied")
        found: npt.NDArray[Any] = np.asarray(self._array[...], dtype)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return NDArray, (self._file,)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return ("sciformats.blosc2", *self._file._address.token())

    def __repr__(self) -> str:
        return f"<NDArray {self.shape} {self.dtype}, chunks {self.chunks}, blocks {self.blocks}>"
