"""What the chapters of the CF conventions and of the users' guide of netCDF describe: files of netCDF4, xarray and h5netcdf."""

import h5netcdf
import netCDF4
import numpy
import xarray

from conventions_netcdf import expect
from conventions_peer import Expected


def missing(folder):
    """Fill values at the ends of the types, several missing values, and fill values that are no numbers."""
    expected = Expected(folder, "missing values", "missing.nc", "CF 1.11")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.Conventions = "CF-1.11"
        file.createDimension("x", 6)
        for name, kind, fill, values in [
            ("least", "i8", -(2**63), [-(2**63), -(2**63) + 1, -1, 0, 1, 2**62]),
            ("most", "u8", 2**64 - 1, [2**64 - 1, 2**64 - 2, 2**63, 0, 1, 2]),
            ("large", "i4", 2**31 - 1, [2**31 - 1, 2**31 - 2, 0, 1, -1, -(2**31)]),
            ("single", "f4", 1e20, [1e20, 9.99e19, 0, 1, -1e20, numpy.inf]),
            ("double", "f8", 9.969209968386869e36, [9.969209968386869e36, 1e36, 0, 1, -1, numpy.nan]),
            ("never", "f8", numpy.nan, [numpy.nan, 1e36, 0, 1, -1, numpy.inf]),
        ]:
            variable = file.createVariable(name, kind, ("x",), fill_value=numpy.dtype(kind).type(fill))
            variable.set_auto_maskandscale(False)
            variable[:] = numpy.array(values, kind)
        both = file.createVariable("both", "f4", ("x",), fill_value=numpy.float32(-1))
        both.missing_value = numpy.float32(-2)
        both.set_auto_maskandscale(False)
        both[:] = [-1, -2, -3, 0, 1, 2]
    expect(expected)
    expected.done()


def several(folder):
    """More than one missing value, which netCDF4 masks."""
    expected = Expected(folder, "missing values", "several.nc", "CF 1.11")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.Conventions = "CF-1.11"
        file.createDimension("x", 6)
        for name, kind in [("whole", "i2"), ("real", "f4")]:
            variable = file.createVariable(name, kind, ("x",))
            variable.missing_value = numpy.array([-9, -8, -7], kind)
            variable.set_auto_maskandscale(False)
            variable[:] = [-9, -8, -7, -6, 0, 1]
    with netCDF4.Dataset(expected.path) as file:
        for name, variable in file.variables.items():
            variable.set_always_mask(True)
            expected.object(f"/{name}", variable[:].astype("f4").filled(numpy.nan))
    expected.done()


def spans(folder):
    """Time that is packed, that is missing, in whole numbers, without a calendar that is known, and spans of time."""
    expected = Expected(folder, "time", "spans.nc", "CF 1.11")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.Conventions = "CF-1.11"
        file.createDimension("time", 4)
        for name, kind, attributes in [
            ("packed", "i2", {"units": "days since 2000-01-01", "scale_factor": 0.25, "add_offset": 10.0}),
            ("filled", "i4", {"units": "hours since 2000-01-01", "_FillValue": numpy.int32(-1)}),
            ("nanoseconds", "i8", {"units": "nanoseconds since 1970-01-01", "_FillValue": numpy.int64(-(2**63))}),
            ("capital", "i4", {"units": "days since 2000-01-01", "calendar": "Proleptic_Gregorian"}),
            ("span", "f8", {"units": "days"}),
        ]:
            variable = file.createVariable(name, kind, ("time",), fill_value=attributes.pop("_FillValue", None))
            variable.set_auto_maskandscale(False)
            variable.setncatts(attributes)
            variable[:] = numpy.array([0, 1, -1, 3], kind) * (1_000_000 if name == "nanoseconds" else 1)
    expect(expected)
    expected.done()


