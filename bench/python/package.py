"""The bench of the Python package: `sciformats` and its peers, each in a process of its own.

`package.py pairs FOLDER RECORD [PART]` makes the files, lets each pair take turns (see `pairs.py`), and appends one line of
JSON per row to RECORD. `package.py NAME FOLDER` is the worker of one side.
"""

import subprocess
import sys
import threading

import numpy as np

# This folder has scripts with the names of libraries, and Python looks beside the script first.
here = sys.path.pop(0)

SIDE, MIB = 4096, 1 << 20
SLABS, DATASETS, TURNS, FRAMES = 10_000, 10_000, 1_000, 1_000


# Each side opens HDF5 files with its own module; all of them are called alike.


def _module(name):
    if name == "sciformats":
        import sciformats.h5 as module
    elif name == "h5py":
        import h5py as module
    else:
        import pyfive as module
    return module


def whole(name, dataset):
    module = _module(name)

    def read(folder, watch):
        with watch, module.File(folder / "arrays.h5", "r") as file:
            found = file[dataset][...]
        assert found[1, 1] == SIDE + 1 and found[-1, -1] == SIDE * SIDE - 1

    return read


def places():
    return [(i * 7919 % (SIDE - 10), i * 104_729 % (SIDE - 10)) for i in range(SLABS)]


def slabs(name, dataset):
    module, chosen = _module(name), places()

    def read(folder, watch):
        total = 0
        with module.File(folder / "arrays.h5", "r") as file, watch:
            source = file[dataset]
            for row, column in chosen:
                total += int(source[row : row + 10, column : column + 10][0, 0])
        assert total == sum(row * SIDE + column for row, column in chosen)

    return read


def attributes(name):
    module = _module(name)

    def read(folder, watch):
        total = 0
        with watch, module.File(folder / "many.h5", "r") as file:
            for member in file.values():
                total += int(member.attrs["number"])
        assert total == DATASETS * (DATASETS - 1) // 2

    return read


def turns(name):
    module = _module(name)

    def write_and_read(folder, watch):
        path = folder / f"turns-{name}.h5"
        with module.File(path, "w") as file:
            made = file.create_dataset("u", (1000, 100), "f8", chunks=(100, 100), compression="gzip")
            with watch:
                for i in range(TURNS):
                    made[i] = i
                    assert made[i, 7] == i
        path.unlink()

    return write_and_read


def create(name):
    module = _module(name)

    def many(folder, watch):
        path, data = folder / f"create-{name}.h5", np.arange(10.0)
        with watch, module.File(path, "w") as file:
            for i in range(TURNS):
                file.create_dataset(f"d{i}", data=data).attrs["number"] = i
        path.unlink()

    return many


def threads(name, count):
    module = _module(name)

    def read(folder, watch):
        with module.File(folder / "arrays.h5", "r", **({"threads": 1} if name == "sciformats" else {})) as file:
            source, rows = file["noisy"], SIDE // 8
            parts = [None] * 8

            def part(first):
                for i in range(first, 8, count):
                    parts[i] = source[i * rows : (i + 1) * rows]

            workers = [threading.Thread(target=part, args=(first,)) for first in range(count)]
            with watch:
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
        assert all(part[1, 1] == (i * rows + 1) * SIDE + 1 for i, part in enumerate(parts))

    return read


def opened(engine, workers):
    import xarray

    if workers:
        import dask

    def mean(folder, watch):
        with watch:
            if workers:
                with dask.config.set(scheduler="threads", num_workers=workers):
                    with xarray.open_dataset(folder / "weather.nc", engine=engine, chunks={}) as data:
                        found = float(data["t"].mean())
            else:
                with xarray.open_dataset(folder / "weather.nc", engine=engine) as data:
                    found = float(data["t"].mean())
        assert abs(found - 280.0) < 0.1

    return mean


