"""What `sciformats repack` and `convert` keep of HDF5 files, as the C library tells it: facts and values.

    hdf5_repack_conform.py EXAMPLE DIR

The program `sciformats` is beside the example. Files are made by the library with each bound; they and the fixtures are written anew,
and h5py tells the same facts (`hdf5_facts.py`) and the same values of both; then with each bound and each filter, and h5py reads the same values.
"""

import ctypes
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import h5py
import hdf5plugin  # noqa: F401, the filters of fixtures
import netCDF4
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t

from checks import check, program_in
from hdf5_facts import CALLS, differences, facts

FOLDER = Path(sys.argv[2])
PROGRAM = Path(sys.argv[1]).parent / "sciformats"
program = program_in(PROGRAM, FOLDER)
FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "hdf5"
BOUNDS = ["earliest", "v108", "v110", "v112", "latest"]
OUR_BOUNDS = ["earliest", "1.8", "1.10", "1.12", "2.0"]
FILTERS = ["none", "zlib", "lz4", "zstd", "lzf", "bzip2"]


def properties(group, name, kind, shape, setting, **space):
    """A dataset with a creation property list that `setting` makes."""
    created = h5p.create(h5p.DATASET_CREATE)
    setting(created)
    dataspace = h5s.create_simple(shape, space.get("maximum", shape))
    return h5py.Dataset(h5d.create(group.id, name.encode(), kind, dataspace, created))


def filled(path, file, bound):
    """Values and times of filling and allocation."""
    for allocation in [h5d.ALLOC_TIME_EARLY, h5d.ALLOC_TIME_LATE, h5d.ALLOC_TIME_INCR]:
        for time in [h5d.FILL_TIME_ALLOC, h5d.FILL_TIME_NEVER, h5d.FILL_TIME_IFSET]:
            def chunked(created):
                created.set_chunk((4,))
                created.set_alloc_time(allocation)
                created.set_fill_time(time)
                created.set_fill_value(np.array(7, dtype="<i4"))

            found = properties(file, f"chunked {allocation} {time}", h5t.STD_I32LE, (12,), chunked, maximum=(h5s.UNLIMITED,))
            # What was never written nor filled is anything.
            found[slice(None) if time == h5d.FILL_TIME_NEVER else slice(2, 5)] = 1

    def undefined(created):
        created.set_fill_time(h5d.FILL_TIME_NEVER)

    properties(file, "never filled", h5t.IEEE_F64BE, (3,), undefined)[:] = 1.5
    file.create_dataset("text", shape=(4,), dtype=h5py.string_dtype(), chunks=(2,), fillvalue="nothing")
    kind = np.dtype([("a", ">i2"), ("b", "S5")])
    file.create_dataset("compound", shape=(4,), dtype=kind, chunks=(2,), fillvalue=np.array((3, b"x"), dtype=kind))


def orders(path, file, bound):
    """Orders per object, thresholds, times, comments, character sets."""
    for name, tracked in [("plain", False), ("tracked", True)]:
        group = file.create_group(name, track_order=tracked)
        for member in ["z", "a", "m"]:
            group[member] = np.arange(3)
            group.attrs[member] = member
    many = file.create_group("many", track_order=True)
    for number in reversed(range(20)):
        many.create_group(f"n{number}")
        many.attrs[f"n{number}"] = number

    def thresholds(created):
        created.set_attr_phase_change(3, 2)
        created.set_attr_creation_order(h5p.CRT_ORDER_TRACKED)
        created.set_obj_track_times(bound != "earliest")

    early = properties(file, "thresholds", h5t.STD_U8LE, (2,), thresholds)
    for number in range(5):
        early.attrs[f"n{number}"] = number
    file["naïve"] = 1
    file.attrs["Größe"] = 2.5
    file["soft"] = h5py.SoftLink("/plain/z")
    file["elsewhere"] = h5py.ExternalLink("other.h5", "/x")
    file["hard"] = file["plain"]


