//! What calls changed can be taken back, and brought again: the real program on real trees.
//!
//! `JM_SEED=17` runs only that one of the random sequences.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const GONE: &str = "(no file)";
const SEQUENCES: u64 = 100;
const FLAGS: &[&str] = &["--approve", "auto", "--yes", "--allow", "run_command", "--session", "s"];

/// A workspace with a journal of its own.
struct World {
    _scratch: tempfile::TempDir,
    workspace: PathBuf,
    home: PathBuf,
}

/// Kind, permission bits, bytes or target.
type Tree = BTreeMap<PathBuf, (&'static str, u32, Vec<u8>)>;

impl World {
    fn new() -> Self {
        let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let base = scratch.path().canonicalize().unwrap();
        let (workspace, home) = (base.join("w"), base.join("home"));
        std::fs::create_dir(&workspace).unwrap();
        std::fs::create_dir(&home).unwrap();
        Self { _scratch: scratch, workspace, home }
    }

    fn command(&self, program: &str) -> Command {
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
    fn jm(&self, args: &[&str]) -> (Option<i32>, String) {
        let mut command = self.command(env!("CARGO_BIN_EXE_jm"));
        let command = command.args(args).args(["--session", "s"]).stdin(Stdio::null());
        let output = command.output().unwrap();
        let printed = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&printed).into_owned())
    }

    /// What it printed; it must have ended with `code`.
    #[track_caller]
    fn says(&self, code: i32, args: &[&str]) -> String {
        let (ended, printed) = self.jm(args);
        assert_eq!(ended, Some(code), "jm {args:?}: {printed}");
        printed
    }

    fn shell(&self, script: &str) {
        let status = self.command("/bin/sh").args(["-euc", script]).status().unwrap();
        assert!(status.success(), "{script}");
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.workspace.join(path), text).unwrap();
    }

    #[track_caller]
    fn holds(&self, files: &[(&str, &str)]) {
        for (path, expected) in files {
            let found = std::fs::read_to_string(self.workspace.join(path));
            assert_eq!(found.unwrap_or_else(|_| GONE.to_owned()), *expected, "{path}");
        }
    }

    /// One call in a process of its own.
    fn run(&self, script: &str) -> Value {
        self.exec().send(&command(script))
    }

    fn exec(&self) -> Exec {
        let mut child = self.command(env!("CARGO_BIN_EXE_jm"));
        child.args(["exec", "--jsonl"]).args(FLAGS).stderr(Stdio::null());
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Exec { input: child.stdin.take(), child, output }
    }

    /// Everything but `.git`.
    fn tree(&self) -> Tree {
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
fn same(expected: &Tree, found: &Tree) -> Result<(), String> {
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

struct Exec {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Exec {
    /// Null when the program died.
    fn send(&mut self, call: &Value) -> Value {
        writeln!(self.input.as_mut().unwrap(), "{call}").unwrap();
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

fn command(script: &str) -> Value {
    json!({"name": "run_command", "args": {"command": script}})
}

fn write_file(path: &str, content: &str) -> Value {
    json!({"name": "write_file", "args": {"path": path, "content": content}})
}

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 16) % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> Option<&'a T> {
        if all.is_empty() { None } else { Some(all[self.below(all.len())]) }
    }
}

/// The next call, and the reads that must come before it.
fn step(random: &mut Random, tree: &Tree, number: usize) -> Vec<Value> {
    let of = |kind: &str| -> Vec<&str> {
        let paths = tree.iter().filter(|(_, found)| found.0 == kind);
        paths.map(|(path, _)| path.to_str().unwrap()).collect()
    };
    let (files, directories) = (of("file"), of("directory"));
    let parent = random.pick(&directories).map_or(String::new(), |path| format!("{path}/"));
    let new = match random.below(3) {
        0 => format!("n{number}"),
        1 => format!("{parent}n{number}"),
        _ => format!("{parent}d{number}/e/n{number}"),
    };
    let text = format!("{number} {}\n", random.below(1000)).repeat(random.below(3) + 1);
    let directory_mode = ["700", "755", "750"][random.below(3)];
    let mode = ["600", "644", "755", "640", "444", "700"][random.below(6)];
    let file = random.pick(&files);
    let directory = random.pick(&directories);
    let script = match (random.below(16), file, directory) {
        (0 | 1, ..) => return vec![write_file(&new, &text)],
        (2..=4, Some(file), _) => return patch(&[Some(file), random.pick(&files)], &new, number),
        (5, Some(file), _) => format!("printf 'more %s\\n' {number} >> '{file}'"),
        (6, Some(file), _) => format!("rm '{file}'; printf '\\000\\377{number}' > b{number}"),
        (7, Some(file), _) => format!("mv '{file}' 'm{number}'"),
        (8, Some(file), _) => format!("chmod {mode} '{file}'"),
        (9, _, Some(directory)) => format!("rm -r '{directory}'"),
        (10, _, Some(directory)) => format!("mv '{directory}' 'k{number}'"),
        (11, _, Some(directory)) => format!("chmod {directory_mode} '{directory}'"),
        (14, Some(file), _) => format!("cp -p '{file}' c{number}; : > '{file}'; exit 3"),
        _ => format!(
            "mkdir -m {directory_mode} x{number}; mkdir x{number}/y; printf '{number}' > \
             x{number}/y/z; chmod {mode} x{number}/y/z"
        ),
    };
    vec![command(&script)]
}

/// Appends to files that there are, and creates one.
fn patch(files: &[Option<&str>], new: &str, number: usize) -> Vec<Value> {
    let mut files: Vec<&str> = files.iter().flatten().copied().collect();
    files.dedup();
    let read = |path: &&str| json!({"name": "read_file", "args": {"path": path}});
    let mut calls: Vec<Value> = files.iter().map(read).collect();
    files.push(new);
    let section = |path: &str| format!("F {path}\nT\npatched {number}\n.\n");
    let sections: String = files.into_iter().map(section).collect();
    let patch = format!("LP1\n{sections}END\n");
    calls.push(json!({"name": "apply_patch", "args": {"patch": patch}}));
    calls
}

/// Makes calls, then walks back and forth through what they left.
fn sequence(seed: u64) -> Result<(), String> {
    let world = World::new();
    let mut random = Random::new(seed);
    world.shell("mkdir -p src/deep; chmod 750 src/deep; echo one > a; echo two > src/b");
    world.shell("echo x > src/deep/run; chmod 755 src/deep/run; mkdir .git; echo g > .git/g");
    let mut trees = vec![world.tree()];
    let mut story = Vec::new();
    let mut exec = world.exec();
    for number in 0..5 + random.below(8) {
        for call in step(&mut random, trees.last().unwrap(), number) {
            let answer = exec.send(&call);
            story.push(format!("  {} -> {}", call["args"], answer["verdict"]));
        }
        let tree = world.tree();
        // A call that changed nothing does not count.
        if trees.last() != Some(&tree) {
            trees.push(tree);
        }
    }
    drop(exec);
    let steps = trees.len() - 1;
    let story = story.join("\n");
    let check = |what: String, left: usize| {
        let is = same(&trees[left], &world.tree());
        is.map_err(|why| format!("seed {seed}, after {what} of {steps} steps:\n{why}\n{story}"))
    };
    let undo = |count: usize| {
        let (code, printed) = world.jm(&["undo", &count.to_string()]);
        check(format!("undo {count} ({code:?})\n{printed}"), steps - count)
    };
    let redo = |count: usize| {
        (1..=count).try_for_each(|done| {
            let (code, printed) = world.jm(&["redo"]);
            check(format!("redo {done} ({code:?})\n{printed}"), steps - count + done)
        })
    };
    let prefix = 1 + random.below(steps.min(4));
    undo(prefix)?;
    redo(prefix)?;
    undo(steps)?;
    if seed.is_multiple_of(8) {
        redo(steps)?;
        undo(steps)?;
    }
    world.holds(&[(".git/g", "g\n")]);
    Ok(())
}

#[test]
fn random_sequences_are_undone_and_redone_byte_for_byte() {
    let only: Option<u64> = std::env::var("JM_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds: Vec<u64> = only.map_or_else(|| (0..SEQUENCES).collect(), |seed| vec![seed]);
    let run = |part: &[u64]| part.iter().filter_map(|seed| sequence(*seed).err()).collect();
    let failures: Vec<String> = std::thread::scope(|scope| {
        let parts = seeds.chunks(seeds.len().div_ceil(4));
        let workers: Vec<_> = parts.map(|part| scope.spawn(move || run(part))).collect();
        workers.into_iter().flat_map(|worker| -> Vec<_> { worker.join().unwrap() }).collect()
    });
    let first = failures.iter().take(3).cloned().collect::<String>();
    assert!(failures.is_empty(), "{} of {} failed:\n{first}", failures.len(), seeds.len());
}

/// One command, taken back, brought again, taken back again.
fn there_and_back(setup: &str, script: &str) -> Result<(), String> {
    let world = World::new();
    world.shell(setup);
    let before = world.tree();
    world.run(script);
    let after = world.tree();
    let says = |what: &str, tree: &Tree| {
        let (_, printed) = world.jm(&[what]);
        let is = same(tree, &world.tree());
        is.map_err(|why| format!("{setup:?}, then {script:?}, after {what}: {printed}{why}"))
    };
    says("undo", &before)?;
    says("redo", &after)?;
    says("undo", &before)
}

#[test]
fn a_file_and_a_directory_that_changed_places_are_left_alone() {
    for (setup, script) in [("echo x > a", "rm a; mkdir a"), ("mkdir a", "rmdir a; echo y > a")] {
        let world = World::new();
        world.shell(setup);
        world.run(script);
        assert!(world.says(1, &["undo"]).contains("changed places"), "{script}");
    }
}

#[test]
fn each_kind_of_change_goes_there_and_back() {
    let cases = [
        ("true", "mkdir d"),
        ("true", "mkdir -m 700 d; echo x > d/f"),
        ("mkdir d", "rmdir d"),
        ("mkdir -p d/e; chmod 700 d; echo x > d/e/f", "rm -r d"),
        ("mkdir -p d/e; chmod 711 d/e; echo x > d/e/f", "mv d g"),
        ("mkdir d; echo x > d/f", "chmod 700 d"),
        ("mkdir d; echo x > d/f", "chmod 700 d; echo y > d/f"),
        ("echo x > a; chmod 600 a", "chmod 4755 a"),
        ("echo x > a; chmod 444 a", "rm -f a"),
        ("echo x > a", "mv a A"),
        ("echo x > a; echo y > b", "mv a t; mv b a; mv t b"),
        ("true", ": > empty; : > .hidden; : > 'a name'; : > \"two\nlines\""),
        ("head -c 1100000 /dev/zero > large", "printf y >> large"),
        ("echo b > b; ln -s b a", "rm b; echo c > c"),
    ];
    let failed: Vec<String> =
        cases.iter().filter_map(|(setup, script)| there_and_back(setup, script).err()).collect();
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn a_file_changed_by_hand_is_shown_and_left_alone_until_forced() {
    let world = World::new();
    world.write("a", "1\n");
    world.run("echo 2 > a; echo 2 > b");
    world.write("a", "by hand\n");
    let printed = world.says(1, &["undo"]);
    let path = world.workspace.join("a").display().to_string();
    assert!(printed.contains(&format!("left alone: {path}: it changed since")), "{printed}");
    world.holds(&[("a", "by hand\n"), ("b", GONE)]);
    // What was left alone is still there to be taken back, as the hint says.
    world.says(0, &["undo", "--force"]);
    world.holds(&[("a", "1\n")]);
    world.says(0, &["redo"]);
    world.holds(&[("a", "by hand\n")]);
}

#[test]
fn one_call_from_the_middle_is_taken_back_alone() {
    let world = World::new();
    for script in ["echo 1 > a; echo 1 > both", "echo 2 > b", "echo 3 > c; echo 3 > both"] {
        world.run(script);
    }
    world.says(0, &["undo", "--call", "s-2"]);
    world.holds(&[("a", "1\n"), ("b", GONE), ("c", "3\n")]);
    let printed = world.says(1, &["undo", "--call", "s-1"]);
    assert!(printed.contains("/both: it changed since"), "{printed}");
    world.holds(&[("a", GONE), ("both", "3\n")]);
    // Already taken back.
    world.says(2, &["undo", "--call", "s-2"]);
}

#[test]
fn everything_from_a_call_on_is_taken_back_in_one_step() {
    let world = World::new();
    world.run("echo 1 > a; mkdir -p d/e");
    let kept = world.tree();
    for script in ["echo 2 > a; echo 2 > b", "rm -r d", "echo 3 > a; mv b c", "echo 4 > f"] {
        world.run(script);
    }
    let last = world.tree();
    world.says(0, &["undo", "--to", "s-2"]);
    same(&kept, &world.tree()).unwrap();
    world.says(0, &["redo"]);
    same(&last, &world.tree()).unwrap();
    world.says(0, &["undo", "--to", "s-1"]);
    assert!(world.tree().is_empty());
}

#[test]
fn an_undo_is_undone_and_that_too() {
    let world = World::new();
    world.exec().send(&write_file("new/deep/a", "1\n"));
    let made = world.tree();
    for _ in 0..3 {
        world.says(0, &["undo"]);
        assert!(world.tree().is_empty());
        world.says(2, &["undo"]);
        world.says(0, &["redo"]);
        same(&made, &world.tree()).unwrap();
        world.says(2, &["redo"]);
    }
    let printed = world.says(0, &["verify"]);
    assert!(printed.contains("all as they were written"), "{printed}");
}

#[test]
fn git_is_never_touched() {
    let world = World::new();
    world.shell("mkdir -p .git/hooks sub; echo config > .git/config; echo gitdir > sub/.git");
    world.run("echo changed | tee .git/config sub/.git; echo new > .git/new; echo x > a");
    world.exec().send(&write_file(".git/hooks/made", "x"));
    let printed = world.says(1, &["undo"]);
    assert!(printed.contains("/.git/hooks/made: it belongs to git"), "{printed}");
    world.says(0, &["undo", "--call", "s-1"]);
    world.holds(&[("a", GONE), (".git/hooks/made", "x"), (".git/new", "new\n")]);
    world.holds(&[(".git/config", "changed\n"), ("sub/.git", "changed\n")]);
}

#[test]
fn ignored_files_are_not_tracked() {
    let world = World::new();
    world.write(".gitignore", "*.log\n/target\n");
    world.write("build.log", "old\n");
    world.run("echo new > build.log; mkdir target; echo x > target/x; echo x > a");
    world.says(0, &["undo"]);
    world.holds(&[("a", GONE), ("build.log", "new\n"), ("target/x", "x\n")]);
}

/// A file does not come or go because a rule does.
#[test]
fn a_rule_that_a_command_changes_costs_no_file() {
    for (rule, script) in [
        ("*.log\n", "rm .gitignore"),
        ("*.log\n", ": > .gitignore"),
        ("", "echo '*.log' > .gitignore"),
    ] {
        let world = World::new();
        world.write(".gitignore", rule);
        world.write("build.log", "precious\n");
        world.run(script);
        world.says(0, &["undo"]);
        world.holds(&[("build.log", "precious\n"), (".gitignore", rule)]);
    }
}

/// 257 MiB of nothing, before or behind the other files.
#[test]
fn beyond_the_budget_it_is_not_tracked_and_nothing_is_lost() {
    for large in ["a-large", "z-large"] {
        for script in ["truncate -s +1 ?-large", "rm ?-large", "rm ?-large; echo x > z"] {
            let world = World::new();
            world.shell(&format!("truncate -s 257M {large}; echo b > b; echo c > c; echo d > d"));
            world.run(script);
            let case = format!("{large}, {script}");
            let log = world.says(0, &["log"]);
            assert!(log.contains("not tracked"), "{case}: {log}");
            let printed = world.says(0, &["undo"]);
            assert!(printed.contains("not tracked"), "{case}: {printed}");
            world.holds(&[("b", "b\n"), ("c", "c\n"), ("d", "d\n")]);
        }
    }
}

/// FR-RES-04: every call keeps its claim to a result.
#[test]
fn a_crash_is_settled_before_anything_is_undone() {
    let world = World::new();
    let mut exec = world.exec();
    exec.send(&write_file("a", "1\n"));
    assert_eq!(exec.send(&command("kill -9 $(ps -o ppid= -p $PPID); sleep 9")), Value::Null);
    drop(exec);
    world.jm(&["undo"]);
    world.says(0, &["recover", "--on-recovery", "keep"]);
    let log = world.says(0, &["log", "--json"]);
    for line in log.lines() {
        let call: Value = serde_json::from_str(line).unwrap();
        assert!(!call["result"].is_null(), "no result: {call}");
    }
}
