//! `standard`: the set for a model to work with. Forge's tools and envelope, edits of text and of
//! lines, search, the tests of a project, and lists of things to do.

mod edits;
mod finding;
mod processes;
mod reading;
mod tasks;
mod tests_run;

use jm_files::PathPolicy;
use jm_types::{Limits, ToolError, Toolset};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::args::parse_args;
use super::derived::derived;
use super::dialect::Dialect;
use super::envelope;
use super::forge::FORGE;
use super::lowered::{Lowered, Stakes};
use super::notes::with_notes;
use super::row::{Row, SchemaOf, Translate};
use super::tasks::{lower_task, lower_todo};
use crate::ops::change::{
    ChangeRules, ChangedFile, Did, Edit, Existing, FreshnessRule, SingleChange,
};
use crate::tool::Output;

/// The toolset `standard`.
pub static STANDARD: Dialect = Dialect {
    toolset: Toolset::Standard,
    rows: ROWS,
    borrowed: &[(&FORGE, &["apply_patch", "list_directory", "run_command"])],
    envelope: envelope::TEXT,
    paths: PathPolicy::ABSOLUTE,
    timeout: None,
};

const ROWS: &[Row] = &[
    Row {
        name: "edit_file",
        description: "Replace exact text in one file. Read the file first and copy old_string from \
            it, with enough lines around the place that it occurs once. For several changes at \
            once use multi_edit.",
        schema: SchemaOf::Struct(derived::<edits::EditFile>),
        stakes: Stakes::CHANGES,
        translation: &Translate { lower: edits::lower_edit_file, raise: edits::raise_edit_file },
    },
    Row {
        name: "edit_region",
        description: "Replace whole lines of a file: start_line to end_line (from 1, both included) \
            become the lines of new_content. Read the file first and take the numbers from there; give \
            expected, the lines as you read them, to be told if they are not there any more. Empty \
            new_content deletes the lines. With dry_run only the diff is shown.",
        schema: SchemaOf::Document(include_str!("../schemas/standard/edit_region.json")),
        stakes: Stakes::CHANGES,
        translation: &Translate {
            lower: edits::lower_edit_region,
            raise: edits::raise_edit_region,
        },
    },
    Row {
        name: "glob",
        description: "Find files by name or path pattern, sorted. Files that .gitignore names and \
            hidden ones are left out unless include_ignored is true.",
        schema: SchemaOf::Struct(derived::<finding::GlobArgs>),
        stakes: Stakes::READS,
        translation: &Translate { lower: finding::lower_glob, raise: finding::raise_glob },
    },
    processes::PROCESS,
    Row {
        name: "multi_edit",
        description: "Make several edits in one or more files that were read before. Each edit is \
            of text (old_string, new_string, perhaps replace_all) or of lines (start_line, end_line, \
            new_content, perhaps expected). They apply in order, each to what the one before it \
            left, so edit lines from the bottom up. A file changes with all of its edits or not at \
            all; unless stop_on_error is false, one failure leaves every file as it was. With \
            dry_run only the diff is shown.",
        schema: SchemaOf::Struct(derived::<edits::MultiEdit>),
        stakes: Stakes::CHANGES,
        translation: &Translate { lower: edits::lower_multi_edit, raise: edits::raise_multi_edit },
    },
    reading::READ_FILE,
    Row {
        name: "run_tests",
        description: "Run the project's tests and count the results. The runner is found by itself \
            (cargo, pytest, go, node, ERT), or given as command; selector narrows the tests.",
        schema: SchemaOf::Document(include_str!("../schemas/standard/run_tests.json")),
        stakes: Stakes::RUNS,
        translation: &Translate { lower: tests_run::lower, raise: tests_run::raise },
    },
    Row {
        name: "search",
        description: "Search the contents of files, every match with its line and column. Plain \
            text unless is_regex is true. Ignored, hidden and binary files are left out. Narrow a \
            search with path, include and exclude.",
        schema: SchemaOf::Struct(derived::<finding::SearchArgs>),
        stakes: Stakes::READS,
        translation: &Translate { lower: finding::lower_search, raise: finding::raise_search },
    },
    processes::START_PROCESS,
    Row {
        name: "task",
        description: "Keep larger pieces of work. Each may have subtasks, acceptance criteria, a \
            priority, links into the code and notes. For short steps use todo_write. They are kept with the \
            session, not in the project; the action export writes them to a file after the user \
            agreed.",
        schema: SchemaOf::Document(include_str!("../schemas/standard/task.json")),
        stakes: Stakes::GATED_CHANGES,
        translation: &Translate { lower: lower_task, raise: tasks::raise },
    },
    Row {
        name: "todo_write",
        description: "Keep a list of steps while you work. Create one for each step before you \
            begin, complete it when it is done, list what is left. The list is kept with the \
            session, not in the project; the action export writes it to a file after the user \
            agreed.",
        schema: SchemaOf::Document(include_str!("../schemas/standard/todo_write.json")),
        stakes: Stakes::GATED_CHANGES,
        translation: &Translate { lower: lower_todo, raise: tasks::raise },
    },
    Row {
        name: "write_file",
        description: "Write a whole file, with the directories it needs. An existing file is only \
            replaced with overwrite, after it was read; for a part of a file use edit_file.",
        schema: SchemaOf::Struct(derived::<WriteFile>),
        stakes: Stakes::CHANGES,
        translation: &Translate { lower: lower_write_file, raise: raise_write_file },
    },
];

/// The remedy where a file is there already.
const INSTEAD: &str =
    "to change a part of it use edit_file; to replace it whole, read it and set overwrite";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    /// File to write, relative to the workspace root.
    path: String,
    /// The whole content of the file.
    content: String,
    #[schemars(
        description = "Replace an existing file; it must have been read whole before. Default false: only new files are written."
    )]
    overwrite: Option<bool>,
}

fn lower_write_file(args: Value, _: &Limits) -> Result<Lowered<SingleChange>, ToolError> {
    let args: WriteFile = parse_args(args)?;
    let (existing, freshness, verb) = if args.overwrite.unwrap_or(false) {
        (Existing::Replace, FreshnessRule::Required, "Write")
    } else {
        (Existing::Refuse(INSTEAD), FreshnessRule::NotRequired, "Create")
    };
    let content = args.content.into_bytes();
    let summary = format!("{verb} {} ({} bytes)", args.path, content.len());
    let (edit, rules) = (Edit::Whole { content, existing }, ChangeRules::new(freshness));
    Ok(Lowered::new(SingleChange::new(args.path, edit, rules), summary))
}

fn raise_write_file(file: ChangedFile, _: usize) -> Result<Output, ToolError> {
    let did = match file.did {
        Did::Created => "Created",
        Did::Modified => "Replaced",
        Did::Nothing => "Unchanged:",
    };
    Ok(Output::Text(with_notes(format!("{did} {} ({} bytes)", file.path, file.bytes), &file)))
}
