//! RACE: somebody swaps names as fast as a core can, in bursts, while files are read and written.
//! C-02: the portable way of opening is held to the same promise as the kernel's.
//!
//! Law: whatever is there at whatever moment, nothing outside is read or changed and nothing hangs.
//! 100 000 reads and writes in all, half of them under each way of opening.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jm_files::{Dots, NoLog, OpenDirectory, OpenFile, Opening, PathPolicy};
use jm_tools::ops::change::{Change, Edit, Existing, FileEdit, FreshnessRule};
use jm_tools::ops::read::Read;
use jm_types::Freshness;
use rustix::fs::{CWD, Mode, RenameFlags, renameat_with};

use crate::tree::{difference, leftovers, settled, tree};
use crate::world::{NOT_HANGING, OPENINGS, Setting, World, quick_disk};

const READS: usize = 7_000;
const WRITES: usize = 1_334;

/// Rounds of swapping between two rests, in which names are as they were: a machine on which no read or
/// write fits between two swaps would otherwise show only that everything is refused.
const BURST: u64 = 64;
const REST: Duration = Duration::from_millis(1);

struct Race {
    what: &'static str,
    prepare: fn(&World),
    /// One round of swapping; names are as they were afterwards.
    attack: fn(&Path),
    reads: &'static [&'static str],
    /// Files that are appended to; `#` becomes a number, and such a file is new.
    writes: &'static [&'static str],
}

const RACES: [Race; 6] = [
    Race {
        what: "58-60, 65 a directory and a link, by renaming",
        prepare: directory_and_link,
        attack: |w| {
            rename(w, "d", "hidden");
            rename(w, "link", "d");
            rename(w, "d", "link");
            rename(w, "hidden", "d");
        },
        reads: &["d/secret", "d/sub/secret", "d", "d/only-outside"],
        writes: &["d/victim", "d/new-#", "d/n#/m/f"],
    },
    Race {
        what: "55-57, 68 a directory and a link, exchanged",
        prepare: directory_and_link,
        attack: |w| exchange(w, "d", "link"),
        reads: &["d/secret", "d/sub/secret", "d", "link/secret"],
        writes: &["d/victim", "d/new-#", "d/n#/m/f", "link/new-#"],
    },
    Race {
        what: "58 an inner directory and a link, exchanged",
        prepare: |world| {
            world.write("a/d/secret", "inside\n");
            world.write("a/d/victim", "inside\n");
            world.link("a/link", "../../x");
        },
        attack: |w| exchange(w, "a/d", "a/link"),
        reads: &["a/d/secret", "a/d", "a/link/secret"],
        writes: &["a/d/victim", "a/d/new-#", "a/d/sub/n#/f"],
    },
    Race {
        what: "61-64 a file and a link, exchanged",
        prepare: |world| {
            world.write("f", "inside\n");
            world.write("g", "inside\n");
            world.link("link", "../x/secret");
            world.link("other", "../x/victim");
        },
        attack: |w| {
            exchange(w, "f", "link");
            exchange(w, "g", "other");
        },
        reads: &["f", "link", "g", "other"],
        writes: &["g", "other", "f"],
    },
    Race {
        what: "72 a file and a FIFO, exchanged",
        prepare: |world| {
            world.write("f", "inside\n");
            let mode = Mode::from_raw_mode(0o666);
            rustix::fs::mkfifoat(CWD, world.root.join("fifo"), mode).unwrap();
        },
        attack: |w| exchange(w, "f", "fifo"),
        reads: &["f", "fifo"],
        writes: &["f", "fifo"],
    },
    Race {
        what: "38, 39 a directory that is moved out while `..` is resolved in it",
        prepare: |world| {
            world.write("secret", "inside\n");
            world.write("d/e/f", "inside\n");
            world.write("d/secret", "inside\n");
        },
        attack: |w| {
            let (within, without) = (w.join("d/e"), w.join("../x/e"));
            std::fs::rename(&within, &without).unwrap_or_default();
            std::fs::rename(&without, &within).unwrap_or_default();
        },
        reads: &["d/e/../../secret", "d/e/../secret", "d/e/f"],
        writes: &["d/e/../../new-#", "d/e/../victim"],
    },
];

fn directory_and_link(world: &World) {
    world.write("d/secret", "inside\n");
    world.write("d/sub/secret", "inside\n");
    world.write("d/victim", "inside\n");
    world.link("link", "../x");
}

fn rename(w: &Path, from: &str, to: &str) {
    std::fs::rename(w.join(from), w.join(to)).unwrap_or_default();
}

pub(crate) fn exchange(w: &Path, one: &str, other: &str) {
    for _ in 0..2 {
        let (one, other) = (w.join(one), w.join(other));
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap_or_default();
    }
}

#[derive(Debug, Default)]
struct Tally {
    read: usize,
    not_read: usize,
    written: usize,
    not_written: usize,
}

