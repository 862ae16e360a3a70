"""Tables that h5py, PyTables, pandas, anndata, gsd and asdf write, with the columns that they have."""

import datetime
import math
import warnings

import anndata
import asdf
import gsd.hoomd
import h5py
import numpy
import pandas
import tables

warnings.simplefilter("ignore")

ROWS = 1000


def plain(value):
    """Values as Python has them; what is missing is None, and so is NaN."""
    if value is None or value is pandas.NaT or value is pandas.NA:
        return None
    if isinstance(value, numpy.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, numpy.void):
        return {name: plain(value[name]) for name in value.dtype.names}
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (numpy.datetime64, pandas.Timestamp, datetime.datetime)):
        stamp = pandas.Timestamp(value)
        if stamp is pandas.NaT:
            return None
        if stamp.tz is not None:
            stamp = stamp.tz_convert("UTC").tz_localize(None)
        return ("moment", stamp.value if stamp.unit == "ns" else int(stamp.as_unit("ns").value))
    if isinstance(value, (numpy.timedelta64, pandas.Timedelta, datetime.timedelta)):
        span = pandas.Timedelta(value)
        return None if span is pandas.NaT else ("span", int(span.as_unit("ns").value))
    if isinstance(value, numpy.generic):
        return plain(value.item())
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, bytes):
        return value.rstrip(b"\0").decode()
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def listed(column):
    """The values of a column of pandas, NumPy or Arrow."""
    if hasattr(column, "to_pylist"):
        return [plain(one) for one in column.to_pylist()]
    return [plain(one) for one in column]


def structured():
    """A structured array with every kind of field that NumPy has."""
    kinds = [
        ("i1", "i1"), ("i2", "<i2"), ("i4", "<i4"), ("i8", "<i8"), ("u1", "u1"), ("u2", "<u2"), ("u4", "<u4"), ("u8", "<u8"),
        ("f2", "<f2"), ("f4", "<f4"), ("f8", "<f8"), ("big", ">i4"), ("bigfloat", ">f8"), ("text", "S6"), ("yes", "?"),
        ("c8", "<c8"), ("c16", "<c16"), ("three", "<f4", (3,)), ("matrix", "<i2", (2, 2)), ("inner", [("a", "<i4"), ("b", "S2")]),
    ]
    data = numpy.zeros(ROWS, kinds)
    rng = numpy.random.default_rng(25)
    for name in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "big"]:
        limits = numpy.iinfo(data.dtype[name])
        data[name] = rng.integers(limits.min, limits.max, ROWS, endpoint=True, dtype=data.dtype[name].newbyteorder("="))
    for name in ["f2", "f4", "f8", "bigfloat"]:
        data[name] = rng.standard_normal(ROWS)
        data[name][::7] = numpy.nan
    data["text"] = [f"t{at % 50}" for at in range(ROWS)]
    data["yes"] = rng.integers(0, 2, ROWS)
    for name in ["c8", "c16"]:
        data[name] = rng.standard_normal(ROWS) + 1j * rng.standard_normal(ROWS)
    data["three"] = rng.standard_normal((ROWS, 3))
    data["matrix"] = rng.integers(-9, 9, (ROWS, 2, 2))
    data["inner"]["a"] = rng.integers(0, 9, ROWS)
    data["inner"]["b"] = [f"{at % 9}" for at in range(ROWS)]
    return data


def of_h5py(folder):
    """Structured arrays: contiguous, in chunks, compressed; texts and lists of any length; groups of arrays."""
    path = f"{folder}/h5py.h5"
    data = structured()
    expected = {name: listed(data[name]) for name in data.dtype.names}
    with h5py.File(path, "w") as file:
        file["plain"] = data
        file.create_dataset("chunked", data=data, chunks=(130,), compression="gzip", shuffle=True, fletcher32=True)
        colors = h5py.enum_dtype({"red": 1, "green": 5}, "i2")
        text, lists = h5py.string_dtype(), h5py.vlen_dtype(numpy.dtype("<i2"))
        loose = numpy.zeros(5, [("name", text), ("hits", lists), ("color", colors), ("empty", text)])
        loose["name"] = ["a", "", "größer", "日本", "e,\"f\""]
        loose["hits"] = [numpy.arange(n, dtype="<i2") for n in [0, 3, 1, 0, 2]]
        loose["color"] = [1, 5, 5, 1, 1]
        loose["empty"] = [""] * 5
        file["loose"] = loose
        file["none"] = data[:0]
        group = file.create_group("columns")
        group["a"] = numpy.arange(7)
        group["b"] = numpy.linspace(0, 1, 7).astype("f4")
        group["c"] = numpy.arange(21).reshape(7, 3)
        group["name"] = [f"n{at}" for at in range(7)]
        group["b"].attrs["units"] = "m"
        file["single"] = numpy.arange(5.0)
    yield path, "/plain", expected
    yield path, "/chunked", expected
    yield path, "/loose", {
        "name": ["a", "", "größer", "日本", "e,\"f\""], "hits": [list(range(n)) for n in [0, 3, 1, 0, 2]],
        "color": ["red", "green", "green", "red", "red"], "empty": [""] * 5,
    }
    yield path, "/none", {name: [] for name in data.dtype.names}
    yield path, "/columns", {
        "a": list(range(7)), "b": listed(numpy.linspace(0, 1, 7).astype("f4")), "c": numpy.arange(21).reshape(7, 3).tolist(),
        "name": [f"n{at}" for at in range(7)],
    }
    yield path, "/single", {"single": [0.0, 1.0, 2.0, 3.0, 4.0]}


