"""Queries over files: the program gives what DuckDB gives for the same tables.

    tables_sql_conform.py PROGRAM DIR
"""

import datetime
import decimal
import json
import re
import sys
from importlib.metadata import version

import duckdb
import h5py
import numpy
import pandas
import pyarrow
import pyarrow.feather
import pyarrow.parquet

import tables_files
import tables_sql_random
from checks import check, program_in

PROGRAM, FOLDER = sys.argv[1], sys.argv[2]
run = program_in(PROGRAM, FOLDER)

#: Queries over `a` and `b`; those that sort are compared in order.
QUERIES = [
    "SELECT * FROM a",
    "SELECT id, x * 2 + 1 AS y, -x AS minus, id % 7 AS rest FROM a WHERE id > 50",
    "SELECT x FROM a WHERE x > 0.5 AND kind = 'beta' OR id < 3",
    "SELECT id FROM a WHERE kind IN ('alpha', 'gamma') AND NOT good",
    "SELECT id FROM a WHERE id IN (1, 5, 700, -3)",
    "SELECT id FROM a WHERE x BETWEEN -0.25 AND 0.25",
    "SELECT id FROM a WHERE x NOT BETWEEN -1 AND 1",
    "SELECT id, kind FROM a WHERE kind LIKE '%a_ma' OR kind LIKE 'be%'",
    "SELECT id FROM a WHERE kind NOT LIKE 'a%'",
    "SELECT id FROM a WHERE kind ILIKE 'ALPHA'",
    "SELECT id, CASE WHEN x > 0 THEN 'up' WHEN x < 0 THEN 'down' ELSE 'flat' END AS way FROM a",
    "SELECT id, CASE kind WHEN 'alpha' THEN 1 WHEN 'beta' THEN 2 END AS code FROM a",
    "SELECT CAST(x AS INTEGER) AS whole, CAST(id AS VARCHAR) AS text, CAST(id AS DOUBLE) AS wide FROM a",
    "SELECT count(*) AS n, sum(id) AS s, avg(x) AS m, min(x) AS low, max(x) AS high FROM a",
    "SELECT count(*) AS n, count(x) AS k, min(kind) AS first, max(kind) AS last FROM a WHERE id < 0",
    "SELECT kind, count(*) AS n, avg(x) AS m, stddev(x) AS s, var_pop(x) AS v, median(x) AS h FROM a GROUP BY kind",
    "SELECT kind, good, sum(id) AS s FROM a GROUP BY kind, good HAVING sum(id) > 100",
    "SELECT id % 5 AS rest, count(DISTINCT kind) AS kinds FROM a GROUP BY id % 5",
    "SELECT floor(id / 100) AS block, count(*) AS n FROM a GROUP BY block",
    "SELECT kind, count(*) FILTER (WHERE x > 0) AS n FROM a GROUP BY kind",
    "SELECT DISTINCT kind, good FROM a",
    "SELECT id, x FROM a ORDER BY x DESC LIMIT 10",
    "SELECT id, x FROM a ORDER BY kind, x LIMIT 20 OFFSET 5",
    "SELECT kind, count(*) AS n FROM a GROUP BY kind ORDER BY n DESC, kind",
    "SELECT id FROM a ORDER BY 1 DESC LIMIT 3",
    "SELECT a.id, b.name, b.weight FROM a JOIN b ON a.code = b.code",
    "SELECT a.id, b.name FROM a LEFT JOIN b ON a.code = b.code AND b.weight > 0.5",
    "SELECT a.id, b.name FROM a RIGHT JOIN b ON a.code = b.code",
    "SELECT a.id, b.name FROM a FULL JOIN b ON a.code = b.code AND a.x > 0",
    "SELECT id, name FROM a JOIN b USING (code)",
    "SELECT count(*) AS n FROM a CROSS JOIN b",
    "SELECT b.name, avg(a.x) AS m FROM a JOIN b ON a.code = b.code WHERE a.id > 10 GROUP BY b.name ORDER BY m",
    "SELECT one.id, other.id AS next FROM a AS one JOIN a AS other ON one.id + 1 = other.id WHERE one.x < other.x",
    "WITH big AS (SELECT * FROM a WHERE x > 1) SELECT kind, count(*) AS n FROM big GROUP BY kind",
    "SELECT m FROM (SELECT kind, max(x) AS m FROM a GROUP BY kind) AS best WHERE m > 1",
    "SELECT id FROM a WHERE id < 3 UNION ALL SELECT id FROM a WHERE id < 5",
    "SELECT kind FROM a UNION SELECT kind FROM a",
    "SELECT upper(kind) AS u, length(kind) AS n, substr(kind, 2, 3) AS p, kind || '!' AS j FROM a",
    "SELECT abs(x) AS a, round(x, 2) AS r, ceil(x) AS c, floor(x) AS f, sqrt(abs(x)) AS s, power(x, 2) AS p FROM a",
    "SELECT coalesce(few, -1) AS v, few IS NULL AS none, nullif(id, 5) AS n FROM a",
    "SELECT id FROM a WHERE few IS NOT NULL AND few > 3",
    "SELECT id FROM a WHERE few IS DISTINCT FROM 3",
    "SELECT id FROM a WHERE seen >= '2020-01-01 05:00:00' AND seen < TIMESTAMP '2020-01-02'",
    "SELECT extract(hour FROM seen) AS h, count(*) AS n FROM a GROUP BY h",
    "SELECT year(seen) AS y, month(seen) AS m, day(seen) AS d FROM a LIMIT 5",
    "SELECT date_trunc('hour', seen) AS h, avg(x) AS m FROM a GROUP BY h ORDER BY h",
    "SELECT count(*) FROM a WHERE good",
    "SELECT 1 + 1 AS two, 'it''s' AS text, NULL AS nothing, TRUE AS yes",
    "SELECT greatest(x, 0) AS g, least(x, 0) AS l FROM a",
]

