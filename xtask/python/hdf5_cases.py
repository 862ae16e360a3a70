"""Cases of the HDF5 conformance run that go beyond plain files: the matrix of classes, layouts and filters, large groups,
files of netCDF-4, files that were left open, and virtual datasets of every kind.

Each function gets the folder and `one`, which writes a file with its manifest (see hdf5_peer.py).
"""

import json
import os
import shutil

import h5py
import numpy as np


def classes(peer):
    """A name, the elements, the type to store them as, and what the manifest says: type and bytes of each element."""
    n = 35
    number = peer.values(n, "<i4")
    each = lambda array: [item.tobytes() for item in np.asarray(array)]
    texts = [f"text {i}" * (i % 4) for i in range(n)]
    fixed = np.array([text.encode() for text in texts], "S30")
    record = np.zeros(n, [("a", ">i2"), ("b", "S4"), ("c", [("x", "<f4"), ("y", "u1", (2,))])])
    record["a"], record["b"] = peer.values(n, "i2"), [text.encode()[:4] for text in texts]
    record["c"]["x"], record["c"]["y"] = peer.values(n, "f4"), peer.values((n, 2), "u1")
    record_type = {"compound": [["a", "i2"], ["b", "str"], ["c", {"compound": [["x", "f4"], ["y", {"array": "u1", "shape": [2]}]]}]]}
    record_bytes = [
        r["a"].astype("<i2").tobytes() + peer.strings([bytes(r["b"])]) + r["c"]["x"].tobytes() + r["c"]["y"].tobytes() for r in record
    ]
    rows = [peer.values(i % 5, "<u2") for i in range(n)]
    ragged = np.empty(n, object)
    ragged[:] = rows
    blocks = peer.values((n, 2, 3), "<i2")
    enum = h5py.enum_dtype({"A": 0, "B": 1, "C": -5}, basetype=">i2")
    states = np.array([(0, 1, -5)[i % 3] for i in range(n)], ">i2")
    members = {"enum": "i2", "members": [["A", 0], ["B", 1], ["C", -5]]}
    return [
        ("integer_le", number, None, "i4", each(number)),
        ("integer_be", number.astype(">i4"), None, "i4", each(number)),
        ("float_le", peer.values(n, "<f8"), None, "f8", each(peer.values(n, "<f8"))),
        ("float_be", peer.values(n, ">f4"), None, "f4", each(peer.values(n, "<f4"))),
        ("complex", peer.values(n, "<c8"), None, "c8", each(peer.values(n, "<c8"))),
        ("string_fixed", fixed, None, "str", [peer.strings([text.encode()]) for text in texts]),
        ("string_any", np.array(texts, object), h5py.string_dtype(), "str", [peer.strings([text.encode()]) for text in texts]),
        ("opaque", np.array([bytes([i, 1, 2]) for i in range(n)], "V3"), None, {"opaque": 3}, [bytes([i, 1, 2]) for i in range(n)]),
        ("compound", record, None, record_type, record_bytes),
        ("enum", states, enum, members, each(states.astype("<i2"))),
        ("bool", number % 2 == 0, None, {"enum": "i1", "members": [["FALSE", 0], ["TRUE", 1]]}, [bytes([int(v)]) for v in number % 2 == 0]),
        ("array", blocks, np.dtype(("<i2", (2, 3))), {"array": "i2", "shape": [2, 3]}, each(blocks)),
        ("vlen", ragged, h5py.vlen_dtype(np.dtype("<u2")), {"vlen": "u2"}, [len(r).to_bytes(8, "little") + r.tobytes() for r in rows]),
        ("long_double", peer.values(n, np.longdouble), None, "f8*", each(peer.values(n, "<f8"))),
    ]


def stored(peer, newest):
    """Classes that numpy has no types for: a name, the elements as they are stored, their type, and as in `classes`."""
    n = 35
    each = lambda array: [item.tobytes() for item in array]
    low = h5py.h5t
    spaces = low.C_S1.copy()
    spaces.set_size(8)
    spaces.set_strpad(low.STR_SPACEPAD)
    texts = [b"a b" * (i % 3) for i in range(n)]
    found = [
        ("bits", peer.values(n, ">u2"), low.STD_B16BE, {"bits": 2}, each(peer.values(n, "<u2"))),
        ("time", peer.values(n, "<i4"), low.UNIX_D32LE, {"time": 4}, each(peer.values(n, "<i4"))),
        ("string_spaces", np.array([text.ljust(8) for text in texts], "S8"), spaces, "str", [peer.strings([text]) for text in texts]),
    ]
    if newest:
        found.append(("complex_class", peer.values(n, ">c8"), low.COMPLEX_IEEE_F32BE, "c8", each(peer.values(n, "<c8"))))
    return found