class Row(tables.IsDescription):
    """Every kind of column that PyTables has."""

    count = tables.Int64Col(pos=0)
    small = tables.UInt8Col(pos=1)
    half = tables.Float16Col(pos=2)
    value = tables.Float64Col(pos=3)
    good = tables.BoolCol(pos=4)
    name = tables.StringCol(8, pos=5)
    when = tables.Time32Col(pos=6)
    exact = tables.Time64Col(pos=7)
    color = tables.EnumCol(tables.Enum({"red": 0, "blue": 4}), "red", base="int8", pos=8)
    many = tables.Float32Col(shape=(2,), pos=9)
    bits = tables.BoolCol(shape=(3,), pos=10)
    complexes = tables.ComplexCol(itemsize=16, pos=11)

    class inner(tables.IsDescription):
        """A column with columns."""

        a = tables.Int32Col()


def of_pytables(folder):
    """A table of PyTables with every kind of column, compressed by Blosc."""
    path = f"{folder}/pytables.h5"
    rng = numpy.random.default_rng(7)
    expected = {}
    with tables.open_file(path, "w") as file:
        table = file.create_table("/run", "log", Row, createparents=True, filters=tables.Filters(5, "blosc2:zstd", shuffle=True))
        data = numpy.zeros(ROWS, table.dtype)
        data["count"] = numpy.arange(ROWS) - 500
        data["small"] = rng.integers(0, 256, ROWS)
        data["half"] = rng.standard_normal(ROWS)
        data["value"] = rng.standard_normal(ROWS)
        data["value"][3] = numpy.nan
        data["good"] = rng.integers(0, 2, ROWS)
        data["name"] = [f"é{at % 30}".encode() for at in range(ROWS)]
        data["when"] = rng.integers(0, 2**31 - 1, ROWS)
        data["exact"] = numpy.round(rng.uniform(0, 1e9, ROWS), 3)
        data["color"] = rng.choice([0, 4], ROWS)
        data["many"] = rng.standard_normal((ROWS, 2))
        data["bits"] = rng.integers(0, 2, (ROWS, 3))
        data["complexes"] = rng.standard_normal(ROWS) + 1j
        data["inner"]["a"] = rng.integers(0, 100, ROWS)
        table.append(data)
        table.flush()
        table.cols.count.create_index()
    for name in data.dtype.names:
        expected[name] = listed(data[name])
    expected["when"] = [("moment", int(one) * 10**9) for one in data["when"]]
    exact = numpy.round(data["exact"] * 1e6).astype("i8")
    expected["exact"] = [("moment", int(one) * 1000) for one in exact]
    expected["color"] = ["red" if one == 0 else "blue" for one in data["color"]]
    yield path, "/run/log", expected


def frame():
    """A frame of pandas with every type of column and every kind of missing value."""
    rng = numpy.random.default_rng(3)
    when = pandas.to_datetime("2020-01-01") + pandas.to_timedelta(numpy.arange(ROWS) * 977, unit="s")
    data = pandas.DataFrame(
        {
            "count": numpy.arange(ROWS), "other": numpy.arange(ROWS) * 3, "share": rng.standard_normal(ROWS),
            "single": rng.standard_normal(ROWS).astype("f4"), "small": rng.integers(-100, 100, ROWS).astype("i1"),
            "name": [f"größe {at % 17}" for at in range(ROWS)], "when": when, "span": pandas.to_timedelta(numpy.arange(ROWS) - 9, unit="ms"),
            "good": rng.integers(0, 2, ROWS).astype(bool),
        },
        index=pandas.date_range("2001-01-01", periods=ROWS, name="day", freq="h"),
    )
    data.loc[data.index[5], "share"] = numpy.nan
    data.loc[data.index[6], "when"] = pandas.NaT
    data.loc[data.index[7], "span"] = pandas.NaT
    data.loc[data.index[8], "name"] = None
    return data


def columns_of(data, index=None):
    """The columns that a frame has."""
    expected = {} if index is None else {index: listed(data.index)}
    for name in data.columns:
        expected[str(name)] = listed(data[name].astype(object) if isinstance(data[name].dtype, pandas.CategoricalDtype) else data[name])
    return expected


