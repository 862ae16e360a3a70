//! The design document of the file layer, line by line: every use case, query, write, limit and failure is a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

mod capabilities;
mod failures;
mod format;
mod limits;
mod queries;
mod writes;

use std::borrow::Cow;
use std::process::Command;

use common::{options, read};
use gsd_rs::storage::FileStorage;
use gsd_rs::{CreateOptions, ElementType, Error, Reader, Region, RegionWriter, Version, Writer};

const V1: Version = Version::new(1, 0);

fn memory(write: impl FnOnce(&mut Writer<Vec<u8>>)) -> Reader {
    memory_of(Version::new(2, 1), write)
}

fn memory_of(layer: Version, write: impl FnOnce(&mut Writer<Vec<u8>>)) -> Reader {
    let mut writer = Writer::create_in(Vec::new(), &options().with_layer(layer)).unwrap();
    write(&mut writer);
    Reader::from_bytes(writer.into_bytes().unwrap()).unwrap()
}
