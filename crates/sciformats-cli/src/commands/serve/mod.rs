//! `serve`: the viewer in the browser, and the files of a folder, on the loopback interface of this machine.
//!
//! The address contains a token that only this run knows, so that neither other pages nor other users of the
//! machine can read the files. Requests are answered only for names of this machine, and only for files in the
//! folder.

mod files;
mod http;
mod page;

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;

use self::files::Files;
use self::page::Page;
use crate::failure::{Answer, Failure, Outcome};
use crate::session::Session;

/// The number of connections that are served at the same time; browsers open six.
const CONNECTIONS: usize = 64;

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The folder whose files can be looked at
    folder: PathBuf,
    /// The port [default: any that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Take the page from this folder instead of the one in the program
    #[arg(long, value_name = "FOLDER")]
    page: Option<PathBuf>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

/// What a run of the server serves.
#[derive(Debug)]
struct Site {
    token: String,
    port: u16,
    page: Page,
    files: Files,
}

pub(super) fn run(args: &Serve, session: &Session) -> Outcome {
    let files = Files::of_folder(&args.folder)?;
    let site = (files, args.page.as_deref(), args.port);
    serve(site, session, (args.open, None))
}

/// Serves one file, and opens it in the browser.
pub(super) fn view(file: &Path, session: &Session) -> Outcome {
    let (files, name) = Files::of_file(file)?;
    serve((files, None, 0), session, (true, Some(&name)))
}

fn serve(
    (files, page, port): (Files, Option<&Path>, u16),
    session: &Session,
    (open, name): (bool, Option<&str>),
) -> Outcome {
    let page = Page::new(page)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| Failure::Usage(format!("port {port} cannot be used: {error}")))?;
    let port = listener.local_addr()?.port();
    let site = Arc::new(Site { token: token()?, port, page, files });
    let query = name.map(|name| format!("?url=files/{}", http::encoded(name))).unwrap_or_default();
    let address = format!("http://127.0.0.1:{port}/{}/{query}", site.token);
    let mut out = session.text();
    writeln!(out, "{address}")?;
    if !session.quiet {
        writeln!(out, "Ctrl-C ends the server. Whoever knows the address can read the files.")?;
    }
    out.flush()?;
    drop(out);
    if open && !browse(&address) && !session.quiet {
        crate::failure::complain("no browser could be started; open the address in one");
    }
    let busy = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        // A connection that failed before it was accepted concerns nobody else.
        let Ok(stream) = stream else { continue };
        if busy.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS {
            busy.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let (site, count) = (Arc::clone(&site), Arc::clone(&busy));
        std::thread::spawn(move || {
            // A browser that went away is no error of the server.
            let _ = http::converse(&site, &stream);
            count.fetch_sub(1, Ordering::SeqCst);
        });
    }
    Ok(Answer::Yes)
}

/// Returns 128 random bits.
fn token() -> Outcome<String> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Usage(format!("the system has no random numbers: {error}")))?;
    Ok(bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}")))
}

/// Opens an address in the browser of the user, and returns whether a program for that was started.
fn browse(address: &str) -> bool {
    let programs: &[&[&str]] = if cfg!(windows) {
        &[&["explorer"]]
    } else if cfg!(target_os = "macos") {
        &[&["open"]]
    } else {
        &[&["xdg-open"], &["gio", "open"], &["wslview"]]
    };
    programs.iter().any(|words| {
        let Some((program, rest)) = words.split_first() else { return false };
        let mut command = Command::new(program);
        command.args(rest).arg(address);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    })
}
