//! OfferedTools for a model that has none: it asks in fenced `tool-call` blocks and is answered in
//! `tool-result` blocks (FJ-PROTO-01..03). To everybody else it is a model like any other.

mod reader;

use futures_util::StreamExt;
use futures_util::stream::iter;
use jm_types::text::fence_for;
use jm_types::{Message, Part, ToolCall, ToolDefinition};
use serde_json::{Value, json};

use crate::event_stream::EventStream;
use crate::request::ModelRequest;
use crate::tools::OfferedTools;
use reader::FencedReader;

const RULES: &str = "\
# OfferedTools

You may use the tools below. To use one, write a fenced block that holds one JSON object:

```tool-call
{\"id\": \"1\", \"name\": \"NAME\", \"args\": {}}
```

One call a block; several blocks are run in order. Give every call an id of its own. After your calls, \
stop: each is answered by a `tool-result` block with the same id. Never write a `tool-result` block \
yourself.";

/// For a set whose calls may say more of themselves (FJ-PROTO-01).
const META: &str = "\
Beside `args` a call may have `meta`: {\"cwd\": \"DIRECTORY\", \"timeout\": SECONDS}. Its paths then count \
from that directory of the project, and it may take no longer than that.";

/// The right of a call to have `meta` beside its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallMeta {
    /// A call has arguments only.
    #[default]
    None,
    /// The instructions tell the model of `meta`.
    Offered,
}

/// The request for a model that reads and writes text only.
pub(crate) fn as_text(mut request: ModelRequest, meta: CallMeta) -> ModelRequest {
    if request.tools.is_empty() {
        return request;
    }
    let tools: Vec<String> = request.tools.iter().map(describe).collect();
    let meta = match meta {
        CallMeta::None => String::new(),
        CallMeta::Offered => format!("\n\n{META}"),
    };
    request.system = format!("{}\n\n{RULES}{meta}\n\n{}", request.system, tools.join("\n\n"));
    request.tools = OfferedTools::default();
    for message in request.messages.iter_mut() {
        message.parts = told(message);
    }
    request
}

/// The answer with the blocks in its text made calls.
pub(crate) fn read(stream: EventStream) -> EventStream {
    let mut reader = FencedReader::default();
    Box::pin(stream.flat_map(move |item| match item {
        Ok(event) => iter(reader.event(event).into_iter().map(Ok).collect::<Vec<_>>()),
        Err(error) => iter(vec![Err(error)]),
    }))
}

fn describe(tool: &ToolDefinition) -> String {
    let schema = fenced("json", &tool.parameters.to_string());
    format!("## {}\n\n{}\n\n{schema}", tool.name, tool.description)
}

fn told(message: &Message) -> Vec<Part> {
    let part = |part: &Part| match part {
        Part::Call { call, .. } => Part::text(format!("\n{}\n", call_block(call))),
        Part::Result { call_id, name, content, is_error } => {
            let block = result_block(call_id, name, content, *is_error);
            Part::text(format!("{block}\n"))
        }
        // Its vendor's item holds the blocks that stand here as calls.
        Part::Text { text, .. } => Part::text(text.clone()),
        Part::Image { .. } | Part::Thinking { .. } | Part::Opaque { .. } => part.clone(),
    };
    message.parts.iter().map(part).collect()
}

fn call_block(call: &ToolCall) -> String {
    if let Some(no_call) = call.no_call() {
        return fenced("tool-call", &no_call.written);
    }
    let args: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
    fenced("tool-call", &json!({"id": call.id, "name": call.name, "args": args}).to_string())
}

fn result_block(id: &str, name: &str, content: &str, is_error: bool) -> String {
    if is_envelope(content, id) {
        return fenced("tool-result", content);
    }
    let result = match is_error {
        false => json!({"id": id, "name": name, "ok": true, "result": content}),
        true => json!({
            "id": id, "name": name, "ok": false,
            "error": {"type": "process-error", "message": content},
        }),
    };
    fenced("tool-result", &result.to_string())
}

/// True if a toolset's own envelope is this block already (FJ-PROTO-02).
fn is_envelope(content: &str, id: &str) -> bool {
    let value: Option<Value> = serde_json::from_str(content).ok();
    value.is_some_and(|value| value["id"] == id && value["ok"].is_boolean())
}

fn fenced(kind: &str, text: &str) -> String {
    let fence = fence_for(text);
    format!("{fence}{kind}\n{text}\n{fence}")
}

#[cfg(test)]
mod tests;
