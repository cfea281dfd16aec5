//! Lines of files that match a POSIX extended expression (IK-GREP).
//!
//! Law: the file list is a POSIX glob, links and special files are passed over, and so is what
//! cannot be opened; only a wrong expression is an error.

use jm_files::{OpenDirectory, Sandbox};
use jm_tools::operation::{Execution, Operation};
use jm_tools::{Foreseen, PathUse, Scope, Use};
use jm_types::{ErrorKind, ToolError};

use super::ere::translate;
use super::glob::PosixGlob;

/// The largest size of a compiled expression.
const MOST_COMPILED: usize = 64 * 1024 * 1024;
/// The most attempts at a back reference on one line: enough for two of
/// them on a line of six thousand characters.
const MOST_TRIED: usize = 20_000_000;
/// Files are searched in memory up to here; the rest of a larger one is not looked at.
const MOST_SEARCHED: u64 = 256 * 1024 * 1024;

/// A search for lines in the files of a pattern, as grep(1) does it with `-E`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PosixGrep {
    /// The extended regular expression.
    pub pattern: String,
    /// The files to search in.
    pub files: PosixGlob,
}

/// The lines that a search found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GrepOutcome {
    /// `file:line: text` for each line that matches, as far as it can be shown.
    pub lines: Vec<Vec<u8>>,
    /// The number of lines that match, shown or not.
    pub count: usize,
}

/// A compiled expression that says of a line whether it matches.
#[derive(Debug)]
pub struct Expression(Matcher);

#[derive(Debug)]
enum Matcher {
    Linear(regex::bytes::Regex),
    BackReferences(fancy_regex::Regex),
}

impl Expression {
    /// Translates and compiles an expression; one that is wrong or too large is an error.
    pub fn new(pattern: &str) -> Result<Self, ToolError> {
        let bad = |why: String| {
            ToolError::new(ErrorKind::BadPattern { message: format!("Invalid pattern: {why}") })
        };
        let translated = translate(pattern).map_err(|error| bad(error.to_string()))?;
        let too_big = |_| bad("Memory exhausted".to_owned());
        if translated.refers_back {
            let built = fancy_regex::RegexBuilder::new(&translated.pattern)
                .backtrack_limit(MOST_TRIED)
                .build();
            return built
                .map(|regex| Self(Matcher::BackReferences(regex)))
                .map_err(|_| bad("Memory exhausted".to_owned()));
        }
        regex::bytes::RegexBuilder::new(&translated.pattern)
            .size_limit(MOST_COMPILED)
            .build()
            .map(|regex| Self(Matcher::Linear(regex)))
            .map_err(too_big)
    }

    /// Matches one line. Where the expression runs away the answer is not known, and an error says so.
    pub fn matches(&self, line: &[u8]) -> Result<bool, ToolError> {
        match &self.0 {
            Matcher::Linear(regex) => Ok(regex.is_match(line)),
            Matcher::BackReferences(regex) => {
                regex.is_match(&*String::from_utf8_lossy(line)).map_err(|_| {
                    let length = line.len();
                    let message = format!(
                        "Invalid pattern: its back references cannot be decided on a line of {length} bytes"
                    );
                    ToolError::new(ErrorKind::BadPattern { message })
                })
            }
        }
    }
}

impl PosixGrep {
    /// Searches file by file, and keeps lines as far as the output limit allows.
    pub fn run(&self, scope: &Scope) -> Result<GrepOutcome, ToolError> {
        let expression = Expression::new(&self.pattern)?;
        let sandbox = &scope.workspace.sandbox;
        let mut outcome = GrepOutcome::default();
        let mut room = scope.output_limit;
        for path in self.files.run(scope).unwrap_or_default() {
            scope.cancel.checkpoint()?;
            let Some(bytes) = content(sandbox, &path) else { continue };
            for (number, line) in lines(&bytes).enumerate() {
                if !expression.matches(line)? {
                    continue;
                }
                scope.cancel.checkpoint()?;
                outcome.count += 1;
                if room > 0 {
                    let place = format!("{path}:{}: ", number + 1);
                    outcome.lines.push([place.as_bytes(), line].concat());
                    room = room.saturating_sub(place.len() + line.len());
                }
            }
        }
        Ok(outcome)
    }
}

impl Operation for PosixGrep {
    type Outcome = GrepOutcome;

    fn paths(&self) -> Vec<PathUse> {
        vec![PathUse::new(self.files.base(), Use::List)]
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        Foreseen::NOTHING
    }

    fn perform(self, execution: Execution<'_>) -> Result<GrepOutcome, ToolError> {
        self.run(execution.scope)
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let count = if bytes.is_empty() { 0 } else { usize::MAX };
    whole.split(|byte| *byte == b'\n').take(count)
}

/// A regular file's bytes; nothing of links, directories, devices and what may not be read.
fn content(sandbox: &Sandbox, path: &str) -> Option<Vec<u8>> {
    let (parent, name) = path
        .rsplit_once('/')
        .map_or((".", path), |(parent, name)| (if parent.is_empty() { "/" } else { parent }, name));
    let directory = OpenDirectory::open(&sandbox.resolve(parent).ok()?).ok()?;
    let mut file = directory.open_file(sandbox, name.as_ref()).ok()??;
    file.read_up_to(MOST_SEARCHED).ok().map(|(bytes, _)| bytes)
}
