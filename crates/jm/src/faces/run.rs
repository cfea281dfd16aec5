//! `jm run`: a task for the model, done without a terminal.

use anyhow::Result;
use jm_tools::schema::Schema;
use jm_types::text::{one_line, sanitize};
use jm_types::{Part, StreamError, StreamErrorKind};
use serde_json::{Value, json};

use super::approval::AnswerLines;
use super::call_loop::block_on;
use super::prompt::Approver;
use super::screen::{Lines, Plain, Screen, Words};
use super::{exit, home, outside_results, print, refused_calls, task};
use crate::agent::{Agent, Looks, TurnEnd};
use crate::cli::{Common, RunArgs};
use crate::sessions;

/// How often the model may try to give an answer that the schema accepts.
const ATTEMPTS: usize = 3;

pub(crate) fn run(common: &Common, run: &RunArgs) -> Result<u8> {
    let outcome = begin(common, run);
    if let (true, Err(error)) = (run.json, &outcome)
        && !print::is_closed_pipe(error)
    {
        // Whoever reads events learns from the last one how it ended, also where nothing began.
        let error = json!({"kind": "usage", "message": format!("{error:#}"), "hint": null});
        print::json(&json!({
            "type": "end", "reason": "failed", "text": "", "error": error, "session": null,
            "usage": null, "cost": null, "exit": exit::USAGE, "waiting": [], "unanswered": [],
        }))?;
    }
    outcome
}

fn begin(common: &Common, run: &RunArgs) -> Result<u8> {
    let supplied = outside_results::results(run)?;
    let said = Said { words: task::prompt(run)?, supplied };
    let schema = run.output_schema.as_deref().map(task::schema).transpose()?;
    let common = resumed(common, run)?;
    home::confirm(&common)?;
    block_on(async {
        let is_for_programs = run.json || run.output_schema.is_some();
        let looks = if is_for_programs { Looks::Lines } else { Looks::Blocks };
        let mut agent = Agent::open(&common, &run.model, looks).await?;
        if let Some(path) = run.answers.as_deref().filter(|_| !common.yes) {
            agent.driver.ask_through(Approver::Lines(AnswerLines::open(path)?));
        }
        let mut view = View::new(run, &agent);
        view.opened(&agent)?;
        for note in &agent.notes {
            view.screen().note(&one_line(note))?;
        }
        if let Err(error) = agent.check_supplied(&said.supplied) {
            agent.close().await?;
            return Err(error);
        }
        let end = match converse(&mut agent, &mut view, schema.as_ref(), said).await {
            Err(error) if print::is_closed_pipe(&error) => return Err(error),
            Err(error) => Over::Broken(error),
            Ok(end) => Over::Turn(end),
        };
        let code = view.ended(&agent, &end)?;
        match (agent.close().await, end) {
            // What broke it is told; that it could not be closed either adds nothing.
            (_, Over::Broken(_)) | (Ok(()), Over::Turn(_)) => Ok(code),
            (Err(error), Over::Turn(_)) => Err(error),
        }
    })
}

/// The input of a run.
struct Said {
    words: Option<Vec<Part>>,
    /// Results for calls that wait: ids and texts.
    supplied: Vec<(String, String)>,
}

/// How the run ended.
enum Over {
    Turn(TurnEnd),
    /// We ourselves could not go on, for instance because nothing can be recorded any more.
    Broken(anyhow::Error),
}

/// `--resume ID` is `--session ID` of a session that must exist.
fn resumed(common: &Common, run: &RunArgs) -> Result<Common> {
    let mut common = common.clone();
    if let Some(id) = &run.resume {
        common.session = Some(sessions::existing(&common, id)?);
    }
    Ok(common)
}

async fn converse(
    agent: &mut Agent,
    view: &mut View,
    schema: Option<&Schema>,
    said: Said,
) -> Result<TurnEnd> {
    let Some(schema) = schema else { return first_turn(agent, view, said).await };
    agent.require(&format!(
        "Your final answer must be one JSON value and nothing else, with this schema:\n{schema}"
    ));
    let end = first_turn(agent, view, said).await?;
    conform(agent, view, schema, end).await
}

async fn first_turn(agent: &mut Agent, view: &mut View, said: Said) -> Result<TurnEnd> {
    let Said { words, supplied } = said;
    let waits = agent.driver.session.batch().awaits_results();
    match (words, supplied.is_empty()) {
        (words, false) => agent.supply(supplied, words, view.screen()).await,
        (Some(words), true) => agent.turn(words, view.screen()).await,
        // Nothing was said, so what waits is shown again.
        (None, true) if waits => Ok(TurnEnd::Waiting),
        (None, true) => agent.turn(task::go_on(), view.screen()).await,
    }
}

