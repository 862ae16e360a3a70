"""The members of groups: as views of their names and objects, and all that are below a group."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from typing import TYPE_CHECKING, Any

from sciformats.h5 import h5

if TYPE_CHECKING:
    from sciformats.h5._group import Group


class Names(KeysView[str]):
    """The names of the members of a group."""

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def __repr__(self) -> str:
        return f"<KeysViewHDF5 {list(self)}>"


class Members(ValuesView[Any]):
    """The members of a group; a link that leads nowhere is ``None``."""

    _mapping: Any

    def __iter__(self) -> Iterator[Any]:
        found: list[Any] = [member for _, member in self._mapping._members()]
        return iter(found)

    def __contains__(self, value: object) -> bool:
        return any(value == each for each in self)

    def __reversed__(self) -> Iterator[Any]:
        return iter(list(self)[::-1])

    def __repr__(self) -> str:
        return f"<ValuesViewHDF5({self._mapping})>"


class NamedMembers(ItemsView[str, Any]):
    """The members of a group with their names; a link that leads nowhere is ``None``."""

    _mapping: Any

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        found: list[tuple[str, Any]] = list(self._mapping._members())
        return iter(found)

    def __contains__(self, item: object) -> bool:
        return any(item == each for each in self)

    def __reversed__(self) -> Iterator[tuple[str, Any]]:
        return iter(list(self)[::-1])

    def __repr__(self) -> str:
        return f"<ItemsViewHDF5({self._mapping})>"


def beneath(
    first: Group,
    visit: Callable[[Group, str, str, tuple[str, Any]], tuple[Any, Group | None]],
    by: int = h5.INDEX_NAME,
    order: int = h5.ITER_INC,
) -> Any:
    """Call a function for each link below a group, until it answers. It gets a group, the name of a link in it, the path from the first
    group, and the link. It returns its answer, and the group below that link that is to be gone through next.

    The links of each group are in the order of their names; by creation if that is asked for and known, or if any order will do.

    Raises
    ------
    ValueError
        If there is no such order.
    """
    if by not in (h5.INDEX_NAME, h5.INDEX_CRT_ORDER):
        raise ValueError("Invalid index type specified (invalid index type specified)")
    if order not in (h5.ITER_INC, h5.ITER_DEC, h5.ITER_NATIVE):
        raise ValueError("Invalid iteration order specified (invalid iteration order specified)")
    created = by == h5.INDEX_CRT_ORDER or order == h5.ITER_NATIVE

    def links(group: Group) -> Iterator[tuple[str, tuple[str, Any]]]:
        found = group._node.links()
        if created and all(at is not None for _, _, at in found):
            found = sorted(found, key=lambda link: link[2])
        else:
            found = sorted(found, key=lambda link: link[0].encode("utf-8", "surrogateescape"))
        return iter([(name, link) for name, link, _ in (found[::-1] if order == h5.ITER_DEC else found)])

    # A list, because groups can be nested deeper than functions of Python.
    stack = [(first, "", links(first))]
    while stack:
        group, before, rest = stack[-1]
        for name, link in rest:
            answer, below = visit(group, name, before + name, link)
            if answer is not None:
                return answer
            if below is not None:
                stack.append((below, before + name + "/", links(below)))
                break
        else:
            stack.pop()
    return None
