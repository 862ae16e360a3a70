"""The low-level property lists: how files and datasets are opened, how links are followed, and how files, groups, datasets and links are
created."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from sciformats.h5 import _names, _virtual, h5z
from sciformats.h5._open import RELEASES

#: The order of creation is kept.
CRT_ORDER_TRACKED = 1
#: There is an index by the order of creation.
CRT_ORDER_INDEXED = 2
#: The class of lists with which files are created.
FILE_CREATE = 1
#: The class of lists with which files are opened.
FILE_ACCESS = 2
#: The class of lists with which groups are created.
GROUP_CREATE = 3
#: The class of lists with which datasets are created.
DATASET_CREATE = 4
#: The class of lists with which datasets are opened.
DATASET_ACCESS = 5
#: The class of lists with which links are created.
LINK_CREATE = 6
#: The class of lists with what groups and datasets have in common.
OBJECT_CREATE = 7
#: The class of lists with which links are followed.
LINK_ACCESS = 8

#: The layout in chunks, which is `h5d.CHUNKED`.
_CHUNKED = 2


class PropInstanceID:
    """A property list of any class."""

    def close(self) -> None:
        """Do nothing: property lists need not be closed."""


class PropOCID(PropInstanceID):
    """How objects are created: whether the order of their attributes is kept, and the time of their last change."""

    def __init__(self) -> None:
        self._attributes = 0
        self._times = False
        self._phases = (8, 6)

    def set_attr_creation_order(self, flags: int) -> None:
        """Set whether the order of attributes is kept: ``CRT_ORDER_TRACKED``, with ``CRT_ORDER_INDEXED`` or without it."""
        self._attributes = int(flags)

    def get_attr_creation_order(self) -> int:
        """Return whether the order of attributes is kept."""
        return self._attributes

    def set_obj_track_times(self, track_times: bool) -> None:
        """Set whether the times of creation and of the last change are stored."""
        self._times = bool(track_times)

    def get_obj_track_times(self) -> bool:
        """Return whether the time of the last change is stored. Unlike in the C library, it is not unless this was set."""
        return self._times

    @property
    def time(self) -> int | None:
        """The time that is stored with a new object, in seconds since 1970."""
        return int(time.time()) if self._times else None

    def set_attr_phase_change(self, max_compact: int = 8, min_dense: int = 6) -> None:
        """Set up to how many attributes are stored in the header of an object, and from how few on they are moved back into it.

        The numbers are kept and have no effect: attributes that are too many or too large for a header are always stored elsewhere.

        Raises
        ------
        ValueError
            If the first number is smaller than the second one, or needs more than 16 bits.
        """
        if not 0 <= min_dense <= max_compact < 1 << 16:
            raise ValueError(f"{max_compact} and {min_dense} are not two numbers below 65536, of which the second is not larger")
        self._phases = (int(max_compact), int(min_dense))

    def get_attr_phase_change(self) -> tuple[int, int]:
        """Return the numbers that were set."""
        return self._phases


class PropGCID(PropOCID):
    """How a group is created by :func:`sciformats.h5.h5g.create`. The order of links and that of attributes are kept together."""

    def __init__(self) -> None:
        super().__init__()
        self._links = 0

    def set_link_creation_order(self, flags: int) -> None:
        """Set whether the order of links is kept: ``CRT_ORDER_TRACKED``, with ``CRT_ORDER_INDEXED`` or without it."""
        self._links = int(flags)

    def get_link_creation_order(self) -> int:
        """Return whether the order of links is kept."""
        return self._links

    @property
    def track_order(self) -> bool | None:
        """The argument ``track_order`` of ``create_group`` and ``File``."""
        return True if (self._attributes | self._links) & CRT_ORDER_TRACKED else None


class PropFCID(PropGCID):
    """How a file is created by :func:`sciformats.h5.h5f.create`."""

    def __init__(self) -> None:
        super().__init__()
        self._block = 0
        self._space: tuple[int, bool, int] | None = None
        self._page: int | None = None

    def set_userblock(self, size: int) -> None:
        """Set the number of bytes before the start of the HDF5 file."""
        self._block = int(size)

    def get_userblock(self) -> int:
        """Return the number of bytes before the start of the HDF5 file."""
        return self._block

    def set_file_space_strategy(self, strategy: int, persist: bool, threshold: int) -> None:
        """Set how the file allocates space: a strategy of :mod:`sciformats.h5.h5f`, whether free space is stored, and from which size on."""
        self._space = (int(strategy), bool(persist), int(threshold))

    def set_file_space_page_size(self, size: int) -> None:
        """Set the number of bytes per page."""
        self._page = int(size)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``File``."""
        found: dict[str, Any] = {"track_order": self.track_order, "track_times": self._times}
        found |= {"userblock_size": self._block or None, "fs_page_size": self._page}
        if self._space is not None:
            strategy, found["fs_persist"], found["fs_threshold"] = self._space
            found["fs_strategy"] = ("fsm", "page", "aggregate", "none")[strategy]
        return found


