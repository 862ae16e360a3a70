//! A file behind a server, as a store of ranges.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use sciformats_core::storage::Ranges;
use sciformats_core::{Error, Result};

use super::answer::{Version, Wanted};
use super::client::{Answer, Client, Pinned, replaced};
use crate::options::RemoteOptions;
use crate::remote::{Opening, Store};
use crate::url::Url;

/// A file behind an HTTP server.
pub(crate) struct Http {
    client: Client,
    pinned: Pinned,
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http")
            .field("url", self.client.url())
            .field("size", &self.pinned.size)
            .field("version", &self.pinned.version)
            .finish_non_exhaustive()
    }
}

impl Http {
    /// Opens a file by requesting its front and its end at the same time. These are two requests, or one if
    /// the options say so.
    pub(crate) fn open(url: &str, options: &RemoteOptions) -> Result<Opening> {
        let client = Client::new(Url::parse(url)?, options)?;
        let front = || client.fetch(&Wanted::Bytes(0..options.front.max(1)), None);
        let (front, back) = match options.back {
            0 => (front(), None),
            back => std::thread::scope(|scope| {
                // Requesting the end is optional. If the server does not support it, the end is fetched when
                // it is read.
                let back = scope.spawn(|| client.fetch(&Wanted::Last(back), None));
                (front(), back.join().ok().and_then(Result::ok))
            }),
        };
        let front = front?;
        // If the server did not send the size with the front, it sends it with the end, or it has sent the
        // whole file.
        let all = (front.bytes.len() as u64) < options.front;
        let size = front.size.or(back.as_ref().and_then(|back| back.size));
        let size = size.or(all.then_some(front.bytes.len() as u64)).ok_or_else(|| {
            let problem = "the server does not say how large the file is";
            let source = std::io::Error::new(std::io::ErrorKind::Unsupported, problem);
            client.url().place(Error::io("open", source), None)
        })?;
        let differs = |back: &Answer| {
            !front.version.agrees(&back.version) || back.size.is_some_and(|other| other != size)
        };
        if back.as_ref().is_some_and(differs) {
            return Err(client.url().place(replaced(), None));
        }
        let pinned = Pinned { version: front.version, size };
        let store = Box::new(Self { client, pinned });
        Ok(Opening { store, front: front.bytes, back: back.map(|back| (back.start, back.bytes)) })
    }

    /// Opens a file that an index describes; no request is made until something is read.
    pub(crate) fn known(url: &str, size: u64, version: Version, options: &RemoteOptions) -> Result<Self> {
        let client = Client::new(Url::parse(url)?, options)?;
        Ok(Self { client, pinned: Pinned { version, size } })
    }
}

impl Store for Http {
    fn version(&self) -> Version {
        self.pinned.version.clone()
    }

    fn name(&self) -> String {
        self.client.url().to_string()
    }

    fn repeated(&self) -> u64 {
        self.client.repeated()
    }
}

impl Ranges for Http {
    fn size(&self) -> u64 {
        self.pinned.size
    }

    fn get(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        side_by_side(ranges, self.client.gate().threads(ranges.len()), |range| {
            self.client.fetch(&Wanted::Bytes(range.clone()), Some(&self.pinned)).map(|answer| answer.bytes)
        })
    }
}

/// Fetches ranges with several threads; the first error ends it.
pub(crate) fn side_by_side(
    ranges: &[Range<u64>],
    threads: usize,
    fetch: impl Fn(&Range<u64>) -> Result<Vec<u8>> + Sync,
) -> Result<Vec<Vec<u8>>> {
    let threads = threads.clamp(1, ranges.len().max(1));
    if threads == 1 {
        return ranges.iter().map(fetch).collect();
    }
    let next = AtomicUsize::new(0);
    let came: Mutex<Vec<Option<Vec<u8>>>> = Mutex::new(vec![None; ranges.len()]);
    let work = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = ranges.get(number) else { return Ok(()) };
            let bytes = fetch(range).inspect_err(|_| next.store(ranges.len(), Ordering::Relaxed))?;
            if let Some(place) = came.lock().unwrap_or_else(PoisonError::into_inner).get_mut(number) {
                *place = Some(bytes);
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let own = work();
        workers.into_iter().fold(own, |outcome, worker| match worker.join() {
            Ok(other) => outcome.and(other),
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    let came = came.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(came.into_iter().map(Option::unwrap_or_default).collect())
}
