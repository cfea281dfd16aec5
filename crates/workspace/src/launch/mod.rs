//! The launcher: this program once more, as the keeper of one command.
//!
//! Law: it lives exactly as long as the command's last process, and ends them all when the program
//! that started it stops, dies or asks. It prints nothing and reads nothing but its order.

mod bwrap;
pub(crate) mod door;
mod keeper;
mod limits;
mod mounts;
mod namespaces;
pub(crate) mod passing;
mod placeholders;
pub(crate) mod protocol;
mod pty;
mod rules;
mod seccomp;
mod tree;

use std::fs::File;
use std::io::Result;
use std::process::ExitCode;

pub(crate) use placeholders::is_placeholder;
use protocol::{CONTROL, FREE, INNER_ORDER, Order, Report, Stage, given, receive, send};
pub use protocol::{CommandRecord, Ended, LAUNCH};
use tree::Tree;

use crate::confine::Backend;

/// Something that had to be done before the command could run, and could not.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) step: String,
    pub(crate) error: std::io::Error,
}

pub(crate) type Step<T> = std::result::Result<T, Failure>;

/// Names what was being done when an error came.
pub(crate) trait During<T> {
    fn during(self, step: impl Into<String>) -> Step<T>;
}

impl<T, E: Into<std::io::Error>> During<T> for std::result::Result<T, E> {
    fn during(self, step: impl Into<String>) -> Step<T> {
        self.map_err(|error| Failure { step: step.into(), error: error.into() })
    }
}

/// Runs as a launcher, if the first word of the command line says so. Must be the first thing that
/// the program does: no thread may be there yet.
pub fn launched() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == LAUNCH).then(|| run(words.next().is_some()))
}

fn run(is_inner: bool) -> ExitCode {
    match serve(if is_inner { INNER_ORDER } else { CONTROL }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(order_from: i32) -> Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let order: Order = receive(copy_of(order_from))?;
    let rights = limits::file_rights();
    let outcome = match (order.walls.backend, order.stage) {
        (Backend::Namespaces, _) => namespaces::keep(&order, rights),
        (Backend::Bwrap, Stage::Outside) => bwrap::keep(&order, rights),
        (Backend::Bwrap, Stage::Inside) => keeper::keep(&order, Tree::Namespace, rights),
        (Backend::Landlock | Backend::None, _) => keeper::keep(&order, Tree::Descendants, rights),
    };
    match outcome {
        Ok(()) => Ok(()),
        Err(failure) => tell(&failure),
    }
}

/// Nothing was run, and this is why.
pub(crate) fn tell(failure: &Failure) -> Result<()> {
    let (step, why) = (failure.step.clone(), failure.error.to_string());
    send(control(), &Report::NotStarted { step, why })
}

/// The socket to the program.
pub(crate) fn control() -> File {
    copy_of(CONTROL)
}

/// A copy for each use, so that closing it closes nothing.
fn copy_of(number: i32) -> File {
    let copy = rustix::io::fcntl_dupfd_cloexec(given(number), FREE);
    // Without a free descriptor nothing can be said, and the exit code says that.
    File::from(copy.unwrap_or_else(|_| std::process::exit(1)))
}
