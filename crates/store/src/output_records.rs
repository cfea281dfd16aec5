//! A call's output as a record names it.

use jm_types::Digest;
use serde::{Deserialize, Serialize};

/// A call's output as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoredOutput {
    /// The streams that had something in them.
    pub streams: Vec<StoredStream>,
}

/// One stream of an output, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredStream {
    /// The stream's name.
    pub stream: OutputStream,
    /// How much there was.
    pub total: u64,
    /// The parts that are kept of it, in order; one when that is all.
    pub parts: Vec<StoredPart>,
}

/// The streams that an output can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    /// Standard output of a command.
    Stdout,
    /// Standard error of a command.
    Stderr,
    /// Of a tool that is no command: the result before it was cut.
    Content,
}

/// A piece of a stream without gaps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPart {
    /// The offset of its first byte in the stream.
    pub start: u64,
    /// Bytes of it.
    pub size: u64,
    /// The hash under which it is stored.
    pub sha256: Digest,
}

impl OutputStream {
    /// The name in JSON and in messages.
    pub fn word(self) -> &'static str {
        match self {
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
            OutputStream::Content => "content",
        }
    }
}

impl StoredOutput {
    /// The hashes of all parts, so that none is collected as garbage.
    pub fn contents(&self) -> impl Iterator<Item = Digest> {
        self.streams.iter().flat_map(|stream| stream.parts.iter().map(|part| part.sha256))
    }
}

impl StoredStream {
    /// Bytes that are stored of the stream.
    pub fn kept(&self) -> u64 {
        self.parts.iter().map(|part| part.size).sum()
    }

    /// How much is kept, honestly.
    pub fn in_words(&self) -> String {
        let (word, total) = (self.stream.word(), self.total);
        match self.parts.as_slice() {
            [first, .., last] => {
                format!(
                    "{word}: the first {} and the last {} of {total} bytes",
                    first.size, last.size
                )
            }
            [only] if only.size < total => {
                format!("{word}: the first {} of {total} bytes", only.size)
            }
            _ => format!("{word}: {total} bytes"),
        }
    }
}
