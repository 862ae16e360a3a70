"""Dask with several processes: many files, workers that are killed, and arrays that are larger than the memory."""

from __future__ import annotations

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
