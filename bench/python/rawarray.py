"""NumPy beside RawArray: the same elements, in a file without a header or in an .npy file."""

import numpy

from worker import serve

COUNT = 1 << 28
kept = {}


def check(array):
    assert array.size == COUNT and array[12345] == 12345.0


def read_into(folder, watch):
    array = kept.setdefault("buffer", numpy.zeros(COUNT, "<f4"))
    with watch:
        with open(folder / "array.raw", "rb", buffering=0) as file:
            view, at = memoryview(array).cast("B"), 0
            while at < len(view):
                at += file.readinto(view[at:])
    check(array)


def read(folder, watch):
    with watch:
        array = numpy.fromfile(folder / "array.raw", "<f4")
    check(array)


def load(folder, watch):
    with watch:
        array = numpy.load(folder / "array.npy")
    check(array)


def read_big(folder, watch):
    with watch:
        array = numpy.fromfile(folder / "array.raw", ">f4").astype("<f4")
    check(array)


def values():
    return kept.setdefault("values", numpy.arange(COUNT, dtype="<f4"))


def write(folder, watch):
    array = values()
    with watch:
        numpy.save(folder / "written.npy", array)
    (folder / "written.npy").unlink()


def stream(folder, watch):
    row = numpy.ones(16384, "<f4")
    with watch:
        with open(folder / "streamed.raw", "wb") as file:
            for _ in range(16384):
                row.tofile(file)
    (folder / "streamed.raw").unlink()


def append(folder, watch):
    rows = numpy.full(1 << 18, 2.0, "<f4")
    with watch:
        array = numpy.fromfile(folder / "array.raw", "<f4")
        numpy.concatenate([array, rows]).tofile(folder / "longer.raw")
    (folder / "longer.raw").unlink()


serve({
    "numpy": {
        "read 1 GiB into a used buffer": read_into,
        "read 1 GiB big-endian": read_big,
        "write 1 GiB": write,
        "write 1 GiB row by row": stream,
        "append 1 MiB to 1 GiB": append,
    },
    "numpy.fromfile": {"read 1 GiB": read},
    "numpy.load": {"read 1 GiB": load},
})
