//! As much of HTTP/1.1 as a browser on the same machine needs: `GET` and `HEAD`, one range, connections that stay.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

use sciformats_core::bound;

use super::Site;

/// The longest line and the longest head of a request.
const LINE: u64 = 8 << 10;
const LINES: usize = 100;

/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(60);

const PIECE: u64 = 256 << 10;

/// What every answer says: the page runs its own code only, and talks to this server only.
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
     img-src 'self' blob: data:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'\r\n\
     X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
     Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\n";

/// The head of a request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    method: String,
    target: String,
    host: Option<String>,
    range: Option<String>,
    matches: Option<String>,
    if_range: Option<String>,
    origin: Option<String>,
    closes: bool,
    /// Whether a body follows, which no request of a browser for this site has.
    has_body: bool,
}

/// Answers the requests of a connection until it is closed.
pub(super) fn converse(site: &Site, stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut out = stream;
    loop {
        let head = match read_head(&mut reader)? {
            Read1::End => return Ok(()),
            Read1::Wrong => return plain(&mut out, 400, "the request is malformed", false),
            Read1::Head(head) => head,
        };
        let closes = head.closes || head.has_body;
        answer(site, &head, &mut out)?;
        if closes {
            return Ok(());
        }
    }
}

/// What comes next on a connection.
#[derive(Debug, PartialEq, Eq)]
enum Read1 {
    End,
    Wrong,
    Head(Head),
}

fn read_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    reader.by_ref().take(LINE).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Ok(None);
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(String::from_utf8(line).ok())
}

fn read_head(reader: &mut impl BufRead) -> io::Result<Read1> {
    if reader.fill_buf()?.is_empty() {
        return Ok(Read1::End);
    }
    let Some(first) = read_line(reader)? else { return Ok(Read1::Wrong) };
    let mut words = first.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Ok(Read1::Wrong);
    };
    if version != "HTTP/1.1" && version != "HTTP/1.0" {
        return Ok(Read1::Wrong);
    }
    let mut head = Head {
        method: method.into(),
        target: target.into(),
        closes: version == "HTTP/1.0",
        ..Head::default()
    };
    for _ in 0..LINES {
        let Some(line) = read_line(reader)? else { return Ok(Read1::Wrong) };
        if line.is_empty() {
            return Ok(Read1::Head(head));
        }
        let Some((name, value)) = line.split_once(':') else { return Ok(Read1::Wrong) };
        let value = value.trim().to_owned();
        match name.to_ascii_lowercase().as_str() {
            "host" => head.host = Some(value),
            "range" => head.range = Some(value),
            "if-match" => head.matches = Some(value),
            "if-range" => head.if_range = Some(value),
            "origin" => head.origin = Some(value),
            "connection" => head.closes |= value.eq_ignore_ascii_case("close"),
            "content-length" => head.has_body |= value != "0",
            "transfer-encoding" => head.has_body = true,
            _ => {}
        }
    }
    Ok(Read1::Wrong)
}

/// The names under which clients know this server.
fn own_names(port: u16) -> Vec<String> {
    let hosts = ["127.0.0.1", "localhost"];
    let mut names: Vec<String> = hosts.iter().map(|host| format!("{host}:{port}")).collect();
    if port == 80 {
        // Clients leave out the usual port.
        names.extend(hosts.map(str::to_owned));
    }
    names
}

