//! The lines that a section aims at in bytes that it was perhaps not written for.
//!
//! Law: these are guesses for messages. They never decide what is changed.

use std::ops::RangeInclusive;

use jm_files::text::Text;

use super::nearest::nearest_window;
use super::patch::{FinalNewline, PatchAction, Section};
use super::window::{contains, hits};

/// The most find blocks without a match that are looked for by likeness, which takes a while.
const GUESSES: usize = 8;

/// The aim of each operation in `bytes`, as lines from 1: the find block where it stands, else
/// where something like it does; the first or last line for what goes there. Nothing for an
/// operation whose lines are nowhere, nor for one of too many that need a guess.
pub fn target_lines(section: &Section, bytes: &[u8]) -> Vec<RangeInclusive<usize>> {
    let text = Text::new(bytes.to_vec());
    let lines: Vec<&[u8]> = text.contents().collect();
    let actions = section.operations.iter().map(|operation| &operation.action);
    let mut guesses = GUESSES;
    actions.filter_map(|action| aim(action, &lines, &mut guesses)).collect()
}

fn aim(
    action: &PatchAction,
    lines: &[&[u8]],
    guesses: &mut usize,
) -> Option<RangeInclusive<usize>> {
    if lines.is_empty() {
        return None;
    }
    let Some(target) = action.target() else {
        let at_start = matches!(action, PatchAction::Prepend { .. });
        return Some(if at_start { 1..=1 } else { lines.len()..=lines.len() });
    };
    let starts = hits(lines, &target.find);
    let wanted = target.occurrence.map_or(0, |occurrence| occurrence.get() - 1);
    if let Some(start) = starts.get(wanted).or(starts.last()) {
        return Some(start + 1..=start + target.find.len());
    }
    *guesses = guesses.checked_sub(1)?;
    let window = nearest_window(lines, &target.find)?;
    Some(window.start + 1..=window.end)
}

/// Tells whether the section seems to be in `bytes` already: all that it would add stands where it would
/// stand, and what it would take away is gone.
pub fn is_already_applied(section: &Section, bytes: &[u8]) -> bool {
    let mut actions = section.operations.iter().map(|operation| &operation.action);
    let adds_lines = |action: &PatchAction| action.needs_file() && !action.new_lines().is_empty();
    // Without added lines there is no evidence: an absent block is merely absent.
    if !actions.clone().any(adds_lines) {
        return false;
    }
    let text = Text::new(bytes.to_vec());
    let lines: Vec<&[u8]> = text.contents().collect();
    actions.all(|action| is_done(action, &text, &lines))
}

fn is_done(action: &PatchAction, text: &Text, lines: &[&[u8]]) -> bool {
    let stands = |parts: [&[String]; 2]| contains(lines, &parts.concat());
    match action {
        PatchAction::Replace { target, new } if new.is_empty() => !contains(lines, &target.find),
        PatchAction::Replace { target, new } => {
            contains(lines, new) && (!contains(lines, &target.find) || contains(new, &target.find))
        }
        PatchAction::InsertAfter { target, new } => stands([&target.find, new]),
        PatchAction::InsertBefore { target, new } => stands([new, &target.find]),
        PatchAction::Erase { target } => !contains(lines, &target.find),
        PatchAction::Append { new } => lines.ends_with(&borrowed(new)),
        PatchAction::Prepend { new } => lines.starts_with(&borrowed(new)),
        PatchAction::FinalNewline(FinalNewline::Present) => text.ends_with_newline(),
        PatchAction::FinalNewline(FinalNewline::Absent) => !text.ends_with_newline(),
    }
}

fn borrowed(lines: &[String]) -> Vec<&[u8]> {
    lines.iter().map(String::as_bytes).collect()
}
