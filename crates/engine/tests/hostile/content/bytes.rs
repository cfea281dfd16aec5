//! Properties over arbitrary bytes, through every kind of edit.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use jm_files::NoLog;
use jm_files::text::{ReplaceWhich, Text};
use jm_tools::ops::change::lp1;
use jm_tools::ops::change::{Change, Edit, Existing, FileEdit, FreshnessRule};
use jm_types::Freshness;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use rustix::fs::{Gid, Uid, XattrFlags, getxattr, setxattr};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use serde_json::json;

use super::{PATH, edited, world};
use crate::world::{OPENINGS, World};

/// Pieces that files are made of, ordinary and not.
const PIECES: &[&[u8]] = &[
    b"a",
    b"bc ",
    b"\t",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r\n",
    b"\r",
    "\u{e9}".as_bytes(),
    b"\xe9",
    b"\xff",
    b"\0",
    "\u{2028}".as_bytes(),
    "\u{85}".as_bytes(),
    b"\x0b",
    b"\x0c",
    "\u{1f600}".as_bytes(),
    b"$&",
    b"\\1",
    "\u{201c}q\u{201d}".as_bytes(),
    b".",
    b"..",
    b"END",
];

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = select(PIECES);
    let body = prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat());
    (any::<bool>(), body).prop_map(|(mark, body)| {
        let mark: &[u8] = if mark { b"\xEF\xBB\xBF" } else { b"" };
        [mark, &body].concat()
    })
}

/// Text that means something to somebody else's replacement function.
fn replacement() -> impl Strategy<Value = Vec<u8>> {
    let texts: &[&[u8]] = &[
        b"$&",
        b"$1",
        b"\\1",
        b"\\0",
        b"${x}",
        b"%s",
        b"&",
        b"$`",
        b"\\n",
        b"{}",
        b"",
        b"plain",
        b"two\nlines",
        b"\xff\0",
    ];
    select(texts.iter().map(|text| text.to_vec()).collect::<Vec<_>>())
}

fn check<S: Strategy>(cases: u32, strategy: S, property: impl Fn(&World, S::Value)) {
    for opening in OPENINGS {
        let world = world(opening);
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        TestRunner::new(config)
            .run(&strategy, |value| {
                property(&world, value);
                Ok(())
            })
            .unwrap();
    }
}

/// CONT 97-102, 118, IK-EDIT: appending adds, replacing the whole replaces.
#[test]
fn appended_and_replaced_bytes_are_exact() {
    check(150, (pieces(), pieces()), |world, (before, new)| {
        let after = edited(world, &before, Edit::Append { content: new.clone() }).unwrap();
        assert_eq!(after, [before.clone(), new.clone()].concat());
        let whole = Edit::Whole { content: new.clone(), existing: Existing::Replace };
        assert_eq!(edited(world, &before, whole).unwrap(), new);
    });
}

const NEEDLE: &[u8] = b"<(ne.*dle)+$>";

/// CONT 97-104, 107, decision 19: exact text; the rest is identical, the new text is literal.
#[test]
fn replaced_text_is_exact_and_literal() {
    check(250, (pieces(), pieces(), replacement()), |world, (prefix, suffix, new)| {
        let before = [&prefix, NEEDLE, &suffix].concat();
        let which = ReplaceWhich::Only;
        let edit = Edit::Text { old: NEEDLE.to_vec(), new: new.clone(), which };
        let after = edited(world, &before, edit).unwrap();
        assert_eq!(after, [prefix, new, suffix].concat());
    });
}

/// CONT 97-102, 107, FJ-EDIT: whole lines; everything before the first and after the last stays.
#[test]
fn replaced_lines_leave_their_neighbours_alone() {
    let range = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    check(250, (pieces(), range, replacement()), |world, (before, (one, other), new)| {
        let text = Text::new(before.clone());
        if text.line_count() == 0 || new.is_empty() {
            return;
        }
        let (one, other) = (one.index(text.line_count()), other.index(text.line_count()));
        let (first, last) = (one.min(other), one.max(other));
        let start = text.lines()[first].start;
        let end = text.lines().get(last + 1).map_or(before.len(), |line| line.start);
        let edit = Edit::Lines { first: first + 1, last: last + 1, new, expected: None };
        let after = edited(world, &before, edit).unwrap();
        assert!(after.starts_with(&before[..start]), "{before:?} became {after:?}");
        assert!(after.ends_with(&before[end..]), "{before:?} became {after:?}");
        let ended = before.ends_with(b"\n");
        assert_eq!(after.ends_with(b"\n"), ended, "102: {before:?} became {after:?}");
    });
}

