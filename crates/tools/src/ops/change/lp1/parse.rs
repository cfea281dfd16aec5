//! Reading the text of a patch.
//!
//! Law: nothing is guessed. A line outside a block is a statement that we know or an error, and
//! inside a block only a dot in the first column is looked at.

use std::num::NonZeroUsize;

use super::error::{PatchError, Problem};
use super::patch::{FinalNewline, Patch, PatchAction, PatchOperation, PatchTarget, Section};
use super::syntax::{Block, SyntaxFault};

const BLANKS: [char; 2] = [' ', '\t'];

/// Reads a patch; the error names the line.
pub fn parse(patch: &str) -> Result<Patch, PatchError> {
    let mut reader = Reader::new(patch);
    if reader.statement() != Some("LP1") {
        return Err(reader.error(SyntaxFault::MissingHeader));
    }
    while let Some(statement) = reader.statement() {
        let (keyword, rest) = statement.split_once(BLANKS).unwrap_or((statement, ""));
        let rest = rest.trim_start_matches(BLANKS);
        match keyword {
            "END" => return reader.finish(rest),
            "F" => reader.open_section(rest)?,
            _ => reader.operation(keyword, rest)?,
        }
    }
    Err(reader.error(SyntaxFault::MissingEnd))
}

struct Reader<'a> {
    lines: std::str::SplitTerminator<'a, char>,
    /// The number of the line read last.
    line: usize,
    sections: Vec<Section>,
    in_operation: bool,
}

impl<'a> Reader<'a> {
    fn new(patch: &'a str) -> Reader<'a> {
        let lines = patch.split_terminator('\n');
        Reader { lines, line: 0, sections: Vec::new(), in_operation: false }
    }

    /// The next line, without the CR that a patch in CRLF has before its LF.
    fn next_line(&mut self) -> Option<&'a str> {
        let line = self.lines.next()?;
        self.line += 1;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    /// The next line that is neither blank nor a comment.
    fn statement(&mut self) -> Option<&'a str> {
        self.in_operation = false;
        loop {
            let line = self.next_line()?.trim_matches(BLANKS);
            if !line.is_empty() && !line.starts_with('#') {
                return Some(line);
            }
        }
    }

    fn finish(mut self, rest: &str) -> Result<Patch, PatchError> {
        if !rest.is_empty() || self.statement().is_some() {
            return Err(self.error(SyntaxFault::TextAfterEnd));
        }
        Ok(Patch { sections: self.sections })
    }

    fn open_section(&mut self, rest: &str) -> Result<(), PatchError> {
        // Not yet in a section: the one before has nothing to do with this path.
        let path =
            read_path(rest).map_err(|syntax| PatchError { path: None, ..self.error(syntax) })?;
        self.sections.push(Section { path, line: self.line, operations: Vec::new() });
        Ok(())
    }

    fn operation(&mut self, keyword: &str, rest: &str) -> Result<(), PatchError> {
        self.in_operation = true;
        let line = self.line;
        let action = self.action(keyword, rest)?;
        let Some(section) = self.sections.last_mut() else {
            return Err(PatchError { line, ..self.error(SyntaxFault::OutsideSection) });
        };
        let number = section.operations.len() + 1;
        section.operations.push(PatchOperation { line, number, action });
        Ok(())
    }

    fn action(&mut self, keyword: &str, rest: &str) -> Result<PatchAction, PatchError> {
        Ok(match keyword {
            "R" => {
                let target = self.target(rest)?;
                PatchAction::Replace { target, new: self.block(Block::New)? }
            }
            "I" => {
                let target = self.target(rest)?;
                PatchAction::InsertAfter { target, new: self.block(Block::New)? }
            }
            "P" => {
                let target = self.target(rest)?;
                PatchAction::InsertBefore { target, new: self.block(Block::New)? }
            }
            "E" => PatchAction::Erase { target: self.target(rest)? },
            "T" => PatchAction::Append { new: self.only_block(rest)? },
            "B" => PatchAction::Prepend { new: self.only_block(rest)? },
            "N" => PatchAction::FinalNewline(self.final_newline(rest)?),
            _ => return Err(self.error(unknown(keyword))),
        })
    }

    fn target(&mut self, rest: &str) -> Result<PatchTarget, PatchError> {
        let occurrence = read_occurrence(rest).map_err(|syntax| self.error(syntax))?;
        let statement = self.line;
        let find = self.block(Block::Find)?;
        if find.is_empty() {
            return Err(PatchError { line: statement, ..self.error(SyntaxFault::EmptyFind) });
        }
        Ok(PatchTarget { find, occurrence })
    }

