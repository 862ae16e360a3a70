"""References as Parquet beside those as JSON: the lazy mapper of fsspec finds the same metadata, ranges and inlined bytes, for every
fixture, and a record that starts in the middle of an array.

    references_parquet_conform.py PROGRAM DIR
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import version

import fsspec
import h5py
import numpy
import pandas
import zarr
from fsspec.implementations.reference import LazyReferenceMapper

from checks import check
from references_zarr_conform import fixtures

warnings.simplefilter("ignore")
PROGRAM = sys.argv[1]


def run(path, out, *options):
    """Whether the program wrote references."""
    done = subprocess.run([PROGRAM, "--quiet", "references", path, "-o", out, "--force", *options], capture_output=True)
    assert done.returncode in (0, 1, 3), f"the exit status is {done.returncode}: {done.stderr.decode()}"
    return done.returncode < 3


def wanted(told):
    """The references of a JSON file, with the URL in place of its template."""
    urls = {f"{{{{{name}}}}}": url for name, url in told["templates"].items()}
    for key, place in told["refs"].items():
        if isinstance(place, list):
            yield key, [urls[place[0]], *place[1:]]
        elif place.startswith("base64:"):
            yield key, base64.b64decode(place[7:])
        else:
            yield key, json.loads(place)


def compare(path, folder):
    """One file: every reference of the JSON is in the tables, and no table has more."""
    one, other = os.path.join(folder, "a.json"), os.path.join(folder, "a.parquet")
    if not run(path, one):
        assert not run(path, other) and not os.path.exists(other), "there are references in only one form"
        return
    assert run(path, other), "there are references in only one form"
    with open(one) as file:
        refs = dict(wanted(json.load(file)))
    mapper = LazyReferenceMapper(other, fsspec.filesystem("file"))
    stored = 0
    for key, place in refs.items():
        found = mapper[key]
        if key.split("/")[-1].startswith(".z"):
            assert json.loads(found) == place, f"{key}: {found}, not {place}"
            continue
        stored += 1
        found = list(found) if isinstance(place, list) else bytes(found)
        whole = all(isinstance(number, (int, numpy.integer)) for number in found[1:])
        assert whole, f"{key}: the numbers are not integers: {found}"
        assert found == place, f"{key}: {str(found)[:100]}, not {str(place)[:100]}"
    rows = 0
    for base, _, names in os.walk(other):
        for name in names:
            if name.endswith(".parq"):
                table = pandas.read_parquet(os.path.join(base, name), engine="fastparquet")
                assert len(table) == 10_000, f"{name} has {len(table)} rows"
                columns = [column for column in ("path", "raw") if column in table]
                assert not any(table[column].isna().all() for column in columns[:-1]), f"{name} has a column of nulls"
                rows += int(table[columns].notna().any(axis=1).sum())
    assert rows == stored, f"the tables have {rows} chunks, not {stored}"


def many(folder):
    """An array whose chunks are in three tables, with a hole."""
    path = os.path.join(folder, "many.h5")
    values = numpy.arange(25_000, dtype="<i4")
    with h5py.File(path, "w") as file:
        array = file.create_dataset("x", (25_000,), "<i4", chunks=(1,), fillvalue=7)
        array[:9_000], array[19_000:] = values[:9_000], values[19_000:]
    values[9_000:19_000] = 7
    out = os.path.join(folder, "many.parquet")
    # The missing chunks have a value that nothing marks, so that a small array would be inlined.
    assert run(path, out, "--inline", "1K")
    options = {"fo": out, "remote_protocol": "file", "skip_instance_cache": True}
    fs = fsspec.filesystem("reference", **options)
    for at in [0, 8_999, 19_000, 20_000, 24_999]:
        assert int.from_bytes(fs.cat_file(f"x/{at}"), "little") == values[at], at
    for at in [9_000, 15_000, 18_999]:
        assert not fs.exists(f"x/{at}"), at


def nested(folder):
    """Records in records: zarr-python has their fields beside the others, and the other arrays, whatever form the references have."""
    path = os.path.join(folder, "nested.h5")
    inner = numpy.dtype([("x", "<f8"), ("y", "<i2")])
    kind = numpy.dtype([("a", "<i4"), ("in", [("p", inner), ("s", "S3")]), ("b", "u1")])
    values = numpy.frombuffer(numpy.random.default_rng(3).bytes(kind.itemsize * 10), kind).copy()
    values["in"]["p"]["x"], values["in"]["s"] = numpy.arange(10) / 4, b"ab"
    with h5py.File(path, "w") as file:
        file["plain"] = values
        file.create_dataset("zipped", data=values, chunks=(4,), compression="gzip")
        part = file.create_dataset("part", (10,), kind, chunks=(5,))
        part[:5] = values[:5]
        file.create_dataset("filled", (3,), kind, chunks=(3,), fillvalue=values[7])
        file["one"], file["numbers"] = values[3], numpy.arange(4)
        wanted = {name: file[name][()] for name in file}
    for name in ["nested.json", "nested.parquet"]:
        out = os.path.join(folder, name)
        assert run(path, out), "no references were written"
        options = {"asynchronous": True, "auto_mkdir": False}
        fs = fsspec.filesystem("reference", fo=out, remote_protocol="file", asynchronous=True, remote_options=options, skip_instance_cache=True)
        root = zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True), mode="r", zarr_format=2)
        assert sorted(root.array_keys()) == sorted(wanted), f"{name}: {sorted(root.array_keys())}"
        for array, values in wanted.items():
            found = root[array][...]
            assert found.shape == values.shape, f"{name}: {array} has another shape"
            if array == "numbers":
                assert numpy.array_equal(found, values), f"{name}: {found}"
                continue
            assert found.dtype.names == ("a", "in.p.x", "in.p.y", "in.s", "b"), f"{name}: {found.dtype}"
            for field in found.dtype.names:
                of = values
                for part in field.split("."):
                    of = of[part]
                assert numpy.array_equal(found[field], of), f"{name}: {field} of {array} has other values: {found[field]}"


if __name__ == "__main__":
    print(json.dumps({"peer": f"fastparquet {version('fastparquet')}"}))
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as folder:
        for case, path in fixtures():
            for old in os.listdir(folder):
                old = os.path.join(folder, old)
                shutil.rmtree(old) if os.path.isdir(old) else os.remove(old)
            check(case.replace("json ", "parquet ", 1), lambda: compare(path, folder))
        check("parquet tables: three, with a hole", lambda: many(folder))
        check("parquet records in records", lambda: nested(folder))
