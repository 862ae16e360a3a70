"""ASDF files as trees of dictionaries, lists and values, in which arrays are read when they are indexed.

Examples
--------
>>> import sciformats.asdf
>>> with sciformats.asdf.open("image.asdf") as file:
...     file["meta"]["exposure"], file["data"][:3]
(30, array([0, 1, 2]))

A masked array is read as it is stored, and not as a masked array of NumPy. Its attribute ``mask`` says which elements are masked:
``numpy.ma.array(array[...], mask=array.attrs["mask"])``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from sciformats import _model, _open, _sciformats
from sciformats.errors import Conflict, NotSupported


#: How the tag of complex numbers begins, whatever its version.
_COMPLEX = "tag:stsci.edu:asdf/core/complex-"


def open(path: str | os.PathLike[str] | bytes, **options: Any) -> AsdfFile:
    """Open a file.

    Parameters
    ----------
    path
        The path of the file, or its bytes.
    options
        Those of :func:`sciformats.open`.

    Raises
    ------
    NotThisFormat
        If it is not an ASDF file.
    """
    return AsdfFile(_open.only(path, "asdf", "an ASDF file", options))


class AsdfFile(_model.Holder, Mapping[Any, Any]):
    """An ASDF file: the mapping at the root of its tree."""

    def __init__(self, file: _model.File) -> None:
        self._file = file
        self._built: dict[int, Any] = {}
        self._tags: dict[int, str] = {}
        self._root: Any = None

    @property
    def file(self) -> _model.File:
        """The file in the model that all formats share."""
        return self._file

    @property
    def tree(self) -> Any:
        """The tree: dictionaries, lists, values, and arrays whose elements are read when they are indexed.

        Whatever several aliases lead to is one object.

        Raises
        ------
        Conflict
            If the file was changed between opening it and the first use of the tree.
        """
        if self._root is None:
            self._root = self._build()
        return self._root

    def _build(self) -> Any:
        address = self._file._address
        if address.local is not None and not dict(address.options)["changing"] and _open.state_of(address.local) != address.state:
            raise Conflict("the file was changed since it was opened; open it again", address.local)
        buffer = None if address.path is not None else address.state
        remote = None if address.storage is None else (address.path or "", address.storage.arguments())
        root, nodes = _sciformats.asdf_tree(address.local, buffer, dict(address.options), remote)
        built = self._built
        for number, kind, tag, _ in nodes:
            if kind == "mapping":
                built[number] = {}
            elif kind == "sequence":
                built[number] = []
            else:
                built[number] = self._file._object(number, f"/{number}" if kind == "array" else "")
            if kind == "scalar" and tag is not None and tag.startswith(_COMPLEX):
                built[number] = _complex(built[number])
            if tag is not None and kind in ("mapping", "sequence"):
                self._tags[id(built[number])] = tag
        for number, kind, _, content in nodes:
            if kind == "mapping":
                built[number].update((key, built[value]) for key, value in content)
            elif kind == "sequence":
                built[number].extend(built[item] for item in content)
        self._name(built[root], "")
        return built[root]

    def _name(self, root: Any, path: str) -> None:
        """Give arrays the paths by which other processes find them."""
        left, seen = [(root, path)], {id(root)}
        while left:
            value, path = left.pop()
            if isinstance(value, _model.Array):
                value.path = path
            children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for key, child in children:
                if id(child) not in seen:
                    seen.add(id(child))
                    shown = "true" if key is True else "false" if key is False else "null" if key is None else str(key)
                    left.append((child, f"{path}/" + (shown.replace("~", "~0").replace("/", "~1") or "~2")))

    def tag(self, value: Any) -> str | None:
        """Return the tag of a dictionary or a list of the tree, such as ``"tag:stsci.edu:asdf/core/software-1.0.0"``."""
        if not isinstance(value, (dict, list)):
            raise NotSupported("only dictionaries and lists of the tree have tags here", self._file.filename)
        _ = self.tree
        return self._tags.get(id(value))

    def __getitem__(self, key: Any) -> Any:
        return self.tree[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tree)

    def __len__(self) -> int:
        return len(self.tree)

    def __reduce__(self) -> tuple[Any, ...]:
        return AsdfFile, (self._file,)

    def __repr__(self) -> str:
        return f"<AsdfFile {self._file._shown()}: {len(self)} keys>"


def _complex(text: str) -> complex | str:
    """Return a complex number, or its text if it is none."""
    try:
        return complex(text.lower().replace("i", "j").replace("jnf", "inf"))
    except ValueError:
        return text
