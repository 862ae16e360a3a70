//! The harness on itself: the same work in Rust and in Python, and once more in Rust.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;

use harness::{Bench, Case, Outcome, Watch};

const BYTES: usize = 8 << 20;

fn main() -> ExitCode {
    Bench::new("selftest", "python/selftest.py")
        .case(
            Case::new("read 8 MiB", 4.0)
                .prepare(|folder| Ok(std::fs::write(folder.join("bytes"), vec![1u8; BYTES])?))
                .ours(read)
                .rust("the same", read)
                .python("python"),
        )
        .main()
}

fn read(folder: &Path, watch: &mut Watch) -> Outcome {
    let bytes = watch.time(|| std::fs::read(folder.join("bytes")))?;
    if black_box(bytes).len() == BYTES { Ok(()) } else { Err("the file has another size".into()) }
}
