//! Run: a command, from its start to the death of its last process.

use std::time::{Duration, Instant};

use jm_types::text::sanitize::Sanitizer;
use jm_types::{ErrorKind, ToolError, ToolEvent};
use jm_workspace::process::{CommandSpec, Ending, Finished, Program, run};
use jm_workspace::pump::{Listener, Offer, Stream};
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::context::{Scope, ToolCtx};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub program: Program,
}

#[derive(Debug)]
pub struct RunOutcome {
    pub ending: Ending,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn run(&self, scope: &Scope, mut events: Events) -> Result<RunOutcome, ToolError> {
        let environment = scope.workspace.environment.sanitize(std::env::vars_os());
        let spec = CommandSpec {
            program: self.program.clone(),
            directory: scope.workspace.sandbox.resolve(".")?,
            environment,
            timeout: scope.deadline.saturating_duration_since(Instant::now()),
            keep_bytes: scope.output_limit.max(1024),
        };
        let finished = run(spec, &scope.cancel, &mut events)?;
        outcome(finished, scope)
    }
}

fn outcome(finished: Finished, scope: &Scope) -> Result<RunOutcome, ToolError> {
    // Errors come last and matter most, so they may use up to half of the room (FR-TOOL-CMD-01).
    let half = scope.output_limit / 2;
    let stderr = finished.stderr.render(
        half.max(
            scope
                .output_limit
                .saturating_sub(usize::try_from(finished.stdout.total()).unwrap_or(usize::MAX)),
        ),
    );
    let left = scope.output_limit.saturating_sub(stderr.len() + JOINT.len() + NOTE_ROOM);
    let stdout = finished.stdout.render(left);
    let whole = RunOutcome { ending: finished.ending, stdout, stderr };
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
