//! What a crash left behind.
//!
//! Law: a call that may have run is never run again (FR-RES-04c). For files the hashes on disk say
//! what happened; for everything else we can only say that we do not know.

use std::path::Path;
use std::time::Duration;

use jm_store::{CallView, Effect, FileState, Record, StoredOutput, StoredResult};
use jm_tools::Effect as ToolEffect;
use jm_types::{CallKey, ErrorCode, SessionId, ToolError};
use jm_workspace::fault::crash_point;
use jm_workspace::jobs::{Keeping, State};
use jm_workspace::launch::{CommandRecord, Ended};
use jm_workspace::spool::Spooled;
use jm_workspace::survivors::Survivor;
use jm_workspace::{Found, OpenFile, directory};

use crate::core::Core;
use crate::engine::Engine;
use crate::force::is_undo;
use crate::heal::{heal, remove_made, rescue, take_back};
use crate::record::done_unrecorded;
use crate::restore::{current_digest, is_beneath_a_file, mode, mode_of, safe};

/// What became of a call, as far as it can be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// It has its result; perhaps nobody has seen it.
    Finished,
    NeverStarted,
    /// Started, and nothing of it is on disk.
    NoEffect,
    /// Some of its files have changed, others not yet.
    SomeEffects,
    AllEffects,
    /// A file is neither what it was nor what it should become: somebody else was there.
    Foreign,
    /// A command or a foreign tool: it was started, and that is all we know.
    Unknown,
}

/// Which side of a change a file is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
    Other,
}

#[derive(Debug, Clone)]
pub struct FileFact {
    pub effect: Effect,
    pub now: Side,
}

/// One call of an unfinished batch, with the facts.
#[derive(Debug, Clone)]
pub struct Examined {
    pub view: CallView,
    pub state: CallState,
    pub files: Vec<FileFact>,
    /// What its command had printed.
    pub printed: Vec<Spooled>,
    /// What of its command still runs.
    pub survivors: Vec<Survivor>,
    /// How a command ended, if whoever kept it could still write that down.
    pub command: Option<CommandRecord>,
    /// What became of the process that it started in the background.
    pub job: Option<State>,
}

impl Examined {
    /// What became of the call, in words.
    pub fn words(&self) -> String {
        match (self.state, &self.command, &self.job) {
            (CallState::Unknown, Some(command), _) => command_words(command),
            (CallState::Unknown, None, Some(job)) => job_words(job, &self.view.call.call),
            (state, _, _) => state.words().to_owned(),
        }
    }
}

fn job_words(job: &State, call: &CallKey) -> String {
    match job {
        State::Running { .. } => format!("it started a process that still runs: jm ps, {call}"),
        State::Ended(end) => format!("it started a process: {}", end.how.words()),
    }
}

fn command_words(command: &CommandRecord) -> String {
    let output = match command.stdout_bytes + command.stderr_bytes {
        0 => String::new(),
        bytes => format!("; {bytes} bytes of its output had been read"),
    };
    let ended = match command.ended {
        Ended::Exited(code) => format!("it ended by itself with exit code {code}"),
        Ended::Signalled(signal) => format!("signal {signal} ended it"),
        Ended::TimedOut => "its time was up and it was ended".to_owned(),
        Ended::Stopped => "it was stopped as asked".to_owned(),
        Ended::Orphaned => {
            "it was still running when the program died, and was ended then, with all it had \
             started"
                .to_owned()
        }
    };
    format!("{ended}, after {} ms{output}", command.elapsed_ms)
}

/// What the person wants done (FR-RES-05, and undo).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The results stand; a change that was half done is completed.
    Keep,
    /// Every result is marked failed; a change that was half done is taken back, one that is in place stays.
    Discard,
    /// Like discard, and what the batch had changed is taken back too.
    Undo,
}

impl CallState {
    pub fn words(self) -> &'static str {
        match self {
            CallState::Finished => "finished, not delivered",
            CallState::NeverStarted => "never started",
            CallState::NoEffect => "started, without effect",
            CallState::SomeEffects => "some of its changes are on disk",
            CallState::AllEffects => "all of its changes are on disk",
            CallState::Foreign => "its files were changed by somebody else since",
            CallState::Unknown => "started; whether it finished is unknown",
        }
    }
}

