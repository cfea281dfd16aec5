//! The connection on two streams, our standard input and output: newline-delimited JSON, nothing else on the output.
//!
//! Law: messages go out in the order in which they were given. A client that vanishes, or that reads nothing while
//! megabytes wait for it, is gone, and whoever waits for its answer is told so.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc as std_mpsc};
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CancelRequestNotification, CreateElicitationRequest, CreateElicitationResponse, Error,
    ReadTextFileRequest, ReadTextFileResponse, RequestId, RequestPermissionRequest,
    RequestPermissionResponse, SessionId, SessionNotification, SessionUpdate,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use crate::message::{ClientLine, ClientMessage, read_line};

/// The longest line that a client may send.
const MOST_LINE: u64 = 64 * 1024 * 1024;
/// Messages that wait for us; past this the client waits.
const MOST_WAITING: usize = 64;
/// Bytes that wait for the client; past this it is taken for gone.
const MOST_UNREAD: usize = 64 * 1024 * 1024;

type Waiter = Box<dyn FnOnce(Result<Value, Error>) + Send>;

/// The client's end, for whoever tells it or asks it something.
#[derive(Clone)]
pub struct AcpClient(Arc<Shared>);

/// The client's messages, in order; ends with the client.
pub type AcpInput = mpsc::Receiver<ClientMessage>;

struct Shared {
    output: std_mpsc::Sender<Outgoing>,
    unread: AtomicUsize,
    next: AtomicI64,
    /// `None` once the client is gone.
    waiters: Mutex<Option<HashMap<i64, Waiter>>>,
    gone: watch::Sender<bool>,
}

enum Outgoing {
    Line(Vec<u8>),
    /// Everything before it was written.
    Flushed(std_mpsc::Sender<()>),
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum AskFailure {
    #[error("the client is gone")]
    Gone,
    #[error("the client did not answer in time")]
    Late,
    #[error("the client refused: {0}")]
    Refused(String),
}

impl std::fmt::Debug for AcpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AcpClient").finish()
    }
}

