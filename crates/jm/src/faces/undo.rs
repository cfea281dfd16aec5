//! `jm undo` and `jm redo`.
//!
//! Law: without a session that is named it is always the same one, however often the command is repeated.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use jm_engine::undo::NOT_COVERED;
use jm_engine::undo::by_products::is_by_product;
use jm_engine::undo::in_force::{self, ChangeKind};
use jm_engine::{Damaged, Engine, Guard, TakenBack, UndoReport, Which};
use jm_store::Store;
use jm_types::text::{one_line, reveal};
use jm_types::{SessionId, ToolError};
use serde_json::{Value, json};

use super::{columns, exit, history, print, recover, rewind};
use crate::cli::{Common, Redo, Undo};
use crate::{sessions, wire};

pub(crate) fn undo(common: &Common, undo: &Undo) -> Result<u8> {
    if let Some(key) = undo.call.as_ref().or(undo.to.as_ref()) {
        let session = key.session().with_context(|| no_call(key))?;
        let which =
            if undo.call.is_some() { Which::Call(key.clone()) } else { Which::To(key.clone()) };
        let is_known = sessions::store()?.call(&session, key).map_err(sessions::told)?.is_some();
        if !is_known {
            bail!(no_call(key));
        }
        return step(common, &session, &which, undo.how).map(|(code, _)| code);
    }
    if undo.count == 0 {
        bail!("undo 0 prompts? Give a number from 1");
    }
    let session = chosen(common, ChangeKind::Change)?;
    if undo.how.dry_run {
        return step(common, &session, &Which::Last(undo.count), undo.how).map(|(code, _)| code);
    }
    let mut code = exit::RAN;
    for number in 0..undo.count {
        if number > 0 && !has_any(&sessions::store()?, &session, ChangeKind::Change)? {
            break;
        }
        // Each is told at once, since a later one may fail.
        let (told, is_complete) = step(common, &session, &Which::Last(1), undo.how)?;
        code = code.max(told);
        if !is_complete {
            break;
        }
    }
    Ok(code)
}

pub(crate) fn redo(common: &Common, how: Redo) -> Result<u8> {
    let session = chosen(common, ChangeKind::Undo)?;
    step(common, &session, &Which::Undo, how).map(|(code, _)| code)
}

fn no_call(key: &str) -> String {
    format!("No such call: {} (ids: `jm log`)", one_line(key))
}

fn has_any(store: &Store, session: &SessionId, kind: ChangeKind) -> Result<bool> {
    in_force::has_any(store, session, kind).map_err(sessions::told)
}

/// The session that is named, or the one of this workspace that was changed last. Never another one by itself:
/// where nothing of it is in force, the next one is only named.
fn chosen(common: &Common, kind: ChangeKind) -> Result<SessionId> {
    let (word, log) = match kind {
        ChangeKind::Change => ("undo", "; `jm log` lists calls and their changes"),
        ChangeKind::Undo => ("redo", ""),
    };
    let store = sessions::store()?;
    let root = history::root(common)?;
    let session = match common.session {
        Some(_) => Some(history::choose(&store, common, None)?.session),
        None => in_force::current_session(&store, &root, kind).map_err(sessions::told)?,
    };
    let Some(session) = session else { bail!("Nothing to {word}{log}") };
    // What a crash interrupted is neither in force nor out of it, and is said before anything else.
    if has_any(&store, &session, kind)? || is_interrupted(&store, &session)? {
        return Ok(session);
    }
    let other = in_force::newest_in_force(&store, &root, kind).map_err(sessions::told)?;
    match other.filter(|other| *other != session) {
        Some(other) => bail!(
            "Nothing to {word} in session {session}\n  hint: another session has changes: \
             `jm {word} --session {other}`"
        ),
        None => bail!("Nothing to {word}{log}"),
    }
}

fn is_interrupted(store: &Store, session: &SessionId) -> Result<bool> {
    let views = store.unsettled().map_err(sessions::told)?;
    Ok(views.iter().any(|view| view.session == *session))
}

/// One undo or redo, told. Gives the exit code, and whether nothing of it is left to be tried again.
fn step(common: &Common, session: &SessionId, which: &Which, how: Redo) -> Result<(u8, bool)> {
    history::choose(&sessions::store()?, common, Some(session))?;
    let wired = wire::wire_with(common, |opening| sessions::open_named(common, session, opening))?;
    recover::before_work(common, &wired.engine, session)?;
    let done = if how.dry_run {
        preview(&wired.engine, session, which, how).map(|code| (code, true))
    } else {
        let mut session = wired.session;
        let (guard, damaged) = rules(how);
        let report = wired.engine.undo(&mut session, which, guard, damaged).map_err(told)?;
        tell(&history::root(common)?, &report, how).map(|code| (code, report.is_complete))
    };
    wired.engine.close(None).map_err(sessions::told)?;
    done
}

