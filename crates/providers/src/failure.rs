//! A vendor's refusal as an error: its kind, and a hint for the reader.

use std::time::{Duration, SystemTime};

use jm_types::{StreamError, StreamErrorKind};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::json;

/// The vendor answered with a status that is no success.
pub(crate) fn of_status(status: u16, headers: &HeaderMap, body: &str) -> StreamError {
    let said = Said::read(body);
    let retry_after = retry_after(headers).or_else(|| said.as_ref().and_then(Said::retry_after));
    let message = match &said {
        Some(said) => format!("{status}: {}", said.message),
        None => format!("{status}: {}", excerpt(body)),
    };
    let kind = match said.as_ref().and_then(|said| by_word(said, retry_after)) {
        // That something is wrong with the request, the status says more precisely.
        Some(StreamErrorKind::BadRequest) | None => by_status(status, retry_after),
        Some(kind) => kind,
    };
    let is_foreign = said.is_none() && kind == StreamErrorKind::BadRequest;
    let error = StreamError::new(kind, message);
    if is_foreign { error.hint(ELSEWHERE) } else { advise(error) }
}

/// The vendor reported a failure within the stream: an object with `message` and `type`, `code` or
/// `status`, or one that has such an object under `error`.
pub(crate) fn in_stream(value: &Value) -> StreamError {
    let said = Said::from(value).unwrap_or_else(|| Said {
        words: Vec::new(),
        message: excerpt(&value.to_string()),
        delay: None,
    });
    let kind = by_word(&said, said.retry_after()).unwrap_or(StreamErrorKind::Server);
    advise(StreamError::new(kind, said.message))
}

pub(crate) fn truncated(what: &str) -> StreamError {
    StreamError::new(StreamErrorKind::Truncated, format!("the answer was cut off: {what}"))
        .hint("try again; what had arrived is kept")
}

pub(crate) fn malformed(what: impl std::fmt::Display) -> StreamError {
    StreamError::new(
        StreamErrorKind::Malformed,
        format!("the server's answer does not follow the protocol: {what}"),
    )
}

/// A vendor would have said something else.
pub(crate) const ELSEWHERE: &str = "check the base URL: another kind of server answers there";

/// The beginning of a text that may be long and of any kind.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 300;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None if line.is_empty() => "(no message)".to_owned(),
        None => line,
    }
}

/// A vendor's error object.
struct Said {
    /// Its `type`, `code` and `status`, and Google's `reason`, in small letters.
    words: Vec<String>,
    message: String,
    /// Google's `retryDelay`.
    delay: Option<Duration>,
}

impl Said {
    fn read(body: &str) -> Option<Said> {
        let value: Value = serde_json::from_str(body).ok()?;
        // Google answers a stream's request with a list.
        let first = value.get(0).unwrap_or(&value);
        Said::from(first)
    }

    fn from(value: &Value) -> Option<Said> {
        let error = value.get("error").filter(|error| error.is_object()).unwrap_or(value);
        let message = match value.get("error").and_then(Value::as_str) {
            Some(message) => message,
            None => json::text(error, "message")?,
        };
        let word = |key: &str| json::text(error, key).map(str::to_lowercase);
        let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
        let reason = |detail| json::text(detail, "reason").map(str::to_lowercase);
        let reasons = details.clone().filter_map(reason);
        let general = ["code", "type", "status"].into_iter().filter_map(word);
        let words = reasons.chain(general).collect();
        let delay = details.clone().find_map(|detail| seconds(json::text(detail, "retryDelay")?));
        Some(Said { words, message: message.to_owned(), delay })
    }

    /// Google says it in a field, OpenAI in a sentence.
    fn retry_after(&self) -> Option<Duration> {
        let sentence = || {
            let rest = self.message.split("try again in ").nth(1)?;
            seconds(rest.split_whitespace().next()?.trim_end_matches('.'))
        };
        self.delay.or_else(sentence)
    }
}

