"""Tables in files as streams of Arrow, which pyarrow, Polars, DuckDB and pandas take without a copy.

>>> import pyarrow, sciformats
>>> log = sciformats.table("log.h5", "/run")
>>> pyarrow.table(log.select(["time", "energy"], where=[("energy", "<", 0.0)])).to_pydict()
{'time': [0.5, 1.5], 'energy': [-2.0, -4.0]}
"""

from __future__ import annotations

import datetime
import glob
import os
from typing import TYPE_CHECKING, Any

import numpy

from sciformats import _remote, _sciformats

if TYPE_CHECKING:
    from collections.abc import Sequence

    #: A condition on a column: its name, one of ``=``, ``!=``, ``<``, ``<=``, ``>`` and ``>=``, and a value.
    Condition = tuple[str, str, bool | int | float | str | datetime.date | numpy.datetime64]

_OPTIONS: dict[str, Any] = {"threads": 0, "external": "same folder"}


class Table:
    """A table in a file, or in many files.

    Every call of ``__arrow_c_stream__`` reads it anew, so the same object can be given to several libraries, and DuckDB finds it by
    the name of the variable.
    """

    def __init__(self, base: _sciformats.Table, name: str) -> None:
        self._base = base
        self._name = name

    def __repr__(self) -> str:
        rows = self.rows
        count = "" if rows is None else f", {rows} rows"
        return f"<sciformats.Table {self._name!r}: {', '.join(self.columns)}{count}>"

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._base.columns

    @property
    def rows(self) -> int | None:
        """The number of rows, or ``None`` if they have to be counted."""
        return self._base.rows

    def __arrow_c_schema__(self) -> Any:
        """Return the schema as a capsule of Arrow."""
        return self._base.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return all rows as a capsule of Arrow."""
        return self._base.__arrow_c_stream__(requested_schema)

    def select(
        self,
        columns: Sequence[str] | None = None,
        *,
        where: Sequence[Condition] = (),
        limit: int | None = None,
        ordered: str | None = None,
        batch_rows: int | None = None,
        threads: int = 0,
    ) -> Any:
        """Return a part of the table, which other libraries read like the whole.

        Parameters
        ----------
        columns : list of str, optional
            The columns, in this order; only these are read.
        where : list of conditions
            Conditions that rows must satisfy, all of them, such as ``("energy", "<", 0.0)``. Dates are compared with dates of Python,
            NumPy or pandas, or with texts such as ``"2025-06-01 12:00"``.
            Categories are compared by their own order, as in pandas; without one they can only be equal or differ.
        limit : int, optional
            The number of rows after which the part ends.
        ordered : str, optional
            A column whose values are in ascending order. Conditions on it are answered by a search. If its values are in another
            order, rows are left out.
        batch_rows : int, optional
            The number of rows in a batch, which bounds the memory.
        threads : int
            The number of threads that decode batches; 0 means one per processor.
        """
        chosen = None if columns is None else list(columns)
        conditions = [(name, mark, _plain(value)) for name, mark, value in where]
        return self._base.part(chosen, conditions, limit, batch_rows, ordered, threads)

    def to_arrow(self) -> Any:
        """Return a table of pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> Any:
        """Return a frame of Polars."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> Any:
        """Return a frame of pandas, with the index that the file has."""
        from sciformats.pandas import frame_of

        return frame_of(self)


def _plain(value: Any) -> Any:
    """Return a value of a condition as a truth value, a number or a text; a moment with an offset is one in UTC."""
    if isinstance(value, numpy.datetime64):
        return _moment(value)
    if isinstance(value, numpy.timedelta64):
        # Some of them are integers for NumPy, whose unit would be lost.
        raise TypeError("a time span cannot be compared with the values of a column")
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        try:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        except (OverflowError, ValueError):
            # The moment in UTC is in a year that Python does not have. Texts may have an offset of whole minutes.
            offset = value.utcoffset() or datetime.timedelta()
            if offset % datetime.timedelta(minutes=1):
                raise
    if isinstance(value, datetime.date):
        text = value.isoformat()
        if text == "NaT":
            raise ValueError("NaT is compared, but a missing date is neither before nor after another one")
        return text
    return value.item() if isinstance(value, numpy.generic) else value


def _moment(value: numpy.datetime64) -> str:
    """Return a date of NumPy as a text, whatever it counts: nanoseconds would only reach from 1677 to 2262."""
    if numpy.isnat(value):
        raise ValueError("NaT is compared, but a missing date is neither before nor after another one")
    unit, _ = numpy.datetime_data(value.dtype)
    if unit in ("ms", "us", "ns"):
        return str(value)
    whole = value.astype("datetime64[ns]" if unit in ("ps", "fs", "as") else "datetime64[s]")
    if whole.astype(value.dtype) != value:
        raise ValueError(f"{value!r} is not a whole number of nanoseconds, or too far away")
    return str(whole)


def _found(name: str) -> tuple[list[str], str | None, str | None]:
    """Return the files that a name means, the path in them, and the column for the names of files."""
    ends = [at for at in range(len(name)) if name.startswith(":/", at)]
    for end in [len(name), *reversed(ends)]:
        if end and os.path.exists(name[:end]):
            return [name[:end]], name[end + 1 :] or None, None
    file, path = (name[: ends[-1]], name[ends[-1] + 1 :]) if ends else (name, None)
    return _matching(file), path, "file"


def _matching(pattern: str) -> list[str]:
    """Return the files whose names match a pattern in the order of their names, which are none for a name without ``*`` and ``?``."""
    if "*" not in pattern and "?" not in pattern:
        return []
    # Python's patterns also have sets of characters in brackets.
    return sorted(glob.glob(pattern.replace("[", "[[]")))


def table(
    file: str | os.PathLike[str],
    path: str | None = None,
    *,
    file_column: str | None = None,
    threads: int = 0,
    memory: int | None = None,
    external: str = "same folder",
    storage_options: dict[str, Any] | None = None,
) -> Table:
    """Open the table at a path of a file.

    A table is a list of records, a table of PyTables or pandas, a frame of AnnData, a group of arrays of one length, an array, or a
    file of Parquet, Arrow or CSV.

    Parameters
    ----------
    file : str or path
        The file, or its URL; with ``*`` or ``?`` in its name, all files whose names match are one table with a column of their names.
    path : str, optional
        The path of the table; the root by default.
    file_column : str, optional
        The name of the column with the names of the files, ``file`` by default. If it is given, there is such a column even for one
        file.
    threads, memory, external, storage_options
        As for :func:`sciformats.open`.
    """
    name = os.fspath(file)
    options = {**_OPTIONS, "threads": threads, "external": external}
    if memory is not None:
        options["memory"] = memory
    if _remote.is_url(name):
        if file_column is not None:
            raise ValueError("a table behind a URL has no column with the names of files")
        how = _remote.storage_of(name, storage_options).arguments()
        shown = _remote.bare(name) if path is None else f"{_remote.bare(name)}:{path}"
        return Table(_sciformats.open_table([], path, None, options, (name, how)), shown)
    if storage_options:
        raise ValueError("storage_options are for URLs only")
    if os.path.exists(name):
        files, column = [name], file_column
    else:
        files, column = _matching(name), file_column or "file"
        if not files:
            raise FileNotFoundError(2, "there is no such file", name)
    shown = name if path is None else f"{name}:{path}"
    return Table(_sciformats.open_table(files, path, column, options), shown)


def sql(query: str, **tables: Table) -> Any:
    """Run a query over tables in files, which it names as ``"FILE:/PATH"``.

    The result is a stream of Arrow that can be read once, such as by ``pyarrow.table``, ``polars.DataFrame`` and DuckDB.

    >>> import polars, sciformats
    >>> polars.DataFrame(sciformats.sql('SELECT count(*) AS n, min(energy) AS least FROM "log.h5:/run"')).rows()
    [(4, -4.0)]
    """
    if tables:
        raise TypeError("tables are named in the query, as \"FILE:/PATH\"")
    return _sciformats.run_query(query, _found, dict(_OPTIONS))
