//! Lists for the screen: files, prompts, sessions, history.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use jm_files::EntryKind;
use jm_files::Sandbox;
use jm_files::walk::{WalkFilter, WalkStep, walk};
use jm_tui::editor::Completion;
use jm_tui::msg::{Msg, PickRow, Picking};
use jm_types::{ApprovalMode, Cancel, MessageRole};

use super::commands;
use super::screen_link::Desk;
use crate::agent::Agent;
use crate::cli::Common;
use crate::faces::age::ago;
use crate::faces::{columns, history, rewind};
use crate::{locations, model_client, session_name, sessions};

const HISTORY: &str = "prompts";
const MOST_HISTORY: u64 = 4 * 1024 * 1024;
const MOST_KEPT: usize = 2_000;
const MOST_FILES: usize = 50_000;
const MOST_OFFERED: usize = 50;

/// Files of the workspace that no ignore file names, walked on a thread of their own.
pub(super) fn files(desk: &Arc<Desk>, sandbox: &Arc<Sandbox>) {
    let (desk, sandbox) = (Arc::clone(desk), Arc::clone(sandbox));
    let walk = move || desk.send(Msg::Files(walked(&sandbox)));
    // Without a thread there is nothing to choose from.
    std::thread::Builder::new().name("files".into()).spawn(walk).map(drop).unwrap_or_default();
}

fn walked(sandbox: &Sandbox) -> Vec<String> {
    let found = Mutex::new(Vec::new());
    let visit = |met: &jm_files::walk::WalkEntry<'_>| {
        if met.kind == EntryKind::File
            && let Some(path) = met.path.to_str()
        {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push(path.to_owned());
            if found.len() >= MOST_FILES {
                return WalkStep::Stop;
            }
        }
        WalkStep::On
    };
    let passing = WalkFilter { hidden: true, ignored: true };
    // A tree that cannot be walked has no files to offer.
    let walked = sandbox
        .resolve(".")
        .and_then(|start| walk(sandbox, &start, passing, &Cancel::new(), &visit));
    walked.unwrap_or_default();
    let mut files = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    files.sort();
    files
}

/// The approval modes, for completion.
pub(super) fn modes() -> Vec<Completion> {
    let mode = |mode: ApprovalMode| Completion {
        text: commands::mode_word(mode).to_owned(),
        note: commands::mode_in_words(mode).to_owned(),
    };
    [ApprovalMode::Auto, ApprovalMode::Effects, ApprovalMode::Prompt, ApprovalMode::Deny]
        .map(mode)
        .into()
}

/// The models of the table, for completion.
pub(super) fn models() -> Vec<Completion> {
    let names = model_client::known_models().unwrap_or_default();
    names.into_iter().map(|text| Completion { text, note: String::new() }).collect()
}

/// Prompts of earlier sessions, oldest first.
pub(super) fn history() -> Vec<String> {
    let text = locations::state().ok().and_then(|state| state.read(HISTORY, MOST_HISTORY).ok());
    let lines = text.flatten().unwrap_or_default();
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A prompt for later sessions, one JSON string a line.
pub(super) fn remember(text: &str) {
    let mut entries = history();
    entries.push(text.to_owned());
    let skipped = entries.len().saturating_sub(MOST_KEPT);
    let lines: Vec<String> =
        entries[skipped..].iter().filter_map(|entry| serde_json::to_string(entry).ok()).collect();
    // A history that cannot be kept is a short one.
    if let Ok(state) = locations::state() {
        state.write(HISTORY, (lines.join("\n") + "\n").as_bytes()).unwrap_or_default();
    }
}

/// The text of the last answer of the model.
pub(super) fn last_answer(agent: &Agent) -> Option<String> {
    let messages = agent.conversation.messages();
    let answers = messages.iter().rev().filter(|message| message.role == MessageRole::Assistant);
    answers.map(|message| message.text()).find(|text| !text.trim().is_empty())
}

/// The prompts of this session, newest first.
pub(super) fn prompts(desk: &Desk, agent: &Agent) -> Result<()> {
    let prompts = rewind::prompts(&sessions::store()?, &agent.driver.session.id)?;
    let row = |row: rewind::PromptRow| PickRow {
        id: row.seq.to_string(),
        title: columns::short(&row.words, 200),
        note: match row.files.len() {
            0 => ago(row.at),
            1 => format!("1 file · {}", ago(row.at)),
            files => format!("{files} files · {}", ago(row.at)),
        },
    };
    let mut rows: Vec<PickRow> = prompts.into_iter().map(row).collect();
    rows.retain(|row| !row.title.is_empty());
    rows.reverse();
    let title = "Go back to before a prompt".to_owned();
    desk.send(Msg::Pick { what: Picking::Rewind, title, rows });
    Ok(())
}

/// The conversations of this workspace as words of `/resume`, read on a thread of their own.
pub(super) fn resumable(desk: &Arc<Desk>, common: &Common) {
    let (desk, common) = (Arc::clone(desk), common.clone());
    let list = move || {
        // Without a list the word is typed.
        let rows = session_rows(&common, MOST_OFFERED).unwrap_or_default();
        let word = |row: PickRow| Completion { text: row.id, note: row.title };
        let known = rows.into_iter().map(word).collect();
        desk.send(Msg::Arguments { command: "resume", known });
    };
    std::thread::Builder::new().name("sessions".into()).spawn(list).map(drop).unwrap_or_default();
}

/// A list of the conversations of this workspace to choose from, newest first.
pub(super) fn sessions(desk: &Desk, common: &Common) -> Result<()> {
    let rows = session_rows(common, usize::MAX)?;
    desk.send(Msg::Pick { what: Picking::Session, title: "Sessions".to_owned(), rows });
    Ok(())
}

fn session_rows(common: &Common, most: usize) -> Result<Vec<PickRow>> {
    let store = sessions::store()?;
    let root = history::root(common)?;
    let mut rows = Vec::new();
    for view in store.sessions().map_err(sessions::told)? {
        if view.root != root || !store.has_messages(&view.session).map_err(sessions::told)? {
            continue;
        }
        let title = session_name::title(&store, &view.session)?;
        let time = ago(view.last.unwrap_or(view.opened));
        rows.push(PickRow {
            note: format!("{} · {time}", view.session),
            id: view.session.to_string(),
            title,
        });
        if rows.len() == most {
            break;
        }
    }
    Ok(rows)
}
