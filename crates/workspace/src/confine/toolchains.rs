//! What of the system and of a home a build needs to see.
//!
//! Law: a list of names, no guessing. What is not named here, not on `PATH` and not granted is not
//! there for a command.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

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

/// What `/etc/resolv.conf` may be a link to: files only, the sockets beside them stay outside.
const RESOLVER: &[&str] = &[
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/NetworkManager/resolv.conf",
];

/// Inside the system, for the superuser alone: a command run by the superuser does not see them.
const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/security/opasswd",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/krb5.keytab",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ppp",
    "/etc/NetworkManager/system-connections",
    "/etc/docker/key.json",
    "/etc/kubernetes",
    "/etc/letsencrypt",
];

/// In a home: programs, libraries and download caches of toolchains, and how git knows its person.
const IN_HOME: &[&str] = &[
    ".cargo/bin",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".rustup",
    ".npm/_cacache",
    ".nvm",
    ".fnm",
    ".local/share/fnm",
    ".volta",
    ".asdf",
    ".local/share/mise",
    ".pyenv",
    ".local/share/uv",
    ".cache/uv",
    ".cache/pip",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/virtualenv",
    ".local/share/pnpm",
    ".cache/yarn",
    ".yarn",
    ".bun",
    ".deno",
    ".cache/deno",
    "go/bin",
    "go/pkg",
    ".rbenv",
    ".rvm",
    ".gem",
    ".local/share/gem",
    ".sdkman/candidates",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/wrapper",
    ".ghcup",
    ".cabal/bin",
    ".cabal/packages",
    ".cabal/store",
    ".stack",
    ".opam",
    ".elan",
    ".juliaup",
    ".julia",
    ".dotnet",
    ".nuget/packages",
    ".linuxbrew",
    "miniconda3",
    "miniforge3",
    "anaconda3",
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
];

/// Of these what tools write to while they fetch, and do not work without.
const CACHES: &[&str] = &[
    ".cargo/registry",
    ".cargo/git",
    ".npm/_cacache",
    ".cache/uv",
    ".cache/pip",
    ".cache/yarn",
    ".cache/deno",
    "go/pkg",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/wrapper",
    ".cabal/packages",
    ".nuget/packages",
];

/// Whether this is a download cache.
pub(super) fn is_cache(path: &Path) -> bool {
    CACHES.iter().any(|name| path.ends_with(name))
}

/// Variables that say where a toolchain is.
const NAMING: &[&str] = &[
    "RUSTUP_HOME",
    "PYENV_ROOT",
    "NVM_DIR",
    "GOROOT",
    "JAVA_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "SDKMAN_DIR",
    "VOLTA_HOME",
    "BUN_INSTALL",
    "PNPM_HOME",
    "RBENV_ROOT",
    "GEM_HOME",
    "ASDF_DIR",
    "MISE_DATA_DIR",
    "UV_CACHE_DIR",
    "PIP_CACHE_DIR",
];

/// The parts of `CARGO_HOME` that hold no credentials.
const IN_CARGO_HOME: &[&str] = &["bin", "registry", "git", "config", "config.toml", "env"];

/// What commands read and run: existing paths, and no link leads out of them unnoticed, because a
/// link is only as good as what it points to inside.
pub(crate) fn readable(environment: &[(impl AsRef<OsStr>, impl AsRef<OsStr>)]) -> Vec<PathBuf> {
    let variable = |name: &str| {
        let found = environment.iter().find(|(known, _)| known.as_ref() == name)?;
        Some(plain(Path::new(found.1.as_ref()))).filter(|path| path.is_absolute())
    };
    let path = environment.iter().find(|(name, _)| name.as_ref() == "PATH");
    let programs: Vec<PathBuf> = path
        .map(|(_, value)| std::env::split_paths(value.as_ref()).map(|path| plain(&path)).collect())
        .unwrap_or_default();
    let homes: BTreeSet<PathBuf> = variable("HOME")
        .into_iter()
        .chain(programs.iter().filter_map(|program| home_of(program)))
        .collect();

    let mut all: Vec<PathBuf> = SYSTEM.iter().chain(RESOLVER).map(PathBuf::from).collect();
    all.extend(homes.iter().flat_map(|home| IN_HOME.iter().map(|name| home.join(name))));
    all.extend(NAMING.iter().filter_map(|name| variable(name)));
    let cargo = variable("CARGO_HOME");
    all.extend(cargo.iter().flat_map(|cargo| IN_CARGO_HOME.iter().map(|name| cargo.join(name))));
    all.extend(programs);
    // A variable that names the home itself, or something above it, shows nothing more.
    all.retain(|path| !homes.iter().any(|home| is_within(home, path)));
    // By their bytes: a hundred paths for each command, of which most are not there.
    all.sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    all.dedup();
    all.retain(|path| path.exists());
    all
}

