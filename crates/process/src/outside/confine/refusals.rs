//! Refusals of the confinement, read from what a command printed.
//!
//! Programs say in words what the kernel said in numbers. Best effort: a line that speaks of a
//! refusal, the path or host in it, and what the rules say about that.

use std::path::{Path, PathBuf};

use rustix::fs::{Access as Permission, access};
use rustix::io::Errno;

use super::missing_settings::missed_settings;
use crate::contract::confinement_rules::{Access, ConfinementRules, Network};
use crate::outside::refusal::Refusal;
use jm_types::hosts::HostRule;

const MOST_REFUSALS: usize = 3;
const MOST_LINES: usize = 2_000;
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
/// Messages about a name that the confinement is mounted on.
const BUSY: &[&str] = &["device or resource busy", "ebusy"];
const MISSING: &[&str] = &["no such file or directory", "directory nonexistent", "enoent"];

/// The first few refusals that the rules explain.
pub fn find_refusals(output: &str, rules: &ConfinementRules) -> Vec<Refusal> {
    let mut found: Vec<Refusal> = missed_settings(output, rules);
    for line in output.lines().take(MOST_LINES) {
        let refusal =
            refusal_in(line, rules).map(|refusal| refusal.in_homes(&rules.homes).of(rules.access));
        if let Some(refusal) = refusal
            && !found.contains(&refusal)
        {
            found.push(refusal);
        }
        if found.len() >= MOST_REFUSALS {
            break;
        }
    }
    found
}

fn refusal_in(line: &str, rules: &ConfinementRules) -> Option<Refusal> {
    let lower = line.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let unreached = match rules.network {
        Network::Off => Some(Refusal::Network(named_host(line))),
        Network::Listed(_) => Some(Refusal::Around),
        Network::On => None,
    };
    if unreached.is_some() && says(UNREACHABLE) {
        return unreached;
    }
    let named: Vec<PathBuf> = paths(line, rules);
    if says(REFUSALS) {
        return named
            .iter()
            .find_map(|path| judge(path, rules))
            .or_else(|| (named.is_empty() && says(&["socket"])).then_some(Refusal::Network(None)))
            .or_else(|| says(&["operation not permitted", "eperm"]).then_some(Refusal::Call));
    }
    if says(BUSY) {
        let kept =
            |refusal_in: &Refusal| matches!(refusal_in, Refusal::Kept(_) | Refusal::Denied(_));
        return named.iter().filter_map(|path| judge(path, rules)).find(kept);
    }
    // What is hidden looks missing where a command has a tree of its own.
    let exists = |path: &&PathBuf| path.parent().is_some_and(Path::exists);
    let hidden = |path: &&PathBuf| !is_seen(path, rules);
    says(MISSING).then(|| named.iter().filter(exists).find(hidden).cloned().map(Refusal::Read))?
}

/// The host in a line about a name that could not be resolved. A name with a dot: anything else may be
/// any word.
fn named_host(line: &str) -> Option<HostRule> {
    let is_end = |c: char| c.is_whitespace() || "'\"`;,()[]<>".contains(c);
    let words = line.split(is_end).map(|word| word.trim_end_matches([':', '.']));
    let is_name = |word: &&str| {
        let (_, last) = word.rsplit_once('.')?;
        let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
        let is_top = last.len() > 1 && last.chars().all(|c| c.is_ascii_alphabetic());
        (is_plain && is_top).then_some(())
    };
    words.filter(|word| is_name(word).is_some()).find_map(|word| word.parse().ok())
}

