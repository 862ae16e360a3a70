"""Tables as streams of Arrow: what pyarrow, Polars, DuckDB and pandas make of them, and how much of a file a query reads."""

from __future__ import annotations

import datetime
import gc
import operator
import pathlib
import pickle
import random
import sys
import threading
from collections.abc import Callable
from typing import Any

import duckdb
import h5py
import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
import sciformats.pandas
import sciformats.polars

import sciformats

# The tables that h5py, PyTables, pandas, anndata, gsd and asdf write for the conformance run.
sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "xtask" / "python"))
import tables_files  # noqa: E402

Written = dict[str, tuple[str, dict[str, list[Any]]]]

NAMES = [
    *("h5py/plain", "h5py/chunked", "h5py/loose", "h5py/none", "h5py/columns", "h5py/single", "pytables/run/log"),
    *("pandas/fixed", "pandas/table", "pandas/packed", "pandas/kinds", "pandas/series", "anndata/obs", "anndata/var"),
    *("others/log", "others/stars", "others/entry/scan"),
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("tables")
    found = {}
    for group, write in tables_files.ALL.items():
        for path, inside, expected in write(str(folder)):
            found[group + inside] = (path, expected)
    assert list(found) == NAMES
    return found


def opened(written: Written, name: str) -> tuple[sciformats.Table, dict[str, list[Any]]]:
    path, expected = written[name]
    return sciformats.table(path, "/" + name.partition("/")[2]), expected


@pytest.mark.parametrize("name", NAMES)
def test_pyarrow_has_the_values_of_the_program_that_wrote_them(written: Written, name: str) -> None:
    table, expected = opened(written, name)
    found = pyarrow.table(table)
    assert found.schema == pyarrow.schema(table)
    assert table.columns == found.column_names
    assert table.rows == found.num_rows == len(next(iter(expected.values())))
    for column, values in expected.items():
        assert tables_files.listed(found[column]) == values, column
    # The stream can be read again, also in part.
    part = pyarrow.RecordBatchReader.from_stream(table.select(table.columns[-1:], limit=3)).read_all()
    assert part.equals(found.select(table.columns[-1:]).slice(0, 3))


@pytest.mark.parametrize("name", NAMES)
def test_polars_has_the_same_values(written: Written, name: str) -> None:
    table, expected = opened(written, name)
    for found in (polars.DataFrame(table), sciformats.polars.scan(written[name][0], "/" + name.partition("/")[2]).collect()):
        assert found.columns == table.columns
        for column, values in expected.items():
            assert [tables_files.plain(value) for value in found[column].to_list()] == values, column


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("h5py")])
def test_duckdb_finds_tables_by_the_names_of_variables(written: Written, name: str) -> None:
    found_by_name, expected = opened(written, name)
    if name.startswith("pytables"):
        # DuckDB has no floating-point numbers of 16 bits.
        expected.pop("half", None)
        found_by_name = found_by_name.select([column for column in found_by_name.columns if column != "half"])
    columns = [name for name, values in expected.items() if values and not isinstance(values[0], (list, dict))]
    listed = ", ".join(f'"{column}"' for column in columns)
    for _ in range(2):  # a table can be read several times
        rows = duckdb.sql(f"SELECT {listed} FROM found_by_name").fetchall()
        assert len(rows) == len(next(iter(expected.values())))
        for at, column in enumerate(columns):
            texts = {str(one) for one in expected[column] if isinstance(one, str)}
            if texts:
                assert {row[at] for row in rows if row[at] is not None} == texts
            elif not any(isinstance(one, tuple) for one in expected[column]):
                assert [tables_files.plain(row[at]) for row in rows] == expected[column], column


def test_duckdb_joins_tables_of_two_files(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "runs.h5", "w") as file:
        file["runs"] = np.array([(1, b"a"), (2, b"b"), (3, b"c")], [("run", "i4"), ("who", "S4")])
    pandas.DataFrame({"run": [1, 1, 3], "energy": [0.5, 1.5, 9.0]}).to_hdf(tmp_path / "log.h5", key="log", format="table")
    runs = sciformats.table(tmp_path / "runs.h5", "/runs")
    log = sciformats.table(tmp_path / "log.h5", "/log")
    assert (runs.rows, log.rows) == (3, 3)
    query = "SELECT who, sum(energy) FROM runs JOIN log USING (run) GROUP BY who ORDER BY who"
    assert duckdb.sql(query).fetchall() == [("a", 2.0), ("c", 9.0)]


