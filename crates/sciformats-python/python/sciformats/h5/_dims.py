"""Scales of dimensions, which are the datasets with the coordinates of a dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sciformats.h5 import _encode, _names, _types

if TYPE_CHECKING:
    from sciformats.h5._dataset import Dataset


class DimensionProxy:
    """One dimension of a dataset: its label, and the scales that are attached to it."""

    def __init__(self, dataset: Dataset, dimension: int) -> None:
        self._dataset = dataset
        self._dimension = dimension

    def _scales(self) -> list[Dataset]:
        attributes = self._dataset.attrs
        if "DIMENSION_LIST" not in attributes:
            return []
        return [self._dataset.file[scale] for scale in attributes["DIMENSION_LIST"][self._dimension]]

    @property
    def label(self) -> Any:
        """The label, which may be an empty text, and is ``bytes`` if it is not UTF-8."""
        labels = self._dataset.attrs.get("DIMENSION_LABELS")
        return _names.outer(_text("" if labels is None else labels[self._dimension] or ""))

    @label.setter
    def label(self, text: Any) -> None:
        found = self._dataset.attrs.get("DIMENSION_LABELS")
        labels = [""] * self._dataset.ndim if found is None else [_text(each) for each in found]
        labels[self._dimension] = _text(text)
        self._dataset.attrs.create("DIMENSION_LABELS", labels, dtype=_types.string_dtype())

    def attach_scale(self, scale: Dataset) -> None:
        """Attach a scale to the dimension. A dataset that is not a scale becomes one without a name.

        Raises
        ------
        RuntimeError
            If the dataset is a scale itself, or the scale has scales.
        """
        if "DIMENSION_LIST" in scale.attrs:
            raise RuntimeError("Unable to attach scale (a dataset with scales cannot be a scale)")
        if scale == self._dataset or is_scale(self._dataset.attrs):
            raise RuntimeError("Unable to attach scale (a scale cannot have scales)")
        if not is_scale(scale.attrs):
            scale.attrs._set_terminated("CLASS", b"DIMENSION_SCALE")
        if any(scale == each for each in self._scales()):
            return
        lists = self._lists()
        lists[self._dimension].append(scale.ref)
        _set_lists(self._dataset, lists)
        _add_user(scale, self._dataset, self._dimension)

    def detach_scale(self, scale: Dataset) -> None:
        """Detach a scale from the dimension."""
        if not any(scale == each for each in self._scales()):
            raise RuntimeError("Unable to detach scale (the scale is not attached)")
        lists = self._lists()
        file = self._dataset.file
        lists[self._dimension] = [ref for ref in lists[self._dimension] if file[ref] != scale]
        _set_lists(self._dataset, lists)
        users = [user for user in _users(scale) if (file[user[0]], user[1]) != (self._dataset, self._dimension)]
        _set_users(scale, users)

    def _lists(self) -> list[list[Any]]:
        found = self._dataset.attrs.get("DIMENSION_LIST")
        return [[] for _ in range(self._dataset.ndim)] if found is None else [list(each) for each in found]

    def _name(self, scale: Dataset) -> str:
        return _text(scale.attrs.get("NAME", b""))

    def __getitem__(self, item: int | str | bytes) -> Dataset:
        scales = self._scales()
        if isinstance(item, int):
            if not scales:
                raise RuntimeError("the dimension has no scales")
            if not -len(scales) <= item < len(scales):
                raise IndexError(f"{item} is out of range: {len(scales)} scales are attached")
            return scales[item]
        for scale in scales:
            if self._name(scale) == _names.inner(item):
                return scale
        raise KeyError(item)

    def __iter__(self) -> Iterator[Any]:
        return (_names.outer(self._name(scale)) for scale in self._scales())

    def __len__(self) -> int:
        return len(self._scales())

    def keys(self) -> list[Any]:
        """Return the names of the scales."""
        return list(self)

    def values(self) -> list[Dataset]:
        """Return the scales."""
        return self._scales()

    def items(self) -> list[tuple[Any, Dataset]]:
        """Return the names and the scales."""
        return [(_names.outer(self._name(scale)), scale) for scale in self._scales()]

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, DimensionProxy) and self._dimension == other._dimension
        return same and self._dataset == getattr(other, "_dataset", None)

    def __hash__(self) -> int:
        return hash((self._dataset, self._dimension))

    def __repr__(self) -> str:
        if self._dataset._file_of.is_closed:
            return "<Dimension of closed HDF5 dataset>"
        return f'<"{self.label}" dimension {self._dimension} of HDF5 dataset at {id(self._dataset)}>'


class DimensionManager:
    """The dimensions of a dataset: ``dims``."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __getitem__(self, index: int) -> DimensionProxy:
        if not 0 <= index < self._dataset.ndim:
            raise IndexError("Index out of range")
        return DimensionProxy(self._dataset, index)

    def create_scale(self, dataset: Dataset, name: str = "") -> None:
        """Make a dataset a scale."""
        make_scale(dataset, name)

    def __len__(self) -> int:
        return self._dataset.ndim

    def __iter__(self) -> Iterator[DimensionProxy]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        if self._dataset._file_of.is_closed:
            return "<Dimensions of closed HDF5 dataset>"
        return f"<Dimensions of HDF5 object at {id(self._dataset)}>"


