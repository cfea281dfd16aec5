//! `edit_file`, `edit_region` and `multi_edit`: parts of files that were read before.

use jm_files::text::ReplaceWhich;
use jm_types::{Limits, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::ops::change::{
    Change, ChangeRules, ChangedFile, ChangedLines, Did, Edit, EditDone, EditFailure, FileEdit,
    FreshnessRule, LineChange, OnError, SingleChange,
};
use crate::tool::Output;
use crate::toolsets::args::parse_args;
use crate::toolsets::envelope::with_hints;
use crate::toolsets::lines::{EditRegion, Region};
use crate::toolsets::lowered::{Lowered, Stakes};
use crate::toolsets::notes::with_notes;

/// A file is edited only after it was read.
const RULES: ChangeRules = ChangeRules::new(FreshnessRule::Required);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditFile {
    /// File to edit, relative to the workspace root.
    path: String,
    #[schemars(
        description = "Text to replace, copied exactly from the file, white space included. It must occur once unless replace_all is true."
    )]
    old_string: String,
    /// Text to put in its place; empty to delete.
    new_string: String,
    /// Replace every occurrence. Default false.
    replace_all: Option<bool>,
}

pub(super) fn lower_edit_file(args: Value, _: &Limits) -> Result<Lowered<SingleChange>, ToolError> {
    let args: EditFile = parse_args(args)?;
    let everywhere = args.replace_all.unwrap_or(false);
    let scope = if everywhere { " (all occurrences)" } else { "" };
    let summary = format!("Edit {}{scope}", args.path);
    let edit = text_edit(args.old_string, args.new_string, everywhere);
    Ok(Lowered::new(SingleChange::new(args.path, edit, RULES), summary))
}

fn text_edit(old: String, new: String, everywhere: bool) -> Edit {
    let which = if everywhere { ReplaceWhich::All } else { ReplaceWhich::Only };
    Edit::Text { old: old.into_bytes(), new: new.into_bytes(), which }
}

pub(super) fn raise_edit_file(file: ChangedFile, _: usize) -> Result<Output, ToolError> {
    let plural = if file.replaced == 1 { "" } else { "s" };
    let said = format!("Edited {} ({} replacement{plural})", file.path, file.replaced);
    Ok(Output::Text(with_notes(said, &file)))
}

pub(super) fn lower_edit_region(args: Value, _: &Limits) -> Result<Lowered<LineChange>, ToolError> {
    let args: EditRegion = parse_args(args)?;
    let summary = format!("Replace {}", args.region.summary());
    let change = args.region.change(if args.dry_run { RULES.dry() } else { RULES })?;
    Ok(lowered(change, args.dry_run, summary))
}

/// A dry run only reads.
fn lowered<O>(change: O, dry_run: bool, summary: String) -> Lowered<O> {
    if !dry_run {
        return Lowered::new(change, summary);
    }
    Lowered::new(change, format!("Dry run: {summary}")).at_stake(Stakes::READS)
}

pub(super) fn raise_edit_region(changed: ChangedLines, _: usize) -> Result<Output, ToolError> {
    let ChangedLines { first, last, file } = changed;
    let region = format!("lines {first}-{last} of {}", file.path);
    if let Some(preview) = &file.preview {
        return Ok(Output::Text(format!("Dry run, nothing was written: {region}\n{preview}")));
    }
    let said = match file.did {
        Did::Created | Did::Modified => format!("Replaced {region}"),
        Did::Nothing => format!("Unchanged: {region} are that already"),
    };
    Ok(Output::Text(with_notes(said, &file)))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MultiEdit {
    #[schemars(
        description = "The edits, in order. Each has old_string and new_string, or start_line, end_line and new_content."
    )]
    #[schemars(length(min = 1))]
    edits: Vec<OneEdit>,
    #[schemars(
        description = "One failure leaves every file as it was. Default true; false skips only the files whose edits fail."
    )]
    stop_on_error: Option<bool>,
    /// Only show what would change. Default false.
    dry_run: Option<bool>,
}

