//! A conversation made fit to send: sides alternate, and every call has exactly one answer, in
//! order (GO-MULTI).
//!
//! Law: whatever happened to a turn, the vendor gets a history that it accepts. What a result says
//! never becomes the person's own words.

use std::collections::HashSet;

use jm_types::{Message, MessageRole, Native, Part, ToolCall};

const NOT_RUN: &str = "This call was not run: there is no result for it.";
/// Stands for an error without words: Anthropic refuses the whole history for one, also where an
/// earlier version has recorded it.
const NO_WORDS: &str = "This call failed without a message.";
const LONGEST_ID: usize = 64;

/// One side's turn.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    User { answers: Vec<Answer<'a>>, parts: Vec<&'a Part> },
    Assistant { parts: Vec<Said<'a>> },
}

#[derive(Debug, PartialEq)]
pub(crate) struct Said<'a> {
    pub(crate) part: &'a Part,
    /// The vendor's own item, if it is this vendor's and this model's.
    pub(crate) native: Option<&'a Native>,
    /// A call's id, fit for any vendor and unique in the request.
    pub(crate) call_id: Option<String>,
}

/// The one result of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) native: Option<&'a Native>,
    pub(crate) call_id: String,
    pub(crate) content: &'a str,
    pub(crate) is_error: bool,
}

pub(crate) fn turns<'a>(messages: &'a [Message], provider: &str, model: &str) -> Vec<Turn<'a>> {
    let mut ids = Ids::default();
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for (role, parts) in sides(messages, provider, model) {
        match role {
            MessageRole::Assistant => {
                let ordinal = turns.len();
                let said = parts.into_iter().map(|part| {
                    let native = part.native_for(provider, model);
                    let call_id = part.call().map(|call| ids.fit(&call.id, ordinal));
                    Said { part, native, call_id }
                });
                turns.push(Turn::Assistant { parts: said.collect() });
            }
            MessageRole::User => {
                let (results, parts): (Vec<&Part>, Vec<&Part>) =
                    parts.into_iter().partition(|part| matches!(part, Part::Result { .. }));
                let answers = answers(turns.last(), &results);
                if !(answers.is_empty() && parts.is_empty()) {
                    turns.push(Turn::User { answers, parts });
                }
            }
        }
    }
    let unanswered = answers(turns.last(), &[]);
    if !unanswered.is_empty() {
        turns.push(Turn::User { answers: unanswered, parts: Vec::new() });
    }
    turns
}

/// Neighbouring messages of one side as one, without what cannot be sent.
fn sides<'a>(
    messages: &'a [Message],
    provider: &str,
    model: &str,
) -> Vec<(MessageRole, Vec<&'a Part>)> {
    let mut sides: Vec<(MessageRole, Vec<&'a Part>)> = Vec::new();
    for message in messages {
        let parts = message.parts.iter().filter(|part| can_be_sent(part, provider, model));
        let mut parts: Vec<&Part> = parts.collect();
        // A turn must not end with a thought: what it led to was cut off.
        while matches!(parts.last(), Some(Part::Thinking { .. })) {
            parts.pop();
        }
        match sides.last_mut() {
            _ if parts.is_empty() => {}
            Some((role, before)) if *role == message.role => before.extend(parts),
            Some(_) | None => sides.push((message.role, parts)),
        }
    }
    sides
}

fn can_be_sent(part: &Part, provider: &str, model: &str) -> bool {
    match part {
        // Vendors refuse a blank text.
        Part::Text { text, .. } => {
            !text.trim().is_empty() || part.native_for(provider, model).is_some()
        }
        // A thought without its maker's signature is worth nothing to anybody.
        Part::Thinking { .. } | Part::Opaque { .. } => part.native_for(provider, model).is_some(),
        Part::Image { .. } | Part::Call { .. } | Part::Result { .. } => true,
    }
}

/// One answer for each call of the turn before, in call order. Where ids repeat, the first result
/// answers the first call. A result without a call is left out: as text it would speak with the
/// person's voice.
fn answers<'a>(before: Option<&Turn<'a>>, results: &[&'a Part]) -> Vec<Answer<'a>> {
    let Some(Turn::Assistant { parts }) = before else { return Vec::new() };
    let mut used = HashSet::new();
    let calls = parts
        .iter()
        .filter_map(|said| Some((said.part.call()?, said.native, said.call_id.clone()?)));
    calls
        .map(|(call, native, call_id)| {
            let found = results.iter().enumerate().find_map(|(place, part)| match part {
                Part::Result { call_id, content, is_error, .. }
                    if *call_id == call.id && !used.contains(&place) =>
                {
                    Some((place, content.as_str(), *is_error))
                }
                _ => None,
            });
            let (content, is_error) = match found {
                Some((place, content, is_error)) => {
                    used.insert(place);
                    let is_mute = is_error && content.trim().is_empty();
                    (if is_mute { NO_WORDS } else { content }, is_error)
                }
                None => (NOT_RUN, true),
            };
            Answer { call, native, call_id, content, is_error }
        })
        .collect()
}

/// Ids that any vendor accepts. They depend on what came before only, so that a longer history
/// begins with the same bytes.
#[derive(Default)]
struct Ids {
    used: HashSet<String>,
}

impl Ids {
    fn fit(&mut self, id: &str, turn: usize) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let fits = !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(plain);
        if fits && self.used.insert(id.to_owned()) {
            return id.to_owned();
        }
        let mut ordinal = 0;
        loop {
            let made = format!("call_{turn}_{ordinal}");
            if self.used.insert(made.clone()) {
                return made;
            }
            ordinal += 1;
        }
    }
}

#[cfg(test)]
mod tests;