/// CONT 97-102, FR-TOOL-PATCH-01: a patch that applies leaves the rest alone, one that does not
/// changes nothing.
#[test]
fn a_patched_line_leaves_the_rest_alone() {
    let line = select(&["A", "$&", "\\1", "..", "%s", "END", "F x"][..]);
    check(250, (pieces(), pieces(), line), |world, (prefix, suffix, new)| {
        let lines = [&prefix[..], b"\n"].concat();
        let prefix = if prefix.is_empty() || prefix.ends_with(b"\n") { prefix } else { lines };
        let before = [&prefix, b"the one line".as_slice(), b"\n", &suffix].concat();
        let stuffed = if new.starts_with('.') { format!(".{new}") } else { new.to_owned() };
        let patch = format!("LP1\nF {PATH}\nR\nthe one line\n.\n{stuffed}\n.\nEND\n");
        let section = lp1::parse(&patch).unwrap().sections.remove(0);
        match edited(world, &before, Edit::Patch(section)) {
            Ok(after) => assert_eq!(after, [&prefix, new.as_bytes(), b"\n", &suffix].concat()),
            Err(error) => assert_eq!(error.name(), "patch_failed", "{error}"),
        }
    });
}

/// CONT 105, 106, 108: how often the text is there decides.
#[test]
fn text_that_is_not_there_once() {
    let cases: &[(&str, &str, &str, ReplaceWhich, Option<&str>)] = &[
        ("105 none", "abc", "x", ReplaceWhich::Only, None),
        ("105 one", "abc", "b", ReplaceWhich::Only, Some("aNc")),
        ("105 two", "abab", "ab", ReplaceWhich::Only, None),
        ("105 all", "abab", "ab", ReplaceWhich::All, Some("NN")),
        ("105 overlapping", "aaa", "aa", ReplaceWhich::All, Some("Na")),
        ("105 overlapping, only", "aaa", "aa", ReplaceWhich::Only, None),
        ("105 overlapping nothing", "aab", "ab", ReplaceWhich::Only, Some("aN")),
        ("106 empty", "abc", "", ReplaceWhich::Only, None),
        ("106 the same", "abN", "N", ReplaceWhich::Only, None),
        ("108 other blanks", "a\tb", "a b", ReplaceWhich::Only, None),
        ("107 curly quotes", "\u{201c}a\u{201d}", "\"a\"", ReplaceWhich::Only, None),
        ("107 decomposed", "e\u{301}", "\u{e9}", ReplaceWhich::Only, None),
        ("97 other endings", "a\r\nb", "a\nb", ReplaceWhich::Only, None),
        ("104 metacharacters", "a.c abc", "a.c", ReplaceWhich::Only, Some("N abc")),
    ];
    for opening in OPENINGS {
        let world = world(opening);
        for (what, before, old, which, after) in cases {
            let edit =
                Edit::Text { old: old.as_bytes().to_vec(), new: b"N".to_vec(), which: *which };
            let outcome = edited(&world, before.as_bytes(), edit);
            let outcome = outcome.ok().map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(outcome.as_deref(), *after, "{what}");
        }
    }
}

/// CONT 110: lines that are not there.
#[test]
fn lines_out_of_range_are_refused() {
    let world = world(OPENINGS[0]);
    for (first, last) in [(0, 1), (2, 1), (4, 4), (1, 4), (usize::MAX, usize::MAX), (5, 4)] {
        let edit = Edit::Lines { first, last, new: b"x".to_vec(), expected: None };
        assert!(edited(&world, b"1\n2\n3\n", edit).is_err(), "{first}-{last}");
    }
}

/// CONT 109, IK-EDIT: permissions, owner and attributes are kept.
#[test]
fn what_is_not_content_is_kept() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        for mode in [0o755, 0o600, 0o444, 0o666, 0o2755] {
            world.write("f", "a\n");
            let path = world.root.join("f");
            if jm_testing::has("superuser") {
                chown(&path, Some(1234), Some(4321)).unwrap();
            }
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let tagged = jm_testing::has("attributes");
            if tagged {
                setxattr(&path, "user.tag", b"kept", XattrFlags::empty()).unwrap();
            }
            let before = std::fs::metadata(&path).unwrap();
            world.read("f");
            let result = world.patch("LP1\nF f\nT\nb\n.\nEND\n");
            assert_eq!(result.error, None, "{mode:o}: {}", result.content);
            let after = std::fs::metadata(&path).unwrap();
            assert_eq!(world.file("f"), b"a\nb\n");
            assert_eq!(after.mode() & 0o7777, mode, "{mode:o}");
            assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
            let mut value = [0; 16];
            if tagged {
                let length = getxattr(&path, "user.tag", &mut value[..]).unwrap();
                assert_eq!(&value[..length], b"kept");
            }
            std::fs::remove_file(&path).unwrap();
        }
    }
}

