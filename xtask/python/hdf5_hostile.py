"""HDF5 files that are wrong on purpose: every pointer that can loop, every size that can lie.

`write(put, hostile)` is called by hdf5_fixtures.py: `put` stores a file, `hostile` a changed one.
"""

import ctypes
import glob
import os
import pathlib
import struct
import tempfile

import h5py
import numpy as np

from hdf5_peer import values

word = lambda n: struct.pack("<Q", n)
UNDEFINED = b"\xff" * 8


def library():
    """The C library of h5py, for what h5py has no name for."""
    return ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs", "libhdf5-*"))[0])


def share(creation, *indexes, list_to_tree=50, tree_to_list=40):
    """Asks for indexes of shared messages, each of kinds of messages and the least of their bytes."""
    number, tool = ctypes.c_int64(creation.id), library()
    asked = [tool.H5Pset_shared_mesg_nindexes(number, ctypes.c_uint(len(indexes)))]
    for place, (kinds, least) in enumerate(indexes):
        asked.append(tool.H5Pset_shared_mesg_index(number, *map(ctypes.c_uint, (place, kinds, least))))
    asked.append(tool.H5Pset_shared_mesg_phase_change(number, *map(ctypes.c_uint, (list_to_tree, tree_to_list))))
    assert not any(asked), asked


