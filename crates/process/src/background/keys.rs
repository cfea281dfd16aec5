//! Keys by their names, as the bytes that a terminal sends for them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A key of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum TerminalKey {
    /// A key with a name, such as `enter` or `up`.
    Named(NamedKey),
    /// With Ctrl: a letter or one of `@ [ \ ] ^ _`.
    Control(char),
    /// With Alt: one character.
    Alt(char),
    /// F1 to F12, by the number.
    Function(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedKey {
    Enter,
    Tab,
    ShiftTab,
    Escape,
    Space,
    Backspace,
    Delete,
    Insert,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

const NAMED: &[(&str, NamedKey)] = &[
    ("enter", NamedKey::Enter),
    ("tab", NamedKey::Tab),
    ("shift-tab", NamedKey::ShiftTab),
    ("escape", NamedKey::Escape),
    ("space", NamedKey::Space),
    ("backspace", NamedKey::Backspace),
    ("delete", NamedKey::Delete),
    ("insert", NamedKey::Insert),
    ("up", NamedKey::Up),
    ("down", NamedKey::Down),
    ("left", NamedKey::Left),
    ("right", NamedKey::Right),
    ("home", NamedKey::Home),
    ("end", NamedKey::End),
    ("page-up", NamedKey::PageUp),
    ("page-down", NamedKey::PageDown),
];

/// The names of keys, in words for a caller that named something else.
pub const KEY_NAMES: &str = "enter, tab, shift-tab, escape, space, backspace, delete, insert, up, \
                             down, left, right, home, end, page-up, page-down, f1 to f12, ctrl-a to \
                             ctrl-z, alt-x";

/// The cursor key mode (DECCKM), which a program tells the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrows {
    Plain,
    Application,
}

/// The error for a name that no key has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown key `{0}`")]
pub struct NoSuchKey(pub String);

impl FromStr for TerminalKey {
    type Err = NoSuchKey;

    fn from_str(name: &str) -> Result<Self, NoSuchKey> {
        let none = || NoSuchKey(name.to_owned());
        let lower = name.to_ascii_lowercase();
        if let Some((_, named)) = NAMED.iter().find(|(known, _)| *known == lower) {
            return Ok(Self::Named(*named));
        }
        if let Some(rest) = lower.strip_prefix("ctrl-") {
            let key = only_character(rest).filter(|c| matches!(c, 'a'..='z' | '@' | '['..='_'));
            return key.map(Self::Control).ok_or_else(none);
        }
        // Here upper and lower case differ.
        if lower.starts_with("alt-") {
            let key = only_character(&name[4..]).filter(|c| !c.is_control());
            return key.map(Self::Alt).ok_or_else(none);
        }
        let number = lower.strip_prefix('f').and_then(|number| number.parse().ok());
        number.filter(|number| (1..=12).contains(number)).map(Self::Function).ok_or_else(none)
    }
}

fn only_character(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|_| characters.next().is_none())
}

impl fmt::Display for TerminalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(named) => {
                let name = NAMED.iter().find(|(_, known)| known == named).map(|(name, _)| *name);
                f.write_str(name.unwrap_or_default())
            }
            Self::Control(key) => write!(f, "ctrl-{key}"),
            Self::Alt(key) => write!(f, "alt-{key}"),
            Self::Function(number) => write!(f, "f{number}"),
        }
    }
}

impl From<TerminalKey> for String {
    fn from(key: TerminalKey) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for TerminalKey {
    type Error = NoSuchKey;

    fn try_from(name: String) -> Result<Self, NoSuchKey> {
        name.parse()
    }
}

impl TerminalKey {
    /// The key that says that there is no more input.
    pub const END_OF_INPUT: Self = Self::Control('d');

    /// The bytes that an xterm sends.
    pub(crate) fn bytes(self, arrows: Arrows) -> Vec<u8> {
        let text = match self {
            Self::Named(named) => named.sent(arrows).to_owned(),
            Self::Control(key) => char::from((key.to_ascii_uppercase() as u8) & 0x1f).to_string(),
            Self::Alt(key) => format!("\x1b{key}"),
            Self::Function(number) => function(number),
        };
        text.into_bytes()
    }
}

impl NamedKey {
    fn sent(self, arrows: Arrows) -> &'static str {
        match (self, arrows) {
            (Self::Enter, _) => "\r",
            (Self::Tab, _) => "\t",
            (Self::ShiftTab, _) => "\x1b[Z",
            (Self::Escape, _) => "\x1b",
            (Self::Space, _) => " ",
            (Self::Backspace, _) => "\x7f",
            (Self::Delete, _) => "\x1b[3~",
            (Self::Insert, _) => "\x1b[2~",
            (Self::Up, Arrows::Plain) => "\x1b[A",
            (Self::Up, Arrows::Application) => "\x1bOA",
            (Self::Down, Arrows::Plain) => "\x1b[B",
            (Self::Down, Arrows::Application) => "\x1bOB",
            (Self::Right, Arrows::Plain) => "\x1b[C",
            (Self::Right, Arrows::Application) => "\x1bOC",
            (Self::Left, Arrows::Plain) => "\x1b[D",
            (Self::Left, Arrows::Application) => "\x1bOD",
            (Self::Home, Arrows::Plain) => "\x1b[H",
            (Self::Home, Arrows::Application) => "\x1bOH",
            (Self::End, Arrows::Plain) => "\x1b[F",
            (Self::End, Arrows::Application) => "\x1bOF",
            (Self::PageUp, _) => "\x1b[5~",
            (Self::PageDown, _) => "\x1b[6~",
        }
    }
}

fn function(number: u8) -> String {
    match number {
        1..=4 => format!("\x1bO{}", char::from(b'P' + number - 1)),
        // The numbers have gaps where old keyboards had them.
        5 => "\x1b[15~".to_owned(),
        6..=10 => format!("\x1b[{}~", number + 11),
        _ => format!("\x1b[{}~", number + 12),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_what_is_sent() {
        let cases = [
            ("enter", "\r"),
            ("CTRL-C", "\x03"),
            ("ctrl-[", "\x1b"),
            ("ctrl-@", "\0"),
            ("alt-X", "\x1bX"),
            ("up", "\x1b[A"),
            ("page-down", "\x1b[6~"),
            ("f1", "\x1bOP"),
            ("f5", "\x1b[15~"),
            ("f6", "\x1b[17~"),
            ("f11", "\x1b[23~"),
            ("f12", "\x1b[24~"),
        ];
        for (name, sent) in cases {
            let key: TerminalKey = name.parse().unwrap();
            assert_eq!(String::from_utf8(key.bytes(Arrows::Plain)).unwrap(), sent, "{name}");
            assert_eq!(key.to_string().parse(), Ok(key), "{name}");
        }
        let up: TerminalKey = "up".parse().unwrap();
        assert_eq!(up.bytes(Arrows::Application), b"\x1bOA");
        for name in ["", "f0", "f13", "ctrl-", "ctrl-1", "ctrl-ab", "alt-", "return", "alt-é?"] {
            assert_eq!(name.parse::<TerminalKey>(), Err(NoSuchKey(name.into())));
        }
    }
}
