//! URLs: where a request goes, and which part of them may be shown.

use std::path::Path;

use base64::Engine;
use sciformats_core::{Error, Result};

/// An absolute URL of `http` or `https`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Url {
    scheme: String,
    /// The host, and the port if there is one.
    authority: String,
    /// The path and the query, from the first slash on.
    rest: String,
    /// `user:password`, which is sent but never shown.
    user: Option<String>,
}

/// Shows the URL without the password and without the query, which contains the signature of a presigned URL.
impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.rest.split('?').next().unwrap_or_default();
        write!(f, "{}://{}{path}", self.scheme, self.authority)
    }
}

impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Url {
    /// Parses a URL; a fragment is removed.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let wrong = |problem: &'static str| Error::usage("URL", problem);
        let text = text.split('#').next().unwrap_or_default();
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("has no scheme such as https://"))?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "http" && scheme != "https" {
            return Err(wrong("has another scheme than http and https"));
        }
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(wrong("contains a space or a control character; write a space as %20"));
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let (user, authority) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(unescaped(user)), host),
            None => (None, authority),
        };
        if authority.is_empty() {
            return Err(wrong("names no host"));
        }
        let port = authority.rsplit(']').next().and_then(|host| host.split_once(':'));
        if port.is_some_and(|(_, port)| !port.bytes().all(|byte| byte.is_ascii_digit())) {
            // What follows the colon may be a part of a password, which no message may show.
            return Err(wrong(
                "has a port that is no number; in a password, write `/` as %2F, `?` as %3F and `#` as %23",
            ));
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        let rest = format!("{slash}{path}");
        Ok(Self { scheme, authority: authority.to_ascii_lowercase(), rest, user })
    }

    /// Resolves the target of a redirect.
    pub(crate) fn join(&self, location: &str) -> Result<Self> {
        let base = Self { user: None, ..self.clone() };
        if let Some(authority) = location.strip_prefix("//") {
            return Self::parse(&format!("{}://{authority}", self.scheme));
        }
        let scheme = location.split_once(':').map(|(scheme, _)| scheme);
        if scheme.is_some_and(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
            return Self::parse(location);
        }
        let path = self.rest.split('?').next().unwrap_or_default();
        let end = location.find(['?', '#']).unwrap_or(location.len());
        let (to, query) = location.split_at_checked(end).unwrap_or((location, ""));
        let to = match to.as_bytes().first() {
            Some(b'/') => without_dots(to),
            None => path.to_owned(),
            _ => {
                let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                without_dots(&format!("{folder}/{to}"))
            }
        };
        Self::parse(&Self { rest: format!("{to}{query}"), ..base }.request())
    }

    /// Returns the URL for a request, without user and password, which are sent in a header. Characters that a URL must not contain as
    /// they are, such as those that are not ASCII, are encoded.
    pub(crate) fn request(&self) -> String {
        format!("{}://{}{}", self.scheme, self.authority, encoded(&self.rest))
    }

    /// Returns the scheme, host and port, which credentials are bound to.
    pub(crate) fn origin(&self) -> (&str, &str) {
        (&self.scheme, &self.authority)
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.scheme == "https"
    }

    /// Returns the host without its port.
    pub(crate) fn host(&self) -> &str {
        let end = match self.authority.rfind(']') {
            Some(end) => end + 1,
            None => self.authority.find(':').unwrap_or(self.authority.len()),
        };
        self.authority.get(..end).unwrap_or_default()
    }

    /// Returns the header with the login, if the URL contains one.
    pub(crate) fn authorization(&self) -> Option<String> {
        self.user.as_deref().map(basic)
    }

    /// Adds the URL to an error.
    pub(crate) fn place(&self, error: Error, offset: Option<u64>) -> Error {
        error.in_file(Path::new(&self.to_string()), offset)
    }
}

/// Encodes `user:password` for the header `Authorization`.
pub(crate) fn basic(user: &str) -> String {
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(user))
}

/// Encodes characters of a path and a query that are not ASCII, or that no URL contains as they are. Escapes stay as they are.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii() && !"\"<>\\^`{|}".contains(character) {
            out.push(character);
        } else {
            let mut bytes = [0; 4];
            out.extend(character.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")));
        }
    }
    out
}

