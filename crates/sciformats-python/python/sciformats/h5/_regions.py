"""References to parts of datasets: ``dataset.regionref[...]``, and the elements to which they lead."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciformats import _index
from sciformats._dtypes import check_shape
from sciformats.h5 import _selection, _types

#: The first and the last indices of a block of elements.
Block = tuple[tuple[int, ...], tuple[int, ...]]

#: A point, or the corners of a block.
_PART = re.compile(r"\(([\d,]*)\)(?:-\(([\d,]*)\))?")

#: The largest number of blocks of a reference that is made here.
_MOST = 1 << 20


class Regions:
    """Makes and examines references to parts of a dataset: ``dataset.regionref``."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __getitem__(self, key: Any) -> _types.RegionReference:
        """Return a reference to the elements that the brackets select."""
        dataset = self._dataset
        shape = dataset.shape
        if shape is None:
            raise TypeError("Empty datasets have no elements to refer to")
        names, parts = _selection.split(key)
        if names:
            raise TypeError(f"a reference is to elements, and not to their field {names[0]!r}")
        if len(parts) == 1 and dataset._is_mask(parts[0]):
            blocks = _of_mask(np.asarray(parts[0]))
        else:
            blocks = _of_options(_selection.choose(parts, shape).options)
        found = _types.RegionReference(selection="all" if shape == () else text_of(blocks))
        dataset._refer(found)
        return found

    def shape(self, ref: _types.RegionReference) -> Any:
        """Return the shape of the dataset to which a reference leads."""
        return self._dataset.file[ref].shape

    def selection(self, ref: _types.RegionReference) -> Any:
        """Return the shape of the elements to which a reference leads."""
        if ref.selection == "all":
            return self.shape(ref)
        blocks, points = parse(ref.selection)
        if not blocks:
            return (0,) * len(self.shape(ref))
        grid = None if points else _grid(blocks)
        return (sum(map(_count, blocks)),) if grid is None else tuple(sum(c for _, c, _ in ranges) for ranges in grid)


def text_of(blocks: list[Block]) -> str:
    """Return blocks in the form in which the Rust part describes them."""
    if not blocks:
        return "none"
    return "".join("-".join("(" + ",".join(map(str, corner)) + ")" for corner in block) for block in blocks)


def parse(selection: str) -> tuple[list[Block], bool]:
    """Return the blocks of a selection that is not ``"all"``, and whether they are points, whose order counts."""
    found: list[Block] = []
    points = True
    for first, last in _PART.findall(selection):
        points = points and not last
        corner = tuple(int(index) for index in first.split(","))
        found.append((corner, tuple(int(index) for index in last.split(",")) if last else corner))
    return found, points and bool(found)


def read(dataset: Any, ref: _types.RegionReference) -> Any:
    """Return the elements of a dataset to which a reference leads: in their shape if they form a grid, and as one row if not."""
    if not ref:
        raise ValueError("Invalid HDF5 region reference")
    if ref.selection == "all":
        return dataset[()]
    blocks, points = parse(ref.selection)
    shape = dataset.shape
    if not blocks:
        return _types.Empty(dataset.dtype) if not shape else np.empty((0,) * len(shape) + dataset.dtype.shape, dataset.dtype.base)
    _check_within(blocks, shape)
    grid = None if points else _grid(blocks)
    if grid is not None:
        chosen = _selection.Chosen(grid, tuple(sum(count for _, count, _ in ranges) for ranges in grid))
        return dataset._read(chosen)
    check_shape((sum(map(_count, blocks)),), dataset.dtype)
    values: list[NDArray[Any]] = []
    places: list[NDArray[Any]] = []
    for first, last in blocks:
        ranges = [(a, b - a + 1, 1) for a, b in zip(first, last)]
        values.append(dataset._ranges(ranges).reshape((_count((first, last)), *dataset.dtype.shape)))
        if not points:
            axes = [np.arange(a, b + 1) for a, b in zip(first, last)]
            places.append(np.ravel_multi_index(np.meshgrid(*axes, indexing="ij"), shape).reshape(-1))
    found = np.concatenate(values)
    # The order is that of the dataset, and elements of several blocks count once.
    return found if points else found[np.unique(np.concatenate(places), return_index=True)[1]]


