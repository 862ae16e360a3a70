"""What several test suites need: the project's fixtures, and files that the formats' own programs write."""

from __future__ import annotations

import os
import pathlib

import numpy as np
import pytest

FIXTURES = pathlib.Path(
    os.environ.get("SCIFORMATS_FIXTURES", pathlib.Path(__file__).parents[3] / "fixtures")
)


@pytest.fixture(scope="session")
def fixtures() -> pathlib.Path:
    assert FIXTURES.is_dir(), f"{FIXTURES} is missing: the suites read the project's fixtures"
    return FIXTURES


@pytest.fixture(scope="session")
def numbers() -> np.ndarray:
    return np.random.default_rng(7).normal(size=(40, 30)).astype("<f4")


@pytest.fixture(scope="session")
def hdf5_path(tmp_path_factory: pytest.TempPathFactory, numbers: np.ndarray) -> str:
    """Return a file by h5py with most kinds of types."""
    import h5py

    path = str(tmp_path_factory.mktemp("hdf5") / "run.h5")
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "a run"
        file.attrs["numbers"] = np.arange(3, dtype=">i2")
        file.attrs["nothing"] = h5py.Empty("f4")
        file["plain"] = numbers
        file.create_dataset("fields/u", data=numbers, chunks=(16, 16), compression="gzip", shuffle=True)
        file["fields/u"].attrs["units"] = "m/s"
        file["big"] = numbers.astype(">f8")
        file["text"] = ["Vega", "Deneb", "Ågren"]
        file["fixed"] = np.array([b"ab", b"c"])
        file["flags"] = np.array([True, False])
        file["complex"] = np.array([1 + 2j])
        file["records"] = np.array([(1, 2.5)], dtype=[("id", "<i4"), ("mass", "<f8")])
        colours = h5py.enum_dtype({"RED": 0, "GREEN": 1}, basetype="u1")
        file.create_dataset("colours", data=np.array([1, 0], "u1"), dtype=colours)
        ragged = file.create_dataset("ragged", (2,), h5py.vlen_dtype("<i4"))
        ragged[0], ragged[1] = [1, 2, 3], []
        file["scalar"] = 3.5
        file["null"] = h5py.Empty("i4")
        file["empty"] = np.zeros((0, 4))
        file["soft"] = h5py.SoftLink("/fields/u")
        file["dangling"] = h5py.SoftLink("/nowhere")
    return path
