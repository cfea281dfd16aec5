//! The question that a call raises and the answer to it, as one documented JSON value for every face.
//!
//! Law: an answer names calls that were asked about, and nothing else; what it leaves out is not approved.

use jm_types::RiskLevel;
use serde::{Deserialize, Serialize};

/// One question for all calls of a batch that need a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub calls: Vec<CallQuestion>,
}

/// A call that waits for an answer: what will happen, and how far an answer may reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallQuestion {
    pub id: String,
    pub tool: String,
    /// One line, secrets masked.
    pub summary: String,
    pub risk: RiskLevel,
    /// Why it is asked.
    pub reason: String,
    /// Facts that must not be overlooked: protected files first, then what confinement leaves open.
    pub warnings: Vec<String>,
    /// The diff, or the whole command with its environment and input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// The rules that "always" would store; empty where it is not offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always: Vec<AlwaysOffer>,
    /// A tool that is off by default: an answer may switch it on for the project.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opts_in: bool,
    /// Hash of the arguments and of the files as they were shown.
    pub fingerprint: String,
}

/// A rule that an answer "always" would store, and the scopes it may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlwaysOffer {
    pub rules: Vec<String>,
    pub scope: OfferedScope,
}

/// A reach that can be chosen in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferedScope {
    Session,
    Project,
    Everywhere,
}

/// The answer to a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionAnswer {
    pub calls: Vec<CallAnswer>,
}

/// The answer for one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallAnswer {
    pub id: String,
    #[serde(flatten)]
    pub choice: Choice,
}

/// A person's choice about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Choice {
    /// This call, this time.
    Once,
    /// This call, and calls like it within the scope, for so many seconds or until revoked.
    Always {
        scope: OfferedScope,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds: Option<u64>,
    },
    /// Not this call; the model is told the reason.
    No {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// This call with other arguments, which are planned and asked about anew.
    Edit { arguments: String },
}
