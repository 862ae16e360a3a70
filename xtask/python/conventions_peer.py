"""The independent side of the conformance run of conventions: files that other programs write, and what they decode of them.

`write DIR` writes files and, beside each, `NAME.expected.json`: what the program that knows the convention reads in it.
"""

import importlib.metadata
import json
import pathlib
import sys
import warnings

import numpy

warnings.simplefilter("ignore")

PEERS = ["netCDF4", "xarray", "h5netcdf", "cftime", "h5py", "anndata", "pandas", "tables", "nexusformat", "scipy", "mat73", "hdf5storage", "mat-io", "asdf-astropy", "pynwb", "openPMD-api", "npy2bdv", "emdfile", "gsd"]


# Files that h5py writes as the documents of a convention prescribe, because no program that has it is installed.
LAYOUTS = {"run.h5", "strain.hdf5", "reads.fast5", "stack.ims", "berkeley.emd", "grains.dream3d", "wing.cgns", "model.h5", "model.weights.h5", "cells.loom", "filtered_feature_bc_matrix.h5", "filtered_gene_bc_matrices.h5", "cells_06.h5ad", "cells_07.h5ad", "layouts.mat"}


class Expected:
    """What is expected of one file; arrays are put beside it."""

    def __init__(self, folder, group, name, identity):
        self.folder, self.name = pathlib.Path(folder), name
        self.path = str(self.folder / name)
        self.told = {"file": name, "group": group, "identity": identity, "objects": []}
        self.count = 0

    def values(self, values):
        """Texts as a list, everything else as a file of NumPy."""
        values = numpy.asarray(values)
        if values.dtype.kind in "OUST":
            return [text(value) for value in values.ravel().tolist()]
        if values.dtype.kind == "M":
            return [text(value) for value in values.ravel()]
        self.count += 1
        name = f"{self.name}.{self.count}.npy"
        numpy.save(self.folder / name, numpy.ascontiguousarray(values).reshape(values.shape))
        return name

    def object(self, path, values=None, **told):
        """One object of the file."""
        told["path"] = path
        if values is not None:
            told["values"] = self.values(values)
            told.setdefault("shape", list(numpy.shape(values)))
        self.told["objects"].append(told)

    def table(self, path, frame, cells):
        """A table: columns by name."""
        told = {"path": path, "rows": len(frame), "columns": [str(name) for name in frame.columns], "cells": {}}
        for name, values in cells.items():
            told["cells"][str(name)] = self.values(values)
        self.told["objects"].append(told)

    def done(self):
        """Writes it."""
        (self.folder / f"{self.name}.expected.json").write_text(json.dumps(self.told))


def text(value):
    """A cell as people read it; None where it is missing."""
    import cftime
    import pandas

    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, cftime.datetime):
        # Years before 1 and after 9999 as ISO 8601 has them.
        moment = f"{'-' if value.year < 0 else ''}{abs(value.year):04}-{value.month:02}-{value.day:02}"
        moment += f"T{value.hour:02}:{value.minute:02}:{value.second:02}"
        return moment + (f".{value.microsecond:06}" if value.microsecond else "")
    if value is None or value is pandas.NA or value is pandas.NaT or isinstance(value, float) and value != value:
        return None
    if isinstance(value, numpy.datetime64):
        if numpy.isnat(value):
            return None
        fine = numpy.datetime_as_string(value.astype("M8[us]"), unit="us")
        whole, part = fine.split(".")
        return whole if part == "000000" else fine
    return str(value)


def main():
    """write DIR | check DIR"""
    import conventions_netcdf

    verb, folder = sys.argv[1:]
    parts = [conventions_netcdf]
    for name in ["conventions_chapters", "conventions_tables", "conventions_encodings", "conventions_pandas", "conventions_matlab", "conventions_matio", "conventions_nexus", "conventions_astronomy", "conventions_others"]:
        try:
            parts.append(__import__(name))
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    if verb == "write":
        for name in PEERS:
            print(json.dumps({"peer": f"{name} {importlib.metadata.version(name)}"}))
    for part in parts:
        if hasattr(part, verb):
            getattr(part, verb)(pathlib.Path(folder))
    if verb == "write":
        made = {path.name.removesuffix(".expected.json") for path in pathlib.Path(folder).glob("*.expected.json")} - LAYOUTS
        assert len(made) >= 60, f"only {len(made)} files are those of programs that have the convention"


if __name__ == "__main__":
    main()
