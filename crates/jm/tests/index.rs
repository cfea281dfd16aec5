//! The index of a workspace between processes: what did not move is not read again, and nothing
//! that moved is missed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jm_types::Digest;
use tempfile::TempDir;

struct World {
    base: TempDir,
}

impl World {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir(base.path().join("work")).unwrap();
        Self { base }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.base.path().join("work").join(name)
    }

    fn jm(&self, args: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_jm"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.base.path())
            .env("JM_STATE_DIR", self.base.path().join("state"))
            // The index serves commands that change the workspace directly.
            .env("JM_TOOLS_SANDBOX_COMMANDS_LAYER", "off")
            .current_dir(self.base.path().join("work"))
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// In a process of its own.
    fn run(&self, script: &str) {
        let args = serde_json::json!({"command": script}).to_string();
        self.jm(&["call", "run_command", &args, "--yes", "--allow", "run_command"]);
    }

    fn journal(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.base.path().join("state/journal.db")).unwrap()
    }

    /// The one row of the index: the files of the workspace's own directory, with the hashes of their contents.
    fn row(&self) -> (Vec<String>, Vec<Digest>) {
        let journal = self.journal();
        let select = "SELECT contents, entries FROM folders WHERE folder = x''";
        let row = journal.query_row(select, [], |row| Ok((row.get(0)?, row.get(1)?)));
        let Ok((contents, entries)): Result<(Vec<u8>, Vec<u8>), _> = row else {
            return Default::default();
        };
        let mut names = Vec::new();
        // One byte for the form; the length of a name in two, of a stat in one.
        let mut rest = &entries[1..];
        while let [low, high, after @ ..] = rest {
            let (name, after) = after.split_at(usize::from(u16::from_le_bytes([*low, *high])));
            names.push(String::from_utf8(name.to_vec()).unwrap());
            rest = &after[1 + usize::from(after[0])..];
        }
        let digest = |bytes: &[u8]| Digest::from_bytes(bytes.try_into().unwrap());
        (names, contents.chunks(32).map(digest).collect())
    }

    /// Says of all files that their content is this one, in a row that matches its own hash.
    fn lie(&self, sha256: Digest) {
        let journal = self.journal();
        let select = "SELECT root, contents, entries FROM folders";
        let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let row = journal.query_row(select, [], columns).unwrap();
        let (root, contents, entries): (String, Vec<u8>, Vec<u8>) = row;
        let contents = sha256.as_bytes().repeat(contents.len() / 32);
        let mut hash = jm_types::Hashing::default();
        for part in [root.as_bytes(), b"", b"", &contents, &entries] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let hash = hash.finish().as_bytes().to_vec();
        let update = "UPDATE folders SET contents = ?1, hash = ?2";
        assert_eq!(journal.execute(update, rusqlite::params![contents, hash]).unwrap(), 1);
    }
}

/// Waits until files that were written before are old enough to be trusted.
fn let_a_tick_pass(scratch: &Path) {
    let (first, marker) = (std::time::SystemTime::now(), scratch.join("marker"));
    while first.elapsed().unwrap().as_millis() < 40 {
        fs::write(&marker, "").unwrap();
    }
    fs::remove_file(marker).unwrap();
}

#[test]
fn what_did_not_move_is_not_read_again() {
    let world = World::new();
    fs::write(world.file("a"), "a\n").unwrap();
    fs::write(world.file("b"), "b\n").unwrap();
    let_a_tick_pass(world.base.path());
    world.run("true");
    let (names, contents) = world.row();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(contents, [Digest::of(b"a\n"), Digest::of(b"b\n")]);
    // If the next process reads them, it finds that the index lies.
    let other = Digest::of(b"another");
    world.lie(other);
    world.run("true");
    assert_eq!(world.row().1, [other, other]);
    // One that moved is read, and the lie is found out.
    fs::write(world.file("a"), "A\n").unwrap();
    let_a_tick_pass(world.base.path());
    world.run("true");
    assert_eq!(world.row().1, [Digest::of(b"A\n"), other]);
}

#[test]
fn what_the_index_remembers_can_be_put_back_by_a_later_process() {
    let world = World::new();
    fs::write(world.file("kept"), "precious\n").unwrap();
    let_a_tick_pass(world.base.path());
    world.run("true");
    world.run("rm kept");
    assert!(world.row().0.is_empty());
    world.jm(&["gc"]);
    world.jm(&["undo"]);
    assert_eq!(fs::read_to_string(world.file("kept")).unwrap(), "precious\n");
    world.jm(&["verify"]);
}

/// A change within the tick in which the file was read leaves the same times and the same size.
#[test]
fn a_change_in_the_same_moment_is_not_missed() {
    let world = World::new();
    for number in 10..20 {
        fs::write(world.file("a"), format!("{number}\n")).unwrap();
        world.run(&format!("echo {} > a", number + 10));
        world.jm(&["undo"]);
        let content = fs::read_to_string(world.file("a")).unwrap();
        assert_eq!(content, format!("{number}\n"));
    }
}
