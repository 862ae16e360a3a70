"""The open file that its objects share, and how objects of a file that is written are reached."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from sciformats._open import Address

#: The number of bytes of changes that wait in memory at most.
_WAITING = 1 << 28


class Opened:
    """An open file, which all of its objects share."""

    def __init__(self, address: Address, root: Any, editor: Any = None, mode: str = "r") -> None:
        self.address = address
        self.editor = editor
        self.mode = mode
        self.libver = ("earliest", "v200")
        self.track_order = False
        #: What the caller asked of the caches of the C library, which this package does not have.
        self.cache: tuple[int, int, float] = (8191, 8 << 20, 0.75)
        #: What happens when the file has been closed, for files in memory.
        self.after: Callable[[], None] | None = None
        self.driver = "sec2" if address.path else "fileobj"
        self.shown: str = address.path or ""
        self._root: Any = root
        self._closed = root is None and editor is None
        self._lock = threading.RLock()
        #: The objects that were used since the last change, by their addresses.
        self._nodes: dict[int, Any] = {}
        #: How many times the file was changed, and the number of changes that ``_root`` shows.
        self.changes = 0
        self._seen = -1
        self._waiting = 0
        self.root_address: int = 0 if editor is None else editor.root().address

    @property
    def root(self) -> Any:
        """The root group, with all changes so far."""
        return self._root if self.editor is None else Guarded(self, self.root_address)

    def at(self, address: int) -> Any:
        """Return the object at an address of a file that is written, with all changes. The lock must be held."""
        if self._seen != self.changes:
            self._nodes = {}
            self._root = self.editor.root()
            self._seen = self.changes
        found = self._nodes.get(address)
        if found is None:
            found = self._nodes[address] = self._root.object_at(address)
        return found

    @property
    def is_closed(self) -> bool:
        return self._closed

    def check_open(self) -> None:
        """Raise an exception if the file is closed."""
        if self._closed:
            raise ValueError("Invalid location identifier (invalid location identifier): the file is closed")

    def change(self, method: str, *arguments: Any) -> Any:
        """Change the file with a method of the editor. What was found before is looked up again when it is used next.

        Raises
        ------
        ValueError
            If the file was opened for reading, or is closed.
        """
        self.check_open()
        with self._lock:
            if self.editor is None:
                raise ValueError("Unable to change the file (no write intent on file)")
            try:
                return getattr(self.editor, method)(*arguments)
            finally:
                self.changes += 1
                self._waiting += sum(len(each) for each in arguments if isinstance(each, (bytes, list)))
                if self._waiting > _WAITING:
                    self.editor.commit()
                    self._waiting = 0

    def close(self) -> None:
        """Write what is pending, and close the file."""
        if self._closed:
            return
        with self._lock:
            self._finish()

    def _finish(self) -> None:
        self._closed = True
        # The file, and with it its lock, is held as long as there is an object of the Rust part.
        self._root, self._nodes = None, {}
        if self.editor is not None:
            editor, self.editor = self.editor, None
            editor.close()
        if self.after is not None:
            self.after()
            self.after = None


class Guarded:
    """An object of a file that is written. Each call sees all changes, and no change happens meanwhile."""

    def __init__(self, opened: Opened, address: int) -> None:
        self._opened = opened
        self.address = address

    def __getattr__(self, name: str) -> Any:
        opened, address = self._opened, self.address

        def call(*arguments: Any) -> Any:
            with opened._lock:
                opened.check_open()
                return getattr(opened.at(address), name)(*arguments)

        with opened._lock:
            opened.check_open()
            value = getattr(opened.at(address), name)
        return call if callable(value) else value
