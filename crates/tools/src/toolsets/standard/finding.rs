//! `search` and `glob`.

use jm_types::{Limits, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::ops::find::{Find, FindOutcome};
use crate::ops::search::{Case, FileHits, FoundLine, Query, Search, SearchOutcome, Syntax};
use crate::tool::Output;
use crate::toolsets::args::parse_args;
use crate::toolsets::lowered::Lowered;
use crate::toolsets::name::on_one_line;

const MATCHES: usize = 200;
const FILES: usize = 1000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchArgs {
    /// Text to search for within single lines.
    query: String,
    /// The query is a regular expression (Rust syntax). Default false: plain text.
    is_regex: Option<bool>,
    /// Upper and lower case differ. Default true.
    case_sensitive: Option<bool>,
    /// Directory or file to search. Default: the whole workspace.
    path: Option<String>,
    /// Only files that match one of these globs, such as *.rs or src/**.
    include: Option<Vec<String>>,
    /// No files that match one of these globs.
    exclude: Option<Vec<String>>,
    /// Lines to show around each match. Default 0.
    #[schemars(range(max = 20))]
    context: Option<usize>,
    /// Also search hidden files and what .gitignore names. Default false.
    include_ignored: Option<bool>,
    /// Most matches. Default 200.
    #[schemars(range(min = 1, max = 5000))]
    max_results: Option<usize>,
}

pub(super) fn lower_search(args: Value, _: &Limits) -> Result<Lowered<Search>, ToolError> {
    let args: SearchArgs = parse_args(args)?;
    let path = args.path.unwrap_or_else(|| ".".to_owned());
    let summary = format!("Search {path} for {}", args.query);
    let query = Query {
        text: args.query,
        syntax: if args.is_regex.unwrap_or(false) { Syntax::Regex } else { Syntax::Literal },
        case: if args.case_sensitive.unwrap_or(true) { Case::Sensitive } else { Case::Insensitive },
    };
    let everything = args.include_ignored.unwrap_or(false);
    let excluded = args.exclude.unwrap_or_default().into_iter().map(|glob| format!("!{glob}"));
    let search = Search {
        path,
        globs: args.include.unwrap_or_default().into_iter().chain(excluded).collect(),
        hidden: everything,
        ignored: everything,
        context: args.context.unwrap_or(0),
        most: args.max_results.unwrap_or(MATCHES),
        ..Search::new(query)
    };
    Ok(Lowered::new(search, summary))
}

/// Files under their own headings: `12:5: text` is line and column of the first match, `13- text`
/// a line around it.
pub(super) fn raise_search(found: SearchOutcome, _: usize) -> Result<Output, ToolError> {
    let matches: usize = found.files.iter().map(FileHits::matches).sum();
    let mut text: Vec<String> = found.files.iter().map(of_file).collect();
    let more = if found.is_cut { "; there are more, so narrow the search" } else { "" };
    let files = found.files.len();
    text.push(match matches {
        0 => format!("No matches in {} files.", found.searched),
        _ => format!("[{matches} matches in {files} of {} files{more}]", found.searched),
    });
    text.extend(found.notes.iter().map(|note| format!("[{note}]")));
    Ok(Output::Text(text.join("\n")))
}

fn of_file(file: &FileHits) -> String {
    let mut lines = vec![on_one_line(&file.path).into_owned()];
    let mut last = None;
    for line in &file.lines {
        if last.is_some_and(|last: u64| line.number > last + 1 && has_context(file)) {
            lines.push("--".to_owned());
        }
        last = Some(line.number);
        lines.push(of_line(line));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn has_context(file: &FileHits) -> bool {
    file.lines.iter().any(|line| line.hits.is_empty())
}

fn of_line(line: &FoundLine) -> String {
    let cut = if line.is_cut { " …" } else { "" };
    let columns: Vec<String> = line.hits.iter().map(|hit| hit.column.to_string()).collect();
    if columns.is_empty() {
        return format!("{}- {}{cut}", line.number, line.text);
    }
    format!("{}:{}: {}{cut}", line.number, columns.join(","), line.text)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GlobArgs {
    /// Globs. `*.rs` finds such names at any depth, `src/**/*.rs` is a path; `{a,b}` works.
    #[schemars(length(min = 1))]
    patterns: Vec<String>,
    /// Directory to look in. Default: the workspace root.
    path: Option<String>,
    /// Also hidden files and what .gitignore names. Default false.
    include_ignored: Option<bool>,
    /// Most files. Default 1000.
    #[schemars(range(min = 1, max = 100000))]
    max_results: Option<usize>,
}

pub(super) fn lower_glob(args: Value, _: &Limits) -> Result<Lowered<Find>, ToolError> {
    let args: GlobArgs = parse_args(args)?;
    let summary = format!("Find {}", args.patterns.join(", "));
    let everything = args.include_ignored.unwrap_or(false);
    let find = Find {
        path: args.path.unwrap_or_else(|| ".".to_owned()),
        patterns: args.patterns,
        hidden: everything,
        ignored: everything,
        most: args.max_results.unwrap_or(FILES),
    };
    Ok(Lowered::new(find, summary))
}

pub(super) fn raise_glob(found: FindOutcome, _: usize) -> Result<Output, ToolError> {
    let mut lines: Vec<String> =
        found.files.iter().map(|file| on_one_line(&file.path).into_owned()).collect();
    match (lines.len(), found.is_cut || found.is_partial) {
        (0, false) => lines.push("No files match; `**/` crosses directories.".to_owned()),
        (count, true) => lines.push(format!("[the first {count} files; narrow the pattern]")),
        (_, false) => {}
    }
    Ok(Output::Text(lines.join("\n")))
}
