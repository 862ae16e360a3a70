"""What callers can ask of single objects and files, beside h5py: regions, orders, times, locks, space, links to other files."""

from __future__ import annotations

import os
import pathlib
import pickle
import subprocess
import sys
import time
from typing import Any

import h5py
import numpy as np
import pytest

from sciformats import h5
from sciformats.errors import Conflict, NotSupported

KEYS: list[Any] = [
    np.s_[2:4, 1:3],
    np.s_[1:6:2, 0:5:2],
    np.s_[3],
    np.s_[..., 4],
    np.s_[[0, 2, 5], 1:3],
    np.s_[:0],
    np.s_[...],
    np.arange(30).reshape(6, 5) % 7 == 3,
]


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
@pytest.mark.parametrize("writer, reader", [(h5, h5py), (h5py, h5), (h5, h5)], ids=["ours", "theirs", "both"])
def test_references_to_regions(tmp_path: pathlib.Path, writer: Any, reader: Any, key: Any) -> None:
    values = np.arange(30).reshape(6, 5)
    path = tmp_path / "regions.h5"
    with writer.File(path, "w") as file:
        data = file.create_dataset("with space/u", data=values)
        made = data.regionref[key]
        assert np.array_equal(np.sort(np.ravel(data[made])), np.sort(np.ravel(values[key])))
        file.create_dataset("regions", data=[made, data.regionref[0, 0]], dtype=writer.regionref_dtype)
        file.attrs["region"] = made
        file.create_dataset("unset", (1,), writer.regionref_dtype)
    with reader.File(path) as file, h5py.File(path) as theirs:
        data, expected = file["with space/u"], theirs["with space/u"]
        for found, reference in [
            (file["regions"][0], theirs["regions"][0]),
            (file["regions"][1], theirs["regions"][1]),
            (file.attrs["region"], theirs.attrs["region"]),
        ]:
            assert isinstance(found, reader.RegionReference) and found
            assert np.array_equal(data[found], expected[reference])
            assert data.regionref.selection(found) == expected.regionref.selection(reference)
            assert data.regionref.shape(found) == (6, 5)
            assert file[found].name == "/with space/u"
        assert not file["unset"][0]