impl Choice {
    pub fn word(self) -> &'static str {
        match self {
            Choice::Keep => "keep",
            Choice::Discard => "discard",
            Choice::Undo => "undo",
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

    /// What a file of the journal holds now: through the sandbox, without following links, at most `most`
    /// bytes. `None` where there is no file; an error says why it is not shown.
    pub fn read_now(&self, path: &Path, most: u64) -> Result<Option<Vec<u8>>, String> {
        let path = safe(&self.core().workspace.sandbox, path)?;
        if path.is_missing() {
            return Ok(None);
        }
        let read = OpenFile::open(&path).and_then(|mut file| file.read_up_to(most));
        match read.map_err(|error| error.to_string())? {
            (bytes, false) => Ok(Some(bytes)),
            (_, true) => Err(format!("it is larger than {most} bytes")),
        }
    }

    /// Gives every call its one truthful result and closes the batch. Runs nothing. Doing it again
    /// after a crash in the middle gives the same.
    ///
    /// Temporary files of dead processes are removed, but for those of `protected`: the owners of
    /// other sessions that still wait for their recovery.
    pub fn recover(
        &self,
        found: Vec<Examined>,
        choice: Choice,
        protected: &[u32],
    ) -> Result<(), ToolError> {
        let core = self.core_arc();
        let Some(batch) = found.first().map(|call| call.view.batch) else { return Ok(()) };
        let mut undone = Vec::new();
        for call in found.into_iter().rev() {
            crash_point("recover.before_call");
            // Healing a later call may have changed what this one finds.
            let mut call = examine(&core, call.view);
            if !call.is_settled() && rescue(&core, &call)? {
                call = examine(&core, call.view);
                take_back(&core, &call)?;
            }
            let mut is_done = call.view.result().is_some_and(|result| !is_interrupted(result));
            if !call.is_settled() {
                let state = heal(&core, &call, choice)?;
                is_done |= state == CallState::AllEffects;
                let mut records = vec![Record::Recovered {
                    call: call.view.call.call.clone(),
                    state: call.words(),
                    choice: choice.word().to_owned(),
                }];
                let output = core.recorder.keep_spooled(&call.view.call.call, &call.printed);
                records.extend(result_of(&call, state, choice, output));
                // At once: what is settled must not be judged again by what a later step leaves.
                core.recorder.records(records).map_err(unrecorded)?;
                core.workspace.confiner.forget_record(&call.view.call.call);
                crash_point("recover.after_call");
            }
            core.recorder.forget_spool(&call.view.call.call);
            // A call that an earlier attempt settled is looked after again; that does no harm.
            if choice == Choice::Undo || !is_done {
                undone.push(call);
            }
        }
        let sandbox = &core.workspace.sandbox;
        directory::sweep_leftovers(sandbox, &|pid| !protected.contains(&pid));
        undone.iter().for_each(|call| remove_made(&core, call));
        crash_point("recover.before_seal");
        core.recorder.records(vec![Record::BatchSealed { batch }]).map_err(unrecorded)?;
        crash_point("recover.after_seal");
        Ok(())
    }
}

/// Files may have been put right by then; the next attempt finds them so.
fn unrecorded(error: ToolError) -> ToolError {
    done_unrecorded("recovery", error)
}

fn is_interrupted((result, _): (&StoredResult, u64)) -> bool {
    result.error == Some(ErrorCode::Interrupted)
}

impl Examined {
    /// An earlier attempt at recovery got this far.
    fn is_settled(&self) -> bool {
        let mut records = self.view.records.iter();
        records.any(|(_, record)| matches!(record, Record::Recovered { .. }))
    }
}

fn examine(core: &Core, view: CallView) -> Examined {
    let files: Vec<FileFact> = view
        .effects()
        .files
        .into_iter()
        // Directories are settled with the files in them, but for one that a file stands for.
        .filter(|effect| is_file(effect.before) || is_file(effect.after))
        .map(|effect| FileFact { now: side(core, &effect), effect })
        .collect();
    let tool = core.registry.lookup(&view.call.name);
    // A tool that is not here any more may have been anything; an undo is no tool.
    let runs = tool.map_or(!is_undo(&view), |tool| tool.spec().effect == ToolEffect::Runs);
    let any = |wanted| files.iter().any(|file| file.now == wanted);
    let state = match view.started() {
        _ if view.result().is_some() => CallState::Finished,
        None if files.is_empty() => CallState::NeverStarted,
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
        | CallState::Unknown => {
            let key = &view.call.call;
            (core.recorder.printed(key), core.recorder.survivors(key))
        }
    };
    let is_unknown = state == CallState::Unknown;
    let command = is_unknown.then(|| core.workspace.confiner.record(&view.call.call)).flatten();
    let job = is_unknown.then(|| job_of(core, &view.call.call)).flatten();
    Examined { view, state, files, printed, survivors, command, job }
}

/// What became of the process that a call started. One that is just being ended is waited for.
fn job_of(core: &Core, call: &CallKey) -> Option<State> {
    const ORPHAN_PATIENCE: Duration = Duration::from_secs(5);
    let job = core.workspace.jobs.find(call).ok()??;
    if job.description.keeping == Keeping::WithTheSession {
        job.ended_within(ORPHAN_PATIENCE).ok()?;
    }
    job.state().ok()
}

fn side(core: &Core, effect: &Effect) -> Side {
    let sandbox = &core.workspace.sandbox;
    let Ok(path) = safe(sandbox, &effect.path) else {
        return match is_beneath_a_file(sandbox, &effect.path) {
            true if effect.after == FileState::Missing => Side::After,
            true if effect.before == FileState::Missing => Side::Before,
            _ => Side::Other,
        };
    };
    let is_directory = path.found() == Found::Directory;
    let now = match current_digest(&path) {
        Ok(now) => now,
        Err(_) if is_directory => None,
        Err(_) => return Side::Other,
    };
    let is = |state: &FileState| match state {
        FileState::File { sha256, .. } => now == Some(*sha256),
        FileState::Missing => now.is_none() && !is_directory,
        FileState::Directory { .. } => is_directory,
    };
    match (is(&effect.after), is(&effect.before)) {
        // Only the permissions differ.
        (true, true) if mode_of(&path) == mode(&effect.before) => Side::Before,
        (true, _) => Side::After,
        (false, true) => Side::Before,
        (false, false) => Side::Other,
    }
}

fn is_file(state: FileState) -> bool {
    matches!(state, FileState::File { .. })
}

const DISCARDED: &str = "discarded after a crash, at the user's wish";

fn has_changes(view: &CallView) -> bool {
    !view.effects().files.is_empty()
}

/// The call's one result, unless it has one that stands.
fn result_of(
    call: &Examined,
    state: CallState,
    choice: Choice,
    output: Option<StoredOutput>,
) -> Option<Record> {
    let had = call.view.result();
    if had.is_some() && choice == Choice::Keep {
        return None;
    }
    let (content, error) = match (had.is_some(), choice, state) {
        (true, Choice::Discard, _) => (DISCARDED, Some(ErrorCode::Discarded)),
        // Discarding is about results of tools; the change stays, and has not been confirmed to
        // anybody. An undo is no tool's: it is done or it is not.
        (false, Choice::Discard, CallState::AllEffects) if !is_undo(&call.view) => {
            (DISCARDED, Some(ErrorCode::Discarded))
        }
        (_, Choice::Undo, CallState::NoEffect | CallState::Finished) => {
            ("undone after a crash, at the user's wish", Some(ErrorCode::Discarded))
        }
        (_, _, CallState::NeverStarted) => (
            "not run: the program ended before this call was started",
            Some(ErrorCode::Interrupted),
        ),
        (_, _, CallState::AllEffects | CallState::Finished) => {
            ("done; the program ended before it could say so", None)
        }
        (_, _, CallState::NoEffect | CallState::SomeEffects) => (
            "interrupted by the end of the program; nothing was changed",
            Some(ErrorCode::Interrupted),
        ),
        (_, _, CallState::Foreign) => (
            "interrupted by the end of the program; its files were changed by somebody else since and were left alone",
            Some(ErrorCode::Interrupted),
        ),
        (_, _, CallState::Unknown) => (
            "unknown: it was started, and the program ended before its outcome was recorded. It was not run again; check what it may have done",
            Some(ErrorCode::UnknownOutcome),
        ),
    };
    let is_known = call.command.is_some() || call.job.is_some();
    let mut content = match state == CallState::Unknown && is_known {
        true => format!(
            "the program ended before its outcome was recorded: {}. \
             It was not run again; check what it may have done",
            call.words()
        ),
        false => content.to_owned(),
    };
    if choice == Choice::Discard && error == Some(ErrorCode::Discarded) && has_changes(&call.view) {
        let key = &call.view.call.call;
        content.push_str(&format!(
            "; its changes are in place, `jm undo --call {key}` takes them back"
        ));
    }
    if output.is_some() {
        content.push_str(&format!(". What it had printed: jm output {}", call.view.call.call));
    }
    let result = StoredResult {
        call_id: call.view.call.id.clone(),
        name: call.view.call.name.clone(),
        error,
        content: Some(content),
        content_blob: None,
        output,
        seen: Vec::new(),
    };
    let call = call.view.call.call.clone();
    Some(Record::Finished { call, result, duration_ms: 0 })
}
