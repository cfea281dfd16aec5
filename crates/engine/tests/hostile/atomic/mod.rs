//! ATOM: all files of a change, or none, whatever fails and wherever.

mod append_only;
mod foreign;

use std::os::unix::fs::PermissionsExt;

use jm_files::{CommitLog, Manifest, NoLog, Opening};
use jm_system::fault::{clear, fail_at};
use jm_tools::ops::change::lp1;
use jm_tools::ops::change::{Change, Edit, Existing, FileEdit, FreshnessRule};
use jm_types::ToolError;
use jm_types::{Digest, Freshness};
use rustix::io::Errno;

use crate::tree::{Tree, difference, leftovers, settled, tree};
use crate::world::{OPENINGS, Setting, World, quick_disk};

const POINTS: [&str; 7] = [
    "commit.directory",
    "commit.create",
    "commit.write",
    "commit.sync",
    "commit.rename",
    "commit.compare",
    "commit.sync_directory",
];
const ERRORS: [Errno; 5] = [Errno::NOSPC, Errno::ACCESS, Errno::IO, Errno::ROFS, Errno::DQUOT];

/// How names change on the disk at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Disk {
    Exchanges,
    Links,
    /// Neither of them, as on exFAT.
    Renames,
}

const DISKS: [Disk; 3] = [Disk::Exchanges, Disk::Links, Disk::Renames];

impl Disk {
    fn opening(self) -> Opening {
        match self {
            Disk::Exchanges => Opening::Kernel,
            Disk::Links | Disk::Renames => Opening::Walk,
        }
    }

    /// From now on this thread has such a disk, and nothing else fails.
    fn insert(self) {
        clear();
        if self == Disk::Renames {
            (0..=4).for_each(|nth| fail_at("commit.link", nth, Errno::PERM));
        }
    }
}

fn world_on(disk: Disk) -> World {
    disk.insert();
    world(disk.opening())
}

fn world(opening: Opening) -> World {
    let world = World::with(Setting { disk: quick_disk(), ..Setting::new(opening) });
    for number in 1..=4 {
        world.write(&format!("d{number}/f"), format!("old {number}\n"));
        world.write(&format!("same/f{number}"), format!("old {number}\n"));
    }
    let script = world.root.join("d1/f");
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    world
}

fn change(paths: &[&str]) -> Change {
    let edit = |path: &&str| FileEdit {
        path: (*path).to_owned(),
        edit: Edit::Whole { content: b"new\n".to_vec(), existing: Existing::Replace },
    };
    Change::new(paths.iter().map(edit).collect(), FreshnessRule::NotRequired)
}

fn now(world: &World) -> Tree {
    settled(tree(&world.root, None))
}

fn unchanged(world: &World, before: &Tree, told: &str) {
    let after = now(world);
    assert_eq!(difference(before, &after), "", "{told}");
    assert!(leftovers(&after).is_empty(), "{told}");
}

/// The files of a change: where they lie, and whether they are there already.
const SHAPES: &[(&str, &[&str])] = &[
    ("in directories of their own", &["d1/f", "d2/f", "d3/f", "d4/f"]),
    ("in one directory", &["same/f1", "same/f2", "same/f3", "same/f4"]),
    ("new ones in new directories", &["n1/f", "n2/m/f", "n2/f", "n3/p/q/f"]),
    ("new ones between old ones", &["d1/f", "n/f", "same/f1", "d2/new"]),
];

/// ATOM 140-142, 146, 147, T-PATCH-01, FR-TOOL-PATCH-01a: every point, every file, every error.
#[test]
fn a_fault_at_any_point_of_any_file_changes_nothing() {
    let (mut failed, mut passed) = (0, 0);
    for disk in DISKS {
        for (shape, paths) in SHAPES {
            let world = world_on(disk);
            let before = now(&world);
            let moment = world.moment();
            for point in POINTS {
                for (nth, error) in (1..=paths.len()).flat_map(|n| ERRORS.map(|e| (n, e))) {
                    let told = format!("{disk:?}, {shape}, {point} of {nth}, {error}");
                    fail_at(point, nth, error);
                    let outcome = change(paths).run(&world.scope(Freshness::default()), &mut NoLog);
                    disk.insert();
                    match outcome {
                        Err(_) => {
                            failed += 1;
                            unchanged(&world, &before, &told);
                            world.check_outside(&moment);
                        }
                        Ok(_) => {
                            passed += 1;
                            assert!(may_pass(point, shape), "{told}: not an error");
                            break;
                        }
                    }
                }
                if now(&world) != before {
                    restore(&world, &before);
                }
            }
            let done = change(paths).run(&world.scope(Freshness::default()), &mut NoLog).unwrap();
            assert_eq!(done.len(), paths.len(), "I10");
        }
    }
    println!("{failed} commits failed and {passed} passed");
}

