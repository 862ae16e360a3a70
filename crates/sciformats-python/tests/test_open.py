"""Files, groups, arrays and attributes of all formats are compared with the results of the formats' own programs."""

from __future__ import annotations

import io
import itertools
import pathlib
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import sciformats
from sciformats import errors


def test_dates_of_hdf5_are_dates(tmp_path: pathlib.Path) -> None:
    import h5py

    path, other = str(tmp_path / "dates.h5"), str(tmp_path / "other.h5")
    moments = np.array(["2020-01-01T12:00:00", "NaT"], "M8[ns]")
    kept = {
        "moments": moments,
        "spans": np.array([-1, 2], "m8[us]"),
        "big": moments.astype(">M8[D]"),
        "grid": moments.reshape(1, 2),
    }
    row = np.dtype([("n", "<i4"), ("when", h5py.opaque_dtype("<M8[s]")), ("for", h5py.opaque_dtype("<m8[s]"), (2,))])
    texts = np.dtype([("when", h5py.opaque_dtype("<M8[s]")), ("what", h5py.string_dtype())])
    with h5py.File(path, "w") as file, h5py.File(other, "w") as second:
        for name, values in kept.items():
            file[name] = second[name] = values.astype(h5py.opaque_dtype(values.dtype))
        file["rows"] = np.array([(1, np.datetime64(7, "s"), [2, 3])], row)
        file["texts"] = np.array([(np.datetime64(7, "s"), "a")], texts)
        file["bytes"] = np.zeros(2, "V8")
        file[b"caf\xe9"] = file["moments"]
        file["outside"] = h5py.ExternalLink("other.h5", "/spans")
        for name in ("/", "rows"):
            file[name].attrs["at"] = moments.astype(h5py.opaque_dtype(moments.dtype))
    with open(path, "rb") as raw:
        content = raw.read()
    for source in (path, content):
        with sciformats.open(source) as file:
            for name, values in kept.items():
                assert file[name].dtype == values.dtype
                np.testing.assert_array_equal(file[name][...], values)
            assert file["moments"][0] == moments[0] and file["bytes"].dtype == "V8"
            rows = file["rows"][...]
            assert rows["when"][0] == np.datetime64(7, "s") and rows["for"].dtype == "m8[s]"
            assert rows["for"][0].astype(int).tolist() == [2, 3]
            assert file["texts"][0]["when"] == np.datetime64(7, "s") and file["texts"][0]["what"] == "a"
            assert any(array.dtype == "M8[ns]" for name, array in file.items() if name.startswith("caf"))
            for attributes in (file.attrs, file["rows"].attrs):
                np.testing.assert_array_equal(attributes["at"], moments)
    with sciformats.open(path) as file:
        assert file["outside"].dtype == "m8[us]" and file["outside"][0] == kept["spans"][0]
        array = pickle.loads(pickle.dumps(file["moments"]))
        assert array.dtype == "M8[ns]"


def test_hdf5_as_h5py_has_it(hdf5_path: str, numbers: np.ndarray) -> None:
    import h5py

    with sciformats.open(hdf5_path) as ours, h5py.File(hdf5_path) as theirs:
        assert ours.format == "hdf5"
        assert list(ours) == list(theirs)
        assert len(ours) == len(theirs)
        assert isinstance(ours["fields"], sciformats.Group)
        for name in ["plain", "fields/u", "big", "scalar", "empty", "flags", "complex", "records", "soft"]:
            expected = theirs[name][()]
            found = ours[name][...]
            assert np.array_equal(found, expected), name
            assert ours[name].shape == theirs[name].shape
        assert ours["big"].dtype == "<f8"
        assert list(ours["text"][...]) == ["Vega", "Deneb", "Ågren"]
        assert list(ours["fixed"][...]) == ["ab", "c"]
        assert ours["colours"].dtype.metadata == {"enum": {"RED": 0, "GREEN": 1}}
        assert ours["colours"][...].tolist() == [1, 0]
        assert [row.tolist() for row in ours["ragged"][...]] == [[1, 2, 3], []]
        assert ours["null"].is_null and ours["null"].size == 0
        assert ours["fields/u"].chunks == (16, 16)
        assert ours["fields/u"].attrs["units"] == "m/s"
        assert ours.attrs["title"] == "a run"
        assert ours.attrs["numbers"].tolist() == [0, 1, 2]
        assert ours.attrs["nothing"] is None
        assert "fields/u" in ours and "dangling" not in ours and "nope" not in ours
        with pytest.raises(KeyError):
            ours["dangling"]


KEYS = [
    (),
    ...,
    0,
    -1,
    (3, 4),
    (slice(None, None, 2), slice(3, 20, 5)),
    (slice(None, None, -3),),
    (..., -2),
    (5, ..., slice(None, None, -1)),
    (None, 3),
    (slice(2, 99), slice(9, 3)),
    (slice(30, 2, -7), None, slice(-4, None)),
    (np.int64(2), slice(np.uint8(1), 5)),
]


