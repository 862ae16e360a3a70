"""Property lists of the low-level interface: what they ask for is done as in h5py."""

from __future__ import annotations

import os
import pathlib
import time
from typing import Any

import h5py
import numpy as np
import pytest

from sciformats import h5


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("library", [h5py, h5], ids=["theirs", "ours"])
def test_files_in_memory_only_get_to_their_path_if_they_shall(tmp_path: pathlib.Path, library: Any, stored: bool) -> None:
    path = tmp_path / "data.h5"
    with h5py.File(path, "w") as file:
        file["only"] = [1, 2, 3]
    before = path.read_bytes()
    access = library.h5p.create(library.h5p.FILE_ACCESS)
    access.set_fapl_core(1 << 16, stored)
    assert tuple(access.get_fapl_core()) == (1 << 16, stored)
    with library.File(library.h5f.open(os.fsencode(path), library.h5f.ACC_RDWR, access)) as file:
        file["more"] = 1
        assert sorted(file) == ["more", "only"] and file.driver == "core"
    with h5py.File(path) as file:
        assert sorted(file) == (["more", "only"] if stored else ["only"])
    with library.File(library.h5f.open(os.fsencode(path), library.h5f.ACC_RDONLY, access)) as file:
        assert file["only"][1] == 2
    with library.File(library.h5f.create(os.fsencode(path), library.h5f.ACC_TRUNC, fapl=access)) as file:
        file["other"] = 1
    with h5py.File(path) as file:
        assert list(file) == (["other"] if stored else ["only"])
    assert stored or path.read_bytes() == before
    if not stored:
        library.h5f.create(os.fsencode(path), library.h5f.ACC_EXCL, fapl=access).close()
        library.h5f.create(os.fsencode(tmp_path / "new.h5"), fapl=access).close()
        assert not (tmp_path / "new.h5").exists()
    access.set_fapl_sec2()
    with library.File(library.h5f.create(os.fsencode(path), fapl=access)) as file:
        file["last"] = 1
    with h5py.File(path) as file:
        assert list(file) == ["last"]


def test_layouts_and_fill_values_of_lists_are_obeyed(tmp_path: pathlib.Path) -> None:
    calls = [
        ["set_chunk((2,))"], ["set_chunk((2,))", "set_layout(lib.h5d.CONTIGUOUS)"], ["set_chunk((2,))", "set_layout(lib.h5d.COMPACT)"],
        ["set_layout(lib.h5d.COMPACT)", "set_chunk((3,))"], ["set_layout(lib.h5d.COMPACT)"], ["set_fill_value(np.array(2**40))"],
        ["set_fill_value(np.array(-7.6))"], ["set_fill_value(np.array(1e30))", "set_fill_time(lib.h5d.FILL_TIME_ALLOC)"], [],
    ]  # fmt: skip
    found: list[Any] = []
    for lib in (h5, h5py):
        path = tmp_path / f"{lib.__name__}.h5"
        with lib.File(path, "w") as file:
            for number, each in enumerate(calls):
                creation = lib.h5p.create(lib.h5p.DATASET_CREATE)
                for call in each:
                    eval(f"creation.{call}", {"creation": creation, "lib": lib, "np": np})
                lib.h5d.create(file.id, b"d%d" % number, lib.h5t.NATIVE_INT32, lib.h5s.create_simple((4,)), creation)
        with h5py.File(path) as file:
            lists = [(each, each.id.get_create_plist()) for each in file.values()]
            found.append([(each.chunks, each.fillvalue, of.get_layout(), of.get_fill_time()) for each, of in lists])
    assert found[0] == found[1]


@pytest.mark.parametrize("time", [None, "alloc", "never", "ifset"])
def test_times_of_allocation_and_filling_are_those_of_h5py(tmp_path: pathlib.Path, time: str | None) -> None:
    found: list[Any] = []
    for lib in (h5, h5py):
        named: dict[str, dict[str, Any]] = {
            "contiguous": {"shape": (4,), "dtype": "i4"}, "filled": {"shape": (4,), "dtype": "i4", "fillvalue": 7},
            "chunked": {"shape": (4,), "dtype": "i4", "chunks": (2,)}, "growing": {"shape": (4,), "dtype": "i4", "maxshape": (None,)},
            "scalar": {"shape": (), "dtype": "i4"}, "null": {"data": lib.Empty("i4")},
            "external": {"shape": (4,), "dtype": "i4", "external": [(tmp_path / "e.bin", 0, 16)]},
            "texts": {"shape": (4,), "dtype": lib.string_dtype()}, "chunks of texts": {"shape": (4,), "dtype": lib.string_dtype(), "chunks": (2,)},
            "filled texts": {"shape": (4,), "dtype": lib.string_dtype(), "fillvalue": "abc"},
            "fields": {"shape": (4,), "dtype": [("text", "i4"), ("b", lib.string_dtype())]}, "plain": {"shape": (4,), "dtype": [("text", "i4")]},
        }  # fmt: skip
        path = tmp_path / f"{lib.__name__}.h5"
        refused = []
        with lib.File(path, "w") as file:
            for name, each in named.items():
                try:
                    file.create_dataset(name, **each, **({} if time is None else {"fill_time": time}))
                except ValueError as error:
                    refused.append((name, str(error)))
            layout = lib.VirtualLayout((4,), "i4")
            layout[:] = lib.VirtualSource("source.h5", "d", shape=(4,))
            file.create_virtual_dataset("virtual", layout)
            creation = lib.h5p.create(lib.h5p.DATASET_CREATE)
            creation.set_layout(lib.h5d.COMPACT)
            if time is not None:
                creation.set_fill_time({"alloc": 0, "never": 1, "ifset": 2}[time])
            lib.h5d.create(file.id, b"compact", lib.h5t.NATIVE_INT32, lib.h5s.create_simple((4,)), creation)
        with h5py.File(path) as file:
            lists = {name: each.id.get_create_plist() for name, each in file.items()}
            found.append(({name: (of.get_alloc_time(), of.get_fill_time()) for name, of in lists.items()}, refused))
    assert found[0] == found[1]


