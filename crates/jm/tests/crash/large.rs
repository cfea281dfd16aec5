//! Files that somebody put in the place of ours before recovery: huge ones, and links that lead out.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::machine::{Machine, text};
use crate::matrix::killed_at;
use crate::workload::{self, Workload};

const HUGE: u64 = 20 << 30;
const MOST_MEMORY: i64 = 64 * 1024;

/// A machine whose one call wrote `a` and was killed before it could say so.
fn killed() -> Machine {
    let machine = Machine::new(&[]);
    let batches = vec![vec![workload::write("1", "a", "after\n")]];
    let lines = Workload { files: Vec::new(), batches }.lines();
    killed_at(machine.exec(&lines), &("call.before_finished".to_owned(), 1));
    machine
}

/// Runs a program to its end: its output, the time it took, and the most memory it held, in kilobytes.
#[allow(unsafe_code, clippy::zombie_processes, reason = "wait4 waits for it and says what it used")]
fn measured(command: &mut Command, output: &std::path::Path) -> (String, Duration, i64) {
    let file = File::create(output).unwrap();
    command.stdout(file.try_clone().unwrap()).stderr(file).stdin(Stdio::null()).process_group(0);
    let began = Instant::now();
    let child = command.spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let mut status = 0;
    // SAFETY: `rusage` is numbers only, for which all zeroes is a value.
    let mut usage = unsafe { std::mem::zeroed::<libc::rusage>() };
    // The standard library waits without asking what was used.
    // SAFETY: both pointers are to locals that outlive the call, and the child is ours.
    let waited = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
    assert_eq!(waited, pid);
    (text(&fs::read(output).unwrap()), began.elapsed(), usage.ru_maxrss)
}

/// A file of another size than the recorded one is not read, so recovery costs nothing.
#[test]
fn a_huge_file_in_the_way_is_not_read() {
    let machine = killed();
    let path = machine.workspace().join("a");
    File::create(&path).unwrap().set_len(HUGE).unwrap();
    let output = machine.base().join("told");
    for choice in ["fail", "keep"] {
        let mut recover = machine.jm(&["recover", "--session", "S", "--on-recovery", choice]);
        let (told, time, memory) = measured(&mut recover, &output);
        assert!(told.contains("a: changed by another program"), "{told}");
        assert!(time < Duration::from_secs(2), "{choice}: {time:?}");
        assert!(memory < MOST_MEMORY, "{choice}: {memory} KiB");
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), HUGE, "it is left alone");
}

/// The facts that a person is shown come through the sandbox: a link in the place of a file is not followed.
#[test]
fn a_planted_link_shows_nothing_of_what_it_leads_to() {
    for target in ["outside", "inside"] {
        let machine = killed();
        let secret = match target {
            "outside" => machine.base().join("secret"),
            _ => machine.workspace().join("other"),
        };
        fs::write(&secret, "the secret words\n").unwrap();
        let path = machine.workspace().join("a");
        fs::remove_file(&path).unwrap();
        let to = if target == "outside" { secret.clone() } else { "other".into() };
        std::os::unix::fs::symlink(to, &path).unwrap();
        for json in [&[][..], &["--json"]] {
            let args = [&["recover", "--session", "S", "--on-recovery", "fail"], json].concat();
            let asked = machine.run(&args);
            let told = text(&asked.stdout) + &text(&asked.stderr);
            assert!(told.contains("changed by another program"), "{target}: {told}");
            assert!(!told.contains("the secret words"), "{target}: {told}");
        }
        assert_eq!(machine.recover("undo").status.code(), Some(0), "{target}");
        assert_eq!(fs::read_to_string(&secret).unwrap(), "the secret words\n", "{target}");
    }
}
