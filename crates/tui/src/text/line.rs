//! A line of spans.
//!
//! Law: a span's text is on one line and harmless: it was sanitised when the span was made, and
//! nothing changes it afterwards but cutting.

use std::borrow::Cow;

use jm_types::text::{is_terminal_safe, sanitize};

use super::style::{Role, Style};
use super::width::{fitting, width};

/// Cells that a tab takes.
const TAB: &str = "    ";

/// Text of one style without anything that a terminal acts on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Span {
    text: String,
    style: Style,
}

impl Span {
    /// Takes text from anywhere: control sequences go, hidden characters are shown by their code
    /// points, a tab becomes blanks and a line break a blank.
    pub fn new(text: impl AsRef<str>, style: impl Into<Style>) -> Self {
        Self { text: harmless(text.as_ref()).into_owned(), style: style.into() }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The style.
    pub fn style(&self) -> Style {
        self.style
    }

    /// Columns.
    pub fn width(&self) -> usize {
        width(&self.text)
    }

    fn start(&self, bytes: usize) -> Self {
        Self { text: self.text[..bytes].to_owned(), style: self.style }
    }

    pub(super) fn part(&self, range: std::ops::Range<usize>) -> Self {
        Self { text: self.text[range].to_owned(), style: self.style }
    }
}

fn harmless(text: &str) -> Cow<'_, str> {
    let safe: Cow<'_, str> = match is_terminal_safe(text) {
        true => text.into(),
        false => sanitize(text).into(),
    };
    match safe.contains(['\n', '\t']) {
        true => safe.replace('\t', TAB).replace('\n', " ").into(),
        false => safe,
    }
}

/// Spans that stand on one line; in the scrollback a terminal may wrap it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// The parts from left to right.
    pub spans: Vec<Span>,
}

impl Line {
    /// A line without parts.
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of one style.
    pub fn of(text: impl AsRef<str>, style: impl Into<Style>) -> Self {
        Self::new().add(text, style)
    }

    /// A line of plain text.
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::of(text, Role::Text)
    }

    /// The same line with more at its end.
    #[must_use]
    pub fn add(mut self, text: impl AsRef<str>, style: impl Into<Style>) -> Self {
        self.push(text, style);
        self
    }

    /// Adds text; what has the style of the last span is added to that.
    pub fn push(&mut self, text: impl AsRef<str>, style: impl Into<Style>) {
        self.push_span(Span::new(text, style));
    }

    /// Adds a part at the end; one of the same style is joined.
    pub fn push_span(&mut self, span: Span) {
        if span.text.is_empty() {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.style == span.style => last.text.push_str(&span.text),
            _ => self.spans.push(span),
        }
    }

    /// Adds the parts of another line at the end.
    pub fn append(&mut self, other: Line) {
        other.spans.into_iter().for_each(|span| self.push_span(span));
    }

    /// Tells if no part has text.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }

    /// The words without their styles.
    pub fn plain(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }

    /// Cut to so many cells; `…` stands for what is missing.
    #[must_use]
    pub fn cut(self, cells: usize) -> Line {
        if self.width() <= cells {
            return self;
        }
        let mut line = self.start(cells.saturating_sub(1));
        if cells > 0 {
            line.push("…", Role::Muted);
        }
        line
    }

    /// The first so many cells.
    #[must_use]
    pub fn start(&self, cells: usize) -> Line {
        let mut line = Line::new();
        let mut left = cells;
        for span in &self.spans {
            let (text, used) = fitting(&span.text, left);
            line.push_span(span.start(text.len()));
            if text.len() < span.text.len() {
                break;
            }
            left -= used;
        }
        line
    }

    /// Filled up with blanks to so many cells.
    #[must_use]
    pub fn padded(mut self, cells: usize) -> Line {
        let missing = cells.saturating_sub(self.width());
        if missing > 0 {
            self.spans.push(Span { text: " ".repeat(missing), style: Style::default() });
        }
        self
    }

    /// The same words with every style changed.
    #[must_use]
    pub fn restyled(mut self, change: impl Fn(Style) -> Style) -> Line {
        self.spans.iter_mut().for_each(|span| span.style = change(span.style));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_gets_in() {
        let nasty = "a\x1b]52;c;AAAA\x07b\x1b[2J\u{9b}31m\u{202e}c\td\ne\r\x08";
        let line = Line::text(nasty);
        assert_eq!(line.plain(), "ab<U+202E>c    d e ");
        assert!(line.plain().chars().all(|c| !c.is_control()));
    }

    #[test]
    fn a_cut_keeps_wide_characters_whole() {
        let line = Line::text("漢字").add("abc", Role::Code);
        assert_eq!(line.clone().cut(7).plain(), "漢字abc");
        assert_eq!(line.clone().cut(6).plain(), "漢字a…");
        assert_eq!(line.clone().cut(4).plain(), "漢…");
        assert_eq!(line.clone().cut(1).plain(), "…");
        assert_eq!(line.cut(0).plain(), "");
    }

    #[test]
    fn neighbours_of_one_style_are_one_span() {
        let line = Line::text("a").add("b", Role::Text).add("", Role::Code).add("c", Role::Code);
        assert_eq!(line.spans.len(), 2);
        assert_eq!(line.padded(5).width(), 5);
    }
}
