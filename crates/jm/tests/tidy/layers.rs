//! Crates: which may use which, no network in the tools, no profile that aborts.

use std::collections::BTreeSet;

use crate::module_graph;
use crate::sources::{is_test, product, repository, sources};

/// The crates that each crate may use; none uses `jm`.
const LAYERS: &[(&str, &[&str])] = &[
    ("types", &[]),
    // For tests; no program is built with it.
    ("testing", &[]),
    ("system", &["jm-types"]),
    ("files", &["jm-types", "jm-system"]),
    ("process", &["jm-types", "jm-system", "jm-files"]),
    ("store", &["jm-types"]),
    ("config", &["jm-types"]),
    ("providers", &["jm-types"]),
    ("script", &["jm-types", "jm-providers"]),
    ("shell", &["jm-types"]),
    ("policy", &["jm-types", "jm-shell"]),
    ("lua", &["jm-types"]),
    ("mcp", &["jm-types"]),
    ("acp", &["jm-types"]),
    ("chat", &["jm-types"]),
    ("tui", &["jm-types"]),
    ("tools", &["jm-types", "jm-shell", "jm-system", "jm-files", "jm-process"]),
    ("dialects", &["jm-types", "jm-shell", "jm-system", "jm-files", "jm-process", "jm-tools"]),
    (
        "engine",
        &[
            "jm-types",
            "jm-policy",
            "jm-shell",
            "jm-system",
            "jm-files",
            "jm-process",
            "jm-tools",
            "jm-store",
        ],
    ),
    (
        "jm",
        &[
            "jm-types",
            "jm-config",
            "jm-policy",
            "jm-shell",
            "jm-system",
            "jm-files",
            "jm-process",
            "jm-tools",
            "jm-dialects",
            "jm-store",
            "jm-engine",
            "jm-providers",
            "jm-script",
            "jm-lua",
            "jm-mcp",
            "jm-acp",
            "jm-chat",
            "jm-tui",
        ],
    ),
];

/// Crates whose modules import each other in one direction.
const WITHOUT_CYCLES: &[&str] =
    &["system", "files", "process", "shell", "policy", "dialects", "engine", "providers", "script"];

#[test]
fn modules_import_each_other_in_one_direction() {
    let all: Vec<_> = sources().into_iter().filter(|(file, _)| !is_test(file)).collect();
    let mut found = Vec::new();
    for name in WITHOUT_CYCLES {
        let folder = format!("crates/{name}/src/");
        let inside = |file: &str| file.strip_prefix(&folder).map(str::to_owned);
        let own = all.iter().filter_map(|(file, text)| Some((inside(file)?, text.clone())));
        let own: Vec<(String, String)> = own.collect();
        assert!(!own.is_empty(), "{name} has no sources");
        let cycles = module_graph::cycles(&own);
        found.extend(cycles.into_iter().map(|cycle| format!("{name}: {cycle}")));
    }
    assert!(found.is_empty(), "import cycles: {found:#?}");
}

/// The files with sockets of the internet: the proxy that commands pass, and its end inside.
const EGRESS_PROXY: &[&str] = &[
    LOOPBACK_TCP,
    "crates/process/src/outside/egress_proxy/",
    "crates/process/src/inside/proxy_listener.rs",
    "crates/types/src/hosts.rs",
];

/// The files with sockets that stay on this machine.
const LOOPBACK_TCP: &str = "crates/process/src/outside/tcp/";

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
    for name in ["types", "shell", "system", "files", "process", "tools", "dialects"] {
        let manifest = repository().join("crates").join(name).join("Cargo.toml");
        let text = std::fs::read_to_string(manifest).unwrap();
        assert_eq!(network(&text), None, "{name}");
    }
    assert_eq!(network("[dependencies]\nureq = \"3\"\n"), Some("ureq"));
    let is_proxy = |name: &str| EGRESS_PROXY.iter().any(|room| name.starts_with(room));
    for (name, text) in sources().iter().filter(|(name, _)| !is_test(name) && !is_proxy(name)) {
        assert!(!product(text).contains("std::net"), "{name} uses std::net");
    }
}

/// The first word with which a file could leave loopback.
fn leaves_loopback(text: &str) -> Option<&'static str> {
    let words = ["TcpStream::connect", "UNSPECIFIED", "0.0.0.0", "ToSocketAddrs", "IpAddr::"];
    words.into_iter().find(|word| product(text).contains(word))
}

#[test]
fn sockets_beside_the_proxy_stay_on_loopback() {
    let sources = sources();
    let room = sources.iter().filter(|(name, _)| name.starts_with(LOOPBACK_TCP));
    let found: Vec<_> = room.map(|(name, text)| (name, leaves_loopback(text))).collect();
    assert!(found.len() > 2, "{found:?}");
    assert!(found.iter().all(|(_, word)| word.is_none()), "{found:?}");
    assert!(leaves_loopback("let it = TcpStream::connect(address);").is_some());
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
