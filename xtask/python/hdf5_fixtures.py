"""Small HDF5 files of each kind, with their content manifests, and files that are wrong on purpose.

    hdf5_fixtures.py OUTDIR
"""

import functools
import json
import os
import pathlib
import re
import struct
import sys
import tempfile

import h5py
import numpy as np

import hdf5_hostile
import hdf5_peer
from hdf5_peer import Tree, add, values

OUT = pathlib.Path(sys.argv[1])
H5PY = f"h5py {h5py.__version__} (HDF5 {h5py.version.hdf5_version})"


def put(file, data, exercises, generator=H5PY):
    path = OUT / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(json.dumps({"file": file, "exercises": exercises, "generator": generator}))


def good(file, exercises, *fill, make=h5py.File, **options):
    """A file of h5py's and its manifest; returns the bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path, tree = os.path.join(folder, "file.h5"), Tree()
        with make(path, "w", **options) as opened:
            for step in fill:
                step(opened, tree)
        data = pathlib.Path(path).read_bytes()
        if make is sharing:
            data = timeless(data)
        tree.write(os.path.join(folder, "manifest"))
        manifest = pathlib.Path(folder, "manifest").read_bytes()
    put(file, data, exercises)
    put(f"expected/{file}.jsonl", manifest, f"manifest of {file}", "hashlib")
    return data


def narrow(path, _, libver):
    """A new file with addresses and lengths of 4 bytes."""
    creation, access = hdf5_hostile.timeless(), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(libver, h5py.h5f.LIBVER_LATEST)
    creation.set_sizes(4, 4)
    return h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, creation, access))


def sharing(path, _, libver, asked, **cutoffs):
    """A new file that shares messages."""
    creation, access = hdf5_hostile.timeless(), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(libver, h5py.h5f.LIBVER_LATEST)
    hdf5_hostile.share(creation, *asked, **cutoffs)
    return h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, creation, access))


def shared(file, tree):
    """Datasets and groups that have messages in common, in their headers and in dense storage, and some of their own."""
    for i in range(6):
        options = {"maxshape": (None, 4), "chunks": (2, 2), "compression": "gzip", "fillvalue": float(i % 2)} if i % 3 else {}
        add(tree, file, f"d{i}", values((3, i % 4 + 1), "<f8" if i < 4 else "<i2"), **options)
    file.create_group("dense")
    file.create_group("dense too")
    tree.group("/dense")
    tree.group("/dense too")
    for path, count in (("/", 2), ("/d0", 3), ("/d1", 3), ("/d5", 1), ("/dense", 12), ("/dense too", 10)):
        for n in range(count):
            array = values((n + 1,), "<i4")
            file[path].attrs.create(f"attribute {n}", array)
            tree.attribute(path, f"attribute {n}", "i4", (n + 1,), array.tobytes())


def indexes(file, tree):
    """One dataset for each layout and chunk index."""
    limits = {"fixed": (13, 7), "grows_0": (None, 7), "grows_1": (13, None), "grows_both": (None, None)}
    for name, limit in limits.items():
        add(tree, file, name, values((13, 7), "<i4"), chunks=(4, 5), maxshape=limit)
        add(tree, file, name + "_gzip", values((13, 7), "<i4"), chunks=(4, 5), maxshape=limit, compression="gzip", shuffle=True)
    add(tree, file, "single", values((13, 7), "<f8"), chunks=(13, 7))
    add(tree, file, "contiguous", values((13, 7), ">i2"))
    add(tree, file, "paged", values((1100,), "u1"), chunks=(1,))
    file.create_dataset("sparse", (40, 40), "<i4", chunks=(4, 4), maxshape=(None, None), fillvalue=-9)[3:5, 3:5] = 1
    array = np.full((40, 40), -9, "<i4")
    array[3:5, 3:5] = 1
    tree.array("/sparse", "i4", (40, 40), array.tobytes())


def filters(file, tree):
    """One dataset for each filter."""
    array = values((40, 6), "<i4")
    options = {
        "deflate": {"compression": "gzip"},
        "shuffle": {"shuffle": True},
        "fletcher32": {"fletcher32": True},
        "szip": {"compression": "szip", "compression_opts": ("nn", 8)},
        "scaleoffset": {"scaleoffset": 0},
        "lzf": {"compression": "lzf"},
        "bzip2": dict(hdf5_peer.hdf5plugin.BZip2()),
        "lz4": dict(hdf5_peer.hdf5plugin.LZ4()),
        "zstd": dict(hdf5_peer.hdf5plugin.Zstd()),
        "bitshuffle": dict(hdf5_peer.hdf5plugin.Bitshuffle(cname="lz4")),
    }
    for name, keys in options.items():
        add(tree, file, name, array, chunks=(16, 6), **keys)


def links(file, tree):
    """A group that is too large for its header, and links of all kinds."""
    group = file.create_group("many")
    tree.group("/many")
    for i in range(40):
        group.create_group(f"{i * 7 % 40:03}")
        tree.group(f"/many/{i:03}")
    file["soft"] = h5py.SoftLink("/many/nowhere")
    tree.line("/soft", "softlink", target="/many/nowhere")
    # An external link turns the group that holds it into a new-style one, so it has a group of its own.
    file.create_group("new")["outside"] = h5py.ExternalLink("other.h5", "/x")
    tree.group("/new")
    tree.line("/new/outside", "extlink", file="other.h5", target="/x")
    file["loop"] = file["/"]
    tree.line("/loop", "hardlink", target="/")
    file["around"] = h5py.SoftLink("around")
    tree.line("/around", "softlink", target="around")


def attributes(file, tree):
    """Attributes beyond what a header holds."""
    for i in range(12):
        array = values((i % 4 + 1,), "<i4")
        file.attrs.create(f"attribute {i}", array)
        tree.attribute("/", f"attribute {i}", "i4", array.shape, array.tobytes())


def lookup3(data):
    """The checksum of metadata."""
    rot = lambda x, k: (x << k | x >> (32 - k)) & 0xFFFFFFFF
    a = b = c = (0xDEADBEEF + len(data)) & 0xFFFFFFFF
    at = 0
    while True:
        x, y, z = struct.unpack("<3I", data[at : at + 12].ljust(12, b"\0"))
        a, b, c = (a + x) & 0xFFFFFFFF, (b + y) & 0xFFFFFFFF, (c + z) & 0xFFFFFFFF
        state = {"a": a, "b": b, "c": c}
        if len(data) - at <= 12:
            for x, y, k in ("c", "b", 14), ("a", "c", 11), ("b", "a", 25), ("c", "b", 16), ("a", "c", 4), ("b", "a", 14), ("c", "b", 24):
                state[x] = ((state[x] ^ state[y]) - rot(state[y], k)) & 0xFFFFFFFF
            return state["c"]
        for x, z, y, k in ("a", "c", "b", 4), ("b", "a", "c", 6), ("c", "b", "a", 8), ("a", "c", "b", 16), ("b", "a", "c", 19), ("c", "b", "a", 4):
            state[x] = ((state[x] - state[z]) ^ rot(state[z], k)) & 0xFFFFFFFF
            state[z] = (state[z] + state[y]) & 0xFFFFFFFF
        a, b, c = state["a"], state["b"], state["c"]
        at += 12


def changed(data, changes, seals):
    """`data` with bytes replaced at offsets; the checksums of the structures that start at `seals` are made right again."""
    data = bytearray(data)
    places = range(len(data) - 3)
    ends = [next(e for e in places[start + 8 :] if lookup3(bytes(data[start:e])) == int.from_bytes(data[e : e + 4], "little")) for start in seals]
    for at, new in changes:
        data[at : at + len(new)] = new
    for start, end in zip(seals, ends):
        data[end : end + 4] = lookup3(bytes(data[start:end])).to_bytes(4, "little")
    return bytes(data)


@functools.cache
def timeless(data):
    """`data` without the times of the superblock's extension, which the library cannot be told to leave out."""
    headers = [found.start() for found in re.finditer(rb"OHDR\x02[\x20-\x3f]", data)]
    if not headers:
        return data
    image = [found.start() for found in re.finditer(b"MDCI", data)]
    return changed(data, [(header + 6, bytes(16)) for header in headers], headers + image)