def types(path, file, bound):
    """Committed types, who shares them, and types in their own byte order."""
    file["kind"] = np.dtype([("t", ">f4"), ("n", "<u8")])
    file.create_group("deep/er")["text"] = h5py.string_dtype()
    for name in ["one", "two"]:
        file.create_dataset(name, shape=(3,), dtype=file["kind"])
    file.create_dataset("words", data=["a", "b"], dtype=file["deep/er/text"])
    file["one"].attrs.create("mean", np.zeros((), dtype=file["kind"].dtype), dtype=file["kind"])
    file["kind"].attrs["unit"] = "K"
    lonely = h5t.STD_I16BE.copy()
    lonely.commit(file.id, b"lonely")
    h5d.create(file.id, b"has it", lonely, h5s.create_simple((2,)))
    del file["lonely"]
    rows = file.create_dataset("sequences", shape=(2,), dtype=h5py.vlen_dtype(np.dtype(">i4")))
    rows[0], rows[1] = np.arange(3), np.arange(70000, 70002)
    file["refs"] = np.array([file["one"].ref, file["deep"].ref], dtype=h5py.ref_dtype)
    file["regions"] = np.array([file["one"].regionref[1:2]], dtype=h5py.regionref_dtype)
    file["flag"] = np.array([True, False])
    file["void"] = np.void(b"\x00\x01\x02")


def elsewhere(path, file, bound):
    """Elements in other files and datasets."""
    with open(FOLDER / "raw.bin", "wb") as raw:
        raw.write(np.arange(6, dtype="<i4").tobytes())
    file.create_dataset("external", shape=(6,), dtype="<i4", external=[("raw.bin", 0, 8), ("raw.bin", 8, h5f.UNLIMITED)])
    with h5py.File(FOLDER / "source.h5", "w") as source:
        source["x"] = np.arange(6.0)
    layout = h5py.VirtualLayout(shape=(2, 6), dtype="f8")
    layout[0] = h5py.VirtualSource("source.h5", "x", shape=(6,))
    if bound != "v110":
        layout[1, ::2] = h5py.VirtualSource("gone.h5", "x", shape=(6,))[:3]
    file.create_virtual_dataset("virtual", layout, fillvalue=-1)


def filters(path, file, bound):
    """Filters, also one that nobody knows, whose chunks can only be copied."""
    data = np.arange(4000, dtype="<i4").reshape(40, 100)
    for name, how in {
        "gzip": dict(compression="gzip", compression_opts=3, shuffle=True, fletcher32=True),
        "lzf": dict(compression="lzf"),
        "scale-offset": dict(scaleoffset=0),
    }.items():
        file.create_dataset(name, data=data, chunks=(7, 30), maxshape=(None, 100), **how)

    def unknown(created):
        created.set_chunk((8,))
        created.set_filter(32999, h5py.h5z.FLAG_OPTIONAL, (1, 2))

    found = properties(file, "unknown", h5t.STD_U8LE, (16,), unknown)
    found.id.write_direct_chunk((0,), b"whatever it is")
    file.create_dataset("sparse", shape=(1000, 1000), chunks=(10, 10), dtype="u1")[500, 500] = 1


def text(path, file, bound):
    file["text"] = np.array(["a", "bb", ""], dtype=h5py.string_dtype())
    file["rows"] = np.arange(3)


def without_fill_message(path):
    """As the oldest releases wrote files: the fill value message (type 5) becomes a NIL message, which has no checksum."""
    content = path.read_bytes()
    found = content.count(b"\x05\x00\x08\x00\x01")
    assert found == 2, found
    path.write_bytes(content.replace(b"\x05\x00\x08\x00\x01", b"\x00\x00\x08\x00\x01"))


def created(path, bound, setting):
    """A file with a creation property list that `setting` makes."""
    creation, access = h5p.create(h5p.FILE_CREATE), h5p.create(h5p.FILE_ACCESS)
    setting(creation)
    low = {"earliest": h5f.LIBVER_EARLIEST, "v108": h5f.LIBVER_V18, "v110": h5f.LIBVER_V110, "v112": h5f.LIBVER_V112}
    access.set_libver_bounds(low.get(bound, h5f.LIBVER_LATEST), h5f.LIBVER_LATEST)
    return h5py.File(h5f.create(os.fsencode(path), h5f.ACC_TRUNC, creation, access))


def nodes(leaf, other, chunks):
    def setting(creation):
        creation = ctypes.c_int64(creation.id)
        assert CALLS.H5Pset_sym_k(creation, ctypes.c_uint(other), ctypes.c_uint(leaf)) >= 0
        assert CALLS.H5Pset_istore_k(creation, ctypes.c_uint(chunks)) >= 0

    return setting


