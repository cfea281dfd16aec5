//! Names that tools must not write, or not without a person, and how names are compared.
//!
//! Law: a name is compared as the most confusable file system would: case folded, ignorable code
//! points removed, NTFS aliases undone. A spelling trick can only make us stricter.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Directories and files that something else runs later: writing them needs a person in every mode.
const RUNS_LATER: &[(&str, &str)] = &[
    (".git", "git runs hooks and programs named in there"),
    (".gitmodules", "git reads it when it fetches submodules"),
    (".gitconfig", "git runs programs named in it"),
    (".bashrc", "a shell runs it at start"),
    (".bash_profile", "a shell runs it at start"),
    (".bash_login", "a shell runs it at start"),
    (".bash_logout", "a shell runs it at exit"),
    (".profile", "a shell runs it at start"),
    (".zshrc", "a shell runs it at start"),
    (".zprofile", "a shell runs it at start"),
    (".zshenv", "a shell runs it at start"),
    (".zlogin", "a shell runs it at start"),
    (".zlogout", "a shell runs it at exit"),
    (".kshrc", "a shell runs it at start"),
    (".cshrc", "a shell runs it at start"),
    (".tcshrc", "a shell runs it at start"),
    (".inputrc", "shells read key bindings from it"),
    ("config.fish", "a shell runs it at start"),
    (".envrc", "direnv runs it"),
    (".ripgreprc", "ripgrep reads options from it"),
    (".husky", "git hooks live in it"),
    (".vscode", "an editor runs tasks from it"),
    (".idea", "an editor runs tasks from it"),
    (".zed", "an editor runs tasks from it"),
    (".devcontainer", "an editor runs commands from it"),
    (".claude", "an agent reads its permissions from it"),
    (".cursor", "an agent reads its permissions from it"),
    (".codex", "an agent reads its permissions from it"),
    (".gemini", "an agent reads its permissions from it"),
    (".windsurf", "an agent reads its permissions from it"),
    (".roo", "an agent reads its permissions from it"),
    (".continue", "an agent reads its permissions from it"),
    (".mcp.json", "an agent starts the programs named in it"),
    (".aider.conf.yml", "an agent reads its permissions from it"),
];

/// Files that a build or a CI system runs: ordinary to edit, named when somebody is asked.
const BUILDS: &[&str] = &[
    ".gitlab-ci.yml",
    ".travis.yml",
    ".circleci",
    "jenkinsfile",
    "azure-pipelines.yml",
    "makefile",
    "gnumakefile",
    "justfile",
    "package.json",
    "build.rs",
    "setup.py",
    "conftest.py",
    "cmakelists.txt",
    "dockerfile",
    ".gitattributes",
];

/// What a write to a path needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protection {
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
    let mut part = PathBuf::new();
    relative.iter().find_map(|name| {
        part.push(name);
        match protection(Path::new(name)) {
            Protection::NeedsPerson(why) => Some((part.clone(), why)),
            Protection::Never => Some((part.clone(), "it is Journeyman's own configuration")),
            Protection::RunsInBuilds | Protection::None => None,
        }
    })
}

/// Judges a path relative to its root.
pub fn protection(relative: &Path) -> Protection {
    let names: Vec<String> =
        relative.iter().map(|name| fold(&name.to_string_lossy()).into_owned()).collect();
    if names.iter().any(|name| name == ".journeyman") {
        return Protection::Never;
    }
    let runs_later = |name: &String| RUNS_LATER.iter().find(|(known, _)| known == name);
    if let Some((_, why)) = names.iter().find_map(runs_later) {
        return Protection::NeedsPerson(why);
    }
    let workflows = names.windows(2).any(|pair| pair == [".github", "workflows"]);
    if workflows || names.iter().any(|name| BUILDS.contains(&name.as_str())) {
        return Protection::RunsInBuilds;
    }
    Protection::None
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
        name.chars().filter(|c| !is_ignorable(*c)).flat_map(char::to_lowercase).collect();
    let main_stream = visible.split(':').next().unwrap_or_default();
    let trimmed = main_stream.trim_end_matches(['.', ' ']);
    match trimmed {
        "" => visible,
        "git~1" => ".git".to_owned(),
        plain => plain.to_owned(),
    }
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
        assert_eq!(part("a/Makefile"), None);
        assert_eq!(part(""), None);
    }

    #[test]
    fn spellings_of_git_are_git() {
        let git =
            [".git", ".GIT", ".g\u{200c}it", "GIT~1", ".git.", ".git ", ".git::$INDEX_ALLOCATION"];
        for name in git {
            let path = Path::new(name).join("hooks/pre-commit");
            assert!(matches!(protection(&path), Protection::NeedsPerson(_)), "{name:?}");
        }
        for name in ["git", ".gitignore", ".github", "agit", ".git-blame-ignore-revs"] {
            assert_eq!(protection(Path::new(name)), Protection::None, "{name:?}");
        }
    }
}
