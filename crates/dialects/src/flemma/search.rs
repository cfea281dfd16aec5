//! `grep`, `find` and `ls`.

use jm_files::EntryKind;
use jm_tools::Output;
use jm_tools::ops::find::{Find, FindOutcome};
use jm_tools::ops::search::{Case, Counted, FoundLine, Query, Search, SearchOutcome, Syntax};
use jm_tools::ops::walk::{Hidden, Kinds, Order, Walk, WalkOutcome, Walked};
use jm_tools::toolsets::{Lowered, on_one_line, parse_args};
use jm_types::{Limits, ToolError};
use serde::Deserialize;
use serde_json::Value;

use super::text::{MOST_LINES, labelled};

const MATCHES: usize = 100;
const FILES: usize = 500;
const DEEPEST: usize = 10;

/// A number of the schema as a count, at least 1.
fn count(asked: Option<f64>, default: usize) -> usize {
    asked.map_or(default, |number| number.max(1.0) as usize)
}

/// A line a match; nothing is shown beyond the set's 2000.
fn most(asked: Option<f64>, default: usize) -> usize {
    count(asked, default).min(usize::try_from(MOST_LINES).unwrap_or(usize::MAX))
}

fn place(path: Option<String>) -> String {
    path.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".to_owned())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grep {
    label: Option<String>,
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    limit: Option<f64>,
}

pub(super) fn lower_grep(args: Value, _: &Limits) -> Result<Lowered<Search>, ToolError> {
    let args: Grep = parse_args(args)?;
    let words = [Some(format!("grep: /{}/", args.pattern)), args.path.clone(), args.glob.clone()];
    let what = words.into_iter().flatten().collect::<Vec<_>>().join("  ");
    let query = Query { text: args.pattern, syntax: Syntax::Regex, case: Case::Sensitive };
    let search = Search {
        path: place(args.path),
        globs: args.glob.into_iter().collect(),
        most: most(args.limit, MATCHES),
        counted: Counted::Lines,
        ..Search::new(query)
    };
    Ok(Lowered::new(search, labelled(what, args.label.as_deref())))
}

pub(super) fn raise_grep(found: SearchOutcome, _: usize) -> Result<Output, ToolError> {
    let mut lines = Vec::new();
    for file in &found.files {
        let path = on_one_line(&file.path);
        let cut = |is_cut| if is_cut { " …" } else { "" };
        let line =
            |line: &FoundLine| format!("{path}:{}:{}{}", line.number, line.text, cut(line.is_cut));
        lines.extend(file.lines.iter().map(line));
    }
    let mut notes = found.notes;
    match (lines.len(), found.is_cut) {
        (0, _) => lines.push("No matches found.".to_owned()),
        (count, true) => {
            notes.insert(0, format!("the first {count} matching lines; there are more"));
        }
        (_, false) => {}
    }
    lines.extend(notes.iter().map(|note| format!("\n[{note}]")));
    Ok(Output::Text(lines.join("\n")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindArgs {
    label: Option<String>,
    pattern: String,
    path: Option<String>,
    limit: Option<f64>,
}

pub(super) fn lower_find(args: Value, _: &Limits) -> Result<Lowered<Find>, ToolError> {
    let args: FindArgs = parse_args(args)?;
    let within = args.path.as_ref().map(|path| format!("  in {path}")).unwrap_or_default();
    let summary = labelled(format!("find: {}{within}", args.pattern), args.label.as_deref());
    let find = Find {
        path: place(args.path),
        patterns: vec![args.pattern],
        hidden: false,
        ignored: false,
        most: most(args.limit, FILES),
    };
    Ok(Lowered::new(find, summary))
}

pub(super) fn raise_find(found: FindOutcome, _: usize) -> Result<Output, ToolError> {
    let mut lines: Vec<String> =
        found.files.iter().map(|file| on_one_line(&file.path).into_owned()).collect();
    match (lines.len(), found.is_cut || found.is_partial) {
        (0, false) => lines.push("No files found.".to_owned()),
        (count, true) => lines.push(format!("\n[the first {count} files; there are more]")),
        (_, false) => {}
    }
    Ok(Output::Text(lines.join("\n")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ls {
    label: Option<String>,
    path: String,
    max_depth: Option<f64>,
    limit: Option<f64>,
}

pub(super) fn lower_ls(args: Value, _: &Limits) -> Result<Lowered<Walk>, ToolError> {
    let args: Ls = parse_args(args)?;
    let depth = count(args.max_depth, 1).min(DEEPEST);
    let deep = if depth > 1 { format!("  depth={depth}") } else { String::new() };
    let summary = labelled(format!("ls: {}{deep}", args.path), args.label.as_deref());
    let kinds = Kinds { files: true, directories: true, symlinks: true, other: true };
    let most = most(args.limit, FILES);
    let (path, hidden, order) = (args.path, Hidden::Show, Order::DirectoriesFirst);
    let walk = Walk { path, depth, most, kinds, hidden, order };
    Ok(Lowered::new(walk, summary))
}

pub(super) fn raise_ls(walked: WalkOutcome, _: usize) -> Result<Output, ToolError> {
    let line = |walked: &Walked| {
        let path = walked.path.to_string_lossy();
        let path = on_one_line(&path);
        match walked.entry.kind {
            EntryKind::Directory => format!("{path}/"),
            _ => path.into_owned(),
        }
    };
    let lines: Vec<String> = walked.entries.iter().map(line).collect();
    let more = if walked.is_cut { ", there are more" } else { "" };
    Ok(Output::Text(format!("{}\n\n[{} entries{more}]", lines.join("\n"), lines.len())))
}
