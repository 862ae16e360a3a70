"""What `sciformats convert` keeps, as the libraries of the target's formats read it; and what it rescues of damaged files.

    hdf5_convert_conform.py EXAMPLE DIR

The program `sciformats` is beside the example. Every array of every fixture is converted to each other format, as far as that can hold
it, and read with h5py, asdf, blosc2, gsd and NumPy: the values are those that the source's library reads. Files of the library are then
damaged and cut: what is left of them is written, and what is lost is told.
"""

import json
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import asdf
import blosc2
import gsd.fl
import h5py
import hdf5plugin  # noqa: F401, the filters of fixtures
import netCDF4
import numpy as np

from checks import check, program_in

FOLDER = Path(sys.argv[2]).absolute()
PROGRAM = Path(sys.argv[1]).parent / "sciformats"
program = program_in(PROGRAM, FOLDER)
FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
warnings.simplefilter("ignore")

ENDINGS = {"hdf5": "h5", "asdf": "asdf", "blosc2": "b2nd", "gsd": "gsd", "rawarray": "ra", "npy": "npy"}


# --- values -----------------------------------------------------------------------------------------------------------


def words(value):
    """Text of any kind as a list of str, without padding."""
    if isinstance(value, np.ndarray):
        return [words(one) for one in value.reshape(-1)]
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)
    return text.rstrip("\0 ")


def same(a, b):
    """Whether two arrays have the same values; shapes may differ by what a format flattens."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.names or b.dtype.names:
        return a.dtype.names == b.dtype.names and all(same(a[name], b[name]) for name in a.dtype.names)
    if a.size != b.size:
        return False
    a, b = a.reshape(-1), b.reshape(-1)
    kinds = a.dtype.kind + b.dtype.kind
    if any(kind in "SUOT" for kind in kinds):
        return words(a) == words(b)
    if "V" in kinds:
        return [bytes(one) for one in a] == [bytes(one) for one in b]
    if all(kind in "biu" for kind in kinds):
        return a.astype(object).tolist() == b.astype(object).tolist()
    wide = np.complex128 if "c" in kinds else np.float64
    return np.array_equal(a.astype(wide), b.astype(wide), equal_nan=True)


def rawarray(path):
    """An array as NumPy has it; values of the types that it has."""
    data = Path(path).read_bytes()
    _flags, kind, width, _size, count = struct.unpack("<5Q", data[8:48])
    dims = struct.unpack(f"<{count}Q", data[48 : 48 + 8 * count])
    dtype = {0: f"V{width}", 1: f"<i{width}", 2: f"<u{width}", 3: f"<f{width}", 4: f"<c{width}", 5: "?"}[kind]
    if (kind, width) in [(4, 4), (5, 2)] or width == 16 and kind != 4:
        dtype = f"V{width}"
    elements = int(np.prod(dims, dtype=object)) if dims else 1
    return np.frombuffer(data, dtype, elements, 48 + 8 * count).reshape(dims[::-1])


def read(path, target, name):
    """The array that was `name` in a tree, as the format's own library reads it."""
    if target == "npy":
        return np.load(path)
    if target == "blosc2":
        return blosc2.open(str(path), mode="r")[...]
    if target == "rawarray":
        return rawarray(path)
    if target == "gsd":
        with gsd.fl.open(str(path), mode="r") as file:
            return file.read_chunk(0, name.strip("/") or "data")
    if target == "hdf5":
        with h5py.File(path) as file:
            return file[name.strip("/") or "data"][()]
    with asdf.open(path, memmap=False, lazy_load=False) as file:
        found = file.tree
        for part in (name.strip("/") or "data").split("/"):
            found = found[int(part)] if isinstance(found, list) else found[part]
        return np.array(found)


def simple(dtype):
    """Types that every format has."""
    return dtype.kind in "iuf" and dtype.itemsize in (1, 2, 4, 8) and not (dtype.kind == "f" and dtype.itemsize < 4)


# --- fixtures ---------------------------------------------------------------------------------------------------------