fn answer(site: &Site, head: &Head, out: &mut impl Write) -> io::Result<()> {
    let only_head = head.method == "HEAD";
    // A page of another name that resolves to this machine does not know the token, and is refused anyhow.
    let names = own_names(site.port);
    if !head.host.as_ref().is_some_and(|host| names.contains(host)) {
        return plain(out, 403, "this server answers on 127.0.0.1 only", only_head);
    }
    let foreign = |origin: &String| !names.iter().any(|name| *origin == format!("http://{name}"));
    if head.origin.as_ref().is_some_and(foreign) {
        return plain(out, 403, "this server answers its own page only", only_head);
    }
    if head.method != "GET" && !only_head {
        return plain(out, 405, "only GET and HEAD are known", false);
    }
    let (path, query) = head.target.split_once('?').unwrap_or((&head.target, ""));
    let Some(rest) = path.strip_prefix('/').and_then(|path| path.strip_prefix(site.token.as_str())) else {
        return plain(out, 404, "there is nothing at this address", only_head);
    };
    let Some(name) = rest.strip_prefix('/') else {
        return plain(out, 404, "the address ends with a slash", only_head);
    };
    let Some(name) = decoded(name) else {
        return plain(out, 400, "the address is not UTF-8", only_head);
    };
    match name.strip_prefix("files/") {
        Some("") if query == "list" => {
            let list = site.files.list();
            whole(out, "application/json", list.as_bytes(), only_head)
        }
        Some(name) => match site.files.open(name) {
            Some(file) => send(out, head, file),
            None => plain(out, 404, "there is no such file in the folder", only_head),
        },
        None => match site.page.part(&name) {
            Some((bytes, kind)) => whole(out, kind, &bytes, only_head),
            None => plain(out, 404, "there is nothing at this address", only_head),
        },
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        412 => "Precondition Failed",
        416 => "Range Not Satisfiable",
        _ => "Error",
    }
}

fn begin(out: &mut impl Write, status: u16, kind: &str, length: u64, more: &str) -> io::Result<()> {
    let text = format!(
        "HTTP/1.1 {status} {}\r\n{HEADERS}Content-Type: {kind}\r\nContent-Length: {length}\r\n{more}\r\n",
        reason(status)
    );
    out.write_all(text.as_bytes())
}

fn plain(out: &mut impl Write, status: u16, text: &str, only_head: bool) -> io::Result<()> {
    let more = if status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    begin(out, status, "text/plain; charset=utf-8", text.len() as u64, more)?;
    if only_head { Ok(()) } else { out.write_all(text.as_bytes()) }
}

fn whole(out: &mut impl Write, kind: &str, bytes: &[u8], only_head: bool) -> io::Result<()> {
    begin(out, 200, kind, bytes.len() as u64, "")?;
    if only_head { Ok(()) } else { out.write_all(bytes) }
}

/// Sends a file, or the range of it that is requested.
fn send(out: &mut impl Write, head: &Head, mut file: File) -> io::Result<()> {
    let only_head = head.method == "HEAD";
    let about = file.metadata()?;
    let size = about.len();
    let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    // A file that changes gets another tag, so that parts of two versions are never put together.
    let tag = format!("\"{size:x}-{:x}\"", changed.map_or(0, |time| time.as_nanos()));
    if head.matches.as_ref().is_some_and(|tags| tags != "*" && !tags.split(',').any(|one| one.trim() == tag))
    {
        return plain(out, 412, "the file was replaced", only_head);
    }
    let asked = head.range.as_deref().filter(|_| head.if_range.as_ref().is_none_or(|one| *one == tag));
    let more = format!("ETag: {tag}\r\nAccept-Ranges: bytes\r\n");
    let (range, status, more) = match asked.map(|text| range(text, size)) {
        None | Some(Asked::Whole) => (0..size, 200, more),
        Some(Asked::Nothing) => {
            let more = format!("{more}Content-Range: bytes */{size}\r\n");
            return begin(out, 416, "application/octet-stream", 0, &more);
        }
        Some(Asked::Part(range)) => {
            let last = range.end - 1;
            let more = format!("{more}Content-Range: bytes {}-{last}/{size}\r\n", range.start);
            (range, 206, more)
        }
    };
    let length = range.end - range.start;
    begin(out, status, "application/octet-stream", length, &more)?;
    if only_head {
        return Ok(());
    }
    file.seek(SeekFrom::Start(range.start))?;
    let mut left = length;
    let mut piece = vec![0; usize::try_from(length.min(PIECE)).unwrap_or(1)];
    while left > 0 {
        let wanted = usize::try_from(left.min(PIECE)).unwrap_or(1);
        let Some(place) = piece.get_mut(..wanted) else { break };
        // A file that became shorter ends the connection, because the length was promised.
        file.read_exact(place)?;
        out.write_all(place)?;
        left -= wanted as u64;
    }
    Ok(())
}

