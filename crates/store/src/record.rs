//! Records of the journal: one event each, as JSON.

use std::path::PathBuf;

use jm_types::{
    BatchNumber, CallKey, Digest, ErrorCode, ReadRecord, RiskLevel, ToolResult, Usage, Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::identity::Owner;
use crate::layer_records::LayerRecord;
use crate::output_records::StoredOutput;

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// Instructions of the program.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// The results of calls.
    Tool,
}

impl Speaker {
    /// The name in JSON and in exports.
    pub fn word(self) -> &'static str {
        match self {
            Speaker::System => "system",
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
            Speaker::Tool => "tool",
        }
    }
}

/// One event. Calls are named by our own key, because providers repeat their ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// The setting that the session is worked in: its first record, and again whenever that changes.
    SessionOpened {
        /// The workspace root.
        root: PathBuf,
        /// The dialect of the built-in tools.
        toolset: String,
        /// How tools are used: `enabled`, `parse_only` or `disabled`.
        #[serde(default)]
        mode: String,
        /// The program's.
        #[serde(default)]
        version: String,
    },
    /// Something said in the conversation, as data; long ones are blobs.
    Message {
        /// The speaker.
        role: Speaker,
        /// A short content; a long one is stored apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Value>,
        /// The hash of a long content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_blob: Option<Digest>,
        /// The batch whose calls it makes, or whose results it carries.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        batch: Option<BatchNumber>,
    },
    /// The calls of one assistant message, in order (FR-RES-01).
    BatchOpened {
        /// The number of the batch, from 1.
        batch: BatchNumber,
        /// The calls in the order of the message.
        calls: Vec<CallRecord>,
    },
    /// The words and thoughts of a model at the moment when a call of its message was whole, as data:
    /// those since the last such record. They count where the message itself was never recorded.
    Received {
        /// The batch of the call that came.
        batch: BatchNumber,
        /// Parts of the message that came before it.
        said: Vec<Value>,
    },
    /// The calls without a result wait for one from outside, perhaps in another process (FR-MODE-02).
    BatchWaits {
        /// The batch that waits.
        batch: BatchNumber,
    },
    /// The disposition of a call, decided before anything of its batch ran.
    Planned {
        /// The planned call.
        call: CallKey,
        /// Allow, ask or deny.
        verdict: Verdict,
        /// The rule that gave the verdict, in words.
        rule: String,
        /// One line for people.
        summary: String,
        /// The risk level; `None` for a call that was refused unread.
        risk: Option<RiskLevel>,
    },
    /// A person wrote other arguments than the model; these are planned, shown and run.
    Edited {
        /// The edited call.
        call: CallKey,
        /// The approver: a person, a flag or a program.
        by: String,
        /// The arguments that count from here on.
        arguments: String,
    },
    /// By whom, and a fingerprint of the call and of the files that were shown.
    Approved {
        /// The approved call.
        call: CallKey,
        /// The approver: a person, a flag or a program.
        by: String,
        /// The hash of the call and of the files that were shown.
        fingerprint: String,
    },
    /// From here on the call may have had effects.
    Started {
        /// The call that starts.
        call: CallKey,
        /// The process that runs it.
        process: Owner,
    },
    /// The files that are about to change; their new contents are on disk under other names.
    Prepared {
        /// The call that changes files.
        call: CallKey,
        /// Each file with its state before and after.
        files: Vec<FileEffect>,
    },
    /// A command's layer that is about to be kept, or taken back; its files are in the layer's directory.
    Layered {
        /// The call whose command ran on the layer.
        call: CallKey,
        /// The layer and its side.
        layer: LayerRecord,
    },
    /// The change that was prepared last failed, and every file is as it was.
    Withdrawn {
        /// The call whose change failed and was put back.
        call: CallKey,
    },
    /// The files that a command changed, found by looking before and after.
    Tracked {
        /// The call whose command ran.
        call: CallKey,
        /// The difference between the looks before and after.
        tracking: Tracking,
    },
    /// The one result of a call.
    Finished {
        /// The finished call.
        call: CallKey,
        /// The result as the model got it.
        result: StoredResult,
        /// The duration without the person's time for an answer.
        duration_ms: u64,
    },
    /// Every call of the batch has its result.
    BatchSealed {
        /// The sealed batch.
        batch: BatchNumber,
    },
    /// The results have gone to whoever asked.
    Delivered {
        /// The batch whose results were handed over.
        batch: BatchNumber,
    },
    /// The state in which recovery found a call, and what the person chose.
    Recovered {
        /// The interrupted call.
        call: CallKey,
        /// The state of its files in one word.
        state: String,
        /// The person's choice in one word.
        choice: String,
    },
    /// The effects of these calls were taken back by `call`, whose own effects follow.
    Undid {
        /// The undo, which is a call of its own.
        call: CallKey,
        /// The calls whose effects are gone.
        of: Vec<CallKey>,
    },
    /// The person named the session.
    Titled {
        /// The name that the person gave.
        title: String,
    },
    /// A model answered: by which name it was opened, the tokens of the answer, and its price.
    Used {
        /// The name under which the model was opened.
        model: String,
        /// Tokens by kind.
        usage: Usage,
        /// Millionths of a US dollar; `None` where the price is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<u64>,
    },
}

