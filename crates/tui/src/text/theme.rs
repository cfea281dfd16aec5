//! The abilities of a terminal, told by the environment: colours, background, characters.
//!
//! Law: nothing is asked of the terminal, so nothing waits for its answer.

/// How many colours there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// No colour; letters may still be bold or underlined.
    None,
    /// The colours that the person's terminal has given names.
    Sixteen,
    /// 256 colours.
    Many,
    /// 24 bits for each colour.
    True,
}

/// The brightness behind the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// Light text on dark.
    Dark,
    /// Dark text on light.
    Light,
}

/// How spans become letters and colours on one terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// The colours that the terminal has.
    pub depth: Depth,
    /// The brightness behind the text.
    pub background: Background,
    /// Nothing is dimmed, and meaning is in bold and reversed letters too.
    pub high_contrast: bool,
    /// Without it every character is ASCII.
    pub utf8: bool,
}

impl Default for Theme {
    fn default() -> Self {
        Self {
            depth: Depth::Sixteen,
            background: Background::Dark,
            high_contrast: false,
            utf8: true,
        }
    }
}

/// The environment, as far as the screen depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a>(pub &'a [(String, String)]);

impl Surroundings<'_> {
    /// A variable of the environment.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The theme that suits the terminal.
    pub fn theme(&self) -> Theme {
        let chosen = self.get("JM_THEME").unwrap_or_default();
        let background = match chosen {
            "light" => Background::Light,
            "dark" => Background::Dark,
            _ => self.background(),
        };
        let high_contrast = chosen == "contrast";
        Theme { depth: self.depth(), background, high_contrast, utf8: self.is_utf8() }
    }

    /// Lines only, without cursor movement (FR-TUI-02 for screen readers, pipes and dumb terminals).
    pub fn wants_plain(&self) -> bool {
        self.get("TERM").is_none_or(|term| term == "dumb")
            || self.get("ACCESSIBLE").is_some_and(|value| value != "0")
    }

    fn depth(&self) -> Depth {
        let term = self.get("TERM").unwrap_or("dumb");
        // https://no-color.org: set and not empty.
        if self.get("NO_COLOR").is_some() || term == "dumb" {
            return Depth::None;
        }
        let true_color = self.get("COLORTERM").is_some_and(|it| it == "truecolor" || it == "24bit");
        // GNU screen passes no more than 256 colours on, whatever the terminal around it can do.
        if true_color && !self.is_screen() {
            return Depth::True;
        }
        if term.contains("256color") || term.contains("kitty") || term.contains("direct") {
            return Depth::Many;
        }
        if term.starts_with("vt") || term.ends_with("-mono") { Depth::None } else { Depth::Sixteen }
    }

    /// `COLORFGBG` is `foreground;background` in the sixteen colours.
    fn background(&self) -> Background {
        let colours = self.get("COLORFGBG").and_then(|value| value.rsplit(';').next());
        match colours.and_then(|last| last.parse::<u8>().ok()) {
            Some(7 | 15) => Background::Light,
            _ => Background::Dark,
        }
    }

    fn is_utf8(&self) -> bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| self.get(name));
        locale.is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
    }

    /// Tells if GNU screen, and no tmux, is between us and the terminal.
    pub fn is_screen(&self) -> bool {
        self.get("STY").is_some() && self.get("TMUX").is_none()
    }

    /// True if lines that were drawn are wrapped anew when the terminal becomes narrower. xterm, GNU
    /// screen and the console cut them instead.
    pub fn reflows(&self) -> bool {
        let term = self.get("TERM").unwrap_or_default();
        let cuts = term == "linux" || term.starts_with("vt") || self.get("XTERM_VERSION").is_some();
        self.get("TMUX").is_some() || !(cuts || self.is_screen())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn colours_follow_from_the_environment() {
        let cases: &[(&[(&str, &str)], Depth)] = &[
            (&[], Depth::None),
            (&[("TERM", "dumb")], Depth::None),
            (&[("TERM", "xterm")], Depth::Sixteen),
            (&[("TERM", "xterm-256color")], Depth::Many),
            (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], Depth::True),
            (&[("TERM", "xterm-256color"), ("NO_COLOR", "1")], Depth::None),
            (&[("TERM", "xterm-256color"), ("NO_COLOR", "")], Depth::Many),
            (&[("TERM", "screen"), ("COLORTERM", "24bit"), ("STY", "1.x")], Depth::Sixteen),
            (&[("TERM", "vt100")], Depth::None),
        ];
        for (pairs, depth) in cases {
            assert_eq!(Surroundings(&known(pairs)).theme().depth, *depth, "{pairs:?}");
        }
    }

    #[test]
    fn the_rest_follows_too() {
        let theme = |pairs: &[(&str, &str)]| Surroundings(&known(pairs)).theme();
        assert_eq!(theme(&[("COLORFGBG", "0;15")]).background, Background::Light);
        assert_eq!(theme(&[("COLORFGBG", "15;0")]).background, Background::Dark);
        assert_eq!(theme(&[("JM_THEME", "light")]).background, Background::Light);
        assert!(theme(&[("JM_THEME", "contrast")]).high_contrast);
        assert!(theme(&[("LANG", "en_US.UTF-8")]).utf8);
        assert!(!theme(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]).utf8);
        let plain = |pairs: &[(&str, &str)]| Surroundings(&known(pairs)).wants_plain();
        assert!(plain(&[]) && plain(&[("TERM", "dumb")]));
        assert!(plain(&[("TERM", "xterm"), ("ACCESSIBLE", "1")]));
        assert!(!plain(&[("TERM", "xterm"), ("ACCESSIBLE", "0")]));
        let reflows = |pairs: &[(&str, &str)]| Surroundings(&known(pairs)).reflows();
        assert!(reflows(&[("TERM", "tmux-256color"), ("TMUX", "x")]));
        assert!(!reflows(&[("TERM", "screen"), ("STY", "x")]));
        assert!(!reflows(&[("TERM", "xterm"), ("XTERM_VERSION", "XTerm(379)")]));
    }
}
