//! What the walls refused, read from what a command printed.
//!
//! Programs say in words what the kernel said in numbers. Best effort: a line that speaks of a
//! refusal, the path or host in it, and what the walls say about that.

use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access as Permission, access};
use rustix::io::Errno;

use super::toolchains::Withheld;
use super::unset::missed_settings;
use super::walls::{Access, Network, Walls};
use super::{Host, HostRule};
use crate::names::{Protection, protection};

/// A refusal, and what would lift it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Bite {
    /// Not writable for commands.
    Write(PathBuf),
    /// Kept as it is, whoever asks.
    Kept(PathBuf),
    /// Not visible for commands.
    Read(PathBuf),
    /// Denied to every tool.
    Denied(PathBuf),
    /// Of a network that is off; the rule that would allow the host, where the output names one.
    Network(Option<HostRule>),
    /// A host that is not listed, as the rule that would allow it.
    Host(HostRule),
    /// TLS to a listed host that might have been for another one.
    Greeting(Host),
    /// A program that went around the gate, which is the only way.
    Around,
    /// A system call that no command gets.
    Call,
    /// Something that a command which runs unasked never gets.
    ReadsOnly,
    /// A settings file that may hold a login.
    Withheld(Withheld),
    /// A home, or something in a dot directory of it: logins lie there, so no way to it is offered.
    Private(PathBuf),
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
/// What is said of a name that the walls are mounted on.
const BUSY: &[&str] = &["device or resource busy", "ebusy"];
const MISSING: &[&str] = &["no such file or directory", "directory nonexistent", "enoent"];

/// The first few refusals that the walls explain.
pub fn bites(output: &str, walls: &Walls) -> Vec<Bite> {
    let mut found: Vec<Bite> = missed_settings(output, walls);
    for line in output.lines().take(MOST_LINES) {
        let bite = bite(line, walls).map(|bite| bite.in_homes(&walls.homes).of(walls.access));
        if let Some(bite) = bite
            && !found.contains(&bite)
        {
            found.push(bite);
        }
        if found.len() >= MOST_BITES {
            break;
        }
    }
    found
}

