//! A command before it runs and after it has ended, as data.

use std::ffi::OsString;
use std::time::Duration;

use jm_files::SafePath;
use jm_types::text::truncate::HeadTail;

use super::launcher::Confinement;
use super::program::CommandProgram;
use super::refusal::Refusal;
use super::stdin_writer::CommandInput;
use crate::contract::confinement_rules::ConfinementRules;
use crate::contract::ending::CommandEnding;
use crate::contract::kill_failures::Unended;

/// A command that is about to run.
#[derive(Debug)]
pub struct CommandSpec {
    /// The words or the shell line.
    pub program: CommandProgram,
    /// The directory that it works in, opened without links.
    pub directory: SafePath,
    /// All variables; nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// Its standard input.
    pub input: CommandInput,
    /// The time after which it is ended.
    pub timeout: Duration,
    /// Bytes of each stream that are kept.
    pub keep_bytes: usize,
    /// The confinement: never left out, so that nothing runs free unnoticed.
    pub confinement: Confinement,
}

impl CommandSpec {
    /// The same command by other rules; one without rules stays without.
    pub fn confined_by(mut self, new: ConfinementRules) -> Self {
        if let Confinement::Supervised { rules, .. } = &mut self.confinement {
            **rules = new;
        }
        self
    }
}

/// A command that has ended.
#[derive(Debug)]
pub struct FinishedCommand {
    /// The way in which it ended.
    pub ending: CommandEnding,
    /// The time from its start.
    pub elapsed: Duration,
    /// Standard output, as far as it is kept.
    pub stdout: HeadTail,
    /// Standard error, as far as it is kept.
    pub stderr: HeadTail,
    /// Set when something that was printed is not in the streams, because it was drawn over.
    pub is_redrawn: bool,
    /// Refusals of the egress proxy.
    pub refused_by_proxy: Vec<Refusal>,
    /// Processes of the command that could not be ended.
    pub unended: Vec<Unended>,
}
