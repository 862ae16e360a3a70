"""The low-level dataspaces: kinds and shapes, and whether all elements are selected or none."""

from __future__ import annotations

from sciformats.h5._create import UNLIMITED

#: All elements, in the place of a selection.
ALL = 0
NULL = 2
SCALAR = 0
SIMPLE = 1

__all__ = ["ALL", "NULL", "SCALAR", "SIMPLE", "SpaceID", "UNLIMITED", "create", "create_simple"]


class SpaceID:
    """A dataspace: its kind, its shape and its maximum shape."""

    def __init__(self, kind: int, shape: tuple[int, ...] = (), maximum: tuple[int | None, ...] | None = None) -> None:
        self.kind, self.shape, self.maximum = kind, shape, maximum
        #: The selected elements, as in a reference to a region.
        self.selection = "all"

    def select_all(self) -> None:
        """Select all elements."""
        self.selection = "all"

    def select_none(self) -> None:
        """Select no element."""
        self.selection = "none"

    def get_simple_extent_type(self) -> int:
        """Return ``NULL``, ``SCALAR`` or ``SIMPLE``."""
        return self.kind

    def get_simple_extent_dims(self) -> tuple[int, ...]:
        """Return the shape."""
        return self.shape


def create(class_code: int) -> SpaceID:
    """Return a dataspace of a kind."""
    return SpaceID(class_code)


def create_simple(dims: tuple[int, ...], max_dims: tuple[int, ...] | None = None) -> SpaceID:
    """Return a dataspace with a shape."""
    most = None if max_dims is None else tuple(None if n == UNLIMITED else n for n in max_dims)
    return SpaceID(SIMPLE, tuple(dims), most)
