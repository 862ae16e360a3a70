"""What `sciformats repack` and `convert` keep of RawArray and npy files: one array each, and everything that is said of it.

    rawarray_repack_conform.py EXAMPLE DIR

The program `sciformats` is beside the example. NumPy and the module `rawarray_format` write files of all kinds of elements, which
are written anew and must be the same byte for byte; with another encoding, elements and their type are the same.
"""

import sys
from pathlib import Path

import numpy as np

from checks import check, program_in

FOLDER = Path(sys.argv[2])
program = program_in(Path(sys.argv[1]).parent / "sciformats", FOLDER)
FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "rawarray"

ARRAYS = {
    "big-endian": np.arange(6, dtype=">f8"),
    "columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "columns, big-endian": np.asfortranarray(np.arange(12, dtype=">i2").reshape(3, 4)),
    "days": np.array(["2020-01-01", "NaT"], "M8[D]"),
    "spans": np.array([1, 2], "m8[25ns]"),
    "long floats": np.arange(3, dtype="g"),
    "long complex numbers": np.arange(2, dtype="G"),
    "wide text": np.array(["ab", "ü"], "U7"),
    "wide text, big-endian": np.array(["ab", "ü"], ">U7"),
    "bytes": np.array([b"ab\xff", b""], "S5"),
    "void": np.zeros(3, "V7"),
    "records": np.zeros(2, [("a", ">i4"), ("b", "S9"), ("c", "<f4", (2,))]),
    "aligned records": np.zeros(2, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    "titles": np.zeros(2, np.dtype([(("long name", "a"), "i4")])),
    "scalar": np.float64(3),
    "nothing": np.zeros((0, 3)),
    "truths": np.array([True, False]),
}


def same(source, *commands):
    new = source.parent / f"new-{source.name}"
    for command in commands:
        program(command, "--force", source, new)
        assert new.read_bytes() == source.read_bytes(), f"{command}: other bytes"


def shorter(source, filter):
    """Another encoding and back: the file that it was, but for one that is encoded itself."""
    new, again = source.parent / f"new-{source.name}", source.parent / f"again-{source.name}"
    program("repack", "--force", source, new, "--filter", filter)
    program("repack", "--force", new, again, "--filter", "none")
    assert again.read_bytes() == source.read_bytes(), "other bytes"


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, array in ARRAYS.items():
        path = FOLDER / f"{name}.npy"
        np.save(path, array)
        check(f"kept: npy, {name}", lambda: same(path, "repack", "convert"))
    for fixture in sorted(FIXTURES.glob("*.ra")):
        # What an edit that was cut short left is not kept.
        if "interrupted" in fixture.name:
            continue
        path = FOLDER / fixture.name
        path.write_bytes(fixture.read_bytes())
        check(f"kept: {path.name}", lambda: same(path, "repack", "convert"))
        # Those of the Julia package say of floating-point numbers that they are bits, which means nothing.
        encoded = path.name.startswith(("bits", "julia", "leb128", "lz4"))
        if not encoded and "unknown" not in path.name:
            check(f"kept: {path.name}, by lz4 and back", lambda: shorter(path, "lz4"))


main()
