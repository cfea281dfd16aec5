//! Panels that fill the screen: a pager, a list to choose from, and a question that is too long for less.

use super::pager::{KeyOutcome, Pager};
use super::question_page::QuestionPage;
use crate::key::Key;
use crate::text::{Line, Role, Style};

/// A page or list on the whole screen.
#[derive(Debug)]
pub enum Full {
    /// A text to read.
    Pager(Pager),
    /// A list to choose from.
    Picker(Picker),
    /// The question of the panel.
    Question(QuestionPage),
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
            Full::Question(page) => page.key(key),
        }
    }

    /// Takes another size of the screen.
    pub fn fit(&mut self, width: usize, height: usize) {
        match self {
            Full::Pager(pager) => pager.fit(width, height),
            Full::Question(page) => page.fit(width, height),
            Full::Picker(_) => {}
        }
    }

    /// The rows at that size.
    pub fn view(&self, width: usize, height: usize) -> Vec<Line> {
        match self {
            Full::Pager(pager) => pager.view(width, height),
            Full::Picker(picker) => picker.view(width, height),
            Full::Question(page) => page.view(width, height),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
