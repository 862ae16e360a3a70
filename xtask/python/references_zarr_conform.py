"""References of the program beside zarr-python: every array that is referenced or inlined has the values that `cat` gives, and
every array that `ls` lists is referenced, inlined, or refused with a reason.

    references_zarr_conform.py PROGRAM DIR [FILE...]

zarr-python reads through the ReferenceFileSystem of fsspec. Without files, these are all fixtures.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

import fsspec
import numpy
import zarr

from checks import check

warnings.simplefilter("ignore")
PROGRAM = sys.argv[1]
FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
FORMATS = ["hdf5", "asdf", "blosc2", "gsd", "rawarray"]
COUNTS = {"referenced": 0, "inlined": 0, "link": 0, "scalar": 0, "refused": 0}


def run(*args):
    """The exit status, what the program prints, and what it says."""
    done = subprocess.run([PROGRAM, "--quiet", *map(str, args)], capture_output=True)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def arrays(path):
    """The arrays that `ls` lists."""
    status, out, _ = run("ls", "-r", "--json", path)
    lines = [json.loads(line) for line in out.decode().splitlines()]
    return {line["path"] for line in lines if line["kind"] == "array"}


def plain(value):
    """Values as lists, texts and numbers, with every kind of NaN equal."""
    if isinstance(value, numpy.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return [plain(one) for one in value.values()]
    if isinstance(value, bytes):
        return value.rstrip(b"\0").decode(errors="replace")
    if isinstance(value, numpy.generic):
        return plain(value.item())
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value


LARGE = 1 << 28  # bytes; of larger arrays both ends are compared


def compared(path, name, array, damaged):
    """The array that zarr-python reads is the array that the program prints."""
    if array.ndim and array.nbytes > LARGE:
        same(path, name, numpy.asarray(array[:10]), ["--slice", ":10"], damaged)
        same(path, name, numpy.asarray(array[-10:]), ["--slice", "-10:"], damaged)
    else:
        same(path, name, numpy.asarray(array[...]), [], damaged)


def same(path, name, found, part, damaged):
    """A part of an array. Where the list of a group is damaged, `cat` does not look for members."""
    status, out, said = run("cat", path, name, "--raw", "--format", "npy", *part)
    if status == 0:
        wanted = numpy.load(io.BytesIO(out), allow_pickle=False)
        assert found.shape == wanted.shape, f"{name}: the shape is {found.shape}, not {wanted.shape}"
        if found.dtype == bool and wanted.dtype == "i1":
            # h5py's truth values are an enumeration of HDF5, which `cat` prints as the numbers that are stored.
            wanted = wanted.astype(bool)
        if found.dtype.names is None and wanted.dtype.names is None and found.dtype.kind not in "OSVUT" and wanted.dtype.kind not in "OSVUT":
            assert found.dtype.kind == wanted.dtype.kind, f"{name}: the type is {found.dtype}, not {wanted.dtype}"
            assert numpy.array_equal(found, wanted, equal_nan=found.dtype.kind in "fc"), f"{name}: values differ: {found.ravel()[:6]}, not {wanted.ravel()[:6]}"
            if found.dtype.kind == "b":
                assert numpy.array_equal(found.view("u1"), wanted.view("u1")), f"{name}: a bool is neither 0 nor 1"
            return
        if found.dtype.kind == "V" and found.dtype.names is None:
            assert found.tobytes() == wanted.tobytes(), f"{name}: bytes differ"
            return
        assert plain(found) == plain(wanted), f"{name}: {str(plain(found))[:200]}, not {str(plain(wanted))[:200]}"
        return
    status, out, said = run("cat", path, name, "--raw", "--json", *part)
    if status != 0 and damaged:
        return
    assert status == 0, f"{name}: `cat` says {said}"
    wanted = plain(json.loads(out))
    assert plain(found) == wanted, f"{name}: {str(plain(found))[:200]}, not {str(wanted)[:200]}"


def consistent(refs):
    """Within a group a dimension has one length, as xarray wants."""
    lengths = {}
    for key in [key for key in refs if key.split("/")[-1] == ".zarray"]:
        array = key[: -len("/.zarray")]
        shape = json.loads(refs[key])["shape"]
        names = json.loads(refs[f"{array}/.zattrs"])["_ARRAY_DIMENSIONS"]
        assert len(names) == len(shape) == len(set(names)), f"{array}: the dimensions are {names}"
        for name, length in zip(names, shape):
            assert lengths.setdefault((array.rpartition("/")[0], name), length) == length, f"{array}: {name} has two lengths"


def compare(path, folder):
    """One file."""
    path = os.path.abspath(path)
    out = os.path.join(folder, "references.json")
    listed = arrays(path)
    status, _, said = run("references", path, "-o", out, "--force", "--json")
    if not os.path.exists(out):
        assert status != 0 and said.strip(), f"there are no references, the exit status is {status}, and nothing is said"
        return
    told = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    entries = {one["path"]: one for one in told if "attribute" not in one and "note" not in one}
    dimensions = {one["path"] for one in told if "netCDF dimension without a variable" in one.get("note", "")}
    for name in listed - dimensions:
        assert name in entries, f"{name} is left out"
    words = [one["treatment"] for one in entries.values()]
    assert status == (1 if "refused" in words else 0), f"the exit status is {status}"
    size = os.path.getsize(path) if os.path.isfile(path) else 0
    with open(out) as file:
        refs = json.load(file)["refs"]
    for key, place in refs.items():
        if isinstance(place, list):
            assert len(place) == 3 and 0 <= place[1] and place[1] + place[2] <= size, f"{key} lies outside of the file: {place}"
        elif not place.startswith("base64:"):
            json.loads(place)
    consistent(refs)
    fs = fsspec.filesystem("reference", fo=out, remote_protocol="file", asynchronous=True, remote_options={"asynchronous": True, "auto_mkdir": False}, skip_instance_cache=True)
    root = zarr.open_group(zarr.storage.FsspecStore(fs, read_only=True), mode="r", zarr_format=2, use_consolidated=False)
    damaged = any(entry["treatment"] == "refused" and f"{name.rstrip('/')}/" == key[: len(name.rstrip("/")) + 1] for name, entry in entries.items() for key in entries if key != name)
    for name, entry in entries.items():
        word = entry["treatment"]
        COUNTS[word] += 1
        key = "data" if name == "/" else name.strip("/")
        if word in ("link", "scalar", "refused"):
            assert entry["reason"], f"{name} is left out without a reason"
            assert f"{key}/.zarray" not in refs, f"{name} is left out, and yet there"
            continue
        try:
            compared(path, name, root[key], damaged)
        except AssertionError:
            raise
        except Exception as error:
            # Stored bytes that are damaged are an error in every reader.
            status, _, _ = run("cat", path, name, "--raw", "--format", "npy")
            if status == 0:
                raise AssertionError(f"{name}: {word}: {type(error).__name__}: {error}") from error


def fixtures():
    """All fixtures, damaged ones among them, and the groups of their cases."""
    for form in FORMATS:
        for path in sorted((FIXTURES / form).rglob("*")):
            inside = path.relative_to(FIXTURES / form).parts
            # A folder may be a file of its format in parts.
            part = any(parent.suffix == ".b2frame" for parent in path.parents)
            if not part and inside[0] != "expected" and (path.is_file() or path.suffix == ".b2frame"):
                yield f"json {form}: {'/'.join(inside)}", str(path)


if __name__ == "__main__":
    for name in ["zarr", "fsspec", "numcodecs"]:
        print(json.dumps({"peer": f"{name} {version(name)}"}))
    given = [(f"json: {'/'.join(path.split('/')[-3:])}", path) for path in sys.argv[3:]]
    with tempfile.TemporaryDirectory(dir=sys.argv[2]) as folder:
        for case, path in given or fixtures():
            for old in os.listdir(folder):
                os.remove(os.path.join(folder, old))
            check(case, lambda: compare(path, folder))
    print(f"{COUNTS}", file=sys.stderr)
