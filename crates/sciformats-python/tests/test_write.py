"""Files that `sciformats.h5` writes are read by h5py, and changes are seen at once."""

from __future__ import annotations

import pathlib
import threading
import zlib
from typing import Any

import h5py
import numpy as np
import pytest

from sciformats import h5


def fill(module: Any, path: pathlib.Path) -> None:
    """Write the same file with either module."""
    with module.File(path, "w") as file:
        file.attrs["title"] = "a run"
        file.attrs["numbers"] = np.arange(3, dtype=">i2")
        file.attrs["nothing"] = module.Empty("f4")
        data = np.arange(600.0).reshape(20, 30)
        packed = file.create_dataset("a/packed", data=data, chunks=(7, 8), compression="gzip", shuffle=True, fletcher32=True)
        packed[3:5, ::2] = -1
        packed[packed[()] > 500] = 0
        packed.attrs["units"] = "m/s"
        grown = file.create_dataset("grown", (2, 3), "i4", maxshape=(None, 3), fillvalue=7)
        grown.resize((4, 3))
        grown[3] = [1, 2, 3]
        file["text"] = ["Vega", "\u00c5gren"]
        file["fixed"] = np.array([b"ab", b"c"])
        file["flags"] = np.array([True, False])
        file["complex"] = np.array([1 + 2j])
        file["records"] = np.array([(1, 2.5)], dtype=[("id", "<i4"), ("mass", "<f8")])
        ragged = file.create_dataset("ragged", (2,), module.vlen_dtype("f8"))
        ragged[0] = [1, 2, 3]
        file["scalar"] = 3.5
        file.create_dataset("null", dtype="i4")
        file.create_dataset("reference", data=packed.ref, dtype=module.ref_dtype)
        file["soft"] = module.SoftLink("/a/packed")
        file["hard"] = packed
        file["x"] = np.arange(20)
        file["x"].make_scale("x")
        packed.dims[0].attach_scale(file["x"])
        packed.dims[0].label = "row"
        file["type"] = np.dtype("f4")
        file.copy("a", "b")
        file.move("b/packed", "b/moved")
        del file["fixed"]


def content(path: pathlib.Path) -> dict[str, Any]:
    """Return what h5py says about a file."""
    found: dict[str, Any] = {}
    with h5py.File(path) as file:

        def visit(name: str, member: Any) -> None:
            found[name] = sorted(member.attrs)
            if isinstance(member, h5py.Dataset):
                value = member[()]
                if isinstance(value, h5py.Reference):
                    value = file[value] == file["a/packed"]
                found[name] += [member.dtype, member.shape, member.maxshape, member.compression, member.shuffle]
                found[name] += [member.fletcher32, repr(value if isinstance(value, h5py.Empty) else np.asarray(value).tolist())]
                found[name] += [[dim.label for dim in member.dims], [dim.keys() for dim in member.dims]]

        file.visititems(visit)
        found["links"] = [(name, type(file.get(name, getlink=True))) for name in file]
        found["attributes"] = [(name, repr(file.attrs[name])) for name in file.attrs]
    return found


def test_h5py_reads_what_is_written(tmp_path: pathlib.Path) -> None:
    fill(h5, tmp_path / "ours.h5")
    fill(h5py, tmp_path / "theirs.h5")
    ours, theirs = content(tmp_path / "ours.h5"), content(tmp_path / "theirs.h5")
    assert ours.keys() == theirs.keys()
    for name in theirs:
        assert repr(ours[name]) == repr(theirs[name]), name


