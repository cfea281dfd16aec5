//! Run: a command, from its start to the death of its last process.

use std::ffi::OsString;
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use encoding_rs::Encoding;
use jm_types::text::json_length;
use jm_types::text::sanitize::Sanitizer;
use jm_types::text::truncate::{HeadTail, head_and_tail, head_and_tail_naming};
use jm_types::{Cancel, ErrorKind, ToolError, ToolEvent};
use jm_workspace::SafePath;
use jm_workspace::confine::{Bite, Walls};
use jm_workspace::process::{CommandSpec, Ending, Finished, Input, Program, run};
use jm_workspace::pump::{Listener, Offer, Stream, View};
use jm_workspace::spool::Spool;
use tokio::sync::mpsc::{self, error::TrySendError};

use crate::context::{Scope, ToolCtx, Whole, Workspace};
use crate::ops::binary::{SNIFF, base64_within};
use crate::ops::charset::{decode, encoding_of};
use crate::ops::not_found;
use crate::ops::refused::refused;
use crate::ops::tail::Last;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub program: Program,
    /// Where it starts; a path like any other.
    pub directory: String,
    /// Besides what the environment gives.
    pub variables: Vec<(String, String)>,
    pub input: Input,
    /// Shorter than the tool's own time, where the call asks for it.
    pub timeout: Option<Duration>,
    pub binary: Binary,
    pub shown: Shown,
}

/// What the toolset makes of the output, so that what it leaves out is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// As it is given, both ends.
    Ends,
    /// The same inside JSON, whose escapes take room.
    InJson,
    Last(Last),
}

/// How output that holds NUL bytes is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// As base64 (FR-EXE-06); text as a terminal would show it in the end, and from its encoding.
    Encoded,
    /// As text like any other, byte for byte, for envelopes that can say every byte.
    AsText,
}

#[derive(Debug)]
pub struct RunOutcome {
    pub ending: Ending,
    pub stdout: String,
    pub stderr: String,
    pub elapsed: Duration,
    /// How all of the output can be read, if it is kept.
    pub whole: Option<String>,
    /// What confinement refused, as far as the output tells.
    pub refusals: Vec<String>,
}

impl Run {
    pub fn new(program: Program) -> Self {
        let (directory, input) = (".".to_owned(), Input::Closed);
        Self {
            program,
            directory,
            variables: Vec::new(),
            input,
            timeout: None,
            binary: Binary::Encoded,
            shown: Shown::Ends,
        }
    }

