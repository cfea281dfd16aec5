//! The named classes of POSIX, by Unicode's properties as a UTF-8 locale has them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Alpha,
    Digit,
    Alnum,
    Upper,
    Lower,
    Space,
    Blank,
    Punct,
    Print,
    Graph,
    Cntrl,
    Xdigit,
}

/// Spaces that may end a line of text; those that must not are punctuation.
const SPACES: &str = r"\u{1680}\u{2000}-\u{2006}\u{2008}-\u{200A}\u{2028}\u{2029}\u{205F}\u{3000}";
const BLANKS: &str = r"\u{1680}\u{2000}-\u{2006}\u{2008}-\u{200A}\u{205F}\u{3000}";

impl Class {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "alpha" => Self::Alpha,
            "digit" => Self::Digit,
            "alnum" => Self::Alnum,
            "upper" => Self::Upper,
            "lower" => Self::Lower,
            "space" => Self::Space,
            "blank" => Self::Blank,
            "punct" => Self::Punct,
            "print" => Self::Print,
            "graph" => Self::Graph,
            "cntrl" => Self::Cntrl,
            "xdigit" => Self::Xdigit,
            _ => return None,
        })
    }

    pub(super) fn contains(self, c: char) -> bool {
        match self {
            Self::Alpha => is_alpha(c),
            Self::Digit => c.is_ascii_digit(),
            Self::Alnum => is_alpha(c) || c.is_ascii_digit(),
            Self::Upper => c.is_uppercase(),
            Self::Lower => c.is_lowercase(),
            Self::Space => is_space(c),
            Self::Blank => is_space(c) && (c == ' ' || c == '\t' || !is_line_break(c)),
            Self::Punct => is_graph(c) && !(is_alpha(c) || c.is_ascii_digit()),
            Self::Print => {
                c == ' ' || is_graph(c) || (is_space(c) && !is_line_break(c) && c != '\t')
            }
            Self::Graph => is_graph(c),
            Self::Cntrl => c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'),
            Self::Xdigit => c.is_ascii_hexdigit(),
        }
    }

    /// The members of the class, as they stand inside the brackets of a regular expression.
    pub(super) fn members(self) -> String {
        match self {
            Self::Alpha => r"\p{Alphabetic}[\p{Nd}--0-9]".to_owned(),
            Self::Digit => "0-9".to_owned(),
            Self::Alnum => r"\p{Alphabetic}\p{Nd}".to_owned(),
            Self::Upper => r"\p{Uppercase}".to_owned(),
            Self::Lower => r"\p{Lowercase}".to_owned(),
            Self::Space => format!(r"\t\n\x0B\x0C\r\x20{SPACES}"),
            Self::Blank => format!(r"\t\x20{BLANKS}"),
            Self::Punct => r"[[\p{P}\p{S}\p{M}\u{A0}\u{2007}\u{202F}]--\p{Alphabetic}]".to_owned(),
            Self::Print => r"[^\p{Cc}\p{Cn}\u{2028}\u{2029}]".to_owned(),
            Self::Graph => format!(r"[^\p{{Cc}}\p{{Cn}}\x20{SPACES}]"),
            Self::Cntrl => r"\p{Cc}\u{2028}\u{2029}".to_owned(),
            Self::Xdigit => "0-9A-Fa-f".to_owned(),
        }
    }
}

/// Digits of other scripts count as letters.
fn is_alpha(c: char) -> bool {
    c.is_alphabetic() || (c.is_numeric() && !c.is_ascii() && c.to_digit(10).is_none())
}

fn is_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{85}' | '\u{A0}' | '\u{2007}' | '\u{202F}')
}

fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{2028}' | '\u{2029}')
}

fn is_graph(c: char) -> bool {
    !(c.is_control() || is_space(c) || matches!(c, '\u{2028}' | '\u{2029}'))
}