/// Points that a change does not reach: only what stood there is compared, and directories are synced
/// once each, however many files are in them.
fn may_pass(point: &str, shape: &str) -> bool {
    match point {
        "commit.compare" => shape.starts_with("new ones"),
        // New directories are made, and synced, only when all is staged in those that are there.
        "commit.sync_directory" => {
            shape == "in one directory" || shape == "new ones in new directories"
        }
        _ => false,
    }
}

fn restore(world: &World, before: &Tree) {
    let paths: Vec<_> =
        now(world).keys().filter(|path| !before.contains_key(*path)).cloned().collect();
    for path in paths.iter().rev() {
        let path = world.root.join(path);
        let removed =
            if path.is_dir() { std::fs::remove_dir(path) } else { std::fs::remove_file(path) };
        removed.unwrap();
    }
    for (path, fact) in before {
        if let crate::tree::Content::Bytes(bytes) = &fact.content {
            let path = world.root.join(path);
            std::fs::write(&path, bytes).unwrap();
            let times = std::fs::FileTimes::new();
            let (seconds, nanos) = fact.modified.unwrap();
            let since = std::time::Duration::new(seconds as u64, nanos as u32);
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_times(times.set_modified(std::time::UNIX_EPOCH + since)).unwrap();
        }
    }
    assert_eq!(difference(before, &now(world)), "");
}

/// ATOM 134-139, SYM 51, T-PATCH-01: the second of three files cannot be patched.
#[test]
fn a_second_file_that_cannot_be_patched_spares_the_others() {
    type Setup = fn(&World);
    let cases: &[(&str, Setup, &str, &str)] = &[
        ("134 no match", |_| {}, "F d2/f\nR\nnot there\n.\nx\n.", "patch_failed"),
        ("135 missing", |_| {}, "F d2/none\nE\nx\n.", "patch_failed"),
        ("136 a directory", |_| {}, "F src\nT\nx\n.", "io_error"),
        ("137 outside", |_| {}, "F ../x/victim\nT\nx\n.", "path_outside_sandbox"),
        ("137 absolute", |_| {}, "F /etc/passwd\nT\nx\n.", "path_outside_sandbox"),
        ("138 denied", |_| {}, "F .env\nT\nx\n.", "denied_pattern_matched"),
        ("139 mixed endings", |w| w.write("m", "a\nb\r\n"), "F m\nT\nx\n.", "patch_failed"),
        ("139 a lone CR", |w| w.write("m", "a\rb\n"), "F m\nT\nx\n.", "patch_failed"),
        ("51 a leaf link", |w| w.link("l", "../x/victim"), "F l\nT\nx\n.", "path_outside_sandbox"),
        ("51 a parent link", |w| w.link("l", "../x"), "F l/n\nT\nx\n.", "path_outside_sandbox"),
        ("136 below a file", |_| {}, "F src/a.rs/n\nT\nx\n.", "io_error"),
        ("249 our own", |_| {}, "F .journeyman/n\nT\nx\n.", "protected_path"),
    ];
    for opening in OPENINGS {
        for (what, setup, section, error) in cases {
            let mut world = world(opening);
            setup(&world);
            for path in ["d1/f", "d2/f", "d3/f", "m"] {
                world.read(path);
            }
            let ends = "T\nadded\n.\n";
            let patch = format!("LP1\nF d1/f\n{ends}F n/new\n{ends}{section}\nF d3/f\n{ends}END\n");
            let result = world.patch(&patch);
            assert_eq!(
                result.error.map(|code| code.name()),
                Some(*error),
                "{what}: {}",
                result.content
            );
        }
    }
}

/// ATOM 143, 144, FR-TOOL-PATCH-01: one file twice, by two spellings and by two names of one inode.
#[test]
fn the_same_file_twice_in_one_patch() {
    for opening in OPENINGS {
        let mut world = world(opening);
        world.link("alias", "d1/f");
        world.read("d1/f");
        let result =
            world.patch("LP1\nF d1/f\nT\na\n.\nF ./d1/f\nT\nb\n.\nF alias\nR\na\n.\nA\n.\nEND\n");
        assert_eq!(result.error, None, "{}", result.content);
        assert_eq!(world.file("d1/f"), b"old 1\nA\nb\n");
        std::fs::hard_link(world.root.join("d2/f"), world.root.join("d3/twin")).unwrap();
        for path in ["d2/f", "d3/twin"] {
            world.read(path);
        }
        let result = world.patch("LP1\nF d2/f\nT\na\n.\nF d3/twin\nT\nb\n.\nEND\n");
        assert_eq!(result.error, None, "{}", result.content);
        assert_eq!(world.file("d2/f"), b"old 2\na\n");
        assert_eq!(world.file("d3/twin"), b"old 2\nb\n");
    }
}

/// A commit log that notes what it is told, and answers as it was set up to.
#[derive(Default)]
struct Listening<'a> {
    world: Option<&'a World>,
    told: Vec<&'static str>,
    refuses: Option<&'static str>,
    manifest: Option<Manifest>,
    seen: Vec<Tree>,
}

