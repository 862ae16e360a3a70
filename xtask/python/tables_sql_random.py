"""Random queries for `tables_sql_conform.py`, over two tables with missing values.

Both programs have to give the same rows, so nothing is asked for which the document names a difference.
"""

import decimal
import random
import re

import numpy
import pyarrow

#: What stands for each kind of expression, which may contain others: `INT`, `NUM`, `TEXT`, `DATE`, `DEC` (a decimal), `TOD` (a time of
#: day), `SPAN` and `COND`. `[a b]` is one of several words, a small letter with a dot before it is a column, and `#` is a small number.
FORMS = {
    "INT": [
        "(INT + INT)", "(INT - INT)", "(INT * INT)", "(-[.i .k])", "abs(INT)", "(INT % [3 7 -4])", "length(TEXT)", "sign(INT)", "round(INT, [-1 -2 0 1])",
        "coalesce([.i .k .u], INT)", "nullif(INT, INT)", "greatest(INT, INT)", "least(INT, INT)", "CAST(COND AS INTEGER)", "CASE WHEN COND THEN INT ELSE INT END",
        "CASE [.i .k .u] WHEN [1 2 3] THEN INT WHEN 5 THEN INT END", "CAST(floor(NUM) AS BIGINT)", "CAST(DEC AS BIGINT)", "[hour minute](TOD)",
    ],
    "NUM": [
        "(NUM + .x)", "(NUM - .x)", "(.x * INT)", "floor(NUM)", "ceil(NUM)", "abs(NUM)", "round(.x, [0 1])", "sqrt(abs(.x))", "CAST(INT AS DOUBLE)", "power(.x, 2)",
        "coalesce(NUM, .x)", "greatest(.x, NUM)", "CASE WHEN COND THEN .x ELSE NUM END", "CAST(DEC AS DOUBLE)", "(DEC / [.e .g 4])", "(DEC * .x)", "epoch(TOD)",
    ],
    "TEXT": [
        "upper(TEXT)", "lower(TEXT)", "(TEXT || TEXT)", "substr(TEXT, [1 2 3], [1 2 9])", "replace(TEXT, 'a', 'o')", "trim(TEXT)", "coalesce([.s .w], TEXT)",
        "CAST([.i .k .u] AS VARCHAR)", "substring(TEXT FROM 2)", "CASE WHEN COND THEN TEXT END", "CAST([.e .g .h .j] AS VARCHAR)",
    ],
    "DATE": ["date_trunc('[second minute hour day month year]', .t)", "coalesce(.t, DATE)"],
    "DEC": [
        "(DEC + DEC)", "(DEC - DEC)", "(DEC * [2 -3 10])", "(.e * .g)", "(-[.e .g])", "abs(DEC)", "(DEC + INT)", "(DEC + [0.5 12.125])", "([.e .g] % [.e 7 0.75])", "round(DEC, [-1 0 1])", "[ceil floor](DEC)",
        "coalesce([.e .g], DEC)", "greatest(DEC, .e)", "least(.g, DEC)", "nullif(.e, DEC)", "CASE WHEN COND THEN DEC ELSE .g END", "CAST(INT AS DECIMAL(18,3))", "CAST([.e .g] AS DECIMAL(9,1))",
    ],
    "TOD": ["(TOD + SPAN)", "(TOD - SPAN)", "CAST(.t AS TIME)", "coalesce([.h .j], TOD)", "greatest(.h, TOD)", "least(TOD, .j)", "CASE WHEN COND THEN TOD ELSE .h END"],
    "SPAN": [
        "(SPAN + SPAN)", "(SPAN - SPAN)", "(-[.l .r])", "(SPAN * [2 -3])", "(.t - .t)", "coalesce([.l .r], SPAN)", "CASE WHEN COND THEN SPAN ELSE .l END",
    ],
    "COND": [
        "DEC [= <> < <= > >=] DEC", "DEC [= <> < <= > >=] INT", "DEC [< >=] NUM", "TOD [= <> < <= > >=] TOD", "SPAN [= <> < <= > >=] SPAN", "(COND AND COND)", "(COND OR COND)", "(NOT COND)", "INT [= <> < <= > >=] INT", "NUM [= <> < <= > >=] INT", "TEXT [= <> < <= > >=] TEXT", "DATE [= <> < <= > >=] DATE",
        "INT [BETWEEN NOT_BETWEEN] INT AND INT",
    ],
}
ENDS = {
    "INT": [".i", ".k", ".u", ".i", ".k", "#"],
    "NUM": [".x", ".x", ".f", "CAST(# AS DOUBLE)"],
    "TEXT": [".s", ".w", ".s", "'b'", "'Al'", "'grün'"],
    "DATE": [".t", ".t", ".d", "TIMESTAMP '2001-07-01 12:00:00'", "DATE '2010-02-28'"],
    "DEC": [".e", ".g", ".e", "CAST(# AS DECIMAL(6,2))"],
    "TOD": [".h", ".j", ".h", "TIME '12:30:00'"],
    "SPAN": [".l", ".r", ".l", "INTERVAL '90 minutes'", "INTERVAL '2 days'"],
    "COND": [
        "[.e .g] [= <> < <= > >=] [.e .g # 1.25 -3.5]", "[.e .g] [BETWEEN NOT_BETWEEN] # AND #", "[.e .g] [IN NOT_IN] (1.25, #, 3)", "[.h .j] [= <> < <= > >=] [.h .j '06:30:00']",
        "[.l .r] [= <> < <= > >=] [.l .r]", "[.e .h .l] IS [NOT_NULL NULL]",
        ".b", "[.i .k .u] [= <> < <= > >=] [.i .k .u #]", "[.x .f] [= <> < <= > >=] [-3.5 0.125 0 2 17.25]", "[.s .w] [= <> < <= > >=] [.s .w 'b' 'beta']", "[.i .f .s .t .b] IS [NOT_NULL NULL]",
        ".b IS [TRUE FALSE NOT_TRUE NOT_FALSE]", "[.i .u] [BETWEEN NOT_BETWEEN] # AND #", "[.s .w] [LIKE NOT_LIKE ILIKE NOT_ILIKE] '[a% %a %_ta _ AL% %% %ö%]'",
        "[.i .k .u] [IN NOT_IN] (#, 3, 5)", "[.i .k .u] [IN NOT_IN] (#, NULL)", "[.s .w] [IN NOT_IN] ('a', 'beta', '')", ".k IN (.i, .u, 3)", "[.i .k] IS [DISTINCT_FROM NOT_DISTINCT_FROM] [.k .u]",
        "starts_with(.s, 'b')", "contains(.s, 'l')", "[.t .d] [< >=] '19[71 85 99]-0[1 7]-15'", "[.t .d] [= <> < <= > >=] [.t .d]",
    ],
}
AGGREGATES = [
    "count(*)", "count([INT NUM TEXT])", "sum(INT)", "avg(INT)", "avg(NUM)", "min(INT)", "max(NUM)", "min(TEXT)", "max(.t)", "min(.d)", "count(DISTINCT [.i .k .s .w])", "sum(DISTINCT .i)", "median(.i)",
    "var_pop(.i)", "stddev(.x)", "max(DATE)",
    "sum(DEC)", "avg(DEC)", "min(DEC)", "max(.g)", "sum(DISTINCT .e)", "count(DISTINCT [.e .h .l])", "min(TOD)", "max(.j)", "max(SPAN)", "min(.l)",
]
COLUMNS = ["i", "k", "u", "x", "f", "s", "w", "b", "d", "t", "e", "g", "h", "j", "l", "r"]


