"""References on a cluster of worker processes: checks of all formats, and how cost grows with files, chunks, tasks and workers.

    cluster_measure.py PROGRAM FOLDER RECORD [--quick]

Each check is a line `ok` or `FAILED`, and the exit status is 1 if one failed. Each measurement is a line of JSON that is appended to
RECORD. Every file system on the way waits for 60 ms before each answer, unless the row says otherwise, and counts requests: the server of
`references_scale_bench.py` for `combine`, and the file system of `cluster_store.py` for readers in Python. `--quick` takes small sizes.

It runs with the environment of `cargo xtask wheel`; zarr comes with anndata, and fsspec with Dask. Memory is read from /proc.
"""

import faulthandler
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path

import cluster_store
from references_measure import run
from references_scale_bench import LATENCY, combined, server_of_days

FULL = {
    "files": [1, 10, 100, 1_000, 10_000],
    "chunks": [1_000, 10_000, 100_000, 1_000_000, 10_000_000],
    "json": 1_000_000,  # the most references that are read as JSON, which Python holds in memory
    "dataset": 2_000,
    "tasks": [1_000, 10_000, 20_000],
}
QUICK = {"files": [1, 10], "chunks": [1_000, 10_000], "json": 10_000, "dataset": 100, "tasks": [1_000]}
WORKERS = [1, 2, 4]
ELEMENTS = 16  # of a chunk of the file with many
PACKAGES = ["dask", "distributed", "fsspec", "h5py", "numcodecs", "sciformats", "xarray", "zarr"]


def cluster(workers):
    """A cluster of processes with one thread each, on the loopback interface."""
    from distributed import LocalCluster

    return LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=None)


