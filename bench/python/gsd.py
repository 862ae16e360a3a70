"""The Python peer of the GSD bench: the reference library."""

import sys

# This script has the library's name, and Python looks beside the script first.
here = sys.path.pop(0)
import gsd.fl
import gsd.hoomd
import numpy

sys.path.insert(0, here)
from worker import serve

FRAMES = 100_000
NAMES = [f"n{i}" for i in range(10)]
LARGE = 300_000


def create(folder, name):
    return gsd.fl.open(str(folder / name), "w", application="bench", schema="bench", schema_version=[1, 0])


def open_many(folder):
    return gsd.fl.open(str(folder / "many.gsd"), "r")


def open_file(folder, watch):
    with watch:
        file = open_many(folder)
    assert file.nframes == FRAMES


def find(folder, watch):
    file = open_many(folder)
    with watch:
        found = sum(file.chunk_exists(frame=i, name=NAMES[i % 10]) for i in range(FRAMES))
    assert found == FRAMES


def read_small(folder, watch):
    file = open_many(folder)
    with watch:
        total = sum(int(file.read_chunk(frame=i, name=NAMES[i % 10])[0]) for i in range(FRAMES))
    assert total == FRAMES * (FRAMES - 1) // 2


def read_large(folder, watch):
    file = gsd.fl.open(str(folder / "large.gsd"), "r")
    with watch:
        for i in range(200):
            assert file.read_chunk(frame=i, name="position").sum() == 1.5 * LARGE


def read_rows(folder, watch):
    file = gsd.fl.open(str(folder / "large.gsd"), "r")
    with watch:
        for i in range(200):
            assert file.read_chunk(frame=i, name="position")[50_000:50_100].size == 300


def write_large(folder, watch):
    values = numpy.full((LARGE // 3, 3), 1.5, dtype=numpy.float32)
    with watch:
        file = create(folder, "theirs-large.gsd")
        for _ in range(200):
            file.write_chunk("position", values)
            file.end_frame()
        file.close()


def write_small(folder, watch):
    steps, energy = numpy.arange(FRAMES, dtype=numpy.uint64), numpy.array([0.5])
    with watch:
        file = create(folder, "theirs-small.gsd")
        for i in range(FRAMES):
            file.write_chunk("step", steps[i : i + 1])
            file.write_chunk("energy", energy)
            file.end_frame()
        file.close()


def write_flushed(folder, watch):
    position = numpy.full((1000, 3), 0.5, dtype=numpy.float32)
    with watch:
        file = create(folder, "theirs-flushed.gsd")
        for i in range(200):
            file.write_chunk("step", numpy.array([i], dtype=numpy.uint64))
            file.write_chunk("position", position)
            file.end_frame()
            file.flush()
        file.close()


def read_frames(folder, watch):
    with gsd.hoomd.open(str(folder / "trajectory.gsd"), "r") as file:
        with watch:
            for i in range(200):
                assert file[i].particles.position[0, 0] == i


def read_log(folder, watch):
    with watch:
        log = gsd.hoomd.read_log(str(folder / "log.gsd"))
    assert log["log/energy"][7] == 7.0


serve({"gsd": {
    "open a file with a million entries": open_file,
    "find 100,000 of a million chunks": find,
    "read 100,000 small chunks": read_small,
    "sum 200 frames of 1.2 MB": read_large,
    "read 100 rows of 200 frames": read_rows,
    "write 200 frames of 1.2 MB": write_large,
    "write 100,000 small frames": write_small,
    "write 200 frames, each flushed": write_flushed,
    "read 200 HOOMD frames": read_frames,
    "read the log of 2000 HOOMD frames": read_log,
}})