@pytest.mark.parametrize("key", ["fixed", "table", "packed", "series"])
def test_pandas_has_the_frames_that_it_wrote(written: Written, key: str) -> None:
    path, _ = written[f"pandas/{key}"]
    expected = pandas.read_hdf(path, key)
    expected = expected.to_frame() if isinstance(expected, pandas.Series) else expected
    found = sciformats.pandas.read(path, "/" + key)
    pandas.testing.assert_frame_equal(found[expected.columns], expected, check_freq=False)
    assert set(found.columns) == set(expected.columns)
    some = sciformats.pandas.read(path, "/" + key, columns=["share"], limit=5)
    np.testing.assert_array_equal(some["share"], expected["share"][:5])


def test_pandas_has_the_indexes_that_it_wrote(tmp_path: pathlib.Path) -> None:
    names = pandas.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["p", "q"])
    for number, index in enumerate([None, names, pandas.Index(["x", "y"]), pandas.Index([5, 7], name="n")]):
        expected = pandas.DataFrame({"x": [1.0, 2.0], "m": [3, 4]}, index=index)
        for form in ("table", "fixed"):
            key = f"{form}{number}"
            expected.to_hdf(tmp_path / "frames.h5", key=key, format=form)
            found = sciformats.pandas.read(tmp_path / "frames.h5", "/" + key)
            if index is names and form == "fixed":
                # The levels are texts.
                assert found.index.tolist() == [("a", "1"), ("b", "2")]
                found.index = names
            pandas.testing.assert_frame_equal(found, expected, check_index_type=False)


def test_pandas_has_categories_and_moments_in_utc(written: Written) -> None:
    path, _ = written["pandas/kinds"]
    expected = pandas.read_hdf(path, "kinds")
    found = sciformats.pandas.read(path, "/kinds")
    assert isinstance(found["kind"].dtype, pandas.CategoricalDtype)
    pandas.testing.assert_series_equal(found["kind"].astype(object), expected["kind"].astype(object), check_freq=False)
    # The name of the zone is not kept; the moments are.
    assert str(found["zoned"].dt.tz) == "UTC"
    assert (found["zoned"] == expected["zoned"]).all()


def test_pandas_has_the_frames_of_anndata(written: Written) -> None:
    import anndata

    path, _ = written["anndata/obs"]
    expected = anndata.read_h5ad(path).obs
    found = sciformats.pandas.read(path, "/obs")[expected.columns]
    kinds = {name: str(found[name].dtype) for name in found}
    assert kinds == {
        "kind": "category", "depth": "float32", "count": "int64", "good": "bool", "few": "Int32", "maybe": "boolean",
        "label": str(expected["label"].dtype),
    }
    pandas.testing.assert_frame_equal(found, expected, check_categorical=False, check_index_type=False)


def test_the_frames_of_tables(written: Written) -> None:
    table, expected = opened(written, "anndata/obs")
    assert repr(table).startswith("<sciformats.Table '") and "1000 rows" in repr(table)
    assert table.to_arrow().num_rows == table.to_polars().height == len(table.to_pandas()) == 1000
    assert table.to_pandas().index.tolist() == expected["_index"]


def read_by(query: Callable[[], Any]) -> tuple[Any, int]:
    """Return what a query gives, and how many bytes the process has read meanwhile."""

    def so_far() -> int:
        text = pathlib.Path("/proc/self/io").read_text()
        return int(text.partition("rchar: ")[2].split()[0])

    before = so_far()
    found = query()
    return found, so_far() - before


ROWS, SIDES = 1 << 18, 12


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, dict[str, np.ndarray]]:
    """A group of 12 arrays of 2 MiB each, of which the first is in ascending order."""
    path = tmp_path_factory.mktemp("columns") / "columns.h5"
    chance = np.random.default_rng(25)
    arrays = {f"c{at}": chance.standard_normal(ROWS) for at in range(SIDES)}
    arrays["c0"] = np.arange(ROWS) * 0.5
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file.create_dataset(f"log/{name}", data=values, chunks=(8192,))
    return path, arrays