fn judge(path: &Path, rules: &ConfinementRules) -> Option<Refusal> {
    if rules.kept.iter().any(|kept| path.starts_with(&kept.path)) {
        return Some(Refusal::Kept(path.to_owned()));
    }
    if rules.hidden.iter().any(|hidden| path.starts_with(hidden)) {
        return Some(Refusal::Denied(path.to_owned()));
    }
    let in_roots = rules.writable.iter().any(|root| path.starts_with(root));
    if in_roots && rules.access == Access::ReadsOnly {
        return Some(Refusal::ReadsOnly);
    }
    match (in_roots, is_seen(path, rules)) {
        (true, _) => None,
        // Without confinement it would be refused as well.
        (false, true) if access(path, Permission::READ_OK) == Err(Errno::ACCESS) => None,
        (false, true) => Some(Refusal::Write(path.to_owned())),
        (false, false) if rules.backend.has_own_tree() => Some(Refusal::Write(path.to_owned())),
        (false, false) => Some(Refusal::Read(path.to_owned())),
    }
}

fn is_seen(path: &Path, rules: &ConfinementRules) -> bool {
    let shown = rules.readable.iter().chain(&rules.writable).any(|seen| path.starts_with(seen));
    shown && !rules.hidden.iter().any(|hidden| path.starts_with(hidden))
}