def references(file, peer):
    """References to objects and to regions of one: as `classes`."""
    n = 35
    target = file.create_dataset("target", data=peer.values((4, 6), "<i4"))
    objects = [(target.ref, file.ref, h5py.Reference())[i % 3] for i in range(n)]
    named = [peer.strings([(b"/target", b"/", b"")[i % 3]]) for i in range(n)]
    regions = [target.regionref[i % 3 : i % 3 + 2, 1:3] for i in range(n)]
    text = lambda i: f"/target ({i % 3},1)-({i % 3 + 1},2)".encode()
    array = lambda items, kind: np.array(items + [None], kind)[:-1]
    return [
        ("reference", array(objects, h5py.ref_dtype), h5py.ref_dtype, "ref", named),
        ("region", array(regions, h5py.regionref_dtype), h5py.regionref_dtype, "regref", [peer.strings([text(i)]) for i in range(n)]),
    ]


LIMITS = {"whole": None, "fixed": (7, 5), "grows": (None, 5), "both": (None, None)}
FILTERS = {"plain": {}, "gzip": {"compression": "gzip"}, "all": {"shuffle": True, "compression": "gzip", "fletcher32": True}}


def combinations(name):
    """Paths and what makes datasets of each layout, index and pipeline."""
    yield f"{name}.contiguous.plain", {}
    for limit, maximum in LIMITS.items():
        for filters, options in FILTERS.items():
            options = {"chunks": (7, 5) if limit == "whole" else (3, 2), "maxshape": maximum, **options}
            if name in ("string_any", "vlen", "region", "reference"):
                # The library refuses checksums of what is elsewhere.
                options.pop("fletcher32", None)
            yield f"{name}.{limit}.{filters}", options


def matrix(peer):
    """Every class in every layout, with every chunk index and filter pipeline; the index depends on what may grow."""

    def fill(file, tree):
        tree.array("/target", "i4", (4, 6), peer.values((4, 6), "<i4").tobytes())
        for name, data, dtype, kind, each in classes(peer) + references(file, peer):
            for path, filters in combinations(name):
                if name == "array":
                    # Data of an array type would be taken for more dimensions.
                    file.create_dataset(path, (7, 5), dtype, **filters)[...] = data.reshape((7, 5) + data.shape[1:])
                else:
                    file.create_dataset(path, data=data.reshape(7, 5), dtype=dtype, **filters)
                tree.array("/" + path, kind, (7, 5), b"".join(each))
            file.attrs.create(name, data, shape=None if name == "array" else (35,), dtype=dtype)
            tree.attribute("/", name, kind, (35,), b"".join(each))
        for name, data, dtype, kind, each in stored(peer, file.libver[0] in ("v200", "latest")):
            for path, filters in combinations(name):
                with h5py.File("like", "w", driver="core", backing_store=False) as other:
                    like = other.create_dataset("like", (7, 5), "u1", **filters).id
                    made = h5py.h5d.create(file.id, path.encode(), dtype, like.get_space(), like.get_create_plist())
                made.write(h5py.h5s.ALL, h5py.h5s.ALL, data.reshape(7, 5), dtype)
                tree.array("/" + path, kind, (7, 5), b"".join(each))
            h5py.h5a.create(file.id, name.encode(), dtype, h5py.h5s.create_simple((35,))).write(data, dtype)
            tree.attribute("/", name, kind, (35,), b"".join(each))

    return fill


def large_groups(folder, one):
    """100,000 links, made in another order than that of their names, and 5,000 attributes."""

    def links(file, tree):
        file.create_group("target")
        tree.group("/target")
        group = file.create_group("many")
        tree.group("/many")
        for i in range(100_000):
            number = i * 7919 % 100_000
            group.id.links.create_soft(f"{number:06}".encode(), b"/target")
            tree.line(f"/many/{number:06}", "softlink", target="/target")

    def attributes(file, tree):
        for i in range(5000):
            file.attrs.create(f"{i * 7919 % 5000:05}", np.int32(i))
            tree.attribute("/", f"{i * 7919 % 5000:05}", "i4", (), np.int32(i).tobytes())

    one("links_old.h5", [links], libver=("earliest", "latest"))
    one("links_new.h5", [links], libver="latest")
    one("links_ordered.h5", [links], libver="latest", track_order=True)
    one("many_attributes_new.h5", [attributes], libver="latest")
    one("many_attributes_ordered.h5", [attributes], libver="latest", track_order=True)