/// Asks again until the answer is what the schema says, a few times.
async fn conform(
    agent: &mut Agent,
    view: &mut View,
    schema: &Schema,
    mut end: TurnEnd,
) -> Result<TurnEnd> {
    for attempt in 1..=ATTEMPTS {
        if !matches!(end, TurnEnd::Finished) {
            return Ok(end);
        }
        let wrong = match schema.check(view.last_text()).map(str::to_owned) {
            Ok(answer) => {
                view.accept(answer)?;
                return Ok(end);
            }
            Err(wrong) => wrong,
        };
        if attempt == ATTEMPTS {
            let message = format!("the answer does not match the schema: {wrong}");
            return Ok(TurnEnd::Failed(StreamError::new(StreamErrorKind::Malformed, message)));
        }
        let again = format!("That does not match the schema: {wrong}. Answer again.");
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
    fn new(run: &RunArgs, agent: &Agent) -> Self {
        match (run.json, &run.output_schema) {
            (true, _) => View::Lines(Lines::default()),
            (false, Some(_)) => View::Plain(Plain::new(None, Words::Err)),
            (false, None) => View::Plain(Plain::drawn(None, agent)),
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

    /// The answer is what the schema asks for.
    fn accept(&mut self, answer: String) -> Result<()> {
        match self {
            View::Plain(_) => {
                let line = format!("{answer}\n");
                print::result(&line, &sanitize(&line))
            }
            View::Lines(lines) => {
                lines.last_text = answer;
                Ok(())
            }
        }
    }

    fn opened(&self, agent: &Agent) -> Result<()> {
        match self {
            View::Plain(_) => Ok(()),
            View::Lines(_) => print::json(&json!({
                "type": "session", "session": agent.driver.session.id,
                "provider": agent.client().provider(), "model": agent.client().model(),
            })),
        }
    }

    fn ended(&self, agent: &Agent, end: &Over) -> Result<u8> {
        let (reason, code) = match end {
            Over::Turn(end) => judge(agent, end),
            Over::Broken(_) => ("failed", exit::FAILED),
        };
        let usage = agent.conversation.usage();
        match self {
            View::Plain(_) => explain(agent, end),
            View::Lines(lines) => {
                let error = match end {
                    Over::Turn(TurnEnd::Failed(error)) => json!({
                        "kind": error.kind.name(), "message": error.message, "hint": error.hint,
                    }),
                    Over::Broken(error) => {
                        json!({"kind": "internal", "message": format!("{error:#}"), "hint": null})
                    }
                    Over::Turn(_) => Value::Null,
                };
                print::json(&json!({
                    "type": "end", "reason": reason, "text": lines.last_text, "error": error,
                    "session": agent.driver.session.id, "usage": usage,
                    "cost": agent.client().cost(&usage), "exit": code,
                    "waiting": outside_results::waiting_as_json(&agent.driver.session),
                    "unanswered": agent.driver.unanswered,
                }))?;
            }
        }
        Ok(code)
    }
}

/// The reason's word and the exit code (docs/formats/run.md).
fn judge(agent: &Agent, end: &TurnEnd) -> (&'static str, u8) {
    let needed_a_person = !agent.driver.unanswered.is_empty();
    match end {
        TurnEnd::Finished if needed_a_person => ("needs_person", exit::DENIED),
        TurnEnd::Finished => ("finished", exit::RAN),
        TurnEnd::Limit => ("limit", exit::LIMIT),
        TurnEnd::Waiting => ("needs_results", exit::DENIED),
        TurnEnd::Interrupted => ("interrupted", exit::INTERRUPTED),
        TurnEnd::Failed(_) => ("failed", exit::FAILED),
    }
}

fn explain(agent: &Agent, end: &Over) {
    let session = &agent.driver.session.id;
    let again = format!("  hint: continue with `jm run --resume {session} …`");
    let end = match end {
        Over::Turn(end) => end,
        Over::Broken(error) => return print::error(error),
    };
    if !agent.driver.unanswered.is_empty() {
        print::note(&refused_calls::told(&agent.driver.unanswered));
    }
    match end {
        TurnEnd::Finished => {}
        TurnEnd::Limit => {
            let stopped = agent.stopped();
            print::note(&format!("jm: {stopped} (raise with --max-iterations)\n{again}"));
        }
        TurnEnd::Waiting => {
            let how = |id: &str| format!("--result {id}=TEXT");
            print::note(&outside_results::waiting(&agent.driver.session, how));
            print::note(&format!(
                "  hint: supply results with `jm run --resume {session} --result ID=TEXT …` or \
                 `--results FILE`"
            ));
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
