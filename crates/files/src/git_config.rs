//! The files that git's configuration names: those it includes, hooks, attributes, and programs with what they are given.
//!
//! Law: read as text and stricter than git does. Every condition of an inclusion holds, a value counts wherever it
//! stands, and each word of a command line may be a file.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use jm_system::state::read_bytes;

use crate::git_repository::{LinkedWorkTree, linked_work_trees};

/// A larger configuration file is not read for the names in it.
const MOST_CONFIG: u64 = 1024 * 1024;
/// Files of one configuration, with those that they include.
const MOST_FILES: usize = 64;

/// A path that a configuration names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfiguredPath {
    /// Absolute.
    pub path: PathBuf,
    /// How git comes to it.
    pub role: ConfiguredRole,
}

/// How git comes to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfiguredRole {
    /// It reads configuration, hooks or attributes from it: it must not come into being either.
    Read,
    /// It runs it.
    Program,
    /// A word of a command line that it runs, with a slash or with a dot inside: of account unless it is a directory.
    Script,
    /// Another word of a command line: of account if it is a file.
    Word,
}

/// Keys whose value is a file or a directory that git reads.
const READ: &[&str] = &["hookspath", "attributesfile", "templatedir"];
/// Keys whose value is a command line that git runs.
const RUN: &[&str] = &[
    "fsmonitor",
    "sshcommand",
    "gitproxy",
    "editor",
    "pager",
    "askpass",
    "textconv",
    "clean",
    "smudge",
    "process",
    "driver",
    "command",
    "cmd",
    "program",
    "helper",
    "external",
    "difffilter",
    "defaultkeycommand",
    "uploadpack",
    "receivepack",
    "alternaterefscommand",
    "packobjectshook",
    "sendmailcmd",
    "tocmd",
    "cccmd",
    "headercmd",
];
/// Sections of programs that have their place in `path`.
const PROGRAMS: &[&str] = &["mergetool", "difftool", "browser", "man", "lfs"];

/// The machine's configuration, where distributions and people who build git themselves have it.
const MACHINE: &[&str] = &["/etc/gitconfig", "/usr/local/etc/gitconfig"];

/// The settings that hold in every repository of a person.
#[derive(Debug, Default)]
pub struct UserGitConfig {
    settings: Vec<GitSetting>,
    home: Option<PathBuf>,
}

impl UserGitConfig {
    /// Those of the machine and of a home. `settings` is the directory of the person's settings where it is another than
    /// `.config` of the home; `named` are further files that hold for every repository.
    pub fn read(home: Option<&Path>, settings: Option<&Path>, named: &[PathBuf]) -> Self {
        let own = home.map(|home| home.join(".config"));
        let own = settings.map(Path::to_owned).or(own).map(|own| own.join("git/config"));
        let files = own.into_iter().chain(home.map(|home| home.join(".gitconfig")));
        let files = MACHINE.iter().map(PathBuf::from).chain(files).chain(named.iter().cloned());
        let settings = all_settings(files.collect(), home);
        Self { settings, home: home.map(Path::to_owned) }
    }
}

/// Everything that the configuration of a repository names.
#[derive(Debug)]
pub struct ConfiguredNames {
    /// Existing or not.
    pub paths: BTreeSet<ConfiguredPath>,
    /// The work trees of the repository, from which a relative path may count.
    pub work_trees: BTreeSet<PathBuf>,
}

/// Paths that the configuration of a git directory names, and that of the person for it: relative to the file that
/// names them, to the git directory and to every work tree, of which `work_tree` is one.
pub fn named_in_config(
    git: &Path,
    work_tree: Option<&Path>,
    user: &UserGitConfig,
) -> ConfiguredNames {
    let linked: Vec<LinkedWorkTree> = linked_work_trees(git).collect();
    let private = linked.iter().map(|linked| linked.private.as_path());
    let mut files: Vec<PathBuf> = private.map(|it| it.join("config.worktree")).collect();
    // The last one is read first.
    files.extend(["config.worktree", "config"].map(|name| git.join(name)));
    let own = all_settings(files, user.home.as_deref());
    let mut work_trees: BTreeSet<PathBuf> = linked.into_iter().map(|it| it.place).collect();
    work_trees.extend(work_tree.map(Path::to_owned));
    for setting in own.iter().filter(|setting| setting.is_work_tree()) {
        work_trees.extend([git, &setting.folder].map(|base| base.join(&setting.value)));
    }
    let work_trees: BTreeSet<PathBuf> = work_trees.iter().map(|it| plain(it)).collect();
    let mut paths = BTreeSet::new();
    for setting in own.iter().chain(&user.settings) {
        for (word, role) in setting.named() {
            let word = expanded(word, user.home.as_deref());
            let bases = [setting.folder.as_path(), git].into_iter();
            let bases = bases.chain(work_trees.iter().map(PathBuf::as_path));
            paths.extend(bases.map(|base| ConfiguredPath { path: plain(&base.join(&word)), role }));
        }
    }
    ConfiguredNames { paths, work_trees }
}

