"""How long kerchunk, VirtualiZarr and the program take to make references, and how much memory, as a table of Markdown.

    references_bench.py PROGRAM DIR [CHUNKS]

The file has that many chunks of one 32-bit number, 100,000 by default, in a v1 B-tree and in a fixed array. Each tool runs in a process
of its own that includes its start, three times in turn with the others; the fastest run of each counts. Memory is the largest resident
set of the process.
"""

import os
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import h5py
import numpy

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2]).absolute()
CHUNKS = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000

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


def run(words):
    """The seconds and the peak memory in MiB of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{words[:2]} ended with {process.returncode}: {said.decode(errors='replace')[-500:]}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    out = str(FOLDER / "out.json")
    print(f"| index, {CHUNKS:,} chunks | tool | time | memory | time of sciformats | memory of sciformats |")
    print("|---|---|--:|--:|--:|--:|")
    for name, libver in [("B-tree", "earliest"), ("fixed array", "latest")]:
        path = str(made(name.replace(" ", "-"), libver))
        tools = {
            "sciformats": [PROGRAM, "--quiet", "references", path, "-o", out, "--force"],
            f"kerchunk {version('kerchunk')}": [sys.executable, "-c", KERCHUNK, path, out],
            f"VirtualiZarr {version('virtualizarr')}": [sys.executable, "-c", VIRTUALIZARR, path, out],
        }
        best = {}
        for _ in range(3):
            for tool, words in tools.items():
                found = run(words)
                before = best.get(tool, found)
                best[tool] = (min(before[0], found[0]), min(before[1], found[1]))
        own = best["sciformats"]
        for tool, (seconds, memory) in best.items():
            ratio = "" if tool == "sciformats" else f"{own[0] / seconds:.3f} of it"
            less = "" if tool == "sciformats" else f"{own[1] / memory:.3f} of it"
            print(f"| {name} | {tool} | {seconds:.2f} s | {memory:.1f} MiB | {ratio} | {less} |", flush=True)
