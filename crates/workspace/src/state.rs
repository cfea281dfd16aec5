//! Files of our own, outside the workspace: configuration that is read, state that is kept.
//!
//! Law: state is private (0600 in 0700), replaced whole or not at all, and never reached through a
//! link that somebody planted. Anything that is not a regular file is refused.

use std::fs::{File, Permissions};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Reads a file that a person wrote, at most `most` bytes. `None` when there is none.
pub fn read_text(path: &Path, most: u64) -> Result<Option<String>> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened =
        std::fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "is not a regular file"));
    }
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(Error::new(ErrorKind::InvalidInput, format!("is larger than {most} bytes")));
    }
    Ok(Some(text))
}

/// A directory of ours.
#[derive(Debug, Clone)]
pub struct StateDir {
    path: PathBuf,
}

/// Held while one process works with a piece of state.
#[derive(Debug)]
pub struct StateLock {
    _file: File,
}

impl StateDir {
    /// Makes the directory, and its parents, private.
    pub fn open(path: &Path) -> Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let metadata = std::fs::symlink_metadata(path)?;
        if !metadata.is_dir() {
            return Err(Error::new(ErrorKind::InvalidInput, "is not a directory"));
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
        }
        Ok(Self { path: std::fs::canonicalize(path)? })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn subdirectory(&self, name: &str) -> Result<Self> {
        Self::open(&self.path.join(name))
    }

    pub fn read(&self, name: &str, most: u64) -> Result<Option<String>> {
        read_text(&self.path.join(name), most)
    }

    /// Replaces a file whole: readers see the old or the new content.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let temporary = self.path.join(format!(".{name}.{}.tmp", std::process::id()));
        let mut file = private(&temporary, OFlags::NOFOLLOW | OFlags::TRUNC)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&temporary, self.path.join(name))?;
        File::open(&self.path)?.sync_all()
    }

    /// Waits for nobody: `None` when another process has it.
    pub fn lock(&self, name: &str) -> Result<Option<StateLock>> {
        let file = private(&self.path.join(format!("{name}.lock")), OFlags::NOFOLLOW)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(StateLock { _file: file })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

fn private(path: &Path, flags: OFlags) -> Result<File> {
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

/// A name nobody has used before: sortable by time, unique by chance.
pub fn fresh_id() -> Result<String> {
    let mut noise = [0_u8; 4];
    rustix::rand::getrandom(&mut noise[..], rustix::rand::GetRandomFlags::empty())?;
    let now = crate::file::now_epoch_ms();
    Ok(format!("{now:011x}{:08x}", u32::from_ne_bytes(noise)))
}
