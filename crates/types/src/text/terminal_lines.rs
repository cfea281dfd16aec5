//! Lines that were drawn over, as a terminal leaves them: progress bars, spinners, counters.
//!
//! Law: a line is what a terminal shows when the line ends. A line that nothing was drawn over is
//! passed on byte for byte, its `\r\n` too. However the bytes come in pieces, the result is the same,
//! but for a line longer than [`LONGEST`], of which no more is held back.

/// So much of a line is held back to be drawn over.
pub const LONGEST: usize = 64 * 1024;

/// Draws one stream.
#[derive(Debug, Default)]
pub struct Settler {
    /// The line that has not ended, as it came.
    line: Vec<u8>,
    /// True if anything was lost by being drawn over.
    is_redrawn: bool,
}

impl Settler {
    /// Takes the next bytes and gives `out` the lines that nothing can overwrite any more.
    pub fn push(&mut self, bytes: &[u8], mut out: impl FnMut(&[u8])) {
        let is_plain = memchr::memchr2(b'\r', b'\x08', bytes).is_none();
        let Some(last) = memchr::memrchr(b'\n', bytes) else {
            self.line.extend_from_slice(bytes);
            return self.hold(&mut out);
        };
        let (mut ended, rest) = bytes.split_at(last + 1);
        // The line that was begun before these bytes, then all others.
        if !self.line.is_empty() {
            let end = memchr::memchr(b'\n', ended).map_or(ended.len(), |end| end + 1);
            self.line.extend_from_slice(&ended[..end]);
            ended = &ended[end..];
            let line = std::mem::take(&mut self.line);
            self.end(&line, &mut out);
        }
        if is_plain {
            out(ended)
        } else {
            ended.split_inclusive(|byte| *byte == b'\n').for_each(|line| {
                self.end(line, &mut out);
            })
        }
        self.line.extend_from_slice(rest);
        self.hold(&mut out);
    }

    /// The end of the stream, which ends its line.
    pub fn finish(&mut self, mut out: impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.line);
        self.end(&line, &mut out);
    }

    /// True if something that was printed is not in what was passed on.
    pub fn is_redrawn(&self) -> bool {
        self.is_redrawn
    }

    fn end(&mut self, line: &[u8], out: &mut impl FnMut(&[u8])) {
        let newline = match line {
            [.., b'\r', b'\n'] => 2,
            [.., b'\n'] => 1,
            _ => 0,
        };
        let (drawn, newline) = line.split_at(line.len() - newline);
        if memchr::memchr2(b'\r', b'\x08', drawn).is_none() {
            return out(line);
        }
        self.is_redrawn = true;
        out(&settled(drawn));
        out(newline);
    }

    /// Keeps the line within its bounds: what was drawn over goes, and if that is not enough the
    /// line is let go as it is.
    fn hold(&mut self, out: &mut impl FnMut(&[u8])) {
        if self.line.len() <= LONGEST {
            return;
        }
        // The last return may be the first half of a line's end.
        let drawn = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        if let Some(last) = memchr::memrchr(b'\r', drawn) {
            let mut line = settled(&self.line[..last]);
            line.extend_from_slice(&self.line[last..]);
            self.is_redrawn = true;
            self.line = line;
        }
        if self.line.len() > LONGEST / 2 {
            out(&std::mem::take(&mut self.line));
        }
    }
}

/// The line that a terminal shows after all of it was printed.
fn settled(line: &[u8]) -> Vec<u8> {
    let mut cells: Vec<&[u8]> = Vec::new();
    let mut column = 0;
    let mut rest = line;
    while let Some(first) = rest.first() {
        let length = match first {
            b'\x1b' => {
                let length = sequence_length(rest);
                match control(&rest[..length]) {
                    Some(Control::EraseRight) => cells.truncate(column),
                    Some(Control::EraseAll) => {
                        cells.truncate(column);
                        cells.fill(b" ");
                    }
                    Some(Control::Column(to)) => column = to,
                    None => {}
                }
                length
            }
            b'\r' => {
                column = 0;
                1
            }
            b'\x08' => {
                column = column.saturating_sub(1);
                1
            }
            _ => {
                let length = character_length(rest);
                if cells.len() <= column {
                    cells.resize(column + 1, b" ");
                }
                cells[column] = &rest[..length];
                column += 1;
                length
            }
        };
        rest = &rest[length..];
    }
    let end = cells.iter().rposition(|cell| *cell != b" ").map_or(0, |last| last + 1);
    cells[..end].concat()
}

/// A character that changes a line besides its text.
enum Control {
    EraseRight,
    EraseAll,
    /// Counted from 0.
    Column(usize),
}

/// No line is wider than what is held of it.
const WIDEST: usize = 4096;

fn control(sequence: &[u8]) -> Option<Control> {
    let inner = std::str::from_utf8(sequence.strip_prefix(b"\x1b[")?).ok()?;
    let (argument, last) = inner.split_at_checked(inner.len().checked_sub(1)?)?;
    match (last, argument) {
        ("K", "" | "0") => Some(Control::EraseRight),
        ("K", "2") => Some(Control::EraseAll),
        ("G", "") => Some(Control::Column(0)),
        ("G", column) => {
            let column: usize = column.parse().ok()?;
            Some(Control::Column(column.saturating_sub(1).min(WIDEST)))
        }
        _ => None,
    }
}

