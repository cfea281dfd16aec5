//! The fences of code blocks in a text, as Markdown has them.

/// The fewest marks of a fence.
const SHORTEST: usize = 3;

/// A fence longer than every run of backquotes in a text, so that nothing in it can close the block.
pub fn fence_for(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(SHORTEST.max(longest + 1))
}

/// The fence that opened a block; only its like closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    mark: u8,
    length: usize,
}

impl Fence {
    /// The fence that a line is, if no block is open, and what it says of its block.
    pub fn opened_by(line: &str) -> Option<(Self, &str)> {
        let line = line.trim();
        let fence = Self::at_start(line.as_bytes())?;
        Some((fence, line[fence.length..].trim()))
    }

    /// The fence at the very start of a line that may be no text; where it ends, its words begin.
    pub fn at_start(line: &[u8]) -> Option<Self> {
        let mark = *line.first().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let length = line.iter().take_while(|byte| **byte == mark).count();
        // Backquotes that come again are code within a line of prose.
        let is_code = mark == b'`' && line[length..].contains(&mark);
        (length >= SHORTEST && !is_code).then_some(Self { mark, length })
    }

    /// True if a line is nothing but marks of this kind, and no fewer.
    pub fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.bytes().all(|byte| byte == self.mark)
    }

    /// The number of marks.
    pub fn length(self) -> usize {
        self.length
    }

    /// Only such a block may be a call.
    pub fn is_of_backquotes(self) -> bool {
        self.mark == b'`'
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

    #[test]
    fn a_new_fence_is_longer_than_what_it_holds() {
        for (text, expected) in [("", "```"), ("a `b` ```", "````"), ("`````", "``````")] {
            assert_eq!(fence_for(text), expected);
        }
    }
}
