//! The balance of brackets in Emacs Lisp, read as Emacs itself reads it (FJ-PAREN).
//!
//! Law: what Emacs can read is never refused. Strings, comments, character literals and quoted
//! characters hide brackets exactly where the Lisp reader says so. Braces are letters of symbols,
//! and `#|` begins no comment: the reader knows none.

use jm_types::{Fault, Imbalance};

use reader::{Reader, TextPlace, Token};

mod reader;
#[cfg(test)]
mod tests;

/// More than this is one mistake seen many times.
const MOST: usize = 20;

/// Every imbalance in the order of the text; none when Emacs can read it to the end.
pub fn check(text: &str) -> Vec<Imbalance> {
    let mut check = Check::default();
    let mut reader = Reader::new(text);
    while let Some((token, place)) = reader.token() {
        check.take(token, place);
    }
    check.finish()
}

#[derive(Debug, Default)]
struct Check {
    open: Vec<(char, TextPlace)>,
    quote: Option<TextPlace>,
    /// A form that starts at the margin while another is open: where a bracket is likely missing.
    next_form: Option<usize>,
    found: Vec<Imbalance>,
}

impl Check {
    fn take(&mut self, token: Token, place: TextPlace) {
        match token {
            Token::Open(bracket) => {
                self.quote = None;
                if place.column == 1 && !self.open.is_empty() {
                    self.next_form.get_or_insert(place.line);
                }
                self.open.push((bracket, place));
            }
            Token::Close(bracket) => {
                if let Some(quote) = self.quote.take() {
                    self.report(nothing_quoted(quote));
                }
                self.close(bracket, place);
            }
            Token::Quote => {
                self.quote.get_or_insert(place);
            }
            Token::Atom => self.quote = None,
            Token::OpenString => {
                self.quote = None;
                self.report(open_string(place));
            }
            Token::Unfinished => {
                self.quote = None;
                self.report(unfinished(place));
            }
        }
    }

    fn close(&mut self, bracket: char, place: TextPlace) {
        let Some(&(opener, opened)) = self.open.last() else {
            self.report(extra(bracket, place));
            return;
        };
        if closer(opener) == bracket {
            self.open.pop();
            return;
        }
        self.report(unmatched(bracket, place, opener, opened));
        // If an outer bracket is the one that is closed here, the inner ones were forgotten;
        // otherwise this is the inner one's, in the wrong form.
        let outer = self.open.iter().rposition(|(opener, _)| closer(*opener) == bracket);
        self.open.truncate(outer.unwrap_or(self.open.len() - 1));
    }

    fn finish(mut self) -> Vec<Imbalance> {
        if let Some(quote) = self.quote.take() {
            self.report(nothing_quoted(quote));
        }
        let next_form = self.next_form;
        for (opener, place) in std::mem::take(&mut self.open) {
            self.report(unclosed(opener, place, next_form.filter(|line| *line > place.line)));
        }
        self.found.sort_by_key(|imbalance| (imbalance.line, imbalance.column));
        self.found
    }

    fn report(&mut self, imbalance: Imbalance) {
        if self.found.len() < MOST {
            self.found.push(imbalance);
        }
    }
}

fn closer(opener: char) -> char {
    if opener == '[' { ']' } else { ')' }
}

fn name(bracket: char) -> &'static str {
    match bracket {
        '[' | ']' => "bracket",
        _ => "parenthesis",
    }
}

fn extra(found: char, place: TextPlace) -> Imbalance {
    Imbalance {
        found: Some(found),
        message: format!("Unexpected closing {}", name(found)),
        suggestion: format!("Remove '{found}' at {place}"),
        ..at(place, Fault::ExtraParen)
    }
}

fn unmatched(found: char, place: TextPlace, opener: char, opened: TextPlace) -> Imbalance {
    let expected = closer(opener);
    Imbalance {
        expected: Some(expected),
        found: Some(found),
        message: format!(
            "Unmatched closing {}, expected '{expected}' for opening at {opened}",
            name(found)
        ),
        suggestion: format!("Replace '{found}' with '{expected}' at {place}"),
        ..at(place, Fault::UnmatchedParen)
    }
}

fn unclosed(opener: char, place: TextPlace, next_form: Option<usize>) -> Imbalance {
    let expected = closer(opener);
    let before = match next_form {
        Some(line) => format!(", perhaps before line {line}, where another form begins"),
        None => String::new(),
    };
    Imbalance {
        expected: Some(expected),
        message: format!("Unclosed {} at {place}", name(opener)),
        suggestion: format!("Add closing '{expected}' for '{opener}' at {place}{before}"),
        ..at(place, Fault::UnclosedParen)
    }
}

fn open_string(place: TextPlace) -> Imbalance {
    Imbalance {
        expected: Some('"'),
        message: format!("Unclosed string literal starting at {place}"),
        suggestion: format!("Add closing quote for the string at {place}"),
        ..at(place, Fault::StringUnclosed)
    }
}

fn unfinished(place: TextPlace) -> Imbalance {
    Imbalance {
        message: format!("Unfinished character at {place}"),
        suggestion: "Complete the character, or remove the text from there on".to_owned(),
        ..at(place, Fault::CharacterUnfinished)
    }
}

fn nothing_quoted(place: TextPlace) -> Imbalance {
    Imbalance {
        message: format!("Nothing follows the quote at {place}"),
        suggestion: format!("Remove the quote at {place}, or add what it quotes"),
        ..at(place, Fault::NothingQuoted)
    }
}

fn at(place: TextPlace, fault: Fault) -> Imbalance {
    let TextPlace { line, column } = place;
    let (message, suggestion) = (String::new(), String::new());
    Imbalance { line, column, fault, expected: None, found: None, message, suggestion }
}
