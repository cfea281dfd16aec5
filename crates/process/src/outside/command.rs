//! Running one command to its end, whatever it does.
//!
//! Law: a command ends when its first process ends, not when its pipes close; then every process
//! it left behind is killed, by its launcher or by us. Output is kept as head and tail in bounded
//! memory, and each chunk that a listener was offered reaches it or is joined to the next one.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use jm_files::SafePath;
use jm_system::os_error::errno_text;
use jm_types::text::truncate::HeadTail;
use jm_types::{Cancel, ToolError, ignore_error};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use super::child::ChildProcess;
pub use super::command_request::{CommandSpec, FinishedCommand};
use super::launcher::Confinement;
use super::launcher_link::{self, CommandOutput, LaunchTask, LauncherLink};
use super::output_reader::{CommandStream, NoListener, OutputListener, OutputReader, OutputView};
pub use super::program::CommandProgram;
use super::reaper::{self, RegisteredChild};
pub use super::stdin_writer::CommandInput;
use super::stdin_writer::StdinWriter;
pub use crate::contract::ending::{CommandEnding, Exit};
use crate::contract::kill_failures::{self, Unended, kill_group};
pub use crate::contract::record::CommandRecord;

/// After the command ended, output may still be in the pipes for this long.
const DRAIN: Duration = Duration::from_millis(60);
const DRAIN_AFTER_KILL: Duration = Duration::from_millis(500);
/// The time that a launcher may take to end its command.
const ORDERLY_END: Duration = Duration::from_millis(1500);
const SLICE: Duration = Duration::from_millis(5);
/// A launcher that has not ended the command so long after its time has failed.
const OVERTIME: Duration = Duration::from_secs(2);

/// The error of a launcher that was killed: the command had begun, and no process saw how it ended.
pub(crate) const ENDED_SILENTLY: &str = "its launcher ended unexpectedly";

/// Runs the command to its end, on this thread.
pub fn run_command(
    mut spec: CommandSpec,
    cancel: &Cancel,
    listener: &mut dyn OutputListener,
) -> Result<FinishedCommand, ToolError> {
    let input = std::mem::take(&mut spec.input);
    let view = listener.view();
    let bounds = CommandBounds { timeout: spec.timeout, keep: spec.keep_bytes, view, input };
    match &spec.confinement {
        Confinement::Unsupervised => {
            let stdin = bounds.input.stdio();
            let start = || {
                let mut child = spawn(&spec, stdin)?;
                let streams = ParentStreams {
                    stdin: child.stdin.take().map(OwnedFd::from),
                    stdout: child.stdout.take().map(OwnedFd::from),
                    stderr: child.stderr.take().map(OwnedFd::from),
                };
                Ok(StartedCommand { child: child.into(), link: None, streams })
            };
            watch(start, bounds, cancel, listener)
        }
        Confinement::Supervised { launcher, rules, record } => {
            let opened = command_streams(&bounds.input);
            let start = || {
                let (streams, stdin, output) =
                    opened.map_err(|error| ToolError::failed("command", error.to_string()))?;
                let path = spec.directory.absolute();
                let task = LaunchTask {
                    words: spec.program.words(),
                    directory: open_directory(&spec.directory)?,
                    directory_name: &path,
                    environment: &spec.environment,
                    stdin,
                    output,
                    lifetime: spec.timeout,
                    rules,
                    record: record.as_deref(),
                };
                let (child, link) = launcher_link::start(launcher, task)?;
                Ok(StartedCommand { child, link: Some(link), streams })
            };
            watch(start, bounds, cancel, listener)
        }
    }
}

/// The input of a command, and the bounds of its time and output.
struct CommandBounds {
    timeout: Duration,
    keep: usize,
    view: OutputView,
    input: CommandInput,
}

/// A command that runs.
struct StartedCommand {
    child: ChildProcess,
    link: Option<LauncherLink>,
    streams: ParentStreams,
}

/// Our ends of a command's streams.
#[derive(Default)]
pub(crate) struct ParentStreams {
    stdin: Option<OwnedFd>,
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
}

/// Output and errors apart: our ends, and what the command gets.
pub(crate) fn command_streams(
    input: &CommandInput,
) -> std::io::Result<(ParentStreams, OwnedFd, CommandOutput)> {
    let flags = rustix::pipe::PipeFlags::CLOEXEC;
    let (theirs, stdin) = input.open()?;
    let (ours, stdout) = rustix::pipe::pipe_with(flags)?;
    let (errors, stderr) = rustix::pipe::pipe_with(flags)?;
    let streams = ParentStreams { stdin, stdout: Some(ours), stderr: Some(errors) };
    Ok((streams, theirs, CommandOutput::Apart { stdout, stderr }))
}

