//! Lines from standard input, as they come, each of bounded length.

use std::io::{BufRead, BufReader, Read};

use anyhow::{Context, Result};
use tokio::sync::mpsc;

/// A longer line is not a tool call that any limit accepts.
const LONGEST: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub(super) enum Line {
    Text(String),
    /// The fault in it.
    Bad(String),
}

/// Read by a thread of its own, since standard input cannot be waited for otherwise; each only when
/// it is wanted, because where a person types, the next line may be the answer to a question.
pub(super) struct Lines {
    wanted: std::sync::mpsc::Sender<()>,
    receiver: mpsc::Receiver<std::io::Result<Line>>,
    /// How many were given out.
    pub(super) taken: u64,
}

impl Lines {
    pub(super) fn from_stdin() -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel(1);
        let (wanted, wishes) = std::sync::mpsc::channel();
        std::thread::Builder::new().spawn(move || {
            let mut input = BufReader::new(std::io::stdin());
            for () in wishes {
                let Some(line) = read_line(&mut input).transpose() else { return };
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { wanted, receiver, taken: 0 })
    }

    /// `None` at the end. Input that cannot be read has not ended, and is not taken for it.
    pub(super) async fn next(&mut self) -> Result<Option<Line>> {
        // After the end nobody listens, which the answer says too.
        self.wanted.send(()).ok();
        let line = self.receiver.recv().await.transpose().context("standard input")?;
        self.taken += u64::from(line.is_some());
        Ok(line)
    }
}

fn read_line(input: &mut impl BufRead) -> std::io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    let limit = LONGEST as u64 + 1;
    if Read::by_ref(input).take(limit).read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    if bytes.len() > LONGEST {
        input.skip_until(b'\n')?;
        return Ok(Some(Line::Bad(format!("the line is longer than {LONGEST} bytes"))));
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    Ok(Some(match String::from_utf8(bytes) {
        Ok(text) => Line::Text(text),
        Err(_) => Line::Bad("the line is not UTF-8".to_owned()),
    }))
}
