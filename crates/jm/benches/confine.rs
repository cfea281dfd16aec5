//! Cost of confinement: `true` behind each back end beside `true` alone, as the next of many and as
//! the first of a session, when no launcher waits yet; a gigabyte through the pipeline beside `cat`; and
//! thousands of protected names (`cargo bench -p jm --bench confine -- names` measures these alone).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark stops where it fails")]

mod shared;

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use jm_files::{Sandbox, SandboxSettings};
use jm_process::command::{
    CommandInput, CommandProgram, CommandSpec, FinishedCommand, run_command,
};
use jm_process::confine::{
    Backend, CommandSettings, Confinement, Confiner, Launcher, probe_backends,
};
use jm_process::output_reader::{
    ChunkAnswer, CommandStream, NoListener, OutputListener, OutputView,
};
use jm_types::Cancel;
use serde_json::json;
use shared::lines::Lines;
use tempfile::TempDir;

const ROUNDS: usize = 200;
const GIGABYTE: &str = "head -c 1000000000 /dev/zero";
const LINES: &str = "yes 'a line of output, neither short nor long' | head -c 1000000000";

/// Somebody who reads along, and wants lines as a terminal shows them.
struct Attentive;

impl OutputListener for Attentive {
    fn hear(&mut self, _: CommandStream, chunk: &str) -> ChunkAnswer {
        std::hint::black_box(chunk);
        ChunkAnswer::Taken
    }

    fn hear_last(&mut self, _: CommandStream, _: &str) {}

    fn view(&self) -> OutputView {
        OutputView::Settled
    }
}

fn main() {
    if let Some(folder) = std::env::var_os(BARE) {
        return mount_bare(Path::new(&folder));
    }
    let jm = Path::new(env!("CARGO_BIN_EXE_jm"));
    if std::env::args().any(|word| word == "names") {
        return measure_names(jm);
    }
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(&SandboxSettings::rooted_at(folder.path())).unwrap();
    measure(&sandbox, jm);
    measure_names(jm);
}

fn measure(sandbox: &Sandbox, jm: &Path) {
    println!("{:<28} {:>9} {:>9}", "a command", "p50 ms", "p99 ms");
    let plain = times(|| once(sandbox, "true", Confinement::Unsupervised));
    show("true, alone", &plain);
    let launcher = Launcher::new(jm);
    let working =
        probe_backends(&launcher).into_iter().filter(|one| one.works).map(|one| one.backend);
    for backend in [Backend::None].into_iter().chain(working) {
        let name = backend.name();
        let again = times(|| once(sandbox, "true", confined(sandbox, &launcher, backend)));
        show(&format!("true, {name}"), &again);
        let first = || confined(sandbox, &Launcher::new(jm), backend);
        show(&format!("true, {name}, first"), &times(|| once(sandbox, "true", first())));
    }
    println!("\n{:<28} {:>9}", "a gigabyte", "MB/s");
    let cat = format!("{GIGABYTE} | cat > /dev/null");
    speed("cat > /dev/null", || once(sandbox, &cat, Confinement::Unsupervised));
    speed("kept as head and tail", || once(sandbox, GIGABYTE, Confinement::Unsupervised));
    let behind = || confined(sandbox, &launcher, Backend::Namespaces);
    speed("the same, in namespaces", || once(sandbox, GIGABYTE, behind()));
    let lines = format!("{LINES} | cat > /dev/null");
    speed("lines, cat > /dev/null", || once(sandbox, &lines, Confinement::Unsupervised));
    speed("lines, kept", || once(sandbox, LINES, behind()));
    speed("lines, heard and settled", || heard(sandbox, LINES, behind(), &mut Attentive));
}

/// Makes files below a directory, each under a name that the function gives to its number.
type Grow = fn(usize, Kind) -> String;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Plain,
    Protected,
}

/// The places of protected names: each in a directory of its own, the directories by the hundred or all side
/// by side; or all in one directory.
const TREES: &[(&str, Grow)] = &[
    ("in directories by the hundred", |number, kind| {
        format!(
            "d{}/p{number}/{}",
            number / 100,
            ["plain", ".envrc"][usize::from(kind == Kind::Protected)]
        )
    }),
    ("in directories side by side", |number, kind| {
        format!("d/p{number}/{}", ["plain", ".envrc"][usize::from(kind == Kind::Protected)])
    }),
    ("in one directory", |number, kind| {
        format!("d/{number}.{}", ["plain", "pem"][usize::from(kind == Kind::Protected)])
    }),
];

/// Measures protected names beside the same tree with other names, at three sizes, and beside
/// the same mounts as bare system calls, and on layers. The quickest of five: whatever else runs makes it slower.
fn measure_names(jm: &Path) {
    for (title, grow) in TREES {
        let columns = ["plain ms", "held ms", "more ms", "bare ms", "layer ms", "more ms"];
        println!("\n{:<32} {}", title, columns.map(|name| format!("{name:>9}")).join(" "));
        for count in [1_000, 4_000, 12_000] {
            let [plain, held] =
                [Kind::Plain, Kind::Protected].map(|kind| grown(count, *grow, kind));
            let command = |folder: &TempDir| {
                let sandbox = Sandbox::new(&SandboxSettings::rooted_at(folder.path())).unwrap();
                let launcher = Launcher::new(jm);
                quickest(|| {
                    drop(once(
                        &sandbox,
                        "true",
                        confined(&sandbox, &launcher, Backend::Namespaces),
                    ));
                })
            };
            let bare = quickest(|| {
                let mut child = Command::new(std::env::current_exe().unwrap());
                assert!(child.env(BARE, held.path()).status().unwrap().success());
            });
            let (without, with) = (command(&plain), command(&held));
            let [plain, held] = [&plain, &held].map(|folder| on_layers(jm, folder));
            let columns = [without, with, with - without, bare, held, held - plain];
            println!("{count:<32} {}", columns.map(|time| format!("{time:>9.1}")).join(" "));
        }
    }
}

