//! POSIX extended regular expressions, with the extensions of GNU, as the engine of this program
//! understands them.
//!
//! Law: what `grep -E` accepts is accepted and selects the same lines; what it refuses is refused
//! in the same words.

use std::fmt::Write;

use super::bracket::{Bracket, BracketError, Item, Language};

/// The fault of an expression, in the system's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum EreError {
    #[error("Invalid regular expression")]
    Nothing,
    #[error("character class syntax is [[:space:]], not [:space:]")]
    BareClass,
    #[error("Invalid collation character")]
    Collation,
    #[error("Invalid character class name")]
    ClassName,
    #[error("Trailing backslash")]
    TrailingBackslash,
    #[error("Invalid back reference")]
    BackReference,
    #[error("Unmatched [, [^, [:, [., or [=")]
    Bracket,
    #[error("Unmatched ( or \\(")]
    Open,
    #[error("Invalid content of \\{{\\}}")]
    Interval,
    #[error("Invalid range end")]
    Range,
    #[error("Regular expression too big")]
    TooBig,
}

/// The same expression in the syntax of the `regex` family.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Translated {
    pub(super) pattern: String,
    /// It refers back to what a group matched, which only backtracking can decide.
    pub(super) refers_back: bool,
}

/// The deepest nesting of groups.
const DEEPEST: usize = 200;
/// The largest count of a repetition.
const MOST_REPEATED: u32 = 32_767;

pub(super) fn translate(expression: &str) -> Result<Translated, EreError> {
    let letters: Vec<char> = expression.chars().collect();
    let mut parser = Parser {
        letters: &letters,
        at: 0,
        groups: 0,
        closed: Vec::new(),
        depth: 0,
        refers_back: false,
    };
    let pattern = parser.alternatives()?;
    Ok(Translated { pattern, refers_back: parser.refers_back })
}

