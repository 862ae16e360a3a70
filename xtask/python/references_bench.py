"""How long kerchunk, VirtualiZarr and the program take to make references, and how much memory, as a table of Markdown.

    references_bench.py PROGRAM DIR [CHUNKS [RUNS]]

The file has that many chunks of one 32-bit number, 100,000 by default, in a v1 B-tree and in a fixed array. Each tool runs in a process
of its own that includes its start, three times in turn with the others unless RUNS says otherwise; the fastest run of each counts. The
time is that of the processor, which other programs on the machine do not change; the time on the clock is told too. Memory is the
largest resident set of the process.

It runs with a Python of 3.12 or later that has kerchunk 0.2.10, virtualizarr 2.8.0 and obspec-utils 0.9.0.
"""

import sys
from importlib.metadata import version
from pathlib import Path

import h5py
import numpy

from references_measure import run

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2]).absolute()
CHUNKS = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
RUNS = int(sys.argv[4]) if len(sys.argv) > 4 else 3

KERCHUNK = """
import gc, sys
gc.disable()
import json
from kerchunk.hdf import SingleHdf5ToZarr
refs = SingleHdf5ToZarr(sys.argv[1], inline_threshold=0).translate()
json.dump(refs, open(sys.argv[2], "w"), default=lambda value: value.decode())
"""

VIRTUALIZARR = """
import sys
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr import open_virtual_dataset
from virtualizarr.parsers import HDFParser
registry = ObjectStoreRegistry({"file://": LocalStore()})
data = open_virtual_dataset("file://" + sys.argv[1], registry=registry, parser=HDFParser(), loadable_variables=[])
data.vz.to_kerchunk(sys.argv[2], format="json")
"""


def made(name, libver):
    """A file with so many chunks."""
    path = FOLDER / f"{name}-{CHUNKS}.h5"
    if not path.exists():
        with h5py.File(path, "w", libver=libver) as file:
            data = file.create_dataset("v", (CHUNKS,), "i4", chunks=(1,), compression="gzip", compression_opts=1)
            for start in range(0, CHUNKS, 10_000):
                data[start : start + 10_000] = numpy.arange(start, min(CHUNKS, start + 10_000), dtype="i4")
    return path


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    out = str(FOLDER / "out.json")
    print(f"| index, {CHUNKS:,} chunks | tool | processor | clock | memory | sciformats takes of the processor | of the memory |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name, libver in [("B-tree", "earliest"), ("fixed array", "latest")]:
        path = str(made(name.replace(" ", "-"), libver))
        tools = {
            "sciformats": [PROGRAM, "--quiet", "references", path, "-o", out, "--force"],
            f"kerchunk {version('kerchunk')}": [sys.executable, "-c", KERCHUNK, path, out],
            f"VirtualiZarr {version('virtualizarr')}": [sys.executable, "-c", VIRTUALIZARR, path, out],
        }
        best = {}
        for _ in range(RUNS):
            for tool, words in tools.items():
                found = run(words)
                best[tool] = tuple(map(min, best.get(tool, found), found))
        own = best["sciformats"]
        for tool, (processor, clock, memory) in best.items():
            ratio = "" if tool == "sciformats" else f"1/{processor / own[0]:.0f}"
            less = "" if tool == "sciformats" else f"{own[2] / memory:.3f}"
            print(f"| {name} | {tool} | {processor:.2f} s | {clock:.2f} s | {memory:.1f} MiB | {ratio} | {less} |", flush=True)
