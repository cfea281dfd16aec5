//! Reading and changing files (FJ-READ, FJ-WRITE, FJ-EDIT, FJ-MULTI, FJ-DRY).

use jm_types::text::json_length;
use jm_types::{Limits, ToolError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Lowered, Operation, Outcome, Output, Stakes, mismatch, parse};
use crate::ops::change::{
    Backup, Care, Change, ChangedFile, Did, Edit, EditDone, Existing, FileEdit, FreshnessRule,
    Missing, Mode, OnError,
};
use crate::ops::page::Page;
use crate::toolsets::encoding;
use crate::toolsets::envelope::{prefix_within, text_within};
use crate::toolsets::lines::{self, EditRegion, Region};

const DEFAULT_BYTES: usize = 100_000;
/// How much of a new content a dry run quotes.
const MOST_PREVIEW: usize = 8 * 1024;

#[derive(Deserialize)]
struct ReadFile {
    path: String,
    max_bytes: Option<usize>,
    start_line: Option<u64>,
    end_line: Option<u64>,
    #[serde(default)]
    include_context: u64,
}

pub(super) fn lower_read_file(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let args: ReadFile = parse(args)?;
    let most_bytes = args.max_bytes.unwrap_or(DEFAULT_BYTES);
    let mut summary = format!("Read {}", args.path);
    let mut page = Page { most_bytes, ..Page::whole(&args.path) };
    if args.start_line.is_some() || args.end_line.is_some() {
        let (start, end) = (args.start_line.unwrap_or(1), args.end_line);
        lines::check(start, end)?;
        let first = start.saturating_sub(args.include_context).max(1);
        let last = end.map(|end| end.saturating_add(args.include_context));
        page.first = first;
        page.count = last.map(|last| last - first + 1);
        page.must_reach = Some(start);
        summary.push_str(&match end {
            Some(end) => format!(" lines {start}-{end}"),
            None => format!(" lines {start}-"),
        });
    }
    Ok(Lowered::new(Operation::Page(page), summary))
}

pub(super) fn raise_read_file(outcome: Outcome, room: usize) -> Result<Output, ToolError> {
    let Outcome::Paged(page) = outcome else { return Err(mismatch("read_file", &outcome)) };
    let decoded = encoding::decode(&page.start, &page.bytes, page.is_range)
        .map_err(|why| ToolError::io(&page.path, why))?;
    let mut result = Map::new();
    result.insert("path".to_owned(), json!(page.path));
    result.insert("encoding".to_owned(), json!(decoded.encoding));
    result.insert("content".to_owned(), json!(""));
    result.insert("truncated".to_owned(), json!(page.is_cut));
    result.insert("size".to_owned(), json!(page.size));
    if page.is_range {
        let last = (page.first + page.lines).saturating_sub(1);
        result.insert("range".to_owned(), json!({"start_line": page.first, "end_line": last}));
    }
    let left = room.saturating_sub(Value::Object(result.clone()).to_string().len() + 1);
    let fits = json_length(&decoded.text) <= left;
    let mut content = prefix_within(&decoded.text, left);
    if page.is_range && (page.is_cut || !fits) {
        content = whole_lines(content);
        let last = page.first + (content.lines().count().max(1) as u64) - 1;
        result.insert("range".to_owned(), json!({"start_line": page.first, "end_line": last}));
    }
    result.insert("content".to_owned(), json!(content));
    result.insert("truncated".to_owned(), json!(page.is_cut || !fits));
    Ok(Output::Json(Value::Object(result)))
}

/// The lines that are there to their ends, so that a reader can go on after the last one; a first line
/// that is cut in two stays, being all there is.
fn whole_lines(text: &str) -> &str {
    text.rfind('\n').map_or(text, |end| &text[..=end])
}

#[derive(Deserialize)]
struct WriteFile {
    path: String,
    content: String,
    #[serde(default)]
    no_backup: bool,
    #[serde(default)]
    append: bool,
    #[serde(default = "yes")]
    create_if_missing: bool,
    #[serde(default)]
    dry_run: bool,
}

fn yes() -> bool {
    true
}

pub(super) fn lower_write_file(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let args: WriteFile = parse(args)?;
    let bytes = args.content.len();
    let (does, edit) = match args.append {
        true => ("Append to", Edit::Append { content: args.content.into_bytes() }),
        false => {
            let existing = Existing::Replace;
            ("Write", Edit::Whole { content: args.content.into_bytes(), existing })
        }
    };
    let summary = format!("{does} {} ({bytes} bytes)", args.path);
    let change = Change {
        missing: if args.create_if_missing { Missing::Create } else { Missing::Refuse },
        backup: if args.no_backup { Backup::None } else { Backup::Keep },
        ..careful(vec![FileEdit { path: args.path, edit }], args.dry_run)
    };
    Ok(gated(change, summary))
}

fn careful(files: Vec<FileEdit>, dry_run: bool) -> Change {
    Change {
        mode: if dry_run { Mode::DryRun } else { Mode::Commit },
        backup: Backup::Keep,
        care: Care::Careful,
        ..Change::new(files, FreshnessRule::NotRequired)
    }
}

/// A dry run only reads, so nobody needs to be asked.
fn gated(change: Change, summary: String) -> Lowered {
    match change.mode {
        Mode::Commit => {
            Lowered::new(Operation::Change(change), summary).at_stake(Stakes::GATED_CHANGES)
        }
        Mode::DryRun => {
            let summary = format!("Dry run: {summary}");
            Lowered::new(Operation::Change(change), summary).at_stake(Stakes::READS)
        }
    }
}

