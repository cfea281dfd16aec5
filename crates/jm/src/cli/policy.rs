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
        /// Name of the tool
        tool: String,
        /// Arguments as a JSON object
        #[arg(default_value = "{}")]
        args: String,
        /// Print JSON, for programs
        #[arg(long)]
        json: bool,
    },
}
