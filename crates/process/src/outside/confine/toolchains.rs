//! The parts of the system and of a home that a build needs to see.
//!
//! Law: a list of names, no guessing. What is not named in the table, not on `PATH` and not granted is
//! not there for a command, and what is named like a credential is hidden in what is shown.

mod table;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use table::{CREDENTIALS, PUBLIC, Parts, TOOLCHAINS, Toolchain};

use jm_files::Sandbox;
use jm_files::denies::DenyList;
use jm_files::system_secrets;
use jm_system::folder::{Descent, readable_entries};

use crate::contract::layout::is_cache;
use crate::contract::within::is_within;
use crate::outside::login_settings;

/// Read-only for every command, where they exist.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/run/current-system",
    "/sys/devices/system",
    "/sys/fs/cgroup",
];

/// Targets of the link `/etc/resolv.conf`: files only, the sockets beside them stay outside.
const RESOLVER: &[&str] = &[
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/NetworkManager/resolv.conf",
];

/// So many names are looked at in a directory of `PATH` that no row of the table describes.
const MOST_NAMES: usize = 2_000;

/// Existing paths that commands read and run. No link leads out of them unnoticed, because a link is
/// only as good as what it points to inside.
pub(crate) fn readable(environment: &[(impl AsRef<OsStr>, impl AsRef<OsStr>)]) -> Vec<PathBuf> {
    NamedToolchains::of(environment).readable()
}

/// The toolchains that an environment names, and what is shown of them.
pub(super) struct NamedToolchains {
    named: Named,
    parts: Vec<PathBuf>,
}

impl NamedToolchains {
    pub(super) fn of(environment: &[(impl AsRef<OsStr>, impl AsRef<OsStr>)]) -> Self {
        let named = Named::new(environment);
        let parts = named.parts();
        Self { named, parts }
    }

    /// As [`readable`].
    pub(super) fn readable(&self) -> Vec<PathBuf> {
        let Self { named, parts } = self;
        let mut all: Vec<PathBuf> = SYSTEM.iter().chain(RESOLVER).map(PathBuf::from).collect();
        all.extend(parts.iter().cloned());
        let homes: Vec<&Path> = named.homes.iter().map(PathBuf::as_path).collect();
        all.extend(login_settings::shown(&homes, named.variable("CARGO_HOME").as_deref()));
        for programs in &named.programs {
            if named.is_dot_directory(programs) {
                all.extend(programs_in(programs))
            } else {
                all.push(programs.clone())
            }
        }
        // A directory of programs that is the home itself, or above it, shows nothing more.
        all.retain(|path| !named.holds_home(path));
        // By their bytes: a hundred paths for each command, of which most are not there.
        all.sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
        all.dedup();
        all.retain(|path| path.exists());
        all
    }

    /// Paths among the readable that stay out of sight: credentials of the system, and names in what is
    /// shown of homes that the sandbox denies or that tools keep logins under.
    pub(super) fn secrets(&self, sandbox: &Sandbox, readable: &[PathBuf]) -> Vec<PathBuf> {
        let Self { named, parts } = self;
        let mut look = SecretSearch { sandbox, readable, hidden: system_secrets::readable() };
        let is_systems =
            |path: &Path| SYSTEM.iter().any(|system| is_within(path, Path::new(system)));
        for path in readable.iter().filter(|path| !is_systems(path) && !is_cache(path)) {
            let is_described = parts.iter().any(|part| is_within(path, part));
            if is_described || !named.programs.contains(path) {
                // What lies deeper are packages, whose names are those of their makers.
                look.at(path)
            } else {
                look.through(path)
            }
        }
        look.hidden
    }
}

/// Directories that an environment names.
struct Named {
    variables: Vec<(&'static str, PathBuf)>,
    programs: Vec<PathBuf>,
    homes: BTreeSet<PathBuf>,
}

impl Named {
    fn new(environment: &[(impl AsRef<OsStr>, impl AsRef<OsStr>)]) -> Self {
        let value = |name: &str| {
            let found = environment.iter().find(|(known, _)| known.as_ref() == name)?;
            Some(plain(Path::new(found.1.as_ref()))).filter(|path| path.is_absolute())
        };
        let path = environment.iter().find(|(name, _)| name.as_ref() == "PATH");
        let programs: Vec<PathBuf> = path
            .map(|(_, value)| {
                std::env::split_paths(value.as_ref()).map(|path| plain(&path)).collect()
            })
            .unwrap_or_default();
        let homes = value("HOME").into_iter();
        let homes = homes.chain(programs.iter().filter_map(|program| home_of(program))).collect();
        let names = TOOLCHAINS.iter().flat_map(|row| row.variables.iter().copied());
        let variables = names.filter_map(|name| Some((name, value(name)?))).collect();
        Self { variables, programs, homes }
    }

