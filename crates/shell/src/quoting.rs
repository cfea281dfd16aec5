//! Quotes, backslashes and patterns within one word of a shell's script.

use crate::word::ShellWord;

/// An unquoted word: patterns, braces and `~` are expanded by the shell.
pub(crate) fn unquoted_word(text: &str) -> ShellWord {
    match text.starts_with('~') || expands(text) {
        true => ShellWord::beginning(unescape(known_start(text, is_special), |_| true)),
        false => ShellWord::Literal(unescape(text, |_| true)),
    }
}

/// The characters that an unquoted word may be expanded at.
fn is_special(c: char) -> bool {
    "*?[{~$`".contains(c)
}

/// The text before the first such character that no backslash precedes.
pub(crate) fn known_start(text: &str, ends: impl Fn(char) -> bool) -> &str {
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        if c == '\\' {
            rest.next();
        } else if ends(c) {
            return &text[..at];
        }
    }
    text
}

/// Holds patterns, or braces with something to choose from.
pub(crate) fn expands(text: &str) -> bool {
    let chooses = text.contains(',') || text.contains("..");
    has_unescaped(text, |c| "*?[".contains(c) || (c == '{' && chooses))
}

/// Is `$x` written as `${x}`, without any of the forms that do something.
pub(crate) fn is_plain_variable(text: &str) -> bool {
    let inner = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
    inner.is_some_and(|name| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Removes backslashes before characters that they quote, and joins continued lines.
pub(crate) fn unescape(text: &str, quotes: impl Fn(char) -> bool) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, rest.clone().next()) {
            ('\\', Some('\n')) => {
                rest.next();
            }
            ('\\', Some(next)) if quotes(next) => {
                plain.push(next);
                rest.next();
            }
            _ => plain.push(c),
        }
    }
    plain
}

/// Holds such a character without a backslash before it.
pub(crate) fn has_unescaped(text: &str, wanted: impl Fn(char) -> bool) -> bool {
    known_start(text, wanted).len() < text.len()
}
