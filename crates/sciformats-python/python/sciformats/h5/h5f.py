"""The low-level calls for files."""

from __future__ import annotations

import os
from typing import Any

from sciformats.h5._create import UNLIMITED

__all__ = ["ACC_RDONLY", "ACC_RDWR", "UNLIMITED", "open", "open_file_image"]

#: The file is only read.
ACC_RDONLY = 0
#: The file is also changed.
ACC_RDWR = 1


def open(name: bytes, flags: int = ACC_RDWR, fapl: Any = None) -> Any:
    """Open a file, and return its identifier. ``fapl`` is a property list of :mod:`sciformats.h5.h5p`.

    Raises
    ------
    ValueError
        If there are flags other than ``ACC_RDONLY`` and ``ACC_RDWR``.
    """
    from sciformats.h5._objects import File

    if flags not in (ACC_RDONLY, ACC_RDWR):
        raise ValueError(f"{flags} is neither ACC_RDONLY nor ACC_RDWR")
    image = None if fapl is None else fapl.image
    if image is not None:
        return open_file_image(image, flags)
    return File(os.fsdecode(name), "r" if flags == ACC_RDONLY else "r+").id


def open_file_image(image: bytes, flags: int = ACC_RDONLY) -> Any:
    """Open a file that is in memory, and return its identifier. Changes are lost when it is closed."""
    from sciformats.h5._objects import File

    return (File(bytes(image), "r") if flags == ACC_RDONLY else File.in_memory(bytes(image))).id
