"""Variables over grids as long tables: the program gives the rows that xarray gives.

    tables_grid_conform.py PROGRAM DIR
"""

import json
import sys
import warnings
from importlib.metadata import version

import h5py
import numpy
import pandas
import pyarrow.feather
import xarray

from checks import check, program_in

warnings.simplefilter("ignore")
PROGRAM, FOLDER = sys.argv[1], sys.argv[2]
run = program_in(PROGRAM, FOLDER)


def weather():
    """A file as netCDF has them: packed values, missing ones, dates, units, coordinates with two dimensions, chunks."""
    rng = numpy.random.default_rng(4)
    shape = (30, 7, 11)
    tas = rng.normal(280, 9, shape).astype("f4")
    tas[3, 2, :4] = numpy.nan
    data = xarray.Dataset(
        {
            "tas": (("time", "lat", "lon"), tas, {"units": "K", "coordinates": "area"}),
            "pr": (("time", "lat", "lon"), numpy.abs(rng.normal(0, 5, shape)).round(1), {"units": "mm"}),
            "kind": (("time", "lat", "lon"), rng.integers(0, 9, shape).astype("i2")),
        },
        coords={
            "time": pandas.date_range("2001-01-01", periods=30, freq="6h"), "lat": numpy.linspace(90, -90, 7),
            "lon": numpy.linspace(0, 330, 11), "area": (("lat", "lon"), rng.uniform(1, 2, (7, 11))),
        },
    )
    packed = {"dtype": "i2", "scale_factor": 0.1, "add_offset": 5.0, "_FillValue": -1, "chunksizes": (4, 3, 5), "zlib": True}
    data.to_netcdf(f"{FOLDER}/weather.nc", engine="h5netcdf", encoding={"pr": packed, "tas": {"chunksizes": (1, 7, 11), "zlib": True}})
    return xarray.open_dataset(f"{FOLDER}/weather.nc", engine="h5netcdf").load()


def found(query):
    """The result of a query as a frame."""
    run("sql", query, "-o", "found.arrow", "--force")
    return pyarrow.feather.read_table(f"{FOLDER}/found.arrow").to_pandas()


def same(frame, expected, names):
    """Both frames have the same values in the same order."""
    assert len(frame) == len(expected), f"{len(frame)} rows, not {len(expected)}"
    for name in names:
        got, wanted = frame[name].to_numpy(), expected[name].to_numpy()
        if wanted.dtype.kind == "M":
            got, wanted = got.astype("M8[ns]"), wanted.astype("M8[ns]")
        if wanted.dtype.kind == "f":
            assert numpy.allclose(got.astype("f8"), wanted.astype("f8"), rtol=1e-6, equal_nan=True), name
        else:
            assert (got == wanted).all(), name


NAMES = ["time", "lat", "lon", "tas", "pr", "kind"]


def one(data):
    """One variable: all points, with the coordinates that belong to one or to several dimensions."""
    frame = found('SELECT * FROM "weather.nc:/tas"')
    assert set(frame.columns) == {"time", "lat", "lon", "area", "tas"}, list(frame.columns)
    same(frame, data[["tas"]].to_dataframe().reset_index(), ["time", "lat", "lon", "area", "tas"])


def several(data):
    """Several variables, by the path of their group and by a list."""
    expected = data[["tas", "pr", "kind"]].to_dataframe().reset_index()
    same(found('SELECT * FROM "weather.nc:/"'), expected, NAMES)
    same(found('SELECT * FROM "weather.nc:/tas,pr"'), expected, NAMES[:-1])