/// The settings of files and of all that they include.
fn all_settings(mut waiting: Vec<PathBuf>, home: Option<&Path>) -> Vec<GitSetting> {
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    while let Some(file) = waiting.pop() {
        if known.len() >= MOST_FILES || !known.insert(file.clone()) {
            continue;
        }
        let Ok(bytes) = read_bytes(&file, MOST_CONFIG) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        let folder = file.parent().unwrap_or(Path::new("/"));
        for setting in settings(&text, folder) {
            if setting.is_inclusion() {
                waiting.push(plain(&folder.join(expanded(&setting.value, home))));
            }
            found.push(setting);
        }
    }
    found
}

/// With the home in the place of `~/`.
fn expanded(word: &str, home: Option<&Path>) -> PathBuf {
    match (word.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(word),
    }
}

/// Without `.` and `..`, by their letters: what the result names is looked at without links.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[derive(Debug)]
struct GitSetting {
    section: String,
    key: String,
    value: String,
    /// The directory of the file that has it.
    folder: PathBuf,
}

impl GitSetting {
    fn is_inclusion(&self) -> bool {
        self.key == "path" && self.section.starts_with("include")
    }

    fn is_work_tree(&self) -> bool {
        self.key == "worktree" && self.section == "core"
    }

    /// The words that may name a file.
    fn named(&self) -> Vec<(&str, ConfiguredRole)> {
        let (key, section) = (self.key.as_str(), self.section.as_str());
        if READ.contains(&key) || self.is_inclusion() {
            let value = Some(self.value.as_str()).filter(|value| !value.is_empty());
            return value.map(|value| (value, ConfiguredRole::Read)).into_iter().collect();
        }
        let is_alias = section == "alias";
        let is_run = RUN.contains(&key)
            || key == "path" && PROGRAMS.contains(&section)
            || (is_alias || key == "update") && self.value.starts_with('!')
            || section == "pager";
        let mut words = if is_run { command_words(&self.value) } else { Vec::new() };
        // An alias runs when it is typed, and may name what a build makes.
        for (_, role) in
            words.iter_mut().filter(|(_, role)| is_alias && *role == ConfiguredRole::Script)
        {
            *role = ConfiguredRole::Word;
        }
        words
    }
}

/// The words of a command line; `!` marks an alias that is one. A program without a slash is one of the system's.
fn command_words(line: &str) -> Vec<(&str, ConfiguredRole)> {
    let is_sign = |letter: char| letter.is_whitespace() || "'\";|&()<>=`$".contains(letter);
    let mut words = line.trim_start_matches('!').split(is_sign).filter(|word| !word.is_empty());
    let program = words.next().filter(|word| word.contains('/'));
    let program = program.map(|word| (word, ConfiguredRole::Program));
    let others = words.filter(|word| !word.starts_with('-'));
    program.into_iter().chain(others.map(|word| (word, role_of(word)))).collect()
}

/// The role of a word behind the program. One that looks like the path of a script must not come into being either.
fn role_of(word: &str) -> ConfiguredRole {
    let is_path = word.contains('/') || word.trim_matches('.').contains('.');
    let is_plain = !word.contains(['%', '*', '?', '[', ']', '{', '}']);
    if is_path && is_plain { ConfiguredRole::Script } else { ConfiguredRole::Word }
}

/// The settings of a file in git's format; sections and keys in lower case.
fn settings(text: &str, folder: &Path) -> Vec<GitSetting> {
    let joined = text.replace("\\\r\n", "").replace("\\\n", "");
    let mut section = String::new();
    let mut found = Vec::new();
    for line in joined.lines().map(str::trim) {
        // A key may stand behind its section's heading on the same line.
        let line = match line.strip_prefix('[').and_then(|heading| heading.split_once(']')) {
            Some((heading, rest)) => {
                let name = heading.split([' ', '\t', '"', '.']).next().unwrap_or_default();
                section = name.to_lowercase();
                rest.trim()
            }
            None => line,
        };
        if let Some((key, value)) = line.split_once('=') {
            let (key, value) = (key.trim().to_lowercase(), unquoted(value.trim()));
            let (section, folder) = (section.clone(), folder.to_owned());
            found.push(GitSetting { section, key, value, folder });
        }
    }
    found
}

