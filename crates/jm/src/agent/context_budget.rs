//! Room in the model's context: what results may take of it, and how it is made when it is full.

use anyhow::Result;
use futures_util::StreamExt;
use jm_engine::ContextEstimate;
use jm_providers::{ModelRequest, Parameters};
use jm_types::{Assembly, Cancel, Message, MessageRole, Messages, Part};

use super::{Agent, TurnEnd, silence};
use crate::faces::screen::Screen;

/// Of a model's context, how much may be full before room is made.
const FULL_PERCENT: usize = 80;
/// Tokens for an answer where nothing better is known, and for a summary.
const ANSWER_TOKENS: u32 = 8_192;

pub(super) const TOO_LONG: &str = "The context is full: compacting the conversation…";

const SUMMARY_PROMPT: &str = "\
The conversation has become too long. Write down, for yourself, what you need to go on: the task, what \
was decided, which files were read and changed and how, what is still open. Do not call tools.";

/// The model's context, in tokens.
struct Room {
    limit: usize,
    /// Kept free for the next answer.
    answer: usize,
    /// With more than this, room is made.
    full: usize,
}

impl Agent {
    /// Before the context is full, old results are let go; if that is not enough, the model writes
    /// down what it needs to know.
    pub(super) async fn make_room(&mut self, screen: &mut dyn Screen) -> Result<Option<TurnEnd>> {
        let Some(room) = self.room() else { return Ok(None) };
        let is_full = |agent: &Self| agent.tokens() > room.full;
        if is_full(self) && self.driver.engine.compact(&mut self.conversation, None)? > 0 {
            screen.note("Removed old tool results to free context")?;
        }
        if !is_full(self) || !self.conversation.has_past() {
            return Ok(None);
        }
        screen.note(TOO_LONG)?;
        self.summarize().await
    }

    /// The room for the results of the next batch (FR-REG-04b). They may fill the context up to what a
    /// summary needs: room for a longer answer is made before the next request.
    pub(super) fn offer_room(&self) {
        self.driver.engine.expect_context(self.room().map(|room| ContextEstimate {
            model_context_limit: room.limit,
            current_context_tokens: self.tokens(),
            response_reserve_tokens: room.answer.min(ANSWER_TOKENS as usize),
            safety_margin_tokens: room.limit / 50,
        }));
    }

    /// The tokens of the model's context that are used, and all that it has.
    pub(crate) fn context_use(&self) -> Option<(usize, usize)> {
        Some((self.tokens(), self.room()?.limit))
    }

    /// How much of the model's context is used.
    pub(crate) fn context_percent(&self) -> Option<u8> {
        let (used, limit) = self.context_use()?;
        let percent = used.saturating_mul(100) / limit.max(1);
        Some(u8::try_from(percent.min(100)).unwrap_or(100))
    }

    fn room(&self) -> Option<Room> {
        let limit = usize::try_from(self.client.info().context?).unwrap_or(usize::MAX);
        let answer = (self.answer_tokens() as usize).min(limit / 4);
        Some(Room { limit, answer, full: (limit / 100 * FULL_PERCENT).saturating_sub(answer) })
    }

    /// The most tokens that an answer may have: as asked for, or as the model can.
    fn answer_tokens(&self) -> u32 {
        let asked = self.parameter_layers.in_request(ModelRequest::default());
        let most = asked.parameters_for(self.client.provider()).max_tokens;
        most.or(self.client.info().output).unwrap_or(ANSWER_TOKENS)
    }

    /// Counts the head of every request too, as long as no vendor has counted.
    fn tokens(&self) -> usize {
        if self.conversation.is_counted() {
            self.conversation.tokens()
        } else {
            self.conversation.tokens() + self.head_tokens
        }
    }

    /// At the person's word, in a conversation in which something was said.
    pub(crate) async fn sum_up(&mut self, screen: &mut dyn Screen) -> Result<Option<TurnEnd>> {
        screen.note("Compacting the conversation…")?;
        self.summarize().await
    }

    /// The model writes down what it needs to know. Where that fails, what was said stays as it is,
    /// and that is how the turn ends.
    pub(super) async fn summarize(&mut self) -> Result<Option<TurnEnd>> {
        // The context may be full but for what a summary needs, and some vendors refuse a request
        // that could have a longer answer.
        let most = self.answer_tokens().min(ANSWER_TOKENS);
        let short = Parameters { max_tokens: Some(most), ..Parameters::default() };
        let mut request = self.parameter_layers.beneath(&short).in_request(self.request());
        ask_for_summary(&mut request.messages);
        let mut stream = self.client.stream(request, Cancel::new());
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
}

fn ask_for_summary(messages: &mut Messages) {
    match messages.last_mut() {
        Some(last) if last.role == MessageRole::User => {
            last.parts.push(Part::text(SUMMARY_PROMPT));
        }
        _ => messages.push(Message::user(SUMMARY_PROMPT)),
    }
}
