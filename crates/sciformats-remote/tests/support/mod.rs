//! A server on the loopback that counts, delays, throttles, cuts bodies and lies.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test uses a part of it, and fails by panics"
)]

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sciformats_core::storage::Purpose;
use sciformats_core::{ReadAt, Result};
use sciformats_remote::Remote;

/// The number of bytes of the file.
pub const SIZE: usize = 300_000;

/// What the server does instead of answering rightly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The answer is right.
    None,
    /// Closes the connection without an answer.
    Drop,
    /// Answers what is no HTTP.
    Garbage,
    /// Answers with a status, and says after how many seconds to come again.
    Status(u16, Option<u64>),
    /// Sends so many bytes of the body, and closes.
    Cut(usize),
    /// Sends so many bytes of the body, and then nothing.
    Stall(usize),
    /// Never answers.
    Silence,
    /// Sends the whole file with status 200.
    Whole,
    /// Sends the whole file with status 200 in pieces, and does not say how long it is.
    Pieces,
    /// Says, and sends, a range that begins a byte later.
    Shifted,
    /// Says the right range and sends more bytes.
    Longer,
    /// Says another size of the file.
    Resized,
    /// Says another entity tag.
    Replaced,
    /// Says that the bytes are compressed.
    Encoded,
    /// Says a range, and not of how many bytes.
    Star,
    /// Says 206 without a range.
    Unnamed,
    /// Redirects.
    Redirect(String),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub path: String,
    pub headers: Vec<(String, String)>,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// Makes the bytes of a range up: of files that are larger than any disk.
pub type Content = dyn Fn(Range<u64>) -> Vec<u8> + Send + Sync;

pub struct Shared {
    content: Box<Content>,
    size: u64,
    pub etag: Mutex<Option<String>>,
    /// Faults of the next requests, one after another; then `None`.
    pub faults: Mutex<VecDeque<Fault>>,
    /// A fault for each request to a path that begins so.
    pub paths: Mutex<Vec<(String, Fault)>>,
    pub seen: Mutex<Vec<Seen>>,
    pub sent: Mutex<u64>,
    delay: Duration,
}

/// A server, which ends with the process.
pub struct Server {
    pub shared: Arc<Shared>,
    address: String,
}

impl Server {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self::with_delay(bytes, Duration::ZERO)
    }

    pub fn with_delay(bytes: Vec<u8>, delay: Duration) -> Self {
        let size = bytes.len() as u64;
        Self::of(size, delay, move |range| bytes[range.start as usize..range.end as usize].to_vec())
    }

    pub fn of(
        size: u64,
        delay: Duration,
        content: impl Fn(Range<u64>) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            content: Box::new(content),
            size,
            etag: Mutex::new(Some("\"v1\"".into())),
            faults: Mutex::default(),
            paths: Mutex::default(),
            seen: Mutex::default(),
            sent: Mutex::default(),
            delay,
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let kept = shared.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = kept.clone();
                std::thread::spawn(move || while shared.answer(&connection).unwrap_or(false) {});
            }
        });
        Self { shared, address }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn set(&self, faults: impl IntoIterator<Item = Fault>) {
        *self.shared.faults.lock().unwrap() = faults.into_iter().collect();
    }

    /// The requests since the last call.
    pub fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.shared.seen.lock().unwrap())
    }
}

