//! Cases that need more than a row: hard links, listings, twins, rights.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use jm_engine::{ApprovalDecision, Pause};
use jm_files::NoLog;
use jm_tools::ops::change::{Change, Edit, Existing, FileEdit, FreshnessRule};
use jm_tools::ops::read::Read;
use jm_types::Freshness;
use jm_types::ToolCall;
use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::{Value, json};

use super::appending;
use crate::tree::{difference, settled, tree};
use crate::world::{
    NOT_HANGING, OPENINGS, Setting, World, forget_peak_memory, in_own_process, is_root,
    peak_memory, quick_disk,
};

fn listing(world: &mut World, args: Value) -> Value {
    let result = world.call("list_directory", args);
    assert_eq!(result.error, None, "{}", result.content);
    serde_json::from_str(&result.content).unwrap()
}

fn names(listing: &Value) -> Vec<String> {
    let entries = listing["entries"].as_array().unwrap();
    entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}

/// HARD 53, 54: a patch breaks the link instead of writing through it, and says so.
#[test]
fn a_hard_link_of_a_file_outside() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        world.breaks_links = true;
        std::fs::hard_link(world.outside.join("victim"), world.root.join("hard")).unwrap();
        assert_eq!(world.read("hard").content, "victim\n");
        let result = world.patch(&appending("hard"));
        assert_eq!(result.error, None, "{}", result.content);
        assert!(result.content.contains("hard links"), "54: {}", result.content);
        assert_eq!(std::fs::read(world.outside.join("victim")).unwrap(), b"victim\n");
    }
}

/// SYM 44, 45, FR-TOOL-LIST-01: links are shown as links, not entered, and recursion ends.
#[test]
fn a_listing_shows_links_and_does_not_follow_them() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        world.link("a/self", ".");
        world.link("a/up", "..");
        world.link("out", "{X}");
        world.link("far", "../x");
        let args = json!({ "path": ".", "recursive": true, "max_depth": 50 });
        let listing = listing(&mut world, args);
        let expected = ["a", "a/b", "a/b/c.txt", "a/self", "a/up", "far", "out", "src", "src/a.rs"];
        assert_eq!(names(&listing), expected);
        let kinds = listing["entries"].as_array().unwrap().iter().map(|entry| &entry["type"]);
        assert_eq!(kinds.filter(|kind| **kind == "symlink").count(), 4);
    }
}

/// NAME 84, 85, 89: one entry a name, harmless to show, also where the name is no text.
#[test]
fn a_listing_of_names_that_are_hard_to_show() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        let hostile: &[&[u8]] = &[
            b"new\nline",
            b"esc\x1b[2J",
            b"osc\x1b]0;t\x07",
            b"del\x7f",
            "c1\u{9b}31m".as_bytes(),
            "rlo\u{202e}txt".as_bytes(),
            "tag\u{e0041}".as_bytes(),
            b"bad\xff\xfe",
            b"cut\xe2\x82",
        ];
        for name in hostile {
            std::fs::write(world.root.join("a/b").join(OsStr::from_bytes(name)), "x").unwrap();
        }
        std::fs::create_dir(world.root.join("a").join(OsStr::from_bytes(b"d\xff"))).unwrap();
        let listing = listing(&mut world, json!({ "path": "a", "recursive": true }));
        assert_eq!(names(&listing).len(), hostile.len() + 3);
        let shown = jm_types::text::sanitize(&listing.to_string());
        assert!(jm_types::text::is_terminal_safe(&shown));
    }
}

/// SPEC 72, NAME 93, 94: many entries, deep trees and FIFOs; capped, in time, no overflow.
#[test]
fn a_listing_of_very_much() {
    let mut world = World::with(Setting { disk: quick_disk(), ..Setting::new(OPENINGS[0]) });
    let many = world.root.join("many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..100_000 {
        std::fs::File::create(many.join(format!("{number}"))).unwrap();
    }
    let call = ToolCall::new("c", "list_directory", &json!({ "path": "many" }));
    world.sessions[0].submit(vec![call]).unwrap();
    let began = Instant::now();
    assert_eq!(world.run(0), Pause::Finished);
    assert!(began.elapsed() < NOT_HANGING, "{:?}", began.elapsed());
    let told = world.sessions[0].results().unwrap()[0].content.clone();
    assert!(told.contains("\"truncated\":true"), "{told:.200}");
    std::fs::remove_dir_all(&many).unwrap();
    let mut deep = World::new(OPENINGS[1]);
    let bottom = "d/".repeat(999);
    std::fs::create_dir_all(deep.root.join(&bottom)).unwrap();
    let args = json!({ "path": "d", "recursive": true, "max_depth": 1000, "max_entries": 1000 });
    let listing = listing(&mut deep, args);
    assert_eq!(listing["truncated"], true, "998 long paths do not fit");
}

