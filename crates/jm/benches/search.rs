//! Searching, finding and editing, beside the programs that people use for it, in one run.
//!
//! `cargo bench -p jm --bench search` with `rg`, `fd` or `fdfind`, and `sed` installed.
//! `JM_BENCH_FILES` (50,000) and `JM_BENCH_MEGABYTES` (1,000) make it smaller. What is searched is
//! made once and removed in the end; all of it is in the cache by then.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark stops where it fails")]

mod shared;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jm_engine::CallRecorder;
use serde_json::{Value, json};
use shared::{Desk, difference, heading, in_turns, ratio, report};

fn main() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    let files = number("JM_BENCH_FILES", 50_000);
    let megabytes = number("JM_BENCH_MEGABYTES", 1_000);
    heading();
    tree(&root.join("small"), 200, 21);
    tree(&root.join("large"), files, 7);
    one_file(&root, megabytes);
    edit_a_line(&root, megabytes.div_ceil(10));
    programs(&root);
}

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs a program and takes what it prints, as whoever asked for it would.
fn output(program: &str, args: &[&str], directory: &Path) -> Vec<u8> {
    let output = Command::new(program)
        .args(args)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    output.stdout
}

fn lines(output: &[u8]) -> usize {
    output.iter().filter(|byte| **byte == b'\n').count()
}

/// Source-like files, 50 in a directory, three levels deep; one of a hundred holds the needle.
fn grow(root: &Path, files: usize) {
    let line = "    let value = compute(&input, index) + offset; // about the same as before\n";
    for number in 0..files {
        let (a, b) = (number / 2_500, number / 50);
        let folder = root.join(format!("module_{a}/part_{b}"));
        if number % 50 == 0 {
            std::fs::create_dir_all(&folder).unwrap();
        }
        let ending = if number % 10 == 0 { "md" } else { "rs" };
        let mut text = line.repeat(10 + number % 40);
        if number % 100 == 99 {
            text.push_str(&format!("fn find_the_needle_{number}() {{}}\n"));
        }
        std::fs::write(folder.join(format!("file_{number}.{ending}")), text).unwrap();
    }
    std::fs::write(root.join(".gitignore"), "target\n*.log\n").unwrap();
}

/// A search by one call beside `rg`; both must find the same number of lines.
fn search(desk: &mut Desk, root: &Path, what: &str, runs: usize, query: &str, is_regex: bool) {
    let args = json!({"query": query, "is_regex": is_regex, "max_results": 5000});
    let mut flags = vec!["--line-number", "--column", "--no-heading", "--color=never"];
    if !is_regex {
        flags.push("--fixed-strings");
    }
    flags.extend(["-e", query, "."]);
    let expected = lines(&output("rg", &flags, root));
    let told = desk.call("search", &args);
    let found = told.lines().filter(|line| line.contains(": ")).count();
    // A long answer is cut; its last line would have said the number.
    assert!(found == expected || told.contains("truncated"), "{found} of {expected}: {told:.500}");
    let ours = || drop(desk.call("search", &args));
    let [ours, theirs] = in_turns(runs, ours, || drop(output("rg", &flags, root)));
    let ours = report(&format!("search: {what}"), &ours);
    let theirs = report("rg", &theirs);
    ratio("ours to theirs", ours, theirs);
}

fn tree(root: &Path, files: usize, runs: usize) {
    grow(root, files);
    let mut desk = Desk::new(root, CallRecorder::none());
    search(&mut desk, root, &format!("literal, {files} files"), runs, "find_the_needle", false);
    let regex = r"fn\s+find_\w+_needle_\d+9\b";
    search(&mut desk, root, &format!("regex, {files} files"), runs, regex, true);
    let fd = if Command::new("fd").arg("-V").output().is_ok() { "fd" } else { "fdfind" };
    let flags = ["--type", "f", "--glob", "*9.md"];
    let args = json!({"patterns": ["*9.md"], "max_results": 100_000});
    let found = lines(&output(fd, &flags, root));
    let told = desk.call("glob", &args);
    assert!(told.lines().count() == found.max(1), "{found}: {told:.500}");
    let ours = || drop(desk.call("glob", &args));
    let [ours, theirs] = in_turns(runs, ours, || drop(output(fd, &flags, root)));
    let ours = report(&format!("glob, {files} files"), &ours);
    let theirs = report(fd, &theirs);
    ratio("ours to theirs", ours, theirs);
}

