"""The program beside xarray, netCDF4, anndata, pandas and PyTables: `cat` gives the values that they decode, to the last digit,
and `ls` the dimensions and units that `ncdump -h` tells.

    conventions_program_conform.py EXAMPLE DIR

The program `sciformats` is beside the example. The files are those of conventions_peer.py, with what their makers read in them.
"""

import csv
import io
import json
import subprocess
import sys
import warnings
from pathlib import Path

import netCDF4
import numpy
import pandas
import xarray

import conventions_astronomy
import conventions_chapters
import conventions_encodings
import conventions_netcdf
import conventions_pandas
import conventions_peer
import conventions_tables
from checks import check

warnings.simplefilter("ignore")
FOLDER = Path(sys.argv[2])
PROGRAM = Path(sys.argv[1]).parent / "sciformats"


def run(*args):
    """The bytes that the program prints."""
    done = subprocess.run([PROGRAM, "--quiet", *map(str, args)], capture_output=True)
    assert done.returncode == 0, f"{' '.join(map(str, args))}: {done.returncode}, {done.stderr.decode()}"
    return done.stdout


def flat(value):
    """The elements of lists in lists."""
    if isinstance(value, list):
        return [element for inner in value for element in flat(inner)]
    return [value]


def same_texts(found, wanted):
    """Texts, of which missing ones are empty."""
    shown = lambda cell: "" if cell in (None, "NaN", "nan") else str(cell)
    assert [shown(cell) for cell in found] == [shown(cell) for cell in wanted], f"{found[:5]}, not {wanted[:5]}"


def same_numbers(found, wanted):
    """Numbers, bit by bit but for the kind of NaN."""
    assert found.shape == wanted.shape, f"the shape is {found.shape}, not {wanted.shape}"
    assert numpy.array_equal(found, wanted, equal_nan=wanted.dtype.kind in "fc"), "values differ"


def label(number, flags):
    """The meanings of a number, its digits if it has none, and nothing if it is missing."""
    if number != number:
        return ""
    number = int(number)
    assert flags, "no flags"
    words = []
    for mask, value, meaning in flags:
        if mask is None:
            holds = number == value
        elif value is None:
            holds = number & mask != 0
        else:
            holds = number & mask == value
        words += [meaning] if holds else []
    return " ".join(words) or str(number)


def array(file, told):
    """The values of an array."""
    wanted = told["values"]
    if isinstance(wanted, list):
        same_texts(flat(json.loads(run("cat", file, told["path"], "--json"))), wanted)
        return
    wanted = numpy.load(FOLDER / wanted)
    # Of a matrix that is stored column by column the columns stand there as rows.
    wanted = wanted.T if told.get("turned") or list(wanted.shape) != told["shape"] else wanted
    found = numpy.load(io.BytesIO(run("cat", file, told["path"], "--format", "npy")))
    same_numbers(found, wanted)
    if found.dtype != wanted.dtype:
        # A matrix of which only a part is stored is a group, and keeps the type that is stored.
        kind = json.loads(run("ls", "--json", file, told["path"]).splitlines()[0])["kind"]
        assert kind == "group", f"the type is {found.dtype}, not {wanted.dtype}"
    # Every digit that is printed, and every value of a part by itself.
    if told.get("flags"):
        lines = run("cat", file, told["path"], "--csv").decode().replace("\n", ",").split(",")[:-1]
        same_texts(lines, [label(number, told["flags"]) for number in wanted.ravel().tolist()])
        assert any(line.strip("0123456789") for line in lines), "no flag has a name"
    elif wanted.dtype.kind == "f" and wanted.size:
        lines = run("cat", file, told["path"], "--csv").decode().replace("\n", ",").split(",")[:-1]
        same_numbers(numpy.array(lines).astype(found.dtype).reshape(found.shape), found)
    if wanted.ndim and wanted.size:
        last = numpy.load(io.BytesIO(run("cat", file, told["path"], "--format", "npy", "--slice", "-1")))
        same_numbers(last, wanted[-1])


