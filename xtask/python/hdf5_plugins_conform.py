"""Filters of plug-ins in HDF5: the program reads what the plug-ins wrote, and the plug-ins read what the program wrote.

    hdf5_plugins_conform.py EXAMPLE DIR

The program `sciformats` is beside the example. zfp, FCIDECOMP and Blosc are those of hdf5plugin, VBZ is that of Oxford Nanopore. Snappy, LZO,
JPEG and CBF have no plug-in that can be installed, so their blocks are stored and fetched as they are, and cramjam, lzallright,
imagecodecs and fabio make or undo them.
"""

import json
import sys
import zlib
from importlib.metadata import version
from pathlib import Path

import fabio.compression
import h5py
import hdf5plugin
import imagecodecs
import lzallright
import numpy as np
import vbz_h5py_plugin  # noqa: F401, the library finds the filter by it
from cramjam import snappy
from h5py import h5d, h5p, h5s, h5t, h5z
from hdf5plugin import Blosc, FciDecomp, Zfp

from checks import check, program_in

FOLDER = Path(sys.argv[2]).resolve()
program = program_in(Path(sys.argv[1]).resolve().parent / "sciformats", FOLDER)
THEIRS, OURS = "we read theirs", "they read ours"
SNAPPY, ZFP, VBZ = 32003, 32013, 32020
LZO, CBF, JPEG_LS, FCIDECOMP, JPEG, GROOM, GRANULAR, ROUND = 305, 32006, 32012, 32018, 32019, 32022, 32023, 32032
rng = np.random.default_rng(32)
WAVES = np.sin(np.arange(32) / 5)[:, None] * np.cos(np.arange(64) / 7)
MODES = {
    "accuracy": Zfp(accuracy=0.01), "rate": Zfp(rate=8.3), "precision": Zfp(precision=16), "reversible": Zfp(reversible=True),
    "expert": Zfp(minbits=100, maxbits=200, maxprec=20, minexp=-10),
}
SHAPES = {"1": ((2048,), (500,)), "2": ((32, 64), (16, 60)), "3": ((8, 16, 16), (4, 16, 15)), "4": ((4, 8, 8, 8), (3, 8, 5, 8))}


def stored(path, name, data, chunks, number, values):
    """A dataset with a filter by its number."""
    created = h5p.create(h5p.DATASET_CREATE)
    created.set_chunk(chunks)
    created.set_filter(number, 0, values)
    with h5py.File(path, "a") as file:
        kind, space = h5t.py_create(data.dtype, logical=1), h5s.create_simple(data.shape, (h5s.UNLIMITED,) * data.ndim)
        found = h5d.create(file.id, name.encode(), kind, space, created)
        found.write(h5s.ALL, h5s.ALL, np.ascontiguousarray(data))


def signal(kind):
    """Integers whose differences are small, except one."""
    data = np.cumsum(rng.integers(-9, 9, 1000)).astype(kind)
    data[500] = np.iinfo(kind).max
    return data


def equal(one, other, number=None):
    """Both files have the same datasets with the same elements, bit by bit; `number` is a filter of all in the second."""
    with h5py.File(FOLDER / one) as one, h5py.File(FOLDER / other) as other:
        assert sorted(one) == sorted(other) and len(one) > 0
        for name in one:
            assert one[name].dtype == other[name].dtype and one[name].shape == other[name].shape, name
            assert one[name][...].tobytes() == other[name][...].tobytes(), name
            if number is not None:
                plist = other[name].id.get_create_plist()
                assert number in [plist.get_filter(i)[0] for i in range(plist.get_nfilters())], name


def read(case, name):
    """The program undoes all filters; the plug-ins and the plain file give the same elements."""

    def work():
        program("verify", name)
        program("repack", "--filter", "none", name, f"plain-{name}")
        with h5py.File(FOLDER / f"plain-{name}") as file:
            assert all(not file[path]._filters for path in file)
        equal(name, f"plain-{name}")

    check(case, work, THEIRS)


