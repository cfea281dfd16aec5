//! One row of a stored index: the files of a directory, or of a range of its names, as bytes.
//!
//! Law: the hashes of the contents lie apart from names and stats, so that a collection finds them without
//! reading the rest. The row's own hash covers all of it.

use jm_types::{Digest, Hashing};
use rusqlite::Row;

/// Files that one row holds at most.
const MOST_FILES: usize = 512;
/// The form of the entries; any other is not read.
const VERSION: u8 = 1;
/// Bytes of a hash.
const HASH: usize = 32;

/// A row of the table `folders`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderRow {
    pub(crate) root: String,
    /// Relative to the root.
    pub(crate) folder: Vec<u8>,
    /// Names from this one on, up to that of the next row, belong here; empty in the first row of a directory.
    pub(crate) first: Vec<u8>,
    /// The hash of each file's content, one after the other.
    pub(crate) contents: Vec<u8>,
    /// The form's number; of each file the length of its name (two bytes, little endian), its name, the length of its
    /// stat (one byte), its stat.
    pub(crate) entries: Vec<u8>,
}

/// One file of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileEntry<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) stat: &'a [u8],
    pub(crate) sha256: Digest,
}

impl FolderRow {
    pub(crate) fn empty(root: &str, folder: &[u8], first: Vec<u8>) -> Self {
        let (contents, entries) = (Vec::new(), vec![VERSION]);
        Self { root: root.to_owned(), folder: folder.to_owned(), first, contents, entries }
    }

    /// The row of `root, folder, first, contents, entries, hash`; `None` where it does not match its hash.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let (root, folder, first) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let part = Self { root, folder, first, contents: row.get(3)?, entries: row.get(4)? };
        let hash: Vec<u8> = row.get(5)?;
        Ok((part.hash().as_bytes() == hash.as_slice()).then_some(part))
    }

    /// The hash that the row is stored with.
    pub(crate) fn hash(&self) -> Digest {
        let mut hashing = Hashing::default();
        for part in [self.root.as_bytes(), &self.folder, &self.first, &self.contents, &self.entries]
        {
            hashing.update(&(part.len() as u64).to_le_bytes());
            hashing.update(part);
        }
        hashing.finish()
    }

    /// Its files, ascending by name; `None` for a form that is not known.
    pub(crate) fn files(&self) -> Option<Vec<FileEntry<'_>>> {
        let (VERSION, mut rest) = self.entries.split_first().map(|(form, rest)| (*form, rest))?
        else {
            return None;
        };
        let mut files = Vec::with_capacity(self.contents.len() / HASH);
        for sha256 in digests(&self.contents) {
            let (length, after) = rest.split_first_chunk::<2>()?;
            let (name, after) = after.split_at_checked(u16::from_le_bytes(*length).into())?;
            let (length, after) = after.split_first()?;
            let (stat, after) = after.split_at_checked((*length).into())?;
            files.push(FileEntry { name, stat, sha256 });
            rest = after;
        }
        rest.is_empty().then_some(files)
    }

    /// The rows that hold these files in its place. A name or stat that is too long for its length costs a
    /// read.
    pub(crate) fn holding<'a>(
        &'a self,
        files: &'a [FileEntry<'a>],
    ) -> impl Iterator<Item = FolderRow> + 'a {
        let rows = files.len().div_ceil(MOST_FILES).max(1);
        let each = files.len().div_ceil(rows).max(1);
        files.chunks(each).enumerate().map(move |(number, files)| {
            let first = if number == 0 { &self.first[..] } else { files[0].name };
            let mut part = Self::empty(&self.root, &self.folder, first.to_owned());
            files.iter().for_each(|file| part.push(file));
            part
        })
    }

    fn push(&mut self, file: &FileEntry<'_>) {
        let lengths = (u16::try_from(file.name.len()), u8::try_from(file.stat.len()));
        if let (Ok(name), Ok(stat)) = lengths {
            self.contents.extend(file.sha256.as_bytes());
            self.entries.extend(name.to_le_bytes());
            self.entries.extend(file.name);
            self.entries.push(stat);
            self.entries.extend(file.stat);
        }
    }
}

/// The hashes of a row's contents.
pub(crate) fn digests(contents: &[u8]) -> impl Iterator<Item = Digest> {
    contents.as_chunks::<HASH>().0.iter().map(|bytes| Digest::from_bytes(*bytes))
}