/// Runs a launcher without listener and without cancellation.
pub(crate) fn run_quietly(
    start: impl FnOnce() -> Result<(ChildProcess, LauncherLink), ToolError>,
    streams: ParentStreams,
    timeout: Duration,
) -> Result<FinishedCommand, ToolError> {
    const KEEP: usize = 1024;
    let start = || start().map(|(child, link)| StartedCommand { child, link: Some(link), streams });
    let (view, input) = (OutputView::Exact, CommandInput::Closed);
    let bounds = CommandBounds { timeout, keep: KEEP, view, input };
    watch(start, bounds, &Cancel::new(), &mut NoListener)
}

/// A launcher whose command has streams of another kind: all that it prints comes from the descriptor
/// that its start gives, and only the listener keeps it.
pub(crate) fn run_with_output(
    start: impl FnOnce() -> Result<(ChildProcess, LauncherLink, OwnedFd), ToolError>,
    timeout: Duration,
    cancel: &Cancel,
    listener: &mut dyn OutputListener,
) -> Result<FinishedCommand, ToolError> {
    let start = || {
        let (child, link, output) = start()?;
        let streams = ParentStreams { stdout: Some(output), ..ParentStreams::default() };
        Ok(StartedCommand { child, link: Some(link), streams })
    };
    let (view, input) = (OutputView::Exact, CommandInput::Closed);
    let bounds = CommandBounds { timeout, keep: 0, view, input };
    watch(start, bounds, cancel, listener)
}

/// From the start of a process to the death of the last one.
fn watch(
    start: impl FnOnce() -> Result<StartedCommand, ToolError>,
    bounds: CommandBounds,
    cancel: &Cancel,
    listener: &mut dyn OutputListener,
) -> Result<FinishedCommand, ToolError> {
    let began = Instant::now();
    let wake = wake_on(cancel)?;
    reaper::adopt_orphans();
    let (mut link, mut streams) = (None, ParentStreams::default());
    let (child, registered) = reaper::start(|| {
        let started = start()?;
        (link, streams) = (started.link, started.streams);
        Ok(started.child)
    })?;
    let pid = child.pid();
    listener.started(pid.as_raw_nonzero().get().unsigned_abs());
    // A launcher keeps the time itself; we only notice if it does not.
    let deadline = began + bounds.timeout + if link.is_some() { OVERTIME } else { Duration::ZERO };
    let mut running = match RunningCommand::new(pid, streams, bounds, deadline, wake, link) {
        Ok(running) => running,
        Err(error) => {
            let mut unended: Vec<Unended> = kill_group(pid).into_iter().collect();
            kill_failures::join(&mut unended, registered.sweep());
            return Err(unended.iter().map(Unended::in_words).fold(error, ToolError::hint));
        }
    };
    let stopped = running.until_it_ends(cancel, listener);
    running.wind_down(stopped, listener);
    let (status, mut unended) = running.clear_away(&child, registered)?;
    let ended = running.how_it_ended(stopped, status).map(|(ending, more)| {
        kill_failures::join(&mut unended, more);
        ending
    });
    let refused_by_proxy = running.link.as_ref().map(LauncherLink::refused).unwrap_or_default();
    let (stdout, stderr, is_redrawn) = running.close(listener);
    let (ending, elapsed) = (ended?, began.elapsed());
    Ok(FinishedCommand { ending, elapsed, stdout, stderr, is_redrawn, refused_by_proxy, unended })
}

fn from_status(status: ExitStatus) -> CommandEnding {
    CommandEnding::Exited(Exit::of(status.code(), status.signal()))
}

/// A descriptor that becomes readable when the call is cancelled.
fn wake_on(cancel: &Cancel) -> Result<OwnedFd, ToolError> {
    let fail = |error: Errno| ToolError::failed("command", errno_text(error));
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(fail)?;
    cancel.on_cancel(move || {
        ignore_error(
            rustix::io::write(&write, b"x"),
            "the pipe is only ever written here; a full one has said it already",
        );
    });
    Ok(read)
}

pub(crate) fn open_directory(directory: &SafePath) -> Result<OwnedFd, ToolError> {
    directory.open_directory().map_err(|error| ToolError::io(directory.asked(), errno_text(error)))
}