def table(file, told):
    """The cells of a table."""
    rows = json.loads(run("cat", file, told["path"], "--json"))
    assert len(rows) == told["rows"], f"there are {len(rows)} rows, not {told['rows']}"
    # For people, numbers of which some are missing are whole ones.
    reader = csv.DictReader(io.StringIO(run("cat", file, told["path"], "--csv").decode()))
    heads, lines = reader.fieldnames, list(reader)
    for name in told["columns"]:
        assert any(head == name or head.startswith(f"{name}[") for head in heads), f"no column {name} in {heads}"
    for name, wanted in told["cells"].items():
        name = name or "index"
        if isinstance(wanted, list):
            same_texts([line[name] for line in lines], wanted)
        else:
            wanted = numpy.load(FOLDER / wanted)
            cells = [row[name] for row in rows]
            numbers = [float("nan") if cell in ("NaN", None) else cell for cell in flat(cells)]
            if wanted.dtype.kind == "c":
                numbers = [complex(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]
            same_numbers(numpy.array(numbers, wanted.dtype).reshape(wanted.shape), wanted)


def header(path):
    """What `ncdump -h` tells: dimensions and units of every variable, in every group."""
    listed = {}
    for line in run("ls", "-r", "--json", path).decode().splitlines():
        line = json.loads(line)
        listed[line["path"]] = line
    shown = run("ls", "-r", path).decode()

    def walk(group):
        for name, variable in group.variables.items():
            told = listed[f"{group.path.rstrip('/')}/{name}" if f"{group.path.rstrip('/')}/{name}" in listed else f"{group.path.rstrip('/')}/_nc4_non_coord_{name}"]
            dimensions = [one for one in told.get("dimensions", [])]
            wanted = [
                {"name": one.name, "length": variable.shape[axis], "unlimited": one.isunlimited()}
                for axis, one in enumerate(variable.get_dims())
            ]
            # Characters are texts, without their own dimension.
            if variable.dtype == "S1" and wanted:
                wanted = wanted[:-1]
            assert dimensions == wanted, f"{name}: {dimensions}, not {wanted}"
            for key in ["units", "long_name"]:
                if hasattr(variable, key):
                    assert told.get(key) == getattr(variable, key), f"{name}: {told.get(key)}"
            for one in wanted:
                length = f"unlimited {one['length']}" if one["unlimited"] else one["length"]
                assert f"{one['name']}: {length}" in shown, f"{name}: no {one['name']}: {length} in {shown}"
        for inner in group.groups.values():
            walk(inner)

    with netCDF4.Dataset(path) as file:
        walk(file)


def exported(name):
    """CSV, JSON and npz of all arrays of a file, as xarray, pandas and NumPy have them."""
    path = FOLDER / name
    outputs = {ending: FOLDER / f"{path.stem}.exported.{ending}" for ending in ["npz", "json", "csv"]}
    for ending, output in outputs.items():
        run("convert", path, output, "--force", *(["--select", "/tas"] if ending == "csv" else []))
    arrays = json.loads(outputs["json"].read_text())["arrays"]
    with xarray.open_dataset(path) as data, numpy.load(outputs["npz"]) as npz:
        assert sorted(npz.files) == sorted(data.variables) == sorted(key.strip("/") for key in arrays), npz.files
        for key, variable in data.variables.items():
            listed = arrays[f"/{key}"]
            assert listed["dimensions"] == list(variable.dims) and listed["shape"] == list(variable.shape), key
            cells = flat(listed["values"])
            if variable.dtype.kind == "M":
                wanted = [conventions_peer.text(value) for value in variable.values.ravel()]
                same_texts(npz[key].ravel().tolist(), wanted)
                same_texts(cells, wanted)
            elif variable.dtype.kind in "OUS":
                same_texts(npz[key].ravel().tolist(), variable.values.ravel().tolist())
                same_texts(cells, variable.values.ravel().tolist())
            else:
                same_numbers(npz[key], variable.values)
                numbers = [float("nan") if cell == "NaN" else cell for cell in cells]
                same_numbers(numpy.array(numbers, variable.dtype).reshape(variable.shape), variable.values)
        wanted = data["tas"].to_dataframe().reset_index()
        found = pandas.read_csv(outputs["csv"], parse_dates=["time"])
        assert [head.split(" ")[0] for head in found.columns] == [*data["tas"].dims, "tas"], found.columns
        assert (found["time"].to_numpy("M8[ns]") == wanted["time"].to_numpy("M8[ns]")).all(), "times differ"
        for head in found.columns[1:]:
            column = wanted[head.split(" ")[0]].to_numpy()
            same_numbers(found[head].to_numpy().astype(column.dtype), column)


def completed():
    """What bash completes after the name of a file."""
    script = run("completions", "bash").decode()
    for words, wanted in [
        (["cat", "climate.nc", "/t"], ["/tas", "/time", "/time_bnds"]),
        (["ls", "-r", "groups.nc", "/"], None),
        (["cat", "climate.nc", "--ra"], ["--raw"]),
        (["inf"], ["info"]),
    ]:
        line = " ".join(f"'{word}'" for word in ["sciformats", *words])
        asked = f'{script}\nPATH="{PROGRAM.parent}:$PATH"; compopt() {{ :; }}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; COMP_LINE="{line}"; '
        asked += f"_sciformats_inside sciformats '{words[-1]}' '{words[-2] if len(words) > 1 else 'sciformats'}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, cwd=FOLDER)
        found = sorted(done.stdout.split())
        assert found == wanted if wanted else found, f"{words}: {found}, {done.stderr}"


def main():
    """Writes the files and goes through all of them."""
    for part in [conventions_netcdf, conventions_chapters, conventions_tables, conventions_encodings, conventions_pandas, conventions_astronomy]:
        part.write(FOLDER)
    for expected in sorted(FOLDER.glob("*.expected.json")):
        expected = json.loads(expected.read_text())
        if "file" not in expected:
            continue
        file, group = FOLDER / expected["file"], expected["group"]
        for told in expected["objects"]:
            compare = table if "cells" in told else array
            if "values" in told or "cells" in told:
                check(f"program, cat: {group}, {expected['file']} {told['path']}", lambda: compare(file, told))
        if file.suffix == ".nc":
            check(f"program, ls: {group}, {expected['file']}", lambda: header(file))
    check("program, completions: paths in a file, bash", completed)
    for name in ["climate.nc", "xarray_netcdf4.nc"]:
        check(f"program, convert: CSV JSON and npz, {name}", lambda: exported(name))


main()
