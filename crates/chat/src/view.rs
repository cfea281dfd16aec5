//! A document as a conversation: the messages that providers take.
//!
//! Law: results are given as the bytes between their fences, and searched for nothing.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jm_types::{Message, MessageRole, Native, Part, ToolCall};

use crate::block::{BlockKind, ChatBlock, ChatRole, ThinkingBlock};
use crate::call::AnswerState;
use crate::document::ChatDocument;
use crate::escape::{plain_text, unescape};
use crate::link::CallLink;
use crate::reference::{FileReference, references};
use crate::write::{redacted_item, thought_item};

/// The result of a call that has none, so that no vendor refuses the conversation.
pub const NO_RESULT: &str = "No result provided";

/// A conversation, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChatView {
    /// The last `@System:` message.
    pub system: Option<String>,
    /// The conversation without the instructions.
    pub messages: Vec<Message>,
    /// The ids of calls without a result. Nothing should be sent while there is one.
    pub missing: Vec<String>,
}

/// The sources of a view beside the document itself.
pub struct ViewSources<'a> {
    /// The provider and model that the conversation is for.
    pub provider: &'a str,
    /// The model's name at its provider.
    pub model: &'a str,
    /// The vendor's own item of a call, from the journal.
    pub native_of_call: &'a dyn Fn(&ToolCall) -> Option<Native>,
    /// The parts that stand for a file; `None` leaves the reference in the text.
    pub file: &'a dyn Fn(&FileReference) -> Option<Vec<Part>>,
}

impl std::fmt::Debug for ViewSources<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "ViewSources({}/{})", self.provider, self.model)
    }
}

impl<'a> ViewSources<'a> {
    /// Sources of a provider and model that know neither journal nor files.
    pub fn bare(provider: &'a str, model: &'a str) -> Self {
        Self { provider, model, native_of_call: &|_| None, file: &|_| None }
    }
}

impl ChatDocument {
    /// The document as messages. Empty ones are left out, and what you say in several sections is one.
    pub fn view(&self, sources: &ViewSources<'_>) -> ChatView {
        let mut view = ChatView::default();
        let mut calls: &[CallLink] = &[];
        let mut rest = self.links();
        for (number, section) in self.sections().iter().enumerate() {
            match section.role {
                ChatRole::System => {
                    view.system = Some(self.words(&section.blocks)).filter(|text| !text.is_empty());
                }
                ChatRole::You => {
                    let mut parts = self.results(calls, &mut view.missing);
                    calls = &[];
                    parts.extend(self.said(&section.blocks, sources));
                    view.say(MessageRole::User, parts);
                }
                ChatRole::Assistant => {
                    let owed = self.results(calls, &mut view.missing);
                    view.say(MessageRole::User, owed);
                    let own = rest.partition_point(|link| link.call.section <= number);
                    (calls, rest) = rest.split_at(own);
                    view.say(
                        MessageRole::Assistant,
                        self.answered(&section.blocks, calls, sources),
                    );
                }
            }
        }
        let owed = self.results(calls, &mut view.missing);
        view.say(MessageRole::User, owed);
        view
    }

    /// The results of a message's calls, in the order of the calls, wherever they stand behind it.
    fn results(&self, calls: &[CallLink], missing: &mut Vec<String>) -> Vec<Part> {
        let result = |link: &CallLink| {
            let found = self.call_of(*link)?;
            let (content, is_error) = match found.answer {
                AnswerState::Given { content, is_error } => (content, is_error),
                AnswerState::Missing | AnswerState::Placeholder(_) => {
                    missing.push(found.call.id.clone());
                    (NO_RESULT.to_owned(), true)
                }
            };
            let ToolCall { id: call_id, name, .. } = found.call;
            Some(Part::Result { call_id, name, content, is_error })
        };
        calls.iter().filter_map(result).collect()
    }

    fn words(&self, blocks: &[ChatBlock]) -> String {
        let words = blocks.iter().filter(|block| block.kind == BlockKind::Text);
        let words: Vec<String> =
            words.map(|block| plain_text(block.span.of(self.bytes()))).collect();
        words.join("\n\n")
    }

    /// The person's words, with files in the place of references to them.
    fn said(&self, blocks: &[ChatBlock], sources: &ViewSources<'_>) -> Vec<Part> {
        let text = self.words(blocks);
        let mut parts = Vec::new();
        let mut at = 0;
        for reference in references(&text) {
            let Some(file) = (sources.file)(&reference) else { continue };
            parts.push(Part::text(&text[at..reference.span.start]));
            parts.extend(file);
            at = reference.span.end;
        }
        parts.push(Part::text(&text[at..]));
        parts.retain(|part| !is_empty(part));
        parts
    }

    fn answered(
        &self,
        blocks: &[ChatBlock],
        calls: &[CallLink],
        sources: &ViewSources<'_>,
    ) -> Vec<Part> {
        let mut parts = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            match &block.kind {
                BlockKind::Text => parts.push(Part::text(plain_text(block.span.of(self.bytes())))),
                BlockKind::Thinking(thought) => {
                    parts.extend(self.thought(thought, sources));
                }
                BlockKind::ToolUse(_) => {
                    let link = calls.iter().find(|link| link.call.block == number);
                    let call = link.and_then(|link| self.call_of(*link)).map(|found| found.call);
                    parts.extend(call.map(|call| {
                        let native = (sources.native_of_call)(&call);
                        Part::Call { call, native }
                    }));
                }
                // Calls say themselves that they were stopped.
                BlockKind::Aborted(text) if calls.is_empty() => {
                    let text = text.text_of(self.bytes());
                    parts.push(Part::text(format!("<!-- {text} -->")));
                }
                BlockKind::Aborted(_) | BlockKind::ToolResult(_) | BlockKind::Malformed => {}
            }
        }
        thoughts_first(parts)
    }

    fn thought(&self, thought: &ThinkingBlock, sources: &ViewSources<'_>) -> Option<Part> {
        if !thought.is_closed {
            return None;
        }
        let attributes = thought.attributes.text_of(self.bytes());
        let text = unescape(thought.content.of(self.bytes()));
        let text = String::from_utf8_lossy(&text).into_owned();
        let native = native(&attributes, &text, sources);
        let is_redacted = read_attributes(&attributes).iter().any(|(name, _)| *name == "redacted");
        let text = if is_redacted { String::new() } else { text };
        Some(Part::Thinking { text, native })
    }
}