def test_files_of_h5py_are_changed(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "theirs.h5"
    fill(h5py, path)
    with h5.File(path, "r+") as file:
        file["a/packed"][0, 0] = 99
        file["new/group/data"] = np.arange(4)
        file.attrs["title"] = "changed"
        del file["ragged"]
        assert file["a/packed"][0, 0] == 99, "a change is seen before the file is closed"
    with h5py.File(path) as file:
        assert file["a/packed"][0, 0] == 99 and file.attrs["title"] == "changed" and "ragged" not in file
        assert list(file["new/group/data"]) == [0, 1, 2, 3]


def test_modes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "new.h5"
    with pytest.raises(FileNotFoundError):
        h5.File(path, "r+")
    h5.File(path, "x").close()
    with pytest.raises(FileExistsError):
        h5.File(path, "w-")
    with h5.File(path, "a") as file:
        file["x"] = 1
    with h5.File(path) as file, pytest.raises(ValueError):
        file["y"] = 1
    with pytest.raises(ValueError):
        file["x"]
    with h5.File(path, "w") as file:
        assert len(file) == 0


def test_threads_write_and_read_one_file(tmp_path: pathlib.Path) -> None:
    failures: list[BaseException] = []
    with h5.File(tmp_path / "many.h5", "w") as file:

        def work(number: int) -> None:
            try:
                for each in range(10):
                    made = file.create_dataset(f"{number}/{each}", data=np.full(50, each), chunks=(7,), compression="gzip")
                    assert (made[()] == each).all()
                    made[10:20] = number
                    assert (made[10:20] == number).all()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures
    with h5py.File(tmp_path / "many.h5") as file:
        assert all((file[f"{n}/{e}"][:10] == e).all() for n in range(8) for e in range(10))


def test_virtual_datasets(tmp_path: pathlib.Path) -> None:
    for number in range(3):
        with h5.File(tmp_path / f"{number}.h5", "w") as file:
            file["data"] = np.full(4, number)
    layout = h5.VirtualLayout((3, 4), "i8")
    for number in range(3):
        layout[number] = h5.VirtualSource(str(tmp_path / f"{number}.h5"), "data", (4,))
    with h5.File(tmp_path / "all.h5", "w") as file:
        file.create_virtual_dataset("all", layout, fillvalue=-1)
    with h5py.File(tmp_path / "all.h5") as file:
        assert file["all"][:, 0].tolist() == [0, 1, 2] and len(file["all"].virtual_sources()) == 3


def test_files_in_memory(tmp_path: pathlib.Path) -> None:
    import io

    target = io.BytesIO()
    with h5.File(target, "w") as file:
        file["x"] = np.arange(3)
    with h5py.File(target) as file:
        assert file["x"][:].tolist() == [0, 1, 2]
    with h5.File(tmp_path / "nowhere.h5", "w", driver="core", backing_store=False) as file:
        file["x"] = 1
    assert not (tmp_path / "nowhere.h5").exists()


class Zstd(h5.filters.FilterRefBase):
    """A filter as another package defines it."""

    filter_id = 32015

    def __init__(self, level: int) -> None:
        self.filter_options = (level,)


def test_filters_that_are_objects(tmp_path: pathlib.Path) -> None:
    path, data = tmp_path / "packed.h5", np.arange(1000).reshape(10, 100) // 50
    with h5.File(path, "w") as file:
        file.create_dataset("zstd", data=data, chunks=(4, 100), compression=Zstd(7))
        file.create_dataset("unpacked", data=data, chunks=(4, 100), **Zstd(7))
        file.create_dataset("gzip", data=data, chunks=(4, 100), compression=h5.filters.Gzip(9))
    with h5py.File(path) as file:
        for name, number, values in (("zstd", 32015, (7,)), ("unpacked", 32015, (7,)), ("gzip", 1, (9,))):
            assert file[name].id.get_create_plist().get_filter(0)[::2] == (number, values)
        np.testing.assert_array_equal(file["gzip"], data)
    with h5.File(path) as file:
        np.testing.assert_array_equal(file["zstd"], data)
        assert file["zstd"].id.get_storage_size() < data.nbytes // 2
    assert Zstd(7) == Zstd(7) and len({Zstd(7), Zstd(7), Zstd(8)}) == 2
    with pytest.raises(KeyError):
        Zstd(7)["chunks"]


def test_chunks_past_the_filters(tmp_path: pathlib.Path) -> None:
    path, data = tmp_path / "chunks.h5", np.arange(70, dtype="<i4").reshape(10, 7)

    def pressed(rows: np.ndarray[Any, Any]) -> bytes:
        return zlib.compress(rows.astype("<i4").tobytes(), 9)

    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("grows", data=data, chunks=(5, 7), maxshape=(None, 7), compression="gzip")
        file.create_dataset("plain", data=data, chunks=(5, 7))
    with h5.File(path, "r+") as file:
        grows, plain = file["grows"], file["plain"]
        assert grows[9, 6] == 69
        grows[0] = -1
        grows.id.write_direct_chunk((0, 0), pressed(data[:5] + 100))  # in place of what was just written
        grows[1] = -2
        grows.resize((15, 7))
        grows.id.write_direct_chunk((10, 0), (data[:5] + 200).tobytes(), filter_mask=1)
        np.testing.assert_array_equal(grows[10:], data[:5] + 200)
        plain.id.write_direct_chunk((5, 0), data[:5])
        with pytest.raises(ValueError):
            plain.id.write_direct_chunk((5, 0), b"short")
        for offsets in ((3, 0), (0,), (10, 0), (-5, 0)):
            with pytest.raises(ValueError):
                plain.id.write_direct_chunk(offsets, data[:5])
        new = file.create_dataset("new", (10, 7), "<i4", chunks=(5, 7), compression="gzip")
        assert new[0, 0] == 0
        new.id.write_direct_chunk((5, 0), pressed(data[5:]))
        np.testing.assert_array_equal(new[5:], data[5:])
        out = np.zeros(70, "<i4")
        mask, found = plain.id.read_direct_chunk((5, 0), out=out)
        assert (mask, len(found)) == (0, 140) and out[:35].tobytes() == data[:5].tobytes()
        for refused, error in ((bytes(140), BufferError), (bytearray(139), ValueError), (out[::2], ValueError)):
            with pytest.raises(error):
                plain.id.read_direct_chunk((5, 0), out=refused)
    expected = np.concatenate([data[:5] + 100, data[5:], data[:5] + 200])
    expected[1] = -2
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["grows"], expected)
        assert file["grows"].id.read_direct_chunk((10, 0)) == (1, (data[:5] + 200).tobytes())
        np.testing.assert_array_equal(file["plain"], np.concatenate([data[:5], data[:5]]))
        np.testing.assert_array_equal(file["new"], np.concatenate([data[:5] * 0, data[5:]]))


