//! Error codes: the stable names under which programs meet a failure, in answers and in the journal.
//!
//! Law: whoever branches on a failure matches on [`ErrorCode`] exhaustively; no other code compares texts.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes the enum, its names and the list of all from one table.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal,)*) => {
        /// The kind of a failure, as a program reads it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "its name says it")]
        pub enum ErrorCode {
            $($(#[$doc])* $code,)*
        }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$code,)*];

            /// The code's name: stable, part of the `--json` contract.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                }
            }
        }
    };
}

codes! {
    BadArgs = "bad_args",
    BadPattern = "bad_pattern",
    LimitsExceeded = "limits_exceeded",
    Timeout = "timeout",
    ExecutionFailed = "execution_failed",
    Cancelled = "cancelled",
    Panicked = "panicked",
    UnknownTool = "unknown_tool",
    ToolNotReady = "tool_not_ready",
    DuplicateTool = "duplicate_tool",
    DuplicateToolCallId = "duplicate_tool_call_id",
    PatchFailed = "patch_failed",
    StaleFile = "stale_file",
    NotFound = "not_found",
    EditFailed = "edit_failed",
    Unbalanced = "unbalanced",
    IoError = "io_error",
    /// Not run here: the tools mode is `parse_only`.
    ParseOnly = "parse_only",
    JournalError = "journal_error",
    NeedsApproval = "needs_approval",
    /// A command ran on a layer, and what it changed is set aside.
    NotKept = "not_kept",
    Denylisted = "denylisted",
    Disabled = "disabled",
    NotAllowlisted = "not_allowlisted",
    DeniedByPerson = "denied_by_person",
    PathOutsideSandbox = "path_outside_sandbox",
    DeniedPatternMatched = "denied_pattern_matched",
    ProtectedPath = "protected_path",
    /// Recovery: the end of the program cut it short, and nothing of it is in force.
    Interrupted = "interrupted",
    /// Recovery: the person did not want its result.
    Discarded = "discarded",
    /// Recovery: it was started, and its end is not known.
    UnknownOutcome = "unknown_outcome",
    /// A code that this version does not know, met in a journal that another version wrote.
    Unlisted = "unlisted",
}

impl ErrorCode {
    /// The code of this name; [`ErrorCode::Unlisted`] where there is none.
    pub fn named(name: &str) -> Self {
        let known = Self::ALL.iter().find(|code| code.name() == name);
        known.copied().unwrap_or(Self::Unlisted)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl PartialEq<str> for ErrorCode {
    fn eq(&self, other: &str) -> bool {
        self.name() == other
    }
}

impl PartialEq<&str> for ErrorCode {
    fn eq(&self, other: &&str) -> bool {
        self.name() == *other
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::named(&String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back_as_itself() {
        for code in ErrorCode::ALL {
            let written = serde_json::to_value(code).unwrap();
            assert_eq!(serde_json::from_value::<ErrorCode>(written).unwrap(), *code);
        }
        assert_eq!(ErrorCode::named("of another version"), ErrorCode::Unlisted);
    }
}
