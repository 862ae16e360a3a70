//! Suggests names for an object that was not found.

use std::ops::ControlFlow;

use sciformats_core::{Error, spelling};

use crate::api::file::File;
use crate::group::links;
use crate::group::path::{self, Found, Met};
use crate::object::header::Object;
use crate::spec::Address;

impl File {
    /// Returns an [`Error::NotFound`] for a path, with similar paths that exist.
    pub(super) fn absent(&self, from: Address, path: &[u8]) -> Error {
        let text = String::from_utf8_lossy(path).into_owned();
        let near = self.near(from, &text);
        Error::not_found("object", text).with_nearest(near)
    }

    /// Returns similar paths: the part of the path that exists, then each similar name, then the rest of the path if it
    /// exists there.
    fn near(&self, from: Address, text: &str) -> Vec<String> {
        let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        let leads = |from: Address, path: &str| match path::resolve(
            self.opened(),
            from,
            path.as_bytes(),
            &mut Met::default(),
        ) {
            Ok(Some(Found::Here(address))) => Some(address),
            _ => None,
        };
        let (mut at, mut before) = (from, String::new());
        if text.starts_with('/') {
            (at, before) = (self.opened().root, "/".to_owned());
        }
        for (number, name) in names.iter().enumerate() {
            if let Some(next) = leads(at, name) {
                at = next;
                before = format!("{before}{name}/");
                continue;
            }
            let there = self.names(at);
            let there = there.iter().map(String::as_str).filter(|there| there != name);
            let rest = names.get(number + 1..).unwrap_or_default().join("/");
            let whole = |near: &str| match format!("{near}/{rest}") {
                longer if !rest.is_empty() && leads(at, &longer).is_some() => format!("{before}{longer}"),
                _ => format!("{before}{near}"),
            };
            return spelling::nearest(name, there).into_iter().map(whole).collect();
        }
        Vec::new()
    }

    /// Returns the names of the members of a group, up to a limit. Members that cannot be read are left out.
    fn names(&self, group: Address) -> Vec<String> {
        let context = &self.opened().context;
        let mut names = Vec::new();
        // These names only improve an error message, so an error here is not reported.
        if let Ok(object) = Object::read(context, group) {
            let _ = links::each(context, &object, &mut |link| {
                names.extend(link.ok().map(|link| link.name.to_text().into_owned()));
                if names.len() < path::LOOKED_AT { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        }
        names
    }
}
