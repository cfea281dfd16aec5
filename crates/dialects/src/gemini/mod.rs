//! `gemini`: three tools, and answers with `ok`, `data` and `error` (GO-TOOLS, GO-ENV).

mod envelope;

use jm_files::{EntryKind, PathPolicy};
use jm_tools::Output;
use jm_tools::ops::change::{
    ChangeRules, ChangedFile, Edit, Existing, FreshnessRule, Parents, SingleChange,
};
use jm_tools::ops::page::{Page, PageOutcome};
use jm_tools::ops::walk::{Hidden, Kinds, Order, Walk, WalkOutcome, Walked};
use jm_tools::toolsets::envelope::beginning_within;
use jm_tools::toolsets::{Dialect, Lowered, Row, SchemaOf, Stakes, Translate, parse_args};
use jm_types::text::json_length;
use jm_types::{Limits, ToolError, Toolset};
use serde::Deserialize;
use serde_json::{Value, json};

/// The toolset `gemini`.
pub static GEMINI: Dialect = Dialect {
    toolset: Toolset::Gemini,
    rows: ROWS,
    borrowed: &[],
    envelope: envelope::ENVELOPE,
    paths: PathPolicy::CLEAN,
    timeout: None,
};

/// More names than this tell a model nothing.
const MOST_FILES: usize = 10_000;

const ROWS: &[Row] = &[
    Row {
        name: "list_files",
        description: "List the files and directories of one directory under the project root. \
            Directories end with a slash. Paths outside the project root are refused.",
        schema: SchemaOf::Document(include_str!("../schemas/gemini/list_files.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: lower_list_files, raise: raise_list_files },
    },
    Row {
        name: "read_file",
        description: "Read a file under the project root. Paths outside the project root are \
            refused.",
        schema: SchemaOf::Document(include_str!("../schemas/gemini/read_file.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: lower_read_file, raise: raise_read_file },
    },
    Row {
        name: "write_file",
        description: "Write a file under the project root: a new one, or a new content for an \
            existing one. Its directory must exist. Paths outside the project root are refused.",
        schema: SchemaOf::Document(include_str!("../schemas/gemini/write_file.json")),
        stakes: Stakes::CHANGES,
        translation: &Translate { lower: lower_write_file, raise: raise_write_file },
    },
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnePath {
    path: String,
}

fn lower_read_file(args: Value, _: &Limits) -> Result<Lowered<Page>, ToolError> {
    let args: OnePath = parse_args(args)?;
    let summary = format!("Read {}", args.path);
    Ok(Lowered::new(Page::whole(args.path), summary))
}

fn raise_read_file(page: PageOutcome, room: usize) -> Result<Output, ToolError> {
    let text = String::from_utf8_lossy(&page.bytes);
    let frame = json!({"path": page.path, "content": "", "truncated": true}).to_string().len();
    let room = room.saturating_sub(frame);
    if !page.is_cut && json_length(&text) <= room {
        return Ok(Output::Json(json!({"path": page.path, "content": text})));
    }
    let content = beginning_within(&text, room);
    Ok(Output::Json(json!({"path": page.path, "content": content, "truncated": true})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteFile {
    path: String,
    content: String,
}

fn lower_write_file(args: Value, _: &Limits) -> Result<Lowered<SingleChange>, ToolError> {
    let args: WriteFile = parse_args(args)?;
    let summary = format!("Write {} ({} bytes)", args.path, args.content.len());
    let edit = Edit::Whole { content: args.content.into_bytes(), existing: Existing::Replace };
    let rules = ChangeRules::new(FreshnessRule::NotRequired);
    let rules = ChangeRules { parents: Parents::MustExist, ..rules };
    Ok(Lowered::new(SingleChange::new(args.path, edit, rules), summary))
}

fn raise_write_file(file: ChangedFile, _: usize) -> Result<Output, ToolError> {
    Ok(Output::Json(json!({"path": file.path, "bytes_written": file.bytes})))
}

fn lower_list_files(args: Value, _: &Limits) -> Result<Lowered<Walk>, ToolError> {
    let args: OnePath = parse_args(args)?;
    let summary = format!("List {}", args.path);
    let kinds = Kinds { files: true, directories: true, symlinks: true, other: true };
    let (path, hidden, order) = (args.path, Hidden::Show, Order::DepthFirst);
    let walk = Walk { path, depth: 1, most: MOST_FILES, kinds, hidden, order };
    Ok(Lowered::new(walk, summary))
}

fn raise_list_files(walked: WalkOutcome, room: usize) -> Result<Output, ToolError> {
    let name = |walked: &Walked| {
        let name = walked.path.to_string_lossy();
        match walked.entry.kind {
            EntryKind::Directory => format!("{name}/"),
            _ => name.into_owned(),
        }
    };
    let mut files: Vec<String> = walked.entries.iter().map(name).collect();
    let frame = json!({"path": walked.path, "files": [], "truncated": true}).to_string().len();
    let fitting = fitting(&files, room.saturating_sub(frame));
    if fitting == files.len() && !walked.is_cut {
        return Ok(Output::Json(json!({"path": walked.path, "files": files})));
    }
    files.truncate(fitting);
    Ok(Output::Json(json!({"path": walked.path, "files": files, "truncated": true})))
}

/// The number of names that fit; each takes its quotes and a comma too.
fn fitting(names: &[String], mut room: usize) -> usize {
    let fits = |name: &&String| {
        let length = json_length(name) + 3;
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    names.iter().take_while(fits).count()
}
