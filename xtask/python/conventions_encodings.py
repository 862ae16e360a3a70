"""Every encoding of AnnData's elements, every atom of PyTables, and the columns and indexes that pandas stores in a form of its own."""

import anndata
import numpy
import pandas
import scipy.sparse
import tables

from conventions_pandas import moments
from conventions_peer import Expected
from conventions_tables import column


def elements(folder):
    """Tables in `obsm`, `raw`, matrices of pairs, texts with missing ones, and what `uns` may hold."""
    expected = Expected(folder, "AnnData", "elements.h5ad", "AnnData 0.1.0")
    anndata.settings.allow_write_nullable_strings = True
    names = [f"c{at}" for at in range(4)]
    obs = pandas.DataFrame(
        {
            "text": pandas.array(["a", None, "", "größer"], "string"),
            "cluster": pandas.Categorical([3, 1, None, 3], categories=[1, 2, 3]),
            "pass": pandas.Categorical([True, False, None, True]),
            "share": pandas.Categorical([0.5, 1.5, 0.5, None]),
            "small": numpy.array([1, 2, 3, 4], "u1"),
            "half": numpy.array([0.5, numpy.nan, 1, 2], "f4"),
            "short": pandas.array([1, None, 3, 4], "Int8"),
            "ünï code": numpy.arange(4),
        },
        index=names,
    )
    data = anndata.AnnData(numpy.arange(12, dtype="f4").reshape(4, 3), obs, pandas.DataFrame(index=["x", "y", "z"]))
    data.raw = data.copy()
    data.obsm["frame"] = pandas.DataFrame({"u": [1.5, 2, 3, 4], "kind": pandas.Categorical(list("abab"))}, index=names)
    data.obsm["few"] = scipy.sparse.csr_matrix(numpy.diag([1.0, 2, 3, 4]))
    data.obsp["distances"] = scipy.sparse.csc_matrix(numpy.triu(numpy.arange(16.0).reshape(4, 4)))
    data.varm["loadings"] = numpy.arange(6.0).reshape(3, 2)
    data.uns["colours"] = numpy.array(["#ff0000", "#00ff00"], object)
    data.uns["nested"] = {"number": 3, "truth": True, "list": numpy.array([1, 2])}
    data.uns["frame"] = pandas.DataFrame({"empty": numpy.zeros(0)})
    data.write_h5ad(expected.path)
    read = anndata.read_h5ad(expected.path)
    cells = {name: column(read.obs[name]) for name in read.obs.columns}
    for name in ["pass"]:
        cells[name] = numpy.array([cell.replace("True", "true").replace("False", "false") for cell in cells[name]], object)
    expected.table("/obs", read.obs, cells | {"_index": numpy.array(names, object)})
    expected.table("/obsm/frame", read.obsm["frame"], {name: column(read.obsm["frame"][name]) for name in ["u", "kind"]})
    expected.table("/uns/frame", read.uns["frame"], {"empty": numpy.zeros(0)})
    expected.table("/raw/var", read.raw.var, {"_index": numpy.array(["x", "y", "z"], object)})
    expected.object("/X", read.X)
    expected.object("/raw/X", read.raw.X)
    expected.object("/obsm/few", read.obsm["few"].toarray())
    expected.object("/obsp/distances", read.obsp["distances"].toarray().T, shape=[4, 4], turned=True)
    expected.object("/varm/loadings", read.varm["loadings"])
    expected.object("/uns/colours", read.uns["colours"])
    expected.object("/uns/nested/number", numpy.int64(3))
    expected.object("/uns/nested/truth", numpy.bool_(True))
    expected.object("/uns/nested/list", read.uns["nested"]["list"])
    expected.done()


def categories(folder):
    """A file of 200 categories, of which codes need two bytes, with a column that is all missing."""
    expected = Expected(folder, "AnnData", "categories.h5ad", "AnnData 0.1.0")
    many = pandas.Categorical([f"k{at}" for at in range(200)])
    obs = pandas.DataFrame({"many": many, "none": pandas.Categorical([None] * 200, categories=["a"])}, index=[str(at) for at in range(200)])
    anndata.AnnData(scipy.sparse.csr_matrix((200, 2), dtype="f4"), obs).write_h5ad(expected.path)
    read = anndata.read_h5ad(expected.path)
    expected.table("/obs", read.obs, {name: column(read.obs[name]) for name in read.obs.columns})
    expected.object("/X", read.X.toarray().astype("f8"))
    expected.done()


