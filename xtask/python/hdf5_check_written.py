"""What the HDF5 files hold that the other side wrote, value by value. Read with h5py, and netCDF4 where that reads them.

Contents: element k of a numeric array is (k * 31 + 7) % 251, as an integer, or a quarter of it as a float.
"""

import ctypes
import glob
import json
import os
import shutil

import h5py
import numpy as np

import hdf5_tools

try:
    import hdf5plugin  # makes further filters known
except ImportError:
    hdf5plugin = None

BOUNDS = ["earliest", "v18", "v110", "v112", "v200"]


def integers(*shape):
    n = int(np.prod(shape))
    return ((np.arange(n) * 31 + 7) % 251).reshape(shape)


def floats(*shape):
    return integers(*shape) / 4


def same(found, expected, what):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, f"{what}: shape {found.shape} is not {expected.shape}"
    assert (found == expected).all(), f"{what}: values differ"


def libhdf5():
    """The library of h5py, for what h5py has no name for."""
    return ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs", "libhdf5-*"))[0])


def comment(item):
    """The comment of an object; what h5py says of it is memory that was given back."""
    get = libhdf5().H5Oget_comment
    get.restype, get.argtypes = ctypes.c_ssize_t, [ctypes.c_int64, ctypes.c_char_p, ctypes.c_size_t]
    text = ctypes.create_string_buffer(100)
    assert get(item.id.id, text, 100) >= 0
    return text.value


def layouts(file, bound, long=200_000):
    full = ["contiguous", "early", "compact", "chunked", "single", "single_filtered", "implicit", "fixed", "fixed_filtered",
            "grows", "grows_second", "grows_both", "tree_filtered", "tree"]
    if bound not in ("earliest", "v18"):
        full += ["edges", "edges_grow", "edges_grow_both"]
        # The filtered chunks that lie inside are smaller, those of the edges as large as they are.
        assert file["edges"].id.get_storage_size() < 5 * 8 * 8 * 7 * 8
        assert file["edges"].id.get_chunk_info_by_coord((32, 0)).size == 8 * 7 * 8
    for name in full:
        same(file[name], floats(33, 50), name)
        same(file[name][3::5, 7:40:3], floats(33, 50)[3::5, 7:40:3], name)
    assert file["compact"].id.get_create_plist().get_layout() == h5py.h5d.COMPACT
    assert file["contiguous"].chunks is None and file["chunked"].chunks == (8, 7)
    assert file["grows"].maxshape == (None, 60) and file["grows_both"].maxshape == (None, None)
    same(file["automatic"], floats(300, 200), "automatic")
    for name in ["pages", "pages_grow"]:
        same(file[name], floats(long), name)
    part = np.full((4, 5), 7)
    same(file["nothing"], part, "nothing")
    same(file["nothing_chunked"], part, "nothing_chunked")
    part[1:3, 0:5:2] = 1
    same(file["part"], part, "part")
    same(file["part_chunked"], part, "part_chunked")
    assert file["nothing"].fillvalue == 7 and file["empty"].shape == (0, 3)


def filters(file, bound):
    assert len(file) == 22
    for name, group in file.items():
        for kind, dataset in group.items():
            expected = {"floats": floats(70, 50), "zeros": np.zeros((70, 50))}.get(kind, integers(70, 50))
            if name == "scale_offset" and kind == "floats":
                assert np.allclose(dataset, expected, atol=0.006), name
            else:
                same(dataset, expected, f"{name}/{kind}")
            assert len(dataset.id.get_create_plist().get_filter(0)) == 4
    for name, number in [("blosc_lz4", 32001), ("blosc2_zstd", 32026)]:
        assert file[name]["integers"].id.get_create_plist().get_filter(0)[0] == number
    sizes = {name: file[name]["zeros"].id.get_storage_size() for name in file if "zeros" in file[name]}
    for name in ["deflate", "lzf", "bzip2", "zstd", "bitshuffle_lz4", "szip", "blosc_lz4", "blosc2_zstd"]:
        assert sizes[name] < 3000, f"{name} does not compress zeros: {sizes[name]}"


