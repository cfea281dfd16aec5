//! The daemon of a job: this program once more, for one command that goes on in the background.
//!
//! Law: it lives as long as the command, and ends it when its session does, unless the command shall
//! be kept. All that is printed goes to the job's folder, and how it ended is written there before
//! the folder's lock is given up. If the daemon itself is killed, the launcher sees that and ends
//! everything.

use std::fs::File;
use std::io::{ErrorKind, Result};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jm_system::clock::now_epoch_ms;
use jm_system::descriptors::open_dev_null;
use jm_system::identity::ProcessIdentity;
use jm_system::small_file::{Durability, replace_small_file};
use jm_types::{Cancel, ToolError, ignore_error};
use rustix::fd::OwnedFd;
use rustix::io::FdFlags;

use super::folder::{COMMAND, END, JobEnd, JobEnding, OUTPUT, SOCKET};
use super::protocol::{
    DAEMON, DIRECTORY, DaemonOrder, DaemonReport, FOLDER, JobLifetime, LINE, LOCK,
    NETWORK_NAMESPACE, Publication, USER_NAMESPACE,
};
use super::publisher::Publisher;
use super::screen::{ScreenText, TerminalScreen};
use super::server::serve;
use super::shared::{DaemonShared, in_words, lock};
use super::typing::Typing;
use crate::contract::descriptors::{high_numbered_copy, receive_descriptor};
use crate::contract::ending::CommandEnding;
use crate::contract::kill_failures::Unended;
use crate::contract::message::{receive, send};
use crate::contract::protocol::given;
use crate::outside::command::{ENDED_SILENTLY, run_with_output};
use crate::outside::launcher::Launcher;
use crate::outside::launcher_link::{self, CommandOutput, LaunchTask};
use crate::outside::output_reader::{ChunkAnswer, CommandStream, OutputListener};
use crate::outside::session_loopback::SessionLoopback;
use crate::outside::spool::{Spool, SpoolDir};

/// Runs as the daemon of a job, if the first word of the command line says so.
pub fn run_as_daemon() -> Option<ExitCode> {
    let word = std::env::args_os().nth(1)?;
    (word == DAEMON).then(|| match run_daemon() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

fn run_daemon() -> Result<()> {
    for number in [LINE, LOCK, DIRECTORY, FOLDER] {
        rustix::io::fcntl_setfd(given(number), FdFlags::CLOEXEC)?;
    }
    let order: DaemonOrder = receive(line()?)?;
    let loopback = if order.has_loopback { Some(Arc::new(session_loopback()?)) } else { None };
    let own = ProcessIdentity::own();
    let note = format!("{} {} {}\n", own.pid, own.started, own.boot);
    rustix::io::pwrite(given(LOCK), note.as_bytes(), 0)?;
    let began = Instant::now();
    let publisher = Arc::new(Publisher::new(order.launcher.clone(), loopback.clone()));
    let ran = publish(&publisher, &order.publication)
        .and_then(|()| run_to_its_end(&order, loopback, &publisher));
    publisher.close();
    let KeptOutcome { how, screen, refused } = match ran {
        Ok(kept) => kept,
        Err(error) if error.to_string().contains(ENDED_SILENTLY) => {
            KeptOutcome::nothing(JobEnding::Unknown)
        }
        Err(error) => {
            // The program may not have a report yet; later it does not listen.
            let why = error.to_string();
            let sent = send(line()?, &DaemonReport::NotStarted(why.clone()));
            ignore_error(sent, "a program that has its report already does not listen");
            KeptOutcome::nothing(JobEnding::NotStarted(why))
        }
    };
    let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    write_end(&JobEnd { how, elapsed_ms, at_ms: now_epoch_ms(), screen, refused })
}

/// Publishes ports before the command starts: without one that is required it is not started.
fn publish(publisher: &Arc<Publisher>, ports: &Publication) -> std::result::Result<(), ToolError> {
    let fail = |why: String| ToolError::failed("process", why);
    for port in &ports.required {
        match publisher.publish(*port) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                let report = line().and_then(|line| send(line, &DaemonReport::PortTaken(*port)));
                ignore_error(report, "a program that is gone needs no report");
                return Err(fail(format!("port {port} is in use")));
            }
            Err(error) => return Err(fail(format!("port {port} was not published: {error}"))),
        }
    }
    publisher.publish_when_free(ports.granted.clone()).map_err(|error| fail(error.to_string()))
}

