//! The facts about the calls that a crash left unfinished, read from the disk; nothing is changed.
//!
//! Law: for files the hashes on disk say what happened; for everything else we can only say that we do not
//! know.

use std::path::Path;
use std::time::Duration;

use jm_files::OpenFile;
use jm_process::background::{JobLifetime, JobState};
use jm_process::command::{CommandEnding, CommandRecord, Exit};
use jm_process::remaining_processes::Survivor;
use jm_process::spool::Spooled;
use jm_store::{CallView, FileEffect, FileState, LayerRecord, Record};
use jm_tools::ToolEffect;
use jm_types::{CallKey, SessionId, ToolError};

use super::layered::{self, LayersPlace};
use crate::core::Core;
use crate::engine::Engine;
use crate::files::{Standing, is_beneath_a_file, resolve};
use crate::own_call::{is_keep, is_own_name};

/// The state of a call, as far as it can be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// It has its result; perhaps nobody has seen it.
    Finished,
    /// On record, and not as started.
    NeverStarted,
    /// Started, and nothing of it is on disk.
    NoEffect,
    /// Some of its files have changed, others not yet.
    SomeEffects,
    /// Every file is as the call wanted it.
    AllEffects,
    /// A file is neither what it was nor what it should become: somebody else was there.
    Foreign,
    /// A command or a foreign tool: it was started, and that is all we know.
    Unknown,
    /// A command on a layer: it was started, and nothing that it changed counts.
    Held,
}

/// The side of a change that a file is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// As before the call.
    Before,
    /// As after the call.
    After,
    /// Neither: somebody else's.
    Other,
}

/// One file of an interrupted call, and its side now.
#[derive(Debug, Clone)]
pub struct FileFact {
    /// The change as it was recorded.
    pub effect: FileEffect,
    /// The side that the file is on.
    pub now: Side,
}

/// One call of an unfinished batch, with the facts.
#[derive(Debug, Clone)]
pub struct Examined {
    /// The records of the call.
    pub view: CallView,
    /// The state that follows from its files.
    pub state: CallState,
    /// Its files, one by one.
    pub files: Vec<FileFact>,
    /// The layers of its commands that are on record.
    pub layers: Vec<LayerRecord>,
    /// The output that its command had printed.
    pub printed: Vec<Spooled>,
    /// The processes of its command that still run.
    pub survivors: Vec<Survivor>,
    /// How a command ended, if its supervisor could still write that down.
    pub command: Option<CommandRecord>,
    /// The state of the process that it started in the background.
    pub job: Option<JobState>,
}

impl Examined {
    /// The state of the call, in words.
    pub fn words(&self) -> String {
        let is_layered = self.state == CallState::Held || !self.layers.is_empty();
        let words = match (self.state, self.ending()) {
            (CallState::Unknown, Some(ending)) => ending,
            (state, Some(ending)) if is_layered => format!("{ending}; {}", state.words()),
            (state, _) => state.words().to_owned(),
        };
        match self.gap().filter(|_| is_layered) {
            Some(gap) => format!("{words}; not tracked: {gap}"),
            None => words,
        }
    }

    /// Why not all of its changes are known.
    pub(super) fn gap(&self) -> Option<String> {
        self.view.effects().gap
    }

    /// How its command ended, or what became of the process that it started, where that is known.
    pub(super) fn ending(&self) -> Option<String> {
        let of_job = |job| job_words(job, &self.view.call.call);
        self.command.as_ref().map(command_words).or_else(|| self.job.as_ref().map(of_job))
    }
}

fn job_words(job: &JobState, call: &CallKey) -> String {
    match job {
        JobState::Running { .. } => {
            format!("it started a process that still runs (`jm ps`): {call}")
        }
        JobState::Ended(end) => format!("it started a process: {}", end.how.words()),
    }
}

fn command_words(command: &CommandRecord) -> String {
    let output = match command.stdout_bytes + command.stderr_bytes {
        0 => String::new(),
        bytes => format!("; {bytes} bytes of its output were read"),
    };
    let ended = match command.ended {
        CommandEnding::Exited(Exit::Code(code)) => format!("it ended with exit code {code}"),
        CommandEnding::Exited(Exit::Signal(signal)) => format!("ended by signal {signal}"),
        CommandEnding::TimedOut => "timed out and was ended".to_owned(),
        CommandEnding::Stopped => "stopped on request".to_owned(),
        CommandEnding::Orphaned => {
            "still running when jm died, and was ended then with its child processes".to_owned()
        }
    };
    format!("{ended}, after {} ms{output}", command.elapsed_ms)
}

impl CallState {
    /// The state for people.
    pub fn words(self) -> &'static str {
        match self {
            CallState::Finished => "completed; the result had not reached the model",
            CallState::NeverStarted => "never started",
            CallState::NoEffect => "started; nothing was changed",
            CallState::SomeEffects => "some of its changes are on disk",
            CallState::AllEffects => "all of its changes are on disk",
            CallState::Foreign => "its files were changed by another program since",
            CallState::Unknown => "started; whether it finished is unknown",
            CallState::Held => "ran on a layer; none of its changes are in the workspace",
        }
    }
}