def of_pandas(folder):
    """Frames and series, in both formats; categories; dates of other units and zones."""
    path = f"{folder}/pandas.h5"
    data = frame()
    kinds = data.copy()
    kinds["kind"] = pandas.Categorical.from_codes([(at % 4) - 1 for at in range(ROWS)], ["T cell", "B cell", "other"])
    kinds["far"] = pandas.Series(numpy.arange(ROWS) * 10**9, index=data.index).astype("datetime64[us]")
    kinds["zoned"] = (pandas.to_datetime("2020-03-29") + pandas.to_timedelta(numpy.arange(ROWS), unit="h")).tz_localize("UTC").tz_convert("Europe/Berlin")
    plain_table = data.drop(columns=["span"])
    data.to_hdf(path, key="fixed")
    data["share"].to_hdf(path, key="series")
    plain_table.to_hdf(path, key="table", format="table", data_columns=["count", "name"])
    kinds[["share", "kind", "zoned"]].to_hdf(path, key="kinds", format="table")
    plain_table.to_hdf(path, key="packed", format="table", complevel=5, complib="blosc:zstd")
    for key, index in [("fixed", "day"), ("table", "day"), ("packed", "day"), ("kinds", "day")]:
        read = pandas.read_hdf(path, key)
        yield path, f"/{key}", columns_of(read, index)
    read = pandas.read_hdf(path, "series")
    yield path, "/series", {"day": listed(read.index), "share": listed(read)}


def of_anndata(folder):
    """A frame of cells with categories, and every kind of column that may be missing."""
    path = f"{folder}/cells.h5ad"
    rng = numpy.random.default_rng(5)
    obs = pandas.DataFrame(
        {
            "kind": pandas.Categorical.from_codes([(at % 4) - 1 for at in range(ROWS)], ["T", "B", "NK"]),
            "depth": rng.standard_normal(ROWS).astype("f4"), "count": rng.integers(0, 9, ROWS), "good": rng.integers(0, 2, ROWS).astype(bool),
            "few": pandas.array([None if at % 5 == 0 else at for at in range(ROWS)], dtype="Int32"),
            "maybe": pandas.array([None if at % 7 == 0 else at % 2 == 0 for at in range(ROWS)], dtype="boolean"),
            "label": [f"l{at % 700}" for at in range(ROWS)],
        },
        index=[f"cell{at}" for at in range(ROWS)],
    )
    data = anndata.AnnData(numpy.zeros((ROWS, 2), "f4"), obs, pandas.DataFrame(index=["g1", "g2"]))
    data.strings_to_categoricals = lambda *args, **more: None
    data.write_h5ad(path, compression="gzip")
    read = anndata.read_h5ad(path)
    expected = columns_of(read.obs)
    expected["_index"] = listed(read.obs_names)
    yield path, "/obs", expected
    yield path, "/var", {"_index": ["g1", "g2"]}


def of_others(folder):
    """Quantities that HOOMD logs, a table of astropy in ASDF, and NXdata."""
    path = f"{folder}/run.gsd"
    with gsd.hoomd.open(path, "w") as file:
        for step in range(50):
            state = gsd.hoomd.Frame()
            state.configuration.step = step * 10
            state.particles.N = 2
            state.log = {"energy": numpy.array([step * 0.5]), "tensor": numpy.arange(6.0) + step}
            file.append(state)
    yield path, "/log", {"configuration/step": [step * 10 for step in range(50)], "log/energy": [step * 0.5 for step in range(50)], "log/tensor": [[part + step for part in range(6)] for step in range(50)]}
    import astropy.table

    path = f"{folder}/stars.asdf"
    stars = astropy.table.Table({"id": numpy.arange(5), "flux": numpy.linspace(0, 1, 5), "name": ["a", "b", "c", "d", "e"]})
    asdf.AsdfFile({"stars": stars}).write_to(path)
    yield path, "/stars", {"id": list(range(5)), "flux": numpy.linspace(0, 1, 5).tolist(), "name": ["a", "b", "c", "d", "e"]}
    path = f"{folder}/scan.nxs"
    with h5py.File(path, "w") as file:
        file.attrs["default"] = "entry"
        entry = file.create_group("entry")
        entry.attrs.update({"NX_class": "NXentry", "default": "scan"})
        scan = entry.create_group("scan")
        scan.attrs.update({"NX_class": "NXdata", "signal": "counts", "axes": ["angle"]})
        scan["angle"] = numpy.linspace(0, 90, 6)
        scan["counts"] = numpy.arange(6)
    yield path, "/entry/scan", {"angle": numpy.linspace(0, 90, 6).tolist(), "counts": list(range(6))}


ALL = {"h5py": of_h5py, "pytables": of_pytables, "pandas": of_pandas, "anndata": of_anndata, "others": of_others}
