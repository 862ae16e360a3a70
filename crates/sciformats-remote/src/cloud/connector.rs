//! The connections of `object_store`, which are those of this crate.

use std::io::{self, Read};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody,
    HttpService,
};
use sciformats_core::Result;
use ureq::Agent;
use ureq::http::request::Parts;
use ureq::http::{HeaderMap, Method, Request, Response, StatusCode, header};

use crate::http::{Gate, SLOWEST, agent, encryption, explained, is_busy, is_identity};
use crate::options::RemoteOptions;

/// The largest answer to a request without a range, such as one for credentials.
const LARGEST: u64 = 1 << 20;

/// Makes the requests of one store.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    agent: Agent,
    /// Why requests cannot be encrypted, if they cannot.
    unencrypted: Option<String>,
    timeout: Duration,
    pub(super) gate: Arc<Gate>,
    /// The number of requests that failed for the moment, each of which is repeated.
    pub(super) failed: Arc<AtomicU64>,
}

impl Connector {
    pub(super) fn new(options: &RemoteOptions) -> Result<Self> {
        Ok(Self {
            agent: agent(options, false)?,
            unencrypted: encryption(options).err().map(|error| error.to_string()),
            timeout: options.timeout,
            gate: Arc::new(Gate::new(options.connections)),
            failed: Arc::default(),
        })
    }

    /// Makes a request and waits for its answer.
    fn answer(&self, parts: Parts, body: &[u8]) -> Result<HttpResponse, HttpError> {
        if let Some(problem) = self.unencrypted.as_ref().filter(|_| parts.uri.scheme_str() == Some("https")) {
            let error = io::Error::new(io::ErrorKind::Unsupported, problem.clone());
            return Err(unanswered((false, error)));
        }
        let most = most(&parts.headers);
        let patience = |bytes: u64| self.timeout.saturating_add(Duration::from_secs(bytes / SLOWEST)); // a bound
        let has_body = matches!(parts.method, Method::PUT | Method::POST | Method::PATCH);
        let response = if has_body {
            let request = self.agent.configure_request(Request::from_parts(parts, body));
            let request = request.timeout_send_body(Some(patience(body.len() as u64)));
            self.agent.run(request.timeout_recv_body(Some(patience(most))).build())
        } else {
            let request = self.agent.configure_request(Request::from_parts(parts, ()));
            self.agent.run(request.timeout_recv_body(Some(patience(most))).build())
        };
        let (parts, body) = response.map_err(|error| unanswered(explained(error)))?.into_parts();
        if parts.status == StatusCode::PARTIAL_CONTENT && !is_identity(&parts.headers) {
            let text = "the store answered with a range of compressed bytes";
            return Err(unanswered((false, io::Error::new(io::ErrorKind::InvalidData, text))));
        }
        let expected = body.content_length();
        let mut bytes = Vec::new();
        let reader = body.into_with_config().limit(u64::MAX).reader();
        reader
            .take(most.saturating_add(1)) // a bound
            .read_to_end(&mut bytes)
            .map_err(|error| unanswered((true, error)))?;
        let came = bytes.len() as u64;
        if came > most {
            let text = "the server answered with more bytes than were requested";
            return Err(unanswered((false, io::Error::new(io::ErrorKind::InvalidData, text))));
        }
        if expected.is_some_and(|expected| came < expected) {
            let text = "the answer ended too early";
            return Err(unanswered((true, io::Error::new(io::ErrorKind::UnexpectedEof, text))));
        }
        Ok(Response::from_parts(parts, bytes.into()))
    }
}

/// Returns the largest number of bytes that a request may be answered with.
fn most(headers: &HeaderMap) -> u64 {
    let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let range = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let wanted = match range {
        Some(("", count)) => count.parse().ok(),
        Some((first, last)) => match (first.parse::<u64>(), last.parse::<u64>()) {
            (Ok(first), Ok(last)) => last.checked_sub(first).and_then(|less| less.checked_add(1)),
            _ => None,
        },
        None => None,
    };
    // An answer that refuses the request is a text.
    wanted.unwrap_or(LARGEST).max(LARGEST)
}

/// Returns the error for a request without an answer, and whether another attempt may succeed.
fn unanswered((passing, error): (bool, io::Error)) -> HttpError {
    let kind = match error.kind() {
        _ if !passing => HttpErrorKind::Decode,
        io::ErrorKind::TimedOut => HttpErrorKind::Timeout,
        io::ErrorKind::ConnectionRefused | io::ErrorKind::HostUnreachable => HttpErrorKind::Connect,
        _ => HttpErrorKind::Interrupted,
    };
    HttpError::new(kind, error)
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl HttpService for Connector {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            // A body in several pieces is only told as a stream, which is what an answer is made of.
            let body = HttpResponseBody::new(body).bytes().await?;
            let turn = self.gate.enter();
            let outcome = self.answer(parts, &body);
            match &outcome {
                Ok(response) if is_busy(response.status().as_u16()) => turn.refused(),
                Ok(_) => turn.answered(),
                Err(_) => {}
            }
            drop(turn);
            let passing = match &outcome {
                Ok(response) => matches!(response.status().as_u16(), 408 | 429 | 500..),
                Err(error) => error.kind() != HttpErrorKind::Decode,
            };
            if passing {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
            outcome
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_bounded() {
        let bound = |range: &str| most(&HeaderMap::from_iter([(header::RANGE, range.parse().unwrap())]));
        assert_eq!(bound("bytes=0-8388607"), 8 << 20);
        assert_eq!(bound("bytes=-3000000"), 3_000_000);
        for other in ["bytes=9-3", "bytes=0-", "lines=1-2", "bytes=5-5", "bytes=0-18446744073709551615"] {
            assert_eq!(bound(other), LARGEST, "{other}");
        }
    }
}
