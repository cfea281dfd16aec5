//! Why a call failed: one kind that programs branch on, and hints that say what to do next.

use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use crate::balance::Imbalance;
use crate::code::ErrorCode;
use crate::replace::ReplaceError;

/// An error (NFR-ERR-01), and what the reader can do about it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct ToolError {
    /// The kind, which programs branch on by its code.
    pub kind: ErrorKind,
    /// Next steps for the reader, one a line.
    pub hints: Vec<String>,
    /// The output that the tool had produced before it failed, for a command its output.
    pub output: Option<String>,
    /// The tool's own words for it, where it has a protocol of its own: the model gets them as they
    /// are.
    pub verbatim: Option<Box<Verbatim>>,
}

/// An answer in the tool's own protocol. In a box, because few errors have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verbatim(pub String);

/// The kinds of failure, each with its sentence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum ErrorKind {
    #[error("bad arguments: {message}")]
    BadArgs { message: String },
    /// A pattern to search by that is none.
    #[error("{message}")]
    BadPattern { message: String },
    /// More than can be gathered in memory.
    #[error("{message}")]
    TooMuch { message: String },
    #[error("{tool} timed out after {:.1} s", elapsed.as_secs_f64())]
    Timeout { tool: String, elapsed: Duration },
    #[error("{0}")]
    SandboxViolation(DenialReason),
    #[error("{message}")]
    ExecutionFailed { tool: String, message: String },
    #[error("Cancelled by user")]
    Cancelled,
    #[error("Tool panicked: {message}")]
    Panicked { message: &'static str },
    #[error("unknown tool: {name}")]
    UnknownTool { name: String },
    #[error("tool {tool} is not ready: {message}")]
    NotReady { tool: String, message: String },
    /// A source of tools as a whole: a script, a server.
    #[error("{message}")]
    SourceNotReady { message: String },
    #[error("a tool named {name} is already registered")]
    DuplicateTool { name: String },
    #[error("duplicate tool call id in one batch: {id}")]
    DuplicateToolCallId { id: String },
    #[error("patch failed{}: {message}", named(file))]
    PatchFailed { file: PathBuf, message: String },
    #[error("stale file {}: {reason}", file.display())]
    StaleFile { file: PathBuf, reason: String },
    #[error("{}: {why}", file.display())]
    EditFailed { file: PathBuf, why: Box<ReplaceError> },
    /// The content was not saved.
    #[error("{}: Found {} syntax error(s): {}", file.display(), found.len(), listed(found))]
    Unbalanced { file: PathBuf, found: Vec<Imbalance> },
    /// `near` are names that exist and may have been meant.
    #[error("{}: no such file or directory", path.display())]
    NotFound { path: PathBuf, near: Vec<String> },
    #[error("{}: {message}", path.display())]
    PermissionDenied { path: PathBuf, message: String },
    #[error("{}: {message}", path.display())]
    NoSpace { path: PathBuf, message: String },
    #[error("{}: is {what}{}", path.display(), if *what == "a directory" { "" } else { ", not a regular file" })]
    NotRegular { path: PathBuf, what: &'static str },
    #[error("{}: {message}", path.display())]
    ReadFailed { path: PathBuf, message: String },
    #[error("{}: {message}", path.display())]
    WriteFailed { path: PathBuf, message: String },
    #[error("{}: {message}", path.display())]
    Io { path: PathBuf, message: String },
    #[error("not run: tools mode is parse_only; the result comes from outside")]
    NotRunHere,
    #[error("nothing was run: it could not be recorded: {message}")]
    Unrecorded { message: String },
    #[error("needs approval, but this run is not interactive: {summary}")]
    NeedsPerson { summary: String },
    /// A command ran on a layer, and what it changed is set aside.
    #[error("{how}, but its changes were not kept: {why}")]
    NotKept { how: String, why: String },
}

/// Why something is not allowed (NFR-ERR-02).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum DenialReason {
    #[error("tool {tool} is denied by policy")]
    Denylisted { tool: String },
    /// A tool that has to be enabled first.
    #[error("{tool} is off in this project")]
    OffByDefault { tool: String },
    #[error("Tool execution disabled by policy")]
    Disabled,
    #[error("tool {tool} is not on the allow list (approval mode deny)")]
    NotAllowlisted { tool: String },
    #[error("denied by the user{}", reason.as_deref().map(|r| format!(": {r}")).unwrap_or_default())]
    DeniedByPerson { reason: Option<String> },
    // `resolved` is kept for programs. Showing it would tell what exists outside the workspace.
    #[error("path is outside the workspace: {}", attempted.display())]
    PathOutsideSandbox { attempted: PathBuf, resolved: PathBuf },
    #[error("path is denied by the pattern {pattern}: {}", attempted.display())]
    DeniedPatternMatched { attempted: PathBuf, pattern: String },
    #[error("no tool may change {}: {why}", attempted.display())]
    ProtectedPath { attempted: PathBuf, why: String },
    #[error("{message}")]
    LimitsExceeded { message: String },
}

/// The first of them; the rest follow from it as often as not.
fn listed(found: &[Imbalance]) -> String {
    let shown: Vec<String> = found.iter().take(3).map(Imbalance::to_string).collect();
    shown.join("; ")
}

/// ` for a/b`, or nothing where no file is named yet.
fn named(file: &Path) -> String {
    if file.as_os_str().is_empty() { String::new() } else { format!(" for {}", file.display()) }
}

impl ToolError {
    /// An error without hints.
    pub fn new(kind: ErrorKind) -> Self {
        Self { kind, hints: Vec::new(), output: None, verbatim: None }
    }

