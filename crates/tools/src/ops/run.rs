//! Run: a command, from its start to the death of its last process.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use jm_files::SafePath;
use jm_process::Unended;
use jm_process::command::{
    CommandEnding, CommandInput, CommandProgram, CommandSpec, Exit, FinishedCommand, run_command,
};
use jm_process::confine::{Access, ConfinementRules, Refusal, grants_for, read_only};
use jm_process::output_reader::{OutputListener, OutputView};
use jm_shell::CommandLine;
use jm_types::text::json_length;
use jm_types::{Cancel, ErrorKind, ToolError};

use crate::context::{Scope, Workspace};
use crate::events::Events;
use crate::foresight::Foreseen;
use crate::holder::{CommandHolder, HeldRun, NotKept};
use crate::operation::{CallSummary, Execution, Operation};
use crate::ops::command_output::{
    Binary, JOINT, LEAST_ROOM, Manner, Printed, Uncut, is_all_of, is_utf8_text, share_output,
};
use crate::ops::not_found;
use crate::ops::refused::refusals_of;
use crate::ops::tail::Last;
use crate::tool::{PathUse, Preview, ShownCommand, Use};

/// How a shell command is started whose two streams come as one.
pub(super) const MERGING: [&str; 3] = ["/bin/sh", "-c", r#"exec /bin/sh -c "$0" sh 2>&1"#];

/// A command that is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The words or the shell line.
    pub program: CommandProgram,
    /// The working directory; a path like any other.
    pub directory: String,
    /// Besides what the environment gives.
    pub variables: Vec<(String, String)>,
    /// Its standard input.
    pub input: CommandInput,
    /// Shorter than the tool's own time, where the call asks for it.
    pub timeout: Option<Duration>,
    /// The treatment of output that is no text.
    pub binary: Binary,
    /// The part of the output that answers show.
    pub shown: Shown,
    /// [`Access::ReadsOnly`] for what may run unasked.
    pub access: Access,
}

/// The form that the toolset gives the output, so that what it leaves out is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// As it is given, both ends.
    Ends,
    /// The same inside JSON, whose escapes take room.
    InJson,
    /// The last lines.
    Last(Last),
}

/// A command that ended by itself.
#[derive(Debug)]
pub struct RunOutcome {
    /// Its exit code or signal.
    pub exit: Exit,
    /// Standard output, cut to its room.
    pub stdout: String,
    /// Standard error, cut to its room.
    pub stderr: String,
    /// The same before any cut, for answers that know their own room.
    pub uncut: Uncut,
    /// The time from its start.
    pub elapsed: Duration,
    /// How all of the output can be read, if it is kept.
    pub whole: Option<String>,
    /// Refusals by confinement, as far as the output tells.
    pub refusals: Vec<String>,
}

impl Run {
    /// A command in the workspace root, without input and with full access.
    pub fn new(program: CommandProgram) -> Self {
        let (directory, input) = (".".to_owned(), CommandInput::Closed);
        Self {
            program,
            directory,
            variables: Vec::new(),
            input,
            timeout: None,
            binary: Binary::Encoded,
            shown: Shown::Ends,
            access: Access::Full,
        }
    }

    /// A shell command whose two streams come as one, in the order in which they were written.
    pub fn merged(command: &str) -> Self {
        let words = MERGING.into_iter().chain([command]);
        Self::new(CommandProgram::Argv(words.map(OsString::from).collect()))
    }

