//! Namespaces that are made ready for the next command: it sees the world as it is when it starts and not as it was
//! when they were made, nobody depends on them, nobody finds a way through them, and they end with their program.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::escapes::attempts;
use crate::spare::{assert_gone, run};
use crate::world::{CANARY, User, World, own_all, users, works};

/// A hang detector, no measure of speed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A session whose commands run on layers, one after another.
struct Session {
    program: Child,
    calls: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Session {
    /// From here on a launcher with namespaces waits whenever no command runs.
    fn open(world: &World) -> Self {
        let mut command = world.command(env!("CARGO_BIN_EXE_jm"));
        command.args(["--toolset", "standard", "--yes", "--allow", "run_command"]);
        command.args(["exec", "--jsonl"]).env("JM_TOOLS_SANDBOX_COMMANDS_LAYER", "on");
        command.env("JM_TOOLS_ALLOW_PARALLEL", "true");
        // Not the one in which nothing may change.
        command.env("JM_STATE_DIR", own_state(world));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut program = command.spawn().unwrap();
        let (calls, answers) = (program.stdin.take().unwrap(), program.stdout.take().unwrap());
        let mut session = Self { program, calls, answers: BufReader::new(answers) };
        ["true", "true"].into_iter().for_each(|command| drop(session.run(command)));
        session
    }

    fn run(&mut self, command: &str) -> String {
        run(&mut self.calls, &mut self.answers, command)
    }

    /// The launcher that waits, and the first process of its namespaces, once both are there and the tree is built.
    fn ready(&self) -> [u32; 2] {
        let until = Instant::now() + PATIENCE;
        loop {
            let launcher = children(self.program.id()).into_iter().next();
            let first = launcher.and_then(|launcher| children(launcher).into_iter().next());
            if let (Some(launcher), Some(first)) = (launcher, first)
                && mount_points(first).iter().any(|point| point == "/.standby/ground")
            {
                return [launcher, first];
            }
            assert!(Instant::now() < until, "no namespaces are ready");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn own_state(world: &World) -> std::path::PathBuf {
    let state = world.at("session");
    std::fs::create_dir_all(&state).unwrap();
    own_all(&state, world.user);
    state
}

fn children(process: u32) -> Vec<u32> {
    let mut children = Command::new("ps");
    children.args(["-o", "pid=,args=", "--ppid", &process.to_string()]);
    let listed = String::from_utf8(children.output().unwrap().stdout).unwrap();
    let launchers = listed.lines().filter(|line| line.contains("__launch"));
    launchers.map(|line| line.split_whitespace().next().unwrap().parse().unwrap()).collect()
}

fn mount_points(process: u32) -> Vec<String> {
    let table = std::fs::read_to_string(format!("/proc/{process}/mountinfo")).unwrap_or_default();
    table.lines().filter_map(|line| line.split(' ').nth(4)).map(str::to_owned).collect()
}

fn everybody() -> impl Iterator<Item = User> {
    users().into_iter().filter(|user| works(*user, "overlay") && works(*user, "namespaces"))
}

/// Replaces a file as most programs do.
fn replace(path: &Path, content: &str) {
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, content).unwrap();
    std::fs::rename(fresh, path).unwrap();
}

#[test]
fn a_command_takes_namespaces_that_were_made_before_it() {
    for user in everybody() {
        let world = World::new(user, "namespaces");
        let mut session = Session::open(&world);
        let [launcher, first] = session.ready();
        let inode = |process: u32| {
            let link = std::fs::read_link(format!("/proc/{process}/ns/mnt")).unwrap();
            link.to_string_lossy().into_owned()
        };
        let expected = inode(first);
        assert_ne!(expected, inode(launcher));
        assert_eq!(session.run("readlink /proc/self/ns/mnt").trim(), expected, "as {user:?}");
    }
}

/// Commands of one message, each in namespaces of its own, whoever made them.
#[test]
fn commands_at_once_see_neither_each_other_nor_what_stands_by() {
    for user in everybody() {
        let world = World::new(user, "namespaces");
        let mut session = Session::open(&world);
        let command = "readlink /proc/self/ns/mnt; ls -a / | grep -c standby; cat .env; true";
        let calls: Vec<Value> = (0..5)
            .map(|number| json!({"id": format!("c{number}"), "name": "run_command", "args": {"command": command}}))
            .collect();
        writeln!(session.calls, "{}", json!({ "calls": calls })).unwrap();
        let mut line = String::new();
        session.answers.read_line(&mut line).unwrap();
        let answers: Vec<Value> = serde_json::from_str::<Value>(&line).unwrap()["results"]
            .as_array()
            .unwrap_or_else(|| panic!("{line}"))
            .clone();
        let said = answers.iter().map(|answer| answer["content"].as_str().unwrap_or(&line));
        let seen: BTreeSet<&str> = said.clone().map(|said| said.lines().next().unwrap()).collect();
        assert_eq!(seen.len(), 5, "as {user:?}: {line}");
        said.for_each(|said| assert!(said.contains("\n0\n") && !said.contains(CANARY), "{said}"));
    }
}

#[test]
fn a_command_sees_the_world_as_it_is_when_it_starts() {
    for user in everybody() {
        let world = World::new(user, "namespaces");
        let settings = world.at("home/.gitconfig");
        replace(&settings, "[user]\n\tname = first\n");
        let mut session = Session::open(&world);
        let name = "git config --global user.name";
        session.ready();
        assert_eq!(session.run(name), "first\n");
        session.ready();
        replace(&settings, "[user]\n\tname = second\n");
        assert_eq!(session.run(name), "second\n", "a file of the home that was replaced");

        // A directory of programs that is replaced, and one with a new secret in it.
        session.ready();
        let programs = world.at("home/.local/bin");
        std::fs::rename(&programs, world.at("home/.local/old")).unwrap();
        std::fs::create_dir(&programs).unwrap();
        std::fs::write(programs.join("hello"), "there").unwrap();
        std::fs::write(programs.join("other.key"), CANARY).unwrap();
        let seen = session.run(&format!("cd {}; cat hello other.key", programs.display()));
        assert!(seen.contains("there") && !seen.contains(CANARY), "{seen}");
        session.ready();
        std::fs::write(programs.join("third.key"), CANARY).unwrap();
        replace(&programs.join("other.key"), CANARY);
        let seen = session.run(&format!("cat {}/*.key", programs.display()));
        assert!(!seen.contains(CANARY), "{seen}");

        // Names of the workspace come with the order.
        session.ready();
        std::fs::write(world.at("w/new.pem"), CANARY).unwrap();
        replace(&world.at("w/.env"), CANARY);
        std::fs::write(world.at("w/plain"), "plain\n").unwrap();
        let seen = session.run("cat plain new.pem .env deep/inner/.env");
        assert!(seen.contains("plain\n") && !seen.contains(CANARY), "{seen}");
    }
}

#[test]
fn nothing_of_what_stands_by_is_left_for_the_command() {
    for user in everybody() {
        let world = World::new(user, "namespaces");
        let mut session = Session::open(&world);
        session.ready();
        let seen = session.run("ls -a /; cat /proc/self/mountinfo");
        assert!(seen.contains("usr") && !seen.contains("standby"), "{seen}");
    }
}

#[test]
fn a_workspace_that_was_replaced_is_not_the_one_that_stood_by() {
    for user in everybody() {
        let world = World::new(user, "namespaces");
        let mut session = Session::open(&world);
        session.ready();
        std::fs::rename(world.at("w"), world.at("moved")).unwrap();
        std::fs::create_dir(world.at("w")).unwrap();
        let said = session.run("touch made");
        assert!(said.contains("was moved, removed or replaced"), "{said}");
        assert!(!world.at("moved/made").exists() && !world.at("w/made").exists());
    }
}

#[test]
fn nobody_depends_on_namespaces_that_are_ready() {
    for user in everybody() {
        let world = World::new(user, "namespaces");
        let mut session = Session::open(&world);
        for which in [0, 1, 0, 1] {
            let process = session.ready()[which];
            let sent = Command::new("kill").args(["-KILL", &process.to_string()]).status().unwrap();
            assert!(sent.success());
            assert_gone(process);
            assert_eq!(session.run("echo on"), "on\n", "{which} was killed");
        }
    }
}

#[test]
fn they_end_with_their_program() {
    for ending in ["by itself", "killed"] {
        let world = World::new(User::Own, "namespaces");
        let session = Session::open(&world);
        let processes = session.ready();
        let Session { mut program, calls, .. } = session;
        match ending {
            "killed" => program.kill().unwrap(),
            _ => drop(calls),
        }
        program.wait().unwrap();
        processes.into_iter().for_each(assert_gone);
    }
}

/// The attempts that do harm in namespaces that were made ready; as whoever has the fewest rights, with `--long` as everybody.
#[test]
fn none_escapes_from_namespaces_that_were_ready() {
    let mut wrong = Vec::new();
    let is_long = std::env::var_os("JM_LONG").is_some();
    for user in everybody().filter(|user| is_long || users().last() == Some(user)) {
        let mut world = World::new(user, "namespaces");
        let mut session = Session::open(&world);
        world.look_again();
        for attempt in attempts(include_str!("escapes.md")) {
            let [program, option, script] = attempt.words();
            let quoted = script.replace('\'', "'\\''");
            let said =
                session.run(&format!("env TERMINAL=/dev/pts/0 {program} {option} '{quoted}'"));
            let mut harm = world.harm();
            harm.extend(said.contains(CANARY).then(|| "it read what it must not".to_owned()));
            if !harm.is_empty() {
                wrong.push(format!("{} as {user:?}: {harm:#?}\n{said}", attempt.title));
                world.look_again();
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
