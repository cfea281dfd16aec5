//! The parts of a conversation that go to another model.

use jm_providers::Recipient;
use jm_providers::{ModelInfo, ModelRequest, Wire};
use jm_types::{Message, MessageRole, Native, Part, ToolCall};

use super::world::{converse, listen, request, scripted};

const SCRIPT: &str = r#"
[[turn]]
steps = [
  { thinking = "Hm." },
  { text = "I look." },
  { call = "read_file", args = { path = "a" } },
]
[[turn]]
steps = [{ text = "Done." }]
"#;

/// A conversation that began with one vendor goes on with any other: what the first signed stays
/// away, what was said goes along, and the new vendor accepts it.
#[tokio::test]
async fn a_conversation_can_change_its_model() {
    for from in Wire::ALL {
        let (mut begun, _) = converse(&*scripted(SCRIPT, from).await, request("Go.")).await;
        begun.messages.push(Message::user("And now?"));
        for to in Wire::ALL {
            let client = scripted("[[turn]]\nsteps = [{ text = \"Hello.\" }]\n", to).await;
            let heard = listen(&client, begun.clone()).await;
            assert_eq!(heard.error, None, "{from:?} to {to:?}");
            let sent = client.server.requests().remove(0);
            assert!(sent.contains("I look."), "{from:?} to {to:?}: {sent}");
            let leaked =
                from != to && (sent.contains("Hm.") || sent.contains("signature\":\"sign"));
            assert!(!leaked, "{from:?} to {to:?}: {sent}");
        }
    }
}

fn encoded(wire: Wire, request: &ModelRequest, model: &str) -> String {
    let reader = Recipient { provider: wire.provider(), model, info: &ModelInfo::default() };
    wire.encode(request, reader).unwrap()
}

/// A vendor's item goes back as the bytes that came, to the model that made it and no other.
#[test]
fn a_sealed_item_goes_back_byte_for_byte() {
    let raw = r#"{"type" : "sealed","n":1.00,"big":123456789012345678901234567890,"e":"\u00e9\/"}"#;
    for wire in [Wire::Anthropic, Wire::OpenaiResponses, Wire::Gemini] {
        let native = Native {
            provider: wire.provider().to_owned(),
            model: "m".to_owned(),
            raw: raw.to_owned(),
        };
        let mut asked = request("Go.");
        let parts = vec![Part::Opaque { native }, Part::text("Hi")];
        asked.messages.push(Message { role: MessageRole::Assistant, parts });
        asked.messages.push(Message::user("On."));
        assert!(encoded(wire, &asked, "m").contains(raw), "{wire:?}");
        assert!(!encoded(wire, &asked, "other").contains("sealed"), "{wire:?}");
    }
}

/// Arguments go back as they were written, and what is no object is shown to the model as such.
#[test]
fn arguments_go_back_as_they_were_written() {
    let cases = [
        (r#"{"n": 1.00,"b":2}"#, r#""input":{"n": 1.00,"b":2}"#),
        ("{\"half", r#""input":{"invalid_arguments":"{\"half"}"#),
        ("[1]", r#""input":{"invalid_arguments":"[1]"}"#),
    ];
    for (arguments, expected) in cases {
        let mut asked = request("Go.");
        let call = ToolCall {
            id: "a".to_owned(),
            name: "read_file".to_owned(),
            arguments: arguments.to_owned(),
        };
        let parts = vec![Part::Call { call, native: None }];
        asked.messages.push(Message { role: MessageRole::Assistant, parts });
        let body = encoded(Wire::Anthropic, &asked, "m");
        assert!(body.contains(expected), "{body}");
    }
}

/// The prompt cache of a vendor finds the beginning again: what was sent once is sent the same.
#[tokio::test]
async fn a_longer_history_begins_with_the_same_bytes() {
    for wire in Wire::ALL {
        let client = scripted(SCRIPT, wire).await;
        converse(&client, request("Go.")).await;
        let requests = client.server.requests();
        // Breakpoints move; they are not part of what is cached.
        let plain = |body: &String| body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
        let (first, second) = (plain(&requests[0]), plain(&requests[1]));
        let until = first.find("Go.").unwrap() + 3;
        assert_eq!(first[..until], second[..until], "{wire:?}");
    }
}

/// A conversation in the midst of calls goes on with a model that must begin with a thought.
#[tokio::test]
async fn another_models_calls_are_answered_without_thinking() {
    let mut asked = request("Go.");
    asked.parameters.thinking = None;
    asked.parameters.thinking_budget = Some(2048);
    let call =
        ToolCall { id: "a".to_owned(), name: "read_file".to_owned(), arguments: "{}".to_owned() };
    let parts = vec![Part::Call { call, native: None }];
    asked.messages.push(Message { role: MessageRole::Assistant, parts });
    let client = scripted("[[turn]]\nsteps = [{ text = \"Hello.\" }]\n", Wire::Anthropic).await;
    let heard = listen(&client, asked.clone()).await;
    assert_eq!(heard.error, None);
    assert!(encoded(Wire::Anthropic, &asked, "m").contains(r#""thinking":{"type":"disabled"}"#));
    asked.messages.truncate(1);
    assert!(encoded(Wire::Anthropic, &asked, "m").contains(r#""budget_tokens":2048"#));
}
