//! The contents that indexes of workspaces name: a collection must not remove them, unless it removes the
//! files from the index too.
//!
//! Law: what is not in the set is in no index at that moment: rows get ever higher numbers, so those
//! written since are read before each answer.

use std::collections::HashSet;

use jm_types::Digest;
use rusqlite::{Connection, Transaction};

use crate::StoreError;
use crate::files::replace;
use crate::folder_row::{FileEntry, FolderRow, digests};

/// The contents that indexes name, or named when this set was made.
#[derive(Debug, Default)]
pub(crate) struct IndexedContents {
    names: HashSet<Digest>,
    /// The highest number of a row that was read.
    read: i64,
}

impl IndexedContents {
    /// Tells whether an index names a content, of which the text is the hash.
    pub(crate) fn hold(&mut self, connection: &Connection, name: &str) -> Result<bool, StoreError> {
        let mut select = connection
            .prepare_cached("SELECT id, contents FROM folders WHERE id > ?1 ORDER BY id")?;
        let mut rows = select.query([self.read])?;
        while let Some(row) = rows.next()? {
            self.read = row.get(0)?;
            self.names.extend(digests(row.get_ref(1)?.as_blob().unwrap_or_default()));
        }
        Ok(name.parse().is_ok_and(|name| self.names.contains(&name)))
    }
}

