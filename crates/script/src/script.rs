//! The script's own form: TOML, one table a turn (docs/formats/script.md).

use std::collections::BTreeMap;

use jm_providers::{ModelInfo, Wire};
use jm_types::{StopReason, StreamError, StreamErrorKind, Usage};
use serde::Deserialize;
use serde_json::Value;

/// The turns that a scripted model gives, and the protocol in which it gives them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(default = "anthropic")]
    wire: Wire,
    #[serde(default)]
    model: ModelInfo,
    /// The model has no tools of its own.
    #[serde(default)]
    fenced: bool,
    #[serde(default, rename = "turn")]
    turns: Vec<ScriptTurn>,
}

fn anthropic() -> Wire {
    Wire::Anthropic
}

/// The answer to one request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ScriptTurn {
    pub(crate) expect: Expectation,
    pub(crate) steps: Vec<ScriptStep>,
    pub(crate) usage: Usage,
    pub(crate) stop: Option<ScriptStop>,
    /// A refusal instead of an answer.
    pub(crate) status: Option<u16>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Option<String>,
    /// The whole answer, byte for byte.
    pub(crate) raw: Option<String>,
    pub(crate) fault: StreamFault,
    /// The request of a recorded turn: for the reader of the file.
    request: Option<String>,
}

/// The texts and tools that the request must contain.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Expectation {
    /// Texts that must stand in the last results.
    pub(crate) results_contain: Vec<String>,
    /// Texts that must stand in the person's last words.
    pub(crate) user_contains: Vec<String>,
    pub(crate) system_contains: Vec<String>,
    /// Tools that must be offered.
    pub(crate) tools: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScriptStop {
    EndTurn,
    ToolUse,
    MaxTokens,
    Refusal,
    ContextWindow,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "StepRow")]
pub(crate) enum ScriptStep {
    Text { text: String, repeat: u64 },
    Thinking { text: String },
    Call { id: Option<String>, name: String, arguments: String },
    Opaque { raw: String },
    Pause { ms: u64 },
}

/// A step as it is written: one of its keys says what it is.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct StepRow {
    text: Option<String>,
    repeat: Option<u64>,
    thinking: Option<String>,
    call: Option<String>,
    args: Option<Value>,
    arguments: Option<String>,
    id: Option<String>,
    opaque: Option<String>,
    delay_ms: Option<u64>,
}

impl TryFrom<StepRow> for ScriptStep {
    type Error = String;

    fn try_from(row: StepRow) -> Result<Self, String> {
        let StepRow { text, repeat, thinking, call, args, arguments, id, opaque, delay_ms } = row;
        match (text, thinking, call, opaque, delay_ms) {
            (Some(text), None, None, None, None) => {
                Ok(ScriptStep::Text { text, repeat: repeat.unwrap_or(1) })
            }
            (None, Some(text), None, None, None) => Ok(ScriptStep::Thinking { text }),
            (None, None, Some(name), None, None) => {
                let args = args.map_or_else(|| "{}".to_owned(), |args| args.to_string());
                Ok(ScriptStep::Call { id, name, arguments: arguments.unwrap_or(args) })
            }
            (None, None, None, Some(raw), None) => Ok(ScriptStep::Opaque { raw }),
            (None, None, None, None, Some(ms)) => Ok(ScriptStep::Pause { ms }),
            _ => {
                Err("a step has one of `text`, `thinking`, `call`, `opaque`, `delay_ms`".to_owned())
            }
        }
    }
}

/// The faults of the connection.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StreamFault {
    /// The connection breaks after this many events, or bytes.
    pub(crate) cut_after: Option<usize>,
    pub(crate) cut_after_bytes: Option<usize>,
    /// Nothing comes for `stall_ms` after this many events.
    pub(crate) stall_after: Option<usize>,
    pub(crate) stall_ms: Option<u64>,
    /// The answer comes in chunks of this many bytes, with a pause after each.
    pub(crate) chunk: Option<usize>,
    pub(crate) chunk_delay_ms: u64,
    pub(crate) line_end: LineEnd,
    pub(crate) bom: bool,
    /// A comment before every event.
    pub(crate) keep_alive: bool,
    /// Events that are left out, counted from 0.
    pub(crate) omit: Vec<usize>,
    pub(crate) inject: Vec<Injection>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LineEnd {
    #[default]
    Lf,
    Crlf,
    Cr,
}

/// Something that comes after this many events: text as it is, an event of so many bytes, or the
/// vendor's own word for a failure.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Injection {
    pub(crate) after: usize,
    pub(crate) raw: Option<String>,
    pub(crate) bytes: Option<usize>,
    pub(crate) error: Option<String>,
}

impl Script {
    /// Reads a script (TOML, docs/formats/script.md).
    pub fn parse(text: &str) -> Result<Self, StreamError> {
        toml::from_str(text).map_err(|error| {
            StreamError::new(StreamErrorKind::BadRequest, format!("the script: {error}"))
                .hint("docs/formats/script.md describes the format")
        })
    }

    /// The vendor's protocol that the script speaks.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    pub(crate) fn is_fenced(&self) -> bool {
        self.fenced
    }

    /// The same turns in another language.
    #[must_use]
    pub fn in_wire(mut self, wire: Wire) -> Self {
        self.wire = wire;
        self
    }

    pub(crate) fn model_info(&self) -> ModelInfo {
        self.model.clone()
    }

    pub(crate) fn turn(&self, number: usize) -> Option<&ScriptTurn> {
        self.turns.get(number)
    }
}

impl ScriptTurn {
    pub(crate) fn stop(&self) -> StopReason {
        let calls = self.steps.iter().any(|step| matches!(step, ScriptStep::Call { .. }));
        match self.stop {
            Some(ScriptStop::EndTurn) => StopReason::EndTurn,
            Some(ScriptStop::ToolUse) => StopReason::ToolUse,
            Some(ScriptStop::MaxTokens) => StopReason::MaxTokens,
            Some(ScriptStop::Refusal) => StopReason::Refusal,
            Some(ScriptStop::ContextWindow) => StopReason::ContextWindow,
            None if calls => StopReason::ToolUse,
            None => StopReason::EndTurn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_and_its_mistakes_are_named() {
        let script = Script::parse(
            "wire = \"gemini\"\n[[turn]]\nsteps = [{ text = \"a\" }, { call = \"f\", args = { n = 1 } }]\n",
        )
        .unwrap();
        assert_eq!(script.wire(), Wire::Gemini);
        let turn = script.turn(0).unwrap();
        let call =
            ScriptStep::Call { id: None, name: "f".to_owned(), arguments: "{\"n\":1}".to_owned() };
        assert_eq!(turn.steps[1], call);
        assert_eq!(turn.stop(), StopReason::ToolUse);
        for (text, mistake) in [
            ("[[turn]]\nsteps = [{ txt = \"a\" }]", "unknown field `txt`"),
            ("[[turn]]\nsteps = [{ text = \"a\", thinking = \"b\" }]", "a step has one of"),
            ("wire = \"telex\"", "unknown variant `telex`"),
        ] {
            let error = Script::parse(text).unwrap_err();
            assert!(error.message.contains(mistake), "{}", error.message);
        }
    }
}