def hdf5_arrays(path):
    with h5py.File(path) as file:
        found, seen = {}, {h5py.h5o.get_info(file.id).addr}

        def visit(group, path):
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    continue
                try:
                    item = group[name]
                    address = h5py.h5o.get_info(item.id).addr
                    if address in seen:
                        continue
                    seen.add(address)
                    if isinstance(item, h5py.Group):
                        visit(item, f"{path}/{name}")
                    elif isinstance(item, h5py.Dataset) and item.shape is not None and item.size < 1 << 20:
                        found[f"{path}/{name}"] = item[()]
                except Exception:  # what the library cannot read is no part of this
                    continue

        visit(file, "")
        return found


def single(path, load):
    try:
        return {"/": load(path)}
    except Exception:
        return {}


def blosc2_array(path):
    return blosc2.open(str(path), mode="r")[...]


def asdf_arrays(path):
    """The arrays of a tree by the paths that the program has for them, each at the first of its places."""
    found, seen = {}, set()

    def visit(item, path):
        if id(item) in seen:
            return
        seen.add(id(item))
        if isinstance(item, np.ndarray) or type(item).__name__ == "NDArrayType":
            found[path or "/"] = np.array(item)
        elif isinstance(item, (dict, list)):
            members = item.items() if isinstance(item, dict) else enumerate(item)
            for key, value in members:
                visit(value, f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}")

    try:
        with asdf.open(path, memmap=False, lazy_load=False) as file:
            visit(file.tree, "")
    except Exception:  # what the library cannot read is no part of this
        return {}
    return found


SOURCES = {
    "hdf5": ("*.h5", hdf5_arrays),
    "asdf": ("*.asdf", asdf_arrays),
    "blosc2": ("*.b2nd", lambda path: single(path, blosc2_array)),
    "rawarray": ("*.ra", lambda path: single(path, plain_rawarray)),
}


def plain_rawarray(path):
    data = Path(path).read_bytes()
    assert struct.unpack("<Q", data[8:16]) == (0,), "encoded, or of another byte order"
    return rawarray(path)


def fixture(path, source, arrays, target):
    """All arrays of a file into one format."""
    out = FOLDER / f"out.{ENDINGS[target]}"
    kept = 0
    for name, expected in arrays.items():
        expected = np.asarray(expected)
        done = program("convert", path, out, "--lossy", "--force", "--json", "--select", name, status=(0, 1, 3))
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        dry = program("convert", path, out, "--lossy", "--dry-run", "--json", "--select", name, status=(0, 1, 3))
        assert (dry.returncode == 0) == (done.returncode == 0), f"{name}: a dry run says otherwise: {done.stderr}"
        losses = [line["loss"] for line in lines if line.get("path") == name]
        refused = done.returncode != 0 or any("is left out" in loss for loss in losses)
        if refused:
            why = done.stderr + " ".join(losses)
            allowed = not simple(expected.dtype) or expected.size == 0 or expected.ndim > 16
            assert allowed, f"{name} of {expected.dtype} is refused: {why}"
            continue
        found = read(out, target, name)
        if target == "npy" and any("become opaque" in loss for loss in losses):
            found = np.asarray(found).view(f"V{found.dtype.itemsize}")
            expected = expected.view(f"V{expected.dtype.itemsize}") if expected.dtype.kind in "fc" else expected
        if any("become opaque" in loss or "bfloat16" in loss or "complex32" in loss for loss in losses):
            kept += 1  # bytes, which the library of the source has in its own way
            continue
        assert same(found, expected), f"{name}: {str(found)[:200]} instead of {str(expected)[:200]}"
        kept += 1
    return kept


def fixtures():
    for source, (pattern, load) in SOURCES.items():
        for path in sorted((FIXTURES / source).glob(pattern)):
            # Types that NumPy lacks, and what lies in a file beside the array.
            if source == "rawarray" and path.name.startswith(("bf2", "c4", "interrupted", "unknown")):
                continue
            arrays = load(path)
            if not arrays:
                continue
            for target in ENDINGS:
                if target != source:
                    check(
                        f"convert: {source} to {target}, {path.name}",
                        lambda: fixture(path, source, arrays, target),
                    )


