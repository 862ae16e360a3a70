"""What kerchunk, VirtualiZarr and the program make of the same datasets, as a table of Markdown.

    references_peers.py PROGRAM DIR

Each dataset is a file of its own, which h5py writes and reads. A tool makes references to it, which zarr-python or xarray reads:
`right` if the values are those of h5py, `wrong` if there are others, `refused` if the tool says that it cannot, `missing` if the dataset
is left out without an error. With the environment variable SCIFORMATS_CODECS, the codecs of the Python package are used too.
"""

import json
import logging
import os
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import fsspec
import h5py
import numpy
import zarr

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2]).absolute()
VALUES = (numpy.arange(60, dtype="i4").reshape(6, 10) * 7919) % 10007


def written(name, make):
    """A file with the dataset `v`, and its values."""
    path = FOLDER / f"{name.replace(' ', '-')}.h5"
    with h5py.File(path, "w", libver="latest") as file:
        make(file)
    with h5py.File(path) as file:
        values = file["v"][...]
        if h5py.check_ref_dtype(file["v"].dtype):
            # References to objects become their paths.
            values = file[file["v"][()]].name
        return path, values


def pipeline(file, **more):
    file.create_dataset("v", data=VALUES, chunks=(4, 4), **more)


def compact(file):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    made = h5py.h5d.create(file.id, b"v", h5py.h5t.STD_I32LE, h5py.h5s.create_simple((6, 10)), plist)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, VALUES)


def masked(file):
    made = file.create_dataset("v", (16,), "i4", chunks=(8,), compression="gzip")
    made[:8] = VALUES.ravel()[:8]
    made.id.write_direct_chunk((8,), VALUES.ravel()[8:16].tobytes(), filter_mask=1)


def virtual(file):
    file.create_dataset("source", data=VALUES)
    layout = h5py.VirtualLayout((6, 10), "i4")
    layout[...] = h5py.VirtualSource(".", "source", (6, 10))
    file.create_virtual_dataset("v", layout)


def compound(file, **more):
    rows = numpy.zeros(12, [("a", "<i4"), ("b", "<f8")])
    rows["a"], rows["b"] = range(12), numpy.linspace(0, 1, 12)
    file.create_dataset("v", data=rows, **more)


def n_bit(file):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((4, 4))
    plist.set_filter(5, 0, ())
    kind = h5py.h5t.STD_I32LE.copy()
    kind.set_precision(15)
    made = h5py.h5d.create(file.id, b"v", kind, h5py.h5s.create_simple((6, 10)), plist)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, VALUES)


CASES = {
    "contiguous": lambda file: file.create_dataset("v", data=VALUES),
    "compact": compact,
    "chunked": pipeline,
    "big-endian": lambda file: file.create_dataset("v", data=VALUES.astype(">i4"), chunks=(4, 4)),
    "gzip": lambda file: pipeline(file, compression="gzip"),
    "shuffle and gzip": lambda file: pipeline(file, compression="gzip", shuffle=True),
    "Fletcher32": lambda file: pipeline(file, fletcher32=True),
    "gzip and Fletcher32": lambda file: pipeline(file, compression="gzip", fletcher32=True),
    "LZF": lambda file: pipeline(file, compression="lzf"),
    "szip": lambda file: pipeline(file, compression="szip"),
    "scale-offset": lambda file: pipeline(file, scaleoffset=0),
    "n-bit": n_bit,
    "chunks that skip filters": masked,
    "missing chunks": lambda file: file.create_dataset("v", (100,), "f4", chunks=(10,), fillvalue=3.5).__setitem__(slice(20, 30), 1),
    "compound": compound,
    "compound with gzip": lambda file: compound(file, chunks=(4,), compression="gzip"),
    "booleans": lambda file: file.create_dataset("v", data=VALUES % 3 == 0, chunks=(4, 4)),
    "fixed texts": lambda file: file.create_dataset("v", data=numpy.array([b"one", b"two", b"three"])),
    "variable texts": lambda file: file.create_dataset("v", data=["one", "two", "three"]),
    "references to objects": lambda file: file.create_dataset("v", data=file.ref, dtype=h5py.ref_dtype),
    "virtual": virtual,
    "empty": lambda file: file.create_dataset("v", (0, 3), "f4", chunks=(2, 3), maxshape=(None, 3)),
    "scalar": lambda file: file.create_dataset("v", data=2.5),
}


def plain(values):
    """Values as lists, with texts decoded."""
    if isinstance(values, bytes):
        return values.rstrip(b"\0").decode()
    if isinstance(values, (list, tuple)):
        return [plain(value) for value in values]
    if hasattr(values, "tolist"):
        return plain(values.tolist())
    return values


def judged(found, wanted):
    same = plain(found) == plain(wanted) and numpy.shape(found) == numpy.shape(wanted)
    return "right" if same else "**wrong**"


def through_zarr(refs, wanted):
    fs = fsspec.filesystem("reference", fo=refs, remote_protocol="file", asynchronous=True, remote_options={"asynchronous": True}, skip_instance_cache=True)
    root = zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True), mode="r", zarr_format=2, use_consolidated=False)
    if "v" not in root:
        return "**missing**"
    return judged(root["v"][...], wanted)


def by_kerchunk(path, wanted):
    import gc

    from kerchunk.hdf import SingleHdf5ToZarr

    gc.disable()  # without this, h5py's lock and the threads of zarr wait for each other
    try:
        refs = SingleHdf5ToZarr(str(path)).translate()
    finally:
        gc.enable()
    refs = {key: value.decode() if isinstance(value, bytes) else value for key, value in refs["refs"].items()}
    return through_zarr({"version": 1, "refs": refs}, wanted)


def by_virtualizarr(path, wanted):
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import HDFParser

    url = f"file://{path}"
    store = HDFParser()(url, ObjectStoreRegistry({"file://": LocalStore()}))
    root = zarr.open_group(store, mode="r", zarr_format=3)
    if "v" not in root:
        return "**missing**"
    return judged(root["v"][...], wanted)


def by_program(path, wanted):
    out = path.with_suffix(".json")
    codecs = ["--codecs"] if os.environ.get("SCIFORMATS_CODECS") else []
    done = subprocess.run([PROGRAM, "references", str(path), "-o", str(out), "--force", "--json", *codecs], capture_output=True, text=True)
    lines = map(json.loads, done.stderr.splitlines())
    told = {line["path"]: line for line in lines if "treatment" in line}
    word = told["/v"]["treatment"]
    if word == "refused":
        return "refused"
    found = through_zarr(str(out), wanted)
    return f"{found}, inlined" if word == "inlined" else found


def tried(tool, path, wanted):
    """What a tool makes of a file. An error is a refusal, and reading damaged bytes is none."""
    try:
        return tool(path, wanted)
    except Exception as error:
        return f"refused ({type(error).__name__})"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    names = [f"kerchunk {version('kerchunk')}", f"VirtualiZarr {version('virtualizarr')}", "sciformats"]
    print(f"| dataset | {' | '.join(names)} |")
    print("|---|---|---|---|")
    for name, make in CASES.items():
        path, wanted = written(name, make)
        row = [tried(tool, path, wanted) for tool in (by_kerchunk, by_virtualizarr, by_program)]
        print(f"| {name} | {' | '.join(row)} |", flush=True)
