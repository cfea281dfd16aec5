//! The corpus: every `.chat` document beside the text of how it is read.
//!
//! `JM_BLESS=1` writes the texts anew, to be looked at before they are committed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jm_chat::front_matter::JsonSetting;
use jm_chat::reference::references;
use jm_chat::{
    AnswerState, BlockKind, ByteRange, ChatDocument, ChatRole, ResultState, ViewSources,
};

#[test]
fn documents_are_read_as_the_texts_beside_them_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut documents: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "chat"))
        .collect();
    documents.sort();
    assert!(documents.len() >= 40, "{} documents", documents.len());
    for path in documents {
        let bytes = std::fs::read(&path).unwrap();
        let document = ChatDocument::parse(bytes.clone());
        let found = outline(&document);
        assert_eq!(document.render(), bytes, "{}", path.display());
        let beside = path.with_extension("txt");
        if std::env::var_os("JM_BLESS").is_some() {
            std::fs::write(&beside, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&beside).unwrap();
        assert_eq!(found, expected, "{}", path.display());
    }
}

/// The whole reading of a document as text.
fn outline(document: &ChatDocument) -> String {
    let bytes = document.bytes();
    let quoted = |range: ByteRange| format!("{:?}", range.text_of(bytes));
    let mut out = String::new();
    if let Some(front) = document.front_matter() {
        writeln!(out, "front matter {:?} {}", front.language, quoted(front.body)).unwrap();
        if let Some(Ok(read)) = front.evaluate(bytes) {
            for (name, value) in &read.variables {
                writeln!(out, "  variable {name} = {value}").unwrap();
            }
            for (path, setting) in &read.settings {
                match setting {
                    JsonSetting::Value(value) => writeln!(out, "  setting {path} = {value}"),
                    JsonSetting::List(change) => writeln!(out, "  setting {path} {change:?}"),
                }
                .unwrap();
            }
        }
    }
    if let Some(preamble) = document.preamble() {
        writeln!(out, "preamble {}", quoted(preamble)).unwrap();
    }
    for section in document.sections() {
        writeln!(out, "{} {}", section.line, section.role.marker()).unwrap();
        for block in &section.blocks {
            write!(out, "  {} ", block.line).unwrap();
            match &block.kind {
                BlockKind::Text => {
                    writeln!(out, "text {}", quoted(block.span)).unwrap();
                    if section.role != ChatRole::Assistant {
                        for one in references(&block.span.text_of(bytes)) {
                            writeln!(out, "    file {:?} {:?}", one.path, one.media_type).unwrap();
                        }
                    }
                }
                BlockKind::ToolUse(call) => {
                    let (name, id) = (call.name.text_of(bytes), call.id.text_of(bytes));
                    let input = quoted(call.input.content(bytes));
                    writeln!(out, "call {name} {id} {input}").unwrap();
                }
                BlockKind::ToolResult(result) => {
                    let id = result.id.text_of(bytes);
                    let content = quoted(result.fence.content(bytes));
                    let state = match result.state {
                        ResultState::Given => "given".to_owned(),
                        ResultState::Failed => "failed".to_owned(),
                        ResultState::Placeholder { status, form, .. } => {
                            format!("{} ({form:?})", status.word())
                        }
                    };
                    writeln!(out, "result {id} {state} {content}").unwrap();
                }
                BlockKind::Thinking(thought) => {
                    let closed = if thought.is_closed { "" } else { " unclosed" };
                    let (tag, content) = (quoted(thought.attributes), quoted(thought.content));
                    writeln!(out, "thinking{closed} {tag} {content}").unwrap();
                }
                BlockKind::Aborted(text) => writeln!(out, "aborted {}", quoted(*text)).unwrap(),
                BlockKind::Malformed => writeln!(out, "malformed {}", quoted(block.span)).unwrap(),
            }
        }
    }
    for call in document.calls() {
        let answer = match &call.answer {
            AnswerState::Missing => "missing".to_owned(),
            AnswerState::Placeholder(place) => format!("{:?}", place.next_step()),
            AnswerState::Given { is_error: true, .. } => "failed".to_owned(),
            AnswerState::Given { is_error: false, .. } => "given".to_owned(),
        };
        writeln!(out, "call {} {} -> {answer}", call.call.id, call.call.name).unwrap();
    }
    let view = document.view(&ViewSources::bare("anthropic", "m"));
    if let Some(system) = &view.system {
        writeln!(out, "sent system {system:?}").unwrap();
    }
    for message in &view.messages {
        writeln!(out, "sent {:?} {}", message.role, serde_json::to_string(&message.parts).unwrap())
            .unwrap();
    }
    for diagnostic in document.diagnostics() {
        writeln!(out, "{diagnostic}").unwrap();
    }
    out
}
