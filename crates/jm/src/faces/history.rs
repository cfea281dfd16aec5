//! Reading the journal: which session, its calls as JSON and as diffs; `jm verify`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use jm_engine::layer_diff::diff_of;
use jm_files::layer::FileVersions;
use jm_store::{CallView, FileEffect, FileState, SessionView, Store};
use jm_types::text::{one_line, sanitize};
use serde_json::{Value, json};

use super::{exit, old_versions, print};
use crate::cli::Common;
use crate::{session_name, sessions};

/// The canonical directory that the flags name.
pub(crate) fn root(common: &Common) -> Result<PathBuf> {
    let root = common.root.first().map_or(Path::new("."), PathBuf::as_path);
    let sandbox = jm_files::Sandbox::new(&jm_files::SandboxSettings::rooted_at(root))?;
    Ok(sandbox.working_root().path().to_owned())
}

/// The session that was named, or the newest of this workspace.
pub(crate) fn choose(store: &Store, common: &Common, id: Option<&str>) -> Result<SessionView> {
    match id.or(common.session.as_deref()) {
        Some(id) => session_name::find(store, &root(common)?, id)?
            .with_context(|| format!("No session {} (list: `jm sessions`)", one_line(id))),
        None => store
            .newest_session(&root(common)?)
            .map_err(sessions::told)?
            .context("No session in this workspace yet"),
    }
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

/// How a call ended, and how long it took.
pub(crate) fn outcome(call: &CallView) -> String {
    match call.result() {
        None => "no result".to_owned(),
        Some((result, duration)) => match result.error {
            None => span(duration),
            Some(code) => code.to_string(),
        },
    }
}

/// A length of time as people say it.
pub(crate) fn span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms / 100 % 10),
        _ => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
    }
}

pub(crate) fn change(before: &FileState, after: &FileState) -> &'static str {
    match (before, after) {
        (FileState::Missing, FileState::Directory { .. }) => "created directory",
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
    match path.strip_prefix(root).unwrap_or(path) {
        itself if itself.as_os_str().is_empty() => ".".into(),
        below => below.to_string_lossy(),
    }
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
    let held = old_versions::versions(store, call);
    text + &held.iter().map(|(_, files)| diff_of(files)).collect::<String>()
}

/// The files that a call changed, each with the first line that became another.
pub(crate) fn places(store: &Store, call: &CallView) -> Vec<(PathBuf, usize)> {
    let first_line = |effect: &FileEffect| {
        let before = content(store, &effect.before).unwrap_or_default();
        let after = content(store, &effect.after);
        let after = after.or_else(|| still_there(&effect.path, &effect.after)).unwrap_or_default();
        first_other_line(&before, &after)
    };
    let files = call.effects().files;
    let is_file = |effect: &FileEffect| effect.before.is_file() || effect.after.is_file();
    let files = files.into_iter().filter(is_file);
    let files = files.map(|effect| (effect.path.clone(), first_line(&effect)));
    let held = old_versions::versions(store, call).into_iter().flat_map(|(root, files)| {
        files.into_iter().filter_map(move |(name, versions)| {
            let FileVersions::Known { before, after } = versions else { return None };
            let [before, after] = [before, after].map(Option::unwrap_or_default);
            Some((root.join(name), first_other_line(&before, &after)))
        })
    });
    files.chain(held).collect()
}

fn first_other_line(before: &[u8], after: &[u8]) -> usize {
    let same = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    after[..same.min(after.len())].iter().filter(|byte| **byte == b'\n').count() + 1
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
        0 => print::line(&format!("Journal OK: {count} records verified"))?,
        number => print::line(&format!("Journal damaged: {number} of {count} records"))?,
    }
    Ok(if damage.is_empty() { exit::RAN } else { exit::FAILED })
}