fn spawn(spec: &CommandSpec, stdin: Stdio) -> Result<Child, ToolError> {
    let words = spec.program.words();
    let first = words.first().ok_or_else(|| ToolError::bad_args("empty command"))?;
    let mut command = Command::new(first);
    command.args(&words[1..]);
    let directory = open_directory(&spec.directory)?;
    command.env_clear().envs(spec.environment.iter().map(|(k, v)| (k, v)));
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    detach(&mut command, directory);
    command.spawn().map_err(|error| ToolError::failed("command", format!("cannot start: {error}")))
}

/// Own session, no terminal, dies with us, starts in the directory we hold open, and inherits
/// nothing but its three streams.
#[allow(unsafe_code)]
fn detach(command: &mut Command, directory: OwnedFd) {
    let prepare = move || {
        rustix::process::setsid()?;
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        rustix::process::fchdir(&directory)?;
        close_the_rest();
        Ok(())
    };
    // SAFETY: between fork and exec only system calls that are async-signal-safe are made; nothing
    // is allocated and no lock is taken.
    unsafe { command.pre_exec(prepare) };
}

/// Marks every descriptor above the standard ones to be closed at exec.
#[allow(unsafe_code)]
fn close_the_rest() {
    #[cfg(target_os = "linux")]
    {
        const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
        // SAFETY: takes no pointers; a kernel without the call answers ENOSYS, and then the
        // close-on-exec flags that every descriptor of ours carries are what is left.
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC) };
    }
}

/// A command under way.
struct RunningCommand {
    exit: OwnedFd,
    wake: OwnedFd,
    deadline: Instant,
    stdin: StdinWriter,
    stdout: OutputReader,
    stderr: OutputReader,
    link: Option<LauncherLink>,
}

impl RunningCommand {
    fn new(
        child: Pid,
        streams: ParentStreams,
        bounds: CommandBounds,
        deadline: Instant,
        wake: OwnedFd,
        link: Option<LauncherLink>,
    ) -> Result<Self, ToolError> {
        let fail = |error: Errno| ToolError::failed("command", errno_text(error));
        let exit = pidfd_open(child, PidfdFlags::empty()).map_err(fail)?;
        let ParentStreams { stdin, stdout, stderr } = streams;
        Ok(Self {
            exit,
            wake,
            deadline,
            stdin: StdinWriter::new(stdin, bounds.input).map_err(fail)?,
            stdout: OutputReader::new(CommandStream::Stdout, stdout, bounds.keep, bounds.view)
                .map_err(fail)?,
            stderr: OutputReader::new(CommandStream::Stderr, stderr, bounds.keep, bounds.view)
                .map_err(fail)?,
            link,
        })
    }

    /// `None` when the command ended by itself, otherwise why it must be stopped.
    fn until_it_ends(
        &mut self,
        cancel: &Cancel,
        listener: &mut dyn OutputListener,
    ) -> Option<CommandEnding> {
        loop {
            if cancel.is_cancelled() {
                return Some(CommandEnding::Stopped);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(CommandEnding::TimedOut);
            }
            if self.wait(left, listener) {
                return None;
            }
        }
    }

