//! Keys as the screen knows them, whatever reads them.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character, with Shift applied.
    Char(char),
    /// Sends or confirms.
    Enter,
    /// Shift-Enter, Alt-Enter: a line break in the prompt.
    NewLine,
    /// The tabulator.
    Tab,
    /// The tabulator with Shift.
    BackTab,
    /// Removes backwards.
    Backspace,
    /// Removes forwards.
    Delete,
    /// The arrow.
    Left,
    /// The arrow.
    Right,
    /// The arrow.
    Up,
    /// The arrow.
    Down,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// One page back.
    PageUp,
    /// One page on.
    PageDown,
    /// Alone, not the beginning of a sequence.
    Escape,
    /// An arrow with Ctrl or Alt.
    WordLeft,
    /// An arrow with Ctrl or Alt.
    WordRight,
    /// A letter with Ctrl, in lower case.
    Ctrl(char),
    /// A character with Alt.
    Alt(char),
}

/// One input from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// One key.
    Key(Key),
    /// Text between the marks of a bracketed paste.
    Paste(String),
    /// The terminal has the focus again.
    Focus,
}

impl Input {
    /// Keys that are released and mice are not heard.
    pub fn of(event: Event) -> Option<Self> {
        match event {
            Event::Key(key) => of_key(key).map(Input::Key),
            Event::Paste(text) => {
                Some(Input::Paste(text.replace("\r\n", "\n").replace('\r', "\n")))
            }
            Event::FocusGained => Some(Input::Focus),
            Event::FocusLost | Event::Mouse(_) | Event::Resize(..) => None,
        }
    }
}

fn of_key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    let (ctrl, alt, shift) = (
        event.modifiers.contains(KeyModifiers::CONTROL),
        event.modifiers.contains(KeyModifiers::ALT),
        event.modifiers.contains(KeyModifiers::SHIFT),
    );
    Some(match event.code {
        KeyCode::Enter if shift || alt || ctrl => Key::NewLine,
        KeyCode::Enter => Key::Enter,
        KeyCode::Char(c) if ctrl => Key::Ctrl(c.to_ascii_lowercase()),
        KeyCode::Char(c) if alt => Key::Alt(c),
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Tab if shift => Key::BackTab,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Backspace if ctrl || alt => Key::Ctrl('w'),
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Left if ctrl || alt => Key::WordLeft,
        KeyCode::Right if ctrl || alt => Key::WordRight,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}
