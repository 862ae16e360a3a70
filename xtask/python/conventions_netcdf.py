"""netCDF-4 and CF: files of netCDF4 and xarray, and what xarray, netCDF4 and cftime decode of them."""

import json
import random

import cftime
import netCDF4
import numpy
import xarray

from conventions_peer import Expected


def dimensions(path):
    """Whether dimensions grow, by name, in all groups."""
    unlimited = {}

    def walk(group):
        for name, dimension in group.dimensions.items():
            unlimited[name] = dimension.isunlimited()
        for inner in group.groups.values():
            walk(inner)

    with netCDF4.Dataset(path) as file:
        walk(file)
    return unlimited


def meanings(attributes, unsigned):
    """The mask, the value and the meaning of every flag; the numbers of a variable of unsigned bytes are unsigned too."""
    words = attributes["flag_meanings"].split()
    of = lambda key: [int(one) for one in number_type(numpy.atleast_1d(attributes[key]), unsigned)] if key in attributes else [None] * len(words)
    return list(zip(of("flag_masks"), of("flag_values"), words, strict=True))


def number_type(numbers, unsigned):
    """Numbers with the sign that `_Unsigned` names."""
    return numbers.view(f"u{numbers.itemsize}") if unsigned == "true" else numbers


def expect(expected, group="/", **options):
    """All variables of a group, as xarray decodes them."""
    unlimited = dimensions(expected.path)
    coder = xarray.coders.CFDatetimeCoder(time_unit="us")
    with xarray.open_dataset(
        expected.path, group=group, engine="netcdf4", decode_times=coder, decode_timedelta=False, decode_coords=False, **options
    ) as data:
        for name, variable in data.variables.items():
            told = {"dims": list(variable.dims), "unlimited": [unlimited[dimension] for dimension in variable.dims]}
            if "flag_meanings" in variable.attrs:
                told["flags"] = meanings(variable.attrs, variable.encoding.get("_Unsigned", variable.attrs.get("_Unsigned")))
            if "long_name" in variable.attrs:
                told["long_name"] = variable.attrs["long_name"]
            units = variable.attrs.get("units", variable.encoding.get("units"))
            if units is not None:
                told["units"] = units
            expected.object(f"{group.rstrip('/')}/{name}", variable.values, **told)


def climate(folder):
    """The file that the first example of most courses is: packed temperatures on a grid, in time."""
    expected = Expected(folder, "netCDF, CF", "climate.nc", "CF 1.11")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.Conventions, file.title = "CF-1.11", "a year of temperatures"
        for name, length in {"time": None, "lat": 72, "lon": 144, "bnds": 2}.items():
            file.createDimension(name, length)
        time = file.createVariable("time", "f8", ("time",))
        time.units, time.calendar, time.bounds = "days since 2000-01-01 00:00:00", "standard", "time_bnds"
        time.long_name = "time"
        bounds = file.createVariable("time_bnds", "f8", ("time", "bnds"))
        for name, spacing in {"lat": 2.5, "lon": 2.5}.items():
            axis = file.createVariable(name, "f4", (name,))
            axis.units = {"lat": "degrees_north", "lon": "degrees_east"}[name]
            axis[:] = numpy.arange(len(file.dimensions[name])) * spacing - 88.75
        tas = file.createVariable("tas", "i2", ("time", "lat", "lon"), zlib=True, fill_value=-32767)
        tas.units, tas.long_name, tas.cell_methods = "K", "near-surface air temperature", "time: mean"
        tas.scale_factor, tas.add_offset = numpy.float32(0.01), numpy.float32(273.15)
        count = 30
        time[:] = numpy.arange(count) + 0.5
        bounds[:] = numpy.stack([numpy.arange(count), numpy.arange(count) + 1], 1)
        values = 273.15 + 14 * numpy.sin(numpy.arange(count * 72 * 144).reshape(count, 72, 144) / 5000)
        tas[:] = numpy.ma.masked_less(values, 260)
    expect(expected)
    expected.done()


