//! Undo: taking back what calls changed, by converging on the states before them.
//!
//! Law: a file is put back only if it is still what the call left. Undo is a change like any other:
//! journaled, atomic, and itself undoable. It never touches `.git`, but for what a
//! command's layer changed there.

pub mod by_products;
pub mod in_force;
mod layered;
mod model_note;
mod own_changes;
mod parts;
pub mod prompts;
mod report;
mod verify;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jm_files::{After, OpenDirectory, SafePath, Sandbox, directory};
use jm_store::{CallRecord, CallView, Concurrent, FileEffect, FileState, Record, Store};
use jm_system::fault::crash_point;
use jm_tools::ops::change::diff::unified_diff;
use jm_types::{CallKey, SessionId, ToolError};

use self::by_products::is_by_product;
use self::in_force::ChangeKind;
use self::prompts::{Prompts, UndoGroup};
use crate::core::Core;
use crate::effects::EffectLog;
use crate::engine::Engine;
use crate::files::resolve;
use crate::own_call::{UNDO, UndoArguments, is_undo, record_result};
use crate::record::done_unrecorded;
use crate::recovery::converge::{Blocked, Guard, PathGoal, Steps, change_of, converge};
use crate::recovery::take_trades;
use crate::session::Session;
pub use in_force::Which;
use layered::LayerPlan;
pub(crate) use model_note::undone_note;
use parts::{Together, parts};
pub use report::{TakenBack, UndoReport};
pub use verify::damage;
use verify::refuse_damage;

/// The rule for a journal that is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damaged {
    /// The undo stops and says which content is damaged.
    Refuse,
    /// The person has seen the damage and wants it all the same.
    Accept,
}

/// The effects of commands that undo does not cover.
pub const NOT_COVERED: &str = "effects outside the workspace, in ignored files, .git, the network";

impl Engine {
    /// Takes back changes that are in force, all of them or none.
    pub fn undo(
        &self,
        session: &mut Session,
        which: &Which,
        guard: Guard,
        damaged: Damaged,
    ) -> Result<UndoReport, ToolError> {
        let core = self.core_arc();
        let store = core.recorder.journal().ok_or_else(no_journal)?.store();
        if damaged == Damaged::Refuse {
            refuse_damage(store, &session.id)?;
        }
        let chosen = choose(store, &session.id, which)?;
        let parts = parts(&chosen);
        let mut report = UndoReport { is_complete: true, ..UndoReport::default() };
        let mut together = Together { is_many: parts.len() > 1, first: None };
        for part in parts {
            let ours = report.restored.clone();
            let part = (which, part, ours.as_slice());
            report.join(self.undo_part(session, part, guard, &mut together)?);
            if !report.is_complete {
                break;
            }
        }
        Ok(report)
    }

    /// Takes back calls that go together, in one step that is whole or nothing.
    fn undo_part(
        &self,
        session: &mut Session,
        (which, part, ours): (&Which, &[CallView], &[PathBuf]),
        guard: Guard,
        together: &mut Together,
    ) -> Result<UndoReport, ToolError> {
        let core = self.core_arc();
        let store = core.recorder.journal().ok_or_else(no_journal)?.store();
        let mut report = report_of(store, &session.id, which, part)?;
        let plan = PartPlan::new((&core, store), (part, ours), guard, &mut report);
        // What was left alone can be tried again, so the calls stay in force.
        report.is_complete = plan.is_complete();
        let of = if plan.is_complete() { keys(&report) } else { Vec::new() };
        if plan.is_complete() || !plan.is_empty() {
            self.apply(&core, session, &mut report, together, &|call, report| match &plan {
                PartPlan::Files(plan) => take_back(&core, call, of.clone(), plan, report),
                PartPlan::Layers(plan) => plan.take(&core, (call, of.clone()), report),
            })?;
        }
        Ok(report)
    }

