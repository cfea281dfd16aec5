//! STALE: an edit never lands on bytes that nobody looked at.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use jm_files::text::ReplaceWhich;
use jm_files::{NoLog, Opening};
use jm_tools::ops::change::{Change, Edit, Existing, FileEdit, FreshnessRule};
use jm_tools::ops::read::Read;
use jm_types::ToolResult;
use jm_types::{Extent, Freshness};
use rustix::fs::{CWD, Mode, Timespec, Timestamps};
use serde_json::json;

use crate::world::{OPENINGS, Setting, World, quick_disk};

const PATH: &str = "src/a.rs";
const PATCH: &str = "LP1\nF src/a.rs\nR\ntwo\n.\n2\n.\nEND\n";

fn stale(result: &ToolResult, reason: &str) {
    assert_eq!(result.error.map(|code| code.name()), Some("stale_file"), "{}", result.content);
    assert!(result.content.contains(reason), "{}", result.content);
}

fn fine(result: &ToolResult) {
    assert_eq!(result.error, None, "{}", result.content);
}

/// STALE 120, FR-TOOL-PATCH-02a, FR-TOOL-PATCH-02d: unread; the refusal has the fresh lines and the
/// retry succeeds.
#[test]
fn an_unread_file_is_refused_with_its_lines_and_then_patched() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        let refusal = world.patch(PATCH);
        stale(&refusal, "File was not read before patching");
        assert!(refusal.content.contains("2\ttwo\n"), "{}", refusal.content);
        fine(&world.patch(PATCH));
        assert_eq!(world.file(PATH), b"one\n2\nthree\n");
    }
}

/// An event between the read and the patch, and whether it makes the file stale.
struct Meanwhile {
    what: &'static str,
    act: fn(&World),
    answer: Option<&'static str>,
}

const MEANWHILE: &[Meanwhile] = &[
    Meanwhile { what: "120 nothing", act: |_| {}, answer: None },
    Meanwhile {
        what: "121 changed",
        act: |world| world.write(PATH, "one\ntwo\nthree\nfour\n"),
        answer: Some("stale_file"),
    },
    Meanwhile {
        what: "122 changed, same size and times",
        act: |world| {
            let path = world.root.join(PATH);
            let before = std::fs::metadata(&path).unwrap();
            world.write(PATH, "ONE\ntwo\nthree\n");
            set_times(&path, before.mtime(), before.mtime_nsec());
        },
        answer: Some("stale_file"),
    },
    Meanwhile {
        what: "123 touched",
        act: |world| set_times(&world.root.join(PATH), 1_000_000, 5),
        answer: None,
    },
    Meanwhile {
        what: "124 other inode, same bytes",
        act: |world| replace(world, |world| world.write(PATH, "one\ntwo\nthree\n")),
        answer: None,
    },
    Meanwhile {
        what: "124 link to the same bytes inside",
        act: |world| {
            world.write("other", "one\ntwo\nthree\n");
            replace(world, |world| world.link(PATH, "../other"));
        },
        answer: Some("stale_file"),
    },
    Meanwhile {
        what: "124 link outside",
        act: |world| replace(world, |world| world.link(PATH, "../../x/victim")),
        answer: Some("path_outside_sandbox"),
    },
    Meanwhile {
        what: "124 directory",
        act: |world| replace(world, |world| std::fs::create_dir(world.root.join(PATH)).unwrap()),
        answer: Some("io_error"),
    },
    Meanwhile {
        what: "124 FIFO",
        act: |world| {
            let fifo = |world: &World| {
                rustix::fs::mkfifoat(CWD, world.root.join(PATH), Mode::from_raw_mode(0o666))
                    .unwrap();
            };
            replace(world, fifo);
        },
        answer: Some("io_error"),
    },
    Meanwhile {
        what: "125 deleted",
        act: |world| std::fs::remove_file(world.root.join(PATH)).unwrap(),
        answer: Some("patch_failed"),
    },
    Meanwhile {
        what: "132 saved by an editor: written beside and renamed over",
        act: |world| {
            world.write("src/.a.rs.swp", "one\ntwo\nthree, edited\n");
            std::fs::rename(world.root.join("src/.a.rs.swp"), world.root.join(PATH)).unwrap();
        },
        answer: Some("stale_file"),
    },
    Meanwhile {
        what: "121 emptied",
        act: |world| world.write(PATH, ""),
        answer: Some("stale_file"),
    },
];

