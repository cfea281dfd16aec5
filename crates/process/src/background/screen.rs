//! The screen of a terminal that is none (`vt100`).
//!
//! Law: whatever a program prints, the screen has its size and nothing else grows. A program that asks
//! the terminal something gets an answer, so that none waits for one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

use super::keys::Arrows;
use crate::contract::terminal_size::TerminalSize;

/// Answers that one piece of output may ask for.
const MOST_ANSWER_BYTES: usize = 1024;

/// The screen as text. Rows and columns are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenText {
    /// Without blanks at the ends of lines, and without the empty lines at the end.
    pub text: String,
    /// The cursor's row.
    pub row: u16,
    /// The cursor's column.
    pub column: u16,
}

pub(crate) struct TerminalScreen {
    parser: vt100::Parser<Answers>,
    size: TerminalSize,
}

impl TerminalScreen {
    pub(crate) fn new(size: TerminalSize) -> Self {
        Self { parser: parser(size), size }
    }

    /// Shows output; what the terminal answers to it.
    pub(crate) fn show(&mut self, bytes: &[u8]) -> Vec<u8> {
        let shown = catch_unwind(AssertUnwindSafe(|| self.parser.process(bytes)));
        if shown.is_err() {
            // A screen that was drawn in a way that the parser cannot take begins anew; the program goes on.
            self.parser = parser(self.size);
        }
        std::mem::take(&mut self.parser.callbacks_mut().said)
    }

    pub(crate) fn text(&self) -> ScreenText {
        let screen = self.parser.screen();
        let rows: Vec<String> = screen.rows(0, self.size.columns).collect();
        let text = rows.iter().map(|row| row.trim_end()).collect::<Vec<_>>().join("\n");
        let (row, column) = screen.cursor_position();
        ScreenText { text: text.trim_end().to_owned(), row: row + 1, column: column + 1 }
    }

    pub(crate) fn arrows(&self) -> Arrows {
        if self.parser.screen().application_cursor() { Arrows::Application } else { Arrows::Plain }
    }
}

fn parser(size: TerminalSize) -> vt100::Parser<Answers> {
    vt100::Parser::new_with_callbacks(size.rows, size.columns, 0, Answers::default())
}

/// The answers of a terminal that is asked who and where it is.
#[derive(Default)]
struct Answers {
    said: Vec<u8>,
}

impl vt100::Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        parameters: &[&[u16]],
        last: char,
    ) {
        let number = parameters.first().and_then(|one| one.first()).copied().unwrap_or(0);
        let (row, column) = screen.cursor_position();
        let answer = match (first, last, number) {
            (None, 'n', 5) => "\x1b[0n".to_owned(),
            (None, 'n', 6) => format!("\x1b[{};{}R", row + 1, column + 1),
            // A VT102, which promises nothing more.
            (None, 'c', 0) => "\x1b[?6c".to_owned(),
            (Some(b'>'), 'c', 0) => "\x1b[>0;0;0c".to_owned(),
            _ => return,
        };
        if self.said.len() + answer.len() <= MOST_ANSWER_BYTES {
            self.said.extend_from_slice(answer.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMALL: TerminalSize = TerminalSize { rows: 4, columns: 10 };

    fn shown(bytes: &[u8]) -> (String, (u16, u16)) {
        let mut screen = TerminalScreen::new(SMALL);
        screen.show(bytes);
        let shown = screen.text();
        (shown.text, (shown.row, shown.column))
    }

    #[test]
    fn what_is_drawn_over_is_gone() {
        let cases: &[(&[u8], &str, (u16, u16))] = &[
            (b"", "", (1, 1)),
            (b"10%\r50%\r100%", "100%", (1, 5)),
            (b"one\r\ntwo", "one\ntwo", (2, 4)),
            (b"a\x1b[3;5Hb", "a\n\n    b", (3, 6)),
            (b"old\x1b[2J\x1b[Hnew \x1b[31mred\x1b[m", "new red", (1, 8)),
            (b"shell\x1b[?1049h\x1b[Heditor", "editor", (1, 7)),
            (b"shell\x1b[?1049h\x1b[Heditor\x1b[?1049l", "shell", (1, 6)),
            (b"1\r\n2\r\n3\r\n4\r\n5", "2\n3\n4\n5", (4, 2)),
            ("漢字é".as_bytes(), "漢字é", (1, 6)),
        ];
        for (bytes, text, cursor) in cases {
            assert_eq!(shown(bytes), ((*text).to_owned(), *cursor), "{bytes:?}");
        }
    }

    #[test]
    fn questions_are_answered() {
        let mut screen = TerminalScreen::new(SMALL);
        assert_eq!(screen.show(b"ab\x1b[6n\x1b[c\x1b[>c\x1b[5n\x1b[99n"), {
            b"\x1b[1;3R\x1b[?6c\x1b[>0;0;0c\x1b[0n"
        });
        assert_eq!(screen.show(b""), b"");
        assert!(screen.show(&b"\x1b[6n".repeat(10_000)).len() <= MOST_ANSWER_BYTES);
    }

    #[test]
    fn a_program_says_how_it_wants_its_arrows() {
        let mut screen = TerminalScreen::new(SMALL);
        assert_eq!(screen.arrows(), Arrows::Plain);
        screen.show(b"\x1b[?1h");
        assert_eq!(screen.arrows(), Arrows::Application);
    }

    proptest! {
        #[test]
        fn nothing_that_is_printed_breaks_the_screen(
            pieces in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..20),
                    "\\x1b\\[[0-9;?]{0,8}[@-~]".prop_map(String::into_bytes),
                    "[漢é a-z\r\n\t\u{8}]{0,12}".prop_map(String::into_bytes),
                ],
                0..60,
            ),
        ) {
            let mut screen = TerminalScreen::new(SMALL);
            for piece in &pieces {
                screen.show(piece);
            }
            let shown = screen.text();
            prop_assert!(shown.text.lines().count() <= usize::from(SMALL.rows));
        }
    }
}