pub(super) fn raise_write_file(outcome: Outcome, room: usize) -> Result<Output, ToolError> {
    let Outcome::Changed(files) = &outcome else { return Err(mismatch("write_file", &outcome)) };
    let file = files.first().ok_or_else(|| mismatch("write_file", &outcome))?;
    let mut result = Map::new();
    result.insert("path".to_owned(), json!(file.path));
    insert_traces(&mut result, file);
    let written = if file.did == Did::Nothing || file.preview.is_some() { 0 } else { file.given };
    result.insert("bytes_written".to_owned(), json!(written));
    result.insert("dry_run".to_owned(), json!(file.preview.is_some()));
    insert_warnings(&mut result, std::slice::from_ref(file));
    insert_preview(&mut result, file.preview.as_deref(), room);
    Ok(Output::Json(Value::Object(result)))
}

/// Where the old content is, and that the new one is staged.
fn insert_traces(result: &mut Map<String, Value>, file: &ChangedFile) {
    if let Some(path) = &file.backup {
        result.insert("backup_path".to_owned(), json!(path.to_string_lossy()));
    }
    if file.is_staged {
        result.insert("staged".to_owned(), json!(true));
    }
}

fn insert_warnings(result: &mut Map<String, Value>, files: &[ChangedFile]) {
    let named = |file: &ChangedFile| {
        let path = file.path.clone();
        file.notes.clone().into_iter().map(move |note| format!("{path}: {note}"))
    };
    let warnings: Vec<String> = files.iter().flat_map(named).collect();
    if !warnings.is_empty() {
        result.insert("warnings".to_owned(), json!(warnings));
    }
}

fn insert_preview(result: &mut Map<String, Value>, preview: Option<&str>, room: usize) {
    let Some(preview) = preview else { return };
    result.insert("preview".to_owned(), json!(""));
    let left = room.saturating_sub(Value::Object(result.clone()).to_string().len());
    result.insert("preview".to_owned(), json!(text_within(preview, left.min(MOST_PREVIEW))));
}

pub(super) fn lower_edit_region(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let args: EditRegion = parse(args)?;
    let summary = format!("Replace {}", args.region.summary());
    Ok(gated(careful(vec![args.region.edit()?], args.dry_run), summary))
}

pub(super) fn raise_edit_region(outcome: Outcome, room: usize) -> Result<Output, ToolError> {
    let Outcome::Changed(files) = &outcome else { return Err(mismatch("edit_region", &outcome)) };
    let wrong = || mismatch("edit_region", &outcome);
    let file = files.first().ok_or_else(wrong)?;
    let edit = file.edits.first().ok_or_else(wrong)?;
    let mut result = place(edit);
    insert_traces(&mut result, file);
    result.insert("dry_run".to_owned(), json!(file.preview.is_some()));
    result.insert("changed".to_owned(), json!(edit.is_changing));
    insert_warnings(&mut result, std::slice::from_ref(file));
    insert_preview(&mut result, file.preview.as_deref(), room);
    Ok(Output::Json(Value::Object(result)))
}

fn place(edit: &EditDone) -> Map<String, Value> {
    let (first, last) = edit.lines.unwrap_or((0, 0));
    Map::from_iter([
        ("path".to_owned(), json!(edit.path)),
        ("start_line".to_owned(), json!(first)),
        ("end_line".to_owned(), json!(last)),
    ])
}

#[derive(Deserialize)]
struct MultiEdit {
    edits: Vec<Region>,
    #[serde(default = "yes")]
    stop_on_error: bool,
    #[serde(default)]
    dry_run: bool,
}

pub(super) fn lower_multi_edit(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let args: MultiEdit = parse(args)?;
    if args.edits.is_empty() {
        return Err(ToolError::bad_args("edits must not be empty"));
    }
    let places: Vec<String> = args.edits.iter().map(Region::summary).collect();
    let summary = format!("Apply {} edit(s): {}", places.len(), places.join("; "));
    let edits = args.edits.into_iter().map(Region::edit).collect::<Result<Vec<_>, _>>()?;
    let on_error = if args.stop_on_error { OnError::Stop } else { OnError::Skip };
    Ok(gated(Change { on_error, ..careful(edits, args.dry_run) }, summary))
}

pub(super) fn raise_multi_edit(outcome: Outcome, room: usize) -> Result<Output, ToolError> {
    let Outcome::Changed(files) = outcome else { return Err(mismatch("multi_edit", &outcome)) };
    let mut edits: Vec<(&ChangedFile, &EditDone)> =
        files.iter().flat_map(|file| file.edits.iter().map(move |edit| (file, edit))).collect();
    edits.sort_by_key(|(_, edit)| edit.index);
    let skipped = edits.iter().filter(|(_, edit)| edit.failure.is_some()).count();
    let detail = |(file, edit): &(&ChangedFile, &EditDone)| {
        let mut detail = place(edit);
        insert_traces(&mut detail, file);
        detail.insert("changed".to_owned(), json!(edit.is_changing));
        if let Some(failure) = &edit.failure {
            detail.insert("error".to_owned(), json!(text_within(&failure.message(), 1000)));
        }
        Value::Object(detail)
    };
    let previews: Vec<&str> = files.iter().filter_map(|file| file.preview.as_deref()).collect();
    let mut result = Map::new();
    result.insert("applied".to_owned(), json!(edits.len() - skipped));
    result.insert("skipped".to_owned(), json!(skipped));
    result.insert("dry_run".to_owned(), json!(!previews.is_empty()));
    result.insert("details".to_owned(), edits.iter().map(detail).collect());
    insert_warnings(&mut result, &files);
    let preview = (!previews.is_empty()).then(|| previews.concat());
    insert_preview(&mut result, preview.as_deref(), room);
    Ok(Output::Json(Value::Object(result)))
}
