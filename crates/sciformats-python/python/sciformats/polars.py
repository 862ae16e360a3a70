"""Lazy frames of Polars over tables in files.

>>> import polars, sciformats.polars
>>> log = sciformats.polars.scan("log.h5", "/run")
>>> log.filter(polars.col("energy") < 0).select("time").head(10).collect()["time"].to_list()
[0.5, 1.5]

Of a query, the columns that it needs, conditions on single columns and the number of rows reach the file.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy

from sciformats import _tables

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    import polars

_MARKS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_WIDTHS = {"Float16": "e", "Float32": "f", "Float64": "d"}
_CLOSED = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
_UNITS: dict[str, Any] = {"Nanoseconds": "ns", "Microseconds": "us", "Milliseconds": "ms"}
_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def scan(
    file: str | os.PathLike[str],
    path: str | None = None,
    *,
    ordered: str | None = None,
    **options: Any,
) -> polars.LazyFrame:
    """Return a lazy frame of the table at a path of a file.

    The parameters are those of :func:`sciformats.table`; ``ordered`` names a column whose values are in ascending order, in which
    conditions are searched.
    """
    import polars
    from polars.io.plugins import register_io_source

    table = _tables.table(file, path, **options)
    schema = polars.DataFrame(table.select(limit=0)).schema

    def source(
        with_columns: list[str] | None,
        predicate: polars.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[polars.DataFrame]:
        # Polars means that many rows before the predicate, so that no condition may leave some of them out.
        conditions = [] if predicate is None or n_rows is not None else conditions_of(predicate, schema)
        needed = with_columns
        if with_columns is not None and predicate is not None:
            needed = list(dict.fromkeys([*with_columns, *predicate.meta.root_names()]))
        part = table.select(needed, where=conditions, limit=n_rows, ordered=ordered, batch_rows=batch_size)
        for frame in _frames(part):
            if predicate is not None:
                frame = frame.filter(predicate)
            if with_columns is not None:
                frame = frame.select(with_columns)
            yield frame

    return register_io_source(source, schema=schema)


def _frames(part: Any) -> Iterator[polars.DataFrame]:
    """Return the batches of a stream as frames; without pyarrow, all of them are one frame."""
    import polars

    try:
        import pyarrow
    except ImportError:
        yield polars.DataFrame(part)
        return
    for batch in pyarrow.RecordBatchReader.from_stream(part):
        yield polars.DataFrame(batch)


def conditions_of(predicate: polars.Expr, schema: Any) -> list[_tables.Condition]:
    """Return those conditions of an expression that compare one column with one value, and that all have to hold."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # the form of expressions is no promise of Polars; without it, rows are filtered afterwards
        return []
    return [condition for condition in _comparisons(tree) if _fits(condition, schema)]


def _comparisons(tree: Any) -> Iterator[_tables.Condition]:
    """Return the comparisons of columns with values that all have to hold, whatever else has to hold besides."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        kind, inner = next(iter(node.items())) if isinstance(node, dict) and len(node) == 1 else ("", {})
        if kind == "BinaryExpr" and inner.get("op") in ("And", "LogicalAnd"):
            waiting += [inner.get("left"), inner.get("right")]
        elif kind == "BinaryExpr":
            mark = _MARKS.get(str(inner.get("op")))
            left, right = _part(inner.get("left")), _part(inner.get("right"))
            if mark is None or left is None or right is None:
                continue
            (is_column, one), (other_is_column, other) = left, right
            if is_column and not other_is_column:
                yield one, mark, other
            elif other_is_column and not is_column:
                yield other, _TURNED[mark], one
        elif kind == "Function":
            closed = ((inner.get("function") or {}).get("Boolean") or {})
            closed = closed.get("IsBetween", {}).get("closed") if isinstance(closed, dict) else None
            column, *ends = [_part(part) for part in inner.get("input", [])]
            if closed not in _CLOSED or column is None or not column[0]:
                continue
            for end, mark in zip(ends, _CLOSED[closed]):
                if end is not None and not end[0]:
                    yield column[1], mark, end[1]


def _fits(condition: _tables.Condition, schema: Any) -> bool:
    """Return whether a value is of the kind of its column, and the comparison means the same in files."""
    name, mark, value = condition
    kind = schema.get(name)
    if kind is None:
        return False
    if kind.is_integer() or kind.is_float():
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value != value:
            return False
        # What is not a number is the largest number for Polars, and none in files.
        if kind.is_float() and mark not in ("=", "<", "<="):
            return False
        # Polars compares with the nearest value that the column or a float can have, and files with the value itself.
        try:
            if kind.is_float():
                width = _WIDTHS[str(kind)]
                return bool(struct.unpack(width, struct.pack(width, value))[0] == value)
            return isinstance(value, int) or abs(value) < 1 << 53
        except (KeyError, OverflowError):
            return False
    if isinstance(value, numpy.datetime64):
        return str(kind).startswith("Datetime(")
    if str(kind) == "Categorical":
        # Polars orders categories as texts, and files by their list.
        return isinstance(value, str) and mark in ("=", "!=")
    return isinstance(value, str) and str(kind) == "String"


def _part(node: Any) -> tuple[bool, Any] | None:
    """Return a column by its name, or a value."""
    if not isinstance(node, dict):
        return None
    if isinstance(node.get("Column"), str):
        return True, node["Column"]
    value = node.get("Literal")
    while isinstance(value, dict) and len(value) == 1:
        kind, value = next(iter(value.items()))
        if kind == "Datetime" and isinstance(value, list) and len(value) == 3 and value[1] in _UNITS:
            return False, numpy.datetime64(value[0], _UNITS[value[1]])
    return (False, value) if isinstance(value, (int, float, str)) else None
