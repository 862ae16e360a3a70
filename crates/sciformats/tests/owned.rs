//! Files that are cloned, arrays that own theirs, attributes and slices by type.

use sciformats::memory::{Memory, array, texts};
use sciformats::{Array, Error, File, Format, Selection, by};

fn file() -> File {
    let mut tree = Memory::new(Format::Hdf5);
    let u = tree.array(tree.root(), "u", array::<i32>(&[2, 3], &[1, 2, 3, 4, 5, 6]));
    tree.attribute(u, "unit", texts(&[], &["m/s"]));
    tree.attribute(u, "range", array::<f32>(&[2], &[0.5, 1.5]));
    tree.damage(tree.root(), "bad");
    File::from(tree)
}

#[test]
fn an_array_outlives_the_file_that_it_came_from() {
    let first = || -> Array<'static> { file().clone().array("/u").unwrap().into_owned() };
    let u = first();
    let again = u.clone();
    let other = std::thread::spawn(move || again.read::<u8>().unwrap());
    assert_eq!(other.join().unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!((u.path(), u.file().bytes_read()), ("/u", 24));
}

#[test]
fn damage_is_told_in_its_place() {
    let file = file();
    let arrays: Vec<_> = file.arrays().map(|array| array.map(|array| array.path().to_owned())).collect();
    assert!(matches!(&arrays[..], [Err(Error::Malformed { .. }), Ok(path)] if path == "/u"), "{arrays:?}");
}

#[test]
fn attributes_by_type() {
    let file = file();
    let u = file.array("u").unwrap();
    assert_eq!(u.attr::<String>("unit").unwrap().as_deref(), Some("m/s"));
    assert_eq!(file.attr_of::<Vec<f64>>("/u", "range").unwrap(), Some(vec![0.5, 1.5]));
    assert_eq!((u.attr::<f64>("offset").unwrap(), u.attr_or("offset", 2.5).unwrap()), (None, 2.5));
    assert_eq!(file.attr::<f64>("title").unwrap(), None);
    assert!(matches!(u.attr::<Vec<u8>>("range"), Err(Error::Misfit(_))));
    let error = u.attr::<f32>("range").unwrap_err();
    assert!(error.to_string().starts_with("attribute \"range\": value has 2 elements"), "{error}");
    assert!(u.attr::<f32>("unit").is_err());
}

#[test]
fn slices_by_whatever_says_them() {
    let file = file();
    let u = file.array("u").unwrap();
    assert_eq!(u.read_slice::<i64>((1, ..)).unwrap(), [4, 5, 6]);
    assert_eq!(u.read_slice::<i64>((by(.., -1), -1)).unwrap(), [6, 3]);
    assert_eq!(u.read_slice::<i64>("0, ::2").unwrap(), [1, 3]);
    let selection = Selection::parse("::-1, 0", &[2, 3]).unwrap();
    assert_eq!(u.read_slice::<i64>(&selection).unwrap(), [4, 1]);
    let mut row = [0u8; 3];
    u.read_slice_into(0, &mut row).unwrap();
    assert_eq!(row, [1, 2, 3]);
    assert!(u.read_slice_into(.., &mut row).is_err());
    assert!(matches!(u.read_slice::<i64>((0, 0..4)), Err(Error::Usage { .. })));
    #[cfg(feature = "ndarray")]
    {
        let part: ndarray::Array2<f32> = u.read_slice_ndarray(ndarray::s![.., 1..;-1]).unwrap();
        assert_eq!(part, ndarray::array![[3.0, 2.0], [6.0, 5.0]]);
        assert!(u.read_slice_ndarray::<f32, ndarray::Ix1>(..).is_err());
    }
}
