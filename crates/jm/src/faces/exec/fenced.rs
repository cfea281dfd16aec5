//! Fenced blocks in any text: a `tool-call` block is answered with a `tool-result` block
//! (FJ-PROTO-01, FJ-PROTO-02). All other text is passed over.

use anyhow::Result;
use jm_types::fenced_call::{OPENING, REMEDY};
use jm_types::text::{Fence, fence_for, one_line};
use jm_types::{ErrorCode, FencedCall, FencedFault, ToolCall, Toolset, parse_fenced_call};
use serde_json::{Value, json};

use super::input::{Line, Lines};
use super::{Answer, Outcome, Work, print};

pub(super) async fn run(work: &mut Work, mut lines: Lines) -> Result<()> {
    let mut reader = Reader::default();
    let (mut has_blocks, mut has_bare_calls, mut has_misspelt) = (false, false, false);
    while let Some(line) = work.next(&mut lines).await? {
        let block = match line {
            Line::Text(text) => {
                if reader.open.is_none() {
                    has_bare_calls |= !has_blocks && is_bare_call(&text);
                    if let Some(word) = misspelt(&text).filter(|_| !has_misspelt) {
                        has_misspelt = true;
                        let (line, word) = (lines.taken, one_line(word));
                        print::note(&format!(
                            "jm: note: line {line}: skipped a `{word}` block; calls are `{OPENING}` blocks"
                        ));
                    }
                }
                reader.feed(&text)
            }
            Line::Bad(why) => reader.spoil(why),
        };
        if let Some(block) = block {
            has_blocks = true;
            answer(work, block).await?;
        }
    }
    match reader.unfinished() {
        Some(block) if !work.is_interrupted() => answer(work, block).await,
        None if has_bare_calls && !has_blocks => {
            print::note("jm: note: no tool-call block in the input (for JSON lines use --jsonl)");
            Ok(())
        }
        Some(_) | None => Ok(()),
    }
}

/// A line that the other form of input would take for a call.
fn is_bare_call(line: &str) -> bool {
    let value = || serde_json::from_str::<Value>(line).ok();
    let is_call = |value: Value| value.get("name").or(value.get("calls")).is_some();
    line.trim_start().starts_with('{') && value().is_some_and(is_call)
}

/// The name that a line gives its block, if it seems to mean a call and is not how one begins.
fn misspelt(line: &str) -> Option<&str> {
    let (_, word) = Fence::opened_by(line).filter(|(fence, _)| fence.is_of_backquotes())?;
    let letters = word.chars().filter(|letter| letter.is_alphabetic()).flat_map(char::to_lowercase);
    (word != OPENING && letters.take(8).eq("toolcall".chars())).then_some(word)
}

/// The text of one block, or why it is none.
type Block = Result<String, String>;

async fn answer(work: &mut Work, block: Block) -> Result<()> {
    let toolset = work.driver.engine.core().registry.toolset();
    match block.map_err(FencedFault::unread).and_then(|text| parse(&text, toolset)) {
        Err(FencedFault { id, name, why }) => {
            work.note_nonsense();
            let message = format!("{why}\nhint: {REMEDY}");
            let details = Some(json!({"kind": "bad_args"}));
            print_block(&refusal(&json!(id), &json!(name), "validation-error", &message, details))
        }
        Ok(call) => {
            work.answer(vec![call]).await?;
            work.answers().iter().try_for_each(|answer| print_block(&block_of(answer, toolset)))?;
            work.driver.delivered();
            Ok(())
        }
    }
}

fn parse(text: &str, toolset: Toolset) -> Result<ToolCall, FencedFault> {
    let FencedCall { id, name, mut args, meta } = parse_fenced_call(text)?;
    match (meta, args.as_object_mut(), toolset) {
        (None, ..) => {}
        // The set whose protocol this is finds it among the arguments.
        (Some(meta), Some(args), Toolset::Forj) => {
            args.insert("meta".to_owned(), meta);
        }
        (Some(meta), ..) => {
            if let Some(key) = meta.as_object().and_then(|meta| meta.keys().next()) {
                let why = format!("`meta.{key}` is not supported by this toolset; remove `meta`");
                return Err(FencedFault { id: Some(id), name: Some(name), why });
            }
        }
    }
    Ok(ToolCall::new(id, name, &args))
}

