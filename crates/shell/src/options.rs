//! The options of a program, judged by an allow list.
//!
//! Law: an option that is not listed may do anything, in any spelling: alone, in a cluster, joined to
//! its value, or as an abbreviation. No word ends the judging, because a `--` may be the value of the
//! option before it.

use super::{Danger, Word};

/// The options with which a program only reads.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// Letters of options without a value.
    pub(super) short: &'static str,
    /// Letters of options that take a value; the rest of their word is that value.
    pub(super) valued: &'static str,
    /// Long names without their dashes, with or without a value, divided by commas.
    pub(super) long: &'static str,
    pub(super) unknown_words: Unknown,
}

/// What a word means that only the running shell knows.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Unknown {
    /// It may be an option, and one of the program's options does more than read.
    MayDoHarm,
    /// No option of the program does more than read.
    Harmless,
}

impl Options {
    pub(super) const NONE: Self =
        Self { short: "", valued: "", long: "", unknown_words: Unknown::MayDoHarm };

    /// Harmless when every word that looks like an option is a listed one.
    pub(super) fn judge(&self, program: &str, arguments: &[Word]) -> Danger {
        for argument in arguments {
            match argument.literal() {
                None if self.unknown_words == Unknown::Harmless => {}
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

    fn admits(&self, text: &str) -> bool {
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
    pub(super) fn operands<'a>(&self, arguments: &'a [Word]) -> Vec<&'a Word> {
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
pub(super) fn skip_options<'a>(
    arguments: &'a [Word],
    alone: &[&str],
    with_value: &[&str],
) -> Option<&'a [Word]> {
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
