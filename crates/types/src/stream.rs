//! Events of a model's stream, in one form for all vendors.
//!
//! Law: a stream ends with `Stop` or with a `StreamError`. One that just ends was cut.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::message::Native;

/// One step of a model's turn. `index` is the part's place in the message; parts may interleave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum StreamEvent {
    /// Words of the model.
    Text {
        /// The part's place in the message.
        index: usize,
        /// The words since the last event.
        delta: String,
    },
    /// Thoughts of the model.
    Thinking {
        /// The part's place in the message.
        index: usize,
        /// The words since the last event.
        delta: String,
    },
    /// A call begins.
    CallStarted {
        /// The part's place in the message.
        index: usize,
        /// Empty where the vendor gives none; whoever takes the call in names it.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// More of a call's arguments.
    CallArguments {
        /// The part's place in the message.
        index: usize,
        /// JSON text, which may end anywhere.
        fragment: String,
    },
    /// The call is whole. `arguments` replaces the fragments where the vendor's own rules made
    /// them differ from what the tool's schema says.
    CallSealed {
        /// The part's place in the message.
        index: usize,
        /// The whole arguments, where they replace the fragments.
        arguments: Option<String>,
    },
    /// The part is whole, and this is the vendor's own item for it. Where no other event has
    /// spoken of the index, it is an item of a kind that we do not know.
    PartSealed {
        /// The part's place in the message.
        index: usize,
        /// The item as it came.
        native: Native,
    },
    /// The tokens that this response has used so far; the last one counts.
    Usage(Usage),
    /// Nothing has been said yet, and the request will be sent again after a while.
    Retrying {
        /// Milliseconds until the next attempt.
        wait_ms: u64,
        /// The failure in one sentence.
        why: String,
    },
    /// The turn has come to its end.
    Stop {
        /// The vendor's reason, in our words.
        reason: StopReason,
    },
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It has said what it wanted to say.
    EndTurn,
    /// It waits for the results of its calls.
    ToolUse,
    /// The answer reached its limit of tokens.
    MaxTokens,
    /// It will not answer this.
    Refusal,
    /// The context is full.
    ContextWindow,
    /// A word of the vendor's that we do not know.
    Other(String),
}

impl StopReason {
    /// True if the last part may lack its end.
    pub fn cuts(&self) -> bool {
        match self {
            StopReason::MaxTokens | StopReason::ContextWindow => true,
            StopReason::EndTurn
            | StopReason::ToolUse
            | StopReason::Refusal
            | StopReason::Other(_) => false,
        }
    }
}

/// Tokens of one response. The four counts do not overlap; `reasoning` is a part of `output`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens of the request that no cache had.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens that the vendor had in its cache.
    pub cache_read: u64,
    /// Tokens that the vendor put into its cache.
    pub cache_write: u64,
    /// Tokens of thoughts.
    pub reasoning: u64,
}

impl Usage {
    /// The tokens that the conversation took of the model's context with this response.
    pub fn context(&self) -> u64 {
        self.input + self.cache_read + self.cache_write + self.output
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.reasoning += other.reasoning;
    }
}

/// Why there is no (whole) answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct StreamError {
    /// The kind, which decides about another attempt.
    pub kind: StreamErrorKind,
    /// One sentence, the vendor's words in it.
    pub message: String,
    /// Advice for the reader: what can be done about it.
    pub hint: Option<String>,
}

/// The kinds of failure of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamErrorKind {
    /// Too many requests; the vendor may have said how long to wait.
    RateLimited {
        /// The vendor's own demand.
        retry_after: Option<Duration>,
    },
    /// The vendor has too much to do.
    Overloaded {
        /// The vendor's own demand.
        retry_after: Option<Duration>,
    },
    /// The vendor failed.
    Server,
    /// The key is missing, wrong, or not allowed to do this.
    Authentication,
    /// The account is out of credit.
    Quota,
    /// The request is wrong; the same request will fail again.
    BadRequest,
    /// The conversation does not fit into the model's context.
    ContextTooLong,
    /// The stream ended before the model's turn did.
    Truncated,
    /// Nothing came for too long.
    IdleTimeout,
    /// The vendor could not be reached, or the connection broke before the answer began.
    Connection,
    /// An event or an answer is larger than we accept.
    TooLarge,
    /// The stream does not follow the vendor's protocol.
    Malformed,
    /// The person stopped it.
    Cancelled,
}

impl StreamErrorKind {
    /// True if the same request may succeed if it is sent again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Server
            | Self::Truncated
            | Self::IdleTimeout
            | Self::Connection => true,
            Self::Authentication
            | Self::Quota
            | Self::BadRequest
            | Self::ContextTooLong
            | Self::TooLarge
            | Self::Malformed
            | Self::Cancelled => false,
        }
    }

    /// The vendor's demand, where it made one.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Overloaded { retry_after } => *retry_after,
            Self::Server
            | Self::Authentication
            | Self::Quota
            | Self::BadRequest
            | Self::ContextTooLong
            | Self::Truncated
            | Self::IdleTimeout
            | Self::Connection
            | Self::TooLarge
            | Self::Malformed
            | Self::Cancelled => None,
        }
    }

    /// The kind's name for programs: stable.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "rate_limited",
            Self::Overloaded { .. } => "overloaded",
            Self::Server => "server_error",
            Self::Authentication => "authentication",
            Self::Quota => "quota",
            Self::BadRequest => "bad_request",
            Self::ContextTooLong => "context_too_long",
            Self::Truncated => "truncated",
            Self::IdleTimeout => "idle_timeout",
            Self::Connection => "connection",
            Self::TooLarge => "too_large",
            Self::Malformed => "malformed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl StreamError {
    /// An error without a hint.
    pub fn new(kind: StreamErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// The error of a request that the person stopped.
    pub fn cancelled() -> Self {
        Self::new(StreamErrorKind::Cancelled, "cancelled")
    }

    /// Adds the next step for the reader.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