def short(folder, one, peer):
    """Files whose addresses and lengths are not 8 bytes wide."""
    low = h5py.h5f
    for bound, oldest, widths in (("old", low.LIBVER_EARLIEST, ((2, 2), (4, 4), (8, 4))), ("new", low.LIBVER_V18, ((4, 4), (8, 4), (4, 8)))):
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        access.set_libver_bounds(oldest, low.LIBVER_LATEST)
        for offsets, lengths in widths:
            creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
            creation.set_sizes(offsets, lengths)
            name = f"short_{bound}_{offsets}_{lengths}.h5"
            low.create(os.path.join(folder, name).encode(), low.ACC_TRUNC, creation, access).close()
            # Two bytes lead to 64 KiB.
            one(name, [peer.types] if offsets == 2 else [peer.types, peer.layouts, peer.attributes], mode="a")


def left_open(folder, one, peer):
    """A copy of a file whose writer is not done: once between flushes as usual, once for concurrent readers."""
    for name, swmr in (("open_writing.h5", False), ("open_swmr.h5", True)):
        tree = peer.Tree()
        path = os.path.join(folder, name)
        with h5py.File(path + ".tmp", "w", libver="latest") as file:
            data = file.create_dataset("grown_here", (0,), "<i4", maxshape=(None,), chunks=(16,))
            fixed = file.create_dataset("filled", (400,), "<i4", chunks=(7,), compression="gzip")
            if swmr:
                file.swmr_mode = True
            for size in (10, 100, 333):
                data.resize((size,))
                data[:] = peer.values(size, "<i4")
                data.flush()
            fixed[:] = peer.values(400, "<i4")
            file.flush()
            shutil.copyfile(path + ".tmp", path)
            tree.array("/grown_here", "i4", (333,), peer.values(333, "<i4").tobytes())
            tree.array("/filled", "i4", (400,), peer.values(400, "<i4").tobytes())
        os.remove(path + ".tmp")
        tree.write(path + ".jsonl")


def netcdf(folder, peer):
    """Files of the netCDF-4 library. What it adds of its own is not compared."""
    try:
        import netCDF4
    except ImportError:
        print(json.dumps({"case": "written by netCDF4: netcdf.nc", "skipped": "netCDF4 is not installed"}))
        return
    for name, model in (("netcdf_4.h5", "NETCDF4"), ("netcdf_classic.h5", "NETCDF4_CLASSIC")):
        tree = peer.Tree()
        path = os.path.join(folder, name)
        with netCDF4.Dataset(path, "w", format=model) as file:
            file.createDimension("time", None)
            file.createDimension("x", 5)
            tree.unchecked("/", "_NCProperties")
            if model == "NETCDF4_CLASSIC":
                tree.unchecked("/", "_nc3_strict")
            file.title = "a title"
            tree.attribute("/", "title", "str", (), peer.strings([b"a title"]))
            variable(peer, tree, file, "time", "f8", ("time",), (3,), scale=True)
            variable(peer, tree, file, "x", "i4", ("x",), (5,), scale=True)
            variable(peer, tree, file, "t", "f4", ("time", "x"), (3, 5), zlib=True, shuffle=True)
            if model == "NETCDF4":
                group = file.createGroup("inner")
                tree.group("/inner")
                group.createDimension("y_zeros", 4)
                # A dimension without a variable is a dataset of its own.
                tree.array("/inner/y_zeros", "f4", (4,), np.zeros(4, "<f4").tobytes())
                for added in ("CLASS", "NAME", "_Netcdf4Dimid", "REFERENCE_LIST"):
                    tree.unchecked("/inner/y_zeros", added)
                variable(peer, tree, group, "u", "u8", ("y_zeros", "x"), (4, 5), path="/inner/u")
                text = group.createVariable("stringy", str, ("y_zeros",))
                text[:] = np.array(["a", "", "three", "ü"], object)
                tree.array("/inner/stringy", "str", (4,), peer.strings([b"a", b"", b"three", "ü".encode()]))
                for added in ("DIMENSION_LIST", "_FillValue", "_Netcdf4Dimid", "_Netcdf4Coordinates"):
                    tree.unchecked("/inner/stringy", added)
        tree.write(path + ".jsonl")


