"""`sciformats.xarray.write`: netCDF4 reads what was written, and so does this package."""

from __future__ import annotations

import pathlib
from typing import Any

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


def test_what_is_missing_in_objects(tmp_path: pathlib.Path) -> None:
    data = xr.Dataset({"text": ("x", np.array(["a", np.nan, "c"], object)), "number": ("x", np.array([1.5, None, 2], object))})
    path = tmp_path / "objects.nc"
    for each in (data.assign(number=("x", np.array([1.5, None, 2.5], object))), data[["text"]].chunk(x=2)):
        write(each, path)
        with xr.open_dataset(path, engine="netcdf4") as found:
            assert list(found["text"].values) == ["a", "", "c"]
            if "number" in each:
                np.testing.assert_array_equal(found["number"], [1.5, np.nan, 2.5])
    with pytest.raises(ValueError, match="mixed"):
        write(data, path)
    with pytest.raises(TypeError, match="astype"):
        write(data[["number"]].chunk(x=3), path)


@pytest.mark.parametrize(("compression", "number"), [("zlib", 1), ("zstd", 32015), ("bzip2", 307)])
def test_compression(weather: xr.Dataset, tmp_path: pathlib.Path, compression: str, number: int) -> None:
    import h5py

    path = tmp_path / "packed.nc"
    write(weather, path, encoding={"t": {"compression": compression, "complevel": 2}, "bare": {"endian": "big", compression: True}})
    with h5py.File(path) as file:
        for name in ("t", "bare"):
            assert str(number) in file[name]._filters or {1: "gzip"}.get(number) in file[name]._filters
        assert file["bare"].dtype == ">f8"
    with xr.open_dataset(path, engine="sciformats") as found:
        xr.testing.assert_equal(found.load(), weather)


@pytest.mark.parametrize(
    "options",
    [
        {"encoding": {"t": {"compression": "zip"}}},
        {"encoding": {"t": {"compression": "blosc_lz4"}}},
        {"encoding": {"t": {"zilb": True}}},
        {"encoding": {"t": {"least_significant_digit": 2}}},
        {"encoding": {"t": {"chunksizes": (5, 2)}}},
        {"encoding": {"t": {"chunksizes": (11, 2, 6)}}},
        {"encoding": {"t": {"chunksizes": (-1, 2, 6)}}},
        {"encoding": {"t": {"preferred_chunks": {"time": 5}}}},
        {"encoding": {"t": {"endian": "middle"}}},
        {"encoding": {"nothing": {"zlib": True}}},
        {"unlimited_dims": ("nothing",)},
        {"unlimited_dims": "nothing"},
    ],
)
def test_what_cannot_be_done_is_an_error(weather: xr.Dataset, tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"nothing|'t'"):
        write(weather, tmp_path / "not.nc", **options)


