//! The kill matrix: SIGKILL at every place between two durable steps.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::check;
use crate::machine::Machine;
use crate::workload::{self, Legal, Workload};

const WORKERS: usize = 2;
const SIGKILL: i32 = 9;

/// A place, and which time it is passed.
pub(crate) type Point = (String, usize);

/// How often a command passes each place.
pub(crate) fn passed(machine: &Machine, mut command: Command) -> BTreeMap<String, usize> {
    let log = machine.base().join("points");
    let ended = command.env("JM_CRASH_LOG", &log).stdout(Stdio::null()).status().unwrap();
    assert!(ended.success(), "{ended}");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in std::fs::read_to_string(&log).unwrap_or_default().lines() {
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

/// The first times of each place, and the last.
pub(crate) fn points(passed: BTreeMap<String, usize>, first: usize) -> Vec<Point> {
    let times = |count: usize| (1..=count).filter(move |n| *n <= first || *n == count);
    passed
        .into_iter()
        .flat_map(|(name, count)| times(count).map(move |n| (name.clone(), n)))
        .collect()
}

/// Runs until the point kills it.
pub(crate) fn killed_at(mut command: Command, (name, nth): &Point) {
    let point = format!("{name}:{nth}");
    let ended = command
        .env("JM_CRASH", &point)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(ended.signal(), Some(SIGKILL), "{point} was not passed");
}

/// Shares the work between two threads; gives back what was found wrong.
pub(crate) fn in_parallel<T: Sync>(
    work: &[T],
    one: impl Fn(&T) -> Vec<String> + Sync,
) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(item) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = one(item);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

pub(crate) fn assert_nothing(wrong: &[String]) {
    assert!(wrong.is_empty(), "{} violations:\n{}", wrong.len(), wrong.join("\n"));
}

fn crashed(workload: &Workload, point: &Point) -> Machine {
    let machine = Machine::new(&workload.files);
    killed_at(machine.exec(&workload.lines()), point);
    machine
}

pub(crate) fn passed_by(workload: &Workload) -> BTreeMap<String, usize> {
    let machine = Machine::new(&workload.files);
    let command = machine.exec(&workload.lines());
    passed(&machine, command)
}

fn keep(workload: &Workload, legal: &Legal, point: &Point) -> Vec<String> {
    let machine = crashed(workload, point);
    let recovered = machine.recover("keep");
    let mut wrong = Vec::new();
    if recovered.status.code() != Some(0) {
        wrong.push(format!("recover ended with {}", recovered.status));
    }
    wrong.extend(check::kept(&machine, workload, legal).1);
    wrong.extend(check::settled(&machine, "a"));
    wrong.into_iter().map(|what| format!("{}:{} keep: {what}", point.0, point.1)).collect()
}

/// FR-RES-04, FR-RES-04c, NFR-REL-04: killed anywhere, recovered with `keep`: every file is whole and
/// where the results say, nothing ran twice, nothing is left lying about.
#[test]
fn killed_at_every_point_and_kept() {
    let workload = workload::every_kind();
    let legal = workload.legal();
    let points = points(passed_by(&workload), 3);
    let names: std::collections::BTreeSet<&str> = points.iter().map(|p| p.0.as_str()).collect();
    println!("{} places, {} kills: {names:?}", names.len(), points.len());
    assert!(points.len() >= 30, "only {} points", points.len());
    let wrong = in_parallel(&points, |point| keep(&workload, &legal, point));
    assert_nothing(&wrong);
}

/// FR-RES-05: `discard` leaves whole files too.
#[test]
fn killed_at_every_point_and_discarded() {
    killed_everywhere("discard");
}

/// FR-RES-05: `undo` leaves the files from before the batch.
#[test]
fn killed_at_every_point_and_undone() {
    killed_everywhere("undo");
}

fn killed_everywhere(choice: &str) {
    let workload = workload::every_kind();
    let legal = workload.legal();
    let points = points(passed_by(&workload), 3);
    println!("{} kills", points.len());
    let wrong = in_parallel(&points, |point| {
        let machine = crashed(&workload, point);
        let found = taken_back(&machine, &workload, &legal, choice);
        found.into_iter().map(|what| format!("{}:{} {choice}: {what}", point.0, point.1)).collect()
    });
    assert_nothing(&wrong);
}

fn taken_back(machine: &Machine, workload: &Workload, legal: &Legal, choice: &str) -> Vec<String> {
    let finished = machine.log().iter().filter(|entry| !entry["result"].is_null()).count();
    let open = machine.run(&["recover", "--session", "S", "--on-recovery", "fail"]);
    let is_open = open.status.code() != Some(0);
    let recovered = machine.recover(choice);
    let mut wrong = Vec::new();
    if recovered.status.code() != Some(0) {
        wrong.push(format!("recover ended with {}", recovered.status));
    }
    let (log, tree) = (machine.log(), machine.tree());
    wrong.extend(check::one_result_each(&log, choice));
    wrong.extend(check::no_temporary_files(&tree));
    let files = check::without_temporaries(workload::without_commands(tree));
    let legal_files: Vec<&_> = match (choice, is_open) {
        ("undo", true) => vec![before_last_batch(log.len(), workload, legal)],
        (_, false) => vec![nth(finished, legal)],
        // Whether the interrupted call is there is for its result to say; it is there wholly or not.
        _ => vec![nth(finished, legal), nth((finished + 1).min(log.len()), legal)],
    };
    if !legal_files.contains(&&files) {
        wrong.extend(check::difference(legal_files[0], &files));
    }
    wrong.extend(check::verified(machine));
    wrong.extend(check::settled(machine, "a"));
    wrong
}

fn nth(count: usize, legal: &Legal) -> &crate::machine::Tree {
    count.checked_sub(1).map_or(&legal.start, |last| &legal.after[last])
}

/// The files as they were when the batch that was recorded last began.
fn before_last_batch<'a>(
    recorded: usize,
    workload: &Workload,
    legal: &'a Legal,
) -> &'a crate::machine::Tree {
    let mut begun = 0;
    for batch in &workload.batches {
        if begun + batch.len() >= recorded {
            break;
        }
        begun += batch.len();
    }
    nth(begun, legal)
}
