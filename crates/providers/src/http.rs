//! One request over HTTP and its answer, event by event.
//!
//! Law: nothing runs that nobody polls. A dropped stream closes its connection.

use std::collections::VecDeque;
use std::error::Error as _;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use jm_types::{Cancel, StreamError, StreamErrorKind, StreamEvent};
use reqwest::Response;
use reqwest::header::HeaderMap;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use crate::adapter::Decode;
use crate::event_stream::EventStream;
use crate::failure;
use crate::record::Tape;
use crate::retry::{Retry, shows};
use crate::secret::Secret;
use crate::sse::{self, SseEvent, SseParser};

/// How long to wait for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// For TCP and TLS together.
    pub connect: Duration,
    /// The longest silence, before the first byte and between any two.
    pub idle: Duration,
    /// The longest answer, if there is such a thing.
    pub total: Option<Duration>,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        // A model may think for minutes without a word.
        let idle = Duration::from_secs(300);
        Self { connect: Duration::from_secs(15), idle, total: None }
    }
}

/// How much is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerSizes {
    /// The bytes of one event.
    pub event: usize,
    /// The bytes of a whole answer, if they are limited.
    pub answer: Option<u64>,
}

impl Default for AnswerSizes {
    fn default() -> Self {
        Self { event: sse::EVENT_LIMIT, answer: Some(256 * 1024 * 1024) }
    }
}

/// A request that is ready to be sent, any number of times.
pub(crate) struct Exchange {
    pub(crate) client: reqwest::Client,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) decoder: Box<dyn Fn() -> Box<dyn Decode> + Send + Sync>,
    pub(crate) timeouts: HttpTimeouts,
    pub(crate) sizes: AnswerSizes,
    pub(crate) retry: Retry,
    pub(crate) key: Option<Secret>,
    pub(crate) tape: Option<Tape>,
}

const LONGEST_REFUSAL: usize = 64 * 1024;
const BEGINNING: usize = 400;

/// Sends the request when first polled, and again while nothing was shown.
pub(crate) fn stream(exchange: Exchange, cancel: Cancel) -> EventStream {
    let woken = Arc::new(Notify::new());
    let wake = Arc::clone(&woken);
    cancel.on_cancel(move || wake.notify_one());
    let run = Run { exchange, woken, cancel, attempts: 0, shown: false, state: State::Sending };
    Box::pin(unfold(run, |mut run| async move {
        let item = run.next().await?;
        Some((item, run))
    }))
}

struct Run {
    exchange: Exchange,
    woken: Arc<Notify>,
    cancel: Cancel,
    attempts: u32,
    shown: bool,
    state: State,
}

/// An error that may repeat what the server said, and so the key. It leaves a run only without it.
#[derive(Debug)]
struct Unredacted {
    error: StreamError,
    /// Asking again would end the same way, whatever the kind of error.
    is_final: bool,
}

impl From<StreamError> for Unredacted {
    fn from(error: StreamError) -> Self {
        Self { error, is_final: false }
    }
}

impl Unredacted {
    /// Some vendors repeat the key in their answer.
    fn without(self, key: Option<&Secret>) -> StreamError {
        let Some(key) = key else { return self.error };
        let StreamError { kind, message, hint } = self.error;
        let hint = hint.map(|hint| key.remove_from(&hint));
        StreamError { kind, message: key.remove_from(&message), hint }
    }
}

enum State {
    Sending,
    Waiting(Duration),
    Reading(Box<Reading>),
    Over,
}

/// An answer that is being read.
struct Reading {
    bytes: BoxStream<'static, reqwest::Result<Bytes>>,
    parser: SseParser,
    decoder: Box<dyn Decode>,
    events: VecDeque<SseEvent>,
    ready: VecDeque<StreamEvent>,
    received: u64,
    /// The first bytes, until there is an event: what came instead of one.
    beginning: Vec<u8>,
    /// An answer that begins like a JSON object, as far as it came.
    object: Vec<u8>,
    deadline: Option<Instant>,
    /// How it ended, once the last event is delivered.
    ended: Option<Result<(), Unredacted>>,
}

impl Run {
    async fn next(&mut self) -> Option<Result<StreamEvent, StreamError>> {
        loop {
            if matches!(self.state, State::Over) {
                return None;
            }
            let step = tokio::select! {
                biased;
                () = cancelled(&self.cancel, &self.woken) => Err(StreamError::cancelled().into()),
                step = step(&self.exchange, &mut self.state, self.shown) => step,
            };
            match step {
                Ok(None) => {}
                Ok(Some(event)) => {
                    self.shown |= shows(&event);
                    if matches!(event, StreamEvent::Stop { .. }) {
                        self.finish();
                    }
                    return Some(Ok(event));
                }
                Err(error) => return Some(self.fail(error)),
            }
        }
    }