def cluster(engine):
    """A cluster of two processes that is started once, and in which each process has imported what it needs."""
    import atexit

    import xarray
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1"}
    started = LocalCluster(**options, dashboard_address=None)
    client = Client(started)
    atexit.register(started.close)
    atexit.register(client.close)

    def mean(folder, watch):
        with watch, xarray.open_dataset(folder / "weather.nc", engine=engine, chunks={}) as data:
            found = float(data["t"].mean().compute())
        assert abs(found - 280.0) < 0.1

    return mean


def imported(module):
    code = f"import time, numpy; begin = time.perf_counter(); import {module}; print(time.perf_counter() - begin)"

    def measure(folder, watch):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
        watch.seconds = float(run.stdout)

    return measure


def budget(seconds):
    def measure(folder, watch):
        watch.seconds = seconds

    return measure


def asdf_array(name):
    if name == "asdf":
        import asdf

        def read(folder, watch):
            with watch, asdf.open(folder / "array.asdf") as file:
                found = np.array(file["u"])
            assert found[-1] == 4 * MIB - 1

    else:
        import sciformats

        def read(folder, watch):
            with watch, sciformats.open(folder / "array.asdf") as file:
                found = file["u"][...]
            assert found[-1] == 4 * MIB - 1

    return read


def gsd_frames(name):
    chosen = [i * 7919 % FRAMES for i in range(FRAMES)]
    if name == "gsd":
        import gsd.hoomd

        def read(folder, watch):
            with watch, gsd.hoomd.open(str(folder / "run.gsd"), "r") as file:
                for frame in chosen:
                    assert file[frame].particles.position[0, 0] == frame + 1

    else:
        import sciformats

        def read(folder, watch):
            with watch, sciformats.open(folder / "run.gsd") as file:
                for frame in chosen:
                    assert file[f"frames/{frame}/particles/position"][...][0, 0] == frame + 1

    return read


def blosc2_array(name):
    if name == "blosc2":
        import blosc2

        def read(folder, watch):
            with watch:
                found = blosc2.open(str(folder / "array.b2nd"))[...]
            assert found[-1, -1] == SIDE * SIDE - 1

    else:
        import sciformats

        def read(folder, watch):
            with watch, sciformats.open(folder / "array.b2nd") as file:
                found = file.root[...]
            assert found[-1, -1] == SIDE * SIDE - 1

    return read


#: The name of a case, its goal, and what runs it for each side; ours comes first.
CASES = [
    ("read 64 MiB, contiguous", 1.05, {n: (whole, n, "contiguous") for n in ("sciformats", "h5py")}),
    ("read 64 MiB of noisy numbers, gzip and shuffle", 0.5, {n: (whole, n, "noisy") for n in ("sciformats", "h5py", "pyfive")}),
    ("10,000 slabs of 10 × 10, contiguous", 0.3, {n: (slabs, n, "contiguous") for n in ("sciformats", "h5py")}),
    ("10,000 slabs of 10 × 10, plain chunks", 0.3, {n: (slabs, n, "chunks") for n in ("sciformats", "h5py")}),
    ("attributes of 10,000 datasets", 0.1, {n: (attributes, n) for n in ("sciformats", "h5py", "pyfive")}),
    ("1,000 writes and reads in turn", 1.0, {n: (turns, n) for n in ("sciformats", "h5py")}),
    ("create 1,000 datasets with an attribute", 1.0, {n: (create, n) for n in ("sciformats", "h5py")}),
    (
        "8 Python threads read 64 MiB of noisy numbers, gzip",
        0.56,
        {"sciformats": (threads, "sciformats", 8), "ours, 1 thread": (threads, "sciformats", 1), "h5py": (threads, "h5py", 8)},
    ),
    (
        "xarray: open, mean of 64 MiB",
        0.5,
        {"sciformats": (opened, "sciformats", 0), "h5netcdf": (opened, "h5netcdf", 0), "netCDF4": (opened, "netcdf4", 0)},
    ),
    (
        "xarray with Dask, 1 thread: open, mean of 64 MiB",
        0.5,
        {"sciformats": (opened, "sciformats", 1), "h5netcdf": (opened, "h5netcdf", 1), "netCDF4": (opened, "netcdf4", 1)},
    ),
    (
        "xarray with Dask, 2 threads: open, mean of 64 MiB",
        0.5,
        {"sciformats": (opened, "sciformats", 2), "h5netcdf": (opened, "h5netcdf", 2), "netCDF4": (opened, "netcdf4", 2)},
    ),
    (
        "xarray on a cluster of 2 processes: open, mean of 64 MiB",
        0.7,
        {"sciformats": (cluster, "sciformats"), "h5netcdf": (cluster, "h5netcdf"), "netCDF4": (cluster, "netcdf4")},
    ),
    (
        "import, after NumPy",
        1.0,
        {"sciformats": (imported, "sciformats"), "50 ms": (budget, 0.05), "h5py": (imported, "h5py")},
    ),
    (
        "import of sciformats.h5, after NumPy",
        1.0,
        {"sciformats": (imported, "sciformats.h5"), "50 ms": (budget, 0.05), "h5py": (imported, "h5py")},
    ),
    ("ASDF: open, read 32 MiB", 1.0, {n: (asdf_array, n) for n in ("sciformats", "asdf")}),
    ("GSD: positions of 1,000 frames", 1.0, {n: (gsd_frames, n) for n in ("sciformats", "gsd")}),
    ("Blosc2: open, read 64 MiB", 1.0, {n: (blosc2_array, n) for n in ("sciformats", "blosc2")}),
]


