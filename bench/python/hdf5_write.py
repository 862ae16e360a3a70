"""The writing half of the HDF5 bench: h5py, and the C library (bench/c/hdf5_write.c)."""

import h5py
import numpy as np

ROWS, COLUMNS, N, STRINGS = 1024, 16384, 100_000, 1_000_000


def target(folder):
    path = folder / "write-h5py.h5"
    path.unlink(missing_ok=True)
    return path


def rows(folder, kept={}):
    """The rows that all implementations write."""
    if folder not in kept:
        kept[folder] = np.fromfile(folder / "rows.raw", "<f4").reshape(ROWS, COLUMNS)
    return kept[folder]


def contiguous(folder, watch):
    values, path = rows(folder), target(folder)
    with watch, h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("d", (16 * ROWS, COLUMNS), "<f4")
        for i in range(16):
            data[i * ROWS : (i + 1) * ROWS] = values


def gzip(folder, watch):
    values, path = rows(folder), target(folder)
    options = {"chunks": (256, 256), "compression": "gzip", "compression_opts": 4, "shuffle": True}
    with watch, h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("d", (2 * ROWS, COLUMNS), "<f4", **options)
        for i in range(8):
            data[i * 256 : (i + 1) * 256] = values[i % 4 * 256 : (i % 4 + 1) * 256]


def objects(bounds):
    def case(folder, watch):
        path = target(folder)
        space, creation = h5py.h5s.create(h5py.h5s.SCALAR), h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_obj_track_times(False)
        with watch, h5py.File(path, "w", libver=bounds) as file:
            for i in range(N):
                value = np.array(i, "<i4")
                made = h5py.h5d.create(file.id, f"{i:06}".encode(), h5py.h5t.STD_I32LE, space, creation)
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, value)
                h5py.h5a.create(made, b"n", h5py.h5t.STD_I32LE, space).write(value)

    return case


def append(folder, watch):
    path = target(folder)
    with watch, h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("d", (0, 16), "<i4", maxshape=(None, 16), chunks=(1024, 16))
        for i in range(N):
            data.resize(i + 1, 0)
            data[i] = np.full(16, i, "<i4")


def strings(folder, watch):
    texts, path = np.array([f"string number {i}" for i in range(STRINGS)], object), target(folder)
    with watch, h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("d", data=texts, dtype=h5py.string_dtype())


GZIP = [f"write 128 MiB gzip and shuffle, {threads}" for threads in ("1 thread", "2 threads")]

H5PY = {
    "write 1 GiB contiguous": contiguous,
    **{name: gzip for name in GZIP},
    "write 100,000 objects, old": objects(("earliest", "latest")),
    "write 100,000 objects, new": objects(("latest", "latest")),
    "append 100,000 slabs": append,
    "write 1,000,000 strings": strings,
}


def libhdf5(c):
    """The cases of the C library; `c` makes one from the name of a function and its arguments."""
    return {
        "write 1 GiB contiguous": c("write_contiguous"),
        **{name: c("write_gzip") for name in GZIP},
        "write 100,000 objects, old": c("write_objects", "old"),
        "write 100,000 objects, new": c("write_objects", "new"),
        "append 100,000 slabs": c("append_slabs"),
        "write 1,000,000 strings": c("write_strings"),
        "write 4 MiB that survive a loss of power": c("write_durably"),
    }
