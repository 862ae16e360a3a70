"""Names that are not UTF-8, and references that lead nowhere, beside h5py."""

from __future__ import annotations

import pathlib
from typing import Any

import h5py
import numpy as np
import pytest
from h5py import h5d, h5s, h5t

import sciformats
from sciformats import h5


@pytest.fixture
def latin(tmp_path: pathlib.Path) -> str:
    """A file whose names are in Latin-1, and twins of them that only differ in such a byte."""
    path = str(tmp_path / "latin.h5")
    with h5py.File(path, "w") as file:
        file[b"caf\xe9"] = np.arange(3)
        file[b"caf\xe8"] = np.arange(4)
        file[b"caf\xe9"].attrs[b"\xb5m"] = 7
        file[b"caf\xe9"].attrs[b"\xb6m"] = 8
        file[b"gr\xfcn/in\xe9"] = np.arange(5)
        file["soft"] = 1
        del file["soft"]
        file.id.links.create_soft(b"soft", b"/gr\xfcn/in\xe9")
        file.id.links.create_external(b"away", b"f\xe9.h5", b"/p\xe9")
        tagged = h5t.create(h5t.OPAQUE, 4)
        tagged.set_tag(b"t\xe9")
        h5d.create(file.id, b"opaque", tagged, h5s.create_simple((2,)))
        record = h5t.create(h5t.COMPOUND, 8)
        for at, name in enumerate([b"m\xe9", b"m\xe8"]):
            record.insert(name, 4 * at, h5t.NATIVE_INT32)
        made = h5d.create(file.id, b"records", record, h5s.create_simple((2,)))
        made.write(h5s.ALL, h5s.ALL, np.array([[1, 2], [3, 4]], "i4"), record)
        words = h5t.enum_create(h5t.NATIVE_INT8)
        words.enum_insert(b"v\xe9", 1)
        words.enum_insert(b"w", 2)
        h5d.create(file.id, b"enum", words, h5s.create_simple((2,)))
        h5t.NATIVE_INT32.copy().commit(file.id, b"ty\xe9")
        file["refs"] = np.array([file[b"caf\xe9"].ref, file[b"gr\xfcn/in\xe9"].ref], h5py.ref_dtype)
        file[b"caf\xe9"].make_scale(b"sc\xe9")
        file["u"] = np.arange(3)
        file["u"].dims[0].attach_scale(file[b"caf\xe9"])
        h5py.h5ds.set_label(file["u"].id, 0, b"lab\xe9")
    return path


EXPRESSIONS = r"""
list(f) | list(f.keys()) | [k for k, v in f.items()] | list(f[b'gr\xfcn']) | list(f[b'caf\xe9'].attrs) | len(f)
f[b'caf\xe9'].name | f[b'caf\xe9'][...].tolist() | f[b'caf\xe8'][...].tolist() | f.get(b'caf\xe9').name | f.get(b'nope')
f[b'gr\xfcn/in\xe9'].name | f[b'/gr\xfcn/in\xe9'].parent.name | f[b'gr\xfcn'][b'in\xe9'].name | f['soft'].name | f['soft'][...].tolist()
int(f[b'caf\xe9'].attrs[b'\xb5m']) | b'\xb5m' in f[b'caf\xe9'].attrs | b'\xb4m' in f[b'caf\xe9'].attrs
f[b'caf\xe9'].attrs.get_id(b'\xb5m').name | [k for k, v in f[b'caf\xe9'].attrs.items()] | dict(f[b'caf\xe9'].attrs)[b'\xb6m'].item()
f.get('away', getlink=True).filename | f['opaque'].dtype | f['opaque'].id.get_type().get_tag()
m.check_enum_dtype(f['enum'].dtype) | f['enum'].id.get_type().get_member_name(0) | f['records'].id.get_type().get_member_name(0)
f[b'ty\xe9'].name | f[f['refs'][0]].name | f[f['refs'][1]].name | m.h5r.get_name(f['refs'][1], f.id)
f['u'].dims[0].label | f['u'].dims[0].keys() | f['u'].dims[0][0].name | repr(f[b'caf\xe9']) | repr(f[b'gr\xfcn']) | repr(f[b'ty\xe9'])
m.h5a.exists(f[b'caf\xe9'].id, b'\xb5m') | m.h5a.open(f[b'caf\xe9'].id, b'\xb5m').name | m.h5ds.get_label(f['u'].id, 0)
"""


