"""Rounding by information: the bits that the program keeps are those that numpy finds by the formulas of the paper, what is missing stays
missing, and h5py reads numbers within the bound of which the attribute tells.

    hdf5_rounding_conform.py EXAMPLE DIR

The program `sciformats` is beside the example. If the package xbitinfo is installed, it finds the bits too, of fields in which nothing is
missing.
"""

import json
import sys
from pathlib import Path

import h5py
import numpy as np

from checks import check, program_in

try:
    import xarray
    import xbitinfo
except ImportError:
    xbitinfo = None

FOLDER = Path(sys.argv[2]).resolve()
program = program_in(Path(sys.argv[1]).resolve().parent / "sciformats", FOLDER)
ATTRIBUTE = "_QuantizeBitRoundNumberOfSignificantBits"
rng = np.random.default_rng(5)
Y, X = np.meshgrid(np.linspace(0, 3, 300), np.linspace(0, 9, 400), indexing="ij")
SMOOTH = 280 + 15 * np.cos(Y) + 4 * np.sin(X * 2)


def fields():
    """Smooth fields with noise of several sizes; values on both sides of zero and of one; and some that must stay."""
    noise = rng.normal(size=SMOOTH.shape)
    made = {f"noise {size}": SMOOTH + size * noise for size in (1e-4, 1e-2, 1.0, 10.0)}
    made["wind"] = 9 * np.sin(3 * X) * np.cos(4 * Y) + 0.1 * noise
    made["share"] = 1 + 0.4 * np.sin(X) + 0.01 * noise
    made["rain"] = np.exp(3 * np.sin(X * 3) * np.cos(Y * 5) + 0.05 * noise)
    # Stations that have nothing to do with each other, through time.
    made["stations"] = np.cumsum(rng.normal(size=(300, 400)), axis=0) * 0.1 + rng.uniform(200, 300, 400) + 0.01 * noise
    made["noise alone"] = 1 + rng.uniform(size=SMOOTH.shape)
    return made


def bits(values):
    """The bits of numbers from the first to the last, with the exponent as a sign and a number."""
    wide = values.dtype.itemsize == 8
    size, explicit = (64, 52) if wide else (32, 23)
    stored = np.ascontiguousarray(values).view("u8" if wide else "u4").astype("u8")
    special = (1 << (size - explicit - 1)) - 1
    bias = special >> 1
    exponent = (stored >> np.uint64(explicit) & np.uint64(special)).astype("i8") - bias
    signed = np.abs(exponent) & bias | np.where(exponent < 0, bias + 1, 0)
    rest = stored & ~np.uint64(special << explicit)
    changed = rest | signed.astype("u8") << np.uint64(explicit)
    return [(changed >> np.uint64(place) & np.uint64(1)).astype(bool) for place in reversed(range(size))]


def information(one, other):
    """The mutual information of two bits, and what chance may seem to give."""
    n = one.size
    joint = np.array([[np.mean(one & other), np.mean(one & ~other)], [np.mean(~one & other), np.mean(~one & ~other)]])
    apart = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    some = joint > 0
    found = np.sum(joint[some] * np.log2(joint[some] / apart[some]))
    return found if found >= 14.3 / (2 * n * np.log(2)) else 0.0


def wanted(values, missing, share):
    """The bits that keep a share of the information; `None` if all stay."""
    explicit = 52 if values.dtype.itemsize == 8 else 23
    usable = np.isfinite(values) & (values != 0) & ~missing
    most = None
    for axis in range(values.ndim):
        cut = lambda array, part: np.take(array, range(*part), axis=axis)
        first, second = (0, values.shape[axis] - 1), (1, values.shape[axis])
        pairs = cut(usable, first) & cut(usable, second)
        per_bit = np.array([information(cut(bit, first)[pairs], cut(bit, second)[pairs]) for bit in bits(values)])
        if per_bit.sum() > 0:
            last = int(np.argmax(np.cumsum(per_bit) >= share * per_bit.sum()))
            most = max(most or 1, last + 1 - (len(per_bit) - explicit))
    return most if most is not None and most < explicit else None


