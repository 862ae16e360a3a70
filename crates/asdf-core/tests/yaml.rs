//! The text of the tree: the table of scalars, the contents of documents, and writing and reading them again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use asdf_core::yaml::{Content, NodeId, ScalarStyle, Tree, Value};
use proptest::prelude::*;

/// Returns a canonical text of a node's value. Aliases are shown by number.
fn shown(tree: &Tree, id: NodeId, path: &mut Vec<NodeId>) -> String {
    if let Some(up) = path.iter().rposition(|&seen| seen == id) {
        return format!("*{up}");
    }
    path.push(id);
    let tag = tree.tag(id).map(|tag| format!("<{tag}>")).unwrap_or_default();
    let text = match &tree.node(id).content {
        Content::Scalar { .. } => match tree.value(id) {
            Ok(Some(Value::Str(text))) => format!("{text:?}"),
            Ok(Some(value)) => value.to_string(),
            _ => "?".into(),
        },
        Content::Sequence { items, .. } => {
            let items: Vec<_> = items.iter().map(|&item| shown(tree, item, path)).collect();
            format!("[{}]", items.join(","))
        }
        Content::Mapping { entries, .. } => {
            let entries: Vec<_> = entries
                .iter()
                .map(|&(k, v)| format!("{}:{}", shown(tree, k, path), shown(tree, v, path)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
    };
    path.pop();
    format!("{tag}{text}")
}

fn show(text: &str) -> String {
    match Tree::parse(text) {
        Ok(tree) => {
            let shown_first = shown(&tree, tree.root(), &mut Vec::new());
            let written = tree.to_text().unwrap();
            let again = Tree::parse(&written).unwrap_or_else(|e| panic!("{e}\n{written}"));
            assert_eq!(shown(&again, again.root(), &mut Vec::new()), shown_first, "{text:?} as\n{written}");
            assert!(tree.is_same(&again), "{text:?} as\n{written}");
            assert_eq!(again.to_text().unwrap(), written, "writing is settled after once");
            shown_first
        }
        Err(e) => e.to_string(),
    }
}

#[test]
fn scalars_mean_what_the_table_says() {
    let table: Vec<(String, String, serde_json::Value)> =
        serde_json::from_str(include_str!("data/yaml-scalars.json")).unwrap();
    let mut wrong = Vec::new();
    for (token, kind, expected) in &table {
        let tree = Tree::parse(format!("v: {token}\n"));
        let found = tree.as_ref().map_err(ToString::to_string).and_then(|tree| {
            let (_, v) = tree.entries(tree.root()).ok_or("no mapping")?[0];
            match tree.value(v) {
                Ok(Some(value)) => Ok(value),
                Ok(None) => Err(format!("collection {}", shown(tree, v, &mut Vec::new()))),
                Err(e) => Err(e.to_string()),
            }
        });
        let right = match (kind.as_str(), &found) {
            ("str", Ok(Value::Str(text))) => expected.as_str() == Some(text),
            ("NoneType", Ok(Value::Null)) => true,
            ("bool", Ok(Value::Bool(value))) => expected.as_bool() == Some(*value),
            ("int", Ok(value @ (Value::Int(_) | Value::BigInt(_)))) => {
                let text =
                    expected.get("$int").and_then(|v| v.as_str()).map_or(expected.to_string(), str::to_owned);
                value.to_string() == text
            }
            ("float", Ok(Value::Float(value))) => hex_float(*value) == expected["$float"].as_str().unwrap(),
            ("bytes", Ok(Value::Bytes(bytes))) => bytes == b"hi",
            ("date", Ok(Value::Timestamp(stamp))) => expected["$date"] == stamp.to_string(),
            ("datetime", Ok(Value::Timestamp(stamp))) => expected["$datetime"] == stamp.to_string(),
            ("list", Err(e)) => e == "collection [1,2]",
            ("dict", Err(e)) => e == "collection {\"a\":1}",
            ("error", Err(e)) => !e.starts_with("collection"),
            _ => false,
        };
        if !right {
            wrong.push(format!("{token:?}: {found:?}, expected {kind} {expected}"));
        }
    }
    assert_eq!(table.len(), 928);
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

/// Returns the same text as Python's `float.hex`.
fn hex_float(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}inf");
    }
    let bits = value.to_bits();
    let (exponent, fraction) = (i64::try_from(bits >> 52 & 0x7FF).unwrap(), bits & ((1 << 52) - 1));
    match (exponent, fraction) {
        (0, 0) => format!("{sign}0x0.0p+0"),
        (0, _) => format!("{sign}0x0.{fraction:013x}p-1022"),
        _ => format!("{sign}0x1.{fraction:013x}p{:+}", exponent - 1023),
    }
}

/// Texts and their contents.
const RIGHT: &[(&str, &str)] = &[
    ("a: 1\nb: x\n", r#"{"a":1,"b":"x"}"#),
    ("- a\n- - b\n  - c\n-\n  d: 1\n- e: 1\n  f: 2\n", r#"["a",["b","c"],{"d":1},{"e":1,"f":2}]"#),
    ("a:\n- 1\n- 2\nb:\n  - 3\nc:\n", r#"{"a":[1,2],"b":[3],"c":null}"#),
    ("a:\n  b:\n    c: 1\n  d: 2\n", r#"{"a":{"b":{"c":1},"d":2}}"#),
    ("? a\n: b\n? c\n? - d\n: - e\n", r#"{"a":"b","c":null,["d"]:["e"]}"#),
    ("? a: 1\n  b: 2\n: c: 3\n", r#"{{"a":1,"b":2}:{"c":3}}"#),
    (
        "%YAML 1.1\n%TAG ! tag:x,2000:\n--- !t\na: !!str 1\nb: !<verb,atim> 2\nc: !s [1]\n...\n",
        r#"<tag:x,2000:t>{"a":<tag:yaml.org,2002:str>"1","b":<verb,atim>"2","c":<tag:x,2000:s>[1]}"#,
    ),
    ("a: &x {k: 1}\nb: *x\n*x : c\n", r#"{"a":{"k":1},"b":{"k":1},{"k":1}:"c"}"#),
    ("&a a: &b b\nc: *a\nd: *b\n", r#"{"a":"b","c":"a","d":"b"}"#),
    ("&root\nself: *root\n", r#"{"self":*0}"#),
    ("a: &s\n- *s\n", r#"{"a":[*1]}"#),
    (
        "a: !t\n  b: 1\nc: !t\n- 1\nd: !t\ne: !t &x\n  !u f: 1\n",
        r#"{"a":<!t>{"b":1},"c":<!t>[1],"d":<!t>"","e":<!t>{<!u>"f":1}}"#,
    ),
    (
        "a: one\n  two\n\n  three\nb: 'x\n\n  y'\nc: \"p \\\n  q\"\n",
        r#"{"a":"one two\nthree","b":"x\ny","c":"p q"}"#,
    ),
    (
        "a: |\n  x\n   y\n\n  z\nb: >-\n  p\n  q\n\n  r\n   s\n  t\nc: |+\n  k\n\nd: |2\n   i\n",
        r#"{"a":"x\n y\n\nz\n","b":"p q\nr\n s\nt","c":"k\n\n","d":" i\n"}"#,
    ),
    (
        "{a: [1, 2,], b: {c: d}, ? e : f, g, \"h\":i, 'j' : k}",
        r#"{"a":[1,2],"b":{"c":"d"},"e":"f","g":null,"h":"i","j":"k"}"#,
    ),
    (
        "[a: b, ? c, {}, [], !t , &x , *x, a:b, http://x]",
        r#"[{"a":"b"},{"c":null},{},[],<!t>"",null,null,"a:b","http://x"]"#,
    ),
    ("[\n  a,\n  b # c\n  ,\n]\n", r#"["a","b"]"#),
    ("a: b # c\n# d\nc: d#e\n", r#"{"a":"b","c":"d#e"}"#),
    ("a:\tb\n", r#"{"a":"b"}"#),
    ("\"a b\": 1\n'c': 2\n[x]: 3\n", r#"{"a b":1,"c":2,["x"]:3}"#),
    ("", "null"),
    ("--- |\n  x\n", r#""x\n""#),
    ("---\n...\n", "null"),
    (": a\n", r#"{null:"a"}"#),
    ("a: 1\r\nb:\r\n- x\r\n- |\r\n  y\r\n", r#"{"a":1,"b":["x","y\n"]}"#),
    ("é: ü\n", r#"{"é":"ü"}"#),
    ("a\nb\n", r#""a b""#),
];

/// Texts and their errors.
const WRONG: &[(&str, &str)] = &[
    ("a: - b\n", "malformed tree at offset 0x3: it has a block collection where none may begin"),
    ("a: b: c\n", "malformed tree at offset 0x4: it has a mapping where none may begin"),
    ("a: 1\n  b: 2\n", "malformed tree at offset 0x8: it has a key of more than one line"),
    ("a: [1\n", "malformed tree at offset 0x6: it ends inside a collection in brackets"),
    ("a: *x\n", "malformed tree at offset 0x3: it has an alias of an anchor that does not exist"),
    ("a: !x!y z\n", "malformed tree at offset 0x7: it has a tag whose handle no `%TAG` declares"),
    ("a: 'b\n", "malformed tree at offset 0x3: it has a quote that is not closed"),
    ("a: \"\\z\"\n", "malformed tree at offset 0x4: it has an escape that is not defined"),
    ("a: 1\n---\nb: 2\n", "malformed tree at offset 0x5: it has a second document"),
    ("\ta: 1\n", "malformed tree at offset 0x1: it is indented with a tab"),
    ("a: `\n", "malformed tree at offset 0x3: it has a character that cannot begin a plain scalar"),
    ("a: \u{7}\n", "malformed tree at offset 0x3: text has a character that YAML does not allow"),
    ("- a\nb: 1\n", "malformed tree at offset 0x4: it has text where the document should end"),
    ("a: 1\n- b\n", "malformed tree at offset 0x5: it has a sequence among the keys of a mapping"),
    ("a: 1\nb\n", "malformed tree at offset 0x6: it has a key without `:`"),
    ("a: &x *x\n", "malformed tree at offset 0x6: it has an alias with properties"),
];

#[test]
fn texts_hold_what_they_should() {
    for (text, expected) in RIGHT.iter().chain(WRONG) {
        assert_eq!(show(text), *expected, "{text:?}");
    }
}

#[test]
fn depth_and_size_are_bounded() {
    let limits = asdf_core::Limits::default().with_depth(20).with_items(100);
    let parse = |text: &str| Tree::parse_at(text.as_bytes(), 0, &limits).map(drop).map_err(|e| e.to_string());
    assert_eq!(parse(&"[".repeat(1000)).unwrap_err(), "21 levels of the tree exceed the limit of 20");
    assert_eq!(parse(&"- ".repeat(1000)).unwrap_err(), "21 levels of the tree exceed the limit of 20");
    assert_eq!(parse(&"? ".repeat(1000)).unwrap_err(), "21 levels of the tree exceed the limit of 20");
    assert_eq!(
        parse(&format!("[{}]", "a,".repeat(200))).unwrap_err(),
        "101 nodes of the tree exceed the limit of 100"
    );
    assert!(parse(&"[".repeat(9)).unwrap_err().contains("ends inside"));
    // An alias is the node itself, so nothing is expanded.
    let bomb: String = (1..40).map(|i| format!("a{i}: &a{i} [*a{}, *a{}]\n", i - 1, i - 1)).collect();
    assert!(Tree::parse(format!("a0: &a0 x\n{bomb}")).unwrap().len() < 200);
}

#[test]
fn merge_keys_and_repeated_keys() {
    let tree =
        Tree::parse("a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\nc:\n  <<: [*a, *b]\n  z: 5\n  z: 6\n").unwrap();
    let c = tree.child(tree.root(), "c").unwrap();
    let pairs = tree.pairs(c).unwrap().unwrap();
    let seen: Vec<_> = pairs
        .iter()
        .map(|&(k, v)| format!("{}={}", tree.value(k).unwrap().unwrap(), tree.value(v).unwrap().unwrap()))
        .collect();
    assert_eq!(seen, ["y=2", "z=6", "x=1"]);
    assert_eq!(tree.value(tree.child(c, "x").unwrap()).unwrap(), Some(Value::Int(1)));
    let wrong = Tree::parse("<<: 1").unwrap();
    assert!(wrong.pairs(wrong.root()).is_err());
    // Nothing is merged, but in 2^40 ways.
    let many: String = (1..40).map(|i| format!("a{i}: &a{i} {{<<: [*a{}, *a{}]}}\n", i - 1, i - 1)).collect();
    let many = Tree::parse(format!("a0: &a0 {{}}\n{many}")).unwrap();
    assert!(many.pairs(many.get("a39").unwrap()).is_err());
    let endless = Tree::parse("&a\n<<: *a\n").unwrap();
    assert!(endless.pairs(endless.root()).is_err());
}

#[test]
fn styles_are_kept() {
    let text = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nplain: 0x1F\nsingle: 'x'\ndouble: \"y\\n\"\n\
                literal: |\n  a\n  b\nfolded: >-\n  a\n\n  b\nflow: {a: [1, 2], b: &x c}\nblock:\n- *x\n- - 1\n  - 2\n- k: v\n  l:\nempty: []\n...\n";
    assert_eq!(Tree::parse(text).unwrap().to_text().unwrap(), text);
}

/// Returns trees with nodes of every kind. Some of the nodes are shared.
fn tree() -> impl Strategy<Value = Tree> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        "[-+.:_0-9eExobn~#, ]{0,9}",
        "[a-c \n\t]{0,12}",
        "[\u{0}-\u{20}\u{80}-\u{A0}\u{2027}-\u{202A}\u{FEFF}\u{1F600}'\"\\\\]{0,6}",
    ];
    let style = prop_oneof![
        Just(ScalarStyle::Plain),
        Just(ScalarStyle::Single),
        Just(ScalarStyle::Double),
        Just(ScalarStyle::Literal),
        Just(ScalarStyle::Folded)
    ];
    let step = (0u8..6, text, style, any::<[u16; 4]>(), any::<bool>(), 0u8..8);
    prop::collection::vec(step, 1..14).prop_map(|steps| {
        use asdf_core::yaml::{CollectionStyle, Node};
        let mut tree = Tree::new();
        let mut known = vec![tree.add_str("x")];
        for (kind, text, style, picks, flow, tag) in steps {
            let picked: Vec<_> = picks.iter().map(|&pick| known[usize::from(pick) % known.len()]).collect();
            let collection = if flow { CollectionStyle::Flow } else { CollectionStyle::Block };
            let id = match kind {
                0..=2 if style == ScalarStyle::Plain => tree.add_str(text),
                0..=2 => tree.add(Node::new(Content::Scalar { text, style })),
                3 => tree.add_sequence(picked, collection),
                4 => tree.add_mapping(vec![(picked[0], picked[1]), (picked[2], picked[3])], collection),
                _ => tree.add_sequence(Vec::new(), collection),
            };
            match tag {
                0 => tree.set_tag(id, "tag:stsci.edu:asdf/core/x-1.0.0"),
                1 => tree.set_tag(id, "!local"),
                2 => tree.set_tag(id, "tag:yaml.org,2002:str"),
                _ => {}
            }
            known.push(id);
        }
        tree.set_root(*known.last().unwrap());
        tree
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(tree in tree()) {
        let text = tree.to_text().unwrap();
        let again = Tree::parse(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        prop_assert!(tree.is_same(&again), "{}", text);
        prop_assert_eq!(again.to_text().unwrap(), text);
    }

    #[test]
    fn no_text_panics(text in "[-a: \n'\"\\[\\]{},&*!|>?%#\tx0]{0,40}") {
        if let Ok(tree) = Tree::parse(&text) {
            let written = tree.to_text().unwrap();
            let again = Tree::parse(&written).map_err(|e| TestCaseError::fail(format!("{e}\n{written}")))?;
            prop_assert!(tree.is_same(&again), "{}", written);
        }
    }
}
