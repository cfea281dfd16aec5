//! Jobs: commands that go on while the conversation does.
//!
//! Law: a job has an end that no person has to remember. Its launcher keeps its time, its daemon ends it
//! when its session ends, and either of them ends it when the other is gone. Only a job that is
//! meant to be kept outlives its session, and not its lifetime.

mod daemon;
mod folder;
mod keys;
mod protocol;
mod publisher;
mod reading;
mod refused;
mod screen;
mod server;
mod shared;
mod typing;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Result, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jm_files::SafePath;
use jm_system::clock::now_epoch_ms;
use jm_system::descriptors::open_directory_at;
use jm_system::state::StateDir;
use jm_types::{ToolError, ignore_error};
use rustix::fd::{AsRawFd, OwnedFd, RawFd};

pub use daemon::run_as_daemon;
pub use folder::{Job, JobDescription, JobEnd, JobEnding, JobSeen, JobState};
pub use keys::{KEY_NAMES, NoSuchKey, TerminalKey};
pub use protocol::{JobLifetime, Publication, Typed, TypedCount};
pub use reading::JobExcerpt;
pub use screen::ScreenText;

use crate::contract::confinement_rules::ConfinementRules;
use crate::contract::descriptors::high_numbered_copy;
use crate::contract::message::{receive, send};
pub use crate::contract::terminal_size::TerminalSize;
use crate::outside::command::open_directory;
use crate::outside::launcher::{Confinement, Launcher};
use crate::outside::program::CommandProgram;
use crate::outside::reaper;
use crate::outside::session_loopback::{SessionLoopback, can_join};
use folder::{DESCRIPTION, LOCK_FILE, RULES_FILE};
use protocol::{
    DAEMON, DIRECTORY, DaemonOrder, DaemonReport, FOLDER, LINE, LOCK, NETWORK_NAMESPACE,
    USER_NAMESPACE,
};

/// Of one session at a time.
const MOST_RUNNING: usize = 16;
/// Limits of ended jobs that can be looked at: their age, and their number.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);
const MOST_REMEMBERED: usize = 64;
/// Less than this of an output is of no use to anybody.
const LEAST_KEPT: u64 = 64 * 1024;
const DAEMON_PATIENCE: Duration = Duration::from_secs(10);
/// For all jobs of a session together; then their lines are cut, which ends them too.
const SESSION_PATIENCE: Duration = Duration::from_secs(3);

/// The command that is started as a job.
#[derive(Debug)]
pub struct JobSpec {
    /// The call that starts it.
    pub name: String,
    /// The session that it belongs to.
    pub session: String,
    /// In words, without secrets.
    pub command: String,
    /// The words or the shell line.
    pub program: CommandProgram,
    /// The directory that it works in.
    pub directory: SafePath,
    /// All variables; nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// The time after which it is ended.
    pub lifetime: Duration,
    /// The size of its terminal; `None` for pipes.
    pub terminal: Option<TerminalSize>,
    /// The end of its session ends it, or not.
    pub keeping: JobLifetime,
    /// The rules that hold it.
    pub confinement: Confinement,
    /// The ports of it that are published.
    pub publication: Publication,
}

/// The jobs of this state, and the lines to those that end with us. By default there is no place for
/// any.
#[derive(Debug, Default)]
pub struct Jobs {
    folder: PathBuf,
    keep_bytes: u64,
    lines: Mutex<Vec<(Job, UnixStream)>>,
    /// The loopbacks of sessions, as far as they were asked for.
    loopbacks: Mutex<HashMap<String, Option<Arc<SessionLoopback>>>>,
}

impl Jobs {
    /// `keep_bytes` of each output are kept. Nothing is made before there is a job.
    pub fn new(folder: impl Into<PathBuf>, keep_bytes: u64) -> Self {
        let keep_bytes = keep_bytes.max(LEAST_KEPT);
        Self { folder: folder.into(), keep_bytes, ..Self::default() }
    }

    /// The oldest first.
    pub fn all(&self) -> Result<Vec<Job>> {
        let names = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        // One that cannot be read is being made or being removed.
        let mut jobs: Vec<Job> = names.filter_map(|name| self.find(&name).ok()?).collect();
        jobs.sort_by_key(|job| (job.description.started_at_ms, job.name().to_owned()));
        Ok(jobs)
    }

    /// Finds a job by its name; `None` for one that is gone.
    pub fn find(&self, name: &str) -> Result<Option<Job>> {
        Job::open(&self.folder, name)
    }

    /// All jobs that a session started, ended ones too.
    pub fn of_session(&self, session: &str) -> Result<Vec<Job>> {
        reaper::bury();
        let mut jobs = self.all()?;
        jobs.retain(|job| job.description.session == session);
        Ok(jobs)
    }

