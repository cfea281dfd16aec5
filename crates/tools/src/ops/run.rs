//! Run: a command, from its start to the death of its last process.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use jm_types::text::sanitize::Sanitizer;
use jm_types::text::truncate::HeadTail;
use jm_types::{Cancel, ErrorKind, ToolError, ToolEvent};
use jm_workspace::confine::{Backend, Bite, SIGSYS, Walls, bites};
use jm_workspace::process::{CommandSpec, Ending, Finished, Input, Program, run};
use jm_workspace::pump::{Listener, Offer, Stream};
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::context::{Scope, ToolCtx, Workspace};
use crate::ops::binary::{SNIFF, base64_within};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub program: Program,
}

#[derive(Debug)]
pub struct RunOutcome {
    pub ending: Ending,
    pub stdout: String,
    pub stderr: String,
    /// What confinement refused, as far as the output tells.
    pub refusals: Vec<String>,
}

impl Run {
    pub fn run(&self, scope: &Scope, mut events: Events) -> Result<RunOutcome, ToolError> {
        let invocation = Invocation {
            program: self.program.clone(),
            input: Input::Closed,
            variables: Vec::new(),
            timeout: scope.deadline.saturating_duration_since(Instant::now()),
            keep_bytes: scope.output_limit.max(1024),
            record: Some(scope.call_key.clone()).filter(|key| !key.is_empty()),
        };
        let (finished, walls) =
            invocation.confined(&scope.workspace, &scope.cancel, &mut events)?;
        let refusals = walls.map(|walls| refusals(&finished, &walls)).unwrap_or_default();
        outcome(finished, scope).map(|whole| RunOutcome { refusals, ..whole })
    }
}

/// One start of a program for a tool. All of them run in the workspace's root, with the cleaned
/// environment.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) program: Program,
    pub(crate) input: Input,
    /// Besides what the environment gives.
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) timeout: Duration,
    pub(crate) keep_bytes: usize,
    /// Under which name its end is written down, should we not be there any more.
    pub(crate) record: Option<String>,
}

impl Invocation {
    pub(crate) fn run(
        self,
        workspace: &Workspace,
        cancel: &Cancel,
        listener: &mut dyn Listener,
    ) -> Result<Finished, ToolError> {
        self.confined(workspace, cancel, listener).map(|(finished, _)| finished)
    }

    /// The same, with the walls it ran behind.
    fn confined(
        self,
        workspace: &Workspace,
        cancel: &Cancel,
        listener: &mut dyn Listener,
    ) -> Result<(Finished, Option<Walls>), ToolError> {
        let mut environment = workspace.environment.sanitize(std::env::vars_os());
        environment.extend(self.variables);
        let sandbox = &workspace.sandbox;
        let record = self.record.as_deref();
        let confinement =
            workspace.confiner.confinement(sandbox, &environment, &self.program, record);
        let walls = confinement.walls().cloned();
        let spec = CommandSpec {
            program: self.program,
            directory: sandbox.resolve(".")?,
            environment,
            input: self.input,
            timeout: self.timeout,
            keep_bytes: self.keep_bytes,
            confinement,
        };
        Ok((run(spec, cancel, listener)?, walls))
    }
}

/// What a failed command ran into that confinement explains, and what a person could do.
fn refusals(finished: &Finished, walls: &Walls) -> Vec<String> {
    if finished.ending == Ending::Exited(0) || walls.backend == Backend::None {
        return Vec::new();
    }
    let said = [&finished.stderr, &finished.stdout].map(|stream| stream.render(REFUSAL_BYTES));
    let mut found = bites(&said.concat(), walls);
    if finished.ending == Ending::Signalled(SIGSYS) {
        found.push(Bite::Call);
    }
    let words = |bite: Bite| match bite.remedy() {
        Some(remedy) => format!("{}; {remedy}", bite.what()),
        None => bite.what(),
    };
    found.into_iter().map(words).collect()
}

/// So much of each stream is searched for refusals.
const REFUSAL_BYTES: usize = 64 * 1024;

