//! The facts of one file, directory, link or other node, as `fstatat` without following gives them.

use std::ffi::OsStr;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, AtFlags, FileType, Gid, Mode, Stat, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::{self, Errno};
use serde::{Deserialize, Serialize};

use crate::file_attributes::attribute_names;

/// The kind of node at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Fifo,
    /// A socket of the file system.
    Socket,
    /// The overlay's mark for a deleted name: a character device 0:0.
    Whiteout,
    /// A block or character device.
    Device,
}

/// A time of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeTime {
    /// Since the epoch.
    pub seconds: i64,
    /// Within the second.
    pub nanoseconds: i64,
}

impl NodeTime {
    pub(crate) fn changed(stat: &Stat) -> Self {
        Self { seconds: stat.st_ctime, nanoseconds: stat.st_ctime_nsec as i64 }
    }

    pub(crate) fn modified(stat: &Stat) -> Self {
        Self { seconds: stat.st_mtime, nanoseconds: stat.st_mtime_nsec as i64 }
    }

    fn spec(self) -> Timespec {
        Timespec { tv_sec: self.seconds, tv_nsec: self.nanoseconds as _ }
    }
}

/// A node by its inode and attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// The kind of the node.
    pub kind: NodeKind,
    /// The inode's number.
    pub inode: u64,
    /// Permission bits.
    pub mode: u32,
    /// The user id.
    pub owner: u32,
    /// The group id.
    pub group: u32,
    /// Bytes.
    pub size: u64,
    /// The number of hard links.
    pub names: u64,
    /// The last write of its content.
    pub modified: NodeTime,
    /// The last change of its inode.
    pub changed: NodeTime,
}

impl NodeFacts {
    pub(crate) fn of(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => NodeKind::File,
            FileType::Directory => NodeKind::Directory,
            FileType::Symlink => NodeKind::Link,
            FileType::Fifo => NodeKind::Fifo,
            FileType::Socket => NodeKind::Socket,
            FileType::CharacterDevice if stat.st_rdev == 0 => NodeKind::Whiteout,
            FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
                NodeKind::Device
            }
        };
        Self {
            kind,
            inode: stat.st_ino,
            mode: stat.st_mode & 0o7777,
            owner: stat.st_uid,
            group: stat.st_gid,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            names: stat.st_nlink,
            modified: NodeTime::modified(stat),
            changed: NodeTime::changed(stat),
        }
    }

    /// The node at a name; `None` when there is none.
    pub(crate) fn at(parent: impl AsFd, name: &OsStr) -> io::Result<Option<Self>> {
        match fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Self::of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Says if this is the other node, written no more since: only its names or its change time may differ.
    pub fn is_same_node(&self, other: &Self) -> bool {
        let has_size = self.kind != NodeKind::Directory;
        self.inode == other.inode
            && self.has_attributes_of(other)
            && self.modified == other.modified
            && (!has_size || self.size == other.size)
    }

    /// Says if two nodes have the same attributes, whatever they hold.
    pub(crate) fn has_attributes_of(&self, other: &Self) -> bool {
        self.kind == other.kind
            && (self.mode, self.owner, self.group) == (other.mode, other.owner, other.group)
    }
}

/// Gives a directory the owner, mode, extended attributes and times of another.
pub(crate) fn dress_like(target: &OwnedFd, model: &OwnedFd) -> io::Result<()> {
    let facts = fs::fstat(model)?;
    // An unprivileged process may keep its own ids only; the layer then shows those.
    let owned =
        fs::fchown(target, Some(Uid::from_raw(facts.st_uid)), Some(Gid::from_raw(facts.st_gid)));
    if let Err(error) = owned
        && error != Errno::PERM
    {
        return Err(error);
    }
    set_attributes(target.as_fd(), &attributes(model.as_fd())?)?;
    fs::fchmod(target, Mode::from_raw_mode(facts.st_mode & 0o7777))?;
    set_modified(target, NodeTime::modified(&facts))
}

/// Sets the modification time, and leaves the access time.
pub(crate) fn set_modified(target: impl AsFd, modified: NodeTime) -> io::Result<()> {
    let omit = Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT };
    fs::futimens(target, &Timestamps { last_access: omit, last_modification: modified.spec() })
}

/// Makes the extended attributes the wanted ones, marks of the overlay left alone.
pub(crate) fn set_attributes(of: BorrowedFd<'_>, wanted: &ExtendedAttributes) -> io::Result<()> {
    for (name, _) in attributes(of)? {
        if wanted.iter().all(|(kept, _)| *kept != name) {
            fs::fremovexattr(of, name.as_slice())?;
        }
    }
    for (name, value) in wanted {
        fs::fsetxattr(of, name.as_slice(), value, XattrFlags::empty())?;
    }
    Ok(())
}

/// Extended attributes as pairs of name and value, sorted.
pub type ExtendedAttributes = Vec<(Vec<u8>, Vec<u8>)>;

/// The prefix of the overlay's own marks.
pub(crate) const MARK: &[u8] = b"user.overlay.";

/// The extended attributes of a file or directory, sorted, marks of the overlay left out.
pub(crate) fn attributes(of: BorrowedFd<'_>) -> io::Result<ExtendedAttributes> {
    let mut all = Vec::new();
    for name in attribute_names(of)?.into_iter().filter(|name| !name.starts_with(MARK)) {
        let mut value = vec![0; 64 * 1024];
        let length = fs::fgetxattr(of, &*name, &mut value[..])?;
        value.truncate(length);
        all.push((name, value));
    }
    all.sort();
    Ok(all)
}