def zfp():
    for mode, filters in MODES.items():
        for kind in ("f4", "f8") + (("i4", "i8") if mode == "reversible" else ()):
            name = f"zfp-{mode}-{kind}.h5"
            data = WAVES * 1e6 if kind[0] == "i" else WAVES
            with h5py.File(FOLDER / name, "w") as file:
                for rank, (shape, chunks) in SHAPES.items():
                    file.create_dataset(rank, data=data.astype(kind).reshape(shape), chunks=chunks, **filters)
            read(f"zfp: {mode}, {kind}", name)
    with h5py.File(FOLDER / "plain-numbers.h5", "w") as file:
        for kind in ("f4", "f8", "i4", "i8", "u4", "u8"):
            for rank, (shape, chunks) in SHAPES.items():
                data = WAVES * 1e6 if kind[0] != "f" else WAVES
                file.create_dataset(f"{kind} {rank}", data=np.abs(data).astype(kind).reshape(shape), chunks=chunks)

    def ours():
        program("repack", "--filter", "zfp", "plain-numbers.h5", "ours-zfp.h5")
        equal("plain-numbers.h5", "ours-zfp.h5", ZFP)

    check("zfp: reversible", ours, OURS)

    for mode in MODES:
        def kept():
            name = f"zfp-{mode}-f8.h5"
            program("repack", name, f"kept-{name}")
            equal(name, f"kept-{name}", ZFP)

        check(f"zfp: {mode}, written anew", kept, OURS)


def vbz():
    for v in (0, 1):
        for level in (0, 1, 5):
            name = f"vbz-{v}-{level}.h5"
            for kind in ("i1", "u1", "i2", "u2", "i4", "u4"):
                for differences in (0, 1):
                    values = (v, int(kind[1]), differences, level)
                    stored(FOLDER / name, f"{kind} {differences}", signal(kind), (300,), VBZ, values)
            read(f"vbz: version {v}, level {level}", name)
    fit, unfit = ("i1", "u1", "i2", "u2", "i4", "u4"), (">i2", "i8", "f4")
    for name, kinds in {"signals": fit, "mixed": fit + unfit}.items():
        with h5py.File(FOLDER / f"plain-{name}.h5", "w") as file:
            for kind in kinds:
                file.create_dataset(kind, data=WAVES.ravel().astype(kind) if kind == "f4" else signal(kind), chunks=(300,))

    def ours():
        program("repack", "--filter", "vbz", "plain-signals.h5", "ours-vbz.h5")
        equal("plain-signals.h5", "ours-vbz.h5", VBZ)

    check("vbz: integers of all types", ours, OURS)

    def mixed():
        program("repack", "--filter", "vbz", "plain-mixed.h5", "ours-mixed.h5")
        equal("plain-mixed.h5", "ours-mixed.h5")
        with h5py.File(FOLDER / "ours-mixed.h5") as file:
            assert {name for name in file if file[name]._filters} == set(fit)

    check("vbz: left out where it cannot be applied", mixed, OURS)

    def grown():
        # The plug-in goes on where the program ended.
        with h5py.File(FOLDER / "ours-vbz.h5", "r+") as file:
            for name in file:
                file[name][450:700] = signal(name)[:250]
                assert (file[name][450:700] == file[name][...][450:700]).all()
        program("verify", "ours-vbz.h5")
        program("repack", "--filter", "none", "ours-vbz.h5", "plain-grown.h5")
        equal("ours-vbz.h5", "plain-grown.h5")

    check("vbz: chunks that both wrote", grown, THEIRS)

    def anew():
        # Chunks of another length are filtered with the client data values of the plug-in.
        for name in (f"vbz-{v}-{level}.h5" for v in (0, 1) for level in (0, 1, 5)):
            program("repack", "--chunks", "400", name, f"anew-{name}")
            equal(name, f"anew-{name}", VBZ)

    check("vbz: values of the plug-in, other chunks", anew, OURS)


def snappy_blocks():
    data = signal("i4")
    with h5py.File(FOLDER / "plain-integers.h5", "w") as file:
        file.create_dataset("data", data=data, chunks=(500,))

    def ours():
        program("repack", "--filter", "snappy", "plain-integers.h5", "ours-snappy.h5")
        with h5py.File(FOLDER / "ours-snappy.h5") as file:
            found = file["data"].id
            plist = found.get_create_plist()
            assert [plist.get_filter(i)[0] for i in range(plist.get_nfilters())] == [2, SNAPPY]
            parts = []
            for i in range(found.get_num_chunks()):
                mask, block = found.read_direct_chunk(found.get_chunk_info(i).chunk_offset)
                assert mask == 0
                planes = np.frombuffer(bytes(snappy.decompress_raw(block)), "u1").reshape(4, -1)
                parts.append(np.ascontiguousarray(planes.T).view("<i4").ravel())
        assert (np.concatenate(parts) == data).all()

    check("snappy: raw blocks", ours, OURS)

    for form, encode in {"raw blocks": snappy.compress_raw, "framed": snappy.compress}.items():
        def theirs():
            # The program makes a dataset with the filter, and cramjam makes its chunks.
            name = f"theirs-{form.split()[0]}.h5"
            program("repack", "--filter", "snappy", "plain-integers.h5", name)
            with h5py.File(FOLDER / name, "r+") as file:
                for at in (0, 500):
                    planes = np.ascontiguousarray(data[at:at + 500].view("u1").reshape(-1, 4).T + 1)
                    file["data"].id.write_direct_chunk((at,), bytes(encode(planes.tobytes())))
            program("repack", "--filter", "none", name, f"plain-{name}")
            with h5py.File(FOLDER / f"plain-{name}") as file:
                assert (file["data"][...].view("u1") == data.view("u1") + 1).all()

        check(f"snappy: {form}", theirs, THEIRS)


