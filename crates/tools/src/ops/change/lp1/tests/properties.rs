//! Laws that hold for every file and every patch.

use std::num::NonZeroUsize;

use jm_files::text::Text;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::super::*;

/// Lines from a small alphabet, so that find blocks do match.
fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "", ".", "..", ".a", "END", "F x", "# c", " a", "a\0"])
            .prop_map(str::to_owned),
        1 => "[^\r\n]{0,8}",
    ]
}

fn any_lines() -> impl Strategy<Value = Vec<String>> {
    vec(any_line(), 0..4)
}

fn any_target() -> impl Strategy<Value = PatchTarget> {
    (vec(any_line(), 1..3), option::of(1usize..4)).prop_map(|(find, occurrence)| PatchTarget {
        find,
        occurrence: occurrence.and_then(NonZeroUsize::new),
    })
}

fn any_action() -> impl Strategy<Value = PatchAction> {
    prop_oneof![
        (any_target(), any_lines()).prop_map(|(target, new)| PatchAction::Replace { target, new }),
        (any_target(), any_lines())
            .prop_map(|(target, new)| PatchAction::InsertAfter { target, new }),
        (any_target(), any_lines())
            .prop_map(|(target, new)| PatchAction::InsertBefore { target, new }),
        any_target().prop_map(|target| PatchAction::Erase { target }),
        any_lines().prop_map(|new| PatchAction::Append { new }),
        any_lines().prop_map(|new| PatchAction::Prepend { new }),
        Just(PatchAction::FinalNewline(FinalNewline::Present)),
        Just(PatchAction::FinalNewline(FinalNewline::Absent)),
    ]
}

fn any_sections() -> impl Strategy<Value = Vec<(String, Vec<PatchAction>)>> {
    vec(("[^\r\n]{1,6}", vec(any_action(), 0..5)), 0..4)
}

fn section_of(path: &str, actions: &[PatchAction]) -> Section {
    let operations = actions.iter().enumerate();
    let operations = operations.map(|(index, action)| PatchOperation {
        line: 1,
        number: index + 1,
        action: action.clone(),
    });
    Section { path: path.to_owned(), line: 1, operations: operations.collect() }
}

/// A file of one newline kind, with foreign bytes and NULs here and there.
fn any_file() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "", ".", ".a", " a", "a\0"])
            .prop_map(|line| line.as_bytes().to_vec()),
        1 => vec(any::<u8>().prop_filter("no newline", |b| !b"\r\n".contains(b)), 0..4),
    ];
    let newline = prop::sample::select(vec!["\n", "\r\n"]);
    (any::<bool>(), vec(line, 0..8), newline, any::<bool>()).prop_map(
        |(mark, lines, newline, ends)| {
            let mut file = if mark { b"\xEF\xBB\xBF".to_vec() } else { vec![] };
            file.extend(lines.join(newline.as_bytes()));
            file.extend(newline.bytes().filter(|_| ends && !lines.is_empty()));
            file
        },
    )
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![any_file(), vec(any::<u8>(), 0..64)]
}

/// Text that looks enough like a patch to get past the first line.
fn any_patch_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => prop::sample::select(vec![
            "LP1", "END", "F a", "F \"a b\"", "R", "I 2", "P", "E", "T", "B", "N +", "N -", ".", "..",
            "a", "b", "", "# c", ".a", "a\r", "R2", "F \"",
        ]).prop_map(str::to_owned),
        1 => ".{0,8}",
    ];
    vec(piece, 0..16).prop_map(|lines| format!("LP1\n{}\nEND", lines.join("\n")))
}