fn replace(world: &World, new: impl FnOnce(&World)) {
    std::fs::remove_file(world.root.join(PATH)).unwrap();
    new(world);
}

fn set_times(path: &std::path::Path, tv_sec: i64, tv_nsec: i64) {
    let time = Timespec { tv_sec, tv_nsec };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, rustix::fs::AtFlags::empty()).unwrap();
}

/// STALE 120-125, 132, FR-TOOL-PATCH-02b, FR-TOOL-PATCH-02c
#[test]
fn what_happens_between_the_read_and_the_patch() {
    for opening in OPENINGS {
        for meanwhile in MEANWHILE {
            let mut world = World::new(opening);
            fine(&world.read(PATH));
            (meanwhile.act)(&world);
            let result = world.patch(PATCH);
            let told = (meanwhile.what, opening, &result.content);
            assert_eq!(result.error.map(|code| code.name()), meanwhile.answer, "{told:?}");
            if meanwhile.answer.is_none() {
                assert_eq!(world.file(PATH), b"one\n2\nthree\n", "{told:?}");
            }
        }
    }
}

/// STALE 126, FR-TOOL-PATCH-02c: what one conversation read, another did not.
#[test]
fn two_sessions_do_not_share_reads() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        fine(&world.read(PATH));
        let patch = json!({ "patch": PATCH });
        stale(&world.call_as(1, "apply_patch", patch.clone()), "not read");
        fine(&world.call_as(1, "read_file", json!({ "path": PATH })));
        fine(&world.patch(PATCH));
        stale(&world.call_as(1, "apply_patch", patch), "changed since last read");
        fine(&world.patch("LP1\nF src/a.rs\nT\nfour\n.\nEND\n"));
    }
}

/// STALE 127, FG-READMARK, FG-WRITE: our own writes are known.
#[test]
fn an_own_write_refreshes_the_record() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        fine(&world.call("write_file", json!({ "path": "n", "content": "a\n" })));
        fine(&world.patch("LP1\nF n\nR\na\n.\nb\n.\nEND\n"));
        fine(&world.patch("LP1\nF n\nR\nb\n.\nc\n.\nEND\n"));
        assert_eq!(world.file("n"), b"c\n");
        fine(&world.patch("LP1\nF created\nT\nx\n.\nEND\n"));
        fine(&world.patch("LP1\nF created\nT\ny\n.\nEND\n"));
        assert_eq!(world.file("created"), b"x\ny");
    }
}

/// STALE 128, FR-VAL-04a: the canonical path is the key.
#[test]
fn spellings_and_links_share_the_record() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        world.link("alias", "src/a.rs");
        world.link("dir", "src");
        fine(&world.read("./src//a.rs"));
        fine(&world.patch("LP1\nF alias\nR\none\n.\n1\n.\nEND\n"));
        fine(&world.patch("LP1\nF dir/a.rs\nR\ntwo\n.\n2\n.\nEND\n"));
        fine(&world.patch("LP1\nF src/a.rs\nR\nthree\n.\n3\n.\nEND\n"));
        assert_eq!(world.file(PATH), b"1\n2\n3\n");
        let alias = std::fs::symlink_metadata(world.root.join("alias")).unwrap();
        assert!(alias.is_symlink(), "the link stays, its target changes");
    }
}

/// STALE 129, 130: a range licenses a patch, and is remembered as a part.
#[test]
fn a_part_is_remembered_as_a_part() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        fine(&world.call("read_file", json!({ "path": PATH, "start_line": 1, "end_line": 1 })));
        let extent = |world: &World| {
            let path = world.root.join(PATH);
            world.sessions[0].freshness().get(&path).map(|record| record.extent)
        };
        assert_eq!(extent(&world), Some(Extent::Part));
        fine(&world.patch(PATCH));
        assert_eq!(extent(&world), Some(Extent::Part), "an edit does not make it whole");
        fine(&world.read(PATH));
        assert_eq!(extent(&world), Some(Extent::Whole));
    }
}