def shared(creation):
    creation = ctypes.c_int64(creation.id)
    assert CALLS.H5Pset_shared_mesg_nindexes(creation, 1) >= 0
    assert CALLS.H5Pset_shared_mesg_index(creation, 0, 0x1F, 20) >= 0


SETTINGS = {
    "nodes-1": nodes(1, 1, 1),
    "nodes-100": nodes(7, 4, 100),
    "blocks": lambda creation: creation.set_file_space_strategy(h5f.FSPACE_STRATEGY_AGGR, False, 1),
    "threshold": lambda creation: creation.set_file_space_strategy(h5f.FSPACE_STRATEGY_FSM_AGGR, True, 100),
    "forgotten": lambda creation: creation.set_file_space_strategy(h5f.FSPACE_STRATEGY_FSM_AGGR, False, 7),
}

# What no new file has, so that the program says what becomes of it.
TOLD = {
    "narrow": (lambda creation: creation.set_sizes(4, 4), "has addresses of 4 and lengths of 4 bytes, which become 8 and 8"),
    "shared": (shared, "has a table of shared messages, which become part of each object"),
}


def told(path, note):
    """The program says before and after what becomes otherwise, and nothing else does."""
    new = path.parent / f"new-{path.name}"
    for arguments in [["repack", "--dry-run"], ["repack", "--force"], ["convert", "--dry-run"], ["convert", "--force", "--check"]]:
        said = program(*arguments, path, new).stdout
        assert note in said, (arguments, said)
        assert any(note in line for line in json.loads(program(*arguments, "--json", path, new).stdout)["notes"])
    found = [fact for fact in differences(facts(path), facts(new)) if "4294967295" not in fact]
    assert not found, f"{len(found)} facts differ, such as {found[0]}"
    same_values(path, new)


MADE = {"filled": filled, "orders": orders, "types": types, "elsewhere": elsewhere, "filters": filters}


def values(path):
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and item.shape is not None and "unknown" not in name:
            read = item[()]
            if item.dtype.hasobject and h5py.check_ref_dtype(item.dtype):
                read = [h5py.h5r.get_name(one, item.file.id) if one else None for one in np.ravel(read)]
            found[name] = read.tobytes() if isinstance(read, np.ndarray) and not read.dtype.hasobject else repr(read)
        for key, value in item.attrs.items():
            refers = hasattr(value, "dtype") and value.dtype is not None and value.dtype.hasobject
            found[f"{name}@{key}"] = len(value) if refers and value.shape else repr(value)

    with h5py.File(path, "r") as file:
        visit("/", file)
        file.visititems(visit)
    return found


def same_values(one, other):
    one, other = values(one), values(other)
    changed = [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]
    assert not changed, f"{len(changed)} values differ, such as {sorted(changed)[0]}"


def same(source, *args):
    """The file written anew has the same facts and values."""
    new = source.parent / f"new-{source.name}"
    program(args[0], "--force", source, new, *args[1:])
    found = list(differences(facts(source), facts(new)))
    assert not found, f"{len(found)} facts differ, such as {found[0]}"
    same_values(source, new)


def stored_otherwise(source, *args):
    new = source.parent / f"new-{source.name}"
    program("repack", "--force", source, new, *args)
    same_values(source, new)


def netcdf(path):
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 3)
        for name, kind, fill in [("time", "f8", None), ("t", "f4", -999.0), ("label", str, "none")]:
            made = file.createVariable(name, kind, ("time", "x") if name == "t" else ("time",), fill_value=fill)
            made.units = "1"
        file["t"][:] = np.arange(6).reshape(2, 3)
        file["label"][0:1] = np.array(["a"], dtype=object)
        rows = file.createVLType(np.int32, "rows")
        file.createVariable("ragged", rows, ("x",))[0] = np.arange(3, dtype="i4")
        # By now the library has written the attribute with references to dimensions, so that this one comes after it.
        file["t"].long_name = "set after the values"
    return path


def netcdf_reads(source):
    new = source.parent / f"new-{source.name}"
    program("repack", "--force", source, new)
    with netCDF4.Dataset(source) as one, netCDF4.Dataset(new) as other:
        assert one.dimensions["time"].isunlimited() == other.dimensions["time"].isunlimited()
        for name, found in one.variables.items():
            assert found.dimensions == other[name].dimensions and repr(found[:]) == repr(other[name][:]), name
            assert found.ncattrs() == other[name].ncattrs(), name