/// What a `Range` header asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// Several ranges, other units, and what cannot be understood: the whole file.
    Whole,
    /// A range that the file does not have.
    Nothing,
    Part(Range<u64>),
}

fn range(text: &str, size: u64) -> Asked {
    let Some((first, last)) = text.strip_prefix("bytes=").and_then(|text| text.split_once('-')) else {
        return Asked::Whole;
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX); // a bound: more than any file has
    let (start, end) = match (first.trim(), last.trim()) {
        ("", last) if digits(last) => (bound::left(size, number(last)), size),
        (first, "") if digits(first) => (number(first), size),
        (first, last) if digits(first) && digits(last) => {
            let end = bound::sum(number(last), 1).min(size);
            if number(last) < number(first) {
                return Asked::Whole;
            }
            (number(first), end)
        }
        _ => return Asked::Whole,
    };
    if start < end { Asked::Part(start..end) } else { Asked::Nothing }
}

/// Returns a part of an address without its percent signs; `None` if it is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let code = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
            bytes.push(u8::try_from(code).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Returns a name as an address contains it.
pub(super) fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_as_the_standard_defines_them() {
        for (text, expected) in [
            ("bytes=0-4", Asked::Part(0..5)),
            ("bytes=90-", Asked::Part(90..100)),
            ("bytes=-10", Asked::Part(90..100)),
            ("bytes=-1000", Asked::Part(0..100)),
            ("bytes=50-1000", Asked::Part(50..100)),
            ("bytes=0-99999999999999999999999", Asked::Part(0..100)),
            ("bytes=100-", Asked::Nothing),
            ("bytes=-0", Asked::Nothing),
            ("bytes=99999999999999999999999-", Asked::Nothing),
            ("bytes=5-4", Asked::Whole),
            ("bytes=0-1,5-6", Asked::Whole),
            ("bytes=a-b", Asked::Whole),
            ("bytes=+1-2", Asked::Whole),
            ("items=0-4", Asked::Whole),
        ] {
            assert_eq!(range(text, 100), expected, "{text}");
        }
        assert_eq!(range("bytes=0-", 0), Asked::Nothing);
    }

    #[test]
    fn the_usual_port_may_be_left_out() {
        assert!(own_names(80).contains(&"localhost".to_owned()));
        assert_eq!(own_names(8080), ["127.0.0.1:8080", "localhost:8080"]);
    }

    #[test]
    fn names_and_back() {
        for name in ["run 1.h5", "ä/µ%20.npy", "a?b#c.h5"] {
            assert_eq!(decoded(&encoded(name)).as_deref(), Some(name));
            assert!(!encoded(name).contains([' ', '?', '#']));
        }
        assert_eq!(decoded("%ff"), None);
        assert_eq!(decoded("%4"), None);
        assert_eq!(decoded("%zz"), None);
    }

    #[test]
    fn heads_are_read_and_bounded() {
        let read = |text: &[u8]| read_head(&mut &*text).unwrap();
        let Read1::Head(head) = read(b"GET /a HTTP/1.1\r\nHost: x\r\nRange: bytes=0-1\r\n\r\n") else {
            panic!()
        };
        assert_eq!(
            (head.method.as_str(), head.target.as_str(), head.host.as_deref()),
            ("GET", "/a", Some("x"))
        );
        assert_eq!(read(b""), Read1::End);
        let long = [b"GET /".to_vec(), vec![b'a'; 20_000], b" HTTP/1.1\r\n\r\n".to_vec()].concat();
        let many = [b"GET / HTTP/1.1\r\n".to_vec(), b"a: b\r\n".repeat(200), b"\r\n".to_vec()].concat();
        for text in [
            &b"GET\r\n\r\n"[..],
            b"GET / HTTP/3\r\n\r\n",
            b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
            b"GET / HTTP/1.1\r\n",
            &long,
            &many,
        ] {
            assert_eq!(read(text), Read1::Wrong);
        }
    }
}
