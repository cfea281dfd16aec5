//! The end of an output, which is where a command says what came of it.

use jm_types::text::truncate::HeadTail;

/// The most of an output's end that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Last {
    /// Lines from the end.
    pub lines: usize,
    /// Bytes from the end.
    pub bytes: usize,
}

/// For the line that says what is missing, but for the place of the whole.
const NOTE_ROOM: usize = 100;

impl Last {
    /// Tells whether an output has more than is shown.
    pub(crate) fn cuts(self, stream: &HeadTail) -> bool {
        let kept = stream.last(self.bytes);
        (kept.len() as u64) < stream.total() || kept.lines().count() > self.lines
    }

    /// The last lines within `room`, under a note where something is missing; `whole` says where
    /// all of it is.
    pub(crate) fn of(self, stream: &HeadTail, room: usize, whole: Option<&str>) -> String {
        let most = self.bytes.min(room);
        let kept = stream.last(most);
        let is_all = kept.len() as u64 >= stream.total();
        if is_all && kept.lines().count() <= self.lines {
            return kept;
        }
        let note_room = NOTE_ROOM + whole.map_or(0, str::len);
        let start =
            kept.ceil_char_boundary(kept.len().saturating_sub(most.saturating_sub(note_room)));
        let text = self.whole_lines(&kept, start, is_all);
        let shown = text.lines().count();
        let of = if is_all {
            format!("of {} lines", kept.lines().count())
        } else {
            format!("lines of {} bytes", stream.total())
        };
        let whole = whole.map(|whole| format!(". Full output: {whole}")).unwrap_or_default();
        format!("[the last {shown} {of}{whole}]\n{text}")
    }

    /// From `start` on, without a line that was cut in two unless it is the only one.
    fn whole_lines(self, text: &str, start: usize, is_all: bool) -> &str {
        let is_torn = (start > 0 || !is_all) && !text[..start].ends_with('\n');
        let after = text[start..].find('\n').map(|end| start + end + 1);
        let start = after.filter(|at| is_torn && *at < text.len()).unwrap_or(start);
        let skipped = text[start..].lines().count().saturating_sub(self.lines);
        let next = |at: usize| at + text[at..].find('\n').map_or(0, |end| end + 1);
        &text[(0..skipped).fold(start, |at, _| next(at))..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: Last = Last { lines: 2000, bytes: 50 * 1024 };

    fn printed(text: &str) -> HeadTail {
        let mut stream = HeadTail::new(2 * LAST.bytes);
        stream.push(text.as_bytes());
        stream
    }

    #[test]
    fn the_end_within_lines_and_bytes() {
        let lines = |count: usize| (1..=count).map(|n| format!("{n}\n")).collect::<String>();
        assert_eq!(LAST.of(&printed(&lines(2000)), 99_999, None), lines(2000));
        let cut = LAST.of(&printed(&lines(2001)), 99_999, Some("jm output c"));
        let note = "[the last 2000 of 2001 lines. Full output: jm output c]\n2\n";
        assert!(cut.starts_with(note), "{cut:.60}");
        for room in [200, 1000, 5000, 99_999] {
            let cut = LAST.of(&printed(&lines(30_000)), room, None);
            assert!(cut.len() <= room && cut.ends_with("30000\n"), "{room} {}", cut.len());
            assert!(cut.contains(" lines of 168894 bytes]\n"), "{cut:.60}");
        }
        let one_line = "é".repeat(60_000);
        let cut = LAST.of(&printed(&one_line), 99_999, None);
        assert!(cut.ends_with("éé") && cut.len() > 50_000, "{}", cut.len());
    }
}
