//! `view`: a browser for the terminal. The tree of a file is on the left. The attributes, statistics and
//! values of the selected object are on the right, as a table or a picture.
//!
//! Work that may take long runs in threads of its own, and only what is on the screen is read. A file may
//! therefore have any number of objects, and arrays may be larger than memory.

mod browser;
pub(super) mod details;
mod draw;
mod table;
pub(super) mod tree;
mod work;

#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event, KeyEventKind};
use ratatui::crossterm::execute;
use sciformats_conventions::Dataset;

use self::browser::Browser;
use crate::args::View;
use crate::failure::{Answer, Failure, Outcome};
use crate::figure::screen::Depth;
use crate::look;
use crate::session::Session;

/// The interval at which new results are shown.
const SOON: Duration = Duration::from_millis(30);
/// The time to wait for a key if no work is running.
const LONG: Duration = Duration::from_secs(3600);

pub(super) fn run(args: &View, session: &Session) -> Outcome {
    if session.json || !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let text = "view needs a terminal; use `ls`, `cat` or `plot` to print".to_owned();
        return Err(Failure::Usage(text));
    }
    let data = Dataset::new(session.open(&args.file)?);
    let title = look::safe(&args.file.display().to_string()).into_owned();
    let browser = Browser::new(data, args.raw, (title, Depth::of_stdout()));
    let mut browser = browser.map_err(|error| Failure::of(&args.file, &error))?;
    let mut terminal = ratatui::try_init()?;
    // Terminals without a mouse ignore this.
    execute!(io::stdout(), EnableMouseCapture)?;
    let ended = events(&mut terminal, &mut browser);
    let mouse = execute!(io::stdout(), DisableMouseCapture);
    ratatui::try_restore()?;
    mouse?;
    ended?;
    Ok(Answer::Yes)
}

fn events(terminal: &mut DefaultTerminal, browser: &mut Browser) -> io::Result<()> {
    while !browser.done {
        browser.take_up();
        terminal.draw(|frame| draw::draw(browser, frame))?;
        if let Some(text) = browser.copied.take() {
            let mut out = io::stdout();
            out.write_all(clipboard(&text).as_bytes())?;
            out.flush()?;
        }
        let wait = if browser.work.is_busy() { SOON } else { LONG };
        if event::poll(wait)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => browser.key(key),
                Event::Mouse(mouse) => browser.mouse(mouse),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Returns the control sequence (OSC 52) with which a terminal puts a text on the clipboard, also over a remote connection.
fn clipboard(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", base64(text.as_bytes()))
}

/// Encodes bytes in base 64, as RFC 4648 defines it.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0u32, |word, &byte| (word << 8) | u32::from(byte));
        let word = word << (8 * (3 - three.len()));
        for place in 0..4usize {
            let letter = LETTERS.get(((word >> (18 - 6 * place)) & 63) as usize);
            let letter = letter.filter(|_| place <= three.len());
            text.push(letter.map_or('=', |&letter| letter.into()));
        }
    }
    text
}
