//! Requirements: docs/requirements.md explains each id and says which test shows it.
//!
//! Law: an id counts as shown only by something that `./test` runs: the heading of a specification's
//! section, or the name or doc comment of a Rust test. Comments and benchmarks show nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{is_id, mentioned};
use crate::sources::{Source, is_tidy, repository, sources, texts};

const DOCUMENT: &str = "docs/requirements.md";
const UNTESTED: &str = "crates/jm/tests/untested.txt";
const NOT_YET: &str = "not yet";

/// The tests that show each id.
type Claims = BTreeMap<String, Vec<String>>;

/// A row of the document: the id, its sentence, and the tests named there.
struct Row {
    id: String,
    sentence: String,
    tests: Vec<String>,
}

fn rows(document: &str) -> Vec<Row> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = document.lines().filter(|line| line.starts_with("| ")).map(cells);
    let rows = rows.filter(|cells| cells.len() == 5 && is_id(&cells[1]));
    rows.map(|cells| Row {
        id: cells[1].clone(),
        sentence: cells[2].clone(),
        tests: cells[3].split(" · ").filter(|test| *test != NOT_YET).map(str::to_owned).collect(),
    })
    .collect()
}

/// Headings of specifications, by the names of their tests.
fn claimed_by_headings(files: &[Source]) -> Claims {
    let mut claims = Claims::new();
    for (name, text) in files.iter().filter(|(name, _)| !name.ends_with("README.md")) {
        let file = name.trim_start_matches("crates/").trim_end_matches(".md");
        for title in text.lines().filter_map(|line| line.strip_prefix("## ")) {
            let words = title.split(" (").next().unwrap_or(title).replace('|', "/");
            for id in mentioned(title).into_iter().filter(|id| is_id(id)) {
                claims.entry(id).or_default().push(format!("{file}: {words}"));
            }
        }
    }
    claims
}

/// Doc comments and names of functions that are tests.
fn claimed_by_tests(sources: &[Source]) -> Claims {
    let mut claims = Claims::new();
    for (name, text) in sources.iter().filter(|(name, _)| !name.contains("/benches/")) {
        let file = name.trim_start_matches("crates/");
        let (mut doc, mut is_test) = (String::new(), false);
        for line in text.lines().map(str::trim) {
            if line.starts_with("///") {
                doc.push_str(line);
            } else if line.starts_with("#[") {
                is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            } else {
                let function = line.split("fn ").nth(1).and_then(|rest| rest.split('(').next());
                if let Some(function) = function.filter(|_| is_test) {
                    let ids = mentioned(&format!("{doc} {function}"));
                    for id in ids.into_iter().filter(|id| is_id(id)) {
                        claims.entry(id).or_default().push(format!("{file}: {function}"));
                    }
                }
                (doc, is_test) = (String::new(), false);
            }
        }
    }
    claims
}

/// Up to two tests an id: a specification's section first, then a Rust test.
fn chosen(id: &str, headings: &Claims, tests: &Claims) -> Vec<String> {
    let first = |claims: &Claims| claims.get(id).and_then(|all| all.first().cloned());
    [first(headings), first(tests)].into_iter().flatten().collect()
}

/// The ids of a list, and those of the document that no test claims, must be the same.
fn untested(
    known: &BTreeSet<String>,
    shown: &BTreeSet<String>,
    listed: &BTreeSet<String>,
) -> Vec<String> {
    let untested: BTreeSet<String> = known.difference(shown).cloned().collect();
    let new = untested.difference(listed).map(|id| format!("no test shows {id}"));
    let done =
        listed.difference(&untested).map(|id| format!("{id} has a test: take it off {UNTESTED}"));
    new.chain(done).collect()
}

fn document() -> String {
    std::fs::read_to_string(repository().join(DOCUMENT)).unwrap()
}

fn known() -> BTreeSet<String> {
    rows(&document()).into_iter().map(|row| row.id).collect()
}

fn claims() -> (Claims, Claims) {
    let specifications = texts(".md").into_iter().filter(|(name, _)| name.contains("/tests/"));
    (claimed_by_headings(&specifications.collect::<Vec<_>>()), claimed_by_tests(&sources()))
}

/// The list of ids without a test may only shrink.
#[test]
fn requirements_have_tests() {
    let (headings, tests) = claims();
    let shown: BTreeSet<String> = headings.keys().chain(tests.keys()).cloned().collect();
    let list = std::fs::read_to_string(repository().join(UNTESTED)).unwrap();
    let listed = list.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let wrong = untested(&known(), &shown, &listed);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<BTreeSet<_>>();
    let wrong = untested(&set(&["C-01", "C-02", "C-03"]), &set(&["C-01", "C-03"]), &set(&["C-03"]));
    assert_eq!(wrong.len(), 2, "{wrong:?}");
}

