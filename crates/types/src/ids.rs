//! The names of sessions, calls and batches, each a type of its own.
//!
//! Law: a key is its session's name, a dash and a number. That is written and read here and nowhere else.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

/// Writes a newtype over text that serialises as the text itself.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str(&self.0)
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }
    };
}

text_id! {
    /// The name of a session: of one conversation, and of its records in the journal.
    SessionId
}

text_id! {
    /// The journal's key of one call, never given twice; a provider repeats its ids.
    CallKey
}

impl CallKey {
    /// The key of the session's `number`th call.
    pub fn of(session: &SessionId, number: u64) -> Self {
        Self(format!("{session}-{number}"))
    }

    /// The session that the call belongs to; `None` for a text that is no key.
    pub fn session(&self) -> Option<SessionId> {
        self.0.rsplit_once('-').map(|(session, _)| SessionId::from(session))
    }
}

/// The number of a batch within its session, from 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct BatchNumber(u64);

impl BatchNumber {
    /// A batch by its number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number, from 1; 0 before the first batch.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of the batch that follows.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl From<u64> for BatchNumber {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for BatchNumber {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_its_session() {
        let session = SessionId::from("2026-01-02-a");
        let key = CallKey::of(&session, 7);
        assert_eq!(key, "2026-01-02-a-7");
        assert_eq!(key.session(), Some(session));
        assert_eq!(CallKey::from("nokey").session(), None);
    }

    #[test]
    fn ids_serialise_as_what_they_hold() {
        assert_eq!(serde_json::to_value(CallKey::from("s-1")).unwrap(), "s-1");
        assert_eq!(serde_json::to_value(BatchNumber::new(3)).unwrap(), 3);
    }
}
