//! How processes in the background end.

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::desk::{Desk, PATIENCE, await_true, listed, ps};
use super::{everywhere, everywhere_for_everybody};
use crate::hangs::{alive, gone_within, tag};
use crate::world::{User, World, works};

/// Each prints `begun` when it is as stubborn as it will get. `TAG` stands for a number that nobody
/// else has in their arguments.
const STUBBORN: &[&str] = &[
    "echo begun; sleep TAG",
    "trap '' TERM INT HUP; echo begun; while :; do sleep TAG; done",
    "setsid sh -c 'trap \"\" TERM; sleep TAG; sleep TAG' & (setsid setsid sleep TAG &); echo begun; wait",
    "python3 -c 'import os, time; os.fork() or os.setsid() or os.fork() or (print(\"begun\", \
     flush=True), time.sleep(TAG))'; sleep TAG",
    "sleep TAG & kill -STOP $!; echo begun; kill -STOP $$; sleep TAG",
    "i=0; while [ $i -lt 50 ]; do sleep TAG & i=$((i+1)); done; echo begun; wait",
    "exec 3>&1; exec > /dev/null 2>&1 < /dev/null; echo begun >&3; exec 3>&-; sleep TAG; sleep TAG",
    // The last, because it leaves little time for others.
    "echo begun; yes TAG",
];

/// They are started in one session, each seen to be at work.
fn at_work(desk: &mut Desk, commands: &[&str], tag: &str, more: &Value) -> Vec<String> {
    let start = |desk: &mut Desk, command: &&str| {
        let mut args = json!({"command": command.replace("TAG", tag), "lifetime_seconds": 600});
        args.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let id = desk.start(&args);
        desk.until(&id, "begun");
        id
    };
    commands.iter().map(|command| start(desk, command)).collect()
}

fn how(world: &World) -> Vec<Value> {
    listed(world).into_iter().map(|job| job["ended"]["how"].clone()).collect()
}

fn assert_gone(world: &World, tag: &str) {
    let left = gone_within(tag, PATIENCE);
    assert!(left.is_empty(), "{}: left {left:#?}", world.backend);
}

/// PROC-157..169 of commands that nobody waits for.
#[test]
fn what_is_stopped_is_gone() {
    everywhere(|world| {
        let tag = tag(960);
        let mut desk = Desk::open(&world, "s");
        for id in at_work(&mut desk, STUBBORN, &tag, &json!({})) {
            assert!(!alive(&tag).is_empty());
            let told = desk.process("stop", &id, &json!({"view": "stream"}));
            assert!(told.starts_with(&format!("[{id}: stopped, after")), "{told}");
        }
        assert_eq!(alive(&tag), Vec::<String>::new(), "{}", world.backend);
        assert_eq!(how(&world), vec![json!("stopped"); STUBBORN.len()], "{}", world.backend);
        desk.close();
    });
}

#[test]
fn the_end_of_a_session_is_the_end_of_its_processes() {
    everywhere(|world| {
        let tag = tag(961);
        let mut desk = Desk::open(&world, "s");
        let some = &STUBBORN[1..4];
        at_work(&mut desk, some, &tag, &json!({"pty": true}));
        desk.close();
        assert_eq!(alive(&tag), Vec::<String>::new(), "{}", world.backend);
        assert_eq!(how(&world), vec![json!("stopped"); some.len()], "{}", world.backend);
    });
}

/// FR-RES-04c: `kill -9` of the program ends the trees, and what happened is on record.
#[test]
fn a_killed_program_takes_its_processes_along() {
    everywhere(|world| {
        let tag = tag(962);
        let mut desk = Desk::open(&world, "s");
        let ids = at_work(&mut desk, STUBBORN, &tag, &json!({}));
        assert!(alive(&tag).len() >= STUBBORN.len());
        desk.kill();
        assert_gone(&world, &tag);
        await_true("ends are noted", || ps(&world, &[]).is_empty());
        assert_eq!(how(&world), vec![json!("orphaned"); STUBBORN.len()], "{}", world.backend);
        // The session goes on, and can still read what they had printed.
        let mut desk = Desk::open(&world, "s");
        for id in ids {
            let told = desk.process("read", &id, &json!({"from": 0, "to": 6}));
            let expected = format!("[{id}: ended when the program of its session died, after");
            assert!(told.starts_with(&expected) && told.contains("begun"), "{told}");
        }
        desk.close();
    });
}