def placed(path, name, data, number, values, chunk):
    """A dataset of one chunk, whose stored bytes are given. The filter need not be available."""
    created = h5p.create(h5p.DATASET_CREATE)
    created.set_chunk(data.shape)
    created.set_filter(number, h5z.FLAG_OPTIONAL, values)
    with h5py.File(path, "a") as file:
        kind = h5t.py_create(data.dtype, logical=1)
        found = h5d.create(file.id, name.encode(), kind, h5s.create_simple(data.shape), created)
        found.write_direct_chunk((0,) * data.ndim, chunk)


def undone(name, wanted, tolerance=0):
    """The program undoes all filters, and the elements are those that are wanted."""
    program("repack", "--filter", "none", name, f"plain-{name}")
    with h5py.File(FOLDER / f"plain-{name}") as file:
        assert sorted(file) == sorted(wanted) and len(wanted) > 0
        for path, data in wanted.items():
            assert file[path].dtype == data.dtype and file[path].shape == data.shape, path
            assert np.abs(file[path][...].astype("i8") - data.astype("i8")).max() <= tolerance, path


def image(kind, bits, shape=(60, 90)):
    """A smooth image with noise, edges and flat parts."""
    data = np.add.outer(np.arange(shape[0]) * 3, np.arange(shape[1]) * 2) + rng.integers(0, 5, shape)
    data[10:30, 20:60] = 77
    data[40:, 50:] += 1 << (bits - 1)
    return (data % (1 << bits)).astype(kind)


def images():
    with h5py.File(FOLDER / "fcidecomp.h5", "w") as file:
        for kind, bits in (("u1", 8), ("u2", 12), ("u2", 16), ("i2", 15)):
            file.create_dataset(f"{kind} {bits}", data=image(kind, bits), chunks=(60, 90), **FciDecomp())
            file.create_dataset(f"{kind} {bits} lines", data=image(kind, bits), chunks=(1, 90), **FciDecomp())
        for kind, planes in (("u1", 3), ("u2", 3), ("u1", 2), ("u2", 4)):
            data = np.stack([image(kind, 8) for _ in range(planes)])
            file.create_dataset(f"{kind} {planes} planes", data=data, chunks=data.shape, **FciDecomp())
    read("jpeg-ls: fcidecomp", "fcidecomp.h5")

    def ours():
        with h5py.File(FOLDER / "plain-images.h5", "w") as file:
            for kind, bits in (("u1", 8), ("u2", 12), ("u2", 16), ("i2", 15)):
                file.create_dataset(f"{kind} {bits}", data=image(kind, bits), chunks=(20, 90))
        program("repack", "--filter", "fcidecomp", "plain-images.h5", "ours-images.h5")
        equal("plain-images.h5", "ours-images.h5", FCIDECOMP)

    check("jpeg-ls: fcidecomp", ours, OURS)

    def near():
        wanted = {}
        for kind, bits in (("u1", 8), ("u2", 12), ("u2", 16)):
            for error in (0, 1, 3, 10):
                data = image(kind, bits)
                stream = imagecodecs.jpegls_encode(data, level=error)
                values = (data.itemsize, 1, *data.shape, 8 * data.itemsize, 1)
                name = f"{kind} {bits} {error}"
                placed(FOLDER / "near.h5", name, data, JPEG_LS, values, stream)
                wanted[name] = imagecodecs.jpegls_decode(stream)
                assert np.abs(wanted[name].astype("i8") - data.astype("i8")).max() <= error
        undone("near.h5", wanted)

    check("jpeg-ls: with and without loss", near, THEIRS)

    def jpeg():
        wanted = {}
        for quality in (60, 95):
            for name, data in {"grey": image("u1", 8), "colours": np.stack([image("u1", 8)] * 3, -1)}.items():
                stream = imagecodecs.jpeg8_encode(data, level=quality)
                values = (quality, data.shape[1], data.shape[0], int(data.ndim == 3))
                placed(FOLDER / "jpeg.h5", f"{name} {quality}", data, JPEG, values, stream)
                wanted[f"{name} {quality}"] = imagecodecs.jpeg8_decode(stream)
        # Decoders may round differently.
        undone("jpeg.h5", wanted, tolerance=4)

    check("jpeg: grey and colours", jpeg, THEIRS)


