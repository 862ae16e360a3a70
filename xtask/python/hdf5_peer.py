"""The other side of the HDF5 conformance run: h5py writes, numpy says what must be read.

    hdf5_peer.py write DIR   writes the matrix of files, and beside each NAME the manifest NAME.jsonl
    hdf5_peer.py check DIR   reads the files that the other side wrote

Manifests are computed from the values that were written, never from reading the file again.
Contents: element k of a numeric array is (k * 31 + 7) % 251, as an integer, or a quarter of it as a float.
"""

import ctypes
import glob
import hashlib
import json
import os
import sys

import h5py
import numpy as np

import hdf5_check_written

import hdf5_cases

try:
    import hdf5plugin
except ImportError:
    hdf5plugin = None


class Tree:
    """What a file holds, for its manifest."""

    def __init__(self):
        self.objects = {"/": ("group", None)}
        self.attributes = {}

    def group(self, path):
        self.objects[path] = ("group", {})

    def array(self, path, kind, shape, data):
        self.objects[path] = ("array", described(kind, shape, data))

    def line(self, path, kind, **keys):
        self.objects[path] = (kind, keys)

    def unchecked(self, path, name):
        """An attribute of which nothing is said."""
        self.attributes.setdefault(path, {})[name] = {"unchecked": True}

    def attribute(self, path, name, kind, shape, data):
        self.attributes.setdefault(path, {})[name] = described(kind, shape, data)

    def write(self, path):
        with open(path, "w", encoding="utf-8") as out:
            emit = lambda line: out.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n")
            emit({"manifest": 1, "format": "hdf5"})
            depth = lambda p: 0 if p == "/" else p.count("/")
            parts = lambda p: [part.encode() for part in p.split("/")]
            for p in sorted(self.objects, key=lambda p: (depth(p), parts(p))):
                kind, keys = self.objects[p]
                emit({"path": p, "kind": kind, **(keys or {})})
                for name in sorted(self.attributes.get(p, {}), key=str.encode):
                    emit({"path": p, "kind": "attribute", "name": name, **self.attributes[p][name]})


def described(kind, shape, data):
    digest = hashlib.sha256(data).hexdigest()
    return {"type": kind, "shape": None if shape is None else list(shape), "sha256": digest}


def values(shape, dtype):
    """The contents of a numeric array."""
    n = int(np.prod(shape, dtype=np.int64))
    numbers = (np.arange(n, dtype=np.int64) * 31 + 7) % 251
    if np.dtype(dtype).kind in "fc":
        return (numbers / 4).reshape(shape).astype(dtype)
    if np.dtype(dtype) == np.int8:
        return (numbers - 125).reshape(shape).astype(dtype)
    return numbers.reshape(shape).astype(dtype)


def canonical(array):
    """Type and bytes of a numeric array."""
    dtype = array.dtype.newbyteorder("<")
    name = f"{dtype.kind}{dtype.itemsize}"
    return name, array.astype(dtype).tobytes()


def strings(items):
    return b"".join(len(item).to_bytes(8, "little") + item for item in items)


def add(tree, group, path, array, **options):
    group.create_dataset(path, data=array, **options)
    kind, data = canonical(array)
    tree.array("/" + path, kind, array.shape, data)


