//! The clipboard's picture, from the programs that the desktop has for it (`wl-paste`, `xclip`).
//!
//! Law: a program that does not answer is ended, and no more is read than was asked for.

use std::io::{Error, ErrorKind, Read, Result};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

const PATIENCE: Duration = Duration::from_secs(5);

/// Programs that print the picture of the clipboard, and the variable that says that they can.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("WAYLAND_DISPLAY", &["wl-paste", "--no-newline", "--type", "image/png"]),
    ("DISPLAY", &["xclip", "-selection", "clipboard", "-t", "image/png", "-o"]),
];

/// The picture in the clipboard as PNG, at most so many bytes; `None` when there is none.
pub fn picture(most: u64) -> Result<Option<Vec<u8>>> {
    let is_there = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut missing = None;
    for (_, words) in PROGRAMS.iter().filter(|(variable, _)| is_there(variable)) {
        match output(words, most) {
            Ok(bytes) if bytes.is_empty() => return Ok(None),
            Ok(bytes) => return Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => missing = Some(words[0]),
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(
        ErrorKind::NotFound,
        match missing {
            Some(program) => format!("{program} is not installed"),
            None => "no desktop (neither WAYLAND_DISPLAY nor DISPLAY is set)".to_owned(),
        },
    ))
}

fn output(words: &[&str], most: u64) -> Result<Vec<u8>> {
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let read = read(&mut child, most);
    // It has closed its output, or has had its time.
    child.kill().and_then(|()| child.wait()).map(drop).unwrap_or_default();
    read
}

fn read(child: &mut Child, most: u64) -> Result<Vec<u8>> {
    let Some(out) = child.stdout.as_mut() else { return Ok(Vec::new()) };
    let until = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let patience =
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut sources = [PollFd::new(&*out, PollFlags::IN)];
        if retry_on_intr(|| poll(&mut sources, Some(&patience)))? == 0 {
            return Err(Error::new(ErrorKind::TimedOut, "the clipboard did not answer"));
        }
        match out.read(&mut piece)? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(&piece[..count]),
        }
        if bytes.len() as u64 > most {
            return Err(Error::new(
                ErrorKind::FileTooLarge,
                "the clipboard's picture is too large",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_prints_is_bounded() {
        assert_eq!(output(&["printf", "abc"], 3).unwrap(), b"abc");
        assert_eq!(output(&["true"], 3).unwrap(), b"");
        let error = output(&["yes"], 100_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        let error = output(&["no-such-program-of-the-clipboard"], 3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
