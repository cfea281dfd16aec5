//! The journal's promises, on a real file.

use std::path::{Path, PathBuf};

use jm_types::{BatchNumber, CallKey, Digest, Extent, ReadRecord, ToolResult};

use serde_json::json;

use crate::{
    CallRecord, Damage, Entry, FileEffect, FileRow, FileState, Incoming, IndexUpdate, Journal,
    MessageRecord, Owner, Record, Speaker, Store, StoreError, StoredResult,
};

fn owner(pid: u32) -> Owner {
    Owner { pid, started: 7, boot: "boot".into() }
}

fn clock() -> u64 {
    1_000
}

fn open_as(path: &Path, pid: u32, alive: bool) -> Result<Journal, StoreError> {
    Journal::open(path, &"s".into(), Path::new("/w"), &owner(pid), &|_| alive, clock)
}

fn call(key: &str) -> CallRecord {
    CallRecord { call: key.into(), id: "1".into(), name: "t".into(), arguments: "{}".into() }
}

fn batch(number: u64, keys: &[&str]) -> Record {
    Record::BatchOpened { batch: number.into(), calls: keys.iter().map(|key| call(key)).collect() }
}

fn finished(key: &str, content: &str) -> (Record, String) {
    let result = ToolResult {
        call_id: "1".into(),
        name: "t".into(),
        content: content.into(),
        display: String::new(),
        error: None,
    };
    let result = StoredResult::new(&result, Vec::new());
    (Record::Finished { call: key.into(), result, duration_ms: 1 }, content.into())
}

fn append(journal: &Journal, records: Vec<Record>) {
    journal.append(&Entry { records, ..Entry::default() }).unwrap();
}

/// FR-RES-04
#[test]
fn what_was_appended_is_there_after_reopening() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    let journal = open_as(&path, 1, true).unwrap();
    append(&journal, vec![batch(1, &["s-1", "s-2"])]);
    append(&journal, vec![finished("s-1", "hello").0]);
    journal.close(&Entry::default()).unwrap();
    let journal = open_as(&path, 2, true).unwrap();
    let calls = journal.store().calls(&"s".into()).unwrap();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0].result().unwrap().0.content.as_deref(), Some("hello"));
    assert!(calls[1].result().is_none());
    assert_eq!(journal.store().unfinished(&"s".into()).unwrap().len(), 2);
    append(&journal, vec![Record::BatchSealed { batch: 1.into() }]);
    assert!(journal.store().unfinished(&"s".into()).unwrap().is_empty());
    assert_eq!(journal.store().counts(&"s".into()).unwrap(), (2, 1));
}

#[test]
fn a_session_has_one_owner_and_a_dead_one_is_replaced() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    let first = open_as(&path, 1, true).unwrap();
    match open_as(&path, 2, true) {
        Err(StoreError::InUse { owner, .. }) => assert_eq!(owner.pid, 1),
        other => panic!("{other:?}"),
    }
    let second = open_as(&path, 2, false).unwrap();
    append(&second, vec![batch(1, &["s-1"])]);
    let late = first.append(&Entry { records: vec![batch(1, &["s-1"])], ..Entry::default() });
    assert!(matches!(late, Err(StoreError::Fenced)), "{late:?}");
}

#[test]
fn contents_are_kept_once_read_by_range_and_collected_when_unused() {
    let scratch = tempfile::tempdir().unwrap();
    let journal = open_as(&scratch.path().join("journal.db"), 1, true).unwrap();
    let long: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    for _ in 0..2 {
        let blobs = vec![long.as_slice(), b"short"];
        journal.append(&Entry { blobs, ..Entry::default() }).unwrap();
    }
    let store = journal.store();
    let stats = store.blob_stats().unwrap();
    assert_eq!((stats.count, stats.bytes), (2, long.len() as u64 + 5));
    let digest = Digest::of(&long);
    assert_eq!(store.blob(digest).unwrap(), long);
    assert_eq!(
        store.blob_range(digest, 1_048_570, 1_048_590).unwrap(),
        &long[1_048_570..1_048_590]
    );
    assert!(store.blob_range(digest, u64::MAX, u64::MAX).unwrap().is_empty());
    assert_eq!(store.collect(&|_| true).unwrap().blobs, 0);
}

