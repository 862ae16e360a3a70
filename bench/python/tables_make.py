"""Writes the tables of the bench: the same columns as a table of pandas, and as one of PyTables with and without an index."""

import sys

import numpy
import pandas
import tables

ROWS = 5_000_000
KINDS = [("time", "<i8"), ("count", "<i8"), ("id", "<i4"), ("flag", "i1"), *((f"x{at}", "<f8") for at in range(6)), ("y", "<f4"), ("z", "<f4")]


def records():
    rng = numpy.random.default_rng(1)
    data = numpy.zeros(ROWS, KINDS)
    data["time"] = numpy.arange(ROWS)
    data["count"] = rng.integers(0, 1000, ROWS)
    data["id"] = rng.integers(0, 100_000, ROWS)
    data["flag"] = rng.integers(0, 3, ROWS)
    for name in ["x0", "x1", "x2", "x3", "x4", "x5", "y", "z"]:
        data[name] = rng.standard_normal(ROWS)
    return data


if __name__ == "__main__":
    folder = sys.argv[1]
    data = records()
    with tables.open_file(f"{folder}/records.h5", "w") as file:
        file.create_table("/", "log", data, expectedrows=ROWS)
        table = file.create_table("/", "indexed", data, expectedrows=ROWS)
        table.cols.time.create_csindex()
    pandas.DataFrame(data).to_hdf(f"{folder}/pandas.h5", key="log", format="table", index=False, data_columns=["time"])
