"""Files that our side wrote or edited go on living with the C library: it counts the attributes, adds and removes enough
of them and of links to change how they are stored, extends what is chunked, and copies the file with h5repack.

    hdf5_life_conform.py PROGRAM DIR   where PROGRAM understands `write DIR` and `edit FILE`
"""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys

import h5py
import numpy as np

import hdf5_edit_conform
from hdf5_tools import Tools

MORE = 11
# Objects of a file that get more attributes and links; the others are counted only.
CROWDED = 25


def objects(file):
    """All objects that can have attributes, each once, by a path that leads to it."""
    found = {"/": file["/"]}
    seen = {h5py.h5o.get_info(file.id).addr}

    def visit(name):
        if file.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
            return
        item = file[name]
        address = h5py.h5o.get_info(item.id).addr
        if address not in seen:
            seen.add(address)
            found["/" + name] = item

    file.visit_links(visit)
    return found


def attributes(item):
    """What is told of each attribute, by name."""
    names = []
    h5py.h5a.iterate(item.id, lambda name, *_: names.append(name) or None)
    found = {}
    for name in names:
        attribute = h5py.h5a.open(item.id, name)
        space = attribute.get_space()
        shape = space.get_simple_extent_dims() if space.get_simple_extent_type() == h5py.h5s.SIMPLE else None
        found[name] = (attribute.get_type().get_class(), attribute.get_type().get_size(), shape)
    return found


def counted(file):
    """The attributes of all objects; their number must be the one that the library tells without looking at them."""
    found = {}
    for path, item in objects(file).items():
        found[path] = attributes(item)
        told = (h5py.h5a.get_num_attrs(item.id), h5py.h5o.get_info(item.id).num_attrs)
        assert told == (len(found[path]),) * 2, f"{path}: {told} attributes are told, {len(found[path])} found"
    return found


def crowded(path):
    """Attributes and links come in numbers that make dense storage of compact, and go again."""
    with h5py.File(path, "r+") as file:
        before = counted(file)
        chosen = dict(list(objects(file).items())[:CROWDED])
        for item in chosen.values():
            for i in range(MORE):
                item.attrs[f"added {i}"] = np.arange(i + 1)
            if isinstance(item, h5py.Group):
                for i in range(MORE):
                    item[f"added {i}"] = h5py.SoftLink("/nowhere")
    with h5py.File(path, "r+") as file:
        there = counted(file)
        for place in chosen:
            item = file[place]
            names = set(before[place]) | {f"added {i}".encode() for i in range(MORE)}
            assert set(there[place]) == names, f"{place}: {set(there[place]) ^ names}"
            for i in range(MORE):
                assert (item.attrs[f"added {i}"] == np.arange(i + 1)).all(), f"{place}: attribute {i}"
                del item.attrs[f"added {i}"]
                if isinstance(item, h5py.Group):
                    del item[f"added {i}"]
            for name in before[place]:
                h5py.h5a.rename(item.id, name, b"renamed")
                h5py.h5a.rename(item.id, b"renamed", name)
    with h5py.File(path) as file:
        after = counted(file)
        assert after == before, "attributes are others after the library came and went"


def extended(path):
    """What has no greatest extent grows by many chunks and shrinks again; nothing else changes."""
    with h5py.File(path, "r+") as file:
        shapes = {}
        for place, item in objects(file).items():
            if not isinstance(item, h5py.Dataset) or item.chunks is None or item.maxshape[0] is not None:
                continue
            if item.dtype.kind not in "iuf" or not all(h5py.h5z.filter_avail(item.id.get_create_plist().get_filter(i)[0])
                                                       for i in range(item.id.get_create_plist().get_nfilters())):
                continue
            values = item[()]
            length = item.shape[0] + 150 * item.chunks[0]
            if length * int(np.prod(item.shape[1:])) > 2_000_000:
                continue
            shapes[place] = values
            item.resize(length, axis=0)
            item[values.shape[0] :] = 3
    with h5py.File(path, "r+") as file:
        for place, values in shapes.items():
            item = file[place]
            assert (item[values.shape[0] :] == 3).all(), f"{place}: what the library added"
            item.resize(values.shape[0], axis=0)
            same = np.array_equal(item[()], values, equal_nan=values.dtype.kind == "f")
            assert same, f"{place}: what was there before"


