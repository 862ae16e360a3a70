"""pandas and PyTables: frames and series in every format, and tables by PyTables itself."""

import warnings

import numpy
import pandas
import tables

from conventions_peer import Expected
from conventions_tables import column

warnings.simplefilter("ignore")


def cells(frame, index):
    """Columns by name, moments as texts."""
    found = {str(name): moments(frame[name]) for name in frame.columns}
    if index:
        found[index] = moments(frame.index.to_series())
    return found


def moments(series):
    """Moments as ISO 8601 has them."""
    if series.dtype.kind == "M":
        return ["" if pandas.isna(value) else value.isoformat() for value in series]
    return column(series)


def frame():
    """Columns of every type."""
    return pandas.DataFrame(
        {
            "count": numpy.arange(4),
            "other": numpy.arange(4) * 3,
            "share": [0.5, numpy.nan, 1.5, -2.0],
            "name": ["x", "größer", "", None],
            "when": pandas.to_datetime(["2020-01-01", None, "2021-02-03T04:05:06", "1969-12-31T23:59:59.5"], format="ISO8601"),
            "good": [True, False, True, True],
        },
        index=pandas.date_range("2001-01-01", periods=4, name="day"),
    )


def fixed(folder):
    """The format `fixed`, and a series."""
    expected = Expected(folder, "pandas", "fixed.h5", "pandas 0.15.2")
    data = frame()
    data.to_hdf(expected.path, key="runs/first")
    data["share"].to_hdf(expected.path, key="share")
    several = data.drop(columns="name").set_index(["count", "good"])
    several.to_hdf(expected.path, key="several")
    read = pandas.read_hdf(expected.path, "runs/first")
    expected.table("/runs/first", read, cells(read, "day"))
    expected.table("/share", read[["share"]], cells(read[["share"]], "day"))
    told = {str(level): numpy.array([str(value).replace("True", "true").replace("False", "false") for value in several.index.get_level_values(level)], object) for level in several.index.names}
    expected.table("/several", several, cells(several, None) | told)
    expected.done()


def of_table(folder):
    """The format `table`, with columns that can be searched, categories, and an index of several levels."""
    expected = Expected(folder, "pandas", "table.h5", "pandas 0.15.2")
    data = frame()
    data["kind"] = pandas.Categorical(["u", "v", None, "u"])
    data.to_hdf(expected.path, key="frame", format="table", data_columns=["count"])
    data["share"].to_hdf(expected.path, key="share", format="table")
    several = data.drop(columns=["kind", "name"]).set_index(["count", "other"])
    several.to_hdf(expected.path, key="several", format="table")
    read = pandas.read_hdf(expected.path, "frame")
    expected.table("/frame", read, cells(read, None))
    expected.table("/share", read[["share"]], cells(read[["share"]], None))
    told = {str(level): several.index.get_level_values(level).to_numpy() for level in several.index.names}
    expected.table("/several", several, cells(several, None) | told)
    expected.told["highlights"] = ["/frame", "/several", "/share"]
    expected.done()


def of_pytables(folder):
    """What PyTables writes without pandas."""
    expected = Expected(folder, "PyTables", "pytables.h5", "PyTables 2.1")

    class Particle(tables.IsDescription):
        """A row."""

        name = tables.StringCol(8, pos=0)
        energy = tables.Float32Col(pos=1)
        hit = tables.BoolCol(pos=2)

    with tables.open_file(expected.path, "w", "a run") as file:
        table = file.create_table("/", "particles", Particle, "particles of a run")
        for at in range(3):
            table.row["name"], table.row["energy"], table.row["hit"] = f"p{at}", at / 2, at == 1
            table.row.append()
        table.flush()
        file.create_array("/", "values", numpy.arange(6).reshape(2, 3))
        file.create_carray("/", "truth", obj=numpy.array([[True, False]]))
        read = pandas.DataFrame.from_records(table[:])
    read["name"] = [name.decode() for name in read["name"]]
    expected.table("/particles", read, cells(read, None))
    expected.object("/values", numpy.arange(6).reshape(2, 3))
    expected.object("/truth", numpy.array([[True, False]]))
    expected.done()


