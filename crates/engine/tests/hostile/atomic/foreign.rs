//! Somebody else meddles in the middle of a commit: after all is prepared, or before it is undone.
//!
//! Law: what is foreign stays where it is, whole, and what an error says can be found can be found.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use jm_files::{After, CommitLog, FileChange, Manifest, commit};
use jm_system::fault::fail_at;
use jm_types::{Cancel, ToolError};
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::io::Errno;

use super::{DISKS, world_on};
use crate::tree::{Content, Fact, leftovers, tree};
use crate::world::World;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Prepared,
    /// And then the record cannot be written, so everything is undone.
    Committed,
}

struct Meddle {
    what: &'static str,
    act: fn(&Path),
}

const MEDDLES: &[Meddle] = &[
    Meddle {
        what: "saved over",
        act: |path| replace(path, |path| std::fs::write(path, "foreign\n")),
    },
    Meddle {
        what: "a link outside",
        act: |path| replace(path, |path| symlink("../../x/victim", path)),
    },
    Meddle {
        what: "a FIFO",
        act: |path| replace(path, |path| Ok(mkfifoat(CWD, path, Mode::from_raw_mode(0o600))?)),
    },
    Meddle {
        what: "a directory",
        act: |path| {
            replace(path, |path| {
                std::fs::create_dir(path)?;
                std::fs::write(path.join("theirs"), "foreign\n")
            });
        },
    },
];

/// Something else takes the name; what was there, if anything, is gone.
fn replace(path: &Path, new: impl FnOnce(&Path) -> std::io::Result<()>) {
    std::fs::remove_file(path).unwrap_or_default();
    new(path).unwrap();
}

struct Meddling<'a> {
    when: When,
    act: &'a dyn Fn(),
    is_withdrawn: bool,
}

impl CommitLog for Meddling<'_> {
    fn prepared(&mut self, _: &Manifest) -> Result<(), String> {
        if self.when == When::Prepared {
            (self.act)();
        }
        Ok(())
    }

    fn committed(&mut self) -> Result<(), String> {
        if self.when == When::Committed {
            (self.act)();
        }
        Err("the disk is full".to_owned())
    }

    fn withdrawn(&mut self) {
        self.is_withdrawn = true;
    }
}

/// Changes `d1/f` in the given way and `d2/f`, and meddles with `d1/f`.
fn meddled(world: &World, after: &After, when: When, act: &dyn Fn()) -> ToolError {
    let change = |path: &str, after: After| FileChange {
        path: world.workspace.sandbox.resolve(path).unwrap(),
        before: Some(Arc::new(world.file(path))),
        after,
    };
    let changes =
        [change("d1/f", after.clone()), change("d2/f", After::content(b"new\n".to_vec()))];
    let mut log = Meddling { when, act, is_withdrawn: false };
    let done = commit(&world.workspace.sandbox, &changes, &Cancel::new(), &mut log);
    let error = done.unwrap_err();
    let is_whole = !error.hints.iter().any(|hint| hint.contains("could not be put back"));
    assert_eq!(log.is_withdrawn, is_whole, "{error:?}");
    error
}

fn check(world: &World, error: &ToolError, foreign: &[(String, Content)], told: &str) {
    let now = tree(&world.root, None);
    let content = |path: &str| now.get(Path::new(path)).map(|fact: &Fact| fact.content.clone());
    for (path, expected) in foreign {
        assert_eq!(content(path).as_ref(), Some(expected), "{told}: {path}");
    }
    let old = Content::Bytes(b"old 2\n".to_vec());
    assert_eq!(content("d2/f"), Some(old), "{told}: the other file");
    let named = |name: &str| error.hints.iter().any(|hint| hint.contains(name));
    for left in leftovers(&now) {
        let name = left.file_name().unwrap().to_str().unwrap();
        assert!(named(name), "{told}: {name} was left and nobody said so: {error:?}");
    }
    for hint in error.hints.iter().filter(|hint| hint.contains("its old content is in ")) {
        let name = hint.rsplit("its old content is in ").next().unwrap();
        assert!(world.root.join("d1").join(name).exists(), "{told}: not there: {hint}");
    }
}