    /// A shell command whose two streams come as one, in the order in which they were written.
    pub fn merged(command: &str) -> Self {
        let words = ["/bin/sh", "-c", r#"exec /bin/sh -c "$0" sh 2>&1"#, command];
        Self::new(Program::Argv(words.map(OsString::from).to_vec()))
    }

    pub fn run(&self, scope: &Scope, events: Events) -> Result<RunOutcome, ToolError> {
        self.keeping(scope.output_limit, scope, events)
    }

    /// Up to `room` bytes of what it prints.
    pub(crate) fn keeping(
        &self,
        room: usize,
        scope: &Scope,
        mut events: Events,
    ) -> Result<RunOutcome, ToolError> {
        let sandbox = &scope.workspace.sandbox;
        let directory = sandbox.resolve(&self.directory)?;
        if directory.is_missing() {
            return Err(not_found(sandbox, &directory));
        }
        let left = scope.deadline.saturating_duration_since(Instant::now());
        let invocation = Invocation {
            program: self.program.clone(),
            directory: Some(directory),
            input: self.input.clone(),
            variables: self.checked_variables(scope)?,
            timeout: self.timeout.map_or(left, |asked| asked.min(left)),
            keep_bytes: self.shown.keep_bytes(room),
            record: Some(scope.call_key.clone()).filter(|key| !key.is_empty()),
        };
        events.view = match self.binary {
            Binary::Encoded => View::Settled,
            Binary::AsText => View::Exact,
        };
        let (finished, walls) = invocation.run(&scope.workspace, &scope.cancel, &mut events)?;
        // Somebody who stops a command knows why it did not go on.
        let found = match finished.ending {
            Ending::Exited(0) | Ending::Cancelled => Vec::new(),
            Ending::Exited(_) | Ending::Signalled(_) | Ending::TimedOut => {
                refused(&finished, walls.as_ref())
            }
        };
        scope.workspace.confiner.note_refused(&scope.call_key, &found);
        let refusals: Vec<String> = found.iter().map(Bite::in_words).collect();
        match self.outcome(&finished, scope, room, &events) {
            Ok(outcome) => Ok(RunOutcome { refusals, ..outcome }),
            Err(stopped) => Err(refusals.into_iter().fold(stopped, ToolError::hint)),
        }
    }

    fn outcome(
        &self,
        finished: &Finished,
        scope: &Scope,
        room: usize,
        events: &Events,
    ) -> Result<RunOutcome, ToolError> {
        let room = match finished.ending {
            Ending::Exited(0) => room,
            _ => room.saturating_sub(NOTE_ROOM),
        };
        let whole = events.whole_output();
        let manner = Manner { whole: whole.as_deref(), binary: self.binary };
        let (stdout, stderr) = match self.shown {
            Shown::Last(last) if last.cuts(&finished.stdout) && is_plain(&finished.stdout) => {
                (last.of(&finished.stdout, room, manner.whole), finished.stderr.last(room))
            }
            Shown::Last(last) => {
                share(&finished.stdout, &finished.stderr, room.min(last.bytes), manner)
            }
            Shown::Ends | Shown::InJson => share(&finished.stdout, &finished.stderr, room, manner),
        };
        if !finished.is_redrawn
            && is_all_of(&stdout, &finished.stdout)
            && is_all_of(&stderr, &finished.stderr)
            && self.shown.has_room_for([&stdout, &stderr], scope.output_limit)
        {
            events.is_shown_whole();
        }
        let (ending, elapsed) = (finished.ending, finished.elapsed);
        let told = RunOutcome { ending, stdout, stderr, elapsed, whole, refusals: Vec::new() };
        match finished.ending {
            Ending::Exited(_) | Ending::Signalled(_) => Ok(told),
            Ending::TimedOut => {
                let kind =
                    ErrorKind::Timeout { tool: scope.tool_name.clone(), elapsed: finished.elapsed };
                Err(ToolError::new(kind).with_output(told.text()))
            }
            Ending::Cancelled => Err(ToolError::cancelled().with_output(told.text())),
        }
    }

    /// A call's own variables pass the same door as all others.
    fn checked_variables(&self, scope: &Scope) -> Result<Vec<(OsString, OsString)>, ToolError> {
        let door = &scope.workspace.environment;
        let is_kept =
            |(name, value): &&(String, String)| !door.keeps(name.as_ref(), value.as_ref());
        match self.variables.iter().find(is_kept) {
            Some((name, _)) => Err(ToolError::bad_args(format!(
                "the variable {name} is kept from commands: it holds a secret, or makes programs \
                 run something else"
            ))),
            None => {
                Ok(self.variables.iter().map(|(name, value)| (name.into(), value.into())).collect())
            }
        }
    }
}

impl Shown {
    fn keep_bytes(self, room: usize) -> usize {
        match self {
            Shown::Ends | Shown::InJson => room.max(1024),
            // Half of what is kept are the last bytes.
            Shown::Last(last) => 2 * last.bytes,
        }
    }

    /// Whether the toolset's own form leaves nothing out. In doubt it does.
    fn has_room_for(self, streams: [&str; 2], limit: usize) -> bool {
        match self {
            Shown::Ends | Shown::Last(_) => true,
            Shown::InJson => streams.into_iter().map(json_length).sum::<usize>() <= limit / 4,
        }
    }
}

/// One start of a program for a tool, with the cleaned environment.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) program: Program,
    /// The workspace's root where none is named.
    pub(crate) directory: Option<SafePath>,
    pub(crate) input: Input,
    /// Besides what the environment gives.
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) timeout: Duration,
    pub(crate) keep_bytes: usize,
    /// Under which name its end is written down, should we not be there any more.
    pub(crate) record: Option<String>,
}

impl Invocation {
    /// How it ended, and the walls it ran behind.
    pub(crate) fn run(
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
            directory: self.directory.map_or_else(|| sandbox.resolve("."), Ok)?,
            environment,
            input: self.input,
            timeout: self.timeout,
            keep_bytes: self.keep_bytes,
            confinement,
        };
        Ok((run(spec, cancel, listener)?, walls))
    }
}

/// How output is given where it is cut or is no text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner<'a> {
    /// How all of it can be read, if it is kept.
    pub(crate) whole: Option<&'a str>,
    pub(crate) binary: Binary,
}

impl Manner<'_> {
    pub(crate) const PLAIN: Self = Self { whole: None, binary: Binary::Encoded };
}

/// Both streams within `room`. Errors come last and matter most, so they may have half of it, and
/// more where the rest leaves it.
pub(crate) fn share(
    stdout: &HeadTail,
    stderr: &HeadTail,
    room: usize,
    manner: Manner<'_>,
) -> (String, String) {
    if stderr.total() == 0 {
        return (render(stdout, room, manner), String::new());
    }
    let room = room.saturating_sub(JOINT.len());
    let wanted = |stream: &HeadTail| usize::try_from(stream.total()).unwrap_or(usize::MAX);
    let left_by_stdout = room.saturating_sub(wanted(stdout));
    let errors = manner.whole.map(|whole| format!("{whole} --stderr"));
    let of_errors = Manner { whole: errors.as_deref(), ..manner };
    let stderr = render(stderr, left_by_stdout.max(room / 2), of_errors);
    (render(stdout, room - stderr.len(), manner), stderr)
}

