//! Bracket expressions, `[…]`: the part that glob patterns and regular expressions share.

use super::class::Class;

/// The content of a bracket expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bracket {
    pub(super) negated: bool,
    pub(super) items: Vec<Item>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Range(char, char),
    Class(Class),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BracketError {
    Unmatched,
    /// Nothing follows the bracket that opens.
    Nothing,
    /// `[:name:]` without the brackets around it.
    BareClass,
    ClassName,
    Collation,
    Range,
}

/// The language that a bracket expression is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// `!` negates too, a backslash escapes, and a range that runs backwards is empty.
    Glob,
    Regex,
}

impl Bracket {
    /// `text` begins after the opening bracket; the number says how many characters were used.
    pub(super) fn parse(text: &[char], language: Language) -> Result<(Self, usize), BracketError> {
        let negates = |c: char| c == '^' || (c == '!' && language == Language::Glob);
        let negated = text.first().copied().is_some_and(negates);
        let start = usize::from(negated);
        if text.len() == start {
            return Err(BracketError::Nothing);
        }
        let mut reader = Reader { text, at: start, language, ends_range: false };
        let mut items = Vec::new();
        loop {
            match reader.peek(0).ok_or(BracketError::Unmatched)? {
                ']' if reader.at > start => {
                    let is_bare = matches!(text[..reader.at], [':', _, .., ':']);
                    if is_bare && language == Language::Regex {
                        return Err(BracketError::BareClass);
                    }
                    return Ok((Self { negated, items }, reader.at + 1));
                }
                _ => items.extend(reader.item()?),
            }
        }
    }

    pub(super) fn contains(&self, c: char) -> bool {
        let hit = self.items.iter().any(|item| match *item {
            Item::Range(first, last) => (first..=last).contains(&c),
            Item::Class(class) => class.contains(c),
        });
        hit != self.negated
    }
}

struct Reader<'a> {
    text: &'a [char],
    at: usize,
    language: Language,
    /// The item just read cannot begin a range: it ended one, or is more than one character.
    ends_range: bool,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn item(&mut self) -> Result<Option<Item>, BracketError> {
        let goes_on = self.peek(0) == Some('-') && self.peek(1).is_some_and(|c| c != ']');
        if std::mem::take(&mut self.ends_range) && goes_on && self.language == Language::Regex {
            return Err(BracketError::Range);
        }
        if let (Some('['), Some(':')) = (self.peek(0), self.peek(1)) {
            let name = self.named(':')?;
            self.ends_range = true;
            return Class::named(&name)
                .map(|class| Some(Item::Class(class)))
                .ok_or(BracketError::ClassName);
        }
        let is_equivalence = (self.peek(0), self.peek(1)) == (Some('['), Some('='));
        let first = self.element()?;
        self.ends_range = is_equivalence;
        let is_range = self.peek(0) == Some('-') && self.peek(1).is_some_and(|c| c != ']');
        if !is_range || is_equivalence {
            return Ok(Some(Item::Range(first, first)));
        }
        self.at += 1;
        let last = self.element()?;
        self.ends_range = true;
        match (first <= last, self.language) {
            (true, _) => Ok(Some(Item::Range(first, last))),
            (false, Language::Glob) => Ok(None),
            (false, Language::Regex) => Err(BracketError::Range),
        }
    }

    /// One character, plain, escaped, or as a collating symbol.
    fn element(&mut self) -> Result<char, BracketError> {
        match (self.peek(0), self.peek(1)) {
            (Some('['), Some(mark @ ('.' | '='))) => {
                let name = self.named(mark)?;
                let mut letters = name.chars();
                match (letters.next(), letters.next()) {
                    (Some(only), None) => Ok(only),
                    _ => Err(BracketError::Collation),
                }
            }
            (Some('\\'), Some(escaped)) if self.language == Language::Glob => {
                self.at += 2;
                Ok(escaped)
            }
            (Some(c), _) => {
                self.at += 1;
                Ok(c)
            }
            (None, _) => Err(BracketError::Unmatched),
        }
    }

    /// The name that stands in `[:…:]`, `[.….]` or `[=…=]`.
    fn named(&mut self, mark: char) -> Result<String, BracketError> {
        let rest = self.text.get(self.at + 2..).unwrap_or_default();
        let length =
            rest.windows(2).position(|pair| pair == [mark, ']']).ok_or(BracketError::Unmatched)?;
        self.at += length + 4;
        Ok(rest[..length].iter().collect())
    }
}
