//! Laws that must hold after a crash was settled with `keep`.

use serde_json::Value;

use crate::machine::{Machine, Tree, text};
use crate::workload::{Kind, Legal, RAN, Workload, without_commands};

/// How much was looked at.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Checked {
    pub(crate) files: usize,
    pub(crate) calls: usize,
}

/// All violations at once, so that one run tells the whole story.
pub(crate) fn kept(
    machine: &Machine,
    workload: &Workload,
    legal: &Legal,
) -> (Checked, Vec<String>) {
    let mut wrong = Vec::new();
    let log = machine.log();
    let tree = machine.tree();
    wrong.extend(one_result_each(&log, "keep"));
    wrong.extend(whole_batches(&log, workload));
    wrong.extend(ran_once(&log, &tree));
    wrong.extend(no_temporary_files(&tree));
    let files = without_temporaries(without_commands(tree));
    match told_state(&log, workload, legal) {
        Ok(expected) => wrong.extend(difference(expected, &files)),
        Err(why) => wrong.push(why),
    }
    wrong.extend(verified(machine));
    (Checked { files: files.len(), calls: log.len() }, wrong)
}

/// The files that the results tell of: those after the last change that says it was made.
fn told_state<'a>(
    log: &[Value],
    workload: &Workload,
    legal: &'a Legal,
) -> Result<&'a Tree, String> {
    let mut told = &legal.start;
    let mut failed: Option<&str> = None;
    for ((call, entry), after) in workload.calls().iter().zip(log).zip(&legal.after) {
        let succeeded = entry["result"]["error"].is_null();
        match (call.kind, succeeded) {
            (Kind::Changes, true) => match failed {
                None => told = after,
                Some(earlier) => return Err(format!("{} ran after {earlier} failed", call.id)),
            },
            (Kind::Changes, false) => failed = Some(&call.id),
            (Kind::Looks | Kind::Runs | Kind::Refused, _) => {}
        }
    }
    Ok(told)
}

/// A call has a result, and only one (FR-RES-04, NFR-REL-04).
pub(crate) fn one_result_each(log: &[Value], choice: &str) -> Vec<String> {
    let finished = |entry: &Value| {
        let records = entry["records"].as_array().into_iter().flatten();
        records.filter(|record| record["record"]["kind"] == "finished").count()
    };
    log.iter()
        .filter(|entry| entry["result"].is_null() || (choice == "keep" && finished(entry) != 1))
        .map(|entry| format!("{} has {} results", entry["id"], finished(entry)))
        .collect()
}

/// The calls of the journal are those that were sent, in order, batch by batch (FR-RES-01a).
fn whole_batches(log: &[Value], workload: &Workload) -> Vec<String> {
    let recorded: Vec<&str> = log.iter().filter_map(|entry| entry["id"].as_str()).collect();
    let mut sent: Vec<&str> = Vec::new();
    if recorded.is_empty() {
        return Vec::new();
    }
    for batch in &workload.batches {
        sent.extend(batch.iter().map(|call| call.id.as_str()));
        if sent == recorded {
            return Vec::new();
        }
    }
    vec![format!("recorded calls are no prefix of the batches: {recorded:?}")]
}

/// A command leaves one line, if it ran at all (FR-RES-04c).
pub(crate) fn ran_once(log: &[Value], tree: &Tree) -> Vec<String> {
    let lines = tree.get(RAN).and_then(Option::as_ref).map_or("", |(content, _)| content.as_str());
    let mut wrong = Vec::new();
    for entry in log.iter().filter(|entry| entry["name"] == "run_command") {
        let id = entry["id"].as_str().unwrap_or_default();
        let count = lines.lines().filter(|line| *line == id).count();
        let error = entry["result"]["error"].as_str();
        let allowed = match error {
            None => 1..=1,
            Some("interrupted") => 0..=0,
            Some(_) => 0..=1,
        };
        if !allowed.contains(&count) {
            wrong.push(format!("{id} ran {count} times and says {error:?}"));
        }
    }
    wrong
}

fn is_temporary(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(".jm-"))
}

pub(crate) fn no_temporary_files(tree: &Tree) -> Vec<String> {
    let left: Vec<&String> = tree.keys().filter(|path| is_temporary(path)).collect();
    if left.is_empty() { Vec::new() } else { vec![format!("temporary files are left: {left:?}")] }
}

pub(crate) fn without_temporaries(tree: Tree) -> Tree {
    tree.into_iter().filter(|(path, _)| !is_temporary(path)).collect()
}

/// The paths at which two trees differ, in one line.
pub(crate) fn difference(expected: &Tree, found: &Tree) -> Vec<String> {
    if expected == found {
        return Vec::new();
    }
    let missing = expected.keys().filter(|path| !found.contains_key(*path));
    let extra = found.keys().filter(|path| !expected.contains_key(*path));
    let changed =
        expected.keys().filter(|path| found.get(*path).is_some_and(|f| *f != expected[*path]));
    vec![format!(
        "files are not what the results say: missing {:?}, extra {:?}, other {:?}",
        missing.collect::<Vec<_>>(),
        extra.collect::<Vec<_>>(),
        changed.map(|path| (path, &found[path], &expected[path])).collect::<Vec<_>>()
    )]
}

pub(crate) fn verified(machine: &Machine) -> Vec<String> {
    let verify = machine.run(&["verify"]);
    if verify.status.code() == Some(0) {
        return Vec::new();
    }
    vec![format!("verify: {}{}", text(&verify.stdout), text(&verify.stderr))]
}

/// Settling what is settled changes nothing, and the session goes on.
pub(crate) fn settled(machine: &Machine, readable: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let state = |machine: &Machine| (without_commands(machine.tree()), machine.records());
    let before = state(machine);
    let again = machine.recover("keep");
    if again.status.code() != Some(0) || before != state(machine) {
        wrong.push(format!("a second recovery changed something: {}", text(&again.stdout)));
    }
    let args = format!("{{\"path\":\"{readable}\"}}");
    let call = machine.run(&["call", "read_file", &args, "--session", "S"]);
    if call.status.code() != Some(0) {
        wrong.push(format!("the session does not go on: {}", text(&call.stderr)));
    }
    wrong
}
