//! Queries over tables in memory. `cargo xtask conform tables` compares many more with `DuckDB`.
#![cfg(feature = "sql")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use sciformats_arrow::arrow_array::types::Int32Type;
use sciformats_arrow::arrow_array::{
    Array, ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, DurationMillisecondArray,
    FixedSizeListArray, Float32Array, Float64Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StructArray, Time64MicrosecondArray, TimestampSecondArray, UInt64Array,
};
use sciformats_arrow::arrow_schema::{DataType, Field, Schema};
use sciformats_arrow::sciformats_conventions::sciformats::{Error, Limits};
use sciformats_arrow::sql::{Memory, SqlOptions, query};
use sciformats_arrow::{Style, write_cell};

fn tables() -> Memory {
    let id: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5]));
    let x: ArrayRef = Arc::new(Float64Array::from(vec![0.5, f64::NAN, -1.5, 2.0, 4.0]));
    let few: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(9), None, Some(7)]));
    let kind: ArrayRef = Arc::new(LargeStringArray::from(vec!["a", "b", "a", "b", "c"]));
    let good: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true, true, false]));
    let at: ArrayRef = Arc::new(TimestampSecondArray::from(vec![0, 3600, 7200, 86_400, 90_000]));
    let columns = [("id", id), ("x", x), ("few", few), ("kind", kind), ("good", good), ("at", at)];
    let t = RecordBatch::try_from_iter(columns).unwrap();
    let key: ArrayRef = Arc::new(LargeStringArray::from(vec!["a", "c", "d"]));
    let name: ArrayRef = Arc::new(LargeStringArray::from(vec!["first", "third", "none"]));
    let names = RecordBatch::try_from_iter([("kind", key), ("name", name)]).unwrap();
    let large: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    let wide = RecordBatch::try_from_iter([("n", large)]).unwrap();
    let price: ArrayRef =
        Arc::new(Decimal128Array::from(vec![125, -5]).with_precision_and_scale(9, 2).unwrap());
    let open: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![Some(45_000_500_000), None]));
    let goods = RecordBatch::try_from_iter([("price", price), ("open", open)]).unwrap();
    let short: ArrayRef = Arc::new(Float32Array::from(vec![0.1, 0.2, 16_777_216.0]));
    let item = Arc::new(Field::new("item", DataType::Float32, true));
    let pair = Arc::new(FixedSizeListArray::new(item, 1, Arc::clone(&short), None));
    let took: ArrayRef = Arc::new(DurationMillisecondArray::from(vec![Some(5), Some(-1), None]));
    let fields =
        vec![Field::new("x", DataType::Float32, true), Field::new("Took", took.data_type().clone(), true)];
    let inside = StructArray::new(fields.into(), vec![Arc::clone(&short), Arc::clone(&took)], None);
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3]));
    let nested = RecordBatch::try_from_iter([
        ("pair", pair as ArrayRef),
        ("in", Arc::new(inside) as ArrayRef),
        ("took", took),
        ("short", short),
        ("n", narrow),
    ]);
    // Several batches, of which one has no rows.
    let parts = vec![t.slice(0, 2), t.slice(2, 0), t.slice(2, 3)];
    let memory = Memory::default().with("run.h5:/t", parts).unwrap();
    memory
        .with("names", vec![names])
        .unwrap()
        .with("wide", vec![wide])
        .unwrap()
        .with("goods", vec![goods])
        .unwrap()
        .with("nested", vec![nested.unwrap()])
        .unwrap()
}

fn of_t(text: &str) -> String {
    text.replace("FROM t ", "FROM \"run.h5:/t\" AS t ").replace("FROM t)", "FROM \"run.h5:/t\" AS t)")
}

/// The rows of a result as JSON.
fn rows(text: &str) -> Vec<String> {
    let found = query(&of_t(&format!("{text} ")), &tables(), &SqlOptions::default());
    let mut rows = Vec::new();
    for batch in found.unwrap_or_else(|error| panic!("{text}: {error}")) {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let mut line = String::new();
            for (at, column) in batch.columns().iter().enumerate() {
                line.push_str(if at > 0 { " " } else { "" });
                write_cell(&mut line, Style::Json, column.as_ref(), row);
            }
            rows.push(line);
        }
    }
    rows
}

