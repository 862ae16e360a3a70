"""The low-level calls for groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sciformats.h5 import _names
from sciformats.h5._identifiers import GroupID

__all__ = ["GroupID", "GroupStat", "create", "get_objinfo", "iterate", "open"]

UNKNOWN, GROUP, DATASET, TYPE, LINK = range(-1, 4)
LINK_ERROR, LINK_HARD, LINK_SOFT = range(-1, 2)


class GroupStat(NamedTuple):
    """What :func:`get_objinfo` returns: numbers of the file and of the object in it, the number of hard links, the kind of the object,
    when it was modified, and the length of the path of a soft link.
    """

    fileno: int
    objno: int
    nlink: int
    type: int
    mtime: int
    linklen: int


def open(loc: Any, name: bytes) -> GroupID:
    """Return the identifier of a group.

    Raises
    ------
    ValueError
        If there is no such group.
    """
    try:
        found = loc._object[_names.inner(name)]
    except KeyError as error:
        raise ValueError(str(error.args[0]).replace("open object", "open group")) from None
    if not isinstance(found.id, GroupID):
        raise ValueError("Unable to synchronously open group (not a group)")
    return found.id


def create(loc: Any, name: bytes, lcpl: Any = None, gcpl: Any = None) -> GroupID:
    """Create a group, and return its identifier. ``gcpl`` is a property list of :mod:`sciformats.h5.h5p`."""
    order, times = (None, False) if gcpl is None else (gcpl.track_order, gcpl.get_obj_track_times())
    found: GroupID = loc._object.create_group(_names.inner(name), order, track_times=times).id
    return found


def iterate(loc: Any, func: Callable[[bytes], Any], startidx: int = 0, *, obj_name: bytes = b".") -> Any:
    """Call a function with the name of each link of a group, until it returns something other than ``None``.

    Raises
    ------
    ValueError
        If the first link has a negative number.
    RuntimeError
        If there is no such link.
    """
    names = list(loc if obj_name == b"." else open(loc, obj_name))
    if startidx < 0:
        raise ValueError("Starting index must be non-negative")
    if startidx > 0 and startidx >= len(names):
        raise RuntimeError("Error iterating over group's links (invalid index specified)")
    for name in names[startidx:]:
        answer = func(name)
        if answer is not None:
            return answer
    return None


def get_objinfo(obj: Any, name: bytes = b".", follow_link: bool = True) -> GroupStat:
    """Return facts about an object, or about its member with a name. The time is in seconds since 1970, and 0 if it is not stored."""
    from sciformats.h5 import h5o
    from sciformats.h5._links import SoftLink

    if not follow_link and name != b".":
        link = obj._object._link(_names.inner(name))
        if isinstance(link, SoftLink):
            return GroupStat(0, 0, 0, LINK, 0, len(link.path.encode("utf-8", "surrogateescape")) + 1)
    found = h5o.get_info(obj, name)
    return GroupStat(found.fileno, found.addr, found.rc, found.type, found.mtime, 0)