    /// Arguments that mean nothing to the tool.
    pub fn bad_args(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadArgs { message: message.into() })
    }

    /// A path at which nothing stands.
    pub fn not_found(path: impl Into<PathBuf>) -> Self {
        Self::new(ErrorKind::NotFound { path: path.into(), near: Vec::new() })
    }

    /// A failure of the file system at a path.
    pub fn io(path: impl Into<PathBuf>, error: impl std::fmt::Display) -> Self {
        Self::new(ErrorKind::Io { path: path.into(), message: error.to_string() })
    }

    /// A tool that ran and failed.
    pub fn failed(tool: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::ExecutionFailed { tool: tool.into(), message: message.into() })
    }

    /// A path that leads out of the sandbox as it is written.
    pub fn outside(attempted: impl Into<PathBuf>) -> Self {
        let attempted = attempted.into();
        Self::leading_outside(attempted.clone(), attempted)
    }

    /// A path that a link inside leads out of the workspace, to `resolved`.
    pub fn leading_outside(attempted: impl Into<PathBuf>, resolved: PathBuf) -> Self {
        DenialReason::PathOutsideSandbox { attempted: attempted.into(), resolved }.into()
    }

    /// A limit that the call exceeds.
    pub fn limit(message: impl Into<String>) -> Self {
        DenialReason::LimitsExceeded { message: message.into() }.into()
    }

    /// The error of a call that was stopped.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled)
    }

    /// Adds the next step for the reader.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds output that the reader needs to understand the error.
    #[must_use]
    pub fn with_output(mut self, output: String) -> Self {
        self.output = Some(output).filter(|text| !text.is_empty());
        self
    }

    /// Gives it a text of its own, which no envelope changes.
    #[must_use]
    pub fn in_words(mut self, words: String) -> Self {
        self.verbatim = Some(Box::new(Verbatim(words)));
        self
    }

    /// The code's name for programs: stable, part of the `--json` contract.
    pub fn name(&self) -> &'static str {
        self.code().name()
    }

    /// The code under which programs meet this failure.
    pub fn code(&self) -> ErrorCode {
        match &self.kind {
            ErrorKind::BadArgs { .. } => ErrorCode::BadArgs,
            ErrorKind::BadPattern { .. } => ErrorCode::BadPattern,
            ErrorKind::TooMuch { .. } => ErrorCode::LimitsExceeded,
            ErrorKind::Timeout { .. } => ErrorCode::Timeout,
            ErrorKind::SandboxViolation(reason) => reason.code(),
            ErrorKind::ExecutionFailed { .. } => ErrorCode::ExecutionFailed,
            ErrorKind::Cancelled => ErrorCode::Cancelled,
            ErrorKind::Panicked { .. } => ErrorCode::Panicked,
            ErrorKind::UnknownTool { .. } => ErrorCode::UnknownTool,
            ErrorKind::NotReady { .. } | ErrorKind::SourceNotReady { .. } => {
                ErrorCode::ToolNotReady
            }
            ErrorKind::DuplicateTool { .. } => ErrorCode::DuplicateTool,
            ErrorKind::DuplicateToolCallId { .. } => ErrorCode::DuplicateToolCallId,
            ErrorKind::PatchFailed { .. } => ErrorCode::PatchFailed,
            ErrorKind::StaleFile { .. } => ErrorCode::StaleFile,
            ErrorKind::NotFound { .. } => ErrorCode::NotFound,
            ErrorKind::EditFailed { .. } => ErrorCode::EditFailed,
            ErrorKind::Unbalanced { .. } => ErrorCode::Unbalanced,
            ErrorKind::PermissionDenied { .. }
            | ErrorKind::NoSpace { .. }
            | ErrorKind::NotRegular { .. }
            | ErrorKind::ReadFailed { .. }
            | ErrorKind::WriteFailed { .. }
            | ErrorKind::Io { .. } => ErrorCode::IoError,
            ErrorKind::NotRunHere => ErrorCode::ParseOnly,
            ErrorKind::Unrecorded { .. } => ErrorCode::JournalError,
            ErrorKind::NeedsPerson { .. } => ErrorCode::NeedsApproval,
            ErrorKind::NotKept { .. } => ErrorCode::NotKept,
        }
    }
}

impl DenialReason {
    /// The stable name of the reason.
    pub fn code(&self) -> ErrorCode {
        match self {
            DenialReason::Denylisted { .. } | DenialReason::OffByDefault { .. } => {
                ErrorCode::Denylisted
            }
            DenialReason::Disabled => ErrorCode::Disabled,
            DenialReason::NotAllowlisted { .. } => ErrorCode::NotAllowlisted,
            DenialReason::DeniedByPerson { .. } => ErrorCode::DeniedByPerson,
            DenialReason::PathOutsideSandbox { .. } => ErrorCode::PathOutsideSandbox,
            DenialReason::DeniedPatternMatched { .. } => ErrorCode::DeniedPatternMatched,
            DenialReason::ProtectedPath { .. } => ErrorCode::ProtectedPath,
            DenialReason::LimitsExceeded { .. } => ErrorCode::LimitsExceeded,
        }
    }
}

impl From<DenialReason> for ToolError {
    fn from(reason: DenialReason) -> Self {
        Self::new(ErrorKind::SandboxViolation(reason))
    }
}

impl From<crate::Cancelled> for ToolError {
    fn from(_: crate::Cancelled) -> Self {
        Self::cancelled()
    }
}
