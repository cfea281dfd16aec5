//! The words of `jm acp`.

use clap::{Args, ValueEnum};
use jm_types::OfferedScope;

use super::Model;

#[derive(Debug, Args)]
pub(crate) struct Acp {
    #[command(flatten)]
    pub(crate) model: Model,
    /// Keep a vendor's key in the keyring, typed in this terminal, and end: for the client's set-up
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) login: Option<String>,
    /// Let the client answer "always", in scopes up to this one [default: its answers count once]
    #[arg(long, value_name = "SCOPE")]
    pub(crate) remember: Option<RememberScope>,
}

/// The widest scope in which a client's answer may be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RememberScope {
    Session,
    Project,
    Everywhere,
}

impl From<RememberScope> for OfferedScope {
    fn from(scope: RememberScope) -> Self {
        match scope {
            RememberScope::Session => OfferedScope::Session,
            RememberScope::Project => OfferedScope::Project,
            RememberScope::Everywhere => OfferedScope::Everywhere,
        }
    }
}