def stations(folder):
    """Discrete geometries: ragged arrays, texts as characters with an encoding, scalars as coordinates."""
    expected = Expected(folder, "stations", "stations.nc", "CF 1.8")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.Conventions, file.featureType = "CF-1.8", "timeSeries"
        file.createDimension("obs", None)
        file.createDimension("station", 2)
        file.createDimension("strlen", 8)
        name = file.createVariable("station_name", "S1", ("station", "strlen"))
        name.cf_role = "timeseries_id"
        name.set_auto_chartostring(False)
        name[:] = numpy.array(["Zürich".encode(), b"Bern"], "S8").view("S1").reshape(2, 8)
        name._Encoding = "utf-8"
        size = file.createVariable("row_size", "i4", ("station",))
        size.sample_dimension, size.long_name = "obs", "number of observations"
        size[:] = [2, 3]
        time = file.createVariable("time", "f8", ("obs",))
        time.units, time.standard_name = "hours since 2020-02-28 12:00", "time"
        time[:] = [0, 12, 24, 36, 48]
        humidity = file.createVariable("humidity", "f4", ("obs",), fill_value=numpy.float32(-999))
        humidity.coordinates, humidity.units = "time lat lon alt station_name", "1"
        humidity[:] = numpy.ma.masked_equal([0.5, 0.25, -999, 0.75, 1], -999)
        for axis, units in [("lat", "degrees_north"), ("lon", "degrees_east"), ("alt", "m")]:
            variable = file.createVariable(axis, "f4", ("station",))
            variable.units = units
            variable[:] = [47.5, 46.75]
        height = file.createVariable("height", "f8")
        height.units, height[...] = "m", 2.0
    expect(expected)
    expected.done()


def satellites(folder):
    """A swath, with bytes that mean unsigned ones, packed with a valid range, flags as masks, and a projection."""
    expected = Expected(folder, "satellites", "swath.nc", "CF 1.7")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.Conventions = "CF-1.7"
        file.createDimension("y", 3)
        file.createDimension("x", 4)
        for axis in ["x", "y"]:
            variable = file.createVariable(axis, "i2", (axis,))
            variable.scale_factor, variable.add_offset = numpy.float32(5.6e-05), numpy.float32(-0.101332)
            variable.units, variable.standard_name = "rad", f"projection_{axis}_coordinate"
            variable.set_auto_maskandscale(False)
            variable[:] = numpy.arange(len(file.dimensions[axis]))
        radiance = file.createVariable("Rad", "i2", ("y", "x"), zlib=True, fill_value=numpy.int16(1023))
        radiance.setncatts({"_Unsigned": "true", "scale_factor": numpy.float32(0.812), "add_offset": numpy.float32(-25.9)})
        radiance.setncatts({"units": "W m-2 sr-1 um-1", "grid_mapping": "projection", "ancillary_variables": "DQF"})
        radiance.set_auto_maskandscale(False)
        radiance[:] = numpy.array([0, 1, 1023, 900, 5, 6, 7, 8, 9, 10, -1, 12], "i2").reshape(3, 4)
        quality = file.createVariable("DQF", "i1", ("y", "x"), fill_value=numpy.int8(-1))
        quality.setncatts({"_Unsigned": "true", "flag_values": numpy.array([0, 1, 2, 3, -56], "i1"), "flag_meanings": "good conditional out none lost"})
        quality.set_auto_maskandscale(False)
        quality[:] = numpy.array([0, 1, 2, 3, -1, -56, -57, 0, 1, 1, 1, 1], "i1").reshape(3, 4)
        file.createVariable("projection", "i4").grid_mapping_name = "geostationary"
    expect(expected)
    expected.done()


