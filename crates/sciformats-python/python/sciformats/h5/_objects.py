"""The common part of files, groups, datasets and committed types with the interface of h5py, and how an object is made of a node."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from sciformats._open import Address, checked, state_of
from sciformats.h5 import _names, _types
from sciformats.h5._attributes import AttributeManager
from sciformats.h5._identifiers import FileID, GroupID, ObjectID
from sciformats.h5._open import again, kept
from sciformats.h5._opened import SHOWS_ELEMENTS, Again, Guarded, Opened
from sciformats.h5._placed import Placed

if TYPE_CHECKING:
    from sciformats.h5._file import File
    from sciformats.h5._group import Group

#: The classes of files, groups and datasets, whose modules set them because they need this one.
_file_class: Any = None
_group_class: Any = None
_dataset_class: Any = None


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
            kinds = [kind for kind in (_group_class, Datatype, _dataset_class) if isinstance(self, kind)]
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
        return Guarded(self._file_of, self._address, self._name, self._epoch)

    @property
    def _is_removed(self) -> bool:
        """Whether the object was removed from the file, so that another one may be in its place."""
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
        self._file_of.check_open()
        found: File = _file_class._of(self._file_of)
        return found

    @property
    def parent(self) -> Group:
        """The group before the last part of the object's path."""
        path = self._path_now()
        if path is None:
            raise ValueError("Parent of an anonymous object is undefined")
        found = self.file[os.path.dirname(path) or "/"]
        if not isinstance(found, _group_class):
            raise TypeError(f"{found.name} is not a group")
        group: Group = found
        return group

    @property
    def id(self) -> ObjectID:
        """The identifier of the object."""
        if self._identifier is None:
            kind = FileID if isinstance(self, _file_class) else GroupID
            self._identifier = kind(self)
        found: ObjectID = self._identifier
        return found

    @property
    def _id(self) -> Any:
        # Programs use this name of h5py's attribute.
        return self.id

    def _ipython_key_completions_(self) -> list[str]:
        group: Any = self
        return list(group.keys()) if isinstance(self, _group_class) else []

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
        return _group_class(opened, node, name)
    return Datatype(opened, node, name)


def _again(address: Address, name: str | int | None) -> Any:
    """Return the object for a pickle by its path, or by its address if no path leads to it; each process opens the file once."""
    if address.local is not None:
        checked(address, state_of(address.local))
    if address.path is None:
        file = _file_class._of(again(address))
    else:
        file = _file_class._of(kept(address))
    if isinstance(name, int):
        return wrap(file._file_of, file._node.object_at(name), None)
    return file if name in (None, "/") else file[name]