/// Removes the files that have these contents from every index: they are read and kept again.
pub(crate) fn unindex(
    step: &Transaction<'_>,
    contents: &HashSet<Digest>,
) -> Result<(), StoreError> {
    if contents.is_empty() {
        return Ok(());
    }
    let mut affected = Vec::new();
    let mut select = step.prepare_cached("SELECT id, contents FROM folders")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let named = row.get_ref(1)?.as_blob().unwrap_or_default();
        if digests(named).any(|name| contents.contains(&name)) {
            affected.push(row.get::<_, i64>(0)?);
        }
    }
    for id in affected {
        let mut select = step.prepare_cached(
            "SELECT root, folder, first, contents, entries, hash FROM folders WHERE id = ?1",
        )?;
        let part = select.query_row([id], |row| {
            let (root, folder, first): (String, Vec<u8>, Vec<u8>) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            let part = FolderRow::read(row)?;
            Ok(part.unwrap_or_else(|| FolderRow::empty(&root, &folder, first)))
        })?;
        let is_left = |file: &FileEntry<'_>| !contents.contains(&file.sha256);
        let files: Vec<FileEntry<'_>> =
            part.files().unwrap_or_default().into_iter().filter(is_left).collect();
        replace(step, Some(id), &part, &files)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use rusqlite::params;

    use super::*;
    use crate::{Entry, FileRow, Incoming, IndexUpdate, Journal, Owner, Store};

    fn open(path: &Path) -> Journal {
        let owner = Owner { pid: 1, started: 7, boot: "boot".into() };
        Journal::open(path, &"s".into(), Path::new("/w"), &owner, &|_| false, || 1_000).unwrap()
    }

    fn row(path: &str, content: &[u8]) -> FileRow {
        FileRow { path: path.into(), stat: vec![1, 2], sha256: Digest::of(content) }
    }

    /// Files that were seen, with their contents, and files that are gone.
    fn update(journal: &Journal, seen: &[(String, Vec<u8>)], gone: &[String]) {
        let blobs = seen.iter().map(|(_, content)| content.as_slice()).collect();
        let rows = seen.iter().map(|(path, content)| row(path, content)).collect();
        let gone = gone.iter().map(PathBuf::from).collect();
        let index = Some(IndexUpdate { root: "/w".into(), seen: rows, gone });
        journal.append(&Entry { blobs, index, ..Entry::default() }).unwrap();
    }

    fn stored(store: &Store) -> BTreeMap<String, Digest> {
        let mut files = BTreeMap::new();
        let mut last = (Vec::new(), Vec::new());
        store
            .each_file(Path::new("/w"), |file| {
                let place = (file.folder.to_vec(), file.name.to_vec());
                assert!(last < place || files.is_empty(), "{place:?} after {last:?}");
                assert_eq!(file.stat, [1, 2]);
                let text = |bytes| String::from_utf8(bytes).unwrap();
                files.insert(
                    format!("{}/{}", text(place.0.clone()), text(place.1.clone())),
                    file.sha256,
                );
                last = place;
            })
            .unwrap();
        files
    }

    fn rows(store: &Store) -> i64 {
        store.connection().query_row("SELECT count(*) FROM folders", [], |row| row.get(0)).unwrap()
    }

    /// Files come, change and go in pieces and in any order; what is stored is what a map would hold.
    #[test]
    fn a_large_directory_is_stored_in_parts_and_loses_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let journal = open(&scratch.path().join("journal.db"));
        let mut model: BTreeMap<String, Digest> = BTreeMap::new();
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for round in 0..60 {
            let mut seen = BTreeMap::new();
            for _ in 0..random(300) {
                let folder = ["d", "d/e", "d.e"][usize::try_from(random(3)).unwrap()];
                let path = format!("/w/{folder}/{:04}", random(2_500));
                seen.insert(path, format!("{round}").into_bytes());
            }
            let known: Vec<String> = model.keys().cloned().collect();
            let is_gone =
                |path: &String| !seen.contains_key(path) && path.ends_with(&round.to_string());
            let mut gone: Vec<String> =
                known.iter().map(|path| format!("/w/{path}")).filter(is_gone).collect();
            gone.push("/w/d/never".into());
            let seen: Vec<_> = seen.into_iter().collect();
            update(&journal, &seen, &gone);
            model.retain(|path, _| !gone.contains(&format!("/w/{path}")));
            model.extend(
                seen.iter().map(|(path, content)| (path[3..].to_owned(), Digest::of(content))),
            );
            assert_eq!(stored(journal.store()), model, "{round}");
        }
        assert!(model.len() > 2_000, "{}", model.len());
        assert!((6..60).contains(&rows(journal.store())), "{}", rows(journal.store()));
        let all: Vec<String> = model.keys().map(|path| format!("/w/{path}")).collect();
        update(&journal, &[], &all);
        assert_eq!((stored(journal.store()).len(), rows(journal.store())), (0, 0));
        assert_eq!(journal.store().verify().unwrap().1, []);
    }

    #[test]
    fn a_content_that_an_index_names_is_not_collected() {
        let scratch = tempfile::tempdir().unwrap();
        let journal = open(&scratch.path().join("journal.db"));
        let contents: Vec<Vec<u8>> = (0..3_u8).map(|n| vec![n; 1_000]).collect();
        let file = |number: usize| (format!("/w/{number}"), contents[number].clone());
        update(&journal, &[file(0), file(1), file(2)], &[]);
        let store = journal.store();
        let bare =
            |table: &str| store.connection().execute(&format!("DELETE FROM {table}"), []).unwrap();
        bare("uses");
        assert_eq!(store.collect(&|_| true).unwrap().blobs, 0);
        // It is also the output of a call that goes.
        let part = |number: usize| Incoming {
            sha256: Digest::of(&contents[number]),
            content: Box::new(contents[number].as_slice()),
        };
        journal.keep_output(&"s-1".into(), vec![part(0)], u64::MAX).unwrap();
        let most = 0;
        journal.keep_output(&"s-2".into(), vec![part(1)], most).unwrap();
        assert_eq!(store.blob(Digest::of(&contents[0])).unwrap(), contents[0]);
        bare("outputs");
        // A file that is gone holds its content no longer.
        update(&journal, &[], &["/w/2".into()]);
        assert_eq!(store.collect(&|_| true).unwrap().blobs, 1);
        assert!(store.blob(Digest::of(&contents[2])).is_err());
        // A quota takes the content, and the file out of the index with it.
        assert_eq!(store.shrink(0, 1, &|_| true).unwrap().blobs, 2);
        assert_eq!(stored(store), BTreeMap::new());
        assert_eq!(store.verify().unwrap().1, []);
    }

    /// Version 9 of the tables had a row a file: it is opened, verified, and its files are looked at again.
    #[test]
    fn a_journal_with_a_row_a_file_is_opened_and_nothing_that_undo_needs_goes() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("journal.db");
        let journal = open(&path);
        update(&journal, &[("/w/a".into(), b"precious".to_vec())], &[]);
        {
            let connection = journal.store().connection();
            let name = Digest::of(b"precious").to_string();
            let insert = "INSERT INTO files VALUES ('/w', CAST('/w/a' AS BLOB), '{}', ?1, x'00')";
            connection.execute(insert, params![name]).unwrap();
            connection.execute_batch("DROP TABLE folders; PRAGMA user_version = 9").unwrap();
        }
        drop(journal);
        let journal = open(&path);
        let store = journal.store();
        assert_eq!(stored(store), BTreeMap::new());
        assert_eq!(store.verify().unwrap().1, []);
        assert_eq!(store.collect(&|_| true).unwrap().blobs, 0);
        assert_eq!(store.blob(Digest::of(b"precious")).unwrap(), b"precious");
        update(&journal, &[("/w/a".into(), b"precious".to_vec())], &[]);
        assert_eq!(stored(store).len(), 1);
    }
}
