//! `gemini`: three tools, and answers with `ok`, `data` and `error` (GO-TOOLS, GO-ENV).

mod envelope;

use jm_types::text::json_length;
use jm_types::{Limits, ToolError};
use jm_workspace::{EntryKind, PathPolicy};
use serde::Deserialize;
use serde_json::{Value, json};

use super::envelope::beginning_within;
use super::{Dialect, Lowered, Operation, Outcome, Output, Row, SchemaOf, Stakes, mismatch, parse};
use crate::ops::change::{Change, Edit, Existing, FileEdit, FreshnessRule, Parents};
use crate::ops::page::Page;
use crate::ops::walk::{Hidden, Kinds, Order, Walk};

pub(super) const DIALECT: Dialect = Dialect {
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
        lower: lower_list_files,
        raise: raise_list_files,
    },
    Row {
        name: "read_file",
        description: "Read a file under the project root. Paths outside the project root are \
            refused.",
        schema: SchemaOf::Document(include_str!("../schemas/gemini/read_file.json")),
        stakes: Stakes::READS,
        lower: lower_read_file,
        raise: raise_read_file,
    },
    Row {
        name: "write_file",
        description: "Write a file under the project root: a new one, or a new content for an \
            existing one. Its directory must exist. Paths outside the project root are refused.",
        schema: SchemaOf::Document(include_str!("../schemas/gemini/write_file.json")),
        stakes: Stakes::CHANGES,
        lower: lower_write_file,
        raise: raise_write_file,
    },
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnePath {
    path: String,
}

fn lower_read_file(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let args: OnePath = parse(args)?;
    let summary = format!("Read {}", args.path);
    Ok(Lowered::new(Operation::Page(Page::whole(args.path)), summary))
}

fn raise_read_file(outcome: Outcome, room: usize) -> Result<Output, ToolError> {
    let Outcome::Paged(page) = outcome else { return Err(mismatch("read_file", &outcome)) };
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

fn lower_write_file(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let args: WriteFile = parse(args)?;
    let summary = format!("Write {} ({} bytes)", args.path, args.content.len());
    let edit = Edit::Whole { content: args.content.into_bytes(), existing: Existing::Replace };
    let change = Change::new(vec![FileEdit { path: args.path, edit }], FreshnessRule::NotRequired)
        .parents(Parents::MustExist);
    Ok(Lowered::new(Operation::Change(change), summary))
}

fn raise_write_file(outcome: Outcome, _: usize) -> Result<Output, ToolError> {
    let Outcome::Changed(files) = &outcome else { return Err(mismatch("write_file", &outcome)) };
    let file = files.first().ok_or_else(|| mismatch("write_file", &outcome))?;
    Ok(Output::Json(json!({"path": file.path, "bytes_written": file.bytes})))
}

fn lower_list_files(args: Value, _: &Limits) -> Result<Lowered, ToolError> {
    let args: OnePath = parse(args)?;
    let summary = format!("List {}", args.path);
    let kinds = Kinds { files: true, directories: true, symlinks: true, other: true };
    let (path, hidden, order) = (args.path, Hidden::Show, Order::DepthFirst);
    let walk = Walk { path, depth: 1, most: MOST_FILES, kinds, hidden, order };
    Ok(Lowered::new(Operation::Walk(walk), summary))
}

fn raise_list_files(outcome: Outcome, room: usize) -> Result<Output, ToolError> {
    let Outcome::Walked(_, walked) = outcome else {
        return Err(mismatch("list_files", &outcome));
    };
    let name = |walked: &crate::ops::walk::Walked| {
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

/// How many names fit; each takes its quotes and a comma too.
fn fitting(names: &[String], mut room: usize) -> usize {
    let fits = |name: &&String| {
        let length = json_length(name) + 3;
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    names.iter().take_while(fits).count()
}