def bytes_of_others():
    def lzo():
        wanted = {}
        for kind in ("i1", "i2", "i4", "i8"):
            data = signal(kind)
            raw = data.tobytes()
            stream = lzallright.LZOCompressor().compress(raw)
            tail = zlib.adler32(raw).to_bytes(4, "little") + len(raw).to_bytes(4, "little")
            placed(FOLDER / "lzo.h5", kind, data, LZO, (1, 20, 1), stream + tail)
            placed(FOLDER / "lzo.h5", f"{kind} old table", data, LZO, (1, 10, 0), stream)
            wanted[kind] = wanted[f"{kind} old table"] = data
        undone("lzo.h5", wanted)

    check("lzo: with and without checksums", lzo, THEIRS)

    def ours():
        data = np.cumsum(rng.integers(-3, 3, 5000)).astype("i4") // 50
        with h5py.File(FOLDER / "plain-lzo.h5", "w") as file:
            file.create_dataset("data", data=data, chunks=(5000,))
        program("repack", "--filter", "lzo", "plain-lzo.h5", "ours-lzo.h5")
        with h5py.File(FOLDER / "ours-lzo.h5") as file:
            plist = file["data"].id.get_create_plist()
            assert [plist.get_filter(i)[0] for i in range(plist.get_nfilters())] == [2, LZO]
            mask, chunk = file["data"].id.read_direct_chunk((0,))
        assert mask == 0
        raw = lzallright.LZOCompressor.decompress(chunk[:-8])
        assert zlib.adler32(raw).to_bytes(4, "little") + len(raw).to_bytes(4, "little") == chunk[-8:]
        assert (np.ascontiguousarray(np.frombuffer(raw, "u1").reshape(4, -1).T).view("<i4").ravel() == data).all()

    check("lzo: streams", ours, OURS)

    def cbf():
        data = np.cumsum(rng.integers(-9, 9, 5400)).astype("i4").reshape(60, 90)
        data[3, 4], data[5, 6], data[7, 8] = 40_000, -2_000_000_000, 2_000_000_000
        stream = bytes(fabio.compression.compByteOffset(data))
        values = (0x70, 0, 1, 0, 4, 1, 0, 90, 60, 1)
        placed(FOLDER / "cbf.h5", "bare", data, CBF, values, stream)
        head = b"--CIF-BINARY-FORMAT-SECTION--\r\nContent-Type: application/octet-stream\r\n\r\n\x0c\x1a\x04\xd5"
        placed(FOLDER / "cbf.h5", "section", data, CBF, values, head + stream + bytes(100))
        undone("cbf.h5", {"bare": data, "section": data})

    check("cbf: byte offsets", cbf, THEIRS)

    def rounding():
        data = WAVES.astype("f4")
        for number, name in ((GROOM, "groom"), (GRANULAR, "granular"), (ROUND, "round")):
            placed(FOLDER / "rounding.h5", name, data, number, (3, 4, 0, 0, 0), data.tobytes())
        program("repack", "--filter", "none", "rounding.h5", "plain-rounding.h5")
        with h5py.File(FOLDER / "plain-rounding.h5") as file:
            assert all((file[name][...] == data).all() for name in file) and len(file) == 3

    check("rounding: reading changes nothing", rounding, THEIRS)


def blosc():
    with h5py.File(FOLDER / "blosc-snappy.h5", "w") as file:
        for shuffle in (Blosc.NOSHUFFLE, Blosc.SHUFFLE, Blosc.BITSHUFFLE):
            file.create_dataset(f"{shuffle}", data=signal("i4"), chunks=(300,), **Blosc("snappy", 5, shuffle))
    read("snappy: in Blosc", "blosc-snappy.h5")


def refused():
    """A filter that is refused is named, with what can undo it; everything beside it can still be read."""
    for name, filters in {"sz3": hdf5plugin.SZ3(absolute=0.01), "sperr": hdf5plugin.Sperr(rate=8)}.items():
        def work():
            with h5py.File(FOLDER / f"{name}.h5", "w") as file:
                file.create_dataset("data", data=WAVES, chunks=(32, 64), **filters)
                file["beside"] = [1, 2, 3]
            done = program("verify", f"{name}.h5", status=1)
            told = done.stdout + done.stderr
            assert f"({name})" in told and "hdf5plugin" in told, told
            program("cat", f"{name}.h5", "/beside")

        check(f"refused: {name}", work, THEIRS)


for package in ("h5py", "hdf5plugin", "vbz-h5py-plugin", "cramjam", "imagecodecs", "lzallright", "fabio"):
    print(json.dumps({"peer": f"{package} {version(package)}"}))
zfp()
vbz()
snappy_blocks()
blosc()
images()
bytes_of_others()
refused()