impl Listening<'_> {
    fn hear(&mut self, what: &'static str) -> Result<(), String> {
        self.told.push(what);
        self.seen.extend(self.world.map(now));
        if self.refuses == Some(what) { Err("the disk is full".to_owned()) } else { Ok(()) }
    }
}

impl CommitLog for Listening<'_> {
    fn prepared(&mut self, manifest: &Manifest) -> Result<(), String> {
        self.manifest = Some(manifest.clone());
        self.hear("prepared")
    }

    fn committed(&mut self) -> Result<(), String> {
        self.hear("committed")
    }

    fn withdrawn(&mut self) {
        self.told.push("withdrawn");
    }
}

fn logged(
    world: &World,
    refuses: Option<&'static str>,
) -> (Result<(), ToolError>, Vec<&'static str>) {
    let mut log = Listening { refuses, ..Listening::default() };
    let outcome =
        change(&["d1/f", "n/f", "d2/f"]).run(&world.scope(Freshness::default()), &mut log);
    (outcome.map(|_| ()), log.told)
}

/// Decision 18: what cannot be recorded does not happen.
#[test]
fn the_log_hears_before_any_name_changes_and_can_stop_it() {
    for disk in DISKS {
        let world = world_on(disk);
        let before = now(&world);
        let (outcome, told) = logged(&world, Some("prepared"));
        assert!(outcome.unwrap_err().to_string().contains("could not be recorded"));
        assert_eq!(told, ["prepared"]);
        unchanged(&world, &before, "refused when prepared");
        let (outcome, told) = logged(&world, Some("committed"));
        assert!(outcome.is_err());
        assert_eq!(told, ["prepared", "committed", "withdrawn"]);
        unchanged(&world, &before, "refused when committed");
        let (outcome, told) = logged(&world, None);
        outcome.unwrap();
        assert_eq!(told, ["prepared", "committed"]);
    }
}

/// ATOM 152: prepared means every new content is there, beside files as they were.
#[test]
fn the_manifest_says_where_everything_is() {
    for disk in DISKS {
        let world = world_on(disk);
        let before = now(&world);
        let mut log = Listening { world: Some(&world), ..Listening::default() };
        change(&["d1/f", "d2/f"]).run(&world.scope(Freshness::default()), &mut log).unwrap();
        let manifest = log.manifest.unwrap();
        assert_eq!(manifest.entries.len(), 2);
        for entry in &manifest.entries {
            assert_eq!(entry.after.map(|(digest, _)| digest), Some(Digest::of(b"new\n")));
            let temporary = entry.temporary.strip_prefix(&world.root).unwrap();
            let staged = log.seen[0].get(temporary).expect("staged when prepared");
            assert_eq!(staged.content, crate::tree::Content::Bytes(b"new\n".to_vec()));
            let target = entry.path.strip_prefix(&world.root).unwrap();
            assert_eq!(log.seen[0][target], before[target], "no name has changed yet");
        }
        assert_eq!(manifest.entries[0].mode, Some(0o755));
        assert!(leftovers(&now(&world)).is_empty());
    }
}

/// ATOM 145: until the end, the old content is where the manifest says it is.
#[test]
fn the_manifest_says_where_the_old_content_is() {
    for disk in DISKS {
        let world = world_on(disk);
        let mut log = Listening { world: Some(&world), ..Listening::default() };
        change(&["d1/f", "d2/f"]).run(&world.scope(Freshness::default()), &mut log).unwrap();
        for (number, entry) in log.manifest.unwrap().entries.iter().enumerate() {
            let temporary = entry.temporary.strip_prefix(&world.root).unwrap();
            let kept = log.seen[1].get(temporary).map(|fact| &fact.content);
            let old = format!("old {}\n", number + 1).into_bytes();
            assert_eq!(kept, Some(&crate::tree::Content::Bytes(old)), "{disk:?}");
        }
    }
}

/// A cancelled change changes nothing (FR-EXE-04).
#[test]
fn a_change_that_was_cancelled_before_it_began() {
    for opening in OPENINGS {
        let world = world(opening);
        let before = now(&world);
        let scope = world.scope(Freshness::default());
        scope.cancel.cancel();
        let outcome = change(&["d1/f", "n/f"]).run(&scope, &mut NoLog);
        assert_eq!(outcome.unwrap_err().name(), "cancelled");
        unchanged(&world, &before, "cancelled");
    }
}

/// FR-TOOL-PATCH-01: a patch that leaves everything as it is touches nothing.
#[test]
fn a_patch_without_effect_touches_nothing() {
    for opening in OPENINGS {
        let mut world = world(opening);
        world.read("d1/f");
        let before = tree(&world.root, None);
        let result = world.patch("LP1\nF d1/f\nR\nold 1\n.\nold 1\n.\nF none\nEND\n");
        assert_eq!(result.error, None, "{}", result.content);
        assert_eq!(result.content, "No changes applied.");
        assert_eq!(difference(&before, &tree(&world.root, None)), "");
        assert!(lp1::parse("LP1\nEND\n").is_ok());
    }
}
