//! The page of the viewer.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};

include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// What the first page says if it is served, in the place of this comment in it.
const PLACE: &str = "<!-- served -->";
const SERVED: &str = "<meta name=\"served\" content=\"files/\">";

/// The page in the program, or in a folder.
#[derive(Debug)]
pub(super) enum Page {
    BuiltIn,
    Folder(PathBuf),
}

impl Page {
    pub(super) fn new(folder: Option<&Path>) -> Outcome<Self> {
        let Some(folder) = folder else {
            return if BUILT_IN.is_empty() {
                let text = "this program was built without the page of the viewer; build that with `cargo xtask web` and the \
                            program after it, or name a folder with the page: --page FOLDER";
                Err(Failure::Usage(text.into()))
            } else {
                Ok(Self::BuiltIn)
            };
        };
        if folder.join("index.html").is_file() {
            return Ok(Self::Folder(folder.to_path_buf()));
        }
        Err(Failure::Usage(format!("{} has no index.html", folder.display())))
    }

    /// Returns a part of the page, and its media type.
    pub(super) fn part(&self, name: &str) -> Option<(Cow<'static, [u8]>, &'static str)> {
        let name = if name.is_empty() { "index.html" } else { name };
        let kind = media_type(name)?;
        let bytes: Cow<'static, [u8]> = match self {
            Self::BuiltIn => Cow::Borrowed(BUILT_IN.iter().find(|(part, _)| *part == name)?.1),
            Self::Folder(folder) => {
                // The page is a folder and one in it; names lead nowhere else.
                let mut parts = name.split('/');
                let plain = |part: &str| {
                    !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', ':'])
                };
                if !parts.clone().all(plain) || parts.by_ref().count() > 2 {
                    return None;
                }
                Cow::Owned(std::fs::read(folder.join(name)).ok()?)
            }
        };
        if name == "index.html" {
            let text = String::from_utf8_lossy(&bytes).replace(PLACE, SERVED);
            return Some((Cow::Owned(text.into_bytes()), kind));
        }
        Some((bytes, kind))
    }
}

fn media_type(name: &str) -> Option<&'static str> {
    Some(match name.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "wasm" => "application/wasm",
        "webmanifest" => "application/manifest+json",
        _ => return None,
    })
}
