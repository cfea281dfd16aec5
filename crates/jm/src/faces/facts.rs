//! The facts about calls that a crash left unfinished: which of their changes are on disk, what
//! they had printed, and what of them still runs.

use jm_engine::FileFact;
use jm_engine::{Engine, Examined, Side};
use jm_process::output_reader::CommandStream;
use jm_process::spool::Spooled;
use jm_store::{FileState, Store};
use jm_tools::ops::change::diff::unified_diff;
use jm_tui::block::numbers;
use jm_types::SessionId;
use jm_types::text::{one_line, reveal};
use serde_json::{Value, json};

use super::history;

/// Lines of the changes of one call.
const MOST_LINES: usize = 200;
const MOST_FILE_BYTES: u64 = 4 * 1024 * 1024;

pub(crate) fn in_words(
    store: &Store,
    engine: &Engine,
    session: &SessionId,
    found: &[Examined],
) -> String {
    let calls = numbers::plural(found.len(), "call");
    let mut text = format!("session {session}: {calls} interrupted by a crash\n");
    for damage in jm_engine::undo::damage(store, session).unwrap_or_default() {
        text.push_str(&format!("  the journal is damaged: {}\n", one_line(&damage.to_string())));
    }
    for call in found {
        let (key, name) = (&call.view.call.call, one_line(&call.view.call.name));
        text.push_str(&format!("  {key} {name}: {}\n", call.words()));
        for file in &call.files {
            let path = one_line(&file.effect.path.to_string_lossy());
            text.push_str(&format!("    {path}: {}\n", side(file.now)));
        }
        for line in reveal(&diff(store, engine, session, call)).lines() {
            text.push_str(&format!("      {line}\n"));
        }
        for printed in &call.printed {
            let (stream, total) = (word(printed), printed.total);
            text.push_str(&format!("    {stream}: {total} bytes of output kept\n"));
        }
        for survivor in &call.survivors {
            let name = one_line(&survivor.name);
            text.push_str(&format!("    still runs: process {} ({name})\n", survivor.pid));
        }
    }
    text
}

pub(crate) fn as_json(
    store: &Store,
    engine: &Engine,
    session: &SessionId,
    found: &[Examined],
) -> Value {
    let file = |file: &FileFact| json!({"path": file.effect.path, "now": side_name(file.now)});
    let printed = |printed: &Spooled| json!({"stream": word(printed), "bytes": printed.total});
    let call = |call: &Examined| {
        let running = call.survivors.iter().map(|s| json!({"pid": s.pid, "name": s.name}));
        json!({
            "call": call.view.call.call, "name": call.view.call.name, "state": call.words(),
            "files": call.files.iter().map(file).collect::<Vec<_>>(), "diff": diff(store, engine, session, call),
            "printed": call.printed.iter().map(printed).collect::<Vec<_>>(),
            "running": running.collect::<Vec<_>>(),
        })
    };
    json!({"session": session, "calls": found.iter().map(call).collect::<Vec<_>>()})
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Before => "as before",
        Side::After => "changed",
        Side::Other => "changed by another program",
    }
}

/// The name of a side for programs.
fn side_name(side: Side) -> &'static str {
    match side {
        Side::Before => "as before",
        Side::After => "changed",
        Side::Other => "changed by somebody else",
    }
}

fn word(printed: &Spooled) -> &'static str {
    match printed.stream {
        CommandStream::Stdout => "stdout",
        CommandStream::Stderr => "stderr",
    }
}

/// How the files of a call differ now from what they were before it.
fn diff(store: &Store, engine: &Engine, session: &SessionId, call: &Examined) -> String {
    let mut text = String::new();
    let root = store.session(session).ok().flatten().map(|view| view.root).unwrap_or_default();
    for file in call.files.iter().filter(|file| file.now != Side::Before) {
        let before = match file.effect.before {
            FileState::File { sha256, .. } => store.blob(sha256).ok(),
            FileState::Missing | FileState::Directory { .. } => None,
        };
        // What is no text, too long or out of reach is named above and not shown.
        let now = engine.read_now(&file.effect.path, MOST_FILE_BYTES);
        if let Ok(now) = now
            && now.as_deref().is_none_or(|now| std::str::from_utf8(now).is_ok())
        {
            let name = history::from_root(&root, &file.effect.path);
            text.push_str(&unified_diff(&name, before.as_deref(), now.as_deref()));
        }
    }
    let count = text.lines().count();
    if count <= MOST_LINES {
        return text;
    }
    let mut cut: String = text.split_inclusive('\n').take(MOST_LINES).collect();
    cut.push_str(&format!("... {} more lines\n", count - MOST_LINES));
    cut
}
