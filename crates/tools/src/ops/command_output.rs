//! The output of a command: text, text of another encoding, or bytes as base64 (FR-EXE-06).
//!
//! Law: an output is cut once, by whoever knows the room of the answer, so that the mark in its middle
//! counts every byte that is missing.

use jm_types::text::truncate::{Ends, HeadTail};
use jm_types::text::{json_length, redact};

use crate::ops::binary::{SNIFF, base64_within};
use crate::ops::charset::{decode, encoding_of};

/// The form of output that holds NUL bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// As base64 (FR-EXE-06); text as a terminal would show it in the end, and from its encoding.
    Encoded,
    /// As text like any other, byte for byte, for envelopes that can say every byte.
    AsText,
}

/// One stream of a command, before it is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    form: Form,
    text: Ends,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Text,
    /// Another encoding, which a line of its own names.
    Foreign {
        header: String,
    },
    Binary {
        first: Vec<u8>,
        more: bool,
    },
}

/// Both streams of a command, before they are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncut {
    /// Standard output.
    pub stdout: Printed,
    /// Standard error.
    pub stderr: Printed,
}

impl Printed {
    /// Text as it is, other encodings from theirs. A compiler that quotes one odd byte is still text;
    /// what holds a NUL is not.
    pub(crate) fn of(stream: &HeadTail, binary: Binary) -> Self {
        let plain = || Self::text(stream.text());
        if binary == Binary::AsText {
            return plain();
        }
        let (head, tail, omitted) = stream.ends();
        if let Some(encoding) = encoding_of(&head, &tail) {
            let header = format!("[text:{}]\n", encoding.name());
            let [head, tail] = [head, tail].map(|bytes| decode(encoding, &bytes));
            let text = match (omitted, tail.is_empty()) {
                (0, true) => Ends::whole(&head),
                _ => Ends { head, tail, omitted },
            };
            return Self { form: Form::Foreign { header }, text };
        }
        let first = stream.first();
        match memchr::memchr(0, &first[..first.len().min(SNIFF)]) {
            None => plain(),
            Some(_) => {
                let more = stream.total() > first.len() as u64;
                let form = Form::Binary { first: first.to_vec(), more };
                Self { form, text: stream.text() }
            }
        }
    }

    /// Text from elsewhere.
    pub fn text(text: Ends) -> Self {
        Self { form: Form::Text, text }
    }

    /// Within `max` bytes; the mark says where all of it is, if it is kept.
    pub fn within(&self, max: usize, whole: Option<&str>) -> String {
        match &self.form {
            Form::Text => self.text.within(max, whole),
            Form::Foreign { header } => {
                let room = max.saturating_sub(header.len());
                [header, self.text.within(room, whole).as_str()].concat()
            }
            Form::Binary { first, more } => base64_within(first, *more, max)
                .map_or_else(|| self.text.within(max, whole), |(encoded, _)| encoded),
        }
    }

    /// The same inside a JSON string, whose escapes take room.
    pub fn in_json(&self, room: usize, whole: Option<&str>) -> String {
        // Base64 is longer by a third, and no mark is longer than this.
        let longest = self.text.kept().saturating_mul(2).saturating_add(1024);
        fitted(longest.min(room), room, |most| self.within(most, whole))
    }

    /// The text of both ends, whatever it is shown as.
    pub fn into_text(self) -> Ends {
        self.text
    }

    /// The same without what looks like a secret.
    #[must_use]
    pub fn redacted(self) -> Self {
        Self { text: self.text.map(redact), ..self }
    }
}

impl Uncut {
    /// Both streams as JSON strings that share `room`: errors may have half of it, and more where the
    /// output leaves it.
    pub fn in_json(&self, room: usize, whole: Option<&str>) -> (String, String) {
        let errors = whole.map(|whole| format!("{whole} --stderr"));
        let wanted = json_length(&self.stdout.in_json(room, whole));
        let of_errors = (room / 2).max(room.saturating_sub(wanted));
        let stderr = self.stderr.in_json(of_errors, errors.as_deref());
        (self.stdout.in_json(room.saturating_sub(json_length(&stderr)), whole), stderr)
    }
}

