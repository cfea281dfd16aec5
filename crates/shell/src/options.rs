//! The options of a program, judged by an allow list.
//!
//! Law: an option that is not listed may do anything, in any spelling: alone, in a cluster, joined to
//! its value, or as an abbreviation. No word ends the judging, because a `--` may be the value of the
//! option before it.

use crate::command_risk::Danger;
use crate::word::ShellWord;

/// The options with which a program only reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HarmlessOptions {
    /// Letters of options without a value.
    pub(crate) short: &'static str,
    /// Letters of options that take a value; the rest of their word is that value.
    pub(crate) valued: &'static str,
    /// Long names without their dashes, with or without a value, divided by commas.
    pub(crate) long: &'static str,
    pub(crate) unknown_words: UnknownWords,
}

/// The meaning of a word that only the running shell knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum UnknownWords {
    /// It may be an option, and one of the program's options does more than read.
    MayDoHarm,
    /// No option of the program does more than read.
    Harmless,
}

impl HarmlessOptions {
    pub(crate) const NONE: Self =
        Self { short: "", valued: "", long: "", unknown_words: UnknownWords::MayDoHarm };

    /// Harmless when every word that looks like an option is a listed one.
    pub(crate) fn judge(&self, program: &str, arguments: &[ShellWord]) -> Danger {
        for argument in arguments {
            match argument.literal() {
                None if self.unknown_words == UnknownWords::Harmless => {}
                None => {
                    return Danger::unknown(format!(
                        "an argument of `{program}` that is not known yet may be an option"
                    ));
                }
                Some(text) if self.admits(text) => {}
                Some(text) => {
                    return Danger::unknown(format!("`{program} {text}` may do more than read"));
                }
            }
        }
        Danger::none()
    }

    pub(crate) fn admits(&self, text: &str) -> bool {
        if !text.starts_with('-') || text == "-" || text == "--" {
            return true;
        }
        if let Some(long) = text.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            let is_listed = self.long.split(',').any(|listed| listed == name);
            return is_listed || matches!(name, "help" | "version");
        }
        // `-5`, `-10`: lines of context or of a head.
        let letters = text[1..].trim_start_matches(|c: char| c.is_ascii_digit());
        for letter in letters.chars() {
            if self.valued.contains(letter) {
                return true;
            }
            if !self.short.contains(letter) && !letter.is_ascii_digit() {
                return false;
            }
        }
        true
    }

    /// The arguments that are neither options nor values of them.
    pub(crate) fn operands<'a>(&self, arguments: &'a [ShellWord]) -> Vec<&'a ShellWord> {
        let mut operands = Vec::new();
        let mut takes_value = false;
        for argument in arguments {
            let is_value = std::mem::take(&mut takes_value);
            match argument.literal() {
                Some(text) if !is_value && text.len() > 1 && text.starts_with('-') => {
                    takes_value =
                        text.len() == 2 && text[1..].contains(|c| self.valued.contains(c));
                }
                _ if is_value => {}
                _ => operands.push(argument),
            }
        }
        operands
    }
}

/// Skips the options of a wrapper. `with_value` take the next word; anything else that begins with
/// a dash must be in `alone`, or the rest cannot be told.
pub(crate) fn skip_options<'a>(
    arguments: &'a [ShellWord],
    alone: &[&str],
    with_value: &[&str],
) -> Option<&'a [ShellWord]> {
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        let text = first.literal()?;
        if text == "--" {
            return Some(after);
        }
        if !text.starts_with('-') || text == "-" {
            return Some(rest);
        }
        let joined = |option: &&&str| match option.starts_with("--") {
            true => text.strip_prefix(**option).is_some_and(|value| value.starts_with('=')),
            false => text.len() > option.len() && text.starts_with(**option),
        };
        if with_value.contains(&text) {
            rest = after.get(1..)?;
        } else if alone.contains(&text) || with_value.iter().find(joined).is_some() {
            rest = after;
        } else {
            return None;
        }
    }
    Some(rest)
}