/// Each row has a sentence, and names tests that exist and claim it. `JM_TIDY_UPDATE=1` writes the
/// names anew.
#[test]
fn the_document_names_the_tests() {
    let (headings, tests) = claims();
    let text = document();
    if std::env::var_os("JM_TIDY_UPDATE").is_some() {
        return std::fs::write(repository().join(DOCUMENT), updated(&text, &headings, &tests))
            .unwrap();
    }
    let rows = rows(&text);
    assert!(rows.len() > 200, "{}", rows.len());
    let ids: BTreeSet<&String> = rows.iter().map(|row| &row.id).collect();
    assert_eq!(ids.len(), rows.len(), "an id has two rows");
    let wrong: Vec<String> = rows.iter().flat_map(|row| faults(row, &headings, &tests)).collect();
    assert!(wrong.is_empty(), "JM_TIDY_UPDATE=1 names the tests anew: {wrong:#?}");
}

fn faults(row: &Row, headings: &Claims, tests: &Claims) -> Vec<String> {
    let all = |claims: &Claims| claims.get(&row.id).cloned().unwrap_or_default();
    let claimed = [all(headings), all(tests)].concat();
    let unnamed = !claimed.is_empty() && row.tests.is_empty();
    let mut faults: Vec<String> = row
        .tests
        .iter()
        .filter(|test| !claimed.contains(test))
        .map(|test| format!("{}: no such test: {test}", row.id))
        .collect();
    faults.extend(unnamed.then(|| format!("{}: names no test", row.id)));
    faults.extend(row.sentence.is_empty().then(|| format!("{}: no sentence", row.id)));
    faults
}

fn updated(document: &str, headings: &Claims, tests: &Claims) -> String {
    let line = |line: &str| match rows(line).pop() {
        Some(Row { id, sentence, .. }) => {
            let tests = chosen(&id, headings, tests).join(" · ");
            let tests = if tests.is_empty() { NOT_YET.to_owned() } else { tests };
            format!("| {id} | {sentence} | {tests} |\n")
        }
        None => format!("{line}\n"),
    };
    document.lines().map(line).collect()
}

#[test]
fn a_row_that_names_another_test_is_found() {
    let headings = claimed_by_headings(&[("crates/a/tests/b.md".into(), "## One (C-01)\n".into())]);
    let tests = Claims::new();
    let faults = |text: &str| faults(&rows(text)[0], &headings, &tests);
    assert_eq!(faults("| C-01 | x. | a/tests/b: One |"), Vec::<String>::new());
    assert_eq!(faults("| C-01 | x. | a/tests/b: Two |"), ["C-01: no such test: a/tests/b: Two"]);
    assert_eq!(faults("| C-01 |  | not yet |"), ["C-01: names no test", "C-01: no sentence"]);
    assert_eq!(updated("| C-01 | x. | ? |", &headings, &tests), "| C-01 | x. | a/tests/b: One |\n");
}

/// What shows nothing: comments, doc comments of other things, benchmarks.
#[test]
fn only_what_runs_shows_an_id() {
    let text = "//! C-01\n// C-02\n/// C-03\nconst X: u8 = 0;\n/// C-04\n#[test]\nfn shows() {\n// C-05\n}\n";
    let shown = claimed_by_tests(&[("crates/a/src/b.rs".into(), text.into())]);
    assert_eq!(shown.keys().collect::<Vec<_>>(), ["C-04"]);
    let bench = claimed_by_tests(&[("crates/a/benches/b.rs".into(), text.into())]);
    assert!(bench.is_empty());
}

/// Ids that the sources cite and no row explains.
fn unknown_ids(sources: &[Source], known: &BTreeSet<String>) -> Vec<String> {
    let mut unknown = Vec::new();
    for (name, text) in sources.iter().filter(|(name, _)| !is_tidy(name)) {
        for (number, line) in text.lines().enumerate().filter(|(_, line)| line.contains('-')) {
            let ids = mentioned(line).into_iter().filter(|id| is_id(id) && !known.contains(id));
            unknown.extend(ids.map(|id| format!("{name}:{}: {id}", number + 1)));
        }
    }
    unknown
}

#[test]
fn every_cited_id_is_explained() {
    let known = known();
    let specifications = texts(".md").into_iter().filter(|(name, _)| name.contains("/tests/spec/"));
    let cited: Vec<Source> = sources().into_iter().chain(specifications).collect();
    let unknown = unknown_ids(&cited, &known);
    assert!(unknown.is_empty(), "{DOCUMENT} does not explain: {unknown:#?}");
    let planted = [("a.rs".to_owned(), "// FR-LIM-01, FR-NEW-01\n".to_owned())];
    assert_eq!(unknown_ids(&planted, &known), ["a.rs:1: FR-NEW-01"]);
}
