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
import debian
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
        lines = [cell for row in csv.reader(io.StringIO(run("cat", file, told["path"], "--csv").decode())) for cell in row]
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
            if wanted and of_characters(variable.get_dims()[-1]):
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

    def key(dimension):
        return dimension.group().path, dimension.name

    def uses(group):
        """Each dimension of each variable, and whether it is the last one of characters."""
        for variable in group.variables.values():
            last = len(variable.dimensions) - 1
            for axis, one in enumerate(variable.get_dims()):
                yield key(one), axis == last and variable.dtype == "S1"
        for inner in group.groups.values():
            yield from uses(inner)

    def of_characters(dimension):
        return all(texts for name, texts in used if name == key(dimension))

    with netCDF4.Dataset(path) as file:
        used = list(uses(file))
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
        # Bash has ended the words at the colons.
        (["cat", "climate.nc", ":", "/time_"], ["/time_bnds"]),
        (["info", "climate.nc", ":"], None),
    ]:
        line = " ".join(f"'{word}'" for word in ["sciformats", *words])
        typed = " ".join(["sciformats", *words]).replace(" : ", ":").removesuffix(" :") + ":" * (words[-1] == ":")
        asked = f'{script}\nPATH="{PROGRAM.parent}:$PATH"; compopt() {{ :; }}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; COMP_LINE="{typed}"; '
        asked += f"_sciformats_inside sciformats '{words[-1]}' '{words[-2] if len(words) > 1 else 'sciformats'}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", asked], capture_output=True, text=True, cwd=FOLDER)
        found = sorted(done.stdout.split())
        assert found == wanted if wanted else found, f"{words}: {found}, {done.stderr}"


def user_types():
    """Enumerations, records within records, sequences and opaque bytes of netCDF, and characters in Latin-1."""
    path = FOLDER / "user_types.nc"
    point = numpy.dtype([("lat", "f4"), ("lon", "f4")])
    record = numpy.dtype([("at", point), ("values", "f8", (2,)), ("n", "i4")])
    rows = numpy.zeros(3, record)
    rows["at"]["lat"], rows["at"]["lon"], rows["n"] = [1, 2, 3], [4.5, 5, 6], [7, 8, 9]
    rows["values"] = [[1, 2], [3, 4], [5, 6.25]]
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        file.createDimension("letters", 4)
        cloud = file.createEnumType(numpy.uint8, "cloud_t", {"clear": 0, "cumulus": 1, "missing": 255})
        file.createVariable("cloud", cloud, "x", fill_value=255)[:] = [0, 1, 255]
        file.createCompoundType(point, "point_t")
        file.createVariable("seen", file.createCompoundType(record, "record_t"), "x")[:] = rows
        ragged = file.createVariable("ragged", file.createVLType(numpy.float32, "ragged_t"), "x")
        for length in range(3):
            ragged[length] = numpy.arange(length + 1, dtype="f4")
        for name, encoding in [("latin", "iso-8859-1"), ("unicode", "utf-8")]:
            variable = file.createVariable(name, "S1", ("x", "letters"))
            variable.set_auto_chartostring(False)
            texts = numpy.array([text.encode(encoding) for text in ["ét", "ab", "ü"]], "S4")
            variable[:] = texts.view("S1").reshape(3, 4)
            variable._Encoding = encoding
    show = lambda name, form: run("cat", path, f"/{name}", "--format", form).decode()
    assert show("cloud", "csv").split() == ["clear", "cumulus", "missing"]
    table = pandas.read_csv(io.StringIO(show("seen", "csv")))
    assert list(table.columns) == ["at.lat", "at.lon", "values[0]", "values[1]", "n"], list(table.columns)
    assert table["at.lon"].tolist() == [4.5, 5, 6] and table["values[1]"].tolist() == [2, 4, 6.25] and table["n"].tolist() == [7, 8, 9]
    with netCDF4.Dataset(path) as file:
        assert json.loads(show("ragged", "json")) == [row.tolist() for row in file["ragged"][:]]
        for name in ["latin", "unicode"]:
            assert json.loads(show(name, "json")) == file[name][:].tolist() == ["ét", "ab", "ü"], show(name, "json")
    assert "record_t" in run("ls", path).decode()


