//! A journal of version 0.1.0 is opened, verified, recovered and undone: nothing that was recorded is lost by an
//! upgrade.
//!
//! `fixtures/journal-0.1.0.db` was written by that version in `/tmp/journeyman-fixture/w`: session `s` read, patched,
//! ran a command, wrote, undid and redid; session `d` was killed when both of its files were in place and the second
//! call had no result yet.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use jm_types::Digest;
use rusqlite::{Connection, params};

use crate::world::{GONE, World};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/journal-0.1.0.db");
const OLD_ROOT: &str = "/tmp/journeyman-fixture/w";

/// A world with the old journal; its files are those that the journal left.
fn old_world() -> (World, PathBuf) {
    let world = World::new();
    let state = world.workspace.with_file_name("home").join("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).unwrap();
    let journal = state.join("journal.db");
    std::fs::copy(FIXTURE, &journal).unwrap();
    world.shell(
        "mkdir empty sub; echo made > made; echo last > last; printf fresh > sub/new; printf A > a; printf B > b",
    );
    (world, journal)
}

fn version(journal: &PathBuf) -> i64 {
    let connection = Connection::open(journal).unwrap();
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

/// Gives the journal another root: paths are in its records, so their chain is made anew.
fn move_to(world: &World, journal: &PathBuf) {
    let connection = Connection::open(journal).unwrap();
    let root = world.workspace.to_str().unwrap();
    for session in ["d", "s"] {
        let mut select = connection
            .prepare("SELECT seq, at, body FROM records WHERE session = ?1 ORDER BY seq")
            .unwrap();
        let rows = select.query_map([session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let rows: Vec<(i64, i64, String)> = rows.unwrap().map(Result::unwrap).collect();
        let mut hash = Digest::of(format!("journeyman session {session}").as_bytes());
        for (seq, at, body) in rows {
            let body = body.replace(OLD_ROOT, root);
            hash = Digest::of(format!("{hash}\n{at}\n{body}").as_bytes());
            let update = "UPDATE records SET body = ?3, hash = ?4 WHERE session = ?1 AND seq = ?2";
            connection.execute(update, params![session, seq, body, hash.as_bytes()]).unwrap();
        }
        let update = "UPDATE sessions SET hash = ?2 WHERE session = ?1";
        connection.execute(update, params![session, hash.as_bytes()]).unwrap();
    }
    for update in [
        "UPDATE sessions SET root = replace(root, ?1, ?2), opening = replace(opening, ?1, ?2)",
        "UPDATE reads SET path = CAST(replace(CAST(path AS TEXT), ?1, ?2) AS BLOB)",
        "UPDATE files SET root = replace(root, ?1, ?2),
             path = CAST(replace(CAST(path AS TEXT), ?1, ?2) AS BLOB)",
    ] {
        connection.execute(update, [OLD_ROOT, root]).unwrap();
    }
}

#[test]
fn an_old_journal_is_verified_as_it_is() {
    let (world, journal) = old_world();
    assert_eq!(version(&journal), 5);
    assert_eq!(world.says(0, &["verify"]), "Journal OK: 48 records verified\n");
    assert!(version(&journal) > 5, "it was brought up to date");
    assert_eq!(world.says(0, &["verify"]), "Journal OK: 48 records verified\n");
}

#[test]
fn an_old_journal_is_recovered_undone_and_gone_on_with() {
    let (world, journal) = old_world();
    move_to(&world, &journal);
    let mut recover = world.command(env!("CARGO_BIN_EXE_jm"));
    recover.args(["recover", "--session", "d", "--on-recovery", "undo"]).stdin(Stdio::null());
    assert!(recover.output().unwrap().status.success());
    world.holds(&[("a", GONE), ("b", GONE)]);
    world.holds(&[("last", "last\n"), ("made", "made\n"), ("notes", GONE), ("sub/new", "fresh")]);
    world.says(0, &["undo"]);
    world.holds(&[("last", GONE), ("made", "made\n")]);
    world.says(0, &["undo"]);
    world.holds(&[("made", GONE), ("notes", "one\ntwo\n"), ("sub/new", "fresh")]);
    assert!(!world.workspace.join("empty").exists());
    world.says(0, &["undo"]);
    world.holds(&[("notes", "one\n"), ("sub/new", GONE)]);
    world.says(0, &["redo"]);
    world.holds(&[("notes", "one\ntwo\n"), ("sub/new", "fresh")]);
    world.run("echo three >> notes");
    world.says(0, &["undo"]);
    world.holds(&[("notes", "one\ntwo\n")]);
    assert!(world.says(0, &["verify"]).starts_with("Journal OK"));
}

/// Its layout has no way to give space back in small steps: while a session is at work it stays as it is.
#[test]
fn an_old_journal_is_not_rewritten_while_a_session_is_at_work() {
    let layout = |journal: &PathBuf| -> i64 {
        let connection = Connection::open(journal).unwrap();
        connection.query_row("PRAGMA auto_vacuum", [], |row| row.get(0)).unwrap()
    };
    let (world, journal) = old_world();
    move_to(&world, &journal);
    let mut session = world.exec();
    session.send(&crate::command("head -c 200000 /dev/urandom | od > big"));
    session.send(&crate::command("rm big"));
    let connection = Connection::open(&journal).unwrap();
    connection.execute_batch("DELETE FROM uses; DELETE FROM folders").unwrap();
    drop(connection);
    let said = world.says(0, &["gc"]);
    assert!(said.contains("`jm gc --compact`") && !said.contains("damage"), "{said}");
    let refused = world.says(2, &["gc", "--compact"]);
    assert!(refused.contains("session s is in use by process"), "{refused}");
    assert_eq!(layout(&journal), 0);
    drop(session);
    let size = || std::fs::metadata(&journal).unwrap().len();
    let before = size();
    assert!(!world.says(0, &["gc"]).contains("--compact"));
    assert_eq!(layout(&journal), 2);
    assert!(size() < before, "{} is not less than {before}", size());
}
