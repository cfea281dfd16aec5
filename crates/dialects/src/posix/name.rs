//! One name of a path against one component of a POSIX glob pattern.
//!
//! Law: a dot at the start of a name is only matched by a dot at the start of the pattern.

use super::bracket::{Bracket, BracketError, Language};

/// A component of a pattern, ready to be compared with names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamePattern {
    pieces: Vec<Piece>,
    /// A bracket names a class that does not exist: nothing matches.
    is_hopeless: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Any,
    One,
    Set(Bracket),
    Char(char),
}

/// Tells whether a component means more than its own characters.
pub(super) fn is_magic(component: &str) -> bool {
    let mut letters = component.chars();
    let mut open = false;
    while let Some(letter) = letters.next() {
        match letter {
            '*' | '?' => return true,
            '[' => open = true,
            ']' if open => return true,
            '\\' => {
                letters.next();
            }
            _ => {}
        }
    }
    false
}

/// A component without its escapes.
pub(super) fn unescaped(component: &str) -> String {
    let mut text = String::new();
    let mut letters = component.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.push(letters.next().unwrap_or('\\')),
            _ => text.push(letter),
        }
    }
    text
}

impl NamePattern {
    pub(super) fn new(component: &str) -> Self {
        let letters: Vec<char> = component.chars().collect();
        let mut pieces = Vec::new();
        let mut is_hopeless = false;
        let mut at = 0;
        while let Some(&letter) = letters.get(at) {
            at += 1;
            match letter {
                '*' => pieces.push(Piece::Any),
                '?' => pieces.push(Piece::One),
                '\\' => {
                    pieces.push(Piece::Char(letters.get(at).copied().unwrap_or('\\')));
                    at += 1;
                }
                '[' => match Bracket::parse(&letters[at..], Language::Glob) {
                    Ok((set, length)) => {
                        pieces.push(Piece::Set(set));
                        at += length;
                    }
                    Err(BracketError::Unmatched | BracketError::Nothing) => {
                        pieces.push(Piece::Char('['));
                    }
                    Err(_) => {
                        is_hopeless = true;
                        break;
                    }
                },
                plain => pieces.push(Piece::Char(plain)),
            }
        }
        pieces.dedup_by(|a, b| *a == Piece::Any && *b == Piece::Any);
        Self { pieces, is_hopeless }
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        let letters: Vec<char> = name.chars().collect();
        let hides = letters.first() == Some(&'.');
        if self.is_hopeless || (hides && self.pieces.first() != Some(&Piece::Char('.'))) {
            return false;
        }
        self.runs(&letters)
    }

    /// Only the last star is ever tried again, so the work is the name times the pattern.
    fn runs(&self, letters: &[char]) -> bool {
        let (mut piece, mut letter) = (0, 0);
        let mut again: Option<(usize, usize)> = None;
        loop {
            match (self.pieces.get(piece), letters.get(letter)) {
                (Some(Piece::Any), _) => {
                    again = Some((piece, letter));
                    piece += 1;
                    continue;
                }
                (Some(wanted), Some(found)) if wanted.fits(*found) => {
                    (piece, letter) = (piece + 1, letter + 1);
                    continue;
                }
                (None, None) => return true,
                _ => {}
            }
            match again {
                Some((star, from)) if from < letters.len() => {
                    again = Some((star, from + 1));
                    (piece, letter) = (star + 1, from + 1);
                }
                _ => return false,
            }
        }
    }
}

impl Piece {
    fn fits(&self, c: char) -> bool {
        match self {
            Piece::Any | Piece::One => true,
            Piece::Set(set) => set.contains(c),
            Piece::Char(wanted) => *wanted == c,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_posix_says() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            ("*", &["a", "a.b", "é"], &[".a"]),
            ("*.c", &["a.c", "a.b.c"], &[".c", "a.C", "ac"]),
            (".*", &[".a", ".", ".a.b"], &["a"]),
            ("a?c", &["abc", "aéc"], &["ac", "abbc"]),
            ("[abc]", &["a", "b"], &["d", "ab"]),
            ("[!a-c]", &["d", "-"], &["a", ".", ""]),
            ("[^a-c]", &["d"], &["b"]),
            ("[]a]", &["]", "a"], &["b"]),
            ("[a-]", &["a", "-"], &["b"]),
            ("[[:alpha:]]*", &["a1", "é"], &["1a", ".a"]),
            ("[[:nope:]]", &[], &["a", "["]),
            ("[a", &["[a"], &["a"]),
            ("\\*", &["*"], &["a"]),
            ("[\\]]", &["]"], &["\\"]),
            ("[z-a]", &[], &["a", "z"]),
            ("**", &["a", "ab"], &[".a"]),
            ("a*b*c", &["abc", "axxbyyc", "abcbc"], &["abcb"]),
            ("[.]a", &[], &[".a"]),
            ("?a", &["ba"], &[".a"]),
        ];
        for (pattern, yes, no) in cases {
            let compiled = NamePattern::new(pattern);
            yes.iter().for_each(|name| assert!(compiled.matches(name), "{pattern} {name}"));
            no.iter().for_each(|name| assert!(!compiled.matches(name), "{pattern} {name}"));
        }
    }

    #[test]
    fn a_pattern_of_stars_is_not_slow() {
        let pattern = NamePattern::new(&"a*".repeat(100));
        assert!(!pattern.matches(&format!("{}b", "a".repeat(99))));
    }
}
