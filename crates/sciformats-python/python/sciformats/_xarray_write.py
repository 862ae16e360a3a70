"""Writes data of xarray as netCDF-4 files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from xarray import Dataset, DataTree, Variable, conventions

from sciformats import h5

#: The number of bytes that wait in memory before they are written to the file.
_WAITING = 1 << 28

#: The number of bytes of blocks that Dask computes together, in its threads or processes.
_TOGETHER = 1 << 26


def write(
    data: Dataset | DataTree,
    path: str | os.PathLike[str],
    *,
    encoding: Mapping[str, Mapping[str, Any]] | None = None,
    unlimited_dims: tuple[str, ...] | None = None,
) -> None:
    """Write a dataset, or a tree with all of its groups, as a netCDF-4 file.

    Arrays of Dask are computed and written a few blocks at a time, so that memory is bounded; the blocks are computed in parallel, and
    their chunks are compressed in several threads. An existing file is replaced.

    Parameters
    ----------
    data : Dataset or DataTree
        What to write.
    path : str or path
        The file.
    encoding : dict, optional
        For each variable, how it is stored, as for ``to_netcdf``: ``zlib``, ``complevel``, ``shuffle``, ``fletcher32``,
        ``chunksizes``, ``dtype``, ``_FillValue``, ``scale_factor`` and so on. These add to the encodings of the variables.
    unlimited_dims : tuple of str, optional
        The dimensions that can grow; by default those of the dataset's encoding.

    Raises
    ------
    TypeError, ValueError
        If a variable cannot be stored, or an encoding is not possible.
    """
    with h5.File(path, "w", track_order=True) as file:
        if isinstance(data, DataTree):
            for node in data.subtree:
                group = file if node.path == data.path else file.require_group(node.path[len(data.path) :].strip("/"))
                _group(node.to_dataset(inherit=False), group, encoding or {}, unlimited_dims)
        else:
            _group(data, file, encoding or {}, unlimited_dims)


def _group(data: Dataset, group: Any, encoding: Mapping[str, Mapping[str, Any]], growing: Any) -> None:
    if growing is None:
        growing = data.encoding.get("unlimited_dims", ())
    growing = {growing} if isinstance(growing, str) else set(growing)
    variables = {}
    for name, variable in data.variables.items():
        copy = variable.copy(deep=False)
        copy.encoding = {**variable.encoding, **encoding.get(str(name), {})}
        variables[name] = copy
    encoded, attributes = conventions.cf_encoder(variables, dict(data.attrs))
    for name, value in attributes.items():
        group.attrs[str(name)] = _attribute(value)
    scales = {}
    for number, (dimension, size) in enumerate(data.sizes.items()):
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


def _create(group: Any, name: str, variable: Variable, growing: set[str]) -> Any:
    how = variable.encoding
    shape = variable.shape
    dtype: Any = variable.dtype
    if dtype.kind in "OU":
        dtype = h5.string_dtype()
    options: dict[str, Any] = {}
    if shape:
        chunks = how.get("chunksizes")
        if chunks is not None and not how.get("contiguous"):
            options["chunks"] = tuple(max(1, min(int(n), size)) for n, size in zip(chunks, shape)) if all(shape) else True
        if how.get("zlib") or how.get("compression") in ("zlib", "gzip"):
            options["compression"], options["compression_opts"] = "gzip", int(how.get("complevel", 4))
            options["shuffle"] = bool(how.get("shuffle", True))
        options["fletcher32"] = bool(how.get("fletcher32", False))
        if growing & set(map(str, variable.dims)):
            options["maxshape"] = tuple(None if d in growing else n for d, n in zip(variable.dims, shape))
    fill = variable.attrs.get("_FillValue")
    if fill is not None and dtype.kind not in "OS":
        options["fillvalue"] = fill
    return group.create_dataset(name, shape, dtype, **options)


def _attribute(value: Any, dtype: Any = None) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return np.int8(value)
    if dtype is not None and dtype.kind not in "OSU":
        return np.array([value], dtype).reshape(1)
    if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value):
        return np.array(value, dtype=object) if value else ""
    return value


def _elements(made: Any, variable: Variable) -> None:
    waiting = 0
    for part, block in _blocks(variable):
        array = np.asarray(block)
        if array.size:
            made[part] = array
        waiting += array.nbytes
        if waiting > _WAITING:
            made.flush()
            waiting = 0


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
