//! What the walls refused, read from what a command printed.
//!
//! Programs say in words what the kernel said in numbers. Best effort: a line that speaks of a
//! refusal, the path or host in it, and what the walls say about that.

use std::path::{Path, PathBuf};

use super::walls::{Network, Walls};

/// A refusal, and what would lift it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Bite {
    /// Not writable for commands.
    Write(PathBuf),
    /// Kept as it is, whoever asks.
    Kept(PathBuf),
    /// Not visible for commands.
    Read(PathBuf),
    Network,
    /// A system call that no command gets.
    Call,
}

const MOST_BITES: usize = 3;
const MOST_LINES: usize = 2_000;
/// The signal of a filter that ends the process.
pub const SIGSYS: i32 = 31;

const REFUSALS: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "erofs",
];
const UNREACHABLE: &[&str] = &[
    "network is unreachable",
    "could not resolve host",
    "couldn't resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "getaddrinfo",
    "eai_again",
    "enetunreach",
    "failed to lookup address",
    "no address associated with hostname",
];
const MISSING: &[&str] = &["no such file or directory", "enoent"];

/// The first few refusals that the walls explain.
pub fn bites(output: &str, walls: &Walls) -> Vec<Bite> {
    let mut found: Vec<Bite> = Vec::new();
    for line in output.lines().take(MOST_LINES) {
        if let Some(bite) = bite(line, walls)
            && !found.contains(&bite)
        {
            found.push(bite);
        }
        if found.len() == MOST_BITES {
            break;
        }
    }
    found
}

fn bite(line: &str, walls: &Walls) -> Option<Bite> {
    let lower = line.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if walls.network == Network::Off && says(UNREACHABLE) {
        return Some(Bite::Network);
    }
    let named: Vec<PathBuf> = paths(line, walls);
    if says(REFUSALS) {
        return named
            .iter()
            .find_map(|path| judge(path, walls))
            .or_else(|| (named.is_empty() && says(&["socket"])).then_some(Bite::Network))
            .or_else(|| says(&["operation not permitted", "eperm"]).then_some(Bite::Call));
    }
    // What is hidden looks missing where a command has a tree of its own.
    let exists = |path: &&PathBuf| path.symlink_metadata().is_ok();
    let hidden = |path: &&PathBuf| !is_seen(path, walls);
    says(MISSING).then(|| named.iter().filter(exists).find(hidden).cloned().map(Bite::Read))?
}

fn judge(path: &Path, walls: &Walls) -> Option<Bite> {
    if walls.kept.iter().any(|kept| path.starts_with(&kept.path)) {
        return Some(Bite::Kept(path.to_owned()));
    }
    if walls.hidden.iter().any(|hidden| path.starts_with(hidden)) {
        return Some(Bite::Read(path.to_owned()));
    }
    let writable = walls.writable.iter().any(|root| path.starts_with(root));
    match (writable, is_seen(path, walls)) {
        (true, _) => None,
        (false, true) => Some(Bite::Write(path.to_owned())),
        (false, false) if walls.backend.has_own_tree() => Some(Bite::Write(path.to_owned())),
        (false, false) => Some(Bite::Read(path.to_owned())),
    }
}

fn is_seen(path: &Path, walls: &Walls) -> bool {
    let shown = walls.readable.iter().chain(&walls.writable).any(|seen| path.starts_with(seen));
    shown && !walls.hidden.iter().any(|hidden| path.starts_with(hidden))
}

/// Words of a line that look like paths, as absolute ones.
fn paths(line: &str, walls: &Walls) -> Vec<PathBuf> {
    let cut = |c: char| c.is_whitespace() || "'\"`:;,()[]{}<>=".contains(c) || "‘’“”".contains(c);
    let words = line.split(cut).filter(|word| word.len() > 1);
    let absolute = |word: &str| match word.starts_with('/') {
        true => Some(PathBuf::from(word)),
        false if word.contains('/') || word.starts_with('.') => {
            walls.writable.first().map(|root| plain(&root.join(word)))
        }
        false => None,
    };
    words.filter_map(absolute).collect()
}

/// Without `.` and `..`, by the words alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(plain.pop()),
            std::path::Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

impl Bite {
    /// What happened, for model and person.
    pub fn what(&self) -> String {
        match self {
            Self::Write(path) => {
                format!("the sandbox does not let commands write {}", path.display())
            }
            Self::Kept(path) => {
                format!("the sandbox keeps {} from being changed by commands", path.display())
            }
            Self::Read(path) => format!("the sandbox hides {} from commands", path.display()),
            Self::Network => "the sandbox gives commands no network".to_owned(),
            Self::Call => "the sandbox may have refused a system call".to_owned(),
        }
    }

    /// What a person could do about it.
    pub fn remedy(&self) -> Option<String> {
        let parent = |path: &Path| path.parent().unwrap_or(path).display().to_string();
        match self {
            Self::Write(path) | Self::Read(path) => {
                Some(format!("a person can grant it: --writable {}", parent(path)))
            }
            Self::Network => Some(
                "a person can grant it: --network, or tools.sandbox.commands.network = \"on\""
                    .into(),
            ),
            Self::Kept(_) => Some("change it with a file tool, which asks a person".to_owned()),
            Self::Call => None,
        }
    }
}
