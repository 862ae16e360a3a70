"""The low-level calls for groups."""

from __future__ import annotations

from typing import Any, NamedTuple


class GroupStat(NamedTuple):
    """What :func:`get_objinfo` returns: a number of the object in its file, the number of hard links, and when it was modified."""

    objno: int
    nlink: int
    mtime: int


def get_objinfo(obj: Any) -> GroupStat:
    """Return facts about an object. The time is in seconds since 1970, and 0 if it is not stored."""
    node = obj._object._node
    return GroupStat(int(node.address), int(node.info()[0]), int(node.modified() or 0))