def types(file, bound):
    for name, order in [("", "<"), ("_big", ">")]:
        for code in ["i1", "u1", "i2", "u4", "i8", "f4", "f8"]:
            dataset = file[code + name]
            expected = floats(4, 6) if code[0] == "f" else integers(4, 6) - (125 if code == "i1" else 0)
            same(dataset, expected, code + name)
            assert dataset.dtype == np.dtype(order + code), code + name
    same(file["f2"], np.array([1, -2, 0.5], "f2"), "f2")
    same(file["fixed"].asstr()[:], ["alpha", "", "gamma rays"], "fixed")
    assert file["fixed"].dtype.itemsize == 12
    same(file["strings"].asstr()[:], ["één", "", "三"], "strings")
    assert file["booleans"].dtype == bool
    same(file["booleans"], [True, False, True], "booleans")
    rows = file["rows"][:]
    assert rows.dtype.names == ("id", "mass", "name", "position", "on")
    same(rows["id"], np.arange(5), "rows.id")
    same(rows["mass"], floats(5), "rows.mass")
    assert [name.decode() for name in rows["name"]] == ["n" * i for i in range(5)]
    same(rows["position"], np.repeat(np.arange(5), 3).reshape(5, 3), "rows.position")
    same(rows["on"], [True, False, True, False, True], "rows.on")
    same(file["colours"], [0, 42, 1], "colours")
    assert h5py.check_enum_dtype(file["colours"].dtype) == {"RED": 0, "GREEN": 1, "BLUE": 42}
    same(file["arrays"][:], [[1, 2, 3], [4, 5, 6]], "arrays")
    opaque = np.zeros(2, "V3")
    tagged = file["opaque"].id.get_type()
    file["opaque"].id.read(h5py.h5s.ALL, h5py.h5s.ALL, opaque, mtype=tagged)
    assert opaque.tobytes() == b"abcdef" and tagged.get_tag() == b"three bytes"
    same(file["bits"], [1, 2, 255], "bits")
    same(file["complex"], [1 - 2j, 0.5 + 4j], "complex")
    if bound == "v200":
        same(file["native_complex"], [1 - 2j, 0.5 + 4j], "native_complex")
    assert file["scalar"][()] == 2.5 and file["scalar"].shape == ()
    assert file["null"].shape is None and file["null"].dtype == "f8"
    assert file["kind"].dtype == "u2" and file["committed"].id.get_type().committed()
    same(file["committed"], [1, 2, 3], "committed")
    same(file.attrs["of_kind"], [500, 2], "of_kind")
    assert h5py.h5a.open(file.id, b"of_kind").get_type().committed() and file["kind"].attrs["of itself"] == 9
    # A link, a dataset and two attributes lead to it.
    assert h5py.h5o.get_info(file["kind"].id).rc == 4
    assert comment(file["kind"]) == b"a kind of number"


def groups(file, bound):
    for n in [0, 1, 8, 9, 100, 3000]:
        group = file[f"of_{n}"]
        assert sorted(group) == sorted(f"m{i}" for i in range(n)), n
        assert all(f"m{i}" in group for i in range(0, n, 7))
        if n:
            assert h5py.h5o.get_info(group[f"m{n - 1}"].id).rc == n
            assert group["m0"] == group[f"m{n - 1}"]
    assert file["a/b/c"].attrs["depth"] == 3 and file["soft/c"] == file["a/b/c"] and file["a/up"] == file["/"]
    link = file.get("dangling", getlink=True)
    assert isinstance(link, h5py.SoftLink) and link.path == "nowhere" and file.get("dangling") is None
    link = file.get("outside", getlink=True)
    assert isinstance(link, h5py.ExternalLink) and (link.filename, link.path) == ("layouts_v18.h5", "/contiguous")
    same(file["outside"], floats(33, 50), "outside")
    assert comment(file["ünïcode"]) == b"a comment"
    assert file.id.links.get_info(b"mine").type == 70


def attributes(file, bound):
    root = dict(file.attrs)
    assert root["integer"] == 7 and root["integer"].dtype == "i2" and root["float"] == 1.5
    same(root["array"], [1, 2, 3], "array")
    assert root["text"] == "héllo" and list(root["texts"]) == ["a", "", "c"] and root["fixed"] in (b"abc", "abc")
    assert root["flag"] and isinstance(root["empty"], h5py.Empty) and root["ünïcode"] == 1 and len(root) == 9
    many = file["many"].attrs
    assert len(many) == 300 and all(many[f"a{i}"] == i for i in range(300))
    assert file["long"].attrs["short"] == 1
    same(file["long"].attrs["long"], integers(50_000), "long")
    assert file["dataset"].attrs["units"] == "m"


