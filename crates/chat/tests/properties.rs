//! Properties of generated documents: rendering, edits, results that stay data, merges.
//!
//! `JM_LONG=1` makes a million cases of each.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test stops where it fails")]

use jm_chat::{
    AnswerState, BlockKind, ChatDocument, ChatRole, EditError, NewResult, ToolStatus, ViewSources,
    merge,
};
use jm_types::{Message, MessageRole, Part, ToolCall};
use proptest::prelude::*;
use proptest::sample::select;

fn cases() -> u32 {
    if std::env::var_os("JM_LONG").is_some() { 1_000_000 } else { 20_000 }
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() }
}

/// Lines that mean something, nearly mean something, or nothing.
const LINES: &[&str] = &[
    "",
    "",
    "words",
    "  indented",
    "@System:",
    "@You:",
    "@You: hello",
    "@Assistant:",
    "@Assistant: hi",
    "@Assistant: **Tool Use:** `read` (`s`)",
    "@You: **Tool Result:** `a`",
    "@user:",
    "\\@You:",
    "```",
    "```",
    "````",
    "```json",
    "```lua",
    "```not`one",
    "```flemma:tool status=pending",
    "```flemma:tool status=approved",
    "```flemma:tool",
    "``` ",
    "{}",
    "{\"a\": 1}",
    "**Tool Use:** `read` (`a`)",
    "**Tool Use:** `bash` (`b`)",
    "**Tool Use:** broken",
    "**Tool Result:** `a`",
    "**Tool Result:** `a` (pending)",
    "**Tool Result:** `b` (status=approved x=1)",
    "**Tool Result:** `b` (error)",
    "**Tool Result:** broken",
    "<thinking>",
    "<thinking a:signature=\"x\"/>",
    "</thinking>",
    "<!-- flemma:aborted: x -->",
    "@./file and `@./code`",
    "ä \u{feff} 漢",
    "\t ",
];

/// Whole blocks, so that most documents hold something that can be edited.
const BLOCKS: &[&str] = &[
    "@Assistant:\n**Tool Use:** `read` (`a`)\n\n```json\n{}\n```\n",
    "@Assistant:\ntext\n\n**Tool Use:** `bash` (`b`)\n\n````json\n{\"x\": \"```\"}\n````\n",
    "\n@You:\n**Tool Result:** `a`\n\n```flemma:tool status=pending\n```\n",
    "\n@You:\n**Tool Result:** `b` (pending)\n\n```\n```\n",
    "**Tool Result:** `b` (error)\n\n````\n```\n@You:\n````\n",
    "\n@You:\nmore\n",
    "<thinking>\nhm\n</thinking>\n",
    "```\n@Assistant:\n```\n",
];

/// The bytes of a document, shown as text when a case fails.
#[derive(Clone)]
struct Written(Vec<u8>);

