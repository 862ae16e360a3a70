"""Datasets of thousands of chunks that h5py and we change in turn: rows come and go, chunks are written anew, and the index
of the chunks is changed in place by both.

    hdf5_chunks_conform.py PROGRAM DIR   PROGRAM is our side, the example `hdf5_conformance` of hdf5-pure; DIR is for files

A check is a line of JSON, as everywhere in the conformance run.
"""

import os
import random
import subprocess
import sys

import h5py
import numpy as np

from hdf5_data_conform import PATIENCE, checked, same
from hdf5_life_conform import ask

MOST = (300, 40)
ROUNDS = 12
EDITS = 14

# Datasets, by the index that the library gives them with each version of the format.
FIXED, ROWS, COLUMNS, BOTH = MOST, (None, MOST[1]), (MOST[0], None), (None, None)
# Chunks that are compressed grow by it where they are small. They must not be stored as they are, with a note that the filter
# was skipped: where the library then compresses one to as many bytes as before, it leaves the note as it is.
FILTERS = {
    "plain": {"chunks": (2, 2)},
    "gzip": {"chunks": (2, 2), "compression": "gzip", "shuffle": True},
    "checked": {"chunks": (2, 2), "fletcher32": True},
}


def datasets():
    for name, maxshape in [("fixed", FIXED), ("rows", ROWS), ("columns", COLUMNS), ("both", BOTH)]:
        for filters, options in FILTERS.items():
            yield f"{name}_{filters}", {"maxshape": maxshape, **options}
    yield "wide_chunks", {"chunks": (7, 40), "maxshape": ROWS, "compression": "gzip"}
    yield "one_element", {"chunks": (1, 1), "maxshape": ROWS}


def early(file, name):
    """All chunks have their place from the start: with the newer versions there is no index."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((2, 2))
    plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    space = h5py.h5s.create_simple((60, 40), MOST)
    h5py.h5d.create(file.id, name.encode(), h5py.h5t.STD_I32LE, space, plist)


def create(path, low, k):
    """A file whose version 1 B-trees have nodes of two times `k` children."""
    creation, access = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(low, h5py.h5f.LIBVER_LATEST)
    ask("H5Pset_istore_k", creation, k)
    models = {}
    with h5py.File(h5py.h5f.create(os.fsencode(path), h5py.h5f.ACC_TRUNC, creation, access)) as file:
        for name, options in datasets():
            models[name] = np.arange(60 * 40, dtype="<i4").reshape(60, 40)
            file.create_dataset(name, data=models[name], **options)
        early(file, "early")
        file["early"][...] = models["rows_plain"]
        models["early"] = models["rows_plain"].copy()
        models["sparse"] = np.zeros((60, 40), "<i4")
        file.create_dataset("sparse", (60, 40), "<i4", chunks=(2, 2), maxshape=ROWS)
        models["empty"] = np.zeros((0, 40), "<i4")
        file.create_dataset("empty", (0, 40), "<i4", chunks=(2, 2), maxshape=BOTH)
    return models


def steps(models, chance):
    """Edits of a round, one for each of some datasets; the models take them too."""
    done = []
    for name in chance.sample(sorted(models), EDITS):
        model = models[name]
        kind = chance.randrange(4)
        if kind > 1 and 0 not in model.shape:
            sides = []
            for size in model.shape:
                start = chance.randrange(size)
                sides += [start, chance.choice([1, chance.randrange(1, size - start + 1)])]
            done.append(("write", name, (chance.randrange(10_000), *sides)))
            put(model, done[-1][2])
            continue
        shape = (min(MOST[0], model.shape[0] + chance.randrange(1, 40)), model.shape[1])
        if kind == 0:
            shape = (chance.randrange(MOST[0] + 1), chance.choice([model.shape[1], chance.randrange(MOST[1] + 1)]))
        done.append(("resize", name, shape))
        models[name] = resized(model, shape)
    return done


def resized(model, shape):
    new = np.zeros(shape, model.dtype)
    rows, columns = (min(a, b) for a, b in zip(shape, model.shape))
    new[:rows, :columns] = model[:rows, :columns]
    return new


def put(target, numbers):
    first, row, rows, column, columns = numbers
    values = (first + np.arange(rows * columns) * 7) % 10_007
    target[row : row + rows, column : column + columns] = values.reshape(rows, columns)


def by_h5py(path, done):
    with h5py.File(path, "r+") as file:
        for what, name, numbers in done:
            if what == "resize":
                file[name].resize(numbers)
            else:
                put(file[name], numbers)


def by_us(program, path, done, chance):
    lines = []
    for what, name, numbers in done:
        lines.append(f"{what} {name} {' '.join(map(str, numbers))}")
        if chance.randrange(3) == 0:
            lines.append("commit")
    lines.append("commit")
    ran = subprocess.run(
        [program, "chunk-edits", path], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=PATIENCE
    )
    if ran.returncode != 0:
        raise RuntimeError(f"chunk-edits ended with {ran.returncode}: {ran.stderr.strip()}")


def look(path, models, when):
    with h5py.File(path, "r") as file:
        for name, model in models.items():
            same(file[name][...], model, f"{when}, {name}")


def in_turn(program, path, low, k, seed):
    chance = random.Random(seed)
    models = create(path, low, k)
    for number in range(ROUNDS):
        done = steps(models, chance)
        if number % 2 == 0:
            by_us(program, path, done, chance)
        else:
            by_h5py(path, done)
        look(path, models, f"round {number}")
    # What is left is taken out by us, and comes back by the library.
    everything = [("resize", name, (0, model.shape[1])) for name, model in models.items()]
    by_us(program, path, everything, chance)
    back = [("resize", name, (300, model.shape[1])) for name, model in models.items()]
    by_h5py(path, back)
    for name, model in models.items():
        models[name] = np.zeros((300, model.shape[1]), model.dtype)
    look(path, models, "grown again")


def main():
    program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    versions = {"earliest": h5py.h5f.LIBVER_EARLIEST, "v110": h5py.h5f.LIBVER_V110, "latest": h5py.h5f.LIBVER_LATEST}
    for version, low in versions.items():
        for k in [2, 32] if version == "earliest" else [32]:
            for seed in range(4):
                path = os.path.join(folder, f"chunks_{version}_{k}_{seed}.h5")
                case = f"chunks: {version}, nodes of {2 * k}, {seed}"
                checked(case, "edited there", lambda: in_turn(program, path, low, k, seed))


if __name__ == "__main__":
    main()
