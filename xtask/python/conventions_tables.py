"""Tables and sparse matrices: files of anndata, pandas and PyTables, and of those who write the layouts of 10x and Loom."""

import anndata
import h5py
import numpy
import pandas
import scipy.sparse

from conventions_peer import Expected


def cells(frame):
    """The columns and the index of a table, for comparison."""
    found = {str(name): column(frame[name]) for name in frame.columns}
    found[frame.index.name or "_index"] = column(frame.index.to_series())
    return found


def column(series):
    """Numbers as they are; everything that may be missing as texts."""
    if isinstance(series.dtype, pandas.CategoricalDtype) or series.dtype.kind not in "iufb":
        return numpy.array(["" if pandas.isna(value) else str(value) for value in series], object)
    if not isinstance(series.dtype, numpy.dtype):
        return numpy.array(["" if pandas.isna(value) else str(value).replace("True", "true").replace("False", "false") for value in series], object)
    return series.to_numpy()


def annotated():
    """A small experiment."""
    matrix = scipy.sparse.random(12, 7, 0.3, "csr", "f4", random_state=7)
    obs = pandas.DataFrame(
        {
            "kind": pandas.Categorical(["T", "B", None, "T"] * 3, categories=["B", "T", "unused"]),
            "level": pandas.Categorical(["low", "high", "low", "mid"] * 3, categories=["low", "mid", "high"], ordered=True),
            "count": numpy.arange(12),
            "share": numpy.linspace(0, 1, 12),
            "good": numpy.arange(12) % 3 == 0,
            "name": [f"größe {i}" for i in range(12)],
            "maybe": pandas.array([1, None, 3, 4] * 3, "Int64"),
            "perhaps": pandas.array([True, None, False, True] * 3, "boolean"),
        },
        index=pandas.Index([f"cell{i}" for i in range(12)], name="barcode"),
    )
    var = pandas.DataFrame({"gene": [f"G{i}" for i in range(7)]}, index=[f"ENSG{i:05}" for i in range(7)])
    data = anndata.AnnData(matrix, obs, var)
    data.layers["columns"] = matrix.tocsc()
    data.layers["dense"] = matrix.toarray()
    data.obsm["place"] = numpy.arange(24.0).reshape(12, 2)
    data.uns["title"] = "twelve cells"
    return data


def of_anndata(folder):
    """As anndata writes it now."""
    data = annotated()
    expected = Expected(folder, "AnnData", "cells.h5ad", "AnnData 0.1.0")
    data.write_h5ad(expected.path)
    read = anndata.read_h5ad(expected.path)
    expected.table("/obs", read.obs, cells(read.obs))
    expected.table("/var", read.var, {"gene": column(read.var["gene"])})
    expected.object("/X", read.X.toarray().astype("f8"))
    # The elements of a column lie together: columns come one after the other.
    expected.object("/layers/columns", read.layers["columns"].toarray().astype("f8").T, shape=[12, 7])
    expected.object("/layers/dense", read.layers["dense"])
    expected.object("/obsm/place", read.obsm["place"])
    expected.object("/obs/kind", column(read.obs["kind"]))
    expected.told["highlights"] = ["/X", "/obs", "/var", "/obsm", "/layers"]
    expected.done()


def old_anndata(folder):
    """As anndata 0.6 and 0.7 wrote it: lists of records, and categories beside the columns."""
    expected = Expected(folder, "AnnData", "cells_06.h5ad", "AnnData")
    obs = numpy.array([(b"c0", 1, 0.5), (b"c1", 0, 1.5), (b"c2", -1, 2.5)], [("index", "S2"), ("kind", "i1"), ("share", "f4")])
    with h5py.File(expected.path, "w") as file:
        file["obs"], file["var"] = obs, numpy.array([(b"g0",), (b"g1",)], [("index", "S2")])
        file["uns/kind_categories"] = numpy.array([b"B", b"T"])
        group = file.create_group("X")
        matrix = scipy.sparse.csr_matrix(numpy.array([[0, 1], [2, 0], [0, 0]], "f4"))
        group["data"], group["indices"], group["indptr"] = matrix.data, matrix.indices, matrix.indptr
        group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = "csr", [3, 2]
    frame = pandas.DataFrame({"kind": ["T", "B", None], "share": numpy.array([0.5, 1.5, 2.5], "f4")})
    expected.table("/obs", frame, {"kind": column(frame["kind"]), "share": frame["share"].to_numpy(), "index": ["c0", "c1", "c2"]})
    expected.object("/X", matrix.toarray().astype("f8"))
    expected.done()

    expected = Expected(folder, "AnnData", "cells_07.h5ad", "AnnData")
    with h5py.File(expected.path, "w") as file:
        for name in ["obs", "var"]:
            group = file.create_group(name)
            group.attrs["encoding-type"], group.attrs["encoding-version"] = "dataframe", "0.1.0"
            group.attrs["_index"], group.attrs["column-order"] = "_index", ["kind", "share"]
            group["_index"] = ["c0", "c1", "c2"]
            group["kind"], group["share"] = numpy.array([1, 0, -1], "i1"), numpy.array([0.5, 1.5, 2.5], "f4")
            group["__categories/kind"] = ["B", "T"]
            group["kind"].attrs["categories"] = group["__categories/kind"].ref
    read = anndata.experimental.read_elem if hasattr(anndata, "experimental") else None
    with h5py.File(expected.path) as file:
        frame = anndata.io.read_elem(file["obs"]) if hasattr(anndata, "io") else read(file["obs"])
    expected.table("/obs", frame, {"kind": column(frame["kind"]), "share": frame["share"].to_numpy()})
    expected.done()


