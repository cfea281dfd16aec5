//! Looks at trees that are hostile, large, or change while they are looked at.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jm_types::Digest;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::read::LARGE;
use super::*;
use crate::sandbox_settings::SandboxSettings;

struct Tree {
    _scratch: tempfile::TempDir,
    sandbox: Sandbox,
    root: PathBuf,
}

const PATIENT: LookBudget = LookBudget {
    time: Duration::MAX,
    bytes: 256 * 1024 * 1024,
    names: 1_200_000,
    reads: ReadScope::Unknown,
};

impl Tree {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(scratch.path())).unwrap();
        let root = sandbox.working_root().path().to_owned();
        Self { _scratch: scratch, sandbox, root }
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn look(&self, known: &Index, budget: LookBudget) -> Index {
        Index::look(&self.sandbox, known, budget, &mut |_, _, _| {})
    }

    fn look_by(&self, threads: usize, known: &Index) -> Index {
        Index::look_with(threads, &self.sandbox, known, PATIENT, &mut |_, _, _| {})
    }
}

/// Every name with what is known of it.
fn listed(index: &Index) -> Vec<(PathBuf, TableEntry)> {
    let names = index.folders.iter().flat_map(|folder| {
        folder.iter().map(|(name, entry)| (index.absolute(&folder.path, name), *entry))
    });
    names.collect()
}

fn with_state(index: &Index, state: EntryState) -> BTreeSet<PathBuf> {
    let named = listed(index).into_iter().filter(|(_, entry)| entry.state == state);
    named.map(|(path, _)| path.strip_prefix(&index.root).unwrap().to_owned()).collect()
}

/// Same size, same inode, and often the same times.
#[test]
fn a_file_that_changes_right_after_it_was_read_is_read_again() {
    let tree = Tree::new();
    let mut known = Index::default();
    for number in 100..400 {
        let content = number.to_string();
        tree.write("a", &content);
        let index = tree.look(&known, PATIENT);
        let file = index.file(&tree.root.join("a")).unwrap();
        assert_eq!(file.sha256, Digest::of(content.as_bytes()), "{number}");
        known = index;
    }
}

#[test]
fn a_bad_line_of_an_ignore_file_costs_no_other_line() {
    let tree = Tree::new();
    tree.write(".gitignore", "before\n[z-a]\nafter\n");
    for name in ["before", "after", "kept"] {
        tree.write(name, "");
    }
    let index = tree.look(&Index::default(), PATIENT);
    let files = listed(&index).into_iter().filter(|(_, entry)| entry.is_file());
    let files: Vec<_> = files.map(|(path, _)| path.file_name().unwrap().to_owned()).collect();
    assert_eq!(files, [".gitignore", "kept"]);
}

/// First by name, last in turn; and the largest is the one that there is no budget for.
#[test]
fn a_large_file_does_not_cost_the_others() {
    let tree = Tree::new();
    let sizes = [("a", 3 * LARGE), ("b", 1), ("c", 2 * LARGE), ("d/e", 1), ("f", LARGE)];
    for (name, size) in sizes {
        tree.write(name, "");
        let file = std::fs::File::options().write(true).open(tree.root.join(name)).unwrap();
        file.set_len(size).unwrap();
    }
    let look = |budget| {
        let mut order = Vec::new();
        let mut keep = |path: &Path, _: &IndexedFile, bytes: Option<Vec<u8>>| {
            assert!(bytes.is_some());
            order.push(path.strip_prefix(&tree.root).unwrap().to_str().unwrap().to_owned());
        };
        let index = Index::look(&tree.sandbox, &Index::default(), budget, &mut keep);
        (index, order)
    };
    assert_eq!(look(PATIENT).1, ["b", "f", "d/e", "c", "a"]);
    let (index, order) = look(LookBudget { bytes: 4 * LARGE, ..PATIENT });
    assert_eq!(order, ["b", "f", "d/e", "c"]);
    assert_eq!(index.cut, None);
    assert!(index.file(&tree.root.join("a")).is_none() && !index.could_see(&tree.root.join("a")));
}