def types(file, tree, commit=True, **options):
    """Every datatype class; a committed one has the time of its making in new files."""
    for code in ["i1", "u1", "<i2", ">i2", "<u2", "<i4", ">i4", "<u4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]:
        name = code.replace("<", "le_").replace(">", "be_")
        add(tree, file, f"n_{name}", values((4, 6), code), **options)
    for code in ["<c8", ">c8", "<c16"]:
        name = code.replace("<", "le_").replace(">", "be_")
        add(tree, file, f"n_{name}", values((3, 5), code), **options)
    fixed = [b"alpha", b"", b"gamma rays"]
    file.create_dataset("s_fixed", data=np.array(fixed, "S12"), **options)
    tree.array("/s_fixed", "str", (3,), strings(fixed))
    text = ["één", "", "三", "x" * 300]
    file.create_dataset("s_vlen", data=np.array(text, object), dtype=h5py.string_dtype(), **options)
    tree.array("/s_vlen", "str", (4,), strings([item.encode() for item in text]))
    record = np.dtype([("a", "<i4"), ("b", ">f8"), ("c", "S3"), ("d", "<u2", (2, 2)), ("e", [("x", "u1"), ("y", "<f4")])], align=False)
    rows = np.zeros(5, record)
    rows["a"], rows["b"], rows["c"] = values(5, "i4"), values(5, "f8"), [b"a", b"bc", b"", b"def", b"g"]
    rows["d"], rows["e"]["x"], rows["e"]["y"] = values((5, 2, 2), "u2"), values(5, "u1"), values(5, "f4")
    file.create_dataset("compound", data=rows, **options)
    kind = {"compound": [["a", "i4"], ["b", "f8"], ["c", "str"], ["d", {"array": "u2", "shape": [2, 2]}], ["e", {"compound": [["x", "u1"], ["y", "f4"]]}]]}
    data = b"".join(
        r["a"].astype("<i4").tobytes() + r["b"].astype("<f8").tobytes() + strings([bytes(r["c"])])
        + r["d"].astype("<u2").tobytes() + r["e"]["x"].tobytes() + r["e"]["y"].astype("<f4").tobytes()
        for r in rows
    )
    tree.array("/compound", kind, (5,), data)
    enum = h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 42}, basetype="<i2")
    file.create_dataset("enum", data=np.array([0, 42, 1], "<i2"), dtype=enum, **options)
    # h5py stores the members in the order of their names.
    members = {"enum": "i2", "members": [["BLUE", 42], ["GREEN", 1], ["RED", 0]]}
    tree.array("/enum", members, (3,), np.array([0, 42, 1], "<i2").tobytes())
    flags = np.array([True, False, True])
    file.create_dataset("bool", data=flags, **options)
    tree.array("/bool", {"enum": "i1", "members": [["FALSE", 0], ["TRUE", 1]]}, (3,), b"\1\0\1")
    file.create_dataset("opaque", data=np.array([b"\1\2\3", b"\4\5\6"], "V3"), **options)
    tree.array("/opaque", {"opaque": 3}, (2,), b"\1\2\3\4\5\6")
    rows = [values(n, "<i4") for n in (3, 0, 7)]
    sequences = file.create_dataset("vlen", (3,), h5py.vlen_dtype(np.dtype("<i4")), **options)
    for i, row in enumerate(rows):
        sequences[i] = row
    data = b"".join(len(row).to_bytes(8, "little") + row.tobytes() for row in rows)
    tree.array("/vlen", {"vlen": "i4"}, (3,), data)
    references = file.create_dataset("refs", (3,), h5py.ref_dtype, **options)
    references[0], references[1] = file["vlen"].ref, file.ref
    tree.array("/refs", "ref", (3,), strings([b"/vlen", b"/", b""]))
    regions = file.create_dataset("regions", (2,), h5py.regionref_dtype, **options)
    regions[0] = file["n_le_i4"].regionref[1:3, 2:4]
    tree.array("/regions", "regref", (2,), strings([b"/n_le_i4 (1,2)-(2,3)", b""]))
    if commit:
        file["type"] = np.dtype("<i4")
        tree.line("/type", "datatype", type="i4")
    file.create_dataset("scalar", data=np.float64(2.5))
    tree.array("/scalar", "f8", (), np.float64(2.5).tobytes())
    file.create_dataset("null", data=h5py.Empty("<i4"))
    tree.array("/null", "i4", None, b"")
    file.create_dataset("empty", (0, 3), "<i4")
    tree.array("/empty", "i4", (0, 3), b"")


