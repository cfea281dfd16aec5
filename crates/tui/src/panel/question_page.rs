//! A question on the whole screen: read like a page, answered by the keys of its panel.
//!
//! Law: a row was in sight when it stood on the screen after all rows above it; jumping to the end shows the end
//! alone. What opens in the person's editor is in sight as a whole.

use super::pager::{KeyOutcome, Pager};
use crate::block::numbers;
use crate::key::Key;
use crate::text::wrap::side_by_side;
use crate::text::{Line, Role, Style};

/// The page of a question.
#[derive(Debug)]
pub struct QuestionPage {
    pager: Pager,
    answers: Vec<Line>,
    /// The answers side by side, at the present width.
    foot: Vec<Line>,
    width: usize,
    /// Rows from the first on that were in sight.
    seen: usize,
    /// An answer came before everything was in sight.
    is_refused: bool,
}

impl QuestionPage {
    /// The page from its first line on.
    pub fn new(lines: Vec<Line>, answers: Vec<Line>) -> Self {
        let pager = Pager::at_start("", lines);
        Self { pager, answers, foot: Vec::new(), width: 0, seen: 0, is_refused: false }
    }

    /// The same question with other marks or answers.
    pub fn renew(&mut self, lines: Vec<Line>, answers: Vec<Line>) {
        self.pager.renew(lines);
        self.answers = answers;
    }

    /// Takes the size of the screen, and notes what is in sight.
    pub fn fit(&mut self, width: usize, height: usize) {
        self.foot = side_by_side(self.answers.clone(), width);
        self.foot.truncate(height.saturating_sub(2));
        let lines = self.pager.lines_within(self.seen);
        self.pager.fit(width, height.saturating_sub(self.foot.len()));
        if self.width != width {
            (self.width, self.seen) = (width, self.pager.rows_of(lines));
        }
        let (top, bottom, _) = self.pager.in_sight();
        if top <= self.seen {
            self.seen = self.seen.max(bottom);
        }
    }

    /// True once every row was in sight.
    pub fn was_in_sight(&self) -> bool {
        self.width > 0 && self.seen >= self.pager.in_sight().2
    }

    /// Says that an answer counts only after everything was in sight.
    pub fn refuse(&mut self) {
        self.is_refused = true;
    }

    /// True while words to be found are typed, and no key is an answer.
    pub fn is_searching(&self) -> bool {
        self.pager.searches().is_some()
    }

    /// Takes a key that is no answer.
    pub fn key(&mut self, key: Key) -> KeyOutcome {
        self.is_refused = false;
        let outcome = self.pager.key(key);
        if matches!(outcome, KeyOutcome::Editor(_)) {
            self.seen = usize::MAX;
        }
        outcome
    }

    /// The rows at that size: what is asked, where one is in it, the answers.
    pub fn view(&self, width: usize, height: usize) -> Vec<Line> {
        let mut rows = self.pager.body(height.saturating_sub(self.foot.len() + 1));
        let (top, bottom, all) = self.pager.in_sight();
        let help = match self.pager.searches() {
            Some(typed) => Line::of(format!("/{typed}"), Role::Accent),
            None if self.is_refused => {
                let left = numbers::plural(all.saturating_sub(self.seen), "more line");
                Line::of(format!("Not yet: Space shows {left}"), Role::Danger)
            }
            None => {
                let place = format!("{}–{bottom} of {all}", top + 1);
                let keys = "Space scrolls · q leaves · / searches · v editor";
                Line::of(format!("{place} · {keys}"), Style::of(Role::Accent))
            }
        };
        rows.push(help.cut(width));
        rows.extend(self.foot.iter().cloned());
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(lines: usize) -> QuestionPage {
        let lines = (1..=lines).map(|number| Line::text(format!("line {number}"))).collect();
        let mut page = QuestionPage::new(lines, vec![Line::text("y yes"), Line::text("n no")]);
        page.fit(40, 12);
        page
    }

    fn press(page: &mut QuestionPage, keys: &[Key]) -> bool {
        for key in keys {
            page.key(*key);
            page.fit(40, 12);
        }
        page.was_in_sight()
    }

    #[test]
    fn a_page_is_read_from_the_first_row_to_the_last() {
        assert!(page(10).was_in_sight());
        let mut jumped = page(30);
        assert!(!press(&mut jumped, &[Key::End]), "the middle was not in sight");
        assert!(press(&mut jumped, &[Key::Home, Key::PageDown, Key::Char(' ')]));
        assert!(!press(&mut page(30), &[Key::PageDown, Key::Down]));
        let mut edited = page(30);
        assert!(press(&mut edited, &[Key::Char('v')]), "an editor has all of it");
    }

    #[test]
    fn what_was_in_sight_stays_so_at_another_width() {
        let mut read = page(30);
        press(&mut read, &[Key::PageDown]);
        read.refuse();
        let notice = |page: &QuestionPage| page.view(40, 12)[10].plain();
        assert_eq!(notice(&read), "Not yet: Space shows 10 more lines");
        read.fit(5, 12);
        assert_eq!(read.seen, 40, "twenty lines, each of two rows now");
        read.fit(40, 12);
        assert!(!read.was_in_sight());
        assert!(press(&mut read, &[Key::End]));
        assert!(notice(&read).starts_with("21–30 of 30 · "), "{}", notice(&read));
    }
}
