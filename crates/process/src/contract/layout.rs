//! The file tree that a command sees, as an ordered list of mounts.
//!
//! Law: pure. The parent comes before the child, and of two claims on one path the walls decide:
//! hidden before kept before writable before data before readable before empty.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::confinement_rules::{Access, Walls};
use super::within::is_within;

/// What stands at a path of the command's tree. The order is the priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A directory of its own, empty at first and gone afterwards.
    Scratch,
    Readable,
    /// Readable, and what is written there lands in memory.
    Cached,
    /// Readable, and nothing in it can be executed.
    Data,
    Writable,
    /// As outside, unchangeable.
    Kept,
    /// There, and without content.
    Hidden,
}

/// Download caches: tools write to them while they fetch, and do not work without.
const CACHES: &[&str] = &[
    ".cargo/registry",
    ".cargo/git",
    ".npm/_cacache",
    ".cache/uv",
    ".cache/pip",
    ".cache/yarn",
    ".cache/deno/deps",
    ".cache/deno/gen",
    ".cache/deno/npm",
    ".cache/deno/remote",
    "go/pkg",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/wrapper",
    ".cabal/packages",
    ".nuget/packages",
];

/// Whether this is a download cache.
pub(crate) fn is_cache(path: &Path) -> bool {
    CACHES.iter().any(|name| path.ends_with(name))
}

/// Where every command gets an empty directory of its own.
pub(crate) const SCRATCH: &[&str] = &["/tmp", "/var/tmp"];

/// Mounts in the order in which they are made.
pub(crate) type Layout = Vec<(PathBuf, Place)>;

/// Every mount of the tree besides `/`, `/dev` and `/proc`.
pub(crate) fn layout(walls: &Walls) -> Layout {
    let scratch = SCRATCH.iter().map(PathBuf::from);
    let mut all: Vec<(PathBuf, Place)> = scratch.map(|path| (path, Place::Scratch)).collect();
    all.extend(walls.homes.iter().map(|path| (path.clone(), Place::Scratch)));
    let seen = |path: &PathBuf| match is_cache(path) {
        true => (path.clone(), Place::Cached),
        false => (path.clone(), Place::Readable),
    };
    all.extend(walls.readable.iter().map(seen));
    let root = match walls.access {
        Access::ReadsOnly => Place::Data,
        Access::Full => Place::Writable,
    };
    all.extend(walls.writable.iter().map(|path| (path.clone(), root)));
    all.extend(walls.kept.iter().map(|kept| (kept.path.clone(), Place::Kept)));
    all.extend(walls.hidden.iter().map(|path| (path.clone(), Place::Hidden)));
    all.extend(anchors(walls).into_iter().map(|path| (path, Place::Writable)));
    all.sort_unstable_by(|(one, place), (other, second)| {
        by_names(one, other).then(place.cmp(second))
    });
    let mut layout: Vec<(PathBuf, Place)> = Vec::new();
    // Indices of the mounts around the path at hand, the innermost last: the order of paths is
    // that of a walk, so what is left behind is never met again.
    let mut around: Vec<usize> = Vec::new();
    for (path, place) in all {
        while around.last().is_some_and(|last| !is_within(&path, &layout[*last].0)) {
            around.pop();
        }
        let over = around.last().map(|last| layout[*last].1);
        if let Some(last) = around.last().filter(|last| layout[**last].0 == path) {
            layout[*last].1 = place;
            continue;
        }
        // What lies in an empty directory is not there to be hidden.
        match (place, over) {
            (Place::Hidden | Place::Kept, Some(Place::Scratch) | None) => continue,
            (_, Some(Place::Hidden)) => continue,
            // Nothing changes by mounting a directory where it already is.
            (Place::Readable, Some(Place::Readable)) => continue,
            _ => {}
        }
        around.push(layout.len());
        layout.push((path, place));
    }
    layout
}