def spans(folder):
    """Periods as an index, in both formats and of several lengths, and periods and intervals as objects."""
    expected = Expected(folder, "pandas", "spans.h5", "pandas 0.15.2")
    months = pandas.period_range("1969-11", periods=4, freq="M", name="month")
    lengths = {"M": months}
    for freq in ["Y", "Q", "D", "h", "min", "s", "ms", "us", "ns"]:
        lengths[freq] = pandas.period_range(pandas.Period("1969-12-31 22:59:59.5", freq), periods=4, name="span")
    paths = []
    for freq, index in lengths.items():
        frame = pandas.DataFrame({"x": [0.5, 1.5, 2.5, 3.5]}, index=index)
        paths.append((f"/fixed_{freq}", frame, "fixed"))
    paths.append(("/table", pandas.DataFrame({"x": [0.5, 1.5, 2.5, 3.5]}, index=months), "table"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path, frame, form in paths:
            frame.to_hdf(expected.path, key=path, format=form)
        objects = pandas.DataFrame({"p": pandas.Series(list(months), dtype=object), "i": pandas.Series([pandas.Interval(0.5, 2), pandas.Interval(1, 2, "left"), None, pandas.Interval(0, 1, "both")], dtype=object)})
        objects.to_hdf(expected.path, key="/objects", format="fixed")
    for path, frame, _ in paths:
        read = pandas.read_hdf(expected.path, path)
        expected.table(path, read, {"x": read["x"].to_numpy(), read.index.name: [str(span) for span in read.index]})
    texts = {name: [None if value is None else str(value) for value in objects[name]] for name in objects}
    expected.table("/objects", objects, texts)
    expected.done()


def names(folder):
    """Columns whose names are no plain texts, and texts, spans and indexes that are stored in unusual ways."""
    expected = Expected(folder, "pandas", "names.h5", "pandas 0.15.2")

    def both(path, frame, shown, forms=("fixed", "table"), index=None, **options):
        for form in forms:
            at = f"/{path}_{form}"
            frame.to_hdf(expected.path, key=at, format=form, **options)
            read = pandas.read_hdf(expected.path, at)
            assert read.shape == frame.shape
            read.columns = shown
            values = cells(read, None)
            expected.table(at, read, values | (index or {}))

    numbers = numpy.arange(6).reshape(3, 2) / 4
    parts = [("snout", "x"), ("tail", "y")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both("parts", pandas.DataFrame(numbers, columns=pandas.MultiIndex.from_tuples(parts)), [".".join(part) for part in parts])
        days = pandas.to_datetime(["2001-01-02", "2001-01-03"])
        both("days", pandas.DataFrame(numbers, columns=days), [day.isoformat() for day in days])
        both("texts", pandas.DataFrame(numbers, columns=["naïve Ω", "a\\b"]), ["naïve Ω", "a\\b"])
        latin = pandas.DataFrame({"name": ["größe", "x", None]})
        both("latin", latin, ["name"], ["table"], encoding="latin-1")
        both("reset", pandas.DataFrame(numbers, columns=["index", "x"]), ["index", "x"], ["table"], {"level_0": numpy.arange(3)})
        levels = pandas.MultiIndex.from_arrays([[1, 2, 3], ["a", "b", "c"]])
        told = {f"level_{level}": numpy.array([str(value) for value in levels.get_level_values(level)], object) for level in range(2)}
        both("levels", pandas.DataFrame(numbers, columns=["x", "y"], index=levels), ["x", "y"], ["fixed"], told)
        weeks = pandas.period_range("1969-12-20", periods=3, freq="W-WED", name="week")
        both("weeks", pandas.DataFrame(numbers, columns=["x", "y"], index=weeks), ["x", "y"], ["fixed"], {"week": [str(week) for week in weeks]})
        minutes = pandas.to_timedelta(range(3), unit="min").rename("after")
        both("minutes", pandas.DataFrame(numbers, columns=["x", "y"], index=minutes), ["x", "y"], index={"after": numpy.arange(3) * 60.0})
        both("none", pandas.DataFrame(numbers[:0], columns=["x", "y"]), ["x", "y"], ["fixed"])
        objects = pandas.DataFrame({"day": pandas.Series(list(days.date) + [None], dtype=object), "truth": pandas.Series([True, None, False], dtype=object)})
        objects.to_hdf(expected.path, key="/objects", format="fixed")
        shown = {name: [None if value is None else str(value) for value in objects[name]] for name in objects}
        expected.table("/objects", objects, shown)
    expected.done()


def write(folder):
    """All of them."""
    for make in [fixed, of_table, of_pytables, spans, names]:
        make(folder)
