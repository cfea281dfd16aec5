//! A key that cannot be shown by accident.
//!
//! Law: the text leaves this type only where a request's header is made.

/// The mark at the end of an excerpt.
const CUT: char = '…';
/// A shorter beginning of a key says nothing about it: `sk-` is that of many.
const SHORTEST_PART: usize = 6;

/// A key or token of a vendor's.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes over a key; it is never printed and is cut out of errors.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text with this key made unreadable, wherever it stands, also where an excerpt ends within it.
    pub(crate) fn remove_from(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        let pieces = text.split(CUT).map(|piece| {
            let whole = piece.replace(&self.0, "[key]");
            let begun = self.0.char_indices().map(|(at, _)| &self.0[..at]).rev();
            let mut begun = begun.filter(|begun| begun.len() >= SHORTEST_PART);
            match begun.find_map(|begun| whole.strip_suffix(begun)) {
                Some(before) => format!("{before}[key]"),
                None => whole,
            }
        });
        pieces.collect::<Vec<_>>().join(&CUT.to_string())
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret([key])")
    }
}

impl std::fmt::Display for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_shown() {
        let secret = Secret::new("sk-abc");
        assert_eq!(format!("{secret} {secret:?}"), "[key] Secret([key])");
        assert_eq!(secret.remove_from("bad key sk-abc!"), "bad key [key]!");
        let secret = Secret::new("sk-abcdefgh");
        assert_eq!(secret.remove_from("you sent sk-abcdefg"), "you sent [key]");
        assert_eq!(secret.remove_from("you sent sk-abcd…"), "you sent [key]…");
        assert_eq!(secret.remove_from("sk-abcdefgh… and sk-ab…"), "[key]… and sk-ab…");
    }
}
