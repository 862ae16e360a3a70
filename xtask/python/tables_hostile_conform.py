"""Tables of pandas, PyTables and AnnData that lie: they are refused by name, or read without what is not true. No pickle runs.

    tables_hostile_conform.py PROGRAM DIR
"""

import json
import os
import pickle
import shutil
import sys
import warnings
from importlib.metadata import version

import anndata
import h5py
import numpy
import pandas
import tables

from checks import check, program_in

warnings.simplefilter("ignore")
PROGRAM, FOLDER = sys.argv[1], sys.argv[2]
run = program_in(PROGRAM, FOLDER)
MARK = f"{FOLDER}/a-pickle-ran"


class Evil:
    """Runs a command when it is unpickled."""

    def __init__(self, call, *args):
        self.of = (call, args)

    def __reduce__(self):
        return self.of


def evils():
    """Pickles that would run something."""
    touch = f"touch {MARK}"
    for call, args in [(os.system, (touch,)), (eval, (f"open({MARK!r}, 'w')",)), (exec, (f"open({MARK!r}, 'w')",))]:
        for protocol in [0, 2, 4, 5]:
            yield pickle.dumps(Evil(call, *args), protocol)
            yield pickle.dumps([Evil(call, *args), "a"], protocol)
            yield pickle.dumps(numpy.array(["a", Evil(call, *args), None], dtype=object), protocol)


def frames():
    """A file of pandas with a frame in each format."""
    path = f"{FOLDER}/frames.h5"
    data = pandas.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "name": ["x", "y", "z"]})
    data.to_hdf(path, key="fixed", mode="w")
    data.to_hdf(path, key="table", format="table")
    return path


def hurt(path, work):
    """A copy of a file, in which something is changed."""
    copy = f"{FOLDER}/hurt.h5"
    shutil.copy(path, copy)
    with h5py.File(copy, "a") as file:
        work(file)
    return copy


def asked(path, inside):
    """What the program says about all rows: the rows, or the error."""
    done = run("sql", f'SELECT * FROM "{path}:{inside}"', "--json", status=(0, 1, 2, 3))
    assert not os.path.exists(MARK), "a pickle ran"
    assert "internal" not in done.stderr and "panicked" not in done.stderr, done.stderr
    return done


def pickled_blocks():
    """Pickles in the blocks of frames are data, or are refused by name."""
    path = frames()
    for evil in evils():

        def work(file):
            block = file["fixed/block2_values"]
            block[0] = numpy.frombuffer(evil, "u1")

        done = asked(hurt(path, work), "/fixed")
        # The error names the pickle, or the column in which it would be one value for all rows.
        named = any(told in done.stderr for told in ["block2_values", '(in "name" of ', "without its column `name`"])
        assert done.returncode in (1, 3) and named, f"{evil!r}: {done.returncode} {done.stdout} {done.stderr}"


def pickled_attributes():
    """Pickles in the attributes of frames never run, whatever becomes of the names of columns."""
    path = frames()
    for name, inside in [("non_index_axes", "table"), ("info", "table"), ("values_cols", "table"), ("values_block_0_kind", "table/table"), ("values_block_1_kind", "table/table"), ("index_variety", "fixed"), ("name", "fixed/axis0")]:
        for evil in evils():
            done = asked(hurt(path, lambda file: file[inside].attrs.__setitem__(name, numpy.bytes_(evil.rstrip(b"\\0")) or b"N.")), "/" + inside.split("/")[0])
            assert done.returncode in (0, 1, 2, 3)


def counts():
    """Frames of pandas with other numbers of columns, rows and names than they have."""
    path = frames()

    def shorter(name):
        def work(file):
            data = file[name][...][:-1]
            attrs = dict(file[name].attrs)
            del file[name]
            file[name] = data
            file[name].attrs.update(attrs)

        return work

    for name in ["fixed/axis1", "fixed/block0_values", "fixed/block1_values"]:
        done = asked(hurt(path, shorter(name)), "/fixed")
        assert done.returncode in (1, 3) and "rows" in done.stderr, f"{name}: {done.returncode} {done.stdout} {done.stderr}"
    for names in [["b", "c", "d"], ["b"] * 1000]:
        text = pickle.dumps(names, 0)
        done = asked(hurt(path, lambda file: file["table/table"].attrs.__setitem__("values_block_0_kind", numpy.bytes_(text))), "/table")
        assert done.returncode != 0 or len(json.loads(done.stdout.splitlines()[0])) <= 5, done.stdout


def cells():
    """Frames of AnnData whose columns are missing, too short, too long, or have codes without a category."""
    path = f"{FOLDER}/cells.h5ad"
    obs = pandas.DataFrame({"kind": pandas.Categorical(["T", "B", "T"]), "n": [1, 2, 3], "few": pandas.array([1, None, 3], dtype="Int32")}, index=["a", "b", "c"])
    anndata.AnnData(numpy.zeros((3, 1), "f4"), obs).write_h5ad(path)

    def put(name, data):
        def work(file):
            attrs = dict(file[name].attrs)
            del file[name]
            file[name] = data
            file[name].attrs.update(attrs)

        return work

    for word, work in [
        ("kind", put("obs/kind/codes", numpy.array([0, 1, 2], "i1"))), ("kind", put("obs/kind/codes", numpy.array([0, 1, -2], "i1"))),
        ("kind", put("obs/kind/codes", numpy.array([0, 1], "i1"))), ("n", put("obs/n", numpy.arange(2))), ("n", put("obs/n", numpy.arange(4))),
        ("few", put("obs/few/values", numpy.arange(4, dtype="i4"))), ("n", lambda file: file["obs"].pop("n", None) or file["obs"].__delitem__("n")),
        ("none", lambda file: file["obs"].attrs.__setitem__("column-order", ["kind", "none"])),
    ]:

        def harm(file):
            try:
                work(file)
            except KeyError:  # it is gone already
                pass

        done = asked(hurt(path, harm), "/obs")
        assert done.returncode in (1, 3) and word in done.stderr, f"{word}: {done.returncode} {done.stdout} {done.stderr}"


def huge():
    """Datasets that declare more rows than any disk holds."""
    path = f"{FOLDER}/huge.h5"
    with h5py.File(path, "w") as file:
        kind = numpy.dtype([("a", "<f8"), ("b", "<i4")])
        file.create_dataset("t", (2**50,), kind, chunks=(1000,))
    for query in ["SELECT * FROM", "SELECT count(*) FROM", "SELECT max(a) FROM"]:
        done = run("sql", f'{query} "{path}:/t"', "-o", "huge.arrow", "--force", "--limit-unfolded", "100M", status=(0, 1, 3))
        assert done.returncode == 3 and "limit" in done.stderr or "count" in query, f"{query}: {done.returncode} {done.stderr}"
    lines = run("sql", f'SELECT b FROM "{path}:/t" LIMIT 3', "--json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [{"b": 0}] * 3


if __name__ == "__main__":
    for name in ["pandas", "tables", "anndata"]:
        print(json.dumps({"peer": f"{name} {version(name)}"}))
    for work in [pickled_blocks, pickled_attributes, counts, cells, huge]:
        check(f"hostile: {work.__doc__}", work, "we read theirs")
