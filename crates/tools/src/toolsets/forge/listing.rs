//! `list_directory`: its arguments, and its JSON cut to the budget.
//!
//! Law: what is returned is one whole JSON object, never longer than the budget.

use jm_files::EntryKind;
use jm_types::{Limits, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ops::walk::{Hidden, Kinds, Order, Walk, WalkOutcome, Walked, is_hidden};
use crate::tool::Output;
use crate::toolsets::args::parse_args;
use crate::toolsets::lowered::Lowered;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListDirectory {
    path: String,
    recursive: Option<bool>,
    max_depth: Option<u32>,
    max_entries: Option<u32>,
    include_hidden: Option<bool>,
    include_files: Option<bool>,
    include_dirs: Option<bool>,
    include_symlinks: Option<bool>,
    include_other: Option<bool>,
}

pub(super) fn lower(args: Value, limits: &Limits) -> Result<Lowered<Walk>, ToolError> {
    let args: ListDirectory = parse_args(args)?;
    let path = args.path.trim().to_owned();
    if path.is_empty() {
        return Err(ToolError::bad_args("path must not be blank"));
    }
    let depth = depth(&args, limits)?;
    let most = ENTRIES.within(args.max_entries, limits.list_entries)?;
    let kinds = Kinds {
        files: args.include_files.unwrap_or(true),
        directories: args.include_dirs.unwrap_or(true),
        symlinks: args.include_symlinks.unwrap_or(true),
        other: args.include_other.unwrap_or(false),
    };
    if !(kinds.files || kinds.directories || kinds.symlinks) {
        return Err(ToolError::bad_args(
            "include_files, include_dirs and include_symlinks cannot all be false",
        ));
    }
    let hidden = if args.include_hidden.unwrap_or(false) { Hidden::Show } else { Hidden::Skip };
    let suffix =
        if args.recursive == Some(true) { format!(" depth {depth}") } else { String::new() };
    let summary = format!("List {path}{suffix}");
    let order = Order::DepthFirst;
    let walk = Walk { path, depth, most, kinds, hidden, order };
    Ok(Lowered::new(walk, summary))
}

fn depth(args: &ListDirectory, limits: &Limits) -> Result<usize, ToolError> {
    match (args.recursive.unwrap_or(false), args.max_depth) {
        (false, None | Some(1)) => Ok(1),
        (false, Some(_)) => Err(ToolError::bad_args("max_depth above 1 needs recursive")),
        (true, depth) => DEPTH.within(depth, limits.list_depth),
    }
}

/// A number with a built-in default and a built-in cap; a configured value replaces both.
struct Bound {
    name: &'static str,
    default: usize,
    cap: usize,
}

const ENTRIES: Bound = Bound { name: "max_entries", default: 200, cap: 100_000 };
const DEPTH: Bound = Bound { name: "max_depth", default: 4, cap: 1_000 };

impl Bound {
    fn within(&self, asked: Option<u32>, configured: Option<usize>) -> Result<usize, ToolError> {
        let cap = configured.unwrap_or(self.cap);
        match asked.map(|asked| usize::try_from(asked).unwrap_or(usize::MAX)) {
            None => Ok(configured.unwrap_or(self.default)),
            Some(0) => Err(ToolError::bad_args(format!("{} must be at least 1", self.name))),
            Some(asked) if asked > cap => Err(ToolError::bad_args(format!(
                "{} is {asked}; at most {cap} is allowed",
                self.name
            ))),
            Some(asked) => Ok(asked),
        }
    }
}

#[derive(Serialize)]
struct Listing<'a> {
    path: &'a str,
    entries: &'a [Entry],
    returned: usize,
    max_entries: usize,
    truncated: bool,
    truncated_reason: Option<&'static str>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    path: String,
    depth: usize,
    #[serde(rename = "type")]
    kind: &'static str,
    size_bytes: Option<u64>,
    modified_epoch_ms: Option<i64>,
    is_hidden: bool,
    error_code: Option<&'static str>,
    error: Option<String>,
}

impl Entry {
    fn new(walked: Walked) -> Self {
        let entry = walked.entry;
        let (error_code, error) = entry.error.unzip();
        Self {
            name: entry.name.to_string_lossy().into_owned(),
            path: walked.path.to_string_lossy().into_owned(),
            depth: walked.depth,
            kind: match entry.kind {
                EntryKind::File => "file",
                EntryKind::Directory => "dir",
                EntryKind::Symlink => "symlink",
                EntryKind::Other => "other",
                EntryKind::Unknown => "unknown",
            },
            size_bytes: entry.size,
            modified_epoch_ms: entry.modified_epoch_ms,
            is_hidden: is_hidden(&entry.name),
            error_code,
            error,
        }
    }
}

pub(super) fn raise(walked: WalkOutcome, budget: usize) -> Result<Output, ToolError> {
    let frame = Frame { path: tidy(&walked.asked), max_entries: walked.most };
    let mut entries: Vec<Entry> = walked.entries.into_iter().map(Entry::new).collect();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let content = frame.around(&entries, walked.is_cut.then_some("max_entries"))?;
    if content.len() <= budget {
        return Ok(Output::Whole(content));
    }
    let mut keep = fitting(&entries, budget)?;
    loop {
        let content = frame.around(&entries[..keep], Some("max_output_bytes"))?;
        if content.len() <= budget {
            return Ok(Output::Whole(content));
        }
        keep = keep
            .checked_sub(1)
            .ok_or_else(|| ToolError::failed("list_directory", "output budget too small"))?;
    }
}

/// The number of entries that fit by their own size, the frame not counted: an upper bound.
fn fitting(entries: &[Entry], budget: usize) -> Result<usize, ToolError> {
    let mut used = 0;
    for (index, entry) in entries.iter().enumerate() {
        used += to_json(entry)?.len() + 1;
        if used > budget {
            return Ok(index);
        }
    }
    Ok(entries.len())
}

/// The fields of a listing that do not depend on its entries.
struct Frame {
    path: String,
    max_entries: usize,
}

impl Frame {
    fn around(
        &self,
        entries: &[Entry],
        truncated_reason: Option<&'static str>,
    ) -> Result<String, ToolError> {
        to_json(&Listing {
            path: &self.path,
            entries,
            returned: entries.len(),
            max_entries: self.max_entries,
            truncated: truncated_reason.is_some(),
            truncated_reason,
        })
    }
}

fn to_json(value: &impl Serialize) -> Result<String, ToolError> {
    serde_json::to_string(value)
        .map_err(|error| ToolError::failed("list_directory", error.to_string()))
}

/// The path as asked, without `./`, `//` and a trailing `/`.
fn tidy(path: &str) -> String {
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    match (path.starts_with('/'), parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}
