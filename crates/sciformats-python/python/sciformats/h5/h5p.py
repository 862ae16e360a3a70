"""The low-level property lists: how datasets are created."""

from __future__ import annotations

from typing import Any

import numpy as np

#: The order of creation is kept.
CRT_ORDER_TRACKED = 1
#: There is an index by the order of creation.
CRT_ORDER_INDEXED = 2
#: The class of lists with which files are opened.
FILE_ACCESS = 2
#: The class of lists with which datasets are created.
DATASET_CREATE = 4
#: The class of lists with which datasets are opened.
DATASET_ACCESS = 5


class PropDCID:
    """How a dataset is created by :func:`sciformats.h5.h5d.create`."""

    def __init__(self) -> None:
        self._layout: int | None = None
        self._chunks: tuple[int, ...] | None = None
        self._filters: list[tuple[int, list[int]]] = []
        self._fill: Any = None
        self._fill_time: int | None = None

    def set_chunk(self, dims: tuple[int, ...]) -> None:
        """Set the shape of a chunk."""
        self._chunks = tuple(int(n) for n in dims)

    def get_chunk(self) -> tuple[int, ...]:
        """Return the shape of a chunk."""
        if self._chunks is None:
            raise ValueError("no shape of a chunk was set")
        return self._chunks

    def set_layout(self, layout: int) -> None:
        """Set how the elements are stored: ``h5d.COMPACT``, ``h5d.CONTIGUOUS`` or ``h5d.CHUNKED``."""
        self._layout = layout

    def set_deflate(self, level: int = 5) -> None:
        """Add gzip."""
        self._filters.append((1, [int(level)]))

    def set_shuffle(self) -> None:
        """Add the byte shuffle."""
        self._filters.append((2, []))

    def set_fletcher32(self) -> None:
        """Add checksums."""
        self._filters.append((3, []))

    def set_filter(self, code: int, flags: int = 0, values: tuple[int, ...] = ()) -> None:
        """Add a filter by its number."""
        self._filters.append((int(code), [int(value) for value in values]))

    def set_fill_value(self, value: Any) -> None:
        """Set the value of elements that were never written."""
        self._fill = np.asarray(value)

    def set_fill_time(self, time: int) -> None:
        """Set when fill values are written."""
        self._fill_time = int(time)

    def settings(self) -> tuple[int | None, tuple[int, ...] | None, list[tuple[int, list[int]]], Any, int | None]:
        """Return the layout, the chunks, the filters, the fill value and the time of writing it."""
        return self._layout, self._chunks, self._filters, self._fill, self._fill_time


class PropFAID:
    """How a file is opened by :func:`sciformats.h5.h5f.open`."""

    def __init__(self) -> None:
        self._core = False
        self._image: bytes | None = None

    @property
    def image(self) -> bytes | None:
        """The bytes of a file in memory, if there are any."""
        return self._image if self._core else None

    def set_fapl_core(self, block_size: int = 64 << 10, backing_store: bool = True) -> None:
        """Choose a file in memory."""
        self._core = True

    def set_file_image(self, image: bytes) -> None:
        """Set the bytes of a file in memory."""
        self._image = bytes(image)


class PropDAID:
    """How a dataset is opened by :func:`sciformats.h5.h5d.open`: parameters of a cache, which are kept and have no effect."""

    def __init__(self) -> None:
        self.cache: tuple[int, int, float] | None = None

    def set_chunk_cache(self, nslots: int, nbytes: int, w0: float) -> None:
        """Set the parameters of the cache of chunks."""
        self.cache = (int(nslots), int(nbytes), float(w0))

    def get_chunk_cache(self) -> tuple[int, int, float] | None:
        """Return the parameters of the cache of chunks."""
        return self.cache


_CLASSES: dict[int, Any] = {FILE_ACCESS: PropFAID, DATASET_CREATE: PropDCID, DATASET_ACCESS: PropDAID}


def create(cls: int) -> Any:
    """Return a property list.

    Raises
    ------
    NotImplementedError
        If it is one for anything else than opening files, and creating and opening datasets.
    """
    if cls not in _CLASSES:
        raise NotImplementedError("only property lists for opening files, and creating and opening datasets, are supported")
    return _CLASSES[cls]()
