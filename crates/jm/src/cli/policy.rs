//! The words of `jm policy`.

use clap::{Args, Subcommand};

use super::ListingArgs;

#[derive(Debug, Args)]
pub(crate) struct Policy {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// List the rules in force here, and every remembered approval
    List(ListingArgs),
    /// Remove a remembered approval
    Revoke {
        /// Number, as in `jm policy list`
        number: u64,
    },
    /// Explain what would happen to a call, and which rule decides
    Explain {
        /// Name of the tool, or `host`
        tool: String,
        /// Arguments as a JSON object; with `host`, a host such as example.org:443
        #[arg(default_value = "{}")]
        args: String,
        /// Print JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Judge the calls of past sessions by the policy in force now, and list what would differ
    ///
    /// Change the policy with flags or --config. Nothing runs. The exit code is 1 if a call would be decided
    /// differently.
    Test(PolicyTest),
}

#[derive(Debug, Args)]
pub(crate) struct PolicyTest {
    /// Session; all of this workspace without it
    pub(crate) id: Option<String>,
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}
