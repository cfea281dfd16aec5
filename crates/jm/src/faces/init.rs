//! `jm init`: a first AGENTS.md.

use anyhow::{Context, Result, bail};
use jm_system::state::write_new;

use super::{exit, history, print};
use crate::cli::Common;

const FILE: &str = "AGENTS.md";

/// Files that tell how a project is built and tested.
const KINDS: &[(&str, &str, &str)] = &[
    ("Cargo.toml", "cargo build", "cargo test"),
    ("package.json", "npm install", "npm test"),
    ("pyproject.toml", "pip install -e .", "python -m pytest"),
    ("go.mod", "go build ./...", "go test ./..."),
    ("pom.xml", "mvn compile", "mvn test"),
    ("build.gradle", "./gradlew build", "./gradlew test"),
    ("CMakeLists.txt", "cmake -B build && cmake --build build", "ctest --test-dir build"),
    ("Makefile", "make", "make test"),
];

pub(crate) fn run(common: &Common) -> Result<u8> {
    use std::io::Write;
    let root = history::root(common)?;
    let path = root.join(FILE);
    if path.exists() {
        bail!(
            "{FILE} already exists\n  hint: edit it; the model reads it at the start of each session"
        );
    }
    let kinds: Vec<_> = KINDS.iter().filter(|(file, ..)| root.join(file).exists()).collect();
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut text =
        format!("# {}\n\nOne or two sentences: what this project is.\n", name.unwrap_or_default());
    text.push_str("\n## Build and test\n\n");
    for (_, build, test) in &kinds {
        text.push_str(&format!("- Build: `{build}`\n- Test: `{test}`\n"));
    }
    if kinds.is_empty() {
        text.push_str("- Build: …\n- Test: …\n");
    }
    text.push_str("\n## Conventions\n\n- Style, names, where things are, what not to touch.\n");
    let mut file = write_new(&path).with_context(|| path.display().to_string())?;
    file.write_all(text.as_bytes()).with_context(|| path.display().to_string())?;
    print::line(&format!(
        "Wrote {FILE}; edit it: the model reads it at the start of each session"
    ))?;
    Ok(exit::RAN)
}
