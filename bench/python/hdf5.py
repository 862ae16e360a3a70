"""The peers of the HDF5 bench that are not Rust: h5py, and the C library called from C (bench/c/hdf5*.c).
Writing is in hdf5_write.py.

    hdf5.py NAME FOLDER          serves the bench, see worker.py
    hdf5.py prepare WHAT FOLDER  writes the files of a case with h5py

The C program is compiled on first use with what the variable HDF5_FLAGS says, else with what `pkg-config hdf5` says, else
with Debian's package libhdf5-dev, which is unpacked into target/.
"""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import h5py
import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "xtask" / "python"))

import debian
import hdf5_write
import worker

N = 100_000


def ramp(shape, dtype):
    """Values that compress as measurements do: slow changes and some noise."""
    n = int(np.prod(shape))
    noise = np.random.default_rng(1).integers(0, 16, n, dtype=np.int32)
    return ((np.arange(n, dtype=np.int64) >> 6).astype(np.int32) * 4 + noise).astype(dtype).reshape(shape)


def contiguous(folder):
    with h5py.File(folder / "contiguous.h5", "w", libver="latest") as file:
        data = file.create_dataset("d", (16384, 16384), "<f4")
        row = ramp((1024, 16384), "<f4")
        for i in range(0, 16384, 1024):
            data[i : i + 1024] = row


def gzip(folder):
    # Debian's library does not read what the newest one writes for filtered chunks.
    with h5py.File(folder / "gzip.h5", "w", libver=("v110", "v110")) as file:
        data = file.create_dataset("d", (8192, 16384), "<f4", chunks=(256, 256), compression="gzip", compression_opts=4, shuffle=True)
        rows = ramp((1024, 16384), "<f4")
        for i in range(0, 8192, 1024):
            data[i : i + 1024] = rows


def plain(folder):
    with h5py.File(folder / "plain.h5", "w", libver="latest") as file:
        file.create_dataset("d", data=ramp((8192, 8192), "<f4"), chunks=(256, 256))


def small(folder):
    """200,000 chunks of 16 x 1 numbers in each index."""
    limits = {"btree1": (200_000, 16), "fixed": (200_000, 16), "extensible": (None, 16), "btree2": (None, None)}
    for name, limit in limits.items():
        bounds = ("earliest", "latest") if name == "btree1" else ("latest", "latest")
        with h5py.File(folder / f"small-{name}.h5", "w", libver=bounds) as file:
            file.create_dataset("d", data=ramp((200_000, 16), "<i4"), chunks=(1, 16), maxshape=limit)


def objects(folder):
    """100,000 datasets of one number, each with an attribute."""
    space = h5py.h5s.create(h5py.h5s.SCALAR)
    for name, bounds in (("old", ("earliest", "latest")), ("new", ("latest", "latest"))):
        with h5py.File(folder / f"objects-{name}.h5", "w", libver=bounds) as file:
            creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            creation.set_obj_track_times(False)
            for i in range(N):
                made = h5py.h5d.create(file.id, f"{i:06}".encode(), h5py.h5t.STD_I32LE, space, creation)
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array(i, "<i4"))
                h5py.h5a.create(made, b"n", h5py.h5t.STD_I32LE, space).write(np.array(i, "<i4"))


def strings(folder):
    with h5py.File(folder / "strings.h5", "w", libver="latest") as file:
        text = np.array([f"string number {i}" for i in range(1_000_000)], object)
        file.create_dataset("d", data=text, dtype=h5py.string_dtype())


def compound(folder):
    rows = np.zeros(5_000_000, [("a", "<i4"), ("b", "<f8"), ("c", "<f4"), ("d", "<i8")])
    rows["a"], rows["b"] = np.arange(len(rows)), np.arange(len(rows)) / 2
    with h5py.File(folder / "compound.h5", "w", libver=("earliest", "v110")) as file:
        file.create_dataset("d", data=rows)


# How many threads our side has; the C library has one.
THREADS = ["1 thread", "2 threads"]

PREPARE = [contiguous, gzip, plain, small, objects, strings, compound]


def flags():
    """What the compiler is told of the C library."""
    if "HDF5_FLAGS" in os.environ:
        return os.environ["HDF5_FLAGS"].split()
    if shutil.which("pkg-config"):
        known = subprocess.run(["pkg-config", "--cflags", "--libs", "hdf5"], capture_output=True, text=True)
        if known.returncode == 0:
            return known.stdout.split()
    root = debian.unpacked("libhdf5-dev")
    include = root / "usr" / "include" / "hdf5" / "serial"
    folders = debian.libraries(root)
    # The older kind of path counts for the libraries of libraries too.
    paths = [f"-Wl,--disable-new-dtags,-rpath,{folder}" for folder in folders]
    return [f"-I{include}", *[f"-L{folder}/hdf5/serial" for folder in folders], "-lhdf5", *paths]


class Library:
    """bench/c/hdf5*.c as a library."""

    def __init__(self, folder):
        sources = sorted((pathlib.Path(__file__).resolve().parent.parent / "c").glob("hdf5*.c"))
        library = folder / "libbench-hdf5.so"
        if not library.exists():
            made = library.with_suffix(f".{os.getpid()}")
            words = ["cc", "-O2", "-shared", "-fPIC", "-o", str(made), *map(str, sources), *flags()]
            built = subprocess.run(words, capture_output=True, text=True)
            if built.returncode:
                raise RuntimeError(built.stderr[-500:])
            os.replace(made, library)
        self.loaded = ctypes.CDLL(str(library))

    def call(self, name, folder, *arguments):
        function = getattr(self.loaded, name)
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_char_p, *[ctypes.c_char_p for _ in arguments]]
        seconds = function(str(folder).encode(), *[text.encode() for text in arguments])
        if seconds < 0:
            raise RuntimeError(f"{name} failed")
        return seconds