impl Engine {
    /// The facts about a session's unfinished calls; changes nothing.
    pub fn examine(&self, session: &SessionId) -> Result<Vec<Examined>, ToolError> {
        let core = self.core_arc();
        let Some(journal) = core.recorder.journal() else { return Ok(Vec::new()) };
        let calls = journal.store().unfinished(session);
        let calls = calls.map_err(|error| ToolError::failed("recovery", error.to_string()))?;
        Ok(calls.into_iter().map(|view| examine(&core, view)).collect())
    }

    /// Reads a file of the journal as it is now: through the sandbox, without following links, at most `most`
    /// bytes. `None` where there is no file; an error says why it is not shown.
    pub fn read_now(&self, path: &Path, most: u64) -> Result<Option<Vec<u8>>, String> {
        let path = resolve(&self.core().workspace.sandbox, path)?;
        if path.is_missing() {
            return Ok(None);
        }
        let read = OpenFile::open(&path).and_then(|mut file| file.read_up_to(most));
        match read.map_err(|error| error.to_string())? {
            (bytes, false) => Ok(Some(bytes)),
            (_, true) => Err(format!("it is larger than {most} bytes")),
        }
    }
}

impl Examined {
    /// An earlier attempt at recovery got this far.
    pub(super) fn is_settled(&self) -> bool {
        let mut records = self.view.records.iter();
        records.any(|(_, record)| matches!(record, Record::Recovered { .. }))
    }
}

pub(super) fn examine(core: &Core, view: CallView) -> Examined {
    let effects = view.effects();
    let layers = effects.layers;
    let files: Vec<FileFact> = effects
        .files
        .into_iter()
        // Directories are settled with the files in them, but for one that a file stands for.
        .filter(|effect| effect.before.is_file() || effect.after.is_file())
        .map(|effect| FileFact { now: side(core, &effect), effect })
        .collect();
    let tool = core.registry.lookup(&view.call.name);
    // A tool that is not here any more may have been anything; an undo is no tool.
    let is_foreign = !is_own_name(&view.call.name);
    let runs = tool.map_or(is_foreign, |tool| tool.spec().effect == ToolEffect::Runs);
    let any = |wanted| files.iter().any(|file| file.now == wanted);
    let state = match view.started() {
        _ if view.result().is_some() => CallState::Finished,
        _ if !layers.is_empty() => layered_state(layered::place_of(core, &layers)),
        _ if is_keep(&view) && layered::is_held(core, &view.call.call) => CallState::Held,
        None if files.is_empty() => CallState::NeverStarted,
        _ if runs && layered::is_held(core, &view.call.call) => CallState::Held,
        // What it changed is known, how it ended is not.
        _ if runs => CallState::Unknown,
        _ if files.is_empty() => CallState::NoEffect,
        _ if any(Side::Other) => CallState::Foreign,
        _ => match (any(Side::Before), any(Side::After)) {
            (true, true) => CallState::SomeEffects,
            (true, false) => CallState::NoEffect,
            (false, _) => CallState::AllEffects,
        },
    };
    let (printed, survivors) = match state {
        CallState::Finished | CallState::NeverStarted => (Vec::new(), Vec::new()),
        CallState::NoEffect
        | CallState::SomeEffects
        | CallState::AllEffects
        | CallState::Foreign
        | CallState::Held
        | CallState::Unknown => {
            let key = &view.call.call;
            (core.recorder.printed(key), core.recorder.survivors(key))
        }
    };
    let is_unknown = state == CallState::Unknown;
    let is_command = is_unknown || state == CallState::Held || runs && !layers.is_empty();
    let is_command = is_command && view.result().is_none();
    let command = is_command.then(|| core.workspace.confiner.record(&view.call.call)).flatten();
    let job = is_unknown.then(|| job_of(core, &view.call.call)).flatten();
    Examined { view, state, files, layers, printed, survivors, command, job }
}

fn layered_state(place: LayersPlace) -> CallState {
    match place {
        LayersPlace::Before => CallState::NoEffect,
        LayersPlace::Between => CallState::SomeEffects,
        LayersPlace::After => CallState::AllEffects,
        LayersPlace::Foreign => CallState::Foreign,
        LayersPlace::Unknown => CallState::Unknown,
    }
}

/// The state of the process that a call started. One that is just being ended is waited for.
fn job_of(core: &Core, call: &CallKey) -> Option<JobState> {
    const ORPHAN_PATIENCE: Duration = Duration::from_secs(5);
    let job = core.workspace.jobs.find(call).ok()??;
    if job.description.keeping == JobLifetime::WithTheSession {
        job.ended_within(ORPHAN_PATIENCE).ok()?;
    }
    job.state().ok()
}

fn side(core: &Core, effect: &FileEffect) -> Side {
    let sandbox = &core.workspace.sandbox;
    let Ok(path) = resolve(sandbox, &effect.path) else {
        let is_beneath = is_beneath_a_file(sandbox, &effect.path);
        return match effect {
            FileEffect { after: FileState::Missing, .. } if is_beneath => Side::After,
            FileEffect { before: FileState::Missing, .. } if is_beneath => Side::Before,
            _ => Side::Other,
        };
    };
    let mut standing = Standing::at(&path);
    let (Ok(after), Ok(before)) = (standing.is(effect.after), standing.is(effect.before)) else {
        return Side::Other;
    };
    match (after, before) {
        // Only the permissions differ.
        (true, true) if standing.mode() == effect.before.mode() => Side::Before,
        (true, _) => Side::After,
        (false, true) => Side::Before,
        (false, false) => Side::Other,
    }
}