class PropLCID(PropInstanceID):
    """How links are created: missing groups on a path are created always, and names are UTF-8 if they are not ASCII."""

    def set_create_intermediate_group(self, create: bool) -> None:
        """Set whether missing groups on a path are created.

        Raises
        ------
        NotImplementedError
            If they shall not be.
        """
        if not create:
            raise NotImplementedError("missing groups on a path are always created")

    def set_char_encoding(self, encoding: int) -> None:
        """Accept an encoding of names, which follows from the names themselves."""


class PropLAID(PropInstanceID):
    """How links are followed. Calls refuse lists with a folder, flags or a property list for the files of external links."""

    def __init__(self) -> None:
        self._most = 16
        self._prefix = b""
        self._flags = 0xFFFF
        self._access: PropFAID | None = None

    @property
    def is_special(self) -> bool:
        """Whether external links would be followed in another way than without the list."""
        return bool(self._prefix) or self._flags != 0xFFFF or self._access is not None

    def set_nlinks(self, nlinks: int) -> None:
        """Set how many soft links are followed at most. The number is kept and has no effect."""
        self._most = int(nlinks)

    def get_nlinks(self) -> int:
        """Return the number that was set."""
        return self._most

    def set_elink_prefix(self, prefix: bytes) -> None:
        """Set the folder in which the files of external links are looked for."""
        self._prefix = bytes(prefix)

    def get_elink_prefix(self) -> bytes:
        """Return the folder in which the files of external links are looked for."""
        return self._prefix

    def set_elink_acc_flags(self, flags: int) -> None:
        """Set the flags with which the files of external links are opened."""
        self._flags = int(flags)

    def get_elink_acc_flags(self) -> int:
        """Return the flags with which the files of external links are opened; 65535 means those of their file."""
        return self._flags

    def set_elink_fapl(self, fapl: PropFAID) -> None:
        """Set how the files of external links are opened."""
        self._access = fapl

    def get_elink_fapl(self) -> PropFAID:
        """Return how the files of external links are opened.

        Raises
        ------
        RuntimeError
            If it was not set.
        """
        if self._access is None:
            raise RuntimeError("no property list was set")
        return self._access


