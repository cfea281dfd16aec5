//! JSON lines: a call `{"id","name","args"}` or a batch `{"calls":[…]}` on each, one answer for each.

use anyhow::Result;
use jm_types::text::one_line;
use jm_types::{ToolCall, json};
use serde_json::{Value, json};

use super::input::{Line, Lines};
use super::{Work, print};

pub(super) async fn run(work: &mut Work, mut lines: Lines) -> Result<()> {
    while let Some(line) = work.next(&mut lines).await? {
        let parsed = match line {
            Line::Text(text) if text.trim().is_empty() => continue,
            Line::Text(text) => parse(&text),
            Line::Bad(why) => Err(why),
        };
        let asked = match parsed {
            Ok(asked) => asked,
            Err(why) => {
                work.note_nonsense();
                print::json(&json!({"verdict": "failed", "kind": "bad_args", "content": why}))?;
                continue;
            }
        };
        let (calls, is_batch) = match asked {
            Asked::Call(call) => (vec![call], false),
            Asked::Batch(calls) => (calls, true),
        };
        work.answer(calls).await?;
        let answers = work.answers();
        match answers.first() {
            Some(answer) if !is_batch => print::json(answer)?,
            _ => print::json(&json!({"results": answers}))?,
        }
        work.driver.delivered();
    }
    Ok(())
}

enum Asked {
    Call(ToolCall),
    Batch(Vec<ToolCall>),
}

fn parse(text: &str) -> Result<Asked, String> {
    let value = json::parse_strictly(text).map_err(|why| format!("not valid JSON: {why}"))?;
    match value.get("calls") {
        None => call(&value).map(Asked::Call),
        Some(Value::Array(calls)) => {
            only(&value, &["calls"], "a batch has `calls`")?;
            calls.iter().map(call).collect::<Result<_, _>>().map(Asked::Batch)
        }
        Some(_) => Err("`calls` must be a list of calls".to_owned()),
    }
}

fn call(value: &Value) -> Result<ToolCall, String> {
    let name = value.get("name").and_then(Value::as_str);
    let name =
        name.ok_or("a call needs a `name`, for example {\"name\":\"read_file\",\"args\":{…}}")?;
    only(value, &["id", "name", "args"], "a call has `id`, `name` and `args`")?;
    let id = match value.get("id") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(_) => return Err("`id` must be a string".to_owned()),
    };
    let empty = json!({});
    let args = value.get("args").unwrap_or(&empty);
    Ok(ToolCall::new(id, name, args))
}

/// A key that nothing reads would be a setting without effect.
fn only(value: &Value, known: &[&str], has: &str) -> Result<(), String> {
    let mut keys = value.as_object().into_iter().flat_map(|fields| fields.keys());
    match keys.find(|key| !known.contains(&key.as_str())) {
        Some(other) => Err(format!("{has}, and no `{}`", one_line(other))),
        None => Ok(()),
    }
}
