"""Descriptions of virtual datasets."""

from __future__ import annotations

from typing import Any

import numpy as np

from sciformats import _index
from sciformats.errors import NotSupported
from sciformats.h5 import _selection


def _one_range(key: Any, shape: tuple[int, ...]) -> list[_index.Range]:
    chosen = _selection.choose(key if isinstance(key, tuple) else (key,), shape)
    if any(len(ranges) != 1 for ranges in chosen.options):
        raise NotSupported("virtual datasets of lists of elements are not supported: use slices")
    return [ranges[0] for ranges in chosen.options]


def _count(ranges: list[_index.Range]) -> int:
    found = 1
    for _, count, _ in ranges:
        found *= count
    return found


class VirtualSource:
    """A dataset, or a part of one, that is a part of a virtual dataset.

    Parameters
    ----------
    path_or_dataset : str or Dataset
        The file that contains the dataset, or the dataset.
    name, shape, dtype, maxshape
        The path of the dataset in the file, and its properties; only for a path.
    """

    def __init__(self, path_or_dataset: Any, name: Any = None, shape: Any = None, dtype: Any = None, maxshape: Any = None):
        from sciformats.h5._dataset import Dataset

        if isinstance(path_or_dataset, Dataset):
            given = {"name": name, "shape": shape, "dtype": dtype, "maxshape": maxshape}
            extra = [key for key, value in given.items() if value is not None]
            if extra:
                raise TypeError(
                    f"If a Dataset is passed as the first argument then no other arguments may be passed. You passed {extra}"
                )
            self.path = path_or_dataset.file.filename
            self.name = path_or_dataset.name or ""
            self.shape = tuple(path_or_dataset.shape or ())
            self.dtype: np.dtype[Any] | None = path_or_dataset.dtype
            self.maxshape = path_or_dataset.maxshape
        else:
            if name is None:
                raise TypeError("The name parameter is required when specifying a source by path")
            if shape is None:
                raise TypeError("The shape parameter is required when specifying a source by path")
            self.path = str(path_or_dataset)
            self.name = name
            self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
            self.dtype = None if dtype is None else np.dtype(dtype)
            self.maxshape = self.shape if maxshape is None else (maxshape,) if isinstance(maxshape, int) else tuple(maxshape)
        self.extent = self.shape
        self.ranges: list[_index.Range] = [(0, n, 1) for n in self.shape]

    def __getitem__(self, key: Any) -> VirtualSource:
        if self.ranges != [(0, n, 1) for n in self.extent]:
            raise RuntimeError("VirtualSource objects can only be sliced once.")
        part = VirtualSource.__new__(VirtualSource)
        part.__dict__.update(self.__dict__)
        part.ranges = _one_range(key, self.extent)
        chosen = _selection.choose(key if isinstance(key, tuple) else (key,), self.extent)
        part.shape = chosen.shape
        return part


class VirtualLayout:
    """The shape and the parts of a virtual dataset: ``layout[0] = source``.

    Parameters
    ----------
    shape, dtype, maxshape
        Those of the dataset.
    """

    def __init__(self, shape: Any, dtype: Any, maxshape: Any = None, filename: Any = None) -> None:
        self.shape: tuple[int, ...] = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = np.dtype(dtype)
        self.maxshape = None if maxshape is None else (maxshape,) if isinstance(maxshape, int) else tuple(maxshape)
        self._parts: list[tuple[VirtualSource, list[_index.Range]]] = []

    def __setitem__(self, key: Any, source: VirtualSource) -> None:
        target = _one_range(key, self.shape)
        if _count(target) != _count(source.ranges):
            raise ValueError(
                "the source and its part of the layout have a different number of elements: "
                f"{_count(source.ranges)} and {_count(target)}"
            )
        self._parts.append((source, target))

    def mappings(self, of: Any) -> list[tuple[Any, ...]]:
        """Return the parts for the file of an object; a source in the same file is named ``"."``."""
        own = of._file_of.shown
        found = []
        for source, target in self._parts:
            path = "." if source.path == own else source.path
            found.append((path, source.name, list(source.extent), source.ranges, target))
        return found
