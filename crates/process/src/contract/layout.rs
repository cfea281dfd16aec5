//! The file tree that a command sees, as an ordered list of mounts.
//!
//! Law: pure. The parent comes before the child, and of two claims on one path the stricter wins:
//! hidden before kept before writable before data before readable before empty.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::confinement_rules::{Access, ConfinementRules};
use super::within::is_within;

/// The kind of mount at a path of the command's tree. The order is the priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MountKind {
    /// A directory of its own, empty at first and gone afterwards.
    Scratch,
    Readable,
    /// Readable, and what is written there lands in memory.
    Cached,
    /// Readable, and nothing in it can be executed.
    Data,
    Writable,
    /// As outside, unchangeable.
    Kept,
    /// There, and without content.
    Hidden,
}

/// Download caches: tools write to them while they fetch, and do not work without.
const CACHES: &[&str] = &[
    ".cargo/registry",
    ".cargo/git",
    ".npm/_cacache",
    ".cache/uv",
    ".cache/pip",
    ".cache/yarn",
    ".cache/deno/deps",
    ".cache/deno/gen",
    ".cache/deno/npm",
    ".cache/deno/remote",
    "go/pkg",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/wrapper",
    ".cabal/packages",
    ".nuget/packages",
];

/// Tells whether this is a download cache.
pub(crate) fn is_cache(path: &Path) -> bool {
    CACHES.iter().any(|name| path.ends_with(name))
}

/// Paths at which every command gets an empty directory of its own.
pub(crate) const SCRATCH: &[&str] = &["/tmp", "/var/tmp"];

/// Mounts in the order in which they are made.
pub(crate) type Layout = Vec<(PathBuf, MountKind)>;

/// Every mount of the tree besides `/`, `/dev` and `/proc`.
pub(crate) fn mount_layout(rules: &ConfinementRules) -> Layout {
    let scratch = SCRATCH.iter().map(PathBuf::from);
    let mut all: Vec<(PathBuf, MountKind)> =
        scratch.map(|path| (path, MountKind::Scratch)).collect();
    all.extend(rules.homes.iter().map(|path| (path.clone(), MountKind::Scratch)));
    let seen = |path: &PathBuf| {
        if is_cache(path) {
            (path.clone(), MountKind::Cached)
        } else {
            (path.clone(), MountKind::Readable)
        }
    };
    all.extend(rules.readable.iter().map(seen));
    let root = match rules.access {
        Access::ReadsOnly => MountKind::Data,
        Access::Full => MountKind::Writable,
    };
    all.extend(rules.writable.iter().map(|path| (path.clone(), root)));
    all.extend(rules.direct().iter().map(|direct| (direct.path.clone(), root)));
    all.extend(rules.kept.iter().map(|kept| (kept.path.clone(), MountKind::Kept)));
    all.extend(rules.hidden.iter().map(|path| (path.clone(), MountKind::Hidden)));
    all.extend(anchor_directories(rules).into_iter().map(|path| (path, MountKind::Writable)));
    // On a layer all of the root is there already, and nothing of it is real.
    all.retain(|(path, place)| match place {
        MountKind::Readable | MountKind::Cached | MountKind::Data => !rules.is_on_layer(path),
        MountKind::Scratch | MountKind::Writable | MountKind::Kept | MountKind::Hidden => true,
    });
    all.sort_unstable_by(|(one, place), (other, second)| {
        by_names(one, other).then(place.cmp(second))
    });
    let mut layout: Vec<(PathBuf, MountKind)> = Vec::new();
    // Indices of the mounts around the path at hand, the innermost last: the order of paths is
    // that of a walk, so what is left behind is never met again.
    let mut around: Vec<usize> = Vec::new();
    for (path, place) in all {
        while around.last().is_some_and(|last| !is_within(&path, &layout[*last].0)) {
            around.pop();
        }
        let over = around.last().map(|last| layout[*last].1);
        if let Some(last) = around.last().filter(|last| layout[**last].0 == path) {
            layout[*last].1 = place;
            continue;
        }
        // What lies in an empty directory is not there to be hidden.
        match (place, over) {
            (MountKind::Hidden | MountKind::Kept, Some(MountKind::Scratch) | None) => continue,
            (_, Some(MountKind::Hidden)) => continue,
            // Nothing changes by mounting a directory where it already is.
            (MountKind::Readable, Some(MountKind::Readable)) => continue,
            _ => {}
        }
        around.push(layout.len());
        layout.push((path, place));
    }
    layout
}

