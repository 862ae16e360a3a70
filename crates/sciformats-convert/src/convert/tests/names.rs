//! Names that are not UTF-8.

use super::*;

/// Writes a file whose names are not UTF-8: a dataset with an attribute, a group, and references to both.
fn latin(path: &Path) -> Arc<File> {
    use hdf5_pure::references::RegionReference;
    use hdf5_pure::{Datatype, Name, Slab, Writer};
    let mut made = Writer::create(path).unwrap();
    let data = made.dataset(&Name::from(&b"caf\xe9"[..])).write(&[1i32, 2, 3]).unwrap();
    made.attribute(data, &Name::from(&b"\xb5m"[..]), 7).unwrap();
    made.dataset(r"caf\xe9").write(&[4i32]).unwrap(); // a backslash and three characters
    let record = Datatype::compound([(Name::from(&b"t\xe9"[..]), Datatype::signed(1))]);
    made.dataset("record").shape([2]).datatype(record).write_raw(&[1, 2]).unwrap();
    let group = made.group(&Name::from(&b"gr\xfcn"[..])).unwrap().id();
    let inner = made.dataset(&Name::from(&b"gr\xfcn/in\xe9"[..])).write(&[5i32]).unwrap();
    let all = [data, group, inner].map(|id| made.reference(id).unwrap());
    made.dataset("refs").write(&all).unwrap();
    let part = RegionReference::new(all[0], Slab::new(&[3], [(1..3).into()]).unwrap());
    made.root().attribute("part", part).unwrap();
    made.finish().unwrap();
    Arc::new(sciformats::open(path).unwrap())
}

#[test]
fn references_to_names_that_are_not_utf8_are_rescued() {
    let dir = tempfile::tempdir().unwrap();
    let source = latin(&dir.path().join("a.h5"));
    let plan = Plan::new(&source, Format::Hdf5, &Options::default()).unwrap();
    assert_eq!(plan.losses(), []);
    let path = dir.path().join("b.h5");
    assert_eq!(plan.rescue(&path, &WriteOptions::default()).unwrap(), []);
    assert_eq!(lines(&sciformats::open(&path).unwrap()), lines(&source));
}

#[cfg(feature = "asdf")]
#[test]
fn names_that_are_not_utf8_are_escaped_once_and_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let source = latin(&dir.path().join("a.h5"));
    let select = ["/caf*", "/record", r"/gr\xfcn"];
    let plan = Plan::new(&source, Format::Asdf, &Options::default().with_select(select)).unwrap();
    let mut losses: Vec<String> =
        plan.losses().iter().map(|loss| format!("{} {}", loss.path, loss.what)).collect();
    losses.sort();
    let what = "is not UTF-8, which becomes the text";
    let expected = [
        format!(r"/caf\xe9 has a name that {what} caf\xe9"),
        format!(r"/caf\xe9@\xb5m has a name that {what} \xb5m"),
        format!(r"/gr\xfcn has a name that {what} gr\xfcn"),
        format!(r"/gr\xfcn/in\xe9 has a name that {what} in\xe9"),
        format!(r"/record has a field whose name {what} t\xe9"),
    ];
    assert_eq!(losses, expected);
    assert_eq!(plan.remarks(), [(Remark::AttributeAsMember, 1), (Remark::Escaped, 1)]);
    let asdf = written(&plan, &dir.path().join("a.asdf"));
    let text = std::fs::read(dir.path().join("a.asdf")).unwrap();
    let text = String::from_utf8_lossy(&text);
    for key in [r"caf\xe9: ", r"caf\xe9@\xb5m: ", r"caf\\xe9: ", r"gr\xfcn:", r"in\xe9: ", r"t\xe9"] {
        assert!(text.contains(key), "{key}: {text}");
    }
    assert_eq!(asdf.array(r"/caf\xe9").unwrap().read::<i32>().unwrap(), [1, 2, 3]);
    assert_eq!(asdf.array(r"/caf\\xe9").unwrap().read::<i32>().unwrap(), [4]);
    let back = Plan::new(&asdf, Format::Hdf5, &Options::default()).unwrap();
    assert_eq!((back.losses(), back.remarks()[1]), (&[][..], (Remark::Unescaped, 3)));
    let back = written(&back, &dir.path().join("b.h5"));
    let mut all = lines(&source);
    all.retain(|line| !line.contains("refs") && !line.contains("part"));
    assert_eq!(lines(&back), all);
}
