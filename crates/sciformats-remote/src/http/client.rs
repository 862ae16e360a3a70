//! Makes single requests: redirects, retries, and the checks of every answer.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use sciformats_core::storage::length;
use sciformats_core::{Error, Result, arith, bound};
use ureq::config::ConfigBuilder;
use ureq::http::{Response, StatusCode, header};
use ureq::typestate::AgentScope;
use ureq::{Agent, Body};

use super::answer::{ContentRange, Version, Wanted, is_identity, retry_after};
use super::gate::Gate;
use crate::credentials::Credentials;
use crate::options::RemoteOptions;
use crate::tls;
use crate::url::Url;

/// The number of consecutive redirects that are followed.
const REDIRECTS: usize = 12;

/// A body may take one second longer per this many bytes.
pub(crate) const SLOWEST: u64 = 16 << 10;

/// The largest number of times that a request is continued, even if some bytes were received each time.
const RESUMES: u32 = 64;

/// An attempt that received this many bytes does not count as a failure.
const ENOUGH: u64 = 64 << 10;

/// The longest wait between attempts.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Makes the requests for one file.
pub(crate) struct Client {
    agent: Agent,
    url: Url,
    /// The URL that the last redirects led to.
    place: RwLock<Option<Url>>,
    credentials: Credentials,
    options: RemoteOptions,
    gate: Gate,
    repeated: AtomicU64,
    /// Whether requests can be encrypted.
    encrypts: bool,
}

/// What is known about the file before a request.
#[derive(Clone, Debug)]
pub(super) struct Pinned {
    pub(super) version: Version,
    pub(super) size: u64,
}

/// What was received.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) bytes: Vec<u8>,
    /// The offset of the first byte, and the size of the file, if the server sent it.
    pub(super) start: u64,
    pub(super) size: Option<u64>,
    pub(super) version: Version,
}

/// Why an attempt received nothing, or not everything.
enum Failure {
    /// Another attempt may succeed; the server may have said how long to wait.
    Passing(Error, Option<Duration>),
    Final(Error),
}

/// The part of a file that has been received so far.
struct Coming {
    bytes: Vec<u8>,
    start: Option<u64>,
    /// The expected number of bytes, once it is known.
    expected: Option<u64>,
    size: Option<u64>,
    version: Version,
}

