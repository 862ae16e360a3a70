"""The low-level calls for identifiers of any kind."""

from __future__ import annotations

from typing import Any

from sciformats.h5 import h5a, h5s, h5t
from sciformats.h5._dataset_id import DatasetID
from sciformats.h5._identifiers import FileID, GroupID

__all__ = ["get_file_id", "get_name", "get_type"]

BADID = -1
INVALID_HID = -1
FILE, GROUP, DATATYPE, DATASPACE, DATASET = range(1, 6)
ATTR = 7
GENPROP_CLS, GENPROP_LST = 10, 11

# A file is also a group, so that it comes first.
_KINDS: tuple[tuple[Any, int], ...] = (
    (FileID, FILE),
    (GroupID, GROUP),
    (h5t.TypeID, DATATYPE),
    (h5s.SpaceID, DATASPACE),
    (DatasetID, DATASET),
    (h5a.AttrID, ATTR),
)


def get_type(obj: Any) -> int:
    """Return what an identifier stands for, such as ``GROUP``, or ``BADID``."""
    return next((number for kind, number in _KINDS if isinstance(obj, kind)), BADID)


def get_name(obj: Any) -> bytes | None:
    """Return the path of an object; ``None`` for what has none."""
    if isinstance(obj, FileID):
        return b"/"
    found: bytes | None = getattr(obj, "name", None)
    return found


def get_file_id(obj: Any) -> FileID:
    """Return the identifier of the file of an object."""
    found: FileID = obj._object.file.id
    return found