def variable(peer, tree, file, name, code, dimensions, shape, scale=False, path=None, **options):
    made = file.createVariable(name, code, dimensions, **options)
    array = peer.values(shape, code)
    made[:] = array
    made.units = "m"
    path = path or "/" + name
    kind, data = peer.canonical(array)
    tree.array(path, kind, shape, data)
    tree.attribute(path, "units", "str", (), peer.strings([b"m"]))
    for added in ("CLASS", "NAME", "REFERENCE_LIST") if scale else ("DIMENSION_LIST",):
        tree.unchecked(path, added)
    for added in ("_Netcdf4Dimid", "_Netcdf4Coordinates"):
        tree.unchecked(path, added)


def mapping(target, blocks, source, file, dataset):
    """A mapping for a virtual dataset: a hyperslab of the target and one of the source, as start, stride, count, block."""
    spaces = []
    for (shape, limit), slab in ((target, blocks), source):
        space = h5py.h5s.create_simple(shape, limit)
        space.select_hyperslab(*[slab[i] for i in (0, 2, 1, 3)])
        spaces.append(space)
    return spaces[0], file, dataset, spaces[1]


def virtual(folder, one, peer):
    """Virtual datasets that follow growing sources, have numbered ones, and have other virtual ones."""
    unlimited = h5py.h5s.UNLIMITED

    def sources(file, tree):
        for i in range(3):
            peer.add(tree, file, f"part{i}", peer.values((4, 6), "<i4") + np.int32(i), maxshape=(None, 6), chunks=(2, 6))

    one("virtual_grown.h5", [sources], libver="latest")

    def make(file, path, shape, limit, mappings, fill=-1):
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_fill_value(np.array(fill, "<i4"))
        for target, name, dataset, source in mappings:
            creation.set_virtual(target, name, dataset, source)
        space = h5py.h5s.create_simple(shape, limit)
        h5py.h5d.create(file.id, path, h5py.h5t.STD_I32LE, space, creation)

    def fill(file, tree):
        part = [peer.values((4, 6), "<i4") + np.int32(i) for i in range(3)]
        target, limit = (1, 6), (unlimited, 6)
        rows = ((0, 0), (1, 1), (unlimited, 1), (1, 6))
        make(file, b"stacked_grown", target, limit, [mapping((target, limit), rows, (((4, 6), (unlimited, 6)), rows), b"virtual_grown.h5", b"part1")])
        tree.array("/stacked_grown", "i4", (4, 6), part[1].tobytes())
        every = ((0, 0), (4, 1), (unlimited, 1), (4, 6))
        whole = ((0, 0), (1, 1), (1, 1), (4, 6))
        make(file, b"stacked_numbered", (4, 6), limit, [mapping(((4, 6), limit), every, (((4, 6), (4, 6)), whole), b"virtual_grown.h5", b"part%b")])
        tree.array("/stacked_numbered", "i4", (12, 6), np.concatenate(part).tobytes())
        each = [mapping(((12, 6), (12, 6)), ((4 * i, 0), (1, 1), (1, 1), (4, 6)), (((4, 6), (4, 6)), whole), b"virtual_grown.h5", b"part%d" % i) for i in range(3)]
        make(file, b"stacked_fixed", (12, 6), (12, 6), each)
        tree.array("/stacked_fixed", "i4", (12, 6), np.concatenate(part).tobytes())
        third = (((12, 6), (12, 6)), ((1, 0), (3, 2), (4, 3), (1, 1)))
        make(file, b"stacked_nested", (4, 3), (4, 3), [mapping(((4, 3), (4, 3)), ((0, 0), (1, 1), (1, 1), (4, 3)), third, b".", b"stacked_fixed")])
        tree.array("/stacked_nested", "i4", (4, 3), np.ascontiguousarray(np.concatenate(part)[1::3, ::2]).tobytes())
        # A source that is virtual itself and has grown with its own sources, and one that grows by numbered ones.
        make(file, b"follows_grown", target, limit, [mapping((target, limit), rows, ((target, limit), rows), b".", b"stacked_grown")])
        tree.array("/follows_grown", "i4", (4, 6), part[1].tobytes())
        make(file, b"follows_numbered", target, limit, [mapping((target, limit), rows, ((target, limit), rows), b".", b"stacked_numbered")])
        tree.array("/follows_numbered", "i4", (12, 6), np.concatenate(part).tobytes())
        make(file, b"stacked_missing", (5,), (5,), [mapping(((5,), (5,)), ((1,), (1,), (1,), (3,)), (((3,), (3,)), ((0,), (1,), (1,), (3,))), b"nowhere.h5", b"x")])
        tree.array("/stacked_missing", "i4", (5,), np.full(5, -1, "<i4").tobytes())

    one("virtual_kinds.h5", [fill], libver="latest")