def is_scale(attributes: Any) -> bool:
    """Return whether a dataset with these attributes is a scale."""
    value = attributes.get("CLASS", b"")
    return bool(_names.inner(value) == "DIMENSION_SCALE")


def _text(value: Any) -> str:
    return str(_names.inner(value))


def make_scale(dataset: Any, name: str | bytes) -> None:
    """Make a dataset a scale."""
    name = _text(name)
    if "DIMENSION_LIST" in dataset.attrs:
        raise RuntimeError("Unable to make a scale (the dataset has scales itself)")
    dataset.attrs._set_terminated("CLASS", b"DIMENSION_SCALE")
    dataset.attrs._set_terminated("NAME", _names.encoded(name))


def _set_lists(dataset: Any, lists: list[list[Any]]) -> None:
    if not any(lists):
        if "DIMENSION_LIST" in dataset.attrs:
            del dataset.attrs["DIMENSION_LIST"]
        return
    array = np.empty(len(lists), object)
    for index, refs in enumerate(lists):
        array[index] = refs
    dataset.attrs.create("DIMENSION_LIST", array, dtype=_types.vlen_dtype(_types.ref_dtype))


def _users(scale: Any) -> list[tuple[Any, int]]:
    found = scale.attrs.get("REFERENCE_LIST")
    users = [] if found is None else [(each["dataset"], int(each["dimension"])) for each in found]
    # Datasets that were removed use nothing any more.
    return [user for user in users if user[0].path.startswith("/")]


def _set_users(scale: Any, users: list[tuple[Any, int]]) -> None:
    if not users:
        if "REFERENCE_LIST" in scale.attrs:
            del scale.attrs["REFERENCE_LIST"]
        return
    scale.attrs.create("REFERENCE_LIST", np.array(users, _USER), dtype=_USER)


#: The type of an element of the list of the users of a scale.
_USER = np.dtype([("dataset", _types.ref_dtype), ("dimension", "<i4")])


def _add_user(scale: Any, dataset: Any, dimension: int) -> None:
    """Add a dimension of a dataset to the users of a scale. What was encoded before is not encoded again, because a scale may have
    thousands of users.
    """
    opened, described = scale._file_of, _encode.describe(_USER)
    before = opened.users.get(scale._address)
    if before is None:
        before = [_encode.element(each, described, scale) for each in np.array(_users(scale), _USER)]
    added = np.array([(dataset.ref, dimension)], _USER)[0]
    items = [*before, _encode.element(added, described, scale)]
    opened.change("attribute", scale._place, "REFERENCE_LIST", (described, [len(items)], items, None))
    opened.users[scale._address] = items