@pytest.mark.parametrize("key", KEYS, ids=map(repr, KEYS))
@pytest.mark.parametrize("name", ["plain", "fields/u", "big"])
def test_basic_indexing_is_numpys(hdf5_path: str, numbers: np.ndarray, name: str, key: object) -> None:
    array = sciformats.open(hdf5_path)[name]
    expected = numbers[key]
    found = array[key]
    assert np.shape(found) == np.shape(expected)
    assert np.array_equal(found, expected)
    out = np.empty(np.shape(expected), array.dtype)
    assert array.read(key, out=out) is out
    assert np.array_equal(out, expected)


def test_integers_are_not_wrapped_when_they_are_read(tmp_path: pathlib.Path) -> None:
    np.save(tmp_path / "a.npy", np.array([-1, 5, 1 << 31]))
    array = sciformats.open(tmp_path / "a.npy").root
    for kind, key in (("i4", ...), ("u4", ...), ("u8", slice(1)), ("i1", slice(2, None))):
        out = np.full(array[key].shape, 7, kind)
        with pytest.raises((errors.Misfit, TypeError)):
            array.read(key, out=out)
        assert (out == 7).all()
    assert array.read(slice(2), out=np.empty(2, "i1")).tolist() == [-1, 5]


def test_random_indices_are_numpys(hdf5_path: str, numbers: np.ndarray) -> None:
    array = sciformats.open(hdf5_path)["fields/u"]
    random = np.random.default_rng(11)

    def part(size: int) -> object:
        ends = [None, *map(int, random.integers(-size - 2, size + 2, 2))]
        step = int(random.choice([-4, -1, 1, 3]))
        return slice(ends[random.integers(3)], ends[random.integers(3)], step)

    for _ in range(300):
        key = (part(40), part(30))
        assert np.array_equal(array[key], numbers[key]), key
        rows = random.integers(-40, 40, random.integers(0, 9))
        columns = random.random(30) < 0.3
        assert np.array_equal(array.oindex((rows, columns)), numbers[rows][:, columns])
        with pytest.raises(IndexError, match="out of bounds"):
            array.oindex(np.array([2**64 - 1], "u8"))


def test_lists_and_masks_each_have_their_own_dimension(hdf5_path: str) -> None:
    array = sciformats.open(hdf5_path)["fields/u"]
    numbers = array[...]
    mask = np.arange(30) % 7 == 2
    rows = [3, -1, slice(None), slice(30, 2, -3), [5, 1, 1], [], np.arange(40) % 9 == 0, np.array([-40, 39])]
    columns = [0, np.int8(-2), slice(2, 9), slice(None, None, -7), [29, 0, 4], np.array([], int), mask]
    keys = [*itertools.product(rows, columns), *rows, *((row,) for row in rows), (), ...]
    keys += [(row, ...) for row in rows] + [(..., column) for column in columns]
    keys += [(..., *key) for key in itertools.product(rows, columns)] + [(row, ..., column) for row, column in zip(rows, columns)]
    for key in keys:
        parts = list(key) if isinstance(key, tuple) else [key]
        at = next((place for place, part in enumerate(parts) if part is Ellipsis), len(parts))
        named = [part for part in parts if part is not Ellipsis]
        full = [*named[:at], *[slice(None)] * (2 - len(named)), *named[at:]]
        chosen = [np.arange(size)[part] for part, size in zip(full, numbers.shape)]
        expected = numbers[np.ix_(*map(np.atleast_1d, chosen))][tuple(0 if one.ndim == 0 else slice(None) for one in chosen)]
        found = array.oindex(key)
        assert np.shape(found) == expected.shape and np.array_equal(found, expected), key


@pytest.mark.parametrize("key", [None, (None, [0, 1]), ([0, 1], None), (0, None), (..., None), (slice(None), [1], None)], ids=str)
def test_lists_and_masks_take_no_new_axis(hdf5_path: str, key: Any) -> None:
    # The orthogonal indexing of Zarr does not take it either. It must not shift the dimensions of the lists.
    with pytest.raises(IndexError, match="None"):
        sciformats.open(hdf5_path)["fields/u"].oindex(key)


def test_wrong_indices_are_numpys_errors(hdf5_path: str) -> None:
    array = sciformats.open(hdf5_path)["plain"]
    for key in [40, (0, -31), (0, 0, 0), (..., ...), "x", 1.5, [0, 1]]:
        with pytest.raises((IndexError, TypeError)):
            array[key]
    with pytest.raises(ValueError, match="shape"):
        array.read(out=np.empty((3, 3), "f4"))


