//! Completion: `/` commands, `@` files, and the arguments of commands.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};

use crate::command::COMMANDS;

/// Entries of a menu that are offered at most.
const MOST: usize = 200;

/// A proposal for the word before the caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The text that is put into the prompt.
    pub text: String,
    /// One line beside the word.
    pub note: String,
}

/// The open menu.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Menu {
    /// The words on offer.
    pub entries: Vec<Completion>,
    /// The one that Tab takes.
    pub selected: usize,
}

impl Menu {
    /// A menu of these; `None` for none.
    pub fn of(entries: Vec<Completion>) -> Option<Self> {
        (!entries.is_empty()).then_some(Self { entries, selected: 0 })
    }

    /// Selects the one below, and the first after the last.
    pub fn next(&mut self) {
        self.selected = (self.selected + 1) % self.entries.len().max(1);
    }

    /// Selects the one above, and the last before the first.
    pub fn previous(&mut self) {
        let count = self.entries.len().max(1);
        self.selected = (self.selected + count - 1) % count;
    }

    /// The selected one.
    pub fn chosen(&self) -> Option<&Completion> {
        self.entries.get(self.selected)
    }
}

/// Commands that begin with what was typed.
pub fn commands(typed: &str) -> Vec<Completion> {
    let typed = typed.strip_prefix('/').unwrap_or(typed);
    let fits = COMMANDS.iter().filter(|command| command.name.starts_with(typed));
    let entry = |command: &crate::command::ListedCommand| Completion {
        text: format!("/{}{}", command.name, if command.takes.is_empty() { "" } else { " " }),
        note: command.does.to_owned(),
    };
    let mut found: Vec<Completion> = fits.map(entry).collect();
    // `/tool` is a command although `/tools` stands before it.
    found.sort_by_key(|entry| entry.text.trim_end() != format!("/{typed}"));
    found
}

/// Arguments of a command that begin with what was typed.
pub fn arguments(typed: &str, known: &[Completion]) -> Vec<Completion> {
    known.iter().filter(|entry| entry.text.starts_with(typed)).take(MOST).cloned().collect()
}

/// Files whose names hold the typed letters in order, the best first.
pub fn files(typed: &str, all: &[String]) -> Vec<Completion> {
    let entry = |path: &String| Completion { text: format!("@{path} "), note: String::new() };
    if typed.is_empty() {
        return all.iter().take(MOST).map(entry).collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::parse(typed, CaseMatching::Smart, Normalization::Smart);
    let found = pattern.match_list(all, &mut matcher);
    found.into_iter().take(MOST).map(|(path, _)| entry(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_their_letters() {
        let all: Vec<String> =
            ["src/main.rs", "src/lib.rs", "docs/manual.md"].map(str::to_owned).to_vec();
        let found = |typed: &str| -> Vec<String> {
            files(typed, &all).into_iter().map(|entry| entry.text).collect()
        };
        assert_eq!(found("smain")[0], "@src/main.rs ");
        assert_eq!(found("").len(), 3);
        assert!(found("zzz").is_empty());
    }

    #[test]
    fn commands_are_completed() {
        let texts: Vec<String> = commands("/re").into_iter().map(|entry| entry.text).collect();
        assert_eq!(texts, ["/redo", "/rewind", "/rename ", "/resume "]);
        assert_eq!(commands("/tool")[0].text, "/tool ", "the whole word first");
        let mut menu = Menu::of(commands("/re")).unwrap();
        menu.previous();
        assert_eq!(menu.chosen().unwrap().text, "/resume ");
        menu.next();
        assert_eq!(menu.selected, 0);
    }
}