def recorded():
    """Lists of records in AnnData, and awkward arrays in the form that `ak.to_buffers` gives."""
    import anndata
    import h5py

    path = FOLDER / "records.h5ad"
    data = anndata.AnnData(numpy.zeros((3, 2), "f4"))
    records = numpy.array([(1, "a", 2.5), (2, "bc", 3.5)], [("n", "i4"), ("name", "U5"), ("v", "f8")])
    data.uns["records"] = records
    data.write_h5ad(path)
    leaf = lambda kind, key, **more: {"class": "NumpyArray", "primitive": kind, "inner_shape": [], "parameters": more, "form_key": key}
    option = {"class": "IndexedOptionArray", "index": "i64", "content": leaf("float64", "node3"), "parameters": {}, "form_key": "node2"}
    text = {"class": "ListOffsetArray", "offsets": "i64", "content": leaf("uint8", "node5", __array__="char"), "parameters": {"__array__": "string"}, "form_key": "node4"}
    record = {"class": "RecordArray", "fields": ["x", "name"], "contents": [option, text], "parameters": {}, "form_key": "node1"}
    form = {"class": "ListOffsetArray", "offsets": "i64", "content": record, "parameters": {}, "form_key": "node0"}
    with h5py.File(path, "a") as file:
        group = file["obsm"].create_group("awkward")
        group.attrs.update({"encoding-type": "awkward-array", "encoding-version": "0.1.0", "form": json.dumps(form), "length": 3})
        for name, values in [("node0-offsets", [0, 2, 2, 3]), ("node2-index", [0, -1, 1]), ("node4-offsets", [0, 1, 4, 4])]:
            group[name] = numpy.array(values, "i8")
        group["node3-data"] = numpy.array([1.5, 0.25])
        group["node5-data"] = numpy.frombuffer("abé".encode(), "u1")
    rows = json.loads(run("cat", path, "/uns/records", "--json"))
    assert [list(row.values()) for row in rows] == [[1, "a", 2.5], [2, "bc", 3.5]], rows
    rows = json.loads(run("cat", path, "/obsm/awkward", "--json"))
    lists = [json.loads(next(iter(row.values()))) for row in rows]
    assert lists == [[{"x": 1.5, "name": "a"}, {"x": None, "name": "bé"}], [], [{"x": 0.25, "name": ""}]], lists


def ncdump(path):
    """What `ncdump -h` prints of a file."""
    root = debian.unpacked("netcdf-bin")
    libraries = ":".join(debian.libraries(root))
    done = subprocess.run([root / "usr/bin/ncdump", "-h", path], capture_output=True, text=True, env={"LD_LIBRARY_PATH": libraries})
    assert done.returncode == 0, done.stderr
    return done.stdout