class PropDCID(PropOCID):
    """How a dataset is created by :func:`sciformats.h5.h5d.create`."""

    def __init__(self) -> None:
        super().__init__()
        self._layout: int | None = None
        self._chunks: tuple[int, ...] | None = None
        self._filters: list[tuple[int, list[int], bool | None]] = []
        self._fill: Any = None
        self._fill_time: int | None = None
        self._parts: list[tuple[str, str, list[int], Any, Any]] = []

    def set_virtual(self, vspace: Any, src_file_name: bytes, src_dset_name: bytes, src_space: Any) -> None:
        """Add a part of a virtual dataset: the selected elements of ``vspace`` are those of a dataset that ``src_space`` selects."""
        counts = vspace.get_select_npoints(), src_space.get_select_npoints()
        if counts[0] != counts[1]:
            raise ValueError(f"the dataspaces select different numbers of elements, {counts[0]} and {counts[1]}")
        names = os.fsdecode(src_file_name), _names.inner(src_dset_name)
        # As in the C library, the source may be smaller than what is selected of it.
        _, last = src_space.get_select_bounds() or ((), ())
        extent = [max(n, end + 1) for n, end in zip(src_space.shape, last)] or list(src_space.shape)
        for source, target in _virtual._pairs(src_space._grid(), vspace._grid()):
            self._parts.append((*names, extent, source, target))

    @property
    def mappings(self) -> list[tuple[str, str, list[int], Any, Any]]:
        """The parts of a virtual dataset, in the form of the Rust part."""
        return self._parts

    def set_chunk(self, dims: tuple[int, ...]) -> None:
        """Set the shape of a chunk, and that the elements are stored in chunks."""
        self._layout = _CHUNKED
        self._chunks = tuple(int(n) for n in dims)

    def get_chunk(self) -> tuple[int, ...]:
        """Return the shape of a chunk."""
        if self._chunks is None:
            raise ValueError("no shape of a chunk was set")
        return self._chunks

    def set_layout(self, layout: int) -> None:
        """Set how the elements are stored: ``h5d.COMPACT``, ``h5d.CONTIGUOUS`` or ``h5d.CHUNKED``."""
        self._layout = layout

    def set_deflate(self, level: int = 5) -> None:
        """Add gzip."""
        self._filters.append((1, [int(level)], None))

    def set_shuffle(self) -> None:
        """Add the byte shuffle."""
        self._filters.append((2, [], None))

    def set_fletcher32(self) -> None:
        """Add checksums."""
        self._filters.append((3, [], None))

    def set_filter(self, code: int, flags: int = 0, values: tuple[int, ...] | None = None) -> None:
        """Add a filter by its number. With ``h5z.FLAG_OPTIONAL``, a chunk that cannot pass through it is stored without it.

        Raises
        ------
        ValueError
            If there are flags other than those of a filter.
        """
        flags = int(flags)
        if flags & ~h5z.FLAG_DEFMASK:
            raise ValueError("Invalid flags (invalid flags)")
        values = () if values is None else values
        self._filters.append((int(code), [int(value) for value in values], bool(flags & h5z.FLAG_OPTIONAL)))

    def set_fill_value(self, value: Any) -> None:
        """Set the value of elements that were never written."""
        self._fill = np.asarray(value)

    def set_fill_time(self, time: int) -> None:
        """Set when fill values are written."""
        self._fill_time = int(time)

    def get_fill_time(self) -> int:
        """Return when fill values are written, by default ``h5d.FILL_TIME_IFSET``."""
        return 2 if self._fill_time is None else self._fill_time

    @property
    def track_order(self) -> bool | None:
        """The argument ``track_order`` of ``create_dataset``."""
        return True if self._attributes & CRT_ORDER_TRACKED else None

    def settings(self) -> tuple[int | None, tuple[int, ...] | None, list[tuple[int, list[int], bool | None]], Any, int | None]:
        """Return the layout, the chunks, the filters, the fill value and the time of writing it."""
        chunks = self._chunks if self._layout == _CHUNKED else None
        return self._layout, chunks, self._filters, self._fill, self._fill_time


