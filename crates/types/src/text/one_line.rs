//! Names, paths and commands shown on one line, so that what a person reads is what is meant.
//!
//! Law: two different texts never look the same. Every character that is not plainly visible is
//! shown as an escape, and so is a letter that looks like an ASCII one and stands among ASCII ones. A
//! run of backslashes is doubled exactly when an escape or one of the letters `n r t x u` follows it,
//! so an odd run before such a letter is always an escape. The bracket `⟨` and the fold `⤶` are themselves
//! escaped, so a literal one never looks like the count of a long run or like a line end.

use crate::text::foreign_text::look_alike_places;
use crate::text::redact::redact_command;
use crate::text::sanitize::is_hidden;
use crate::text::visible_text::looks_like_nothing;

/// The longest run of one blank or invisible character that is shown as it is.
const LONGEST_RUN: usize = 8;
/// The most combining marks that one character carries; more would cover its neighbours.
const MOST_MARKS: usize = 4;

/// Stands for a line end in a summary.
const FOLD: char = '⤶';

/// The longest summary of a call (FR-APR-01).
pub const SUMMARY_CHARACTERS: usize = 200;

/// A text within a limit, for the question whether a call may run (FR-APR-06).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// One line without control characters.
    pub text: String,
    /// Something is missing; a person who approves this has not seen the whole.
    pub cut: bool,
}

/// Redacted, on one line and at most `limit_chars` long. The cut is in the middle, because padding
/// that pushes the tail out of sight is the oldest trick. Line ends are folded (FL-PREVIEW).
pub fn summarize(text: &str, limit_chars: usize) -> Summary {
    let line = folded(&redact_command(text));
    let length = line.chars().count();
    if length <= limit_chars {
        return Summary { text: line, cut: false };
    }
    let Some(room) = limit_chars.checked_sub(1) else {
        return Summary { text: String::new(), cut: true };
    };
    let tail_length = room / 3;
    let head: String = line.chars().take(room - tail_length).collect();
    let tail: String = line.chars().skip(length - tail_length).collect();
    Summary { text: format!("{head}…{tail}"), cut: true }
}

/// The text on one line, with [`FOLD`] in the place of line ends. A literal one is escaped.
pub fn folded(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(one_line).collect();
    lines.join(FOLD.encode_utf8(&mut [0; 4]))
}

/// The text on one line, without a character that could hide or disguise another.
pub fn one_line(text: &str) -> String {
    let mut line = Line::default();
    let mut rest = text.chars();
    let mut alike = look_alike_places(text).into_iter().peekable();
    loop {
        let at = text.len() - rest.as_str().len();
        let Some(c) = rest.next() else { break };
        let sight = match alike.next_if_eq(&at) {
            Some(_) => Sight::Nothing,
            None => sight(c),
        };
        if matches!(sight, Sight::Plain | Sight::Mark) {
            line.show(c, sight);
            continue;
        }
        let repeated = rest.clone().take_while(|&next| next == c).count();
        if repeated < LONGEST_RUN {
            line.show(c, sight);
            continue;
        }
        line.show_run(c, repeated + 1);
        rest.nth(repeated - 1);
        let at = text.len() - rest.as_str().len();
        while alike.next_if(|place| *place < at).is_some() {}
    }
    line.end()
}

/// The line so far.
#[derive(Default)]
struct Line {
    text: String,
    /// Backslashes not yet written: what follows decides whether they are doubled.
    backslashes: usize,
    /// How many more combining marks may follow.
    marks: usize,
}

impl Line {
    fn show(&mut self, c: char, sight: Sight) {
        match sight {
            Sight::Plain if c == '\\' => {
                self.backslashes += 1;
                self.marks = 0;
            }
            Sight::Plain => {
                self.push_literal(c);
                self.marks = MOST_MARKS;
            }
            Sight::Mark if self.marks > 0 => {
                self.push_literal(c);
                self.marks -= 1;
            }
            Sight::Blank => {
                self.push_literal(c);
                self.marks = 0;
            }
            Sight::Mark | Sight::Nothing => {
                self.push_backslashes(2);
                self.text.push_str(&escape(c));
                self.marks = 0;
            }
        }
    }

    fn show_run(&mut self, c: char, length: usize) {
        self.push_backslashes(1);
        let what = if c == ' ' { "blanks".to_owned() } else { format!("× {}", escape(c)) };
        self.text.push_str(&format!("⟨{length} {what}⟩"));
        self.marks = 0;
    }

    fn push_literal(&mut self, c: char) {
        let looks_like_an_escape = matches!(c, 'n' | 'r' | 't' | 'x' | 'u');
        self.push_backslashes(if looks_like_an_escape { 2 } else { 1 });
        self.text.push(c);
    }

    fn push_backslashes(&mut self, times: usize) {
        let count = std::mem::take(&mut self.backslashes) * times;
        self.text.extend(std::iter::repeat_n('\\', count));
    }

    fn end(mut self) -> String {
        self.push_backslashes(1);
        self.text
    }
}

fn escape(c: char) -> String {
    match c {
        '\n' => r"\n".to_owned(),
        '\r' => r"\r".to_owned(),
        '\t' => r"\t".to_owned(),
        '\0'..='\x7f' => format!(r"\x{:02x}", u32::from(c)),
        _ => format!(r"\u{{{:x}}}", u32::from(c)),
    }
}

/// The way a person sees a character.
#[derive(Clone, Copy)]
enum Sight {
    Plain,
    Blank,
    /// Something on the character before it.
    Mark,
    Nothing,
}

fn sight(c: char) -> Sight {
    if c.is_ascii_graphic() {
        return Sight::Plain;
    }
    if c == ' ' {
        return Sight::Blank;
    }
    if looks_like_nothing(c) || is_hidden(c) || matches!(c, '⟨' | FOLD) {
        return Sight::Nothing;
    }
    // The standard library escapes what is not printable by the Unicode tables it carries, and
    // also a mark, unless it has a character before it to combine with.
    if c.escape_debug().len() == 1 {
        return Sight::Plain;
    }
    let combined = String::from_iter(['a', c]);
    if combined.escape_debug().nth(1) == Some(c) { Sight::Mark } else { Sight::Nothing }
}

#[cfg(test)]
mod tests;