def test_small_writes_and_reads_in_turn(tmp_path: pathlib.Path) -> None:
    """Reads show pending changes of elements, however they are stored, and whatever changed since the file was last laid out."""
    path = tmp_path / "turns.h5"
    with h5.File(path, "w") as file:
        kinds = {
            "chunks": file.create_dataset("chunks", (40, 10), "i4", chunks=(7, 4), compression="gzip", fillvalue=-1),
            "grows": file.create_dataset("grows", (40, 10), "i4", chunks=(16, 16), maxshape=(None, None), fillvalue=-1),
            "plain": file.create_dataset("plain", (40, 10), "i4", fillvalue=-1),
            "turned": file.create_dataset("turned", (40, 10), ">i4", fillvalue=-1),
            "new": file.create_dataset("new", data=np.full((40, 10), -1, "i4")),
        }
        model = np.full((40, 10), -1, "i4")
        random = np.random.default_rng(5)
        for step in range(300):
            rows, columns = sorted(random.integers(0, 41, 2)), sorted(random.integers(0, 11, 2))
            part = (slice(*rows, int(random.integers(1, 4))), slice(*columns))
            model[part] = step
            for dataset in kinds.values():
                dataset[part] = step
            rows = sorted(random.integers(0, 41, 2))
            for name, dataset in kinds.items():
                np.testing.assert_array_equal(dataset[slice(*rows), ::2], model[slice(*rows), ::2], err_msg=f"{name} {step}")
            if step % 50 == 20:
                file.flush()
            if step % 50 == 30:
                file[f"beside{step}"] = step
                assert kinds["grows"].attrs.get("step") == (None if step == 30 else step - 50)
                kinds["grows"].attrs["step"] = step
            if step % 50 == 40:
                assert all((dataset[...] == model).all() for dataset in kinds.values())
                kinds["grows"].resize((41 + step, 10))
                assert kinds["grows"][-1, 3] == -1
                kinds["grows"].resize((40, 10))
    with h5py.File(path) as file:
        for name in kinds:
            np.testing.assert_array_equal(file[name], model, err_msg=name)


def test_many_reads_after_a_write(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "reads.h5", "w") as file:
        dataset = file.create_dataset("u", (100, 4), "f8", chunks=(10, 4))
        dataset[50] = 7.0
        assert [dataset[i, 2] for i in range(100)] == [7.0 if i == 50 else 0.0 for i in range(100)]
        dataset[51] = 8.0
        assert dataset[51, 0] == 8.0


def test_names_that_exist_are_refused_without_a_look_at_the_file(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "names.h5", "w") as file:
        made = file.create_group("a").create_dataset("b", data=np.arange(3, dtype="u2"))
        assert made.name == "/a/b" and made.dtype == "u2" and made[1] == 1
        file["a/soft"] = h5.SoftLink("/nowhere")
        for name in ("a/b", "/a/b", "a//b/", "a/soft", "a/./b"):
            with pytest.raises(ValueError, match="name already exists"):
                file.create_dataset(name, data=1)
        with pytest.raises(ValueError):
            file.create_dataset("a/b/c", data=1)
        file.create_dataset("new/group/d", data=np.array([300, -5]), dtype="u1")
        assert list(file["new/group/d"]) == [255, 0]
        assert file.create_dataset("e", data=2, dtype=h5.enum_dtype({"two": 2}, "i1"))[()] == 2
        assert file.create_dataset("f", data=[True, False])[0]


def test_what_is_written_is_read_by_the_same_process(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "one.h5", "w") as file:
        file["u"] = np.arange(3)
        with h5.File(tmp_path / "one.h5") as again:
            assert again["u"][2] == 2
        file["u"][1] = 7
        with h5.File(tmp_path / "one.h5") as again:
            assert again["u"][1] == 7
        assert type(file["/"]) is h5.Group and file["/"] == file and file["u"].parent == file
        texts = file.create_dataset("texts", data=np.array(["a", "größer"], object), dtype=object)
        assert texts.asstr()[1] == "größer"
        few = file.create_dataset("few", data=[1], scaleoffset=0)
        assert few.chunks == (1,) and few.scaleoffset is not None


def test_low_level_names_that_programs_use(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "low.h5", "w") as file:
        group = file.create_group("g")
        kind = h5.h5t.py_create(np.dtype("i4")).copy()
        kind.commit(group._id, b"kind")
        with pytest.raises(KeyError, match="already exists"):
            kind.copy().commit(group.id, b"kind")
        made = h5.h5a.create(group.attrs._id, b"a", kind, h5.h5s.create(h5.h5s.SCALAR))
        made.write(np.array(5, "i4"))
        assert group.attrs["a"] == 5
