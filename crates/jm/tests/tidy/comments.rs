//! Doc comments begin with a verb or a noun phrase that holds the technical word.

use crate::allowed::{Counts, assert_allowed, counts};
use crate::sources::{Source, is_tidy, planted, sources};

const OPENERS: &[&str] = &["What", "Where", "Who", "Whether", "That"];

/// Doc comments of each file that begin with one of those words.
fn weak_openings(sources: &[Source]) -> Counts {
    let mut found = Vec::new();
    for (name, text) in sources.iter().filter(|(name, _)| !is_tidy(name)) {
        let mut is_inside = false;
        for line in text.lines().map(str::trim_start) {
            let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let first = doc.and_then(|doc| doc.split_whitespace().next()).unwrap_or_default();
            let first = first.trim_end_matches(|c: char| !c.is_alphanumeric());
            if !is_inside && OPENERS.contains(&first) {
                found.push(name.clone());
            }
            is_inside = doc.is_some();
        }
    }
    counts(found)
}

#[test]
fn doc_comments_begin_with_the_thing() {
    let found = weak_openings(&sources());
    let remedy = "doc comments that begin with What, Where, Who, Whether or That";
    assert_allowed("weak_openings.txt", &found, remedy);
    let text = "//! What it is.\n/// The thing.\n/// What follows is fine.\nx\n/// Whether: no.\n";
    assert_eq!(weak_openings(&planted("a.rs", text)), counts(["a.rs".into(), "a.rs".into()]));
}
