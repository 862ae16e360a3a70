"""The low-level calls for attributes."""

from __future__ import annotations

from typing import Any

from sciformats.h5 import h5s, h5t
from sciformats.h5._attributes import AttributeID as AttrID

__all__ = ["AttrID", "create", "delete", "exists", "open"]


def create(loc: Any, name: bytes, tid: h5t.TypeID, space: h5s.SpaceID) -> Any:
    """Create an attribute, whose elements are zero, and return its identifier."""
    import numpy as np

    attributes = loc._object.attrs
    text = name.decode()
    shape = None if space.kind == h5s.NULL else space.shape
    attributes._described(text, tid.described, shape, None if shape is None else np.zeros(shape, tid.dtype))
    return AttrID(text, tid.described, shape, False, attributes)


def open(loc: Any, name: bytes) -> Any:
    """Return the identifier of an attribute."""
    return loc._object.attrs.get_id(name.decode())


def exists(loc: Any, name: bytes) -> bool:
    """Return whether an object has an attribute."""
    return name.decode() in loc._object.attrs


def delete(loc: Any, name: bytes) -> None:
    """Remove an attribute."""
    del loc._object.attrs[name.decode()]