def layouts(file, tree):
    """Every layout and index, with and without filters, whole and partly written."""
    add(tree, file, "contiguous", values((31, 17), "<i4"))
    space = h5py.h5s.create_simple((6, 5))
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_layout(h5py.h5d.COMPACT)
    array = values((6, 5), "<i4")
    h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I32LE, space, creation).write(h5py.h5s.ALL, h5py.h5s.ALL, array)
    tree.array("/compact", "i4", (6, 5), array.tobytes())
    limits = {
        "fixed": (31, 17),
        "grows_0": (None, 17),
        "grows_1": (31, None),
        "grows_both": (None, None),
        "room": (100, 40),
    }
    for name, limit in limits.items():
        for filters in ({}, {"compression": "gzip"}, {"shuffle": True, "compression": "gzip", "fletcher32": True}):
            tag = "_".join(str(key) for key in filters) or "plain"
            add(tree, file, f"{name}_{tag}", values((31, 17), "<i4"), chunks=(4, 5), maxshape=limit, **filters)
    add(tree, file, "single", values((31, 17), "<f8"), chunks=(31, 17))
    add(tree, file, "single_gzip", values((31, 17), "<f8"), chunks=(31, 17), compression="gzip")
    add(tree, file, "many_fixed", values((4000,), "<i2"), chunks=(1,), maxshape=(4000,))
    add(tree, file, "many_fixed_gzip", values((3000,), "<i2"), chunks=(1,), compression="gzip")
    add(tree, file, "many_growing", values((40000,), "<i2"), chunks=(1,), maxshape=(None,))
    add(tree, file, "many_growing_gzip", values((5000,), "<i2"), chunks=(1,), maxshape=(None,), compression="gzip")
    add(tree, file, "many_both", values((60, 70), "<i2"), chunks=(1, 1), maxshape=(None, None))
    add(tree, file, "cube", values((7, 9, 11), "<u2"), chunks=(3, 4, 5), maxshape=(7, None, 11))
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_chunk((4, 5))
    creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    array = values((31, 17), "<i4")
    space = h5py.h5s.create_simple((31, 17))
    h5py.h5d.create(file.id, b"implicit", h5py.h5t.STD_I32LE, space, creation).write(h5py.h5s.ALL, h5py.h5s.ALL, array)
    tree.array("/implicit", "i4", (31, 17), array.tobytes())
    for name, limit in limits.items():
        sparse = file.create_dataset(f"sparse_{name}", (31, 17), "<i4", chunks=(4, 5), maxshape=limit, fillvalue=-9)
        array = np.full((31, 17), -9, "<i4")
        array[9:11, 3:16] = values((2, 13), "<i4")
        sparse[9:11, 3:16] = array[9:11, 3:16]
        tree.array(f"/sparse_{name}", "i4", (31, 17), array.tobytes())
    grown = file.create_dataset("grown", (10,), "<i4", chunks=(8,), maxshape=(None,), fillvalue=3)
    grown[:] = values(10, "<i4")
    grown.resize((50,))
    tree.array("/grown", "i4", (50,), np.concatenate([values(10, "<i4"), np.full(40, 3, "<i4")]).tobytes())
    shrunk = file.create_dataset("shrunk", data=values((50, 6), "<i4"), chunks=(8, 4), maxshape=(None, None))
    shrunk.resize((13, 5))
    tree.array("/shrunk", "i4", (13, 5), np.ascontiguousarray(values((50, 6), "<i4")[:13, :5]).tobytes())
    file.create_dataset("unwritten", (5,), "<i4", fillvalue=77)
    tree.array("/unwritten", "i4", (5,), np.full(5, 77, "<i4").tobytes())


