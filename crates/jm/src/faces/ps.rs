//! `jm ps`: what sessions have started in the background.
//!
//! Law: it looks and stops by the job's own lock and socket. A number of a process is shown to
//! people, and nothing is signalled by it.

use std::io::ErrorKind;

use anyhow::{Context, Result, bail};
use jm_process::background::{Job, JobDescription, JobEnding, JobLifetime, JobState, Jobs};
use jm_process::command::CommandEnding;
use jm_system::clock::now_epoch_ms;
use jm_types::SessionId;
use jm_types::text::one_line;
use serde_json::{Value, json};

use super::{exit, print};
use crate::cli::{Common, Ps};
use crate::wire;

/// Read at once.
const PIECE: u64 = 1024 * 1024;

pub(crate) fn run(common: &Common, ps: &Ps) -> Result<u8> {
    let jobs = wire::jobs(&wire::load(common)?.config)?;
    match (&ps.stop, &ps.output, &ps.screen) {
        (Some(name), _, _) => stop(&find(&jobs, name)?),
        (_, Some(name), _) => output(&find(&jobs, name)?, ps),
        (_, _, Some(name)) => screen(&find(&jobs, name)?),
        (None, None, None) if !common.publish.is_empty() => {
            let name = ps.id.as_deref();
            let name = name.context("No process named (usage: `jm ps --publish PORT ID`)")?;
            publish(&find(&jobs, name)?, &common.publish)
        }
        (None, None, None) => list(&jobs, ps),
    }
}

/// Publishes ports by the person's own word.
fn publish(job: &Job, ports: &[u16]) -> Result<u8> {
    let name = job.name();
    if !job.is_running()? {
        bail!("{name} is not running");
    }
    for port in ports {
        match job.publish(*port) {
            Ok(()) => print::line(&format!("{name} port {port} is published at 127.0.0.1:{port}"))?,
            Err(error) if error.kind() == ErrorKind::AddrInUse => bail!(
                "port {port} is in use on this machine (127.0.0.1)\n  hint: end the program that has it (`jm ps` lists published ports)"
            ),
            Err(error) => bail!(
                "port {port} of {name} cannot be published: {error}\n  hint: only processes of the sandbox back end namespaces, without `--network`, have ports to publish"
            ),
        }
    }
    Ok(exit::RAN)
}

fn find(jobs: &Jobs, name: &str) -> Result<Job> {
    let found = jobs.find(name)?;
    found.with_context(|| format!("No process {} (list: `jm ps --all`)", one_line(name)))
}

fn list(jobs: &Jobs, ps: &Ps) -> Result<u8> {
    for job in jobs.all()? {
        let state = job.state()?;
        if matches!(state, JobState::Ended(_)) && !ps.all {
            continue;
        }
        if ps.json {
            print::json(&as_json(&job, &state))?
        } else {
            print::line(&in_words(&job, &state))?
        }
    }
    Ok(exit::RAN)
}

/// The jobs of a session that run, a line each; none where they cannot be read.
pub(super) fn running_of(jobs: &Jobs, session: &SessionId) -> Vec<String> {
    let Ok(jobs) = jobs.of_session(session.as_str()) else { return Vec::new() };
    let running = jobs.iter().filter_map(|job| match job.state() {
        Ok(state @ JobState::Running { .. }) => Some(in_words(job, &state)),
        Ok(JobState::Ended(_)) | Err(_) => None,
    });
    running.collect()
}

/// The ports of a session's jobs that are published, in order.
pub(super) fn published_of(jobs: &Jobs, session: &SessionId) -> Vec<u16> {
    let jobs = jobs.of_session(session.as_str()).unwrap_or_default();
    let mut ports: Vec<u16> = jobs.iter().flat_map(Job::published).collect();
    ports.sort_unstable();
    ports
}

fn in_words(job: &Job, state: &JobState) -> String {
    let JobDescription { command, keeping, .. } = &job.description;
    let kept = if *keeping == JobLifetime::Kept { ", kept" } else { "" };
    let state = match state {
        JobState::Running { pid } => {
            let (elapsed, left) = times(&job.description);
            let published = published_in_words(&job.published());
            let (elapsed, left) = (elapsed / 1000, left / 1000);
            format!("pid {pid}, running for {elapsed} s, {left} s left{kept}{published}")
        }
        JobState::Ended(end) => end.how.words(),
    };
    one_line(&format!("{}  {state}  {command}", job.name()))
}

fn published_in_words(ports: &[u16]) -> String {
    let addresses: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    match addresses.is_empty() {
        true => String::new(),
        false => format!(", published at {}", addresses.join(", ")),
    }
}

/// How long it has run, and how long it still may.
fn times(description: &JobDescription) -> (u64, u64) {
    let elapsed = now_epoch_ms().saturating_sub(description.started_at_ms);
    (elapsed, description.lifetime_ms.saturating_sub(elapsed))
}

fn as_json(job: &Job, state: &JobState) -> Value {
    let description = &job.description;
    let (pid, ended) = match state {
        JobState::Running { pid } => (Some(pid), None),
        JobState::Ended(end) => {
            (None, Some(json!({"how": end.how, "elapsed_ms": end.elapsed_ms, "at_ms": end.at_ms})))
        }
    };
    let left_ms = pid.map(|_| times(description).1);
    json!({
        "id": job.name(), "session": description.session, "command": description.command,
        "directory": description.directory, "running": pid.is_some(), "pid": pid,
        "started_at_ms": description.started_at_ms, "lifetime_ms": description.lifetime_ms,
        "left_ms": left_ms, "kept": description.keeping == JobLifetime::Kept,
        "terminal": description.terminal, "published": job.published(), "ended": ended,
    })
}

fn stop(job: &Job) -> Result<u8> {
    let was_running = job.is_running()?;
    let end = job.stop().with_context(|| format!("process {}", job.name()))?;
    let how = match (was_running, end.how) {
        (true, JobEnding::Ended(CommandEnding::Stopped)) => "stopped".to_owned(),
        (true, how) => how.words(),
        (false, how) => format!("was not running: {}", how.words()),
    };
    print::line(&format!("{} {how}", job.name()))?;
    Ok(exit::RAN)
}

fn output(job: &Job, ps: &Ps) -> Result<u8> {
    let total = job.read(0, None, 0)?.total;
    let first = ps.range.and_then(|span| span.first).unwrap_or(0).min(total);
    let last = ps.range.and_then(|span| span.last).unwrap_or(total).clamp(first, total);
    let mut at = first;
    let mut dropped = 0;
    while at < last {
        let end = last.min(at + PIECE);
        let excerpt = job.read(at, Some(end), usize::MAX)?;
        excerpt.pieces.iter().try_for_each(|(_, bytes)| print::bytes(bytes))?;
        dropped += excerpt.dropped;
        at = end;
    }
    if dropped > 0 {
        print::note(&format!("jm: {dropped} bytes of {total} were not kept"));
    }
    Ok(if dropped == 0 { exit::RAN } else { exit::FAILED })
}

fn screen(job: &Job) -> Result<u8> {
    let screen = job.screen()?.with_context(|| {
        format!(
            "{0} has no terminal\n  hint: `jm ps --output {0}` shows what it printed",
            job.name()
        )
    })?;
    let text = format!("{}\n", screen.text);
    print::result(&text, &jm_types::text::sanitize(&text))?;
    Ok(exit::RAN)
}