STORED = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


def packed(folder):
    """Every stored type with every kind of packing."""
    ways = {
        "plain": {},
        "fill": {"_FillValue": 7},
        "missing": {"missing_value": 9},
        "scale4": {"scale_factor": numpy.float32(0.1)},
        "scale8": {"scale_factor": 0.1},
        "offset4": {"add_offset": numpy.float32(3.7)},
        "both4": {"scale_factor": numpy.float32(0.1), "add_offset": numpy.float32(273.15)},
        "both8": {"scale_factor": 0.1, "add_offset": 273.15},
        "mixed": {"scale_factor": numpy.float32(0.1), "add_offset": 273.15},
        "all4": {"scale_factor": numpy.float32(0.1), "add_offset": numpy.float32(1.5), "_FillValue": 7},
        "all8": {"scale_factor": 1e-3, "add_offset": 1.5, "_FillValue": 7, "missing_value": 7},
    }
    for way, attributes in ways.items():
        expected = Expected(folder, "packed numbers", f"packed_{way}.nc", "CF 1.10")
        with netCDF4.Dataset(expected.path, "w") as file:
            file.Conventions = "CF-1.10"
            file.createDimension("x", 200)
            for kind in STORED:
                attributes_of = dict(attributes)
                variable = file.createVariable(kind, kind, ("x",), fill_value=attributes_of.pop("_FillValue", None))
                variable.set_auto_maskandscale(False)
                if "missing_value" in attributes_of:
                    attributes_of["missing_value"] = numpy.dtype(kind).type(attributes_of["missing_value"])
                variable.setncatts(attributes_of)
                values = numpy.arange(200)
                if kind[0] == "i":
                    values = values - 100
                if kind[0] == "f":
                    values = values / 8 - 1
                    values[3] = numpy.nan
                variable[:] = values.astype(kind)
        expect(expected)
        expected.done()


def unsigned(folder):
    """Signed bytes that mean unsigned ones, as netCDF-3 had to."""
    expected = Expected(folder, "packed numbers", "unsigned.nc", "CF 1.8")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.Conventions = "ACDD-1.3, CF-1.8"
        file.createDimension("x", 256)
        for name, kind, attributes in [
            ("plain", "i1", {}),
            ("filled", "i1", {"_FillValue": numpy.int8(-1)}),
            ("scaled", "i2", {"_FillValue": numpy.int16(-2), "scale_factor": numpy.float32(0.5)}),
            ("signed", "u1", {"_FillValue": numpy.uint8(255)}),
        ]:
            variable = file.createVariable(name, kind, ("x",), fill_value=attributes.pop("_FillValue", None))
            variable.set_auto_maskandscale(False)
            variable.setncatts(attributes)
            variable._Unsigned = "false" if name == "signed" else "true"
            variable[:] = numpy.arange(256).astype("u1").view("i1" if kind[0] == "i" else "u1").astype(kind)
    expect(expected)
    expected.done()


def valid(folder):
    """Values outside of the valid range, which netCDF4 masks."""
    expected = Expected(folder, "valid range", "valid.nc", "CF 1.11")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.Conventions = "CF-1.11"
        file.createDimension("x", 50)
        for name, kind, attributes in [
            ("least", "i2", {"valid_min": numpy.int16(10)}),
            ("most", "i4", {"valid_max": numpy.int32(30)}),
            ("range", "f4", {"valid_range": numpy.array([5, 25], "f4")}),
            ("packed", "i2", {"valid_range": numpy.array([5, 25], "i2"), "scale_factor": 0.1, "add_offset": 1.0}),
        ]:
            variable = file.createVariable(name, kind, ("x",))
            variable.setncatts(attributes)
            variable.set_auto_maskandscale(False)
            variable[:] = numpy.arange(50).astype(kind)
    with netCDF4.Dataset(expected.path) as file:
        for name, variable in file.variables.items():
            variable.set_always_mask(True)
            values = variable[:]
            if values.dtype.kind == "i":
                values = values.astype("f4" if values.dtype.itemsize < 4 else "f8")
            expected.object(f"/{name}", values.filled(numpy.nan))
    expected.done()