/// A value without its quotes and without a comment behind it.
fn unquoted(value: &str) -> String {
    let mut text = String::new();
    let mut is_quoted = false;
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => text.extend(letters.next()),
            '#' | ';' if !is_quoted => break,
            letter => text.push(letter),
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository in a home, with the configuration of both and files that they include.
    struct World(tempfile::TempDir);

    impl World {
        fn new(files: &[(&str, &str)]) -> Self {
            let scratch = tempfile::tempdir().unwrap();
            for (name, text) in files {
                let path = scratch.path().join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Self(scratch)
        }

        #[track_caller]
        fn check(&self, named: &[(&str, ConfiguredRole)], others: &[&str]) {
            let home = self.0.path();
            let user = UserGitConfig::read(Some(home), None, &[home.join("named")]);
            let found = named_in_config(&home.join("w/.git"), Some(&home.join("w")), &user).paths;
            let is_found = |name: &str, role: ConfiguredRole| {
                found.contains(&ConfiguredPath { path: home.join("w").join(name), role })
            };
            for (name, role) in named {
                assert!(is_found(name, *role), "{name}: {found:?}");
            }
            for name in others {
                let path = home.join("w").join(name);
                assert!(!found.iter().any(|one| one.path == path), "{name}: {found:?}");
            }
        }
    }

    #[test]
    fn a_configuration_is_read_for_the_files_it_names() {
        use ConfiguredRole::{Program, Read, Script, Word};
        let text = "[core]\n\thooksPath = .githooks ; ours\n\tfsmonitor = \"tools/watch me\"\n\
                    [include] path = ../shared.cfg\n[alias]\n\tst = status\n\tx = !./run.sh build/a\n\
                    [diff \"p\"]\n\ttextconv = ./con\\\nv.sh\n[user]\n\tname = A/B C\n\
                    [filter \"f\"]\n\tclean = python3 -u clean.py --rules=tools/rules.py %f\n\
                    [mergetool \"m\"]\n\tpath = tools/merge\n[submodule \"s\"]\n\tpath = sub/s\n\
                    [branch \"main\"]\n\tmerge = refs/heads/main\n\turl = ../lib.git\n";
        let named = [
            (".githooks", Read),
            ("tools/watch", Program),
            ("me", Word),
            ("shared.cfg", Read),
            ("run.sh", Program),
            ("build/a", Word),
            ("conv.sh", Program),
            ("clean.py", Script),
            ("tools/rules.py", Script),
            ("tools/merge", Program),
        ];
        let others = ["status", "A/B", "refs/heads/main", "../lib.git", "python3", "sub/s", "-u"];
        World::new(&[("w/.git/config", text)]).check(&named, &others);
    }

    /// Also where one letter of the file is no UTF-8.
    #[test]
    fn a_relative_path_counts_in_every_work_tree() {
        let world = World::new(&[
            ("w/.git/worktrees/l/gitdir", "../../../linked/.git\n"),
            ("w/.git/worktrees/l/config.worktree", "[core]\n\thooksPath = private\n"),
        ]);
        let text = b"[user]\n\tname = \xfc\n[core]\n\tworktree = ../tree\n\thooksPath = hooks\n";
        std::fs::write(world.0.path().join("w/.git/config"), text).unwrap();
        let named = ["hooks", "linked/hooks", "tree/hooks", "linked/private", "tree/private"];
        world.check(&named.map(|name| (name, ConfiguredRole::Read)), &[]);
    }

    #[test]
    fn included_files_and_those_of_the_person_are_read() {
        use ConfiguredRole::{Program, Read};
        let world = World::new(&[
            ("w/.git/config", "[includeIf \"gitdir:x\"]\n\tpath = ../.gitconfig\n"),
            (
                "w/.gitconfig",
                "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = ci/more.cfg\n",
            ),
            ("w/ci/more.cfg", "[core]\n\tfsmonitor = ./watch.sh\n[include]\n\tpath = more.cfg\n"),
            (".gitconfig", "[core]\n\thooksPath = hooks\n[include]\n\tpath = ~/more.cfg\n"),
            ("more.cfg", "[core]\n\tpager = w/page.sh\n"),
            (".config/git/config", "[core]\n\teditor = ~/w/edit.sh\n"),
            ("named", "[core]\n\taskPass = w/ask.sh\n"),
        ]);
        let named = [
            (".gitconfig", Read),
            ("tools/hooks", Read),
            ("ci/more.cfg", Read),
            ("watch.sh", Program),
            ("hooks", Read),
            ("page.sh", Program),
            ("edit.sh", Program),
            ("ask.sh", Program),
        ];
        world.check(&named, &[]);
    }
}
