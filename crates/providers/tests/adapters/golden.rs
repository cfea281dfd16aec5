//! One conversation in each language, request by request, byte for byte.

use std::path::PathBuf;

use jm_providers::{ModelClient, Wire};
use jm_types::{Message, MessageRole, Part, StopReason, Usage};

use super::world::{converse, listen, request, scripted};

const SCRIPT: &str = r#"
[[turn]]
expect = { user_contains = ["Compare"], system_contains = ["careful"], tools = ["read_file"] }
steps = [
  { thinking = "Two files: both can be read at once, I think." },
  { text = "I read both." },
  { call = "read_file", args = { path = "a.rs", limit = 3 } },
  { call = "list_files", args = {} },
]
usage = { input = 100, output = 40, cache_read = 20, reasoning = 10 }

[[turn]]
expect = { results_contain = ["result 0 of read_file", "result 1 of list_files"] }
steps = [{ text = "They are the same — Zoë says so." }]
usage = { input = 10, output = 9 }

[[turn]]
expect = { user_contains = ["Sure?"] }
steps = [{ text = "Yes." }]
"#;

/// The smallest picture.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async fn play(wire: Wire) -> (ModelClient, Vec<String>) {
    let client = scripted(SCRIPT, wire).await;
    let (mut request, heard) = converse(&client, request("Compare a.rs with the list.")).await;
    let first = &heard[0].turn;
    assert_eq!(first.message.calls().count(), 2, "{wire:?}");
    assert_eq!(first.message.text(), "I read both.", "{wire:?}");
    assert_eq!(first.stop, Some(StopReason::ToolUse), "{wire:?}");
    let thought = first.message.parts.first().unwrap();
    let said = "Two files: both can be read at once, I think.";
    assert!(
        matches!(thought, Part::Thinking { text, .. } if text == said),
        "{wire:?}: {thought:?}"
    );
    let usage = Usage { input: 100, output: 40, cache_read: 20, cache_write: 0, reasoning: 10 };
    assert_eq!(first.usage, usage, "{wire:?}");
    let last = &heard[1].turn;
    assert_eq!(last.message.text(), "They are the same — Zoë says so.", "{wire:?}");
    assert_eq!(last.stop, Some(StopReason::EndTurn), "{wire:?}");
    let picture = Part::Image { media_type: "image/png".to_owned(), data: PIXEL.to_owned() };
    let parts = vec![Part::text("Sure?"), picture];
    request.messages.push(Message { role: MessageRole::User, parts });
    assert_eq!(listen(&client, request).await.turn.message.text(), "Yes.", "{wire:?}");
    let requests = client.server.requests();
    (client.client, requests)
}

/// GO-MULTI, GO-STREAM, FL-PAR, FL-PROV, FL-STRICT: the whole conversation as each vendor gets it.
#[tokio::test]
async fn each_language_byte_for_byte() {
    for wire in Wire::ALL {
        let (_, requests) = play(wire).await;
        assert_eq!(requests.len(), 3);
        let (_, again) = play(wire).await;
        assert_eq!(requests, again, "{wire:?}: the same conversation is the same bytes");
        for (number, body) in requests.iter().enumerate() {
            check(&format!("{}.{}.json", wire.name(), number + 1), body);
        }
    }
}

fn check(name: &str, body: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("JM_WRITE_GOLDEN").is_some() {
        std::fs::write(&path, body).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(body, golden, "{name}; if this is right, run with JM_WRITE_GOLDEN=1");
}
