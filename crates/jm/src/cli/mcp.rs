//! The words of `jm mcp`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ListingArgs;

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add a server to your configuration
    Add(McpAdd),
    /// List the configured servers, without starting them
    List(ListingArgs),
    /// Start a server, and show its protocol and tools
    Test {
        /// Name of the server
        name: String,
        /// Print JSON, for programs
        #[arg(long)]
        json: bool,
    },
    /// Call a tool of a server, like `jm call NAME__TOOL`
    Call {
        /// Name of the server
        name: String,
        /// The server's name for the tool
        tool: String,
        /// Arguments as a JSON object; `-` reads them from standard input
        #[arg(default_value = "{}")]
        args: String,
        /// Print one JSON object with verdict, content and more
        #[arg(long)]
        json: bool,
    },
    /// Serve the tools of jm to another agent over standard input and output, or HTTP
    Serve(McpServe),
    /// Remove a server from your configuration
    Remove {
        /// Name of the server
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpServe {
    /// Serve over HTTP on this port of this machine instead; 0 takes a free one. Prints the address and the
    /// token that every request needs
    #[arg(long, value_name = "PORT")]
    pub(crate) http: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct McpAdd {
    /// Name: its tools appear as NAME__TOOL
    pub(crate) name: String,
    /// Hosts that the server may reach, or `on` (repeatable) [default: none]
    #[arg(long = "reach", value_name = "HOST")]
    pub(crate) reach: Vec<String>,
    /// File or directory that the server may read, such as where it is installed (repeatable)
    #[arg(long = "read", value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,
    /// Directory that the server may write; `.` is the workspace (repeatable) [default: none]
    #[arg(long = "write", value_name = "DIR")]
    pub(crate) write: Vec<PathBuf>,
    /// Variable of your environment that the server inherits (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// Tool of the server that changes nothing and needs no approval (repeatable)
    #[arg(long, value_name = "TOOL")]
    pub(crate) read_only: Vec<String>,
    /// The command and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub(crate) command: Vec<String>,
}
