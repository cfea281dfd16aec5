//! `jm chat --inspect`: a document as an editor shows it, without doing anything about it.
//!
//! Law: nothing is run, written or recorded, and no lock is taken, so it works beside a run over the same document.

use std::io::Read;

use anyhow::{Context, Result};
use jm_chat::{
    AnswerState, BlockKind, ByteRange, ChatBlock, ChatCall, ChatDocument, ResultState, Severity,
    ToolResultBlock,
};
use jm_types::{ToolCall, Verdict};
use serde_json::{Map, Value, json};

use super::document_file::{MOST_BYTES, read_document};
use super::with_dialect;
use crate::cli::{Chat, Common};
use crate::faces::call_loop::{Driver, block_on};
use crate::faces::{exit, print};

pub(super) fn run(common: &Common, chat: &Chat) -> Result<u8> {
    let (path, bytes) = if chat.stdin {
        (std::path::absolute(&chat.file)?, from_stdin()?)
    } else {
        read_document(&chat.file)?
    };
    let document = ChatDocument::parse(bytes);
    let common = with_dialect(Common { no_journal: true, ..common.clone() }, &path);
    block_on(async {
        let driver = Driver::new(&common)?;
        let mut calls = Vec::new();
        for call in document.calls() {
            calls.push(call_value(&driver, &document, &call).await);
        }
        let tools: Vec<String> =
            driver.engine.advertised().into_iter().map(|tool| tool.name).collect();
        let answer = json!({
            "type": "inspection", "calls": calls, "blocks": blocks(&document),
            "findings": findings(&document), "tools": tools,
        });
        driver.close(None).await?;
        print::json(&answer)?;
        Ok(exit::RAN)
    })
}

fn from_stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut input = std::io::stdin().take(MOST_BYTES);
    input.read_to_end(&mut bytes).context("the document from standard input")?;
    Ok(bytes)
}

/// A call: where it is, where its answer is, and what it would do where it has none yet.
async fn call_value(driver: &Driver, document: &ChatDocument, call: &ChatCall) -> Value {
    let mut value = Map::new();
    let ToolCall { id, name, arguments } = &call.call;
    value.insert("id".into(), json!(id));
    value.insert("name".into(), json!(name));
    value.insert("line".into(), json!(call.line));
    value.insert("path".into(), json!(path_of(arguments)));
    let status = match &call.answer {
        AnswerState::Missing => "missing",
        AnswerState::Given { is_error: true, .. } => "error",
        AnswerState::Given { is_error: false, .. } => "result",
        AnswerState::Placeholder(place) => place.status.word(),
    };
    value.insert("status".into(), json!(status));
    if let AnswerState::Placeholder(place) = &call.answer {
        value.insert("typed".into(), json!(place.typed.is_some()));
        value.insert("result_line".into(), json!(place.line));
        value.extend(status_place(document, place.line));
    }
    if !call.is_answered() {
        let seen = driver.engine.inspect(&driver.session, call.call.clone()).await;
        let verdict = match seen.verdict {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        };
        value.insert("verdict".into(), json!(verdict));
        // The tools of documents begin their summaries with their names.
        let preview = match seen.summary.strip_prefix(name).is_some_and(|it| it.starts_with(": ")) {
            true => seen.summary,
            false => format!("{name}: {}", seen.summary),
        };
        value.insert("preview".into(), json!(preview));
        value.insert("diff".into(), json!(seen.preview));
        value.insert("warnings".into(), json!(seen.warnings));
        value.insert("error".into(), json!(seen.error.map(|error| error.to_string())));
    }
    Value::Object(value)
}

/// The file that a call names, for an editor to open.
fn path_of(arguments: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    let path = ["path", "file_path"].iter().find_map(|key| arguments.get(key)?.as_str())?;
    Some(path.to_owned())
}

/// The word of a placeholder's status, and the line below its opening fence.
fn status_place(document: &ChatDocument, line: usize) -> Map<String, Value> {
    let blocks = document.sections().iter().flat_map(|section| &section.blocks);
    let results = blocks.filter_map(|block| match &block.kind {
        BlockKind::ToolResult(result) if block.line == line => Some(result),
        _ => None,
    });
    let mut place = Map::new();
    for ToolResultBlock { fence, state, .. } in results {
        let ResultState::Placeholder { word, .. } = state else { continue };
        let (status_line, status_column) = position(document, word.start);
        place.insert("status_line".into(), json!(status_line));
        place.insert("status_column".into(), json!(status_column));
        place.insert("status_length".into(), json!(word.len()));
        place.insert("body_line".into(), json!(position(document, fence.body.start).0));
    }
    place
}

/// Line and column from 1, the column in bytes.
fn position(document: &ChatDocument, offset: usize) -> (usize, usize) {
    let before = ByteRange::new(0, offset).of(document.bytes());
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let lines = before.iter().filter(|byte| **byte == b'\n').count();
    (lines + 1, offset - line_start + 1)
}

/// The blocks that fold: front matter, sections, calls, results and thoughts.
fn blocks(document: &ChatDocument) -> Vec<Value> {
    let value = |kind: &str, range: ByteRange| {
        let last = position(document, range.end.saturating_sub(1).max(range.start)).0;
        json!({"kind": kind, "line": position(document, range.start).0, "end_line": last})
    };
    let mut all = Vec::new();
    all.extend(document.front_matter().map(|front| value("front_matter", front.span)));
    for section in document.sections() {
        let role = section.role.marker().trim_matches(['@', ':']).to_lowercase();
        all.push(value(&role, section.span));
        all.extend(section.blocks.iter().filter_map(|block: &ChatBlock| {
            let kind = match block.kind {
                BlockKind::ToolUse(_) => "tool_use",
                BlockKind::ToolResult(_) => "tool_result",
                BlockKind::Thinking(_) => "thinking",
                BlockKind::Text | BlockKind::Aborted(_) | BlockKind::Malformed => return None,
            };
            Some(value(kind, block.span))
        }));
    }
    all
}

fn findings(document: &ChatDocument) -> Vec<Value> {
    let finding = |one: &jm_chat::Diagnostic| {
        let severity = match one.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        json!({
            "severity": severity, "line": one.line, "column": one.column, "message": one.message,
        })
    };
    document.diagnostics().iter().map(finding).collect()
}
