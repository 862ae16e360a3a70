"""Many files as one beside xarray: `combine` makes references that read as the arrays of the files, one after another.

    references_combine_conform.py PROGRAM DIR
"""

import os
import subprocess
import sys
import tempfile
import warnings

import fsspec
import h5py
import numpy
import xarray

from checks import check

warnings.simplefilter("ignore")
PROGRAM = sys.argv[1]


def day(path, start, rows, chunk=6, units="K", hours=0, **filters):
    """A file of h5py with scales, and its temperatures."""
    heat = (numpy.arange(rows * 20, dtype="<f4").reshape(rows, 4, 5) + start * 100) / 7
    with h5py.File(path, "w") as file:
        times = numpy.arange(start - hours, start - hours + rows, dtype="<i4")
        file["time"], file["lat"], file["lon"] = times, numpy.arange(4.0), numpy.arange(5.0)
        file["time"].attrs["units"] = f"hours since 2026-01-01 {hours:02}:00"
        array = file.create_dataset("heat", data=heat, chunks=(chunk, 2, 5) if chunk else None, maxshape=(None, 4, 5) if chunk else None, **filters)
        array.attrs["units"] = units
        for axis, name in enumerate(["time", "lat", "lon"]):
            file[name].make_scale(name)
            array.dims[axis].attach_scale(file[name])
    return heat


def combined(folder, days, out, status=0):
    """What xarray reads of references to files that are made of `days`, and the values of the files."""
    wanted, paths = [], []
    for number, keywords in enumerate(days):
        paths.append(os.path.join(folder, f"{number}.nc"))
        wanted.append(day(paths[-1], **keywords))
    out = os.path.join(folder, out)
    done = subprocess.run([PROGRAM, "combine", *paths, "-o", out, "--force", "--inline", "4K"], capture_output=True, text=True)
    assert done.returncode == status, f"{done.returncode}: {done.stderr}"
    if status == 2:
        return None, done.stderr
    return xarray.open_dataset(out, engine="kerchunk", decode_times=False), (numpy.concatenate(wanted), done.stderr)


def same(folder, days, out):
    """All values, the coordinates, and a part in the middle."""
    found, (wanted, _) = combined(folder, days, out)
    assert numpy.array_equal(found["heat"].values, wanted), "values differ"
    assert numpy.array_equal(found["time"].values, numpy.arange(len(wanted))), "the times differ"
    assert found["heat"].dims == ("time", "lat", "lon") and found["heat"].attrs["units"] == "K", found["heat"]
    assert numpy.array_equal(found["heat"][3:-2, 1].values, wanted[3:-2, 1]), "a part differs"


def refused(folder, days, why):
    """An array that does not fit is told, and the others are there."""
    found, (_, said) = combined(folder, days, "all.json", status=1)
    assert "heat" not in found and "time" in found, found
    assert f"/heat: refused, because {why}" in said and "1.nc" in said, said


def same_in_part(folder, days, word):
    """An array that is stored in different ways is as it should be, and the report says how."""
    found, (wanted, said) = combined(folder, days, "all.json")
    assert numpy.array_equal(found["heat"].values, wanted), "values differ"
    assert f"/heat: {word}" in said, said


def backwards(folder):
    """Files in the wrong order."""
    _, said = combined(folder, [{"start": 6, "rows": 6}, {"start": 0, "rows": 6}], "order.json", status=2)
    assert "not in order" in said and not os.path.exists(os.path.join(folder, "order.json")), said


