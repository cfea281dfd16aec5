//! `flemma`: the tools of a conversation in a text document, all with strict schemas (FL-TOOLS).
//! Answers are plain text; long ones are cut at 2000 lines or 50 KB.

mod calc;
mod search;
mod text;

use std::time::Duration;

use jm_files::PathPolicy;
use jm_files::text::ReplaceWhich;
use jm_process::command::Exit;
use jm_tools::Output;
use jm_tools::ops::change::{
    ChangeRules, ChangedFile, Edit, Existing, FreshnessRule, SingleChange,
};
use jm_tools::ops::output_page::PageOrOutput;
use jm_tools::ops::page::{Page, PageOutcome};
use jm_tools::ops::run::{Run, RunOutcome, Shown};
use jm_tools::toolsets::{
    Dialect, Lowered, Row, SchemaOf, Stakes, Translate, envelope, parse_args, with_notes,
};
use jm_types::{Limits, ToolError, Toolset};
use serde::Deserialize;
use serde_json::Value;

use calc::Calc;
use text::{LAST, MOST_BYTES, MOST_LINES, format_size, labelled};

/// The toolset `flemma`.
pub static FLEMMA: Dialect = Dialect {
    toolset: Toolset::Flemma,
    rows: ROWS,
    borrowed: &[],
    envelope: envelope::TEXT,
    paths: PathPolicy::RESOLVE,
    timeout: None,
};

/// A command that asks for no time of its own has this much.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_DELAY: Duration = Duration::from_millis(1000);