#: Expressions over decimals, times of day, spans and truth values (the columns of `exact`).
EXPRESSIONS = """n + m; n - m; n * m; n / m; n % m; n * i; n + x; n * 0.15; abs(n); ceil(n); round(n, 1); round(n, -1); n > 1.2; n = m
n IN (1.25, 2); greatest(n, m); coalesce(n, 0.5); CASE WHEN b THEN n ELSE 0.125 END; sum(n); avg(n); median(n); min(n); count(DISTINCT n)
CAST(n AS INTEGER); CAST(n AS VARCHAR); CAST(n AS DECIMAL(9,1)); CAST(x AS DECIMAL(4,0)); CAST('1e2' AS DECIMAL(5,2)); n || 'x'; n / 0
z + v; z > y; z > '00:30:00'; max(y); CAST(z AS VARCHAR); CAST('1:2:3' AS TIME); CAST(t AS TIME); hour(z); second(z); epoch(z)
z BETWEEN '00:00:00' AND '02:00:00'; TIME '12:00' > z; v + v; v - w; v * 1.5; v / 8; -v; v > w; v > INTERVAL '1 minute'; t + v; t - t
avg(v); median(v); max(v); count(DISTINCT v); CAST(v AS VARCHAR); epoch(v); minute(v); coalesce(v, INTERVAL '1 day')
INTERVAL '1 day 2 hours'; b IS UNKNOWN; b IS NOT UNKNOWN"""


def rows_of(table, ordered):
    """The rows of a result, sorted if their order has no meaning; numbers to 9 digits."""

    def digits(value):
        if type(value) is datetime.date:
            # A day is its first moment for the program.
            value = datetime.datetime.combine(value, datetime.time())
        if isinstance(value, pyarrow.MonthDayNano):
            # A span is a number of nanoseconds for the program.
            value = datetime.timedelta(days=value.days + 30 * value.months, microseconds=value.nanoseconds / 1000)
        if isinstance(value, decimal.Decimal):
            value = float(value)
        value = tables_files.plain(value)
        if isinstance(value, float):
            return float(f"{value:.9g}") + 0.0  # one zero
        if isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        return value

    rows = [tuple(digits(value) for value in row.values()) for row in table.to_pylist()]
    return rows if ordered else sorted(rows, key=repr)


