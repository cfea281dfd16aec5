//! Environment variables: those that only change how things are shown, and those that decide what
//! runs.

use crate::danger::{Danger, worst};

/// Variables that change how a program shows things, never what it runs.
const HARMLESS: &[&str] =
    &["LANG", "LANGUAGE", "TZ", "NO_COLOR", "COLUMNS", "LINES", "TERM", "CI", "RUST_BACKTRACE"];

impl Danger {
    /// The danger of variables that are set for a command.
    pub fn of_environment<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        worst(names.into_iter().map(danger_of_setting))
    }
}

/// A variable set for one program.
pub(crate) fn danger_of_setting(name: &str) -> Danger {
    match HARMLESS.contains(&name) || name.starts_with("LC_") {
        true => Danger::none(),
        false => Danger::unknown(format!("sets {name}, which may change what runs")),
    }
}

/// A variable that a script sets for itself: only names that no program listens to.
pub(crate) fn danger_of_assigning(name: &str) -> Danger {
    let is_own = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.ends_with("_proxy")
        && !name.starts_with("npm_config_")
        && !matches!(name, "histchars" | "path" | "auto_resume");
    if is_own { Danger::none() } else { danger_of_setting(name) }
}
