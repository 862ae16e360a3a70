"""The libraries in C and C++ beside our filters: called alone, or as filters of libhdf5 for files in memory.

    filters.py NAME FOLDER         serves the bench, see worker.py
    filters.py prepare KEY FOLDER  writes the data of a row, and what the library makes of it

The data of the row KEY are in `data KEY`, and the stream of the library in `coded KEY`, or in the file `file KEY`. Where the library does
not give back what it got, `plain KEY` is what it gives.
"""

import os
import sys
import zlib
from functools import partial
from pathlib import Path

# One thread on both sides. The libraries read this when they are loaded.
os.environ["OMP_NUM_THREADS"] = "1"

import fabio.compression
import h5py
import hdf5plugin
import imagecodecs
import lzallright
import numpy as np
import vbz_h5py_plugin  # noqa: F401, the library finds the filter by it
from h5py import h5d, h5p, h5s, h5t, h5z

import worker

LINES, COLUMNS = 2048, 2048
CHUNK = 1 << 20
VBZ = 32020
# Options, samples of a block, bits of a sample, samples of a line: with and without prediction.
SZIP = {"szip, prediction": (169, 32, 16, 1024), "szip, entropy": (141, 32, 16, 1024)}
ZFP = {"zfp, rate": ("r", 8), "zfp, precision": ("p", 16), "zfp, accuracy": ("a", 0.01), "zfp, reversible": ("R", None)}
# Bits that are kept, or decimal digits.
ROUNDING = {"BitRound": ("bitround", 10), "BitGroom": ("bitgroom", 3), "Granular BitRound": ("granularbr", 3)}

kept = {}


def counts():
    """Counts of a detector over a smooth background: 8 MiB."""
    y, x = np.mgrid[:LINES, :COLUMNS]
    return np.random.default_rng(1).poisson(200 + 100 * np.sin(x / 50) * np.cos(y / 70)).astype("<u2")


