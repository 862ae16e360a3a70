"""Where objects are: their addresses, and the paths that lead to them, which change while a file is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sciformats.errors import Error
from sciformats.h5 import _types


class Placed:
    """An object with an address, and perhaps a path."""

    #: How many objects had been removed from the file when this one was found.
    _epoch = 0

    #: How many links had been removed or moved when its path was known to lead to it.
    _moves = 0

    _file_of: Any
    _address: int
    _name: str | None
    _found: Any

    if TYPE_CHECKING:

        @property
        def _node(self) -> Any: ...

    @property
    def _place(self) -> tuple[int, str]:
        """The address and the path of the object, for changes."""
        if self._found is None:
            self._file_of.check_place(self._address, self._epoch)
        return self._address, self._path_now() or ""

    def _path_now(self) -> str | None:
        """Return a path that leads to the object, or ``None`` if none is known: links are removed and moved while a file is written."""
        opened = self._file_of
        if self._found is not None or opened.is_closed or (self._moves == opened.moves and self._name is not None):
            return self._name
        moves = opened.moves
        if self._name is None or not self._leads_here(self._name):
            self._name = self._node.path_of(self._address)
        self._moves = moves
        return self._name

    def _leads_here(self, path: str) -> bool:
        """Return whether a path leads to the object, and not to another one that has its name now."""
        root = self._file_of.root
        if not path.strip("/"):
            return bool(root.address == self._address)
        try:
            found = root.object(path.strip("/"))
            return bool(found.address == self._address and found.is_with(self._file_of.root_node))
        except (Error, KeyError, OSError, ValueError):
            return False

    def _linked_path(self) -> str:
        """Return the path of the object, for changes that need one.

        Raises
        ------
        ValueError
            If no link leads to the object any more.
        """
        path = self._path_now()
        if path is None:
            raise ValueError("no link leads to the object any more, so that it has no path")
        return path

    def _refer(self, made: _types.Reference) -> None:
        """Let a reference lead to the object, also when it gets another path."""
        path = self._path_now() or self._node.path_of(self._address)
        made.path = f"?{self._address}" if path is None else path
        if path is None or self._found is None:
            made.home = (self._file_of.address, self._address)
        if self._found is None:
            made.epoch = self._epoch