CALENDARS = ["standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day", "360_day"]


def times(folder):
    """Time in every calendar, in every unit, as integers and floats."""
    for calendar in CALENDARS:
        expected = Expected(folder, "time", f"time_{calendar}.nc", "CF 1.11")
        with netCDF4.Dataset(expected.path, "w") as file:
            file.Conventions = "CF-1.11"
            file.createDimension("time", 40)
            for name, kind, units, step in [
                ("days", "f8", "days since 1850-01-01", 17.25),
                ("hours", "i4", "hours since 1900-1-1 00:00:0.0", 1234),
                ("minutes", "i8", "minutes since 2000-02-28 12:30", 777),
                ("seconds", "f8", "seconds since 1970-01-01T00:00:00Z", 86_399.5),
                ("zones", "f4", "days since 1999-12-30 18:00:00 -06:00", 3),
                ("missing", "f8", "days since 2001-01-01", 1),
                ("early", "i4", "days since 1500-01-01", 2000),
            ]:
                fill = 1e20 if name == "missing" else None
                variable = file.createVariable(name, kind, ("time",), fill_value=fill)
                variable.units, variable.calendar = units, calendar
                values = numpy.arange(40) * (float(step) if kind[0] == "f" else step)
                if fill:
                    values[5] = fill
                variable.set_auto_mask(False)
                variable[:] = values
        with netCDF4.Dataset(expected.path) as file:
            for name, variable in file.variables.items():
                dates = cftime.num2date(variable[:], variable.units, calendar, only_use_cftime_datetimes=True)
                dates = numpy.array(dates.tolist(), object)
                expected.object(f"/{name}", dates, dims=["time"], units=variable.units)
        expected.done()


def moments(folder):
    """Numbers by chance, which cftime turns into moments; the same numbers in each run."""
    chance = random.Random(20260701)
    units = ["microseconds", "milliseconds", "seconds", "minutes", "hours", "days", "s", "hr", "d", "msecs"]
    length = {"mi": 1e-3 / 86400, "ms": 1e-3 / 86400, "s": 1 / 86400, "se": 1 / 86400, "h": 1 / 24, "ho": 1 / 24, "d": 1, "da": 1}
    found = []
    while len(found) < 3000:
        calendar = chance.choice(CALENDARS)
        unit = chance.choice(units)
        year, month, day = chance.randint(1, 3000), chance.randint(1, 12), chance.randint(1, 28)
        zone = chance.choice(["", "", " +05:30", " -08:00", "Z", " UTC"])
        of_day = chance.choice(["", " 00:00:00", " 6:30", "T23:59:59", " 12:00:00.25"])
        if not of_day:
            zone = ""
        since = f"{unit} since {year}-{month}-{day}{of_day}{zone}"
        days = chance.uniform(-300, 300) * chance.choice([1, 10, 100, 1000])
        number = days / length.get(unit[:2], 1) if unit[:2] in length else days
        if unit.startswith("min"):
            number = days * 1440
        if unit.startswith("mic"):
            number = days * 86400e6
        number = round(number) if chance.random() < 0.5 else number
        # Beyond 2^53 microseconds cftime multiplies with an error of some microseconds.
        if abs(days * 86400e6) > 2**52 and not isinstance(number, int):
            continue
        try:
            date = cftime.num2date(number, since, calendar, only_use_cftime_datetimes=True)
        except (ValueError, OverflowError):
            continue
        if calendar in ("standard", "gregorian", "julian") and date.year <= 0:
            continue
        shown = f"{'-' if date.year < 0 else ''}{abs(date.year):04}-{date.month:02}-{date.day:02}T{date.hour:02}:{date.minute:02}:{date.second:02}"
        shown += f".{date.microsecond:06}" if date.microsecond else ""
        found.append([since, calendar, number, shown])
    (folder / "moments.expected.json").write_text(json.dumps({"moments": found}))


