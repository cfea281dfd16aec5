//! A journal that cannot be used: nothing runs, the person is told what to do, nothing is lost.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::machine::{Machine, text};

/// A process that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(15);

type Damage = fn(&Path);

/// Obstacles that stand where the journal should be.
const DAMAGES: &[(&str, Damage)] = &[
    ("a directory", |state| {
        fs::remove_file(state.join("journal.db")).unwrap();
        fs::create_dir(state.join("journal.db")).unwrap();
    }),
    ("garbage", |state| fs::write(state.join("journal.db"), [0xA5; 8192]).unwrap()),
    ("garbage behind a good header", |state| {
        let journal = fs::OpenOptions::new().write(true).open(state.join("journal.db")).unwrap();
        let length = usize::try_from(journal.metadata().unwrap().len()).unwrap();
        journal.write_all_at(&vec![0xA5; length - 100], 100).unwrap();
    }),
    ("half of it", |state| {
        let journal = fs::OpenOptions::new().write(true).open(state.join("journal.db")).unwrap();
        journal.set_len(journal.metadata().unwrap().len() / 2).unwrap();
    }),
    ("one from the future", |state| {
        let journal = fs::OpenOptions::new().write(true).open(state.join("journal.db")).unwrap();
        journal.write_all_at(&99_u32.to_be_bytes(), 60).unwrap();
    }),
    ("a link", |state| {
        fs::rename(state.join("journal.db"), state.join("elsewhere")).unwrap();
        symlink("elsewhere", state.join("journal.db")).unwrap();
    }),
    ("a pipe", |state| {
        fs::remove_file(state.join("journal.db")).unwrap();
        let made = Command::new("mkfifo").arg(state.join("journal.db")).status().unwrap();
        assert!(made.success());
    }),
    ("a directory for its log", |state| {
        fs::remove_file(state.join("journal.db-wal")).unwrap();
        fs::create_dir(state.join("journal.db-wal")).unwrap();
    }),
    ("no directory at all", |state| {
        fs::remove_dir_all(state).unwrap();
        fs::write(state, "a file").unwrap();
    }),
];

/// The end of a process that must not wait for anything.
pub(crate) fn ended(mut command: Command) -> (Option<i32>, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            return (None, "it hangs".to_owned());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

/// Two tools that would leave a trace.
pub(crate) fn calls(machine: &Machine) -> Vec<Command> {
    let common = ["--session", "S", "--approve", "auto", "--yes", "--allow", "run_command"];
    let call = |tool: &str, args: &str| machine.jm(&[&["call", tool, args][..], &common].concat());
    vec![
        call("write_file", r#"{"path":"new","content":"new"}"#),
        call("run_command", r#"{"command":"touch ran"}"#),
        machine
            .exec(&[r#"{"name":"write_file","args":{"path":"new","content":"new"}}"#.to_owned()]),
    ]
}

/// Refused: the workspace as it was, the code says so, and there is something to do about it.
pub(crate) fn refused(machine: &Machine, what: &str) -> Vec<String> {
    let before = machine.tree();
    let mut wrong = Vec::new();
    for (number, call) in calls(machine).into_iter().enumerate() {
        let (code, said) = ended(call);
        let is_answer = code != Some(0) && said.contains("journal_error");
        if code != Some(2) && !is_answer {
            wrong.push(format!("{what}, call {number}: ended with {code:?}: {said}"));
        }
        if !said.contains("hint") {
            wrong.push(format!("{what}, call {number}: no hint: {said}"));
        }
        if machine.tree() != before {
            wrong.push(format!("{what}, call {number}: a tool ran"));
        }
    }
    wrong
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // The spool holds nothing while no command runs.
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Whatever stands in the journal's place, no tool runs; with the journal back, all is there.
#[test]
fn no_tool_runs_without_its_journal() {
    let mut wrong = Vec::new();
    for (what, damage) in DAMAGES {
        let machine = Machine::new(&[]);
        let call = ["call", "write_file", r#"{"path":"w","content":"w"}"#];
        let first = machine.run(&[&call[..], &["--session", "S", "--approve", "auto"]].concat());
        assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
        // Everything is in the file itself, none of it in its log.
        assert_eq!(machine.run(&["gc"]).status.code(), Some(0));
        let (records, kept) = (machine.records(), machine.base().join("kept"));
        copy(machine.state(), &kept);

        damage(machine.state());
        wrong.extend(refused(&machine, what));

        let broken = machine.base().join("broken");
        fs::rename(machine.state(), &broken).unwrap();
        fs::rename(&kept, machine.state()).unwrap();
        assert_eq!(machine.records(), records, "{what}");
        let (code, said) = ended(calls(&machine).remove(0));
        assert_eq!(code, Some(0), "{what}: {said}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A flipped byte of a record is found.
#[test]
fn a_changed_record_is_found() {
    let machine = Machine::new(&[]);
    let call = ["call", "write_file", r#"{"path":"w","content":"telltale"}"#];
    let first = machine.run(&[&call[..], &["--session", "S", "--approve", "auto"]].concat());
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    assert_eq!(machine.run(&["gc"]).status.code(), Some(0));
    assert_eq!(machine.run(&["verify"]).status.code(), Some(0));
    let path = machine.state().join("journal.db");
    let mut journal = fs::read(&path).unwrap();
    let place = journal.windows(8).position(|window| window == b"telltale").unwrap();
    journal[place] = b'T';
    fs::write(&path, journal).unwrap();
    let verify = machine.run(&["verify"]);
    assert_eq!(verify.status.code(), Some(1), "{}", text(&verify.stderr));
    assert!(text(&verify.stdout).contains("was altered"), "{verify:?}");
}
