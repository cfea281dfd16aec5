//! The document on disk, and what the program wrote into it last.
//!
//! Law: a document that somebody edited meanwhile is merged by block or left alone, never overwritten.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use jm_chat::{ChatDocument, EditError, MergeConflict, merge};
use jm_files::commit::{After, FileChange, NoLog, commit};
use jm_files::{SafePath, Sandbox, SandboxSettings};
use jm_system::clock::now_epoch_ms;
use jm_system::state::{StateDir, StateLock, read_bytes};
use jm_types::{Cancel, Digest};

use crate::locations;

/// A document that is larger than this is none.
pub(super) const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// How often a document is read again because somebody else wrote it.
const ATTEMPTS: usize = 5;
/// The longest wait for another program to let go of a document.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Paper {
    pub(super) path: PathBuf,
    /// The session of this document, by its path.
    pub(super) session: String,
    pub(super) document: ChatDocument,
    /// The document as the program last wrote it; nothing where it never did.
    last_written: Option<ChatDocument>,
    /// The time of that, in milliseconds since 1970; at the end of time where it never was.
    written_at: u64,
    sandbox: Sandbox,
    place: SafePath,
    kept: StateDir,
    _lock: StateLock,
}

/// The lock of a document. One that was killed holds it until its children have ended, so that is waited for.
fn lock_patiently(kept: &StateDir, session: &str) -> Result<Option<StateLock>> {
    let began = Instant::now();
    loop {
        let lock = kept.lock(session)?;
        if lock.is_some() || began.elapsed() > PATIENCE {
            return Ok(lock);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Paper {
    pub(super) fn open(file: &Path) -> Result<Self> {
        let shown = file.display();
        let (path, _) = read_document(file)?;
        let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
        else {
            bail!("{shown}: not a document");
        };
        let sandbox =
            Sandbox::new(&SandboxSettings::rooted_at(parent)).with_context(|| shown.to_string())?;
        let place = sandbox.resolve(name).map_err(|error| anyhow!("{shown}: {error}"))?;
        let digest = Digest::of(path.as_os_str().as_encoded_bytes()).to_string();
        let session = format!("chat-{}", &digest[..16]);
        let kept = locations::state()?.subdirectory("chat").context("state directory")?;
        let Some(lock) = lock_patiently(&kept, &session)? else {
            bail!("{shown}: in use by another `jm chat`; try again when it has ended");
        };
        // Whoever had the lock may have written it since.
        let (_, bytes) = read_document(file)?;
        let read = |name: String| read_bytes(&kept.path().join(name), MOST_BYTES).ok();
        // A crash after the exchange left only the intent behind: the document is what was to be written.
        let intended = read(intent_of(&session)).filter(|intended| *intended == bytes);
        let last = intended.or_else(|| read(file_of(&session)));
        let written_at = kept.read(&time_of(&session), 64)?.and_then(|time| time.parse().ok());
        Ok(Self {
            document: ChatDocument::parse(bytes),
            last_written: last.map(ChatDocument::parse),
            written_at: written_at.unwrap_or(u64::MAX),
            path,
            session,
            sandbox,
            place,
            kept,
            _lock: lock,
        })
    }

    /// The document as the program left it, by which a person's edits are told from its own.
    pub(super) fn last_written(&self) -> Option<&ChatDocument> {
        self.last_written.as_ref()
    }

    /// The time at which the program last wrote the document.
    pub(super) fn written_at(&self) -> u64 {
        self.written_at
    }

    /// Reads the document again.
    pub(super) fn read(&mut self) -> Result<()> {
        let bytes =
            read_bytes(&self.path, MOST_BYTES).with_context(|| self.path.display().to_string())?;
        if bytes != self.document.bytes() {
            self.document = ChatDocument::parse(bytes);
        }
        Ok(())
    }

    /// Changes the document as it was last read, and writes it, merged with what somebody wrote meanwhile.
    pub(super) fn edit(
        &mut self,
        edit: impl FnOnce(&ChatDocument) -> Result<ChatDocument, EditError>,
    ) -> Result<(), PaperError> {
        let ours = edit(&self.document).map_err(PaperError::Edit)?;
        let mut wanted = ChatDocument::parse(ours.bytes());
        for _ in 0..ATTEMPTS {
            let found = read_bytes(&self.path, MOST_BYTES)
                .map_err(|error| PaperError::Other(anyhow!("{}: {error}", self.path.display())))?;
            if found != self.document.bytes() {
                let theirs = ChatDocument::parse(found.clone());
                wanted = merge(&self.document, &theirs, &ours).map_err(PaperError::Conflict)?;
            }
            if self.write(found, wanted.bytes())? {
                self.last_written = Some(ChatDocument::parse(wanted.bytes()));
                self.document = wanted;
                return Ok(());
            }
        }
        let shown = self.path.display();
        Err(PaperError::Other(anyhow!(
            "{shown}: another program keeps changing the document; try again"
        )))
    }

    /// Exchanges the file, if it still is what was read.
    fn write(&self, before: Vec<u8>, after: &[u8]) -> Result<bool, PaperError> {
        let change = FileChange {
            path: self.place.clone(),
            before: Some(Arc::new(before.clone())),
            after: After::content(after.to_vec()),
        };
        let unkept = |error: std::io::Error| PaperError::Other(anyhow!("state directory: {error}"));
        self.kept.write(&intent_of(&self.session), after).map_err(unkept)?;
        if let Err(error) = commit(&self.sandbox, &[change], &Cancel::new(), &mut NoLog) {
            let is_changed = read_bytes(&self.path, MOST_BYTES).is_ok_and(|now| now != before);
            let failed = || PaperError::Other(anyhow!("{}: {error}", self.path.display()));
            return if is_changed { Ok(false) } else { Err(failed()) };
        }
        let time = now_epoch_ms().to_string();
        self.kept.write(&time_of(&self.session), time.as_bytes()).map_err(unkept)?;
        self.kept.write(&file_of(&self.session), after).map_err(unkept)?;
        Ok(true)
    }
}

/// The absolute path of a document, and its bytes.
pub(super) fn read_document(file: &Path) -> Result<(PathBuf, Vec<u8>)> {
    let shown = file.display();
    let path = std::path::absolute(file).with_context(|| shown.to_string())?;
    match read_bytes(&path, MOST_BYTES) {
        Ok(bytes) => Ok((path, bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(anyhow!(
            "{shown}: no such document\n  hint: create one: printf '@You:\\n' > {shown}"
        )),
        Err(error) => Err(anyhow!("{shown}: {error}")),
    }
}

fn file_of(session: &str) -> String {
    format!("{session}.chat")
}

/// The document as it is about to be written.
fn intent_of(session: &str) -> String {
    format!("{session}.next")
}

fn time_of(session: &str) -> String {
    format!("{session}.time")
}

/// A reason why the document was not written.
#[derive(Debug)]
pub(super) enum PaperError {
    Conflict(MergeConflict),
    Edit(EditError),
    Other(anyhow::Error),
}