def image():
    """The same with eight bits."""
    return np.minimum(counts() // 2, 255).astype("u1")


def field():
    """A temperature over a region, with noise in the last digits: 8 MiB."""
    y, x = np.mgrid[: LINES // 2, :COLUMNS]
    noise = np.random.default_rng(2).normal(0, 0.01, y.shape)
    return (np.sin(x / 50) * np.cos(y / 70) * 20 + 280 + noise).astype("<f4")


def frame():
    """A frame of an X-ray detector, nearly dark, with peaks: 8 MiB."""
    random = np.random.default_rng(3)
    data = random.poisson(3, (LINES // 2, COLUMNS)).astype("<i4")
    data[random.integers(0, LINES // 2, 2000), random.integers(0, COLUMNS, 2000)] = random.integers(1000, 100_000, 2000)
    return data


def signal():
    """A current through a nanopore, whose level changes every few samples: 8 MiB."""
    random = np.random.default_rng(4)
    levels = np.repeat(random.integers(300, 700, 500_000), random.integers(4, 20, 500_000))[: 4 << 20]
    return (levels + random.normal(0, 6, levels.size)).astype("<i2")


def records():
    """Measurements of stations, one record after another: about 8 MiB."""
    random = np.random.default_rng(5)
    data = np.zeros(262_144, [("time", "<i8"), ("id", "<i4"), ("t", "<f4"), ("rain", "<f4"), ("flag", "u1"), ("name", "S11")])
    data["time"] = 1_700_000_000 + np.arange(data.size) // 3
    data["id"] = random.integers(0, 50, data.size)
    data["t"] = np.round(random.normal(280, 5, data.size), 1)
    data["name"] = np.array([b"station%d" % i for i in range(13)])[np.arange(data.size) % 13]
    return np.frombuffer(data.tobytes(), "u1")


def shuffled():
    """Counts after the shuffle filter."""
    return np.ascontiguousarray(counts().reshape(-1, 1).view("u1").T).ravel()


def colours():
    one = image()[: LINES // 2]
    return np.stack([one, one[::-1], one[:, ::-1]], -1).copy()


def codecs():
    """For each row that calls a library: the data, the encoder, and the decoder, which gets the stream and the size of the data."""
    found = {}
    for key, options in SZIP.items():
        encode = lambda data, options=options: imagecodecs.szip_encode(data, *options, header=True)
        decode = lambda coded, size, options=options: imagecodecs.szip_decode(coded, *options, header=True)
        found[key] = counts, encode, decode
    for name, make in {"records": records, "shuffled counts": shuffled}.items():
        of = {
            "LZF": (imagecodecs.lzf_encode, lambda coded, size: imagecodecs.lzf_decode(coded, out=size)),
            "LZO": (lambda data: lzallright.LZOCompressor().compress(data), lambda coded, size: imagecodecs.lzo_decode(coded, out=size)),
            "Snappy": (imagecodecs.snappy_encode, lambda coded, size: imagecodecs.snappy_decode(coded)),
            "LZ4": (imagecodecs.lz4h5_encode, lambda coded, size: imagecodecs.lz4h5_decode(coded)),
            "bzip2": (lambda data: imagecodecs.bz2_encode(data, 9), lambda coded, size: imagecodecs.bz2_decode(coded, out=size)),
            "zstd": (lambda data: imagecodecs.zstd_encode(data, 3), lambda coded, size: imagecodecs.zstd_decode(coded, out=size)),
            "deflate": (lambda data: zlib.compress(data, 6), lambda coded, size: zlib.decompress(coded, bufsize=size)),
        }
        for codec, (encode, decode) in of.items():
            found[f"{codec}, {name}"] = make, encode, decode
    for key, (mode, level) in ZFP.items():
        encode = lambda data, mode=mode, level=level: imagecodecs.zfp_encode(data, level, mode=mode, numthreads=1)
        found[key] = field, encode, lambda coded, size: imagecodecs.zfp_decode(coded, numthreads=1)
    for key, make in {"JPEG-LS, 16 bits": counts, "JPEG-LS, 8 bits": image}.items():
        found[key] = make, imagecodecs.jpegls_encode, lambda coded, size: imagecodecs.jpegls_decode(coded)
    for key, make in {"JPEG, grey": image, "JPEG, colours": colours}.items():
        found[key] = make, lambda data: imagecodecs.jpeg8_encode(data, 90), lambda coded, size: imagecodecs.jpeg8_decode(coded)
    offsets = lambda coded, size: fabio.compression.decByteOffset(coded, size // 4, "int32")
    found["CBF byte offsets"] = frame, fabio.compression.compByteOffset, offsets
    for key, (mode, number) in ROUNDING.items():
        found[key] = field, lambda data, mode=mode, number=number: imagecodecs.quantize_encode(data, mode, number), None
    return found


def added(plugin):
    return lambda created: created.set_filter(plugin.filter_id, 0, plugin.filter_options)


FILES = {
    "shuffle, 2 bytes": (counts, lambda created: created.set_shuffle()),
    "shuffle, 4 bytes": (field, lambda created: created.set_shuffle()),
    "Fletcher-32": (counts, lambda created: created.set_fletcher32()),
    "N-bit": (counts, lambda created: created.set_filter(h5z.FILTER_NBIT, 0, ())),
    "scale-offset, integers": (frame, lambda created: created.set_scaleoffset(h5z.SO_INT, 0)),
    "scale-offset, decimals": (field, lambda created: created.set_scaleoffset(h5z.SO_FLOAT_DSCALE, 2)),
    "bitshuffle, 2 bytes": (counts, added(hdf5plugin.Bitshuffle(cname="none"))),
    "bitshuffle and LZ4": (counts, added(hdf5plugin.Bitshuffle(cname="lz4"))),
    "bitshuffle and zstd": (counts, added(hdf5plugin.Bitshuffle(cname="zstd", clevel=3))),
    "VBZ": (signal, lambda created: created.set_filter(VBZ, 0, (0, 2, 1, 1))),
    "VBZ without zstd": (signal, lambda created: created.set_filter(VBZ, 0, (0, 2, 1, 0))),
}


def bits_of(key, data):
    """The type in the file, of which N-bit keeps twelve bits."""
    kind = h5t.py_create(data.dtype)
    if key == "N-bit":
        kind = kind.copy()
        kind.set_precision(12)
    return kind


def made(key, data, path, stored=False):
    """A file with the data in chunks, in memory or on the disk."""
    where = {} if stored else {"driver": "core", "backing_store": False, "block_size": 16 << 20}
    file = h5py.File(path, "w", **where)
    _, filters = FILES[key]
    created = h5p.create(h5p.DATASET_CREATE)
    created.set_chunk((CHUNK // data.itemsize,))
    created.set_fill_time(h5d.FILL_TIME_NEVER)
    filters(created)
    found = h5d.create(file.id, b"d", bits_of(key, data), h5s.create_simple((data.size,)), created)
    found.write(h5s.ALL, h5s.ALL, data.ravel(), bits_of(key, data))
    return file


def of_file(key, folder, action, watch):
    if action == "encode":
        if "data" not in kept:
            kept["data"] = FILES[key][0]()
        with watch:
            file = made(key, kept["data"], str(folder / "unused"))
            file.flush()
        file.close()
        return
    if "file" not in kept:
        # Without a cache of chunks each read decodes them again.
        kept["file"] = h5py.File(folder / f"file {key}", "r", driver="core", backing_store=False, rdcc_nbytes=0)
        data = FILES[key][0]()
        kept["out"] = np.ones(data.size, data.dtype)
        kept["type"] = bits_of(key, data)
    with watch:
        kept["file"]["d"].id.read(h5s.ALL, h5s.ALL, kept["out"], kept["type"])


def of_codec(key, folder, action, watch):
    make, encode, decode = codecs()[key]
    if action == "encode":
        if "data" not in kept:
            kept["data"] = make()
        with watch:
            coded = encode(kept["data"])
        (folder / f"size {key}").write_text(str(memoryview(coded).nbytes))
        return
    if "coded" not in kept:
        kept["coded"] = (folder / f"theirs {key}").read_bytes()
        kept["size"] = make().nbytes
    with watch:
        decode(kept["coded"], kept["size"])


def prepare(key, folder):
    if key in FILES:
        data = FILES[key][0]()
        made(key, data, str(folder / f"file {key}"), stored=True).close()
        with h5py.File(folder / f"file {key}") as file:
            out = np.empty(data.size, data.dtype)
            file["d"].id.read(h5s.ALL, h5s.ALL, out, bits_of(key, data))
            stored = file["d"].id.get_storage_size()
        (folder / f"size {key}").write_text(str(stored))
        data.tofile(folder / f"data {key}")
        out.tofile(folder / f"plain {key}")
        return
    make, encode, decode = codecs()[key]
    data = make()
    data.tofile(folder / f"data {key}")
    coded = bytes(encode(data))
    if decode is None:
        (folder / f"plain {key}").write_bytes(coded)
        return
    (folder / f"theirs {key}").write_bytes(coded)
    # The plug-in of zfp stores the header, which has 96 bits, in the file.
    (folder / f"coded {key}").write_bytes(coded[12:] if key in ZFP else coded)
    plain = decode(coded, data.nbytes)
    (folder / f"plain {key}").write_bytes(memoryview(plain).cast("B") if isinstance(plain, bytes) else np.asarray(plain).tobytes())


def cases():
    found = {}
    for keys, work in ((codecs(), of_codec), (FILES, of_file)):
        for key in keys:
            for action in ("decode", "encode"):
                found[f"{action} {key}"] = partial(work, key, action=action)
    return {name: (lambda folder, watch, work=work: work(folder=folder, watch=watch)) for name, work in found.items()}


if sys.argv[1] == "prepare":
    prepare(sys.argv[2], Path(sys.argv[3]))
else:
    worker.serve({"C library": cases()})