/// CONT 109: what a directory gives to every new file is not given to one that was there without it.
#[test]
fn an_edited_file_takes_no_rights_from_its_directory() {
    // One user of the list may read and write: version 2, then tag, rights and id of each entry.
    let entries: [(u16, u16, u32); 5] =
        [(1, 6, !0), (2, 6, 1234), (4, 4, !0), (16, 6, !0), (32, 0, !0)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    for opening in OPENINGS {
        let mut world = World::new(opening);
        world.write("shared/f", "a\n");
        let (directory, path) = (world.root.join("shared"), world.root.join("shared/f"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        if !jm_testing::has("access_lists") {
            return;
        }
        setxattr(&directory, "system.posix_acl_default", &list, XattrFlags::empty()).unwrap();
        world.read("shared/f");
        let result = world.patch("LP1\nF shared/f\nT\nb\n.\nEND\n");
        assert_eq!(result.content, "modified: shared/f");
        let mut value = [0; 256];
        let left = getxattr(&path, "system.posix_acl_access", &mut value[..]);
        assert_eq!(left, Err(rustix::io::Errno::NODATA), "{opening:?}");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
    }
}

/// CONT 109: a file that cannot be given back to its owner or its group gives nobody more, and goes back
/// to the one of them that is ours too.
#[test]
fn an_edited_file_of_somebody_else_gives_nobody_more() {
    if !jm_testing::has("superuser") {
        return;
    }
    const OWNER: &str = "the owner could not be kept";
    const GROUP: &str = "the group could not be kept";
    const STRANGERS: &[u32] = &[];
    /// Its owner, our groups, its permission bits, what is left of them, and what is said.
    type Case = (u32, &'static [u32], u32, u32, &'static [&'static str]);
    let cases: [Case; 6] = [
        (1234, STRANGERS, 0o4755, 0o755, &[OWNER, GROUP]),
        (1234, STRANGERS, 0o2775, 0o755, &[OWNER, GROUP]),
        (1234, STRANGERS, 0o664, 0o644, &[OWNER, GROUP]),
        (1234, &[4321], 0o640, 0o640, &[OWNER]),
        (1234, &[4321], 0o6755, 0o2755, &[OWNER]),
        (NOBODY, STRANGERS, 0o6775, 0o4755, &[GROUP]),
    ];
    for (opening, case) in OPENINGS.iter().flat_map(|opening| cases.map(|case| (opening, case))) {
        let (uid, groups, mode, kept, notes) = case;
        let world = world(*opening);
        world.write(PATH, "a\n");
        let path = world.root.join(PATH);
        chown(&path, Some(uid), Some(4321)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        for directory in [&world.base, &world.root] {
            let all = std::fs::Permissions::from_mode(0o777);
            std::fs::set_permissions(directory, all).unwrap();
        }
        let told = std::thread::scope(|threads| {
            threads.spawn(|| appended_by_nobody(&world, groups)).join().unwrap()
        });
        let after = std::fs::metadata(&path).unwrap();
        assert_eq!(told, notes, "{opening:?}, {mode:o}");
        assert_eq!(after.mode() & 0o7777, kept, "{opening:?}, {mode:o}");
        assert_eq!(after.gid() == 4321, !groups.is_empty(), "{opening:?}, {mode:o}");
        assert_eq!(world.file(PATH), b"a\nb\n");
    }
}

const NOBODY: u32 = 65534;

/// On this thread, which loses its privileges. What could not be kept.
fn appended_by_nobody(world: &World, groups: &[u32]) -> Vec<String> {
    let groups: Vec<_> = groups.iter().map(|group| Gid::from_raw(*group)).collect();
    set_thread_groups(&groups).unwrap();
    let nobody = (Some(Gid::from_raw(NOBODY)), Some(Uid::from_raw(NOBODY)));
    set_thread_res_gid(nobody.0, nobody.0, nobody.0).unwrap();
    set_thread_res_uid(nobody.1, nobody.1, nobody.1).unwrap();
    let edit = Edit::Append { content: b"b\n".to_vec() };
    let files = vec![FileEdit { path: PATH.to_owned(), edit }];
    let change = Change::new(files, FreshnessRule::NotRequired);
    let mut done = change.run(&world.scope(Freshness::default()), &mut NoLog).unwrap();
    done.remove(0).notes
}

/// CONT 109: a new file in a set-group-id directory gets the directory's group, like any other.
#[test]
fn a_new_file_takes_what_its_directory_gives() {
    for opening in OPENINGS {
        let mut world = World::new(opening);
        let directory = world.root.join("shared");
        std::fs::create_dir(&directory).unwrap();
        if jm_testing::has("superuser") {
            chown(&directory, None, Some(4321)).unwrap();
        }
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o2775)).unwrap();
        let ordinary = directory.join("ordinary");
        std::fs::write(&ordinary, "").unwrap();
        world.call("write_file", json!({ "path": "shared/f", "content": "x" }));
        let (ours, theirs) =
            (std::fs::metadata(directory.join("f")).unwrap(), std::fs::metadata(ordinary).unwrap());
        assert_eq!((ours.gid(), ours.mode()), (theirs.gid(), theirs.mode()));
    }
}
