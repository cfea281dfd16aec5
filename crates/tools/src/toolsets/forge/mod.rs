//! `forge`: the tools of the tool executor requirements, word for word.

mod listing;

use jm_files::PathPolicy;
use jm_process::command::{CommandProgram, Exit};
use jm_types::{Limits, ToolError, Toolset};
use serde::Deserialize;
use serde_json::Value;

use super::args::parse_args;
use super::dialect::Dialect;
use super::envelope;
use super::lines::check_line_range;
use super::lowered::{Lowered, Stakes};
use super::row::{Row, SchemaOf, Translate};
use crate::ops::change::lp1;
use crate::ops::change::{
    Change, ChangeRules, ChangedFile, Did, Edit, Existing, FileEdit, FreshnessRule, SingleChange,
};
use crate::ops::read::{LineRange, Read, ReadOutcome};
use crate::ops::run::{Run, RunOutcome};
use crate::tool::Output;

/// The toolset `forge`.
pub static FORGE: Dialect = Dialect {
    toolset: Toolset::Forge,
    rows: ROWS,
    borrowed: &[],
    envelope: envelope::TEXT,
    paths: PathPolicy::FORGE,
    timeout: None,
};

const ROWS: &[Row] = &[
    Row {
        name: "apply_patch",
        description: "Change files with an LP1 line patch. All files of the patch change together \
            or none does. A file must have been read before it is patched. Form: a line `LP1`; for \
            each file `F <path>` and operations; a line `END`. Operations: `R [n]` replace, `I [n]` \
            insert after, `P [n]` insert before, each followed by a find block and a new block; \
            `E [n]` erase, with a find block; `T` append and `B` prepend, with a new block; `N +` or \
            `N -` for the final newline. A block is whole lines ended by a line `.`; a content line \
            that begins with a dot gets one more dot.",
        schema: SchemaOf::Document(include_str!("../schemas/forge/apply_patch.json")),
        stakes: Stakes::CHANGES,
        translation: &Translate { lower: lower_apply_patch, raise: raise_apply_patch },
    },
    Row {
        name: "list_directory",
        description: "List a directory's entries as JSON. Symbolic links are shown, never followed.",
        schema: SchemaOf::Document(include_str!("../schemas/forge/list_directory.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: listing::lower, raise: listing::raise },
    },
    Row {
        name: "read_file",
        description: "Read a file of the workspace: text as it is, binary as base64. For large \
            files give start_line and end_line.",
        schema: SchemaOf::Document(include_str!("../schemas/forge/read_file.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: lower_read_file, raise: raise_read_file },
    },
    Row {
        name: "run_command",
        description: "Run a shell command in the workspace root and return its output. It has no \
            input and is ended, with all it started, when its time is up.",
        schema: SchemaOf::Document(include_str!("../schemas/forge/run_command.json")),
        stakes: Stakes::RUNS,
        translation: &Translate { lower: lower_run_command, raise: raise_run_command },
    },
    Row {
        name: "write_file",
        description: "Create a new file, with its parent directories. An existing file is not \
            touched: use apply_patch for those.",
        schema: SchemaOf::Document(include_str!("../schemas/forge/write_file.json")),
        stakes: Stakes::CHANGES,
        translation: &Translate { lower: lower_write_file, raise: raise_write_file },
    },
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFile {
    path: String,
    start_line: Option<u32>,
    end_line: Option<u32>,
}

fn lower_read_file(args: Value, _: &Limits) -> Result<Lowered<Read>, ToolError> {
    let ReadFile { path, start_line, end_line } = parse_args(args)?;
    let (read, summary) = read_lines(path, start_line, end_line)?;
    Ok(Lowered::new(read, summary))
}

/// A read of a file or of some of its lines, and its summary.
pub(super) fn read_lines(
    path: String,
    start_line: Option<u32>,
    end_line: Option<u32>,
) -> Result<(Read, String), ToolError> {
    check_line_range(start_line.unwrap_or(1).into(), end_line.map(u64::from))?;
    let asked = start_line.is_some() || end_line.is_some();
    let first = u64::from(start_line.unwrap_or(1));
    let range = asked.then(|| LineRange { first, last: end_line.map(u64::from) });
    let lines = match (range, end_line) {
        (None, _) => String::new(),
        (Some(range), Some(end)) => format!(" lines {}-{end}", range.first),
        (Some(range), None) => format!(" lines {}-", range.first),
    };
    let summary = format!("Read {path}{lines}");
    Ok((Read { path, range }, summary))
}

fn raise_read_file(outcome: ReadOutcome, _: usize) -> Result<Output, ToolError> {
    Ok(match outcome {
        ReadOutcome::Text(content) => Output::Text(content),
        // Cutting base64 would break it (FR-TOOL-READ-01b).
        ReadOutcome::Base64 { text, .. } => Output::Whole(text),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    path: String,
    content: String,
}

fn lower_write_file(args: Value, _: &Limits) -> Result<Lowered<SingleChange>, ToolError> {
    let args: WriteFile = parse_args(args)?;
    let content = args.content.into_bytes();
    let summary = format!("Create {} ({} bytes)", args.path, content.len());
    let edit = Edit::Whole {
        content,
        existing: Existing::Refuse("change an existing file with apply_patch"),
    };
    // Only new files are written, so there is nothing that could be stale.
    let rules = ChangeRules::new(FreshnessRule::NotRequired);
    Ok(Lowered::new(SingleChange::new(args.path, edit, rules), summary))
}

fn raise_write_file(file: ChangedFile, _: usize) -> Result<Output, ToolError> {
    Ok(Output::Text(format!("Created {} ({} bytes)", file.path, file.bytes)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApplyPatch {
    patch: String,
}

fn lower_apply_patch(args: Value, limits: &Limits) -> Result<Lowered<Change>, ToolError> {
    let args: ApplyPatch = parse_args(args)?;
    if args.patch.len() > limits.patch_bytes {
        return Err(ToolError::limit(format!(
            "the patch has {} bytes; at most {} are accepted",
            args.patch.len(),
            limits.patch_bytes
        ))
        .hint("split the change into several patches")
        .hint("tools.apply_patch.max_patch_bytes sets the limit"));
    }
    let patch = lp1::parse(&args.patch).map_err(|error| {
        let failed = ToolError::new(jm_types::ErrorKind::PatchFailed {
            file: error.path.clone().unwrap_or_default().into(),
            message: error.to_string(),
        });
        error.hint().into_iter().fold(failed, ToolError::hint)
    })?;
    let mut names: Vec<&str> = patch.sections.iter().map(|section| &*section.path).collect();
    let mut known = std::collections::HashSet::new();
    names.retain(|name| known.insert(*name));
    let summary = format!("Apply patch to {} file(s): {}", names.len(), names.join(", "));
    let edit =
        |section: lp1::Section| FileEdit { path: section.path.clone(), edit: Edit::Patch(section) };
    let files = patch.sections.into_iter().map(edit).collect();
    let change = Change::new(files, FreshnessRule::Required);
    Ok(Lowered::new(change, summary))
}

fn raise_apply_patch(files: Vec<ChangedFile>, _: usize) -> Result<Output, ToolError> {
    let lines: Vec<String> = files.iter().flat_map(changed_lines).collect();
    if lines.is_empty() {
        return Ok(Output::Text("No changes applied.".to_owned()));
    }
    Ok(Output::Text(lines.join("\n")))
}

fn changed_lines(file: &ChangedFile) -> Vec<String> {
    let did = match file.did {
        Did::Created => "created",
        Did::Modified => "modified",
        Did::Nothing => return Vec::new(),
    };
    let mut lines = vec![format!("{did}: {}", file.path)];
    lines.extend(file.notes.iter().map(|note| format!("note: {}: {note}", file.path)));
    lines
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunCommand {
    command: String,
}

fn lower_run_command(args: Value, _: &Limits) -> Result<Lowered<Run>, ToolError> {
    let args: RunCommand = parse_args(args)?;
    if args.command.trim().is_empty() {
        return Err(ToolError::bad_args("command must not be blank"));
    }
    if args.command.contains('\0') {
        return Err(ToolError::bad_args("command contains a NUL character"));
    }
    let summary = format!("Run command: {}", args.command);
    let run = Run::new(CommandProgram::Shell(args.command));
    Ok(Lowered::new(run, summary))
}

fn raise_run_command(ran: RunOutcome, _: usize) -> Result<Output, ToolError> {
    match ran.exit {
        Exit::Code(0) => Ok(Output::Text(ran.text())),
        exit => Err(ran.failure("run_command", exit.to_string(), ran.text())),
    }
}
