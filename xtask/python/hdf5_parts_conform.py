"""Files that the C library spreads over several files by kind of content: the program reads what h5py reads, refuses to edit it, and makes
one file of it.

    hdf5_parts_conform.py EXAMPLE DIR

The program `sciformats` is beside the example.
"""

import ctypes
import os
import sys
from pathlib import Path

import h5py
import numpy as np

from checks import check, program_in

FOLDER = Path(sys.argv[2]).resolve()
program = program_in(Path(sys.argv[1]).resolve().parent / "sciformats", FOLDER)


def several(properties):
    """One file for each of six kinds of content. h5py has no call for it."""
    library = next(line.split()[-1] for line in open("/proc/self/maps") if "libhdf5" in line and "_hl" not in line)
    call = ctypes.CDLL(library).H5Pset_fapl_multi
    call.argtypes = [ctypes.c_int64] + [ctypes.c_void_p] * 4 + [ctypes.c_bool]
    assert call(properties.id, None, None, None, None, True) >= 0


def fill(file):
    file["numbers"] = np.arange(5000)
    file["group/texts"] = ["a", "bc", "def"]
    file["group"].attrs["unit"] = "K"
    file.create_dataset("chunks", data=np.arange(100.0).reshape(10, 10), chunks=(3, 3), compression="gzip")
    for number in range(50):
        file.create_group(f"many/{number}")


def spread(name, libver, drive, part):
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    drive(access)
    if libver:
        access.set_libver_bounds(libver, h5py.h5f.LIBVER_LATEST)
    with h5py.File(h5py.h5f.create(os.fsencode(FOLDER / name), h5py.h5f.ACC_TRUNC, fapl=access)) as file:
        fill(file)
    first, one = f"{name}{part}", f"{name}_one.h5"
    refused = program("edit", first, "set", "/group", "unit", "m", status=(1, 2, 3)).stderr
    assert "several parts" in refused, refused
    program("verify", first)
    program("repack", first, one)
    program("diff", first, one)
    with h5py.File(h5py.h5f.open(os.fsencode(FOLDER / name), h5py.h5f.ACC_RDONLY, fapl=access)) as old, h5py.File(FOLDER / one) as new:
        names = []
        old.visit(names.append)
        found = []
        new.visit(found.append)
        assert names == found, f"{found} and not {names}"
        for name in ("numbers", "group/texts", "chunks"):
            assert np.array_equal(old[name][...], new[name][...]), name
        assert new["group"].attrs["unit"] == "K"


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for word, libver in [("default", None), ("earliest", h5py.h5f.LIBVER_EARLIEST), ("v110", h5py.h5f.LIBVER_V110), ("latest", h5py.h5f.LIBVER_LATEST)]:
        check(f"six parts, libver {word}", lambda: spread(f"six_{word}", libver, several, "-s.h5"))
        check(f"two parts, libver {word}", lambda: spread(f"two_{word}", libver, lambda access: access.set_fapl_split(), "-m.h5"))
