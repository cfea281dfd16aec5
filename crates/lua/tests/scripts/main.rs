//! Scripts in a real child: sections of Markdown, and a table of hostile ones.
//!
//! Each section is a test with a name of its own. This program is the child too, started anew.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod hostile;
mod section;
mod world;

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// Documents whose sections run, from this crate's folder.
const DOCUMENTS: &[&str] = &[
    "tests/spec/tools.md",
    "tests/spec/sources.md",
    "tests/spec/context.md",
    "tests/spec/approval.md",
    "tests/spec/options.md",
    "tests/spec/previews.md",
    "tests/spec/walls.md",
    "../../docs/formats/lua.md",
];

fn main() -> ExitCode {
    if let Some(code) = jm_lua::inside::run_as_child() {
        return code;
    }
    let mut trials = hostile::trials();
    for document in DOCUMENTS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{document}: {e}"));
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        for section in section::sections(&text) {
            let name = format!("{stem}::{}", section.title);
            trials.push(Trial::test(name, move || section.check().map_err(Into::into)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
