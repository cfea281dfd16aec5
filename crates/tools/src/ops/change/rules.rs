//! The rules that toolsets set for their changes.

/// Everything that decides how edits are applied, besides the edits themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeRules {
    /// The reads that are needed before.
    pub freshness: FreshnessRule,
    /// The treatment of a missing directory.
    pub parents: Parents,
    /// The treatment of a missing file.
    pub missing: Missing,
    /// Write, or only compute.
    pub mode: Mode,
    /// The effect of one failure on the others.
    pub on_error: OnError,
    /// Copies of old contents.
    pub backup: Backup,
    /// Further checks.
    pub care: Care,
    /// The bytes that may be added.
    pub new_text: NewText,
}

impl ChangeRules {
    /// The rules of most tools: directories are made, the change is written, one failure stops all.
    pub const fn new(freshness: FreshnessRule) -> Self {
        Self {
            freshness,
            parents: Parents::Make,
            missing: Missing::Create,
            mode: Mode::Commit,
            on_error: OnError::Stop,
            backup: Backup::None,
            care: Care::Plain,
            new_text: NewText::Expressible,
        }
    }

    /// The same rules, with nothing written.
    #[must_use]
    pub const fn dry(self) -> Self {
        Self { mode: Mode::DryRun, ..self }
    }
}

/// The freshness that edited files need: read before, and unchanged since (FR-TOOL-PATCH-02a..d).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreshnessRule {
    /// A stale file is refused.
    Required,
    /// Any file is edited as it is.
    NotRequired,
}

/// The treatment of a new file whose directory does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parents {
    /// The directories on the way are made.
    Make,
    /// A missing one is an error.
    MustExist,
}

/// The treatment of a file to be written or appended to that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// The file is made.
    Create,
    /// It is an error.
    Refuse,
}

/// Write, or only compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The change is written.
    Commit,
    /// Everything but the writing.
    DryRun,
}

/// The effect of one failed edit on the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// None is applied.
    Stop,
    /// Its file stays as it was; the other files change.
    Skip,
}

/// Copies of old contents where a person can find them by a path (FJ-BACKUP).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// The journal's copy is enough.
    None,
    /// A copy is kept beside the project's state.
    Keep,
}

/// Checks of brackets, read-only files and uncommitted work (FJ-PAREN, FJ-GIT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// No further checks.
    Plain,
    /// All of them.
    Careful,
}

/// The bytes that may be put beside those that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewText {
    /// Text that the file's encoding can express.
    Expressible,
    /// Anything: bytes are edited, not text (IK-EDIT).
    Raw,
}