def sequences(file, bound):
    texts = [str(i) * (i % 40) for i in range(3000)]
    assert list(file["texts"].asstr()) == texts and list(file["texts_chunked"].asstr()) == texts
    for n, found in enumerate(file["ragged"]):
        same(found, integers(n % 7), f"ragged {n}")
    assert file["long"].asstr()[0] == "x" * 300_000


def appended(file, bound):
    same(file["rows"], integers(200, 5), "rows")
    same(file["other"], integers(600), "other")
    assert file["rows"].maxshape == (None, 5)


def references(file, bound):
    objects = file["objects"][:]
    assert file[objects[0]] == file["group/data"] and file[objects[1]] == file["group"]
    assert file[file["group"].attrs["data"]] == file["group/data"]
    region = file["regions"][0]
    same(file[region][region], integers(10, 10)[2:5, 4:6], "region")
    if bound in ("v112", "v200"):
        standard(file)


def standard(file):
    """References of the standard type, of which h5py knows nothing: its library does."""
    library, number = libhdf5(), ctypes.c_int64
    for name in ("H5Ropen_object", "H5Ropen_region", "H5Ropen_attr"):
        getattr(library, name).restype = number
        getattr(library, name).argtypes = [ctypes.c_void_p, number, number]
    kind = number.in_dll(library, "H5T_STD_REF_g")
    found = ctypes.create_string_buffer(3 * 64)
    library.H5Dread.argtypes = [number] * 5 + [ctypes.c_void_p]
    dataset = file["standard"]
    assert library.H5Dread(dataset.id.id, kind, 0, 0, 0, found) >= 0
    at = [ctypes.addressof(found) + 64 * i for i in range(3)]
    assert h5py.h5i.get_name(h5py.h5d.DatasetID(library.H5Ropen_object(at[0], 0, 0))) == b"/group/data"
    region = h5py.h5s.SpaceID(library.H5Ropen_region(at[1], 0, 0))
    assert region.get_select_bounds() == ((2, 4), (4, 5)) and region.get_select_npoints() == 6
    attribute = h5py.h5a.AttrID(library.H5Ropen_attr(at[2], 0, 0))
    assert attribute.name == b"data" and h5py.h5i.get_name(attribute) == b"/group"


def external(file, bound):
    here = os.getcwd()
    os.chdir(os.path.dirname(file.filename))
    try:
        same(file["outside"], np.roll(integers(40), 20).reshape(2, 20), "outside")
    finally:
        os.chdir(here)


def mapped(file, bound):
    for i in range(3):
        same(file[f"part{i}"], np.full(10, i), "part")
    if bound not in ("earliest", "v18"):
        same(file["whole"], np.repeat([0, 9, 2], 10).reshape(3, 10), "whole")
        assert file["whole"].is_virtual


def tracked(file, bound):
    assert file.userblock_size == 1024
    field = file["field"]
    same(field, floats(4, 6), "field")
    assert [scale.name for dim in field.dims for scale in dim.values()] == ["/y", "/x"]
    assert file["x"].is_scale and file["x"].attrs["NAME"] in (b"x", "x") and len(file["x"].attrs["REFERENCE_LIST"]) == 1
    order = [f"{i}" for i in range(19, -1, -1)]
    group = file["many"]
    names = []
    group.id.links.iterate(lambda name: names.append(name.decode()), idx_type=h5py.h5.INDEX_CRT_ORDER)
    assert names == ["m" + i for i in order]
    names = []
    h5py.h5a.iterate(group.id, lambda name: names.append(name.decode()), index_type=h5py.h5.INDEX_CRT_ORDER)
    assert names == ["a" + i for i in order]


def space(strategy, persist, page):
    def values(file, bound):
        creation = file.id.get_create_plist()
        assert creation.get_file_space_strategy()[:2] == (strategy, persist)
        assert creation.get_file_space_page_size() == page
        layouts(file, bound, 200_000 if bound == "v110" else 20_000)
        attributes(file, bound)

    return values


SPACES = {"space-kept": space(h5py.h5f.FSPACE_STRATEGY_FSM_AGGR, True, 4096),
          "space-paged": space(h5py.h5f.FSPACE_STRATEGY_PAGE, False, 4096),
          "space-pages": space(h5py.h5f.FSPACE_STRATEGY_PAGE, True, 512),
          "space-end": space(h5py.h5f.FSPACE_STRATEGY_NONE, False, 4096),
          "space-blocks": space(h5py.h5f.FSPACE_STRATEGY_AGGR, False, 4096)}

