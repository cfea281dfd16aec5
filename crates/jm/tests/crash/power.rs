//! A power cut: what was not synced may be lost, in any mixture.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::check;
use crate::disk::{Cut, Disk, Step, TRACED, restore, steps};
use crate::machine::{Machine, text};
use crate::matrix::{assert_nothing, in_parallel};
use crate::workload::{self, Kind, Legal, Workload};

const CUTS: &[Cut] = &[
    Cut::LosesAll,
    Cut::LosesContents,
    Cut::LosesNames,
    Cut::Mixed(1),
    Cut::Mixed(2),
    Cut::Mixed(3),
];

fn traced(machine: &Machine, lines: &[String]) -> Option<Vec<Step>> {
    traced_failing(machine, lines, "")
}

/// The steps of a run in which files are refused at a point. `None` where there is no strace
/// and there need not be one.
fn traced_failing(machine: &Machine, lines: &[String], point: &str) -> Option<Vec<Step>> {
    if !jm_testing::has("strace") {
        return None;
    }
    let log = machine.base().join("strace");
    let asked = machine.exec(lines);
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-xx", "-s", "10000000", "-e", TRACED, "-o"]).arg(&log);
    strace.arg(asked.get_program()).args(asked.get_args());
    machine.dress(&mut strace);
    strace.env("JM_FAIL", point).stdin(File::open(machine.base().join("input")).unwrap());
    let ended = strace.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert!(ended.success(), "{ended}");
    Some(steps(&std::fs::read_to_string(log).unwrap()))
}

/// Commands are left out: what they write is theirs to sync.
fn without_commands() -> Workload {
    let mut workload = workload::every_kind();
    for batch in &mut workload.batches {
        batch.retain(|call| call.kind != Kind::Runs);
    }
    workload.batches.retain(|batch| !batch.is_empty());
    workload
}

