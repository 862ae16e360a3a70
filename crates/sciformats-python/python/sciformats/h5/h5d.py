"""The low-level calls for datasets."""

from __future__ import annotations

from typing import Any

from sciformats.h5 import h5s, h5t

FILL_TIME_ALLOC = 0
FILL_TIME_NEVER = 1
FILL_TIME_IFSET = 2
COMPACT, CONTIGUOUS, CHUNKED, VIRTUAL = range(4)


def create(loc: Any, name: bytes, tid: h5t.TypeID, space: h5s.SpaceID, dcpl: Any = None) -> Any:
    """Create a dataset, and return its identifier. Property lists are not supported."""
    if dcpl is not None:
        raise NotImplementedError("property lists are not supported")
    group = loc._object
    settings = {
        "datatype": tid.described,
        "shape": list(space.shape) if space.kind == h5s.SIMPLE else None,
        "null": space.kind == h5s.NULL,
        "maximum": None if space.maximum is None else list(space.maximum),
        "layout": "chosen",
        "chunks": None,
        "filters": [],
        "fill": None,
        "undefined": False,
        "fill_time": None,
        "external": [],
        "mappings": [],
        "committed": None,
    }
    path = group._target(name.decode(), "dataset")
    group._file_of.change("dataset", path, settings)
    return group[path].id


def open(loc: Any, name: bytes) -> Any:
    """Return the identifier of a dataset."""
    return loc._object[name.decode()].id