/// Begins to read and to write, each on a thread of its own, because a terminal, a file and a socket are not read
/// in one way otherwise.
pub fn connect(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> std::io::Result<(AcpClient, AcpInput)> {
    let (sender, lines) = std_mpsc::channel();
    let shared = Arc::new(Shared {
        output: sender,
        unread: AtomicUsize::new(0),
        next: AtomicI64::new(1),
        waiters: Mutex::new(Some(HashMap::new())),
        gone: watch::channel(false).0,
    });
    let client = AcpClient(shared);
    let writer = client.clone();
    std::thread::Builder::new()
        .name("acp output".to_owned())
        .spawn(move || writer.write_all(&lines, output))?;
    let (messages, received) = mpsc::channel(MOST_WAITING);
    let reader = client.clone();
    std::thread::Builder::new().name("acp input".to_owned()).spawn(move || {
        reader.read_all(BufReader::new(input), &messages);
        reader.end();
    })?;
    Ok((client, received))
}

impl AcpClient {
    /// Tells of something in a session.
    pub fn update(&self, session: &SessionId, update: SessionUpdate) {
        let params = SessionNotification::new(session.clone(), update);
        self.send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }

    /// Answers a request.
    pub fn respond<T: Serialize>(&self, id: &RequestId, answer: &Result<T, Error>) {
        match answer {
            Ok(result) => self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
            Err(error) => self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error})),
        }
    }

    /// Asks the person behind the client.
    pub async fn ask_permission(
        &self,
        request: &RequestPermissionRequest,
    ) -> Result<RequestPermissionResponse, AskFailure> {
        let (sender, receiver) = oneshot::channel();
        let answered = move |answer| sender.send(answer).unwrap_or_default();
        let id = self.ask("session/request_permission", request, Box::new(answered))?;
        let _asking = Asking { client: self, id, withdrawal: Withdrawal::Silent };
        receiver.await.map_or(Err(AskFailure::Gone), decoded)
    }

    /// Asks the person behind the client to fill in a form. A question that nobody waits for any more is withdrawn.
    pub async fn create_elicitation(
        &self,
        request: &CreateElicitationRequest,
    ) -> Result<CreateElicitationResponse, AskFailure> {
        let (sender, receiver) = oneshot::channel();
        let answered = move |answer| sender.send(answer).unwrap_or_default();
        let id = self.ask("elicitation/create", request, Box::new(answered))?;
        let _asking = Asking { client: self, id, withdrawal: Withdrawal::Told };
        receiver.await.map_or(Err(AskFailure::Gone), decoded)
    }

    /// Reads a file as the client has it, with what is not saved yet. Waits, so it is for a thread of its own.
    pub fn read_text_file(
        &self,
        request: &ReadTextFileRequest,
        patience: Duration,
    ) -> Result<ReadTextFileResponse, AskFailure> {
        let (sender, receiver) = std_mpsc::channel();
        let answered = move |answer| sender.send(answer).unwrap_or_default();
        let id = self.ask("fs/read_text_file", request, Box::new(answered))?;
        let _asking = Asking { client: self, id, withdrawal: Withdrawal::Silent };
        match receiver.recv_timeout(patience) {
            Ok(answer) => decoded(answer),
            Err(std_mpsc::RecvTimeoutError::Timeout) => Err(AskFailure::Late),
            Err(std_mpsc::RecvTimeoutError::Disconnected) => Err(AskFailure::Gone),
        }
    }

    /// Waits until the client is gone.
    pub async fn gone(&self) {
        let mut receiver = self.0.gone.subscribe();
        // The sender lives as long as we do.
        receiver.wait_for(|is_gone| *is_gone).await.map(drop).unwrap_or_default();
    }

    /// Waits until everything is written, or the patience ends.
    pub fn flush(&self, patience: Duration) {
        let (sender, flushed) = std_mpsc::channel();
        if self.0.output.send(Outgoing::Flushed(sender)).is_ok() {
            flushed.recv_timeout(patience).unwrap_or_default();
        }
    }

    fn ask(
        &self,
        method: &'static str,
        params: &impl Serialize,
        waiter: Waiter,
    ) -> Result<i64, AskFailure> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        self.waiters().as_mut().ok_or(AskFailure::Gone)?.insert(id, waiter);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        Ok(id)
    }

    fn waiters(&self) -> MutexGuard<'_, Option<HashMap<i64, Waiter>>> {
        self.0.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let unread = self.0.unread.fetch_add(line.len(), Ordering::Relaxed) + line.len();
        if unread > MOST_UNREAD || self.0.output.send(Outgoing::Line(line)).is_err() {
            self.end();
        }
    }

    /// The client is gone: nobody waits for it any more.
    fn end(&self) {
        drop(self.waiters().take());
        self.0.gone.send_replace(true);
    }

    fn write_all(&self, lines: &std_mpsc::Receiver<Outgoing>, mut output: impl Write) {
        while let Ok(outgoing) = lines.recv() {
            match outgoing {
                Outgoing::Line(line) => {
                    if output.write_all(&line).and_then(|()| output.flush()).is_err() {
                        return self.end();
                    }
                    self.0.unread.fetch_sub(line.len(), Ordering::Relaxed);
                }
                // Nobody may wait for it any more.
                Outgoing::Flushed(sender) => sender.send(()).unwrap_or_default(),
            }
        }
    }

    fn read_all(&self, mut input: impl BufRead, messages: &mpsc::Sender<ClientMessage>) {
        loop {
            let mut line = Vec::new();
            match input.by_ref().take(MOST_LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if !line.ends_with(b"\n") && line.len() as u64 == MOST_LINE => {
                    let error = Error::invalid_request().data("the line is too long");
                    return self.respond::<Value>(&RequestId::Null, &Err(error));
                }
                Ok(_) => {}
            }
            match read_line(&line) {
                ClientLine::Message(message) => {
                    if messages.blocking_send(message).is_err() {
                        return;
                    }
                }
                ClientLine::Answer { id, answer } => {
                    let waiter = self.waiters().as_mut().and_then(|waiters| waiters.remove(&id));
                    // One that nobody waits for comes too late, or for the second time.
                    if let Some(waiter) = waiter {
                        waiter(answer);
                    }
                }
                ClientLine::Faulty { id, error } => self.respond::<Value>(&id, &Err(error)),
                ClientLine::Ignored => {}
            }
        }
    }
}

fn decoded<T: DeserializeOwned>(answer: Result<Value, Error>) -> Result<T, AskFailure> {
    let value = answer.map_err(|error| AskFailure::Refused(error.message))?;
    serde_json::from_value(value).map_err(|error| AskFailure::Refused(error.to_string()))
}

/// While this lives, somebody waits for the answer.
struct Asking<'a> {
    client: &'a AcpClient,
    id: i64,
    withdrawal: Withdrawal,
}

/// The end of a question that was not answered.
enum Withdrawal {
    /// The client ends it by itself, with the turn or in time.
    Silent,
    /// `$/cancel_request`.
    Told,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let waiter = self.client.waiters().as_mut().and_then(|waiters| waiters.remove(&self.id));
        match (waiter, &self.withdrawal) {
            (Some(_), Withdrawal::Told) => {
                let params = CancelRequestNotification::new(RequestId::Number(self.id));
                let method = "$/cancel_request";
                self.client.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
            }
            (Some(_), Withdrawal::Silent) | (None, _) => {}
        }
    }
}