def made():
    """Two tables: in HDF5 as records, and for DuckDB as they are."""
    rng = numpy.random.default_rng(11)
    count = 700
    few = [None if at % 6 == 0 else at % 9 for at in range(count)]
    a = pandas.DataFrame(
        {
            "id": numpy.arange(count), "x": rng.standard_normal(count), "kind": rng.choice(["alpha", "beta", "gamma", "gramma"], count),
            "good": rng.integers(0, 2, count).astype(bool), "code": rng.integers(0, 8, count).astype("i4"),
            "few": pandas.array(few, dtype="Int64"), "seen": pandas.to_datetime("2020-01-01") + pandas.to_timedelta(numpy.arange(count) * 613, unit="s"),
        }
    )
    b = pandas.DataFrame({"code": numpy.arange(2, 12).astype("i8"), "name": [f"n{at}" for at in range(10)], "weight": rng.uniform(0, 1, 10)})
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(a), f"{FOLDER}/a.parquet")
    records = numpy.zeros(10, [("code", "<i8"), ("name", "S4"), ("weight", "<f8")])
    for name in b.columns:
        records[name] = b[name].to_numpy().astype(records.dtype[name])
    with h5py.File(f"{FOLDER}/b.h5", "w") as file:
        file["run/b"] = records
    return pyarrow.Table.from_pandas(a, preserve_index=False), pyarrow.Table.from_pandas(b, preserve_index=False)


def same(query, a, b):
    """The program and DuckDB have the same rows."""
    expected = duckdb.sql(query).to_arrow_table()
    ours = query.replace("FROM a", 'FROM "a.parquet" AS a').replace("JOIN b", 'JOIN "b.h5:/run/b" AS b').replace("JOIN a AS other", 'JOIN "a.parquet" AS other')
    ours = ours.replace('"a.parquet" AS a AS one', '"a.parquet" AS one')
    run("sql", ours, "-o", "result.arrow", "--force")
    found = pyarrow.feather.read_table(f"{FOLDER}/result.arrow")
    ordered = "ORDER BY" in query
    got, wanted = rows_of(found, ordered), rows_of(expected, ordered)
    assert len(got) == len(wanted), f"{len(got)} rows, not {len(wanted)}"
    for one, other in zip(got, wanted):
        assert one == other, f"{one} is not {other}"


def exact_values():
    """Decimals, times of day and spans in expressions are what they are for DuckDB."""
    number = decimal.Decimal
    exact = pyarrow.table(
        {
            "n": pyarrow.array([number("1.25"), number("-2.50"), None, number("7.75")], pyarrow.decimal128(9, 2)),
            "m": pyarrow.array([number("1.255"), number("2.500"), number("3.000"), None], pyarrow.decimal128(12, 3)),
            "z": pyarrow.array([1000, 3600 * 10**6, None, 86399 * 10**6], pyarrow.time64("us")),
            "y": pyarrow.array([5, 70, 3600, None], pyarrow.time32("s")),
            "v": pyarrow.array([90, -3600, None, 86400 * 3], pyarrow.duration("s")),
            "w": pyarrow.array([90, 36, None, 864], pyarrow.duration("ms")),
            "t": pyarrow.array([0, 10**15, None, 5], pyarrow.timestamp("us")),
            "x": [1.5, 2.5, None, 3.5], "i": pyarrow.array([1, 2, 3, 4], pyarrow.int64()), "b": [True, None, False, True],
        }
    )
    pyarrow.parquet.write_table(exact, f"{FOLDER}/exact.parquet")

    def plain(value):
        """Spans are of several Python types, and a decimal may be shown with another number of digits."""
        if isinstance(value, (int, float, number)) and not isinstance(value, bool):
            return float(f"{value:.9g}")
        if isinstance(value, pyarrow.MonthDayNano):
            return datetime.timedelta(days=value.days + 30 * value.months, microseconds=value.nanoseconds / 1000)
        for convert in ("to_pytimedelta", "to_pydatetime"):
            value = getattr(value, convert, lambda same=value: same)()
        return value

    for expression in re.split(r"[;\n]\s*", EXPRESSIONS):
        expected = duckdb.sql(f"SELECT {expression} AS a FROM exact").to_arrow_table()
        run("sql", f'SELECT {expression} AS a FROM "exact.parquet"', "-o", "exact.arrow", "--force")
        found = pyarrow.feather.read_table(f"{FOLDER}/exact.arrow")
        got, wanted = ([plain(value) for value in table["a"].to_pylist()] for table in (found, expected))
        assert got == wanted, f"{expression}: {got} is not {wanted}"
    # DuckDB has no difference of two times of day either.
    done = run("sql", 'SELECT z - y AS a FROM "exact.parquet"', status=2)
    assert "time of day" in done.stderr, done.stderr


