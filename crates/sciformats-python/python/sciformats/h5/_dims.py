"""Scales of dimensions, which are the datasets with the coordinates of a dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

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
    def label(self) -> str:
        """The label, which may be an empty text."""
        labels = self._dataset.attrs.get("DIMENSION_LABELS")
        label = "" if labels is None else labels[self._dimension]
        return label.decode() if isinstance(label, bytes) else str(label or "")

    def _name(self, scale: Dataset) -> str:
        name = scale.attrs.get("NAME", b"")
        return name.decode() if isinstance(name, bytes) else str(name)

    def __getitem__(self, item: int | str) -> Dataset:
        scales = self._scales()
        if isinstance(item, int):
            if not -len(scales) <= item < len(scales):
                raise IndexError(f"{item} is out of range: {len(scales)} scales are attached")
            return scales[item]
        for scale in scales:
            if self._name(scale) == item:
                return scale
        raise KeyError(item)

    def __iter__(self) -> Iterator[str]:
        return (self._name(scale) for scale in self._scales())

    def __len__(self) -> int:
        return len(self._scales())

    def keys(self) -> list[str]:
        """Return the names of the scales."""
        return list(self)

    def values(self) -> list[Dataset]:
        """Return the scales."""
        return self._scales()

    def items(self) -> list[tuple[str, Dataset]]:
        """Return the names and the scales."""
        return [(self._name(scale), scale) for scale in self._scales()]

    def __repr__(self) -> str:
        return f'<"{self.label}" dimension {self._dimension} of HDF5 dataset at {id(self._dataset)}>'


class DimensionManager:
    """The dimensions of a dataset: ``dims``."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __getitem__(self, index: int) -> DimensionProxy:
        if not 0 <= index < self._dataset.ndim:
            raise IndexError("Index out of range")
        return DimensionProxy(self._dataset, index)

    def __len__(self) -> int:
        return self._dataset.ndim

    def __iter__(self) -> Iterator[DimensionProxy]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"<Dimensions of HDF5 object at {id(self._dataset)}>"


def is_scale(attributes: Any) -> bool:
    """Return whether a dataset with these attributes is a scale."""
    value = attributes.get("CLASS", b"")
    return (value.decode() if isinstance(value, bytes) else value) == "DIMENSION_SCALE"