def filters(file, tree):
    """Every filter that h5py and its plugins write."""
    array, floats = values((100, 30), "<i4"), values((100, 30), "<f4")
    add(tree, file, "lzf", array, chunks=(40, 30), compression="lzf")
    add(tree, file, "shuffle_be", values((100, 30), ">i4"), chunks=(33, 7), shuffle=True)
    add(tree, file, "fletcher32", values((101, 3), "u1"), chunks=(13, 1), fletcher32=True)
    add(tree, file, "scaleoffset", array, chunks=(40, 30), scaleoffset=0)
    add(tree, file, "scaleoffset_be", values((50,), ">i2"), chunks=(20,), scaleoffset=0)
    add(tree, file, "scaleoffset_float", floats, chunks=(40, 30), scaleoffset=3)
    add(tree, file, "scaleoffset_signed", values((90,), "i1"), chunks=(20,), scaleoffset=0)
    if h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP):
        for code in ["u1", "<i2", ">i2", "<i4", "<f4", "<f8"]:
            for method in ("nn", "ec"):
                name = code.replace("<", "le_").replace(">", "be_")
                add(tree, file, f"szip_{name}_{method}", values((64, 30), code), chunks=(20, 30), compression="szip", compression_opts=(method, 8))
                add(tree, file, f"szip_{name}_{method}_long", values((64, 128), code), chunks=(16, 128), compression="szip", compression_opts=(method, 16))
                zeros = np.zeros((64, 128), code)
                zeros[5, 7] = 1
                add(tree, file, f"szip_{name}_{method}_zeros", zeros, chunks=(64, 128), compression="szip", compression_opts=(method, 32))
    # Integers with unused bits are refused in old headers, which have no checksum.
    old = file.libver[0] == "earliest"
    for bits, offset, code in [] if old else [(12, 0, "<i4"), (9, 3, "<i2"), (17, 5, ">i4")]:
        kind = h5py.h5t.py_create(np.dtype(code)).copy()
        kind.set_precision(bits)
        kind.set_offset(offset)
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk((20,))
        creation.set_filter(5, 1, ())
        space = h5py.h5s.create_simple((90,))
        name = f"nbit_{bits}_{offset}"
        numbers = values((90,), code)
        numbers[::3] *= -1
        h5py.h5d.create(file.id, name.encode(), kind, space, creation).write(h5py.h5s.ALL, h5py.h5s.ALL, numbers)
        tree.array("/" + name, *[(f"i{numbers.itemsize}"), (90,), numbers.astype(f"<i{numbers.itemsize}").tobytes()])
    if hdf5plugin is None:
        return
    plugins = {
        "bzip2": hdf5plugin.BZip2(),
        "lz4": hdf5plugin.LZ4(),
        "lz4_blocks": hdf5plugin.LZ4(nbytes=512),
        "zstd": hdf5plugin.Zstd(),
        "bitshuffle": hdf5plugin.Bitshuffle(cname="none"),
        "bitshuffle_lz4": hdf5plugin.Bitshuffle(cname="lz4"),
        "bitshuffle_zstd": hdf5plugin.Bitshuffle(cname="zstd"),
        "bitshuffle_small": hdf5plugin.Bitshuffle(nelems=64, cname="lz4"),
    }
    for name, options in plugins.items():
        for code in ["u1", "<i2", ">f8"]:
            tag = code.replace("<", "le_").replace(">", "be_")
            add(tree, file, f"{name}_{tag}", values((101, 30), code), chunks=(37, 30), **options)
        noise = np.random.default_rng(7).integers(0, 2**31, 5000).astype("<i4")
        add(tree, file, f"{name}_noise", noise, chunks=(1000,), **options)


def groups(file, tree):
    """Groups of all sizes, with links of all kinds."""
    for n in (1, 8, 9, 100, 1000):
        group = file.create_group(f"g{n}")
        tree.group(f"/g{n}")
        for i in range(n):
            group.create_group(f"member {i * 7919 % n:05}")
            tree.group(f"/g{n}/member {i * 7919 % n:05}")
    file["soft"] = h5py.SoftLink("/g1/nowhere")
    tree.line("/soft", "softlink", target="/g1/nowhere")
    file["outside"] = h5py.ExternalLink("other.h5", "/x")
    tree.line("/outside", "extlink", file="other.h5", target="/x")
    file["again"] = file["g8"]
    tree.objects["/again"] = ("group", {})
    # The first path in byte order is the canonical one.
    moved = {p: v for p, v in tree.objects.items() if p.startswith("/g8/")}
    for p, v in moved.items():
        del tree.objects[p]
        tree.objects["/again" + p[3:]] = v
    tree.line("/g8", "hardlink", target="/again")
    file["g9"]["loop"] = file["/"]
    tree.line("/g9/loop", "hardlink", target="/")
    long = "n" * 5000
    file.create_group(long)
    tree.group("/" + long)
    file.create_group("üñï")
    tree.group("/üñï")