/// Directories between a root and a name that is kept or hidden: mounted on themselves they cannot
/// be renamed, and with them what they hold. Inside a name that is kept nothing can.
pub(crate) fn anchor_directories(rules: &ConfinementRules) -> Vec<PathBuf> {
    let held = rules.kept.iter().map(|kept| &kept.path).chain(&rules.hidden);
    let held = held.chain(&rules.absent);
    // Where nothing can be written nothing can be renamed.
    let held = held.filter(|_| rules.access == Access::Full);
    // On a layer the kernel renames no directory that was there before.
    let held = held.filter(|path| !rules.is_on_layer(path));
    let held = held.chain(rules.direct().iter().map(|direct| &direct.path));
    let kept: HashSet<&[u8]> =
        rules.kept.iter().map(|kept| kept.path.as_os_str().as_bytes()).collect();
    // Each directory that was met, and whether it is kept or inside one that is.
    let mut known: HashMap<&[u8], bool> = HashMap::new();
    let mut anchors = Vec::new();
    for path in held {
        let Some(root) = rules.writable.iter().find(|root| is_within(path, root)) else { continue };
        let (mut new, mut is_kept) = (Vec::new(), false);
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != root) {
            if let Some(above) = known.get(folder.as_os_str().as_bytes()) {
                is_kept = *above;
                break;
            }
            new.push(folder);
        }
        for folder in new.into_iter().rev() {
            let name = folder.as_os_str().as_bytes();
            is_kept |= kept.contains(name);
            known.insert(name, is_kept);
            if !is_kept {
                anchors.push(folder.to_owned());
            }
        }
    }
    anchors
}

/// The order of a walk: a directory before what it holds, and all of that before the next name. As
/// `Path` has it, without taking the paths apart.
fn by_names(one: &Path, other: &Path) -> Ordering {
    let first = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    let [one, other] = [one, other].map(|path| path.as_os_str().as_bytes().iter().map(first));
    one.cmp(other)
}

#[cfg(test)]
mod tests {
    use super::super::confinement_rules::{
        Backend, FileIdentity, KeptName, KeptPresence, LayerPlace, Network, Resources,
    };
    use super::*;

    fn rules(change: impl FnOnce(&mut ConfinementRules)) -> ConfinementRules {
        let mut rules = ConfinementRules {
            backend: Backend::Namespaces,
            access: Access::Full,
            network: Network::Off,
            writable: vec!["/home/me/w".into()],
            readable: ["/usr", "/home/me/.cargo/bin", "/home/me/.npm/_cacache"]
                .map(Into::into)
                .into(),
            homes: vec!["/home/me".into()],
            kept: Vec::new(),
            hidden: Vec::new(),
            absent: Vec::new(),
            identities: Vec::new(),
            resources: Resources::default(),
            layer: None,
            shares_loopback: false,
        };
        change(&mut rules);
        rules
    }