/// A call as the model wrote it, with the journal's own key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Unique in the journal.
    pub call: CallKey,
    /// As the provider gave it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as JSON text, unparsed.
    pub arguments: String,
}

/// One file's change, complete before it happens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEffect {
    /// Absolute.
    pub path: PathBuf,
    /// The state that undo restores.
    pub before: FileState,
    /// The state that redo restores.
    pub after: FileState,
    /// The path of the other content while the change is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temporary: Option<PathBuf>,
}

impl FileEffect {
    /// Another effect of the same call on the same path: the next step, or the other half of a file
    /// and a directory that traded places.
    pub(crate) fn join(&mut self, other: FileEffect) {
        if self.after == other.before {
            self.after = other.after;
        } else {
            let known = |one, other| if one == FileState::Missing { other } else { one };
            self.before = known(self.before, other.before);
            self.after = known(self.after, other.after);
        }
        self.temporary = other.temporary.or(self.temporary.take());
    }
}

/// The state of one path. Two states of a file are equal if hash and mode are: the size follows from the
/// hash, and journals of earlier versions do not have it.
#[derive(Debug, Clone, Copy, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// Nothing stands there.
    Missing,
    /// A regular file.
    File {
        /// The hash of its content.
        sha256: Digest,
        /// Permission bits.
        mode: u32,
        /// Bytes; a file of another size need not be read to know that it is not this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
    },
    /// A directory; its entries have effects of their own.
    Directory {
        /// Permission bits.
        mode: u32,
    },
}

impl FileState {
    /// Tells a regular file from the other states.
    pub fn is_file(self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// Tells a directory from the other states.
    pub fn is_directory(self) -> bool {
        matches!(self, Self::Directory { .. })
    }

    /// The permission bits of what is there.
    pub fn mode(self) -> Option<u32> {
        match self {
            Self::File { mode, .. } | Self::Directory { mode } => Some(mode),
            Self::Missing => None,
        }
    }
}

impl PartialEq for FileState {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Missing, Self::Missing) => true,
            (
                Self::File { sha256, mode, .. },
                Self::File { sha256: theirs, mode: their_mode, .. },
            ) => sha256 == theirs && mode == their_mode,
            (Self::Directory { mode }, Self::Directory { mode: theirs }) => mode == theirs,
            (Self::Missing | Self::File { .. } | Self::Directory { .. }, _) => false,
        }
    }
}

/// Knowledge of the files a command changed, and of what is not known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tracking {
    /// The changes that were found.
    pub files: Vec<FileEffect>,
    /// Why it is not everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<String>,
    /// It was written before the command started: the gap is known, and nothing was looked for yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ahead: bool,
    /// Changes that commands of other sessions may have made, by those commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concurrent: Vec<Concurrent>,
}

/// Changes found after a command beside which commands of other sessions ran in the same directory: two looks
/// cannot tell which of them made a change, so no undo takes it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concurrent {
    /// The calls that ran meanwhile.
    pub calls: Vec<CallKey>,
    /// The changes that cannot be told apart.
    pub files: Vec<FileEffect>,
}

