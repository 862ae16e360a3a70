"""Descriptions of virtual datasets."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from sciformats import _index
from sciformats.errors import NotSupported
from sciformats.h5 import _names, _selection
from sciformats.h5._create import UNLIMITED


def _options(key: Any, shape: tuple[int, ...]) -> _selection.Chosen:
    for part in key if isinstance(key, tuple) else (key,):
        if isinstance(part, slice) and isinstance(part.stop, (int, np.integer)) and part.stop == UNLIMITED:
            raise NotSupported("h5s.UNLIMITED is not supported in the parts of a virtual dataset: they have a fixed size")
    return _selection.choose(key if isinstance(key, tuple) else (key,), shape)


def _lengths(options: list[list[_index.Range]]) -> list[int]:
    return [sum(count for _, count, _ in ranges) for ranges in options]


def _common(source: list[_index.Range], target: list[_index.Range]) -> list[tuple[_index.Range, _index.Range]]:
    """Return the longest parts of two lists of ranges of the same length that are one range in each."""
    found = []
    left, right = list(reversed(source)), list(reversed(target))
    while left and right:
        (a, n, step), (b, m, stride) = left.pop(), right.pop()
        both = min(n, m)
        found.append(((a, both, step), (b, both, stride)))
        if n > both:
            left.append((a + both * step, n - both, step))
        if m > both:
            right.append((b + both * stride, m - both, stride))
    return found


def _pairs(
    source: list[list[_index.Range]], target: list[list[_index.Range]]
) -> list[tuple[list[_index.Range], list[_index.Range]]]:
    """Return the parts of a source and of a layout that belong together, each of which is one range per dimension.

    Raises
    ------
    NotSupported
        If one of them has more than one range in a dimension, and they have different shapes.
    """
    if all(len(ranges) == 1 for ranges in (*source, *target)):
        return [([ranges[0] for ranges in source], [ranges[0] for ranges in target])]
    lengths = _lengths(source), _lengths(target)
    own, others = ([axis for axis, n in enumerate(each) if n != 1] for each in lengths)
    if [lengths[0][axis] for axis in own] != [lengths[1][axis] for axis in others]:
        raise NotSupported("a part of a virtual dataset that has lists of elements must have the shape of its source")
    found = []
    for choice in itertools.product(*(_common(source[a], target[b]) for a, b in zip(own, others))):
        one, other = [ranges[0] for ranges in source], [ranges[0] for ranges in target]
        for axis, to, (left, right) in zip(own, others, choice):
            one[axis], other[to] = left, right
        found.append((one, other))
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
            self.name = path_or_dataset._path_now() or ""
            self.shape = tuple(path_or_dataset.shape or ())
            self.dtype: np.dtype[Any] | None = path_or_dataset.dtype
            self.maxshape = path_or_dataset.maxshape
        else:
            if name is None:
                raise TypeError("The name parameter is required when specifying a source by path")
            if shape is None:
                raise TypeError("The shape parameter is required when specifying a source by path")
            self.path = str(path_or_dataset)
            self.name = _names.inner(name)
            self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
            self.dtype = None if dtype is None else np.dtype(dtype)
            self.maxshape = self.shape if maxshape is None else (maxshape,) if isinstance(maxshape, int) else tuple(maxshape)
        self.extent = self.shape
        self.ranges: list[list[_index.Range]] = [[(0, n, 1)] for n in self.shape]

    def __getitem__(self, key: Any) -> VirtualSource:
        if self.ranges != [[(0, n, 1)] for n in self.extent]:
            raise RuntimeError("VirtualSource objects can only be sliced once.")
        part = VirtualSource.__new__(VirtualSource)
        part.__dict__.update(self.__dict__)
        chosen = _options(key, self.extent)
        part.ranges = chosen.options
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
        self._parts: list[tuple[VirtualSource, list[_index.Range], list[_index.Range]]] = []

    def __setitem__(self, key: Any, source: VirtualSource) -> None:
        target = _options(key, self.shape).options
        counts = math.prod(_lengths(source.ranges)), math.prod(_lengths(target))
        if counts[0] != counts[1]:
            raise ValueError(
                "the source and its part of the layout have a different number of elements: "
                f"{counts[0]} and {counts[1]}"
            )
        self._parts.extend((source, one, other) for one, other in _pairs(source.ranges, target))

    def mappings(self, of: Any) -> list[tuple[Any, ...]]:
        """Return the parts for the file of an object; a source in the same file is named ``"."``."""
        own = of._file_of.shown
        found = []
        for source, one, target in self._parts:
            path = "." if source.path == own else source.path
            found.append((path, source.name, list(source.extent), one, target))
        return found