def atoms(folder):
    """Every atom of PyTables in the columns of a table, and its other leaves."""
    expected = Expected(folder, "PyTables", "atoms.h5", "PyTables 2.1")
    colours = tables.Enum({"red": 4, "green": 2, "blue": 1})

    class Row(tables.IsDescription):
        """A row of every type."""

        text = tables.StringCol(6, pos=0)
        truth = tables.BoolCol(pos=1)
        small = tables.Int8Col(pos=2)
        large = tables.UInt64Col(pos=3)
        half = tables.Float16Col(pos=4)
        wave = tables.ComplexCol(16, pos=5)
        colour = tables.EnumCol(colours, "red", "uint8", pos=6)
        seconds = tables.Time32Col(pos=7)
        moment = tables.Time64Col(pos=8)
        several = tables.Float32Col(shape=(2,), pos=9)

    with tables.open_file(expected.path, "w") as file:
        table = file.create_table("/", "rows", Row)
        for at in range(3):
            row = table.row
            row["text"], row["truth"], row["small"], row["large"] = f"r{at}", at == 1, -at, 2**64 - 1 - at
            row["half"], row["wave"], row["colour"] = at / 2, at + 1j, [4, 2, 1][at]
            row["seconds"], row["moment"], row["several"] = 1_000_000_000 + at, 1_000_000_000.5 + at, [at, at + 0.5]
            row.append()
        table.flush()
        found = table[:]
        growing = file.create_earray("/", "growing", tables.Int16Atom(), (0, 3))
        growing.append(numpy.arange(6, dtype="i2").reshape(2, 3))
        file.create_array("/", "text", numpy.array([b"ab", b"c"]))
        file.create_carray("/", "compressed", obj=numpy.arange(100.0), filters=tables.Filters(5, "zlib", shuffle=True))
        file.create_array("/", "single", numpy.float64(2.5))
        file.create_carray("/", "waves", obj=numpy.array([1 + 2j, 3 - 4j]))
    frame = pandas.DataFrame({name: list(found[name]) for name in found.dtype.names})
    cells = {name: found[name] for name in ["truth", "small", "large", "wave", "several"]}
    cells["text"] = numpy.array([text.decode() for text in found["text"]], object)
    cells["colour"] = numpy.array([colours(int(value)) for value in found["colour"]], object)
    cells["seconds"] = [str(numpy.datetime64(int(value), "s")) for value in found["seconds"]]
    cells["moment"] = [f"{numpy.datetime64(round(value * 1e6), 'us')}" for value in found["moment"]]
    expected.table("/rows", frame, cells)
    expected.object("/growing", numpy.arange(6, dtype="i2").reshape(2, 3))
    expected.object("/text", ["ab", "c"], shape=[2])
    expected.object("/compressed", numpy.arange(100.0))
    expected.object("/single", numpy.float64(2.5))
    expected.object("/waves", numpy.array([1 + 2j, 3 - 4j]))
    expected.done()


def frames(folder):
    """Zones of time, texts with gaps in tables, names of columns of several kinds, frames without rows, indexes of texts and floats."""
    for form in ["fixed", "table"]:
        expected = Expected(folder, "pandas", f"frames_{form}.h5", "pandas 0.15.2")
        zoned = pandas.DataFrame({"value": [1.5, 2.5]}, index=pandas.DatetimeIndex(["2020-03-29T00:30", "2020-03-29T03:30"], tz="Europe/Berlin", name="when"))
        texts = pandas.DataFrame({"name": ["a", None, "größer"], "more": ["", "x", "nan?"]}, index=pandas.Index(["p", "q", "r"], name="key"))
        floats = pandas.DataFrame({"a": [1, 2], "b": [0.5, numpy.nan]}, index=pandas.Index([0.25, 0.5], name="depth"))
        numbered = pandas.DataFrame(numpy.arange(6.0).reshape(3, 2))
        small = pandas.DataFrame({"i1": numpy.array([1, -1], "i1"), "u4": numpy.array([1, 2**32 - 1], "u4"), "f4": numpy.array([0.5, 1.5], "f4")})
        for name, data in {"zoned": zoned, "texts": texts, "floats": floats, "numbered": numbered, "small": small}.items():
            data.to_hdf(expected.path, key=name, format=form)
            read = pandas.read_hdf(expected.path, name)
            cells = {str(key): moments(read[key]) for key in read.columns}
            if form == "fixed" and name not in ("zoned", "small", "numbered"):
                cells[data.index.name] = column(read.index.to_series())
            expected.table(f"/{name}", read, cells)
        stamps = pandas.DatetimeIndex(["2020-03-29T00:30", "2020-10-25T02:30"]).tz_localize("Europe/Berlin", ambiguous=[True, True])
        spans = pandas.DataFrame({"at": stamps, "span": pandas.to_timedelta([90, None], unit="m"), "n": [1, 2]}, index=stamps.rename("when"))
        spans.to_hdf(expected.path, key="spans", format=form)
        read = pandas.read_hdf(expected.path, "spans")
        # Moments in a time zone are shown in UTC, and spans in seconds.
        utc = lambda times: [f"{moment:%Y-%m-%dT%H:%M:%S}Z" for moment in times.tz_convert("UTC")]
        cells = {"at": utc(pandas.DatetimeIndex(read["at"])), "when": utc(read.index), "span": read["span"].dt.total_seconds().to_numpy(), "n": read["n"].to_numpy()}
        expected.table("/spans", read, cells)
        series = pandas.Series([1, 2, 3], index=pandas.Index(list("abc")), name="counts")
        series.to_hdf(expected.path, key="counts", format=form)
        read = pandas.read_hdf(expected.path, "counts").to_frame()
        expected.table("/counts", read, {"counts": column(read["counts"])})
        expected.done()


def write(folder):
    """All of them."""
    for make in [elements, categories, atoms, frames]:
        make(folder)
