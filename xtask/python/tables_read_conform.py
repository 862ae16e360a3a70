"""Tables that other programs wrote: the program gives the same columns as Arrow, as Parquet and to a query.

    tables_read_conform.py PROGRAM DIR
"""

import json
import sys
from importlib.metadata import version

import pyarrow
import pyarrow.feather
import pyarrow.parquet

import tables_files
from checks import check, program_in

PROGRAM, FOLDER = sys.argv[1], sys.argv[2]
run = program_in(PROGRAM, FOLDER)


def same(found, expected):
    """The columns that are expected are there, with the same values."""
    for name, values in expected.items():
        assert name in found.column_names, f"{name} is not among {found.column_names}"
        got = tables_files.listed(found[name])
        assert len(got) == len(values), f"{name} has {len(got)} rows, not {len(values)}"
        for row, (one, other) in enumerate(zip(got, values)):
            assert one == other, f"{name}, row {row}: {one!r} is not {other!r}"


def everything(path, inside, expected, number):
    """The table as a file of Arrow, and again as one of Parquet."""
    for ending, read in [("arrow", lambda file: pyarrow.feather.read_table(file)), ("parquet", pyarrow.parquet.read_table)]:
        out = f"{FOLDER}/{number}.{ending}"
        run("convert", f"{path}:{inside}", out, "--force")
        found = read(out)
        if ending == "parquet":
            # Parquet has no lists of one length without their Arrow types; pyarrow reads those.
            same(found, expected)
        else:
            same(found, expected)
        assert found.num_rows == (len(next(iter(expected.values()))) if expected else 0)


def part(path, inside, expected):
    """Two columns and some rows by a query."""
    names = [name for name, values in expected.items() if values and not isinstance(values[0], (list, dict))][:2]
    if not names:
        return
    out = f"{FOLDER}/part.arrow"
    columns = ", ".join(f'"{name}"' for name in names)
    run("sql", f'SELECT {columns} FROM "{path}:{inside}" LIMIT 7 OFFSET 3', "-o", out, "--force")
    found = pyarrow.feather.read_table(out)
    assert found.column_names == names
    same(found, {name: expected[name][3:10] for name in names})


if __name__ == "__main__":
    for name in ["h5py", "tables", "pandas", "anndata", "gsd", "asdf", "pyarrow"]:
        print(json.dumps({"peer": f"{name} {version(name)}"}))
    number = 0
    for group, write in tables_files.ALL.items():
        for path, inside, expected in write(FOLDER):
            number += 1
            check(f"{group}: {inside}", lambda: everything(path, inside, expected, number), "we read theirs")
            check(f"{group}: {inside} in part", lambda: part(path, inside, expected), "we read theirs")