def texts(folder):
    """Characters, strings, and a string for no string."""
    expected = Expected(folder, "texts", "texts.nc", "CF 1.11")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.Conventions = "CF-1.11"
        file.createDimension("station", 3)
        file.createDimension("length", 12)
        file.createDimension("part", 2)
        names = file.createVariable("name", "S1", ("station", "length"))
        names.long_name = "name of the station"
        names[:] = netCDF4.stringtochar(numpy.array(["Kiel", "Hohenpeissen", ""], "S12"))
        deep = file.createVariable("deep", "S1", ("station", "part", "length"))
        deep[:] = netCDF4.stringtochar(numpy.array([["a", "bc"], ["", "x y"], ["end", "."]], "S12"))
        words = file.createVariable("word", str, ("station",))
        words[:] = numpy.array(["größer", "", "a,b"], object)
        single = file.createVariable("single", str)
        single[...] = "alone"
        # Characters along dimensions of numbers, as in the files of Argo floats, are no texts.
        file.createDimension("level", 4)
        heat = file.createVariable("heat", "f4", ("station", "level"))
        heat[:] = numpy.arange(12).reshape(3, 4)
        flag = file.createVariable("flag", "S1", ("station", "level"))
        flag[:] = numpy.array([[b"1", b"1", b" ", b"4"], [b"1", b"\0", b"", b"9"], [b"2", b"2", b"2", b"2"]], "S1")
        mode = file.createVariable("mode", "S1", ("station",))
        mode[:] = numpy.array([b"R", b"D", b"A"], "S1")
    expect(expected)
    expected.done()


def groups(folder):
    """Groups that take dimensions from those above them, and dimensions without coordinates."""
    expected = Expected(folder, "groups", "groups.nc", "netCDF-4")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.createDimension("x", 4)
        file.createDimension("record", None)
        inner = file.createGroup("model")
        inner.createDimension("level", 3)
        deepest = inner.createGroup("run")
        deepest.createDimension("x", 2)
        level = inner.createVariable("level", "f4", ("level",))
        level[:] = [1, 2, 3]
        flow = inner.createVariable("flow", "f8", ("record", "level", "x"))
        flow[:] = numpy.arange(24).reshape(2, 3, 4)
        other = deepest.createVariable("flow", "i4", ("x", "level"))
        other[:] = numpy.arange(6).reshape(2, 3)
        single = file.createVariable("single", "f8")
        single[...] = 2.5
    for group in ["/", "/model", "/model/run"]:
        expect(expected, group)
    expected.done()


def coordinates(folder):
    """A coordinate of two dimensions, a variable named like a dimension that is none of its coordinates, dimensions made late."""
    expected = Expected(folder, "dimensions", "coordinates.nc", "CF 1.7")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.Conventions = "CF-1.7"
        file.createDimension("time", None)
        file.createDimension("length", 5)
        time = file.createVariable("time", "S1", ("time", "length"))
        time[:] = netCDF4.stringtochar(numpy.array(["jan", "feb"], "S5"))
        first = file.createVariable("first", "f4", ("time",))
        first[:] = [1, 2]
        file.createDimension("late", 3)
        square = file.createVariable("square", "f4", ("late", "late"))
        square[:] = numpy.arange(9).reshape(3, 3)
    expect(expected)
    expected.done()