struct Parser<'a> {
    letters: &'a [char],
    at: usize,
    groups: usize,
    /// Groups that are complete and may be referred to.
    closed: Vec<usize>,
    depth: usize,
    refers_back: bool,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn alternatives(&mut self) -> Result<String, EreError> {
        let mut branches = vec![self.branch()?];
        while self.peek() == Some('|') {
            self.at += 1;
            branches.push(self.branch()?);
        }
        Ok(branches.join("|"))
    }

    fn branch(&mut self) -> Result<String, EreError> {
        let mut text = String::new();
        while let Some(letter) = self.peek() {
            // A parenthesis that closes nothing stands for itself.
            if letter == '|' || (letter == ')' && self.depth > 0) {
                break;
            }
            let atom = self.atom()?;
            text.push_str(&self.repeated(atom)?);
        }
        Ok(text)
    }

    /// The repetitions behind an atom, each of what stands before it.
    fn repeated(&mut self, mut atom: String) -> Result<String, EreError> {
        loop {
            let times = match self.peek() {
                Some(letter @ ('*' | '+' | '?')) => {
                    self.at += 1;
                    letter.to_string()
                }
                Some('{') => match self.interval()? {
                    Some(times) => times,
                    None => return Ok(atom),
                },
                _ => return Ok(atom),
            };
            atom = format!("(?:{atom}){times}");
        }
    }

    /// `{3}`, `{3,}`, `{,3}` or `{3,5}`; anything else is a brace.
    fn interval(&mut self) -> Result<Option<String>, EreError> {
        let rest = &self.letters[self.at + 1..];
        let Some(length) = rest.iter().position(|c| *c == '}') else { return Ok(None) };
        let content: String = rest[..length].iter().collect();
        let (least, most) = match content.split_once(',') {
            Some((least, most)) => (least, Some(most)),
            None => (content.as_str(), None),
        };
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if content.is_empty() {
            return Err(EreError::Interval);
        }
        if !is_number(least) || !most.is_none_or(is_number) {
            return Ok(None);
        }
        let number = |text: &str| match text {
            "" => Ok(None),
            digits => match digits.parse::<u32>() {
                Ok(number) if number <= MOST_REPEATED => Ok(Some(number)),
                Ok(_) | Err(_) => Err(EreError::TooBig),
            },
        };
        let least = number(least)?.unwrap_or(0);
        let most = match most {
            None => Some(least),
            Some(most) => number(most)?,
        };
        self.at += length + 2;
        match most {
            Some(most) if most < least => Err(EreError::Interval),
            Some(most) => Ok(Some(format!("{{{least},{most}}}"))),
            None => Ok(Some(format!("{{{least},}}"))),
        }
    }

    fn atom(&mut self) -> Result<String, EreError> {
        let Some(letter) = self.peek() else { return Ok(String::new()) };
        self.at += 1;
        match letter {
            '(' => self.group(),
            '[' => self.bracket(),
            '\\' => self.escaped(),
            '.' => Ok("(?s:.)".to_owned()),
            '^' => Ok("^".to_owned()),
            '$' => Ok("$".to_owned()),
            // Where there is nothing to repeat, the sign stands for nothing.
            '*' | '+' | '?' => Ok(String::new()),
            '{' => self.stray_brace(),
            plain => Ok(literal(plain)),
        }
    }

    /// A brace with nothing before it: an interval of nothing, or itself.
    fn stray_brace(&mut self) -> Result<String, EreError> {
        self.at -= 1;
        match self.interval()? {
            Some(_) => Ok(String::new()),
            None => {
                self.at += 1;
                Ok(literal('{'))
            }
        }
    }

    fn group(&mut self) -> Result<String, EreError> {
        self.groups += 1;
        self.depth += 1;
        let number = self.groups;
        if self.depth > DEEPEST {
            return Err(EreError::TooBig);
        }
        let inside = self.alternatives()?;
        if self.peek() != Some(')') {
            return Err(EreError::Open);
        }
        self.at += 1;
        self.depth -= 1;
        self.closed.push(number);
        Ok(format!("({inside})"))
    }

    fn escaped(&mut self) -> Result<String, EreError> {
        let letter = self.peek().ok_or(EreError::TrailingBackslash)?;
        self.at += 1;
        let word = format!("_{}", super::class::Class::Alnum.members());
        let space = super::class::Class::Space.members();
        Ok(match letter {
            'w' => format!("[{word}]"),
            'W' => format!("[^{word}]"),
            's' => format!("[{space}]"),
            'S' => format!("[^{space}]"),
            'b' => r"\b".to_owned(),
            'B' => r"\B".to_owned(),
            '<' => r"\b{start}".to_owned(),
            '>' => r"\b{end}".to_owned(),
            '`' => r"\A".to_owned(),
            '\'' => r"\z".to_owned(),
            '1'..='9' => return self.back_reference(letter),
            plain => literal(plain),
        })
    }

    fn back_reference(&mut self, digit: char) -> Result<String, EreError> {
        let number = digit.to_digit(10).map_or(0, |digit| digit as usize);
        if !self.closed.contains(&number) {
            return Err(EreError::BackReference);
        }
        self.refers_back = true;
        Ok(format!("(?:\\{number})"))
    }

    fn bracket(&mut self) -> Result<String, EreError> {
        let (bracket, length) = Bracket::parse(&self.letters[self.at..], Language::Regex).map_err(
            |error| match error {
                BracketError::Unmatched => EreError::Bracket,
                BracketError::Nothing => EreError::Nothing,
                BracketError::BareClass => EreError::BareClass,
                BracketError::ClassName => EreError::ClassName,
                BracketError::Collation => EreError::Collation,
                BracketError::Range => EreError::Range,
            },
        )?;
        self.at += length;
        let mut text = String::from(if bracket.negated { "[^" } else { "[" });
        for item in &bracket.items {
            match item {
                Item::Class(class) => text.push_str(&class.members()),
                Item::Range(first, last) => {
                    // Writing to a string cannot fail.
                    write!(text, "\\u{{{:X}}}-\\u{{{:X}}}", u32::from(*first), u32::from(*last))
                        .unwrap_or_default();
                }
            }
        }
        text.push(']');
        Ok(text)
    }
}

fn literal(c: char) -> String {
    regex::escape(c.encode_utf8(&mut [0; 4]))
}
