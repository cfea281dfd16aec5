//! Parameters of a request, in each vendor's words.

use std::collections::BTreeMap;

use jm_providers::Recipient;
use jm_providers::{
    CacheRetention, ModelInfo, ModelRequest, Parameters, Thinking, ThinkingStyle, Wire,
};
use jm_types::Message;
use serde_json::{Map, Value, json};

fn info(thinking: ThinkingStyle) -> ModelInfo {
    ModelInfo { thinking: Some(thinking), output: Some(64_000), ..ModelInfo::default() }
}

fn level(thinking: Thinking) -> Parameters {
    Parameters { thinking: Some(thinking), ..Parameters::default() }
}

fn budget(tokens: u32) -> Parameters {
    Parameters { thinking_budget: Some(tokens), ..Parameters::default() }
}

fn word(reasoning: &str) -> Parameters {
    Parameters { reasoning: Some(reasoning.to_owned()), ..Parameters::default() }
}

/// The fields of the body that parameters decide.
fn decided(wire: Wire, provider: &str, info: &ModelInfo, request: &ModelRequest) -> Value {
    let reader = Recipient { provider, model: "m", info };
    let body: Value = serde_json::from_str(&wire.encode(request, reader).unwrap()).unwrap();
    let same = ["model", "messages", "input", "contents", "stream", "stream_options", "store"];
    let fields = body.as_object().unwrap().iter().filter(|(key, _)| !same.contains(&key.as_str()));
    Value::Object(fields.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>())
}

fn asking(parameters: Parameters) -> ModelRequest {
    ModelRequest {
        messages: vec![Message::user("Hi")].into(),
        parameters,
        ..ModelRequest::default()
    }
}

fn check(wire: Wire, cases: Vec<(ModelInfo, Parameters, Value)>) {
    for (info, parameters, expected) in cases {
        let asked = asking(parameters.clone());
        let found = decided(wire, wire.provider(), &info, &asked);
        assert_eq!(found, expected, "{wire:?} {info:?} {parameters:?}");
    }
}

#[test]
fn anthropics_words() {
    use ThinkingStyle as Style;
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let effort = |word: &str| json!({"max_tokens": 32_000, "thinking": adaptive, "output_config": {"effort": word}});
    let plain = || json!({"max_tokens": 32_000});
    let warm = Parameters { temperature: Some(0.3), max_tokens: Some(99), ..Parameters::default() };
    check(
        Wire::Anthropic,
        vec![
            (info(Style::Effort), Parameters::default(), plain()),
            (ModelInfo::default(), Parameters::default(), json!({"max_tokens": 8192})),
            (info(Style::Effort), level(Thinking::Minimal), effort("low")),
            (info(Style::Effort), level(Thinking::Max), effort("max")),
            (info(Style::Effort), word("xhigh"), effort("xhigh")),
            (
                info(Style::Effort),
                level(Thinking::Off),
                json!({"max_tokens": 32_000, "thinking": {"type": "disabled"}}),
            ),
            (info(Style::Always), level(Thinking::Off), effort("low")),
            (info(Style::None), level(Thinking::High), plain()),
            (
                info(Style::Budget),
                level(Thinking::Low),
                json!({"max_tokens": 32_000, "thinking": {"type": "enabled", "budget_tokens": 4096}}),
            ),
            // The budget lies beneath the limit of the answer, which is raised as far as it goes.
            (
                info(Style::Budget),
                budget(40_000),
                json!({"max_tokens": 48_192, "thinking": {"type": "enabled", "budget_tokens": 40_000}}),
            ),
            (
                info(Style::Budget),
                budget(5),
                json!({"max_tokens": 32_000, "thinking": {"type": "enabled", "budget_tokens": 1024}}),
            ),
            (info(Style::Effort), warm.clone(), json!({"max_tokens": 99, "temperature": 0.3})),
            (
                ModelInfo { sampling: Some(false), ..info(Style::Effort) },
                warm.clone(),
                json!({"max_tokens": 99}),
            ),
            // A model that thinks takes no temperature.
            (
                info(Style::Budget),
                Parameters { thinking: Some(Thinking::Low), max_tokens: None, ..warm },
                json!({"max_tokens": 32_000, "thinking": {"type": "enabled", "budget_tokens": 4096}}),
            ),
        ],
    );
}

