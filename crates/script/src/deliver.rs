//! A turn's events as bytes on the wire, with whatever goes wrong on the way.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use hyper::body::Frame;
use jm_providers::Wire;

use crate::script::{LineEnd, ScriptTurn, StreamFault};
use crate::stream_events::{self, StreamPiece};

const LONG_STALL: u64 = 3_600_000;

/// The connection breaks here.
#[derive(Debug, thiserror::Error)]
#[error("the script cuts the connection here")]
pub(crate) struct ConnectionCut;

pub(crate) fn deliver(
    wire: Wire,
    turn: &ScriptTurn,
    number: usize,
) -> impl Stream<Item = Result<Frame<Bytes>, ConnectionCut>> + Send + use<> {
    let pieces = match &turn.raw {
        Some(_) => VecDeque::new(),
        None => stream_events::pieces(wire, turn, number).into(),
    };
    let raw = turn.raw.clone().map(String::into_bytes);
    let bom = turn.fault.bom.then(|| b"\xef\xbb\xbf".to_vec());
    let waiting = [bom, raw].into_iter().flatten().collect();
    let delivery =
        Delivery { wire, pieces, waiting, fault: turn.fault.clone(), events: 0, seen: 0, bytes: 0 };
    unfold(delivery, |mut delivery| async move {
        let item = delivery.next().await?;
        Some((item.map(Frame::data), delivery))
    })
}

struct Delivery {
    wire: Wire,
    pieces: VecDeque<StreamPiece>,
    /// Bytes that are made and not yet sent.
    waiting: VecDeque<Vec<u8>>,
    fault: StreamFault,
    /// Events sent, and events seen, which counts those that were left out.
    events: usize,
    seen: usize,
    bytes: usize,
}

impl Delivery {
    async fn next(&mut self) -> Option<Result<Bytes, ConnectionCut>> {
        loop {
            if let Some(bytes) = self.waiting.pop_front() {
                return Some(self.send(bytes).await);
            }
            if self.fault.cut_after == Some(self.events) {
                return Some(Err(cut().await));
            }
            if self.fault.stall_after == Some(self.events) {
                self.fault.stall_after = None;
                pause(self.fault.stall_ms.unwrap_or(LONG_STALL)).await;
            }
            if let Some(bytes) = self.injected() {
                self.waiting.push_back(bytes);
                continue;
            }
            match self.pieces.pop_front()? {
                StreamPiece::Pause { ms } => pause(ms).await,
                StreamPiece::Event { name, data } => self.event(name, &data),
                StreamPiece::Repeat { name, data, times } => {
                    self.event(name, &data);
                    if times > 1 {
                        self.pieces.push_front(StreamPiece::Repeat {
                            name,
                            data,
                            times: times - 1,
                        });
                    }
                }
            }
        }
    }

    fn event(&mut self, name: &str, data: &str) {
        self.seen += 1;
        if self.fault.omit.contains(&(self.seen - 1)) {
            return;
        }
        self.events += 1;
        let end = match self.fault.line_end {
            LineEnd::Lf => "\n",
            LineEnd::Crlf => "\r\n",
            LineEnd::Cr => "\r",
        };
        let comment =
            if self.fault.keep_alive { format!(": keep-alive{end}{end}") } else { String::new() };
        let name = if name.is_empty() { String::new() } else { format!("event: {name}{end}") };
        self.waiting.push_back(format!("{comment}{name}data: {data}{end}{end}").into_bytes());
    }

    fn injected(&mut self) -> Option<Vec<u8>> {
        let place = self.fault.inject.iter().position(|one| one.after == self.events)?;
        let inject = self.fault.inject.remove(place);
        if let Some(word) = inject.error
            && let StreamPiece::Event { name, data } = stream_events::failure(self.wire, &word)
        {
            return Some(format!("event: {name}\ndata: {data}\n\n").into_bytes());
        }
        let huge = inject.bytes.map(|bytes| format!("data: {}\n\n", "x".repeat(bytes)));
        Some(inject.raw.or(huge).unwrap_or_default().into_bytes())
    }

    /// Sends bytes whole, or the next chunk of them.
    async fn send(&mut self, mut bytes: Vec<u8>) -> Result<Bytes, ConnectionCut> {
        if let Some(limit) = self.fault.cut_after_bytes {
            let left = limit - self.bytes.min(limit);
            if left == 0 {
                return Err(cut().await);
            }
            if bytes.len() > left {
                self.waiting.push_front(bytes.split_off(left));
            }
        }
        if let Some(chunk) = self.fault.chunk.filter(|chunk| *chunk > 0 && bytes.len() > *chunk) {
            self.waiting.push_front(bytes.split_off(chunk));
        }
        if self.fault.chunk.is_some() {
            pause(self.fault.chunk_delay_ms).await;
        }
        self.bytes += bytes.len();
        Ok(bytes.into())
    }
}

async fn pause(ms: u64) {
    match ms {
        0 => tokio::task::yield_now().await,
        ms => tokio::time::sleep(Duration::from_millis(ms)).await,
    }
}

/// Waits until everything sent before the cut is on its way.
async fn cut() -> ConnectionCut {
    tokio::time::sleep(Duration::from_millis(2)).await;
    ConnectionCut
}

impl From<Infallible> for ConnectionCut {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
