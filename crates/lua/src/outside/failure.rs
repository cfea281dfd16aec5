//! Failures of calls and of sources of tools.

use std::time::Duration;

/// A call without a value, in words for the model and for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's message says it")]
pub enum CallFailure {
    /// The script's own error.
    #[error("{0}")]
    Script(String),
    #[error("timed out after {:.1} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error(
        "did not stop after {:.1} s; the Lua process was ended and restarts with the next call",
        .0.as_secs_f64()
    )]
    Hung(Duration),
    #[error("cancelled")]
    Cancelled,
    #[error("the Lua process ended during the call ({0}); it restarts with the next call")]
    Died(String),
    #[error("{0}")]
    NotStarted(String),
}

/// A source of tools that ended with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFailure {
    /// The name that the script registered it under.
    pub source: String,
    /// The script's own words.
    pub error: String,
}
