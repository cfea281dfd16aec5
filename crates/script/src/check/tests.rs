//! Histories that the vendors refuse, and the ones beside them that they accept.

use serde_json::{Value, json};

use super::*;

/// A conversation of one call and its result; `edit` makes it one that the vendor refuses.
fn check_edited(wire: Wire, edit: impl FnOnce(&mut Value)) -> Checked<()> {
    let mut body = match wire {
        Wire::Anthropic => json!({
            "model": "m", "max_tokens": 9, "stream": true,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "go"}]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "a", "name": "t", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": true},
                ]},
            ],
        }),
        Wire::OpenaiResponses => json!({
            "model": "m", "stream": true,
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
                {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "a", "output": "no"},
            ],
        }),
        Wire::OpenaiChat => json!({
            "model": "m", "stream": true,
            "messages": [
                {"role": "user", "content": "go"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "no"},
            ],
        }),
        Wire::Gemini => json!({
            "contents": [
                {"role": "user", "parts": [{"text": "go"}]},
                {"role": "model", "parts": [
                    {"text": "I look."},
                    {"functionCall": {"name": "t", "args": {}},
                     "thoughtSignature": "skip_thought_signature_validator"},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "t", "response": {"error": "no"}}},
                ]},
            ],
        }),
    };
    edit(&mut body);
    check(wire, &body, &Script::parse("").unwrap()).map(drop)
}

/// The vendor accepts the conversation, and refuses it with this edit for this reason.
fn refuses(wire: Wire, why: &str, edit: impl FnOnce(&mut Value)) {
    assert_eq!(check_edited(wire, |_| {}), Ok(()), "{wire:?}");
    let refused = check_edited(wire, edit).unwrap_err();
    assert!(refused.contains(why), "{wire:?}: {refused}");
}

#[test]
fn anthropic_refuses_what_is_empty_and_what_is_not_answered_at_once() {
    let wire = Wire::Anthropic;
    refuses(wire, "content cannot be empty if `is_error` is true", |body| {
        body["messages"][2]["content"][0]["content"] = json!("");
    });
    refuses(wire, "text content blocks must be non-empty", |body| {
        body["messages"][1]["content"][0]["text"] = json!(" \n");
    });
    refuses(wire, "every call needs one result", |body| {
        body["messages"][2]["content"] = json!([{"type": "text", "text": "later"}]);
    });
    refuses(wire, "`tool_use` ids must be unique", |body| {
        let call = body["messages"][1]["content"][1].clone();
        body["messages"][1]["content"].as_array_mut().unwrap().push(call);
    });
    let silent = check_edited(wire, |body| {
        let result = &mut body["messages"][2]["content"][0];
        *result = json!({"type": "tool_result", "tool_use_id": "a", "content": ""});
    });
    assert_eq!(silent, Ok(()), "a success may have nothing to say");
}

#[test]
fn openai_refuses_a_call_without_its_output_and_an_output_without_its_call() {
    refuses(Wire::OpenaiResponses, "every call needs one result", |body| {
        body["input"].as_array_mut().unwrap().pop();
    });
    refuses(Wire::OpenaiResponses, "no tool call found", |body| {
        body["input"].as_array_mut().unwrap().remove(1);
    });
    refuses(Wire::OpenaiResponses, "`output` must be a text", |body| {
        body["input"][2]["output"] = Value::Null;
    });
    refuses(Wire::OpenaiResponses, "an empty message", |body| {
        body["input"][0]["content"] = json!([]);
    });
    refuses(Wire::OpenaiChat, "every call needs one result", |body| {
        body["messages"][2] = json!({"role": "user", "content": "later"});
    });
    refuses(Wire::OpenaiChat, "which was not called", |body| {
        body["messages"][1] = json!({"role": "assistant", "content": "hm"});
    });
    refuses(Wire::OpenaiChat, "`content` must be a text", |body| {
        body["messages"][2]["content"] = Value::Null;
    });
    refuses(Wire::OpenaiChat, "too short", |body| {
        body["messages"][1] = json!({"role": "assistant", "content": "hm", "tool_calls": []});
        body["messages"].as_array_mut().unwrap().pop();
    });
}

#[test]
fn gemini_refuses_empty_parts_and_responses_that_do_not_match_the_calls() {
    let wire = Wire::Gemini;
    refuses(wire, "a part must hold something", |body| {
        body["contents"][1]["parts"][0]["text"] = json!("");
    });
    refuses(wire, "a part must hold something", |body| {
        body["contents"][0]["parts"][0]["text"] = json!("");
    });
    refuses(wire, "parts is empty", |body| body["contents"][0]["parts"] = json!([]));
    refuses(wire, "every call needs one result", |body| {
        let response = body["contents"][2]["parts"][0].clone();
        body["contents"][2]["parts"].as_array_mut().unwrap().push(response);
    });
    refuses(wire, "not the model", |body| {
        body["contents"].as_array_mut().unwrap().remove(1);
    });
}