def visited(file: Any, method: str) -> list[Any]:
    found: list[Any] = []
    getattr(file, method)(found.append)
    return found


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_names_are_bytes_if_they_are_not_utf8(latin: str, mode: str) -> None:
    expressions = [each for line in EXPRESSIONS.strip().splitlines() for each in line.split(" | ")]
    with h5py.File(latin) as theirs:
        expected = [eval(each, {"f": theirs, "m": h5py, "np": np}) for each in expressions]
        visits = [visited(theirs, method) for method in ("visit", "visit_links")]
    with h5.File(latin, mode) as ours:
        for each, value in zip(expressions, expected):
            assert eval(each, {"f": ours, "m": h5, "np": np}) == value, each
        assert [visited(ours, method) for method in ("visit", "visit_links")] == visits
        # h5py raises an exception here.
        assert b"caf\xe9" in ours and b"caf\xe7" not in ours
        assert ours.get("soft", getlink=True).path == b"/gr\xfcn/in\xe9"
        assert ours.get("away", getlink=True).path == b"/p\xe9"
        assert ours["records"].dtype.names == ("m\udce9", "m\udce8")
        assert ours["records"]["m\udce8"].tolist() == [2, 4]


def change(file: Any, m: Any) -> None:
    file.create_group(b"new\xe9").create_dataset(b"x\xe9", data=[1])
    file[b"new\xe9"].create_dataset(b"y\xe9", data=[2], dtype="i8")
    file.move(b"new\xe9/x\xe9", b"new\xe9/z\xe9")
    file.copy(b"caf\xe9", b"copy\xe9")
    file.copy(file[b"gr\xfcn"], file[b"new\xe9"])
    file[b"hard\xe9"] = file[b"caf\xe9"]
    file[b"set\xe9"] = [3]
    file[b"link\xe9"] = m.ExternalLink(b"a\xe9.h5", b"/x\xe9")
    del file[b"caf\xe8"]
    attributes = file[b"caf\xe9"].attrs
    attributes[b"at\xe9"] = 5
    attributes.create(b"at\xe8", 6)
    m.h5a.rename(file[b"caf\xe9"].id, b"\xb5m", b"\xb7m")
    del attributes[b"\xb6m"]
    file.create_dataset("words", data=[1], dtype=m.enum_dtype({b"w\xe9": 1}, "i1"))


def facts(path: str) -> Any:
    """Return what h5py says about all links, attributes and elements of a file."""
    with h5py.File(path) as file:
        links = visited(file, "visit_links")
        names = [each for each in links if isinstance(file.get(each), h5py.Dataset)]
        attributes = {each: sorted(map(repr, file[each].attrs)) for each in names}
        words = h5py.check_enum_dtype(file["words"].dtype)
        plain = {each: file[each][...].tolist() for each in names if file[each].id.get_type().get_class() == h5t.INTEGER}
        return links, attributes, plain, words


def test_names_that_are_not_utf8_are_written(latin: str, tmp_path: pathlib.Path) -> None:
    paths = [str(tmp_path / name) for name in ("theirs.h5", "ours.h5")]
    for path in paths:
        pathlib.Path(path).write_bytes(pathlib.Path(latin).read_bytes())
    for path, m in zip(paths, (h5py, h5)):
        with m.File(path, "r+") as file:
            # These have names that h5py cannot show.
            del file["records"]
            change(file, m)
    assert facts(paths[1]) == facts(paths[0])
    with h5.File(paths[1], "r+") as file:
        file["soft link"] = h5.SoftLink(b"/gr\xfcn/in\xe9")
        assert file["soft link"][...].tolist() == [0, 1, 2, 3, 4]
        file.create_dataset("again", data=np.zeros(2, np.dtype([("m\udce9", "i4")])))
        assert file.require_group(b"new\xe9").name == b"/new\xe9"
    with h5py.File(paths[1]) as file:
        assert file["again"].id.get_type().get_member_name(0) == b"m\xe9"
        assert file["soft link"].shape == (5,)


