//! Job: a command that goes on in the background, started, looked at, typed into and stopped.
//!
//! Law: a session reaches its own jobs and no others, because it can only name them by its own
//! calls. Nothing here waits longer than it was asked to.

mod excerpt;

use std::ffi::OsString;
use std::io::ErrorKind as IoKind;
use std::time::{Duration, Instant};

use jm_types::ToolError;
use jm_types::text::redact_command;
use jm_workspace::file::now_epoch_ms;
use jm_workspace::jobs::{How, Job, JobSpec, Keeping, ScreenText, Seen, Size, State, Taken, Typed};
use jm_workspace::process::Program;

use crate::context::Scope;
use crate::ops::not_found;
pub use excerpt::Shown;

/// What a terminal calls itself; our screen understands what is written for it.
const TERM: &str = "xterm-256color";
/// After a start and after typing, output is waited for, and then for a pause in it.
const ECHO: Duration = Duration::from_millis(700);
const PAUSE: Duration = Duration::from_millis(80);
const SLICE: Duration = Duration::from_millis(20);
/// Between the end of a wait and the end of the call's own time.
const MARGIN: Duration = Duration::from_secs(1);
/// For the lines around an output.
const FRAME: usize = 1024;
/// So much of new output is searched for a text that is waited for.
const SEARCHED: usize = 1024 * 1024;

/// Something to do with a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobCall {
    Start(Start),
    List,
    Ask { id: JobId, what: Ask, view: Option<View> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub program: Program,
    /// As a person would read it.
    pub command: String,
    pub directory: String,
    pub lifetime: Duration,
    pub terminal: Option<Size>,
    pub keeping: Keeping,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// What was printed since the session last looked.
    ReadNew,
    /// Bytes by their place.
    ReadRange {
        start: u64,
        end: Option<u64>,
    },
    Write(Vec<Typed>),
    /// Until it ends, or prints this text.
    Wait {
        most: Duration,
        until: Option<String>,
    },
    Stop,
}

/// How output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    Stream,
    Screen,
}

/// Which job of the session: the number of the call that started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobId(pub u64);

impl std::fmt::Display for JobId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p{}", self.0)
    }
}

impl std::str::FromStr for JobId {
    type Err = ToolError;

    fn from_str(text: &str) -> Result<Self, ToolError> {
        let number = text.strip_prefix('p').and_then(|number| number.parse().ok());
        number.map(Self).ok_or_else(|| {
            ToolError::bad_args(format!("`{text}` is no id of a process"))
                .hint("start_process says the id, such as p3; action list shows all")
        })
    }
}

impl JobId {
    fn of(session: &str, name: &str) -> Option<Self> {
        name.strip_prefix(session)?.strip_prefix('-')?.parse().ok().map(Self)
    }

    fn name(self, session: &str) -> String {
        format!("{session}-{}", self.0)
    }
}

#[derive(Debug)]
pub enum JobOutcome {
    Listed(Vec<Listed>),
    Looked(Look),
}

#[derive(Debug)]
pub struct Listed {
    pub id: JobId,
    pub command: String,
    pub status: Status,
    pub keeping: Keeping,
    pub terminal: Option<Size>,
}

/// How a job fares.
#[derive(Debug, PartialEq, Eq)]
pub enum Status {
    Running { elapsed: Duration, left: Duration },
    Ended { how: How, elapsed: Duration },
}

#[derive(Debug)]
pub struct Look {
    pub listed: Listed,
    pub output: LookedAt,
    /// What became of the text that was waited for.
    pub found: Option<bool>,
    pub taken: Option<Taken>,
    /// What confinement refused since the session was last told, as far as anybody knows.
    pub refusals: Vec<String>,
}

#[derive(Debug)]
pub enum LookedAt {
    Stream(Shown),
    Screen(ScreenText),
}

impl JobCall {
    /// Where a command would start.
    pub(crate) fn directory(&self) -> Option<&str> {
        match self {
            Self::Start(start) => Some(&start.directory),
            Self::List | Self::Ask { .. } => None,
        }
    }

