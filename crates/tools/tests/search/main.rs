//! Searching a tree beside `rg`: the same files, lines and columns, for some two hundred queries.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod laws;
mod tree;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jm_files::{ProjectState, Sandbox, SandboxSettings};
use jm_process::{Confiner, EnvSanitizer};
use jm_tools::ops::search::{Case, Query, Search, SearchOutcome, Syntax};
use jm_tools::{CallContext, Workspace};
use jm_types::Limits;
use serde_json::Value;

/// A path, a line from 1, and a column in characters from 1.
type Place = (String, u64, usize);

pub(crate) fn scope(settings: &SandboxSettings) -> CallContext {
    let workspace = Workspace {
        sandbox: Arc::new(Sandbox::new(settings).unwrap()),
        environment: Arc::new(EnvSanitizer::new(&[])),
        state: Arc::new(ProjectState::new(Path::new("/nonexistent"), Path::new("/"))),
        confiner: Arc::new(Confiner::unsupervised()),
        jobs: Arc::default(),
    };
    let deadline = Instant::now() + Duration::from_secs(600);
    let scope = CallContext::without_call(workspace, Limits::default(), deadline);
    CallContext { tool_name: "search".to_owned(), ..scope }
}

pub(crate) fn places(outcome: &SearchOutcome) -> BTreeSet<Place> {
    let mut places = BTreeSet::new();
    for file in &outcome.files {
        for line in &file.lines {
            let place = |column| (file.path.clone(), line.number, column);
            places.extend(line.hits.iter().map(|hit| place(hit.column)));
        }
    }
    places
}

/// There a glob also brings in what is ignored or hidden; with us it only narrows.
fn narrowed(search: &Search, root: &Path) -> Result<BTreeSet<Place>, String> {
    let chosen = by_rg(search, root)?;
    if search.globs.is_empty() {
        return Ok(chosen);
    }
    let all = by_rg(&Search { globs: Vec::new(), ..search.clone() }, root)?;
    Ok(chosen.intersection(&all).cloned().collect())
}

fn by_rg(search: &Search, root: &Path) -> Result<BTreeSet<Place>, String> {
    let mut command = Command::new("rg");
    command.args(["--json", "--no-config", "--no-require-git", "--no-ignore-global"]);
    command.args(["--no-ignore-exclude", "--no-messages", "--crlf"]);
    if search.query.syntax == Syntax::Literal {
        command.arg("--fixed-strings");
    }
    if search.query.case == Case::Insensitive {
        command.arg("--ignore-case");
    }
    if search.hidden {
        command.arg("--hidden");
    }
    if search.ignored {
        command.arg("--no-ignore");
    }
    for glob in &search.globs {
        command.args(["--glob", glob]);
    }
    let output =
        command.args(["--", &search.query.text, &search.path]).current_dir(root).output().unwrap();
    if output.status.code() == Some(2) && output.stdout.is_empty() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let mut places = BTreeSet::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let event: Value = serde_json::from_slice(line).unwrap();
        if event["type"] == "match" {
            places.extend(of_event(&event["data"]));
        }
    }
    Ok(places)
}

fn of_event(data: &Value) -> Vec<Place> {
    let path = String::from_utf8_lossy(&bytes(&data["path"])).into_owned();
    let path = path.trim_start_matches("./").to_owned();
    let line = bytes(&data["lines"]);
    let number = data["line_number"].as_u64().unwrap();
    let mut counted = (0, 1);
    let mut column = |hit: &Value| {
        let start = usize::try_from(hit["start"].as_u64().unwrap()).unwrap();
        let more = String::from_utf8_lossy(&line[counted.0..start]).chars().count();
        counted = (start, counted.1 + more);
        counted.1
    };
    let hits = data["submatches"].as_array().unwrap();
    hits.iter().map(|hit| (path.clone(), number, column(hit))).collect()
}

