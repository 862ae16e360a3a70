"""`sciformats.xarray.write`: netCDF4 reads what was written, and so does this package."""

from __future__ import annotations

import pathlib

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from sciformats.xarray import write


@pytest.fixture
def weather() -> xr.Dataset:
    rng = np.random.default_rng(3)
    data = xr.Dataset(
        {
            "t": (("time", "lat", "lon"), rng.normal(280, 5, (10, 4, 6)).astype("f4"), {"units": "K"}),
            "count": (("time",), np.arange(10, dtype="i8")),
            "station": (("lat",), np.array(["a", "b\u00e9", "c", ""], dtype=object)),
            "flag": (("lon",), np.array([True, False] * 3)),
            "bare": (("row", "lon"), np.ones((2, 6))),
            "scalar": ((), 4.5),
        },
        coords={"time": pd.date_range("2026-01-01", periods=10, freq="6h"), "lat": [10.0, 20, 30, 40], "lon": np.arange(6)},
        attrs={"title": "weather", "numbers": [1, 2]},
    )
    data["t"].encoding.update(zlib=True, complevel=3, shuffle=True, chunksizes=(5, 2, 6), _FillValue=np.float32(-1))
    data["t"][0, 0, 0] = np.nan
    return data


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf", "sciformats"])
def test_other_engines_read_what_is_written(weather: xr.Dataset, tmp_path: pathlib.Path, engine: str) -> None:
    path = tmp_path / "weather.nc"
    write(weather, path, unlimited_dims=("time",))
    with xr.open_dataset(path, engine=engine) as found:
        xr.testing.assert_equal(found.load(), weather)
        assert found.attrs["title"] == "weather" and found["t"].attrs["units"] == "K"
        assert found["t"].encoding["chunksizes"] == (5, 2, 6) and found["t"].encoding["zlib"]
        assert found.encoding["unlimited_dims"] == {"time"}


def test_arrays_of_dask_are_written_block_by_block(weather: xr.Dataset, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "blocks.nc"
    write(weather.chunk(time=3, lat=2), path)
    with xr.open_dataset(path, engine="netcdf4") as found:
        xr.testing.assert_equal(found.load(), weather)


def test_trees(weather: xr.Dataset, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "tree.nc"
    tree = xr.DataTree.from_dict({"/": weather[["count"]], "/inner/deep": weather[["scalar"]]})
    write(tree, path)
    with xr.open_datatree(path, engine="netcdf4") as found:
        xr.testing.assert_equal(found.load(), tree)
