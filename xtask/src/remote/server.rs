//! A server of files on the loopback interface, which waits before each answer, sends as fast as a connection to an object
//! store does, and counts.
//!
//! | path | answer |
//! |---|---|
//! | `/NAME` | the file, or the requested range of it |
//! | `/_clear` | nothing; the counts start anew |
//! | `/_keep?NAME` | nothing; the requests since then are kept under this name |
//! | `/_log` | the numbers of requests, of consecutive requests, and of bytes since then, separated by spaces |

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::picture::Request;

/// The largest number of bytes that are sent before the rate is looked at.
const PIECE: u64 = 256 << 10;

/// How the server answers.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) folder: PathBuf,
    /// The wait before each answer.
    pub(super) delay: Duration,
    /// The number of bytes per second that each connection sends; 0 means that there is no limit.
    pub(super) rate: u64,
}

/// The requests since the counts started.
#[derive(Debug, Default)]
struct Log {
    spans: Vec<(Instant, Instant, Range<u64>)>,
    sent: u64,
    kept: Vec<(String, Vec<Request>)>,
}

impl Log {
    /// Returns the largest number of requests of which each came after the one before was answered.
    fn depth(&self) -> usize {
        let mut spans: Vec<_> = self.spans.iter().map(|(start, end, _)| (*start, *end)).collect();
        spans.sort_unstable_by_key(|&(start, end)| (end, start));
        let mut last: Option<Instant> = None;
        let follows = |(start, end): (Instant, Instant)| {
            let follows = last.is_none_or(|last| start >= last);
            if follows {
                last = Some(end);
            }
            follows
        };
        spans.into_iter().map(follows).filter(|&follows| follows).count()
    }

    fn requests(&self) -> Vec<Request> {
        let Some(first) = self.spans.iter().map(|(start, ..)| *start).min() else { return Vec::new() };
        let since = |time: &Instant| time.duration_since(first).as_secs_f64() * 1000.0;
        let request = |(start, end, bytes): &(Instant, Instant, Range<u64>)| Request {
            time: since(start)..since(end),
            bytes: bytes.clone(),
        };
        self.spans.iter().map(request).collect()
    }
}

/// A server that runs.
#[derive(Clone, Debug)]
pub(super) struct Server {
    pub(super) url: String,
    log: Arc<Mutex<Log>>,
}

impl Server {
    /// Returns the requests that were kept under a name.
    pub(super) fn kept(&self, name: &str) -> Vec<Request> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let found = log.kept.iter().find(|(kept, _)| kept == name);
        found.map(|(_, requests)| requests.clone()).unwrap_or_default()
    }
}

/// Starts the server, which ends with the process.
pub(super) fn start(settings: Settings) -> io::Result<Server> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/", listener.local_addr()?);
    let (settings, log) = (Arc::new(settings), Arc::new(Mutex::new(Log::default())));
    let server = Server { url, log: log.clone() };
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let (settings, log) = (settings.clone(), log.clone());
            // A client that goes away ends its thread.
            std::thread::spawn(move || talk(&connection, &settings, &log));
        }
    });
    Ok(server)
}

/// Answers the requests of one connection.
fn talk(connection: &TcpStream, settings: &Settings, log: &Mutex<Log>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut input = BufReader::new(connection);
    loop {
        let mut first = String::new();
        if input.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let mut range = None;
        loop {
            let mut line = String::new();
            input.read_line(&mut line)?;
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((_, value)) =
                line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("range"))
            {
                range = Some(value.trim().to_owned());
            }
        }
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        answer(connection, (method, path, range.as_deref()), settings, log)?;
    }
}

