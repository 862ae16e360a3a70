"""Frames of pandas, without PyTables, anndata or h5py, and without running a pickle.

>>> import sciformats.pandas
>>> sciformats.pandas.read("log.h5", "/run", columns=["time", "energy"], limit=2)
   time  energy
0   0.0     1.0
1   0.5    -2.0
"""

from __future__ import annotations

import re
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
    import pandas
    import pyarrow

    found = pyarrow.table(table)
    index = [field.name for field in found.schema if (field.metadata or {}).get(b"index") == b"true"]
    # What pandas calls nullable types are only used where values are missing, as its own readers do.
    missing = {}
    for field, column in zip(found.schema, found.columns):
        if not column.null_count:
            continue
        if pyarrow.types.is_integer(field.type):
            sign = "Int" if pyarrow.types.is_signed_integer(field.type) else "UInt"
            kind = getattr(pandas, f"{sign}{field.type.bit_width}Dtype")()
        elif pyarrow.types.is_boolean(field.type):
            kind = pandas.BooleanDtype()
        else:
            continue
        missing[field.name] = column.to_pandas(types_mapper={field.type: kind}.get)
    frame = found.to_pandas(self_destruct=True, split_blocks=True)
    for name, column in missing.items():
        frame[name] = column
    if index:
        for name in index if len(index) > 1 else []:
            # pandas stores the values of several levels once each; in a frame they are no categories.
            if isinstance(frame[name].dtype, pandas.CategoricalDtype):
                frame[name] = frame[name].astype(object)
        frame = frame.set_index(index if len(index) > 1 else index[0])
        # pandas has no name where a file must have one.
        none = re.compile(r"_?index|level_\d+|")
        frame.index.names = [None if none.fullmatch(name) else name for name in frame.index.names]
    return frame
