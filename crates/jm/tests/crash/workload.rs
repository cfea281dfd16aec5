//! The calls under way when the program is killed, and what its files may be afterwards.

use serde_json::{Value, json};

use crate::machine::{Machine, Tree};

/// The directory that a command writes to; commands are not whole or nothing, so it is judged apart.
pub(crate) const COMMANDS: &str = "cmd";
pub(crate) const RAN: &str = "cmd/ran.log";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Looks,
    Changes,
    /// Appends its id to `RAN`.
    Runs,
    Refused,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    json: Value,
}

/// Batches of calls, in order.
#[derive(Debug, Default)]
pub(crate) struct Workload {
    pub(crate) files: Vec<(String, String)>,
    pub(crate) batches: Vec<Vec<Call>>,
}

/// The files before anything, and after each call.
pub(crate) struct Legal {
    pub(crate) start: Tree,
    pub(crate) after: Vec<Tree>,
}

impl Workload {
    pub(crate) fn calls(&self) -> Vec<&Call> {
        self.batches.iter().flatten().collect()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.batches.iter().map(|batch| line(batch)).collect()
    }

    /// Runs it undisturbed, one call at a time. Every call must do what its kind says.
    pub(crate) fn legal(&self) -> Legal {
        let machine = Machine::new(&self.files);
        let start = without_commands(machine.tree());
        let mut talk = machine.talk();
        let mut after = Vec::new();
        for call in self.calls() {
            let answer = talk.say(&call.json.to_string());
            let is_refused = answer["verdict"] != "ran";
            assert_eq!(is_refused, call.kind == Kind::Refused, "{}: {answer}", call.id);
            after.push(without_commands(machine.tree()));
        }
        assert_eq!(talk.end(), Some(0));
        Legal { start, after }
    }
}

fn line(batch: &[Call]) -> String {
    match batch {
        [call] => call.json.to_string(),
        calls => {
            json!({"calls": calls.iter().map(|call| &call.json).collect::<Vec<_>>()}).to_string()
        }
    }
}

pub(crate) fn without_commands(tree: Tree) -> Tree {
    tree.into_iter().filter(|(path, _)| !path.starts_with(COMMANDS)).collect()
}

fn call(id: &str, kind: Kind, name: &str, args: Value) -> Call {
    Call { id: id.to_owned(), kind, json: json!({"id": id, "name": name, "args": args}) }
}

pub(crate) fn read(id: &str, path: &str) -> Call {
    call(id, Kind::Looks, "read_file", json!({"path": path}))
}

pub(crate) fn write(id: &str, path: &str, content: &str) -> Call {
    call(id, Kind::Changes, "write_file", json!({"path": path, "content": content}))
}

pub(crate) fn run(id: &str) -> Call {
    let command = format!("echo {id} >> {RAN}; echo made by {id} > cmd/{id}");
    call(id, Kind::Runs, "run_command", json!({"command": command}))
}

/// Replaces a line in each file, and makes the new ones.
pub(crate) fn patch(id: &str, changed: &[(&str, &str, &str)], made: &[&str]) -> Call {
    let mut text = "LP1\n".to_owned();
    for (path, old, new) in changed {
        text.push_str(&format!("F {path}\nR\n{old}\n.\n{new}\n.\n"));
    }
    for path in made {
        text.push_str(&format!("F {path}\nT\nfresh from {id}\n.\n"));
    }
    text.push_str("END\n");
    call(id, Kind::Changes, "apply_patch", json!({"patch": text}))
}

fn small_files(names: &[&str]) -> Vec<(String, String)> {
    let file = |name: &&str| ((*name).to_owned(), format!("head of {name}\nversion 0\n"));
    let mut files: Vec<_> = names.iter().map(file).collect();
    files.push((RAN.to_owned(), String::new()));
    files
}

/// Every kind of call, alone and in batches; every durable step at least once.
pub(crate) fn every_kind() -> Workload {
    let (v0, v1, v2) = ("version 0", "version 1", "version 2");
    let first = patch(
        "p1",
        &[("a", v0, v1), ("b", v0, v1), ("sub/c", v0, v1), ("w", "written", "patched")],
        &["fresh/dir/d"],
    );
    let second = patch(
        "p2",
        &[("a", v1, v2), ("b", v1, v2), ("fresh/dir/d", "fresh from p1", "again")],
        &[],
    );
    let third = patch("p3", &[("b", v2, "version 3"), ("sub/c", v1, v2)], &["fresh/other/f"]);
    let list = call("l1", Kind::Looks, "list_directory", json!({"path": "."}));
    Workload {
        files: small_files(&["a", "b", "sub/c"]),
        batches: vec![
            vec![write("w1", "w", "written\n")],
            vec![read("r1", "w")],
            vec![read("r2", "a"), read("r3", "b"), read("r4", "sub/c")],
            vec![first],
            vec![run("k1")],
            vec![list],
            vec![call("x1", Kind::Refused, "read_file", json!({"path": "../outside"}))],
            vec![write("w2", "deep/er/e", "deep\n"), second, run("k2"), read("r5", "a"), third],
        ],
    }
}

/// Fifty calls over eight files, most of them patches of three to five files.
pub(crate) fn fifty() -> Workload {
    let names: Vec<String> = (0..8).map(|n| format!("d{}/f{n}", n % 3)).collect();
    let mut versions = [0; 8];
    let mut calls: Vec<Call> =
        names.iter().enumerate().map(|(n, name)| read(&format!("r{n}"), name)).collect();
    for number in calls.len()..50 {
        let id = format!("c{number}");
        calls.push(match number {
            20 | 40 => run(&id),
            _ if number % 8 == 3 => write(&id, &format!("made/{number}/w"), "written\n"),
            _ => bump(&id, number, &names, &mut versions),
        });
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let batches = calls.chunks(5).map(<[Call]>::to_vec).collect();
    Workload { files: small_files(&names), batches }
}

fn bump(id: &str, number: usize, names: &[String], versions: &mut [usize; 8]) -> Call {
    let chosen: Vec<usize> = (0..3 + number % 3).map(|step| (number + step * 3) % 8).collect();
    let lines: Vec<(String, String)> = chosen
        .iter()
        .map(|n| (format!("version {}", versions[*n]), format!("version {}", versions[*n] + 1)))
        .collect();
    chosen.iter().for_each(|n| versions[*n] += 1);
    let changed: Vec<(&str, &str, &str)> = chosen
        .iter()
        .zip(&lines)
        .map(|(n, (old, new))| (names[*n].as_str(), old.as_str(), new.as_str()))
        .collect();
    let made = format!("made/{number}/p");
    let made: &[&str] = if number.is_multiple_of(7) { &[&made] } else { &[] };
    patch(id, &changed, made)
}
