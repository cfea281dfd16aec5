//! The launcher's end of the socket to the program.

use std::fs::File;
use std::io::Result;

use super::step::StepFailure;
use crate::contract::message::send;
use crate::contract::protocol::{CONTROL, FREE, LaunchReport, given};

/// Reports that nothing was run, and why.
pub(crate) fn report_failure(failure: &StepFailure) -> Result<()> {
    let (step, why) = (failure.step.clone(), failure.error.to_string());
    send(control(), &LaunchReport::NotStarted { step, why })
}

/// The socket to the program.
pub(crate) fn control() -> File {
    copy_of(CONTROL)
}

/// A copy for each use, so that closing it closes nothing.
pub(crate) fn copy_of(number: i32) -> File {
    let copy = rustix::io::fcntl_dupfd_cloexec(given(number), FREE);
    // Without a free descriptor nothing can be said, and the exit code says that.
    File::from(copy.unwrap_or_else(|_| std::process::exit(1)))
}
