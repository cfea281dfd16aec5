//! The program's side of a launcher: how it is started, asked to stop, and heard.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jm_system::descriptors::open_directory_at;
use jm_system::state::StateDir;
use jm_types::{ToolError, ignore_error};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::MemfdFlags;

use super::child::ChildProcess;
use super::egress_proxy::{EgressProxy, ProxyRefusals};
use super::launcher::Launcher;
use super::login_settings::withheld;
use super::prestarted::{NextLauncher, PrestartedLaunchers, WaitingLauncher};
use super::refusal::Refusal;
use crate::contract::confinement_rules::{Backend, ConfinementRules, Network};
use crate::contract::descriptors::send_descriptors;
use crate::contract::ending::CommandEnding;
use crate::contract::kill_failures::Unended;
use crate::contract::message::{receive, send};
use crate::contract::protocol::{
    COUNTERS, DIRECTORY, LaunchOrder, LaunchReport, LaunchStage, PROXY_LISTENER, RECORDS, TERMINAL,
};
use crate::contract::terminal_size::TerminalSize;

/// The task of a launcher.
pub(crate) struct LaunchTask<'a> {
    pub(crate) words: Vec<OsString>,
    pub(crate) directory: OwnedFd,
    /// The same by name.
    pub(crate) directory_name: &'a Path,
    pub(crate) environment: &'a [(OsString, OsString)],
    pub(crate) stdin: OwnedFd,
    pub(crate) output: CommandOutput,
    pub(crate) lifetime: Duration,
    pub(crate) rules: &'a ConfinementRules,
    pub(crate) record: Option<&'a str>,
}

/// The destination of a command's output and errors.
pub(crate) enum CommandOutput {
    Apart {
        stdout: OwnedFd,
        stderr: OwnedFd,
    },
    Joined(OwnedFd),
    /// A terminal of the command's own, and its input too; our end of it comes out here.
    Terminal(TerminalSize, OwnedFd),
}

impl CommandOutput {
    /// The descriptors that the launcher gets of it, and their numbers.
    fn given(&self) -> Vec<(BorrowedFd<'_>, RawFd)> {
        match self {
            Self::Apart { stdout, stderr } => vec![(stdout.as_fd(), 1), (stderr.as_fd(), 2)],
            Self::Joined(both) => vec![(both.as_fd(), 1), (both.as_fd(), 2)],
            Self::Terminal(_, listener) => vec![(listener.as_fd(), TERMINAL)],
        }
    }

    fn terminal(&self) -> Option<TerminalSize> {
        match self {
            Self::Apart { .. } | Self::Joined(_) => None,
            Self::Terminal(size, _) => Some(*size),
        }
    }
}

/// The line to a launcher. When it is dropped, the launcher ends the command.
#[derive(Debug)]
pub(crate) struct LauncherLink {
    control: UnixStream,
    counters: OwnedFd,
    proxy: Option<EgressProxy>,
    _under_way: CommandUnderWay,
    /// The launcher has nothing to tidy up outside its namespaces: when it has reported, it is not waited for.
    ends_alone: bool,
    /// The report that came before the end of the launcher.
    reported: Option<LaunchReport>,
}

/// A command under way, whose end the launchers that wait are told of.
#[derive(Debug)]
struct CommandUnderWay {
    prestarted: PrestartedLaunchers,
    /// The launcher that the next command wants; told once.
    next: Option<NextLauncher>,
}

impl Drop for CommandUnderWay {
    fn drop(&mut self) {
        self.next.take().into_iter().for_each(|next| self.prestarted.command_ended(next));
    }
}

pub(crate) fn start(
    launcher: &Launcher,
    task: LaunchTask<'_>,
) -> Result<(ChildProcess, LauncherLink), ToolError> {
    // Rules are enforced by name, and that name may be another directory's by now.
    if !is_where_it_was(&task) {
        let name = task.directory_name.display();
        let what = format!("{name} was moved, removed or replaced since the workspace was opened");
        return Err(ToolError::failed("command", what));
    }
    // Nothing could be put beside it, such as an empty home or what is hidden.
    let is_all = |path: &PathBuf| path.parent().is_none();
    if task.rules.backend.has_own_tree() && task.rules.writable.iter().any(is_all) {
        let what = "a sandboxed command cannot write all of /; choose a directory in it";
        return Err(ToolError::failed("command", what));
    }
    // Elsewhere it would write the workspace itself.
    if task.rules.layer.is_some() && task.rules.backend != Backend::Namespaces {
        let what = "a command runs on a layer only with the back end `namespaces`";
        return Err(ToolError::failed("command", what));
    }
    start_launcher(launcher, task).map_err(|error| {
        let failed = format!("cannot start its launcher: {error}");
        let failed = ToolError::failed("command", failed);
        match error.kind() {
            std::io::ErrorKind::NotFound => failed.hint("commands need /proc; is it mounted?"),
            std::io::ErrorKind::WouldBlock => {
                failed.hint("too many processes run; end some, or raise the limit: ulimit -u")
            }
            _ => failed,
        }
    })
}