def blosc(file, tree, peer, plugin):
    """The two filters that are containers themselves, with each of their compressors."""
    array, noise = peer.values((500, 30), "<i4"), np.random.default_rng(3).integers(0, 2**31, 5000).astype("<i4")
    for name in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for shuffle in (0, 1, 2):
            peer.add(tree, file, f"blosc_{name}_{shuffle}", array, chunks=(210, 30), **plugin.Blosc(cname=name, clevel=5, shuffle=shuffle))
            peer.add(tree, file, f"blosc2_{name}_{shuffle}", array, chunks=(210, 30), **plugin.Blosc2(cname=name, clevel=5, filters=shuffle))
    peer.add(tree, file, "blosc_noise", noise, chunks=(1000,), **plugin.Blosc(cname="lz4", clevel=9))
    peer.add(tree, file, "blosc2_noise", noise, chunks=(1000,), **plugin.Blosc2(cname="lz4", clevel=9))
    peer.add(tree, file, "blosc2_delta", array, chunks=(210, 30), **plugin.Blosc2(cname="zstd", filters=plugin.Blosc2.DELTA))
    peer.add(tree, file, "blosc2_be", peer.values((64, 64, 8), ">f8"), chunks=(32, 32, 8), **plugin.Blosc2())


NUMBERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


def ends(kind):
    """Numbers near the ends of the types. Those of which C leaves the conversion undefined are left out: NaN as an integer,
    and the powers of two that follow the largest integers."""
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        numbers = [0, 0.5, -0.5, 1.9, -1.9, 127, 127.5, 128.5, 255, 255.9, 256.5, 300, -128, -129, -300, 0.1, -(2.0**31), -(2.0**63)]
        numbers += [2.0**24 + 2, 2.0**33, 2.0**65, 1e30, -1e30, np.inf, -np.inf]
        return np.array(numbers, dtype)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    powers = [7, 8, 15, 16, 24, 31, 32, 53]
    numbers = [n for p in powers for n in (2**p - 1, 2**p, 2**p + 1, -(2**p), -(2**p) - 1)]
    return np.array([0, 1, low, high, high - 1] + [n for n in numbers if low <= n <= high], dtype)


def conversions(file, tree, peer):
    """Numbers of every type, and beside them what the library makes of them in the memory of every type."""
    for stored in NUMBERS:
        dataset = file.create_dataset(f"conversion_{stored}", data=ends(stored))
        found = {dataset.name: dataset[()]}
        for wanted in NUMBERS:
            found[f"{dataset.name}_as_{wanted}"] = memory = np.empty(dataset.shape, wanted)
            dataset.id.read(h5py.h5s.ALL, h5py.h5s.ALL, memory)
        for name, numbers in found.items():
            if name != dataset.name:
                file.create_dataset(name, data=numbers)
            kind, data = peer.canonical(numbers)
            tree.array(name, kind, numbers.shape, data)


def write(folder, one, peer, plugin):
    """All cases."""
    one("conversions.h5", [lambda file, tree: conversions(file, tree, peer)])
    for bound in peer.BOUNDS:
        one(f"matrix_{bound}.h5", [matrix(peer)], libver=(bound, "latest"))
    large_groups(folder, one)
    short(folder, one, peer)
    left_open(folder, one, peer)
    virtual(folder, one, peer)
    one("user_block_4096.h5", [peer.groups], userblock_size=4096)
    one("paged_small.h5", [peer.groups, peer.layouts], fs_strategy="page", fs_page_size=512, libver="v110")
    if plugin is not None:
        one("blosc.h5", [lambda file, tree: blosc(file, tree, peer, plugin)], libver="latest")
    # Last: netCDF4 brings an HDF5 library of its own, which the filters of hdf5plugin would find from then on.
    netcdf(folder, peer)
