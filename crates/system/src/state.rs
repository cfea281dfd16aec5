//! Files of our own, outside the workspace: configuration that is read, state that is kept.
//!
//! Law: state is private (0600 in 0700), replaced whole or not at all, and never reached through a
//! link that another process planted. Anything that is not a regular file is refused.

use std::fs::{File, Permissions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use jm_types::ignore_error;
use rustix::fs::OFlags;

use crate::small_file::{Durability, replace_small_file};

/// Reads a file that a person wrote, at most `most` bytes. `None` when there is none.
pub fn read_text(path: &Path, most: u64) -> Result<Option<String>> {
    let bytes = match read_bytes(path, most) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| Error::new(ErrorKind::InvalidData, NOT_UTF8))
}

const NOT_UTF8: &str = "stream did not contain valid UTF-8";

/// Opens a file or a named pipe that a person names for our input, to be read as it comes.
pub fn open_input(path: &Path) -> Result<Box<dyn Read + Send>> {
    File::open(path).map(|file| Box::new(file) as Box<dyn Read + Send>)
}

/// A file that a person names for our output; one that is there already is left alone.
pub fn write_new(path: &Path) -> Result<File> {
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// The first file of a folder, which is made with it; one that is there already is left alone.
pub fn write_first(path: &Path) -> Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_new(path)
}

/// A file that a person names as input, whatever it holds, at most `most` bytes.
pub fn read_bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = open_without_waiting(path)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::InvalidInput, format!("is larger than {most} bytes")));
    }
    Ok(bytes)
}

/// Opens a regular file for reading. Without waiting: a FIFO that another process put there must not
/// hang us.
pub(crate) fn open_without_waiting(path: &Path) -> Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

fn not_regular() -> Error {
    Error::new(ErrorKind::InvalidInput, "is not a regular file")
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
        let path = &std::path::absolute(path)?;
        let new = path.ancestors().take_while(|path| !path.exists()).collect::<Vec<_>>();
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        // A name is safe when its directory was synced: without that, a power cut could take the
        // journal along with the directory that holds it.
        for parent in new.iter().rev().filter_map(|path| path.parent()) {
            File::open(parent)?.sync_all()?;
        }
        let metadata = std::fs::symlink_metadata(path)?;
        if !metadata.is_dir() {
            return Err(Error::new(ErrorKind::InvalidInput, "is not a directory"));
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            std::fs::set_permissions(path, Permissions::from_mode(0o700))?;
        }
        Ok(Self { path: std::fs::canonicalize(path)? })
    }

    /// The canonical path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory below, and makes it where it is missing.
    pub fn subdirectory(&self, name: &str) -> Result<Self> {
        Self::open(&self.path.join(name))
    }

    /// Reads a file as text; `None` where there is none, an error where it has more than `most` bytes.
    pub fn read(&self, name: &str, most: u64) -> Result<Option<String>> {
        read_text(&self.path.join(name), most)
    }

    /// Replaces a file whole: readers see the old or the new content.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        replace_small_file(File::open(&self.path)?, name, content, Durability::PowerCut)
    }

    /// Does not wait: `None` when another process has it.
    pub fn lock(&self, name: &str) -> Result<Option<StateLock>> {
        let file = private(&self.path.join(format!("{name}.lock")), OFlags::NOFOLLOW)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(StateLock { _file: file })),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Without waiting: a FIFO that another process put there must not hang us.
fn private(path: &Path, flags: OFlags) -> Result<File> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// A name that was never used before: sortable by time, unique by chance.
/// Letters and digits that cannot be mistaken for one another; no vowels, so no words come of them.
const TYPEABLE: &[u8; 28] = b"bcdfghjkmnpqrstvwxz023456789";

/// A new name that is short enough to type: eight letters and digits, which begin with a letter.
pub fn short_id() -> Result<String> {
    let mut noise = [0_u8; 16];
    rustix::rand::getrandom(&mut noise[..], rustix::rand::GetRandomFlags::empty())?;
    let number = u128::from_ne_bytes(noise);
    let mut rest = number;
    let mut id = String::new();
    for place in 0..8 {
        let most: u128 = if place == 0 { 19 } else { 28 };
        let at = usize::try_from(rest % most).unwrap_or(0);
        id.push(char::from(TYPEABLE[at]));
        rest /= most;
    }
    Ok(id)
}

/// A new name that sorts by time.
pub fn fresh_id() -> Result<String> {
    let mut noise = [0_u8; 4];
    rustix::rand::getrandom(&mut noise[..], rustix::rand::GetRandomFlags::empty())?;
    let now = crate::clock::now_epoch_ms();
    Ok(format!("{now:011x}{:08x}", u32::from_ne_bytes(noise)))
}

/// A secret that nobody guesses: 32 random bytes, in hexadecimal.
pub fn secret_token() -> Result<String> {
    let mut noise = [0_u8; 32];
    rustix::rand::getrandom(&mut noise[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(noise.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl StateDir {
    /// The path of a file of ours that another library opens; it is private before that does.
    pub fn private_file(&self, name: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        private(&path, OFlags::NOFOLLOW)?;
        Ok(path)
    }

    /// Keeps space on the disk, to be given back by `free` when there is no other left.
    pub fn reserve(&self, name: &str, bytes: u64) -> Result<DiskReserve> {
        let path = self.path.join(name);
        let file = private(&path, OFlags::NOFOLLOW)?;
        if file.metadata()?.len() < bytes {
            let flags = rustix::fs::FallocateFlags::empty();
            rustix::fs::fallocate(&file, flags, 0, bytes)?;
        }
        Ok(DiskReserve { path })
    }

    /// Gives back space that an earlier process kept.
    pub fn give_back(&self, name: &str) {
        DiskReserve { path: self.path.join(name) }.free();
    }

    /// Forgets all files here.
    pub fn clear(&self) -> Result<()> {
        for entry in std::fs::read_dir(&self.path)? {
            match std::fs::remove_file(entry?.path()) {
                // Another process removed it first.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(())
    }

    /// Bytes that its disk has left for us.
    pub fn disk_free(&self) -> Result<u64> {
        let disk = rustix::fs::statvfs(&self.path)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Bytes of all files here.
    pub fn disk_use(&self) -> Result<u64> {
        let sizes = std::fs::read_dir(&self.path)?.filter_map(|entry| entry.ok()?.metadata().ok());
        Ok(sizes.filter(std::fs::Metadata::is_file).map(|metadata| metadata.len()).sum())
    }
}

/// Space that is kept for a bad day.
#[derive(Debug)]
pub struct DiskReserve {
    path: PathBuf,
}

impl DiskReserve {
    /// Gives the space back to the disk.
    pub fn free(self) {
        ignore_error(
            std::fs::remove_file(&self.path),
            "if it cannot be given back, the next write fails and says so",
        );
    }
}
