//! Runs `walkthroughs.md`: documents, edits of them, and what comes of those.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::collections::HashMap;

use jm_chat::{AnswerState, ChatDocument, EditError, NewResult, NextStep, ToolStatus};

/// The fence around a document in the file, and how a document writes one as long.
const FENCE: &str = "`````";
const INNER: (&str, &str) = ("`````x", "`````");

#[test]
fn every_walk_through_ends_as_written() {
    let text = include_str!("walkthroughs.md");
    let mut count = 0;
    for section in text.split("\n## ").skip(1) {
        let (title, body) = section.split_once('\n').unwrap();
        check(title, &blocks(body));
        count += 1;
    }
    assert!(count >= 16, "{count} walk-throughs");
}

fn blocks(body: &str) -> HashMap<&str, String> {
    let mut found = HashMap::new();
    let mut open: Option<(&str, String)> = None;
    for line in body.lines() {
        match &mut open {
            Some((name, text)) if line == FENCE => {
                found.insert(*name, std::mem::take(text));
                open = None;
            }
            Some((_, text)) => {
                text.push_str(if line == INNER.0 { INNER.1 } else { line });
                text.push('\n');
            }
            None => open = line.strip_prefix(FENCE).map(|name| (name, String::new())),
        }
    }
    assert!(open.is_none(), "a block is not closed: {body}");
    found
}

fn check(title: &str, blocks: &HashMap<&str, String>) {
    let mut document = ChatDocument::parse(blocks["before"].clone());
    let mut refused = None;
    for action in blocks["do"].lines() {
        match act(&document, action) {
            Ok(next) => document = next,
            Err(error) => refused = Some(error.to_string()),
        }
    }
    let expected = blocks.get("refused").map(|text| text.trim_end().to_owned());
    assert_eq!(refused, expected, "{title}");
    let after = blocks.get("after").unwrap_or(&blocks["before"]);
    assert_eq!(String::from_utf8_lossy(document.bytes()), *after, "{title}");
    if let Some(steps) = blocks.get("steps") {
        let found: String = document.calls().iter().map(step).collect();
        assert_eq!(found, *steps, "{title}");
    }
}

fn step(call: &jm_chat::ChatCall) -> String {
    let line = match &call.answer {
        AnswerState::Missing => "missing".to_owned(),
        AnswerState::Given { content, is_error: false } => format!("given {content}"),
        AnswerState::Given { content, is_error: true } => format!("failed {content}"),
        AnswerState::Placeholder(place) => match place.next_step() {
            NextStep::Execute => "execute".to_owned(),
            NextStep::Wait => "wait".to_owned(),
            NextStep::Fail(text) => format!("fail {text}"),
            NextStep::Override(text) => format!("override {text}"),
        },
    };
    format!("{} {}\n", call.call.id, line.replace('\n', "⏎"))
}

fn act(document: &ChatDocument, action: &str) -> Result<ChatDocument, EditError> {
    let (verb, rest) = action.split_once(' ').unwrap_or((action, ""));
    let (id, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let text = text.replace('⏎', "\n");
    let status = |word: &str| ToolStatus::read(word.as_bytes()).expect(word);
    match verb {
        "edit" => {
            let (old, new) = rest.split_once(" => ").unwrap();
            let text = String::from_utf8(document.bytes().to_vec()).unwrap();
            assert_eq!(text.matches(old).count(), 1, "{old}");
            Ok(ChatDocument::parse(text.replace(old, new)))
        }
        "placeholders" => {
            let pair = |pair| {
                let (id, word) = str::split_once(pair, '=').unwrap();
                (id, status(word))
            };
            let statuses: Vec<_> = rest.split(' ').map(pair).collect();
            document.with_placeholders(&statuses, document.placeholder_form())
        }
        "status" => document.with_status(id, status(&text)),
        "result" => document.with_result(id, &NewResult::text(text)),
        "json" => document.with_result(id, &NewResult::json(text)),
        "partial" => {
            let (error, output) = text.split_once("=>").unwrap();
            document.with_result(id, &NewResult::error_with_output(error, output))
        }
        "fail" | "accept" => {
            let call = document.calls().into_iter().find(|call| call.call.id == id).unwrap();
            let AnswerState::Placeholder(place) = call.answer else { panic!("{action}") };
            let result = match place.next_step() {
                NextStep::Fail(text) => NewResult::error(text),
                NextStep::Override(text) => NewResult::text(text),
                step @ (NextStep::Execute | NextStep::Wait) => panic!("{step:?}"),
            };
            document.with_result(id, &result)
        }
        "assistant" => document.with_assistant(&serde_json::from_str(rest).unwrap()),
        "you" => document.with_you(""),
        "aborted" => document.with_aborted(rest),
        other => panic!("{other}"),
    }
}
