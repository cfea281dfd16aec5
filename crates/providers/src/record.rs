//! A vendor's real traffic, kept in a form that the scripted server replays.
//!
//! Law: keys stand in headers, and headers are never kept; what a body repeats of a key is removed.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use crate::secret::Secret;
use crate::wire::Wire;

/// The file of a recording. It is opened by the one who may.
#[derive(Clone)]
pub struct TrafficRecorder {
    sink: Arc<Mutex<Sink>>,
}

struct Sink {
    out: Box<dyn Write + Send>,
    /// The head of the file is written with the first turn.
    begun: bool,
    failure: Option<String>,
    /// Somebody was told of the failure.
    is_told: bool,
}

impl std::fmt::Debug for TrafficRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TrafficRecorder")
    }
}

impl TrafficRecorder {
    /// A recorder that writes JSON lines to `out`.
    pub fn new(out: impl Write + Send + 'static) -> Self {
        let out = Box::new(out);
        let sink = Sink { out, begun: false, failure: None, is_told: false };
        Self { sink: Arc::new(Mutex::new(sink)) }
    }

    pub(crate) fn tape(&self, wire: Wire, key: Option<Secret>) -> Tape {
        Tape { recorder: self.clone(), wire, key, turn: Arc::default() }
    }

    /// Why nothing more is recorded, if that is so; said once. A recording that fails must not fail
    /// the conversation.
    pub fn failure(&self) -> Option<String> {
        let mut sink = self.sink();
        let failure = sink.failure.clone().filter(|_| !sink.is_told);
        sink.is_told |= failure.is_some();
        failure
    }

    fn write(&self, wire: Wire, turn: &str) {
        let mut sink = self.sink();
        if sink.failure.is_some() {
            return;
        }
        let head = match std::mem::replace(&mut sink.begun, true) {
            true => String::new(),
            false => format!("wire = \"{}\"\n", wire.name()),
        };
        let text = format!("{head}{turn}");
        let written = sink.out.write_all(text.as_bytes()).and_then(|()| sink.out.flush());
        sink.failure = written.err().map(|error| error.to_string());
    }

    fn sink(&self) -> std::sync::MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer to one request, until it is written down.
pub(crate) struct Tape {
    recorder: TrafficRecorder,
    wire: Wire,
    key: Option<Secret>,
    turn: Arc<Mutex<Option<Heard>>>,
}

struct Heard {
    status: u16,
    request: String,
    answer: Vec<u8>,
}

impl Tape {
    pub(crate) fn begin(&self, status: u16, request: &str) {
        let heard = Heard { status, request: request.to_owned(), answer: Vec::new() };
        *self.turn() = Some(heard);
    }

    pub(crate) fn hear(&self, bytes: &[u8]) {
        if let Some(heard) = self.turn().as_mut() {
            heard.answer.extend_from_slice(bytes);
        }
    }

    /// Writes the turn down.
    pub(crate) fn end(&self) {
        let Some(heard) = self.turn().take() else { return };
        let answer = self.harmless(&String::from_utf8_lossy(&heard.answer));
        let body = match heard.status {
            200 => format!("raw = {}\n", quoted(&answer)),
            status => format!("status = {status}\nbody = {}\n", quoted(&answer)),
        };
        let request = quoted(&self.harmless(&heard.request));
        self.recorder.write(self.wire, &format!("\n[[turn]]\nrequest = {request}\n{body}"));
    }

    fn turn(&self) -> std::sync::MutexGuard<'_, Option<Heard>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn harmless(&self, text: &str) -> String {
        self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.remove_from(text))
    }
}

/// A string of TOML. JSON's escapes are TOML's, but for one character.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