def flags(folder):
    """Flags stay numbers in values; what they mean is told beside them."""
    expected = Expected(folder, "flags", "flags.nc", "CF 1.11")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.Conventions = "CF-1.11"
        file.createDimension("x", 4)
        sky = file.createVariable("sky", "i1", ("x",))
        sky.flag_values, sky.flag_meanings = numpy.array([0, 1, 2], "i1"), "clear cloudy rain"
        sky[:] = [0, 1, 2, 3]
        land = file.createVariable("land", "u1", ("x",), fill_value=255)
        land.flag_masks, land.flag_meanings = numpy.array([1, 2, 4], "u1"), "land ice lake"
        land[:] = numpy.ma.masked_equal([1, 3, 255, 0], 255)
        state = file.createVariable("state", "i2", ("x",))
        state.flag_masks, state.flag_values = numpy.array([1, 6, 6, 6], "i2"), numpy.array([1, 2, 4, 6], "i2")
        state.flag_meanings = "valid low middle high"
        state[:] = [1, 3, 4, 7]
    expect(expected)
    expected.done()


def datasets(folder):
    """What xarray makes of its own structures."""
    coordinate = xarray.date_range("2001-01-30", periods=6, freq="D")
    data = xarray.Dataset(
        {
            "tas": (("time", "x"), numpy.arange(12.0).reshape(6, 2), {"units": "K", "long_name": "temperature"}),
            "flag": (("x",), numpy.array([True, False])),
            "name": (("x",), numpy.array(["north", "south"])),
            "count": (("x",), numpy.array([3, 4])),
        },
        coords={"time": coordinate, "x": [10.0, 20.0]},
        attrs={"Conventions": "CF-1.9"},
    )
    for engine in ["netcdf4", "h5netcdf"]:
        expected = Expected(folder, "xarray", f"xarray_{engine}.nc", "CF 1.9")
        encoding = {"tas": {"dtype": "int16", "scale_factor": 0.5, "add_offset": 3.0, "_FillValue": -9999}}
        data.to_netcdf(expected.path, engine=engine, encoding=encoding, unlimited_dims=["time"])
        expect(expected)
        expected.done()


def write(folder):
    """All of them."""
    for make in [climate, packed, unsigned, valid, times, moments, texts, groups, coordinates, flags, datasets]:
        make(folder)


def written(path):
    """What our writer made, in netCDF4 and xarray, and after a variable was added and rows appended."""
    with netCDF4.Dataset(path) as file:
        assert [(name, len(found), found.isunlimited()) for name, found in file.dimensions.items()] == [("time", 2, True), ("place", 3, False)]
        assert file["tas"].dimensions == ("time", "place") and file["tas"][0, 2] is numpy.ma.masked
        assert file["few"][:].tolist() == [1.5, None, 2.5] and file["count"][:].tolist() == [1, 2, 3]
        assert "place" not in file.variables
    with xarray.open_dataset(path, engine="netcdf4") as data:
        expected = numpy.array([[281.5, 282.0, numpy.nan], [280.0, 280.5, 281.0]])
        assert numpy.allclose(data["tas"].values, expected, atol=0.005, equal_nan=True) and data["tas"].dtype == "f8"
        assert str(data["time"].values[1]).startswith("2001-01-01T06:00:00")


def appended(path):
    """What netCDF4 makes of it when it goes on writing."""
    with netCDF4.Dataset(path, "a") as file:
        file["time"][2], file["tas"][2, :] = 12.0, [270.0, 271.0, 272.0]
        file.createVariable("more", "f8", ("time", "place"))[:] = numpy.arange(9.0).reshape(3, 3)
    with netCDF4.Dataset(path) as file:
        assert file["tas"].shape == (3, 3) and numpy.allclose(file["tas"][2], [270, 271, 272], atol=0.005)
        assert file["more"][2].tolist() == [6, 7, 8]


def check(folder):
    """Ours, as they read it."""
    import checks

    checks.check("written: dimensions, fill values, packed numbers", lambda: written(folder / "written.nc"))
    checks.check("written: rows and variables that netCDF4 adds", lambda: appended(folder / "written.nc"))
