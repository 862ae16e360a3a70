"""The low-level property lists: how datasets are created."""

from __future__ import annotations

from typing import Any

import numpy as np

#: The order of creation is kept.
CRT_ORDER_TRACKED = 1
#: There is an index by the order of creation.
CRT_ORDER_INDEXED = 2
#: The class of lists with which datasets are created.
DATASET_CREATE = 4


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


def create(cls: int) -> PropDCID:
    """Return a property list.

    Raises
    ------
    NotImplementedError
        If it is one for anything else than the creation of datasets.
    """
    if cls != DATASET_CREATE:
        raise NotImplementedError("only property lists for the creation of datasets are supported")
    return PropDCID()
