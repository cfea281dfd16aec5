//! The fences of code blocks in a text, as Markdown has them.

/// The fence that opened a block; only its like closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    /// The fence that a line is, if no block is open, and what it says of its block.
    pub fn opened_by(line: &str) -> Option<(Self, &str)> {
        let line = line.trim();
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let word = line.trim_start_matches(mark);
        let length = line.len() - word.len();
        // Backquotes that come again are code within a line of prose.
        let is_code = mark == '`' && word.contains('`');
        (length >= 3 && !is_code).then_some((Self { mark, length }, word.trim()))
    }

    pub fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|letter| letter == self.mark)
    }

    /// Only such a block may be a call.
    pub fn is_of_backquotes(self) -> bool {
        self.mark == '`'
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_three_marks_and_a_word() {
        let word = |line| Fence::opened_by(line).map(|(_, word)| word);
        let cases = [
            ("```", Some("")),
            ("  ````tool-call\r\n", Some("tool-call")),
            ("~~~ a `word`", Some("a `word`")),
            ("``", None),
            ("~~", None),
            ("", None),
            ("```code``` in a line", None),
            ("say ```", None),
        ];
        for (line, expected) in cases {
            assert_eq!(word(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_fence_is_closed_by_its_like() {
        let (four, _) = Fence::opened_by("````").unwrap();
        let (tildes, _) = Fence::opened_by("~~~").unwrap();
        let closes = |line| (four.is_closed_by(line), tildes.is_closed_by(line));
        assert_eq!(closes("````"), (true, false));
        assert_eq!(closes("  ~~~~\r"), (false, true));
        assert_eq!(closes("```"), (false, false));
        assert_eq!(closes("`````x"), (false, false));
        assert_eq!(closes(""), (false, false));
    }
}