def test_flags_of_filters_are_stored(tmp_path: pathlib.Path) -> None:
    values = np.full(400, 7, "i4")  # the C library fails if a mandatory filter does not make a chunk smaller
    for code, parameters in ((1, (4,)), (2, ()), (3, ()), (32000, ()), (32015, (3,))):
        found: dict[str, list[int]] = {"h5": [], "h5py": []}
        for lib, word in ((h5, "h5"), (h5py, "h5py")):
            if word == "h5py" and not h5py.h5z.filter_avail(code):
                continue
            for flags in ((), (lib.h5z.FLAG_MANDATORY,), (lib.h5z.FLAG_OPTIONAL,)):
                creation = lib.h5p.create(lib.h5p.DATASET_CREATE)
                creation.set_chunk((200,))
                creation.set_filter(code, *flags, values=parameters)
                path = tmp_path / f"{word} {code} {flags}.h5"
                with lib.File(path, "w") as file:
                    lib.h5d.create(file.id, b"d", lib.h5t.NATIVE_INT32, lib.h5s.create_simple(values.shape), creation)
                    file["d"][...] = values
                with h5py.File(path) as file:
                    found[word].append(file["d"].id.get_create_plist().get_filter(0)[1])
                with h5.File(path) as file:
                    np.testing.assert_array_equal(file["d"][...], values)
        assert found["h5"] == [0, 0, 1] and found["h5py"] in ([], found["h5"]), (code, found)
    for lib in (h5, h5py):
        with pytest.raises(ValueError):
            lib.h5p.create(lib.h5p.DATASET_CREATE).set_filter(1, lib.h5z.FLAG_REVERSE, (4,))


def test_property_lists_are_obeyed(tmp_path: pathlib.Path) -> None:
    found = []
    for lib in (h5, h5py):
        order = lib.h5p.CRT_ORDER_TRACKED | lib.h5p.CRT_ORDER_INDEXED
        creation, access = lib.h5p.create(lib.h5p.FILE_CREATE), lib.h5p.create(lib.h5p.FILE_ACCESS)
        creation.set_link_creation_order(order)
        creation.set_userblock(512)
        access.set_libver_bounds(lib.h5f.LIBVER_V18, lib.h5f.LIBVER_V110)
        path = tmp_path / f"{lib.__name__}.h5"
        identifier = lib.h5f.create(str(path).encode(), fcpl=creation, fapl=access)
        group = lib.h5p.create(lib.h5p.GROUP_CREATE)
        group.set_link_creation_order(order)
        for name in (b"z", b"a"):
            lib.h5g.create(lib.h5g.create(identifier, name, gcpl=group), b"below")
        identifier.close()
        with h5py.File(path) as file:
            orders = [each.id.get_create_plist().get_link_creation_order() for each in (file, file["z"])]
            found.append((list(file), file.userblock_size, orders))
    assert found[0] == found[1]