def made(rows=180):
    """Two tables with missing values, equal keys and one key that both lack."""
    chance = numpy.random.default_rng(5)

    def some(values, kind):
        return pyarrow.array([None if chance.random() < 0.15 else value for value in values], kind)

    def table(rows):
        words = ["alpha", "Alpine", "beta", "", "b_ta", "50%", "grün", "x'y", "zz top"]
        return pyarrow.table(
            {
                "i": some(chance.integers(-50, 50, rows).tolist(), pyarrow.int64()),
                "k": some(chance.integers(0, 9, rows).tolist(), pyarrow.int32()),
                "u": some(chance.integers(0, 200, rows).tolist(), pyarrow.uint8()),
                "x": some((chance.integers(-4000, 4000, rows) / 64).tolist(), pyarrow.float64()),
                "f": some((chance.integers(-40, 40, rows) / 8).tolist(), pyarrow.float32()),
                "s": some(chance.choice(words, rows).tolist(), pyarrow.string()),
                "w": some(chance.choice(["a", "b", "c"], rows).tolist(), pyarrow.string()),
                "b": some(chance.integers(0, 2, rows).astype(bool).tolist(), pyarrow.bool_()),
                "d": some(chance.integers(10_000, 22_000, rows).tolist(), pyarrow.date32()),
                "t": some(chance.integers(0, 2 * 10**15, rows).tolist(), pyarrow.timestamp("us")),
                "e": some([decimal.Decimal(int(value)).scaleb(-2) for value in chance.integers(-900, 900, rows)], pyarrow.decimal128(9, 2)),
                "g": some([decimal.Decimal(int(value)).scaleb(-3) for value in chance.integers(-50_000, 50_000, rows)], pyarrow.decimal128(12, 3)),
                "h": some((chance.integers(0, 288, rows) * 300_000_000).tolist(), pyarrow.time64("us")),
                "j": some(chance.integers(0, 86_400, rows).tolist(), pyarrow.time32("s")),
                "l": some((chance.integers(-50, 50, rows) * 600).tolist(), pyarrow.duration("s")),
                "r": some(chance.integers(-10**9, 10**9, rows).tolist(), pyarrow.duration("ms")),
            }
        )

    return table(rows), table(rows // 4)


class Queries:
    """Queries of each class; which, depends only on the seed."""

    CLASSES = ["rows", "groups", "joins", "orders", "choices", "texts", "dates", "unions", "inner", "exact"]

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.tables = ["p"]

    def one(self, *of):
        return self.chance.choice(of)

    def filled(self, form, depth=2):
        """A form in which everything that stands for something else is replaced."""

        def word(found):
            words = found[1].split(" ")
            return self.one(*words).replace("_", " ") if words != [""] else ""

        def inner(found):
            kind = found[0]
            ends = depth <= 0 or self.chance.random() < 0.4
            return self.filled(self.one(*(ENDS if ends else FORMS)[kind]), depth - 1)

        form = re.sub(r"\[([^\]]*)\]", lambda found: word(found) if "%" not in found[1] else self.one(*found[1].split(" ")), form)
        form = re.sub(r"\b(INT|NUM|TEXT|DATE|DEC|TOD|SPAN|COND)\b(?! ')", inner, form)
        form = re.sub(r"#", lambda _: str(self.chance.randrange(-9, 60)), form)
        return re.sub(r"(?<![\w.])\.([a-z])\b", lambda found: self.column(found[1]), form)

    def column(self, name):
        if len(self.tables) > 1:
            return f"{self.one(*self.tables)}.{name}"
        return self.one(name, name, name.upper(), f"p.{name}")

    def where(self):
        return self.filled(self.one("", " WHERE COND", " WHERE COND AND COND"))

    def order(self, keys):
        return ", ".join(f"{key}{self.one('', ' ASC', ' DESC')}{self.one(' NULLS FIRST', ' NULLS LAST')}" for key in keys)

    def aggregate(self):
        return self.filled(self.one(*AGGREGATES) + self.one("", "", " FILTER (WHERE COND)"), 1)

    def query(self, kind):
        """A query of a class."""
        self.tables = ["p"]
        return getattr(self, f"of_{kind}")()

    def of_rows(self):
        what = [self.filled(self.one(*FORMS)) for _ in range(self.chance.randrange(1, 4))]
        return f"SELECT {self.one('', '', 'DISTINCT ')}{', '.join(f'{of} AS c{at}' for at, of in enumerate(what))} FROM p{self.where()}"

    def of_groups(self):
        keys = self.chance.sample(["k", "w", "b", "k % 3", "upper(s)", "year(t)", "CAST(t AS DATE)", "p.w", "d", "f", "e", "round(g)", "h", "CAST(t AS TIME)", "l"], self.chance.randrange(1, 3))
        named = ", ".join(f"{key} AS g{at}" for at, key in enumerate(keys))
        places = range(len(keys))
        by = self.one(", ".join(keys), ", ".join(f"g{at}" for at in places), ", ".join(str(at + 1) for at in places), "ALL")
        having = self.one("", "", " HAVING count(*) > 2", " HAVING min(i) < 0", " HAVING max(x) IS NOT NULL")
        return f"SELECT {named}, {self.aggregate()} AS a, {self.aggregate()} AS b FROM p{self.where()} GROUP BY {by}{having}"

    def of_joins(self):
        side = self.one("", "INNER ", "LEFT ", "RIGHT ", "FULL ")
        if self.chance.random() < 0.4:
            using = self.one("k", "w", "k, w")
            extra = self.one("count(*) AS n, min(p.i) AS m", "count(q.x) AS n, max(q.s) AS m")
            kept = self.one("k IS NOT NULL", "k <> 3") if using[0] == "k" else self.one("w IS NOT NULL", "w <> 'a'")
            return self.one(
                f"SELECT {using}, p.i, q.x FROM p {side}JOIN q USING ({using}) WHERE {kept}", f"SELECT {using}, {extra} FROM p {side}JOIN q USING ({using}) GROUP BY {using}",
                f"SELECT * FROM p {side}JOIN q USING ({using}) WHERE p.i > 20 OR q.i > 20",
            )
        self.tables = ["p", "q"]
        on = self.one("p.k = q.k", "p.w = q.w AND p.k = q.k", "p.k = q.k AND p.i > q.i", "p.k = q.u % 9", "q.k = p.k AND p.b")
        return f"SELECT p.i AS a, q.i AS b, {self.filled(self.one(*FORMS), 1)} AS c FROM p {side}JOIN q ON {on}{self.where()}"

    def of_orders(self):
        keys = self.chance.sample([*COLUMNS, "k % 3", "abs(i)", "-x"], self.chance.randrange(1, 4))
        end = self.one("", f" LIMIT {self.chance.randrange(1, 40)}", f" LIMIT {self.chance.randrange(1, 40)} OFFSET {self.chance.randrange(50)}")
        # All columns decide, so that there is only one order.
        return self.one(
            f"SELECT * FROM p{self.where()} ORDER BY {self.order(keys + COLUMNS)}{end}", f"SELECT DISTINCT p.k, w FROM p{self.where()} ORDER BY {self.order(['p.k', self.one('w', 'p.w', '2')])}{end}",
            f"SELECT k, count(*) AS n FROM p GROUP BY p.k ORDER BY {self.order(['n', 'p.k'])}{end}",
        )

    def of_choices(self):
        safe = "CASE WHEN s IN ('alpha', 'beta') THEN length(s) WHEN COND THEN INT ELSE TRY_CAST(s AS INTEGER) END AS c"
        cast = self.one("TRY_CAST(s AS DOUBLE)", "CAST(CAST(i AS VARCHAR) AS INTEGER)", "CAST(x AS BIGINT)", "CAST(b AS INTEGER)", "CAST(i AS BOOLEAN)")
        return self.filled(f"SELECT i, {safe}, coalesce([.k .u], INT, 0) AS v, {cast} AS z FROM p")

    def of_texts(self):
        return self.filled("SELECT TEXT AS a, TEXT AS b, COND AS c FROM p WHERE [.s .w] [LIKE NOT_LIKE ILIKE] '[%a% b% % _l%]'", 3)

    def of_dates(self):
        parts = "[year month day hour minute second](.t) AS a, extract([year month day hour minute] FROM t) AS b, epoch(t) AS e"
        return self.filled(f"SELECT {parts}, CAST(t AS date) AS d1, DATE AS d2, date_trunc('[second minute hour day month year]', t) AS d3 FROM p WHERE DATE [< >= = <>] DATE", 1)

    def of_exact(self):
        made = ", ".join(f"{self.one('DEC', 'TOD', 'SPAN')} AS c{at}" for at in range(self.chance.randrange(1, 4)))
        return self.filled(f"SELECT {made}, [.e .g .h .j .l .r] AS o FROM p WHERE {self.one('DEC', 'TOD', 'SPAN')} IS NOT NULL AND COND", 3)

    def of_unions(self):
        one, other = self.one(("k", "i"), ("i", "x"), ("k", "f"), ("s", "w"), ("u", "k"), ("d", "t"), ("NULL", "k"), ("b", "b"), ("e", "g"), ("e", "i"), ("x", "e"), ("h", "j"), ("l", "r"))
        return f"SELECT {one} AS c FROM p{self.where()} UNION {self.one('', 'ALL ')}SELECT {other} FROM q{self.one('', ' UNION SELECT ' + other + ' FROM p')}"

    def of_inner(self):
        inside = f"SELECT k, p.k, i + 1 AS n, x FROM p{self.where()}"
        return self.one(
            f"SELECT k_1, sum(n) AS s FROM ({inside}) AS o GROUP BY k_1", f"SELECT * FROM ({inside}) AS o WHERE n > 3", f"WITH Big AS ({inside}) SELECT N, count(*) AS c FROM big GROUP BY n",
            f"SELECT o.n, q.i FROM ({inside}) AS o JOIN q ON o.k = q.k", "SELECT z.\"in\".i AS a, \"in\".s AS b FROM z WHERE \"in\".i > 3", "SELECT \"in\".w, count(*) AS n FROM z GROUP BY \"in\".w",
        )