/// An escape and what belongs to it: `ESC [ … letter`, `ESC ] … BEL`, or two bytes.
fn sequence_length(bytes: &[u8]) -> usize {
    let end = |from: usize, is_end: &dyn Fn(u8) -> bool| {
        let found = bytes[from..].iter().position(|byte| is_end(*byte));
        found.map_or(bytes.len(), |at| from + at + 1)
    };
    match bytes.get(1) {
        Some(b'[') => end(2, &|byte| (0x40..=0x7e).contains(&byte)),
        Some(b']') => end(2, &|byte| byte == b'\x07' || byte == b'\\'),
        Some(_) => 2,
        None => 1,
    }
}

/// A whole character of UTF-8, or a byte that is none.
fn character_length(bytes: &[u8]) -> usize {
    let longest = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(longest) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&longest[..error.valid_up_to()]).unwrap_or_default(),
    };
    valid.chars().next().map_or(1, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn(bytes: &[u8], piece: usize) -> (Vec<u8>, bool) {
        let mut settler = Settler::default();
        let mut all = Vec::new();
        for piece in bytes.chunks(piece.max(1)) {
            settler.push(piece, |bytes| all.extend_from_slice(bytes));
        }
        settler.finish(|bytes| all.extend_from_slice(bytes));
        (all, settler.is_redrawn())
    }

    #[test]
    fn a_line_is_what_is_seen_at_its_end() {
        let cases: &[(&str, &str)] = &[
            ("", ""),
            ("plain\ntext", "plain\ntext"),
            ("10%\r50%\r100%\n", "100%\n"),
            ("10%\r50%\r100%", "100%"),
            ("a\r\nb\r\n", "a\r\nb\r\n"),
            ("a\r\r\nb", "a\r\nb"),
            ("working\rok\n", "okrking\n"),
            ("working\r\x1b[Kok\n", "ok\n"),
            ("working\r\x1b[2Kok\n", "ok\n"),
            ("one\x1b[2Ktwo\rx\n", "x  two\n"),
            ("|\x08/\x08-\x08\\\x08done\n", "done\n"),
            ("abc\x08\x08X\n", "aXc\n"),
            ("\x08\x08a\n", "a\n"),
            ("70%\x1b[1G80%\r90%\n", "90%\n"),
            ("\x1b[32mgreen\x1b[0m\n", "\x1b[32mgreen\x1b[0m\n"),
            ("\x1b[32m10%\x1b[0m\r\x1b[32m20%\x1b[0m\n", "20%\n"),
            ("\x1b]0;title\x07a\rb\n", "b\n"),
            ("é漢😀\rx\n", "x漢😀\n"),
            ("before\n1\r2\r3\nafter\n", "before\n3\nafter\n"),
            ("bar   \r   \n", "\n"),
        ];
        for (printed, expected) in cases {
            for piece in [1, 2, 3, 7, 1000] {
                let (found, is_redrawn) = drawn(printed.as_bytes(), piece);
                assert_eq!(String::from_utf8_lossy(&found), *expected, "{printed:?} by {piece}");
                assert_eq!(is_redrawn, expected != printed, "{printed:?}");
            }
        }
        assert_eq!(drawn(b"\xff\xfe\rx\n", 1).0, b"x\xfe\n");
    }

    #[test]
    fn memory_is_bounded() {
        let mut settler = Settler::default();
        let mut total = 0;
        for step in 0..200_000 {
            let bar = format!("\r{step} of 200000 {}", "=".repeat(step % 60));
            settler.push(bar.as_bytes(), |bytes| total += bytes.len());
            assert!(settler.line.len() <= LONGEST, "{}", settler.line.len());
        }
        assert_eq!(total, 0, "a bar that goes on is not passed on");
        settler.push(b"\x1b[K\n", |bytes| total += bytes.len());
        assert!(total < 100, "{total}");
        let long = vec![b'x'; 10 * LONGEST];
        for piece in long.chunks(1000) {
            settler.push(piece, |bytes| total += bytes.len());
            assert!(settler.line.len() <= LONGEST);
        }
        settler.finish(|bytes| total += bytes.len());
        assert!(total >= long.len());
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(bytes in prop::collection::vec(prop::sample::select(
            b"ab \r\n\x08\x1b[K2G\xc3\xa9\xff".to_vec()), 0..60)) {
            let whole = drawn(&bytes, bytes.len());
            for piece in 1..bytes.len() {
                prop_assert_eq!(&drawn(&bytes, piece), &whole);
            }
        }

        /// A terminal wide enough for the line is the judge.
        #[test]
        fn a_terminal_shows_the_same(line in prop::collection::vec(prop::sample::select(vec![
            "a", "b", "cd", " ", "\r", "\x08", "\x1b[K", "\x1b[2K", "\x1b[3G", "\x1b[1m"]), 0..40)) {
            let line = format!("{}\r", line.concat());
            let mut terminal = vt100::Parser::new(2, 200, 0);
            terminal.process(line.as_bytes());
            let shown = terminal.screen().rows(0, 200).next().unwrap_or_default();
            let (found, _) = drawn(line.as_bytes(), 5);
            let found = String::from_utf8_lossy(&found);
            prop_assert_eq!(found.trim_end(), shown.trim_end());
        }

        #[test]
        fn what_is_not_drawn_over_stays(lines in prop::collection::vec("[^\r\n\u{8}]*", 0..5)) {
            let text = lines.join("\r\n");
            prop_assert_eq!(drawn(text.as_bytes(), 3), (text.into_bytes(), false));
        }
    }
}