fn is_where_it_was(task: &LaunchTask<'_>) -> bool {
    let held = rustix::fs::fstat(&task.directory);
    let named = rustix::fs::stat(task.directory_name);
    match (held, named) {
        (Ok(held), Ok(named)) => (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino),
        _ => false,
    }
}

/// The command's environment. Git ends at a settings file that it may not open, and does without one
/// that is empty: where Landlock keeps it from a home's, it is told to look elsewhere.
fn environment(task: &LaunchTask<'_>) -> Vec<(OsString, OsString)> {
    let mut environment = task.environment.to_vec();
    let homes = &task.rules.homes;
    let misses_git = || homes.iter().flat_map(|home| withheld(home)).any(|one| one.is_gits());
    if task.rules.backend == Backend::Landlock && misses_git() {
        environment.push(("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()));
    }
    environment
}

fn start_launcher(
    launcher: &Launcher,
    task: LaunchTask<'_>,
) -> std::io::Result<(ChildProcess, LauncherLink)> {
    let counters = rustix::fs::memfd_create("counters", MemfdFlags::CLOEXEC)?;
    rustix::fs::ftruncate(&counters, 16)?;
    let records = launcher.records.as_deref().filter(|_| task.record.is_some());
    let records = records.map(StateDir::open).transpose()?;
    let records = records.map(|records| open_directory_at(records.path())).transpose()?;
    let loopback = launcher.loopback.as_ref().filter(|_| task.rules.shares_loopback);
    let credentials = credentials(task.rules, loopback.is_some())?;
    let (proxy, listener) = open_proxy(task.rules, credentials.as_deref())?.unzip();
    let mut given = vec![(task.stdin.as_fd(), 0), (counters.as_fd(), COUNTERS)];
    // Behind a layer nothing leads to the workspace itself.
    if task.rules.layer.is_none() {
        given.push((task.directory.as_fd(), DIRECTORY));
    }
    given.extend(task.output.given());
    given.extend(records.as_ref().map(|records| (records.as_fd(), RECORDS)));
    given.extend(listener.as_ref().map(|listener| (listener.as_fd(), PROXY_LISTENER)));
    given.extend(loopback.iter().flat_map(|loopback| loopback.numbered()));
    let (fds, numbers): (Vec<_>, Vec<_>) = given.into_iter().unzip();
    let order = LaunchOrder {
        numbers,
        environment: environment(&task),
        words: task.words,
        directory: task.directory_name.as_os_str().to_owned(),
        lifetime_ms: u64::try_from(task.lifetime.as_millis()).unwrap_or(u64::MAX),
        rules: task.rules.clone(),
        record: task.record.map(str::to_owned),
        terminal: task.output.terminal(),
        stage: LaunchStage::Outside,
        bwrap: launcher.bwrap.as_ref().map(|path| path.as_os_str().to_owned()),
        credentials,
    };
    let send_descriptor = |waiting: WaitingLauncher| -> std::io::Result<WaitingLauncher> {
        send_descriptors(&waiting.control, &fds)?;
        send(&waiting.control, &order)?;
        Ok(waiting)
    };
    // One that was killed this moment has not begun: an order that cannot be given is not followed.
    let ready = launcher.prestarted.take().and_then(|waiting| send_descriptor(waiting).ok());
    let WaitingLauncher { child, control } = match ready {
        Some(ready) => ready,
        None => send_descriptor(WaitingLauncher::start(&launcher.program, None)?)?,
    };
    let next = NextLauncher { program: launcher.program.clone(), forecast: task.rules.forecast() };
    let under_way = CommandUnderWay { prestarted: launcher.prestarted.clone(), next: Some(next) };
    // On a layer no placeholder stands in the workspace, and no name there is guarded.
    let is_all_held = task.rules.layer.as_ref().is_some_and(|layer| layer.direct.is_empty());
    let ends_alone = task.rules.backend == Backend::Namespaces && is_all_held;
    let (_under_way, reported) = (under_way, None);
    Ok((child, LauncherLink { control, counters, proxy, _under_way, ends_alone, reported }))
}

/// The credentials for the proxy. In a network of its own no other process finds it; elsewhere it is named by
/// a port that everybody on the machine can see.
fn credentials(rules: &ConfinementRules, is_shared: bool) -> std::io::Result<Option<String>> {
    let is_alone = rules.backend.has_own_tree() && !is_shared;
    match &rules.network {
        Network::Listed(_) if !is_alone => {
            let mut noise = [0_u8; 16];
            rustix::rand::getrandom(&mut noise[..], rustix::rand::GetRandomFlags::empty())?;
            Ok(Some(format!("jm:{:032x}", u128::from_ne_bytes(noise))))
        }
        Network::Listed(_) | Network::Off | Network::On => Ok(None),
    }
}

/// The egress proxy, and the descriptor that the launcher hands the listener out through.
fn open_proxy(
    rules: &ConfinementRules,
    credentials: Option<&str>,
) -> std::io::Result<Option<(EgressProxy, OwnedFd)>> {
    let Network::Listed(list) = &rules.network else { return Ok(None) };
    EgressProxy::open(list.clone(), credentials).map(Some)
}

impl LauncherLink {
    /// Asks for an orderly end.
    pub(crate) fn stop(&self) {
        ignore_error(
            (&self.control).write_all(b"s"),
            "a launcher that is gone has nothing left to stop",
        );
    }

    /// The refusals of the proxy.
    pub(crate) fn refused(&self) -> Vec<Refusal> {
        self.refusals().map(|refusals| refusals.all()).unwrap_or_default()
    }

    /// The same as it goes on.
    pub(crate) fn refusals(&self) -> Option<ProxyRefusals> {
        self.proxy.as_ref().map(EgressProxy::refusals)
    }

    /// Writes the counters of what was read so far, for the record that outlives us.
    pub(crate) fn count(&self, stdout: u64, stderr: u64) {
        let counters = [stdout.to_ne_bytes(), stderr.to_ne_bytes()].concat();
        ignore_error(
            rustix::io::pwrite(&self.counters, &counters, 0),
            "it only makes a record more precise",
        );
    }

    /// The socket on which a report comes that ends the command before its launcher has ended: by then all processes of
    /// the command have, and removing namespaces and mounts takes the kernel as long as making them.
    pub(crate) fn early_report(&self) -> Option<BorrowedFd<'_>> {
        (self.ends_alone && self.reported.is_none()).then(|| self.control.as_fd())
    }

    /// Takes the report that the socket holds; `true` if nothing is left of the command.
    pub(crate) fn take_early_report(&mut self) -> bool {
        match receive(&self.control) {
            Ok(report) => self.reported = Some(report),
            // It is gone without a word, which its exit code tells.
            Err(_) => self.ends_alone = false,
        }
        self.has_reported()
    }

    /// Tells whether nothing is left of the command, whatever its launcher still does.
    pub(crate) fn has_reported(&self) -> bool {
        let is_whole = |report: &LaunchReport| match report {
            LaunchReport::Ended(_, unended) => unended.is_empty(),
            LaunchReport::NotStarted { .. } => false,
        };
        self.ends_alone && self.reported.as_ref().is_some_and(is_whole)
    }

    /// The launcher's report: it has ended, or reported before.
    pub(crate) fn report(&mut self) -> Result<Option<(CommandEnding, Vec<Unended>)>, ToolError> {
        match self.reported.take().or_else(|| self.last_report()) {
            None => Ok(None),
            Some(LaunchReport::Ended(ended, unended)) => Ok(Some((ended, unended))),
            Some(LaunchReport::NotStarted { step, why }) if step.is_empty() => {
                Err(ToolError::failed("command", format!("cannot start: {why}")))
            }
            Some(LaunchReport::NotStarted { step, why }) => {
                Err(ToolError::failed("command", format!("it was not started: {step}: {why}")))
            }
        }
    }

    /// Reads what a launcher that has ended left in the socket.
    fn last_report(&self) -> Option<LaunchReport> {
        self.control.set_nonblocking(true).ok()?;
        receive(&self.control).ok()
    }
}
