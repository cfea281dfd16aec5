//! A crate that is built and tested on a layer: what cargo left there is fresh for a direct cargo, and the other way round.

use std::path::Path;
use std::process::{Command, Output};

use super::said;

const SOURCES: &[(&str, &str)] = &[
    ("Cargo.toml", "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
    ("build.rs", "fn main() { println!(\"cargo:rustc-env=BUILT=yes\"); }\n"),
    ("src/main.rs", "fn main() { println!(\"{} {}\", small::word(), env!(\"BUILT\")); }\n"),
    (
        "src/lib.rs",
        "/// ```\n/// assert_eq!(small::word(), \"one\");\n/// ```\npub fn word() -> &'static str { \"one\" }\n#[test]\nfn is_one() { assert_eq!(word(), \"one\"); }\n",
    ),
];

/// A workspace with this crate, and the toolchain of whoever runs the tests.
struct SmallCrate {
    base: tempfile::TempDir,
}

impl SmallCrate {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        for (name, text) in SOURCES {
            let path = base.path().join("w").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Self { base }
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.base.path().join("w"));
        command.env("JM_STATE_DIR", self.base.path().join("state"));
        command.env("JM_TOOLS_SANDBOX_COMMANDS_LAYER", "on");
        // Those of the cargo that runs the tests.
        for (name, _) in std::env::vars_os() {
            let is_own = |text: &str| {
                ["CARGO_", "RUSTC", "RUST_", "RUSTFLAGS"].iter().any(|one| text.starts_with(one))
            };
            if name.to_str().is_some_and(is_own) && name != "CARGO_HOME" {
                command.env_remove(name);
            }
        }
        command
    }

    fn held(&self, script: &str) -> Output {
        let arguments = serde_json::json!({ "command": script }).to_string();
        let mut jm = self.command(env!("CARGO_BIN_EXE_jm"));
        jm.args(["--toolset", "standard", "--allow", "run_command", "--yes"]);
        jm.args(["call", "run_command", &arguments]).output().unwrap()
    }

    fn direct(&self, words: &[&str]) -> Output {
        self.command("cargo").args(words).output().unwrap()
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.base.path().join("w").join(name)
    }
}

/// The names of a build directory, without the ones that rustc makes up.
fn names(directory: &Path) -> Vec<String> {
    let mut find = Command::new("find");
    let found = find.args([".", "-printf", "%y %m %P\n"]).current_dir(directory).output().unwrap();
    let text = String::from_utf8(found.stdout).unwrap();
    let mut all: Vec<String> = text
        .lines()
        .filter(|line| !line.contains("/incremental/") && !line.contains(".rcgu.o"))
        .map(str::to_owned)
        .collect();
    all.sort();
    all
}

#[test]
fn a_crate_that_is_built_on_a_layer_is_fresh_outside() {
    if !["overlay", "cargo"].into_iter().all(jm_testing::has) {
        return;
    }
    let place = SmallCrate::new();
    let built = place.held("cargo build --offline 2>&1 && ./target/debug/small");
    assert!(said(&built).contains("one yes"), "{}", said(&built));
    let fresh = place.direct(&["build", "--offline", "-v"]);
    assert!(said(&fresh).contains("Fresh small"), "{}", said(&fresh));
    let held = names(&place.at("target"));
    std::fs::remove_dir_all(place.at("target")).unwrap();
    assert!(place.direct(&["build", "--offline"]).status.success());
    assert_eq!(held, names(&place.at("target")));

    // The other way round, and an incremental build.
    let fresh = place.held("cargo build --offline -v 2>&1");
    assert!(said(&fresh).contains("Fresh small"), "{}", said(&fresh));
    let changed = SOURCES[3].1.replace("\"one\"", "\"two\"");
    std::fs::write(place.at("src/lib.rs"), changed).unwrap();
    let again = place.held("cargo build --offline 2>&1 && ./target/debug/small");
    assert!(said(&again).contains("two yes"), "{}", said(&again));
    let tested = place.held("cargo test --offline 2>&1");
    assert_eq!(said(&tested).matches("1 passed").count(), 2, "{}", said(&tested));
    let fresh = place.direct(&["test", "--offline", "-v"]);
    assert_eq!(said(&fresh).matches("1 passed").count(), 2, "{}", said(&fresh));
    assert!(said(&fresh).contains("Fresh small"), "{}", said(&fresh));
    let cleaned = place.held("cargo clean 2>&1");
    assert!(!place.at("target").exists(), "{}", said(&cleaned));
    let undone = place.command(env!("CARGO_BIN_EXE_jm")).arg("undo").output().unwrap();
    let fresh = place.direct(&["build", "--offline", "-v"]);
    assert!(said(&fresh).contains("Fresh small"), "{}{}", said(&undone), said(&fresh));
}
