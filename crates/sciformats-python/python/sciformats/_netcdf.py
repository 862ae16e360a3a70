"""The meaning of HDF5 attributes in netCDF-4: dimensions, and which objects are variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sciformats import h5
from sciformats.h5 import _names
from sciformats.h5._dims import is_scale

#: Names that netCDF reserves for itself.
HIDDEN = frozenset(
    {
        "CLASS",
        "NAME",
        "REFERENCE_LIST",
        "DIMENSION_LIST",
        "DIMENSION_LABELS",
        "_Netcdf4Dimid",
        "_Netcdf4Coordinates",
        "_nc3_strict",
        "_NCProperties",
    }
)

_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class Attributes:
    """The attributes of an object, which are read together. A damaged one is reported when it is used."""

    def __init__(self, of: h5.HLObject) -> None:
        self._values = of.attrs._values()

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or ``default`` if there is none of this name."""
        value = self._values.get(name, default)
        if isinstance(value, Exception):
            raise value
        return value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise KeyError(name)
        return self.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)


def is_bare_dimension(attributes: Attributes) -> bool:
    """Return whether the dataset with these attributes only contains the length of a dimension."""
    return _text(attributes.get("NAME", "")).startswith(_NO_VARIABLE)


def dimensions(places: list[str | None], shape: tuple[int, ...], phony: dict[str, int]) -> tuple[str, ...]:
    """Return the names of the dimensions of a variable; ``phony_dim_0`` and so on if the file has none.

    ``places`` are those that :func:`scales` returns. ``phony`` contains the names that the group has so far, with their lengths.
    """
    if not any(places):
        return _phony(shape, phony)
    found: list[str] = []
    for axis, path in enumerate(places):
        found.append(_names.shown(path.rsplit("/", 1)[-1]) if path else _phony(shape[axis : axis + 1], phony)[0])
    return tuple(found)


def scales(dataset: h5.Dataset, attributes: Attributes, numbered: dict[str, dict[int, str]]) -> list[str | None]:
    """Return the path of the scale for each dimension of a variable, if the file has one.

    ``numbered`` contains the dimensions by their numbers for the groups that were looked at so far, by their paths.
    """
    shape = dataset.shape or ()
    lists = attributes.get("DIMENSION_LIST")
    if lists is not None:
        return [(scales[0].path or None) if len(scales) else None for scales in lists]
    if is_scale(attributes) and len(shape) == 1:
        before, _, name = (dataset._name or "").rpartition("/")
        return [f"{before}/{name.removeprefix('_nc4_non_coord_')}"]
    if "_Netcdf4Coordinates" in attributes:
        # A coordinate with several dimensions, or a variable of a file whose scales are not attached.
        numbers = [int(number) for number in np.atleast_1d(attributes["_Netcdf4Coordinates"])]
        known = _by_number(dataset.parent, numbered)
        if len(numbers) == len(shape):
            return [known.get(number) for number in numbers]
    return [None] * len(shape)


def _by_number(group: h5.Group, known: dict[str, dict[int, str]]) -> dict[int, str]:
    """Return the paths of the dimensions that a group and those around it have, by netCDF's numbers."""
    path = group._name or "/"
    if path not in known:
        numbers: dict[int, str] = {}
        for member in group.values():
            # Variables that are no scales may have the number of their first dimension.
            if isinstance(member, h5.Dataset) and "_Netcdf4Dimid" in member.attrs and is_scale(member.attrs):
                numbers.setdefault(int(member.attrs["_Netcdf4Dimid"]), member._name or "")
        known[path] = numbers if path == "/" else {**_by_number(group.parent, known), **numbers}
    return known[path]


def users(scale: h5.Dataset) -> Iterator[tuple[str, int]]:
    """Return the path of each variable that has a dimension of this scale, and the number of the dimension."""
    listed = Attributes(scale).get("REFERENCE_LIST")
    if isinstance(listed, np.ndarray) and listed.dtype.names is not None and len(listed.dtype.names) == 2:
        variable, axis = listed.dtype.names
        for user in listed.ravel():
            if user[variable] and user[variable].path:
                yield user[variable].path, int(user[axis])


#: What netCDF shows as elements that were never written, by the types of variables that have no fill value.
_FILLS = {"i1": -127, "u1": 255, "i2": -32767, "u2": 65535, "i4": -2147483647, "u4": 4294967295} | {
    "i8": -9223372036854775806, "u8": 18446744073709551614, "f4": 9.969209968386869e36, "f8": 9.969209968386869e36
}


def fill(dataset: h5.Dataset) -> Any:
    """Return what netCDF shows as an element of the variable that was never written."""
    default = _FILLS.get(dataset.dtype.str[1:])
    return dataset.fillvalue if default is None or dataset._node.fill() is not None else dataset.dtype.type(default)


def _phony(shape: tuple[int, ...], known: dict[str, int]) -> tuple[str, ...]:
    """Return, for each length, the first name that no earlier dimension has taken, or a new one."""
    names: list[str] = []
    for size in shape:
        free = (name for name, length in known.items() if length == size and name not in names)
        name = next(free, f"phony_dim_{len(known)}")
        known[name] = size
        names.append(name)
    return tuple(names)


def shown(of: Attributes) -> dict[str, Any]:
    """Return the attributes as in netCDF: an attribute with one element is this element, and bytes are texts."""
    found: dict[str, Any] = {}
    for name in of:
        if name in HIDDEN:
            continue
        value = of[name]
        if isinstance(value, h5.Empty):
            value = "" if h5.check_string_dtype(value.dtype) else np.empty(0, value.dtype)
        if isinstance(value, np.ndarray):
            if value.dtype.kind == "S" and name not in ("_FillValue", "missing_value"):
                value = np.char.decode(value, "utf-8", "replace").astype(object)
            elif value.dtype.kind == "O":
                value = np.array([_text(item) for item in value.ravel()], object).reshape(value.shape)
            if value.size == 1:
                value = value.reshape(-1)[0]
            elif value.dtype == object:
                value = value.tolist()
        if isinstance(value, bytes) and name not in ("_FillValue", "missing_value"):
            value = _text(value)
        found[_names.shown(name)] = value
    return found
