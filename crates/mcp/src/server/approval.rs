//! The question to a client whether a call may run: by elicitation, within the call or as a round of its own.
//!
//! Law: only a form that says so in the very word is a yes. Declined, cancelled, malformed, late: all no.

use std::pin::Pin;
use std::time::Duration;

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest,
    InputRequiredResult, InputResponses,
};
use rmcp::service::{Peer, RoleServer};
use serde_json::{Value, json};

/// The one word that is a yes.
const YES: &str = "allow once";
const NO: &str = "deny";
/// The key of the question in a round of input.
const KEY: &str = "approval";
/// The longest that a person may take to answer within a call.
const PATIENCE: Duration = Duration::from_secs(600);

/// A client's answer, as far as it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAnswer {
    /// The person behind the client said yes.
    Approved,
    /// Any other answer, and none.
    Denied,
}

/// The answer of a round, with the state that names what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundAnswer {
    /// The token of the question.
    pub state: String,
    /// The answer as far as it counts.
    pub answer: ClientAnswer,
}

/// The way to ask a client.
#[derive(Debug, Clone)]
pub enum AskClient {
    /// It cannot be asked.
    Never,
    /// Within the call, up to 2025-11-25.
    Within(WithinCall),
    /// By a round of its own, since 2026-07-28: the answer of the round before, if this is the second.
    InRounds(Option<RoundAnswer>),
}

/// Asks within the call.
#[derive(Debug, Clone)]
pub struct WithinCall(pub(super) Peer<RoleServer>);

impl WithinCall {
    /// Sends the question and waits; silence is a no.
    pub fn ask(&self, question: String) -> Pin<Box<dyn Future<Output = ClientAnswer> + Send>> {
        let peer = self.0.clone();
        Box::pin(async move {
            let Some(params) = form(&question) else { return ClientAnswer::Denied };
            let asked = peer.create_elicitation_with_timeout(params, Some(PATIENCE)).await;
            asked.map_or(ClientAnswer::Denied, |result| judge(&result))
        })
    }
}

fn form(question: &str) -> Option<ElicitRequestParams> {
    let decision = json!({"type": "string", "title": "Decision", "enum": [YES, NO]});
    let schema = json!({
        "type": "object", "properties": {"decision": decision}, "required": ["decision"],
    });
    let form = json!({"mode": "form", "message": question, "requestedSchema": schema});
    serde_json::from_value(form).ok()
}

fn judge(result: &ElicitResult) -> ClientAnswer {
    let decision = result.content.as_ref().and_then(|content| content["decision"].as_str());
    match (&result.action, decision) {
        (ElicitationAction::Accept, Some(YES)) => ClientAnswer::Approved,
        _ => ClientAnswer::Denied,
    }
}

/// The result that asks for a round.
pub(super) fn round(question: &str, state: String) -> Option<InputRequiredResult> {
    let request = InputRequest::Elicitation(ElicitRequest::new(form(question)?));
    let requests = [(KEY.to_owned(), request)].into_iter().collect();
    Some(InputRequiredResult::new(Some(requests), Some(state)))
}

/// The answer that a second request carries.
pub(super) fn round_answer(
    state: Option<String>,
    responses: Option<&InputResponses>,
) -> Option<RoundAnswer> {
    let state = state?;
    let given: Option<&Value> = responses.and_then(|responses| responses.get(KEY));
    let given = given.and_then(|value| serde_json::from_value::<ElicitResult>(value.clone()).ok());
    let answer = given.map_or(ClientAnswer::Denied, |result| judge(&result));
    Some(RoundAnswer { state, answer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_word_is_a_yes() {
        use ClientAnswer::{Approved, Denied};
        for (given, expected) in [
            (r#"{"action":"accept","content":{"decision":"allow once"}}"#, Approved),
            (r#"{"action":"accept","content":{"decision":"deny"}}"#, Denied),
            (r#"{"action":"accept","content":{"decision":"Allow Once"}}"#, Denied),
            (r#"{"action":"accept","content":{"decision":true}}"#, Denied),
            (r#"{"action":"accept","content":{}}"#, Denied),
            (r#"{"action":"accept"}"#, Denied),
            (r#"{"action":"decline","content":{"decision":"allow once"}}"#, Denied),
            (r#"{"action":"cancel"}"#, Denied),
            (r#"{"action":"yes"}"#, Denied),
            ("true", Denied),
        ] {
            let responses: InputResponses =
                [("approval".to_owned(), serde_json::from_str(given).unwrap())].into();
            let answer = round_answer(Some("s".to_owned()), Some(&responses)).unwrap();
            assert_eq!(answer, RoundAnswer { state: "s".to_owned(), answer: expected }, "{given}");
        }
        assert_eq!(round_answer(None, None), None);
        let none = round_answer(Some("s".to_owned()), None).map(|answer| answer.answer);
        assert_eq!(none, Some(Denied));
        let asked = serde_json::to_value(round("May it?", "s".to_owned()).unwrap()).unwrap();
        assert_eq!(asked["inputRequests"]["approval"]["params"]["message"], "May it?");
    }
}
