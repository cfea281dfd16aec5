//! ReadAny: a file of any kind, for a model: text in other encodings as text, binary files described.
//!
//! Law: what is UTF-8 is read as [`Read`] reads it. A guess at an encoding is said, and what is no text is never
//! passed off as such.

use jm_files::OpenFile;
use jm_types::{Digest, Extent, ToolError};

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{Execution, Operation};
use crate::ops::binary::is_binary;
use crate::ops::charset::{decode, encoding_of};
use crate::ops::file_kind::describe;
use crate::ops::read::{LineRange, Read, ReadOutcome, sniff};
use crate::ops::reading::open_existing;
use crate::tool::{PathUse, Use};

/// A read that decodes other encodings and describes binary files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadAny {
    /// The file and its lines.
    pub read: Read,
    /// The bytes of what is no text, instead of a line about it.
    pub as_base64: bool,
}

/// The content, or a description of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnyOutcome {
    /// UTF-8, as it is.
    Text(String),
    /// Text of another encoding, by its name.
    Decoded {
        /// The text as UTF-8.
        text: String,
        /// The name of the file's own encoding.
        encoding: &'static str,
    },
    /// A line about a file that is no text.
    Described(String),
    /// Its bytes, where they were asked for.
    Base64(String),
}

impl ReadAny {
    fn run(&self, scope: &Scope) -> Result<AnyOutcome, ToolError> {
        if self.as_base64 {
            return Ok(match self.read.run(scope)? {
                ReadOutcome::Text(text) => AnyOutcome::Text(text),
                ReadOutcome::Base64 { text, .. } => AnyOutcome::Base64(text),
            });
        }
        let (path, mut file) = open_existing(scope, &self.read.path)?;
        let head = sniff(&mut file)?;
        let size = file.size;
        let is_text = !is_binary(&head, head.len() as u64 == size);
        if is_text {
            match self.read.text(scope, &path, file, head)? {
                ReadOutcome::Text(text) => return Ok(AnyOutcome::Text(text)),
                // Other bytes came later.
                ReadOutcome::Base64 { .. } => {}
            }
        }
        let limit = scope.limits.read_bytes.min(scope.capacity as u64);
        let (bytes, is_cut) = OpenFile::open(&path)?.read_up_to(limit)?;
        let encoding = encoding_of(&bytes, b"").filter(|_| !is_cut);
        let Some(encoding) = encoding else {
            return Ok(AnyOutcome::Described(describe(&self.read.path, &bytes, size)));
        };
        let whole = decode(encoding, &bytes);
        let text = match self.read.range {
            Some(range) => lines(&whole, range),
            None => whole,
        };
        scope.seen.record(&path, Digest::of(&bytes), Extent::Part);
        Ok(AnyOutcome::Decoded { text, encoding: encoding.name() })
    }
}

fn lines(text: &str, LineRange { first, last }: LineRange) -> String {
    let skipped = usize::try_from(first.saturating_sub(1)).unwrap_or(usize::MAX);
    let count = last.map_or(usize::MAX, |last| {
        usize::try_from((last + 1).saturating_sub(first)).unwrap_or(usize::MAX)
    });
    text.split_inclusive('\n').skip(skipped).take(count).collect()
}

impl Operation for ReadAny {
    type Outcome = AnyOutcome;

    fn paths(&self) -> Vec<PathUse> {
        vec![PathUse::new(&self.read.path, Use::Read)]
    }

    fn foresee(&self, scope: &Scope) -> Foreseen {
        self.read.foresee(scope)
    }

    fn perform(self, execution: Execution<'_>) -> Result<AnyOutcome, ToolError> {
        self.run(execution.scope)
    }
}
