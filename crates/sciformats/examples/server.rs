//! Serves parts of a file of any format, to any number of clients at a time: `server FILE ADDRESS`.
//!
//! With the address `localhost:8080`, `curl 'http://localhost:8080/fields/u?:10,-1'` prints the numbers of such a
//! selection.
#![allow(clippy::print_stdout, reason = "that is what it is for")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use sciformats::{Blame, Error, File, Limits, OpenOptions, Result};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, address] = &arguments[..] else {
        return Err(Error::usage("arguments", "are not FILE and ADDRESS"));
    };
    // No request makes it allocate more than this.
    let options = OpenOptions::default().with_limits(Limits::default().with_memory(1 << 28));
    let file = sciformats::open_with(file, &options)?;
    let listener = TcpListener::bind(address).map_err(|error| Error::io("listen", error))?;
    let address = listener.local_addr().map_err(|error| Error::io("listen", error))?;
    println!("http://{address}");
    serve(&listener, &file).map_err(|error| Error::io("accept", error))
}

/// Answers each client in a thread of its own. All of them read the same open file.
pub(crate) fn serve(listener: &TcpListener, file: &File) -> io::Result<()> {
    for client in listener.incoming() {
        let (client, file) = (client?, file.clone());
        // If a client does not listen any more, nobody misses the answer.
        thread::spawn(move || answer(client, &file).unwrap_or_default());
    }
    Ok(())
}

fn answer(mut client: TcpStream, file: &File) -> io::Result<()> {
    let mut request = String::new();
    BufReader::new(&client).take(8192).read_line(&mut request)?;
    let target = request.split(' ').nth(1).unwrap_or_default();
    let (path, part) = target.split_once('?').unwrap_or((target, "..."));
    let (status, body) = match numbers(file, path, part) {
        Ok(numbers) => ("200 OK", format!("{numbers:?}\n")),
        Err(error @ Error::NotFound { .. }) => ("404 Not Found", format!("{error}\n")),
        Err(error) if error.blame() == Blame::Caller => ("400 Bad Request", format!("{error}\n")),
        Err(error) => ("500 Internal Server Error", format!("{error}\n")),
    };
    let length = body.len();
    write!(client, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn numbers(file: &File, path: &str, part: &str) -> Result<Vec<f64>> {
    file.array(path)?.read_slice(part)
}
