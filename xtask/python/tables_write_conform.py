"""Tables that the program writes: other programs read the same columns.

    tables_write_conform.py PROGRAM DIR
"""

import json
import os
import sys
from importlib.metadata import version

import anndata
import duckdb
import h5py
import numpy
import pandas
import polars
import pyarrow
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import tables

import tables_files
from checks import check, program_in

PROGRAM, FOLDER = sys.argv[1], sys.argv[2]
run = program_in(PROGRAM, FOLDER)
ROWS = 500


def source():
    """Columns of every type, without missing values, and with them."""
    rng = numpy.random.default_rng(9)
    whole = {
        "i1": rng.integers(-128, 128, ROWS).astype("i1"), "i4": rng.integers(-9, 9, ROWS).astype("i4"), "i8": rng.integers(-(2**60), 2**60, ROWS),
        "u2": rng.integers(0, 2**16, ROWS).astype("u2"), "u8": rng.integers(0, 2**63, ROWS).astype("u8"),
        "f4": rng.standard_normal(ROWS).astype("f4"), "f8": rng.standard_normal(ROWS), "yes": rng.integers(0, 2, ROWS).astype(bool),
        "text": [f"größe {at % 40}" for at in range(ROWS)],
    }
    table = pyarrow.table(whole)
    table = table.append_column("when", pyarrow.array(numpy.arange(ROWS) * 10**6, pyarrow.timestamp("us")))
    table = table.append_column("three", pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(numpy.arange(ROWS * 3.0)), 3))
    missing = pyarrow.table(
        {
            "few": pyarrow.array([None if at % 5 == 0 else at for at in range(ROWS)], pyarrow.int32()),
            "maybe": pyarrow.array([None if at % 7 == 0 else at % 2 == 0 for at in range(ROWS)], pyarrow.bool_()),
            "share": pyarrow.array([None if at % 3 == 0 else at / 2 for at in range(ROWS)], pyarrow.float64()),
            "name": pyarrow.array([None if at % 4 == 0 else f"n{at}" for at in range(ROWS)], pyarrow.string()),
            "kind": pyarrow.array([None if at % 6 == 0 else ["T", "B"][at % 2] for at in range(ROWS)]).dictionary_encode(),
        }
    )
    return table, missing


TABLE, MISSING = source()


def columns(found, table, names=None):
    """Each column has the values of the table."""
    for name in names or table.column_names:
        got, wanted = tables_files.listed(found[name]), tables_files.listed(table[name])
        assert got == wanted, f"{name}: {got[:4]} is not {wanted[:4]}"


def moments(values):
    """Dates as integers count microseconds."""
    return [("moment", int(value) * 1000) for value in values]


def records():
    """A list of records in h5py."""
    run("convert", "table.parquet", "records.h5:/a/b", "--force")
    with h5py.File(f"{FOLDER}/records.h5") as file:
        data = file["a/b"]
        assert data.attrs["when.units"] == "microseconds since 1970-01-01"
        got = data[()]
    assert got.dtype["yes"] == numpy.dtype(bool)
    columns({name: got[name] for name in got.dtype.names if name != "text"}, TABLE, [name for name in TABLE.column_names if name not in ("text", "when")])
    assert [one.decode() for one in got["text"]] == TABLE["text"].to_pylist()
    assert moments(got["when"]) == tables_files.listed(TABLE["when"])


def pytables():
    """A table in PyTables, and a selection of it."""
    run("convert", "table.parquet", "pytables.h5:/run/log", "--form", "pytables", "--filter", "zlib", "--force")
    with tables.open_file(f"{FOLDER}/pytables.h5") as file:
        table = file.get_node("/run/log")
        assert isinstance(table, tables.Table) and table.nrows == ROWS
        got = table.read()
        some = table.read_where("(i4 > 3) & yes")
        wanted = [row for row in TABLE.to_pylist() if row["i4"] > 3 and row["yes"]]
        assert [row["i8"] for row in some] == [row["i8"] for row in wanted]
    columns(got, TABLE, [name for name in TABLE.column_names if name != "when"])
    assert moments(got["when"]) == tables_files.listed(TABLE["when"])


def pytables_grows():
    """PyTables appends to a table of the program."""
    run("convert", "table.parquet", "grows.h5:/log", "--form", "pytables", "--force")
    with tables.open_file(f"{FOLDER}/grows.h5", "a") as file:
        table = file.get_node("/log")
        table.append(table.read(0, 3))
        table.flush()
        table.cols.i4.create_index()
    got = json.loads(run("sql", 'SELECT count(*) AS n FROM "grows.h5:/log"', "--json").stdout)
    assert got == {"n": ROWS + 3}, got


def group():
    """A group of arrays in h5py."""
    run("convert", "table.parquet", "group.h5:/log", "--form", "columns", "--filter", "zlib", "--force")
    with h5py.File(f"{FOLDER}/group.h5") as file:
        got = {name: file["log"][name][()] for name in file["log"]}
        assert file["log/when"].attrs["units"] == "microseconds since 1970-01-01"
        assert got["three"].shape == (ROWS, 3)
    columns(got, TABLE, [name for name in TABLE.column_names if name != "when"])