def test_points_keep_their_order(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "points.h5"
    with h5py.File(path, "w") as file:
        data = file.create_dataset("u", data=np.arange(12).reshape(3, 4))
        space = h5py.h5s.create_simple((3, 4))
        space.select_elements(np.array([[2, 1], [0, 3], [1, 0]], "u8"))
        reference = h5py.h5r.create(data.id, b".", h5py.h5r.DATASET_REGION, space)
        file.create_dataset("points", data=reference, dtype=h5py.regionref_dtype)
    with h5.File(path, "a") as file:
        found = file["points"][()]
        assert file["u"][found].tolist() == [9, 3, 4]
        file.create_dataset("copy", data=found, dtype=h5.regionref_dtype)
    with h5py.File(path) as file:
        assert file["u"][file["copy"][()]].tolist() == [9, 3, 4]


def test_regions_outside_of_the_dataset_are_refused(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "u.h5", "w") as file:
        file["u"], file["v"] = np.arange(12), np.arange(3)
        made = file["u"].regionref[5:9]
        with pytest.raises(ValueError, match="outside"):
            file["v"][made]
        with pytest.raises(ValueError, match="blocks"):
            file.create_dataset("w", (1 << 22,), "i1").regionref[::2]
        references = file.create_dataset("references", (1,), h5.ref_dtype)
        with pytest.raises(TypeError, match="convert"):
            references[0] = made


def test_single_objects_keep_the_order_of_creation(tmp_path: pathlib.Path) -> None:
    path, names = tmp_path / "order.h5", ["c", "a", "b"]
    with h5.File(path, "w") as file:
        kept, sorted_ = file.create_group("on/the/way", track_order=True), file.create_group("sorted")
        data = file.create_dataset("data", data=1, track_order=True)
        for name in names:
            kept[name], sorted_[name] = 1, 1
            data.attrs[name] = kept.attrs[name] = sorted_.attrs[name] = 1
    for module in (h5, h5py):
        with module.File(path) as file:
            assert list(file["on/the/way"]) == list(file["data"].attrs) == list(file["on/the/way"].attrs) == names
            assert list(file["sorted"]) == list(file["sorted"].attrs) == sorted(names)
            assert file["on"].id.get_create_plist().get_link_creation_order() == 0


@pytest.mark.parametrize("options", [{}, {"track_order": True}, {"libver": "latest"}])
def test_times_are_stored_if_they_are_asked_for(tmp_path: pathlib.Path, options: dict[str, Any]) -> None:
    path, before = tmp_path / "times.h5", int(time.time())
    with h5.File(path, "w", **options) as file:
        timed = file.create_dataset("timed", data=[1, 2], track_times=True)
        file.create_dataset_like("like", timed)
        file["plain"] = 1
        assert h5.h5g.get_objinfo(timed.id).nlink == 1
    for module in (h5, h5py):
        with module.File(path) as file:
            times = {name: module.h5g.get_objinfo(file[name].id).mtime for name in file}
            assert times["plain"] == 0 and before <= times["timed"] <= times["like"] <= time.time()
            assert file["timed"].id.get_create_plist().get_obj_track_times()


def test_locks(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "locked.h5"
    h5.File(path, "w").close()
    writes = "import sys, h5py; h5py.File(sys.argv[1], 'r+', locking=True).close()"

    def other() -> int:
        return subprocess.run([sys.executable, "-c", writes, path], capture_output=True, check=False).returncode

    with h5.File(path, "r", locking=True) as file:
        assert file.id.get_access_plist().get_file_locking() == (1, 0)
        assert other() != 0
    assert other() == 0
    with h5.File(path, "r") as file:
        assert other() == 0
    with h5.File(path, "r+", locking=False):
        assert other() == 0
    with h5py.File(path, "r+", locking=True):
        reads = "import sys; from sciformats import h5; h5.File(sys.argv[1], locking=sys.argv[2])"
        run = [sys.executable, "-c", reads, path]
        assert b"Conflict" in subprocess.run([*run, "true"], capture_output=True, check=False).stderr
        assert subprocess.run([*run, "false"], capture_output=True, check=False).returncode == 0
    with h5.File(path, "r+", locking=True), pytest.raises(Conflict):
        h5.File(path, "r", locking=False)
    with pytest.raises(ValueError, match="locking"):
        h5.File(path, locking="perhaps")


def test_strategies_of_space(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "space.h5"
    with h5.File(path, "w", fs_strategy="page", fs_persist=True, fs_threshold=100, fs_page_size=1024) as file:
        file["u"] = np.arange(1000)
        assert file.id.get_create_plist().get_file_space_strategy() == (1, True, 100)
    with h5.File(path, "a") as file:
        del file["u"]
        file["v"] = np.arange(10)
    with h5py.File(path) as file:
        assert file.id.get_create_plist().get_file_space_strategy() == (1, True, 100)
        assert file.id.get_create_plist().get_file_space_page_size() == 1024
        assert file["v"][()].tolist() == list(range(10))
    with pytest.raises(ValueError, match="existing"):
        h5.File(path, "a", fs_strategy="page")
    with pytest.raises(ValueError, match="strategy"):
        h5.File(tmp_path / "other.h5", "w", fs_strategy="boxes")


def test_files_of_external_links_are_changed(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "far.h5", "w") as file:
        file["group/u"] = [1, 2]
    with h5.File(tmp_path / "near.h5", "w") as file:
        file["link"] = h5.ExternalLink("far.h5", "/group")
        member = file["link/u"]
        assert member.file.filename.endswith("far.h5") and member.file.mode == "r+" and member.name == "/group/u"
        member[0] = 5
        file["link"].attrs["seen"] = 1
        # As in h5py, a file that is open for changes is shared by all who open it.
        assert file.get("link", elink_mode="r").file.mode == "r+"
        # As in h5py, the other file stays open as long as one of its objects is used.
        del member
    with h5py.File(tmp_path / "near.h5") as file:
        assert file["link/u"][()].tolist() == [5, 2] and file["link"].attrs["seen"] == 1
    with h5.File(tmp_path / "near.h5") as file:
        assert file["link/u"].file.mode == "r" and file["link/u"].name == "/group/u"
        with pytest.raises(ValueError, match="reading"):
            file.get("link", elink_mode="r+")
    with h5.File(tmp_path / "near.h5", external="never") as file, pytest.raises(PermissionError):
        file["link/u"]


def test_virtual_datasets_of_lists(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "source.h5", "w") as file:
        file["u"] = np.arange(40).reshape(4, 10)
    indices, rows = [1, 2, 7, 9], [0, 3]
    layout = h5.VirtualLayout((20, 4), "i8", maxshape=(None, 4))
    source = h5.VirtualSource(str(tmp_path / "source.h5"), "u", (4, 10))
    layout[[2, 3, 5, 11], 1] = source[2, indices]
    layout[12:14, :] = source[rows, 3:7]
    with h5.File(tmp_path / "virtual.h5", "w", libver="latest") as file:
        file.create_virtual_dataset("v", layout, fillvalue=-1)
        with pytest.raises(NotImplementedError):
            layout[[0, 1, 5, 6], 2:4] = source[[0, 1], 0:4]
    expected = np.full((20, 4), -1)
    values = np.arange(40).reshape(4, 10)
    expected[[2, 3, 5, 11], 1] = values[2, indices]
    expected[12:14] = values[rows, 3:7]
    for module in (h5, h5py):
        with module.File(tmp_path / "virtual.h5") as file:
            assert np.array_equal(file["v"][()], expected)
            assert file["v"].maxshape == (None, 4)


def test_parts_of_virtual_datasets_without_an_end_are_refused() -> None:
    layout, source = h5.VirtualLayout((4,), "i4", maxshape=(None,)), h5.VirtualSource("s.h5", "d", (4,), maxshape=(None,))
    with pytest.raises(NotImplementedError, match="UNLIMITED"):
        source[0 : h5.h5s.UNLIMITED]
    with pytest.raises(NotImplementedError, match="UNLIMITED"):
        layout[0 : h5.UNLIMITED] = source


def test_files_from_images(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "image.h5", "w") as file:
        file["u"] = [1, 2, 3]
    image = (tmp_path / "image.h5").read_bytes()
    with h5.File(h5.h5f.open_file_image(image)) as file:
        assert file["u"][()].tolist() == [1, 2, 3]
    access = h5.h5p.create(h5.h5p.FILE_ACCESS)
    access.set_fapl_core(backing_store=False)
    access.set_file_image(image)
    with h5.File(h5.h5f.open(b"no such file", h5.h5f.ACC_RDWR, fapl=access)) as file:
        file["v"] = 1
        assert sorted(file) == ["u", "v"]
    assert (tmp_path / "image.h5").read_bytes() == image


@pytest.mark.parametrize("library", [h5py, h5], ids=["theirs", "ours"])
def test_images_are_stored_where_their_changes_are(tmp_path: pathlib.Path, library: Any) -> None:
    with h5py.File(tmp_path / "image.h5", "w") as file:
        file["u"] = [1, 2, 3]
    image = (tmp_path / "image.h5").read_bytes()
    for stored in (True, False):
        access = library.h5p.create(library.h5p.FILE_ACCESS)
        access.set_fapl_core(backing_store=stored)
        access.set_file_image(image)
        path = tmp_path / f"{stored}.h5"
        with library.File(library.h5f.open(os.fsencode(path), library.h5f.ACC_RDWR, fapl=access)) as file:
            file["v"] = 1
        assert path.exists() == stored
        with pytest.raises(OSError, match="exists"):
            library.h5f.open(os.fsencode(tmp_path / "image.h5"), library.h5f.ACC_RDWR, fapl=access)
    with h5py.File(tmp_path / "True.h5") as file:
        assert sorted(file) == ["u", "v"]
    alone = library.h5p.create(library.h5p.FILE_ACCESS)
    alone.set_file_image(image)
    with pytest.raises(OSError, match="not supported"):
        library.h5f.open(os.fsencode(tmp_path / "image.h5"), library.h5f.ACC_RDONLY, fapl=alone)
    assert (tmp_path / "image.h5").read_bytes() == image


def test_files_that_are_not_closed_are_written(tmp_path: pathlib.Path) -> None:
    def forgetful() -> None:
        h5.File(tmp_path / "dropped.h5", "w")["u"] = 1

    forgetful()
    program = """if True:
        import os, sys
        from sciformats import h5
        file = h5.File(sys.argv[1], "w")
        file["u"] = 1
        if os.fork() == 0:
            sys.exit()
        os.wait()
        file["v"] = 2
    """
    subprocess.run([sys.executable, "-c", program, tmp_path / "left.h5"], check=True)
    with h5py.File(tmp_path / "dropped.h5") as one, h5py.File(tmp_path / "left.h5") as other:
        assert list(one) == ["u"] and list(other) == ["u", "v"]


def test_a_file_can_be_opened_for_writing_twice(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "twice.h5"
    first = h5.File(path, "w")
    first["u"] = [1, 2]
    second, third = h5.File(path, "r+"), h5.File(path, "a")
    member, other = first["u"], second["u"]
    assert member == other and other.file.mode == "r+"
    other[0] = 5
    assert member[()].tolist() == [5, 2]
    first.close()
    assert not first and not member and second and other
    with pytest.raises(ValueError, match="closed"):
        member[0]
    other[1] = 6
    third["v"] = 1
    second.close()
    assert not other and list(third) == ["u", "v"]
    with h5py.File(path, locking=False) as file:
        assert file["u"][()].tolist() == [5, 6]
    third["w"] = 1
    third.close()
    with h5py.File(path, "r+") as file:
        assert list(file) == ["u", "v", "w"]


def test_a_file_that_is_open_is_not_replaced(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    with h5.File(path, "w") as file:
        file["a"] = [1, 2]
        with pytest.raises(OSError, match="already open"):
            h5.File(path, "w")
    with h5.File(path) as file:
        again = pickle.loads(pickle.dumps(file["a"]))
        with pytest.raises(OSError, match="already open"):
            h5.File(path, "w")
        assert file["a"][:].tolist() == again[:].tolist() == [1, 2]
    with pytest.raises(OSError, match="already open"):
        h5.File(path, "w")
    again.file.close()
    h5.File(path, "w").close()


@pytest.mark.parametrize("library", [h5, h5py], ids=["ours", "theirs"])
def test_creating_beyond_external_links(tmp_path: pathlib.Path, library: Any) -> None:
    with library.File(tmp_path / "b.h5", "w") as file:
        file.create_group("top/in")
    with library.File(tmp_path / "a.h5", "w") as file:
        file["x"] = [1]
        file["ext"] = library.ExternalLink("b.h5", "/top")
        file["way"] = library.SoftLink("/ext")
        file["none"] = library.ExternalLink("b.h5", "/nowhere")
        assert file.create_group("ext/deep/er").name == "/top/deep/er"
        assert file.create_dataset("ext/data", data=[1, 2]).file.filename.endswith("b.h5")
        file.create_dataset("way/more", data=[3])
        file["ext/soft"] = library.SoftLink("/top/data")
        file["ext/hard"] = file["ext/data"]
        file.move("ext/in", "ext/out")
        assert file.require_group("ext/out").name == "/top/out"
        for name, value in [("ext/new", 1), ("ext/hard2", file["x"]), ("hard", file["ext/data"]), ("none/new", 1)]:
            with pytest.raises(OSError):
                file[name] = value
        with pytest.raises(ValueError):
            file.move("x", "ext/x")
        with pytest.raises(ValueError):
            file.create_dataset("ext/data", data=[1])
        assert isinstance(file.get("ext", getlink=True), library.ExternalLink)
    with h5py.File(tmp_path / "b.h5") as file:
        assert sorted(file["top"]) == ["data", "deep", "hard", "more", "out", "soft"]
        assert file["top/hard"][:].tolist() == file["top/soft"][:].tolist() == [1, 2]


@pytest.mark.parametrize("library", [h5, h5py], ids=["ours", "theirs"])
def test_views_of_datasets_without_elements(tmp_path: pathlib.Path, library: Any) -> None:
    with library.File(tmp_path / "a.h5", "w") as file:
        file["none"] = library.Empty("f8")
        found = file["none"].astype("i4")[...]
        assert isinstance(found, library.Empty) and found.dtype == np.dtype("f8")


@pytest.mark.parametrize("library", [h5, h5py], ids=["ours", "theirs"])
def test_scales_have_no_scales(tmp_path: pathlib.Path, library: Any) -> None:
    with library.File(tmp_path / "a.h5", "w") as file:
        for name in "abcd":
            file[name] = [1.0, 2.0]
        file["a"].make_scale("a")
        file["b"].make_scale("b")
        file["c"].dims[0].attach_scale(file["d"])
        for of, scale in [("a", "a"), ("b", "a"), ("d", "a"), ("d", "c")]:
            with pytest.raises(RuntimeError):
                file[of].dims[0].attach_scale(file[scale])
        assert "NAME" not in file["d"].attrs and "DIMENSION_LIST" not in file["b"].attrs


@pytest.mark.parametrize("library", [h5py, h5])
def test_external_files_get_the_elements_of_new_datasets(tmp_path: pathlib.Path, library: Any) -> None:
    values = np.arange(10, dtype="<i4")
    with library.File(tmp_path / "main.h5", "w") as file:
        for number, external in enumerate((str(tmp_path / "0.bin"), [(tmp_path / "1.bin", 4, 20), (tmp_path / "2.bin", 0, 20)])):
            dataset = file.create_dataset(f"d{number}", data=values, external=external)
            np.testing.assert_array_equal(dataset[...], values)
        assert (tmp_path / "0.bin").read_bytes() == values.tobytes()
        assert (tmp_path / "1.bin").read_bytes()[4:] + (tmp_path / "2.bin").read_bytes() == values.tobytes()
        for more in ({"data": values}, {"shape": (10,), "dtype": "i4"}, {"shape": (5,), "dtype": "i4", "maxshape": (10,)}):
            with pytest.raises(ValueError, match="exceeds external storage"):
                file.create_dataset("small", external=[(tmp_path / "small.bin", 0, 39)], **more)
        with pytest.raises(ValueError, match="unlimited"):
            file.create_dataset("small", (5,), "i4", maxshape=(None,), external=[(tmp_path / "small.bin", 0, 39)])
        endless = [(tmp_path / "0.bin", 0, h5py.h5f.UNLIMITED), (tmp_path / "1.bin", 0, 40)]
        with pytest.raises(ValueError, match="Previous file size is unlimited"):
            file.create_dataset("behind", data=values, external=endless)
        with pytest.raises(ValueError, match="external storage not supported with chunked layout"):
            file.create_dataset("chunks", data=values, chunks=(5,), external=endless[:1])
        with pytest.raises(ValueError, match="Negative external file offset"):
            file.create_dataset("negative", data=values, external=[(tmp_path / "0.bin", -1, 40)])
        assert list(file) == ["d0", "d1"]
    with h5py.File(tmp_path / "main.h5") as file:
        assert list(file) == ["d0", "d1"]
        np.testing.assert_array_equal(file["d1"][...], values)


def test_datasets_whose_elements_cannot_be_written_are_not_left_behind(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "main.h5", "w") as file:
        file["kept"] = 1
        filtered = {"chunks": (2,), "compression": 29999, "allow_unknown_filter": True}
        for name in ("x", "a/b/x", "external"):
            more: dict[str, Any] = filtered
            if name == "external":
                (tmp_path / "folder.bin").mkdir()
                more = {"external": [(tmp_path / "folder.bin", 0, 8)]}
            with pytest.raises((NotSupported, OSError)):
                file.create_dataset(name, data=[1, 2], dtype="i4", **more)
            assert name not in file
        file.create_dataset("x", data=[3, 4])
    with h5py.File(tmp_path / "main.h5") as file:
        assert list(file) == ["a", "kept", "x"] and list(file["a/b"]) == []
        assert file["x"][...].tolist() == [3, 4]


def test_a_refreshed_dataset_shows_what_another_program_writes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "run.h5"
    with h5py.File(path, "w", libver="latest") as writer:
        rows = writer.create_dataset("rows", data=np.arange(6.0).reshape(3, 2), maxshape=(None, 2), chunks=(4, 2))
        writer["join"] = h5py.SoftLink("/rows")
        writer.swmr_mode = True
        with h5.File(path, "r", swmr=True) as reader:
            seen, joined = reader["rows"], reader["join"]
            assert seen[()].tolist() == [[0, 1], [2, 3], [4, 5]] and seen.id.get_num_chunks() == 1
            rows.resize((9, 2))
            rows[3:] = 7
            rows.flush()
            seen.refresh()
            joined.id.refresh()
            for each, name in ((seen, "/rows"), (joined, "/join")):
                assert each.shape == (9, 2) and each[-1].tolist() == [7, 7] and each[2].tolist() == [4, 5]
                assert each.id.get_num_chunks() == 3 and each.name == name and each.file == reader
        with pytest.raises(ValueError):
            seen.refresh()
    image = h5.File.in_memory(path.read_bytes())
    image["rows"].refresh()
    assert image["rows"].shape == (9, 2)
