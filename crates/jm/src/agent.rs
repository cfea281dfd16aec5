//! The agent's loop: ask the model, run what it asks for, tell it what came of it, until it is done.
//!
//! Law: whatever stops it, the conversation it leaves is one that every vendor accepts, and what it
//! did is on record.

use std::path::Path;

use anyhow::Result;
use futures_util::StreamExt;
use jm_engine::conversation::tokens_of;
use jm_engine::{ContextEstimate, Conversation, Ending, Heard, Listening, recall};
use jm_providers::{Client, Parameters, Request, Tools, Voice, Wishes};
use jm_store::Store;
use jm_types::{
    Assembly, Cancel, Message, Messages, Part, StopReason, StreamError, StreamErrorKind, Usage,
};

use crate::cli::{Common, Model, ThinkingLevel};
use crate::faces::drive::{Driver, End};
use crate::faces::screen::Screen;
use crate::instructions::{self, Instructions};
use crate::{sessions, voices};

/// Of a model's context, how much may be full before room is made.
const FULL_PERCENT: usize = 80;
/// What an answer may need where nobody knows better.
const ANSWER_TOKENS: usize = 8_192;

const TOO_LONG: &str = "the conversation has become too long; the model sums it up";

const SUMMARY_PROMPT: &str = "\
The conversation has become too long. Write down, for yourself, what you need to go on: the task, what \
was decided, which files were read and changed and how, what is still open. Do not call tools.";

pub(crate) struct Agent {
    pub(crate) driver: Driver,
    pub(crate) conversation: Conversation,
    voice: Client,
    system: String,
    tools: Tools,
    wishes: Wishes,
    /// What the instructions and the tools take, by our own count.
    head_tokens: usize,
    /// What a person should know before the first word.
    pub(crate) notes: Vec<String>,
}

/// The model's context, in tokens.
struct Room {
    limit: usize,
    /// Kept free for the next answer.
    answer: usize,
    /// With more than this, room is made.
    full: usize,
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

enum Listened {
    Heard(Heard),
    Interrupted,
    Failed(StreamError),
}

impl Agent {
    /// Must be called inside the runtime.
    pub(crate) async fn open(common: &Common, model: &Model) -> Result<Self> {
        // The whole history is written anew for each request.
        jm_workspace::memory::expect_peaks();
        let common = Common { max_iterations: model.max_iterations, ..common.clone() };
        let voice = voices::open(&common, model).await?;
        let driver = Driver::new(&common)?;
        let core = driver.engine.core();
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
        let wishes = voice.wishes().beneath(&parameters(model));
        let (tools, head_tokens) = (Tools::default(), 0);
        Ok(Self { driver, conversation, voice, system, tools, wishes, head_tokens, notes })
    }

