//! The standard input of a command: from memory to the pipe.
//!
//! Law: feeding never blocks, so that a command which answers before it has read everything is
//! heard. One that stops reading is not fed any more, and that is no error of ours.

use std::process::Stdio;

use jm_system::descriptors::open_dev_null;
use rustix::fd::OwnedFd;
use rustix::io::{self, Errno};
use rustix::pipe::{PipeFlags, pipe_with};

/// The input that a command can read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CommandInput {
    /// Nothing: the end comes at once.
    #[default]
    Closed,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// The input of this program itself, as it comes.
    Ours,
}

impl CommandInput {
    /// The `Stdio` that a process is started with.
    pub(crate) fn stdio(&self) -> Stdio {
        match self {
            Self::Closed => Stdio::null(),
            Self::Bytes(_) => Stdio::piped(),
            Self::Ours => Stdio::inherit(),
        }
    }

    /// The same, and our end of it, where another process starts the command.
    pub(crate) fn open(&self) -> std::io::Result<(OwnedFd, Option<OwnedFd>)> {
        match self {
            Self::Closed => Ok((open_dev_null()?, None)),
            Self::Bytes(_) => {
                let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
                Ok((theirs, Some(ours)))
            }
            Self::Ours => {
                let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
                std::thread::Builder::new().spawn(move || pass_on(ours))?;
                Ok((theirs, None))
            }
        }
    }
}

/// By a pipe, because a descriptor of ours is a way to more than its bytes. Ends when there is no more,
/// when the command reads no more, or with the program.
fn pass_on(to: OwnedFd) {
    let copied = std::io::copy(&mut std::io::stdin().lock(), &mut std::fs::File::from(to));
    // There is no caller to tell, and the command has ended or sees the end.
    drop(copied);
}

pub(crate) struct StdinWriter {
    /// `None` when everything was written, or the command reads no more.
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    written: usize,
}

impl StdinWriter {
    pub(crate) fn new(pipe: Option<OwnedFd>, input: CommandInput) -> io::Result<Self> {
        let (pipe, bytes) = match input {
            CommandInput::Closed | CommandInput::Ours => (None, Vec::new()),
            CommandInput::Bytes(bytes) => (pipe.filter(|_| !bytes.is_empty()), bytes),
        };
        if let Some(pipe) = &pipe {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Self { pipe, bytes, written: 0 })
    }

    /// The pipe, while there is something left to write.
    pub(crate) fn wanted(&self) -> Option<&OwnedFd> {
        self.pipe.as_ref()
    }

    /// Writes what the pipe takes now; closes it after the last byte.
    pub(crate) fn write_available(&mut self) {
        while let Some(pipe) = &self.pipe {
            match rustix::io::write(pipe, &self.bytes[self.written..]) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // EPIPE: the command has closed its input.
                Err(_) => self.written = self.bytes.len(),
            }
            if self.written == self.bytes.len() {
                self.pipe = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jm_types::Cancel;

    use super::*;
    use crate::outside::command::{CommandEnding, CommandProgram, CommandSpec, run_command};
    use crate::outside::launcher::Confinement;
    use crate::outside::output_reader::NoListener;
    use jm_files::{Sandbox, SandboxSettings};

    /// Runs a shell command with this input; what it printed and how it ended.
    fn fed(command: &str, input: CommandInput, keep_bytes: usize) -> (Vec<u8>, CommandEnding) {
        let scratch = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::new(&SandboxSettings::rooted_at(scratch.path())).unwrap();
        let spec = CommandSpec {
            program: CommandProgram::Shell(command.to_owned()),
            directory: sandbox.resolve(".").unwrap(),
            environment: std::env::vars_os().collect(),
            input,
            timeout: Duration::from_secs(60),
            keep_bytes,
            confinement: Confinement::Unsupervised,
        };
        let finished = run_command(spec, &Cancel::new(), &mut NoListener).unwrap();
        (finished.stdout.whole().unwrap_or_default(), finished.ending)
    }

    #[test]
    fn input_of_any_size_arrives_while_output_and_errors_flow() {
        for size in [0, 1, 65_535, 65_537, 10 * 1024 * 1024] {
            let bytes: Vec<u8> = (0..size).map(|at: usize| (at % 251) as u8).collect();
            let echo = fed("tee /dev/stderr", CommandInput::Bytes(bytes.clone()), size + 2);
            assert!(echo == (bytes, CommandEnding::SUCCESS), "{size} bytes");
        }
    }

    #[test]
    fn a_command_that_does_not_read_is_not_waited_for() {
        let plenty = || CommandInput::Bytes(vec![b'x'; 10 * 1024 * 1024]);
        assert_eq!(
            fed("exec <&-; echo done", plenty(), 64),
            (b"done\n".into(), CommandEnding::SUCCESS)
        );
        assert_eq!(fed("echo done", plenty(), 64), (b"done\n".into(), CommandEnding::SUCCESS));
        assert_eq!(fed("head -c 3; echo", plenty(), 64), (b"xxx\n".into(), CommandEnding::SUCCESS));
    }

    #[test]
    fn without_input_the_end_comes_at_once() {
        assert_eq!(fed("cat; echo done", CommandInput::Closed, 64).0, b"done\n");
        assert_eq!(fed("cat; echo done", CommandInput::Bytes(Vec::new()), 64).0, b"done\n");
    }
}
