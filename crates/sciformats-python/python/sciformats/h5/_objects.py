"""Files and groups with the interface of h5py."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from sciformats._open import Address, checked, state_of
from sciformats.errors import Conflict, Forbidden, MissingFile
from sciformats.h5 import _create, _encode, _locks, _names, _types, h5
from sciformats.h5._attributes import AttributeManager
from sciformats.h5._identifiers import FileID, GroupID, ObjectID
from sciformats.h5._config import get_config
from sciformats.h5._links import ExternalLink, HardLink, SoftLink
from sciformats.h5._members import Members, NamedMembers, Names, beneath
from sciformats.h5._open import again, kept, opened
from sciformats.h5._opened import SHOWS_ELEMENTS, Again, Guarded, Opened
from sciformats.h5._placed import Placed
from sciformats.h5._writing import GroupWriting


#: The soft links that are followed on one path at most, as in the C library.
_MOST_LINKS = 16


def _parts(path: str) -> list[str]:
    """Return the names on a path."""
    return [part for part in path.split("/") if part not in ("", ".")]


class HLObject(Placed):
    """The common part of files, groups, datasets and committed types."""

    #: What the Rust part has said about the object, and after how many changes of the file it did so.
    _facts: tuple[int, dict[str, Any]] | None = None

    def __init__(self, opened: Any, node: Any = None, name: str | None = None) -> None:
        if not isinstance(opened, (Again, ObjectID, Opened)):
            raise ValueError(f"an object of a file is made from its identifier, and not from {opened!r}")
        if isinstance(opened, ObjectID):
            # As in h5py, an object can be made from its identifier.
            of = opened._object
            # A class of the caller is as good as the one that it is derived from.
            kinds = [kind for kind in (Group, Datatype, _dataset_class) if isinstance(self, kind)]
            if not all(isinstance(of, kind) for kind in kinds):
                raise ValueError(f"{of!r} is no {type(self).__name__}")
            opened, node, name = of._file_of, of._node, of._path_now()
        self._file_of: Any = opened
        self._address: int = node.address
        self._found = node if opened.editor is None else None
        if opened.editor is not None:
            self._epoch, self._moves = opened.epoch, opened.moves
        self._name: str | None = name
        self._identifier: Any = None

    @property
    def _node(self) -> Any:
        """The object in the Rust part, with all changes."""
        if self._found is not None:
            return self._found
        self._file_of.check_open()
        self._file_of.check_place(self._address, self._epoch)
        return Guarded(self._file_of, self._address, self._name)

    @property
    def _is_removed(self) -> bool:
        """Whether the object was removed from the file, and the file was written since."""
        return self._found is None and self._file_of.is_removed(self._address, self._epoch)

    @property
    def name(self) -> Any:
        """The path of the object: ``str``, or ``bytes`` if it is not UTF-8. It is ``None`` if it is not known."""
        path = self._name
        if self._found is None and not self._file_of.is_closed and not self._is_removed:
            path = self._path_now()
        return None if path is None else _names.outer(path)

    @property
    def file(self) -> File:
        """The file that contains the object."""
        return File._of(self._file_of)

    @property
    def parent(self) -> Group:
        """The group before the last part of the object's path."""
        path = self._path_now()
        if path is None:
            raise ValueError("Parent of an anonymous object is undefined")
        found = self.file[os.path.dirname(path) or "/"]
        if not isinstance(found, Group):
            raise TypeError(f"{found.name} is not a group")
        return found

    @property
    def id(self) -> ObjectID:
        """The identifier of the object."""
        if self._identifier is None:
            kind = FileID if isinstance(self, File) else GroupID
            self._identifier = kind(self)
        found: ObjectID = self._identifier
        return found

    @property
    def _id(self) -> Any:
        # Programs use this name of h5py's attribute.
        return self.id

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.keys()) if isinstance(self, Group) else []

    @property
    def attrs(self) -> AttributeManager:
        """The attributes of the object."""
        return AttributeManager(self)

    @property
    def ref(self) -> _types.Reference:
        """A reference to the object."""
        found = _types.Reference()
        self._refer(found)
        return found

    def _fact(self, method: str) -> Any:
        """Return what a method of the Rust part says. It is asked once, and again if something other than elements was changed."""
        opened, changes = self._file_of, 0
        if self._found is None:
            if method in SHOWS_ELEMENTS or opened.is_forked:
                return getattr(self._node, method)()
            opened.check_open()
            opened.check_place(self._address, self._epoch)
            changes = opened.changes
        known = self._facts
        if known is None or known[0] != changes:
            known = self._facts = changes, {}
        # Another thread may have changed the file meanwhile. Then its number has changed too, and nobody looks at this answer again.
        facts = known[1]
        if method not in facts:
            facts[method] = getattr(self._node, method)()
        return facts[method]

    def _attributes(self) -> dict[str, tuple[Any, ...]]:
        self._file_of.check_open()
        found = self._node.attributes()
        if all(order is not None for *_, order in found):
            found.sort(key=lambda each: each[-1])
        else:
            found.sort(key=lambda each: each[0].encode("utf-8", "surrogateescape"))
        return {name: tuple(rest) for name, *rest in found}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HLObject):
            return NotImplemented
        same = self._file_of.address == other._file_of.address
        return same and self._address == other._address and self._is_removed == other._is_removed

    def __hash__(self) -> int:
        return hash((self._file_of.address.path, self._address))

    def __bool__(self) -> bool:
        return not self._file_of.is_closed

    def __reduce__(self) -> tuple[Any, ...]:
        if self._file_of.editor is not None:
            raise TypeError("objects of a file that is being written cannot be pickled; open the file for reading")
        return _again, (self._file_of.address, self._address if self._name is None else self._name)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return ("sciformats.h5", *self._file_of.address.token(), self._address if self._name is None else self._name)