def attributes(file, tree):
    """Attributes: few, many, large, shared."""
    for n in (1, 8, 9, 300):
        group = file.create_group(f"a{n}")
        tree.group(f"/a{n}")
        for i in range(n):
            array = values((i % 5 + 1,), "<i4")
            group.attrs.create(f"attribute {i}", array)
            tree.attribute(f"/a{n}", f"attribute {i}", *canonical(array)[:1], array.shape, array.tobytes())
    group = file["a1"]
    group.attrs["text"] = "grüße"
    tree.attribute("/a1", "text", "str", (), strings(["grüße".encode()]))
    group.attrs["empty"] = h5py.Empty("<f4")
    tree.attribute("/a1", "empty", "f4", None, b"")
    file["named"] = np.dtype("<f8")
    tree.line("/named", "datatype", type="f8")
    group.attrs.create("committed", 1.5, dtype=file["named"])
    tree.attribute("/a1", "committed", "f8", (), np.float64(1.5).tobytes())


def large_attribute(file, tree):
    """What fits no header message."""
    array = values((40000,), "<i4")
    group = file.create_group("big")
    tree.group("/big")
    group.attrs["values"] = array
    tree.attribute("/big", "values", "i4", (40000,), array.tobytes())
    group.attrs["small"] = np.int32(4)
    tree.attribute("/big", "small", "i4", (), np.int32(4).tobytes())


BOUNDS = ["earliest", "v108", "v110", "v112", "v114", "v200", "latest"]


def write(folder):
    os.makedirs(folder, exist_ok=True)

    def one(name, fill, **options):
        try:
            tree = Tree()
            with h5py.File(os.path.join(folder, name), options.pop("mode", "w"), **options) as file:
                for step in fill:
                    step(file, tree)
            tree.write(os.path.join(folder, name + ".jsonl"))
        except Exception as error:  # one file's trouble is not the others'
            print(json.dumps({"case": f"written by h5py: {name}", "ok": False, "why": repr(error)}))
            for extra in ("", ".jsonl"):
                if os.path.exists(os.path.join(folder, name + extra)):
                    os.remove(os.path.join(folder, name + extra))

    for bound in BOUNDS:
        low = (bound, "latest")
        one(f"types_{bound}.h5", [types], libver=low)
        one(f"types_chunked_{bound}.h5", [lambda f, t: types(f, t, chunks=True)], libver=low)
        one(f"types_gzip_{bound}.h5", [lambda f, t: types(f, t, compression="gzip")], libver=low)
        one(f"layouts_{bound}.h5", [layouts], libver=low)
        one(f"filters_{bound}.h5", [filters], libver=low)
        one(f"groups_{bound}.h5", [groups], libver=low)
        one(f"groups_ordered_{bound}.h5", [groups], libver=low, track_order=True)
        one(f"attributes_{bound}.h5", [attributes], libver=low)
        if bound != "earliest":
            one(f"large_attribute_{bound}.h5", [large_attribute], libver=low)
    one("large_group_old.h5", [many], libver=("earliest", "latest"))
    one("large_group_new.h5", [many], libver="latest")
    for size in (512, 1024, 2048, 8192):
        one(f"user_block_{size}.h5", [attributes, layouts], userblock_size=size)
    one("paged.h5", [attributes, layouts], fs_strategy="page", fs_persist=True, fs_threshold=64, libver="latest")
    one("free_space.h5", [attributes, layouts, removed], fs_strategy="fsm", fs_persist=True)
    shared(folder, one)
    virtual(folder, one)
    external(folder, one)
    hdf5_cases.write(folder, one, sys.modules[__name__], hdf5plugin)


def many(file, tree):
    for i in range(20000):
        file.create_group(f"{i * 7919 % 20000:06}")
        tree.group(f"/{i:06}")


def removed(file, tree):
    for i in (8, 9):
        del file[f"a{i}"]
        tree.objects.pop(f"/a{i}")
        tree.attributes.pop(f"/a{i}")


