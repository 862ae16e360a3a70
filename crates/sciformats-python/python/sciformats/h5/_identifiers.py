"""The identifiers of objects, which carry the low-level calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from sciformats.errors import NotSupported
from sciformats.h5 import _convert, _names
from sciformats.h5._links import ExternalLink, SoftLink, check
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
        name = self._object.name
        return None if name is None else _names.encoded(name)

    @property
    def id(self) -> int:
        """A number of the object in its file."""
        number: int = self._object._address
        return number

    def get_access_plist(self) -> Access:
        """Return what the caller asked of caches when the object was opened."""
        return Access(self._object)

    def get_create_plist(self) -> Properties:
        """Return the properties with which the object was created."""
        return Properties(self._object)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectID) and bool(self._object == other._object)

    def __hash__(self) -> int:
        return hash(self._object)


class GroupID(ObjectID):
    """The identifier of a group."""

    @property
    def links(self) -> LinkProxy:
        """The links of the group."""
        return LinkProxy(self._object)

    def _sorted(self) -> list[bytes]:
        return sorted(_names.encoded(name) for name, _ in self._object._links())

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._sorted())

    def __len__(self) -> int:
        return len(self._object)

    def __contains__(self, name: bytes | str) -> bool:
        return _names.inner(name) in self._object

    def get_num_objs(self) -> int:
        """Return the number of links."""
        return len(self)

    def get_objname_by_idx(self, idx: int) -> bytes:
        """Return the name of a link by its place in the order of names."""
        names = self._sorted()
        if not 0 <= idx < len(names):
            raise RuntimeError("Can't get object name (index out of bound)")
        return names[idx]

    def get_objtype_by_idx(self, idx: int) -> int:
        """Return what the link at a place in the order of names leads to: ``h5g.GROUP``, ``h5g.DATASET`` or ``h5g.TYPE``."""
        from sciformats.h5 import h5o

        try:
            return h5o.get_info(self, self.get_objname_by_idx(idx)).type
        except RuntimeError as error:
            raise TypeError(f"Can't get object info ({error})") from None

    def get_linkval(self, name: bytes) -> bytes:
        """Return the path to which a soft link leads."""
        link = self._object._link(_names.inner(name))
        if not isinstance(link, SoftLink):
            raise ValueError(f'"{name!r}" is not a symbolic link.')
        return _names.encoded(link.path)

    def get_comment(self, name: bytes) -> bytes:
        """Return the comment of a member."""
        from sciformats.h5 import h5o

        return h5o.get_comment(self, name)

    def link(self, current_name: bytes, new_name: bytes, link_type: int = 0, remote: Any = None) -> None:
        """Make a hard link (0) to a member, or a soft link (1) to a path."""
        to = self._object if remote is None else remote._object
        if link_type:
            to[_names.inner(new_name)] = SoftLink(_names.inner(current_name))
        else:
            to[_names.inner(new_name)] = self._object[_names.inner(current_name)]

    def unlink(self, name: bytes) -> None:
        """Remove a link."""
        del self._object[_names.inner(name)]

    def move(self, src_name: bytes, dst_name: bytes, remote: Any = None) -> None:
        """Move or rename a link."""
        self.links.move(src_name, remote, dst_name)


class FileID(GroupID):
    """The identifier of a file, which is also that of its root group."""

    @property
    def name(self) -> bytes:
        """The path by which the file was opened."""
        return os.fsencode(self._object.filename)

    def close(self) -> None:
        """Write all changes, and close the file."""
        self._object.close()

    def get_intent(self) -> int:
        """Return ``h5f.ACC_RDONLY`` or ``h5f.ACC_RDWR``."""
        return int(self._object.mode != "r")

    def get_filesize(self) -> int:
        """Return the number of bytes of the file, with all changes."""
        opened = self._object._file_of
        opened.check_open()
        opened.commit()
        local = opened.address.local
        return len(self.get_file_image()) if local is None else os.path.getsize(local)

    def reopen(self) -> FileID:
        """Return the identifier of another opening of the file, which is closed by itself."""
        from sciformats.h5._file import File
        from sciformats.h5._open import reopened

        return FileID(File._of(reopened(self._object._file_of)))

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


class LinkInfo(NamedTuple):
    """What ``id.links.get_info`` returns.

    Attributes
    ----------
    type : int
        ``h5l.TYPE_HARD``, ``h5l.TYPE_SOFT`` or ``h5l.TYPE_EXTERNAL``.
    corder_valid : bool
        Whether the order of creation is known.
    corder : int
        The place in the order of creation.
    cset : int
        The encoding of the name: 0 for ASCII, 1 for UTF-8.
    """

    type: int
    corder_valid: bool
    corder: int
    cset: int


class LinkProxy:
    """The links of a group: ``group.id.links``."""

    def __init__(self, of: Any) -> None:
        self._object = of

    def exists(self, name: bytes) -> bool:
        """Return whether there is a link, wherever it leads."""
        return _names.inner(name) in self._object

    def get_info(self, name: bytes) -> LinkInfo:
        """Return what is known about a link."""
        from sciformats.h5 import h5l

        link, last = self._object._link(_names.inner(name)), _names.inner(name).rsplit("/", 1)[-1]
        kinds = {SoftLink: h5l.TYPE_SOFT, ExternalLink: h5l.TYPE_EXTERNAL}
        orders = {found: order for found, _, order in self._object._node.links()}
        order = orders.get(last)
        return LinkInfo(kinds.get(type(link), h5l.TYPE_HARD), order is not None, order or 0, int(not last.isascii()))

    def get_val(self, name: bytes) -> Any:
        """Return the path of a soft link, or the file and the path of an external one.

        Raises
        ------
        TypeError
            If it is a hard link.
        """
        link = self._object._link(_names.inner(name))
        if isinstance(link, SoftLink):
            return _names.encoded(link.path)
        if isinstance(link, ExternalLink):
            return os.fsencode(link.filename), _names.encoded(link.path)
        raise TypeError("Link must be either a soft or external link")

    def create_hard(self, new_name: bytes, cur_loc: Any, cur_name: bytes, lcpl: Any = None, lapl: Any = None) -> None:
        """Make a hard link to an object."""
        check(lapl)
        self._object[_names.inner(new_name)] = cur_loc._object[_names.inner(cur_name)]

    def create_soft(self, new_name: bytes, target: bytes, lcpl: Any = None, lapl: Any = None) -> None:
        """Make a soft link to a path."""
        check(lapl)
        self._object[_names.inner(new_name)] = SoftLink(_names.inner(target))

    def create_external(self, link_name: bytes, file_name: bytes, obj_name: bytes, lcpl: Any = None, lapl: Any = None) -> None:
        """Make a link to an object of another file."""
        check(lapl)
        self._object[_names.inner(link_name)] = ExternalLink(os.fsdecode(file_name), _names.inner(obj_name))

    def move(self, src_name: bytes, dst_loc: Any, dst_name: bytes, lcpl: Any = None, lapl: Any = None) -> None:
        """Move or rename a link."""
        check(lapl)
        to = _names.inner(dst_name)
        if dst_loc is not None:
            to = dst_loc._object._path(to)
        self._object.move(_names.inner(src_name), to)

    def iterate(self, func: Callable[..., Any], *, info: bool = False) -> Any:
        """Call a function with the name of each link of the group, until it returns something other than ``None``.

        With ``info`` it also gets what :meth:`get_info` returns.
        """
        names = sorted(_names.encoded(name) for name, _ in self._object._links())
        return self._until(func, names, info)

    def visit(self, func: Callable[..., Any], *, info: bool = False) -> Any:
        """Call a function with the name of each link below the group, until it returns something other than ``None``.

        With ``info`` it also gets what :meth:`get_info` returns.
        """
        return self._object.visit_links(lambda name: self._until(func, [_names.encoded(name)], info))

    def _until(self, func: Callable[..., Any], names: list[bytes], info: bool) -> Any:
        for name in names:
            answer = func(name, self.get_info(name)) if info else func(name)
            if answer is not None:
                return answer
        return None


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

    def get_filter_by_id(self, code: int) -> tuple[int, tuple[int, ...], bytes] | None:
        """Return the flags, the parameters and the name of a filter by its number; ``None`` if there is none."""
        found = (self.get_filter(index) for index in range(self.get_nfilters()))
        return next((tuple(rest) for number, *rest in found if number == code), None)  # type: ignore[return-value]

    def get_chunk(self) -> tuple[int, ...]:
        """Return the shape of a chunk.

        Raises
        ------
        ValueError
            If there are no chunks.
        """
        chunks: tuple[int, ...] | None = self._object.chunks
        if chunks is None:
            raise ValueError("Not a chunked storage layout (not a chunked storage layout)")
        return chunks

    def get_layout(self) -> int:
        """Return ``h5d.COMPACT``, ``h5d.CONTIGUOUS``, ``h5d.CHUNKED`` or ``h5d.VIRTUAL``."""
        return ("compact", "contiguous", "chunked", "virtual").index(self._object._node.layout()[0])

    def get_alloc_time(self) -> int:
        """Return when space for elements is allocated, such as ``h5d.ALLOC_TIME_LATE``."""
        return int(self._object._node.times()[0])

    def fill_value_defined(self) -> int:
        """Return ``h5d.FILL_VALUE_DEFAULT`` or ``h5d.FILL_VALUE_USER_DEFINED``."""
        return 1 if self._object._node.fill() is None else 2

    def get_fill_value(self, value: Any) -> None:
        """Put the value of elements that were never written into an array of one element."""
        value[...] = _convert.read_as(self._object.fillvalue, value.dtype)

    def get_obj_track_times(self) -> bool:
        """Return whether the time of the last change is stored."""
        return self._object._node.modified() is not None

    def get_external_count(self) -> int:
        """Return the number of other files that contain the elements."""
        return len(self._object.external or ())

    def get_external(self, idx: int = 0) -> tuple[bytes, int, int]:
        """Return the name of a file that contains elements, the offset in it, and the number of bytes."""
        name, offset, size = (self._object.external or ())[idx]
        return os.fsencode(name), offset, size

    def get_virtual_count(self) -> int:
        """Return the number of parts of a virtual dataset."""
        return len(self._object.virtual_sources())

    def get_virtual_filename(self, index: int = 0) -> str:
        """Return the file of a part of a virtual dataset."""
        name: str = self._object.virtual_sources()[index].file_name
        return name

    def get_virtual_dsetname(self, index: int = 0) -> str:
        """Return the dataset of a part of a virtual dataset."""
        name: str = self._object.virtual_sources()[index].dset_name
        return name

    def get_userblock(self) -> int:
        """Return the number of bytes before the start of the HDF5 file."""
        size: int = self._object.file.userblock_size
        return size

    def get_file_space_page_size(self) -> int:
        """Return the number of bytes per page of a file that allocates pages."""
        found = self._object._node.file_space()
        return 4096 if found is None else int(found[3])