    fn variable(&self, name: &str) -> Option<PathBuf> {
        let found = self.variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, path)| path.clone()).filter(|path| !self.holds_home(path))
    }

    /// Every path that the table shows of directories that are there: of most toolchains nothing is.
    fn parts(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for row in TOOLCHAINS {
            let homes = self.homes.iter();
            let in_homes = homes.flat_map(|home| row.in_home.iter().map(|name| home.join(name)));
            let elsewhere = row.variables.iter().filter_map(|name| self.variable(name));
            let folders = in_homes.chain(elsewhere).filter(|folder| folder.exists());
            folders.for_each(|folder| all.extend(parts_of(&folder, row.parts)));
        }
        all
    }

    fn holds_home(&self, path: &Path) -> bool {
        self.homes.iter().any(|home| is_within(home, path))
    }

    /// Tells whether it lies directly in a home and is named like settings are.
    fn is_dot_directory(&self, path: &Path) -> bool {
        let is_hidden = path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
        is_hidden && path.parent().is_some_and(|parent| self.homes.contains(parent))
    }
}

fn parts_of(folder: &Path, parts: Parts) -> Vec<PathBuf> {
    match parts {
        Parts::Whole => vec![folder.to_owned()],
        Parts::Only(names) => names.iter().map(|name| folder.join(name)).collect(),
        Parts::WholeWith(mark) if folder.join(mark).is_file() => vec![folder.to_owned()],
        Parts::WholeWith(_) => Vec::new(),
        Parts::EachWith(mark) => {
            let all = readable_entries(folder).map(|entry| entry.path());
            all.filter(|path| path.join(mark).is_dir()).collect()
        }
    }
}

/// The executable files of a directory.
fn programs_in(folder: &Path) -> Vec<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    readable_entries(folder).map(|entry| entry.path()).filter(is_program).collect()
}

/// The home of the toolchain that a directory of programs belongs to.
fn home_of(programs: &Path) -> Option<PathBuf> {
    let belongs = |home: &&Path| {
        let below = programs.strip_prefix(home).ok();
        below.is_some_and(|below| TOOLCHAINS.iter().any(|row| row.shows(below)))
    };
    programs.ancestors().skip(1).find(belongs).map(Path::to_owned)
}

impl Toolchain {
    /// Tells whether a path below a home is among what is shown.
    fn shows(&self, below: &Path) -> bool {
        let within = |name: &&str| {
            let folder = Path::new(name);
            match self.parts {
                Parts::Whole => is_within(below, folder),
                Parts::Only(names) => below
                    .strip_prefix(folder)
                    .is_ok_and(|rest| names.iter().any(|name| is_within(rest, Path::new(name)))),
                // Of these only the table knows what is theirs.
                Parts::EachWith(_) => is_within(below, folder) && below != folder,
                Parts::WholeWith(_) => false,
            }
        };
        self.in_home.iter().any(within)
    }
}

/// Without what says nothing: doubled slashes, one at the end, single dots.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

/// A search for names that stay out of sight.
struct SecretSearch<'a> {
    sandbox: &'a Sandbox,
    readable: &'a [PathBuf],
    hidden: Vec<PathBuf>,
}

impl SecretSearch<'_> {
    fn is_secret(&self, folder: &Path, name: &OsStr) -> bool {
        static CREDENTIAL_NAMES: OnceLock<Option<DenyList>> = OnceLock::new();
        let known =
            CREDENTIAL_NAMES.get_or_init(|| DenyList::new(CREDENTIALS.iter().copied()).ok());
        let is_public = name.to_str().is_some_and(|name| PUBLIC.contains(&name));
        !is_public
            && (self.sandbox.denies_in(folder, name)
                || known.as_ref().is_none_or(|known| known.denies_in(folder, name)))
    }

    /// Looks at a path that is shown, and at the names in it.
    fn at(&mut self, path: &Path) {
        let (folder, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
        if self.is_secret(folder, name) {
            return self.hidden.push(path.to_owned());
        }
        for entry in readable_entries(path) {
            self.judge(&entry);
        }
    }

    /// Hides a name if it is a secret. A link shows nothing by itself.
    fn judge(&mut self, entry: &DirEntry) -> SearchDescend {
        let Ok(kind) = entry.file_type() else { return SearchDescend::No };
        let path = entry.path();
        let folder = path.parent().unwrap_or(&path);
        if !kind.is_symlink() && self.is_secret(folder, &entry.file_name()) {
            self.hidden.push(path);
            return SearchDescend::No;
        }
        if kind.is_dir() { SearchDescend::Yes } else { SearchDescend::No }
    }

    /// Looks at everything below. Where that is too much to look at for each command, the files beside
    /// the programs remain and the directories do not.
    fn through(&mut self, path: &Path) {
        let already = self.hidden.len();
        let mut descent = Descent::below(path);
        let mut seen = 0;
        while let Some(entry) = descent.next() {
            let Ok(entry) = entry else { continue };
            seen += 1;
            if seen > MOST_NAMES {
                self.hidden.truncate(already);
                return self.only_files_of(path);
            }
            if self.judge(&entry) == SearchDescend::Yes {
                descent.enter(&entry);
            }
        }
    }

    fn only_files_of(&mut self, path: &Path) {
        for entry in readable_entries(path) {
            if self.judge(&entry) == SearchDescend::Yes {
                let folder = entry.path();
                let is_shown = |shown: &PathBuf| is_within(shown, &folder);
                if !self.readable.iter().any(is_shown) {
                    self.hidden.push(folder);
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum SearchDescend {
    Yes,
    No,
}

#[cfg(test)]
mod tests;
