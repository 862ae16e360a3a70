//! Reads attributes in one call: as one value, as all values, and as arrays of their shape.

use std::borrow::Cow;

use hdf5_pure::values::{Empty, FixedString, Raw};
use hdf5_pure::{CreateOptions, Datatype, Error, File, GroupWriter, Writer};

type Result<T = ()> = hdf5_pure::Result<T>;

/// Returns a file whose root group has the attributes.
fn made(attributes: impl FnOnce(&mut GroupWriter<'_>) -> Result) -> Result<File> {
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    attributes(&mut file.root())?;
    File::from_bytes(file.into_bytes()?)
}

#[test]
fn one_value_or_none() -> Result {
    let file = made(|root| {
        root.attribute("height", 412.5)?.attribute("year", 2026)?.attribute("on", true)?;
        root.attribute("title", "a week in May")?.attribute("code", FixedString("N7"))?;
        root.attribute("one", [7u8])?.attribute("offset", Empty(Datatype::float64()))?;
        Ok(())
    })?;
    assert_eq!(file.attr::<f64>("height")?, Some(412.5));
    assert_eq!(file.attr::<u16>("year")?, Some(2026));
    assert_eq!(file.attr::<bool>("on")?, Some(true));
    assert_eq!(file.attr::<String>("title")?.as_deref(), Some("a week in May"));
    assert_eq!(file.root()?.attr::<String>("code")?.as_deref(), Some("N7"));
    assert_eq!(file.attr::<i64>("one")?, Some(7), "one element of an array, as NetCDF and MATLAB write it");
    assert_eq!(file.attr::<f32>("nothing")?, None);
    assert_eq!((file.attr_or("nothing", 1.5)?, file.attr_or("height", 1.5)?), (1.5, 412.5));
    assert_eq!(file.attr::<Vec<f64>>("offset")?, Some(vec![]));
    assert_eq!(file.attr::<Vec<f64>>("height")?, Some(vec![412.5]));
    assert!(matches!(file.attr::<u8>("year"), Err(Error::Misfit(_))));
    for (error, message) in [
        (
            file.attr::<f64>("title").unwrap_err(),
            r#"attribute "title": element type f64 cannot hold elements of the type text"#,
        ),
        (
            file.attr::<f64>("offset").unwrap_err(),
            r#"attribute "offset": value does not exist: the attribute has a null dataspace, which holds no elements"#,
        ),
    ] {
        assert_eq!(error.to_string(), message);
    }
    Ok(())
}

#[test]
fn lists_and_arrays_within_arrays() -> Result {
    let file = made(|root| {
        root.attribute("rotation", [[0, -1], [1, 0]])?;
        root.attribute("cube", vec![[[1u8, 2], [3, 4]], [[5, 6], [7, 8]]])?;
        root.attribute("stations", ["north", "south"])?;
        root.attribute("ragged", vec![vec![1.0], vec![], vec![2.0, 3.0]])?;
        let datatype = Datatype::array(&[3], &Datatype::signed(1));
        root.attribute("array", Raw { datatype, shape: vec![], bytes: &[1, 2, 255] })?;
        Ok(())
    })?;
    let rotation = file.root()?.attribute("rotation")?;
    assert_eq!(rotation.dataspace()?.shape(), [2, 2]);
    assert_eq!(*rotation.datatype()?, Datatype::signed(4));
    assert_eq!(file.attr("rotation")?, Some([[0i64, -1], [1, 0]]));
    assert_eq!(file.attr("rotation")?, Some(vec![vec![0i16, -1], vec![1, 0]]));
    assert_eq!(file.attr("rotation")?, Some(vec![0.0f32, -1.0, 1.0, 0.0]));
    assert_eq!(file.attr("cube")?, Some([[[1u8, 2], [3, 4]], [[5, 6], [7, 8]]]));
    assert_eq!(file.attr::<Vec<String>>("stations")?, Some(vec!["north".into(), "south".into()]));
    assert_eq!(file.attr("ragged")?, Some(vec![vec![1.0], vec![], vec![2.0, 3.0]]));
    assert_eq!(file.attr("array")?, Some(vec![1i8, 2, -1]));
    assert_eq!(file.attr("array")?, Some([1i8, 2, -1]));
    let error = file.attr::<i32>("rotation").unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"attribute "rotation": value has 4 elements in the shape [2, 2], not one: ask for a list or an array"#
    );
    assert!(file.attr::<[[i32; 3]; 2]>("rotation").is_err());
    let error = file.attr::<Vec<Vec<u8>>>("rotation").unwrap_err();
    assert_eq!(error.to_string(), "element 1 is -1, which u8 cannot hold");
    Ok(())
}

#[test]
fn texts_of_every_kind() -> Result {
    let (owned, boxed) = (String::from("K"), Cow::from("m"));
    let names = vec![owned.clone(); 2];
    let file = made(|root| {
        root.attribute("a", &owned)?.attribute("b", boxed)?.attribute("d", &names)?;
        for (name, text) in ["c", "e"].iter().zip(&["s", "t"]) {
            root.attribute(name, text)?;
        }
        Ok(())
    })?;
    let texts = ["a", "b", "c"].map(|name| file.attr::<String>(name).unwrap().unwrap());
    assert_eq!(texts, ["K", "m", "s"]);
    assert_eq!(file.attr::<Vec<String>>("d")?, Some(names));
    Ok(())
}

hdf5_pure::record! {
    #[derive(Debug, PartialEq)]
    struct Place { x: f64, name: String }
}

#[test]
fn structs_and_every_kind_of_object() -> Result {
    let place = || Place { x: 0.5, name: "here".into() };
    let mut file = Writer::in_memory(&CreateOptions::default())?;
    file.dataset("g/t").attribute("place", place()).write(&[1])?;
    file.group("g")?.attribute("place", place())?;
    let datatype = file.root().commit("kelvin", &Datatype::float32())?;
    file.attribute(datatype, "place", place())?;
    let file = File::from_bytes(file.into_bytes()?)?;
    assert_eq!(file.dataset("g/t")?.attr("place")?, Some(place()));
    assert_eq!(file.group("g")?.attr("place")?, Some(place()));
    let hdf5_pure::Node::Datatype(kelvin) = file.object("kelvin")? else { unreachable!() };
    assert_eq!(kelvin.attr("place")?, Some(place()));
    Ok(())
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_of_ndarray() -> Result {
    use ndarray::{Array1, Array2, ArrayD, arr0, array};

    let array = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let file = made(|root| {
        root.attribute("array", &array)?.attribute("turned", array.t())?.attribute("scalar", arr0(7))?;
        Ok(())
    })?;
    assert_eq!(file.attr::<Array2<f64>>("array")?, Some(array.clone()));
    assert_eq!(file.attr::<ArrayD<f32>>("turned")?.map(|array| array[[2, 1]]), Some(6.0));
    assert_eq!(
        (file.attr::<i32>("scalar")?, file.attr::<Vec<f64>>("turned")?.map(|v| v.len())),
        (Some(7), Some(6))
    );
    let error = file.attr::<Array1<f64>>("array").unwrap_err();
    assert!(
        error.to_string().ends_with("which has another number of dimensions than the requested array"),
        "{error}"
    );
    Ok(())
}
