//! Putting right what a crash left half done.
//!
//! Law: all files of a call are brought to one side of its change, in one step that is itself whole or
//! nothing. What somebody else wrote is left alone.

use std::path::PathBuf;
use std::sync::Arc;

use jm_store::{Effect, FileState, Journal, Record};
use jm_types::{Cancel, Digest, ToolError};
use jm_workspace::fault::crash_point;
use jm_workspace::{
    After, FileChange, NoLog, Node, SafePath, Trade, commit_with_trades, directory,
};

use crate::core::Core;
use crate::recover::{CallState, Choice, Examined, FileFact, Side};
use crate::restore::{self, Restore, Traded, current, safe};
use crate::undo::Guard;

/// Makes a half-done change whole, one way or the other, and removes what it left lying about.
pub(crate) fn heal(
    core: &Arc<Core>,
    call: &Examined,
    choice: Choice,
) -> Result<CallState, ToolError> {
    let goal = match (call.state, choice) {
        (CallState::Foreign | CallState::Unknown | CallState::NeverStarted, _) => {
            return Ok(call.state);
        }
        (CallState::Finished, Choice::Keep | Choice::Discard) => return Ok(call.state),
        (CallState::SomeEffects | CallState::AllEffects, Choice::Keep) => Side::After,
        (CallState::AllEffects, Choice::Discard) => Side::After,
        (CallState::NoEffect | CallState::SomeEffects, _) => Side::Before,
        (CallState::AllEffects | CallState::Finished, Choice::Undo) => Side::Before,
    };
    // Without the new content of every file the way back is the only one.
    let forward = (goal == Side::After).then(|| changes(core, call, Side::After)).transpose();
    let (goal, (changes, trades)) = match forward {
        Ok(Some(changes)) => (Side::After, changes),
        Ok(None) | Err(_) => (Side::Before, changes(core, call, Side::Before)?),
    };
    if !changes.is_empty() || !trades.is_empty() {
        crash_point("recover.before_heal");
        // No record of its own: the call's manifest says all, also if this is interrupted.
        let sandbox = &core.workspace.sandbox;
        commit_with_trades(sandbox, &changes, &trades, &Cancel::new(), &mut NoLog)?;
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

/// What somebody wrote into a file in the moment of its exchange is under the temporary name, and
/// ours in its place. Theirs goes back, and then the call is theirs too; `false` where there is none.
pub(crate) fn rescue(core: &Core, call: &Examined) -> Result<bool, ToolError> {
    let sandbox = &core.workspace.sandbox;
    let (_, traded) = restore::take_trades(restores(call, Side::Before));
    let (mut changes, mut trades) = (Vec::new(), Vec::new());
    for file in call.files.iter().filter(|file| file.now == Side::After) {
        let Some(temporary) = &file.effect.temporary else { continue };
        let Ok(aside) = safe(sandbox, temporary).and_then(|path| read(&path)) else { continue };
        let of_trade = traded.iter().find(|traded| traded.at.path == file.effect.path);
        let is_known = of_trade.map_or_else(
            || is(&aside, file.effect.before) || is(&aside, file.effect.after),
            |traded| traded.is_wanted(&aside),
        );
        if is_known {
            continue;
        }
        let fail = |why: String| ToolError::io(&file.effect.path, why);
        let path = safe(sandbox, &file.effect.path).map_err(fail)?;
        match (read(&path).map_err(fail)?, aside) {
            (Node::File { bytes: ours, .. }, Node::File { bytes, mode }) => {
                let after = After::Content { bytes: bytes.to_vec(), mode: Some(mode) };
                changes.push(FileChange { path, before: Some(ours), after });
            }
            (before, after) => trades.push(Trade { path, before, after }),
        }
    }
    let is_any = !changes.is_empty() || !trades.is_empty();
    if is_any {
        commit_with_trades(sandbox, &changes, &trades, &Cancel::new(), &mut NoLog)?;
        crash_point("recover.after_rescue");
    }
    Ok(is_any)
}

fn read(path: &SafePath) -> Result<Node, String> {
    Node::read(path).map_err(|error| error.to_string())
}

fn is(node: &Node, state: FileState) -> bool {
    match (node, state) {
        (Node::File { bytes, .. }, FileState::File { sha256, .. }) => Digest::of(bytes) == sha256,
        (Node::File { .. } | Node::Directory { .. }, _) => false,
    }
}

/// The rest of a change goes back where somebody else's stands in the way of one of its files.
pub(crate) fn take_back(core: &Core, call: &Examined) -> Result<(), ToolError> {
    let (changes, trades) = changes(core, call, Side::Before)?;
    commit_with_trades(&core.workspace.sandbox, &changes, &trades, &Cancel::new(), &mut NoLog)?;
    remove_leftovers(core, call);
    settle_directories(core, call, Side::Before);
    Ok(())
}

/// The changes that bring every file of the call to one side.
fn changes(
    core: &Core,
    call: &Examined,
    goal: Side,
) -> Result<(Vec<FileChange>, Vec<Trade>), ToolError> {
    let sandbox = &core.workspace.sandbox;
    let (rest, traded) = restore::take_trades(restores(call, goal));
    let to_change = |file: &&FileFact| file.now != goal && file.now != Side::Other;
    let mut trades = Vec::new();
    if let Some(store) = core.recorder.journal().map(Journal::store) {
        let to_trade = |traded: &&Traded| {
            let mut facts = call.files.iter();
            facts.any(|file| file.effect.path == traded.at.path && to_change(&file))
        };
        for traded in traded.iter().filter(to_trade) {
            let trade = traded.prepare((sandbox, store), Guard::Hash);
            trades.extend(trade.map_err(|block| ToolError::io(&traded.at.path, block.why))?);
        }
    }
    let mut changes = Vec::new();
    let is_of_a_trade = |file: &&FileFact| !rest.iter().any(|one| one.path == file.effect.path);
    for file in call.files.iter().filter(to_change).filter(|file| !is_of_a_trade(file)) {
        let state = if goal == Side::After { file.effect.after } else { file.effect.before };
        let fail = |why: String| ToolError::io(&file.effect.path, why);
        let path = safe(sandbox, &file.effect.path).map_err(fail)?;
        let before = current(&path).map_err(fail)?.map(Arc::new);
        let after = match state {
            FileState::File { sha256, mode } => {
                let bytes = content(core, &file.effect, sha256).map_err(fail)?;
                After::Content { bytes, mode: Some(mode) }
            }
            FileState::Missing | FileState::Directory { .. } => After::Absent,
        };
        changes.push(FileChange { path, before, after });
    }
    Ok((changes, trades))
}

/// The call's effects as the way to one side, in the order of their paths.
fn restores(call: &Examined, goal: Side) -> Vec<Restore> {
    let restore = |effect: Effect| match goal {
        Side::After => Restore { path: effect.path, expected: effect.before, wanted: effect.after },
        Side::Before | Side::Other => {
            Restore { path: effect.path, expected: effect.after, wanted: effect.before }
        }
    };
    let mut restores: Vec<Restore> = call.view.effects().files.into_iter().map(restore).collect();
    restores.sort_by(|one, other| one.path.cmp(&other.path));
    restores
}

/// From the store, or from the temporary file that the crash left beside its target.
fn content(core: &Core, effect: &Effect, sha256: Digest) -> Result<Vec<u8>, String> {
    let stored = core.recorder.journal().and_then(|journal| journal.store().blob(sha256).ok());
    if let Some(bytes) = stored {
        return Ok(bytes);
    }
    let temporary = effect.temporary.as_ref().ok_or("its content is not kept")?;
    let path = safe(&core.workspace.sandbox, temporary)?;
    let bytes = current(&path)?.ok_or("its content is gone")?;
    if Digest::of(&bytes) == sha256 { Ok(bytes) } else { Err("its content is damaged".to_owned()) }
}

/// The directories that the call itself makes or removes, on the side where its files are.
fn settle_directories(core: &Core, call: &Examined, goal: Side) {
    let sandbox = &core.workspace.sandbox;
    let is_directory = |state: &FileState| matches!(state, FileState::Directory { .. });
    let effects: Vec<&Effect> = prepared(call)
        .filter(|effect| is_directory(&effect.before) || is_directory(&effect.after))
        .collect();
    let wanted = |effect: &Effect| if goal == Side::After { effect.after } else { effect.before };
    for effect in &effects {
        let FileState::Directory { mode } = wanted(effect) else { continue };
        // One that cannot be made is missed by nobody but its files, and those are there.
        if let Ok(path) = safe(sandbox, &effect.path) {
            directory::make(&path, mode).unwrap_or_default();
        }
        if let Ok(path) = safe(sandbox, &effect.path) {
            directory::set_mode(&path, mode).unwrap_or_default();
        }
    }
    for effect in effects.iter().rev().filter(|effect| wanted(effect) == FileState::Missing) {
        if let Ok(path) = safe(sandbox, &effect.path) {
            // One that holds something stays.
            directory::remove_if_empty(&path).unwrap_or_default();
        }
    }
}

/// The files and directories that the call itself was about to change: what a command did is its own
/// affair.
fn prepared(call: &Examined) -> impl Iterator<Item = &Effect> {
    call.view.records.iter().flat_map(|(_, record)| match record {
        Record::Prepared { files, .. } => files.as_slice(),
        _ => &[],
    })
}

/// Directories that the call made go, where nothing is in them: its files are not there.
pub(crate) fn remove_made(core: &Core, call: &Examined) {
    let sandbox = &core.workspace.sandbox;
    let made: Vec<&Effect> = prepared(call)
        .filter(|effect| effect.before == FileState::Missing)
        .filter(|effect| matches!(effect.after, FileState::Directory { .. }))
        .collect();
    for path in made.iter().rev().filter_map(|effect| safe(sandbox, &effect.path).ok()) {
        // One that holds something stays.
        directory::remove_if_empty(&path).unwrap_or_default();
    }
}

fn remove_leftovers(core: &Core, call: &Examined) {
    let sandbox = &core.workspace.sandbox;
    for temporary in call.files.iter().filter_map(|file| file.effect.temporary.as_ref()) {
        let kept = PathBuf::from(format!("{}.old", temporary.display()));
        for path in [temporary, &kept] {
            if let Ok(path) = safe(sandbox, path)
                && !path.is_missing()
            {
                // One that cannot be removed does no harm but to tidiness.
                directory::remove_leftover(&path).unwrap_or_default();
            }
        }
    }
}