def test_fill_values_of_texts(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "texts.nc"
    data = xr.Dataset({"v": ("x", np.array(["a", "b"]), {"names": np.array(["c", "d"])})})
    write(data, path, encoding={"v": {"_FillValue": np.str_("a")}})
    with xr.open_dataset(path, engine="netcdf4") as found:
        assert list(found["v"].isnull()) == [True, False] and found["v"].attrs["names"] == ["c", "d"]


def test_coordinates_remain_coordinates(tmp_path: pathlib.Path) -> None:
    path, again = tmp_path / "coordinates.nc", tmp_path / "again.nc"
    across = ("y", "x"), np.arange(6.0).reshape(2, 3)
    data = xr.Dataset({"v": across, "bare": ("x", np.arange(3))}, {"lon": across, "height": 2.0, "apart": ("z", [1, 2])}, {"title": "t"})
    write(data, path)
    for engine in ("netcdf4", "sciformats"):
        with xr.open_dataset(path, engine=engine) as found:
            xr.testing.assert_identical(found.load(), data)
            # They come with the encodings of the variables.
            write(found, again)
        with xr.open_dataset(again, engine=engine) as found:
            xr.testing.assert_identical(found.load(), data)
    tree = xr.DataTree.from_dict({"/": data, "/below": data[["v"]].rename(lon="lat")})
    write(tree, path)
    with xr.open_datatree(path, engine="netcdf4") as found:
        xr.testing.assert_identical(found.load(), tree)
    write(data, path, encoding={"v": {"coordinates": "height"}, "bare": {"coordinates": None}})
    with xr.open_dataset(path, engine="netcdf4", decode_coords=False) as found:
        assert found["v"].attrs["coordinates"] == "height" and "coordinates" not in found["bare"].attrs


@pytest.mark.parametrize("chunked", [False, True])
def test_bytes_are_characters(tmp_path: pathlib.Path, chunked: bool) -> None:
    """What netCDF has for bytes are characters along a dimension, so that every engine reads them as bytes again."""
    path = tmp_path / "bytes.nc"
    data = xr.Dataset({"v": ("t", np.array([b"abc", b"\xff", b""], "S3"))})
    write(data.chunk(t=2) if chunked else data, path, encoding={"v": {"chunksizes": (2,), "zlib": True}})
    for engine in ["netcdf4", "h5netcdf", "sciformats"]:
        with xr.open_dataset(path, engine=engine) as found:
            assert found["v"].values.tolist() == [b"abc", b"\xff", b""], engine


def stored(path: pathlib.Path, name: str = "v") -> tuple[Any, Any, bool, bool]:
    """Return how a variable is stored: chunks, level of deflate, shuffle and fletcher32."""
    import h5py

    with h5py.File(path) as file:
        made = file[name]
        return made.chunks, made.compression_opts, made.shuffle, made.fletcher32


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf", "sciformats"])
def test_what_is_asked_wins_over_what_comes_with_a_variable(tmp_path: pathlib.Path, engine: Any) -> None:
    import h5py

    source, path = tmp_path / "source.nc", tmp_path / "v.nc"
    data = xr.Dataset({"v": (("x", "y"), np.arange(200.0).reshape(10, 20))})

    def written(encoding: dict[str, Any], **options: Any) -> tuple[Any, Any, bool, bool]:
        with xr.open_dataset(source, engine=engine) as found:
            write(found, path, encoding={"v": encoding}, **options)
            with xr.open_dataset(path, engine="netcdf4", mask_and_scale=False) as again:
                np.testing.assert_array_equal(again["v"], data["v"])
        return stored(path)

    write(data, source)
    assert stored(source)[0] is None
    assert written({"chunksizes": (5, 4)}) == ((5, 4), None, False, False)
    assert written({"chunksizes": (0, 4)}) == ((10, 4), None, False, False)
    assert written({"chunksizes": (512, 4)}, unlimited_dims=("x",)) == ((512, 4), None, False, False)
    assert written({"shuffle": True, "chunksizes": (5, 4)}) == ((5, 4), None, True, False)
    assert written({"fletcher32": True})[3]
    # Without a level of its own, compression has the usual one, and not the 0 of the file without compression.
    assert written({"zlib": True})[1:] == (4, True, False)
    assert written({"zlib": True, "complevel": 0})[1] is None
    assert written({"zlib": True, "shuffle": False, "complevel": 2})[1:] == (2, False, False)
    write(data, source, encoding={"v": {"zlib": True, "complevel": 7, "chunksizes": (5, 5), "fletcher32": True}})
    assert written({}) == ((5, 5), 7, True, True)
    assert written({"contiguous": True}) == (None, None, False, False)
    assert written({"contiguous": True, "zlib": False, "fletcher32": False}) == (None, None, False, False)
    assert written({"zlib": False}) == ((5, 5), None, False, True)
    assert written({"zlib": True}) == ((5, 5), 7, True, True)
    assert written({"complevel": 2}) == ((5, 5), 2, True, True)
    assert written({"shuffle": False, "fletcher32": False}) == ((5, 5), 7, False, False)
    # The level of another compression is not that of zstd.
    written({"compression": "zstd", "szip": False})
    with h5py.File(path) as file:
        assert file["v"]._filters["32015"] == (4,)


def test_marks_and_types_that_are_asked(tmp_path: pathlib.Path) -> None:
    import h5py

    data = xr.Dataset({"v": ("x", np.array([1.0, np.nan]))})
    data["v"].encoding.update(missing_value=-9.0, endian="little")
    write(data, tmp_path / "v.nc", encoding={"v": {"_FillValue": -5.0, "dtype": ">f4"}})
    with h5py.File(tmp_path / "v.nc") as file:
        assert file["v"].dtype == ">f4" and file["v"][...].tolist() == [1, -5] and "missing_value" not in file["v"].attrs
    write(data, tmp_path / "v.nc", encoding={"v": {"_FillValue": None}})
    with h5py.File(tmp_path / "v.nc") as file:
        assert "_FillValue" not in file["v"].attrs
    # A mark that comes with a variable must not be another number in the type that is asked: 255 may be one of the elements.
    data = xr.Dataset({"v": ("x", np.array([1.0, 127.0]))})
    for mark, dtype in ((np.int16(-1), "u1"), (np.nan, "i4")):
        data["v"].encoding.update(_FillValue=mark, scale_factor=0.5)
        with pytest.raises(ValueError, match="_FillValue .* of 'v' is no"):
            write(data, tmp_path / "v.nc", encoding={"v": {"dtype": dtype}})
        write(data, tmp_path / "v.nc", encoding={"v": {"dtype": dtype, "scale_factor": None, "_FillValue": 2}})
        with xr.open_dataset(tmp_path / "v.nc", engine="netcdf4", mask_and_scale=False) as found:
            assert found["v"].dtype == dtype and found["v"].values.tolist() == [1, 127]
    data["v"].encoding["_FillValue"] = -0.1
    write(data, tmp_path / "v.nc", encoding={"v": {"dtype": "f4", "scale_factor": None}})
    with h5py.File(tmp_path / "v.nc") as file:
        assert file["v"].attrs["_FillValue"] == np.float32(-0.1)


@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        ({"contiguous": True, "chunksizes": (5, 2, 6)}, {}),
        ({"contiguous": True, "zlib": True}, {}),
        ({"contiguous": True, "compression": "zstd"}, {}),
        ({"contiguous": True, "fletcher32": True}, {}),
        ({"contiguous": True}, {"unlimited_dims": ("time",)}),
        ({"complevel": 3}, {}),
    ],
)
def test_encodings_that_exclude_each_other(
    weather: xr.Dataset, tmp_path: pathlib.Path, encoding: dict[str, Any], options: dict[str, Any]
) -> None:
    path = tmp_path / "kept.nc"
    path.write_bytes(b"what was there")
    weather["t"].encoding.clear()
    with pytest.raises(ValueError, match="'t'"):
        write(weather, path, encoding={"t": encoding}, **options)
    with pytest.raises(ValueError, match="slash"):
        write(weather.rename(t="a/b"), path)
    assert path.read_bytes() == b"what was there"