    /// Waits for anything to happen, feeds and pumps; `true` when the command has exited.
    fn wait(&mut self, most: Duration, listener: &mut dyn OutputListener) -> bool {
        let most = if self.stdout.is_held() || self.stderr.is_held() {
            most.min(Duration::from_millis(5))
        } else {
            most
        };
        let mut fds =
            vec![PollFd::new(&self.exit, PollFlags::IN), PollFd::new(&self.wake, PollFlags::IN)];
        for reader in [&self.stdout, &self.stderr] {
            if let Some(pipe) = reader.wanted() {
                fds.push(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN));
            }
        }
        if let Some(pipe) = self.stdin.wanted() {
            fds.push(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::OUT));
        }
        let report = self.link.as_ref().and_then(LauncherLink::early_report);
        let watches_report = report.is_some();
        fds.extend(report.map(|report| PollFd::from_borrowed_fd(report, PollFlags::IN)));
        let timeout = Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(most.subsec_nanos()),
        };
        let happened = poll(&mut fds, Some(&timeout)).is_ok();
        let has =
            |fd: Option<&PollFd<'_>>| happened && fd.is_some_and(|fd| !fd.revents().is_empty());
        let (exited, reported) = (has(fds.first()), watches_report && has(fds.last()));
        self.stdin.write_available();
        self.stdout.read_available(listener);
        self.stderr.read_available(listener);
        let Some(link) = &mut self.link else { return exited };
        link.count(self.stdout.total(), self.stderr.total());
        // Whoever has ended has reported before.
        let is_over = reported && link.take_early_report();
        exited || is_over
    }

    /// Sees to it that no process of the command is left; gives the exit status, and names what could not be ended.
    fn clear_away(
        &self,
        child: &ChildProcess,
        registered: RegisteredChild,
    ) -> Result<(Option<ExitStatus>, Vec<Unended>), ToolError> {
        if self.link.as_ref().is_some_and(LauncherLink::has_reported) {
            registered.leave();
            return Ok((None, Vec::new()));
        }
        // The first process is not reaped yet, so its group number cannot have been given away.
        let mut unended: Vec<Unended> = kill_group(child.pid()).into_iter().collect();
        let status = self.await_exit(child)?;
        if self.link.is_some() && status.is_some_and(|status| status.success()) {
            registered.release()
        } else {
            // Whoever still holds a pipe is killed here, so the pipes close.
            kill_failures::join(&mut unended, registered.sweep())
        }
        Ok((status, unended))
    }

    /// Gives a launcher the time to end the command in an orderly way.
    fn wind_down(&mut self, stopped: Option<CommandEnding>, listener: &mut dyn OutputListener) {
        let (Some(link), Some(_)) = (&self.link, stopped) else {
            return self.drain(DRAIN, listener);
        };
        link.stop();
        let until = Instant::now() + ORDERLY_END;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            // The request to cancel stays readable; it must not keep us busy.
            if left.is_zero() || self.wait_for_exit(left.min(SLICE), listener) {
                return;
            }
        }
    }

    fn wait_for_exit(&mut self, most: Duration, listener: &mut dyn OutputListener) -> bool {
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(most.subsec_nanos()) };
        let mut fds = [PollFd::new(&self.exit, PollFlags::IN)];
        let exited = poll(&mut fds, Some(&timeout)).is_ok_and(|count| count > 0);
        self.stdout.read_available(listener);
        self.stderr.read_available(listener);
        exited
    }

    /// The launcher saw it, and what it could not end; without one, the status of the first process
    /// says it.
    fn how_it_ended(
        &mut self,
        stopped: Option<CommandEnding>,
        status: Option<ExitStatus>,
    ) -> Result<(CommandEnding, Vec<Unended>), ToolError> {
        let Some(link) = &mut self.link else {
            let ending =
                stopped.or_else(|| status.map(from_status)).unwrap_or(CommandEnding::TimedOut);
            return Ok((ending, Vec::new()));
        };
        match (link.report()?, stopped) {
            // Stopped by us, whatever it made of that.
            (Some((CommandEnding::Stopped | CommandEnding::Orphaned, unended)), Some(stopped)) => {
                Ok((stopped, unended))
            }
            (Some(told), _) => Ok(told),
            (None, Some(ending)) => Ok((ending, Vec::new())),
            (None, None) => {
                let status = status.map(|status| status.to_string()).unwrap_or_default();
                Err(ToolError::failed("command", format!("{ENDED_SILENTLY}: {status}")))
            }
        }
    }

    /// Takes what is still in the pipes, for at most `most`.
    fn drain(&mut self, most: Duration, listener: &mut dyn OutputListener) {
        let until = Instant::now() + most;
        while !(self.stdout.is_closed() && self.stderr.is_closed()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let mut fds = Vec::with_capacity(2);
            for reader in [&self.stdout, &self.stderr] {
                if let Some(pipe) = reader.wanted() {
                    fds.push(PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN));
                }
            }
            let slice = left.min(Duration::from_millis(5));
            let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(slice.subsec_nanos()) };
            ignore_error(
                poll(&mut fds, Some(&timeout)),
                "interrupted or not, the readers find out themselves",
            );
            self.stdout.read_available(listener);
            self.stderr.read_available(listener);
        }
    }

    /// A killed process ends at once, unless the kernel holds it; then it is not waited for.
    fn await_exit(&self, child: &ChildProcess) -> Result<Option<ExitStatus>, ToolError> {
        let patience = Timespec { tv_sec: 2, tv_nsec: 0 };
        let mut fds = [PollFd::new(&self.exit, PollFlags::IN)];
        ignore_error(poll(&mut fds, Some(&patience)), "the wait below finds out");
        child.try_wait().map_err(|error| ToolError::failed("command", error.to_string()))
    }

    /// Both streams, and whether anything was drawn over in them.
    fn close(mut self, listener: &mut dyn OutputListener) -> (HeadTail, HeadTail, bool) {
        self.drain(DRAIN_AFTER_KILL, listener);
        let is_redrawn =
            [&mut self.stdout, &mut self.stderr].map(OutputReader::settle).contains(&true);
        (self.stdout.close(listener), self.stderr.close(listener), is_redrawn)
    }
}
