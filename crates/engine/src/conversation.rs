//! A conversation with a model: what was said, in an order that every vendor accepts.
//!
//! Law: the sides take turns, and every call has exactly one result, in call order, in the message
//! after it.

use jm_types::{BatchNumber, Message, MessageRole, Messages, Part, ToolResult, Usage};
use serde::{Deserialize, Serialize};

/// Fewer bytes a token than any text has, so that an estimate errs on the safe side.
const BYTES_PER_TOKEN: usize = 3;
/// The most bytes of the note that stands for a shortened result.
const SHORT_RESULT: usize = 256;

/// The model's last calls and their results stay beside a summary.
const LAST_ROUND: usize = 2;

/// All that must be told to the model, and what telling it has used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    messages: Messages,
    /// Of all responses together.
    usage: Usage,
    /// How large the model's context was after its last response.
    context_tokens: u64,
    /// Bytes that were added since.
    added_bytes: usize,
    /// The batch whose results the model has not been given yet.
    undelivered: Option<BatchNumber>,
}

impl Conversation {
    /// One that goes on. Nobody has counted its tokens yet.
    pub fn of(messages: Vec<Message>) -> Self {
        let added_bytes = messages.iter().map(bytes).sum();
        Self { messages: messages.into(), added_bytes, ..Self::default() }
    }

    /// All messages in order.
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// Tokens of all answers together.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// A careful guess at the tokens that the next request will have.
    pub fn tokens(&self) -> usize {
        let counted = usize::try_from(self.context_tokens).unwrap_or(usize::MAX);
        counted.saturating_add(tokens_of(self.added_bytes))
    }

    /// Tells if `tokens` is, but for what was added since, a vendor's own count, which includes what
    /// every request begins with.
    pub fn is_counted(&self) -> bool {
        self.context_tokens > 0
    }

    /// The person's words. After an answer that never came they join what was said before.
    pub(crate) fn prompt(&mut self, parts: Vec<Part>) {
        self.add(Message { role: MessageRole::User, parts });
    }

    pub(crate) fn spoke(&mut self, message: Message) {
        self.add(message);
    }

    pub(crate) fn answered(&mut self, batch: BatchNumber, results: &[ToolResult]) {
        self.add(Message::results(results));
        self.undelivered = Some(batch);
    }

    /// Once, when the model begins to answer.
    pub(crate) fn take_undelivered(&mut self) -> Option<BatchNumber> {
        self.undelivered.take()
    }

    /// Counts the tokens that a response took.
    pub fn used(&mut self, usage: Usage) {
        self.usage += usage;
        if usage.context() > 0 {
            self.context_tokens = usage.context();
            self.added_bytes = 0;
        }
    }

    fn add(&mut self, message: Message) {
        self.added_bytes += bytes(&message);
        match self.messages.last_mut() {
            Some(last) if last.role == message.role => last.parts.extend(message.parts),
            _ => self.messages.push(message),
        }
    }

    /// Takes the content out of all results but those of the last `keep` messages. Says how many
    /// bytes that gave back.
    pub(crate) fn shorten_results(&mut self, keep: usize) -> usize {
        let old = self.messages.len().saturating_sub(keep);
        let mut saved = 0;
        for part in self.messages[..old].iter_mut().flat_map(|message| &mut message.parts) {
            let Part::Result { content, .. } = part else { continue };
            if content.len() > SHORT_RESULT {
                let note = format!(
                    "[{} bytes were removed to free context; make the call again if you need them]",
                    content.len()
                );
                saved += content.len() - note.len();
                *content = note;
            }
        }
        if saved > 0 {
            self.recount();
        }
        saved
    }

    /// Tells if there is anything before the person's last words and the model's last round.
    pub fn has_past(&self) -> bool {
        let begins = self.last_prompt();
        begins > 0 || self.messages.len() - begins > 1 + LAST_ROUND
    }

    /// Puts a summary in the place of what was said. The person's last words stay, and the model's last calls
    /// with their results.
    pub(crate) fn summarize(&mut self, summary: &str) {
        let begins = self.last_prompt();
        let mut kept = self.messages.split_off(begins);
        // Before a message of the model's own, so that no result loses its call.
        let is_recent =
            |at: &usize| kept.len() - at <= LAST_ROUND && kept[*at].role == MessageRole::Assistant;
        let recent = (1..kept.len()).find(is_recent).unwrap_or(kept.len());
        kept.drain(1..recent.max(1));
        let heading = "What happened so far, in short:\n\n";
        let summary = Part::text(format!("{heading}{summary}"));
        match kept.first_mut() {
            // Results that stand before the person's words answer calls that are summed up.
            Some(first) => {
                first.parts.retain(is_said);
                first.parts.insert(0, summary);
            }
            None => kept.push(Message { role: MessageRole::User, parts: vec![summary] }),
        }
        self.messages = kept.into();
        self.recount();
    }