/// STALE 130, decision 12: a part never licenses replacing the whole.
#[test]
fn a_part_does_not_license_a_whole_write() {
    for opening in OPENINGS {
        let world = World::new(opening);
        let range = jm_tools::ops::read::LineRange { first: 1, last: Some(1) };
        let scope = world.scope(Freshness::default());
        Read { path: PATH.to_owned(), range: Some(range) }.run(&scope).unwrap();
        let mut known = Freshness::default();
        scope.seen.take().into_iter().for_each(|(path, record)| known.record(path, record));
        let edit = Edit::Whole { content: b"all new".to_vec(), existing: Existing::Replace };
        let files = vec![FileEdit { path: PATH.to_owned(), edit }];
        let change = Change::new(files, FreshnessRule::Required);
        let refused = change.run(&world.scope(known), &mut NoLog);
        assert_eq!(refused.map_err(|error| error.name()), Err("stale_file"), "{opening:?}");
        assert_eq!(world.file(PATH), b"one\ntwo\nthree\n");
    }
}

/// STALE 133: the record survives with the session, and is compared with the bytes again.
#[test]
fn a_saved_session_does_not_trust_old_reads() {
    let mut world = World::new(OPENINGS[0]);
    fine(&world.read(PATH));
    let saved = serde_json::to_string(&world.sessions[0]).unwrap();
    world.write(PATH, "something else\n");
    world.sessions[0] = serde_json::from_str(&saved).unwrap();
    stale(&world.patch(PATCH), "changed since last read");
}

/// STALE 131: many editors at once, every one of their lines arrives.
#[test]
fn sixteen_editors_lose_no_update() {
    const EDITORS: usize = 16;
    const EACH: usize = 12;
    for opening in OPENINGS {
        let world = World::with(Setting { disk: quick_disk(), ..Setting::new(opening) });
        world.write("shared", "start\n");
        std::thread::scope(|threads| {
            for editor in 0..EDITORS {
                let world = &world;
                threads.spawn(move || {
                    for number in 0..EACH {
                        add_line(world, &format!("{editor}-{number}"));
                    }
                });
            }
        });
        let text = String::from_utf8(world.file("shared")).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + EDITORS * EACH, "{opening:?}");
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 1 + EDITORS * EACH, "{opening:?}");
        check_no_leftovers(&world);
    }
}

/// Reads, replaces, and starts over when somebody else was faster.
fn add_line(world: &World, line: &str) {
    for _ in 0..10_000 {
        let scope = world.scope(Freshness::default());
        Read { path: "shared".to_owned(), range: None }.run(&scope).unwrap();
        let mut known = Freshness::default();
        scope.seen.take().into_iter().for_each(|(path, record)| known.record(path, record));
        let new = format!("start\n{line}\n").into_bytes();
        let edit = Edit::Text { old: b"start\n".to_vec(), new, which: ReplaceWhich::Only };
        let files = vec![FileEdit { path: "shared".to_owned(), edit }];
        let change = Change::new(files, FreshnessRule::Required);
        match change.run(&world.scope(known), &mut NoLog) {
            Ok(_) => return,
            Err(error) => assert_eq!(error.name(), "stale_file", "{error}"),
        }
    }
    panic!("{line} never got its turn");
}

fn check_no_leftovers(world: &World) {
    let now = crate::tree::tree(&world.root, None);
    assert!(crate::tree::leftovers(&now).is_empty());
}

/// STALE 131, RACE 69: a foreign program writes all the time; either its bytes or ours are there,
/// whole, and ours never replace what it wrote since we read.
#[test]
fn a_foreign_writer_is_not_overwritten() {
    let world = World::with(Setting { disk: quick_disk(), ..Setting::new(Opening::Kernel) });
    world.write("shared", "foreign 0\n");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for number in 0.. {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
                world.write("next", format!("foreign {number}\n"));
                std::fs::rename(world.root.join("next"), world.root.join("shared")).unwrap();
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        let (mut ours, mut theirs) = (0, 0);
        for _ in 0..3000 {
            let edit = Edit::Append { content: b"ours\n".to_vec() };
            let files = vec![FileEdit { path: "shared".to_owned(), edit }];
            let change = Change::new(files, FreshnessRule::NotRequired);
            match change.run(&world.scope(Freshness::default()), &mut NoLog) {
                Ok(_) => ours += 1,
                Err(_) => theirs += 1,
            }
            let text = String::from_utf8(world.file("shared")).unwrap();
            assert!(text.starts_with("foreign ") && text.ends_with('\n'), "torn: {text:?}");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        println!("{ours} of ours, {theirs} gave way");
        assert!(ours > 0, "I10");
    });
    check_no_leftovers(&world);
}
