//! From a server that was started to a connection that speaks one revision.
//!
//! Law: the era is a property of the connection. After a probe that nobody answered the server is started
//! anew, because what it will make of two beginnings on one pipe is unknown.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use jm_types::text::{one_line, reveal};
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService,
};
use rmcp::transport::IntoTransport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout_at};

use super::connection::ConnectionSettings;
use super::handler::Handler;
use super::http::HttpEndpoint;
use super::link::{GuardedReader, LinkWatch, MOST_LINE};

/// The longest reason that is passed on of a server's words.
const MOST_REASON: usize = 400;

/// The two generations of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// `server/discover`, since 2026-07-28.
    Modern,
    /// `initialize`, up to 2025-11-25.
    Legacy,
}

impl Era {
    /// The name in the file that remembers it.
    pub fn word(self) -> &'static str {
        match self {
            Era::Modern => "modern",
            Era::Legacy => "legacy",
        }
    }

    /// Reads such a name.
    pub fn of_word(word: &str) -> Option<Self> {
        [Era::Modern, Era::Legacy].into_iter().find(|era| era.word() == word)
    }

    fn of(version: &ProtocolVersion) -> Self {
        if version.has_initialize() { Era::Legacy } else { Era::Modern }
    }
}

/// The way to a server.
pub enum Endpoint {
    /// A program on this machine, spoken to through its pipes.
    Process(StartPipes),
    /// A server somewhere else, spoken to by requests.
    Http(HttpEndpoint),
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Endpoint::Process(_) => f.write_str("Process"),
            Endpoint::Http(endpoint) => endpoint.fmt(f),
        }
    }
}

/// Starts the server's process anew.
pub type StartPipes = Box<dyn Fn() -> Result<ServerPipes, String> + Send + Sync>;

/// A server's process with our ends of its pipes.
#[derive(Debug)]
pub struct ServerPipes {
    /// Our end of its standard input.
    pub stdin: OwnedFd,
    /// Our end of its standard output.
    pub stdout: OwnedFd,
    /// Ends the process when it is dropped or told to.
    pub process: Box<dyn StartedServer>,
}

/// The process of a server. Ends when it is dropped.
pub trait StartedServer: Send + std::fmt::Debug {
    /// Waits so long for its end, then ends it. Says how it ended, such as `signal 9`.
    fn end(&mut self, patience: Duration) -> Option<String>;

    /// The end of what it wrote to standard error.
    fn last_words(&self) -> String;
}

/// A connection that is established.
pub(crate) struct Link {
    pub(crate) running: RunningService<RoleClient, Handler>,
    pub(crate) watch: Arc<LinkWatch>,
    pub(crate) process: Option<Box<dyn StartedServer>>,
    pub(crate) era: Era,
    pub(crate) revision: String,
}

enum Beginning {
    Remembered(Era),
    Probe,
}

enum NoLink {
    /// It did not answer the probe, and said nothing else.
    Silent,
    Fault(String),
}

/// Starts the server and finds out what it speaks.
pub(crate) async fn establish(
    settings: &ConnectionSettings,
    handler: &Handler,
    deadline: Instant,
) -> Result<Link, String> {
    let begin = |beginning| attempt(settings, handler, beginning, deadline);
    if let Some(era) = settings.era
        && let Ok(link) = begin(Beginning::Remembered(era)).await
    {
        return Ok(link);
    }
    match begin(Beginning::Probe).await {
        Ok(link) => Ok(link),
        // Another beginning over HTTP costs nothing, and there are servers that say yes to all they do not know.
        Err(NoLink::Fault(why)) if matches!(settings.endpoint, Endpoint::Http(_)) => {
            begin(Beginning::Remembered(Era::Legacy)).await.map_err(|_| why)
        }
        Err(NoLink::Fault(why)) => Err(why),
        Err(NoLink::Silent) => match begin(Beginning::Remembered(Era::Legacy)).await {
            Ok(link) => Ok(link),
            Err(NoLink::Fault(why)) => Err(why),
            Err(NoLink::Silent) => Err("it says nothing".to_owned()),
        },
    }
}

