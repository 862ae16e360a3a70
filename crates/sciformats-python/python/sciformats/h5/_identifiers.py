"""The identifiers of objects, which carry the low-level calls."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from sciformats.errors import NotSupported
from sciformats.h5 import _names
from sciformats.h5._locks import PROPERTIES


class ObjectID:
    """An identifier: ``object.id``. It is true until it or its file is closed."""

    def __init__(self, of: Any) -> None:
        self._object = of
        self._closed = False

    @property
    def valid(self) -> bool:
        """Whether the file is open, and the identifier was not closed."""
        return not (self._closed or self._object._file_of.is_closed)

    def close(self) -> None:
        """Close the identifier. The object, and other identifiers of it, remain usable."""
        self._closed = True

    _close = close

    def __bool__(self) -> bool:
        return self.valid

    @property
    def name(self) -> bytes | None:
        """The path of the object."""
        name = self._object._name
        return None if name is None else _names.encoded(name)

    @property
    def id(self) -> int:
        """A number of the object in its file."""
        number: int = self._object._address
        return number

    def get_access_plist(self) -> Access:
        """Return what the caller asked of caches when the object was opened."""
        return Access(self._object)

    def get_file_image(self) -> bytes:
        """Return the bytes of the file, with all changes."""
        opened = self._object._file_of
        opened.check_open()
        opened.commit()
        if opened.address.path is None:
            return bytes(opened.address.state)
        if opened.address.local is None:
            raise NotSupported("the bytes of a remote file can only be read in parts", opened.address.shown)
        with open(opened.address.local, "rb") as file:
            return file.read()

    def get_create_plist(self) -> Properties:
        """Return the properties with which the object was created."""
        return Properties(self._object)

    @property
    def links(self) -> Links:
        """The links of a group."""
        return Links(self._object)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectID) and bool(self._object == other._object)

    def __hash__(self) -> int:
        return hash(self._object)


class LinkInfo(NamedTuple):
    """What ``id.links.get_info`` returns."""

    cset: int


class Links:
    """The links of a group: ``group.id.links``."""

    def __init__(self, of: Any) -> None:
        self._object = of

    def get_info(self, name: bytes) -> LinkInfo:
        """Return the encoding of the name of a link: 0 for ASCII, 1 for UTF-8."""
        text = _names.inner(name)
        self._object._link(text)
        return LinkInfo(int(not text.isascii()))


class Access:
    """What the caller asked of caches. It is kept and has no effect, because this package has caches of its own."""

    def __init__(self, of: Any) -> None:
        self._object = of

    def get_file_locking(self) -> tuple[int, int]:
        """Return whether the file is locked, and whether it may be used where locks do not exist."""
        return PROPERTIES[self._object._file_of.locking]

    def get_efile_prefix(self) -> bytes:
        """Return the folder in which the caller looks for external files of a dataset."""
        return os.fsencode(self._object._prefixes[0])

    def get_virtual_prefix(self) -> bytes:
        """Return the folder in which the caller looks for the files of a virtual dataset."""
        return os.fsencode(self._object._prefixes[1])

    def get_cache(self) -> tuple[int, int, int, float]:
        """Return the parameters of the cache of chunks, as those of the file."""
        return (0, *self._object._file_of.cache)

    def get_chunk_cache(self) -> tuple[int, int, float]:
        """Return the parameters of the cache of chunks of a dataset."""
        found: tuple[int, int, float] = getattr(self._object, "_cache", None) or self._object._file_of.cache
        return found


class Properties:
    """The properties with which a dataset was created."""

    def __init__(self, of: Any) -> None:
        self._object = of

    def get_attr_creation_order(self) -> int:
        """Return whether the order of attributes is kept (1), and whether there is an index by it (2)."""
        return int(self._object._node.orders()[0])

    def get_link_creation_order(self) -> int:
        """Return whether the order of links is kept (1), and whether there is an index by it (2)."""
        return int(self._object._node.orders()[1])

    def get_file_space_strategy(self) -> tuple[int, bool, int]:
        """Return how a file allocates space, whether it stores which space is free, and the size of the smallest such part."""
        found = self._object._node.file_space()
        return (0, False, 1) if found is None else (int(found[0]), bool(found[1]), int(found[2]))

    def get_fill_time(self) -> int:
        """Return when fill values are written."""
        return int(self._object._node.times()[1])

    def get_nfilters(self) -> int:
        """Return the number of filters."""
        return len(self._object._node.filters())

    def get_filter(self, index: int) -> tuple[int, int, tuple[int, ...], bytes]:
        """Return the number, the flags, the parameters and the name of a filter."""
        number, name, optional, values = self._object._node.filters()[index]
        return number, int(optional), tuple(values), _names.encoded(name or "")

    def get_chunk(self) -> tuple[int, ...]:
        """Return the shape of a chunk."""
        chunks: tuple[int, ...] = self._object.chunks
        return chunks
