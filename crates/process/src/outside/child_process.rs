//! A companion: this program once more, as a process that is spoken to over a socket for as long as it
//! is wanted. The socket is its standard input.
//!
//! Law: it is known by a pidfd, so a signal never reaches another process that got its number. No sweep
//! after a command touches it.

use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use jm_files::SafePath;
use jm_system::descriptors::open_dev_null;
use jm_types::ToolError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::child::ChildProcess;
use super::command::open_directory;
use super::launcher::Confinement;
use super::launcher_link::{self, CommandOutput, LaunchTask, LauncherLink};
use super::reaper;
use crate::contract::descriptors::high_numbered_copy;
use crate::contract::ending::{CommandEnding, Exit};

/// A launcher keeps a command's time; a companion is ended by whoever started it.
const LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const PATIENCE: Duration = Duration::from_secs(1);

/// A process of ours that is spoken to through a socket and ends with its owner.
#[derive(Debug)]
pub struct Companion {
    process: ChildProcess,
    exit: OwnedFd,
    /// The line to its launcher, where it is confined.
    line: Option<LauncherLink>,
}

impl Companion {
    /// With all the rights of this process, but without its environment.
    pub fn start_free(program: &Path, word: &str) -> Result<(UnixStream, Self), ToolError> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| failed(&error))?;
        reaper::bury();
        let started =
            reaper::shelter(|| ChildProcess::start(program, word, high_numbered_copy(&theirs)?, 0));
        let process = started.map_err(|error| failed(&error))?;
        Ok((ours, Self::new(process, None)?))
    }

    /// Behind the same rules as a command.
    pub fn start_confined(
        confinement: &Confinement,
        directory: &SafePath,
        environment: &[(OsString, OsString)],
        words: Vec<OsString>,
    ) -> Result<(UnixStream, Self), ToolError> {
        let (ours, theirs) = UnixStream::pair().map_err(|error| failed(&error))?;
        let stdin = high_numbered_copy(&theirs).map_err(|error| failed(&error))?;
        let nowhere = open_dev_null().map_err(|error| failed(&error))?;
        let streams = (stdin, CommandOutput::Joined(nowhere));
        let companion = Self::start_behind(confinement, directory, environment, words, streams)?;
        Ok((ours, companion))
    }

    /// The same with streams of its own.
    pub(crate) fn start_behind(
        confinement: &Confinement,
        directory: &SafePath,
        environment: &[(OsString, OsString)],
        words: Vec<OsString>,
        (stdin, output): (OwnedFd, CommandOutput),
    ) -> Result<Self, ToolError> {
        let Confinement::Supervised { launcher, rules, .. } = confinement else {
            let why = "it needs a launcher, which ends it with this program";
            return Err(ToolError::failed("process", why));
        };
        let path = directory.absolute();
        let task = LaunchTask {
            words,
            directory: open_directory(directory)?,
            directory_name: &path,
            environment,
            stdin,
            output,
            lifetime: LIFETIME,
            rules,
            record: None,
        };
        reaper::bury();
        let (mut line, mut refused) = (None, None);
        let started = reaper::shelter(|| match launcher_link::start(launcher, task) {
            Ok((process, its_line)) => {
                line = Some(its_line);
                Ok(process)
            }
            Err(error) => {
                let text = error.to_string();
                refused = Some(error);
                Err(std::io::Error::other(text))
            }
        });
        match (started, refused) {
            (Ok(process), _) => Self::new(process, line),
            (Err(_), Some(refused)) => Err(refused),
            (Err(error), None) => Err(failed(&error)),
        }
    }

    fn new(process: ChildProcess, line: Option<LauncherLink>) -> Result<Self, ToolError> {
        let exit = pidfd_open(process.pid(), PidfdFlags::empty());
        let exit = exit.map_err(|error| failed(&error.into()))?;
        Ok(Self { process, exit, line })
    }

    /// Ends it. A launcher ends what it keeps when its line is closed.
    pub fn kill(&mut self) {
        match self.line.take() {
            Some(line) => drop(line),
            // One that has ended needs no signal.
            None => pidfd_send_signal(&self.exit, Signal::KILL).unwrap_or_default(),
        }
    }

    /// The way it ended, such as `signal 9`; waits for that a moment at most.
    pub fn ending(&mut self) -> Option<String> {
        self.ending_within(PATIENCE)
    }

    /// The same with a patience of one's own.
    pub fn ending_within(&mut self, patience: Duration) -> Option<String> {
        let mut fds = [PollFd::new(&self.exit, PollFlags::IN)];
        // Only a time beyond all clocks is none.
        let patience = Timespec::try_from(patience).ok();
        if !poll(&mut fds, patience.as_ref()).is_ok_and(|count| count > 0) {
            return None;
        }
        let status = self.process.try_wait().ok().flatten();
        if let Some(line) = &mut self.line {
            return match line.report() {
                Ok(Some((ending, _))) => Some(in_words(ending)),
                Ok(None) => None,
                Err(error) => Some(error.to_string()),
            };
        }
        let status = status?;
        Some(match status.signal() {
            Some(signal) => format!("signal {signal}"),
            None => format!("exit code {}", status.code().unwrap_or_default()),
        })
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        self.kill();
        // Taken in here, or by the next one who looks for ended children.
        self.ending();
        reaper::bury();
    }
}

fn in_words(ending: CommandEnding) -> String {
    match ending {
        CommandEnding::Exited(Exit::Code(code)) => format!("exit code {code}"),
        CommandEnding::Exited(Exit::Signal(signal)) => format!("signal {signal}"),
        CommandEnding::TimedOut => "out of time".to_owned(),
        CommandEnding::Stopped | CommandEnding::Orphaned => "stopped".to_owned(),
    }
}

fn failed(error: &std::io::Error) -> ToolError {
    ToolError::failed("process", error.to_string())
}
