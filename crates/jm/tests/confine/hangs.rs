//! Commands that linger, wait, flood or refuse to die: each has its result in time, and leaves nothing.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::world::{User, World, works};

/// A hang detector, no measure of speed.
const PATIENCE: Duration = Duration::from_secs(20);
const TOGETHER: usize = 8;
const MOST_MEMORY_KB: u64 = 64 * 1024;

/// `TAG` stands for a number that nobody else has in their arguments. What gives that away, or has
/// another name, is known by a descriptor that every process of a command inherits.
const COMMANDS: &[&str] = &[
    "sleep TAG",
    "sleep TAG & sleep TAG & wait",
    "sleep TAG &",
    "nohup sleep TAG > /dev/null 2>&1 &",
    "setsid sleep TAG",
    "setsid sleep TAG & sleep 0.1",
    "setsid setsid sleep TAG > /dev/null 2>&1 &",
    "(setsid sh -c 'setsid sleep TAG &' &) ; sleep 0.1",
    "sh -c 'sh -c \"sleep TAG & exit\" & exit' & sleep 0.1",
    "sleep TAG | sleep TAG",
    "sleep TAG > held &",
    "exec 3>&1; sleep TAG >&3 &",
    "cat; sleep TAG",
    "read answer; sleep TAG",
    "ed held < /dev/tty; sleep TAG",
    "vi held; sleep TAG",
    "less held; sleep TAG",
    "sh -c 'read -p password: x < /dev/tty'; sleep TAG",
    "ssh -o BatchMode=no nobody@127.0.0.1; sleep TAG",
    "yes TAG",
    "yes TAG >&2",
    "yes TAG & yes TAG >&2",
    "head -c 1000000000 /dev/zero | tr '\\0' x; sleep TAG",
    "exec >&- 2>&-; sleep TAG",
    "exec <&- >&- 2>&-; while :; do sleep TAG; done",
    "trap '' TERM INT HUP QUIT; while :; do sleep TAG; done",
    "trap '' TERM; sleep TAG & wait; sleep TAG",
    "kill -STOP $$; sleep TAG",
    "sleep TAG & kill -STOP $!; wait",
    "sh -c 'kill -STOP $$' & sleep TAG",
    "while :; do :; done; sleep TAG",
    "i=0; while [ $i -lt 200 ]; do sleep TAG & i=$((i+1)); done; wait",
    "python3 -c 'import os, time; os.fork() or os.setsid() or os.fork() or time.sleep(TAG)'; sleep TAG",
    "python3 -c 'import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]; \
     time.sleep(TAG)'",
    "printf '\\033[6n'; sleep TAG",
    "script -qc 'sleep TAG' /dev/null",
    "tail -f held sleep TAG",
    "mkfifo p; cat p; sleep TAG",
    "bash -c 'sleep TAG & disown -a; exec sleep TAG'",
    "bash -c 'exec -a innocent sleep TAG' & sleep 0.1",
    "perl -e '$0 = \"innocent\"; setpgrp; fork; sleep 600' & sleep 0.3",
    "unshare -Urpf sleep TAG & setsid unshare -Ur sleep TAG & sleep TAG",
];

pub(crate) fn alive(tag: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let line = |process: std::fs::DirEntry| std::fs::read(process.path().join("cmdline")).ok();
    let lines = processes.filter_map(line);
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(tag) && !line.contains("sandbox --backend")).collect()
}