def coordinates(data):
    """Conditions on coordinates."""
    expected = data[["tas", "pr", "kind"]].to_dataframe().reset_index()
    for query, wanted in [
        ("lat > 20 AND lat <= 60", (expected.lat > 20) & (expected.lat <= 60)),
        ("time >= '2001-01-03' AND time < '2001-01-03 12:00'", (expected.time >= "2001-01-03") & (expected.time < "2001-01-03 12:00")),
        ("lon = 33 AND lat = 30", (expected.lon == 33) & (expected.lat == 30)),
        ("lon > 400", expected.lon > 400),
        ("lon < 40 AND lat < 0 AND time > '2001-01-07' AND tas > 280", (expected.lon < 40) & (expected.lat < 0) & (expected.time > "2001-01-07") & (expected.tas > 280)),
        ("area > 1.9 AND lat <> 30", (expected.area > 1.9) & (expected.lat != 30)),
        ("kind = 3 OR lat > 80", (expected.kind == 3) | (expected.lat > 80)),
    ]:
        same(found(f'SELECT * FROM "weather.nc:/" WHERE {query}'), expected[wanted], NAMES)


def groups(data):
    """Means for each coordinate."""
    got = found('SELECT lat, avg(tas) AS m, count(*) AS n FROM "weather.nc:/tas" GROUP BY lat ORDER BY lat')
    wanted = data.tas.astype("f8").mean(("time", "lon")).to_series().sort_index()
    assert numpy.allclose(got["m"], wanted.to_numpy()) and got["lat"].tolist() == wanted.index.tolist() and set(got["n"]) == {330}


def parquet(data):
    """A file of Parquet with a row for each point."""
    run("convert", "weather.nc:/pr", "pr.parquet", "--force")
    same(pandas.read_parquet(f"{FOLDER}/pr.parquet"), data[["pr"]].to_dataframe().reset_index(), ["time", "lat", "lon", "pr"])


def plain():
    """Dimensions without coordinates become places; those without names only where a list asks for it."""
    with h5py.File(f"{FOLDER}/plain.h5", "w") as file:
        file.attrs["Conventions"] = "CF-1.11"
        file["v"] = numpy.arange(24).reshape(2, 3, 4)
        for axis, name in enumerate("abc"):
            file["v"].dims[axis].label = name
        file["none"] = numpy.arange(24).reshape(4, 6)
    frame = found('SELECT a, b, c, v FROM "plain.h5:/v," WHERE b >= 1 AND c <> 2')
    grid = numpy.indices((2, 3, 4)).reshape(3, -1)
    expected = pandas.DataFrame({"a": grid[0], "b": grid[1], "c": grid[2], "v": numpy.arange(24)})
    same(frame, expected[(expected.b >= 1) & (expected.c != 2)], list("abcv"))
    frame = found('SELECT * FROM "plain.h5:/none,"')
    assert frame["none"].tolist() == list(range(24)) and frame["dim_1"].tolist() == list(range(6)) * 4
    assert found('SELECT * FROM "plain.h5:/none"')["none"].map(list).tolist() == numpy.arange(24).reshape(4, 6).tolist()


def refused():
    """Variables over several grids are no table, which is said by name."""
    one = xarray.DataArray(numpy.zeros((2, 3)), dims=("a", "b"), coords={"a": [1, 2]})
    other = xarray.DataArray(numpy.zeros((2, 3, 2)), dims=("a", "b", "c"))
    xarray.Dataset({"one": one, "other": other}).to_netcdf(f"{FOLDER}/two.h5", engine="h5netcdf")
    done = run("sql", 'SELECT * FROM "two.h5:/"', status=2)
    assert "one(" in done.stderr and "other(" in done.stderr, done.stderr
    assert "nothing" in run("sql", 'SELECT * FROM "two.h5:/one,nothing"', status=(2, 3)).stderr


if __name__ == "__main__":
    print(json.dumps({"peer": f"xarray {version('xarray')}"}))
    data = weather()
    for work in [one, several, coordinates, groups, parquet]:
        check(f"grids: {work.__doc__}", lambda: work(data), "we read theirs")
    for work in [plain, refused]:
        check(f"grids: {work.__doc__}", work, "we read theirs")
