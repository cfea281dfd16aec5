//! The session as the pager shows it: everything unfolded, up to a limit.
//!
//! Law: memory is bounded; what goes first is the oldest, which the scrollback and the journal have.

use std::collections::VecDeque;

use crate::block;
use crate::block::call::{CallBlock, State};
use crate::markdown;
use crate::text::{Attributes, Line, Role, Style};

const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Of one result; `jm output` has the rest.
const MOST_RESULT: usize = 256 * 1024;

#[derive(Debug)]
enum Entry {
    Person(String),
    Markdown(String),
    Thinking(String),
    Call(Box<CallBlock>),
    Lines(Vec<Line>),
}

impl Entry {
    fn size(&self) -> usize {
        64 + match self {
            Entry::Person(text) | Entry::Markdown(text) | Entry::Thinking(text) => text.len(),
            Entry::Call(call) => {
                let display = match &call.state {
                    State::Done(end) => end.display.len(),
                    State::Pending | State::Executing { .. } | State::Finished => 0,
                };
                call.arguments.len() + display + call.diff.as_ref().map_or(0, String::len)
            }
            Entry::Lines(lines) => lines.iter().map(|line| line.plain().len() + 64).sum(),
        }
    }

    fn lines(&self, width: usize) -> Vec<Line> {
        match self {
            Entry::Person(text) => block::person(text),
            Entry::Markdown(text) => markdown::render(text, width),
            Entry::Thinking(text) => {
                let style = Style::of(Role::Muted).with(Attributes::ITALIC);
                text.lines().map(|line| Line::of(line, style)).collect()
            }
            Entry::Call(call) => call.whole(width),
            Entry::Lines(lines) => lines.clone(),
        }
    }
}

/// The conversation so far, kept to be drawn anew at another width.
#[derive(Debug, Default)]
pub struct Transcript {
    entries: VecDeque<Entry>,
    bytes: usize,
    is_cut: bool,
}

impl Transcript {
    fn add(&mut self, entry: Entry) {
        self.bytes += entry.size();
        self.entries.push_back(entry);
        while self.bytes > MOST_BYTES
            && let Some(oldest) = self.entries.pop_front()
        {
            self.bytes -= oldest.size();
            self.is_cut = true;
        }
    }

    /// Adds words of the person.
    pub fn person(&mut self, text: &str) {
        self.add(Entry::Person(text.to_owned()));
    }

    /// Adds words of the model.
    pub fn markdown(&mut self, text: String) {
        self.add(Entry::Markdown(text));
    }

    /// Adds thoughts of the model.
    pub fn thinking(&mut self, text: String) {
        self.add(Entry::Thinking(text));
    }

    /// Adds lines that are drawn already.
    pub fn lines(&mut self, lines: &[Line]) {
        self.add(Entry::Lines(lines.to_vec()));
    }

    /// Adds a call that has ended.
    pub fn call(&mut self, mut call: CallBlock) {
        if let State::Done(end) = &mut call.state
            && end.display.len() > MOST_RESULT
        {
            let mut cut = MOST_RESULT;
            while !end.display.is_char_boundary(cut) {
                cut -= 1;
            }
            end.display.truncate(cut);
            end.display.push_str(&format!("\n… cut here; all of it: jm output {}", call.key));
            end.display.shrink_to_fit();
        }
        self.add(Entry::Call(Box::new(call)));
    }

    /// All of it, as lines.
    pub fn whole(&self, width: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        if self.is_cut {
            lines.push(Line::of(
                "… the beginning is in the scrollback and in `jm log`",
                Role::Muted,
            ));
        }
        for entry in &self.entries {
            lines.extend(entry.lines(width));
            lines.push(Line::new());
        }
        lines
    }

    /// The memory that it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let mut transcript = Transcript::default();
        for _ in 0..50 {
            transcript.markdown("x".repeat(1 << 20));
        }
        assert!(transcript.bytes() <= MOST_BYTES);
        assert!(transcript.whole(80)[0].plain().contains("jm log"));
    }
}
