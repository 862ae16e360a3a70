"""pandas, PyTables, and h5py with pyarrow beside tables."""

import warnings

import h5py
import numpy
import pandas
import pyarrow
import tables

from worker import serve

warnings.simplefilter("ignore")
ROWS = 5_000_000
WHERE = "(time >= 3000000) & (time < 3001000)"


def all_of_pandas(folder, watch):
    with watch:
        frame = pandas.read_hdf(folder / "pandas.h5", "log")
    assert frame.shape == (ROWS, 12)


def two_of_pandas(folder, watch):
    with watch:
        frame = pandas.read_hdf(folder / "pandas.h5", "log", columns=["count", "x3"])
    assert frame.shape == (ROWS, 2)


def where_of_pandas(folder, watch):
    with watch:
        frame = pandas.read_hdf(folder / "pandas.h5", "log", where="time >= 3000000 & time < 3001000")
    assert len(frame) == 1000


def all_of_pytables(folder, watch):
    with watch:
        with tables.open_file(folder / "records.h5") as file:
            data = file.root.log.read()
    assert len(data) == ROWS


def two_of_pytables(folder, watch):
    with watch:
        with tables.open_file(folder / "records.h5") as file:
            count, x3 = file.root.log.read(field="count"), file.root.log.read(field="x3")
    assert len(count) == len(x3) == ROWS


def where(name):
    def run(folder, watch):
        with watch:
            with tables.open_file(folder / "records.h5") as file:
                data = file.get_node(name).read_where(WHERE)
        assert len(data) == 1000

    return run


def all_of_h5py(folder, watch):
    with watch:
        with h5py.File(folder / "records.h5") as file:
            data = file["log"][()]
        table = pyarrow.table({name: numpy.ascontiguousarray(data[name]) for name in data.dtype.names})
    assert table.num_rows == ROWS


def two_of_h5py(folder, watch):
    with watch:
        with h5py.File(folder / "records.h5") as file:
            data = file["log"].fields(["count", "x3"])[()]
        table = pyarrow.table({name: numpy.ascontiguousarray(data[name]) for name in data.dtype.names})
    assert table.num_rows == ROWS


def to_parquet(folder, watch):
    with watch:
        pandas.read_hdf(folder / "pandas.h5", "log").to_parquet(folder / "theirs.parquet")
    (folder / "theirs.parquet").unlink()


SORTED = "1,000 rows by a condition on a sorted column"
serve({
    "pandas.read_hdf": {"all of 12 columns, table of pandas": all_of_pandas, "2 of 12 columns, table of pandas": two_of_pandas},
    "PyTables": {"all of 12 columns, records": all_of_pytables, "2 of 12 columns, records": two_of_pytables},
    "h5py and pyarrow": {"all of 12 columns, records": all_of_h5py, "2 of 12 columns, records": two_of_h5py},
    "PyTables where": {SORTED: where("/log"), "1,000 rows by a condition on any column": where("/log")},
    "PyTables where, indexed": {SORTED: where("/indexed")},
    "pandas.read_hdf where": {SORTED: where_of_pandas},
    "pandas": {"to Parquet": to_parquet},
})
