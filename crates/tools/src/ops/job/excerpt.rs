//! Part of a job's output as text.
//!
//! Law: no character is cut in two. One that is not whole yet is left for the next look, and the
//! places that are named are those of the text that is shown.

use std::io::Result;

use jm_process::background::{Job, JobExcerpt, JobState};
use jm_types::text::sanitize;
use jm_types::text::utf8::unfinished_length;

/// A part of a job's output, with the numbers of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobText {
    /// Whole characters, harmless for a terminal.
    pub text: String,
    /// The offset of the first byte.
    pub start: u64,
    /// The offset behind the last byte.
    pub end: u64,
    /// Bytes printed so far.
    pub total: u64,
}

impl JobText {
    pub(super) fn new_since(job: &Job, seen: u64, most: usize) -> Result<Self> {
        Self::read(job, seen, None, most)
    }

    pub(super) fn range(job: &Job, start: u64, end: Option<u64>, most: usize) -> Result<Self> {
        Self::read(job, start, end, most)
    }

    fn read(job: &Job, start: u64, end: Option<u64>, most: usize) -> Result<Self> {
        // Before the output, so that the last character of a job that has ended is its last.
        let has_ended = matches!(job.state()?, JobState::Ended(_));
        let excerpt = job.read(start, end, most)?;
        let shown = of(&excerpt, has_ended);
        Ok(match job.description.terminal {
            Some(_) => Self { text: sanitize(&shown.text), ..shown },
            None => shown,
        })
    }
}

fn of(excerpt: &JobExcerpt, has_ended: bool) -> JobText {
    let mut text = String::new();
    let mut start = None;
    let mut at = excerpt.start;
    for (place, bytes) in &excerpt.pieces {
        let last = place + bytes.len() as u64;
        let is_cut = last < excerpt.total || !has_ended;
        let from = if *place == 0 { 0 } else { continuation_length(bytes) };
        let to = bytes.len() - if is_cut { unfinished_length(&bytes[from..]) } else { 0 };
        let place = place + from as u64;
        // At the start it may only be the rest of a character.
        let unsaid = if start.is_none() { 3 } else { 0 };
        if place > at + unsaid {
            text.push_str(&gap(at, place, excerpt.dropped));
        }
        start.get_or_insert(place);
        text.push_str(&String::from_utf8_lossy(&bytes[from..to]));
        at = place - from as u64 + to as u64;
    }
    if excerpt.end > at + 3 {
        text.push_str(&gap(at, excerpt.end, excerpt.dropped));
        at = excerpt.end;
    }
    JobText { text, start: start.unwrap_or(excerpt.start), end: at, total: excerpt.total }
}

fn gap(from: u64, to: u64, dropped: u64) -> String {
    let bytes = to - from;
    match dropped.min(bytes) {
        0 => format!("\n... [{bytes} bytes left out: read from {from} to {to}] ...\n"),
        gone if gone == bytes => format!("\n... [{bytes} bytes were not kept] ...\n"),
        gone => format!("\n... [{bytes} bytes left out, {gone} of them not kept] ...\n"),
    }
}

/// The number of bytes at the start that end a character begun before them.
fn continuation_length(bytes: &[u8]) -> usize {
    let continues = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    bytes.iter().take(3).take_while(continues).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[(u64, &[u8])], bounds: (u64, u64, u64, u64), ended: bool, expected: &str) {
        let (start, end, total, dropped) = bounds;
        let pieces = pieces.iter().map(|(place, bytes)| (*place, bytes.to_vec())).collect();
        let shown = of(&JobExcerpt { start, end, total, dropped, pieces }, ended);
        let found = format!("{}-{}: {}", shown.start, shown.end, shown.text);
        assert_eq!(found, expected);
    }

    #[test]
    fn characters_stay_whole_and_gaps_are_named() {
        let text = "aé漢b".as_bytes();
        check(&[(0, text)], (0, 7, 7, 0), true, "0-7: aé漢b");
        check(&[(0, &text[..5])], (0, 5, 5, 0), false, "0-3: aé");
        check(&[(0, &text[..5])], (0, 5, 5, 0), true, "0-5: aé\u{fffd}");
        check(&[(0, &text[..5])], (0, 5, 7, 0), true, "0-3: aé");
        check(&[(2, &text[2..])], (2, 7, 7, 0), true, "3-7: 漢b");
        check(&[], (4, 4, 4, 0), true, "4-4: ");
        check(
            &[(0, b"one"), (90, b"two")],
            (0, 93, 93, 0),
            true,
            "0-93: one\n... [87 bytes left out: read from 3 to 90] ...\ntwo",
        );
        check(
            &[(90, b"two")],
            (10, 93, 93, 80),
            true,
            "90-93: \n... [80 bytes were not kept] ...\ntwo",
        );
        check(
            &[(0, b"one"), (90, b"two")],
            (0, 93, 93, 50),
            true,
            "0-93: one\n... [87 bytes left out, 50 of them not kept] ...\ntwo",
        );
        check(&[], (0, 50, 50, 50), true, "0-50: \n... [50 bytes were not kept] ...\n");
    }
}
