"""Conditions on columns that PyTables has indexed: the program gives the rows that PyTables gives, also where the index is
out of date or damaged.

    tables_index_conform.py PROGRAM DIR
"""

import json
import shutil
import sys
import warnings
from importlib.metadata import version

import h5py
import numpy
import pandas
import pyarrow.feather
import tables

from checks import check, program_in

warnings.simplefilter("ignore")
PROGRAM, FOLDER = sys.argv[1], sys.argv[2]
run = program_in(PROGRAM, FOLDER)
KINDS = ["ultralight", "light", "medium", "full"]
ROWS = 120_000


class Row(tables.IsDescription):
    """Columns of the types that PyTables can index."""

    id = tables.Int64Col(pos=0)
    x = tables.Float64Col(pos=1)
    single = tables.Float32Col(pos=2)
    code = tables.Int32Col(pos=3)
    small = tables.UInt16Col(pos=4)
    name = tables.StringCol(8, pos=5)
    few = tables.Int8Col(pos=6)


def data(rows, seed, nan=False):
    """Values in no order, some of them many times, and some that are no numbers, for which PyTables leaves rows out."""
    rng = numpy.random.default_rng(seed)
    made = numpy.zeros(rows, tables.dtype_from_descr(Row))
    made["id"] = numpy.arange(rows)
    made["x"] = rng.standard_normal(rows)
    if nan:
        made["x"][:: max(rows // 9, 1)] = numpy.nan
    made["single"] = numpy.round(rng.standard_normal(rows), 2)
    made["code"] = rng.integers(-(10**6), 10**6, rows)
    made["small"] = numpy.sort(rng.integers(0, 60_000, rows))
    made["name"] = [b"n%05d" % value for value in rng.integers(0, 50_000, rows)]
    made["few"] = rng.integers(0, 100, rows)
    return made


def write(path, kind, optlevel=6, rows=ROWS, seed=1, nan=False):
    """A table with an index of each column."""
    with tables.open_file(path, "w") as file:
        table = file.create_table("/run", "log", Row, createparents=True, expectedrows=rows)
        made = data(rows, seed, nan)
        table.append(made)
        table.flush()
        for name in made.dtype.names[1:]:
            getattr(table.cols, name).create_index(optlevel=optlevel, kind=kind)
    return made


#: Conditions for PyTables, and for a query.
CONDITIONS = [
    "x > 3", "x < -3.2", "(x >= 1.5) & (x < 1.50001)", "x >= 100", "single == 1.25", "(single > 3) & (single <= 3.1)",
    "code == 12345", "(code > -500) & (code < 800)", "code <= -999900", "small < 40", "(small >= 30000) & (small < 30010)",
    "name == b'n00017'", "(name >= b'n49990') & (name < b'n49995')", "few == 7", "few > 98", "(x > 2) & (code > 990000)",
]


def rows_of(path, condition, *more):
    """The rows of the program, as numbers."""
    words = condition.replace("b'", "'").replace("==", "=").replace("&", "AND")
    run("sql", f'SELECT id FROM "{path}:/run/log" WHERE {words}', "-o", "found.arrow", "--force", *more)
    return pyarrow.feather.read_table(f"{FOLDER}/found.arrow")["id"].to_pylist()


def true_rows(made, condition):
    """The rows that NumPy finds without an index."""
    names = {name: made[name] for name in made.dtype.names}
    return made["id"][eval(condition, {}, names)].tolist()


def same(path, made, conditions=CONDITIONS, pytables=True):
    """The program, PyTables and NumPy have the same rows."""
    for condition in conditions:
        wanted = true_rows(made, condition)
        if pytables:
            with tables.open_file(path) as file:
                theirs = file.get_node("/run/log").read_where(condition)["id"].tolist()
            assert theirs == wanted, f"PyTables, {condition}: {len(theirs)} rows, not {len(wanted)}"
        for more in [[], ["--no-index"]]:
            found = rows_of(path, condition, *more)
            assert found == wanted, f"{condition} {more}: {len(found)} rows, not {len(wanted)}"


def kinds(kind, optlevel):
    path = f"{FOLDER}/{kind}{optlevel}.h5"
    same(path, write(path, kind, optlevel))


def without_numbers(kind):
    """Values that are no numbers."""
    path = f"{FOLDER}/nan-{kind}.h5"
    for optlevel in [0, 6]:
        same(path, write(path, kind, optlevel, nan=True), [condition for condition in CONDITIONS if "x " in condition], pytables=False)


def several_slices(kind):
    """Many slices and blocks, which need a large table otherwise."""
    path = f"{FOLDER}/slices-{kind}.h5"
    with tables.open_file(path, "w") as file:
        table = file.create_table("/run", "log", Row, createparents=True, expectedrows=20_000)
        made = data(20_000, 2)
        table.append(made)
        table.flush()
        for name in made.dtype.names[1:]:
            column = getattr(table.cols, name)
            column.create_index(optlevel=3, kind=kind, _blocksizes=(8192, 4096, 1024, 128))
    same(path, made)


def grown():
    """Rows that are appended later are in the index."""
    path = f"{FOLDER}/grown.h5"
    made = write(path, "full", rows=30_000)
    more = data(500, 9)
    more["id"] += len(made)
    with tables.open_file(path, "a") as file:
        table = file.get_node("/run/log")
        table.append(more)
        table.flush()
    same(path, numpy.concatenate([made, more]))


def stale():
    """Rows that change while the index is marked as out of date."""
    for kind in KINDS:
        path = f"{FOLDER}/stale.h5"
        made = write(path, kind, rows=30_000)
        with tables.open_file(path, "a") as file:
            table = file.get_node("/run/log")
            table.autoindex = False
            made["x"][100:200] = 50.0
            table.modify_column(100, 200, column=made["x"][100:200], colname="x")
            more = data(500, 9)
            more["id"] += len(made)
            table.append(more)
            table.flush()
        made = numpy.concatenate([made, more])
        same(path, made, [*CONDITIONS, "x == 50"])


def by_others():
    """Rows that another program has changed or appended without telling the index."""
    for kind in KINDS:
        path = f"{FOLDER}/others.h5"
        made = write(path, kind, rows=30_000)
        for name in made.dtype.names[1:]:
            made[name] = numpy.roll(made[name], 12_345)
        made["x"] *= 1.5
        with h5py.File(path, "a") as file:
            file["run/log"][...] = made
        same(path, made, pytables=False)
        made = write(path, kind, rows=30_000)
        more = data(700, 4)
        more["id"] += len(made)
        with h5py.File(path, "a") as file:
            file["run/log"].resize((len(made) + 700,))
            file["run/log"][-700:] = more
        same(path, numpy.concatenate([made, more]), pytables=False)


def damaged(kind):
    """Arrays and attributes of the index with other contents."""

    def attribute(name, value):
        return lambda index: index.attrs.modify(name, value)

    def array(name, change):
        def work(index):
            if index[name].size:
                index[name][...] = change(index[name][...])

        return work

    harm = {
        "sorted zero": [array("sorted", numpy.zeros_like), array("sortedLR", numpy.zeros_like)],
        "sorted turned": [array("sorted", lambda of: of[..., ::-1]), array("sortedLR", lambda of: of[::-1])],
        "sorted of others": [array("sorted", lambda of: numpy.sort(of * 2)), array("sortedLR", lambda of: numpy.sort(of * 2))],
        "indices zero": [array("indices", numpy.zeros_like), array("indicesLR", numpy.zeros_like)],
        "indices moved": [array("indices", lambda of: of + 1), array("indicesLR", lambda of: of + 1)],
        "indices far": [array("indices", lambda of: of * 0 - 1), array("indicesLR", lambda of: of * 0 - 1)],
        "indices turned": [array("indices", lambda of: of[..., ::-1]), array("indicesLR", lambda of: of[::-1])],
        "bounds zero": [array("bounds", numpy.zeros_like)],
        "bounds far": [array("bounds", lambda of: of * 0 + 100)],
        "fewer in the last row": [lambda index: index["sortedLR"].attrs.modify("nelements", index["sortedLR"].attrs["nelements"] - 1)],
        "none in the last row": [lambda index: index["sortedLR"].attrs.modify("nelements", 0), lambda index: index["indicesLR"].attrs.modify("nelements", 0)],
        "slicesize": [attribute("slicesize", numpy.uint32(512))],
        "slicesize 0": [attribute("slicesize", numpy.uint32(0))],
        "chunksize": [attribute("chunksize", numpy.uint32(64))],
        "chunksize far": [attribute("chunksize", numpy.uint32(2**32 - 1))],
        "reduction": [attribute("reduction", numpy.int64(16))],
        "reduction 0": [attribute("reduction", numpy.int64(0))],
        "blocksize": [attribute("blocksize", numpy.uint64(2**63))],
        "blocksize of a slice": [attribute("blocksize", numpy.uint64(1024))],
        "version": [attribute("VERSION", numpy.bytes_("9.9"))],
    }
    path, hurt = f"{FOLDER}/sound.h5", f"{FOLDER}/hurt.h5"
    with tables.open_file(path, "w") as file:
        table = file.create_table("/run", "log", Row, createparents=True, expectedrows=20_000)
        made = data(20_000, 2)
        table.append(made)
        table.flush()
        table.cols.x.create_index(optlevel=3, kind=kind, _blocksizes=(8192, 4096, 1024, 128))
    conditions = [condition for condition in CONDITIONS if condition.lstrip("(").startswith("x ")]
    for name, works in harm.items():
        shutil.copy(path, hurt)
        with h5py.File(hurt, "a") as file:
            for work in works:
                work(file["run/_i_log/x"])
        try:
            same(hurt, made, conditions, pytables=False)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def exchanged():
    """The index of another column, and of another table."""
    path = f"{FOLDER}/exchanged.h5"
    for kind in KINDS:
        made = write(path, kind, rows=30_000)
        with h5py.File(path, "a") as file:
            index = file["run/_i_log"]
            index.move("x", "y")
            index.copy("single", "x")
        same(path, made, pytables=False)
        made = write(path, kind, rows=30_000)
        write(f"{FOLDER}/other.h5", kind, rows=30_000, seed=5)
        with h5py.File(path, "a") as file, h5py.File(f"{FOLDER}/other.h5") as other:
            del file["run/_i_log"]
            other.copy("run/_i_log", file["run"])
        same(path, made, pytables=False)


def of_pandas():
    """Indexes that pandas makes of the index and of data columns; dates among them."""
    path = f"{FOLDER}/frame.h5"
    rng = numpy.random.default_rng(3)
    when = pandas.date_range("2001-01-01", periods=50_000, freq="min", name="when")
    frame = pandas.DataFrame({"depth": rng.standard_normal(50_000), "kind": rng.choice(["a", "b", "nan"], 50_000), "other": 1.0}, index=when)
    frame.to_hdf(path, key="log", format="table", data_columns=["depth", "kind"])
    for theirs, ours in [
        ("index >= '2001-01-20 10:00' & index < '2001-01-20 11:30'", "\"when\" >= '2001-01-20 10:00' AND \"when\" < '2001-01-20 11:30'"),
        ("index > '2001-02-04 17:00'", "\"when\" > '2001-02-04 17:00'"),
        ("depth > 3.5", "depth > 3.5"),
        ("depth > 2 & kind = 'a'", "depth > 2 AND kind = 'a'"),
    ]:
        wanted = pandas.read_hdf(path, "log", where=theirs)
        run("sql", f'SELECT "when", depth FROM "{path}:/log" WHERE {ours}', "-o", "found.arrow", "--force")
        found = pyarrow.feather.read_table(f"{FOLDER}/found.arrow")
        assert len(wanted) > 0 and found["depth"].to_pylist() == wanted["depth"].tolist(), theirs
        assert [pandas.Timestamp(one) for one in found["when"].to_pylist()] == wanted.index.tolist(), theirs


if __name__ == "__main__":
    print(json.dumps({"peer": f"tables {version('tables')}"}))
    print(json.dumps({"peer": f"pandas {version('pandas')}"}))
    for kind in KINDS:
        for optlevel in [0, 6, 9]:
            check(f"indexes: {kind}, level {optlevel}", lambda: kinds(kind, optlevel), "we read theirs")
        check(f"indexes: {kind}, values that are no numbers", lambda: without_numbers(kind), "we read theirs")
        check(f"indexes: {kind}, many slices", lambda: several_slices(kind), "we read theirs")
        check(f"indexes: {kind}, damaged", lambda: damaged(kind), "we read theirs")
    for work in [grown, stale, by_others, exchanged, of_pandas]:
        check(f"indexes: {work.__doc__}", work, "we read theirs")
