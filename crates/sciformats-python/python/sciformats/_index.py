"""Selections: the contents of the brackets as ranges of ascending indices."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Range = tuple[int, int, int]


class Selection(NamedTuple):
    """The ranges to read, and what must be done to the resulting array."""

    ranges: list[Range]
    #: Applied to the resulting array: reverses axes, drops those of integers, adds new ones.
    after: tuple[Any, ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of indices of each dimension."""
        return tuple(count for _, count, _ in self.ranges)


def expand(key: Any, rank: int) -> tuple[Any, ...]:
    """Return the parts of ``key``, one per dimension; ``...`` stands for as many ``:`` as are missing."""
    parts = key if isinstance(key, tuple) else (key,)
    named = sum(1 for part in parts if part is not Ellipsis and part is not None)
    if sum(1 for part in parts if part is Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if named > rank:
        raise IndexError(f"too many indices: the array has {rank} dimensions, but {named} were given")
    if not any(part is Ellipsis for part in parts):
        parts = (*parts, Ellipsis)
    full: list[Any] = []
    for part in parts:
        full.extend([slice(None)] * (rank - named) if part is Ellipsis else [part])
    return tuple(full)


def basic(key: Any, shape: tuple[int, ...]) -> Selection:
    """Return the selection by integers, slices, ``...`` and ``None``, as in NumPy."""
    ranges: list[Range] = []
    after: list[Any] = []
    axis = 0
    for part in expand(key, len(shape)):
        if part is None:
            after.append(None)
            continue
        size = shape[axis]
        if isinstance(part, slice):
            start, stop, step = part.indices(size)
            count = len(range(start, stop, step))
            if step < 0:
                ranges.append((start + (count - 1) * step if count else 0, count, -step))
                after.append(slice(None, None, -1))
            else:
                ranges.append((start if count else 0, count, step))
                after.append(slice(None))
        else:
            index = operator.index(part)
            if not -size <= index < size:
                raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
            ranges.append((index % size, 1, 1))
            after.append(0)
        axis += 1
    return Selection(ranges, tuple(after))


def is_basic(key: Any) -> bool:
    """Return whether the key consists only of integers, slices, ``...`` and ``None``."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(
        part is None or part is Ellipsis or isinstance(part, slice) or _is_integer(part) for part in parts
    )


def _is_integer(part: Any) -> bool:
    if isinstance(part, (bool, np.bool_)):
        return False
    try:
        operator.index(part)
    except TypeError:
        return False
    return True


def positions(part: Any, size: int, axis: int) -> NDArray[np.int64]:
    """Return the indices that a list, an array or a mask of one dimension selects."""
    array = np.asarray(part)
    if array.dtype == bool:
        if array.shape != (size,):
            raise IndexError(f"the mask for axis {axis} has shape {array.shape}, but the axis has size {size}")
        return np.flatnonzero(array).astype(np.int64)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise IndexError(f"axis {axis} takes an integer, a slice, or a list of integers or truth values")
    # Before they are signed integers, among which the largest ones without a sign would be negative.
    if array.size and not (-size <= int(array.min()) and int(array.max()) < size):
        raise IndexError(f"an index is out of bounds for axis {axis} with size {size}")
    array = array.astype(np.int64)
    return np.where(array < 0, array + size, array)


def runs(sorted_indices: NDArray[np.int64]) -> list[Range]:
    """Return ascending indices without repeats as a small number of ranges with steps."""
    found: list[Range] = []
    steps = np.diff(sorted_indices).tolist()
    starts = sorted_indices.tolist()
    i = 0
    while i < len(starts):
        step = steps[i] if i < len(steps) else 1
        end = i
        while end < len(steps) and steps[end] == step:
            end += 1
        found.append((starts[i], end - i + 1, step))
        i = end + 1
    return found


def box_of(mask: NDArray[np.bool_]) -> tuple[list[Range], tuple[slice, ...]]:
    """Return the smallest box that contains the elements for which the mask is true, of which there must be some.

    The box is given as one range for each axis, and as the index into an array of the mask's shape.
    """
    ranges: list[Range] = []
    for axis in range(mask.ndim):
        others = tuple(other for other in range(mask.ndim) if other != axis)
        (some,) = np.nonzero(mask.any(axis=others))
        ranges.append((int(some[0]), int(some[-1] - some[0]) + 1, 1))
    return ranges, tuple(slice(start, start + count) for start, count, _ in ranges)
