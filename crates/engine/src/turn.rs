//! A model's turn: heard piece by piece, remembered as one message, its calls made a batch.
//!
//! Law: a call is in the journal, with the words before it, before anything else is done with it
//! (FR-RES-04a), and whatever cuts a turn short, what remains is a conversation that every vendor
//! accepts.

use std::collections::HashSet;

use jm_store::{MessageRecord as Remembered, Record, Speaker};
use jm_types::{
    Assembly, BatchNumber, Cut, CutCall, Message, MessageRole, Part, StopReason, StreamEvent,
    ToolCall, ToolError, ToolResult, Usage,
};
use serde_json::{Value, json};

use crate::batch::{CallStatus, Journaled};
use crate::commands_ahead;
use crate::conversation::Conversation;
use crate::engine::Engine;
use crate::reply;
use crate::run::cancel_rest;
use crate::session::Session;
use crate::undo::prompts::Prompts;
use crate::undo::undone_note;

/// One response that is coming in.
#[derive(Debug, Default)]
pub struct Listening {
    assembly: Assembly,
    /// The places in the message of the calls that came, in the order in which they came.
    places: Vec<usize>,
    /// The places of the parts that the journal has: calls, and what was said before them.
    recorded: HashSet<usize>,
    has_begun: bool,
    /// Calls have come that are not on the disk yet.
    is_behind: bool,
}

/// Calls of one message that are taken in at the most, unless more of them may run.
const RECEIVED_CALLS: usize = 256;

/// How listening goes on after a piece of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Hearing {
    /// More events may come.
    GoesOn,
    /// The message has as many calls as are taken in; what else comes is not to be read.
    Full {
        /// Calls that were taken before.
        calls: usize,
    },
}

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseEnd {
    /// The model said so, or the stream was cut: what is whole counts.
    Over,
    /// The person stopped it: nothing of it runs.
    Cancelled,
}

/// The outcome of a model's turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeardTurn {
    /// It asks for tools; the session holds the calls.
    Asks,
    /// It has said what it had to say.
    Spoke(Option<StopReason>),
    /// It said nothing at all.
    Nothing,
}

impl Listening {
    /// Tells whether calls have come that wait for [`Engine::record_received`].
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Takes the words before the call at this place that are not on record yet.
    fn take_said(&mut self, index: usize) -> Result<Vec<Value>, ToolError> {
        self.recorded.insert(index);
        let mut said = Vec::new();
        for (place, part) in self.assembly.said_before(index) {
            if self.recorded.insert(place) {
                said.push(part_as_data(&part)?);
            }
        }
        Ok(said)
    }
}

impl Engine {
    /// The person speaks. It is on record before anybody answers.
    pub fn prompt(
        &self,
        session: &mut Session,
        conversation: &mut Conversation,
        parts: Vec<Part>,
    ) -> Result<(), ToolError> {
        session.begin_turn();
        let note = self.undone_since_last_prompt(session)?;
        self.remember(Speaker::User, parts_as_data(&parts)?, None)?;
        // The records of the undos say it once more when the conversation is read back.
        conversation.prompt(note.map(Part::text).into_iter().chain(parts).collect());
        self.core().recorder.flush()
    }

    /// The note to the model on what was undone since somebody last spoke.
    fn undone_since_last_prompt(&self, session: &Session) -> Result<Option<String>, ToolError> {
        let Some(journal) = self.core().recorder.journal() else { return Ok(None) };
        self.core().recorder.flush()?;
        let (store, id) = (journal.store(), &session.id);
        let noted = || {
            let last = Prompts::of(store, id)?.list().last().map_or(0, |prompt| prompt.seq);
            undone_note(store, id, (last, i64::MAX))
        };
        noted().map_err(|error| ToolError::failed("turn", error.to_string()))
    }

    /// The next piece of a response.
    pub fn hear(
        &self,
        session: &mut Session,
        conversation: &mut Conversation,
        listening: &mut Listening,
        event: StreamEvent,
    ) -> Result<Hearing, ToolError> {
        // A request that is sent again was not heard yet.
        let begins = !listening.has_begun && !matches!(event, StreamEvent::Retrying { .. });
        listening.has_begun |= begins;
        if begins && let Some(batch) = conversation.take_undelivered() {
            self.core().recorder.say_delivered(batch);
        }
        if let StreamEvent::CallStarted { name, .. } = &event {
            let earlier = session.batch().entries.iter().rev().take(listening.places.len());
            let earlier = earlier.map(|entry| &entry.call);
            commands_ahead::command_begins(&self.core_arc(), name, earlier);
        }
        let sealed = match &event {
            // A vendor that seals a call twice has still asked once.
            StreamEvent::CallSealed { index, .. } if !listening.recorded.contains(index) => {
                Some(*index)
            }
            _ => None,
        };
        let most = RECEIVED_CALLS.max(self.core().limits.calls_per_batch);
        if sealed.is_some() && listening.places.len() >= most {
            return Ok(Hearing::Full { calls: most });
        }
        listening.assembly.push(event);
        let whole = |index| Some((index, listening.assembly.sealed(index)?.clone()));
        if let Some((index, call)) = sealed.and_then(whole) {
            self.receive(session, listening, index, call)?;
        }
        Ok(Hearing::GoesOn)
    }

