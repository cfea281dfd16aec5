//! External tools that need more than a script: one written in Rust, and many that hang.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::fs::{Permissions, create_dir_all, set_permissions, write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Reads everything, and answers with how much that was.
const MEASURE: &str = r##"
use std::io::Read;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("--schema") {
        print!(r#"{{"name":"measure","description":"Measure the arguments","#);
        print!(r#""parameters":{{"type":"object","properties":{{"text":{{"type":"string"}}}}}}}}"#);
        return;
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    assert!(!text.contains("panic"), "asked to");
    print!(r#"{{"bytes":{}}}"#, text.len());
}
"##;

struct Home {
    scratch: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let home = Self { scratch: tempfile::tempdir().unwrap() };
        create_dir_all(home.tools()).unwrap();
        create_dir_all(home.path().join("w")).unwrap();
        home
    }

    fn path(&self) -> &Path {
        self.scratch.path()
    }

    fn tools(&self) -> PathBuf {
        self.path().join(".config/journeyman/tools")
    }

    fn jm(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jm"));
        command.current_dir(self.path().join("w")).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.path());
        command.env("JM_TOOLS_EXTERNAL_SCHEMA_SECONDS", "10").args(args).output().unwrap()
    }
}

fn printed(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// IK-PROTO, IK-WRAP
#[test]
fn a_tool_in_rust() {
    let home = Home::new();
    let source = home.path().join("measure.rs");
    write(&source, MEASURE).unwrap();
    let rustc = PathBuf::from(env!("CARGO")).with_file_name("rustc");
    let built = Command::new(rustc)
        .args(["--edition", "2024", "-o"])
        .arg(home.tools().join("measure"))
        .arg(&source)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let answer = home.jm(&["--yes", "call", "measure", r#"{"text":"é"}"#]);
    assert_eq!(printed(&answer), r#"{"tool_success":true,"result":{"bytes":13}}"#);
    let crash = home.jm(&["--yes", "call", "measure", r#"{"text":"panic"}"#]);
    let crash: serde_json::Value = serde_json::from_str(&printed(&crash)).unwrap();
    assert_eq!(crash["error"], "Tool 'measure' crashed with exit code 101");
    assert!(crash["stderr"].as_str().unwrap().contains("asked to"), "{crash}");
}

/// IK-PROTO
#[test]
fn the_example_is_a_tool() {
    let home = Home::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/word-count");
    std::fs::copy(example, home.tools().join("word-count")).unwrap();
    let answer = home.jm(&["--yes", "call", "word_count", r#"{"text":"one two\nthree"}"#]);
    let expected = r#"{"tool_success":true,"result":{"words": 3, "lines": 2, "characters": 13}}"#;
    assert_eq!(printed(&answer), expected);
}

/// IK-DIRS: those that hang are waited for together.
#[test]
fn tools_that_hang_do_not_add_up() {
    let home = Home::new();
    for number in 0..8 {
        let path = home.tools().join(format!("stall{number}"));
        write(&path, "#!/bin/sh\nexec sleep 98766\n").unwrap();
        set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }
    let began = Instant::now();
    let listed = home.jm(&["tools"]);
    assert!(began.elapsed() < Duration::from_secs(70), "{:?}", began.elapsed());
    let complaints = String::from_utf8(listed.stderr.clone()).unwrap();
    assert_eq!(complaints.matches("did not answer within 10 s").count(), 8, "{complaints}");
    assert!(!printed(&listed).contains("stall"));
}
