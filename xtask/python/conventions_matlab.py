"""MATLAB 7.3: files of hdf5storage, read by mat73 and hdf5storage."""

import h5py
import hdf5storage
import numpy
import scipy.sparse

from conventions_peer import Expected


def stored(folder):
    """Arrays of each class, in MATLAB's order."""
    expected = Expected(folder, "MATLAB", "values.mat", "MATLAB 7.3")
    values = {
        "matrix": numpy.arange(6.0).reshape(2, 3),
        "cube": numpy.arange(24, dtype="i4").reshape(2, 3, 4),
        "single": numpy.array([[1.5, 2.5]], "f4"),
        "wave": numpy.array([[1 + 2j, 3 - 4j]]),
        "bytes": numpy.array([[1, 2, 255]], "u1"),
        "truth": numpy.array([[True, False, True]]),
        "text": "größer",
    }
    options = hdf5storage.Options(matlab_compatible=True)
    hdf5storage.savemat(expected.path, values, format="7.3", oned_as="row", options=options)
    for name, value in values.items():
        if isinstance(value, str):
            expected.object(f"/{name}", [value], shape=[])
        else:
            expected.object(f"/{name}", value)
    expected.done()


def layouts(folder):
    """What hdf5storage does not write: rows of texts, sparse matrices, arrays without elements."""
    expected = Expected(folder, "MATLAB", "layouts.mat", "MATLAB 7.3")
    matrix = scipy.sparse.random(6, 4, 0.4, "csc", "f8", random_state=5)
    with h5py.File(expected.path, "w", userblock_size=512) as file:
        rows = numpy.array([[ord(c) for c in word] for word in ["north", "south"]], "u2")
        file["words"] = rows.T
        file["words"].attrs["MATLAB_class"], file["words"].attrs["MATLAB_int_decode"] = numpy.bytes_("char"), numpy.int32(2)
        group = file.create_group("few")
        group.attrs["MATLAB_class"], group.attrs["MATLAB_sparse"] = numpy.bytes_("double"), numpy.uint64(6)
        group["data"], group["ir"], group["jc"] = matrix.data, matrix.indices.astype("u8"), matrix.indptr.astype("u8")
        file["none"] = numpy.array([0, 3], "u8")
        file["none"].attrs["MATLAB_class"], file["none"].attrs["MATLAB_empty"] = numpy.bytes_("double"), numpy.uint8(1)
        fields = file.create_group("log")
        fields.attrs["MATLAB_class"] = numpy.bytes_("struct")
        for name in ["time", "level"]:
            fields[name] = numpy.arange(5.0)[None, :]
            fields[name].attrs["MATLAB_class"] = numpy.bytes_("double")
    with open(expected.path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan  1 00:00:00 2024 HDF5 schema 1.00 .".ljust(116))
        file.seek(124)
        file.write(b"\x00\x02IM")
    import mat73

    read = mat73.loadmat(expected.path, only_include=["few", "log"])
    assert (read["few"].toarray() == matrix.toarray()).all()
    expected.object("/words", ["north", "south"], shape=[2])
    expected.object("/few", read["few"].toarray().T.astype("f8"), shape=[6, 4])
    expected.object("/none", numpy.zeros((0, 3)), shape=[0, 3])
    expected.told["objects"].append({"path": "/log", "rows": 5, "columns": ["level", "time"], "cells": {}})
    expected.told["highlights"] = ["/few", "/log", "/none", "/words"]
    expected.done()


def structures(folder):
    """Cell arrays, structures and arrays of structures by hdf5storage, as mat73 reads them."""
    import mat73
    import pandas

    expected = Expected(folder, "MATLAB", "structures.mat", "MATLAB 7.3")
    cells = numpy.array(["north", "größer", "x"], object)[None, :]
    values = {
        "log": {"level": 1.5, "name": "abc", "inner": {"x": numpy.arange(3.0)[None, :]}},
        "words": cells,
        "mixed": numpy.array([1.5, "two", numpy.arange(3.0)[None, :]], object)[None, :],
        "rows": numpy.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")]),
        "none": numpy.zeros((0, 3)),
        "flags": numpy.array([[True], [False]]),
        "single": numpy.array([[1 + 2j, 0.5]], "c8"),
    }
    options = hdf5storage.Options(matlab_compatible=True)
    hdf5storage.savemat(expected.path, values, format="7.3", oned_as="row", options=options)
    read = mat73.loadmat(expected.path)
    # The fields have MATLAB's order.
    log = pandas.DataFrame({"level": [str(float(read["log"]["level"]))], "name": [read["log"]["name"]], "inner": ["struct"]})
    expected.table("/log", log, {name: log[name].to_numpy(object) for name in log.columns})
    words = pandas.DataFrame({"words": read["words"]})
    expected.table("/words", words, {"words": words["words"].to_numpy(object)})
    shown = [str(float(read["mixed"][0])), read["mixed"][1], " ".join(map(str, read["mixed"][2].ravel().tolist()))]
    expected.table("/mixed", pandas.DataFrame({"mixed": shown}), {"mixed": numpy.array(shown, object)})
    rows = pandas.DataFrame({name: [str(numpy.squeeze(value)) for value in read["rows"][name]] for name in ["a", "b"]})
    expected.table("/rows", rows, {name: rows[name].to_numpy(object) for name in rows.columns})
    expected.object("/none", numpy.zeros((0, 3)))
    expected.object("/log/inner/x", numpy.atleast_2d(read["log"]["inner"]["x"]))
    expected.object("/flags", numpy.reshape(read["flags"], (2, 1)).astype(bool))
    expected.object("/single", values["single"])
    expected.done()


def write(folder):
    """All of them."""
    structures(folder)
    stored(folder)
    layouts(folder)
