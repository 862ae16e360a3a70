"""Objects of MATLAB 7.3: files that mat-io writes, and what it reads in them.

mat-io changes an option of pandas when it is imported, so `write DIR` runs in a process of its own.
"""

import enum
import pathlib
import subprocess
import sys
import warnings

import numpy

from conventions_peer import Expected, text

warnings.simplefilter("ignore")

STRINGS = numpy.dtypes.StringDType(na_object=numpy.nan)


def lines(values):
    """Values in C order, as people read them."""
    return [None if value is None or value != value else text(value) for value in numpy.asarray(values, object).ravel()]


def moments(values):
    """Dates as people read them, to the microsecond."""
    values = numpy.asarray(values).astype("M8[ns]")
    nat = numpy.isnat(values)
    micros = numpy.rint(numpy.where(nat, 0, values.astype("i8")) / 1000).astype("i8").astype("M8[us]")
    return [None if missing else text(micro) for micro, missing in zip(micros.ravel(), nat.ravel())]


def spans(values, unit):
    """Lengths of time as numbers of a unit."""
    millis = numpy.asarray(values).astype("m8[ns]").astype("f8") / 1e6
    return millis / {"s": 1e3, "min": 6e4, "h": 3.6e6, "d": 8.64e7}[unit]


def period(months, days, millis):
    """A calendar duration in ISO 8601."""
    months, days, millis = (part.astype("i8") for part in (months, days, millis))
    if months == 0 and days == 0 and millis == 0:
        return "P0D"
    sign = -1 if months < 0 else 1
    years, months = sign * (abs(months) // 12), sign * (abs(months) % 12)
    told = "P" + "".join(f"{number}{letter}" for number, letter in ((years, "Y"), (months, "M"), (days, "D")) if number)
    if millis:
        assert millis > 0
        hours, rest = divmod(millis, 3_600_000)
        minutes, rest = divmod(rest, 60_000)
        seconds = rest / 1000
        seconds = int(seconds) if seconds == int(seconds) else seconds
        told += "T" + "".join(f"{number}{letter}" for number, letter in ((hours, "H"), (minutes, "M"), (seconds, "S")) if number)
    return told


class Matio(Expected):
    """A file that mat-io writes, and what it reads of it."""

    def __init__(self, folder, name, values, **options):
        import matio

        super().__init__(folder, "MATLAB objects", name, "MATLAB 7.3")
        matio.save_to_mat(self.path, values, version="v7.3", **options)
        self.read = matio.load_from_mat(self.path, add_table_attrs=True)
        missing = set(values) - set(self.read)
        assert not missing, f"mat-io does not read {missing}"

    def shaped(self, path, value, cells, **told):
        """An array of a shape; a single value has none."""
        shape = list(numpy.shape(value))
        self.told["objects"].append({"path": path, "values": cells, "shape": [] if set(shape) <= {1} else shape, **told})

    def numbers(self, path, values, **told):
        """Numbers, which are compared to the last digit."""
        self.shaped(path, values, self.values(values), **told)

    def frame(self, path, frame, index=None, **cells):
        """A table whose columns mat-io has read."""
        told = {"path": path, "rows": len(frame), "columns": cells.pop("columns", list(frame.columns)), "cells": {}}
        if index is not None:
            told["cells"][index] = moments(frame.index) if frame.index.dtype.kind == "M" else lines(frame.index)
        for name in frame.columns:
            column = frame[name]
            if name in cells:
                continue
            if column.dtype.kind == "M":
                told["cells"][name] = moments(column)
            elif column.dtype.kind == "m":
                told["cells"][name] = self.values(spans(column, "s"))
            elif column.dtype.kind in "fiub":
                told["cells"][name] = self.values(column.to_numpy())
            else:
                told["cells"][name] = lines(column.to_numpy(object, na_value=None))
        for name, values in cells.items():
            told["cells"][name] = values
        self.told["objects"].append(told)


def record(**fields):
    """A structure."""
    found = numpy.empty((1, 1), [(name, object) for name in fields])
    for name, value in fields.items():
        found[0, 0][name] = value
    return found


def cell(*values):
    """A cell array with one row."""
    found = numpy.empty((1, len(values)), object)
    for at, value in enumerate(values):
        found[0, at] = value
    return found


def strings(folder):
    """Texts of every shape, missing and empty ones, beyond the first 65 536 characters."""
    values = {
        "one": numpy.array([["hello"]], STRINGS),
        "none": numpy.array([[""]], STRINGS),
        "lost": numpy.array([[numpy.nan]], STRINGS),
        "row": numpy.array([["a", "größer", "😀 and more"]], STRINGS),
        "column": numpy.array([["a"], [""], [numpy.nan], ["日本語"]], STRINGS),
        "grid": numpy.array([["a", "b", "c"], ["d", numpy.nan, "f"]], STRINGS),
        "cube": numpy.array([f"{at}" * (at % 5) for at in range(24)], STRINGS).reshape(2, 3, 4),
        "long": numpy.array([["x" * 100_000, "ü" * 70_000]], STRINGS),
        "empty": numpy.empty((0, 0), STRINGS),
        "many": numpy.array([[f"text {at}" for at in range(5000)]], STRINGS).T,
    }
    del values["empty"]  # mat-io cannot write a list without texts
    file = Matio(folder, "strings.mat", values)
    for name in values:
        file.shaped(f"/{name}", file.read[name], lines(file.read[name]))
    file.done()


def times(folder):
    """Dates, lengths of time, and lengths of time in a calendar."""
    from matio.utils.converters.mattimes import caldur_dtype
    from matio.utils.matclass import MatlabOpaque

    dates = ["2024-01-01T12:00:00.123456", "NaT", "1969-12-31T23:59:59", "1700-02-28", "2262-01-01", "2000-02-29T00:00:00.001"]
    wide = numpy.zeros((2, 2), caldur_dtype)
    wide["months"], wide["days"], wide["millis"] = [[1, 14], [0, -1]], [[3, 0], [0, 5]], [[0, 14_706_500], [0, 0]]
    same = numpy.zeros((1, 3), caldur_dtype)
    same["months"], same["days"] = 2, [[1, 2, 3]]
    millis = numpy.array([[1704110400000.0], [numpy.nan], [1704110400123.0]])
    fine = numpy.array([[1704110400000.0 + 0.25 + 1.5e-7j, -5.5 + 0j]])
    zoned = {"data": millis, "tz": numpy.array(["America/New_York"]), "fmt": numpy.array([""])}
    double = {"data": fine, "tz": numpy.array([""]), "fmt": numpy.array([""])}
    values = {
        "one": numpy.array([["2024-02-29"]], "M8[ms]"),
        "grid": numpy.array(dates, "M8[us]").reshape(2, 3),
        "column": numpy.array(dates, "M8[ms]").reshape(-1, 1),
        "zoned": MatlabOpaque(zoned, "datetime"),
        "double": MatlabOpaque(double, "datetime"),
        "seconds": numpy.array([[1.0, 2.5e9]], "f8").astype("m8[ns]"),
        "minutes": numpy.array([[1, 90], [0, -5]], "m8[m]"),
        "hours": numpy.array([[1, 2, 3]], "m8[h]"),
        "days": numpy.array([[1], [365]], "m8[D]"),
        "step": numpy.array([[250]], "m8[ms]"),
        "wide": wide,
        "same": same,
    }
    file = Matio(folder, "times.mat", values)
    for name in ["one", "grid", "column"]:
        file.shaped(f"/{name}", file.read[name], moments(file.read[name]))
    file.shaped("/zoned", millis, [value and value + "Z" for value in moments(file.read["zoned"])],
                long_name="in UTC, from the time zone America/New_York")
    # The numbers are finer than a microsecond, and mat-io reads them to the nanosecond.
    ns = [numpy.datetime_as_string(value, unit="ns") for value in file.read["double"].ravel()]
    file.shaped("/double", fine, [value if value[-3:] != "000" else value[:-3] for value in ns])
    for name, unit in [("seconds", "s"), ("minutes", "min"), ("hours", "h"), ("days", "d"), ("step", "s")]:
        file.numbers(f"/{name}", spans(file.read[name], unit), units=unit)
    for name in ["wide", "same"]:
        read = file.read[name]
        cells = [period(*one) for one in zip(*(read[part].ravel() for part in ["months", "days", "millis"]))]
        file.shaped(f"/{name}", read, cells)
    file.done()


def categories(folder):
    """Categories: missing ones, ordered ones, none, more than 255 of them, in two dimensions."""
    import pandas

    many = [f"category {at}" for at in range(300)]
    values = {
        "plain": pandas.Categorical(["x", "y", "x"]),
        "ordered": pandas.Categorical(["low", None, "high"], categories=["low", "middle", "high"], ordered=True),
        "many": pandas.Categorical(many * 2, categories=many),
        "unused": pandas.Categorical([None, None], categories=["a"]),
    }
    file = Matio(folder, "categories.mat", values)
    for name in values:
        read = file.read[name]
        file.shaped(f"/{name}", numpy.empty(read.shape), lines(numpy.asarray(read)))
    file.done()


def tables(folder):
    """Tables with columns of every class, names of rows, units and descriptions, and tables in structures."""
    import pandas
    from matio.utils.converters.mattables import table_to_mat
    from matio.utils.matclass import MatlabOpaque

    frame = pandas.DataFrame({
        "x": [1.5, numpy.nan, -3.25],
        "count": numpy.array([1, 2, 3], "i4"),
        "large": numpy.array([1, 2**63, 3], "u8"),
        "good": [True, False, True],
        "name": pandas.Series(["a", "größer", None], dtype="string"),
        "kind": pandas.Categorical(["u", None, "u"], categories=["u", "v"]),
        "when": pandas.to_datetime(["2024-01-01T00:00:00.5", None, "1999-12-31T23:59:59.0"]),
        "took": pandas.to_timedelta([1.5, 2, -3600.25], unit="s"),
    })
    named = frame[["x", "name"]].set_axis(["r 1", "r 2", "größer"])
    described = table_to_mat(frame[["x", "count"]])
    extra = described["props"][0, 0]
    extra["VariableUnits"] = cell(numpy.array(["m/s"]), numpy.array([""]))
    extra["VariableDescriptions"] = cell(numpy.array(["the speed"]), numpy.array(["how many"]))
    extra["Description"] = numpy.array(["three runs"])
    extra["VariableNamesOriginal"] = cell(numpy.array(["größe in m"]), numpy.array(["count"]))
    extra["useVariableNamesOriginal"] = numpy.bool_(True)
    inner = MatlabOpaque(table_to_mat(frame[["x"]]), "table")
    # What pandas does not have: columns with several values in a row, texts of one length, cells, tables.
    wide = table_to_mat(frame[["x"] * 5].set_axis(list("abcef"), axis=1))
    wide["data"] = cell(
        numpy.arange(6.0).reshape(3, 2),
        numpy.array(["one", "two", "six"]),
        cell(1.5, numpy.array(["text"]), numpy.array([["in a cell"]], STRINGS)).T,
        numpy.array([["2024-01-01", "2024-01-02"]] * 3, "M8[D]"),
        record(a=1.0).repeat(3, axis=0),
    )
    nested = table_to_mat(frame[["x", "count"]])
    nested["data"] = cell(inner, numpy.array([[1], [2], [3]], "i4"))
    values = {
        "frame": frame,
        "named": named,
        "described": MatlabOpaque(described, "table"),
        "none": frame[:0][["x", "count"]],
        "single": frame[:1][["x", "name", "when"]],
        "empty": pandas.DataFrame(),
        "wide": MatlabOpaque(wide, "table"),
        "nested": MatlabOpaque(nested, "table"),
        "long": pandas.DataFrame({"at": numpy.arange(3000.0), "text": pandas.Series([f"row {at}" for at in range(3000)], dtype="string")}),
        "within": record(table=frame[["x", "name"]], note=numpy.array([["a note"]], STRINGS), level=2.0),
    }
    file = Matio(folder, "tables.mat", values)
    read = file.read
    file.frame("/frame", read["frame"])
    file.frame("/named", read["named"], index="Row")
    file.frame("/described", read["described"])
    assert read["described"].attrs["VariableUnits"] == ["m/s", ""]
    file.told["objects"][-1]["units_of"] = {"größe in m": "m/s"}
    file.told["objects"][-1]["descriptions"] = dict(zip(["größe in m", "count"], read["described"].attrs["VariableDescriptions"]))
    for name in ["none", "single", "long"]:
        file.frame(f"/{name}", read[name])
    file.told["objects"].append({"path": "/empty", "rows": 0, "columns": [], "cells": {}})
    found = read["wide"]
    a = numpy.stack([found["a_1"], found["a_2"]], axis=1)
    e = [one for pair in zip(moments(found["e_1"]), moments(found["e_2"])) for one in pair]
    file.told["objects"].append({"path": "/wide", "rows": 3, "columns": ["a", "b", "c", "e", "f.a"], "cells": {
        "a": file.values(a), "b": lines(found["b"]), "c": ["1.5", "text", "in a cell"],
        "e": e, "f.a": [str(float(numpy.asarray(one)[0, 0]["a"].item())) for one in found["f"]]}})
    # pandas has no tables within tables, so that mat-io only reads their properties.
    inner = read["nested"].properties["data"][0, 0]
    file.told["objects"].append({"path": "/nested", "rows": 3, "columns": ["x.x", "count"], "cells": {
        "x.x": file.values(inner["x"].to_numpy()), "count": file.values(read["nested"].properties["data"][0, 1].ravel())}})
    within = read["within"][0, 0]
    file.frame("/within/table", within["table"])
    file.shaped("/within/note", within["note"], lines(within["note"]))
    file.told["objects"].append({"path": "/within", "rows": 1, "columns": ["table", "note", "level"],
                                 "cells": {"table": ["table 3 × 2"], "note": ["a note"], "level": ["2.0"]}})
    file.done()


def timetables(folder):
    """Tables with times of rows: dates, lengths of time, and both at equal distances."""
    import pandas
    from matio.utils.converters.mattables import timetable_to_mat
    from matio.utils.matclass import MatlabOpaque

    dates = pandas.DataFrame({"v": [1.0, 2.0], "s": pandas.Series(["a", None], dtype="string")},
                             index=pandas.to_datetime(["2024-01-01T00:00:00.0", "2024-01-02T06:30:00.25"]))
    spans_of = pandas.DataFrame({"v": [1, 2, 3]}, index=pandas.to_timedelta([0, 1.5, 3], unit="s"))
    spans_of.index.name = "Elapsed"

    def regular(origin, rows, **step):
        """A timetable whose times are computed."""
        given = {"specifiedAsRate": numpy.bool_(False), "stepSize": numpy.array([[0]], "m8[s]"), "sampleRate": numpy.nan, **step}
        found = timetable_to_mat(pandas.DataFrame({"v": numpy.arange(float(rows))}, index=pandas.to_timedelta(range(rows), unit="s")))
        found["any"][0, 0]["rowTimes"] = record(origin=origin, **given)
        found["any"][0, 0]["varUnits"] = cell(numpy.array(["mV"]))
        found["any"][0, 0]["varDescriptions"] = cell(numpy.array(["the voltage"]))
        return MatlabOpaque(found, "timetable")

    from matio.utils.converters.mattimes import caldur_dtype

    month = numpy.zeros((1, 1), caldur_dtype)
    month["months"] = 1
    start = numpy.array([["2023-11-15T06:00:00"]], "M8[ms]")
    values = {
        "dates": dates,
        "spans": spans_of,
        "steps": regular(start, 4, stepSize=numpy.array([[90]], "m8[s]")),
        "rate": regular(start, 7, specifiedAsRate=numpy.bool_(True), sampleRate=8.0),
        "months": regular(start, 5, stepSize=month),
        "elapsed": regular(numpy.array([[1]], "m8[s]"), 3, stepSize=numpy.array([[2]], "m8[s]")),
    }
    file = Matio(folder, "timetables.mat", values)
    for name in values:
        read = file.read[name]
        index = read.index.name
        cells = {} if read.index.dtype.kind == "M" else {index: file.values(spans(read.index, "s"))}
        file.frame(f"/{name}", read, index=None if cells else index, **cells)
        if name in ["steps", "rate", "months", "elapsed"]:
            assert read.attrs["varUnits"] == ["mV"] and read.attrs["varDescriptions"] == ["the voltage"]
            file.told["objects"][-1]["units_of"] = {"v": "mV"}
            file.told["objects"][-1]["descriptions"] = {"v": "the voltage"}
    file.done()


def maps(folder):
    """Keys and values."""
    from matio.utils.matclass import MatlabContainerMap, MatlabOpaque

    keys = numpy.array([["a"], ["größer"]], STRINGS)
    combined = {"Version": numpy.uint64(1), "IsKeyCombined": numpy.bool_(True), "IsValueCombined": numpy.bool_(True)}
    entries = record(**combined, Key=keys, Value=numpy.array([[1.5], [2.5]]))
    apart = record(**combined, Key=numpy.array([[1.0], [2.0]]), Value=cell(numpy.array(["one"]), numpy.arange(3.0)[None, :]).T)
    values = {
        "texts": MatlabContainerMap({"one": numpy.array([[1.0]]), "two": numpy.array(["zwei"]), "three": numpy.arange(3.0)[None, :]}),
        "numbers": MatlabContainerMap({1: numpy.array(["a"]), 7: numpy.array(["b"])}),
        "floats": MatlabContainerMap({1.5: numpy.array([[True]]), 2.0: numpy.array([[False]])}),
        "none": MatlabContainerMap({}),
        "dictionary": MatlabOpaque({"data": entries}, "dictionary"),
        "mixed": MatlabOpaque({"data": apart}, "dictionary"),
    }
    file = Matio(folder, "maps.mat", values)

    def shown(value):
        """One value as people read it."""
        value = numpy.asarray(value)
        one = [str(float(part)) if part.dtype.kind == "f" else str(part).lower() if part.dtype.kind == "b" else str(part) for part in map(numpy.asarray, value.ravel())]
        return " ".join(one)

    for name in ["texts", "numbers", "floats", "none"]:
        read = file.read[name]
        file.told["objects"].append({"path": f"/{name}", "rows": len(read), "columns": ["key", "value"], "cells": {
            "key": [str(key) for key in read], "value": [shown(value) for value in read.values()]}})
    data = file.read["dictionary"].properties["data"][0, 0]
    file.told["objects"].append({"path": "/dictionary", "rows": 2, "columns": ["key", "value"], "cells": {
        "key": lines(data["Key"]), "value": file.values(data["Value"].ravel())}})
    data = file.read["mixed"].properties["data"][0, 0]
    file.told["objects"].append({"path": "/mixed", "rows": 2, "columns": ["key", "value"], "cells": {
        "key": file.values(data["Key"].ravel()), "value": [shown(value) for value in data["Value"].ravel()]}})
    file.done()


class Colour(enum.Enum):
    """Members of an enumeration, each with a property."""

    Red = {"Code": numpy.array([[1.0]])}
    Green = {"Code": numpy.array([[2.0]])}


def objects(folder):
    """Objects of users' classes, arrays of them, those that refer to each other, enumerations, handles of functions."""
    from matio.utils.matclass import MatlabEnumerationArray, MatlabFunction, MatlabObject, MatlabOpaque, MatlabOpaqueArray, MatlabOpaqueProperty, PropertyType

    def person(name, **more):
        return MatlabOpaque({"name": numpy.array([name]), "age": numpy.array([[30.0]]), **more}, "zoo.Person")

    people = numpy.empty((1, 3), object)
    people[0] = [person("Ada"), person("Bob", email=numpy.array(["b@x.org"])), MatlabOpaque(None, "zoo.Person")]
    loop = person("self")
    loop.properties["friend"] = loop
    one = person(
        "größer",
        born=numpy.array([["1999-12-31"]], "M8[ms]"),
        tags=numpy.array([["a", "b"]], STRINGS),
        flag=MatlabOpaqueProperty(numpy.uint32(1), ptype=PropertyType.INTEGER_VALUE),
        mode=MatlabOpaqueProperty("fast", ptype=PropertyType.MATLAB_ENUMERATION),
        matrix=numpy.zeros((100, 100)),
        best=person("other"),
    )
    colours = numpy.array([[Colour.Red, Colour.Green], [Colour.Green, Colour.Red]], object)
    handle = record(function_handle=record(function=numpy.array(["sin"]), type=numpy.array(["simple"])), matlabroot=numpy.array(["/opt"]))
    lambda_ = record(function_handle=record(function=numpy.array(["sf%0@(x)x.^2"]), type=numpy.array(["anonymous"])), matlabroot=numpy.array(["/opt"]))
    values = {
        "one": one,
        "people": MatlabOpaqueArray(people, "zoo.Person"),
        "loop": loop,
        "again": one,
        "nobody": MatlabOpaque((0, 0), "zoo.Person"),
        "colours": MatlabEnumerationArray(colours, "Colour"),
        "list": cell(one, numpy.array([["text"]], STRINGS), numpy.array([["2024-01-01"]], "M8[ms]"), 1.0),
        "sine": MatlabFunction(handle),
        "square": MatlabFunction(lambda_),
        "old": MatlabObject(record(a=numpy.array([[1.0, 2.0]]), b=numpy.array(["text"])), "inline"),
    }
    file = Matio(folder, "objects.mat", values)
    properties = file.read["one"].properties
    cells = {
        "name": [str(properties["name"].item())], "age": ["30.0"], "born": ["1999-12-31T00:00:00"], "tags": [" ".join(lines(properties["tags"]))],
        "flag": [str(int(properties["flag"]))], "mode": [str(properties["mode"])], "best": ["zoo.Person, in …"], "matrix": ["double 100 × 100, in …"],
    }
    for path in ["/one", "/again"]:
        file.told["objects"].append({"path": path, "rows": 1, "columns": ["name", "age", "born", "tags", "flag", "mode", "matrix", "best"], "cells": cells})
    read = [one.properties for one in file.read["people"].ravel()]
    file.told["objects"].append({"path": "/people", "rows": 3, "columns": ["name", "age", "email"], "cells": {
        key: [str(numpy.asarray(row[key]).item()) if row and key in row else None for row in read] for key in ["name", "age", "email"]}})
    assert file.read["loop"].properties["friend"] is file.read["loop"]
    file.told["objects"].append({"path": "/loop", "rows": 1, "columns": ["name", "age", "friend"], "cells": {"name": ["self"], "friend": ["zoo.Person, in …"]}})
    file.told["objects"].append({"path": "/nobody", "rows": 0, "columns": [], "cells": {}})
    file.shaped("/colours", colours, [member.name for member in file.read["colours"].ravel()])
    file.told["objects"].append({"path": "/list", "rows": 4, "columns": ["list"], "cells": {"list": ["zoo.Person", "text", "2024-01-01T00:00:00", "1.0"]}})
    file.told["objects"].append({"path": "/sine", "shape": [], "values": ["@sin"]})
    file.told["objects"].append({"path": "/square", "shape": [], "values": ["@(x)x.^2"]})
    file.told["objects"].append({"path": "/old", "rows": 1, "columns": ["a", "b"], "cells": {"a": ["1.0 2.0"], "b": ["text"]}})
    file.done()


def write(folder):
    """All of them, in a process of their own."""
    subprocess.run([sys.executable, __file__, str(folder)], check=True)


def main():
    """DIR"""
    folder = pathlib.Path(sys.argv[1])
    for part in [strings, times, categories, tables, timetables, maps, objects]:
        part(folder)


if __name__ == "__main__":
    main()
