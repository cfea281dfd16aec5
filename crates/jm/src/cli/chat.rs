//! The words of the command line about `.chat` documents.

use std::path::PathBuf;

use clap::Args;

use super::Model;

#[derive(Debug, Args)]
pub(crate) struct Chat {
    /// The document
    pub(crate) file: PathBuf,
    /// Continue until approval or input is needed (default)
    #[arg(long, conflicts_with = "no_auto")]
    pub(crate) auto: bool,
    /// Run one phase only: categorize, execute or send
    #[arg(long)]
    pub(crate) no_auto: bool,
    /// Stop after this many answers of the model
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) max_turns: usize,
    /// Run or resolve this one call, and nothing else
    #[arg(long, value_name = "ID", conflicts_with_all = ["auto", "no_auto"])]
    pub(crate) tool: Option<String>,
    /// Print the document's calls, blocks and findings as JSON, and do nothing
    #[arg(long, conflicts_with_all = ["auto", "no_auto", "tool"])]
    pub(crate) inspect: bool,
    /// With --inspect: read the document's text from standard input
    #[arg(long, requires = "inspect")]
    pub(crate) stdin: bool,
    /// Events as JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) model: Model,
}
