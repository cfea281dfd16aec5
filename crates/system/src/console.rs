//! The terminal beyond reading and writing: a guard that restores it when this program is killed
//! (SIGKILL), the person's editor, and job control (SIGTSTP).
//!
//! Law: the guard is a child in a session of its own, never between the shell and us, so job control
//! works as ever; it holds a pipe that the kernel closes when we die, and does nothing before that.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Result, Write};
use std::process::{Child, Command, ExitCode, Stdio};

use rustix::io::retry_on_intr;
use rustix::process::{Signal, kill_current_process_group, setsid};
use rustix::stdio::{stdin, stdout};
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, tcgetattr, tcsetattr,
};

use crate::own_program::ScratchDir;

/// The first word of the guard's command line.
const GUARD: &str = "__terminal-guard";
const OWN_PROGRAM: &str = "/proc/self/exe";
const DRAFT: &str = "prompt.md";

/// Restores the terminal should this program die without doing so.
#[derive(Debug)]
pub struct TerminalGuard {
    child: Child,
}

impl TerminalGuard {
    /// Starts the guard with the terminal's modes as they are now, before anybody changes them.
    pub fn start() -> Result<Self> {
        let modes = tcgetattr(stdin())?;
        let mut child = Command::new(OWN_PROGRAM)
            .arg(GUARD)
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let line = format!(
            "{} {} {} {}\n",
            modes.input_modes.bits(),
            modes.output_modes.bits(),
            modes.control_modes.bits(),
            modes.local_modes.bits()
        );
        if let Some(pipe) = &mut child.stdin {
            pipe.write_all(line.as_bytes())?;
        }
        Ok(Self { child })
    }

    /// From here on this is written when we die; nothing where it is empty.
    pub fn set(&mut self, sequence: &str) -> Result<()> {
        let Some(pipe) = &mut self.child.stdin else { return Ok(()) };
        let message = format!("{}\n{sequence}", sequence.len());
        pipe.write_all(message.as_bytes())
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // A guard that is gone cannot be told; one that is told nothing restores, which does no harm.
        self.set("").unwrap_or_default();
        drop(self.child.stdin.take());
        self.child.wait().map(drop).unwrap_or_default();
    }
}

/// Runs as the guard, if the first word of the command line says so.
pub fn guarded() -> Option<ExitCode> {
    (std::env::args_os().nth(1)? == GUARD).then(|| {
        // A process of its own session is no part of the shell's job; where that fails we watch as we are.
        setsid().map(drop).unwrap_or_default();
        let mut told = Vec::new();
        let end = std::io::stdin().lock().read_to_end(&mut told);
        match end.and_then(|_| restore(&told)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        }
    })
}

/// Everything that the guard was told: the modes, then sequences, of which the last counts.
fn restore(told: &[u8]) -> Result<()> {
    let Some((modes, mut rest)) = line(told) else { return Ok(()) };
    let mut last: &[u8] = b"";
    while let Some((length, after)) = line(rest) {
        let length: usize = length.parse().map_err(|_| ErrorKind::InvalidData)?;
        last = after.get(..length).ok_or(ErrorKind::UnexpectedEof)?;
        rest = &after[length..];
    }
    if last.is_empty() {
        return Ok(());
    }
    let words: Vec<u32> = modes.split(' ').filter_map(|word| word.parse().ok()).collect();
    if let [input, output, control, local] = words[..] {
        let mut now = tcgetattr(stdout())?;
        now.input_modes = InputModes::from_bits_retain(input);
        now.output_modes = OutputModes::from_bits_retain(output);
        now.control_modes = ControlModes::from_bits_retain(control);
        now.local_modes = LocalModes::from_bits_retain(local);
        tcsetattr(stdout(), OptionalActions::Now, &now)?;
    }
    while !last.is_empty() {
        let written = retry_on_intr(|| rustix::io::write(stdout(), last))?;
        last = &last[written..];
    }
    Ok(())
}

fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

/// Stops this program's whole job, until the shell continues it.
pub fn suspend() {
    // A job without a shell cannot be stopped, and goes on.
    kill_current_process_group(Signal::TSTP).unwrap_or_default();
}

/// Lets the person edit a text in `$VISUAL`, `$EDITOR` or `vi`; nothing where the editor failed.
pub fn edit(text: &str) -> Result<Option<String>> {
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| {
        let value: Option<OsString> = std::env::var_os(name);
        value.filter(|value| !value.is_empty())
    });
    let folder = ScratchDir::new("jm-edit")?;
    folder.write(DRAFT, text)?;
    // The variable may hold arguments too, so a shell reads it.
    let mut command = Command::new("sh");
    command
        .args(["-c", "eval \"$JM_EDITOR\" '\"$1\"'", "sh"])
        .arg(folder.path().join(DRAFT))
        .env("JM_EDITOR", editor.unwrap_or_else(|| "vi".into()));
    // Standard input and output may be files or programs.
    let screen = OpenOptions::new().read(true).write(true).open("/dev/tty");
    if let Ok(input) = screen
        && let Ok(output) = input.try_clone()
    {
        command.stdin(input).stdout(output);
    }
    let status = command.status()?;
    Ok(folder.read(DRAFT).filter(|_| status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_thing_told_counts_and_what_is_cut_is_an_error() {
        assert!(restore(b"1 2 3 4\n5\nhello0\n").is_ok(), "taken back: nothing is restored");
        assert!(restore(b"1 2 3 4\n").is_ok());
        assert!(restore(b"").is_ok());
        assert!(restore(b"1 2 3 4\n99\nhello").is_err());
        assert!(restore(b"1 2 3 4\nx\nhello").is_err());
    }
}
