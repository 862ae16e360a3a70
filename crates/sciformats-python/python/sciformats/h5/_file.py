"""Files with the interface of h5py."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sciformats.h5 import _create, _locks, _objects
from sciformats.h5._config import get_config
from sciformats.h5._group import Group
from sciformats.h5._identifiers import ObjectID
from sciformats.h5._objects import HLObject
from sciformats.h5._open import opened
from sciformats.h5._opened import Opened


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


_objects._file_class = File
