//! `jm sessions`, `jm log`, `jm verify`: what the journal says.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jm_store::{CallView, FileEffect, FileState, Record, SessionView, Store};
use jm_system::clock::utc_moment;
use jm_types::ErrorCode;
use jm_types::text::one_line::{SUMMARY_CHARACTERS, summarize};
use jm_types::text::{one_line, reveal, sanitize};
use serde_json::{Value, json};

use super::conversation::{self, Said};
use super::{exit, print};
use crate::cli::{Common, ListingArgs, Log};
use crate::sessions;

/// The canonical directory that the flags name.
pub(crate) fn root(common: &Common) -> Result<PathBuf> {
    let root = common.root.first().map_or(Path::new("."), PathBuf::as_path);
    let sandbox = jm_files::Sandbox::new(&jm_files::SandboxSettings::rooted_at(root))?;
    Ok(sandbox.working_root().path().to_owned())
}

/// The session that was named, or the newest of this workspace.
pub(crate) fn choose(store: &Store, common: &Common, id: Option<&str>) -> Result<SessionView> {
    match id.or(common.session.as_deref()) {
        Some(id) => store
            .session(id)
            .map_err(sessions::told)?
            .with_context(|| format!("no session {id}; `jm sessions` lists them")),
        None => store
            .newest_session(&root(common)?)
            .map_err(sessions::told)?
            .context("the journal has no session of this workspace yet"),
    }
}

pub(crate) fn sessions(listing: &ListingArgs) -> Result<u8> {
    for view in sessions::store()?.sessions().map_err(sessions::told)? {
        let alive = view.owner.as_ref().is_some_and(|owner| sessions::identity(owner).is_alive());
        if listing.json {
            print::json(&json!({
                "session": view.session, "root": view.root, "opened": view.opened,
                "last": view.last, "records": view.records, "in_use": alive,
            }))?;
        } else {
            let state = if alive { "  in use" } else { "" };
            let time = utc_moment(view.last.unwrap_or(view.opened));
            let root = one_line(&view.root.to_string_lossy());
            print::line(&format!("{}  {time}  {root}{state}", view.session))?;
        }
    }
    Ok(exit::RAN)
}

pub(crate) fn log(common: &Common, log: &Log) -> Result<u8> {
    let store = sessions::store()?;
    let view = choose(&store, common, log.id.as_deref())?;
    let said = conversation::said(&store, &view.session)?;
    let wanted = |said: &&Said| log.all || !said.is_opening();
    let mut said = said.iter().filter(wanted).peekable();
    for call in store.walk_calls(&view.session) {
        let call = call.map_err(sessions::told)?;
        while let Some(earlier) = said.next_if(|said| said.seq < call.seq) {
            conversation::show(log, earlier)?;
        }
        show(&store, &view.root, log, &call)?;
    }
    said.try_for_each(|later| conversation::show(log, later))?;
    Ok(exit::RAN)
}

fn show(store: &Store, root: &Path, log: &Log, call: &CallView) -> Result<()> {
    if log.json {
        return print::json(&as_json(call));
    }
    print::text(&in_words(call))?;
    if log.diff { print::text(&reveal(&diffs(store, root, call))) } else { Ok(()) }
}

pub(crate) fn as_json(call: &CallView) -> Value {
    let (result, duration) = call.result().unzip();
    let records: Vec<Value> =
        call.records.iter().map(|(at, record)| json!({"at": at, "record": record})).collect();
    json!({
        "call": call.call.call, "id": call.call.id, "name": call.call.name,
        "arguments": call.call.arguments, "batch": call.batch, "at": call.at,
        "result": result, "duration_ms": duration, "records": records,
    })
}

/// One call in a few lines: what, why, how long, what changed.
pub(crate) fn in_words(call: &CallView) -> String {
    let mut text = format!("{}  {}  {}\n", utc_moment(call.at), call.call.call, headline(call));
    for (_, record) in &call.records {
        match record {
            Record::Planned { rule, .. } if !rule.is_empty() => {
                text.push_str(&format!("    because: {}\n", one_line(rule)));
            }
            Record::Edited { by, arguments, .. } => {
                let shown = summarize(arguments, SUMMARY_CHARACTERS).text;
                text.push_str(&format!("    edited by: {by}: {shown}\n"));
            }
            Record::Approved { by, .. } => text.push_str(&format!("    approved by: {by}\n")),
            Record::Recovered { state, choice, .. } => {
                text.push_str(&format!("    after a crash: {state}; {choice}\n"));
            }
            Record::Undid { of, .. } if !has_failed(call) => {
                text.push_str(&format!("    undid: {}\n", of.join(", ")));
            }
            _ => {}
        }
    }
    let effects = call.effects();
    for effect in &effects.files {
        let path = one_line(&effect.path.to_string_lossy());
        text.push_str(&format!("    {}: {path}\n", change(&effect.before, &effect.after)));
    }
    for found in &effects.concurrent {
        let calls = match found.calls.as_slice() {
            [] => "other sessions may have run commands".to_owned(),
            calls => format!("{} ran", calls.join(", ")),
        };
        for effect in &found.files {
            let path = one_line(&effect.path.to_string_lossy());
            let change = change(&effect.before, &effect.after);
            text.push_str(&format!("    not told apart: {path}: {change} while {calls}\n"));
        }
    }
    let never_looked = is_unknown(call).then(|| UNSEEN.to_owned());
    if let Some(gap) = effects.gap.or(never_looked) {
        text.push_str(&format!("    not tracked: {gap}\n"));
    }
    let output = call.result().and_then(|(result, _)| result.output.as_ref());
    for stream in output.iter().flat_map(|output| &output.streams) {
        let key = &call.call.call;
        text.push_str(&format!("    kept: {} (jm output {key})\n", stream.in_words()));
    }
    text
}