    pub(crate) fn voice(&self) -> &Client {
        &self.voice
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

    /// Tools may come and go while the program runs; within a turn they stay.
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
                Listened::Heard(Heard::Asks) => was_too_long = false,
                Listened::Heard(Heard::Spoke(stop)) => {
                    if let Some(note) = stop.as_ref().and_then(not_whole) {
                        screen.note(note)?;
                    }
                    return Ok(TurnEnd::Finished);
                }
                Listened::Heard(Heard::Nothing) => return Ok(TurnEnd::Failed(silence())),
                Listened::Interrupted => return Ok(TurnEnd::Interrupted),
                Listened::Failed(error)
                    if error.kind == StreamErrorKind::ContextTooLong && !was_too_long =>
                {
                    was_too_long = true;
                    // Without old results there is room for the question itself.
                    self.driver.engine.compact(&mut self.conversation, None)?;
                    screen.note(TOO_LONG)?;
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
        self.offer_room();
        let end = self.driver.work().await?;
        if !self.driver.session.batch().is_finished() {
            return Ok(Some(TurnEnd::Waiting));
        }
        self.tell_results(screen)?;
        if end == End::Interrupted {
            return Ok(Some(TurnEnd::Interrupted));
        }
        // Past the limit the model is told so once, in place of results (FR-RES-03); then it is over.
        let limit = self.driver.engine.core().limits.iterations_per_turn;
        Ok((self.driver.session.iterations() > limit + 1).then_some(TurnEnd::Limit))
    }

    pub(crate) fn tell_results(&mut self, screen: &mut dyn Screen) -> Result<()> {
        screen.results(self.driver.session.batch())?;
        self.driver.engine.answered(&self.driver.session, &mut self.conversation)?;
        Ok(())
    }

    async fn listen(&mut self, screen: &mut dyn Screen) -> Result<Listened> {
        let cancel = Cancel::new();
        let mut stream = self.voice.stream(self.request(), cancel.clone());
        let Driver { engine, session, interrupts, .. } = &mut self.driver;
        let conversation = &mut self.conversation;
        let mut listening = Listening::default();
        let mut failure = None;
        let ending = loop {
            let item = tokio::select! {
                biased;
                () = interrupts.next() => break Ending::Cancelled,
                item = stream.next() => item,
            };
            match item {
                Some(Ok(event)) => {
                    screen.event(&event)?;
                    engine.hear(session, conversation, &mut listening, event)?;
                }
                Some(Err(error)) => {
                    failure = Some(error);
                    break Ending::Over;
                }
                None => break Ending::Over,
            }
        };
        cancel.cancel();
        drop(stream);
        let before = conversation.usage();
        let heard = engine.heard(session, conversation, listening, ending)?;
        screen.response_ends(used_since(before, conversation.usage()))?;
        if let Some(why) = self.voice.recording_failure() {
            screen.note(&format!("the recording stops here: {why}"))?;
        }
        Ok(match (ending, failure) {
            (Ending::Cancelled, _) => Listened::Interrupted,
            // What came whole before the stream broke is answered; then the model goes on.
            (Ending::Over, Some(error)) if heard == Heard::Asks => {
                screen.note(&format!("{error}; going on with what came before"))?;
                Listened::Heard(heard)
            }
            (Ending::Over, Some(error)) => Listened::Failed(error),
            (Ending::Over, None) => Listened::Heard(heard),
        })
    }

    fn request(&self) -> Request {
        self.wishes.in_request(Request {
            system: self.system.clone(),
            messages: self.conversation.messages().clone(),
            tools: self.tools.clone(),
            conversation: Some(self.driver.session.id.clone()),
            ..Request::default()
        })
    }

    /// Before the context is full, old results are let go; if that is not enough, the model writes
    /// down what it needs to know.
    async fn make_room(&mut self, screen: &mut dyn Screen) -> Result<Option<TurnEnd>> {
        let Some(room) = self.room() else { return Ok(None) };
        let is_full = |agent: &Self| agent.tokens() > room.full;
        if is_full(self) && self.driver.engine.compact(&mut self.conversation, None)? > 0 {
            screen.note("the results of old calls were taken out to make room")?;
        }
        if !is_full(self) || !self.conversation.has_past() {
            return Ok(None);
        }
        screen.note(TOO_LONG)?;
        self.summarize().await
    }

    /// What the results of the next batch may take (FR-REG-04b). They may fill the context; then room
    /// is made before the next request.
    fn offer_room(&self) {
        self.driver.engine.expect_context(self.room().map(|room| ContextEstimate {
            model_context_limit: room.limit,
            current_context_tokens: self.tokens(),
            response_reserve_tokens: room.answer,
            safety_margin_tokens: room.limit / 50,
        }));
    }

    fn room(&self) -> Option<Room> {
        let info = self.voice.info();
        let limit = usize::try_from(info.context?).unwrap_or(usize::MAX);
        let wished = self.wishes.in_request(Request::default());
        let most = wished.parameters_for(self.voice.provider()).max_tokens;
        let answer = most.or(info.output).map(|tokens| tokens as usize);
        let answer = answer.unwrap_or(ANSWER_TOKENS).min(limit / 4);
        Some(Room { limit, answer, full: (limit / 100 * FULL_PERCENT).saturating_sub(answer) })
    }

    /// Where no vendor has counted yet, what every request begins with is counted too.
    fn tokens(&self) -> usize {
        match self.conversation.is_counted() {
            true => self.conversation.tokens(),
            false => self.conversation.tokens() + self.head_tokens,
        }
    }

    /// At the person's word, in a conversation in which something was said.
    pub(crate) async fn sum_up(&mut self, screen: &mut dyn Screen) -> Result<Option<TurnEnd>> {
        screen.note("the model sums the conversation up")?;
        self.summarize().await
    }

    /// The model writes down what it needs to know. Where that fails, what was said stays as it is,
    /// and that is how the turn ends.
    async fn summarize(&mut self) -> Result<Option<TurnEnd>> {
        let mut request = self.request();
        ask_for_summary(&mut request.messages);
        let mut stream = self.voice.stream(request, Cancel::new());
        let mut assembly = Assembly::new();
        loop {
            let item = tokio::select! {
                biased;
                () = self.driver.interrupts.next() => return Ok(Some(TurnEnd::Interrupted)),
                item = stream.next() => item,
            };
            match item {
                Some(Ok(event)) => assembly.push(event),
                Some(Err(error)) => return Ok(Some(TurnEnd::Failed(error))),
                None => break,
            }
        }
        let turn = assembly.finish();
        self.conversation.used(turn.usage);
        let summary = turn.message.text();
        if summary.trim().is_empty() {
            return Ok(Some(TurnEnd::Failed(silence())));
        }
        self.driver.engine.compact(&mut self.conversation, Some(&summary))?;
        Ok(None)
    }

    pub(crate) async fn close(mut self) -> Result<()> {
        let Driver { engine, session, .. } = &mut self.driver;
        engine.leave_waiting(session, &mut self.conversation)?;
        self.driver.close(None).await
    }
}

/// A conversation speaks of the files where it began, and its tools work where it goes on.
fn moved(store: &Store, session: &str, root: &Path) -> Result<Option<String>> {
    let view = store.session(session).map_err(sessions::told)?;
    let began = view.map(|view| view.root).filter(|began| began != root);
    Ok(began.map(|began| {
        format!(
            "this session began in {}; here its tools work in {}",
            began.display(),
            root.display()
        )
    }))
}

fn ask_for_summary(messages: &mut Messages) {
    match messages.last_mut() {
        Some(last) if last.role == jm_types::Role::User => {
            last.parts.push(Part::text(SUMMARY_PROMPT));
        }
        _ => messages.push(Message::user(SUMMARY_PROMPT)),
    }
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

/// What a person should know of an answer that did not come to its own end.
fn not_whole(stop: &StopReason) -> Option<&'static str> {
    match stop {
        StopReason::MaxTokens => Some(
            "the answer reached its limit of tokens and is cut off; --max-tokens sets the limit",
        ),
        StopReason::ContextWindow => Some("the answer filled the model's context and is cut off"),
        StopReason::Refusal => Some("the model refused to say more"),
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_) => None,
    }
}

fn silence() -> StreamError {
    StreamError::new(StreamErrorKind::Truncated, "the model said nothing")
        .hint("say something more, or try again")
}

fn parameters(model: &Model) -> Parameters {
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