/// The loopback that we were given. Its descriptors go to the launcher and to whoever asks, and to no other process.
fn session_loopback() -> Result<SessionLoopback> {
    let mut taken = Vec::new();
    for number in [USER_NAMESPACE, NETWORK_NAMESPACE] {
        taken.push(high_numbered_copy(&given(number))?);
        rustix::io::fcntl_setfd(given(number), FdFlags::CLOEXEC)?;
    }
    SessionLoopback::received(taken).ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

fn line() -> Result<File> {
    Ok(File::from(given(LINE).try_clone_to_owned()?))
}

/// The facts that are left of a command when it has ended.
struct KeptOutcome {
    how: JobEnding,
    /// The last content of its terminal.
    screen: Option<ScreenText>,
    /// By the proxy, in words; and the processes that could not be ended.
    refused: Vec<String>,
}

impl KeptOutcome {
    fn nothing(how: JobEnding) -> Self {
        Self { how, screen: None, refused: Vec::new() }
    }
}

/// Runs the command to its end.
fn run_to_its_end(
    order: &DaemonOrder,
    loopback: Option<Arc<SessionLoopback>>,
    publisher: &Arc<Publisher>,
) -> std::result::Result<KeptOutcome, ToolError> {
    let fail = |error: std::io::Error| ToolError::failed("process", error.to_string());
    let streams = DaemonStreams::open(order).map_err(fail)?;
    let shared = Arc::new(DaemonShared {
        typing: Mutex::new(None),
        answers: Mutex::new(None),
        refusals: Mutex::new(None),
        answering: Mutex::new(()),
        screen: order.terminal.map(|size| Mutex::new(TerminalScreen::new(size))),
        cancel: Cancel::new(),
        reason: Mutex::new(None),
        loopback: loopback.clone(),
        publisher: Arc::clone(publisher),
    });
    listen(&shared).map_err(fail)?;
    if order.keeping == JobLifetime::WithTheSession {
        let (shared, line) = (Arc::clone(&shared), line().map_err(fail)?);
        let watch = std::thread::Builder::new().spawn(move || watch_owner(&shared, line));
        watch.map_err(fail)?;
    }
    let spools = SpoolDir::below(&order.folder);
    let mut listener = DaemonListener {
        spool: spools.begin(OUTPUT, order.keep_bytes),
        shared: Arc::clone(&shared),
    };
    let lifetime = Duration::from_millis(order.lifetime_ms);
    let DaemonStreams { stdin, output, ours } = streams;
    let start = || {
        let environment: Vec<_> = std::env::vars_os().collect();
        let directory = given(DIRECTORY).try_clone_to_owned().map_err(fail)?;
        let task = LaunchTask {
            words: order.words.clone(),
            directory,
            directory_name: order.directory.as_ref(),
            environment: &environment,
            stdin,
            output,
            lifetime,
            rules: &order.rules,
            record: Some(COMMAND),
        };
        let launcher = Launcher {
            records: Some(order.folder.clone()),
            bwrap: order.bwrap.clone(),
            loopback,
            ..Launcher::new(&order.launcher)
        };
        let (child, line) = launcher_link::start(&launcher, task)?;
        *lock(&shared.refusals) = line.refusals();
        Ok((child, line, ours.connect(&shared).map_err(fail)?))
    };
    let finished = run_with_output(start, lifetime, &shared.cancel, &mut listener)?;
    // A key that ends the command was typed by a request that still waits for its answer.
    drop(lock(&shared.answering));
    let ending = match finished.ending {
        stopped @ (CommandEnding::Stopped | CommandEnding::Orphaned) => {
            lock(&shared.reason).take().unwrap_or(stopped)
        }
        ending @ (CommandEnding::Exited(_) | CommandEnding::TimedOut) => ending,
    };
    let how = JobEnding::Ended(ending);
    let screen = shared.screen.as_ref().map(|screen| lock(screen).text());
    let mut refused = in_words(&finished.refused_by_proxy);
    refused.extend(finished.unended.iter().map(Unended::in_words));
    Ok(KeptOutcome { how, screen, refused })
}

/// The command's streams, and where our ends of them come from.
struct DaemonStreams {
    stdin: OwnedFd,
    output: CommandOutput,
    ours: DaemonEnds,
}

enum DaemonEnds {
    Pipes {
        printed: OwnedFd,
        typing: OwnedFd,
    },
    /// The launcher opens the terminal where the command is, and hands our end out here.
    Terminal(UnixStream),
}

impl DaemonStreams {
    fn open(order: &DaemonOrder) -> Result<Self> {
        if let Some(size) = order.terminal {
            let (ours, theirs) = UnixStream::pair()?;
            let output = CommandOutput::Terminal(size, theirs.into());
            return Ok(Self { stdin: open_dev_null()?, output, ours: DaemonEnds::Terminal(ours) });
        }
        let flags = rustix::pipe::PipeFlags::CLOEXEC;
        let (stdin, typing) = rustix::pipe::pipe_with(flags)?;
        let (printed, output) = rustix::pipe::pipe_with(flags)?;
        let output = CommandOutput::Joined(output);
        Ok(Self { stdin, output, ours: DaemonEnds::Pipes { printed, typing } })
    }
}

impl DaemonEnds {
    /// The launcher was started: from here on can be typed. Where the command's output comes from.
    fn connect(self, shared: &DaemonShared) -> Result<OwnedFd> {
        let (printed, typing) = match self {
            Self::Pipes { printed, typing } => (printed, Typing::pipe(typing)),
            Self::Terminal(receiver) => match receive_descriptor(&receiver) {
                Some(terminal) => {
                    *lock(&shared.answers) = Some(terminal.try_clone()?);
                    (terminal.try_clone()?, Typing::terminal(terminal))
                }
                // It could not be opened, and the launcher is about to say why.
                None => return open_dev_null(),
            },
        };
        typing.never_block()?;
        *lock(&shared.typing) = Some(typing);
        Ok(printed)
    }
}

/// The path may be longer than a socket's may be, so it is reached through the folder.
fn listen(shared: &Arc<DaemonShared>) -> Result<()> {
    let listener = UnixListener::bind(format!("/proc/self/fd/{FOLDER}/{SOCKET}"))?;
    let shared = Arc::clone(shared);
    std::thread::Builder::new().spawn(move || serve(&listener, &shared))?;
    Ok(())
}

/// A byte says that the session ends, the end of the stream that the program is gone.
fn watch_owner(shared: &DaemonShared, line: File) {
    let mut byte = [0_u8; 1];
    loop {
        match rustix::io::read(&line, &mut byte[..]) {
            Ok(0) => return shared.stop(CommandEnding::Orphaned),
            Ok(_) => return shared.stop(CommandEnding::Stopped),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return shared.stop(CommandEnding::Orphaned),
        }
    }
}

/// Takes what the command prints to the folder and to the screen.
struct DaemonListener {
    spool: Spool,
    shared: Arc<DaemonShared>,
}

impl OutputListener for DaemonListener {
    fn started(&mut self, _: u32) {
        if let Ok(line) = line() {
            ignore_error(
                send(line, &DaemonReport::Started),
                "a program that is gone by now is noticed by others",
            );
        }
    }

    fn keep(&mut self, stream: CommandStream, bytes: &[u8]) {
        self.spool.write(stream, bytes);
        let Some(screen) = &self.shared.screen else { return };
        let said = lock(screen).show(bytes);
        if let (Some(terminal), false) = (&*lock(&self.shared.answers), said.is_empty()) {
            ignore_error(
                rustix::io::write(terminal, &said),
                "a program that does not read what it asked for does not get it",
            );
        }
    }

    fn hear(&mut self, _: CommandStream, _: &str) -> ChunkAnswer {
        ChunkAnswer::Gone
    }

    fn hear_last(&mut self, _: CommandStream, _: &str) {}
}

/// Whole or not at all. Not synced: after a power cut nothing runs any more anyway.
fn write_end(end: &JobEnd) -> Result<()> {
    let folder = given(FOLDER);
    replace_small_file(folder, END, &serde_json::to_vec(end)?, Durability::ProcessEnd)?;
    ignore_error(
        rustix::fs::unlinkat(folder, SOCKET, rustix::fs::AtFlags::empty()),
        "no thread answers there any more",
    );
    Ok(())
}
