//! Is this a request that the vendor would accept?

mod anthropic;
mod gemini;
mod openai_chat;
mod openai_responses;

use serde_json::Value;

use super::script::{Expect, Script};
use crate::wire::Wire;

/// What a request said, as far as a script asks about it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) system: String,
    pub(crate) tools: Vec<String>,
    /// The results in the last turn.
    pub(crate) results: Vec<String>,
    /// The person's words in the last turn that has any.
    pub(crate) user: String,
}

type Checked<T> = Result<T, String>;

pub(crate) fn check(wire: Wire, body: &Value, script: &Script) -> Checked<Seen> {
    match wire {
        Wire::Anthropic => anthropic::check(body),
        Wire::OpenaiResponses => openai_responses::check(body),
        Wire::OpenaiChat => openai_chat::check(body),
        Wire::Gemini => gemini::check(body, &script.model_info()),
    }
}

pub(crate) fn path_fits(wire: Wire, path: &str) -> Checked<()> {
    let fits = match wire {
        Wire::Anthropic => path == "/v1/messages",
        Wire::OpenaiResponses => path == "/v1/responses",
        Wire::OpenaiChat => path == "/v1/chat/completions",
        Wire::Gemini => {
            let versioned = ["/v1beta/models/", "/v1/models/"];
            versioned.iter().any(|start| path.starts_with(start))
                && path.ends_with(":streamGenerateContent")
        }
    };
    claim(fits, || format!("there is nothing at {path} for {}", wire.name()))
}

impl Seen {
    pub(crate) fn meets(&self, expect: &Expect) -> Checked<()> {
        let results = self.results.join("\n");
        let texts = [
            ("the last results", &results, &expect.results_contain),
            ("the person's words", &self.user, &expect.user_contains),
            ("the system prompt", &self.system, &expect.system_contains),
        ];
        for (what, text, wanted) in texts {
            for one in wanted {
                claim(text.contains(one), || format!("{what} lack `{one}`: {text}"))?;
            }
        }
        for tool in &expect.tools {
            claim(self.tools.contains(tool), || format!("the tool `{tool}` is not offered"))?;
        }
        Ok(())
    }
}

fn claim(holds: bool, why: impl FnOnce() -> String) -> Checked<()> {
    if holds { Ok(()) } else { Err(why()) }
}

fn text<'a>(value: &'a Value, key: &str) -> Checked<&'a str> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| format!("`{key}` must be a text: {value}"))
}

fn list<'a>(value: &'a Value, key: &str) -> Checked<&'a [Value]> {
    let list = value.get(key).and_then(Value::as_array).map(Vec::as_slice);
    list.ok_or_else(|| format!("`{key}` must be a list: {value}"))
}

fn listed<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or(&[])
}

fn fits_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !id.is_empty() && id.len() <= 64 && id.bytes().all(plain)
}

/// The names of tools: well formed, each once, in order.
fn names<'a>(names: impl Iterator<Item = Checked<&'a str>>) -> Checked<Vec<String>> {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        let name = name?;
        claim(fits_id(name), || format!("`{name}` is no name for a tool"))?;
        claim(!known.iter().any(|one| one == name), || {
            format!("the tool `{name}` is given twice")
        })?;
        known.push(name.to_owned());
    }
    Ok(known)
}

/// Every call answered exactly once, in order.
fn answered(calls: &[String], answers: &[String]) -> Checked<()> {
    claim(calls == answers, || {
        format!("every call needs one result, in order: called {calls:?}, answered {answers:?}")
    })
}

#[cfg(test)]
mod tests;
