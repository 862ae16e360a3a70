"""Frames of pandas, without PyTables, anndata or h5py, and without running a pickle.

>>> import sciformats.pandas
>>> sciformats.pandas.read("cells.h5ad", "/obs", columns=["kind"])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sciformats import _tables

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pandas


def read(
    file: str | os.PathLike[str],
    path: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    where: Sequence[_tables.Condition] = (),
    limit: int | None = None,
    ordered: str | None = None,
    **options: Any,
) -> pandas.DataFrame:
    """Read the table at a path of a file.

    The parameters are those of :func:`sciformats.table` and :meth:`sciformats.Table.select`. Columns that name the rows become the
    index if all columns are read; categories, dates, spans and missing values have the types of pandas for them.
    """
    table = _tables.table(file, path, **options)
    part = table.select(columns, where=where, limit=limit, ordered=ordered)
    return frame_of(part)


def frame_of(table: Any) -> pandas.DataFrame:
    """Return the frame of anything that is a stream of Arrow."""
    import pyarrow

    found = pyarrow.table(table)
    index = [field.name for field in found.schema if (field.metadata or {}).get(b"index") == b"true"]
    missing = {}
    import pandas

    for field, column in zip(found.schema, found.columns, strict=True):
        if pyarrow.types.is_integer(field.type) and column.null_count:
            width = field.type.bit_width
            sign = "Int" if pyarrow.types.is_signed_integer(field.type) else "UInt"
            missing[field.type] = getattr(pandas, f"{sign}{width}Dtype")()
        elif pyarrow.types.is_boolean(field.type) and column.null_count:
            missing[field.type] = pandas.BooleanDtype()
    frame = found.to_pandas(types_mapper=missing.get, self_destruct=True, split_blocks=True)
    if index:
        frame = frame.set_index(index if len(index) > 1 else index[0])
        if frame.index.name in ("_index", "index"):
            frame.index.name = None
    return frame
