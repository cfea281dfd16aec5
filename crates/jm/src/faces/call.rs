//! `jm call`: one tool call, no model.

use std::io::Read;

use anyhow::{Context, Result, bail};
use jm_engine::{Inspection, Session};
use jm_types::text::reveal;
use jm_types::{ToolCall, Verdict};
use serde_json::json;

use super::answer::{Answer, Outcome};
use super::call_loop::{Driver, End, block_on};
use super::prompt::risk_word;
use super::{exit, print};
use crate::cli::{CallArgs, Common};

/// More than this is not read from standard input, whatever the limit of arguments.
const MOST_INPUT: u64 = 64 * 1024 * 1024;

pub(crate) fn run(common: &Common, call: &CallArgs) -> Result<u8> {
    let arguments = match call.args.as_str() {
        "-" => from_stdin()?,
        text => text.to_owned(),
    };
    let tool_call = ToolCall { id: "call_1".to_owned(), name: call.tool.clone(), arguments };
    block_on(async {
        let mut driver = Driver::new(common)?;
        if call.preview {
            return preview(&driver, tool_call, call.json).await;
        }
        let end = driver.answer(vec![tool_call]).await?;
        let code = report(&driver.session, end, call.json)
            .with_context(|| where_it_is(common, &driver.session))?;
        let delivered = driver.session.batch().number;
        driver.close(Some(delivered)).await?;
        Ok(code)
    })
}

fn from_stdin() -> Result<String> {
    let mut bytes = Vec::new();
    let mut input = std::io::stdin().take(MOST_INPUT + 1);
    input.read_to_end(&mut bytes).context("arguments from standard input")?;
    if bytes.len() as u64 > MOST_INPUT {
        bail!("the arguments on standard input exceed {MOST_INPUT} bytes; nothing was run");
    }
    String::from_utf8(bytes).context("arguments on standard input are not UTF-8")
}

fn report(session: &Session, end: End, as_json: bool) -> Result<u8> {
    let entry =
        session.batch().entries.first().context("internal error: the call was not recorded")?;
    let answer = Answer::of(entry).context("the call has no result")?;
    if as_json {
        print::json(&answer)?;
    } else {
        print::result(answer.content, answer.display)?;
    }
    match end {
        End::Interrupted => Ok(exit::INTERRUPTED),
        End::Answered => Ok(answer.verdict.exit_code()),
    }
}

/// For somebody who did not get the answer.
fn where_it_is(common: &Common, session: &Session) -> String {
    match session.batch().entries.first() {
        Some(entry) if !common.no_journal => {
            format!("the call completed; print its result with `jm output {}`", entry.key)
        }
        Some(_) | None => "the call is done".to_owned(),
    }
}

async fn preview(driver: &Driver, call: ToolCall, as_json: bool) -> Result<u8> {
    let name = call.name.clone();
    let seen = driver.engine.inspect(&driver.session, call).await;
    let outcome = foresee(&seen);
    if as_json {
        let error = seen.error.as_ref().map(ToString::to_string);
        let hints = seen.error.as_ref().map(|error| &error.hints);
        print::json(&json!({
            "name": name, "verdict": outcome, "kind": seen.error.as_ref().map(|e| e.name()),
            "summary": seen.summary, "risk": seen.risk, "rule": seen.rule,
            "warnings": seen.warnings, "preview": seen.preview, "error": error, "hints": hints,
        }))?;
    } else {
        print::text(&in_words(&seen))?;
    }
    Ok(outcome.map_or(exit::RAN, Outcome::exit_code))
}

/// The verdict on the call; `None` when it would simply run.
fn foresee(seen: &Inspection) -> Option<Outcome> {
    match (&seen.error, seen.verdict) {
        (Some(error), _) => Some(Outcome::of_code(error.code())),
        (None, Verdict::Ask) => Some(Outcome::NeedsApproval),
        (None, Verdict::Allow | Verdict::Deny) => None,
    }
}

fn in_words(seen: &Inspection) -> String {
    let verdict = match (&seen.error, seen.verdict) {
        (Some(error), _) => format!("would be refused: {error}"),
        (None, Verdict::Ask) => format!("would ask: {}", seen.rule),
        (None, Verdict::Allow | Verdict::Deny) => format!("would run: {}", seen.rule),
    };
    let mut text = String::new();
    if let Some(risk) = seen.risk {
        text.push_str(&format!("{} [{}]\n", seen.summary, risk_word(risk)));
    }
    text.push_str(&format!("{verdict}\n"));
    let hints = seen.error.iter().flat_map(|error| &error.hints);
    hints.for_each(|hint| text.push_str(&format!("hint: {hint}\n")));
    seen.warnings.iter().for_each(|warning| text.push_str(&format!("! {warning}\n")));
    text.push_str(seen.preview.as_deref().unwrap_or_default());
    if let Some(output) = seen.error.as_ref().and_then(|error| error.output.as_deref()) {
        text.push_str(&format!("\n{output}"));
    }
    reveal(&text)
}