/// FR-RES-01: what was said comes back as it was, in order, and so do the results of its calls.
#[test]
fn a_conversation_can_be_gone_on_with() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    let journal = open_as(&path, 1, true).unwrap();
    let said = [
        MessageRecord { role: Speaker::User, content: json!("do it"), batch: None },
        MessageRecord {
            role: Speaker::Assistant,
            content: json!([{"text": "x".repeat(9_000)}]),
            batch: Some(1.into()),
        },
        MessageRecord { role: Speaker::Tool, content: json!(null), batch: Some(1.into()) },
    ];
    journal.remember(&said[..2]).unwrap();
    append(&journal, vec![batch(1, &["s-1", "s-2"]), finished("s-1", "first").0]);
    append(&journal, vec![finished("s-1", "that counts").0]);
    journal.remember(&said[2..]).unwrap();
    journal.close(&Entry::default()).unwrap();
    let store = Store::open(&path).unwrap();
    let found: Vec<MessageRecord> =
        store.messages(&"s".into()).unwrap().into_iter().map(|view| view.message).collect();
    assert_eq!(found, said);
    let result = store.result(&"s-1".into()).unwrap().unwrap();
    assert_eq!(store.content(&result).unwrap(), "that counts");
    assert!(store.result(&"s-2".into()).unwrap().is_none());
    assert_eq!(store.verify().unwrap(), (6, vec![]));
}

#[test]
fn a_session_says_what_it_is_worked_with_once_and_when_that_changes() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    for (number, toolset) in ["forge", "forge", "forj"].iter().enumerate() {
        let opening = Record::SessionOpened {
            root: "/w".into(),
            toolset: (*toolset).to_owned(),
            mode: "enabled".into(),
            version: "1".into(),
        };
        let journal = open_as(&path, 1, true).unwrap().open_with(opening);
        // Nothing but a record says anything.
        journal.append(&Entry::default()).unwrap();
        append(&journal, vec![Record::Delivered { batch: (number as u64).into() }]);
        append(&journal, vec![Record::Delivered { batch: (number as u64).into() }]);
        journal.close(&Entry::default()).unwrap();
    }
    let records = Store::open(&path).unwrap().records(&"s".into(), 0).unwrap();
    let kinds: Vec<&str> = records.iter().map(|(_, _, record)| record.kind()).collect();
    let (opened, other) = ("session_opened", "delivered");
    assert_eq!(kinds, [opened, other, other, other, other, opened, other, other]);
}

/// A finished call that changed a file with this content.
fn changed(journal: &Journal, number: u64, content: &[u8]) {
    let key = format!("s-{number}");
    let before = FileState::File { sha256: Digest::of(content), mode: 0o644, size: None };
    let after = FileState::Missing;
    let effect = FileEffect { path: "/w/a".into(), before, after, temporary: None };
    let records = vec![
        batch(number, &[&key]),
        Record::Prepared { call: key.clone().into(), files: vec![effect] },
        finished(&key, &"r".repeat(5_000)).0,
        Record::BatchSealed { batch: number.into() },
    ];
    let result = "r".repeat(5_000);
    let blobs = vec![content, result.as_bytes()];
    journal.append(&Entry { records, blobs, ..Entry::default() }).unwrap();
}

fn noise(seed: u32) -> Vec<u8> {
    (0..5_000_u32).flat_map(|n| Digest::of(&(seed + n).to_le_bytes()).as_bytes().to_vec()).collect()
}

/// Outputs first, then what undo needs, the oldest before the others; never a result.
#[test]
fn beyond_the_quota_the_oldest_go_and_are_known_to_have_gone() {
    let scratch = tempfile::tempdir().unwrap();
    let journal = open_as(&scratch.path().join("journal.db"), 1, true).unwrap();
    let (old, new, output) = (noise(0), noise(100_000), noise(200_000));
    changed(&journal, 1, &old);
    changed(&journal, 2, &new);
    let incoming = Incoming { sha256: Digest::of(&output), content: Box::new(output.as_slice()) };
    journal.keep_output(&"s-2".into(), vec![incoming], u64::MAX).unwrap();
    let store = journal.store();
    // Of one age, they go by name.
    let change = "UPDATE blobs SET added = added + 1 WHERE sha256 = ?1";
    store.connection().execute(change, [Digest::of(&new).to_string()]).unwrap();
    let gone = |bytes: &[u8]| match store.blob(Digest::of(bytes)) {
        Ok(_) => false,
        Err(StoreError::Released(_)) => true,
        Err(other) => panic!("{other}"),
    };
    let total = store.blob_stats().unwrap().stored;
    for (most, expected) in [
        (total, [false, false, false]),
        (total - 1, [true, false, false]),
        (total - 200_000, [true, true, false]),
        (0, [true, true, true]),
    ] {
        store.shrink(most, 5, &|_| true).unwrap();
        assert_eq!([gone(&output), gone(&old), gone(&new)], expected, "{most}");
        assert_eq!(store.verify().unwrap().1, []);
    }
    assert!(!gone("r".repeat(5_000).as_bytes()));
    // What comes back is there again.
    journal.append(&Entry { blobs: vec![&old], ..Entry::default() }).unwrap();
    assert_eq!(store.blob(Digest::of(&old)).unwrap(), old);
}

