"""The low-level calls for attributes."""

from __future__ import annotations

from typing import Any

from sciformats.h5 import _names, h5s, h5t
from sciformats.h5._attributes import AttributeID as AttrID

__all__ = ["AttrID", "create", "delete", "exists", "open", "rename"]


def _of(loc: Any, obj_name: bytes) -> Any:
    """Return the attributes of an object, or of the one at a path from there."""
    of = loc._object
    return of.attrs if obj_name in (b".", ".") else of[obj_name].attrs


def create(loc: Any, name: bytes, tid: h5t.TypeID, space: h5s.SpaceID, *, obj_name: bytes = b".") -> Any:
    """Create an attribute, whose elements are zero, and return its identifier."""
    import numpy as np

    attributes = _of(loc, obj_name)
    text = _names.inner(name)
    shape = None if space.kind == h5s.NULL else space.shape
    attributes._described(text, tid.described, shape, None if shape is None else np.zeros(shape, tid.dtype))
    return AttrID(text, tid.described, shape, False, attributes)


def open(loc: Any, name: bytes, *, obj_name: bytes = b".") -> Any:
    """Return the identifier of an attribute."""
    return _of(loc, obj_name).get_id(name)


def exists(loc: Any, name: bytes, *, obj_name: bytes = b".") -> bool:
    """Return whether an object has an attribute."""
    return name in _of(loc, obj_name)


def rename(loc: Any, name: bytes, new_name: bytes, *, obj_name: bytes = b".") -> None:
    """Rename an attribute.

    Raises
    ------
    RuntimeError
        If there is no such attribute, or another one has the new name.
    """
    try:
        attributes = _of(loc, obj_name)
    except KeyError as error:
        raise RuntimeError(f"Can't synchronously rename attribute ({error.args[0]})") from None
    attributes.rename(name, new_name)


def delete(loc: Any, name: bytes, *, obj_name: bytes = b".") -> None:
    """Remove an attribute."""
    del _of(loc, obj_name)[name]
