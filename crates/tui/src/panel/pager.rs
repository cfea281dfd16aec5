//! A text on the whole screen that is scrolled and searched.

use crate::key::Key;
use crate::text::wrap::wrap;
use crate::text::{Line, Role, Style};

/// The outcome of a key.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyOutcome {
    /// The page stays.
    Stay,
    /// The page goes without an answer.
    Leave,
    /// The page goes with this row's id.
    Chosen(String),
    /// Shows this text in the person's own editor.
    Editor(String),
}

/// A text that is scrolled and searched.
#[derive(Debug)]
pub struct Pager {
    title: String,
    lines: Vec<Line>,
    /// Rows for a width.
    rows: (usize, Vec<Line>),
    /// The number of rows down to the end of each line.
    ends: Vec<usize>,
    top: usize,
    page: usize,
    search: Option<String>,
    is_searching: bool,
}

impl Pager {
    /// A pager that shows the end first.
    pub fn at_end(title: &str, lines: Vec<Line>) -> Self {
        Self { top: usize::MAX, ..Self::at_start(title, lines) }
    }

    /// A pager that shows the beginning first.
    pub fn at_start(title: &str, lines: Vec<Line>) -> Self {
        Self {
            title: title.to_owned(),
            lines,
            rows: (0, Vec::new()),
            ends: Vec::new(),
            top: 0,
            page: 1,
            search: None,
            is_searching: false,
        }
    }

    /// Lines become rows when the width is known, not at each frame.
    pub fn fit(&mut self, width: usize, height: usize) {
        self.page = height.saturating_sub(1).max(1);
        if self.rows.0 != width {
            let mut rows = Vec::new();
            self.ends.clear();
            for line in &self.lines {
                rows.extend(wrap(line, width));
                self.ends.push(rows.len());
            }
            self.rows = (width, rows);
        }
        self.top = self.top.min(self.last_top());
    }

    /// Other lines in the place of these, from the same row on.
    pub(super) fn renew(&mut self, lines: Vec<Line>) {
        (self.lines, self.rows.0) = (lines, 0);
    }

    /// The first row in sight, the one after the last, and the number of all.
    pub(super) fn in_sight(&self) -> (usize, usize, usize) {
        let all = self.rows.1.len();
        let top = self.top.min(self.last_top());
        (top, (top + self.page).min(all), all)
    }

    /// The number of lines that end within so many rows.
    pub(super) fn lines_within(&self, rows: usize) -> usize {
        self.ends.partition_point(|end| *end <= rows)
    }

    /// The number of rows of so many lines.
    pub(super) fn rows_of(&self, lines: usize) -> usize {
        lines.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or_default()
    }

    /// The words that are searched for, while they are typed.
    pub(super) fn searches(&self) -> Option<&str> {
        self.search.as_deref().filter(|_| self.is_searching)
    }

    fn last_top(&self) -> usize {
        self.rows.1.len().saturating_sub(self.page)
    }

