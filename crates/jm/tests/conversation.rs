//! Messages of a conversation, as `jm log` and `jm export` show them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::path::Path;
use std::process::Command;

use jm_store::{CallRecord, Entry, Journal, MessageRecord, Owner, Record, Speaker};
use serde_json::{Value, json};

fn jm(base: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_jm"))
        .env_clear()
        .env("TZ", "UTC")
        .env("HOME", base)
        .env("JM_STATE_DIR", base)
        .current_dir(base)
        .args(args)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn message(role: Speaker, content: Value, batch: Option<u64>) -> MessageRecord {
    MessageRecord { role, content, batch: batch.map(Into::into) }
}

/// A question, a call, and the answer.
fn converse(base: &Path) {
    let owner = Owner { pid: 1, started: 1, boot: "b".into() };
    let path = base.join("journal.db");
    let journal = Journal::open(&path, &"talk".into(), base, &owner, &|_| false, || 0).unwrap();
    let asked = [
        message(Speaker::User, json!("what is <b>here</b>?\u{1b}[31m"), None),
        message(Speaker::Assistant, json!([{"text": "I look."}, {"call": "1"}]), Some(1)),
    ];
    journal.remember(&asked).unwrap();
    let call = CallRecord {
        call: "talk-1".into(),
        id: "1".into(),
        name: "list_directory".into(),
        arguments: "{}".into(),
    };
    let records = vec![
        Record::BatchOpened { batch: 1.into(), calls: vec![call] },
        Record::BatchSealed { batch: 1.into() },
    ];
    journal.append(&Entry { records, ..Entry::default() }).unwrap();
    let long = format!("Much. {}", "x".repeat(5_000));
    journal.remember(&[message(Speaker::Assistant, json!(long), None)]).unwrap();
    journal.close(&Entry::default()).unwrap();
}

/// FR-RES-01: messages and calls, in the order in which they were.
#[test]
fn messages_stand_among_the_calls() {
    let base = tempfile::tempdir().unwrap();
    converse(base.path());
    let log = jm(base.path(), &["log", "talk"]);
    let time = "1970-01-01 00:00:00";
    let expected = format!(
        "{time}\n> what is <b>here</b>?\nI look.\ntalk-1  list_directory  [no result]\nMuch. "
    );
    let (before, long) = log.split_at(expected.len());
    assert_eq!(before, expected);
    // A long line is wrapped, and whole.
    assert_eq!(long.replace('\n', ""), "x".repeat(5_000));

    let lines = jm(base.path(), &["log", "talk", "--json"]);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["content"], "what is <b>here</b>?\u{1b}[31m");
    assert_eq!(
        lines[1],
        json!({"message": "assistant", "content": [{"text": "I look."}, {"call": "1"}], "batch": 1, "at": 0})
    );
    assert_eq!(lines[2]["call"], "talk-1");

    let page = jm(base.path(), &["export", "talk", "--html"]);
    assert!(page.contains("class=\"prompt\"") && page.contains("what is &lt;b&gt;here&lt;/b&gt;?"));
    assert!(!page.contains('\u{1b}'));
    let places = ["I look.", "list_directory", "Much. x"].map(|text| page.find(text).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    assert!(jm(base.path(), &["verify"]).contains("Journal OK"));
}