pub(crate) fn gone_within(tag: &str, most: Duration) -> Vec<String> {
    let until = Instant::now() + most;
    loop {
        let left = alive(tag);
        if left.is_empty() || Instant::now() > until {
            return left;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// True if every process lets go of a locked file in time.
fn free_within(file: &std::fs::File, most: Duration) -> bool {
    let until = Instant::now() + most;
    while file.try_lock().is_err() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// A number for the arguments of a sleep, long and nobody else's.
pub(crate) fn tag(index: usize) -> String {
    format!("7{:05}{index:03}", std::process::id() % 100_000)
}

fn check(backend: &'static str) {
    if backend != "none" && !works(User::Own, backend) {
        return;
    }
    let all: Vec<(usize, &str)> = COMMANDS.iter().copied().enumerate().collect();
    let mut wrong = Vec::new();
    // They mostly wait, so some of them wait together.
    for together in all.chunks(TOGETHER) {
        std::thread::scope(|scope| {
            let one = |(index, command): &(usize, &'static str)| {
                let (index, command) = (*index, *command);
                scope.spawn(move || run(backend, index, command))
            };
            let running: Vec<_> = together.iter().map(one).collect();
            wrong.extend(running.into_iter().flat_map(|one| one.join().unwrap()));
        });
    }
    println!("{} commands behind {backend}", COMMANDS.len());
    assert!(wrong.is_empty(), "{backend}:\n{}", wrong.join("\n"));
}

/// Faults in how one command ended.
fn run(backend: &'static str, index: usize, command: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let world = World::new(User::Own, backend);
    // One of its own, because the other back ends are tried at the same time.
    let place = ["namespaces", "bwrap", "landlock", "none"].iter().position(|one| *one == backend);
    let tag = tag(index + 100 * place.unwrap());
    let began = Instant::now();
    let mut jm = world.command(env!("CARGO_BIN_EXE_jm"));
    jm.args(["sandbox", "--backend", backend, "--timeout", "1", "--", "sh", "-c"]);
    jm.arg(format!("exec 9> begun; flock 9; {}", command.replace("TAG", &tag)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = jm.process_group(0).spawn().unwrap();
    let memory = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() && began.elapsed() < PATIENCE {
        let status = std::fs::read_to_string(&memory).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
        peak = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(peak);
        std::thread::sleep(Duration::from_millis(5));
    }
    if child.try_wait().unwrap().is_none() {
        wrong.push(format!("{command}: still there after {PATIENCE:?}"));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // A command that was never started leaves nothing either.
    match std::fs::File::open(world.at("w/begun")) {
        Err(_) => wrong.push(format!("{command}: it never began")),
        Ok(begun) if !free_within(&begun, Duration::from_secs(5)) => {
            wrong.push(format!("{command}: somebody still holds its descriptor"));
        }
        Ok(_) => {}
    }
    if peak > MOST_MEMORY_KB {
        wrong.push(format!("{command}: took {peak} KB"));
    }
    let left = gone_within(&tag, Duration::from_secs(5));
    if !left.is_empty() {
        wrong.push(format!("{command}: left {left:?}"));
    }
    wrong
}

#[test]
fn nothing_lingers_in_namespaces() {
    check("namespaces");
}

#[test]
fn nothing_lingers_behind_bwrap() {
    check("bwrap");
}

#[test]
fn nothing_lingers_behind_landlock() {
    check("landlock");
}

#[test]
fn nothing_lingers_when_only_supervised() {
    check("none");
}

/// A program that forks as fast as it can is bounded, and gone at its deadline.
#[test]
fn a_fork_bomb_is_defused() {
    // The superuser's processes can only be counted in a namespace.
    let world = World::new(User::Own, "namespaces");
    if !works(User::Own, "namespaces") {
        return;
    }
    let tag = tag(900);
    let bomb = format!("touch begun; b() {{ b | b & }}; b; sleep {tag}");
    let began = Instant::now();
    let mut jm = world.command(env!("CARGO_BIN_EXE_jm"));
    jm.env("JM_TOOLS_SANDBOX_COMMANDS_MAX_PROCESSES", "200");
    jm.args(["sandbox", "--backend", "namespaces", "--timeout", "1", "--", "sh", "-c", &bomb]);
    let status = jm.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    assert!(!status.success());
    assert!(world.at("w/begun").exists(), "it never began");
    assert_eq!(gone_within(&tag, Duration::from_secs(5)), Vec::<String>::new());
}

/// The same where processes are counted for each user: as somebody who has no others, and with a
/// second limit around it all that holds if ours does not.
#[test]
fn a_fork_bomb_without_namespaces_is_defused() {
    for backend in ["landlock", "none"] {
        // Only the superuser can become somebody without processes.
        if !jm_testing::has("superuser") || (backend != "none" && !works(User::Ordinary, backend)) {
            continue;
        }
        let world = World::new(User::Ordinary, backend);
        let tag = tag(920);
        let bomb = format!("b() {{ b | b & }}; b; sleep {tag}");
        let began = Instant::now();
        let mut jm = world.command("prlimit");
        jm.args(["--nproc=400", env!("CARGO_BIN_EXE_jm"), "sandbox", "--backend", backend]);
        jm.args(["--timeout", "1", "--", "sh", "-c", &bomb]);
        jm.env("JM_TOOLS_SANDBOX_COMMANDS_MAX_PROCESSES", "100");
        let status = jm.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(began.elapsed() < PATIENCE, "{backend}: {:?}", began.elapsed());
        assert!(!status.success(), "{backend}");
        let left = gone_within(&tag, Duration::from_secs(5));
        assert_eq!(left, Vec::<String>::new(), "{backend}");
    }
}

/// Other processes than the one that is ended are not touched by what a command uses up: a hog of
/// memory dies alone, and one that fills a file is stopped.
#[test]
fn a_hog_dies_alone() {
    let cases = [
        (
            "JM_TOOLS_SANDBOX_COMMANDS_MAX_MEMORY_BYTES",
            "200000000",
            "python3 -c 'x = bytearray(2000000000)'; echo $?",
            "1",
        ),
        (
            "JM_TOOLS_SANDBOX_COMMANDS_MAX_FILE_BYTES",
            "1000000",
            "head -c 5000000 /dev/zero > big; wc -c < big",
            "1000000",
        ),
    ];
    for backend in ["namespaces", "bwrap", "landlock", "none"] {
        if backend != "none" && !works(User::Own, backend) {
            continue;
        }
        for (variable, most, script, expected) in cases {
            let world = World::new(User::Own, backend);
            let mut jm = world.command(env!("CARGO_BIN_EXE_jm"));
            jm.args(["sandbox", "--backend", backend, "--", "sh", "-c", script])
                .env(variable, most);
            let output = jm.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said.trim(), expected, "{backend}: {script}: {output:?}");
        }
    }
}

/// Quick commands one after another in one program: nothing adds up.
#[test]
fn many_commands_leave_no_trace() {
    use std::io::{BufRead, BufReader, Write};
    let world = World::new(User::Own, "auto");
    let mut jm = world.command(env!("CARGO_BIN_EXE_jm"));
    jm.args(["exec", "--jsonl", "--no-journal", "--allow", "run_command", "--yes"]);
    jm.env("JM_TOOLS_APPROVAL_DENYLIST", "");
    let mut child = jm.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut calls = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut run = |count: usize| {
        for number in 0..count {
            let call = serde_json::json!({"id": format!("c{number}"), "name": "run_command",
                                          "args": {"command": "sleep 0 & echo out"}});
            writeln!(calls, "{call}").unwrap();
            let answer = answers.next().unwrap().unwrap();
            assert!(answer.contains("out"), "{answer}");
        }
    };
    let process = format!("/proc/{}", child.id());
    let count = |what: &str| std::fs::read_dir(format!("{process}/{what}")).unwrap().count();
    let children = || {
        let text = std::fs::read_to_string(format!("{process}/task/{}/children", child.id()));
        text.unwrap_or_default().split_whitespace().count()
    };
    run(5);
    // Between two commands the launcher of the next one is started.
    let settled = || {
        let mut seen = (count("fd"), children());
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(50));
            let now = (count("fd"), children());
            if std::mem::replace(&mut seen, now) == now {
                break;
            }
        }
        seen
    };
    let before = settled();
    run(60);
    assert_eq!(settled(), before, "descriptors and children");
    assert!(count("task") <= 16, "{} threads", count("task"));
    drop(calls);
    assert!(child.wait().unwrap().success());
}