def test_chunks_cover_an_array_once(hdf5_path: str, numbers: np.ndarray) -> None:
    file = sciformats.open(hdf5_path)
    for name in ["plain", "fields/u", "scalar", "empty"]:
        array = file[name]
        seen = np.zeros(array.shape, int)
        for key in array.iter_chunks():
            seen[key] += 1
            assert np.array_equal(array[key], file[name][...][key])
        assert (seen == 1).all()
    assert len(list(file["fields/u"].iter_chunks())) == 6
    assert np.array_equal(np.asarray(file["plain"]), numbers)
    assert np.asarray(file["plain"], dtype="f8").dtype == "f8"


def test_other_formats(tmp_path: pathlib.Path) -> None:
    import asdf
    import blosc2
    import gsd.hoomd

    values = np.arange(24, dtype="<i4").reshape(4, 6)
    asdf.AsdfFile({"meta": {"name": "x"}, "data": values}).write_to(tmp_path / "a.asdf")
    blosc2.asarray(values, chunks=(2, 6), urlpath=str(tmp_path / "b.b2nd"))
    np.save(tmp_path / "c.npy", values)
    with gsd.hoomd.open(str(tmp_path / "d.gsd"), "w") as trajectory:
        frame = gsd.hoomd.Frame()
        frame.particles.N = 2
        frame.particles.position = [[0, 1, 2], [3, 4, 5]]
        trajectory.append(frame)
    found = sciformats.open(tmp_path / "a.asdf")
    assert found.format == "asdf"
    assert np.array_equal(found["data"][...], values)
    assert found["meta/name"] == "x"
    single = sciformats.open(tmp_path / "b.b2nd").root
    assert np.array_equal(single[1:3, ::-1], values[1:3, ::-1]) and single.chunks == (2, 6)
    assert np.array_equal(sciformats.open(tmp_path / "c.npy").root[...], values)
    position = sciformats.open(tmp_path / "d.gsd")["frames/0/particles/position"]
    assert position[1].tolist() == [3, 4, 5]


def test_every_fixture_opens_and_reads_or_says_why(fixtures: pathlib.Path) -> None:
    opened = 0
    for path in sorted(fixtures.rglob("*")):
        if not path.is_file() or path.suffix in (".toml", ".md", ".json", ".txt"):
            continue
        try:
            with sciformats.open(path) as file:
                repr(file), file._repr_html_()
                root = file.root
                members = [root] if isinstance(root, sciformats.Array) else [m for _, m in file.walk()]
                for member in members:
                    if isinstance(member, sciformats.Array) and member.size < 1 << 20:
                        member[...]
                opened += 1
        except (errors.Error, KeyError, OSError):
            pass
    assert opened > 100


def test_bytes_buffers_and_files(hdf5_path: str, numbers: np.ndarray) -> None:
    contents = pathlib.Path(hdf5_path).read_bytes()
    for source in [contents, bytearray(contents), memoryview(contents), io.BytesIO(contents), open(hdf5_path, "rb")]:
        file = sciformats.open(source)
        assert file.filename is None
        assert np.array_equal(file["fields/u"][...], numbers)


def test_pickles_hold_the_address(hdf5_path: str, numbers: np.ndarray, tmp_path: pathlib.Path) -> None:
    copy = tmp_path / "copy.h5"
    copy.write_bytes(pathlib.Path(hdf5_path).read_bytes())
    file = sciformats.open(copy, threads=1)
    pickled = pickle.dumps((file, file["fields"], file["fields/u"]))
    assert len(pickled) < 2_000
    again, group, array = pickle.loads(pickled)
    assert np.array_equal(array[...], numbers)
    assert group.file is again and array.file is again, "one open file in a process"
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer)[2][3, 4])"
    shown = subprocess.run([sys.executable, "-c", code], input=pickled, capture_output=True, check=True)
    assert float(shown.stdout) == pytest.approx(float(numbers[3, 4]))
    copy.write_bytes(copy.read_bytes() + b"\0")
    with pytest.raises(errors.Conflict):
        pickle.loads(pickled)
    buffer = sciformats.open(pathlib.Path(hdf5_path).read_bytes())
    assert np.array_equal(pickle.loads(pickle.dumps(buffer["plain"]))[...], numbers)


