//! The agent's loop: ask the model, run what it asks for, tell it what came of it, until it is done.
//!
//! Law: whatever stops it, the conversation it leaves is one that every vendor accepts, and what it
//! did is on record.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use futures_util::StreamExt;
use jm_engine::conversation::tokens_of;
use jm_engine::{Conversation, HeardTurn, Hearing, Listening, ResponseEnd, recall};
use jm_providers::{
    CallMeta, ModelClient, ModelRequest, OfferedTools, ParameterLayers, Parameters,
};
use jm_store::Store;
use jm_types::text::one_line;
use jm_types::{
    Cancel, Part, SessionId, StopReason, StreamError, StreamErrorKind, StreamEvent, Toolset, Usage,
};

mod context_budget;

use crate::cli::{Common, Model, ThinkingLevel};
use crate::faces::acp::ClientLink;
use crate::faces::call_loop::{Driver, End};
use crate::faces::history;
use crate::faces::screen::Screen;
use crate::faces::tui::Desk;
use crate::instructions::{self, Instructions, NestedInstructions};
use crate::{model_client, session_name, sessions};

/// How often a model is told that it has had its rounds before it is stopped.
const REFUSED_ROUNDS: usize = 3;

pub(crate) struct Agent {
    pub(crate) driver: Driver,
    pub(crate) conversation: Conversation,
    client: ModelClient,
    /// The name by which the model was opened.
    model: String,
    /// Instructions of directories that were touched.
    nested: NestedInstructions,
    system: String,
    tools: OfferedTools,
    parameter_layers: ParameterLayers,
    /// Tokens of the instructions and the tools, by our own count.
    head_tokens: usize,
    /// Notes for the person before the first word.
    pub(crate) notes: Vec<String>,
}

