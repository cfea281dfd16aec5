//! LP1, the line patch: what a patch says, before it meets a file.
//!
//! Law: a value here is a well formed patch. Every find block has a line, every occurrence counts
//! from 1, and printing a patch and parsing it again gives the same patch.

use std::num::NonZeroUsize;

pub use apply::apply;
pub use error::{Hits, Miss, PatchError, Problem, Unpatchable};
pub use locate::{is_already_applied, target_lines};
pub(super) use nearest::nearest;
pub use nearest::{DiffersIn, Nearest};
pub use parse::parse;
pub use syntax::{Block, Syntax};

mod apply;
mod difference;
mod error;
mod likeness;
mod locate;
mod nearest;
mod parse;
mod syntax;
#[cfg(test)]
mod tests;
mod window;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    pub sections: Vec<Section>,
}

/// The operations on one file, in order. A later section may name the same file again: it
/// continues on what the earlier one left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// As written; which file that is, the caller decides.
    pub path: String,
    /// The patch line of the `F`.
    pub line: usize,
    pub operations: Vec<Operation>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The patch line of the keyword.
    pub line: usize,
    /// The place in its section, from 1.
    pub number: usize,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Replace { target: Target, new: Vec<String> },
    InsertAfter { target: Target, new: Vec<String> },
    InsertBefore { target: Target, new: Vec<String> },
    Erase { target: Target },
    Append { new: Vec<String> },
    Prepend { new: Vec<String> },
    FinalNewline(FinalNewline),
}

/// The lines that an operation looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// At least one line, without terminators.
    pub find: Vec<String>,
    /// Which of several hits; without it there must be exactly one.
    pub occurrence: Option<NonZeroUsize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalNewline {
    Present,
    Absent,
}

impl Section {
    /// The first operation that has nothing to work on if the file is missing. One that comes
    /// after a `T`, `B` or `N` works on what those create.
    pub fn needs_file(&self) -> Option<&Operation> {
        self.operations.first().filter(|operation| operation.action.needs_file())
    }
}

impl Action {
    /// Whether a missing file is an error, because there is no line to find.
    pub fn needs_file(&self) -> bool {
        self.target().is_some()
    }

    pub fn target(&self) -> Option<&Target> {
        match self {
            Action::Replace { target, .. }
            | Action::InsertAfter { target, .. }
            | Action::InsertBefore { target, .. }
            | Action::Erase { target } => Some(target),
            Action::Append { .. } | Action::Prepend { .. } | Action::FinalNewline(_) => None,
        }
    }

    pub fn new_lines(&self) -> &[String] {
        match self {
            Action::Replace { new, .. }
            | Action::InsertAfter { new, .. }
            | Action::InsertBefore { new, .. }
            | Action::Append { new }
            | Action::Prepend { new } => new,
            Action::Erase { .. } | Action::FinalNewline(_) => &[],
        }
    }

    fn keyword(&self) -> char {
        match self {
            Action::Replace { .. } => 'R',
            Action::InsertAfter { .. } => 'I',
            Action::InsertBefore { .. } => 'P',
            Action::Erase { .. } => 'E',
            Action::Append { .. } => 'T',
            Action::Prepend { .. } => 'B',
            Action::FinalNewline(_) => 'N',
        }
    }

    fn print(&self, out: &mut String) {
        out.push(self.keyword());
        if let Some(occurrence) = self.target().and_then(|target| target.occurrence) {
            out.push_str(&format!(" {occurrence}"));
        }
        if let Action::FinalNewline(state) = self {
            out.push_str(match state {
                FinalNewline::Present => " +",
                FinalNewline::Absent => " -",
            });
        }
        out.push('\n');
        if let Some(target) = self.target() {
            print_block(&target.find, out);
        }
        if !matches!(self, Action::Erase { .. } | Action::FinalNewline(_)) {
            print_block(self.new_lines(), out);
        }
    }
}

impl Patch {
    /// The patch as text that parses to the same sections.
    pub fn to_text(&self) -> String {
        let mut out = String::from("LP1\n");
        for section in &self.sections {
            out.push_str(&format!("F {}\n", printed_path(&section.path)));
            for operation in &section.operations {
                operation.action.print(&mut out);
            }
        }
        out.push_str("END\n");
        out
    }
}

fn printed_path(path: &str) -> String {
    if !path.is_empty() && !path.contains(|c: char| c.is_whitespace() || c == '"') {
        return path.to_owned();
    }
    format!("\"{}\"", path.replace('\\', r"\\").replace('"', "\\\""))
}

fn print_block(lines: &[String], out: &mut String) {
    for line in lines {
        if line.starts_with('.') {
            out.push('.');
        }
        out.push_str(line);
        out.push('\n');
    }
    out.push_str(".\n");
}
