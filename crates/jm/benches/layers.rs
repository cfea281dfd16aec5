//! Cost of commands on layers: `true` in trees of three sizes, beside `true` alone; deleting and undoing a large tree; many
//! changed files kept; commands and reads of one message; a small crate built on a layer and directly; the two looks
//! around a direct command beside `find` with `stat`. Beside them what the bare system calls of the same work take.
//!
//! `cargo bench -p jm --bench layers`, on a disk and a quiet machine; `-- trees`, `changes`, `messages`, `builds` or `looks`
//! measures a part.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark stops where it fails")]

mod shared;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use shared::bare::{self, Isolation, TreeMount};
use shared::lines::Lines;
use shared::{difference, heading, in_turns, ratio, report, sample};
use tempfile::TempDir;

const JM: &str = env!("CARGO_BIN_EXE_jm");
const FILES_A_DIRECTORY: usize = 100;
/// Less than any model takes between two calls.
const THOUGHT: Duration = Duration::from_millis(50);

/// A workspace with a state directory beside it, so that both are on one mount.
struct Place {
    base: TempDir,
}

impl Place {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        for name in ["w", "state"] {
            std::fs::create_dir(base.path().join(name)).unwrap();
        }
        Self { base }
    }

    fn holding(count: usize) -> Self {
        Self::with(count, |_| "x".to_owned())
    }

    /// So many files, with the contents that their numbers give.
    fn with(count: usize, content: impl Fn(usize) -> String) -> Self {
        let place = Self::new();
        for number in 0..count.div_ceil(FILES_A_DIRECTORY) {
            let directory = place.at(&format!("w/tree/d{number}"));
            std::fs::create_dir_all(&directory).unwrap();
            let left = count - number * FILES_A_DIRECTORY;
            for file in 0..left.min(FILES_A_DIRECTORY) {
                let content = content(number * FILES_A_DIRECTORY + file);
                std::fs::write(directory.join(file.to_string()), content).unwrap();
            }
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    fn jm(&self, layer: &str, words: &[&str]) -> Command {
        let mut command = Command::new(JM);
        command.current_dir(self.at("w")).env("JM_STATE_DIR", self.at("state"));
        command.env("JM_TOOLS_SANDBOX_COMMANDS_LAYER", layer).env_remove("CARGO_TARGET_DIR");
        command.args(["--yes", "--allow", "run_command"]).args(words);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// One process that runs commands, as a session does.
    fn session(&self, layer: &str) -> Lines {
        Lines::start(&mut self.jm(layer, &["exec", "--jsonl"]))
    }

    /// The same where a rule allows commands beforehand, as ordinary ones.
    fn ruled_session(&self, rule: &str) -> Lines {
        let mut command = self.jm("on", &["--allow", rule, "exec", "--jsonl"]);
        Lines::start(command.env("JM_TOOLS_APPROVAL_RUN_READERS", "false"))
    }

    /// The mounts that a command of ours sees.
    fn tree(&self) -> Isolation {
        let words = ["sandbox", "--", "cat", "/proc/self/mountinfo"];
        let output = self.jm("on", &words).output().unwrap();
        assert!(output.status.success());
        Isolation::Tree(TreeMount::listed(std::str::from_utf8(&output.stdout).unwrap()))
    }

    fn done(&self, words: &[&str]) {
        assert!(self.jm("on", words).stdout(Stdio::null()).status().unwrap().success());
    }

    /// A whole turn of a scripted model, of which a message has these calls.
    fn turn<'a>(&'a self, name: &str, calls: &[String]) -> impl Fn() + use<'a> {
        let script = self.at(&format!("{name}.toml"));
        let first = match calls {
            [] => String::new(),
            calls => format!("[[turn]]\nsteps = [{}]\n", calls.join(", ")),
        };
        let text = format!("{first}[[turn]]\nsteps = [{{ text = \"Done.\" }}]\n");
        std::fs::write(&script, text).unwrap();
        let model = format!("script:{}", script.display());
        move || {
            let mut command = self.jm("on", &["run", "--model", &model, "go"]);
            command.env("JM_TOOLS_ALLOW_PARALLEL", "true").stdout(Stdio::null());
            assert!(command.status().unwrap().success());
        }
    }
}

