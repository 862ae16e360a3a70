"""The open file that its objects share, and how objects of a file that is written are reached."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from sciformats import _sciformats
from sciformats._open import Address
from sciformats.errors import Conflict

#: The number of bytes of changes that wait in memory at most.
_WAITING = 1 << 28

#: The methods of the editor that change nothing but elements.
_OF_ELEMENTS = frozenset({"write", "write_chunk"})

#: The methods of the editor after which the path of an object may lead to another one, or to none.
_MOVES = frozenset({"move_link", "unlink"})

#: The methods of the editor that leave the users of all scales as they are, if they do not set their list.
_KEEPS_USERS = _OF_ELEMENTS | {"attribute", "dataset", "datatype", "external_link", "group", "hard_link", "resize", "soft_link"}

#: The methods of the editor that create one object, and return its address. Groups on its path may be created, too.
_CREATES = frozenset({"dataset", "datatype", "group"})

#: The methods of the editor that create no objects. Any other one may create several.
_CREATES_NOTHING = (_KEEPS_USERS | _MOVES | {"remove_attribute", "rename_attribute"}) - _CREATES

#: The methods of nodes whose results depend on elements, and on where they are stored.
SHOWS_ELEMENTS = frozenset({"chunk", "chunk_info", "chunks", "layout", "read", "read_into"})

#: The number of reads after a change that look for elements in memory. After so many reads, it is cheaper to lay out the
#: changes in the file, because later reads can then use caches and threads.
_READS = 16


#: The files that this process writes, by their paths.
_written: weakref.WeakValueDictionary[str, Opened] = weakref.WeakValueDictionary()


def writer_of(path: str) -> Opened | None:
    """Return the file at a path if this process writes it."""
    writer = _written.get(os.path.realpath(path))
    return None if writer is None or writer.is_closed or writer.is_forked else writer


#: The files that this process reads, by their paths.
_read: dict[str, weakref.WeakSet[Opened]] = {}


def is_read(path: str) -> bool:
    """Return whether this process has the file at a path open for reading."""
    found = [each for each in _read.get(os.path.realpath(path), ()) if not each.is_closed]
    if not found:
        _read.pop(os.path.realpath(path), None)
    return bool(found)


def _with_new_locks() -> None:
    """Forget who held the locks of files: in a forked process, no other thread is there to release them."""
    for each in list(_written.values()):
        each._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_with_new_locks)


def commit_all() -> None:
    """Write the changes of all files that this process writes."""
    for each in list(_written.values()):
        if not each.is_closed:
            each.commit()


@atexit.register
def _close_all() -> None:
    """Write the changes of files that the program has not closed."""
    for each in list(_written.values()):
        each._forgotten()


class Opening:
    """An opening of a file, which is closed once."""

    _closed: bool

    @property
    def is_closed(self) -> bool:
        return self._closed

    def check_open(self) -> None:
        """Raise an exception if the file is closed."""
        if self._closed:
            raise ValueError("Invalid location identifier (invalid location identifier): the file is closed")


class Opened(Opening):
    """An open file, which all of its objects share."""

    def __init__(self, address: Address, root: Any, editor: Any = None, mode: str = "r") -> None:
        self.address = address
        self.editor: Any = editor
        self.mode = mode
        self.libver: tuple[str, str] = ("earliest", "v200")
        self.track_order = False
        #: What the caller asked of the caches of the C library, which this package does not have.
        self.cache: tuple[int, int, float] = (8191, 8 << 20, 0.75)
        #: What happens when the file has been closed, for files in memory, and what brings them to their file object.
        self.after: Callable[[], None] | None = None
        self.put: Callable[[], None] | None = None
        #: How the caller wants the file to be locked, and what holds the lock of a reader.
        self.locking: Any = None
        self.held: Any = None
        #: The files to which external links of this one lead, and which were opened for that, by their paths.
        self.linked: dict[tuple[str, str, Any], Any] = {}
        self.driver = "sec2" if address.path else "fileobj"
        self.shown: str = address.shown or ""
        self._root: Any = root
        self._closed = root is None and editor is None
        self._lock = threading.RLock()
        #: The objects that were used since the last change, by their addresses.
        self._nodes: dict[int, Any] = {}
        #: How many times something other than elements was changed, and the number of these changes that ``_root`` shows.
        self.changes = 0
        self._seen = -1
        #: How many links were removed or moved so far.
        self.moves = 0
        #: Whether elements were changed that ``_root`` does not show, and how many reads there have been since.
        self._stale = False
        self._reads = 0
        self._waiting = 0
        #: The users of scales in encoded form, by the addresses of the scales, as long as nothing else can have changed them.
        self.users: dict[int, list[Any]] = {}
        #: How many objects were removed so far; and for the addresses of removed objects, the number after that. Once the removal is in
        #: the file, another object may have the address.
        self.epoch = 0
        self._removing: dict[int, int] = {}
        self._leaving: dict[int, int] = {}
        self._removed: dict[int, int] = {}
        #: The addresses of objects that were created since the file was written, and whether there are others. If such an object is
        #: removed, the next new one may get its place at once.
        self._fresh: set[int] = set()
        self._made = False
        #: Whether there are changes that are not in the file yet.
        self._pending = False
        self._process = os.getpid()
        #: The root group as a forked process has opened the file again, and that process.
        self._anew: tuple[int, Any] | None = None
        #: The path under which other openings of the file find this one, and those that have found it.
        self._registered: str | None = None
        self._others: weakref.WeakSet[Again] = weakref.WeakSet()
        #: Whether the file is only open for these others.
        self._left = False
        self.root_address: int = 0 if editor is None else editor.root().address

    @property
    def root(self) -> Any:
        """The root group, with all changes so far."""
        return self._root if self.editor is None else Guarded(self, self.root_address)

    @property
    def root_node(self) -> Any:
        """The root group in the Rust part."""
        if self.editor is None:
            return self._root
        with self._lock:
            return self.at(self.root_address, elements=False)

    @property
    def is_forked(self) -> bool:
        """Whether the file is written by the process from which this one was forked."""
        return self.editor is not None and self._process != os.getpid()

    def _again(self) -> Any:
        """Return the root group of the file as this forked process opens it.

        Raises
        ------
        Conflict
            If the other process had changes that were not in the file yet.
        """
        if self._pending:
            text = "the process that writes the file had changes that were not in it yet; flush the file before forking"
            raise Conflict(text, self.address.path)
        process = os.getpid()
        if self._anew is None or self._anew[0] != process:
            self._anew = process, _sciformats.open_hdf5(self.address.path, None, dict(self.address.options))
        return self._anew[1]

    def at(self, address: int, elements: bool = True) -> Any:
        """Return the object at an address of a file that is written, with all changes. The lock must be held.

        Changes of elements are shown only if ``elements`` is true, because they have to be laid out in the file for that.
        """
        if self.is_forked:
            return self._again().object_at(address)
        if self._seen != self.changes or (self._stale and elements):
            self._nodes = {}
            self._root = self.editor.root()
            self._seen = self.changes
            self._stale = False
        found = self._nodes.get(address)
        if found is None:
            found = self._nodes[address] = self._root.object_at(address)
        return found

    def read(self, address: int, path: str, ranges: Any) -> Any:
        """Return elements of a dataset of a file that is written, with all changes. The lock must be held."""
        node = self.at(address, elements=False)
        if self._stale and self._reads < _READS and node.direct and not self.is_forked:
            self._reads += 1
            found = self.editor.read((address, path), ranges)
            if found is not None:
                return found
        return self.at(address).read(ranges)

    def has_link(self, path: str) -> bool | None:
        """Return whether a file that is written has a link, or ``None`` if this cannot be found out without its objects."""
        with self._lock:
            self.check_open()
            self._check_process()
            found: bool | None = self.editor.has_link(path)
            return found

    def _check_process(self) -> None:
        if self.is_forked:
            text = "the file is written by the process that opened it, and not by one that was forked"
            raise Conflict(text, self.address.path)

    def removed(self, address: int, is_group: bool) -> None:
        """Note that an object was removed from the file. It can be used until the removal is written, or, if it never was in the file,
        until the next change.
        """
        self.epoch += 1
        # Which groups were created on the path of another object is not known.
        is_new = self._made or address in self._fresh or (is_group and bool(self._fresh))
        (self._leaving if is_new else self._removing)[address] = self.epoch

    def check_place(self, address: int, epoch: int) -> None:
        """Raise an exception if what was at an address in an epoch is not in the file any more.

        Raises
        ------
        ValueError
            If it was removed, and the file was written since, or was changed since and never had it.
        """
        if self.is_removed(address, epoch):
            raise ValueError("the object was removed from the file, so that another one may be in its place")

    def is_going(self, address: int, epoch: int) -> bool:
        """Return whether what was at an address in an epoch was removed, perhaps only since the file was written last."""
        return max(each.get(address, 0) for each in (self._removing, self._leaving, self._removed)) > epoch

    def is_removed(self, address: int, epoch: int) -> bool:
        """Return whether what was at an address in an epoch was removed, so that another object may be there."""
        return bool(self._removed) and self._removed.get(address, 0) > epoch

    def vanishing(self, address: int) -> list[tuple[int, bool]]:
        """Return the objects that vanish with one link to an object: their addresses, and whether they are groups."""
        links: dict[int, int] = {}
        gone: list[tuple[int, bool]] = []
        with self._lock:
            rest = [address]
            while rest:
                address = rest.pop()
                links[address] = links.get(address, 0) + 1
                node = self.at(address, elements=False)
                if links[address] == max(node.info()[0], 1):
                    gone.append((address, node.kind == "group"))
                    if node.kind == "group":
                        rest += [target for _, (kind, target), _ in node.links() if kind == "hard"]
        return gone

    def commit(self) -> None:
        """Write all changes to the file. A forked process has none."""
        with self._lock:
            if self.editor is not None and not self.is_forked:
                self.editor.commit()
                self.users.clear()
                self._removed.update(self._removing)
                self._removed.update(self._leaving)
                self._removing, self._leaving = {}, {}
                self._fresh, self._made = set(), False
                self.changes += 1
                self._waiting = 0
                self._pending = False

    def flush(self) -> None:
        """Write all changes to the file, and to the file object if it is one."""
        with self._lock:
            self.commit()
            if self.put is not None and not self.is_forked:
                self.put()

    def change(self, method: str, *arguments: Any) -> Any:
        """Change the file with a method of the editor. What was found before is looked up again when it is used next.

        Raises
        ------
        ValueError
            If the file was opened for reading, or is closed.
        Conflict
            If this process was forked after the file was opened.
        """
        self.check_open()
        with self._lock:
            if self.editor is None:
                raise ValueError("Unable to change the file (no write intent on file)")
            self._check_process()
            if self._leaving:
                self._removed.update(self._leaving)
                self._leaving = {}
            self._pending = True
            if method not in _KEEPS_USERS:
                self.users.clear()
            elif method == "attribute" and arguments[1] == "REFERENCE_LIST":
                self.users.pop(arguments[0][0], None)
            try:
                found = getattr(self.editor, method)(*arguments)
                if method in _CREATES:
                    self._fresh.add(found)
                return found
            except BaseException:
                # Groups on the path of what was not created may be new.
                self._made = self._made or method in _CREATES
                raise
            finally:
                self._made = self._made or method not in _CREATES | _CREATES_NOTHING
                if method in _OF_ELEMENTS:
                    self._stale, self._reads = True, 0
                else:
                    self.changes += 1
                    self.moves += method in _MOVES
                self._waiting += sum(len(each) for each in arguments if isinstance(each, (bytes, list)))
                if self._waiting > _WAITING:
                    self.commit()

    def register(self, path: str) -> None:
        """Let other openings of the path find this one."""
        self._registered = os.path.realpath(path)
        _written[self._registered] = self

    def register_reader(self, path: str) -> None:
        """Let this process know that it reads the file at a path."""
        _read.setdefault(os.path.realpath(path), weakref.WeakSet()).add(self)

    def _forgotten(self) -> None:
        # A program that forgets to close its file must not lose what it wrote. A forked process has no changes of its own.
        if getattr(self, "editor", None) is not None and self._process == os.getpid():
            self._others.clear()
            try:
                self.close()
            except Exception as error:
                # Nobody can catch an exception here. Changes of a file that was removed meanwhile are of no use to anybody.
                if self.address.path is None or os.path.exists(self.address.path):
                    text = f"a file was not closed, and its changes cannot be written: {error}"
                    warnings.warn(text, RuntimeWarning, stacklevel=2)

    __del__ = _forgotten

    def close(self) -> None:
        """Write what is pending, and close the file. Other openings of it remain open."""
        if self._closed:
            return
        with self._lock:
            others = list(self._others)
            if others:
                self._leave(others)
            else:
                self._finish()

    def _leave(self, others: list[Again]) -> None:
        """Let other openings keep the file, which this object does not show any more."""
        self.commit()
        kept = Opened.__new__(Opened)
        kept.__dict__.update(self.__dict__)
        kept._left = True
        self._closed, self.editor, self._root, self._nodes, self.linked, self.after, self.put = True, None, None, {}, {}, None, None
        for other in others:
            other._first = kept
        if kept._registered is not None:
            _written[kept._registered] = kept

    def _finish(self) -> None:
        self._closed = True
        if self.is_forked:
            # The file, what is pending, and what happens afterwards belong to the other process.
            self._root, self._nodes, self._anew, self.editor, self.linked, self.after, self.put = None, {}, None, None, {}, None, None
            return
        # The file, and with it its lock, is held as long as there is an object of the Rust part.
        self._root, self._nodes = None, {}
        linked, self.linked = self.linked, {}
        if self.held is not None:
            self.held.close()
            self.held = None
        if self.editor is not None:
            editor, self.editor = self.editor, None
            editor.close()
        after, self.after, self.put = self.after, None, None
        try:
            for each in linked.values():
                # What was changed through a link is kept like what was changed in this file. The other file stays open as long as it is used.
                if not each.is_closed:
                    each.commit()
        finally:
            if after is not None:
                after()


class Again(Opening):
    """Another opening of a file that this process writes already. It is closed by itself, and shows the same changes."""

    def __init__(self, first: Opened) -> None:
        self._first = first
        self._closed = False
        first._others.add(self)

    def __getattr__(self, name: str) -> Any:
        if name == "_first":
            raise AttributeError(name)
        return getattr(self._first, name)

    @property
    def root(self) -> Any:
        """The root group, with all changes so far."""
        self.check_open()
        return Guarded(self, self.root_address)

    def change(self, method: str, *arguments: Any) -> Any:
        """Change the file with a method of the editor."""
        self.check_open()
        return self._first.change(method, *arguments)

    def commit(self) -> None:
        """Write all changes to the file."""
        if not self._closed:
            self._first.commit()

    def flush(self) -> None:
        """Do the same, and write them to a file object."""
        if not self._closed:
            self._first.flush()

    def close(self) -> None:
        """Write all changes, and close the file if it is not open otherwise."""
        if self._closed:
            return
        first = self._first
        with first._lock:
            self._closed = True
            first._others.discard(self)
            first.commit()
            if first._left and not len(first._others):
                first.close()

    def __del__(self) -> None:
        if "_first" in self.__dict__ and not self._closed and self._first._process == os.getpid():
            self._closed = True
            self._first._others.discard(self)
            if self._first._left and not len(self._first._others):
                self._first._forgotten()


class Guarded:
    """An object of a file that is written. Each call sees all changes, and no change happens meanwhile."""

    def __init__(self, opened: Opened | Again, address: int, path: str | None = None, epoch: int | None = None) -> None:
        self._opened = opened
        self._path = path
        #: How many objects had been removed when the object was found; ``None`` if nobody can have removed it.
        self._epoch = epoch
        self.address = address

    def _check(self) -> None:
        """Raise an exception if the file is closed, or the object is not in it any more. The lock must be held."""
        self._opened.check_open()
        if self._epoch is not None:
            self._opened.check_place(self.address, self._epoch)

    def read(self, ranges: Any) -> Any:
        """Return the selected elements."""
        opened = self._opened
        with opened._lock:
            self._check()
            return opened.read(self.address, self._path or "", ranges)

    def __getattr__(self, name: str) -> Any:
        opened, address = self._opened, self.address
        elements = name in SHOWS_ELEMENTS

        def call(*arguments: Any) -> Any:
            with opened._lock:
                self._check()
                return getattr(opened.at(address, elements), name)(*arguments)

        with opened._lock:
            self._check()
            value = getattr(opened.at(address, elements), name)
        return call if callable(value) else value
