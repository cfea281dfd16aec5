//! `jm rewind`: the prompts of a conversation, and going back to before one of them.
//!
//! Law: files go back by an undo, which can be redone; the conversation is forked, so nothing of it is lost.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jm_engine::undo::by_products::is_by_product;
use jm_engine::undo::in_force;
use jm_engine::undo::prompts::{Prompts, UndoGroup};
use jm_engine::{Damaged, Engine, FilesAfterRewind, ForkPoint, Guard, Session, UndoReport, Which};
use jm_store::{FileEffect, MessageView, Speaker, Store};
use jm_system::state::short_id;
use jm_types::SessionId;
use serde_json::json;

use super::age::ago;
use super::columns::{padded, short};
use super::{exit, history, print, recover, repl, story, undo};
use crate::cli::{Common, Rewind};
use crate::{sessions, wire};

/// One prompt of a conversation, and the files whose changes since then are in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromptRow {
    /// From 1, in the order in which they were said.
    pub(crate) number: usize,
    /// Its record, by which a rewind names it.
    pub(crate) seq: i64,
    pub(crate) at: u64,
    pub(crate) words: String,
    pub(crate) files: Vec<PathBuf>,
}

/// The things that a rewind brings back to before a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rewinding {
    Files,
    Conversation,
    Both,
}

/// The outcome of a rewind.
#[derive(Debug)]
pub(crate) struct Rewound {
    /// The undo; `None` where no file was to go back.
    pub(crate) report: Option<UndoReport>,
    /// The session that goes on from before the prompt; `None` where the conversation stays.
    pub(crate) fork: Option<SessionId>,
    /// The words of the prompt, to be said again or otherwise.
    pub(crate) words: String,
}

/// The prompts of a session, in order.
pub(crate) fn prompts(store: &Store, session: &SessionId) -> Result<Vec<PromptRow>> {
    let marks = Prompts::of(store, session).map_err(sessions::told)?;
    let said = store.messages(session).map_err(sessions::told)?;
    let said = said.into_iter().filter(|view| view.message.role == Speaker::User);
    let row = |view: MessageView| {
        let mark = marks.at(view.seq)?;
        let words = story::words(&view.message.content);
        let (number, seq, at) = (mark.number, mark.seq, mark.at);
        Some(PromptRow { number, seq, at, words, files: Vec::new() })
    };
    let mut rows: Vec<PromptRow> = said.filter_map(row).collect();
    for call in in_force::changes(store, session).map_err(sessions::told)? {
        let UndoGroup::Prompt { seq } = marks.group(&call) else { continue };
        let Some(row) = rows.iter_mut().find(|row| row.seq == seq) else { continue };
        let effects = call.effects();
        let is_directory =
            |effect: &FileEffect| effect.before.is_directory() || effect.after.is_directory();
        let files = effects.files.into_iter().filter(|effect| !is_directory(effect));
        let layered = effects.layers.iter().flat_map(|layer| layer.paths().unwrap_or_default());
        for path in files.map(|effect| effect.path).chain(layered) {
            if !row.files.contains(&path) && !is_by_product(&path) {
                row.files.push(path);
            }
        }
        row.files.sort();
        // A directory counts by what it holds.
        let names = row.files.clone();
        let mut after = names.iter().skip(1);
        row.files.retain(|path| after.next().is_none_or(|next| !next.starts_with(path)));
    }
    Ok(rows)
}

/// Goes back to before a prompt of a session that is open here. The session itself goes on unchanged; whoever
/// wants the rewound conversation opens the fork.
pub(crate) fn rewind(
    common: &Common,
    engine: &Engine,
    session: &mut Session,
    row: &PromptRow,
    what: Rewinding,
    guard: Guard,
) -> Result<Rewound> {
    let report = match what {
        Rewinding::Conversation => None,
        Rewinding::Files | Rewinding::Both => files(engine, session, row, guard)?,
    };
    let fork = match what {
        Rewinding::Files => None,
        Rewinding::Conversation => {
            Some(fork(common, &session.id, row.seq, FilesAfterRewind::Kept)?)
        }
        Rewinding::Both => {
            let is_whole = report.as_ref().is_none_or(|report| report.is_complete);
            let files = match is_whole {
                true => FilesAfterRewind::Restored,
                false => FilesAfterRewind::Kept,
            };
            Some(fork(common, &session.id, row.seq, files)?)
        }
    };
    Ok(Rewound { report, fork, words: row.words.clone() })
}

/// Undoes everything since a prompt; `None` where nothing is in force.
fn files(
    engine: &Engine,
    session: &mut Session,
    row: &PromptRow,
    guard: Guard,
) -> Result<Option<UndoReport>> {
    let store = sessions::store()?;
    let changes = in_force::changes(&store, &session.id).map_err(sessions::told)?;
    drop(store);
    if !changes.iter().any(|call| call.seq > row.seq) {
        return Ok(None);
    }
    let report = engine.undo(session, &Which::Since(row.seq), guard, Damaged::Refuse);
    report.map(Some).map_err(undo::told)
}

