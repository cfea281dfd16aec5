//! A half-done call: its files brought to one side of its change.
//!
//! Law: all files of a call are brought to one side, in one step that is itself whole or nothing. What
//! somebody else wrote is left alone.

use std::path::PathBuf;
use std::sync::Arc;

use jm_files::{After, FileChange, NoLog, Node, SafePath, Trade, directory};
use jm_store::{FileEffect, FileState, Journal, Record};
use jm_system::fault::crash_point;
use jm_types::{Digest, ToolError};

use super::converge::{Guard, PathGoal, Steps, converge};
use super::decide::{RecoveryChoice, goal};
use super::facts::{CallState, Examined, FileFact, Side};
use super::layered;
use super::trade::{Traded, take_trades};
use crate::core::Core;
use crate::files::{Standing, current, resolve};

/// Brings a half-done change to one side, and removes what it left lying about.
pub(super) fn converge_call(
    core: &Arc<Core>,
    call: &Examined,
    choice: RecoveryChoice,
) -> Result<CallState, ToolError> {
    let Some(goal) = goal(call.state, choice) else { return Ok(call.state) };
    if !call.layers.is_empty() {
        let key = &call.view.call.call;
        return match (call.state, goal) {
            (CallState::Finished, _) => {
                layered::leave(core, key, &call.layers).map(|()| CallState::Finished)
            }
            (_, Side::After) => {
                layered::complete(core, key, &call.layers).map(|()| CallState::AllEffects)
            }
            (_, Side::Before | Side::Other) => {
                layered::take_back(core, key, &call.layers).map(|()| CallState::NoEffect)
            }
        };
    }
    // Without the new content of every file the way back is the only one.
    let forward = (goal == Side::After).then(|| steps_to(core, call, Side::After)).transpose();
    let (goal, steps) = match forward {
        Ok(Some(steps)) => (Side::After, steps),
        Ok(None) | Err(_) => (Side::Before, steps_to(core, call, Side::Before)?),
    };
    if !steps.is_empty() {
        crash_point("recover.before_heal");
        // No record of its own: the call's manifest says all, also if this is interrupted.
        converge(&core.workspace.sandbox, &steps, &mut NoLog)?;
        crash_point("recover.after_heal");
    }
    remove_leftovers(core, call);
    settle_directories(core, call, goal);
    Ok(match (call.state, goal) {
        (CallState::Finished, _) => CallState::Finished,
        (_, Side::After) => CallState::AllEffects,
        (_, Side::Before | Side::Other) => CallState::NoEffect,
    })
}

/// Converges on what somebody wrote into a file in the moment of its exchange: theirs is under the temporary
/// name, and ours in its place. `false` where there is none; otherwise the call is theirs too.
pub(super) fn give_theirs_back(core: &Core, call: &Examined) -> Result<bool, ToolError> {
    let sandbox = &core.workspace.sandbox;
    let (_, traded) = take_trades(targets_of(call, Side::Before));
    let mut steps = Steps::default();
    for file in call.files.iter().filter(|file| file.now == Side::After) {
        let Some(temporary) = &file.effect.temporary else { continue };
        let Ok(aside) = resolve(sandbox, temporary) else { continue };
        let of_trade = traded.iter().find(|traded| traded.at.path == file.effect.path);
        if of_trade.is_none() && is_one_of_ours(&aside, &file.effect) {
            continue;
        }
        let Ok(aside) = read(&aside) else { continue };
        if of_trade.is_some_and(|traded| traded.is_wanted(&aside)) {
            continue;
        }
        let fail = |why: String| ToolError::io(&file.effect.path, why);
        let path = resolve(sandbox, &file.effect.path).map_err(fail)?;
        match (read(&path).map_err(fail)?, aside) {
            (Node::File { bytes: ours, .. }, Node::File { bytes, mode }) => {
                let after = After::Content { bytes: bytes.to_vec(), mode: Some(mode) };
                steps.changes.push(FileChange { path, before: Some(ours), after });
            }
            (before, after) => steps.trades.push(Trade { path, before, after }),
        }
    }
    if steps.is_empty() {
        return Ok(false);
    }
    converge(sandbox, &steps, &mut NoLog)?;
    crash_point("recover.after_rescue");
    Ok(true)
}

fn read(path: &SafePath) -> Result<Node, String> {
    Node::read(path).map_err(|error| error.to_string())
}

/// Compares by size and hash, so that a content that is none of the call's own is not read here.
fn is_one_of_ours(aside: &SafePath, effect: &FileEffect) -> bool {
    let mut standing = Standing::at(aside);
    let mut is = |state: FileState| state.is_file() && standing.is(state).unwrap_or(false);
    is(effect.before) || is(effect.after)
}

/// The rest of a change goes back where somebody else's stands in the way of one of its files.
pub(super) fn withdraw(core: &Core, call: &Examined) -> Result<(), ToolError> {
    let steps = steps_to(core, call, Side::Before)?;
    converge(&core.workspace.sandbox, &steps, &mut NoLog)?;
    remove_leftovers(core, call);
    settle_directories(core, call, Side::Before);
    Ok(())
}

