//! Asking a program what it is: `--schema` (IK-PROTO, IK-DIRS).
//!
//! Law: the answer is one JSON object of bounded size that came in bounded time, or the program is
//! no tool.

use std::path::Path;
use std::time::Duration;

use jm_process::command::{CommandEnding, CommandInput, CommandProgram, Exit};
use jm_process::confine::Access;
use jm_process::output_reader::NoListener;
use jm_types::{Cancel, json};
use serde_json::{Map, Value};

use crate::context::Workspace;
use crate::ops::refused::with_refusals;
use crate::ops::run::{Ground, Invocation, Invoked};

pub(super) const MOST_BYTES: usize = 8 * 1024;

/// The description that a program prints of itself. Its `name` is required and not used: the file's name
/// counts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DeclaredSchema {
    pub(super) description: String,
    pub(super) parameters: Value,
}

/// Runs the program with `--schema`; what it printed, or what was wrong with that.
pub(super) fn ask(
    workspace: &Workspace,
    path: &Path,
    patience: Duration,
) -> Result<String, String> {
    let invocation = Invocation {
        directory: None,
        program: CommandProgram::Argv(vec![path.into(), "--schema".into()]),
        input: CommandInput::Closed,
        variables: Vec::new(),
        timeout: patience,
        // One more on each side tells a full answer from one that is too long.
        keep_bytes: MOST_BYTES + 2,
        record: None,
        access: Access::Full,
    };
    let ran = invocation.run(Ground::direct(workspace), &Cancel::new(), &mut NoListener);
    let Invoked { finished, rules, .. } = ran.map_err(|error| error.to_string())?;
    let fault = match finished.ending {
        CommandEnding::SUCCESS => None,
        CommandEnding::Exited(Exit::Code(code)) => Some(format!("ended with exit code {code}")),
        CommandEnding::Exited(Exit::Signal(signal)) => {
            Some(format!("was ended by signal {signal}"))
        }
        CommandEnding::TimedOut | CommandEnding::Stopped | CommandEnding::Orphaned => {
            Some(format!("did not answer within {} s", patience.as_secs_f64()))
        }
    };
    if let Some(fault) = fault {
        return Err(with_refusals(&fault, &finished, rules.as_ref()));
    }
    if finished.stdout.total() > MOST_BYTES as u64 {
        return Err(format!(
            "printed {} bytes; at most {MOST_BYTES} are read",
            finished.stdout.total()
        ));
    }
    let bytes = finished.stdout.whole().unwrap_or_default();
    String::from_utf8(bytes).map_err(|_| "did not print UTF-8".to_owned())
}

pub(super) fn parse(text: &str) -> Result<DeclaredSchema, String> {
    if text.trim().is_empty() {
        return Err("printed nothing".to_owned());
    }
    let parsed =
        json::parse_strictly(text).map_err(|error| format!("did not print JSON: {error}"))?;
    let Value::Object(mut fields) = parsed else {
        return Err("did not print a JSON object".to_owned());
    };
    string(&mut fields, "name")?;
    let description = string(&mut fields, "description")?;
    match fields.remove("parameters") {
        Some(parameters @ Value::Object(_)) => Ok(DeclaredSchema { description, parameters }),
        Some(_) => Err("printed `parameters` that are not a JSON schema object".to_owned()),
        None => Err("printed no `parameters`".to_owned()),
    }
}

fn string(fields: &mut Map<String, Value>, key: &str) -> Result<String, String> {
    match fields.remove(key) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("printed a `{key}` that is not a string")),
        None => Err(format!("printed no `{key}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IK-PROTO
    #[test]
    fn a_schema_has_a_name_a_description_and_parameters() {
        let cases = [
            (r#"{"name":"a","description":"b","parameters":{}}"#, Ok(())),
            (r#"{"name":"a","description":"b","parameters":{},"returns":{}}"#, Ok(())),
            ("", Err("printed nothing")),
            ("[]", Err("did not print a JSON object")),
            (r#"{"name":"a","description":"b"}"#, Err("printed no `parameters`")),
            (r#"{"description":"b","parameters":{}}"#, Err("printed no `name`")),
            (r#"{"name":"a","parameters":{}}"#, Err("printed no `description`")),
            (
                r#"{"name":"a","description":1,"parameters":{}}"#,
                Err("printed a `description` that is not a string"),
            ),
            (
                r#"{"name":"a","description":"b","parameters":[]}"#,
                Err("printed `parameters` that are not a JSON schema object"),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).map(|_| ()), expected.map_err(str::to_owned), "{text}");
        }
        assert!(parse(r#"{"name":"a","name":"#).is_err());
    }
}
