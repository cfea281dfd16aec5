//! A key that cannot be shown by accident.
//!
//! Law: the text leaves this type only where a request's header is made.

/// A key or token of a vendor's.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text with this key made unreadable, wherever it stands.
    pub(crate) fn remove_from(&self, text: &str) -> String {
        match self.0.is_empty() {
            true => text.to_owned(),
            false => text.replace(&self.0, "[key]"),
        }
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
    }
}
