//! Chat Completions, with the liberties that compatible servers take.

use jm_providers::Wire;

use super::check;

#[test]
fn chat_completions_as_compatible_servers_write_them() {
    let done = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    let call = |call: &str| format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}}}}]}}"#);
    let one = |fields: &str| call(&format!("{{{fields}}}"));
    let a = one(r#""index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}"#);
    let more = one(r#""index":0,"function":{"arguments":":1}"}"#);
    let b = one(r#""index":1,"id":"b","function":{"name":"g","arguments":"{}"}"#);
    let whole = r#"call(a f {"x":1}) call(b g {}) ToolUse"#;
    check(
        Wire::OpenaiChat,
        &[
            ("as it should be", &[&a, &more, &b, done, "[DONE]"], whole),
            ("no [DONE]", &[&a, &more, &b, done], whole),
            ("interleaved", &[&a, &b, &more, done], whole),
            ("no reason to finish", &[&a, &more, "[DONE]"], "cut(a Stream) no end + truncated"),
            (
                "`stop` where there are calls",
                &[&a, &more, r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#],
                r#"call(a f {"x":1}) ToolUse"#,
            ),
            (
                "no index, ids only",
                &[
                    &one(r#""id":"a","function":{"name":"f","arguments":"{\"x\""}"#),
                    &one(r#""function":{"arguments":":1}"}"#),
                    &one(r#""id":"b","function":{"name":"g","arguments":"{}"}"#),
                    done,
                ],
                whole,
            ),
            (
                "every call at index 0",
                &[
                    &a,
                    &more,
                    &one(r#""index":0,"id":"b","function":{"name":"g","arguments":"{}"}"#),
                    done,
                ],
                whole,
            ),
            (
                "no index and no ids",
                &[
                    &one(r#""function":{"name":"f","arguments":"{}"}"#),
                    &one(r#""function":{"name":"f","arguments":"{\"x\":1}"}"#),
                    done,
                ],
                r#"call( f {}) call( f {"x":1}) ToolUse"#,
            ),
            (
                "null ids",
                &[
                    &one(r#""index":0,"id":null,"function":{"name":"f","arguments":""}"#),
                    &more,
                    done,
                ],
                r#"call( f :1}) ToolUse"#,
            ),
            (
                "the name in every piece",
                &[
                    &a,
                    &one(r#""index":0,"id":"a","function":{"name":"f","arguments":":1}"}"#),
                    done,
                ],
                r#"call(a f {"x":1}) ToolUse"#,
            ),
            (
                "arguments that are an object",
                &[&one(r#""index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}"#), done],
                r#"call(a f {"x":1}) ToolUse"#,
            ),
            (
                "two calls in one piece",
                &[
                    &call(
                        r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}"#,
                    ),
                    done,
                ],
                whole,
            ),
            (
                "what a server wants back with the call",
                &[
                    &one(
                        r#""index":0,"id":"a","extra_content":{"s":"x"},"function":{"name":"f","arguments":"{}"}"#,
                    ),
                    done,
                ],
                r#"call!(a f {}) ToolUse"#,
            ),
            (
                "reasoning, empty deltas, usage everywhere, content in pieces",
                &[
                    r#"{"choices":[{"delta":{"reasoning_content":"h"}}],"usage":{"prompt_tokens":1}}"#,
                    r#"{"choices":[{"delta":{"reasoning_content":"m","content":""}}],"usage":{"prompt_tokens":1}}"#,
                    r#"{"choices":[{"delta":{"content":[{"type":"text","text":"Hi"}]}}]}"#,
                    r#"{"choices":[]}"#,
                    r#"{"choices":[{"delta":{"content":null},"finish_reason":"stop"}]}"#,
                ],
                "think!(hm) text(Hi) EndTurn",
            ),
            (
                "a limit",
                &[&a, r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#],
                "cut(a Limit) MaxTokens",
            ),
            (
                "a whole answer that was not streamed",
                &[r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#],
                "text(Hi) EndTurn",
            ),
            (
                "an error in the stream",
                &[&a, r#"{"error":{"message":"x","code":"server_error"}}"#],
                "cut(a Stream) no end + server_error",
            ),
            (
                "strict nulls are taken back",
                &[
                    &one(
                        r#""index":0,"id":"a","function":{"name":"read_file","arguments":"{\"path\":\"p\",\"limit\":null}"}"#,
                    ),
                    done,
                ],
                r#"call(a read_file {"path":"p"}) ToolUse"#,
            ),
        ],
    );
}
