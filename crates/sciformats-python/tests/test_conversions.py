"""What is stored when elements have another type than the dataset: as with h5py, or an error."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import h5py
import numpy as np
import pytest
from h5py import h5d, h5s, h5t

from sciformats import _sciformats, h5


def test_single_numbers_keep_their_value_in_either_order_of_bytes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "orders.h5"
    kinds = (">i2", ">i4", ">u8", ">f4", ">f8", "<i4")
    with h5.File(path, "w") as file:
        for kind in kinds:
            dataset = file.create_dataset(kind, (6,), kind)
            dataset[0] = np.int64(2)
            dataset[1] = 2.0
            dataset[2] = np.float32(2)
            dataset[3:5] = np.int16(2)
            dataset[5] = np.array(2)
            file.create_dataset(f"{kind} scalar", data=np.float64(3), dtype=kind)
            file.attrs.create(kind, np.int64(3), dtype=kind)
        sequences = file.create_dataset("sequences", (1,), h5.vlen_dtype(">i4"))
        sequences[0] = np.array([2, 3], "i8")
    with h5py.File(path) as file:
        for kind in kinds:
            assert list(file[kind]) == [2] * 6, kind
            assert file[f"{kind} scalar"][()] == 3 == file.attrs[kind], kind
    # h5py itself turns the bytes of such sequences when it reads them.
    with h5.File(path) as file:
        assert list(file["sequences"][0]) == [2, 3]


def test_fields_are_told_by_their_names(tmp_path: pathlib.Path) -> None:
    kind = np.dtype([("a", "i4"), ("b", "f8"), ("s", "S3"), ("p", [("x", "i2"), ("y", "i2")])])
    turned = np.array([((5, 4), b"abc", 2.5, 70000)], [("p", [("y", "i8"), ("x", "i4")]), ("s", "S5"), ("b", "f4"), ("a", "i8")])
    partly = np.array([(9,), (8,)], [("a", "i4")])
    found: list[Any] = []
    for module in (h5py, h5):
        path = tmp_path / f"{module.__name__}.h5"
        with module.File(path, "w") as file:
            dataset = file.create_dataset("d", (3,), kind)
            dataset[1:] = turned
            file.create_dataset("new", data=turned, dtype=kind)
            dataset[:2] = partly
            dataset[2:] = np.array([((7,),)], [("p", [("x", "i8")])])
            file.create_dataset("narrow", (2,), [("a", "i2")])[...] = np.array([(70000,), (-70000,)], [("a", "i8")])
        with h5py.File(path) as file:
            found.append([file[name][()].tolist() for name in ("d", "new", "narrow")])
    assert found[0] == found[1]
    with h5.File(tmp_path / "refused.h5", "w") as file:
        dataset = file.create_dataset("d", (1,), kind)
        dataset[0] = turned[0]
        assert dataset[0]["b"] == 2.5
        for wrong in (np.array([(1,)], [("z", "i4")]), np.array([(1, 2)], [("a", "i4"), ("z", "i4")]), np.array([1])):
            with pytest.raises(TypeError):
                dataset[...] = wrong


def test_numbers_that_do_not_fit(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "fit.h5", "w") as file:
        small, unsigned, real = (file.create_dataset(kind, (3,), kind) for kind in ("i1", "u4", "f8"))
        for value in (300, float("inf"), np.int64(70000), np.float64(-1e10), [1, 2, 300]):
            with pytest.raises(OverflowError):
                small[...] = value
        for dataset, value in ((unsigned, -1), (unsigned, 2**40), (small, 2**70)):
            with pytest.raises(OverflowError):
                dataset[0] = value
        for dataset, value in itertools.product((small, unsigned), (float("nan"), [1.0, float("nan"), 2.0])):
            with pytest.raises(ValueError):
                dataset[...] = value
        for value in (1j, np.complex64(1j), np.array([1j, 2, 3]), np.array(["1", "2", "3"]), np.array([b"1", b"2", b"3"])):
            with pytest.raises(TypeError):
                real[...] = value
        with pytest.raises(TypeError):
            file.create_dataset("complex", data=np.array([1j]), dtype="f8")
        with pytest.raises(TypeError):
            file.create_dataset("texts", (3,), "S4")[...] = np.array([1.5, 9000, 2])
        assert not small[...].any() and not unsigned[...].any() and not real[...].any()


def test_arrays_become_the_nearest_integers(tmp_path: pathlib.Path) -> None:
    arrays = [np.array([300, -5, 70000, 7]), np.array([np.inf, -np.inf, 1e30, 2.7]), np.array([3e9, -3e9, 1.5, -2], "f4")]
    found: list[Any] = []
    for module in (h5py, h5):
        path = tmp_path / f"{module.__name__}.h5"
        with module.File(path, "w") as file:
            for (number, array), kind in itertools.product(enumerate(arrays), ("i1", "u1", ">i2", "u4", ">i8", "u8")):
                file.create_dataset(f"{number}{kind}", (4,), kind)[...] = array
        with h5py.File(path) as file:
            found.append({name: file[name][()].tolist() for name in file})
    assert found[0] == found[1]
    with h5.File(tmp_path / "read.h5", "w") as file:
        dataset = file.create_dataset("d", data=np.array([300, -5, 70000]))
        out = np.zeros(3, "u1")
        dataset.read_direct(out)
        assert list(out) == list(dataset.astype("u1")[:]) == list(np.asarray(dataset, "u1")) == [255, 0, 255]
        assert dataset.astype(">i1")[1] == -5
        with pytest.raises(TypeError):
            file.create_dataset("c", data=np.array([1j])).astype("f8")[0]


def unusual(path: pathlib.Path) -> None:
    """Write numbers and texts of formats that NumPy lacks."""

    def stored(file: Any, name: str, kind: Any, array: Any, memory: Any = None) -> None:
        dataset = h5d.create(file.id, name.encode(), kind, h5s.create_simple(array.shape))
        dataset.write(h5s.ALL, h5s.ALL, array, memory)

    def text(pad: int) -> Any:
        kind = h5t.C_S1.copy()
        kind.set_size(6)
        kind.set_strpad(pad)
        return kind

    bfloat = h5t.IEEE_F32LE.copy()
    bfloat.set_fields(15, 7, 8, 0, 7)
    bfloat.set_precision(16)
    bfloat.set_size(2)
    bfloat.set_ebias(127)
    twelve = h5t.STD_U16BE.copy()
    twelve.set_precision(12)
    twelve.set_offset(4)
    seventeen = h5t.STD_I32LE.copy()
    seventeen.set_precision(17)
    seventeen.set_offset(5)
    words = np.frombuffer(b"ab    kg m-2", "S6")
    ended = np.frombuffer(b"ab\0XYZabcd\0\0", "S6")
    with h5py.File(path, "w") as file:
        stored(file, "bfloat", bfloat, np.array([1.0, -2.5, 1e30]))
        stored(file, "twelve", twelve, np.array([1, 5, 4095]))
        stored(file, "seventeen", seventeen, np.array([1, -5, 65535]))
        stored(file, "spaced", text(h5t.STR_SPACEPAD), words, text(h5t.STR_SPACEPAD))
        stored(file, "ended", text(h5t.STR_NULLTERM), ended, text(h5t.STR_NULLTERM))
        attribute = h5py.h5a.create(file.id, b"spaced", text(h5t.STR_SPACEPAD), h5s.create(h5s.SCALAR))
        attribute.write(np.array(words[0]), mtype=text(h5t.STR_SPACEPAD))
        any_length = h5t.C_S1.copy()
        any_length.set_size(h5t.VARIABLE)
        gaps = h5t.create(h5t.COMPOUND, 64)
        for at, (name, kind) in enumerate((("a", h5t.STD_I32LE), ("s", any_length), ("b", bfloat), ("t", text(h5t.STR_SPACEPAD)))):
            gaps.insert(name.encode(), 16 * (3 - at), kind)
        h5d.create(file.id, b"gaps", gaps, h5s.create_simple((2,)))
        file["gaps"][...] = np.array([(b"x", 0.5, "one", 1), (b"yz", 1e30, "two", 2)], file["gaps"].dtype)


def test_formats_that_numpy_lacks(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "unusual.h5"
    unusual(path)
    names = ("bfloat", "twelve", "seventeen", "spaced", "ended", "gaps")
    with h5py.File(path) as theirs, h5.File(path) as ours:
        for name in names:
            assert ours[name].dtype == theirs[name].dtype or name == "gaps", name
            assert ours[name][()].tolist() == theirs[name][()].tolist(), name
            assert ours[name][1] == theirs[name][1], name
        assert ours.attrs["spaced"] == theirs.attrs["spaced"] == b"ab"
        assert ours["spaced"].asstr()[0] == "ab" and list(ours["spaced"][()] == b"ab") == [True, False]
        assert ours["spaced"].id.get_type().get_strpad() == h5t.STR_SPACEPAD
    copies = [tmp_path / "theirs.h5", tmp_path / "ours.h5"]
    for module, copy in zip((h5py, h5), copies):
        copy.write_bytes(path.read_bytes())
        with module.File(copy, "r+") as file:
            file["bfloat"][:2] = [3.25, -1e-3]
            file["twelve"][1] = 4000
            file["seventeen"][:2] = np.array([-65536, 60])
            file["spaced"][0] = b"xy"
            file["ended"][:] = [b"uvw", b"x"]
            file["gaps"][1] = tuple({"a": 77, "s": "new", "b": 0.125, "t": b"pq"}[name] for name in file["gaps"].dtype.names)
            file["gaps"][:1, "a"] = 5
            assert file["spaced"][0] == b"xy" and file["gaps"][1]["b"] == 0.125
    with h5py.File(copies[0]) as theirs, h5py.File(copies[1]) as ours:
        for name in names:
            assert ours[name][()].tolist() == theirs[name][()].tolist(), name
            assert ours[name].id.get_type() == theirs[name].id.get_type(), name
    assert b"xy    " in copies[1].read_bytes()
    with h5.File(copies[1], "r+") as file:
        file.attrs.modify("spaced", np.bytes_(b"new"))
    with h5py.File(copies[1]) as file:
        assert file.attrs["spaced"] == b"new" and file.attrs.get_id("spaced").get_type().get_strpad() == h5t.STR_SPACEPAD
    with h5.File(copies[1], "r+") as file, pytest.raises(ValueError, match="17 bits"):
        file["seventeen"][0] = 65536


def test_floats_of_unusual_formats_are_rounded_to_the_nearest(tmp_path: pathlib.Path) -> None:
    # Numbers of 16 bits in 4 bytes, which NumPy rounds in the same way.
    kind = h5t.IEEE_F32BE.copy()
    kind.set_fields(15, 10, 5, 0, 10)
    kind.set_precision(16)
    kind.set_ebias(15)
    random = np.random.default_rng(3)
    values = np.concatenate(
        [random.normal(size=200) * 10.0 ** random.integers(-9, 6, 200), [0, -0.0, np.inf, -np.inf, 65519.9, 65520, 5e-324, 2049, 2051, 2**-25]]
    )
    path = tmp_path / "half.h5"
    with h5py.File(path, "w") as file:
        h5d.create(file.id, b"half", kind, h5s.create_simple(values.shape))
    with h5.File(path, "r+") as file:
        dataset = file["half"]
        assert dataset.dtype == ">f2"
        dataset[...] = values
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(dataset[...], values.astype("f2"))
        dataset[0] = np.nan
        assert np.isnan(dataset[0])
    with h5py.File(path) as file, np.errstate(over="ignore"):
        np.testing.assert_array_equal(file["half"][1:], values.astype("f2")[1:])
        assert np.isnan(file["half"][0])


def test_numbers_beyond_those_of_64_bits_are_not_written(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "long.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("long", data=np.array([1.5, 2.5], np.longdouble))
    with h5.File(path, "r+") as file:
        assert list(file["long"][()]) == [1.5, 2.5]
        with pytest.raises(NotImplementedError):
            file["long"][0] = 1.0
        with pytest.raises(TypeError):
            file.create_dataset("new", (2,), np.longdouble)


def test_filters_of_hdf5plugin(tmp_path: pathlib.Path) -> None:
    # The numbers and parameters are those of hdf5plugin's Bitshuffle(), Zfp(reversible=True) and Zfp().
    data = np.linspace(0, 1, 2000).reshape(40, 50)
    with h5.File(tmp_path / "plugins.h5", "w") as file:
        file.create_dataset("shuffled", data=data, chunks=(20, 25), compression=32008, compression_opts=(0, 2))
        file.create_dataset("blocks", data=data, chunks=(20, 25), compression=32008, compression_opts=(64, 3, 5))
        file.create_dataset("zfp", data=data, chunks=(20, 25), compression=32013, compression_opts=(5, 0, 0, 0, 0, 0))
        file.create_dataset("default", data=data, chunks=(20, 25), compression=32013)
        assert file["shuffled"]._pipeline[32008] == [0, 4, 8, 0, 2]
        assert file["default"]._pipeline[32013][1:] == [91252346, 805306759, 4293918721, 3767042048, 493487]
    for mode in ("r", "r+"):
        with h5.File(tmp_path / "plugins.h5", mode) as file:
            for name in file:
                np.testing.assert_allclose(file[name], data, atol=1e-18 if name == "default" else 0, rtol=0)


def test_shapes_and_fields_as_in_h5py(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "small.h5", "w") as file:
        dataset = file.create_dataset("d", (3, 8), maxshape=(3, 8))
        assert dataset.chunks is not None
        dataset.shape = (2, 4)
        assert dataset.shape == (2, 4)
        with pytest.raises(TypeError, match="rank"):
            dataset.resize((2,))
        with pytest.raises(ValueError):
            file.create_dataset("e", (3, 8), maxshape=(3, 8), chunks=False)
        records = file.create_dataset("r", data=np.array([(1, 2, 3)], [("a", "i4"), ("b", "i4"), ("c", "i4")]))
        assert records.fields(["a", "b"])["a"] == [1]
        with pytest.raises(ValueError):
            records.fields(["a", "b"])["c"]


def test_blocks_of_one_column_are_put_in_their_place() -> None:
    import blosc2

    for chunk, block in (((9, 9), (9, 1)), ((9, 4), (3, 1)), ((8, 5, 1), (4, 2, 1)), ((6, 7), (4, 3)), ((10, 11), (4, 10))):
        values = np.arange(1, 1 + np.prod(chunk), dtype="i4").reshape(chunk)
        array = blosc2.asarray(values, chunks=chunk, blocks=block)
        found = _sciformats.undo_blosc2(array.schunk.get_chunk(0), (list(chunk), list(block)), 4)
        np.testing.assert_array_equal(np.frombuffer(found, "i4").reshape(chunk), values, err_msg=f"{chunk} {block}")


@pytest.mark.parametrize("library", [h5py, h5])
def test_sequences_have_the_dimensions_of_the_selection(tmp_path: pathlib.Path, library: Any) -> None:
    def content(dataset: Any) -> list[list[int]]:
        return [each.tolist() for each in dataset[...].reshape(-1)]

    with library.File(tmp_path / "sequences.h5", "w") as file:
        row = file.create_dataset("row", (3,), h5py.vlen_dtype("i4") if library is h5py else h5.vlen_dtype("i4"))
        square = file.create_dataset("square", (2, 2), row.dtype)
        square[...] = [[[1], [2]], [[3], [4]]]
        assert content(square) == [[1], [2], [3], [4]]
        square[...] = np.arange(8).reshape(2, 2, 2)
        assert content(square) == [[0, 1], [2, 3], [4, 5], [6, 7]]
        square[0] = [[5], [6, 7]]
        square[:, 1] = [8, 9]
        assert content(square) == [[5], [8, 9], [4, 5], [8, 9]]
        row[...] = np.array([1, 2, 3], object)
        assert content(row) == [[1, 2, 3]] * 3
        row[...] = [[1, 2]]
        for key, value in (
            (slice(0, 3), [[1, 2], [3, 4]]),
            (slice(0, 2), np.arange(6).reshape(3, 2)),
            (0, [[1, 2], [3, 4]]),
            (slice(0, 2), [[1], [2, 3], [4]]),
            (slice(0, 3), np.zeros((3, 2, 2), "i4")),
            (0, b"abc"),
        ):
            with pytest.raises(TypeError):
                row[key] = value
        assert content(row) == [[1, 2]] * 3


@pytest.mark.parametrize("library", [h5py, h5])
def test_numbers_of_sequences_fit_their_type(tmp_path: pathlib.Path, library: Any) -> None:
    with library.File(tmp_path / "sequences.h5", "w") as file:
        small, wide = (file.create_dataset(name, (2,), library.vlen_dtype(name)) for name in ("u1", "i8"))
        for key, value in ((0, [300]), (0, [-1, 2]), (slice(None), [[1], [2, 256]]), (slice(None), [[-1, 1], [2, 3]])):
            with pytest.raises(OverflowError):
                small[key] = value
        with pytest.raises(OverflowError):
            wide[0] = [2**63]
        wide[0] = [2**53 + 1, 1.0]
        assert wide[0].tolist() == [2**53 + 1, 1]
        file.attrs["n"] = np.int8(1)
        with pytest.raises(OverflowError):
            file.attrs.modify("n", 300)
        assert file.attrs["n"] == 1
    with h5.File(tmp_path / "lists.h5", "w") as file:
        # h5py cannot write these lists at all.
        for where in (file.create_dataset, file.attrs.create):
            with pytest.raises(OverflowError):
                where("d", data=[[1, 2], [300]], dtype=h5.vlen_dtype("u1"))


@pytest.mark.parametrize("library", [h5py, h5])
def test_lists_of_wide_integers_are_not_rounded(tmp_path: pathlib.Path, library: Any) -> None:
    with library.File(tmp_path / "wide.h5", "w") as file:
        for dtype, values in (("u8", [2**64 - 1, 0]), ("i8", [2**63 - 1, 1.0]), ("i8", [-(2**63), 2.0]), ("i8", [2**53 + 1, 1.0])):
            dataset = file.create_dataset(f"{dtype} {values}", (2,), dtype)
            dataset[...] = values
            assert dataset[...].tolist() == values
        for dtype, values in (("u8", [2**64, 0.0]), ("u8", [2**64 - 1, -1]), ("i8", [2**63, 1.0]), ("i8", [-(2**63) - 1, 1.0])):
            with pytest.raises(OverflowError):
                file.create_dataset(f"{dtype} {values}", (2,), dtype)[...] = values


@pytest.mark.parametrize("library", [h5py, h5])
def test_elements_are_only_read_into_arrays_of_their_shape(tmp_path: pathlib.Path, library: Any) -> None:
    with library.File(tmp_path / "direct.h5", "w") as file:
        dataset = file.create_dataset("d", data=np.arange(24).reshape(4, 6))
        found = np.zeros((2, 2))
        with pytest.raises(TypeError, match="broadcast"):
            dataset.read_direct(found, np.s_[0:4, 0:1])
        with pytest.raises(TypeError, match="broadcast"):
            dataset.read_direct(np.zeros((6, 4)), None, np.s_[:])
        assert not found.any()
        column = np.zeros((4, 3))
        dataset.read_direct(column, np.s_[0:4, 0], np.s_[:, 2])
        assert column[:, 2].tolist() == [0, 6, 12, 18]


@pytest.mark.parametrize("library", [h5py, h5])
def test_objects_of_a_closed_file_have_no_file(tmp_path: pathlib.Path, library: Any) -> None:
    with library.File(tmp_path / "closed.h5", "w") as file:
        dataset = file.create_dataset("g/d", data=1)
    for name in ("file", "parent"):
        with pytest.raises(ValueError):
            getattr(dataset, name)
