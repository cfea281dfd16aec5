//! Streams as vendors and their imitators really write them, and what they become.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use std::collections::VecDeque;

use jm_providers::Wire;
use jm_providers::sse::{SseEvent, SseParser};
use jm_types::{Assembly, Part, StreamError, StreamEvent, Turn};
use proptest::prelude::*;

use super::world::request;

/// Reads a stream the way the client does, cut into these chunks.
fn read(wire: Wire, chunks: &[&[u8]]) -> (Vec<StreamEvent>, Option<StreamError>) {
    let mut parser = SseParser::new(1 << 20);
    let mut decoder = wire.decoder(&request("x"), wire.provider(), "m");
    let (mut events, mut out) = (VecDeque::new(), VecDeque::new());
    for chunk in chunks {
        parser.push(chunk, &mut events).unwrap();
        while let Some(event) = events.pop_front() {
            if let Err(error) = decoder.event(&event, &mut out) {
                return (out.into(), Some(error));
            }
        }
    }
    let error = decoder.end(&mut out).err();
    (out.into(), error)
}

fn fold(events: Vec<StreamEvent>) -> Turn {
    let mut assembly = Assembly::new();
    events.into_iter().for_each(|event| assembly.push(event));
    assembly.finish()
}

/// A turn in one line.
fn sketch(turn: &Turn) -> String {
    let signed = |native: &Option<_>| if native.is_some() { "!" } else { "" };
    let part = |part: &Part| match part {
        Part::Text { text, native } => format!("text{}({text})", signed(native)),
        Part::Thinking { text, native } => format!("think{}({text})", signed(native)),
        Part::Call { call, native } => {
            format!("call{}({} {} {})", signed(native), call.id, call.name, call.arguments)
        }
        Part::Opaque { native } => format!("opaque({})", native.raw),
        other => format!("{other:?}"),
    };
    let mut line: Vec<String> = turn.message.parts.iter().map(part).collect();
    line.extend(turn.cut.iter().map(|cut| format!("cut({} {:?})", cut.call.id, cut.why)));
    line.push(turn.stop.as_ref().map_or("no end".to_owned(), |stop| format!("{stop:?}")));
    line.join(" ")
}

fn stream(events: &[&str]) -> String {
    events.iter().map(|data| format!("data: {data}\n\n")).collect()
}

fn check(wire: Wire, cases: &[(&str, &[&str], &str)]) {
    for (name, events, expected) in cases {
        let (events, error) = read(wire, &[stream(events).as_bytes()]);
        let turn = sketch(&fold(events));
        let seen = error.map_or(turn.clone(), |error| format!("{turn} + {}", error.kind.name()));
        assert_eq!(seen, *expected, "{name}");
    }
}

#[test]
fn an_event_is_read_by_its_name_where_the_data_has_no_type() {
    let mut decoder = Wire::Anthropic.decoder(&request("x"), "anthropic", "m");
    let mut out = VecDeque::new();
    let event = SseEvent { name: "message_stop".to_owned(), data: "{}".to_owned() };
    decoder.event(&event, &mut out).unwrap();
    assert_eq!(sketch(&fold(out.into())), "EndTurn");
}

/// One stream of each vendor, with letters of every length.
fn recorded(wire: Wire) -> String {
    let events: &[&str] = match wire {
        Wire::Anthropic => &[
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"é🦀…"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}"#,
            r#"{"type":"message_stop"}"#,
        ],
        Wire::OpenaiResponses => &[
            r#"{"type":"response.output_text.delta","output_index":0,"delta":"é🦀…"}"#,
            r#"{"type":"response.completed","response":{}}"#,
        ],
        Wire::OpenaiChat => &[
            r#"{"choices":[{"delta":{"content":"é🦀…","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
        Wire::Gemini => &[
            r#"{"candidates":[{"content":{"parts":[{"text":"é🦀…"},{"functionCall":{"name":"f"}}]}}]}"#,
            r#"{"candidates":[{"finishReason":"STOP"}]}"#,
        ],
    };
    stream(events)
}

proptest! {
    #[test]
    fn any_chunking_of_any_stream_gives_the_same_events(
        wire in proptest::sample::select(Wire::ALL.to_vec()),
        crlf in any::<bool>(),
        cuts in proptest::collection::vec(0usize..1000, 0..30),
    ) {
        let text = recorded(wire);
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        let bytes = text.as_bytes();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let whole = read(wire, &[bytes]);
        prop_assert!(whole.1.is_none());
        prop_assert_eq!(read(wire, &chunks), whole);
    }

    /// Whatever comes, nothing panics and nothing that was not sealed is a call.
    #[test]
    fn no_stream_is_too_strange(
        wire in proptest::sample::select(Wire::ALL.to_vec()),
        places in proptest::collection::vec((0usize..2000, any::<u8>()), 0..12),
    ) {
        let mut bytes = recorded(wire).into_bytes();
        for (place, byte) in places {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        let (events, _) = read(wire, &[&bytes]);
        let sealed = events.iter().filter(|event| matches!(event, StreamEvent::CallSealed { .. })).count();
        prop_assert!(fold(events).message.calls().count() <= sealed);
    }
}