def test_the_model_has_the_escapes_of_the_program(latin: str) -> None:
    with sciformats.open(latin) as file:
        assert r"caf\xe9" in file and r"caf\xe8" in file
        assert file[r"caf\xe9"][...].tolist() == [0, 1, 2]
        assert file[r"gr\xfcn/in\xe9"].shape == (5,)
        assert file[r"caf\xe9"].attrs[r"\xb5m"] == 7
    xarray = pytest.importorskip("xarray")
    with xarray.open_dataset(latin, engine="sciformats") as data:
        assert data[r"caf\xe9"].attrs[r"\xb5m"] == 7
        assert data["u"].dims == (r"caf\xe9",)


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_references_that_lead_nowhere(tmp_path: pathlib.Path, mode: str) -> None:
    path = str(tmp_path / "dangling.h5")
    with h5py.File(path, "w") as file:
        file["gone"], file["there"] = np.arange(12).reshape(3, 4), 2
        objects = np.array([file["gone"].ref, file["there"].ref], h5py.ref_dtype)
        file["refs"], file.attrs["ref"] = objects, objects[0]
        file["regions"] = np.array([file["gone"].regionref[1:2, 0:3], file["gone"].regionref[...]], h5py.regionref_dtype)
        file["records"] = np.array([(objects[0], 5)], [("r", h5py.ref_dtype), ("n", "i4")])
        del file["gone"]

    def stored() -> bytes:
        with h5py.File(path) as file:
            space = np.zeros(2, "V8")
            file["refs"].id.read(h5s.ALL, h5s.ALL, space, h5t.STD_REF_OBJ)
            return space.tobytes()

    before = stored()
    with h5.File(path, mode) as file:
        lost = file["refs"][0]
        assert lost and file.get(lost) is None and h5.h5r.get_name(lost, file.id) is None
        with pytest.raises(KeyError):
            file[lost]
        if mode == "r":
            return
        for name in ("refs", "regions", "records"):
            file[name][...] = file[name][...]
            file["copy of " + name] = file[name][...]
        file.copy("refs", "copied refs")
        file.attrs["again"], file.attrs["region"] = file.attrs["ref"], file["regions"][0]
        with h5.File(tmp_path / "other.h5", "w") as other, pytest.raises(ValueError, match="only means something"):
            other["refs"] = file["refs"][...]
    assert stored() == before
    with h5.File(path) as file:
        assert file["copied refs"][0] == lost
        for name in ("refs", "regions"):
            assert [each.path for each in file["copy of " + name]] == [each.path for each in file[name]]
        assert file["copy of records"][0]["r"] == lost and file.attrs["again"] == lost
        assert file.attrs["region"].selection == "(1,0)-(1,2)"


def test_attributes_are_renamed_as_in_h5py(tmp_path: pathlib.Path) -> None:
    kinds = []
    for m in (h5py, h5):
        found: list[Any] = []
        with m.File(tmp_path / f"{m.__name__}.h5", "w") as file:
            of = file.create_dataset("d", data=[1])
            of.attrs["a"], of.attrs["c"] = 1, 2
            for old, new in [(b"a", b"b"), (b"none", b"x"), (b"b", b"c"), (b"b", b"b"), (b"b", b""), (b"", b"z")]:
                try:
                    m.h5a.rename(of.id, old, new)
                    found.append(sorted(of.attrs))
                except Exception as error:
                    found.append(type(error))
            m.h5a.rename(file.id, b"b", b"e", obj_name=b"d")
            found.append(sorted(of.attrs))
        kinds.append(found)
    assert kinds[0] == kinds[1]
