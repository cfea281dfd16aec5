//! The small choices that configuration and policy are made of.

use serde::{Deserialize, Serialize};

use crate::defaults;

/// Treatment of tool calls as a whole (FR-MODE-01..03).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolsMode {
    /// Tools are not advertised; calls are refused.
    Disabled,
    /// Calls are shown; a person supplies the results.
    ParseOnly,
    /// Calls are planned, asked about and run.
    #[default]
    Enabled,
}

/// Treatment of calls that no list names (FR-APR-04).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// They run.
    Auto,
    /// As `prompt`, but a command on a layer runs first and is asked about when it has ended.
    Effects,
    /// Reads run, side effects are asked about.
    #[default]
    Prompt,
    /// They are refused.
    Deny,
}

/// A named set of loop limits; a limit that is set by its own key wins over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Few calls and rounds, as the requirements say.
    Careful,
    /// Enough for an ordinary task.
    #[default]
    Standard,
}

impl Profile {
    /// Calls of one message that are run.
    pub const fn max_tool_calls_per_batch(self) -> u64 {
        match self {
            Self::Careful => defaults::CAREFUL_CALLS_PER_BATCH,
            Self::Standard => defaults::STANDARD_CALLS_PER_BATCH,
        }
    }

    /// Rounds of calls after one prompt.
    pub const fn max_tool_iterations_per_user_turn(self) -> u64 {
        match self {
            Self::Careful => defaults::CAREFUL_ITERATIONS_PER_TURN,
            Self::Standard => defaults::STANDARD_ITERATIONS_PER_TURN,
        }
    }
}

/// The risk of a call, as people are shown it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskLevel {
    /// Reads only.
    Low,
    /// Changes files.
    Medium,
    /// Runs commands, or destroys.
    High,
}

/// The effect of a tool, or of one call of it, on the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Leaves everything as it is.
    Reads,
    /// Runs a program that confinement keeps to reading.
    Inspects,
    /// Changes files of the workspace.
    Changes,
    /// Runs a program that may change what confinement allows.
    Runs,
}

impl ToolEffect {
    /// True if something may be different afterwards.
    pub fn is_side_effecting(self) -> bool {
        match self {
            ToolEffect::Reads | ToolEffect::Inspects => false,
            ToolEffect::Changes | ToolEffect::Runs => true,
        }
    }

    /// Tells whether it starts a program.
    pub fn is_command(self) -> bool {
        match self {
            ToolEffect::Reads | ToolEffect::Changes => false,
            ToolEffect::Inspects | ToolEffect::Runs => true,
        }
    }
}

/// Ordered, so that "the stricter wins" is `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person decides.
    Ask,
    /// It never runs.
    Deny,
}