class Datatype(HLObject):
    """A committed type, or one of the low-level interface: ``Datatype(h5t.STD_B16LE)``."""

    def __init__(self, opened: Any, node: Any = None, name: str | None = None) -> None:
        self._type: Any = None
        if hasattr(opened, "described"):
            self._type = self._found = opened
            self._name = None
        else:
            super().__init__(opened, node, name)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type."""
        return _types.dtype_of(self._node.datatype() if self._type is None else self._type.described)

    @property
    def id(self) -> Any:
        """The type as it is stored."""
        from sciformats.h5 import h5t

        if self._type is not None:
            return self._type
        found = h5t.of(self._node.datatype(), True)
        found._named = self
        return found

    def __repr__(self) -> str:
        if self._file_of.is_closed:
            return "<Closed HDF5 named type>"
        return f'<HDF5 named type "{_names.last(self._name)}" (dtype {self.dtype.str})>'


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
            # The Rust part knows which other files may be opened.
            node = base.object(name.strip("/")) if name.strip("/") else base
            here = node.is_with(opened.root_node)
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
        return wrap(opened, node, self._named(name)) if elsewhere is None else elsewhere

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
                    file = File(path, wanted, locking=locking, **given)
                except (PermissionError, Conflict):
                    if wanted == "r":
                        raise
                    file = File(path, "r", locking=locking, **given)
            except OSError as error:
                raise KeyError(f"Unable to synchronously open object (unable to open external file: {error})") from None
            known = opened.linked[key] = file._file_of
        return File._of(known)

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
            seen.add(target)
            member = wrap(group._file_of, group._node.object_at(target), group._named(name))
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
            seen.add(target)
            node = group._node.object_at(target)
            return None, Group(group._file_of, node, group._named(name)) if node.kind == "group" else None

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


class File(Group):
    """An HDF5 file.

    Parameters
    ----------
    name : str, path, bytes or file object
        The file; a URL can be read.
    mode : str
        ``"r"`` reads; ``"r+"`` also changes; ``"w"`` replaces a file; ``"x"`` or ``"w-"`` creates one that must not exist; ``"a"``
        changes or creates.
    threads : int
        The number of threads that decode chunks; 0 means one per processor.
    storage_options : dict, optional
        How a URL is opened; see :func:`sciformats.open`.

    locking : bool or "best-effort", optional
        Whether the file is locked against other programs. By default, files that are written are locked as the environment variable
        ``HDF5_USE_FILE_LOCKING`` says, and files that are only read are not.
    fs_strategy, fs_persist, fs_threshold, fs_page_size
        How a new file allocates space: ``"fsm"``, ``"page"``, ``"aggregate"`` or ``"none"``; whether it stores which space is free, and
        which parts of it; and the number of bytes per page.
    track_times : bool, optional
        Whether the root group of a new file stores when it was created and changed.

    rdcc_nslots, rdcc_nbytes, rdcc_w0, page_buf_size, min_meta_keep, min_raw_keep, alignment_threshold, alignment_interval, meta_block_size
        What h5py tells the caches and the allocation of the C library. They have no effect.
    driver_options
        ``block_size`` of the driver ``core``, which has no effect, and ``fileobj`` of the driver ``fileobj``.
    """

    def __init__(
        self,
        name: Any,
        mode: str = "r",
        driver: str | None = None,
        libver: Any = None,
        userblock_size: int | None = None,
        swmr: bool = False,
        *,
        track_order: bool | None = None,
        threads: int = 0,
        external: str = "anywhere",
        storage_options: Mapping[str, Any] | None = None,
        backing_store: bool | None = None,
        locking: Any = None,
        rdcc_nslots: int | None = None,
        rdcc_nbytes: int | None = None,
        rdcc_w0: float | None = None,
        fs_strategy: str | None = None,
        fs_persist: bool = False,
        fs_threshold: int = 1,
        fs_page_size: int | None = None,
        track_times: bool | None = False,
        page_buf_size: int | None = None,
        min_meta_keep: int = 0,
        min_raw_keep: int = 0,
        alignment_threshold: int = 1,
        alignment_interval: int = 1,
        meta_block_size: int | None = None,
        **driver_options: Any,
    ) -> None:
        if isinstance(name, ObjectID):
            # As in h5py, a file can be made from its identifier.
            of = name._object._file_of
            HLObject.__init__(self, of, of.root, "/")
            return
        fixed = (("external", external), ("threads", threads))
        found = opened(
            name,
            mode,
            fixed,
            {
                "driver": driver,
                "libver": libver,
                "userblock_size": userblock_size,
                "track_order": bool(get_config().track_order if track_order is None else track_order),
                "time": _create.moment(track_times),
                "backing_store": backing_store,
                "storage_options": storage_options,
                "locking": _locks.meaning(locking),
                "fs_strategy": fs_strategy,
                "fs_persist": fs_persist,
                "fs_threshold": fs_threshold,
                "fs_page_size": fs_page_size,
                "driver_options": driver_options,
            },
        )
        given = ((rdcc_nslots, int), (rdcc_nbytes, int), (rdcc_w0, float))
        nslots, nbytes, w0 = (before if each is None else kind(each) for (each, kind), before in zip(given, found.cache))
        found.cache = (nslots, nbytes, w0)
        super().__init__(found, found.root, "/")

    @classmethod
    def _of(cls, opened: Opened) -> File:
        file = cls.__new__(cls)
        HLObject.__init__(file, opened, opened.root, "/")
        return file

    @property
    def filename(self) -> str:
        """The path by which it was opened."""
        shown: str = self._file_of.shown
        return shown

    @property
    def mode(self) -> str:
        """``"r"`` if it is only read, and ``"r+"`` otherwise."""
        self._file_of.check_open()
        return "r" if self._file_of.editor is None else "r+"

    @property
    def driver(self) -> str:
        """``"sec2"`` for a file with a path, ``"fileobj"`` for bytes, and ``"core"`` if the caller chose it."""
        driver: str = self._file_of.driver
        return driver

    @property
    def libver(self) -> tuple[str, str]:
        """The versions of the library that may have written the file."""
        libver: tuple[str, str] = self._file_of.libver
        return libver

    @property
    def userblock_size(self) -> int:
        """The number of bytes before the start of the HDF5 file."""
        self._file_of.check_open()
        size: int = self._file_of.root.file_facts()[1]
        return size

    @property
    def swmr_mode(self) -> bool:
        """Whether other programs may write to the file."""
        return False

    @classmethod
    def in_memory(cls, file_image: bytes | None = None, **options: Any) -> File:
        """Return a file in memory, which is empty or has the content of a file. The options are keywords of ``File``.

        Raises
        ------
        TypeError
            If there are options for a file with a path, or for a new file in spite of the content.
        """
        import io

        # The size by which memory grows has no effect.
        options.pop("block_size", None)
        for word in ("driver", "locking", "backing_store", "fileobj"):
            if word in options:
                raise TypeError(f"File.in_memory() got an unexpected keyword argument {word!r}")
        if not file_image:
            return cls(io.BytesIO(), "w", **options)
        fresh = [word for word in options if word.startswith("fs_") or word in ("track_order", "track_times")]
        if fresh:
            raise TypeError(f"{', '.join(fresh)} parameters cannot be used with file_image")
        return cls(io.BytesIO(file_image), "r+", **options)

    def close(self) -> None:
        """Write all changes to the file, and close it."""
        self._file_of.close()

    def flush(self) -> None:
        """Write all changes to the file."""
        self._file_of.flush()

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._file_of.is_closed:
            return "<Closed HDF5 file>"
        return f'<HDF5 file "{os.path.basename(self.filename)}" (mode {self.mode})>'


def wrap(opened: Opened, node: Any, name: str | None) -> Any:
    """Return the object for a node."""
    kind = node.kind
    if kind == "dataset":
        made = _dataset_class.__new__(_dataset_class)
        made._file_of, made._address, made._name, made._identifier = opened, node.address, name, None
        made._found = node if opened.editor is None else None
        if opened.editor is not None:
            made._epoch, made._moves = opened.epoch, opened.moves
        return made
    if kind == "group":
        return Group(opened, node, name)
    return Datatype(opened, node, name)


#: The class of datasets, whose module sets it because it needs this one.
_dataset_class: Any = None


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


def _again(address: Address, name: str | int | None) -> Any:
    """Return the object for a pickle by its path, or by its address if no path leads to it; each process opens the file once."""
    if address.local is not None:
        checked(address, state_of(address.local))
    if address.path is None:
        file = File._of(again(address))
    else:
        file = File._of(kept(address))
    if isinstance(name, int):
        return wrap(file._file_of, file._node.object_at(name), None)
    return file if name in (None, "/") else file[name]
