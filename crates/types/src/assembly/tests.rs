//! Every way a turn can come in pieces, and what it becomes.

use super::*;

fn text(index: usize, delta: &str) -> StreamEvent {
    StreamEvent::Text { index, delta: delta.to_owned() }
}

fn started(index: usize, id: &str) -> StreamEvent {
    StreamEvent::CallStarted { index, id: id.to_owned(), name: "read".to_owned() }
}

fn arguments(index: usize, fragment: &str) -> StreamEvent {
    StreamEvent::CallArguments { index, fragment: fragment.to_owned() }
}

fn sealed(index: usize) -> StreamEvent {
    StreamEvent::CallSealed { index, arguments: None }
}

fn stop(reason: StopReason) -> StreamEvent {
    StreamEvent::Stop { reason }
}

fn native(raw: &str) -> Native {
    Native { provider: "p".to_owned(), model: "m".to_owned(), raw: raw.to_owned() }
}

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "read".to_owned(), arguments: arguments.to_owned() }
}

fn fold(events: Vec<StreamEvent>) -> Turn {
    let mut assembly = Assembly::new();
    events.into_iter().for_each(|event| assembly.push(event));
    assembly.finish()
}

fn part(call: ToolCall) -> Part {
    Part::Call { call, native: None }
}

/// GO-STREAM, GO-MULTI: the pieces of a turn are one message, and no call is lost.
#[test]
fn pieces_become_one_message() {
    let turn = fold(vec![
        StreamEvent::Thinking { index: 0, delta: "h".to_owned() },
        StreamEvent::Thinking { index: 0, delta: "m".to_owned() },
        StreamEvent::PartSealed { index: 0, native: native("{}") },
        text(1, "Let me "),
        text(1, "see."),
        started(2, "a"),
        started(3, "b"),
        arguments(3, r#"{"x":"#),
        arguments(2, r#"{"y":2}"#),
        arguments(3, "1}"),
        sealed(3),
        sealed(2),
        StreamEvent::Usage(Usage { input: 3, ..Usage::default() }),
        StreamEvent::Usage(Usage { input: 3, output: 9, ..Usage::default() }),
        stop(StopReason::ToolUse),
    ]);
    let expected = vec![
        Part::Thinking { text: "hm".to_owned(), native: Some(native("{}")) },
        Part::text("Let me see."),
        part(call("a", r#"{"y":2}"#)),
        part(call("b", r#"{"x":1}"#)),
    ];
    assert_eq!(turn.message, Message { role: MessageRole::Assistant, parts: expected });
    assert_eq!(turn.stop, Some(StopReason::ToolUse));
    assert_eq!(turn.usage, Usage { input: 3, output: 9, ..Usage::default() });
    assert!(turn.cut.is_empty());
}

#[test]
fn neighbouring_texts_merge_unless_one_is_signed() {
    let turn = fold(vec![
        text(0, "a"),
        text(1, "b"),
        text(2, "c"),
        StreamEvent::PartSealed { index: 2, native: native("{}") },
        text(3, "d"),
        text(4, ""),
    ]);
    let expected = vec![
        Part::text("ab"),
        Part::Text { text: "c".to_owned(), native: Some(native("{}")) },
        Part::text("d"),
    ];
    assert_eq!(turn.message.parts, expected);
}

#[test]
fn an_unknown_block_is_kept_in_its_place() {
    let turn = fold(vec![
        text(0, "a"),
        StreamEvent::PartSealed { index: 1, native: native(r#"{"type":"new"}"#) },
        text(2, "b"),
    ]);
    let opaque = Part::Opaque { native: native(r#"{"type":"new"}"#) };
    assert_eq!(turn.message.parts, vec![Part::text("a"), opaque, Part::text("b")]);
}

#[test]
fn a_call_that_was_cut_is_no_call() {
    let whole = [started(0, "a"), arguments(0, "{}"), sealed(0), started(1, "b")];
    let cases: Vec<(&str, Vec<StreamEvent>, Cut)> = vec![
        ("the stream ends", vec![arguments(1, "{\"p")], Cut::Stream),
        (
            "the limit is reached",
            vec![arguments(1, "{\"p"), stop(StopReason::MaxTokens)],
            Cut::Limit,
        ),
        (
            "the limit is reached, and the vendor closes the block all the same",
            vec![arguments(1, "{\"p"), sealed(1), stop(StopReason::ContextWindow)],
            Cut::Limit,
        ),
    ];
    for (name, rest, why) in cases {
        let turn = fold(whole.iter().cloned().chain(rest).collect());
        assert_eq!(turn.message.parts, vec![part(call("a", "{}"))], "{name}");
        assert_eq!(turn.cut, vec![CutCall { call: call("b", "{\"p"), why }], "{name}");
    }
}

#[test]
fn a_whole_call_before_a_limit_in_the_text_stays_a_call() {
    let events = vec![started(0, "a"), sealed(0), text(1, "and"), stop(StopReason::MaxTokens)];
    let turn = fold(events);
    assert_eq!(turn.message.parts, vec![part(call("a", "{}")), Part::text("and")]);
    assert!(turn.cut.is_empty());
}

#[test]
fn sealed_arguments_replace_the_fragments() {
    let replaced = StreamEvent::CallSealed { index: 0, arguments: Some("{\"a\":1}".to_owned()) };
    let turn = fold(vec![started(0, "a"), arguments(0, "{\"a\":1,\"b\":null}"), replaced]);
    assert_eq!(turn.message.parts, vec![part(call("a", "{\"a\":1}"))]);
}

#[test]
fn events_about_nothing_change_nothing() {
    let turn = fold(vec![arguments(7, "x"), sealed(7)]);
    assert!(turn.message.parts.is_empty() && turn.cut.is_empty() && turn.stop.is_none());
}
