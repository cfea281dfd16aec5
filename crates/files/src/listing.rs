//! One directory of a walk: its names with their kinds, each judged by the rules of the walk.
//!
//! Law: every walk through a workspace judges names here, so that no two of them differ in what they
//! pass over.

use std::ffi::{OsStr, OsString};

use crate::file::{EntryKind, ListingFailure, OpenDirectory};
use crate::ignored::{IgnoreFiles, Ignored};
use crate::sandbox::Sandbox;

/// The rules by which a walk passes over names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkRules<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) ignore_files: IgnoreFiles,
    /// Names that begin with a dot are passed over too.
    pub(crate) skips_hidden: bool,
}

/// The reason why a walk passes over a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skip {
    /// Git's own directory, or a temporary file of ours.
    NotOfTheProject,
    Hidden,
    Ignored,
    Denied,
}

/// One name of a listed directory.
#[derive(Debug)]
pub(crate) struct ListedName {
    pub(crate) name: OsString,
    pub(crate) kind: EntryKind,
    pub(crate) skip: Option<Skip>,
}

/// A directory that was entered and listed.
#[derive(Debug)]
pub(crate) struct DirectoryListing {
    pub(crate) directory: OpenDirectory,
    /// The ignore rules that hold in it, with its own.
    pub(crate) ignored: Ignored,
    /// In no order.
    pub(crate) entries: Vec<ListedName>,
}

impl DirectoryListing {
    /// Lists a directory below one in which the rules `above` hold.
    pub(crate) fn new(
        directory: OpenDirectory,
        above: &Ignored,
        rules: WalkRules<'_>,
    ) -> Result<Self, ListingFailure> {
        let kinds = directory.kinds()?;
        let ignored = above.with(&directory, &kinds, rules.ignore_files);
        let judge = |(name, kind): (OsString, EntryKind)| {
            let skip = skip(&directory, &ignored, rules, &name, kind);
            ListedName { name, kind, skip }
        };
        let entries = kinds.into_iter().map(judge).collect();
        Ok(Self { directory, ignored, entries })
    }
}

fn skip(
    directory: &OpenDirectory,
    ignored: &Ignored,
    rules: WalkRules<'_>,
    name: &OsStr,
    kind: EntryKind,
) -> Option<Skip> {
    let (bytes, path) = (name.as_encoded_bytes(), directory.absolute());
    if bytes == b".git" || bytes.starts_with(b".jm-") {
        return Some(Skip::NotOfTheProject);
    }
    if rules.skips_hidden && bytes.starts_with(b".") {
        return Some(Skip::Hidden);
    }
    if ignored.covers(path, name, kind == EntryKind::Directory) {
        return Some(Skip::Ignored);
    }
    rules.sandbox.denies_in(path, name).then_some(Skip::Denied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox_settings::SandboxSettings;

    #[test]
    fn one_directory_judged_by_the_rules_of_each_walk() {
        let scratch = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(scratch.path())).unwrap();
        let root = sandbox.working_root().path();
        std::fs::write(root.join(".gitignore"), "[z-a]\nbuilt\n").unwrap();
        std::fs::write(root.join(".ignore"), "vendored\n!built\n").unwrap();
        for name in ["built", "vendored", "kept", ".hidden", ".env", ".jm-1-2.tmp"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        std::fs::create_dir(root.join(".git")).unwrap();
        let kept = |ignore_files, skips_hidden| {
            let directory = OpenDirectory::open(&sandbox.resolve(".").unwrap()).unwrap();
            let rules = WalkRules { sandbox: &sandbox, ignore_files, skips_hidden };
            let listing = DirectoryListing::new(directory, &Ignored::default(), rules).unwrap();
            let kept = listing.entries.into_iter().filter(|one| one.skip.is_none());
            let mut kept: Vec<_> = kept.map(|one| one.name.into_string().unwrap()).collect();
            kept.sort();
            kept
        };
        let all = [".gitignore", ".hidden", ".ignore", "built", "kept", "vendored"];
        assert_eq!(kept(IgnoreFiles::None, false), all);
        assert_eq!(kept(IgnoreFiles::None, true), ["built", "kept", "vendored"]);
        assert_eq!(kept(IgnoreFiles::Git, true), ["kept", "vendored"]);
        // The rules for searching go before those of git.
        assert_eq!(kept(IgnoreFiles::GitAndSearch, true), ["built", "kept"]);
    }
}
