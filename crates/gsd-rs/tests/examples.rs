//! The examples do what they say.

#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/hoomd.rs"]
mod hoomd;

#[test]
fn displacements_grow_with_the_square_of_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.gsd");
    hoomd::make(&path).unwrap();
    let displacements = hoomd::displacements(&path).unwrap();
    // Particle i is at i t / 100 after t steps, and the mean of i² is 3283.5.
    assert_eq!(displacements.len(), 10);
    for (t, (step, displacement)) in displacements.into_iter().enumerate() {
        assert_eq!(step, t as u64 * 1000);
        assert!((displacement - 0.32835 * (t * t) as f64).abs() < 1e-4, "{step}: {displacement}");
    }
}