fn run(session: &mut Lines, command: &str) {
    let call = json!({"id": "c", "name": "run_command", "args": {"command": command}});
    let answer = session.ask(&call);
    assert_eq!(answer["verdict"], "ran", "{answer}");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let is_wanted = |part: &str| {
        // Each part finds the disk at rest.
        rustix::fs::sync();
        words.is_empty() || words.iter().any(|word| word == part)
    };
    heading();
    if is_wanted("trees") {
        trees(&[100, 100_000, 1_000_000]);
    }
    if is_wanted("changes") {
        large_changes();
    }
    if is_wanted("messages") {
        messages();
    }
    if is_wanted("builds") {
        crate_builds();
    }
    if is_wanted("looks") {
        looks(100_000);
    }
}

/// Times of `true`, each after a pause.
fn with_pauses(session: &mut Lines) -> Vec<Duration> {
    let times = (0..40).map(|_| {
        std::thread::sleep(THOUGHT);
        let begin = Instant::now();
        run(session, "true");
        begin.elapsed()
    });
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times
}

/// Goals: within 3 ms of each other, under 4 ms more than `true` alone, the first within `find -type d`.
fn trees(sizes: &[usize]) {
    let alone = sample(100, || assert!(Command::new("true").status().unwrap().success()));
    let alone = report("true, alone", &alone);
    bare_command();
    for count in sizes {
        let place = Place::holding(*count);
        rustix::fs::sync();
        let find = sample(3, || {
            let mut find = Command::new("find");
            find.args([".", "-type", "d"]).current_dir(place.at("w")).stdout(Stdio::null());
            assert!(find.status().unwrap().success());
        });
        report(&format!("find -type d, {count} files"), &find);
        let first = sample(3, || run(&mut place.session("on"), "true"));
        report(&format!("true on a layer, {count} files, with its program"), &first);
        let mut session = place.session("on");
        run(&mut session, "true");
        let again = report(
            &format!("true on a layer, {count} files, from the second on"),
            &sample(100, || run(&mut session, "true")),
        );
        difference("more than alone", again, alone);
        let calm = report("the same with a pause before each", &with_pauses(&mut session));
        difference("more than alone", calm, alone);
        let mut ruled = place.ruled_session("run_command: true");
        run(&mut ruled, "true");
        let calm = report("the same, allowed by a rule", &with_pauses(&mut ruled));
        difference("more than alone", calm, alone);
        println!("{:<50} {:>9} kB\n", "peak memory", session.peak_memory());
    }
}

/// The least that a command on a layer does: an overlay in namespaces, and a durable write each before the question, before
/// the start, at the end and with the answer.
fn bare_command() {
    let place = Place::holding(100);
    let rows = [
        ("true in namespaces on an overlay, bare calls", Isolation::Overlay, &["true"][..]),
        ("the same with our mounts and a shell", place.tree(), &["sh", "-c", "true"]),
    ];
    for (name, isolation, program) in rows {
        let times = sample(100, || {
            let (directory, layer) = (place.at("w"), place.at("layer"));
            let mut child = bare::start_on_overlay(program, &directory, &layer, &isolation);
            assert!(child.wait().unwrap().success());
        });
        report(name, &times);
    }
    let database = bare::database(&place.at("bare.db"));
    let mut number = 0;
    let commits = sample(100, || {
        (0..4).for_each(|_| bare::commit(&database, number));
        number += 1;
    });
    report("four durable writes, bare calls", &commits);
}

