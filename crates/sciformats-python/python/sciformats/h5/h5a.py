"""The low-level calls for attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sciformats.h5 import h5s, h5t
from sciformats.h5._attributes import AttrID
from sciformats.h5 import _create, _names

__all__ = ["AttrID", "AttrInfo", "create", "delete", "exists", "get_info", "get_num_attrs", "iterate", "open", "rename"]


class AttrInfo(NamedTuple):
    """What :func:`get_info` returns.

    Attributes
    ----------
    corder_valid : bool
        Whether the order of creation is known.
    corder : int
        The place in the order of creation.
    cset : int
        The encoding of the name: 0 for ASCII, 1 for UTF-8.
    data_size : int
        The number of bytes of the elements.
    """

    corder_valid: bool
    corder: int
    cset: int
    data_size: int


def create(loc: Any, name: bytes, tid: h5t.TypeID, space: h5s.SpaceID, *, obj_name: bytes = b".") -> Any:
    """Create an attribute, whose elements are zero, and return its identifier.

    Raises
    ------
    OSError
        If there is an attribute of this name.
    """
    import numpy as np

    of = _of(loc, obj_name)
    attributes = of.attrs
    if name in attributes:
        raise OSError("Unable to synchronously create attribute (attribute already exists)")
    shape = None if space.kind == h5s.NULL else space.shape
    committed, zeros = _create.shared(tid._named, of), None if shape is None else np.zeros(shape, tid.dtype)
    attributes._described(_names.inner(name), tid.described, shape, zeros, committed)
    made = AttrID(_names.inner(name), tid.described, shape, committed is not None, attributes)
    made._shared = committed
    return made


def _of(loc: Any, obj_name: bytes) -> Any:
    return loc._object if obj_name in (b".", ".") else loc._object[_names.inner(obj_name)]


def _named(of: Any, name: bytes | None, index: int | None) -> str:
    """Return the name of an attribute, which is given, or has a place in the order of names.

    Raises
    ------
    TypeError
        If neither or both are given, or the place is negative.
    OSError
        If there is no such place.
    """
    if (name is None) == (index is None) or (index is not None and index < 0):
        raise TypeError("Exactly one of name or index must be specified")
    if name is None:
        names = sorted(of.attrs, key=_names.encoded)
        place = index or 0
        if place >= len(names):
            raise OSError("Unable to synchronously open attribute (invalid index specified)")
        name = names[place]
    found: str = _names.inner(name)
    return found


def open(loc: Any, name: bytes | None = None, index: int | None = None, *, obj_name: bytes = b".") -> Any:
    """Return the identifier of an attribute, by its name or its place in the order of names."""
    of = _of(loc, obj_name)
    return of.attrs.get_id(_named(of, name, index))


def exists(loc: Any, name: bytes, *, obj_name: bytes = b".") -> bool:
    """Return whether an object has an attribute."""
    return _names.inner(name) in _of(loc, obj_name).attrs


def delete(loc: Any, name: bytes, *, obj_name: bytes = b".") -> None:
    """Remove an attribute."""
    del _of(loc, obj_name).attrs[_names.inner(name)]


def rename(loc: Any, name: bytes, new_name: bytes, *, obj_name: bytes = b".") -> None:
    """Give an attribute another name.

    Raises
    ------
    RuntimeError
        If there is no such attribute, or another one has the new name.
    """
    try:
        of = _of(loc, obj_name)
    except KeyError as error:
        raise RuntimeError(f"Can't synchronously rename attribute ({error.args[0]})") from None
    of.attrs.rename(name, new_name)


def get_num_attrs(loc: Any) -> int:
    """Return the number of attributes."""
    return len(loc._object.attrs)


def get_info(loc: Any, name: bytes | None = None, index: int | None = None, *, obj_name: bytes = b".") -> AttrInfo:
    """Return what is known about an attribute, by its name or its place in the order of names."""
    of = _of(loc, obj_name)
    found = _named(of, name, index)
    *_, order = of._attributes()[found]
    return AttrInfo(order is not None, order or 0, int(not found.isascii()), of.attrs.get_id(found).get_storage_size())


def iterate(loc: Any, func: Callable[..., Any], index: int = 0, *, info: bool = False) -> Any:
    """Call a function with the name of each attribute, until it returns something other than ``None``.

    With ``info`` it also gets what :func:`get_info` returns.

    Raises
    ------
    ValueError
        If the first attribute has a negative number.
    RuntimeError
        If there is no such attribute.
    """
    names = sorted(_names.encoded(each) for each in loc._object.attrs)
    if index < 0:
        raise ValueError("Starting index must be a non-negative integer.")
    if index > 0 and index >= len(names):
        raise RuntimeError("Error iterating over attributes (invalid index specified)")
    for name in names[index:]:
        answer = func(name, get_info(loc, name)) if info else func(name)
        if answer is not None:
            return answer
    return None
