//! Names that tools must not write, or not without a person, and how names are compared.
//!
//! Law: a name is compared as the most confusable file system would: case folded, ignorable code
//! points removed, NTFS aliases undone. A spelling trick can only make us stricter.

mod lists;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use lists::{BUILDS, RUNS_LATER};

/// The protection of a path against writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protection {
    /// An ordinary file.
    None,
    /// Worth naming in a prompt: it runs in a build or in CI.
    RunsInBuilds,
    /// A person decides, whatever the mode.
    NeedsPerson(&'static str),
    /// Journeyman's own configuration and state.
    Never,
}

/// The part of a relative path up to the name that a person decides about, and why.
pub fn protected_part(relative: &Path) -> Option<(PathBuf, &'static str)> {
    let mut directory = PathBuf::new();
    relative.iter().find_map(|name| {
        let protection = protection_in(&directory, name);
        directory.push(name);
        match protection {
            Protection::NeedsPerson(why) => Some((directory.clone(), why)),
            Protection::Never => Some((directory.clone(), "it is Journeyman's own configuration")),
            Protection::RunsInBuilds | Protection::None => None,
        }
    })
}

/// The reason why a link at this path would lead to a name that a person decides about: such a name may stand below it.
pub fn protected_below(relative: &Path) -> Option<&'static str> {
    rules_below(relative).find_map(|rule| match rule.protection {
        Protection::NeedsPerson(why) => Some(why),
        Protection::Never | Protection::RunsInBuilds | Protection::None => None,
    })
}

/// The names that a person decides about which may stand below this path, relative to it; those with a star are left out.
pub fn protected_names_below(relative: &Path) -> impl Iterator<Item = PathBuf> {
    let decided = |rule: &&Rule| matches!(rule.protection, Protection::NeedsPerson(_));
    let paths = rules_below(relative).filter(decided).map(|rule| rule.below);
    paths.filter(|(_, name)| !name.contains('*')).map(|(above, name)| Path::new(above).join(name))
}

/// The rules for names below a path.
fn rules_below(relative: &Path) -> impl Iterator<Item = &'static Rule> {
    let name = relative.file_name().unwrap_or_default().to_string_lossy();
    let directory = relative.parent().unwrap_or(Path::new(""));
    let above = table().above.get(&*fold(&name)).into_iter().flatten();
    above.filter(move |rule| rule.holds_in(directory))
}

/// Judges a path relative to its root, with all that lies above it.
pub fn protection(relative: &Path) -> Protection {
    let mut directory = PathBuf::new();
    let mut strictest = Protection::None;
    for name in relative {
        strictest = strictest.max(protection_in(&directory, name));
        directory.push(name);
    }
    strictest
}

/// Judges one name in a directory that was judged already.
pub fn protection_in(directory: &Path, name: &OsStr) -> Protection {
    let name = name.to_string_lossy();
    let name = fold(&name);
    if name == ".journeyman" {
        return Protection::Never;
    }
    let table = table();
    let known = table.by_name.get(&*name).into_iter().flatten();
    let rules = known.chain(table.with_star(&name)).filter(|rule| rule.holds_in(directory));
    rules.map(|rule| rule.protection).max().unwrap_or(Protection::None)
}

/// One protected path, by its last name and those before it.
#[derive(Debug, Clone, Copy)]
struct Rule {
    above: &'static str,
    name: &'static str,
    /// Of a directory, what the rule is about: further directories, and a name in them.
    below: (&'static str, &'static str),
    protection: Protection,
}

impl Rule {
    fn new(row: &'static str, protection: Protection) -> Self {
        let (above, name) = row.rsplit_once('/').unwrap_or(("", row));
        Self { above, name, below: ("", ""), protection }
    }