/// Nothing was cut, and every byte could be shown as it was.
fn is_all_of(text: &str, stream: &HeadTail) -> bool {
    text.len() as u64 == stream.total() && !text.contains(char::REPLACEMENT_CHARACTER)
}

/// UTF-8, more or less, and no NUL in it.
fn is_plain(stream: &HeadTail) -> bool {
    let (head, tail, _) = stream.ends();
    encoding_of(&head, &tail).is_none()
        && memchr::memchr(0, &head[..head.len().min(SNIFF)]).is_none()
}

/// Text as it is, binary output as base64 (FR-EXE-06). A compiler that quotes one odd byte is still
/// text; what holds a NUL is not.
fn render(stream: &HeadTail, room: usize, manner: Manner<'_>) -> String {
    let text = || match manner.whole {
        Some(whole) => stream.render_naming(room, whole),
        None => stream.render(room),
    };
    if manner.binary == Binary::AsText {
        return text();
    }
    let (head, tail, omitted) = stream.ends();
    if let Some(encoding) = encoding_of(&head, &tail) {
        return foreign(encoding, (&head, &tail, omitted), room, manner);
    }
    let first = stream.first();
    let has_nul = memchr::memchr(0, &first[..first.len().min(SNIFF)]).is_some();
    if !has_nul {
        return text();
    }
    base64_within(first, stream.total() > first.len() as u64, room)
        .map_or_else(text, |(encoded, _)| encoded)
}

/// Text in another encoding, which is said as binary output is.
fn foreign(
    encoding: &'static Encoding,
    (head, tail, omitted): (&[u8], &[u8], u64),
    room: usize,
    manner: Manner<'_>,
) -> String {
    let header = format!("[text:{}]\n", encoding.name());
    let room = room.saturating_sub(header.len());
    let [head, tail] = [head, tail].map(|bytes| decode(encoding, bytes));
    let text = match (manner.whole, omitted, tail.is_empty()) {
        (_, 0, true) => {
            let (head, tail) = head.split_at(head.floor_char_boundary(head.len() / 2));
            head_and_tail(head, tail, 0, room)
        }
        (None, ..) => head_and_tail(&head, &tail, omitted, room),
        (Some(whole), ..) => head_and_tail_naming(&head, &tail, omitted, room, whole),
    };
    [header, text].concat()
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

    /// A command that failed as the error of a tool, with what confinement had to do with it.
    pub(crate) fn failure(&self, tool: &str, how: String, output: String) -> ToolError {
        let failed = ToolError::failed(tool, how).with_output(output);
        self.refusals.iter().cloned().fold(failed, ToolError::hint)
    }
}

/// Sends output on as it comes, already safe for a terminal.
#[derive(Debug)]
pub struct Events {
    sender: mpsc::Sender<ToolEvent>,
    tool_call_id: String,
    stdout: Sanitizer,
    stderr: Sanitizer,
    whole: Option<Whole>,
    view: View,
}

impl Events {
    pub fn of(ctx: &ToolCtx) -> Self {
        Self {
            sender: ctx.output_tx.clone(),
            tool_call_id: ctx.tool_call_id.clone(),
            stdout: Sanitizer::default(),
            stderr: Sanitizer::default(),
            whole: ctx.whole.clone(),
            view: View::Exact,
        }
    }

    /// How all of the output can be read, if it is kept.
    pub(crate) fn whole_output(&self) -> Option<String> {
        let spool = self.spool()?;
        spool.is_kept().then(|| format!("jm output {}", spool.name()))
    }

    pub(crate) fn is_shown_whole(&self) {
        if let Some(mut spool) = self.spool() {
            spool.forget();
        }
    }

    fn spool(&self) -> Option<MutexGuard<'_, Spool>> {
        Some(self.whole.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// For callers that only want the result.
    pub fn unheard() -> Self {
        let (sender, _) = mpsc::channel(1);
        let (stdout, stderr) = (Sanitizer::default(), Sanitizer::default());
        Self { sender, tool_call_id: String::new(), stdout, stderr, whole: None, view: View::Exact }
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
    fn view(&self) -> View {
        self.view
    }

    fn started(&mut self, pid: u32) {
        if let Some(spool) = self.spool() {
            spool.note_leader(pid);
        }
    }

    fn keep(&mut self, stream: Stream, bytes: &[u8]) {
        if let Some(mut spool) = self.spool() {
            spool.write(stream, bytes);
        }
    }

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