def made(fill, access=None, creation=None, **options):
    """The bytes of a file, and what `fill` returns."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file.h5")
        if access or creation:
            h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, creation, access).close()
            options["mode"] = "r+"
        with h5py.File(path, options.pop("mode", "w"), **options) as file:
            found = fill(file)
        return pathlib.Path(path).read_bytes(), found


def timeless():
    """What a file is created with: no object says when it was made."""
    creation = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    creation.set_obj_track_times(False)
    return creation


def address(thing):
    return h5py.h5o.get_info(thing.id).addr


def many(file):
    """Links in more than one block of a heap and more than one node of a tree."""
    for i in range(300):
        file[f"link {i:03}"] = h5py.SoftLink("/nowhere")


def links(hostile):
    data, _ = made(many, libver="latest")
    tree, node, heap = data.find(b"BTHD"), data.find(b"BTIN"), data.find(b"FHIB")
    size, records = struct.unpack("<H", data[tree + 10 : tree + 12])[0], struct.unpack("<H", data[tree + 24 : tree + 26])[0]
    child = node + 6 + size * records
    hostile("btree2-loop.h5", data, "a B-tree node that is its own child; links of others are whole", (child, word(node)), sealed=node)
    hostile("btree2-outside.h5", data, "a B-tree node beyond the file; links of others are whole", (child, word(1 << 50)), sealed=node)
    hostile("btree2-count.h5", data, "a B-tree that counts more records than it has", (tree + 26, word(301)), sealed=tree)
    hostile("btree2-empty.h5", data, "a B-tree whose root has no records but that counts some", (tree + 14 - 2, b"\0\0"), (tree + 24, b"\0\0"), sealed=tree)
    hostile("btree2-record-size.h5", data, "records of another size", (tree + 10, b"\xff\xff"), sealed=tree)
    block = heap + 4 + 1 + 8 + 4
    hostile("heap-block-loop.h5", data, "a heap block that is its own child", (block, word(heap)), sealed=heap)
    hostile("heap-block-outside.h5", data, "a heap block beyond the file; links in others are whole", (block, word(1 << 50)), sealed=heap)
    leaf = data.find(b"BTLF")
    hostile("heap-id-outside.h5", data, "an object beyond its heap; its siblings are whole", (leaf + 6 + 4 + 1, b"\xff\xff\xff\xff"), sealed=leaf)
    info = data.find(word(data.find(b"FRHP")) + word(tree))
    hostile("link-index.h5", data, "a heap of links without an index", (info + 8, UNDEFINED), sealed=data.rfind(b"OHDR", 0, info))

    def small(file):
        file["a"] = h5py.SoftLink("/b")
        file["outside"] = h5py.ExternalLink("external-loop.h5", "/outside")
        file["ring 1"], file["ring 2"] = h5py.SoftLink("ring 2"), h5py.SoftLink("/ring 1")

    data, _ = made(small, libver="latest")
    hostile("external-loop.h5", data, "an external link that leads to itself, soft links that lead to each other")
    name = data.find(b"\1a")
    hostile("link-name.h5", data, "a link with a name longer than its message", (name, b"\xff"), sealed=data.rfind(b"OHDR", 0, name))


def headers(hostile):
    def fill(file):
        group = file.create_group("group")
        file.create_group("behind it")
        file.flush()
        for i in range(7):
            group.attrs[f"attribute {i}"] = values((4,), "<i4")
        return address(group)

    data, header = made(fill, libver="latest")
    more = data.find(b"OCHK")
    pointer = data.find(word(more), header)
    hostile("continuation2-loop.h5", data, "a header that continues where it begins", (pointer, word(header)), sealed=header)
    hostile("continuation2-size.h5", data, "a continuation larger than the file", (pointer + 8, word(1 << 60)), sealed=header)
    hostile("continuation2-empty.h5", data, "a continuation of no bytes", (pointer + 8, word(0)), sealed=header)

    def old(file):
        file["type"] = np.dtype("<i4")
        file.create_dataset("of a type", data=values((4,), "<i4"), dtype=file["type"])
        file.create_dataset("space", data=values((13, 7), "<i4"))
        file.create_dataset("filtered", data=values((13, 7), "<i4"), chunks=(4, 5), compression="gzip", shuffle=True)
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_layout(h5py.h5d.COMPACT)
        creation.set_obj_track_times(False)
        space = h5py.h5s.create_simple((5,))
        h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I32LE, space, creation).write(h5py.h5s.ALL, h5py.h5s.ALL, values(5, "<i4"))
        file.create_dataset("fill", (5,), "<i4", fillvalue=0x01020304)
        file.create_dataset("external", (40,), "<i4", external=[("part.raw", 0, 160)])
        rows = file.create_dataset("rows", (3,), h5py.vlen_dtype(np.dtype("<i4")))
        rows[0], rows[2] = values(3, "<i4"), values(5, "<i4")
        file["space"].attrs["number"] = np.int32(7)
        return {name: address(file[name]) for name in file}

    data, at = made(old, libver=("earliest", "latest"))
    shared = data.find(word(at["type"]), at["of a type"])
    hostile("committed-loop.h5", data, "a dataset whose datatype is that of the dataset", (shared, word(at["of a type"])))
    hostile("committed-outside.h5", data, "a dataset whose datatype is beyond the file", (shared, word(1 << 50)))
    sides = data.find(word(13) + word(7), at["space"])
    hostile("dataspace-product.h5", data, "dimensions whose product is too large", (sides, 4 * word(1 << 33)))
    hostile("dataspace-size.h5", data, "more elements than the file has", (sides, 2 * (word(1 << 33) + word(7))))
    hostile("dataspace-rank.h5", data, "more dimensions than the message holds", (sides - 7, b"\x20"))
    filters = data.find(b"\1\2\0\0\0\0\0\0", at["filtered"])
    hostile("filter-count.h5", data, "more filters than there may be", (filters + 1, b"\xff"))
    hostile("filter-values.h5", data, "a filter with more parameters than its message", (filters + 8 + 6, b"\xff\xff"))
    hostile("filter-name.h5", data, "a filter with a name longer than its message", (filters + 8 + 2, b"\xf8\xff"))
    compact = data.find(values(5, "<i4").tobytes(), at["compact"])
    hostile("compact-size.h5", data, "compact elements that are more than their message", (compact - 2, b"\xff\xff"))
    hostile("compact-short.h5", data, "fewer compact elements than the dataset has", (compact - 2, b"\x08\0"))
    fill = data.find(b"\4\3\2\1", at["fill"])
    hostile("fill-size.h5", data, "a fill value longer than its message", (fill - 4, b"\xff\xff\xff\x7f"))
    hostile("fill-short.h5", data, "a fill value that is shorter than an element", (fill - 4, b"\2\0\0\0"))
    name = data.find(b"part.raw")
    heap = data.rfind(b"HEAP", 0, name)
    files = data.find(word(heap), at["external"])
    hostile("external-name.h5", data, "the name of an external file beyond its heap", (files + 8, word(1 << 40)))
    hostile("external-count.h5", data, "more external files than their message", (files - 4, b"\xff\xff\xff\xff"))
    heap = data.find(b"GCOL")
    row = data.find(struct.pack("<I", 3) + word(heap))
    hostile("sequence-length.h5", data, "a sequence longer than its object", (row, b"\xff\xff\xff\xff"))
    hostile("sequence-index.h5", data, "a sequence that is not in its collection", (row + 12, b"\xff\xff\0\0"))
    hostile("sequence-outside.h5", data, "a sequence in a collection beyond the file", (row + 4, word(1 << 50)))
    attribute = data.find(b"number\0\0") - 8
    for i, part in enumerate(("name", "datatype", "dataspace")):
        hostile(f"attribute-{part}.h5", data, f"an attribute with a {part} larger than its message", (attribute + 2 + 2 * i, b"\xff\xff"))
    node = data.find(b"SNOD")
    hostile("symbols-shared.h5", data, "a B-tree of groups that has one node many times", *many_times(data, node))
    hostile("btree-k.h5", data, "symbol table nodes of no entries", (16, b"\0\0"))
    hostile("root-outside.h5", data, "a root group beyond the file", (64, word(1 << 50)))


def many_times(data, node):
    """All children of the tree over a symbol table node become that node."""
    tree = data.rfind(b"TREE\0", 0, node)
    tree = data.find(b"TREE\0") if tree < 0 else tree
    yield tree + 6, struct.pack("<H", 20)
    for i in range(20):
        yield tree + 24 + 8 + 16 * i, word(node)


def deep(hostile):
    def fill(file):
        kind = np.dtype("<i4")
        for _ in range(90):
            kind = np.dtype([("a", kind)])
        file.create_dataset("deep", (2,), kind)
        file.create_dataset("shallow", (2,), "<i4")

    hostile("datatype-depth.h5", made(fill, libver="latest")[0], "a datatype of ninety levels")


def chunks(hostile):
    def fill(file):
        file.create_dataset("grows", data=values((300,), "u1"), chunks=(1,), maxshape=(None,))
        file.create_dataset("fixed", data=values((1100,), "u1"), chunks=(1,), compression="gzip")
        file.create_dataset("single", data=values((50,), "<i4"), chunks=(50,), compression="gzip")
        return {name: address(file[name]) for name in file}

    data, at = made(fill, libver="latest")
    array = data.find(b"EAHD")
    for name, place, new, exercises in (
        ("element-size", 6, b"\xff", "elements of another size"),
        ("block-elements", 9, b"\0", "data blocks of no elements"),
        ("pointers", 10, b"\0", "super blocks of no pointers"),
        ("pages", 11, b"\1", "pages of two elements"),
    ):
        hostile(f"extensible-array-{name}.h5", data, f"an extensible array with {exercises}", (array + place, new), sealed=array)
    block = data.find(b"EAIB")
    first = block + 14 + 4 * 8
    hostile("extensible-array-loop.h5", data, "an index block that is its own data block", (first, word(block)), sealed=block)
    hostile("extensible-array-outside.h5", data, "a data block beyond the file", (first, word(1 << 50)), sealed=block)
    array = data.find(b"FAHD")
    for name, place, new, exercises in (
        ("element-size", 6, b"\xff", "elements of another size"),
        ("page-bits", 7, b"\xff", "pages of more elements than can be counted"),
        ("pages", 7, b"\1", "pages of two elements"),
        ("few", 8, word(5), "fewer elements than the dataset has chunks"),
    ):
        hostile(f"fixed-array-{name}.h5", data, f"a fixed array with {exercises}", (array + place, new), sealed=array)
    page = data.find(b"FADB")
    # Version, client, header, bitmap of three pages, checksum; then elements of address, size (2) and mask.
    element = page + 14 + 1 + 4
    pages = data[element : element + 14 * 1024 + 4]
    changed = bytearray(pages)
    changed[8:10] = b"\xff\xff"
    hostile("fixed-array-chunk-size.h5", data, "a chunk larger than the file", (element, bytes(changed)), sealed=element)
    header = at["single"]
    layout = data.find(b"\2\2\2\1", header) - 1
    hostile("single-size.h5", data, "a single chunk larger than the file", (layout + 8, word(1 << 60)), sealed=header)


def shared(hostile):
    creation = timeless()
    number, tool = ctypes.c_int64(creation.id), library()
    tool.H5Pset_shared_mesg_nindexes(number, ctypes.c_uint(1))
    tool.H5Pset_shared_mesg_index(number, ctypes.c_uint(0), ctypes.c_uint(0x1002), ctypes.c_uint(1))
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)

    def fill(file):
        for i in range(3):
            file.create_dataset(f"d{i}", data=values((2, i % 2 + 1), "<f8"))

    data, _ = made(fill, access, creation)
    table = data.find(b"SMTB")
    first = table + 4
    for name, place, new, exercises in (
        ("index", 14, word(1 << 50), "an index beyond the file"),
        ("heap", 22, UNDEFINED, "an index without a heap"),
        ("heap-outside", 22, word(1 << 50), "a heap beyond the file"),
        ("count", 12, b"\xff\xff", "more messages than the list has"),
        ("kind", 1, b"\7", "an index of no kind"),
        ("tree", 1, b"\1", "a list that is said to be a tree"),
    ):
        hostile(f"shared-{name}.h5", data, f"a table of shared messages with {exercises}", (first + place, new), sealed=table)


def space(hostile):
    def fill(file):
        for i in range(9):
            file.create_dataset(f"d{i}", data=values((20 + 10 * i,), "<i4"))
        for i in range(0, 9, 3):
            del file[f"d{i}"]

    access, creation = h5py.h5p.create(h5py.h5p.FILE_ACCESS), timeless()
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    creation.set_file_space_strategy(h5py.h5f.FSPACE_STRATEGY_FSM_AGGR, True, 1)
    data, _ = made(fill, access, creation, libver="latest")
    # The manager of the file that has a list.
    headers = [i for i in range(len(data)) if data[i : i + 6] == b"FSHD\0\1" and data[i + 54 : i + 62] != UNDEFINED]
    header = headers[0]
    sections = struct.unpack("<Q", data[header + 54 : header + 62])[0]
    hostile("free-space-count.h5", data, "more free sections than there are", (header + 22, word(1 << 40)), sealed=header)
    hostile("free-space-size.h5", data, "a list of free sections larger than the file", (header + 62, word(1 << 60)), sealed=header)
    hostile("free-space-width.h5", data, "free sections of addresses of no bits", (header + 44, b"\0\0"), sealed=header)
    hostile("free-space-sections.h5", data, "more free sections of a size than are left", (sections + 13, b"\xff"), sealed=sections)


class Image(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("generate", ctypes.c_bool), ("save", ctypes.c_bool), ("age", ctypes.c_int)]


def ask_for_image(access):
    """Has a file with this access end in an image of the metadata cache."""
    library().H5Pset_mdc_image_config(ctypes.c_int64(access.id), ctypes.byref(Image(1, True, False, -1)))


def image(hostile):
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    ask_for_image(access)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file.h5")
        file = h5py.File(h5py.h5f.create(path.encode(), h5py.h5f.ACC_TRUNC, timeless(), access))
        file.create_dataset("d", data=values((10,), "<i4"))
        file.create_group("g")
        file.close()
        data = pathlib.Path(path).read_bytes()
    start = data.find(b"MDCI")
    entry = start + 18
    hostile("cache-image-count.h5", data, "a cache image of more entries than it holds", (start + 14, b"\xff\xff\xff\xff"), sealed=start)
    hostile("cache-image-size.h5", data, "an entry of a cache image larger than the image", (entry + 22, word(1 << 60)), sealed=start)
    hostile("cache-image-outside.h5", data, "an entry of a cache image that belongs beyond the file", (entry + 14, word(1 << 50)), sealed=start)


def declared(hostile):
    def fill(file):
        file.create_dataset("external", (1 << 59,), "<i4", external=[("no-such-file.raw", 0, h5py.h5f.UNLIMITED)])
        file.create_dataset("beside", data=values((5,), "<i4"))

    hostile("external-2-eib.h5", made(fill)[0], "a dataset of 2 EiB in an external file that is not there")


def write(hostile):
    for step in (links, headers, deep, chunks, shared, space, image, declared):
        step(hostile)
