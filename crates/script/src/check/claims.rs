//! Claims about a request's JSON, each with the reason why a vendor would refuse it.

use serde_json::Value;

use crate::script::Expectation;

/// The parts of a request that a script asks about.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SeenRequest {
    pub(crate) system: String,
    pub(crate) tools: Vec<String>,
    /// The results in the last turn.
    pub(crate) results: Vec<String>,
    /// The person's words in the last turn that has any.
    pub(crate) user: String,
}

pub(crate) type Checked<T> = Result<T, String>;

impl SeenRequest {
    pub(crate) fn meets(&self, expect: &Expectation) -> Checked<()> {
        let results = self.results.join("\n");
        let texts = [
            ("the last results", &results, &expect.results_contain),
            ("the user's words", &self.user, &expect.user_contains),
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

pub(crate) fn claim(holds: bool, why: impl FnOnce() -> String) -> Checked<()> {
    if holds { Ok(()) } else { Err(why()) }
}

pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Checked<&'a str> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| format!("`{key}` must be a text: {value}"))
}

pub(crate) fn list<'a>(value: &'a Value, key: &str) -> Checked<&'a [Value]> {
    let list = value.get(key).and_then(Value::as_array).map(Vec::as_slice);
    list.ok_or_else(|| format!("`{key}` must be a list: {value}"))
}

pub(crate) fn listed<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or(&[])
}

pub(crate) fn fits_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !id.is_empty() && id.len() <= 64 && id.bytes().all(plain)
}

/// The names of tools: well formed, each once, in order.
pub(crate) fn names<'a>(names: impl Iterator<Item = Checked<&'a str>>) -> Checked<Vec<String>> {
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
pub(crate) fn answered(calls: &[String], answers: &[String]) -> Checked<()> {
    claim(calls == answers, || {
        format!("every call needs one result, in order: called {calls:?}, answered {answers:?}")
    })
}
