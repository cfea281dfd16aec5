//! A job as it lies on disk, for whoever looks: this session, another program, a later one.
//!
//! Law: whether a job runs is said by a lock that dies with its daemon, never by a number alone. What
//! is read is what was printed; what was dropped is counted.

use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jm_system::descriptors::open_directory_at;
use jm_system::identity::ProcessIdentity;
use jm_system::state::{StateDir, read_text};
use jm_types::ignore_error;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::protocol::{JobAnswer, JobLifetime, JobRequest, Typed, TypedCount};
use super::screen::{ScreenText, TerminalScreen};
use crate::contract::descriptors::receive_descriptors;
use crate::contract::ending::{CommandEnding, Exit};
use crate::contract::message::{receive, send};
use crate::contract::terminal_size::TerminalSize;
use crate::outside::records::read_record;
use crate::outside::session_loopback::SessionLoopback;
use crate::outside::spool::SpoolDir;

pub(super) const DESCRIPTION: &str = "job.json";
pub(super) const LOCK_FILE: &str = "lock";
pub(super) const SOCKET: &str = "socket";
pub(super) const END: &str = "end.json";
/// The file of the confinement rules.
pub(super) const RULES_FILE: &str = "walls.json";
/// The record that the launcher writes.
pub(super) const COMMAND: &str = "command";
pub(super) const OUTPUT: &str = "output";
const SEEN: &str = "seen";
/// The ports that are published, while it runs.
pub(super) const PUBLISHED: &str = "published";

const MOST_NOTE_BYTES: u64 = 4 * 1024 * 1024;
const PATIENCE: Duration = Duration::from_secs(3);
const SLICE: Duration = Duration::from_millis(10);
/// Bytes of a stream from which a screen is drawn once more.
const REDRAWN_BYTES: usize = 1024 * 1024;

/// The facts with which a job was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDescription {
    /// The session that started it.
    pub session: String,
    /// In words, without secrets.
    pub command: String,
    /// The directory that it works in.
    pub directory: PathBuf,
    /// Milliseconds since the epoch.
    pub started_at_ms: u64,
    /// Milliseconds until it is ended.
    pub lifetime_ms: u64,
    /// The end of its session ends it, or not.
    pub keeping: JobLifetime,
    /// The size of its terminal; `None` for pipes.
    pub terminal: Option<TerminalSize>,
}

/// The end of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobEnding {
    /// It never ran, for this reason.
    NotStarted(String),
    /// No process was left to write it down.
    Unknown,
    /// Its command ended. The time that may be over is its lifetime; a request or the end of its session stops it.
    #[serde(untagged)]
    Ended(CommandEnding),
}

/// The end of a job, as its daemon writes it down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEnd {
    /// The way in which it ended.
    pub how: JobEnding,
    /// Milliseconds from its start.
    pub elapsed_ms: u64,
    /// Milliseconds since 1970; 0 where it was not noted.
    pub at_ms: u64,
    /// The last that was shown, if it had a terminal.
    pub screen: Option<ScreenText>,
    /// Refusals of its proxy, in words.
    #[serde(default)]
    pub refused: Vec<String>,
}

/// The progress of a session in reading a job's output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobSeen {
    /// As text, whatever for.
    pub shown: u64,
    /// The end of the last read or wait. What it was shown after a start or after typing can still be
    /// waited for.
    pub read: u64,
    /// The end of what was searched for refusals.
    pub searched: u64,
    /// The refusals that the session was told of.
    pub told: Vec<String>,
}

/// The state of a job, as its folder tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobState {
    /// `pid` is its daemon's.
    Running {
        /// The daemon's process id.
        pid: u32,
    },
    /// Nothing of it runs any more.
    Ended(JobEnd),
}

/// A job, by its folder.
#[derive(Debug, Clone)]
pub struct Job {
    folder: PathBuf,
    name: String,
    /// The facts with which it was started.
    pub description: JobDescription,
}