def run(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: {done.returncode}: {done.stderr}"


def added(folder, days, out):
    """Files that are added one by one give what all files give."""
    found, (wanted, _) = combined(folder, days, f"whole-{out}")
    paths = [os.path.join(folder, f"{number}.nc") for number in range(len(days))]
    out = os.path.join(folder, out)
    run("combine", paths[0], "-o", out)
    for path in paths[1:]:
        run("combine", path, "-o", out, "--add")
    grown = xarray.open_dataset(out, engine="kerchunk", decode_times=False)
    assert grown.identical(found), f"{grown} is not {found}"
    assert numpy.array_equal(grown["heat"].values, wanted), "values differ"


def lost(folder):
    """An addition that no chunks of Zarr can express changes nothing."""
    paths = [os.path.join(folder, f"{number}.nc") for number in range(2)]
    day(paths[0], 0, 5, compression="gzip")
    day(paths[1], 5, 6, compression="gzip")
    out = os.path.join(folder, "all.json")
    run("combine", paths[0], "-o", out)
    before = open(out).read()
    done = subprocess.run([PROGRAM, "combine", paths[1], "-o", out, "--add", "--inline", "64"], capture_output=True, text=True)
    assert done.returncode == 2 and "/heat would be lost" in done.stderr and "5 of 6 rows" in done.stderr, done.stderr
    assert open(out).read() == before, "the references changed"


def dated(folder):
    """Files without time get it from their names, at once and when they are added; xarray decodes the dates."""
    paths, wanted = [], []
    for date in ["20260130", "20260131", "20260201", "20260203"]:
        paths.append(os.path.join(folder, f"heat_{date}.h5"))
        wanted.append(numpy.arange(20, dtype="<f4").reshape(4, 5) + int(date))
        with h5py.File(paths[-1], "w") as file:
            file["lat"], file["lon"] = numpy.arange(4.0), numpy.arange(5.0)
            heat = file.create_dataset("heat", data=wanted[-1], compression="gzip", chunks=(3, 5))
            for axis, name in enumerate(["lat", "lon"]):
                file[name].make_scale(name)
                heat.dims[axis].attach_scale(file[name])
    once, grown = os.path.join(folder, "once.json"), os.path.join(folder, "grown.json")
    pattern = ["--from-name", "heat_%Y%m%d.h5"]
    run("combine", *paths, "-o", once, *pattern)
    run("combine", *paths[:2], "-o", grown, *pattern)
    run("combine", *paths[2:], "-o", grown, *pattern, "--add")
    dates = numpy.array(["2026-01-30", "2026-01-31", "2026-02-01", "2026-02-03"], "datetime64[ns]")
    for out in (once, grown):
        found = xarray.open_dataset(out, engine="kerchunk")
        assert found["heat"].dims == ("time", "lat", "lon"), found
        assert numpy.array_equal(found["heat"].values, wanted), "values differ"
        assert numpy.array_equal(found["time"].values.astype("datetime64[ns]"), dates), found["time"]
        assert numpy.array_equal(numpy.squeeze(found["heat"].sel(time="2026-02-01").values), wanted[2]), "a day differs"


def split(folder):
    """Files of two units become two groups."""
    days = [{"start": 0, "rows": 12}, {"start": 12, "rows": 6}, {"start": 18, "rows": 6, "units": "degC"}]
    paths, wanted = [], []
    for number, keywords in enumerate(days):
        paths.append(os.path.join(folder, f"{number}.nc"))
        wanted.append(day(paths[-1], **keywords))
    out = os.path.join(folder, "all.json")
    run("combine", *paths, "-o", out, "--split")
    for group, unit, values in [("run1", "K", numpy.concatenate(wanted[:2])), ("run2", "degC", wanted[2])]:
        # kerchunk's engine knows no groups.
        store = fsspec.filesystem("reference", fo=out).get_mapper(group)
        found = xarray.open_zarr(store, zarr_format=2, consolidated=False, decode_times=False)
        assert found["heat"].attrs["units"] == unit and numpy.array_equal(found["heat"].values, values), found


def virtual(folder, days, status=0):
    """The HDF5 library reads the file that shows the others, at once and when files are added."""
    wanted, paths = [], []
    for number, keywords in enumerate(days):
        paths.append(os.path.join(folder, f"{number}.nc"))
        wanted.append(day(paths[-1], **keywords))
    wanted = numpy.concatenate(wanted)
    once, grown = os.path.join(folder, "once.h5"), os.path.join(folder, "grown.h5")
    run("combine", *paths, "-o", once)
    run("combine", paths[0], "-o", grown)
    for path in paths[1:]:
        run("combine", path, "-o", grown, "--add")
    for out in (once, grown):
        with h5py.File(out) as file:
            heat, time = file["heat"], file["time"]
            assert heat.is_virtual and heat.shape == wanted.shape, f"{heat} in {out}"
            assert numpy.array_equal(heat[...], wanted), f"values differ in {out}"
            assert numpy.array_equal(heat[3:-2, 1], wanted[3:-2, 1]), f"a part differs in {out}"
            assert numpy.array_equal(time[...], numpy.arange(len(wanted))), f"the times differ in {out}"
            assert heat.dims[0][0] == time and heat.attrs["units"] == "K", f"the scales differ in {out}"
            assert {source.file_name for source in heat.virtual_sources()} == {os.path.basename(path) for path in paths}


if __name__ == "__main__":
    whole = [{"start": 0, "rows": 12}, {"start": 12, "rows": 6}, {"start": 18, "rows": 5}]
    zipped = [{**one, "compression": "gzip", "shuffle": True, "fletcher32": True} for one in whole]
    plain = [{**one, "chunk": None} for one in [{"start": 0, "rows": 90}, {"start": 90, "rows": 60}, {"start": 150, "rows": 45}]]
    odd = [{"start": 0, "rows": 5, "compression": "gzip"}, {"start": 5, "rows": 7, "compression": "gzip"}]
    cases = {
        "chunks": lambda folder: same(folder, whole, "all.json"),
        "chunks as Parquet": lambda folder: same(folder, whole, "all.parquet"),
        "filters": lambda folder: same(folder, zipped, "all.json"),
        "contiguous, of other lengths": lambda folder: same(folder, plain, "all.json"),
        "chunks that do not fill the files, inlined": lambda folder: same(folder, odd, "all.json"),
        "another unit": lambda folder: refused(folder, [whole[0], {**whole[1], "units": "degC"}], "the unit differs"),
        "another filter": lambda folder: refused(folder, [{"start": 0, "rows": 60}, {**zipped[1], "start": 60}], "a filter differs"),
        "another filter, inlined": lambda folder: same_in_part(folder, [whole[0], zipped[1]], "inlined"),
        "the wrong order": backwards,
        "time from other hours": lambda folder: same(folder, [whole[0], {**whole[1], "hours": 12}, {**whole[2], "hours": 18}], "all.json"),
        "files that come later": lambda folder: added(folder, whole, "all.json"),
        "later files with filters": lambda folder: added(folder, zipped, "all.json"),
        "later files, contiguous": lambda folder: added(folder, plain, "all.json"),
        "later files after a chunk that is not full": lambda folder: added(folder, odd, "all.json"),
        "later files that do not fit": lost,
        "time from names": dated,
        "files that are split": split,
        "virtual datasets": lambda folder: virtual(folder, whole),
        "virtual datasets of unlike chunks": lambda folder: virtual(folder, [whole[0], zipped[1], {**whole[2], "chunk": None}]),
        "virtual datasets, time from other hours": lambda folder: virtual(folder, [whole[0], {**whole[1], "hours": 12}, whole[2]]),
    }
    for case, work in cases.items():
        with tempfile.TemporaryDirectory(dir=sys.argv[2]) as folder:
            check(f"combined: {case}", lambda: work(folder))
