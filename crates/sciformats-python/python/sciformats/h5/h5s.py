"""The low-level dataspaces: kinds and shapes, and which elements are selected."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciformats import _index
from sciformats.h5 import _regions
from sciformats.h5._create import UNLIMITED

#: All elements, in the place of a selection.
ALL = 0
NO_CLASS, SCALAR, SIMPLE, NULL = range(-1, 3)
#: How a selection is combined with the one before.
SELECT_NOOP, SELECT_SET, SELECT_OR, SELECT_AND, SELECT_XOR, SELECT_NOTB, SELECT_NOTA = range(-1, 6)
SELECT_APPEND, SELECT_PREPEND, SELECT_INVALID = range(6, 9)
#: The kinds of selections.
SEL_ERROR, SEL_NONE, SEL_POINTS, SEL_HYPERSLABS, SEL_ALL = range(-1, 4)

#: The largest number of elements of a dataspace in which selections are combined.
_MOST = 1 << 28

__all__ = ["ALL", "NULL", "SCALAR", "SIMPLE", "SpaceID", "UNLIMITED", "create", "create_simple"]

_COMBINED: dict[int, Callable[[Any, Any], Any]] = {
    SELECT_OR: np.logical_or,
    SELECT_AND: np.logical_and,
    SELECT_XOR: np.logical_xor,
    SELECT_NOTB: lambda before, new: before & ~new,
    SELECT_NOTA: lambda before, new: new & ~before,
}

Indices = tuple[int, ...]


class SpaceID:
    """A dataspace: its kind, its shape, its maximum shape, and the selected elements."""

    #: The kind of the selection.
    _kind: int
    #: The ranges of each dimension, if the selection is all combinations of them.
    _ranges: list[list[_index.Range]] | None
    #: The blocks or points of other selections.
    _blocks: list[_regions.Block] | None
    #: Start, stride, count and block of a selection that is one hyperslab.
    _regular: tuple[Indices, Indices, Indices, Indices] | None

    def __init__(self, kind: int, shape: Indices = (), maximum: tuple[int | None, ...] | None = None) -> None:
        self.kind, self.maximum = kind, maximum
        #: The shape.
        self.shape = shape
        self.select_all()

    def copy(self) -> SpaceID:
        """Return a copy, which can be changed."""
        made = SpaceID(self.kind, self.shape, self.maximum)
        made._take(self)
        return made

    def _take(self, other: SpaceID) -> None:
        self._kind, self._ranges, self._blocks, self._regular = other._kind, other._ranges, other._blocks, other._regular

    def _set(self, kind: int, ranges: Any = None, blocks: Any = None, regular: Any = None) -> None:
        self._kind, self._ranges, self._blocks, self._regular = kind, ranges, blocks, regular

    @property
    def selection(self) -> str:
        """The selected elements, as in a reference to a region."""
        if self._kind in (SEL_NONE, SEL_ALL):
            return "all" if self._kind == SEL_ALL else "none"
        if self._kind == SEL_POINTS:
            return "".join("(" + ",".join(map(str, point)) + ")" for point, _ in self._all_blocks()) or "none"
        return _regions.text_of(self._all_blocks())

    @selection.setter
    def selection(self, text: str) -> None:
        blocks, points = ([], False) if text in ("all", "none") else _regions.parse(text)
        if blocks:
            self._set(SEL_POINTS if points else SEL_HYPERSLABS, blocks=blocks)
        else:
            self._set(SEL_ALL if text == "all" else SEL_NONE)

    def _all_blocks(self) -> list[_regions.Block]:
        if self._blocks is None:
            self._blocks = _regions._of_options(self._ranges or [])
        return self._blocks

    def select_all(self) -> None:
        """Select all elements."""
        self._set(SEL_ALL)

    def select_none(self) -> None:
        """Select no element."""
        self._set(SEL_NONE)

    def select_elements(self, coords: ArrayLike, op: int = SELECT_SET) -> None:
        """Select single elements, whose order counts.

        Raises
        ------
        ValueError
            If the coordinates do not have the rank of the dataspace.
        """
        points = np.asarray(coords, np.int64)
        if points.ndim != 2 or points.shape[1] != len(self.shape):
            raise ValueError(f"the coordinates of elements must have the shape (number of elements, {len(self.shape)})")
        corners = [tuple(int(at) for at in point) for point in points]
        blocks = [(corner, corner) for corner in corners]
        before = self._blocks or [] if self._kind == SEL_POINTS else []
        if op == SELECT_APPEND:
            blocks = [*before, *blocks]
        elif op == SELECT_PREPEND:
            blocks = [*blocks, *before]
        elif op != SELECT_SET:
            raise ValueError("elements can be set, appended or prepended")
        self._set(SEL_POINTS, blocks=blocks)

    def select_hyperslab(
        self,
        start: Indices,
        count: Indices,
        stride: Indices | None = None,
        block: Indices | None = None,
        op: int = SELECT_SET,
    ) -> None:
        """Select blocks of ``block`` elements, of which ``count`` begin every ``stride`` elements.

        Raises
        ------
        ValueError
            If the arguments do not have the rank of the dataspace, or blocks overlap.
        RuntimeError
            If this is combined with single elements, whose order counts.
        NotImplementedError
            If this is combined with another selection in a dataspace of more than 2**28 elements.
        """
        if self._kind == SEL_POINTS and op in _COMBINED:
            raise RuntimeError("Unable to set hyperslab selection (invalid selection operation)")
        rank = len(self.shape)
        ones = (1,) * rank
        parts = [tuple(int(n) for n in each) for each in (start, stride or ones, count, block or ones)]
        if any(len(each) != rank for each in parts):
            raise ValueError(f"start, count, stride and block must have {rank} numbers each")
        ranges = []
        for first, step, times, size in zip(*parts):
            if first < 0 or step < 1 or times < 0 or size < 0 or (times > 1 and size > step):
                raise ValueError("a hyperslab begins inside of its dataspace, and its blocks do not overlap")
            if size == step or times == 1:
                ranges.append([(first, times * size, 1)])
            elif size == 1:
                ranges.append([(first, times, step)])
            else:
                ranges.append([(first + at * step, size, 1) for at in range(times)])
        new = SpaceID(SIMPLE, self.shape, self.maximum)
        if all(sum(length for _, length, _ in each) for each in ranges):
            new._set(SEL_HYPERSLABS, ranges=ranges, regular=(parts[0], parts[1], parts[2], parts[3]))
        else:
            new._set(SEL_NONE)
        self._combine(new, op)

    def _combine(self, new: SpaceID, op: int) -> None:
        if op == SELECT_SET:
            self._take(new)
            return
        if op not in _COMBINED:
            raise ValueError(f"{op} is no way to combine hyperslabs")
        if self._kind == SEL_ALL and op in (SELECT_OR, SELECT_AND, SELECT_NOTA):
            # As in the C library, also where something beyond the dataspace is selected.
            if op == SELECT_AND:
                self._take(new)
            elif op == SELECT_NOTA:
                self.select_none()
            return
        # What is selected beyond the dataspace is kept, so that it is an error to read it.
        shape = self.shape
        for bounds in (self.get_select_bounds(), new.get_select_bounds()):
            shape = shape if bounds is None else tuple(max(n, last + 1) for n, last in zip(shape, bounds[1]))
        blocks = _joined(_regions._of_mask(_COMBINED[op](self._mask(shape), new._mask(shape))))
        ones = (1,) * len(self.shape)
        regular = None
        if len(blocks) == 1:
            first, last = blocks[0]
            regular = (first, ones, ones, tuple(b - a + 1 for a, b in zip(first, last)))
        self._set(SEL_HYPERSLABS if blocks else SEL_NONE, blocks=blocks, regular=regular)

    def combine_select(self, space2: SpaceID, op: int) -> SpaceID:
        """Return a dataspace in which the selection is that of this one, combined with that of another of the same shape."""
        made = self.copy()
        made.modify_select(space2, op)
        return made

    def modify_select(self, space2: SpaceID, op: int) -> None:
        """Combine the selection with that of another dataspace of the same shape.

        Raises
        ------
        ValueError
            If the shapes differ, or single elements are selected, whose order counts.
        """
        if SEL_POINTS in (self._kind, space2._kind):
            raise ValueError("Dataspaces don't have hyperslab selections (dataspaces don't have hyperslab selections)")
        if space2.shape != self.shape:
            raise ValueError(f"a dataspace of shape {self.shape} cannot be combined with one of shape {space2.shape}")
        self._combine(space2, op)

    def select_copy(self, space2: SpaceID) -> None:
        """Take the selection of another dataspace of the same rank."""
        if len(space2.shape) != len(self.shape):
            raise ValueError(f"a dataspace of {len(self.shape)} dimensions cannot have a selection in {len(space2.shape)}")
        self._take(space2)

    def mask(self) -> NDArray[np.bool_]:
        """Return which elements are selected."""
        return self._mask(self.shape)

    def _mask(self, shape: Indices) -> NDArray[np.bool_]:
        """Return which elements of a shape, which is not smaller than that of the dataspace, are selected."""
        if math.prod(shape) > _MOST:
            raise NotImplementedError(f"selections are combined in dataspaces of at most {_MOST} elements")
        mask = np.zeros(shape, bool)
        if self._kind == SEL_ALL:
            mask[tuple(map(slice, self.shape))] = True
        elif self._kind in (SEL_POINTS, SEL_HYPERSLABS):
            for first, last in self._all_blocks():
                mask[tuple(slice(a, b + 1) for a, b in zip(first, last))] = True
        return mask

    def get_select_type(self) -> int:
        """Return ``SEL_NONE``, ``SEL_POINTS``, ``SEL_HYPERSLABS`` or ``SEL_ALL``."""
        return self._kind

    def get_select_npoints(self) -> int:
        """Return the number of selected elements."""
        if self._kind == SEL_NONE:
            return 0
        if self._kind == SEL_ALL:
            return self.get_simple_extent_npoints()
        if self._ranges is not None:
            return math.prod(sum(count for _, count, _ in ranges) for ranges in self._ranges)
        return sum(map(_regions._count, self._all_blocks()))

    def get_select_bounds(self) -> tuple[Indices, Indices] | None:
        """Return the smallest and the largest indices of selected elements; ``None`` if there are none."""
        if self._kind == SEL_NONE:
            return None
        if self._kind == SEL_ALL:
            return (0,) * len(self.shape), tuple(n - 1 for n in self.shape)
        if self._ranges is not None:
            first = tuple(min(at for at, _, _ in ranges) for ranges in self._ranges)
            return first, tuple(max(at + (n - 1) * step for at, n, step in ranges) for ranges in self._ranges)
        first_corners, last_corners = zip(*self._all_blocks())
        return tuple(map(min, zip(*first_corners))), tuple(map(max, zip(*last_corners)))

    def select_valid(self) -> bool:
        """Return whether all selected elements are inside of the dataspace."""
        bounds = self.get_select_bounds()
        return bounds is None or all(0 <= a and b < n for a, b, n in zip(*bounds, self.shape))

    def is_regular_hyperslab(self) -> bool:
        """Return whether the selection is one hyperslab with a start, a stride, a count and a block."""
        return self._kind == SEL_HYPERSLABS and self._regular is not None

    def get_regular_hyperslab(self) -> tuple[Indices, Indices, Indices, Indices]:
        """Return start, stride, count and block of a hyperslab.

        Raises
        ------
        ValueError
            If the selection is no single hyperslab.
        """
        if not self.is_regular_hyperslab() or self._regular is None:
            raise ValueError("Not a regular hyperslab selection (not a regular hyperslab selection)")
        return self._regular

    def get_select_hyper_nblocks(self) -> int:
        """Return the number of blocks of hyperslabs."""
        return math.prod(self._regular[2]) if self._regular is not None else len(self.get_select_hyper_blocklist())

    def get_select_hyper_blocklist(self) -> NDArray[np.uint64]:
        """Return the first and the last element of each block of hyperslabs, as an array of shape (blocks, 2, rank)."""
        if self._kind != SEL_HYPERSLABS:
            raise ValueError("Can't get number of hyperslab blocks (not a hyperslab selection)")
        if self._regular is None:
            return np.array(self._all_blocks(), np.uint64).reshape((-1, 2, len(self.shape)))
        start, stride, count, block = self._regular
        # Blocks are told as they were asked for, also where they touch.
        firsts = np.stack(np.meshgrid(*[a + s * np.arange(n) for a, s, n in zip(start, stride, count)], indexing="ij"), axis=-1)
        firsts = firsts.reshape((-1, len(start)))
        return np.stack([firsts, firsts + np.array(block) - 1], axis=1).astype(np.uint64)

    def get_select_elem_npoints(self) -> int:
        """Return the number of selected single elements."""
        return len(self.get_select_elem_pointlist())

    def get_select_elem_pointlist(self) -> NDArray[np.uint64]:
        """Return the selected single elements in their order, as an array of shape (elements, rank)."""
        if self._kind != SEL_POINTS:
            raise ValueError("Can't get number of element points (not an element selection)")
        return np.array([first for first, _ in self._all_blocks()], np.uint64).reshape((-1, len(self.shape)))

    def get_simple_extent_type(self) -> int:
        """Return ``NULL``, ``SCALAR`` or ``SIMPLE``."""
        return self.kind

    def get_simple_extent_dims(self, maxdims: bool = False) -> Indices:
        """Return the shape, or the maximum shape, in which ``UNLIMITED`` stands for no maximum."""
        if not maxdims or self.maximum is None:
            return self.shape
        return tuple(UNLIMITED if n is None else n for n in self.maximum)

    def get_simple_extent_ndims(self) -> int:
        """Return the number of dimensions."""
        return len(self.shape)

    def get_simple_extent_npoints(self) -> int:
        """Return the number of elements."""
        return 0 if self.kind == NULL else math.prod(self.shape)

    def is_simple(self) -> bool:
        """Return whether there is a shape, which all kinds of dataspaces have but for unknown ones."""
        return True

    def set_extent_simple(self, dims: Indices, max_dims: tuple[int | None, ...] | None = None) -> None:
        """Set the shape and the maximum shape. The selection stays."""
        new = create_simple(dims, max_dims)
        self.kind, self.shape, self.maximum = new.kind, new.shape, new.maximum

    def set_extent_none(self) -> None:
        """Make it a dataspace without elements."""
        self.kind, self.shape, self.maximum = NULL, (), None

    def extent_copy(self, source: SpaceID) -> None:
        """Take the shape of another dataspace. The selection stays."""
        self.kind, self.shape, self.maximum = source.kind, source.shape, source.maximum

    def close(self) -> None:
        """Do nothing: dataspaces need not be closed."""

    def _of_file(self, dataset: Any) -> NDArray[Any]:
        """Return the selected elements of a dataset, in the order of the selection."""
        if self._kind == SEL_ALL:
            return np.asarray(dataset[()]).reshape((-1, *dataset.dtype.shape))
        if self._ranges is not None:
            from sciformats.h5 import _selection

            shape = tuple(sum(count for _, count, _ in ranges) for ranges in self._ranges)
            return np.asarray(dataset._read(_selection.Chosen(self._ranges, shape))).reshape((-1, *dataset.dtype.shape))
        found = _regions.read(dataset, self._reference())
        return np.asarray(found).reshape((-1, *dataset.dtype.shape))

    def _reference(self) -> Any:
        from sciformats.h5._types import RegionReference

        # It is only asked which elements it selects.
        return RegionReference("/", self.selection)

    def _grid(self) -> list[list[_index.Range]]:
        """Return the ranges of each dimension.

        Raises
        ------
        NotImplementedError
            If the selection is not all combinations of some ranges.
        """
        if self._kind == SEL_ALL:
            return [[(0, n, 1)] for n in self.shape]
        found = self._ranges or (None if self._kind == SEL_POINTS else _regions._grid(self._blocks or []))
        if found is None:
            raise NotImplementedError("a part of a virtual dataset is all elements, or one hyperslab")
        return found

    def _key(self) -> Any:
        """Return the selected elements as a key for arrays of this shape."""
        if self._kind == SEL_ALL:
            return ...
        if self._ranges is not None:
            axes = [np.concatenate([at + step * np.arange(n) for at, n, step in ranges]) for ranges in self._ranges]
            return np.ix_(*axes)
        if self._kind == SEL_POINTS:
            return tuple(self.get_select_elem_pointlist().astype(np.int64).T)
        return self.mask()


def _joined(blocks: list[_regions.Block]) -> list[_regions.Block]:
    """Join runs of the last dimension that follow each other along the dimension before, as the C library does."""
    found: list[_regions.Block] = []
    at: dict[Any, int] = {}
    for first, last in blocks:
        if len(first) < 2:
            found.append((first, last))
            continue
        key = (first[:-2], first[-1], last[-1], first[-2] - 1)
        place = at.pop(key, None)
        if place is None:
            place = len(found)
            found.append((first, last))
        else:
            found[place] = (found[place][0], last)
        at[(first[:-2], first[-1], last[-1], last[-2])] = place
    return found


def create(class_code: int) -> SpaceID:
    """Return a dataspace of a kind."""
    return SpaceID(class_code)


def create_simple(dims: Indices, max_dims: tuple[int | None, ...] | None = None) -> SpaceID:
    """Return a dataspace with a shape.

    Raises
    ------
    ValueError
        If a dimension is negative, or larger than its maximum.
    """
    if any(n < 0 for n in dims):
        raise ValueError(f"the dimensions {tuple(dims)} are not all numbers of elements")
    most = None if max_dims is None else tuple(None if n in (UNLIMITED, None) else n for n in max_dims)
    if most is not None and (len(most) != len(dims) or any(m is not None and m < n for m, n in zip(most, dims))):
        raise ValueError("Maxdims is smaller than dims (maxdims is smaller than dims)")
    return SpaceID(SIMPLE, tuple(int(n) for n in dims), most)
