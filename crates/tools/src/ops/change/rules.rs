//! The rules that toolsets set for their changes.

/// Everything that decides how edits are applied, besides the edits themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeRules {
    pub freshness: FreshnessRule,
    pub parents: Parents,
    pub missing: Missing,
    pub mode: Mode,
    pub on_error: OnError,
    pub backup: Backup,
    pub care: Care,
    pub new_text: NewText,
}

impl ChangeRules {
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
    Required,
    NotRequired,
}

/// The treatment of a new file whose directory does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parents {
    Make,
    MustExist,
}

/// The treatment of a file to be written or appended to that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Create,
    Refuse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
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
    None,
    Keep,
}

/// Checks of brackets, read-only files and uncommitted work (FJ-PAREN, FJ-GIT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    Plain,
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
