//! One line of a client as a message: JSON-RPC 2.0, requests, notifications and answers.
//!
//! Law: whatever a line holds, a request in it gets one answer, and a line that is none costs nothing but an error.

use agent_client_protocol_schema::v1::{
    CancelNotification, CancelRequestNotification, ClientRequest, Error, RequestId, SessionId,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A message that the agent has to act on.
#[derive(Debug)]
pub enum ClientMessage {
    /// Waits for an answer with this id.
    Request {
        /// Of the answer.
        id: RequestId,
        /// The method with its parameters.
        request: Box<ClientRequest>,
    },
    /// The turn of a session shall stop.
    Cancel {
        /// The session.
        session: SessionId,
    },
    /// A request shall stop.
    CancelRequest {
        /// The id of the request.
        request: RequestId,
    },
}

/// A line as it was understood.
#[derive(Debug)]
pub(crate) enum ClientLine {
    Message(ClientMessage),
    /// The answer to a request of ours.
    Answer {
        id: i64,
        answer: Result<Value, Error>,
    },
    /// Answered with an error, for this id.
    Faulty {
        id: RequestId,
        error: Error,
    },
    /// Nothing that concerns us.
    Ignored,
}

#[derive(Debug, Deserialize)]
struct RawLine {
    #[serde(default, deserialize_with = "present")]
    id: Option<RequestId>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Error>,
}

/// A member that is there, `null` too.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads one line.
pub(crate) fn read_line(line: &[u8]) -> ClientLine {
    if line.iter().all(u8::is_ascii_whitespace) {
        return ClientLine::Ignored;
    }
    let raw = match raw_line(line) {
        Ok(raw) => raw,
        Err(error) => return ClientLine::Faulty { id: RequestId::Null, error },
    };
    match (raw.method, raw.id) {
        (Some(method), Some(id)) => match request(&method, raw.params.as_deref()) {
            Ok(request) => {
                ClientLine::Message(ClientMessage::Request { id, request: Box::new(request) })
            }
            Err(error) => ClientLine::Faulty { id, error },
        },
        (Some(method), None) => notification(&method, raw.params.as_deref()),
        (None, Some(RequestId::Number(id))) => match (raw.error, raw.result) {
            (Some(error), _) => ClientLine::Answer { id, answer: Err(error) },
            (None, result) => ClientLine::Answer { id, answer: Ok(result.unwrap_or(Value::Null)) },
        },
        // We ask with numbers only.
        (None, Some(_)) => ClientLine::Ignored,
        (None, None) => ClientLine::Faulty { id: RequestId::Null, error: Error::invalid_request() },
    }
}

/// An object; batches are no part of the protocol.
fn raw_line(line: &[u8]) -> Result<RawLine, Error> {
    let raw: Box<RawValue> = serde_json::from_slice(line)
        .map_err(|error| Error::parse_error().data(error.to_string()))?;
    if !raw.get().starts_with('{') {
        return Err(Error::invalid_request().data("a message is a JSON object"));
    }
    serde_json::from_str(raw.get())
        .map_err(|error| Error::invalid_request().data(error.to_string()))
}

fn params<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, Error> {
    let text = params.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| Error::invalid_params().data(error.to_string()))
}

fn request(method: &str, raw: Option<&RawValue>) -> Result<ClientRequest, Error> {
    use ClientRequest as Asks;
    Ok(match method {
        "initialize" => Asks::InitializeRequest(params(raw)?),
        "authenticate" => Asks::AuthenticateRequest(params(raw)?),
        "logout" => Asks::LogoutRequest(params(raw)?),
        "session/new" => Asks::NewSessionRequest(params(raw)?),
        "session/load" => Asks::LoadSessionRequest(params(raw)?),
        "session/resume" => Asks::ResumeSessionRequest(params(raw)?),
        "session/list" => Asks::ListSessionsRequest(params(raw)?),
        "session/delete" => Asks::DeleteSessionRequest(params(raw)?),
        "session/close" => Asks::CloseSessionRequest(params(raw)?),
        "session/set_mode" => Asks::SetSessionModeRequest(params(raw)?),
        "session/set_config_option" => Asks::SetSessionConfigOptionRequest(params(raw)?),
        "session/prompt" => Asks::PromptRequest(params(raw)?),
        _ => return Err(Error::method_not_found().data(method.to_owned())),
    })
}

/// A notification has no answer, so one that is not understood is left alone.
fn notification(method: &str, raw: Option<&RawValue>) -> ClientLine {
    let message = match method {
        "session/cancel" => params::<CancelNotification>(raw)
            .ok()
            .map(|cancel| ClientMessage::Cancel { session: cancel.session_id }),
        "$/cancel_request" => params::<CancelRequestNotification>(raw)
            .ok()
            .map(|cancel| ClientMessage::CancelRequest { request: cancel.request_id }),
        _ => None,
    };
    message.map_or(ClientLine::Ignored, ClientLine::Message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        match read_line(line.as_bytes()) {
            ClientLine::Message(ClientMessage::Request { id, request }) => {
                format!("request {id} {}", request.method())
            }
            ClientLine::Message(ClientMessage::Cancel { session }) => format!("cancel {session}"),
            ClientLine::Message(ClientMessage::CancelRequest { request }) => {
                format!("cancel request {request}")
            }
            ClientLine::Answer { id, answer: Ok(value) } => format!("answer {id} {value}"),
            ClientLine::Answer { id, answer: Err(error) } => {
                format!("answer {id} {}", error.message)
            }
            ClientLine::Faulty { id, error } => format!("faulty {id} {}", error.message),
            ClientLine::Ignored => "ignored".to_owned(),
        }
    }

    #[test]
    fn every_line_is_understood_or_refused() {
        let cases = [
            (r#"{"jsonrpc":"2.0","id":0,"method":"session/list"}"#, "request 0 session/list"),
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":1}}"#,
                "request a initialize",
            ),
            (r#"{"jsonrpc":"2.0","id":null,"method":"session/list"}"#, "request null session/list"),
            (
                r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#,
                "cancel s",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}"#,
                "cancel request 3",
            ),
            (r#"{"jsonrpc":"2.0","method":"session/cancel","params":{}}"#, "ignored"),
            (r#"{"jsonrpc":"2.0","method":"_private/thing"}"#, "ignored"),
            (r#"{"jsonrpc":"2.0","id":7,"result":null}"#, "answer 7 null"),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"no"}}"#, "answer 7 no"),
            (r#"{"jsonrpc":"2.0","id":"x","result":1}"#, "ignored"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#, "faulty 1 Method not found"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":1}}"#,
                "faulty 1 Invalid params",
            ),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"initialize"}]"#, "faulty null Invalid request"),
            ("[1]", "faulty null Invalid request"),
            ("{}", "faulty null Invalid request"),
            ("not json", "faulty null Parse error"),
            ("  ", "ignored"),
        ];
        for (line, expected) in cases {
            assert_eq!(told(line), expected, "{line}");
        }
    }
}