    fn receive(
        &self,
        session: &mut Session,
        listening: &mut Listening,
        index: usize,
        call: ToolCall,
    ) -> Result<(), ToolError> {
        if listening.places.is_empty() {
            session.begin_batch().map_err(|error| ToolError::failed("turn", error.to_string()))?;
        }
        listening.places.push(index);
        let said = listening.take_said(index)?;
        let number = session.batch().number;
        let entry = session.receive(call);
        self.core().recorder.say_received(number, entry, said);
        entry.journaled = Journaled::Call;
        listening.is_behind = true;
        Ok(())
    }

    /// Writes down the calls that came: before anybody waits for more, and before anything is done with them.
    pub fn record_received(&self, listening: &mut Listening) -> Result<(), ToolError> {
        if std::mem::take(&mut listening.is_behind) {
            self.core().recorder.received()?;
        }
        Ok(())
    }

    /// The response has ended. What it said is one message from here on; [`Self::record_use`] comes next.
    pub fn heard(
        &self,
        session: &mut Session,
        conversation: &mut Conversation,
        listening: Listening,
        ending: ResponseEnd,
    ) -> Result<HeardTurn, ToolError> {
        let Listening { assembly, places, .. } = listening;
        let turn = assembly.finish();
        self.shape(session);
        conversation.used(turn.usage);
        session.batch_mut().put_in_order(&places);
        let mut message = turn.message;
        let cut = turn.cut.into_iter().filter(|cut| cut.why == Cut::Limit);
        for CutCall { call, .. } in cut {
            // The vendor may have sealed it all the same; then the session has it as its last.
            let is_received = places.len() > message.calls().count();
            self.refuse_cut(session, &call, is_received)?;
            let call = ToolCall { arguments: "{}".to_owned(), ..call };
            message.parts.push(Part::Call { call, native: None });
        }
        if !has_substance(&message) {
            return Ok(HeardTurn::Nothing);
        }
        let asks = message.calls().next().is_some();
        name_the_nameless(&mut message, session);
        let batch = asks.then(|| session.batch().number);
        self.remember(Speaker::Assistant, parts_as_data(&message.parts)?, batch)?;
        conversation.spoke(message);
        if asks {
            self.core().recorder.received()?;
        }
        match (asks, ending) {
            (false, _) => Ok(HeardTurn::Spoke(turn.stop)),
            (true, ResponseEnd::Over) => Ok(HeardTurn::Asks),
            (true, ResponseEnd::Cancelled) => {
                cancel_rest(self.core(), session);
                self.answered(session, conversation)?;
                Ok(HeardTurn::Spoke(None))
            }
        }
    }

    /// Records which model answered, what it took and what that cost in US dollars. Behind calls it goes with what comes
    /// of them; otherwise the answer is on the disk with it.
    pub fn record_use(
        &self,
        heard: &HeardTurn,
        model: &str,
        usage: Usage,
        dollars: Option<f64>,
    ) -> Result<(), ToolError> {
        // Rounded, and never negative: `as` saturates.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let cost = dollars.map(|dollars| (dollars * 1e6).round() as u64);
        let used = Record::Used { model: model.to_owned(), usage, cost };
        self.core().recorder.say_used(used);
        match heard {
            HeardTurn::Asks => Ok(()),
            HeardTurn::Spoke(_) | HeardTurn::Nothing => self.core().recorder.flush(),
        }
    }

    /// Names the session.
    pub fn rename(&self, title: &str) -> Result<(), ToolError> {
        self.core().recorder.records(vec![Record::Titled { title: title.trim().to_owned() }])
    }

    /// A call whose end the limit of tokens cut away: it gets its one result, and never runs.
    fn refuse_cut(
        &self,
        session: &mut Session,
        call: &ToolCall,
        is_received: bool,
    ) -> Result<(), ToolError> {
        if !is_received {
            if session.batch().is_finished() {
                let begun = session.begin_batch();
                begun.map_err(|error| ToolError::failed("turn", error.to_string()))?;
            }
            session.receive(call.clone());
        }
        let error = ToolError::bad_args(
            "the response reached its limit of tokens inside this call, so it is incomplete",
        )
        .hint("make the call again in several smaller steps");
        let form = session.form();
        if let Some(entry) = session.batch_mut().entries.last_mut() {
            entry.status = CallStatus::Done(reply::refused(form, &entry.call, &error));
        }
        Ok(())
    }

