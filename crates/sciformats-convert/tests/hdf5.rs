//! Checks what is reported about damaged HDF5 files.

#![cfg(feature = "hdf5")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use sciformats::source::Fact;
use sciformats::{File, Kind, Object, Target, Value};
use sciformats_convert::verify;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hdf5").join(name)
}

fn fact<'a>(facts: &'a [Fact], key: &str) -> Option<&'a Value> {
    facts.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
}

#[test]
fn what_is_cut_off_is_told() {
    let bytes = fs::read(fixture("types-latest.h5")).unwrap();
    let cut = bytes[..bytes.len() - 1].to_vec();
    let file = File::from_bytes(cut).unwrap();
    assert_eq!(fact(&file.source().facts(), "truncated"), Some(&true.into()));
    let mut told = Vec::new();
    verify::verify(&file, &mut |finding| told.push(finding.error.to_string()));
    assert!(told.iter().any(|error| error.contains("cut short")), "{told:?}");
}

#[test]
fn an_object_that_cannot_be_read_keeps_its_place() {
    let bytes = fs::read(fixture("types-latest.h5")).unwrap();
    let sound = File::from_bytes(bytes.clone()).unwrap();
    let source = sound.source();
    let member = source.members(source.root()).unwrap().next().unwrap().unwrap();
    let Target::Object(id) = member.target else { panic!("{member:?}") };
    let mut broken = bytes;
    broken[usize::try_from(id.0).unwrap()] ^= 1;
    let file = File::from_bytes(broken).unwrap();
    assert!(matches!(file.source().object(id).unwrap(), Object::Damaged { kind: Kind::Unknown, .. }));
    let summary = verify::verify(&file, &mut |finding| {
        assert_eq!(finding.path.as_deref(), Some(&*format!("/{}", member.name)));
    });
    assert!(summary.findings > 0 && summary.objects > 2);
    assert!(file.source().structures(&mut |_| ControlFlow::Continue(())).is_err());
}