def files(folder):
    """Write the files that are read."""
    import asdf
    import blosc2
    import gsd.hoomd
    import h5py
    import xarray

    values = np.arange(SIDE * SIDE, dtype="f4").reshape(SIDE, SIDE)
    with h5py.File(folder / "arrays.h5", "w") as file:
        file["contiguous"] = values
        file.create_dataset("chunks", data=values, chunks=(128, 128))
        noisy = np.random.default_rng(7).normal(280, 10, (SIDE, SIDE)).round(1).astype("f4")
        # The places that are checked.
        noisy[1 :: SIDE // 8, 1], noisy[-1, -1] = values[1 :: SIDE // 8, 1], values[-1, -1]
        file.create_dataset("noisy", data=noisy, chunks=(128, 512), compression="gzip", shuffle=True)
    with h5py.File(folder / "many.h5", "w") as file:
        for i in range(DATASETS):
            file.create_dataset(f"d{i}", data=np.arange(3)).attrs["number"] = i
    noise = np.random.default_rng(7).normal(280, 10, (64, 512, 512)).round(1).astype("f4")
    weather = xarray.Dataset({"t": (("time", "y", "x"), noise)})
    encoding = {"t": {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (4, 256, 256)}}
    weather.to_netcdf(folder / "weather.nc", engine="netcdf4", encoding=encoding)
    asdf.AsdfFile({"u": np.arange(4 * MIB, dtype="f8")}).write_to(folder / "array.asdf")
    with gsd.hoomd.open(str(folder / "run.gsd"), "w") as file:
        for i in range(FRAMES):
            frame = gsd.hoomd.Frame()
            frame.particles.N = 1000
            frame.particles.position = np.full((1000, 3), i + 1, "f4")
            file.append(frame)
    blosc2.asarray(values, urlpath=str(folder / "array.b2nd"), mode="w")


if __name__ == "__main__":
    sys.path.insert(0, here)
    if sys.argv[1] == "pairs":
        from pairs import measure

        sys.path.remove(here)
        measure(__file__, CASES, files, sys.argv[2:])
    else:
        from worker import serve

        sys.path.remove(here)
        mine = {case: sides[sys.argv[1]] for case, _, sides in CASES if sys.argv[1] in sides}

        def late(make, arguments):
            # Only what a case needs is imported, and not before it is needed.
            made = []

            def run(folder, watch):
                made or made.append(make(*arguments))
                made[0](folder, watch)

            return run

        serve({sys.argv[1]: {case: late(make, arguments) for case, (make, *arguments) in mine.items()}})