def times(file, bound):
    for name in ("/", "group", "group/below", "flat", "rows"):
        info = h5py.h5o.get_info(file[name].id)
        stored = {info.atime, info.mtime, info.ctime, info.btime}
        # Old headers have a single time, which the library takes for that of the last change.
        assert stored == ({0, 1_700_000_000} if bound == "earliest" else {1_700_000_000}), (name, stored)


GROUPS = {"layouts": layouts, "filters": filters, "types": types, "groups": groups, "attributes": attributes,
          "sequences": sequences, "appended": appended, "references": references, "virtual": mapped,
          "external": external, "tracked": tracked, "times": times}


def edited(path):
    """The library adds to a file, takes away from it and extends it, and finds all of it again."""
    copy = path + ".edited"
    shutil.copy(path, copy)
    try:
        with h5py.File(copy, "r+") as file:
            before = sorted(file)
            for i in range(12):
                file.attrs[f"new {i}"] = i
                file.create_group(f"new {i}")
            for name in before:
                kind = file.id.links.get_info(name.encode()).type
                item = file.get(name) if kind in (h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT) else None
                if isinstance(item, h5py.Dataset) and item.chunks and None in item.maxshape:
                    axis = item.maxshape.index(None)
                    item.resize(item.shape[axis] + 5, axis)
                if isinstance(item, h5py.Group) and name != "a":
                    item.create_group("new")
                    for member in list(item)[:3]:
                        del item[member]
        with h5py.File(copy) as file:
            assert sorted(set(file) - {f"new {i}" for i in range(12)}) == before
            assert all(file.attrs[f"new {i}"] == i for i in range(12))
    finally:
        os.remove(copy)


def netcdf(netCDF4, path):
    with netCDF4.Dataset(path) as file:
        same(file["field"][:], floats(4, 6), "field")
        assert file["field"].dimensions == ("y", "x") and file["field"].units == "m"
    copy = path + ".netcdf"
    shutil.copy(path, copy)
    try:
        with netCDF4.Dataset(copy, "a") as file:
            file["field"][1, 1] = 99
            file.createVariable("more", "f8", ("x",))[:] = 1
        with h5py.File(copy) as file:
            assert file["field"][1, 1] == 99 and (file["more"][:] == 1).all()
    finally:
        os.remove(copy)


def say(case, check, way="they read ours"):
    line = {"case": case, "way": way, "ok": True}
    try:
        check()
    except Exception as error:  # whatever it is, it is the file's fault, and the run goes on
        line.update(ok=False, why=f"{type(error).__name__}: {error}")
    print(json.dumps(line), flush=True)


def peer(text):
    print(json.dumps({"peer": text}), flush=True)


def check(folder):
    peer(f"h5py {h5py.__version__} with HDF5 {h5py.version.hdf5_version}")
    if hdf5plugin is not None:
        peer(f"hdf5plugin {hdf5plugin.version}")
    for bound in BOUNDS:
        spaces = SPACES if bound not in ("earliest", "v18") else {}
        for group, values in {**GROUPS, **spaces}.items():
            path = os.path.join(folder, f"{group}_{bound}.h5")

            def read():
                with h5py.File(path) as file:
                    values(file, bound)

            say(f"{group}: {bound}", read)
            say(f"{group}: {bound}, changed by the library", lambda: edited(path), "edited there")
    # Releases before 1.12 and 2.0 know nothing of references of the standard type and of complex numbers.
    hdf5_tools.check(folder, {"references_v112", "references_v200", "types_v200"}, say)
    # Not before: netCDF4 brings an HDF5 library of its own, which the filters of hdf5plugin would find from then on.
    try:
        import netCDF4
    except ImportError:
        print(json.dumps({"case": "netCDF: all", "skipped": "netCDF4 is not installed"}))
        return
    peer(f"netCDF4 {netCDF4.__version__} with netCDF {netCDF4.__netcdf4libversion__} and HDF5 {netCDF4.__hdf5libversion__}")
    for bound in BOUNDS:
        say(f"netCDF: {bound}", lambda: netcdf(netCDF4, os.path.join(folder, f"tracked_{bound}.h5")))