const ROWS: &[Row] = &[
    Row {
        name: "bash",
        description: "Run a shell command in the project's root and get what it prints, errors \
            included. Only the last 2000 lines or 50 KB are returned. It has 30 seconds unless \
            timeout says otherwise.",
        schema: SchemaOf::Document(include_str!("../schemas/flemma/bash.json")),
        stakes: Stakes::RUNS,
        translation: &Translate { lower: lower_bash, raise: raise_bash },
    },
    Row {
        name: "calculator",
        description: "Evaluate an arithmetic expression: + - * / // % ^, parentheses, and functions \
            such as sqrt, floor, min and max.",
        schema: SchemaOf::Document(include_str!("../schemas/flemma/calculator.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: lower_calculator, raise: raise_calculator },
    },
    Row {
        name: "calculator_async",
        description: "Evaluate an arithmetic expression and answer after a delay.",
        schema: SchemaOf::Document(include_str!("../schemas/flemma/calculator_async.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: lower_calculator_async, raise: raise_calculator },
    },
    Row {
        name: "edit",
        description: "Replace one exact piece of text in a file. oldText must occur exactly once, \
            white space included.",
        schema: SchemaOf::Document(include_str!("../schemas/flemma/edit.json")),
        stakes: Stakes::CHANGES,
        translation: &Translate { lower: lower_edit, raise: raise_edit },
    },
    Row {
        name: "find",
        description: "Find files by glob, past what is ignored. Paths come sorted, one a line.",
        schema: SchemaOf::Document(include_str!("../schemas/flemma/find.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: search::lower_find, raise: search::raise_find },
    },
    Row {
        name: "grep",
        description: "Search the contents of files with a regular expression, past what is ignored \
            or binary. Matching lines come as path:line:text.",
        schema: SchemaOf::Document(include_str!("../schemas/flemma/grep.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: search::lower_grep, raise: search::raise_grep },
    },
    Row {
        name: "ls",
        description: "List a directory: directories first, with a slash behind them, then files.",
        schema: SchemaOf::Document(include_str!("../schemas/flemma/ls.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: search::lower_ls, raise: search::raise_ls },
    },
    Row {
        name: "read",
        description: "Read a file. At most 2000 lines or 50 KB are returned; go on with offset.",
        schema: SchemaOf::Document(include_str!("../schemas/flemma/read.json")),
        stakes: Stakes::READS,
        translation: &Translate { lower: lower_read, raise: raise_read },
    },
    Row {
        name: "write",
        description: "Write a whole file, with the directories it needs. What was there is replaced.",
        schema: SchemaOf::Document(include_str!("../schemas/flemma/write.json")),
        stakes: Stakes::CHANGES,
        translation: &Translate { lower: lower_write, raise: raise_write },
    },
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bash {
    label: Option<String>,
    command: String,
    timeout: Option<f64>,
}

fn lower_bash(args: Value, _: &Limits) -> Result<Lowered<Run>, ToolError> {
    let args: Bash = parse_args(args)?;
    if args.command.trim().is_empty() {
        return Err(ToolError::bad_args("command must not be blank"));
    }
    if args.command.contains('\0') {
        return Err(ToolError::bad_args("command contains a NUL character"));
    }
    let timeout = match args.timeout {
        None => DEFAULT_TIMEOUT,
        Some(seconds) => Duration::try_from_secs_f64(seconds)
            .map_err(|_| ToolError::bad_args(format!("timeout {seconds} is not a time")))?,
    };
    let summary = labelled(format!("bash: $ {}", args.command), args.label.as_deref());
    let run =
        Run { timeout: Some(timeout), shown: Shown::Last(LAST), ..Run::merged(&args.command) };
    Ok(Lowered::new(run, summary))
}

fn raise_bash(ran: RunOutcome, _: usize) -> Result<Output, ToolError> {
    let printed = ran.text();
    let text = match printed.trim_end() {
        "" => "(no output)".to_owned(),
        text => text.to_owned(),
    };
    match ran.exit {
        Exit::Code(0) => Ok(Output::Text(text)),
        exit => Err(ran.failure("bash", exit.to_string(), text)),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Calculator {
    expression: String,
}

fn lower_calculator(args: Value, _: &Limits) -> Result<Lowered<Calc>, ToolError> {
    let args: Calculator = parse_args(args)?;
    let summary = format!("calculator: {}", args.expression);
    let calc = Calc { expression: args.expression, delay: Duration::ZERO };
    Ok(Lowered::new(calc, summary))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CalculatorAsync {
    expression: String,
    delay: Option<f64>,
}

fn lower_calculator_async(args: Value, _: &Limits) -> Result<Lowered<Calc>, ToolError> {
    let args: CalculatorAsync = parse_args(args)?;
    let delay = match args.delay {
        None => DEFAULT_DELAY,
        Some(milliseconds) => Duration::try_from_secs_f64(milliseconds / 1000.0)
            .map_err(|_| ToolError::bad_args(format!("delay {milliseconds} is not a time")))?,
    };
    let label = args.delay.map(|delay| format!("{delay}ms"));
    let summary = labelled(format!("calculator_async: {}", args.expression), label.as_deref());
    let calc = Calc { expression: args.expression, delay };
    Ok(Lowered::new(calc, summary))
}

fn raise_calculator(value: String, _: usize) -> Result<Output, ToolError> {
    Ok(Output::Text(value))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArgs {
    label: Option<String>,
    path: String,
    offset: Option<f64>,
    limit: Option<f64>,
}

fn lower_read(args: Value, _: &Limits) -> Result<Lowered<PageOrOutput>, ToolError> {
    let args: ReadArgs = parse_args(args)?;
    // Numbers of the schema are any; lines are whole.
    let line = |number: f64| number.max(1.0) as u64;
    let count = args.limit.map(line);
    let range = match (args.offset, args.limit) {
        (None, None) => String::new(),
        (offset, None) => format!("  +{}", offset.unwrap_or(0.0)),
        (offset, Some(limit)) => format!("  +{},{limit}", offset.unwrap_or(0.0)),
    };
    let summary = labelled(format!("read: {}{range}", args.path), args.label.as_deref());
    let page = Page {
        first: args.offset.map_or(1, line),
        count: Some(count.map_or(MOST_LINES, |count| count.min(MOST_LINES))),
        most_bytes: MOST_BYTES,
        ..Page::whole(args.path)
    };
    Ok(Lowered::new(PageOrOutput::new(page), summary))
}

fn raise_read(page: PageOutcome, _: usize) -> Result<Output, ToolError> {
    let first = page.first;
    if let Some(total) = page.total.filter(|&total| first > total.max(1)) {
        return Err(ToolError::bad_args(format!(
            "offset {first} is beyond the end of {}, which has {total} lines",
            page.path
        )));
    }
    let bytes = if page.is_cut { whole_characters(&page.bytes) } else { &page.bytes };
    let text = String::from_utf8_lossy(bytes);
    let (shown, lines) = match (page.is_cut, text.rfind('\n')) {
        // A line that was cut in two is left for the next page, unless it is the first.
        (true, Some(end)) => (&text[..=end], page.lines - u64::from(end + 1 < text.len())),
        (true, None) => return Ok(Output::Text(format!("{text}\n\n[{}]", too_long(&page)))),
        (false, _) => (&text[..], page.lines),
    };
    let next = first + lines;
    let of_all = match page.total {
        Some(total) if next > total => return Ok(Output::Text(shown.to_owned())),
        Some(total) => format!(" of {total}"),
        None => ", there are more".to_owned(),
    };
    Ok(Output::Text(format!(
        "{}\n\n[lines {first} to {}{of_all}; go on with offset={next}]",
        shown.trim_end_matches('\n'),
        next - 1,
    )))
}

/// The note on a line that does not fit into one answer.
fn too_long(page: &PageOutcome) -> String {
    let (line, size) = (page.first, format_size(page.bytes.len()));
    let next = match page.total {
        Some(total) if total > line => format!("; the next line is offset={}", line + 1),
        Some(_) => String::new(),
        None => format!("; the next line, if there is one, is offset={}", line + 1),
    };
    format!("the first {size} of line {line}, which is longer{next}")
}

/// Without the first bytes of a character whose others were cut off.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        Ok(_) | Err(_) => bytes,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArgs {
    label: Option<String>,
    path: String,
    content: String,
}

fn lower_write(args: Value, _: &Limits) -> Result<Lowered<SingleChange>, ToolError> {
    let args: WriteArgs = parse_args(args)?;
    let size = format_size(args.content.len());
    let summary = labelled(format!("write: {}  ({size})", args.path), args.label.as_deref());
    let edit = Edit::Whole { content: args.content.into_bytes(), existing: Existing::Replace };
    Ok(Lowered::new(change(args.path, edit), summary))
}

/// These edits need no earlier read.
fn change(path: String, edit: Edit) -> SingleChange {
    SingleChange::new(path, edit, ChangeRules::new(FreshnessRule::NotRequired))
}

fn raise_write(file: ChangedFile, _: usize) -> Result<Output, ToolError> {
    let said = format!("Wrote {} bytes to {}", file.bytes, file.path);
    Ok(Output::Text(with_notes(said, &file)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct EditArgs {
    label: Option<String>,
    path: String,
    old_text: String,
    new_text: String,
}

fn lower_edit(args: Value, _: &Limits) -> Result<Lowered<SingleChange>, ToolError> {
    let args: EditArgs = parse_args(args)?;
    let summary = labelled(format!("edit: {}", args.path), args.label.as_deref());
    let (old, new) = (args.old_text.into_bytes(), args.new_text.into_bytes());
    let edit = Edit::Text { old, new, which: ReplaceWhich::Only };
    Ok(Lowered::new(change(args.path, edit), summary))
}

fn raise_edit(file: ChangedFile, _: usize) -> Result<Output, ToolError> {
    Ok(Output::Text(with_notes(format!("Edited {}", file.path), &file)))
}
