"""Reading in many threads at once. ``cargo xtask wheel threads`` runs each test in eight threads together."""

from __future__ import annotations

import pathlib
import pickle
import threading

import numpy as np
import pytest

import sciformats
from sciformats import h5

SIDE = 96
THREADS = 8


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("parallel") / "shared.h5"
    values = np.arange(SIDE * SIDE, dtype="i4").reshape(SIDE, SIDE)
    with h5.File(path, "w") as file:
        file.create_dataset("plain", data=values, chunks=(8, 8))
        file.create_dataset("gzip", data=values, chunks=(8, 96), compression="gzip", shuffle=True)
        file.create_dataset("texts", data=[f"text {i}" for i in range(200)], dtype=h5.string_dtype())
        for i in range(100):
            file.create_dataset(f"many/d{i}", data=np.full(3, i)).attrs["number"] = i
    return path


@pytest.fixture(scope="module")
def shared(path: pathlib.Path) -> h5.File:
    return h5.File(path)


@pytest.fixture(scope="module")
def common(path: pathlib.Path) -> sciformats.File:
    return sciformats.open(path)


def at_once(work) -> None:
    """Do something in several threads that start together, and raise the first exception of any of them."""
    barrier, failed = threading.Barrier(THREADS), []

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


@pytest.mark.parametrize("name", ["plain", "gzip"])
def test_one_dataset_in_many_threads(shared: h5.File, name: str) -> None:
    dataset = shared[name]

    def read(number: int) -> None:
        chance = np.random.default_rng(number)
        for _ in range(200):
            row, column = (int(at) for at in chance.integers(0, SIDE - 9, 2))
            part = dataset[row : row + 9, column : column + 9]
            assert part[0, 0] == row * SIDE + column and part[-1, -1] == (row + 8) * SIDE + column + 8

    at_once(read)
    assert dataset.id.get_chunk_info_by_coord((0, 0)).size > 0


def test_objects_and_attributes_in_many_threads(shared: h5.File) -> None:
    def read(number: int) -> None:
        group = shared["many"]
        for name, member in group.items():
            assert member.attrs["number"] == int(name[1:]) and member[1] == int(name[1:])
        assert shared["texts"].asstr()[number] == f"text {number}"

    at_once(read)


def test_the_common_interface_in_many_threads(common: sciformats.File) -> None:
    def read(number: int) -> None:
        array = common["gzip"]
        for row in range(number, SIDE, THREADS):
            assert array[row, -1] == row * SIDE + SIDE - 1
        assert sum(int(member.attrs["number"]) for member in common["many"].values()) == 4950

    at_once(read)


def test_pickles_in_many_threads(path: pathlib.Path) -> None:
    pickled = pickle.dumps((h5.File(path)["gzip"], sciformats.open(path)["plain"]))

    def read(_: int) -> None:
        for _ in range(20):
            gzip, plain = pickle.loads(pickled)
            assert gzip[7, 7] == plain[7, 7] == 7 * SIDE + 7

    at_once(read)


def test_opening_reading_and_closing_in_many_threads(path: pathlib.Path) -> None:
    def read(number: int) -> None:
        for _ in range(10):
            with h5.File(path) as file:
                assert int(file["gzip"][number].sum()) == int(np.arange(number * SIDE, (number + 1) * SIDE).sum())

    at_once(read)


def test_a_file_is_closed_while_others_read(path: pathlib.Path) -> None:
    file = sciformats.open(path)
    array, closed = file["gzip"], threading.Event()

    def read(number: int) -> None:
        if number == 0:
            file.close()
            closed.set()
            return
        try:
            for row in range(SIDE):
                assert array[row, 0] == row * SIDE
        except ValueError as error:
            assert "closed" in str(error)

    at_once(read)
    assert closed.is_set()


def test_files_are_written_in_many_threads(tmp_path: pathlib.Path) -> None:
    def write(number: int) -> None:
        path = tmp_path / f"{threading.get_ident()}-{number}.h5"
        with h5.File(path, "w") as file:
            made = file.create_dataset("u", (50, 10), "f8", chunks=(10, 10), compression="gzip")
            for i in range(50):
                made[i] = number
        with h5.File(path) as file:
            assert (file["u"][...] == number).all()

    at_once(write)


def test_one_file_is_written_in_many_threads(tmp_path: pathlib.Path) -> None:
    path = tmp_path / f"{threading.get_ident()}-one.h5"
    with h5.File(path, "w") as file:
        made = file.create_dataset("u", (THREADS * 10, 20), "i8", chunks=(5, 20), compression="gzip")

        def write(number: int) -> None:
            for i in range(10):
                made[number * 10 + i] = number * 10 + i
                assert (made[number * 10 + i] == number * 10 + i).all()
            file.create_dataset(f"own/d{number}", data=[number])

        at_once(write)
    with h5.File(path) as file:
        np.testing.assert_array_equal(file["u"][...], np.repeat(np.arange(THREADS * 10)[:, None], 20, axis=1))
        assert sorted(file["own"]) == sorted(f"d{number}" for number in range(THREADS))