def tenx(folder):
    """The layouts of Cell Ranger 3 and 2, as its documentation has them."""
    matrix = scipy.sparse.random(9, 5, 0.4, "csc", "f8", random_state=3)
    matrix.data = numpy.arange(1, len(matrix.data) + 1, dtype="i4")
    for name, group_name, identity in [
        ("filtered_feature_bc_matrix.h5", "matrix", "10x feature-barcode matrix 3"),
        ("filtered_gene_bc_matrices.h5", "GRCh38", "10x feature-barcode matrix 2"),
    ]:
        expected = Expected(folder, "10x", name, identity)
        with h5py.File(expected.path, "w") as file:
            group = file.create_group(group_name)
            group["data"], group["indices"], group["indptr"] = matrix.data, matrix.indices.astype("i8"), matrix.indptr.astype("i8")
            group["shape"] = numpy.array(matrix.shape, "i4")
            group["barcodes"] = numpy.array([f"AAAC{i}-1" for i in range(5)], "S18")
            names = numpy.array([f"ENSG{i}" for i in range(9)], "S18")
            if group_name == "matrix":
                features = group.create_group("features")
                features["id"], features["name"] = names, numpy.array([f"G{i}" for i in range(9)], "S8")
                features["feature_type"] = numpy.array(["Gene Expression"] * 9, "S15")
                features["_all_tag_keys"] = numpy.array([b"genome"])
            else:
                group["genes"], group["gene_names"] = names, names
        expected.object(f"/{group_name}", matrix.toarray().astype("f8").T, shape=[9, 5])
        if group_name == "matrix":
            frame = pandas.DataFrame({"feature_type": ["Gene Expression"] * 9, "name": [f"G{i}" for i in range(9)]})
            expected.table("/matrix/features", frame, {"name": column(frame["name"]), "id": names.astype(str)})
        expected.done()


def loom(folder):
    """The layout of loompy 3."""
    expected = Expected(folder, "Loom", "cells.loom", "Loom 3.0.0")
    with h5py.File(expected.path, "w") as file:
        file["matrix"] = numpy.arange(12, dtype="f4").reshape(4, 3)
        file["attrs/LOOM_SPEC_VERSION"] = "3.0.0"
        file["row_attrs/Gene"] = [f"G{i}" for i in range(4)]
        file["row_attrs/Length"] = numpy.arange(4)
        file["col_attrs/CellID"] = ["a", "b", "c"]
        file["col_attrs/Age"] = numpy.array([1.5, 2.5, 3.5])
        file.create_group("layers"), file.create_group("row_graphs"), file.create_group("col_graphs")
    expected.object("/matrix", numpy.arange(12, dtype="f4").reshape(4, 3), dims=["gene", "cell"])
    expected.table("/row_attrs", pandas.DataFrame({"Length": numpy.arange(4)}), {"Length": numpy.arange(4), "Gene": [f"G{i}" for i in range(4)]})
    expected.table("/col_attrs", pandas.DataFrame({"Age": [1.5, 2.5, 3.5]}), {"Age": numpy.array([1.5, 2.5, 3.5])})
    expected.done()


def write(folder):
    """All of them."""
    for make in [of_anndata, old_anndata, tenx, loom]:
        make(folder)


def written(path):
    """What our writer made, in anndata."""
    data = anndata.read_h5ad(path)
    assert data.shape == (3, 2) and data.obs_names.tolist() == ["c1", "c2", "größer"] and data.var_names.tolist() == ["g1", "g2"]
    assert isinstance(data.X, scipy.sparse.csr_matrix) and data.X.dtype == "f4"
    assert data.X.toarray().tolist() == [[0, 5], [0, 0], [1, 7]]
    turned = data.layers["turned"]
    assert isinstance(turned, scipy.sparse.csc_matrix) and turned.toarray().tolist() == [[0, 5], [0, 0], [1, 7]]
    assert data.obsm["X_pca"].tolist() == [[0.5, 1], [1.5, 2], [2.5, 3]]
    obs = data.obs
    assert obs.columns.tolist() == ["kind", "stage", "depth", "count", "good", "batch"]
    assert obs["kind"].cat.categories.tolist() == ["T cell", "B cell"] and not obs["kind"].cat.ordered
    assert obs["kind"].isna().tolist() == [False, True, False] and obs["kind"].iloc[2] == "B cell"
    assert obs["stage"].cat.ordered and obs["stage"].tolist() == ["late", "early", "late"]
    assert numpy.array_equal(obs["depth"], [0.5, 1.5, numpy.nan], equal_nan=True) and obs["count"].tolist() == [1, 2, 3]
    assert obs["good"].tolist() == [True, False, True] and obs["batch"].astype(object).tolist() == ["a", "b", ""]
    assert data.uns["log"].index.tolist() == ["first"]
    # anndata writes it again, and reads the same.
    again = path.with_name("again.h5ad")
    data.write_h5ad(again)
    assert (anndata.read_h5ad(again).X != data.X).nnz == 0


def check(folder):
    """Ours, as anndata reads it."""
    import checks

    checks.check("written: data frames and matrices of AnnData", lambda: written(folder / "written.h5ad"))
