//! OpenAI's Responses.

use jm_providers::Wire;

use super::check;

#[test]
fn responses_as_they_come() {
    let done = r#"{"type":"response.completed","response":{"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4}}}}"#;
    let item = |event: &str, index: usize, item: &str| {
        format!(r#"{{"type":"response.output_item.{event}","output_index":{index},"item":{item}}}"#)
    };
    let delta = |index: usize, text: &str| {
        format!(
            r#"{{"type":"response.function_call_arguments.delta","output_index":{index},"delta":{text}}}"#
        )
    };
    let added = |index: usize, id: &str| {
        item(
            "added",
            index,
            &format!(r#"{{"type":"function_call","call_id":"{id}","name":"f","arguments":""}}"#),
        )
    };
    let call = |id: &str, arguments: &str, status: &str| {
        format!(
            r#"{{"type":"function_call","id":"fc_{id}","call_id":"{id}","name":"f","arguments":{arguments},"status":"{status}"}}"#
        )
    };
    check(
        Wire::OpenaiResponses,
        &[
            (
                "interleaved calls",
                &[
                    &added(0, "a"),
                    &added(1, "b"),
                    &delta(1, r#""{\"y\":""#),
                    &delta(0, r#""{\"x\":1}""#),
                    &delta(1, r#""2}""#),
                    &item("done", 1, &call("b", r#""{\"y\":2}""#, "completed")),
                    &item("done", 0, &call("a", r#""{\"x\":1}""#, "completed")),
                    done,
                ],
                r#"call!(a f {"x":1}) call!(b f {"y":2}) ToolUse"#,
            ),
            (
                "only whole items",
                &[
                    &item("done", 0, &call("a", r#""{}""#, "completed")),
                    &item(
                        "done",
                        1,
                        r#"{"type":"message","content":[{"type":"output_text","text":"Hi"}]}"#,
                    ),
                    done,
                ],
                "call!(a f {}) text!(Hi) ToolUse",
            ),
            (
                "the whole item counts",
                &[
                    &added(0, "a"),
                    &delta(0, r#""{\"x\":0""#),
                    &item("done", 0, &call("a", r#""{\"x\":1}""#, "completed")),
                    done,
                ],
                r#"call!(a f {"x":1}) ToolUse"#,
            ),
            (
                "arguments that are an object",
                &[&item("done", 0, &call("a", r#"{"x":1}"#, "completed")), done],
                r#"call!(a f {"x":1}) ToolUse"#,
            ),
            (
                "a limit within a call",
                &[
                    &added(0, "a"),
                    &delta(0, r#""{\"x""#),
                    &item("done", 0, &call("a", r#""{\"x""#, "incomplete")),
                    r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}"#,
                ],
                "cut(a Limit) MaxTokens",
            ),
            (
                "a call that its item says is not whole",
                &[
                    &added(0, "a"),
                    &item("done", 0, &call("a", r#""{}""#, "incomplete")),
                    r#"{"type":"response.output_text.delta","output_index":1,"delta":"Hi"}"#,
                    done,
                ],
                "text(Hi) cut(a Stream) EndTurn",
            ),
            (
                "reasoning in two parts, and items of tomorrow",
                &[
                    r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"a"}"#,
                    r#"{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}"#,
                    r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"b"}"#,
                    &item(
                        "done",
                        0,
                        r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"x"}"#,
                    ),
                    &item("done", 1, r#"{"type":"news", "n":1.00}"#),
                    done,
                ],
                "think!(a\n\nb) opaque({\"type\":\"news\", \"n\":1.00}) EndTurn",
            ),
            (
                "a refusal",
                &[r#"{"type":"response.refusal.delta","output_index":0,"delta":"No"}"#, done],
                "text(No) Refusal",
            ),
            (
                "a filter",
                &[
                    r#"{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}"#,
                ],
                "Refusal",
            ),
            ("no end", &[&added(0, "a"), "[DONE]"], "cut(a Stream) no end + truncated"),
            (
                "a failure",
                &[
                    r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"try again in 2s"}}}"#,
                ],
                "no end + rate_limited",
            ),
            (
                "an error",
                &[r#"{"type":"error","code":"context_length_exceeded","message":"x"}"#],
                "no end + context_too_long",
            ),
        ],
    );
}
