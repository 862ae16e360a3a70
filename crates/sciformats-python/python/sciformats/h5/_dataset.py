"""Datasets with the interface of h5py."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sciformats import _index
from sciformats.h5 import _convert, _names, _objects, _regions, _selection, _types
from sciformats.h5._dims import DimensionManager, is_scale
from sciformats.h5._elements import DatasetWriting
from sciformats.h5._identifiers import ObjectID, Properties
from sciformats.h5._objects import HLObject


class StoreInfo(NamedTuple):
    """The position of a chunk, as returned by ``DatasetID.get_chunk_info``."""

    chunk_offset: tuple[int, ...]
    filter_mask: int
    byte_offset: int
    size: int


class VirtualPart(NamedTuple):
    """The file and the dataset of a part of a virtual dataset."""

    file_name: str
    dset_name: str


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
        """Do nothing, because every read shows all changes."""

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


class Dataset(DatasetWriting, HLObject):
    """A dataset of the file. Its elements are read when it is indexed."""

    #: The type of the elements of a file that is only read, once it is known.
    _dtype: np.dtype[Any] | None = None

    #: What the Rust part said about the type that `_dtype` is made of.
    _typed: Any = None

    #: What the caller asked of the cache of chunks.
    _cache: tuple[int, int, float] | None = None

    #: The folders in which the caller looks for external files, and for those of virtual datasets.
    _prefixes: tuple[str, str] = ("", "")

    #: Reads elements of a file that is only read, if they are bytes of the type that NumPy has, too.
    _take: Callable[..., Any] | None = None

    #: Whether it is known which of both is the case.
    _is_examined = False

    def _extent(self) -> tuple[list[int], list[int | None]] | None:
        extent: tuple[list[int], list[int | None]] | None = self._fact("extent")
        return extent

    @property
    def id(self) -> DatasetID:
        """The low-level calls of the dataset."""
        if self._identifier is None:
            self._identifier = DatasetID(self)
        found: DatasetID = self._identifier
        return found

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape, or ``None`` for a null dataspace."""
        extent = self._extent()
        return None if extent is None else tuple(extent[0])

    @shape.setter
    def shape(self, shape: Any) -> None:
        self.resize(shape)

    @property
    def maxshape(self) -> tuple[int | None, ...] | None:
        """The largest shape; ``None`` means that there is no limit."""
        extent = self._extent()
        return None if extent is None else tuple(extent[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of an element."""
        if self._dtype is not None and self._found is not None:
            return self._dtype
        datatype = self._fact("datatype")
        # As long as the file has not changed, the answer is the same object.
        if self._dtype is None or self._typed is not datatype:
            self._dtype, self._typed = _types.dtype_of(datatype), datatype
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape or ())

    @property
    def size(self) -> int | None:
        """The number of elements."""
        return None if self.shape is None else math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of the elements in memory, in bytes."""
        return (self.size or 0) * self.dtype.itemsize

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """The shape of a chunk."""
        word, value = self._fact("layout")
        return tuple(value) if word == "chunked" else None

    @property
    def is_virtual(self) -> bool:
        """Whether the elements are those of other datasets."""
        return bool(self._fact("layout")[0] == "virtual")

    @property
    def external(self) -> list[tuple[str, int, int]] | None:
        """The files that contain the elements: name, offset, and size of each."""
        files = self._node.external()
        return [(name, at, (1 << 64) - 1 if size is None else size) for name, at, size in files] or None

    @property
    def _filters(self) -> dict[str, Any]:
        """The parameters of the filters by their names, as programs use them although the name is private."""
        return {name: values for name, (_, values) in zip(self.filter_names, self._pipeline.items())}

    @property
    def regionref(self) -> _regions.Regions:
        """Makes references to parts of the dataset: ``dataset.regionref[0:3]``."""
        return _regions.Regions(self)

    def virtual_sources(self) -> list[VirtualPart]:
        """Return the parts of a virtual dataset.

        Raises
        ------
        RuntimeError
            If the dataset is not virtual.
        """
        if not self.is_virtual:
            raise RuntimeError("Not a virtual dataset")
        return [VirtualPart(*names) for names in self._node.mappings()]

    @property
    def _pipeline(self) -> dict[int, list[int]]:
        return {number: values for number, _, _, values in self._fact("filters")}

    @property
    def filter_ids(self) -> tuple[int, ...]:
        """The numbers of the filters."""
        return tuple(self._pipeline)

    @property
    def filter_names(self) -> tuple[str, ...]:
        """The names of the filters; a filter without a name has its number as one."""
        known = {1: "gzip", 2: "shuffle", 3: "fletcher32", 4: "szip", 5: "nbit", 6: "scaleoffset", 32000: "lzf"}
        return tuple(known.get(number, str(number)) for number in self._pipeline)

    @property
    def compression(self) -> str | None:
        """The name of the compression, ``"unknown"`` if h5py has none for it, and ``None`` if there is none."""
        names = {1: "gzip", 4: "szip", 32000: "lzf"}
        found = next((names[number] for number in self._pipeline if number in names), None)
        others = set(self._pipeline) - {1, 2, 3, 4, 5, 6, 32000}
        return "unknown" if found is None and others else found

    @property
    def compression_opts(self) -> Any:
        """The parameters of the compression."""
        filters = self._pipeline
        if 1 in filters:
            return filters[1][0]
        if 4 in filters:
            mask, pixels = filters[4][:2]
            return ("ec" if mask & 4 else "nn", pixels)
        return None

    @property
    def shuffle(self) -> bool:
        """Whether the byte shuffle is applied."""
        return 2 in self._pipeline

    @property
    def fletcher32(self) -> bool:
        """Whether chunks have checksums."""
        return 3 in self._pipeline

    @property
    def scaleoffset(self) -> int | None:
        """The parameter of the filter scale-offset."""
        found = self._pipeline.get(6)
        return found[1] if found else None

    @property
    def fillvalue(self) -> Any:
        """The value of elements that were never written."""
        described = self._node.datatype()
        fill = self._node.fill()
        if fill is not None:
            return _types.shaped(fill, described, (), self._file_of.address)[()]
        dtype = self.dtype
        if dtype.hasobject and dtype.names is None:
            return b"" if _types.check_string_dtype(dtype) else 0
        return np.zeros((), dtype)[()]

    @property
    def dims(self) -> DimensionManager:
        """The scales of its dimensions."""
        return DimensionManager(self)

    @property
    def is_scale(self) -> bool:
        """Whether the dataset itself is a scale."""
        return is_scale(self.attrs)

    def __len__(self) -> int:
        return self.len()

    def len(self) -> int:
        """The size of the first dimension."""
        if not self.shape:
            raise TypeError("Attempt to take len() of scalar dataset")
        return self.shape[0]

    def __bool__(self) -> bool:
        return not self._file_of.is_closed

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("Can't iterate over a scalar dataset")
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, key: Any) -> Any:
        take = self._take
        if take is not None and key is not Ellipsis and not self._file_of.is_closed:
            # Most keys are of this kind, and programs read many small slabs. The Rust part returns `None` for any other key.
            found = take(key, self._dtype)
            if found is not None:
                return found
        self._file_of.check_open()
        if isinstance(key, _types.RegionReference):
            return _regions.read(self, key)
        if take is None and self._found is not None and not self._is_examined:
            self._is_examined = True
            if self.shape and self.dtype.subdtype is None and self.dtype.itemsize and self._node.direct:
                self._take = self._found.take
                return self[key]
        names, parts = _selection.split(key)
        if self.shape is None:
            if parts in ((), (Ellipsis,)) and not names:
                return _types.Empty(self.dtype)
            raise ValueError("Empty datasets cannot be sliced")
        if len(parts) == 1 and self._is_mask(parts[0]):
            return self._fields(self._masked(np.asarray(parts[0])), names)
        chosen = _selection.choose(parts, self.shape)
        array = self._fields(self._read(chosen), names)
        if array.ndim == 0 and not (parts == (Ellipsis,) and self.dtype.subdtype is None):
            return array[()]
        return array

    def _is_mask(self, part: Any) -> bool:
        return isinstance(part, np.ndarray) and part.dtype == bool and part.shape == self.shape and part.ndim > 0

    def _masked(self, mask: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the elements for which the mask is true. The smallest box that contains them is read."""
        if not mask.any():
            return np.empty((0, *self.dtype.shape), self.dtype.base)
        ranges, box = _index.box_of(mask)
        found: NDArray[Any] = self._ranges(ranges)[mask[box]]
        return found

    def _fields(self, array: NDArray[Any], names: tuple[str, ...]) -> NDArray[Any]:
        if not names:
            return array
        for name in names:
            if self.dtype.names is None or name not in self.dtype.names:
                raise ValueError(f"Field {name} does not appear in this type.")
        if len(names) == 1:
            return np.ascontiguousarray(array[names[0]]).reshape(array.shape + self.dtype[names[0]].shape)
        from numpy.lib import recfunctions

        return recfunctions.repack_fields(array[list(names)])

    def _ranges(self, ranges: list[_index.Range]) -> NDArray[Any]:
        counts = tuple(count for _, count, _ in ranges)
        return _types.shaped(self._node.read(ranges), self._fact("datatype"), counts, self._file_of.address)

    def _read(self, chosen: _selection.Chosen) -> NDArray[Any]:
        self._file_of.check_open()
        inner = self.dtype.shape
        if all(len(ranges) == 1 for ranges in chosen.options):
            return self._ranges([ranges[0] for ranges in chosen.options]).reshape(chosen.shape + inner)
        counts = [sum(count for _, count, _ in ranges) for ranges in chosen.options]
        out = np.empty([*counts, *inner], self.dtype.base)
        places = []
        for ranges in chosen.options:
            ends = itertools.accumulate(count for _, count, _ in ranges)
            places.append([slice(end - r[1], end) for end, r in zip(ends, ranges)])
        for some, to in zip(itertools.product(*chosen.options), itertools.product(*places)):
            out[to] = self._ranges(list(some))
        return out.reshape(chosen.shape + inner)

    def read_direct(self, dest: NDArray[Any], source_sel: Any = None, dest_sel: Any = None) -> None:
        """Read the elements into an existing array."""
        shape = self.shape
        if shape is None:
            raise TypeError("Empty datasets have no numpy representation")
        if source_sel is None and dest_sel is None and dest.shape != shape and not (dest.size == 1 == self.size):
            if tuple(n for n in dest.shape if n != 1) != tuple(n for n in shape if n != 1):
                raise TypeError(f"an array of shape {dest.shape} cannot receive elements of shape {shape}")
        if not dest.flags.c_contiguous:
            raise TypeError("Array must be C-contiguous")
        whole = source_sel is None and dest_sel is None and self._node.direct
        if whole and dest.dtype == self.dtype and dest.flags.c_contiguous and dest.shape == shape and dest.nbytes:
            self._node.read_into([(0, n, 1) for n in shape], dest.reshape(-1).view(np.uint8))
            return
        found = np.asarray(self[() if source_sel is None else source_sel])
        to = dest[... if dest_sel is None else dest_sel]
        if tuple(n for n in to.shape if n != 1) != tuple(n for n in found.shape if n != 1):
            raise TypeError(f"Can't broadcast {found.shape} -> {to.shape}")
        dest[... if dest_sel is None else dest_sel] = _convert.read_as(found, dest.dtype).reshape(to.shape)

    def iter_chunks(self, sel: Any = None) -> Iterator[tuple[slice, ...]]:
        """Iterate over slices of whole chunks that cover the dataset, or the part that slices select."""
        if self.chunks is None or self.shape is None:
            raise TypeError("Chunked dataset required")
        sel = sel if isinstance(sel, tuple) else (slice(None),) * self.ndim if sel is None else (sel,)
        sel = sel + (slice(None),) * (self.ndim - len(sel))
        bounds = []
        for part, size in zip(sel, self.shape):
            if not isinstance(part, slice):
                at = operator.index(part)
                if not -size <= at < size:
                    raise IndexError(f"Index ({at}) out of range for ({-size}-{size - 1})")
                part = slice(at % size, at % size + 1)
            start, stop, step = part.indices(size)
            if step != 1:
                raise ValueError("Step must be 1")
            bounds.append((start, max(start, stop)))
        if len(sel) != self.ndim:
            raise ValueError(f"{len(sel)} slices were given for {self.ndim} dimensions")
        return self._parts(bounds, self.chunks)

    def _parts(self, bounds: list[tuple[int, int]], chunks: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
        starts = [range(low // c * c, high, c) for (low, high), c in zip(bounds, chunks)]
        for corner in itertools.product(*starts):
            yield tuple(
                slice(max(low, at), min(high, at + c), 1) for at, c, (low, high) in zip(corner, chunks, bounds)
            )

    def astype(self, dtype: DTypeLike) -> AstypeView:
        """Return a view that reads elements as another type."""
        if np.dtype(dtype).kind == "T" and _types.check_string_dtype(self.dtype) is None:
            raise TypeError("dset.astype('T') can only be used on datasets with an HDF5 string datatype")
        return AstypeView(self, np.dtype(dtype))

    def asstr(self, encoding: str | None = None, errors: str = "strict") -> AsStrView:
        """Return a view that reads strings as ``str``."""
        info = _types.check_string_dtype(self.dtype)
        if info is None:
            raise TypeError("dset.asstr() can only be used on datasets with an HDF5 string datatype")
        return AsStrView(self, encoding or info.encoding, errors)

    def fields(self, names: str | list[str], *, _prior_dtype: Any = None) -> FieldsView:
        """Return a view that reads some fields of compounds."""
        return FieldsView(self, names)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = True) -> NDArray[Any]:
        if copy is False:
            raise ValueError("elements of a file are always copied: memory allocation cannot be avoided")
        if self.shape is None:
            raise TypeError("Empty datasets have no numpy representation")
        array = np.asarray(self[()])
        return array if dtype is None else _convert.read_as(array, np.dtype(dtype))

    def __repr__(self) -> str:
        if self._file_of.is_closed:
            return "<Closed HDF5 dataset>"
        if self._is_removed:
            return "<Removed HDF5 dataset>"
        name = f'"{_names.last(self._name)}"' if self._name else "(anonymous)"
        shape = "shape None" if self.shape is None else f"shape {self.shape}"
        return f'<HDF5 dataset {name}: {shape}, type "{self.dtype.str}">'


_objects._dataset_class = Dataset


class _View:
    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the dataset."""
        return self._dataset.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions of the dataset."""
        return self._dataset.ndim

    @property
    def size(self) -> int | None:
        """The number of elements of the dataset."""
        return self._dataset.size

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = True) -> NDArray[Any]:
        if copy is False:
            raise ValueError("elements of a file are always copied: memory allocation cannot be avoided")
        array = np.asarray(self[()])
        return array if dtype is None else array.astype(dtype, copy=False)


class AstypeView(_View):
    """The view ``dataset.astype(t)[…]``."""

    def __init__(self, dataset: Dataset, dtype: np.dtype[Any]) -> None:
        super().__init__(dataset)
        self._dtype = dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type as which elements are read."""
        return self._dtype

    def __getitem__(self, key: Any) -> Any:
        found = self._dataset[key]
        if self._dataset.shape is None:
            return found
        if self._dtype.kind == "T":
            texts = np.vectorize(lambda item: item.decode(), otypes=[object])(np.asarray(found, object))
            return texts.astype(self._dtype)[()]
        array = _convert.read_as(found, self._dtype)
        return array if isinstance(found, np.ndarray) else array[()]


class AsStrView(_View):
    """The view ``dataset.asstr()[…]``."""

    def __init__(self, dataset: Dataset, encoding: str, errors: str) -> None:
        super().__init__(dataset)
        self._encoding, self._errors = encoding, errors

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of objects, because the elements are ``str``."""
        return np.dtype("O")

    def __getitem__(self, key: Any) -> Any:
        found = self._dataset[key]
        if self._dataset.shape is None:
            return found
        if isinstance(found, bytes):
            return found.decode(self._encoding, self._errors)
        array = np.empty(found.shape, object)
        for index in np.ndindex(found.shape):
            array[index] = found[index].decode(self._encoding, self._errors)
        return array


class FieldsView(_View):
    """The view ``dataset.fields(names)[…]``."""

    def __init__(self, dataset: Dataset, names: str | list[str]) -> None:
        super().__init__(dataset)
        self._names = names

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the field, or of the record of fields."""
        if isinstance(self._names, str):
            return self._dataset.dtype[self._names]
        return np.dtype([(name, self._dataset.dtype[name]) for name in self._names])

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        names = (self._names,) if isinstance(self._names, str) else tuple(self._names)
        chosen = tuple(part for part in parts if isinstance(part, str))
        for name in chosen:
            if name not in names:
                raise ValueError(f"Field {name} does not appear in this type.")
        if chosen or isinstance(self._names, str) or len(names) > 1 or self._dataset.shape is None:
            return self._dataset[parts if chosen else (*names, *parts)]
        # A list of one name asks for a compound.
        found = np.asarray(self._dataset[(*names, *parts)])
        record = np.zeros(found.shape[: found.ndim - self.dtype[0].ndim], self.dtype)
        record[names[0]] = found
        return record if record.shape else record[()]
