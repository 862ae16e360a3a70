//! The examples do what they say.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use sciformats::memory::{Memory, array, texts};
use sciformats::{File, Format};

#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/contents.rs"]
mod contents;
#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/maximum.rs"]
mod maximum;
#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/server.rs"]
mod server;
#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/tokio_sums.rs"]
mod tokio_sums;

fn file() -> File {
    let mut tree = Memory::new(Format::Hdf5);
    let fields = tree.group(tree.root(), "fields");
    tree.array(fields, "u", array::<f64>(&[2, 2], &[1.0, 7.5, -2.0, 3.0]));
    tree.array(fields, "v", array::<u64>(&[2], &[3, u64::MAX]));
    tree.array(tree.root(), "names", texts(&[1], &["a"]));
    tree.soft_link(tree.root(), "latest", "/fields/u");
    File::from(tree)
}

#[test]
fn the_largest_numbers() {
    let expected = [("/fields/u".to_owned(), 7.5), ("/fields/v".to_owned(), u64::MAX as f64)];
    assert_eq!(maximum::maxima(&file()).unwrap(), expected);
}

#[test]
fn what_there_is() {
    let lines = contents::lines(&file());
    let expected = [
        "/ group",
        "/fields group",
        "/latest leads to /fields/u",
        "/names string [1]",
        "/fields/u float64 [2, 2]",
        "/fields/v uint64 [2]",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn clients_get_parts() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || server::serve(&listener, &file()));
    let get = |target: &str| {
        let mut client = TcpStream::connect(address).unwrap();
        write!(client, "GET {target} HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
    };
    assert_eq!(get("/fields/u"), ("HTTP/1.1 200 OK".into(), "[1.0, 7.5, -2.0, 3.0]\n".into()));
    assert_eq!(get("/fields/u?:,-1").1, "[7.5, 3.0]\n");
    assert_eq!(get("/fields/w").0, "HTTP/1.1 404 Not Found");
    assert_eq!(get("/fields/u?7").0, "HTTP/1.1 400 Bad Request");
    assert_eq!(get("/fields/v").0, "HTTP/1.1 400 Bad Request"); // 2^64 - 1 is no float64
}

#[test]
fn sums_in_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.npy", "b.npy"].map(|name| folder.path().join(name));
    let tasks = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    for (path, values) in paths.iter().zip([[1.5f64, 2.0], [-1.0, 4.0]]) {
        sciformats::npy::write(path, &[2], &values).unwrap();
    }
    let sums = |path: &std::path::Path| tasks.block_on(tokio_sums::sums(path.to_owned()));
    assert_eq!(sums(&paths[0]).unwrap(), [("/".to_owned(), 3.5)]);
    assert_eq!(sums(&paths[1]).unwrap(), [("/".to_owned(), 3.0)]);
    assert!(sums(&folder.path().join("c.npy")).unwrap_err().to_string().contains("c.npy"));
}
