//! The examples do what they say.

#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/heights.rs"]
mod heights;

#[test]
fn heights_of_a_window() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("heights.b2nd");
    // The mean of x y / 256 over 450 to 549 of each.
    let expected = 499.5 * 499.5 / 256.0;
    for _ in 0..2 {
        let map = heights::open(&path).unwrap();
        assert!((heights::mean(&map).unwrap() - expected).abs() < 1e-3);
    }
    assert!(std::fs::metadata(&path).unwrap().len() < 4_000_000 / 2, "it is compressed");
}
