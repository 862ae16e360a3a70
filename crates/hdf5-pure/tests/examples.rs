//! Runs the examples, and checks their results.

use hdf5_pure::{Editor, File, Writer};

#[cfg(feature = "deflate")]
#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/climate.rs"]
mod climate;
#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/errors.rs"]
mod errors;
#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/particles.rs"]
mod particles;
#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/simulation.rs"]
mod simulation;

#[cfg(feature = "deflate")]
#[test]
fn climate_slab() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("climate.h5");
    climate::make(&path).unwrap();
    // The value is 10 times the latitude plus the hour. The latitudes are 30 to 59, and the last hour is 47.
    let expected = (445.0 + 47.0) * 0.01 + 273.15;
    assert!((climate::tropics(&path).unwrap() - expected).abs() < 1e-9);
    let t2m = File::open(&path).unwrap().dataset("t2m").unwrap();
    assert_eq!(t2m.attr::<String>("units").unwrap().as_deref(), Some("K"));
}

#[test]
fn simulation_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.h5");
    assert_eq!(simulation::run(&path, 250).unwrap(), 250);
    assert_eq!(simulation::run(&path, 50).unwrap(), 300);
    let position = File::open(&path).unwrap().dataset("position").unwrap();
    assert_eq!(
        position.read_slice::<f32>((.., 0)).unwrap(),
        (0..300).map(|i| i as f32 / 8.0).collect::<Vec<_>>()
    );
}

#[test]
fn particles_are_rows() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(particles::run(&folder.path().join("particles.h5")).unwrap(), 15.0);
}

#[test]
fn errors_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.h5");
    let told = |name: &str| errors::told(errors::bytes(&path, name));
    assert_eq!(told("x"), "ask the system: entity not found");
    let mut file = Writer::create(&path).unwrap();
    file.dataset("x").write(&[1, 2]).unwrap();
    file.dataset("wide").write(&[1, 300]).unwrap();
    file.dataset("texts").write(&["a"]).unwrap();
    file.finish().unwrap();
    assert_eq!(told("x"), "2 bytes");
    assert_eq!(told("y"), "look for another name than y");
    assert_eq!(told("wide"), "read a wider type: element 1 is 300");
    assert!(told("texts").contains("u8 cannot hold elements of the type text"), "{}", told("texts"));
    Editor::open(&path).unwrap().commit().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[9..40].fill(7);
    std::fs::write(&path, bytes).unwrap();
    assert!(told("x").starts_with("the file is damaged at byte"), "{}", told("x"));
    std::fs::write(&path, [7; 100]).unwrap();
    assert_eq!(told("x"), "name a file of HDF5");
}