    /// Takes a result that was produced outside (FR-MODE-02). It is limited and on record like any other
    /// (FR-OUT-04, FR-RES-04b).
    pub fn supply(
        &self,
        session: &mut Session,
        call_id: &str,
        content: String,
    ) -> Result<(), ToolError> {
        self.shape(session);
        let core = self.core();
        let whole = content.clone();
        let place = session
            .supply(call_id, content)
            .map_err(|error| ToolError::failed("turn", error.to_string()))?;
        let batch = session.batch();
        let entry = &batch.entries[place];
        let kept = entry.result().map_or(0, |result| result.content.len());
        let is_cut = kept < whole.len();
        let output = is_cut.then(|| core.recorder.keep_text(&entry.key, &whole)).flatten();
        core.recorder.finished(batch, entry, Vec::new(), output)?;
        core.take_capacity(kept);
        session.batch_mut().entries[place].journaled = Journaled::Result;
        Ok(())
    }

    /// Nobody supplies results any more: what still waits was not run, and the conversation says so.
    pub fn leave_waiting(
        &self,
        session: &mut Session,
        conversation: &mut Conversation,
    ) -> Result<(), ToolError> {
        if session.batch().is_finished() {
            return Ok(());
        }
        self.refuse_waiting(session)?;
        self.answered(session, conversation)
    }

    /// Answers calls that wait for results from outside as not run, on record.
    pub fn refuse_waiting(&self, session: &mut Session) -> Result<(), ToolError> {
        if !session.batch().awaits_results() {
            return Ok(());
        }
        session.refuse_waiting();
        let batch = session.batch();
        self.core().recorder.answered(batch, &batch.unrecorded())?;
        session.batch_mut().note_recorded();
        Ok(())
    }

    /// The results of the batch are what is said next (FR-RES-01).
    pub fn answered(
        &self,
        session: &Session,
        conversation: &mut Conversation,
    ) -> Result<(), ToolError> {
        let results: Vec<ToolResult> = session
            .results()
            .ok_or_else(|| ToolError::failed("turn", "a call has no result yet"))?
            .into_iter()
            .cloned()
            .collect();
        conversation.answered(session.batch().number, &results);
        Ok(())
    }

    /// Makes room in the model's context; the whole stays in the journal. `None` where old results
    /// are enough, a summary of what was said otherwise.
    pub fn compact(
        &self,
        conversation: &mut Conversation,
        summary: Option<&str>,
    ) -> Result<usize, ToolError> {
        let before = conversation.tokens();
        match summary {
            Some(summary) => conversation.summarize(summary),
            None if conversation.shorten_results(RECENT_MESSAGES) == 0 => return Ok(0),
            None => {}
        }
        let history = json!({ "history": conversation.messages() });
        self.remember(Speaker::System, history, None)?;
        self.core().recorder.flush()?;
        Ok(before.saturating_sub(conversation.tokens()))
    }

    fn remember(
        &self,
        role: Speaker,
        content: Value,
        batch: Option<BatchNumber>,
    ) -> Result<(), ToolError> {
        self.core().recorder.say(Remembered { role, content, batch })
    }
}

/// Results younger than this many messages are never shortened.
const RECENT_MESSAGES: usize = 6;

/// A thought alone is no answer, and vendors refuse a message without words or calls.
fn has_substance(message: &Message) -> bool {
    message.parts.iter().any(|part| match part {
        Part::Text { text, .. } => !text.trim().is_empty(),
        Part::Call { .. } | Part::Opaque { .. } => true,
        Part::Thinking { .. } | Part::Image { .. } | Part::Result { .. } => false,
    })
}

/// Some servers give calls no id; the session has given them one. Where it gave another than the
/// vendor's, the vendor's own item does not fit any more.
fn name_the_nameless(message: &mut Message, session: &Session) {
    let calls = message.parts.iter_mut().filter_map(|part| match part {
        Part::Call { call, native } => Some((call, native)),
        _ => None,
    });
    for ((call, native), entry) in calls.zip(&session.batch().entries) {
        if !call.id.is_empty() && call.id != entry.call.id {
            *native = None;
        }
        call.id.clone_from(&entry.call.id);
    }
}

fn parts_as_data(parts: &[Part]) -> Result<Value, ToolError> {
    parts.iter().map(part_as_data).collect::<Result<Vec<Value>, _>>().map(Value::Array)
}

fn part_as_data(part: &Part) -> Result<Value, ToolError> {
    serde_json::to_value(part).map_err(|error| ToolError::failed("turn", error.to_string()))
}

/// A message as the journal has it.
pub(crate) fn from_data(role: MessageRole, content: Value) -> Option<Message> {
    serde_json::from_value(content).ok().map(|parts| Message { role, parts })
}