#[test]
fn openais_words() {
    use ThinkingStyle as Style;
    let sealed = || json!(["reasoning.encrypted_content"]);
    let effort =
        |word: &str| json!({"reasoning": {"effort": word, "summary": "auto"}, "include": sealed()});
    let warm = Parameters { temperature: Some(0.5), max_tokens: Some(9), ..Parameters::default() };
    let cold = || ModelInfo { sampling: Some(false), ..info(Style::Effort) };
    check(
        Wire::OpenaiResponses,
        vec![
            (info(Style::Effort), Parameters::default(), json!({"include": sealed()})),
            (info(Style::Effort), level(Thinking::Max), effort("xhigh")),
            (
                info(Style::Effort),
                level(Thinking::Off),
                json!({"reasoning": {"effort": "none"}, "include": sealed()}),
            ),
            (info(Style::Always), level(Thinking::Off), effort("low")),
            (info(Style::Effort), word("max"), effort("max")),
            (info(Style::None), level(Thinking::High), json!({})),
            (info(Style::None), warm.clone(), json!({"max_output_tokens": 9, "temperature": 0.5})),
            (cold(), warm.clone(), json!({"max_output_tokens": 9, "include": sealed()})),
        ],
    );
    check(
        Wire::OpenaiChat,
        vec![
            (info(Style::Effort), level(Thinking::Low), json!({"reasoning_effort": "low"})),
            (info(Style::None), level(Thinking::Low), json!({})),
            (
                info(Style::None),
                warm.clone(),
                json!({"max_completion_tokens": 9, "temperature": 0.5}),
            ),
        ],
    );
    // A server that imitates the vendor is told what the first ones knew.
    let found = decided(Wire::OpenaiChat, "ollama", &ModelInfo::default(), &asking(warm));
    assert_eq!(found, json!({"max_tokens": 9, "temperature": 0.5}));
    let found =
        decided(Wire::OpenaiChat, "ollama", &ModelInfo::default(), &asking(level(Thinking::Low)));
    assert_eq!(found, json!({}));
}

#[test]
fn geminis_words() {
    use ThinkingStyle as Style;
    let shown = |key: &str, value: Value| json!({"generationConfig": {"thinkingConfig": {"includeThoughts": true, key: value}}});
    let warm = Parameters { temperature: Some(0.5), max_tokens: Some(9), ..Parameters::default() };
    check(
        Wire::Gemini,
        vec![
            (info(Style::Level), Parameters::default(), json!({})),
            (info(Style::Level), level(Thinking::Off), shown("thinkingLevel", json!("MINIMAL"))),
            (info(Style::Level), level(Thinking::Max), shown("thinkingLevel", json!("HIGH"))),
            (info(Style::Level), word("low"), shown("thinkingLevel", json!("LOW"))),
            (info(Style::Budget), level(Thinking::Medium), shown("thinkingBudget", json!(8192))),
            (
                info(Style::Budget),
                level(Thinking::Off),
                json!({"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}),
            ),
            (info(Style::Level), budget(4096), shown("thinkingBudget", json!(4096))),
            (info(Style::None), level(Thinking::High), json!({})),
            (
                info(Style::None),
                warm,
                json!({"generationConfig": {"maxOutputTokens": 9, "temperature": 0.5}}),
            ),
        ],
    );
}

/// FL-PARAM: what is said for one provider wins, and is said to no other.
#[test]
fn what_is_said_for_one_provider_is_said_to_that_one() {
    let specific = BTreeMap::from([
        ("anthropic".to_owned(), budget(20_000)),
        ("openai".to_owned(), word("high")),
        ("vertex".to_owned(), budget(4096)),
    ]);
    let request = ModelRequest { specific, ..asking(level(Thinking::Low)) };
    let style = info(ThinkingStyle::Budget);
    let thinking = |wire: Wire, provider: &str, pointer: &str| {
        decided(wire, provider, &style, &request).pointer(pointer).cloned().unwrap_or_default()
    };
    assert_eq!(thinking(Wire::Anthropic, "anthropic", "/thinking/budget_tokens"), json!(20_000));
    assert_eq!(thinking(Wire::OpenaiResponses, "openai", "/reasoning/effort"), json!("high"));
    assert_eq!(thinking(Wire::OpenaiChat, "openai-chat", "/reasoning_effort"), json!("high"));
    let google = "/generationConfig/thinkingConfig/thinkingBudget";
    assert_eq!(thinking(Wire::Gemini, "vertex", google), json!(4096));
    // Gemini itself was told nothing of its own: low is 4096 there, so it is asked for more.
    let request = ModelRequest { parameters: level(Thinking::High), ..request };
    assert_eq!(
        decided(Wire::Gemini, "gemini", &style, &request).pointer(google),
        Some(&json!(16_384))
    );
}

/// FL-PARAM: how long the prompt is kept.
#[test]
fn the_prompt_cache_is_marked_as_long_as_asked() {
    let kept = |retention| ModelRequest {
        conversation: Some("c".to_owned()),
        ..asking(Parameters { cache_retention: Some(retention), ..Parameters::default() })
    };
    let body = |wire: Wire, retention| {
        let info = ModelInfo::default();
        let reader = Recipient { provider: wire.provider(), model: "m", info: &info };
        wire.encode(&kept(retention), reader).unwrap()
    };
    let cases = [
        (Wire::Anthropic, CacheRetention::None, "cache_control", false),
        (Wire::Anthropic, CacheRetention::Short, r#""cache_control":{"type":"ephemeral"}"#, true),
        (
            Wire::Anthropic,
            CacheRetention::Long,
            r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#,
            true,
        ),
        (Wire::OpenaiResponses, CacheRetention::None, "prompt_cache", false),
        (Wire::OpenaiResponses, CacheRetention::Short, r#""prompt_cache_key":"c""#, true),
        (Wire::OpenaiResponses, CacheRetention::Long, r#""prompt_cache_retention":"24h""#, true),
    ];
    for (wire, retention, text, there) in cases {
        assert_eq!(body(wire, retention).contains(text), there, "{wire:?} {retention:?}");
    }
}