/// The steps that bring every file of the call to one side.
fn steps_to(core: &Core, call: &Examined, goal: Side) -> Result<Steps, ToolError> {
    let sandbox = &core.workspace.sandbox;
    let (rest, traded) = take_trades(targets_of(call, goal));
    let to_change = |file: &&FileFact| file.now != goal && file.now != Side::Other;
    let mut steps = Steps::default();
    if let Some(store) = core.recorder.journal().map(Journal::store) {
        let to_trade = |traded: &&Traded| {
            let mut facts = call.files.iter();
            facts.any(|file| file.effect.path == traded.at.path && to_change(&file))
        };
        for traded in traded.iter().filter(to_trade) {
            let trade = traded.prepare((sandbox, store), Guard::Hash);
            steps.trades.extend(trade.map_err(|block| ToolError::io(&traded.at.path, block.why))?);
        }
    }
    let is_of_a_trade = |file: &&FileFact| !rest.iter().any(|one| one.path == file.effect.path);
    for file in call.files.iter().filter(to_change).filter(|file| !is_of_a_trade(file)) {
        let state = if goal == Side::After { file.effect.after } else { file.effect.before };
        let fail = |why: String| ToolError::io(&file.effect.path, why);
        let path = resolve(sandbox, &file.effect.path).map_err(fail)?;
        let before = current(&path).map_err(fail)?.map(Arc::new);
        let after = match state {
            FileState::File { sha256, mode, .. } => {
                let bytes = content(core, &file.effect, sha256).map_err(fail)?;
                After::Content { bytes, mode: Some(mode) }
            }
            FileState::Missing | FileState::Directory { .. } => After::Absent,
        };
        steps.changes.push(FileChange { path, before, after });
    }
    Ok(steps)
}

/// The call's effects as the way to one side, in the order of their paths.
fn targets_of(call: &Examined, goal: Side) -> Vec<PathGoal> {
    let target = |effect: FileEffect| match goal {
        Side::After => {
            PathGoal { path: effect.path, expected: effect.before, wanted: effect.after }
        }
        Side::Before | Side::Other => {
            PathGoal { path: effect.path, expected: effect.after, wanted: effect.before }
        }
    };
    let mut targets: Vec<PathGoal> = call.view.effects().files.into_iter().map(target).collect();
    targets.sort_by(|one, other| one.path.cmp(&other.path));
    targets
}

/// From the store, or from the temporary file that the crash left beside its target.
fn content(core: &Core, effect: &FileEffect, sha256: Digest) -> Result<Vec<u8>, String> {
    let stored = core.recorder.journal().and_then(|journal| journal.store().blob(sha256).ok());
    if let Some(bytes) = stored {
        return Ok(bytes);
    }
    let temporary = effect.temporary.as_ref().ok_or("its content was not kept")?;
    let path = resolve(&core.workspace.sandbox, temporary)?;
    let bytes = current(&path)?.ok_or("its content is gone")?;
    if Digest::of(&bytes) == sha256 { Ok(bytes) } else { Err("its content is damaged".to_owned()) }
}

/// The directories that the call itself makes or removes, on the side where its files are.
fn settle_directories(core: &Core, call: &Examined, goal: Side) {
    let sandbox = &core.workspace.sandbox;
    let effects: Vec<&FileEffect> = prepared(call)
        .filter(|effect| effect.before.is_directory() || effect.after.is_directory())
        .collect();
    let wanted =
        |effect: &FileEffect| if goal == Side::After { effect.after } else { effect.before };
    for effect in &effects {
        let FileState::Directory { mode } = wanted(effect) else { continue };
        // One that cannot be made is missed by nobody but its files, and those are there.
        if let Ok(path) = resolve(sandbox, &effect.path) {
            directory::make(&path, mode).unwrap_or_default();
        }
        if let Ok(path) = resolve(sandbox, &effect.path) {
            directory::set_mode(&path, mode).unwrap_or_default();
        }
    }
    for effect in effects.iter().rev().filter(|effect| wanted(effect) == FileState::Missing) {
        if let Ok(path) = resolve(sandbox, &effect.path) {
            // One that holds something stays.
            directory::remove_if_empty(&path).unwrap_or_default();
        }
    }
}

/// The files and directories that the call itself was about to change: what a command did is its own
/// affair.
fn prepared(call: &Examined) -> impl Iterator<Item = &FileEffect> {
    call.view.records.iter().flat_map(|(_, record)| match record {
        Record::Prepared { files, .. } => files.as_slice(),
        _ => &[],
    })
}

/// Directories that the call made go, where nothing is in them: its files are not there.
pub(super) fn remove_made(core: &Core, call: &Examined) {
    let sandbox = &core.workspace.sandbox;
    let made: Vec<&FileEffect> = prepared(call)
        .filter(|effect| effect.before == FileState::Missing)
        .filter(|effect| matches!(effect.after, FileState::Directory { .. }))
        .collect();
    for path in made.iter().rev().filter_map(|effect| resolve(sandbox, &effect.path).ok()) {
        // One that holds something stays.
        directory::remove_if_empty(&path).unwrap_or_default();
    }
}

fn remove_leftovers(core: &Core, call: &Examined) {
    let sandbox = &core.workspace.sandbox;
    for temporary in call.files.iter().filter_map(|file| file.effect.temporary.as_ref()) {
        let kept = PathBuf::from(format!("{}.old", temporary.display()));
        for path in [temporary, &kept] {
            if let Ok(path) = resolve(sandbox, path)
                && !path.is_missing()
            {
                // One that cannot be removed does no harm but to tidiness.
                directory::remove_leftover(&path).unwrap_or_default();
            }
        }
    }
}
