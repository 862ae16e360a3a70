"""The low-level calls for datasets."""

from __future__ import annotations

import os
from typing import Any

from sciformats.errors import NotSupported
from sciformats.h5 import _convert, _create, _encode, _names, _types, _writing, h5s, h5t, h5z
from sciformats.h5._dataset_id import DatasetID, StoreInfo

__all__ = ["DatasetID", "StoreInfo", "create", "open"]

FILL_TIME_ALLOC = 0
FILL_TIME_NEVER = 1
FILL_TIME_IFSET = 2
COMPACT, CONTIGUOUS, CHUNKED, VIRTUAL = range(4)
ALLOC_TIME_DEFAULT, ALLOC_TIME_EARLY, ALLOC_TIME_LATE, ALLOC_TIME_INCR = range(4)
FILL_VALUE_UNDEFINED, FILL_VALUE_DEFAULT, FILL_VALUE_USER_DEFINED = range(3)
SPACE_STATUS_NOT_ALLOCATED, SPACE_STATUS_PART_ALLOCATED, SPACE_STATUS_ALLOCATED = range(3)
VDS_FIRST_MISSING, VDS_LAST_AVAILABLE = range(2)

_LAYOUTS: dict[int | None, str] = {COMPACT: "compact", CONTIGUOUS: "contiguous", CHUNKED: "chunked"}


def create(loc: Any, name: bytes, tid: h5t.TypeID, space: h5s.SpaceID, dcpl: Any = None) -> Any:
    """Create a dataset, and return its identifier. ``dcpl`` is a property list of :mod:`sciformats.h5.h5p`."""
    layout, chunks, filters, fill, fill_time = (None, None, [], None, None) if dcpl is None else dcpl.settings()
    group = loc._object
    mappings = [] if dcpl is None else dcpl.mappings
    if any(number == h5z.FILTER_FLETCHER32 for number, _, _ in filters):
        _create.check_suitable(_types.check_vlen_dtype(tid.dtype) is not None)
    if fill is not None:
        fill = _encode.element(_convert.converted(fill, tid.dtype)[()], tid.described, group)
    settings = {
        "datatype": tid.described,
        "shape": list(space.shape) if space.kind == h5s.SIMPLE else None,
        "null": space.kind == h5s.NULL,
        "maximum": None if space.maximum is None else list(space.maximum),
        "layout": _LAYOUTS.get(layout, "virtual" if mappings else "chosen"),
        "chunks": None if chunks is None else list(chunks),
        "filters": filters,
        "fill": fill,
        "undefined": False,
        "fill_time": fill_time,
        "external": [],
        "mappings": mappings,
        "committed": _create.shared(tid._named, group),
        "tracked": None if dcpl is None else dcpl.track_order,
        "time": None if dcpl is None else dcpl.time,
    }
    path = group._target(_names.inner(name), "dataset")
    group._file_of.change("dataset", path, settings)
    return group[path].id


def open(loc: Any, name: bytes, dapl: Any = None) -> Any:
    """Return the identifier of a dataset. ``dapl`` is a property list of :mod:`sciformats.h5.h5p` with parameters of a cache.

    Raises
    ------
    KeyError
        If there is no such dataset.
    """
    try:
        found = loc._object[_names.inner(name)]
    except KeyError as error:
        raise KeyError(str(error.args[0]).replace("open object", "open dataset")) from None
    if not hasattr(found, "chunks"):
        raise KeyError("Unable to synchronously open dataset (not a dataset)")
    if dapl is not None and dapl.cache is not None:
        found._cache = dapl.cache
    if dapl is not None and any(dapl.prefixes):
        given: dict[str, Any] = dict(zip(("efile_prefix", "virtual_prefix"), map(os.fsdecode, dapl.prefixes)))
        found._prefixes = _writing._prefixes(given, found._file_of, [name for name, _, _ in found.external or ()])
        if found._prefixes[1] and found.is_virtual:
            raise NotSupported("a prefix is not supported: sources are found beside the file of the virtual dataset")
    return found.id