    /// Either the request will be sent again, or this is the end.
    fn fail(&mut self, error: Unredacted) -> Result<StreamEvent, StreamError> {
        let is_final = error.is_final;
        let error = error.without(self.exchange.key.as_ref());
        self.attempts += 1;
        let wait = match self.shown || is_final {
            true => None,
            false => self.exchange.retry.wait(self.attempts, &error),
        };
        self.finish();
        match wait {
            Some(wait) => {
                self.state = State::Waiting(wait);
                let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                Ok(StreamEvent::Retrying { wait_ms, why: error.message })
            }
            None => Err(error),
        }
    }

    fn finish(&mut self) {
        self.state = State::Over;
        if let Some(tape) = &self.exchange.tape {
            tape.end();
        }
    }
}

async fn cancelled(cancel: &Cancel, woken: &Notify) {
    while !cancel.is_cancelled() {
        woken.notified().await;
    }
}

/// One step on; nothing where it led to no event yet.
async fn step(
    exchange: &Exchange,
    state: &mut State,
    shown: bool,
) -> Result<Option<StreamEvent>, Unredacted> {
    match state {
        State::Waiting(wait) => {
            tokio::time::sleep(*wait).await;
            *state = State::Sending;
            Ok(None)
        }
        State::Sending => {
            let response = exchange.send().await?;
            *state = State::Reading(Box::new(exchange.read(response)));
            Ok(None)
        }
        State::Reading(reading) => reading.step(exchange, shown).await,
        State::Over => Ok(None),
    }
}

impl Exchange {
    async fn send(&self) -> Result<Response, Unredacted> {
        let request = self
            .client
            .post(&self.url)
            .headers(self.headers.clone())
            .body(self.body.clone())
            .send();
        let response = within(self.timeouts.idle, request).await?;
        let response = response.map_err(|error| self.unreachable(&error))?;
        if let Some(tape) = &self.tape {
            tape.begin(response.status().as_u16(), &String::from_utf8_lossy(&self.body));
        }
        match response.status().is_success() {
            true => Ok(response),
            false => Err(self.refusal(response).await.into()),
        }
    }

    /// A server of this machine that refuses connections is not running: nothing comes of waiting for it.
    fn unreachable(&self, error: &reqwest::Error) -> Unredacted {
        let why = reasons(error);
        let is_final = self.is_local() && is_refused(error);
        let hint = if is_final { "is the server running?" } else { advice(&why) };
        let message = format!("cannot reach {}: {why}", self.host());
        let error = StreamError::new(StreamErrorKind::Connection, message).hint(hint);
        Unredacted { error, is_final }
    }

    fn is_local(&self) -> bool {
        let url = reqwest::Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(reqwest::Url::host_str).unwrap_or_default();
        matches!(host, "localhost" | "[::1]") || host.starts_with("127.")
    }

    async fn refusal(&self, response: Response) -> StreamError {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = Vec::new();
        let mut bytes = response.bytes_stream();
        // A refusal whose text does not come is still a refusal.
        while let Ok(Some(Ok(chunk))) = timeout(self.timeouts.idle, bytes.next()).await {
            if let Some(tape) = &self.tape {
                tape.hear(&chunk);
            }
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_REFUSAL {
                break;
            }
        }
        let mut error = failure::of_status(status, &headers, &String::from_utf8_lossy(&body));
        error.message = format!("{}: {}", self.host(), error.message);
        error
    }

    fn read(&self, response: Response) -> Reading {
        Reading {
            bytes: response.bytes_stream().boxed(),
            parser: SseParser::new(self.sizes.event),
            decoder: (self.decoder)(),
            events: VecDeque::new(),
            ready: VecDeque::new(),
            received: 0,
            beginning: Vec::new(),
            object: Vec::new(),
            deadline: self.timeouts.total.map(|total| Instant::now() + total),
            ended: None,
        }
    }

    /// Without a name and a password, which an address may hold too.
    fn host(&self) -> String {
        let url = reqwest::Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(|url| Some((url.host_str()?, url.port())));
        match host {
            Some((host, Some(port))) => format!("{host}:{port}"),
            Some((host, None)) => host.to_owned(),
            None => "the vendor".to_owned(),
        }
    }
}