def test_times_and_orders_of_objects_are_obeyed(tmp_path: pathlib.Path) -> None:
    found = []
    for lib in (h5, h5py):
        path = tmp_path / f"{lib.__name__}.h5"
        with lib.File(path, "w") as file:
            for name, times, order in ((b"timed", True, 0), (b"ordered", False, 1), (b"plain", False, 0)):
                creation = lib.h5p.create(lib.h5p.DATASET_CREATE)
                creation.set_obj_track_times(times)
                creation.set_attr_creation_order(order)
                assert (creation.get_obj_track_times(), creation.get_attr_creation_order()) == (times, order)
                lib.h5d.create(file.id, name, lib.h5t.NATIVE_INT32, lib.h5s.create_simple((3,)), creation)
        with h5py.File(path) as file:
            creations = [each.id.get_create_plist() for each in file.values()]
            found.append([(each.get_obj_track_times(), each.get_attr_creation_order() & 1) for each in creations])
        kinds = (lib.h5p.OBJECT_CREATE, lib.h5p.FILE_ACCESS, lib.h5p.LINK_ACCESS)
        creation, access, follow = map(lib.h5p.create, kinds)
        assert creation.get_attr_phase_change() == (8, 6) and access.get_alignment() == (1, 1)
        creation.set_attr_phase_change(0, 0)
        access.set_alignment(10 << 10, 1 << 20)
        assert creation.get_attr_phase_change() == (0, 0) and access.get_alignment() == (10 << 10, 1 << 20)
        for wrong in ((65536, 6), (5, 6)):
            with pytest.raises(ValueError):
                creation.set_attr_phase_change(*wrong)
        with pytest.raises(ValueError):
            access.set_alignment(0, 0)
        assert (follow.get_nlinks(), follow.get_elink_prefix(), follow.get_elink_acc_flags()) == (16, b"", 0xFFFF)
        with lib.File(path) as file:
            assert lib.h5o.open(file.id, b"timed", follow) == file["timed"].id
    assert found[0] == found[1]


def test_property_lists_that_cannot_be_obeyed_are_refused(tmp_path: pathlib.Path) -> None:
    follow = h5.h5p.create(h5.h5p.LINK_ACCESS)
    follow.set_elink_prefix(b"elsewhere")
    with h5.File(tmp_path / "group.h5", "w") as file, pytest.raises(NotImplementedError):
        h5.h5o.open(file.id, b"/", follow)


def test_times_of_groups_are_stored_and_renewed(tmp_path: pathlib.Path) -> None:
    before, found = int(time.time()), []
    for lib in (h5, h5py):
        path = tmp_path / f"{lib.__name__}.h5"
        root, group = lib.h5p.create(lib.h5p.FILE_CREATE), lib.h5p.create(lib.h5p.GROUP_CREATE)
        access = lib.h5p.create(lib.h5p.FILE_ACCESS)
        access.set_libver_bounds(lib.h5f.LIBVER_LATEST, lib.h5f.LIBVER_LATEST)
        for properties in (root, group):
            properties.set_obj_track_times(True)
        with lib.File(lib.h5f.create(os.fsencode(path), fcpl=root, fapl=access)) as file:
            lib.h5g.create(file.id, b"timed", gcpl=group)
            file.create_group("also", track_times=True)
            file.create_group("on/the/way", track_times=True)
            file.create_group("plain")
        with h5py.File(path) as file:
            # Groups on the way have no times here, since nobody asked for them.
            names = ["/", "timed", "also", "plain", "on/the/way"]
            infos = {name: h5py.h5o.get_info(file[name].id) for name in names}
            found.append({name: (info.mtime > 0, info.mtime == info.btime) for name, info in infos.items()})
            assert all(info.mtime == 0 or before <= info.mtime <= time.time() for info in infos.values())
        while int(time.time()) == infos["timed"].btime:
            time.sleep(0.05)
        with lib.File(path, "r+") as file:
            file["timed/link"] = lib.SoftLink("/")
            file["also"].attrs["a"] = 1
            file["plain"].attrs["a"] = 1
        with h5py.File(path) as file:
            for name in names:
                info, old = h5py.h5o.get_info(file[name].id), infos[name]
                assert (info.ctime > old.ctime) == (name in ("timed", "also")), name
                assert (info.mtime, info.btime) == (old.mtime, old.btime), name
        for make in (lambda: file.create_group("x", track_times=3), lambda: lib.File(tmp_path / "x.h5", "w", track_times=3)):
            with lib.File(path, "r+") as file, pytest.raises(TypeError, match="track_times must be either True"):
                make()
    assert found[0] == found[1] and sum(timed for timed, _ in found[0].values()) == 4, found


@pytest.mark.parametrize("library", [h5py, h5], ids=["theirs", "ours"])
def test_attributes_keep_their_committed_types_when_they_are_modified(tmp_path: pathlib.Path, library: Any) -> None:
    path = tmp_path / "data.h5"
    with library.File(path, "w") as file:
        file["types/t"] = np.dtype(">f8")
        for name in ("modified", "scalar", "written"):
            shape = () if name == "scalar" else (2,)
            file.attrs.create(name, np.ones(shape), shape=shape, dtype=file["types/t"])
        file.attrs.modify("modified", np.array([3.0, 4.0]))
    with library.File(path, "r+") as file:
        file.attrs.modify("modified", np.array([5.0, 6.0]))
        file.attrs.modify("scalar", 7)
        file.attrs.get_id("written").write(np.array([8.0, 9.0], ">f8"))
    with h5py.File(path) as file:
        assert [(name, value.tolist()) for name, value in file.attrs.items()] == [("modified", [5, 6]), ("scalar", 7), ("written", [8, 9])]
        assert all(file.attrs.get_id(name).get_type().committed() for name in file.attrs)
        assert h5py.h5o.get_info(file["types/t"].id).rc == 4
