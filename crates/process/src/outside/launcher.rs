//! The launcher of a command as the program knows it, and the confinement of one command.

use std::path::PathBuf;

use super::prestarted::Spare;
use crate::contract::confinement_rules::Walls;

/// The program that becomes the launcher of a command.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// This program: run with [`crate::inside::LAUNCH`] it becomes a launcher.
    pub program: PathBuf,
    /// The directory in which it writes the records of commands.
    pub records: Option<PathBuf>,
    pub bwrap: Option<PathBuf>,
    /// One that was started ahead.
    pub spare: Spare,
}

impl Launcher {
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), records: None, bwrap: None, spare: Spare::default() }
    }
}

/// The confinement of one command.
#[derive(Debug, Clone)]
pub enum Confinement {
    /// None, and nothing ends the command if we die: for those who embed this library and say so.
    Unsupervised,
    Supervised {
        launcher: Launcher,
        walls: Box<Walls>,
        /// The name of the record that is written when it ends.
        record: Option<String>,
    },
}

impl Confinement {
    pub fn walls(&self) -> Option<&Walls> {
        match self {
            Self::Unsupervised => None,
            Self::Supervised { walls, .. } => Some(walls),
        }
    }
}