def to_netcdf():
    """Files of GSD, ASDF and Blosc2 as netCDF-4 files, which netCDF4, xarray and ncdump read."""
    import asdf
    import astropy.units
    import blosc2
    import gsd.hoomd

    made = lambda name: (FOLDER / f"to_netcdf.{name}", FOLDER / f"to_netcdf.{name}.nc")
    # Frames with more and fewer particles; what a frame does not store is as it was in the first one.
    source, target = made("gsd")
    with gsd.hoomd.open(source, "w") as file:
        for step in range(4):
            frame = gsd.hoomd.Frame()
            frame.configuration.step, frame.configuration.box = step * 10, [2, 2, 2, 0, 0, 0]
            frame.particles.N, frame.particles.types = 3 if step == 2 else 2, ["A", "long"]
            frame.particles.position = numpy.arange(frame.particles.N * 3).reshape(-1, 3) + step
            frame.log["energy"] = numpy.array([step / 8])
            file.append(frame)
    run("convert", source, target, "--force", "--lossy")
    with xarray.open_dataset(target) as data, gsd.hoomd.open(source) as file:
        assert data["particles_position"].dims == ("frame", "particle", "component"), data
        assert data["particles_types"].values.tolist() == ["A", "long"]
        for at, frame in enumerate(file):
            found = data["particles_position"].values[at]
            assert (found[: frame.particles.N] == frame.particles.position).all() and numpy.isnan(found[frame.particles.N :]).all()
            assert data["log_energy"].values[at] == frame.log["energy"][0]
            assert data["configuration_step"].values[at] == frame.configuration.step and data["particles_N"].values[at] == frame.particles.N
        assert "configuration_step" in data.coords
    assert "frame = UNLIMITED ; // (4 currently)" in ncdump(target), ncdump(target)
    # Quantities with units, complex numbers, truth values, and values of the tree.
    source, target = made("asdf")
    speed = numpy.arange(6.0).reshape(2, 3)
    tree = {"speed": speed * astropy.units.m / astropy.units.s, "wave": numpy.exp(1j * numpy.arange(3)), "good": numpy.array([True, False, True]), "meta": {"name": "north", "height": 412.5}}
    asdf.AsdfFile(tree).write_to(source)
    run("convert", source, target, "--force", "--lossy", "--filter", "zlib")
    with xarray.open_dataset(target) as data:
        assert data["speed"].attrs["units"] == "m.s**-1" and (data["speed"].values == speed).all(), data["speed"]
        assert (data["wave_real"].values + 1j * data["wave_imag"].values == tree["wave"]).all()
        assert data["good"].dtype == bool and data["good"].values.tolist() == [True, False, True]
        assert data.attrs["meta.name"] == "north" and data.attrs["meta.height"] == 412.5
    assert 'speed:units = "m.s**-1"' in ncdump(target), ncdump(target)
    source, target = made("b2nd")
    source.unlink(missing_ok=True)
    array = blosc2.asarray(numpy.arange(20, dtype="i2").reshape(4, 5), urlpath=str(source), mode="w")
    said = {"units": "K", "long_name": "temperature of the air", "height": 2, "ratio": 0.1, "levels": [1000, 850, 500], "of": ("a", "b"), "valid_range": [-5, 100], "place": {"lat": 52.5}}
    for name, value in said.items():
        array.schunk.vlmeta[name] = value
    run("convert", source, target, "--force", "--lossy")
    with netCDF4.Dataset(target) as data:
        variable = data["data"]
        assert variable.dimensions == ("dim_4", "dim_5") and (variable[:] == array[:]).all() and variable.dtype == "i2"
        assert variable.units == "K" and variable.long_name == said["long_name"], variable
        assert variable.height == 2 and variable.ratio == 0.1 and variable.levels.tolist() == said["levels"], variable
        assert list(variable.of) == ["a", "b"] and json.loads(variable.place) == said["place"], variable
        assert variable.valid_range.tolist() == [-5, 100] and variable.valid_range.dtype == "i2", variable
    assert "short data(dim_4, dim_5)" in ncdump(target) and ':units = "K"' in ncdump(target), ncdump(target)
    # Dimensions with names, and what the program tells of the array itself.
    array.schunk.vlmeta["dims"] = ["lat", "lon"]
    run("convert", source, target, "--force", "--lossy")
    assert "short data(lat, lon)" in ncdump(target) and ":dims" not in ncdump(target), ncdump(target)
    assert "temperature of the air" in run("ls", source).decode() and "K" in run("ls", source).decode().split(), run("ls", source)


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
    check("program, cat: user types of netCDF", user_types)
    check("program, cat: records and awkward arrays of AnnData", recorded)
    check("program, convert: netCDF-4 from GSD, ASDF and Blosc2", to_netcdf)
    for name in ["climate.nc", "xarray_netcdf4.nc"]:
        check(f"program, convert: CSV JSON and npz, {name}", lambda: exported(name))


main()