    /// The report of an undo that is not done, and its diff: from what is there to what would be.
    pub fn preview_undo(
        &self,
        session: &SessionId,
        which: &Which,
        guard: Guard,
        damaged: Damaged,
    ) -> Result<(UndoReport, String), ToolError> {
        let core = self.core_arc();
        let store = core.recorder.journal().ok_or_else(no_journal)?.store();
        if damaged == Damaged::Refuse {
            refuse_damage(store, session)?;
        }
        let chosen = choose(store, session, which)?;
        let mut report = UndoReport { is_complete: true, ..UndoReport::default() };
        let (mut diff, mut guard) = (String::new(), guard);
        for part in parts(&chosen) {
            let mut own = report_of(store, session, which, part)?;
            let plan = PartPlan::new((&core, store), (part, &[]), guard, &mut own);
            own.is_complete = plan.is_complete();
            match &plan {
                PartPlan::Files(plan) => diff.push_str(&preview(&core, plan, &mut own)),
                PartPlan::Layers(plan) => {
                    plan.tell(&mut own);
                    diff.push_str(&plan.diff());
                }
            }
            report.join(own);
            // What older calls left shows when this one is taken back.
            guard = Guard::Force;
        }
        Ok((report, diff))
    }

    fn apply(
        &self,
        core: &Arc<Core>,
        session: &mut Session,
        report: &mut UndoReport,
        together: &mut Together,
        take: &dyn Fn(&CallKey, &mut UndoReport) -> Result<(), ToolError>,
    ) -> Result<(), ToolError> {
        let (batch, call) = session.begin_own();
        let with = together.key(&call);
        let opened = CallRecord {
            call: call.clone(),
            id: String::new(),
            name: UNDO.to_owned(),
            arguments: serde_json::json!(UndoArguments { of: keys(report), with }).to_string(),
        };
        // Before anything is staged, so that whatever is left of it is found.
        core.recorder.records(vec![Record::BatchOpened { batch, calls: vec![opened] }])?;
        let done = take(&call, report);
        let count = report.restored.len() + report.removed.len();
        let outcome = done.as_ref().map(|()| format!("restored {count} file(s)"));
        let recorded = record_result(core, (batch, call), UNDO, outcome);
        crash_point("undo.finished");
        done.and(recorded.map_err(|error| done_unrecorded(UNDO, error)))
    }
}

/// The changes of files as a diff, from what is there to what would be.
fn preview(core: &Core, plan: &UndoPlan, report: &mut UndoReport) -> String {
    let root = core.workspace.sandbox.working_root().path().to_owned();
    let mut diff = String::new();
    for change in &plan.steps.changes {
        let path = change.path.absolute();
        let after = match &change.after {
            After::Content { bytes, .. } => Some(bytes.as_slice()),
            After::Absent => None,
        };
        let before = change.before.as_ref().map(|bytes| bytes.as_slice());
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy();
        diff.push_str(&unified_diff(&name, before, after));
        let list = if after.is_none() { &mut report.removed } else { &mut report.restored };
        list.push(path);
    }
    report.restored.extend(plan.steps.trades.iter().map(|trade| trade.path.absolute()));
    diff
}

/// Paths that are left alone because a command of another session may have changed them.
fn not_told_apart(call: &CallView) -> Vec<(PathBuf, String)> {
    let why = |calls: &[CallKey]| match calls {
        [] => "unknown which session changed it".to_owned(),
        calls => format!("{} ran meanwhile and may have changed it", calls.join(", ")),
    };
    let paths = |found: Concurrent| {
        let why = why(&found.calls);
        found.files.into_iter().map(move |effect| (effect.path, why.clone())).collect::<Vec<_>>()
    };
    call.effects().concurrent.into_iter().flat_map(paths).collect()
}

/// Files first, all or none; then the directories that went or came with them.
fn take_back(
    core: &Arc<Core>,
    call: &CallKey,
    of: Vec<CallKey>,
    plan: &UndoPlan,
    report: &mut UndoReport,
) -> Result<(), ToolError> {
    let sandbox = &core.workspace.sandbox;
    let mut log = EffectLog::new(core, call);
    log.also = vec![Record::Undid { call: call.to_owned(), of }];
    log.files = directory_effects(sandbox, &plan.rest);
    if plan.steps.is_empty() {
        log.note()?;
    } else {
        let done = converge(sandbox, &plan.steps, &mut log)?;
        for (index, done) in done.into_iter().enumerate() {
            let goes =
                plan.steps.changes.get(index).is_some_and(|change| change.after == After::Absent);
            let list = if goes { &mut report.removed } else { &mut report.restored };
            list.push(done.path);
        }
    }
    crash_point("undo.before_directories");
    directories(sandbox, &plan.rest, report);
    crash_point("undo.after_directories");
    Ok(())
}