    /// Starts a job with its daemon, and waits until it runs or has failed.
    pub fn start(&self, spec: JobSpec) -> std::result::Result<Job, ToolError> {
        if self.folder.as_os_str().is_empty() {
            return Err(ToolError::failed("process", "no directory to keep its output in"));
        }
        let fail = |error: std::io::Error| ToolError::io(&self.folder, error);
        let jobs = self.of_session(&spec.session).map_err(fail)?;
        let running = jobs.iter().filter(|job| job.is_running().unwrap_or(false)).count();
        if running >= MOST_RUNNING {
            return Err(ToolError::limit(format!(
                "this session already has {running} processes running"
            ))
            .hint("stop one that is no longer needed"));
        }
        self.forget_old().map_err(fail)?;
        match &spec.confinement {
            Confinement::Supervised { launcher, rules, .. } => {
                self.start_daemon(&spec, launcher, rules)
            }
            Confinement::Unsupervised => {
                Err(ToolError::failed("process", "not started: nothing here could end it"))
            }
        }
    }

    /// The loopback that a session's background processes are in; `None` for a session without any. Another process may
    /// have started them, so those that run are asked once.
    pub fn loopback(&self, session: &str) -> Option<Arc<SessionLoopback>> {
        if let Some(known) = self.loopbacks().get(session) {
            return known.clone();
        }
        let jobs = self.of_session(session).unwrap_or_default();
        let running = jobs.iter().filter(|job| job.is_running().unwrap_or(false));
        let found = running.filter_map(Job::loopback).next().map(Arc::new);
        self.loopbacks().insert(session.to_owned(), found.clone());
        found
    }

    /// The loopback of a session that starts a process: its own one, or the first.
    fn loopback_for(&self, spec: &JobSpec, launcher: &Launcher) -> Option<Arc<SessionLoopback>> {
        let is_joined = spec.confinement.rules().is_some_and(can_join);
        if !is_joined {
            return None;
        }
        self.loopback(&spec.session).or_else(|| {
            // Where it cannot be made the process has a network of its own.
            let made = Arc::new(SessionLoopback::make(&launcher.program).ok()?);
            self.loopbacks().insert(spec.session.clone(), Some(Arc::clone(&made)));
            Some(made)
        })
    }

    fn loopbacks(&self) -> MutexGuard<'_, HashMap<String, Option<Arc<SessionLoopback>>>> {
        self.loopbacks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_daemon(
        &self,
        spec: &JobSpec,
        launcher: &Launcher,
        rules: &ConfinementRules,
    ) -> std::result::Result<Job, ToolError> {
        let fail = |error: std::io::Error| {
            ToolError::failed("process", format!("cannot start its host: {error}"))
        };
        let directory = open_directory(&spec.directory)?;
        let loopback = self.loopback_for(spec, launcher);
        let rules = ConfinementRules { shares_loopback: loopback.is_some(), ..rules.clone() };
        let (job, lock) = self.make(spec, &rules).map_err(fail)?;
        let order = DaemonOrder {
            words: spec.program.words(),
            directory: spec.directory.absolute().into_os_string(),
            lifetime_ms: job.description.lifetime_ms,
            rules,
            launcher: launcher.program.clone(),
            bwrap: launcher.bwrap.clone(),
            folder: job.folder().to_owned(),
            terminal: spec.terminal,
            keeping: spec.keeping,
            keep_bytes: self.keep_bytes,
            has_loopback: loopback.is_some(),
            publication: spec.publication.clone(),
        };
        let command = daemon_command(launcher, &spec.environment);
        let mut given = vec![
            (OwnedFd::from(lock), LOCK),
            (directory, DIRECTORY),
            (open_directory_at(job.folder()).map_err(fail)?, FOLDER),
        ];
        for (fd, number) in loopback.iter().flat_map(|loopback| {
            loopback.descriptors().into_iter().zip([USER_NAMESPACE, NETWORK_NAMESPACE])
        }) {
            given.push((fd.try_clone_to_owned().map_err(fail)?, number));
        }
        let line = launch(command, given, &order);
        let report = line.and_then(|line| Ok((receive::<DaemonReport>(&line)?, line)));
        match report {
            Ok((DaemonReport::Started, line)) => {
                if spec.keeping == JobLifetime::WithTheSession {
                    self.lines().push((job.clone(), line));
                }
                Ok(job)
            }
            Ok((DaemonReport::NotStarted(why), _)) => {
                self.forget(&job);
                Err(ToolError::failed("process", why))
            }
            Ok((DaemonReport::PortTaken(port), _)) => {
                self.forget(&job);
                Err(port_taken(port))
            }
            Err(error) => {
                self.forget(&job);
                Err(fail(error))
            }
        }
    }

