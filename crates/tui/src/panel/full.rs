//! Panels that fill the screen on demand: a pager and a list to choose from.

use crate::key::Key;
use crate::text::wrap::wrap;
use crate::text::{Line, Role, Style};

/// A page or list on the whole screen.
#[derive(Debug)]
pub enum Full {
    /// A text to read.
    Pager(Pager),
    /// A list to choose from.
    Picker(Picker),
}

/// The use of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picking {
    /// The session to go on with.
    Session,
    /// The prompt to go back to.
    Rewind,
}

/// A row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickRow {
    /// The answer when it is chosen.
    pub id: String,
    /// The words at the left.
    pub title: String,
    /// The words at the right.
    pub note: String,
}

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
            let rows = self.lines.iter().flat_map(|line| wrap(line, width)).collect();
            self.rows = (width, rows);
        }
        self.top = self.top.min(self.last_top());
    }

    fn last_top(&self) -> usize {
        self.rows.1.len().saturating_sub(self.page)
    }

    fn key(&mut self, key: Key) -> KeyOutcome {
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

    fn view(&self, width: usize, height: usize) -> Vec<Line> {
        let top = self.top.min(self.last_top());
        let mut rows: Vec<Line> = self.rows.1.iter().skip(top).take(self.page).cloned().collect();
        rows.resize(height.saturating_sub(1), Line::new());
        let percent = match self.last_top() {
            0 => 100,
            last => top * 100 / last,
        };
        let help = match (&self.search, self.is_searching) {
            (Some(typed), true) => format!("/{typed}"),
            _ => format!("{} · {percent}% · q leaves · / searches · v editor", self.title),
        };
        rows.push(Line::of(help, Style::of(Role::Accent)).cut(width));
        rows
    }
}

/// A list that is filtered by typing.
#[derive(Debug)]
pub struct Picker {
    /// The purpose of the choice.
    pub what: Picking,
    title: String,
    rows: Vec<PickRow>,
    filter: String,
    selected: usize,
}

impl Picker {
    /// A list with the first row selected.
    pub fn new(what: Picking, title: String, rows: Vec<PickRow>) -> Self {
        Self { what, title, rows, filter: String::new(), selected: 0 }
    }

    fn found(&self) -> Vec<&PickRow> {
        let wanted = self.filter.to_lowercase();
        let fits = |row: &&PickRow| {
            format!("{} {} {}", row.id, row.title, row.note).to_lowercase().contains(&wanted)
        };
        self.rows.iter().filter(fits).collect()
    }

    fn key(&mut self, key: Key) -> KeyOutcome {
        let count = self.found().len();
        match key {
            Key::Escape | Key::Ctrl('c') => return KeyOutcome::Leave,
            Key::Enter => {
                return match self.found().get(self.selected) {
                    Some(row) => KeyOutcome::Chosen(row.id.clone()),
                    None => KeyOutcome::Stay,
                };
            }
            Key::Up | Key::Ctrl('p') => self.selected = self.selected.saturating_sub(1),
            Key::Down | Key::Ctrl('n') => self.selected += 1,
            Key::PageUp => self.selected = self.selected.saturating_sub(10),
            Key::PageDown => self.selected += 10,
            Key::Char(c) => {
                self.filter.push(c);
                self.selected = 0;
            }
            Key::Backspace => {
                self.filter.pop();
                self.selected = 0;
            }
            _ => {}
        }
        self.selected = self.selected.min(count.saturating_sub(1));
        KeyOutcome::Stay
    }

    fn view(&self, width: usize, height: usize) -> Vec<Line> {
        let found = self.found();
        let mut rows = vec![Line::of(&self.title, Style::of(Role::Accent)).cut(width)];
        let page = height.saturating_sub(2).max(1);
        let first = self.selected.saturating_sub(page - 1);
        for (number, row) in found.iter().enumerate().skip(first).take(page) {
            let is_selected = number == self.selected;
            let mark = if is_selected { "› " } else { "  " };
            let role = if is_selected { Role::Accent } else { Role::Text };
            let line = Line::of(mark, role).add(&row.title, role).add("  ", Role::Text);
            rows.push(line.add(&row.note, Role::Muted).cut(width));
        }
        rows.resize(height.saturating_sub(1), Line::new());
        let help = format!("filter: {}  · Enter chooses · Esc leaves", self.filter);
        rows.push(Line::of(help, Role::Muted).cut(width));
        rows
    }
}

impl Full {
    /// Takes a key.
    pub fn key(&mut self, key: Key) -> KeyOutcome {
        match self {
            Full::Pager(pager) => pager.key(key),
            Full::Picker(picker) => picker.key(key),
        }
    }

    /// Takes another size of the screen.
    pub fn fit(&mut self, width: usize, height: usize) {
        if let Full::Pager(pager) = self {
            pager.fit(width, height);
        }
    }

    /// The rows at that size.
    pub fn view(&self, width: usize, height: usize) -> Vec<Line> {
        match self {
            Full::Pager(pager) => pager.view(width, height),
            Full::Picker(picker) => picker.view(width, height),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_moves_and_finds() {
        let lines = (1..=100).map(|number| Line::text(format!("line {number}"))).collect();
        let mut pager = Full::Pager(Pager::at_end("all", lines));
        pager.fit(40, 11);
        let top = |pager: &Full| pager.view(40, 11)[0].plain();
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

    #[test]
    fn a_list_is_filtered_and_chosen_from() {
        let row =
            |id: &str| PickRow { id: id.into(), title: format!("task {id}"), note: "x".into() };
        let rows = ["a1", "b2", "c3"].map(row).to_vec();
        let mut picker = Full::Picker(Picker::new(Picking::Session, "Sessions".into(), rows));
        assert_eq!(picker.key(Key::Down), KeyOutcome::Stay);
        assert_eq!(picker.view(20, 6)[2].plain(), "› task b2  x");
        picker.key(Key::Char('c'));
        assert_eq!(picker.key(Key::Enter), KeyOutcome::Chosen("c3".into()));
        picker.key(Key::Char('z'));
        assert_eq!(picker.key(Key::Enter), KeyOutcome::Stay);
        assert_eq!(picker.key(Key::Escape), KeyOutcome::Leave);
    }
}
