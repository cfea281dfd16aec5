//! The server behind `script:FILE`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::once;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use jm_providers::{LocalServer, Wire};
use jm_types::{StreamError, StreamErrorKind};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::check;
use crate::deliver::{ConnectionCut, deliver};
use crate::script::{Script, ScriptTurn};
use crate::stream_events;

/// Answers requests on this machine, turn after turn, until it is dropped.
#[derive(Debug)]
pub struct ScriptServer {
    port: u16,
    state: Arc<ServerState>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct ServerState {
    script: Script,
    next: AtomicUsize,
    asked: Mutex<Vec<ServedRequest>>,
}

/// One request, and when its answer was all said.
#[derive(Debug)]
struct ServedRequest {
    body: String,
    began: Instant,
    answered: Option<Instant>,
}

type ResponseBody = UnsyncBoxBody<Bytes, ConnectionCut>;

impl ScriptServer {
    /// Listens on a free port of the loopback and answers until it is dropped.
    pub async fn start(script: Script) -> Result<Self, StreamError> {
        let failed = |error: std::io::Error| {
            StreamError::new(StreamErrorKind::Connection, format!("no port to listen on: {error}"))
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let state =
            Arc::new(ServerState { script, next: AtomicUsize::new(0), asked: Mutex::default() });
        let task = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self { port, state, task })
    }

    /// The address that a vendor's own client would be given.
    pub fn base_url(&self, wire: Wire) -> String {
        let version = match wire {
            Wire::Anthropic => "",
            Wire::OpenaiResponses | Wire::OpenaiChat => "/v1",
            Wire::Gemini => "/v1beta",
        };
        format!("http://127.0.0.1:{}{version}", self.port)
    }

    /// The bodies of the requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.state.asked().iter().map(|asked| asked.body.clone()).collect()
    }

    /// How long the other side took between the end of each answer and its next request.
    pub fn pauses(&self) -> Vec<Duration> {
        let asked = self.state.asked();
        let pairs = asked.windows(2);
        pairs.filter_map(|two| Some(two[1].began.duration_since(two[0].answered?))).collect()
    }
}

impl LocalServer for ScriptServer {}

impl Drop for ScriptServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Connections end with the server, because their tasks belong to its own.
async fn accept(listener: TcpListener, state: Arc<ServerState>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let service = service_fn(|request| answer(Arc::clone(&state), request));
            let served = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
            // A cut connection is what the script wanted, and a lost client is its own affair.
            drop(served);
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(
    state: Arc<ServerState>,
    request: Request<Incoming>,
) -> Result<Response<ResponseBody>, hyper::Error> {
    let began = Instant::now();
    let wire = state.script.wire();
    let path = request.uri().path().to_owned();
    let bytes = request.into_body().collect().await?.to_bytes();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let place = state.note_asked(ServedRequest { body: text.clone(), began, answered: None });
    let wanted = check::path_fits(wire, &path);
    let body: Result<Value, String> =
        serde_json::from_str(&text).map_err(|error| error.to_string());
    let seen = wanted.and(body).and_then(|body| check::check(wire, &body, &state.script));
    let seen = match seen {
        Ok(seen) => seen,
        Err(why) => return Ok(refuse(wire, 400, &why)),
    };
    let number = state.next.fetch_add(1, Ordering::SeqCst);
    let Some(turn) = state.script.turn(number) else {
        return Ok(refuse(wire, 400, &format!("the script has no turn {}", number + 1)));
    };
    if let Err(why) = seen.meets(&turn.expect) {
        return Ok(refuse(wire, 400, &format!("turn {} of the script: {why}", number + 1)));
    }
    let ended = Arc::clone(&state);
    Ok(respond(wire, turn, number, move || ended.note_answered(place)))
}

fn respond(
    wire: Wire,
    turn: &ScriptTurn,
    number: usize,
    ended: impl FnOnce() + Send + 'static,
) -> Response<ResponseBody> {
    let mut response = match turn.status {
        Some(status) => {
            let usual = || stream_events::refusal(wire, status, "as the script says").to_string();
            with_status(status, turn.body.clone().unwrap_or_else(usual), "application/json")
        }
        None => {
            let end = once(async move { ended() }).filter_map(|()| async { None });
            let body = StreamBody::new(deliver(wire, turn, number).chain(end));
            let mut response = Response::new(body.boxed_unsync());
            set(&mut response, "content-type", "text/event-stream");
            response
        }
    };
    for (name, value) in &turn.headers {
        set(&mut response, name, value);
    }
    response
}

fn refuse(wire: Wire, status: u16, why: &str) -> Response<ResponseBody> {
    with_status(status, stream_events::refusal(wire, status, why).to_string(), "application/json")
}

fn with_status(status: u16, body: String, kind: &str) -> Response<ResponseBody> {
    let body = Full::new(Bytes::from(body)).map_err(ConnectionCut::from).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() =
        hyper::StatusCode::from_u16(status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    set(&mut response, "content-type", kind);
    response
}

fn set(response: &mut Response<ResponseBody>, name: &str, value: &str) {
    let name = hyper::header::HeaderName::from_bytes(name.as_bytes());
    if let (Ok(name), Ok(value)) = (name, value.parse()) {
        response.headers_mut().insert(name, value);
    }
}

impl ServerState {
    fn asked(&self) -> std::sync::MutexGuard<'_, Vec<ServedRequest>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_asked(&self, one: ServedRequest) -> usize {
        let mut asked = self.asked();
        asked.push(one);
        asked.len() - 1
    }

    fn note_answered(&self, place: usize) {
        if let Some(asked) = self.asked().get_mut(place) {
            asked.answered = Some(Instant::now());
        }
    }
}