/// Resolves the parts `.` and `..` of a path that begins with a slash.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        if part != "." && part != ".." {
            kept.push(part);
            continue;
        }
        if part == ".." && kept.len() > 1 {
            kept.pop();
        }
        if parts.peek().is_none() {
            kept.push("");
        }
    }
    kept.join("/")
}

/// Decodes `%20` and similar escapes.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(|_| byte == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_is_sent_and_not_shown() {
        let url =
            Url::parse("HTTPS://me:p%40ss@Data.example:8443/a%20b/f.h5?X-Amz-Signature=secret#part").unwrap();
        assert_eq!(url.to_string(), "https://data.example:8443/a%20b/f.h5");
        assert_eq!(format!("{url:?}"), url.to_string());
        assert_eq!(url.request(), "https://data.example:8443/a%20b/f.h5?X-Amz-Signature=secret");
        assert_eq!(url.authorization().unwrap(), basic("me:p@ss"));
        assert_eq!(url.origin(), ("https", "data.example:8443"));
        assert_eq!(url.host(), "data.example");
        assert_eq!(Url::parse("http://[::1]:80/").unwrap().host(), "[::1]");
        let error = url.place(Error::io("read", std::io::ErrorKind::TimedOut.into()), Some(4));
        assert!(!error.to_string().contains("secret") && !error.to_string().contains("p@ss"));
    }

    #[test]
    fn redirects_lead_where_they_say() {
        let url = Url::parse("https://me:p@a.example/x/y?q=1").unwrap();
        for (location, expected) in [
            ("/z?r", "https://a.example/z?r"),
            ("z", "https://a.example/x/z"),
            ("?r=2", "https://a.example/x/y?r=2"),
            ("//b.example/z", "https://b.example/z"),
            ("http://b.example", "http://b.example/"),
            ("../z", "https://a.example/z"),
            ("./z/./y?a=../b", "https://a.example/x/z/y?a=../b"),
            ("/p/q/../r/..", "https://a.example/p/"),
            ("../../../z", "https://a.example/z"),
            ("ü#part", "https://a.example/x/%C3%BC"),
        ] {
            let to = url.join(location).unwrap();
            assert_eq!(to.request(), expected);
            assert_eq!(to.authorization(), None);
        }
        assert!(url.join("ftp://b.example/").is_err());
    }

    #[test]
    fn a_password_with_slashes_is_no_host() {
        for text in
            ["https://me:SEC/RET@a.example/f", "https://me:SEC?RET@a.example/f", "http://me:S#T@a.example/"]
        {
            let error = Url::parse(text).unwrap_err();
            assert!(error.to_string().contains("%2F"), "{error}");
            assert_eq!(crate::shown(text), "an invalid URL");
        }
        for text in
            ["http://[::1]:8080/", "http://[::1]/", "http://a.example:/", "http://me:p/q@a.example:80/"]
        {
            assert_eq!(Url::parse(text).is_ok(), !text.contains('@'), "{text}");
        }
    }

    #[test]
    fn what_a_url_cannot_contain_is_encoded() {
        let url = Url::parse("https://a.example/größe/a%20b%2Fc/{x}|\"y\".h5?key=ä&sign=a%2Bb+c/~").unwrap();
        let expected =
            "https://a.example/gr%C3%B6%C3%9Fe/a%20b%2Fc/%7Bx%7D%7C%22y%22.h5?key=%C3%A4&sign=a%2Bb+c/~";
        assert_eq!(url.request(), expected);
        // Messages show it as it was written.
        assert_eq!(url.to_string(), "https://a.example/größe/a%20b%2Fc/{x}|\"y\".h5");
        // A percent sign without two digits is a sign of the password.
        assert_eq!(
            Url::parse("https://me:1%+5%zz%41@a.example/").unwrap().authorization().unwrap(),
            basic("me:1%+5%zzA")
        );
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for text in ["a.h5", "file:///a", "https://", "https://a b/", "http:///x", "https://a/\n"] {
            assert!(matches!(Url::parse(text), Err(Error::Usage { .. })), "{text}");
        }
    }
}
