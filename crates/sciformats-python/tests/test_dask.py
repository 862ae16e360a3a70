"""Dask with several processes: many files, workers that are killed, and arrays that are larger than the memory."""

from __future__ import annotations

import math
import os
import pathlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr
from distributed import Client, LocalCluster
from sciformats import h5


@pytest.fixture
def client() -> Iterator[Client]:
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 2, "processes": True, "host": "127.0.0.1"}
    with LocalCluster(**options, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def test_a_hundred_files(tmp_path: pathlib.Path, client: Client) -> None:
    random = np.random.default_rng(4)
    whole = random.normal(size=(300, 8, 9)).astype("f4")
    times = np.arange(300)
    for number in range(100):
        part = slice(number * 3, number * 3 + 3)
        variables = {"t": (("time", "y", "x"), whole[part])}
        data = xr.Dataset(variables, {"time": times[part]})
        data.to_netcdf(tmp_path / f"part{number:03}.nc", engine="netcdf4", encoding={"t": {"zlib": True}})
    options: dict[str, Any] = {"engine": "sciformats", "combine": "by_coords", "chunks": {}}
    for parallel in (False, True):
        with xr.open_mfdataset(str(tmp_path / "*.nc"), parallel=parallel, **options) as data:
            assert data["t"].shape == whole.shape
            np.testing.assert_allclose(data["t"].mean("time").compute(), whole.mean(axis=0), rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(data["t"][::7, 3], whole[::7, 3])


def test_killed_workers(tmp_path: pathlib.Path, client: Client) -> None:
    path = tmp_path / "long.h5"
    values = np.random.default_rng(6).integers(0, 1000, (64, 100, 100))
    with h5.File(path, "w") as file:
        file.create_dataset("u", data=values, chunks=(1, 100, 100), compression="gzip")
    data = xr.open_dataset(path, engine="sciformats", chunks={})["u"].data

    def slowly(block: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        time.sleep(0.1)
        return block.sum(axis=(1, 2), keepdims=True)

    before = set(client.run(os.getpid).values())
    future = client.compute(data.map_blocks(slowly, chunks=(1, 1, 1)).sum())
    killer = threading.Timer(0.7, lambda: os.kill(min(before), signal.SIGKILL))
    killer.start()
    assert future.result(timeout=120) == values.sum()
    killer.join()
    assert min(before) not in client.run(os.getpid).values()


def test_more_elements_than_memory(tmp_path: pathlib.Path, client: Client) -> None:
    """Parts of an array of 64 GiB, of which a few chunks are stored, are reduced without reading the rest."""
    import dask.array

    path = tmp_path / "sparse.h5"
    with h5.File(path, "w") as file:
        made = file.create_dataset("u", (1 << 15, 1 << 20), "u2", chunks=(64, 1 << 18), compression="gzip", fillvalue=3)
        made[100, 5], made[20_000, 1 << 19], made[-1, -1] = 10, 20, 30
    assert path.stat().st_size < 1 << 20
    lazy = dask.array.from_array(h5.File(path)["u"], chunks=(64, 1 << 18))
    assert lazy.nbytes == 64 << 30
    part = lazy[19_968:20_096, (1 << 19) - 10 :]
    assert int(part.sum(dtype="u8").compute()) == 3 * part.size + 17
    assert [int(lazy[at].compute()) for at in ((100, 5), (-1, -1), (7, 7))] == [10, 30, 3]


def test_groups_new_chunks_and_writing(tmp_path: pathlib.Path, client: Client) -> None:
    import pandas as pd
    from sciformats.xarray import write

    times = pd.date_range("2025-01-01", periods=120, freq="D")
    values = np.random.default_rng(8).normal(280, 5, (120, 16, 12)).astype("f4")
    source = xr.Dataset({"t": (("time", "y", "x"), values, {"units": "K"})}, {"time": times})
    encoding = {"t": {"zlib": True, "chunksizes": (10, 16, 12)}}
    source.to_netcdf(tmp_path / "source.nc", engine="netcdf4", encoding=encoding)
    with xr.open_dataset(tmp_path / "source.nc", engine="sciformats", chunks={}) as data:
        assert data["t"].chunks == ((10,) * 12, (16,), (12,))
        months = data["t"].groupby("time.month").mean().compute()
        xr.testing.assert_allclose(months, source["t"].groupby("time.month").mean(), rtol=1e-5)
        turned = data.chunk(time=-1, y=4)
        turned["t"].encoding.update(chunksizes=(120, 4, 12))
        write(turned, tmp_path / "turned.nc")
    with xr.open_dataset(tmp_path / "turned.nc", engine="netcdf4") as found:
        xr.testing.assert_equal(found.load(), source)
        assert found["t"].encoding["chunksizes"] == (120, 4, 12)


def _count_reads(folder: str) -> None:
    """Let this process note each block of elements that it reads, in a file of its own."""
    import sciformats.dask as module

    read = module._Elements.__getitem__

    def noting(self: Any, key: tuple[slice, ...]) -> Any:
        with open(f"{folder}/{os.getpid()}", "a") as file:
            elements = math.prod(stop - start for start, stop, _ in (part.indices(n) for part, n in zip(key, self.shape)))
            file.write(f"{self.dataset.name} {elements} {key}\n")
        return read(self, key)

    module._Elements.__getitem__ = noting  # type: ignore[method-assign]


def test_new_chunks_on_the_cluster(tmp_path: pathlib.Path, client: Client) -> None:
    import h5py
    import sciformats.dask

    random = np.random.default_rng(9)
    u = random.integers(0, 1000, (61, 50, 70)).astype(">i2")
    rows = np.zeros(7000, [("x", "f4"), ("n", "i8")])
    rows["x"], rows["n"] = random.normal(size=7000), np.arange(7000)
    with h5py.File(tmp_path / "old.h5", "w", track_order=True) as file:
        made = file.create_dataset("runs/u", data=u, chunks=(1, 50, 70), maxshape=(None, 50, 70), compression="gzip", shuffle=True)
        made.attrs["units"], file.attrs["title"] = "K", "a week"
        file.create_dataset("rows", data=rows, chunks=(100,), fletcher32=True)
        part = file.create_dataset("part", (400, 300), "f8", chunks=(20, 300), fillvalue=-1.0, compression="lzf")
        part[100:120] = 5
        file["plain"] = np.arange(30_000.0).reshape(100, 300)
        file["names"] = np.array(["one", "two"] * 5, dtype=h5py.string_dtype())
        file["made"] = h5py.SoftLink("/runs/u")
    (tmp_path / "reads").mkdir()
    client.run(_count_reads, str(tmp_path / "reads"))
    chunks = {"/runs/u": (61, 7, 9), "/rows": (1024,), "/part": (150, 40), "/plain": (30, 50)}
    lost = sciformats.dask.repack(tmp_path / "old.h5", tmp_path / "new.h5", chunks=chunks, client=client, block_bytes=50_000)
    assert lost == []
    with h5py.File(tmp_path / "new.h5") as new, h5py.File(tmp_path / "old.h5") as old:
        for path, sides in chunks.items():
            assert new[path].chunks == sides and new[path].dtype == old[path].dtype
            np.testing.assert_array_equal(new[path][...], old[path][...])
            assert new[path].maxshape == old[path].maxshape and new[path].fletcher32 == old[path].fletcher32
        assert new["runs/u"].compression == "gzip" and new["runs/u"].shuffle and new["runs/u"].attrs["units"] == "K"
        # Only chunks with elements of the one stored row of chunks are in the new file.
        assert new["part"].fillvalue == -1.0 and new["part"].id.get_num_chunks() == 8
        assert list(new) == list(old) and new.attrs["title"] == "a week" and new["names"][1] == b"two"
        assert new.get("made", getlink=True).path == "/runs/u"
    # Beyond its edges a chunk has the fill value, which shows when the dataset grows.
    with h5py.File(tmp_path / "new.h5", "r+") as new:
        new["runs/u"].resize(62, axis=0)
        assert (new["runs/u"][61] == 0).all()
    # Every element was read by one task.
    notes = list((tmp_path / "reads").iterdir())
    reads = [line.split(" ", 2) for file in notes for line in file.read_text().splitlines()]
    assert notes and len({(path, key) for path, _, key in reads}) == len(reads)
    for path, size in {"/runs/u": u.size, "/rows": rows.size, "/plain": 30_000}.items():
        assert sum(int(elements) for name, elements, _ in reads if name == path) == size
    with pytest.raises(FileExistsError):
        sciformats.dask.repack(tmp_path / "old.h5", tmp_path / "new.h5", chunks=chunks, client=client)
    with pytest.raises(ValueError, match="/nothing"):
        sciformats.dask.repack(tmp_path / "old.h5", tmp_path / "none.h5", chunks={"/nothing": (1,)}, client=client)
    for options in ({"filter": "gzip"}, {"level": 3}):
        with pytest.raises(ValueError, match="no datasets"):
            sciformats.dask.repack(tmp_path / "old.h5", tmp_path / "none.h5", chunks={}, client=client, **options)
    assert not (tmp_path / "none.h5").exists()
    with h5py.File(tmp_path / "bare.h5", "w") as file:
        file.attrs["title"] = "no dataset"
    assert sciformats.dask.repack(tmp_path / "bare.h5", tmp_path / "none.h5", chunks=(1,), client=client) == []


def test_new_chunks_though_a_worker_is_killed(tmp_path: pathlib.Path, client: Client) -> None:
    import h5py
    import sciformats.dask

    u = np.random.default_rng(10).normal(size=(400, 100, 100))
    with h5py.File(tmp_path / "old.h5", "w") as file:
        file.create_dataset("u", data=u, chunks=(1, 100, 100), compression="gzip")
    before = set(client.run(os.getpid).values())
    killer = threading.Timer(0.5, lambda: os.kill(min(before), signal.SIGKILL))
    killer.start()
    target = tmp_path / "new.h5"
    assert sciformats.dask.repack(tmp_path / "old.h5", target, chunks=(400, 5, 5), client=client, block_bytes=1 << 20) == []
    assert not killer.is_alive(), "the file was complete before a worker was killed"
    with h5py.File(target) as file:
        assert file["u"].chunks == (400, 5, 5)
        np.testing.assert_array_equal(file["u"][...], u)
    assert min(before) not in client.run(os.getpid).values()


def test_a_failure_leaves_no_new_file(tmp_path: pathlib.Path, client: Client) -> None:
    import h5py
    import sciformats.dask
    from sciformats.errors import FileDamaged

    with h5py.File(tmp_path / "old.h5", "w") as file:
        made = file.create_dataset("u", data=np.arange(100_000), chunks=(1000,), fletcher32=True)
        place = made.id.get_chunk_info(50).byte_offset
    with open(tmp_path / "old.h5", "r+b") as file:
        file.seek(place + 5)
        file.write(b"X")
    (tmp_path / "new.h5").write_bytes(b"what was there")
    with pytest.raises(FileDamaged):
        sciformats.dask.repack(
            tmp_path / "old.h5", tmp_path / "new.h5", chunks=(5000,), client=client, block_bytes=20_000, overwrite=True
        )
    assert (tmp_path / "new.h5").read_bytes() == b"what was there"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["new.h5", "old.h5"]


def test_trajectories_and_trees_in_processes(tmp_path: pathlib.Path, client: Client) -> None:
    import asdf
    import dask.array
    import gsd.hoomd
    import sciformats.asdf
    import sciformats.gsd

    with gsd.hoomd.open(str(tmp_path / "run.gsd"), "w") as file:
        for i in range(20):
            frame = gsd.hoomd.Frame()
            frame.particles.N = 10
            frame.particles.position = np.full((10, 3), i, "f4")
            file.append(frame)
    stack = sciformats.gsd.open(tmp_path / "run.gsd").stack("particles/position")
    lazy = dask.array.from_array(stack, chunks=(4, -1, -1))
    means = lazy.map_blocks(lambda block: block.mean(axis=(1, 2)), drop_axis=(1, 2)).compute()
    np.testing.assert_array_equal(means, np.arange(20))
    numbers = np.arange(4000.0).reshape(40, 100)
    asdf.AsdfFile({"deep": {"u": numbers}}).write_to(tmp_path / "tree.asdf", all_array_compression="zlib")
    array = sciformats.asdf.open(tmp_path / "tree.asdf")["deep"]["u"]
    lazy = dask.array.from_array(array, chunks=(10, 100))
    np.testing.assert_array_equal(lazy.sum(axis=0).compute(), numbers.sum(axis=0))


def test_tokens_do_not_depend_on_the_process(tmp_path: pathlib.Path, client: Client) -> None:
    from dask.base import tokenize

    path = tmp_path / "one.h5"
    with h5.File(path, "w") as file:
        file["u"] = np.arange(10)

    def token(path: str) -> tuple[str, str]:
        import sciformats

        return tokenize(h5.File(path)["u"]), tokenize(sciformats.open(path)["u"])

    assert set(client.run(token, str(path)).values()) == {token(str(path))}
