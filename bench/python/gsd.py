"""The Python peer of the GSD bench: the reference library."""

import sys

# This script has the library's name, and Python looks beside the script first.
here = sys.path.pop(0)
import gsd.fl
import gsd.hoomd
import numpy

sys.path.insert(0, here)
from worker import serve

FRAMES = 10_000
FIELDS = ["position", "velocity", "acceleration", "force", "torque", "angmom"]
NUMBERS = 3000
RANDOM = 1000
STRIDE = 7919
APPENDED = 30
MANY = 100_000
NAMES = [f"n{i}" for i in range(10)]
LARGE = 300_000


def create(folder, name):
    return gsd.fl.open(str(folder / name), "w", application="bench", schema="bench", schema_version=[1, 0])


def value(frame, field):
    return frame % 100 + field / 8


def write(folder, watch):
    values = numpy.zeros((NUMBERS // 3, 3), dtype=numpy.float32)
    with watch:
        file = create(folder, "theirs-frames.gsd")
        for frame in range(FRAMES):
            for field, name in enumerate(FIELDS):
                values.fill(value(frame, field))
                file.write_chunk(name, values)
            file.end_frame()
        file.close()
    (folder / "theirs-frames.gsd").unlink()


def look_at(file, frame):
    for field, name in enumerate(FIELDS):
        assert file.read_chunk(frame=frame, name=name).sum() == value(frame, field) * NUMBERS


def random(folder, watch):
    file = gsd.fl.open(str(folder / "frames.gsd"), "r")
    with watch:
        for i in range(RANDOM):
            look_at(file, i * STRIDE % FRAMES)


def scan(folder, watch):
    file = gsd.fl.open(str(folder / "frames.gsd"), "r")
    with watch:
        for frame in range(FRAMES):
            look_at(file, frame)


def random_of_many(folder, watch):
    file = open_many(folder)
    with watch:
        for i in range(RANDOM):
            frame = i * STRIDE % MANY
            for name in NAMES:
                assert file.read_chunk(frame=frame, name=name)[0] == frame


def append(folder, watch):
    value = numpy.array([7], dtype=numpy.uint64)
    with watch:
        for _ in range(APPENDED):
            file = gsd.fl.open(str(folder / "theirs-many.gsd"), "a")
            for name in NAMES:
                file.write_chunk(name, value)
            file.end_frame()
            file.close()


def open_many(folder):
    return gsd.fl.open(str(folder / "many.gsd"), "r")


def open_file(folder, watch):
    with watch:
        file = open_many(folder)
    assert file.nframes == MANY


def find(folder, watch):
    file = open_many(folder)
    with watch:
        found = sum(file.chunk_exists(frame=i, name=NAMES[i % 10]) for i in range(MANY))
    assert found == MANY


def read_small(folder, watch):
    file = open_many(folder)
    with watch:
        total = sum(int(file.read_chunk(frame=i, name=NAMES[i % 10])[0]) for i in range(MANY))
    assert total == MANY * (MANY - 1) // 2


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
    steps, energy = numpy.arange(MANY, dtype=numpy.uint64), numpy.array([0.5])
    with watch:
        file = create(folder, "theirs-small.gsd")
        for i in range(MANY):
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
    "write 10,000 frames × 6 chunks of 1,000 particles": write,
    "open a file of 1 M entries": open_file,
    "read 1,000 random frames of 10,000 × 6": random,
    "read 1,000 random frames of 1 M entries": random_of_many,
    "read 10,000 × 6 chunks in turn": scan,
    "append a frame to 1 M entries, 30 times": append,
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
