//! `serve` and `view --web`: what the server on the loopback interface answers, and what it refuses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use crate::common::Program;

/// A running server, which ends with the test.
struct Server {
    child: Child,
    port: u16,
    token: String,
    query: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut command = Program::at(folder).command();
        // No browser is started by tests.
        command.args(args).env("PATH", "").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let rest = line.trim().strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{line:?}"));
        let (port, rest) = rest.split_once('/').unwrap();
        let (token, query) = rest.split_once('/').unwrap();
        Self { child, port: port.parse().unwrap(), token: token.into(), query: query.into() }
    }

    fn raw(&self, text: &str) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(all[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_ascii_lowercase(), all[end..].to_vec())
    }

    fn get(&self, path: &str, headers: &str) -> (u16, String, Vec<u8>) {
        let host = format!("Host: 127.0.0.1:{}\r\n", self.port);
        self.raw(&format!("GET /{}/{path} HTTP/1.1\r\n{host}Connection: close\r\n{headers}\r\n", self.token))
    }
}

/// A folder with files, beside a secret, and a page.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (data, page) = (folder.path().join("data"), folder.path().join("page"));
    std::fs::create_dir_all(data.join("deep")).unwrap();
    std::fs::create_dir_all(page.join("sciformats")).unwrap();
    std::fs::write(folder.path().join("secret.npy"), "secret").unwrap();
    let bytes = sciformats::npy::to_bytes(&[100], &(0..100u8).collect::<Vec<_>>()).unwrap();
    std::fs::write(data.join("run 1.npy"), &bytes).unwrap();
    std::fs::write(data.join("deep/two.npy"), &bytes).unwrap();
    std::fs::write(page.join("index.html"), "<head><!-- served --></head>").unwrap();
    std::fs::write(page.join("sciformats/index.js"), "export {}").unwrap();
    folder
}

#[test]
fn files_and_ranges_of_them() {
    let folder = folder();
    let server = Server::start(folder.path(), &["serve", "data", "--page", "page"]);
    let (status, head, body) = server.get("files/?list", "");
    let list = String::from_utf8(body).unwrap();
    assert_eq!(status, 200);
    assert!(head.contains("content-type: application/json"), "{head}");
    assert!(list.contains(r#"{"name":"deep/two.npy","size":228,"format":"npy"}"#), "{list}");
    let (status, head, body) = server.get("files/run%201.npy", "");
    assert_eq!((status, body.len()), (200, 228));
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let (status, head, part) = server.get("files/run%201.npy", "Range: bytes=130-139\r\n");
    assert_eq!((status, part), (206, (2..12).collect::<Vec<u8>>()));
    assert!(head.contains("content-range: bytes 130-139/228"), "{head}");
    assert_eq!(server.get("files/run%201.npy", "Range: bytes=228-\r\n").0, 416);
    assert_eq!(server.get("files/run%201.npy", "If-Match: \"other\"\r\n").0, 412);
    let (status, ..) = server.get("files/run%201.npy", &format!("If-Match: {tag}\r\nRange: bytes=0-0\r\n"));
    assert_eq!(status, 206);
    let (status, _, body) = server.get("files/run%201.npy", "If-Range: \"other\"\r\nRange: bytes=0-0\r\n");
    assert_eq!((status, body.len()), (200, 228));
}

#[test]
fn the_page_knows_that_it_is_served_and_runs_its_own_code_only() {
    let folder = folder();
    let server = Server::start(folder.path(), &["serve", "data", "--page", "page"]);
    let (status, head, body) = server.get("", "");
    assert_eq!(status, 200);
    assert!(String::from_utf8(body).unwrap().contains(r#"<meta name="served" content="files/">"#));
    for wanted in [
        "content-security-policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'",
        "connect-src 'self';",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "cross-origin-resource-policy: same-origin",
        "cache-control: no-store",
    ] {
        assert!(head.contains(wanted), "{wanted} is not in {head}");
    }
    assert!(!head.contains("access-control-allow-origin"));
    let (status, head, _) = server.get("sciformats/index.js", "");
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/javascript"));
}

#[test]
fn everything_else_is_refused() {
    let folder = folder();
    let server = Server::start(folder.path(), &["serve", "data", "--page", "page"]);
    for path in [
        "files/../secret.npy",
        "files/%2e%2e/secret.npy",
        "files/..%2fsecret.npy",
        "files//etc/passwd",
        "files/deep/../../secret.npy",
        "../page/index.html",
        "sciformats/../../secret.npy",
        "nothing.js",
        "files/deep",
    ] {
        let (status, _, body) = server.get(path, "");
        assert_eq!(status, 404, "{path}");
        assert!(!body.windows(6).any(|six| six == b"secret"), "{path}");
    }
    let port = server.port;
    let host = format!("Host: 127.0.0.1:{port}\r\nConnection: close\r\n");
    let token = &server.token;
    for (status, text) in [
        (404, format!("GET / HTTP/1.1\r\n{host}\r\n")),
        (404, format!("GET /files/?list HTTP/1.1\r\n{host}\r\n")),
        (404, format!("GET /{}/files/?list HTTP/1.1\r\n{host}\r\n", "0".repeat(32))),
        (404, format!("GET /{token} HTTP/1.1\r\n{host}\r\n")),
        (403, format!("GET /{token}/ HTTP/1.1\r\nHost: evil.example:{port}\r\nConnection: close\r\n\r\n")),
        (403, format!("GET /{token}/ HTTP/1.1\r\nConnection: close\r\n\r\n")),
        (403, format!("GET /{token}/files/?list HTTP/1.1\r\nOrigin: http://evil.example\r\n{host}\r\n")),
        (405, format!("POST /{token}/ HTTP/1.1\r\n{host}\r\n")),
        (405, format!("DELETE /{token}/files/deep/two.npy HTTP/1.1\r\n{host}\r\n")),
        (400, "nonsense\r\n\r\n".to_owned()),
        (400, format!("GET /{token}/%ff HTTP/1.1\r\n{host}\r\n")),
    ] {
        assert_eq!(server.raw(&text).0, status, "{text}");
    }
    assert!(folder.path().join("data/deep/two.npy").exists());
}

#[test]
fn one_file_alone() {
    let folder = folder();
    let program = Program::at(folder.path());
    let message = program.stderr(2, &["serve", "data/run 1.npy", "--page", "page"]);
    assert!(message.contains("view --web"), "{message}");
    let message = program.stderr(2, &["serve", "data", "--page", "data"]);
    assert!(message.contains("no index.html"), "{message}");
    // Without the page in the program, the command says how to get it.
    if cfg!(unix) {
        let output = program.command().args(["view", "--web", "missing.npy"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
    }
}

#[test]
fn connections_stay_open() {
    let folder = folder();
    let server = Server::start(folder.path(), &["serve", "data", "--page", "page", "--quiet"]);
    assert_eq!(server.query, "");
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    for _ in 0..3 {
        let request = format!(
            "HEAD /{}/files/deep/two.npy HTTP/1.1\r\nHost: localhost:{}\r\n\r\n",
            server.token, server.port
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        let mut reader = BufReader::new(&stream);
        while !head.ends_with("\r\n\r\n") {
            assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.to_ascii_lowercase().contains("content-length: 228"), "{head}");
    }
}
