//! Two processes on one session.

use std::process::Stdio;

use crate::machine::{Machine, signal, text};

const READ: &[&str] = &["call", "read_file", r#"{"path":"a"}"#, "--session", "S"];
const WRITE: &str = r#"{"id":"w","name":"write_file","args":{"path":"w","content":"w"}}"#;

fn machine() -> Machine {
    Machine::new(&[("a".to_owned(), "one\n".to_owned()), ("cmd/keep".to_owned(), String::new())])
}

/// Told who has it, and the journal is as it was.
fn refused(machine: &Machine, owner: u32) {
    let records = machine.records();
    let second = machine.run(READ);
    let said = text(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("process {owner}")), "{said}");
    assert!(said.contains("hint:"), "{said}");
    assert_eq!(machine.records(), records);
}

/// The second process is told who has the session; the first goes on unharmed.
#[test]
fn the_second_is_told_who_has_it() {
    let machine = machine();
    let mut first = machine.talk();
    assert_eq!(first.say(WRITE)["verdict"], "ran");
    refused(&machine, first.child.id());
    assert_eq!(first.say(&WRITE.replace("\"w\"", "\"v\""))["verdict"], "ran");
    assert_eq!(first.end(), Some(0));
    assert_eq!(machine.run(READ).status.code(), Some(0));
    assert_eq!(machine.run(&["verify"]).status.code(), Some(0));
}

/// One that is only stopped keeps the session, also against recovery, and goes on when it wakes.
#[test]
fn a_stopped_owner_is_not_overtaken() {
    let machine = machine();
    let mut first = machine.talk();
    assert_eq!(first.say(WRITE)["verdict"], "ran");
    first.tell(
        r#"{"id":"k","name":"run_command","args":{"command":"touch cmd/begun; sleep 0.3; echo k >> cmd/ran.log"}}"#,
    );
    while !machine.workspace().join("cmd/begun").exists() {
        std::thread::yield_now();
    }
    let pid = first.child.id();
    signal(pid, "STOP");
    refused(&machine, pid);
    let recovered = machine.recover("undo");
    assert!(text(&recovered.stdout).contains("in use"), "{recovered:?}");
    assert!(machine.log()[1]["result"].is_null());
    signal(pid, "CONT");
    assert_eq!(first.hear()["verdict"], "ran");
    assert_eq!(first.say(&WRITE.replace("\"w\"", "\"v\""))["verdict"], "ran");
    assert_eq!(first.end(), Some(0));
    let ran = std::fs::read_to_string(machine.workspace().join("cmd/ran.log")).unwrap();
    assert_eq!(ran, "k\n");
    assert!(machine.log().iter().all(|entry| entry["result"]["error"].is_null()));
    assert_eq!(machine.run(&["verify"]).status.code(), Some(0));
}

/// A dead one leaves the session to whoever comes next.
#[test]
fn a_killed_owner_is_followed() {
    let machine = machine();
    let mut first = machine.talk();
    assert_eq!(first.say(WRITE)["verdict"], "ran");
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let next = machine.run(READ);
    assert_eq!(next.status.code(), Some(0), "{}", text(&next.stderr));
    assert_eq!(machine.run(&["verify"]).status.code(), Some(0));
}

/// Dead and not yet buried: its parent has not asked for its end, so its number is still taken.
#[test]
fn a_killed_owner_is_followed_before_it_is_buried() {
    let machine = machine();
    let mut first = machine.talk();
    assert_eq!(first.say(WRITE)["verdict"], "ran");
    let pid = first.child.id();
    first.child.kill().unwrap();
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    while !state().contains(") Z ") {
        std::thread::yield_now();
    }
    let next = machine.run(READ);
    first.child.wait().unwrap();
    assert_eq!(next.status.code(), Some(0), "{}", text(&next.stderr));
}

/// Many at once: each one either did its work or says that it did not.
#[test]
fn a_crowd_does_no_harm() {
    let machine = machine();
    let spawn = |number: usize| {
        let args = format!("{{\"path\":\"n{number}\",\"content\":\"{number}\"}}");
        let call = ["call", "write_file", &args, "--session", "S", "--approve", "auto", "--yes"];
        machine.jm(&call).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let crowd: Vec<_> = (0..12).map(spawn).collect();
    let ended: Vec<_> = crowd.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let mut done = 0;
    for (number, output) in ended.iter().enumerate() {
        let exists = machine.workspace().join(format!("n{number}")).exists();
        let said = text(&output.stderr);
        match output.status.code() {
            Some(0) => done += 1,
            Some(2) => assert!(said.contains("in use by process"), "{said}"),
            other => panic!("{other:?}: {said}"),
        }
        assert_eq!(exists, output.status.success(), "{number}: {said}");
    }
    println!("{done} of 12 had the session");
    let log = machine.log();
    assert!(done >= 1);
    assert_eq!(log.len(), done);
    assert!(log.iter().all(|entry| entry["result"]["error"].is_null()));
    assert_eq!(machine.run(&["verify"]).status.code(), Some(0));
}