def hostile(file, data, exercises, *changes, sealed=None):
    """`data` with bytes replaced at offsets; `sealed` is the start of a structure whose checksum is made right again."""
    data = changed(timeless(bytes(data)), changes, [] if sealed is None else [sealed])
    put(f"hostile/{file}", data, exercises, "struct")


def wrong(old, new, chunks_old, chunks_new, types):
    word = lambda n: struct.pack("<Q", n)
    heap = types.find(b"GCOL")
    hostile("global-heap-size.h5", types, "a global heap collection larger than the file", (heap + 8, word(1 << 60)))
    hostile("global-heap-object.h5", types, "an object larger than its collection", (heap + 16 + 8, word(1 << 60)))
    hostile("global-heap-empty.h5", types, "a collection of no bytes", (heap + 8, word(0)))
    tree = old.find(b"TREE")
    hostile("btree-loop.h5", old, "a group B-tree that leads to itself", (tree + 5, b"\1"), (tree + 32, word(tree)))
    node = old.find(b"SNOD")
    hostile("name-outside.h5", old, "a name beyond the heap; its siblings are whole", (node + 8, word(1 << 40)))
    hostile("member-outside.h5", old, "an object beyond the file; its siblings are whole", (node + 56, word(1 << 62)))
    hostile("too-many-symbols.h5", old, "a symbol table node with more entries than bytes", (node + 6, b"\xff\xff"))
    heap = old.find(b"HEAP")
    hostile("heap-size.h5", old, "a local heap larger than the file", (heap + 8, word(1 << 50)))
    hostile("root-size.h5", old, "an object header larger than the file", (0x60 + 8, b"\xff\xff\xff\x7f"))
    hostile("end-of-file.h5", old[: len(old) // 2], "half a file")
    more = old.find(b"\x10\0\x10\0")
    hostile("continuation-loop.h5", old, "an object header that continues where it is", (more + 8, word(more)))
    hostile("continuation-size.h5", old, "a continuation larger than the file", (more + 16, word(1 << 60)))
    hostile("offsets.h5", old, "a size of offsets that is not defined", (13, b"\3"))
    chunks = chunks_old.find(b"TREE\1")
    hostile("chunk-btree-loop.h5", chunks_old, "a chunk B-tree that leads to itself", (chunks + 5, b"\1"), (chunks + 24 + 32, word(chunks)))
    hostile("chunk-size.h5", chunks_old, "a chunk larger than the file", (chunks + 24, b"\xff\xff\xff\xff"))
    tree = new.find(b"BTHD")
    hostile("btree2-depth.h5", new, "a B-tree deeper than it has nodes", (tree + 12, b"\x60\0"), sealed=tree)
    hostile("btree2-records.h5", new, "more records than a node holds", (tree + 24, b"\xff\xff"), sealed=tree)
    heap = new.find(b"FRHP")
    hostile("fractal-heap-rows.h5", new, "a root block of more rows than there can be", (heap + 140, b"\xff\xff"), sealed=heap)
    hostile("fractal-heap-width.h5", new, "a table of no columns", (heap + 110, b"\0\0"), sealed=heap)
    array = chunks_new.find(b"FAHD")
    hostile("fixed-array-elements.h5", chunks_new, "an array of more elements than bytes", (array + 8, word(1 << 60)), sealed=array)
    array = chunks_new.find(b"EAHD")
    hostile("extensible-array-bits.h5", chunks_new, "an array of no bits", (array + 7, b"\0"), sealed=array)


NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable         2"


def conventions(file, tree):
    """What programs agree on beyond the format."""
    add(tree, file, "x", values((3,), "<f8"))
    add(tree, file, "y", values((2,), "<i4"), maxshape=(None,), chunks=(2,))
    add(tree, file, "t", values((2, 3), "<f4"))
    file["x"].make_scale("width")
    file["y"].make_scale(NO_VARIABLE)
    file["t"].dims[0].attach_scale(file["y"])
    file["t"].dims[1].attach_scale(file["x"])
    file["t"].dims[0].label = "time"
    strings, number = hdf5_peer.strings, lambda n: n.to_bytes(4, "little")
    for i, (name, called) in enumerate((("y", NO_VARIABLE), ("x", "width"))):
        file[name].attrs["_Netcdf4Dimid"] = np.int32(i)
        tree.attribute(f"/{name}", "_Netcdf4Dimid", "i4", (), number(i))
        tree.attribute(f"/{name}", "CLASS", "str", (), strings([b"DIMENSION_SCALE"]))
        tree.attribute(f"/{name}", "NAME", "str", (), strings([called.encode()]))
        kind = {"compound": [["dataset", "ref"], ["dimension", "u4"]]}
        tree.attribute(f"/{name}", "REFERENCE_LIST", kind, (1,), strings([b"/t"]) + number(i))
    one = (1).to_bytes(8, "little")
    tree.attribute("/t", "DIMENSION_LIST", {"vlen": "ref"}, (2,), b"".join(one + strings([path]) for path in (b"/y", b"/x")))
    tree.attribute("/t", "DIMENSION_LABELS", "str", (2,), strings([b"time", b""]))
    file["t"].attrs["MATLAB_class"] = np.bytes_("single")
    tree.attribute("/t", "MATLAB_class", "str", (), hdf5_peer.strings([b"single"]))


def growing(file, tree):
    """Virtual datasets that lead to themselves, select more than can be counted, or overlap themselves."""
    unlimited = h5py.h5s.UNLIMITED

    def make(path, shape, limit, target, name, dataset, source, slab):
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        to, source = h5py.h5s.create_simple(shape, limit), h5py.h5s.create_simple(*source)
        to.select_hyperslab(*target)
        source.select_hyperslab(*slab)
        creation.set_obj_track_times(False)
        creation.set_virtual(to, name, dataset, source)
        h5py.h5d.create(file.id, path, h5py.h5t.STD_I32LE, h5py.h5s.create_simple(shape, limit), creation)

    whole = ((0,), (1,), (1,), (4,))
    make(b"itself", (4,), (4,), whole, b".", b"itself", ((4,), (4,)), whole)
    huge = (1 << 40,)
    make(b"numbered", huge, (unlimited,), ((0,), (unlimited,), (1,), (1,)), b".", b"none%b", ((1,), (1,)), ((0,), (1,), (1,), (1,)))
    follows = ((0,), (1,), (unlimited,), (1,))
    make(b"follows", (4,), (unlimited,), follows, b".", b"follows", ((4,), (unlimited,)), follows)
    make(b"sparse", huge, huge, ((0,), (1 << 39,), (2,), (1,)), b".", b"itself", (huge, huge), ((1,), (1 << 39,), (2,), (1,)))


def virtual_loops():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file.h5")
        with h5py.File(path, "w", libver="latest") as opened:
            growing(opened, None)
        put("hostile/virtual.h5", pathlib.Path(path).read_bytes(), growing.__doc__.rstrip("."))


def set_memory():
    """The library stores bytes that it never set. They are zeros if fresh memory is, and if it keeps none for later."""
    if os.environ.get("MALLOC_PERTURB_") != "255":
        zeroed = {"MALLOC_PERTURB_": "255", "GLIBC_TUNABLES": "glibc.malloc.perturb=255"}
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **zeroed})
    hdf5_hostile.library().H5set_free_list_limits(*[0] * 6)


