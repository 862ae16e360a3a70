"""Random virtual datasets whose sources have grown, shrunk or gone: their shapes and elements follow from the mappings, one element after
another. Where no source is smaller than its mapping says, h5py must see the same; in smaller sources the C library reads beyond the end.

    hdf5_virtual_conform.py EXAMPLE DIR

The program `sciformats` is beside the example.
"""

import io
import itertools
import random
import subprocess
import sys
from math import prod
from pathlib import Path

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from checks import check

FOLDER = Path(sys.argv[2]).resolve()
PROGRAM = Path(sys.argv[1]).resolve().parent / "sciformats"
UNLIMITED = h5s.UNLIMITED
FILL = -7


def side(rng, length):
    """Start, stride, count and block of a side that has this many elements."""
    block = rng.choice([n for n in range(1, length + 1) if length % n == 0])
    return (rng.randrange(4), block + rng.randrange(3), length // block, block)


def endless(rng):
    """A side without an end: in its count, or in its only block."""
    block = rng.randint(1, 3)
    return rng.choice([(rng.randrange(3), block + rng.randrange(3), UNLIMITED, block), (rng.randrange(3), 1, 1, UNLIMITED)])


def taken(side, room):
    """The indices of a side, which has an end or ends at `room`."""
    start, stride, count, block = side
    if block == UNLIMITED:
        return list(range(start, max(start, room)))
    counts = range(count) if count != UNLIMITED else itertools.takewhile(lambda n: start + n * stride < room, itertools.count())
    all_of_it = [start + n * stride + k for n in counts for k in range(block)]
    return all_of_it if count != UNLIMITED else [at for at in all_of_it if at < room]


def first(side, elements):
    """The first indices of a side without an end."""
    start, stride, _, block = side
    return [start + (n if block == UNLIMITED else n // block * stride + n % block) for n in range(elements)]


def end(side):
    return side[0] + side[1] * (side[2] - 1) + side[3]


def space(shape, sides):
    grows = sides is not None and any(UNLIMITED in side for side in sides)
    made = h5s.create_simple(tuple(shape), (UNLIMITED,) * len(shape) if grows else None)
    if sides is not None:
        start, stride, count, block = zip(*sides)
        made.select_hyperslab(start, count, stride, block)
    return made


class Mapping:
    """A mapping, the shape that its sources had, and those that they have now; `None` for one that is missing."""

    def __init__(self, rng, number, rank, axis):
        self.kind = rng.choice(["fixed", "growing", "numbered"])
        self.axis, self.name = axis, f"d{number}" + "_%b" * (self.kind == "numbered")
        lengths = [rng.randint(1, 4) for _ in range(rank)]
        self.target = [side(rng, length) for length in lengths]
        self.source = [side(rng, length) for length in lengths]
        self.other = rng.random() < 0.8
        if self.kind == "growing":
            self.target[axis], self.source[axis] = endless(rng), endless(rng)
        elif self.kind == "numbered":
            block = lengths[axis]
            self.target[axis] = (rng.randrange(3), block + rng.randrange(3), UNLIMITED, block)
        self.had = [rng.randrange(1, 7) if UNLIMITED in s else end(s) + rng.randrange(2) for s in self.source]
        if self.kind != "growing" and rng.random() < 0.3:
            self.source, self.had = None, lengths
        count = rng.randint(1, 4) if self.kind == "numbered" else 1
        changes = [rng.choice([(0,), (0,), (0, 1, 2), (-2, -1, 0, 1), None]) for _ in range(count)]
        if self.source is None:
            # It is not known which elements a whole source had, unless it is numbered and the first one has its shape still.
            changes = [change if change is None or self.kind == "numbered" and n else (0,) for n, change in enumerate(changes)]
        now = [change and [max(0, n + rng.choice(change)) for n in self.had] for change in changes]
        self.now = [shape and (shape, np.arange(1, prod(shape) + 1).reshape(shape) + 1000 * n + 100_000 * number) for n, shape in enumerate(now)]

    def shrunk(self):
        def lost(shape):
            before = [n if UNLIMITED in s else end(s) for n, s in zip(self.had, self.source or [(0, 1, 1, n) for n in self.had])]
            return any(now < n for now, n in zip(shape, before))

        return any(lost(at[0]) for at in self.now if at)

    def changed(self):
        return any(at and at[0] != self.had for at in self.now)

    def parts(self):
        """The places and the values of the elements that there are, and where they end along the axis."""
        source = self.source or [(0, 1, 1, n) for n in self.had]
        places, reach = {}, 0
        there = list(itertools.takewhile(lambda at: at is not None, self.now))
        for number, (shape, values) in enumerate(there):
            of_source = [taken(side, n) for side, n in zip(source, shape)]
            start, stride, _, block = self.target[self.axis]
            of_target = [taken(side, 0) if UNLIMITED not in side else None for side in self.target]
            if self.kind == "growing":
                of_target[self.axis] = first(self.target[self.axis], len(of_source[self.axis]))
                reach = max(reach, max(of_target[self.axis], default=-1) + 1)
            elif self.kind == "numbered":
                of_target[self.axis] = [start + number * stride + k for k in range(block)]
                reach = max(reach, of_target[self.axis][-1] + 1)
            for to, at in zip(itertools.product(*of_target), itertools.product(*of_source)):
                places[to] = int(values[at]) if all(i < n for i, n in zip(at, shape)) else None
        if self.kind == "fixed":
            reach = end(self.target[self.axis])
        return places, reach


class Layout:
    """A virtual dataset, whose mappings do not overlap."""

    def __init__(self, seed):
        rng = random.Random(seed)
        rank = rng.randint(1, 3)
        axis = rng.randrange(rank)
        self.mappings = [Mapping(rng, number, rank, axis) for number in range(rng.randint(1, 3))]
        grows = any(mapping.kind != "fixed" for mapping in self.mappings)
        self.stored = [max(end(m.target[n]) if UNLIMITED not in m.target[n] else 1 for m in self.mappings) for n in range(rank)]
        self.most = [UNLIMITED if grows and n == axis else length for n, length in enumerate(self.stored)]
        shape = list(self.stored)
        parts = [mapping.parts() for mapping in self.mappings]
        if grows:
            shape[axis] = max(reach for _, reach in parts)
        self.values = np.full(shape, FILL, "<i4")
        self.overlaps = sum(len(places) for places, _ in parts) != len(set().union(*(places for places, _ in parts)))
        for places, _ in parts:
            for to, value in places.items():
                if value is not None:
                    self.values[to] = value

    def write(self, name):
        with h5py.File(FOLDER / f"{name}_sources.h5", "w") as sources, h5py.File(FOLDER / f"{name}.h5", "w", libver="latest") as file:
            creation = h5p.create(h5p.DATASET_CREATE)
            creation.set_fill_value(np.array(FILL, "<i4"))
            for mapping in self.mappings:
                of = f"{name}_sources.h5" if mapping.other else "."
                target, source = space(self.stored, mapping.target), space(mapping.had, mapping.source)
                creation.set_virtual(target, of.encode(), mapping.name.encode(), source)
                for number, at in enumerate(mapping.now):
                    if at is not None:
                        place = sources if mapping.other else file
                        grows = {"maxshape": [None] * len(at[0]), "chunks": (2,) * len(at[0])}
                        made = place.create_dataset(mapping.name.replace("%b", str(number)), mapping.had, "<i4", fillvalue=FILL, **grows)
                        made.resize(at[0])
                        made[...] = at[1]
            h5d.create(file.id, b"v", h5t.STD_I32LE, h5s.create_simple(tuple(self.stored), tuple(self.most)), creation)


def ours(path):
    done = subprocess.run([PROGRAM, "cat", "--raw", "--format", "npy", path, "/v"], capture_output=True, check=True)
    return np.load(io.BytesIO(done.stdout))


def theirs(path):
    """What h5py reads, if it reads at all: the C library refuses some selections whose last block is cut off."""
    with h5py.File(path) as file:
        try:
            return file["v"][...]
        except OSError:
            return None


def layouts(seeds):
    made = [(seed, layout) for seed, layout in ((seed, Layout(seed)) for seed in seeds) if not layout.overlaps]
    compared = 0
    for seed, layout in made:
        name = f"random{seed}"
        layout.write(name)
        path = FOLDER / f"{name}.h5"
        found = ours(path)
        assert found.shape == layout.values.shape, f"seed {seed}: {found.shape} and not {layout.values.shape}"
        assert np.array_equal(found, layout.values), f"seed {seed}: {found.tolist()} and not {layout.values.tolist()}"
        if not any(mapping.shrunk() or mapping.source is None and mapping.changed() for mapping in layout.mappings):
            values = theirs(path)
            if values is not None:
                assert np.array_equal(values, found), f"seed {seed}: h5py has {values.tolist()} and not {found.tolist()}"
                compared += 1
    assert compared > len(seeds) // 10, f"only {compared} layouts were compared with h5py"


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    check("random virtual datasets", lambda: layouts(range(150)))
