//! A model without tools of its own.

use jm_providers::Wire;

use super::world::{converse, request, scripted};

/// FJ-PROTO-03: a whole loop with a model that has no tools of its own, in every language.
#[tokio::test]
async fn a_model_without_tools_asks_in_fenced_blocks() {
    let script = r#"
fenced = true
[[turn]]
expect = { system_contains = ["```tool-call", "Does read_file."] }
steps = [{ text = "I look.\n```tool-call\n{\"id\":\"1\",\"name\":\"read_file\",\"args\":{\"path\":\"a\"}}\n```\n" }]
[[turn]]
expect = { user_contains = ["```tool-result", "result 0 of read_file {\\\"path\\\":\\\"a\\\"}"] }
steps = [{ text = "Done." }]
"#;
    for wire in Wire::ALL {
        let client = scripted(script, wire).await;
        let (_, heard) = converse(&client, request("Go.")).await;
        assert_eq!(heard.len(), 2, "{wire:?}");
        assert_eq!(heard[0].turn.message.text(), "I look.\n", "{wire:?}");
        assert_eq!(heard[1].turn.message.text(), "Done.", "{wire:?}");
        let second = client.server.requests().remove(1);
        assert!(!second.contains("\"tools\""), "{wire:?}: {second}");
    }
}