    fn last_prompt(&self) -> usize {
        let is_prompt = |message: &Message| {
            message.role == MessageRole::User && message.parts.iter().any(is_said)
        };
        self.messages.iter().rposition(is_prompt).unwrap_or(self.messages.len())
    }

    fn recount(&mut self) {
        self.context_tokens = 0;
        self.added_bytes = self.messages.iter().map(bytes).sum();
    }
}

/// The person's own words and pictures.
fn is_said(part: &Part) -> bool {
    !matches!(part, Part::Result { .. })
}

/// A careful guess.
pub fn tokens_of(bytes: usize) -> usize {
    bytes / BYTES_PER_TOKEN
}

fn bytes(message: &Message) -> usize {
    let size = |part: &Part| match part {
        Part::Text { text, .. } | Part::Thinking { text, .. } => text.len(),
        // Vendors count an image by its pixels, about this much at most.
        Part::Image { .. } => 1_600 * BYTES_PER_TOKEN,
        Part::Call { call, .. } => call.name.len() + call.arguments.len(),
        Part::Result { content, .. } => content.len(),
        Part::Opaque { native } => native.raw.len(),
    };
    message.parts.iter().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(content: &str) -> ToolResult {
        ToolResult {
            call_id: "c".to_owned(),
            name: "t".to_owned(),
            content: content.to_owned(),
            display: String::new(),
            error: None,
        }
    }

    /// GO-STREAM: two messages for a plain turn, four with tools.
    #[test]
    fn history_grows_by_two_and_by_four() {
        let mut conversation = Conversation::default();
        conversation.prompt(vec![Part::text("hello")]);
        conversation.spoke(Message::assistant("hi"));
        assert_eq!(conversation.messages().len(), 2);
        conversation.prompt(vec![Part::text("list")]);
        conversation.spoke(Message::assistant("I look"));
        conversation.answered(1.into(), &[result("a"), result("b")]);
        conversation.spoke(Message::assistant("done"));
        assert_eq!(conversation.messages().len(), 6);
    }

    #[test]
    fn a_prompt_after_no_answer_joins_the_one_before() {
        let mut conversation = Conversation::default();
        conversation.prompt(vec![Part::text("one")]);
        conversation.prompt(vec![Part::text("two")]);
        assert_eq!(conversation.messages().len(), 1);
        assert_eq!(conversation.messages()[0].parts.len(), 2);
    }

    #[test]
    fn a_summary_takes_the_place_of_old_turns_only() {
        let mut conversation = Conversation::default();
        for n in 0..3 {
            conversation.prompt(vec![Part::text(format!("prompt {n}"))]);
            conversation.spoke(Message::assistant("I look"));
            conversation.answered(n.into(), &[result(&"x".repeat(1000))]);
        }
        let before = conversation.tokens();
        assert!(conversation.has_past());
        conversation.summarize("we looked twice");
        assert_eq!(conversation.messages().len(), 3);
        let text = conversation.messages()[0].text();
        assert!(text.contains("we looked twice") && text.ends_with("prompt 2"), "{text}");
        assert!(conversation.tokens() < before);
    }

    #[test]
    fn a_summary_takes_the_place_of_the_beginning_of_a_long_turn() {
        let mut conversation = Conversation::default();
        conversation.prompt(vec![Part::text("go")]);
        for n in 0..5 {
            conversation.spoke(Message::assistant(format!("I look {n}")));
            conversation.answered(n.into(), &[result(&n.to_string())]);
        }
        assert!(conversation.has_past());
        conversation.summarize("much");
        let messages = conversation.messages();
        let texts: Vec<String> = messages.iter().map(Message::text).collect();
        assert_eq!(texts[1..], ["I look 4", ""]);
        assert!(texts[0].contains("much") && texts[0].ends_with("go"), "{texts:?}");
        assert!(messages.windows(2).all(|two| two[0].role != two[1].role));
        assert!(!conversation.has_past());
    }

    #[test]
    fn old_results_are_shortened_and_new_ones_kept() {
        let mut conversation = Conversation::default();
        conversation.prompt(vec![Part::text("go")]);
        for n in 0..2 {
            conversation.spoke(Message::assistant("I look"));
            conversation.answered(n.into(), &[result(&"x".repeat(1000))]);
        }
        assert!(conversation.shorten_results(2) > 800);
        let content = |index: usize| match &conversation.messages()[index].parts[0] {
            Part::Result { content, .. } => content.len(),
            other => panic!("{other:?}"),
        };
        assert!(content(2) < 200);
        assert_eq!(content(4), 1000);
        assert_eq!(conversation.clone().shorten_results(2), 0);
    }
}
