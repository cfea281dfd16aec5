//! A thousand kills at moments that nobody chose.

use std::cell::Cell;
use std::process::{Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::check;
use crate::machine::{Image, Machine, text};
use crate::matrix::{assert_nothing, in_parallel};
use crate::workload::{self, Legal, Workload};

/// Of so many kills one comes while the program starts.
const STARTS: u64 = 8;
const SEED: u64 = 0x4a6f_7572_6e65_796d;

#[derive(Debug, Default)]
struct Counts {
    kills: usize,
    in_a_batch: usize,
    between_batches: usize,
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

/// The moment before a batch of the workload: to be killed in its last batch a machine need not do
/// all the others again.
struct Moment {
    image: Image,
    /// All that is still to come.
    lines: Vec<String>,
    /// How long the batch takes.
    lasts: Duration,
}

/// When to kill, in parts of the time that a batch takes. Where planning ends and where the answer
/// comes depends on the machine and on what else it does, so that every miss narrows the span and
/// every hit widens it a little.
#[derive(Clone, Copy)]
struct Aim {
    from: f64,
    to: f64,
}

enum Hit {
    /// Nothing had been recorded yet.
    Early,
    AtWork,
    /// The batch was done, and the next not begun.
    Late,
}

impl Aim {
    const WIDER: f64 = 0.01;

    fn at(self, seed: u64) -> f64 {
        let share = (noise(seed) % 1000) as f64 / 1000.0;
        self.from + (self.to - self.from) * share
    }

    fn learn(&mut self, at: f64, hit: &Hit) {
        match hit {
            Hit::Early => self.from = (self.from + at) / 2.0,
            Hit::AtWork => {
                self.from = (self.from - Self::WIDER).max(0.0);
                self.to += Self::WIDER;
            }
            Hit::Late => self.to = (self.to + at) / 2.0,
        }
    }
}

/// A machine that can go to any of its moments.
struct Stage {
    machine: Machine,
    moments: Vec<Moment>,
    aim: Cell<Aim>,
    /// How long the program takes to be ready.
    start: Duration,
}

impl Stage {
    fn new(workload: &Workload) -> Self {
        let machine = Machine::new(&workload.files);
        let began = Instant::now();
        machine.ready().end();
        let start = began.elapsed();
        let lines = workload.lines();
        let mut moments = Vec::new();
        for number in 0..lines.len() {
            let image = machine.image(&format!("before batch {number}"));
            let mut talk = machine.ready();
            let began = Instant::now();
            talk.say(&lines[number]);
            let lasts = began.elapsed();
            talk.end();
            moments.push(Moment { image, lines: lines[number..].to_vec(), lasts });
        }
        let aim = Cell::new(Aim { from: 0.3, to: 1.1 });
        Self { machine, moments, aim, start }
    }

    /// Killed somewhere in the batch that the seed names, or soon after it, and recovered. How long
    /// the program takes to start is another matter, which depends on what else the machine does.
    fn kill(&self, seed: u64) -> Killed {
        let moment = &self.moments[usize::try_from(seed).unwrap() % self.moments.len()];
        self.machine.rewind(&moment.image);
        if seed.is_multiple_of(STARTS) {
            let delay = self.kill_at_start(seed, moment);
            return self.recover(delay);
        }
        let mut aim = self.aim.get();
        let at = aim.at(seed);
        let delay = moment.lasts.mul_f64(at);
        let answers = self.machine.ready().killed_after(&moment.lines, delay);
        let killed = self.recover(delay);
        let hit = match (killed.was_at_work, answers.is_empty()) {
            (true, _) => Hit::AtWork,
            (false, true) => Hit::Early,
            (false, false) => Hit::Late,
        };
        aim.learn(at, &hit);
        self.aim.set(aim);
        killed
    }

    fn recover(&self, delay: Duration) -> Killed {
        self.machine.rest();
        let recovered = self.machine.recover("keep");
        let was_at_work = text(&recovered.stdout).contains("interrupted by a crash");
        Killed { delay, recovered, was_at_work }
    }

    /// Killed while it starts, with all its work waiting.
    fn kill_at_start(&self, seed: u64, moment: &Moment) -> Duration {
        let delay = part_of(self.start, seed);
        let mut command = self.machine.exec(&moment.lines);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(delay);
        child.kill().unwrap();
        child.wait().unwrap();
        delay
    }
}

struct Killed {
    delay: Duration,
    recovered: Output,
    was_at_work: bool,
}

fn part_of(span: Duration, seed: u64) -> Duration {
    let span = u64::try_from(span.as_micros()).unwrap().max(1);
    Duration::from_micros(noise(seed) % span)
}

fn kill_once(
    stage: &Stage,
    workload: &Workload,
    legal: &Legal,
    seed: u64,
    counts: &Mutex<Counts>,
) -> Vec<String> {
    let Killed { delay, recovered, was_at_work } = stage.kill(seed);
    let machine = &stage.machine;
    let (checked, mut wrong) = check::kept(machine, workload, legal);
    if recovered.status.code() != Some(0) {
        wrong.push(format!("recover ended with {}", recovered.status));
    }
    // Every tenth batch comes by every tenth seed; this comes by all of them.
    if seed.is_multiple_of(11) {
        wrong.extend(check::settled(machine, "d0/f0"));
    }
    let mut counts = counts.lock().unwrap();
    counts.kills += 1;
    counts.files_checked += checked.files;
    counts.calls_checked += checked.calls;
    match was_at_work {
        true => counts.in_a_batch += 1,
        false => counts.between_batches += 1,
    }
    wrong.into_iter().map(|what| format!("seed {seed} after {delay:?}: {what}")).collect()
}

/// A quarter of the kills: each part is a test of its own, so that they share the machine.
fn kill_many(seeds: std::ops::RangeInclusive<u64>) {
    let workload = workload::fifty();
    assert_eq!(workload.calls().len(), 50);
    let legal = workload.legal();
    let counts = Mutex::new(Counts::default());
    let seeds: Vec<u64> = seeds.collect();
    let shares: Vec<&[u64]> = seeds.chunks(seeds.len().div_ceil(2)).collect();
    let began = Instant::now();
    let wrong = in_parallel(&shares, |share| {
        let stage = Stage::new(&workload);
        share.iter().flat_map(|seed| kill_once(&stage, &workload, &legal, *seed, &counts)).collect()
    });
    let counts = counts.into_inner().unwrap();
    println!("{counts:?}, {:?} in all", began.elapsed());
    assert_nothing(&wrong);
    assert!(counts.in_a_batch >= seeds.len() / 3, "too few kills hit calls at work: {counts:?}");
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
