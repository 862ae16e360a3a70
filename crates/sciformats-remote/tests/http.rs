//! What becomes of everything that a server may do.

mod support;

use std::time::{Duration, Instant};

use sciformats_core::storage::{PlanOptions, Purpose};
use sciformats_core::{Error, ReadAt};
use sciformats_remote::index::Index;
use sciformats_remote::{Remote, RemoteOptions, open};
use support::{Fault, SIZE, Server, bytes, read};

/// Short waits, and ends that are a small part of the file.
fn options() -> RemoteOptions {
    RemoteOptions::default()
        .with_timeout(Duration::from_millis(300))
        .with_retries(3, Duration::from_millis(1))
        .with_ends(1000, 500)
}

#[test]
fn a_file_opens_with_its_ends_and_every_request_asks_for_its_version() {
    let server = Server::new(bytes());
    let file = open(&server.url("/run.h5?signature=secret"), &options()).unwrap();
    assert_eq!(file.size(), SIZE as u64);
    assert_eq!(server.seen().len(), 2);
    assert_eq!(*file.read_at(SIZE as u64 - 100, 100).unwrap(), bytes()[SIZE - 100..]);
    assert_eq!(server.seen().len(), 0);
    let chunks = [100_000..100_100, 200_000..200_100];
    file.prefetch(&chunks, Purpose::Elements).unwrap();
    for chunk in chunks {
        assert_eq!(
            *file.read_at(chunk.start, 100).unwrap(),
            bytes()[chunk.start as usize..chunk.end as usize]
        );
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    for request in &seen {
        assert_eq!(request.header("If-Match"), Some("\"v1\""));
        assert_eq!(request.header("Accept-Encoding"), Some("identity"));
        assert_eq!(request.path, "/run.h5?signature=secret");
    }
    assert_eq!((file.statistics().requests, file.statistics().batches), (4, 2));
    // Replaced on the server, it is an error, and no mixture.
    *server.shared.etag.lock().unwrap() = Some("\"v2\"".into());
    let error = file.read_at(150_000, 10).unwrap_err().to_string();
    assert!(error.contains("was replaced on the server") && error.contains("/run.h5"), "{error}");
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn small_empty_and_absent_files() {
    let server = Server::new(b"tiny".to_vec());
    let file = open(&server.url("/"), &options()).unwrap();
    assert_eq!(*file.read_at(0, 4).unwrap(), *b"tiny");
    assert!(file.read_at(2, 3).is_err());
    let server = Server::new(Vec::new());
    assert_eq!(open(&server.url("/"), &options()).unwrap().size(), 0);
    server.set([Fault::Status(404, None), Fault::Status(404, None)]);
    let error = open(&server.url("/absent.h5"), &options()).unwrap_err();
    assert!(
        error.to_string().ends_with("/absent.h5 at offset 0x0: the server has no such file (status 404)"),
        "{error}"
    );
    let error = open("http://127.0.0.1:1/x", &options()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
}

/// Which faults pass when a request is made again.
fn passes(fault: &Fault) -> bool {
    match fault {
        Fault::None | Fault::Drop | Fault::Garbage | Fault::Cut(_) | Fault::Stall(_) | Fault::Silence => true,
        Fault::Longer | Fault::Star => true,
        Fault::Status(code, _) => matches!(code, 408 | 429 | 500 | 502 | 503 | 504),
        _ => false,
    }
}

fn faults() -> Vec<Fault> {
    let mut all = vec![
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
    all.extend([0, 1, 50].map(Fault::Cut));
    all.extend([0, 50].map(Fault::Stall));
    all.extend(
        [400, 401, 403, 404, 408, 410, 412, 416, 418, 429, 500, 502, 503, 504]
            .map(|code| Fault::Status(code, None)),
    );
    all.push(Fault::Status(503, Some(0)));
    all
}

#[test]
fn each_fault_in_each_operation_is_right_data_or_a_named_error() {
    for fault in faults() {
        let server = Server::new(bytes());
        // While the front is fetched: the end has a request of its own, whose fault does not matter.
        server.set([fault.clone(), fault.clone()]);
        let started = Instant::now();
        match open(&server.url("/f"), &options()) {
            Ok(file) => {
                server.set([]);
                // Whoever lies in the same way twice has told of another file.
                assert!(
                    read(&file).is_ok() || matches!(fault, Fault::Replaced | Fault::Resized),
                    "{fault:?}"
                );
            }
            Err(error) => {
                assert!(!passes(&fault), "{fault:?}: {error}");
                assert!(matches!(error, Error::Io { .. }), "{fault:?}: {error}");
            }
        }
        let file = open(&server.url("/f"), &options());
        server.set([]);
        let Ok(file) = file.or_else(|_| open(&server.url("/f"), &options())) else {
            panic!("{fault:?} stays")
        };
        // In the first, second, and so on request of the reads.
        for before in 0..4 {
            let file = file.clone();
            server.set(std::iter::repeat_n(Fault::None, before).chain([fault.clone()]));
            match read(&file) {
                Ok(()) => {}
                Err(error) => {
                    assert!(!passes(&fault), "{fault:?}: {error}");
                    assert!(matches!(error, Error::Io { offset: Some(_), .. }), "{fault:?}: {error}");
                }
            }
        }
        server.set([]);
        read(&file).unwrap();
        assert!(started.elapsed() < Duration::from_secs(10), "{fault:?} took {:?}", started.elapsed());
    }
}

#[test]
fn what_fails_for_good_fails_in_time() {
    let server = Server::new(bytes());
    let file = open(&server.url("/f"), &options()).unwrap();
    for fault in [
        Fault::Drop,
        Fault::Silence,
        Fault::Stall(10),
        Fault::Status(503, None),
        Fault::Status(503, Some(3600)),
    ] {
        server.set(std::iter::repeat_n(fault.clone(), 500));
        let started = Instant::now();
        let error = file.read_at(150_000, 10).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        // Four tries of 0.3 s.
        assert!(started.elapsed() < Duration::from_secs(3), "{fault:?} took {:?}", started.elapsed());
    }
}

#[test]
fn a_body_that_breaks_goes_on_where_it_broke() {
    let server = Server::new(bytes());
    let file = open(&server.url("/f"), &options()).unwrap();
    server.seen();
    server.set([Fault::Cut(1000), Fault::Status(503, None), Fault::Cut(3000)]);
    let mut long = vec![0; 270_000];
    file.read_into(5, &mut long).unwrap();
    assert_eq!(long, bytes()[5..270_005]);
    let starts: Vec<_> = server.seen().iter().map(|seen| seen.header("Range").unwrap().to_owned()).collect();
    let expected = [5, 1005, 1005, 4005].map(|start| format!("bytes={start}-270004"));
    assert_eq!(starts, expected);
    assert_eq!(file.repeated(), 3);
}

#[test]
fn ends_that_break_go_on_where_they_broke() {
    let server = Server::new(bytes());
    server.set([Fault::Cut(50), Fault::Cut(50)]);
    let file = open(&server.url("/f"), &options()).unwrap();
    assert_eq!(server.seen().len(), 4);
    assert_eq!(*file.read_at(SIZE as u64 - 500, 500).unwrap(), bytes()[SIZE - 500..]);
    assert!(server.seen().is_empty());
}

#[test]
fn a_file_that_changes_while_its_front_comes_is_not_mixed() {
    let server = Server::new(bytes());
    // Nothing but its size tells the versions of this file apart.
    *server.shared.etag.lock().unwrap() = None;
    server.set([Fault::Cut(50), Fault::Resized]);
    let error = open(&server.url("/f"), &options().with_ends(1 << 20, 0)).unwrap_err().to_string();
    assert!(error.contains("was replaced"), "{error}");
}

#[test]
fn ten_thousand_schedules_of_faults() {
    // Those that wait take too long for so many.
    let quick: Vec<Fault> =
        faults().into_iter().filter(|fault| !matches!(fault, Fault::Silence | Fault::Stall(_))).collect();
    let server = Server::new(bytes());
    let options = options().with_retries(3, Duration::from_micros(50));
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let (mut right, mut refused) = (0, 0);
    for schedule in 0..10_000 {
        let often = 2 + random(6);
        let faults: Vec<Fault> = (0..14)
            .map(|_| if random(often) == 0 { quick[random(quick.len())].clone() } else { Fault::None })
            .collect();
        let only_passing = faults.iter().all(passes);
        server.set(faults.clone());
        match open(&server.url("/f"), &options).and_then(|file| read(&file)) {
            Ok(()) => right += 1,
            Err(error) => {
                assert!(matches!(error, Error::Io { .. }), "schedule {schedule}: {error}");
                // Four failures in a row are given up on, also where each of them passes.
                let row = faults.windows(4).any(|row| row.iter().all(|fault| *fault != Fault::None));
                assert!(
                    !only_passing || row || faults.iter().filter(|f| **f != Fault::None).count() > 3,
                    "schedule {schedule}: {error} {faults:?}"
                );
                refused += 1;
            }
        }
    }
    assert!(right > 1000 && refused > 1000, "{right} right, {refused} refused");
}

#[test]
fn redirects_are_followed_kept_and_asked_for_again() {
    let store = Server::new(bytes());
    let front = Server::new(Vec::new());
    front.set(std::iter::repeat_n(Fault::Redirect(store.url("/signed?key=1")), 100));
    let plan = PlanOptions::default().with_window(0); // so that not all of it is kept
    let options = options().with_header("Authorization", "Bearer secret").with_ends(1000, 0).with_plan(plan);
    let file = open(&front.url("/public/f.h5"), &options).unwrap();
    assert_eq!(front.seen()[0].header("Authorization"), Some("Bearer secret"));
    read(&file).unwrap();
    // The other host has seen no credentials, and the first one no further request.
    assert!(front.seen().is_empty());
    assert!(
        store
            .seen()
            .iter()
            .all(|seen| seen.header("Authorization").is_none() && seen.path == "/signed?key=1")
    );
    // When the place has expired, the way to it is asked for again. Of expired credentials, S3 says that the request is wrong.
    for (key, status) in [(1, 403), (2, 400)] {
        let expired = (format!("/signed?key={key}"), Fault::Status(status, None));
        store.shared.paths.lock().unwrap().push(expired);
        front.set(std::iter::repeat_n(Fault::Redirect(store.url(&format!("/signed?key={}", key + 1))), 100));
        read(&file).unwrap();
        assert_eq!(front.seen()[0].header("Cookie"), Some("session=7"));
    }
    front.set(std::iter::repeat_n(Fault::Redirect("/again".into()), 100));
    let error = open(&front.url("/f"), &options).unwrap_err().to_string();
    assert!(error.contains("redirects too often"), "{error}");
}

#[test]
#[cfg(any(feature = "tls", feature = "tls-ring"))]
fn certificates_that_are_none_are_refused() {
    let server = Server::new(bytes());
    // A redirect may lead to an encrypted URL, for which Mozilla's certificates would be trusted instead.
    let error = open(&server.url("/f"), &options().with_certificates("no certificate")).unwrap_err();
    assert!(matches!(error, Error::Usage { .. }), "{error}");
    assert!(server.seen().is_empty());
}

#[test]
fn servers_that_know_no_ranges() {
    let server = Server::new(bytes());
    server.shared.paths.lock().unwrap().push(("/".into(), Fault::Whole));
    let file = open(&server.url("/f"), &options()).unwrap();
    let requests = server.seen().len();
    read(&file).unwrap();
    assert_eq!((server.seen().len(), requests), (0, 2));
    let mut small = options();
    small.whole = 1000;
    let error = open(&server.url("/f"), &small).unwrap_err().to_string();
    assert!(error.contains("does not support ranges, and the file of 300000 bytes is too large"), "{error}");
    // A server that does not say how long the file is says where it ends.
    let server = Server::new(bytes());
    server.shared.paths.lock().unwrap().push(("/".into(), Fault::Pieces));
    let file = open(&server.url("/f"), &options()).unwrap();
    assert_eq!(file.size(), SIZE as u64);
    read(&file).unwrap();
    let error = open(&server.url("/f"), &small).unwrap_err().to_string();
    assert!(error.contains("a file of more than 1000 bytes is too large"), "{error}");
}

#[test]
fn what_a_url_cannot_contain_is_encoded() {
    let store = Server::new(bytes());
    let front = Server::new(Vec::new());
    front.set(std::iter::repeat_n(Fault::Redirect(store.url("/a file\u{fc}?key=a b")), 10));
    read(&open(&front.url("/f"), &options()).unwrap()).unwrap();
    assert!(store.seen().iter().all(|seen| seen.path == "/a%20file%C3%BC?key=a%20b"));
    read(&open(&store.url("/gr\u{f6}\u{df}e/{a}.h5"), &options()).unwrap()).unwrap();
    assert!(store.seen().iter().all(|seen| seen.path == "/gr%C3%B6%C3%9Fe/%7Ba%7D.h5"));
}

#[test]
fn twelve_redirects_are_followed() {
    for (redirects, followed) in [(12, true), (13, false)] {
        let server = Server::new(bytes());
        let to = |number: usize| Fault::Redirect(format!("../{number}/f"));
        server.set((1..=redirects).map(to));
        let opened = open(&server.url("/0/f"), &options().with_ends(1000, 0));
        assert_eq!(opened.is_ok(), followed, "{redirects} redirects");
        assert_eq!(server.seen().last().unwrap().path, "/12/f");
    }
}

#[test]
fn a_size_that_is_not_told_is_found() {
    let server = Server::new(bytes());
    server.shared.paths.lock().unwrap().push(("/".into(), Fault::Star));
    let file = open(&server.url("/f"), &options()).unwrap();
    assert_eq!(file.size(), SIZE as u64);
    read(&file).unwrap();
    let error = open(&server.url("/f"), &options().with_ends(1000, 0)).unwrap_err().to_string();
    assert!(error.contains("does not say how large"), "{error}");
}

#[test]
fn an_index_opens_without_a_request() {
    let server = Server::new(bytes());
    let file = open(&server.url("/f"), &options()).unwrap();
    file.record();
    file.read_at(10, 20).unwrap();
    file.read_at(200_000, 100).unwrap();
    // Of a structure that is announced as a whole, only a part may be read.
    let node = std::slice::from_ref(&(100_000..100_500));
    file.prefetch(node, Purpose::Structure).unwrap();
    file.read_at(100_000, 24).unwrap();
    let index = Index::parse(&file.index().unwrap().encode().unwrap()).unwrap();
    assert_eq!(index.version, file.version());
    server.seen();
    let file = Remote::with_index(&server.url("/f"), index.clone(), &options()).unwrap();
    assert_eq!(*file.read_at(10, 20).unwrap(), bytes()[10..30]);
    assert_eq!(*file.read_at(200_010, 90).unwrap(), bytes()[200_010..200_100]);
    file.prefetch(node, Purpose::Structure).unwrap();
    assert!(server.seen().is_empty());
    read(&file).unwrap();
    // Of a file that was replaced it says nothing.
    *server.shared.etag.lock().unwrap() = Some("\"v2\"".into());
    let file = Remote::with_index(&server.url("/f"), index, &options()).unwrap();
    let error = read(&file).unwrap_err().to_string();
    assert!(error.contains("was replaced"), "{error}");
}

#[test]
fn an_index_belongs_to_one_file() {
    let server = Server::new(bytes());
    let file = open(&server.url("/f"), &options()).unwrap();
    file.record();
    file.read_at(10, 20).unwrap();
    let index = file.index().unwrap();
    assert_eq!(index.url.as_deref(), Some(server.url("/f").as_str()));
    server.seen();
    // Another URL and a query are compared with the index; here they lead to the same file.
    for url in ["/g", "/f?key=1"] {
        let file = Remote::with_index(&server.url(url), index.clone(), &options()).unwrap();
        assert_eq!(*file.read_at(10, 20).unwrap(), bytes()[10..30]);
        assert!(!server.seen().is_empty());
    }
    let mut others = bytes();
    others[15] ^= 1;
    for other in [others, vec![7; SIZE - 1]] {
        let server = Server::new(other);
        let error = Remote::with_index(&server.url("/f"), index.clone(), &options()).unwrap_err();
        assert!(error.to_string().contains("belongs to another file"), "{error}");
    }
}

#[test]
fn a_hundred_threads_share_the_connections() {
    let server = Server::with_delay(bytes(), Duration::from_millis(5));
    let file = open(&server.url("/f"), &options().with_connections(8)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..100u64 {
            let file = &file;
            scope.spawn(move || {
                let range = thread * 2900..thread * 2900 + 2000;
                file.prefetch(std::slice::from_ref(&range), Purpose::Elements).unwrap();
                let found = file.read_at(range.start, 2000).unwrap();
                assert_eq!(*found, bytes()[range.start as usize..range.end as usize]);
            });
        }
    });
}

#[test]
fn a_file_of_a_terabyte_opens_at_once() {
    let server =
        Server::of(1 << 40, Duration::from_millis(60), |range| vec![7; (range.end - range.start) as usize]);
    let started = Instant::now();
    let file = open(&server.url("/large"), &RemoteOptions::default()).unwrap();
    assert_eq!(*file.read_at((1 << 40) - 8, 8).unwrap(), [7; 8]);
    assert!(started.elapsed() < Duration::from_millis(500), "{:?}", started.elapsed());
}

#[test]
fn what_a_cache_has_is_no_request() {
    let (server, folder) = (Server::new(bytes()), tempfile::tempdir().unwrap());
    let plan = PlanOptions::default().with_window(0); // so that not all of it is kept in memory
    let options = options().with_cache(folder.path(), 1 << 30).with_ends(1000, 0).with_plan(plan);
    let cost = || {
        let file = open(&server.url("/f"), &options).unwrap();
        read(&file).unwrap();
        let told = file.statistics();
        assert_eq!(told.requests, server.seen().len() as u64);
        assert!(told.unread <= told.bytes, "{told:?}");
        told.bytes
    };
    let first = cost();
    assert!(cost() < first / 2);
}
