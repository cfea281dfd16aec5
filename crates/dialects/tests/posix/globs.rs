//! Every pattern gives the names that libc's `glob` gives.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jm_dialects::posix::PosixGlob;
use jm_files::{ProjectState, Sandbox};
use jm_process::{Confiner, EnvSanitizer};
use jm_tools::{CallContext, Workspace};
use jm_types::Limits;

use crate::Dice;

/// One a line.
const PATTERNS: &str = include_str!("globs.txt");

const ORACLE: &str = r#"
import ctypes, json, locale, sys
locale.setlocale(locale.LC_ALL, "C.UTF-8")
class Glob(ctypes.Structure):
    _fields_ = [("count", ctypes.c_size_t), ("paths", ctypes.POINTER(ctypes.c_char_p)),
                ("offs", ctypes.c_size_t), ("rest", ctypes.c_byte * 256)]
libc = ctypes.CDLL(None)
answers = []
for pattern in json.load(sys.stdin):
    found = Glob()
    libc.glob(pattern.encode(), 0, None, ctypes.byref(found))
    answers.append(sorted(found.paths[i].decode() for i in range(found.count)))
json.dump(answers, sys.stdout)
"#;

const FILES: &[&str] = &[
    "a",
    "b",
    "ab",
    "abc",
    "a.c",
    "b.c",
    "a.h",
    ".hidden",
    ".a.c",
    "A.c",
    "é.c",
    "日本.c",
    "a b",
    "a*b",
    "a?b",
    "[a]",
    "a[b",
    "a]b",
    "a\\b",
    "-",
    "a-b",
    "_x",
    "1",
    "12",
    "a1",
    "!x",
    "^x",
    "sub/a.c",
    "sub/b.h",
    "sub/.hid/x.c",
    "sub/deep/er/x.c",
    "sub2/a.c",
    ".dot/a.c",
    "z/é/q.c",
];

fn tree(root: &Path) {
    for file in FILES {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    std::os::unix::fs::symlink("sub", root.join("link")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
}

fn generated(count: usize) -> Vec<String> {
    const PIECES: &[&str] =
        &["*", "?", "a", "b", ".c", "[ab]", "[!a]", "[a-z]", "sub", "/", "/", ".", "[[:alpha:]]"];
    let mut dice = Dice::new(0xB10B);
    let mut one = || (0..=dice.roll(4)).map(|_| dice.pick(PIECES)).collect::<String>();
    // What begins at the root of the machine is the same for nobody.
    let mut patterns = Vec::new();
    while patterns.len() < count {
        patterns.extend(Some(one()).filter(|pattern| !pattern.starts_with('/')));
    }
    patterns
}

fn by_system(patterns: &[String], root: &Path) -> Vec<Vec<String>> {
    let mut child = Command::new("python3")
        .args(["-c", ORACLE])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    serde_json::to_writer(child.stdin.take().unwrap(), patterns).unwrap();
    serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
}

fn scope(root: &Path) -> CallContext {
    let workspace = Workspace {
        sandbox: Arc::new(Sandbox::unconfined(root).unwrap()),
        environment: Arc::new(EnvSanitizer::new(&[])),
        state: Arc::new(ProjectState::new(Path::new("/nonexistent"), root)),
        confiner: Arc::new(Confiner::unsupervised()),
        jobs: Arc::default(),
    };
    let deadline = Instant::now() + Duration::from_secs(600);
    let scope = CallContext::without_call(workspace, Limits::default(), deadline);
    CallContext { tool_name: "glob".to_owned(), ..scope }
}

#[test]
fn patterns_give_what_libc_gives() {
    let scratch = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(scratch.path()).unwrap();
    tree(&root);
    let mut patterns: Vec<String> = PATTERNS.lines().map(str::to_owned).collect();
    patterns.extend(generated(120));
    assert!(patterns.len() >= 200, "{}", patterns.len());
    let theirs = by_system(&patterns, &root);
    let scope = scope(&root);
    let mut differences = Vec::new();
    for (pattern, theirs) in patterns.iter().zip(theirs) {
        let glob = PosixGlob { path: String::new(), pattern: pattern.clone() };
        let ours = glob.run(&scope).unwrap();
        if ours != theirs {
            differences.push(format!("{pattern:?}\n  libc: {theirs:?}\n  ours: {ours:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