fn rules(how: Redo) -> (Guard, Damaged) {
    let guard = if how.force { Guard::Force } else { Guard::Hash };
    let damaged = if how.despite_damage { Damaged::Accept } else { Damaged::Refuse };
    (guard, damaged)
}

/// An engine's error with its hints.
pub(crate) fn told(error: ToolError) -> anyhow::Error {
    let hints: String = error.hints.iter().map(|hint| format!("\n  hint: {hint}")).collect();
    anyhow!("{error}{hints}")
}

/// Shows the outcome of an undo with its diff, and does nothing.
pub(crate) fn preview(
    engine: &Engine,
    session: &SessionId,
    which: &Which,
    how: Redo,
) -> Result<u8> {
    let (guard, damaged) = rules(how);
    let (report, diff) = engine.preview_undo(session, which, guard, damaged).map_err(told)?;
    if how.json {
        let mut value = as_json(&report);
        value["diff"] = diff.into();
        print::json(&value)?;
    } else {
        let root = engine.core().workspace.sandbox.working_root().path();
        words(root, &report, WOULD)?;
        print::text(&reveal(&diff))?;
    }
    Ok(code_of(&report))
}

fn tell(root: &Path, report: &UndoReport, how: Redo) -> Result<u8> {
    if how.json {
        print::json(&as_json(report))?
    } else {
        in_words(root, report)?
    }
    Ok(code_of(report))
}

fn code_of(report: &UndoReport) -> u8 {
    if report.skipped.is_empty() { exit::RAN } else { exit::FAILED }
}

pub(super) fn as_json(report: &UndoReport) -> Value {
    let calls = report
        .calls
        .iter()
        .map(|TakenBack { call, summary, .. }| json!({"call": call, "summary": summary}));
    let left = report.skipped.iter().map(|(path, why)| json!({"path": path, "why": why}));
    let uncovered = if report.has_commands { vec![NOT_COVERED] } else { Vec::new() };
    json!({
        "calls": calls.collect::<Vec<_>>(), "complete": report.is_complete,
        "restored": report.restored, "removed": report.removed,
        "left_alone": left.collect::<Vec<_>>(), "not_tracked": report.gaps,
        "not_covered": uncovered,
    })
}

/// The verbs of a report: undone, redone, in part, not at all.
type Verbs = [&'static str; 4];

const DONE: Verbs = ["Undone", "Redone", "in part", "Not "];
const WOULD: Verbs = ["Would undo", "Would redo", "in part", "Cannot: "];

pub(super) fn in_words(root: &Path, report: &UndoReport) -> Result<()> {
    words(root, report, DONE)
}

fn words(root: &Path, report: &UndoReport, [undone, redone, in_part, not]: Verbs) -> Result<()> {
    let has_changed = !report.restored.is_empty() || !report.removed.is_empty();
    let (verb, calls) = match report.redone.is_empty() {
        true => (undone, &report.calls),
        false => (redone, &report.redone),
    };
    let done = match (report.skipped.is_empty(), has_changed) {
        (true, _) => verb.to_owned(),
        (false, true) => format!("{verb} {in_part}"),
        (false, false) => format!("{not}{}", verb.to_lowercase()),
    };
    let mut last = None;
    for TakenBack { call, summary, prompt } in calls {
        if *prompt != last
            && let Some(prompt) = prompt
        {
            let said = call.session().and_then(|session| said(&session, prompt.seq));
            let said = said.map(|said| format!(": {said}")).unwrap_or_default();
            print::line(&format!("Prompt {}{said}", prompt.number))?;
        }
        last = *prompt;
        print::line(&format!("{done}: {call} {}", one_line(summary)))?;
    }
    let mut by_products = 0;
    for (what, paths) in [("restored", &report.restored), ("removed", &report.removed)] {
        for path in paths {
            if is_by_product(path) {
                by_products += 1;
                continue;
            }
            print::line(&format!("{what}: {}", one_line(&history::from_root(root, path))))?;
        }
    }
    match by_products {
        0 => {}
        1 => print::line("and 1 by-product")?,
        many => print::line(&format!("and {many} by-products"))?,
    }
    for (path, why) in &report.skipped {
        let path = history::from_root(root, path);
        print::line(&format!("left alone: {}: {}", one_line(&path), one_line(why)))?;
    }
    for gap in &report.gaps {
        print::line(&format!("not tracked: {}", one_line(gap)))?;
    }
    if report.has_commands {
        print::line(&format!("not covered: {NOT_COVERED}"))?;
    }
    if !has_changed && report.skipped.is_empty() && report.gaps.is_empty() {
        print::line("No files had to change")?;
    }
    Ok(())
}

/// The first words of a prompt.
fn said(session: &SessionId, seq: i64) -> Option<String> {
    let store = sessions::store().ok()?;
    let rows = rewind::prompts(&store, session).ok()?;
    let row = rows.into_iter().find(|row| row.seq == seq)?;
    Some(columns::short(&row.words, 60))
}
