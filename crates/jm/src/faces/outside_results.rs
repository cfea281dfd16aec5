//! Results that come from outside, for calls that wait in parse-only mode (FR-MODE-02): how they are
//! given to `jm run`, and how the calls that wait for them are shown.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use jm_engine::Session;
use jm_system::state::read_text;
use jm_types::json::parse_strictly;
use jm_types::text::one_line;
use serde_json::{Value, json};

use super::task;
use crate::cli::RunArgs;

/// Ids and results, in the order in which they are given: flags first, then the file.
pub(super) fn results(run: &RunArgs) -> Result<Vec<(String, String)>> {
    let flags = run.result.iter().map(|given| {
        let (id, text) =
            given.split_once('=').filter(|(id, _)| !id.is_empty()).ok_or_else(|| {
                anyhow!(
                    "--result `{}`: expected ID=TEXT, as in --result call_1=done",
                    one_line(given)
                )
            })?;
        Ok((id.to_owned(), text.to_owned()))
    });
    let mut results = flags.collect::<Result<Vec<_>>>()?;
    if let Some(path) = &run.results {
        results.extend(parse(&read(path)?).with_context(|| named(path))?);
    }
    Ok(results)
}

fn named(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "--results, standard input".to_owned(),
        _ => format!("--results {}", path.display()),
    }
}

fn read(path: &Path) -> Result<String> {
    if path.as_os_str() == "-" {
        return task::input();
    }
    let text = read_text(path, task::MOST_INPUT).with_context(|| named(path))?;
    text.with_context(|| format!("{}: no such file", named(path)))
}

/// One JSON object of ids and texts, or several, one a line.
fn parse(text: &str) -> Result<Vec<(String, String)>> {
    let objects = match parse_strictly(text) {
        Ok(whole) => vec![whole],
        Err(whole) => {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let lines: Vec<&str> = lines.collect();
            if lines.len() < 2 || !lines[0].ends_with('}') {
                bail!("{whole}\n  hint: {SHAPE}");
            }
            let parsed = lines.iter().enumerate().map(|(number, line)| {
                let value = parse_strictly(line);
                value.map_err(|error| anyhow!("line {}: {error}\n  hint: {SHAPE}", number + 1))
            });
            parsed.collect::<Result<_>>()?
        }
    };
    let mut results = Vec::new();
    for object in objects {
        let Value::Object(fields) = object else { bail!("expected {SHAPE}") };
        for (id, value) in fields {
            let Value::String(text) = value else {
                bail!("the result of `{}` is not text; expected {SHAPE}", one_line(&id));
            };
            results.push((id, text));
        }
    }
    if results.is_empty() {
        bail!("no result found; expected {SHAPE}");
    }
    Ok(results)
}

const SHAPE: &str = r#"{"ID": "TEXT", …}, or one such object a line"#;

/// The calls that wait, each with name, id and arguments (FR-TUI-04). `how` says what to do with one.
pub(super) fn waiting(session: &Session, how: impl Fn(&str) -> String) -> String {
    let call = |entry: &jm_engine::CallEntry| {
        let call = &entry.call;
        let (name, id) = (one_line(&call.name), one_line(&call.id));
        format!("{name} waits for its result: {}\n  {}", how(&id), one_line(&call.arguments))
    };
    session.batch().waiting().map(call).collect::<Vec<_>>().join("\n")
}

/// The same for programs.
pub(super) fn waiting_as_json(session: &Session) -> Vec<Value> {
    let call = |entry: &jm_engine::CallEntry| {
        let call = &entry.call;
        json!({
            "call": entry.key, "id": call.id, "name": call.name, "arguments": call.arguments,
        })
    };
    session.batch().waiting().map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Option<Vec<(String, String)>> {
        parse(text).ok()
    }

    #[test]
    fn results_are_one_object_or_one_a_line() {
        let both =
            || Some(vec![("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2\n".to_owned())]);
        assert_eq!(pairs(r#"{"a": "1", "b": "2\n"}"#), both());
        assert_eq!(pairs("{\n \"a\": \"1\",\n \"b\": \"2\\n\"\n}\n"), both());
        assert_eq!(pairs("{\"a\": \"1\"}\n\n{\"b\": \"2\\n\"}\n"), both());
        for bad in
            ["", "{}", "[]", "a=1", r#"{"a": 1}"#, r#"{"a": "1", "a": "2"}"#, "{\"a\": \"1\"}\n3"]
        {
            assert_eq!(pairs(bad), None, "{bad}");
        }
    }
}
