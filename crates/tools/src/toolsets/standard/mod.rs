//! `standard`: the set for a model to work with. Forge's tools and envelope, exact edits, search,
//! and the tests of a project.

mod finding;
mod processes;

use jm_types::{Limits, ToolError};
use jm_workspace::PathPolicy;
use jm_workspace::text::ReplaceWhich;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Dialect, Lowered, Operation, Outcome, Output, Row, Stakes, Toolset, envelope, mismatch, parse,
};
use crate::ops::change::{Change, Did, Edit, Existing, FileEdit, FreshnessRule};

pub(super) const DIALECT: Dialect = Dialect {
    rows: ROWS,
    borrowed: &[
        (Toolset::Forge, &["apply_patch", "list_directory", "read_file", "run_command"]),
        (Toolset::Forj, &["run_tests"]),
    ],
    envelope: envelope::TEXT,
    paths: PathPolicy::ABSOLUTE,
    timeout: None,
};

const ROWS: &[Row] = &[
    Row {
        name: "edit_file",
        description: "Replace exact text in one file. Read the file first and copy old_string from \
            it, with enough lines around the place that it occurs once. For changes in several \
            files at once use apply_patch.",
        schema: include_str!("../schemas/standard/edit_file.json"),
        stakes: Stakes::CHANGES,
        lower: lower_edit_file,
        raise: raise_edit_file,
    },
    Row {
        name: "glob",
        description: "Find files by name or path pattern, sorted. Files that .gitignore names and \
            hidden ones are left out unless include_ignored is true.",
        schema: include_str!("../schemas/standard/glob.json"),
        stakes: Stakes::READS,
        lower: finding::lower_glob,
        raise: finding::raise_glob,
    },
    processes::PROCESS,
    Row {
        name: "search",
        description: "Search the contents of files, every match with its line and column. Plain \
            text unless is_regex is true. Ignored, hidden and binary files are left out. Narrow a \
            search with path, include and exclude.",
        schema: include_str!("../schemas/standard/search.json"),
        stakes: Stakes::READS,
        lower: finding::lower_search,
        raise: finding::raise_search,
    },
    processes::START_PROCESS,
    Row {
        name: "write_file",
        description: "Write a whole file, with the directories it needs. An existing file is only \
            replaced with overwrite, after it was read; for a part of a file use edit_file.",
        schema: include_str!("../schemas/standard/write_file.json"),
        stakes: Stakes::CHANGES,
        lower: lower_write_file,
        raise: raise_write_file,
    },
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditFile {
    path: String,
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
}

fn lower_edit_file(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let args: EditFile = parse(args)?;
    let (which, scope) = match args.replace_all.unwrap_or(false) {
        true => (ReplaceWhich::All, " (all occurrences)"),
        false => (ReplaceWhich::Only, ""),
    };
    let summary = format!("Edit {}{scope}", args.path);
    let (old, new) = (args.old_string.into_bytes(), args.new_string.into_bytes());
    let edit = Edit::Text { old, new, which };
    let files = vec![FileEdit { path: args.path, edit }];
    let change = Change::new(files, FreshnessRule::Required);
    Ok(Lowered::new(Operation::Change(change), summary))
}

fn raise_edit_file(outcome: Outcome, _: usize) -> Result<Output, ToolError> {
    let Outcome::Changed(files) = &outcome else { return Err(mismatch("edit_file", &outcome)) };
    let file = files.first().ok_or_else(|| mismatch("edit_file", &outcome))?;
    let plural = if file.replaced == 1 { "" } else { "s" };
    let mut lines = vec![format!("Edited {} ({} replacement{plural})", file.path, file.replaced)];
    lines.extend(file.notes.iter().map(|note| format!("note: {note}")));
    Ok(Output::Text(lines.join("\n")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    path: String,
    content: String,
    overwrite: Option<bool>,
}

fn lower_write_file(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let args: WriteFile = parse(args)?;
    let (existing, freshness, verb) = match args.overwrite.unwrap_or(false) {
        true => (Existing::Replace, FreshnessRule::Required, "Write"),
        false => (Existing::Refuse, FreshnessRule::NotRequired, "Create"),
    };
    let content = args.content.into_bytes();
    let summary = format!("{verb} {} ({} bytes)", args.path, content.len());
    let files = vec![FileEdit { path: args.path, edit: Edit::Whole { content, existing } }];
    Ok(Lowered::new(Operation::Change(Change::new(files, freshness)), summary))
}

fn raise_write_file(outcome: Outcome, _: usize) -> Result<Output, ToolError> {
    let Outcome::Changed(files) = &outcome else { return Err(mismatch("write_file", &outcome)) };
    let file = files.first().ok_or_else(|| mismatch("write_file", &outcome))?;
    let did = match file.did {
        Did::Created => "Created",
        Did::Modified => "Replaced",
        Did::Nothing => "Unchanged:",
    };
    let mut lines = vec![format!("{did} {} ({} bytes)", file.path, file.bytes)];
    lines.extend(file.notes.iter().map(|note| format!("note: {note}")));
    Ok(Output::Text(lines.join("\n")))
}
