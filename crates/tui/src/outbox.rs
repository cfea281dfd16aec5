//! Finished lines on their way to the terminal, in order; code may wait a moment for its colours.
//!
//! Law: lines leave in the order in which they came, each once.

use std::collections::VecDeque;

use crate::text::{Line, Role};

/// So long a line of code waits for its colours; then it goes without.
const PATIENCE: u64 = 500;

#[derive(Debug)]
enum Item {
    Line(Line),
    Code { block: u64, index: usize, line: Line, is_ready: bool, since: u64 },
}

/// Finished lines on their way to the scrollback, in order.
#[derive(Debug, Default)]
pub struct Outbox {
    items: VecDeque<Item>,
    /// The last line that came is blank, or there was none.
    ends_blank: bool,
}

impl Outbox {
    /// Adds lines that are finished.
    pub fn lines(&mut self, lines: impl IntoIterator<Item = Line>) {
        for line in lines {
            self.ends_blank = line.is_empty();
            self.items.push_back(Item::Line(line));
        }
    }

    /// Sets apart what follows: a blank line, unless there is one already.
    pub fn gap(&mut self) {
        if !self.ends_blank {
            self.lines([Line::new()]);
        }
    }

    /// Adds a line of code that waits for its colours, for a moment.
    pub fn code(&mut self, block: u64, index: usize, text: &str, now: u64) {
        let line = Line::of(text, Role::Text);
        self.ends_blank = false;
        self.items.push_back(Item::Code { block, index, line, is_ready: false, since: now });
    }

    /// Gives a waiting line its colours.
    pub fn highlighted(&mut self, of: u64, at: usize, coloured: Line) {
        for item in &mut self.items {
            if let Item::Code { block, index, line, is_ready, .. } = item
                && (*block, *index) == (of, at)
            {
                *is_ready = true;
                *line = coloured;
                return;
            }
        }
    }

    /// The lines that may leave now.
    pub fn take(&mut self, now: u64) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(item) = self.items.pop_front() {
            match item {
                Item::Line(line) => lines.push(line),
                Item::Code { line, is_ready, since, .. }
                    if is_ready || now.saturating_sub(since) >= PATIENCE =>
                {
                    lines.push(line);
                }
                waiting @ Item::Code { .. } => {
                    self.items.push_front(waiting);
                    break;
                }
            }
        }
        lines
    }

    /// Everything, colours or not.
    pub fn take_all(&mut self) -> Vec<Line> {
        self.take(u64::MAX)
    }

    /// Lines that wait, the first to go first.
    pub fn waiting(&self) -> impl DoubleEndedIterator<Item = &Line> {
        self.items.iter().map(|item| match item {
            Item::Line(line) | Item::Code { line, .. } => line,
        })
    }

    /// Tells if no line waits.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_leave_in_order_with_their_colours_or_without() {
        let mut outbox = Outbox::default();
        outbox.lines([Line::text("a")]);
        outbox.code(1, 0, "b", 100);
        outbox.code(1, 1, "c", 100);
        outbox.lines([Line::text("d")]);
        let plain = |lines: Vec<Line>| lines.iter().map(Line::plain).collect::<String>();
        assert_eq!(plain(outbox.take(110)), "a");
        outbox.highlighted(1, 1, Line::of("c", Role::Code));
        assert_eq!(plain(outbox.take(120)), "");
        outbox.highlighted(1, 0, Line::of("b", Role::Code));
        assert_eq!(plain(outbox.take(130)), "bcd");
        outbox.code(2, 0, "e", 200);
        assert_eq!(plain(outbox.take(699)), "");
        assert_eq!(plain(outbox.take(700)), "e");
        assert!(outbox.is_empty());
    }
}
