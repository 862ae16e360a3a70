"""Selections by the rules of h5py: one list or mask, steps of at least one, names of fields."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from sciformats import _index


class Chosen:
    """What to read: the ranges of each dimension, and the shape of the result."""

    def __init__(self, options: list[list[_index.Range]], shape: tuple[int, ...]) -> None:
        self.options = options
        self.shape = shape


class MultiBlockSlice:
    """Blocks of ``block`` elements, one after every ``stride`` elements.

    Parameters
    ----------
    start : int
        The first element.
    stride : int
        The distance between the starts of blocks.
    count : int
        The number of blocks; by default as many as there are.
    block : int
        The number of elements in a block.
    """

    def __init__(self, start: int = 0, stride: int = 1, count: int | None = None, block: int = 1) -> None:
        if start < 0:
            raise ValueError("Start can't be negative")
        if stride < 1 or block < 1 or (count is not None and count < 1):
            raise ValueError("Stride, block and count must be positive")
        if block > stride:
            raise ValueError("Blocks will overlap if block > stride")
        self.start, self.stride, self.count, self.block = start, stride, count, block

    def indices(self, length: int) -> tuple[int, int, int, int]:
        """Return start, stride, count and block for a dimension."""
        count = self.count
        if count is None:
            count = (length - self.start - self.block) // self.stride + 1
            if count < 1:
                raise ValueError("The last block ends beyond the dimension")
        if self.start + (count - 1) * self.stride + self.block > length:
            raise ValueError(f"{self!r} exceeds the length {length} of the dimension")
        return self.start, self.stride, count, self.block

    def ranges(self, length: int) -> list[_index.Range]:
        """Return the blocks as ranges."""
        start, stride, count, block = self.indices(length)
        if block == stride:
            return [(start, count * block, 1)]
        if block == 1:
            return [(start, count, stride)]
        return [(start + at * stride, block, 1) for at in range(count)]

    def __repr__(self) -> str:
        return f"MultiBlockSlice(start={self.start}, stride={self.stride}, count={self.count}, block={self.block})"


def split(key: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Return the names of fields, and the rest of the key."""
    parts = key if isinstance(key, tuple) else (key,)
    names = tuple(part for part in parts if isinstance(part, str))
    return names, tuple(part for part in parts if not isinstance(part, str))


def choose(parts: tuple[Any, ...], shape: tuple[int, ...]) -> Chosen:
    """Return the selection for a key without names of fields.

    Raises
    ------
    IndexError
        If an index is out of range.
    TypeError
        If h5py does not permit it: more than one list, or a list that is not ascending.
    ValueError
        If a step is less than one.
    """
    if not shape and parts not in ((), (Ellipsis,)):
        raise ValueError("Illegal slicing argument for scalar dataspace")
    for part in parts:
        if part is None:
            raise TypeError("numpy.newaxis (None) cannot be used to index a dataset")
        if isinstance(part, (float, complex, bytes)):
            raise TypeError(f"Illegal index {part!r} (use an integer, slice, list or mask)")
    if sum(1 for part in parts if part is Ellipsis) > 1:
        raise ValueError("Only one ellipsis may be used.")
    named = sum(1 for part in parts if part is not Ellipsis)
    if named > len(shape):
        raise ValueError(f"{named} indexing arguments for {len(shape)} dimensions")
    options: list[list[_index.Range]] = []
    result: list[int] = []
    lists = 0
    for axis, part in enumerate(_index.expand(parts, len(shape))):
        size = shape[axis]
        if isinstance(part, slice):
            one = _slice(part, size)
            options.append([one])
            result.append(one[1])
        elif isinstance(part, MultiBlockSlice):
            blocks = part.ranges(size)
            options.append(blocks)
            result.append(sum(count for _, count, _ in blocks))
        elif _is_scalar(part):
            options.append([(_integer(part, size), 1, 1)])
        else:
            lists += 1
            if lists > 1:
                raise TypeError("Only one indexing vector or array is currently allowed for fancy indexing")
            ranges, count = _list(part, size)
            options.append(ranges)
            result.append(count)
    return Chosen(options, tuple(result))


def _is_scalar(part: Any) -> bool:
    if isinstance(part, (bool, np.bool_)):
        return False
    if isinstance(part, np.ndarray) and part.ndim:
        return False
    try:
        operator.index(part)
    except TypeError:
        return False
    return True


def _integer(part: Any, size: int) -> int:
    index = operator.index(part)
    if not -size <= index < size:
        if size == 0:
            raise IndexError(f"Index ({index}) out of range for empty dimension")
        raise IndexError(f"Index ({index}) out of range for (0-{size - 1})")
    return index % size


def _slice(part: slice, size: int) -> _index.Range:
    start, stop, step = part.indices(size)
    if step < 1:
        raise ValueError(f"Step must be >= 1 (got {step})")
    count = len(range(start, stop, step))
    return (start if count else 0, count, step)


def _list(part: Any, size: int) -> tuple[list[_index.Range], int]:
    array = np.asarray(part)
    if array.dtype == bool:
        if array.shape != (size,):
            raise TypeError(f"Boolean indexing array has incompatible shape {array.shape} for a dimension of {size}")
        array = np.flatnonzero(array)
    elif array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"Can't process indexing list {part!r}: it must be integers or truth values")
    # As Python's integers, because the largest unsigned ones become negative as 64-bit integers.
    for index in array.tolist():
        _integer(index, size)
    array = array.astype(np.int64)
    array = np.where(array < 0, array + size, array)
    if (np.diff(array) <= 0).any():
        raise TypeError("Indexing elements must be in increasing order")
    return _index.runs(array) or [(0, 0, 1)], len(array)