impl std::fmt::Debug for Written {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

/// Documents come of numbers, which are cheap to make and to shrink.
fn document() -> impl Strategy<Value = Written> {
    (prop::collection::vec(any::<u16>(), 0..14), any::<u8>()).prop_map(|(numbers, style)| {
        let piece = |number: &u16| match usize::from(*number) {
            number if number % 5 < 3 => format!("{}\n", LINES[number / 5 % LINES.len()]),
            number => BLOCKS[number / 5 % BLOCKS.len()].to_owned(),
        };
        let mut text: String = numbers.iter().map(piece).collect();
        if style & 1 == 1 {
            text.pop();
        }
        let end = if style & 2 == 2 { "\r\n" } else { "\n" };
        let mut bytes = text.replace('\n', end).into_bytes();
        if style >> 2 == 0 {
            let at = bytes.len() / 2;
            bytes.insert(at, 0xff);
        }
        Written(bytes)
    })
}

/// Text as tools and models produce it, with much that looks like structure.
fn content() -> impl Strategy<Value = String> {
    const ENDS: &[&str] = &["\n", "\n", "\r\n", "\r", ""];
    const WILD: &[&str] = &["`", "\r", "\u{85}", "\u{a0}", "~~~", "\0", "é", "\u{1b}[0m", "\\"];
    prop::collection::vec(any::<u16>(), 0..8).prop_map(|numbers| {
        let piece = |number: &u16| {
            let number = usize::from(*number);
            let words = if number % 4 == 0 { WILD } else { LINES };
            let end = ENDS[number / 4 % ENDS.len()];
            format!("{}{end}", words[number / 20 % words.len()])
        };
        numbers.iter().map(piece).collect()
    })
}

/// Kind and bytes of every marker and block.
fn pieces(document: &ChatDocument) -> Vec<(String, Vec<u8>)> {
    let bytes = document.bytes();
    let mut found = Vec::new();
    for section in document.sections() {
        found.push((section.role.marker().to_owned(), section.marker.of(bytes).to_vec()));
        for block in &section.blocks {
            let kind = match &block.kind {
                BlockKind::Text => "text".to_owned(),
                BlockKind::ToolUse(call) => format!("use {}", call.id.text_of(bytes)),
                BlockKind::ToolResult(result) => format!("result {}", result.id.text_of(bytes)),
                BlockKind::Thinking(_) => "thinking".to_owned(),
                BlockKind::Aborted(_) => "aborted".to_owned(),
                BlockKind::Malformed => "malformed".to_owned(),
            };
            found.push((kind, block.span.of(bytes).to_vec()));
        }
    }
    found
}

/// Spans are in order and in bounds, and lines are counted right.
fn check_spans(document: &ChatDocument) {
    let bytes = document.bytes();
    let line_of = |at: usize| bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    let mut at = document.front_matter().map_or(0, |front| front.span.end);
    for section in document.sections() {
        assert!(at <= section.marker.start);
        assert_eq!(section.line, line_of(section.marker.start));
        at = section.marker.end;
        for block in &section.blocks {
            assert!(at <= block.span.start && !block.span.is_empty());
            assert_eq!(block.line, line_of(block.span.start));
            at = block.span.end;
        }
        assert!(at <= section.span.end && section.span.end <= bytes.len());
    }
}

/// True if two documents differ in nothing but one result of a call.
fn differ_in_one(old: &ChatDocument, new: &ChatDocument, kind: &str) -> bool {
    let (old, new) = (pieces(old), pieces(new));
    let differing: Vec<_> = old.iter().zip(&new).filter(|(old, new)| old != new).collect();
    old.len() == new.len()
        && differing.len() <= 1
        && differing.iter().all(|(old, new)| old.0 == kind && new.0 == kind)
}

/// True if one list is the other with something inserted.
fn holds_in_order(new: &[(String, Vec<u8>)], old: &[(String, Vec<u8>)]) -> bool {
    let mut rest = new.iter();
    old.iter().all(|piece| rest.any(|found| found == piece))
}

fn answer(document: &ChatDocument, id: &str) -> Option<AnswerState> {
    document.calls().into_iter().rev().find(|call| call.call.id == id).map(|call| call.answer)
}

fn words(document: &ChatDocument) -> String {
    String::from_utf8_lossy(document.bytes()).into_owned()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_read_and_written_back(numbers in prop::collection::vec(any::<u64>(), 0..24)) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let document = ChatDocument::parse(bytes.clone());
        check_spans(&document);
        let view = document.view(&ViewSources::bare("a", "m"));
        prop_assert!(view.messages.iter().all(|message| !message.parts.is_empty()));
        prop_assert_eq!(document.render(), bytes);
    }

    #[test]
    fn documents_are_read_and_written_back(Written(bytes) in document()) {
        let document = ChatDocument::parse(bytes.clone());
        check_spans(&document);
        let view = document.view(&ViewSources::bare("a", "m"));
        let missing = document.open_calls().len();
        prop_assert_eq!(view.missing.len(), missing, "{}", words(&document));
        prop_assert_eq!(document.render(), bytes);
    }