#[test]
fn columns_conditions_and_order() {
    assert_eq!(
        rows("SELECT id, kind FROM t WHERE x > 0 AND kind <> 'c' ORDER BY id DESC"),
        ["4 \"b\"", "1 \"a\""]
    );
    assert_eq!(rows("SELECT ID FROM t WHERE few IS NULL"), ["2", "4"]);
    assert_eq!(rows("SELECT id / 2, id % 2, -id FROM t LIMIT 2 OFFSET 1"), ["1.0 0 -2", "1.5 1 -3"]);
    assert_eq!(rows("SELECT DISTINCT kind FROM t ORDER BY kind"), ["\"a\"", "\"b\"", "\"c\""]);
    assert_eq!(rows("SELECT id FROM t WHERE at >= '1970-01-02' ORDER BY 1"), ["4", "5"]);
    assert_eq!(rows("SELECT 2 + 3 * 4, 'it''s', NULL"), ["14 \"it's\" null"]);
}

#[test]
fn what_is_not_a_number_is_missing() {
    assert_eq!(rows("SELECT count(*), count(x), sum(x), min(x), max(x) FROM t"), ["5 4 5.0 -1.5 4.0"]);
    assert_eq!(rows("SELECT id FROM t WHERE x IS NULL"), ["2"]);
    assert_eq!(rows("SELECT id FROM t WHERE NOT x > 1 ORDER BY id"), ["1", "3"]);
    assert_eq!(rows("SELECT coalesce(x, 0) FROM t WHERE id = 2"), ["0.0"]);
}

#[test]
fn groups() {
    let found =
        rows("SELECT kind, count(*) AS n, avg(x) FROM t GROUP BY kind HAVING count(*) > 1 ORDER BY n, kind");
    assert_eq!(found, ["\"a\" 2 -0.5", "\"b\" 2 2.0"]);
    assert_eq!(rows("SELECT count(*), sum(id), max(kind) FROM t WHERE id > 9"), ["0 null null"]);
    assert_eq!(rows("SELECT count(DISTINCT few), median(id), var_pop(id) FROM t"), ["2 3.0 2.0"]);
    assert_eq!(
        rows("SELECT id % 2 AS odd, sum(id) FILTER (WHERE good) FROM t GROUP BY odd ORDER BY odd"),
        ["0 4", "1 4"]
    );
}

#[test]
fn joins() {
    let found = rows("SELECT id, name FROM t JOIN names ON t.kind = names.kind ORDER BY id");
    assert_eq!(found, ["1 \"first\"", "3 \"first\"", "5 \"third\""]);
    let found = rows("SELECT id, name FROM t FULL JOIN names USING (kind) ORDER BY id, name");
    assert_eq!(found, ["1 \"first\"", "2 null", "3 \"first\"", "4 null", "5 \"third\"", "null \"none\""]);
    let found = rows("SELECT kind, name FROM t RIGHT JOIN names USING (kind) ORDER BY kind, name");
    assert_eq!(found, ["\"a\" \"first\"", "\"a\" \"first\"", "\"c\" \"third\"", "\"d\" \"none\""]);
    assert_eq!(rows("SELECT count(*) FROM t CROSS JOIN names"), ["15"]);
    let found =
        rows("WITH few AS (SELECT id FROM t WHERE id < 3) SELECT sum(id) FROM few UNION ALL SELECT 8");
    assert_eq!(found, ["3", "8"]);
}

#[test]
fn days_and_decimals() {
    let found = rows("SELECT CAST(at AS DATE) AS day, count(*) FROM t GROUP BY day ORDER BY day");
    assert_eq!(found, ["\"1970-01-01T00:00:00\" 3", "\"1970-01-02T00:00:00\" 2"]);
    assert_eq!(rows("SELECT id FROM t WHERE CAST(at AS DATE) = '1970-01-02'"), ["4", "5"]);
    assert_eq!(rows("SELECT price, open FROM goods"), ["1.25 \"12:30:00.500\"", "-0.05 null"]);
}

