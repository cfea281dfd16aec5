//! A state directory on a disk with no space left, or that cannot be written: real ones, where we
//! may mount.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::closed;
use crate::machine::{Machine, text};
use crate::small_disk::{Disk, Scarce, on_small_disks};

fn write_call(name: &str) -> [String; 7] {
    let args = format!("{{\"path\":\"{name}\",\"content\":\"{name}\"}}");
    ["call", "write_file", &args, "--session", "S", "--approve", "auto"].map(str::to_owned)
}

fn run(machine: &Machine, name: &str) -> (Option<i32>, String) {
    let call = write_call(name);
    let call: Vec<&str> = call.iter().map(String::as_str).collect();
    closed::ended(machine.jm(&call))
}

/// A call's file is there if, and only if, the journal says that it was made.
fn agree(machine: &Machine, names: &[String]) -> Vec<String> {
    let log = machine.log();
    let succeeded = |name: &String| {
        log.iter().any(|entry| {
            let args: Value =
                serde_json::from_str(entry["arguments"].as_str().unwrap()).unwrap_or_default();
            args["path"] == **name && entry["result"]["error"].is_null()
        })
    };
    let there = |name: &String| machine.workspace().join(name).exists();
    let differ = names.iter().filter(|name| succeeded(name) != there(name));
    differ
        .map(|name| format!("{name}: file {}, journal {}", there(name), succeeded(name)))
        .collect()
}

fn remove_reserve(state: &Path) {
    fs::remove_file(state.join("reserve")).unwrap_or_default();
}

/// However little space is left, a call is done and recorded or neither; it says which, and with
/// space again the session goes on with all it had.
#[test]
fn a_full_disk_stops_the_next_call() {
    on_small_disks("full_disk::a_full_disk_stops_the_next_call", little_space);
}

fn little_space() {
    let disk = Disk::mount().unwrap();
    let machine = Machine::new(&[]).with_state(&disk.path().join("state"));
    assert_eq!(run(&machine, "first"), (Some(0), "Created first (5 bytes)".to_owned()));
    let doctor = text(&machine.run(&["doctor"]).stdout);
    assert!(doctor.contains("left; free some space"), "{doctor}");
    let mut names = vec!["first".to_owned()];
    let mut wrong = Vec::new();
    let (mut ran, mut refused) = (0, 0);
    for with_reserve in [true, false] {
        for pages in (0..24).chain([32, 48, 64, 128]) {
            if !with_reserve {
                remove_reserve(machine.state());
            }
            disk.fill(Scarce::Pages, pages);
            let name = format!("n{pages}-{with_reserve}");
            let what = format!("{pages} pages, reserve {with_reserve}");
            let (code, said) = run(&machine, &name);
            match code {
                Some(0) => ran += 1,
                Some(1 | 2) => refused += 1,
                _ => wrong.push(format!("{what}: ended with {code:?}: {said}")),
            }
            if code != Some(0) && !said.contains("hint") {
                wrong.push(format!("{what}: no hint: {said}"));
            }
            disk.free();
            let settled = machine.recover("keep");
            if settled.status.code() != Some(0) {
                wrong.push(format!("{what}: not settled: {}", text(&settled.stderr)));
            }
            names.push(name);
            let differ = agree(&machine, &names);
            wrong.extend(differ.into_iter().map(|what_differs| format!("{what}: {what_differs}")));
        }
    }
    println!("{ran} calls ran, {refused} were refused");
    assert_eq!(machine.run(&["verify"]).status.code(), Some(0));
    let last = run(&machine, "last");
    assert_eq!(last.0, Some(0), "{}", last.1);
    assert!(refused > 0, "the disk was never full");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The disk fills up while a program is at work: what was answered is what is there.
#[test]
fn a_disk_that_fills_up_midway() {
    on_small_disks("full_disk::a_disk_that_fills_up_midway", fills_up);
}

fn fills_up() {
    let disk = Disk::mount().unwrap();
    let machine = Machine::new(&[]).with_state(&disk.path().join("state"));
    assert_eq!(run(&machine, "first").0, Some(0));
    let mut wrong = Vec::new();
    let mut all = vec!["first".to_owned()];
    for pages in [0, 4, 16, 64] {
        remove_reserve(machine.state());
        let names: Vec<String> = (0..40).map(|n| format!("m{pages}-{n}")).collect();
        let content = "some content that takes its space ".repeat(100);
        let call = |name: &String| {
            serde_json::json!({"id": name, "name": "write_file", "args": {"path": name, "content": content}})
                .to_string()
        };
        let mut talk = machine.talk();
        let mut answers = vec![talk.say(&call(&names[0]))];
        disk.fill(Scarce::Pages, pages);
        let others: Vec<String> = names[1..].iter().map(call).collect();
        answers.extend(talk.rest(&others));
        disk.free();
        let settled = machine.recover("keep");
        if settled.status.code() != Some(0) {
            wrong.push(format!("{pages} pages: not settled: {}", text(&settled.stderr)));
        }
        let refused = answers.iter().filter(|answer| answer["kind"] == "journal_error").count();
        println!("{pages} pages: {} answers, {refused} of them refusals", answers.len());
        for answer in &answers {
            let path = machine.workspace().join(answer["id"].as_str().unwrap());
            if (answer["verdict"] == "ran") != path.exists() {
                wrong.push(format!("{pages} pages: {answer}, on disk: {}", path.exists()));
            }
        }
        all.extend(names);
        wrong.extend(agree(&machine, &all));
    }
    assert_eq!(machine.run(&["verify"]).status.code(), Some(0));
    let last = run(&machine, "last");
    assert_eq!(last.0, Some(0), "{}", last.1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A state directory that cannot be written: no tool runs, what was recorded stays.
#[test]
fn a_read_only_state_directory() {
    on_small_disks("full_disk::a_read_only_state_directory", read_only);
}

fn read_only() {
    let disk = Disk::mount().unwrap();
    let machine = Machine::new(&[]).with_state(&disk.path().join("state"));
    assert_eq!(run(&machine, "first").0, Some(0));
    let records = machine.records();
    disk.remount("ro");
    let wrong = closed::refused(&machine, "read-only");
    disk.remount("rw");
    assert_eq!(machine.records(), records);
    let last = run(&machine, "last");
    assert_eq!(last.0, Some(0), "{}", last.1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
