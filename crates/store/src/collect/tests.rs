//! Collections beside sessions at work, on real files.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use jm_types::Digest;

use super::*;
use crate::{Entry, Journal};

fn open(path: &Path, session: &str) -> Journal {
    let owner = Owner { pid: 1, started: 7, boot: "boot".into() };
    Journal::open(path, &session.into(), Path::new("/w"), &owner, &|_| false, || 1_000).unwrap()
}

/// Bytes that cannot be compressed.
fn noise(seed: usize, size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ seed as u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(next).take(size / 8).flatten().collect()
}

/// Contents that nobody needs any more.
fn litter(journal: &Journal, seed: usize, count: usize, size: usize) {
    let contents: Vec<Vec<u8>> = (0..count).map(|n| noise(seed * 1_000 + n, size)).collect();
    let blobs = contents.iter().map(Vec::as_slice).collect();
    journal.append(&Entry { blobs, ..Entry::default() }).unwrap();
    journal.store().connection().execute("DELETE FROM uses", []).unwrap();
}

fn nobody(_: &Owner) -> bool {
    false
}

/// A transaction that reads before it writes fails at once where another one wrote in between.
#[test]
fn a_collection_beside_a_busy_session_fails_neither() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    let gone = open(&path, "gone");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let journal = open(&path, "s");
            let mut longest = Duration::ZERO;
            for batch in 1.. {
                let began = Instant::now();
                let records = vec![Record::BatchSealed { batch: batch.into() }];
                journal.append(&Entry { records, ..Entry::default() }).unwrap();
                longest = longest.max(began.elapsed());
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
            longest
        });
        let store = Store::open(&path).unwrap();
        for round in 0..8 {
            litter(&gone, round, 20, 20_000);
            let freed = store.collect(&nobody).unwrap();
            assert_eq!((freed.blobs, freed.space), (20, Space::GivenBack), "{round}");
        }
        is_over.store(true, Ordering::Relaxed);
        let longest = writer.join().unwrap();
        assert!(longest < Duration::from_secs(2), "a write waited for {longest:?}");
    });
    assert_eq!(gone.store().verify().unwrap().1, []);
}

#[test]
fn what_was_removed_is_given_back_to_the_disk() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    let journal = open(&path, "s");
    litter(&journal, 0, 3, 3_000_000);
    checkpoint(&mut journal.store().connection()).unwrap();
    let size = || std::fs::metadata(&path).unwrap().len();
    assert!(size() > 9_000_000);
    let freed = journal.store().collect(&|_| true).unwrap();
    assert_eq!((freed.blobs, freed.space), (3, Space::GivenBack));
    assert!(size() < 1_000_000, "{} bytes", size());
}

/// As version 0.1.0 made them.
fn old(path: &Path) -> Journal {
    Connection::open(path).unwrap().execute_batch("CREATE TABLE old (a)").unwrap();
    open(path, "s")
}

#[test]
fn an_old_journal_is_rewritten_only_if_that_is_short_and_nobody_is_at_work() {
    let cases = [(100_000, true, false), (100_000, false, true), (18_000_000, false, false)];
    for (kept, is_at_work, is_rewritten) in cases {
        let scratch = tempfile::tempdir().unwrap();
        let journal = old(&scratch.path().join("journal.db"));
        litter(&journal, 0, 3, 100_000);
        let content = noise(9, kept);
        journal.append(&Entry { blobs: vec![&content], ..Entry::default() }).unwrap();
        let store = journal.store();
        let space = store.collect(&|_| is_at_work).unwrap().space;
        let is_left = matches!(space, Space::NeedsRewrite(free) if free >= 250_000);
        assert_eq!((is_left, store.is_incremental().unwrap()), (!is_rewritten, is_rewritten));
        // Asked for by name, whatever its size; and then it can go in steps.
        let compacted = store.compact(&|_| is_at_work);
        assert_eq!(compacted.is_err(), is_at_work, "{compacted:?}");
        assert_eq!(store.is_incremental().unwrap(), !is_at_work);
        assert_eq!(store.blob(Digest::of(&content)).unwrap(), content);
    }
}

/// A lock that others hold is waited for; if it stays, that is no damage.
#[test]
fn a_busy_journal_is_not_called_damaged() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    let journal = open(&path, "s");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    journal.store().connection().busy_timeout(Duration::ZERO).unwrap();
    let error = journal.append(&Entry::default()).unwrap_err();
    assert!(matches!(error, StoreError::Busy), "{error:?}");
    assert!(!format!("{error}{:?}", error.hint()).contains("damage"), "{error}");
    litter_with(&other, "a");
    other.execute_batch("COMMIT; BEGIN IMMEDIATE").unwrap();
    journal.store().connection().busy_timeout(Duration::ZERO).unwrap();
    assert_eq!(journal.store().collect(&nobody).unwrap().space, Space::Busy);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(journal.store().collect(&nobody).unwrap().blobs, 1);
}

fn litter_with(connection: &Connection, name: &str) {
    let insert = "INSERT INTO blobs VALUES (?1, 1, 1, 0)";
    connection.execute(insert, [name]).unwrap();
}

/// Contents that a session comes to need while a collection is under way stay.
#[test]
fn a_content_that_is_needed_again_is_not_let_go() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    let journal = open(&path, "s");
    let store = journal.store();
    let mut later = Later::now(&store.connection()).unwrap();
    let content = "long ".repeat(2_000).into();
    let message = crate::MessageRecord { role: crate::Speaker::User, content, batch: None };
    journal.remember(std::slice::from_ref(&message)).unwrap();
    let needed = store.write(|step| {
        later.read(step)?;
        Ok(later.needed.clone())
    });
    let needed = needed.unwrap();
    assert_eq!(needed.len(), 1, "{needed:?}");
    let name = needed.into_iter().next().unwrap();
    assert!(store.write(|step| later.needs(step, &name)).unwrap());
    assert!(!store.write(|step| later.needs(step, "other")).unwrap());
}