#[test]
fn names_mean_columns_however_they_are_written() {
    for key in ["kind", "t.kind", "T.KIND", "Kind"] {
        let found = rows(&format!("SELECT t.kind, count(*) FROM t GROUP BY {key} ORDER BY KIND"));
        assert_eq!(found, ["\"a\" 2", "\"b\" 2", "\"c\" 1"], "{key}");
    }
    assert_eq!(rows("SELECT DISTINCT t.kind FROM t ORDER BY t.kind DESC LIMIT 1"), ["\"c\""]);
    assert_eq!(rows("SELECT DISTINCT id % 2 AS odd FROM t ORDER BY -(id % 2)"), ["1", "0"]);
    assert_eq!(rows("WITH Some AS (SELECT id AS N FROM t WHERE id < 3) SELECT sum(n) FROM some"), ["3"]);
    // Columns of one name get numbers.
    let found = rows("SELECT id_1, x FROM (SELECT id, id + 1 AS id, x FROM t) WHERE id = 4");
    assert_eq!(found, ["5 2.0"]);
    let joined = query(
        "SELECT * FROM names AS a JOIN names AS b ON a.kind = b.kind",
        &tables(),
        &SqlOptions::default(),
    );
    let joined = joined.unwrap().schema();
    let names: Vec<_> = joined.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["kind", "name", "kind_1", "name_1"]);
    let found =
        rows("SELECT \"in\".x, nested.\"in\".took FROM nested WHERE \"in\".x < 1 ORDER BY \"in\".took");
    assert_eq!(found, ["0.2 -0.001", "0.1 0.005"]);
}

#[test]
fn using_has_the_values_of_both_sides() {
    let found = rows(
        "SELECT kind, name FROM t FULL JOIN names USING (kind) WHERE id IS NULL OR id > 3 ORDER BY kind",
    );
    assert_eq!(found, ["\"b\" null", "\"c\" \"third\"", "\"d\" \"none\""]);
    let found = rows("SELECT kind, count(*) FROM t FULL JOIN names USING (kind) GROUP BY kind ORDER BY kind");
    assert_eq!(found, ["\"a\" 2", "\"b\" 2", "\"c\" 1", "\"d\" 1"]);
    let three = "SELECT * FROM names AS a FULL JOIN names AS b USING (kind) LEFT JOIN names AS c USING (kind) ORDER BY 1";
    assert_eq!(rows(three)[0], "\"a\" \"first\" \"first\" \"first\"");
}

#[test]
fn only_what_is_chosen_is_computed() {
    let text = "SELECT CASE WHEN id = 1 THEN 7 WHEN kind = 'b' THEN id ELSE CAST(kind AS INTEGER) END FROM t WHERE id IN (1, 2, 4)";
    assert_eq!(rows(text), ["7", "2", "4"]);
    assert_eq!(
        rows("SELECT coalesce(few, CASE WHEN id < 5 THEN id END, CAST('x' AS INTEGER)) FROM t"),
        ["7", "2", "9", "4", "7"]
    );
}

#[test]
fn numbers_of_every_width() {
    assert_eq!(
        rows("SELECT round(id * 7, -1), round(id * 7, id - 3), round(15.55, 1) FROM t WHERE id < 3"),
        ["10 0 15.6", "10 10 15.6"]
    );
    assert_eq!(rows("SELECT n FROM wide WHERE n = 18446744073709551615"), ["18446744073709551615"]);
    assert_eq!(
        rows("SELECT n FROM wide WHERE n - 1 > 9223372036854775808 AND n IN (1, 18446744073709551615)").len(),
        1
    );
    assert_eq!(rows("SELECT n FROM wide WHERE n < 18446744073709551615").len(), 0);
    assert_eq!(rows("SELECT -9223372036854775808"), ["-9223372036854775808"]);
    assert_eq!(rows("SELECT n FROM nested UNION ALL SELECT id FROM t WHERE id > 4"), ["1", "2", "3", "5"]);
    assert_eq!(
        rows("SELECT n FROM nested WHERE n < 2 UNION ALL SELECT 0.5 UNION ALL SELECT NULL"),
        ["1.0", "0.5", "null"]
    );
    // A number beside a column of binary32 is one of its numbers.
    for condition in
        ["short = 0.1", "short <= 0.1", "short IN (0.1, 7)", "short BETWEEN 0.1 AND 0.15", "0.1 = short"]
    {
        assert_eq!(rows(&format!("SELECT n FROM nested WHERE {condition}")), ["1"], "{condition}");
        assert_eq!(
            rows(&format!("SELECT count(*) FILTER (WHERE {condition}) FROM nested")),
            ["1"],
            "{condition}"
        );
    }
    assert_eq!(rows("SELECT n FROM nested WHERE short = 16777217"), ["3"]);
    assert_eq!(rows("SELECT n FROM nested WHERE short > 1e300").len(), 0);
    // The same wherever two values are compared.
    for condition in [
        "short IS NOT DISTINCT FROM 0.1",
        "0.1 IS NOT DISTINCT FROM short",
        "NOT (short IS DISTINCT FROM 0.1)",
        "nullif(short, 0.1) IS NULL",
        "nullif(short, 0.2) = 0.1",
        "0.1 IN (0.5, short)",
        "NOT 0.1 NOT IN (short)",
        "CASE short WHEN 0.1 THEN TRUE END",
        "-short = -0.1",
        "abs(short) = 0.1",
    ] {
        assert_eq!(rows(&format!("SELECT n FROM nested WHERE {condition}")), ["1"], "{condition}");
    }
}