/// The journal exists; the first thing that a session ever does is not what is looked at.
fn prepared(workload: &Workload) -> Machine {
    let machine = Machine::new(&workload.files);
    let made = machine.run(&["call", "read_file", r#"{"path":"a"}"#, "--session", "before"]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    machine
}

/// The moments worth cutting at: before everything that is more than another write.
fn moments(steps: &[Step]) -> Vec<usize> {
    let plain = |step: &Step| matches!(step, Step::Write { .. } | Step::Truncate { .. });
    (0..=steps.len()).filter(|n| steps.get(*n).is_none_or(|step| !plain(step))).collect()
}

/// Calls that were answered before the cut are in the journal after it.
fn remembered(machine: &Machine, workload: &Workload, answered: usize) -> Vec<String> {
    let log = machine.log();
    let calls: Vec<_> = workload.batches[..answered].iter().flatten().collect();
    let forgotten = calls.iter().enumerate().filter(|(n, call)| {
        let error = log.get(*n).map(|entry| entry["result"]["error"].is_null());
        error != Some(call.kind != Kind::Refused)
    });
    forgotten.map(|(_, call)| format!("{} was answered and is forgotten", call.id)).collect()
}

/// Every other moment of a run of its own; gives what is wrong, the cuts made and names left over.
fn cut_everywhere(
    workload: &Workload,
    legal: &Legal,
    turn: usize,
) -> Option<(Vec<String>, usize, usize)> {
    let machine = prepared(workload);
    let (work, state) = (machine.workspace(), machine.state().to_owned());
    let roots: [&Path; 2] = [&work, &state];
    let mut disk = Disk::of(&roots);
    let steps = traced(&machine, &workload.lines())?;
    let (mut wrong, mut cuts, mut left) = (Vec::new(), 0, 0);
    let mut seen = BTreeSet::new();
    let moments = moments(&steps);
    let mut answered = 0;
    for (number, step) in steps.iter().map(Some).chain([None]).enumerate() {
        if let Ok(order) = moments.binary_search(&number)
            && order % 2 == turn
        {
            for cut in CUTS {
                let image = disk.after(*cut, &roots);
                if !seen.insert(image.clone()) {
                    continue;
                }
                restore(&image, &roots);
                let recovered = machine.recover("keep");
                let (_, mut found) = check::kept(&machine, workload, legal);
                if recovered.status.code() != Some(0) {
                    found.push(format!("not recovered: {}", text(&recovered.stderr)));
                }
                found.extend(remembered(&machine, workload, answered));
                // A name that was removed may come back; it is untidy, and holds nothing new.
                let all = found.len();
                found.retain(|what| !what.starts_with("temporary files are left"));
                (cuts, left) = (cuts + 1, left + all - found.len());
                let tell = |what| format!("before step {number} {cut:?} {}: {what}", brief(step));
                wrong.extend(found.into_iter().map(tell));
            }
        }
        if let Some(step) = step {
            disk.apply(step);
            answered += usize::from(*step == Step::Answer);
        }
    }
    Some((wrong, cuts, left))
}

fn brief(step: Option<&Step>) -> String {
    let text = step.map_or_else(|| "the end".to_owned(), |step| format!("{step:?}"));
    text.chars().take(160).collect()
}

/// NFR-REL-04 without power: after any mixture of kept and lost, the files are whole and where the
/// results say, and no answer that was given is forgotten.
#[test]
fn the_power_fails_between_any_two_steps() {
    let workload = without_commands();
    let legal = workload.legal();
    let counts = std::sync::Mutex::new((0, 0));
    let wrong = in_parallel(&[0, 1], |turn| {
        let Some((wrong, cuts, left)) = cut_everywhere(&workload, &legal, *turn) else {
            return Vec::new();
        };
        let mut counts = counts.lock().unwrap();
        *counts = (counts.0 + cuts, counts.1 + left);
        wrong
    });
    let (cuts, left) = counts.into_inner().unwrap();
    println!("{cuts} power cuts, after {left} of them a temporary name was left");
    assert_nothing(&wrong);
}

/// The order of one patch of several files: contents, then the record of what shall happen, then the
/// names, then their directories, then the result, then the answer.
#[test]
fn the_steps_of_a_patch_are_durable_in_order() {
    let mut workload = without_commands();
    workload.batches.truncate(4);
    let machine = prepared(&workload);
    let Some(steps) = traced(&machine, &workload.lines()) else { return };
    let is_temporary = |path: &str| path.contains("/.jm-");
    let is_journal = |path: &str| path.ends_with("/journal.db-wal");
    let work = machine.workspace().to_str().unwrap().to_owned();
    let answers: Vec<usize> = places(&steps, |step| *step == Step::Answer);
    let patch = &steps[answers[2]..=answers[3]];
    let written = places(patch, |s| matches!(s, Step::Write { path, .. } if is_temporary(path)));
    let synced = places(patch, |s| matches!(s, Step::Sync { path } if is_temporary(path)));
    let recorded = places(patch, |s| matches!(s, Step::Sync { path } if is_journal(path)));
    let renamed = places(patch, |s| matches!(s, Step::Rename { from, .. } if is_temporary(from)));
    let folders = places(
        patch,
        |s| matches!(s, Step::Sync { path } if path.starts_with(&work) && !is_temporary(path)),
    );
    assert_eq!((synced.len(), renamed.len()), (5, 5), "five files");
    for ((write, sync), next) in written.iter().zip(&synced).zip(written.iter().skip(1)) {
        assert!(write < sync && sync < next, "each is synced after it was written");
    }
    let (last_sync, first_name) = (synced[4], renamed[0]);
    let (last_name, first_folder) = (renamed[4], folders[0]);
    let prepared = recorded.iter().filter(|at| (last_sync..first_name).contains(*at)).count();
    assert_eq!(prepared, 1, "one durable record between the last content and the first name");
    assert!(last_name < first_folder);
    let synced_folders: BTreeSet<&str> = folders.iter().map(|at| path_of(&patch[*at])).collect();
    for folder in ["", "/sub", "/fresh", "/fresh/dir"] {
        assert!(synced_folders.contains(&*format!("{work}{folder}")), "{folder} is synced");
    }
    let last_folder = folders[folders.len() - 1];
    let finished = recorded.iter().any(|at| *at > last_folder);
    assert!(finished, "the result is durable after the names and before the answer");
}

/// Of a patch that failed the names are back on disk before the record says that it never was.
#[test]
fn a_withdrawn_patch_is_back_before_it_is_called_so() {
    let mut workload = without_commands();
    workload.batches.truncate(4);
    let machine = prepared(&workload);
    let lines = workload.lines();
    let Some(steps) = traced_failing(&machine, &lines, "commit.rename:4") else { return };
    let work = machine.workspace().to_str().unwrap().to_owned();
    let answers: Vec<usize> = places(&steps, |step| *step == Step::Answer);
    let patch = &steps[answers[2]..=answers[3]];
    let renamed =
        places(patch, |s| matches!(s, Step::Rename { from, .. } if from.contains("/.jm-")));
    let folder = places(patch, |s| matches!(s, Step::Sync { path } if *path == work));
    let recorded =
        places(patch, |s| matches!(s, Step::Sync { path } if path.ends_with("/journal.db-wal")));
    let (back, synced, withdrawn) = (renamed.last(), folder.last(), recorded.last());
    let order = format!("back {back:?}, synced {synced:?}, withdrawn {withdrawn:?}");
    assert!(back.is_some() && back < synced && synced < withdrawn, "{order}");
}

fn places(steps: &[Step], wanted: impl Fn(&Step) -> bool) -> Vec<usize> {
    steps.iter().enumerate().filter(|(_, step)| wanted(step)).map(|(place, _)| place).collect()
}

fn path_of(step: &Step) -> &str {
    match step {
        Step::Sync { path } => path,
        _ => "",
    }
}