/// Directories between a root and a name that is kept or hidden: mounted on themselves they cannot
/// be renamed, and with them what they hold.
pub(crate) fn anchors(walls: &Walls) -> Vec<PathBuf> {
    let held = walls.kept.iter().map(|kept| &kept.path).chain(&walls.hidden);
    let held = held.chain(&walls.absent);
    // Where nothing can be written nothing can be renamed.
    let held = held.filter(|_| walls.access == Access::Full);
    let mut known = HashSet::new();
    let mut anchors = Vec::new();
    for path in held {
        let Some(root) = walls.writable.iter().find(|root| is_within(path, root)) else { continue };
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != root) {
            if !known.insert(folder.as_os_str().as_bytes()) {
                break;
            }
            anchors.push(folder.to_owned());
        }
    }
    anchors
}

/// The order of a walk: a directory before what it holds, and all of that before the next name. As
/// `Path` has it, without taking the paths apart.
fn by_names(one: &Path, other: &Path) -> Ordering {
    let first = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    let [one, other] = [one, other].map(|path| path.as_os_str().as_bytes().iter().map(first));
    one.cmp(other)
}

#[cfg(test)]
mod tests {
    use super::super::confinement_rules::{Backend, Existing, Kept, Network, Resources};
    use super::*;

    fn walls(change: impl FnOnce(&mut Walls)) -> Walls {
        let mut walls = Walls {
            backend: Backend::Namespaces,
            access: Access::Full,
            network: Network::Off,
            writable: vec!["/home/me/w".into()],
            readable: ["/usr", "/home/me/.cargo/bin", "/home/me/.npm/_cacache"]
                .map(Into::into)
                .into(),
            homes: vec!["/home/me".into()],
            kept: Vec::new(),
            hidden: Vec::new(),
            absent: Vec::new(),
            identities: Vec::new(),
            resources: Resources::default(),
        };
        change(&mut walls);
        walls
    }

    fn check(walls: &Walls, expected: &[(&str, Place)]) {
        let found = layout(walls);
        let found: Vec<_> = found.iter().map(|(p, place)| (p.to_str().unwrap(), *place)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn parents_come_first_and_the_home_is_empty() {
        let expected = [
            ("/home/me", Place::Scratch),
            ("/home/me/.cargo/bin", Place::Readable),
            ("/home/me/.npm/_cacache", Place::Cached),
            ("/home/me/w", Place::Writable),
            ("/tmp", Place::Scratch),
            ("/usr", Place::Readable),
            ("/var/tmp", Place::Scratch),
        ];
        check(&walls(|_| {}), &expected);
    }

    #[test]
    fn a_command_that_only_reads_gets_the_workspace_as_data() {
        let expected = [
            ("/home/me", Place::Scratch),
            ("/home/me/w", Place::Data),
            ("/home/me/w/.env", Place::Hidden),
            ("/tmp", Place::Scratch),
            ("/usr", Place::Readable),
            ("/var/tmp", Place::Scratch),
        ];
        let reading = walls(|walls| {
            walls.access = Access::ReadsOnly;
            walls.readable = vec!["/usr".into()];
            walls.hidden = vec!["/home/me/w/.env".into()];
        });
        check(&reading, &expected);
    }

    #[test]
    fn what_is_not_seen_needs_no_hiding() {
        let found = layout(&walls(|walls| {
            walls.hidden = vec!["/home/me/.local/state/journeyman".into(), "/usr/secret".into()];
            walls.hidden.push("/home/me/w/.env".into());
        }));
        let hidden: Vec<_> = found.iter().filter(|(_, place)| *place == Place::Hidden).collect();
        assert_eq!(hidden.len(), 2, "{hidden:?}");
    }

    #[test]
    fn the_stricter_of_two_claims_wins() {
        let both = walls(|walls| {
            walls.writable = vec!["/home/me".into(), "/tmp".into()];
            walls.kept = vec![Kept { path: "/home/me/.git/config".into(), now: Existing::Present }];
            walls.hidden = vec!["/home/me/.git/config".into(), "/home/me/.git/config/x".into()];
        });
        let expected = [
            ("/home/me", Place::Writable),
            ("/home/me/.cargo/bin", Place::Readable),
            ("/home/me/.git", Place::Writable),
            ("/home/me/.git/config", Place::Hidden),
            ("/home/me/.npm/_cacache", Place::Cached),
            ("/tmp", Place::Writable),
            ("/usr", Place::Readable),
            ("/var/tmp", Place::Scratch),
        ];
        check(&both, &expected);
    }
}
