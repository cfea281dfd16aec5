//! Patterns that no tool may touch.
//!
//! Law: a pattern denies what it names and everything below it. Names are compared folded, as
//! `names::fold` does it. Patterns of plain names, which nearly all are, need no automaton.

use std::ffi::OsStr;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::names::{fold, fold_letter};

/// FR-VAL-05, and the further files that hold credentials.
pub(crate) const DEFAULT_DENIES: &[&str] = &[
    "**/.ssh/**",
    "**/.gnupg/**",
    "**/id_rsa*",
    "**/id_ed25519*",
    "**/id_ecdsa*",
    "**/*.pem",
    "**/*.key",
    "**/*.p12",
    "**/*.pfx",
    "**/.env",
    "**/.env.*",
    "**/.env-*",
    "**/.env_*",
    "**/.netrc",
    "**/.npmrc",
    "**/.pypirc",
    "**/.aws/**",
    "**/.kube/**",
    "**/.docker/config.json",
    "**/.git-credentials",
    "**/.config/git/credentials",
    "**/.git/credentials",
];

/// Patterns of paths that no tool opens, compiled.
#[derive(Debug)]
pub struct DenyList {
    patterns: Vec<Pattern>,
}

#[derive(Debug)]
struct Pattern {
    /// As the person wrote it.
    written: String,
    shape: Shape,
}

#[derive(Debug)]
enum Shape {
    /// Names in a row, anywhere in a path.
    Names(Vec<Name>),
    /// Names in a row from the root of the tree.
    Rooted(Vec<Name>),
    /// Everything else, over the whole path: the pattern itself, and what lies below it.
    Glob(Box<[GlobMatcher; 2]>),
}

/// One name with at most one star.
#[derive(Debug)]
enum Name {
    Exactly(String),
    Around { before: String, after: String },
}

impl Name {
    fn new(text: &str) -> Option<Self> {
        let is_special = |c: char| matches!(c, '?' | '[' | ']' | '{' | '}' | '!' | '\\');
        if text.contains(is_special) || text.is_empty() {
            return None;
        }
        match text.split_once('*') {
            None => Some(Self::Exactly(text.to_owned())),
            Some((_, after)) if after.contains('*') => None,
            Some((before, after)) => {
                Some(Self::Around { before: before.to_owned(), after: after.to_owned() })
            }
        }
    }

    /// Every name of a workspace comes here for every pattern: one letter tells nearly always.
    fn matches(&self, folded: &str) -> bool {
        let bytes = folded.as_bytes();
        match self {
            Self::Exactly(name) => name.as_bytes().first() == bytes.first() && name == folded,
            Self::Around { before, after } => {
                let may_begin = before.is_empty() || before.as_bytes().first() == bytes.first();
                let may_end = after.is_empty() || after.as_bytes().last() == bytes.last();
                may_begin
                    && may_end
                    && bytes.len() >= before.len() + after.len()
                    && folded.starts_with(before.as_str())
                    && folded.ends_with(after.as_str())
            }
        }
    }
}

impl DenyList {
    /// Compiles patterns; the error names the one that is none.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let patterns = patterns.into_iter().map(Pattern::new).collect::<Result<_, _>>()?;
        Ok(Self { patterns })
    }

    /// The patterns as they were written.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|pattern| pattern.written.as_str())
    }

    /// The pattern that denies an absolute path.
    pub(crate) fn matching(&self, absolute: &Path) -> Option<&str> {
        let names: Vec<_> = absolute.iter().skip(1).map(OsStr::to_string_lossy).collect();
        let names: Vec<_> = names.iter().map(|name| fold(name)).collect();
        let hit = self.patterns.iter().find(|pattern| match &pattern.shape {
            Shape::Names(row) => names
                .windows(row.len())
                .any(|part| row.iter().zip(part).all(|(name, folded)| name.matches(folded))),
            Shape::Rooted(row) => {
                names.len() >= row.len()
                    && row.iter().zip(&names).all(|(name, folded)| name.matches(folded))
            }
            Shape::Glob(globs) => {
                let path = names.join("/");
                globs.iter().any(|glob| glob.is_match(&path))
            }
        });
        hit.map(|pattern| pattern.written.as_str())
    }

    /// Tells whether a name is denied in a directory that is not denied itself, so that only patterns
    /// which end with the name need to be looked at.
    pub fn denies_in(&self, directory: &Path, name: &OsStr) -> bool {
        let lossy = name.to_string_lossy();
        let folded = fold(&lossy);
        self.patterns.iter().any(|pattern| match &pattern.shape {
            Shape::Names(row) => {
                row.last().is_some_and(|last| last.matches(&folded))
                    && (row.len() == 1 || self.matching(&directory.join(name)).is_some())
            }
            Shape::Rooted(row) => {
                row.last().is_some_and(|last| last.matches(&folded))
                    && self.matching(&directory.join(name)).is_some()
            }
            Shape::Glob(_) => self.matching(&directory.join(name)).is_some(),
        })
    }
}