def random_queries(kind):
    """Queries of a class, over tables with missing values."""
    p, q = tables_sql_random.made()
    inner = pyarrow.StructArray.from_arrays([column.combine_chunks() for column in p.select(["i", "s", "w"]).columns], ["i", "s", "w"])
    z = pyarrow.table({"in": inner})
    for name, table in [("p", p), ("q", q), ("z", z)]:
        pyarrow.parquet.write_table(table, f"{FOLDER}/{name}.parquet")

    queries = tables_sql_random.Queries(kind)
    compared = 0
    while compared < 60:
        query = queries.query(kind)
        try:
            expected = duckdb.sql(query).to_arrow_table()
        except duckdb.OutOfRangeException:  # it counts in integers of 8 bits
            continue
        ours = re.sub(r"\b(FROM|JOIN) ([pqz])\b(?!\.)", r'\1 "\2.parquet" AS \2', query)
        run("sql", ours, "-o", "random.arrow", "--force")
        found = pyarrow.feather.read_table(f"{FOLDER}/random.arrow")
        ordered = "ORDER BY" in query
        got, wanted = rows_of(found, ordered), rows_of(expected, ordered)
        assert got == wanted, f"{query}: {[pair for pair in zip(got, wanted) if pair[0] != pair[1]][:1]}"
        compared += 1


def many_files():
    """A pattern is one table with a column for the files."""
    for number in range(30):
        with h5py.File(f"{FOLDER}/part{number:02}.h5", "w") as file:
            file["t"] = numpy.arange(number + 1)
    lines = run("sql", 'SELECT file, count(*) AS n, max(t) AS most FROM "part*.h5:/t" GROUP BY file ORDER BY file', "--json").stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert found == [{"file": f"part{n:02}.h5", "n": n + 1, "most": n} for n in range(30)], found[:3]
    lines = run("sql", "SELECT sum(t) AS s FROM \"part*.h5:/t\" WHERE file = 'part07.h5'", "--json").stdout
    assert json.loads(lines) == {"s": 28}, lines


def outputs():
    """Every form of output has the same rows."""
    query = 'SELECT name, weight FROM "b.h5:/run/b" WHERE code < 5'
    expected = [json.loads(line) for line in run("sql", query, "--format", "json").stdout.splitlines()]
    assert len(expected) == 3
    for ending, read in [("parquet", pandas.read_parquet), ("arrow", pandas.read_feather), ("csv", lambda path: pandas.read_csv(path, float_precision="round_trip"))]:
        run("sql", query, "-o", f"out.{ending}", "--force")
        assert read(f"{FOLDER}/out.{ending}").to_dict("records") == expected, ending
    text = run("sql", query).stdout
    assert "weight" in text and "n1" in text and "3 rows" in text, text


def refused():
    """What is wrong is named, and the exit status says who is to blame."""
    for query, status, word in [
        ("SELEC 1", 2, "parsed"), ('SELECT nam FROM "b.h5:/run/b"', 2, "name"), ('SELECT * FROM "none.h5:/x"', 3, "none.h5"),
        ("DELETE FROM a", 1, "query"), ('SELECT name + 1 FROM "b.h5:/run/b"', 2, "text"), ('SELECT name, count(*) FROM "b.h5:/run/b"', 2, "GROUP BY"),
        ('SELECT row_number() OVER () FROM "b.h5:/run/b"', 1, "window"),
    ]:
        done = run("sql", query, status=status)
        assert word in done.stderr, f"{query}: {done.stderr}"


if __name__ == "__main__":
    print(json.dumps({"peer": f"duckdb {version('duckdb')}"}))
    a, b = made()
    for query in QUERIES:
        check(f"sql: {query}", lambda: same(query, a, b), "we read theirs")
    for kind in tables_sql_random.Queries.CLASSES:
        check(f"sql: 60 random queries, {kind}", lambda: random_queries(kind), "we read theirs")
    for work in [exact_values, many_files, outputs, refused]:
        check(f"sql: {work.__doc__}", work, "we read theirs")
