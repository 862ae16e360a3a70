//! Files are written into an object store as a whole or not at all, whatever the store does.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sciformats_core::Error;
use sciformats_remote::{Existing, RemoteOptions, exists, open, upload};

const ADDRESS: &str = "s3://bucket/a folder/run.h5";

/// What the store does with the parts of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The second attempt of each request succeeds.
    BusyOnce,
    /// It closes the connection in the middle of each first attempt.
    CutOnce,
    /// The third part is refused each time.
    RefuseThird,
    /// The third part always fails for the moment.
    BusyThird,
    /// The last request is refused.
    RefuseEnd,
    /// The last request is answered with the status of success and an error in its body.
    LieAtEnd,
    /// Somebody else writes the file while the third part is sent.
    OtherWriter,
    /// The request that makes the file is fulfilled, and its first answer is that of a gateway that was not answered in time.
    Gateway,
    /// The same, and the connection is closed instead of an answer.
    Silent,
    /// The same as `Gateway`, but somebody else writes a file of the same length instead.
    Overtaken,
}

#[derive(Default)]
struct Contents {
    objects: HashMap<String, Vec<u8>>,
    uploads: HashMap<String, BTreeMap<u32, Vec<u8>>>,
    /// Requests by their first line, each with the number of attempts.
    attempts: HashMap<String, usize>,
    lengths: Vec<usize>,
}

/// A store with the requests that writing needs.
struct Store {
    contents: Arc<Mutex<Contents>>,
    address: String,
}

impl Store {
    fn new(fault: Fault) -> Self {
        let contents = Arc::new(Mutex::new(Contents::default()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let kept = contents.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let contents = kept.clone();
                std::thread::spawn(move || while answer(&connection, &contents, fault).unwrap_or(false) {});
            }
        });
        Self { contents, address }
    }

    fn options(&self) -> RemoteOptions {
        RemoteOptions::default()
            .with_timeout(Duration::from_secs(5))
            .with_retries(3, Duration::from_millis(1))
            .with_setting("AWS_ENDPOINT_URL", &self.address)
            .with_setting("AWS_ALLOW_HTTP", "true")
            .with_setting("AWS_REGION", "us-east-1")
            .with_setting("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
            .with_setting("AWS_SECRET_ACCESS_KEY", "secret")
    }

    fn object(&self) -> Option<Vec<u8>> {
        self.contents.lock().unwrap().objects.get("/bucket/a%20folder/run.h5").cloned()
    }

    fn uploads(&self) -> usize {
        self.contents.lock().unwrap().uploads.len()
    }
}