/// The one operation's lines in the file, from 0: the first it touches and the first after it.
fn touched(text: &Text, action: &PatchAction) -> Option<(usize, usize)> {
    let target = action.target()?;
    let lines: Vec<&[u8]> = text.contents().collect();
    let starts = window::hits(&lines, &target.find);
    let start = starts[target.occurrence.map_or(0, NonZeroUsize::get).saturating_sub(1)];
    let end = start + target.find.len();
    Some(match action {
        PatchAction::InsertAfter { .. } => (end, end),
        PatchAction::InsertBefore { .. } => (start, start),
        PatchAction::Replace { .. } | PatchAction::Erase { .. } => (start, end),
        PatchAction::Append { .. } | PatchAction::Prepend { .. } | PatchAction::FinalNewline(_) => {
            return None;
        }
    })
}

proptest! {
    #[test]
    fn printing_and_parsing_gives_the_same_patch(sections in any_sections()) {
        let sections = sections.iter().map(|(path, actions)| section_of(path, actions)).collect();
        let text = Patch { sections }.to_text();
        let parsed = parse(&text).unwrap();
        prop_assert_eq!(&parsed.to_text(), &text);
        prop_assert_eq!(parse(&text.replace('\n', "\r\n")).unwrap(), parsed);
    }

    #[test]
    fn parsing_and_printing_keeps_every_action(sections in any_sections()) {
        let written: Vec<Section> =
            sections.iter().map(|(path, actions)| section_of(path, actions)).collect();
        let parsed = parse(&Patch { sections: written }.to_text()).unwrap();
        let read: Vec<(String, Vec<PatchAction>)> = parsed.sections.into_iter().map(|section| {
            let actions = section.operations.into_iter().map(|operation| operation.action);
            (section.path, actions.collect())
        }).collect();
        prop_assert_eq!(read, sections);
    }

    #[test]
    fn no_text_and_no_bytes_make_it_panic(text in any_patch_text(), bytes in any_bytes(), any in ".*") {
        if let Err(error) = parse(&any) {
            prop_assert!(!error.to_string().is_empty() && error.hint().is_some());
        }
        let Ok(patch) = parse(&text) else { return Ok(()) };
        for section in &patch.sections {
            target_lines(section, &bytes);
            is_already_applied(section, &bytes);
            for before in [None, Some(bytes.as_slice())] {
                match apply(section, before) {
                    Ok(after) => prop_assert_eq!(apply(section, before), Ok(after)),
                    Err(error) => prop_assert!(error.to_string().starts_with("patch line ")),
                }
            }
        }
    }

    #[test]
    fn bytes_around_an_edit_stay(bytes in any_file(), action in any_action()) {
        let Ok(Some(after)) = apply(&section_of("file", std::slice::from_ref(&action)), Some(&bytes)) else {
            return Ok(());
        };
        let text = Text::new(bytes.clone());
        let Some((first, next)) = touched(&text, &action) else { return Ok(()) };
        let start = |line: usize| text.lines().get(line).map_or(bytes.len(), |line| line.start);
        prop_assert!(after.ends_with(&bytes[start(next)..]));
        if !after.starts_with(&bytes[..start(first)]) {
            // The last line had no newline and is gone, so the line before it has none now.
            prop_assert!(next == text.line_count() && !text.ends_with_newline());
            prop_assert_eq!(&after, &bytes[..text.lines()[first - 1].end]);
        }
    }

    #[test]
    fn a_whole_file_can_be_rewritten(before in any_file(), after in any_lines()) {
        let text = Text::new(before.clone());
        let lines: Option<Vec<String>> =
            text.contents().map(|line| String::from_utf8(line.to_vec()).ok()).collect();
        let Some(find) = lines.filter(|find| !find.is_empty()) else { return Ok(()) };
        let action = PatchAction::Replace { target: PatchTarget { find, occurrence: None }, new: after.clone() };
        let written = apply(&section_of("file", &[action]), Some(&before)).unwrap().unwrap();
        let newline = if before.contains(&b'\r') { "\r\n" } else { "\n" };
        let end = if text.ends_with_newline() && !after.is_empty() { newline } else { "" };
        let joined = after.join(newline) + end;
        let expected = [text.byte_order_mark(), joined.as_bytes()];
        prop_assert_eq!(written, expected.concat());
    }
}