def test_a_forked_process_reads_on(hdf5_path: str, numbers: np.ndarray) -> None:
    code = (
        "import os, sys, numpy, sciformats\n"
        f"array = sciformats.open({hdf5_path!r})['fields/u']\n"
        "whole = array[...]\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if numpy.array_equal(array[...], whole) else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_errors_have_names_paths_and_offsets(hdf5_path: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError) as absent:
        sciformats.open(tmp_path / "nope.h5")
    assert absent.value.filename.endswith("nope.h5")
    (tmp_path / "other").write_bytes(b"neither of them")
    with pytest.raises(errors.NotThisFormat, match="other: the file is not HDF5, ASDF"):
        sciformats.open(tmp_path / "other")
    contents = bytearray(pathlib.Path(hdf5_path).read_bytes())
    contents[8] = 77
    (tmp_path / "bad.h5").write_bytes(contents)
    with pytest.raises(errors.Error) as damaged:
        sciformats.open(tmp_path / "bad.h5")
    assert damaged.value.path.endswith("bad.h5") and damaged.value.offset is not None
    (tmp_path / "cut.h5").write_bytes(pathlib.Path(hdf5_path).read_bytes()[:700])
    # A part that is cut off is damaged, and not absent.
    with pytest.raises(errors.FileDamaged):
        sciformats.open(tmp_path / "cut.h5")["fields/u"][...]
    file = sciformats.open(hdf5_path)
    with pytest.raises(KeyError, match="no object named"):
        file["nope"]
    array = file["plain"]
    file.close()
    with pytest.raises(ValueError, match="closed"):
        array[0]
    with pytest.raises(errors.NotSupported):
        sciformats.open(hdf5_path, "w")
    with pytest.raises(errors.LimitExceeded):
        sciformats.open(hdf5_path, memory=100)["plain"][...]
    for error in [errors.FileDamaged("bad", "a.h5", 12), errors.Conflict("held")]:
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.path, again.offset) == (str(error), error.path, error.offset)


def test_threads_read_one_array(hdf5_path: str, numbers: np.ndarray) -> None:
    file = sciformats.open(hdf5_path)
    wrong: list[object] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(200):
            row = int(random.integers(40))
            name = ["plain", "fields/u", "big"][row % 3]
            if not np.array_equal(file[name][row], numbers[row]):
                wrong.append((seed, row))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_lock_of_python_is_free_while_reading(tmp_path: pathlib.Path) -> None:
    import h5py

    path = tmp_path / "large.h5"
    with h5py.File(path, "w") as file:
        data = np.random.default_rng(1).integers(0, 50, (64, 1 << 16), dtype="<i4")
        file.create_dataset("x", data=data, chunks=(1, 1 << 16), compression="gzip")
    array = sciformats.open(path, threads=1)["x"]
    counted, done = 0, threading.Event()

    def read() -> None:
        array[...]
        done.set()

    thread = threading.Thread(target=read)
    thread.start()
    while not done.is_set():
        counted += 1
    thread.join()
    assert counted > 1_000, "another thread of Python runs while elements are decoded"


def test_an_interrupted_read_is_an_interrupt(tmp_path: pathlib.Path) -> None:
    import subprocess
    import sys

    np.save(tmp_path / "a.npy", np.arange(3))
    # As if the signal came during the first read of a process: it is handled by the first code of Python that runs after that.
    script = """
import sys, sciformats
array = sciformats.open(sys.argv[1]).root
raw, ranges = array._raw, [(0, 3, 1)]
def call(frame, event, arg):
    if event == "call":
        raise KeyboardInterrupt
sys.setprofile(call)
raw.read(ranges)
sys.setprofile(None)
print("read")
"""
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "a.npy")], capture_output=True, text=True)
    assert done.stdout == "read\n" and not done.stderr, done.stderr


def test_what_is_shown(hdf5_path: str) -> None:
    file = sciformats.open(hdf5_path)
    assert "hdf5" in repr(file) and "members" in repr(file)
    assert repr(file["fields/u"]) == "<Array '/fields/u': (40, 30) float32>"
    page = file._repr_html_()
    assert "<details" in page and "fields" in page and "m/s" in page
    assert "<script" not in page


def test_the_program_comes_with_the_package(hdf5_path: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "sciformats._program", "ls", hdf5_path], capture_output=True, text=True
    )
    assert shown.returncode == 0 and "fields" in shown.stdout, shown.stderr
    absent = subprocess.run([sys.executable, "-m", "sciformats._program", "info", "/nope"], capture_output=True)
    assert absent.returncode == 3


def test_many_selections_and_other_tasks(hdf5_path: str, numbers: np.ndarray) -> None:
    import asyncio

    file = sciformats.open(hdf5_path)
    keys = [np.s_[i : i + 3, ::2] for i in range(0, 30, 3)]
    for key, found in zip(keys, file["fields/u"].read_many(keys)):
        assert np.array_equal(found, numbers[key])
    both = file.read_many(["plain", "fields/u"], threads=2)
    assert all(np.array_equal(found, numbers) for found in both)

    async def read() -> None:
        one, many = await asyncio.gather(file["plain"].aread(), file["fields/u"].aread_many(keys))
        assert np.array_equal(one, numbers) and len(many) == len(keys)

    asyncio.run(read())
