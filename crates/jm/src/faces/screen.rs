//! How a conversation is shown as it goes on: as text for a person, as JSON lines for a program.
//!
//! Law: no call's arguments stand in the model's text, and nothing reaches a terminal unsanitised.

use std::io::IsTerminal;

use anyhow::Result;
use jm_engine::Batch;
use jm_tui::block::Note;
use jm_tui::block::headline::headline;
use jm_tui::msg::Msg;
use jm_tui::printer::Printer;
use jm_tui::text::{Surroundings, Theme};
use jm_types::text::one_line;
use jm_types::text::sanitize::Sanitizer;
use jm_types::{StreamEvent, Toolset, Usage};
use serde_json::json;

use super::answer::{Answer, Outcome};
use super::{messages, print, prompt};
use crate::agent::Agent;
use crate::cli::Common;
use crate::locations;

/// Hears a turn as it happens.
pub(crate) trait Screen {
    fn event(&mut self, event: &StreamEvent) -> Result<()>;
    fn response_ends(&mut self, usage: Usage) -> Result<()>;
    fn calls(&mut self, batch: &Batch) -> Result<()>;
    fn results(&mut self, batch: &Batch) -> Result<()>;
    fn note(&mut self, text: &str) -> Result<()>;
}

/// The stream for a model's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    Out,
    /// With everything about them, because standard output is for the answer alone.
    Err,
}

/// True where a conversation is drawn in blocks: a person sees both streams in a terminal that can. The
/// document of `gemini` prescribes its lines (GO-TERM), and whoever debugs wants JSON.
pub(crate) fn draws_blocks(common: &Common, toolset: Toolset) -> bool {
    let is_seen = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    let prescribed = toolset == Toolset::Gemini || common.debug;
    is_seen && !prescribed && !Surroundings(&locations::environment()).wants_plain()
}

fn theme() -> Theme {
    Surroundings(&locations::environment()).theme()
}

/// Text on standard output, everything about it on standard error; in a terminal that can show them, the
/// blocks of the screen.
pub(crate) struct Plain {
    blocks: Option<Box<Printer>>,
    words: Words,
    /// Said once before the first words of a turn.
    prefix: Option<&'static str>,
    prefix_said: bool,
    sanitizer: Sanitizer,
    is_terminal: bool,
    /// Calls are named with what matters of their arguments.
    names_arguments: bool,
    /// The last thing written was not the end of a line.
    in_line: bool,
    /// The model's words since the last call.
    pub(crate) last_text: String,
}

impl Plain {
    pub(crate) fn new(prefix: Option<&'static str>, words: Words) -> Self {
        let is_terminal = match words {
            Words::Out => std::io::stdout().is_terminal(),
            Words::Err => std::io::stderr().is_terminal(),
        };
        Self {
            blocks: None,
            words,
            prefix,
            prefix_said: false,
            sanitizer: Sanitizer::default(),
            is_terminal,
            names_arguments: false,
            in_line: false,
            last_text: String::new(),
        }
    }

    /// The same, with the blocks of the screen where this terminal shows them.
    pub(crate) fn drawn(prefix: Option<&'static str>, agent: &Agent) -> Self {
        let blocks = agent.driver.draws_blocks.then(|| Box::new(Printer::new(theme())));
        let is_prescribed = agent.driver.engine.core().registry.toolset() == Toolset::Gemini;
        let names_arguments = !is_prescribed && std::io::stderr().is_terminal();
        Self { blocks, names_arguments, ..Self::new(prefix, Words::Out) }
    }

    /// A new turn: the prefix may be said again.
    pub(crate) fn begin_turn(&mut self) {
        self.prefix_said = false;
        self.last_text.clear();
    }

    /// True if the message was drawn.
    fn draw(&mut self, msgs: impl IntoIterator<Item = Msg>) -> Result<bool> {
        let Some(printer) = &mut self.blocks else { return Ok(false) };
        let text: String = msgs.into_iter().map(|msg| printer.hear(msg)).collect();
        if !text.is_empty() {
            print::text(&text)?;
        }
        Ok(true)
    }

    fn write(&mut self, text: &str) -> Result<()> {
        let clean = if self.is_terminal { self.sanitizer.push(text) } else { text.to_owned() };
        if clean.is_empty() {
            return Ok(());
        }
        let prefix = self.prefix.filter(|_| !std::mem::replace(&mut self.prefix_said, true));
        self.in_line = !clean.ends_with('\n');
        self.put(&format!("{}{clean}", prefix.unwrap_or_default()))
    }

