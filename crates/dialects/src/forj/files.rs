//! Reading and changing files (FJ-READ, FJ-WRITE, FJ-EDIT, FJ-MULTI, FJ-DRY).

use jm_tools::Output;
use jm_tools::ops::change::{
    Backup, Care, Change, ChangeRules, ChangedFile, ChangedLines, Did, Edit, EditDone, Existing,
    FreshnessRule, LineChange, Missing, Mode, OnError, SingleChange,
};
use jm_tools::ops::page::{Page, PageOutcome};
use jm_tools::toolsets::envelope::{prefix_within, text_within};
use jm_tools::toolsets::{EditRegion, Lowered, Region, Stakes, check_line_range, parse_args};
use jm_types::text::json_length;
use jm_types::{Limits, ToolError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::encoding::decode;

const DEFAULT_BYTES: usize = 100_000;
/// The most bytes of a new content that a dry run quotes.
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

pub(super) fn lower_read_file(args: Value, _: &Limits) -> Result<Lowered<Page>, ToolError> {
    let args: ReadFile = parse_args(args)?;
    let most_bytes = args.max_bytes.unwrap_or(DEFAULT_BYTES);
    let mut summary = format!("Read {}", args.path);
    let mut page = Page { most_bytes, ..Page::whole(&args.path) };
    if args.start_line.is_some() || args.end_line.is_some() {
        let (start, end) = (args.start_line.unwrap_or(1), args.end_line);
        check_line_range(start, end)?;
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
    Ok(Lowered::new(page, summary))
}

pub(super) fn raise_read_file(page: PageOutcome, room: usize) -> Result<Output, ToolError> {
    let decoded = decode(&page.start, &page.bytes, page.is_range)
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

pub(super) fn lower_write_file(
    args: Value,
    _: &Limits,
) -> Result<Lowered<SingleChange>, ToolError> {
    let args: WriteFile = parse_args(args)?;
    let bytes = args.content.len();
    let content = args.content.into_bytes();
    let (does, edit) = if args.append {
        ("Append to", Edit::Append { content })
    } else {
        ("Write", Edit::Whole { content, existing: Existing::Replace })
    };
    let summary = format!("{does} {} ({bytes} bytes)", args.path);
    let rules = ChangeRules {
        missing: if args.create_if_missing { Missing::Create } else { Missing::Refuse },
        backup: if args.no_backup { Backup::None } else { Backup::Keep },
        ..careful(args.dry_run)
    };
    Ok(gated(SingleChange::new(args.path, edit, rules), rules.mode, summary))
}

fn careful(dry_run: bool) -> ChangeRules {
    ChangeRules {
        mode: if dry_run { Mode::DryRun } else { Mode::Commit },
        backup: Backup::Keep,
        care: Care::Careful,
        ..ChangeRules::new(FreshnessRule::NotRequired)
    }
}

/// A dry run only reads, so nobody needs to be asked.
fn gated<O>(change: O, mode: Mode, summary: String) -> Lowered<O> {
    match mode {
        Mode::Commit => Lowered::new(change, summary).at_stake(Stakes::GATED_CHANGES),
        Mode::DryRun => Lowered::new(change, format!("Dry run: {summary}")).at_stake(Stakes::READS),
    }
}

pub(super) fn raise_write_file(file: ChangedFile, room: usize) -> Result<Output, ToolError> {
    let mut result = Map::new();
    result.insert("path".to_owned(), json!(file.path));
    insert_traces(&mut result, &file);
    let written = if file.did == Did::Nothing || file.preview.is_some() { 0 } else { file.given };
    result.insert("bytes_written".to_owned(), json!(written));
    result.insert("dry_run".to_owned(), json!(file.preview.is_some()));
    insert_warnings(&mut result, std::slice::from_ref(&file));
    insert_preview(&mut result, file.preview.as_deref(), room);
    Ok(Output::Json(Value::Object(result)))
}

/// Inserts the path of the old content, and the fact that the new one is staged.
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

pub(super) fn lower_edit_region(args: Value, _: &Limits) -> Result<Lowered<LineChange>, ToolError> {
    let args: EditRegion = parse_args(args)?;
    let summary = format!("Replace {}", args.region.summary());
    let rules = careful(args.dry_run);
    Ok(gated(args.region.change(rules)?, rules.mode, summary))
}

pub(super) fn raise_edit_region(changed: ChangedLines, room: usize) -> Result<Output, ToolError> {
    let ChangedLines { first, last, file } = &changed;
    let mut result = place(&file.path, (*first, *last));
    insert_traces(&mut result, file);
    result.insert("dry_run".to_owned(), json!(file.preview.is_some()));
    result.insert("changed".to_owned(), json!(file.did != Did::Nothing));
    insert_warnings(&mut result, std::slice::from_ref(file));
    insert_preview(&mut result, file.preview.as_deref(), room);
    Ok(Output::Json(Value::Object(result)))
}

fn place(path: &str, (first, last): (usize, usize)) -> Map<String, Value> {
    Map::from_iter([
        ("path".to_owned(), json!(path)),
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

pub(super) fn lower_multi_edit(args: Value, _: &Limits) -> Result<Lowered<Change>, ToolError> {
    let args: MultiEdit = parse_args(args)?;
    if args.edits.is_empty() {
        return Err(ToolError::bad_args("edits must not be empty"));
    }
    let places: Vec<String> = args.edits.iter().map(Region::summary).collect();
    let summary = format!("Apply {} edit(s): {}", places.len(), places.join("; "));
    let files = args.edits.into_iter().map(Region::edit).collect::<Result<Vec<_>, _>>()?;
    let on_error = if args.stop_on_error { OnError::Stop } else { OnError::Skip };
    let rules = ChangeRules { on_error, ..careful(args.dry_run) };
    Ok(gated(Change { files, rules }, rules.mode, summary))
}

pub(super) fn raise_multi_edit(files: Vec<ChangedFile>, room: usize) -> Result<Output, ToolError> {
    let mut edits: Vec<(&ChangedFile, &EditDone)> =
        files.iter().flat_map(|file| file.edits.iter().map(move |edit| (file, edit))).collect();
    edits.sort_by_key(|(_, edit)| edit.index);
    let skipped = edits.iter().filter(|(_, edit)| edit.failure.is_some()).count();
    let detail = |(file, edit): &(&ChangedFile, &EditDone)| {
        let mut detail = place(&edit.path, edit.lines.unwrap_or_default());
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