COLUMN = ROWS * 8


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how many bytes a process has read")
def test_polars_reads_only_what_a_query_needs(columns: tuple[pathlib.Path, dict[str, np.ndarray]]) -> None:
    path, arrays = columns

    def scan(**options: Any) -> polars.LazyFrame:
        return sciformats.polars.scan(path, "/log", **options)

    everything, whole = read_by(lambda: scan().collect())
    assert everything.shape == (ROWS, SIDES) and whole >= SIDES * COLUMN
    # Columns.
    two, read = read_by(lambda: scan().select("c3", "c7").collect())
    np.testing.assert_array_equal(two["c7"], arrays["c7"])
    assert 2 * COLUMN <= read < 2.2 * COLUMN
    # The number of rows.
    head, read = read_by(lambda: scan().head(10).collect())
    assert head.equals(everything.head(10))
    assert read < whole / 10
    # A condition on a column in ascending order, which is searched.
    few = (polars.col("c0") >= 1000.0) & (polars.col("c0") < 1010.0)
    found, read = read_by(lambda: scan(ordered="c0").filter(few).select("c0", "c5").collect())
    assert found.equals(everything.filter(few).select("c0", "c5")) and found.height == 20
    assert read < COLUMN
    # A condition that no row satisfies: other columns are not read.
    none, read = read_by(lambda: scan().filter(polars.col("c4") < -100.0).collect())
    assert none.height == 0 and none.columns == everything.columns
    assert COLUMN <= read < 1.2 * COLUMN
    # A condition on few rows of an unordered column: it is read, and few chunks of the others.
    rare = polars.col("c0") == 77.5
    found, read = read_by(lambda: scan().filter(rare).collect())
    assert found.equals(everything.filter(rare)) and found.height == 1
    assert read < 3 * COLUMN


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how many bytes a process has read")
def test_parts_read_only_what_they_need(columns: tuple[pathlib.Path, dict[str, np.ndarray]]) -> None:
    path, arrays = columns
    table = sciformats.table(path, "/log")
    found, read = read_by(lambda: pyarrow.table(table.select(["c2"])))
    np.testing.assert_array_equal(found["c2"], arrays["c2"])
    assert COLUMN <= read < 1.2 * COLUMN
    found, read = read_by(lambda: sciformats.pandas.read(path, "/log", columns=["c1"], where=[("c0", "<", 5.0)], ordered="c0"))
    np.testing.assert_array_equal(found["c1"], arrays["c1"][:10])
    assert read < COLUMN


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, polars.DataFrame]:
    """A frame of every kind of column with missing values, which pandas and anndata wrote, and the same in memory."""
    path = str(tmp_path_factory.mktemp("mixed") / "mixed.h5ad")
    import anndata

    chance = np.random.default_rng(9)
    rows = 500
    values = chance.standard_normal(rows).round(1)
    values[::11] = np.nan
    obs = pandas.DataFrame(
        {
            "x": values, "n": chance.integers(-5, 6, rows),
            "few": pandas.array([None if at % 5 == 0 else at % 9 for at in range(rows)], dtype="Int32"),
            "maybe": pandas.array([None if at % 7 == 0 else at % 2 == 0 for at in range(rows)], dtype="boolean"),
            "kind": pandas.Categorical.from_codes([(at % 4) - 1 for at in range(rows)], ["T", "B", "NK"]),
            "label": [f"l{at % 20}" for at in range(rows)], "single": chance.standard_normal(rows).astype("f4").round(1),
        },
        index=[f"cell{at}" for at in range(rows)],
    )
    data = anndata.AnnData(np.zeros((rows, 1), "f4"), obs)
    data.strings_to_categoricals = lambda *args, **more: None  # type: ignore[method-assign]
    data.write_h5ad(path)
    return path, polars.DataFrame(sciformats.table(path, "/obs"))


