"""Icechunk repositories that the program makes, read by Python's Icechunk through zarr and xarray: the values are those of h5py.

    references_icechunk.py PROGRAM ENGINE DIR

ENGINE is the program `sciformats-icechunk`, which PROGRAM finds in PATH.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import h5py
import icechunk
import numpy
import xarray
import zarr

from checks import check

warnings.simplefilter("ignore")
PROGRAM, ENGINE = sys.argv[1], Path(sys.argv[2]).absolute()
PATH = f"{ENGINE.parent}{os.pathsep}{os.environ['PATH']}"


def run(*words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env={**os.environ, "PATH": PATH})
    assert done.returncode == status, f"{words}: {done.returncode}: {done.stdout} {done.stderr}"
    return done.stderr


def opened(folder):
    """The store of the newest version, and the repository. Readers consent to the prefixes that the repository names."""
    storage = icechunk.local_filesystem_storage(str(folder))
    config = icechunk.Repository.fetch_config(storage)
    prefixes = list(config.virtual_chunk_containers)
    consent = {prefix: icechunk.credentials.LocalFileSystemAccess for prefix in prefixes}
    repository = icechunk.Repository.open(storage, authorize_virtual_chunk_access=consent)
    return repository.readonly_session("main").store, repository, prefixes


def equal(found, wanted, name):
    found, wanted = numpy.asarray(found), numpy.asarray(wanted)
    assert found.shape == wanted.shape, f"{name}: {found.shape} instead of {wanted.shape}"
    same = numpy.array_equal(found, wanted, equal_nan=wanted.dtype.kind in "fc")
    assert same, f"{name}: values differ"


RANDOM = numpy.random.default_rng(5)
NUMBERS = (numpy.arange(60, dtype="i4").reshape(6, 10) * 7919) % 10007


def source(path):
    """A file with every kind of dataset that becomes ranges, and some that become bytes."""
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "a file"
        for kind in ["i1", "i2", ">i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", ">f8", "c8", "c16"]:
            file.create_dataset(kind.replace(">", "big-"), data=RANDOM.integers(0, 100, (7, 11)).astype(kind), chunks=(3, 4))
        file["contiguous"] = NUMBERS
        file["scalar"] = numpy.float64(2.5)
        file["booleans"] = NUMBERS % 2 == 0
        file["fixed"] = numpy.array([b"abc", b"", b"defgh"], "S5")
        file.create_dataset("texts", data=["Vega", "", "Deneb é"], dtype=h5py.string_dtype())
        file.create_dataset("gzip", data=NUMBERS, chunks=(2, 4), compression="gzip", shuffle=True)
        file.create_dataset("fletcher32", data=NUMBERS, chunks=(2, 4), compression="gzip", fletcher32=True)
        file.create_dataset("lzf", data=NUMBERS % 3, chunks=(2, 4), compression="lzf")
        file.create_dataset("empty", data=numpy.zeros((0, 3), "f4"))
        part = file.create_dataset("part", shape=(6, 10), chunks=(2, 5), dtype="i4", fillvalue=-7)
        part[:2] = NUMBERS[:2]
        group = file.create_group("group one").create_group("inner")
        group["deep"] = NUMBERS
        group.attrs["units"] = "K"


def values(folder):
    path, out = folder / "run #1.h5", folder / "store"
    source(path)
    run("references", path, "-o", f"icechunk:{out}")
    store, _, prefixes = opened(out)
    assert prefixes == [f"file://{folder}/"], prefixes
    found = zarr.open_group(store, mode="r", zarr_format=3)
    assert found.attrs["title"] == "a file" and found["group one/inner"].attrs["units"] == "K"
    with h5py.File(path) as file:
        names = [name for name in file if isinstance(file[name], h5py.Dataset)] + ["group one/inner/deep"]
        for name in names:
            if name == "texts":
                assert list(found[name][...]) == ["Vega", "", "Deneb é"]
            elif name == "booleans":
                equal(found[name][...], file[name][...], name)
            else:
                equal(found[name][...], file[name][()], name)
        assert len(names) >= 24, names
        assert sum(1 for _ in found.arrays()) == len(names) - 1


def climate(path, start, days=3):
    """A file of netCDF-4 as far as xarray is concerned."""
    with h5py.File(path, "w") as file:
        file["time"] = numpy.arange(start, start + days, dtype="f8")
        file["time"].attrs["units"] = "days since 2026-01-01"
        file["x"] = numpy.arange(5, dtype="f4")
        values = (numpy.arange(days * 5, dtype="f4") + 100 * start).reshape(days, 5)
        values[0, 0] = 9e9
        heat = file.create_dataset("heat", data=values, chunks=(1, 5), compression="gzip")
        heat.attrs["_FillValue"] = numpy.float32(9e9)
        heat.attrs["units"] = "K"
        count = file.create_dataset("count", data=values.astype("i4") % 100, chunks=(1, 5))
        count.attrs["_FillValue"] = numpy.int32(3)
        for axis, name in enumerate(["time", "x"]):
            file[name].make_scale(name)
            heat.dims[axis].attach_scale(file[name])
            count.dims[axis].attach_scale(file[name])


def dataset(folder):
    """xarray sees what it sees in the file itself."""
    path, out = folder / "climate.nc", folder / "store"
    climate(path, 0)
    run("references", path, "-o", f"icechunk:{out}")
    found = xarray.open_zarr(opened(out)[0], consolidated=False, zarr_format=3).load()
    with h5py.File(path) as file:
        wanted = numpy.where(file["heat"][...] == numpy.float32(9e9), numpy.nan, file["heat"][...])
        counts = numpy.where(file["count"][...] == 3, numpy.nan, file["count"][...])
    assert found["heat"].dims == ("time", "x") and found["heat"].attrs["units"] == "K", found
    equal(found["heat"].values, wanted, "heat")
    equal(found["count"].values, counts, "count")
    assert [str(day)[:10] for day in found["time"].values] == ["2026-01-01", "2026-01-02", "2026-01-03"]


def many(folder):
    """Files that are joined along the time."""
    paths = [folder / f"day-{number}.nc" for number in range(4)]
    for number, path in enumerate(paths):
        climate(path, number * 3)
    out = folder / "store"
    run("combine", *paths, "-o", f"icechunk:{out}")
    found = xarray.open_zarr(opened(out)[0], consolidated=False, zarr_format=3, decode_cf=False).load()
    wanted = numpy.concatenate([h5py.File(path)["heat"][...] for path in paths])
    equal(found["heat"].values, wanted, "heat")
    equal(found["time"].values, numpy.arange(12.0), "time")


def changed(folder):
    """A file that changed since is an error, and not other values."""
    path, out = folder / "a.h5", folder / "store"
    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=NUMBERS, chunks=(2, 4))
    run("references", path, "-o", f"icechunk:{out}")
    found = zarr.open_group(opened(out)[0], mode="r", zarr_format=3)["data"]
    equal(found[...], NUMBERS, "data")
    later = os.stat(path).st_mtime + 10
    os.utime(path, (later, later))
    found = zarr.open_group(opened(out)[0], mode="r", zarr_format=3)["data"]
    try:
        found[...]
    except Exception as error:
        assert "has changed" in str(error), error
    else:
        raise AssertionError("a file that changed was read")


def replaced(folder):
    """An existing repository is kept, or replaced as a whole; other folders are never removed."""
    path, out = folder / "a.h5", folder / "store"
    with h5py.File(path, "w") as file:
        file["data"] = NUMBERS
    run("references", path, "-o", f"icechunk:{out}")
    run("references", path, "-o", f"icechunk:{out}", status=2)
    run("references", path, "-o", f"icechunk:{out}", "--force")
    store, repository, _ = opened(out)
    equal(zarr.open_group(store, mode="r", zarr_format=3)["data"][...], NUMBERS, "data")
    assert len(list(repository.ancestry(branch="main"))) == 2, "one commit after the first"
    other = folder / "other"
    other.mkdir()
    (other / "keep").write_text("this")
    run("references", path, "-o", f"icechunk:{other}", "--force", status=4)
    assert (other / "keep").read_text() == "this"
    # Nothing is left beside them.
    assert sorted(entry.name for entry in folder.iterdir()) == ["a.h5", "other", "store"]


def chunks(folder):
    """Many chunks of several dimensions, in an order that differs from that of their index."""
    path, out = folder / "many.h5", folder / "store"
    cube = RANDOM.integers(0, 1000, (40, 30, 20)).astype("i2")
    with h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("cube", shape=cube.shape, maxshape=(40, None, 20), chunks=(2, 3, 4), dtype="i2", compression="gzip")
        for row in reversed(range(0, 40, 2)):
            data[row : row + 2] = cube[row : row + 2]
    run("references", path, "-o", f"icechunk:{out}")
    found = zarr.open_group(opened(out)[0], mode="r", zarr_format=3)["cube"]
    equal(found[...], cube, "cube")
    equal(found[3:17, 5:6, ::3], cube[3:17, 5:6, ::3], "part")


if __name__ == "__main__":
    os.makedirs(sys.argv[3], exist_ok=True)
    for case, work in {
        "values of every kind": values,
        "xarray": dataset,
        "several files": many,
        "a file that changed": changed,
        "existing outputs": replaced,
        "many chunks": chunks,
    }.items():
        place = Path(tempfile.mkdtemp(dir=sys.argv[3])).resolve()
        check(f"icechunk: {case}", lambda: work(place))
        shutil.rmtree(place)