// Lines by their numbers, or exact text; the list that holds it says so to the model.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneEdit {
    /// File to edit, relative to the workspace root.
    path: String,
    #[schemars(
        description = "Text to replace, copied exactly from the file. It must occur once unless replace_all is true."
    )]
    old_string: Option<String>,
    /// Text to put in its place; empty to delete.
    new_string: Option<String>,
    /// Replace every occurrence of old_string. Default false.
    replace_all: Option<bool>,
    /// First line to replace, from 1.
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    /// Last line to replace, included.
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
    /// The lines that take their place; empty to delete them.
    new_content: Option<String>,
    /// The lines as you read them.
    expected: Option<String>,
}

impl OneEdit {
    fn edit(self, number: usize) -> Result<FileEdit, ToolError> {
        let mixed = || {
            ToolError::bad_args(format!("edit {number} is neither of text nor of lines")).hint(
                "give old_string and new_string, or start_line, end_line and new_content, not both",
            )
        };
        let Self { path, start_line, end_line, new_content, expected, .. } = self;
        match (self.old_string, self.new_string, start_line, end_line, new_content) {
            (Some(old), Some(new), None, None, None) if expected.is_none() => {
                let edit = text_edit(old, new, self.replace_all.unwrap_or(false));
                Ok(FileEdit { path, edit })
            }
            (None, None, Some(start_line), Some(end_line), Some(new_content))
                if self.replace_all.is_none() =>
            {
                Region { path, start_line, end_line, new_content, expected }.edit()
            }
            _ => Err(mixed()),
        }
    }
}

pub(super) fn lower_multi_edit(args: Value, _: &Limits) -> Result<Lowered<Change>, ToolError> {
    let args: MultiEdit = parse_args(args)?;
    let count = args.edits.len();
    let edits: Vec<FileEdit> = args
        .edits
        .into_iter()
        .zip(1..)
        .map(|(edit, number)| edit.edit(number))
        .collect::<Result<_, _>>()?;
    if edits.is_empty() {
        return Err(ToolError::bad_args("edits must not be empty"));
    }
    let mut names: Vec<&str> = edits.iter().map(|edit| edit.path.as_str()).collect();
    names.dedup();
    let summary = format!("Apply {count} edit(s) to {}", names.join(", "));
    let on_error = if args.stop_on_error.unwrap_or(true) { OnError::Stop } else { OnError::Skip };
    let dry_run = args.dry_run.unwrap_or(false);
    let rules = ChangeRules { on_error, ..if dry_run { RULES.dry() } else { RULES } };
    Ok(lowered(Change { files: edits, rules }, dry_run, summary))
}

pub(super) fn raise_multi_edit(files: Vec<ChangedFile>, _: usize) -> Result<Output, ToolError> {
    let edits = || files.iter().flat_map(|file| &file.edits);
    let (count, applied) = (edits().count(), edits().filter(|edit| edit.failure.is_none()).count());
    let is_dry = files.iter().any(|file| file.preview.is_some());
    let mut lines = vec![if is_dry {
        format!("Dry run, nothing was written: {applied} of {count} edits apply")
    } else {
        format!("Applied {applied} of {count} edits")
    }];
    for file in &files {
        lines.push(with_notes(of_file(file), file));
        lines.extend(file.edits.iter().filter_map(why_not));
    }
    lines.extend(files.into_iter().filter_map(|file| file.preview));
    Ok(Output::Text(lines.join("\n")))
}

fn of_file(file: &ChangedFile) -> String {
    let did = match file.did {
        Did::Created => "created",
        Did::Modified => "modified",
        Did::Nothing => "not changed",
    };
    format!("{did}: {}", file.path)
}

fn why_not(edit: &EditDone) -> Option<String> {
    let why = match edit.failure.as_ref()? {
        EditFailure::Own(error) => with_hints(error),
        failure @ EditFailure::Another => failure.message(),
    };
    Some(format!("edit {}: {}", edit.index + 1, why.trim_end().replace('\n', "\n  ")))
}
