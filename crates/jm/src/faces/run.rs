//! `jm run`: a task for the model, done without a terminal.

use std::io::{IsTerminal, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jm_types::{Part, StreamError};
use jm_workspace::state::{read_bytes, read_text};
use serde_json::{Value, json};

use super::answer::Outcome;
use super::drive::block_on;
use super::screen::{Lines, Plain, Screen};
use super::{exit, print};
use crate::agent::{Agent, TurnEnd};
use crate::cli::{Common, Run};
use crate::sessions;

const MOST_INPUT: u64 = 16 * 1024 * 1024;
const MOST_IMAGE: u64 = 20 * 1024 * 1024;
/// How often the model may try to give an answer that the schema accepts.
const ATTEMPTS: usize = 3;

pub(crate) fn run(common: &Common, run: &Run) -> Result<u8> {
    let prompt = prompt(run)?;
    let schema = run.output_schema.as_deref().map(schema).transpose()?;
    let common = resumed(common, run)?;
    block_on(async {
        let mut agent = Agent::open(&common, &run.model).await?;
        if let Some(schema) = &schema {
            agent.require(&format!(
                "Your final answer must be one JSON value and nothing else, with this schema:\n{schema}"
            ));
        }
        let mut view = View::new(run.json);
        view.opened(&agent)?;
        let mut end = agent.turn(prompt, view.screen()).await?;
        if let Some(schema) = &schema {
            end = conform(&mut agent, &mut view, schema, end).await?;
        }
        let code = view.ended(&agent, &end)?;
        agent.close().await?;
        Ok(code)
    })
}

/// `--resume ID` is `--session ID` of a session that must exist.
fn resumed(common: &Common, run: &Run) -> Result<Common> {
    let mut common = common.clone();
    if let Some(id) = &run.resume {
        if !sessions::exists(id)? {
            bail!("there is no session {id}\n  hint: `jm sessions` lists them");
        }
        common.session = Some(id.clone());
    }
    Ok(common)
}

/// The words of the command line, then what stands on standard input, then pictures.
fn prompt(run: &Run) -> Result<Vec<Part>> {
    let mut text = run.prompt.join(" ");
    if !std::io::stdin().is_terminal() {
        let mut input = String::new();
        let mut stdin = std::io::stdin().take(MOST_INPUT);
        stdin.read_to_string(&mut input).context("standard input is not text")?;
        if !input.trim().is_empty() {
            text = format!("{text}\n\n{input}").trim_start().to_owned();
        }
    }
    if text.trim().is_empty() && run.resume.is_none() {
        bail!("what shall be done? The prompt is empty");
    }
    let text = if text.trim().is_empty() { "Go on.".to_owned() } else { text };
    let mut parts = vec![Part::text(text)];
    for path in &run.image {
        parts.push(image(path)?);
    }
    Ok(parts)
}

fn image(path: &Path) -> Result<Part> {
    let bytes =
        read_bytes(path, MOST_IMAGE).with_context(|| format!("image {}", path.display()))?;
    let media_type = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => bail!("image {}: is not a PNG, JPEG, GIF or WebP picture", path.display()),
    };
    Ok(Part::Image { media_type: media_type.to_owned(), data: STANDARD.encode(&bytes) })
}

