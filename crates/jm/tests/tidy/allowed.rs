//! Lists of today's offences, `NAME COUNT` a line. They may only shrink.
//!
//! What is no longer there must leave the list; `JM_TIDY_SHRINK=1` writes it anew, and refuses to
//! where the total would grow. So files may be moved, and nothing gets worse.

use std::collections::BTreeMap;

use crate::sources::repository;

pub(crate) type Counts = BTreeMap<String, usize>;

pub(crate) fn counts(names: impl IntoIterator<Item = String>) -> Counts {
    let mut counts = Counts::new();
    names.into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
    counts
}

/// Fails unless the offences are those of the list.
pub(crate) fn assert_allowed(list: &str, found: &Counts, remedy: &str) {
    let path = repository().join("crates/jm/tests/tidy").join(list);
    let listed = parse(&std::fs::read_to_string(&path).unwrap());
    if std::env::var_os("JM_TIDY_SHRINK").is_some() {
        let (old, new) = (total(&listed), total(found));
        assert!(new <= old, "{list} would grow from {old} to {new}: {:#?}", worse(&listed, found));
        return std::fs::write(path, print(found)).unwrap();
    }
    let worse = worse(&listed, found);
    assert!(worse.is_empty(), "{remedy}: {worse:#?}");
    let better: Vec<_> = listed.iter().filter(|(name, n)| found.get(*name) != Some(n)).collect();
    assert!(better.is_empty(), "better than {list}; JM_TIDY_SHRINK=1 takes off: {better:#?}");
}

fn worse(listed: &Counts, found: &Counts) -> Vec<String> {
    let allowed = |name: &String| listed.get(name).copied().unwrap_or(0);
    let more = found.iter().filter(|(name, count)| **count > allowed(name));
    more.map(|(name, count)| format!("{name}: {count}, allowed {}", allowed(name))).collect()
}

fn total(counts: &Counts) -> usize {
    counts.values().sum()
}

fn parse(text: &str) -> Counts {
    let pair = |line: &str| {
        let (name, count) = line.rsplit_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    text.lines().map(|line| pair(line).unwrap_or_else(|| panic!("no count: {line}"))).collect()
}

fn print(counts: &Counts) -> String {
    counts.iter().map(|(name, count)| format!("{name} {count}\n")).collect()
}

#[test]
fn more_than_allowed_is_worse() {
    let listed = parse("a 2\nb 1\n");
    assert_eq!(worse(&listed, &parse("a 2\n")), Vec::<String>::new());
    assert_eq!(worse(&listed, &parse("a 3\nb 1\n")), ["a: 3, allowed 2"]);
    assert_eq!(worse(&listed, &parse("c 1\n")), ["c: 1, allowed 0"]);
    assert_eq!(print(&listed), "a 2\nb 1\n");
}