# --- types ------------------------------------------------------------------------------------------------------------


def array_elements():
    path = FOLDER / "arrays.h5"
    with h5py.File(path, "w") as file:
        kind = h5py.h5t.array_create(h5py.h5t.STD_I32LE, (3,))
        space = h5py.h5s.create_simple((5,))
        made = h5py.h5d.create(file.id, b"a", kind, space)
        made.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(15, dtype="<i4").reshape(5, 3), mtype=kind)
    expected = np.arange(15).reshape(5, 3)
    for target, ending in ENDINGS.items():
        if target == "hdf5":
            continue
        out = FOLDER / f"arrays.{ending}"
        told = program("convert", path, out, "--force").stdout
        assert "further dimensions" in told, told
        found = read(out, target, "/a")
        assert found.shape == (5, 3) and same(found, expected), f"{target}: {found}"
    npy = FOLDER / "cat.npy"
    npy.write_bytes(subprocess.run([PROGRAM, "cat", path, "/a", "--format", "npy"], capture_output=True).stdout)
    assert same(np.load(npy), expected)


def compound_text():
    path = FOLDER / "compound.h5"
    inner = np.dtype([("t", "S3"), ("v", "<f4", (2,))])
    dtype = np.dtype([("name", "S16"), ("x", "<f8"), ("p", "<i4", (2, 2)), ("in", inner), ("tags", "S2", (2,))])
    rows = np.zeros(3, dtype)
    rows["name"] = [b"north", b"", b"a name of 16 byt"]
    rows["x"], rows["p"] = [1.5, 2.5, 3.5], np.arange(12).reshape(3, 2, 2)
    rows["in"]["t"], rows["in"]["v"] = [b"a", b"bc", b"def"], np.arange(6).reshape(3, 2)
    rows["tags"] = [[b"a", b"b"], [b"cd", b""], [b"", b"e"]]
    with h5py.File(path, "w") as file:
        file["rows"] = rows
    for target in ["npy", "asdf", "blosc2"]:
        out = FOLDER / f"compound.{ENDINGS[target]}"
        program("convert", path, out, "--force")
        assert same(read(out, target, "/rows"), rows), f"{target}: {read(out, target, '/rows')}"
    assert np.load(FOLDER / "compound.npy").dtype["name"] == np.dtype("S16")


def raw(kind, width, dims, payload, tail=b""):
    head = struct.pack(f"<8s{5 + len(dims)}Q", b"rawarray", 0, kind, width, len(payload), len(dims), *dims)
    return head + payload + tail


def metadata():
    path = FOLDER / "meta.ra"
    for tail in [b"volts", b"\xff\0\x01", b"x" * 5000]:
        values = np.arange(6, dtype="<f4")
        path.write_bytes(raw(3, 4, (3, 2), values.tobytes(), tail))
        for command in ["convert", "repack"]:
            program(command, path, "again.ra", "--force")
            assert (FOLDER / "again.ra").read_bytes() == path.read_bytes(), f"{command} changes the bytes"
        program("convert", path, "meta.h5", "--force")
        with h5py.File(FOLDER / "meta.h5") as file:
            found = file.attrs["rawarray:metadata"]
            assert (found.encode() if isinstance(found, str) else bytes(found)) == tail
            assert same(file["data"][()], values)
        program("convert", "meta.h5", "again.ra", "--force")
        assert (FOLDER / "again.ra").read_bytes() == path.read_bytes(), "by way of HDF5"
        told = program("convert", path, "meta.npy", "--force", status=1).stdout
        assert "bytes after its array" in told, told
        program("convert", path, "meta.npy", "--force", "--lossy")
        assert same(np.load(FOLDER / "meta.npy"), values)


