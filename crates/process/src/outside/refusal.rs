//! A refusal of the confinement, and what would lift it.

use std::path::{Component, Path, PathBuf};

use jm_files::names::{Protection, protection};
use rustix::fs::{Access as Permission, access};

use crate::contract::confinement_rules::Access;
use jm_types::HostVerdict;
use jm_types::hosts::{Host, HostRule};

/// A file that commands do not get, and the setting that is the reason.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Withheld {
    /// The file.
    pub path: PathBuf,
    /// The key that would lift it.
    pub setting: String,
}

impl Withheld {
    pub(crate) fn is_gits(&self) -> bool {
        !self.path.parent().is_some_and(|folder| folder.ends_with(".cargo"))
            && self.path.extension().is_none_or(|extension| extension != "toml")
    }
}

/// A refusal, and what would lift it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Refusal {
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
    /// A host that a rule asks about.
    AskedHost(HostRule),
    /// A host that a rule denies.
    DeniedHost(HostRule),
    /// TLS to a listed host that might have been for another one.
    Greeting(Host),
    /// A program that went around the proxy, which is the only way.
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

/// The signal of a filter that ends the process.
pub const SIGSYS: i32 = 31;

impl Refusal {
    /// The refusal of a host, by the verdict of the rules that leave hosts out.
    pub(super) fn of_host(rule: HostRule, verdict: Option<HostVerdict>) -> Self {
        match verdict {
            None => Self::Host(rule),
            Some(HostVerdict::Asked) => Self::AskedHost(rule),
            Some(HostVerdict::Denied) => Self::DeniedHost(rule),
        }
    }

    /// Whatever a command that only reads was refused, an ordinary one may be given; but not what no
    /// tool may read.
    pub(super) fn of(self, access: Access) -> Self {
        match (access, self) {
            (Access::Full, refusal) | (Access::ReadsOnly, refusal @ Refusal::Denied(_)) => refusal,
            (Access::ReadsOnly, _) => Refusal::ReadsOnly,
        }
    }

    /// The refusal in words, for model and person.
    pub fn what(&self) -> String {
        match self {
            Self::Write(path) => {
                format!("the sandbox does not allow commands to write {}", path.display())
            }
            Self::Kept(path) => {
                format!("the sandbox does not allow commands to change {}", path.display())
            }
            Self::Read(path) => format!("the sandbox hides {} from commands", path.display()),
            Self::Denied(path) => format!("no tool may read {}", path.display()),
            Self::Network(_) => "the sandbox gives commands no network".to_owned(),
            Self::Host(rule) => format!("host {rule} was refused: not on the list"),
            Self::AskedHost(rule) => format!("host {rule} was refused: a rule asks about it"),
            Self::DeniedHost(rule) => format!("host {rule} was refused: a rule denies it"),
            Self::Greeting(host) => format!(
                "a TLS connection to {host} was refused: its first message has no readable server name"
            ),
            Self::Around => "the sandbox lets commands reach the listed hosts only, through the \
                             proxy that HTTP_PROXY and HTTPS_PROXY name"
                .to_owned(),
            Self::Call => "the sandbox may have refused a system call".to_owned(),
            Self::ReadsOnly => {
                "it ran unasked and therefore read-only: no writing, no network, an empty home"
                    .to_owned()
            }
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
    pub(super) fn in_homes(self, homes: &[PathBuf]) -> Self {
        match self {
            Self::Write(path) | Self::Read(path) if is_private(&path, homes) => Self::Private(path),
            other => other,
        }
    }

    /// The remedy that a person has.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::Write(path) => of_use(path, Permission::WRITE_OK),
            Self::Read(path) => of_use(path, Permission::READ_OK),
            Self::Network(Some(rule)) => Some(format!(
                "allow it with `--network={rule}`, or an entry in tools.sandbox.commands.network"
            )),
            Self::Network(None) => {
                Some("allow it with `--network`, or tools.sandbox.commands.network = \"on\"".into())
            }
            Self::Host(rule) => Some(format!(
                "allow it with `--network={rule}`, or an entry in tools.sandbox.commands.network"
            )),
            Self::AskedHost(_) => {
                Some("run jm in a terminal to be asked (rules: `jm policy list`)".to_owned())
            }
            Self::DeniedHost(_) => Some("rules: `jm policy list`".to_owned()),
            Self::Around => {
                Some("use HTTP or HTTPS with a program that supports proxies".to_owned())
            }
            Self::Kept(path) if protection(path) == Protection::Never => {
                Some("change it by hand; no tool may".to_owned())
            }
            Self::Kept(_) => Some("change it with a file tool, which asks for approval".to_owned()),
            Self::ReadsOnly => {
                Some("run jm in a terminal to approve it as an ordinary command".to_owned())
            }
            Self::Withheld(one) if one.is_gits() => Some(
                "move that setting into a file of its own, named with `[include] path = …`"
                    .to_owned(),
            ),
            Self::Withheld(_) => {
                Some("move it into credentials.toml beside it (`cargo login`)".to_owned())
            }
            Self::Denied(_) => Some(
                "run it yourself, or change tools.sandbox.denied_patterns and include_default_denies"
                    .to_owned(),
            ),
            Self::Greeting(_) | Self::Call | Self::Private(_) => None,
        }
    }
}

/// Tells whether a path is a home, lies above one, or in a dot directory of one.
pub(super) fn is_private(path: &Path, homes: &[PathBuf]) -> bool {
    homes.iter().any(|home| {
        let home = home.canonicalize().unwrap_or_else(|_| home.clone());
        let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        let below = path.strip_prefix(&home).ok();
        home.starts_with(path) || below.is_some_and(|below| below.components().any(is_hidden))
    })
}

/// The directory that would have to be granted, where that helps: whoever may not do it without
/// confinement may not do it within a wider one, and the root of all is nothing to be granted.
fn of_use(path: &Path, wanted: Permission) -> Option<String> {
    let folder = path.ancestors().skip(1).find(|folder| folder.exists())?;
    let helps = folder.parent().is_some() && access(folder, wanted | Permission::EXEC_OK).is_ok();
    helps.then(|| format!("allow it with `--writable {}`", folder.display()))
}
