"""Writes data of xarray as netCDF-4 files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from pandas import isnull
from xarray import Dataset, DataTree, Variable, conventions
from xarray.coding.strings import CharacterArrayCoder, is_bytes_dtype

try:
    from xarray.backends.common import ensure_dtype_not_object
except ImportError:  # older versions
    from xarray.conventions import ensure_dtype_not_object  # type: ignore[attr-defined,no-redef]

from sciformats import h5
from sciformats._replace import replacing

#: The number of bytes that wait in memory before they are written to the file.
_WAITING = 1 << 28

#: The number of bytes of blocks that Dask computes together, in its threads or processes.
_TOGETHER = 1 << 26


#: The words of encodings that say how elements are stored. xarray turns the others into attributes.
_STORAGE = frozenset(
    {"zlib", "complevel", "shuffle", "fletcher32", "chunksizes", "contiguous", "compression", "endian", "zstd", "bzip2"}
    | {"dtype", "_FillValue", "source", "original_shape"}
)

#: The numbers of the filters beside deflate that netCDF names, and the level that each of them has by default.
_FILTERS = {"zstd": (32015, 4), "bzip2": (307, 9)}

#: The words that name a compression. Of several flags that are true, the first one counts, as with xarray.
_COMPRESSIONS = (*_FILTERS, "zlib")


#: The words of encodings that mark missing elements.
_MARKS = ("_FillValue", "missing_value")


def write(
    data: Dataset | DataTree,
    path: str | os.PathLike[str],
    *,
    encoding: Mapping[str, Mapping[str, Any]] | None = None,
    unlimited_dims: tuple[str, ...] | None = None,
) -> None:
    """Write a dataset, or a tree with all of its groups, as a netCDF-4 file.

    Arrays of Dask are computed and written a few blocks at a time, so that memory is bounded; the blocks are computed in parallel, and
    their chunks are compressed in several threads. An existing file is replaced when the new one is complete; until then the new one is in
    a hidden folder beside it. If an exception ends the work, an existing file stays as it is, and otherwise there is none.

    Parameters
    ----------
    data : Dataset or DataTree
        What to write.
    path : str or path
        The file.
    encoding : dict, optional
        For each variable, how it is stored, as for ``to_netcdf``: ``zlib``, ``complevel``, ``shuffle``, ``fletcher32``,
        ``chunksizes``, ``contiguous``, ``endian``, ``dtype``, ``_FillValue``, ``scale_factor`` and so on. ``compression`` is
        ``"zlib"``, ``"zstd"`` or ``"bzip2"``. These add to the encodings of the variables, and win over what is contrary to them
        there; ``None`` takes a word away. In a tree they hold for the variables of this name in all groups.
    unlimited_dims : tuple of str, optional
        The dimensions that can grow; by default those of the dataset's encoding.

    Raises
    ------
    TypeError, ValueError
        If a variable cannot be stored, an encoding is not possible, or a variable or dimension that is named does not exist.
    Conflict
        If this process has an existing file open, or another program writes it.
    """
    _check(data, encoding or {}, unlimited_dims)
    with replacing(path) as new, h5.File(new, "w", track_order=True) as file:
        if isinstance(data, DataTree):
            for node in data.subtree:
                group = file if node.path == data.path else file.require_group(node.path[len(data.path) :].strip("/"))
                _group(node.to_dataset(inherit=False), group, encoding or {}, unlimited_dims)
        else:
            _group(data, file, encoding or {}, unlimited_dims)


def _check(data: Dataset | DataTree, encoding: Mapping[str, Mapping[str, Any]], growing: Any) -> None:
    """Raise an exception if there is no variable or dimension of a name."""
    groups = [node.to_dataset(inherit=False) for node in data.subtree] if isinstance(data, DataTree) else [data]
    variables = {str(name) for group in groups for name in group.variables}
    unknown = [name for name in encoding if name not in variables]
    if unknown:
        raise ValueError(f"encoding= names variables that do not exist: {', '.join(map(repr, unknown))}")
    dimensions = {dimension for group in groups for dimension in group.dims}
    unknown = [name for name in ([growing] if isinstance(growing, str) else growing or ()) if name not in dimensions]
    if unknown:
        raise ValueError(f"unlimited_dims= names dimensions that do not exist: {', '.join(map(repr, unknown))}")
    for group in groups:
        for name in (*group.variables, *group.dims):
            if "/" in str(name):
                raise ValueError(f"{name!r} has a slash, which divides the names of groups in a path")
        for name, variable in group.variables.items():
            _merged(str(name), variable, encoding.get(str(name), {}), _growing(group, growing))


def _growing(data: Dataset, growing: Any) -> set[Any]:
    """Return the dimensions of a group that can grow."""
    if growing is None:
        growing = data.encoding.get("unlimited_dims", ())
    return {growing} if isinstance(growing, str) else set(growing)


def _group(data: Dataset, group: Any, encoding: Mapping[str, Mapping[str, Any]], growing: Any) -> None:
    growing = _growing(data, growing)
    copy = data.copy(deep=False)
    for name, variable in copy.variables.items():
        variable.encoding = _merged(str(name), variable, encoding.get(str(name), {}), growing)
    # The attributes `coordinates` tell coordinates that are no dimensions from other variables.
    variables, attributes = conventions.encode_dataset_coordinates(copy)
    encoded, attributes = conventions.cf_encoder(variables, attributes)
    for name, variable in encoded.items():
        left = [word for word in encoding.get(str(name), {}) if word in variable.encoding and word not in _STORAGE]
        if left:
            raise ValueError(f"the encoding of {name!r} is not supported: {', '.join(map(repr, left))}")
        if variable.dtype.kind == "O" and variable.chunks is None:
            encoded[name] = ensure_dtype_not_object(variable, name=name)
        encoded[name] = _characters(encoded[name], str(name))
    for name, value in attributes.items():
        group.attrs[str(name)] = _attribute(value)
    scales = {}
    sizes = dict(data.sizes)
    for variable in encoded.values():
        sizes.update((dimension, size) for dimension, size in variable.sizes.items() if dimension not in sizes)
    for number, (dimension, size) in enumerate(sizes.items()):
        own = encoded.get(dimension)
        if own is not None and own.dims == (dimension,):
            scale = _create(group, str(dimension), own, growing)
            scale.make_scale(str(dimension))
        else:
            most = None if dimension in growing else size
            scale = group.create_dataset(str(dimension), (size,), ">f4", maxshape=(most,) if most is None else None)
            scale.make_scale(f"This is a netCDF dimension but not a netCDF variable.{size:10d}")
        scale.attrs["_Netcdf4Dimid"] = np.int32(number)
        scales[dimension] = scale
    for name, variable in encoded.items():
        made = scales.get(name) if variable.dims == (name,) else None
        if made is None:
            shown = f"_nc4_non_coord_{name}" if name in scales else str(name)
            made = _create(group, shown, variable, growing)
            for axis, dimension in enumerate(variable.dims):
                made.dims[axis].attach_scale(scales[dimension])
        for key, value in variable.attrs.items():
            made.attrs[str(key)] = _attribute(value, variable.dtype if key == "_FillValue" else None)
        _elements(made, variable)


def _characters(variable: Variable, name: str) -> Variable:
    """Return bytes as characters along one more dimension, because netCDF has no other type for them."""
    if not variable.dtype.itemsize or not is_bytes_dtype(variable.dtype):  # type: ignore[no-untyped-call]
        return variable
    found: Variable = CharacterArrayCoder().encode(variable, name=name)  # type: ignore[no-untyped-call]
    chunks = found.encoding.get("chunksizes")
    if chunks is not None and len(chunks) < found.ndim:
        found.encoding = {**found.encoding, "chunksizes": (*chunks, found.shape[-1])}
    return found


def _merged(name: str, variable: Variable, asked: Mapping[str, Any], growing: set[Any]) -> dict[str, Any]:
    """Return what the caller asks for, and what of the variable's own encoding is not contrary to it.

    Raises
    ------
    ValueError
        If the parts of what is asked exclude each other.
    """
    # Compression by these is not offered, and nobody who declines it is refused.
    asked = {word: value for word, value in asked.items() if value or word not in ("szip", "blosc")}
    found = _inherited(variable, growing)
    compressions = {"compression", *_COMPRESSIONS}
    replaced: set[str] = set()
    if asked.get("contiguous"):
        replaced |= {"chunksizes", "fletcher32", "complevel", "shuffle", *compressions}
    elif asked.get("chunksizes") is not None:
        replaced.add("contiguous")
    if compressions & set(asked):
        replaced |= compressions
        if _compression(asked) != _compression(found):
            replaced |= {"complevel", "shuffle"}
    if asked.get("dtype") is not None:
        replaced.add("endian")
    if "_FillValue" in asked:
        replaced.add("missing_value")
    merged = {**{word: value for word, value in found.items() if word not in replaced}, **asked}
    merged = {word: value for word, value in merged.items() if value is not None or word in (*_MARKS, "coordinates")}
    if variable.ndim and merged.get("contiguous"):
        excluded = [] if merged.get("chunksizes") is None else ["chunksizes"]
        if asked.get("contiguous"):
            excluded += [word for word in ("fletcher32", "compression", *_COMPRESSIONS) if asked.get(word)]
            excluded += [f"unlimited {dimension}" for dimension in variable.dims if dimension in growing]
        if excluded:
            raise ValueError(f"the encoding of {name!r} has contiguous=True, which excludes {', '.join(excluded)}")
    if {"dtype", *_MARKS} & set(asked) and "dtype" in merged and "_Unsigned" not in merged:
        for word in _MARKS:
            if merged.get(word) is not None and not _fits(merged[word], merged["dtype"]):
                text = f"the {word} {merged[word]} of {name!r} is no {np.dtype(merged['dtype'])}; name another one in encoding=, or None"
                raise ValueError(text)
    if asked.get("complevel") and not compressions & set(asked) and _compression(merged) is None:
        raise ValueError(f"the encoding of {name!r} has a complevel, but no compression")
    return merged


def _fits(mark: Any, dtype: Any) -> bool:
    """Return whether a number that marks missing elements is one of a type, perhaps rounded."""
    old, new = np.asarray(mark), np.dtype(dtype)
    if old.dtype.kind not in "iuf" or new.kind not in "iuf":
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        cast = old.astype(new)
    return bool((np.isfinite(cast) == np.isfinite(old)).all() if new.kind == "f" else (cast == old).all())


def _inherited(variable: Variable, growing: set[Any]) -> dict[str, Any]:
    """Return the encoding of a variable without what does not fit it any more, or only fits the file from which it comes."""
    found = dict(variable.encoding)
    chunks = found.get("chunksizes")
    if chunks is not None:
        del found["chunksizes"]
        if len(chunks) == variable.ndim and found.get("original_shape", variable.shape) == variable.shape:
            sides = zip(chunks, variable.dims, variable.shape)
            found["chunksizes"] = tuple(int(side) if of in growing else min(int(side), size) for side, of, size in sides)
    for word in ("blosc", "szip"):
        # Compression by these is not offered, and their words come with every variable that netCDF4 has read.
        found.pop(word, None)
    if found.get("compression") not in (None, "zlib", "gzip", *_FILTERS):
        del found["compression"]
    return found


def _create(group: Any, name: str, variable: Variable, growing: set[str]) -> Any:
    how = variable.encoding
    shape = variable.shape
    dtype: Any = variable.dtype
    if dtype.kind in "OU":
        dtype = h5.string_dtype()
    elif how.get("endian") not in (None, "native"):
        if how["endian"] not in ("little", "big"):
            raise ValueError(f"the encoding of {name!r} has an unknown byte order: {how['endian']!r}")
        dtype = dtype.newbyteorder("<" if how["endian"] == "little" else ">")
    grows = bool(growing & set(map(str, variable.dims)))
    filters = _filters(name, how)
    options: dict[str, Any] = {}
    chunks = how.get("chunksizes")
    if chunks is not None and len(chunks) != len(shape):
        raise ValueError(f"the encoding of {name!r} has chunks of {len(chunks)} dimensions, but the variable has {len(shape)}")
    if shape:
        if chunks is not None:
            options["chunks"] = _sides(name, variable, chunks, growing)
        options.update(filters)
        options["fletcher32"] = bool(how.get("fletcher32", False))
        if grows:
            options["maxshape"] = tuple(None if d in growing else n for d, n in zip(variable.dims, shape))
    fill = variable.attrs.get("_FillValue")
    if fill is not None and dtype.kind not in "OS":
        options["fillvalue"] = fill
    return group.create_dataset(name, shape, dtype, **options)


def _sides(name: str, variable: Variable, chunks: Any, growing: set[str]) -> Any:
    """Return the shape of chunks; as in netCDF, 0 is the whole of a dimension that cannot grow."""
    sides = []
    for side, dimension, size in zip(map(int, chunks), variable.dims, variable.shape):
        grows = dimension in growing
        if not grows and not size:
            # There will be no chunk, whatever shape it has.
            return True
        if side < 0 or side > size and not grows:
            raise ValueError(f"the encoding of {name!r} has chunks of {side} along {dimension!r}, which has the length {size}")
        sides.append(side or (1 if grows else size))
    return tuple(sides)


def _compression(how: Mapping[str, Any]) -> Any:
    """Return the name of the compression, if there is one."""
    chosen = how.get("compression") or next((word for word in _COMPRESSIONS if how.get(word)), None)
    return "zlib" if chosen == "gzip" else chosen


def _filters(name: str, how: Mapping[str, Any]) -> dict[str, Any]:
    """Return how elements are compressed."""
    chosen, level = _compression(how), how.get("complevel")
    if chosen not in (None, *_COMPRESSIONS):
        raise ValueError(f"the encoding of {name!r} names a compression that is not supported: {chosen!r}")
    if chosen is None:
        return {"shuffle": bool(how.get("shuffle", False))}
    if level == 0:
        # As in netCDF, this turns compression off.
        return {}
    number, usual = ("gzip", 4) if chosen == "zlib" else _FILTERS[chosen]
    level = int(usual if level is None else level)
    options = level if chosen == "zlib" else (level,)
    return {"compression": number, "compression_opts": options, "shuffle": bool(how.get("shuffle", True))}


def _attribute(value: Any, dtype: Any = None) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        value = value.tolist()
    if isinstance(value, str):
        # A text of NumPy becomes one of Python.
        return str(value)
    if np.asarray(value).dtype == bool:
        # netCDF has no truth values.
        return np.asarray(value, np.int8)[()]
    if dtype is not None and dtype.kind not in "OSU":
        return np.array([value], dtype).reshape(1)
    if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value):
        return np.array([str(each) for each in value], dtype=object) if value else ""
    return value


def _elements(made: Any, variable: Variable) -> None:
    waiting = 0
    for part, block in _blocks(variable):
        array = np.asarray(block)
        if array.dtype.kind == "O":
            array = _texts(array)
        if array.size:
            made[part] = array
        waiting += array.nbytes
        if waiting > _WAITING:
            made.flush()
            waiting = 0


def _texts(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return texts in which missing ones are empty, as xarray itself writes them."""
    found = np.where(isnull(array), "", array)
    for each in found.ravel():
        if not isinstance(each, (str, bytes)):
            raise TypeError(f"{each!r} is an object and not a text; give the array a type of NumPy with astype()")
    return found


def _blocks(variable: Variable) -> Iterator[tuple[Any, Any]]:
    """Return the blocks with their places. Those of Dask are computed together, a limited number of bytes at a time."""
    if variable.chunks is None:
        yield (), variable.values
        return
    import dask

    lazy: Any = variable.data
    bounds = []
    for sizes in variable.chunks:
        ends = np.cumsum(sizes)
        bounds.append([slice(int(end - size), int(end)) for size, end in zip(sizes, ends)])
    parts = [tuple(each[at] for each, at in zip(bounds, index)) for index in np.ndindex(*(len(each) for each in bounds))]
    batch: list[Any] = []
    bytes_ = 0
    for number, part in enumerate(parts):
        batch.append(part)
        bytes_ += lazy.dtype.itemsize * math.prod(each.stop - each.start for each in part)
        if bytes_ >= _TOGETHER or number + 1 == len(parts):
            yield from zip(batch, dask.compute(*(lazy[each] for each in batch)))  # type: ignore[attr-defined, no-untyped-call]
            batch, bytes_ = [], 0
