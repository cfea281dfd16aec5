//! What the options of a program say, without knowing all of them.
//!
//! Law: an option that does harm is found in any spelling: alone, in a cluster, joined to its value,
//! or as an abbreviation of its long name. A word that is not known may be any option.

use super::{Danger, Word};

/// Options that make a harmless program do something.
pub(super) struct Harm {
    /// Letters of short options.
    pub(super) short: &'static str,
    /// Long names with their dashes.
    pub(super) long: &'static [&'static str],
}

impl Harm {
    /// Nothing when none of them is among the arguments.
    pub(super) fn find(&self, program: &str, arguments: &[Word]) -> Danger {
        for argument in arguments {
            let Some(text) = argument.literal() else {
                return Danger::unknown(format!(
                    "an argument of `{program}` that is not known yet may be an option"
                ));
            };
            if text == "--" {
                return Danger::none();
            }
            if self.names(text) {
                return Danger::unknown(format!("`{program} {text}` may do more than read"));
            }
        }
        Danger::none()
    }

    fn names(&self, text: &str) -> bool {
        if text.starts_with("--") {
            let name = text.split('=').next().unwrap_or(text);
            return self.long.iter().any(|long| long.starts_with(name) || name == *long);
        }
        let is_short = text.starts_with('-') && text.len() > 1;
        is_short && text[1..].contains(|letter| self.short.contains(letter))
    }
}

/// The arguments that are no options; what follows `--` never is one.
pub(super) fn operands(arguments: &[Word]) -> Vec<&Word> {
    let mut only_operands = false;
    let mut operands = Vec::new();
    for argument in arguments {
        match argument.literal() {
            Some("--") if !only_operands => only_operands = true,
            Some(text) if !only_operands && text.len() > 1 && text.starts_with('-') => {}
            _ => operands.push(argument),
        }
    }
    operands
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