/// Goal: 10,000 changed files kept in under 0.5 s.
fn large_changes() {
    let place = Place::holding(100_000);
    let [mut gone, mut back] = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        let begin = Instant::now();
        place.done(&["call", "run_command", r#"{"command":"rm -rf tree"}"#]);
        gone.push(begin.elapsed());
        let begin = Instant::now();
        place.done(&["undo"]);
        back.push(begin.elapsed());
    }
    gone.sort_unstable();
    back.sort_unstable();
    report("rm -rf of 100,000 files", &gone);
    report("its undo", &back);
    let place = Place::holding(10_000);
    let script = "find tree -type f | xargs sed -i s/x/y/";
    let [mut changed, mut kept] = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        let begin = Instant::now();
        // Nobody is there to decide.
        let held = place.jm("on", &["sandbox", "--hold", "--", "sh", "-c", script]).status();
        assert_eq!(held.unwrap().code(), Some(3));
        changed.push(begin.elapsed());
        let begin = Instant::now();
        place.done(&["held", "keep"]);
        kept.push(begin.elapsed());
        place.done(&["undo"]);
    }
    changed.sort_unstable();
    kept.sort_unstable();
    report("10,000 files changed on a layer, set aside", &changed);
    report("keeping them", &kept);
    bare_exchange();
    let change = r#"{"command":"find tree -type f | xargs sed -i s/x/y/"}"#;
    let [held, direct] = in_turns(
        3,
        || {
            place.done(&["call", "run_command", change]);
            place.done(&["undo"]);
        },
        || {
            let mut find = Command::new("sh");
            find.args([
                "-c",
                "cp -a tree other; find other -type f | xargs sed -i s/x/y/; rm -rf other",
            ]);
            assert!(find.current_dir(place.at("w")).status().unwrap().success());
        },
    );
    report("10,000 files changed, kept and undone", &held);
    report("the same in a copy, directly", &direct);
}

/// The least that keeping does: every file in its place and the old one aside, durably.
fn bare_exchange() {
    let [one, other] = [Place::new(), Place::new()];
    let fill = |place: &Place| {
        for number in 0..10_000 {
            std::fs::write(place.at(&format!("w/{number}")), "x").unwrap();
        }
    };
    fill(&other);
    let mut times: Vec<Duration> = (0..3)
        .map(|_| {
            fill(&one);
            let begin = Instant::now();
            bare::exchange_all(&one.at("w"), &other.at("w"));
            begin.elapsed()
        })
        .collect();
    times.sort_unstable();
    report("10,000 files exchanged, bare calls", &times);
}

/// The steps with a pause after each, as a model takes one to write the next call.
fn apart(steps: &[String]) -> Vec<String> {
    let pause = format!("{{ delay_ms = {} }}", THOUGHT.as_millis());
    steps.iter().flat_map(|step| [step.clone(), pause.clone()]).collect()
}

/// Goals: eight sleeps under 300 ms, eight reads under 4 ms, beside a message of as many calls that do nothing.
fn messages() {
    let place = Place::new();
    std::fs::write(place.at("w/a"), "one\n").unwrap();
    let eight = |name: &str, args: &str| -> Vec<String> {
        let call =
            |number| format!("{{ call = \"{name}\", id = \"c{number}\", args = {{ {args} }} }}");
        (0..8).map(call).collect()
    };
    let none = place.turn("none", &[]);
    let reads = place.turn("reads", &eight("read_file", "path = \"a\""));
    let sleeps = place.turn("sleeps", &eight("run_command", "command = \"sleep 0.25\""));
    let [reads, alone] = in_turns(40, reads, &none);
    let alone = report("a turn without calls", &alone);
    difference("eight reads", report("a turn with eight reads", &reads), alone);
    let [sleeps, alone] = in_turns(10, sleeps, &none);
    let sleeps = report("a turn with eight sleeps", &sleeps);
    difference("eight sleeps of 0.25 s", sleeps, alone[alone.len() / 2]);
    let words = vec!["{ text = \".\" }".to_owned(); 8];
    let calm = apart(&eight("run_command", "command = \"sleep 0.25\""));
    let [calm, alone] =
        in_turns(10, place.turn("calm", &calm), place.turn("words", &apart(&words)));
    let calm = report("the same with a pause after each call", &calm);
    let alone = report("a turn with words and such pauses", &alone);
    difference("eight sleeps of 0.25 s, called with pauses", calm, alone);
    let rows = [
        ("eight sleeps in namespaces on overlays, bare calls", Isolation::Overlay),
        ("the same with our mounts and shells", place.tree()),
    ];
    for (name, isolation) in rows {
        let times = sample(10, || {
            let start = |number: usize| {
                let (directory, layer) = (place.at("w"), place.at(&format!("layer{number}")));
                let program = ["sh", "-c", "sleep 0.25"];
                bare::start_on_overlay(&program, &directory, &layer, &isolation)
            };
            let children: Vec<_> = (0..8).map(start).collect();
            children.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
        });
        report(name, &times);
    }
}

