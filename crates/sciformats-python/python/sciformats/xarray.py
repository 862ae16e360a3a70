"""The engine of xarray: ``xarray.open_dataset(path, engine="sciformats")``.

netCDF-4 and other HDF5 files are opened by netCDF's rules, with dimensions, groups and encodings. ASDF, GSD, Blosc2, RawArray and
npy files are opened as variables whose names are derived from paths. Elements are only read when an array is indexed, and several
threads can read at the same time without a lock. Dask sends the path of an array to other processes, and not its elements.
"""

from __future__ import annotations

import io
import math
import os
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from xarray import Dataset, DataTree, Variable
from xarray.backends import BackendArray, BackendEntrypoint, StoreBackendEntrypoint
from xarray.backends.common import AbstractDataStore
from xarray.coding.strings import create_vlen_dtype
from xarray.core import indexing
from xarray.core.utils import FrozenDict

import sciformats
from sciformats import _netcdf, h5
from sciformats._xarray_write import write
from sciformats.errors import NotSupported
from sciformats.h5 import _names

#: The first bytes of the formats. An HDF5 file may begin later, which is only known after opening it.
_SIGNATURES = (b"\x89HDF\r\n\x1a\n", b"#ASDF", b"\x93NUMPY", b"rawarray", b"\x9e\xa8b2frame", b"\xdfe" * 4)


#: The largest number of stored chunks, and of their bytes, that a block has if nobody names its size.
_BLOCK_CHUNKS, _BLOCK_BYTES = 8, 8 << 20

#: The number of blocks that are left at least for the threads or processes that share the work.
_BLOCKS = 16

#: The type of texts of variable length.
_TEXT: np.dtype[Any] = create_vlen_dtype(str)  # type: ignore[no-untyped-call]


