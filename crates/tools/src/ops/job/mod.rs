//! Job: a command that goes on in the background, started, looked at, typed into and stopped.
//!
//! Law: a session reaches its own jobs and no others, because it can only name them by its own
//! calls. Nothing here waits longer than it was asked to.

mod excerpt;
mod ports;
mod wait;

use std::ffi::OsString;
use std::io::ErrorKind as IoKind;
use std::time::Duration;

use jm_process::background::{
    Job, JobDescription, JobEnding, JobLifetime, JobSeen, JobSpec, JobState, ScreenText,
    TerminalSize, Typed, TypedCount,
};
use jm_process::command::CommandProgram;
use jm_shell::CommandLine;
use jm_system::clock::now_epoch_ms;
use jm_types::ToolError;
use jm_types::text::{mask_credentials, redact_command};

use crate::context::Scope;
use crate::foresight::Foreseen;
use crate::operation::{CallSummary, Execution, Operation};
use crate::ops::resolve_existing;
use crate::ops::run::line_of;
use crate::tool::{PathUse, Preview, ShownCommand, Use};
pub use excerpt::JobText;
pub use ports::{JobPort, PortState};
use wait::{await_echo, printed, wait};

/// The name of the terminal's type (TERM); our screen understands what is written for it.
const TERM: &str = "xterm-256color";
/// For the lines around an output.
const FRAME: usize = 1024;

/// Something to do with the jobs that are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobCall {
    /// All jobs of the session.
    List,
    /// One job.
    Ask {
        /// The job.
        id: JobId,
        /// The request.
        what: JobQuery,
        /// The form of its output; `None` for the usual one.
        view: Option<JobView>,
    },
}

/// A command that goes on in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartJob {
    /// The words or the shell line.
    pub program: CommandProgram,
    /// As a person would read it.
    pub command: String,
    /// The directory that it works in.
    pub directory: String,
    /// The time after which it is ended.
    pub lifetime: Duration,
    /// The size of its terminal; `None` for pipes.
    pub terminal: Option<TerminalSize>,
    /// The end of its session ends it, or not.
    pub keeping: JobLifetime,
    /// Ports of it that are published on this machine.
    pub publish: Vec<u16>,
}

/// A job that was started.
#[derive(Debug)]
pub struct StartedJob {
    /// The job, and its first output.
    pub look: Look,
    /// Its ports that were to be published.
    pub ports: Vec<JobPort>,
}

/// A request to one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobQuery {
    /// The output since the session last looked.
    ReadNew,
    /// Bytes by their place.
    ReadRange {
        /// The offset of the first byte.
        start: u64,
        /// The offset behind the last byte; `None` for all.
        end: Option<u64>,
    },
    /// Types into it.
    Write(Vec<Typed>),
    /// Until it ends, or prints this text.
    Wait {
        /// The longest wait.
        most: Duration,
        /// The text that ends the wait; `None` for the job's end only.
        until: Option<String>,
    },
    /// Ends it with everything it started.
    Stop,
}

/// The form in which output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobView {
    /// The bytes in the order of printing.
    Stream,
    /// The terminal as it looks now.
    Screen,
}

/// A job of the session, by the number of the call that started it.
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
            ToolError::bad_args(format!("`{text}` is not a process id"))
                .hint("ids are returned by start_process, such as p3; action list shows all")
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

/// The outcome of a call about jobs.
#[derive(Debug)]
pub enum JobOutcome {
    /// All jobs of the session.
    Listed(Vec<ListedJob>),
    /// One job after the request.
    Looked(Look),
}

/// A job in a list.
#[derive(Debug)]
pub struct ListedJob {
    /// The name that calls use.
    pub id: JobId,
    /// As a person reads it.
    pub command: String,
    /// Running, or the way in which it ended.
    pub status: JobStatus,
    /// The end of its session ends it, or not.
    pub keeping: JobLifetime,
    /// The size of its terminal; `None` for pipes.
    pub terminal: Option<TerminalSize>,
    /// Its ports that are published now.
    pub published: Vec<u16>,
}

