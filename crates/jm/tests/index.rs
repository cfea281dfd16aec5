//! The index of a workspace between processes: what did not move is not read again, and nothing
//! that moved is missed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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

    fn rows(&self) -> Vec<(PathBuf, String)> {
        let journal =
            rusqlite::Connection::open(self.base.path().join("state/journal.db")).unwrap();
        let mut select = journal.prepare("SELECT path, sha256 FROM files ORDER BY path").unwrap();
        let rows = select.query_map([], |row| {
            let path: Vec<u8> = row.get(0)?;
            Ok((PathBuf::from(String::from_utf8(path).unwrap()), row.get(1)?))
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    /// Says of a file that its content is another one, in a row that matches its own hash.
    fn lie(&self, name: &str, sha256: &str) {
        let journal =
            rusqlite::Connection::open(self.base.path().join("state/journal.db")).unwrap();
        let path = self.file(name).into_os_string().into_encoded_bytes();
        let select = "SELECT root, stat FROM files WHERE path = ?1";
        let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let (root, stat): (String, String) = journal.query_row(select, [&path], columns).unwrap();
        let mut hash = jm_types::Hashing::default();
        for part in [root.as_bytes(), &path, stat.as_bytes(), sha256.as_bytes()] {
            hash.update(part);
            hash.update(&[0]);
        }
        let hash = hash.finish().as_bytes().to_vec();
        let update = "UPDATE files SET sha256 = ?1, hash = ?2 WHERE path = ?3";
        assert_eq!(journal.execute(update, rusqlite::params![sha256, hash, path]).unwrap(), 1);
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
    let rows = world.rows();
    assert_eq!(rows.len(), 2, "{rows:?}");
    // If the next process reads `a`, it finds that the index lies.
    let other = rows[1].1.clone();
    world.lie("a", &other);
    world.run("true");
    assert_eq!(world.rows()[0].1, other);
    // One that moved is read, and the lie is found out.
    fs::write(world.file("a"), "A\n").unwrap();
    let_a_tick_pass(world.base.path());
    world.run("true");
    assert_ne!(world.rows()[0].1, other);
}

#[test]
fn what_the_index_remembers_can_be_put_back_by_a_later_process() {
    let world = World::new();
    fs::write(world.file("kept"), "precious\n").unwrap();
    let_a_tick_pass(world.base.path());
    world.run("true");
    world.run("rm kept");
    assert!(world.rows().is_empty());
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
