"""The modules of single formats are compared with the formats' own packages."""

from __future__ import annotations

import os
import pathlib
import pickle
import struct
from typing import Any

import h5py
import numpy as np
import pytest

import sciformats
import sciformats.blosc2
import sciformats.gsd
import sciformats.h5
import sciformats.rawarray
from sciformats import errors

PARTS = {
    "particles": ["typeid", "mass", "charge", "diameter", "body", "moment_inertia", "position", "orientation", "velocity"]
    + ["angmom", "image"],
    "bonds": ["typeid", "group"],
    "angles": ["typeid", "group"],
    "constraints": ["value", "group"],
    "pairs": ["typeid", "group"],
}


@pytest.fixture(scope="module")
def trajectory_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A trajectory in which quantities are stored in some frames, in the first one, or nowhere, and the number of particles changes."""
    import gsd.hoomd

    path = str(tmp_path_factory.mktemp("gsd") / "run.gsd")
    random = np.random.default_rng(2)
    with gsd.hoomd.open(path, "w") as trajectory:
        for number in range(8):
            frame, count = gsd.hoomd.Frame(), 5 if number < 6 else 7
            frame.configuration.step = number * 100
            frame.configuration.box = [4, 4, 4 + number % 2, 0, 0.5, 0]
            frame.particles.N = count
            frame.particles.types = ["A", "longer", "c"]
            frame.particles.position = random.normal(size=(count, 3)).astype("f4")
            frame.particles.mass = np.full(count, 2.5, "f4")
            if number in (0, 3):
                frame.particles.velocity = np.full((count, 3), number + 1, "f4")
            if number == 4:
                frame.particles.body = np.arange(count)
            frame.bonds.N = 2
            frame.bonds.types = ["x"]
            frame.bonds.group = [[0, 1], [1, number % 3 + 2]]
            frame.log["energy"] = np.array([number * 1.5])
            frame.log["virial"] = np.arange(6.0) + (number if number != 2 else 0)
            trajectory.append(frame)
    return path


def test_frames_as_gsd_has_them(trajectory_path: str) -> None:
    import gsd.hoomd

    with sciformats.gsd.open(trajectory_path) as ours, gsd.hoomd.open(trajectory_path) as theirs:
        assert len(ours) == len(theirs) == 8
        for mine, other in zip(ours, theirs):
            assert (mine.step, mine.dimensions) == (other.configuration.step, other.configuration.dimensions)
            np.testing.assert_array_equal(mine.box, other.configuration.box)
            for part, names in PARTS.items():
                found, expected = getattr(mine, part), getattr(other, part)
                assert found.N == expected.N, part
                if part != "constraints":
                    assert found.types == list(expected.types or []), part
                for name in names:
                    a, b = getattr(found, name), getattr(expected, name)
                    assert a.shape == np.shape(b) or not a.size == np.size(b), (part, name)
                    np.testing.assert_array_equal(a, b, err_msg=f"{part} {name} {mine.number}")
            assert sorted(mine.log) == sorted(other.log)
            for name, value in other.log.items():
                np.testing.assert_array_equal(mine.log[name], value)
        assert ours[-1].step == 700 and [frame.step for frame in ours[1:4]] == [100, 200, 300]
        with pytest.raises(IndexError):
            ours[8]
        with pytest.raises(AttributeError, match="position"):
            ours[0].particles.colour
        with pytest.raises(KeyError):
            ours[0]["log/nothing"]


def test_texts_and_shapes_as_gsd_has_them(tmp_path: pathlib.Path) -> None:
    import gsd.hoomd

    path = str(tmp_path / "texts.gsd")
    with gsd.hoomd.open(path, "w") as trajectory:
        for number, note in enumerate(["first", "a longer one", "x"]):
            frame = gsd.hoomd.Frame()
            frame.configuration.step = number
            frame.particles.N = 2
            frame.log["note"] = note
            if number == 0:
                frame.particles.types = ["A", "B"]
                frame.particles.type_shapes = [{"type": "Sphere", "diameter": 1.5}, {}]
            trajectory.append(frame)
    with sciformats.gsd.open(path) as ours, gsd.hoomd.open(path) as theirs:
        for mine, other in zip(ours, theirs):
            assert mine.log == other.log
            assert mine.particles.type_shapes == list(other.particles.type_shapes)
            for part in ("bonds", "angles", "dihedrals", "impropers", "constraints", "pairs"):
                assert getattr(mine, part).group.dtype == getattr(other, part).group.dtype == "u4"
        assert list(ours.log["note"]) == ["first", "a longer one", "x"]
        assert "type_shapes" in dir(ours[0].particles) and "type_shapes" not in dir(ours[0].bonds)
        with pytest.raises(TypeError, match="text"):
            ours.stack("log/note")


def test_damaged_numbers_of_particles(tmp_path: pathlib.Path) -> None:
    import gsd.fl

    def written(name: str, **chunks: Any) -> str:
        path = str(tmp_path / name)
        with gsd.fl.open(path, "w", application="test", schema="hoomd", schema_version=[1, 4]) as file:
            for chunk, value in chunks.items():
                file.write_chunk(chunk.replace("__", "/"), value)
            file.end_frame()
        return path

    most = np.array([2**32 - 1], "u4")
    huge = sciformats.gsd.open(written("huge.gsd", particles__N=most), memory=1 << 20)[0]
    assert huge.particles.N == 2**32 - 1
    for name in ("position", "typeid"):
        with pytest.raises(errors.LimitExceeded, match=f"frame 0: particles/{name}"):
            getattr(huge.particles, name)
    # By default the limit is 16 GiB, of which masses need less and positions more.
    with pytest.raises(errors.LimitExceeded, match="memory="):
        sciformats.gsd.open(written("default.gsd", particles__N=most))[0].particles.position
    path = written("fits.gsd", particles__N=np.array([10], "u4"))
    assert sciformats.gsd.open(path, memory=120)[0].particles.position.shape == (10, 3)
    with pytest.raises(errors.LimitExceeded):
        sciformats.gsd.open(path, memory=119)[0].particles.position
    for number in (np.zeros(0, "u4"), np.array([-1], "i4"), np.array([np.nan])):
        bad = sciformats.gsd.open(written("bad.gsd", particles__N=number, configuration__step=number[:0]))[0]
        with pytest.raises(errors.FileDamaged, match="frame 0: particles/N"):
            bad.particles.position
        with pytest.raises(errors.FileDamaged, match="frame 0: configuration/step"):
            bad.step
    shapes = np.frombuffer(b"{]\0\0", "i1").reshape(1, 4)
    bad = sciformats.gsd.open(written("shapes.gsd", particles__type_shapes=shapes))[0]
    with pytest.raises(errors.FileDamaged, match="JSON"):
        bad.particles.type_shapes


def test_quantities_over_all_frames(trajectory_path: str) -> None:
    import dask.array
    import gsd.hoomd

    with gsd.hoomd.open(trajectory_path) as theirs:
        velocities = np.stack([frame.particles.velocity for frame in theirs[:6]])
        energy = np.array([frame.log["energy"][0] for frame in theirs])
        virial = np.stack([frame.log["virial"] for frame in theirs])
    ours = sciformats.gsd.open(trajectory_path)
    assert sorted(ours.log) == ["energy", "virial"] and len(ours.log) == 2
    np.testing.assert_array_equal(ours.log["energy"], energy)
    np.testing.assert_array_equal(ours.log["virial"], virial)
    stacked = ours.stack("particles/velocity")
    assert stacked.shape == (8, 5, 3) and stacked.dtype == "f4"
    for key in [0, -3, slice(0, 6, 2), (slice(5, None, -1), 1), (slice(0, 6), slice(None, None, -2), -1), (3, ..., None, 0)]:
        np.testing.assert_array_equal(stacked[key], velocities[key] if key != -3 else velocities[5])
    with pytest.raises(ValueError, match="frame 6"):
        stacked[...]
    lazy = dask.array.from_array(pickle.loads(pickle.dumps(stacked)), chunks=(1, -1, -1))[:6]
    means = lazy.map_blocks(lambda block: block.mean(axis=1), drop_axis=1).compute()
    np.testing.assert_allclose(means, velocities.mean(axis=1))


def test_files_of_other_formats_are_refused(tmp_path: pathlib.Path, trajectory_path: str) -> None:
    import gsd.fl

    np.save(tmp_path / "a.npy", np.arange(3))
    with gsd.fl.open(str(tmp_path / "b.gsd"), "w", application="test", schema="other", schema_version=[1, 0]) as file:
        file.write_chunk("x", np.arange(3))
        file.end_frame()
    for refused in ("a.npy", "b.gsd"):
        with pytest.raises(errors.NotThisFormat):
            sciformats.gsd.open(tmp_path / refused)
    with pytest.raises(errors.NotThisFormat):
        sciformats.blosc2.open(trajectory_path)
    with pytest.raises(errors.NotThisFormat):
        sciformats.rawarray.memmap(tmp_path / "a.npy")


def test_mapped_arrays_are_those_that_are_read() -> None:
    folder = pathlib.Path(os.environ["SCIFORMATS_FIXTURES"]) / "rawarray"
    mapped = refused = 0
    for path in sorted(folder.glob("*.ra")):
        with sciformats.open(path) as file:
            expected = None if 0 in file.root.shape else file.root[...]
        try:
            found: Any = sciformats.rawarray.memmap(path)
        except errors.NotSupported:
            refused += 1
            continue
        assert found.shape == np.shape(expected), path
        assert found.astype(expected.dtype).tobytes() == expected.tobytes(), path
        mapped += 1
    assert mapped >= 25 and refused >= 8


def test_changes_of_a_mapped_array(tmp_path: pathlib.Path) -> None:
    source = pathlib.Path(os.environ["SCIFORMATS_FIXTURES"]) / "rawarray" / "i4.ra"
    path = tmp_path / "i4.ra"
    path.write_bytes(source.read_bytes())
    mapped = sciformats.rawarray.memmap(path, "r+")
    mapped[1, 2] = -77
    mapped.flush()
    assert sciformats.open(path).root[1, 2] == -77


def interrupted(content: bytes, patches: list[tuple[int, bytes]]) -> bytes:
    """Return a file with the journal of a change that counts, but whose patches are not in their places yet."""

    def checksum(part: bytes) -> int:
        found = 0xCBF29CE484222325
        for byte in part:
            found = (found ^ byte) * 0x100000001B3 % (1 << 64)
        return found

    body = b"".join(struct.pack("<2Q", at, len(part)) + part for at, part in patches)
    length = len(content)
    sector = b"\x89SFJRNL\n" + struct.pack("<6Q", 2, length, length, length, len(body), checksum(body))
    sector = sector.ljust(504, b"\0")
    return content + body + bytes(-(length + len(body)) % 512) + sector + struct.pack("<Q", checksum(sector))


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_change_that_was_interrupted_is_not_mapped(tmp_path: pathlib.Path, mode: Any) -> None:
    """The bytes in place are the old ones, and what was written to them would be lost when the change is completed."""
    source = pathlib.Path(os.environ["SCIFORMATS_FIXTURES"]) / "rawarray" / "i4.ra"
    path = tmp_path / "i4.ra"
    content = source.read_bytes()
    (rank,) = struct.unpack("<Q", content[40:48])
    path.write_bytes(interrupted(content, [(48 + 8 * rank, struct.pack("<i", -5))]))
    before = path.read_bytes()
    assert sciformats.open(path).root[...].flat[0] == -5
    with pytest.raises(errors.NotSupported, match="not completed"):
        sciformats.rawarray.memmap(path, mode)
    assert path.read_bytes() == before


def test_modes_of_numpy_that_create_files_are_refused(tmp_path: pathlib.Path) -> None:
    content = (pathlib.Path(os.environ["SCIFORMATS_FIXTURES"]) / "rawarray" / "i4.ra").read_bytes()
    path = tmp_path / "i4.ra"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="w\\+"):
        sciformats.rawarray.memmap(path, "w+")  # type: ignore[arg-type]
    assert path.read_bytes() == content


def test_arrays_as_blosc2_has_them(tmp_path: pathlib.Path) -> None:
    import blosc2

    values = np.arange(600, dtype="i4").reshape(20, 30)
    for name, options in {"a.b2nd": {}, "b.b2nd": {"chunks": (7, 11), "blocks": (3, 4)}, "folder": {"contiguous": False}}.items():
        theirs = blosc2.asarray(values, urlpath=str(tmp_path / name), mode="w", meta={"note": {"a": 1}}, **options)
        theirs.schunk.vlmeta["more"] = [1, 2]
        ours = sciformats.blosc2.open(tmp_path / name)
        for word in ("shape", "dtype", "ndim", "size", "nbytes", "chunks", "blocks"):
            assert getattr(ours, word) == getattr(theirs, word), (name, word)
        assert 0 < ours.cratio and ours.cbytes > 0
        np.testing.assert_array_equal(ours, values)
        for key in [3, (slice(2, 15, 4), -1), (..., slice(None, None, -3))]:
            np.testing.assert_array_equal(ours[key], values[key])
        np.testing.assert_array_equal(ours.oindex((slice(None), [5, 1])), values[:, [5, 1]])
        with pytest.raises(IndexError, match="None"):
            ours.oindex((None, [5, 1]))
        assert "note" in ours.meta and "b2nd" in ours.meta and "more" in ours.vlmeta
        again = pickle.loads(pickle.dumps(ours))
        np.testing.assert_array_equal(again[4], values[4])
    schunk = blosc2.SChunk(data=b"plain bytes" * 99, urlpath=str(tmp_path / "c.b2frame"), mode="w")
    assert schunk.nbytes
    with pytest.raises(errors.NotSupported):
        sciformats.blosc2.open(tmp_path / "c.b2frame")


def test_trees_as_asdf_has_them(tmp_path: pathlib.Path) -> None:
    import asdf

    import sciformats.asdf

    path, data = tmp_path / "tree.asdf", np.arange(12.0).reshape(3, 4)
    shared = {"deep": [1, [2.5, None, True], {"x": "y"}]}
    tree: dict[str, Any] = {
        "meta": {"name": "Ågren", "big": 2**40, "minus": -7, "complex": 1 + 2j, "empty": {}, "none": None, "list": []},
        "numbers like a list": {"0": "a", "1": "b"},
        "once": shared,
        "again": shared,
        "data": data,
        "inner/part~x": {"more": [data[0], np.array([1, 2], ">i2")]},
        7: "seven",
    }
    asdf.AsdfFile(tree).write_to(path)
    with sciformats.asdf.open(path) as ours, asdf.open(path) as theirs:
        assert list(ours) == list(theirs.tree) and len(ours) == len(theirs.tree)
        for key in ("meta", "numbers like a list", "once", 7):
            assert ours[key] == theirs[key], key
        assert ours["once"] is ours["again"] and isinstance(ours["once"]["deep"], list)
        assert isinstance(ours["data"], sciformats.Array) and ours["data"].shape == (3, 4)
        np.testing.assert_array_equal(ours["data"][1:, ::-2], data[1:, ::-2])
        more = ours["inner/part~x"]["more"]
        np.testing.assert_array_equal(more[1], [1, 2])
        assert ours.tag(ours["asdf_library"]) == "tag:stsci.edu:asdf/core/software-1.0.0" and ours.tag(ours["meta"]) is None
        again = pickle.loads(pickle.dumps(more[0]))
        np.testing.assert_array_equal(again, data[0])
    kept = sciformats.asdf.open(path.read_bytes())
    np.testing.assert_array_equal(kept["data"], data)
    # The tree is read when it is first used, and must be that of the file whose arrays are read.
    late = sciformats.asdf.open(path)
    asdf.AsdfFile({"more": [1], "data": data[:1]}).write_to(tmp_path / "other.asdf")
    os.replace(tmp_path / "other.asdf", path)
    with pytest.raises(errors.Conflict, match="changed since it was opened"):
        late.tree
    np.save(tmp_path / "a.npy", data)
    with pytest.raises(errors.NotThisFormat):
        sciformats.asdf.open(tmp_path / "a.npy")


TIMES = {
    "seconds": np.array(["2020-01-01", "NaT"], "M8[s]"),
    "big": np.array(["2020-01-01"], ">M8[ns]"),
    "days": np.array([[1, -2]], "m8[D]"),
    "records": np.zeros(2, [("t", "M8[ms]", (2,)), ("n", [("q", "m8[25s]")]), ("i", "i8")]),
}


@pytest.mark.parametrize("name", TIMES)
def test_npy_dates_and_time_spans(tmp_path: pathlib.Path, name: str) -> None:
    values = TIMES[name]
    np.save(tmp_path / "a.npy", values)
    with sciformats.open(tmp_path / "a.npy") as file:
        found = file.root[...]
    assert found.dtype == values.dtype.newbyteorder("<")
    assert found.tobytes() == values.astype(found.dtype).tobytes()


@pytest.mark.parametrize("name", TIMES)
def test_blosc2_dates_and_time_spans(tmp_path: pathlib.Path, name: str) -> None:
    blosc2 = pytest.importorskip("blosc2")
    values = TIMES[name]
    blosc2.asarray(values, urlpath=str(tmp_path / "a.b2nd"))
    with sciformats.open(tmp_path / "a.b2nd") as file:
        found = file.root[...]
        assert file.root.dtype == values.dtype.newbyteorder("<")
    assert found.tobytes() == values.astype(found.dtype).tobytes()


def test_npy_dates_in_xarray(tmp_path: pathlib.Path) -> None:
    xarray = pytest.importorskip("xarray")
    for unit, shown in [("D", "s"), ("s", "s"), ("10ms", "ms"), ("Y", "s")]:
        values = np.array([3, 4], f"M8[{unit}]")
        np.save(tmp_path / "a.npy", values)
        found = xarray.open_dataset(tmp_path / "a.npy", engine="sciformats").data
        assert found.dtype == np.dtype(f"M8[{shown}]") and (found.values == values).all()
    np.save(tmp_path / "a.npy", np.array([1], "m8[ps]"))
    with pytest.raises(sciformats.errors.NotSupported):
        xarray.open_dataset(tmp_path / "a.npy", engine="sciformats").data.values


def test_single_texts_and_records_with_texts(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.h5"
    inner = np.dtype([("t", h5py.string_dtype()), ("v", "f4", (2, 3))])
    wide = np.zeros(2, [("n", inner), ("q", h5py.string_dtype(), (2,)), ("l", h5py.vlen_dtype("i4"))])
    wide["n"]["t"], wide["n"]["v"], wide["q"] = ["x", "y"], np.arange(12).reshape(2, 2, 3), [["a", "b"], ["c", "d"]]
    wide["l"][0], wide["l"][1] = np.array([1], "i4"), np.array([2, 3], "i4")
    with h5py.File(path, "w") as file:
        file["texts"], file["text"] = ["a", "bb"], "alone"
        file["records"] = np.array([(1, b"x"), (2, b"yy")], [("a", "i4"), ("s", "S2")])
        file["wide"] = wide
    with sciformats.open(path) as file:
        assert file["texts"][0] == "a" and file["text"][()] == "alone" and list(file["texts"]) == ["a", "bb"]
        records = file["records"][...]
        assert records.dtype.names == ("a", "s") and records["a"].tolist() == [1, 2]
        assert records["s"].tolist() == ["x", "yy"] and file["records"][1].item() == (2, "yy")
        found = file["wide"][...]
        assert found["n"]["t"].tolist() == ["x", "y"] and (found["n"]["v"] == wide["n"]["v"]).all()
        assert found["q"].tolist() == [["a", "b"], ["c", "d"]] and found["l"][1].tolist() == [2, 3]
        assert file["wide"].dtype.names == ("n", "q", "l")
    with sciformats.h5.File(path) as file:
        assert (file["wide"][...]["n"]["v"] == wide["n"]["v"]).all()


def test_records_with_texts_in_xarray(tmp_path: pathlib.Path) -> None:
    xarray = pytest.importorskip("xarray")
    np.save(tmp_path / "a.npy", np.array([(1, b"x"), (2, b"yy")], [("a", "i4"), ("s", "S2")]))
    found = xarray.open_dataset(tmp_path / "a.npy", engine="sciformats").data.values
    assert found["a"].tolist() == [1, 2] and found["s"].tolist() == ["x", "yy"]
