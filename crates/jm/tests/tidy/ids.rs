//! Requirement ids in texts; `FR-LIM-01..06` and `FR-APR-04a..e` are ranges.

use std::collections::BTreeSet;

/// Families whose ids are a word after the prefix, and the two of numbered tests and constraints.
const FAMILIES: &[&str] = &["FR-", "NFR-", "CFG-", "FG-", "FJ-", "IK-", "GO-", "FL-", "IT-"];

/// Every token that could be an id, ranges expanded.
pub(crate) fn mentioned(text: &str) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    let part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut rest = text;
    while let Some(start) = rest.find(part) {
        let end = rest[start..].find(|c| !part(c)).map_or(rest.len(), |at| start + at);
        let token = &rest[start..end];
        ids.insert(token.to_owned());
        rest = &rest[end..];
        if let Some(last) = rest.strip_prefix("..") {
            let end = last.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(last.len());
            ids.extend(range(token, &last[..end]));
        }
    }
    ids
}

fn range(first: &str, last: &str) -> Vec<String> {
    let stem_length = first.len().saturating_sub(last.len());
    let (stem, from) = first.split_at(stem_length);
    if let (Ok(from), Ok(to)) = (from.parse::<u32>(), last.parse::<u32>()) {
        return (from..=to).map(|number| format!("{stem}{number:0w$}", w = last.len())).collect();
    }
    match (from.chars().next(), last.chars().next()) {
        (Some(from), Some(to)) if last.len() == 1 => {
            (from..=to).map(|letter| format!("{stem}{letter}")).collect()
        }
        _ => Vec::new(),
    }
}

/// True for a token that has the form of a requirement id.
pub(crate) fn is_id(token: &str) -> bool {
    let capital = |rest: &str| rest.starts_with(|c: char| c.is_ascii_uppercase());
    let in_family = FAMILIES.iter().any(|family| token.strip_prefix(family).is_some_and(capital));
    let numbered = |rest: &str| rest.len() >= 2 && rest.ends_with(|c: char| c.is_ascii_digit());
    let is_test = token.strip_prefix("T-").is_some_and(|rest| capital(rest) && numbered(rest));
    let is_constraint = token
        .strip_prefix("C-")
        .is_some_and(|rest| rest.len() == 2 && rest.bytes().all(|byte| byte.is_ascii_digit()));
    in_family || is_test || is_constraint
}

#[test]
fn ranges_of_ids_are_understood() {
    let cases: &[(&str, &[&str])] = &[
        ("(FR-LIM-01..03)", &["FR-LIM-01", "FR-LIM-02", "FR-LIM-03"]),
        ("FR-APR-04a..c,", &["FR-APR-04a", "FR-APR-04b", "FR-APR-04c"]),
        ("T-OUT-01: x", &["T-OUT-01"]),
    ];
    for (text, expected) in cases {
        let ids = mentioned(text);
        assert!(expected.iter().all(|id| ids.contains(*id)), "{text}: {ids:?}");
    }
    assert!(!mentioned("FR-LIM-01a").contains("FR-LIM-01"));
}

#[test]
fn ids_are_told_from_other_words() {
    for id in
        ["FR-LIM-01", "FR-EXE-04b-1", "C-02", "T-OUT-01", "IT-E2E-01", "FJ-READ", "NFR-ERR-01"]
    {
        assert!(is_id(id), "{id}");
    }
    for word in ["C-x", "T-shirt", "x-api-key", "UTF-8", "GO-", "C-123", "T-9", "no-follow"] {
        assert!(!is_id(word), "{word}");
    }
}