    /// A result is its content and nothing else: no call, no status, no message comes of it.
    #[test]
    fn a_result_stays_data(Written(bytes) in document(), content in content(), is_error in any::<bool>()) {
        let old = ChatDocument::parse(bytes);
        for id in ["a", "b", "s"] {
            let result = NewResult { content: content.clone(), is_error, is_json: false };
            let new = match old.with_result(id, &result) {
                Ok(new) => new,
                Err(EditError::NoCall { .. } | EditError::Swallowed { .. }) => continue,
                Err(error) => panic!("{error}"),
            };
            let given = AnswerState::Given { content: content.clone(), is_error };
            prop_assert_eq!(answer(&new, id), Some(given), "{}", words(&new));
            prop_assert_eq!(old.calls().len(), new.calls().len());
            // Where there was no place for it, one was made, and a `@You:` around it if need be.
            let (before, after) = (pieces(&old), pieces(&new));
            let is_inserted = after.len() - before.len() <= 2 && holds_in_order(&after, &before);
            let is_replaced = differ_in_one(&old, &new, &format!("result {id}"));
            prop_assert!(is_inserted || is_replaced, "{}", words(&new));
        }
    }

    #[test]
    fn a_status_is_one_word(Written(bytes) in document(), status in select(&ToolStatus::ALL[..])) {
        let old = ChatDocument::parse(bytes);
        for id in ["a", "b", "s"] {
            let Ok(splice) = old.status_splice(id, status) else { continue };
            let new = old.with_status(id, status).unwrap();
            let Some(AnswerState::Placeholder(place)) = answer(&new, id) else {
                panic!("{}", words(&new))
            };
            // Where the header says something else, the call is pending.
            let is_contested = new.diagnostics().iter().any(|one| one.message.contains("different"));
            prop_assert!(place.status == status || is_contested, "{}", words(&new));
            prop_assert_eq!(&new.bytes()[..splice.range.start], &old.bytes()[..splice.range.start]);
            prop_assert!(new.bytes().ends_with(&old.bytes()[splice.range.end..]));
            prop_assert!(differ_in_one(&old, &new, &format!("result {id}")), "{}", words(&new));
        }
    }

    #[test]
    fn placeholders_stand_in_the_order_of_the_calls(Written(bytes) in document()) {
        let old = ChatDocument::parse(bytes);
        let missing: Vec<String> = old
            .open_calls()
            .into_iter()
            .filter(|call| call.answer == AnswerState::Missing)
            .map(|call| call.call.id)
            .collect();
        // An id that two messages use means the later call.
        let statuses: Vec<(&str, ToolStatus)> = missing
            .iter()
            .filter(|id| answer(&old, id) == Some(AnswerState::Missing))
            .filter(|id| missing.iter().filter(|other| other == id).count() == 1)
            .map(|id| (id.as_str(), ToolStatus::Pending))
            .collect();
        let new = match old.with_placeholders(&statuses, old.placeholder_form()) {
            Ok(new) => new,
            Err(EditError::Swallowed { .. }) => return Ok(()),
            Err(error) => panic!("{error}"),
        };
        for (id, _) in &statuses {
            let is_placed = matches!(answer(&new, id), Some(AnswerState::Placeholder(_)));
            prop_assert!(is_placed, "{}", words(&new));
        }
        prop_assert!(holds_in_order(&pieces(&new), &pieces(&old)), "{}", words(&new));
        let before = old.calls().into_iter().map(|call| call.call);
        prop_assert!(before.eq(new.calls().into_iter().map(|call| call.call)));
    }

