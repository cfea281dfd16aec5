//! Bypasses for real: each attempt that claims an effect is run by bash among traps, and the effect
//! must be there. An attempt that does nothing would prove nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::path::Path;
use std::process::{Command, Stdio};

const BYPASS: &str = include_str!("bypass.txt");

/// Traps: whatever runs or loads one of them leaves `canary`.
const TRAPS: &[(&str, &str)] = &[
    ("evil", "#!/bin/sh\n: > \"${ROOM:-.}/canary\"\n"),
    ("git-evil", "#!/bin/sh\n: > \"${ROOM:-.}/canary\"\n"),
    ("lsx", "#!/bin/sh\n: > \"${ROOM:-.}/canary\"\n"),
    ("hooks/hooks/pre-commit", "#!/bin/sh\n: > \"${ROOM:-.}/canary\"\n"),
    ("evil.py", "open('canary', 'w')\n"),
    ("sub/trap.py", "open('canary', 'w')\n"),
    ("evil.js", "require('fs').writeFileSync('canary', '')\n"),
    ("scripts/gen.js", "\n"),
    ("evil.pm", "package evil; open(F, '>', 'canary'); 1;\n"),
    ("evil.sed", "w canary\n"),
    ("evil.awk", "BEGIN { print \"x\" > \"canary\" }\n"),
    ("evil.ini", "[pytest]\naddopts = -p evil\n"),
    ("rgrc", "--pre=./evil\n"),
    ("Makefile", "all:\n\t@true;\nvar:\n\t@$(CC)\n"),
    ("evil.mk", "x := $(shell ./evil)\nall:\n\t@true\n"),
    ("sub/Makefile", "all:\n\t@../evil\n"),
    ("a.txt", "x\n--\n"),
];

/// A repository of four commits, an archive, and the traps.
fn prepare(room: &Path) {
    for (name, text) in TRAPS {
        let path = room.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
    }
    let script = "set -e; tar cf a.tar a.txt; git init -q; git config user.name a; \
                  git config user.email a@b; for i in 1 2 3 4; do echo x$i >> a.txt; \
                  git add a.txt; git commit -qm $i; done";
    assert!(bash(script, room), "the room could not be prepared");
}

/// Runs a script in a room; `true` when it ends well.
fn bash(script: &str, room: &Path) -> bool {
    Command::new("timeout")
        .args(["20", "bash", "-c", script])
        .current_dir(room)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", room)
        .env("ROOM", room)
        .env("PYTHONPATH", room)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success()
}

/// The attempts that leave no canary in a copy of the model.
fn without_effect(attempts: &[String], model: &Path, room: &Path) -> Vec<String> {
    let leaves_nothing = |attempt: &&String| {
        let copy = Command::new("cp").arg("-a").arg(model).arg(room).status().unwrap();
        assert!(copy.success());
        bash(attempt, room);
        let is_idle = !room.join("canary").exists();
        std::fs::remove_dir_all(room).unwrap();
        is_idle
    };
    attempts.iter().filter(leaves_nothing).cloned().collect()
}

#[test]
fn what_a_bypass_claims_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    std::fs::create_dir(&model).unwrap();
    prepare(&model);
    let attempts = BYPASS.lines().filter_map(|line| line.strip_prefix("ran\t"));
    let attempts: Vec<String> =
        attempts.map(|line| line.replace("\\n", "\n").replace("\\t", "\t")).collect();
    assert!(attempts.len() >= 200, "{}", attempts.len());
    let idle: Vec<String> = std::thread::scope(|scope| {
        let chunks = attempts.chunks(attempts.len().div_ceil(4)).enumerate();
        let threads: Vec<_> = chunks
            .map(|(number, chunk)| {
                let room = folder.path().join(format!("room{number}"));
                let model = &model;
                scope.spawn(move || without_effect(chunk, model, &room))
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(idle.is_empty(), "{} attempts had no effect: {idle:#?}", idle.len());
}
