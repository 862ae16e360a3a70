"""Scientific files as NumPy arrays: HDF5 and netCDF-4, ASDF, Blosc2, GSD, RawArray and npy.

>>> import sciformats
>>> file = sciformats.open("run.h5")  # doctest: +SKIP
>>> file["fields/u"][0, ::2]  # doctest: +SKIP

====================  ======================================================================
:func:`open`          opens a file of any format: a tree of groups, arrays and attributes
:mod:`sciformats.errors`  the exceptions
====================  ======================================================================

Reading holds no lock, so any number of threads can read one file at the same time. Objects can be pickled; a pickle contains the path.
"""

from __future__ import annotations

from sciformats._model import Array, Attributes, File, Group
from sciformats._open import open
from sciformats.errors import (
    Conflict,
    Error,
    FileDamaged,
    Forbidden,
    LimitExceeded,
    Misfit,
    MissingFile,
    NotSupported,
    NotThisFormat,
)

__all__ = [
    "Array",
    "Attributes",
    "Conflict",
    "Error",
    "File",
    "FileDamaged",
    "Forbidden",
    "Group",
    "LimitExceeded",
    "Misfit",
    "MissingFile",
    "NotSupported",
    "NotThisFormat",
    "open",
]
