//! The pattern of a rule: words, `*` for one word, `*` at the end for any further ones.
//!
//! Law: a pattern describes one command by its arguments. Shell syntax in it is an error, never a
//! guess.

use crate::word::{ShellWord, quote_word};

use super::error::PatternError;

/// One word of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatternWord {
    Literal(String),
    /// Exactly one word.
    AnyOne,
}

impl PatternWord {
    pub(crate) fn literal(&self) -> Option<&str> {
        match self {
            PatternWord::Literal(text) => Some(text),
            PatternWord::AnyOne => None,
        }
    }
}

/// A pattern, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CommandPattern {
    /// `NAME=value` before the words.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) words: Vec<PatternWord>,
    /// Ends with `*`: any further words, also none.
    pub(crate) is_open: bool,
    /// Redirections at the end: operator and file.
    pub(crate) files: Vec<(String, String)>,
}

/// A token of a pattern; a quoted one is never special.
struct Token {
    text: String,
    is_quoted: bool,
}

impl CommandPattern {
    pub(crate) fn parse(text: &str) -> Result<Self, PatternError> {
        let mut pattern = CommandPattern::default();
        let mut tokens = tokens_of(text)?.into_iter().peekable();
        while let Some(token) = tokens.next_if(|token| assignment(token).is_some()) {
            pattern.environment.extend(assignment(&token));
        }
        while let Some(token) = tokens.next() {
            if !token.is_quoted && is_operator(&token.text) {
                let file = tokens.next().ok_or(PatternError::NoFile(token.text.clone()))?;
                pattern.files.push((token.text, file.text));
                continue;
            }
            if !pattern.files.is_empty() {
                return Err(PatternError::BehindRedirection(token.text));
            }
            let is_last =
                tokens.peek().is_none_or(|next| !next.is_quoted && is_operator(&next.text));
            match (token.is_quoted, token.text.as_str()) {
                (false, "*") if is_last => pattern.is_open = true,
                (false, "*") => pattern.words.push(PatternWord::AnyOne),
                (false, text) if text.contains('*') => {
                    return Err(PatternError::StarInWord(token.text));
                }
                (false, text)
                    if text.contains(['|', '&', ';', '<', '>', '(', ')', '$', '`', '#']) =>
                {
                    return Err(PatternError::ShellSyntax(token.text));
                }
                (_, _) => pattern.words.push(PatternWord::Literal(token.text)),
            }
        }
        match pattern.words.is_empty() && !pattern.is_open && pattern.files.is_empty() {
            true => Err(PatternError::Empty),
            false => Ok(pattern),
        }
    }

    /// The program's word; `None` when it is a `*` or there is none.
    pub(crate) fn program(&self) -> Option<&str> {
        self.words.first().and_then(PatternWord::literal)
    }

    /// Holds a `*`.
    pub(crate) fn has_star(&self) -> bool {
        self.is_open || self.words.contains(&PatternWord::AnyOne)
    }

    /// The words as a command has them, `*` for unknown ones.
    pub(crate) fn as_words(&self) -> Vec<ShellWord> {
        let word = |word: &PatternWord| match word {
            PatternWord::Literal(text) => ShellWord::Literal(text.clone()),
            PatternWord::AnyOne => ShellWord::Opaque,
        };
        self.words.iter().map(word).collect()
    }
}

/// Words in the quotes that make a pattern of them, which matches exactly these.
pub(crate) fn pattern_of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quote_word).collect::<Vec<_>>().join(" ")
}

fn assignment(token: &Token) -> Option<(String, String)> {
    let (name, value) = token.text.split_once('=')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

/// `>`, `2>>`, `&>` and their like.
fn is_operator(text: &str) -> bool {
    let bare = text.trim_start_matches(|c: char| c.is_ascii_digit());
    matches!(bare, ">" | ">>" | ">|" | "&>" | "&>>" | "<>")
}

fn tokens_of(text: &str) -> Result<Vec<Token>, PatternError> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    loop {
        while rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
        if rest.peek().is_none() {
            return Ok(tokens);
        }
        let mut token = Token { text: String::new(), is_quoted: false };
        while let Some(c) = rest.next_if(|c| !matches!(c, ' ' | '\t')) {
            match c {
                '\'' | '"' => {
                    token.is_quoted = true;
                    quoted(&mut rest, c, &mut token.text)?;
                }
                '\\' => {
                    token.is_quoted = true;
                    token.text.push(rest.next().ok_or(PatternError::Unclosed)?);
                }
                _ if c.is_control() => {
                    return Err(PatternError::ShellSyntax(c.escape_debug().to_string()));
                }
                _ => token.text.push(c),
            }
        }
        tokens.push(token);
    }
}

fn quoted(
    rest: &mut std::iter::Peekable<std::str::Chars<'_>>,
    quote: char,
    text: &mut String,
) -> Result<(), PatternError> {
    loop {
        match rest.next().ok_or(PatternError::Unclosed)? {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => text.push(rest.next().ok_or(PatternError::Unclosed)?),
            c => text.push(c),
        }
    }
}
