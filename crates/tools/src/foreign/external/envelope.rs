//! The envelope of an external tool's answers (IK-WRAP).
//!
//! Law: always one whole JSON object. What the tool printed is passed on untouched when it is one
//! too; when it is not, both its streams are shown, shortened until the answer fits.

use jm_types::text::truncate::HeadTail;
use jm_types::{ErrorKind, ToolError};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::ops::command_output::{Manner, share_output};

/// The wrapper's own codes. The tool's are inside its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    ToolTimeout,
    ToolCrashed,
    InvalidOutput,
    ToolNotFound,
    InvalidParams,
    /// Ours: the policy denies the call.
    PermissionDenied,
}

impl Code {
    pub(super) fn word(self) -> &'static str {
        match self {
            Code::ToolTimeout => "TOOL_TIMEOUT",
            Code::ToolCrashed => "TOOL_CRASHED",
            Code::InvalidOutput => "INVALID_OUTPUT",
            Code::ToolNotFound => "TOOL_NOT_FOUND",
            Code::InvalidParams => "INVALID_PARAMS",
            Code::PermissionDenied => "PERMISSION_DENIED",
        }
    }
}

/// Wraps one JSON object, byte for byte; otherwise says what it is instead.
pub(super) fn success(printed: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(printed).map_err(|_| "output that is not UTF-8".to_owned())?;
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    if text.is_empty() {
        return Err("no output".to_owned());
    }
    serde_json::from_str::<&RawValue>(text).map_err(|error| format!("malformed JSON: {error}"))?;
    if !text.starts_with('{') {
        return Err("JSON that is not an object".to_owned());
    }
    Ok(format!(r#"{{"tool_success":true,"result":{text}}}"#))
}

/// A failure before the tool ran.
pub(super) fn refusal(error: &str, code: Code) -> String {
    json!({"tool_success": false, "error": error, "error_code": code.word()}).to_string()
}

/// A failure with what the tool printed until then; `exit_code` is null when it was ended.
pub(super) fn failure(
    error: &str,
    code: Code,
    exit_code: Option<i32>,
    streams: (&HeadTail, &HeadTail),
    (limit, manner): (usize, Manner<'_>),
) -> String {
    let envelope = |room: usize| {
        let (stdout, stderr) = match room {
            0 => (String::new(), String::new()),
            room => share_output(streams.0, streams.1, room, manner),
        };
        let fields = [
            ("tool_success", Value::Bool(false)),
            ("error", error.into()),
            ("error_code", code.word().into()),
            ("exit_code", exit_code.into()),
            ("stdout", stdout.into()),
            ("stderr", stderr.into()),
        ];
        let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value));
        Value::Object(fields.collect()).to_string()
    };
    let mut room = limit;
    loop {
        let text = envelope(room);
        if text.len() <= limit || room == 0 {
            return text;
        }
        // Escapes make text longer than its bytes, so what fits is found by trying.
        room = if room < 32 { 0 } else { room / 4 * 3 };
    }
}

/// The error of a tool that cannot be used now, with its refusal in this envelope.
pub(super) fn not_ready(tool: &str, why: &str, hint: &str) -> ToolError {
    let kind = ErrorKind::NotReady { tool: tool.to_owned(), message: why.to_owned() };
    let error = ToolError::new(kind).hint(hint);
    let words = refusal(&format!("{error}; {hint}"), Code::ToolNotFound);
    error.in_words(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(bytes: &[u8]) -> HeadTail {
        let mut stream = HeadTail::new(100_000);
        stream.push(bytes);
        stream
    }

    /// IK-WRAP
    #[test]
    fn one_object_is_wrapped_as_it_is() {
        let cases: [(&[u8], Result<&str, &str>); 8] = [
            (br#"{"output":"x"}"#, Ok(r#"{"tool_success":true,"result":{"output":"x"}}"#)),
            (b"{ \"n\": 1e400 }\n", Ok(r#"{"tool_success":true,"result":{ "n": 1e400 }}"#)),
            (b"", Err("no output")),
            (b" \n", Err("no output")),
            (b"[1]", Err("JSON that is not an object")),
            (b"\"x\"", Err("JSON that is not an object")),
            (b"\xff", Err("output that is not UTF-8")),
            (b"{} {}", Err("malformed JSON: trailing characters at line 1 column 4")),
        ];
        for (printed, expected) in cases {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(success(printed), expected, "{:?}", String::from_utf8_lossy(printed));
        }
    }

    /// IK-WRAP
    #[test]
    fn a_failure_is_whole_json_at_every_limit() {
        let nasty: Vec<u8> = (0..20_000).map(|at| if at % 3 == 0 { 0x1b } else { b'"' }).collect();
        let (stdout, stderr) = (stream(&nasty), stream(&nasty));
        for limit in [0, 1, 200, 1_000, 4_096, 65_536] {
            let streams = (&stdout, &stderr);
            let text =
                failure("it broke", Code::ToolCrashed, Some(139), streams, (limit, Manner::PLAIN));
            let parsed: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(parsed["error_code"], "TOOL_CRASHED");
            assert!(text.len() <= limit.max(120), "{limit}: {}", text.len());
        }
    }
}