def types(folder):
    """Types of users: enumerations, and lists of any length; dimensions without elements."""
    expected = Expected(folder, "types of users", "types.nc", "netCDF-4")
    with netCDF4.Dataset(expected.path, "w") as file:
        file.createDimension("x", 3)
        file.createDimension("none", None)
        cloud = file.createEnumType("u1", "cloud_t", {"clear": 0, "stratus": 1, "missing": 255})
        variable = file.createVariable("cloud", cloud, ("x",), fill_value=255)
        variable[:] = numpy.array([0, 1, 255], "u1")
        empty = file.createVariable("empty", "f4", ("none", "x"))
        empty.units = "m"
        words = file.createVariable("words", str, ("none",))
        words.long_name = "no words"
    expected.object("/cloud", ["clear", "stratus", "missing"], dims=["x"])
    expected.object("/empty", numpy.zeros((0, 3), "f4"), dims=["none", "x"], unlimited=[True, False], units="m")
    expected.object("/words", numpy.zeros(0, object), dims=["none"], shape=[0])
    expected.done()


def of_h5netcdf(folder):
    """As h5netcdf writes it by itself, also with complex numbers, which no other program writes."""
    expected = Expected(folder, "h5netcdf", "h5netcdf.nc", "netCDF-4")
    with h5netcdf.File(expected.path, "w") as file:
        file.dimensions = {"time": None, "x": 3}
        file.resize_dimension("time", 2)
        group = file.create_group("deep/er")
        variable = group.create_variable("flow", ("time", "x"), "f4", fillvalue=numpy.float32(-1), chunks=(1, 3))
        variable.attrs["units"] = "m3 s-1"
        variable[...] = numpy.array([[1, -1, 3], [4, 5, 6]], "f4")
        file.create_variable("x", ("x",), data=numpy.array([10, 20, 30], "i4"))
        file.create_variable("/deep/single", (), data=numpy.int16(-5))
    expected.object("/deep/er/flow", numpy.array([[1, numpy.nan, 3], [4, 5, 6]], "f4"), dims=["time", "x"], unlimited=[True, False], units="m3 s-1")
    expected.object("/x", numpy.array([10, 20, 30], "i4"), dims=["x"])
    expected.object("/deep/single", numpy.int16(-5), dims=[], shape=[])
    expected.done()


def kinds(folder):
    """What xarray writes of every kind of array, by default."""
    data = xarray.Dataset(
        {
            "truth": (("x",), numpy.array([True, False, True])),
            "maybe": (("x",), numpy.array(["a", "größer", ""], object)),
            "fixed": (("x",), numpy.array([b"ab", b"c", b""], "S2")),
            "half": (("x",), numpy.array([1.5, numpy.nan, 2.5], "f4")),
            "span": (("x",), numpy.array([1, 2, 3], "m8[D]").astype("m8[ns]")),
            "moment": (("x",), numpy.array(["2001-02-03T04:05:06.789", "NaT", "1969-12-31"], "M8[ns]")),
            "small": (("x",), numpy.array([1, 2, 3], "u1")),
            "scalar": ((), 3.25),
        },
        coords={"label": ("x", ["p", "q", "r"]), "stamp": ((), numpy.datetime64("2020-01-01T00:00:00", "ns"))},
    )
    for engine in ["netcdf4", "h5netcdf"]:
        expected = Expected(folder, "xarray", f"kinds_{engine}.nc", "netCDF-4")
        data.to_netcdf(expected.path, engine=engine)
        expect(expected)
        expected.done()


def calendars(folder):
    """Dates of cftime in an xarray data set, by the month."""
    for calendar in ["noleap", "360_day"]:
        expected = Expected(folder, "xarray", f"months_{calendar}.nc", "netCDF-4")
        dates = xarray.date_range("1999-11-01", periods=5, freq="MS", calendar=calendar, use_cftime=True)
        data = xarray.Dataset({"tas": (("time",), numpy.arange(5.0))}, coords={"time": dates})
        data.to_netcdf(expected.path, engine="netcdf4")
        expect(expected)
        expected.done()


def write(folder):
    """All of them."""
    for make in [missing, several, spans, stations, satellites, types, of_h5netcdf, kinds, calendars]:
        make(folder)