def main():
    set_memory()
    kinds = "datasets, attributes and references of every datatype class"
    types = good("types-earliest.h5", kinds + ", oldest structures", hdf5_peer.types, libver=("earliest", "latest"))
    good("types-latest.h5", kinds + ", newest structures", lambda file, tree: hdf5_peer.types(file, tree, commit=False), libver="latest")
    chunks_old = good("indexes-earliest.h5", "layouts, with the old chunk index", indexes, libver=("earliest", "latest"))
    chunks_new = good("indexes-latest.h5", "layouts, with every new chunk index", indexes, libver="latest")
    good("filters.h5", "every filter", filters, libver="latest")
    old = good("links-earliest.h5", "links in symbol tables", links, libver=("earliest", "latest"))
    new = good("links-latest.h5", "links in dense storage", links, libver="latest", track_order=True)
    good("attributes.h5", "attributes in dense storage", attributes, libver="latest")
    good("user-block.h5", "a user block", attributes, userblock_size=512)
    good("conventions.h5", "dimension scales and marks of programs", conventions, libver="latest")
    earliest, latest = h5py.h5f.LIBVER_EARLIEST, h5py.h5f.LIBVER_LATEST
    fills = [links, attributes, lambda file, tree: hdf5_peer.types(file, tree, commit=False)]
    good("narrow-earliest.h5", "addresses and lengths of 4 bytes", *fills, indexes, make=narrow, libver=earliest)
    good("narrow-latest.h5", "addresses and lengths of 4 bytes, newest structures", *fills, indexes, make=narrow, libver=latest)
    all_kinds, attribute, others = 0x182A, 0x1000, 0x082A
    one = dict(make=sharing, libver=earliest, asked=[(all_kinds, 1)], list_to_tree=90, tree_to_list=60)
    good("shared-list.h5", "a list of shared messages of every kind, oldest structures", shared, **one)
    two = dict(make=sharing, libver=h5py.h5f.LIBVER_V110, asked=[(attribute, 1), (others, 1)], list_to_tree=8, tree_to_list=6)
    good("shared-tree.h5", "trees of shared messages", shared, **two)
    wrong(old, new, chunks_old, chunks_new, types)
    virtual_loops()
    hdf5_hostile.write(hostile)


if __name__ == "__main__":
    main()
