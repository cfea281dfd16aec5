//! Painting: a line becomes bytes for one terminal (SGR sequences).
//!
//! Law: every sequence that leaves here is ours; a line ends with the style it began with.

use std::fmt::Write;

use super::line::Line;
use super::style::{Attributes, Role, Style};
use super::theme::{Background, Depth, Theme};

/// Writes a line with its colours; nothing is written for a style that a terminal cannot show.
pub fn paint(line: &Line, theme: &Theme, out: &mut String) {
    for span in &line.spans {
        let begin = out.len();
        begin_style(span.style(), theme, out);
        let is_styled = out.len() > begin;
        match theme.utf8 {
            true => out.push_str(span.text()),
            false => out.extend(span.text().chars().map(ascii)),
        }
        if is_styled {
            out.push_str("\x1b[0m");
        }
    }
}

fn begin_style(style: Style, theme: &Theme, out: &mut String) {
    let (ink, attributes) = look(style, theme);
    let mut codes = String::new();
    let names = [
        (Attributes::BOLD, "1"),
        (Attributes::DIM, "2"),
        (Attributes::ITALIC, "3"),
        (Attributes::UNDERLINED, "4"),
        (Attributes::REVERSED, "7"),
        (Attributes::STRUCK, "9"),
    ];
    let named = names.iter().filter(|(attribute, _)| attributes.has(*attribute));
    for code in named.map(|(_, code)| *code).chain((!ink.is_empty()).then_some(ink.as_str())) {
        if !codes.is_empty() {
            codes.push(';');
        }
        codes.push_str(code);
    }
    if !codes.is_empty() {
        // Writing to a string cannot fail.
        write!(out, "\x1b[{codes}m").unwrap_or_default();
    }
}

/// The colour codes and the attributes of a style.
fn look(style: Style, theme: &Theme) -> (String, Attributes) {
    let (ink, own) = of_role(style.role, theme);
    let mut attributes = style.attributes.with(own);
    if theme.high_contrast {
        attributes = attributes.without(Attributes::DIM);
    }
    let ink = match style.ink {
        _ if theme.depth == Depth::None => String::new(),
        Some(ansi) if ansi.0 < 8 => format!("{}", 30 + ansi.0),
        Some(ansi) => format!("{}", 82 + ansi.0),
        None => ink.to_owned(),
    };
    (ink, attributes)
}

/// Of the sixteen colours, because a terminal's own palette fits its background; only the marks of
/// diffs have colours of their own where there are enough.
fn of_role(role: Role, theme: &Theme) -> (&'static str, Attributes) {
    let is_colourless = theme.depth == Depth::None;
    let marked =
        if is_colourless || theme.high_contrast { Attributes::REVERSED } else { Attributes::NONE };
    match role {
        Role::Text => ("", Attributes::NONE),
        Role::Heading => ("35", Attributes::BOLD),
        Role::Code => ("36", Attributes::NONE),
        Role::Link => ("34", Attributes::UNDERLINED),
        Role::Muted => ("", Attributes::DIM),
        Role::Person => ("", Attributes::BOLD),
        Role::Accent => ("36", Attributes::BOLD),
        Role::Success => ("32", Attributes::NONE),
        Role::Failure => ("31", Attributes::NONE),
        Role::Warning => ("33", Attributes::NONE),
        Role::Danger => ("31", Attributes::BOLD.with(marked)),
        Role::Added => ("32", Attributes::NONE),
        Role::Removed => ("31", Attributes::NONE),
        Role::AddedWord => (word_colours(theme).0, word_mark(theme)),
        Role::RemovedWord => (word_colours(theme).1, word_mark(theme)),
    }
}

fn word_mark(theme: &Theme) -> Attributes {
    match theme.depth {
        Depth::None => Attributes::BOLD.with(Attributes::UNDERLINED),
        Depth::Sixteen => Attributes::REVERSED,
        Depth::Many | Depth::True => Attributes::BOLD,
    }
}

fn word_colours(theme: &Theme) -> (&'static str, &'static str) {
    match (theme.depth, theme.background) {
        (Depth::None | Depth::Sixteen, _) => ("32", "31"),
        (Depth::Many, Background::Dark) => ("38;5;231;48;5;22", "38;5;231;48;5;88"),
        (Depth::Many, Background::Light) => ("38;5;16;48;5;157", "38;5;16;48;5;217"),
        (Depth::True, Background::Dark) => {
            ("38;2;255;255;255;48;2;20;83;45", "38;2;255;255;255;48;2;127;29;29")
        }
        (Depth::True, Background::Light) => {
            ("38;2;0;0;0;48;2;187;247;208", "38;2;0;0;0;48;2;254;202;202")
        }
    }
}

/// One cell for one cell, so that widths stay as they were measured, but for wide characters.
fn ascii(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        '✓' => 'v',
        '✗' => 'x',
        '⊘' => '-',
        '…' => '~',
        '·' | '•' => '*',
        '–' | '—' | '─' => '-',
        '│' | '▏' => '|',
        '→' | '›' => '>',
        '←' => '<',
        '↑' => '^',
        '↓' => 'v',
        '┼' | '├' | '┤' | '┬' | '┴' | '┌' | '┐' | '└' | '┘' => '+',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        '⠋' | '⠙' | '⠹' | '⠸' | '⠼' | '⠴' | '⠦' | '⠧' | '⠇' | '⠏' => '*',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Ansi;

    fn painted(line: &Line, theme: Theme) -> String {
        let mut out = String::new();
        paint(line, &theme, &mut out);
        out
    }

    #[test]
    fn a_style_is_what_the_terminal_can_show() {
        let theme = Theme::default();
        let line = Line::text("a").add("b", Role::Failure).add("c", Style::of(Role::Text).bold());
        let cases = [
            (theme, "a\x1b[31mb\x1b[0m\x1b[1mc\x1b[0m"),
            (Theme { depth: Depth::None, ..theme }, "ab\x1b[1mc\x1b[0m"),
        ];
        for (theme, expected) in cases {
            assert_eq!(painted(&line, theme), expected);
        }
        let word = Line::of("x", Role::AddedWord);
        let many = Theme { depth: Depth::Many, ..theme };
        assert_eq!(painted(&word, theme), "\x1b[7;32mx\x1b[0m");
        assert_eq!(painted(&word, many), "\x1b[1;38;5;231;48;5;22mx\x1b[0m");
        let light = Theme { background: Background::Light, depth: Depth::True, ..theme };
        assert!(painted(&word, light).contains("48;2;187;247;208"));
        let muted = Line::of("m", Role::Muted);
        assert_eq!(painted(&muted, theme), "\x1b[2mm\x1b[0m");
        assert_eq!(painted(&muted, Theme { high_contrast: true, ..theme }), "m");
        let ink = Style { ink: Some(Ansi(9)), ..Style::default() };
        assert_eq!(painted(&Line::of("i", ink), theme), "\x1b[91mi\x1b[0m");
    }

    #[test]
    fn without_utf8_all_is_ascii() {
        let theme = Theme { utf8: false, ..Theme::default() };
        let line = Line::text("✓ read – 1…2 │ é漢");
        assert_eq!(painted(&line, theme), "v read - 1~2 | ??");
    }
}