def test_truth_values_and_bytes_in_objects(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "v.nc"
    data = xr.Dataset({"v": ("t", np.array([b"abc", b"\xff"], object))}, attrs={"flags": [True, False], "flag": True})
    write(data, path)
    for engine in ["netcdf4", "h5netcdf", "sciformats"]:
        with xr.open_dataset(path, engine=engine) as found:
            assert found["v"].values.tolist() == [b"abc", b"\xff"], engine
            assert found.attrs["flags"].tolist() == [1, 0] and found.attrs["flag"] == 1


def test_a_write_that_fails_leaves_what_was_there(weather: xr.Dataset, tmp_path: pathlib.Path) -> None:
    import dask.array

    from sciformats import h5

    def fail(block: np.ndarray, block_info: Any = None) -> np.ndarray:
        if block_info[0]["chunk-location"] == (2,):
            raise RuntimeError("no more")
        return block

    whole = weather.assign(late=("far", dask.array.zeros(6, chunks=2).map_blocks(fail, dtype="f8", meta=np.zeros(0))))
    path = tmp_path / "weather.nc"
    with pytest.raises(RuntimeError, match="no more"):
        write(whole, path)
    assert not list(tmp_path.iterdir())
    path.write_bytes(b"what was there")
    path.chmod(0o640)
    link = tmp_path / "link.nc"
    link.symlink_to("weather.nc")
    (tmp_path / ".weather.nc.0.partial").mkdir()
    (tmp_path / ".weather.nc.0.partial" / "lock").touch()
    for failing in (whole, weather.assign(late=("far", np.array([object()])))):
        with pytest.raises((RuntimeError, TypeError, ValueError)):
            write(failing, link)
        assert path.read_bytes() == b"what was there"
    # What a killed process has left is gone, and the link and the permissions stay.
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.nc", "weather.nc"]
    write(weather, link)
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o640
    with xr.open_dataset(path, engine="netcdf4") as found:
        xr.testing.assert_equal(found.load(), weather)
    with h5.File(path), pytest.raises(OSError, match="already open"):
        write(weather, path)
    with pytest.raises(OSError, match="only a file"):
        write(weather, tmp_path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.nc", "weather.nc"]
