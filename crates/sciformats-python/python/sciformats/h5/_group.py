"""Groups with the interface of h5py."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from sciformats.errors import Conflict, Forbidden, MissingFile
from sciformats.h5 import _encode, _locks, _names, _objects, _types, h5
from sciformats.h5._links import ExternalLink, HardLink, SoftLink
from sciformats.h5._members import Members, NamedMembers, Names, beneath
from sciformats.h5._objects import HLObject, wrap
from sciformats.h5._writing import GroupWriting

if TYPE_CHECKING:
    from sciformats.h5._file import File

#: The soft links that are followed on one path at most, as in the C library.
_MOST_LINKS = 16


def _parts(path: str) -> list[str]:
    """Return the names on a path."""
    return [part for part in path.split("/") if part not in ("", ".")]


class Group(GroupWriting, HLObject, MutableMapping[str, Any]):
    """A group, whose members are found by name or path."""

    def _path(self, name: str) -> str:
        """Return the path of a member for changes; it is relative to the group unless it begins with a slash."""
        return name if name.startswith("/") else f"{self._linked_path().rstrip('/')}/{name}"

    def _named(self, name: str) -> str | None:
        """Return the path of a member to show it, which is not known if that of the group is not."""
        own = self._path_now()
        if own is None and not name.startswith("/"):
            return None
        return "/" + "/".join(_parts(name if name.startswith("/") else f"{own}/{name}"))

    def __getitem__(self, name: Any) -> Any:
        self._file_of.check_open()
        if isinstance(name, _types.Reference):
            if not name:
                raise ValueError("Invalid HDF5 object reference")
            if name.path.startswith("?") or (name.home is not None and name.home[0] == self._file_of.address):
                return self._referred(name)
            name = name.path
        name = _names.inner(name)
        if not isinstance(name, str):
            raise TypeError(f"Accessing a group is done with bytes or str, not {type(name)}")
        if not name:
            raise KeyError("Unable to synchronously open object (the name is empty)")
        return self._found_by(name, None, None)

    def _referred(self, ref: _types.Reference) -> Any:
        """Return the object of a reference that knows its address, because it has no path or may have another one than before."""
        if ref.epoch is not None and ref.home is not None and self._file_of.is_going(ref.home[1], ref.epoch):
            raise KeyError("Unable to open object by token (it was removed)")
        address, node = _encode.target(ref, self)
        if node is None:
            raise KeyError(f"Unable to open object by token (there is none at the address {address} any more)")
        found = wrap(self._file_of, node, None if ref.path.startswith("?") else ref.path)
        # Whether the path still leads to it is found out when it matters.
        found._moves = -1
        return found

    def _found_by(self, name: str, mode: str | None, locking: Any) -> Any:
        """Return the object at a path. The mode and the locking of files to which external links lead are those of this file, or as
        given.
        """
        opened = self._file_of
        base = opened.root if name.startswith("/") else self._node
        try:
            # No other thread may put another object in its place before this one knows how many were removed before it was found.
            with nullcontext() if opened.editor is None else opened._lock:
                # The Rust part knows which other files may be opened.
                node = base.object(name.strip("/")) if name.strip("/") else base
                here = node.is_with(opened.root_node)
                found = wrap(opened, node, self._named(name)) if here else None
        except (KeyError, OSError) as error:
            if not isinstance(error, (KeyError, MissingFile, Forbidden)):
                # What the operating system reports about this file, such as a full disk, says nothing about a link.
                raise
            # The other file may have changes that this process has not written yet.
            elsewhere = None if opened.editor is None else self._external(name, mode, locking)
            if elsewhere is not None:
                return elsewhere
            if isinstance(error, MissingFile):
                # As with any other link that leads nowhere, there is no such object.
                raise KeyError(f"Unable to synchronously open object (unable to open external file: {error})") from None
            if not isinstance(error, KeyError):
                raise
            last = name.rstrip("/").rsplit("/", 1)[-1]
            raise KeyError(f"Unable to synchronously open object (object '{last}' doesn't exist)") from None
        elsewhere = None if here else self._external(name, mode, locking)
        if elsewhere is not None:
            return elsewhere
        return wrap(opened, node, self._named(name)) if found is None else found

    def keys(self) -> Names:
        """Return the names of the members."""
        return Names(self)

    def values(self) -> Members:
        """Return the members."""
        return Members(self)

    def items(self) -> NamedMembers:
        """Return the names with the members."""
        return NamedMembers(self)

    def get(
        self,
        name: Any,
        default: Any = None,
        getclass: bool = False,
        getlink: bool = False,
        *,
        elink_mode: str | None = None,
        elink_swmr: bool | None = None,
        elink_locking: Any = None,
    ) -> Any:
        """Return a member, its class, its link, or the class of its link.

        Parameters
        ----------
        name : str or bytes
            The path of the member.
        default : object
            What is returned if there is no such member.
        getclass, getlink : bool
            Whether its class, its link, or the class of its link is returned.
        elink_mode : {"r", "r+"}, optional
            The mode in which files of external links are opened; by default that of this file.
        elink_locking
            How they are locked; by default as this file.
        """
        if elink_mode not in (None, "r", "r+"):
            raise RuntimeError(f"Unsupported link access mode: {elink_mode}")
        if elink_mode == "r+" and self._file_of.editor is None:
            raise ValueError("a file that was opened for reading cannot open the files of its external links for writing")
        locking = _locks.meaning(elink_locking)
        if not (getclass or getlink):
            try:
                if (elink_mode is None and locking is None) or not isinstance(name, (str, bytes)):
                    return self[name]
                self._file_of.check_open()
                return self._found_by(_names.inner(name), elink_mode, locking)
            except KeyError:
                return default
        if getclass and not getlink:
            found = self.get(name, elink_mode=elink_mode, elink_locking=elink_locking)
            return default if found is None else type(found)
        try:
            link = self._link(_names.inner(name))
        except KeyError:
            return default
        return type(link) if getclass else link

    def _external(self, name: str, mode: str | None, locking: Any) -> Any:
        """Return the object at a path on which there is an external link; ``None`` if there is none."""
        found = self._beyond(name, mode, locking)
        if found is None:
            return None
        file, path, rest = found
        return file["/".join([path.rstrip("/"), *rest]) or "/"]

    def _beyond(self, name: str, mode: str | None = None, locking: Any = None) -> tuple[File, str, list[str]] | None:
        """Return the file and the object to which an external link on a path leads, and the rest of the path; ``None`` if there is none."""
        opened = self._file_of
        node = opened.root if name.startswith("/") else self._node
        parts, followed = _parts(name), 0
        while parts:
            part = parts.pop(0)
            found = node.link(part) if node.kind == "group" else None
            if found is None:
                return None
            kind, target = found
            if kind == "external":
                file, path = target
                return self._linked(file, mode, locking), path or "/", parts
            if kind == "soft":
                followed += 1
                if followed > _MOST_LINKS:
                    return None
                if target.startswith("/"):
                    node = opened.root
                parts = _parts(target) + parts
            elif kind == "hard":
                node = opened.root.object_at(target)
            else:
                return None
        return None

    def _linked(self, name: str, mode: str | None, locking: Any) -> File:
        """Return the file to which an external link leads. It is opened once, and in the mode of this file if that is possible."""
        opened = self._file_of
        path = os.path.join(os.path.dirname(opened.address.path or ""), name)
        path = os.path.abspath(path if os.path.exists(path) else name)
        wanted: str = mode or opened.mode
        locking = opened.locking if locking is None else locking
        key = (path, wanted, locking)
        known = opened.linked.get(key)
        if known is None or known.is_closed:
            given = dict(opened.address.options)
            try:
                try:
                    file = _objects._file_class(path, wanted, locking=locking, **given)
                except (PermissionError, Conflict):
                    if wanted == "r":
                        raise
                    file = _objects._file_class(path, "r", locking=locking, **given)
            except OSError as error:
                raise KeyError(f"Unable to synchronously open object (unable to open external file: {error})") from None
            known = opened.linked[key] = file._file_of
        found: File = _objects._file_class._of(known)
        return found

    def _link(self, name: str) -> HardLink | SoftLink | ExternalLink:
        *before, last = name.strip("/").split("/")
        start = self.file if name.startswith("/") else self
        group = start["/".join(before)] if before else start
        if not isinstance(group, Group):
            raise KeyError(f"Unable to get link info ({'/'.join(before)!r} is not a group)")
        found = group._node.link(last)
        if found is None:
            raise KeyError(f"Unable to get link info (component '{last}' not found)")
        return _link_of(*found)

    def __iter__(self) -> Iterator[Any]:
        return iter([_names.outer(name) for name, _ in self._links()])

    def _links(self) -> list[tuple[str, tuple[str, Any]]]:
        """Return the names and the links, in the order in which they are shown."""
        self._file_of.check_open()
        links = self._node.links()
        if links and all(order is not None for _, _, order in links):
            links.sort(key=lambda link: link[2])
        else:
            links.sort(key=lambda link: link[0].encode("utf-8", "surrogateescape"))
        return [(name, link) for name, link, _ in links]

    def _members(self) -> Iterator[tuple[str, Any]]:
        """Return the names and the members; a link that leads nowhere is ``None``."""
        node, own = self._node, self._path_now()
        before = None if own is None else f"/{own.strip('/')}".rstrip("/")
        for name, (kind, target) in self._links():
            if kind == "hard" and self._found is not None:
                # The link leads to the object, so that its name need not be looked up again.
                self._file_of.check_open()
                yield _names.outer(name), wrap(self._file_of, node.object_at(target), None if before is None else f"{before}/{name}")
            else:
                yield _names.outer(name), self.get(name)

    def _linked_here(self, name: str, target: int) -> Any:
        """Return the member to which a hard link led; ``None`` if it was removed or moved since, so that another object may be there."""
        opened = self._file_of
        if self._found is not None:
            opened.check_open()
            return wrap(opened, self._node.object_at(target), self._named(name))
        with opened._lock:
            node = self._node
            return wrap(opened, node.object_at(target), self._named(name)) if node.link(name) == ("hard", target) else None

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def __len__(self) -> int:
        self._file_of.check_open()
        return len(self._node.links())

    def __contains__(self, name: object) -> bool:
        """Return whether there is a link of this name. As in h5py, its target need not exist.

        An exception is raised if this cannot be known because of damage.
        """
        if self._file_of.is_closed:
            return False
        name = _names.inner(name)
        if isinstance(name, _types.Reference):
            return bool(name)
        if not isinstance(name, str):
            raise TypeError(f"A name should be string or bytes, not {type(name)}")
        if not name:
            return False
        try:
            parts = [part for part in name.split("/") if part not in ("", ".")]
            if parts:
                self._link(("/" if name.startswith("/") else "") + "/".join(parts))
        except (KeyError, MissingFile, Forbidden, TypeError, ValueError):
            return False
        return True

    def visit(self, func: Callable[[str], Any]) -> Any:
        """Call a function with the name of each object below, until it returns something other than ``None``."""
        return self.visititems(lambda name, _: func(name))

    def visititems(self, func: Callable[[str, Any], Any]) -> Any:
        """Call a function with the name of each object below and the object, until it returns something other than ``None``.

        An object with several hard links is visited once.
        """
        return self._visit(func, h5.INDEX_NAME, h5.ITER_INC)

    def _visit(self, func: Callable[[str, Any], Any], by: int, order: int) -> Any:
        """Do what ``visititems`` does, in an order of :mod:`sciformats.h5.h5`."""
        seen = {self._node.address}

        def visit(group: Group, name: str, shown: str, link: tuple[str, Any]) -> tuple[Any, Group | None]:
            kind, target = link
            if kind != "hard" or target in seen:
                return None, None
            member = group._linked_here(name, target)
            if member is None:
                return None, None
            seen.add(target)
            return func(_names.outer(shown), member), member if isinstance(member, Group) else None

        return beneath(self, visit, by, order)

    def visititems_links(self, func: Callable[[str, Any], Any]) -> Any:
        """Call a function with the name of each link below and the link, until it returns something other than ``None``."""
        seen = {self._node.address}

        def visit(group: Group, name: str, shown: str, link: tuple[str, Any]) -> tuple[Any, Group | None]:
            kind, target = link
            answer = func(_names.outer(shown), _link_of(kind, target))
            if answer is not None or kind != "hard" or target in seen:
                return answer, None
            member = group._linked_here(name, target)
            if member is None:
                return None, None
            seen.add(target)
            return None, member if isinstance(member, Group) else None

        return beneath(self, visit)

    def visit_links(self, func: Callable[[str], Any]) -> Any:
        """Call a function with the name of each link below, until it returns something other than ``None``."""
        return self.visititems_links(lambda name, _: func(name))

    def __repr__(self) -> str:
        if self._file_of.is_closed:
            return "<Closed HDF5 group>"
        if self._is_removed:
            return "<Removed HDF5 group>"
        return f'<HDF5 group "{self.name}" ({len(self)} members)>'


_objects._group_class = Group


def _link_of(kind: str, target: Any) -> HardLink | SoftLink | ExternalLink:
    if kind == "soft":
        return SoftLink(target)
    if kind == "external":
        return ExternalLink(*target)
    if kind == "hard":
        return HardLink()
    if kind == "damaged":
        raise target
    raise TypeError(f"Unknown link type {target}")