fn bite(line: &str, walls: &Walls) -> Option<Bite> {
    let lower = line.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let unreached = match walls.network {
        Network::Off => Some(Bite::Network(named_host(line))),
        Network::Listed(_) => Some(Bite::Around),
        Network::On => None,
    };
    if unreached.is_some() && says(UNREACHABLE) {
        return unreached;
    }
    let named: Vec<PathBuf> = paths(line, walls);
    if says(REFUSALS) {
        return named
            .iter()
            .find_map(|path| judge(path, walls))
            .or_else(|| (named.is_empty() && says(&["socket"])).then_some(Bite::Network(None)))
            .or_else(|| says(&["operation not permitted", "eperm"]).then_some(Bite::Call));
    }
    if says(BUSY) {
        let kept = |bite: &Bite| matches!(bite, Bite::Kept(_) | Bite::Denied(_));
        return named.iter().filter_map(|path| judge(path, walls)).find(kept);
    }
    // What is hidden looks missing where a command has a tree of its own.
    let exists = |path: &&PathBuf| path.parent().is_some_and(Path::exists);
    let hidden = |path: &&PathBuf| !is_seen(path, walls);
    says(MISSING).then(|| named.iter().filter(exists).find(hidden).cloned().map(Bite::Read))?
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

fn judge(path: &Path, walls: &Walls) -> Option<Bite> {
    if walls.kept.iter().any(|kept| path.starts_with(&kept.path)) {
        return Some(Bite::Kept(path.to_owned()));
    }
    if walls.hidden.iter().any(|hidden| path.starts_with(hidden)) {
        return Some(Bite::Denied(path.to_owned()));
    }
    let in_roots = walls.writable.iter().any(|root| path.starts_with(root));
    if in_roots && walls.access == Access::ReadsOnly {
        return Some(Bite::ReadsOnly);
    }
    match (in_roots, is_seen(path, walls)) {
        (true, _) => None,
        // Without walls it would be refused as well.
        (false, true) if access(path, Permission::READ_OK) == Err(Errno::ACCESS) => None,
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
    let absolute = |word: &str| match word.starts_with('/') {
        true => Some(plain(Path::new(word))),
        false if word.contains('/') || word.starts_with('.') => {
            walls.writable.first().map(|root| plain(&root.join(word)))
        }
        false => None,
    };
    words.filter_map(absolute).collect()
}

/// Whether a line's number follows: then a program names the place in it that speaks, and not what
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

impl Bite {
    /// Whatever a command that only reads was refused, an ordinary one may be given; but not what no
    /// tool may read.
    fn of(self, access: Access) -> Self {
        match (access, self) {
            (Access::Full, bite) | (Access::ReadsOnly, bite @ Bite::Denied(_)) => bite,
            (Access::ReadsOnly, _) => Bite::ReadsOnly,
        }
    }

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
            Self::Denied(path) => format!("no tool may read {}", path.display()),
            Self::Network(_) => "the sandbox gives commands no network".to_owned(),
            Self::Host(rule) => format!("host {rule} was refused: it is not among the listed ones"),
            Self::Greeting(host) => format!(
                "a TLS connection to {host} was refused: the name in its first message cannot be \
                 read, because the message is too long or not as TLS has it"
            ),
            Self::Around => "the sandbox lets commands reach the listed hosts only, through the \
                             proxy that HTTP_PROXY and HTTPS_PROXY name"
                .to_owned(),
            Self::Call => "the sandbox may have refused a system call".to_owned(),
            Self::ReadsOnly => "it ran without a question and therefore read-only: no writing, no \
                                network, an empty home"
                .to_owned(),
            Self::Private(path) => {
                format!("the sandbox hides {} from commands", path.display())
            }
            Self::Withheld(one) => format!(
                "the sandbox hides {} from commands, because {} in it may hold a login",
                one.path.display(),
                one.setting
            ),
        }
    }

    /// Both of it, for an answer.
    pub fn in_words(&self) -> String {
        match self.remedy() {
            Some(remedy) => format!("{}; {remedy}", self.what()),
            None => self.what(),
        }
    }

    /// The same, without a way to what is private.
    fn in_homes(self, homes: &[PathBuf]) -> Self {
        match self {
            Self::Write(path) | Self::Read(path) if is_private(&path, homes) => Self::Private(path),
            other => other,
        }
    }

    /// What a person could do about it.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Write(path) => of_use(path, Permission::WRITE_OK),
            Self::Read(path) => of_use(path, Permission::READ_OK),
            Self::Network(Some(rule)) => Some(format!(
                "a person can grant it: --network={rule}, or an entry in \
                 tools.sandbox.commands.network"
            )),
            Self::Network(None) => Some(
                "a person can grant it: --network, or tools.sandbox.commands.network = \"on\""
                    .into(),
            ),
            Self::Host(rule) => Some(format!(
                "a person can grant it: --network={rule}, or an entry in \
                 tools.sandbox.commands.network"
            )),
            Self::Around => Some("use HTTP or HTTPS with a program that knows proxies".to_owned()),
            Self::Kept(path) if protection(path) == Protection::Never => {
                Some("a person can change it; no tool can".to_owned())
            }
            Self::Kept(_) => Some("change it with a file tool, which asks a person".to_owned()),
            Self::ReadsOnly => {
                Some("at a terminal a person can let it run as an ordinary command".to_owned())
            }
            Self::Withheld(one) if one.is_gits() => Some(
                "a person can move that setting into a file of its own and name it with \
                 `[include] path = …`"
                    .to_owned(),
            ),
            Self::Withheld(_) => Some(
                "a person can move it into credentials.toml beside it (`cargo login`)".to_owned(),
            ),
            Self::Greeting(_) | Self::Denied(_) | Self::Call | Self::Private(_) => None,
        }
    }
}

/// Whether a path is a home, lies above one, or in a dot directory of one.
pub(super) fn is_private(path: &Path, homes: &[PathBuf]) -> bool {
    homes.iter().any(|home| {
        let home = home.canonicalize().unwrap_or_else(|_| home.clone());
        let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        let below = path.strip_prefix(&home).ok();
        home.starts_with(path) || below.is_some_and(|below| below.components().any(is_hidden))
    })
}