    /// The directories that stand before the name, each as a rule of its own.
    fn directories(self) -> impl Iterator<Item = Self> {
        let ends = self.above.match_indices('/').map(|(at, _)| at);
        let ends = ends.chain((!self.above.is_empty()).then_some(self.above.len()));
        ends.map(move |end| {
            let below = (self.above[end..].trim_start_matches('/'), self.name);
            Self { below, ..Self::new(&self.above[..end], self.protection) }
        })
    }

    /// The letters of the name before and after its star.
    fn around_star(&self) -> (&'static str, &'static str) {
        self.name.split_once('*').unwrap_or((self.name, ""))
    }

    fn matches_name(&self, folded: &str) -> bool {
        let (before, after) = self.around_star();
        folded.strip_prefix(before).is_some_and(|rest| rest.ends_with(after))
    }

    /// Tells whether the directory ends with the names that stand before the last one.
    fn holds_in(&self, directory: &Path) -> bool {
        let mut found = directory.iter().rev().map(OsStr::to_string_lossy);
        let mut wanted = self.above.rsplit('/').filter(|name| !name.is_empty());
        wanted.all(|name| found.next().is_some_and(|found| fold(&found) == name))
    }
}

/// The rules, found by the name with which a path ends: each name of a workspace is looked up before
/// each command.
#[derive(Default)]
struct Table {
    by_name: HashMap<&'static str, Vec<Rule>>,
    /// Those with a star, by the first byte of the name, or by the last where the name begins with the star.
    by_first: BTreeMap<u8, Vec<Rule>>,
    by_last: BTreeMap<u8, Vec<Rule>>,
    /// The directories of rules with several names, by their own last name.
    above: HashMap<&'static str, Vec<Rule>>,
}

impl Table {
    fn add(&mut self, rule: Rule) {
        let (before, after) = rule.around_star();
        match (rule.name.contains('*'), before.as_bytes(), after.as_bytes()) {
            (true, [first, ..], _) => self.by_first.entry(*first).or_default().push(rule),
            (true, [], [.., last]) => self.by_last.entry(*last).or_default().push(rule),
            _ => self.by_name.entry(rule.name).or_default().push(rule),
        }
        for directory in rule.directories() {
            self.above.entry(directory.name).or_default().push(directory);
        }
    }

    fn with_star(&self, folded: &str) -> impl Iterator<Item = &Rule> {
        let first = folded.as_bytes().first().and_then(|byte| self.by_first.get(byte));
        let last = folded.as_bytes().last().and_then(|byte| self.by_last.get(byte));
        let rules = first.into_iter().chain(last).flatten();
        rules.filter(move |rule| rule.matches_name(folded))
    }
}

fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| {
        let later = RUNS_LATER.iter().flat_map(|(why, rows)| {
            rows.iter().map(|row| Rule::new(row, Protection::NeedsPerson(why)))
        });
        let builds = BUILDS.iter().map(|row| Rule::new(row, Protection::RunsInBuilds));
        let mut table = Table::default();
        later.chain(builds).for_each(|rule| table.add(rule));
        table
    });
    &TABLE
}

/// One name as the most confusable file system would compare it.
pub fn fold(name: &str) -> Cow<'_, str> {
    let is_plain =
        |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-+@#".contains(byte);
    if name.as_bytes().iter().all(is_plain) && !name.ends_with('.') {
        return Cow::Borrowed(name);
    }
    Cow::Owned(fold_slowly(name))
}

fn fold_slowly(name: &str) -> String {
    let visible: String =
        name.chars().filter(|c| !is_ignorable(*c)).flat_map(fold_letter).collect();
    let main_stream = visible.split(':').next().unwrap_or_default();
    let trimmed = main_stream.trim_end_matches(['.', ' ']);
    match trimmed {
        "" => visible,
        "git~1" => ".git".to_owned(),
        plain => plain.to_owned(),
    }
}

/// A letter as one that knows no case, by way of upper case: in that also `ſ`, `ß` and ligatures are what a file system
/// takes them for.
pub(crate) fn fold_letter(letter: char) -> impl Iterator<Item = char> {
    letter.to_uppercase().flat_map(char::to_lowercase)
}

fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protected_part_ends_with_its_name() {
        let part = |path: &str| protected_part(Path::new(path)).map(|(part, _)| part);
        assert_eq!(part("a/.vscode/tasks.json"), Some("a/.vscode".into()));
        assert_eq!(part(".ENVRC"), Some(".ENVRC".into()));
        assert_eq!(part("a/.journeyman/x"), Some("a/.journeyman".into()));
        assert_eq!(part("a/.cargo/config.toml"), Some("a/.cargo/config.toml".into()));
        assert_eq!(part("a/.local/bin/tool"), Some("a/.local/bin".into()));
        assert_eq!(part("a/.github/workflows/ci.yml"), None);
        assert_eq!(part("a/Makefile"), None);
        assert_eq!(part(""), None);
    }

    #[test]
    fn names_below_a_directory_are_known() {
        let below = |path: &str| protected_names_below(Path::new(path)).collect::<Vec<_>>();
        assert_eq!(below("a/.cargo"), ["config", "config.toml"].map(PathBuf::from));
        assert_eq!(below(".local/share"), ["applications", "systemd", "dbus-1"].map(PathBuf::from));
        assert!(below(".local").contains(&"share/systemd".into()));
        assert_eq!(below("mise"), [PathBuf::from("config.toml")]);
        assert!(below("src").is_empty() && below("share").is_empty() && below("").is_empty());
    }

    #[test]
    fn every_row_is_written_as_it_is_compared() {
        let later = RUNS_LATER.iter().flat_map(|(_, rows)| rows.iter());
        for row in later.chain(BUILDS) {
            assert!(row.split('/').all(|name| fold(name) == name), "{row}");
            let path = Path::new("deep/in").join(row.replace('*', "x").to_uppercase());
            assert!(protection(&path) > Protection::None, "{path:?}");
        }
    }

    #[test]
    fn names_in_a_row_are_protected_together_and_not_alone() {
        for path in [
            ".cargo/config.toml",
            ".Cargo/CONFIG.toml",
            "a/.github/copilot-instructions.md",
            ".config/autostart/x.desktop",
            ".config/systemd/user/x.service",
            "AGENTS.md",
            "docs/CLAUDE.md",
            "my.code-workspace",
            ".rules",
        ] {
            let protection = protection(Path::new(path));
            assert!(matches!(protection, Protection::NeedsPerson(_)), "{path}: {protection:?}");
        }
        for path in ["config.toml", ".cargo/registry/x", "x/bin", ".github/CODEOWNERS", "rules"] {
            assert_eq!(protection(Path::new(path)), Protection::None, "{path}");
        }
        let workflow = protection(Path::new("a/.github/workflows/ci.yml"));
        assert_eq!(workflow, Protection::RunsInBuilds);
        // A build file inside of what a person decides about is decided about.
        let inside = protection(Path::new(".vscode/Makefile"));
        assert!(matches!(inside, Protection::NeedsPerson(_)));
    }

    #[test]
    fn spellings_of_git_are_git() {
        let git =
            [".git", ".GIT", ".g\u{200c}it", "GIT~1", ".git.", ".git ", ".git::$INDEX_ALLOCATION"];
        for name in git {
            let path = Path::new(name).join("hooks/pre-commit");
            assert!(matches!(protection(&path), Protection::NeedsPerson(_)), "{name:?}");
        }
        for name in [".v\u{17f}code", ".con\u{fb01}g", ".VSCODE", "CLAUDE.MD"] {
            assert!(matches!(protection(Path::new(name)), Protection::NeedsPerson(_)), "{name:?}");
        }
        for name in ["git", ".gitignore", ".github", "agit", ".git-blame-ignore-revs"] {
            assert_eq!(protection(Path::new(name)), Protection::None, "{name:?}");
        }
    }
}
