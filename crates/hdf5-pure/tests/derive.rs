//! Structs and enums as elements, by `#[derive(Record)]`.

#![cfg(feature = "derive")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use hdf5_pure::references::Reference;
use hdf5_pure::{CreateOptions, Datatype, ElementType, Error, File, Record, Store, Writer};

type Result = hdf5_pure::Result<()>;

#[derive(Clone, Copy, Debug, PartialEq, Record)]
#[repr(i16)]
enum Kind {
    Proton = 1,
    #[record(rename = "electron")]
    Electron = -1,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Record)]
struct Position {
    x: f32,
    y: f32,
}

#[derive(Clone, Debug, PartialEq, Record)]
struct Particle {
    id: u64,
    r#type: Kind,
    #[record(rename = "pos")]
    position: Position,
    velocity: [f64; 3],
    path: [[Position; 2]; 2],
    #[record(length = 6)]
    code: String,
    name: String,
    history: Vec<i32>,
    #[record(fill = f32::NAN)]
    charge: Option<f32>,
    #[record(fill = -1)]
    parent: Option<i64>,
    is_stable: bool,
    link: Reference,
    #[record(skip)]
    visits: u32,
}

fn file(fill: impl FnOnce(&mut Writer) -> Result) -> File {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    fill(&mut file).unwrap();
    File::from_bytes(file.into_bytes().unwrap()).unwrap()
}

fn particles(link: Reference) -> Vec<Particle> {
    let particle = |id: u64| Particle {
        id,
        r#type: if id.is_multiple_of(2) { Kind::Proton } else { Kind::Electron },
        position: Position { x: id as f32, y: -0.5 },
        velocity: [0.25, 0.5, id as f64],
        path: [[Position { x: 1.0, y: id as f32 }; 2]; 2],
        code: format!("p{id}"),
        name: "long ".repeat(id as usize),
        history: (0..id as i32).collect(),
        charge: (id != 2).then_some(1.5),
        parent: (id > 0).then(|| id as i64 - 1),
        is_stable: id < 3,
        link: if id == 1 { link } else { Reference::default() },
        visits: 0,
    };
    (0..5).map(particle).collect()
}

#[test]
fn every_kind_of_field_comes_back() -> Result {
    let mut expected = Vec::new();
    let file = file(|file| {
        let target = file.dataset("target").write(&[7u8])?;
        expected = particles(file.reference(target)?);
        file.dataset("particles").write(&expected)?;
        file.root().attribute("first", expected[1].clone())?;
        file.root().attribute("kind", Kind::Electron)?;
        Ok(())
    });
    let dataset = file.dataset("particles")?;
    assert_eq!(dataset.read::<Particle>()?, expected);
    assert_eq!(dataset.rows::<Particle>()?.collect::<hdf5_pure::Result<Vec<_>>>()?, expected);
    assert_eq!(file.root()?.attr::<Particle>("first")?, Some(expected[1].clone()));
    assert_eq!(file.root()?.attr::<Kind>("kind")?, Some(Kind::Electron));

    assert_eq!(dataset.read_field::<f64>("pos.y")?, [-0.5; 5]);
    assert_eq!(dataset.read_field::<String>("code")?, ["p0", "p1", "p2", "p3", "p4"]);
    assert_eq!(dataset.read_field::<Kind>("type")?[..2], [Kind::Proton, Kind::Electron]);
    assert_eq!(dataset.datatype().member("code")?.1, &Datatype::fixed_string(6));
    assert_eq!(dataset.datatype().member("name")?.1.element_type()?, ElementType::String);
    assert!(matches!(dataset.datatype().member("visits"), Err(Error::NotFound { .. })));
    assert_eq!(dataset.read_field::<f32>("charge")?[1], 1.5);
    assert!(dataset.read_field::<f32>("charge")?[2].is_nan());

    let columns = dataset.read_columns::<Particle>()?;
    assert_eq!(columns.parent, [None, Some(0), Some(1), Some(2), Some(3)]);
    assert_eq!(columns.velocity[4], [0.25, 0.5, 4.0]);
    assert_eq!(Particle::from_columns(columns)?, expected);
    let mut columns = Particle::into_columns(expected);
    columns.id.pop();
    assert!(matches!(Particle::from_columns(columns), Err(Error::Usage { argument: "columns", .. })));

    let link = dataset.read_field::<Reference>("link")?;
    assert_eq!(file.dataset_at(link[1].address().unwrap())?.read::<u8>()?, [7]);
    assert_eq!(link[0].address(), None);
    Ok(())
}

#[test]
fn enumerations_are_read_by_name_and_integers_by_value() -> Result {
    let file = file(|file| {
        file.dataset("named").datatype(other_enumeration()?).shape([2]).write_raw(&[0, 1])?;
        file.dataset("muon").datatype(other_enumeration()?).shape([2]).write_raw(&[1, 2])?;
        file.dataset("numbers").write(&[1i32, -1])?;
        file.dataset("other").write(&[1i32, 5])?;
        Ok(())
    });
    assert_eq!(file.dataset("named")?.read::<Kind>()?, [Kind::Electron, Kind::Proton]);
    assert_eq!(file.dataset("numbers")?.read::<Kind>()?, [Kind::Proton, Kind::Electron]);
    let error = file.dataset("muon")?.read::<Kind>().unwrap_err();
    assert_eq!(error.to_string(), "element 1 is 2, which the enum Kind cannot hold");
    assert!(matches!(file.dataset("other")?.read::<Kind>(), Err(Error::Misfit(_))));
    Ok(())
}