/// Goal: a look takes 1.5 times as long as `find` with `stat`; a direct command has two of them.
fn looks(count: usize) {
    let [small, large] = [1, count].map(|count| Place::with(count, |number| number.to_string()));
    let begin = Instant::now();
    run(&mut large.session("off"), "true");
    report("a direct command and its program, all files new", &[begin.elapsed()]);
    let begin = Instant::now();
    run(&mut large.session("off"), "true");
    report("the next one", &[begin.elapsed()]);
    (0..4).for_each(|_| run(&mut large.session("off"), "true"));
    let known = sample(3, || run(&mut large.session("off"), "true"));
    report("the same, files known from the journal", &known);
    let [mut alone, mut session] = [small.session("off"), large.session("off")];
    run(&mut session, "true");
    let [base, _] = in_turns(20, || run(&mut alone, "true"), || ());
    let base = report("true directly, 1 file", &base);
    let [ours, theirs] = in_turns(
        20,
        || run(&mut session, "true"),
        || {
            let mut find = Command::new("find");
            find.args([".", "-printf", "%s %T@ %i\\n"]).current_dir(large.at("w"));
            assert!(find.stdout(Stdio::null()).status().unwrap().success());
        },
    );
    let ours = report(&format!("true directly, {count} files"), &ours);
    let look = ours.saturating_sub(base) / 2;
    let theirs = report("find -printf '%s %T@ %i'", &theirs);
    println!("{:<50} {look:>12.2?}", "one look");
    ratio("beside find", look, theirs);
    let [alone, session] = [alone, session].map(|lines| lines.peak_memory());
    println!("{:<50} {alone:>9} kB", "peak memory, 1 file");
    println!("{:<50} {session:>9} kB\n", &format!("peak memory, {count} files"));
}

/// Goals: within 5 % fresh and 25 % incremental.
fn crate_builds() {
    for lines in [0, 3_000] {
        let (held, direct) = (CrateBuild::new("on", lines), CrateBuild::new("off", lines));
        let [ours, theirs] = in_turns(10, || held.fresh(), || direct.fresh());
        let ours = report(&format!("cargo build, {lines} lines, fresh, held"), &ours);
        ratio("beside direct", ours, report("directly", &theirs));
        let [ours, theirs] = in_turns(10, || held.incremental(), || direct.incremental());
        let ours = report(&format!("cargo build, {lines} lines, incremental, held"), &ours);
        ratio("beside direct", ours, report("directly", &theirs));
    }
}

/// A crate without dependencies, and whether it is built on a layer.
struct CrateBuild {
    place: Place,
    layer: &'static str,
}

impl CrateBuild {
    fn new(layer: &'static str, lines: usize) -> Self {
        let place = Place::new();
        let mut init = Command::new("cargo");
        init.args(["init", "-q", "--name", "small", "--lib"]).current_dir(place.at("w"));
        assert!(init.status().unwrap().success());
        let build = Self { place, layer };
        for number in 0..lines / 10 {
            build.append(&format!(
                "#[derive(Debug, Clone, PartialEq, Default)]\npub struct S{number} {{\n    \
                 pub names: Vec<String>,\n    pub size: usize,\n}}\nimpl S{number} {{\n    \
                 pub fn sum(&self) -> usize {{\n        self.names.iter().map(String::len).sum::<usize>() \
                 + self.size\n    }}\n}}\n"
            ));
        }
        build
    }

    fn append(&self, text: &str) {
        let source = self.place.at("w/src/lib.rs");
        let old = std::fs::read_to_string(&source).unwrap();
        std::fs::write(&source, old + text).unwrap();
    }

    fn run(&self, script: &str) {
        let arguments = json!({ "command": script }).to_string();
        let mut command = self.place.jm(self.layer, &["call", "run_command", &arguments]);
        assert!(command.stdout(Stdio::null()).status().unwrap().success());
    }

    fn fresh(&self) {
        self.run("rm -rf target; cargo build -q --offline");
    }

    fn incremental(&self) {
        self.append("// more\n");
        self.run("cargo build -q --offline");
    }
}