/// The state of a job.
#[derive(Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// Its daemon lives.
    Running {
        /// The time from its start.
        elapsed: Duration,
        /// The time until its lifetime is over.
        left: Duration,
    },
    /// Nothing of it runs any more.
    Ended {
        /// The way in which it ended.
        how: JobEnding,
        /// The time from its start to its end.
        elapsed: Duration,
    },
}

/// A job, and the part of its output that was asked for.
#[derive(Debug)]
pub struct Look {
    /// The job itself.
    pub listed: ListedJob,
    /// The output.
    pub output: LookedAt,
    /// Tells whether the text that was waited for came; `None` when none was.
    pub found: Option<bool>,
    /// The typed bytes that it has taken, where something was typed.
    pub taken: Option<TypedCount>,
    /// The refusals of confinement that the session was not told yet, as far as they are known.
    pub refusals: Vec<String>,
}

/// The part of a job's output that was asked for.
#[derive(Debug)]
pub enum LookedAt {
    /// Bytes in the order of printing.
    Stream(JobText),
    /// The terminal as it looks now.
    Screen(ScreenText),
}

impl Operation for StartJob {
    type Outcome = StartedJob;

    fn paths(&self) -> Vec<PathUse> {
        vec![PathUse::new(&self.directory, Use::List)]
    }

    fn command(&self) -> Option<CommandLine> {
        Some(line_of(&self.program))
    }

    fn publishes(&self) -> Vec<u16> {
        self.publish.clone()
    }

    fn preview(
        &self,
        scope: &Scope,
        summary: CallSummary<'_>,
    ) -> Result<Option<Preview>, ToolError> {
        ports::check(scope, &self.publish).map(|()| summary.in_full())
    }

    fn shown_command(&self, _: &Scope) -> Option<ShownCommand> {
        let command = mask_credentials(&self.command);
        Some(ShownCommand { command, directory: self.directory.clone() })
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        Foreseen::Unknown
    }

    fn perform(self, execution: Execution<'_>) -> Result<StartedJob, ToolError> {
        self.run(execution.scope)
    }
}

impl Operation for JobCall {
    type Outcome = JobOutcome;

    fn paths(&self) -> Vec<PathUse> {
        Vec::new()
    }

    fn preview(&self, _: &Scope, summary: CallSummary<'_>) -> Result<Option<Preview>, ToolError> {
        Ok(summary.in_full())
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        Foreseen::Unknown
    }