const UNSEEN: &str = "the program ended before it could look at what the command had changed";

/// A command that a crash cut short.
fn is_unknown(call: &CallView) -> bool {
    let is_tracked = |(_, record): &(u64, Record)| matches!(record, Record::Tracked { .. });
    let error = call.result().and_then(|(result, _)| result.error);
    error == Some(ErrorCode::UnknownOutcome) && !call.records.iter().any(is_tracked)
}

fn has_failed(call: &CallView) -> bool {
    call.result().is_some_and(|(result, _)| result.error.is_some())
}

/// The intent of a call, and its outcome.
pub(crate) fn headline(call: &CallView) -> String {
    let outcome = match call.result() {
        None => "no result".to_owned(),
        Some((result, duration)) => match result.error {
            None => format!("ran in {duration} ms"),
            Some(code) => code.to_string(),
        },
    };
    format!("{} [{outcome}]", one_line(call.summary()))
}

pub(crate) fn change(before: &FileState, after: &FileState) -> &'static str {
    match (before, after) {
        (FileState::Missing, FileState::Directory { .. }) => "made directory",
        (FileState::Directory { .. }, FileState::Directory { .. }) => "changed directory",
        (FileState::Directory { .. }, FileState::File { .. }) => "became a file",
        (FileState::File { .. }, FileState::Directory { .. }) => "became a directory",
        (FileState::Directory { .. }, FileState::Missing) => "removed directory",
        (FileState::Missing, _) => "created",
        (_, FileState::Missing) => "deleted",
        _ => "changed",
    }
}

/// A path as a diff names it: from the root where it is beneath it.
pub(crate) fn from_root<'a>(root: &Path, path: &'a Path) -> std::borrow::Cow<'a, str> {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy()
}

/// The changes of a call as far as their contents are kept.
pub(crate) fn diffs(store: &Store, root: &Path, call: &CallView) -> String {
    let mut text = String::new();
    for effect in call.effects().files {
        let name = from_root(root, &effect.path);
        let (before, after) = (content(store, &effect.before), content(store, &effect.after));
        // What a later call did not overwrite is still on disk, and nowhere else.
        let after = after.or_else(|| still_there(&effect.path, &effect.after));
        if before.is_some() || after.is_some() {
            let (before, after) = (before.as_deref(), after.as_deref());
            text.push_str(&jm_tools::ops::change::diff::unified_diff(&name, before, after));
        }
    }
    text
}

/// The files that a call changed, each with the first line that became another.
pub(crate) fn places(store: &Store, call: &CallView) -> Vec<(PathBuf, usize)> {
    let first_line = |effect: &FileEffect| {
        let before = content(store, &effect.before).unwrap_or_default();
        let after = content(store, &effect.after);
        let after = after.or_else(|| still_there(&effect.path, &effect.after)).unwrap_or_default();
        let same = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
        after[..same.min(after.len())].iter().filter(|byte| **byte == b'\n').count() + 1
    };
    let files = call.effects().files;
    files.into_iter().map(|effect| (effect.path.clone(), first_line(&effect))).collect()
}

fn content(store: &Store, state: &FileState) -> Option<Vec<u8>> {
    match state {
        FileState::File { sha256, .. } => store.blob(*sha256).ok(),
        FileState::Missing | FileState::Directory { .. } => None,
    }
}

fn still_there(path: &Path, state: &FileState) -> Option<Vec<u8>> {
    let FileState::File { sha256, .. } = state else { return None };
    let text = jm_system::state::read_text(path, 16 * 1024 * 1024).ok()??;
    (jm_types::Digest::of(text.as_bytes()) == *sha256).then(|| text.into_bytes())
}

pub(crate) fn verify() -> Result<u8> {
    let (count, damage) = sessions::store()?.verify().map_err(sessions::told)?;
    for found in &damage {
        print::line(&sanitize(&found.to_string()))?;
    }
    match damage.len() {
        0 => print::line(&format!("{count} records, all as they were written"))?,
        number => print::line(&format!("{count} records, {number} damaged"))?,
    }
    Ok(if damage.is_empty() { exit::RAN } else { exit::FAILED })
}
