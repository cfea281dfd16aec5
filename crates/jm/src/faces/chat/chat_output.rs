//! The output that a person or an editor reads: notes and words, or JSON lines (docs/formats/chat.md).

use anyhow::Result;
use jm_types::text::one_line;
use serde_json::{Value, json};

use super::ChatEnd;
use crate::faces::screen::{Lines, Plain, Screen, Words};
use crate::faces::{exit, print};

pub(super) enum Teller {
    Plain(Plain),
    Lines(Lines),
}

impl Teller {
    pub(super) fn new(is_json: bool) -> Self {
        match is_json {
            true => Teller::Lines(Lines::default()),
            false => Teller::Plain(Plain::new(None, Words::Out)),
        }
    }

    pub(super) fn screen(&mut self) -> &mut dyn Screen {
        match self {
            Teller::Plain(plain) => plain,
            Teller::Lines(lines) => lines,
        }
    }

    pub(super) fn note(&mut self, text: &str) -> Result<()> {
        self.screen().note(&one_line(text))
    }

    /// The document was written; an editor reads it again.
    pub(super) fn written(&mut self, phase: &str, calls: Vec<Value>) -> Result<()> {
        match self {
            Teller::Plain(_) => {
                for call in calls {
                    let text = |key: &str| one_line(call[key].as_str().unwrap_or_default());
                    print::note(&format!("{}: {} {}", text("status"), text("name"), text("id")));
                }
                Ok(())
            }
            Teller::Lines(_) => {
                print::json(&json!({"type": "document", "phase": phase, "calls": calls}))
            }
        }
    }

    /// Calls that begin to run.
    pub(super) fn running(&mut self, calls: &[Value]) -> Result<()> {
        match self {
            Teller::Plain(_) => Ok(()),
            Teller::Lines(_) => print::json(&json!({"type": "executing", "calls": calls})),
        }
    }

    /// A failure that has no document to be told in.
    pub(super) fn failed(&mut self, session: &str, error: &anyhow::Error) -> Result<()> {
        match self {
            Teller::Plain(_) => Ok(()),
            Teller::Lines(_) => print::json(&json!({
                "type": "end", "reason": "error", "message": format!("{error:#}"), "line": null,
                "session": session, "exit": exit::USAGE,
            })),
        }
    }

    pub(super) fn ended(
        &mut self,
        session: &str,
        end: &ChatEnd,
        pending: Vec<Value>,
    ) -> Result<u8> {
        let (reason, code) = match end {
            ChatEnd::Finished => ("finished", exit::RAN),
            ChatEnd::Phase => ("phase", exit::RAN),
            ChatEnd::NothingToSend => ("nothing_to_send", exit::RAN),
            ChatEnd::Pending { .. } => ("pending", exit::DENIED),
            ChatEnd::Overridden => ("override", exit::DENIED),
            ChatEnd::Limit(_) => ("limit", exit::LIMIT),
            ChatEnd::Interrupted => ("interrupted", exit::INTERRUPTED),
            ChatEnd::Conflict(_) => ("conflict", exit::FAILED),
            ChatEnd::Failed(_) => ("failed", exit::FAILED),
        };
        let message = self.message(end);
        match self {
            Teller::Plain(_) => message.iter().for_each(|text| print::note(&format!("jm: {text}"))),
            Teller::Lines(_) => {
                let line = match end {
                    ChatEnd::Pending { line, .. } => Some(*line),
                    _ => None,
                };
                print::json(&json!({
                    "type": "end", "reason": reason, "message": message, "line": line,
                    "session": session, "exit": code, "pending": pending,
                }))?;
            }
        }
        Ok(code)
    }

    fn message(&self, end: &ChatEnd) -> Option<String> {
        Some(match end {
            ChatEnd::Finished | ChatEnd::Phase => return None,
            ChatEnd::NothingToSend => {
                "Nothing to send: write your prompt below the last `@You:`".to_owned()
            }
            ChatEnd::Pending { id, line } => format!(
                "line {line}: {} needs approval: set it to approved or rejected",
                one_line(id)
            ),
            ChatEnd::Overridden => {
                "the text in the placeholder is used as the result; its tool was not run. Run again to send it"
                    .to_owned()
            }
            ChatEnd::Limit(most) => {
                format!("Autopilot stopped – exceeded {most} consecutive turns.")
            }
            ChatEnd::Interrupted => "interrupted".to_owned(),
            ChatEnd::Conflict(why) | ChatEnd::Failed(why) => why.clone(),
        })
    }
}
