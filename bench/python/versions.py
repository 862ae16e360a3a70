"""Prints the versions of the peers of a bench that are not crates, as a JSON object: versions.py BENCH"""

import importlib.metadata
import json
import pathlib
import re
import shutil
import subprocess
import sys

# Scripts beside this one have the names of libraries, and Python looks beside the script first.
sys.path.pop(0)
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "xtask" / "python"))


def python():
    return {"Python": sys.version.split()[0]}


def packages(*names):
    return {name: importlib.metadata.version(name) for name in names}


def tools():
    import hdf5_tools

    return {"h5ls, h5repack, h5diff": hdf5_tools.Tools().version}


def libhdf5():
    """Of the library that hdf5.py compiles against."""
    if shutil.which("pkg-config"):
        known = subprocess.run(["pkg-config", "--modversion", "hdf5"], capture_output=True, text=True)
        if known.returncode == 0:
            return known.stdout.strip()
    import debian

    header = debian.unpacked("libhdf5-dev") / "usr" / "include" / "hdf5" / "serial" / "H5public.h"
    return re.search(r"HDF5 library version: ([\d.]+)", header.read_text()).group(1)


def hdf5():
    import h5py

    return {"libhdf5": libhdf5(), "HDF5 in h5py": h5py.version.hdf5_version}


def codecs():
    """The libraries that imagecodecs contains, and libhdf5 in h5py."""
    import zlib

    import h5py
    import imagecodecs

    wanted = ("charls", "lz4", "libaec", "libbzip2", "libjpeg_turbo", "liblzf", "lzokay", "snappy", "zfp", "zstd")
    found = dict(part.rsplit("-", 1) for part in imagecodecs.version().split(", "))
    libraries = {name: found[name] for name in wanted if name in found}
    return packages("imagecodecs") | libraries | {"HDF5 in h5py": h5py.version.hdf5_version, "zlib": zlib.ZLIB_RUNTIME_VERSION}


def c_blosc2():
    import blosc2

    return {"c-blosc2": blosc2.blosclib_version.split()[0]}


BENCHES = {
    "hdf5": lambda: python() | packages("h5py", "numpy") | hdf5(),
    "asdf": lambda: python() | packages("asdf", "asdf-compression", "lz4", "numpy"),
    "blosc2": lambda: python() | c_blosc2(),
    "gsd": lambda: python() | packages("gsd", "numpy"),
    "rawarray": lambda: python() | packages("numpy"),
    "python": lambda: python()
    | packages("h5py", "pyfive", "h5netcdf", "netCDF4", "xarray", "dask", "asdf", "gsd", "blosc2", "numpy"),
    "encoders": lambda: python() | packages("zlib-ng"),
    "filters": lambda: python() | packages("h5py", "hdf5plugin", "vbz-h5py-plugin", "lzallright", "fabio", "numpy") | codecs(),
    "cli": lambda: tools() | packages("xarray", "netCDF4"),
}

print(json.dumps(BENCHES.get(sys.argv[1], dict)()))
