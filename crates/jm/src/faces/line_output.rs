//! A command's output in a plain terminal: its first lines as they come, then the last ones and how many lie between.
//!
//! Law: whole lines, stripped of control sequences, and never more than a screen holds.

use std::collections::VecDeque;

use jm_types::text::Sanitizer;

/// Lines that are printed as they come.
const FIRST: usize = 40;
/// Lines of the end that are printed when it is over.
const LAST: usize = 10;
const LONGEST: usize = 4_000;

#[derive(Debug, Default)]
pub(super) struct LineOutput {
    sanitizer: Sanitizer,
    printed: usize,
    /// The last lines that were not printed, and how many were dropped before them.
    last: VecDeque<String>,
    dropped: usize,
    /// A line without its end.
    partial: String,
}

impl LineOutput {
    /// Takes output in; the text to print now comes back.
    pub(super) fn push(&mut self, chunk: &str) -> String {
        let clean = self.sanitizer.push(chunk);
        let mut now = String::new();
        for piece in clean.split_inclusive('\n') {
            let room = LONGEST.saturating_sub(self.partial.len());
            self.partial.extend(piece.trim_end_matches('\n').chars().take(room));
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.partial);
                self.line(line, &mut now);
            }
        }
        now
    }

    fn line(&mut self, line: String, now: &mut String) {
        if self.printed < FIRST {
            self.printed += 1;
            now.push_str(&line);
            now.push('\n');
            return;
        }
        if self.last.len() == LAST {
            self.last.pop_front();
            self.dropped += 1;
        }
        self.last.push_back(line);
    }

    /// The rest, when the command has ended.
    pub(super) fn end(mut self) -> String {
        let mut text = String::new();
        if !self.partial.is_empty() {
            let line = std::mem::take(&mut self.partial);
            self.line(line, &mut text);
        }
        if self.dropped > 0 {
            text.push_str(&format!("… {} more lines (`jm output` shows all)\n", self.dropped));
        }
        text.extend(self.last.iter().map(|line| format!("{line}\n")));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_its_first_and_its_last_lines() {
        let mut output = LineOutput::default();
        let mut shown: String =
            (1..=60_000).map(|number| output.push(&format!("{number}\n"))).collect();
        assert_eq!(shown.lines().count(), FIRST);
        shown.push_str(&output.end());
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!((lines[0], lines[39], lines[41]), ("1", "40", "59991"));
        assert_eq!(lines[40], "… 59950 more lines (`jm output` shows all)");
        assert_eq!(lines.last(), Some(&"60000"));
    }

    #[test]
    fn a_short_output_is_whole_and_harmless() {
        let mut output = LineOutput::default();
        let shown = output.push("one\ntw\x1b[2Jo\nth") + &output.push("ree") + &output.end();
        assert_eq!(shown, "one\ntwo\nthree\n");
    }
}
