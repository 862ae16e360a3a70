"""What the C library tells about the files that our side writes is what it tells about its own of the same content.

Each file is made again by the library, object by object, with the same bounds: of the properties only those are handed on
that a program asks for by name. Times are asked for in the files whose name begins with `times`. Whatever the library
adds by itself (counts, orders, times, phase changes, how space is allocated, how headers look) must then be alike in
both files.

    hdf5_facts_conform.py PROGRAM DIR   where PROGRAM understands `write DIR`
"""

import json
import math
import os
import pathlib
import subprocess
import sys

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5l, h5o, h5p, h5r, h5s, h5t

import hdf5_facts
import hdf5plugin  # noqa: F401 (makes further filters known)

LOW = {
    "earliest": h5f.LIBVER_EARLIEST,
    "v18": h5f.LIBVER_V18,
    "v110": h5f.LIBVER_V110,
    "v112": h5f.LIBVER_V112,
    "v200": h5f.LIBVER_V200,
}

# Values that a filter puts before those of its caller.
ADDED = {32008: 3}


def holds(kind, wanted):
    """Whether a type is of one of these classes, or has a part that is."""
    if kind.get_class() in wanted or (h5t.VLEN in wanted and kind.get_class() == h5t.STRING and kind.is_variable_str()):
        return True
    if kind.get_class() == h5t.COMPOUND:
        return any(holds(kind.get_member_type(n), wanted) for n in range(kind.get_nmembers()))
    return kind.get_class() in (h5t.VLEN, h5t.ARRAY) and holds(kind.get_super(), wanted)


class Anew:
    """One file, made again."""

    def __init__(self, source, target, times):
        self.source, self.target, self.times = source, target, times
        # Paths of objects that are there already, by their address in the source.
        self.made = {}

    def copy(self):
        self.committed(b"/", self.source.id)
        self.made[h5o.get_info(self.source.id).addr] = h5g.open(self.target.id, b"/")
        self.attributes(self.source.id, self.target.id)
        self.members(b"", h5g.open(self.source.id, b"/"))

    def committed(self, path, group):
        """Named types come first, as others use them; they get their names when their turn comes."""

        def visit(name, info):
            if info.type == h5o.TYPE_NAMED_DATATYPE and info.addr not in self.made:
                there = h5t.open(self.source.id, name)
                kind = there.copy()
                kind.commit(self.target.id, b"committed %d" % len(self.made))
                self.made[info.addr] = kind
                self.attributes(there, kind)

        h5o.visit(self.source.id, lambda name: visit(name, h5o.get_info(self.source.id, name)) or None)

    def kind(self, kind):
        return self.made[h5o.get_info(kind).addr] if kind.committed() else kind

    def members(self, path, group):
        ordered = group.get_create_plist().get_link_creation_order()
        names = []
        group.links.iterate(names.append, idx_type=h5py.h5.INDEX_CRT_ORDER if ordered else h5py.h5.INDEX_NAME)
        for name in names:
            info, here = group.links.get_info(name), path + b"/" + name
            creation = h5p.create(h5p.LINK_CREATE)
            creation.set_char_encoding(info.cset)
            if info.type == h5l.TYPE_SOFT:
                self.target.id.links.create_soft(here, group.links.get_val(name), creation)
            elif info.type == h5l.TYPE_EXTERNAL:
                file, place = group.links.get_val(name)
                self.target.id.links.create_external(here, file, place, creation)
            elif info.type == h5l.TYPE_HARD:
                self.link(here, h5o.open(group, name), creation)

    def link(self, path, found, creation):
        address = h5o.get_info(found).addr
        if address in self.made:
            h5o.link(self.made[address], self.target.id, path, creation)
            return
        if isinstance(found, h5g.GroupID):
            made = h5g.create(self.target.id, path, creation, group_properties(found, self.times))
        else:
            made = self.dataset(found, path, creation)
        self.made[address] = made
        self.attributes(found, made)
        if isinstance(found, h5g.GroupID):
            self.members(path, found)

    def dataset(self, found, path, creation):
        kind, extent = found.get_type(), found.get_space()
        properties = dataset_properties(found, self.times)
        made = h5d.create(self.target.id, path, self.kind(kind), extent, properties, creation)
        layout = found.get_create_plist().get_layout()
        external = found.get_create_plist().get_external_count()
        stored = found.get_storage_size() or found.get_space_status() == h5d.SPACE_STATUS_ALLOCATED
        if layout == h5d.VIRTUAL or external or not stored or extent.get_simple_extent_type() == h5s.NULL:
            return made
        shape = extent.get_simple_extent_dims() or ()
        if layout == h5d.CHUNKED and not is_full(found, shape):
            chunk = found.get_create_plist().get_chunk()
            for at in places(found):
                ends = [min(o + c, e) for o, c, e in zip(at, chunk, shape)]
                # Indexes that have room for the greatest extent hold chunks beyond the present one.
                if all(o < e for o, e in zip(at, ends)):
                    self.elements(found, made, kind, [e - o for o, e in zip(at, ends)], at)
        else:
            self.elements(found, made, kind, shape, None)
        return made

    @staticmethod
    def elements(found, made, kind, shape, at):
        here = h5s.ALL
        memory = h5s.ALL
        if at is not None:
            here, memory = found.get_space(), h5s.create_simple(tuple(shape))
            here.select_hyperslab(tuple(at), tuple(shape))
        values, kind = read(kind, tuple(shape), lambda values, kind: found.read(memory, here, values, kind))
        made.write(memory, here, values, kind)

    def attributes(self, found, made):
        ordered = found.get_create_plist().get_attr_creation_order() if hasattr(found, "get_create_plist") else 0
        if isinstance(found, h5f.FileID):
            ordered = h5g.open(found, b"/").get_create_plist().get_attr_creation_order()
        index = h5py.h5.INDEX_CRT_ORDER if ordered else h5py.h5.INDEX_NAME
        for n in range(h5a.get_num_attrs(found)):
            one = h5a.open(found, index=n, index_type=index)
            kind, extent = one.get_type(), one.get_space()
            new = h5a.create(made, one.name, self.kind(kind), extent)
            if extent.get_simple_extent_type() != h5s.NULL:
                shape = extent.get_simple_extent_dims() or ()
                values, kind = read(kind, shape, lambda values, kind: one.read(values, kind))
                new.write(values, kind)