impl Shared {
    /// Answers one request; whether the connection goes on.
    fn answer(&self, connection: &TcpStream) -> std::io::Result<bool> {
        connection.set_nodelay(true)?;
        let mut lines = BufReader::new(connection).lines();
        let Some(first) = lines.next().transpose()? else { return Ok(false) };
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        for line in lines {
            let line = line?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let seen = Seen { path: path.clone(), headers };
        self.seen.lock().unwrap().push(seen.clone());
        std::thread::sleep(self.delay);
        let by_path =
            self.paths.lock().unwrap().iter().find(|(front, _)| path.starts_with(front.as_str())).cloned();
        let fault = match by_path {
            Some((_, fault)) => fault,
            None => self.faults.lock().unwrap().pop_front().unwrap_or(Fault::None),
        };
        self.send(connection, &seen, &fault)
    }

    fn send(&self, mut out: &TcpStream, seen: &Seen, fault: &Fault) -> std::io::Result<bool> {
        let etag = self.etag.lock().unwrap().clone();
        let tag = if *fault == Fault::Replaced { Some("\"v2\"".to_owned()) } else { etag.clone() };
        let tag = tag.map(|tag| format!("ETag: {tag}\r\n")).unwrap_or_default();
        let status = |code: u16, more: &str| format!("HTTP/1.1 {code} X\r\nContent-Length: 0\r\n{more}\r\n");
        match fault {
            Fault::Drop => return Ok(false),
            Fault::Garbage => {
                out.write_all(b"\x00\x01this is no answer\r\n\r\n")?;
                return Ok(false);
            }
            Fault::Silence => {
                std::thread::sleep(Duration::from_secs(20));
                return Ok(false);
            }
            Fault::Status(code, wait) => {
                let wait = wait.map(|wait| format!("Retry-After: {wait}\r\n")).unwrap_or_default();
                out.write_all(status(*code, &wait).as_bytes())?;
                return Ok(true);
            }
            Fault::Redirect(to) => {
                let cookie = "Set-Cookie: session=7; Path=/\r\n";
                out.write_all(status(302, &format!("Location: {to}\r\n{cookie}")).as_bytes())?;
                return Ok(true);
            }
            _ => {}
        }
        if seen.header("If-Match").is_some_and(|wanted| Some(wanted) != etag.as_deref()) {
            out.write_all(status(412, "").as_bytes())?;
            return Ok(true);
        }
        let range = self.range(seen, fault);
        if range.start >= range.end {
            let more = format!("Content-Range: bytes */{}\r\n", self.size);
            out.write_all(status(416, &more).as_bytes())?;
            return Ok(true);
        }
        self.body(out, (range, fault), &tag)
    }

    /// The range that is answered with.
    fn range(&self, seen: &Seen, fault: &Fault) -> Range<u64> {
        let range = match seen.header("Range").and_then(|range| range.strip_prefix("bytes=")) {
            _ if matches!(fault, Fault::Whole | Fault::Pieces) => 0..self.size,
            None => 0..self.size,
            Some(range) => {
                let (first, last) = range.split_once('-').unwrap();
                match (first.parse::<u64>(), last.parse::<u64>()) {
                    (Ok(first), Ok(last)) => first..(last + 1).min(self.size),
                    (Err(_), Ok(count)) => self.size.saturating_sub(count)..self.size,
                    _ => 0..0,
                }
            }
        };
        if *fault == Fault::Shifted && range.end - range.start > 1 {
            range.start + 1..range.end
        } else {
            range
        }
    }

    /// Sends a range.
    fn body(
        &self,
        mut out: &TcpStream,
        (range, fault): (Range<u64>, &Fault),
        tag: &str,
    ) -> std::io::Result<bool> {
        let mut body = (self.content)(range.clone());
        let size = match fault {
            Fault::Resized => (self.size + 1).to_string(),
            Fault::Star => "*".into(),
            _ => self.size.to_string(),
        };
        let (code, place) = match fault {
            Fault::Whole | Fault::Pieces => (200, String::new()),
            Fault::Unnamed => (206, String::new()),
            _ => (206, format!("Content-Range: bytes {}-{}/{size}\r\n", range.start, range.end - 1)),
        };
        if *fault == Fault::Longer {
            body.extend_from_slice(b"and more");
        }
        let encoding = if *fault == Fault::Encoded { "Content-Encoding: gzip\r\n" } else { "" };
        let length = match fault {
            Fault::Pieces => "Transfer-Encoding: chunked".to_owned(),
            _ => format!("Content-Length: {}", body.len()),
        };
        if *fault == Fault::Pieces {
            let mut pieces = Vec::new();
            for piece in body.chunks(5000) {
                pieces.extend(format!("{:x}\r\n", piece.len()).bytes().chain(piece.iter().copied()));
                pieces.extend(b"\r\n");
            }
            body = [pieces.as_slice(), b"0\r\n\r\n"].concat();
        }
        let head = format!("HTTP/1.1 {code} X\r\n{length}\r\n{tag}{place}{encoding}\r\n");
        out.write_all(head.as_bytes())?;
        let part = match fault {
            Fault::Cut(count) | Fault::Stall(count) => &body[..(*count).min(body.len())],
            _ => &body[..],
        };
        out.write_all(part)?;
        *self.sent.lock().unwrap() += part.len() as u64;
        if matches!(fault, Fault::Stall(_)) {
            std::thread::sleep(Duration::from_secs(20));
        }
        Ok(!matches!(fault, Fault::Cut(_) | Fault::Stall(_)))
    }
}

/// The bytes of the file.
pub fn bytes() -> Vec<u8> {
    (0..SIZE).map(|i| ((i >> 2) ^ (i >> 9)) as u8).collect()
}

/// What is read of a file that is open.
pub fn read(file: &Remote) -> Result<()> {
    let all = bytes();
    let check =
        |offset: usize, found: &[u8]| assert_eq!(found, &all[offset..offset + found.len()], "at {offset}");
    check(123_456, &file.read_at(123_456, 77)?);
    let chunks: Vec<_> = (0..5).map(|i| i * 50_000 + 7..i * 50_000 + 1007).collect();
    file.prefetch(&chunks, Purpose::Elements)?;
    for chunk in chunks {
        check(chunk.start as usize, &file.read_at(chunk.start, 1000)?);
    }
    let mut long = vec![0; 270_000];
    file.read_into(11, &mut long)?;
    check(11, &long);
    Ok(())
}
