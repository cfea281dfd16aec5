//! Signals to the program itself: its command does not outlive it, and keeps its time without it.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::hangs::{gone_within, tag};
use crate::spare::assert_gone;
use crate::world::{User, World, works};

/// A hang detector, no measure of speed.
const PATIENCE: Duration = Duration::from_secs(20);
const BACKENDS: [&str; 4] = ["namespaces", "bwrap", "landlock", "none"];

/// A program whose command is stubborn and at work.
struct Running {
    world: World,
    program: Child,
    tag: String,
}

impl Running {
    fn start(backend: &'static str, index: usize, flags: &[&str]) -> Self {
        // One of its own, because the others run beside it.
        let place = BACKENDS.iter().position(|one| *one == backend).unwrap();
        let (world, tag) = (World::new(User::Own, backend), tag(index + place));
        let script = format!(
            "trap '' TERM; setsid sleep {tag} & (setsid sh -c 'trap \"\" TERM; sleep {tag}; sleep \
             {tag}' &); touch begun; sleep {tag}; sleep {tag}"
        );
        let mut program = world.command(env!("CARGO_BIN_EXE_jm"));
        program.args(["sandbox", "--backend", backend]).args(flags).args(["--", "sh", "-c"]);
        program.arg(&script).stdout(Stdio::null()).stderr(Stdio::null());
        let program = program.spawn().unwrap();
        let until = Instant::now() + PATIENCE;
        while !world.at("w/begun").exists() {
            assert!(Instant::now() < until, "{backend}: it never began");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { world, program, tag }
    }

    fn signal(&self, name: &str) {
        signal(name, self.program.id());
    }

    fn assert_gone(&self, what: &str) {
        let left = gone_within(&self.tag, PATIENCE);
        assert_eq!(left, Vec::<String>::new(), "{}: {what}", self.world.backend);
    }
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").arg(name).arg(process.to_string()).status().unwrap();
    assert!(sent.success(), "{name}");
}

fn children_of(process: u32) -> Vec<u32> {
    let mut list = Command::new("ps");
    let list = list.args(["-o", "pid=", "--ppid", &process.to_string()]).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    list.split_whitespace().map(|child| child.parse().unwrap()).collect()
}

/// Each back end beside the others: they mostly wait.
fn everywhere(check: impl Fn(&'static str) + Sync) {
    let works = |backend: &&'static str| *backend == "none" || works(User::Own, backend);
    std::thread::scope(|scope| {
        BACKENDS.into_iter().filter(works).for_each(|backend| {
            scope.spawn(|| check(backend));
        });
    });
}

/// A program that is ended, however, takes its command along, with everything that it started.
#[test]
fn an_ended_program_leaves_nothing() {
    everywhere(|backend| {
        for (index, name) in ["-KILL", "-TERM", "-HUP", "-INT"].into_iter().enumerate() {
            let mut running = Running::start(backend, 930 + 4 * index, &[]);
            running.signal(name);
            running.assert_gone(name);
            running.program.wait().unwrap();
        }
    });
}

/// The same when the launcher is killed: nobody is left who knows the tree but the kernel, or us.
#[test]
fn a_killed_launcher_leaves_nothing() {
    everywhere(|backend| {
        let mut running = Running::start(backend, 950, &[]);
        let children = children_of(running.program.id());
        children.into_iter().for_each(|child| signal("-KILL", child));
        running.assert_gone("the launcher was killed");
        assert!(!running.program.wait().unwrap().success(), "{backend}");
    });
}

/// The first process of the namespaces hangs, in whatever, and the program is killed: the launcher outside
/// ends it, and the command with it.
#[test]
fn a_launcher_that_hangs_ends_with_its_program() {
    assert!(works(User::Own, "namespaces"));
    let mut running = Running::start("namespaces", 960, &[]);
    let launchers = children_of(running.program.id());
    let first: Vec<u32> = launchers.iter().flat_map(|launcher| children_of(*launcher)).collect();
    assert!(!first.is_empty(), "{launchers:?}");
    first.iter().for_each(|process| signal("-STOP", *process));
    running.signal("-KILL");
    running.assert_gone("its first process hung");
    launchers.into_iter().chain(first).for_each(assert_gone);
    running.program.wait().unwrap();
}

/// A program that is stopped does not keep its command beyond its time, and says so when it goes on.
#[test]
fn a_stopped_program_does_not_stop_the_clock() {
    everywhere(|backend| {
        let mut running = Running::start(backend, 955, &["--timeout", "2"]);
        running.signal("-STOP");
        running.assert_gone("stopped");
        assert!(running.program.try_wait().unwrap().is_none(), "{backend}");
        running.signal("-CONT");
        assert_eq!(running.program.wait().unwrap().code(), Some(124), "{backend}");
    });
}
