//! Text from anywhere, made fit for a terminal (FR-OUT-02).
//!
//! Law: what comes out cannot move the cursor, change the terminal or hide itself; printable text
//! survives; the result does not depend on how the text was cut into chunks; sanitising twice
//! changes nothing more.

/// Sanitises a stream whose control sequences may be split between chunks.
#[derive(Debug, Default)]
pub struct Sanitizer {
    state: State,
}

/// The state after the previous character.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After a carriage return: one line break, whether or not a line feed follows.
    Return,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate, as in the charset shift `ESC ( B`.
    Intermediate,
    /// Inside a control sequence, as in `ESC [ 31 m`.
    Control,
    /// Inside the string of an OSC, DCS, SOS, PM or APC.
    Payload,
}

const BELL: char = '\x07';
const VERTICAL_TAB: char = '\x0b';
const FORM_FEED: char = '\x0c';
const CANCEL: char = '\x18';
const SUBSTITUTE: char = '\x1a';
const ESCAPE: char = '\x1b';
const STRING_TERMINATOR: char = '\u{9c}';

/// Sanitises a whole text.
pub fn sanitize(text: &str) -> String {
    let mut sanitizer = Sanitizer::default();
    let mut shown = sanitizer.push(text);
    shown.push_str(&sanitizer.finish());
    shown
}

/// The invariant that everything sent to a terminal obeys.
pub fn is_terminal_safe(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '\n' | '\t') || !(c.is_control() || is_hidden(c)))
}

/// Characters that show nothing themselves or reorder what others show.
///
/// The joiners U+200C and U+200D and the variation selectors U+FE00 to U+FE0F are not among them:
/// Persian and emoji need them.
pub(super) fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

impl Sanitizer {
    /// A sanitiser at the beginning of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text that the next chunk adds to the screen.
    pub fn push(&mut self, chunk: &str) -> String {
        let mut shown = String::with_capacity(chunk.len());
        let mut rest = chunk;
        loop {
            if self.state == State::Text {
                let (plain, special) = rest.split_at(plain_length(rest));
                shown.push_str(plain);
                rest = special;
            }
            let mut characters = rest.chars();
            let Some(c) = characters.next() else { return shown };
            rest = characters.as_str();
            self.state = step(self.state, c, &mut shown);
        }
    }

    /// The text that the end adds: a held back line break. An unfinished sequence is forgotten.
    pub fn finish(&mut self) -> String {
        match std::mem::take(&mut self.state) {
            State::Return => "\n".to_owned(),
            State::Text | State::Escape | State::Intermediate | State::Control | State::Payload => {
                String::new()
            }
        }
    }
}

/// Whatever does not continue a sequence ends it and counts as text, so that a broken sequence
/// shows too much rather than too little.
fn step(state: State, c: char, shown: &mut String) -> State {
    match (state, c) {
        (State::Text, _) => text(c, shown),
        (State::Return, _) => {
            shown.push('\n');
            if c == '\n' { State::Text } else { text(c, shown) }
        }
        (State::Escape, '[') => State::Control,
        (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::Payload,
        (State::Escape | State::Intermediate, ' '..='/') => State::Intermediate,
        (State::Escape | State::Intermediate, '0'..='~') => State::Text,
        (State::Control, ' '..='?') => State::Control,
        (State::Control, '@'..='~') => State::Text,
        (State::Escape | State::Intermediate | State::Control, _) => text(c, shown),
        (State::Payload, BELL | STRING_TERMINATOR | CANCEL | SUBSTITUTE) => State::Text,
        // A line break ends it, so that an unterminated string swallows one line at most.
        (State::Payload, ESCAPE | '\n' | '\r' | VERTICAL_TAB | FORM_FEED) => text(c, shown),
        (State::Payload, _) => State::Payload,
    }
}

fn text(c: char, shown: &mut String) -> State {
    match c {
        '\r' => return State::Return,
        ESCAPE => return State::Escape,
        '\u{9b}' => return State::Control,
        '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => return State::Payload,
        '\n' | '\t' => shown.push(c),
        VERTICAL_TAB | FORM_FEED => shown.push('\n'),
        _ if c.is_control() => {}
        _ if is_hidden(c) => show_code_point(c, shown),
        _ => shown.push(c),
    }
    State::Text
}

pub(super) fn show_code_point(c: char, shown: &mut String) {
    shown.push_str(&format!("<U+{:04X}>", u32::from(c)));
}

/// How many bytes at the start need no second look. Always ends on a character boundary, because
/// only first bytes of characters are special.
fn plain_length(text: &str) -> usize {
    text.bytes().position(|byte| SPECIAL[usize::from(byte)]).unwrap_or(text.len())
}

/// First bytes of every character that is not simply copied (and of some that are).
static SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        special[byte] = match byte as u8 {
            b'\n' | b'\t' => false,
            0..=0x1f | 0x7f => true,
            0xc2 | 0xcd | 0xd8 | 0xe1..=0xe3 | 0xef | 0xf0 | 0xf3 => true,
            _ => false,
        };
        byte += 1;
    }
    special
};

#[cfg(test)]
mod tests;