class SciformatsArray(BackendArray):
    """An array that is read when it is indexed. It has no lock and needs none."""

    def __init__(self, source: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        self._source = source
        self.dtype = dtype
        self.shape = shape

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Index in another thread. Python's lock is not held while elements are read."""
        import asyncio

        return await asyncio.to_thread(self.__getitem__, key)

    def _read(self, key: tuple[Any, ...]) -> Any:
        rank = len(self._source.shape or ())
        if isinstance(self._source, h5.Dataset):
            found = _padded(self._source, self.shape, key[:rank])
        else:
            found = np.asarray(self._source.oindex(key[:rank]))
        # The last dimensions may be those of the elements.
        after = 0
        for part in reversed(key[rank:]):
            found = found[(..., part, *[slice(None)] * after)]
            after += isinstance(part, slice) or np.ndim(part) > 0
        if self.dtype.kind == "O" and found.dtype.kind == "O":
            return _texts(found)
        if found.dtype.kind in "mM" and self.dtype.kind in "mM":
            return _times(found, self.dtype)
        return found.astype(self.dtype, copy=False)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return ("sciformats.xarray", *self._source.__dask_tokenize__())


def _known_time(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type with the unit in which xarray has dates and time spans; spans without a unit are integers."""
    unit, _ = np.datetime_data(dtype)
    if unit == "generic":
        return np.dtype("<i8")
    if unit not in ("s", "ms", "us", "ns"):
        unit = "ns" if unit in ("ps", "fs", "as") else "s"
    return np.dtype(f"<{dtype.kind}8[{unit}]")


def _times(found: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return dates or time spans in another unit.

    Raises
    ------
    NotSupported
        If the unit does not have one of them.
    """
    converted = found.astype(dtype)
    if not np.array_equal(converted.astype(found.dtype).view("<i8"), found.view("<i8")):
        raise NotSupported(f"elements of type {found.dtype} are not whole numbers of the units that xarray has")
    return converted


def _padded(dataset: h5.Dataset, shape: tuple[int, ...], key: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """Return elements of a variable whose dimensions may be longer than the dataset. Elements beyond it have the fill value."""
    stored = dataset.shape or ()
    short = [axis for axis, size in enumerate(stored) if size < shape[axis]]
    if not short:
        if key and all(isinstance(part, slice) and (part.step is None or part.step > 0) for part in key):
            return np.asarray(dataset[key])
        return _outer(dataset, key)
    from sciformats import _index

    inside, parts, dropped = {}, list(key), []
    for axis in short:
        part = key[axis]
        if isinstance(part, slice):
            chosen = np.arange(shape[axis])[part]
        else:
            chosen = np.atleast_1d(_index.positions(np.atleast_1d(part), shape[axis], axis))
            if not np.ndim(part):
                dropped.append(axis)
        inside[axis] = chosen < stored[axis]
        parts[axis] = chosen[inside[axis]]
    found = _outer(dataset, tuple(parts))
    # The axes of integers are missing in what was found, except for those that were made lists here.
    axes = [axis for axis, part in enumerate(parts) if isinstance(part, slice) or np.ndim(part)]
    places = [np.flatnonzero(inside[axis]) if axis in inside else np.arange(found.shape[at]) for at, axis in enumerate(axes)]
    counts = [len(inside[axis]) if axis in inside else found.shape[at] for at, axis in enumerate(axes)]
    fill = _netcdf.fill(dataset)
    whole = np.empty([*counts, *found.shape[len(counts) :]], found.dtype)
    if isinstance(fill, np.ndarray) and found.dtype.kind == "O":
        # This is a single element: a list.
        whole.fill(fill)
    else:
        whole[...] = fill
    whole[np.ix_(*places)] = found
    result: np.ndarray[Any, Any] = whole[(*(0 if axis in dropped else slice(None) for axis in axes), ...)]
    return np.asarray(result, found.dtype)


def _outer(dataset: h5.Dataset, key: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    """Return elements of a dataset, selected by integers, slices, and lists of integers in any order for each dimension."""
    from sciformats import _index
    from sciformats.h5 import _selection

    shape = dataset.shape or ()
    options: list[list[_index.Range]] = []
    result: list[int] = []
    after: list[np.ndarray[Any, Any] | None] = []
    for axis, part in enumerate(key):
        if isinstance(part, slice):
            selected = _index.basic((part,), shape[axis : axis + 1])
            options.append(selected.ranges)
            count = selected.counts[0]
            result.append(count)
            backwards = selected.after[0] != slice(None)
            after.append(np.arange(count)[::-1] if backwards else None)
        elif isinstance(part, np.ndarray) and part.ndim:
            unique, back = np.unique(_index.positions(part, shape[axis], axis), return_inverse=True)
            options.append(_index.runs(unique) or [(0, 0, 1)])
            result.append(len(unique))
            after.append(back)
        else:
            options.append(_index.basic((part,), shape[axis : axis + 1]).ranges)
    found = np.asarray(dataset._read(_selection.Chosen(options, tuple(result))))
    for axis, order in enumerate(after):
        if order is not None:
            found = np.take(found, order, axis=axis)
    return found


def _texts(found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    out = np.empty(found.shape, object)
    for index in np.ndindex(found.shape):
        item = found[index]
        out[index] = item.decode("utf-8", "replace") if isinstance(item, bytes) else item
    return out


class _Shared:
    """A file that several datasets of xarray use. It is closed with the last of them, unless it came from a pickle: then the process
    keeps it open, because other pickles may refer to it."""

    def __init__(self, file: Any, kept: bool = False) -> None:
        self.file = file
        self._kept = kept
        self._users = 0
        self._lock = threading.Lock()

    def use(self) -> None:
        """Count one more dataset."""
        with self._lock:
            self._users += 1

    def close(self) -> None:
        """Count one dataset less, and close the file if it was the last one."""
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last and not self._kept:
            self.file.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Shared, (self.file, True)


class SciformatsStore(AbstractDataStore):
    """A group of a file as variables, attributes and dimensions."""

    def __init__(self, file: _Shared, group: Any) -> None:
        self._file = file
        self._file.use()
        self._open = True
        self._group = group
        self._read: dict[str, Variable] | None = None
        self._growing: set[str] = set()

    def get_variables(self) -> Mapping[str, Variable]:
        """Return the variables. None of them is read."""
        if self._read is None:
            if isinstance(self._group, h5.Group):
                self._read = _hdf5_variables(self._group, self._growing)
            else:
                self._read = _plain_variables(self._group)
        return FrozenDict(self._read)

    def get_attrs(self) -> Mapping[str, Any]:
        """Return the attributes of the group."""
        if isinstance(self._group, h5.Group):
            return FrozenDict(_netcdf.shown(_netcdf.Attributes(self._group)))
        if isinstance(self._group, sciformats.Group):
            return FrozenDict(dict(self._group.attrs))
        return FrozenDict({})

    def get_dimensions(self) -> Mapping[str, int]:
        """Return the dimensions with their lengths."""
        sizes: dict[str, int] = {}
        for variable in self.get_variables().values():
            sizes.update(zip(map(str, variable.dims), variable.shape))
        return FrozenDict(sizes)

    def get_encoding(self) -> dict[str, Any]:
        """Return the dimensions that can grow."""
        if not isinstance(self._group, h5.Group):
            return {}
        self.get_variables()
        return {"unlimited_dims": set(self._growing)}

    def close(self) -> None:
        """Close the file, if no other dataset uses it."""
        if self._open:
            self._open = False
            self._file.close()


def _hdf5_variables(group: h5.Group, growing: set[str]) -> dict[str, Variable]:
    """Return the variables of a group, and add its dimensions that can grow to ``growing``."""
    phony: dict[str, int] = {}
    numbered: dict[str, dict[int, str]] = {}
    read: dict[str, tuple[h5.Dataset, _netcdf.Attributes, list[str | None], tuple[str, ...]]] = {}
    # How long the dimensions are that can grow, by the paths of their scales.
    lengths: dict[str, int] = {}
    # A link that leads nowhere is not a variable.
    for name, member in group.items():
        if not isinstance(member, h5.Dataset) or member.shape is None:
            continue
        attributes = _netcdf.Attributes(member)
        places = _netcdf.scales(member, attributes, numbered)
        most = member.maxshape or ()
        if _netcdf.is_bare_dimension(attributes):
            if None in most:
                growing.update(_netcdf.dimensions(places, member.shape, {}))
            continue
        dims = _netcdf.dimensions(places, member.shape, phony)
        growing.update(str(dim) for dim, size in zip(dims, most) if size is None)
        for place, size in zip(places, most):
            if place is not None and size is None:
                lengths.setdefault(place, 0)
        # Names of variables are texts in xarray.
        shown = _free(_names.shown(_names.inner(name)).removeprefix("_nc4_non_coord_"), read)
        read[shown] = member, attributes, places, dims
    for member, _, places, _ in read.values():
        for place, size in zip(places, member.shape or ()):
            if place in lengths:
                lengths[place] = max(lengths[place], size)
    for place in lengths:
        lengths[place] = max(lengths[place], _elsewhere(group, place))
    found: dict[str, Variable] = {}
    for shown, (member, attributes, places, dims) in read.items():
        shape = tuple(lengths[place] if place in lengths else size for place, size in zip(places, member.shape or ()))
        found[shown] = _hdf5_variable(member, attributes, dims, shape)
    _join_chunks(found)
    return found


class _Chunks(dict[str, int]):
    """The sides of the stored chunks of a variable, and those of the blocks in which it is read if nobody names their size.

    A task of Dask takes about as long as to decode a chunk of a megabyte, and only a read of several chunks is shared by threads. xarray
    calls `get` with the length of a dimension to find out which size it has if nobody names one, and otherwise to find out
    whether a size that was named cuts stored chunks in two.
    """

    def __init__(self, chunks: Mapping[str, int]) -> None:
        super().__init__(chunks)
        self.blocks: dict[str, int] = {}

    def get(self, dim: str, length: Any = None) -> Any:
        """Return the side of a chunk, or that of a block if the length of the dimension is what it has otherwise."""
        return super().get(dim) if length is None else self.blocks.get(dim, super().get(dim, length))


def _join_chunks(variables: Mapping[str, Variable]) -> None:
    """Let blocks have several chunks along the first dimension.

    Variables whose chunks have the same side along a dimension have blocks with the same side, because many functions of xarray require
    that. Variables that become an index are not divided, and do not matter.
    """
    by_side: dict[tuple[str, int], list[Variable]] = {}
    inner: set[tuple[str, int]] = set()
    for name, variable in variables.items():
        chunks = variable.encoding["chunksizes"]
        if chunks and variable.dims != (name,):
            first, *others = zip(map(str, variable.dims), chunks)
            by_side.setdefault(first, []).append(variable)
            inner.update(others)
    for (dim, side), users in by_side.items():
        bytes_of = [math.prod(each.encoding["chunksizes"]) * each.dtype.itemsize for each in users]
        numbers = [math.prod(-(-n // m) for n, m in zip(each.shape, each.encoding["chunksizes"])) for each in users]
        joined = min(_BLOCK_CHUNKS, _BLOCK_BYTES // max(1, *bytes_of), max(numbers) // _BLOCKS)
        if joined > 1 and (dim, side) not in inner:
            for each in users:
                each.encoding["preferred_chunks"].blocks[dim] = joined * side


def _elsewhere(group: h5.Group, place: str) -> int:
    """Return the length that the variables of other groups give to a dimension, whose scale is at a path."""
    file, here, longest = group.file, (group._name or "/").rstrip("/"), 0
    scale = file.get(place)
    if isinstance(scale, h5.Dataset):
        for path, axis in _netcdf.users(scale):
            user = file.get(path) if path.rpartition("/")[0] != here else None
            if isinstance(user, h5.Dataset):
                longest = max(longest, *(user.shape or ())[axis : axis + 1], 0)
    return longest


def _hdf5_variable(dataset: h5.Dataset, read: _netcdf.Attributes, dims: tuple[str, ...], shape: tuple[int, ...]) -> Variable:
    attributes = _netcdf.shown(read)
    dtype = dataset.dtype
    if dtype.subdtype is not None:
        base, inner = dtype.subdtype
        dims += tuple(f"{_names.shown((dataset._name or '').rsplit('/', 1)[-1])}_{i}" for i in range(len(inner)))
        dtype, shape = base, shape + inner
    string = h5.check_string_dtype(dtype)
    if string is not None and string.length is None:
        dtype = _TEXT
    chunks = dataset.chunks
    compression = dataset.compression
    encoding: dict[str, Any] = {
        "dtype": str if string is not None and string.length is None else dtype,
        "original_shape": shape,
        "source": dataset._file_of.shown,
        "chunksizes": chunks,
        "contiguous": chunks is None,
        "zlib": compression == "gzip",
        "complevel": dataset.compression_opts if compression == "gzip" else 0,
        "shuffle": dataset.shuffle,
        "fletcher32": dataset.fletcher32,
    }
    if chunks is not None:
        encoding["preferred_chunks"] = _Chunks(dict(zip(dims, chunks)))
    array = SciformatsArray(dataset, dtype, shape)
    return Variable(dims, indexing.LazilyIndexedArray(array), attributes, encoding)


def _plain_variables(group: Any) -> dict[str, Variable]:
    if isinstance(group, sciformats.Array):
        return {"data": _plain_variable(group, "data")}
    found: dict[str, Variable] = {}
    for name, member in group._listing():
        if isinstance(member, sciformats.Array) and not member.is_null:
            # Names in a tree of xarray have no slashes, but those of GSD do.
            shown = _free(name.replace("/", "_"), found)
            found[shown] = _plain_variable(member, shown)
        elif isinstance(member, Exception):
            warnings.warn(f"{name} is left out: {member}", UserWarning, stacklevel=2)
    return found


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """Return a name that no other variable has."""
    while name in taken:
        name += "_"
    return name


def _plain_variable(array: sciformats.Array, name: str) -> Variable:
    dtype, shape = array.dtype, array.shape
    if dtype.subdtype is not None:
        base, inner = dtype.subdtype
        dtype, shape = base, shape + inner
    if dict(dtype.metadata or {}).get("vlen") is str:
        dtype = _TEXT
    if dtype.kind in "mM":
        dtype = _known_time(dtype)
    dims = tuple(f"{name}_dim_{axis}" for axis in range(len(shape)))
    encoding: dict[str, Any] = {"source": array.file.filename, "dtype": dtype}
    if array.chunks:
        encoding["preferred_chunks"] = dict(zip(dims, array.chunks))
        encoding["chunksizes"] = array.chunks
    return Variable(dims, indexing.LazilyIndexedArray(SciformatsArray(array, dtype, shape)), dict(array.attrs), encoding)


def _open(filename_or_obj: Any, storage_options: Mapping[str, Any] | None) -> Any:
    """Return the file, by the HDF5 interface for HDF5 files, and by the common interface for others."""
    if hasattr(filename_or_obj, "read"):
        if hasattr(filename_or_obj, "seek"):
            filename_or_obj.seek(0)
        filename_or_obj = filename_or_obj.read()
    if isinstance(filename_or_obj, (bytes, bytearray, memoryview)):
        content = bytes(filename_or_obj)
        if _is_hdf5(content):
            return h5.File(io.BytesIO(content), storage_options=storage_options)
        return sciformats.open(content, storage_options=storage_options)
    try:
        return h5.File(filename_or_obj, storage_options=storage_options)
    except sciformats.NotThisFormat:
        return sciformats.open(filename_or_obj, storage_options=storage_options)
    except IsADirectoryError:
        return sciformats.open(filename_or_obj, storage_options=storage_options)


def _paths(top: Any) -> Iterator[str]:
    """Return the paths of a group and of all groups below, each of which is found once, whatever links lead to it."""
    seen, waiting = {top}, [(top, "/")]
    while waiting:
        group, path = waiting.pop()
        yield path
        below = []
        for name, member in _groups(group):
            if member not in seen:
                seen.add(member)
                below.append((member, f"{path.rstrip('/')}/{name}"))
        waiting.extend(reversed(below))


def _groups(group: Any) -> Iterator[tuple[str, Any]]:
    """Return the groups in a group with their names. Soft and external links are not followed."""
    if isinstance(group, h5.Group):
        for name in group:
            if isinstance(group.get(name, getlink=True), h5.HardLink):
                member = group[name]
                if isinstance(member, h5.Group):
                    yield _names.inner(name), member
    elif isinstance(group, sciformats.Group):
        for name, member in group._listing():
            if isinstance(member, sciformats.Group):
                yield name, member


class SciformatsBackendEntrypoint(BackendEntrypoint):
    """The engine ``"sciformats"``."""

    description: ClassVar[str] = "Open netCDF-4, HDF5, ASDF, GSD, Blosc2, RawArray and npy files without a lock"
    url: ClassVar[str] = "https://github.com/sciformats/sciformats"
    supports_groups: ClassVar[bool] = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return whether a local file, or bytes, begin like a file of one of the formats."""
        try:
            if isinstance(filename_or_obj, (str, os.PathLike)):
                with open(filename_or_obj, "rb") as file:
                    return _begins(file.read(64))
            if isinstance(filename_or_obj, (bytes, memoryview)):
                return _begins(bytes(filename_or_obj[:64]))
        except OSError:
            pass
        return False

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: bool | None = None,
        group: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Dataset:
        """Return one group of a file, which is the root unless ``group`` names another.

        ``storage_options`` say how a URL is opened; see :func:`sciformats.open`.
        """
        file = _Shared(_open(filename_or_obj, storage_options))
        return _dataset(
            file,
            group or "/",
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: bool | None = None,
        group: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> dict[str, Dataset]:
        """Return all groups of a file by their paths, each once. The file is opened once, and closed with the last of them."""
        file = _Shared(_open(filename_or_obj, storage_options))
        top = (group or "/").strip("/")
        try:
            start = file.file[top] if top else file.file
            return {
                path: _dataset(
                    file,
                    f"{top}/{path.strip('/')}".strip("/") or "/",
                    mask_and_scale=mask_and_scale,
                    decode_times=decode_times,
                    concat_characters=concat_characters,
                    decode_coords=decode_coords,
                    drop_variables=drop_variables,
                    use_cftime=use_cftime,
                    decode_timedelta=decode_timedelta,
                )
                for path in _paths(start)
            }
        except BaseException:
            file.file.close()
            raise

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> DataTree:
        """Return all groups of a file as a tree."""
        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))


def _dataset(file: _Shared, group: str, **decoders: Any) -> Dataset:
    """Return a group of a file. If that is not possible, the file is closed."""
    opened = file.file
    root = opened.root if isinstance(opened, sciformats.File) else opened
    try:
        where = opened[group] if group.strip("/") else root
        if isinstance(where, h5.Dataset):
            raise ValueError(f"{group!r} is a dataset, and not a group")
    except BaseException:
        opened.close()
        raise
    store = SciformatsStore(file, where)
    try:
        return StoreBackendEntrypoint().open_dataset(store, **decoders)
    except BaseException:
        store.close()
        raise


def _begins(first: bytes) -> bool:
    return any(first.startswith(signature) for signature in _SIGNATURES)


def _is_hdf5(content: bytes) -> bool:
    """Return whether the signature of HDF5 is at the start, or behind a user block, whose size is a power of two."""
    at = 0
    while at < len(content):
        if content.startswith(_SIGNATURES[0], at):
            return True
        at = 2 * at or 512
    return False