    /// Runs it, and notes what confinement refused.
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
            record: Some(scope.call_key.to_string()).filter(|key| !key.is_empty()),
            access: match (self.access, scope.access) {
                (Access::Full, Access::Full) => Access::Full,
                (Access::ReadsOnly, _) | (_, Access::ReadsOnly) => {
                    scope.workspace.confiner.reader_access()
                }
            },
        };
        events.view = match self.binary {
            Binary::Encoded => OutputView::Settled,
            Binary::AsText => OutputView::Exact,
        };
        let ground = Ground::of(scope);
        let Invoked { finished, rules, not_kept } =
            invocation.run(ground, &scope.cancel, &mut events)?;
        // Somebody who stops a command knows why it did not go on.
        let found = match finished.ending {
            CommandEnding::SUCCESS | CommandEnding::Stopped | CommandEnding::Orphaned => Vec::new(),
            CommandEnding::Exited(_) | CommandEnding::TimedOut => {
                refusals_of(&finished, rules.as_ref())
            }
        };
        let exceptions = &scope.workspace.confiner.settings().exceptions;
        scope.refused.note(grants_for(&found, sandbox, rules.as_ref(), exceptions));
        let unended: Vec<String> = finished.unended.iter().map(Unended::in_words).collect();
        unended.iter().for_each(|text| events.notice(text));
        let refusals: Vec<String> = found.iter().map(Refusal::in_words).chain(unended).collect();
        let outcome = self.outcome(&finished, scope, room, &events);
        match (outcome, not_kept) {
            (Ok(outcome), None) => Ok(RunOutcome { refusals, ..outcome }),
            (Ok(outcome), Some(not_kept)) => {
                let how = format!("it ended with {}", outcome.exit);
                let failed = not_kept.failure(how, outcome.text());
                Err(refusals.into_iter().fold(failed, ToolError::hint))
            }
            (Err(stopped), not_kept) => {
                let told = not_kept.map(|not_kept| {
                    format!("its changes were not kept: {}; {}", not_kept.why, not_kept.hint)
                });
                Err(refusals.into_iter().chain(told).fold(stopped, ToolError::hint))
            }
        }
    }

    fn outcome(
        &self,
        finished: &FinishedCommand,
        scope: &Scope,
        room: usize,
        events: &Events,
    ) -> Result<RunOutcome, ToolError> {
        let room = match finished.ending {
            CommandEnding::SUCCESS => room,
            _ => room.saturating_sub(NOTE_ROOM).max(LEAST_ROOM),
        };
        let whole = events.whole_output();
        let manner = Manner { whole: whole.as_deref(), binary: self.binary };
        let (stdout, stderr) = match self.shown {
            Shown::Last(last) if last.cuts(&finished.stdout) && is_utf8_text(&finished.stdout) => {
                let file = events.whole_file(&scope.workspace.state);
                let whole = file.as_deref().or(manner.whole);
                (last.of(&finished.stdout, room, whole), finished.stderr.last(room))
            }
            Shown::Last(last) => {
                share_output(&finished.stdout, &finished.stderr, room.min(last.bytes), manner)
            }
            Shown::Ends | Shown::InJson => {
                share_output(&finished.stdout, &finished.stderr, room, manner)
            }
        };
        if !finished.is_redrawn
            && is_all_of(&stdout, &finished.stdout)
            && is_all_of(&stderr, &finished.stderr)
            && self.shown.has_room_for([&stdout, &stderr], scope.output_limit)
        {
            events.is_shown_whole();
        }
        let text = || text_of(&stdout, &stderr);
        let exit = match finished.ending {
            CommandEnding::Exited(exit) => exit,
            CommandEnding::TimedOut => {
                let (tool, elapsed) = (scope.tool_name.clone(), finished.elapsed);
                let timeout = ToolError::new(ErrorKind::Timeout { tool, elapsed });
                return Err(timeout.with_output(text()));
            }
            CommandEnding::Stopped | CommandEnding::Orphaned => {
                return Err(ToolError::cancelled().with_output(text()));
            }
        };
        let [out, errors] =
            [&finished.stdout, &finished.stderr].map(|stream| Printed::of(stream, self.binary));
        let uncut = Uncut { stdout: out, stderr: errors };
        let (elapsed, refusals) = (finished.elapsed, Vec::new());
        Ok(RunOutcome { exit, stdout, stderr, uncut, elapsed, whole, refusals })
    }

    /// A call's own variables pass the same door as all others.
    fn checked_variables(&self, scope: &Scope) -> Result<Vec<(OsString, OsString)>, ToolError> {
        let door = &scope.workspace.environment;
        let is_kept =
            |(name, value): &&(String, String)| !door.keeps(name.as_ref(), value.as_ref());
        match self.variables.iter().find(is_kept) {
            Some((name, _)) => Err(ToolError::bad_args(format!(
                "the variable {name} is not passed to commands: it may hold a secret or change what runs"
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

    /// True if the toolset's own form leaves nothing out. In doubt it does.
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
    pub(crate) program: CommandProgram,
    /// The workspace's root where none is named.
    pub(crate) directory: Option<SafePath>,
    pub(crate) input: CommandInput,
    /// Besides what the environment gives.
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) timeout: Duration,
    pub(crate) keep_bytes: usize,
    /// Under which name its end is written down, should we not be there any more.
    pub(crate) record: Option<String>,
    pub(crate) access: Access,
}

/// The ground on which a program is started: the workspace, directly or through a layer.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) holder: Option<&'a dyn CommandHolder>,
    /// The session whose background processes the program may reach; `None` for none.
    session: Option<&'a str>,
}

impl<'a> Ground<'a> {
    /// Of a call.
    pub(crate) fn of(scope: &'a Scope) -> Self {
        let (workspace, holder) = (&scope.workspace, scope.holder.as_deref());
        Self { workspace, holder, session: Some(&scope.session_id) }
    }

    /// The workspace itself, for programs that are part of something else.
    pub(crate) fn direct(workspace: &'a Workspace) -> Self {
        Self { workspace, holder: None, session: None }
    }
}

/// A program that was started and has ended.
#[derive(Debug)]
pub(crate) struct Invoked {
    pub(crate) finished: FinishedCommand,
    /// The rules by which it was confined.
    pub(crate) rules: Option<ConfinementRules>,
    pub(crate) not_kept: Option<NotKept>,
}

impl Invocation {
    /// Runs it to its end.
    pub(crate) fn run(
        self,
        Ground { workspace, holder, session }: Ground<'_>,
        cancel: &Cancel,
        listener: &mut dyn OutputListener,
    ) -> Result<Invoked, ToolError> {
        let sandbox = &workspace.sandbox;
        let record = self.record.as_deref();
        // The rules follow from the person's environment alone: a variable that a call sets must not
        // name a directory that is then opened to it.
        let mut environment = workspace.environment.sanitize(std::env::vars_os());
        let confinement = match self.access {
            Access::ReadsOnly => workspace.confiner.reading(sandbox, &environment, record)?,
            Access::Full => {
                let loopback = session.and_then(|session| workspace.jobs.loopback(session));
                let program = &self.program;
                let confiner = &workspace.confiner;
                confiner.confinement(sandbox, &environment, program, record).joining(loopback)
            }
        };
        match self.access {
            Access::ReadsOnly => {
                environment = read_only::environment(sandbox, &environment, &self.variables);
            }
            Access::Full => environment.extend(self.variables),
        }
        let rules = confinement.rules().cloned();
        let words = self.program.words();
        let spec = CommandSpec {
            program: self.program,
            directory: self.directory.map_or_else(|| sandbox.resolve("."), Ok)?,
            environment,
            input: self.input,
            timeout: self.timeout,
            keep_bytes: self.keep_bytes,
            confinement,
        };
        let (finished, not_kept) = match (holder, rules.clone()) {
            (Some(holder), Some(rules)) if self.access == Access::Full => {
                let start = |rules| run_command(spec.confined_by(rules), cancel, listener);
                let HeldRun { finished, not_kept } = holder.hold(&words, rules, Box::new(start))?;
                (finished, not_kept)
            }
            _ => (run_command(spec, cancel, listener)?, None),
        };
        Ok(Invoked { finished, rules, not_kept })
    }
}

/// For the line that says how a command failed.
const NOTE_ROOM: usize = 128;

impl RunOutcome {
    /// Standard output, then errors under their own heading.
    pub fn text(&self) -> String {
        text_of(&self.stdout, &self.stderr)
    }

    /// A command that failed as the error of a tool, with what confinement had to do with it.
    pub fn failure(&self, tool: &str, how: String, output: String) -> ToolError {
        let failed = ToolError::failed(tool, how).with_output(output);
        self.refusals.iter().cloned().fold(failed, ToolError::hint)
    }
}

/// The programs of a command; the shell that only joins two streams is not one of them.
pub(super) fn line_of(program: &CommandProgram) -> CommandLine {
    let words = match program {
        CommandProgram::Shell(script) => return CommandLine::of_shell(script),
        CommandProgram::Argv(words) => words,
    };
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match words.strip_prefix(&MERGING.map(str::to_owned)) {
        Some([script]) => CommandLine::of_shell(script),
        _ => CommandLine::of_argv(&words),
    }
}

fn text_of(stdout: &str, stderr: &str) -> String {
    if stderr.is_empty() { stdout.to_owned() } else { [stdout, JOINT, stderr].concat() }
}

impl Operation for Run {
    type Outcome = RunOutcome;

    const IS_COMMAND: bool = true;

    fn paths(&self) -> Vec<PathUse> {
        vec![PathUse::new(&self.directory, Use::WorkIn("cwd"))]
    }

    fn command(&self) -> Option<CommandLine> {
        let variables = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let line = line_of(&self.program).with_environment(variables);
        Some(match self.input {
            CommandInput::Closed => line,
            CommandInput::Bytes(_) | CommandInput::Ours => line.with_input(),
        })
    }

    /// The exact command, wherever the summary does not show all of it.
    fn preview(&self, _: &Scope, summary: CallSummary<'_>) -> Result<Option<Preview>, ToolError> {
        let is_said = self.is_only_a_command() && summary.is_shown_whole();
        Ok((!is_said).then(|| self.exact_preview()))
    }

    fn shown_command(&self, _: &Scope) -> Option<ShownCommand> {
        Some(self.shown())
    }

    fn foresee(&self, _: &Scope) -> Foreseen {
        Foreseen::Unknown
    }

    fn perform(self, execution: Execution<'_>) -> Result<RunOutcome, ToolError> {
        self.run(execution.scope, execution.events)
    }
}
