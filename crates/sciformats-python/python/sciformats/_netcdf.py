"""The meaning of HDF5 attributes in netCDF-4: dimensions, and which objects are variables.

This module is necessary until the project's Rust crates provide the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sciformats import h5
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


def dimensions(dataset: h5.Dataset, attributes: Attributes, phony: dict[str, int]) -> tuple[str, ...]:
    """Return the names of the dimensions of a variable; ``phony_dim_0`` and so on if the file has none.

    ``phony`` contains those that the group has so far, with their lengths.
    """
    shape = dataset.shape or ()
    name = (dataset.name or "").rsplit("/", 1)[-1]
    if name.startswith("_nc4_non_coord_"):
        name = name[len("_nc4_non_coord_") :]
    lists = attributes.get("DIMENSION_LIST")
    if lists is None:
        if is_scale(attributes) and len(shape) == 1:
            return (name,)
        if is_scale(attributes) and "_Netcdf4Coordinates" in attributes:
            return _by_number(dataset, attributes)
        return _phony(shape, phony)
    found: list[str] = []
    for axis, scales in enumerate(lists):
        path = scales[0].path if len(scales) else None
        found.append(path.rsplit("/", 1)[-1] if path else _phony(shape[axis : axis + 1], phony)[0])
    return tuple(found)


def _by_number(dataset: h5.Dataset, attributes: Attributes) -> tuple[str, ...]:
    """Return the dimensions of a coordinate with several of them, which netCDF stores as numbers."""
    numbers: dict[int, str] = {}
    group = dataset.parent
    while True:
        for member in group.values():
            if isinstance(member, h5.Dataset) and "_Netcdf4Dimid" in member.attrs:
                numbers.setdefault(int(member.attrs["_Netcdf4Dimid"]), (member.name or "").rsplit("/", 1)[-1])
        if group.name == "/":
            break
        group = group.parent
    return tuple(numbers[int(number)] for number in attributes["_Netcdf4Coordinates"])


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
        found[name] = value
    return found