    pub(crate) fn run(self, scope: &Scope) -> Result<JobOutcome, ToolError> {
        match self {
            Self::Start(start) => start.run(scope).map(JobOutcome::Looked),
            Self::List => {
                let jobs = scope.workspace.jobs.of_session(&scope.session_id).map_err(failed)?;
                let listed = jobs.iter().map(|job| listed(scope, job));
                listed.collect::<Result<_, _>>().map(JobOutcome::Listed)
            }
            Self::Ask { id, what, view } => ask(scope, id, what, view).map(JobOutcome::Looked),
        }
    }
}

fn failed(error: std::io::Error) -> ToolError {
    ToolError::failed("process", error.to_string())
}

impl Start {
    fn run(self, scope: &Scope) -> Result<Look, ToolError> {
        let workspace = &scope.workspace;
        let directory = workspace.sandbox.resolve(&self.directory)?;
        if directory.is_missing() {
            return Err(not_found(&workspace.sandbox, &directory));
        }
        let mut environment = workspace.environment.sanitize(std::env::vars_os());
        if self.terminal.is_some() {
            environment.retain(|(name, _)| name != "TERM" && name != "COLUMNS" && name != "LINES");
            environment.push((OsString::from("TERM"), OsString::from(TERM)));
        }
        let sandbox = &workspace.sandbox;
        let confinement =
            workspace.confiner.confinement(sandbox, &environment, &self.program, None);
        let job = workspace.jobs.start(JobSpec {
            name: scope.call_key.to_string(),
            session: scope.session_id.to_string(),
            command: redact_command(&self.command),
            program: self.program,
            directory,
            environment,
            lifetime: self.lifetime,
            terminal: self.terminal,
            keeping: self.keeping,
            confinement,
        })?;
        await_echo(scope, &job, 0)?;
        if let State::Ended(end) = job.state().map_err(failed)?
            && let How::NotStarted(why) = end.how
        {
            workspace.jobs.forget(&job);
            return Err(ToolError::failed("start_process", why));
        }
        glance(scope, &job, None)
    }
}

fn ask(scope: &Scope, id: JobId, what: Ask, view: Option<View>) -> Result<Look, ToolError> {
    let job = find(scope, id)?;
    match what {
        Ask::ReadNew => look(scope, &job, view),
        Ask::ReadRange { start, end } => {
            let mut seen = job.seen();
            let refusals = job.newly_refused(&mut seen).map_err(failed)?;
            let room = room(scope, &refusals);
            let shown = Shown::range(&job, start, end, room).map_err(failed)?;
            let (output, listed) = (LookedAt::Stream(shown), listed(scope, &job)?);
            note(&job, &seen)?;
            Ok(Look { listed, output, found: None, taken: None, refusals })
        }
        Ask::Write(typed) => write(scope, &job, typed, view),
        Ask::Wait { most, until } => {
            let found = wait(scope, &job, most, until.as_deref())?;
            Ok(Look { found, ..look(scope, &job, view)? })
        }
        Ask::Stop => {
            job.stop().map_err(failed)?;
            look(scope, &job, view)
        }
    }
}

/// Only a job of this session: its name is made of the session's own.
fn find(scope: &Scope, id: JobId) -> Result<Job, ToolError> {
    let jobs = &scope.workspace.jobs;
    if let Some(job) = jobs.find(&id.name(&scope.session_id)).map_err(failed)? {
        return Ok(job);
    }
    let all = jobs.of_session(&scope.session_id).map_err(failed)?;
    let known = all.iter().filter_map(|job| JobId::of(&scope.session_id, job.name()));
    let known: Vec<String> = known.map(|id| id.to_string()).collect();
    let hint = match known.is_empty() {
        true => "this session has started none; start one with start_process".to_owned(),
        false => format!("this session has {}", known.join(", ")),
    };
    Err(ToolError::bad_args(format!("there is no process {id}")).hint(hint))
}

/// What is left for output beside the lines around it.
fn room(scope: &Scope, refusals: &[String]) -> usize {
    let told: usize = refusals.iter().map(|refusal| refusal.len() + FRAME / 16).sum();
    scope.output_limit.saturating_sub(FRAME + told)
}

fn note(job: &Job, seen: &Seen) -> Result<(), ToolError> {
    match *seen == job.seen() {
        true => Ok(()),
        false => job.note_seen(seen).map_err(failed),
    }
}

