//! Somebody else writes in the very moment of an exchange, and the program dies before it can look.
//!
//! Law: what they wrote is under the temporary name then. It goes back, and the rest of the change with
//! it.

use std::fs;

use crate::check;
use crate::machine::{Machine, text};
use crate::matrix::killed_at;
use crate::workload::{self, Workload};

const NAMES: [&str; 3] = ["a", "b", "c"];

fn old(name: &str) -> String {
    format!("head of {name}\nversion 0\n")
}

/// A machine that died after it had exchanged the `nth` file of a patch, and before it looked at
/// what it had taken out.
fn killed(nth: usize) -> Machine {
    let machine = Machine::new(&NAMES.map(|name| (name.to_owned(), old(name))));
    let reads = NAMES.map(|name| workload::read(&format!("r-{name}"), name)).to_vec();
    let changed = NAMES.map(|name| (name, "version 0", "version 1"));
    let batches = vec![reads, vec![workload::patch("p", &changed, &[])]];
    let lines = Workload { files: Vec::new(), batches }.lines();
    killed_at(machine.exec(&lines), &("commit.compare".to_owned(), nth));
    machine
}

/// The temporary file that holds this.
fn holding(machine: &Machine, content: &str) -> String {
    let is_it = |found: &Option<(String, u32)>| found.as_ref().is_some_and(|f| f.0 == content);
    let temporary = |path: &String| path.starts_with(".jm-");
    let tree = machine.tree();
    tree.into_iter().find(|(path, found)| temporary(path) && is_it(found)).unwrap().0
}

/// NFR-REL-04
#[test]
fn what_was_written_into_an_exchanged_file_goes_back() {
    for (index, name) in NAMES.iter().enumerate() {
        for choice in ["keep", "discard", "undo"] {
            let machine = killed(index + 1);
            let temporary = holding(&machine, &old(name));
            fs::write(machine.workspace().join(temporary), "theirs\n").unwrap();
            let recovered = machine.recover(choice);
            assert_eq!(recovered.status.code(), Some(0), "{}", text(&recovered.stderr));
            let tree = machine.tree();
            for other in NAMES {
                let expected = if other == *name { "theirs\n".to_owned() } else { old(other) };
                let found = tree[other].clone().unwrap().0;
                assert_eq!(found, expected, "{other}, theirs in {name}, {choice}");
            }
            assert_eq!(check::no_temporary_files(&tree), Vec::<String>::new());
            let log = machine.log();
            assert_eq!(log.last().unwrap()["result"]["error"], "interrupted", "{choice}");
            assert_eq!(check::verified(&machine), Vec::<String>::new());
        }
    }
}

/// The same for a directory that stood where a file is put back.
#[test]
fn what_was_put_into_an_exchanged_directory_goes_back() {
    let machine = Machine::new(&[("a".to_owned(), "file\n".to_owned())]);
    let flags = ["--session", "S", "--yes", "--allow", "run_command"];
    let args = r#"{"command":"rm a; mkdir a; echo 1 > a/b"}"#;
    let ran = machine.run(&[&["call", "run_command", args][..], &flags].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    killed_at(machine.jm(&["undo", "--session", "S"]), &("commit.compare".to_owned(), 1));
    let aside = machine.tree().into_keys().find(|path| path.starts_with(".jm-")).unwrap();
    fs::write(machine.workspace().join(&aside).join("theirs"), "theirs\n").unwrap();
    let recovered = machine.recover("keep");
    assert_eq!(recovered.status.code(), Some(0), "{}", text(&recovered.stderr));
    let tree = machine.tree();
    assert_eq!(tree["a/theirs"].clone().unwrap().0, "theirs\n");
    assert_eq!(tree["a/b"].clone().unwrap().0, "1\n");
    assert_eq!(check::no_temporary_files(&tree), Vec::<String>::new());
    assert_eq!(check::verified(&machine), Vec::<String>::new());
}
