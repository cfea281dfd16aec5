//! Crates: which may use which, no network in the tools, no profile that aborts.

use std::collections::BTreeSet;

use crate::sources::{is_test, product, repository, sources};

/// The crates that each crate may use; none uses `jm`.
const LAYERS: &[(&str, &[&str])] = &[
    ("types", &[]),
    // For tests; no program is built with it.
    ("testing", &[]),
    ("workspace", &["jm-types"]),
    ("store", &["jm-types"]),
    ("providers", &["jm-types"]),
    ("script", &["jm-types", "jm-providers"]),
    ("tools", &["jm-types", "jm-workspace"]),
    ("engine", &["jm-types", "jm-workspace", "jm-tools", "jm-store"]),
    (
        "jm",
        &[
            "jm-types",
            "jm-workspace",
            "jm-tools",
            "jm-store",
            "jm-engine",
            "jm-providers",
            "jm-script",
        ],
    ),
];

/// The files with sockets of the internet: the proxy that commands pass, and its end inside.
const GATE: &[&str] = &[
    "crates/workspace/src/gate/",
    "crates/workspace/src/launch/door.rs",
    "crates/workspace/src/confine/hosts.rs",
];

/// The dependencies of a manifest's section that are ours.
fn own_dependencies(manifest: &str) -> BTreeSet<String> {
    let section = manifest.split("[dependencies]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned();
    section.lines().map(name).filter(|name| name.starts_with("jm")).collect()
}

/// The dependencies that a crate has and may not have.
fn beyond(manifest: &str, allowed: &[&str]) -> Vec<String> {
    let used = own_dependencies(manifest).into_iter();
    used.filter(|name| !allowed.contains(&name.as_str())).collect()
}

#[test]
fn crates_keep_their_layers() {
    let folder = repository().join("crates");
    let present: BTreeSet<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let known: BTreeSet<String> = LAYERS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(present, known, "every crate has its place in LAYERS");
    for (name, allowed) in LAYERS {
        let manifest = std::fs::read_to_string(folder.join(name).join("Cargo.toml")).unwrap();
        let beyond = beyond(&manifest, allowed);
        assert!(beyond.is_empty(), "{name} uses {beyond:?}, may use {allowed:?}");
    }
    let manifest = "[dependencies]\njm-store.workspace = true\nlibc = \"1\"\n\n\
                    [dev-dependencies]\njm-engine.workspace = true\n";
    assert_eq!(beyond(manifest, &["jm-types"]), ["jm-store"]);
}

/// The first word of the network in a manifest.
fn network(manifest: &str) -> Option<&'static str> {
    let words = ["reqwest", "hyper", "ureq", "curl", "socket2", "\"net\""];
    words.into_iter().find(|word| manifest.contains(word))
}

/// C-04: the tools themselves reach no network, because nothing they are built of can.
#[test]
fn the_tools_know_no_network() {
    for name in ["types", "workspace", "tools"] {
        let manifest = repository().join("crates").join(name).join("Cargo.toml");
        let text = std::fs::read_to_string(manifest).unwrap();
        assert_eq!(network(&text), None, "{name}");
    }
    assert_eq!(network("[dependencies]\nureq = \"3\"\n"), Some("ureq"));
    let is_gate = |name: &str| GATE.iter().any(|room| name.starts_with(room));
    for (name, text) in sources().iter().filter(|(name, _)| !is_test(name) && !is_gate(name)) {
        assert!(!product(text).contains("std::net"), "{name} uses std::net");
    }
}

/// True if every profile of the manifest unwinds.
fn unwinds(manifest: &str) -> bool {
    !manifest.contains("\"abort\"") && manifest.contains("panic = \"unwind\"")
}

/// FR-EXE-04b: a panic must be catchable in every profile.
#[test]
fn no_profile_aborts_on_panic() {
    let manifest = std::fs::read_to_string(repository().join("Cargo.toml")).unwrap();
    assert!(unwinds(&manifest));
    let spoilt = manifest.replacen("lto = \"thin\"", "panic = \"abort\"", 1);
    assert!(spoilt != manifest && !unwinds(&spoilt));
}