/// A result as it is kept: long contents are blobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredResult {
    /// The vendor's id of the call.
    pub call_id: String,
    /// The tool's name.
    pub name: String,
    /// The code of the failure; `None` for a success.
    pub error: Option<ErrorCode>,
    /// A short content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The hash of a long content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_blob: Option<Digest>,
    /// The whole of it, where the model was given less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<StoredOutput>,
    /// The reads that told the model of files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<(PathBuf, ReadRecord)>,
}

/// Longer contents are kept once, compressed, outside the record.
pub(crate) const INLINE: usize = 4 * 1024;

impl StoredResult {
    /// A result as it is stored: a long content by its hash.
    pub fn new(result: &ToolResult, seen: Vec<(PathBuf, ReadRecord)>) -> Self {
        let long = result.content.len() > INLINE;
        Self {
            call_id: result.call_id.clone(),
            name: result.name.clone(),
            error: result.error,
            content: (!long).then(|| result.content.clone()),
            content_blob: long.then(|| Digest::of(result.content.as_bytes())),
            output: None,
            seen,
        }
    }
}

impl Record {
    /// The tag in JSON, by which queries select.
    pub fn kind(&self) -> &'static str {
        match self {
            Record::SessionOpened { .. } => "session_opened",
            Record::Message { .. } => "message",
            Record::BatchOpened { .. } => "batch_opened",
            Record::Received { .. } => "received",
            Record::BatchWaits { .. } => "batch_waits",
            Record::Planned { .. } => "planned",
            Record::Edited { .. } => "edited",
            Record::Approved { .. } => "approved",
            Record::Started { .. } => "started",
            Record::Prepared { .. } => "prepared",
            Record::Layered { .. } => "layered",
            Record::Withdrawn { .. } => "withdrawn",
            Record::Tracked { .. } => "tracked",
            Record::Finished { .. } => "finished",
            Record::BatchSealed { .. } => "batch_sealed",
            Record::Delivered { .. } => "delivered",
            Record::Recovered { .. } => "recovered",
            Record::Undid { .. } => "undid",
            Record::Titled { .. } => "titled",
            Record::Used { .. } => "used",
        }
    }

    /// The contents that must be kept for it: what it put away, and what it can put back.
    pub(crate) fn contents(&self) -> Vec<Digest> {
        let olds = |files: &[FileEffect]| -> Vec<Digest> {
            let old = |effect: &FileEffect| match effect.before {
                FileState::File { sha256, .. } => Some(sha256),
                FileState::Missing | FileState::Directory { .. } => None,
            };
            files.iter().filter_map(old).collect()
        };
        match self {
            Record::Finished { result, .. } => result.content_blob.into_iter().collect(),
            Record::Message { content_blob, .. } => content_blob.iter().copied().collect(),
            Record::Prepared { files, .. } => olds(files),
            Record::Layered { layer, .. } => vec![layer.steps],
            Record::Tracked { tracking, .. } => {
                let concurrent = tracking.concurrent.iter().flat_map(|found| olds(&found.files));
                olds(&tracking.files).into_iter().chain(concurrent).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The contents that are kept for it as long as there is room.
    pub(crate) fn outputs(&self) -> Vec<Digest> {
        match self {
            Record::Finished { result, .. } => {
                result.output.iter().flat_map(StoredOutput::contents).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The call that the record is about.
    pub fn call(&self) -> Option<&CallKey> {
        match self {
            Record::Planned { call, .. }
            | Record::Edited { call, .. }
            | Record::Approved { call, .. }
            | Record::Started { call, .. }
            | Record::Prepared { call, .. }
            | Record::Layered { call, .. }
            | Record::Withdrawn { call }
            | Record::Tracked { call, .. }
            | Record::Finished { call, .. }
            | Record::Recovered { call, .. }
            | Record::Undid { call, .. } => Some(call),
            Record::SessionOpened { .. }
            | Record::Message { .. }
            | Record::BatchOpened { .. }
            | Record::Received { .. }
            | Record::BatchWaits { .. }
            | Record::BatchSealed { .. }
            | Record::Delivered { .. }
            | Record::Titled { .. }
            | Record::Used { .. } => None,
        }
    }
}
