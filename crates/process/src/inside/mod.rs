//! The launcher: this program once more, as the supervisor of one command.
//!
//! Law: it lives exactly as long as the command's last process, and ends them all when the program
//! that started it stops, dies or asks. It prints nothing and reads nothing but its order.

mod bwrap;
mod control;
mod first_process;
mod landlock;
mod layer;
mod limits;
mod loopback;
mod loopback_sockets;
mod mount_calls;
mod mounts;
mod name_guard;
mod namespaces;
mod order;
mod own_namespaces;
mod placeholders;
mod process_tree;
mod proxy_listener;
mod pty;
mod ready_namespaces;
mod rename_calls;
mod seccomp;
mod standby;
mod step;
mod supervisor;
mod system_mounts;

use std::io::Result;
use std::process::ExitCode;

use control::{control, copy_of, report_failure};
use name_guard::NameGuard;
use order::receive_order;
use process_tree::{ProcessTree, Remaining};
use ready_namespaces::ReadyNamespaces;
use step::{During, LaunchStep};

use crate::contract::confinement_rules::{Backend, ConfinementRules};
use crate::contract::message::receive;
pub use crate::contract::protocol::LAUNCH;
use crate::contract::protocol::{INNER_ORDER, LOOPBACK, LaunchOrder, LaunchStage, SOCKETS};

/// Runs as a launcher, if the first word of the command line says so. Must be the first thing that
/// the program does: no thread may be there yet.
pub fn run_as_launcher() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    match words.next()? {
        word if word == LAUNCH => Some(run(words.next().is_some())),
        word if word == LOOPBACK => Some(exit_code(&loopback::make())),
        word if word == SOCKETS => Some(exit_code(&loopback_sockets::serve())),
        _ => None,
    }
}

fn exit_code(outcome: &Result<()>) -> ExitCode {
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Success says that no process is left, whatever became of the command.
fn run(is_inner: bool) -> ExitCode {
    let served = if is_inner {
        receive(copy_of(INNER_ORDER)).and_then(|order| serve(&order, None))
    } else {
        wait_and_serve()
    };
    match served {
        Ok(Remaining::None) => ExitCode::SUCCESS,
        Ok(Remaining::Processes(_)) | Err(_) => ExitCode::FAILURE,
    }
}

/// Makes ready what the forecast allows, and waits for the order for as long as the program may take to have one; an
/// error when it is gone.
fn wait_and_serve() -> Result<Remaining> {
    limits::drop_inherited();
    // It holds no directory that a person may want to remove.
    rustix::process::chdir("/")?;
    let forecast: Option<ConfinementRules> = receive(control())?;
    // Where that does not work, the command finds out what the matter is.
    let ready =
        forecast.and_then(|forecast| ReadyNamespaces::make(forecast, limits::file_rights()).ok());
    let order = receive_order(&control())?;
    serve(&order, ready)
}

fn serve(order: &LaunchOrder, ready: Option<ReadyNamespaces>) -> Result<Remaining> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let rights = limits::file_rights();
    let outcome = match (order.rules.backend, order.stage) {
        (Backend::Namespaces, _) => namespaces::launch(order, rights, ready),
        (Backend::Bwrap, LaunchStage::Outside) => bwrap::launch(order, rights),
        (Backend::Bwrap, LaunchStage::Inside) => bwrap::complete(order)
            .and_then(|guard| supervisor::supervise(order, ProcessTree::Namespace, guard, rights)),
        (Backend::Landlock | Backend::None, _) => guard(order).and_then(|guard| {
            supervisor::supervise(order, ProcessTree::Descendants, guard, rights)
        }),
    };
    match outcome {
        Ok(left) => Ok(left),
        Err(failure) => report_failure(&failure).map(|()| Remaining::None),
    }
}

/// For a launcher that cannot mount.
fn guard(order: &LaunchOrder) -> LaunchStep<Option<NameGuard>> {
    NameGuard::new(&order.rules, &[]).during("protected names")
}