/// Text, or bytes in base64 where it is none.
fn bytes(value: &Value) -> Vec<u8> {
    use base64::Engine as _;
    match (&value["text"], &value["bytes"]) {
        (Value::String(text), _) => text.clone().into_bytes(),
        (_, Value::String(coded)) => {
            base64::engine::general_purpose::STANDARD.decode(coded).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

const QUERIES: &[&str] = &[
    "needle",
    "a",
    "NOTE",
    "fn main",
    "é",
    "日本",
    "foo.bar",
    "x",
    "[a-z]+_[0-9]+",
    "^fn",
    r"\bneedle\b",
    "needle|NOTE",
    "(?i)NEEDLE",
    "e{2}",
    r"\d{3,}",
    r"\s+$",
    "[^ -~]",
    "needle$",
    "^$",
    r"\w+\(\)",
    "(",
    "a(",
    "end of a long line",
    ".",
    "[[:upper:]]{4}",
    "fn",
    "needle.*needle",
    "x_12",
    "caf",
    "(a|b) (b|c)",
    "indented$",
];

fn searches() -> Vec<Search> {
    let mut searches = Vec::new();
    for text in QUERIES {
        for syntax in [Syntax::Literal, Syntax::Regex] {
            for case in [Case::Sensitive, Case::Insensitive] {
                let query = Query { text: (*text).to_owned(), syntax, case };
                searches.push(Search { most: usize::MAX / 2, ..Search::new(query) });
            }
        }
    }
    let needle = |change: &dyn Fn(&mut Search)| {
        ["needle", "a", "NOTE"].map(|text| {
            let query =
                Query { text: text.to_owned(), syntax: Syntax::Literal, case: Case::Sensitive };
            let mut search = Search { most: usize::MAX / 2, ..Search::new(query) };
            change(&mut search);
            search
        })
    };
    searches.extend(needle(&|search| search.hidden = true));
    searches.extend(needle(&|search| search.ignored = true));
    searches.extend(needle(&|search| (search.hidden, search.ignored) = (true, true)));
    searches.extend(needle(&|search| search.context = 2));
    let globs: &[&[&str]] = &[
        &["*.rs"],
        &["!*.rs"],
        &["*.{rs,md}"],
        &["src/**"],
        &["**/deep/*"],
        &["*.rs", "!main.rs"],
        &["!src"],
        &["!src/**/*.rs"],
        &["/src/*.rs"],
        &["*.log"],
        &["weird names/*"],
        &["*é*"],
        &["**/*"],
        &["[ab]*"],
        &["*.rs", "*.txt"],
        &["!*"],
    ];
    for globs in globs {
        let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
        searches.extend(needle(&|search| search.globs = globs.clone()));
    }
    for path in ["src", "./src", "src/deep", "weird names", "src/", "packages/one"] {
        searches.extend(needle(&|search| search.path = path.to_owned()));
    }
    searches
}

#[test]
fn searches_find_what_rg_finds() {
    let scratch = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(scratch.path()).unwrap();
    tree::grow(&root);
    let settings =
        SandboxSettings { include_default_denies: false, ..SandboxSettings::rooted_at(&root) };
    let scope = scope(&settings);
    let searches = searches();
    assert!(searches.len() >= 200, "{}", searches.len());
    let mut differences = Vec::new();
    let mut hits = 0;
    for search in &searches {
        let theirs = narrowed(search, &root);
        let ours = search.run(&scope).map(|outcome| places(&outcome));
        match (&theirs, &ours) {
            (Err(_), Err(_)) => {}
            (Ok(theirs), Ok(ours)) if theirs == ours => hits += ours.len(),
            (Ok(theirs), Ok(ours)) => {
                let only =
                    |a: &BTreeSet<Place>, b| a.difference(b).take(5).cloned().collect::<Vec<_>>();
                differences.push(format!(
                    "{search:?}\n  only rg: {:?}\n  only us: {:?}",
                    only(theirs, ours),
                    only(ours, theirs)
                ));
            }
            (theirs, ours) => differences.push(format!("{search:?}\n  {theirs:?}\n  {ours:?}")),
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {}:\n{}",
        differences.len(),
        searches.len(),
        differences.join("\n")
    );
    assert!(hits > 10_000, "{hits}");
}
