"""The engine of xarray is compared with netCDF4, also under Dask."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import numpy as np
import pytest
import xarray as xr

from sciformats.xarray import SciformatsBackendEntrypoint


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = str(tmp_path_factory.mktemp("nc") / "weather.nc")
    random = np.random.default_rng(5)
    temperature = random.normal(280, 8, (48, 10, 12))
    temperature[3, 4, 5] = np.nan
    data = xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), temperature, {"units": "K", "long_name": "temperature"}),
            "station": (("lat",), np.array([f"s{i}" for i in range(10)], object)),
            "code": (("lat",), np.array([b"ab", b"cd"] * 5)),
            "count": ((), np.int32(7)),
            "step": (("time",), np.arange(48).astype("timedelta64[h]").astype("timedelta64[ns]")),
            "plain": (("only",), np.arange(5)),
        },
        {"time": np.datetime64("2026-01-01", "ns") + np.arange(48) * np.timedelta64(1, "h"), "lat": np.linspace(-45, 45, 10), "lon": np.arange(12.0)},
        {"title": "a week", "numbers": np.arange(3), "Conventions": "CF-1.8"},
    )
    encoding = {"t2m": {"dtype": "i2", "scale_factor": 0.01, "add_offset": 280.0, "_FillValue": -9999, "zlib": True, "complevel": 4, "chunksizes": (12, 5, 12)}}
    data.to_netcdf(where, engine="netcdf4", encoding=encoding, unlimited_dims=["time"])
    inner = xr.Dataset({"u": (("time", "z"), random.normal(size=(48, 3)))})
    inner.to_netcdf(where, mode="a", group="model/run", engine="netcdf4")
    return where


def test_a_dataset_is_what_netcdf4_says(path: str) -> None:
    with xr.open_dataset(path, engine="sciformats") as ours, xr.open_dataset(path, engine="netcdf4") as theirs:
        xr.testing.assert_identical(ours.load(), theirs.load())
        assert set(ours.variables) == set(theirs.variables)
        for name in theirs.variables:
            assert ours[name].dtype == theirs[name].dtype, name
        found, expected = ours["t2m"].encoding, theirs["t2m"].encoding
        for word in ["chunksizes", "preferred_chunks", "original_shape", "zlib", "complevel", "scale_factor", "_FillValue", "dtype", "source", "shuffle", "fletcher32", "contiguous"]:
            assert found[word] == expected[word], word
        assert ours.encoding["unlimited_dims"] == theirs.encoding["unlimited_dims"]


def test_without_decoding_too(path: str) -> None:
    options = {"mask_and_scale": False, "decode_times": False, "decode_coords": False}
    with xr.open_dataset(path, engine="sciformats", **options) as ours:
        with xr.open_dataset(path, engine="netcdf4", **options) as theirs:
            xr.testing.assert_identical(ours.load(), theirs.load())
    with xr.open_dataset(path, engine="sciformats", drop_variables=["t2m"]) as ours:
        assert "t2m" not in ours


def test_groups_and_trees(path: str) -> None:
    with xr.open_dataset(path, engine="sciformats", group="model/run") as ours:
        with xr.open_dataset(path, engine="netcdf4", group="model/run") as theirs:
            assert set(ours.variables) == set(theirs.variables)
            np.testing.assert_array_equal(ours["u"].values, theirs["u"].values)
    ours_tree = xr.open_datatree(path, engine="sciformats")
    theirs_tree = xr.open_datatree(path, engine="netcdf4")
    assert list(ours_tree.groups) == list(theirs_tree.groups) == ["/", "/model", "/model/run"]
    np.testing.assert_array_equal(ours_tree["model/run/u"].values, theirs_tree["model/run/u"].values)


KEYS = [
    {"time": 3}, {"time": slice(40, 2, -3)}, {"lat": [3, 1, 1], "lon": [0, 11]}, {"time": [5], "lat": slice(None, None, -1)},
    {"lat": xr.DataArray([1, 2, 9], dims="p"), "lon": xr.DataArray([0, 5, 3], dims="p")}, {"time": slice(0, 0)},
    {"time": -1, "lat": -1, "lon": -1}, {"lon": np.arange(12) % 2 == 0},
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=lambda key: repr(key)[:40].replace("\n", ""))
def test_lazy_indexing_of_every_kind(path: str, key: Any) -> None:
    with xr.open_dataset(path, engine="sciformats") as ours, xr.open_dataset(path, engine="netcdf4") as theirs:
        xr.testing.assert_identical(ours["t2m"].isel(key).load(), theirs["t2m"].isel(key).load())


def test_opening_reads_no_elements(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sciformats.xarray import SciformatsArray

    read: list[tuple[int, ...]] = []
    before = SciformatsArray._read
    monkeypatch.setattr(SciformatsArray, "_read", lambda self, key: (read.append(self.shape), before(self, key))[1])
    data = xr.open_dataset(path, engine="sciformats")
    assert (48, 10, 12) not in read, "only coordinates that become indexes are read"
    data["t2m"][0].load()
    assert (48, 10, 12) in read


def test_chunks_threads_and_pickles(path: str) -> None:
    import dask

    data = xr.open_dataset(path, engine="sciformats", chunks={})
    assert data["t2m"].chunks == ((12,) * 4, (5, 5), (12,))
    with xr.open_dataset(path, engine="netcdf4") as theirs:
        expected = theirs["t2m"].mean("time").load()
    with dask.config.set(scheduler="threads", num_workers=4):
        xr.testing.assert_allclose(data["t2m"].mean("time").compute(), expected)
    again = pickle.loads(pickle.dumps(data))
    xr.testing.assert_allclose(again["t2m"].mean("time").compute(), expected)
    lazy = pickle.loads(pickle.dumps(xr.open_dataset(path, engine="sciformats")))
    xr.testing.assert_allclose(lazy["t2m"].mean("time"), expected)


def test_blocks_have_several_chunks(tmp_path: pathlib.Path) -> None:
    import warnings

    path = tmp_path / "blocks.nc"
    chunks = {"t": (2, 32, 32), "small": (2, 64), "times": (2,), "other": (5,), "crossed": (3, 5), "few": (2, 64)}
    data = xr.Dataset(
        {
            "t": (("time", "y", "x"), np.arange(64**3, dtype="f4").reshape(64, 64, 64)),
            "small": (("time", "y"), np.ones((64, 64))),
            "times": (("time",), np.arange(64)),
            "other": (("z",), np.arange(160)),
            "crossed": (("w", "z"), np.ones((96, 160))),
            "few": (("w", "x"), np.ones((96, 64))),
        }
    )
    data.to_netcdf(path, engine="netcdf4", encoding={name: {"chunksizes": sides} for name, sides in chunks.items()})
    with xr.open_dataset(path, engine="netcdf4", chunks={}) as theirs, warnings.catch_warnings():
        warnings.simplefilter("error")
        with xr.open_dataset(path, engine="sciformats", chunks={}) as ours:
            xr.testing.assert_identical(ours.load(), theirs.load())
        with xr.open_dataset(path, engine="sciformats", chunks={}) as ours:
            for name in chunks:
                assert ours[name].encoding["preferred_chunks"] == theirs[name].encoding["preferred_chunks"]
            again = pickle.loads(pickle.dumps(ours["t"].encoding["preferred_chunks"]))
            assert again == {"time": 2, "y": 32, "x": 32} and again.get("time", 64) == 16 and again.get("time") == 2
            # What shares a side along a dimension has the same blocks; the second dimension is never joined, also not by others.
            assert ours["t"].chunks == ((16,) * 4, (32, 32), (32, 32))
            assert ours["small"].chunks == ((16,) * 4, (64,)) and ours["times"].chunks == ((16,) * 4,)
            assert ours["other"].chunks == ((5,) * 32,) and ours["crossed"].chunks == ((24,) * 4, (5,) * 32)
            assert ours["few"].chunks == ((6,) * 16, (64,))
        for named in ({"time": 2}, {"time": 10, "y": -1}, {"w": 12, "z": 20}):
            with xr.open_dataset(path, engine="sciformats", chunks=named) as ours:
                assert ours["t"].chunks[0][0] == named.get("time", 16)


def test_tokens_are_stable(path: str) -> None:
    import dask.base

    from sciformats import h5, open

    with dask.config.set({"tokenize.ensure-deterministic": True}):
        tokens = [dask.base.tokenize(open(path)["t2m"]) for _ in range(2)]
        assert tokens[0] == tokens[1] != dask.base.tokenize(open(path)["lat"])
        assert len({dask.base.tokenize(h5.File(path)["t2m"]) for _ in range(2)}) == 1
    keys = [xr.open_dataset(path, engine="sciformats", chunks={})["t2m"].data.name for _ in range(2)]
    assert keys[0] == keys[1]


def test_processes_of_dask(path: str) -> None:
    from distributed import Client, LocalCluster

    with xr.open_dataset(path, engine="netcdf4") as theirs:
        expected = theirs["t2m"].groupby("time.hour").mean().load()
    options = {"n_workers": 2, "threads_per_worker": 2, "processes": True, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster):
        data = xr.open_dataset(path, engine="sciformats", chunks={})
        xr.testing.assert_allclose(data["t2m"].groupby("time.hour").mean().compute(), expected)


def test_loading_without_waiting(path: str) -> None:
    import asyncio

    # xarray itself can only join characters to texts in one way, which loads them.
    data = xr.open_dataset(path, engine="sciformats", drop_variables="code")
    loaded = asyncio.run(data.load_async())
    with xr.open_dataset(path, engine="netcdf4", drop_variables="code") as theirs:
        xr.testing.assert_identical(loaded, theirs.load())


def test_files_without_scales(tmp_path: pathlib.Path) -> None:
    import h5py

    where = tmp_path / "bare.h5"
    with h5py.File(where, "w") as file:
        file["a"] = np.arange(12).reshape(3, 4)
        file["b"] = np.arange(4)
        file["text"] = ["x", "y", "z"]
    with xr.open_dataset(where, engine="sciformats") as ours, xr.open_dataset(where, engine="h5netcdf", phony_dims="access") as theirs:
        assert ours["a"].dims == theirs["a"].dims == ("phony_dim_0", "phony_dim_1")
        np.testing.assert_array_equal(ours["a"], theirs["a"])
        assert list(ours["text"].values) == ["x", "y", "z"]
    with h5py.File(where, "a") as file:
        file["soft"] = h5py.SoftLink("nowhere")
    assert set(xr.open_dataset(where, engine="sciformats")) == {"a", "b", "text"}


def test_other_formats(tmp_path: pathlib.Path) -> None:
    import asdf
    import blosc2
    import gsd.hoomd

    values = np.arange(24, dtype="<i4").reshape(4, 6)
    asdf.AsdfFile({"data": values, "inner": {"more": values[0]}}).write_to(tmp_path / "a.asdf")
    blosc2.asarray(values, chunks=(2, 6), urlpath=str(tmp_path / "b.b2nd"))
    np.save(tmp_path / "c.npy", values)
    with gsd.hoomd.open(str(tmp_path / "d.gsd"), "w") as trajectory:
        frame = gsd.hoomd.Frame()
        frame.particles.N = 2
        frame.particles.position = [[0, 1, 2], [3, 4, 5]]
        trajectory.append(frame)
    # No engine is named, so the first bytes of the files must select this one.
    np.testing.assert_array_equal(xr.open_dataset(tmp_path / "a.asdf")["data"], values)
    np.testing.assert_array_equal(xr.open_datatree(tmp_path / "a.asdf", engine="sciformats")["inner/more"], values[0])
    single = xr.open_dataset(tmp_path / "b.b2nd", engine="sciformats", chunks={})
    assert single["data"].chunks == ((2, 2), (6,))
    np.testing.assert_array_equal(single["data"], values)
    np.testing.assert_array_equal(xr.open_dataset(tmp_path / "c.npy", engine="sciformats")["data"], values)
    found = xr.open_dataset(tmp_path / "d.gsd", engine="sciformats", group="frames/0")
    np.testing.assert_array_equal(found["particles_position"], [[0, 1, 2], [3, 4, 5]])
    tree = xr.open_datatree(tmp_path / "d.gsd", engine="sciformats")
    np.testing.assert_array_equal(tree["frames/0/particles_position"], [[0, 1, 2], [3, 4, 5]])


def test_a_file_that_is_not_there(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        xr.open_dataset(tmp_path / "none.nc", engine="sciformats")


def test_missing_texts_are_missing(tmp_path: pathlib.Path) -> None:
    import netCDF4

    with netCDF4.Dataset(tmp_path / "texts.nc", "w") as file:
        file.createDimension("x", 3)
        file.createVariable("s", str, ("x",), fill_value="none")[:1] = np.array(["k"], object)
    with xr.open_dataset(tmp_path / "texts.nc", engine="sciformats") as ours, xr.open_dataset(tmp_path / "texts.nc", engine="netcdf4") as theirs:
        assert list(ours["s"].isnull()) == [False, True, True]
        xr.testing.assert_identical(ours.load(), theirs.load())
        assert ours["s"].encoding["_FillValue"] == theirs["s"].encoding["_FillValue"] == "none"


@pytest.mark.parametrize("key", [slice(None), slice(None, None, -2), slice(1, 3), 1, 4, [4, 0, 4, 1], [3], []])
def test_variables_that_are_shorter_than_their_dimension(tmp_path: pathlib.Path, key: Any) -> None:
    import netCDF4

    where = tmp_path / "short.nc"
    with netCDF4.Dataset(where, "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 3)
        file.createVariable("t", "f8", ("t",))[:] = np.arange(5.0)
        file.createVariable("a", "f4", ("t", "x"))[:2] = np.arange(6).reshape(2, 3)
        file.createVariable("b", "i2", ("t",), fill_value=-7)[:1] = 1
        file.createVariable("across", "i2", ("x", "t"), fill_value=-7)[:, :1] = 1
        file.createVariable("s", str, ("t",), fill_value="none")[:1] = np.array(["k"], object)
        file.createVariable("empty", "i4", ("t",))
        file.createGroup("inner").createVariable("longer", "i4", ("t",))[:7] = np.arange(7)
    for group in (None, "inner"):
        with xr.open_dataset(where, group=group, engine="sciformats") as ours, xr.open_dataset(where, group=group, engine="netcdf4") as theirs:
            assert ours.sizes == theirs.sizes and ours.sizes["t"] == 7
            if group is None:
                # The C library mixes up the elements if it is not the first dimension that is longer.
                across = np.where(np.arange(7) < 1, [[1.0]] * 3, np.nan)
                np.testing.assert_array_equal(ours["across"].isel(t=key), across[:, key])
                ours, theirs = ours.drop_vars("across"), theirs.drop_vars("across")
            xr.testing.assert_identical(ours.isel(t=key).load(), theirs.isel(t=key).load())


@pytest.mark.parametrize("key", [slice(None), slice(None, None, -1), 1, [1, 0, 1], []])
def test_elements_that_are_arrays_are_indexed(tmp_path: pathlib.Path, key: Any) -> None:
    import h5py

    where = tmp_path / "arrays.h5"
    numbers = np.arange(48).reshape(4, 2, 2, 3)
    with h5py.File(where, "w") as file:
        file.create_dataset("a", (4, 2), np.dtype(("i4", (2, 3))))[...] = numbers
        file.create_dataset("one", (), np.dtype(("i4", (2, 3))))[...] = numbers[0, 0]
    with xr.open_dataset(where, engine="sciformats") as ours:
        for axis, dimension in enumerate(ours["a"].dims):
            picked = np.arange(numbers.shape[axis])[key]
            np.testing.assert_array_equal(ours["a"].isel({dimension: key}), np.take(numbers, picked, axis))
        np.testing.assert_array_equal(ours["one"].isel(one_1=key), numbers[0, 0][:, key])


def test_lists_that_are_shorter_than_their_dimension(tmp_path: pathlib.Path) -> None:
    import netCDF4

    where = tmp_path / "lists.nc"
    with netCDF4.Dataset(where, "w") as file:
        file.createDimension("t", None)
        lists = file.createVLType(np.int32, "list")
        file.createVariable("long", "i4", ("t",))[:] = np.arange(3)
        file.createVariable("v", lists, ("t",))[0] = np.arange(2, dtype="i4")
    with xr.open_dataset(where, engine="sciformats", decode_cf=False) as ours:
        assert [list(each) for each in ours["v"].values] == [[0, 1], [], []]
        assert [list(each) for each in ours["v"][::-2].values] == [[], [0, 1]]


def test_dimensions_that_are_only_known_by_number(tmp_path: pathlib.Path) -> None:
    import h5py
    import netCDF4

    where = tmp_path / "numbers.nc"
    with netCDF4.Dataset(where, "w") as file:
        file.createDimension("x", 3)
        file.createDimension("y", 2)
        file.createVariable("x", "f8", ("x",))[:] = np.arange(3.0)
        file.createGroup("inner").createVariable("v", "f8", ("x", "y"))[:] = np.arange(6.0).reshape(3, 2)
    with h5py.File(where, "r+") as file:
        # What the C library writes if it is told not to attach scales.
        del file["inner/v"].attrs["DIMENSION_LIST"], file["x"].attrs["REFERENCE_LIST"], file["y"].attrs["REFERENCE_LIST"]
        file["inner/v"].attrs["_Netcdf4Coordinates"] = np.array([0, 1], "i4")
    with xr.open_dataset(where, group="inner", engine="sciformats") as ours, xr.open_dataset(where, group="inner", engine="netcdf4") as theirs:
        assert ours["v"].dims == theirs["v"].dims == ("x", "y")
        np.testing.assert_array_equal(ours["v"], theirs["v"])


def test_coordinates_with_several_dimensions_beside_other_variables(tmp_path: pathlib.Path) -> None:
    import netCDF4

    where = tmp_path / "coordinates.nc"
    with netCDF4.Dataset(where, "w") as file:
        file.createDimension("x", 3)
        file.createDimension("y", 2)
        # The C library gives this variable the number of its first dimension, too.
        file.createVariable("before", "f8", ("x",))[:] = np.arange(3.0)
        file.createVariable("x", "f8", ("x", "y"))[:] = np.arange(6.0).reshape(3, 2)
    with xr.open_dataset(where, engine="sciformats") as ours, xr.open_dataset(where, engine="netcdf4") as theirs:
        assert ours["x"].dims == ("x", "y")
        xr.testing.assert_identical(ours.load(), theirs.load())


def test_links_that_go_in_circles(tmp_path: pathlib.Path) -> None:
    import h5py

    with h5py.File(tmp_path / "circle.h5", "w") as file:
        file["a/v"] = np.arange(3)
        file["a/back"] = file["/"]
        file["a/self"] = file["a"]
        place = file.create_group("many")
        for _ in range(60):
            place["one"] = place.create_group("two")
            place = place["two"]
        place = file.create_group("deep")
        for _ in range(1200):
            place = place.create_group("d")
    backend = SciformatsBackendEntrypoint()
    found = backend.open_groups_as_dict(tmp_path / "circle.h5", group="/a")
    assert len(found) == 4 + 60 + 1200 and list(found["/"]) == ["v"]
    with h5py.File(tmp_path / "small.h5", "w") as file:
        file["a/v"], file["b/c/w"] = np.arange(3), np.arange(4)
        file["a/back"], file["b/c/up"] = file["/"], file["b"]
    with xr.open_datatree(tmp_path / "small.h5", engine="sciformats") as tree:
        assert [node.path for node in tree.subtree] == ["/", "/a", "/b", "/b/c"]
        assert tree["b/c/w"].values.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("group", ["/nothing", "/broken"])
def test_a_tree_that_cannot_be_opened_is_closed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, group: str) -> None:
    import h5py
    from sciformats import xarray as engine

    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["broken/one/v"] = np.arange(3)
    opened: list[Any] = []
    monkeypatch.setattr(engine, "_open", lambda *args, _open=engine._open: opened.append(_open(*args)) or opened[0])
    if group == "/broken":
        groups = engine._groups

        def failing(group: Any) -> Any:
            yield from groups(group)
            raise OSError("the disk is gone")

        monkeypatch.setattr(engine, "_groups", failing)
    with pytest.raises((KeyError, OSError)):
        xr.open_datatree(tmp_path / "a.h5", engine="sciformats", group=group)
    assert not opened[0]


def test_options_of_storage_are_refused_without_a_url(tmp_path: pathlib.Path) -> None:
    import blosc2
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["v"] = np.arange(3)
    np.save(tmp_path / "a.npy", np.arange(3))
    blosc2.asarray(np.arange(3), urlpath=str(tmp_path / "a.b2nd"), contiguous=False)
    contents: list[Any] = [tmp_path / "a.h5", tmp_path / "a.npy", tmp_path / "a.b2nd"]
    contents += [path.read_bytes() for path in contents[:2]]
    for each in contents:
        backend = SciformatsBackendEntrypoint()
        assert len(backend.open_dataset(each)) == 1
        with pytest.raises(ValueError, match="URLs only"):
            backend.open_dataset(each, storage_options={"key": "x"})


def test_no_variable_is_left_out_in_silence(tmp_path: pathlib.Path) -> None:
    import gsd.fl

    with gsd.fl.open(str(tmp_path / "a.gsd"), "w", application="test", schema="other", schema_version=[1, 0]) as file:
        file.write_chunk("log/a/b", np.array([1.0]))
        file.write_chunk("log/a_b", np.array([2.0]))
        file.end_frame()
    found = xr.open_dataset(tmp_path / "a.gsd", engine="sciformats", group="frames/0")
    assert {float(each[0]) for each in found.values()} == {1.0, 2.0}
    (tmp_path / "a.asdf").write_bytes(
        b"#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n"
        b"bad: !core/ndarray-1.0.0 {source: 5, datatype: int64, byteorder: little, shape: [3]}\n"
        b"good: !core/ndarray-1.0.0 {data: [1, 2, 3], datatype: int64, shape: [3]}\n...\n"
    )
    with pytest.warns(UserWarning, match="bad is left out"):
        found = xr.open_dataset(tmp_path / "a.asdf", engine="sciformats")
    assert list(found) == ["good"]


def test_a_dataset_is_no_group(tmp_path: pathlib.Path) -> None:
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a/v"] = np.arange(3)
    for opening in (xr.open_dataset, xr.open_datatree):
        with pytest.raises(ValueError, match="not a group"):
            opening(tmp_path / "a.h5", engine="sciformats", group="a/v")
