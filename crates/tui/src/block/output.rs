//! A command's output as it comes: the first lines, the last 50, and how many there were (FR-TUI-03).
//!
//! Law: what is kept is bounded, whatever is printed.

use std::collections::VecDeque;

use jm_types::text::Sanitizer;

use crate::text::{Line, Role};

/// Lines that are drawn at most.
pub const MOST_LINES: usize = 50;
const HEAD_LINES: usize = 4;
const LONGEST_LINE: usize = 4_000;
/// The beginning of the line that stands for those that are folded.
pub(super) const MORE: &str = "  … ";

/// The end of a command's output, and how much there was.
#[derive(Debug, Default)]
pub struct OutputBlock {
    head: Vec<String>,
    tail: VecDeque<String>,
    /// A line without its end.
    partial: String,
    sanitizer: Sanitizer,
    /// Lines that were printed.
    pub lines: usize,
    /// Bytes that were printed.
    pub bytes: u64,
    /// Lines between the end and what is in sight; nothing while the end is followed.
    scrolled: usize,
}

impl OutputBlock {
    /// Takes the next chunk.
    pub fn push(&mut self, chunk: &str) {
        self.bytes += chunk.len() as u64;
        let clean = self.sanitizer.push(chunk);
        let mut rest = clean.as_str();
        while let Some(end) = rest.find('\n') {
            self.add_partial(&rest[..end]);
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.partial);
            self.end_line(line);
        }
        self.add_partial(rest);
    }

    fn add_partial(&mut self, text: &str) {
        let room = LONGEST_LINE.saturating_sub(self.partial.len());
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.partial.push_str(&text[..end]);
    }

    fn end_line(&mut self, line: String) {
        self.lines += 1;
        if self.head.len() < HEAD_LINES {
            self.head.push(line.clone());
        }
        if self.tail.len() == MOST_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line);
        if self.scrolled > 0 {
            // What is looked at stays in sight until it is dropped.
            self.scroll(1);
        }
    }

    /// Back by so many lines, or forward; at the end it follows again.
    pub fn scroll(&mut self, lines: isize) {
        let most = self.tail.len().saturating_sub(1);
        self.scrolled = self.scrolled.saturating_add_signed(lines).min(most);
    }

    /// Head and tail of what came, with the number of lines between them.
    pub fn ends(&self) -> Vec<Line> {
        let quiet = |line: &String| Line::of(format!("  {line}"), Role::Muted);
        let tail: Vec<&String> = self.tail.iter().collect();
        if self.lines <= MOST_LINES {
            let text: Vec<&str> = tail.iter().map(|line| line.as_str()).collect();
            return folded(&text.join("\n"), 3, 5);
        }
        let (head, last) = (self.head.iter().take(3), &tail[tail.len().saturating_sub(5)..]);
        let mut lines: Vec<Line> = head.map(quiet).collect();
        lines.push(more_lines(self.lines - 8));
        lines.extend(last.iter().map(|line| quiet(line)));
        lines
    }

    /// Tells if lines have left the block.
    pub fn is_scrolled(&self) -> bool {
        self.scrolled > 0
    }

    /// The last lines that fit, or those before them where it was scrolled.
    pub fn window(&self, rows: usize) -> Vec<Line> {
        let partial = Some(&self.partial).filter(|line| !line.is_empty() && self.scrolled == 0);
        let all: Vec<&String> = self.tail.iter().chain(partial).collect();
        let end = all.len().saturating_sub(self.scrolled);
        let start = end.saturating_sub(rows);
        all[start..end].iter().map(|line| Line::of(format!("  {line}"), Role::Muted)).collect()
    }
}

/// Says how many lines are folded.
pub(super) fn more_lines(hidden: usize) -> Line {
    Line::of(format!("{MORE}{hidden} more lines"), Role::Muted)
}

/// Head and tail of a whole text, with the number of lines between them.
pub fn folded(text: &str, head: usize, tail: usize) -> Vec<Line> {
    let quiet = |line: &str| {
        let start: String = line.trim_end().chars().take(LONGEST_LINE).collect();
        match start.is_empty() {
            true => Line::new(),
            false => Line::of(format!("  {start}"), Role::Muted),
        }
    };
    let rows = rows(text.trim_end_matches('\n'));
    let total = rows.len();
    if total <= head + tail + 1 {
        return rows.into_iter().map(quiet).collect();
    }
    let (first, last) = (&rows[..head], &rows[total - tail..]);
    let mut lines: Vec<Line> = first.iter().map(|line| quiet(line)).collect();
    lines.push(more_lines(total - head - tail));
    lines.extend(last.iter().map(|line| quiet(line)));
    lines
}

/// The lines of a text; blank ones that follow each other are one.
fn rows(text: &str) -> Vec<&str> {
    let mut rows: Vec<&str> = text.lines().collect();
    rows.dedup_by(|next, before| next.trim().is_empty() && before.trim().is_empty());
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.plain().trim().to_owned()).collect()
    }

    #[test]
    fn the_end_is_followed_unless_it_was_scrolled() {
        let mut output = OutputBlock::default();
        for number in 0..200 {
            output.push(&format!("line {number}\n"));
        }
        output.push("part");
        assert_eq!(shown(&output.window(2)), ["line 199", "part"]);
        assert_eq!(output.tail.len(), MOST_LINES);
        output.scroll(3);
        assert_eq!(shown(&output.window(2)), ["line 195", "line 196"]);
        output.push("ial\n");
        assert_eq!(shown(&output.window(2)), ["line 195", "line 196"], "it stays where it was");
        output.scroll(-100);
        assert_eq!(shown(&output.window(1)), ["partial"]);
        assert_eq!(output.lines, 201);
        let ends = shown(&output.ends());
        assert_eq!((ends[0].as_str(), ends[3].as_str()), ("line 0", "… 193 more lines"));
        assert_eq!(ends.last().unwrap(), "partial");
    }

    #[test]
    fn a_flood_is_bounded_and_harmless() {
        let mut output = OutputBlock::default();
        let flood = format!("\x1b]52;c;{}\x07{}", "A".repeat(1000), "x".repeat(1_000_000));
        for _ in 0..20 {
            output.push(&flood);
        }
        assert!(output.partial.len() <= LONGEST_LINE);
        assert!(output.partial.chars().all(|c| c == 'x'));
        assert_eq!(output.bytes, 20 * flood.len() as u64);
    }

    #[test]
    fn a_long_text_is_folded_and_says_how_much() {
        let text: String = (1..=20).map(|number| format!("{number}\n")).collect();
        assert_eq!(shown(&folded(&text, 2, 1)), ["1", "2", "… 17 more lines", "20"]);
        assert_eq!(shown(&folded("1\n2\n3\n4\n", 2, 1)), ["1", "2", "3", "4"]);
        assert!(folded("", 2, 1).is_empty());
    }
}