impl Client {
    pub(super) fn new(url: Url, options: &RemoteOptions) -> Result<Self> {
        Ok(Self {
            agent: agent(options, url.is_encrypted())?,
            encrypts: encryption(options).is_ok(),
            credentials: Credentials::new(&url, options)?,
            place: RwLock::new(None),
            url,
            options: options.clone(),
            gate: Gate::new(options.connections),
            repeated: AtomicU64::new(0),
        })
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Returns the number of repeated requests.
    pub(super) fn repeated(&self) -> u64 {
        self.repeated.load(Ordering::Relaxed)
    }

    /// Requests bytes of the pinned version. Without a pinned version there may be fewer bytes than
    /// requested, because the file may be short.
    pub(super) fn fetch(&self, wanted: &Wanted, pinned: Option<&Pinned>) -> Result<Answer> {
        let (mut failures, mut resumes) = (0, 0);
        let mut coming = Coming {
            bytes: Vec::new(),
            start: None,
            expected: None,
            size: None,
            version: Version::default(),
        };
        loop {
            let before = coming.bytes.len();
            let failure = match self.try_once(wanted, pinned, &mut coming) {
                Ok(()) => {
                    let Coming { bytes, start, size, version, .. } = coming;
                    let start = arith::present(start, "place of the bytes that came")?;
                    return Ok(Answer { bytes, start, size, version });
                }
                Err(failure) => failure,
            };
            let (error, wait) = match failure {
                Failure::Final(error) => return Err(self.url.place(error, wanted.offset())),
                Failure::Passing(error, wait) => (error, wait),
            };
            resumes += 1;
            // An attempt that received a good part does not count as a failure. If a file must be fetched as
            // a whole, the received part is discarded when the transfer is interrupted.
            let came = bound::left(coming.bytes.len(), before) as u64;
            let good = came >= ENOUGH.min(wanted.most() / 4 + 1);
            failures = if good { 0 } else { failures + 1 };
            let patience = self.options.timeout.max(LONGEST_WAIT);
            if failures > self.options.retries
                || resumes > RESUMES
                || wait.is_some_and(|wait| wait > patience)
            {
                return Err(self.url.place(error, wanted.offset()));
            }
            self.repeated.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(wait.unwrap_or_else(|| self.wait(failures)));
        }
    }

    /// Returns how long to wait after this many consecutive failures. The time is random within the upper
    /// half of an interval that doubles, so that clients that were refused together do not return together.
    fn wait(&self, failures: u32) -> Duration {
        let factor = 1u32.checked_shl(bound::left(failures, 1)).unwrap_or(u32::MAX); // a bound
        let longest = self.options.backoff.saturating_mul(factor).min(LONGEST_WAIT); // a bound
        let half = longest / 2;
        let chance = RandomState::new().build_hasher().finish();
        let micros = bound::sum(u64::try_from(half.as_micros()).unwrap_or(u64::MAX), 1); // a bound
        half + Duration::from_micros(chance % micros)
    }

    fn try_once(&self, wanted: &Wanted, pinned: Option<&Pinned>, coming: &mut Coming) -> Result<(), Failure> {
        let turn = self.gate.enter();
        let response = self.follow(wanted, pinned, coming)?;
        let version = Version::of(response.headers());
        let known = pinned.map(|pinned| &pinned.version).or(coming.start.map(|_| &coming.version));
        let changed = || Failure::Final(replaced());
        match response.status() {
            StatusCode::PARTIAL_CONTENT if known.is_some_and(|known| !known.agrees(&version)) => {
                Err(changed())
            }
            StatusCode::PARTIAL_CONTENT => {
                self.part(wanted, pinned, response, coming).inspect(|()| turn.answered())
            }
            StatusCode::OK => self.all(wanted, pinned, response, coming),
            StatusCode::PRECONDITION_FAILED => Err(changed()),
            StatusCode::RANGE_NOT_SATISFIABLE => {
                let size = ContentRange::of(response.headers()).and_then(|found| found.size);
                let known = pinned.map(|pinned| pinned.size).or(coming.size);
                match (known, size) {
                    (None, Some(0)) if coming.start.is_none() => {
                        (coming.start, coming.size) = (Some(0), Some(0));
                        coming.version = version;
                        Ok(())
                    }
                    (Some(known), Some(size)) if size != known => Err(changed()),
                    _ => Err(fatal("the server reports that the range is outside of the file")),
                }
            }
            status => {
                if is_busy(status.as_u16()) {
                    turn.refused();
                }
                Err(refusal(status, retry_after(response.headers())))
            }
        }
    }

    /// Makes a request, and follows redirects.
    fn follow(
        &self,
        wanted: &Wanted,
        pinned: Option<&Pinned>,
        coming: &Coming,
    ) -> Result<Response<Body>, Failure> {
        let kept = self.place.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (mut url, mut shortcut) = (kept.clone().unwrap_or_else(|| self.url.clone()), kept.is_some());
        let etag = pinned.map(|pinned| &pinned.version).or(coming.start.map(|_| &coming.version));
        let etag = etag.and_then(Version::strong);
        // A continuation is requested by its offset, even if the first request counted from the end of the
        // file.
        let rest = coming.start.zip(coming.expected).map(|(start, expected)| start..start + expected);
        let range = rest.map_or_else(|| wanted.clone(), Wanted::Bytes).header(coming.bytes.len() as u64);
        for _ in 0..=REDIRECTS {
            if url.is_encrypted() && !self.encrypts {
                encryption(&self.options).map_err(Failure::Final)?;
            }
            let body = Duration::from_secs(wanted.most() / SLOWEST);
            let body = body.saturating_add(self.options.timeout); // a bound
            let mut request = self.agent.get(url.request()).config().timeout_recv_body(Some(body)).build();
            request = request.header(header::RANGE, &range);
            if let Some(etag) = etag {
                request = request.header(header::IF_MATCH, etag);
            }
            for (name, value) in self.credentials.headers(&url) {
                request = request.header(name, value);
            }
            let response = request.call().map_err(failure)?;
            for cookie in response.headers().get_all(header::SET_COOKIE) {
                if let Ok(cookie) = cookie.to_str() {
                    self.credentials.set_cookie(&url, cookie);
                }
            }
            match response.status().as_u16() {
                301 | 302 | 303 | 307 | 308 => {
                    // Some servers write names as they are, which need not be ASCII.
                    let location = response.headers().get(header::LOCATION);
                    let location = location.and_then(|to| std::str::from_utf8(to.as_bytes()).ok());
                    let location =
                        location.ok_or_else(|| fatal("the server redirects without saying where"))?;
                    // Some servers forget to encode the spaces of signatures and names.
                    let next = url
                        .join(&location.trim().replace(' ', "%20"))
                        .map_err(|_| fatal("the server redirects to something that is not a URL"))?;
                    if url.is_encrypted() && !next.is_encrypted() {
                        return Err(fatal("the server redirects from https to http, which is not followed"));
                    }
                    url = next;
                }
                // The target of the redirect may have expired.
                400 | 401 | 403 | 404 | 410 if shortcut => {
                    *self.place.write().unwrap_or_else(PoisonError::into_inner) = None;
                    (url, shortcut) = (self.url.clone(), false);
                }
                status => {
                    if status == 206 && Some(&url) != kept.as_ref() && url != self.url {
                        *self.place.write().unwrap_or_else(PoisonError::into_inner) = Some(url);
                    }
                    return Ok(response);
                }
            }
        }
        Err(fatal("the server redirects too often, perhaps in a circle"))
    }

    /// Receives a part of the file.
    fn part(
        &self,
        wanted: &Wanted,
        pinned: Option<&Pinned>,
        response: Response<Body>,
        coming: &mut Coming,
    ) -> Result<(), Failure> {
        let headers = response.headers();
        if !is_identity(headers) {
            return Err(fatal("the server answered with a range of compressed bytes"));
        }
        let told = ContentRange::of(headers);
        let (Some(range), size) = told.map_or((None, None), |told| (told.range, told.size)) else {
            return Err(fatal("the server answered with a part of the file without saying which part"));
        };
        // What a request goes on with is of the same file, too.
        let known = pinned.map(|pinned| pinned.size).or(coming.size);
        if known.zip(size).is_some_and(|(known, size)| known != size) {
            return Err(Failure::Final(replaced()));
        }
        let have = coming.bytes.len() as u64;
        let right = match (wanted, coming.start) {
            (_, Some(start)) => {
                let end = coming.expected.map(|expected| start + expected);
                range.start == start + have && Some(range.end) == end
            }
            (Wanted::Bytes(wanted), None) => {
                // If the size is unknown, the request may ask for more bytes than there are.
                let short =
                    pinned.is_none() && size.is_none_or(|size| size == range.end) && range.end < wanted.end;
                range.start == wanted.start && (range.end == wanted.end || short)
            }
            (Wanted::Last(count), None) => {
                length(&range) <= *count && size.is_none_or(|size| size == range.end)
            }
        };
        if !right {
            return Err(fatal("the server answered with another range than was requested"));
        }
        if coming.start.is_none() {
            let told = if matches!(wanted, Wanted::Last(_)) { size.or(Some(range.end)) } else { size };
            (coming.start, coming.size) = (Some(range.start), told);
            coming.expected = Some(length(&range));
            coming.version = Version::of(headers);
        }
        self.body(response, length(&range), coming)
    }

    /// Receives the whole file from a server that does not support ranges.
    fn all(
        &self,
        wanted: &Wanted,
        pinned: Option<&Pinned>,
        response: Response<Body>,
        coming: &mut Coming,
    ) -> Result<(), Failure> {
        let front = matches!(wanted, Wanted::Bytes(range) if range.start == 0);
        let length = response.body().content_length();
        if pinned.is_some() || !front || !is_identity(response.headers()) {
            return Err(fatal("the server ignored the requested range and answered with the whole file"));
        }
        if let Some(length) = length.filter(|&length| length > self.options.whole) {
            return Err(too_large(format_args!("the file of {length} bytes")));
        }
        coming.version = Version::of(response.headers());
        // This transfer cannot be continued, so the bytes that were received are discarded.
        coming.bytes.clear();
        let outcome = match length {
            Some(length) => self.body(response, length, coming),
            None => self.unknown(response, coming),
        };
        match outcome {
            Ok(()) => (coming.start, coming.size) = (Some(0), Some(coming.bytes.len() as u64)),
            Err(_) => coming.bytes.clear(),
        }
        outcome
    }

    /// Receives a body of unknown length, which says itself where it ends.
    fn unknown(&self, response: Response<Body>, coming: &mut Coming) -> Result<(), Failure> {
        let most = self.options.whole;
        let reader = response.into_body().into_with_config().limit(u64::MAX).reader();
        // One byte more shows that there are more; a bound.
        let read = reader.take(bound::sum(most, 1)).read_to_end(&mut coming.bytes);
        match read {
            Ok(_) if coming.bytes.len() as u64 > most => {
                Err(too_large(format_args!("a file of more than {most} bytes")))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::Passing(Error::io("read", told(&error)), None)),
        }
    }

    /// Receives `left` bytes of a body.
    fn body(&self, response: Response<Body>, left: u64, coming: &mut Coming) -> Result<(), Failure> {
        let expected =
            usize::try_from(left).map_err(|_| fatal("a range is longer than the memory of this machine"))?;
        let mut reader = response.into_body().into_with_config().limit(u64::MAX).reader();
        let before = coming.bytes.len();
        coming.bytes.reserve(expected.min(8 << 20));
        let read = reader.by_ref().take(left).read_to_end(&mut coming.bytes);
        let came = coming.bytes.len() - before;
        match read {
            Ok(_) if came == expected => {
                // The connection can be used again after the end of the body was read; otherwise it is
                // closed.
                let _ = reader.read(&mut [0; 1]);
                Ok(())
            }
            Ok(_) => {
                let text = format!("the answer ended {} bytes too early", expected - came);
                Err(Failure::Passing(
                    Error::io("read", io::Error::new(io::ErrorKind::UnexpectedEof, text)),
                    None,
                ))
            }
            Err(error) => Err(Failure::Passing(Error::io("read", told(&error)), None)),
        }
    }
}

/// Returns what makes connections, which are `encrypted` if that is needed. If they cannot be encrypted, a request for an encrypted URL
/// must not be made with it.
///
/// # Errors
/// The error of [`encryption`], if that is needed or the caller caused it.
pub(crate) fn agent(options: &RemoteOptions, encrypted: bool) -> Result<Agent> {
    let config = match tls::configure(settings(options), options.certificates.as_deref()) {
        Ok(config) => config,
        Err(error) if encrypted || matches!(error, Error::Usage { .. }) => return Err(error),
        Err(_) => settings(options),
    };
    Ok(config.build().new_agent())
}

/// Returns an error if requests cannot be encrypted: without the feature, on some processors, or with certificates that are none.
pub(crate) fn encryption(options: &RemoteOptions) -> Result<()> {
    tls::configure(settings(options), options.certificates.as_deref()).map(drop)
}

/// Returns the settings for every request.
fn settings(options: &RemoteOptions) -> ConfigBuilder<AgentScope> {
    let silence = Some(options.timeout);
    Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(silence)
        .timeout_send_request(silence)
        .timeout_recv_response(silence)
        .timeout_per_read(silence)
        .max_idle_connections(options.connections)
        .max_idle_connections_per_host(options.connections)
        .accept_encoding("identity")
        .user_agent(concat!("sciformats/", env!("CARGO_PKG_VERSION")))
}

fn too_large(what: std::fmt::Arguments<'_>) -> Failure {
    let what =
        format!("the server does not support ranges, and {what} is too large to be fetched as a whole");
    Failure::Final(Error::io("read", io::Error::new(io::ErrorKind::Unsupported, what)))
}

fn fatal(text: &'static str) -> Failure {
    Failure::Final(Error::io("read", io::Error::new(io::ErrorKind::InvalidData, text)))
}

/// Returns the error for a file that was replaced since it was opened.
pub(crate) fn replaced() -> Error {
    let text = "the file was replaced on the server since it was opened; open it again";
    Error::io("read", io::Error::new(io::ErrorKind::StaleNetworkFileHandle, text))
}

/// Returns whether a status says that there are too many requests.
pub(crate) fn is_busy(status: u16) -> bool {
    matches!(status, 429 | 503)
}

/// Returns the failure for a status without bytes.
fn refusal(status: StatusCode, wait: Option<Duration>) -> Failure {
    let (kind, why) = match status.as_u16() {
        401 => (io::ErrorKind::PermissionDenied, "the server requires a login"),
        403 => (io::ErrorKind::PermissionDenied, "the server refuses access, or the URL has expired"),
        404 | 410 => (io::ErrorKind::NotFound, "the server has no such file"),
        408 | 504 => (io::ErrorKind::TimedOut, "the server took too long"),
        425 | 429 | 503 => (io::ErrorKind::ResourceBusy, "the server is busy"),
        _ => (io::ErrorKind::Other, "the server did not fulfil the request"),
    };
    let error = Error::io("read", io::Error::new(kind, format!("{why} (status {})", status.as_u16())));
    match status.as_u16() {
        408 | 425 | 429 | 500 | 502 | 503 | 504 => Failure::Passing(error, wait),
        _ => Failure::Final(error),
    }
}

/// Returns the failure for a request that was not answered.
fn failure(error: ureq::Error) -> Failure {
    let (passing, error) = explained(error);
    let error = Error::io("read", error);
    if passing { Failure::Passing(error, None) } else { Failure::Final(error) }
}

/// Returns why a request was not answered, and whether another attempt may succeed.
pub(crate) fn explained(error: ureq::Error) -> (bool, io::Error) {
    let passing = |kind, text: String| (true, io::Error::new(kind, text));
    match error {
        ureq::Error::Io(error) => (true, told(&error)),
        ureq::Error::Timeout(_) => {
            passing(io::ErrorKind::TimedOut, "the server did not answer in time".into())
        }
        ureq::Error::HostNotFound => passing(io::ErrorKind::HostUnreachable, "the host was not found".into()),
        ureq::Error::ConnectionFailed => {
            passing(io::ErrorKind::ConnectionRefused, "no connection could be made".into())
        }
        ureq::Error::Protocol(error) => {
            passing(io::ErrorKind::InvalidData, format!("the answer is not valid HTTP: {error}"))
        }
        other => (false, io::Error::other(other.to_string())),
    }
}

/// Returns the error of a connection, with the meaning that it has here.
fn told(error: &io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
    if let Some(ureq::Error::Timeout(_)) = inner {
        return io::Error::new(io::ErrorKind::TimedOut, "the server stopped in the middle of its answer");
    }
    io::Error::new(error.kind(), error.to_string())
}