/// `1.5s`, `20ms`.
fn seconds(text: &str) -> Option<Duration> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s')?, 1.0),
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit).ok()
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let number = |name: &str, unit: f64| {
        let number: f64 = text(name)?.trim().parse().ok()?;
        Duration::try_from_secs_f64(number * unit).ok()
    };
    // Measured by the server's own clock where it says what that shows; a date that has passed
    // means now.
    let until_date = || {
        let date = |name: &str| httpdate::parse_http_date(text(name)?.trim()).ok();
        let now = date("date").unwrap_or_else(SystemTime::now);
        Some(date("retry-after")?.duration_since(now).unwrap_or_default())
    };
    number("retry-after-ms", 1e-3).or_else(|| number("retry-after", 1.0)).or_else(until_date)
}

fn by_word(said: &Said, retry_after: Option<Duration>) -> Option<StreamErrorKind> {
    let message = said.message.to_lowercase();
    let too_long = [
        "prompt is too long",
        "context_length_exceeded",
        "maximum context length",
        "exceeds the maximum number of tokens",
        "exceed context limit",
        "context window",
    ];
    if said.words.iter().any(|word| word == "context_length_exceeded")
        || too_long.iter().any(|words| message.contains(words))
    {
        return Some(StreamErrorKind::ContextTooLong);
    }
    said.words.iter().find_map(|word| {
        Some(match word.as_str() {
            "insufficient_quota" | "billing_error" | "usage_not_included" => StreamErrorKind::Quota,
            "rate_limit_error" | "rate_limit_exceeded" | "resource_exhausted" => {
                StreamErrorKind::RateLimited { retry_after }
            }
            "overloaded_error" | "server_is_overloaded" | "slow_down" | "unavailable" => {
                StreamErrorKind::Overloaded { retry_after }
            }
            "authentication_error"
            | "permission_error"
            | "invalid_api_key"
            | "api_key_invalid"
            | "unauthenticated"
            | "permission_denied" => StreamErrorKind::Authentication,
            "invalid_request_error"
            | "not_found_error"
            | "invalid_argument"
            | "not_found"
            | "failed_precondition" => StreamErrorKind::BadRequest,
            "request_too_large" => StreamErrorKind::ContextTooLong,
            "api_error" | "timeout_error" | "server_error" | "internal" | "deadline_exceeded" => {
                StreamErrorKind::Server
            }
            _ => return None,
        })
    })
}

fn by_status(status: u16, retry_after: Option<Duration>) -> StreamErrorKind {
    match status {
        401 | 403 => StreamErrorKind::Authentication,
        402 => StreamErrorKind::Quota,
        413 => StreamErrorKind::ContextTooLong,
        429 => StreamErrorKind::RateLimited { retry_after },
        503 | 529 => StreamErrorKind::Overloaded { retry_after },
        408 | 409 | 500.. => StreamErrorKind::Server,
        _ => StreamErrorKind::BadRequest,
    }
}

