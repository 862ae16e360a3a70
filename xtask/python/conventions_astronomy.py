"""ASDF by asdf-astropy: times in every format, angles, positions, tables with masks and times, complex numbers, texts."""

import asdf
import numpy
import pandas
from astropy import units
from astropy.coordinates import SkyCoord
from astropy.table import MaskedColumn, QTable, Table
from astropy.time import Time

from conventions_peer import Expected


def dates(times):
    """Moments to the microsecond, in the scale of the times."""
    return [str(numpy.datetime64(moment, "us")).removesuffix(".000000") for moment in numpy.atleast_1d(times.datetime64)]


def moments(folder):
    """Times as numbers and as texts."""
    expected = Expected(folder, "ASDF", "moments.asdf", "ASDF 1.6.0")
    found = {
        "mjd": Time(numpy.array([58000.0, 58000.5, 15020.25]), format="mjd"),
        "jd": Time(numpy.array([2451545.0, 2451545.25, 2400000.5]), format="jd", scale="tt"),
        "unix": Time(numpy.array([0.0, 1e9, 1.5e9]), format="unix_tai", scale="tai"),
        "gps": Time(numpy.array([0.0, 1e9]), format="gps"),
        "cxcsec": Time(numpy.array([0.0, 6e8]), format="cxcsec"),
    }
    texts = Time(["2020-01-01 00:00:00.000", "2020-02-01 12:00:00.250"])
    asdf.AsdfFile({**found, "text": texts, "single": Time("2020-01-01T00:00:00")}).write_to(expected.path)
    with asdf.open(expected.path) as file:
        for name in found:
            expected.object(f"/{name}", dates(file[name]))
        expected.object("/text", file["text"].value)
    expected.done()


def angles(folder):
    """Angles with their units, and positions of them as a table."""
    expected = Expected(folder, "ASDF", "positions.asdf", "ASDF 1.6.0")
    sky = SkyCoord([10.5, 20.25, 359.0] * units.deg, [-45.0, 0.0, 45.5] * units.deg)
    asdf.AsdfFile({"sky": sky, "speed": numpy.arange(3.0) * units.km / units.s, "wave": numpy.array([1 + 2j, 3]), "word": numpy.array(["a", "größer"])}).write_to(expected.path)
    with asdf.open(expected.path) as file:
        read = file["sky"]
        frame = pandas.DataFrame({"dec": read.dec.value, "ra": read.ra.value})
        expected.table("/sky", frame, {name: frame[name].to_numpy() for name in frame.columns})
        expected.object("/sky/ra", read.ra.value, units="deg")
        expected.object("/speed", file["speed"].value, units="km.s**-1")
        expected.object("/wave", file["wave"])
        expected.object("/word", file["word"])
    expected.done()


def single(folder):
    """Quantities and times that are single numbers, and arrays of which some elements are masked."""
    expected = Expected(folder, "ASDF", "single.asdf", "ASDF 1.6.0")
    masked = numpy.ma.masked_array([[1.5, 2.5], [3.5, 4.5]], [[False, True], [False, False]])
    whole = numpy.ma.masked_array([1, 2, 3], [True, False, False])
    tree = {"speed": 2.5 * units.km / units.s, "count": numpy.int64(7) * units.ct, "when": Time(58000.5, format="mjd"), "masked": masked, "whole": whole}
    asdf.AsdfFile(tree).write_to(expected.path)
    with asdf.open(expected.path) as file:
        expected.object("/speed", file["speed"].value, units="km.s**-1")
        expected.object("/count", file["count"].value, units=file["count"].unit.to_string("vounit"))
        expected.object("/when", dates(file["when"]), shape=[])
        expected.object("/masked", file["masked"].filled(numpy.nan))
        expected.object("/whole", file["whole"].astype("f8").filled(numpy.nan))
    expected.done()


def columns(folder):
    """Tables with missing values, times and quantities in their columns."""
    expected = Expected(folder, "ASDF", "columns.asdf", "ASDF 1.6.0")
    masked = Table(
        {
            "count": MaskedColumn([1, 2, 3], mask=[False, True, False]),
            "share": MaskedColumn([0.5, 1.5, 2.5], mask=[True, False, False], unit="m"),
            "name": ["a", "größer", ""],
            "when": Time([58000.0, 58000.5, 58001.0], format="mjd", scale="tai"),
        }
    )
    quantities = QTable({"flux": [1.0, 2.0] * units.Jy, "band": ["u", "g"]})
    asdf.AsdfFile({"masked": masked, "quantities": quantities}).write_to(expected.path)
    with asdf.open(expected.path) as file:
        read = file["masked"]
        cells = {
            "count": ["" if missing else str(value) for value, missing in zip(read["count"].data, read["count"].mask)],
            "share": read["share"].filled(numpy.nan).data,
            "name": [str(value) for value in read["name"]],
            "when": dates(read["when"]),
        }
        expected.table("/masked", pandas.DataFrame({name: list(values) for name, values in cells.items()}), cells)
        read = file["quantities"]
        frame = pandas.DataFrame({"flux": read["flux"].value, "band": [str(value) for value in read["band"]]})
        expected.table("/quantities", frame, {"flux": read["flux"].value, "band": frame["band"].to_numpy(object)})
    expected.done()


def write(folder):
    """All of them."""
    for make in [moments, angles, single, columns]:
        make(folder)
