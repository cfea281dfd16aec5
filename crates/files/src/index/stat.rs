//! The directory entry of a file, as the index compares it (`stat`), and the bytes in which it is stored.

use jm_types::Digest;
use rustix::fs::Stat;

/// A file as its directory entry describes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileStat {
    /// Bytes.
    pub size: u64,
    /// The inode's number.
    pub inode: u64,
    /// Seconds of the last write.
    pub modified: i64,
    /// Seconds of the last change of the inode.
    pub changed: i64,
    /// Nanoseconds that go with `modified`.
    pub modified_nanoseconds: u32,
    /// Nanoseconds that go with `changed`.
    pub changed_nanoseconds: u32,
    /// Permission bits.
    pub mode: u32,
}

/// The bytes of a stored stat.
const STORED: usize = 44;

impl FileStat {
    #[allow(clippy::unnecessary_fallible_conversions, reason = "types differ between systems")]
    pub(crate) fn new(raw: &Stat) -> Self {
        Self {
            size: u64::try_from(raw.st_size).unwrap_or(0),
            inode: raw.st_ino,
            modified: raw.st_mtime,
            changed: raw.st_ctime,
            modified_nanoseconds: u32::try_from(raw.st_mtime_nsec).unwrap_or(0),
            changed_nanoseconds: u32::try_from(raw.st_ctime_nsec).unwrap_or(0),
            mode: raw.st_mode & 0o7777,
        }
    }

    /// The stat of a directory, of which only the permission bits count.
    pub(crate) fn of_directory(raw: &Stat) -> Self {
        Self { mode: raw.st_mode & 0o7777, ..Self::default() }
    }

    /// Tells whether the content is the same as with another stat: only the inode's own data may differ.
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        let content =
            |stat: &Self| (stat.size, stat.modified, stat.modified_nanoseconds, stat.inode);
        content(self) == content(other)
    }

    /// Two changes within one tick of the clock leave the same times, so a file that changed in the
    /// tick in which it is read may change again unseen. Where times are whole seconds, the file
    /// system knows no finer ones. `now` is in nanoseconds.
    pub(crate) fn is_recent(&self, now: i128) -> bool {
        let is_coarse = self.changed_nanoseconds == 0 && self.modified_nanoseconds == 0;
        let tick = if is_coarse { 2_000_000_000 } else { 20_000_000 };
        let changed =
            i128::from(self.changed) * 1_000_000_000 + i128::from(self.changed_nanoseconds);
        now - changed < tick
    }

    /// The bytes in which it is stored.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(STORED);
        bytes.extend(self.size.to_le_bytes());
        bytes.extend(self.inode.to_le_bytes());
        bytes.extend(self.modified.to_le_bytes());
        bytes.extend(self.changed.to_le_bytes());
        bytes.extend(self.modified_nanoseconds.to_le_bytes());
        bytes.extend(self.changed_nanoseconds.to_le_bytes());
        bytes.extend(self.mode.to_le_bytes());
        bytes
    }

    /// The stat that was stored; `None` if these bytes are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; STORED] = bytes.try_into().ok()?;
        let eight = |at: usize| bytes[at..at + 8].try_into().map(u64::from_le_bytes).ok();
        let four = |at: usize| bytes[at..at + 4].try_into().map(u32::from_le_bytes).ok();
        Some(Self {
            size: eight(0)?,
            inode: eight(8)?,
            modified: eight(16)?.cast_signed(),
            changed: eight(24)?.cast_signed(),
            modified_nanoseconds: four(32)?,
            changed_nanoseconds: four(36)?,
            mode: four(40)?,
        })
    }
}

/// A file as the index knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexedFile {
    /// The directory entry at that look.
    pub stat: FileStat,
    /// The hash of the content that belongs to it.
    pub sha256: Digest,
    /// The worth of that knowledge at the next look.
    pub known: Known,
}

/// The worth of a known content at the next look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The file was left alone for long enough before it was read: a later change shows in its stat.
    Settled,
    /// It changed in the tick in which it was read, and has to be read again.
    Recent,
}