fn answer(
    mut out: &TcpStream,
    (method, path, range): (&str, &str, Option<&str>),
    settings: &Settings,
    log: &Mutex<Log>,
) -> io::Result<()> {
    let begun = Instant::now();
    let text = |text: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len());
    match path {
        "/_clear" => {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            log.spans.clear();
            log.sent = 0;
            return out.write_all(text("").as_bytes());
        }
        _ if path.starts_with("/_keep?") => {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            let requests = log.requests();
            log.kept.push((path.trim_start_matches("/_keep?").to_owned(), requests));
            return out.write_all(text("").as_bytes());
        }
        "/_log" => {
            let log = log.lock().unwrap_or_else(PoisonError::into_inner);
            return out
                .write_all(text(&format!("{} {} {}", log.spans.len(), log.depth(), log.sent)).as_bytes());
        }
        _ => std::thread::sleep(settings.delay),
    }
    let name = Path::new(path).file_name().unwrap_or_default();
    let Ok(mut file) = File::open(settings.folder.join(name)) else {
        return out.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    };
    let size = file.metadata()?.len();
    let found = range.and_then(|range| part(range, size));
    let (status, place) = match &found {
        Some(range) => (
            "206 Partial Content",
            format!("Content-Range: bytes {}-{}/{size}\r\n", range.start, range.end - 1),
        ),
        None => ("200 OK", String::new()),
    };
    let body = found.unwrap_or(0..size);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nAccept-Ranges: bytes\r\nETag: \"1\"\r\n{place}\r\n",
        body.end - body.start
    );
    let mut sent = 0;
    if method == "HEAD" {
        out.write_all(head.as_bytes())?;
    } else {
        sent = send(out, head, &mut file, body.clone(), settings.rate)?;
    }
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    log.spans.push((begun, Instant::now(), body));
    log.sent += sent;
    Ok(())
}

/// Sends the head of an answer and a range of a file, at most `rate` bytes per second.
fn send(mut out: &TcpStream, head: String, file: &mut File, body: Range<u64>, rate: u64) -> io::Result<u64> {
    let begun = Instant::now();
    file.seek(SeekFrom::Start(body.start))?;
    let mut buffer = head.into_bytes();
    let mut left = body.end - body.start;
    loop {
        let piece = left.min(PIECE);
        Read::by_ref(file).take(piece).read_to_end(&mut buffer)?;
        out.write_all(&buffer)?;
        buffer.clear();
        left -= piece;
        let sent = body.end - body.start - left;
        if rate > 0 {
            let due = Duration::from_secs_f64(sent as f64 / rate as f64);
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
        }
        if left == 0 {
            return Ok(sent);
        }
    }
}

/// Returns the bytes that a header `Range` names, if there are any.
fn part(range: &str, size: u64) -> Option<Range<u64>> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let found = match first {
        "" => size.saturating_sub(last.parse().ok()?)..size,
        first => {
            let last = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
            first.parse().ok()?..last.saturating_add(1).min(size)
        }
    };
    (found.start < found.end).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_a_header() {
        assert_eq!(part("bytes=5-9", 100), Some(5..10));
        assert_eq!(part("bytes=-9", 100), Some(91..100));
        assert_eq!(part("bytes=95-", 100), Some(95..100));
        assert_eq!(part("bytes=100-", 100), None);
        assert_eq!(part("lines=1-2", 100), None);
    }

    #[test]
    fn requests_are_answered_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), b"0123456789").unwrap();
        let settings =
            Settings { folder: folder.path().to_path_buf(), delay: Duration::from_millis(20), rate: 1 << 30 };
        let server = start(settings).unwrap();
        let host = server.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let ask = |path: &str, range: &str| {
            let mut connection = TcpStream::connect(&host).unwrap();
            write!(connection, "GET {path} HTTP/1.1\r\nRange: {range}\r\n\r\n").unwrap();
            connection.shutdown(std::net::Shutdown::Write).unwrap();
            let mut text = String::new();
            connection.read_to_string(&mut text).unwrap();
            text
        };
        assert!(ask("/b", "bytes=0-1").starts_with("HTTP/1.1 404"));
        ask("/_clear", "");
        std::thread::scope(|scope| {
            let first = scope.spawn(|| ask("/a", "bytes=2-4"));
            let second = scope.spawn(|| ask("/a", "bytes=-2"));
            assert!(first.join().unwrap().ends_with("Content-Range: bytes 2-4/10\r\n\r\n234"));
            assert!(second.join().unwrap().ends_with("\r\n\r\n89"));
        });
        assert!(ask("/a", "").ends_with("\r\n\r\n0123456789"));
        assert!(ask("/_log", "").ends_with("\r\n\r\n3 2 15"));
        ask("/_keep?it", "");
        let kept = server.kept("it");
        assert_eq!(kept.iter().map(|request| request.bytes.end - request.bytes.start).sum::<u64>(), 15);
        assert!(kept.iter().all(|request| request.time.end - request.time.start >= 20.0));
        ask("/_clear", "");
        assert!(ask("/_log", "").ends_with("\r\n\r\n0 0 0"));
    }
}