fn answer(mut connection: &TcpStream, contents: &Mutex<Contents>, fault: Fault) -> std::io::Result<bool> {
    connection.set_nodelay(true)?;
    let mut input = BufReader::new(connection);
    let mut first = String::new();
    if input.read_line(&mut first)? == 0 {
        return Ok(false);
    }
    let (mut length, mut only_new, mut range) = (0, false, None);
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let line = line.trim().to_ascii_lowercase();
        match line.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            Some(("range", value)) => {
                let (first, last) = value.trim().strip_prefix("bytes=").unwrap().split_once('-').unwrap();
                range = Some((first.parse::<usize>().unwrap(), last.parse::<usize>().unwrap()));
            }
            Some(("if-none-match", value)) => only_new = value.trim() == "*",
            Some(_) => {}
            None => break,
        }
    }
    let mut words = first.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let part: Option<u32> = value("partNumber").map(|number| number.parse().unwrap());
    let first_try = {
        let mut contents = contents.lock().unwrap();
        let attempts = contents.attempts.entry(first.clone()).or_default();
        *attempts += 1;
        *attempts == 1
    };
    if fault == Fault::CutOnce && first_try && part.is_some() {
        input.by_ref().take(length as u64 / 2).read_to_end(&mut Vec::new())?;
        return Ok(false);
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    let mut say = |status: u16, headers: &str, text: &str| {
        write!(connection, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{headers}\r\n{text}", text.len())
    };
    let refused = match fault {
        Fault::BusyOnce if first_try => 503,
        Fault::RefuseThird if part == Some(3) => 403,
        Fault::BusyThird if part == Some(3) => 500,
        Fault::RefuseEnd if method == "POST" && query.starts_with("uploadId") => 403,
        _ => 0,
    };
    if refused > 0 {
        say(refused, "", "<Error><Code>X</Code><Message>m</Message></Error>")?;
        return Ok(true);
    }
    let mut contents = contents.lock().unwrap();
    let makes = part.is_none() && (method == "PUT" || method == "POST" && query.starts_with("uploadId"));
    if makes && first_try && matches!(fault, Fault::Gateway | Fault::Silent | Fault::Overtaken) {
        let parts = value("uploadId").and_then(|id| contents.uploads.remove(id));
        let mut object: Vec<u8> = parts.map_or(body, |parts| parts.into_values().flatten().collect());
        if fault == Fault::Overtaken {
            *object.last_mut().unwrap() ^= 1;
        }
        contents.objects.insert(path.into(), object);
        drop(contents);
        if fault == Fault::Silent {
            return Ok(false);
        }
        say(504, "", "")?;
        return Ok(true);
    }
    let tag = "ETag: \"1\"\r\n";
    match (method, value("uploadId"), part) {
        ("PUT", Some(id), Some(number)) => {
            contents.lengths.push(body.len());
            if fault == Fault::OtherWriter && number == 3 {
                contents.objects.insert(path.into(), b"of somebody else".to_vec());
            }
            contents.uploads.get_mut(id).unwrap().insert(number, body);
            say(200, tag, "")?;
        }
        ("PUT", ..) if only_new && contents.objects.contains_key(path) => {
            say(412, "", "<Error><Code>PreconditionFailed</Code><Message>m</Message></Error>")?;
        }
        ("PUT", ..) => {
            contents.objects.insert(path.into(), body);
            say(200, tag, "")?;
        }
        ("POST", None, _) => {
            let id = format!("u{}", contents.uploads.len());
            contents.uploads.insert(id.clone(), BTreeMap::new());
            let text = "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>k</Key><UploadId>";
            say(200, "", &format!("{text}{id}</UploadId></InitiateMultipartUploadResult>"))?;
        }
        ("POST", Some(_), _) if fault == Fault::LieAtEnd => {
            say(200, "", "<Error><Code>InternalError</Code><Message>m</Message></Error>")?;
        }
        ("POST", Some(id), _) if !contents.uploads.contains_key(id) => {
            say(404, "", "<Error><Code>NoSuchUpload</Code><Message>m</Message></Error>")?;
        }
        ("POST", Some(id), _) => {
            let parts = contents.uploads.remove(id).unwrap();
            let numbers: Vec<u32> = parts.keys().copied().collect();
            assert_eq!(numbers, (1..=parts.len() as u32).collect::<Vec<_>>());
            contents.objects.insert(path.into(), parts.into_values().flatten().collect());
            say(
                200,
                "",
                "<CompleteMultipartUploadResult><ETag>\"1\"</ETag></CompleteMultipartUploadResult>",
            )?;
        }
        ("DELETE", Some(id), _) => {
            contents.uploads.remove(id);
            say(204, "", "")?;
        }
        ("GET", ..) => {
            let object = &contents.objects[path];
            let (first, last) = range.unwrap();
            let bytes = &object[first..=last.min(object.len() - 1)];
            let (end, all, date) = (first + bytes.len() - 1, object.len(), "Wed, 21 Oct 2026 07:28:00 GMT");
            write!(
                connection,
                "HTTP/1.1 206 X\r\nContent-Length: {}\r\nContent-Range: bytes {first}-{end}/{all}\r\n{tag}Last-Modified: {date}\r\n\r\n",
                bytes.len()
            )?;
            connection.write_all(bytes)?;
        }
        ("HEAD", ..) => match contents.objects.get(path) {
            Some(object) => write!(
                connection,
                "HTTP/1.1 200 X\r\nContent-Length: {}\r\n{tag}Last-Modified: Wed, 21 Oct 2026 07:28:00 GMT\r\n\r\n",
                object.len()
            )?,
            None => write!(connection, "HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n")?,
        },
        _ => say(405, "", "")?,
    }
    Ok(true)
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i >> 3) ^ (i >> 12)) as u8).collect()
}

