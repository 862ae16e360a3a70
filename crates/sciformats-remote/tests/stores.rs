//! Files in an object store: signed requests, the version that was opened, and faults of the store.

mod support;

use std::time::{Duration, Instant};

use sciformats_core::{Error, ReadAt};
use sciformats_remote::{Remote, RemoteOptions, open};
use support::{Fault, SIZE, Server, bytes, read};

const SECRET: &str = "wJalrXUtnFEMI/EXAMPLEKEY";
const ADDRESS: &str = "s3://bucket/a folder/run.h5";

/// Short waits, ends that are a small part of the file, and credentials for the server.
fn options(server: &Server) -> RemoteOptions {
    RemoteOptions::default()
        .with_timeout(Duration::from_millis(300))
        .with_retries(3, Duration::from_millis(1))
        .with_ends(1000, 500)
        .with_setting("AWS_ENDPOINT_URL", server.url(""))
        .with_setting("AWS_ALLOW_HTTP", "true")
        .with_setting("AWS_REGION", "us-east-1")
        .with_setting("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
        .with_setting("AWS_SECRET_ACCESS_KEY", SECRET)
}

#[test]
fn requests_are_signed_and_ask_for_the_version_that_was_opened() {
    let server = Server::new(bytes());
    let options = options(&server);
    assert!(!format!("{options:?}").contains(SECRET));
    let file = open(ADDRESS, &options).unwrap();
    assert_eq!((file.size(), file.name().as_str()), (SIZE as u64, ADDRESS));
    assert_eq!(server.seen().len(), 2);
    assert_eq!(*file.read_at(SIZE as u64 - 100, 100).unwrap(), bytes()[SIZE - 100..]);
    assert_eq!(server.seen().len(), 0);
    assert_eq!(*file.read_at(150_000, 10).unwrap(), bytes()[150_000..150_010]);
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].path, "/bucket/a%20folder/run.h5");
    assert_eq!(seen[0].header("If-Match"), Some("\"v1\""));
    assert_eq!(seen[0].header("Accept-Encoding"), Some("identity"));
    let signature = seen[0].header("Authorization").unwrap();
    assert!(signature.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), "{signature}");
    assert!(!format!("{seen:?}").contains(SECRET));
    // A store that replaces the file causes an error, whose text contains neither the key nor a signature.
    *server.shared.etag.lock().unwrap() = Some("\"v2\"".into());
    file.record();
    let file = Remote::with_index(ADDRESS, file.index().unwrap(), &options).unwrap();
    let error = file.read_at(250_000, 10).unwrap_err().to_string();
    assert!(error.contains("was replaced on the server") && error.contains(ADDRESS), "{error}");
}

#[test]
fn small_absent_and_refused_files() {
    let server = Server::new(b"tiny".to_vec());
    let file = open(ADDRESS, &options(&server)).unwrap();
    assert_eq!(*file.read_at(0, 4).unwrap(), *b"tiny");
    assert!(file.read_at(2, 3).is_err());
    for (status, text) in [
        (404, "the store has no such file"),
        (403, "the store refuses access with these credentials"),
        (401, "the store does not accept the credentials"),
        (503, "the server is busy (status 503)"),
    ] {
        server.set(std::iter::repeat_n(Fault::Status(status, None), 20));
        let error = open(ADDRESS, &options(&server)).unwrap_err().to_string();
        assert!(error.contains(text) && error.contains(ADDRESS), "{status}: {error}");
        assert!(!error.contains(SECRET) && !error.contains("AKID"), "{error}");
        server.set([]);
    }
}

#[test]
fn each_fault_is_right_data_or_a_named_error() {
    let mut faults = vec![
        Fault::Drop,
        Fault::Garbage,
        Fault::Silence,
        Fault::Whole,
        Fault::Shifted,
        Fault::Longer,
        Fault::Resized,
        Fault::Replaced,
        Fault::Encoded,
        Fault::Star,
        Fault::Unnamed,
        Fault::Redirect("gopher://elsewhere/".into()),
    ];
    faults.extend([0, 50].map(Fault::Cut));
    faults.push(Fault::Stall(50));
    faults.extend([400, 408, 412, 416, 429, 500, 502, 503, 504].map(|code| Fault::Status(code, None)));
    for fault in faults {
        let server = Server::new(bytes());
        let options = options(&server);
        let started = Instant::now();
        for before in 0..3 {
            let file = open(ADDRESS, &options).unwrap();
            server.set(std::iter::repeat_n(Fault::None, before).chain([fault.clone()]));
            if let Err(error) = read(&file) {
                let named = matches!(error, Error::Io { path: Some(_), .. });
                assert!(named && !error.to_string().contains(SECRET), "{fault:?}: {error}");
                let passing = matches!(
                    fault,
                    Fault::Drop | Fault::Cut(_) | Fault::Status(429 | 500 | 502 | 503 | 504, _)
                );
                assert!(!passing, "{fault:?}: {error}");
            }
            server.set([]);
            read(&open(ADDRESS, &options).unwrap()).unwrap();
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{fault:?} took {:?}", started.elapsed());
    }
}
