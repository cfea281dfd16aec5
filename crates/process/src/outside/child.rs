//! A process that we started, by its number, and a way to start one that copies nothing of ours.
//!
//! Law: a child is taken in by whoever holds this, once; its number is given to no other process before that.

use std::ffi::CString;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus};

use jm_types::ignore_error;
use rustix::fd::{AsFd, AsRawFd, RawFd};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

#[derive(Debug)]
pub(crate) struct ChildProcess(Pid);

impl From<Child> for ChildProcess {
    fn from(child: Child) -> Self {
        Self(Pid::from_child(&child))
    }
}

impl ChildProcess {
    /// Starts a program with one word and one descriptor under the given number: in a session of its
    /// own, without environment, with standard streams that lead nowhere. The kernel copies no memory
    /// for it, however much we hold.
    #[allow(unsafe_code)]
    pub(crate) fn start(
        program: &Path,
        word: &str,
        given: impl AsFd,
        number: RawFd,
    ) -> Result<Self> {
        let program = CString::new(program.as_os_str().as_bytes())?;
        let word = CString::new(word)?;
        let words = [program.as_ptr().cast_mut(), word.as_ptr().cast_mut(), std::ptr::null_mut()];
        let nothing = [std::ptr::null_mut()];
        let mut pid = 0;
        // SAFETY: both objects are initialised before they are used and destroyed once; every string
        // ends with a NUL and outlives the call, both lists end with a null.
        let outcome = unsafe {
            let (mut streams, mut manner) = (std::mem::zeroed(), std::mem::zeroed());
            check(libc::posix_spawn_file_actions_init(&raw mut streams))?;
            check(libc::posix_spawnattr_init(&raw mut manner))?;
            let started = lead_nowhere(&raw mut streams, given.as_fd().as_raw_fd(), number)
                .and_then(|()| stand_alone(&raw mut manner))
                .and_then(|()| {
                    let (pid, program) = (&raw mut pid, program.as_ptr());
                    let (words, nothing) = (words.as_ptr(), nothing.as_ptr());
                    let (streams, manner) = (&raw const streams, &raw const manner);
                    check(libc::posix_spawn(pid, program, streams, manner, words, nothing))
                });
            libc::posix_spawnattr_destroy(&raw mut manner);
            libc::posix_spawn_file_actions_destroy(&raw mut streams);
            started
        };
        outcome?;
        Pid::from_raw(pid).map(Self).ok_or_else(|| Error::from(ErrorKind::InvalidData))
    }

    pub(crate) fn pid(&self) -> Pid {
        self.0
    }

    /// `None` while it runs. Whoever was told how it ended is not told again.
    pub(crate) fn try_wait(&self) -> Result<Option<ExitStatus>> {
        let ended = waitpid(Some(self.0), WaitOptions::NOHANG)?;
        Ok(ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw())))
    }

    /// For one that cannot resist.
    pub(crate) fn end(self) {
        ignore_error(kill_process(self.0, Signal::KILL), "one that is gone has ended");
        while matches!(waitpid(Some(self.0), WaitOptions::empty()), Err(rustix::io::Errno::INTR)) {}
    }
}

fn check(number: i32) -> Result<()> {
    match number {
        0 => Ok(()),
        number => Err(Error::from_raw_os_error(number)),
    }
}

/// # Safety
/// The actions are initialised.
#[allow(unsafe_code)]
unsafe fn lead_nowhere(
    streams: *mut libc::posix_spawn_file_actions_t,
    given: RawFd,
    number: RawFd,
) -> Result<()> {
    let nowhere = c"/dev/null".as_ptr();
    // SAFETY: the actions are initialised, and copy the path.
    unsafe {
        check(libc::posix_spawn_file_actions_addopen(streams, 0, nowhere, libc::O_RDWR, 0))?;
        check(libc::posix_spawn_file_actions_adddup2(streams, 0, 1))?;
        check(libc::posix_spawn_file_actions_adddup2(streams, 0, 2))?;
        check(libc::posix_spawn_file_actions_adddup2(streams, given, number))
    }
}

/// Own session, no signal blocked, none ignored because we ignore it.
///
/// # Safety
/// The attributes are initialised.
#[allow(unsafe_code)]
unsafe fn stand_alone(manner: *mut libc::posix_spawnattr_t) -> Result<()> {
    let flags = libc::POSIX_SPAWN_SETSID
        | libc::POSIX_SPAWN_SETSIGMASK as libc::c_short
        | libc::POSIX_SPAWN_SETSIGDEF as libc::c_short;
    // SAFETY: the attributes are initialised; the sets live on this stack and are copied.
    unsafe {
        let (mut none, mut pipe) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&raw mut none);
        libc::sigemptyset(&raw mut pipe);
        libc::sigaddset(&raw mut pipe, libc::SIGPIPE);
        check(libc::posix_spawnattr_setsigmask(manner, &raw const none))?;
        check(libc::posix_spawnattr_setsigdefault(manner, &raw const pipe))?;
        check(libc::posix_spawnattr_setflags(manner, flags))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that a script which was started like this writes to its descriptor.
    fn told(script: &str) -> String {
        use std::io::Read;
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, format!("#!/bin/sh\n{{ {script}; }} >&9\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let process = ChildProcess::start(&program, "word", &write, 9).unwrap();
        drop(write);
        let mut said = String::new();
        std::fs::File::from(read).read_to_string(&mut said).unwrap();
        process.end();
        said
    }

    #[test]
    fn it_gets_one_word_one_descriptor_and_a_session() {
        assert_eq!(told("echo $# $1"), "1 word\n");
        assert_eq!(told("/usr/bin/env | grep -v -e ^PWD= -e ^OLDPWD= -e ^_= -e ^SHLVL="), "");
        assert_eq!(told("readlink /proc/$$/fd/0 /proc/$$/fd/2"), "/dev/null\n/dev/null\n");
        assert_eq!(told("test $(cut -d ' ' -f 6 /proc/$$/stat) = $$ && echo leads"), "leads\n");
    }

    #[test]
    fn what_cannot_be_started_is_an_error() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let error =
            ChildProcess::start(Path::new("/no/such/program"), "word", &file, 9).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn how_it_ended_is_told_once() {
        let child = std::process::Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let process = ChildProcess::from(child);
        let status = loop {
            if let Some(status) = process.try_wait().unwrap() {
                break status;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        assert_eq!(status.code(), Some(7));
        assert!(process.try_wait().is_err());
    }
}
