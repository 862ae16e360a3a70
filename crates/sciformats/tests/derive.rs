//! `#[derive(sciformats::Record)]` needs no other crate.

#![cfg(feature = "derive")]
#![allow(clippy::unwrap_used)]

use sciformats::hdf5_pure::{CreateOptions, File, Writer};

#[derive(Debug, PartialEq, sciformats::Record)]
struct Particle {
    mass: f64,
    #[record(rename = "type")]
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, sciformats::Record)]
#[repr(u8)]
enum Kind {
    Proton,
    Neutron,
}

#[test]
fn a_record_of_the_facade_is_read_and_written() {
    let all = [Particle { mass: 0.5, kind: Kind::Neutron }, Particle { mass: 1.5, kind: Kind::Proton }];
    let mut file = Writer::in_memory(&CreateOptions::default()).unwrap();
    file.dataset("particles").write(&all).unwrap();
    let file = File::from_bytes(file.into_bytes().unwrap()).unwrap();
    assert_eq!(file.dataset("particles").unwrap().read::<Particle>().unwrap(), all);
}