impl ChatView {
    fn say(&mut self, role: MessageRole, parts: Vec<Part>) {
        if parts.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role && role == MessageRole::User => {
                last.parts.extend(parts)
            }
            _ => self.messages.push(Message { role, parts }),
        }
    }
}

fn is_empty(part: &Part) -> bool {
    matches!(part, Part::Text { text, .. } if text.trim().is_empty())
}

/// Documents that put thoughts behind the words they led to are put right: vendors take them first.
fn thoughts_first(parts: Vec<Part>) -> Vec<Part> {
    let is_thought = |part: &Part| matches!(part, Part::Thinking { .. });
    if parts.first().is_none_or(is_thought) {
        return parts;
    }
    let (mut thoughts, others): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(is_thought);
    thoughts.extend(others);
    thoughts
}

/// The vendor's own item of a thought that the provider and model in question made. A document that does
/// not name the model is believed to be of this one.
fn native(attributes: &str, text: &str, sources: &ViewSources<'_>) -> Option<Native> {
    let attributes = read_attributes(attributes);
    let value =
        |key: &str| attributes.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    if value("model").is_some_and(|model| model != sources.model) {
        return None;
    }
    let raw = if value("redacted").is_some() {
        let is_theirs = value("provider").is_none_or(|provider| provider == sources.provider);
        is_theirs.then(|| redacted_item(text))?
    } else {
        let signature = value(&format!("{}:signature", sources.provider))?;
        match BASE64_STANDARD.decode(signature).ok().and_then(|raw| String::from_utf8(raw).ok()) {
            Some(raw) if raw.starts_with('{') => raw,
            _ => thought_item(text, signature),
        }
    };
    let (provider, model) = (sources.provider.to_owned(), sources.model.to_owned());
    Some(Native { provider, model, raw })
}

/// The attributes of a tag: `name` or `name="value"`.
fn read_attributes(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find([' ', '\t', '=']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let quoted = after.strip_prefix("=\"").and_then(|after| after.split_once('"'));
        let (value, after) = quoted.unwrap_or(("", after.strip_prefix('=').unwrap_or(after)));
        found.push((name, value));
        rest = after.trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(provider: &str, model: &str, raw: &str) -> Native {
        Native { provider: provider.to_owned(), model: model.to_owned(), raw: raw.to_owned() }
    }

    /// A vendor's item goes through the document byte for byte, to its provider and model only.
    #[test]
    fn signed_thoughts_come_back_as_they_were() {
        let items = [
            native("anthropic", "m", &thought_item("hm\n```\n@You:", "c2lnbmF0dXJl")),
            native("anthropic", "m", &thought_item("", "c2ln")),
            native("anthropic", "m", &redacted_item("AbC+/=")),
            native("anthropic", "m", "{\"type\":\"redacted_thinking\", \"data\":\"@You:\"}"),
            native("openai", "m", "{\"id\": \"rs_1\",  \"encrypted_content\": \"x\\ny\"}"),
        ];
        for item in items {
            let text = serde_json::from_str::<serde_json::Value>(&item.raw).unwrap();
            let text = text.get("thinking").and_then(|text| text.as_str()).unwrap_or_default();
            let thought = Part::Thinking { text: text.to_owned(), native: Some(item.clone()) };
            let message = Message { role: MessageRole::Assistant, parts: vec![thought.clone()] };
            let document = ChatDocument::parse("@You:\nhi\n").with_assistant(&message).unwrap();
            let sent = |provider: &str, model: &str| {
                document.view(&ViewSources::bare(provider, model)).messages[1].parts.clone()
            };
            assert_eq!(sent(&item.provider, "m"), vec![thought], "{}", item.raw);
            for (provider, model) in [("gemini", "m"), (item.provider.as_str(), "n")] {
                let [Part::Thinking { native, .. }] = &sent(provider, model)[..] else { panic!() };
                assert_eq!(*native, None, "{}", item.raw);
            }
        }
    }

    #[test]
    fn files_stand_where_they_are_referred_to_and_nowhere_else() {
        let text = "@System:\n@./sys\n\n@You:\nsee @./a and `@./b`.\n\n@Assistant:\n@./a\n";
        let document = ChatDocument::parse(text);
        let file = |reference: &FileReference| {
            let part = Part::text(format!("<{}>", reference.path));
            (reference.path != "./none").then(|| vec![part])
        };
        let sources = ViewSources { file: &file, ..ViewSources::bare("a", "m") };
        let view = document.view(&sources);
        let texts: Vec<String> = view.messages.iter().map(Message::text).collect();
        assert_eq!(texts, ["see <./a> and `@./b`.", "@./a"]);
        assert_eq!(view.system.as_deref(), Some("@./sys"));
    }
}