#[test]
fn enumerations_are_written_by_name() -> Result {
    let stored =
        Datatype::enumeration(&Datatype::unsigned(1), [("Proton", 0), ("electron", 1), ("muon", 2)])?;
    let kinds = [Kind::Proton, Kind::Electron, Kind::Electron];
    let file = file(|file| {
        file.dataset("kinds").datatype(stored).write(&kinds)?;
        let few = Datatype::enumeration(&Datatype::unsigned(1), [("Proton", 0), ("muon", 1)])?;
        assert!(matches!(file.dataset("few").datatype(few).write(&kinds), Err(Error::Misfit(_))));
        Ok(())
    });
    let dataset = file.dataset("kinds")?;
    assert_eq!(dataset.read_raw(&dataset.all()?)?, [0, 1, 1]);
    assert_eq!(dataset.read::<Kind>()?, kinds);
    Ok(())
}

fn other_enumeration() -> hdf5_pure::Result<Datatype> {
    Datatype::enumeration(&Datatype::unsigned(1), [("electron", 0), ("Proton", 1), ("muon", 2)])
}

#[derive(Debug, PartialEq, Record)]
struct Old {
    id: u16,
    #[record(default)]
    #[record(fill = 0)]
    weight: Option<i32>,
    #[record(default)]
    note: String,
}

#[derive(Record)]
struct Narrow {
    id: u8,
}

#[test]
fn members_that_are_missing_have_a_default_only_if_the_field_says_so() -> Result {
    let file = file(|file| file.dataset("rows").write(&[Narrow { id: 3 }]).map(drop));
    assert_eq!(file.dataset("rows")?.read::<Old>()?, [Old { id: 3, weight: None, note: String::new() }]);
    let error = file.dataset("rows")?.read::<Position>().unwrap_err();
    assert!(matches!(&error, Error::NotFound { what: "member", name, .. } if **name == *"x"), "{error}");
    Ok(())
}

#[test]
fn values_are_converted_to_the_stored_compound() -> Result {
    let wide = Datatype::compound([("y", Datatype::float64().big_endian()), ("x", Datatype::signed(2))]);
    let whole = [Position { x: 3.0, y: 0.5 }, Position { x: -4.0, y: 0.25 }];
    let stored = file(|file| file.dataset("rows").datatype(wide.clone()).write(&whole).map(drop));
    assert_eq!(stored.dataset("rows")?.datatype().member("y")?, (0, &Datatype::float64().big_endian()));
    assert_eq!(stored.dataset("rows")?.datatype().member("x")?, (8, &Datatype::signed(2)));
    assert_eq!(stored.dataset("rows")?.read::<Position>()?, whole);

    let mut file = Writer::in_memory(&CreateOptions::default())?;
    let broken = [Position::default(), Position { x: 0.5, y: 0.0 }];
    let error = file.dataset("a").datatype(wide).write(&broken).unwrap_err();
    assert_eq!(error.to_string(), "element 1 is 0.5, which i16 cannot hold");
    let lacking = Datatype::compound([("x", Datatype::float32())]);
    let error = file.dataset("b").datatype(lacking).write(&broken).unwrap_err();
    assert_eq!(error.to_string(), r#"values have the member "y", which the stored compound lacks"#);
    let more = Datatype::compound(["x", "y", "z"].map(|name| (name, Datatype::float32())));
    let error = file.dataset("c").datatype(more).write(&broken).unwrap_err();
    assert_eq!(error.to_string(), r#"values lack the member "z" of the stored compound"#);
    let arrays = Datatype::array(&[3], &Datatype::unsigned(1));
    let error = file.dataset("d").datatype(arrays.clone()).write(&[[1i32, 2, 3], [4, 5, 600]]).unwrap_err();
    assert_eq!(error.to_string(), "element 1 is 600 in its part 2, which u8 cannot hold");
    file.dataset("d").datatype(arrays).write(&[[1i32, 2, 3], [4, 5, 6]])?;
    let file = File::from_bytes(file.into_bytes()?)?;
    assert_eq!(file.dataset("d")?.read::<[u8; 3]>()?, [[1, 2, 3], [4, 5, 6]]);
    Ok(())
}

#[test]
fn texts_that_do_not_fit_are_refused() -> Result {
    let mut long = particles(Reference::default());
    long[3].code = "seven b".into();
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    let error = file.dataset("particles").write(&long).unwrap_err();
    assert_eq!(error.to_string(), "values include a string of 7 bytes, but the datatype has room for 6");
    Ok(())
}

#[cfg(all(feature = "half", feature = "num-complex"))]
mod numbers {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Record)]
    struct Sample {
        level: half::f16,
        signal: num_complex::Complex<f32>,
        pair: [num_complex::Complex<f64>; 2],
    }

    #[test]
    fn complex_and_half() -> Result {
        let signal = num_complex::Complex::new(0.5, -1.5);
        let pair = [num_complex::Complex::new(1.0, 2.0); 2];
        let all = [Sample { level: half::f16::from_f32(0.25), signal, pair }];
        let file = file(|file| file.dataset("samples").write(&all).map(drop));
        assert_eq!(file.dataset("samples")?.read::<Sample>()?, all);
        assert_eq!(Sample::datatype().element_type()?, file.dataset("samples")?.datatype().element_type()?);
        Ok(())
    }
}