fn kill(pid: u64) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

/// The process that keeps a job.
fn host(world: &World) -> u64 {
    listed(world)[0]["pid"].as_u64().unwrap()
}

#[test]
fn a_killed_host_takes_its_process_along() {
    everywhere(|world| {
        let tag = tag(963);
        let mut desk = Desk::open(&world, "s");
        let command =
            format!("trap '' TERM; setsid sleep {tag} & echo begun; sleep {tag}; sleep {tag}");
        let id = desk.start(&json!({"command": command, "lifetime_seconds": 600}));
        desk.until(&id, "begun");
        kill(host(&world));
        assert_gone(&world, &tag);
        let told = desk.process("read", &id, &json!({"from": 0}));
        let expected = format!("[{id}: ended when the program of its session died");
        assert!(told.starts_with(&expected) && told.contains("\nbegun"), "{told}");
        desk.close();
    });
}

/// Nobody saw how the process ended, and nobody says that they did.
#[test]
fn a_killed_launcher_takes_its_process_along() {
    everywhere(|world| {
        let tag = tag(967);
        let mut desk = Desk::open(&world, "s");
        let command =
            format!("trap '' TERM; setsid sleep {tag} & echo begun; sleep {tag}; sleep {tag}");
        let id = desk.start(&json!({"command": command, "lifetime_seconds": 600}));
        desk.until(&id, "begun");
        let mut children = Command::new("ps");
        children.args(["-o", "pid=", "--ppid"]).arg(host(&world).to_string());
        let children = String::from_utf8(children.output().unwrap().stdout).unwrap();
        children.split_whitespace().for_each(|pid| kill(pid.parse().unwrap()));
        assert_gone(&world, &tag);
        let told = desk.process("wait", &id, &json!({"seconds": 20}));
        assert!(told.starts_with(&format!("[{id}: gone; how it ended is unknown")), "{told}");
        desk.close();
    });
}

#[test]
fn nothing_outlives_a_program_and_its_host_together() {
    everywhere(|world| {
        let tag = tag(964);
        let mut desk = Desk::open(&world, "s");
        let command =
            format!("trap '' TERM; setsid sleep {tag} & echo begun; sleep {tag}; sleep {tag}");
        let id = desk.start(&json!({"command": command, "lifetime_seconds": 600}));
        desk.until(&id, "begun");
        let host = host(&world);
        kill(host);
        desk.kill();
        assert_gone(&world, &tag);
    });
}

/// Kept processes survive the program however it ends, are found again by their session, and end
/// when somebody says so.
#[test]
fn what_is_kept_outlives_its_program_and_is_found_again() {
    everywhere_for_everybody(|world| {
        let tag = tag(965);
        let mut desk = Desk::open(&world, "s");
        let command = format!(
            "echo begun; while read line; do echo \"heard $line\"; done; sleep {tag}; sleep {tag}"
        );
        let args = json!({"command": command, "lifetime_seconds": 600, "keep_after_session": true});
        let id = desk.start(&args);
        desk.until(&id, "begun");
        desk.kill();
        let mut desk = Desk::open(&world, "s");
        desk.process("write", &id, &json!({"text": "one\n"}));
        desk.until(&id, "heard one");
        desk.close();
        assert_eq!(listed(&world)[0]["running"], true, "{}", world.backend);
        let mut desk = Desk::open(&world, "s");
        desk.process("write", &id, &json!({"text": "two\n", "keys": ["ctrl-d"]}));
        desk.until(&id, "heard two");
        await_true("it sleeps", || !alive(&tag).is_empty());
        desk.close();
        assert_eq!(ps(&world, &["--stop", "s-1"]), "s-1 stopped\n");
        assert_eq!(alive(&tag), Vec::<String>::new(), "{}", world.backend);
    });
}