def copied(path, tools):
    """h5repack keeps every object and attribute."""
    target = str(path) + ".repacked"
    # Attributes of more than 64 KiB need the latest format.
    tools.run("h5repack", "-L", str(path), target)
    with h5py.File(path) as file, h5py.File(target) as copy:
        before, after = counted(file), counted(copy)
        assert before.keys() == after.keys(), f"objects: {before.keys() ^ after.keys()}"
        for place, found in before.items():
            assert found.keys() == after[place].keys(), f"{place}: {found.keys() ^ after[place].keys()}"
    os.remove(target)


def with_parameters(path, low, k, phases, user_block):
    """A file whose trees have other widths, and whose groups change their storage at other numbers."""
    creation, access = h5py.h5p.create(h5py.h5p.FILE_CREATE), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(low, h5py.h5f.LIBVER_LATEST)
    chunk, leaf, internal = k
    ask("H5Pset_istore_k", creation, chunk)
    ask("H5Pset_sym_k", creation, internal, leaf)
    if user_block:
        creation.set_userblock(user_block)
    if phases:
        ask("H5Pset_link_phase_change", creation, *phases)
        ask("H5Pset_attr_phase_change", creation, *phases)
    return h5py.File(h5py.h5f.create(os.fsencode(path), h5py.h5f.ACC_TRUNC, creation, access))


def ask(name, properties, *values):
    """Sets properties that h5py has no call for."""
    library = next(line.split()[-1] for line in open("/proc/self/maps") if "libhdf5" in line and "_hl" not in line)
    call = getattr(ctypes.CDLL(library), name)
    call.argtypes = [ctypes.c_int64] + [ctypes.c_uint] * len(values)
    assert call(properties.id, *values) >= 0, name


def parameters():
    earliest, v18, v110 = h5py.h5f.LIBVER_EARLIEST, h5py.h5f.LIBVER_V18, h5py.h5f.LIBVER_V110
    for k in [(1, 1, 1), (2, 4, 16), (64, 4, 16), (100, 20, 3), (32, 1, 50), (1000, 4, 16)]:
        for name, low in [("earliest", earliest), ("v108", v18)]:
            yield f"K {k}, libver {name}", low, k, None, 0
    for phases in [(0, 0), (1, 1), (3, 1), (20, 15)]:
        yield f"storage changes at {phases}", v110, (32, 4, 16), phases, 0
        yield f"storage changes at {phases}, libver v108", v18, (64, 4, 16), phases, 0
    yield "user block and K 2", earliest, (2, 2, 2), None, 2048


def edited(program, path, low, k, phases, user_block, tools):
    made, created = hdf5_edit_conform.opened, lambda place, *_: with_parameters(place, low, k, phases, user_block)
    hdf5_edit_conform.opened = created
    try:
        hdf5_edit_conform.create(path, low, {})
    finally:
        hdf5_edit_conform.opened = made
    hdf5_edit_conform.ours(program, "edit", path)
    with h5py.File(path) as file:
        hdf5_edit_conform.after_first(file)
    lived(path, tools)
    with h5py.File(path, "r+") as file:
        hdf5_edit_conform.after_first(file)
        hdf5_edit_conform.theirs(file)
    hdf5_edit_conform.ours(program, "edit-again", path)
    with h5py.File(path) as file:
        hdf5_edit_conform.after_again(file)
    lived(path, tools)


# The h5repack of 1.10 knows neither the types of 2.0 nor the references of 1.12 nor links of other classes than its own, and
# ends by a signal where it asks for the filter of a plugin that was made for another release of the library.
NOT_COPIED = ("types_v200", "references_v112", "references_v200", "filters", "groups")


def lived(path, tools):
    with h5py.File(path) as file:
        counted(file)
    if not path.stem.startswith(NOT_COPIED):
        copied(path, tools)
    crowded(path)
    extended(path)


def main():
    program, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    tools = Tools()

    def check(case, way, run):
        line = {"case": f"life: {case}", "way": way, "ok": True}
        try:
            run()
        except Exception as error:  # a failed case is a line, whatever failed
            line.update(ok=False, why=f"{type(error).__name__}: {error}"[:500])
        print(json.dumps(line), flush=True)

    written = folder / "written"
    done = subprocess.run([program, "write", str(written)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for path in sorted(written.glob("*.h5")):
        if path.stem.endswith("_v112") and not path.stem.startswith("references"):
            continue  # the same as those of 1.10
        copy = folder / path.name
        shutil.copy(path, copy)
        check(path.stem, "they read ours", lambda: lived(copy, tools))
    for number, (case, *keys) in enumerate(parameters()):
        path = folder / f"parameters-{number:02}.h5"
        check(case, "edited here", lambda: edited(program, path, *keys, tools))


if __name__ == "__main__":
    main()
