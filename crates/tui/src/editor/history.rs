//! Prompts of this and earlier sessions: up and down, and a search backwards (Ctrl-R).

/// The most that are remembered.
const MOST: usize = 2_000;

/// Prompts of earlier turns and sessions, with a place among them.
#[derive(Debug, Default)]
pub struct History {
    entries: Vec<String>,
    /// Which entry is shown, and what was typed before.
    place: Option<(usize, String)>,
}

impl History {
    /// Entries of earlier sessions, oldest first.
    pub fn load(&mut self, entries: Vec<String>) {
        let own = std::mem::take(&mut self.entries);
        entries.into_iter().chain(own).for_each(|entry| self.add(&entry));
    }

    /// Adds a prompt, unless it is the same as the last.
    pub fn add(&mut self, entry: &str) {
        self.place = None;
        if entry.trim().is_empty() || self.entries.last().is_some_and(|last| last == entry) {
            return;
        }
        if self.entries.len() == MOST {
            self.entries.remove(0);
        }
        self.entries.push(entry.to_owned());
    }

    /// Goes one back; `typed` is kept for the way forward.
    pub fn older(&mut self, typed: &str) -> Option<&str> {
        let (at, typed) = match self.place.take() {
            Some((at, typed)) => (at.saturating_sub(1), typed),
            None => (self.entries.len().checked_sub(1)?, typed.to_owned()),
        };
        self.place = Some((at, typed));
        self.entries.get(at).map(String::as_str)
    }

    /// Goes one forward, at last to what was typed.
    pub fn newer(&mut self) -> Option<String> {
        let (at, typed) = self.place.take()?;
        match self.entries.get(at + 1) {
            Some(entry) => {
                self.place = Some((at + 1, typed));
                Some(entry.clone())
            }
            None => Some(typed),
        }
    }

    /// The newest entry that holds the text, after `skipped` others.
    pub fn find(&self, text: &str, skipped: usize) -> Option<&str> {
        let found = self.entries.iter().rev().filter(|entry| entry.contains(text));
        found.map(String::as_str).nth(skipped)
    }

    /// All prompts, the oldest first.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_and_down_lead_back_to_what_was_typed() {
        let mut history = History::default();
        history.add("own");
        history.load(vec!["old one".into(), "old two".into(), "own".into()]);
        assert_eq!(history.entries(), ["old one", "old two", "own"]);
        assert_eq!(history.older("draft"), Some("own"));
        assert_eq!(history.older("own"), Some("old two"));
        assert_eq!(history.newer(), Some("own".into()));
        assert_eq!(history.newer(), Some("draft".into()));
        assert_eq!(history.newer(), None);
        assert_eq!(history.find("old", 1), Some("old one"));
        assert_eq!(history.find("none", 0), None);
    }
}
