//! The glossary: few words, each with its file; a module's name is made of them and of words that need no gloss.

use std::collections::BTreeSet;

use crate::allowed::{Counts, assert_allowed, counts};
use crate::names::modules;
use crate::sources::{planted, repository, sources};

const MOST_WORDS: usize = 60;
const DOCUMENT: &str = "docs/glossary.md";

/// Rows of the glossary: word and file.
fn words(document: &str) -> Vec<(String, String)> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = document.lines().filter(|line| line.starts_with("| ")).map(cells);
    let rows = rows.filter(|cells| cells.len() == 5 && cells[3].starts_with('`'));
    rows.map(|cells| (cells[1].clone(), cells[3].trim_matches('`').to_owned())).collect()
}

/// True if some source ends with this path; which crate it is in may change.
fn is_there(file: &str, paths: &[String]) -> bool {
    paths.iter().any(|path| path.ends_with(&format!("/{file}")))
}

#[test]
fn the_glossary_is_short_and_its_files_are_there() {
    let text = std::fs::read_to_string(repository().join(DOCUMENT)).unwrap();
    let words = words(&text);
    assert!((20..=MOST_WORDS).contains(&words.len()), "{} words", words.len());
    let paths: Vec<String> = sources().into_iter().map(|(path, _)| path).collect();
    let gone: Vec<_> = words.iter().filter(|(_, file)| !is_there(file, &paths)).collect();
    assert!(gone.is_empty(), "{DOCUMENT}: no such file: {gone:#?}");
    assert!(!is_there("no/such.rs", &paths));
}

/// Modules that neither the glossary nor the list of plain words explains.
fn unexplained(
    modules: &BTreeSet<String>,
    glossary: &BTreeSet<String>,
    plain: &BTreeSet<String>,
) -> Counts {
    let is_plain =
        |name: &str| name.split('_').all(|part| plain.contains(part) || glossary.contains(part));
    let open = modules.iter().filter(|name| !glossary.contains(*name) && !is_plain(name));
    counts(open.cloned())
}

#[test]
fn module_names_are_explained() {
    let text = std::fs::read_to_string(repository().join(DOCUMENT)).unwrap();
    let glossary: BTreeSet<String> =
        words(&text).into_iter().map(|(word, _)| word.to_lowercase().replace(' ', "_")).collect();
    let plain: BTreeSet<String> =
        include_str!("plain_words.txt").split_whitespace().map(str::to_owned).collect();
    let twice: Vec<_> = glossary.intersection(&plain).collect();
    assert!(twice.is_empty(), "explained, so not plain: {twice:?}");
    let found = unexplained(&modules(&sources()), &glossary, &plain);
    assert_allowed("unexplained_modules.txt", &found, "modules that a newcomer cannot guess");
    let modules = modules(&planted("crates/a/src/http_wobble.rs", ""));
    assert_eq!(unexplained(&modules, &glossary, &plain), counts(["http_wobble".to_owned()]));
}