#[test]
fn what_an_unsettled_session_needs_is_never_let_go() {
    let scratch = tempfile::tempdir().unwrap();
    let journal = open_as(&scratch.path().join("journal.db"), 1, true).unwrap();
    changed(&journal, 1, &noise(0));
    append(&journal, vec![batch(2, &["s-2"])]);
    assert_eq!(journal.store().shrink(0, 5, &|_| true).unwrap().blobs, 0);
    append(&journal, vec![Record::BatchSealed { batch: 2.into() }]);
    assert_eq!(journal.store().shrink(0, 5, &|_| true).unwrap().blobs, 1);
}

#[test]
fn reads_are_remembered() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    let journal = open_as(&path, 1, true).unwrap();
    let read = |text: &str| ReadRecord {
        sha256: Digest::of(text.as_bytes()),
        read_at_epoch_ms: 5,
        extent: Extent::Part,
    };
    for text in ["old", "new"] {
        let reads = vec![(PathBuf::from("/w/a"), read(text))];
        journal.append(&Entry { reads, ..Entry::default() }).unwrap();
    }
    let freshness = journal.freshness().unwrap();
    assert_eq!(freshness.get(Path::new("/w/a")), Some(&read("new")));
}

#[test]
fn a_flipped_byte_is_found() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    let journal = open_as(&path, 1, true).unwrap();
    append(&journal, vec![batch(1, &["s-1"]), finished("s-1", "truth").0]);
    append(&journal, vec![Record::BatchSealed { batch: 1.into() }]);
    assert_eq!(journal.store().verify().unwrap(), (3, vec![]));
    let changes = [
        ("UPDATE records SET body = replace(body, 'truth', 'false') WHERE seq = 2", 2),
        ("UPDATE records SET at = at + 1 WHERE seq = 3", 3),
    ];
    for (change, seq) in changes {
        journal.store().connection().execute(change, []).unwrap();
        let (_, damage) = journal.store().verify().unwrap();
        assert!(damage.contains(&Damage::Record { session: "s".into(), seq }), "{damage:?}");
    }
}

/// The marks that undo and recovery look up beside the records must follow from them.
#[test]
fn what_does_not_follow_from_the_records_is_found() {
    let session = |column| Damage::Session { session: "s".into(), column };
    let read = || Damage::Read { session: "s".into(), path: "/w/a".into() };
    let cases = [
        ("UPDATE sessions SET root = '/x'", session("root")),
        ("UPDATE sessions SET opened_at = 0", session("opened_at")),
        ("UPDATE sessions SET sealed_at = 99", session("sealed_at")),
        ("UPDATE sessions SET calls = 7", session("calls")),
        ("UPDATE sessions SET batches = 7", session("batches")),
        ("UPDATE sessions SET last = 7", session("last")),
        ("UPDATE sessions SET opening = NULL", session("opening")),
        ("UPDATE reads SET extent = '\"part\"'", read()),
        ("DELETE FROM reads", read()),
        (
            "INSERT INTO reads VALUES ('s', CAST('/w/b' AS BLOB), '', 1, '\"whole\"')",
            Damage::Read { session: "s".into(), path: "/w/b".into() },
        ),
        ("UPDATE folders SET contents = zeroblob(32)", Damage::Index { path: "/w/d".into() }),
        ("UPDATE folders SET entries = x'01'", Damage::Index { path: "/w/d".into() }),
        ("UPDATE folders SET first = x'61'", Damage::Index { path: "/w/d".into() }),
    ];
    for (change, expected) in cases {
        let scratch = tempfile::tempdir().unwrap();
        let journal = open_as(&scratch.path().join("journal.db"), 1, true).unwrap();
        let journal = journal.open_with(Record::SessionOpened {
            root: "/w".into(),
            toolset: "t".into(),
            mode: "m".into(),
            version: "v".into(),
        });
        let sha256 = Digest::of(b"truth");
        let seen = vec![(
            PathBuf::from("/w/a"),
            ReadRecord { sha256, read_at_epoch_ms: 5, extent: Extent::Whole },
        )];
        let (mut done, _) = finished("s-1", "truth");
        if let Record::Finished { result, .. } = &mut done {
            result.seen.clone_from(&seen);
        }
        let row = FileRow { path: "/w/d/a".into(), stat: vec![5], sha256 };
        let index = Some(IndexUpdate { root: "/w".into(), seen: vec![row], gone: Vec::new() });
        let records = vec![batch(1, &["s-1"]), done, Record::BatchSealed { batch: 1.into() }];
        journal.append(&Entry { records, reads: seen, index, ..Entry::default() }).unwrap();
        assert_eq!(journal.store().verify().unwrap(), (4, vec![]));
        let rows = || {
            let mut rows = 0;
            journal.store().each_file(Path::new("/w"), |_| rows += 1).unwrap();
            rows
        };
        assert_eq!(rows(), 1);
        assert_eq!(journal.store().connection().execute(change, []).unwrap(), 1, "{change}");
        assert_eq!(journal.store().verify().unwrap().1, [expected], "{change}");
        // A row of the index that was changed counts as missing.
        assert_eq!(rows(), usize::from(!change.contains("folders")), "{change}");
    }
}

