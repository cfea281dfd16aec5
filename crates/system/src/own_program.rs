//! Our own program: what it survives, how it is started once more, and a place for it to play in.
//!
//! Law: the place is private and goes away with its owner; a program that was started is waited for.

use std::ffi::{OsStr, OsString};
use std::io::Result;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use jm_types::ignore_error;

use crate::folder::Descent;

/// From here on a write past the limit of a file's size is an error instead of our end. Whoever we start
/// is ended by it as ever: a handler is nothing that they inherit.
#[allow(unsafe_code)]
pub fn catch_file_size_signal() {
    extern "C" fn take_note(_: libc::c_int) {}
    let handler = take_note as extern "C" fn(libc::c_int);
    // SAFETY: the handler does nothing, which is always allowed in one; calls that it interrupts are
    // taken up again.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGXFSZ, &raw const action, std::ptr::null_mut());
    }
}

/// A directory that is removed when it is dropped.
#[derive(Debug)]
pub struct ScratchDir {
    path: PathBuf,
}

impl ScratchDir {
    /// Makes a directory that only this user can enter, in the system's place for temporary files.
    pub fn new(name: &str) -> Result<Self> {
        Self::within(&std::env::temp_dir(), name)
    }

    /// Makes the directory below another one than the system's for temporary files.
    pub fn within(folder: &Path, name: &str) -> Result<Self> {
        let id = crate::state::fresh_id()?;
        let path = folder.join(format!("{name}-{id}"));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path: std::fs::canonicalize(path)? })
    }

    /// The canonical path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, and makes the directories above it.
    pub fn write(&self, relative: &str, content: &str) -> Result<()> {
        let path = self.path.join(relative);
        std::fs::create_dir_all(path.parent().unwrap_or(&self.path))?;
        std::fs::write(path, content)
    }

    /// Tells whether a file of that name is anywhere beneath it.
    pub fn holds(&self, name: &str) -> bool {
        let mut descent = Descent::below(&self.path);
        while let Some(entry) = descent.next() {
            // A directory that is gone by now, or that a running command keeps shut, holds nothing for us.
            let Ok(entry) = entry else { continue };
            if entry.file_name() == name {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                descent.enter(&entry);
            }
        }
        false
    }

    /// Nothing where there is no such file.
    pub fn read(&self, relative: &str) -> Option<String> {
        std::fs::read_to_string(self.path.join(relative)).ok()
    }
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        ignore_error(
            std::fs::remove_dir_all(&self.path),
            "what cannot be removed is in the temporary directory, which others clean",
        );
    }
}

/// The command line and environment with which this program starts itself once more.
#[derive(Debug)]
pub struct OwnProgram {
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

/// A child that runs; dropping it kills it.
#[derive(Debug)]
pub struct OwnChild(Child);

impl OwnProgram {
    /// Finds this program's file; `environment` is added to the child's.
    pub fn new(environment: Vec<(OsString, OsString)>) -> Result<Self> {
        Ok(Self { program: std::env::current_exe()?, environment })
    }

    fn command(&self, args: &[&OsStr]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// To its end, with our own output; its exit code, or nothing where a signal ended it.
    pub fn run(&self, args: &[&OsStr]) -> Result<Option<i32>> {
        let status = self.command(args).stdin(Stdio::null()).status()?;
        Ok(status.code())
    }

    /// Without output, and without waiting.
    pub fn start(&self, args: &[&OsStr]) -> Result<OwnChild> {
        let mut command = self.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(OwnChild)
    }
}

impl OwnChild {
    /// The process number of the child.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Tells whether it has ended by itself.
    pub fn has_ended(&mut self) -> Result<bool> {
        self.0.try_wait().map(|status| status.is_some())
    }

    /// With the signal that cannot be caught.
    pub fn kill(mut self) -> Result<()> {
        self.0.kill()?;
        self.0.wait().map(drop)
    }
}

impl Drop for OwnChild {
    fn drop(&mut self) {
        ignore_error(self.0.kill(), "one that is gone has ended");
        ignore_error(self.0.wait(), "one that was waited for has ended");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops where it fails")]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_goes_away_with_its_owner() {
        let scratch = ScratchDir::new("jm-test").unwrap();
        scratch.write("a/b", "c").unwrap();
        assert_eq!(scratch.read("a/b").as_deref(), Some("c"));
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
    }
}
