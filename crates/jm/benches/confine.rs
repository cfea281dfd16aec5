//! What confinement costs: `true` behind each back end beside `true` alone, as the next of many and as
//! the first of a session, when no launcher waits yet; and a gigabyte through the pipeline beside `cat`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark stops where it fails")]

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use jm_types::Cancel;
use jm_workspace::confine::{Backend, CommandSettings, Confinement, Confiner, Launcher, probe};
use jm_workspace::process::{CommandSpec, Finished, Input, Program, run};
use jm_workspace::pump::{Deaf, Listener, Offer, Stream, View};
use jm_workspace::{Sandbox, SandboxSettings};

const ROUNDS: usize = 200;
const GIGABYTE: &str = "head -c 1000000000 /dev/zero";
const LINES: &str = "yes 'a line of output, neither short nor long' | head -c 1000000000";

/// Somebody who reads along, and wants lines as a terminal shows them.
struct Attentive;

impl Listener for Attentive {
    fn hear(&mut self, _: Stream, chunk: &str) -> Offer {
        std::hint::black_box(chunk);
        Offer::Taken
    }

    fn hear_last(&mut self, _: Stream, _: &str) {}

    fn view(&self) -> View {
        View::Settled
    }
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(&SandboxSettings::rooted_at(folder.path())).unwrap();
    measure(&sandbox, Path::new(env!("CARGO_BIN_EXE_jm")));
}

fn measure(sandbox: &Sandbox, jm: &Path) {
    println!("{:<28} {:>9} {:>9}", "a command", "p50 ms", "p99 ms");
    let plain = times(|| once(sandbox, "true", Confinement::Unsupervised));
    show("true, alone", &plain);
    let launcher = Launcher::new(jm);
    let working = probe(&launcher).into_iter().filter(|one| one.works).map(|one| one.backend);
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

fn environment() -> Vec<(OsString, OsString)> {
    let wanted = |(name, _): &(OsString, OsString)| name == "PATH" || name == "HOME";
    std::env::vars_os().filter(wanted).collect()
}

fn confined(sandbox: &Sandbox, launcher: &Launcher, backend: Backend) -> Confinement {
    let settings = CommandSettings { backend: Some(backend), ..Default::default() };
    let program = Program::Shell(String::new());
    Confiner::new(launcher.clone(), settings).confinement(sandbox, &environment(), &program, None)
}

fn once(sandbox: &Sandbox, command: &str, confinement: Confinement) -> Finished {
    heard(sandbox, command, confinement, &mut Deaf)
}

fn heard(
    sandbox: &Sandbox,
    command: &str,
    confinement: Confinement,
    listener: &mut dyn Listener,
) -> Finished {
    let spec = CommandSpec {
        program: Program::Shell(command.to_owned()),
        directory: sandbox.resolve(".").unwrap(),
        environment: environment(),
        input: Input::Closed,
        timeout: Duration::from_secs(60),
        keep_bytes: 100 * 1024,
        confinement,
    };
    run(spec, &Cancel::new(), listener).unwrap()
}

fn times(mut work: impl FnMut() -> Finished) -> Vec<Duration> {
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

fn speed(what: &str, mut work: impl FnMut() -> Finished) {
    let began = Instant::now();
    work();
    println!("{what:<28} {:>9.0}", 1000.0 / began.elapsed().as_secs_f64());
}