    fn perform(self, execution: Execution<'_>) -> Result<JobOutcome, ToolError> {
        let scope = execution.scope;
        match self {
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

impl StartJob {
    fn run(self, scope: &Scope) -> Result<StartedJob, ToolError> {
        ports::check(scope, &self.publish)?;
        let workspace = &scope.workspace;
        let directory = resolve_existing(&workspace.sandbox, &self.directory)?;
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
            publication: ports::publication(scope, &self.publish),
        })?;
        await_echo(scope, &job, 0)?;
        if let JobState::Ended(end) = job.state().map_err(failed)?
            && let JobEnding::NotStarted(why) = end.how
        {
            workspace.jobs.forget(&job);
            return Err(ToolError::failed("start_process", why));
        }
        let ports = ports::ports_of(scope, &job, &self.publish)?;
        Ok(StartedJob { look: glance(scope, &job, None)?, ports })
    }
}

fn ask(scope: &Scope, id: JobId, what: JobQuery, view: Option<JobView>) -> Result<Look, ToolError> {
    let job = find(scope, id)?;
    match what {
        JobQuery::ReadNew => look(scope, &job, view),
        JobQuery::ReadRange { start, end } => {
            let mut seen = job.seen();
            let refusals = job.newly_refused(&mut seen).map_err(failed)?;
            let room = room(scope, &refusals);
            let shown = JobText::range(&job, start, end, room).map_err(failed)?;
            let (output, listed) = (LookedAt::Stream(shown), listed(scope, &job)?);
            note(&job, &seen)?;
            Ok(Look { listed, output, found: None, taken: None, refusals })
        }
        JobQuery::Write(typed) => write(scope, &job, typed, view),
        JobQuery::Wait { most, until } => {
            let found = wait(scope, &job, most, until.as_deref())?;
            Ok(Look { found, ..look(scope, &job, view)? })
        }
        JobQuery::Stop => {
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
    let hint = if known.is_empty() {
        "this session has started none; start one with start_process".to_owned()
    } else {
        format!("this session has {}", known.join(", "))
    };
    Err(ToolError::bad_args(format!("no process {id}")).hint(hint))
}

/// The bytes that are left for output beside the lines around it.
fn room(scope: &Scope, refusals: &[String]) -> usize {
    let hints: usize = refusals.iter().map(|refusal| refusal.len() + FRAME / 16).sum();
    scope.output_limit.saturating_sub(FRAME + hints)
}

fn note(job: &Job, seen: &JobSeen) -> Result<(), ToolError> {
    if *seen == job.seen() { Ok(()) } else { job.note_seen(seen).map_err(failed) }
}

/// A look that was asked for: what was printed before it is not waited for any more.
fn look(scope: &Scope, job: &Job, view: Option<JobView>) -> Result<Look, ToolError> {
    let read = printed(job)?;
    let look = glance(scope, job, view)?;
    note(job, &JobSeen { read, ..job.seen() })?;
    Ok(look)
}

/// Looks at what is new, or at the screen of a job that has one.
fn glance(scope: &Scope, job: &Job, view: Option<JobView>) -> Result<Look, ToolError> {
    // Before the output, so that a job that has ended has printed all of it.
    let listed = listed(scope, job)?;
    let mut seen = job.seen();
    let refusals = job.newly_refused(&mut seen).map_err(failed)?;
    let usual = if listed.terminal.is_some() { JobView::Screen } else { JobView::Stream };
    let output = match view.unwrap_or(usual) {
        JobView::Stream => {
            let room = room(scope, &refusals);
            let shown = JobText::new_since(job, seen.shown, room).map_err(failed)?;
            seen.shown = shown.end;
            LookedAt::Stream(shown)
        }
        JobView::Screen => LookedAt::Screen(job.screen().map_err(failed)?.ok_or_else(|| {
            ToolError::bad_args(format!("{} has no terminal, so it has no screen", listed.id))
                .hint("read it without view, or start it again with pty: true")
        })?),
    };
    note(job, &seen)?;
    Ok(Look { listed, output, found: None, taken: None, refusals })
}

fn listed(scope: &Scope, job: &Job) -> Result<ListedJob, ToolError> {
    let id = JobId::of(&scope.session_id, job.name()).unwrap_or(JobId(0));
    let description = job.description.clone();
    let lifetime = Duration::from_millis(description.lifetime_ms);
    let status = match job.state().map_err(failed)? {
        JobState::Running { .. } => {
            let elapsed = now_epoch_ms().saturating_sub(description.started_at_ms);
            let elapsed = Duration::from_millis(elapsed);
            JobStatus::Running { elapsed, left: lifetime.saturating_sub(elapsed) }
        }
        JobState::Ended(end) => {
            JobStatus::Ended { how: end.how, elapsed: Duration::from_millis(end.elapsed_ms) }
        }
    };
    let published = job.published();
    let JobDescription { command, keeping, terminal, .. } = description;
    Ok(ListedJob { id, command, status, keeping, terminal, published })
}

fn write(
    scope: &Scope,
    job: &Job,
    typed: Vec<Typed>,
    view: Option<JobView>,
) -> Result<Look, ToolError> {
    let before = printed(job)?;
    if let JobStatus::Ended { how, .. } = listed(scope, job)?.status {
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
                JobStatus::Ended { how, .. } => Err(over(scope, job, &how)),
                JobStatus::Running { .. } => Err(failed(error)),
            };
        }
    };
    await_echo(scope, job, before)?;
    Ok(Look { taken: Some(taken), ..glance(scope, job, view)? })
}

fn over(scope: &Scope, job: &Job, how: &JobEnding) -> ToolError {
    let id = JobId::of(&scope.session_id, job.name()).unwrap_or(JobId(0));
    ToolError::failed("process", format!("nothing was typed: {id} is not running; {}", how.words()))
        .hint("read it to see what it printed, or start it again")
}
