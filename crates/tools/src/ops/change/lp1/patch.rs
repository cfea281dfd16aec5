//! The parts of a patch, and the text they print as.

use std::num::NonZeroUsize;

/// A patch, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The files, in the order of the text.
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
    /// The operations, in the order of the text.
    pub operations: Vec<PatchOperation>,
}

/// One operation with its place in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchOperation {
    /// The patch line of the keyword.
    pub line: usize,
    /// The place in its section, from 1.
    pub number: usize,
    /// The change that it makes.
    pub action: PatchAction,
}

/// The change that an operation makes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "docs/formats/lp1.md says it")]
pub enum PatchAction {
    Replace {
        target: PatchTarget,
        new: Vec<String>,
    },
    InsertAfter {
        target: PatchTarget,
        new: Vec<String>,
    },
    InsertBefore {
        target: PatchTarget,
        new: Vec<String>,
    },
    Erase {
        target: PatchTarget,
    },
    Append {
        /// The lines at the end.
        new: Vec<String>,
    },
    Prepend {
        /// The lines at the beginning.
        new: Vec<String>,
    },
    FinalNewline(FinalNewline),
}

/// The lines that an operation looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchTarget {
    /// At least one line, without terminators.
    pub find: Vec<String>,
    /// The number of the hit that is meant; without it there must be exactly one.
    pub occurrence: Option<NonZeroUsize>,
}

/// The state of the last line's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinalNewline {
    /// The file ends with a newline.
    Present,
    /// The file ends without one.
    Absent,
}

impl Section {
    /// The first operation that has nothing to work on if the file is missing. One that comes
    /// after a `T`, `B` or `N` works on what those create.
    pub fn needs_file(&self) -> Option<&PatchOperation> {
        self.operations.first().filter(|operation| operation.action.needs_file())
    }
}

impl PatchAction {
    /// Tells whether a missing file is an error, because there is no line to find.
    pub fn needs_file(&self) -> bool {
        self.target().is_some()
    }

    /// The lines that it looks for; `None` for one that needs none.
    pub fn target(&self) -> Option<&PatchTarget> {
        match self {
            PatchAction::Replace { target, .. }
            | PatchAction::InsertAfter { target, .. }
            | PatchAction::InsertBefore { target, .. }
            | PatchAction::Erase { target } => Some(target),
            PatchAction::Append { .. }
            | PatchAction::Prepend { .. }
            | PatchAction::FinalNewline(_) => None,
        }
    }

    /// The lines that it adds.
    pub fn new_lines(&self) -> &[String] {
        match self {
            PatchAction::Replace { new, .. }
            | PatchAction::InsertAfter { new, .. }
            | PatchAction::InsertBefore { new, .. }
            | PatchAction::Append { new }
            | PatchAction::Prepend { new } => new,
            PatchAction::Erase { .. } | PatchAction::FinalNewline(_) => &[],
        }
    }

    fn keyword(&self) -> char {
        match self {
            PatchAction::Replace { .. } => 'R',
            PatchAction::InsertAfter { .. } => 'I',
            PatchAction::InsertBefore { .. } => 'P',
            PatchAction::Erase { .. } => 'E',
            PatchAction::Append { .. } => 'T',
            PatchAction::Prepend { .. } => 'B',
            PatchAction::FinalNewline(_) => 'N',
        }
    }

    fn print(&self, out: &mut String) {
        out.push(self.keyword());
        if let Some(occurrence) = self.target().and_then(|target| target.occurrence) {
            out.push_str(&format!(" {occurrence}"));
        }
        if let PatchAction::FinalNewline(state) = self {
            out.push_str(match state {
                FinalNewline::Present => " +",
                FinalNewline::Absent => " -",
            });
        }
        out.push('\n');
        if let Some(target) = self.target() {
            print_block(&target.find, out);
        }
        if !matches!(self, PatchAction::Erase { .. } | PatchAction::FinalNewline(_)) {
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