class PropFAID(PropInstanceID):
    """How a file is opened by :func:`sciformats.h5.h5f.open`."""

    def __init__(self) -> None:
        #: How much memory a file in memory takes at once, and whether it is written when it is closed.
        self._core: tuple[int, bool] | None = None
        self._image: bytes | None = None
        self._bounds: tuple[int, int] | None = None
        self._locking: tuple[bool, bool] | None = None
        self._alignment = (1, 1)

    @property
    def image(self) -> bytes | None:
        """The bytes of a file in memory, if there are any.

        Raises
        ------
        OSError
            If there are some for a file that is not in memory.
        """
        if self._image is not None and self._core is None:
            raise OSError("Unable to synchronously open file (file image set, but not supported.)")
        return self._image

    @property
    def is_stored(self) -> bool:
        """Whether changes of a file get to its path."""
        return self._core is None or self._core[1]

    def set_fapl_core(self, block_size: int = 64 << 10, backing_store: bool = True) -> None:
        """Choose a file in memory, which is written to its path when it is closed if ``backing_store`` is true. The size has no effect."""
        self._core = (int(block_size), bool(backing_store))

    def get_fapl_core(self) -> tuple[int, bool]:
        """Return what was set for a file in memory.

        Raises
        ------
        ValueError
            If another kind of file was chosen.
        """
        if self._core is None:
            raise ValueError("the file is not in memory")
        return self._core

    def set_libver_bounds(self, low: int, high: int) -> None:
        """Set the oldest and the newest release whose structures are written, such as ``h5f.LIBVER_V18``."""
        self._bounds = (int(low), int(high))

    def get_libver_bounds(self) -> tuple[int, int]:
        """Return the oldest and the newest release whose structures are written."""
        return self._bounds or (0, len(RELEASES) - 1)

    def set_file_locking(self, use_file_locking: bool, ignore_when_disabled: bool) -> None:
        """Set whether the file is locked, and whether it may be used where locks do not exist."""
        self._locking = (bool(use_file_locking), bool(ignore_when_disabled))

    def get_file_locking(self) -> tuple[bool, bool]:
        """Return whether the file is locked, and whether it may be used where locks do not exist."""
        return (True, True) if self._locking is None else self._locking

    def set_alignment(self, threshold: int, alignment: int) -> None:
        """Set from how many bytes on the C library places objects at multiples of a number. It is kept and has no effect: a file says nothing of it.

        Raises
        ------
        ValueError
            If the multiples are those of 0.
        """
        if threshold < 0 or alignment < 1:
            raise ValueError(f"{threshold} and {alignment} are not a number of bytes and a number that has multiples")
        self._alignment = (int(threshold), int(alignment))

    def get_alignment(self) -> tuple[int, int]:
        """Return the numbers that were set."""
        return self._alignment

    def set_fclose_degree(self, close_degree: int) -> None:
        """Accept what happens to objects when their file is closed: here they are always closed with it."""

    def set_fapl_sec2(self) -> None:
        """Choose a file with a path, as is the default."""
        self._core = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``File``."""
        found: dict[str, Any] = {}
        if self._bounds is not None:
            found["libver"] = tuple(RELEASES[at] for at in self._bounds)
        if self._locking is not None:
            found["locking"] = self._locking[0] and ("best-effort" if self._locking[1] else True)
        if self._core is not None:
            found["driver"], found["backing_store"] = "core", self._core[1]
        return found

    def set_file_image(self, image: bytes) -> None:
        """Set the bytes of a file in memory."""
        self._image = bytes(image)


class PropDAID(PropInstanceID):
    """How a dataset is opened by :func:`sciformats.h5.h5d.open`: parameters of a cache, which are kept and have no effect."""

    def __init__(self) -> None:
        self.cache: tuple[int, int, float] | None = None
        #: The folders in which external files, and the files of virtual datasets, are looked for.
        self.prefixes: list[bytes] = [b"", b""]

    def set_efile_prefix(self, prefix: bytes) -> None:
        """Set the folder in which external files are looked for."""
        self.prefixes[0] = bytes(prefix)

    def get_efile_prefix(self) -> bytes:
        """Return the folder in which external files are looked for."""
        return self.prefixes[0]

    def set_virtual_prefix(self, prefix: bytes) -> None:
        """Set the folder in which the files of virtual datasets are looked for."""
        self.prefixes[1] = bytes(prefix)

    def get_virtual_prefix(self) -> bytes:
        """Return the folder in which the files of virtual datasets are looked for."""
        return self.prefixes[1]

    def set_chunk_cache(self, nslots: int, nbytes: int, w0: float) -> None:
        """Set the parameters of the cache of chunks."""
        self.cache = (int(nslots), int(nbytes), float(w0))

    def get_chunk_cache(self) -> tuple[int, int, float] | None:
        """Return the parameters of the cache of chunks."""
        return self.cache


_CLASSES: dict[int, Any] = {
    FILE_CREATE: PropFCID,
    FILE_ACCESS: PropFAID,
    GROUP_CREATE: PropGCID,
    DATASET_CREATE: PropDCID,
    DATASET_ACCESS: PropDAID,
    LINK_CREATE: PropLCID,
    OBJECT_CREATE: PropOCID,
    LINK_ACCESS: PropLAID,
}


def create(cls: int) -> Any:
    """Return a property list.

    Raises
    ------
    NotImplementedError
        If it is one for transfers, or for copies.
    """
    if cls not in _CLASSES:
        raise NotImplementedError("property lists for transfers and copies are not supported")
    return _CLASSES[cls]()
