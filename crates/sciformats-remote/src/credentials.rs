//! Credentials: headers for one origin, passwords by host, and cookies.

use std::sync::{Mutex, PoisonError};

use sciformats_core::{Error, Result};

use crate::options::RemoteOptions;
use crate::url::{Url, basic};

/// What is sent with requests, and to whom.
pub(crate) struct Credentials {
    /// The origin of the URL that was opened, and the credentials that are only for this origin.
    scheme: String,
    authority: String,
    headers: Vec<(String, String)>,
    netrc: Vec<Login>,
    cookies: Mutex<Vec<Cookie>>,
}

/// A login of a netrc file.
#[derive(Debug, PartialEq, Eq)]
struct Login {
    /// The host; `None` stands for every host.
    host: Option<String>,
    user: String,
    password: String,
}

/// A cookie, which is only kept while the file is open.
#[derive(Debug, PartialEq, Eq)]
struct Cookie {
    /// The cookie is sent to this host, and to hosts below it if `below` is true.
    host: String,
    below: bool,
    /// Whether it is only sent over encrypted connections.
    secure: bool,
    name: String,
    value: String,
}

impl Credentials {
    pub(crate) fn new(url: &Url, options: &RemoteOptions) -> Result<Self> {
        let netrc = match &options.netrc {
            None => Vec::new(),
            Some(path) => {
                let text =
                    std::fs::read_to_string(path).map_err(|e| Error::io("read", e).in_file(path, None))?;
                logins(&text)
            }
        };
        let mut headers = options.headers.clone();
        headers.extend(url.authorization().map(|value| ("Authorization".to_owned(), value)));
        let (scheme, authority) = url.origin();
        let (scheme, authority) = (scheme.to_owned(), authority.to_owned());
        Ok(Self { scheme, authority, headers, netrc, cookies: Mutex::default() })
    }

    /// Returns the headers of a request to `url`. Credentials for one origin are never sent to another, and
    /// after a redirect no password is sent over a connection that is not encrypted.
    pub(crate) fn headers(&self, url: &Url) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        let home = url.origin() == (self.scheme.as_str(), self.authority.as_str());
        if home {
            headers.extend(self.headers.iter().cloned());
        }
        let authorized = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let login =
            self.netrc.iter().find(|login| login.host.as_deref().is_none_or(|host| host == url.host()));
        if let Some(login) = login.filter(|_| !authorized && (home || url.is_encrypted())) {
            headers.push(("Authorization".into(), basic(&format!("{}:{}", login.user, login.password))));
        }
        let cookies = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        let own = cookies.iter().filter(|cookie| cookie.is_for(url));
        let line: Vec<String> = own.map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        if !line.is_empty() {
            headers.push(("Cookie".into(), line.join("; ")));
        }
        headers
    }

    /// Stores a cookie that `url` has set.
    pub(crate) fn set_cookie(&self, url: &Url, header: &str) {
        let Some(cookie) = Cookie::parse(url, header) else { return };
        let mut cookies = self.cookies.lock().unwrap_or_else(PoisonError::into_inner);
        cookies.retain(|known| (&known.host, &known.name) != (&cookie.host, &cookie.name));
        cookies.push(cookie);
    }
}

impl Cookie {
    fn parse(url: &Url, header: &str) -> Option<Self> {
        let mut parts = header.split(';').map(str::trim);
        let (name, value) = parts.next()?.split_once('=')?;
        let mut cookie = Self {
            host: url.host().to_owned(),
            below: false,
            secure: false,
            name: name.to_owned(),
            value: value.to_owned(),
        };
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if key.eq_ignore_ascii_case("secure") {
                cookie.secure = true;
            } else if key.eq_ignore_ascii_case("domain") {
                let domain = value.trim_start_matches('.').to_ascii_lowercase();
                // A host may set cookies for the domains above it, except for those that everybody belongs
                // to.
                if !domain.contains('.') || !is_below(url.host(), &domain) {
                    return None;
                }
                (cookie.host, cookie.below) = (domain, true);
            }
        }
        Some(cookie)
    }

    fn is_for(&self, url: &Url) -> bool {
        let host = if self.below { is_below(url.host(), &self.host) } else { url.host() == self.host };
        host && (!self.secure || url.is_encrypted())
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|front| front.is_empty() || front.ends_with('.'))
}

