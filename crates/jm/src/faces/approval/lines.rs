//! Questions and answers as lines of JSON, for a program that asks a person itself (`jm run --json --answers`).
//!
//! Law: an answer counts for the question that it fits. It reaches no further than the session.

use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;

use anyhow::{Context, Result};
use jm_system::state::open_input;
use jm_types::{ApprovalAnswer, ApprovalQuestion, OfferedScope};
use serde_json::json;
use tokio::sync::{Mutex, mpsc};

use crate::faces::print;

/// The longest line that is read as an answer.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The stream of answers.
#[derive(Debug)]
pub(crate) struct AnswerLines(Mutex<mpsc::UnboundedReceiver<String>>);

impl AnswerLines {
    /// Reads answers from a file, or from standard input for `-`, one a line.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let source: Box<dyn Read + Send> = match path.as_os_str() == "-" {
            true => Box::new(stdin()),
            false => open_input(path).with_context(|| format!("--answers {}", path.display()))?,
        };
        let (sender, receiver) = mpsc::unbounded_channel();
        // A thread of its own: a read of standard input cannot be called off.
        std::thread::spawn(move || {
            let mut source = BufReader::new(source);
            loop {
                let mut line = String::new();
                match source.by_ref().take(LONGEST).read_line(&mut line) {
                    Ok(count) if count > 0 => {
                        if sender.send(line).is_err() {
                            return;
                        }
                    }
                    // The end, or what is no text: nobody answers any more.
                    Ok(_) | Err(_) => return,
                }
            }
        });
        Ok(Self(Mutex::new(receiver)))
    }

    /// Asks until an answer fits; `None` once there will be no more answers.
    pub(crate) async fn ask(&self, question: &ApprovalQuestion) -> Result<Option<ApprovalAnswer>> {
        let mut question = question.clone();
        for call in &mut question.calls {
            call.always.retain(|offer| offer.scope == OfferedScope::Session);
        }
        let mut lines = self.0.lock().await;
        loop {
            print::json(&json!({"type": "question", "question": question}))?;
            let line = loop {
                match lines.recv().await {
                    None => return Ok(None),
                    Some(line) if line.trim().is_empty() => {}
                    Some(line) => break line,
                }
            };
            let answer = serde_json::from_str::<ApprovalAnswer>(&line).map_err(|e| e.to_string());
            let fits = |answer: ApprovalAnswer| match question.check(&answer) {
                Ok(()) => Ok(answer),
                Err(fault) => Err(fault.to_string()),
            };
            match answer.and_then(fits) {
                Ok(answer) => return Ok(Some(answer)),
                Err(message) => {
                    print::json(&json!({"type": "answer_refused", "message": message}))?;
                }
            }
        }
    }
}
