//! The rows of `ikigai`, with their arguments and their answers.

use std::time::Duration;

use jm_files::PathPolicy;
use jm_files::text::ReplaceWhich;
use jm_tools::Output;
use jm_tools::ops::change::{
    ChangeRules, ChangedFile, Edit, Existing, FreshnessRule, NewText, Parents, SingleChange,
};
use jm_tools::ops::command_output::{Binary, Printed, Uncut};
use jm_tools::ops::page::{Page, PageOutcome};
use jm_tools::ops::run::{Run, RunOutcome, Shown};
use jm_tools::toolsets::envelope::{beginning_within, text_within};
use jm_tools::toolsets::{Dialect, Lowered, Row, SchemaOf, Stakes, Translate, parse_args};
use jm_types::Extent;
use jm_types::{ErrorKind, Limits, ToolError, Toolset};
use serde::Deserialize;
use serde_json::{Value, json};

use super::envelope::ENVELOPE;
use crate::posix::{GrepOutcome, PosixGlob, PosixGrep};

/// The toolset `ikigai`.
pub static IKIGAI: Dialect = Dialect {
    toolset: Toolset::Ikigai,
    rows: ROWS,
    borrowed: &[],
    envelope: ENVELOPE,
    paths: PathPolicy::RESOLVE,
    timeout: Some(Duration::from_secs(30)),
};

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "bash",
        description: "Execute a shell command and return output",
        schema: SchemaOf::Document(include_str!("../schemas/ikigai/bash.json")),
        stakes: Stakes::RUNS,
        translation: &Translate { lower: lower_bash, raise: raise_bash },
    },
    Row {
        name: "file_edit",
        description: "Edit a file by replacing exact text matches. You must read the file before \
            editing.",
        schema: SchemaOf::Document(include_str!("../schemas/ikigai/file_edit.json")),
        stakes: Stakes::CHANGES,
        translation: &Translate { lower: lower_file_edit, raise: raise_file_edit },
    },
    Row {
        name: "file_read",
        description: "Read contents of a file",
        schema: SchemaOf::Document(include_str!("../schemas/ikigai/file_read.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: lower_file_read, raise: raise_file_read },
    },
    Row {
        name: "file_write",
        description: "Write content to a file (creates or overwrites)",
        schema: SchemaOf::Document(include_str!("../schemas/ikigai/file_write.json")),
        stakes: Stakes::CHANGES,
        translation: &Translate { lower: lower_file_write, raise: raise_file_write },
    },
    Row {
        name: "glob",
        description: "Find files matching a glob pattern",
        schema: SchemaOf::Document(include_str!("../schemas/ikigai/glob.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: lower_glob, raise: raise_glob },
    },
    Row {
        name: "grep",
        description: "Search for pattern in files using regular expressions",
        schema: SchemaOf::Document(include_str!("../schemas/ikigai/grep.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: lower_grep, raise: raise_grep },
    },
];

#[derive(Deserialize)]
pub(super) struct Bash {
    command: String,
}

/// The kernel takes no longer word of a command line (MAX_ARG_STRLEN, with the NUL at its end).
const LONGEST_WORD: usize = 128 * 1024 - 1;

impl Bash {
    /// The command as the shell is given it. One that no shell can be started with ends with 127, as
    /// a popen(3) that failed does, and so does an empty one.
    pub(super) fn run(&self) -> Result<Run, ToolError> {
        let command = match self.command.as_str() {
            text if text.contains('\0') => {
                return Err(ToolError::bad_args("command contains a NUL character"));
            }
            text if text.len() > LONGEST_WORD => "echo 'sh: argument list too long'; exit 127",
            text if text.trim().is_empty() => "''",
            text => text,
        };
        Ok(Run { binary: Binary::AsText, shown: Shown::InJson, ..Run::merged(command) })
    }
}

fn lower_bash(args: Value, _: &Limits) -> Result<Lowered<Run>, ToolError> {
    let args: Bash = parse_args(args)?;
    let summary = format!("Run command: {}", args.command);
    Ok(Lowered::new(args.run()?, summary))
}

fn raise_bash(ran: RunOutcome, room: usize) -> Result<Output, ToolError> {
    let exit_code = ran.exit.code();
    let Uncut { stdout, stderr } = ran.uncut;
    let text = stdout.into_text().then(stderr.into_text()).without_final_newline();
    let room = room.saturating_sub(bash_form("", exit_code).to_string().len());
    let output = Printed::text(text).in_json(room, ran.whole.as_deref());
    Ok(Output::Json(bash_form(&output, exit_code)))
}

pub(super) fn bash_form(output: &str, exit_code: i32) -> Value {
    json!({"output": output, "exit_code": exit_code})
}

/// The object that `form` makes of as much of a text as fits.
fn output_with(text: &str, extent: Extent, room: usize, form: impl Fn(&str) -> Value) -> Output {
    let room = room.saturating_sub(form("").to_string().len());
    Output::Json(form(&match extent {
        Extent::Whole => text_within(text, room),
        Extent::Part => beginning_within(text, room),
    }))
}

#[derive(Deserialize)]
struct FileRead {
    file_path: String,
    offset: Option<i64>,
    limit: Option<i64>,
}

fn lower_file_read(args: Value, _: &Limits) -> Result<Lowered<Page>, ToolError> {
    let args: FileRead = parse_args(args)?;
    let first = args.offset.and_then(|line| u64::try_from(line).ok()).unwrap_or(1).max(1);
    let count = args.limit.map(|lines| u64::try_from(lines).unwrap_or(0));
    let lines = match (args.offset, count) {
        (None, None) => String::new(),
        (_, None) => format!(" from line {first}"),
        (_, Some(count)) => format!(" {count} lines from line {first}"),
    };
    let summary = format!("Read {}{lines}", args.file_path);
    let page = Page { first, count, ..Page::whole(args.file_path) };
    Ok(Lowered::new(page, summary))
}

fn raise_file_read(page: PageOutcome, room: usize) -> Result<Output, ToolError> {
    let text = String::from_utf8_lossy(&page.bytes);
    let extent = if page.is_cut { Extent::Part } else { Extent::Whole };
    Ok(output_with(&text, extent, room, |output| json!({"output": output})))
}

#[derive(Deserialize)]
pub(super) struct FileWrite {
    pub(super) file_path: String,
    pub(super) content: String,
}

fn lower_file_write(args: Value, _: &Limits) -> Result<Lowered<SingleChange>, ToolError> {
    let args: FileWrite = parse_args(args)?;
    let summary = format!("Write {} ({} bytes)", args.file_path, args.content.len());
    let edit = Edit::Whole { content: args.content.into_bytes(), existing: Existing::Replace };
    Ok(Lowered::new(change(args.file_path, edit), summary))
}

/// ikigai's edits need no earlier read, make no directories, and are of bytes.
fn change(path: String, edit: Edit) -> SingleChange {
    let rules = ChangeRules::new(FreshnessRule::NotRequired);
    let rules = ChangeRules { parents: Parents::MustExist, new_text: NewText::Raw, ..rules };
    SingleChange::new(path, edit, rules)
}

fn raise_file_write(file: ChangedFile, _: usize) -> Result<Output, ToolError> {
    Ok(Output::Json(written_form(&file.path, file.bytes)))
}

pub(super) fn written_form(path: &str, bytes: usize) -> Value {
    let output = format!("Wrote {bytes} bytes to {}", base_name(path));
    json!({"output": output, "bytes": bytes})
}

fn base_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

#[derive(Deserialize)]
struct FileEditArgs {
    file_path: String,
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
}

fn lower_file_edit(args: Value, _: &Limits) -> Result<Lowered<SingleChange>, ToolError> {
    let args: FileEditArgs = parse_args(args)?;
    let (which, scope) = if args.replace_all.unwrap_or(false) {
        (ReplaceWhich::Any, " (all occurrences)")
    } else {
        (ReplaceWhich::Only, "")
    };
    let summary = format!("Edit {}{scope}", args.file_path);
    let (old, new) = (args.old_string.into_bytes(), args.new_string.into_bytes());
    Ok(Lowered::new(change(args.file_path, Edit::Text { old, new, which }), summary))
}

fn raise_file_edit(file: ChangedFile, _: usize) -> Result<Output, ToolError> {
    let plural = if file.replaced == 1 { "" } else { "s" };
    let name = base_name(&file.path);
    let output = format!("Replaced {} occurrence{plural} in {name}", file.replaced);
    Ok(Output::Json(json!({"output": output, "replacements": file.replaced})))
}

#[derive(Deserialize)]
struct Glob {
    pattern: String,
    path: Option<String>,
}

fn lower_glob(args: Value, _: &Limits) -> Result<Lowered<PosixGlob>, ToolError> {
    let args: Glob = parse_args(args)?;
    if args.pattern.contains('\0') {
        let message = "the pattern contains a NUL character".to_owned();
        return Err(ToolError::new(ErrorKind::BadPattern { message }));
    }
    let glob = PosixGlob { path: args.path.unwrap_or_default(), pattern: args.pattern };
    let summary = format!("Find {}", glob.full());
    Ok(Lowered::new(glob, summary))
}

fn raise_glob(paths: Vec<String>, room: usize) -> Result<Output, ToolError> {
    let count = paths.len();
    let form = |output: &str| json!({"output": output, "count": count});
    Ok(output_with(&paths.join("\n"), Extent::Whole, room, form))
}

#[derive(Deserialize)]
struct Grep {
    pattern: String,
    glob: Option<String>,
    path: Option<String>,
}

fn lower_grep(args: Value, _: &Limits) -> Result<Lowered<PosixGrep>, ToolError> {
    let args: Grep = parse_args(args)?;
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let files = PosixGlob {
        path: filled(args.path).unwrap_or_default(),
        pattern: filled(args.glob).unwrap_or_else(|| "*".to_owned()),
    };
    let summary = format!("Search {} for {}", files.full(), args.pattern);
    let grep = PosixGrep { pattern: args.pattern, files };
    Ok(Lowered::new(grep, summary))
}

fn raise_grep(found: GrepOutcome, room: usize) -> Result<Output, ToolError> {
    let text = found.lines.join(&b'\n');
    let text = String::from_utf8_lossy(&text);
    let extent = if found.lines.len() < found.count { Extent::Part } else { Extent::Whole };
    let form = |output: &str| json!({"output": output, "count": found.count});
    Ok(output_with(&text, extent, room, form))
}
