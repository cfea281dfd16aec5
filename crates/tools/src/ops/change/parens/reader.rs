//! The Lisp reader's tokens, as far as brackets depend on them.
//!
//! Follows `read1` and `read_escape` of Emacs' lread.c: what ends a symbol, how far a character
//! literal reaches, which `#` forms swallow what.

use std::fmt;
use std::str::Chars;

/// A token, as far as brackets depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Open(char),
    Close(char),
    /// `'`, `` ` ``, `,`, `,@`, `#'` and `#1=`: something must follow.
    Quote,
    Atom,
    OpenString,
    /// The text ended within a character.
    Unfinished,
}

/// Counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextPlace {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl fmt::Display for TextPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}, column {}", self.line, self.column)
    }
}

pub(super) struct Reader<'a> {
    rest: Chars<'a>,
    place: TextPlace,
}

/// The text ended within a token.
struct Ended;

type Read<T = ()> = Result<T, Ended>;

/// The surroundings of an escape; `\s-` is a modifier only in a character literal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Character,
    String,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { rest: text.chars(), place: TextPlace { line: 1, column: 1 } }
    }

    /// The next token and where it begins.
    pub(super) fn token(&mut self) -> Option<(Token, TextPlace)> {
        loop {
            let place = self.place;
            let first = self.next()?;
            let token = match first {
                '(' | '[' => Some(Token::Open(first)),
                ')' | ']' => Some(Token::Close(first)),
                '"' => Some(self.string().map_or(Token::OpenString, |()| Token::Atom)),
                '?' => Some(self.character().map_or(Token::Unfinished, |()| Token::Atom)),
                '\'' | '`' => Some(Token::Quote),
                ',' => {
                    self.take_if(|c| c == '@');
                    Some(Token::Quote)
                }
                '#' => self.hash(),
                ';' => {
                    self.line_comment();
                    None
                }
                // A dot of its own: the question mark behind it begins a character.
                '.' if self.peek() == Some('?') => Some(Token::Atom),
                c if is_blank(c) => None,
                c => Some(self.symbol(c).map_or(Token::Unfinished, |()| Token::Atom)),
            };
            if let Some(token) = token {
                return Some((token, place));
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        self.place = match c {
            '\n' => TextPlace { line: self.place.line + 1, column: 1 },
            _ => TextPlace { column: self.place.column + 1, ..self.place },
        };
        Some(c)
    }

    fn must(&mut self) -> Read<char> {
        self.next().ok_or(Ended)
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn take_if(&mut self, wanted: impl Fn(char) -> bool) -> bool {
        let takes = self.peek().is_some_and(wanted);
        if takes {
            self.next();
        }
        takes
    }

    fn take_while(&mut self, most: usize, wanted: impl Fn(char) -> bool) {
        let mut taken = 0;
        while taken < most && self.take_if(&wanted) {
            taken += 1;
        }
    }

    fn line_comment(&mut self) {
        self.take_while(usize::MAX, |c| c != '\n');
    }

    /// The rest of a symbol or number.
    fn symbol(&mut self, first: char) -> Read {
        let mut c = first;
        loop {
            if c == '\\' {
                self.must()?;
            }
            match self.peek() {
                Some(next) if !ends_symbol(next) => c = self.must()?,
                _ => return Ok(()),
            }
        }
    }

    fn string(&mut self) -> Read {
        loop {
            match self.must()? {
                '"' => return Ok(()),
                '\\' => self.escape(Within::String)?,
                _ => {}
            }
        }
    }

    /// Reads what follows a question mark.
    fn character(&mut self) -> Read {
        match self.must()? {
            '\\' => self.escape(Within::Character),
            _ => Ok(()),
        }
    }

    /// Reads what follows a backslash.
    fn escape(&mut self, within: Within) -> Read {
        let digits = |base: u32| move |c: char| c.is_digit(base);
        match self.must()? {
            'M' | 'S' | 'H' | 'A' | 'C' if self.take_if(|c| c == '-') => self.modified(),
            's' if within == Within::Character && self.take_if(|c| c == '-') => self.modified(),
            '^' => self.modified(),
            'x' => {
                self.take_while(usize::MAX, digits(16));
                Ok(())
            }
            'u' => {
                self.take_while(4, digits(16));
                Ok(())
            }
            'U' => {
                self.take_while(8, digits(16));
                Ok(())
            }
            'N' if self.take_if(|c| c == '{') => {
                while self.must()? != '}' {}
                Ok(())
            }
            '0'..='7' => {
                self.take_while(2, digits(8));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The character that a modifier like `\C-` belongs to. At the end of the text there may be none:
    /// Emacs 28 reads such a literal.
    fn modified(&mut self) -> Read {
        match self.peek() {
            None => Ok(()),
            Some(_) => self.character(),
        }
    }

    /// Reads what follows a `#`; `None` when it was a comment.
    fn hash(&mut self) -> Option<Token> {
        let is_digit = |c: char| c.is_ascii_digit();
        match self.peek() {
            Some('!') => {
                self.line_comment();
                return None;
            }
            Some('\'') => {
                self.next();
                return Some(Token::Quote);
            }
            Some('#') => {
                self.next();
            }
            Some(':' | '_') => {
                self.next();
                if self.peek().is_some_and(|c| !ends_symbol(c)) {
                    return Some(self.rest_of_symbol());
                }
            }
            Some('x' | 'X' | 'o' | 'O' | 'b' | 'B') => {
                self.next();
                self.integer();
            }
            Some(c) if is_digit(c) => {
                self.take_while(usize::MAX, is_digit);
                if self.take_if(|c| c == '=') {
                    return Some(Token::Quote);
                }
                if self.take_if(|c| c == 'r' || c == 'R') {
                    self.integer();
                } else {
                    self.take_if(|c| c == '#');
                }
            }
            // `#(`, `#[`: the bracket is the next token.
            Some(c) if ends_symbol(c) => {}
            Some(_) => return Some(self.rest_of_symbol()),
            None => {}
        }
        Some(Token::Atom)
    }

    fn rest_of_symbol(&mut self) -> Token {
        let read = self.must().and_then(|first| self.symbol(first));
        read.map_or(Token::Unfinished, |()| Token::Atom)
    }

    fn integer(&mut self) {
        self.take_if(|c| c == '-' || c == '+');
        self.take_while(usize::MAX, |c| c.is_ascii_alphanumeric());
    }
}

fn is_blank(c: char) -> bool {
    c <= ' ' || c == '\u{a0}'
}

fn ends_symbol(c: char) -> bool {
    is_blank(c) || "\"';()[]#`,".contains(c)
}