/// NAME 93: what is capped says so.
#[test]
fn a_capped_listing_says_so() {
    let mut world = World::new(OPENINGS[0]);
    for number in 0..1000 {
        world.write(&format!("many/{number:04}"), "");
    }
    let listing = listing(&mut world, json!({ "path": "many" }));
    assert_eq!(listing["returned"], 200);
    assert_eq!(listing["truncated"], true);
    assert_eq!(listing["truncated_reason"], "max_entries");
}

/// NAME 88: of two names that look the same, only the named one changes.
#[test]
fn twins_are_two_files() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        for twins in [["caf\u{e9}", "cafe\u{301}"], ["Readme", "README"], ["o", "\u{43e}"]] {
            twins.iter().for_each(|name| world.write(name, "same\n"));
            assert_eq!(world.read(twins[0]).error, None);
            let result = world.patch(&appending(twins[0]));
            assert_eq!(result.error, None, "{}", result.content);
            assert_eq!(world.file(twins[1]), b"same\n");
            assert_ne!(world.file(twins[0]), b"same\n");
            let result = world.patch(&appending(twins[1]));
            assert_eq!(
                result.error.map(|code| code.name()),
                Some("stale_file"),
                "one read is not two"
            );
        }
    }
}

/// NAME 95, 96, PROT 248, decision 26: every spelling of a protected name asks, in every mode.
#[test]
fn a_protected_name_asks_a_person() {
    let git =
        [".git", ".GIT", ".g\u{200c}it", "GIT~1", ".git.", ".git ", ".git::$INDEX_ALLOCATION"];
    let hooks = git.iter().map(|name| format!("{name}/hooks/pre-commit"));
    let others =
        [".bashrc", ".envrc", ".vscode/tasks.json", "sub/.mcp.json", ".gitmodules", ".CLAUDE/x"];
    for path in hooks.chain(others.map(str::to_owned)) {
        let mut world = World::new(OPENINGS[0]);
        let args = json!({ "path": path, "content": "x" });
        let moment = world.moment();
        world.sessions[0].submit(vec![ToolCall::new("c", "write_file", &args)]).unwrap();
        assert_eq!(world.run(0), Pause::NeedsApproval, "{path}");
        let warned = world.sessions[0]
            .batch()
            .pending()
            .any(|request| request.warnings.iter().any(|warning| warning.contains("protected")));
        assert!(warned, "{path}");
        world.sessions[0].decide(&ApprovalDecision::DenyAll).unwrap();
        assert_eq!(world.run(0), Pause::Finished);
        let results: Vec<_> = world.sessions[0].results().unwrap().into_iter().cloned().collect();
        assert_eq!(results[0].error.map(|code| code.name()), Some("denied_by_person"));
        world.check(&moment, &[ToolCall::new("c", "write_file", &args)], &results);
    }
}

/// PROT 249, decision 26: our own files are never written, whoever approves.
#[test]
fn our_own_state_is_never_written() {
    let mut world = World::new(OPENINGS[0]);
    world.link("alias", ".journeyman");
    std::fs::create_dir(world.root.join(".journeyman")).unwrap();
    for path in [".journeyman/config.toml", ".Journeyman/x", "alias/config.toml"] {
        let result = world.call("write_file", json!({ "path": path, "content": "x" }));
        assert_eq!(result.error.map(|code| code.name()), Some("protected_path"), "{path}");
        let result = world.patch(&appending(path));
        assert_eq!(result.error.map(|code| code.name()), Some("protected_path"), "{path}");
    }
}

/// SPEC 80: without rights there is an error, never a panic, and nothing changes.
#[test]
fn rights_are_respected_by_a_thread_without_privileges() {
    for opening in OPENINGS {
        let world = World::new(opening);
        world.write("closed/f", "x");
        world.write("unreadable", "x");
        world.write("sealed/f", "x");
        let set = |path: &std::path::Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&world.base, 0o755);
        set(&world.root.join("closed"), 0o000);
        set(&world.root.join("unreadable"), 0o000);
        set(&world.root.join("sealed"), 0o555);
        let before = tree(&world.root, None);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                drop_privileges();
                for path in ["closed/f", "closed/new", "unreadable"] {
                    let read = Read { path: path.to_owned(), range: None };
                    let error = read.run(&world.scope(Freshness::default())).unwrap_err();
                    assert_eq!(error.name(), "io_error", "{path}: {error}");
                }
                for path in ["closed/new", "sealed/new", "sealed/n/m/new"] {
                    let error = write(path).run(&world.scope(Freshness::default()), &mut NoLog);
                    assert_eq!(error.unwrap_err().name(), "io_error", "{path}");
                }
            });
        });
        assert_eq!(difference(&before, &tree(&world.root, None)), "", "I9");
        set(&world.root.join("closed"), 0o755);
    }
}

