//! RACE 65-67: everything that walks by itself, while a directory is exchanged for a link that leads
//! out.
//!
//! Law: no name and no line of the outside is ever found. Where an error stops a walk, that is all.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use jm_dialects::posix::{PosixGlob, PosixGrep};
use jm_files::Opening;
use jm_tools::CallContext;
use jm_tools::ops::find::Find;
use jm_tools::ops::listing::{Links, Listing};
use jm_tools::ops::search::{Case, Query, Search, Syntax};
use jm_tools::ops::walk::{Hidden, Kinds, Order, Walk};
use jm_types::Freshness;
use jm_types::ToolError;

use crate::races::exchange;
use crate::world::{NOT_HANGING, OPENINGS, Setting, World, quick_disk};

const ROUNDS: usize = 400;

/// A walk and its findings, as text.
type Walker = fn(&CallContext) -> Result<String, ToolError>;

const WALKERS: [(&str, Walker); 6] = [
    ("65 list", |scope| {
        let kinds = Kinds { files: true, directories: true, symlinks: true, other: true };
        let (path, hidden) = (".".to_owned(), Hidden::Show);
        let order = Order::DepthFirst;
        let walk = Walk { path, depth: 9, most: 1000, kinds, hidden, order };
        walk.run(scope).map(|found| format!("{:?}", found.entries))
    }),
    ("65 list, through links that stay", |scope| {
        let (path, patterns, links) = (".".to_owned(), Vec::new(), Links::Entered);
        let listing = Listing { path, depth: 9, hidden: true, links, patterns, most: 1000 };
        listing.run(scope).map(|found| format!("{:?}", found.files))
    }),
    ("66 search", |scope| {
        let text = "inside|canary".to_owned();
        let query = Query { text, syntax: Syntax::Regex, case: Case::Sensitive };
        Search::new(query).run(scope).map(|found| format!("{:?}", found.files))
    }),
    ("66 grep", |scope| {
        let files = PosixGlob { path: String::new(), pattern: "d/*".to_owned() };
        let grep = PosixGrep { pattern: "inside|canary".to_owned(), files };
        let text = |line: &Vec<u8>| String::from_utf8_lossy(line).into_owned();
        grep.run(scope).map(|found| found.lines.iter().map(text).collect())
    }),
    ("67 find", |scope| {
        let (path, patterns) = (".".to_owned(), vec!["**/*".to_owned()]);
        let find = Find { path, patterns, hidden: true, ignored: true, most: 1000 };
        find.run(scope).map(|found| format!("{:?}", found.files))
    }),
    ("67 glob", |scope| {
        let glob = PosixGlob { path: String::new(), pattern: "d/*".to_owned() };
        glob.run(scope).map(|found| found.join("\n"))
    }),
];

/// RACE 65-67, NFR-SEC-01, FR-VAL-06
#[test]
fn nothing_outside_is_found() {
    for opening in OPENINGS {
        for (what, walker) in WALKERS {
            check(opening, what, walker);
        }
    }
}

fn check(opening: Opening, what: &str, walker: Walker) {
    let world = World::with(Setting { disk: quick_disk(), ..Setting::new(opening) });
    std::fs::write(world.outside.join("only-outside"), &world.canary).unwrap();
    world.write("d/only-inside", "inside\n");
    world.write("d/sub/secret", "inside\n");
    world.link("link", "../x");
    let stop = AtomicBool::new(false);
    let mut found = 0;
    std::thread::scope(|threads| {
        threads.spawn(|| attack(&world.root, &stop));
        let began = Instant::now();
        // On a busy machine the inside may be away whenever somebody looks.
        let mut rounds = 0;
        while rounds < ROUNDS || (found == 0 && began.elapsed() < NOT_HANGING / 2) {
            rounds += 1;
            let told = walker(&world.scope(Freshness::default())).unwrap_or_default();
            assert!(!told.contains(&world.canary), "I2, {opening:?}, {what}: {told}");
            assert!(!told.contains("only-outside"), "{opening:?}, {what}: {told}");
            found += usize::from(told.contains("only-inside"));
        }
        stop.store(true, Ordering::Relaxed);
        assert!(began.elapsed() < NOT_HANGING, "{what}: {:?}", began.elapsed());
    });
    assert!(found > 0, "I10, {opening:?}, {what}");
}

fn attack(root: &Path, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        exchange(root, "d", "link");
    }
}
