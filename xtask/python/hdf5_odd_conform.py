"""Short and odd chunks through every filter and pipelines of them: we filter them, and the C libraries undo the filters.

    hdf5_odd_conform.py EXAMPLE DIR [SEED]

EXAMPLE is our side, the example `hdf5_conformance` of hdf5-pure, and the program `sciformats` is beside it. h5py reads with the filters of
HDF5 and of hdf5plugin. The inputs are the same in every run, unless another seed is given.
"""

import random
import subprocess
import sys
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401, the library finds the filters by it
import numpy as np
from h5py import h5d, h5s, h5t

from odd_inputs import Tally, content, length

EXAMPLE, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
NUMBERS = ("i1", "u1", "<i2", ">u2", "<i4", "<u4", ">i4", "<i8", "<u8", "<f4", ">f4", "<f8")
INTEGERS = tuple(kind for kind in NUMBERS if "f" not in kind)
# Elements of sizes that are no number's.
OTHERS = ("V3", "V7", "V16")
LEVELS = {"deflate": (0, 1, 6, 9), "bzip2": (1, 9), "zstd": (1, 3, 19)}
CODECS, SHUFFLES = ("blosclz", "lz4", "lz4hc", "zlib", "zstd"), ("none", "bytes", "bits")
# The filters, and the types that each can be applied to.
FILTERS = {
    "deflate": NUMBERS + OTHERS, "shuffle": NUMBERS + OTHERS, "fletcher32": NUMBERS + OTHERS, "lzf": NUMBERS + OTHERS, "szip": NUMBERS,
    "nbit": NUMBERS, "scaleoffset": INTEGERS, "lz4": NUMBERS + OTHERS, "bzip2": NUMBERS + OTHERS, "zstd": NUMBERS + OTHERS,
    "bitshuffle": NUMBERS + OTHERS, "bitshuffle:lz4": NUMBERS + OTHERS, "bitshuffle:zstd": NUMBERS + OTHERS, "blosc": NUMBERS + OTHERS,
    "blosc2": NUMBERS + OTHERS,
}
SINGLE, PIPELINES, ZFP = 20, 450, 40
# Chunks of a dataset.
COUNT = 12


def word(chance, name):
    """A filter with its parameters, as our side takes it."""
    if name in LEVELS:
        return f"{name}:{chance.choice(LEVELS[name])}"
    if name == "szip":
        return f"szip:{chance.choice(('ec', 'nn'))}:{chance.choice((2, 4, 8, 16, 32))}"
    if name == "lz4" and chance.randrange(2):
        return f"lz4:{chance.randint(1, 400)}"
    if name in ("blosc", "blosc2"):
        return f"{name}:{chance.choice(CODECS)}:{chance.randint(0, 9)}:{chance.choice(SHUFFLES)}"
    return name