def apart(work, *args):
    """What a function returns in a process of its own, which begins with nothing in its memory. What it sets in its environment ends with
    it: Dask limits the memory allocator of the processes that are started after a cluster."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *args).result()


def files_rows(program, folder, sizes):
    """`combine` of files behind the server that waits."""
    server = server_of_days(folder)
    for files in sizes["files"]:
        for form, out in [("JSON", folder / "days.json"), ("Parquet", folder / "days.parquet")]:
            seconds, memory, requests, sent = combined(program, server, files, out)
            row = {"what": "combine", "form": form, "files": files, "seconds": seconds, "memory": memory, "requests": requests, "bytes": sent}
            yield {**row, "stored": stored(out)[0]}


def many_chunks(program, folder, chunks):
    """A file with so many compressed chunks of different lengths."""
    import numpy

    path, source = folder / f"chunks-{chunks}.h5", folder / "elements.npy"
    if not path.exists():
        elements = numpy.random.default_rng(chunks).integers(0, 4, chunks * ELEMENTS, "u1")
        numpy.save(source, elements)
        words = [program, "--quiet", "convert", source, path, "--chunks", ELEMENTS, "--filter", "zlib", "--level", 1]
        subprocess.run(list(map(str, words)), check=True)
        source.unlink()
    return path


def stored(path):
    """The bytes of a file, or of the files in a folder, and their number."""
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files), len(files)


def opened(references, chunks):
    """Opens references, and reads the last chunk: seconds, MiB beyond those of the imports, requests and bytes, and the elements."""
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import zarr

    before, begin = cluster_store.memory()[0], time.perf_counter()
    root = zarr.open_group(cluster_store.store(references, LATENCY), mode="r", zarr_format=2, use_consolidated=False)
    found = root["data"][(chunks - 1) * ELEMENTS :]
    seconds, (requests, sent, most) = time.perf_counter() - begin, cluster_store.counts()
    return seconds, most - before, requests, sent, found


def chunks_rows(program, folder, sizes):
    """`references` of one file with many chunks, and a reader of one of them."""
    import h5py
    import numpy

    for chunks in sizes["chunks"]:
        path = many_chunks(program, folder, chunks)
        with h5py.File(path) as file:
            wanted = file["data"][-ELEMENTS:]
        for form, out in [("Parquet", folder / "chunks.parquet"), ("JSON", folder / "chunks.json")]:
            if form == "JSON" and chunks > sizes["json"]:
                continue
            _, seconds, memory = run([program, "--quiet", "references", path, "-o", out, "--force"])
            size, parts = stored(out)
            yield {"what": "references", "form": form, "chunks": chunks, "seconds": seconds, "memory": memory, "stored": size, "parts": parts}
            seconds, memory, requests, sent, found = apart(opened, out, chunks)
            numpy.testing.assert_array_equal(found, wanted)
            yield {"what": "open", "form": form, "chunks": chunks, "seconds": seconds, "memory": memory, "requests": requests, "bytes": sent}
        path.unlink()


def dataset(folder, chunks):
    """A dataset of so many chunks of 64 KiB, and its sum."""
    import h5py
    import numpy

    path = folder / "dataset.h5"
    values = numpy.random.default_rng(chunks).integers(0, 200, (chunks, 128, 256), "u2")
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("u", data=values, chunks=(1, 128, 256), compression="gzip", compression_opts=1)
    return path, int(values.sum())


def read(references, chunks, workers, per_task, wait):
    """Reads a dataset of so many chunks on a cluster: the sum, seconds, requests and bytes of all workers, and the MiB of the largest one."""
    import xarray
    from distributed import Client

    with cluster(workers) as started, Client(started) as client:
        client.wait_for_workers(workers)
        options = {"engine": "zarr", "zarr_format": 2, "consolidated": False, "chunks": {f"dim_{chunks}": per_task}}

        def total(path, part):
            with xarray.open_dataset(cluster_store.store(path, wait), **options) as data:
                return int(data["u"][part].sum())

        # The first tasks of a worker import what they need, which is no part of the measurement.
        total(shutil.copy(references, references.with_name("first.json")), slice(workers * per_task))
        before, begin = client.run(cluster_store.counts), time.perf_counter()
        found = total(references, slice(None))
        seconds, after = time.perf_counter() - begin, client.run(cluster_store.counts)
    requests, sent = (sum(after[worker][at] - before[worker][at] for worker in after) for at in (0, 1))
    return found, seconds, requests, sent, max(count[2] for count in after.values())


def workers_rows(program, folder, sizes):
    """One dataset on clusters of several sizes."""
    chunks = sizes["dataset"]
    path, wanted = dataset(folder, chunks)
    references = folder / "dataset.json"
    run([program, "--quiet", "references", path, "-o", references, "--force"])
    for per_task, wait in [(1, 0), (10, LATENCY), (100, LATENCY)]:
        for workers in WORKERS:
            found, seconds, requests, sent, memory = apart(read, references, chunks, workers, per_task, wait)
            assert found == wanted, f"the sum is {found}, not {wanted}"
            row = {"what": "read", "workers": workers, "chunks": chunks, "per_task": per_task, "wait": wait}
            yield {**row, "seconds": seconds, "requests": requests, "bytes": sent, "memory": memory}


def reduced(tasks):
    """Reduces so many chunks that cost nothing: the tasks of the graph, the seconds, and the seconds of the processor and the MiB that
    scheduler and client take for them."""
    import dask
    import dask.array
    from distributed import Client

    with cluster(WORKERS[-1]) as started, Client(started) as client:
        client.wait_for_workers(WORKERS[-1])
        client.run(lambda: __import__("dask.array"))
        assert dask.array.ones(100, chunks=1).sum().compute() == 100
        before, processor, begin = cluster_store.memory()[0], time.process_time(), time.perf_counter()
        total = dask.array.ones(tasks, chunks=1).sum(split_every=16)
        assert total.compute() == tasks
        seconds, processor, most = time.perf_counter() - begin, time.process_time() - processor, cluster_store.memory()[1]
        count = len(dict(dask.optimize(total)[0].__dask_graph__()))
    return count, seconds, processor, most - before


def tasks_rows(sizes):
    """Graphs of tasks that do nothing: what the scheduler itself costs. It runs in the process of the client."""
    for tasks in sizes["tasks"]:
        count, seconds, processor, memory = apart(reduced, tasks)
        yield {"what": "tasks", "workers": WORKERS[-1], "tasks": count, "seconds": seconds, "processor": processor, "memory": memory}


def checked(program, folder):
    """The checks of all formats on a cluster of four processes; returns how many failed."""
    from distributed import Client

    import cluster_formats

    failed = []

    def check(name, work):
        try:
            work()
            print(f"ok      {name}", flush=True)
        except Exception as error:  # a check that fails is a line, not the end
            failed.append(name)
            print(f"FAILED  {name}: {type(error).__name__}: {error}", flush=True)

    with cluster(WORKERS[-1]) as started, Client(started) as client:
        client.wait_for_workers(WORKERS[-1])
        cluster_formats.checks(program, folder, client, check)
    return len(failed)


def main():
    words = [word for word in sys.argv[1:] if word != "--quick"]
    sizes = QUICK if len(words) < len(sys.argv) - 1 else FULL
    program, folder, record = words[0], Path(words[1]).absolute(), Path(words[2])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    faulthandler.enable()
    failed = apart(checked, program, folder)
    with record.open("a") as lines:
        rows = [{"what": "versions", "python": sys.version.split()[0], **{name: version(name) for name in PACKAGES}}]
        for parts in [rows, tasks_rows(sizes), workers_rows(program, folder, sizes), files_rows(program, folder, sizes), chunks_rows(program, folder, sizes)]:
            for row in parts:
                lines.write(json.dumps(row) + "\n")
                lines.flush()
                print(json.dumps(row), flush=True)
    sys.stdout.flush()
    # The server of the measurements waits for requests in a thread of its own.
    os._exit(1 if failed else 0)


if __name__ == "__main__":
    main()