#[test]
fn groups_keep_numbers_with_few_digits() {
    let found =
        rows("SELECT short, count(*), max(short), first(short) FROM nested GROUP BY short ORDER BY 1");
    assert_eq!(found[..2], ["0.1 1 0.1 0.1", "0.2 1 0.2 0.2"]);
    for inner in ["SELECT short AS s FROM nested GROUP BY short", "SELECT min(short) AS s FROM nested"] {
        assert_eq!(rows(&format!("SELECT count(*) FROM ({inner}) AS g WHERE s = 0.1")), ["1"], "{inner}");
    }
    assert_eq!(rows("SELECT n FROM nested GROUP BY n HAVING min(-short) = -0.1"), ["1"]);
    assert_eq!(rows("SELECT max(\"in\".x) FROM nested WHERE n < 3"), ["0.2"]);
}

#[test]
fn functions_mean_what_they_mean_in_other_engines() {
    assert_eq!(rows("SELECT log(100), log10(1000), round(ln(10), 6)"), ["2.0 3.0 2.302585"]);
    // Only ESCAPE makes a letter of a backslash something else.
    assert_eq!(
        rows("SELECT 'a\\b' LIKE 'a\\b', 'a\\b' LIKE '%\\_', 'a%' LIKE 'a!%' ESCAPE '!'"),
        ["true true true"]
    );
    // Each row has its own unit.
    let found =
        rows("SELECT date_trunc(CASE WHEN id = 4 THEN 'day' ELSE 'hour' END, at) FROM t WHERE id > 3");
    assert_eq!(found, ["\"1970-01-02T00:00:00\"", "\"1970-01-02T01:00:00\""]);
    assert_eq!(rows("SELECT date_trunc(NULL, at), date_trunc('Year', at) FROM t WHERE id = 5").len(), 1);
}

#[test]
fn what_has_an_order_is_sorted() {
    assert_eq!(rows("SELECT price FROM goods ORDER BY price"), ["-0.05", "1.25"]);
    assert_eq!(rows("SELECT open FROM goods ORDER BY open NULLS FIRST"), ["null", "\"12:30:00.500\""]);
    assert_eq!(rows("SELECT n FROM nested ORDER BY took DESC"), ["1", "2", "3"]);
    assert_eq!(rows("SELECT 1e308 * 10, -1e308 * 10"), ["\"Infinity\" \"-Infinity\""]);
    assert_eq!(rows("SELECT 3 IN (1, max(n)) FROM nested"), ["true"]);
}