    fn check(rules: &ConfinementRules, expected: &[(&str, MountKind)]) {
        let found = mount_layout(rules);
        let found: Vec<_> = found.iter().map(|(p, place)| (p.to_str().unwrap(), *place)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn parents_come_first_and_the_home_is_empty() {
        let expected = [
            ("/home/me", MountKind::Scratch),
            ("/home/me/.cargo/bin", MountKind::Readable),
            ("/home/me/.npm/_cacache", MountKind::Cached),
            ("/home/me/w", MountKind::Writable),
            ("/tmp", MountKind::Scratch),
            ("/usr", MountKind::Readable),
            ("/var/tmp", MountKind::Scratch),
        ];
        check(&rules(|_| {}), &expected);
    }

    #[test]
    fn a_command_that_only_reads_gets_the_workspace_as_data() {
        let expected = [
            ("/home/me", MountKind::Scratch),
            ("/home/me/w", MountKind::Data),
            ("/home/me/w/.env", MountKind::Hidden),
            ("/tmp", MountKind::Scratch),
            ("/usr", MountKind::Readable),
            ("/var/tmp", MountKind::Scratch),
        ];
        let reading = rules(|rules| {
            rules.access = Access::ReadsOnly;
            rules.readable = vec!["/usr".into()];
            rules.hidden = vec!["/home/me/w/.env".into()];
        });
        check(&reading, &expected);
    }

    fn identity(path: &str) -> FileIdentity {
        FileIdentity { path: path.into(), device: 1, inode: 1 }
    }

    /// A layer over the workspace of [`rules`].
    fn layer(direct: Vec<FileIdentity>) -> LayerPlace {
        let [root, upper, work] = ["/home/me/w", "/home/me/upper", "/home/me/work"].map(identity);
        LayerPlace { root, upper, work, direct }
    }

    #[test]
    fn on_a_layer_only_hidden_names_are_mounted() {
        let layer = layer(Vec::new());
        let direct = rules(|rules| {
            rules.readable = vec!["/usr".into(), "/home/me/w/bin".into()];
            rules.hidden = vec!["/home/me/w/deep/.env".into()];
            rules.kept =
                vec![KeptName { path: "/home/me/w/.envrc".into(), now: KeptPresence::Present }];
            rules.identities =
                vec![identity("/home/me/w/deep/.env"), identity("/home/me/w/.envrc")];
        });
        let held = direct.on_layer(layer);
        assert_eq!(held.identities, [identity("/home/me/w/deep/.env")]);
        let expected = [
            ("/home/me", MountKind::Scratch),
            ("/home/me/w", MountKind::Writable),
            ("/home/me/w/deep/.env", MountKind::Hidden),
            ("/tmp", MountKind::Scratch),
            ("/usr", MountKind::Readable),
            ("/var/tmp", MountKind::Scratch),
        ];
        check(&held, &expected);
    }

    #[test]
    fn in_direct_directories_of_a_layer_protected_names_are_mounted() {
        let layer = layer(vec![identity("/home/me/w/out/target")]);
        let kept = |path: &str| KeptName { path: path.into(), now: KeptPresence::Present };
        let all = rules(|rules| {
            rules.readable = vec!["/usr".into()];
            rules.kept = vec![kept("/home/me/w/.envrc"), kept("/home/me/w/out/target/a/.envrc")];
            rules.absent =
                vec!["/home/me/w/out/config".into(), "/home/me/w/out/target/HEAD".into()];
            rules.identities =
                vec![identity("/home/me/w/.envrc"), identity("/home/me/w/out/target/a/.envrc")];
        });
        let held = all.on_layer(layer);
        assert_eq!(held.identities, [identity("/home/me/w/out/target/a/.envrc")]);
        assert_eq!(held.absent, [PathBuf::from("/home/me/w/out/target/HEAD")]);
        assert!(held.forecast().is_none());
        let expected = [
            ("/home/me", MountKind::Scratch),
            ("/home/me/w", MountKind::Writable),
            ("/home/me/w/out", MountKind::Writable),
            ("/home/me/w/out/target", MountKind::Writable),
            ("/home/me/w/out/target/a", MountKind::Writable),
            ("/home/me/w/out/target/a/.envrc", MountKind::Kept),
            ("/tmp", MountKind::Scratch),
            ("/usr", MountKind::Readable),
            ("/var/tmp", MountKind::Scratch),
        ];
        check(&held, &expected);
    }

    /// Looked for one by one in a list they took half a minute.
    #[test]
    fn thousands_of_denied_names_on_a_layer_cost_no_more_each() {
        let names = || (0..20_000).map(|number| format!("/home/me/w/keys/{number}.pem"));
        let direct = rules(|rules| {
            rules.hidden = names().map(Into::into).collect();
            rules.identities = names().map(|name| identity(&name)).collect();
            rules.identities.push(identity("/home/me/w/keys"));
        });
        let layer = layer(Vec::new());
        let began = std::time::Instant::now();
        let held = direct.on_layer(layer);
        let hidden =
            mount_layout(&held).iter().filter(|(_, kind)| *kind == MountKind::Hidden).count();
        assert_eq!((held.identities.len(), hidden), (20_000, 20_000));
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }

    #[test]
    fn what_is_not_seen_needs_no_hiding() {
        let found = mount_layout(&rules(|rules| {
            rules.hidden = vec!["/home/me/.local/state/journeyman".into(), "/usr/secret".into()];
            rules.hidden.push("/home/me/w/.env".into());
        }));
        let hidden: Vec<_> =
            found.iter().filter(|(_, place)| *place == MountKind::Hidden).collect();
        assert_eq!(hidden.len(), 2, "{hidden:?}");
    }

    #[test]
    fn nothing_is_writable_around_a_name_that_is_hidden_in_a_kept_directory() {
        let both = rules(|rules| {
            rules.writable = vec!["/home/me/w".into()];
            rules.kept =
                vec![KeptName { path: "/home/me/w/.vscode".into(), now: KeptPresence::Present }];
            rules.hidden = ["a/b/.env", "a/.env"]
                .map(|name| Path::new("/home/me/w/.vscode").join(name))
                .into();
        });
        let inside = |(path, _): &(PathBuf, MountKind)| path.starts_with("/home/me/w");
        let found: Layout = mount_layout(&both).into_iter().filter(inside).collect();
        let expected = [
            ("/home/me/w", MountKind::Writable),
            ("/home/me/w/.vscode", MountKind::Kept),
            ("/home/me/w/.vscode/a/.env", MountKind::Hidden),
            ("/home/me/w/.vscode/a/b/.env", MountKind::Hidden),
        ];
        assert_eq!(found, expected.map(|(path, place)| (PathBuf::from(path), place)));
    }

    #[test]
    fn the_stricter_of_two_claims_wins() {
        let both = rules(|rules| {
            rules.writable = vec!["/home/me".into(), "/tmp".into()];
            rules.kept =
                vec![KeptName { path: "/home/me/.git/config".into(), now: KeptPresence::Present }];
            rules.hidden = vec!["/home/me/.git/config".into(), "/home/me/.git/config/x".into()];
        });
        let expected = [
            ("/home/me", MountKind::Writable),
            ("/home/me/.cargo/bin", MountKind::Readable),
            ("/home/me/.git", MountKind::Writable),
            ("/home/me/.git/config", MountKind::Hidden),
            ("/home/me/.npm/_cacache", MountKind::Cached),
            ("/tmp", MountKind::Writable),
            ("/usr", MountKind::Readable),
            ("/var/tmp", MountKind::Scratch),
        ];
        check(&both, &expected);
    }
}