/// The same command on a layer, as tools run it: one process makes calls, and the first is not counted.
fn on_layers(jm: &Path, folder: &TempDir) -> f64 {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(jm);
    command.current_dir(folder.path()).env_clear().env("HOME", home.path());
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.args(["exec", "--jsonl", "--yes", "--allow", "run_command"]);
    let mut calls = Lines::start(&mut command);
    let call = json!({"id": "c", "name": "run_command", "args": {"command": "true"}});
    let mut run = || {
        let answer = calls.ask(&call);
        assert_eq!(answer["verdict"], "ran", "{answer}");
    };
    run();
    quickest(run)
}

fn grown(count: usize, grow: Grow, kind: Kind) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..count {
        let path = folder.path().join(grow(number, kind));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    }
    folder
}

/// Of five, in milliseconds.
fn quickest(mut work: impl FnMut()) -> f64 {
    let all = (0..5).map(|_| {
        let began = Instant::now();
        work();
        began.elapsed()
    });
    all.min().unwrap_or_default().as_secs_f64() * 1000.0
}

/// Names the tree in which a process of this program mounts every file and its directory on themselves.
const BARE: &str = "JM_BENCH_BARE";

/// The same mounts by nothing but system calls, in namespaces of their own.
#[allow(unsafe_code)]
fn mount_bare(folder: &Path) {
    const CLONE: libc::c_uint = 1 | 0o2_000_000;
    const FROM_DESCRIPTOR: libc::c_uint = 4;
    let name = |path: &Path| std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    let mut names = Vec::new();
    for outer in std::fs::read_dir(folder).unwrap() {
        for inner in std::fs::read_dir(outer.unwrap().path()).unwrap() {
            let inner = inner.unwrap().path();
            names.push(name(&inner));
            if inner.is_dir() {
                names.push(name(&inner.join(".envrc")));
            }
        }
    }
    // SAFETY: every name is a C string that outlives its call, a missing source and type are null as
    // mount(2) allows, and the descriptors are new and closed here.
    unsafe {
        assert_eq!(libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS), 0);
        let (private, none) = (libc::MS_PRIVATE | libc::MS_REC, std::ptr::null());
        assert_eq!(libc::mount(none, c"/".as_ptr(), none, private, std::ptr::null()), 0);
        for name in names {
            let tree = libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, name.as_ptr(), CLONE);
            let (empty, here) = (c"".as_ptr(), libc::AT_FDCWD);
            let (call, name) = (libc::SYS_move_mount, name.as_ptr());
            assert_eq!(libc::syscall(call, tree, empty, here, name, FROM_DESCRIPTOR), 0);
            libc::close(i32::try_from(tree).unwrap());
        }
    }
}

fn environment() -> Vec<(OsString, OsString)> {
    let wanted = |(name, _): &(OsString, OsString)| name == "PATH" || name == "HOME";
    std::env::vars_os().filter(wanted).collect()
}

fn confined(sandbox: &Sandbox, launcher: &Launcher, backend: Backend) -> Confinement {
    let settings = CommandSettings { backend: Some(backend), ..Default::default() };
    let program = CommandProgram::Shell(String::new());
    Confiner::new(launcher.clone(), settings).confinement(sandbox, &environment(), &program, None)
}

fn once(sandbox: &Sandbox, command: &str, confinement: Confinement) -> FinishedCommand {
    heard(sandbox, command, confinement, &mut NoListener)
}

fn heard(
    sandbox: &Sandbox,
    command: &str,
    confinement: Confinement,
    listener: &mut dyn OutputListener,
) -> FinishedCommand {
    let spec = CommandSpec {
        program: CommandProgram::Shell(command.to_owned()),
        directory: sandbox.resolve(".").unwrap(),
        environment: environment(),
        input: CommandInput::Closed,
        timeout: Duration::from_secs(60),
        keep_bytes: 100 * 1024,
        confinement,
    };
    run_command(spec, &Cancel::new(), listener).unwrap()
}

fn times(mut work: impl FnMut() -> FinishedCommand) -> Vec<Duration> {
    let mut all: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .collect();
    all.sort();
    all
}

fn show(what: &str, times: &[Duration]) {
    let at = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1000.0;
    println!("{what:<28} {:>9.2} {:>9.2}", at(50), at(99));
}

fn speed(what: &str, mut work: impl FnMut() -> FinishedCommand) {
    let began = Instant::now();
    work();
    println!("{what:<28} {:>9.0}", 1000.0 / began.elapsed().as_secs_f64());
}