#[test]
fn a_record_that_is_taken_away_is_missed() {
    for seq in 1..=3 {
        let scratch = tempfile::tempdir().unwrap();
        let journal = open_as(&scratch.path().join("journal.db"), 1, true).unwrap();
        append(&journal, vec![batch(1, &["s-1"]), finished("s-1", "truth").0]);
        append(&journal, vec![Record::BatchSealed { batch: 1.into() }]);
        journal.store().connection().execute("DELETE FROM records WHERE seq = ?1", [seq]).unwrap();
        assert!(!journal.store().verify().unwrap().1.is_empty(), "{seq}");
    }
}

#[test]
fn a_journal_of_a_newer_version_is_left_alone() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    Store::open(&path).unwrap().connection().pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(Store::open(&path), Err(StoreError::Newer { found: 99, .. })));
}

/// FR-MODE-02: a batch that waits is no crash, and stays until its own seal, whatever comes between.
#[test]
fn a_batch_that_waits_is_found_until_it_is_sealed() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("journal.db");
    let journal = open_as(&path, 1, true).unwrap();
    append(&journal, vec![batch(1, &["s-1"]), Record::BatchSealed { batch: 1.into() }]);
    append(&journal, vec![batch(2, &["s-2"])]);
    append(&journal, vec![batch(2, &["s-3"]), Record::BatchWaits { batch: 2.into() }]);
    let waiting = |journal: &Journal| -> Vec<CallKey> {
        let calls = journal.store().waiting(&"s".into()).unwrap();
        calls.into_iter().map(|call| call.call.call).collect()
    };
    drop(journal);
    let journal = open_as(&path, 2, false).unwrap();
    assert_eq!(waiting(&journal), ["s-2", "s-3"]);
    assert!(journal.store().unfinished(&"s".into()).unwrap().is_empty());
    assert!(journal.store().unsettled().unwrap().is_empty());
    append(&journal, vec![batch(3, &["s-4"]), Record::BatchSealed { batch: 3.into() }]);
    append(&journal, vec![finished("s-2", "by hand").0]);
    let calls = journal.store().waiting(&"s".into()).unwrap();
    assert_eq!(calls.iter().filter(|call| call.result().is_some()).count(), 1);
    append(&journal, vec![finished("s-3", "too").0, Record::BatchSealed { batch: 2.into() }]);
    assert!(waiting(&journal).is_empty());
}

/// FR-RES-04a, IT-JRN-01: what a crash cut off is a message as far as it was recorded; one that was
/// whole is that alone.
#[test]
fn a_message_that_was_never_whole_is_put_together() {
    let scratch = tempfile::tempdir().unwrap();
    let journal = open_as(&scratch.path().join("journal.db"), 1, true).unwrap();
    let say =
        |role, content, batch| journal.remember(&[MessageRecord { role, content, batch }]).unwrap();
    let text = |text: &str| json!({"type": "text", "text": text});
    let received = |batch, said: &[&str]| Record::Received {
        batch,
        said: said.iter().map(|words| text(words)).collect(),
    };
    say(Speaker::User, json!([text("go")]), None);
    append(&journal, vec![received(1.into(), &["never twice"]), batch(1, &["s-1"])]);
    say(Speaker::Assistant, json!([text("whole")]), Some(1.into()));
    append(&journal, vec![received(2.into(), &["one"]), batch(2, &["s-2"])]);
    append(&journal, vec![received(2.into(), &[]), batch(2, &["s-3"])]);
    say(Speaker::User, json!([text("go on")]), None);
    let call = json!({"type": "call", "call": {"id": "1", "name": "t", "arguments": "{}"}});
    let expected = [
        (Speaker::User, json!([text("go")]), None),
        (Speaker::Assistant, json!([text("whole")]), Some(1)),
        (Speaker::Assistant, json!([text("one"), call, call]), Some(2)),
        (Speaker::User, json!([text("go on")]), None),
    ]
    .map(|(role, content, batch)| MessageRecord {
        role,
        content,
        batch: batch.map(BatchNumber::new),
    });
    let store = journal.store();
    for views in
        [store.messages(&"s".into()).unwrap(), store.messages_since_summary(&"s".into()).unwrap()]
    {
        let messages: Vec<MessageRecord> = views.into_iter().map(|view| view.message).collect();
        assert_eq!(messages, expected);
    }
}