LIBRARY = []


def c(name, *arguments):
    def case(folder, watch):
        if not LIBRARY:
            LIBRARY.append(Library(folder))
        watch.seconds = LIBRARY[0].call(name, folder, *arguments)

    return case


def windows():
    """The corners of 1,000 windows; the other sides have the same."""
    state = 1
    for _ in range(1000):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (state >> 33) % (8192 - 64), (state >> 13) % (16384 - 64)


def whole(name, prefault=False):
    def case(folder, watch):
        with h5py.File(folder / name) as file:
            data = file["d"]
            out = (np.ones if prefault else np.empty)(data.shape, data.dtype)
            with watch:
                data.read_direct(out)

    return case


def listing(name):
    def case(folder, watch):
        with watch, h5py.File(folder / name) as file:
            assert len(list(file)) == N

    return case


def one(name):
    def case(folder, watch):
        with watch:
            for i in range(0, N, N // 20):
                with h5py.File(folder / name) as file:
                    assert file[f"{i:06}"][()] == i

    return case


def attributes(name):
    def case(folder, watch):
        with h5py.File(folder / name) as file, watch:
            assert sum(int(item.attrs["n"]) for item in file.values()) == N * (N - 1) // 2

    return case


def texts(folder, watch):
    with h5py.File(folder / "strings.h5") as file, watch:
        assert file["d"].asstr()[:][7] == "string number 7"


def rows(folder, watch):
    with h5py.File(folder / "compound.h5") as file, watch:
        assert file["d"][:]["a"][7] == 7


def field(folder, watch):
    with h5py.File(folder / "compound.h5") as file, watch:
        assert file["d"].fields("b")[:][7] == 3.5


def random(folder, watch):
    with h5py.File(folder / "gzip.h5") as file, watch:
        data = file["d"]
        for row, column in windows():
            data[row : row + 64, column : column + 64]


def window(folder, watch):
    with watch, h5py.File(folder / "contiguous.h5") as file:
        assert file["d"][5000:5064, 700:764].shape == (64, 64)


def decoded(folder, watch):
    import xarray

    with watch, xarray.open_dataset(folder / "packed.nc", engine="netcdf4") as data:
        assert data["tas"].values.dtype == "f4"


XARRAY = {"decode 256 MiB of packed numbers, netCDF4": decoded}

H5PY = {
    "1 GiB contiguous, fresh memory": whole("contiguous.h5"),
    "1 GiB contiguous, memory in use": whole("contiguous.h5", True),
    **{f"512 MiB gzip and shuffle, {threads}, fresh memory": whole("gzip.h5") for threads in THREADS},
    **{f"512 MiB gzip and shuffle, {threads}, memory in use": whole("gzip.h5", True) for threads in THREADS},
    "256 MiB in plain chunks": whole("plain.h5"),
    **{f"200,000 chunks, {index}": whole(f"small-{index}.h5") for index in ("btree1", "fixed", "extensible", "btree2")},
    **{f"list 100,000 objects, {age}": listing(f"objects-{age}.h5") for age in ("old", "new")},
    **{f"open and read one of 100,000, {age}": one(f"objects-{age}.h5") for age in ("old", "new")},
    **{f"an attribute of each of 100,000, {age}": attributes(f"objects-{age}.h5") for age in ("old", "new")},
    "1,000,000 strings": texts,
    "5,000,000 rows of compounds": rows,
    "a field of 5,000,000 rows": field,
    "1,000 windows of gzip": random,
    "a window of 1 GiB": window,
}

LIBHDF5 = {
    "1 GiB contiguous, fresh memory": c("whole", "contiguous.h5", "fresh"),
    "1 GiB contiguous, memory in use": c("whole", "contiguous.h5", "used"),
    **{f"512 MiB gzip and shuffle, {threads}, fresh memory": c("whole", "gzip.h5", "fresh") for threads in THREADS},
    **{f"512 MiB gzip and shuffle, {threads}, memory in use": c("whole", "gzip.h5", "used") for threads in THREADS},
    "256 MiB in plain chunks": c("whole", "plain.h5", "fresh"),
    **{f"200,000 chunks, {index}": c("whole", f"small-{index}.h5", "fresh") for index in ("btree1", "fixed", "extensible", "btree2")},
    **{f"list 100,000 objects, {age}": c("list", f"objects-{age}.h5") for age in ("old", "new")},
    **{f"open and read one of 100,000, {age}": c("one", f"objects-{age}.h5") for age in ("old", "new")},
    **{f"an attribute of each of 100,000, {age}": c("attributes", f"objects-{age}.h5") for age in ("old", "new")},
    "1,000,000 strings": c("strings"),
    "5,000,000 rows of compounds": c("compound", "all"),
    "a field of 5,000,000 rows": c("compound", "b"),
    "1,000 windows of gzip": c("windows"),
    "a window of 1 GiB": c("window"),
}

if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        {step.__name__: step for step in PREPARE}[sys.argv[2]](pathlib.Path(sys.argv[3]))
    else:
        worker.serve({"h5py": H5PY | hdf5_write.H5PY, "libhdf5": LIBHDF5 | hdf5_write.libhdf5(c), "xarray": XARRAY})
