"""What is stored when elements have another type than the dataset: as with h5py, or an error."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import h5py
import numpy as np
import pytest

from sciformats import h5


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


def test_shapes_and_fields_as_in_h5py(tmp_path: pathlib.Path) -> None:
    with h5.File(tmp_path / "small.h5", "w") as file:
        dataset = file.create_dataset("d", (3, 8), maxshape=(3, 8))
        assert dataset.chunks is not None
        dataset.shape = (2, 4)
        assert dataset.shape == (2, 4)
        with pytest.raises(ValueError):
            file.create_dataset("e", (3, 8), maxshape=(3, 8), chunks=False)
        records = file.create_dataset("r", data=np.array([(1, 2, 3)], [("a", "i4"), ("b", "i4"), ("c", "i4")]))
        assert records.fields(["a", "b"])["a"] == [1]
        with pytest.raises(ValueError):
            records.fields(["a", "b"])["c"]
