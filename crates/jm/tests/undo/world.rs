//! A workspace with a journal of its own, and how two trees differ.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(crate) const GONE: &str = "(no file)";
const FLAGS: &[&str] = &["--approve", "auto", "--yes", "--allow", "run_command", "--session", "s"];

/// A workspace with a journal of its own.
pub(crate) struct World {
    _scratch: tempfile::TempDir,
    pub(crate) workspace: PathBuf,
    home: PathBuf,
}

/// Kind, permission bits, bytes or target.
pub(crate) type Tree = BTreeMap<PathBuf, (&'static str, u32, Vec<u8>)>;

impl World {
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let base = scratch.path().canonicalize().unwrap();
        let (workspace, home) = (base.join("w"), base.join("home"));
        std::fs::create_dir(&workspace).unwrap();
        std::fs::create_dir(&home).unwrap();
        Self { _scratch: scratch, workspace, home }
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.workspace)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("JM_STATE_DIR", self.home.join("state"))
            .envs([("LC_ALL", "C.UTF-8"), ("JM_TOOLS_SANDBOX_COMMANDS_BACKEND", "none")]);
        command
    }

    /// The exit code, and all that was printed.
    pub(crate) fn jm(&self, args: &[&str]) -> (Option<i32>, String) {
        let mut command = self.command(env!("CARGO_BIN_EXE_jm"));
        let command = command.args(args).args(["--session", "s"]).stdin(Stdio::null());
        let output = command.output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&printed).into_owned())
    }

    /// The printed text; it must have ended with `code`.
    #[track_caller]
    pub(crate) fn says(&self, code: i32, args: &[&str]) -> String {
        let (ended, printed) = self.jm(args);
        assert_eq!(ended, Some(code), "jm {args:?}: {printed}");
        printed
    }

    pub(crate) fn shell(&self, script: &str) {
        let status = self.command("/bin/sh").args(["-euc", script]).status().unwrap();
        assert!(status.success(), "{script}");
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.workspace.join(path), text).unwrap();
    }

    #[track_caller]
    pub(crate) fn holds(&self, files: &[(&str, &str)]) {
        for (path, expected) in files {
            let found = std::fs::read_to_string(self.workspace.join(path));
            assert_eq!(found.unwrap_or_else(|_| GONE.to_owned()), *expected, "{path}");
        }
    }

    /// One call in a process of its own.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.exec().send(&command(script))
    }

    pub(crate) fn exec(&self) -> Exec {
        let mut child = self.command(env!("CARGO_BIN_EXE_jm"));
        child.args(["exec", "--jsonl"]).args(FLAGS).stderr(Stdio::null());
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Exec { input: child.stdin.take(), child, output }
    }

    /// Everything but `.git`.
    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        grow(&self.workspace, Path::new(""), &mut tree);
        tree
    }
}

fn grow(root: &Path, below: &Path, tree: &mut Tree) {
    for entry in std::fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        let metadata = entry.metadata().unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        let found = if metadata.is_dir() {
            if entry.file_name() == ".git" {
                continue;
            }
            grow(root, &path, tree);
            ("directory", mode, Vec::new())
        } else if metadata.is_symlink() {
            let target = std::fs::read_link(entry.path()).unwrap();
            ("link", 0, target.into_os_string().into_encoded_bytes())
        } else {
            ("file", mode, std::fs::read(entry.path()).unwrap())
        };
        tree.insert(path, found);
    }
}

/// Says in a few lines how two trees differ.
pub(crate) fn same(expected: &Tree, found: &Tree) -> Result<(), String> {
    let paths: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let shown = |tree: &Tree, path: &Path| {
        let found = tree.get(path).map(|(kind, mode, bytes)| {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
            format!("{kind} {mode:o} {text:?}")
        });
        found.unwrap_or_else(|| "nothing".to_owned())
    };
    let line = |path: &PathBuf| {
        let (wanted, is) = (shown(expected, path), shown(found, path));
        (expected.get(path) != found.get(path))
            .then(|| format!("  {}: expected {wanted}, found {is}\n", path.display()))
    };
    let lines: String = paths.into_iter().filter_map(line).collect();
    if lines.is_empty() { Ok(()) } else { Err(lines) }
}

pub(crate) struct Exec {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Exec {
    /// Null when the program died.
    pub(crate) fn send(&mut self, call: &Value) -> Value {
        self.start(call);
        self.answer()
    }

    pub(crate) fn start(&mut self, call: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{call}").unwrap();
    }

    pub(crate) fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or(Value::Null)
    }
}

impl Drop for Exec {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().ok();
    }
}

pub(crate) fn command(script: &str) -> Value {
    json!({"name": "run_command", "args": {"command": script}})
}

pub(crate) fn write_file(path: &str, content: &str) -> Value {
    json!({"name": "write_file", "args": {"path": path, "content": content}})
}
