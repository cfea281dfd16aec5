//! Runs the Markdown specifications beside this file: prose with files, calls and replies.
//!
//! Every `##` section is one case with a fresh workspace. `JM_SPEC=words` runs only the sections
//! whose file or title contains the words. The forms of blocks are described in README.md here.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

mod blocks;
mod world;

use std::path::{Path, PathBuf};

use blocks::{Section, parse};
use world::World;

/// The sections are dealt out to as many tests, so that they run beside each other.
const HANDS: usize = 4;

#[test]
fn every_section_holds_1() {
    check(0);
}

#[test]
fn every_section_holds_2() {
    check(1);
}

#[test]
fn every_section_holds_3() {
    check(2);
}

#[test]
fn every_section_holds_4() {
    check(3);
}

fn check(hand: usize) {
    let wanted = std::env::var("JM_SPEC").unwrap_or_default();
    let sections = sections(&wanted);
    assert!(!sections.is_empty(), "no section matches {wanted:?}");
    let mut failures = Vec::new();
    let mut ran = 0;
    for (name, section) in sections.iter().skip(hand).step_by(HANDS) {
        ran += 1;
        if let Err(why) = run(section) {
            failures.push(format!("{name}: ## {}\n{why}", section.title));
        }
    }
    println!("{ran} sections ran, {} failed", failures.len());
    assert!(failures.is_empty(), "\n\n{}\n", failures.join("\n\n"));
}

/// Those whose file or title contains the words, each with its file.
fn sections(wanted: &str) -> Vec<(String, Section)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spec");
    let mut files = markdown_files(&folder);
    files.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md"));
    let mut sections = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&folder).unwrap_or(&file).display().to_string();
        for section in parse(&text).unwrap_or_else(|why| panic!("{name}: {why}")) {
            if format!("{name} {}", section.title).contains(wanted) && !section.steps.is_empty() {
                sections.push((name.clone(), section));
            }
        }
    }
    sections
}

fn run(section: &Section) -> Result<(), String> {
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