def is_full(found, shape):
    """Whether each chunk of the present extent is there, so that the dataset can be copied at once."""
    chunk = found.get_create_plist().get_chunk()
    return found.get_num_chunks() == math.prod(-(-length // step) for length, step in zip(shape, chunk))


def places(found):
    """Where chunks begin. The library tells wrong places where the second dimension grows and the first does not, so it is
    asked only where some chunks are missing."""
    there = []
    found.chunk_iter(lambda info: there.append(info.chunk_offset))
    return there


def read(kind, shape, ask):
    """Elements as they are stored, with the type that they have in memory; what leads elsewhere is left empty."""
    if holds(kind, (h5t.REFERENCE,)):
        return np.zeros(shape, f"V{kind.get_size()}"), kind
    if holds(kind, (h5t.VLEN,)):
        values = np.empty(shape, kind.dtype)
        if values.ndim > len(shape):
            values = np.empty(shape, f"V{kind.get_size()}")
            values[...] = np.zeros(shape, values.dtype)
            return values, kind
        memory = h5t.py_create(kind.dtype)
        ask(values, memory)
        return values, memory
    values = np.zeros(shape, f"V{kind.get_size()}")
    ask(values, kind)
    return values, kind


def group_properties(found, times):
    theirs, asked = found.get_create_plist(), h5p.create(h5p.GROUP_CREATE)
    asked.set_link_creation_order(theirs.get_link_creation_order())
    asked.set_attr_creation_order(theirs.get_attr_creation_order())
    asked.set_obj_track_times(times)
    return asked


def dataset_properties(found, times):
    """What a program that makes datasets asks for by name."""
    theirs, asked = found.get_create_plist(), h5p.create(h5p.DATASET_CREATE)
    asked.set_attr_creation_order(theirs.get_attr_creation_order())
    asked.set_obj_track_times(times)
    layout = theirs.get_layout()
    if theirs.fill_value_defined() == h5d.FILL_VALUE_USER_DEFINED and not holds(found.get_type(), (h5t.VLEN, h5t.REFERENCE)):
        value = np.zeros((), found.get_type().dtype)
        theirs.get_fill_value(value)
        asked.set_fill_value(value)
    if layout == h5d.CHUNKED:
        asked.set_chunk(theirs.get_chunk())
        for n in range(theirs.get_nfilters()):
            code, flags, values, _ = theirs.get_filter(n)
            asked.set_filter(code, flags, values[ADDED.get(code, 0) :])
    elif layout == h5d.VIRTUAL:
        # As h5py does, which chooses when space is allocated.
        asked.set_layout(h5d.VIRTUAL)
        for n in range(theirs.get_virtual_count()):
            asked.set_virtual(
                theirs.get_virtual_vspace(n), theirs.get_virtual_filename(n).encode(), theirs.get_virtual_dsetname(n).encode(),
                theirs.get_virtual_srcspace(n),
            )
    else:
        asked.set_layout(layout)
    for n in range(theirs.get_external_count()):
        asked.set_external(*theirs.get_external(n))
    # Space that is there from the start is asked for; every layout has its own time otherwise.
    if theirs.get_alloc_time() == h5d.ALLOC_TIME_EARLY and layout in (h5d.CHUNKED, h5d.CONTIGUOUS):
        asked.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    return asked


def alike(path, copy, bound, times):
    with h5py.File(path) as source:
        theirs, creation = source.id.get_create_plist(), h5p.create(h5p.FILE_CREATE)
        root = h5g.open(source.id, b"/").get_create_plist()
        creation.set_link_creation_order(root.get_link_creation_order())
        creation.set_attr_creation_order(root.get_attr_creation_order())
        creation.set_obj_track_times(times)
        creation.set_userblock(theirs.get_userblock())
        strategy = theirs.get_file_space_strategy()
        creation.set_file_space_strategy(*strategy)
        if strategy[0] == h5f.FSPACE_STRATEGY_PAGE:
            creation.set_file_space_page_size(theirs.get_file_space_page_size())
        access = h5p.create(h5p.FILE_ACCESS)
        access.set_libver_bounds(LOW[bound], h5f.LIBVER_LATEST)
        target = h5py.File(h5f.create(os.fsencode(copy), h5f.ACC_TRUNC, creation, access))
        with target:
            anew = Anew(source, target, times)
            anew.copy()
            for n in range(len(anew.made)):
                if target.id.links.exists(b"committed %d" % n):
                    target.id.unlink(b"committed %d" % n)
            anew.made.clear()
    found = list(hdf5_facts.differences(told(copy), told(path)))
    assert not found, f"{len(found)} differ; the library's own became ours: " + "; ".join(found[:6])


def told(path):
    """Facts without what h5py has no call to make: links of a class of one's own, character sets of attributes' names."""
    found = hdf5_facts.facts(path)
    for place, facts in list(found.items()):
        if place.endswith(" (link)") and facts[0] >= h5l.TYPE_EXTERNAL + 1:
            del found[place]
        if not isinstance(facts, dict):
            continue
        if "names" in facts:
            facts["names"] = [name for name in facts["names"] if name != b"mine"]
        if "filters" in facts:
            # Newer Blosc2 filters add the shape of chunks, for blocks of as many dimensions; ours are in one.
            facts["filters"] = [(code, flags, values[:7] if code == 32026 else values) for code, flags, values in facts["filters"]]
        if "links" in facts and "space" not in facts and "order" not in facts:
            # h5py has no call to commit a type without its times.
            facts["modified"], facts["header"], facts["stored times"] = 0, facts["header"][0], None
        if "order" in facts and facts["header"][0] == 1:
            # The library stores no times in groups whose headers have no room for all of them.
            facts["stored times"] = None
        if facts.get("modified"):
            facts["modified"] = "some time"
        if "attribute" in facts:
            facts["attribute"] = {name: fact[:3] for name, fact in facts["attribute"].items()}
    return found


def main():
    program, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    written, anew = folder / "written", folder / "anew"
    anew.mkdir(exist_ok=True)
    done = subprocess.run([program, "write", str(written)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for path in sorted(written.glob("*.h5")):
        if path.stem == "attributes_earliest":
            continue  # with these bounds the library has no room for an attribute of more than 64 KiB
        line = {"case": f"facts: {path.stem}", "way": "they read ours", "ok": True}
        try:
            alike(path, anew / path.name, path.stem.rsplit("_", 1)[1], path.stem.startswith("times"))
        except Exception as error:  # a failed case is a line, whatever failed
            line.update(ok=False, why=f"{type(error).__name__}: {error}"[:1000])
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
