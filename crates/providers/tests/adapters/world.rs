//! A conversation with the scripted server, driven the way the agent drives it.

use std::time::Duration;

use futures_util::StreamExt;
use jm_providers::{ClientSettings, ModelClient, ModelRequest, Parameters, Retry, Thinking, Wire};
use jm_script::{Script, ScriptedModel};
use jm_types::{
    Assembly, Cancel, Message, MessageRole, Part, StreamError, StreamEvent, ToolDefinition, Turn,
};
use serde_json::json;

/// One answer: its events, what they fold to, and the error that ended it, if one did.
pub(crate) struct Heard {
    pub(crate) events: Vec<StreamEvent>,
    pub(crate) turn: Turn,
    pub(crate) error: Option<StreamError>,
}

impl Heard {
    /// How it ended, in one word.
    pub(crate) fn end(&self) -> String {
        match (&self.error, &self.turn.stop) {
            (Some(error), _) => error.kind.name().to_owned(),
            (None, Some(stop)) => format!("{stop:?}"),
            (None, None) => "nothing".to_owned(),
        }
    }

    pub(crate) fn retries(&self) -> usize {
        let retrying = |event: &&StreamEvent| matches!(event, StreamEvent::Retrying { .. });
        self.events.iter().filter(retrying).count()
    }
}

pub(crate) async fn listen(voice: &ModelClient, request: ModelRequest) -> Heard {
    listen_until(voice, request, Cancel::new()).await
}

pub(crate) async fn listen_until(
    voice: &ModelClient,
    request: ModelRequest,
    cancel: Cancel,
) -> Heard {
    let mut stream = voice.stream(request, cancel);
    let mut assembly = Assembly::new();
    let (mut events, mut error) = (Vec::new(), None);
    while let Some(item) = stream.next().await {
        match item {
            Ok(event) => {
                events.push(event.clone());
                assembly.push(event);
            }
            Err(failure) => error = Some(failure),
        }
    }
    Heard { events, turn: assembly.finish(), error }
}

/// Waits that tests can afford, and no chance in them.
pub(crate) fn settings() -> ClientSettings {
    let mut settings = ClientSettings::new(std::collections::BTreeMap::new()).unwrap();
    settings.retry = Retry { attempts: 3, first: Duration::from_millis(1), ..Retry::default() };
    settings
}

pub(crate) async fn scripted(text: &str, wire: Wire) -> ScriptedModel {
    let script = Script::parse(text).unwrap().in_wire(wire);
    ScriptedModel::start(script, &settings()).await.unwrap()
}

/// The request of an agent: two tools, given in no particular order.
pub(crate) fn request(text: &str) -> ModelRequest {
    let tool = |name: &str, parameters| ToolDefinition {
        name: name.to_owned(),
        description: format!("Does {name}."),
        parameters,
        strict: None,
    };
    ModelRequest {
        system: "You are a careful engineer.".to_owned(),
        messages: vec![Message::user(text)].into(),
        tools: vec![
            tool(
                "read_file",
                json!({"type": "object", "required": ["path"], "properties": {
                    "path": {"type": "string", "description": "Where"},
                    "limit": {"type": "integer", "minimum": 1},
                }, "additionalProperties": false}),
            ),
            tool(
                "list_files",
                json!({"type": "object", "properties": {
                    "env": {"type": "object", "additionalProperties": {"type": "string"}},
                }}),
            ),
        ]
        .into(),
        parameters: Parameters {
            max_tokens: Some(4096),
            thinking: Some(Thinking::Medium),
            ..Parameters::default()
        },
        conversation: Some("conversation-1".to_owned()),
        ..ModelRequest::default()
    }
}

/// The results of a turn's calls, in order; the second of a batch failed.
pub(crate) fn results(turn: &Turn) -> Message {
    let parts = turn.message.calls().enumerate().map(|(place, call)| Part::Result {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: format!("result {place} of {} {}", call.name, call.arguments),
        is_error: place == 1,
    });
    Message { role: MessageRole::User, parts: parts.collect() }
}

/// Goes on until the model has nothing left to call.
pub(crate) async fn converse(
    client: &ModelClient,
    mut request: ModelRequest,
) -> (ModelRequest, Vec<Heard>) {
    let mut heard = Vec::new();
    loop {
        let answer = listen(client, request.clone()).await;
        assert_eq!(answer.error, None);
        request.messages.push(answer.turn.message.clone());
        let calls = answer.turn.message.calls().count();
        if calls > 0 {
            request.messages.push(results(&answer.turn));
        }
        heard.push(answer);
        if calls == 0 {
            return (request, heard);
        }
    }
}