    /// The folder, locked before anybody can find the job in it.
    fn make(&self, spec: &JobSpec, rules: &ConfinementRules) -> Result<(Job, File)> {
        let folder = StateDir::open(&self.folder)?.subdirectory(&spec.name)?;
        let path = folder.private_file(LOCK_FILE)?;
        let lock = File::options().read(true).write(true).open(path)?;
        lock.try_lock().map_err(|_| std::io::Error::from(ErrorKind::AlreadyExists))?;
        let description = JobDescription {
            session: spec.session.clone(),
            command: spec.command.clone(),
            directory: spec.directory.absolute(),
            started_at_ms: now_epoch_ms(),
            lifetime_ms: u64::try_from(spec.lifetime.as_millis()).unwrap_or(u64::MAX),
            keeping: spec.keeping,
            terminal: spec.terminal,
        };
        folder.write(RULES_FILE, &serde_json::to_vec(rules)?)?;
        folder.write(DESCRIPTION, &serde_json::to_vec(&description)?)?;
        let job = self.find(&spec.name)?;
        Ok((job.ok_or_else(|| std::io::Error::from(ErrorKind::NotFound))?, lock))
    }

    /// The session ends: so do its jobs, but for those that are kept.
    pub fn end_session(&self) {
        let lines = std::mem::take(&mut *self.lines());
        for (_, line) in &lines {
            let mut line = line;
            ignore_error(line.write_all(b"s"), "a daemon that is gone has nothing left to end");
        }
        let until = Instant::now() + SESSION_PATIENCE;
        for (job, _) in &lines {
            let left = until.saturating_duration_since(Instant::now());
            ignore_error(job.ended_within(left), "what cannot be looked at cannot be waited for");
        }
        reaper::bury();
    }

    /// Removes what ended long ago; how many.
    pub fn forget_old(&self) -> Result<usize> {
        let oldest = now_epoch_ms().saturating_sub(REMEMBERED.as_millis() as u64);
        let mut jobs = self.all()?;
        jobs.retain(|job| !job.is_running().unwrap_or(true));
        let beyond = jobs.len().saturating_sub(MOST_REMEMBERED);
        let old = jobs
            .iter()
            .enumerate()
            .filter(|(place, job)| *place < beyond || job.description.started_at_ms < oldest);
        Ok(old.map(|(_, job)| self.forget(job)).count())
    }

    /// Removes the folder of a job that has ended.
    pub fn forget(&self, job: &Job) {
        ignore_error(
            std::fs::remove_dir_all(job.folder()),
            "what stays is found again by the next who cleans up",
        );
    }

    fn lines(&self) -> MutexGuard<'_, Vec<(Job, UnixStream)>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error about a port that a program of this machine has.
fn port_taken(port: u16) -> ToolError {
    let why = format!("port {port} is in use on this machine (127.0.0.1)");
    ToolError::failed("start_process", why)
        .hint("choose another port, or end the program that has it")
}

fn daemon_command(launcher: &Launcher, environment: &[(OsString, OsString)]) -> Command {
    let mut command = Command::new(&launcher.program);
    command.arg(DAEMON).env_clear().envs(environment.iter().map(|(k, v)| (k, v)));
    // It holds no directory that a person may want to remove.
    command.current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Starts the daemon with its descriptors and gives it its order; our end of its line.
fn launch(
    mut command: Command,
    given: Vec<(OwnedFd, RawFd)>,
    order: &DaemonOrder,
) -> Result<UnixStream> {
    let (line, theirs) = UnixStream::pair()?;
    let mut copies = vec![(high_numbered_copy(&theirs)?, LINE)];
    for (fd, number) in &given {
        copies.push((high_numbered_copy(fd)?, *number));
    }
    hand_over(&mut command, copies);
    // `bury` waits for it.
    reaper::shelter(|| command.spawn().map(Into::into))?;
    // The copies that the command holds are the daemon's alone.
    drop((command, theirs, given));
    line.set_read_timeout(Some(DAEMON_PATIENCE))?;
    send(&line, order)?;
    Ok(line)
}

/// Own session, and descriptors under numbers that the started program knows.
#[allow(unsafe_code)]
fn hand_over(command: &mut Command, given: Vec<(OwnedFd, RawFd)>) {
    let prepare = move || {
        rustix::process::setsid()?;
        for (fd, number) in &given {
            // SAFETY: takes no pointers. Should the number be in use for telling that exec failed,
            // the daemon's silence tells it.
            if unsafe { libc::dup2(fd.as_raw_fd(), *number) } < 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls that are async-signal-safe are made; nothing
    // is allocated and no lock is taken.
    unsafe { command.pre_exec(prepare) };
}
