//! The process of a tool server: pipes for the protocol, its standard error in a log of bounded size.
//!
//! Law: it is behind its launcher, so it ends with us, whoever dies first. Its log never grows without bound, and
//! it never waits for the log to be read.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jm_files::SafePath;
use jm_types::{ToolError, ignore_error};
use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, pipe_with};

use super::child_process::Companion;
use super::launcher::Confinement;
use super::launcher_link::CommandOutput;
use crate::contract::descriptors::high_numbered_copy;

/// The bytes of a log; then it begins anew.
const MOST_LOG: u64 = 1024 * 1024;
/// The bytes of the end that are kept in memory.
const MOST_TAIL: usize = 4 * 1024;
/// How long the rest of its standard error is waited for; what it left running may hold that open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A server's start.
#[derive(Debug)]
pub struct ServerCommand<'a> {
    /// The rules that hold it.
    pub confinement: &'a Confinement,
    /// The directory that it works in.
    pub directory: &'a SafePath,
    /// All variables; nothing is inherited.
    pub environment: &'a [(OsString, OsString)],
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// The file of its standard error.
    pub log: Option<PathBuf>,
}

/// A server that was started.
#[derive(Debug)]
pub struct ServerProcess {
    companion: Companion,
    tail: Arc<Mutex<VecDeque<u8>>>,
    /// Closed when all of its standard error was read.
    log_end: Receiver<()>,
}

/// Our ends of a server's standard input and output.
#[derive(Debug)]
pub struct ServerStreams {
    /// Writes to the server.
    pub stdin: OwnedFd,
    /// Reads from the server.
    pub stdout: OwnedFd,
}

impl ServerProcess {
    /// Starts the server; its standard error goes to a file and its end is kept for messages.
    pub fn start(command: ServerCommand<'_>) -> Result<(ServerStreams, Self), ToolError> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(&error.into()));
        let copy = |fd: &OwnedFd| high_numbered_copy(fd).map_err(|error| failed(&error));
        let (their_stdin, stdin) = pipe()?;
        let (stdout, their_stdout) = pipe()?;
        let (stderr, their_stderr) = pipe()?;
        let ServerCommand { confinement, directory, environment, words, log } = command;
        let output =
            CommandOutput::Apart { stdout: copy(&their_stdout)?, stderr: copy(&their_stderr)? };
        let input = copy(&their_stdin)?;
        let streams = (input, output);
        let companion =
            Companion::start_behind(confinement, directory, environment, words, streams)?;
        let tail = Arc::default();
        let log_end = keep_log(stderr, log, Arc::clone(&tail)).map_err(|error| failed(&error))?;
        Ok((ServerStreams { stdin, stdout }, Self { companion, tail, log_end }))
    }

    /// Waits so long for its end, then ends it; says how it ended.
    pub fn end(&mut self, patience: Duration) -> Option<String> {
        if let Some(ending) = self.companion.ending_within(patience) {
            ignore_error(self.log_end.recv_timeout(LAST_WORDS), "what was read by then is told");
            return Some(ending);
        }
        self.companion.kill();
        None
    }

    /// The end of what it wrote to standard error.
    pub fn last_words(&self) -> String {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = tail.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Reads to the end on a thread of its own, of which the receiver hears.
fn keep_log(
    stderr: OwnedFd,
    log: Option<PathBuf>,
    tail: Arc<Mutex<VecDeque<u8>>>,
) -> std::io::Result<Receiver<()>> {
    let mut stderr = File::from(stderr);
    let (at_end, log_end) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name("server log".to_owned());
    let read = move || {
        let mut log = log.and_then(|path| LogFile::open(path).ok());
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(count @ 1..) = stderr.read(&mut buffer) {
            let bytes = &buffer[..count];
            let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
            tail.extend(bytes);
            let beyond = tail.len().saturating_sub(MOST_TAIL);
            tail.drain(..beyond);
            drop(tail);
            if let Some(log) = &mut log {
                log.write(bytes);
            }
        }
        ignore_error(at_end.send(()), "nobody waits for it any more");
    };
    thread.spawn(read).map(|_| log_end)
}

struct LogFile {
    file: File,
    written: u64,
}

impl LogFile {
    fn open(path: PathBuf) -> std::io::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = std::fs::OpenOptions::new();
        options.create(true).write(true).truncate(true).mode(0o600);
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let file = options.custom_flags(flags).open(path)?;
        Ok(Self { file, written: 0 })
    }

    fn write(&mut self, bytes: &[u8]) {
        use std::io::Seek;
        if self.written + bytes.len() as u64 > MOST_LOG {
            let anew = self.file.set_len(0).and_then(|()| self.file.rewind());
            ignore_error(anew, "a log that cannot be shortened is written on");
            self.written = 0;
        }
        ignore_error(self.file.write_all(bytes), "a full disk must not stop the server");
        self.written += bytes.len() as u64;
    }
}

fn failed(error: &std::io::Error) -> ToolError {
    ToolError::failed("mcp", error.to_string())
}