    fn put(&self, text: &str) -> Result<()> {
        match self.words {
            Words::Out => print::text(text),
            Words::Err => prompt::show(text),
        }
    }

    fn end_line(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.in_line, false) { self.put("\n") } else { Ok(()) }
    }
}

impl Screen for Plain {
    fn event(&mut self, event: &StreamEvent) -> Result<()> {
        if let StreamEvent::Text { delta, .. } = event {
            self.last_text.push_str(delta);
        }
        if self.draw(messages::of_event(event))? {
            return Ok(());
        }
        match event {
            StreamEvent::Text { delta, .. } => self.write(delta),
            StreamEvent::Retrying { wait_ms, why } => {
                print::note(&format!("jm: {}; retrying in {wait_ms} ms", one_line(why)));
                Ok(())
            }
            StreamEvent::Thinking { .. }
            | StreamEvent::CallStarted { .. }
            | StreamEvent::CallArguments { .. }
            | StreamEvent::CallSealed { .. }
            | StreamEvent::PartSealed { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Stop { .. } => Ok(()),
        }
    }

    fn response_ends(&mut self, _: Usage) -> Result<()> {
        self.draw([Msg::ResponseEnds])?;
        self.end_line()
    }

    fn calls(&mut self, batch: &Batch) -> Result<()> {
        self.last_text.clear();
        if self.draw([messages::of_calls(batch)])? {
            return Ok(());
        }
        for entry in &batch.entries {
            let call = &entry.call;
            let shown = match self.names_arguments {
                true => headline(&call.name, &call.arguments).plain(),
                false => one_line(&call.name),
            };
            print::note(&format!("→ {shown}"));
        }
        Ok(())
    }

    fn results(&mut self, batch: &Batch) -> Result<()> {
        if self.draw(messages::of_results(batch))? {
            return Ok(());
        }
        for answer in batch.entries.iter().filter_map(Answer::of) {
            let first = answer.display.lines().next().unwrap_or_default();
            match answer.verdict {
                Outcome::Ran => {}
                Outcome::Failed | Outcome::Denied | Outcome::NeedsApproval => {
                    print::note(&format!("  {}: {}", one_line(answer.name), one_line(first)));
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, text: &str) -> Result<()> {
        if self.draw([Msg::Note(Note::info(text))])? {
            return Ok(());
        }
        self.end_line()?;
        print::note(&format!("jm: {text}"));
        Ok(())
    }
}

/// One object a line (docs/formats/run.md).
#[derive(Debug, Default)]
pub(crate) struct Lines {
    pub(crate) last_text: String,
}

impl Screen for Lines {
    fn event(&mut self, event: &StreamEvent) -> Result<()> {
        match event {
            StreamEvent::Text { delta, .. } | StreamEvent::Thinking { delta, .. }
                if delta.is_empty() =>
            {
                Ok(())
            }
            StreamEvent::Text { delta, .. } => {
                self.last_text.push_str(delta);
                print::json(&json!({"type": "text", "text": delta}))
            }
            StreamEvent::Thinking { delta, .. } => {
                print::json(&json!({"type": "thinking", "text": delta}))
            }
            StreamEvent::Retrying { wait_ms, why } => {
                print::json(&json!({"type": "retry", "wait_ms": wait_ms, "why": why}))
            }
            StreamEvent::CallStarted { .. }
            | StreamEvent::CallArguments { .. }
            | StreamEvent::CallSealed { .. }
            | StreamEvent::PartSealed { .. }
            | StreamEvent::Usage(_)
            | StreamEvent::Stop { .. } => Ok(()),
        }
    }

    fn response_ends(&mut self, usage: Usage) -> Result<()> {
        print::json(&json!({"type": "usage", "usage": usage}))
    }

    fn calls(&mut self, batch: &Batch) -> Result<()> {
        self.last_text.clear();
        for entry in &batch.entries {
            let call = &entry.call;
            print::json(&json!({
                "type": "call", "call": entry.key, "id": call.id, "name": call.name,
                "arguments": call.arguments,
            }))?;
        }
        Ok(())
    }

    fn results(&mut self, batch: &Batch) -> Result<()> {
        for answer in batch.entries.iter().filter_map(Answer::of) {
            print::json(&json!({"type": "result", "result": answer}))?;
        }
        Ok(())
    }

    fn note(&mut self, text: &str) -> Result<()> {
        print::json(&json!({"type": "note", "text": text}))
    }
}