/// Makes a session that begins with what was said before a prompt.
fn fork(
    common: &Common,
    from: &SessionId,
    before: i64,
    files: FilesAfterRewind,
) -> Result<SessionId> {
    let id = SessionId::from(short_id()?);
    let wired = wire::wire_with(common, |opening| sessions::open_named(common, &id, opening))?;
    let point = ForkPoint { session: from.clone(), before };
    wired.engine.begin_fork(&point, files).map_err(undo::told)?;
    wired.engine.close(None).map_err(sessions::told)?;
    Ok(id)
}

/// The prompt that a person means: by number, the newest without one.
pub(crate) fn choose(rows: Vec<PromptRow>, number: usize) -> Result<PromptRow> {
    let last = rows.len();
    rows.into_iter().find(|row| row.number == number).with_context(|| match last {
        0 => "This session has no prompts".to_owned(),
        _ => format!("No prompt {number}: this session has prompts 1 to {last}"),
    })
}

pub(crate) fn run(common: &Common, args: &Rewind) -> Result<u8> {
    let store = sessions::store()?;
    let id = match &common.session {
        Some(id) => history::choose(&store, common, Some(id))?.session,
        None => repl::newest_conversation(common)?,
    };
    let rows = prompts(&store, &id)?;
    drop(store);
    let Some(number) = args.prompt else { return list(common, args, &id, &rows) };
    let row = choose(rows, number)?;
    let what = match (args.files, args.conversation) {
        (true, false) => Rewinding::Files,
        (false, true) => Rewinding::Conversation,
        (false, false) | (true, true) => Rewinding::Both,
    };
    let wired = wire::wire_with(common, |opening| sessions::open_named(common, &id, opening))?;
    recover::before_work(common, &wired.engine, &id)?;
    if args.how.dry_run {
        if what == Rewinding::Conversation {
            bail!("--dry-run shows file changes; remove --conversation");
        }
        let code = undo::preview(&wired.engine, &id, &Which::Since(row.seq), args.how)?;
        wired.engine.close(None).map_err(sessions::told)?;
        return Ok(code);
    }
    let mut session = wired.session;
    let guard = if args.how.force { Guard::Force } else { Guard::Hash };
    let rewound = rewind(common, &wired.engine, &mut session, &row, what, guard)?;
    wired.engine.close(None).map_err(sessions::told)?;
    tell(common, args, &row, &rewound)
}

fn tell(common: &Common, args: &Rewind, row: &PromptRow, rewound: &Rewound) -> Result<u8> {
    let code = match &rewound.report {
        Some(report) if !report.skipped.is_empty() => exit::FAILED,
        Some(_) | None => exit::RAN,
    };
    if args.how.json {
        let files = rewound.report.as_ref().map(undo::as_json);
        print::json(&json!({"prompt": row.number, "files": files, "session": rewound.fork}))?;
        return Ok(code);
    }
    match &rewound.report {
        Some(report) => undo::in_words(&history::root(common)?, report)?,
        None if rewound.fork.is_none() => print::line("No files changed since that prompt")?,
        None => {}
    }
    if let Some(fork) = &rewound.fork {
        let words = short(&row.words, 50);
        print::line(&format!("Rewound to before prompt {}: {words}", row.number))?;
        print::line(&format!("Continue with `jm resume {fork}`; the old conversation is kept"))?;
    }
    Ok(code)
}

fn list(common: &Common, args: &Rewind, id: &SessionId, rows: &[PromptRow]) -> Result<u8> {
    if args.how.json {
        for row in rows {
            print::json(&json!({
                "session": id, "prompt": row.number, "at": row.at, "words": row.words,
                "files": row.files,
            }))?;
        }
        return Ok(exit::RAN);
    }
    show(&history::root(common)?, rows)?;
    if !rows.is_empty() {
        print::line("Go back to before a prompt: jm rewind N [--files | --conversation]")?;
    }
    Ok(exit::RAN)
}

/// The prompts as a table for people.
pub(crate) fn show(root: &Path, rows: &[PromptRow]) -> Result<()> {
    for row in rows {
        let changed = match row.files.as_slice() {
            [] => String::new(),
            [one] => short(&history::from_root(root, one), 22),
            several => format!("{} files", several.len()),
        };
        let (age, words) = (ago(row.at), padded(&short(&row.words, 36), 36));
        print::line(format!("{:>3}  {age:<12}  {words}  {changed}", row.number).trim_end())?;
    }
    if rows.is_empty() {
        print::line("This session has no prompts")?;
    }
    Ok(())
}