#[test]
fn what_is_wrong_is_named() {
    let refused = |text: &str| match query(&of_t(text), &tables(), &SqlOptions::default()) {
        Err(error) => error,
        Ok(found) => {
            let error = found.map(|batch| batch.unwrap_err()).next().unwrap_or_else(|| panic!("{text}"));
            match error {
                sciformats_arrow::arrow_schema::ArrowError::ExternalError(error) => {
                    *error.downcast().unwrap()
                }
                other => panic!("{other}"),
            }
        }
    };
    for (text, word) in [
        ("SELEC 1", "parsed"),
        ("SELECT nam FROM names", "name"),
        ("SELECT name + 1 FROM names", "text"),
        ("SELECT name, count(*) FROM names", "GROUP BY"),
        ("SELECT 9223372036854775807 + 1", "64 bits"),
        ("SELECT n + 1 FROM wide", "64 bits"),
        ("SELECT DISTINCT name FROM names ORDER BY kind", "DISTINCT"),
        ("SELECT id FROM t UNION SELECT name FROM names", "UNION"),
        ("SELECT name.x FROM names", "name"),
        ("SELECT name FROM names ORDER BY 3", "3"),
        ("SELECT name LIKE 'a' ESCAPE '!!' FROM names", "ESCAPE"),
        ("SELECT CAST(170141183460469231731687303715884105727 AS TIMESTAMP)", "64 bits"),
        ("SELECT round(170141183460469231731687303715884105727, -20)", "64 bits"),
        ("SELECT date_trunc('week', at) FROM t WHERE id = 1", "week"),
    ] {
        let error = refused(text);
        assert!(matches!(error, Error::Usage { .. }) && error.to_string().contains(word), "{text}: {error}");
    }
    for (text, word) in [
        ("DELETE FROM names", "query"),
        ("SELECT rank() OVER () FROM names", "window"),
        ("SELECT * EXCLUDE (name) FROM names", "EXCLUDE"),
        ("SELECT names.* REPLACE (1 AS name) FROM names", "REPLACE"),
        ("SELECT pair FROM nested ORDER BY pair", "FixedSizeList"),
        ("SELECT name FROM names WHERE kind IN (SELECT kind FROM names)", "SQL"),
        ("SELECT count(DISTINCT *) FROM names", "DISTINCT"),
        ("SELECT upper(DISTINCT name) FROM names", "upper"),
        ("SELECT upper(name) FILTER (WHERE kind = 'a') FROM names", "upper"),
        ("SELECT median(n) WITHIN GROUP (ORDER BY n) FROM nested", "WITHIN"),
        ("SELECT first(n) RESPECT NULLS FROM nested", "RESPECT"),
    ] {
        let error = refused(text);
        assert!(
            matches!(error, Error::Unsupported { .. }) && error.to_string().contains(word),
            "{text}: {error}"
        );
    }
    assert!(matches!(refused("SELECT * FROM nams"), Error::NotFound { .. }));
    let deep = format!("SELECT {}1{}", "abs(".repeat(40), ")".repeat(40));
    assert_eq!(rows(&deep), ["1"]);
    for terms in [1_000, 5_000] {
        let endless = format!("SELECT 1{}", " + 1".repeat(terms));
        assert!(matches!(refused(&endless), Error::Usage { .. }));
    }
}

#[test]
fn decimals_are_exact() {
    let found = rows("SELECT price + 1, price * 0.5, price - price, -price, price / 2, price % 1 FROM goods");
    assert_eq!(found, ["2.25 0.625 0.00 -1.25 0.625 0.25", "0.95 -0.025 0.00 0.05 -0.025 -0.05"]);
    let found = rows(
        "SELECT sum(price), avg(price), min(price), max(price), count(DISTINCT price), median(price) FROM goods",
    );
    assert_eq!(found, ["1.20 0.6 -0.05 1.25 2 0.60"]);
    for condition in
        ["price > 1.2", "price = 1.25", "price IN (1.25, 3)", "price + 1 BETWEEN 2 AND 2.25", "price > 1"]
    {
        assert_eq!(rows(&format!("SELECT price FROM goods WHERE {condition}")), ["1.25"], "{condition}");
    }
    let found = rows("SELECT round(price, 1), ceil(price), floor(price), abs(price), sign(price) FROM goods");
    assert_eq!(found, ["1.30 2.00 1.00 1.25 1", "-0.10 0.00 -1.00 0.05 -1"]);
    let cast =
        "CAST(price AS INTEGER), CAST(price AS DOUBLE), CAST(price AS VARCHAR), CAST(price AS DECIMAL(9, 1))";
    assert_eq!(rows(&format!("SELECT {cast} FROM goods")), ["1 1.25 \"1.25\" 1.3", "0 -0.05 \"-0.05\" -0.1"]);
    let found = rows(
        "SELECT CAST('1.255' AS DECIMAL(5, 2)), CAST(0.1 AS DECIMAL(30, 25)), TRY_CAST('x' AS DECIMAL(5, 2)), \
         CAST(12345678901234567890.12 AS DECIMAL(22, 2))",
    );
    assert_eq!(found, ["1.26 0.1000000000000000000000000 null 12345678901234567890.12"]);
    let found = rows(
        "SELECT CASE WHEN price > 0 THEN price ELSE 0.125 END, greatest(price, 0), nullif(price, 1.25) FROM goods",
    );
    assert_eq!(found, ["1.250 1.25 null", "0.125 0.00 -0.05"]);
    assert_eq!(rows("SELECT price AS p FROM goods UNION ALL SELECT 3 ORDER BY p"), ["-0.05", "1.25", "3.00"]);
    assert_eq!(rows("SELECT price, count(*) FROM goods GROUP BY price ORDER BY 1"), ["-0.05 1", "1.25 1"]);
}

