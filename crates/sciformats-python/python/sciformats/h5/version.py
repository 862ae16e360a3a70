"""The versions that programs ask for: those of h5py and of the C library whose behaviour this package has."""

from __future__ import annotations

from typing import NamedTuple


class Version(NamedTuple):
    """The parts of a version of h5py."""

    major: int
    minor: int
    bugfix: int
    pre: str | None
    post: int | None
    dev: int | None


#: The version of h5py.
version = "3.16.0"
#: The parts of its version.
version_tuple = Version(3, 16, 0, None, None, None)
#: The version of the C library. It is not used; files are written in the same formats.
hdf5_version = "2.0.0"
#: The parts of its version.
hdf5_version_tuple = (2, 0, 0)
hdf5_built_version_tuple = hdf5_version_tuple
#: The version of the low-level interface.
api_version = "1.8"
api_version_tuple = (1, 8)
#: What :data:`info` is printed for.
info = f"the interface of h5py {version}, by the package sciformats"