def shared(folder, one):
    """Shared object header messages, as a list and as a tree. h5py has no name for what asks for them; its library has."""
    libraries = glob.glob(os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs", "libhdf5-*"))
    library = ctypes.CDLL(libraries[0]) if libraries else None
    for name, count, cutoff in (("shared_list.h5", 10, 50), ("shared_tree.h5", 60, 5)):
        if library is None:
            print(json.dumps({"case": f"written by h5py: {name}", "skipped": "the library of h5py was not found"}))
            continue
        creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
        number = ctypes.c_int64(creation.id)
        library.H5Pset_shared_mesg_nindexes(number, ctypes.c_uint(2))
        library.H5Pset_shared_mesg_index(number, ctypes.c_uint(0), ctypes.c_uint(0x1000), ctypes.c_uint(1))
        library.H5Pset_shared_mesg_index(number, ctypes.c_uint(1), ctypes.c_uint(0x082A), ctypes.c_uint(1))
        library.H5Pset_shared_mesg_phase_change(number, ctypes.c_uint(cutoff), ctypes.c_uint(max(cutoff - 3, 0)))
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
        path = os.path.join(folder, name)
        h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, creation, access).close()

        def fill(file, tree, count=count):
            for i in range(count):
                array = values((3, i % 4 + 1), "<f8")
                add(tree, file, f"d{i:03}", array, chunks=(2, 1), compression="gzip", fillvalue=float(i % 3))
                for n in range(i % 12):
                    file[f"d{i:03}"].attrs.create(f"attribute {n}", values((n + 1,), "<i4"))
                    data = values((n + 1,), "<i4")
                    tree.attribute(f"/d{i:03}", f"attribute {n}", "i4", (n + 1,), data.tobytes())

        one(name, [fill], mode="a")


def virtual(folder, one):
    """Virtual datasets of this file and of others."""

    def sources(file, tree):
        for i in range(4):
            add(tree, file, f"part{i}", values((10, 6), "<i4") + np.int32(i))

    one("virtual_source.h5", [sources], libver="latest")

    def fill(file, tree):
        layout = h5py.VirtualLayout((5, 10, 6), "<i4")
        for i in range(4):
            layout[i] = h5py.VirtualSource("virtual_source.h5", f"part{i}", (10, 6))
        file.create_virtual_dataset("stacked", layout, fillvalue=-1)
        rows = [values((10, 6), "<i4") + i for i in range(4)] + [np.full((10, 6), -1)]
        tree.array("/stacked", "i4", (5, 10, 6), np.stack(rows).astype("<i4").tobytes())
        add(tree, file, "here", values((12,), "<i4"))
        layout = h5py.VirtualLayout((2, 6), "<i4")
        layout[0] = h5py.VirtualSource(".", "here", (12,))[::2]
        layout[1] = h5py.VirtualSource("missing.h5", "here", (6,))
        file.create_virtual_dataset("strided", layout, fillvalue=8)
        tree.array("/strided", "i4", (2, 6), np.stack([values(12, "<i4")[::2], np.full(6, 8)]).astype("<i4").tobytes())
        layout = h5py.VirtualLayout((10, 12), "<f8")
        layout[:, :6] = h5py.VirtualSource("virtual_source.h5", "part0", (10, 6))
        layout[:, 6:] = h5py.VirtualSource("virtual_source.h5", "part1", (10, 6))
        file.create_virtual_dataset("beside", layout)
        both = np.concatenate([values((10, 6), "<i4"), values((10, 6), "<i4") + 1], axis=1)
        tree.array("/beside", "f8", (10, 12), both.astype("<f8").tobytes())

    one("virtual.h5", [fill], libver="latest")


def external(folder, one):
    """Elements in files beside the file."""
    array = values((40,), "<i4")
    array[:25].tofile(os.path.join(folder, "external_a.raw"))
    with open(os.path.join(folder, "external_b.raw"), "wb") as out:
        out.write(b"????" + array[25:].tobytes())

    def fill(file, tree):
        parts = [("external_a.raw", 0, 100), ("external_b.raw", 4, 60)]
        file.create_dataset("outside", (40,), "<i4", external=parts)
        tree.array("/outside", "i4", (40,), array.tobytes())

    here = os.getcwd()
    os.chdir(folder)
    try:
        one("external.h5", [fill])
    finally:
        os.chdir(here)


if __name__ == "__main__":
    {"write": write, "check": hdf5_check_written.check}[sys.argv[1]](sys.argv[2])
