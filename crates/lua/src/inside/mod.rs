//! The process that runs Lua: one interpreter, one socket, one loop.
//!
//! Law: it touches no file and starts no program. What a script needs of the world it asks the program
//! for, so a script that is confined loses nothing, and a module is the text that was trusted.

mod calls;
mod convert;
mod interpreter;
mod link;
mod natives;
mod script_error;
mod state;
mod watch;

use std::io::{Error, ErrorKind, Result};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::fd::AsFd;
use rustix::fs::{Mode, OFlags};

use crate::CHILD_WORD;
use crate::protocol::{FromChild, ToChild};
use interpreter::Interpreter;
use link::Link;
use script_error::plain_error;

/// Runs as the child, if the first word of the command line says so. The socket is standard input.
pub fn run_as_child() -> Option<ExitCode> {
    if std::env::args_os().nth(1)? != CHILD_WORD {
        return None;
    }
    Some(match take_socket().and_then(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    })
}

/// The socket, under a number that no script writes to; the standard streams lead nowhere.
fn take_socket() -> Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(std::io::stdin().as_fd(), 3)?;
    let nowhere = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(UnixStream::from(socket))
}

/// Until the program closes its end.
fn serve(stream: UnixStream) -> Result<()> {
    link::end_with_program(&stream)?;
    let mut link = Link::new(stream);
    let Some(ToChild::Start(start)) = link.next(None)? else {
        return Err(Error::from(ErrorKind::InvalidData));
    };
    state::limit_process(&start);
    let mut interpreter =
        Interpreter::new(link, *start).map_err(|error| Error::other(plain_error(&error)))?;
    match interpreter.start() {
        Ok(()) => interpreter.tell(&FromChild::Started)?,
        // The program reads the reason and closes its end.
        Err(message) => interpreter.tell(&FromChild::StartFailed { message })?,
    }
    interpreter.serve()
}
