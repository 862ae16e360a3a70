"""HDF5 files for programs that were written for h5py: ``import sciformats.h5 as h5py``.

The documentation of h5py describes the names, and ``docs/python.md`` of the project describes the
differences: there is no lock, any number of threads can read at the same time, objects can be pickled, and all filters are built in.
"""

from __future__ import annotations

import os

from sciformats.h5 import _create, _hl, filters, h5, h5a, h5d, h5ds, h5f, h5g, h5i, h5l, h5o, h5p, h5r, h5s, h5t, h5z, version
from sciformats.h5._attributes import AttributeManager
from sciformats.h5._dataset import Dataset
from sciformats.h5._dataset_id import StoreInfo
from sciformats.h5._links import ExternalLink, HardLink, SoftLink
from sciformats.h5._file import File
from sciformats.h5._group import Group
from sciformats.h5._objects import Datatype, HLObject
from sciformats.h5._config import get_config
from sciformats.h5._selection import MultiBlockSlice
from sciformats.h5._types import (
    Empty,
    Reference,
    RegionReference,
    check_complex_dtype,
    check_dtype,
    check_enum_dtype,
    check_opaque_dtype,
    check_ref_dtype,
    check_string_dtype,
    check_vlen_dtype,
    complex_compat_dtype,
    enum_dtype,
    opaque_dtype,
    ref_dtype,
    regionref_dtype,
    special_dtype,
    string_dtype,
    vlen_dtype,
)
from sciformats.h5._virtual import VirtualLayout, VirtualSource

__all__ = [
    "AttributeManager",
    "Dataset",
    "Datatype",
    "Empty",
    "ExternalLink",
    "File",
    "Group",
    "HLObject",
    "HardLink",
    "MultiBlockSlice",
    "Reference",
    "RegionReference",
    "SoftLink",
    "StoreInfo",
    "UNLIMITED",
    "VirtualLayout",
    "VirtualSource",
    "_hl",
    "check_complex_dtype",
    "check_dtype",
    "check_enum_dtype",
    "check_opaque_dtype",
    "check_ref_dtype",
    "check_string_dtype",
    "check_vlen_dtype",
    "complex_compat_dtype",
    "enum_dtype",
    "filters",
    "get_config",
    "h5",
    "h5a",
    "h5d",
    "h5ds",
    "h5f",
    "h5g",
    "h5i",
    "h5l",
    "h5o",
    "h5p",
    "h5r",
    "h5s",
    "h5t",
    "h5z",
    "is_hdf5",
    "opaque_dtype",
    "ref_dtype",
    "regionref_dtype",
    "special_dtype",
    "string_dtype",
    "version",
    "vlen_dtype",
]

__version__ = version.version

#: The maximum length of a dimension that has none.
UNLIMITED = _create.UNLIMITED


def is_hdf5(fname: str | bytes | os.PathLike[str]) -> bool:
    """Return whether there is an HDF5 file at a path."""
    from sciformats._open import open

    try:
        with open(os.fsdecode(fname)) as file:
            return bool(file.format == "hdf5")
    except (OSError, NotImplementedError):
        return False