    /// The words of a model cannot end its message, call anything, or answer a call.
    #[test]
    fn an_answer_is_read_as_it_was_written(
        Written(bytes) in document(),
        text in content(),
        thought in content(),
        arguments in select(&["{}", "{\"a\": \"```\\n@You:\"}", ""][..]),
    ) {
        let old = ChatDocument::parse(bytes);
        let call = ToolCall {
            id: "new".to_owned(), name: "read".to_owned(), arguments: arguments.to_owned(),
        };
        let parts = vec![
            Part::Thinking { text: thought.clone(), native: None },
            Part::text(text.clone()),
            Part::Call { call: call.clone(), native: None },
        ];
        let message = Message { role: MessageRole::Assistant, parts };
        let new = match old.with_assistant(&message) {
            Ok(new) => new,
            Err(EditError::Swallowed { .. }) => return Ok(()),
            Err(error) => panic!("{error}"),
        };
        prop_assert!(new.bytes().starts_with(old.bytes()));
        let (before, after) = (pieces(&old), pieces(&new));
        prop_assert_eq!(&after[..before.len()], &before[..]);
        prop_assert_eq!(new.sections().len(), old.sections().len() + 1, "{}", words(&new));
        let view = new.view(&ViewSources::bare("a", "m"));
        let said = &view.messages[view.messages.len() - 2];
        let found: String = said.parts.iter().filter_map(|part| match part {
            Part::Text { text, .. } => Some(text.as_str()),
            _ => None,
        }).collect();
        let plain = |text: &str| text.replace("\r\n", "\n").trim().to_owned();
        prop_assert_eq!(found.trim(), plain(&text), "{}", words(&new));
        let thoughts: Vec<&Part> =
            said.parts.iter().filter(|part| matches!(part, Part::Thinking { .. })).collect();
        match thoughts[..] {
            [Part::Thinking { text, .. }] => prop_assert_eq!(text, &thought),
            _ => prop_assert!(thought.is_empty(), "{}", words(&new)),
        }
        let calls: Vec<&ToolCall> = said.calls().collect();
        prop_assert_eq!(calls.len(), 1);
        let expected = if arguments.is_empty() { "{}" } else { arguments };
        prop_assert_eq!(&calls[0].arguments, expected);
    }

    /// Changes of the person to one block and of the program to another are both in the merged document.
    #[test]
    fn edits_of_two_blocks_are_merged(Written(bytes) in document(), content in content()) {
        let base = ChatDocument::parse(bytes);
        let (Ok(theirs), Ok(ours)) = (
            base.with_status("a", ToolStatus::Approved),
            base.with_result("b", &NewResult::text(content)),
        ) else { return Ok(()) };
        let Ok(merged) = merge(&base, &theirs, &ours) else { return Ok(()) };
        let is_approved = |answer| matches!(answer, Some(AnswerState::Placeholder(place))
            if place.status == ToolStatus::Approved);
        let expected = is_approved(answer(&theirs, "a"));
        prop_assert_eq!(is_approved(answer(&merged, "a")), expected, "{}", words(&merged));
        prop_assert_eq!(answer(&merged, "b"), answer(&ours, "b"), "{}", words(&merged));
    }

    /// Whatever three documents are merged, every block that the person added is still there.
    #[test]
    fn a_merge_loses_nothing_of_the_person(
        base in document(), theirs in document(), ours in document(),
    ) {
        let [base, theirs, ours] = [base, theirs, ours].map(|Written(bytes)| ChatDocument::parse(bytes));
        let Ok(merged) = merge(&base, &theirs, &ours) else { return Ok(()) };
        let (known, kept) = (pieces(&base), pieces(&merged));
        for piece in pieces(&theirs) {
            prop_assert!(known.contains(&piece) || kept.contains(&piece), "{}", words(&merged));
        }
        let is_you = |piece: &&(String, Vec<u8>)| piece.0 == ChatRole::You.marker();
        prop_assert!(merged.sections().len() >= kept.iter().filter(is_you).count());
    }
}