/// RACE 69, ATOM 134-144, FR-TOOL-PATCH-01a: what took the name stays, the other file is as it was.
#[test]
fn what_is_foreign_stays() {
    let mut wrong = Vec::new();
    for disk in DISKS {
        for (kind, after) in
            [("changed", After::content(b"new\n".to_vec())), ("removed", After::Absent)]
        {
            for (when, meddle) in
                MEDDLES.iter().flat_map(|m| [(When::Prepared, m), (When::Committed, m)])
            {
                let told = format!("{disk:?}, {kind}, {when:?}, {}", meddle.what);
                let world = world_on(disk);
                let act = || (meddle.act)(&world.root.join("d1/f"));
                let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let error = meddled(&world, &after, when, &act);
                    check(&world, &error, &expected(meddle), &told);
                }));
                if let Err(why) = caught {
                    wrong.push(why.downcast_ref::<String>().cloned().unwrap_or(told));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The content of `d1/f` in the end: what the meddler put there.
fn expected(meddle: &Meddle) -> Vec<(String, Content)> {
    let scratch = tempfile::tempdir().unwrap();
    (meddle.act)(&scratch.path().join("f"));
    let planted = tree(&scratch.path().join("f"), None);
    let at = |path: &Path| {
        Path::new("d1/f").join(path).to_str().unwrap().trim_end_matches('/').to_owned()
    };
    planted.iter().map(|(path, fact)| (at(path), fact.content.clone())).collect()
}

/// RACE 69: a name that somebody deleted meanwhile.
#[test]
fn a_file_that_is_deleted_meanwhile() {
    for disk in DISKS {
        for when in [When::Prepared, When::Committed] {
            let world = world_on(disk);
            let act = || std::fs::remove_file(world.root.join("d1/f")).unwrap();
            let after = After::content(b"new\n".to_vec());
            let error = meddled(&world, &after, when, &act);
            check(&world, &error, &[], &format!("{disk:?}, {when:?}"));
        }
    }
}

/// FR-TOOL-PATCH-01a: removing is part of it, and is undone with it.
#[test]
fn a_removal_is_undone() {
    for disk in DISKS {
        let world = world_on(disk);
        let before = super::now(&world);
        let error = meddled(&world, &After::Absent, When::Committed, &|| {});
        assert!(error.to_string().contains("could not be recorded"), "{error}");
        super::unchanged(&world, &before, &format!("{disk:?}"));
    }
}

/// ATOM 145: what was taken out and cannot be put back is not thrown away, and nobody claims that the
/// change never was.
#[test]
fn what_cannot_be_put_back_is_kept() {
    for disk in DISKS {
        for after in [After::content(b"new\n".to_vec()), After::Absent] {
            let world = world_on(disk);
            fail_at("commit.compare", 1, Errno::IO);
            fail_at("commit.back", 1, Errno::IO);
            let error = meddled(&world, &after, When::Committed, &|| {});
            disk.insert();
            let told = format!("{disk:?}, {after:?}: {error:?}");
            assert!(
                error.hints.iter().any(|hint| hint.contains("could not be put back")),
                "{told}"
            );
            let now = tree(&world.root, None);
            let kept: Vec<_> =
                leftovers(&now).into_iter().map(|path| now[path].content.clone()).collect();
            assert_eq!(kept, [Content::Bytes(b"old 1\n".to_vec())], "{told}");
            // No clean-up takes it for a leftover, and whoever looks for it knows where.
            let name = leftovers(&now)[0].file_name().unwrap().to_str().unwrap();
            assert!(name.ends_with(".saved"), "{told}");
            assert!(error.hints.iter().any(|hint| hint.ends_with(name)), "{told}");
        }
    }
}
