//! `view` at a terminal: the program behind a pseudo-terminal, and what a terminal would show of it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};

/// A machine that does nothing else shows a screen in milliseconds; a busy one gets all the time it may need.
const PATIENCE: Duration = Duration::from_secs(120);

struct Session {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    output: Receiver<Vec<u8>>,
    terminal: vt100::Parser,
}

impl Session {
    fn new(file: &str, (columns, rows): (u16, u16)) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_sciformats"));
        command.cwd(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures"));
        command.args(["view", file]);
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keyboard = pair.master.take_writer().unwrap();
        let (send, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The end is an error on some systems.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if send.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
            drop(pair.master);
        });
        let [rows, columns] = [rows, columns].map(|length| length.try_into().unwrap());
        Self { child, keyboard, output, terminal: vt100::Parser::new(rows, columns, 0) }
    }

    /// Types keys, and waits until the screen holds a text.
    fn type_until(&mut self, keys: &str, text: &str) -> String {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
        let begin = Instant::now();
        loop {
            let screen = self.terminal.screen().contents();
            if screen.contains(text) {
                return screen;
            }
            assert!(begin.elapsed() < PATIENCE, "no {text:?} after {keys:?}:\n{screen}");
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(100)) {
                self.terminal.process(&bytes);
            }
        }
    }

    fn end(mut self) {
        self.keyboard.write_all(b"q").unwrap();
        self.keyboard.flush().unwrap();
        let begin = Instant::now();
        let status = loop {
            while let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(20)) {
                self.terminal.process(&bytes);
            }
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(begin.elapsed() < PATIENCE, "it does not end"),
            }
        };
        assert!(status.success(), "{status:?}");
        // The screen that was there before is back.
        assert!(!self.terminal.screen().alternate_screen());
    }
}

#[test]
fn through_a_file_with_the_keyboard() {
    let mut session = Session::new("gsd/hoomd-log.gsd", (100, 30));
    let screen = session.type_until("", "frames");
    assert!(screen.contains("gsd/hoomd-log.gsd") && screen.contains("q quit"), "{screen}");
    session.type_until("/energy\r", "energy: 1 of");
    session.type_until("n", "energy: 2 of");
    let screen = session.type_until("t", "log/energy");
    assert!(screen.contains("float64"), "{screen}");
    session.type_until("?", "search names");
    session.type_until(" ", "log/energy");
    session.end();
}

#[test]
fn an_image_in_colours() {
    let mut session = Session::new("blosc2/grid.b2nd", (90, 30));
    session.type_until("", "type");
    session.type_until("p", "▀");
    session.type_until("b", "count");
    session.end();
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let output = Command::new(env!("CARGO_BIN_EXE_sciformats"))
        .args(["view", "x.h5"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("use `ls`, `cat` or `plot` to print"));
}
