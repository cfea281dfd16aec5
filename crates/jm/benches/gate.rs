//! Cost of a file call, beside the same work without our checks, in one run.
//!
//! `cargo bench -p jm --bench gate`. The machine is noisy: compare the columns, not two runs.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod shared;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jm_engine::CallRecorder;
use jm_files::{OpenFile, Opening, Sandbox, SandboxSettings};
use jm_tools::ops::change::lp1;
use serde_json::json;
use shared::{Desk, difference, heading, ratio, report, sample};

fn main() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let root = scratch.path().canonicalize().expect("its canonical path");
    heading();
    open_a_path(&root);
    read_a_file(&root);
    patch_ten_megabytes();
    start_the_program(&root);
}

/// NFR-PERF-02: the requirement is a millisecond.
fn open_a_path(root: &Path) {
    let relative = "a/b/c/d/file.txt";
    let file = root.join(relative);
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
    std::fs::write(&file, "x").expect("a file");
    let sandbox = |opening| {
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(root)).expect("a sandbox");
        sandbox.with_opening(opening)
    };
    let (kernel, walk) = (sandbox(Opening::Kernel), sandbox(Opening::Walk));
    let open = |sandbox: &Sandbox| {
        let path = sandbox.resolve(relative).expect("resolves");
        black_box(OpenFile::open(&path).expect("opens"));
    };
    let ours = report("resolve + open, 5 deep", &sample(20_000, || open(&kernel)));
    report("the same, portable walk", &sample(20_000, || open(&walk)));
    let theirs = sample(20_000, || {
        let canonical = std::fs::canonicalize(root.join(relative)).expect("canonical");
        assert!(canonical.starts_with(root));
        black_box(std::fs::File::open(canonical).expect("opens"));
    });
    let theirs = report("canonicalize + prefix check + open", &theirs);
    ratio("ours to theirs", ours, theirs);
    let held = std::fs::File::open(root).expect("the root");
    let bare = sample(20_000, || {
        look(&held, c"a/b/c/d/file.txt", libc::O_PATH);
        look(&held, c"a/b/c/d/file.txt", libc::O_RDONLY);
    });
    let bare = report("of it the kernel's: look + open, bare", &bare);
    ratio("ours to bare", ours, bare);
}

/// The calls that no implementation can do without: `openat2`, `fstat` and `close`.
#[allow(unsafe_code)]
fn look(root: &std::fs::File, path: &std::ffi::CStr, flags: i32) {
    use std::os::fd::AsRawFd;
    // SAFETY: the structures are initialised and live on this stack, the path ends with a NUL, and the
    // descriptor is closed where it was opened.
    unsafe {
        let mut how: libc::open_how = std::mem::zeroed();
        how.flags = (flags | libc::O_CLOEXEC) as u64;
        how.resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS;
        let (root, size) = (root.as_raw_fd(), size_of::<libc::open_how>());
        let fd = libc::syscall(libc::SYS_openat2, root, path.as_ptr(), &raw const how, size) as i32;
        assert!(fd >= 0, "opens");
        let mut stat: libc::stat = std::mem::zeroed();
        assert_eq!(libc::fstat(fd, &raw mut stat), 0);
        libc::close(fd);
    }
}

fn read_a_file(root: &Path) {
    std::fs::write(root.join("four_kilobytes"), "a line of text\n".repeat(273)).expect("a file");
    let mut desk = Desk::new(root, CallRecorder::none());
    let args = json!({"path": "four_kilobytes"});
    let ours = sample(5_000, || drop(black_box(desk.call("read_file", &args))));
    let ours = report("plan + execute + reply, 4 KB read", &ours);
    let theirs = sample(5_000, || {
        black_box(std::fs::read_to_string(root.join("four_kilobytes")).expect("reads"));
    });
    let theirs = report("fs::read_to_string", &theirs);
    ratio("ours to theirs", ours, theirs);
}

fn patch_ten_megabytes() {
    let lines: String =
        (0..200_000).map(|n| format!("line {n} with some text that fills it up\n")).collect();
    let bytes = lines.repeat(10 * 1024 * 1024 / lines.len() + 1).into_bytes();
    let text = "LP1\nF f\nR 1\nline 150000 with some text that fills it up\n.\nchanged\n.\nEND\n";
    let patch = lp1::parse(text).expect("parses");
    let times = sample(20, || {
        black_box(lp1::apply(&patch.sections[0], Some(&bytes)).expect("applies"));
    });
    let name = format!("LP1, one line of {} MB", bytes.len() / 1_000_000);
    let ours = report(&name, &times);
    let copy = report("copying those bytes", &sample(20, || drop(black_box(bytes.clone()))));
    ratio("ours to a copy", ours, copy);
}

fn start_the_program(root: &Path) {
    let jm = PathBuf::from(env!("CARGO_BIN_EXE_jm"));
    let run = |program: &Path, args: &[&str]| {
        let status = Command::new(program)
            .args(args)
            .current_dir(root)
            .env("HOME", root)
            .stdout(Stdio::null())
            .status()
            .expect("starts");
        assert!(status.success());
    };
    let call = ["call", "read_file", r#"{"path":"four_kilobytes"}"#];
    let ours = report("jm call read_file, whole process", &sample(200, || run(&jm, &call)));
    let cat = sample(200, || run(Path::new("/bin/cat"), &["four_kilobytes"]));
    let cat = report("cat, whole process", &cat);
    difference("more than cat", ours, cat);
    let script = root.join(".config/journeyman/init.lua");
    std::fs::create_dir_all(script.parent().expect("a folder")).expect("made");
    std::fs::write(&script, "").expect("written");
    let scripted = report("the same, an empty init.lua", &sample(200, || run(&jm, &call)));
    std::fs::remove_file(&script).expect("removed");
    difference("more than without (goal: 5 ms)", scripted, ours);
    let version = report("jm --version", &sample(200, || run(&jm, &["--version"])));
    let nothing = report("true", &sample(200, || run(Path::new("/bin/true"), &[])));
    difference("more than true", version, nothing);
}