def theirs(values, share):
    """The bits that xbitinfo finds."""
    data = xarray.Dataset({"x": (("a", "b"), values)})
    found = []
    for axis in ("a", "b"):
        per_bit = xbitinfo.get_bitinformation(data, dim=axis, implementation="python")
        found.append(int(xbitinfo.get_keepbits(per_bit, inflevel=share).x.squeeze()))
    return max(found)


def chosen(kind, share):
    def work():
        old, new = f"{kind}-{share}.h5", f"rounded-{kind}-{share}.h5"
        with h5py.File(FOLDER / old, "w") as file:
            for name, values in fields().items():
                file.create_dataset(name, data=values.astype(kind), chunks=(100, 100), compression="gzip", shuffle=True)
        said = json.loads(program("--json", "repack", old, new, "--keep-bits", f"{share}%").stdout)
        told = {one["path"].lstrip("/"): one["bits"] for one in said["rounded"]}
        with h5py.File(FOLDER / old) as one, h5py.File(FOLDER / new) as other:
            for name in one:
                before, after = one[name][...], other[name][...]
                expected = wanted(before.astype(before.dtype.newbyteorder("<")), np.zeros(before.shape, bool), share / 100)
                found = other[name].attrs.get(ATTRIBUTE)
                assert found == expected == told.get(name), f"{name}: {found}, numpy finds {expected}, told {told.get(name)}"
                bound = 0 if found is None else 2.0 ** -(int(found) + 1)
                assert np.all(np.abs(after - before) <= bound * np.abs(before)), name
                if xbitinfo is not None and found is not None and name != "stations" and share == 99:
                    # It leaves out bits in another way, those with no more than half as much again as the largest of the last four, so along
                    # an axis without relations, and for shares near 100 %, it takes chance for information.
                    number = theirs(before.astype(before.dtype.newbyteorder("=")), share / 100)
                    assert abs(number - found) <= 1, f"{name}: {found}, xbitinfo finds {number}"
            assert ATTRIBUTE not in other["noise alone"].attrs
            assert 0 < sum(np.any(one[name][...] != other[name][...]) for name in one)

    check(f"information: {kind}, {share} %", work)


def missing():
    """Every kind of mark, also as a number of another size, and numbers that rounding would make a mark."""
    with h5py.File(FOLDER / "marks.h5", "w") as file:
        values = (SMOOTH + rng.normal(size=SMOOTH.shape)).astype("f4")
        for at, mark in enumerate([np.nan, np.inf, -999.0, 1e20, 9.96921e36, 1e30]):
            values.ravel()[at::37] = mark
        values.ravel()[10::37] = -999.3
        made = file.create_dataset("x", data=values, chunks=(100, 100), fillvalue=np.float32(1e20))
        made.attrs["_FillValue"] = np.float32(1e20)
        made.attrs["missing_value"] = -999.0
        made.attrs["valid_max"] = np.float32(1e10)
    for options in (["--keep-bits", "99%"], ["--keep-bits", "4"], ["--keep-digits", "2"]):
        program("repack", "--force", "marks.h5", "marked.h5", *options)
        with h5py.File(FOLDER / "marks.h5") as one, h5py.File(FOLDER / "marked.h5") as other:
            before, after = one["x"][...], other["x"][...]
            mask = lambda x: ~np.isfinite(x) | (x == -999) | (x == np.float32(1e20)) | (x > np.float32(1e10))
            assert np.array_equal(mask(before), mask(after)), options
            assert before[mask(before)].tobytes() == after[mask(after)].tobytes(), options
            assert np.any(before[~mask(before)] != after[~mask(after)]), options


def converted():
    """`convert` into HDF5 rounds too, and into other formats it refuses."""
    np.save(FOLDER / "field.npy", SMOOTH + rng.normal(size=SMOOTH.shape))
    program("convert", "field.npy", "field.h5", "--keep-bits", "auto")
    with h5py.File(FOLDER / "field.h5") as file:
        (made,) = file.values()
        assert 1 <= made.attrs[ATTRIBUTE] <= 20, dict(made.attrs)
    program("convert", "field.npy", "field.asdf", "--keep-bits", "auto", status=2)


if __name__ == "__main__":
    for kind in ("<f4", "<f8", ">f4"):
        for share in (99, 99.9):
            chosen(kind, share)
    check("what is missing", missing)
    check("convert", converted)
