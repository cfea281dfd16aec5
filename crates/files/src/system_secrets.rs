//! Credential files of the system: denied to file tools beneath any root, and hidden from commands.
//!
//! Law: one list for both. Patterns are absolute and matched against the canonical path.

use std::path::{Path, PathBuf};

use jm_system::folder::readable_entries;

/// Credentials of the machine and its services; most are readable for the superuser alone.
const ON_DISK: &[&str] = &[
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
    "/etc/ipsec.secrets",
    "/etc/NetworkManager/system-connections",
    "/etc/docker/key.json",
    "/etc/kubernetes",
    "/etc/letsencrypt",
];

/// Private host keys; the public ones end with `.pub`.
const HOST_KEYS: &str = "/etc/ssh/ssh_host_*_key";

/// Environments and memory of processes. A command has a process table of its own or is kept from
/// others' by Landlock, so that only file tools need these.
const OF_PROCESSES: &[&str] = &[
    "/proc/*/environ",
    "/proc/*/task/*/environ",
    "/proc/*/mem",
    "/proc/*/task/*/mem",
    "/proc/kcore",
];

/// Deny patterns for file tools.
pub(crate) fn patterns() -> impl Iterator<Item = &'static str> {
    let all = ON_DISK.iter().chain(OF_PROCESSES).copied();
    all.chain([HOST_KEYS])
}

/// Existing paths that this user can read, and a command must not.
pub fn readable() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = ON_DISK.iter().map(PathBuf::from).collect();
    let keys = readable_entries(Path::new("/etc/ssh"));
    let is_key = |name: &str| name.starts_with("ssh_host_") && name.ends_with("_key");
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
    use std::path::Path;

    use crate::denies::DenyList;

    #[test]
    fn system_credentials_are_denied_by_their_canonical_path() {
        let list = DenyList::new(super::patterns()).unwrap();
        for path in [
            "/etc/shadow",
            "/etc/gshadow-",
            "/etc/sudoers.d/deploy",
            "/etc/ssl/private/host.crt",
            "/etc/ssh/ssh_host_ed25519_key",
            "/etc/NetworkManager/system-connections/home.nmconnection",
            "/proc/1/environ",
            "/proc/77/task/78/environ",
            "/proc/self/mem",
        ] {
            assert!(list.matching(Path::new(path)).is_some(), "{path}");
        }
        for path in
            ["/etc/passwd", "/etc/ssh/ssh_host_rsa_key.pub", "/w/etc/shadow", "/proc/1/stat"]
        {
            assert_eq!(list.matching(Path::new(path)), None, "{path}");
        }
    }
}