impl Job {
    /// `None` when there is none of that name.
    pub(super) fn open(jobs: &Path, name: &str) -> Result<Option<Self>> {
        let is_plain = Path::new(name).file_name().is_some_and(|plain| plain == name);
        let folder = jobs.join(name);
        let text =
            if is_plain { read_text(&folder.join(DESCRIPTION), MOST_NOTE_BYTES)? } else { None };
        let Some(text) = text else { return Ok(None) };
        let description = serde_json::from_str(&text)?;
        Ok(Some(Self { folder, name: name.to_owned(), description }))
    }

    /// The name of the call that started it.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the state; a daemon that died counts as the job's end.
    pub fn state(&self) -> Result<JobState> {
        // In this order: what is not written when the lock is free will never be.
        let is_held = self.is_held()?;
        if let Some(text) = read_text(&self.folder.join(END), MOST_NOTE_BYTES)? {
            return Ok(JobState::Ended(serde_json::from_str(&text)?));
        }
        if is_held {
            let pid = self.daemon().map_or(0, |daemon| daemon.pid);
            return Ok(JobState::Running { pid });
        }
        let end = match read_record(&self.folder, COMMAND) {
            Some(record) => JobEnd {
                how: JobEnding::Ended(record.ended),
                elapsed_ms: record.elapsed_ms,
                ..JobEnd::unknown()
            },
            None => JobEnd::unknown(),
        };
        Ok(JobState::Ended(end))
    }

    /// Tells if its daemon lives.
    pub fn is_running(&self) -> Result<bool> {
        self.state().map(|state| matches!(state, JobState::Running { .. }))
    }

