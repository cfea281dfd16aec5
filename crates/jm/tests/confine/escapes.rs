//! Every attempt of escapes.md, behind every back end, as every user.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::world::{CANARY, User, World, users, works};

pub(crate) struct Attempt {
    pub(crate) title: String,
    is_python: bool,
    /// Back ends that are known not to hold it.
    gaps: Vec<String>,
    script: String,
}

impl Attempt {
    /// As words of a command line.
    pub(crate) fn words(&self) -> [String; 3] {
        let python = format!("from probe import *\n{}", self.script);
        match self.is_python {
            true => ["python3", "-c", &python],
            false => ["sh", "-c", &self.script],
        }
        .map(str::to_owned)
    }
}

/// True if the output says why it failed.
pub(crate) fn explains(said: &str) -> bool {
    REASONS.iter().any(|reason| said.to_lowercase().contains(reason))
}

pub(crate) fn attempts(text: &str) -> Vec<Attempt> {
    let sections = text.split("\n## ").skip(1);
    let parse = |section: &str| {
        let (title, rest) = section.split_once('\n').unwrap();
        let (_, block) = rest.split_once("```").unwrap();
        let (kind, body) = block.split_once('\n').unwrap();
        let (script, _) = body.split_once("\n```").unwrap();
        let gaps = kind.split(' ').filter_map(|word| word.strip_prefix("gap="));
        Attempt {
            title: title.to_owned(),
            is_python: kind.starts_with("python"),
            gaps: gaps.map(str::to_owned).collect(),
            script: script.to_owned(),
        }
    };
    sections.map(parse).collect()
}

/// Words with which a refusal explains itself.
const REASONS: &[&str] = &[
    "denied",
    "not permitted",
    "read-only",
    "no such",
    "unreachable",
    "refused",
    "not found",
    "errno",
    "invalid",
    "cannot",
    "can't",
    "not implemented",
    "busy",
    "cross-device",
    "failed",
    "timed out",
    "forbidden",
    "bad request",
    "reset",
    "eof",
];

/// One in which somebody else of the same user sits.
struct Terminal {
    keeper: Child,
    name: String,
}

impl Terminal {
    fn open(world: &World) -> Self {
        let script = "import os, pty, time; ends = pty.openpty(); print(os.ttyname(ends[1]), \
                      flush=True); time.sleep(600)";
        let mut keeper = world.command("python3");
        let mut keeper = keeper.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut name = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut name).unwrap();
        let name = name.trim().to_owned();
        assert!(name.starts_with("/dev/pts/"), "{name:?}");
        Self { keeper, name }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.keeper.kill().ok();
        self.keeper.wait().ok();
    }
}

fn check(user: User, backend: &'static str) {
    if !works(user, backend) {
        return;
    }
    let all = attempts(include_str!("escapes.md"));
    assert!(all.len() >= 187, "{}", all.len());
    let mut world = World::new(user, backend);
    let terminal = Terminal::open(&world);
    let name = format!("TERMINAL={}", terminal.name);
    let mut wrong = Vec::new();
    for attempt in &all {
        let [program, option, script] = attempt.words();
        let output = world.confined(&["env", &name, &program, &option, &script]);
        let said =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat();
        let mut harm = world.harm();
        harm.extend(said.contains(CANARY).then(|| "it read what it must not".to_owned()));
        harm.extend(said.contains("ESCAPED").then(|| "it says that it escaped".to_owned()));
        let is_gap = attempt.gaps.iter().any(|gap| gap == backend);
        if is_gap && said.contains("jm: not confined:") {
            // It was said that this is not held.
            if !harm.is_empty() {
                world = World::new(user, backend);
            }
            continue;
        }
        if !explains(&said) {
            harm.push("it does not say why it failed".to_owned());
        }
        if !harm.is_empty() {
            wrong.push(format!("{}: {harm:#?}\n{said}", attempt.title));
            world = World::new(user, backend);
        }
    }
    println!("{} attempts behind {backend} as {user:?}", all.len());
    assert!(wrong.is_empty(), "{backend} as {user:?}:\n{}", wrong.join("\n\n"));
}

fn as_everybody(backend: &'static str) {
    users().into_iter().for_each(|user| check(user, backend));
}

#[test]
fn none_escapes_from_namespaces() {
    as_everybody("namespaces");
}

#[test]
fn none_escapes_from_bwrap() {
    as_everybody("bwrap");
}

#[test]
fn none_escapes_from_landlock() {
    as_everybody("landlock");
}
