"""Scientific files as NumPy arrays: HDF5 and netCDF-4, ASDF, Blosc2, GSD, RawArray and npy.

>>> import sciformats
>>> file = sciformats.open("run.h5")
>>> file["fields/u"][0, ::2]
array([0., 2.])

=========================  ======================================================================
:func:`open`               opens a file of any format: a tree of groups, arrays and attributes
:mod:`sciformats.errors`   the exceptions
:mod:`sciformats.h5`       files that are read and written with the interface of h5py
:mod:`sciformats.asdf`     trees of ASDF, with arrays that are read when they are indexed
:mod:`sciformats.gsd`      trajectories of HOOMD-blue
:mod:`sciformats.blosc2`   arrays of Blosc2
:mod:`sciformats.rawarray` RawArray files that are mapped into memory
:mod:`sciformats.xarray`   the engine of xarray, and writing netCDF-4
:func:`table`, :func:`sql` tables for pyarrow, Polars, DuckDB and pandas, and queries over files
:mod:`sciformats.polars`   lazy frames of Polars that read what a query needs
:mod:`sciformats.pandas`   frames of pandas, without PyTables
=========================  ======================================================================

Reading holds no lock, so any number of threads can read one file at the same time. Objects can be pickled; a pickle contains the path.
"""

from __future__ import annotations

from sciformats._sciformats import __version__
from sciformats._model import Array, Attributes, File, Group
from sciformats._open import open
from sciformats._tables import Table, sql, table
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
    TooManyLinks,
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
    "Table",
    "TooManyLinks",
    "__version__",
    "open",
    "sql",
    "table",
]
