"""The low-level calls for objects of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sciformats.h5 import _names
from sciformats.h5._links import check

__all__ = ["ObjInfo", "copy", "exists_by_name", "get_comment", "get_info", "link", "open", "visit"]

TYPE_GROUP, TYPE_DATASET, TYPE_NAMED_DATATYPE = range(3)

COPY_SHALLOW_HIERARCHY_FLAG = 1
COPY_EXPAND_SOFT_LINK_FLAG = 2
COPY_EXPAND_EXT_LINK_FLAG = 4
COPY_EXPAND_REFERENCE_FLAG = 8
COPY_WITHOUT_ATTR_FLAG = 16
COPY_PRESERVE_NULL_FLAG = 32


class ObjInfo(NamedTuple):
    """What :func:`get_info` returns.

    Attributes
    ----------
    fileno : int
        A number of the file, which is the same for all of its objects.
    addr : int
        The address of the object in its file.
    type : int
        ``TYPE_GROUP``, ``TYPE_DATASET`` or ``TYPE_NAMED_DATATYPE``.
    rc : int
        The number of hard links.
    mtime : int
        When the object was modified, in seconds since 1970; 0 if it is not stored.
    num_attrs : int
        The number of attributes.
    """

    fileno: int
    addr: int
    type: int
    rc: int
    mtime: int
    num_attrs: int


def _at(loc: Any, name: bytes | None) -> Any:
    return loc._object if name in (None, b".") else loc._object[_names.inner(name or b"")]


def open(loc: Any, name: bytes, lapl: Any = None) -> Any:
    """Return the identifier of an object of any kind."""
    check(lapl)
    return _at(loc, name).id


def exists_by_name(loc: Any, name: bytes, lapl: Any = None) -> bool:
    """Return whether a name leads to an object."""
    check(lapl)
    return loc._object.get(_names.inner(name)) is not None


def get_info(loc: Any, name: bytes | None = None, index: int | None = None, obj_name: bytes = b".", lapl: Any = None) -> ObjInfo:
    """Return facts about an object, or about its member with a name, or with a place in the order of names.

    Raises
    ------
    RuntimeError
        If there is no such member.
    """
    check(lapl)
    kinds = {"group": TYPE_GROUP, "dataset": TYPE_DATASET}
    if index is not None:
        loc = open(loc, obj_name)
        name = loc.get_objname_by_idx(index)
    if hasattr(loc, "described"):
        found = loc._named
        if found is None:
            raise TypeError("the type is no object of a file")
    else:
        try:
            found = _at(loc, name)
        except KeyError as error:
            raise RuntimeError(f"Can't get info for object ({error.args[0]})") from None
    node = found._node
    number = hash(found._file_of.address.path) & 0xFFFF_FFFF or 1
    kind = kinds.get(node.kind, TYPE_NAMED_DATATYPE)
    return ObjInfo(number, int(node.address), kind, int(node.info()[0]), int(node.modified() or 0), len(node.attributes()))


def link(obj: Any, loc: Any, name: bytes, lcpl: Any = None, lapl: Any = None) -> None:
    """Make a hard link to an object."""
    check(lapl)
    loc._object[_names.inner(name)] = obj._object


def copy(src_loc: Any, src_name: bytes, dst_loc: Any, dst_name: bytes, copypl: Any = None, lcpl: Any = None) -> None:
    """Copy an object with everything below it."""
    if copypl is not None:
        raise NotImplementedError("property lists for copies are not supported; Group.copy has their settings as keywords")
    dst_loc._object.copy(_at(src_loc, src_name), dst_loc._object, _names.inner(dst_name))


def get_comment(loc: Any, comment: bytes, *, obj_name: bytes = b".", lapl: Any = None) -> bytes:
    """Return the comment of an object, which ``comment`` names."""
    return _names.encoded(_at(open(loc, obj_name, lapl), comment)._node.info()[1] or "")


def visit(loc: Any, func: Callable[..., Any], *, idx_type: int = 0, order: int = 0, obj_name: bytes = b".", lapl: Any = None, info: bool = False) -> Any:
    """Call a function with the name of each object below a group, until it returns something other than ``None``.

    With ``info`` it also gets what :func:`get_info` returns. The objects of each group are in the order of their names, or in that of
    creation (``h5.INDEX_CRT_ORDER``) if it is known, and from the last one on with ``h5.ITER_DEC``.

    Raises
    ------
    ValueError
        If there is no such order.
    """

    def call(name: str, found: Any) -> Any:
        return func(_names.encoded(name), get_info(start, _names.encoded(name))) if info else func(_names.encoded(name))

    start = open(loc, obj_name, lapl)
    return start._object._visit(call, idx_type, order)