/// The calls of an undo, and what can be said before it is done.
fn report_of(
    store: &Store,
    session: &SessionId,
    which: &Which,
    chosen: &[CallView],
) -> Result<UndoReport, ToolError> {
    let prompts = Prompts::of(store, session);
    let prompts = prompts.map_err(|error| ToolError::failed(UNDO, error.to_string()))?;
    let taken = |call: &CallView| taken(&prompts, call);
    let is_command = |(_, record): &(u64, Record)| matches!(record, Record::Tracked { .. });
    let mut report = UndoReport {
        calls: chosen.iter().map(taken).collect(),
        redone: match which {
            Which::Undo => redone(store, session, chosen)?.iter().map(taken).collect(),
            Which::Last(_) | Which::Call(_) | Which::To(_) | Which::Since(_) => Vec::new(),
        },
        gaps: chosen.iter().filter_map(|call| call.effects().gap).collect(),
        has_commands: chosen.iter().any(|call| call.records.iter().any(is_command)),
        ..UndoReport::default()
    };
    report.skipped.extend(chosen.iter().flat_map(not_told_apart));
    Ok(report)
}

/// The calls that come back in force where undos are taken back.
fn redone(
    store: &Store,
    session: &SessionId,
    chosen: &[CallView],
) -> Result<Vec<CallView>, ToolError> {
    let mut found = Vec::new();
    for call in chosen.iter().filter(|call| is_undo(call)) {
        let Ok(UndoArguments { of, .. }) = serde_json::from_str(&call.call.arguments) else {
            continue;
        };
        for key in of {
            let view = store.call(session, &key);
            let view = view.map_err(|error| ToolError::failed(UNDO, error.to_string()))?;
            found.extend(view);
        }
    }
    Ok(found)
}

/// The calls to take back, newest first.
fn choose(store: &Store, session: &SessionId, which: &Which) -> Result<Vec<CallView>, ToolError> {
    let found = in_force::find(store, session, which);
    let chosen = found.map_err(|error| ToolError::failed(UNDO, error.to_string()))?;
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let left = in_force::has_any(store, session, ChangeKind::Change);
    let left = left.map_err(|error| ToolError::failed(UNDO, error.to_string()))?;
    Err(match which {
        Which::Last(_) if left => nothing(which).hint(
            "only by-products such as __pycache__ are left; `jm undo --call ID` removes them",
        ),
        _ => nothing(which),
    })
}

fn nothing(which: &Which) -> ToolError {
    let (text, hint) = match which {
        Which::Undo => ("Nothing to redo", "undo something first"),
        Which::Call(key) => {
            let text = format!("Nothing to undo in call {key}");
            return ToolError::failed(UNDO, text).hint("`jm log` lists calls and their changes");
        }
        Which::Last(_) | Which::To(_) | Which::Since(_) => {
            ("Nothing to undo", "`jm log` lists calls and their changes")
        }
    };
    ToolError::failed(UNDO, text).hint(hint)
}

fn taken(prompts: &Prompts, call: &CallView) -> TakenBack {
    let summary = match serde_json::from_str(&call.call.arguments) {
        Ok(UndoArguments { of, .. }) if is_undo(call) => format!("{UNDO} of {}", of.join(", ")),
        Ok(_) | Err(_) => call.summary().to_owned(),
    };
    let prompt = match prompts.group(call) {
        UndoGroup::Prompt { seq } => prompts.at(seq),
        UndoGroup::Batch(_) => None,
    };
    TakenBack { call: call.call.call.clone(), summary, prompt }
}

fn keys(report: &UndoReport) -> Vec<CallKey> {
    report.calls.iter().map(|taken| taken.call.clone()).collect()
}

fn no_journal() -> ToolError {
    ToolError::failed(UNDO, "no journal, so nothing can be undone")
}

/// The steps of one part, as far as they can be done.
enum PartPlan {
    Files(UndoPlan),
    Layers(LayerPlan),
}

impl PartPlan {
    fn new(
        (core, store): (&Core, &Store),
        (part, ours): (&[CallView], &[PathBuf]),
        guard: Guard,
        report: &mut UndoReport,
    ) -> Self {
        match part {
            [call] if !call.effects().layers.is_empty() => {
                Self::Layers(LayerPlan::new((core, store), (call, ours), guard, report))
            }
            part => {
                let ground = (&*core.workspace.sandbox, store);
                Self::Files(UndoPlan::new(ground, part, guard, report))
            }
        }
    }