/// Returns the logins of a netrc file; macros are ignored. A comment begins where a word of the file's own is expected, so that users and
/// passwords may have any sign.
fn logins(text: &str) -> Vec<Login> {
    let mut found: Vec<Login> = Vec::new();
    let mut words = text
        .lines()
        .enumerate()
        .flat_map(|(line, text)| text.split_whitespace().map(move |word| (line, word)))
        .peekable();
    while let Some((line, word)) = words.next() {
        if word.starts_with('#') {
            while words.next_if(|(other, _)| *other == line).is_some() {}
            continue;
        }
        if word == "macdef" {
            // A macro ends with an empty line.
            let mut next = line;
            while let Some((other, _)) = words.next_if(|(other, _)| *other <= next) {
                next = other.saturating_add(1); // a position
            }
            continue;
        }
        let mut value = || words.next().map(|(_, value)| value.to_owned());
        let login = |host| Login { host, user: String::new(), password: String::new() };
        match (word, found.last_mut()) {
            ("machine", _) => found.extend(value().map(|host| login(Some(host.to_ascii_lowercase())))),
            ("default", _) => found.push(login(None)),
            ("login", Some(last)) => last.user = value().unwrap_or_default(),
            ("password", Some(last)) => last.password = value().unwrap_or_default(),
            _ => {}
        }
    }
    found.retain(|login| !login.user.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn credentials(options: &RemoteOptions) -> Credentials {
        Credentials::new(&url("https://data.example/f.h5"), options).unwrap()
    }

    #[test]
    fn headers_stay_with_their_origin() {
        let credentials = credentials(&RemoteOptions::default().with_header("Authorization", "Bearer x"));
        assert_eq!(credentials.headers(&url("https://data.example/other")).len(), 1);
        for elsewhere in ["http://data.example/f.h5", "https://data.example:8443/", "https://x.data.example/"]
        {
            assert!(credentials.headers(&url(elsewhere)).is_empty(), "{elsewhere}");
        }
    }

    #[test]
    fn passwords_by_host() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("netrc");
        std::fs::write(
            &path,
            "machine urs.example login me # comment\n  password secret\nmachine no.example\n",
        )
        .unwrap();
        let credentials = credentials(&RemoteOptions::default().with_netrc(&path));
        let headers = credentials.headers(&url("https://urs.example/login"));
        assert_eq!(headers, [("Authorization".into(), basic("me:secret"))]);
        assert!(credentials.headers(&url("http://urs.example/login")).is_empty());
        assert!(credentials.headers(&url("https://data.example/f.h5")).is_empty());
        assert!(credentials.headers(&url("https://no.example/")).is_empty());
        let absent = RemoteOptions::default().with_netrc(folder.path().join("absent"));
        assert!(Credentials::new(&url("https://a.example/"), &absent).is_err());
    }

    #[test]
    fn passwords_have_any_sign() {
        let found =
            logins("# all\nmachine a login me#1 password pa#ss #word\nmachine b login me password #1 # 2\n");
        let found: Vec<_> =
            found.iter().map(|login| (login.user.as_str(), login.password.as_str())).collect();
        assert_eq!(found, [("me#1", "pa#ss"), ("me", "#1")]);
    }

    #[test]
    fn macros_are_no_logins() {
        let text = "machine a login me password 1\nmacdef init\nmachine b login you\npassword 2\n\nmachine c login us password 3\n";
        let found: Vec<_> =
            logins(text).into_iter().map(|login| (login.host.unwrap(), login.password)).collect();
        assert_eq!(found, [("a".into(), "1".into()), ("c".into(), "3".into())]);
    }

    #[test]
    fn cookies_go_back_to_those_who_set_them() {
        let credentials = credentials(&RemoteOptions::default());
        credentials.set_cookie(&url("https://a.example.org/"), "s=1; Path=/; Secure; HttpOnly");
        credentials.set_cookie(&url("https://a.example.org/"), "s=2; secure");
        credentials.set_cookie(&url("https://a.example.org/"), "wide=3; Domain=.example.org");
        credentials.set_cookie(&url("https://evil.example/"), "t=4; Domain=example.org");
        credentials.set_cookie(&url("https://evil.example/"), "t=5; Domain=example");
        let sent = |text: &str| credentials.headers(&url(text)).pop().map(|(_, value)| value);
        assert_eq!(sent("https://a.example.org/f").unwrap(), "s=2; wide=3");
        assert_eq!(sent("http://a.example.org/f").unwrap(), "wide=3");
        assert_eq!(sent("https://b.example.org/f").unwrap(), "wide=3");
        assert_eq!(sent("https://notexample.org/f"), None);
    }
}
