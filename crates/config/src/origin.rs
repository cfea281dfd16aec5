//! Provenance: the source and the place of a value, or of a fault.
//!
//! Law: what a file says is shown escaped. A project's file may hold anything, also the control
//! sequences of a terminal.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// Ordered by rising priority.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The program's own value.
    Default,
    /// The person's file.
    User(PathBuf),
    /// A file of the workspace.
    Project(PathBuf),
    /// A variable of the environment.
    Environment,
    /// A flag of this run.
    Flag,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::User(path) | Self::Project(path) => {
                formatter.write_str(&escaped(&path.to_string_lossy()))
            }
            Self::Environment => formatter.write_str("environment"),
            Self::Flag => formatter.write_str("command line"),
        }
    }
}

/// Both count from 1; a column is a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
}

impl Position {
    /// The position of a byte of a text.
    pub(super) fn of(text: &str, offset: usize) -> Self {
        // Editors do not show a byte order mark as a column.
        let before = text.get(..offset).unwrap_or(text).trim_start_matches('\u{feff}');
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// The source of a setting, and its place in that source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettingOrigin {
    /// The layer that set it.
    pub source: Source,
    /// Only files have positions.
    pub position: Option<Position>,
}

impl SettingOrigin {
    pub(super) fn whole(source: Source) -> Self {
        Self { source, position: None }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.source)?;
        match self.position {
            Some(Position { line, column }) => write!(formatter, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

/// A fault of a configuration: where, what, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{origin}: {message}")]
pub struct ConfigError {
    /// The place of the mistake.
    pub origin: SettingOrigin,
    /// The mistake in one sentence.
    pub message: String,
    /// The next step for the person.
    pub hint: Option<String>,
}

/// The faults and warnings of one load.
#[derive(Debug, Default)]
pub(super) struct LoadReport {
    errors: Vec<ConfigError>,
    pub(super) warnings: Vec<String>,
}

impl LoadReport {
    // Nobody reads more, and finding a position costs a pass over the text.
    const MOST_ERRORS: usize = 100;

    pub(super) fn error(&mut self, make: impl FnOnce() -> ConfigError) {
        if self.errors.len() < Self::MOST_ERRORS {
            self.errors.push(make());
        }
    }

    /// The errors, in the order in which a person would read the files.
    pub(super) fn into_errors(mut self) -> Vec<ConfigError> {
        self.errors.sort_by(|one, other| one.origin.cmp(&other.origin));
        self.errors
    }

    pub(super) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }
}

/// A name from outside, fit to stand in one line of a message.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 80;
    let mut cut: String = text.chars().take(MOST).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    escaped(&cut)
}

/// A text from outside on one line, whole.
pub(super) fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, character| {
        match character {
            '\'' | '"' | '\\' => shown.push(character),
            _ => shown.extend(character.escape_debug()),
        }
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions() {
        for (text, offset, line, column) in [
            ("", 0, 1, 1),
            ("a = 1", 4, 1, 5),
            ("é = 1", 3, 1, 3),
            ("a\nb", 2, 2, 1),
            ("a\r\nb = é", 7, 2, 5),
            ("a\n", 99, 2, 1),
        ] {
            assert_eq!(Position::of(text, offset), Position { line, column }, "{text:?} {offset}");
        }
    }

    #[test]
    fn names_are_shown_escaped_and_short() {
        for (text, expected) in [
            ("plain-name_1", "plain-name_1"),
            ("naïve \"quoted\" \\", "naïve \"quoted\" \\"),
            ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
            ("one\ntwo", "one\\ntwo"),
            ("a\u{202e}b", "a\\u{202e}b"),
            (&"x".repeat(81), &format!("{}…", "x".repeat(80))),
        ] {
            assert_eq!(shown(text), expected);
        }
    }
}