class Library:
    """References of the standard type, of which h5py knows nothing: its library does."""

    SIZE = 64
    """Bytes of one in memory."""

    def __init__(self):
        self.calls = CALLS
        self.kind = ctypes.c_int64.in_dll(self.calls, "H5T_STD_REF_g")

    def __call__(self, name, *args, result=ctypes.c_int64):
        function = getattr(self.calls, name)
        function.restype = result
        found = function(*(ctypes.c_int64(arg) if isinstance(arg, int) else arg for arg in args))
        assert found >= 0, name
        return found

    def at(self, memory, i):
        return ctypes.c_void_p(ctypes.addressof(memory) + self.SIZE * i)

    def write(self, file, name, memory):
        space = h5s.create_simple((len(memory) // self.SIZE,))
        dataset = self("H5Dcreate2", file.id.id, name.encode(), self.kind, space.id, 0, 0, 0)
        self("H5Dwrite", dataset, self.kind, 0, 0, 0, memory, result=ctypes.c_int)
        self("H5Dclose", dataset, result=ctypes.c_int)

    def read(self, file, name, count):
        memory, dataset = ctypes.create_string_buffer(self.SIZE * count), file[name]
        self("H5Dread", dataset.id.id, self.kind, 0, 0, 0, memory, result=ctypes.c_int)
        return memory


def into_another():
    """References to an object, a region and an attribute of another file stay what they are."""
    library = Library()
    with h5py.File("others.h5", "w", libver="v112") as others, h5py.File("leading.h5", "w", libver="v112") as leading:
        others["data"] = np.arange(12).reshape(3, 4)
        others["data"].attrs["units"] = "m"
        region = others["data"].id.get_space()
        region.select_hyperslab((1, 0), (2, 3))
        memory = ctypes.create_string_buffer(3 * library.SIZE)
        library("H5Rcreate_object", others.id.id, b"data", 0, library.at(memory, 0), result=ctypes.c_int)
        library("H5Rcreate_region", others.id.id, b"data", region.id, 0, library.at(memory, 1), result=ctypes.c_int)
        library("H5Rcreate_attr", others.id.id, b"data", b"units", 0, library.at(memory, 2), result=ctypes.c_int)
        library.write(leading, "links", memory)
    program("repack", "--force", "leading.h5", "new-leading.h5")
    with h5py.File("new-leading.h5") as file:
        found = library.read(file, "links", 3)
        for i in range(3):
            name = ctypes.create_string_buffer(40)
            library("H5Rget_file_name", library.at(found, i), name, 40)
            assert name.value == b"others.h5", name.value
        data = h5py.Dataset(h5d.DatasetID(library("H5Ropen_object", library.at(found, 0), 0, 0)))
        assert data.name == "/data" and (data[()] == np.arange(12).reshape(3, 4)).all()
        region = h5s.SpaceID(library("H5Ropen_region", library.at(found, 1), 0, 0))
        assert region.get_select_bounds() == ((1, 0), (2, 2))
        assert h5py.h5a.AttrID(library("H5Ropen_attr", library.at(found, 2), 0, 0)).name == b"units"


def to_nothing():
    """What leads to an object that was removed is told before it becomes null."""
    with h5py.File("removed.h5", "w") as file:
        file["one"], file["two"] = 1, 2
        file["links"] = np.array([file["one"].ref, file["two"].ref], dtype=h5py.ref_dtype)
        del file["one"]
    refused = subprocess.run([PROGRAM, "repack", "--force", "removed.h5", "new-removed.h5"], capture_output=True, text=True)
    assert refused.returncode == 1 and "/links has a reference to missing objects" in refused.stdout, refused
    assert not Path("new-removed.h5").exists()
    program("repack", "--force", "--lossy", "removed.h5", "new-removed.h5")
    with h5py.File("new-removed.h5") as file:
        assert not file["links"][0] and file[file["links"][1]].name == "/two"


def latin(damaged):
    """Names of members, links and attributes in Latin-1 stay as they are, also if a chunk cannot be read."""
    path = Path("latin-damaged.h5" if damaged else "latin.h5")
    with h5py.File(path, "w") as file:
        state = h5t.enum_create(h5t.STD_I16LE)
        state.enum_insert(b"hei\xdf", 1)
        row = h5t.create(h5t.COMPOUND, 10)
        row.insert(b"gr\xf6\xdfe", 0, h5t.IEEE_F64LE)
        row.insert(b"\xe9tat", 8, state)
        group = h5py.h5g.create(file.id, b"gr\xfc\xdfe")
        rows = h5d.create(group, b"d\xe4", row, h5s.create_simple((2,)))
        h5py.h5a.create(rows, b"s\xe9", state, h5s.create_simple((1,)))
        file.id.links.create_soft(b"s\xf6ft", b"/gr\xfc\xdfe/d\xe4")
        chunks = file.create_dataset("chunks", data=np.arange(40), chunks=(20,), compression="gzip")
        place = chunks.id.get_chunk_info(1)
    if damaged:
        with path.open("r+b") as file:
            file.seek(place.byte_offset)
            file.write(bytes(place.size))
    new = Path(f"new-{path}")
    program("repack", "--force", *(["--lossy"] if damaged else []), path, new)
    found = [fact for fact in differences(facts(path), facts(new)) if not (damaged and fact.startswith("/chunks"))]
    assert not found, f"{len(found)} facts differ, such as {found[0]}"


def main():
    warnings.simplefilter("ignore")
    FOLDER.mkdir(parents=True, exist_ok=True)
    # The library looks for external files there, not beside the file that names them.
    os.chdir(FOLDER)
    sources = []
    for bound in BOUNDS:
        for name, fill in MADE.items():
            path = FOLDER / f"made-{name}-{bound}.h5"
            with h5py.File(path, "w", libver=(bound, "latest")) as file:
                fill(path, file, bound)
            sources.append(path)
    for name, how in {
        "paged": dict(fs_strategy="page", fs_persist=True, fs_page_size=8192),
        "kept": dict(fs_strategy="fsm", fs_persist=True),
        "appended": dict(fs_strategy="none"),
        "user-block": dict(userblock_size=1024),
    }.items():
        for bound in BOUNDS:
            path = FOLDER / f"made-{name}-{bound}.h5"
            with h5py.File(path, "w", libver=(bound, "latest"), **how) as file:
                orders(path, file, bound)
            sources.append(path)
    for name, setting in SETTINGS.items():
        for bound in BOUNDS:
            path = FOLDER / f"made-{name}-{bound}.h5"
            with created(path, bound, setting) as file:
                orders(path, file, bound)
                filters(path, file, bound)
            sources.append(path)
    old = FOLDER / "made-text-oldest.h5"
    with h5py.File(old, "w", libver=("earliest", "latest")) as file:
        text(old, file, "earliest")
    without_fill_message(old)
    sources.append(old)
    for path in sorted(FIXTURES.glob("*.h5")):
        copy = FOLDER / path.name
        copy.write_bytes(path.read_bytes())
        # h5py itself cannot tell the facts of narrow arrays.
        if "narrow" not in path.name:
            sources.append(copy)
    for path in sources:
        check(f"kept: repack of {path.name}", lambda: same(path, "repack"))
        check(f"kept: convert of {path.name}", lambda: same(path, "convert", "--check"))
    for path in [path for path in sources if path.name.startswith(("made-filled", "made-orders", "made-types"))]:
        for bound in OUR_BOUNDS:
            check(f"restored: {path.name} for {bound}", lambda: stored_otherwise(path, "--bound", bound))
    for path in [path for path in sources if path.name.startswith(("made-types-latest", "made-filled-earliest", "made-orders-v110"))]:
        for name in FILTERS:
            check(f"restored: {path.name} with {name}", lambda: stored_otherwise(path, "--filter", name))
        check(f"restored: {path.name} with chunks", lambda: stored_otherwise(path, "--chunks", "3,2"))
    for name, (setting, note) in TOLD.items():
        for bound in BOUNDS[:2] if name == "narrow" else BOUNDS:
            path = FOLDER / f"told-{name}-{bound}.h5"
            with created(path, bound, setting) as file:
                orders(path, file, bound)
            check(f"told: {name} for {bound}", lambda: told(path, note))
    check("kept: references into another file", lambda: into_another())
    check("kept: references to what was removed", lambda: to_nothing())
    check("kept: names in Latin-1", lambda: latin(False))
    check("rescued: names in Latin-1", lambda: latin(True))
    source = netcdf(FOLDER / "climate.nc")
    check("kept: netCDF reads the same variables", lambda: netcdf_reads(source))
    check("restored: sources in the new file", lambda: stored_otherwise(FOLDER / "made-elsewhere-v110.h5", "--inline"))


main()