def test_random_queries_of_polars(mixed: tuple[str, polars.DataFrame]) -> None:
    """Whatever part of a query reaches the file, the answer is that of Polars on the whole frame."""
    path, whole = mixed
    chance, col = random.Random(5), polars.col
    number = [col("x"), col("n"), col("few"), col("single")]

    def condition(depth: int = 0) -> polars.Expr:
        kind = chance.randrange(9 if depth < 2 else 6)
        if kind < 3:
            left, right = chance.choice(number), chance.choice([-3, 0, 1, 2, 0.5, -0.1, 1.2, float("nan")])
            marks = [left < right, left <= right, left > right, left >= right, left == right, left != right, polars.lit(right) < left]
            if chance.random() < 0.2:
                marks = [left < chance.choice(number), left.is_between(right, 2)]
            return chance.choice(marks)
        if kind == 3:
            text = chance.choice(["l1", "l19", "zz", "T", ""])
            return chance.choice([col("label") == text, col("label") != text, col("label") > text, col("kind") == text])
        if kind == 4:
            return chance.choice([col("maybe"), ~col("maybe"), col("maybe").is_null(), col("few").is_not_null(), col("x").is_nan()])
        if kind == 5:
            return col("label").is_in(["l1", "l5"]) | (col("n") == 3)
        if kind == 6:
            return condition(depth + 1) | condition(depth + 1)
        if kind == 7:
            return ~condition(depth + 1)
        return condition(depth + 1) & condition(depth + 1)

    for turn in range(300):
        asked = condition()
        names = chance.sample(whole.columns, chance.randrange(1, 5))
        lazy, eager = sciformats.polars.scan(path, "/obs"), whole
        if chance.random() < 0.3:
            rows = chance.choice([0, 5, 60])
            lazy, eager = lazy.head(rows), eager.head(rows)
        lazy, eager = lazy.filter(asked), eager.filter(asked)
        if chance.random() < 0.3:
            lazy, eager = lazy.head(7), eager.head(7)
        found, expected = lazy.select(names).collect(), eager.select(names)
        assert found.equals(expected), f"turn {turn}: {asked}"


def test_conditions_reach_the_file(mixed: tuple[str, polars.DataFrame]) -> None:
    schema, col = mixed[1].schema, polars.col
    of = sciformats.polars.conditions_of
    assert of(col("n") > 3, schema) == [("n", ">", 3)]
    assert of(polars.lit(3) > col("n"), schema) == [("n", "<", 3)]
    assert sorted(of((col("x") < 0.5) & (col("label") == "l1") & (col("few") != 2), schema)) == [
        ("few", "!=", 2), ("label", "=", "l1"), ("x", "<", 0.5),
    ]
    # What the file and Polars could answer differently is left to Polars.
    for left in (col("x") > 0.5, (col("n") > 3) | (col("n") < 1), col("n") + 1 > 3, col("n") > col("few"), col("n") == "a"):
        assert of(left, schema) == []


def test_dates_reach_the_file(written: Written) -> None:
    path, _ = written["pandas/table"]
    col, schema = polars.col, sciformats.polars.scan(path, "/table").collect_schema()
    begin, end = datetime.datetime(2001, 1, 5, 3), datetime.datetime(2001, 1, 9)
    of = sciformats.polars.conditions_of
    assert of(col("day") >= begin, schema) == [("day", ">=", np.datetime64(begin, "ns"))]
    assert of(col("count").is_between(3, 9, closed="left"), schema) == [("count", ">=", 3), ("count", "<", 9)]
    whole = polars.DataFrame(sciformats.table(path, "/table"))
    asked = col("day").is_between(begin, end)
    found = sciformats.polars.scan(path, "/table", ordered="day").filter(asked).collect()
    assert found.equals(whole.filter(asked)) and found.height == 94
    asked = col("when") < datetime.datetime(2020, 1, 2)
    assert sciformats.polars.scan(path, "/table").filter(asked).collect().equals(whole.filter(asked))
    for moment in (begin, np.datetime64(begin), pandas.Timestamp(begin), "2001-01-05 03:00", pandas.Timestamp(begin, tz="UTC")):
        part = sciformats.table(path, "/table").select(["day"], where=[("day", ">=", moment)])
        assert pyarrow.table(part)["day"][0].as_py() == begin


