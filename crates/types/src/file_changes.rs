//! The names that an ended command changed, as a question shows them and an answer chooses among them.

use serde::{Deserialize, Serialize};

use crate::question::{AnswerFault, ApprovalChoice, CallQuestion, numbered_places};
use crate::text::quoted_words;

/// One name that an ended command changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldChange {
    /// Relative to the workspace.
    pub path: String,
    /// The kind of change.
    pub change: ChangeWord,
    /// Names in it, where it is a directory that came or went whole.
    #[serde(default, skip_serializing_if = "is_none")]
    pub inside: usize,
}

/// The kind of change at one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeWord {
    /// A name that was not there.
    Created,
    /// Another content or other attributes.
    Changed,
    /// A name that is gone.
    Deleted,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl HeldChange {
    /// The change in one line.
    pub fn in_words(&self) -> String {
        let word = match self.change {
            ChangeWord::Created => "created",
            ChangeWord::Changed => "changed",
            ChangeWord::Deleted => "deleted",
        };
        match self.inside {
            0 => format!("{word} {}", self.path),
            inside => format!("{word} {} (and {inside} in it)", self.path),
        }
    }

    /// Tells whether a name is this one, lies in it, or holds it.
    fn concerns(&self, name: &str) -> bool {
        let name = name.trim_start_matches("./").trim_end_matches('/');
        let holds = |outer: &str, inner: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        name == "." || holds(&self.path, name) || holds(name, &self.path)
    }
}

impl CallQuestion {
    /// Checks that names were among what is asked about.
    pub(crate) fn check_chosen(&self, paths: &[String]) -> Result<(), AnswerFault> {
        if self.changes.is_empty() || paths.is_empty() {
            return Err(AnswerFault::NothingToChoose(self.id.clone()));
        }
        let is_known = |path: &&String| self.changes.iter().any(|change| change.concerns(path));
        match paths.iter().find(|path| !is_known(path)) {
            None => Ok(()),
            Some(path) => Err(AnswerFault::NotChanged { id: self.id.clone(), path: path.clone() }),
        }
    }

    /// Reads typed numbers, ranges and names, divided by blanks or commas; an error says which one is not understood.
    pub fn chosen(&self, typed: &str) -> Result<ApprovalChoice, String> {
        let mut paths: Vec<String> = Vec::new();
        let words = quoted_words(typed, |letter| matches!(letter, ',' | ' '));
        for word in words.into_iter().filter(|word| !word.is_empty()) {
            let is_name = self.changes.iter().any(|change| change.concerns(&word));
            match self.numbered(&word) {
                Some(numbered) if !is_name => paths.extend(numbered),
                _ if is_name => paths.push(word),
                _ => return Err(format!("{word}: not among the changes")),
            }
        }
        match paths.is_empty() {
            true => Err("name the files to keep: numbers of the list, or paths".to_owned()),
            false => Ok(ApprovalChoice::KeepSome { paths }),
        }
    }

    /// The names of a number or a range of numbers.
    fn numbered(&self, word: &str) -> Option<Vec<String>> {
        let places = numbered_places(word, self.changes.len())?;
        Some(places.into_iter().map(|place| self.changes[place].path.clone()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RiskLevel;

    fn question() -> CallQuestion {
        let change = |path: &str| HeldChange {
            path: path.to_owned(),
            change: ChangeWord::Created,
            inside: 0,
        };
        CallQuestion {
            changes: ["a", "src/b", "d", "7", "sp ace, x"].map(change).into(),
            ..CallQuestion::new("c1", "run_command", "make", RiskLevel::High)
        }
    }

    #[test]
    fn files_are_named_by_number_range_and_path() {
        let cases = [
            ("1", Ok(&["a"][..])),
            ("1, 3", Ok(&["a", "d"])),
            ("2-3", Ok(&["src/b", "d"])),
            ("src d/x ./a", Ok(&["src", "d/x", "./a"])),
            ("7", Ok(&["7"])),
            ("'sp ace, x' 1", Ok(&["sp ace, x", "a"])),
            ("6", Err("6: not among the changes")),
            ("0", Err("0: not among the changes")),
            ("3-2", Err("3-2: not among the changes")),
            ("sr", Err("sr: not among the changes")),
            (" ,", Err("name the files to keep: numbers of the list, or paths")),
        ];
        for (typed, expected) in cases {
            let expected = match expected {
                Ok(paths) => Ok(ApprovalChoice::KeepSome {
                    paths: paths.iter().map(|path| (*path).to_owned()).collect(),
                }),
                Err(why) => Err(why.to_owned()),
            };
            assert_eq!(question().chosen(typed), expected, "{typed:?}");
        }
    }

    #[test]
    fn an_answer_chooses_among_what_changed() {
        let check = |paths: &[&str]| {
            let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
            question().check_chosen(&paths)
        };
        assert_eq!(check(&["a", "d/inner", "src", "."]), Ok(()));
        assert_eq!(check(&[]), Err(AnswerFault::NothingToChoose("c1".into())));
        let path = "other".to_owned();
        let unknown = AnswerFault::NotChanged { id: "c1".into(), path };
        assert_eq!(check(&["other"]), Err(unknown));
    }
}