impl Pattern {
    /// A pattern that is written without a `/` holds anywhere.
    fn new(written: &str) -> Result<Self, String> {
        let folded: String = written.chars().flat_map(fold_letter).collect();
        let trimmed = folded.trim_end_matches('/').trim_start_matches("./");
        let base = trimmed.strip_suffix("/**").unwrap_or(trimmed);
        let shape = match (base.strip_prefix("**/"), base.starts_with('/')) {
            (None, true) => {
                let base = base.trim_start_matches('/');
                match base.split('/').map(Name::new).collect() {
                    Some(row) => Shape::Rooted(row),
                    None => Shape::glob(written, base)?,
                }
            }
            (rest, _) => {
                let base = rest.unwrap_or(base);
                match base.split('/').map(Name::new).collect() {
                    Some(row) => Shape::Names(row),
                    None => Shape::glob(written, &format!("**/{base}"))?,
                }
            }
        };
        Ok(Self { written: written.to_owned(), shape })
    }
}

impl Shape {
    fn glob(written: &str, base: &str) -> Result<Self, String> {
        let build = |text: &str| {
            let glob = GlobBuilder::new(text).literal_separator(true).build();
            glob.map(|glob| glob.compile_matcher())
                .map_err(|error| format!("denied pattern `{written}`: {}", error.kind()))
        };
        Ok(Self::Glob(Box::new([build(base)?, build(&format!("{base}/**"))?])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_deny_hits_and_ordinary_names_do_not() {
        let list = DenyList::new(DEFAULT_DENIES.iter().copied()).unwrap();
        let denied = [
            "/w/.ssh",
            "/w/.ssh/config",
            "/w/a/.SSH/x",
            "/w/id_rsa",
            "/w/id_rsa.pub",
            "/w/k.pem",
            "/w/K.PEM",
            "/w/tls/a.key",
            "/w/.env",
            "/w/.env.local",
            "/w/.aws/credentials",
            "/w/.docker/config.json",
            "/w/.s\u{200b}sh/id",
            "/w/x.p12",
            "/w/.netrc",
            "/w/.kube/config",
        ];
        for path in denied {
            assert!(list.matching(Path::new(path)).is_some(), "{path}");
        }
        for path in ["/w/ssh", "/w/environment", "/w/.envrc", "/w/key.rs", "/w/monkey", "/w/pem"] {
            assert_eq!(list.matching(Path::new(path)), None, "{path}");
        }
    }

    #[test]
    fn an_absolute_pattern_holds_from_the_root() {
        for pattern in ["/w/secrets", "/w/secrets/", "/w/secrets/**", "/w/s*s", "/w/{secrets,x}"] {
            let list = DenyList::new([pattern]).unwrap();
            for path in ["/w/secrets", "/w/secrets/a/b"] {
                assert_eq!(list.matching(Path::new(path)), Some(pattern), "{pattern} {path}");
            }
            for path in ["/w", "/w/open", "/home/w/secrets", "/w/a/secrets"] {
                assert_eq!(list.matching(Path::new(path)), None, "{pattern} {path}");
            }
            assert!(list.denies_in(Path::new("/w"), OsStr::new("secrets")), "{pattern}");
            assert!(!list.denies_in(Path::new("/w/a"), OsStr::new("secrets")), "{pattern}");
        }
    }

    #[test]
    fn a_person_may_write_a_pattern_in_any_common_form() {
        for pattern in ["secrets/", "secrets", "**/secrets/**", "./secrets", "Secrets"] {
            let list = DenyList::new([pattern]).unwrap();
            assert_eq!(list.matching(Path::new("/w/\u{17f}ecrets/a")), Some(pattern));
            assert_eq!(list.matching(Path::new("/w/secrets/a")), Some(pattern));
            assert_eq!(list.matching(Path::new("/w/secrets")), Some(pattern));
            assert_eq!(list.matching(Path::new("/w/open/a")), None);
        }
        assert!(DenyList::new(["[a"]).is_err());
    }

    /// The same patterns as one set of globs, each with what lies below it.
    fn by_globs(patterns: &[String], path: &str) -> bool {
        let mut set = globset::GlobSetBuilder::new();
        for pattern in patterns {
            let trimmed = pattern.trim_start_matches("./");
            let base = trimmed.strip_suffix("/**").unwrap_or(trimmed);
            let base = if base.starts_with("**/") { base.to_owned() } else { format!("**/{base}") };
            for glob in [base.clone(), format!("{base}/**")] {
                set.add(GlobBuilder::new(&glob).literal_separator(true).build().unwrap());
            }
        }
        set.build().unwrap().is_match(path)
    }

    proptest::proptest! {
        /// Plain names in a row say what the glob says, with and without stars, whole or by steps.
        #[test]
        fn names_in_a_row_are_globs(
            patterns in proptest::collection::vec(
                "(\\*\\*/)?[ab.*]{1,3}(/[ab.?*]{1,3}){0,2}(/\\*\\*)?", 1..4),
            names in proptest::collection::vec("[ab.]{0,2}[ab]", 1..5),
        ) {
            let list = DenyList::new(patterns.iter().map(String::as_str)).unwrap();
            let path = names.join("/");
            let is_denied = list.matching(Path::new(&format!("/{path}"))).is_some();
            proptest::prop_assert_eq!(is_denied, by_globs(&patterns, &path));
            let mut directory = std::path::PathBuf::from("/");
            let by_steps = names.iter().any(|name| {
                let denied = list.denies_in(&directory, OsStr::new(name));
                directory.push(name);
                denied
            });
            proptest::prop_assert_eq!(by_steps, is_denied);
        }
    }
}
