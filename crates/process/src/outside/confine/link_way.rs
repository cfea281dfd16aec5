//! The way that the kernel takes to a file, link by link (`readlink`).
//!
//! Law: nothing is opened, and no more links are followed than the kernel follows.

use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Component, Path, PathBuf};

use jm_files::placeholder::is_marked;

/// Links on one way, as many as the kernel follows.
const MOST_LINKS: usize = 40;

/// The links on the way to a file, and the place where it ends.
#[derive(Debug)]
pub(super) struct LinkWay {
    /// Links, each at the place where it is: no link stands above it.
    pub(super) links: Vec<(PathBuf, Metadata)>,
    /// `None` where links lead to each other without end.
    pub(super) end: Option<WayEnd>,
}

/// The place that is no link, there or not.
#[derive(Debug)]
pub(super) struct WayEnd {
    pub(super) place: PathBuf,
    /// `None` where nothing is there.
    pub(super) found: Option<Metadata>,
}

/// Follows an absolute path; on the way to `start` there are no links.
pub(super) fn follow(start: &Path, path: &Path) -> LinkWay {
    let (mut place, below) = match path.strip_prefix(start) {
        Ok(below) => (start.to_owned(), below),
        Err(_) => (PathBuf::from("/"), path),
    };
    let mut waiting = names_backwards(below);
    let (mut links, mut last) = (Vec::new(), None);
    while let Some(name) = waiting.pop() {
        if name == ".." {
            place.pop();
            last = found_at(&place);
            continue;
        }
        // The name `/` begins anew.
        place.push(&name);
        last = found_at(&place);
        let Some(link) = last.take_if(|found| found.is_symlink()) else { continue };
        let Ok(target) = std::fs::read_link(&place) else { continue };
        if links.len() >= MOST_LINKS {
            return LinkWay { links, end: None };
        }
        links.push((place.clone(), link));
        place.pop();
        waiting.extend(names_backwards(&target));
    }
    LinkWay { links, end: Some(WayEnd { place, found: last }) }
}

/// The names of a path, the last one first.
fn names_backwards(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter(|part| *part != Component::CurDir);
    names.map(|part| part.as_os_str().to_owned()).collect()
}

/// The file of a name. `None` where it is missing; a placeholder of another command is nothing.
pub(super) fn found_at(path: &Path) -> Option<Metadata> {
    let metadata = path.symlink_metadata().ok()?;
    (!is_marked(&metadata, path)).then_some(metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_on_a_way_is_met() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/b")).unwrap();
        let links = [
            ("a", "real"),
            ("vscode", "a/b"),
            ("up", "a/b/../../missing/x"),
            ("absolute", root.join("a").to_str().unwrap()),
            ("round", "round"),
        ]
        .map(|(name, target)| (name, target.to_owned()));
        for (name, target) in &links {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        let cases = [
            ("real/b", vec![], Some(("real/b", true))),
            ("vscode", vec!["vscode", "a"], Some(("real/b", true))),
            ("vscode/c/d", vec!["vscode", "a"], Some(("real/b/c/d", false))),
            ("up", vec!["up", "a"], Some(("missing/x", false))),
            ("absolute/b", vec!["absolute", "a"], Some(("real/b", true))),
            ("round", vec!["round"; MOST_LINKS], None),
        ];
        for (path, links, end) in cases {
            for start in [root.as_path(), Path::new("/nowhere")] {
                let way = follow(start, &root.join(path));
                let met: Vec<_> = way.links.into_iter().map(|(path, _)| path).collect();
                let expected: Vec<_> = links.iter().map(|name| root.join(name)).collect();
                assert_eq!(met, expected, "{path}");
                let met = way.end.map(|end| (end.place, end.found.is_some()));
                assert_eq!(met, end.map(|(place, is_there)| (root.join(place), is_there)));
            }
        }
    }
}