def datatype(chance, kind):
    """The type of the file; integers sometimes have fewer bits than their bytes, which are not the lowest."""
    found, bits = h5t.py_create(np.dtype(kind)).copy(), None
    if "i" in kind or "u" in kind:
        size = 8 * np.dtype(kind).itemsize
        if chance.randrange(2):
            # The library refuses types of several bytes that could have half of them.
            bits = chance.randint(2 if size == 8 else size // 2 + 1, size)
            found.set_precision(bits)
            found.set_offset(chance.randint(0, size - bits))
    return found, bits


def elements(chance, kind, count, bits):
    """Elements that the type of the file can hold."""
    dtype = np.dtype(kind)
    data = np.frombuffer(content(chance, count * dtype.itemsize, dtype.itemsize), dtype).copy()
    if bits and "u" in kind:
        data &= dtype.type((1 << bits) - 1)
    elif bits:
        # The sign is the highest of the bits.
        top = 8 * dtype.itemsize - bits
        data = ((data << top) >> top).astype(dtype)
    return data


def dataset(file, chance, name, filters):
    """A dataset with what its copy shall have; returns its elements. The last chunk may be a part of one."""
    allowed = [kind for kind in NUMBERS + OTHERS if all(kind in FILTERS[each] for each in filters)]
    kind = chance.choice(allowed)
    words = [word(chance, each) for each in filters]
    # The library refuses blocks of szip that are larger than a chunk.
    least = max((int(each.rsplit(":")[-1]) for each in words if each.startswith("szip")), default=1)
    chunk = max(length(chance), least)
    stored, bits = datatype(chance, kind)
    count = chunk * COUNT
    data = np.concatenate([elements(chance, kind, chunk, bits) for _ in range(COUNT)])[: count - chance.choice((0, 0, chunk // 2))]
    made = h5d.create(file.id, name.encode(), stored, h5s.create_simple(data.shape))
    made.write(h5s.ALL, h5s.ALL, data)
    made = h5py.Dataset(made)
    made.attrs["filters"], made.attrs["chunk"] = " ".join(words), np.array([chunk], "<u8")
    return f"{kind} of {bits} bits, chunk {chunk}, {' '.join(words)}", data


def run(case, pipelines, label):
    """Compares each dataset with what h5py reads of our file. At most half of them may be refused, because a filter that is mandatory cannot
    be applied to what comes out of the one before."""
    plain, ours = FOLDER / f"plain-{label}.h5", FOLDER / f"ours-{label}.h5"
    ours.unlink(missing_ok=True)
    tally, made = Tally(case, SEED), {}
    with h5py.File(plain, "w") as file:
        for number, (chance, filters) in enumerate(pipelines):
            made[f"{number:04}"] = dataset(file, chance, f"{number:04}", filters)
    refused = subprocess.run([EXAMPLE, "filter", plain, ours], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    if 2 * len(refused) > len(made):
        tally.failed.append(f"{len(refused)} are refused, such as {made[refused[0]][0]}")
    compare(tally, ours, {name: given for name, given in made.items() if name not in refused})


def compare(tally, path, made):
    with h5py.File(path) as file:
        for name, (about, data) in made.items():
            tally.compare(f"{name}: {about}", lambda: file[name][...].astype(data.dtype).tobytes(), data.tobytes())
    tally.tell()


def singles(name):
    chance = random.Random(f"{SEED} {name}")
    return [(chance, (name,)) for _ in range(SINGLE)]


def pipelines(stages):
    """Filters in any order: what is between two of them need not be whole elements."""
    chance = random.Random(f"{SEED} {stages}")
    return [(chance, chance.sample(sorted(FILTERS), stages)) for _ in range(PIPELINES)]


def behind(name):
    """A filter behind those that rearrange the elements, or change the length by a part of one."""
    chance = random.Random(f"{SEED} behind {name}")
    return [(chance, (chance.choice(("shuffle", "fletcher32", "lzf", "lz4", "bitshuffle:zstd")), name)) for _ in range(SINGLE)]


def zfp():
    """Reversible zfp, which the program writes."""
    chance, made = random.Random(f"{SEED} zfp"), {}
    with h5py.File(FOLDER / "plain-zfp.h5", "w") as file:
        for number in range(ZFP):
            kind, rank = chance.choice(("<i4", "<i8", "<f4", "<f8")), chance.randint(1, 3)
            chunk = tuple(chance.randint(1, (200, 20, 9)[rank - 1]) for _ in range(rank))
            shape = tuple(side * chance.randint(1, 2) + chance.randint(0, side - 1) for side in chunk)
            data = np.frombuffer(content(chance, 2 * int(np.prod(shape)), 2), "<i2").astype(kind).reshape(shape)
            made[f"{number:04}"] = f"{kind}, shape {shape}, chunk {chunk}", data
            file.create_dataset(f"{number:04}", data=data, chunks=chunk)
    (FOLDER / "ours-zfp.h5").unlink(missing_ok=True)
    program = EXAMPLE.parent / "sciformats"
    subprocess.run([program, "--quiet", "repack", "--filter", "zfp", FOLDER / "plain-zfp.h5", FOLDER / "ours-zfp.h5"], check=True)
    compare(Tally("odd: zfp", SEED), FOLDER / "ours-zfp.h5", made)


def main():
    for name in FILTERS:
        run(f"odd: {name}", singles(name), name.replace(":", "-"))
    for name in ("szip", "nbit", "scaleoffset", "blosc", "blosc2"):
        run(f"odd: {name} behind another filter", behind(name), f"behind-{name.replace(':', '-')}")
    for stages in (2, 3):
        run(f"odd: {stages} filters", pipelines(stages), stages)
    zfp()


main()