def half_floats():
    path = FOLDER / "half.ra"
    values = np.array([1.5, -2, np.nan, 65504], "<f2")
    path.write_bytes(raw(3, 2, (4,), values.tobytes()))
    for target in ["hdf5", "asdf", "npy", "blosc2", "gsd"]:
        out = FOLDER / f"half.{ENDINGS[target]}"
        program("convert", path, out, "--force", "--lossy")
        assert same(read(out, target, "/"), values), f"{target}: {read(out, target, '/')}"
    path.write_bytes(raw(3, 16, (2,), np.arange(2, dtype=np.longdouble).tobytes()))
    told = program("convert", path, "long.npy", "--force").stdout
    assert "remain bytes" in told, told
    assert np.load(FOLDER / "long.npy").tobytes() == np.arange(2, dtype=np.longdouble).tobytes()


def empty_inline():
    path = FOLDER / "empty.asdf"
    shapes = [(0,), (0, 2), (2, 0), (2, 0, 3), (0, 0), (1, 0, 0), (3, 2, 0)]
    kinds = ["f8", "i2", "c16", "U4", "?", [("a", "i4"), ("b", "f4", (2,))]]
    tree = {f"a{i}_{k}": np.zeros(shape, kind) for i, shape in enumerate(shapes) for k, kind in enumerate(kinds)}
    asdf.AsdfFile(tree).write_to(path, all_array_storage="inline")
    program("convert", path, "empty.h5", "--force", "--lossy")
    with h5py.File(FOLDER / "empty.h5") as file:
        for name, value in tree.items():
            assert file[name].shape == value.shape, f"{name}: {file[name].shape} instead of {value.shape}"


# --- what is damaged --------------------------------------------------------------------------------------------------


def fifteen(path, **options):
    with h5py.File(path, "w", **options) as file:
        for i in range(15):
            filters = {"compression": "gzip"} if i % 2 else {}
            file.create_dataset(f"d{i:02}", data=np.arange(20_000.0) + i, chunks=(1000,), fillvalue=-1, **filters)


def one_bad_chunk():
    path = FOLDER / "bad.h5"
    fifteen(path)
    with h5py.File(path) as file:
        at = file["d03"].id.get_chunk_info(7).byte_offset
    data = bytearray(path.read_bytes())
    data[at + 10 : at + 60] = bytes(50)
    path.write_bytes(data)
    expected = {f"d{i:02}": np.arange(20_000.0) + i for i in range(15)}
    expected["d03"][7000:8000] = -1
    for target in ["asdf", "hdf5", "gsd"]:
        out = FOLDER / f"rescued.{ENDINGS[target]}"
        out.unlink(missing_ok=True)
        if target != "hdf5":
            failed = program("convert", path, out, status=3)
            assert "/d03" in failed.stderr and "--lossy" in failed.stderr, failed.stderr
            assert not out.exists()
        done = program("convert", path, out, "--lossy", "--json")
        lost = [json.loads(line) for line in done.stdout.splitlines()]
        lost = [line for line in lost if "chunk" in line]
        keys = ("path", "chunk", "first", "elements", "bytes")
        assert [[line[key] for key in keys] for line in lost] == [["/d03", [7], [7000], 1000, 8000]], lost
        assert lost[0]["reason"], lost
        for name, values in expected.items():
            assert same(read(out, target, "/" + name), values), f"{target}: {name}"
        shown = program("convert", path, out, "--lossy", "--force").stdout
        assert "/d03 chunk (7), 8000 bytes starting at element (7000)" in shown, shown


def unknown_filter():
    path = FOLDER / "unknown.h5"
    with h5py.File(path, "w") as file:
        made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        made.set_chunk((4,))
        made.set_filter(h5py.h5z.FILTER_FLETCHER32, 0)
        space = h5py.h5s.create_simple((8,))
        one = h5py.h5d.create(file.id, b"odd", h5py.h5t.STD_I32LE, space, made)
        one.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(8, dtype="<i4"))
        file["good"] = np.arange(5)
    data = path.read_bytes()
    # The filter's number in the message of the pipeline: version, count, six bytes, then the number.
    at = data.index(b"\x01\x01" + bytes(6) + b"\x03\0")
    path.write_bytes(data[: at + 8] + struct.pack("<H", 64_123) + data[at + 10 :])
    told = program("convert", path, "unknown.asdf", "--dry-run", status=1).stdout
    assert "/odd" in told and "64123" in told, told
    program("convert", path, "unknown.asdf", status=1)
    program("convert", path, "unknown.asdf", "--lossy", "--force")
    assert same(read(FOLDER / "unknown.asdf", "asdf", "/good"), np.arange(5))
    assert same(read(FOLDER / "unknown.asdf", "asdf", "/odd"), np.zeros(8))


