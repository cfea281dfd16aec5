//! Waiting for a job: for the effect of what was done to it, for its end, for a text.

use std::time::{Duration, Instant};

use jm_process::background::Job;
use jm_types::ToolError;

use super::{JobText, failed};
use crate::context::Scope;

/// After a start and after typing, output is waited for, and then for a pause in it.
const ECHO: Duration = Duration::from_millis(700);
const PAUSE: Duration = Duration::from_millis(80);
const SLICE: Duration = Duration::from_millis(20);
/// Between the end of a wait and the end of the call's own time.
const MARGIN: Duration = Duration::from_secs(1);
/// So much of new output is searched for a text that is waited for.
const SEARCHED: usize = 1024 * 1024;

/// The bytes that it has printed.
pub(super) fn printed(job: &Job) -> Result<u64, ToolError> {
    job.read(0, None, 0).map(|excerpt| excerpt.total).map_err(failed)
}

/// Until what was done to it has had its effect, as far as one can see.
pub(super) fn await_echo(scope: &Scope, job: &Job, before: u64) -> Result<(), ToolError> {
    let until = Instant::now() + ECHO;
    let mut last = (before, Instant::now());
    while Instant::now() < until && job.is_running().map_err(failed)? {
        scope.cancel.checkpoint()?;
        std::thread::sleep(SLICE);
        let now = printed(job)?;
        if now != last.0 {
            last = (now, Instant::now());
        } else if now != before && last.1.elapsed() >= PAUSE {
            return Ok(());
        }
    }
    Ok(())
}

/// Waits for the end of a job or for a text, and tells whether the text came.
pub(super) fn wait(
    scope: &Scope,
    job: &Job,
    most: Duration,
    text: Option<&str>,
) -> Result<Option<bool>, ToolError> {
    let call_ends = scope.deadline.checked_sub(MARGIN).unwrap_or(scope.deadline);
    let until = call_ends.min(Instant::now() + most);
    loop {
        scope.cancel.checkpoint()?;
        // Before the output, so that a job that has ended has printed all of it.
        let is_running = job.is_running().map_err(failed)?;
        if let Some(text) = text
            && shows(job, text).map_err(failed)?
        {
            return Ok(Some(true));
        }
        if !is_running || Instant::now() >= until {
            return Ok(text.map(|_| false));
        }
        std::thread::sleep(SLICE);
    }
}

/// Tells whether a text is on the screen, or among what was printed since the session last read.
fn shows(job: &Job, text: &str) -> std::io::Result<bool> {
    if job.screen()?.is_some_and(|screen| screen.text.contains(text)) {
        return Ok(true);
    }
    Ok(JobText::new_since(job, job.seen().read, SEARCHED)?.text.contains(text))
}