def test_dates_far_away_are_compared_exactly(tmp_path: pathlib.Path) -> None:
    day, col = datetime.datetime(2020, 1, 1), polars.col
    zone = datetime.timezone(datetime.timedelta(hours=-5))
    far = ["2500-01-01", "9999-12-31", "0001-01-01", "1500-01", "2500", "10000-01-01T00"]
    moments = [np.datetime64(text) for text in far]
    moments += [datetime.date(9999, 12, 31), datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, tzinfo=zone)]
    for unit in ("ns", "us", "ms"):
        path = tmp_path / f"{unit}.parquet"
        whole = polars.DataFrame({"t": [day]}, schema={"t": polars.Datetime(unit)})
        whole.write_parquet(path)
        for moment in moments:
            later = str(moment)[:4] > "2020" or str(moment).startswith("10000")
            for mark, expected in (("<", later), (">", not later), ("!=", True), ("=", False)):
                part = sciformats.table(path).select(where=[("t", mark, moment)])
                assert pyarrow.table(part).num_rows == expected, (unit, moment, mark)
        for moment in (datetime.datetime(9999, 12, 31), datetime.datetime(1, 1, 1), datetime.datetime(2500, 1, 1)):
            for asked in (col("t") < moment, col("t") > moment, col("t").is_between(day, moment)):
                assert sciformats.polars.scan(path).filter(asked).collect().equals(whole.filter(asked)), (unit, asked)
    # Parts of a nanosecond are only compared if there are none.
    assert pyarrow.table(sciformats.table(path).select(where=[("t", ">", np.datetime64(1, "ps") - np.timedelta64(1, "ps"))])).num_rows == 1
    for wrong in (np.datetime64(1, "ps"), np.datetime64("NaT"), pandas.NaT):
        with pytest.raises(ValueError):
            sciformats.table(path).select(where=[("t", ">", wrong)])


def test_a_number_beside_binary32_is_one_of_its_numbers(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["t/x"] = np.array([0.1, 0.2, 0.3], "f4")
        file["t/n"] = np.arange(3)
    found = pyarrow.table(sciformats.table(tmp_path / "a.h5", "/t").select(["n"], where=[("x", "=", 0.1)]))
    assert found["n"].to_pylist() == [0]
    found = pyarrow.table(sciformats.sql(f"SELECT n FROM \"{tmp_path}/a.h5:/t\" WHERE x <= 0.2"))
    assert found["n"].to_pylist() == [0, 1]


def test_days_are_compared_with_dates(tmp_path: pathlib.Path) -> None:
    days = pyarrow.table({"day": pyarrow.array([18_000, None, 20_000], pyarrow.date32())})
    pyarrow.parquet.write_table(days, tmp_path / "days.parquet")
    for late in (datetime.date(2020, 1, 1), np.datetime64("2020"), "2020-01-01"):
        part = sciformats.table(tmp_path / "days.parquet").select(where=[("day", ">", late)])
        assert pyarrow.table(part) == days.slice(2)


def test_categories_are_compared_as_in_pandas(tmp_path: pathlib.Path) -> None:
    path, levels = tmp_path / "levels.h5", ["low", "mid", "high"]
    frame = pandas.DataFrame({"n": range(60)})
    frame["level"] = pandas.Categorical.from_codes([at % 4 - 1 for at in frame["n"]], levels, ordered=True)
    frame["kind"] = pandas.Categorical.from_codes([at % 3 for at in frame["n"]], levels)
    frame.to_hdf(path, key="t", format="table")
    table = sciformats.table(path, "/t")

    def found(name: str, mark: str, value: str) -> list[int]:
        return pyarrow.table(table.select(["n"], where=[(name, mark, value)]))["n"].to_pylist()

    marks = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}
    for mark, of in marks.items():
        for value in levels:
            assert found("level", mark, value) == frame["n"][of(frame["level"], value)].tolist(), (mark, value)
    for name in ("level", "kind"):
        assert found(name, "=", "low") == frame["n"][frame[name] == "low"].tolist()
        assert found(name, "!=", "low") == frame["n"][frame[name].notna() & (frame[name] != "low")].tolist()
        assert found(name, "=", "other") == []
    # pandas refuses both, too.
    for name, value in [("level", "other"), ("kind", "mid")]:
        with pytest.raises(TypeError):
            frame[name] < value
        with pytest.raises(ValueError, match=f"categories of {name}"):
            table.select(where=[(name, "<", value)])
    # What Polars compares by texts is left to it.
    whole = polars.DataFrame(table)
    for name in ("level", "kind"):
        asked = polars.col(name).cast(polars.String) < "m"
        assert sciformats.polars.scan(path, "/t").filter(asked).collect().equals(whole.filter(asked))
        asked = polars.col(name) < "mid"
        assert sciformats.polars.scan(path, "/t").filter(asked).collect().equals(whole.filter(asked))
    # SQL compares the texts of categories without an order.
    answer = pyarrow.table(sciformats.sql(f"SELECT n FROM \"{path}:/t\" WHERE kind < 'm'"))
    assert answer["n"].to_pylist() == frame["n"][frame["kind"].astype(str) < "m"].tolist()


