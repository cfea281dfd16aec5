//! The path of one approved edit, as docs/path-of-an-edit.md lists it: short, going forward, and as the code has it.

use crate::sources::{Source, product, repository, sources};

const DOCUMENT: &str = "docs/path-of-an-edit.md";
const MOST_FUNCTIONS: usize = 100;
const MOST_RETURNS: usize = 15;

/// A listed function: `CommitWork::run`, or `preview*` where the caller knows only a trait.
struct Listed {
    file: String,
    owner: Option<String>,
    name: String,
    /// It is called through a pointer in a toolset's row, so that no caller names it.
    is_pointed_to: bool,
}

/// A line of the table: one file, and the functions that are read in it.
struct Row {
    is_marked_return: bool,
    file: String,
    functions: Vec<Listed>,
}

fn rows(document: &str) -> Vec<Row> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let lines = document.lines().filter(|line| line.starts_with("| ")).map(cells);
    let lines = lines.filter(|cells| cells.len() == 5 && cells[2].starts_with('`'));
    let row = |cells: Vec<String>| {
        let file = format!("crates/{}", cells[2].trim_matches('`'));
        let functions = cells[3].split_whitespace().map(|word| listed(&file, word)).collect();
        Row { is_marked_return: cells[1].contains('↩'), file, functions }
    };
    lines.map(row).collect()
}

fn listed(file: &str, word: &str) -> Listed {
    let word = word.trim_matches('`');
    let bare = word.trim_end_matches(['*', '†']);
    let (owner, name) = match bare.split_once("::") {
        Some((owner, name)) => (Some(owner.to_owned()), name),
        None => (None, bare),
    };
    let (file, name) = (file.to_owned(), name.to_owned());
    Listed { file, owner, name, is_pointed_to: word.ends_with('†') }
}

/// True if the text has this word, with no letter of a name on either side.
fn names(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// The body of a function, found by indentation as rustfmt leaves it; an error where there is none, or several.
fn body(listed: &Listed, sources: &[Source]) -> Result<String, String> {
    let Listed { file, owner, name, .. } = listed;
    let text = sources.iter().find(|(path, _)| path == file).map(|(_, text)| product(text));
    let text = text.ok_or_else(|| format!("{file} is not there"))?;
    let (mut header, mut found) = ("", Vec::new());
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("impl") || line.contains("trait ") {
            header = line;
        }
        let is_owned = owner.as_ref().is_none_or(|owner| names(header, owner));
        let opens = |sign: char| line.contains(&format!("fn {name}{sign}"));
        if !is_owned || !(opens('(') || opens('<')) {
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let length = lines[at..].iter().position(|line| *line == format!("{indent}}}"));
        let declaration = lines[at..].iter().position(|line| line.ends_with(';'));
        let Some(length) = length else { continue };
        let body = lines[at..at + length].join("\n");
        // A declaration in a trait ends before any body begins.
        let is_declared =
            declaration.is_some_and(|end| !lines[at..=at + end].join("").contains('{'));
        if !is_declared {
            found.push(body.split_once('{').map_or(String::new(), |(_, body)| body.to_owned()));
        }
    }
    match (found.pop(), found.is_empty()) {
        (Some(body), true) => Ok(body),
        (Some(_), false) => Err(format!("{file} has several `{name}`: say whose it is")),
        (None, _) => Err(format!("{file} has no `{name}`")),
    }
}

/// Functions that are not where the page says, or that nothing above them on the page calls.
fn faults(rows: &[Row], sources: &[Source]) -> Vec<String> {
    let (mut faults, mut read) = (Vec::new(), Vec::new());
    for listed in rows.iter().flat_map(|row| &row.functions) {
        let body = match body(listed, sources) {
            Ok(body) => body,
            Err(fault) => {
                faults.push(fault);
                continue;
            }
        };
        let is_called = read.iter().any(|above: &String| names(above, &listed.name));
        if !is_called && !listed.is_pointed_to && !read.is_empty() {
            faults.push(format!("nothing above calls `{}` of {}", listed.name, listed.file));
        }
        read.push(body);
    }
    faults
}

/// The lines that go back to a file which was left.
fn returns(rows: &[Row]) -> Vec<bool> {
    let file = |at: usize| &rows[at].file;
    let is_return = |at: usize| {
        at > 0 && file(at) != file(at - 1) && (0..at).any(|earlier| file(earlier) == file(at))
    };
    (0..rows.len()).map(is_return).collect()
}

#[test]
fn the_path_of_an_edit_is_short_and_true() {
    let rows = rows(&std::fs::read_to_string(repository().join(DOCUMENT)).unwrap());
    let count: usize = rows.iter().map(|row| row.functions.len()).sum();
    assert!((50..=MOST_FUNCTIONS).contains(&count), "{DOCUMENT}: {count} functions");
    let returns = returns(&rows);
    for (row, is_return) in rows.iter().zip(&returns) {
        assert_eq!(
            row.is_marked_return, *is_return,
            "{DOCUMENT}: the mark of a return: {}",
            row.file
        );
    }
    let count = returns.iter().filter(|is_return| **is_return).count();
    assert!(count <= MOST_RETURNS, "{DOCUMENT}: {count} returns");
    let faults = faults(&rows, &sources());
    assert!(faults.is_empty(), "{DOCUMENT}: {faults:#?}");
}

#[test]
fn a_path_that_is_not_the_codes_is_found() {
    let source = "impl Face {\n    fn run() {\n        plan();\n    }\n}\n\nfn plan() {\n    x();\n}\n\nfn idle() {\n}\n";
    let sources = vec![("crates/a/src/b.rs".to_owned(), source.to_owned())];
    let fault = |functions: &str| {
        let page = format!(
            "| step | file | functions |\n|---|---|---|\n| | `a/src/b.rs` | {functions} |\n"
        );
        faults(&rows(&page), &sources).concat()
    };
    assert_eq!(fault("`Face::run` `plan`"), "");
    assert_eq!(fault("`Face::run` `idle†`"), "");
    assert!(fault("`Face::run` `idle`").contains("nothing above calls `idle`"));
    assert!(fault("`Face::run` `gone`").contains("has no `gone`"));
    assert!(fault("`Other::run`").contains("has no `run`"));
    let row =
        |file: &str| Row { is_marked_return: false, file: file.to_owned(), functions: Vec::new() };
    let path = ["a", "b", "b", "a", "c", "b"].map(row);
    assert_eq!(returns(&path), [false, false, false, true, false, true]);
}