#[test]
fn times_and_spans() {
    let found = rows("SELECT CAST(open AS VARCHAR), hour(open), epoch(open) FROM goods WHERE open > '12:00'");
    assert_eq!(found, ["\"12:30:00.5\" 12 45000.5"]);
    let found =
        rows("SELECT open + INTERVAL 12 HOUR, open - INTERVAL '13 hours' FROM goods WHERE open IS NOT NULL");
    assert_eq!(found, ["\"00:30:00.500\" \"23:30:00.500\""]);
    assert_eq!(rows("SELECT count(*) FROM goods WHERE open < TIME '12:30:00.6'"), ["1"]);
    let span = |of: &str| format!("CAST({of} AS VARCHAR)");
    let all = ["took * 2", "took / 4", "-took", "abs(took)"].map(span).join(", ");
    assert_eq!(
        rows(&format!("SELECT {all} FROM nested WHERE took IS NOT NULL")),
        [
            "\"00:00:00.01\" \"00:00:00.00125\" \"-00:00:00.005\" \"00:00:00.005\"",
            "\"-00:00:00.002\" \"-00:00:00.00025\" \"00:00:00.001\" \"00:00:00.001\"",
        ]
    );
    assert_eq!(rows("SELECT n FROM nested WHERE took > INTERVAL '1' MILLISECOND"), ["1"]);
    let all = ["avg(took)", "sum(took)", "median(took)", "min(took)"].map(span).join(", ");
    assert_eq!(
        rows(&format!("SELECT {all} FROM nested")),
        ["\"00:00:00.002\" \"00:00:00.004\" \"00:00:00.002\" \"-00:00:00.001\""]
    );
    let since = "at - TIMESTAMP '1970-01-01'";
    assert_eq!(rows(&format!("SELECT id FROM t WHERE {since} > INTERVAL 1 DAY")), ["5"]);
    assert_eq!(rows(&format!("SELECT id FROM t WHERE {since} > 7200 ORDER BY id")), ["4", "5"]);
    assert_eq!(rows("SELECT CAST('1 day 01:30' AS INTERVAL) = INTERVAL '25:30:00'"), ["true"]);
}

#[test]
fn unknown_truths_are_found() {
    assert_eq!(rows("SELECT id FROM t WHERE (few > 8) IS UNKNOWN ORDER BY id"), ["2", "4"]);
    assert_eq!(rows("SELECT id FROM t WHERE (few > 8) IS NOT UNKNOWN ORDER BY id"), ["1", "3", "5"]);
}

#[test]
fn what_exact_values_cannot_do_is_named() {
    for (text, word) in [
        ("SELECT open + open FROM goods", "time of day"),
        ("SELECT sum(open) FROM goods", "time of day"),
        ("SELECT price FROM goods WHERE price < 'x'", "decimal"),
        ("SELECT CAST(price * 1000 AS DECIMAL(2, 1)) FROM goods", "DECIMAL(2, 1)"),
        ("SELECT INTERVAL 1 MONTH", "MONTH"),
        ("SELECT CAST('25:00' AS TIME)", "time of day"),
    ] {
        let found = query(text, &tables(), &SqlOptions::default());
        let error = match found {
            Err(error) => error.to_string(),
            Ok(found) => found.map(|batch| batch.unwrap_err().to_string()).next().unwrap_or_default(),
        };
        assert!(error.contains(word), "{text}: {error}");
    }
}