fn write(path: &str) -> Change {
    let edit = Edit::Whole { content: b"new".to_vec(), existing: Existing::Refuse("") };
    let files = vec![FileEdit { path: path.to_owned(), edit }];
    Change::new(files, FreshnessRule::NotRequired)
}

/// Linux keeps user ids by thread, so only this one loses them.
fn drop_privileges() {
    if is_root() {
        let nobody = Some(rustix::fs::Uid::from_raw(65534));
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
    }
}

/// SPEC 81: an immutable file is an error, and no temporary file stays.
#[test]
fn an_immutable_file() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        let file = std::fs::File::open(world.root.join("src/a.rs")).unwrap();
        if !jm_testing::has("immutable") {
            return;
        }
        let flags = ioctl_getflags(&file).unwrap();
        ioctl_setflags(&file, flags | IFlags::IMMUTABLE).unwrap();
        assert_eq!(world.read("src/a.rs").error, None);
        let before = settled(tree(&world.root, None));
        let scope = world.scope((**world.sessions[0].freshness()).clone());
        let edit = Edit::Append { content: b"x".to_vec() };
        let files = vec![FileEdit { path: "src/a.rs".to_owned(), edit }];
        let change = Change::new(files, FreshnessRule::Required);
        let outcome = change.run(&scope, &mut NoLog);
        ioctl_setflags(&file, flags).unwrap();
        assert_eq!(outcome.unwrap_err().name(), "io_error");
        assert_eq!(difference(&before, &settled(tree(&world.root, None))), "");
    }
}

/// ATOM 149, I9: running out of descriptors half way down leaves no directory behind.
#[test]
fn too_few_descriptors_for_a_deep_path() {
    in_own_process("paths::single::too_few_descriptors_for_a_deep_path", || {
        // Both limits: a commit takes as many as it is allowed.
        let few = Some(48);
        setrlimit(Resource::Nofile, Rlimit { current: few, maximum: few }).unwrap();
        for opening in OPENINGS {
            let world = World::new(opening);
            let before = settled(tree(&world.root, None));
            let path = format!("{}f", "d/".repeat(200));
            let outcome = write(&path).run(&world.scope(Freshness::default()), &mut NoLog);
            assert_eq!(outcome.unwrap_err().name(), "io_error", "{opening:?}");
            let changed = difference(&before, &settled(tree(&world.root, None)));
            assert_eq!(changed, "", "I9, {opening:?}");
        }
    });
}

/// SPEC 77, I7: however large a file says it is, a call does not take its size in memory.
#[test]
fn a_sparse_terabyte_costs_little_memory() {
    in_own_process("paths::single::a_sparse_terabyte_costs_little_memory", || {
        for opening in OPENINGS {
            let mut world = World::new(opening);
            std::fs::File::create(world.root.join("huge")).unwrap().set_len(1 << 40).unwrap();
            for tool in super::TOOLS {
                forget_peak_memory();
                let before = peak_memory();
                world.batch(vec![super::call(tool, "huge")]);
                let grown = peak_memory().saturating_sub(before) >> 20;
                assert!(grown < 64, "{tool}, {opening:?}: {grown} MB");
            }
        }
    });
}

/// I7, SPEC 77: nor does a file of very many lines take many times its size.
#[test]
fn millions_of_lines_cost_little_memory() {
    in_own_process("paths::single::millions_of_lines_cost_little_memory", || {
        let mut world = World::new(OPENINGS[0]);
        world.write("blank", vec![b'\n'; 16 << 20]);
        forget_peak_memory();
        let before = peak_memory();
        let result = world.patch(&appending("blank"));
        let grown = peak_memory().saturating_sub(before) >> 20;
        assert_eq!(
            result.error.map(|code| code.name()),
            Some("limits_exceeded"),
            "{}",
            result.content
        );
        assert!(grown < 64, "{grown} MB");
    });
}
