//! The launcher of a command as the program knows it, and the confinement of one command.

use std::path::PathBuf;
use std::sync::Arc;

use super::prestarted::PrestartedLaunchers;
use super::session_loopback::{SessionLoopback, can_join};
use crate::contract::confinement_rules::ConfinementRules;

/// The program that becomes the launcher of a command.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// This program: run with [`crate::inside::LAUNCH`] it becomes a launcher.
    pub program: PathBuf,
    /// The directory in which it writes the records of commands.
    pub records: Option<PathBuf>,
    /// The program `bwrap`, where it is installed.
    pub bwrap: Option<PathBuf>,
    /// Those that were started ahead.
    pub prestarted: PrestartedLaunchers,
    /// The loopback of the session, for commands that share it.
    pub loopback: Option<Arc<SessionLoopback>>,
}

impl Launcher {
    /// A launcher without `bwrap`, records and a prestarted process.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            records: None,
            bwrap: None,
            prestarted: PrestartedLaunchers::default(),
            loopback: None,
        }
    }
}

/// The confinement of one command.
#[derive(Debug, Clone)]
pub enum Confinement {
    /// None, and nothing ends the command if we die: for those who embed this library and say so.
    Unsupervised,
    /// By a launcher, which may confine it too.
    Supervised {
        /// The program that supervises it.
        launcher: Launcher,
        /// The rules that it enforces.
        rules: Box<ConfinementRules>,
        /// The name of the record that is written when it ends.
        record: Option<String>,
    },
}

impl Confinement {
    /// The same in the network of a session, where the command can be in one.
    #[must_use]
    pub fn joining(mut self, session: Option<Arc<SessionLoopback>>) -> Self {
        if let Self::Supervised { launcher, rules, .. } = &mut self {
            rules.shares_loopback = session.is_some() && can_join(rules);
            launcher.loopback = session.filter(|_| rules.shares_loopback);
        }
        self
    }

    /// The rules; `None` for a command that runs free.
    pub fn rules(&self) -> Option<&ConfinementRules> {
        match self {
            Self::Unsupervised => None,
            Self::Supervised { rules, .. } => Some(rules),
        }
    }
}
