//! Reasons why the journal cannot be read or written, with what a person can do.

use std::path::PathBuf;

use jm_types::SessionId;
use thiserror::Error;

use crate::identity::Owner;
use crate::queue::PATIENCE;

/// A failure of the journal.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum StoreError {
    #[error("the journal {} cannot be used: {error}", path.display())]
    Open { path: PathBuf, error: rusqlite::Error },
    #[error(
        "the journal was written by a newer version of Journeyman (schema {found}, known {known})"
    )]
    Newer { found: i64, known: i64 },
    #[error("session {session} is in use by process {}", owner.pid)]
    InUse { session: SessionId, owner: Owner },
    #[error("another process took over this session")]
    Fenced,
    #[error("cannot write the journal: {0}")]
    Write(rusqlite::Error),
    #[error("the journal is busy: other processes have been writing to it for {} s", PATIENCE.as_secs())]
    Busy,
    #[error("not UTF-8, so it cannot be recorded: {0}")]
    NoText(serde_json::Error),
    #[error("cannot read a record of the journal: {0}")]
    Record(#[from] serde_json::Error),
    #[error("cannot read stored content: {0}")]
    Content(#[from] std::io::Error),
    #[error("stored content {0} is missing")]
    Missing(jm_types::Digest),
    #[error("its content was removed from the store to save space")]
    Released(jm_types::Digest),
}

impl StoreError {
    /// The step that a person can take.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreError::Open { .. } => Some(
                "check that the state directory is writable and not full; look for damage with `jm verify`",
            ),
            StoreError::Newer { .. } => {
                Some("use that version, or another state directory (JM_STATE_DIR)")
            }
            StoreError::InUse { .. } => Some("wait for it to end, or use another session"),
            StoreError::Busy => Some("try again; see which sessions are in use with `jm sessions`"),
            StoreError::Fenced => Some("start again; nothing that was recorded is lost"),
            StoreError::Write(error) if is_full(error) => {
                Some("free space on the disk that holds the state directory, then run again")
            }
            StoreError::Write(_) => {
                Some("check the state directory; look for damage with `jm verify`")
            }
            StoreError::NoText(_) => Some("rename the file, or use --no-journal"),
            StoreError::Record(_) | StoreError::Content(_) | StoreError::Missing(_) => {
                Some("list the damage with `jm verify`")
            }
            StoreError::Released(_) => Some("raise journal.quota_bytes to keep more"),
        }
    }

    /// Tells if the disk is full, so that space set aside can be given back and the write tried again.
    pub fn is_full(&self) -> bool {
        matches!(self, StoreError::Write(error) if is_full(error))
    }
}

/// A lock that others hold is no damage.
impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
                StoreError::Busy
            }
            _ => StoreError::Write(error),
        }
    }
}

fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
}
