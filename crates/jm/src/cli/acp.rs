//! The words of `jm acp`.

use clap::Args;

use super::Model;

#[derive(Debug, Args)]
pub(crate) struct Acp {
    #[command(flatten)]
    pub(crate) model: Model,
    /// Keep a vendor's key in the keyring, typed in this terminal, and end: for the client's set-up
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) login: Option<String>,
}