def frame():
    """A frame in anndata, with every kind of missing value."""
    run("convert", "missing.parquet", "cells.h5ad", "--filter", "zlib", "--force")
    with h5py.File(f"{FOLDER}/cells.h5ad") as file:
        plain = []
        file.visititems(lambda name, it: isinstance(it, h5py.Dataset) and it.compression != "gzip" and plain.append(name))
        assert not plain, f"not compressed: {plain}"
    obs = anndata.read_h5ad(f"{FOLDER}/cells.h5ad").obs
    assert list(obs.columns) == MISSING.column_names and len(obs) == ROWS
    assert str(obs["few"].dtype) == "Int32" and str(obs["maybe"].dtype) == "boolean" and str(obs["kind"].dtype) == "category"
    columns({name: obs[name].astype(object) for name in obs.columns}, MISSING)


def frame_and_back():
    """A frame becomes the same file of Parquet again."""
    run("convert", "missing.parquet", "again.h5ad", "--force")
    run("convert", "again.h5ad:/obs", "again.parquet", "--force")
    found = pyarrow.parquet.read_table(f"{FOLDER}/again.parquet")
    columns(found, MISSING)
    for name in ["few", "maybe", "share"]:
        assert found.schema.field(name).type == MISSING.schema.field(name).type


def of_every_type():
    """Columns that records of HDF5 have no types for, and others, with missing values where there is a place for them."""
    some = [1, None, 3, -4, 5, 6]
    dates = pyarrow.array([1, None, 3, -400_000, 5, 6], pyarrow.date32())
    pairs = pyarrow.array(list(range(12)), pyarrow.date32())
    threes = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(numpy.arange(36)), 3)
    fields = pyarrow.struct([("a", pyarrow.int32()), ("when", pyarrow.timestamp("us")), ("p", pyarrow.struct([("q", pyarrow.date32())]))])
    found = {f"t{unit}": pyarrow.array(some, pyarrow.timestamp(unit)) for unit in ("ms", "us", "ns")}
    found |= {f"d{unit}": pyarrow.array(some, pyarrow.duration(unit)) for unit in ("ms", "us", "ns")}
    found |= {"zone": pyarrow.array(some, pyarrow.timestamp("us", tz="Europe/Berlin")), "day": dates, "f2": pyarrow.array(numpy.arange(6).astype("f2"))}
    found |= {"clock": pyarrow.array([1, None, 3, 4, 5, 6], pyarrow.time64("us")), "ms": pyarrow.array([1, None, 3, 4, 5, 6], pyarrow.time32("ms"))}
    found |= {"bytes": pyarrow.array([b"ab\0", b"\0\0\0", b"xyz"] * 2, pyarrow.binary(3)), "pair": pyarrow.FixedSizeListArray.from_arrays(pairs, 2)}
    found |= {"grid": pyarrow.FixedSizeListArray.from_arrays(threes, 2), "inf": pyarrow.array([0.5, float("inf"), -float("inf"), 1.0, -0.0, 2.0], pyarrow.float32())}
    found |= {"big": pyarrow.array([2**64 - 1, 0, 1, 2, 3, 4], pyarrow.uint64()), "place": pyarrow.array([{"a": at, "when": at, "p": {"q": at}} for at in range(6)], fields)}
    return pyarrow.table(found)


def there_and_back(form):
    """Parquet becomes HDF5 and Parquet again, and every column has its type and its values; PyTables opens its form."""
    table = of_every_type()
    pyarrow.parquet.write_table(table, f"{FOLDER}/every.parquet")
    run("convert", "every.parquet", "every.h5:/a/t", "--form", form, "--force")
    if form == "pytables":
        with tables.open_file(f"{FOLDER}/every.h5") as file:
            got = file.get_node("/a/t").read()
            assert got["grid"].shape == (6, 2, 3) and got["bytes"].tobytes() == b"ab\0\0\0\0xyz" * 2 and got["place"]["p"]["q"].tolist() == list(range(6))
    run("convert", "every.h5:/a/t", "again.parquet", "--force")
    found = pyarrow.parquet.read_table(f"{FOLDER}/again.parquet")
    if form == "columns":
        # Records beside arrays have a column for each field.
        table = table.flatten()
        found = pyarrow.table({name: found[name] for name in table.column_names})
    for name in table.column_names:
        assert found[name].type == table[name].type, f"{name}: {found[name].type} is not {table[name].type}"
        assert found[name].to_pylist() == table[name].to_pylist(), name