/// Words of a line that look like paths, as absolute ones.
fn paths(line: &str, rules: &ConfinementRules) -> Vec<PathBuf> {
    let cut = |c: char| c.is_whitespace() || "'\"`:;,()[]{}<>=".contains(c) || "‘’“”".contains(c);
    let mut rest = line;
    let words = std::iter::from_fn(|| {
        let (word, after) = rest.split_at(rest.find(cut).unwrap_or(rest.len()));
        let is_over = rest.is_empty();
        rest = after.get(after.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default();
        (!is_over).then_some((word, after))
    });
    // What begins with two slashes is the host of an address.
    let is_named = |(word, after): &(&str, &str)| {
        word.len() > 1 && !word.starts_with("//") && !is_numbered(after)
    };
    let words = words.filter(is_named).map(|(word, _)| word);
    let absolute = |word: &str| {
        if word.starts_with('/') {
            return Some(plain(Path::new(word)));
        }
        let is_relative = word.contains('/') || word.starts_with('.');
        let root = rules.writable.first().filter(|_| is_relative)?;
        Some(plain(&root.join(word)))
    };
    words.filter_map(absolute).collect()
}

/// Tells whether a line's number follows: then a program names the place in it that speaks, and not what
/// it was refused.
fn is_numbered(after: &str) -> bool {
    let after = after.trim_start_matches(['\'', '"']);
    let has_digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let spelled = |text: &str| text.strip_prefix("line ").is_some_and(has_digits);
    let by_word = after.trim_start_matches([',', ':']).strip_prefix(' ').is_some_and(spelled);
    let by_colon = after.strip_prefix(':').map(|after| after.strip_prefix(' ').unwrap_or(after));
    by_word
        || by_colon.is_some_and(|after| {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            rest.len() < after.len() && rest.starts_with(':')
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::confinement_rules::{Backend, KeptName, KeptPresence, Resources};

    fn rules() -> ConfinementRules {
        ConfinementRules {
            backend: Backend::Namespaces,
            access: Access::Full,
            network: Network::Off,
            writable: vec!["/w".into()],
            readable: vec!["/usr".into(), "/etc".into()],
            homes: vec!["/home/me".into()],
            kept: vec![KeptName { path: "/w/.git/hooks".into(), now: KeptPresence::Present }],
            hidden: vec!["/w/.env".into()],
            absent: Vec::new(),
            identities: Vec::new(),
            resources: Resources::default(),
            layer: None,
            shares_loopback: false,
        }
    }

    #[test]
    fn refusals_are_understood_in_the_words_of_programs() {
        let write = |path: &str| Some(Refusal::Write(path.into()));
        let unreached = |host: &str| Refusal::Network(Some(host.parse().unwrap()));
        let cases: &[(&str, Option<Refusal>)] = &[
            ("touch: cannot touch '/usr/x': Read-only file system", write("/usr/x")),
            ("sh: 1: cannot create /etc/x: Permission denied", write("/etc/x")),
            ("Error: EROFS: read-only file system, open '/usr/y'", write("/usr/y")),
            ("cat: .env: Permission denied", Some(Refusal::Denied("/w/.env".into()))),
            ("touch: .git/hooks/a: Read-only", None),
            (
                "touch: cannot touch '.git/hooks/a': Read-only file system",
                Some(Refusal::Kept("/w/.git/hooks/a".into())),
            ),
            (
                "rm: cannot remove '.git/hooks': Device or resource busy",
                Some(Refusal::Kept("/w/.git/hooks".into())),
            ),
            ("umount: /usr/x: Device or resource busy", None),
            ("cat: /proc/../etc/../etc/nothing-here: No such file or directory", None),
            ("curl: (6) Could not resolve host: example.com", Some(unreached("example.com"))),
            (
                "git: Could not resolve host: a.org; Name or service not known",
                Some(unreached("a.org")),
            ),
            ("getaddrinfo EAI_AGAIN registry.npmjs.org", Some(unreached("registry.npmjs.org"))),
            ("connect: Network is unreachable", Some(Refusal::Network(None))),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'x'", None),
            ("unshare: unshare failed: Operation not permitted", Some(Refusal::Call)),
            ("./secret.txt: Permission denied", None),
            (
                "npm error fetch http://localhost:1/x: EROFS: read-only file system, open '/usr/y/z'",
                write("/usr/y/z"),
            ),
            ("test failed: expected 1, got 2", None),
            ("/opt/t: 9: cannot create /usr/x: Permission denied", write("/usr/x")),
            ("/opt/t: line 9: /usr/x: Read-only file system", write("/usr/x")),
            ("/opt/t:9:in 'open': Permission denied - /usr/x (Errno::EACCES)", write("/usr/x")),
            ("/opt/t: line 9: x: No such file or directory", None),
            ("cannot open ./x: Permission denied at /opt/t line 9.", None),
            ("  File \"/opt/t\", line 9: Permission denied", None),
            ("/usr/x: 2 of them: Permission denied", write("/usr/x")),
        ];
        for (line, expected) in cases {
            assert_eq!(refusal_in(line, &rules()), *expected, "{line}");
        }
    }

    #[test]
    fn a_command_that_only_reads_is_refused_as_one() {
        let reading = ConfinementRules { access: Access::ReadsOnly, kept: Vec::new(), ..rules() };
        let said = "touch: cannot touch './a': Read-only file system\n\
                    cat: .env: Permission denied\n\
                    curl: (6) Could not resolve host: example.com\n\
                    sh: 1: cannot create /usr/x: Read-only file system\n";
        assert_eq!(
            find_refusals(said, &reading),
            [Refusal::ReadsOnly, Refusal::Denied("/w/.env".into())]
        );
        assert_eq!(find_refusals("cat: ./a: No such file or directory", &reading), []);
    }

    #[test]
    fn what_would_not_help_is_not_offered() {
        let folder = tempfile::tempdir().unwrap();
        let granted = format!("allow it with `--writable {}`", folder.path().display());
        let offered = |path: &Path| Refusal::Write(path.to_owned()).remedy();
        assert_eq!(offered(&folder.path().join("new")), Some(granted.clone()));
        assert_eq!(offered(&folder.path().join("no/such/folder")), Some(granted));
        assert_eq!(offered(Path::new("/new")), None);
        // No user writes there, whatever their rights.
        assert_eq!(offered(Path::new("/proc/sys/new")), None);
    }

    #[test]
    fn the_first_few_are_told_once_each() {
        let many = "touch: '/usr/a': Read-only file system\n".repeat(5)
            + "touch: '/usr/b': Read-only file system\nNetwork is unreachable\n"
            + "touch: '/usr/c': Read-only file system\n";
        assert_eq!(find_refusals(&many, &rules()).len(), MOST_REFUSALS);
    }
}
