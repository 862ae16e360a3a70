"""Objects whose links are moved and removed while they are used: what they change is what they were found as, whatever has their path."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import h5py
import numpy as np
import pytest
from dask.base import tokenize

from sciformats import h5
from sciformats.h5._objects import wrap

BOTH = pytest.mark.parametrize("module", [h5, h5py])


@BOTH
def test_objects_stay_themselves_when_they_are_moved(tmp_path: pathlib.Path, module: Any) -> None:
    path = tmp_path / "moved.h5"
    with module.File(path, "w") as file:
        group, other = file.create_group("a"), file.create_group("c")
        group["x"], other["x"], other["kept"] = [1, 2], [3, 4], 5
        group.attrs["n"], other.attrs["n"] = 6, 7
        group["below/gone"], group["type"] = 8, np.dtype("i2")
        data, kind = group["x"], group["type"]
        data.attrs["u"], other["x"].attrs["u"] = "m", "s"
        before, region = data.ref, data.regionref[:1]
        file.move("a", "b")
        file.move("c", "a")
        # Each of these had the path that something else has now.
        assert (group.name, other.name) == ("/b", "/a")
        if module is h5:
            assert data.name == "/b/x" and data.parent == group
        assert file[before] == data and file[before].name == "/b/x"
        group["new"] = 9
        group.create_dataset("below/dataset", data=10)
        group.require_group("below/group")
        group["again"] = data
        group.copy("x", "copied")
        del group["below/gone"], group.attrs["n"]
        module.h5a.rename(data.id, b"u", b"unit")
        data[0] = 11
        group.create_dataset("typed", (1,), kind)
        file.create_dataset("objects", data=np.array([data.ref, before], object), dtype=module.ref_dtype)
        file.create_dataset("regions", data=np.array([region], object), dtype=module.regionref_dtype)
        other.move("kept", "moved")
    with h5py.File(path) as file:
        assert sorted(file) == ["a", "b", "objects", "regions"]
        assert sorted(file["a"]) == ["moved", "x"] and file["a"].attrs["n"] == 7
        assert list(file["a/x"]) == [3, 4] and list(file["a/x"].attrs) == ["u"]
        assert sorted(file["b"]) == ["again", "below", "copied", "new", "type", "typed", "x"] and not file["b"].attrs
        assert sorted(file["b/below"]) == ["dataset", "group"] and file["b/again"] == file["b/x"]
        assert list(file["b/x"]) == [11, 2] and list(file["b/x"].attrs) == ["unit"] and file["b/typed"].dtype == "i2"
        assert all(file[each] == file["b/x"] for each in [*file["objects"], *file["regions"]])


@BOTH
def test_an_object_with_another_link_goes_on(tmp_path: pathlib.Path, module: Any) -> None:
    path = tmp_path / "links.h5"
    with module.File(path, "w") as file:
        file["g/x"], file["h"] = [1, 2], 3
        file["second"] = file["g"]
        group, data = file["g"], file["g/x"]
        data.attrs["u"], data.attrs["v"] = "m", 1
        del file["g"]
        file["g"] = 4
        assert group.name == "/second" and (module is h5py or data.name == "/second/x")
        del data.attrs["u"]
        group["y"], data[1] = 5, 6
        file["reference"] = data.ref
    with module.File(path, "r+") as file:
        data, group = file["second/x"], file["second"]
        file.move("second", "third")
        del data.attrs["v"]
        group["z"] = data[()]
    with h5py.File(path) as file:
        assert sorted(file) == ["g", "h", "reference", "third"] and file["g"][()] == 4
        assert sorted(file["third"]) == ["x", "y", "z"] and file[file["reference"][()]] == file["third/x"]
        assert list(file["third/x"]) == [1, 6] and list(file["third/z"]) == [1, 6] and not file["third/x"].attrs


def test_nothing_is_written_through_what_no_link_leads_to(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "gone.h5"
    with h5.File(path, "w") as file:
        group = file.create_group("g")
        group["x"], group.attrs["n"], file.attrs["n"] = 1, 2, 3
        del file["g"]
        assert group.name is None and list(group) == ["x"]
        for change in (
            lambda: group.__setitem__("y", 1),
            lambda: group.create_group("y"),
            lambda: group.__delitem__("x"),
            lambda: group.attrs.__delitem__("n"),
        ):
            with pytest.raises(ValueError, match="no link leads to the object any more"):
                change()
        reference = group.ref
        with pytest.raises(KeyError, match="removed"):
            file[reference]
        file.flush()
        file["taker"] = 5
        with pytest.raises(ValueError, match="removed"):
            file.attrs["reference"] = reference
    with h5py.File(path) as file:
        assert list(file) == ["taker"] and dict(file.attrs) == {"n": 3}


def test_pickles_of_objects_to_which_no_path_leads(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "pickled.h5"
    with h5.File(path, "w") as file:
        file["x"], file["y"] = [1, 2], [3, 4]
    with h5.File(path) as file:
        found = [wrap(file._file_of, file[name]._node, None) for name in ("x", "y")]
        for each, values in zip(found, ([1, 2], [3, 4])):
            again = pickle.loads(pickle.dumps(each))
            assert isinstance(again, h5.Dataset) and list(again) == values
        assert len({tokenize(each) for each in [file, *found]}) == 3


def test_a_removed_object_is_never_another_one(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "new.h5", "w") as file:
        file["old"] = 1
        file.flush()
        file["g/a"] = np.arange(5)
        new, group, old = file["g/a"], file["g"], file["old"]
        del file["g"], file["old"]
        with pytest.raises(ValueError, match="removed"):
            new[...]
        file["g/b"] = np.arange(5) + 100
        for use in (lambda: new[...], lambda: new.shape, lambda: list(group), lambda: new.attrs.update(x=1), lambda: new.__setitem__(0, 7)):
            with pytest.raises(ValueError, match="removed"):
                use()
        assert old[()] == 1
        assert file["g/b"][...].tolist() == [100, 101, 102, 103, 104]
        last = file["g/b"]
        del file["g/b"]
        assert last[0] == 100
        file.flush()
        for gone in (old, last):
            with pytest.raises(ValueError, match="removed"):
                gone[...]


@pytest.mark.parametrize("method", ["visititems", "visititems_links"])
def test_members_that_are_removed_while_they_are_visited(tmp_path: pathlib.Path, method: str) -> None:
    with h5.File(tmp_path / "visited.h5", "w") as file:
        for name in "abc":
            file[f"{name}/x"] = ord(name)
        file.flush()
        seen = []

        def visit(name: str, _: object) -> None:
            seen.append(name)
            if name == "a":
                del file["b"]
                file.flush()
                file["d/y"] = np.arange(1000.0)
                file.flush()

        getattr(file, method)(visit)
        assert [name for name in seen if name[0] != "b"] == ["a", "a/x", "c", "c/x"]
        assert "b/x" not in seen and "b/y" not in seen


def test_threads_that_remove_and_read(tmp_path: pathlib.Path) -> None:
    import threading

    failed = []
    with h5.File(tmp_path / "threads.h5", "w") as file:
        done = threading.Event()

        def look() -> None:
            while not done.is_set():
                try:
                    for name, member in file.items():
                        if member is not None and not (member[...] == int(name)).all():
                            failed.append(name)
                except (KeyError, ValueError):
                    pass
                except Exception as error:
                    failed.append(error)

        readers = [threading.Thread(target=look) for _ in range(2)]
        for reader in readers:
            reader.start()
        for number in range(150):
            file[str(number)] = np.full(1 + number % 7, number)
            if number > 4:
                del file[str(number - 5)]
            if number % 10 == 0:
                file.flush()
        done.set()
        for reader in readers:
            reader.join()
    assert not failed


def test_masks_keep_what_other_threads_write(tmp_path: pathlib.Path) -> None:
    import threading

    with h5.File(tmp_path / "masks.h5", "w") as file:
        dataset = file.create_dataset("d", data=np.zeros(400, "i4"), chunks=(50,))
        odd = np.arange(400) % 2 == 1

        def masked() -> None:
            for number in range(1, 101):
                dataset[odd] = number

        thread = threading.Thread(target=masked)
        thread.start()
        for index in range(0, 400, 2):
            dataset[index] = 7
        thread.join()
        np.testing.assert_array_equal(dataset[...], np.where(odd, 100, 7))


@pytest.mark.parametrize("key", ["a", "mask", "part"])
def test_fields_keep_what_other_threads_write(tmp_path: pathlib.Path, key: str) -> None:
    import threading

    dtype = np.dtype([("a", "i4"), ("b", "i4")])
    with h5.File(tmp_path / "fields.h5", "w") as file:
        dataset = file.create_dataset("d", data=np.zeros(50, dtype))
        started, events = threading.Event(), threading.Event()
        gathered, ranges = h5.Dataset._gathered, h5.Dataset._ranges
        first = threading.current_thread()

        def slowly(read: Any) -> Any:
            def reads(self: h5.Dataset, *given: Any) -> Any:
                found = read(self, *given)
                if threading.current_thread() is first and not started.is_set():
                    started.set()
                    events.wait(0.3)
                return found

            return reads

        def other() -> None:
            started.wait(10)
            dataset["b"] = 5
            events.set()

        thread = threading.Thread(target=other)
        thread.start()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(h5.Dataset, "_ranges" if key == "mask" else "_gathered", slowly(ranges if key == "mask" else gathered))
            given = np.full(50, 3, [("a", "i4")])
            if key == "a":
                dataset["a"] = 3
            elif key == "mask":
                dataset[np.ones(50, bool)] = given
            else:
                dataset[...] = given
        thread.join()
        np.testing.assert_array_equal(dataset["a"], 3)
        np.testing.assert_array_equal(dataset["b"], 5)


def test_what_fields_become_is_computed_before_the_file_is_locked(tmp_path: pathlib.Path) -> None:
    import threading

    dtype = np.dtype([("a", "i4"), ("b", "i4")])
    with h5.File(tmp_path / "lazy.h5", "w") as file:
        dataset = file.create_dataset("d", data=np.zeros(5, dtype))

        class Lazy:
            """Elements that another thread computes from those of the file."""

            def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
                found: list[Any] = []
                thread = threading.Thread(target=lambda: found.append(dataset["b"] + 1), daemon=True)
                thread.start()
                thread.join(10)
                return found[0]

        dataset["a"] = Lazy()
        dataset[np.arange(5) == 2, "b"] = [Lazy().__array__()[0]]
        np.testing.assert_array_equal(dataset["a"], 1)


def test_other_threads_see_new_datasets_with_their_elements(tmp_path: pathlib.Path) -> None:
    import threading

    with h5.File(tmp_path / "new.h5", "w") as file:
        seen, group = [], file.create_group("g")
        write_first = h5.Dataset._write_first

        def slowly(self: h5.Dataset, *given: Any) -> None:
            thread = threading.Thread(target=lambda: seen.append(group["new"][...]))
            thread.start()
            thread.join(0.2)
            threads.append(thread)
            write_first(self, *given)

        threads: list[threading.Thread] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(h5.Dataset, "_write_first", slowly)
            group["new"] = np.arange(1, 5)
        threads[0].join()
        np.testing.assert_array_equal(seen[0], np.arange(1, 5))


def test_an_object_may_have_the_place_of_one_that_is_gone(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "place.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file.create_group("source/empty")
    with h5.File(path, "r+", libver="latest") as file:
        gone = file.create_group("gone")
        del file["gone"]
        # The copy is as large, and gets the same place.
        file.copy("source/empty", "copy")
        file["copy"].attrs["number"] = 1
        with pytest.raises((ValueError, KeyError)):
            gone.attrs["number"] = 2
    with h5py.File(path) as file:
        assert dict(file["copy"].attrs) == {"number": 1}
        assert list(file) == ["copy", "source"]