def refused_names():
    """Names that PyTables cannot open, and texts that end early, are refused before the file appears."""
    for name in ["a/b", "_v_x", "_f_x", "_g_x", "_c_x", "__members__"]:
        pyarrow.parquet.write_table(pyarrow.table({name: [1]}), f"{FOLDER}/name.parquet")
        assert name in run("convert", "name.parquet", "never.h5", "--form", "pytables", status=1).stderr
    pyarrow.parquet.write_table(pyarrow.table({"s": ["b\0c"]}), f"{FOLDER}/zero.parquet")
    for form in ["records", "pytables", "columns"]:
        assert "zero byte" in run("convert", "zero.parquet", "never.h5", "--form", form, status=1).stderr
    assert not os.path.exists(f"{FOLDER}/never.h5")


def refused():
    """What a form has no place for is refused by name."""
    for form in ["records", "pytables", "columns"]:
        done = run("convert", "missing.parquet", "refused.h5", "--form", form, "--force", status=1)
        assert "few" in done.stderr and "missing" in done.stderr, done.stderr


def parquet():
    """A file of Parquet in pyarrow, DuckDB, Polars and pandas."""
    run("convert", "table.parquet", "first.h5:/t", "--force")
    run("convert", "first.h5:/t", "out.parquet", "--force")
    path = f"{FOLDER}/out.parquet"
    names = [name for name in TABLE.column_names if name != "when"]
    columns(pyarrow.parquet.read_table(path), TABLE, names)
    flat = [name for name in names if name != "three"]
    columns(duckdb.sql(f"SELECT * FROM '{path}'").to_arrow_table(), TABLE, flat)
    columns(polars.read_parquet(path), TABLE, flat)
    columns(pandas.read_parquet(path), TABLE, flat)


def arrow():
    """A file of Arrow in pyarrow, Polars and pandas."""
    run("convert", "first.h5:/t", "out.arrow", "--force")
    path = f"{FOLDER}/out.arrow"
    names = [name for name in TABLE.column_names if name not in ("when", "three")]
    columns(pyarrow.feather.read_table(path), TABLE, [*names, "three"])
    columns(polars.read_ipc(path), TABLE, names)
    columns(pandas.read_feather(path), TABLE, names)


def csv():
    """A file of comma-separated values in pyarrow and pandas."""
    names = [name for name in TABLE.column_names if name not in ("when", "three", "f4")]
    quoted = ", ".join(f'"{name}"' for name in names)
    run("sql", f'SELECT {quoted} FROM "first.h5:/t"', "-o", "out.csv", "--force")
    found = pyarrow.csv.read_csv(f"{FOLDER}/out.csv")
    columns(found, TABLE, names)
    columns(pandas.read_csv(f"{FOLDER}/out.csv", float_precision="round_trip"), TABLE, names)


def foreign():
    """Files of Parquet, Arrow and CSV that pyarrow, Polars and DuckDB wrote are tables."""
    plain = TABLE.select([name for name in TABLE.column_names if name != "three"])
    wrote = {
        "snappy.parquet": lambda path: pyarrow.parquet.write_table(plain, path),
        "zstd.parquet": lambda path: polars.from_arrow(plain).write_parquet(path),
        "gzip.parquet": lambda path: pyarrow.parquet.write_table(plain, path, compression="gzip"),
        "lz4.parquet": lambda path: pyarrow.parquet.write_table(plain, path, compression="lz4"),
        "duck.parquet": lambda path: duckdb.from_arrow(plain).write_parquet(path),
        "lz4.feather": lambda path: pyarrow.feather.write_feather(plain, path),
        "zstd.feather": lambda path: pyarrow.feather.write_feather(plain, path, compression="zstd"),
        "polars.arrow": lambda path: polars.from_arrow(plain).write_ipc(path),
        "arrow.csv": lambda path: pyarrow.csv.write_csv(plain.select(["i4", "f8", "yes", "text"]), path),
    }
    for name, write in wrote.items():
        write(f"{FOLDER}/{name}")
        run("convert", name, "foreign.arrow", "--force")
        found = pyarrow.feather.read_table(f"{FOLDER}/foreign.arrow")
        columns(found, plain, [name for name in found.column_names])
        assert found.num_rows == ROWS, name


if __name__ == "__main__":
    for name in ["pyarrow", "duckdb", "polars", "pandas", "tables", "anndata", "h5py"]:
        print(json.dumps({"peer": f"{name} {version(name)}"}))
    pyarrow.parquet.write_table(TABLE, f"{FOLDER}/table.parquet")
    pyarrow.parquet.write_table(MISSING, f"{FOLDER}/missing.parquet")
    for work in [records, pytables, group, frame, frame_and_back, refused, refused_names, parquet, arrow, csv]:
        check(f"written: {work.__doc__}", work, "they read ours")
    for form in ["records", "pytables", "columns"]:
        check(f"written: {form}: {there_and_back.__doc__}", lambda: there_and_back(form), "they read ours")
    check(f"written: {pytables_grows.__doc__}", pytables_grows, "edited there")
    check(f"foreign: {foreign.__doc__}", foreign, "we read theirs")