async fn attempt(
    settings: &ConnectionSettings,
    handler: &Handler,
    beginning: Beginning,
    deadline: Instant,
) -> Result<Link, NoLink> {
    let watch = LinkWatch::new();
    let start = match &settings.endpoint {
        Endpoint::Process(start) => start,
        Endpoint::Http(endpoint) => {
            let transport = endpoint.transport(&watch).map_err(NoLink::Fault)?;
            return begin(settings, handler, (transport, watch, None), beginning, deadline).await;
        }
    };
    let ServerPipes { stdin, stdout, process } = start().map_err(NoLink::Fault)?;
    let fault = |error: std::io::Error| NoLink::Fault(error.to_string());
    let reader = pipe::Receiver::from_owned_fd(stdout).map_err(fault)?;
    let writer = pipe::Sender::from_owned_fd(stdin).map_err(fault)?;
    let reader = GuardedReader::new(reader, Arc::clone(&watch));
    // The guard's limit is reached first, and says so.
    let transport =
        AsyncRwTransport::new_client(reader, writer).with_max_line_length(MOST_LINE + 1);
    begin(settings, handler, (transport, watch, Some(process)), beginning, deadline).await
}

async fn begin<T, E, A>(
    settings: &ConnectionSettings,
    handler: &Handler,
    (transport, watch, mut process): (T, Arc<LinkWatch>, Option<Box<dyn StartedServer>>),
    beginning: Beginning,
    deadline: Instant,
) -> Result<Link, NoLink>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let mut serving = Box::pin(handler.clone().serve_with_lifecycle(transport, mode(&beginning)));
    let probe_ends = Instant::now() + settings.probe;
    let mut outcome = match beginning {
        Beginning::Probe => timeout_at(probe_ends.min(deadline), &mut serving).await.ok(),
        Beginning::Remembered(_) => None,
    };
    // Over HTTP every request has an answer, so silence is slowness.
    let is_silent = process.is_some() && !watch.was_heard();
    if outcome.is_none() && matches!(beginning, Beginning::Probe) && is_silent {
        return Err(NoLink::Silent);
    }
    if outcome.is_none() {
        outcome = timeout_at(deadline, &mut serving).await.ok();
    }
    drop(serving);
    match outcome {
        Some(Ok(running)) => {
            let version = running.peer_info().map(|info| info.protocol_version.clone());
            let version = version.unwrap_or(ProtocolVersion::LATEST_WITH_INITIALIZE);
            let (era, revision) = (Era::of(&version), version.to_string());
            Ok(Link { running, watch, process, era, revision })
        }
        Some(Err(error)) => {
            let why = watch.fault().unwrap_or_else(|| reason(&error));
            Err(NoLink::Fault(match &mut process {
                Some(process) => with_end(why, process.as_mut()),
                None => why,
            }))
        }
        None => {
            let seconds = settings.start_timeout.as_secs();
            let why = format!("it was not ready within {seconds} s");
            let words = process.map(|process| process.last_words()).unwrap_or_default();
            Err(NoLink::Fault(with_words(why, &words)))
        }
    }
}

fn mode(beginning: &Beginning) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match beginning {
        Beginning::Remembered(Era::Modern) => ClientLifecycleMode::Discover { preferred_versions },
        Beginning::Remembered(Era::Legacy) => ClientLifecycleMode::Initialize,
        Beginning::Probe => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
    }
}

/// A server's words on one line, fit for a terminal and not long.
pub(crate) fn cleaned(text: &str) -> String {
    let text = reveal(&one_line(text));
    match text.char_indices().nth(MOST_REASON) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn reason(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::ConnectionClosed(_) => "it closed the connection".to_owned(),
        ClientInitializeError::JsonRpcError(error) => cleaned(&error.message),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => reason(fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<String> = server_supported.iter().map(ToString::to_string).collect();
            format!("it speaks only {}", cleaned(&theirs.join(", ")))
        }
        other => cleaned(&other.to_string()),
    }
}

/// The reason with how the process ended.
pub(crate) fn with_end(why: String, process: &mut dyn StartedServer) -> String {
    let why = match process.end(Duration::from_millis(500)) {
        Some(ending) => format!("{why} ({})", cleaned(&ending)),
        None => why,
    };
    with_words(why, &process.last_words())
}

fn with_words(why: String, words: &str) -> String {
    match words.trim().lines().next_back() {
        Some(last) => format!("{why}; its last output: {}", cleaned(last)),
        None => why,
    }
}