fn schema(path: &Path) -> Result<Value> {
    let text = read_text(path, MOST_INPUT).with_context(|| format!("schema {}", path.display()))?;
    let text = text.with_context(|| format!("schema {}: there is no such file", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("schema {}", path.display()))
}

/// Asks again until the answer is what the schema says, a few times.
async fn conform(
    agent: &mut Agent,
    view: &mut View,
    schema: &Value,
    mut end: TurnEnd,
) -> Result<TurnEnd> {
    for attempt in 1..=ATTEMPTS {
        if !matches!(end, TurnEnd::Finished(_)) {
            return Ok(end);
        }
        let wrong = match jm_tools::schema::check_text(schema, view.last_text()) {
            Ok(()) => return Ok(end),
            Err(wrong) => wrong,
        };
        if attempt == ATTEMPTS {
            let kind = jm_types::StreamErrorKind::Malformed;
            let message = format!("the answer is not what the schema asks for: {wrong}");
            return Ok(TurnEnd::Failed(StreamError::new(kind, message)));
        }
        let again = format!("That is not what the schema asks for: {wrong}. Answer again.");
        view.begin_turn();
        end = agent.turn(vec![Part::text(again)], view.screen()).await?;
    }
    Ok(end)
}

/// Text or JSON.
enum View {
    Plain(Plain),
    Lines(Lines),
}

impl View {
    fn new(as_json: bool) -> Self {
        match as_json {
            true => View::Lines(Lines::default()),
            false => View::Plain(Plain::new(None)),
        }
    }

    fn screen(&mut self) -> &mut dyn Screen {
        match self {
            View::Plain(plain) => plain,
            View::Lines(lines) => lines,
        }
    }

    fn last_text(&self) -> &str {
        match self {
            View::Plain(plain) => &plain.last_text,
            View::Lines(lines) => &lines.last_text,
        }
    }

    fn begin_turn(&mut self) {
        match self {
            View::Plain(plain) => plain.begin_turn(),
            View::Lines(lines) => lines.last_text.clear(),
        }
    }

    fn opened(&self, agent: &Agent) -> Result<()> {
        match self {
            View::Plain(_) => Ok(()),
            View::Lines(_) => print::json(&json!({
                "type": "session", "session": agent.driver.session.id,
                "provider": agent.voice().provider(), "model": agent.voice().model(),
            })),
        }
    }

    fn ended(&self, agent: &Agent, end: &TurnEnd) -> Result<u8> {
        let (reason, code) = judge(agent, end);
        let usage = agent.conversation.usage();
        match self {
            View::Plain(_) => explain(agent, end),
            View::Lines(lines) => {
                let error = match end {
                    TurnEnd::Failed(error) => json!({
                        "kind": error.kind.name(), "message": error.message, "hint": error.hint,
                    }),
                    _ => Value::Null,
                };
                print::json(&json!({
                    "type": "end", "reason": reason, "text": lines.last_text, "error": error,
                    "session": agent.driver.session.id, "usage": usage,
                    "cost": agent.voice().cost(&usage), "exit": code,
                }))?;
            }
        }
        Ok(code)
    }
}

/// The reason's word and the exit code (docs/formats/run.md).
fn judge(agent: &Agent, end: &TurnEnd) -> (&'static str, u8) {
    let needed_a_person = agent.driver.session.batch().entries.iter().any(|entry| {
        entry.result().is_some_and(|result| Outcome::of(result) == Outcome::NeedsApproval)
    });
    match end {
        TurnEnd::Finished(_) if needed_a_person => ("needs_person", exit::DENIED),
        TurnEnd::Finished(_) => ("finished", exit::RAN),
        TurnEnd::Limit => ("limit", exit::LIMIT),
        TurnEnd::Waiting => ("needs_results", exit::DENIED),
        TurnEnd::Interrupted => ("interrupted", exit::INTERRUPTED),
        TurnEnd::Failed(_) => ("failed", exit::FAILED),
    }
}

fn explain(agent: &Agent, end: &TurnEnd) {
    let session = &agent.driver.session.id;
    let again = format!("  hint: `jm run --resume {session} …` goes on from here");
    match end {
        TurnEnd::Finished(_) => {}
        TurnEnd::Limit => {
            print::note("jm: the model has had its rounds of tool calls (--max-iterations)");
            print::note(&again);
        }
        TurnEnd::Waiting => {
            print::note("jm: tools mode is parse_only: somebody must supply the results");
        }
        TurnEnd::Interrupted => print::note(&format!("jm: interrupted\n{again}")),
        TurnEnd::Failed(error) => {
            print::note(&format!("jm: {}", error.message));
            if let Some(hint) = &error.hint {
                print::note(&format!("  hint: {hint}"));
            }
            print::note(&again);
        }
    }
}