fn block_of(answer: &Answer<'_>, toolset: Toolset) -> Value {
    // The set's own envelope is this block already.
    if let (Toolset::Forj, Ok(block)) = (toolset, serde_json::from_str(answer.content)) {
        return block;
    }
    match answer.verdict {
        Outcome::Ran => {
            json!({"id": answer.id, "name": answer.name, "ok": true, "result": answer.content})
        }
        Outcome::Failed | Outcome::Denied | Outcome::NeedsApproval => {
            let code = answer.kind.unwrap_or(ErrorCode::Unlisted);
            let details = Some(json!({"kind": code}));
            refusal(&json!(answer.id), &json!(answer.name), type_of(code), answer.content, details)
        }
    }
}

/// Forj's three types of error.
fn type_of(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Timeout
        | ErrorCode::ExecutionFailed
        | ErrorCode::Cancelled
        | ErrorCode::Panicked => "process-error",
        ErrorCode::NotFound
        | ErrorCode::IoError
        | ErrorCode::StaleFile
        | ErrorCode::PatchFailed => "file-error",
        ErrorCode::BadArgs
        | ErrorCode::BadPattern
        | ErrorCode::LimitsExceeded
        | ErrorCode::UnknownTool
        | ErrorCode::ToolNotReady
        | ErrorCode::DuplicateTool
        | ErrorCode::DuplicateToolCallId
        | ErrorCode::EditFailed
        | ErrorCode::Unbalanced
        | ErrorCode::ParseOnly
        | ErrorCode::JournalError
        | ErrorCode::NeedsApproval
        | ErrorCode::NotKept
        | ErrorCode::Denylisted
        | ErrorCode::Disabled
        | ErrorCode::NotAllowlisted
        | ErrorCode::DeniedByPerson
        | ErrorCode::PathOutsideSandbox
        | ErrorCode::DeniedPatternMatched
        | ErrorCode::ProtectedPath
        | ErrorCode::Interrupted
        | ErrorCode::Discarded
        | ErrorCode::UnknownOutcome
        | ErrorCode::Unlisted => "validation-error",
    }
}

fn refusal(id: &Value, name: &Value, kind: &str, message: &str, details: Option<Value>) -> Value {
    let (message, recovery) = split_hints(message);
    json!({
        "id": id, "name": name, "ok": false,
        "error": {"type": kind, "message": message, "details": details, "recovery": recovery},
    })
}

/// Hints are lines of the message for a model; here they have a place of their own. What follows
/// a blank line is the tool's own output, and stays as it is.
fn split_hints(content: &str) -> (String, Vec<String>) {
    let (message, output) = match content.split_once("\n\n") {
        Some((message, output)) => (message, Some(output)),
        None => (content, None),
    };
    let (hints, lines): (Vec<&str>, Vec<&str>) =
        message.lines().partition(|line| line.starts_with("hint: "));
    let hints = hints.iter().map(|hint| hint.trim_start_matches("hint: ").to_owned()).collect();
    let message = [Some(lines.join("\n")), output.map(str::to_owned)];
    (message.into_iter().flatten().collect::<Vec<_>>().join("\n\n"), hints)
}

fn print_block(value: &Value) -> Result<()> {
    let text = print::harmless_json(value)?;
    let fence = fence_for(&text);
    print::line(&format!("{fence}tool-result\n{text}\n{fence}\n"))
}

/// Finds blocks line by line.
#[derive(Default)]
struct Reader {
    /// The fence of the open block, and the block's lines if it is a call.
    open: Option<(Fence, Option<Vec<String>>)>,
    spoilt: Option<String>,
}

impl Reader {
    fn feed(&mut self, line: &str) -> Option<Block> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match &mut self.open {
            None => {
                self.open = Fence::opened_by(line).map(|(fence, word)| {
                    let is_call = fence.is_of_backquotes() && word == OPENING;
                    (fence, is_call.then(Vec::new))
                });
                None
            }
            Some((fence, body)) if fence.is_closed_by(line) => {
                let body = body.take();
                self.open = None;
                body.map(|lines| self.spoilt.take().map_or_else(|| Ok(lines.join("\n")), Err))
            }
            Some((_, body)) => {
                if let Some(lines) = body {
                    lines.push(line.to_owned());
                }
                None
            }
        }
    }

    fn spoil(&mut self, why: String) -> Option<Block> {
        if matches!(self.open, Some((_, Some(_)))) {
            self.spoilt = Some(why);
        }
        None
    }

    /// A call whose fence never closed is not run.
    fn unfinished(self) -> Option<Block> {
        match self.open {
            Some((_, Some(_))) => Some(Err("the tool-call block has no closing fence".to_owned())),
            Some((_, None)) | None => None,
        }
    }
}