fn outcome(finished: Finished, scope: &Scope) -> Result<RunOutcome, ToolError> {
    let room = match finished.ending {
        Ending::Exited(0) => scope.output_limit,
        _ => scope.output_limit.saturating_sub(NOTE_ROOM),
    };
    let (stdout, stderr) = share(&finished.stdout, &finished.stderr, room);
    let whole = RunOutcome { ending: finished.ending, stdout, stderr, refusals: Vec::new() };
    match finished.ending {
        Ending::Exited(_) | Ending::Signalled(_) => Ok(whole),
        Ending::TimedOut => {
            let kind =
                ErrorKind::Timeout { tool: scope.tool_name.clone(), elapsed: finished.elapsed };
            Err(ToolError::new(kind).with_output(whole.text()))
        }
        Ending::Cancelled => Err(ToolError::cancelled().with_output(whole.text())),
    }
}

/// Both streams within `room`. Errors come last and matter most, so they may have half of it, and
/// more where the rest leaves it.
pub(crate) fn share(stdout: &HeadTail, stderr: &HeadTail, room: usize) -> (String, String) {
    if stderr.total() == 0 {
        return (render(stdout, room), String::new());
    }
    let room = room.saturating_sub(JOINT.len());
    let wanted = |stream: &HeadTail| usize::try_from(stream.total()).unwrap_or(usize::MAX);
    let left_by_stdout = room.saturating_sub(wanted(stdout));
    let stderr = render(stderr, left_by_stdout.max(room / 2));
    (render(stdout, room - stderr.len()), stderr)
}

/// Text as it is, binary output as base64 (FR-EXE-06). A compiler that quotes one odd byte is still
/// text; what holds a NUL is not.
fn render(stream: &HeadTail, room: usize) -> String {
    let first = stream.first();
    if memchr::memchr(0, &first[..first.len().min(SNIFF)]).is_none() {
        return stream.render(room);
    }
    base64_within(first, stream.total() > first.len() as u64, room)
        .map_or_else(|| stream.render(room), |(text, _)| text)
}

const JOINT: &str = "\n\n[stderr]\n";
/// For the line that says how a command failed.
const NOTE_ROOM: usize = 128;

impl RunOutcome {
    /// Standard output, then errors under their own heading.
    pub fn text(&self) -> String {
        match self.stderr.is_empty() {
            true => self.stdout.clone(),
            false => [&self.stdout, JOINT, &self.stderr].concat(),
        }
    }
}

/// Sends output on as it comes, already safe for a terminal.
#[derive(Debug)]
pub struct Events {
    sender: mpsc::Sender<ToolEvent>,
    tool_call_id: String,
    stdout: Sanitizer,
    stderr: Sanitizer,
}

impl Events {
    pub fn of(ctx: &ToolCtx) -> Self {
        Self {
            sender: ctx.output_tx.clone(),
            tool_call_id: ctx.tool_call_id.clone(),
            stdout: Sanitizer::default(),
            stderr: Sanitizer::default(),
        }
    }

    fn clean(&mut self, stream: Stream, chunk: &str) -> String {
        match stream {
            Stream::Stdout => self.stdout.push(chunk),
            Stream::Stderr => self.stderr.push(chunk),
        }
    }

    fn event(&self, stream: Stream, chunk: String) -> ToolEvent {
        let tool_call_id = self.tool_call_id.clone();
        match stream {
            Stream::Stdout => ToolEvent::StdoutChunk { tool_call_id, chunk },
            Stream::Stderr => ToolEvent::StderrChunk { tool_call_id, chunk },
        }
    }
}

impl Listener for Events {
    fn hear(&mut self, stream: Stream, chunk: &str) -> Offer {
        // Room first: a chunk that was cleaned cannot be offered again.
        let sender = self.sender.clone();
        let permit = match sender.try_reserve() {
            Ok(permit) => permit,
            Err(TrySendError::Full(())) => return Offer::Full,
            Err(TrySendError::Closed(())) => return Offer::Gone,
        };
        let clean = self.clean(stream, chunk);
        if !clean.is_empty() {
            permit.send(self.event(stream, clean));
        }
        Offer::Taken
    }

    fn hear_last(&mut self, stream: Stream, chunk: &str) {
        let clean = self.clean(stream, chunk);
        let mut event = self.event(stream, clean);
        while let Err(TrySendError::Full(back)) = self.sender.try_send(event) {
            event = back;
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