fn check(opening: Opening) {
    let mut operations = 0;
    for race in &RACES {
        let (tally, rounds) = run(race, opening);
        println!("{opening:?}, {}: {tally:?}, {rounds} rounds", race.what);
        operations += tally.read + tally.not_read + tally.written + tally.not_written;
    }
    assert!(operations >= 50_000, "{operations}");
}

fn run(race: &Race, opening: Opening) -> (Tally, u64) {
    let paths = PathPolicy { dots: Dots::Resolve, ..PathPolicy::FORGE };
    let world = World::with(Setting { disk: quick_disk(), paths, ..Setting::new(opening) });
    std::fs::write(world.outside.join("only-outside"), &world.canary).unwrap();
    (race.prepare)(&world);
    let before = settled(tree(&world.outside, None));
    let (stop, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut tally = Tally::default();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                (race.attack)(&world.root);
                if rounds.fetch_add(1, Ordering::Relaxed) % BURST == 0 {
                    std::thread::sleep(REST);
                }
            }
        });
        let began = Instant::now();
        for number in 0..READS {
            tally.count_read(read(&world, race.reads[number % race.reads.len()]));
            if number % (READS / WRITES) == 0 {
                let path = race.writes[number % race.writes.len()];
                tally.count_write(write(&world, &path.replace('#', &number.to_string())));
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(began.elapsed() < NOT_HANGING, "{}", race.what);
    });
    let changed = difference(&before, &settled(tree(&world.outside, None)));
    assert_eq!(changed, "", "I1 {opening:?}, {}", race.what);
    let inside = tree(&world.root, None);
    assert!(leftovers(&inside).is_empty(), "I5 {:?}", leftovers(&inside));
    assert!(tally.read > 0 && tally.written > 0, "I10 {}: {tally:?}", race.what);
    (tally, rounds.into_inner())
}

impl Tally {
    fn count_read(&mut self, read: bool) {
        *(if read { &mut self.read } else { &mut self.not_read }) += 1;
    }

    fn count_write(&mut self, written: bool) {
        *(if written { &mut self.written } else { &mut self.not_written }) += 1;
    }
}

/// True if something was read, which must then come from inside.
fn read(world: &World, path: &str) -> bool {
    let sandbox = &world.workspace.sandbox;
    let Ok(safe) = sandbox.resolve(path) else { return false };
    if let Ok(directory) = OpenDirectory::open(&safe) {
        let names = directory.names().unwrap_or_default();
        assert!(!names.contains(&"only-outside".into()), "listed the outside: {path}");
        return true;
    }
    let Ok(mut file) = OpenFile::open(&safe) else { return false };
    let (bytes, _) = file.read_up_to(64 * 1024).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(!text.contains(&world.canary), "I2: read the outside as {path}");
    true
}

fn write(world: &World, path: &str) -> bool {
    let edit = match path.contains(|c: char| c.is_ascii_digit()) {
        true => Edit::Whole { content: b"ours\n".to_vec(), existing: Existing::Refuse("") },
        false => Edit::Whole { content: b"inside, ours\n".to_vec(), existing: Existing::Replace },
    };
    let files = vec![FileEdit { path: path.to_owned(), edit }];
    let change = Change::new(files, FreshnessRule::NotRequired);
    change.run(&world.scope(Freshness::default()), &mut NoLog).is_ok()
}

/// RACE 55-68, NFR-SEC-01, NFR-SEC-02, FR-VAL-06: containment is the kernel's.
#[test]
fn opened_by_the_kernel() {
    check(OPENINGS[0]);
}

/// RACE 55-68, NFR-SEC-01, NFR-SEC-02, FR-VAL-06, decision 22: and the portable walk keeps the same
/// promise.
#[test]
fn opened_step_by_step() {
    check(OPENINGS[1]);
}

/// RACE 71, SPEC 79: a file that shrinks and grows while it is read.
#[test]
fn a_file_that_changes_its_size_all_the_time() {
    for opening in OPENINGS {
        let world = World::with(Setting { disk: quick_disk(), ..Setting::new(opening) });
        world.write("log", "line\n".repeat(10_000));
        let stop = AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let file =
                    std::fs::File::options().write(true).open(world.root.join("log")).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    [0, 3, 8192, 50_000, 1 << 30]
                        .iter()
                        .for_each(|size| file.set_len(*size).unwrap());
                }
            });
            for number in 0..2000_u64 {
                let last = Some(number % 100 + 1);
                let range =
                    (number % 2 == 0).then_some(jm_tools::ops::read::LineRange { first: 1, last });
                let scope = world.scope(Freshness::default());
                // Any answer will do; what counts is that there is one, soon and bounded.
                let outcome = Read { path: "log".to_owned(), range }.run(&scope);
                drop(outcome);
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
}
