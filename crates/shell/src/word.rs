//! A word of a command line, as far as it is known before the line runs.

use jm_types::text::one_line;

/// One argument, or what is known of it without running a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShellWord {
    Literal(String),
    /// One or more words that each begin with this text, which makes paths of them: `src/*.rs`,
    /// `"./$name"`.
    Begins(String),
    /// A variable, a pattern or another command's output: any text, also an option, also none.
    Opaque,
}

impl ShellWord {
    pub(crate) fn literal(&self) -> Option<&str> {
        match self {
            ShellWord::Literal(text) => Some(text),
            ShellWord::Begins(_) | ShellWord::Opaque => None,
        }
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.literal() == Some(text)
    }

    /// A word that begins with the given text: known to be a path, or else opaque.
    pub(crate) fn beginning(text: String) -> Self {
        match text.contains('/') && !text.starts_with('-') {
            true => ShellWord::Begins(text),
            false => ShellWord::Opaque,
        }
    }
}

/// Words as a person would type them, on one line; `…` stands for what is not known yet.
pub(crate) fn show_words(words: &[ShellWord]) -> String {
    let shown = words.iter().map(|word| match word {
        ShellWord::Literal(text) => quote_word(text),
        ShellWord::Begins(text) => format!("{text}…"),
        ShellWord::Opaque => "…".to_owned(),
    });
    one_line(&shown.collect::<Vec<_>>().join(" "))
}

/// A word in the quotes that a pattern or a shell needs to take it for one literal word.
pub(crate) fn quote_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%^{}[]?!".contains(c);
    let is_bare = !text.is_empty() && text.chars().all(is_plain);
    match (is_bare, text.contains('\'')) {
        (true, _) => text.to_owned(),
        (false, false) => format!("'{text}'"),
        (false, true) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}
