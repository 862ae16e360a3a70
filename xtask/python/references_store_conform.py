"""Stores of Zarr 3 beside zarr-python, in both directions: what `convert` writes is what h5py finds in the source, and what zarr-python
writes is what h5py finds in the file that `convert` makes of it.

    references_store_conform.py PROGRAM DIR
"""

import os
import subprocess
import sys
import tempfile
import warnings

import h5py
import numpy
import xarray
import zarr
import zarr.codecs.numcodecs

from checks import check

warnings.simplefilter("ignore")
PROGRAM = sys.argv[1]


def run(*words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == status, f"{words}: {done.returncode}: {done.stdout} {done.stderr}"
    return done.stdout + done.stderr


def equal(found, wanted, name):
    assert found.shape == wanted.shape and found.dtype == wanted.dtype, f"{name}: {found.dtype} {found.shape}"
    same = numpy.array_equal(found, wanted, equal_nan=wanted.dtype.kind in "fc")
    assert same, f"{name}: values differ"


RANDOM = numpy.random.default_rng(7)
ARRAYS = {
    **{kind: RANDOM.integers(0, 100, (7, 11)).astype(kind) for kind in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4"]},
    **{kind: RANDOM.normal(size=(7, 11)).astype(kind) for kind in ["f2", "f4", "f8", ">f8", "c8", "c16"]},
    "bool": RANDOM.integers(0, 2, (7, 11)).astype(bool),
    "scalar": numpy.float64(2.5),
    "empty": numpy.zeros((0, 3), "f4"),
    "zeros": numpy.zeros((30, 4), "i4"),
    "cube": numpy.arange(6 * 7 * 8, dtype="i4").reshape(6, 7, 8),
    "record": numpy.array([(1, 2.5), (3, -4.0), (5, 6.25)], [("a", "<i4"), ("b", "<f8")]),
}


def source(path):
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "all types"
        group = file.create_group("more").create_group("inner")
        for name, values in ARRAYS.items():
            filters = {"chunks": (3, 4), "compression": "gzip"} if values.ndim == 2 and values.size else {}
            group.create_dataset(name.replace(">", "big-"), data=values, **filters)
        group.create_dataset("texts", data=["Vega", "", "Deneb é"], dtype=h5py.string_dtype())
        group["cube"].attrs["units"] = "K"
        file["time"], file["x"] = numpy.arange(4.0), numpy.arange(5.0)
        file["time"].attrs["units"] = "days since 2026-01-01"
        heat = file.create_dataset("heat", data=numpy.arange(20, dtype="f4").reshape(4, 5), chunks=(2, 3))
        heat.attrs["_FillValue"] = numpy.float32(7)
        for axis, name in enumerate(["time", "x"]):
            file[name].make_scale(name)
            heat.dims[axis].attach_scale(file[name])


def written(folder, *options):
    """A file of h5py as a store, which zarr-python and xarray read."""
    path, out = os.path.join(folder, "a.h5"), os.path.join(folder, "a.zarr")
    source(path)
    run("convert", path, out, *options)
    store = zarr.open_group(out, mode="r", zarr_format=3)
    assert store.attrs["title"] == "all types" and store["more/inner/cube"].attrs["units"] == "K"
    for name, values in ARRAYS.items():
        if values.dtype.names and "--shards" in options:
            continue  # zarr-python 3.1 reads no records in shards
        wanted = numpy.asarray(values).astype(values.dtype.newbyteorder("<"))
        found = numpy.asarray(store[f"more/inner/{name.replace('>', 'big-')}"][...])
        if name == "bool":
            # h5py's booleans are an enumeration in HDF5, of which Zarr has the numbers.
            found = found.astype(bool)
        equal(found.astype(found.dtype.newbyteorder("<")), wanted, name)
    assert list(store["more/inner/texts"][...]) == ["Vega", "", "Deneb é"]
    if "--shards" in options:
        assert store["more/inner/cube"].shards is not None and store["heat"].shards is not None
        files = sum(len(names) for _, _, names in os.walk(os.path.join(out, "more/inner/i4/c")))
        assert files == 1, f"{files} files of one shard"
    found = xarray.open_dataset(out, engine="zarr", consolidated=False, zarr_format=3)
    wanted = numpy.where(numpy.arange(20).reshape(4, 5) == 7, numpy.nan, numpy.arange(20).reshape(4, 5))
    assert found["heat"].dims == ("time", "x") and numpy.array_equal(found["heat"].values, wanted, equal_nan=True), found
    assert str(found["time"].values[1])[:10] == "2026-01-02", found["time"]
    # And back.
    back = os.path.join(folder, "back.h5")
    run("convert", out, back)
    with h5py.File(path) as one, h5py.File(back) as other:
        for name in ARRAYS:
            name = "more/inner/" + name.replace(">", "big-")
            wanted = one[name][()]
            if name.endswith("/bool"):
                wanted = numpy.asarray(wanted).astype("i1")
            equal(numpy.asarray(other[name][()]), numpy.asarray(wanted).astype(wanted.dtype.newbyteorder("<")), name)
        assert [text.decode() for text in other["more/inner/texts"][...]] == ["Vega", "", "Deneb é"]
        assert list(other["heat"].attrs["_ARRAY_DIMENSIONS"]) == ["time", "x"]


def read(folder, **options):
    """A store of zarr-python as a file, which h5py reads."""
    out, back = os.path.join(folder, "b.zarr"), os.path.join(folder, "b.h5")
    store = zarr.open_group(out, mode="w", zarr_format=3)
    store.attrs["numbers"] = [1.5, 2.5]
    inner = store.create_group("g")
    # zarr-python 3.1 writes no records in shards.
    arrays = {
        name: values
        for name, values in ARRAYS.items()
        if values.ndim and values.size and not name.startswith(">") and not (values.dtype.names and options.get("sharded"))
    }
    for name, values in arrays.items():
        sides = {"chunks": tuple(min(3, n) for n in values.shape)}
        more = dict(options)
        if more.pop("sharded", False):
            sides["shards"] = tuple(-(-n // side) * side for n, side in zip(values.shape, sides["chunks"]))
        array = inner.create_array(name, shape=values.shape, dtype=values.dtype, **sides, **more)
        array[...] = values
    partial = inner.create_array("partial", shape=(10, 10), dtype="f4", chunks=(4, 4), fill_value=9.5)
    partial[5:, 5:] = 1
    run("convert", out, back)
    with h5py.File(back) as file:
        assert list(file.attrs["numbers"]) == [1.5, 2.5]
        for name, values in arrays.items():
            equal(file["g"][name][()], values, name)
        equal(file["g/partial"][()], numpy.asarray(partial[...]), "partial")


def big(folder):
    """Numbers that are stored big-endian."""
    out, back = os.path.join(folder, "d.zarr"), os.path.join(folder, "d.h5")
    store = zarr.open_group(out, mode="w", zarr_format=3)
    kinds = ["i2", "i4", "i8", "f4", "f8", "c16"]
    for kind in kinds:
        array = store.create_array(kind, shape=(7, 11), dtype=kind, chunks=(3, 4), serializer=zarr.codecs.BytesCodec(endian="big"))
        array[...] = ARRAYS[kind]
    run("convert", out, back)
    with h5py.File(back) as file:
        for kind in kinds:
            equal(file[kind][()], ARRAYS[kind], kind)


def blosc(folder):
    """Chunks that Blosc compressed, by the codec of Zarr and by that of numcodecs."""
    out, back = os.path.join(folder, "e.zarr"), os.path.join(folder, "e.h5")
    store = zarr.open_group(out, mode="w", zarr_format=3)
    long = {kind: numpy.resize(ARRAYS[kind], (70, 110)) for kind in ["i2", "u1", "f8", "c16"]}
    for kind, values in long.items():
        for name in ["zstd", "lz4", "lz4hc", "blosclz", "zlib"]:
            for shuffle in ["shuffle", "bitshuffle", "noshuffle"]:
                codec = zarr.codecs.BloscCodec(cname=name, shuffle=shuffle, typesize=values.itemsize, clevel=7)
                array = store.create_array(f"{kind} {name} {shuffle}", shape=values.shape, dtype=kind, chunks=(30, 40), compressors=codec)
                array[...] = values
    other = zarr.codecs.numcodecs.Blosc(cname="zstd", clevel=5, shuffle=1)
    store.create_array("f8 numcodecs", shape=(70, 110), dtype="f8", chunks=(30, 40), compressors=other)[...] = long["f8"]
    inner = {"shards": (60, 80), "compressors": zarr.codecs.BloscCodec(typesize=2)}
    store.create_array("i2 shards", shape=(70, 110), dtype="i2", chunks=(30, 40), **inner)[...] = long["i2"]
    run("convert", out, back)
    with h5py.File(back) as file:
        assert len(file) == 62, len(file)
        for name in file:
            equal(file[name][()], long[name.split()[0]], name)
    cut_short(out, "i2 zstd shuffle", back)


def cut_short(store, name, back):
    """A chunk that was cut short is an error, and no file is left."""
    place = os.path.join(store, name, "c", "0", "0")
    with open(place, "r+b") as chunk:
        chunk.truncate(os.path.getsize(place) // 2)
    os.remove(back)
    said = subprocess.run([PROGRAM, "convert", store, back], capture_output=True, text=True)
    assert said.returncode != 0 and not os.path.exists(back), said.stderr


def pcodec(folder):
    """Numbers that pcodec compressed, by all types, modes and kinds of differences of numcodecs, bare, in shards and below other codecs."""
    out, back = os.path.join(folder, "f.zarr"), os.path.join(folder, "f.h5")
    store = zarr.open_group(out, mode="w", zarr_format=3)
    wave = numpy.cumsum(RANDOM.normal(size=(70, 110)), axis=1) * 50
    long = {kind: numpy.abs(wave).astype(kind) if kind[0] == "u" else wave.astype(kind) for kind in PCODEC}
    tenths = {"tenths": numpy.round(wave) / 10, "sevens": numpy.round(wave).astype("i8") * 7}
    serializer = zarr.codecs.numcodecs.PCodec
    for kind, values in {**long, **tenths}.items():
        made = {"shape": values.shape, "dtype": values.dtype, "chunks": (30, 40), "fill_value": 0}
        for mode in ["auto", "classic"]:
            for delta in ["auto", "none", "try_consecutive", "try_lookback"]:
                more = {"delta_encoding_order": 2} if delta == "try_consecutive" else {}
                codec = serializer(level=8, mode_spec=mode, delta_spec=delta, equal_pages_up_to=1000, **more)
                store.create_array(f"{kind} {mode} {delta}", serializer=codec, compressors=None, **made)[...] = values
        for name, more in {"zstd": {}, "shards": {"shards": (60, 80)}}.items():
            array = store.create_array(f"{kind} {name}", serializer=serializer(), compressors=zarr.codecs.ZstdCodec(), **more, **made)
            array[...] = values
    run("convert", out, back)
    with h5py.File(back) as file:
        assert len(file) == 10 * (len(PCODEC) + 2), len(file)
        for name in file:
            equal(file[name][()], {**long, **tenths}[name.split()[0]], name)
    # And what the program writes.
    again = os.path.join(folder, "g.zarr")
    run("convert", back, again, "--filter", "pcodec")
    found = zarr.open_group(again, mode="r", zarr_format=3)
    for name in store:
        assert type(found[name].metadata.codecs[0]).__name__ == "PCodec", found[name].metadata
        equal(numpy.asarray(found[name][...]), store[name][...], name)
    cut_short(again, "f8 zstd", back)


PCODEC = ["i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8"]


def refused(folder):
    """What the program cannot decode is told by name, and no file is left; a damaged checksum is an error."""
    out, back = os.path.join(folder, "c.zarr"), os.path.join(folder, "c.h5")
    store = zarr.open_group(out, mode="w", zarr_format=3)
    store.create_array("odd", shape=(4,), dtype="i4", compressors=zarr.codecs.numcodecs.LZMA())[...] = 1
    said = subprocess.run([PROGRAM, "convert", out, back], capture_output=True, text=True)
    assert said.returncode != 0 and "lzma" in said.stderr and not os.path.exists(back), said.stderr
    store = zarr.open_group(out, mode="w", zarr_format=3)
    store.create_array("sum", shape=(4,), dtype="i4", compressors=zarr.codecs.Crc32cCodec())[...] = 1
    place = os.path.join(out, "sum", "c", "0")
    with open(place, "r+b") as file:
        file.write(b"\x02")
    said = subprocess.run([PROGRAM, "convert", out, back], capture_output=True, text=True)
    assert said.returncode != 0 and "CRC-32C" in said.stderr and not os.path.exists(back), said.stderr


if __name__ == "__main__":
    cases = {
        "written": lambda folder: written(folder),
        "written in chunks without compression": lambda folder: written(folder, "--chunks", "2,5", "--filter", "none"),
        "written with gzip": lambda folder: written(folder, "--filter", "gzip", "--level", "9"),
        "written in shards": lambda folder: written(folder, "--shards", "1000,1000"),
        "written with pcodec": lambda folder: written(folder, "--filter", "pcodec", "--level", "10"),
        "written with pcodec in shards": lambda folder: written(folder, "--filter", "pcodec", "--shards", "1000,1000"),
        "read": lambda folder: read(folder),
        "read, without compression": lambda folder: read(folder, compressors=None),
        "read, gzip": lambda folder: read(folder, compressors=zarr.codecs.GzipCodec()),
        "read, zstd with a checksum": lambda folder: read(folder, compressors=[zarr.codecs.ZstdCodec(checksum=True), zarr.codecs.Crc32cCodec()]),
        "read, big-endian": big,
        "read, Blosc": blosc,
        "pcodec in both directions": pcodec,
        "read, shards": lambda folder: read(folder, sharded=True),
        "refused": refused,
    }
    for case, work in cases.items():
        with tempfile.TemporaryDirectory(dir=sys.argv[2]) as folder:
            check(f"stores: {case}", lambda: work(folder))