#[test]
fn categories_with_an_order_are_not_compared_as_texts() {
    let stages: DictionaryArray<Int32Type> = vec!["low", "high", "low"].into_iter().collect();
    let field = Field::new("stage", stages.data_type().clone(), true).with_dict_is_ordered(true);
    let schema = Arc::new(Schema::new(vec![field]));
    let table = RecordBatch::try_new(schema, vec![Arc::new(stages)]).unwrap();
    let memory = Memory::default().with("ranked", vec![table]).unwrap();
    for text in [
        "SELECT stage FROM ranked WHERE stage < 'm'",
        "SELECT stage FROM ranked WHERE stage BETWEEN 'a' AND 'm'",
        "SELECT stage FROM ranked ORDER BY stage",
        "SELECT stage, count(*) FROM ranked GROUP BY stage ORDER BY stage",
        "SELECT o.stage FROM (SELECT stage FROM ranked) AS o ORDER BY 1",
        "SELECT max(stage) FROM ranked",
        "SELECT least(stage, 'a') FROM ranked",
        "SELECT count(*) FROM ranked HAVING first(stage) < 'm'",
    ] {
        let error = query(text, &memory, &SqlOptions::default()).err().map(|error| error.to_string());
        let error = error.unwrap_or_default();
        assert!(error.contains("stage") && error.contains("VARCHAR"), "{text}: {error}");
    }
    for (text, expected) in [
        ("SELECT stage FROM ranked WHERE stage = 'low'", 2),
        ("SELECT stage FROM ranked WHERE CAST(stage AS VARCHAR) < 'i'", 1),
        ("SELECT stage, count(*) FROM ranked GROUP BY stage", 2),
    ] {
        let found = query(text, &memory, &SqlOptions::default()).unwrap();
        assert_eq!(found.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), expected, "{text}");
    }
}

#[test]
fn tables_after_a_comma_are_joined_first() {
    let found = rows(
        "SELECT t.id, b.kind, c.kind FROM t , names AS b RIGHT JOIN names AS c ON b.name = 'third' \
         AND c.kind = 'd' WHERE t.id < 3 ORDER BY 1, 3",
    );
    let expected = ["1 null \"a\"", "1 null \"c\"", "1 \"c\" \"d\""];
    assert_eq!(found[..3], expected);
    assert_eq!(found.len(), 6);
    let found =
        rows("SELECT kind, name FROM wide, \"run.h5:/t\" AS t FULL JOIN names USING (kind) WHERE id IS NULL");
    assert_eq!(found, ["\"d\" \"none\""]);
}

