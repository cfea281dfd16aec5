//! Gemini.

use jm_providers::Wire;

use super::check;

#[test]
fn gemini_as_it_comes() {
    let parts = |parts: &str| format!(r#"{{"candidates":[{{"content":{{"parts":[{parts}]}}}}]}}"#);
    let end = r#"{"candidates":[{"finishReason":"STOP"}]}"#;
    check(
        Wire::Gemini,
        &[
            (
                "two calls in one piece",
                &[
                    &parts(
                        r#"{"functionCall":{"name":"f","args":{"x": 1.0}},"thoughtSignature":"s"},{"functionCall":{"name":"f"}}"#,
                    ),
                    end,
                ],
                r#"call!( f {"x": 1.0}) call!( f {}) ToolUse"#,
            ),
            (
                "ids of its own",
                &[&parts(r#"{"functionCall":{"id":"q","name":"f","args":{}}}"#), end],
                "call!(q f {}) ToolUse",
            ),
            (
                "arguments that are a text",
                &[&parts(r#"{"functionCall":{"name":"f","args":"{\"x\":1}"}}"#), end],
                r#"call!( f {"x":1}) ToolUse"#,
            ),
            (
                "words in pieces",
                &[
                    &parts(r#"{"text":"a"}"#),
                    &parts(r#"{"text":""}"#),
                    &parts(r#"{"text":"b"},{"text":"c"}"#),
                    end,
                ],
                "text(abc) EndTurn",
            ),
            (
                "a signed part is never merged",
                &[
                    &parts(r#"{"text":"a"}"#),
                    &parts(r#"{"text":"b","thoughtSignature":"s"}"#),
                    &parts(r#"{"text":"c"}"#),
                    &parts(r#"{"text":"", "thoughtSignature":"t"}"#),
                    end,
                ],
                r#"text(a) text!(b) text(c) opaque({"text":"", "thoughtSignature":"t"}) EndTurn"#,
            ),
            (
                "thoughts",
                &[
                    &parts(r#"{"text":"h","thought":true}"#),
                    &parts(r#"{"text":"m","thought":true}"#),
                    &parts(r#"{"text":"Hi"}"#),
                    end,
                ],
                "think(hm) text(Hi) EndTurn",
            ),
            (
                "parts of tomorrow",
                &[&parts(r#"{"executableCode": {"n":1.00}}"#), end],
                r#"opaque({"executableCode": {"n":1.00}}) EndTurn"#,
            ),
            ("no reason to finish", &[&parts(r#"{"text":"a"}"#)], "text(a) no end + truncated"),
            (
                "a limit",
                &[&parts(r#"{"text":"a"}"#), r#"{"candidates":[{"finishReason":"MAX_TOKENS"}]}"#],
                "text(a) MaxTokens",
            ),
            ("a filter", &[r#"{"candidates":[{"finishReason":"SAFETY"}]}"#], "Refusal"),
            ("a blocked question", &[r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#], "Refusal"),
            (
                "a call that it could not make",
                &[
                    r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"x"}]}"#,
                ],
                "no end + server_error",
            ),
            (
                "an error",
                &[r#"{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}"#],
                "no end + overloaded",
            ),
            ("usage alone", &[r#"{"usageMetadata":{"promptTokenCount":1}}"#, end], "EndTurn"),
        ],
    );
}