    /// Takes a key.
    pub fn key(&mut self, key: Key) -> KeyOutcome {
        if self.is_searching {
            return self.search_key(key);
        }
        let top = self.top.min(self.last_top());
        self.top = match key {
            Key::Char('q') | Key::Escape | Key::Ctrl('c' | 't') => return KeyOutcome::Leave,
            Key::Up | Key::Char('k') => top.saturating_sub(1),
            Key::Down | Key::Char('j') | Key::Enter => top + 1,
            Key::PageUp | Key::Char('b') | Key::Ctrl('b') => top.saturating_sub(self.page),
            Key::PageDown | Key::Char(' ') | Key::Ctrl('f') => top + self.page,
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => usize::MAX,
            Key::Char('/') => {
                (self.is_searching, self.search) = (true, Some(String::new()));
                top
            }
            Key::Char('v') => return KeyOutcome::Editor(self.text()),
            Key::Char('n') => self.found_from(top + 1).unwrap_or(top),
            Key::Char('N') => self.found_before(top).unwrap_or(top),
            _ => top,
        }
        .min(self.last_top());
        KeyOutcome::Stay
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| line.plain() + "\n").collect()
    }

    fn search_key(&mut self, key: Key) -> KeyOutcome {
        let typed = self.search.get_or_insert_default();
        match key {
            Key::Char(c) => typed.push(c),
            Key::Backspace => {
                typed.pop();
            }
            Key::Enter => {
                self.is_searching = false;
                self.top = self.found_from(self.top).unwrap_or(self.top).min(self.last_top());
            }
            _ => (self.is_searching, self.search) = (false, None),
        }
        KeyOutcome::Stay
    }

    fn is_found(&self, row: &Line) -> bool {
        let text = self.search.as_deref().unwrap_or_default();
        !text.is_empty() && row.plain().to_lowercase().contains(&text.to_lowercase())
    }

    fn found_from(&self, top: usize) -> Option<usize> {
        let rows = self.rows.1.iter().enumerate().skip(top);
        rows.map(|(at, row)| (at, self.is_found(row))).find(|(_, is)| *is).map(|(at, _)| at)
    }

    fn found_before(&self, top: usize) -> Option<usize> {
        self.rows.1[..top.min(self.rows.1.len())].iter().rposition(|row| self.is_found(row))
    }

    /// The rows in sight, and blank ones down to the height.
    pub(super) fn body(&self, height: usize) -> Vec<Line> {
        let top = self.top.min(self.last_top());
        let mut rows: Vec<Line> = self.rows.1.iter().skip(top).take(self.page).cloned().collect();
        rows.resize(height, Line::new());
        rows
    }

    /// The rows at that size.
    pub fn view(&self, width: usize, height: usize) -> Vec<Line> {
        let mut rows = self.body(height.saturating_sub(1));
        let top = self.top.min(self.last_top());
        let percent = match self.last_top() {
            0 => 100,
            last => top * 100 / last,
        };
        let help = match self.searches() {
            Some(typed) => format!("/{typed}"),
            None => format!("{} · {percent}% · q leaves · / searches · v editor", self.title),
        };
        rows.push(Line::of(help, Style::of(Role::Accent)).cut(width));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_moves_and_finds() {
        let lines = (1..=100).map(|number| Line::text(format!("line {number}"))).collect();
        let mut pager = Pager::at_end("all", lines);
        pager.fit(40, 11);
        let top = |pager: &Pager| pager.view(40, 11)[0].plain();
        assert_eq!(top(&pager), "line 91");
        for (key, expected) in [
            (Key::PageUp, "line 81"),
            (Key::Up, "line 80"),
            (Key::Home, "line 1"),
            (Key::PageDown, "line 11"),
            (Key::Char('/'), "line 11"),
            (Key::Char('5'), "line 11"),
            (Key::Char('0'), "line 11"),
            (Key::Enter, "line 50"),
            (Key::Char('n'), "line 50"),
            (Key::End, "line 91"),
            (Key::Char('N'), "line 50"),
        ] {
            assert_eq!(pager.key(key), KeyOutcome::Stay);
            assert_eq!(top(&pager), expected, "{key:?}");
        }
        for (key, expected) in [
            (Key::Char('g'), "line 1"),
            (Key::Char('j'), "line 2"),
            (Key::Down, "line 3"),
            (Key::Enter, "line 4"),
            (Key::Char('k'), "line 3"),
            (Key::Char(' '), "line 13"),
            (Key::Char('b'), "line 3"),
            (Key::Ctrl('f'), "line 13"),
            (Key::Ctrl('b'), "line 3"),
            (Key::Char('G'), "line 91"),
            (Key::Char('z'), "line 91"),
        ] {
            assert_eq!(pager.key(key), KeyOutcome::Stay);
            assert_eq!(top(&pager), expected, "{key:?}");
        }
        let KeyOutcome::Editor(text) = pager.key(Key::Char('v')) else { panic!("no text") };
        assert_eq!(text.lines().count(), 100);
        assert_eq!(pager.key(Key::Char('q')), KeyOutcome::Leave);
    }
}