impl Reading {
    async fn step(
        &mut self,
        exchange: &Exchange,
        shown: bool,
    ) -> Result<Option<StreamEvent>, Unredacted> {
        if let Some(event) = self.ready.pop_front() {
            return Ok(Some(event));
        }
        if let Some(event) = self.events.pop_front() {
            if let Err(error) = self.decoder.event(&event, &mut self.ready) {
                self.events.clear();
                self.ended = Some(Err(error.into()));
            }
            return Ok(None);
        }
        match self.ended.take() {
            Some(Ok(())) => return Err(failure::truncated("it has no end").into()),
            Some(Err(error)) => return Err(error),
            None => {}
        }
        let idle = exchange.timeouts.idle;
        let left = self.deadline.map(|deadline| deadline.duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            let message = "the answer took too long";
            return Err(StreamError::new(StreamErrorKind::IdleTimeout, message).into());
        }
        let wait = left.map_or(idle, |left| left.min(idle));
        match within(wait, self.bytes.next()).await {
            Ok(Some(Ok(chunk))) => {
                if let Err(error) = self.take(&chunk, exchange) {
                    self.ended = Some(Err(error.into()));
                }
            }
            Ok(Some(Err(error))) => self.end(Some(&causes(&error)), shown),
            Ok(None) => self.end(None, shown),
            Err(error) => {
                self.end(None, shown);
                // A turn that had come to its end needs nothing more.
                if matches!(self.ended, Some(Err(_))) {
                    self.ended = Some(Err(error.into()));
                }
            }
        }
        Ok(None)
    }

    fn take(&mut self, chunk: &[u8], exchange: &Exchange) -> Result<(), StreamError> {
        if let Some(tape) = &exchange.tape {
            tape.hear(chunk);
        }
        self.received += chunk.len() as u64;
        if exchange.sizes.answer.is_some_and(|most| self.received > most) {
            let most = exchange.sizes.answer.unwrap_or_default();
            return Err(too_large(format!("the answer is larger than {most} bytes")));
        }
        if self.beginning.len() < BEGINNING {
            self.beginning.extend_from_slice(&chunk[..chunk.len().min(BEGINNING)]);
        }
        if is_object(&self.beginning) && self.object.len() + chunk.len() <= exchange.sizes.event {
            self.object.extend_from_slice(chunk);
        }
        self.parser.push(chunk, &mut self.events).map_err(|sse::TooLarge| {
            too_large(format!("an event is larger than {} bytes", exchange.sizes.event))
        })
    }

    /// Reads an answer that is one JSON object instead of a stream; `None` where the vendor has no such form.
    fn whole_object(&mut self) -> Option<Result<(), StreamError>> {
        let value = serde_json::from_slice(&self.object).ok()?;
        self.decoder.whole(&value, &mut self.ready)
    }

    /// Nothing more comes, because it is all or because the connection broke.
    fn end(&mut self, broke: Option<&str>, shown: bool) {
        if broke.is_none()
            && !shown
            && let Some(answered) = self.whole_object()
        {
            self.ended = Some(answered.map_err(Unredacted::from));
            return;
        }
        let ended = self.decoder.end(&mut self.ready).map_err(|error| match broke {
            Some(why) => failure::truncated(why),
            None if !shown && !looks_like_events(&self.beginning) => {
                failure::malformed(format_args!(
                    "not an event stream: {}",
                    failure::excerpt(&String::from_utf8_lossy(&self.beginning))
                ))
                .hint(failure::ELSEWHERE)
            }
            None => error,
        });
        self.ended = Some(ended.map_err(Unredacted::from));
    }
}

/// True for an answer that began like a JSON object.
fn is_object(beginning: &[u8]) -> bool {
    beginning.trim_ascii_start().first() == Some(&b'{')
}

/// True where nobody listens at the address.
fn is_refused(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(inner) = cause {
        let kind = inner.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        if kind == Some(std::io::ErrorKind::ConnectionRefused) {
            return true;
        }
        cause = inner.source();
    }
    false
}

/// True for an answer that began like a stream of events; an empty one may have been about to.
fn looks_like_events(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.is_empty() || ["data", "event", ":", "id", "retry"].iter().any(|one| text.starts_with(one))
}

fn too_large(message: String) -> StreamError {
    StreamError::new(StreamErrorKind::TooLarge, message)
}

async fn within<T>(wait: Duration, work: impl Future<Output = T>) -> Result<T, StreamError> {
    timeout(wait, work).await.map_err(|_| {
        let message = format!("no data for {:.1} s", wait.as_secs_f64());
        StreamError::new(StreamErrorKind::IdleTimeout, message)
            .hint("the provider may be overloaded; try again")
    })
}

/// Why a request could not be sent: the causes, without what only repeats that and where to.
fn reasons(error: &reqwest::Error) -> String {
    let text = error.source().map_or_else(|| error.to_string(), causes);
    text.strip_prefix("client error (Connect): ").map(str::to_owned).unwrap_or(text)
}

fn advice(why: &str) -> &'static str {
    match why.contains("InvalidContentType") {
        true => "the server does not speak TLS: its address may begin with http:, not https:",
        false => "check the network, the proxy and the base URL",
    }
}

/// An error with its causes, which is where the reason stands.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