    fn is_held(&self) -> Result<bool> {
        let file = File::open(self.folder.join(LOCK_FILE))?;
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(std::fs::TryLockError::WouldBlock) => Ok(true),
            Err(std::fs::TryLockError::Error(error)) => Err(error),
        }
    }

    /// The process that keeps it, as it named itself.
    fn daemon(&self) -> Option<ProcessIdentity> {
        let note = read_text(&self.folder.join(LOCK_FILE), MOST_NOTE_BYTES).ok()??;
        let mut words = note.split_whitespace();
        let (pid, started) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(ProcessIdentity { pid, started, boot: words.next()?.to_owned() })
    }

    /// Reads how far the session has read. What cannot be read is read again.
    pub fn seen(&self) -> JobSeen {
        let note = read_text(&self.folder.join(SEEN), MOST_NOTE_BYTES).ok().flatten();
        note.and_then(|note| serde_json::from_str(&note).ok()).unwrap_or_default()
    }

    /// Stores how far the session has read.
    pub fn note_seen(&self, seen: &JobSeen) -> Result<()> {
        StateDir::open(&self.folder)?.write(SEEN, &serde_json::to_vec(seen)?)
    }

    pub(super) fn spools(&self) -> SpoolDir {
        SpoolDir::below(&self.folder)
    }

    /// Types into a job that runs.
    pub fn write(&self, typed: Vec<Typed>) -> Result<TypedCount> {
        match self.ask(&JobRequest::Write(typed))? {
            JobAnswer::Taken(taken) => Ok(taken),
            JobAnswer::Refused(why) => Err(Error::new(ErrorKind::InvalidInput, why)),
            JobAnswer::Screen(_)
            | JobAnswer::RefusedByProxy(_)
            | JobAnswer::Published
            | JobAnswer::PortTaken
            | JobAnswer::Stopping => Err(ErrorKind::InvalidData.into()),
        }
    }

    /// Publishes a port of a job that runs; an error of the kind `AddrInUse` where something else has it.
    pub fn publish(&self, port: u16) -> Result<()> {
        match self.ask(&JobRequest::Publish(port))? {
            JobAnswer::Published => Ok(()),
            JobAnswer::PortTaken => Err(ErrorKind::AddrInUse.into()),
            JobAnswer::Refused(why) => Err(Error::new(ErrorKind::Unsupported, why)),
            JobAnswer::Taken(_)
            | JobAnswer::Screen(_)
            | JobAnswer::RefusedByProxy(_)
            | JobAnswer::Stopping => Err(ErrorKind::InvalidData.into()),
        }
    }

    /// The ports of it that are published now, in order; none of one that has ended.
    pub fn published(&self) -> Vec<u16> {
        if !self.is_running().unwrap_or(false) {
            return Vec::new();
        }
        let note = read_text(&self.folder.join(PUBLISHED), MOST_NOTE_BYTES).ok().flatten();
        note.and_then(|note| serde_json::from_str(&note).ok()).unwrap_or_default()
    }

    /// The content of its terminal, now or last. `None` without a terminal.
    pub fn screen(&self) -> Result<Option<ScreenText>> {
        let Some(size) = self.description.terminal else { return Ok(None) };
        if let Ok(JobAnswer::Screen(screen)) = self.ask(&JobRequest::Screen) {
            return Ok(screen);
        }
        if let JobState::Ended(JobEnd { screen: Some(screen), .. }) = self.state()? {
            return Ok(Some(screen));
        }
        // Its daemon was killed: the end of what was printed is drawn once more.
        let mut screen = TerminalScreen::new(size);
        for (_, bytes) in self.read(0, None, REDRAWN_BYTES)?.pieces {
            screen.show(&bytes);
        }
        Ok(Some(screen.text()))
    }

    pub(super) fn ask(&self, request: &JobRequest) -> Result<JobAnswer> {
        receive(self.asked(request)?)
    }

    fn asked(&self, request: &JobRequest) -> Result<UnixStream> {
        use rustix::fd::AsRawFd;
        let folder = open_directory_at(&self.folder)?;
        let path = format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd());
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        send(&stream, request)?;
        Ok(stream)
    }

    /// The loopback that it shares with its session; `None` for one that has a network of its own, or has ended.
    pub(super) fn loopback(&self) -> Option<SessionLoopback> {
        let stream = self.asked(&JobRequest::Loopback).ok()?;
        SessionLoopback::received(receive_descriptors(&stream))
    }

    /// Ends it with all that it started, and waits for that. One that has ended stays as it is.
    pub fn stop(&self) -> Result<JobEnd> {
        if let JobState::Ended(end) = self.state()? {
            return Ok(end);
        }
        ignore_error(
            self.ask(&JobRequest::Stop),
            "a daemon that does not answer is dealt with below",
        );
        if let Some(end) = self.ended_within(PATIENCE)? {
            return Ok(end);
        }
        self.kill_daemon()?;
        let killed = self.ended_within(PATIENCE)?;
        killed.ok_or_else(|| Error::new(ErrorKind::TimedOut, "it does not end"))
    }

    /// Waits for its end; `None` when it still runs after `most`.
    pub fn ended_within(&self, most: Duration) -> Result<Option<JobEnd>> {
        let until = Instant::now() + most;
        loop {
            if let JobState::Ended(end) = self.state()? {
                return Ok(Some(end));
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            std::thread::sleep(SLICE);
        }
    }

    /// Its launcher sees that and ends everything. No other process is signalled: the process is held
    /// before it is looked at.
    fn kill_daemon(&self) -> Result<()> {
        let Some(daemon) = self.daemon() else { return Ok(()) };
        let Some(pid) = i32::try_from(daemon.pid).ok().and_then(Pid::from_raw) else {
            return Ok(());
        };
        let held = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(held) => held,
            Err(rustix::io::Errno::SRCH) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if daemon.is_alive() {
            pidfd_send_signal(held, Signal::KILL)?;
        }
        Ok(())
    }
}

impl JobEnd {
    fn unknown() -> Self {
        let (how, screen, refused) = (JobEnding::Unknown, None, Vec::new());
        Self { how, elapsed_ms: 0, at_ms: 0, screen, refused }
    }
}

impl JobEnding {
    /// In words that follow a name.
    pub fn words(&self) -> String {
        let ending = match self {
            Self::NotStarted(why) => return format!("not started: {why}"),
            Self::Unknown => return "gone; how it ended is unknown".to_owned(),
            Self::Ended(ending) => ending,
        };
        match ending {
            CommandEnding::Exited(Exit::Code(code)) => format!("ended with exit code {code}"),
            CommandEnding::Exited(Exit::Signal(signal)) => format!("ended by signal {signal}"),
            CommandEnding::TimedOut => "ended: its lifetime was over".to_owned(),
            CommandEnding::Stopped => "stopped".to_owned(),
            CommandEnding::Orphaned => "ended when the program of its session died".to_owned(),
        }
    }
}
