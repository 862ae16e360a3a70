//! Names that are not UTF-8: the format stores bytes, and many old files have names in Latin-1.

use hdf5_pure::options::Bound;
use hdf5_pure::structure::{Class, Target};
use hdf5_pure::{CreateOptions, Datatype, Editor, File, GroupWriter, Name, ObjectId, Writer};

type Result<T = ()> = hdf5_pure::Result<T>;

fn latin(bytes: &[u8]) -> Name {
    Name::from(bytes)
}

fn fill(mut root: GroupWriter<'_>) -> Result<ObjectId> {
    let size = root.dataset(&latin(b"Temp \xb0C/gr\xf6\xdfe")).attribute(&latin(b"\xb5"), 7).write(&[1.5])?;
    root.dataset(&latin(b"Temp \xb0C/gr\xf6\xdff")).write(&[2.5])?;
    root.hard_link(&latin(b"\xe4"), size)?;
    root.soft_link(&latin(b"soft"), &latin(b"/Temp \xb0C/gr\xf6\xdfe"))?;
    root.external_link(&latin(b"out"), &latin(b"gr\xf6\xdfe.h5"), &latin(b"/\xb5"))?;
    root.attribute(&latin(b"l\xe4nge"), 3)?.comment(&latin(b"gr\xfc\xdfe"))?;
    Ok(size)
}

#[test]
fn are_written_and_found_by_their_bytes() -> Result {
    for bound in [Bound::Earliest, Bound::V18, Bound::LATEST] {
        let mut file = Writer::in_memory(&CreateOptions::default().with_bound(bound))?;
        fill(file.root())?;
        let file = File::from_bytes(file.into_bytes()?)?;
        for (path, value) in [
            (&b"Temp \xb0C/gr\xf6\xdfe"[..], 1.5),
            (b"Temp \xb0C/gr\xf6\xdff", 2.5),
            (b"\xe4", 1.5),
            (b"soft", 1.5),
        ] {
            assert_eq!(file.dataset(&latin(path))?.read::<f64>()?, [value], "{}", latin(path));
        }
        assert_eq!(file.dataset(&latin(b"\xe4"))?.attribute(&latin(b"\xb5"))?.read::<i32>()?, [7]);
        assert_eq!(file.root()?.attribute(&latin(b"l\xe4nge"))?.read::<i32>()?, [3]);
        assert_eq!(file.object_info(file.root()?.address())?.comment, Some(latin(b"gr\xfc\xdfe")));
        let out = file.root()?.link("out")?.map(|link| link.target);
        let expected = Target::External { file: latin(b"gr\xf6\xdfe.h5"), path: latin(b"/\xb5") };
        assert_eq!(out, Some(expected));
        // They are no UTF-8, and do not say that they are.
        assert!(file.root()?.link(&latin(b"\xe4"))?.is_some_and(|link| !link.utf8));
    }
    Ok(())
}

#[test]
fn are_edited() -> Result {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("latin.h5");
    let mut file = Writer::create(&path)?;
    fill(file.root())?;
    file.finish()?;
    let mut editor = Editor::open(&path)?;
    assert!(editor.has_link(&latin(b"/Temp \xb0C/gr\xf6\xdfe"))?);
    editor.move_link(&latin(b"\xe4"), &latin(b"\xf6"))?;
    editor.unlink(&latin(b"soft"))?;
    let id = editor.id(&latin(b"\xf6"))?;
    editor.attribute(id, &latin(b"\xb6"), 8)?;
    editor.object(&latin(b"\xf6"))?.rename_attribute(&latin(b"\xb5"), &latin(b"\xb7"))?;
    editor.root().remove_attribute(&latin(b"l\xe4nge"))?;
    editor.close()?;
    let file = File::open(&path)?;
    let size = file.dataset(&latin(b"\xf6"))?;
    assert_eq!(size.attribute(&latin(b"\xb6"))?.read::<i32>()?, [8]);
    assert_eq!(size.attribute(&latin(b"\xb7"))?.read::<i32>()?, [7]);
    assert!(file.object(&latin(b"\xe4")).is_err() && file.object("soft").is_err());
    assert!(file.root()?.attributes()?.is_empty());
    Ok(())
}

#[test]
fn of_members_are_written_and_found() -> Result {
    let state = Datatype::enumeration(&Datatype::signed(2), [(latin(b"k\xe4lt"), 1)])?;
    let row = Datatype::compound([(latin(b"gr\xf6\xdfe"), Datatype::float64()), (latin(b"\xe9tat"), state)]);
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    file.dataset("rows").datatype(row.clone()).shape([1]).write_raw(&[0; 10])?;
    let file = File::from_bytes(file.into_bytes()?)?;
    let rows = file.dataset("rows")?;
    let Class::Compound(members) = &rows.datatype().class else { panic!() };
    assert_eq!(members.first().map(|member| member.name.as_bytes()), Some(&b"gr\xf6\xdfe"[..]));
    let Some(Class::Enumeration { members, .. }) = members.get(1).map(|member| &member.datatype.class) else {
        panic!()
    };
    assert_eq!(members.first().map(|member| member.name.as_bytes()), Some(&b"k\xe4lt"[..]));
    Ok(())
}