/// Whoever started it is gone, nobody looks, and it ends all the same.
#[test]
fn a_lifetime_ends_while_nobody_looks() {
    everywhere(|world| {
        let tag = tag(966);
        let mut desk = Desk::open(&world, "s");
        let command =
            format!("trap '' TERM; setsid sleep {tag} & echo begun; sleep {tag}; sleep {tag}");
        let args = json!({"command": command, "lifetime_seconds": 3, "keep_after_session": true});
        let id = desk.start(&args);
        desk.until(&id, "begun");
        desk.kill();
        assert!(!alive(&tag).is_empty(), "{}: it was not kept", world.backend);
        assert_gone(&world, &tag);
        await_true("its end is noted", || ps(&world, &[]).is_empty());
        assert_eq!(how(&world), ["timed_out"], "{}", world.backend);
    });
}

/// A number that somebody else has by now is not signalled.
#[test]
fn a_recycled_number_is_left_alone() {
    let world = World::new(User::Own, "none");
    let mut desk = Desk::open(&world, "s");
    let id = desk.start(&json!({"command": "echo begun; sleep 600", "lifetime_seconds": 600}));
    desk.until(&id, "begun");
    desk.close();
    let mut stranger = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap();
    let folder = world.at("state/processes/s-1");
    std::fs::remove_file(folder.join("end.json")).unwrap();
    std::fs::remove_file(folder.join("command")).unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let note = format!("{} 1 {boot}", stranger.id());
    std::fs::write(folder.join("lock"), note).unwrap();
    // Free: nobody keeps it, whatever the number says.
    assert_eq!(how(&world), ["unknown"]);
    // Held, by somebody who does not answer: the number is not believed.
    let lock = std::fs::File::open(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(ps(&world, &["--stop", "s-1"]), "jm: process s-1: it does not end\n");
    assert!(stranger.try_wait().unwrap().is_none(), "a stranger was killed");
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

/// A gigabyte of output: memory and disk stay small, the end of it is there, and what is missing is
/// counted.
#[test]
fn a_flood_is_bounded_in_memory_and_on_disk() {
    const KEPT: u64 = 8 * 1024 * 1024;
    if !works(User::Own, "namespaces") {
        return;
    }
    let world = World::new(User::Own, "namespaces");
    let config = world.at("home/.config/journeyman/config.toml");
    std::fs::write(config, format!("[tools.output]\nkeep_bytes = {KEPT}\n")).unwrap();
    let mut desk = Desk::open(&world, "s");
    let command = "head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo over; exec sleep 600";
    let id = desk.start(&json!({"command": command, "lifetime_seconds": 600}));
    let host = host(&world);
    let folder = world.at("state/processes/s-1");
    let mut most = 0;
    let size = |folder: &std::path::Path| -> u64 {
        let entries = std::fs::read_dir(folder).unwrap().filter_map(Result::ok);
        entries.filter_map(|entry| Some(entry.metadata().ok()?.blocks() * 512)).sum()
    };
    for _ in 0..60 {
        most = most.max(size(&folder));
        let told = desk.process("wait", &id, &json!({"until": "over", "seconds": 1}));
        if told.contains("\nover\n") {
            break;
        }
    }
    let told = desk.process("read", &id, &json!({"from": 0}));
    assert!(told.contains("bytes 0 to 1000000006 of 1000000006]\nxxx"), "{:.300}", told);
    assert!(told.ends_with("x\nover\n"), "{told}");
    assert!(most.max(size(&folder)) < KEPT * 3 / 2, "{most} bytes on disk");
    let status = std::fs::read_to_string(format!("/proc/{host}/status")).unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    let peak: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(peak < 64 * 1024, "the host took {peak} KB");
    desk.process("stop", &id, &json!({}));
    desk.close();
}
