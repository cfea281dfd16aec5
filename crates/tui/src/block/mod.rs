//! The blocks of a transcript: pure functions from data to lines.
//!
//! Law: a block is drawn once, when it is finished, for the width it finds then.

pub mod call;
pub mod diff;
pub mod headline;
pub mod numbers;
pub mod output;

use jm_types::text::one_line;

use crate::text::{Line, Role, Style};

/// The first lines of a conversation: who answers, where, and how to get help.
pub fn greeting(version: &str, model: &str, root: &str) -> Vec<Line> {
    let name = Line::of(format!("Journeyman {version}"), Style::of(Role::Accent));
    let place = format!(" · {} · {}", one_line(model), one_line(root));
    let help = "/help lists keys and commands · Ctrl-D quits";
    vec![name.add(place, Role::Muted), Line::of(help, Role::Muted)]
}

/// Names with what they are, one a line.
pub fn rows(rows: &[(String, String)], width: usize) -> Vec<Line> {
    let names = rows.iter().map(|(name, _)| Line::text(name).width()).max().unwrap_or_default();
    let row = |(name, what): &(String, String)| {
        let name = Line::text("  ").add(one_line(name), Role::Accent).padded(names + 4);
        name.add(one_line(what), Role::Muted).cut(width)
    };
    rows.iter().map(row).collect()
}

/// The person's words as they were sent.
pub fn person(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mark = if number == 0 { "> " } else { "  " };
        lines.push(Line::of(mark, Role::Accent).add(line, Role::Person));
    }
    lines
}

/// Thinking, folded to one line.
pub fn thinking(text: &str, seconds: Option<f64>, width: usize) -> Line {
    let words = text.split_whitespace().count();
    let first = text.trim().lines().next().unwrap_or_default();
    let time = seconds.map(|it| format!(" {}", numbers::seconds(it))).unwrap_or_default();
    let head = format!("thinking{time} · {words} words · ");
    let style = Style::of(Role::Muted).with(crate::text::Attributes::ITALIC);
    Line::of(head, Role::Muted).add(first, style).cut(width)
}

/// How urgent a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// News.
    Info,
    /// Something to look at.
    Warning,
    /// Something failed.
    Error,
}

/// Something the person should know, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The colour.
    pub tone: Tone,
    /// The words.
    pub text: String,
    /// The next step for the person.
    pub hint: Option<String>,
}

impl Note {
    /// A note without alarm.
    pub fn info(text: impl Into<String>) -> Self {
        Self { tone: Tone::Info, text: text.into(), hint: None }
    }

    /// A note to look at.
    pub fn warning(text: impl Into<String>) -> Self {
        Self { tone: Tone::Warning, text: text.into(), hint: None }
    }

    /// A note of a failure.
    pub fn error(text: impl Into<String>) -> Self {
        Self { tone: Tone::Error, text: text.into(), hint: None }
    }

    /// Adds the next step for the person.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The lines of a note.
pub fn note(note: &Note) -> Vec<Line> {
    let (mark, role) = match note.tone {
        Tone::Info => ("· ", Role::Muted),
        Tone::Warning => ("! ", Role::Warning),
        Tone::Error => ("✗ ", Role::Failure),
    };
    let text_role = if note.tone == Tone::Info { Role::Muted } else { Role::Text };
    let mut lines: Vec<Line> = Vec::new();
    for (number, line) in note.text.lines().enumerate() {
        let mark = if number == 0 { mark } else { "  " };
        lines.push(Line::of(mark, role).add(line, text_role));
    }
    lines.extend(note.hint.iter().map(|hint| Line::of(format!("  hint: {hint}"), Role::Muted)));
    lines
}

/// A call whose result somebody else supplies (FR-TUI-04).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The vendor's id of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// JSON text.
    pub arguments: String,
}

/// Calls that are not run here, and how to answer them.
pub fn waiting(calls: &[Waiting], width: usize) -> Vec<Line> {
    let mut lines = vec![Line::of("Tools are not run here. These calls wait:", Role::Warning)];
    for call in calls {
        let mut line = Line::text("  ").add(&call.id, Role::Accent).add("  ", Role::Text);
        line.append(headline::headline(&call.name, &call.arguments));
        lines.push(line.cut(width));
    }
    lines.push(Line::of("  answer each: /tool ID RESULT", Role::Muted));
    lines
}