/// The longest form of an output whose JSON form fits: `cut` makes it for a number of bytes, of at
/// most `longest`.
fn fitted(longest: usize, room: usize, cut: impl Fn(usize) -> String) -> String {
    let mut most = longest;
    loop {
        let text = cut(most);
        let length = json_length(&text);
        if length <= room || most == 0 {
            return text;
        }
        // What escapes add is at most fivefold, so this ends soon.
        most = most.min(text.len()).saturating_sub((length - room).div_ceil(6).max(1));
    }
}

/// The form of output that is cut or is no text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner<'a> {
    /// The command that shows all of it, if it is kept.
    pub(crate) whole: Option<&'a str>,
    pub(crate) binary: Binary,
}

impl Manner<'_> {
    pub(crate) const PLAIN: Self = Self { whole: None, binary: Binary::Encoded };
}

pub(crate) const JOINT: &str = "\n\n[stderr]\n";
/// The least of an output that stays, so that none is left out without a trace. Where even that is too
/// much, the envelope cuts it and marks the cut (FR-OUT-04a).
pub(crate) const LEAST_ROOM: usize = 32;

/// Both streams within `room`. Errors come last and matter most, so they may have half of it, and
/// more where the rest leaves it.
pub(crate) fn share_output(
    stdout: &HeadTail,
    stderr: &HeadTail,
    room: usize,
    manner: Manner<'_>,
) -> (String, String) {
    let render = |stream: &HeadTail, room: usize, whole: Option<&str>| {
        Printed::of(stream, manner.binary).within(room, whole)
    };
    if stderr.total() == 0 {
        return (render(stdout, room, manner.whole), String::new());
    }
    let room = room.saturating_sub(JOINT.len()).max(LEAST_ROOM);
    let wanted = |stream: &HeadTail| usize::try_from(stream.total()).unwrap_or(usize::MAX);
    let left_by_stdout = room.saturating_sub(wanted(stdout));
    let errors = manner.whole.map(|whole| format!("{whole} --stderr"));
    let stderr = render(stderr, left_by_stdout.max(room / 2), errors.as_deref());
    (render(stdout, room.saturating_sub(stderr.len()), manner.whole), stderr)
}

/// Nothing was cut, and every byte could be shown as it was.
pub(crate) fn is_all_of(text: &str, stream: &HeadTail) -> bool {
    text.len() as u64 == stream.total() && !text.contains(char::REPLACEMENT_CHARACTER)
}

/// UTF-8, more or less, and no NUL in it.
pub(crate) fn is_utf8_text(stream: &HeadTail) -> bool {
    let (head, tail, _) = stream.ends();
    encoding_of(&head, &tail).is_none()
        && memchr::memchr(0, &head[..head.len().min(SNIFF)]).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte that is missing is counted, however much of the output was kept before.
    #[test]
    fn the_mark_counts_what_is_missing_from_the_whole_output() {
        let text: String = (1..=40_000).map(|n| format!("{n}\n")).collect();
        for keep in [1_000, 20_000, 1_000_000] {
            let mut stream = HeadTail::new(keep);
            stream.push(text.as_bytes());
            let printed = Printed::of(&stream, Binary::Encoded);
            for room in [200, 500, 900, 5_000, 60_000] {
                let cut = printed.in_json(room, None);
                assert!(json_length(&cut) <= room, "{keep} {room}: {}", json_length(&cut));
                let (head, rest) = cut.split_once("\n... [").unwrap();
                let (number, tail) = rest.split_once(" bytes omitted] ...\n").unwrap();
                let omitted: usize = number.parse().unwrap();
                assert_eq!(head.len() + omitted + tail.len(), text.len(), "{keep} {room}");
            }
        }
    }

    /// Base64 stays base64 at every room: it is made for the room, never cut afterwards.
    #[test]
    fn base64_is_made_for_the_room() {
        let mut stream = HeadTail::new(4_000);
        stream.push(&[0, 159, 146, 150].repeat(500));
        let printed = Printed::of(&stream, Binary::Encoded);
        for room in 32..3_000 {
            let cut = printed.in_json(room, None);
            let (header, encoded) = cut.split_once('\n').unwrap();
            assert!(header.starts_with("[binary:base64]"), "{room}: {header}");
            assert!(encoded.len() % 4 == 0 && json_length(&cut) <= room, "{room}");
        }
    }
}
