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
from sciformats.h5._dataset_id import DatasetID
from sciformats.h5._dims import DimensionManager, is_scale
from sciformats.h5._elements import DatasetWriting
from sciformats.h5._objects import HLObject
from sciformats.h5._views import AsStrView, AstypeView, FieldsView


class VirtualPart(NamedTuple):
    """The file and the dataset of a part of a virtual dataset."""

    file_name: str
    dset_name: str


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

    def refresh(self) -> None:
        """Show what another program has written to the dataset meanwhile, such as new rows.

        This is done for files on this machine. Those that this program writes show all changes without it.

        Raises
        ------
        OSError
            If the file is damaged now, or cannot be opened again.
        ValueError
            If the file is closed.
        """
        self._file_of.check_open()
        if self._found is None:
            return
        self._found = self._found.refreshed()
        self._facts = self._dtype = self._typed = self._take = self._outside = None
        self._is_examined = False
        if self._identifier is not None:
            self._identifier._chunks = None

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
