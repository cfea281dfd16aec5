//! popen(3) and fopen(3) with mode "w", for programs that a person runs by hand.
//!
//! Law: no sandbox, no supervision and no limit; the system's permissions are the boundary. Nothing here
//! serves a call of the engine.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use jm_files::system_error;
use jm_system::os_error::errno_text;
use jm_types::{ErrorKind, ToolError, ignore_error};
use rustix::io::Errno;

/// A shell that fails to start is said to have ended with this code.
const NO_SHELL: i32 = 127;

/// The output of a command from both of its streams, and the exit code of its shell.
#[derive(Debug)]
pub struct Popened {
    /// Both streams as they came.
    pub output: Vec<u8>,
    /// The shell's exit code, as popen's caller would compute it.
    pub exit_code: i32,
}

/// Runs a command as popen(3) does: reads until every process that holds the pipe has closed it, waits
/// for the shell, and kills nothing.
pub fn popen(words: &[OsString], environment: Vec<(OsString, OsString)>) -> Popened {
    let failed = |error: std::io::Error| {
        let error = Errno::from_io_error(&error).map_or_else(|| error.to_string(), errno_text);
        Popened { output: format!("sh: {error}\n").into_bytes(), exit_code: NO_SHELL }
    };
    let [program, arguments @ ..] = words else {
        return failed(std::io::ErrorKind::InvalidInput.into());
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment).stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return failed(error),
    };
    let mut output = Vec::new();
    // What was read before an error of the pipe is all that popen's caller would have.
    let read = child.stdout.take().map(|mut pipe| pipe.read_to_end(&mut output));
    let ended = child.wait();
    match (read, ended) {
        (Some(Err(error)), _) | (_, Err(error)) => failed(error),
        (_, Ok(status)) => Popened { output, exit_code: exit_code(status) },
    }
}

/// As a shell says it: 128 and its number for a signal.
fn exit_code(status: ExitStatus) -> i32 {
    let signalled = status.signal().map(|signal| 128 + signal);
    status.code().or(signalled).unwrap_or(NO_SHELL)
}

/// Opens a file for writing, which creates or truncates it, and writes the content: links lead to their
/// targets, and owner, mode and further names of the file stay.
pub fn overwrite(path: &str, content: &[u8]) -> Result<(), ToolError> {
    let errno = |error: &std::io::Error| Errno::from_io_error(error).unwrap_or(Errno::IO);
    let is_new = Path::new(path).symlink_metadata().is_err();
    let mut file = File::create(Path::new(path)).map_err(|error| match errno(&error) {
        Errno::NOENT => ToolError::not_found(path),
        error => system_error(path, error),
    })?;
    file.write_all(content).map_err(|error| {
        // What was written stays, as with fwrite(3); a file that was made for nothing does not.
        if is_new && file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            ignore_error(std::fs::remove_file(path), "an empty file that stays does no harm");
        }
        match errno(&error) {
            error @ (Errno::NOSPC | Errno::DQUOT) => system_error(path, error),
            error => ToolError::new(ErrorKind::WriteFailed {
                path: path.into(),
                message: errno_text(error),
            }),
        }
    })
}
