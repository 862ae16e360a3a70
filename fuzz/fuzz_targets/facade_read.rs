//! Any bytes through the common view of all formats: detected, listed, read, checked, compared with themselves.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use sciformats::{File, Limits, OpenOptions};
use sciformats_convert::compare::{Options, compare};
use sciformats_convert::{manifest, verify};

fuzz_target!(|data: &[u8]| {
    let limits = Limits::default().with_memory(1 << 20).with_items(1 << 10);
    let options = OpenOptions::default().with_limits(limits).with_unfolded(1 << 20).with_threads(1);
    let Ok(file) = File::from_storage(data.to_vec(), &options) else { return };
    let mut lines = Vec::new();
    if manifest::write(&file, &mut lines).is_ok() {
        assert!(!lines.is_empty());
    }
    verify::verify(&file, &mut |_| {});
    compare(&file, &file, &Options::exact(), &mut |_| ControlFlow::Continue(()));
    let _ = file.source().structures(&mut |_| ControlFlow::Continue(()));
    let _ = (
        file.source().facts(),
        file.source().measures(),
        file.source().headline(),
        file.source().summaries(),
    );
});