    fn is_complete(&self) -> bool {
        match self {
            Self::Files(plan) => plan.is_complete,
            Self::Layers(plan) => plan.is_complete,
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Files(plan) => plan.steps.is_empty(),
            Self::Layers(plan) => plan.is_empty(),
        }
    }
}

/// The steps of an undo, as far as they can be done.
struct UndoPlan {
    /// All paths but those of trades.
    rest: Vec<PathGoal>,
    steps: Steps,
    /// Nothing is left that could be tried again.
    is_complete: bool,
}

impl UndoPlan {
    fn new(
        ground: (&Sandbox, &Store),
        chosen: &[CallView],
        guard: Guard,
        report: &mut UndoReport,
    ) -> Self {
        let (rest, traded) = take_trades(merge(chosen));
        let mut plan = Self { rest, steps: Steps::default(), is_complete: true };
        let mut skip = |path: &Path, Blocked { why, for_good }: Blocked| {
            // Whoever needs a by-product makes it again; nobody waits for it.
            if is_by_product(path) {
                return true;
            }
            report.skipped.push((path.to_owned(), why));
            for_good
        };
        for target in &plan.rest {
            match change_of(ground, target, guard) {
                Ok(change) => plan.steps.changes.extend(change),
                Err(blocked) => plan.is_complete &= skip(&target.path, blocked),
            }
        }
        for traded in &traded {
            match traded.prepare(ground, guard) {
                Ok(trade) => plan.steps.trades.extend(trade),
                Err(blocked) => plan.is_complete &= skip(&traded.at.path, blocked),
            }
        }
        plan
    }
}

/// For each path: what the newest call left, and what the oldest found.
fn merge(chosen: &[CallView]) -> Vec<PathGoal> {
    let mut paths: BTreeMap<PathBuf, PathGoal> = BTreeMap::new();
    for FileEffect { path, before, after, .. } in
        chosen.iter().rev().flat_map(|call| call.effects().files)
    {
        let target = PathGoal { path: path.clone(), expected: after, wanted: before };
        paths.entry(path).or_insert(target).expected = after;
    }
    paths.into_values().collect()
}

/// The effects on directories, so that taking the undo back knows of them.
fn directory_effects(sandbox: &Sandbox, targets: &[PathGoal]) -> Vec<FileEffect> {
    let changes = |target: &&PathGoal| {
        let missing = resolve(sandbox, &target.path).is_ok_and(|path| path.is_missing());
        target.is_about_a_directory()
            && target.expected != target.wanted
            && missing == (target.expected == FileState::Missing)
    };
    let effect = |target: &PathGoal| FileEffect {
        path: target.path.clone(),
        before: target.expected,
        after: target.wanted,
        temporary: None,
    };
    targets.iter().filter(changes).map(effect).collect()
}

/// Directories that were made go if they are empty; those that went come back.
fn directories(sandbox: &Sandbox, targets: &[PathGoal], report: &mut UndoReport) {
    for target in targets {
        let FileState::Directory { mode } = target.wanted else { continue };
        let made = resolve(sandbox, &target.path).and_then(|path| {
            directory::make(&path, mode).map_err(|error| error.to_string())?;
            let path = resolve(sandbox, &target.path)?;
            directory::set_mode(&path, mode).map_err(|error| error.to_string())
        });
        if let Err(why) = made {
            report.skipped.push((target.path.clone(), why));
        }
    }
    for target in targets.iter().rev() {
        if let (FileState::Directory { .. }, FileState::Missing) = (target.expected, target.wanted)
            && let Ok(path) = resolve(sandbox, &target.path)
            && !path.is_missing()
            && let Err(error) = directory::remove_if_empty(&path)
        {
            let is_named = |(left, _): &(PathBuf, String)| left.starts_with(&target.path);
            // What keeps it is named already.
            if !is_by_product(&target.path) && !report.skipped.iter().any(is_named) {
                report.skipped.push((target.path.clone(), why_it_stays(&path, &error)));
            }
        }
    }
}

fn why_it_stays(path: &SafePath, error: &ToolError) -> String {
    let names = OpenDirectory::open(path).ok().and_then(|directory| directory.names().ok());
    if names.is_some_and(|names| !names.is_empty()) {
        "it holds other files".to_owned()
    } else {
        error.to_string()
    }
}
