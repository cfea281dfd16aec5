//! Runs the Markdown specifications beside this file: prose with files, calls and replies.
//!
//! Every `##` section is one test with a fresh workspace, named `FILE::TITLE`, so that it is listed,
//! filtered and run like any other. The forms of blocks are described in README.md here.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod blocks;
mod world;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use blocks::{Section, parse};
use libtest_mimic::{Arguments, Trial};
use world::World;

/// The files outside this folder that run as well, by the name of their tests.
const ELSEWHERE: &[(&str, &str)] = &[("README", "../../README.md")];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    // A runner that starts one process for each test names the test, and so the only file to read.
    let exact = arguments.filter.as_deref().filter(|_| arguments.exact);
    let only = exact.and_then(|name| name.split_once("::")).map(|(file, _)| file);
    let mut files = specifications();
    files.retain(|(name, _)| only.is_none_or(|only| only == name));
    let sections: Vec<(String, Section)> = files.iter().flat_map(sections).collect();
    let names: BTreeSet<&String> = sections.iter().map(|(name, _)| name).collect();
    assert!(names.len() == sections.len(), "two sections of one file have the same title");
    assert!(only.is_some() || !sections.is_empty(), "there is no section");
    let trial = |(name, section): (String, Section)| {
        let file = name.split("::").next().unwrap_or_default().to_owned();
        Trial::test(name, move || run(&file, &section).map_err(libtest_mimic::Failed::from))
    };
    libtest_mimic::run(&arguments, sections.into_iter().map(trial).collect()).exit_code()
}

/// Every specification by its name: its path beneath the folder, without the ending.
fn specifications() -> Vec<(String, PathBuf)> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = package.join("tests/spec");
    let elsewhere = ELSEWHERE.iter().map(|(name, path)| ((*name).to_owned(), package.join(path)));
    let named = |path: PathBuf| {
        let name = path.strip_prefix(&folder).unwrap().with_extension("");
        (name.display().to_string(), path)
    };
    markdown_files(&folder).into_iter().map(named).chain(elsewhere).collect()
}

/// The sections of a file that have something to run, each with its test's name.
fn sections((file, path): &(String, PathBuf)) -> Vec<(String, Section)> {
    let text = std::fs::read_to_string(path).unwrap();
    let all = parse(&text).unwrap_or_else(|why| panic!("{file}: {why}"));
    let runs = all.into_iter().filter(|section| !section.steps.is_empty());
    runs.map(|section| (format!("{file}::{}", section.title), section)).collect()
}

/// Gives nothing to do where something is missing that need not be there.
fn run(file: &str, section: &Section) -> Result<(), String> {
    let needs = section.steps.iter().filter(|step| step.kind == "needs");
    let mut needed = needs.flat_map(|step| step.body.split_whitespace());
    if !needed.all(|name| jm_testing::has_in(&format!("crates/jm/tests/spec/{file}.md"), name)) {
        return Ok(());
    }
    let mut world = World::new();
    for step in &section.steps {
        world.take(step).map_err(|why| format!("line {}: {why}", step.line))?;
    }
    world.finish()
}

fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(markdown_files(&path));
        } else if path.extension().is_some_and(|end| end == "md") && !path.ends_with("README.md") {
            files.push(path);
        }
    }
    files.sort();
    files
}