const LONG: usize = (37 << 20) + 5;

#[test]
fn short_and_long_files_arrive() {
    for fault in [Fault::None, Fault::BusyOnce, Fault::CutOnce] {
        let store = Store::new(fault);
        let options = store.options();
        assert!(!exists(ADDRESS, &options).unwrap());
        for len in [0, 1000, LONG] {
            upload(&bytes(len), ADDRESS, &options, Existing::Replaced).unwrap();
            assert!(store.object().unwrap() == bytes(len), "{fault:?} {len}");
        }
        let lengths = std::mem::take(&mut store.contents.lock().unwrap().lengths);
        assert_eq!(lengths.len(), 5, "{fault:?}");
        assert!(lengths.iter().filter(|&&length| length == 8 << 20).count() == 4);
        assert_eq!(store.uploads(), 0);
        // A file that exists stays, unless it is to be replaced.
        for len in [10, LONG] {
            let error = upload(&bytes(len), ADDRESS, &options, Existing::Refused).unwrap_err();
            assert!(
                error.to_string().contains("exists already") && error.to_string().contains(ADDRESS),
                "{error}"
            );
        }
        assert!(exists(ADDRESS, &options).unwrap());
        assert!(store.object().unwrap() == bytes(LONG));
    }
}

#[test]
fn an_upload_that_fails_leaves_what_was_there() {
    for fault in [Fault::RefuseThird, Fault::BusyThird, Fault::RefuseEnd, Fault::LieAtEnd] {
        let store = Store::new(fault);
        let options = store.options();
        upload(&b"before".to_vec(), ADDRESS, &options, Existing::Refused).unwrap();
        let error = upload(&bytes(LONG), ADDRESS, &options, Existing::Replaced).unwrap_err();
        assert!(matches!(error, Error::Io { path: Some(_), .. }), "{fault:?}: {error}");
        assert_eq!(store.object().unwrap(), b"before", "{fault:?}");
        assert_eq!(store.uploads(), 0, "{fault:?}");
    }
}

#[test]
fn what_somebody_else_wrote_meanwhile_is_not_replaced() {
    let store = Store::new(Fault::OtherWriter);
    let options = store.options();
    let error = upload(&bytes(LONG), ADDRESS, &options, Existing::Refused).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!((store.object().unwrap(), store.uploads()), (b"of somebody else".to_vec(), 0));
    upload(&bytes(LONG), ADDRESS, &options, Existing::Replaced).unwrap();
    assert!(store.object().unwrap() == bytes(LONG));
}

#[test]
fn a_file_whose_answer_was_lost_is_told_from_that_of_somebody_else() {
    for existing in [Existing::Refused, Existing::Replaced] {
        for len in [0, 1000, LONG] {
            for fault in [Fault::Gateway, Fault::Silent] {
                let store = Store::new(fault);
                upload(&bytes(len), ADDRESS, &store.options(), existing).unwrap();
                assert!(store.object().unwrap() == bytes(len), "{fault:?} {len}");
            }
        }
    }
    for len in [1000, LONG] {
        let store = Store::new(Fault::Overtaken);
        let error = upload(&bytes(len), ADDRESS, &store.options(), Existing::Refused).unwrap_err();
        assert!(matches!(error, Error::Io { path: Some(_), .. }), "{len}: {error}");
        assert!(store.object().unwrap() != bytes(len));
    }
    // Without a lost answer, an equal file is one that existed before.
    let store = Store::new(Fault::None);
    upload(&bytes(10), ADDRESS, &store.options(), Existing::Refused).unwrap();
    let error = upload(&bytes(10), ADDRESS, &store.options(), Existing::Refused).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
}

#[test]
fn other_places_are_refused() {
    let options = RemoteOptions::default();
    let error = upload(&b"x".to_vec(), "https://a.example/f.h5", &options, Existing::Replaced).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert!(open("s3://bucket", &options).is_err());
    assert!(upload(&b"x".to_vec(), "s3://bucket/", &options, Existing::Replaced).is_err());
}
