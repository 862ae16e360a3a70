"""References, as the low-level interface names them."""

from __future__ import annotations

from typing import Any

from sciformats.h5._types import Reference, RegionReference

__all__ = ["OBJECT", "DATASET_REGION", "Reference", "RegionReference", "create"]

OBJECT = 0
DATASET_REGION = 1


def create(loc: Any, name: bytes, ref_type: int, space: Any = None) -> Reference:
    """Return a reference to an object, or to the elements of a dataset that a dataspace of :mod:`sciformats.h5.h5s` selects."""
    of = loc._object if name in (b".", b"") else loc._object[name.decode()]
    if ref_type == OBJECT:
        found: Reference = of.ref
        return found
    if space is None:
        raise ValueError("a reference to a region needs a dataspace")
    return RegionReference(of.ref.path, space.selection)
