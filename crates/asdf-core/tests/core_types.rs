//! The standard's types besides arrays are written and read in each version of the standard.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use asdf_core::yaml::Value;
use asdf_core::*;

fn file(document: &Document) -> Asdf {
    Asdf::from_bytes(document.to_bytes().unwrap()).unwrap()
}

#[test]
fn history_of_every_standard() {
    for minor in 0..=6 {
        let mut document = Document::with_standard(Version::new(1, minor, 0));
        let mut entry = HistoryEntry::now("made");
        entry.software = vec![Software::new("a", "1"), Software::this_library()];
        document.add_history(&entry).unwrap();
        document
            .add_history(&HistoryEntry { description: "again: it".into(), ..HistoryEntry::default() })
            .unwrap();
        let extension = Extension {
            class: "x.Y".into(),
            uri: Some("asdf://x/y".into()),
            software: Some(Software::new("x", "2.0")),
            manifest_software: None,
        };
        assert_eq!(document.add_extension(&extension).is_ok(), minor >= 2);
        let file = file(&document);
        let history = file.history().unwrap();
        assert_eq!(history[0], entry);
        assert_eq!(history[1].description, "again: it");
        assert_eq!(file.tree().items(file.get("history").unwrap()).is_some(), minor < 2);
        assert_eq!(file.extensions().unwrap(), if minor < 2 { vec![] } else { vec![extension] });
        assert_eq!(file.library().unwrap(), Some(Software::this_library()));
    }
}

#[test]
fn provenance_that_is_none_is_an_error() {
    let open = |text: &str| Asdf::from_bytes(format!("#ASDF 1.0.0\n%YAML 1.1\n---\n{text}\n...\n")).unwrap();
    let shown = open("asdf_library: {name: x}").library().unwrap_err().to_string();
    assert!(
        shown.contains("malformed software at offset") && shown.contains("version is missing"),
        "{shown}"
    );
    assert!(open("history: [{time: 2001-12-14}]").history().is_err());
    assert!(open("history: [{description: a, time: soon}]").history().is_err());
    let old = open("history: {entries: [{description: a, software: {name: b, version: 1.5}}]}");
    assert_eq!(old.history().unwrap()[0].software, [Software::new("b", "1.5")]);
    assert!(open("history: 5").history().unwrap().is_empty());
}

#[test]
fn tables_constants_and_arrays_elsewhere() {
    for (minor, tag) in [(5, "core/table-1.0.0"), (6, "table/table-1.1.0")] {
        let mut document = Document::with_standard(Version::new(1, minor, 0));
        let data = document.add_array(NewArray::new(&[1u8, 2, 3], &[3]).unwrap()).unwrap();
        let unit = document.tree_mut().add_str("m");
        let column = Column {
            name: "a".into(),
            data,
            unit: Some(unit),
            description: Some("length".into()),
            meta: None,
        };
        let table = document.add_table(&Table { columns: vec![column], meta: None });
        document.tree_mut().put("table", table).unwrap();
        let target = document.tree_mut().add_plain("1");
        let elsewhere = ExternalArray {
            uri: "image.fits".into(),
            target,
            datatype: ScalarType::Int16.into(),
            shape: vec![10, 20],
        };
        let node = document.add_external_array(&elsewhere).unwrap();
        document.tree_mut().put("elsewhere", node).unwrap();
        let constant = document.set("constant", &vec![5]).unwrap();
        document.mark_constant(constant);

        let file = file(&document);
        let node = |path| file.get(path).unwrap();
        assert_eq!(file.tree().asdf_tag(node("table")), Some(tag));
        let table = file.table_at(node("table")).unwrap().unwrap();
        assert_eq!(
            (table.columns[0].name.as_str(), table.columns[0].description.as_deref()),
            ("a", Some("length"))
        );
        assert_eq!(file.array_at(table.columns[0].data).unwrap().read::<u8>().unwrap(), [1, 2, 3]);
        let column = file.tree().items(node("table/columns")).unwrap()[0];
        assert_eq!(file.column_at(column).unwrap().unwrap(), table.columns[0]);
        let found = file.external_array_at(node("elsewhere")).unwrap().unwrap();
        assert_eq!(
            (found.uri, found.shape, found.datatype),
            (elsewhere.uri, elsewhere.shape, elsewhere.datatype)
        );
        assert_eq!(file.tree().value(found.target).unwrap(), Some(Value::Int(1)));
        let value = file.constant_at(node("constant")).unwrap();
        assert_eq!(file.tree().deserialize::<Vec<u8>>(value).unwrap(), [5]);
        assert_eq!(file.table_at(value).unwrap(), None);
    }
    let old = Document::with_standard(Version::new(1, 2, 0)).add_external_array(&ExternalArray {
        uri: String::new(),
        target: Document::new().tree().root(),
        datatype: ScalarType::Int8.into(),
        shape: vec![],
    });
    assert!(old.is_err());
}