/// The home of the toolchain that a directory of programs belongs to.
fn home_of(programs: &Path) -> Option<PathBuf> {
    let belongs = |home: &&Path| {
        let below = programs.strip_prefix(home).ok();
        below.is_some_and(|below| IN_HOME.iter().any(|name| is_within(below, Path::new(name))))
    };
    programs.ancestors().skip(1).find(belongs).map(Path::to_owned)
}

/// Without what says nothing: doubled slashes, one at the end, single dots.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

/// `Path::starts_with` for paths that are spelt plainly, without taking them apart.
pub(crate) fn is_within(path: &Path, folder: &Path) -> bool {
    let rest = path.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || folder.as_os_str() == "/")
}

/// Paths among the readable that stay out of sight.
pub(crate) fn secrets() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = SYSTEM_SECRETS.iter().map(PathBuf::from).collect();
    let keys = std::fs::read_dir("/etc/ssh").into_iter().flatten().filter_map(Result::ok);
    let is_key = |name: &str| name.starts_with("ssh_host_") && !name.ends_with(".pub");
    all.extend(
        keys.filter(|key| key.file_name().to_str().is_some_and(is_key)).map(|key| key.path()),
    );
    // What the user cannot read, their command cannot either: each name less to hide is a rule, or
    // many, that need not be built.
    all.retain(|path| rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_is_said_of_whole_names() {
        for path in ["/", "/a", "/a/b", "/a/b/c", "/ab", "/a/bc", "b", "b/c"] {
            for folder in ["/", "/a", "/a/b", "b", "/b"] {
                let (path, folder) = (Path::new(path), Path::new(folder));
                assert_eq!(
                    is_within(path, folder),
                    path.starts_with(folder),
                    "{path:?} {folder:?}"
                );
            }
        }
    }

    #[test]
    fn a_home_is_known_by_its_programs() {
        let home = |path: &str| home_of(&plain(Path::new(path)));
        assert_eq!(home("/home/me/.cargo/bin"), Some("/home/me".into()));
        assert_eq!(home("/home/me//.cargo/./bin/"), Some("/home/me".into()));
        assert_eq!(home("/home/me/.nvm/versions/node/v22/bin"), Some("/home/me".into()));
        assert_eq!(home("/home/me/.cargo/binaries"), None);
        assert_eq!(home("/usr/bin"), None);
    }

    #[test]
    fn a_toolchain_on_the_path_is_seen_with_its_parts_and_the_home_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        for name in [".cargo/bin", ".cargo/registry", ".rustup", ".ssh", ".pyenv/shims"] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        std::fs::write(home.join(".cargo/credentials.toml"), "secret").unwrap();
        let path = format!("{0}/.cargo/bin:{0}/.pyenv/shims:/usr/bin:{0}//:", home.display());
        let environment = [("PATH", path.as_str()), ("HOME", "/nonexistent"), ("NVM_DIR", "//")];
        let found = readable(&environment);
        for name in [".cargo/bin", ".cargo/registry", ".rustup", ".pyenv"] {
            assert!(found.contains(&home.join(name)), "{name}: {found:?}");
        }
        let sees = |path: &Path| found.iter().any(|seen| path.starts_with(seen));
        assert!(sees(Path::new("/usr/bin/env")));
        for name in ["", ".ssh", ".cargo/credentials.toml"] {
            assert!(!sees(&home.join(name)), "{name}: {found:?}");
        }
    }
}
