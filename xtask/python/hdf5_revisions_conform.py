"""Revisions of files that the C library wrote through the onion driver: each of them has the contents that the C library reads.

    hdf5_revisions_conform.py EXAMPLE DIR

h5py has no function for this driver, so the library inside it is called. Our example writes the bytes of a revision to a file.
"""

import ctypes
import glob
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import h5py
import numpy as np

from checks import check

EXAMPLE, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
LATEST = 2**64 - 1
HID = ctypes.c_int64
LIBRARY = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(h5py.__file__), "..", "h5py.libs", "libhdf5-*"))[0])
LIBRARY.H5Fopen.restype = HID


class Info(ctypes.Structure):
    """What the driver needs: the driver below it, the size of pages, where revisions go, which one is meant, and flags."""

    _fields_ = [
        ("version", ctypes.c_uint8), ("backing", HID), ("page", ctypes.c_uint32), ("target", ctypes.c_int), ("revision", ctypes.c_uint64),
        ("force", ctypes.c_uint8), ("flags", ctypes.c_uint8), ("comment", ctypes.c_char * 256),
    ]


def opened(path, page, revision=LATEST, write=False, comment=b""):
    """The file in a revision, or for a new one."""
    access, below = h5py.h5p.create(h5py.h5p.FILE_ACCESS), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    below.set_fapl_sec2()
    access.set_libver_bounds(h5py.h5f.LIBVER_V112, h5py.h5f.LIBVER_V112)
    info = Info(1, below.id, page, 0, revision, 0, 1, comment)
    assert LIBRARY.H5Pset_fapl_onion(HID(access.id), ctypes.byref(info)) >= 0
    found = LIBRARY.H5Fopen(str(path).encode(), ctypes.c_uint(int(write)), HID(access.id))
    assert found >= 0, f"the library cannot open revision {revision}"
    return h5py.File(h5py.h5f.FileID(found))


def contents(file):
    return {name: file[name][...].tolist() for name in file}


def revisions(page):
    path = FOLDER / f"run-{page}.h5"
    with h5py.File(path, "w", libver="v112") as file:
        file["a"] = np.arange(1000, dtype="i4")
        file.create_dataset("zipped", data=np.arange(2000) % 77, chunks=(100,), compression="gzip", maxshape=(None,))
    original = path.read_bytes()
    for number in range(4):
        with opened(path, page, write=True, comment=b"revision %d" % number) as file:
            file["a"][100 + number] = -5 - number
            file[f"b{number}"] = np.arange(300 + number)
            file["zipped"].resize((2000 + 500 * number,))
            if number == 2:
                del file["b0"]
    assert path.read_bytes() == original, "the original stays as it was"
    told = json.loads(subprocess.run([EXAMPLE, "revisions", path], capture_output=True, text=True, check=True).stdout)
    assert [one["comment"] for one in told] == [f"revision {number}" for number in range(4)], told
    assert [one["number"] for one in told] == list(range(4)), told
    for number in range(4):
        peeled = FOLDER / "peeled.h5"
        subprocess.run([EXAMPLE, "revision", path, str(number), peeled], check=True)
        # The driver counts the original as revision 0.
        with opened(path, page, revision=number + 1) as theirs, h5py.File(peeled) as ours:
            assert contents(ours) == contents(theirs), number
            assert theirs["a"][100 + number] == -5 - number and ("b0" in theirs) == (number < 2)


print(json.dumps({"peer": f"h5py {version('h5py')}"}))
for size in (512, 4096):
    check(f"onion: pages of {size} bytes", lambda size=size: revisions(size), "we read theirs")
