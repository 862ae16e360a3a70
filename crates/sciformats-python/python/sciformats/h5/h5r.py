"""References, as the low-level interface names them."""

from __future__ import annotations

from typing import Any

from sciformats.h5 import _names
from sciformats.h5._types import Reference, RegionReference

__all__ = ["OBJECT", "DATASET_REGION", "Reference", "RegionReference", "create", "dereference", "get_name", "get_obj_type", "get_region"]

OBJECT = 0
DATASET_REGION = 1


def get_name(ref: Reference, loc: Any) -> bytes | None:
    """Return the path of the object to which a reference leads; ``None`` if it leads nowhere."""
    return _names.encoded(ref.path) if ref and not ref.path.startswith("?") else None


def dereference(ref: Reference, loc: Any) -> Any:
    """Return the identifier of the object to which a reference leads; ``None`` if it leads nowhere."""
    return loc._object.file[ref].id if ref else None


def get_obj_type(ref: Reference, loc: Any) -> int:
    """Return the kind of the object to which a reference leads: ``h5g.GROUP``, ``h5g.DATASET`` or ``h5g.TYPE``."""
    from sciformats.h5 import h5o

    return h5o.get_info(dereference(ref, loc)).type


def get_region(ref: RegionReference, loc: Any) -> Any:
    """Return the dataspace of a dataset, of which the elements are selected to which a reference leads."""
    found = dereference(ref, loc)
    if found is None:
        return None
    space = found.get_space()
    space.selection = ref.selection
    return space


def create(loc: Any, name: bytes, ref_type: int, space: Any = None) -> Reference:
    """Return a reference to an object, or to the elements of a dataset that a dataspace of :mod:`sciformats.h5.h5s` selects."""
    of = loc._object if name in (b".", b"") else loc._object[_names.inner(name)]
    if ref_type == OBJECT:
        found: Reference = of.ref
        return found
    if space is None:
        raise ValueError("a reference to a region needs a dataspace")
    made = RegionReference(selection=space.selection)
    of._refer(made)
    return made
