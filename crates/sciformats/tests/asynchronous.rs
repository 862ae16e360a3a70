//! Hundreds of reads of a remote file are awaited under runtimes that have one thread.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

#[path = "../../sciformats-remote/tests/support/mod.rs"]
mod support;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sciformats::sciformats_remote::RemoteOptions;
use sciformats::storage::PlanOptions;
use sciformats::{AsyncFile, Error, OpenOptions, npy, open_async};
use support::{Fault, Server};
use tokio::task::JoinSet;

/// Each row is as long as a page.
const ROWS: u64 = 300;
const COLUMNS: u64 = 16_384;

fn made() -> Vec<u8> {
    let values: Vec<u32> = (0..(ROWS * COLUMNS) as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    npy::to_bytes(&[ROWS, COLUMNS], &values).unwrap()
}

fn value(row: u64, column: u64) -> u32 {
    ((row * COLUMNS + column) as u32).wrapping_mul(2_654_435_761)
}

fn alone() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

#[test]
fn hundreds_of_reads_share_the_connections_and_block_nobody() {
    let delay = Duration::from_millis(40);
    let server = Server::with_delay(made(), delay);
    let url = server.url("/run.npy");
    alone().block_on(async {
        let ticks = Arc::new(AtomicUsize::new(0));
        let ticking = tokio::spawn({
            let ticks = ticks.clone();
            async move {
                loop {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    ticks.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        let plan = PlanOptions::default().with_window(0);
        let remote = RemoteOptions::default().with_connections(32).with_ends(4096, 4096).with_plan(plan);
        let file = AsyncFile::open_url(&url, &OpenOptions::default(), &remote).await.unwrap();
        assert_eq!(file.file().remote().unwrap().size() / ROWS / COLUMNS, 4);
        server.seen();
        let started = Instant::now();
        let mut reads = JoinSet::new();
        for row in 0..ROWS {
            let reading = file.read_slice::<u32>("/", (row as i64, 10..13));
            reads.spawn(async move { (row, reading.await.unwrap()) });
        }
        let mut rows = HashSet::new();
        while let Some(done) = reads.join_next().await {
            let (row, found) = done.unwrap();
            assert_eq!(found, [10, 11, 12].map(|column| value(row, column)));
            assert!(rows.insert(row));
        }
        assert_eq!(rows.len(), 300);
        // One after the other, the reads would take 12 s.
        assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
        assert!(server.seen().len() <= 310);
        assert!(ticks.load(Ordering::Relaxed) > 5, "{ticks:?}");
        ticking.abort();
    });
}

#[test]
fn errors_and_reads_that_nobody_awaits() {
    let server = Server::with_delay(made(), Duration::from_millis(1));
    let url = server.url("/run.npy");
    alone().block_on(async {
        assert!(open_async(&server.url("/run.npy#part")).await.is_ok());
        let file = open_async(&url).await.unwrap();
        assert!(file.read::<u32>("/absent").await.is_err());
        drop(file.read::<u32>("/"));
        let limited = tokio::time::timeout(Duration::ZERO, file.read::<u32>("/")).await;
        assert!(limited.is_err());
        let sum = file.run(|file| Ok(file.array("/")?.read::<u32>()?.len())).await.unwrap();
        assert_eq!(sum as u64, ROWS * COLUMNS);
        server.set(std::iter::repeat_n(Fault::Status(404, None), 9));
        let error = open_async(&server.url("/absent.npy")).await.unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("near.npy");
        std::fs::write(&path, made()).unwrap();
        let near = open_async(path.to_str().unwrap()).await.unwrap();
        assert_eq!(near.read_slice::<u32>("/", (7, 9)).await.unwrap(), [value(7, 9)]);
    });
}