/// The looks of a conversation.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Looks<'a> {
    /// Lines for whoever reads them, a program too.
    Lines,
    /// The blocks of the screen, where the terminal shows them; else lines.
    Blocks,
    Screen(&'a Arc<Desk>),
    /// An editor, which draws it by itself.
    Client(&'a Arc<ClientLink>),
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TurnEnd {
    Finished,
    /// The model would go on, but has had its rounds.
    Limit,
    /// Somebody must supply results (parse-only mode).
    Waiting,
    Interrupted,
    Failed(StreamError),
}

/// How a stream ended.
enum Ended {
    Over,
    /// The message has more calls than are taken in.
    Full {
        calls: usize,
    },
    Interrupted,
    Broken(StreamError),
}

enum Listened {
    HeardTurn(HeardTurn),
    Interrupted,
    Failed(StreamError),
}

impl Agent {
    /// Must be called inside the runtime.
    pub(crate) async fn open(common: &Common, model: &Model, looks: Looks<'_>) -> Result<Self> {
        // The whole history is written anew for each request.
        jm_system::memory::keep_freed_memory();
        let common = Common { max_iterations: model.max_iterations, ..common.clone() };
        let mut common = common;
        if let Some(name) = &common.session
            && !common.no_journal
        {
            let root = history::root(&common)?;
            common.session = Some(session_name::for_work(&sessions::store()?, &root, name)?);
        }
        let name = model_client::chosen_name(&common, model)?;
        let client = model_client::open(&common, model).await?;
        let driver = match looks {
            Looks::Screen(desk) => Driver::at(&common, desk).await?,
            Looks::Client(link) => Driver::for_client(&common, link).await?,
            Looks::Blocks => Driver::drawn(&common)?,
            Looks::Lines => Driver::new(&common)?,
        };
        let core = driver.engine.core();
        core.registry.begin();
        let client = client.with_call_meta(match core.registry.toolset() {
            Toolset::Forj => CallMeta::Offered,
            Toolset::Forge
            | Toolset::Gemini
            | Toolset::Ikigai
            | Toolset::Flemma
            | Toolset::Standard => CallMeta::None,
        });
        let Instructions { text: system, mut notes } =
            instructions::system(&core.workspace, core.mode);
        let conversation = match core.recorder.journal() {
            Some(journal) => {
                let (store, id) = (journal.store(), &driver.session.id);
                notes.extend(moved(store, id, core.workspace.sandbox.working_root().path())?);
                recall::recall(store, id).map_err(sessions::told)?
            }
            None => Conversation::default(),
        };
        let parameter_layers = client.parameter_layers().beneath(&parameters(model));
        let (tools, head_tokens) = (OfferedTools::default(), 0);
        let nested = NestedInstructions::default();
        let model = name;
        Ok(Self {
            driver,
            conversation,
            client,
            model,
            nested,
            system,
            tools,
            parameter_layers,
            head_tokens,
            notes,
        })
    }

    pub(crate) fn client(&self) -> &ModelClient {
        &self.client
    }

    pub(crate) fn require(&mut self, instructions: &str) {
        self.system.push_str("\n\n");
        self.system.push_str(instructions);
    }

    /// One turn: from the person's words to the model's last.
    pub(crate) async fn turn(
        &mut self,
        parts: Vec<Part>,
        screen: &mut dyn Screen,
    ) -> Result<TurnEnd> {
        let Driver { engine, session, .. } = &mut self.driver;
        engine.leave_waiting(session, &mut self.conversation)?;
        engine.prompt(session, &mut self.conversation, parts)?;
        self.go_on(screen).await
    }

    /// Refuses results for calls that do not wait, before any of them is taken.
    pub(crate) fn check_supplied(&self, results: &[(String, String)]) -> Result<()> {
        let session = &self.driver.session;
        let ids = results.iter().map(|(id, _)| id.as_str());
        session.check_supplied(ids).map_err(|error| {
            let waiting: Vec<String> =
                session.batch().waiting().map(|entry| one_line(&entry.call.id)).collect();
            let error = one_line(&error.to_string());
            let hint = if waiting.is_empty() {
                "no call of this session is waiting for a result".to_owned()
            } else {
                format!("waiting for a result: {}", waiting.join(", "))
            };
            anyhow!("{error}\n  hint: {hint}")
        })
    }

    /// Goes on with results from outside for calls that wait, and with words, where there are any.
    pub(crate) async fn supply(
        &mut self,
        results: Vec<(String, String)>,
        words: Option<Vec<Part>>,
        screen: &mut dyn Screen,
    ) -> Result<TurnEnd> {
        self.check_supplied(&results)?;
        self.offer_room();
        let Driver { engine, session, .. } = &mut self.driver;
        for (id, content) in results {
            engine.supply(session, &id, content)?;
        }
        if session.batch().awaits_results() {
            return match words {
                Some(words) => self.turn(words, screen).await,
                None => Ok(TurnEnd::Waiting),
            };
        }
        self.tell_results(screen)?;
        if let Some(words) = words {
            let Driver { engine, session, .. } = &mut self.driver;
            engine.prompt(session, &mut self.conversation, words)?;
        } else if let Some(end) = self.past_limit() {
            return Ok(end);
        }
        self.go_on(screen).await
    }

    /// OfferedTools may come and go while the program runs; within a turn they stay.
    fn look_at_tools(&mut self) -> Result<()> {
        self.tools = self.driver.engine.advertised().into();
        let head = self.system.len() + serde_json::to_string(&*self.tools)?.len();
        self.head_tokens = tokens_of(head);
        Ok(())
    }

    /// From where the conversation stands, for instance after results were supplied.
    pub(crate) async fn go_on(&mut self, screen: &mut dyn Screen) -> Result<TurnEnd> {
        self.look_at_tools()?;
        let mut was_too_long = false;
        loop {
            if let Some(end) = self.make_room(screen).await? {
                return Ok(end);
            }
            match self.listen(screen).await? {
                Listened::HeardTurn(HeardTurn::Asks) => was_too_long = false,
                Listened::HeardTurn(HeardTurn::Spoke(stop)) => {
                    if let Some(note) = stop.as_ref().and_then(not_whole) {
                        screen.note(note)?;
                    }
                    return Ok(TurnEnd::Finished);
                }
                Listened::HeardTurn(HeardTurn::Nothing) => return Ok(TurnEnd::Failed(silence())),
                Listened::Interrupted => return Ok(TurnEnd::Interrupted),
                Listened::Failed(error)
                    if error.kind == StreamErrorKind::ContextTooLong && !was_too_long =>
                {
                    was_too_long = true;
                    // Without old results there is room for the question itself.
                    self.driver.engine.compact(&mut self.conversation, None)?;
                    screen.note(context_budget::TOO_LONG)?;
                    if let Some(end) = self.summarize().await? {
                        return Ok(end);
                    }
                    continue;
                }
                Listened::Failed(error) => return Ok(TurnEnd::Failed(error)),
            }
            if let Some(end) = self.work(screen).await? {
                return Ok(end);
            }
        }
    }

    /// Runs the batch. `None` when the model should hear what came of it.
    async fn work(&mut self, screen: &mut dyn Screen) -> Result<Option<TurnEnd>> {
        screen.calls(self.driver.session.batch())?;
        let asked = self.ask_for_rounds().await?;
        self.offer_room();
        let end = self.driver.work().await?;
        if !self.driver.session.batch().is_finished() {
            return Ok(Some(TurnEnd::Waiting));
        }
        self.tell_results(screen)?;
        if end == End::Interrupted || asked == End::Interrupted {
            return Ok(Some(TurnEnd::Interrupted));
        }
        Ok(self.past_limit())
    }

    /// At a terminal the person may grant more rounds before the calls beyond the limit are refused.
    async fn ask_for_rounds(&mut self) -> Result<End> {
        let limit = self.driver.engine.core().limits.iterations_per_turn;
        let session = &self.driver.session;
        let allowed = session.iterations_allowed(limit);
        // Whoever has said no is not asked again in this turn.
        let is_first = session.iterations_beyond(limit) == 1;
        if limit == 0 || !is_first {
            return Ok(End::Answered);
        }
        self.driver.ask_for_rounds(allowed, limit).await
    }

    /// The note where the model was stopped at its limit of rounds.
    pub(crate) fn stopped(&self) -> String {
        let limit = self.driver.engine.core().limits.iterations_per_turn;
        format!("Stopped after {} tool rounds", self.driver.session.iterations_allowed(limit))
    }

    /// Past the limit the model is told so in place of results and goes on (FR-RES-03); one that calls
    /// tools all the same is stopped after a few rounds, because each costs a request.
    fn past_limit(&self) -> Option<TurnEnd> {
        let limit = self.driver.engine.core().limits.iterations_per_turn;
        let beyond = self.driver.session.iterations_beyond(limit);
        (beyond > REFUSED_ROUNDS).then_some(TurnEnd::Limit)
    }

    pub(crate) fn tell_results(&mut self, screen: &mut dyn Screen) -> Result<()> {
        screen.results(self.driver.session.batch())?;
        let workspace = &self.driver.engine.core().workspace;
        let touched = self.driver.session.freshness();
        for (name, text) in self.nested.touched(workspace, touched.paths()) {
            screen.note(&format!("Read project instructions: {name}"))?;
            self.system.push_str(&instructions::section(&name, &text));
        }
        self.driver.engine.answered(&self.driver.session, &mut self.conversation)?;
        Ok(())
    }

    async fn listen(&mut self, screen: &mut dyn Screen) -> Result<Listened> {
        let mut listening = Listening::default();
        let ended = self.take_in(&mut listening, screen).await?;
        let ending = match &ended {
            Ended::Interrupted => ResponseEnd::Cancelled,
            Ended::Over | Ended::Full { .. } | Ended::Broken(_) => ResponseEnd::Over,
        };
        let Driver { engine, session, .. } = &mut self.driver;
        let before = self.conversation.usage();
        let heard = engine.heard(session, &mut self.conversation, listening, ending)?;
        let used = used_since(before, self.conversation.usage());
        // Before anything is shown: a reader that is gone ends the program.
        engine.record_use(&heard, &self.model, used, self.client.cost(&used))?;
        screen.response_ends(used)?;
        if let Some(why) = self.client.recording_failure() {
            screen.note(&format!("recording stopped: {why}"))?;
        }
        Ok(match ended {
            Ended::Interrupted => Listened::Interrupted,
            // What came whole before the stream broke is answered; then the model goes on.
            Ended::Broken(error) if heard == HeardTurn::Asks => {
                screen.note(&format!("{error}; continuing with what came before"))?;
                Listened::HeardTurn(heard)
            }
            Ended::Broken(error) => Listened::Failed(error),
            Ended::Full { calls } => {
                screen.note(&format!(
                    "the model sent more than {calls} calls in one message; the rest was ignored"
                ))?;
                Listened::HeardTurn(heard)
            }
            Ended::Over => Listened::HeardTurn(heard),
        })
    }

    /// Takes a response in, event by event, to its end.
    async fn take_in(
        &mut self,
        listening: &mut Listening,
        screen: &mut dyn Screen,
    ) -> Result<Ended> {
        let cancel = Cancel::new();
        let span = tracing::info_span!("model_request", model = ?self.client.model());
        let mut stream = self.client.stream(self.request(), cancel.clone());
        let Driver { engine, session, interrupts, .. } = &mut self.driver;
        let ended = loop {
            let item = tokio::select! {
                biased;
                () = interrupts.next() => break Ended::Interrupted,
                item = stream.next() => item,
                // Nothing more is there for the moment.
                () = tokio::task::yield_now(), if listening.is_behind() => {
                    engine.record_received(listening)?;
                    continue;
                }
            };
            match item {
                Some(Ok(event)) => {
                    if matches!(event, StreamEvent::Text { .. } | StreamEvent::Thinking { .. }) {
                        // Words behind a call are not shown before it is on record.
                        engine.record_received(listening)?;
                    }
                    screen.event(&event)?;
                    match engine.hear(session, &mut self.conversation, listening, event)? {
                        Hearing::GoesOn => {}
                        Hearing::Full { calls } => break Ended::Full { calls },
                    }
                }
                Some(Err(error)) => break Ended::Broken(error),
                None => break Ended::Over,
            }
        };
        cancel.cancel();
        drop(span);
        Ok(ended)
    }

    fn request(&self) -> ModelRequest {
        self.parameter_layers.in_request(ModelRequest {
            system: self.system.clone(),
            messages: self.conversation.messages().clone(),
            tools: self.tools.clone(),
            conversation: Some(self.driver.session.id.to_string()),
            ..ModelRequest::default()
        })
    }

    /// Calls that wait for results go on waiting, in the journal.
    pub(crate) async fn close(self) -> Result<()> {
        self.driver.close(None).await
    }
}

/// A conversation speaks of the files where it began, and its tools work where it goes on.
fn moved(store: &Store, session: &SessionId, root: &Path) -> Result<Option<String>> {
    let view = store.session(session).map_err(sessions::told)?;
    let began = view.map(|view| view.root).filter(|began| began != root);
    Ok(began.map(|began| {
        format!(
            "this session started in {}; its tools now work in {}",
            began.display(),
            root.display()
        )
    }))
}

fn used_since(before: Usage, after: Usage) -> Usage {
    Usage {
        input: after.input - before.input,
        output: after.output - before.output,
        cache_read: after.cache_read - before.cache_read,
        cache_write: after.cache_write - before.cache_write,
        reasoning: after.reasoning - before.reasoning,
    }
}

/// The note on an answer that did not come to its own end.
fn not_whole(stop: &StopReason) -> Option<&'static str> {
    match stop {
        StopReason::MaxTokens => {
            Some("the answer was cut off at the token limit (raise with --max-tokens)")
        }
        StopReason::ContextWindow => Some("the answer was cut off: the model's context is full"),
        StopReason::Refusal => Some("the model refused to continue"),
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_) => None,
    }
}

fn silence() -> StreamError {
    StreamError::new(StreamErrorKind::Truncated, "the model gave an empty answer")
        .hint("rephrase the prompt, or try again")
}

/// The parameters that the flags ask of a model.
pub(crate) fn parameters(model: &Model) -> Parameters {
    use jm_providers::Thinking;
    let thinking = model.thinking.map(|level| match level {
        ThinkingLevel::Off => Thinking::Off,
        ThinkingLevel::Minimal => Thinking::Minimal,
        ThinkingLevel::Low => Thinking::Low,
        ThinkingLevel::Medium => Thinking::Medium,
        ThinkingLevel::High => Thinking::High,
        ThinkingLevel::Max => Thinking::Max,
    });
    Parameters {
        max_tokens: model.max_tokens,
        temperature: model.temperature,
        thinking,
        ..Parameters::default()
    }
}
