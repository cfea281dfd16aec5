//! Anthropic's Messages, and servers that imitate them.

use jm_providers::Wire;

use super::check;

#[test]
fn anthropic_as_it_and_its_imitators_write() {
    let stop = r#"{"type":"message_stop"}"#;
    let end = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#;
    let calls = r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#;
    let open = |index: usize, block: &str| {
        format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
    };
    let grow = |index: usize, delta: &str| {
        format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
    };
    let close = |index: usize| format!(r#"{{"type":"content_block_stop","index":{index}}}"#);
    let tool = open(0, r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#);
    check(
        Wire::Anthropic,
        &[
            (
                "interleaved blocks",
                &[
                    &tool,
                    &open(1, r#"{"type":"tool_use","id":"b","name":"g","input":{}}"#),
                    &grow(1, r#"{"type":"input_json_delta","partial_json":"{\"y\":"}"#),
                    &grow(0, r#"{"type":"input_json_delta","partial_json":""}"#),
                    &grow(0, r#"{"type":"input_json_delta","partial_json":"{\"x\":1}"}"#),
                    &grow(1, r#"{"type":"input_json_delta","partial_json":"2}"}"#),
                    &close(1),
                    &close(0),
                    calls,
                    stop,
                ],
                r#"call(a f {"x":1}) call(b g {"y":2}) ToolUse"#,
            ),
            (
                "input that is an object",
                &[
                    &tool,
                    &grow(0, r#"{"type":"input_json_delta","partial_json":{"x":1}}"#),
                    &close(0),
                    calls,
                    stop,
                ],
                r#"call(a f {"x":1}) ToolUse"#,
            ),
            (
                "input whole at the start",
                &[
                    &open(0, r#"{"type":"tool_use","id":"a","name":"f","input":{"x":1}}"#),
                    &close(0),
                    calls,
                    stop,
                ],
                r#"call(a f {"x":1}) ToolUse"#,
            ),
            (
                "input at the start, and then in pieces, which count",
                &[
                    &open(0, r#"{"type":"tool_use","id":"a","name":"f","input":{"x":0}}"#),
                    &grow(0, r#"{"type":"input_json_delta","partial_json":"{\"x\":1}"}"#),
                    &close(0),
                    calls,
                    stop,
                ],
                r#"call(a f {"x":1}) ToolUse"#,
            ),
            ("no input", &[&tool, &close(0), calls, stop], "call(a f {}) ToolUse"),
            (
                "more than we understand of a call",
                &[
                    &open(
                        0,
                        r#"{"type":"tool_use","id":"a","name":"f","input":{},"caller":{"type":"direct"}}"#,
                    ),
                    &grow(0, r#"{"type":"input_json_delta","partial_json":"{\"x\": 1.0}"}"#),
                    &close(0),
                    calls,
                    stop,
                ],
                r#"call!(a f {"x": 1.0}) ToolUse"#,
            ),
            (
                "sealed thoughts and blocks of tomorrow",
                &[
                    &open(0, r#"{"type":"redacted_thinking","data":"x=="}"#),
                    &close(0),
                    &open(1, r#"{"type":"thinking","thinking":"","signature":""}"#),
                    &grow(1, r#"{"type":"thinking_delta","thinking":"hm"}"#),
                    &grow(1, r#"{"type":"signature_delta","signature":"s"}"#),
                    &close(1),
                    &open(2, r#"{"type":"server_tool_use","id":"s","name":"web","input":{}}"#),
                    &grow(2, r#"{"type":"input_json_delta","partial_json":"{\"q\":1}"}"#),
                    &close(2),
                    &open(3, r#"{"type":"news", "n":1.00}"#),
                    &grow(3, r#"{"type":"news_delta"}"#),
                    &close(3),
                    &open(4, r#"{"type":"text","text":"Hi"}"#),
                    &close(4),
                    end,
                    stop,
                ],
                r#"think!() think!(hm) opaque({"type":"server_tool_use","id":"s","name":"web","input":{"q":1}}) opaque({"type":"news", "n":1.00}) text(Hi) EndTurn"#,
            ),
            (
                "thoughts without a signature",
                &[&open(0, r#"{"type":"thinking","thinking":"hm"}"#), &close(0), end, stop],
                "think(hm) EndTurn",
            ),
            ("no message_stop", &[&tool, &close(0), calls], "call(a f {}) no end + truncated"),
            ("a block that never closes", &[&tool, calls, stop], "cut(a Stream) ToolUse"),
            (
                "a limit",
                &[
                    &tool,
                    &close(0),
                    r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#,
                    stop,
                ],
                "cut(a Limit) MaxTokens",
            ),
            (
                "a word of tomorrow",
                &[r#"{"type":"message_delta","delta":{"stop_reason":"pause_turn"}}"#, stop],
                r#"Other("pause_turn")"#,
            ),
            (
                "deltas about nothing",
                &[
                    &grow(7, r#"{"type":"input_json_delta","partial_json":"x"}"#),
                    &close(7),
                    end,
                    stop,
                ],
                "EndTurn",
            ),
        ],
    );
}
