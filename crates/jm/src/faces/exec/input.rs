//! Lines from standard input, as they come, each of bounded length.

use std::io::{BufRead, BufReader, Read};

use tokio::sync::mpsc;

/// A longer line is not a tool call that any limit accepts.
const LONGEST: usize = 16 * 1024 * 1024;

#[derive(Debug)]
pub(super) enum Line {
    Text(String),
    /// What is wrong with it.
    Bad(String),
}

/// Read by a thread of its own, since standard input cannot be waited for otherwise.
pub(super) struct Lines {
    receiver: mpsc::Receiver<Line>,
}

impl Lines {
    pub(super) fn from_stdin() -> std::io::Result<Self> {
        let (sender, receiver) = mpsc::channel(1);
        std::thread::Builder::new().spawn(move || {
            let mut input = BufReader::new(std::io::stdin());
            while let Some(line) = read_line(&mut input) {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { receiver })
    }

    pub(super) async fn next(&mut self) -> Option<Line> {
        self.receiver.recv().await
    }
}

fn read_line(input: &mut impl BufRead) -> Option<Line> {
    let mut bytes = Vec::new();
    let limit = LONGEST as u64 + 1;
    match Read::by_ref(input).take(limit).read_until(b'\n', &mut bytes) {
        Ok(0) | Err(_) => return None,
        Ok(_) => {}
    }
    if bytes.len() > LONGEST {
        input.skip_until(b'\n').ok()?;
        return Some(Line::Bad(format!("the line is longer than {LONGEST} bytes")));
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(Line::Text(text)),
        Err(_) => Some(Line::Bad("the line is not UTF-8".to_owned())),
    }
}