fn advise(error: StreamError) -> StreamError {
    if let Some(wait) = error.kind.retry_after().filter(|wait| wait.as_secs() > 0) {
        let hint = "try again then, or choose another model";
        return error.hint(format!("the provider asks to wait {} s; {hint}", wait.as_secs()));
    }
    let hint = match &error.kind {
        StreamErrorKind::Authentication => "check the API key and its permissions",
        StreamErrorKind::Quota => {
            "billing: the account is out of credit, or the plan lacks this model; check it with the vendor"
        }
        StreamErrorKind::ContextTooLong => "start a new session, or shorten the conversation",
        StreamErrorKind::BadRequest => "check the model name and the parameters",
        StreamErrorKind::RateLimited { .. }
        | StreamErrorKind::Overloaded { .. }
        | StreamErrorKind::Server => "wait and try again, or choose another model",
        StreamErrorKind::Truncated
        | StreamErrorKind::IdleTimeout
        | StreamErrorKind::Connection
        | StreamErrorKind::TooLarge
        | StreamErrorKind::Malformed
        | StreamErrorKind::Cancelled => return error,
    };
    error.hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (name.parse().unwrap(), value.parse().unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    const BY_DATE: &[(&str, &str)] = &[
        ("date", "Wed, 21 Oct 2065 07:28:00 GMT"),
        ("retry-after", "Wed, 21 Oct 2065 07:29:30 GMT"),
    ];

    #[test]
    fn statuses_and_words_become_kinds() {
        let waits = |seconds: f64| Some(Duration::from_secs_f64(seconds));
        let limited = |after| StreamErrorKind::RateLimited { retry_after: after };
        let none = &[][..];
        type Case = (u16, &'static [(&'static str, &'static str)], &'static str, StreamErrorKind);
        let cases: Vec<Case> = vec![
            (429, &[("retry-after", "3")], "slow down", limited(waits(3.0))),
            (429, &[("retry-after-ms", "250"), ("retry-after", "9")], "{}", limited(waits(0.25))),
            (429, BY_DATE, "{}", limited(waits(90.0))),
            (429, &[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")], "{}", limited(waits(0.0))),
            (429, &[("retry-after", "soon")], "{}", limited(None)),
            (
                429,
                none,
                r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#,
                StreamErrorKind::Quota,
            ),
            (
                429,
                none,
                r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"m","details":[{"retryDelay":"34s"}]}}]"#,
                limited(waits(34.0)),
            ),
            (
                429,
                none,
                r#"{"error":{"code":"rate_limit_exceeded","message":"Please try again in 1.5s."}}"#,
                limited(waits(1.5)),
            ),
            (529, none, "", StreamErrorKind::Overloaded { retry_after: None }),
            (500, none, "<html>", StreamErrorKind::Server),
            (401, none, r#"{"error":"no"}"#, StreamErrorKind::Authentication),
            (
                401,
                none,
                r#"{"error":{"type":"invalid_request_error","message":"no key"}}"#,
                StreamErrorKind::Authentication,
            ),
            (
                400,
                none,
                r#"[{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
                StreamErrorKind::Authentication,
            ),
            (
                404,
                none,
                r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#,
                StreamErrorKind::BadRequest,
            ),
            (
                400,
                none,
                r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens"}}"#,
                StreamErrorKind::ContextTooLong,
            ),
            (
                400,
                none,
                r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
                StreamErrorKind::ContextTooLong,
            ),
        ];
        for (status, pairs, body, kind) in cases {
            assert_eq!(of_status(status, &headers(pairs), body).kind, kind, "{status} {body}");
        }
    }

    #[test]
    fn hints_say_what_to_do() {
        let hour = &[("retry-after", "3600")][..];
        let vendors = r#"{"error":{"type":"not_found_error","message":"model: x"}}"#;
        let cases = [
            (404, &[][..], vendors, "check the model name and the parameters"),
            (404, &[][..], "404 page not found", ELSEWHERE),
            (301, &[][..], "", ELSEWHERE),
            (
                429,
                hour,
                "{}",
                "the provider asks to wait 3600 s; try again then, or choose another model",
            ),
        ];
        for (status, pairs, body, hint) in cases {
            let error = of_status(status, &headers(pairs), body);
            assert_eq!(error.hint.as_deref(), Some(hint), "{status} {body}");
        }
    }

    #[test]
    fn failures_within_a_stream() {
        let cases = [
            (
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
                "overloaded",
            ),
            (json!({"type": "error", "code": "server_error", "message": "oops"}), "server_error"),
            (json!({"error": {"message": "bad", "type": "invalid_request_error"}}), "bad_request"),
            (json!({"strange": 1}), "server_error"),
        ];
        for (value, kind) in cases {
            assert_eq!(in_stream(&value).kind.name(), kind, "{value}");
        }
    }
}