def test_decimals_are_compared_by_polars(tmp_path: pathlib.Path) -> None:
    whole = polars.DataFrame({"price": ["1.25", "3.5"]}).with_columns(polars.col("price").cast(polars.Decimal(8, 2)))
    whole.write_parquet(tmp_path / "prices.parquet")
    asked = polars.col("price") > 2
    assert sciformats.polars.scan(tmp_path / "prices.parquet").filter(asked).collect().equals(whole.filter(asked))


def test_many_files_are_one_table(tmp_path: pathlib.Path) -> None:
    for at in range(3):
        with h5py.File(tmp_path / f"run{at}.h5", "w") as file:
            file["log"] = np.array([(at, step * 0.5) for step in range(4)], [("run", "i4"), ("energy", "f8")])
    table = sciformats.table(tmp_path / "run*.h5", "/log")
    found = pyarrow.table(table)
    assert found.column_names == ["file", "run", "energy"]
    assert found["run"].to_pylist() == [0] * 4 + [1] * 4 + [2] * 4
    assert {pathlib.Path(name).name for name in found["file"].to_pylist()} == {"run0.h5", "run1.h5", "run2.h5"}
    last = str(tmp_path / "run2.h5")
    assert pyarrow.table(table.select(["energy"], where=[("file", "=", last)])).num_rows == 4
    query = f'SELECT run, sum(energy) AS e FROM "{tmp_path}/run*.h5:/log" GROUP BY run ORDER BY run DESC'
    answer = sciformats.sql(query)
    assert pyarrow.table(answer).to_pydict() == {"run": [2, 1, 0], "e": [3.0, 3.0, 3.0]}
    with pytest.raises(ValueError, match="once"):
        pyarrow.table(answer)


def test_only_stars_and_question_marks_are_patterns(tmp_path: pathlib.Path) -> None:
    for name in ("data1.h5", "x[1]a.h5", "x1b.h5"):
        with h5py.File(tmp_path / name, "w") as file:
            file["log"] = np.array([(name.encode(),)], [("name", "S8")])
    with pytest.raises(FileNotFoundError):
        sciformats.table(tmp_path / "data[1].h5", "/log")
    with pytest.raises(KeyError):
        sciformats.sql(f'SELECT * FROM "{tmp_path}/data[1].h5:/log"')
    assert pyarrow.table(sciformats.table(tmp_path / "x[1]*.h5", "/log")).num_rows == 1
    assert pyarrow.table(sciformats.sql(f'SELECT * FROM "{tmp_path}/x[1]?.h5:/log"')).num_rows == 1
    assert pyarrow.table(sciformats.table(tmp_path / "x[1]a.h5", "/log")).num_rows == 1


def test_parquet_and_pyarrow_datasets(tmp_path: pathlib.Path, written: Written) -> None:
    table, _ = opened(written, "pandas/table")
    whole = pyarrow.table(table)
    pyarrow.parquet.write_table(whole, tmp_path / "log.parquet")
    again = pyarrow.table(sciformats.table(tmp_path / "log.parquet"))
    assert polars.DataFrame(again).equals(polars.DataFrame(whole))
    reader = pyarrow.RecordBatchReader.from_stream(table.select(batch_rows=64))
    assert [batch.num_rows for batch in reader][0] == 64
    pyarrow.dataset.write_dataset(pyarrow.RecordBatchReader.from_stream(table), tmp_path / "parts", format="parquet")
    assert pyarrow.dataset.dataset(tmp_path / "parts").count_rows() == 1000


