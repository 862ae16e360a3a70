"""`sciformats.h5` is compared with h5py: the same expressions are evaluated for the same files."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import h5py
import numpy as np
import pytest

from sciformats import errors, h5


@pytest.fixture(scope="module")
def rich_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("h5")
    path = str(folder / "rich.h5")
    random = np.random.default_rng(3)
    with h5py.File(folder / "other.h5", "w") as other:
        other["there"] = np.arange(4)
    with h5py.File(path, "w") as file:
        data = random.integers(-500, 500, (20, 12), dtype="i4")
        for name, options in {
            "plain": {},
            "gzip": {"compression": "gzip", "compression_opts": 6, "chunks": (7, 5), "shuffle": True},
            "lzf": {"compression": "lzf", "chunks": (7, 5), "fletcher32": True},
            "grown": {"maxshape": (None, 12), "chunks": (4, 12), "fillvalue": -1},
            "offset": {"scaleoffset": 0, "chunks": (7, 5)},
        }.items():
            file.create_dataset(name, data=data, **options)
        file["big"] = data.astype(">i2")
        file["half"] = data.astype("f2")
        file["scalar"] = 2.5
        file["text"] = ["a", "bc", "Å"]
        file["one text"] = "hello"
        file["fixed"] = np.array([b"ab", b"", b"abc"])
        file["bool"] = np.array([[True, False]])
        file["complex"] = np.array([1 + 2j, 3j], "c8")
        file["enum"] = np.array([1, 2], h5py.enum_dtype({"A": 1, "B": 2}, "i2"))
        file["opaque"] = np.array([1, 2], "M8[s]").astype(h5py.opaque_dtype("M8[s]"))
        records = np.zeros(5, [("id", "u2"), ("x", "f8", (2,)), ("tag", "S4")])
        records["id"], records["tag"], records["x"][:, 1] = np.arange(5), b"t", 1.5
        file["records"] = records
        file.create_dataset("mixed", data=np.array([(1, b"x"), (2, b"yy")], [("n", "i4"), ("s", h5py.string_dtype())]))
        ragged = file.create_dataset("ragged", (3,), h5py.vlen_dtype("f4"))
        ragged[0], ragged[2] = [1, 2], [3]
        file["void"] = np.array([b"\0\1", b"\2\3"], "V2")
        file["empty"] = np.zeros((0, 3))
        file["null"] = h5py.Empty("f4")
        file["inner"] = np.zeros(2, "(3,)i4") if False else np.arange(6).reshape(2, 3)
        file["array"] = np.zeros(2, [("v", "i4", (2, 2))])
        group = file.create_group("group/deep")
        group["x"] = file["plain"]
        group["soft"] = h5py.SoftLink("/plain")
        group["dangling"] = h5py.SoftLink("nowhere")
        group["external"] = h5py.ExternalLink("other.h5", "/there")
        file["type"] = np.dtype("i8")
        file["refs"] = np.array([file["plain"].ref, file["group"].ref, h5py.Reference()], h5py.ref_dtype)
        file["plain"].attrs.update(
            a=1, b=np.arange(3.0), c="text", d=["x", "yy"], e=b"bytes", f=np.True_, g=h5py.Empty("i2"), h=file["gzip"].ref
        )
        for name in ["x scale", "y scale"]:
            file[name] = np.arange(20 if name[0] == "x" else 12)
            file[name].make_scale(name)
        file["plain"].dims[0].attach_scale(file["x scale"])
        file["plain"].dims[1].attach_scale(file["y scale"])
        file["plain"].dims[0].label = "x"
    return path


def same(ours: Any, theirs: Any) -> None:
    """Check that both values and their types are equal, including references and empty values."""
    if isinstance(theirs, h5py.Empty):
        assert isinstance(ours, h5.Empty) and ours.dtype == theirs.dtype
    elif isinstance(theirs, h5py.Reference):
        assert isinstance(ours, h5.Reference) and bool(ours) == bool(theirs)
    elif isinstance(theirs, np.ndarray) and theirs.dtype.kind == "O":
        assert ours.shape == theirs.shape
        for mine, other in zip(ours.ravel(), theirs.ravel()):
            same(mine, other)
    else:
        assert type(ours) is type(theirs), (type(ours), type(theirs))
        assert np.shape(ours) == np.shape(theirs)
        assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)
        if getattr(theirs, "dtype", np.dtype("i4")).hasobject:
            assert ours.tolist() == theirs.tolist()
        else:
            assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()


@pytest.fixture(scope="module")
def both(rich_path: str) -> Any:
    with h5.File(rich_path) as ours, h5py.File(rich_path) as theirs:
        yield ours, theirs


def test_every_dataset_has_the_same_elements_and_properties(both: Any) -> None:
    ours, theirs = both
    assert list(ours) == list(theirs)
    compared = 0
    for name, expected in theirs.items():
        if not isinstance(expected, h5py.Dataset):
            continue
        found = ours[name]
        for word in [
            "shape", "maxshape", "dtype", "ndim", "size", "chunks", "compression", "compression_opts", "shuffle",
            "fletcher32", "scaleoffset", "name", "is_virtual", "external", "nbytes",
        ]:
            assert getattr(found, word) == getattr(expected, word), (name, word)
        assert h5.check_dtype(enum=found.dtype) == h5py.check_dtype(enum=expected.dtype), name
        assert tuple(h5.check_string_dtype(found.dtype) or ()) == tuple(h5py.check_string_dtype(expected.dtype) or ())
        same(found[()], expected[()])
        if expected.shape:
            same(found[...], expected[...])
        if not expected.dtype.hasobject and expected.shape is not None:
            same(found.fillvalue, expected.fillvalue)
        compared += 1
    assert compared > 25


KEYS = [
    (), ..., 0, -1, (3, 4), slice(2, 99), (..., 1), (slice(None, None, 3), slice(1, 10, 4)), (0, ...),
    [0, 2, 7], ([1, 3], slice(2, 5)), (slice(0, 0), 1), (2, [0, 11]), (np.arange(20) % 3 == 0, 2), ([], 1),
    10**6, (0, 0, 0), slice(None, None, -1), [2, 0], [0, 0], ([0], [1]), None, 1.5, [-1], (slice(5, 2),),
    np.array([2**64 - 1], "u8"), np.ones((20, 12), bool), np.arange(240).reshape(20, 12) % 7 == 0, np.zeros((20, 12), bool),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=lambda key: repr(key)[:40].replace("\n", ""))
@pytest.mark.parametrize("name", ["plain", "gzip", "lzf", "big"])
def test_indexing_is_h5pys(both: Any, name: str, key: Any) -> None:
    ours, theirs = both
    try:
        expected = theirs[name][key]
    except Exception as error:
        with pytest.raises((type(error), TypeError, ValueError, IndexError)):
            ours[name][key]
    else:
        same(ours[name][key], expected)


def test_attributes_are_h5pys(both: Any) -> None:
    ours, theirs = both
    found, expected = ours["plain"].attrs, theirs["plain"].attrs
    assert list(found) == list(expected) and len(found) == len(expected)
    for name in expected:
        if name not in ("DIMENSION_LIST", "DIMENSION_LABELS"):
            same(found[name], expected[name])
    assert "a" in found and "z" not in found and found.get("z", 5) == 5
    with pytest.raises(KeyError, match="can't locate attribute"):
        found["z"]


def test_links_and_walks_are_h5pys(both: Any) -> None:
    ours, theirs = both
    for visit in ["visit", "visit_links"]:
        mine: list[str] = []
        other: list[str] = []
        assert getattr(ours, visit)(mine.append) is None
        getattr(theirs, visit)(other.append)
        assert mine == other, visit
    assert ours.visititems(lambda name, item: name if isinstance(item, h5.Dataset) else None) == theirs.visititems(
        lambda name, item: name if isinstance(item, h5py.Dataset) else None
    )
    for name in ["plain", "group", "group/deep/soft", "group/deep/dangling", "group/deep/external", "nope", "type"]:
        link, expected = ours.get(name, getlink=True), theirs.get(name, getlink=True)
        assert type(link).__name__ == type(expected).__name__
        assert vars(link) == vars(expected) if link is not None else True
        if "external" not in name and "dangling" not in name:
            found = ours.get(name, getclass=True)
            assert getattr(found, "__name__", None) == getattr(theirs.get(name, getclass=True), "__name__", None)
        assert (name in ours) == (name in theirs), name
    assert ours["group/deep/external"][2] == 2
    assert ours["group"]["/plain"] == ours["plain"] == ours["group/deep/x"]
    assert ours["group/deep"].parent == ours["group"] and ours["group/deep"].name == "/group/deep"
    with pytest.raises(KeyError, match="object 'nope' doesn't exist"):
        ours["nope"]
    assert ours["type"].dtype == "i8"


def test_views_and_fields(both: Any) -> None:
    ours, theirs = both
    for file in both:
        assert list(file["text"].asstr()[:]) == ["a", "bc", "Å"]
        assert file["one text"].asstr()[()] == "hello"
    same(ours["plain"].astype("f4")[2:4], theirs["plain"].astype("f4")[2:4])
    for key in ["id", ("x", slice(1, 3)), ("id", "tag"), (2, "tag"), "nope"]:
        try:
            expected = theirs["records"][key]
        except ValueError:
            with pytest.raises(ValueError, match="does not appear"):
                ours["records"][key]
        else:
            same(ours["records"][key], expected)
    same(ours["records"].fields(["id", "x"])[1:], theirs["records"].fields(["id", "x"])[1:])
    same(ours["records"].fields("tag")[1:], theirs["records"].fields("tag")[1:])
    out = np.zeros((20, 12), "i4")
    ours["gzip"].read_direct(out)
    same(out, theirs["gzip"][()])
    ours["gzip"].read_direct(out, np.s_[0:2], np.s_[4:6])
    same(out[4:6], theirs["gzip"][0:2])
    same(np.asarray(ours["gzip"]), np.asarray(theirs["gzip"]))
    assert [s for s in ours["gzip"].iter_chunks()] == [s for s in theirs["gzip"].iter_chunks()]
    some = np.s_[3:9, 2:11]
    assert list(ours["gzip"].iter_chunks(some)) == list(theirs["gzip"].iter_chunks(some))


def test_references_lead_to_objects(both: Any) -> None:
    ours, _ = both
    first, second, null = ours["refs"][()]
    assert ours[first] == ours["plain"] and ours[second] == ours["group"] and not null
    assert ours[ours["plain"].attrs["h"]] == ours["gzip"]
    assert ours[ours["gzip"].ref] == ours["gzip"]
    with pytest.raises(ValueError):
        ours[null]


def test_scales(both: Any) -> None:
    ours, theirs = both
    for file in both:
        dims = file["plain"].dims
        assert len(dims) == 2 and dims[0].label == "x" and dims[1].label == ""
        assert dims[0][0].name == "/x scale" and dims[1]["y scale"].shape == (12,)
        assert list(dims[0]) == ["x scale"] and len(dims[1]) == 1
        assert file["x scale"].is_scale and not file["plain"].is_scale


def test_low_level_calls(both: Any, rich_path: str) -> None:
    ours, theirs = both
    for name in ["plain", "gzip", "lzf", "grown", "scalar", "empty", "null"]:
        found, expected = ours[name].id, theirs[name].id
        assert found.get_offset() == expected.get_offset(), name
        assert found.get_storage_size() == expected.get_storage_size(), name
    found, expected = ours["gzip"].id, theirs["gzip"].id
    count = expected.get_num_chunks()
    assert found.get_num_chunks() == count
    mine = {tuple(found.get_chunk_info(i)) for i in range(count)}
    assert mine == {tuple(expected.get_chunk_info(i)) for i in range(count)}
    assert tuple(found.get_chunk_info_by_coord((7, 5))) == tuple(expected.get_chunk_info_by_coord((7, 5)))
    assert found.read_direct_chunk((7, 5)) == expected.read_direct_chunk((7, 5))
    seen: list[Any] = []
    found.chunk_iter(seen.append)
    assert len(seen) == count
    contents = pathlib.Path(rich_path).read_bytes()
    start = ours["plain"].id.get_offset()
    assert contents[start : start + 960] == ours["plain"][()].tobytes()


def test_types_are_marked_as_h5pys() -> None:
    for make in [
        lambda m: m.string_dtype(), lambda m: m.string_dtype("ascii"), lambda m: m.string_dtype("utf-8", 5),
        lambda m: m.special_dtype(vlen=str), lambda m: m.vlen_dtype("i4"), lambda m: m.enum_dtype({"A": 1}),
    ]:  # fmt: skip
        ours, theirs = make(h5), make(h5py)
        assert ours == theirs and ours.metadata == theirs.metadata
    assert h5.check_ref_dtype(h5.ref_dtype) is h5.Reference
    with pytest.raises(TypeError):
        h5.check_dtype(other="i4")


def test_files_close_and_pickle(rich_path: str, tmp_path: pathlib.Path) -> None:
    file = h5.File(rich_path)
    dataset = pickle.loads(pickle.dumps(file["gzip"]))
    assert np.array_equal(dataset[()], file["gzip"][()])
    again = file["plain"]
    file.close()
    assert not file and not again and "Closed" in repr(file) and "Closed" in repr(again)
    with pytest.raises(ValueError):
        again[0]
    assert np.array_equal(dataset[0], dataset[()][0]), "an object from a pickle has its own file"
    with pytest.raises(TypeError), h5.File(tmp_path / "new.h5", "w") as new:
        pickle.dumps(new)
    with pytest.raises(FileNotFoundError):
        h5.File(tmp_path / "none.h5")
    assert h5.is_hdf5(rich_path) and not h5.is_hdf5(__file__)
    assert np.array_equal(h5.File(pathlib.Path(rich_path).read_bytes())["gzip"][()], dataset[()])


KEYS = [
    0, -1, 3, (0, 1), (-1, -1), slice(None), slice(1, 99), slice(-3, None, 2), (slice(1, 3), slice(0, 5, 3)), (1, slice(None)),
    (slice(None), -2), ..., (..., 1), (1, ...), (1, 2, ...), (), slice(3, 1), (slice(0, 0), 1), [0, 2], (slice(None), [1, 3]),
    np.int64(2), (np.uint8(1), 0), slice(np.int64(1), None),
]  # fmt: skip
WRONG = [10, -5, (0, 1, 2), (..., ...), slice(None, None, -1), None, "x", 1.5, (0, "x"), slice("a", None), (0, 1 << 70)]


@pytest.mark.parametrize("layout", ["contiguous", "chunks", "gzip", "edges"])
@pytest.mark.parametrize("dtype", ["<i4", ">f8", "?", "S3", [("a", "<i2"), ("b", "<f4", (2,))]])
def test_keys_give_what_h5py_gives(tmp_path: pathlib.Path, layout: str, dtype: Any) -> None:
    path = tmp_path / "keys.h5"
    data = np.frombuffer(bytes(range(1, 251)) * 8, np.uint8)[: 24 * np.dtype(dtype).itemsize]
    data = (data % 2 if dtype == "?" else data).view(dtype).reshape(4, 6)
    options: dict[str, Any] = {
        "contiguous": {}, "chunks": {"chunks": (4, 6)}, "gzip": {"chunks": (2, 4), "compression": "gzip"}, "edges": {"chunks": (3, 4)},
    }[layout]  # fmt: skip
    with h5py.File(path, "w") as file:
        file.create_dataset("u", data=data, **options)
    with h5py.File(path) as theirs, h5.File(path) as ours:
        for key in KEYS:
            expected, found = theirs["u"][key], ours["u"][key]
            assert type(found) is type(expected) and found.dtype == expected.dtype, key
            np.testing.assert_array_equal(found, expected, err_msg=repr(key))
        for key in WRONG:
            with pytest.raises(Exception) as expected_error:
                theirs["u"][key]
            with pytest.raises(type(expected_error.value)):
                ours["u"][key]


def test_each_object_says_what_another_one_of_the_same_dataset_has_changed(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "two.h5", "w") as file:
        first = file.create_dataset("d", data=np.arange(4), maxshape=(None,))
        second = file["/d"]
        assert second.shape == (4,) and second.dtype == first.dtype
        first.resize((6,))
        second[4:] = [7, 8]
        assert second.shape == (6,) and list(first[3:]) == [3, 7, 8]
        file.flush()
        del file["d"]
        file.create_dataset("d", data=np.array([b"ab", b"cd"]))
        assert file["d"].shape == (2,) and file["d"].dtype == "S2"


def test_dates_beside_texts_and_in_sequences(tmp_path: pathlib.Path) -> None:
    # Elements of different sizes arrive one by one. The bytes of these dates are text, too.
    path = tmp_path / "dated.h5"
    day, span = h5py.opaque_dtype(np.dtype("M8[s]")), h5py.opaque_dtype(np.dtype("m8[ms]"))
    days = np.frombuffer(b"20200101\xcf\x3d\x07\0\0\0\0\0", "M8[s]")
    records = np.zeros(2, [("day", day), ("name", h5py.string_dtype()), ("span", span, (2,))])
    records["day"], records["name"], records["span"] = days, ["a", "b"], np.array([[1, 2], [3, 4]], "m8[ms]")
    with h5py.File(path, "w") as file:
        file["records"] = records
        file.attrs.create("one", records[0], dtype=records.dtype)
        sequences = file.create_dataset("sequences", (1,), h5py.vlen_dtype(day))
        sequences[0] = days
    with h5.File(path) as file:
        for found, meant in (file["records"][()], records), (file.attrs["one"], records[0]):
            assert found.dtype == records.dtype
            assert np.array_equal(found["day"], meant["day"]) and np.array_equal(found["span"], meant["span"])
        assert np.array_equal(file["sequences"][0], days)
