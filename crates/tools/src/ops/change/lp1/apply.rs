//! Running the operations of one section on a file's bytes.
//!
//! Law: the lines of a file are of one newline kind or the patch is refused, so writing them back
//! with that kind gives the same bytes for every line that no operation touched.

use std::ops::Range;

use jm_files::text::{NewlineKind, Terminator, Text};

use super::error::{Hits, Miss, PatchError, Problem, Unpatchable};
use super::locate::is_already_applied;
use super::nearest::nearest;
use super::patch::{FinalNewline, PatchAction, PatchOperation, PatchTarget, Section};
use super::window::hits;

/// The bytes after the section. `before` is `None` for a missing file, and so is the answer if the
/// section leaves it empty: then there is nothing to create.
pub fn apply(section: &Section, before: Option<&[u8]>) -> Result<Option<Vec<u8>>, PatchError> {
    if let (None, Some(operation)) = (before, section.needs_file()) {
        return Err(operation_error(section, operation, Problem::File(Unpatchable::Missing)));
    }
    let text = Text::new(before.unwrap_or_default().to_vec());
    let mut document = Document::read(&text).map_err(|file| section_error(section, file))?;
    refuse_to_reencode(section, &text)?;
    for operation in &section.operations {
        document.run(&operation.action).map_err(|miss| {
            let miss = explain(miss, section, &text);
            operation_error(section, operation, Problem::Find(miss))
        })?;
    }
    let after = document.render();
    Ok((before.is_some() || !after.is_empty()).then_some(after))
}

fn section_error(section: &Section, file: Unpatchable) -> PatchError {
    PatchError {
        line: section.line,
        path: Some(section.path.clone()),
        operation: None,
        problem: Problem::File(file),
    }
}

fn operation_error(section: &Section, operation: &PatchOperation, problem: Problem) -> PatchError {
    PatchError {
        line: operation.line,
        path: Some(section.path.clone()),
        operation: Some(operation.number),
        problem,
    }
}

/// A file in some other encoding takes ASCII only: we do not know how it writes the rest.
fn refuse_to_reencode(section: &Section, text: &Text) -> Result<(), PatchError> {
    let is_ascii = |action: &PatchAction| action.new_lines().iter().all(|line| line.is_ascii());
    let Some(operation) = section.operations.iter().find(|each| !is_ascii(&each.action)) else {
        return Ok(());
    };
    let Some(offset) = text.foreign_byte() else {
        return Ok(());
    };
    let problem = Problem::File(Unpatchable::ForeignByte { offset });
    Err(operation_error(section, operation, problem))
}

fn explain(miss: Miss, section: &Section, before: &Text) -> Miss {
    match miss {
        Miss::NoMatch { nearest, .. } => {
            Miss::NoMatch { nearest, already_applied: is_already_applied(section, before.bytes()) }
        }
        Miss::NotUnique { .. } | Miss::OutOfRange { .. } => miss,
    }
}

/// A file as the format sees it.
struct Document<'a> {
    mark: &'a [u8],
    lines: Vec<&'a [u8]>,
    terminator: Terminator,
    /// Stays as it was until an `N` says otherwise, also while there are no lines that could end so.
    ends_with_newline: bool,
}

impl<'a> Document<'a> {
    fn read(text: &'a Text) -> Result<Document<'a>, Unpatchable> {
        if text.is_utf16() {
            return Err(Unpatchable::WideEncoding);
        }
        if let Some(offset) = text.lone_cr() {
            return Err(Unpatchable::LoneCarriageReturn { line: text.line_number(offset) });
        }
        let terminator = match text.newline_kind() {
            NewlineKind::None | NewlineKind::Lf => Terminator::Lf,
            NewlineKind::CrLf => Terminator::CrLf,
            NewlineKind::Mixed { lf, crlf, first_differing_line } => {
                return Err(Unpatchable::MixedNewlines { lf, crlf, first_differing_line });
            }
        };
        Ok(Document {
            mark: text.byte_order_mark(),
            lines: text.contents().collect(),
            terminator,
            ends_with_newline: text.ends_with_newline(),
        })
    }

    fn run(&mut self, action: &'a PatchAction) -> Result<(), Miss> {
        match action {
            PatchAction::Replace { target, new } => {
                let found = self.find(target)?;
                self.put(found, new);
            }
            PatchAction::InsertAfter { target, new } => {
                let found = self.find(target)?;
                self.put(found.end..found.end, new);
            }
            PatchAction::InsertBefore { target, new } => {
                let found = self.find(target)?;
                self.put(found.start..found.start, new);
            }
            PatchAction::Erase { target } => {
                let found = self.find(target)?;
                self.put(found, &[]);
            }
            PatchAction::Append { new } => self.put(self.lines.len()..self.lines.len(), new),
            PatchAction::Prepend { new } => self.put(0..0, new),
            PatchAction::FinalNewline(state) => self.end_with(*state),
        }
        Ok(())
    }

    fn find(&self, target: &PatchTarget) -> Result<Range<usize>, Miss> {
        let starts = hits(&self.lines, &target.find);
        let start = match (starts.as_slice(), target.occurrence) {
            ([], _) => {
                let nearest = nearest(&self.lines, &target.find);
                return Err(Miss::NoMatch { nearest, already_applied: false });
            }
            ([only], None) => *only,
            (_, None) => return Err(Miss::NotUnique { hits: Hits::new(&starts) }),
            (_, Some(occurrence)) => *starts.get(occurrence.get() - 1).ok_or_else(|| {
                Miss::OutOfRange { occurrence: occurrence.get(), hits: Hits::new(&starts) }
            })?,
        };
        Ok(start..start + target.find.len())
    }

    fn put(&mut self, range: Range<usize>, new: &'a [String]) {
        self.lines.splice(range, new.iter().map(String::as_bytes));
    }

    fn end_with(&mut self, state: FinalNewline) {
        match state {
            FinalNewline::Present if self.lines.is_empty() => self.lines.push(b""),
            FinalNewline::Absent if self.lines == [b""] => self.lines.clear(),
            FinalNewline::Present | FinalNewline::Absent => {}
        }
        self.ends_with_newline = state == FinalNewline::Present;
    }

    fn render(&self) -> Vec<u8> {
        let terminator = self.terminator.bytes();
        let length: usize = self.lines.iter().map(|line| line.len() + terminator.len()).sum();
        let mut bytes = Vec::with_capacity(self.mark.len() + length);
        bytes.extend_from_slice(self.mark);
        for (index, line) in self.lines.iter().enumerate() {
            bytes.extend_from_slice(line);
            if index + 1 < self.lines.len() || self.ends_with_newline {
                bytes.extend_from_slice(terminator);
            }
        }
        bytes
    }
}
