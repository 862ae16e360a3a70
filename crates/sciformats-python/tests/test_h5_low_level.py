"""The low-level calls: each line gives the same here and with h5py."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import numpy as np
import pytest

from sciformats import h5

#: Lines that are evaluated one after another with both libraries. `f` is the file, `d` a dataset of it, and `lib` the library.
READS = """
lib.h5.get_libversion(), lib.h5.get_config() is lib.get_config()
[type(x).__name__ for x in (f.id, f["g"].id, d.id, f["t"].id, d.attrs.get_id("u"), d.id.get_space())]
isinstance(f.id, lib.h5g.GroupID), isinstance(f["g"].id, lib.h5f.FileID)
[lib.h5i.get_type(x) for x in (f.id, f["g"].id, d.id, f["t"].id, d.id.get_space(), d.attrs.get_id("u"))]
[lib.h5i.get_name(x) for x in (f.id, f["g"].id, d.id, f["t"].id, d.id.get_space())]
lib.h5i.get_file_id(d.id) == f.id, f.id.get_intent(), lib.h5f.get_name(d.id) == f.id.name
f.id.get_filesize(), lib.h5f.is_hdf5(f.filename.encode())
lib.h5f.is_hdf5(b"nothing is here")
list(f.id), len(f.id), b"g" in f.id, "g" in f.id, f.id.get_num_objs()
[f["g"].id.get_objname_by_idx(i) for i in range(2)], [f["g"].id.get_objtype_by_idx(i) for i in range(2)]
f.id.get_objname_by_idx(99)
f.id.get_linkval(b"s"), f.id.get_comment(b"g")
f.id.get_linkval(b"g")
f.id.links.exists(b"s"), f.id.links.exists(b"no"), f.id.links.get_val(b"s"), f.id.links.get_val(b"e")
f.id.links.get_val(b"g")
lib.h5o.exists_by_name(f.id, b"g"), lib.h5o.exists_by_name(f.id, b"no"), lib.h5o.exists_by_name(f.id, b"e")
[(x.type, x.rc, x.num_attrs, x.addr) for x in map(lib.h5o.get_info, (d.id, f.id, f["t"].id))], lib.h5o.get_info(f.id, b"g").type
lib.h5o.get_info(f.id, b"no")
[type(lib.h5o.open(f.id, name)).__name__ for name in (b"g/d", b"g", b"t")]
lib.h5o.open(f.id, b"no")
collect(lambda add: lib.h5o.visit(f.id, add)), collect(f.id.links.visit), collect(f.id.links.iterate)
collect(lambda add: lib.h5g.iterate(f.id, add)), collect(lambda add: lib.h5a.iterate(d.id, add))
[gone_through(lib, f, by, order) for by in (0, 1) for order in (0, 1)]
[gone_through(lib, g, by, order) for g in (f["tracked"],) for by in (0, 1) for order in (0, 1, 2)]
lib.h5g.iterate(f.id, print, -1)
lib.h5g.iterate(f.id, print, 99)
lib.h5a.iterate(d.id, print, -1)
lib.h5a.iterate(d.id, print, 99)
lib.h5a.open(d.id, index=-1)
lib.h5a.open(d.id, index=99)
lib.h5s.create_simple((3,), (2,))
lib.h5o.visit(f.id, print, idx_type=9)
lib.h5o.visit(f.id, print, order=9)
lib.h5o.visit(f.id, lambda n: 5 if n == b"g" else None), lib.h5o.visit(f.id, lambda n, i: i.type if n == b"t" else None, info=True)
lib.h5g.get_objinfo(f.id, b"g").type, lib.h5g.get_objinfo(f.id, b"s", follow_link=False).type
lib.h5g.open(f.id, b"c")
lib.h5g.open(f.id, b"no")
lib.h5d.open(f.id, b"g")
lib.h5d.open(f.id, b"no")
lib.h5a.get_num_attrs(d.id), lib.h5a.get_info(d.id, b"u").data_size, lib.h5a.get_info(d.id, b"u").cset
lib.h5a.open(d.id, index=0).name, lib.h5a.exists(f.id, b"u", obj_name=b"g/d"), lib.h5a.open(d.id, b"u").get_storage_size()
lib.h5a.open(d.id, b"no")
lib.h5z.get_filter_info(1), lib.h5z.get_filter_info(32000), lib.h5z.filter_avail(400)
lib.h5z.get_filter_info(400)
[x.id.get_create_plist().get_layout() for x in (d, c)], [x.id.get_create_plist().fill_value_defined() for x in (d, f["fv"])]
[filled(f[name].id.get_create_plist(), dtype) for name, dtype in (("fv", "i4"), ("fv", "f8"), ("wide", "i1"), ("wide", "f2"))]
filled(f["fv"].id.get_create_plist()), [x.id.get_create_plist().get_alloc_time() for x in (d, c)]
d.id.get_create_plist().get_chunk(), d.id.get_create_plist().get_nfilters(), d.id.get_create_plist().get_filter_by_id(1)
c.id.get_create_plist().get_chunk()
f.id.get_create_plist().get_userblock(), f.id.get_create_plist().get_file_space_page_size(), c.id.get_create_plist().get_external_count()
[getattr(d.id.get_type(), "get_" + what)() for what in ("order", "sign", "precision", "offset", "pad", "size", "class")]
[getattr(c.id.get_type(), "get_" + what)() for what in ("order", "precision", "fields", "ebias", "norm", "inpad")]
[getattr(f["t"].id, "get_member_" + what)(1) for what in ("name", "offset", "class")], f["t"].id.get_member_index(b"b")
f["t"].id.get_member_index(b"no")
f["t"].id.get_member_type(1).get_array_dims(), f["t"].id.get_member_type(1).get_super().get_size(), f["t"].id.detect_class(10)
f["enum"].id.get_type().enum_nameof(1), f["enum"].id.get_type().enum_valueof(b"B"), f["enum"].id.get_type().get_super().get_size()
f["enum"].id.get_type().enum_valueof(b"no")
[f[name].id.get_type().get_size() for name in ("vl", "ar", "str", "vs")], f["vs"].id.get_type().is_variable_str()
lib.h5t.NATIVE_INT32.dtype, lib.h5t.NATIVE_UINT8 == lib.h5t.STD_U8LE, lib.h5t.UNIX_D32LE.get_size(), lib.h5t.FORTRAN_S1.get_strpad()
lib.h5t.vlen_create(lib.h5t.STD_I32LE).get_class(), lib.h5t.array_create(lib.h5t.STD_I32LE, (2, 3)).get_array_dims()
lib.h5t.C_S1.get_strpad(), texts(lib)
compound(lib).dtype, lib.h5t.open(f.id, b"t").dtype
[x.id.get_space_status() for x in (d, c, f["none"], f["part"])], d.id.rank, c.id.rank
lib.h5r.get_obj_type(d.ref, f.id)
d.id.get_space().get_simple_extent_dims(), d.id.get_space().get_simple_extent_dims(True), d.id.get_space().is_simple()
[f[name].id.get_space().get_simple_extent_type() for name in ("nl", "sc", "c")]
"""

#: Ways to select elements of a dataspace of shape (3, 4).
SELECTIONS = [
    [],
    ["select_none()"],
    ["select_hyperslab((0, 0), (2, 2), (2, 2))"],
    ["select_hyperslab((1, 1), (1, 1), None, (2, 2))"],
    ["select_hyperslab((0, 1), (3, 1))"],
    ["select_hyperslab((0, 0), (3, 2), (1, 2), (1, 1))"],
    ["select_hyperslab((1, 1), (1, 1), None, (2, 2))", "select_hyperslab((0, 0), (1, 2), op=1)"],
    ["select_hyperslab((0, 0), (2, 3))", "select_hyperslab((1, 1), (2, 3), op=2)"],
    ["select_hyperslab((0, 0), (2, 3))", "select_hyperslab((1, 1), (2, 3), op=3)"],
    ["select_hyperslab((0, 0), (2, 3))", "select_hyperslab((1, 1), (2, 3), op=4)"],
    ["select_hyperslab((0, 0), (2, 3))", "select_hyperslab((1, 1), (2, 3), op=5)"],
    ["select_elements([(2, 3), (0, 1)])"],
    ["select_elements([(2, 3), (0, 1)])", "select_elements([(1, 1)], 6)"],
    ["select_elements([(9, 3)])"],
    ["select_hyperslab((2, 2), (2, 2))"],
]
FACTS = ["select_type", "select_npoints", "select_bounds", "regular_hyperslab", "select_hyper_nblocks", "select_elem_pointlist"]


def make(lib: Any, path: pathlib.Path) -> Any:
    file = lib.File(path, "w")
    d = file.create_dataset("g/d", data=np.arange(12).reshape(3, 4), maxshape=(None, 4), chunks=(1, 4), compression="gzip")
    file["s"], file["e"], file["h"] = lib.SoftLink("/g/d"), lib.ExternalLink("none.h5", "/y"), d
    file.create_group("g/below").attrs["z"] = "q"
    d.attrs["u"] = 1
    file.create_dataset("c", data=np.arange(5, dtype=">f4"))
    file.create_dataset("none", dtype="f4", shape=(4,))
    file.create_dataset("part", dtype="f4", shape=(4,), chunks=(2,))[0] = 1
    file.create_dataset("fv", shape=(3,), dtype="i4", fillvalue=7)
    file.create_dataset("wide", shape=(3,), dtype="f8", fillvalue=1e20)
    file["t"] = np.dtype([("a", "i4"), ("b", "f8", (2,))])
    file["nl"], file["sc"] = lib.Empty("f4"), np.float32(3)
    file["enum"] = np.zeros(2, lib.enum_dtype({"A": 1, "B": 2}, "i2"))
    for name, dtype in [("vl", lib.vlen_dtype("i4")), ("ar", np.dtype(("i4", (2, 3)))), ("str", "S5"), ("vs", lib.string_dtype())]:
        file.create_dataset(name, shape=(2,), dtype=dtype)
    tracked = file.create_group("tracked", track_order=True)
    for name in ("c", "a", "b/y", "b/x", "d"):
        tracked.create_group(name)
    file.flush()
    return file


def collect(visit: Any) -> list[bytes]:
    seen: list[bytes] = []
    visit(seen.append)
    return sorted(seen)


def gone_through(lib: Any, group: Any, by: int, order: int) -> list[bytes]:
    seen: list[bytes] = []
    lib.h5o.visit(group.id, seen.append, idx_type=by, order=order)
    return seen


def filled(properties: Any, dtype: str = "i4") -> float:
    value = np.zeros((), dtype)
    properties.get_fill_value(value)
    return float(value)


def compound(lib: Any) -> Any:
    made = lib.h5t.create(lib.h5t.COMPOUND, 12)
    made.insert(b"a", 0, lib.h5t.STD_I32LE)
    made.insert(b"b", 4, lib.h5t.IEEE_F64LE)
    return made


def texts(lib: Any) -> list[Any]:
    """Facts about types of texts that are made from a copy."""
    found = []
    for size in (7, lib.h5t.VARIABLE):
        made = lib.h5t.C_S1.copy()
        made.set_size(size)
        made.set_cset(lib.h5t.CSET_UTF8)
        found.append((made.is_variable_str(), made.get_strpad(), made.get_size(), made.get_cset(), made.get_class(), made.dtype))
    return found


def outcome(line: str, names: dict[str, Any]) -> Any:
    """Return the value of a line, or the name of its exception."""
    try:
        return eval(line, names)
    except Exception as error:
        return type(error).__name__


@pytest.fixture
def names(tmp_path: pathlib.Path) -> Any:
    """The names for lines: of this package, and of h5py, which reads the file that it has written."""
    both = []
    for lib in (h5, h5py):
        path = tmp_path / "theirs.h5"
        if lib is h5:
            make(h5py, path).close()
        file = lib.File(path, "r")
        shared: dict[str, Any] = {"texts": texts, "collect": collect, "gone_through": gone_through, "filled": filled, "compound": compound, "np": np}
        both.append({**shared, "lib": lib, "f": file, "d": file["g/d"], "c": file["c"]})
    yield both
    for each in both:
        each["f"].close()


@pytest.mark.parametrize("line", READS.strip().splitlines())
def test_lines_give_what_h5py_gives(names: Any, line: str) -> None:
    ours, theirs = (outcome(line, each) for each in names)
    assert ours == theirs


@pytest.mark.parametrize("module", ["h5", "h5d", "h5f", "h5g", "h5i", "h5l", "h5o", "h5r", "h5s", "h5t", "h5z"])
def test_constants_are_those_of_h5py(module: str) -> None:
    ours, theirs = getattr(h5, module), getattr(h5py, module)
    # All elements are a dataspace in h5py.
    numbers = {name for name in dir(ours) if name.isupper() and name != "ALL" and isinstance(getattr(ours, name), int)}
    assert {name: getattr(ours, name) for name in numbers if hasattr(theirs, name)} == {
        name: int(getattr(theirs, name)) for name in numbers if hasattr(theirs, name)
    }
    missing = {name for name in dir(theirs) if name.isupper() and type(getattr(theirs, name)) is int} - numbers
    assert missing <= {"CLASS_T_VERS", "CRT_ORDER_TRACKED"}, missing


def selected(lib: Any, calls: list[str], shape: tuple[int, ...] = (3, 4)) -> Any:
    space = lib.h5s.create_simple(shape)
    for call in calls:
        eval(f"space.{call}", {"space": space})
    return space


def test_combined_hyperslabs_are_those_of_h5py() -> None:
    random = np.random.default_rng(3)
    for _ in range(400):
        spaces = [lib.h5s.create_simple((4, 6)) for lib in (h5, h5py)]
        if random.random() < 0.2:
            for space in spaces:
                space.select_none()
        calls = []
        for _ in range(random.integers(1, 4)):
            start, count, stride, block = (tuple(map(int, random.integers(*ends, 2))) for ends in ((0, 5), (1, 4), (2, 4), (1, 3)))
            calls.append((start, count, stride, block, int(random.integers(0, 6))))
        for space in spaces:
            for call in calls:
                space.select_hyperslab(*call)
        facts = [(each.get_select_npoints(), bool(each.select_valid())) for each in spaces]
        assert facts[0] == facts[1], calls
        if facts[0][0]:
            # Also what is beyond the dataspace is selected, so that nothing is read in its place.
            assert spaces[0].get_select_bounds() == spaces[1].get_select_bounds(), calls


def test_single_elements_are_not_combined_with_hyperslabs() -> None:
    for lib in (h5, h5py):
        points, slab = lib.h5s.create_simple((4, 6)), lib.h5s.create_simple((4, 6))
        points.select_elements([(3, 4), (0, 1)])
        slab.select_hyperslab((0, 0), (2, 2))
        for op in (lib.h5s.SELECT_OR, lib.h5s.SELECT_AND, lib.h5s.SELECT_NOTA):
            with pytest.raises(RuntimeError):
                points.select_hyperslab((0, 0), (2, 2), op=op)
            for one, other in ((points, slab), (slab, points)):
                with pytest.raises(ValueError):
                    one.combine_select(other, op)
                with pytest.raises(ValueError):
                    one.modify_select(other, op)
        assert points.get_select_elem_pointlist().tolist() == [[3, 4], [0, 1]]


@pytest.mark.parametrize("calls", SELECTIONS)
def test_selections_are_those_of_h5py(names: Any, calls: list[str]) -> None:
    spaces = [selected(lib, calls) for lib in (h5, h5py)]
    for fact in FACTS:
        ours, theirs = (outcome(f"space.get_{fact}()", {"space": space}) for space in spaces)
        if isinstance(theirs, np.ndarray):
            ours, theirs = ours.tolist(), theirs.tolist()
        assert ours == theirs, fact
    assert spaces[0].select_valid() == spaces[1].select_valid()
    assert spaces[0].is_regular_hyperslab() == (spaces[1].get_select_type() == 2 and spaces[1].is_regular_hyperslab())


@pytest.mark.parametrize("calls", SELECTIONS)
@pytest.mark.parametrize("dtype", ["i8", "f4"])
def test_reads_and_writes_of_selections_are_those_of_h5py(tmp_path: pathlib.Path, calls: list[str], dtype: str) -> None:
    results: list[Any] = []
    for lib in (h5, h5py):
        with lib.File(tmp_path / f"{lib.__name__}.h5", "w") as file:
            identifier = file.create_dataset("d", data=np.arange(12).reshape(3, 4), chunks=(2, 2)).id
            found: list[Any] = []
            space = selected(lib, calls)
            count = space.get_select_npoints()
            for memory, shape in [(lib.h5s.ALL, (3, 4)), (None, (2 * count + 1,)), (None, (count + 1,))]:
                place = memory
                if memory is None:
                    place = lib.h5s.create_simple(shape)
                    if count and shape == (2 * count + 1,):
                        place.select_hyperslab((1,), (count,), (2,))
                array = np.full(shape, -1, dtype)
                for verb in ("read", "write"):
                    given = array if verb == "read" else np.arange(100, 100 + array.size, dtype=dtype).reshape(shape)
                    try:
                        getattr(identifier, verb)(place, space, given)
                    except Exception as error:
                        found.append(type(error).__name__)
                found.append(array.tolist())
                found.append(file["d"][()].tolist())
            results.append(found)
    assert results[0] == results[1]


def test_types_in_memory_are_those_of_h5py(tmp_path: pathlib.Path) -> None:
    found: list[Any] = []
    for lib in (h5, h5py):
        with lib.File(tmp_path / f"{lib.__name__}.h5", "w") as file:
            data = file.create_dataset("d", data=np.arange(12).reshape(3, 4)).id
            space = lib.h5s.create_simple((3, 4))
            space.select_hyperslab((1, 0), (2, 2))
            kinds = [("i4", lib.h5t.NATIVE_FLOAT), ("V8", lib.h5t.NATIVE_DOUBLE), ("i8", None), ("<i4", lib.h5t.STD_I32BE)]
            results: list[Any] = []
            for dtype, kind in kinds:
                for chosen in (lib.h5s.ALL, space):
                    array = np.zeros((3, 4), dtype)
                    data.read(lib.h5s.ALL, chosen, array, kind)
                    results.append(array.tobytes())
                    data.write(lib.h5s.ALL, chosen, np.frombuffer(array.tobytes(), dtype).reshape(3, 4).copy(), kind)
                    results.append(file["d"][()].tolist())
            data.write(lib.h5s.ALL, lib.h5s.ALL, np.linspace(1, 9, 12).view("i8").reshape(3, 4), lib.h5t.NATIVE_DOUBLE)
            results.append(file["d"][()].tolist())
            file.attrs["n"], file.attrs["one"] = np.array([300, -5]), "text"
            file.attrs["texts"], file.attrs["fixed"] = ["ab", "é"], np.array([b"x", b"yz"])
            attribute = file.attrs.get_id("n")
            for dtype, kind in (*kinds, ("i1", None), ("f2", None)):
                for length in (2, 3):
                    array = np.zeros(length, dtype)
                    attribute.read(array, kind)
                    results.append(array.tobytes())
            attribute.write(np.array([1.5, -2.5]).view("i8"), lib.h5t.NATIVE_DOUBLE)
            results.append(file.attrs["n"].tolist())
            characters, array = lib.h5t.C_S1.copy(), np.zeros((), "S12")
            letters = lib.h5d.create(file.id, b"letters", characters, lib.h5s.create_simple((3, 4)))
            letters.write(lib.h5s.ALL, lib.h5s.ALL, np.array(b"abcdefghijkl"), mtype=letters.get_type())
            letters.read(lib.h5s.ALL, lib.h5s.ALL, array, mtype=letters.get_type())
            results += [file["letters"][()].tolist(), array[()]]
            attribute.read(array := np.zeros(4, "i4"), lib.h5t.NATIVE_DOUBLE)
            results.append(array.tobytes())
            attribute.write(np.array([7, 8, 9], "i8").view("i4"), lib.h5t.NATIVE_INT64)
            results.append(file.attrs["n"].tolist())
            for name, array in (("texts", np.empty(2, lib.string_dtype())), ("one", np.empty((), lib.string_dtype())), ("fixed", np.empty(2, "S3"))):
                file.attrs.get_id(name).read(array)
                results.append(array.tolist())
            with pytest.raises(TypeError):
                attribute.read(np.zeros(4, "i8")[::2])
            found.append(results)
    assert found[0] == found[1]
    with h5.File(tmp_path / "sciformats.h5.h5", "r+") as file:
        for of, more in ((file["d"].id, (h5.h5s.ALL, h5.h5s.ALL)), (file.attrs.get_id("n"), ())):
            shape = (3, 4) if more else (2,)
            for call in (of.read, of.write):
                with pytest.raises(NotImplementedError, match="mtype="):
                    call(*more, np.zeros(shape, object), h5.h5t.NATIVE_DOUBLE)
                # The bytes of the array are those of fewer elements.
                with pytest.raises((OSError, TypeError, ValueError)):
                    call(*more, np.zeros(shape, "i4"), h5.h5t.NATIVE_DOUBLE)
        with pytest.raises(TypeError, match="cannot receive"):
            file.attrs.get_id("n").read(np.zeros(1, "i8"))


def test_arrays_that_are_too_small_are_refused(names: Any) -> None:
    identifier = names[0]["d"].id
    with pytest.raises(OSError, match="has not all"):
        identifier.read(h5.h5s.ALL, h5.h5s.ALL, np.zeros((2, 4), "i8"))
    with pytest.raises(TypeError, match="contiguous"):
        identifier.read(h5.h5s.ALL, h5.h5s.ALL, np.zeros((4, 3), "i8").T)


def test_changes_are_those_of_h5py(tmp_path: pathlib.Path) -> None:
    found: list[Any] = []
    for lib in (h5, h5py):
        file = make(lib, tmp_path / f"{lib.__name__}.h5")
        names = {"lib": lib, "f": file, "d": file["g/d"], "np": np}
        lines = [
            'lib.h5o.link(d.id, f.id, b"linked")', 'lib.h5o.copy(f.id, b"c", f.id, b"c2")', 'lib.h5o.copy(f.id, b"c", f.id, b"c2")',
            'f.id.links.create_soft(b"s2", b"/g")', 'f.id.links.create_external(b"e2", b"other.h5", b"/p")',
            'f.id.links.create_hard(b"h2", f.id, b"g/d")', 'f.id.links.move(b"h2", f["g"].id, b"h3")', 'f.id.unlink(b"s2")',
            'lib.h5r.get_region(d.regionref[1:2, 0:2], f.id).get_select_bounds()', 'f.id.unlink(b"s2")', 'f.id.move(b"e2", b"e3")', 'lib.h5g.create(f.id, b"newg") == f["newg"].id',
            'lib.h5g.create(f.id, b"newg")', 'lib.h5a.rename(d.id, b"u", b"w")', 'lib.h5a.delete(f.id, b"z", obj_name=b"g/below")',
            "d.id.set_extent((4, 4))", "d.id.extend((5, 2))", "d.shape", "list(d.attrs)",
        ]  # fmt: skip
        found.append([outcome(line, names) for line in lines])
        file.close()
        with h5py.File(tmp_path / f"{lib.__name__}.h5") as again:
            members: list[str] = []
            again.visit_links(members.append)
            found[-1].append(sorted(members))
    assert found[0] == found[1]


def test_committed_types_are_shared_in_their_file(tmp_path: pathlib.Path) -> None:
    found: list[Any] = []
    for lib in (h5, h5py):
        path = tmp_path / f"{lib.__name__}.h5"
        with h5py.File(tmp_path / "other.h5", "w") as other:
            other["t"], other["alone"] = np.dtype([("a", ">i2")]), np.dtype("f4")
        with lib.File(path, "w") as file, lib.File(tmp_path / "other.h5") as other:
            file["t"] = np.dtype([("a", "i4"), ("b", "f8")])
            kind, space = lib.h5t.open(file.id, b"t"), lib.h5s.create_simple((2,))
            lib.h5d.create(file.id, b"low", kind, space)
            file.create_dataset("high", (2,), file["t"])
            values = np.ones(2, file["t"].dtype)
            lib.h5a.create(file.id, b"low", kind, space).write(values)
            file.attrs.create("high", values, dtype=file["t"])
            # A type of another file is none of this one, whatever is called the same here.
            file.create_dataset("strange", (2,), other["t"])
            file.create_dataset("missing", (2,), other["alone"])
            file.attrs.create("strange", np.ones(2, other["t"].dtype), dtype=other["t"])
            file.attrs.create("missing", np.ones(2), dtype=other["alone"])
            with pytest.raises(OSError, match="exists"):
                lib.h5a.create(file.id, b"low", lib.h5t.NATIVE_INT32, space)
        with h5py.File(path) as file:
            members = {name: (each.dtype, each.id.get_type().committed()) for name, each in file.items() if name != "t"}
            kinds = {name: (file.attrs[name].tolist(), file.attrs.get_id(name).get_type().committed()) for name in file.attrs}
            found.append((members, kinds, h5py.h5o.get_info(file["t"].id).rc))
    assert found[0] == found[1]


def test_types_are_only_changed_as_in_h5py() -> None:
    for lib in (h5, h5py):
        named = lib.h5t.enum_create(lib.h5t.STD_I8LE)
        named.enum_insert(b"A", 1)
        for name, value in ((b"A", 2), (b"B", 1)):
            with pytest.raises(TypeError, match="redefinition"):
                named.enum_insert(name, value)
        named.enum_insert(b"C", 300)
        assert [named.get_member_value(place) for place in range(named.get_nmembers())] == [1, 127]
        for ask in (named.get_member_name, named.get_member_value, compound(lib).get_member_offset, compound(lib).get_member_type):
            with pytest.raises((IndexError, TypeError, ValueError)):
                ask(-1)
    number, text = h5.h5t.STD_I8LE.copy(), h5.h5t.C_S1.copy()
    with pytest.raises(TypeError):
        number.set_cset(h5.h5t.CSET_UTF8)
    text.set_size(h5.h5t.VARIABLE)
    with pytest.raises(NotImplementedError):
        text.set_strpad(h5.h5t.STR_SPACEPAD)
    assert number == h5.h5t.STD_I8LE


def test_files_are_created(tmp_path: pathlib.Path) -> None:
    for lib in (h5, h5py):
        path = str(tmp_path / f"{lib.__name__}.h5").encode()
        identifier = lib.h5f.create(path)
        lib.h5g.create(identifier, b"g")
        assert identifier.name == path
        identifier.close()
        with pytest.raises(OSError):
            lib.h5f.create(path, lib.h5f.ACC_EXCL)
        with h5py.File(path) as file:
            assert list(file) == ["g"]


def test_percent_signs_in_the_names_of_sources(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "a%b.h5", "w") as file:
        file["50%"] = np.arange(3)
    for lib in (h5, h5py):
        layout = lib.VirtualLayout((3,), "i8")
        layout[:] = lib.VirtualSource(str(tmp_path / "a%%b.h5"), "50%%", (3,), "i8")
        path = tmp_path / f"{lib.__name__}.h5"
        with lib.File(path, "w", libver="latest") as file:
            file.create_virtual_dataset("v", layout, fillvalue=-1)
        for other in (h5, h5py):
            with other.File(path) as file:
                np.testing.assert_array_equal(file["v"][...], np.arange(3))


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_h5py_changes_the_shape_of_datasets_that_cannot_grow(tmp_path: pathlib.Path, libver: str) -> None:
    values = np.arange(72).reshape(8, 9)
    path = tmp_path / "a.h5"
    with h5.File(path, "w", libver=libver) as file:
        file.create_dataset("d", data=values, chunks=(2, 3))
    with h5py.File(path, "r+", libver=libver) as file:
        file["d"].resize((5, 4))
    for lib in (h5, h5py):
        with lib.File(path) as file:
            np.testing.assert_array_equal(file["d"][...], values[:5, :4])
            assert file["d"].maxshape == (8, 9)
    with h5py.File(path, "r+") as file, pytest.raises(RuntimeError):
        file["d"].resize((9, 9))