#[test]
fn names_of_the_result() {
    let found = rows("SELECT kind, count(*) AS n FROM t GROUP BY kind HAVING n > 1 ORDER BY kind");
    assert_eq!(found, ["\"a\" 2", "\"b\" 2"]);
    assert_eq!(rows("SELECT sum(id) AS total FROM t HAVING TOTAL > 20"), [""; 0]);
    // A column of a table is meant before a name of the result.
    assert_eq!(rows("SELECT max(id) AS few FROM t GROUP BY few HAVING few = 9"), ["3"]);
    for (text, words) in [
        ("SELECT id + 1 AS next FROM t WHERE next > 2", "names next in a condition on rows"),
        ("SELECT sum(id) AS total FROM t HAVING totl > 1", "names the column totl, which no table has"),
        ("SELECT sum(id) FROM t HAVING kin > 1", "did you mean kind?"),
        ("SELECT u.id FROM t ", "no table is called u (did you mean t?)"),
    ] {
        let error = query(&of_t(text), &tables(), &SqlOptions::default()).err().unwrap();
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
}

#[test]
fn memory_is_limited() {
    let options = SqlOptions::default().with_limits(Limits::default().with_memory(500));
    let found = query("SELECT kind, count(*) FROM names GROUP BY kind", &tables(), &options);
    assert!(matches!(found.err(), Some(Error::LimitExceeded { .. })));
}

#[test]
fn integers_fit_into_the_type_that_is_named() {
    assert_eq!(
        rows(
            "SELECT CAST(127 AS TINYINT), CAST('-32768' AS SMALLINT), CAST(2147483647.4 AS INTEGER), CAST(2.5e0 AS INT)"
        ),
        ["127 -32768 2147483647 2"]
    );
    assert_eq!(
        rows(
            "SELECT TRY_CAST(128 AS TINYINT), TRY_CAST(-32769 AS SMALLINT), TRY_CAST(2147483648 AS INTEGER), \
             TRY_CAST(n AS BIGINT), TRY_CAST('x' AS INT), TRY_CAST('1.5' AS INT), TRY_CAST(1e30 AS BIGINT) FROM wide"
        ),
        ["null null null null null 2 null"]
    );
    assert_eq!(
        rows("SELECT CAST('True' AS BOOLEAN), TRY_CAST('NO' AS BOOLEAN), TRY_CAST('x' AS BOOLEAN)"),
        ["true false null"]
    );
    for (text, value) in [
        ("CAST(id * 100 AS TINYINT) FROM t", "200 for an integer of type TINYINT"),
        ("CAST('40000' AS SMALLINT)", "\"40000\" for an integer of type SMALLINT"),
        ("CAST(CAST(3e9 AS DOUBLE) AS INTEGER)", "3000000000 for an integer of type INTEGER"),
        ("CAST(CAST(12345678901234567890.5 AS DECIMAL(25, 1)) AS BIGINT)", "12345678901234567890.5 for"),
        ("CAST(n AS BIGINT) FROM wide", "18446744073709551615 for an integer of type BIGINT"),
    ] {
        let found = query(&of_t(&format!("SELECT {text} ")), &tables(), &SqlOptions::default());
        let error = found.unwrap().collect::<Result<Vec<_>, _>>().unwrap_err().to_string();
        assert!(error.contains(value), "{text}: {error}");
    }
}

#[test]
fn the_first_value_may_be_missing() {
    let text = "SELECT kind, first(few), any_value(few), first(x) FILTER (WHERE id > 1) FROM t GROUP BY kind ORDER BY kind";
    assert_eq!(rows(text), ["\"a\" 7 7 -1.5", "\"b\" null null null", "\"c\" 7 7 4.0"]);
    assert_eq!(rows("SELECT first(few), any_value(few) FROM t WHERE id > 1"), ["null 9"]);
    assert_eq!(rows("SELECT first(few), any_value(few) FROM t WHERE id > 9"), ["null null"]);
}

#[test]
fn parts_of_texts_count_from_either_end() {
    let parts = "SELECT substr('größer', -3), substr('größer', -3, 2), substr('abc', -9, 2), substr('abc', 0, 2), substr('abc', -9)";
    assert_eq!(rows(parts), ["\"ßer\" \"ße\" \"\" \"a\" \"abc\""]);
    let parts = "SELECT substring('hello', 4, -2), substr('hello', -1, -3), substr('hello', 0), substr('hello', 9), substr('hello', 9, -3), \
                 substr('hello', 2, 0), substring('hello' FROM -4 FOR 3)";
    assert_eq!(rows(parts), ["\"el\" \"ell\" \"hello\" \"\" \"\" \"\" \"ell\""]);
}

#[test]
fn keys_of_integers_and_numbers_are_compared_exactly() {
    // 2^53 is a number of binary64, and the integer after it is none.
    let sides = "(SELECT 9007199254740993 AS a UNION ALL SELECT 9007199254740992 UNION ALL SELECT 1) AS l";
    let other =
        "(SELECT CAST(9007199254740992 AS DOUBLE) AS b UNION ALL SELECT 0.5 UNION ALL SELECT -1e300) AS r";
    assert_eq!(rows(&format!("SELECT a FROM {sides}, {other} WHERE a = b")), ["9007199254740992"]);
    assert_eq!(rows(&format!("SELECT a FROM {sides} JOIN {other} ON a = b")), ["9007199254740992"]);
    assert_eq!(rows(&format!("SELECT a FROM {other} JOIN {sides} ON a = b")), ["9007199254740992"]);
    assert_eq!(rows(&format!("SELECT count(*), count(a) FROM {other} LEFT JOIN {sides} ON a = b")), ["3 1"]);
    assert_eq!(rows(&format!("SELECT count(*), count(a) FROM {sides} FULL JOIN {other} ON a = b")), ["5 3"]);
}

#[test]
fn nothing_that_is_parsed_is_left_out() {
    assert_eq!(rows("FROM names"), rows("SELECT * FROM names"));
    assert_eq!(rows("FROM names SELECT name"), rows("SELECT name FROM names"));
    for text in [
        "SELECT FROM names",
        "SELECT n FROM wide FORMAT CSV",
        "SELECT n FROM wide SETTINGS a = 1",
        "SELECT n FROM wide ORDER BY n WITH FILL",
        "SELECT n FROM wide WITH ORDINALITY",
    ] {
        assert!(query(text, &tables(), &SqlOptions::default()).is_err(), "{text}");
    }
}

#[test]
fn groups_keep_integers_beyond_those_with_a_sign() {
    let most = u64::MAX.to_string();
    let found = rows("SELECT n, count(*), min(n), max(n), first(n) FROM wide GROUP BY n");
    assert_eq!(found, [format!("{most} 1 {most} {most} {most}")]);
    assert_eq!(rows("SELECT count(*) FROM wide HAVING max(n) > 9223372036854775807"), ["1"]);
}
