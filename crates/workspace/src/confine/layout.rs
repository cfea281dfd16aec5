//! The file tree that a command sees, as an ordered list of mounts.
//!
//! Law: pure. The parent comes before the child, and of two claims on one path the walls decide:
//! hidden before kept before writable before readable before empty.

use std::path::{Path, PathBuf};

use super::toolchains::is_cache;
use super::walls::Walls;

/// What stands at a path of the command's tree. The order is the priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A directory of its own, empty at first and gone afterwards.
    Scratch,
    Readable,
    /// Readable, and what is written there lands in memory.
    Cached,
    Writable,
    /// As outside, unchangeable.
    Kept,
    /// There, and without content.
    Hidden,
}

/// Where every command gets an empty directory of its own.
pub(crate) const SCRATCH: &[&str] = &["/tmp", "/var/tmp"];

/// Every mount of the tree besides `/`, `/dev` and `/proc`.
pub(crate) fn layout(walls: &Walls) -> Vec<(PathBuf, Place)> {
    let scratch = SCRATCH.iter().map(PathBuf::from);
    let mut all: Vec<(PathBuf, Place)> = scratch.map(|path| (path, Place::Scratch)).collect();
    all.extend(walls.homes.iter().map(|path| (path.clone(), Place::Scratch)));
    let seen = |path: &PathBuf| match is_cache(path) {
        true => (path.clone(), Place::Cached),
        false => (path.clone(), Place::Readable),
    };
    all.extend(walls.readable.iter().map(seen));
    all.extend(walls.writable.iter().map(|path| (path.clone(), Place::Writable)));
    all.extend(walls.kept.iter().map(|kept| (kept.path.clone(), Place::Kept)));
    all.extend(walls.hidden.iter().map(|path| (path.clone(), Place::Hidden)));
    all.sort();
    let mut layout: Vec<(PathBuf, Place)> = Vec::new();
    for (path, place) in all {
        if let Some(same) = layout.iter_mut().find(|(known, _)| *known == path) {
            same.1 = place;
            continue;
        }
        // What lies in an empty directory is not there to be hidden.
        let over = covering(&layout, &path);
        match (place, over) {
            (Place::Hidden | Place::Kept, Some(Place::Scratch) | None) => {}
            (_, Some(Place::Hidden)) => {}
            // Nothing changes by mounting a directory where it already is.
            (Place::Readable, Some(Place::Readable)) => {}
            _ => layout.push((path, place)),
        }
    }
    layout
}

/// What the innermost mount above a path is.
fn covering(layout: &[(PathBuf, Place)], path: &Path) -> Option<Place> {
    let above = layout.iter().filter(|(known, _)| path.starts_with(known));
    above.max_by_key(|(known, _)| known.as_os_str().len()).map(|(_, place)| *place)
}

#[cfg(test)]
mod tests {
    use super::super::walls::{Backend, Existing, Kept, Network, Resources};
    use super::*;

    fn walls(change: impl FnOnce(&mut Walls)) -> Walls {
        let mut walls = Walls {
            backend: Backend::Namespaces,
            network: Network::Off,
            writable: vec!["/home/me/w".into()],
            readable: ["/usr", "/home/me/.cargo/bin", "/home/me/.npm/_cacache"]
                .map(Into::into)
                .into(),
            homes: vec!["/home/me".into()],
            kept: Vec::new(),
            hidden: Vec::new(),
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
            ("/home/me/.git/config", Place::Hidden),
            ("/home/me/.npm/_cacache", Place::Cached),
            ("/tmp", Place::Writable),
            ("/usr", Place::Readable),
            ("/var/tmp", Place::Scratch),
        ];
        check(&both, &expected);
    }
}
