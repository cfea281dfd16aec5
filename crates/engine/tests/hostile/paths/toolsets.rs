//! Every row again, through every tool of every other toolset that takes a path.
//!
//! Law: words differ between toolsets, ground does not. A path that leads out or is denied is refused
//! by each of these tools, what one of them may read all may, and the invariants hold for every call.

use jm_files::Opening;
use jm_types::{ToolCall, ToolResult, Toolset};
use serde_json::{Value, json};

use super::{Denied, Fails, MARK, Outside, Plant, Refused, Row, Want, Works};
use super::{lexical, links, names, special};
use crate::world::{OPENINGS, Setting, World, quick_disk};

/// Which answer of a row is also this tool's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Like {
    /// The whole answer to reading.
    Read,
    /// The verdict on listing, as far as the path is refused.
    List,
    /// The verdict on writing, likewise.
    Write,
    /// A pattern: only the invariants.
    Pattern,
}

type Tool = (Toolset, &'static str, Like, fn(&str) -> Value);

const TOOLS: &[Tool] = &[
    (Toolset::Forj, "read_file", Like::Read, |path| json!({ "path": path })),
    (Toolset::Forj, "list_files", Like::List, |path| json!({ "directory": path })),
    (
        Toolset::Forj,
        "list_files",
        Like::List,
        |path| json!({ "directory": path, "follow_symlinks": true }),
    ),
    (Toolset::Forj, "write_file", Like::Write, |path| json!({ "path": path, "content": MARK })),
    (
        Toolset::Forj,
        "write_file",
        Like::Write,
        |path| json!({ "path": path, "content": MARK, "append": true }),
    ),
    (Toolset::Forj, "edit_region", Like::Write, region),
    (Toolset::Forj, "multi_edit", Like::Write, |path| json!({ "edits": [region(path)] })),
    (
        Toolset::Forj,
        "todo_write",
        Like::Write,
        |path| json!({ "action": "export", "export_path": path }),
    ),
    (
        Toolset::Forj,
        "search",
        Like::Pattern,
        |path| json!({ "query": "canary", "include_paths": [path] }),
    ),
    (Toolset::Forj, "glob", Like::Pattern, |path| json!({ "patterns": [path] })),
    (Toolset::Ikigai, "file_read", Like::Read, |path| json!({ "file_path": path })),
    (
        Toolset::Ikigai,
        "file_write",
        Like::Write,
        |path| json!({ "file_path": path, "content": MARK }),
    ),
    (
        Toolset::Ikigai,
        "file_edit",
        Like::Write,
        |path| json!({ "file_path": path, "old_string": "i", "new_string": MARK, "replace_all": true }),
    ),
    (Toolset::Ikigai, "glob", Like::Pattern, |path| json!({ "pattern": "*", "path": path })),
    (Toolset::Ikigai, "glob", Like::Pattern, |path| json!({ "pattern": path })),
    (Toolset::Ikigai, "grep", Like::Pattern, |path| json!({ "pattern": "canary", "path": path })),
    (Toolset::Ikigai, "grep", Like::Pattern, |path| json!({ "pattern": "canary", "glob": path })),
    (Toolset::Gemini, "read_file", Like::Read, |path| json!({ "path": path })),
    (Toolset::Gemini, "list_files", Like::List, |path| json!({ "path": path })),
    (Toolset::Gemini, "write_file", Like::Write, |path| json!({ "path": path, "content": MARK })),
    (
        Toolset::Flemma,
        "read",
        Like::Read,
        |path| json!({ "label": null, "path": path, "offset": null, "limit": null }),
    ),
    (
        Toolset::Flemma,
        "ls",
        Like::List,
        |path| json!({ "label": null, "path": path, "max_depth": 9, "limit": null }),
    ),
    (
        Toolset::Flemma,
        "write",
        Like::Write,
        |path| json!({ "label": null, "path": path, "content": MARK }),
    ),
    (
        Toolset::Flemma,
        "edit",
        Like::Write,
        |path| json!({ "label": null, "path": path, "oldText": "inside", "newText": MARK }),
    ),
    (
        Toolset::Flemma,
        "find",
        Like::Pattern,
        |path| json!({ "label": null, "pattern": "*", "path": path, "limit": null }),
    ),
    (
        Toolset::Flemma,
        "grep",
        Like::Pattern,
        |path| json!({ "label": null, "pattern": "canary", "path": path, "glob": null, "limit": null }),
    ),
    (
        Toolset::Standard,
        "edit_file",
        Like::Write,
        |path| json!({ "path": path, "old_string": "inside", "new_string": MARK }),
    ),
    (
        Toolset::Standard,
        "write_file",
        Like::Write,
        |path| json!({ "path": path, "content": MARK, "overwrite": true }),
    ),
    (Toolset::Standard, "multi_edit", Like::Write, |path| json!({ "edits": [region(path)] })),
    (Toolset::Standard, "search", Like::Pattern, |path| json!({ "query": "canary", "path": path })),
    (Toolset::Standard, "glob", Like::Pattern, |path| json!({ "patterns": ["*"], "path": path })),
];

fn region(path: &str) -> Value {
    json!({ "path": path, "start_line": 1, "end_line": 1, "new_content": MARK })
}

/// PATH 1-29, SYM 34-52, SPEC 72-76, NAME 84-92, PROT 247, FR-VAL-07
#[test]
fn every_other_row_opened_by_the_kernel() {
    check_every_other(OPENINGS[0], 0);
}

/// And the rest as the portable walk opens it.
#[test]
fn every_other_row_opened_step_by_step() {
    check_every_other(OPENINGS[1], 1);
}

fn check_every_other(opening: Opening, first: usize) {
    let tables = [lexical::rows(), lexical::names(), links::rows(), special::rows(), names::rows()];
    let rows = tables.iter().flatten().filter(|row| row.possible() && !is_endless(row));
    let mut runs = 0;
    let mut wrong = Vec::new();
    for row in rows.skip(first).step_by(2) {
        for tool in TOOLS {
            runs += 1;
            wrong.extend(check(row, opening, tool));
        }
    }
    assert!(runs > 1_500, "{runs}");
    assert!(wrong.is_empty(), "{} of {runs}:\n{}", wrong.len(), wrong.join("\n"));
}

/// These toolsets page through a file of any size, which here is nothing but time.
fn is_endless(row: &Row) -> bool {
    row.plants.iter().any(|plant| matches!(plant, Plant::Sparse(..)))
}

fn check(row: &Row, opening: Opening, tool: &Tool) -> Option<String> {
    let (toolset, name, like, arguments) = *tool;
    let (paths, disk) = (row.paths, quick_disk());
    let mut world = World::with(Setting { toolset, paths, disk, ..Setting::new(opening) });
    row.plants.iter().for_each(|plant| plant.set(&world));
    let call = ToolCall::new("c1", name, &arguments(&world.fill(&row.path)));
    let told = format!("case {} {}, {toolset:?} {name}", row.case, row.what);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let result = world.batch(vec![call]).remove(0);
        let want = wanted(row, like)?;
        (!agrees(want, &result)).then(|| format!("wanted {want:?}, got {:.300}", result.content))
    }));
    let why = caught
        .unwrap_or_else(|panic| Some(panic.downcast_ref::<String>().cloned().unwrap_or_default()));
    why.map(|why| format!("{told}: {why}"))
}

/// Nothing where any answer will do.
fn wanted(row: &Row, like: Like) -> Option<Want> {
    let is_refusal = |want: &Want| matches!(want, Outside | Denied);
    match like {
        Like::Read => Some(row.wants[0]),
        Like::List => Some(row.wants[1]).filter(is_refusal),
        Like::Write => Some(row.wants[2]).filter(is_refusal),
        Like::Pattern => None,
    }
}

fn agrees(want: Want, result: &ToolResult) -> bool {
    match want {
        Outside => result.error.map(|code| code.name()) == Some("path_outside_sandbox"),
        Denied => result.error.map(|code| code.name()) == Some("denied_pattern_matched"),
        Fails(_) | Refused => result.is_error(),
        Works => !result.is_error(),
        Want::Whatever | Want::Skip => true,
    }
}