/// Names of every kind, links that lead everywhere, directories without rights, a tree deeper than any path.
fn hostile() -> Tree {
    let tree = Tree::new();
    let odd = ["-rf", "a b", "new\nline", "ü", "\u{202e}txt", "'\"$(x)", "~", "*", "\\", ".hidden"];
    for (number, name) in odd.into_iter().enumerate() {
        tree.write(&format!("odd/{name}"), name);
        tree.write(&format!("odd/in {name}/{name}"), &number.to_string());
    }
    for folder in 0..60 {
        for file in 0..40 {
            tree.write(&format!("wide/{folder:02}/{}/{file}", folder % 7), &file.to_string());
        }
    }
    let bytes = std::ffi::OsStr::from_bytes;
    std::fs::write(tree.root.join(bytes(b"no\xfftext")), "x").unwrap();
    std::fs::create_dir(tree.root.join(bytes(b"no\xfffolder"))).unwrap();
    tree.write(".gitignore", "built\n");
    tree.write("built/of/it", "x");
    tree.write("secret/.env", "x");
    tree.write(".git/config", "x");
    std::os::unix::fs::symlink("..", tree.root.join("wide/up")).unwrap();
    std::os::unix::fs::symlink("/", tree.root.join("wide/out")).unwrap();
    std::os::unix::fs::symlink("nowhere", tree.root.join("wide/dangling")).unwrap();
    let fifo = tree.root.join("wide/fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    std::os::unix::net::UnixListener::bind(tree.root.join("s")).unwrap();
    for (name, mode) in [("shut", 0), ("listed", 0o400), ("entered", 0o100)] {
        tree.write(&format!("{name}/inside"), "x");
        set_mode(&tree.root.join(name), mode);
    }
    tree.write("unread", "x");
    set_mode(&tree.root.join("unread"), 0);
    deepen(&tree.root);
    tree
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Directories in each other, beyond what a path can name.
fn deepen(root: &Path) {
    use rustix::fs::{Mode, OFlags, mkdirat, openat};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut here = rustix::fs::open(root, flags, Mode::empty()).unwrap();
    for _ in 0..2100 {
        mkdirat(&here, "d", 0o755.into()).unwrap();
        here = openat(&here, "d", flags, Mode::empty()).unwrap();
    }
}

/// Works as one for whom permission bits count, also as the superuser. Threads that it starts are the same.
fn without_privileges<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let held = capabilities(None).unwrap();
            let rest =
                held.effective - (CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
            set_capabilities(None, CapabilitySets { effective: rest, ..held }).unwrap();
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn a_hostile_tree_is_the_same_however_many_threads_look() {
    let tree = hostile();
    // So that no file counts as written in this moment.
    let_a_tick_pass(&tree);
    let one = without_privileges(|| tree.look_by(1, &Index::default()));
    for threads in [2, 4, 8] {
        let more = without_privileges(|| tree.look_by(threads, &Index::default()));
        assert_eq!(listed(&more), listed(&one), "{threads}");
        assert_eq!((&more.cut, more.difference(&one)), (&None, IndexDifference::default()));
        let again = without_privileges(|| tree.look_by(threads, &one));
        let is_shared = |(old, new)| Arc::ptr_eq(old, new);
        assert!(again.folders.iter().zip(&one.folders).all(is_shared), "{threads}");
    }
    let deepest = one.folders.iter().map(|folder| folder.path.len()).max().unwrap();
    assert!((3_900..=4_100).contains(&deepest), "{deepest}");
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut passed: Vec<String> =
        with_state(&one, EntryState::PassedOver).iter().map(|path| text(path)).collect();
    passed.retain(|path| !path.starts_with("d/d"));
    let expected = [
        "entered",
        "listed/inside",
        "no\u{fffd}folder",
        "no\u{fffd}text",
        "s",
        "shut",
        "unread",
        "wide/dangling",
        "wide/fifo",
        "wide/out",
        "wide/up",
    ];
    assert_eq!(passed, expected);
    let ignored: Vec<_> =
        with_state(&one, EntryState::Ignored).iter().map(|path| text(path)).collect();
    assert_eq!(ignored, ["built", "secret/.env"]);
    assert_eq!(one.file_count(), 60 * 40 + 20 + 1);
    for name in ["shut", "listed", "entered"] {
        set_mode(&tree.root.join(name), 0o700);
    }
}

fn let_a_tick_pass(tree: &Tree) {
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(40) {
        tree.sandbox.resolve(".").unwrap();
    }
}

#[test]
fn a_directory_whose_names_cannot_be_looked_at_has_not_lost_them() {
    let tree = Tree::new();
    tree.write("d/a", "a");
    let before = without_privileges(|| tree.look_by(2, &Index::default()));
    set_mode(&tree.root.join("d"), 0o400);
    let after = without_privileges(|| tree.look_by(2, &before));
    let difference = before.difference(&after);
    assert!(difference.files.is_empty(), "{difference:?}");
    assert!(difference.gap.unwrap().ends_with("d/a"));
    set_mode(&tree.root, 0);
    let shut = without_privileges(|| tree.look_by(2, &before));
    let difference = before.difference(&shut);
    assert!(difference.files.is_empty() && difference.gap.is_some(), "{difference:?}");
    set_mode(&tree.root, 0o700);
}

/// Links to a few files: making them is quick, and each is a file of its own to a look.
#[test]
fn a_hundred_and_fifty_thousand_files_are_tracked() {
    let tree = Tree::new();
    for folder in 0..150 {
        tree.write(&format!("{folder}/0"), &folder.to_string());
        let directory = tree.root.join(folder.to_string());
        for file in 1..1_000 {
            std::fs::hard_link(directory.join("0"), directory.join(file.to_string())).unwrap();
        }
    }
    let_a_tick_pass(&tree);
    let first = tree.look(&Index::default(), PATIENT);
    assert_eq!((first.file_count(), &first.cut), (150_000, &None));
    std::fs::remove_file(tree.root.join("7/700")).unwrap();
    std::fs::remove_file(tree.root.join("8/800")).unwrap();
    tree.write("8/800", "changed");
    let read = std::cell::Cell::new(0);
    let mut keep = |_: &Path, _: &IndexedFile, _| read.set(read.get() + 1);
    let second = Index::look(&tree.sandbox, &first, PATIENT, &mut keep);
    // A link that goes moves the times of the others.
    assert_eq!(read.get(), 999 + 1_000);
    let changed: Vec<_> = first.difference(&second).files.into_iter().map(|one| one.path).collect();
    assert_eq!(changed, [tree.root.join("7/700"), tree.root.join("8/800")]);
    let shared =
        first.folders.iter().filter(|table| second.folders.iter().any(|o| Arc::ptr_eq(o, table)));
    assert_eq!(shared.count(), 151 - 2);
    let few = tree.look(&Index::default(), LookBudget { names: 1_000, ..PATIENT });
    assert_eq!(few.cut.as_deref(), Some("only the first 1000 names were looked at"));
    assert!(few.file_count() < 3_000);
}

/// Memory for a name is its bytes and this record, once, however many looks hold it.
#[test]
fn a_record_of_the_table_is_small() {
    assert_eq!(size_of::<TableEntry>(), 88);
}

#[test]
fn directories_that_come_and_go_meanwhile_harm_nothing() {
    let tree = Tree::new();
    for folder in 0..20 {
        tree.write(&format!("stays/{folder}/a"), "a");
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for folder in 0..20 {
                    tree.write(&format!("goes/{folder}/deep/er/a"), "a");
                }
                std::fs::remove_dir_all(tree.root.join("goes")).unwrap();
            }
        });
        let mut known = Index::default();
        for _ in 0..200 {
            let index = tree.look_by(4, &known);
            let stays = listed(&index).into_iter().filter(|(path, entry)| {
                entry.is_file() && path.starts_with(tree.root.join("stays"))
            });
            assert_eq!((stays.count(), &index.cut), (20, &None));
            known = index;
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// The first look has no budget to read; what it did not read and what did not change is no gap.
#[test]
fn a_file_that_was_not_read_and_did_not_change_is_known_not_to_have_changed() {
    let tree = Tree::new();
    tree.write("a", "a");
    tree.write("b", "b");
    let_a_tick_pass(&tree);
    let before = tree.look(&Index::default(), LookBudget { bytes: 0, ..PATIENT });
    assert_eq!(before.file_count(), 0);
    assert_eq!(before.difference(&tree.look(&before, PATIENT)), IndexDifference::default());
    let moved = LookBudget { reads: ReadScope::Moved, ..PATIENT };
    let after = tree.look(&before, moved);
    assert_eq!((after.file_count(), before.difference(&after)), (0, IndexDifference::default()));
    tree.write("b", "other");
    let after = tree.look(&before, moved);
    assert_eq!((after.file_count(), after.file(&tree.root.join("b")).is_some()), (1, true));
    assert_eq!(before.difference(&after), before.difference(&tree.look(&before, PATIENT)));
    let difference = before.difference(&tree.look(&before, PATIENT));
    assert!(difference.files.is_empty(), "{difference:?}");
    assert_eq!(difference.gap, Some(format!("not looked into: {}/b", tree.root.display())));
}

#[test]
fn what_a_look_that_was_cut_did_not_reach_stays_known() {
    let tree = Tree::new();
    for folder in 0..9 {
        tree.write(&format!("{folder}/a"), "a");
    }
    let_a_tick_pass(&tree);
    let mut known = tree.look(&Index::default(), PATIENT);
    let whole = known.clone();
    let cut = tree.look(&known, LookBudget { time: Duration::ZERO, ..PATIENT });
    assert!(cut.cut.is_some() && cut.is_empty());
    assert_eq!(known.outdated_by(&cut), Vec::<PathBuf>::new());
    known.learn(&cut);
    assert_eq!(known, whole);
}

#[test]
fn a_stored_stat_is_the_same_again() {
    let tree = Tree::new();
    tree.write("a", "a");
    let stat = tree.look(&Index::default(), PATIENT).file(&tree.root.join("a")).unwrap().stat;
    assert_eq!(FileStat::from_bytes(&stat.to_bytes()), Some(stat));
    let old = FileStat { modified: -5, changed: i64::MIN, ..stat };
    assert_eq!(FileStat::from_bytes(&old.to_bytes()), Some(old));
    assert_eq!(FileStat::from_bytes(&stat.to_bytes()[1..]), None);
}
