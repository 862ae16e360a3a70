//! Arrays of any element type.

#![cfg(feature = "hdf5")]
#![allow(clippy::unwrap_used, clippy::panic)]

use hdf5_pure::{CreateOptions, Datatype, Writer};
use sciformats::{DynArray, Error, File, Result, Value};

hdf5_pure::record! {
    struct Particle {
        id: u16,
        charged: bool,
        position: [f32; 2],
        tags: Vec<String>,
    }
}

fn file(fill: impl FnOnce(&mut Writer) -> Result<()>) -> File {
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    fill(&mut file).unwrap();
    File::from_bytes(file.into_bytes().unwrap()).unwrap()
}

#[test]
fn each_type_is_its_own() -> Result<()> {
    let colours = Datatype::enumeration(&Datatype::unsigned(1), [("red", 0), ("blue", 1)])?;
    let file = file(|file| {
        file.dataset("truth").shape([2, 1]).write(&[true, false])?;
        file.dataset("i16").write(&[-3i16])?;
        file.dataset("u64").write_scalar(u64::MAX)?;
        file.dataset("f32").write(&[0.1f32, f32::INFINITY])?;
        file.dataset("names").write(&["Vega", "De\"neb"])?;
        file.dataset("opaque").datatype(Datatype::opaque(2, "x")).shape([1]).write_raw(&[1, 0xab])?;
        file.dataset("colours").datatype(colours).shape([3]).write_raw(&[1, 0, 7])?;
        let tags = vec!["a".to_owned()];
        file.dataset("rows").write(&[Particle { id: 1, charged: true, position: [0.5, 1.5], tags }])?;
        file.dataset("empty").shape([3, 0]).max_shape([None, None]).create::<f64>()?;
        file.dataset("none").datatype(Datatype::float64()).write_null()?;
        Ok(())
    });
    let read = |name: &str| file.array(name)?.read_dyn();
    let DynArray::Bool(truth) = read("truth")? else { panic!("{:?}", read("truth")) };
    assert_eq!((truth.shape(), truth.values()), (&[2, 1][..], &[true, false][..]));
    assert!(matches!(read("i16")?, DynArray::I16(values) if values.values() == [-3]));
    assert!(matches!(read("opaque")?, DynArray::Bytes(values) if values.values() == [[1, 0xab]]));
    let table = [
        ("truth", "[[true], [false]]", "[[true],[false]]"),
        ("i16", "[-3]", "[-3]"),
        ("u64", "18446744073709551615", "18446744073709551615"),
        ("f32", "[0.1, inf]", r#"[0.1,"Infinity"]"#),
        ("names", r#"["Vega", "De\"neb"]"#, r#"["Vega","De\"neb"]"#),
        ("opaque", "[0x01ab]", r#"["0x01ab"]"#),
        ("colours", r#"["blue", "red", 7]"#, r#"["blue","red",7]"#),
        (
            "rows",
            "[{id: 1, charged: true, position: [0.5, 1.5], tags: [a]}]",
            r#"[{"id":1,"charged":true,"position":[0.5,1.5],"tags":["a"]}]"#,
        ),
        ("empty", "[]", "[]"),
    ];
    for (name, text, json) in table {
        let array = read(name)?;
        assert_eq!((array.to_string().as_str(), array.to_json().as_str()), (text, json), "{name}");
        assert_eq!(array.shape(), file.array(name)?.shape(), "{name}");
    }
    let DynArray::Value(rows) = read("rows")? else { panic!() };
    let Value::Record(fields) = &rows.values()[0] else { panic!() };
    assert_eq!(fields[1], ("charged".into(), Value::Bool(true)));
    assert!(matches!(read("none"), Err(Error::Usage { .. })));
    assert_eq!(file.array("f32")?.read_slice_dyn("::-1")?.to_string(), "[inf, 0.1]");
    Ok(())
}

#[cfg(feature = "ndarray")]
#[test]
fn it_becomes_an_array_of_its_shape() -> Result<()> {
    let file = file(|file| file.dataset("u").shape([2, 2]).write(&[1u8, 2, 3, 4]).map(drop));
    let DynArray::U8(values) = file.array("u")?.read_dyn()? else { panic!() };
    assert_eq!(values.into_ndarray()?, ndarray::array![[1, 2], [3, 4]].into_dyn());
    Ok(())
}
