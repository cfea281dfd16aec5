//! A thousand kills at moments that nobody chose.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::check;
use crate::machine::{Machine, text};
use crate::matrix::{assert_nothing, in_parallel};
use crate::workload::{self, Legal, Workload};

const SEED: u64 = 0x4a6f_7572_6e65_796d;

#[derive(Debug, Default)]
struct Counts {
    kills: usize,
    before_the_first_call: usize,
    midway: usize,
    after_the_last_call: usize,
    too_late_and_tried_again: usize,
    files_checked: usize,
    calls_checked: usize,
}

/// Marsaglia's xorshift; every seed has its own sequence, and the same one on every run.
fn noise(seed: u64) -> u64 {
    let mut state = SEED ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..4 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

/// How long the workload takes while the other worker is busy too: the middle of a few.
fn duration(workload: &Workload) -> Duration {
    let times = Mutex::new(Vec::new());
    let wrong = in_parallel(&[(), (), (), (), (), ()], |()| {
        let machine = Machine::new(&workload.files);
        let mut command = machine.exec(&workload.lines());
        let began = Instant::now();
        let ended = command.stdout(Stdio::null()).status().unwrap();
        times.lock().unwrap().push(began.elapsed());
        if ended.success() { Vec::new() } else { vec![ended.to_string()] }
    });
    assert_nothing(&wrong);
    let mut times = times.into_inner().unwrap();
    times.sort();
    times[times.len() / 2]
}

/// A machine whose program was killed after that time, or sooner if that is too late.
fn killed_after(workload: &Workload, delay: Duration, tries: &mut usize) -> Machine {
    let machine = Machine::new(&workload.files);
    let mut command = machine.exec(&workload.lines());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(delay);
    child.kill().unwrap();
    if child.wait().unwrap().signal().is_some() {
        return machine;
    }
    *tries += 1;
    killed_after(workload, delay / 2, tries)
}

fn kill_once(
    workload: &Workload,
    legal: &Legal,
    span: Duration,
    seed: u64,
    counts: &Mutex<Counts>,
) -> Vec<String> {
    let delay = Duration::from_micros(noise(seed) % u64::try_from(span.as_micros()).unwrap());
    let mut tries = 0;
    let machine = killed_after(workload, delay, &mut tries);
    let recovered = machine.recover("keep");
    let (checked, mut wrong) = check::kept(&machine, workload, legal);
    if recovered.status.code() != Some(0) {
        wrong.push(format!("recover ended with {}", recovered.status));
    }
    if seed.is_multiple_of(10) {
        wrong.extend(check::settled(&machine, "d0/f0"));
    }
    let was_open = text(&recovered.stdout).contains("unfinished");
    let mut counts = counts.lock().unwrap();
    counts.kills += 1;
    counts.too_late_and_tried_again += tries;
    counts.files_checked += checked.files;
    counts.calls_checked += checked.calls;
    match checked.calls {
        0 => counts.before_the_first_call += 1,
        50 if !was_open => counts.after_the_last_call += 1,
        _ => counts.midway += 1,
    }
    wrong.into_iter().map(|what| format!("seed {seed} after {delay:?}: {what}")).collect()
}

/// A quarter of the kills: each part is a test of its own, so that they share the machine.
fn kill_many(seeds: std::ops::RangeInclusive<u64>) {
    let workload = workload::fifty();
    assert_eq!(workload.calls().len(), 50);
    let legal = workload.legal();
    let span = duration(&workload);
    let counts = Mutex::new(Counts::default());
    let seeds: Vec<u64> = seeds.collect();
    let began = Instant::now();
    let wrong = in_parallel(&seeds, |seed| kill_once(&workload, &legal, span, *seed, &counts));
    let counts = counts.into_inner().unwrap();
    println!("{counts:?}, workload of {span:?}, {:?} in all", began.elapsed());
    assert_nothing(&wrong);
    assert!(counts.midway >= seeds.len() / 3, "too few kills hit calls at work: {counts:?}");
}

/// NFR-REL-04: never lost, never twice, never half.
#[test]
fn killed_at_random_moments_1_to_250() {
    kill_many(1..=250);
}

/// NFR-REL-04
#[test]
fn killed_at_random_moments_251_to_500() {
    kill_many(251..=500);
}

/// NFR-REL-04
#[test]
fn killed_at_random_moments_501_to_750() {
    kill_many(501..=750);
}

/// NFR-REL-04
#[test]
fn killed_at_random_moments_751_to_1000() {
    kill_many(751..=1000);
}