    fn only_block(&mut self, rest: &str) -> Result<Vec<String>, PatchError> {
        if !rest.is_empty() {
            return Err(self.error(SyntaxFault::TextAfterOperation(rest.to_owned())));
        }
        self.block(Block::New)
    }

    fn final_newline(&self, rest: &str) -> Result<FinalNewline, PatchError> {
        match rest {
            "+" => Ok(FinalNewline::Present),
            "-" => Ok(FinalNewline::Absent),
            _ => Err(self.error(SyntaxFault::InvalidFinalNewline(rest.to_owned()))),
        }
    }

    fn block(&mut self, block: Block) -> Result<Vec<String>, PatchError> {
        let opened_at = self.line + 1;
        let mut content = Vec::new();
        while let Some(line) = self.next_line() {
            // The end is looked for first: a lone dot is never content, however stuffed.
            if line.strip_prefix('.').is_some_and(|rest| rest.trim_matches(BLANKS).is_empty()) {
                return Ok(content);
            }
            let line = unstuff(line).map_err(|syntax| self.error(syntax))?;
            content.push(line.to_owned());
        }
        let line = opened_at.min(self.line);
        Err(PatchError { line, ..self.error(SyntaxFault::UnclosedBlock(block)) })
    }

    fn error(&self, syntax: SyntaxFault) -> PatchError {
        let section = self.sections.last();
        let number =
            section.filter(|_| self.in_operation).map(|section| section.operations.len() + 1);
        PatchError {
            line: self.line.max(1),
            path: section.map(|section| section.path.clone()),
            operation: number,
            problem: Problem::Syntax(syntax),
        }
    }
}

fn unstuff(line: &str) -> Result<&str, SyntaxFault> {
    if line.contains('\r') {
        return Err(SyntaxFault::LoneCarriageReturn);
    }
    match line.strip_prefix('.') {
        None => Ok(line),
        Some(rest) if rest.starts_with('.') => Ok(rest),
        Some(_) => Err(SyntaxFault::UnstuffedDot(line.to_owned())),
    }
}

fn unknown(keyword: &str) -> SyntaxFault {
    let number = keyword.strip_prefix(['R', 'I', 'P', 'E']).unwrap_or("");
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit() || "+-".contains(c));
    if !number.is_empty() && is_number(number) {
        return SyntaxFault::InvalidOccurrence(keyword.to_owned());
    }
    SyntaxFault::UnknownOperation(keyword.to_owned())
}

fn read_occurrence(rest: &str) -> Result<Option<NonZeroUsize>, SyntaxFault> {
    if rest.is_empty() {
        return Ok(None);
    }
    let plain = rest.bytes().all(|byte| byte.is_ascii_digit()) && !rest.starts_with('0');
    match rest.parse() {
        Ok(occurrence) if plain => Ok(Some(occurrence)),
        _ => Err(SyntaxFault::InvalidOccurrence(rest.to_owned())),
    }
}

fn read_path(rest: &str) -> Result<String, SyntaxFault> {
    let path = match rest.strip_prefix('"') {
        Some(quoted) => read_quoted(quoted)?,
        None if rest.contains(|c: char| c.is_whitespace() || c == '"') => {
            return Err(SyntaxFault::UnquotedPath(rest.to_owned()));
        }
        None => rest.to_owned(),
    };
    if path.is_empty() {
        return Err(SyntaxFault::EmptyPath);
    }
    Ok(path)
}

/// Reads what follows an opening quote; nothing may follow the closing one.
fn read_quoted(quoted: &str) -> Result<String, SyntaxFault> {
    let mut path = String::new();
    let mut rest = quoted.chars();
    while let Some(next) = rest.next() {
        match next {
            '"' if rest.as_str().is_empty() => return Ok(path),
            '"' => return Err(SyntaxFault::TextAfterPath(rest.as_str().trim().to_owned())),
            '\\' => match rest.next() {
                Some(escaped @ ('"' | '\\')) => path.push(escaped),
                Some(other) => return Err(SyntaxFault::UnknownEscape(other)),
                None => return Err(SyntaxFault::UnclosedQuote),
            },
            plain => path.push(plain),
        }
    }
    Err(SyntaxFault::UnclosedQuote)
}