fn long_file(path: &Path, megabytes: usize) {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path).unwrap());
    let (mut written, mut number) = (0, 0);
    while written < megabytes * 1_000_000 {
        let line = format!("{number:>9} a line of a long file that looks much like all others\n");
        out.write_all(line.as_bytes()).unwrap();
        written += line.len();
        number += 1;
    }
    writeln!(out, "find_the_needle_9 = last").unwrap();
    out.flush().unwrap();
}

fn one_file(root: &Path, megabytes: usize) {
    let folder = root.join("long");
    std::fs::create_dir(&folder).unwrap();
    long_file(&folder.join("file"), megabytes);
    let mut desk = Desk::new(&folder, CallRecorder::none());
    let queries = [("find_the_needle", false), (r"needle_\d+ = \w+$", true)];
    for (query, is_regex) in queries {
        let args = json!({"query": query, "is_regex": is_regex, "path": "file"});
        let told = desk.call("search", &args);
        assert!(told.contains("find_the_needle_9 = last"), "{told}");
        let flags = ["--line-number", "--column", "-e", query, "file"];
        let ours = || drop(desk.call("search", &args));
        let [ours, theirs] = in_turns(5, ours, || drop(output("rg", &flags, &folder)));
        let kind = if is_regex { "regex" } else { "literal" };
        let ours = report(&format!("search: {kind}, one file of {megabytes} MB"), &ours);
        let theirs = report("rg", &theirs);
        ratio("ours to theirs", ours, theirs);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The same line there and back: ours with its hash, its staged copy and its sync.
fn edit_a_line(root: &Path, megabytes: usize) {
    let folder = root.join("edit");
    std::fs::create_dir(&folder).unwrap();
    long_file(&folder.join("file"), megabytes);
    let mut desk = Desk::new(&folder, CallRecorder::none());
    let (one, other) = ("     1000 a line", "     1000 A LINE");
    // The refusal shows the lines, which counts as a read.
    let unread = json!({"path": "file", "old_string": one, "new_string": other});
    assert!(desk.refused("edit_file", &unread).starts_with("stale file"));
    let mut is_changed = false;
    let ours = || {
        let (old, new) = if is_changed { (other, one) } else { (one, other) };
        is_changed = !is_changed;
        let args = json!({"path": "file", "old_string": old, "new_string": new});
        drop(desk.call("edit_file", &args));
    };
    let theirs =
        || drop(output("sed", &["-i", "s/     1000 a line/     1000 A LINE/", "f2"], &folder));
    std::fs::copy(folder.join("file"), folder.join("f2")).unwrap();
    let [ours, theirs] = in_turns(5, ours, theirs);
    let ours = report(&format!("edit_file: one line of {megabytes} MB"), &ours);
    let theirs = report("sed -i", &theirs);
    ratio("ours to theirs", ours, theirs);
    std::fs::remove_dir_all(folder).unwrap();
}

/// The installed programs, from start to exit, beside one that does nothing.
fn programs(root: &Path) {
    let jm = PathBuf::from(env!("CARGO_BIN_EXE_jm"));
    let prefix = root.join("prefix");
    let installed = Command::new(&jm).arg("install-programs").arg(&prefix).output().unwrap();
    assert!(installed.status.success());
    let folder = root.join("work");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.txt"), "one\ntwo\n").unwrap();
    let calls: [(&str, Value); 6] = [
        ("bash", json!({"command": ":"})),
        ("file-read", json!({"file_path": "a.txt"})),
        ("file-write", json!({"file_path": "b.txt", "content": "x\n"})),
        (
            "file-edit",
            json!({"file_path": "a.txt", "old_string": "zzz", "new_string": "y", "replace_all": true}),
        ),
        ("glob", json!({"pattern": "*.txt"})),
        ("grep", json!({"pattern": "o", "path": "."})),
    ];
    for (name, args) in calls {
        let program = prefix.join("libexec/journeyman").join(name);
        let ours = || run(&program, args.to_string().as_bytes(), &folder);
        let [ours, theirs] = in_turns(100, ours, || run(Path::new("/bin/true"), b"", &folder));
        let ours = report(&format!("{name}, whole process"), &ours);
        let theirs = report("true", &theirs);
        difference("more than true", ours, theirs);
    }
}

fn run(program: &Path, input: &[u8], directory: &Path) {
    let mut child = Command::new(program)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // `true` ends without reading.
    child.stdin.take().unwrap().write_all(input).unwrap_or_default();
    assert!(child.wait().unwrap().success());
}
