"""The low-level calls of a dataset: its chunks as they are stored, and transfers between dataspaces."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sciformats.h5 import _convert, _regions
from sciformats.h5._identifiers import ObjectID, Properties

if TYPE_CHECKING:
    from sciformats.h5._dataset import Dataset


class StoreInfo(NamedTuple):
    """The position of a chunk, as returned by ``DatasetID.get_chunk_info``."""

    chunk_offset: tuple[int, ...]
    filter_mask: int
    byte_offset: int
    size: int


class DatasetID(ObjectID):
    """The low-level calls that programs use: ``dataset.id``."""

    def __init__(self, dataset: Dataset) -> None:
        super().__init__(dataset)
        self._dataset = dataset
        self._chunks: list[StoreInfo] | None = None

    def _all(self) -> list[StoreInfo]:
        if self._chunks is None or self._dataset._file_of.editor is not None:
            found = [StoreInfo(tuple(c), mask, at, size) for c, mask, at, size in self._dataset._node.chunks()]
            self._chunks = sorted(found)
        return self._chunks

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the dataset."""
        return self._dataset.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the dataset's elements."""
        return self._dataset.dtype

    def get_num_chunks(self, space: Any = None) -> int:
        """Return the number of stored chunks."""
        return len(self._all())

    def get_chunk_info(self, index: int, space: Any = None) -> StoreInfo:
        """Return the stored chunk with this number, in the order of the positions in the dataset."""
        return self._all()[index]

    def get_chunk_info_by_coord(self, chunk_offset: tuple[int, ...]) -> StoreInfo:
        """Return the stored chunk that begins at this element."""
        wanted = tuple(int(at) for at in chunk_offset)
        found = self._dataset._node.chunk_info(list(wanted)) if all(at >= 0 for at in wanted) else None
        return StoreInfo(wanted, 0, 0, 0) if found is None else StoreInfo(tuple(found[0]), *found[1:])

    def chunk_iter(self, callback: Callable[[StoreInfo], Any]) -> Any:
        """Call a function with each stored chunk, until it returns something other than ``None``."""
        for chunk in self._all():
            answer = callback(chunk)
            if answer is not None:
                return answer
        return None

    def read_direct_chunk(
        self, offsets: tuple[int, ...], dxpl: Any = None, out: Any = None
    ) -> tuple[int, bytes | memoryview]:
        """Return the filters that were skipped for a chunk, and its stored bytes, or the part of ``out`` that holds them.

        Raises
        ------
        BufferError
            If ``out`` cannot be written to.
        ValueError
            If ``out`` is not contiguous, or smaller than the chunk.
        """
        view = None if out is None else memoryview(out)
        if view is not None and view.readonly:
            raise BufferError("out cannot be written to")
        if view is not None and not view.c_contiguous:
            raise ValueError("out must be C-contiguous")
        found = self._dataset._node.chunk(list(offsets))
        if found is None:
            raise OSError(f"no chunk that begins at {tuple(offsets)} is stored")
        mask, data = found
        if view is None:
            return mask, data
        view = view.cast("B")
        if len(view) < len(data):
            raise ValueError(f"out has {len(view)} bytes, but the chunk has {len(data)}")
        view[: len(data)] = data
        return mask, view[: len(data)]

    def write_direct_chunk(self, offsets: tuple[int, ...], data: Any, filter_mask: int = 0, dxpl: Any = None) -> None:
        """Store a chunk that has passed through the filters already, except for those whose bit is set in ``filter_mask``.

        Raises
        ------
        ValueError
            If the dataset has no such chunk, or has no filters and ``data`` is not a whole chunk.
        """
        chunks = self._dataset.chunks
        if chunks is None:
            raise TypeError("Chunked dataset required")
        if len(offsets) != len(chunks) or any(at < 0 or at % side for at, side in zip(offsets, chunks)):
            raise ValueError(f"no chunk of shape {chunks} begins at {tuple(offsets)}")
        scaled = [at // side for at, side in zip(offsets, chunks)]
        content = memoryview(data).tobytes()
        with self._dataset._file_of._lock:
            self._dataset._file_of.change("write_chunk", self._dataset._place, (scaled, filter_mask), content)
        self._chunks = None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape or ())

    def get_space(self) -> Any:
        """Return the dataspace, of which all elements are selected."""
        from sciformats.h5 import h5s

        shape = self.shape
        if not shape:
            return h5s.create(h5s.NULL if shape is None else h5s.SCALAR)
        return h5s.create_simple(shape, self._dataset.maxshape)

    def read(self, mspace: Any, fspace: Any, arr: NDArray[Any], mtype: Any = None, dxpl: Any = None) -> None:
        """Read the elements that ``fspace`` selects into those of an array that ``mspace`` selects.

        Without ``mspace``, which can be ``h5s.ALL``, the array has the shape of the dataset, and elements have the same place in it.
        ``mtype`` is what the bytes of its elements become, by default its type.

        Raises
        ------
        OSError
            If the dataspaces select different numbers of elements, or elements outside of the dataset or the array.
        NotSupported
            If only one of ``mtype`` and the type of the array is that of objects.
        """
        self._dataset._file_of.check_open()
        arr = _convert.seen_as(arr, mtype)
        if mspace in (None, 0) and fspace in (None, 0) and arr.shape == self.shape:
            self._dataset.read_direct(arr)
            return
        chosen, view, key = self._selected("read", mspace, fspace, arr)
        found = _convert.read_as(chosen._of_file(self._dataset), arr.dtype)
        view[key] = found.reshape(view[key].shape)

    def write(self, mspace: Any, fspace: Any, arr: NDArray[Any], mtype: Any = None, dxpl: Any = None) -> None:
        """Write the elements of an array that ``mspace`` selects to those that ``fspace`` selects.

        ``mtype`` is what the bytes of its elements are, by default its type.

        Raises
        ------
        OSError
            If the dataspaces select different numbers of elements, or elements outside of the dataset or the array.
        NotSupported
            If only one of ``mtype`` and the type of the array is that of objects.
        """
        arr = _convert.seen_as(arr, mtype)
        if mspace in (None, 0) and fspace in (None, 0) and arr.shape == self.shape:
            self._dataset[()] = arr
            return
        chosen, view, key = self._selected("write", mspace, fspace, arr)
        values = view[key]
        if chosen.selection == "all":
            self._dataset[()] = values.reshape(self._dataset.shape)
        elif chosen.selection != "none":
            reference = chosen._reference()
            shape = _regions.Regions(self._dataset).selection(reference)
            _regions.write(self._dataset, reference, values.reshape((*shape, *self.dtype.shape)))

    def _selected(self, verb: str, mspace: Any, fspace: Any, arr: NDArray[Any]) -> tuple[Any, NDArray[Any], Any]:
        """Return the dataspace of the dataset, the array in the shape of the other dataspace, and the key of its elements."""
        if not arr.flags.c_contiguous:
            raise TypeError("Array must be C-contiguous")
        chosen = self.get_space() if fspace in (None, 0) else fspace
        # As in the C library, the selection of the dataset is that of the array, too.
        placed = chosen if mspace in (None, 0) else mspace
        inner = self.dtype.shape
        counts = chosen.get_select_npoints(), placed.get_select_npoints()
        problem = None
        if counts[0] != counts[1]:
            problem = f"the dataspaces select different numbers of elements, {counts[0]} and {counts[1]}"
        elif chosen.shape != (self.shape or ()) or not chosen.select_valid():
            problem = f"elements outside of the dataset, whose shape is {self.shape}, are selected"
        elif not placed.select_valid() or math.prod((*placed.shape, *inner)) > arr.size:
            problem = f"an array of shape {arr.shape} has not all of the selected elements"
        if problem is not None:
            raise OSError(f"Can't synchronously {verb} data ({problem})")
        flat = arr.reshape(-1)[: math.prod((*placed.shape, *inner))]
        return chosen, flat.reshape((*placed.shape, *inner)), placed._key()

    def set_extent(self, shape: tuple[int, ...]) -> None:
        """Change the shape of a chunked dataset."""
        self._dataset.resize(tuple(int(n) for n in shape))

    def extend(self, shape: tuple[int, ...]) -> None:
        """Make the dataset at least as large as a shape."""
        self.set_extent(tuple(max(a, int(b)) for a, b in zip(self.shape or (), shape)))

    def flush(self) -> None:
        """Write all changes to the file."""
        self._dataset.flush()

    def refresh(self) -> None:
        """Show what another program has written to the dataset meanwhile."""
        self._dataset.refresh()

    def get_space_status(self) -> int:
        """Return whether space for the elements is allocated: ``h5d.SPACE_STATUS_NOT_ALLOCATED``, ``_PART_ALLOCATED`` or ``_ALLOCATED``."""
        word, value = self._dataset._node.layout()
        if word != "chunked":
            return 2 if word == "compact" or (word == "contiguous" and (value is not None or self._dataset.external)) else 0
        sides = [-(-n // side) for n, side in zip(self.shape or (), value)]
        return min(len(self._all()), 1) if len(self._all()) < math.prod(sides) else 2

    def get_offset(self) -> int | None:
        """Return the offset of the elements in the file, if they are stored in one piece."""
        word, value = self._dataset._node.layout()
        return value if word == "contiguous" else None

    def get_storage_size(self) -> int:
        """Return the number of stored bytes."""
        word, value = self._dataset._node.layout()
        if word == "chunked":
            return sum(chunk.size for chunk in self._all())
        if word == "compact":
            return int(value)
        if word == "contiguous" and (value is not None or self._dataset.external):
            return self._dataset.nbytes
        return 0

    def get_type(self) -> Any:
        """Return the type of the elements as it is stored."""
        from sciformats.h5 import h5t

        return h5t.of(self._dataset._node.datatype(), self._dataset._node.is_committed)

    def get_create_plist(self) -> Properties:
        """Return the properties with which the dataset was created."""
        return Properties(self._dataset)