def test_errors_have_names(tmp_path: pathlib.Path, written: Written) -> None:
    path, _ = written["pandas/table"]
    with pytest.raises(KeyError):
        sciformats.table(path, "/nothing")
    with pytest.raises(FileNotFoundError):
        sciformats.table(tmp_path / "nothing.h5")
    table = sciformats.table(path, "/table")
    with pytest.raises(KeyError, match="share"):
        table.select(["shar"])
    with pytest.raises(ValueError, match="none of"):
        table.select(where=[("share", "~", 1)])
    with pytest.raises(TypeError):
        table.select(where=[("share", "<", object())])  # type: ignore[list-item]
    for unit in ("s", "ns"):
        with pytest.raises(TypeError, match="span|timedelta"):
            table.select(where=[("share", "<", np.timedelta64(1, unit))])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        sciformats.sql("SELECT 1", log=table)
    with pytest.raises((ValueError, sciformats.Error)):
        sciformats.sql("SELEC 1")
    with pytest.raises(KeyError):
        sciformats.sql('SELECT * FROM "/nowhere/at/all.h5:/x"')
    (tmp_path / "text.txt").write_text("no table\n")
    with pytest.raises(sciformats.NotThisFormat):
        sciformats.table(tmp_path / "text.txt")


def test_damage_is_an_error_of_the_stream(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "damaged.h5"
    values = np.zeros(100_000, [("a", "f8"), ("b", "i4")])
    values["a"] = np.arange(100_000)
    with h5py.File(path, "w") as file:
        made = file.create_dataset("log", data=values, chunks=(10_000,), compression="gzip", fletcher32=True)
        info = made.id.get_chunk_info(7)
    with open(path, "r+b") as file:
        file.seek(info.byte_offset + info.size // 2)
        file.write(b"\xff" * 8)
    reader = pyarrow.RecordBatchReader.from_stream(sciformats.table(path, "/log").select(batch_rows=10_000))
    rows = 0
    with pytest.raises((OSError, pyarrow.ArrowException), match="fletcher32|checksum|deflate"):
        for batch in reader:
            rows += batch.num_rows
    assert rows == 70_000
    with pytest.raises(Exception, match="fletcher32|checksum|deflate"):
        sciformats.polars.scan(path, "/log").collect()


class Harm:
    """What a pickle must not do."""

    done = False

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import test_tables; test_tables.Harm.done = True",)


def test_no_pickle_is_run(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "harm.h5")
    pandas.DataFrame({"name": ["a", None, "b"], "x": [1.0, 2.0, 3.0]}).to_hdf(path, key="frame")
    assert sciformats.pandas.read(path, "/frame")["name"].tolist() == ["a", None, "b"]
    with h5py.File(path, "r+") as file:
        group = file["frame"]
        name = next(name for name in group if name.endswith("_values") and group[name].dtype.kind == "O")
        attributes = dict(group[name].attrs)
        del group[name]
        made = group.create_dataset(name, (1,), h5py.vlen_dtype(np.uint8))
        made[0] = np.frombuffer(pickle.dumps(np.array([[Harm()], [None], ["b"]], object)), np.uint8)
        for key, value in attributes.items():
            made.attrs[key] = value
    with pytest.raises((sciformats.Error, OSError, pyarrow.ArrowException), match="pickle"):
        sciformats.pandas.read(path, "/frame")
    assert not Harm.done


def test_streams_that_nobody_reads(columns: tuple[pathlib.Path, dict[str, np.ndarray]]) -> None:
    table = sciformats.table(columns[0], "/log")
    before = threading.active_count()
    for _ in range(300):
        table.__arrow_c_stream__()
        table.__arrow_c_schema__()
        reader = pyarrow.RecordBatchReader.from_stream(table.select(["c1"], batch_rows=1000))
        assert reader.read_next_batch().num_rows == 1000
    gc.collect()
    assert threading.active_count() == before


def test_one_table_in_many_threads(columns: tuple[pathlib.Path, dict[str, np.ndarray]]) -> None:
    path, arrays = columns
    table = sciformats.table(path, "/log")
    failed: list[BaseException] = []

    def read(number: int) -> None:
        try:
            for _ in range(3):
                found = pyarrow.table(table.select([f"c{number}"], threads=1))
                np.testing.assert_array_equal(found[f"c{number}"], arrays[f"c{number}"])
        except BaseException as error:
            failed.append(error)

    workers = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed, failed[0]
