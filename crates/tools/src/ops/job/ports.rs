//! Ports of a job that programs of the person's machine reach, at 127.0.0.1.
//!
//! Law: what was asked for is published or the job is not started; what the person gave leave for beforehand is published
//! as soon as it can be, and the answer says what became of it.

use jm_process::background::{Job, Publication};
use jm_process::session_loopback::{PortReach, port_reach};
use jm_types::ToolError;

use super::{JobId, failed};
use crate::context::Scope;

/// A port of a job that was just started, and the way to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobPort {
    /// The port, inside and outside.
    pub port: u16,
    /// The way to it.
    pub state: PortState,
}

/// The way to a port of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortState {
    /// The job's daemon has published it.
    Published,
    /// Another job of the session has published it, for all of them.
    PublishedBy(JobId),
    /// Something else on the machine has it.
    InUse,
    /// The job has the machine's own network, so nothing is published.
    Direct,
    /// The back end gives the job a network that nothing outside reaches.
    Unreachable,
}

fn reach(scope: &Scope) -> PortReach {
    let confiner = &scope.workspace.confiner;
    port_reach(confiner.backend(), &confiner.settings().network)
}

/// Refuses ports that cannot be published here, before anybody is asked.
pub(super) fn check(scope: &Scope, asked: &[u16]) -> Result<(), ToolError> {
    if asked.is_empty() {
        return Ok(());
    }
    let backend = scope.workspace.confiner.backend();
    match reach(scope) {
        PortReach::Direct => Ok(()),
        PortReach::Published => refuse_known(scope, asked),
        PortReach::Unreachable => {
            let why =
                format!("a port cannot be published with the sandbox back end {}", backend.name());
            Err(ToolError::failed("start_process", why)
                .hint("leave publish out, and talk to the server from the same command; the back end namespaces can publish ports"))
        }
    }
}

/// Two jobs cannot have one port, and need not: they share a network.
fn refuse_known(scope: &Scope, asked: &[u16]) -> Result<(), ToolError> {
    for port in asked {
        if let Some(id) = publisher_of(scope, *port, None)? {
            return Err(ToolError::bad_args(format!("port {port} is already published by {id}"))
                .hint(format!(
                    "leave publish out: a server of this session on port {port} is reachable there"
                )));
        }
    }
    Ok(())
}

/// The job of the session that has published a port, besides this one.
fn publisher_of(scope: &Scope, port: u16, but: Option<&Job>) -> Result<Option<JobId>, ToolError> {
    let jobs = scope.workspace.jobs.of_session(&scope.session_id).map_err(failed)?;
    let is_other = |job: &&Job| but.is_none_or(|but| but.name() != job.name());
    let mut others = jobs.iter().filter(is_other);
    let found = others.find(|job| job.published().contains(&port));
    Ok(found.and_then(|job| JobId::of(&scope.session_id, job.name())))
}

/// The ports that a new job publishes.
pub(super) fn publication(scope: &Scope, asked: &[u16]) -> Publication {
    match reach(scope) {
        PortReach::Published => {
            let granted = granted(scope).filter(|port| !asked.contains(port)).collect();
            Publication { required: asked.to_vec(), granted }
        }
        PortReach::Direct | PortReach::Unreachable => Publication::default(),
    }
}

/// The ports that the person gave leave for.
fn granted(scope: &Scope) -> impl Iterator<Item = u16> {
    scope.workspace.confiner.settings().publish.iter().copied()
}

/// The ports of a job that was just started, those that were asked for first.
pub(super) fn ports_of(scope: &Scope, job: &Job, asked: &[u16]) -> Result<Vec<JobPort>, ToolError> {
    if !job.is_running().map_err(failed)? {
        return Ok(Vec::new());
    }
    let more = granted(scope).filter(|port| !asked.contains(port));
    let (reach, published) = (reach(scope), job.published());
    let state = |port: u16| match reach {
        PortReach::Direct => Ok::<_, ToolError>(PortState::Direct),
        PortReach::Unreachable => Ok(PortState::Unreachable),
        // What was asked for was published, or there would be no job.
        PortReach::Published if published.contains(&port) || asked.contains(&port) => {
            Ok(PortState::Published)
        }
        PortReach::Published => Ok(match publisher_of(scope, port, Some(job))? {
            Some(id) => PortState::PublishedBy(id),
            None => PortState::InUse,
        }),
    };
    asked
        .iter()
        .copied()
        .chain(more)
        .map(|port| Ok(JobPort { port, state: state(port)? }))
        .collect()
}