/// A look that was asked for: what was printed before it is not waited for any more.
fn look(scope: &Scope, job: &Job, view: Option<View>) -> Result<Look, ToolError> {
    let read = printed(job)?;
    let look = glance(scope, job, view)?;
    note(job, &Seen { read, ..job.seen() })?;
    Ok(look)
}

/// What is new, or the screen of a job that has one.
fn glance(scope: &Scope, job: &Job, view: Option<View>) -> Result<Look, ToolError> {
    // Before the output, so that a job that has ended has printed all of it.
    let listed = listed(scope, job)?;
    let mut seen = job.seen();
    let refusals = job.newly_refused(&mut seen).map_err(failed)?;
    let usual = if listed.terminal.is_some() { View::Screen } else { View::Stream };
    let output = match view.unwrap_or(usual) {
        View::Stream => {
            let room = room(scope, &refusals);
            let shown = Shown::new_since(job, seen.shown, room).map_err(failed)?;
            seen.shown = shown.end;
            LookedAt::Stream(shown)
        }
        View::Screen => LookedAt::Screen(job.screen().map_err(failed)?.ok_or_else(|| {
            ToolError::bad_args(format!("{} has no terminal, so it has no screen", listed.id))
                .hint("read it without view, or start it again with pty: true")
        })?),
    };
    note(job, &seen)?;
    Ok(Look { listed, output, found: None, taken: None, refusals })
}

fn listed(scope: &Scope, job: &Job) -> Result<Listed, ToolError> {
    let id = JobId::of(&scope.session_id, job.name()).unwrap_or(JobId(0));
    let description = job.description.clone();
    let lifetime = Duration::from_millis(description.lifetime_ms);
    let status = match job.state().map_err(failed)? {
        State::Running { .. } => {
            let elapsed = now_epoch_ms().saturating_sub(description.started_at_ms);
            let elapsed = Duration::from_millis(elapsed);
            Status::Running { elapsed, left: lifetime.saturating_sub(elapsed) }
        }
        State::Ended(end) => {
            Status::Ended { how: end.how, elapsed: Duration::from_millis(end.elapsed_ms) }
        }
    };
    let (command, keeping) = (description.command, description.keeping);
    Ok(Listed { id, command, status, keeping, terminal: description.terminal })
}

fn write(
    scope: &Scope,
    job: &Job,
    typed: Vec<Typed>,
    view: Option<View>,
) -> Result<Look, ToolError> {
    let before = printed(job)?;
    if let Status::Ended { how, .. } = listed(scope, job)?.status {
        return Err(over(scope, job, &how));
    }
    let taken = match job.write(typed) {
        Ok(taken) => taken,
        Err(error) if error.kind() == IoKind::InvalidInput => {
            return Err(ToolError::bad_args(error.to_string())
                .hint("start it with pty: true to give it a terminal"));
        }
        Err(error) => {
            // It may have ended in this very moment.
            return match listed(scope, job)?.status {
                Status::Ended { how, .. } => Err(over(scope, job, &how)),
                Status::Running { .. } => Err(failed(error)),
            };
        }
    };
    await_echo(scope, job, before)?;
    Ok(Look { taken: Some(taken), ..glance(scope, job, view)? })
}

fn over(scope: &Scope, job: &Job, how: &How) -> ToolError {
    let id = JobId::of(&scope.session_id, job.name()).unwrap_or(JobId(0));
    ToolError::failed("process", format!("nothing was typed: {id} is not running; {}", how.words()))
        .hint("read it to see what it printed, or start it again")
}

fn printed(job: &Job) -> Result<u64, ToolError> {
    job.read(0, None, 0).map(|excerpt| excerpt.total).map_err(failed)
}

/// Until what was done to it has had its effect, as far as one can see.
fn await_echo(scope: &Scope, job: &Job, before: u64) -> Result<(), ToolError> {
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

/// Whether the text came, where one is waited for.
fn wait(
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

/// Whether a text is on the screen, or among what was printed since the session last read.
fn shows(job: &Job, text: &str) -> std::io::Result<bool> {
    if job.screen()?.is_some_and(|screen| screen.text.contains(text)) {
        return Ok(true);
    }
    Ok(Shown::new_since(job, job.seen().read, SEARCHED)?.text.contains(text))
}