/// The directory that would have to be granted, where that helps: whoever may not do it without
/// walls may not do it within wider ones, and the root of all is nothing to be granted.
fn of_use(path: &Path, wanted: Permission) -> Option<String> {
    let folder = path.ancestors().skip(1).find(|folder| folder.exists())?;
    let helps = folder.parent().is_some() && access(folder, wanted | Permission::EXEC_OK).is_ok();
    helps.then(|| format!("a person can grant it: --writable {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::super::walls::{Backend, Existing, Kept, Resources};
    use super::*;

    fn walls() -> Walls {
        Walls {
            backend: Backend::Namespaces,
            access: Access::Full,
            network: Network::Off,
            writable: vec!["/w".into()],
            readable: vec!["/usr".into(), "/etc".into()],
            homes: vec!["/home/me".into()],
            kept: vec![Kept { path: "/w/.git/hooks".into(), now: Existing::Present }],
            hidden: vec!["/w/.env".into()],
            absent: Vec::new(),
            identities: Vec::new(),
            resources: Resources::default(),
        }
    }

    #[test]
    fn refusals_are_understood_in_the_words_of_programs() {
        let write = |path: &str| Some(Bite::Write(path.into()));
        let unreached = |host: &str| Bite::Network(Some(host.parse().unwrap()));
        let cases: &[(&str, Option<Bite>)] = &[
            ("touch: cannot touch '/usr/x': Read-only file system", write("/usr/x")),
            ("sh: 1: cannot create /etc/x: Permission denied", write("/etc/x")),
            ("Error: EROFS: read-only file system, open '/usr/y'", write("/usr/y")),
            ("cat: .env: Permission denied", Some(Bite::Denied("/w/.env".into()))),
            ("touch: .git/hooks/a: Read-only", None),
            (
                "touch: cannot touch '.git/hooks/a': Read-only file system",
                Some(Bite::Kept("/w/.git/hooks/a".into())),
            ),
            (
                "rm: cannot remove '.git/hooks': Device or resource busy",
                Some(Bite::Kept("/w/.git/hooks".into())),
            ),
            ("umount: /usr/x: Device or resource busy", None),
            ("cat: /proc/../etc/../etc/nothing-here: No such file or directory", None),
            ("curl: (6) Could not resolve host: example.com", Some(unreached("example.com"))),
            (
                "git: Could not resolve host: a.org; Name or service not known",
                Some(unreached("a.org")),
            ),
            ("getaddrinfo EAI_AGAIN registry.npmjs.org", Some(unreached("registry.npmjs.org"))),
            ("connect: Network is unreachable", Some(Bite::Network(None))),
            ("FileNotFoundError: [Errno 2] No such file or directory: 'x'", None),
            ("unshare: unshare failed: Operation not permitted", Some(Bite::Call)),
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
            assert_eq!(bite(line, &walls()), *expected, "{line}");
        }
    }

    #[test]
    fn a_command_that_only_reads_is_refused_as_one() {
        let reading = Walls { access: Access::ReadsOnly, kept: Vec::new(), ..walls() };
        let said = "touch: cannot touch './a': Read-only file system\n\
                    cat: .env: Permission denied\n\
                    curl: (6) Could not resolve host: example.com\n\
                    sh: 1: cannot create /usr/x: Read-only file system\n";
        assert_eq!(bites(said, &reading), [Bite::ReadsOnly, Bite::Denied("/w/.env".into())]);
        assert_eq!(bites("cat: ./a: No such file or directory", &reading), []);
    }

    #[test]
    fn what_would_not_help_is_not_offered() {
        let folder = tempfile::tempdir().unwrap();
        let granted = format!("a person can grant it: --writable {}", folder.path().display());
        let offered = |path: &Path| Bite::Write(path.to_owned()).remedy();
        assert_eq!(offered(&folder.path().join("new")), Some(granted.clone()));
        assert_eq!(offered(&folder.path().join("no/such/folder")), Some(granted));
        assert_eq!(offered(Path::new("/new")), None);
        // Nobody writes there, whatever their rights.
        assert_eq!(offered(Path::new("/proc/sys/new")), None);
    }

    #[test]
    fn the_first_few_are_told_once_each() {
        let many = "touch: '/usr/a': Read-only file system\n".repeat(5)
            + "touch: '/usr/b': Read-only file system\nNetwork is unreachable\n"
            + "touch: '/usr/c': Read-only file system\n";
        assert_eq!(bites(&many, &walls()).len(), MOST_BITES);
    }
}