def cut_single(target):
    path, cut = FOLDER / f"whole.{ENDINGS[target]}", FOLDER / f"cut.{ENDINGS[target]}"
    values = np.arange(1000, dtype="<f8").reshape(20, 50)
    if target == "npy":
        np.save(path, values)
    elif target == "rawarray":
        path.write_bytes(raw(3, 8, (50, 20), values.tobytes()))
    else:
        asdf.AsdfFile({"data": values, "more": values + 1}).write_to(path)
    data = path.read_bytes()
    missing = 100 if target != "asdf" else values.nbytes // 2
    cut.write_bytes(data[:-missing])
    words = f"cut short: {len(data) - missing:,} of {len(data):,} bytes"
    if target == "asdf":  # its last block ends before its index does
        words = words.split(" of ")[0]
    told = program("verify", cut, status=1).stdout
    assert words in told, told
    told = program("convert", cut, "cut.h5", "--force", status=1).stdout
    assert words in told, told
    done = program("convert", cut, "cut.h5", "--force", "--lossy", "--json")
    lost = [line for line in map(json.loads, done.stdout.splitlines()) if "bytes" in line and "reason" in line]
    with h5py.File(FOLDER / "cut.h5") as file:
        if target == "asdf":
            assert same(file["data"][()], values)
            assert lost and lost[0]["path"] == "/more", done.stdout
            return
        expected = values.reshape(-1).copy()
        expected[-13:] = 0
        assert same(file["data"][()], expected)
    assert [(line["elements"], line["bytes"]) for line in lost] == [(13, 104)], lost


def cut_hdf5():
    """The group is at the start of the file, and elements at the end of it are missing."""
    path = FOLDER / "long.h5"
    with h5py.File(path, "w") as file:
        for name in ["a", "b", "c"]:
            file.create_dataset(name, (4000,), "<f8", fillvalue=2)
        file.flush()
        for i, name in enumerate(["a", "b", "c"]):
            file[name][...] = np.arange(4000.0) + i
    data = path.read_bytes()
    cut = FOLDER / "cut-long.h5"
    cut.write_bytes(data[:-20_000])
    told = program("convert", cut, "cut-long.asdf", "--force", "--lossy").stdout
    assert f"cut short: {len(data) - 20_000:,} of {len(data):,} bytes" in told, told
    for i, name in enumerate(["a", "b", "c"]):
        found = read(FOLDER / "cut-long.asdf", "asdf", "/" + name)
        there = np.arange(4000.0) + i
        kept = found == there
        first = int(np.argmin(kept)) if not kept.all() else 4000
        assert first == 4000 or (found[first:] == 2).all(), f"{name}: {found}"
        assert name != "a" or first == 4000, "the first array is whole"
    assert f"of {len(data):,} bytes" in program("verify", cut, status=1).stdout


