"""Dates and time spans of HDF5 files, which are bytes there with a tag that names their type in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sciformats import _open, _sciformats
from sciformats.errors import Conflict

if TYPE_CHECKING:
    from sciformats._dtypes import Element
    from sciformats._model import File

#: The number and the path of an object.
Place = tuple[int, str]

#: From this number on, objects are in other files, and not at the address that is their number.
_ELSEWHERE = 0xF << 60

#: How the tag of such a type begins.
_TAG = "NUMPY:"


def of_array(file: File, place: Place, element: Element) -> Element:
    """Return the element type of an array, in which dates and time spans are types of their own."""
    return _with(element, _node(file, place).datatype()) if _is_concerned(file, element) else element


def of_attribute(file: File, place: Place, name: str, element: Element) -> Element:
    """Return the element type of an attribute, in which dates and time spans are types of their own."""
    if not _is_concerned(file, element):
        return element
    found = _node(file, place).attribute_named(name)
    return element if found is None else _with(element, found[0])


def _is_concerned(file: File, element: Element) -> bool:
    return file.format == "hdf5" and _has_opaque(element)


def _has_opaque(element: Element) -> bool:
    """Return whether bytes as many as those of a date are a part of a type."""
    word, *rest = element
    if word == "compound":
        return any(_has_opaque(field) for _, field in rest[0])
    return element == ("opaque", 8) if word != "array" else _has_opaque(rest[0])


def _node(file: File, place: Place) -> Any:
    """Return an object in the terms of HDF5. Its path may have names that are shown in another way than they are stored."""
    number, path = place
    return _root(file).object_at(number) if number < _ELSEWHERE else _root(file).object(path)


def _root(file: File) -> Any:
    """Return the root of the file in the terms of HDF5, for which it is opened once more.

    Raises
    ------
    Conflict
        If the file is another one now.
    """
    if file._hdf5 is None:
        address = file._address
        options = dict(address.options)
        found = address.state
        if address.path is None:
            root = _sciformats.open_hdf5(None, address.state, options)
        elif address.storage is None:
            root, found = _sciformats.open_hdf5(address.path, None, options), _open.state_of(address.path)
        else:
            root, found = _sciformats.open_hdf5_url(address.path, address.storage.arguments(), options)
        if address.state is not None and found != address.state and not options.get("changing"):
            raise Conflict("the file was changed since it was opened; open it again", file.filename)
        file._hdf5 = root
    return file._hdf5


def _with(element: Element, described: Any) -> Element:
    """Return an element type with the dates that HDF5's description has in the same places."""
    word, *rest = element
    if word == "compound" and described[0] == "compound":
        fields = zip(rest[0], described[2])
        return ("compound", [(name, _with(field, own)) for (name, field), (_, _, own) in fields])
    if word == "array" and described[0] == "array":
        return ("array", _with(rest[0], described[1]), *rest[1:])
    if word == "opaque" and described[0] == "opaque" and str(described[2]).startswith(_TAG):
        try:
            dtype = np.dtype(described[2][len(_TAG) :])
        except TypeError:
            return element
        return ("time64", dtype.str) if dtype.kind in "mM" and dtype.itemsize == rest[0] else element
    return element