def write(dataset: Any, ref: _types.RegionReference, value: Any) -> None:
    """Set the elements of a dataset to which a reference leads, which are read in the same order."""
    if not ref:
        raise ValueError("Invalid HDF5 region reference")
    if ref.selection == "all":
        dataset[()] = value
        return
    blocks, points = parse(ref.selection)
    shape = dataset.shape
    _check_within(blocks, shape)
    grid = None if points else _grid(blocks)
    if grid is not None:
        chosen = _selection.Chosen(grid, tuple(sum(count for _, count, _ in ranges) for ranges in grid))
        dataset._put(chosen, (), value)
        return
    if points and np.ndim(value):
        order = np.lexsort([axis for axis in np.transpose([first for first, _ in blocks])][::-1])
        if len(set(blocks)) != len(blocks) or len(value) != len(blocks):
            raise TypeError(f"{len(value)} values cannot be written to {len(blocks)} points, of which each must be given once")
        value = np.asarray(value)[order]
    mask = np.zeros(shape, bool)
    for first, last in blocks:
        mask[tuple(slice(a, b + 1) for a, b in zip(first, last))] = True
    dataset._write_masked(mask, value, ())


def _check_within(blocks: list[Block], shape: tuple[int, ...]) -> None:
    if any(len(last) != len(shape) or any(at >= n for at, n in zip(last, shape)) for _, last in blocks):
        raise ValueError(f"the reference is to elements outside of the dataset, whose shape is {shape}")


def corner(ref: _types.RegionReference) -> tuple[int, ...]:
    """Return the indices of the first selected element, of which there are as many as the dataset has dimensions; none if the
    reference names no elements.
    """
    if ref.selection == "all":
        return ()
    blocks, _ = parse(ref.selection)
    return blocks[0][0] if blocks else ()


def parts(ref: _types.RegionReference, shape: tuple[int, ...]) -> list[tuple[tuple[int, ...], ...]]:
    """Return the corners of the blocks, or the points, in the form in which the Rust part writes them."""
    if ref.selection == "all":
        return [((0,) * len(shape), tuple(n - 1 for n in shape))] if all(shape) else []
    blocks, points = parse(ref.selection)
    return [(first,) for first, _ in blocks] if points else list(blocks)


def _count(block: Block) -> int:
    return math.prod(last - first + 1 for first, last in zip(*block))


def _of_options(options: list[list[_index.Range]]) -> list[Block]:
    bounds = []
    for ranges in options:
        if sum(1 if step == 1 else count for _, count, step in ranges) > _MOST:
            raise ValueError(f"a reference to a region must have at most {_MOST} blocks")
        one = [(at, at + count - 1) for at, count, step in ranges if step == 1 and count]
        one += [(at + i * step,) * 2 for at, count, step in ranges if step != 1 for i in range(count)]
        bounds.append(sorted(one))
    if math.prod(map(len, bounds)) > _MOST:
        raise ValueError(f"a reference to a region must have at most {_MOST} blocks")
    return [(tuple(a for a, _ in corner), tuple(b for _, b in corner)) for corner in itertools.product(*bounds)]


def _of_mask(mask: NDArray[np.bool_]) -> list[Block]:
    blocks: list[Block] = []
    for point in np.argwhere(mask):
        *row, at = (int(index) for index in point)
        if blocks and list(blocks[-1][1]) == [*row, at - 1]:
            blocks[-1] = (blocks[-1][0], (*row, at))
        else:
            blocks.append(((*row, at), (*row, at)))
    if len(blocks) > _MOST:
        raise ValueError(f"a reference to a region must have at most {_MOST} blocks")
    return blocks


def _grid(blocks: list[Block]) -> list[list[_index.Range]] | None:
    """Return what blocks that form a grid take of each dimension; ``None`` for other blocks."""
    if not blocks:
        return None
    bounds = [sorted({(first[axis], last[axis]) for first, last in blocks}) for axis in range(len(blocks[0][0]))]
    if math.prod(map(len, bounds)) != len(blocks) or len(set(blocks)) != len(blocks):
        return None
    if any(a[1] >= b[0] for one in bounds for a, b in zip(one, one[1:])):
        return None
    return [[(first, last - first + 1, 1) for first, last in one] for one in bounds]