def selected():
    """Of a netCDF-4 file one variable and its dimensions, stored as before; alone, it tells what it referred to."""
    with netCDF4.Dataset(FOLDER / "grid.nc", "w") as file:
        for name, length in (("time", None), ("y", 30), ("x", 40)):
            file.createDimension(name, length)
            axis = file.createVariable(name, "f8", (name,))
            axis.units = "m"
            axis[:] = np.arange(length or 5)
        for name in ("tas", "pr"):
            how = dict(zlib=True, complevel=3, shuffle=True, chunksizes=(1, 15, 20), fill_value=-9e9)
            variable = file.createVariable(name, "f4", ("time", "y", "x"), **how)
            variable.long_name = name
            variable[:] = np.arange(6000).reshape(5, 30, 40)
    axes = [part for name in ("/time", "/y", "/x") for part in ("--select", name)]
    told = program("convert", "grid.nc", "tas.h5", "--to", "hdf5", "--select", "/tas", status=1).stdout
    assert "/tas@DIMENSION_LIST has 3 references to missing objects" in told, told
    assert not (FOLDER / "tas.h5").exists()
    program("convert", "grid.nc", "tas.h5", "--to", "hdf5", "--select", "/tas", "--lossy", "--check")
    program("convert", "grid.nc", "tas.nc", "--to", "hdf5", "--select", "/tas", *axes, "--lossy", "--check")
    with h5py.File(FOLDER / "grid.nc") as old:
        for name in ("tas.h5", "tas.nc"):
            with h5py.File(FOLDER / name) as new:
                assert ("pr" in new, "y" in new) == (False, name == "tas.nc"), list(new)
                a, b = old["tas"], new["tas"]
                for fact in ("dtype", "shape", "maxshape", "chunks", "compression", "compression_opts", "shuffle", "fillvalue"):
                    assert getattr(a, fact) == getattr(b, fact), f"{name}: {fact}"
                assert (a[:] == b[:]).all() and b.attrs["long_name"] == a.attrs["long_name"]
    with netCDF4.Dataset(FOLDER / "tas.nc") as file:
        assert file["tas"].dimensions == ("time", "y", "x") and file.dimensions["time"].isunlimited()
        assert file["tas"][4, 29, 39] == 5999 and file["y"].units == "m"


def cut_gsd():
    """Frames before the cut are whole, and the others are told."""
    with gsd.fl.open(FOLDER / "run.gsd", "w", application="a", schema="s", schema_version=[1, 0]) as file:
        for i in range(20):
            file.write_chunk("position", np.arange(3000, dtype="f4").reshape(1000, 3) + i)
            file.end_frame()
    data = (FOLDER / "run.gsd").read_bytes()
    (FOLDER / "run-cut.gsd").write_bytes(data[: len(data) // 2])
    told = program("verify", "run-cut.gsd", status=1).stdout
    assert f"cut short: {len(data) // 2:,} of {len(data):,} bytes" in told, told
    told = program("convert", "run-cut.gsd", "run-rest.h5", "--lossy").stdout
    assert "cut short" in told, told
    with h5py.File(FOLDER / "run-rest.h5") as file:
        frames = [file[f"frames/{i}/position"][:] for i in range(20)]
    whole = [(frame == np.arange(3000).reshape(1000, 3) + i).all() for i, frame in enumerate(frames)]
    assert whole.index(False) in range(8, 11) and not any(whole[whole.index(False) :]), whole
    assert not frames[-1].any(), "what is lost is zeros"


def answers():
    """What the content of a file refuses is the answer no; a wrong command line is another thing."""
    fifteen(FOLDER / "many.h5")
    program("convert", "many.h5", "one.npy", status=1)
    program("convert", "many.h5", "one.unknown", status=2)
    program("convert", "many.h5", "one.asdf", "--filter", "nothing", status=2)
    told = program("explode", "many.h5", status=1)
    assert "ASDF" in told.stderr and "malformed" not in told.stderr, told.stderr
    told = program("convert", "many.h5", "small.asdf", "--filter", "zstd", "--force").stdout
    assert "asdf-compression" in told, told


fixtures()
check("convert: elements that are arrays", array_elements)
check("convert: text in compounds", compound_text)
check("convert: bytes after RawArray's elements", metadata)
check("convert: floating-point numbers of RawArray", half_floats)
check("convert: inline arrays of asdf without elements", empty_inline)
check("rescue: one bad chunk", one_bad_chunk)
check("rescue: an unknown filter", unknown_filter)
for format in ["npy", "rawarray", "asdf"]:
    check(f"rescue: {format} that was cut short", lambda: cut_single(format))
check("rescue: HDF5 that was cut short", cut_hdf5)
check("rescue: GSD that was cut short", cut_gsd)
check("convert: what is selected stays as it is stored", selected)
check("convert: answers", answers)
